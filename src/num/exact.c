#include "num/exact.h"

#include "num/f16.h"

#include <assert.h>
#include <stdbool.h>

/* a + b = *sum + *error exactly (Knuth); false if the sum is not finite. */
static bool two_sum(double a, double b, double *sum, double *error) {
    double s = a + b, b_part = s - a;
    *sum = s;
    *error = (a - (s - b_part)) + (b - b_part);
    return *error == *error;
}

double exact_to_odd(double approximate, double rest) {
    uint64_t bits = f64_bits(approximate);
    if (rest == 0 || bits & 1)
        return approximate;
    return f64_from_bits((rest > 0) == (approximate > 0) ? bits + 1 : bits - 1);
}

/* For sums with an infinity or a NaN. */
static double sum_of_specials(const double *terms, int count) {
    double sum = terms[0];
    for (int i = 1; i < count; i++)
        sum += terms[i];
    return sum;
}

static double zero_sum(const double *terms, int count) {
    for (int i = 0; i < count; i++)
        if (f64_bits(terms[i]) != f64_bits(-0.0))
            return 0;
    return -0.0;
}

double exact_sum_odd(const double *terms, int count) {
    assert(count >= 1 && count <= EXACT_MAX_TERMS);
    /* Shewchuk's expansion: parts do not overlap, grow in magnitude and sum up to the terms. */
    double parts[EXACT_MAX_TERMS];
    int used = 0;
    for (int i = 0; i < count; i++) {
        double sum = terms[i];
        int kept = 0;
        for (int j = 0; j < used; j++) {
            double error;
            if (!two_sum(sum, parts[j], &sum, &error))
                return sum_of_specials(terms, count);
            if (error != 0)
                parts[kept++] = error;
        }
        parts[kept] = sum;
        used = kept + 1;
        /* A zero on top carries no value, and would hide the parts below it. */
        if (sum == 0 && used > 1)
            used--;
    }
    double sum = parts[--used];
    if (sum == 0)
        return zero_sum(terms, count);
    while (used > 0) {
        double error;
        two_sum(sum, parts[--used], &sum, &error);
        if (error != 0)
            return exact_to_odd(sum, error); /* parts below are too small to change the side */
    }
    return sum;
}

float exact_sum_f32(const double *terms, int count) {
    double sum = terms[0], errors = 0;
    for (int i = 1; i < count; i++) {
        double error;
        two_sum(sum, terms[i], &sum, &error);
        errors += error < 0 ? -error : error;
    }
    if (errors != 0) /* NaN included */
        sum = exact_sum_odd(terms, count);
    return sum == sum ? (float)sum : f32_from_bits(F32_QNAN);
}
