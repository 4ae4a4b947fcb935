/* Float32 arithmetic and conversions of the workers against MPFR, in all rounding directions:
 * random operands, many of near exponents so that sums cancel and ties are met. */
#include "testing.h"

#include "base/random.h"
#include "sim/internal.h"

#include <math.h>
#include <mpfr.h>
#include <stdlib.h>

static Tile tile;
static mpfr_t a, b, exact;

static const struct {
    uint32_t chip;
    mpfr_rnd_t mpfr;
} directions[] = {{CHIP_RND_NEAREST, MPFR_RNDN},
                  {CHIP_RND_UP, MPFR_RNDU},
                  {CHIP_RND_DOWN, MPFR_RNDD},
                  {CHIP_RND_ZERO, MPFR_RNDZ}};

static uint32_t run(IsaForm form, uint32_t direction, uint32_t s, uint32_t t, int32_t imm) {
    static Context context;
    memset(&context, 0, sizeof context);
    context.tile = &tile;
    exec_set_fp_control(&context, direction << 16);
    context.a[2] = s;
    context.a[4] = t;
    const Half half = {.imm = imm, .r = {0, 2, 4}};
    exec_function(form)(&context, &half);
    return context.a[0];
}

static uint64_t turns(void) {
    return getenv("TW_TEST_ALL") ? 2000000 : 20000;
}

static float near_to(Random *random, float x) {
    uint32_t bits = (uint32_t)random_next(random);
    switch (random_below(random, 4)) {
    case 0: return f32_from_bits(bits);
    case 1: return f32_from_bits(f32_bits(x) ^ 0x80000000u ^ (bits & 0xFF));
    default: return f32_from_bits((f32_bits(x) & 0x7F800000u) ^ (bits & 0x85FFFFFFu));
    }
}

static int exact_absadd(mpfr_t result, const mpfr_t x, const mpfr_t y, mpfr_rnd_t direction) {
    mpfr_t left, right;
    mpfr_init2(left, 24);
    mpfr_init2(right, 24);
    mpfr_abs(left, x, MPFR_RNDN);
    mpfr_abs(right, y, MPFR_RNDN);
    int inexact = mpfr_add(result, left, right, direction);
    mpfr_clears(left, right, (mpfr_ptr)0);
    return inexact;
}

static void arithmetic(void **state) {
    (void)state;
    static const struct {
        IsaForm form;
        int (*exact)(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);
    } operations[] = {{ISA_F32ADD, mpfr_add},
                      {ISA_F32SUB, mpfr_sub},
                      {ISA_F32MUL, mpfr_mul},
                      {ISA_F32ABSADD, exact_absadd}};
    uint64_t seed = 5;
    print_message("seed %llu\n", (unsigned long long)seed);
    Random random = random_seed(seed);
    for (uint64_t i = 0; i < turns(); i++) {
        float x = f32_from_bits((uint32_t)random_next(&random)), y = near_to(&random, x);
        if (!isfinite(x) || !isfinite(y))
            continue;
        mpfr_set_flt(a, x, MPFR_RNDN);
        mpfr_set_flt(b, y, MPFR_RNDN);
        for (size_t o = 0; o < COUNT_OF(operations); o++) {
            assert_int_equal(operations[o].exact(exact, a, b, MPFR_RNDN), 0);
            if (fabs(mpfr_get_d(exact, MPFR_RNDN)) > 3.4e38 || mpfr_zero_p(exact))
                continue;
            for (size_t d = 0; d < COUNT_OF(directions); d++) {
                uint32_t got =
                    run(operations[o].form, directions[d].chip, f32_bits(x), f32_bits(y), 0);
                uint32_t want = f32_bits(mpfr_get_flt(exact, directions[d].mpfr));
                if (got != want)
                    fail_msg("%s(%a, %a): %08X, not %08X (direction %u)",
                             isa_form_info(operations[o].form)->mnemonic, (double)x, (double)y, got,
                             want, directions[d].chip);
            }
        }
    }
}

