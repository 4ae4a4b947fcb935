/* From exact or nearly exact results to registers: rounding by $FP_CTL, overflow, sticky flags. */
#pragma once

#include "sim/internal.h"

#include <math.h>

enum {
    FLAG_INVALID = 1 << CHIP_CSR_W_FP_STS_INV_SHIFT,
    FLAG_DIVISION = 1 << CHIP_CSR_W_FP_STS_DIV0_SHIFT,
    FLAG_OVERFLOW = 1 << CHIP_CSR_W_FP_STS_OFLO_SHIFT,
};

/* From here on a magnitude rounds to more than the largest binary16. */
#define F16_BORDER 65520.0f

/* Sets sticky flags, and traps if their exception is enabled. */
void round_raise(Context *context, uint32_t flags);

/* The two ends of every F16 result. x and y are the operands, which decide whether a NaN or an
 * infinity is new. `value` of round_f16_exact is exact, or rounded to odd (num/exact.h). */
F16 round_f16_special(Context *context, float value, float x, float y);
F16 round_f16_exact(Context *context, double value, float x, float y);

/* Nearest-even only: `value` is a float32 result whose second rounding is harmless. */
static inline F16 round_f16(Context *context, float value, float x, float y) {
    if (__builtin_expect(fabsf(value) < F16_BORDER, 1))
        return f32_to_f16(value, F16_OVERFLOW_SATURATE);
    return round_f16_special(context, value, x, y);
}

/* A float32 accumulator leaving as F16, by the present rounding mode. */
static inline F16 round_f16_out(Context *context, float value) {
    return context->plain_rounding ? round_f16(context, value, value, value)
                                   : round_f16_exact(context, value, value, value);
}

uint32_t round_f32_special(Context *context, float value, float x, float y);
uint32_t round_f32_exact(Context *context, double value, float x, float y);

static inline uint32_t round_f32(Context *context, float value, float x, float y) {
    uint32_t bits = f32_bits(value);
    if (__builtin_expect((bits & 0x7F800000u) != 0x7F800000u, 1))
        return bits;
    return round_f32_special(context, value, x, y);
}

/* Lanes of arithmetic registers: lane i of the vector that begins at register r. */
static inline F16 lane_f16(const Context *context, unsigned r, unsigned i) {
    return (F16)(context->a[r + i / 2] >> 16 * (i % 2));
}
static inline float lane_half(const Context *context, unsigned r, unsigned i) {
    return f16_to_f32(lane_f16(context, r, i));
}
static inline float lane_f32(const Context *context, unsigned r, unsigned i) {
    return f32_from_bits(context->a[r + i]);
}
/* count is even. */
static inline void set_lanes_f16(Context *context, unsigned r, const F16 *lanes, unsigned count) {
    for (unsigned i = 0; i < count; i += 2)
        context->a[r + i / 2] = lanes[i] | (uint32_t)lanes[i + 1] << 16;
}
static inline void set_lanes_f32(Context *context, unsigned r, const float *lanes, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        context->a[r + i] = f32_bits(lanes[i]);
}
