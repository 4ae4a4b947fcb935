#include "quant/vector.h"

#include "num/f16.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#define BODY static inline __attribute__((always_inline))

enum { LANES = 16 };

/* Cephes' expf: a power of two times a polynomial on |y| <= ln 2 / 2. */
BODY float exp_body(float x) {
    const float magic = 12582912.0f; /* 1.5 · 2²³: adding it rounds to a whole number */
    x = x < -87.0f ? -87.0f : x;
    x = x > 87.0f ? 87.0f : x;
    float shifted = x * 1.44269504088896341f + magic;
    float n = shifted - magic;
    float y = x - n * 0.693359375f;
    y -= n * -2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * y + 1.3981999507e-3f;
    p = p * y + 8.3334519073e-3f;
    p = p * y + 4.1665795894e-2f;
    p = p * y + 1.6666665459e-1f;
    p = p * y + 5.0000001201e-1f;
    p = p * y * y + y + 1.0f;
    return p * f32_from_bits((f32_bits(shifted) << 23) + 0x3F800000u);
}

/* 0.5 (1 + tanh u) = 1 / (1 + exp(−2u)) */
BODY void gelu_body(float *x, size_t count) {
    for (size_t i = 0; i < count; i++) {
        float v = x[i];
        float u = 1.5957691216057308f * (v + 0.044715f * v * v * v);
        x[i] = v / (1.0f + exp_body(-u));
    }
}

BODY void swish_body(float *x, size_t count) {
    for (size_t i = 0; i < count; i++)
        x[i] = x[i] / (1.0f + exp_body(-x[i]));
}

BODY float largest_body(const float *x, size_t count) {
    float lanes[LANES];
    for (int l = 0; l < LANES; l++)
        lanes[l] = x[0];
    size_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (int l = 0; l < LANES; l++)
            lanes[l] = x[i + (size_t)l] > lanes[l] ? x[i + (size_t)l] : lanes[l];
    for (; i < count; i++)
        lanes[0] = x[i] > lanes[0] ? x[i] : lanes[0];
    for (int l = 1; l < LANES; l++)
        lanes[0] = lanes[l] > lanes[0] ? lanes[l] : lanes[0];
    return lanes[0];
}

BODY void softmax_body(float *x, size_t count) {
    float most = largest_body(x, count), lanes[LANES] = {0}, sum = 0;
    size_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (int l = 0; l < LANES; l++) {
            float value = exp_body(x[i + (size_t)l] - most);
            x[i + (size_t)l] = value;
            lanes[l] += value;
        }
    for (; i < count; i++)
        sum += x[i] = exp_body(x[i] - most);
    for (int l = 0; l < LANES; l++)
        sum += lanes[l];
    float factor = 1.0f / sum;
    for (i = 0; i < count; i++)
        x[i] *= factor;
}

/* Normal numbers are rounded to three bits of significand in their code, smaller ones to multiples
 * of 2^-10 by adding a number whose last place that is. */
BODY void project_body(float *out, const float *in, size_t count, int scale) {
    float down = f32_from_bits((uint32_t)(127 - scale) << 23);
    float up = f32_from_bits((uint32_t)(127 + scale) << 23);
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = f32_bits(in[i]), sign = bits & 0x80000000u;
        float x = f32_from_bits(bits & 0x7FFFFFFFu) * down;
        x = x < 256.0f ? x : 256.0f;
        uint32_t code = f32_bits(x);
        float normal = f32_from_bits((code + 0x7FFFFu + (code >> 20 & 1u)) & 0xFFF00000u);
        float small = (x + 12288.0f) - 12288.0f;
        float y = x < 0x1p-7f ? small : normal;
        y = y < 240.0f ? y : 240.0f;
        out[i] = f32_from_bits(f32_bits(y * up) | sign);
    }
}

BODY void multiply_add_body(float *y, const float *x, float a, size_t count) {
    for (size_t i = 0; i < count; i++)
        y[i] += a * x[i];
}

BODY double sum_body(const float *x, size_t count, double mean, bool squared) {
    double lanes[LANES] = {0}, sum = 0;
    size_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (int l = 0; l < LANES; l++) {
            double value = (double)x[i + (size_t)l] - mean;
            lanes[l] += squared ? value * value : value;
        }
    for (; i < count; i++) {
        double value = (double)x[i] - mean;
        sum += squared ? value * value : value;
    }
    for (int l = 0; l < LANES; l++)
        sum += lanes[l];
    return sum;
}

BODY void norm_body(float *out, const float *in, const float *weight, const float *bias,
                    size_t count, double epsilon) {
    double mean = sum_body(in, count, 0, false) / (double)count;
    double variance = sum_body(in, count, mean, true) / (double)count;
    float centre = (float)mean, factor = (float)(1 / sqrt(variance + epsilon));
    for (size_t i = 0; i < count; i++)
        out[i] = (in[i] - centre) * factor * weight[i] + bias[i];
}

