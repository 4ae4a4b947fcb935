/* One level's bulk conversions against the scalar functions. */
#pragma once

#include "numtest.h"

#include <string.h>

enum { CODEC_BLOCK = 1 << 16 };

/* `patterns` random float32 bit patterns, in blocks of one format, scale and mode. */
static inline void compare_encode_f32(const CodecTable *table, Random *random, uint64_t patterns) {
    static float in[CODEC_BLOCK];
    static uint8_t out[CODEC_BLOCK];
    for (uint64_t block = 0; block * CODEC_BLOCK < patterns; block++) {
        uint64_t bits = random_next(random);
        F8Format format = block & 1 ? F8_F143 : F8_F152;
        F8Mode mode = (F8Mode)(block / 2 % 3);
        int scale = (int)(bits % 65) - 32;
        /* exponents: all of them, or only those near the format's range at this scale */
        bool near = bits >> 32 & 1;
        for (int i = 0; i < CODEC_BLOCK; i += 2) {
            uint64_t two = random_next(random);
            for (int k = 0; k < 2; k++, two >>= 32) {
                uint32_t pattern = (uint32_t)two;
                if (near)
                    pattern = (pattern & 0x807FFFFFu) |
                              ((uint32_t)(127 + scale - 22) + (pattern >> 23 & 0xFF) % 44) << 23;
                in[i + k] = f32_from_bits(pattern);
            }
        }
        table->encode_f32(out, in, CODEC_BLOCK, format, scale, mode);
        for (int i = 0; i < CODEC_BLOCK; i++)
            assert_same(out[i], f8_from_f64((double)in[i], format, scale, mode));
    }
}

/* All halves, every `step`-th scale. */
static inline void compare_encode_f16(const CodecTable *table, int step) {
    static F16 in[CODEC_BLOCK];
    static uint8_t out[CODEC_BLOCK];
    for (int i = 0; i < CODEC_BLOCK; i++)
        in[i] = (F16)i;
    for (int scale = F8_SCALE_MIN; scale <= F8_SCALE_MAX + 1; scale += step) {
        for (F8Format format = F8_F152; format <= F8_F143; format++) {
            for (F8Mode mode = F8_HOST; mode <= F8_DEVICE_NANOO; mode++) {
                table->encode_f16(out, in, CODEC_BLOCK, format, scale, mode);
                for (int i = 0; i < CODEC_BLOCK; i++)
                    assert_same(out[i], f8_from_f16((F16)i, format, scale, mode));
            }
        }
    }
}

/* All codes, every scale, all overflow modes. */
static inline void compare_decode(const CodecTable *table) {
    uint8_t codes[256];
    float floats[256];
    F16 halves[256];
    for (int i = 0; i < 256; i++)
        codes[i] = (uint8_t)(i * 37 + 11);
    for (int scale = F8_SCALE_MIN; scale <= F8_SCALE_MAX; scale++) {
        for (F8Format format = F8_F152; format <= F8_F143; format++) {
            table->decode_f32(floats, codes, 256, format, scale);
            for (int i = 0; i < 256; i++)
                assert_same_float(floats[i], f8_to_f32(codes[i], format, scale));
            for (F16Overflow mode = F16_OVERFLOW_INFINITE; mode <= F16_OVERFLOW_NAN; mode++) {
                table->decode_f16(halves, codes, 256, format, scale, mode);
                for (int i = 0; i < 256; i++)
                    assert_same(halves[i], f8_to_f16(codes[i], format, scale, mode));
            }
        }
    }
}

