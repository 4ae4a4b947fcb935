/* F16 instructions over all halves: arithmetic, comparisons, minimum, maximum and clamp of every
 * half with a set of partners, in all rounding modes (test_pairs.c takes every partner);
 * conversions of every half and every FP8 code. The expected values are computed apart, from real
 * numbers. */
#include "testing.h"

#include "base/random.h"
#include "num/f8.h"
#include "sim/internal.h"

#include <math.h>
#include <stdlib.h>

enum { HALVES = 65536, MODES = 4, QUIET = 0x7E00, LARGEST = 0x7BFF };

static double value[HALVES];
static Tile tile;

static void fill_values(void) {
    for (unsigned bits = 0; bits < HALVES; bits++) {
        int field = (int)(bits >> 10 & 31), fraction = (int)(bits & 0x3FF);
        double magnitude = field == 31  ? (fraction ? NAN : INFINITY)
                           : field == 0 ? ldexp(fraction, -24)
                                        : ldexp(1024 + fraction, field - 25);
        value[bits] = bits & 0x8000 ? -magnitude : magnitude;
    }
}

static Context *context_with(uint32_t rounding, bool nan_on_overflow) {
    static Context context;
    memset(&context, 0, sizeof context);
    context.tile = &tile;
    exec_set_fp_control(&context, rounding << 16 | (uint32_t)nan_on_overflow << 20);
    return &context;
}

/* Does a magnitude of `whole` units and `rest` of one (0 <= rest < 1) round up? */
static bool rounds_up(double whole, double rest, bool negative, uint32_t mode) {
    if (mode == CHIP_RND_NEAREST)
        return rest > 0.5 || (rest == 0.5 && fmod(whole, 2) != 0);
    if (mode == CHIP_RND_UP)
        return rest > 0 && !negative;
    return mode == CHIP_RND_DOWN && rest > 0 && negative;
}

/* A finite real number as a half; zero has the sign it comes with. */
static unsigned rounded(double x, uint32_t mode, bool nan_on_overflow) {
    if (isnan(x))
        return QUIET;
    bool negative = signbit(x);
    unsigned sign = negative ? 0x8000 : 0;
    x = fabs(x);
    if (isinf(x))
        return sign | 0x7C00;
    int exponent = x > 0 ? ilogb(x) : -14;
    exponent = exponent < -14 ? -14 : exponent;
    double units = ldexp(x, 10 - exponent), whole = floor(units);
    whole += rounds_up(whole, units - whole, negative, mode);
    double code = ldexp(exponent + 14, 10) + whole;
    if (code > LARGEST)
        return nan_on_overflow ? QUIET : sign | LARGEST;
    return sign | (unsigned)code;
}

/* The sum with the sign that a zero has in the mode. */
static double sum(double x, double y, uint32_t mode) {
    double s = x + y;
    if (s == 0 && !(x == 0 && y == 0 && signbit(x) == signbit(y)))
        return mode == CHIP_RND_DOWN ? -0.0 : 0.0;
    return s;
}

typedef enum Operation {
    ADD,
    SUB,
    MUL,
    ABSADD,
    MAX,
    MIN,
    ABSMAX,
    EQ,
    NE,
    LT,
    LE,
    GT,
    GE
} Operation;

static const struct {
    IsaForm form;
    Operation operation;
    bool rounds;
} operations[] = {
    {ISA_F16V4ADD, ADD, true},        {ISA_F16V4SUB, SUB, true},   {ISA_F16V4MUL, MUL, true},
    {ISA_F16V4ABSADD, ABSADD, true},  {ISA_F16V4MAX, MAX, false},  {ISA_F16V4MIN, MIN, false},
    {ISA_F16V4ABSMAX, ABSMAX, false}, {ISA_F16V4CMPEQ, EQ, false}, {ISA_F16V4CMPNE, NE, false},
    {ISA_F16V4CMPLT, LT, false},      {ISA_F16V4CMPLE, LE, false}, {ISA_F16V4CMPGT, GT, false},
    {ISA_F16V4CMPGE, GE, false},
};

/* The larger of two halves (or smaller); a NaN loses, and +0 is above -0. */
static unsigned extreme(unsigned a, unsigned b, bool larger) {
    if (isnan(value[a]) || isnan(value[b]))
        return !isnan(value[a]) ? a : !isnan(value[b]) ? b : QUIET;
    bool first = value[a] > value[b] || (value[a] == value[b] && !signbit(value[a]));
    return first == larger ? a : b;
}

