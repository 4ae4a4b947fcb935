/* Internal: the AMP kernels in the vocabulary of simd_*.h. Included once by each level's file,
 * after its vocabulary; defines SIMD_NAME(amp_table). No result here may depend on the level. */
#include "num/amp_parts.h"
#include "num/levels.h"

#define VECTORS (AMP_CHANNELS / F64_LANES) /* vectors that hold all channels */
#define UNROLL  _Pragma("GCC unroll 16")

typedef double Weights[AMP_CHANNELS];

SIMD VD two_sum(VD a, VD b, VD *error) {
    VD sum = vd_add(a, b), b_part = vd_sub(sum, a);
    *error = vd_add(vd_sub(a, vd_sub(sum, b_part)), vd_sub(b, b_part));
    return sum;
}

/* One phase with nothing known of the operands: every addition reports its error. Products that do
 * not add up exactly in double, NaN and infinities go through amp_step_exact. */
SIMD void careful_phase(float *acc, const double *x, const Weights *weights, int lanes) {
    for (int v = 0; v < VECTORS; v++) {
        int first = v * F64_LANES;
        VD sum = vd_mul(vd_all(x), vd_load(weights[0] + first)), errors = vd_zero(), error;
        for (int l = 1; l < lanes; l++) {
            sum = two_sum(sum, vd_mul(vd_all(x + l), vd_load(weights[l] + first)), &error);
            errors = vd_or(errors, error);
        }
        sum = two_sum(vh_widen(vh_load(acc + first)), sum, &error);
        unsigned bad = vd_nonzero(errors) | vd_unordered(error);
        float before[F64_LANES];
        memcpy(before, acc + first, sizeof before);
        vh_store(acc + first, vd_narrow(vd_to_odd(sum, error)));
        for (int c = 0; bad >> c; c++)
            if (bad >> c & 1)
                acc[first + c] = amp_step_exact(before[c], x, weights, first + c, lanes);
    }
}

/* The same where every sum of products is exact in double: only the accumulator may be far away.
 * `lanes` is a constant. */
SIMD void summed_phase(float *acc, const double *x, const Weights *weights, int lanes) {
    VD sum[VECTORS];
    UNROLL for (int l = 0; l < lanes; l++) {
        VD value = vd_all(x + l);
        UNROLL for (int v = 0; v < VECTORS; v++) {
            VD weight = vd_load(weights[l] + v * F64_LANES);
            sum[v] = l ? vd_fma(value, weight, sum[v]) : vd_mul(value, weight);
        }
    }
    float before[AMP_CHANNELS];
    memcpy(before, acc, sizeof before);
    unsigned bad = 0;
    UNROLL for (int v = 0; v < VECTORS; v++) {
        VD error, near = two_sum(vh_widen(vh_load(acc + v * F64_LANES)), sum[v], &error);
        bad |= vd_unordered(error) << v * F64_LANES;
        vh_store(acc + v * F64_LANES, vd_narrow(vd_to_odd(near, error)));
    }
    for (int c = 0; bad >> c; c++)
        if (bad >> c & 1)
            acc[c] = amp_step_exact(before[c], x, weights, c, lanes);
}

SIMD bool products_exact(AmpRange x, const AmpWeights *weights, int log2_lanes) {
    return x.top + weights->top + log2_lanes - (x.low + weights->low) <= 53;
}

SIMD void widen_x_f16(double *x, const F16 *halves, int count) {
    for (int i = 0; i < count; i += F64_LANES)
        vd_store(x + i, vh_widen(vh_load_f16(halves + i)));
}

/* Range of the four halves of one instruction. */
SIMD AmpRange range_of_lanes(const F16 *halves) {
    int most = 0, least = 0x8000;
    for (int l = 0; l < AMP_F16_LANES; l++) {
        int magnitude = halves[l] & 0x7FFF;
        most = magnitude > most ? magnitude : most;
        least = magnitude && magnitude < least ? magnitude : least;
    }
    return amp_range_f16(most, least);
}

SIMD_ENTRY void phase_f16(float *acc, const F16 *halves, const AmpWeights *weights, int phase) {
    double x[AMP_F16_LANES];
    for (int l = 0; l < AMP_F16_LANES; l++)
        x[l] = (double)f16_to_f32(halves[l]);
    const Weights *rows = weights->value + AMP_F16_LANES * phase;
    if (products_exact(range_of_lanes(halves), weights, 2))
        summed_phase(acc, x, rows, AMP_F16_LANES);
    else
        careful_phase(acc, x, rows, AMP_F16_LANES);
}

