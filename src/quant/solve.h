/* Reconstruction of one linear's weight on the F143 grid: block-diagonal GPTQ, or rounding to
 * nearest, and the correction of its bias. Weights are outputs × inputs. */
#pragma once

#include "base/diag.h"
#include "quant/stats.h"

typedef enum Algorithm { ALGORITHM_GPTQ, ALGORITHM_NEAREST, ALGORITHM_NONE } Algorithm;
typedef enum Granularity { GRANULARITY_BLOCK, GRANULARITY_TENSOR } Granularity;
/* Scales: the smallest that clips nothing; or the one with the least weighted error of rounding. */
typedef enum ScaleRule { SCALE_RULE_MAXIMUM, SCALE_RULE_ERROR } ScaleRule;

enum { SCALE_BLOCK = 64 }; /* rows and columns that share a scale with GRANULARITY_BLOCK */

typedef struct SolveOptions {
    Algorithm algorithm;
    Granularity granularity;
    ScaleRule scale_rule;
    double damp;
    unsigned damp_retries; /* each with ten times the damping */
    bool activation_order; /* columns of a block by descending second moment */
    bool bias_correction;
    bool covariance; /* weigh errors by the inputs without their means, which biases take */
} SolveOptions;

/* The factors of a site's blocks; linears with the same input share them. */
typedef struct Factor {
    const Stats *stats;
    struct FactorBlock {
        uint32_t width;
        uint32_t *order; /* position in the loop → column of the block */
        float *ut;       /* transposed upper factor U, in that order */
        float *hessian;  /* undamped, in that order */
        double damping;  /* λ */
        unsigned retries;
        bool fallback; /* not positive definite: rounded to nearest */
    } * blocks;
    uint32_t count;
} Factor;

/* Errors: ERR_NO_MEMORY. The statistics must outlive the factor. */
Status factor_make(const Stats *stats, const SolveOptions *options, const Blas *blas, Pool *pool,
                   Factor *factor, Diag *diag);
void factor_free(Factor *factor);
uint64_t factor_bytes(uint32_t inputs, uint32_t block);

typedef struct Solved {
    float *weight;  /* on the grid */
    float *bias;    /* NULL if there is none */
    int8_t *scales; /* scale_rows × scale_columns */
    uint32_t scale_rows, scale_columns;
    double nearest, reconstructed; /* weighted errors tr(E H Eᵀ) */
    double bias_rms;
    uint64_t clipped; /* weights beyond the range of their scale, before the loop */
} Solved;

/* forced: a tensor scale that a policy asks for, or SOLVE_FREE. */
enum { SOLVE_FREE = 127 };
Status solve_linear(const Factor *factor, const SolveOptions *options, Pool *pool, uint32_t outputs,
                    const float *weight, const float *bias, int forced, Solved *solved, Diag *diag);
void solved_free(Solved *solved);

/* The exponents of all scale groups of a weight by the maximum rule. scales: as in Solved. */
void solve_scales(const float *weight, uint32_t outputs, uint32_t inputs, Granularity granularity,
                  int8_t *scales);
static inline uint32_t scale_groups(uint32_t count, Granularity granularity) {
    return granularity == GRANULARITY_TENSOR ? 1 : (count + SCALE_BLOCK - 1) / SCALE_BLOCK;
}
