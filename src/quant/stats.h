/* What calibration learns about the input of linears: second moments by blocks of columns, sums,
 * and how many values each possible F143 scale would clip or flush.
 *
 * Rows are added into a part; a part covers a fixed block of QUANT_BLOCK samples and is then folded
 * into the total, so that parts that were made elsewhere fold to the same bits. */
#pragma once

#include "base/pool.h"
#include "num/blas.h"
#include "num/scale.h"

enum { QUANT_BLOCK = 8 }; /* samples */
enum { STATS_BINS = 256 };

/* Sums of one part, or of all. */
typedef struct StatsSums {
    void *hessian; /* float, or double if wide; block after block, n × n, upper triangles */
    double *sum;   /* by column */
    uint64_t rows;
    /* Numbers of values by the biased exponent of the smallest 1.875·2^k and of the smallest 2^k
     * that are not below their magnitude; zeros are in no bin of `flush`. */
    uint64_t fit[STATS_BINS], flush[STATS_BINS];
    float largest;
} StatsSums;

typedef struct Stats {
    uint32_t inputs, block; /* columns, columns of a block */
    bool wide;              /* Hessians in double */
    StatsSums part, total;
} Stats;

bool stats_make(Stats *stats, uint32_t inputs, uint32_t block, bool wide);
void stats_free(Stats *stats);
uint64_t stats_bytes(uint32_t inputs, uint32_t block, bool wide);
void stats_clear(Stats *stats);

/* Number of values of all blocks of a Hessian, and where block k begins. */
uint64_t stats_hessian_count(uint32_t inputs, uint32_t block);
static inline uint32_t stats_blocks(const Stats *stats) {
    return (uint32_t)((stats->inputs + stats->block - 1) / stats->block);
}
static inline uint32_t stats_block_width(const Stats *stats, uint32_t k) {
    uint32_t left = stats->inputs - k * stats->block;
    return left < stats->block ? left : stats->block;
}

/* Adds rows to the part. False if a value is not finite, without memory too (*no_memory). */
bool stats_add(Stats *stats, const Blas *blas, Pool *pool, const float *x, uint32_t rows,
               bool *no_memory);
/* total += part; the part becomes empty. */
void stats_fold(Stats *stats);

/* Of the total: element (i, j) of block k; mean of squares and mean of a column. */
double stats_element(const Stats *stats, uint32_t k, uint32_t i, uint32_t j);
double stats_mean_square(const Stats *stats, uint32_t column);
double stats_mean(const Stats *stats, uint32_t column);
/* Values that scale s would clip, or round to zero. */
uint64_t stats_clipped(const Stats *stats, int scale);
uint64_t stats_flushed(const Stats *stats, int scale);
