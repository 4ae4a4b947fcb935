/* The AMP step: the model itself, prepared weights, the portable level, the choice of a level. */
#include "num/amp.h"

#include "num/amp_parts.h"
#include "num/exact.h"
#include "num/levels.h"

#include <assert.h>
#include <math.h>

static double power_of_two(int exponent) {
    return f64_from_bits((uint64_t)(1023 + exponent) << 52);
}

/* Products are exact: 22 bits (F16), at most 8 (F8), 48 (F32), and far from the ends of a double's
 * range. */
float amp_step_f16(float acc, const F16 x[AMP_F16_LANES], const F16 w[AMP_F16_LANES]) {
    double terms[1 + AMP_F16_LANES] = {(double)acc};
    for (int l = 0; l < AMP_F16_LANES; l++)
        terms[1 + l] = (double)f16_to_f32(x[l]) * (double)f16_to_f32(w[l]);
    return exact_sum_f32(terms, 1 + AMP_F16_LANES);
}

float amp_step_f8(float acc, const uint8_t x[AMP_F8_LANES], F8Format x_format,
                  const uint8_t w[AMP_F8_LANES], F8Format w_format, int scale) {
    assert(scale >= F8_SCALE_MIN && scale <= F8_SCALE_MAX);
    double terms[1 + AMP_F8_LANES] = {(double)acc}, factor = power_of_two(scale);
    for (int l = 0; l < AMP_F8_LANES; l++)
        terms[1 + l] = f8_values[x_format][x[l]] * f8_values[w_format][w[l]] * factor;
    return exact_sum_f32(terms, 1 + AMP_F8_LANES);
}

float amp_step_f32(float acc, float x, float w) {
    double terms[2] = {(double)acc, (double)x * (double)w};
    return exact_sum_f32(terms, 2);
}

static void transpose(AmpWeights *weights, const float *values, int inputs) {
    for (int i = 0; i < inputs; i++)
        for (int c = 0; c < AMP_CHANNELS; c++)
            weights->value[i][c] = (double)values[c * inputs + i];
}

static const AmpTable *current(void);

static AmpRange range_of(const F16 *halves, int count) {
    int16_t most = 0, least_minus_1 = 0x7FFF;
    for (int i = 0; i < count; i++) {
        int16_t magnitude = (int16_t)(halves[i] & 0x7FFF);
        int16_t minus_1 = (int16_t)((magnitude - 1) & 0x7FFF); /* zero becomes the largest */
        most = magnitude > most ? magnitude : most;
        least_minus_1 = minus_1 < least_minus_1 ? minus_1 : least_minus_1;
    }
    return amp_range_f16(most, least_minus_1 + 1);
}

void amp_prepare_f16(AmpWeights *weights, const uint64_t words[64]) {
    enum { COUNT = AMP_CHANNELS * AMP_F16_INPUTS };
    const F16 *halves = (const F16 *)(const void *)words;
    float values[COUNT];
    f16_widen_all(values, halves, COUNT);
    current()->transpose(weights, values, AMP_F16_INPUTS);
    AmpRange range = range_of(halves, COUNT);
    weights->top = range.top;
    weights->low = range.low;
}

void amp_prepare_f8(AmpWeights *weights, const uint64_t words[64], F8Format x_format,
                    F8Format w_format, int scale) {
    assert(scale >= F8_SCALE_MIN && scale <= F8_SCALE_MAX);
    enum { COUNT = AMP_CHANNELS * AMP_F8_INPUTS };
    const uint8_t *codes = (const uint8_t *)words;
    float values[COUNT];
    f8_decode_f32(values, codes, COUNT, w_format, scale);
    current()->transpose(weights, values, AMP_F8_INPUTS);
    AmpRange range = w_format == F8_F143 ? AMP_RANGE_F143 : AMP_RANGE_F152;
    weights->top = range.top + scale;
    weights->low = range.low + scale;
    weights->x_format = x_format;
}

float amp_step_exact(float acc, const double *x, const double (*weights)[AMP_CHANNELS], int channel,
                     int lanes) {
    double terms[1 + AMP_F8_LANES];
    terms[0] = (double)acc;
    for (int l = 0; l < lanes; l++)
        terms[1 + l] = x[l] * weights[l][channel];
    return exact_sum_f32(terms, 1 + lanes);
}

static void load_x_f16(double *x, const F16 *halves, int count) {
    for (int i = 0; i < count; i++)
        x[i] = (double)f16_to_f32(halves[i]);
}

static void load_x_f8(double *x, const uint8_t *codes, F8Format format, int count) {
    for (int i = 0; i < count; i++)
        x[i] = f8_values[format][codes[i]];
}

void amp_finish_row(const AmpRows *rows, size_t r, float acc[AMP_CHANNELS]) {
    F16 *out = amp_row_of(rows->out, r, rows->out_stride);
    for (int c = 0; c < AMP_CHANNELS; c++) {
        acc[c] = isnan(acc[c]) ? f32_from_bits(F32_QNAN) : acc[c];
        out[c] = f32_to_f16(acc[c], rows->overflow);
    }
    if (rows->sums)
        memcpy(amp_row_of(rows->sums, r, rows->sums_stride), acc, AMP_CHANNELS * sizeof *acc);
}

