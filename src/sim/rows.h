/* What knows of RowQueue from within: exec_rows.c, matrix_loop.c. */
#pragma once

#include "sim/internal.h"

/* The kinds of RowQueue.expected, whose low bits are the next phase. */
enum { ROW_F16 = 8, ROW_F8 = 16 };

/* Computes the finished row that a worker has queued, and of those that go along. */
void rows_compute_finished(Context *context);

/* One bit a lane: magnitudes of F16 from the largest number on. */
static inline uint64_t extreme_lanes(uint64_t halves) {
    const uint64_t each = 0x0001000100010001;
    return ((halves & each * 0x7FFF) + each * (0x8000 - F16_MAX)) & each * 0x8000;
}
