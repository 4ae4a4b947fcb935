#include "quant/solve.h"

#include "base/mem.h"
#include "num/f16.h"
#include "quant/vector.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static Status no_memory(Diag *diag) {
    return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory left for the reconstruction");
}

/* ---- factors */

uint64_t factor_bytes(uint32_t inputs, uint32_t block) {
    return 2 * stats_hessian_count(inputs, MIN_OF(block, inputs)) * sizeof(float);
}

void factor_free(Factor *factor) {
    for (uint32_t k = 0; factor->blocks && k < factor->count; k++) {
        mem_free(factor->blocks[k].order);
        mem_free(factor->blocks[k].ut);
        mem_free(factor->blocks[k].hessian);
    }
    mem_free(factor->blocks);
    *factor = (Factor){0};
}

static int compare_descending(const void *a, const void *b, void *context) {
    const double *moments = context;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    if (moments[i] != moments[j])
        return moments[i] > moments[j] ? -1 : 1;
    return i < j ? -1 : i > j;
}

static bool order_columns(const Stats *stats, uint32_t k, bool by_moment,
                          struct FactorBlock *block) {
    uint32_t width = block->width;
    double *moments = mem_alloc(width, sizeof *moments);
    for (uint32_t i = 0; i < width && moments; i++) {
        block->order[i] = i;
        moments[i] = stats_element(stats, k, i, i);
    }
    if (moments && by_moment)
        qsort_r(block->order, width, sizeof *block->order, compare_descending, moments);
    mem_free(moments);
    return moments != NULL;
}

/* With J the reversal and J (H + λI) J = L Lᵀ, U = J L⁻¹ J is the upper factor of the inverse.
 * Writes Uᵀ; false if the matrix is not positive definite. */
static bool factor_inverse(const Blas *blas, struct FactorBlock *block, double *a) {
    uint32_t n = block->width;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++)
            a[(size_t)i * n + j] = (double)block->hessian[(size_t)(n - 1 - i) * n + (n - 1 - j)] +
                                   (i == j ? block->damping : 0);
    blasint size = (blasint)n, info = 0;
    blas->dpotrf("L", &size, a, &size, &info, 1);
    if (info == 0)
        blas->dtrtri("L", "N", &size, a, &size, &info, 1, 1);
    if (info != 0)
        return false;
    /* Column-major: a[c·n + r] is L⁻¹(r, c), r >= c. */
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = i; j < n; j++)
            block->ut[(size_t)j * n + i] = (float)a[(size_t)(n - 1 - j) * n + (n - 1 - i)];
    for (size_t i = 0; i < (size_t)n * n; i++)
        if (!isfinite(block->ut[i]))
            return false;
    return true;
}

static void fall_back(struct FactorBlock *block) {
    uint32_t n = block->width;
    memset(block->ut, 0, (size_t)n * n * sizeof *block->ut);
    for (uint32_t j = 0; j < n; j++)
        block->ut[(size_t)j * n + j] =
            (float)(1 / sqrt((double)block->hessian[(size_t)j * n + j] + block->damping));
    block->fallback = true;
}

/* Σ x xᵀ, or of what is left of the inputs without their means. */
static void fill_hessian(const Stats *stats, const SolveOptions *options, uint32_t k,
                         struct FactorBlock *block) {
    uint32_t n = block->width, first = k * stats->block;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = block->order[i];
        double mean = options->covariance ? stats_mean(stats, first + row) : 0;
        for (uint32_t j = 0; j < n; j++) {
            uint32_t column = block->order[j];
            double moment = stats_element(stats, k, row, column);
            if (options->covariance)
                moment -= mean * stats->total.sum[first + column];
            block->hessian[(size_t)i * n + j] = (float)moment;
        }
    }
}

typedef struct Factoring {
    Factor *factor;
    const SolveOptions *options;
    const Blas *blas;
    bool *failed; /* by block: no memory */
} Factoring;

