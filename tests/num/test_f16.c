#include "num/f16.h"
#include "numtest.h"

#include <math.h>

/* IEEE 754's definition, written with ldexp. */
static double value_of(F16 half) {
    int field = half >> 10 & 31, fraction = half & 0x3FF;
    double magnitude = field == 31  ? (fraction ? NAN : INFINITY)
                       : field == 0 ? ldexp(fraction, -24)
                                    : ldexp(1024 + fraction, field - 25);
    return half & 0x8000 ? -magnitude : magnitude;
}

static bool is_nan(F16 half) {
    return (half & 0x7FFF) > F16_INFINITE;
}

static void widens_every_half(void **state) {
    (void)state;
    for (uint32_t h = 0; h < 0x10000; h++) {
        float value = f16_to_f32((F16)h);
        if (is_nan((F16)h)) {
            assert_same(f32_bits(value), F32_QNAN);
            assert_same(f32_to_f16(value, F16_OVERFLOW_INFINITE), F16_QNAN);
            assert_same(f64_to_f16((double)value, F16_OVERFLOW_INFINITE), F16_QNAN);
            continue;
        }
        assert_same_float(value, (float)value_of((F16)h));
        for (F16Overflow mode = F16_OVERFLOW_INFINITE; mode <= F16_OVERFLOW_NAN; mode++) {
            assert_same(f32_to_f16(value, mode), h);
            assert_same(f64_to_f16((double)value, mode), h);
        }
    }
}

/* Around every border between two neighbouring halves: below, on it (ties to even), above, and in
 * double also closer to it than float32 can tell. */
static void rounds_at_every_border(void **state) {
    (void)state;
    for (uint32_t h = 0; h < F16_MAX; h++) {
        F16 even = (F16)(h & 1 ? h + 1 : h);
        double border = (value_of((F16)h) + value_of((F16)(h + 1))) / 2;
        for (int sign = 0; sign < 2; sign++) {
            F16 bit = (F16)(sign ? 0x8000 : 0);
            double factor = sign ? -1 : 1;
            float f = (float)(factor * border), away = sign ? -INFINITY : INFINITY;
            assert_same(f32_to_f16(f, F16_OVERFLOW_NAN), bit | even);
            assert_same(f32_to_f16(nextafterf(f, 0), F16_OVERFLOW_NAN), bit | h);
            assert_same(f32_to_f16(nextafterf(f, away), F16_OVERFLOW_NAN), bit | (h + 1));
            double d = factor * border;
            assert_same(f64_to_f16(d, F16_OVERFLOW_NAN), bit | even);
            assert_same(f64_to_f16(nextafter(d, 0), F16_OVERFLOW_NAN), bit | h);
            assert_same(f64_to_f16(nextafter(d, (double)away), F16_OVERFLOW_NAN), bit | (h + 1));
        }
    }
}

static void overflows_by_mode(void **state) {
    (void)state;
    static const F16 positive[] = {F16_INFINITE, F16_MAX, F16_QNAN};
    static const F16 negative[] = {0xFC00, 0xFBFF, F16_QNAN};
    for (F16Overflow mode = F16_OVERFLOW_INFINITE; mode <= F16_OVERFLOW_NAN; mode++) {
        static const double beyond[] = {65520, 65536, 1e10, 3.4028234663852886e38};
        for (size_t i = 0; i < 4; i++) {
            assert_same(f32_to_f16((float)beyond[i], mode), positive[mode]);
            assert_same(f32_to_f16((float)-beyond[i], mode), negative[mode]);
            assert_same(f64_to_f16(beyond[i], mode), positive[mode]);
            assert_same(f64_to_f16(-beyond[i], mode), negative[mode]);
        }
        assert_same(f64_to_f16(1e300, mode), positive[mode]);
        assert_same(f64_to_f16(nextafter(65520, 0), mode), F16_MAX);
        assert_same(f32_to_f16(nextafterf(65520, 0), mode), F16_MAX);
        assert_same(f32_to_f16(INFINITY, mode), F16_INFINITE);
        assert_same(f64_to_f16(-INFINITY, mode), 0xFC00);
    }
    assert_same(f64_to_f16(-1e-300, F16_OVERFLOW_NAN), 0x8000);
    assert_same(f64_to_f16(4e-324, F16_OVERFLOW_NAN), 0);
    assert_same(f64_to_f16(-0.0, F16_OVERFLOW_NAN), 0x8000);
}

