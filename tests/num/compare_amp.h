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
    if (random_next(random) & 1) /* some kinds show their faults only together */
        w_kind = x_kind;
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
                codes[i] = random_code(random, x_kind, i ? negated_code(codes[i - 1]) : 0);
            else
                halves[i] = random_half(random, x_kind, i ? negated_half(halves[i - 1]) : 0);
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
    float sums[AMP_TEST_ROWS][AMP_CHANNELS];
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
                    .overflow = overflow,
                    .sums = bits & 8 ? sums[0] : NULL,
                    .sums_stride = sizeof *sums};
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
            if (rows.sums)
                assert_same(f32_bits(sums[r][c]), f32_bits(acc));
        }
        for (size_t i = 32; i < stride; i++)
            assert_same(out[r * stride + i], 0x55);
    }
    assert_same(out[count * stride], 0x55);
}

/* Steps that plain double additions get wrong; each in all channels. */
static inline void check_directed_f16(const AmpTable *table) {
    enum { BIG = 0x7800, SMALL = 0x0001, MINUS = 0x8000 }; /* 2^15, 2^-24 */
    static const struct {
        float acc;
        F16 x[AMP_F16_LANES], w[AMP_F16_LANES];
        float expected;
    } steps[] = {
        /* 2^30 + 64 is a tie, to even; 2^-48 above or below decides it. */
        {64, {BIG, SMALL}, {BIG, SMALL}, 0x1p30f + 128},
        {64, {BIG, SMALL | MINUS}, {BIG, SMALL}, 0x1p30f},
        {-64, {BIG | MINUS, SMALL}, {BIG, SMALL}, -0x1p30f},
        {-64, {BIG | MINUS, SMALL | MINUS}, {BIG, SMALL}, -0x1p30f - 128},
        /* The same, decided by the accumulator: 2^30 + 64 (8 * 8) +- 0.75 and 0.25 double units. */
        {0x1.8p-23f, {BIG, 0x4800}, {BIG, 0x4800}, 0x1p30f + 128},
        {-0x1.8p-23f, {BIG, 0x4800}, {BIG, 0x4800}, 0x1p30f},
        {0x1p-24f, {BIG, 0x4800}, {BIG, 0x4800}, 0x1p30f + 128},
        {-0x1p-24f, {BIG, 0x4800}, {BIG, 0x4800}, 0x1p30f},
        {0x1p-149f, {BIG, 0x4800}, {BIG, 0x4800}, 0x1p30f + 128},
        {-0x1p-149f, {BIG, 0xC800}, {BIG, 0x4800}, 0x1p30f - 64},
        /* All but the smallest cancels. */
        {0, {BIG, SMALL, BIG | MINUS}, {BIG, SMALL, BIG}, 0x1p-48f},
        {-0x1p30f, {BIG, SMALL}, {BIG, SMALL}, 0x1p-48f},
        {0, {SMALL, BIG, BIG | MINUS, SMALL | MINUS}, {SMALL, BIG, BIG, SMALL}, 0},
        {0x1p-149f, {BIG, BIG | MINUS}, {BIG, BIG}, 0x1p-149f},
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        assert_same_float(amp_step_f16(steps[i].acc, steps[i].x, steps[i].w), steps[i].expected);
        AmpWeights weights;
        F16 words[AMP_CHANNELS][AMP_F16_INPUTS] = {{0}};
        float acc[AMP_CHANNELS];
        for (int c = 0; c < AMP_CHANNELS; c++) {
            acc[c] = steps[i].acc;
            memcpy(words[c] + AMP_F16_LANES, steps[i].w, sizeof steps[i].w);
        }
        amp_prepare_f16(&weights, (const uint64_t *)(const void *)words);
        table->phase_f16(acc, steps[i].x, &weights, 1);
        for (int c = 0; c < AMP_CHANNELS; c++)
            assert_same_float(acc[c], steps[i].expected);
    }
}

