#include "num/f8.h"
#include "numtest.h"

#include <math.h>

static const char *const mode_names[] = {"host", "saturate", "nanoo"};

static void decodes_every_code(void **state) {
    (void)state;
    float values[256];
    for (int code = 0; code < 256; code++) {
        int e = code >> 3 & 15, m = code & 7, e5 = code >> 2 & 31, m2 = code & 3;
        double f143 = e ? ldexp(8 + m, e - 11) : ldexp(m, -10);
        double f152 = e5 ? ldexp(4 + m2, e5 - 18) : ldexp(m2, -17);
        double sign = code & 0x80 ? -1 : 1;
        values[code] = f8_to_f32((uint8_t)code, F8_F143, 0);
        if (code == F8_NAN) {
            assert_same(f32_bits(values[code]), F32_QNAN);
            assert_same(f32_bits(f8_to_f32(F8_NAN, F8_F152, 31)), F32_QNAN);
            assert_same(f64_bits(f8_values[F8_F152][code]), 0x7FF8000000000000u);
        } else {
            assert_true(f8_values[F8_F143][code] == sign * f143);
            assert_true(f8_values[F8_F152][code] == sign * f152);
            assert_true(f8_to_f32((uint8_t)code, F8_F152, -32) == (float)ldexp(sign * f152, -32));
        }
    }
    assert_int_equal(crc32_of(values, sizeof values), 0xF2DFA052u);
    assert_true(values[0x7F] == 240 && values[0x40] == 1 && values[0x01] == 0x1p-10f);
    assert_true(f8_values[F8_F152][0x7F] == 57344 && f8_values[F8_F152][0x40] == 1);
}

/* The 65,536 halves at scale 0; CRC-32 of an independent implementation. */
static void encodes_every_half(void **state) {
    (void)state;
    static const uint32_t expected[] = {0x97929923u, 0x9CCA927Fu, 0x529EE546u};
    static uint8_t codes[0x10000];
    for (F8Mode mode = F8_HOST; mode <= F8_DEVICE_NANOO; mode++) {
        for (uint32_t h = 0; h < 0x10000; h++)
            codes[h] = f8_from_f16((F16)h, F8_F143, 0, mode);
        assert_int_equal(crc32_of(codes, sizeof codes), expected[mode]);
        static F16 halves[0x10000];
        for (uint32_t h = 0; h < 0x10000; h++)
            halves[h] = (F16)h;
        for (CpuLevel level = CPU_PORTABLE; level <= cpu_level_native(); level++) {
            codec_table(level)->encode_f16(codes, halves, 0x10000, F8_F143, 0, mode);
            uint32_t crc = crc32_of(codes, sizeof codes);
            printf("all halves, %s, %s: %08X\n", mode_names[mode], cpu_level_name(level), crc);
            assert_int_equal(crc, expected[mode]);
        }
    }
}

typedef struct Vector {
    uint32_t bits;
    int scale;
    uint8_t code[3]; /* by F8Mode */
} Vector;

static const Vector vectors[] = {
    {0x00000000, 0, {0x00, 0x00, 0x00}},   {0x80000000, 0, {0x00, 0x00, 0x00}},
    {0x3A000000, 0, {0x00, 0x00, 0x00}},   {0xBA000000, 0, {0x00, 0x00, 0x00}},
    {0x3A000001, 0, {0x01, 0x01, 0x01}},   {0xBA000001, 0, {0x81, 0x81, 0x81}},
    {0x3AC00000, 0, {0x02, 0x02, 0x02}},   {0xBAC00000, 0, {0x82, 0x82, 0x82}},
    {0x3BF00000, 0, {0x08, 0x08, 0x08}},   {0x3C000000, 0, {0x08, 0x08, 0x08}},
    {0x3C080000, 0, {0x08, 0x08, 0x08}},   {0x3F800000, 0, {0x40, 0x40, 0x40}},
    {0x3F880000, 0, {0x40, 0x40, 0x40}},   {0x3F980000, 0, {0x42, 0x42, 0x42}},
    {0xBFF80000, 0, {0xC8, 0xC8, 0xC8}},   {0x3DCCCCCD, 0, {0x25, 0x25, 0x25}},
    {0x41080000, 0, {0x58, 0x58, 0x58}},   {0x41081000, 0, {0x59, 0x59, 0x59}},
    {0x41180000, 0, {0x5A, 0x5A, 0x5A}},   {0x43680000, 0, {0x7E, 0x7E, 0x7E}},
    {0x436FFFFF, 0, {0x7F, 0x7F, 0x7F}},   {0x43700000, 0, {0x7F, 0x7F, 0x7F}},
    {0x43740000, 0, {0x7F, 0x7F, 0x7F}},   {0x43780000, 0, {0x7F, 0x7F, 0x80}},
    {0xC3800000, 0, {0xFF, 0xFF, 0x80}},   {0x7F7FFFFF, 0, {0x7F, 0x7F, 0x80}},
    {0x7F800000, 0, {0x7F, 0x80, 0x80}},   {0xFF800000, 0, {0xFF, 0x80, 0x80}},
    {0x7FC00000, 0, {0x80, 0x80, 0x80}},   {0x00000001, 0, {0x00, 0x00, 0x00}},
    {0x41700000, -4, {0x7F, 0x7F, 0x7F}},  {0x41800000, -4, {0x7F, 0x7F, 0x80}},
    {0xBE99999A, -4, {0xD2, 0xD2, 0xD2}},  {0x439B8CCD, 1, {0x7A, 0x7A, 0x7A}},
    {0x50000000, 31, {0x50, 0x50, 0x50}},  {0x2A800000, -32, {0x01, 0x01, 0x01}},
    {0x2A000000, -32, {0x00, 0x00, 0x00}},
};

