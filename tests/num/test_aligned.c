/* The 33-bit aligned model of the matrix unit: what it cuts off, and where it equals the exact one.
 */
#include "numtest.h"

#include "num/aligned.h"

#include <math.h>

static F16 half(double value) {
    return f64_to_f16(value, F16_OVERFLOW_INFINITE);
}

static void directed(void **state) {
    (void)state;
    F16 one[4] = {half(1), 0, 0, 0}, x[4] = {half(1), half(1), half(1), half(1)}, w[4] = {0};
    /* Small sums are exact. */
    for (int l = 0; l < 4; l++)
        w[l] = half(l + 0.5);
    assert_true(amp_aligned_f16(0.25f, x, w) == 8.25f);
    /* 2^-31 of the largest term is the last bit that is kept, and 2^-32 is cut. */
    F16 large[4] = {half(32768), half(-32768), half(0x1p-16), 0};
    F16 with[4] = {half(1), half(1), half(1), 0};
    assert_true(amp_aligned_f16(0, large, with) == 0x1p-16f);
    large[2] = half(0x1p-17);
    assert_true(amp_aligned_f16(0, large, with) == 0);
    assert_true(amp_step_f16(0, large, with) == 0x1p-17f);
    /* Cut toward zero on either side. */
    large[2] = half(-0x1.8p-16);
    assert_true(amp_aligned_f16(0, large, with) == -0x1p-16f);
    /* The accumulator may be the largest term, or be lost below the products. */
    assert_true(amp_aligned_f16(0x1p40f, one, one) == 0x1p40f);
    assert_true(amp_aligned_f16(0x1p-40f, one, one) == 1.0f);
    /* One rounding at the end, ties to even. */
    F16 tie[4] = {half(0x1p-12), 0, 0, 0};
    assert_true(amp_aligned_f16(1.0f, tie, tie) == 1.0f);
    F16 odd[4] = {half(0x1.8p-11), 0, 0, 0}, unit[4] = {half(0x1p-12), 0, 0, 0};
    assert_true(amp_aligned_f16(1.0f, odd, unit) == 1.0f + 0x1p-22f);
    /* What is not finite is as in the exact model. */
    F16 infinite[4] = {F16_INFINITE, 0, 0, 0};
    assert_true(isinf(amp_aligned_f16(0, infinite, one)));
    assert_true(isnan(amp_aligned_f16(-INFINITY, infinite, one)));
    F16 none[4] = {0};
    assert_int_equal(f32_bits(amp_aligned_f16(-0.0f, none, none)),
                     f32_bits(amp_step_f16(-0.0f, none, none)));
    assert_true(amp_aligned_f32(1.5f, 2.0f, 3.0f) == 7.5f);
}

/* Both models agree to the bits that alignment keeps: the difference is below the cut of all terms,
 * one unit of 31 fraction bits each, and one rounding. */
static void near_exact(void **state) {
    (void)state;
    Random random = seeded("aligned");
    uint64_t turns = repetitions(200000, 5000000), different = 0;
    for (uint64_t n = 0; n < turns; n++) {
        uint8_t x[8], w[8];
        float acc = (float)random_below(&random, 1 << 20) / 1024 - 512;
        double largest = fabs((double)acc);
        for (int l = 0; l < 8; l++) {
            x[l] = (uint8_t)random_next(&random);
            w[l] = (uint8_t)random_next(&random);
            x[l] = x[l] == F8_NAN ? 0 : x[l];
            w[l] = w[l] == F8_NAN ? 0 : w[l];
            double product =
                fabs((double)f8_values[F8_F143][x[l]] * (double)f8_values[F8_F143][w[l]]);
            largest = fmax(largest, product);
        }
        float aligned = amp_aligned_f8(acc, x, F8_F143, w, F8_F143, 0);
        float exact = amp_step_f8(acc, x, F8_F143, w, F8_F143, 0);
        different += aligned != exact;
        double bound = 9 * largest * 0x1p-31 + fabs((double)exact) * 0x1p-23;
        assert_true(fabs((double)aligned - (double)exact) <= bound);
    }
    printf("%llu of %llu steps differ\n", (unsigned long long)different, (unsigned long long)turns);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directed),
        cmocka_unit_test(near_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
