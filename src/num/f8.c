#include "num/f8.h"

#include <assert.h>

/* What a format is made of; both follow the same rules. */
typedef struct F8Shape {
    int mantissa_bits, bias;
} F8Shape;

static const F8Shape shapes[2] = {[F8_F152] = {2, 16}, [F8_F143] = {3, 8}};

/* The tables as constant expressions: m * 2^-10 and (8 + m) * 2^(e - 11); m * 2^-17 and
 * (4 + m) * 2^(e - 18). */
#define F143_MAGNITUDE(c)                                                                          \
    (((c) >> 3 & 15) == 0 ? ((c)&7) / 1024.0                                                       \
                          : (8 + ((c)&7)) * (double)(1u << ((c) >> 3 & 15)) / 2048.0)
#define F152_MAGNITUDE(c)                                                                          \
    (((c) >> 2 & 31) == 0 ? ((c)&3) / 131072.0                                                     \
                          : (4 + ((c)&3)) * (double)(1u << ((c) >> 2 & 31)) / 262144.0)
#define F143_VALUE(c)                                                                              \
    ((c) == F8_NAN ? __builtin_nan("") : (c) < 128 ? F143_MAGNITUDE(c) : -F143_MAGNITUDE(c))
#define F152_VALUE(c)                                                                              \
    ((c) == F8_NAN ? __builtin_nan("") : (c) < 128 ? F152_MAGNITUDE(c) : -F152_MAGNITUDE(c))
#define TABLE_4(value, c) value(c), value((c) + 1), value((c) + 2), value((c) + 3)
#define TABLE_16(value, c)                                                                         \
    TABLE_4(value, c), TABLE_4(value, (c) + 4), TABLE_4(value, (c) + 8), TABLE_4(value, (c) + 12)
#define TABLE_64(value, c)                                                                         \
    TABLE_16(value, c), TABLE_16(value, (c) + 16), TABLE_16(value, (c) + 32),                      \
        TABLE_16(value, (c) + 48)
#define TABLE_256(value)                                                                           \
    TABLE_64(value, 0), TABLE_64(value, 64), TABLE_64(value, 128), TABLE_64(value, 192)

const double f8_values[2][256] = {
    [F8_F152] = {TABLE_256(F152_VALUE)}, [F8_F143] = {TABLE_256(F143_VALUE)}};

/* significand / 2^shift to nearest, ties to even; shift >= 1. */
static uint64_t shift_to_even(uint64_t significand, int shift) {
    if (shift > 63) /* the significand has 53 bits, so this is far below a half */
        return 0;
    uint64_t half = 1ull << (shift - 1), quotient = significand >> shift;
    uint64_t rest = significand & (2 * half - 1);
    return quotient + (rest > half || (rest == half && (quotient & 1)));
}

uint8_t f8_from_f64(double value, F8Format format, int scale, F8Mode mode) {
    assert(scale >= F8_SCALE_MIN && scale <= F8_SCALE_MAX + 1);
    uint64_t bits = f64_bits(value), fraction = bits & ((1ull << 52) - 1);
    uint8_t sign = (uint8_t)(bits >> 56 & 0x80);
    int exponent = (int)(bits >> 52 & 0x7FF);
    if (exponent == 0x7FF) {
        bool saturates = mode == F8_HOST && fraction == 0;
        return saturates ? (uint8_t)(sign | F8_LARGEST_CODE) : F8_NAN;
    }
    if (exponent == 0) /* doubles that small are far below every F8 number */
        return 0;
    int mantissa_bits = shapes[format].mantissa_bits, bias = shapes[format].bias;
    /* |value| * 2^-scale lies in [2^e, 2^(e+1)); its codes there are 2^(e - mantissa_bits) apart.
     */
    int e = exponent - 1023 - scale;
    int field = e + bias < 1 ? 1 : e + bias;
    uint64_t units = shift_to_even(fraction | 1ull << 52, 52 - mantissa_bits + (field - bias - e));
    uint64_t code = ((uint64_t)(field - 1) << mantissa_bits) + units;
    if (code > F8_LARGEST_CODE)
        return mode == F8_DEVICE_NANOO ? F8_NAN : (uint8_t)(sign | F8_LARGEST_CODE);
    return code == 0 ? 0 : (uint8_t)(sign | code);
}
