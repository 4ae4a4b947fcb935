#include "check/check.h"

#include "num/f8.h"

#include <math.h>

/* Code number i, and its value. */
static uint32_t code_at(Precision precision, const void *codes, uint64_t i, double *value) {
    F16 half;
    float single;
    switch (precision.kind) {
    case PRECISION_F8F143: {
        uint8_t byte = ((const uint8_t *)codes)[i];
        *value = (double)f8_to_f32(byte, F8_F143, precision.scale_exponent);
        return byte;
    }
    case PRECISION_F16:
        half = ((const F16 *)codes)[i];
        *value = (double)f16_to_f32(half);
        return half;
    default:
        single = ((const float *)codes)[i];
        *value = (double)single;
        return f32_bits(single);
    }
}

CheckResult check_compare(Precision precision, const void *found, const void *twin,
                          const double *reference, uint64_t count) {
    CheckResult result = {.count = count};
    double error_squares = 0, squares = 0;
    bool undefined = false;
    for (uint64_t i = 0; i < count; i++) {
        double value, twin_value;
        uint32_t code = code_at(precision, found, i, &value);
        uint32_t twin_code = code_at(precision, twin, i, &twin_value);
        result.nans += isnan(value) ? 1 : 0;
        if (code != twin_code || isnan(value) || isnan(twin_value)) {
            if (result.differing == 0)
                result.first_difference = i;
            result.differing++;
        }
        double error = fabs(value - reference[i]);
        undefined = undefined || isnan(error);
        if (error > result.max_abs_error)
            result.max_abs_error = error;
        error_squares += error * error;
        squares += reference[i] * reference[i];
    }
    result.bit_exact = result.differing == 0;
    if (undefined)
        result.max_abs_error = NAN;
    result.rel_rms_error = error_squares == 0 ? 0 : sqrt(error_squares / squares);
    return result;
}
