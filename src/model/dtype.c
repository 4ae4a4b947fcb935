#include "model/dtype.h"

#include "base/mem.h"
#include "num/f16.h"
#include "num/f8.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name;
    uint32_t bits;
} dtypes[DTYPE_COUNT] = {
    [DTYPE_BOOL] = {"BOOL", 8},
    [DTYPE_F4] = {"F4", 4},
    [DTYPE_F6_E2M3] = {"F6_E2M3", 6},
    [DTYPE_F6_E3M2] = {"F6_E3M2", 6},
    [DTYPE_U8] = {"U8", 8},
    [DTYPE_I8] = {"I8", 8},
    [DTYPE_F8_E5M2] = {"F8_E5M2", 8},
    [DTYPE_F8_E4M3] = {"F8_E4M3", 8},
    [DTYPE_F8_E8M0] = {"F8_E8M0", 8},
    [DTYPE_F8_E4M3FNUZ] = {"F8_E4M3FNUZ", 8},
    [DTYPE_F8_E5M2FNUZ] = {"F8_E5M2FNUZ", 8},
    [DTYPE_I16] = {"I16", 16},
    [DTYPE_U16] = {"U16", 16},
    [DTYPE_F16] = {"F16", 16},
    [DTYPE_BF16] = {"BF16", 16},
    [DTYPE_I32] = {"I32", 32},
    [DTYPE_U32] = {"U32", 32},
    [DTYPE_F32] = {"F32", 32},
    [DTYPE_C64] = {"C64", 64},
    [DTYPE_F64] = {"F64", 64},
    [DTYPE_I64] = {"I64", 64},
    [DTYPE_U64] = {"U64", 64},
};

const char *dtype_name(Dtype dtype) {
    return dtypes[dtype].name;
}

bool dtype_parse(const char *name, size_t size, Dtype *dtype) {
    for (unsigned i = 0; i < DTYPE_COUNT; i++) {
        if (strlen(dtypes[i].name) == size && memcmp(dtypes[i].name, name, size) == 0) {
            *dtype = (Dtype)i;
            return true;
        }
    }
    return false;
}

uint32_t dtype_bits(Dtype dtype) {
    return dtypes[dtype].bits;
}

bool dtype_is_float(Dtype dtype) {
    switch (dtype) {
    case DTYPE_F64:
    case DTYPE_F32:
    case DTYPE_F16:
    case DTYPE_BF16:
    case DTYPE_F8_E5M2:
    case DTYPE_F8_E4M3:
    case DTYPE_F8_E8M0:
    case DTYPE_F8_E4M3FNUZ:
    case DTYPE_F8_E5M2FNUZ: return true;
    default: return false;
    }
}

/* OCP E4M3FN: bias 7, no infinity, NaN 0x7F and 0xFF, −0 exists. */
static float e4m3fn_to_f32(uint8_t code) {
    unsigned exponent = code >> 3 & 15, mantissa = code & 7;
    float sign = code & 0x80 ? -1.0f : 1.0f;
    if ((code & 0x7F) == 0x7F)
        return NAN;
    if (exponent == 0)
        return sign * (float)mantissa * 0x1p-9f;
    return sign * ldexpf((float)(8 + mantissa), (int)exponent - 10);
}

/* One value of a floating dtype of at most 32 bits, exactly. */
static float value_at(Dtype dtype, const uint8_t *bytes) {
    uint16_t half;
    float single;
    switch (dtype) {
    case DTYPE_F32: memcpy(&single, bytes, sizeof single); return single;
    case DTYPE_F16: memcpy(&half, bytes, sizeof half); return f16_to_f32(half);
    case DTYPE_BF16: memcpy(&half, bytes, sizeof half); return f32_from_bits((uint32_t)half << 16);
    case DTYPE_F8_E5M2: /* the upper half of a binary16 */ return f16_to_f32((F16)(bytes[0] << 8));
    case DTYPE_F8_E4M3: return e4m3fn_to_f32(bytes[0]);
    case DTYPE_F8_E8M0: return bytes[0] == 0xFF ? NAN : ldexpf(1, bytes[0] - 127);
    case DTYPE_F8_E4M3FNUZ: return f8_to_f32(bytes[0], F8_F143, 0);
    default: return f8_to_f32(bytes[0], F8_F152, 0);
    }
}

