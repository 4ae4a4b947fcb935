/* The two 8-bit floating formats of the IPU21 and their conversions.
 *
 * F143: s eeee mmm, bias 8, largest 240, the format others call float8_e4m3fnuz.
 * F152: s eeeee mm, bias 16, largest 57344 (float8_e5m2fnuz).
 * Both have one zero (0x00), one NaN (0x80), no infinity. A tensor carries a scale exponent s: the
 * value of a code is decode(code) * 2^s. Formats and rules: public poplibs and ipu-stack sources.
 *
 * Encoding scales exactly, then rounds once to nearest, ties to even, subnormals included. Zero of
 * either sign and every value that rounds to zero give 0x00. The modes differ only where the
 * rounded magnitude exceeds the largest number (F143: from 248 on; F152: from 61440 on):
 *
 *   mode                finite overflow   infinity     NaN
 *   F8_HOST             +-largest         +-largest    0x80
 *   F8_DEVICE_SATURATE  +-largest         0x80         0x80    FP_CTL.NANOO = 0
 *   F8_DEVICE_NANOO     0x80              0x80         0x80    FP_CTL.NANOO = 1
 */
#pragma once

#include "base/cpu.h"
#include "num/f16.h"

/* Numbered as in FP_NFMT and in the format bit of tensor metadata. */
typedef enum F8Format { F8_F152 = 0, F8_F143 = 1 } F8Format;

typedef enum F8Mode { F8_HOST, F8_DEVICE_SATURATE, F8_DEVICE_NANOO } F8Mode;

#define F8_NAN          0x80
#define F8_LARGEST_CODE 0x7F

/* Tensor scales are 6-bit signed. The encoders also take +32, because a device cast multiplies by
 * 2^FP_SCL and FP_SCL = -32 is legal. */
#define F8_SCALE_MIN (-32)
#define F8_SCALE_MAX 31

/* decode(code), unscaled, by format and code; NaN is the positive quiet one. */
extern const double f8_values[2][256];

/* float32 converts exactly to double, so this encodes float32 and double alike. The result equals
 * that of the public host codec, which multiplies by 2^-scale in float32: where that product
 * overflows or loses bits, the code is +-largest or 0x00 anyway.
 * scale in F8_SCALE_MIN..F8_SCALE_MAX + 1. */
uint8_t f8_from_f64(double value, F8Format format, int scale, F8Mode mode);
static inline uint8_t f8_from_f16(F16 half, F8Format format, int scale, F8Mode mode) {
    return f8_from_f64((double)f16_to_f32(half), format, scale, mode);
}

/* decode(code) * 2^scale, exact in float32 for every legal scale. */
static inline float f8_to_f32(uint8_t code, F8Format format, int scale) {
    return (float)(f8_values[format][code] * f64_from_bits((uint64_t)(1023 + scale) << 52));
}
/* The same rounded once to binary16: exact for F143 and scale -14..8, else subnormals are kept and
 * overflow follows the mode (evidence: assumed); F8_NAN becomes F16_QNAN. */
static inline F16 f8_to_f16(uint8_t code, F8Format format, int scale, F16Overflow overflow) {
    return f32_to_f16(f8_to_f32(code, format, scale), overflow);
}

/* Bulk forms, equal to the scalar ones element by element at every level of cpu_level().
 * out and in hold count elements and do not overlap. */
void f8_encode_f32(uint8_t *out, const float *in, size_t count, F8Format format, int scale,
                   F8Mode mode);
void f8_encode_f16(uint8_t *out, const F16 *in, size_t count, F8Format format, int scale,
                   F8Mode mode);
void f8_decode_f32(float *out, const uint8_t *in, size_t count, F8Format format, int scale);
void f8_decode_f16(F16 *out, const uint8_t *in, size_t count, F8Format format, int scale,
                   F16Overflow overflow);

/* The bulk functions of one level, for tests and benches; the public ones take cpu_level()'s.
 * The caller must not call functions of a level above cpu_level_native(). */
typedef struct CodecTable {
    void (*widen)(float *out, const F16 *in, size_t count);
    void (*narrow)(F16 *out, const float *in, size_t count, F16Overflow overflow);
    void (*encode_f32)(uint8_t *out, const float *in, size_t count, F8Format format, int scale,
                       F8Mode mode);
    void (*encode_f16)(uint8_t *out, const F16 *in, size_t count, F8Format format, int scale,
                       F8Mode mode);
    void (*decode_f32)(float *out, const uint8_t *in, size_t count, F8Format format, int scale);
    void (*decode_f16)(F16 *out, const uint8_t *in, size_t count, F8Format format, int scale,
                       F16Overflow overflow);
} CodecTable;

const CodecTable *codec_table(CpuLevel level);
