/* Inner loops of the host network and of quantization, for the processor's level. Values may differ
 * between levels in the last bits, never with the number of threads. */
#pragma once

#include "base/cpu.h"

#include <stddef.h>
#include <stdint.h>

/* exp for |x| < 87, else its value there; relative error below 2e-7. */
typedef struct Vector {
    void (*gelu)(float *x, size_t count); /* tanh form */
    void (*swish)(float *x, size_t count);
    void (*softmax)(float *x, size_t count); /* of scale · x; count > 0 */
    /* out = decode(encode(in)) of F143 with the host's rule, for finite values; scale -32…31. The
     * sign of zero is kept. out may be in. */
    void (*project)(float *out, const float *in, size_t count, int scale);
    /* y += a · x */
    void (*multiply_add)(float *y, const float *x, float a, size_t count);
    /* (x − mean) / √(variance + epsilon) · weight + bias */
    void (*norm)(float *out, const float *in, const float *weight, const float *bias, size_t count,
                 double epsilon);
    /* The GPTQ loop on VECTOR_ROWS rows: w and out are width × VECTOR_ROWS (a column is
     * contiguous), ut the transposed upper factor, scales by column; error is scratch of the same
     * size as w. */
    void (*column_loop)(float *out, const float *w, float *error, const float *ut, size_t width,
                        const int *scales);
    /* Σ over rows of eᵀ H e for e of the same layout and a symmetric H. */
    double (*quadratic)(const float *e, const float *h, size_t width);
    /* Sums by column of eight rows, `stride` apart, added to sum[]: in float32 among the eight, in
     * double to the rest. Returns the largest bits of a magnitude, `largest` included. */
    uint32_t (*tally)(double *sum, const float *x, size_t stride, size_t count, uint32_t largest);
    /* Biased exponents of the smallest 1.875·2^k and of the smallest 2^k that are not below the
     * magnitude; both 0 for zero, and for zero alone in `flush`. Finite values. */
    void (*exponents)(uint8_t *fit, uint8_t *flush, const float *x, size_t count);
    /* counts[b] += how many of the bytes are b. None is greater than `most`; at most VECTOR_BYTES.
     * Its time goes with the distance from the largest to the smallest that is not 0. */
    void (*histogram)(uint64_t *counts, const uint8_t *bytes, size_t count, unsigned most);
} Vector;

enum { VECTOR_ROWS = 64, VECTOR_BYTES = 4080 };

const Vector *vector_table(CpuLevel level);
const Vector *vector_get(void); /* of cpu_level(), which is asked once */
