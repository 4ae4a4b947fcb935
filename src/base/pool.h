/* Thread pool: fixed ranges, so that results never depend on the number of threads. */
#pragma once

#include "base/status.h"

#include <stddef.h>

typedef struct Pool Pool;

/* threads = 0: as many as the machine has processors. NULL without memory or threads. */
Pool *pool_create(unsigned threads);
void pool_free(Pool *pool);
unsigned pool_threads(const Pool *pool);

/* Calls body(context, index, worker) once for each index in [0, count), worker in [0, threads).
 * Indices are handed out in ascending order; returns when all are done. The caller is worker 0.
 * pool NULL: in this thread. Not to be called from a body, nor by two threads at once. */
void pool_run(Pool *pool, size_t count, void (*body)(void *context, size_t index, unsigned worker),
              void *context);