/* Largest finite magnitude of a precision. */
static double largest_of(Precision precision) {
    switch (precision.kind) {
    case PRECISION_F8F143: return ldexp(240, precision.scale_exponent);
    case PRECISION_F16: return 65504;
    default: return (double)0x1.fffffep127f;
    }
}

static void note_value(EncodeStats *stats, double value, double largest) {
    double magnitude = fabs(value);
    if (!isfinite(value)) {
        stats->nonfinite++;
        return;
    }
    stats->clipped += magnitude > largest;
    if (magnitude > stats->largest)
        stats->largest = magnitude;
}

/* F64 is not exact in float32 and is rounded once, value by value. */
static void encode_f64(const uint8_t *in, uint64_t count, Precision precision, uint8_t *out,
                       EncodeStats *stats) {
    double largest = largest_of(precision);
    uint32_t out_bytes = precision_bytes(precision);
    for (uint64_t i = 0; i < count; i++, in += sizeof(double), out += out_bytes) {
        double value;
        memcpy(&value, in, sizeof value);
        note_value(stats, value, largest);
        F16 half = f64_to_f16(value, F16_OVERFLOW_INFINITE);
        float single = (float)value;
        if (precision.kind == PRECISION_F8F143)
            *out = f8_from_f64(value, F8_F143, precision.scale_exponent, F8_HOST);
        else
            memcpy(out, precision.kind == PRECISION_F16 ? (void *)&half : &single, out_bytes);
    }
}

static void encode_f32(const float *in, size_t count, Precision precision, void *out) {
    switch (precision.kind) {
    case PRECISION_F8F143:
        f8_encode_f32(out, in, count, F8_F143, precision.scale_exponent, F8_HOST);
        break;
    case PRECISION_F16: f16_narrow_all(out, in, count, F16_OVERFLOW_INFINITE); break;
    case PRECISION_F32: memcpy(out, in, count * sizeof *in); break;
    }
}

/* All other types widen exactly to float32, block by block. */
static void encode_narrow(Dtype dtype, const uint8_t *in, uint64_t count, Precision precision,
                          uint8_t *out, EncodeStats *stats) {
    enum { BLOCK = 1024 };
    float block[BLOCK];
    double largest = largest_of(precision);
    uint32_t in_bytes = dtype_bits(dtype) / 8, out_bytes = precision_bytes(precision);
    while (count) {
        size_t n = (size_t)MIN_OF(count, (uint64_t)BLOCK);
        for (size_t i = 0; i < n; i++) {
            block[i] = value_at(dtype, in + i * in_bytes);
            note_value(stats, (double)block[i], largest);
        }
        encode_f32(block, n, precision, out);
        in += n * in_bytes;
        out += n * out_bytes;
        count -= n;
    }
}

void dtype_encode(Dtype dtype, const void *values, uint64_t count, Precision precision, void *codes,
                  EncodeStats *stats) {
    EncodeStats unwanted = {0};
    stats = stats ? stats : &unwanted;
    stats->count += count;
    if (dtype == DTYPE_F64)
        encode_f64(values, count, precision, codes, stats);
    else
        encode_narrow(dtype, values, count, precision, codes, stats);
}

void precision_decode(Precision precision, const void *codes, uint64_t count, float *values) {
    switch (precision.kind) {
    case PRECISION_F8F143:
        f8_decode_f32(values, codes, count, F8_F143, precision.scale_exponent);
        break;
    case PRECISION_F16: f16_widen_all(values, codes, count); break;
    case PRECISION_F32: memcpy(values, codes, count * sizeof *values); break;
    }
}