static void encodes_37_vectors(void **state) {
    (void)state;
    size_t count = sizeof vectors / sizeof *vectors;
    assert_int_equal(count, 37);
    for (size_t i = 0; i < count; i++) {
        for (F8Mode mode = F8_HOST; mode <= F8_DEVICE_NANOO; mode++) {
            float value = f32_from_bits(vectors[i].bits);
            uint8_t code = f8_from_f64((double)value, F8_F143, vectors[i].scale, mode);
            assert_int_equal(code, vectors[i].code[mode]);
            for (CpuLevel level = CPU_PORTABLE; level <= cpu_level_native(); level++) {
                codec_table(level)->encode_f32(&code, &value, 1, F8_F143, vectors[i].scale, mode);
                assert_int_equal(code, vectors[i].code[mode]);
            }
        }
    }
}

static void encodes_16_host_vectors(void **state) {
    (void)state;
    static const struct {
        double x;
        int scale;
        uint8_t code;
        double decoded;
    } rows[] = {
        {-0.0, 0, 0x00, 0},
        {0x1p-11, 0, 0x00, 0},
        {-0x1p-11, 0, 0x00, 0},
        {-3 * 0x1p-11, 0, 0x82, -0.001953125},
        {0.0073, 0, 0x07, 0.0068359375},
        {0x1p-7, 0, 0x08, 0.0078125},
        {1.0625, 0, 0x40, 1},
        {1.1875, 0, 0x42, 1.25},
        {7.75, 0, 0x58, 8},
        {-8.5, 0, 0xD8, -8},
        {8.50390625, 0, 0x59, 9},
        {239.9, 0, 0x7F, 240},
        {-1000, 0, 0xFF, -240},
        {INFINITY, 0, 0x7F, 240},
        {3.14159265, -4, 0x6D, 3.25},
        {-287.3, 1, 0xF9, -288},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        float x = (float)rows[i].x;
        assert_int_equal(f8_from_f64((double)x, F8_F143, rows[i].scale, F8_HOST), rows[i].code);
        assert_true((double)f8_to_f32(rows[i].code, F8_F143, rows[i].scale) == rows[i].decoded);
    }
    assert_int_equal(f8_from_f64(NAN, F8_F143, 0, F8_HOST), F8_NAN);
    /* the examples printed in the source of poplibs */
    static const double values[] = {7.0, 7.25, 7.5, 7.75, 8.0, 8.5, 9.0};
    static const uint8_t codes[] = {0x56, 0x56, 0x57, 0x58, 0x58, 0x58, 0x59};
    for (size_t i = 0; i < sizeof codes; i++)
        assert_int_equal(f8_from_f64(values[i], F8_F143, 0, F8_DEVICE_SATURATE), codes[i]);
}

static void round_trips_every_code_at_every_scale(void **state) {
    (void)state;
    for (F8Format format = F8_F152; format <= F8_F143; format++) {
        for (int scale = F8_SCALE_MIN; scale <= F8_SCALE_MAX; scale++) {
            for (int code = 0; code < 256; code++) {
                float value = f8_to_f32((uint8_t)code, format, scale);
                for (F8Mode mode = F8_HOST; mode <= F8_DEVICE_NANOO; mode++)
                    assert_same(f8_from_f64((double)value, format, scale, mode), code);
                /* through F16 where that is exact */
                if (format == F8_F143 && scale >= -14 && scale <= 8) {
                    F16 half = f8_to_f16((uint8_t)code, format, scale, F16_OVERFLOW_NAN);
                    assert_same(f8_from_f16(half, format, scale, F8_DEVICE_NANOO), code);
                    assert_same_float(f16_to_f32(half), value);
                }
            }
        }
    }
}

