#include "num/gelu.h"

#include "num/elementary.h"

#include <stdatomic.h>

/* Results by operand, filled as they are asked for: bit 16 is set once valid. */
typedef _Atomic uint32_t Cache[UINT16_MAX + 1];

static F16 cached(Cache *cache, F16 (*function)(F16 x), F16 x) {
    uint32_t entry = atomic_load_explicit(&(*cache)[x], memory_order_relaxed);
    if (entry == 0) {
        entry = function(x) | 1u << 16;
        atomic_store_explicit(&(*cache)[x], entry, memory_order_relaxed);
    }
    return (F16)entry;
}

static F16 rounded(float value) {
    return f32_to_f16(value, F16_OVERFLOW_SATURATE);
}

static F16 product(F16 a, F16 b) {
    return rounded(f16_to_f32(a) * f16_to_f32(b));
}

static F16 compute_tanh(F16 x) {
    return f64_to_f16(elementary_tanh((double)f16_to_f32(x)), F16_OVERFLOW_SATURATE);
}

F16 f16_tanh(F16 x) {
    static Cache cache;
    return cached(&cache, compute_tanh, x);
}

/* factor + factor * tanh(u(x)) */
static F16 weighed(F16 x, F16 factor) {
    F16 cube = product(product(x, x), x);
    F16 u = rounded(f16_mix(GELU_CUBIC, cube, GELU_LINEAR, x));
    return rounded(f16_to_f32(product(f16_tanh(u), factor)) + f16_to_f32(factor));
}

static F16 compute_gelu(F16 x) {
    return weighed(x, rounded(f16_to_f32(x) * 0.5f));
}

static F16 compute_twice(F16 x) {
    return weighed(x, x);
}

F16 gelu_f16(F16 x) {
    static Cache cache;
    return cached(&cache, compute_gelu, x);
}

F16 gelu_twice_f16(F16 x) {
    static Cache cache;
    return cached(&cache, compute_twice, x);
}
