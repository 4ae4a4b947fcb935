/* GELU in binary16 against the same form in double, over all halves. */
#include "num/gelu.h"
#include "testing.h"

#include <math.h>
#include <stdbool.h>

static double ideal(double x) {
    return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}

static bool is_finite(F16 half) {
    return (half & 0x7C00) != 0x7C00;
}

static void largest_error(void **state) {
    (void)state;
    double worst = 0, at = 0;
    for (uint32_t code = 0; code <= UINT16_MAX; code++) {
        if (!is_finite((F16)code))
            continue;
        double x = (double)f16_to_f32((F16)code);
        double error = fabs((double)f16_to_f32(gelu_f16((F16)code)) - ideal(x));
        if (error > worst) {
            worst = error;
            at = x;
        }
    }
    print_message("largest error %.8f at %.8f\n", worst, at);
    assert_true(worst <= 0.00201314);
    assert_true(worst > 0.001739 && worst < 0.001740 && at == 2.16015625);
}

/* Where nothing saturates it is twice as much, but for bits below the subnormal numbers, which can
 * decide a tie. */
static void twice(void **state) {
    (void)state;
    unsigned seen = 0;
    for (uint32_t code = 0; code <= UINT16_MAX; code++) {
        F16 once = gelu_f16((F16)code), both = gelu_twice_f16((F16)code);
        if (!is_finite((F16)code)) {
            assert_true(!is_finite(once) && !is_finite(both));
            continue;
        }
        double x = (double)f16_to_f32((F16)code);
        if (fabs(x) > 32752) {
            assert_true(both == (x > 0 ? F16_MAX : 0));
            continue;
        }
        double error = fabs(0.5 * (double)f16_to_f32(both) - (double)f16_to_f32(once));
        assert_true(error <= 0x1p-24 + 0x1p-10 * fabs((double)f16_to_f32(once)));
        seen += error == 0;
    }
    assert_true(seen > 58000);
}

static void specials(void **state) {
    (void)state;
    assert_int_equal(gelu_f16(0), 0);
    assert_int_equal(gelu_f16(F16_QNAN), F16_QNAN);
    assert_int_equal(gelu_f16(F16_INFINITE), F16_INFINITE);
    assert_int_equal(gelu_f16(F16_INFINITE | 0x8000), F16_QNAN);
    assert_int_equal(gelu_f16(F16_MAX), F16_MAX);
    assert_int_equal(gelu_f16(F16_MAX | 0x8000), 0);
    assert_int_equal(f16_tanh(F16_INFINITE), 0x3C00);
    assert_int_equal(f16_tanh(0x8000), 0x8000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(largest_error),
        cmocka_unit_test(twice),
        cmocka_unit_test(specials),
    };
    return cmocka_run_group_tests_name("num.gelu", tests, NULL, NULL);
}