/* 240 * 1 * 2^31 = 15 * 2^35, whose float32 unit is 2^15, beside products far below. */
static inline void check_directed_f8(const AmpTable *table) {
    static const struct {
        float acc;
        uint8_t x[AMP_F8_LANES], w[AMP_F8_LANES];
        float expected;
    } steps[] = {
        {0x1p14f, {0x7F}, {0x40}, 15 * 0x1p35f},
        {0x1.000002p14f, {0x7F}, {0x40}, 15 * 0x1p35f + 0x1p15f},
        {0x1p14f, {0x7F, 0x01}, {0x40, 0x01}, 15 * 0x1p35f + 0x1p15f}, /* + 2^11 */
        {0x1p14f, {0x7F, 0x01}, {0x40, 0x81}, 15 * 0x1p35f},           /* - 2^11 */
        {0x1p-149f, {0x7F, 0x01}, {0x40, 0x08}, 15 * 0x1p35f + 0x1p15f},
        {-0x1p-149f, {0x7F, 0x01}, {0x40, 0x08}, 15 * 0x1p35f},
    };
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        float step = amp_step_f8(steps[i].acc, steps[i].x, F8_F143, steps[i].w, F8_F143, 31);
        assert_same_float(step, steps[i].expected);
        AmpWeights weights;
        uint8_t words[AMP_CHANNELS][AMP_F8_INPUTS] = {{0}};
        float acc[AMP_CHANNELS];
        for (int c = 0; c < AMP_CHANNELS; c++) {
            acc[c] = steps[i].acc;
            memcpy(words[c] + 3 * AMP_F8_LANES, steps[i].w, sizeof steps[i].w);
        }
        amp_prepare_f8(&weights, (const uint64_t *)(const void *)words, F8_F143, F8_F143, 31);
        table->phase_f8(acc, steps[i].x, &weights, 3);
        for (int c = 0; c < AMP_CHANNELS; c++)
            assert_same_float(acc[c], steps[i].expected);
    }
}

/* 65504 + 15 rounds back, 65504 + 16 overflows. */
static inline void check_exit_overflow(const AmpTable *table) {
    static const F16 positive[] = {F16_INFINITE, F16_MAX, F16_QNAN};
    for (F16Overflow mode = F16_OVERFLOW_INFINITE; mode <= F16_OVERFLOW_NAN; mode++) {
        F16 words[AMP_CHANNELS][AMP_F16_INPUTS] = {{0}}, x[AMP_F16_INPUTS] = {0x3C00};
        F16 out[AMP_CHANNELS], partial[AMP_CHANNELS];
        for (int c = 0; c < AMP_CHANNELS; c++) {
            words[c][0] = c & 1 ? 0x4C00 : 0x4B80; /* 16, 15 */
            partial[c] = F16_MAX;
        }
        words[14][0] = 0xCC00; /* -16 */
        AmpWeights weights;
        amp_prepare_f16(&weights, (const uint64_t *)(const void *)words);
        AmpRows rows = {x, partial, out, 32, 32, 32, 1, mode, NULL, 0};
        table->rows_f16(&rows, &weights);
        for (int c = 0; c < AMP_CHANNELS; c++)
            assert_same(out[c], c == 14 ? 0x7BFE : c & 1 ? positive[mode] : F16_MAX);
    }
}

/* Two large products cancel and leave the smallest F16, which a double loses beside one of them. */
static inline void check_rows_that_cancel(const AmpTable *table) {
    AmpWeights weights;
    F16 partial[2][AMP_CHANNELS], out[2][AMP_CHANNELS];
    F16 words_f16[AMP_CHANNELS][AMP_F16_INPUTS] = {{0}}, x_f16[2][AMP_F16_INPUTS] = {{0}};
    uint8_t words_f8[AMP_CHANNELS][AMP_F8_INPUTS] = {{0}}, x_f8[2][AMP_F8_INPUTS] = {{0}};
    for (int c = 0; c < AMP_CHANNELS; c++) {
        partial[0][c] = partial[1][c] = 1;
        words_f16[c][8] = words_f16[c][9] = 0x7800;
        words_f8[c][8] = words_f8[c][9] = 0x7F;
    }
    for (int r = 0; r < 2; r++) {
        x_f16[r][8] = 0x7800;
        x_f16[r][9] = 0xF800;
        x_f8[r][8] = 0x7F;
        x_f8[r][9] = 0xFF;
    }
    AmpRows rows = {x_f16, partial[0], out[0], 32, 32, 32, 2, F16_OVERFLOW_NAN, NULL, 0};
    amp_prepare_f16(&weights, (const uint64_t *)(const void *)words_f16);
    table->rows_f16(&rows, &weights);
    assert_memory_equal(out, partial, sizeof out);
    rows.x = x_f8;
    amp_prepare_f8(&weights, (const uint64_t *)(const void *)words_f8, F8_F143, F8_F143, 31);
    memset(out, 0, sizeof out);
    table->rows_f8(&rows, &weights);
    assert_memory_equal(out, partial, sizeof out);
}

static inline void compare_amp(const AmpTable *table, const char *name, uint64_t cases) {
    check_directed_f16(table);
    check_directed_f8(table);
    check_exit_overflow(table);
    check_rows_that_cancel(table);
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
