/* Bulk conversions: the portable level, and the choice of a level. */
#include "num/levels.h"

static void widen(float *out, const F16 *in, size_t count) {
    for (size_t i = 0; i < count; i++)
        out[i] = f16_to_f32(in[i]);
}

static void narrow(F16 *out, const float *in, size_t count, F16Overflow overflow) {
    for (size_t i = 0; i < count; i++)
        out[i] = f32_to_f16(in[i], overflow);
}

static void encode_f32(uint8_t *out, const float *in, size_t count, F8Format format, int scale,
                       F8Mode mode) {
    for (size_t i = 0; i < count; i++)
        out[i] = f8_from_f64((double)in[i], format, scale, mode);
}

static void encode_f16(uint8_t *out, const F16 *in, size_t count, F8Format format, int scale,
                       F8Mode mode) {
    for (size_t i = 0; i < count; i++)
        out[i] = f8_from_f16(in[i], format, scale, mode);
}

static void decode_f32(float *out, const uint8_t *in, size_t count, F8Format format, int scale) {
    for (size_t i = 0; i < count; i++)
        out[i] = f8_to_f32(in[i], format, scale);
}

static void decode_f16(F16 *out, const uint8_t *in, size_t count, F8Format format, int scale,
                       F16Overflow overflow) {
    F16 table[256];
    for (int code = 0; code < 256; code++)
        table[code] = f8_to_f16((uint8_t)code, format, scale, overflow);
    for (size_t i = 0; i < count; i++)
        out[i] = table[in[i]];
}

static const CodecTable portable = {widen, narrow, encode_f32, encode_f16, decode_f32, decode_f16};

const CodecTable *codec_table(CpuLevel level) {
#if NUM_HAS_X86
    if (level == CPU_AVX512)
        return &codec_table_avx512;
    if (level == CPU_AVX2)
        return &codec_table_avx2;
#endif
    (void)level;
    return &portable;
}

/* Asking the processor is slow under a hypervisor; all threads find the same answer. */
static const CodecTable *current(void) {
    static const CodecTable *chosen;
    const CodecTable *table = __atomic_load_n(&chosen, __ATOMIC_RELAXED);
    if (!table) {
        table = codec_table(cpu_level());
        __atomic_store_n(&chosen, table, __ATOMIC_RELAXED);
    }
    return table;
}

void f16_widen_all(float *out, const F16 *in, size_t count) {
    current()->widen(out, in, count);
}

void f16_narrow_all(F16 *out, const float *in, size_t count, F16Overflow overflow) {
    current()->narrow(out, in, count, overflow);
}

void f8_encode_f32(uint8_t *out, const float *in, size_t count, F8Format format, int scale,
                   F8Mode mode) {
    current()->encode_f32(out, in, count, format, scale, mode);
}

void f8_encode_f16(uint8_t *out, const F16 *in, size_t count, F8Format format, int scale,
                   F8Mode mode) {
    current()->encode_f16(out, in, count, format, scale, mode);
}

void f8_decode_f32(float *out, const uint8_t *in, size_t count, F8Format format, int scale) {
    current()->decode_f32(out, in, count, format, scale);
}

void f8_decode_f16(F16 *out, const uint8_t *in, size_t count, F8Format format, int scale,
                   F16Overflow overflow) {
    current()->decode_f16(out, in, count, format, scale, overflow);
}