static bool factor_block(const Factoring *job, uint32_t k) {
    const Stats *stats = job->factor->stats;
    struct FactorBlock *block = &job->factor->blocks[k];
    uint32_t n = block->width = stats_block_width(stats, k);
    block->order = mem_alloc(n, sizeof *block->order);
    block->ut = mem_alloc((size_t)n * n, sizeof *block->ut);
    block->hessian = mem_alloc((size_t)n * n, sizeof *block->hessian);
    double *a = mem_alloc((size_t)n * n, sizeof *a), mean = 0;
    bool made = block->order && block->ut && block->hessian && a &&
                order_columns(stats, k, job->options->activation_order, block);
    if (made)
        fill_hessian(stats, job->options, k, block);
    for (uint32_t i = 0; i < n && made; i++)
        mean += stats_element(stats, k, i, i);
    block->damping = fmax(0x1p-52, job->options->damp * mean / n);
    bool factored = made && factor_inverse(job->blas, block, a);
    while (made && !factored && block->retries < job->options->damp_retries) {
        block->retries++;
        block->damping *= 10;
        factored = factor_inverse(job->blas, block, a);
    }
    if (made && !factored)
        fall_back(block);
    mem_free(a);
    return made;
}

static void factor_piece(void *context, size_t k, unsigned worker) {
    (void)worker;
    const Factoring *job = context;
    job->failed[k] = !factor_block(job, (uint32_t)k);
}

Status factor_make(const Stats *stats, const SolveOptions *options, const Blas *blas, Pool *pool,
                   Factor *factor, Diag *diag) {
    uint32_t count = stats_blocks(stats);
    *factor = (Factor){stats, mem_alloc(count, sizeof *factor->blocks), count};
    bool *failed = mem_alloc(count, sizeof *failed), made = factor->blocks && failed;
    Factoring job = {factor, options, blas, failed};
    if (made)
        pool_run(pool, count, factor_piece, &job);
    for (uint32_t k = 0; k < count && made; k++)
        made = !failed[k];
    mem_free(failed);
    if (!made)
        factor_free(factor);
    return made ? STATUS_OK : no_memory(diag);
}

/* ---- scales */

void solve_scales(const float *weight, uint32_t outputs, uint32_t inputs, Granularity granularity,
                  int8_t *scales) {
    if (granularity == GRANULARITY_TENSOR) {
        float largest = scale_magnitude_f32(weight, (size_t)outputs * inputs);
        scales[0] = (int8_t)scale_for_magnitude((double)largest, F8_F143);
        return;
    }
    uint32_t columns = scale_groups(inputs, granularity);
    for (uint32_t r = 0; r < scale_groups(outputs, granularity); r++) {
        for (uint32_t c = 0; c < columns; c++) {
            uint32_t first = c * SCALE_BLOCK, width = MIN_OF(inputs - first, (uint32_t)SCALE_BLOCK);
            float largest = 0;
            for (uint32_t row = r * SCALE_BLOCK;
                 row < MIN_OF((r + 1) * (uint32_t)SCALE_BLOCK, outputs); row++)
                largest = fmaxf(largest,
                                scale_magnitude_f32(weight + (size_t)row * inputs + first, width));
            scales[(size_t)r * columns + c] = (int8_t)scale_for_magnitude((double)largest, F8_F143);
        }
    }
}

enum { SCALES_TRIED = 6, SCALES_ABOVE = 1 }; /* one larger than the maximum rule's, four smaller */

typedef struct Choosing {
    const float *weight;
    uint32_t outputs, inputs, columns; /* groups of columns */
    Granularity granularity;
    const double *moments; /* by column */
    const int8_t *scales;
    double *errors; /* by tile of rows, tile of columns, candidate */
} Choosing;

static uint32_t group_of(const Choosing *job, uint32_t row_tile, uint32_t column_tile) {
    return job->granularity == GRANULARITY_TENSOR ? 0 : row_tile * job->columns + column_tile;
}

