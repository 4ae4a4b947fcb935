/* Multiply-adds of the AMP row kernels on one core, medians, at every level the processor has. */
#include "base/mem.h"
#include "base/progress.h"
#include "base/random.h"
#include "num/amp.h"

#include <stdio.h>
#include <stdlib.h>

#define ROWS   256
#define PASSES 64 /* per measurement, over the same rows */
#define RUNS   21

typedef struct Data {
    F16 x[ROWS][16], partial[ROWS][16], out[ROWS][16];
    uint8_t codes[ROWS][32];
    uint64_t words_f16[64], words_f8[64];
} Data;

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void pass(const AmpTable *table, Data *d, const AmpWeights *weights, bool f8) {
    AmpRows rows = {.x = f8 ? (const void *)d->codes : (const void *)d->x,
                    .partial = d->partial[0],
                    .out = d->out[0],
                    .x_stride = 32,
                    .partial_stride = 32,
                    .out_stride = 32,
                    .rows = ROWS,
                    .overflow = F16_OVERFLOW_SATURATE};
    if (f8)
        table->rows_f8(&rows, weights);
    else
        table->rows_f16(&rows, weights);
}

static double median_seconds(const AmpTable *table, Data *d, const AmpWeights *weights, bool f8) {
    double seconds[RUNS];
    for (int i = 0; i < RUNS; i++) {
        double start = clock_seconds();
        for (int p = 0; p < PASSES; p++)
            pass(table, d, weights, f8);
        seconds[i] = clock_seconds() - start;
    }
    qsort(seconds, RUNS, sizeof *seconds, compare);
    return seconds[RUNS / 2];
}

static void report(const char *name, const AmpTable *table, CpuLevel level, Data *d,
                   const AmpWeights *weights, bool f8) {
    double macs = (double)ROWS * PASSES * 16 * (f8 ? 32 : 16);
    double seconds = median_seconds(table, d, weights, f8);
    printf("%-22s %-9s %8.2f\n", name, cpu_level_name(level), macs / seconds * 1e-9);
}

static double prepare_nanoseconds(const Data *d, AmpWeights *weights, bool f8) {
    double seconds[RUNS];
    for (int i = 0; i < RUNS; i++) {
        double start = clock_seconds();
        for (int p = 0; p < 1000; p++) {
            if (f8)
                amp_prepare_f8(weights, d->words_f8, F8_F143, F8_F143, -8);
            else
                amp_prepare_f16(weights, d->words_f16);
        }
        seconds[i] = clock_seconds() - start;
    }
    qsort(seconds, RUNS, sizeof *seconds, compare);
    return seconds[RUNS / 2] * 1e6;
}

int main(void) {
    Data *d = mem_alloc(1, sizeof *d);
    AmpWeights f16, f8, far;
    if (!d)
        return 5;
    float values[ROWS * 16];
    random_fill_d1(values, ROWS * 16, "x", 0, 1.0);
    f16_narrow_all(d->x[0], values, ROWS * 16, F16_OVERFLOW_INFINITE);
    f8_encode_f32(d->codes[0], values, ROWS * 16, F8_F143, -4, F8_HOST);
    f8_encode_f32(d->codes[ROWS / 2], values, ROWS * 16, F8_F143, -4, F8_HOST);
    random_fill_d1(values, ROWS * 16, "partial", 0, 0.5);
    f16_narrow_all(d->partial[0], values, ROWS * 16, F16_OVERFLOW_INFINITE);
    random_fill_d1(values, 512, "w", 0, 0.03);
    f16_narrow_all((F16 *)(void *)d->words_f16, values, 256, F16_OVERFLOW_INFINITE);
    f8_encode_f32((uint8_t *)d->words_f8, values, 512, F8_F143, -4, F8_HOST);
    amp_prepare_f16(&f16, d->words_f16);
    amp_prepare_f8(&f8, d->words_f8, F8_F143, F8_F143, -8);
    printf("%-22s %-9s %8s\n", "rows, partials and out", "level", "GMAC/s");
    for (CpuLevel level = CPU_PORTABLE; level <= cpu_level_native(); level++) {
        const AmpTable *table = amp_table(level);
        report("F16", table, level, d, &f16, false);
        report("F8", table, level, d, &f8, true);
        /* A claimed range that is too wide sends every row through the careful path. */
        far = f16;
        far.top = 1000;
        report("F16, careful path", table, level, d, &far, false);
        far = f8;
        far.top = 1000;
        report("F8, careful path", table, level, d, &far, true);
    }
    printf("preparing a block: F16 %.0f ns, F8 %.0f ns\n", prepare_nanoseconds(d, &f16, false),
           prepare_nanoseconds(d, &f8, true));
    mem_free(d);
    return 0;
}