/* Comparisons and choices are exact; here against MPFR's order, special values too. */
static void order(void **state) {
    (void)state;
    static const uint32_t special[] = {0,           0x80000000u, 1,           0x80000001u,
                                       0x7F800000u, 0xFF800000u, 0x7FC00000u, 0x3F800000u,
                                       0xBF800000u, 0x7F7FFFFFu};
    Random random = random_seed(6);
    for (uint64_t i = 0; i < turns(); i++) {
        uint64_t draw = random_next(&random);
        uint32_t s = draw & 1 ? special[(draw >> 32) % COUNT_OF(special)] : (uint32_t)(draw >> 32);
        float x = f32_from_bits(s), y = near_to(&random, x);
        if (draw & 2)
            y = f32_from_bits(special[(draw >> 40) % COUNT_OF(special)]);
        mpfr_set_flt(a, x, MPFR_RNDN);
        mpfr_set_flt(b, y, MPFR_RNDN);
        bool ordered = !mpfr_nan_p(a) && !mpfr_nan_p(b);
        int sign = ordered ? mpfr_cmp(a, b) : 0;
        uint32_t t = f32_bits(y), yes = UINT32_MAX;
        assert_int_equal(run(ISA_F32CMPEQ, 0, s, t, 0), ordered && sign == 0 ? yes : 0);
        assert_int_equal(run(ISA_F32CMPNE, 0, s, t, 0), ordered && sign == 0 ? 0 : yes);
        assert_int_equal(run(ISA_F32CMPLT, 0, s, t, 0), ordered && sign < 0 ? yes : 0);
        assert_int_equal(run(ISA_F32CMPLE, 0, s, t, 0), ordered && sign <= 0 ? yes : 0);
        assert_int_equal(run(ISA_F32CMPGT, 0, s, t, 0), ordered && sign > 0 ? yes : 0);
        assert_int_equal(run(ISA_F32CMPGE, 0, s, t, 0), ordered && sign >= 0 ? yes : 0);
        if (!ordered || sign == 0)
            continue;
        assert_int_equal(run(ISA_F32MAX, 0, s, t, 0), sign > 0 ? s : t);
        assert_int_equal(run(ISA_F32MIN, 0, s, t, 0), sign < 0 ? s : t);
        bool first = mpfr_cmpabs(a, b) >= 0;
        assert_int_equal(run(ISA_F32ABSMAX, 0, s, t, 0), (first ? s : t) & 0x7FFFFFFF);
    }
}

static void integers(void **state) {
    (void)state;
    Random random = random_seed(7);
    for (uint64_t i = 0; i < turns(); i++) {
        uint64_t draw = random_next(&random);
        uint32_t bits = (uint32_t)(draw >> 32) >> (draw & 31);
        for (size_t d = 0; d < COUNT_OF(directions); d++) {
            mpfr_set_si(exact, (int32_t)bits, MPFR_RNDN);
            assert_int_equal(run(ISA_F32FROMI32, directions[d].chip, bits, 0, 0),
                             f32_bits(mpfr_get_flt(exact, directions[d].mpfr)));
            mpfr_set_ui(exact, bits, MPFR_RNDN);
            assert_int_equal(run(ISA_F32FROMUI32, directions[d].chip, bits, 0, 0),
                             f32_bits(mpfr_get_flt(exact, directions[d].mpfr)));
        }
        /* Of moderate size, so that there are fractions. */
        float x = f32_from_bits((uint32_t)(draw & 0x87FFFFFF) + 0x38000000u +
                                (uint32_t)(draw >> 33 & 0x0FFFFFFF));
        if (!isfinite(x))
            continue;
        mpfr_set_flt(a, x, MPFR_RNDN);
        for (size_t d = 0; d < COUNT_OF(directions); d++) {
            mpfr_rint(exact, a, directions[d].mpfr);
            int32_t mode = (int32_t)directions[d].chip;
            uint32_t whole = run(ISA_F32INT, 0, f32_bits(x), 0, mode);
            assert_true((double)f32_from_bits(whole) == mpfr_get_d(exact, MPFR_RNDN));
            double value = mpfr_get_d(exact, MPFR_RNDN);
            int32_t s = value < -0x1p31 ? INT32_MIN : value >= 0x1p31 ? INT32_MAX : (int32_t)value;
            uint32_t u = value < 0 ? 0 : value >= 0x1p32 ? UINT32_MAX : (uint32_t)value;
            assert_int_equal(run(ISA_F32TOI32, directions[d].chip, f32_bits(x), 0, 0), (uint32_t)s);
            assert_int_equal(run(ISA_F32TOUI32, directions[d].chip, f32_bits(x), 0, 0), u);
        }
    }
}

int main(void) {
    mpfr_init2(a, 24);
    mpfr_init2(b, 24);
    mpfr_init2(exact, 600); /* any sum of two floats, any product */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic),
        cmocka_unit_test(order),
        cmocka_unit_test(integers),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    mpfr_clears(a, b, exact, (mpfr_ptr)0);
    mpfr_free_cache();
    return failed;
}
