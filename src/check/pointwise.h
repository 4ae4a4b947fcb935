/* Operations value by value, of the twin (codes) and of the reference (F64). */
#pragma once

#include "base/pool.h"
#include "graph/graph.h"
#include "num/f16.h"

/* twice: 2 * GELU, as it is encoded. */
void pointwise_gelu_f16(const F16 *in, uint64_t count, bool twice, Pool *pool, F16 *out);
/* 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³))) */
void pointwise_gelu_f64(const double *in, uint64_t count, Pool *pool, double *out);
/* F64 numbers as a cast to that precision leaves them. */
void pointwise_cast_f64(const double *in, uint64_t count, Precision precision, Pool *pool,
                        double *out);

/* Broadcast sum: shapes as in the graph, numbers row-major. */
typedef struct PointwiseAdd {
    Shape result, operands[2];
    const void *numbers[2];
    bool reference; /* F64, else F16: exact, then rounded once, saturating */
    void *out;
} PointwiseAdd;

void pointwise_add(const PointwiseAdd *add, Pool *pool);
