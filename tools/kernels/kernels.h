/* docs/kernels.md: every kernel at published shapes, beside what was published and what the slots
 * of a tile allow. */
#pragma once

#include "kernel/kernel.h"

/* The least that a call can take: the workers execute `bundles` bundles for each unit of work,
 * dealt evenly, in every launch, and before a launch the supervisor works `supervisor` cycles. */
typedef struct Bound {
    uint32_t launches, supervisor;
    uint32_t units; /* a launch */
    double bundles;
    const char *why;
} Bound;

/* A row of the table. `more` is the same kernel with more units, by a multiple of what the workers
 * take in one round, so that the two differ by the inner loop only. */
typedef struct Row {
    const char *shape, *unit;
    KernelSpec spec, more;
    uint32_t units, more_units;
    uint32_t published, aim; /* gross cycles; 0: none */
    Bound bound;
} Row;

extern const Row kernel_rows[];
extern const size_t kernel_row_count;