/* float32 has 24 >= 2 * 11 + 2 bits, so rounding sums and products of halves to it first changes
 * nothing. They are exact in double, so its single rounding is the oracle. */
static void float_rounds_once(void **state) {
    (void)state;
    Random random = seeded("f16 arithmetic");
    for (uint64_t n = repetitions(1000000, 20000000); n > 0; n--) {
        uint64_t bits = random_next(&random);
        F16 a = (F16)bits, b = (F16)(bits >> 16);
        F16Overflow mode = (F16Overflow)((bits >> 32) % 3);
        float x = f16_to_f32(a), y = f16_to_f32(b);
        assert_same(f32_to_f16(x + y, mode), f64_to_f16((double)x + (double)y, mode));
        assert_same(f32_to_f16(x * y, mode), f64_to_f16((double)x * (double)y, mode));
    }
}

static void mixes_with_one_rounding(void **state) {
    (void)state;
    double big = 65504.0 * 65504.0;
    assert_same_float(f16_mix(0x7BFF, 0x7BFF, 0x0001, 0x0001), (float)big);
    assert_same(f32_bits(f16_mix(0x7C00, 0x3C00, 0xFC00, 0x3C00)), F32_QNAN);
}

static void bulk_equals_scalar(void **state) {
    (void)state;
    print_levels();
    enum { COUNT = 0x10000 };
    static F16 halves[COUNT], narrow[COUNT];
    static float floats[COUNT];
    for (CpuLevel level = CPU_PORTABLE; level <= cpu_level_native(); level++) {
        const CodecTable *table = codec_table(level);
        for (uint32_t h = 0; h < COUNT; h++)
            halves[h] = (F16)h;
        table->widen(floats, halves, COUNT);
        for (uint32_t h = 0; h < COUNT; h++)
            assert_same_float(floats[h], f16_to_f32((F16)h));
        Random random = seeded(cpu_level_name(level));
        for (uint64_t round = repetitions(30, 1600); round > 0; round--) {
            F16Overflow mode = (F16Overflow)(round % 3);
            for (uint32_t i = 0; i < COUNT; i++)
                floats[i] = f32_from_bits((uint32_t)random_next(&random));
            for (uint32_t i = 0; i < COUNT; i += 4) { /* magnitudes 2^-31..2 and 2..2^17 */
                floats[i] = f32_from_bits((f32_bits(floats[i]) & 0x8FFFFFFF) | 0x30000000);
                floats[i + 1] = f32_from_bits((f32_bits(floats[i + 1]) & 0x87FFFFFF) | 0x40000000);
            }
            table->narrow(narrow, floats, COUNT, mode);
            for (uint32_t i = 0; i < COUNT; i++)
                assert_same(narrow[i], f32_to_f16(floats[i], mode));
        }
    }
    f16_widen_all(floats, halves, COUNT);
    f16_narrow_all(narrow, floats, COUNT, F16_OVERFLOW_INFINITE);
    for (uint32_t h = 0; h < COUNT; h++)
        assert_same(narrow[h], is_nan((F16)h) ? F16_QNAN : h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(widens_every_half),       cmocka_unit_test(rounds_at_every_border),
        cmocka_unit_test(overflows_by_mode),       cmocka_unit_test(float_rounds_once),
        cmocka_unit_test(mixes_with_one_rounding), cmocka_unit_test(bulk_equals_scalar),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
