/* Bounded equalization of the columns behind a layer norm: the norm's weight and bias are divided
 * by t, the consumers' columns multiplied, which leaves the float function as it is. */
#pragma once

#include "quant/solve.h"

typedef struct EqualizeConsumer {
    const float *weight; /* outputs × inputs */
    uint32_t outputs;
} EqualizeConsumer;

typedef struct Equalized {
    float *t; /* by column; mem_free */
    double alpha;
    double ratio; /* of weighted errors of rounding to nearest, after to before; 0 if none before */
    double least, most; /* of t */
} Equalized;

/* Tries t = a^α / w^(1−α), a and w the root mean squares of activations and weights, for five α;
 * scaled to a geometric middle of 1 and clamped to 1/limit…limit. moments: mean squares by column.
 */
Status equalize_group(const EqualizeConsumer *consumers, size_t count, uint32_t inputs,
                      const double *moments, Granularity granularity, double limit, Pool *pool,
                      Equalized *result, Diag *diag);