/* Eight values of any alignment. */
typedef float Wide __attribute__((vector_size(32), aligned(4), may_alias));

BODY int32_t larger_body(float x, int32_t most) {
    int32_t magnitude = (int32_t)(f32_bits(x) & 0x7FFFFFFFu);
    return magnitude > most ? magnitude : most;
}

BODY uint32_t tally_body(double *sum, const float *x, size_t stride, size_t count,
                         uint32_t largest) {
    int32_t most = (int32_t)largest;
    const float *y = x + 4 * stride;
    for (size_t i = 0; i < count; i++) {
        float a = x[i], b = x[stride + i], c = x[2 * stride + i], d = x[3 * stride + i];
        float e = y[i], f = y[stride + i], g = y[2 * stride + i], h = y[3 * stride + i];
        sum[i] += (double)(((a + b) + (c + d)) + ((e + f) + (g + h)));
        int32_t p = larger_body(a, larger_body(b, larger_body(c, larger_body(d, 0))));
        most = larger_body(e, larger_body(f, larger_body(g, larger_body(h, most))));
        most = p > most ? p : most;
    }
    return (uint32_t)most;
}

BODY void exponents_body(uint8_t *restrict fit, uint8_t *restrict flush, const float *x,
                         size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t magnitude = f32_bits(x[i]) & 0x7FFFFFFFu;
        fit[i] = (uint8_t)((magnitude + 0x0FFFFFu) >> 23);
        flush[i] = (uint8_t)((magnitude + 0x7FFFFFu) >> 23);
    }
}

/* As many bytes as a vector register has: comparisons of longer vectors are not split well. */
typedef uint8_t Bytes16 __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint8_t Bytes32 __attribute__((vector_size(32), aligned(1), may_alias));

/* Sum of 16 or 32 bytes, in all at most 65535. */
BODY uint64_t sum_bytes_body(const void *bytes, size_t count) {
    const uint64_t even = 0x00FF00FF00FF00FF, ones = 0x0001000100010001;
    uint64_t words[4], sum = 0;
    memcpy(words, bytes, count);
    for (size_t w = 0; w < count / sizeof *words; w++)
        sum += (words[w] & even) + (words[w] >> 8 & even);
    return sum * ones >> 48;
}

/* Vector types are lowered before inlining, so these functions are written out for each level. */
#define NAME(function) function##_portable
#define TARGET
#define Bytes Bytes16
#include "quant/vector_loops.h"
#undef Bytes
#define NAME(function) function##_avx2
#define TARGET         __attribute__((target("avx2")))
#define Bytes          Bytes32
#include "quant/vector_loops.h"
#define NAME(function) function##_avx512
#define TARGET         __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#include "quant/vector_loops.h"
#undef Bytes

#define LEVEL(level, attribute)                                                                    \
    attribute static void gelu_##level(float *x, size_t count) {                                   \
        gelu_body(x, count);                                                                       \
    }                                                                                              \
    attribute static void swish_##level(float *x, size_t count) {                                  \
        swish_body(x, count);                                                                      \
    }                                                                                              \
    attribute static void softmax_##level(float *x, size_t count) {                                \
        softmax_body(x, count);                                                                    \
    }                                                                                              \
    attribute static void project_##level(float *out, const float *in, size_t count, int scale) {  \
        project_body(out, in, count, scale);                                                       \
    }                                                                                              \
    attribute static void add_##level(float *y, const float *x, float a, size_t count) {           \
        multiply_add_body(y, x, a, count);                                                         \
    }                                                                                              \
    attribute static void norm_##level(float *out, const float *in, const float *weight,           \
                                       const float *bias, size_t count, double epsilon) {          \
        norm_body(out, in, weight, bias, count, epsilon);                                          \
    }                                                                                              \
    attribute static uint32_t tally_##level(double *sum, const float *x, size_t stride,            \
                                            size_t count, uint32_t largest) {                      \
        return tally_body(sum, x, stride, count, largest);                                         \
    }                                                                                              \
    attribute static void exponents_##level(uint8_t *fit, uint8_t *flush, const float *x,          \
                                            size_t count) {                                        \
        exponents_body(fit, flush, x, count);                                                      \
    }                                                                                              \
    static const Vector table_##level = {gelu_##level,      swish_##level,     softmax_##level,    \
                                         project_##level,   add_##level,       norm_##level,       \
                                         loop_##level,      quadratic_##level, tally_##level,      \
                                         exponents_##level, histogram_##level};

LEVEL(portable, )
LEVEL(avx2, __attribute__((target("avx2"))))
LEVEL(avx512, __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))))

const Vector *vector_table(CpuLevel level) {
    return level == CPU_AVX512 ? &table_avx512 : level == CPU_AVX2 ? &table_avx2 : &table_portable;
}

static const Vector *chosen;

static void choose(void) {
    chosen = vector_table(cpu_level());
}

const Vector *vector_get(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, choose);
    return chosen;
}
