/* Binary F16 instructions over all pairs of halves, to nearest: 2^32 an instruction with
 * TW_TEST_ALL, else every half with a few partners. Both the function that runs use and the plain
 * one. The expected values are computed apart from the simulator and from num: the exact result in
 * double, its first 24 bits with the rest as a sticky bit in float32, one rounding by the host's
 * conversion instruction; comparisons and extremes by the order of the bits. test_halves holds a
 * part of them, in all rounding modes, against real numbers. */
#include "testing.h"

#include "base/cpu.h"
#include "base/progress.h"
#include "base/random.h"
#include "sim/internal.h"

#include <stdlib.h>

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,f16c")))

enum { HALVES = 65536, LANES = 8, QUIET = 0x7E00, INFINITE = 0x7C00 };

/* Eight halves as their bits and as float32. */
typedef struct Eight {
    __m128i bits;
    __m256 value;
} Eight;

typedef __m128i Expected(Eight a, Eight b);

AVX2 static inline __m128i same(unsigned bits) {
    return _mm_set1_epi16((short)bits);
}

AVX2 static inline __m128i magnitude(__m128i bits) {
    return _mm_and_si128(bits, same(0x7FFF));
}

AVX2 static inline __m128i is_nan(__m128i bits) {
    return _mm_cmpgt_epi16(magnitude(bits), same(INFINITE));
}

AVX2 static inline __m128i is_finite(__m128i bits) {
    return _mm_cmplt_epi16(magnitude(bits), same(INFINITE));
}

/* Four doubles to float32, of which the last bit also stands for all that is cut off. */
AVX2 static inline __m128 sticky(__m256d exact) {
    const __m256i rest = _mm256_set1_epi64x((1 << 29) - 1);
    __m256i bits = _mm256_castpd_si256(exact), zero = _mm256_setzero_si256();
    __m256i even = _mm256_cmpeq_epi64(_mm256_and_si256(bits, rest), zero);
    __m256i odd = _mm256_andnot_si256(even, _mm256_set1_epi64x(1 << 29));
    bits = _mm256_or_si256(_mm256_andnot_si256(rest, bits), odd);
    return _mm256_cvtpd_ps(_mm256_castsi256_pd(bits));
}

/* Exact results to halves; finite ones of finite operands stay finite. */
AVX2 static inline __m128i rounded(Eight a, Eight b, __m256d low, __m256d high) {
    __m256 wide = _mm256_set_m128(sticky(high), sticky(low));
    __m128i bits = _mm256_cvtps_ph(wide, _MM_FROUND_TO_NEAREST_INT);
    __m128i over = _mm_and_si128(_mm_and_si128(is_finite(a.bits), is_finite(b.bits)),
                                 _mm_cmpeq_epi16(magnitude(bits), same(INFINITE)));
    bits = _mm_add_epi16(bits, over); /* the largest half is the one below infinity */
    return _mm_blendv_epi8(bits, same(QUIET), is_nan(bits));
}

AVX2 static inline __m256d low_of(__m256 x) {
    return _mm256_cvtps_pd(_mm256_castps256_ps128(x));
}

AVX2 static inline __m256d high_of(__m256 x) {
    return _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1));
}

AVX2 static inline Eight absolute(Eight a) {
    const __m256 sign = _mm256_set1_ps(-0.0f);
    return (Eight){magnitude(a.bits), _mm256_andnot_ps(sign, a.value)};
}

AVX2 static inline __m128i add(Eight a, Eight b) {
    return rounded(a, b, _mm256_add_pd(low_of(a.value), low_of(b.value)),
                   _mm256_add_pd(high_of(a.value), high_of(b.value)));
}

AVX2 static inline __m128i sub(Eight a, Eight b) {
    return rounded(a, b, _mm256_sub_pd(low_of(a.value), low_of(b.value)),
                   _mm256_sub_pd(high_of(a.value), high_of(b.value)));
}

AVX2 static inline __m128i mul(Eight a, Eight b) {
    return rounded(a, b, _mm256_mul_pd(low_of(a.value), low_of(b.value)),
                   _mm256_mul_pd(high_of(a.value), high_of(b.value)));
}

AVX2 static inline __m128i absadd(Eight a, Eight b) {
    return add(absolute(a), absolute(b));
}

/* Integers in the order of the halves, -0 below +0. */
AVX2 static inline __m128i order(__m128i bits) {
    return _mm_xor_si128(bits, _mm_and_si128(_mm_srai_epi16(bits, 15), same(0x7FFF)));
}

/* The larger (or smaller) of two; a NaN loses. */
AVX2 static inline __m128i extreme(Eight a, Eight b, bool larger) {
    __m128i above = _mm_cmpgt_epi16(order(a.bits), order(b.bits));
    __m128i first = larger ? a.bits : b.bits, second = larger ? b.bits : a.bits;
    __m128i result = _mm_blendv_epi8(second, first, above);
    result = _mm_blendv_epi8(result, b.bits, is_nan(a.bits));
    result = _mm_blendv_epi8(result, a.bits, is_nan(b.bits));
    return _mm_blendv_epi8(result, same(QUIET), is_nan(result));
}

AVX2 static inline __m128i max(Eight a, Eight b) {
    return extreme(a, b, true);
}

AVX2 static inline __m128i min(Eight a, Eight b) {
    return extreme(a, b, false);
}

AVX2 static inline __m128i absmax(Eight a, Eight b) {
    return extreme(absolute(a), absolute(b), true);
}

