/* Internal: the bulk conversions in the vocabulary of simd_*.h. Included once by each level's file,
 * after its vocabulary; defines SIMD_NAME(codec_table). No code here may depend on the level. */
#include "num/levels.h"

#define BLOCK ((size_t)(4 * F32_LANES)) /* elements that one step converts */

/* Everything that an encoding needs, as lanes. */
typedef struct Encoding {
    VF factor;        /* 2^-scale */
    VI cap;           /* float32 bits of the first power of two that overflows */
    VI least;         /* float32 bits of the smallest normal number */
    VI offset;        /* see encode_lanes */
    VI special_above; /* magnitudes above this give F8_NAN */
    VI nan_above;     /* codes above this give F8_NAN */
    int dropped_bits; /* float32 mantissa bits beyond those of the format */
} Encoding;

SIMD Encoding encoding_of(F8Format format, int scale, F8Mode mode) {
    int mantissa_bits = format == F8_F143 ? 3 : 2, bias = format == F8_F143 ? 8 : 16;
    uint32_t hidden = 1u << mantissa_bits;
    return (Encoding){
        .factor = vi_as_float(vi_set((uint32_t)(127 - scale) << 23)),
        .cap = vi_set((uint32_t)(127 + (format == F8_F143 ? 8 : 16)) << 23),
        .least = vi_set((uint32_t)(128 - bias) << 23),
        .offset = vi_set(((uint32_t)(127 - bias) << mantissa_bits) + hidden),
        .special_above = vi_set(mode == F8_HOST ? 0x7F800000u : 0x7F7FFFFFu),
        .nan_above = vi_set(mode == F8_DEVICE_NANOO ? F8_LARGEST_CODE : 0xFFFF),
        .dropped_bits = 23 - mantissa_bits,
    };
}

/* Codes, one in each 32-bit lane. The rounding is that of one float32 addition: to a magnitude in
 * [2^e, 2^(e+1)) it adds 2^(e + dropped_bits), whose unit is the format's unit there. */
SIMD VI encode_lanes(VF value, const Encoding *n) {
    VI bits = vf_as_int(value), magnitude = vi_and(bits, vi_set(0x7FFFFFFFu));
    VI scaled = vi_min(vf_as_int(vf_mul(vi_as_float(magnitude), n->factor)), n->cap);
    VI power = vi_max(vi_and(scaled, vi_set(0x7F800000u)), n->least);
    VI magic = vi_add(power, vi_set((uint32_t)n->dropped_bits << 23));
    VI units = vi_sub(vf_as_int(vf_add(vi_as_float(scaled), vi_as_float(magic))), magic);
    VI code = vi_sub(vi_add(vi_right(power, n->dropped_bits), units), n->offset);
    VMask nan = mask_or(vi_above(magnitude, n->special_above), vi_above(code, n->nan_above));
    VI sign = vi_and(vi_right(bits, 24), vi_set(0x80));
    VI positive = vi_min(code, vi_set(F8_LARGEST_CODE));
    VMask zero = vi_equal(code, vi_set(0));
    VI finite = vi_select(zero, code, vi_or(positive, sign));
    return vi_select(nan, vi_set(F8_NAN), finite);
}

SIMD void encode_block_f32(uint8_t *out, const float *in, const Encoding *n) {
    vi_store_u8(out, encode_lanes(vf_load(in), n), encode_lanes(vf_load(in + F32_LANES), n),
                encode_lanes(vf_load(in + 2 * F32_LANES), n),
                encode_lanes(vf_load(in + 3 * F32_LANES), n));
}

SIMD_ENTRY void encode_f32(uint8_t *out, const float *in, size_t count, F8Format format, int scale,
                           F8Mode mode) {
    Encoding n = encoding_of(format, scale, mode);
    size_t i = 0;
    for (; i + BLOCK <= count; i += BLOCK)
        encode_block_f32(out + i, in + i, &n);
    if (i < count) {
        float rest[BLOCK] = {0};
        uint8_t codes[BLOCK];
        memcpy(rest, in + i, (count - i) * sizeof *in);
        encode_block_f32(codes, rest, &n);
        memcpy(out + i, codes, count - i);
    }
}

SIMD void encode_block_f16(uint8_t *out, const F16 *in, const Encoding *n) {
    vi_store_u8(out, encode_lanes(vf_load_f16(in), n), encode_lanes(vf_load_f16(in + F32_LANES), n),
                encode_lanes(vf_load_f16(in + 2 * F32_LANES), n),
                encode_lanes(vf_load_f16(in + 3 * F32_LANES), n));
}

SIMD_ENTRY void encode_f16(uint8_t *out, const F16 *in, size_t count, F8Format format, int scale,
                           F8Mode mode) {
    Encoding n = encoding_of(format, scale, mode);
    size_t i = 0;
    for (; i + BLOCK <= count; i += BLOCK)
        encode_block_f16(out + i, in + i, &n);
    if (i < count) {
        F16 rest[BLOCK] = {0};
        uint8_t codes[BLOCK];
        memcpy(rest, in + i, (count - i) * sizeof *in);
        encode_block_f16(codes, rest, &n);
        memcpy(out + i, codes, count - i);
    }
}

