#include "base/pool.h"

#include "base/mem.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

typedef struct Helper {
    Pool *pool;
    unsigned worker; /* 1 … threads - 1 */
    pthread_t thread;
} Helper;

struct Pool {
    unsigned threads; /* the caller included */
    Helper *helpers;

    pthread_mutex_t mutex; /* guards the members up to `stop` */
    pthread_cond_t changed, finished;
    uint64_t round;   /* number of pool_run calls so far */
    unsigned working; /* helpers still in this round */
    bool stop;

    /* The work of the round; written before `round` changes. */
    void (*body)(void *context, size_t index, unsigned worker);
    void *context;
    size_t count;
    _Atomic size_t next;
};

static void work(Pool *pool, unsigned worker) {
    for (;;) {
        size_t index = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
        if (index >= pool->count)
            return;
        pool->body(pool->context, index, worker);
    }
}

static void *helper_main(void *argument) {
    Helper *helper = argument;
    Pool *pool = helper->pool;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool->mutex);
    for (;;) {
        while (pool->round == seen && !pool->stop)
            pthread_cond_wait(&pool->changed, &pool->mutex);
        if (pool->stop)
            break;
        seen = pool->round;
        pthread_mutex_unlock(&pool->mutex);
        work(pool, helper->worker);
        pthread_mutex_lock(&pool->mutex);
        if (--pool->working == 0)
            pthread_cond_signal(&pool->finished);
    }
    pthread_mutex_unlock(&pool->mutex);
    return NULL;
}

/* Processors that this process may use. */
static unsigned processor_count(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    return (unsigned)CPU_COUNT(&set);
}

/* Ends and joins the first `started` helpers. */
static void stop_helpers(Pool *pool, unsigned started) {
    pthread_mutex_lock(&pool->mutex);
    pool->stop = true;
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->mutex);
    for (unsigned i = 0; i < started; i++)
        pthread_join(pool->helpers[i].thread, NULL);
}

static void pool_release(Pool *pool) {
    pthread_mutex_destroy(&pool->mutex);
    pthread_cond_destroy(&pool->changed);
    pthread_cond_destroy(&pool->finished);
    mem_free(pool->helpers);
    mem_free(pool);
}

static Status start_helpers(Pool *pool) {
    unsigned count = pool->threads - 1;
    pool->helpers = mem_alloc(count, sizeof *pool->helpers);
    if (!pool->helpers)
        return ERR_NO_MEMORY;
    for (unsigned i = 0; i < count; i++) {
        Helper *helper = &pool->helpers[i];
        *helper = (Helper){.pool = pool, .worker = i + 1};
        if (pthread_create(&helper->thread, NULL, helper_main, helper) != 0) {
            stop_helpers(pool, i);
            return ERR_THREAD;
        }
    }
    return STATUS_OK;
}

static Status create(unsigned threads, Pool **result) {
    *result = NULL;
    if (threads > POOL_MOST_THREADS)
        return ERR_THREAD;
    Pool *pool = mem_alloc(1, sizeof *pool);
    if (!pool)
        return ERR_NO_MEMORY;
    pool->threads = threads ? threads : MIN_OF(processor_count(), (unsigned)POOL_MOST_THREADS);
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->changed, NULL);
    pthread_cond_init(&pool->finished, NULL);
    Status status = start_helpers(pool);
    if (status != STATUS_OK)
        pool_release(pool);
    else
        *result = pool;
    return status;
}

Pool *pool_create(unsigned threads) {
    Pool *pool;
    create(threads, &pool);
    return pool;
}

Status pool_open(unsigned threads, Pool **pool, Diag *diag) {
    Status status = create(threads, pool);
    if (status == ERR_NO_MEMORY)
        diag_error(diag, status, DIAG_NOWHERE, "no memory left for the thread pool");
    else if (status == ERR_THREAD)
        diag_error(diag, status, DIAG_NOWHERE, "cannot start %u threads", threads);
    return status;
}

void pool_free(Pool *pool) {
    if (!pool)
        return;
    stop_helpers(pool, pool->threads - 1);
    pool_release(pool);
}

unsigned pool_threads(const Pool *pool) {
    return pool ? pool->threads : 1;
}

void pool_run(Pool *pool, size_t count, void (*body)(void *context, size_t index, unsigned worker),
              void *context) {
    if (!pool || pool->threads == 1 || count < 2) {
        for (size_t i = 0; i < count; i++)
            body(context, i, 0);
        return;
    }
    pthread_mutex_lock(&pool->mutex);
    assert(pool->working == 0 && "pool_run inside pool_run");
    pool->body = body;
    pool->context = context;
    pool->count = count;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    pool->working = pool->threads - 1;
    pool->round++;
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->mutex);

    work(pool, 0);

    pthread_mutex_lock(&pool->mutex);
    while (pool->working)
        pthread_cond_wait(&pool->finished, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
}
