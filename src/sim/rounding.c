#include "sim/rounding.h"

void round_raise(Context *context, uint32_t flags) {
    context->fp_status |= flags;
    uint32_t enabled = flags & context->fp_control;
    if (enabled)
        trap_raise(context, ERR_SIM_FLOAT, 0, "%s, and its exception is enabled",
                   enabled & FLAG_INVALID    ? "an invalid operation"
                   : enabled & FLAG_DIVISION ? "a division by zero"
                                             : "an overflow");
}

/* Binary16 ----------------------------------------------------------------------------------*/

F16 round_f16_special(Context *context, float value, float x, float y) {
    if (isnan(value)) {
        if (!isnan(x) && !isnan(y))
            round_raise(context, FLAG_INVALID);
        return CHIP_QNAN_F16;
    }
    if (isinf(value))
        return (F16)(F16_INFINITE | (signbit(value) ? 0x8000 : 0));
    round_raise(context, FLAG_OVERFLOW);
    return f32_to_f16(value, context->overflow);
}

/* Whether to take the neighbour of larger magnitude, `fraction` of a unit away, in [0, 1). */
static bool rounds_away(Context *context, bool negative, bool odd, double fraction) {
    if (context->stochastic)
        return fraction + (double)(exec_random(context) >> 32) * 0x1p-32 >= 1;
    switch (context->rounding) {
    case CHIP_RND_UP: return fraction > 0 && !negative;
    case CHIP_RND_DOWN: return fraction > 0 && negative;
    case CHIP_RND_ZERO: return false;
    default: return fraction > 0.5 || (fraction == 0.5 && odd);
    }
}

F16 round_f16_exact(Context *context, double value, float x, float y) {
    if (!isfinite(value))
        return round_f16_special(context, (float)value, x, y);
    int exponent;
    frexp(value, &exponent);
    /* The unit in the last place of a binary16 of this exponent. */
    int unit = MAX_OF(exponent - 11, -24);
    double units = ldexp(fabs(value), -unit), whole = floor(units);
    bool negative = signbit(value);
    if (rounds_away(context, negative, fmod(whole, 2) == 1, units - whole))
        whole += 1;
    float rounded = (float)ldexp(whole, unit);
    if (rounded >= F16_BORDER)
        return round_f16_special(context, negative ? -65536.0f : 65536.0f, x, y);
    return f32_to_f16(negative ? -rounded : rounded, F16_OVERFLOW_SATURATE);
}

/* Float32 -----------------------------------------------------------------------------------*/

uint32_t round_f32_special(Context *context, float value, float x, float y) {
    if (isnan(value)) {
        if (!isnan(x) && !isnan(y))
            round_raise(context, FLAG_INVALID);
        return (uint32_t)CHIP_QNAN_F32;
    }
    if (isfinite(x) && isfinite(y))
        round_raise(context, FLAG_OVERFLOW);
    return f32_bits(value);
}

uint32_t round_f32_exact(Context *context, double value, float x, float y) {
    float nearest = (float)value;
    if (!isfinite(value) || (double)nearest == value)
        return round_f32(context, nearest, x, y);
    float below = (double)nearest > value ? nextafterf(nearest, -INFINITY) : nearest;
    float above = (double)nearest < value ? nextafterf(nearest, INFINITY) : nearest;
    switch (context->rounding) {
    case CHIP_RND_UP: nearest = above; break;
    case CHIP_RND_DOWN: nearest = below; break;
    case CHIP_RND_ZERO: nearest = value > 0 ? below : above; break;
    default: break;
    }
    return round_f32(context, nearest, x, y);
}
