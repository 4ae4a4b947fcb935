/* Semantics of floating-point lane instructions: arithmetic, comparisons, conversions, elementary
 * functions, random values. Results round once; by the fast way where $FP_CTL asks for nearest
 * even, else from exact values. */
#include "num/elementary.h"
#include "num/exact.h"
#include "sim/rounding.h"

_Static_assert(CHIP_F32_DAZ_FTZ == 0 && CHIP_MINMAX_NAN_LOSES == 1, "subnormals and NaN");
_Static_assert(CHIP_F8_STOCHASTIC == 0, "conversions to FP8 round to nearest even");
_Static_assert(CHIP_TRANSC_CORRECTLY_ROUNDED == 1, "elementary.h rounds correctly");
_Static_assert(CHIP_QNAN_F16 == F16_QNAN && CHIP_QNAN_F32 == F32_QNAN, "one NaN a format");

/* Lanes ----------------------------------------------------------------------------------------*/

static inline F16 half_of(uint32_t word, unsigned lane) {
    return (F16)(word >> 16 * lane);
}
static inline uint32_t halves(F16 low, F16 high) {
    return low | (uint32_t)high << 16;
}

/* Which lane of the first source meets lane i: its own, or one for all (broadcast forms). */
#define OWN(i)  (i)
#define ZERO(i) (0 * (i))
#define ONE(i)  (0 * (i) + 1)

/* Instructions whose result is rounded. EXPRESSION is computed in float, which for F16 is harmless
 * to round again; EXACT gives the exact double, or one rounded to odd. */
#define ARITHMETIC_F16(name, lanes, which, expression, exact)                                      \
    static void name(Context *c, const Half *h) {                                                  \
        F16 d[lanes];                                                                              \
        for (unsigned i = 0; i < (lanes); i++) {                                                   \
            float x = lane_half(c, h->r[1], which(i)), y = lane_half(c, h->r[2], i);               \
            d[i] = __builtin_expect(c->plain_rounding, 1) ? round_f16(c, expression, x, y)         \
                                                          : round_f16_exact(c, exact, x, y);       \
        }                                                                                          \
        set_lanes_f16(c, h->r[0], d, lanes);                                                       \
    }
#define ARITHMETIC_F32(name, lanes, which, expression, exact)                                      \
    static void name(Context *c, const Half *h) {                                                  \
        uint32_t d[lanes];                                                                         \
        for (unsigned i = 0; i < (lanes); i++) {                                                   \
            float x = lane_f32(c, h->r[1], which(i)), y = lane_f32(c, h->r[2], i);                 \
            d[i] = __builtin_expect(c->plain_rounding, 1) ? round_f32(c, expression, x, y)         \
                                                          : round_f32_exact(c, exact, x, y);       \
        }                                                                                          \
        for (unsigned i = 0; i < (lanes); i++)                                                     \
            c->a[h->r[0] + i] = d[i];                                                              \
    }                                                                                              \
    GROUP(name)

/* A zero sum is -0 toward minus infinity unless both terms are +0. */
static double exact_sum(const Context *c, double x, double y) {
    if (!isfinite(x) || !isfinite(y))
        return x + y;
    double terms[2] = {x, y}, sum = exact_sum_odd(terms, 2);
    bool minus = sum == 0 && c->rounding == CHIP_RND_DOWN && (signbit(x) || signbit(y));
    return minus ? -0.0 : sum;
}
static double exact_product(float x, float y) {
    return (double)x * (double)y;
}