SIMD_ENTRY void phase_f8(float *acc, const uint8_t *codes, const AmpWeights *weights, int phase) {
    double x[AMP_F8_LANES];
    for (int l = 0; l < AMP_F8_LANES; l++)
        x[l] = f8_values[weights->x_format][codes[l]];
    const Weights *rows = weights->value + AMP_F8_LANES * phase;
    AmpRange range = weights->x_format == F8_F143 ? AMP_RANGE_F143 : AMP_RANGE_F152;
    if (products_exact(range, weights, 3))
        summed_phase(acc, x, rows, AMP_F8_LANES);
    else
        careful_phase(acc, x, rows, AMP_F8_LANES);
}

/* Range of 16 halves. */
SIMD AmpRange range_of(const F16 *halves) {
    __m256i all = _mm256_loadu_si256((const __m256i *)(const void *)halves);
    all = _mm256_and_si256(all, _mm256_set1_epi16(0x7FFF));
    __m128i a = _mm256_castsi256_si128(all), b = _mm256_extracti128_si256(all, 1);
    __m128i one = _mm_set1_epi16(1); /* 0 - 1 becomes the largest, so that zeros do not count */
    __m128i least = _mm_minpos_epu16(_mm_min_epu16(_mm_sub_epi16(a, one), _mm_sub_epi16(b, one)));
    __m128i most = _mm_minpos_epu16(_mm_xor_si128(_mm_max_epu16(a, b), _mm_set1_epi16(-1)));
    return amp_range_f16(0xFFFF - _mm_extract_epi16(most, 0), _mm_extract_epi16(least, 0) + 1);
}

/* The result row; the plain conversion does unless some lane overflows or is NaN. */
SIMD void store_row(const AmpRows *rows, size_t r, const VH *acc) {
    unsigned beyond = 0;
    UNROLL for (int v = 0; v < VECTORS; v++) beyond |= vh_beyond(acc[v], 65504.0f);
    if (beyond) {
        float results[AMP_CHANNELS];
        for (int v = 0; v < VECTORS; v++)
            vh_store(results + v * F64_LANES, acc[v]);
        amp_finish_row(rows, r, results);
        return;
    }
    F16 *out = amp_row_of(rows->out, r, rows->out_stride);
    UNROLL for (int v = 0; v < VECTORS; v++) vh_store_f16(out + v * F64_LANES, acc[v]);
    if (rows->sums) {
        float *sums = amp_row_of(rows->sums, r, rows->sums_stride);
        UNROLL for (int v = 0; v < VECTORS; v++) vh_store(sums + v * F64_LANES, acc[v]);
    }
}

typedef struct Call {
    const AmpRows *rows;
    const AmpWeights *weights;
    AmpRange x_range; /* F8: of the format */
} Call;

SIMD const F16 *partial_row(const AmpRows *rows, size_t r) {
    return rows->partial ? amp_row(rows->partial, r, rows->partial_stride) : NULL;
}

/* Below, `table` holds the values of x's codes, or is NULL if x is F16. It and `lanes` are
 * constants where a function is inlined. */

/* Input i of a row as a vector; x is the row's codes or its widened halves. */
SIMD VD input_of(const double *table, const void *x, int i) {
    return vd_all(table ? table + ((const uint8_t *)x)[i] : (const double *)x + i);
}

/* Rows r..r+count-1, which amp_range_exact allows; count is a constant, and more than 1 keeps the
 * multipliers busy. */
SIMD void plain_rows(const Call *call, size_t r, int count, const double *table, int lanes) {
    const AmpRows *rows = call->rows;
    double widened[3][AMP_F16_INPUTS];
    const void *x[3];
    VD acc[3][VECTORS];
    UNROLL for (int k = 0; k < count; k++) {
        x[k] = amp_row(rows->x, r + (size_t)k, rows->x_stride);
        if (!table) {
            widen_x_f16(widened[k], x[k], AMP_F16_INPUTS);
            x[k] = widened[k];
        }
        const F16 *partial = partial_row(rows, r + (size_t)k);
        UNROLL for (int v = 0; v < VECTORS; v++) acc[k][v] =
            partial ? vh_widen(vh_load_f16(partial + v * F64_LANES)) : vd_zero();
    }
    const Weights *weights = call->weights->value;
    VH narrow[3][VECTORS];
    for (int phase = 0; phase < AMP_PHASES; phase++) {
        UNROLL for (int l = 0; l < lanes; l++) {
            int i = phase * lanes + l;
            VD value[3];
            UNROLL for (int k = 0; k < count; k++) value[k] = input_of(table, x[k], i);
            UNROLL for (int v = 0; v < VECTORS; v++) {
                VD w = vd_load(weights[i] + v * F64_LANES);
                KEEP(w);
                UNROLL for (int k = 0; k < count; k++) acc[k][v] = vd_fma(value[k], w, acc[k][v]);
            }
        }
        UNROLL for (int k = 0; k < count; k++) {
            UNROLL for (int v = 0; v < VECTORS; v++) {
                narrow[k][v] = vd_narrow(acc[k][v]);
                acc[k][v] = vh_widen(narrow[k][v]);
            }
        }
    }
    UNROLL for (int k = 0; k < count; k++) store_row(rows, r + (size_t)k, narrow[k]);
}

