/* One level's AMP kernels against the scalar step. */
#pragma once

#include "operands.h"

#include <string.h>

enum { AMP_TEST_ROWS = 7 };

typedef struct AmpCase {
    uint64_t words[64];
    union {
        F16 halves[AMP_TEST_ROWS][AMP_F16_INPUTS];
        uint8_t codes[AMP_TEST_ROWS][AMP_F8_INPUTS];
    } x;
    F16 partial[AMP_TEST_ROWS][AMP_CHANNELS];
    bool f8;
    F8Format x_format, w_format;
    int scale;
} AmpCase;

/* `w_lane` is the first lane of one channel and phase. */
static inline float reference_step(const AmpCase *test, float acc, int row, int channel,
                                   int phase) {
    const uint64_t *word = test->words + 4 * channel + phase;
    if (test->f8) {
        uint8_t w[AMP_F8_LANES];
        memcpy(w, word, sizeof w);
        return amp_step_f8(acc, test->x.codes[row] + AMP_F8_LANES * phase, test->x_format, w,
                           test->w_format, test->scale);
    }
    F16 w[AMP_F16_LANES];
    memcpy(w, word, sizeof w);
    return amp_step_f16(acc, test->x.halves[row] + AMP_F16_LANES * phase, w);
}

static inline void random_amp_case(AmpCase *test, Random *random, bool f8) {
    OperandKind x_kind = (OperandKind)random_below(random, OPERAND_KINDS);
    OperandKind w_kind = (OperandKind)random_below(random, OPERAND_KINDS);
    OperandKind p_kind = (OperandKind)random_below(random, OPERAND_KINDS);
    uint64_t bits = random_next(random);
    test->f8 = f8;
    test->x_format = bits & 3 ? F8_F143 : F8_F152;
    test->w_format = bits & 12 ? F8_F143 : F8_F152;
    test->scale = bits & 16 ? (int)(bits >> 8 & 15) - 12 : (int)(bits >> 8 & 63) - 32;
    F16 *w_halves = (F16 *)(void *)test->words;
    uint8_t *w_codes = (uint8_t *)test->words;
    for (int i = 0; i < (f8 ? 512 : 256); i++) {
        if (f8)
            w_codes[i] = random_code(random, w_kind, i ? w_codes[i - 1] : 0);
        else
            w_halves[i] = random_half(random, w_kind, i ? w_halves[i - 1] : 0);
    }
    for (int r = 0; r < AMP_TEST_ROWS; r++) {
        F16 *halves = test->x.halves[r];
        uint8_t *codes = test->x.codes[r];
        for (int i = 0; i < (f8 ? AMP_F8_INPUTS : AMP_F16_INPUTS); i++) {
            if (f8)
                codes[i] = random_code(random, x_kind, i ? codes[i - 1] : 0);
            else
                halves[i] = random_half(random, x_kind, i ? halves[i - 1] : 0);
        }
        for (int c = 0; c < AMP_CHANNELS; c++)
            test->partial[r][c] = random_half(random, p_kind, 0);
    }
}

static inline void compare_phase(const AmpTable *table, const AmpCase *test,
                                 const AmpWeights *weights, Random *random) {
    int phase = (int)random_below(random, AMP_PHASES),
        row = (int)random_below(random, AMP_TEST_ROWS);
    float acc[AMP_CHANNELS], before[AMP_CHANNELS];
    for (int c = 0; c < AMP_CHANNELS; c++)
        before[c] = acc[c] = random_acc(random, (OperandKind)random_below(random, OPERAND_KINDS));
    if (test->f8)
        table->phase_f8(acc, test->x.codes[row] + AMP_F8_LANES * phase, weights, phase);
    else
        table->phase_f16(acc, test->x.halves[row] + AMP_F16_LANES * phase, weights, phase);
    for (int c = 0; c < AMP_CHANNELS; c++)
        assert_same_float(acc[c], reference_step(test, before[c], row, c, phase));
}

static inline void compare_rows(const AmpTable *table, const AmpCase *test,
                                const AmpWeights *weights, Random *random) {
    uint64_t bits = random_next(random);
    bool in_place = bits & 1, no_partial = !in_place && (bits & 2);
    F16Overflow overflow = (F16Overflow)((bits >> 8) % 3);
    size_t count = bits >> 16 & 7, stride = bits & 4 ? 32 : 48;
    _Alignas(16) uint8_t out[AMP_TEST_ROWS * 48 + 32];
    memset(out, 0x55, sizeof out);
    count = count > AMP_TEST_ROWS ? AMP_TEST_ROWS : count;
    if (in_place)
        for (size_t r = 0; r < count; r++)
            memcpy(out + r * stride, test->partial[r], 32);
    AmpRows rows = {.x = &test->x,
                    .partial = in_place     ? (const F16 *)(const void *)out
                               : no_partial ? NULL
                                            : test->partial[0],
                    .out = (F16 *)(void *)out,
                    .x_stride = 32,
                    .partial_stride = in_place ? stride : 32,
                    .out_stride = stride,
                    .rows = count,
                    .overflow = overflow};
    if (test->f8)
        table->rows_f8(&rows, weights);
    else
        table->rows_f16(&rows, weights);
    for (size_t r = 0; r < count; r++) {
        for (int c = 0; c < AMP_CHANNELS; c++) {
            float acc = no_partial ? 0.0f : f16_to_f32(test->partial[r][c]);
            for (int phase = 0; phase < AMP_PHASES; phase++)
                acc = reference_step(test, acc, (int)r, c, phase);
            F16 actual;
            memcpy(&actual, out + r * stride + 2 * (size_t)c, sizeof actual);
            assert_same(actual, f32_to_f16(acc, overflow));
        }
        for (size_t i = 32; i < stride; i++)
            assert_same(out[r * stride + i], 0x55);
    }
    assert_same(out[count * stride], 0x55);
}

static inline void compare_amp(const AmpTable *table, const char *name, uint64_t cases) {
    Random random = seeded(name);
    for (uint64_t n = 0; n < cases; n++) {
        AmpCase test;
        AmpWeights weights;
        random_amp_case(&test, &random, n & 1);
        if (test.f8)
            amp_prepare_f8(&weights, test.words, test.x_format, test.w_format, test.scale);
        else
            amp_prepare_f16(&weights, test.words);
        int inputs = test.f8 ? AMP_F8_INPUTS : AMP_F16_INPUTS;
        float values[AMP_CHANNELS * AMP_F8_INPUTS];
        for (int i = 0; i < AMP_CHANNELS * inputs; i++)
            values[i] = (float)weights.value[i % inputs][i / inputs];
        table->transpose(&weights, values, inputs);
        compare_phase(table, &test, &weights, &random);
        compare_rows(table, &test, &weights, &random);
    }
    printf("%s: %llu blocks of weights\n", name, (unsigned long long)cases);
}
