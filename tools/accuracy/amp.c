/* The two models of one AMP instruction, on data of the workloads: the exact sum rounded once,
 * which the simulator takes, and products and accumulator aligned to the largest of them with 33
 * bits kept (the adder widths read from public driver constants of the chip before), the rest cut
 * off. */
#include "accuracy.h"

#include "base/mem.h"
#include "base/random.h"
#include "num/amp.h"

#include <math.h>
#include <stdlib.h>

enum { FRACTION_BITS = 31, ROWS = 24, COLUMNS = 24 };

static float aligned_step(float acc, const double *products, int count) {
    int largest = acc != 0 ? ilogb((double)acc) : INT32_MIN;
    for (int i = 0; i < count; i++)
        if (products[i] != 0)
            largest = MAX_OF(largest, ilogb(products[i]));
    if (largest == INT32_MIN)
        return acc;
    int unit = largest - FRACTION_BITS;
    double sum = trunc(ldexp((double)acc, -unit)); /* below 2^36: exact */
    for (int i = 0; i < count; i++)
        sum += trunc(ldexp(products[i], -unit));
    return (float)ldexp(sum, unit);
}

/* One output element before its last rounding to F16: phases in order within a panel, F16 between
 * panels. */
static float product(const double *x, const double *w, unsigned inner, bool aligned, bool f8,
                     double *exact) {
    int lanes = f8 ? AMP_F8_LANES : AMP_F16_LANES;
    float acc = 0;
    *exact = 0;
    for (unsigned k = 0; k < inner; k += (unsigned)(AMP_PHASES * lanes)) {
        acc = f16_to_f32(f32_to_f16(acc, F16_OVERFLOW_SATURATE));
        for (int phase = 0; phase < AMP_PHASES; phase++) {
            double products[AMP_F8_LANES];
            F16 left[AMP_F16_LANES], right[AMP_F16_LANES];
            uint8_t left8[AMP_F8_LANES], right8[AMP_F8_LANES];
            for (int l = 0; l < lanes; l++) {
                unsigned at = k + (unsigned)(phase * lanes + l);
                products[l] = x[at] * w[at];
                *exact += products[l];
                if (f8) {
                    left8[l] = f8_from_f64(x[at], F8_F143, 0, F8_HOST);
                    right8[l] = f8_from_f64(w[at], F8_F143, 0, F8_HOST);
                } else {
                    left[l] = f64_to_f16(x[at], F16_OVERFLOW_INFINITE);
                    right[l] = f64_to_f16(w[at], F16_OVERFLOW_INFINITE);
                }
            }
            if (aligned)
                acc = aligned_step(acc, products, lanes);
            else if (f8)
                acc = amp_step_f8(acc, left8, F8_F143, right8, F8_F143, 0);
            else
                acc = amp_step_f16(acc, left, right);
        }
    }
    return acc;
}

/* Normal values, as the precision holds them. */
static double *operand(const char *name, size_t count, double sigma, bool f8) {
    Random random = random_tensor(name, 0);
    double *values = mem_alloc(count, sizeof *values);
    if (!values)
        abort();
    for (size_t i = 0; i < count; i++) {
        double value = (double)random_d1(&random, sigma);
        values[i] = f8 ? (double)f8_to_f32(f8_from_f64(value, F8_F143, -4, F8_HOST), F8_F143, -4)
                       : (double)f16_to_f32(f64_to_f16(value, F16_OVERFLOW_INFINITE));
    }
    return values;
}

AmpComparison amp_compare(bool f8, unsigned inner) {
    AmpComparison result = {.rows = ROWS, .inner = inner, .columns = COLUMNS};
    /* FP8 operands with a tensor scale of -4 each; values times 16 are plain F143 codes, and all
     * sums scale exactly. */
    double scale = f8 ? 16 : 1;
    double *x = operand("x", (size_t)ROWS * inner, 1, f8);
    double *w = operand("w", (size_t)COLUMNS * inner, 1 / sqrt(inner), f8);
    for (size_t i = 0; i < (size_t)ROWS * inner; i++)
        x[i] *= scale;
    for (size_t i = 0; i < (size_t)COLUMNS * inner; i++)
        w[i] *= scale;
    double squares = 0, errors[2] = {0}, unscale = 1 / (scale * scale);
    unsigned differ = 0, sums_differ = 0;
    for (unsigned r = 0; r < ROWS; r++)
        for (unsigned c = 0; c < COLUMNS; c++) {
            double exact, value[2];
            float sum[2];
            for (int model = 0; model < 2; model++) {
                sum[model] = product(x + r * inner, w + c * inner, inner, model, f8, &exact);
                value[model] = (double)f16_to_f32(f32_to_f16(sum[model], F16_OVERFLOW_SATURATE));
                double error = fabs(value[model] - exact) * unscale;
                result.error[model] = fmax(result.error[model], error);
                errors[model] += error * error;
            }
            squares += exact * exact * unscale * unscale;
            differ += value[0] != value[1];
            sums_differ += sum[0] != sum[1];
            if (sum[0] != 0)
                result.sums_largest =
                    fmax(result.sums_largest,
                         fabs((double)sum[0] - (double)sum[1]) / fabs((double)sum[0]));
            result.largest = fmax(result.largest, fabs(value[0] - value[1]) * unscale);
        }
    result.sums_share = (double)sums_differ / (ROWS * COLUMNS);
    result.share = (double)differ / (ROWS * COLUMNS);
    for (int model = 0; model < 2; model++)
        result.relative_rms[model] = sqrt(errors[model] / squares);
    mem_free(x);
    mem_free(w);
    return result;
}