static void step_channels(float *acc, const double *x, const double (*weights)[AMP_CHANNELS],
                          int lanes) {
    for (int c = 0; c < AMP_CHANNELS; c++)
        acc[c] = amp_step_exact(acc[c], x, weights, c, lanes);
}

/* The same where amp_range_exact holds. */
static void step_channels_plainly(float *acc, const double *x,
                                  const double (*weights)[AMP_CHANNELS], int lanes) {
    double sum[AMP_CHANNELS];
    for (int c = 0; c < AMP_CHANNELS; c++)
        sum[c] = (double)acc[c];
    for (int l = 0; l < lanes; l++)
        for (int c = 0; c < AMP_CHANNELS; c++)
            sum[c] += x[l] * weights[l][c];
    for (int c = 0; c < AMP_CHANNELS; c++)
        acc[c] = (float)sum[c];
}

static void phase_f16(float *acc, const F16 *halves, const AmpWeights *weights, int phase) {
    double x[AMP_F16_LANES];
    load_x_f16(x, halves, AMP_F16_LANES);
    step_channels(acc, x, weights->value + AMP_F16_LANES * phase, AMP_F16_LANES);
}

static void phase_f8(float *acc, const uint8_t *codes, const AmpWeights *weights, int phase) {
    double x[AMP_F8_LANES];
    load_x_f8(x, codes, weights->x_format, AMP_F8_LANES);
    step_channels(acc, x, weights->value + AMP_F8_LANES * phase, AMP_F8_LANES);
}

static const F16 *partial_row(const AmpRows *rows, size_t r) {
    return rows->partial ? amp_row(rows->partial, r, rows->partial_stride) : NULL;
}

static void row(const AmpRows *rows, size_t r, const double *x, AmpRange x_range,
                const AmpWeights *weights, int lanes) {
    float acc[AMP_CHANNELS] = {0};
    const F16 *partial = partial_row(rows, r);
    AmpRange partial_range = AMP_RANGE_OF_ZEROS;
    if (partial) {
        partial_range = range_of(partial, AMP_CHANNELS);
        for (int c = 0; c < AMP_CHANNELS; c++)
            acc[c] = f16_to_f32(partial[c]);
    }
    bool plainly = amp_range_exact(x_range, partial_range, weights, lanes == AMP_F8_LANES ? 5 : 4);
    for (int i = 0; i < AMP_PHASES * lanes; i += lanes) {
        if (plainly)
            step_channels_plainly(acc, x + i, weights->value + i, lanes);
        else
            step_channels(acc, x + i, weights->value + i, lanes);
    }
    amp_finish_row(rows, r, acc);
}

static void rows_f16(const AmpRows *rows, const AmpWeights *weights) {
    for (size_t r = 0; r < rows->rows; r++) {
        const F16 *halves = amp_row(rows->x, r, rows->x_stride);
        double x[AMP_F16_INPUTS];
        load_x_f16(x, halves, AMP_F16_INPUTS);
        row(rows, r, x, range_of(halves, AMP_F16_INPUTS), weights, AMP_F16_LANES);
    }
}

static void rows_f8(const AmpRows *rows, const AmpWeights *weights) {
    AmpRange range = weights->x_format == F8_F143 ? AMP_RANGE_F143 : AMP_RANGE_F152;
    for (size_t r = 0; r < rows->rows; r++) {
        double x[AMP_F8_INPUTS];
        load_x_f8(x, amp_row(rows->x, r, rows->x_stride), weights->x_format, AMP_F8_INPUTS);
        row(rows, r, x, range, weights, AMP_F8_LANES);
    }
}

static const AmpTable portable = {phase_f16, phase_f8, rows_f16, rows_f8, transpose};

const AmpTable *amp_table(CpuLevel level) {
#if NUM_HAS_X86
    if (level == CPU_AVX512)
        return &amp_table_avx512;
    if (level == CPU_AVX2)
        return &amp_table_avx2;
#endif
    (void)level;
    return &portable;
}

/* As in codec.c. */
static const AmpTable *current(void) {
    static const AmpTable *chosen;
    const AmpTable *table = __atomic_load_n(&chosen, __ATOMIC_RELAXED);
    if (!table) {
        table = amp_table(cpu_level());
        __atomic_store_n(&chosen, table, __ATOMIC_RELAXED);
    }
    return table;
}

void amp_phase_f16(float acc[AMP_CHANNELS], const F16 x[AMP_F16_LANES], const AmpWeights *weights,
                   int phase) {
    current()->phase_f16(acc, x, weights, phase);
}

void amp_phase_f8(float acc[AMP_CHANNELS], const uint8_t x[AMP_F8_LANES], const AmpWeights *weights,
                  int phase) {
    current()->phase_f8(acc, x, weights, phase);
}

void amp_rows_f16(const AmpRows *rows, const AmpWeights *weights) {
    current()->rows_f16(rows, weights);
}

void amp_rows_f8(const AmpRows *rows, const AmpWeights *weights) {
    current()->rows_f8(rows, weights);
}
