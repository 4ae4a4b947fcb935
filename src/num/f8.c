#include "num/f8.h"

#include <assert.h>

/* What a format is made of; both follow the same rules. */
typedef struct F8Shape {
    int mantissa_bits, bias;
} F8Shape;

static const F8Shape shapes[2] = {[F8_F152] = {2, 16}, [F8_F143] = {3, 8}};

/* The tables as constant expressions, u being what code 1 stands for: after the subnormal numbers,
 * rows of one exponent each, 8 or 4 codes long, and each with twice the unit of the row before. */
#define ROW_143(u)   8 * (u), 9 * (u), 10 * (u), 11 * (u), 12 * (u), 13 * (u), 14 * (u), 15 * (u)
#define ROW_152(u)   4 * (u), 5 * (u), 6 * (u), 7 * (u)
#define ROWS(row, u) row(u), row(2 * (u)), row(4 * (u)), row(8 * (u))
#define VALUES_143(zero, u)                                                                        \
    (zero), (u), 2 * (u), 3 * (u), 4 * (u), 5 * (u), 6 * (u), 7 * (u), ROWS(ROW_143, u),           \
        ROWS(ROW_143, 0x1p4 * (u)), ROWS(ROW_143, 0x1p8 * (u)), ROW_143(0x1p12 * (u)),             \
        ROW_143(0x1p13 * (u)), ROW_143(0x1p14 * (u))
#define VALUES_152(zero, u)                                                                        \
    (zero), (u), 2 * (u), 3 * (u), ROWS(ROW_152, u), ROWS(ROW_152, 0x1p4 * (u)),                   \
        ROWS(ROW_152, 0x1p8 * (u)), ROWS(ROW_152, 0x1p12 * (u)), ROWS(ROW_152, 0x1p16 * (u)),      \
        ROWS(ROW_152, 0x1p20 * (u)), ROWS(ROW_152, 0x1p24 * (u)), ROW_152(0x1p28 * (u)),           \
        ROW_152(0x1p29 * (u)), ROW_152(0x1p30 * (u))

/* The code of minus zero is the NaN. */
const double f8_values[2][256] = {
    [F8_F152] = {VALUES_152(0, 0x1p-17), VALUES_152(__builtin_nan(""), -0x1p-17)},
    [F8_F143] = {VALUES_143(0, 0x1p-10), VALUES_143(__builtin_nan(""), -0x1p-10)}};

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
