#include "quant/stats.h"

#include "base/mem.h"
#include "num/f16.h"
#include "quant/vector.h"

#include <string.h>

uint64_t stats_hessian_count(uint32_t inputs, uint32_t block) {
    uint64_t whole = inputs / block, tail = inputs % block;
    return whole * block * block + tail * tail;
}

uint64_t stats_bytes(uint32_t inputs, uint32_t block, bool wide) {
    uint64_t hessian = stats_hessian_count(inputs, block) * (wide ? sizeof(double) : sizeof(float));
    return 2 * (hessian + inputs * sizeof(double));
}

static bool make_sums(StatsSums *sums, const Stats *stats) {
    sums->hessian = mem_alloc(stats_hessian_count(stats->inputs, stats->block),
                              stats->wide ? sizeof(double) : sizeof(float));
    sums->sum = mem_alloc(stats->inputs, sizeof *sums->sum);
    return sums->hessian && sums->sum;
}

bool stats_make(Stats *stats, uint32_t inputs, uint32_t block, bool wide) {
    *stats = (Stats){.inputs = inputs, .block = MIN_OF(block, inputs), .wide = wide};
    return make_sums(&stats->part, stats) && make_sums(&stats->total, stats);
}

void stats_free(Stats *stats) {
    mem_free(stats->part.hessian);
    mem_free(stats->part.sum);
    mem_free(stats->total.hessian);
    mem_free(stats->total.sum);
    *stats = (Stats){0};
}

static void clear_sums(const Stats *stats, StatsSums *sums) {
    uint64_t count = stats_hessian_count(stats->inputs, stats->block);
    memset(sums->hessian, 0, count * (stats->wide ? sizeof(double) : sizeof(float)));
    memset(sums->sum, 0, stats->inputs * sizeof *sums->sum);
    *sums = (StatsSums){.hessian = sums->hessian, .sum = sums->sum};
}

void stats_clear(Stats *stats) {
    clear_sums(stats, &stats->part);
    clear_sums(stats, &stats->total);
}

/* ---- adding rows, a block of columns at a time */

/* Exponents wait in a buffer that stays in the first cache until it is full. */
typedef struct Tally {
    uint64_t fit[STATS_BINS], flush[STATS_BINS];
    uint32_t largest; /* bits of a magnitude */
    uint32_t held;
    uint8_t fits[VECTOR_BYTES], flushes[VECTOR_BYTES];
} Tally;

typedef struct Adding {
    Stats *stats;
    const Blas *blas;
    const float *x;
    uint32_t rows;
    Tally *tallies;  /* one a thread */
    double *widened; /* rows × block for each thread, for double Hessians */
} Adding;

static void count_held(Tally *tally) {
    const Vector *vector = vector_get();
    uint32_t held = tally->held;
    tally->held = 0;
    if (tally->largest >= 0x7F800000u) /* not finite: the rows are refused */
        return;
    uint8_t fit, flush;
    float largest = f32_from_bits(tally->largest);
    vector->exponents(&fit, &flush, &largest, 1);
    vector->histogram(tally->fit, tally->fits, held, fit);
    vector->histogram(tally->flush, tally->flushes, held, flush);
}

static void count_row(const float *x, uint32_t width, Tally *tally) {
    while (width) {
        uint32_t count = MIN_OF(width, VECTOR_BYTES - tally->held);
        vector_get()->exponents(tally->fits + tally->held, tally->flushes + tally->held, x, count);
        tally->held += count;
        if (tally->held == VECTOR_BYTES)
            count_held(tally);
        x += count;
        width -= count;
    }
}

static void tally_block(const Adding *adding, uint32_t first, uint32_t width, Tally *tally) {
    enum { GROUP = 8 };
    size_t stride = adding->stats->inputs;
    double *sum = adding->stats->part.sum + first;
    for (uint32_t row = 0, rows; row < adding->rows; row += rows) {
        const float *x = adding->x + first + row * stride;
        rows = adding->rows - row < GROUP ? 1 : GROUP;
        if (rows == GROUP)
            tally->largest = vector_get()->tally(sum, x, stride, width, tally->largest);
        for (uint32_t c = 0; c < width && rows == 1; c++) { /* what is left, beside seven zeros */
            float column[GROUP] = {x[c]};
            tally->largest = vector_get()->tally(sum + c, column, 1, 1, tally->largest);
        }
        for (uint32_t r = 0; r < rows; r++)
            count_row(x + r * stride, width, tally);
    }
    count_held(tally);
}