/* Errors of one tile of 64 × 64 weights for every candidate. */
static void try_scales(void *context, size_t index, unsigned worker) {
    (void)worker;
    const Choosing *job = context;
    uint32_t tiles = scale_groups(job->inputs, GRANULARITY_BLOCK);
    uint32_t row_tile = (uint32_t)(index / tiles), column_tile = (uint32_t)(index % tiles);
    uint32_t first = column_tile * SCALE_BLOCK;
    uint32_t width = MIN_OF(job->inputs - first, (uint32_t)SCALE_BLOCK);
    int best = job->scales[group_of(job, row_tile, column_tile)];
    for (int t = 0; t < SCALES_TRIED; t++) {
        int scale = MIN_OF(MAX_OF(best + SCALES_ABOVE - t, F8_SCALE_MIN), F8_SCALE_MAX);
        double sum = 0;
        for (uint32_t row = row_tile * SCALE_BLOCK;
             row < MIN_OF((row_tile + 1) * (uint32_t)SCALE_BLOCK, job->outputs); row++) {
            const float *w = job->weight + (size_t)row * job->inputs + first;
            float q[SCALE_BLOCK];
            vector_get()->project(q, w, width, scale);
            for (uint32_t c = 0; c < width; c++) {
                double error = (double)w[c] - (double)q[c];
                sum += error * error * job->moments[first + c];
            }
        }
        job->errors[index * SCALES_TRIED + (size_t)t] = sum;
    }
}

/* Moves each scale to the candidate of least weighted error, the largest of equals. */
static bool choose_by_error(const Stats *stats, Pool *pool, const float *weight, uint32_t outputs,
                            Granularity granularity, int8_t *scales) {
    uint32_t inputs = stats->inputs, columns = scale_groups(inputs, granularity);
    uint32_t tiles_down = scale_groups(outputs, GRANULARITY_BLOCK),
             tiles_across = scale_groups(inputs, GRANULARITY_BLOCK);
    size_t tiles = (size_t)tiles_down * tiles_across,
           groups = (size_t)columns * scale_groups(outputs, granularity);
    double *moments = mem_alloc(inputs, sizeof *moments);
    double *errors = mem_alloc(tiles * SCALES_TRIED, sizeof *errors);
    double *sums = mem_alloc(groups * SCALES_TRIED, sizeof *sums);
    bool made = moments && errors && sums;
    Choosing job = {weight, outputs, inputs, columns, granularity, moments, scales, errors};
    for (uint32_t c = 0; c < inputs && made; c++)
        moments[c] = stats_mean_square(stats, c);
    if (made)
        pool_run(pool, tiles, try_scales, &job);
    for (size_t i = 0; i < tiles && made; i++)
        for (int t = 0; t < SCALES_TRIED; t++)
            sums[group_of(&job, (uint32_t)(i / tiles_across), (uint32_t)(i % tiles_across)) *
                     (size_t)SCALES_TRIED +
                 (size_t)t] += errors[i * SCALES_TRIED + (size_t)t];
    for (size_t g = 0; g < groups && made; g++) {
        int best = 0;
        for (int t = 1; t < SCALES_TRIED; t++)
            if (sums[g * SCALES_TRIED + (size_t)t] < sums[g * SCALES_TRIED + (size_t)best])
                best = t;
        scales[g] =
            (int8_t)MIN_OF(MAX_OF(scales[g] + SCALES_ABOVE - best, F8_SCALE_MIN), F8_SCALE_MAX);
    }
    mem_free(moments);
    mem_free(errors);
    mem_free(sums);
    return made;
}

/* ---- the column loop, on tiles of 64 rows and one block of columns */
typedef struct Solving {
    const Factor *factor;
    const SolveOptions *options;
    Solved *solved;
    const float *weight;
    uint32_t outputs, inputs, block;
    float **scratch;                 /* one a thread: w, q, error */
    double *nearest, *reconstructed; /* one a tile */
    uint64_t *clipped;
} Solving;

typedef struct Tile {
    uint32_t row, rows, column;
    const struct FactorBlock *block;
    int *scales; /* by position in the loop */
    float *w, *q, *error;
} Tile;

