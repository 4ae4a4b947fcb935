#include "compare_amp.h"

#include "num/exact.h"

#include <float.h>
#include <math.h>

/* Every level, and the functions that choose one. */
static void levels_equal_the_step(void **state) {
    (void)state;
    print_levels();
    for (CpuLevel level = CPU_PORTABLE; level <= cpu_level_native(); level++)
        compare_amp(amp_table(level), cpu_level_name(level), repetitions(3000, 200000));
    const AmpTable chosen = {amp_phase_f16, amp_phase_f8, amp_rows_f16, amp_rows_f8,
                             amp_table(CPU_PORTABLE)->transpose};
    compare_amp(&chosen, "chosen level", 300);
}

/* Two rows of 16 inputs: w[c][k] = ((c + 2k) mod 5) - 2, x_b[k] = (k mod 4) + 1 + b,
 * P_b[c] = c + 100 b. */
static void computes_the_f16_example(void **state) {
    (void)state;
    static const int expected[2][16] = {
        {-5, -4, 7, 3, 9, 0, 1, 12, 8, 14, 5, 6, 17, 13, 19, 10},
        {93, 95, 107, 104, 111, 98, 100, 112, 109, 116, 103, 105, 117, 114, 121, 108}};
    F16 w[16][16], x[2][16], partial[2][16], out[2][16];
    for (int c = 0; c < 16; c++) {
        for (int k = 0; k < 16; k++)
            w[c][k] = f64_to_f16((c + 2 * k) % 5 - 2, F16_OVERFLOW_NAN);
        for (int b = 0; b < 2; b++) {
            x[b][c] = f64_to_f16(c % 4 + 1 + b, F16_OVERFLOW_NAN);
            partial[b][c] = f64_to_f16(c + 100 * b, F16_OVERFLOW_NAN);
        }
    }
    uint64_t words[64];
    memcpy(words, w, sizeof words);
    AmpWeights weights;
    amp_prepare_f16(&weights, words);
    AmpRows rows = {x, partial[0], out[0], 32, 32, 32, 2, F16_OVERFLOW_NAN, NULL, 0};
    amp_rows_f16(&rows, &weights);
    for (int b = 0; b < 2; b++)
        for (int c = 0; c < 16; c++)
            assert_true(f16_to_f32(out[b][c]) == (float)expected[b][c]);
    /* channel 6, phase by phase: 6, 1, -4, 1, 1 */
    static const float after[] = {1, -4, 1, 1};
    float acc[16];
    for (int c = 0; c < 16; c++)
        acc[c] = f16_to_f32(partial[0][c]);
    for (int phase = 0; phase < 4; phase++) {
        amp_phase_f16(acc, x[0] + 4 * phase, &weights, phase);
        assert_true(acc[6] == after[phase]);
    }
}

/* Scales -3 and +1; bytes of x are the same in every phase. */
static void computes_the_f8_example(void **state) {
    (void)state;
    static const uint8_t chunk[8] = {0x40, 0x44, 0x48, 0xC0, 0x38, 0x40, 0x4C, 0x00};
    static const uint8_t wheel[5] = {0x40, 0x38, 0xC0, 0x44, 0x00};
    static const float channel_0[] = {0.1875f, 1.1875f, 1.1875f, 3.0f};
    uint8_t x[32], w[16][32];
    F16 partial[16] = {0}, out[16];
    partial[5] = 0x4500; /* 5 */
    for (int k = 0; k < 32; k++) {
        x[k] = chunk[k % 8];
        for (int c = 0; c < 16; c++)
            w[c][k] = wheel[(c + k) % 5];
    }
    AmpWeights weights;
    uint64_t words[64];
    memcpy(words, w, sizeof words);
    amp_prepare_f8(&weights, words, F8_F143, F8_F143, -2);
    AmpRows rows = {x, partial, out, 32, 32, 32, 1, F16_OVERFLOW_NAN, NULL, 0};
    amp_rows_f8(&rows, &weights);
    assert_int_equal(out[0], 0x4200);
    assert_int_equal(out[5], 0x4800);
    float acc[16] = {0};
    for (int phase = 0; phase < 4; phase++) {
        amp_phase_f8(acc, x + 8 * phase, &weights, phase);
        assert_true(acc[0] == channel_0[phase]);
    }
}