static void add_block(void *context, size_t k, unsigned worker) {
    const Adding *adding = context;
    const Stats *stats = adding->stats;
    uint32_t width = stats_block_width(stats, (uint32_t)k), first = (uint32_t)k * stats->block;
    size_t at = k * stats->block * stats->block;
    tally_block(adding, first, width, &adding->tallies[worker]);
    const float *x = adding->x + first;
    if (!stats->wide) {
        adding->blas->ssyrk(CblasRowMajor, CblasUpper, CblasTrans, (blasint)width,
                            (blasint)adding->rows, 1, x, (blasint)stats->inputs, 1,
                            (float *)stats->part.hessian + at, (blasint)width);
        return;
    }
    double *wide = adding->widened + (size_t)worker * adding->rows * stats->block;
    for (uint32_t row = 0; row < adding->rows; row++)
        for (uint32_t c = 0; c < width; c++)
            wide[(size_t)row * width + c] = (double)x[(size_t)row * stats->inputs + c];
    adding->blas->dsyrk(CblasRowMajor, CblasUpper, CblasTrans, (blasint)width,
                        (blasint)adding->rows, 1, wide, (blasint)width, 1,
                        (double *)stats->part.hessian + at, (blasint)width);
}

static bool take_tallies(StatsSums *part, const Tally *tallies, unsigned threads) {
    bool finite = true;
    for (unsigned t = 0; t < threads; t++) {
        float largest = f32_from_bits(tallies[t].largest);
        finite = finite && tallies[t].largest < 0x7F800000u;
        part->largest = largest > part->largest ? largest : part->largest;
        for (int bin = 0; bin < STATS_BINS; bin++) {
            part->fit[bin] += tallies[t].fit[bin];
            if (bin) /* zeros */
                part->flush[bin] += tallies[t].flush[bin];
        }
    }
    return finite;
}

bool stats_add(Stats *stats, const Blas *blas, Pool *pool, const float *x, uint32_t rows,
               bool *no_memory) {
    unsigned threads = pool_threads(pool);
    Adding adding = {stats, blas, x, rows, mem_alloc(threads, sizeof(Tally)), NULL};
    if (stats->wide)
        adding.widened = mem_alloc((size_t)threads * rows * stats->block, sizeof(double));
    *no_memory = !adding.tallies || (stats->wide && !adding.widened);
    bool done = !*no_memory;
    if (done) {
        pool_run(pool, stats_blocks(stats), add_block, &adding);
        stats->part.rows += rows;
        done = take_tallies(&stats->part, adding.tallies, threads);
    }
    mem_free(adding.tallies);
    mem_free(adding.widened);
    return done;
}

void stats_fold(Stats *stats) {
    StatsSums *total = &stats->total, *part = &stats->part;
    uint64_t count = stats_hessian_count(stats->inputs, stats->block);
    for (uint64_t i = 0; i < count; i++) {
        if (stats->wide)
            ((double *)total->hessian)[i] += ((double *)part->hessian)[i];
        else
            ((float *)total->hessian)[i] += ((float *)part->hessian)[i];
    }
    for (uint32_t c = 0; c < stats->inputs; c++)
        total->sum[c] += part->sum[c];
    total->rows += part->rows;
    for (int bin = 0; bin < STATS_BINS; bin++) {
        total->fit[bin] += part->fit[bin];
        total->flush[bin] += part->flush[bin];
    }
    total->largest = MAX_OF(total->largest, part->largest);
    clear_sums(stats, part);
}

double stats_element(const Stats *stats, uint32_t k, uint32_t i, uint32_t j) {
    uint32_t width = stats_block_width(stats, k), row = MIN_OF(i, j), column = MAX_OF(i, j);
    size_t at = (size_t)k * stats->block * stats->block + (size_t)row * width + column;
    return stats->wide ? ((const double *)stats->total.hessian)[at]
                       : (double)((const float *)stats->total.hessian)[at];
}

double stats_mean_square(const Stats *stats, uint32_t column) {
    uint32_t k = column / stats->block, c = column % stats->block;
    return stats_element(stats, k, c, c) / (double)stats->total.rows;
}

double stats_mean(const Stats *stats, uint32_t column) {
    return stats->total.sum[column] / (double)stats->total.rows;
}

/* The bin of 1.875·2^(E−127) is E, and 240·2^s is 1.875·2^(s+7). */
uint64_t stats_clipped(const Stats *stats, int scale) {
    uint64_t count = 0;
    for (int bin = MAX_OF(scale + 7 + 127 + 1, 0); bin < STATS_BINS; bin++)
        count += stats->total.fit[bin];
    return count;
}

/* Magnitudes up to 2^(s−11), half the smallest number, round to zero. */
uint64_t stats_flushed(const Stats *stats, int scale) {
    uint64_t count = 0;
    for (int bin = 0; bin <= scale - 11 + 127; bin++)
        count += stats->total.flush[bin];
    return count;
}
