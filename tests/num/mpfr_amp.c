/* The AMP step, fused F16 operations and narrowing from double against MPFR: exact sums, then one
 * rounding. Operands are decoded here anew. TW_TEST_ALL makes it 20 times as many. */
#include "operands.h"

#include <math.h>
#include <mpfr.h>

/* Hold any sum exactly: a float32 and F16 or F8 products; a float32 and a float32 product. */
#define BITS_HALVES 320
#define BITS_FLOATS 640

typedef struct Oracle {
    mpfr_t sum, a, b;
} Oracle;

static Oracle oracle;

static void start(double acc) {
    mpfr_set_d(oracle.sum, acc, MPFR_RNDN);
}

static void add_product(double a, double b, int scale) {
    mpfr_set_d(oracle.a, a, MPFR_RNDN);
    mpfr_set_d(oracle.b, b, MPFR_RNDN);
    int inexact = mpfr_mul(oracle.a, oracle.a, oracle.b, MPFR_RNDN);
    if (scale)
        inexact |= mpfr_mul_2si(oracle.a, oracle.a, scale, MPFR_RNDN);
    inexact |= mpfr_add(oracle.sum, oracle.sum, oracle.a, MPFR_RNDN);
    assert_same(inexact, 0);
}

static uint32_t rounded(void) {
    return mpfr_nan_p(oracle.sum) ? F32_QNAN : f32_bits(mpfr_get_flt(oracle.sum, MPFR_RNDN));
}

static double half_value(F16 half) {
    int field = half >> 10 & 31, fraction = half & 0x3FF;
    double magnitude = field == 31  ? (fraction ? NAN : INFINITY)
                       : field == 0 ? ldexp(fraction, -24)
                                    : ldexp(1024 + fraction, field - 25);
    return half & 0x8000 ? -magnitude : magnitude;
}

static double code_value(uint8_t code, F8Format format) {
    int bits = format == F8_F143 ? 3 : 2, bias = format == F8_F143 ? 8 : 16;
    int field = (code & 0x7F) >> bits, fraction = code & ((1 << bits) - 1);
    double magnitude = field ? ldexp((1 << bits) + fraction, field - bias - bits)
                             : ldexp(fraction, 1 - bias - bits);
    return code == F8_NAN ? NAN : code & 0x80 ? -magnitude : magnitude;
}

/* What plain double arithmetic in order would give; counts how often that is wrong. */
static uint32_t in_double(float acc, const double *products, int count) {
    double sum = (double)acc;
    for (int i = 0; i < count; i++)
        sum += products[i];
    return isnan(sum) ? F32_QNAN : f32_bits((float)sum);
}

/* Makes acc nearly, or exactly, a half unit away from a float32 that the products reach, so that
 * the last bits of the sum decide. */
static float near_a_tie(Random *random, double sum_of_products) {
    uint64_t bits = random_next(random);
    float whole = (float)sum_of_products;
    float unit = nextafterf(fabsf(whole), INFINITY) - fabsf(whole);
    float tie = (float)ldexp((double)unit, bits & 1 ? -1 : 23);
    return bits & 2 ? tie : nextafterf(-tie, bits & 4 ? INFINITY : -INFINITY);
}

static void check_f16(Random *random, uint64_t cases) {
    uint64_t doubles_fail = 0;
    for (uint64_t n = 0; n < cases; n++) {
        OperandKind kind = (OperandKind)random_below(random, OPERAND_KINDS);
        F16 x[AMP_F16_LANES], w[AMP_F16_LANES];
        double products[AMP_F16_LANES], sum = 0;
        for (int l = 0; l < AMP_F16_LANES; l++) {
            x[l] = random_half(random, kind, l ? negated_half(x[l - 1]) : 0);
            w[l] = random_half(random, kind, l ? w[l - 1] : 0);
            products[l] = half_value(x[l]) * half_value(w[l]);
            sum += products[l];
        }
        bool tie = n % 4 == 0 && fabs(sum) < 0x1p40;
        float acc = tie ? near_a_tie(random, sum) : random_acc(random, kind);
        start((double)acc);
        for (int l = 0; l < AMP_F16_LANES; l++)
            add_product(half_value(x[l]), half_value(w[l]), 0);
        uint32_t expected = rounded();
        assert_same(f32_bits(amp_step_f16(acc, x, w)), expected);
        doubles_fail += in_double(acc, products, AMP_F16_LANES) != expected;
    }
    printf("F16: %llu steps, %llu of them wrong in plain double\n", (unsigned long long)cases,
           (unsigned long long)doubles_fail);
    assert_true(doubles_fail > cases / 1000);
}