typedef struct Decoding {
    VF factor;        /* 2^scale */
    VF subnormal;     /* the hidden bit that subnormals lack */
    VI offset;        /* difference of the biases */
    VI normal_above;  /* magnitudes above this are normal */
    int dropped_bits; /* as above */
} Decoding;

SIMD Decoding decoding_of(F8Format format, int scale) {
    int mantissa_bits = format == F8_F143 ? 3 : 2, bias = format == F8_F143 ? 8 : 16;
    return (Decoding){
        .factor = vi_as_float(vi_set((uint32_t)(127 + scale) << 23)),
        .subnormal = vi_as_float(vi_set((uint32_t)(128 - bias) << 23)),
        .offset = vi_set((uint32_t)(127 - bias) << 23),
        .normal_above = vi_set((1u << mantissa_bits) - 1),
        .dropped_bits = 23 - mantissa_bits,
    };
}

/* A subnormal is read as if it had a hidden bit and exponent field 1, then loses that bit. */
SIMD VF decode_lanes(VI code, const Decoding *n) {
    VI magnitude = vi_and(code, vi_set(0x7F));
    VI bits = vi_add(vi_left(magnitude, n->dropped_bits), n->offset);
    VF with_hidden = vi_as_float(vi_add(bits, vi_set(1u << 23)));
    VI subnormal = vf_as_int(vf_sub(with_hidden, n->subnormal));
    VI value = vi_select(vi_above(magnitude, n->normal_above), bits, subnormal);
    VI scaled = vf_as_int(vf_mul(vi_as_float(value), n->factor));
    VI sign = vi_left(vi_and(code, vi_set(0x80)), 24);
    VMask nan = vi_equal(code, vi_set(F8_NAN));
    return vi_as_float(vi_select(nan, vi_set(F32_QNAN), vi_or(scaled, sign)));
}

SIMD_ENTRY void decode_f32(float *out, const uint8_t *in, size_t count, F8Format format,
                           int scale) {
    Decoding n = decoding_of(format, scale);
    size_t i = 0;
    for (; i + F32_LANES <= count; i += F32_LANES)
        vf_store(out + i, decode_lanes(vi_load_u8(in + i), &n));
    for (; i < count; i++)
        out[i] = f8_to_f32(in[i], format, scale);
}

/* Leaves float32 values that the plain conversion to F16 turns into what f32_to_f16 gives. */
SIMD VF guard_lanes(VF value, F16Overflow overflow) {
    VI bits = vf_as_int(value), magnitude = vi_and(bits, vi_set(0x7FFFFFFFu));
    VI infinite = vi_set(0x7F800000u);
    if (overflow != F16_OVERFLOW_INFINITE) {
        VMask over =
            mask_and(vi_above(magnitude, vi_set(0x477FEFFFu)), vi_above(infinite, magnitude));
        VI sign = vi_and(bits, vi_set(0x80000000u));
        VI limit =
            overflow == F16_OVERFLOW_NAN ? vi_set(F32_QNAN) : vi_or(sign, vi_set(0x477FE000u));
        bits = vi_select(over, limit, bits);
    }
    return vi_as_float(vi_select(vi_above(magnitude, infinite), vi_set(F32_QNAN), bits));
}

SIMD_ENTRY void decode_f16(F16 *out, const uint8_t *in, size_t count, F8Format format, int scale,
                           F16Overflow overflow) {
    Decoding n = decoding_of(format, scale);
    size_t i = 0;
    for (; i + F32_LANES <= count; i += F32_LANES)
        vf_store_f16(out + i, guard_lanes(decode_lanes(vi_load_u8(in + i), &n), overflow));
    for (; i < count; i++)
        out[i] = f8_to_f16(in[i], format, scale, overflow);
}

SIMD_ENTRY void narrow(F16 *out, const float *in, size_t count, F16Overflow overflow) {
    size_t i = 0;
    for (; i + F32_LANES <= count; i += F32_LANES)
        vf_store_f16(out + i, guard_lanes(vf_load(in + i), overflow));
    for (; i < count; i++)
        out[i] = f32_to_f16(in[i], overflow);
}

SIMD_ENTRY void widen(float *out, const F16 *in, size_t count) {
    size_t i = 0;
    for (; i + F32_LANES <= count; i += F32_LANES)
        vf_store(out + i, guard_lanes(vf_load_f16(in + i), F16_OVERFLOW_INFINITE));
    for (; i < count; i++)
        out[i] = f16_to_f32(in[i]);
}

const CodecTable SIMD_NAME(codec_table) = {widen,      narrow,     encode_f32,
                                           encode_f16, decode_f32, decode_f16};