AVX2 static inline __m128i mask(__m256 compared) {
    __m256i bits = _mm256_castps_si256(compared);
    return _mm_packs_epi32(_mm256_castsi256_si128(bits), _mm256_extracti128_si256(bits, 1));
}

#define COMPARISON(name, predicate)                                                                \
    AVX2 static inline __m128i name(Eight a, Eight b) {                                            \
        return mask(_mm256_cmp_ps(a.value, b.value, predicate));                                   \
    }
COMPARISON(equal, _CMP_EQ_OQ)
COMPARISON(unequal, _CMP_NEQ_UQ)
COMPARISON(less, _CMP_LT_OQ)
COMPARISON(less_or_equal, _CMP_LE_OQ)
COMPARISON(greater, _CMP_GT_OQ)
COMPARISON(greater_or_equal, _CMP_GE_OQ)

typedef struct Operands {
    IsaForm form;
    ExecFunction run;
    Context *context;
} Operands;

/* Every half with one partner, which is the second operand. */
AVX2 static inline __attribute__((always_inline)) void sweep(Expected expected, const Operands *o,
                                                             unsigned partner) {
    static const Half half = {.r = {0, 2, 4}};
    Context *c = o->context;
    Eight b = {same(partner), _mm256_cvtph_ps(same(partner))};
    c->a[4] = c->a[5] = partner | partner << 16;
    const __m128i step = same(LANES);
    __m128i halves = _mm_set_epi16(7, 6, 5, 4, 3, 2, 1, 0);
    for (unsigned first = 0; first < HALVES; first += LANES) {
        __m128i got;
        for (unsigned part = 0; part < 2; part++) {
            __m128i four = part ? _mm_srli_si128(halves, 8) : halves;
            _mm_storel_epi64((__m128i *)(void *)&c->a[2], four);
            o->run(c, &half);
            four = _mm_loadl_epi64((const __m128i *)(const void *)&c->a[0]);
            got = part ? _mm_unpacklo_epi64(got, four) : four;
        }
        __m128i want = expected((Eight){halves, _mm256_cvtph_ps(halves)}, b);
        if (_mm_movemask_epi8(_mm_cmpeq_epi16(got, want)) != 0xFFFF) {
            uint16_t is[LANES], should[LANES];
            memcpy(is, &got, sizeof is);
            memcpy(should, &want, sizeof should);
            for (unsigned i = 0; i < LANES; i++)
                if (is[i] != should[i])
                    fail_msg("%s %04X, %04X: %04X, not %04X", isa_form_info(o->form)->mnemonic,
                             first + i, partner, is[i], should[i]);
        }
        halves = _mm_add_epi16(halves, step);
    }
}

/* One loop an instruction, with the expected value inlined. */
#define INSTRUCTIONS(X)                                                                            \
    X(ISA_F16V4ADD, add)                                                                           \
    X(ISA_F16V4SUB, sub)                                                                           \
    X(ISA_F16V4MUL, mul)                                                                           \
    X(ISA_F16V4ABSADD, absadd)                                                                     \
    X(ISA_F16V4MAX, max)                                                                           \
    X(ISA_F16V4MIN, min)                                                                           \
    X(ISA_F16V4ABSMAX, absmax)                                                                     \
    X(ISA_F16V4CMPEQ, equal)                                                                       \
    X(ISA_F16V4CMPNE, unequal)                                                                     \
    X(ISA_F16V4CMPLT, less)                                                                        \
    X(ISA_F16V4CMPLE, less_or_equal)                                                               \
    X(ISA_F16V4CMPGT, greater)                                                                     \
    X(ISA_F16V4CMPGE, greater_or_equal)

#define SWEEP(form, expected)                                                                      \
    AVX2 static void sweep_##expected(const Operands *o, unsigned partner) {                       \
        sweep(expected, o, partner);                                                               \
    }
INSTRUCTIONS(SWEEP)

static const struct {
    IsaForm form;
    void (*sweep)(const Operands *o, unsigned partner);
} instructions[] = {
#define ROW(form, expected) {form, sweep_##expected},
    INSTRUCTIONS(ROW)
#undef ROW
};

static void all_pairs(void **state) {
    (void)state;
    if (cpu_level_native() < CPU_AVX2)
        skip();
    bool all = getenv("TW_TEST_ALL") != NULL;
    uint64_t seed = 12;
    print_message("seed %llu\n", (unsigned long long)seed);
    Random random = random_seed(seed);
    static Tile tile;
    static Context context = {.tile = &tile};
    exec_set_fp_control(&context, 0);
    for (size_t i = 0; i < COUNT_OF(instructions); i++) {
        IsaForm form = instructions[i].form;
        ExecFunction used = exec_function(form), plain = exec_float[form];
        assert_non_null(plain);
        for (unsigned kind = 0; kind < (used == plain ? 1 : 2); kind++) {
            Operands operands = {form, kind ? plain : used, &context};
            double begin = clock_seconds();
            unsigned partners = all ? HALVES : 24;
            for (unsigned p = 0; p < partners; p++)
                instructions[i].sweep(&operands, all ? p : (unsigned)random_below(&random, HALVES));
            if (all)
                print_message("%s%s: %llu pairs, %.0f million a second\n",
                              isa_form_info(form)->mnemonic, kind ? " (plain)" : "",
                              (unsigned long long)partners * HALVES,
                              partners / (clock_seconds() - begin) * HALVES * 1e-6);
        }
    }
}

#else

static void all_pairs(void **state) {
    (void)state;
    skip();
}

#endif

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_pairs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
