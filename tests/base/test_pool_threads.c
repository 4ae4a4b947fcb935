/* The thread pool: every index once, in rounds, for any number of threads. */
#include "testing.h"

#include "base/mem.h"
#include "base/pool.h"

#include <string.h>

enum { COUNT = 1000 };

typedef struct Work {
    unsigned threads;
    unsigned char times[COUNT];
    uint64_t sums[8]; /* by worker */
    size_t last[8];   /* one more than the newest index of each worker */
} Work;

static void body(void *context, size_t index, unsigned worker) {
    Work *work = context;
    if (worker >= work->threads || index < work->last[worker])
        return; /* the index stays uncounted */
    work->times[index]++;
    work->sums[worker] += index;
    work->last[worker] = index + 1;
}

static void check_run(Pool *pool, size_t count) {
    Work work = {.threads = pool_threads(pool)};
    pool_run(pool, count, body, &work);
    uint64_t sum = 0;
    for (size_t i = 0; i < COUNT_OF(work.sums); i++)
        sum += work.sums[i];
    assert_int_equal(sum, count ? count * (count - 1) / 2 : 0);
    for (size_t i = 0; i < COUNT; i++)
        assert_int_equal(work.times[i], i < count);
}

static void test_every_index_once(void **state) {
    (void)state;
    for (unsigned threads = 1; threads <= 7; threads++) {
        Pool *pool = pool_create(threads);
        assert_non_null(pool);
        assert_int_equal(pool_threads(pool), threads);
        for (size_t count = 0; count < 10; count++)
            check_run(pool, count);
        for (int round = 0; round < 50; round++)
            check_run(pool, COUNT);
        pool_free(pool);
    }
}

static void test_without_pool(void **state) {
    (void)state;
    assert_int_equal(pool_threads(NULL), 1);
    check_run(NULL, COUNT);
    pool_free(NULL);
}

static void test_default_threads(void **state) {
    (void)state;
    Pool *pool = pool_create(0);
    assert_non_null(pool);
    assert_in_range(pool_threads(pool), 1, POOL_MOST_THREADS);
    pool_free(pool);
}

static void test_failures(void **state) {
    (void)state;
    Diag diag = {0};
    Pool *pool;
    assert_int_equal(pool_open(POOL_MOST_THREADS + 1, &pool, &diag), ERR_THREAD);
    assert_null(pool);
    assert_string_equal(diag.entries[0].text, "cannot start 1025 threads");
    for (uint64_t n = 1; n <= 2; n++) {
        mem_fail_after(n);
        Status status = pool_open(3, &pool, NULL);
        mem_fail_after(0);
        assert_int_equal(status, ERR_NO_MEMORY);
        assert_null(pool);
    }
    assert_int_equal(pool_open(2, &pool, &diag), STATUS_OK);
    assert_int_equal(diag.count, 1);
    pool_free(pool);
    diag_free(&diag);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_index_once),
        cmocka_unit_test(test_without_pool),
        cmocka_unit_test(test_default_threads),
        cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
