/* binary16 by integer code: exact widening, one rounding (nearest, ties to even) on narrowing.
 *
 * Every NaN that comes out is the canonical one (F16_QNAN, F32_QNAN): which NaN the chip makes is
 * not public (evidence: assumed). Subnormals are kept on both sides. An infinite operand stays
 * infinite in every overflow mode; only finite values overflow (evidence: inferred, the chip's
 * F16 to F8 cast also keeps infinities apart from overflow).
 * The host's rounding mode must be the default one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint16_t F16; /* the 16 bits of a binary16 */

#define F16_QNAN     ((F16)0x7E00)
#define F16_INFINITE ((F16)0x7C00)
#define F16_MAX      ((F16)0x7BFF) /* 65504 */
#define F32_QNAN     0x7FC00000u

/* What a finite value beyond 65504 (from 65520 on, the rounding border) becomes. */
typedef enum F16Overflow {
    F16_OVERFLOW_INFINITE = 0, /* IEEE 754: host use */
    F16_OVERFLOW_SATURATE = 1, /* chip, FP_CTL.NANOO = 0: +-65504 */
    F16_OVERFLOW_NAN = 2,      /* chip, FP_CTL.NANOO = 1: F16_QNAN */
} F16Overflow;

static inline uint32_t f32_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float f32_from_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint64_t f64_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double f64_from_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Exact. */
static inline float f16_to_f32(F16 half) {
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, magnitude = half & 0x7FFFu;
    if (magnitude < 0x0400)
        return f32_from_bits(f32_bits((float)magnitude * 0x1p-24f) | sign);
    if (magnitude < 0x7C00)
        return f32_from_bits(((magnitude << 13) + (112u << 23)) | sign);
    return f32_from_bits(magnitude == 0x7C00 ? 0x7F800000u | sign : F32_QNAN);
}

/* One rounding. */
static inline F16 f32_to_f16(float value, F16Overflow overflow) {
    uint32_t bits = f32_bits(value), magnitude = bits & 0x7FFFFFFFu;
    F16 sign = (F16)(bits >> 16 & 0x8000);
    if (magnitude < 0x38800000u) { /* below 2^-14: the unit of 0.5 is 2^-24, that of a subnormal */
        float shifted = f32_from_bits(magnitude) + 0.5f;
        return (F16)(sign | (F16)(f32_bits(shifted) - f32_bits(0.5f)));
    }
    if (magnitude < 0x477FF000u) {
        uint32_t rounded = magnitude + 0xFFFu + (magnitude >> 13 & 1);
        return (F16)(sign | (F16)((rounded - (112u << 23)) >> 13));
    }
    if (magnitude > 0x7F800000u)
        return F16_QNAN;
    if (magnitude == 0x7F800000u || overflow == F16_OVERFLOW_INFINITE)
        return (F16)(sign | F16_INFINITE);
    return overflow == F16_OVERFLOW_NAN ? F16_QNAN : (F16)(sign | F16_MAX);
}

/* One rounding from double. */
F16 f64_to_f16(double value, F16Overflow overflow);

/* a + b, rounded once: in float32 it is exact, or rounds where that does no harm. */
static inline F16 f16_add(F16 a, F16 b) {
    return f32_to_f16(f16_to_f32(a) + f16_to_f32(b), F16_OVERFLOW_SATURATE);
}

/* a * b + c * d with one rounding to float32: the accumulator step of f16v4mix and f16v2cmac. */
float f16_mix(F16 a, F16 b, F16 c, F16 d);

/* Bulk forms, equal to the scalar ones element by element at every level of cpu_level().
 * out and in hold count elements and do not overlap. */
void f16_widen_all(float *out, const F16 *in, size_t count);
void f16_narrow_all(F16 *out, const float *in, size_t count, F16Overflow overflow);
