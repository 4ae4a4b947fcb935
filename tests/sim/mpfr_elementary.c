/* The chip's elementary functions against MPFR: correctly rounded for every binary16 and for random
 * float32, in all four rounding directions. */
#include "testing.h"

#include "base/random.h"
#include "num/elementary.h"
#include "sim/rounding.h"

#include <mpfr.h>
#include <stdlib.h>

typedef struct Function {
    const char *name;
    double (*ours)(double x);
    int (*theirs)(mpfr_t result, const mpfr_t x, mpfr_rnd_t direction);
} Function;

/* 1 / (1 + e^-x), to more bits than are needed for any argument that is not cut off below. */
static int mpfr_sigmoid(mpfr_t result, const mpfr_t x, mpfr_rnd_t direction) {
    mpfr_t wide;
    mpfr_init2(wide, 2000);
    mpfr_neg(wide, x, MPFR_RNDN);
    mpfr_exp(wide, wide, MPFR_RNDN);
    mpfr_add_ui(wide, wide, 1, MPFR_RNDN);
    mpfr_ui_div(wide, 1, wide, MPFR_RNDN);
    int inexact = mpfr_set(result, wide, direction);
    mpfr_clear(wide);
    return inexact;
}

static const Function functions[] = {
    {"exp", elementary_exp, mpfr_exp},    {"exp2", elementary_exp2, mpfr_exp2},
    {"log", elementary_log, mpfr_log},    {"log2", elementary_log2, mpfr_log2},
    {"tanh", elementary_tanh, mpfr_tanh}, {"sigmoid", elementary_sigmoid, mpfr_sigmoid},
    {"sqrt", elementary_sqrt, mpfr_sqrt}, {"inverse sqrt", elementary_inverse_sqrt, mpfr_rec_sqrt},
};

static const struct {
    uint32_t chip;
    mpfr_rnd_t mpfr;
} directions[] = {{CHIP_RND_NEAREST, MPFR_RNDN},
                  {CHIP_RND_UP, MPFR_RNDU},
                  {CHIP_RND_DOWN, MPFR_RNDD},
                  {CHIP_RND_ZERO, MPFR_RNDZ}};

/* A context that does nothing but round. */
static Context *rounding_context(uint32_t direction) {
    static Tile tile;
    static Context context;
    context.tile = &tile;
    context.overflow = F16_OVERFLOW_INFINITE;
    context.rounding = direction;
    context.plain_rounding = direction == CHIP_RND_NEAREST;
    return &context;
}

static void check_f32(const Function *function, float x, const mpfr_t exact) {
    if (!mpfr_number_p(exact) || fabs(mpfr_get_d(exact, MPFR_RNDN)) > 3e38)
        return;
    for (size_t i = 0; i < COUNT_OF(directions); i++) {
        uint32_t ours =
            round_f32_exact(rounding_context(directions[i].chip), function->ours(x), x, x);
        float theirs = mpfr_get_flt(exact, directions[i].mpfr);
        if (ours != f32_bits(theirs))
            fail_msg("%s(%a): %a, not %a (direction %u)", function->name, (double)x,
                     (double)f32_from_bits(ours), (double)theirs, directions[i].chip);
    }
}

static void check_f16(const Function *function, float x, const mpfr_t exact) {
    double value = mpfr_get_d(exact, MPFR_RNDN);
    if (!mpfr_number_p(exact) || fabs(value) > 65000)
        return;
    /* MPFR's number of few bits and small exponents is a binary16. */
    mpfr_t half;
    mpfr_init2(half, 11);
    for (size_t i = 0; i < COUNT_OF(directions); i++) {
        mpfr_exp_t least = mpfr_get_emin();
        mpfr_set_emin(-23);
        int inexact = mpfr_set(half, exact, directions[i].mpfr);
        inexact = mpfr_check_range(half, inexact, directions[i].mpfr);
        mpfr_subnormalize(half, inexact, directions[i].mpfr);
        mpfr_set_emin(least);
        F16 ours = round_f16_exact(rounding_context(directions[i].chip), function->ours(x), x, x);
        F16 theirs = f32_to_f16(mpfr_get_flt(half, MPFR_RNDN), F16_OVERFLOW_INFINITE);
        if (ours != theirs)
            fail_msg("%s(%a): %04X, not %04X (direction %u)", function->name, (double)x, ours,
                     theirs, directions[i].chip);
    }
    mpfr_clear(half);
}