static int scale_at(const Solving *job, uint32_t row, uint32_t column) {
    const Solved *solved = job->solved;
    if (job->options->granularity == GRANULARITY_TENSOR)
        return solved->scales[0];
    return solved
        ->scales[(size_t)(row / SCALE_BLOCK) * solved->scale_columns + column / SCALE_BLOCK];
}

static void load_tile(const Solving *job, const Tile *tile) {
    uint32_t width = tile->block->width;
    memset(tile->w, 0, (size_t)width * VECTOR_ROWS * sizeof *tile->w);
    for (uint32_t c = 0; c < width; c++) {
        uint32_t column = tile->column + tile->block->order[c];
        tile->scales[c] = scale_at(job, tile->row, column);
        for (uint32_t r = 0; r < tile->rows; r++)
            tile->w[(size_t)c * VECTOR_ROWS + r] =
                job->weight[(size_t)(tile->row + r) * job->inputs + column];
    }
}

static void store_tile(const Solving *job, const Tile *tile) {
    for (uint32_t c = 0; c < tile->block->width; c++) {
        uint32_t column = tile->column + tile->block->order[c];
        for (uint32_t r = 0; r < tile->rows; r++)
            job->solved->weight[(size_t)(tile->row + r) * job->inputs + column] =
                tile->q[(size_t)c * VECTOR_ROWS + r];
    }
}

/* error = w − q, and its weighted square. */
static double measure(const Tile *tile) {
    size_t count = (size_t)tile->block->width * VECTOR_ROWS;
    for (size_t i = 0; i < count; i++)
        tile->error[i] = tile->w[i] - tile->q[i];
    return vector_get()->quadratic(tile->error, tile->block->hessian, tile->block->width);
}

static uint64_t count_clipped(const Tile *tile) {
    uint64_t count = 0;
    for (uint32_t c = 0; c < tile->block->width; c++) {
        float limit = ldexpf(240, tile->scales[c]);
        for (uint32_t r = 0; r < VECTOR_ROWS; r++)
            count += fabsf(tile->w[(size_t)c * VECTOR_ROWS + r]) > limit;
    }
    return count;
}

static void solve_tile(void *context, size_t index, unsigned worker) {
    const Solving *job = context;
    const Vector *vector = vector_get();
    uint32_t k = (uint32_t)(index % job->factor->count),
             row = (uint32_t)(index / job->factor->count) * VECTOR_ROWS;
    size_t size = (size_t)job->block * VECTOR_ROWS;
    float *scratch = job->scratch[worker];
    Tile tile = {.row = row,
                 .rows = MIN_OF(job->outputs - row, (uint32_t)VECTOR_ROWS),
                 .column = k * job->block,
                 .block = &job->factor->blocks[k],
                 .w = scratch,
                 .q = scratch + size,
                 .error = scratch + 2 * size,
                 .scales = (int *)(void *)(scratch + 3 * size)};
    uint32_t width = tile.block->width;
    load_tile(job, &tile);
    job->clipped[index] = count_clipped(&tile);
    for (uint32_t c = 0; c < width; c++)
        vector->project(tile.q + (size_t)c * VECTOR_ROWS, tile.w + (size_t)c * VECTOR_ROWS,
                        VECTOR_ROWS, tile.scales[c]);
    job->nearest[index] = job->reconstructed[index] = measure(&tile);
    if (job->options->algorithm == ALGORITHM_GPTQ) {
        vector->column_loop(tile.q, tile.w, tile.error, tile.block->ut, width, tile.scales);
        job->reconstructed[index] = measure(&tile);
    }
    store_tile(job, &tile);
}