static unsigned expected(Operation operation, unsigned a, unsigned b, uint32_t mode, bool nanoo) {
    double x = value[a], y = value[b];
    bool truth = false;
    switch (operation) {
    case ADD: return rounded(sum(x, y, mode), mode, nanoo);
    case SUB: return rounded(sum(x, -y, mode), mode, nanoo);
    case MUL: return rounded(x * y, mode, nanoo);
    case ABSADD: return rounded(fabs(x) + fabs(y), mode, nanoo);
    case MAX: return extreme(a, b, true);
    case MIN: return extreme(a, b, false);
    case ABSMAX: return extreme(a & 0x7FFF, b & 0x7FFF, true);
    case EQ: truth = x == y; break;
    case NE: truth = !(x == y); break;
    case LT: truth = x < y; break;
    case LE: truth = x <= y; break;
    case GT: truth = x > y; break;
    case GE: truth = x >= y; break;
    }
    return truth ? 0xFFFF : 0;
}

static void set_lane(Context *c, unsigned r, unsigned lane, unsigned half) {
    uint32_t *word = &c->a[r + lane / 2];
    *word = lane % 2 ? (*word & 0xFFFF) | half << 16 : (*word & 0xFFFF0000u) | half;
}

static unsigned get_lane(const Context *c, unsigned r, unsigned lane) {
    return c->a[r + lane / 2] >> 16 * (lane % 2) & 0xFFFF;
}

/* All halves with one partner, which is the second operand. */
static void check_partner(size_t o, unsigned partner, uint32_t mode, bool nanoo) {
    Context *c = context_with(mode, nanoo);
    ExecFunction run = exec_function(operations[o].form);
    static const Half half = {.r = {0, 2, 4}};
    c->a[4] = c->a[5] = partner | partner << 16;
    for (unsigned a = 0; a < HALVES; a += 4) {
        for (unsigned lane = 0; lane < 4; lane++)
            set_lane(c, 2, lane, a + lane);
        run(c, &half);
        for (unsigned lane = 0; lane < 4; lane++) {
            unsigned got = get_lane(c, 0, lane);
            unsigned want = expected(operations[o].operation, a + lane, partner, mode, nanoo);
            if (got != want)
                fail_msg("%s %04X, %04X: %04X, not %04X (mode %u)",
                         isa_form_info(operations[o].form)->mnemonic, a + lane, partner, got, want,
                         mode);
        }
    }
}

static void arithmetic(void **state) {
    (void)state;
    static const unsigned special[] = {0x0000, 0x8000, 0x0001, 0x83FF, 0x0400,
                                       0x3C00, 0xBC01, 0x7BFF, 0xFBFF, 0x7C00,
                                       0xFC00, 0x7E00, 0x1234, 0xB555, 0x6400};
    bool all = getenv("TW_TEST_ALL") != NULL;
    uint64_t seed = 11;
    print_message("seed %llu\n", (unsigned long long)seed);
    Random random = random_seed(seed);
    for (size_t o = 0; o < COUNT_OF(operations); o++) {
        for (size_t s = 0; s < COUNT_OF(special); s++) {
            uint32_t mode = (uint32_t)(s % MODES);
            check_partner(o, special[s], 0, s & 4);
            if (operations[o].rounds && (all || s % 2))
                check_partner(o, special[s], mode, s & 1);
        }
        for (uint32_t mode = 0; mode < MODES; mode++)
            check_partner(o, (unsigned)random_below(&random, HALVES), mode, mode & 1);
    }
}

static void clamp(void **state) {
    (void)state;
    static const unsigned bounds[][2] = {
        {0xBC00, 0x3C00}, {0x0000, 0x7BFF}, {0xFC00, 0x7C00}, {0x8000, 0x0000},
        {0x3555, 0x3555}, {0xFBFF, 0xBC00}, {0x0001, 0x03FF}, {0xC100, 0xC0FF},
    };
    static const Half half = {.r = {0, 2, 4}};
    ExecFunction run = exec_function(ISA_F16V4CLAMP);
    for (size_t i = 0; i < COUNT_OF(bounds); i++) {
        Context *c = context_with(0, false);
        unsigned low = bounds[i][0], high = bounds[i][1];
        c->a[4] = low | high << 16;
        for (unsigned a = 0; a < HALVES; a += 4) {
            for (unsigned lane = 0; lane < 4; lane++)
                set_lane(c, 2, lane, a + lane);
            run(c, &half);
            for (unsigned lane = 0; lane < 4; lane++) {
                unsigned want = extreme(extreme(a + lane, low, true), high, false);
                assert_int_equal(get_lane(c, 0, lane), want);
            }
        }
    }
}