/* Every length up to three blocks of the widest level, at odd places, with guards behind. */
static inline void compare_tails(const CodecTable *table, Random *random) {
    enum { MOST = 199 };
    float floats[MOST + 2], wide[MOST + 2];
    F16 halves[MOST + 2], narrow[MOST + 2];
    uint8_t codes[MOST + 2], in[MOST + 2];
    for (int i = 0; i < MOST + 2; i++) {
        floats[i] = random_d1(random, 40);
        halves[i] = f32_to_f16(floats[i], F16_OVERFLOW_INFINITE);
        in[i] = (uint8_t)random_next(random);
    }
    for (size_t n = 0; n <= MOST; n++) {
        size_t at = n % 2;
        memset(codes, 0x55, sizeof codes);
        table->encode_f32(codes + at, floats + at, n, F8_F143, 0, F8_HOST);
        for (size_t i = at; i < at + n; i++)
            assert_same(codes[i], f8_from_f64((double)floats[i], F8_F143, 0, F8_HOST));
        assert_same(codes[at + n], 0x55);
        memset(codes, 0x55, sizeof codes);
        table->encode_f16(codes + at, halves + at, n, F8_F143, 0, F8_DEVICE_NANOO);
        for (size_t i = at; i < at + n; i++)
            assert_same(codes[i], f8_from_f16(halves[i], F8_F143, 0, F8_DEVICE_NANOO));
        assert_same(codes[at + n], 0x55);
        memset(wide, 0x55, sizeof wide);
        table->decode_f32(wide + at, in + at, n, F8_F152, 3);
        for (size_t i = at; i < at + n; i++)
            assert_same_float(wide[i], f8_to_f32(in[i], F8_F152, 3));
        assert_same(f32_bits(wide[at + n]), 0x55555555);
        memset(wide, 0x55, sizeof wide);
        table->widen(wide + at, halves + at, n);
        for (size_t i = at; i < at + n; i++)
            assert_same_float(wide[i], f16_to_f32(halves[i]));
        assert_same(f32_bits(wide[at + n]), 0x55555555);
        memset(narrow, 0x55, sizeof narrow);
        table->decode_f16(narrow + at, in + at, n, F8_F152, 3, F16_OVERFLOW_NAN);
        for (size_t i = at; i < at + n; i++)
            assert_same(narrow[i], f8_to_f16(in[i], F8_F152, 3, F16_OVERFLOW_NAN));
        assert_same(narrow[at + n], 0x5555);
        memset(narrow, 0x55, sizeof narrow);
        table->narrow(narrow + at, floats + at, n, F16_OVERFLOW_SATURATE);
        for (size_t i = at; i < at + n; i++)
            assert_same(narrow[i], f32_to_f16(floats[i], F16_OVERFLOW_SATURATE));
        assert_same(narrow[at + n], 0x5555);
    }
}

/* Float32 patterns at and beside the borders of the formats. */
static inline void compare_borders(const CodecTable *table) {
    enum { BORDERS = 14, COUNT = 3 * 2 * BORDERS };
    static const uint32_t borders[BORDERS] = {0x00000000,
                                              0x00800000,
                                              0x33000000 /* 2^-25 */,
                                              0x37000000 /* 2^-17 */,
                                              0x38800000 /* 2^-14 */,
                                              0x3A000000,
                                              0x3C000000,
                                              0x43700000 /* 240 */,
                                              0x43780000 /* 248 */,
                                              0x47600000 /* 57344 */,
                                              0x47700000 /* 61440 */,
                                              0x477FE000 /* 65504 */,
                                              0x477FF000 /* 65520 */,
                                              0x7F800000};
    float in[COUNT];
    for (int i = 0; i < COUNT; i++) {
        uint32_t sign = i & 1 ? 0x80000000u : 0;
        in[i] = f32_from_bits(((borders[i / 6] + (uint32_t)(i % 6 / 2) - 1) & 0x7FFFFFFF) | sign);
    }
    for (int mode = 0; mode < 3; mode++) {
        F16 halves[COUNT];
        table->narrow(halves, in, COUNT, (F16Overflow)mode);
        for (int i = 0; i < COUNT; i++)
            assert_same(halves[i], f32_to_f16(in[i], (F16Overflow)mode));
        for (F8Format format = F8_F152; format <= F8_F143; format++) {
            uint8_t codes[COUNT];
            table->encode_f32(codes, in, COUNT, format, 0, (F8Mode)mode);
            for (int i = 0; i < COUNT; i++)
                assert_same(codes[i], f8_from_f64((double)in[i], format, 0, (F8Mode)mode));
        }
    }
}

static inline void compare_codec(const CodecTable *table, const char *name, uint64_t patterns) {
    Random random = seeded(name);
    compare_tails(table, &random);
    compare_borders(table);
    compare_decode(table);
    compare_encode_f16(table, (int)repetitions(7 * SLOWDOWN, 1));
    compare_encode_f32(table, &random, patterns);
    printf("%s: %llu random float32 patterns, all halves, all codes\n", name,
           (unsigned long long)patterns);
}
