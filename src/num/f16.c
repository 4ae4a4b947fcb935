#include "num/f16.h"

#include "num/exact.h"

F16 f64_to_f16(double value, F16Overflow overflow) {
    double magnitude = f64_from_bits(f64_bits(value) & ~(1ull << 63));
    float narrow;
    if (magnitude >= 65520.0 && magnitude < __builtin_inf()) {
        narrow = value < 0 ? -65536.0f : 65536.0f; /* stays finite, so that it overflows here */
    } else if (magnitude < 0x1p-26) {
        narrow = value < 0 ? -0x1p-26f : 0x1p-26f; /* rounds to zero; its own sign follows below */
        if (value == 0)
            narrow = (float)value;
    } else {
        /* Round to odd in float32, so that the second rounding is the only one that counts. */
        narrow = (float)value;
        uint32_t bits = f32_bits(narrow);
        if ((double)narrow != value && value == value && !(bits & 1)) {
            double nearest = f64_from_bits(f64_bits((double)narrow) & ~(1ull << 63));
            narrow = f32_from_bits(nearest < magnitude ? bits + 1 : bits - 1);
        }
    }
    return f32_to_f16(narrow, overflow);
}

float f16_mix(F16 a, F16 b, F16 c, F16 d) {
    double terms[2] = {(double)f16_to_f32(a) * (double)f16_to_f32(b),
                       (double)f16_to_f32(c) * (double)f16_to_f32(d)};
    return exact_sum_f32(terms, 2);
}
