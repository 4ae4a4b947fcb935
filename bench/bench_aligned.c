/* What the assumed arithmetic of the matrix unit is worth: the error of GEMM results under the
 * exact model and under the 33-bit aligned one, and how many results differ. Normal data, sums over
 * K as the kernels form them: float32 inside a row of four instructions, F16 between rows. */
#include "base/random.h"
#include "num/aligned.h"

#include <math.h>
#include <stdio.h>

enum { RESULTS = 4000, SCALE = -4 };

typedef struct Totals {
    double square, error[2];        /* of the reference; of exact and aligned results */
    unsigned different;             /* results */
    unsigned rows, row_differences; /* float32 sums of a row of four instructions */
} Totals;

static double normal(Random *random) {
    return (double)random_d1(random, 1);
}

/* One result over k inputs under both models. */
static void add_result(Totals *t, Random *random, bool f8, unsigned k) {
    double reference = 0;
    F16 sum[2] = {0, 0};
    unsigned lanes = f8 ? AMP_F8_LANES : AMP_F16_LANES;
    for (unsigned at = 0; at < k; at += AMP_PHASES * lanes) {
        float acc[2] = {f16_to_f32(sum[0]), f16_to_f32(sum[1])};
        for (unsigned phase = 0; phase < AMP_PHASES; phase++) {
            F16 x[AMP_F16_LANES], w[AMP_F16_LANES];
            uint8_t x8[AMP_F8_LANES], w8[AMP_F8_LANES];
            for (unsigned l = 0; l < lanes; l++) {
                double a = normal(random), b = normal(random) / 16;
                if (f8) {
                    x8[l] = f8_from_f64(a, F8_F143, SCALE, F8_HOST);
                    w8[l] = f8_from_f64(b, F8_F143, SCALE - 4, F8_HOST);
                    reference +=
                        ldexp((double)f8_values[F8_F143][x8[l]] * (double)f8_values[F8_F143][w8[l]],
                              2 * SCALE - 4);
                } else {
                    x[l] = f64_to_f16(a, F16_OVERFLOW_SATURATE);
                    w[l] = f64_to_f16(b, F16_OVERFLOW_SATURATE);
                    reference += (double)f16_to_f32(x[l]) * (double)f16_to_f32(w[l]);
                }
            }
            if (f8) {
                acc[0] = amp_step_f8(acc[0], x8, F8_F143, w8, F8_F143, 2 * SCALE - 4);
                acc[1] = amp_aligned_f8(acc[1], x8, F8_F143, w8, F8_F143, 2 * SCALE - 4);
            } else {
                acc[0] = amp_step_f16(acc[0], x, w);
                acc[1] = amp_aligned_f16(acc[1], x, w);
            }
        }
        for (unsigned m = 0; m < 2; m++)
            sum[m] = f32_to_f16(acc[m], F16_OVERFLOW_SATURATE);
        t->rows++;
        t->row_differences += acc[0] != acc[1];
    }
    t->square += reference * reference;
    for (unsigned m = 0; m < 2; m++) {
        double error = (double)f16_to_f32(sum[m]) - reference;
        t->error[m] += error * error;
    }
    t->different += sum[0] != sum[1];
}

int main(void) {
    static const unsigned inner[] = {64, 1024, 4096};
    printf("Relative RMS error against float64 sums of the same operands\n%-5s %6s %14s %14s %s\n",
           "", "K", "exact", "aligned", "different: results; float32 sums of rows");
    for (unsigned f8 = 0; f8 < 2; f8++) {
        for (unsigned i = 0; i < sizeof inner / sizeof *inner; i++) {
            Totals t = {0};
            Random random = random_seed(1);
            for (unsigned r = 0; r < RESULTS; r++)
                add_result(&t, &random, f8, inner[i]);
            printf("%-5s %6u %14.6e %14.6e %u of %u; %u of %u\n", f8 ? "FP8" : "F16", inner[i],
                   sqrt(t.error[0] / t.square), sqrt(t.error[1] / t.square), t.different, RESULTS,
                   t.row_differences, t.rows);
        }
    }
    return 0;
}
