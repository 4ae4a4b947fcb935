/* The binary16 instructions that kernels live on, by the conversion instructions of the host: for
 * nearest even, and for operands and results that are finite and in range. All else is left to the
 * plain functions of exec_float.c and exec_amp.c, which these equal bit for bit. */
#include "sim/rounding.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define F16C __attribute__((target("avx,f16c")))

/* Lane i of a vector as float32; of two lanes the upper half is zero. */
F16C static inline __m128 load4(const Context *c, unsigned r) {
    return _mm_cvtph_ps(_mm_loadl_epi64((const __m128i *)(const void *)&c->a[r]));
}
F16C static inline __m128 load2(const Context *c, unsigned r) {
    return _mm_cvtph_ps(_mm_cvtsi32_si128((int)c->a[r]));
}
/* Broadcast sources. */
F16C static inline __m128 low_of(const Context *c, unsigned r) {
    __m128 both = load2(c, r);
    return _mm_shuffle_ps(both, both, 0x00);
}
F16C static inline __m128 high_of(const Context *c, unsigned r) {
    __m128 both = load2(c, r);
    return _mm_shuffle_ps(both, both, 0x55);
}

F16C static inline void set4(Context *c, unsigned r, __m128 x) {
    _mm_storel_epi64((__m128i *)(void *)&c->a[r], _mm_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}
F16C static inline void set2(Context *c, unsigned r, __m128 x) {
    c->a[r] = (uint32_t)_mm_cvtsi128_si32(_mm_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

F16C static inline __m128 magnitude(__m128 x) {
    return _mm_andnot_ps(_mm_set1_ps(-0.0f), x);
}
/* Lanes that are NaN or would round beyond the largest number. */
F16C static inline int beyond(__m128 x) {
    return _mm_movemask_ps(_mm_cmpnlt_ps(magnitude(x), _mm_set1_ps(F16_BORDER)));
}
F16C static inline int unordered(__m128 x, __m128 y) {
    return _mm_movemask_ps(_mm_cmpunord_ps(x, y));
}

/* Of equal operands only zeros differ: max takes +0, min -0. */
F16C static inline __m128 larger(__m128 x, __m128 y) {
    __m128 equal = _mm_cmpeq_ps(x, y);
    return _mm_blendv_ps(_mm_max_ps(x, y), _mm_and_ps(x, y), equal);
}
F16C static inline __m128 smaller(__m128 x, __m128 y) {
    __m128 equal = _mm_cmpeq_ps(x, y);
    return _mm_blendv_ps(_mm_min_ps(x, y), _mm_or_ps(x, y), equal);
}

static void plainly(IsaForm form, Context *c, const Half *h) {
    (exec_float[form] ? exec_float[form] : exec_amp[form])(c, h);
}

/* Two-lane forms: the idle lanes hold 0 or a copy; 0 is in range, a copy is as its original. */
#define ARITHMETIC(id, lanes, source, expression)                                                  \
    F16C static void fast_##id(Context *c, const Half *h) {                                        \
        __m128 x = source(c, h->r[1]), y = load##lanes(c, h->r[2]), d = expression;                \
        if (__builtin_expect(!c->plain_rounding || beyond(d), 0))                                  \
            plainly(ISA_##id, c, h);                                                               \
        else                                                                                       \
            set##lanes(c, h->r[0], d);                                                             \
    }                                                                                              \
    F16C GROUP(fast_##id)
#define CHOICE(id, lanes, expression)                                                              \
    F16C static void fast_##id(Context *c, const Half *h) {                                        \
        __m128 x = load##lanes(c, h->r[1]), y = load##lanes(c, h->r[2]);                           \
        if (__builtin_expect(unordered(x, y), 0))                                                  \
            plainly(ISA_##id, c, h);                                                               \
        else                                                                                       \
            set##lanes(c, h->r[0], expression);                                                    \
    }                                                                                              \
    F16C GROUP(fast_##id)
#define CLAMP(id, lanes)                                                                           \
    F16C static void fast_##id(Context *c, const Half *h) {                                        \
        __m128 x = load##lanes(c, h->r[1]), y = load2(c, h->r[2]);                                 \
        __m128 low = _mm_shuffle_ps(y, y, 0x00), high = _mm_shuffle_ps(y, y, 0x55);                \
        if (__builtin_expect(unordered(x, y), 0))                                                  \
            plainly(ISA_##id, c, h);                                                               \
        else                                                                                       \
            set##lanes(c, h->r[0], smaller(larger(x, low), high));                                 \
    }                                                                                              \
    F16C GROUP(fast_##id)
#define ALL_ARITHMETIC(ID, expression)                                                             \
    ARITHMETIC(F16V2##ID, 2, load2, expression)                                                    \
    ARITHMETIC(F16V2##ID##_BL, 2, low_of, expression)                                              \
    ARITHMETIC(F16V2##ID##_BU, 2, high_of, expression)                                             \
    ARITHMETIC(F16V4##ID, 4, load4, expression)                                                    \
    ARITHMETIC(F16V4##ID##_BL, 4, low_of, expression)                                              \
    ARITHMETIC(F16V4##ID##_BU, 4, high_of, expression)

ALL_ARITHMETIC(ADD, _mm_add_ps(x, y))
ALL_ARITHMETIC(SUB, _mm_sub_ps(x, y))
ALL_ARITHMETIC(MUL, _mm_mul_ps(x, y))
ARITHMETIC(F16V2ABSADD, 2, load2, _mm_add_ps(magnitude(x), magnitude(y)))
ARITHMETIC(F16V4ABSADD, 4, load4, _mm_add_ps(magnitude(x), magnitude(y)))
CHOICE(F16V2MAX, 2, larger(x, y))
CHOICE(F16V4MAX, 4, larger(x, y))
CHOICE(F16V2MIN, 2, smaller(x, y))
CHOICE(F16V4MIN, 4, smaller(x, y))
CHOICE(F16V2ABSMAX, 2, larger(magnitude(x), magnitude(y)))
CHOICE(F16V4ABSMAX, 4, larger(magnitude(x), magnitude(y)))
CLAMP(F16V2CLAMP, 2)
CLAMP(F16V4CLAMP, 4)

/* Conversions. */
F16C static void fast_F32V2TOF16(Context *c, const Half *h) {
    __m128 x = _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(const void *)&c->a[h->r[1]]));
    if (__builtin_expect(!c->plain_rounding || beyond(x), 0))
        plainly(ISA_F32V2TOF16, c, h);
    else
        set2(c, h->r[0], x);
}
F16C GROUP(fast_F32V2TOF16)
F16C static void fast_F32V4TOF16(Context *c, const Half *h) {
    __m128 x = _mm_loadu_ps((const float *)(const void *)&c->a[h->r[1]]);
    if (__builtin_expect(!c->plain_rounding || beyond(x), 0))
        plainly(ISA_F32V4TOF16, c, h);
    else
        set4(c, h->r[0], x);
}
F16C GROUP(fast_F32V4TOF16)
F16C static void fast_F16V2TOF32(Context *c, const Half *h) {
    __m128 x = load2(c, h->r[1]);
    if (__builtin_expect(unordered(x, x), 0))
        plainly(ISA_F16V2TOF32, c, h);
    else
        _mm_storel_epi64((__m128i *)(void *)&c->a[h->r[0]], _mm_castps_si128(x));
}
F16C GROUP(fast_F16V2TOF32)

/* Accumulators: four lanes are added to compute[first …]; a NaN is left to the plain function. */
#define ACCUMULATE(id, expression)                                                                 \
    F16C static void fast_##id(Context *c, const Half *h) {                                        \
        exec_rows_settle(c);                                                                       \
        __m128 x = load4(c, h->r[0]), low = expression(_mm_loadu_ps(c->compute), x);               \
        __m128 y = id##_LANES == 8 ? load4(c, h->r[0] + 2u) : x;                                   \
        __m128 high = expression(_mm_loadu_ps(c->compute + 4), y);                                 \
        if (__builtin_expect(unordered(low, id##_LANES == 8 ? high : low), 0)) {                   \
            plainly(ISA_##id, c, h);                                                               \
            return;                                                                                \
        }                                                                                          \
        _mm_storeu_ps(c->compute, low);                                                            \
        if (id##_LANES == 8)                                                                       \
            _mm_storeu_ps(c->compute + 4, high);                                                   \
    }                                                                                              \
    F16C GROUP(fast_##id)
#define F16V4ACC_LANES    4
#define F16V4ABSACC_LANES 4
#define F16V8ACC_LANES    8
#define F16V8ABSACC_LANES 8
F16C static inline __m128 plus_magnitude(__m128 sum, __m128 x) {
    return _mm_add_ps(sum, magnitude(x));
}
ACCUMULATE(F16V4ACC, _mm_add_ps)
ACCUMULATE(F16V4ABSACC, plus_magnitude)
ACCUMULATE(F16V8ACC, _mm_add_ps)
ACCUMULATE(F16V8ABSACC, plus_magnitude)

F16C static inline bool all_zero(__m256d x) {
    return _mm256_movemask_pd(_mm256_cmp_pd(x, _mm256_setzero_pd(), _CMP_NEQ_UQ)) == 0;
}

/* Products of halves are exact in float32. Their sum has to be in double to be rounded once. */
F16C static void fast_F16V4MIX(Context *c, const Half *h) {
    exec_rows_settle(c);
    __m128 old = _mm_loadu_ps(c->compute), factors = _mm_cvtph_ps(_mm_cvtsi32_si128((int)c->tas));
    __m128 x = _mm_mul_ps(_mm_shuffle_ps(factors, factors, 0x00), load4(c, h->r[1]));
    __m128 y = _mm_mul_ps(_mm_shuffle_ps(factors, factors, 0x55), load4(c, h->r[2]));
    __m256d p = _mm256_cvtps_pd(x), q = _mm256_cvtps_pd(y), sum = _mm256_add_pd(p, q);
    __m256d part = _mm256_sub_pd(sum, p);
    __m256d error =
        _mm256_add_pd(_mm256_sub_pd(p, _mm256_sub_pd(sum, part)), _mm256_sub_pd(q, part));
    if (__builtin_expect(!c->plain_rounding || beyond(old) || !all_zero(error), 0)) {
        plainly(ISA_F16V4MIX, c, h);
        return;
    }
    _mm_storeu_ps(c->compute, _mm256_cvtpd_ps(sum));
    set4(c, h->r[0], old);
}
F16C GROUP(fast_F16V4MIX)

/* A set moves down by two units; `in` enters at its upper end. */
F16C static inline void shift_down(float *set, __m128 in) {
    __m128 low = _mm_loadu_ps(set + 2);
    __m128i high = _mm_loadl_epi64((const __m128i *)(const void *)(set + 6));
    _mm_storeu_ps(set, low);
    _mm_storel_epi64((__m128i *)(void *)(set + 4), high);
    _mm_storel_epi64((__m128i *)(void *)(set + 6), _mm_castps_si128(in));
}

F16C static void fast_F16V2GINA(Context *c, const Half *h) {
    exec_rows_settle(c);
    float *set = h->imm == 0 ? c->compute : h->imm == 1 ? c->shift : NULL;
    if (set && c->plain_rounding) {
        __m128 in = load2(c, h->r[1]);
        __m128 out = _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(const void *)set));
        if (__builtin_expect(!(beyond(out) | unordered(in, in)), 1)) {
            shift_down(set, in);
            set2(c, h->r[0], out);
            return;
        }
    }
    plainly(ISA_F16V2GINA, c, h);
}
F16C GROUP(fast_F16V2GINA)

/* AMP with all units at work, the instructions of matrix products.
 * ---------------------------------*/

F16C static inline void swap_all(Context *c) {
    for (unsigned u = 0; u < AMP_CHANNELS; u += 8) {
        __m256 computed = _mm256_loadu_ps(c->compute + u), shifted = _mm256_loadu_ps(c->shift + u);
        _mm256_storeu_ps(c->compute + u, shifted);
        _mm256_storeu_ps(c->shift + u, computed);
    }
}

#define AMP(id, f8, phase_function)                                                                \
    F16C static void fast_##id(Context *c, const Half *h) {                                        \
        const AmpWeights *weights = NULL;                                                          \
        unsigned phase = (unsigned)(h->imm - CHIP_TAMP_F16V4_E4_P0);                               \
        if (phase < AMP_PHASES && c->plain_rounding && !c->aligned)                                \
            weights = exec_weights(c, f8);                                                         \
        __m128 in = load4(c, h->r[2]), out;                                                        \
        if (weights) {                                                                             \
            const float *results = phase == 0 ? c->compute : c->shift;                             \
            out = _mm_setr_ps(results[0], results[1], results[8], results[9]);                     \
        }                                                                                          \
        if (__builtin_expect(!weights || beyond(out) | unordered(in, in), 0)) {                    \
            plainly(ISA_##id, c, h);                                                               \
            return;                                                                                \
        }                                                                                          \
        uint64_t x;                                                                                \
        memcpy(&x, &c->a[h->r[1]], sizeof x);                                                      \
        if (phase == 0)                                                                            \
            swap_all(c);                                                                           \
        phase_function(c->compute, (const void *)&x, weights, (int)phase);                         \
        set4(c, h->r[0], out);                                                                     \
        shift_down(c->shift, in);                                                                  \
        shift_down(c->shift + 8, _mm_movehl_ps(in, in));                                           \
    }                                                                                              \
    F16C GROUP(fast_##id)
AMP(F16V4HIHOV4AMP, false, amp_phase_f16)
AMP(F8V8HIHOV4AMP, true, amp_phase_f8)

/* ROWS is ROW for all forms of an operation. */
#define FORMS(ROW, ROWS)                                                                           \
    ROWS(ADD)                                                                                      \
    ROWS(SUB)                                                                                      \
    ROWS(MUL)                                                                                      \
    ROW(F16V2ABSADD)                                                                               \
    ROW(F16V4ABSADD)                                                                               \
    ROW(F16V2MAX)                                                                                  \
    ROW(F16V4MAX)                                                                                  \
    ROW(F16V2MIN)                                                                                  \
    ROW(F16V4MIN)                                                                                  \
    ROW(F16V2ABSMAX)                                                                               \
    ROW(F16V4ABSMAX)                                                                               \
    ROW(F16V2CLAMP)                                                                                \
    ROW(F16V4CLAMP)                                                                                \
    ROW(F32V2TOF16)                                                                                \
    ROW(F32V4TOF16)                                                                                \
    ROW(F16V2TOF32)                                                                                \
    ROW(F16V4HIHOV4AMP)                                                                            \
    ROW(F8V8HIHOV4AMP)                                                                             \
    ROW(F16V4ACC) ROW(F16V4ABSACC) ROW(F16V8ACC) ROW(F16V8ABSACC) ROW(F16V4MIX) ROW(F16V2GINA)
#define ALL_OF(ID, ROW)                                                                            \
    ROW(F16V2##ID)                                                                                 \
    ROW(F16V2##ID##_BL) ROW(F16V2##ID##_BU) ROW(F16V4##ID) ROW(F16V4##ID##_BL) ROW(F16V4##ID##_BU)
#define EXEC(id)     [ISA_##id] = fast_##id,
#define EXECS(ID)    ALL_OF(ID, EXEC)
#define GROUPED(id)  [ISA_##id] = fast_##id##_group,
#define GROUPEDS(ID) ALL_OF(ID, GROUPED)

ExecTable exec_f16c = {FORMS(EXEC, EXECS)};
GroupTable group_f16c = {FORMS(GROUPED, GROUPEDS)};
#else
ExecTable exec_f16c;
GroupTable group_f16c;
#endif