/* Nearest of all numbers of the format, by search; equal distance goes to the even code. */
static uint8_t nearest_code(double magnitude, F8Format format) {
    int best = 0;
    for (int code = 1; code < 128; code++) {
        double here = fabs(magnitude - f8_values[format][code]);
        double there = fabs(magnitude - f8_values[format][best]);
        if (here < there || (here == there && code % 2 == 0))
            best = code;
    }
    return (uint8_t)best;
}

static void encodes_to_the_nearest(void **state) {
    (void)state;
    Random random = seeded("nearest code");
    for (uint64_t n = repetitions(100000, 2000000); n > 0; n--) {
        uint64_t bits = random_next(&random);
        F8Format format = bits & 1 ? F8_F143 : F8_F152;
        int lowest = format == F8_F143 ? -12 : -19, scale = (int)(bits >> 1 & 63) - 32;
        /* few significant bits, so that ties are common; distances are exact in double */
        double magnitude =
            ldexp((double)(bits >> 32 & 31) + 32, lowest + (int)(bits >> 8 & 31) - 5);
        if (bits & 1 << 7)
            magnitude += ldexp((double)(bits >> 37 & 0xFFFF), lowest - 30);
        uint8_t code = nearest_code(magnitude, format);
        double border = format == F8_F143 ? 248 : 61440;
        double value = ldexp(magnitude, scale);
        assert_same(f8_from_f64(value, format, scale, F8_HOST), code);
        assert_same(f8_from_f64(-value, format, scale, F8_DEVICE_SATURATE), code ? code | 0x80 : 0);
        assert_same(f8_from_f64(value, format, scale, F8_DEVICE_NANOO),
                    magnitude >= border ? F8_NAN : code);
    }
}

static void encodes_doubles_beyond_float32(void **state) {
    (void)state;
    assert_int_equal(f8_from_f64(1e300, F8_F143, 31, F8_DEVICE_SATURATE), 0x7F);
    assert_int_equal(f8_from_f64(-1e300, F8_F143, 31, F8_DEVICE_NANOO), F8_NAN);
    assert_int_equal(f8_from_f64(-4e-324, F8_F143, -32, F8_HOST), 0);
    assert_int_equal(f8_from_f64(nextafter(0x1p-11, 1), F8_F143, 0, F8_HOST), 1);
    assert_int_equal(f8_from_f64(nextafter(248, 0), F8_F143, 0, F8_DEVICE_NANOO), 0x7F);
    assert_int_equal(f8_from_f64(-0x1p31, F8_F143, 32, F8_DEVICE_NANOO), 0xB8);
}

static void decodes_to_f16_with_its_overflow(void **state) {
    (void)state;
    assert_int_equal(f8_to_f16(0x7F, F8_F143, 8, F16_OVERFLOW_NAN), 0x7B80); /* 61440 */
    assert_int_equal(f8_to_f16(0x7F, F8_F143, 9, F16_OVERFLOW_NAN), F16_QNAN);
    assert_int_equal(f8_to_f16(0xFF, F8_F143, 9, F16_OVERFLOW_SATURATE), 0xFBFF);
    assert_int_equal(f8_to_f16(0x7F, F8_F143, 9, F16_OVERFLOW_INFINITE), F16_INFINITE);
    assert_int_equal(f8_to_f16(0x01, F8_F143, -14, F16_OVERFLOW_NAN), 0x0001);
    assert_int_equal(f8_to_f16(0x01, F8_F143, -15, F16_OVERFLOW_NAN), 0x0000); /* tie to even */
    assert_int_equal(f8_to_f16(0x83, F8_F143, -15, F16_OVERFLOW_NAN), 0x8002);
    assert_int_equal(f8_to_f16(0x81, F8_F143, -20, F16_OVERFLOW_NAN), 0x8000);
    assert_int_equal(f8_to_f16(F8_NAN, F8_F143, 0, F16_OVERFLOW_SATURATE), F16_QNAN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decodes_every_code),
        cmocka_unit_test(encodes_every_half),
        cmocka_unit_test(encodes_37_vectors),
        cmocka_unit_test(encodes_16_host_vectors),
        cmocka_unit_test(round_trips_every_code_at_every_scale),
        cmocka_unit_test(encodes_to_the_nearest),
        cmocka_unit_test(encodes_doubles_beyond_float32),
        cmocka_unit_test(decodes_to_f16_with_its_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
