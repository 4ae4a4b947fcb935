/* The dot-product step of the accumulating matrix product (AMP) units, model EXACT.
 *
 * One instruction does, in each unit, R = round(acc + 2^S * sum of x[l] * w[l]) over 4 F16, 8 F8 or
 * 1 F32 products: the exact sum, rounded once to float32 (nearest even), subnormals kept. Order
 * inside an instruction therefore never matters; order between instructions does. NaN operands,
 * 0 * infinity and infinities of both signs give F32_QNAN; so 0 * NaN is NaN (measured on
 * hardware), and F8 code 0x80 is NaN (evidence: assumed). A zero result is -0 only if acc and all
 * products are. That the chip rounds like this is assumed: its internal alignment is not public.
 *
 * A GEMM row is four instructions, phases 0..3, over 16 F16 or 32 F8 inputs: the F16 partial widens
 * exactly on entry, acc stays float32 between phases, and the result rounds once to F16 on exit.
 */
#pragma once

#include "num/f8.h"

#include <stdbool.h>

#define AMP_CHANNELS   16 /* units that compute at once */
#define AMP_PHASES     4
#define AMP_F16_LANES  4 /* products per unit and instruction */
#define AMP_F8_LANES   8
#define AMP_F16_INPUTS 16 /* per row: lanes * phases */
#define AMP_F8_INPUTS  32

/* One unit, one instruction: the model itself. scale is the sum of both tensor scales. */
float amp_step_f16(float acc, const F16 x[AMP_F16_LANES], const F16 w[AMP_F16_LANES]);
float amp_step_f8(float acc, const uint8_t x[AMP_F8_LANES], F8Format x_format,
                  const uint8_t w[AMP_F8_LANES], F8Format w_format, int scale);
float amp_step_f32(float acc, float x, float w);

/* A block of weights made ready for many rows: 16 channels by 16 F16 or 32 F8 inputs. */
typedef struct AmpWeights {
    _Alignas(64) double value[AMP_F8_INPUTS][AMP_CHANNELS]; /* [input][channel], 2^scale included */
    int top, low;      /* finite weights are multiples of 2^low and below 2^top in magnitude */
    F8Format x_format; /* F8 only */
} AmpWeights;

/* words[4 * channel + phase] holds the lanes of one unit and phase, lane l at bits 16l (F16) or 8l
 * (F8). That is the order of a 512-byte block [channel][input] in memory, and of the weight
 * registers CWEI_m_n if "channel" is to mean unit. */
void amp_prepare_f16(AmpWeights *weights, const uint64_t words[64]);
void amp_prepare_f8(AmpWeights *weights, const uint64_t words[64], F8Format x_format,
                    F8Format w_format, int scale);

/* One instruction in 16 channels: acc[c] steps by x[lane] and the weights of `phase`. */
void amp_phase_f16(float acc[AMP_CHANNELS], const F16 x[AMP_F16_LANES], const AmpWeights *weights,
                   int phase);
void amp_phase_f8(float acc[AMP_CHANNELS], const uint8_t x[AMP_F8_LANES], const AmpWeights *weights,
                  int phase);

/* `rows` whole rows: out[r] = F16(phases 0..3 of (F32(partial[r]), x[r])), x 32 bytes a row,
 * partial and out 16 F16 a row. Strides in bytes, multiples of 2 for F16. partial NULL: all zeros.
 * out may be the same memory as partial (with the same stride), and overlaps nothing else. sums, if
 * not NULL, receives the accumulators that out rounds: 16 float32 a row. */
typedef struct AmpRows {
    const void *x; /* F16 or uint8_t */
    const F16 *partial;
    F16 *out;
    size_t x_stride, partial_stride, out_stride;
    size_t rows;
    F16Overflow overflow;
    float *sums;
    size_t sums_stride;
} AmpRows;

void amp_rows_f16(const AmpRows *rows, const AmpWeights *weights);
void amp_rows_f8(const AmpRows *rows, const AmpWeights *weights);

/* The functions of one level, bit-identical between levels; amp_phase_* and amp_rows_* take
 * cpu_level()'s. The caller must not call functions of a level above cpu_level_native(). */
typedef struct AmpTable {
    void (*phase_f16)(float *acc, const F16 *x, const AmpWeights *weights, int phase);
    void (*phase_f8)(float *acc, const uint8_t *x, const AmpWeights *weights, int phase);
    void (*rows_f16)(const AmpRows *rows, const AmpWeights *weights);
    void (*rows_f8)(const AmpRows *rows, const AmpWeights *weights);
    /* weights->value[i][c] = values[c * inputs + i]: the costly part of amp_prepare_*. */
    void (*transpose)(AmpWeights *weights, const float *values, int inputs);
} AmpTable;

const AmpTable *amp_table(CpuLevel level);
