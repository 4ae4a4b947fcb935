#include "num/scale.h"
#include "numtest.h"

#include <math.h>

static void follows_the_published_values(void **state) {
    (void)state;
    static const struct {
        double magnitude;
        int scale;
    } rows[] = {{240, 0},   {241, 1},    {120, -1},     {15, -4},   {1, -7},
                {3.7, -6},  {0.02, -13}, {311.1, 1},    {448, 1},   {1e-12, -32},
                {1e12, 31}, {0, 0},      {4e-324, -32}, {1e300, 31}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(scale_for_magnitude(rows[i].magnitude, F8_F143), rows[i].scale);
    assert_int_equal(scale_for_magnitude(57344, F8_F152), 0);
    assert_int_equal(scale_for_magnitude(57345, F8_F152), 1);
}

/* Smallest s with magnitude <= largest * 2^s. */
static void check_smallest(double magnitude, F8Format format) {
    double largest = f8_values[format][F8_LARGEST_CODE];
    int expected = F8_SCALE_MIN;
    while (expected < F8_SCALE_MAX && magnitude > ldexp(largest, expected))
        expected++;
    assert_same(scale_for_magnitude(magnitude, format), expected);
}

static void takes_the_smallest(void **state) {
    (void)state;
    for (F8Format format = F8_F152; format <= F8_F143; format++) {
        for (int k = -45; k < 45; k++) {
            double border = ldexp(f8_values[format][F8_LARGEST_CODE], k);
            check_smallest(border, format);
            check_smallest(nextafter(border, 0), format);
            check_smallest(nextafter(border, INFINITY), format);
            check_smallest((double)nextafterf((float)border, INFINITY), format);
        }
        Random random = seeded("scale");
        for (int n = 0; n < 200000; n++) {
            uint64_t bits = random_next(&random);
            check_smallest(ldexp((double)(bits >> 11), (int)(bits & 127) - 53 - 50), format);
        }
    }
}

static void ignores_what_is_not_finite(void **state) {
    (void)state;
    const float floats[] = {1, -7, INFINITY, 3, -INFINITY, NAN, -0.0f};
    assert_true(scale_magnitude_f32(floats, 7) == 7.0f);
    assert_true(scale_magnitude_f32(floats + 4, 3) == 0.0f);
    assert_true(scale_magnitude_f32(floats, 0) == 0.0f);
    const F16 halves[] = {0x3C00, 0xC700, 0x7C00, 0xFE00, 0x0001};
    assert_true(scale_magnitude_f16(halves, 5) == 7.0f);
    assert_true(scale_magnitude_f16(halves + 2, 3) == 0x1p-24f);
    assert_true(scale_magnitude_f16(halves, 0) == 0.0f);
}

static void clamps_shared_scales(void **state) {
    (void)state;
    assert_int_equal(scale_clamp_shared(-17), -16);
    assert_int_equal(scale_clamp_shared(16), 15);
    assert_int_equal(scale_clamp_shared(-4), -4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_the_published_values),
        cmocka_unit_test(takes_the_smallest),
        cmocka_unit_test(ignores_what_is_not_finite),
        cmocka_unit_test(clamps_shared_scales),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