static void spreads_special_values(void **state) {
    (void)state;
    const F16 zero[4] = {0}, one[4] = {0x3C00, 0, 0, 0},
              minus[4] = {0xBC00, 0xBC00, 0xBC00, 0xBC00};
    const F16 nan[4] = {0xFE01, 0, 0, 0}, infinite[4] = {0x7C00, 0, 0, 0};
    const F16 both[4] = {0x7C00, 0xFC00, 0, 0}, ones[4] = {0x3C00, 0x3C00, 0x3C00, 0x3C00};
    assert_int_equal(f32_bits(amp_step_f16(1, zero, nan)), F32_QNAN);
    assert_int_equal(f32_bits(amp_step_f16(1, zero, infinite)), F32_QNAN);
    assert_int_equal(f32_bits(amp_step_f16(1, ones, both)), F32_QNAN);
    assert_true(amp_step_f16(1, one, infinite) == INFINITY);
    assert_int_equal(f32_bits(amp_step_f16(-INFINITY, one, infinite)), F32_QNAN);
    assert_int_equal(f32_bits(amp_step_f16(f32_from_bits(0xFFC12345u), one, one)), F32_QNAN);
    assert_int_equal(f32_bits(amp_step_f16(-0.0f, zero, minus)), 0x80000000u);
    assert_int_equal(f32_bits(amp_step_f16(0.0f, zero, minus)), 0);
    assert_int_equal(f32_bits(amp_step_f16(-0.0f, zero, ones)), 0);
    const uint8_t zeros[8] = {0}, codes[8] = {F8_NAN};
    assert_int_equal(f32_bits(amp_step_f8(1, zeros, F8_F143, codes, F8_F143, 0)), F32_QNAN);
    assert_int_equal(f32_bits(amp_step_f8(1, codes, F8_F152, zeros, F8_F143, 0)), F32_QNAN);
    assert_true(amp_step_f32(FLT_MAX, 0x1p100f, 0x1p4f) == INFINITY);
    assert_true(amp_step_f32(0, 0x1p-75f, 0x1p-74f) == 0x1p-149f);
    assert_true(amp_step_f32(0, 0x1p-75f, 0x1p-75f) == 0); /* tie of subnormals */
    assert_true(amp_step_f32(0x1p-149f, 0x1p-75f, 0x1p-75f) == 0x1p-148f);
}

static void sums_exactly(void **state) {
    (void)state;
    const double cancel[] = {0x1p500, 1, -0x1p500, -1}, zeros[] = {-0.0, -0.0},
                 mixed[] = {-0.0, 0.0};
    assert_int_equal(f64_bits(exact_sum_odd(cancel, 4)), 0);
    assert_int_equal(f64_bits(exact_sum_odd(zeros, 2)), f64_bits(-0.0));
    assert_int_equal(f64_bits(exact_sum_odd(mixed, 2)), 0);
    const double above[] = {1, 0x1p-200}, below[] = {1, -0x1p-200}, negative[] = {-1, 0x1p-200};
    assert_true(exact_sum_odd(above, 2) == nextafter(1, 2));
    assert_true(exact_sum_odd(below, 2) == nextafter(1, 0));
    assert_true(exact_sum_odd(negative, 2) == nextafter(-1, 0));
    const double odd[] = {1 + 0x1p-52, 0x1p-200}; /* already odd: stays */
    assert_true(exact_sum_odd(odd, 2) == 1 + 0x1p-52);
    const double infinite[] = {INFINITY, 1, 2}, nan[] = {INFINITY, 1, -INFINITY};
    assert_true(exact_sum_odd(infinite, 3) == INFINITY);
    assert_true(isnan(exact_sum_odd(nan, 3)));
    /* Any order of the terms gives the same bits. */
    Random random = seeded("order of terms");
    for (int n = 0; n < 20000; n++) {
        double terms[6];
        for (int i = 0; i < 6; i++) {
            uint64_t bits = random_next(&random);
            terms[i] = ldexp((double)((int64_t)bits >> 40), (int)(bits & 127) - 64);
        }
        if (n % 4 == 0)
            terms[5] = -terms[0];
        double sum = exact_sum_odd(terms, 6);
        float narrow = exact_sum_f32(terms, 6);
        for (int i = 5; i > 0; i--) {
            uint64_t k = random_below(&random, (uint64_t)i + 1);
            double swapped = terms[i];
            terms[i] = terms[k];
            terms[k] = swapped;
        }
        assert_same(f64_bits(exact_sum_odd(terms, 6)), f64_bits(sum));
        assert_same_float(exact_sum_f32(terms, 6), narrow);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(computes_the_f16_example), cmocka_unit_test(computes_the_f8_example),
        cmocka_unit_test(spreads_special_values),   cmocka_unit_test(sums_exactly),
        cmocka_unit_test(levels_equal_the_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