SIMD void careful_row(const Call *call, size_t r, const double *table, int lanes) {
    const AmpRows *rows = call->rows;
    const void *source = amp_row(rows->x, r, rows->x_stride);
    const F16 *partial = partial_row(rows, r);
    double x[AMP_F8_INPUTS];
    for (int i = 0; i < AMP_PHASES * lanes; i++)
        x[i] = table ? table[((const uint8_t *)source)[i]]
                     : (double)f16_to_f32(((const F16 *)source)[i]);
    float acc[AMP_CHANNELS] = {0};
    for (int c = 0; partial && c < AMP_CHANNELS; c++)
        acc[c] = f16_to_f32(partial[c]);
    for (int i = 0; i < AMP_PHASES * lanes; i += lanes)
        careful_phase(acc, x + i, call->weights->value + i, lanes);
    VH result[VECTORS];
    for (int v = 0; v < VECTORS; v++)
        result[v] = vh_load(acc + v * F64_LANES);
    store_row(rows, r, result);
}

SIMD bool row_is_plain(const Call *call, size_t r, const double *table) {
    const AmpRows *rows = call->rows;
    const F16 *partial = partial_row(rows, r);
    AmpRange x_range = table ? call->x_range : range_of(amp_row(rows->x, r, rows->x_stride));
    AmpRange partial_range = partial ? range_of(partial) : AMP_RANGE_OF_ZEROS;
    return amp_range_exact(x_range, partial_range, call->weights, table ? 5 : 4);
}

SIMD void all_rows(const Call *call, const double *table, int lanes, bool all_plain) {
    size_t count = call->rows->rows;
    for (size_t r = 0; r < count;) {
        size_t plain = 0;
        while (plain < 3 && r + plain < count &&
               (all_plain || row_is_plain(call, r + plain, table)))
            plain++;
        switch (plain) {
        case 3: plain_rows(call, r, 3, table, lanes); break;
        case 2: plain_rows(call, r, 2, table, lanes); break;
        case 1: plain_rows(call, r, 1, table, lanes); break;
        default: careful_row(call, r, table, lanes); break;
        }
        r += plain ? plain : 1;
    }
}

SIMD_ENTRY void rows_f16(const AmpRows *rows, const AmpWeights *weights) {
    Call call = {.rows = rows, .weights = weights};
    all_rows(&call, NULL, AMP_F16_LANES, false);
}

SIMD_ENTRY void rows_f8(const AmpRows *rows, const AmpWeights *weights) {
    AmpRange range = weights->x_format == F8_F143 ? AMP_RANGE_F143 : AMP_RANGE_F152;
    Call call = {.rows = rows, .weights = weights, .x_range = range};
    AmpRange any_partial = rows->partial ? AMP_RANGE_F16 : AMP_RANGE_OF_ZEROS;
    const double *table = f8_values[weights->x_format];
    if (amp_range_exact(range, any_partial, weights, 5))
        all_rows(&call, table, AMP_F8_LANES, true);
    else
        all_rows(&call, table, AMP_F8_LANES, false);
}

SIMD_ENTRY void transpose(AmpWeights *weights, const float *values, int inputs) {
    for (int c = 0; c < AMP_CHANNELS; c += 4) {
        for (int i = 0; i < inputs; i += 4) {
            const float *from = values + c * inputs + i;
            __m128 a = _mm_loadu_ps(from), b = _mm_loadu_ps(from + inputs);
            __m128 d = _mm_loadu_ps(from + 2 * inputs), e = _mm_loadu_ps(from + 3 * inputs);
            _MM_TRANSPOSE4_PS(a, b, d, e);
            _mm256_storeu_pd(weights->value[i] + c, _mm256_cvtps_pd(a));
            _mm256_storeu_pd(weights->value[i + 1] + c, _mm256_cvtps_pd(b));
            _mm256_storeu_pd(weights->value[i + 2] + c, _mm256_cvtps_pd(d));
            _mm256_storeu_pd(weights->value[i + 3] + c, _mm256_cvtps_pd(e));
        }
    }
}

const AmpTable SIMD_NAME(amp_table) = {phase_f16, phase_f8, rows_f16, rows_f8, transpose};