static void check(const Function *function, float x, bool half) {
    mpfr_t argument, exact;
    mpfr_init2(argument, 24);
    mpfr_init2(exact, 200);
    mpfr_set_flt(argument, x, MPFR_RNDN);
    /* Rounded to odd: what 200 bits cannot hold stays visible in the last one. */
    bool inexact = function->theirs(exact, argument, MPFR_RNDZ) != 0;
    if (inexact && mpfr_min_prec(exact) < 200) {
        if (mpfr_sgn(exact) > 0)
            mpfr_nextabove(exact);
        else
            mpfr_nextbelow(exact);
    }
    if (half)
        check_f16(function, x, exact);
    else
        check_f32(function, x, exact);
    mpfr_clear(argument);
    mpfr_clear(exact);
}

static bool has_value(const Function *function, float x) {
    bool root = function->ours == elementary_sqrt || function->ours == elementary_inverse_sqrt;
    /* Beyond, MPFR has to give up too. */
    return fabsf(x) < 1000 && !(root && x <= 0);
}

static void all_halves(void **state) {
    (void)state;
    unsigned step = getenv("TW_TEST_ALL") ? 1 : 37;
    for (size_t f = 0; f < COUNT_OF(functions); f++) {
        for (unsigned bits = 0; bits <= UINT16_MAX; bits += step) {
            float x = f16_to_f32((F16)bits);
            if (has_value(&functions[f], x))
                check(&functions[f], x, true);
        }
    }
}

static void random_floats(void **state) {
    (void)state;
    unsigned count = getenv("TW_TEST_ALL") ? 1000000 : 3000;
    uint64_t seed = 20240917;
    print_message("seed %llu\n", (unsigned long long)seed);
    Random random = random_seed(seed);
    for (size_t f = 0; f < COUNT_OF(functions); f++) {
        for (unsigned i = 0; i < count; i++) {
            uint64_t draw = random_next(&random);
            /* Half of them of moderate size, where the functions bend. */
            float x = i % 2 ? f32_from_bits((uint32_t)draw)
                            : f32_from_bits((uint32_t)(draw & 0x87FFFFFF) | 0x38000000u);
            if (has_value(&functions[f], x))
                check(&functions[f], x, false);
        }
    }
}

static void quotients(void **state) {
    (void)state;
    Random random = random_seed(7);
    mpfr_t a, b, exact;
    mpfr_inits2(24, a, b, (mpfr_ptr)0);
    mpfr_init2(exact, 200);
    for (unsigned i = 0; i < 3000; i++) {
        float x = f32_from_bits((uint32_t)random_next(&random));
        float y = f32_from_bits((uint32_t)random_next(&random));
        if (!isfinite(x) || !isfinite(y) || y == 0 || fabsf(x / y) > 3e38f)
            continue;
        mpfr_set_flt(a, x, MPFR_RNDN);
        mpfr_set_flt(b, y, MPFR_RNDN);
        mpfr_div(exact, a, b, MPFR_RNDN);
        for (size_t d = 0; d < COUNT_OF(directions); d++) {
            Context *context = rounding_context(directions[d].chip);
            uint32_t ours = round_f32_exact(context, elementary_divide(x, y), x, y);
            assert_int_equal(ours, f32_bits(mpfr_get_flt(exact, directions[d].mpfr)));
        }
    }
    mpfr_clears(a, b, exact, (mpfr_ptr)0);
}

int main(void) {
    mpfr_set_emin(mpfr_get_emin_min());
    mpfr_set_emax(mpfr_get_emax_max());
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_halves),
        cmocka_unit_test(random_floats),
        cmocka_unit_test(quotients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
