/* Element types of tensor files, and conversion of the floating ones to what graphs hold. */
#pragma once

#include "base/diag.h"
#include "tensor/tensor.h"

typedef enum Dtype {
    DTYPE_BOOL,
    DTYPE_F4,
    DTYPE_F6_E2M3,
    DTYPE_F6_E3M2,
    DTYPE_U8,
    DTYPE_I8,
    DTYPE_F8_E5M2,
    DTYPE_F8_E4M3, /* E4M3FN: bias 7, largest 448; not F143 */
    DTYPE_F8_E8M0,
    DTYPE_F8_E4M3FNUZ, /* F143 */
    DTYPE_F8_E5M2FNUZ, /* F152 */
    DTYPE_I16,
    DTYPE_U16,
    DTYPE_F16,
    DTYPE_BF16,
    DTYPE_I32,
    DTYPE_U32,
    DTYPE_F32,
    DTYPE_C64,
    DTYPE_F64,
    DTYPE_I64,
    DTYPE_U64,
    DTYPE_COUNT
} Dtype;

const char *dtype_name(Dtype dtype); /* as in SafeTensors: "F8_E4M3FNUZ" */
bool dtype_parse(const char *name, size_t size, Dtype *dtype);
uint32_t dtype_bits(Dtype dtype);
/* Whether dtype_encode takes it: F64, F32, F16, BF16 and the five F8 types. */
bool dtype_is_float(Dtype dtype);

/* What happened to values on their way into a narrower precision. */
typedef struct EncodeStats {
    uint64_t count;
    uint64_t
        clipped; /* finite values beyond the largest one: F143 holds ±240·2^s instead, F16 ±∞ */
    uint64_t nonfinite; /* infinities and NaNs in the source */
    double largest;     /* magnitude, of the finite values */
} EncodeStats;

/* count values of a floating dtype, little-endian, of any alignment, as codes of `precision` (bytes
 * as of precision_bytes, little-endian, aligned to them): one rounding, host rules (F8_HOST; F16
 * overflows to infinity). stats may be NULL; it is added to. */
void dtype_encode(Dtype dtype, const void *values, uint64_t count, Precision precision, void *codes,
                  EncodeStats *stats);

/* Codes of `precision` as float32, exactly. */
void precision_decode(Precision precision, const void *codes, uint64_t count, float *values);