static void check_f8(Random *random, uint64_t cases) {
    uint64_t doubles_fail = 0;
    for (uint64_t n = 0; n < cases; n++) {
        OperandKind kind = (OperandKind)random_below(random, OPERAND_KINDS);
        uint64_t bits = random_next(random);
        F8Format x_format = bits & 3 ? F8_F143 : F8_F152, w_format = bits & 12 ? F8_F143 : F8_F152;
        int scale = (int)(bits >> 8 & 63) - 32;
        uint8_t x[AMP_F8_LANES], w[AMP_F8_LANES];
        double products[AMP_F8_LANES], sum = 0;
        for (int l = 0; l < AMP_F8_LANES; l++) {
            x[l] = random_code(random, kind, l ? negated_code(x[l - 1]) : 0);
            w[l] = random_code(random, kind, l ? w[l - 1] : 0);
            products[l] = ldexp(code_value(x[l], x_format) * code_value(w[l], w_format), scale);
            sum += products[l];
        }
        bool tie = n % 4 == 0 && fabs(sum) < 0x1p100;
        float acc = tie ? near_a_tie(random, sum) : random_acc(random, kind);
        start((double)acc);
        for (int l = 0; l < AMP_F8_LANES; l++)
            add_product(code_value(x[l], x_format), code_value(w[l], w_format), scale);
        uint32_t expected = rounded();
        assert_same(f32_bits(amp_step_f8(acc, x, x_format, w, w_format, scale)), expected);
        doubles_fail += in_double(acc, products, AMP_F8_LANES) != expected;
    }
    printf("F8: %llu steps, %llu of them wrong in plain double\n", (unsigned long long)cases,
           (unsigned long long)doubles_fail);
    assert_true(doubles_fail > cases / 10000);
}

static void check_f32(Random *random, uint64_t cases) {
    for (uint64_t n = 0; n < cases; n++) {
        uint64_t bits = random_next(random);
        float x = f32_from_bits((uint32_t)bits), w = f32_from_bits((uint32_t)(bits >> 32));
        if (n % 2)
            w = f32_from_bits((f32_bits(w) & 0x807FFFFF) |
                              (0x7F000000 - (f32_bits(x) & 0x7F800000)));
        float acc = n % 4 < 2 ? near_a_tie(random, (double)x * (double)w)
                              : random_acc(random, OPERANDS_ANY);
        start((double)acc);
        add_product((double)x, (double)w, 0);
        assert_same(f32_bits(amp_step_f32(acc, x, w)), rounded());
    }
}

static F16 rounded_half(F16Overflow overflow) {
    /* To 11 bits, fewer below 2^-14, by asking for the unit's multiple. */
    if (mpfr_nan_p(oracle.sum))
        return F16_QNAN;
    F16 sign = (F16)(mpfr_signbit(oracle.sum) ? 0x8000 : 0);
    if (mpfr_inf_p(oracle.sum))
        return (F16)(sign | F16_INFINITE);
    mpfr_abs(oracle.a, oracle.sum, MPFR_RNDN);
    long exponent = mpfr_zero_p(oracle.a) ? -14 : mpfr_get_exp(oracle.a) - 1;
    exponent = exponent < -14 ? -14 : exponent;
    mpfr_mul_2si(oracle.a, oracle.a, 10 - exponent, MPFR_RNDN);
    mpfr_rint(oracle.a, oracle.a, MPFR_RNDN); /* ties to even */
    unsigned long units = exponent > 20 ? 0 : mpfr_get_ui(oracle.a, MPFR_RNDN);
    unsigned long code = ((unsigned long)(exponent + 14) << 10) + units;
    if (exponent > 20 || code > F16_MAX) {
        if (overflow == F16_OVERFLOW_NAN)
            return F16_QNAN;
        return (F16)(sign | (overflow == F16_OVERFLOW_INFINITE ? F16_INFINITE : F16_MAX));
    }
    return (F16)(sign | code);
}

static void check_half_operations(Random *random, uint64_t cases) {
    for (uint64_t n = 0; n < cases; n++) {
        OperandKind kind = (OperandKind)random_below(random, OPERAND_KINDS);
        F16Overflow overflow = (F16Overflow)(n % 3);
        F16 a = random_half(random, kind, 0), b = random_half(random, kind, a);
        F16 c = random_half(random, kind, b), d = random_half(random, kind, c);
        start(-0.0);
        add_product(half_value(a), half_value(b), 0);
        add_product(half_value(c), half_value(d), 0);
        assert_same(f32_bits(f16_mix(a, b, c, d)), rounded());
        uint64_t bits = random_next(random);
        if (n % 8) /* exponents within and around F16's */
            bits = (bits & ~(0x7FFull << 52)) | (1023 - 30 + (bits >> 52 & 0x7FF) % 50) << 52;
        if (n % 3) /* near a tie */
            bits = (bits & ~((1ull << 42) - 1)) | (1ull << 41) | (n % 2);
        start(f64_from_bits(bits));
        assert_same(f64_to_f16(f64_from_bits(bits), overflow), rounded_half(overflow));
    }
}

static void agrees_with_mpfr(void **state) {
    (void)state;
    mpfr_inits2(BITS_HALVES, oracle.sum, oracle.a, oracle.b, (mpfr_ptr)0);
    Random random = seeded("MPFR");
    uint64_t steps = repetitions(1000000, 20000000);
    check_f16(&random, steps);
    check_f8(&random, steps);
    check_half_operations(&random, steps / 5);
    mpfr_set_prec(oracle.sum, BITS_FLOATS);
    mpfr_set_prec(oracle.a, BITS_FLOATS);
    mpfr_set_prec(oracle.b, BITS_FLOATS);
    check_f32(&random, steps / 5);
    mpfr_clears(oracle.sum, oracle.a, oracle.b, (mpfr_ptr)0);
    mpfr_free_cache();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_mpfr)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