#define ARITHMETIC(op, expression, exact)                                                          \
    ARITHMETIC_F32(f32##op, 1, OWN, expression, exact)                                             \
    ARITHMETIC_F32(f32v2##op, 2, OWN, expression, exact)                                           \
    ARITHMETIC_F16(f16v2##op, 2, OWN, expression, exact)                                           \
    ARITHMETIC_F16(f16v4##op, 4, OWN, expression, exact)
#define ARITHMETIC_BROADCAST(op, expression, exact)                                                \
    ARITHMETIC_F32(f32v2##op##_b, 2, ZERO, expression, exact)                                      \
    ARITHMETIC_F16(f16v2##op##_bl, 2, ZERO, expression, exact)                                     \
    ARITHMETIC_F16(f16v2##op##_bu, 2, ONE, expression, exact)                                      \
    ARITHMETIC_F16(f16v4##op##_bl, 4, ZERO, expression, exact)                                     \
    ARITHMETIC_F16(f16v4##op##_bu, 4, ONE, expression, exact)

ARITHMETIC(add, x + y, exact_sum(c, x, y))
ARITHMETIC_BROADCAST(add, x + y, exact_sum(c, x, y))
ARITHMETIC(sub, x - y, exact_sum(c, x, -(double)y))
ARITHMETIC_BROADCAST(sub, x - y, exact_sum(c, x, -(double)y))
ARITHMETIC(mul, x *y, exact_product(x, y))
ARITHMETIC_BROADCAST(mul, x *y, exact_product(x, y))
ARITHMETIC(absadd, fabsf(x) + fabsf(y), exact_sum(c, fabsf(x), fabsf(y)))

/* Choices: the result is one of the operands. A NaN loses to a number; of two zeros max gives +0
 * and min -0 (assumed).
 * --------------------------------------------------------------------------*/

static inline float larger(float x, float y) {
    if (isnan(x) || isnan(y))
        return isnan(x) ? (isnan(y) ? f32_from_bits(F32_QNAN) : y) : x;
    return x == y ? f32_from_bits(f32_bits(x) & f32_bits(y)) : x > y ? x : y;
}
static inline float smaller(float x, float y) {
    return -larger(-x, -y);
}
static inline float number(float x) {
    return isnan(x) ? f32_from_bits(F32_QNAN) : x;
}

static inline F16 exact_f16(float value) {
    return f32_to_f16(value, F16_OVERFLOW_INFINITE);
}

#define CHOICE(op, expression)                                                                     \
    static inline float choice_##op(float x, float y) {                                            \
        return number(expression);                                                                 \
    }                                                                                              \
    CHOICE_F32(f32##op, 1, choice_##op)                                                            \
    CHOICE_F32(f32v2##op, 2, choice_##op)                                                          \
    CHOICE_F16(f16v2##op, 2, choice_##op)                                                          \
    CHOICE_F16(f16v4##op, 4, choice_##op)
#define CHOICE_F32(name, lanes, function)                                                          \
    static void name(Context *c, const Half *h) {                                                  \
        for (unsigned i = 0; i < (lanes); i++)                                                     \
            c->a[h->r[0] + i] =                                                                    \
                f32_bits(function(lane_f32(c, h->r[1], i), lane_f32(c, h->r[2], i)));              \
    }
#define CHOICE_F16(name, lanes, function)                                                          \
    static void name(Context *c, const Half *h) {                                                  \
        F16 d[lanes];                                                                              \
        for (unsigned i = 0; i < (lanes); i++)                                                     \
            d[i] = exact_f16(function(lane_half(c, h->r[1], i), lane_half(c, h->r[2], i)));        \
        set_lanes_f16(c, h->r[0], d, lanes);                                                       \
    }
CHOICE(max, larger(x, y))
CHOICE(min, smaller(x, y))
CHOICE(absmax, larger(fabsf(x), fabsf(y)))

/* clamp: the bounds are the two lanes of the register (pair) t, for all lanes of s. */
static inline float clamp(float x, float low, float high) {
    return number(smaller(larger(x, low), high));
}
#define CLAMP_F32(name, lanes)                                                                     \
    static void name(Context *c, const Half *h) {                                                  \
        float low = lane_f32(c, h->r[2], 0), high = lane_f32(c, h->r[2], 1);                       \
        for (unsigned i = 0; i < (lanes); i++)                                                     \
            c->a[h->r[0] + i] = f32_bits(clamp(lane_f32(c, h->r[1], i), low, high));               \
    }
#define CLAMP_F16(name, lanes)                                                                     \
    static void name(Context *c, const Half *h) {                                                  \
        F16 d[lanes];                                                                              \
        float low = lane_half(c, h->r[2], 0), high = lane_half(c, h->r[2], 1);                     \
        for (unsigned i = 0; i < (lanes); i++)                                                     \
            d[i] = exact_f16(clamp(lane_half(c, h->r[1], i), low, high));                          \
        set_lanes_f16(c, h->r[0], d, lanes);                                                       \
    }
CLAMP_F32(f32clamp, 1)
CLAMP_F32(f32v2clamp, 2)
CLAMP_F16(f16v2clamp, 2)
CLAMP_F16(f16v4clamp, 4)

static void f16v2maxc(Context *c, const Half *h) {
    F16 d = exact_f16(choice_max(lane_half(c, h->r[1], 0), lane_half(c, h->r[1], 1)));
    c->a[h->r[0]] = halves(d, d);
}
static void f16v4maxc(Context *c, const Half *h) {
    F16 d[2];
    for (unsigned i = 0; i < 2; i++)
        d[i] =
            exact_f16(choice_max(lane_half(c, h->r[1], 2 * i), lane_half(c, h->r[1], 2 * i + 1)));
    c->a[h->r[0]] = halves(d[0], d[1]);
}

/* Comparisons: all ones or zero a lane. ---------------------------------------------------------*/

#define COMPARE_F32(name, lanes, which, op)                                                        \
    static void name(Context *c, const Half *h) {                                                  \
        uint32_t d[lanes];                                                                         \
        for (unsigned i = 0; i < (lanes); i++)                                                     \
            d[i] = lane_f32(c, h->r[1], which(i)) op lane_f32(c, h->r[2], i) ? UINT32_MAX : 0;     \
        for (unsigned i = 0; i < (lanes); i++)                                                     \
            c->a[h->r[0] + i] = d[i];                                                              \
    }
#define COMPARE_F16(name, lanes, which, op)                                                        \
    static void name(Context *c, const Half *h) {                                                  \
        F16 d[lanes];                                                                              \
        for (unsigned i = 0; i < (lanes); i++)                                                     \
            d[i] = lane_half(c, h->r[1], which(i)) op lane_half(c, h->r[2], i) ? UINT16_MAX : 0;   \
        set_lanes_f16(c, h->r[0], d, lanes);                                                       \
    }
#define COMPARE(name, op)                                                                          \
    COMPARE_F32(f32##name, 1, OWN, op)                                                             \
    COMPARE_F32(f32v2##name, 2, OWN, op)                                                           \
    COMPARE_F32(f32v2##name##_b, 2, ZERO, op)                                                      \
    COMPARE_F16(f16v2##name, 2, OWN, op)                                                           \
    COMPARE_F16(f16v2##name##_bl, 2, ZERO, op)                                                     \
    COMPARE_F16(f16v2##name##_bu, 2, ONE, op)                                                      \
    COMPARE_F16(f16v4##name, 4, OWN, op)                                                           \
    COMPARE_F16(f16v4##name##_bl, 4, ZERO, op)                                                     \
    COMPARE_F16(f16v4##name##_bu, 4, ONE, op)
COMPARE(cmpeq, ==)
COMPARE(cmpne, !=)
COMPARE(cmplt, <)
COMPARE(cmple, <=)
COMPARE(cmpgt, >)
COMPARE(cmpge, >=)

/* normal: the least normal magnitude of the lane's format. */
static uint32_t class_code(float value, float normal) {
    if (isnan(value))
        return CHIP_CLASS_NAN;
    bool negative = signbit(value);
    if (isinf(value))
        return negative ? CHIP_CLASS_NEG_INF : CHIP_CLASS_POS_INF;
    if (value == 0)
        return negative ? CHIP_CLASS_NEG_ZERO : CHIP_CLASS_POS_ZERO;
    if (fabsf(value) < normal)
        return negative ? CHIP_CLASS_NEG_SUBN : CHIP_CLASS_POS_SUBN;
    return negative ? CHIP_CLASS_NEG_NORM : CHIP_CLASS_POS_NORM;
}
#define CLASS(name, lanes, value, normal)                                                          \
    static void name(Context *c, const Half *h) {                                                  \
        uint32_t d = 0;                                                                            \
        for (unsigned i = 0; i < (lanes); i++)                                                     \
            d |= class_code(value, normal) << 8 * i;                                               \
        c->a[h->r[0]] = d;                                                                         \
    }
CLASS(f32class, 1, lane_f32(c, h->r[1], i), 0x1p-126f)
CLASS(f32v2class, 2, lane_f32(c, h->r[1], i), 0x1p-126f)
CLASS(f16v2class, 2, lane_half(c, h->r[1], i), 0x1p-14f)
CLASS(f16v4class, 4, lane_half(c, h->r[1], i), 0x1p-14f)

/* Sums of halves are exact in float32 unless the exponents lie far apart. */
#define SUM(name, lanes)                                                                           \
    static void name(Context *c, const Half *h) {                                                  \
        uint32_t d[lanes];                                                                         \
        for (unsigned i = 0; i < (lanes); i++) {                                                   \
            float x = lane_half(c, h->r[1], 2 * i);                                                \
            float y = lane_half(c, h->r[1], 2 * i + 1);                                            \
            d[i] = round_f32_exact(c, (double)x + (double)y, x, y);                                \
        }                                                                                          \
        for (unsigned i = 0; i < (lanes); i++)                                                     \
            c->a[h->r[0] + i] = d[i];                                                              \
    }
SUM(f16v2sum, 1)
SUM(f16v4sum, 2)

/* Conversions -----------------------------------------------------------------------------------*/

static void f16tof32(Context *c, const Half *h) {
    c->a[h->r[0]] = f32_bits(lane_half(c, h->r[1], 0));
}
static void f16v2tof32(Context *c, const Half *h) {
    uint32_t s = c->a[h->r[1]];
    for (unsigned i = 0; i < 2; i++)
        c->a[h->r[0] + i] = f32_bits(f16_to_f32(half_of(s, i)));
}
static void f32tof16(Context *c, const Half *h) {
    F16 d = round_f16_out(c, lane_f32(c, h->r[1], 0));
    c->a[h->r[0]] = halves(d, d);
}
#define NARROW(name, lanes)                                                                        \
    static void name(Context *c, const Half *h) {                                                  \
        F16 d[lanes];                                                                              \
        for (unsigned i = 0; i < (lanes); i++)                                                     \
            d[i] = round_f16_out(c, lane_f32(c, h->r[1], i));                                      \
        set_lanes_f16(c, h->r[0], d, lanes);                                                       \
    }
NARROW(f32v2tof16, 2)
NARROW(f32v4tof16, 4)

/* Rounds to an integral value; mode as the field RND. */
static double to_integral(double value, uint32_t mode) {
    switch (mode) {
    case CHIP_RND_UP: return ceil(value);
    case CHIP_RND_DOWN: return floor(value);
    case CHIP_RND_ZERO: return trunc(value);
    default: return nearbyint(value);
    }
}
static void f32int(Context *c, const Half *h) {
    float x = lane_f32(c, h->r[1], 0);
    c->a[h->r[0]] = f32_bits(number((float)to_integral(x, (uint32_t)h->imm)));
}

/* Saturates; a NaN becomes 0 (assumed); both are invalid. */
static uint32_t to_integer(Context *c, float x, double least, double greatest) {
    double value = to_integral(x, c->rounding);
    if (value >= least && value <= greatest)
        return (uint32_t)(int64_t)value;
    round_raise(c, FLAG_INVALID);
    if (isnan(value))
        return 0;
    return (uint32_t)(int64_t)(value < least ? least : greatest);
}
static void f32toi32(Context *c, const Half *h) {
    c->a[h->r[0]] = to_integer(c, lane_f32(c, h->r[1], 0), INT32_MIN, INT32_MAX);
}
static void f32toui32(Context *c, const Half *h) {
    c->a[h->r[0]] = to_integer(c, lane_f32(c, h->r[1], 0), 0, UINT32_MAX);
}
static void f32fromi32(Context *c, const Half *h) {
    c->a[h->r[0]] = round_f32_exact(c, (int32_t)c->a[h->r[1]], 0, 0);
}
static void f32fromui32(Context *c, const Half *h) {
    c->a[h->r[0]] = round_f32_exact(c, c->a[h->r[1]], 0, 0);
}

/* Unsigned integers to uniform values around 0. */
#define UNIFORM_F32(name, lanes)                                                                   \
    static void name(Context *c, const Half *h) {                                                  \
        for (unsigned i = 0; i < (lanes); i++)                                                     \
            c->a[h->r[0] + i] =                                                                    \
                round_f32_exact(c, (c->a[h->r[1] + i] + 0.5) * 0x1p-32 - 0.5, 0, 0);               \
    }
#define UNIFORM_F16(name, lanes)                                                                   \
    static void name(Context *c, const Half *h) {                                                  \
        F16 d[lanes];                                                                              \
        for (unsigned i = 0; i < (lanes); i++)                                                     \
            d[i] = round_f16_exact(c, (lane_f16(c, h->r[1], i) + 0.5) * 0x1p-16 - 0.5, 0, 0);      \
        set_lanes_f16(c, h->r[0], d, lanes);                                                       \
    }
UNIFORM_F32(f32sufromui, 1)
UNIFORM_F32(f32v2sufromui, 2)
UNIFORM_F16(f16v2sufromui, 2)
UNIFORM_F16(f16v4sufromui, 4)

/* FP8: format and scale by $FP_NFMT and $FP_SCL. */
static inline F8Format register_format(const Context *c) {
    return (F8Format)(c->fp_format >> CHIP_CSR_W_FP_NFMT_ARF_FMT_SHIFT & 1);
}
static inline int register_scale(const Context *c) {
    const unsigned spare = 32 - CHIP_FP_SCL_BITS;
    return (int32_t)(c->fp_scale << spare) >> spare;
}
/* The device multiplies by 2^FP_SCL, the codec divides by 2^scale. */
static void encode_f8(const Context *c, const F16 *halves, size_t count, uint8_t *codes) {
    F8Mode mode = c->overflow == F16_OVERFLOW_NAN ? F8_DEVICE_NANOO : F8_DEVICE_SATURATE;
    f8_encode_f16(codes, halves, count, register_format(c), -register_scale(c), mode);
}
static void to_f8(const Context *c, unsigned r, unsigned lanes, uint8_t *codes) {
    F16 half[8];
    memcpy(half, &c->a[r], lanes * sizeof *half);
    encode_f8(c, half, lanes, codes);
}
static void f16v8tof8(Context *c, const Half *h) {
    uint8_t codes[8];
    to_f8(c, h->r[1], 8, codes);
    memcpy(&c->a[h->r[0]], codes, 8);
}
/* The codec likes many values: those of all workers that agree in how to convert. */
static void f16v8tof8_group(Context *first, Context *end, const Half *h) {
    F16 half[WORKERS][8] = {{0}};
    uint8_t codes[WORKERS][8];
    unsigned count = 0;
    for (const Context *c = first; c < end; c++) {
        if (c->fp_format != first->fp_format || c->fp_scale != first->fp_scale ||
            c->overflow != first->overflow) {
            while (first < end)
                f16v8tof8(first++, h);
            return;
        }
        memcpy(half[count++], &c->a[h->r[1]], sizeof *half);
    }
    encode_f8(first, half[0], 8 * count, codes[0]);
    for (unsigned i = 0; i < count; i++)
        memcpy(&first[i].a[h->r[0]], codes[i], 8);
}
static void f16v2tof8(Context *c, const Half *h) {
    uint8_t codes[2];
    to_f8(c, h->r[1], 2, codes);
    c->a[h->r[0]] = codes[0] | (uint32_t)codes[1] << 8 | (uint32_t)CHIP_F16V2TOF8_HI << 16;
}
#define FROM_F8(name, lanes)                                                                       \
    static void name(Context *c, const Half *h) {                                                  \
        F16 d[lanes];                                                                              \
        uint32_t bytes = c->a[h->r[1]];                                                            \
        for (unsigned i = 0; i < (lanes); i++) {                                                   \
            uint8_t code = (uint8_t)(bytes >> 8 * i);                                              \
            float value = f8_to_f32(code, register_format(c), register_scale(c));                  \
            d[i] = isnan(value) ? CHIP_F8_NAN_TO_F16 : round_f16_out(c, value);                    \
        }                                                                                          \
        set_lanes_f16(c, h->r[0], d, lanes);                                                       \
    }
FROM_F8(f8v2tof16, 2)
FROM_F8(f8v4tof16, 4)

/* Elementary functions --------------------------------------------------------------------------*/

typedef double (*Elementary)(double x);

/* Flags beyond those of rounding: a pole, or an argument without a value. */
static void raise_special(Context *c, float x, double value) {
    if (isinf(value) && isfinite(x))
        round_raise(c, FLAG_DIVISION);
    if (isnan(value) && !isnan(x))
        round_raise(c, FLAG_INVALID);
}

static F16 apply_f16(Context *c, Elementary function, F16 half) {
    float x = f16_to_f32(half);
    double value = function(x);
    raise_special(c, x, value);
    return round_f16_exact(c, value, NAN, NAN);
}

/* Results for nearest-even, filled as they are asked for: bit 16 set once valid. */
typedef _Atomic uint32_t Cache[UINT16_MAX + 1];

static F16 apply_cached(Context *c, Elementary function, Cache *cache, F16 half) {
    if (!c->plain_rounding)
        return apply_f16(c, function, half);
    uint32_t entry = atomic_load_explicit(&(*cache)[half], memory_order_relaxed);
    if (entry)
        return (F16)entry;
    uint32_t flags = c->fp_status;
    c->fp_status = 0;
    F16 result = apply_f16(c, function, half);
    if (c->fp_status == 0)
        atomic_store_explicit(&(*cache)[half], result | 1u << 16, memory_order_relaxed);
    c->fp_status |= flags;
    return result;
}

static uint32_t apply_f32(Context *c, Elementary function, float x) {
    double value = function(x);
    raise_special(c, x, value);
    if (!isfinite(value))
        return isnan(value) ? (uint32_t)CHIP_QNAN_F32 : f32_bits((float)value);
    return round_f32_exact(c, value, x, x);
}

#define ELEMENTARY(name, function)                                                                 \
    static void f16v2##name(Context *c, const Half *h) {                                           \
        static Cache cache;                                                                        \
        uint32_t s = c->a[h->r[1]];                                                                \
        F16 low = apply_cached(c, function, &cache, half_of(s, 0));                                \
        c->a[h->r[0]] = halves(low, apply_cached(c, function, &cache, half_of(s, 1)));             \
    }                                                                                              \
    static void f32##name(Context *c, const Half *h) {                                             \
        c->a[h->r[0]] = apply_f32(c, function, lane_f32(c, h->r[1], 0));                           \
    }
ELEMENTARY(exp, elementary_exp)
ELEMENTARY(exp2, elementary_exp2)
ELEMENTARY(ln, elementary_log)
ELEMENTARY(log2, elementary_log2)
ELEMENTARY(tanh, elementary_tanh)
ELEMENTARY(sigm, elementary_sigmoid)

static uint32_t quotient(Context *c, float x, float y) {
    if (isnan(x) || isnan(y) || isinf(x) || isinf(y) || y == 0) {
        float value = x / y;
        if (y == 0 && isfinite(x) && x != 0)
            round_raise(c, FLAG_DIVISION);
        return isnan(value) ? round_f32_special(c, value, x, y) : f32_bits(value);
    }
    return round_f32_exact(c, elementary_divide(x, y), x, y);
}
static void f32div(Context *c, const Half *h) {
    c->a[h->r[0]] = quotient(c, lane_f32(c, h->r[1], 0), lane_f32(c, h->r[2], 0));
}
static void f32oox(Context *c, const Half *h) {
    c->a[h->r[0]] = quotient(c, 1, lane_f32(c, h->r[1], 0));
}
static void f32sqrt(Context *c, const Half *h) {
    float x = lane_f32(c, h->r[1], 0);
    bool plain = x > 0 && isfinite(x);
    c->a[h->r[0]] =
        plain ? round_f32_exact(c, elementary_sqrt(x), x, x) : round_f32(c, sqrtf(x), x, x);
}
static void f32oorx(Context *c, const Half *h) {
    float x = lane_f32(c, h->r[1], 0);
    if (x > 0 && isfinite(x)) {
        c->a[h->r[0]] = round_f32_exact(c, elementary_inverse_sqrt(x), x, x);
        return;
    }
    if (x == 0)
        round_raise(c, FLAG_DIVISION);
    c->a[h->r[0]] = x == 0 ? f32_bits(1 / x) : round_f32(c, 1 / sqrtf(x), x, x);
}

/* Random values ---------------------------------------------------------------------------------*/

static void urand32(Context *c, const Half *h) {
    c->a[h->r[0]] = (uint32_t)exec_random(c);
}
static void urand64(Context *c, const Half *h) {
    uint64_t bits = exec_random(c);
    memcpy(&c->a[h->r[0]], &bits, 8);
}

/* Sum of 16-bit uniforms less its mean; exact. */
static double normal_value(Context *c) {
    double sum = 0;
    for (unsigned i = 0; i < CHIP_GRAND_UNIFORMS; i += 4)
        for (uint64_t bits = exec_random(c), j = 0; j < 4; j++, bits >>= 16)
            sum += ((double)(bits & 0xFFFF) + 0.5) * 0x1p-16;
    return sum - CHIP_GRAND_UNIFORMS / 2.0;
}
static void f16v2grand(Context *c, const Half *h) {
    F16 low = round_f16_exact(c, normal_value(c), 0, 0);
    c->a[h->r[0]] = halves(low, round_f16_exact(c, normal_value(c), 0, 0));
}
static void f32v2grand(Context *c, const Half *h) {
    for (unsigned i = 0; i < 2; i++)
        c->a[h->r[0] + i] = round_f32_exact(c, normal_value(c), 0, 0);
}

/* Whether a lane is kept, by 16 bits of one draw. */
static bool kept(uint32_t probability, uint64_t bits, unsigned lane) {
    return probability >> 16 & 1 || (bits >> 16 * lane & 0xFFFF) < (probability & 0xFFFF);
}
static void f32v2rmask(Context *c, const Half *h) {
    uint32_t probability = c->a[h->r[2]];
    uint64_t bits = exec_random(c);
    for (unsigned i = 0; i < 2; i++)
        c->a[h->r[0] + i] = kept(probability, bits, i) ? c->a[h->r[1] + i] : 0;
}
static void f16v4rmask(Context *c, const Half *h) {
    uint32_t probability = c->a[h->r[2]];
    uint64_t bits = exec_random(c);
    F16 d[4];
    for (unsigned i = 0; i < 4; i++)
        d[i] = kept(probability, bits, i) ? lane_f16(c, h->r[1], i) : 0;
    set_lanes_f16(c, h->r[0], d, 4);
}

#define ROWS(ID, op)                                                                               \
    [ISA_F32##ID] = f32##op, [ISA_F32V2##ID] = f32v2##op, [ISA_F16V2##ID] = f16v2##op,             \
    [ISA_F16V4##ID] = f16v4##op
#define ROWS_BROADCAST(ID, op)                                                                     \
    [ISA_F32V2##ID##_B] = f32v2##op##_b, [ISA_F16V2##ID##_BL] = f16v2##op##_bl,                    \
    [ISA_F16V2##ID##_BU] = f16v2##op##_bu, [ISA_F16V4##ID##_BL] = f16v4##op##_bl,                  \
    [ISA_F16V4##ID##_BU] = f16v4##op##_bu
#define ROWS_ELEMENTARY(ID, op) [ISA_F16V2##ID] = f16v2##op, [ISA_F32##ID] = f32##op

ExecTable exec_float = {
    ROWS(ADD, add),
    ROWS_BROADCAST(ADD, add),
    ROWS(SUB, sub),
    ROWS_BROADCAST(SUB, sub),
    ROWS(MUL, mul),
    ROWS_BROADCAST(MUL, mul),
    ROWS(ABSADD, absadd),
    ROWS(MAX, max),
    ROWS(MIN, min),
    ROWS(ABSMAX, absmax),
    ROWS(CLAMP, clamp),
    ROWS(CMPEQ, cmpeq),
    ROWS_BROADCAST(CMPEQ, cmpeq),
    ROWS(CMPNE, cmpne),
    ROWS_BROADCAST(CMPNE, cmpne),
    ROWS(CMPLT, cmplt),
    ROWS_BROADCAST(CMPLT, cmplt),
    ROWS(CMPLE, cmple),
    ROWS_BROADCAST(CMPLE, cmple),
    ROWS(CMPGT, cmpgt),
    ROWS_BROADCAST(CMPGT, cmpgt),
    ROWS(CMPGE, cmpge),
    ROWS_BROADCAST(CMPGE, cmpge),
    ROWS(CLASS, class),
    [ISA_F16V2MAXC] = f16v2maxc,
    [ISA_F16V4MAXC] = f16v4maxc,
    [ISA_F16V2SUM] = f16v2sum,
    [ISA_F16V4SUM] = f16v4sum,
    [ISA_F16TOF32] = f16tof32,
    [ISA_F16V2TOF32] = f16v2tof32,
    [ISA_F32TOF16] = f32tof16,
    [ISA_F32V2TOF16] = f32v2tof16,
    [ISA_F32V4TOF16] = f32v4tof16,
    [ISA_F32INT] = f32int,
    [ISA_F32TOI32] = f32toi32,
    [ISA_F32TOUI32] = f32toui32,
    [ISA_F32FROMI32] = f32fromi32,
    [ISA_F32FROMUI32] = f32fromui32,
    ROWS(SUFROMUI, sufromui),
    [ISA_F16V8TOF8] = f16v8tof8,
    [ISA_F16V2TOF8] = f16v2tof8,
    [ISA_F8V4TOF16] = f8v4tof16,
    [ISA_F8V2TOF16] = f8v2tof16,
    ROWS_ELEMENTARY(EXP, exp),
    ROWS_ELEMENTARY(EXP2, exp2),
    ROWS_ELEMENTARY(LN, ln),
    ROWS_ELEMENTARY(LOG2, log2),
    ROWS_ELEMENTARY(TANH, tanh),
    ROWS_ELEMENTARY(SIGM, sigm),
    [ISA_F32DIV] = f32div,
    [ISA_F32SQRT] = f32sqrt,
    [ISA_F32OOX] = f32oox,
    [ISA_F32OORX] = f32oorx,
    [ISA_URAND32] = urand32,
    [ISA_URAND64] = urand64,
    [ISA_F16V2GRAND] = f16v2grand,
    [ISA_F32V2GRAND] = f32v2grand,
    [ISA_F32V2RMASK] = f32v2rmask,
    [ISA_F16V4RMASK] = f16v4rmask,
};

GroupTable group_float = {
    [ISA_F32ADD] = f32add_group,           [ISA_F32V2ADD] = f32v2add_group,
    [ISA_F32V2ADD_B] = f32v2add_b_group,   [ISA_F32SUB] = f32sub_group,
    [ISA_F32V2SUB] = f32v2sub_group,       [ISA_F32V2SUB_B] = f32v2sub_b_group,
    [ISA_F32MUL] = f32mul_group,           [ISA_F32V2MUL] = f32v2mul_group,
    [ISA_F32V2MUL_B] = f32v2mul_b_group,   [ISA_F32ABSADD] = f32absadd_group,
    [ISA_F32V2ABSADD] = f32v2absadd_group, [ISA_F16V8TOF8] = f16v8tof8_group,
};