static bool run_tiles(Solving *job, Pool *pool) {
    unsigned threads = pool_threads(pool);
    size_t tiles = (size_t)div_up(job->outputs, VECTOR_ROWS) * job->factor->count;
    size_t size = (size_t)job->block * VECTOR_ROWS * 3 + job->block;
    job->scratch = mem_alloc(threads, sizeof *job->scratch);
    job->nearest = mem_alloc(tiles, sizeof *job->nearest);
    job->reconstructed = mem_alloc(tiles, sizeof *job->reconstructed);
    job->clipped = mem_alloc(tiles, sizeof *job->clipped);
    bool made = job->scratch && job->nearest && job->reconstructed && job->clipped;
    for (unsigned t = 0; t < threads && made; t++)
        made = (job->scratch[t] = mem_alloc(size, sizeof(float)));
    if (made)
        pool_run(pool, tiles, solve_tile, job);
    for (size_t i = 0; i < tiles && made; i++) {
        job->solved->nearest += job->nearest[i];
        job->solved->reconstructed += job->reconstructed[i];
        job->solved->clipped += job->clipped[i];
    }
    for (unsigned t = 0; job->scratch && t < threads; t++)
        mem_free(job->scratch[t]);
    mem_free(job->scratch);
    mem_free(job->nearest);
    mem_free(job->reconstructed);
    mem_free(job->clipped);
    return made;
}

/* bias + (W − R) · mean input */
static bool correct_bias(const Stats *stats, const float *weight, const float *bias,
                         uint32_t outputs, Solved *solved) {
    uint32_t inputs = stats->inputs;
    solved->bias = mem_alloc(outputs, sizeof *solved->bias);
    double *means = mem_alloc(inputs, sizeof *means), squares = 0;
    bool made = solved->bias && means;
    for (uint32_t c = 0; c < inputs && made; c++)
        means[c] = stats_mean(stats, c);
    for (uint32_t o = 0; o < outputs && made; o++) {
        const float *w = weight + (size_t)o * inputs, *r = solved->weight + (size_t)o * inputs;
        double change = 0;
        for (uint32_t c = 0; c < inputs; c++)
            change += ((double)w[c] - (double)r[c]) * means[c];
        solved->bias[o] = (float)((double)bias[o] + change);
        squares += change * change;
    }
    solved->bias_rms = sqrt(squares / outputs);
    mem_free(means);
    return made;
}

static bool keep_bias(const float *bias, uint32_t outputs, Solved *solved) {
    solved->bias = mem_alloc(outputs, sizeof *solved->bias);
    if (solved->bias)
        memcpy(solved->bias, bias, outputs * sizeof *bias);
    return solved->bias;
}

Status solve_linear(const Factor *factor, const SolveOptions *options, Pool *pool, uint32_t outputs,
                    const float *weight, const float *bias, int forced, Solved *solved,
                    Diag *diag) {
    const Stats *stats = factor->stats;
    Granularity granularity = options->granularity;
    *solved = (Solved){.scale_rows = scale_groups(outputs, granularity),
                       .scale_columns = scale_groups(stats->inputs, granularity)};
    solved->weight = mem_alloc((size_t)outputs * stats->inputs, sizeof *solved->weight);
    solved->scales = mem_alloc(solved->scale_rows, solved->scale_columns);
    bool made = solved->weight && solved->scales;
    if (made && forced != SOLVE_FREE)
        memset(solved->scales, forced, (size_t)solved->scale_rows * solved->scale_columns);
    else if (made)
        solve_scales(weight, outputs, stats->inputs, granularity, solved->scales);
    if (made && forced == SOLVE_FREE && options->scale_rule == SCALE_RULE_ERROR)
        made = choose_by_error(stats, pool, weight, outputs, granularity, solved->scales);
    Solving job = {.factor = factor,
                   .options = options,
                   .solved = solved,
                   .weight = weight,
                   .outputs = outputs,
                   .inputs = stats->inputs,
                   .block = stats->block};
    made = made && run_tiles(&job, pool);
    if (made && bias)
        made = options->bias_correction ? correct_bias(stats, weight, bias, outputs, solved)
                                        : keep_bias(bias, outputs, solved);
    if (!made)
        solved_free(solved);
    return made ? STATUS_OK : no_memory(diag);
}

void solved_free(Solved *solved) {
    mem_free(solved->weight);
    mem_free(solved->bias);
    mem_free(solved->scales);
    *solved = (Solved){0};
}