/* F16 -> F32 of every half; F32 -> F16 of every half, and beside the middles between neighbours. */
static void conversions(void **state) {
    (void)state;
    static const Half half = {.r = {0, 2}};
    ExecFunction widen = exec_function(ISA_F16V2TOF32), narrow = exec_function(ISA_F32TOF16);
    for (unsigned a = 0; a < HALVES; a++) {
        Context *c = context_with(0, false);
        c->a[2] = a | (HALVES - 1 - a) << 16;
        widen(c, &half);
        for (unsigned lane = 0; lane < 2; lane++) {
            double want = value[lane ? HALVES - 1 - a : a], got = (double)f32_from_bits(c->a[lane]);
            assert_true(isnan(want) ? c->a[lane] == F32_QNAN
                                    : got == want && signbit(got) == signbit(want));
        }
        double next = (a & 0x7FFF) < LARGEST ? value[a + 1] : value[a];
        double middle = isfinite(value[a]) ? (value[a] + next) / 2 : value[a];
        float near[] = {(float)value[a], (float)middle, nextafterf((float)middle, INFINITY),
                        nextafterf((float)middle, -INFINITY)};
        for (uint32_t mode = 0; mode < MODES; mode++) {
            for (size_t i = 0; i < COUNT_OF(near); i++) {
                c = context_with(mode, i & 1);
                c->a[2] = f32_bits(near[i]);
                narrow(c, &half);
                unsigned want = rounded((double)near[i], mode, i & 1);
                if (c->a[0] != (want | want << 16))
                    fail_msg("F16 of %a: %08X, not %04X twice (mode %u)", (double)near[i], c->a[0],
                             want, mode);
            }
        }
    }
}

/* ---- FP8 */

static double code_value(unsigned code, bool f143) {
    int bits = f143 ? 3 : 2, bias = f143 ? 8 : 16;
    int field = (int)(code & 0x7F) >> bits, fraction = (int)code & ((1 << bits) - 1);
    double magnitude = field ? ldexp((1 << bits) + fraction, field - bias - bits)
                             : ldexp(fraction, 1 - bias - bits);
    return code & 0x80 ? -magnitude : magnitude;
}

/* To the nearest code, ties to even. */
static unsigned code_of(double x, bool f143, bool nan_on_overflow) {
    if (!isfinite(x))
        return 0x80;
    int bits = f143 ? 3 : 2, least = f143 ? -7 : -15;
    double magnitude = fabs(x);
    int exponent = magnitude > 0 ? ilogb(magnitude) : least;
    exponent = exponent < least ? least : exponent;
    double units = ldexp(magnitude, bits - exponent), whole = floor(units);
    whole += rounds_up(whole, units - whole, false, CHIP_RND_NEAREST);
    double code = ldexp(exponent - least, bits) + whole;
    unsigned sign = x < 0 ? 0x80 : 0;
    if (code > 0x7F)
        return nan_on_overflow ? 0x80 : sign | 0x7F;
    return code == 0 ? 0 : sign | (unsigned)code;
}

static void fp8(void **state) {
    (void)state;
    static const int scales[] = {-31, -4, 0, 3, 31};
    static const Half half = {.r = {0, 4}};
    ExecFunction encode = exec_function(ISA_F16V8TOF8), decode = exec_function(ISA_F8V4TOF16);
    for (unsigned variant = 0; variant < 4 * COUNT_OF(scales); variant++) {
        bool f143 = variant & 1, nanoo = variant & 2;
        int scale = scales[variant / 4];
        Context *c = context_with(0, nanoo);
        c->fp_format = f143 ? 2 : 0;
        c->fp_scale = (uint32_t)scale & 63;
        for (unsigned a = 0; a < HALVES; a += 8) {
            for (unsigned lane = 0; lane < 8; lane++)
                set_lane(c, 4, lane, a + lane);
            encode(c, &half);
            for (unsigned lane = 0; lane < 8; lane++) {
                unsigned got = c->a[lane / 4] >> 8 * (lane % 4) & 0xFF;
                unsigned want = code_of(ldexp(value[a + lane], scale), f143, nanoo);
                if (got != want)
                    fail_msg("FP8 of %04X, scale %d: %02X, not %02X", a + lane, scale, got, want);
            }
        }
        for (unsigned code = 0; code < 256; code += 4) {
            c->a[4] = code | (code + 1) << 8 | (code + 2) << 16 | (code + 3) << 24;
            decode(c, &half);
            for (unsigned lane = 0; lane < 4; lane++) {
                double x = ldexp(code_value(code + lane, f143), scale);
                unsigned want = code + lane == 0x80 ? QUIET : rounded(x, 0, nanoo);
                if (get_lane(c, 0, lane) != want)
                    fail_msg("F16 of code %02X, scale %d: %04X, not %04X", code + lane, scale,
                             get_lane(c, 0, lane), want);
            }
        }
    }
}

static int prepare(void **state) {
    (void)state;
    fill_values();
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic),
        cmocka_unit_test(clamp),
        cmocka_unit_test(conversions),
        cmocka_unit_test(fp8),
    };
    return cmocka_run_group_tests(tests, prepare, NULL);
}
