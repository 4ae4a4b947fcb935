#include "num/aligned.h"

#include "num/exact.h"

#include <math.h>

enum { FRACTION_BITS = 31, MOST_TERMS = 1 + AMP_F8_LANES };

/* The terms of one step with the exponents that the aligner sees: a product has the sum of its
 * operands' exponents, so that its significand lies in [1, 4). */
typedef struct Terms {
    double value[MOST_TERMS];
    int exponent[MOST_TERMS];
    int count;
} Terms;

static void add_term(Terms *terms, double value, int exponent) {
    terms->value[terms->count] = value;
    terms->exponent[terms->count++] = exponent;
}

static void add_product(Terms *terms, double x, double w, int scale) {
    int exponent = x != 0 && w != 0 && isfinite(x) && isfinite(w) ? ilogb(x) + ilogb(w) + scale : 0;
    add_term(terms, ldexp(x * w, scale), exponent);
}

static Terms begin(float acc) {
    Terms terms = {.count = 0};
    add_term(&terms, (double)acc, acc != 0 && isfinite(acc) ? ilogb((double)acc) : 0);
    return terms;
}

static float sum(const Terms *terms) {
    int largest = 0;
    bool any = false;
    for (int i = 0; i < terms->count; i++) {
        if (!isfinite(terms->value[i]))
            return exact_sum_f32(terms->value, terms->count);
        if (terms->value[i] != 0 && (!any || terms->exponent[i] > largest)) {
            largest = terms->exponent[i];
            any = true;
        }
    }
    int64_t total = 0; /* nine terms below 2^33 */
    for (int i = 0; i < terms->count; i++)
        total += (int64_t)trunc(ldexp(terms->value[i], FRACTION_BITS - largest));
    if (total == 0)
        return any ? 0.0f : exact_sum_f32(terms->value, terms->count);
    return (float)ldexp((double)total, largest - FRACTION_BITS);
}

float amp_aligned_f16(float acc, const F16 x[AMP_F16_LANES], const F16 w[AMP_F16_LANES]) {
    Terms terms = begin(acc);
    for (int l = 0; l < AMP_F16_LANES; l++)
        add_product(&terms, (double)f16_to_f32(x[l]), (double)f16_to_f32(w[l]), 0);
    return sum(&terms);
}

float amp_aligned_f8(float acc, const uint8_t x[AMP_F8_LANES], F8Format x_format,
                     const uint8_t w[AMP_F8_LANES], F8Format w_format, int scale) {
    Terms terms = begin(acc);
    for (int l = 0; l < AMP_F8_LANES; l++)
        add_product(&terms, (double)f8_values[x_format][x[l]], (double)f8_values[w_format][w[l]],
                    scale);
    return sum(&terms);
}

float amp_aligned_f32(float acc, float x, float w) {
    Terms terms = begin(acc);
    add_product(&terms, (double)x, (double)w, 0);
    return sum(&terms);
}
