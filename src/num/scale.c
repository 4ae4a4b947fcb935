#include "num/scale.h"

#include <assert.h>

static int clamp(int value, int least, int most) {
    return value < least ? least : value > most ? most : value;
}

int scale_for_magnitude(double magnitude, F8Format format) {
    assert(magnitude >= 0 && magnitude < __builtin_inf());
    if (magnitude == 0)
        return 0;
    /* magnitude = m * 2^e with 0.5 <= m < 1; the largest number is 0.9375 * 2^8 or 0.875 * 2^16.
     * Doubles below 2^-1022 are clamped in any case. */
    uint64_t bits = f64_bits(magnitude);
    int e = (int)(bits >> 52) - 1022;
    double m = f64_from_bits((bits & ((1ull << 52) - 1)) | 1022ull << 52);
    int scale = format == F8_F143 ? e - 8 + (m > 0.9375) : e - 16 + (m > 0.875);
    return clamp(scale, F8_SCALE_MIN, F8_SCALE_MAX);
}

float scale_magnitude_f32(const float *values, size_t count) {
    int32_t most = 0;
    for (size_t i = 0; i < count; i++) {
        int32_t magnitude = (int32_t)(f32_bits(values[i]) & 0x7FFFFFFFu);
        magnitude = magnitude < 0x7F800000 ? magnitude : 0;
        most = magnitude > most ? magnitude : most;
    }
    return f32_from_bits((uint32_t)most);
}

float scale_magnitude_f16(const F16 *values, size_t count) {
    int16_t most = 0;
    for (size_t i = 0; i < count; i++) {
        int16_t magnitude = (int16_t)(values[i] & 0x7FFF);
        magnitude = magnitude < 0x7C00 ? magnitude : (int16_t)0;
        most = magnitude > most ? magnitude : most;
    }
    return f16_to_f32((F16)most);
}

int scale_clamp_shared(int scale) {
    return clamp(scale, SCALE_SHARED_MIN, SCALE_SHARED_MAX);
}
