/* Thread pool: fixed ranges, so that results never depend on the number of threads. */
#pragma once

#include "base/diag.h"

#include <stddef.h>

typedef struct Pool Pool;

enum { POOL_MOST_THREADS = 1024 };

/* threads = 0: as many as this process may use processors, at most POOL_MOST_THREADS. NULL without
 * memory or threads. */
Pool *pool_create(unsigned threads);
/* The same with a story: ERR_NO_MEMORY or ERR_THREAD, and *pool NULL. */
Status pool_open(unsigned threads, Pool **pool, Diag *diag);
void pool_free(Pool *pool);
unsigned pool_threads(const Pool *pool);

/* Calls body(context, index, worker) once for each index in [0, count), worker in [0, threads).
 * Indices are handed out in ascending order; returns when all are done. The caller is worker 0.
 * pool NULL: in this thread. Not to be called from a body, nor by two threads at once. */
void pool_run(Pool *pool, size_t count, void (*body)(void *context, size_t index, unsigned worker),
              void *context);
