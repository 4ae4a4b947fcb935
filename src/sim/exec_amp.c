/* Semantics of the accumulators: reductions, read-out, and the matrix units (AMP, SLIC).
 *
 * Unit u computes in AACC[2u] (here compute[u]) and shifts partials in and results out through
 * AACC[2u + 1] (shift[u]). Units 0 … 7 are set 0, units 8 … 15 set 1. Accumulators are float32 and
 * every instruction rounds each of them once, to nearest even (CHIP_AMP_MODEL_…, assumed). */
#include "num/aligned.h"
#include "num/exact.h"
#include "sim/rounding.h"

#define SET 8u /* units of a set */

static inline float canonical(float value) {
    return isnan(value) ? f32_from_bits((uint32_t)CHIP_QNAN_F32) : value;
}

/* Reductions: lane k is added to compute[k]. ----------------------------------------------------*/

#define ACCUMULATE(name, lanes, value, expression)                                                 \
    static void name(Context *c, const Half *h) {                                                  \
        exec_rows_settle(c);                                                                       \
        for (unsigned i = 0; i < (lanes); i++) {                                                   \
            float x = value(c, h->r[0], i), sum = c->compute[i];                                   \
            c->compute[i] = canonical(expression);                                                 \
        }                                                                                          \
    }
ACCUMULATE(f16v4acc, 4, lane_half, sum + x)
ACCUMULATE(f16v4absacc, 4, lane_half, sum + fabsf(x))
ACCUMULATE(f16v8acc, 8, lane_half, sum + x)
ACCUMULATE(f16v8absacc, 8, lane_half, sum + fabsf(x))
ACCUMULATE(f16v8sqacc, 8, lane_half, fmaf(x, x, sum))
ACCUMULATE(f32v4acc, 4, lane_f32, sum + x)
ACCUMULATE(f32v4absacc, 4, lane_f32, sum + fabsf(x))
ACCUMULATE(f32v4sqacc, 4, lane_f32, fmaf(x, x, sum))

#define MAC(name, lanes)                                                                           \
    static void name(Context *c, const Half *h) {                                                  \
        exec_rows_settle(c);                                                                       \
        for (unsigned i = 0; i < (lanes); i++)                                                     \
            c->compute[i] =                                                                        \
                canonical(fmaf(lane_f32(c, h->r[0], i), lane_f32(c, h->r[1], i), c->compute[i]));  \
    }
MAC(f32mac, 1)
MAC(f32v2mac, 2)

/* The 2 x 2 outer product: accumulator 2i + j of the four that the immediate names += s[i] * t[j].
 */
static void f32v2aop(Context *c, const Half *h) {
    unsigned first = (unsigned)h->imm * CHIP_AOP_IMMEDIATE_STEP;
    if (first + 4 > 2 * SET) {
        trap_raise(c, ERR_SIM_OPERAND, 0, "f32v2aop with immediate %d, which names no accumulators",
                   h->imm);
        return;
    }
    exec_rows_settle(c);
    for (unsigned i = 0; i < 4; i++)
        c->compute[first + i] = canonical(
            fmaf(lane_f32(c, h->r[0], i / 2), lane_f32(c, h->r[1], i % 2), c->compute[first + i]));
}

/* a * b + c * d + sum, rounded once. */
static float two_products(float a, float b, float c, float d, float sum) {
    double terms[3] = {(double)a * b, (double)c * d, sum};
    return exact_sum_f32(terms, 3);
}
#define CMAC(name, pairs)                                                                          \
    static void name(Context *c, const Half *h) {                                                  \
        exec_rows_settle(c);                                                                       \
        for (unsigned i = 0; i < (pairs); i++)                                                     \
            c->compute[i] =                                                                        \
                two_products(lane_half(c, h->r[0], 2 * i), lane_half(c, h->r[1], 2 * i),           \
                             lane_half(c, h->r[0], 2 * i + 1), lane_half(c, h->r[1], 2 * i + 1),   \
                             c->compute[i]);                                                       \
    }
CMAC(f16v2cmac, 1)
CMAC(f16v4cmac, 2)

static void f32v2axpy(Context *c, const Half *h) {
    exec_rows_settle(c);
    float old[2] = {c->compute[0], c->compute[1]}, factor = f32_from_bits(c->tas);
    for (unsigned i = 0; i < 2; i++)
        c->compute[i] = canonical(fmaf(factor, lane_f32(c, h->r[1], i), lane_f32(c, h->r[2], i)));
    set_lanes_f32(c, h->r[0], old, 2);
}

static void f16v4mix(Context *c, const Half *h) {
    exec_rows_settle(c);
    F16 old[4];
    for (unsigned i = 0; i < 4; i++)
        old[i] = round_f16_out(c, c->compute[i]);
    for (unsigned i = 0; i < 4; i++)
        c->compute[i] = f16_mix((F16)c->tas, lane_f16(c, h->r[1], i), (F16)(c->tas >> 16),
                                lane_f16(c, h->r[2], i));
    set_lanes_f16(c, h->r[0], old, 4);
}

/* Read-out --------------------------------------------------------------------------------------*/

static void f16v4gacc(Context *c, const Half *h) {
    exec_rows_settle(c);
    F16 d[4];
    for (unsigned i = 0; i < 4; i++)
        d[i] = round_f16_out(c, c->compute[i]);
    set_lanes_f16(c, h->r[0], d, 4);
}

/* The accumulators that a gina immediate names. */
static float *gina_set(Context *c, int32_t which) {
    exec_rows_settle(c);
    switch (which) {
    case 0: return c->compute;
    case 1: return c->shift;
    case CHIP_GINA_SET1_EVEN: return c->compute + SET;
    case CHIP_GINA_SET1_ODD: return c->shift + SET;
    default:
        trap_raise(c, ERR_SIM_OPERAND, 0, "gina with immediate %d, which names no accumulators",
                   which);
        return NULL;
    }
}

/* Takes two values out at the low end of a set and puts two in at the high end. */
static void shift_set(float *set, unsigned units, float out[2], const float in[2]) {
    out[0] = set[0];
    out[1] = set[1];
    memmove(set, set + 2, (units - 2) * sizeof *set);
    set[units - 2] = in[0];
    set[units - 1] = in[1];
}

static void f32v2gina(Context *c, const Half *h) {
    float *set = gina_set(c, h->imm);
    if (!set)
        return;
    float out[2], in[2] = {lane_f32(c, h->r[1], 0), lane_f32(c, h->r[1], 1)};
    shift_set(set, SET, out, in);
    set_lanes_f32(c, h->r[0], out, 2);
}

static void f16v2gina(Context *c, const Half *h) {
    float *set = gina_set(c, h->imm);
    if (!set)
        return;
    float out[2], in[2] = {lane_half(c, h->r[1], 0), lane_half(c, h->r[1], 1)};
    shift_set(set, SET, out, in);
    F16 d[2] = {round_f16_out(c, out[0]), round_f16_out(c, out[1])};
    set_lanes_f16(c, h->r[0], d, 2);
}

/* The transpose pipe moves raw words of set 0 (inferred from two uses in poplibs). */
static void take_odd(Context *c, unsigned r) {
    memcpy(&c->a[r], c->shift, 8);
    memmove(c->shift, c->shift + 2, (SET - 2) * sizeof *c->shift);
}

static bool transpose_phase(Context *c, int32_t phase, int32_t first) {
    exec_rows_settle(c);
    if (phase == first || phase == first + 1)
        return true;
    trap_raise(c, ERR_SIM_OPERAND, 0, "phase %d, which the transpose pipe does not have", phase);
    return false;
}

static void f16v4istacc(Context *c, const Half *h) {
    if (!transpose_phase(c, h->imm, CHIP_TISTACC_P0))
        return;
    unsigned odd = (unsigned)(h->imm - CHIP_TISTACC_P0);
    uint32_t words[4];
    for (unsigned j = 0; j < 4; j++)
        words[j] = lane_f16(c, h->r[1], j) | (uint32_t)lane_f16(c, h->r[2], j) << 16;
    take_odd(c, h->r[0]);
    for (unsigned j = 0; j < 4; j++)
        memcpy(&c->compute[2 * j + odd], &words[j], 4);
}

static void f16v4stacc(Context *c, const Half *h) {
    if (!transpose_phase(c, h->imm, CHIP_TSTACC_P0))
        return;
    if (h->imm == CHIP_TSTACC_P0) {
        memcpy(&c->a[h->r[0]], c->compute, 8);
        memcpy(c->shift, c->compute + 2, (SET - 2) * sizeof *c->shift);
    } else {
        take_odd(c, h->r[0]);
    }
}

/* AMP -------------------------------------------------------------------------------------------*/

/* What a phase immediate says: how many of the four engines work (two units of each set an
 * engine), and which phase of the block it is. */
typedef struct Phase {
    unsigned engines, number;
} Phase;

static bool f16_phase(Context *c, int32_t imm, Phase *phase) {
    if (imm >= CHIP_TAMP_F16V4_E4_P0 && imm < CHIP_TAMP_F16V4_E4_P0 + 4)
        *phase = (Phase){4, (unsigned)(imm - CHIP_TAMP_F16V4_E4_P0)};
    else if (imm >= CHIP_TAMP_F16V4_E2_P0 && imm < CHIP_TAMP_F16V4_E2_P0 + 2)
        *phase = (Phase){2, (unsigned)(imm - CHIP_TAMP_F16V4_E2_P0)};
    else if (imm == CHIP_TAMP_F16V4_E1_P0)
        *phase = (Phase){1, 0};
    else {
        trap_raise(c, ERR_SIM_OPERAND, 0, "phase %d, which the instruction does not have", imm);
        return false;
    }
    return true;
}

static bool f32_phase(Context *c, int32_t imm, Phase *phase) {
    if (imm >= CHIP_TAMP_F32_E4_P0 && imm < CHIP_TAMP_F32_E4_P0 + 8)
        *phase = (Phase){4, (unsigned)(imm - CHIP_TAMP_F32_E4_P0)};
    else if (imm >= CHIP_TAMP_F32_E2_P0 && imm < CHIP_TAMP_F32_E2_P0 + 4)
        *phase = (Phase){2, (unsigned)(imm - CHIP_TAMP_F32_E2_P0)};
    else if (imm == CHIP_TAMP_F32_E1_P0 || imm == CHIP_TAMP_F32_E1_P2)
        *phase = (Phase){1, (unsigned)(imm - CHIP_TAMP_F32_E1_P0)};
    else {
        trap_raise(c, ERR_SIM_OPERAND, 0, "phase %d, which the instruction does not have", imm);
        return false;
    }
    return true;
}

const uint8_t exec_unit_of_channel[AMP_CHANNELS] = {0, 1, 8,  9,  2, 3, 10, 11,
                                                    4, 5, 12, 13, 6, 7, 14, 15};

/* Two sets of weights in one block: by unit, then by channel. They want 64-byte alignment. */
static AmpWeights *prepared_weights(Context *c) {
    Tile *tile = c->tile;
    if (tile->prepared)
        return tile->prepared;
    tile->prepared_block = mem_alloc(1, 2 * sizeof(AmpWeights) + _Alignof(AmpWeights));
    if (!tile->prepared_block) {
        trap_raise(c, ERR_NO_MEMORY, 0, "no memory left on the host for prepared weights");
        return NULL;
    }
    uintptr_t address = (uintptr_t)tile->prepared_block;
    address = align_up(address, _Alignof(AmpWeights));
    return tile->prepared = (AmpWeights *)address;
}

#define KEY_VALID (1u << 16)
#define KEY_F8    (1u << 17)

/* For which formats and scale weights are to be prepared. */
static uint32_t weights_key(const Context *c, bool f8) {
    const uint32_t scale_mask = (1u << CHIP_FP_SCL_BITS) - 1;
    return f8 ? KEY_VALID | KEY_F8 | (c->fp_format & 3) << 8 | (c->fp_scale & scale_mask)
              : KEY_VALID;
}

/* Formats and scale of FP8 products, as the worker has set them. */
typedef struct F8State {
    F8Format format, weight_format;
    int scale;
} F8State;

static F8State f8_state(const Context *c) {
    const unsigned spare = 32 - CHIP_FP_SCL_BITS;
    return (F8State){
        .format = (F8Format)(c->fp_format >> CHIP_CSR_W_FP_NFMT_ARF_FMT_SHIFT & 1),
        .weight_format = (F8Format)(c->fp_format >> CHIP_CSR_W_FP_NFMT_CWEI_FMT_SHIFT & 1),
        .scale = (int32_t)(c->fp_scale << spare) >> spare,
    };
}

static void prepare(const Context *c, AmpWeights *weights, const uint64_t words[64], bool f8) {
    if (!f8) {
        amp_prepare_f16(weights, words);
        return;
    }
    F8State state = f8_state(c);
    amp_prepare_f8(weights, words, state.format, state.weight_format, state.scale);
}

const AmpWeights *exec_weights(Context *c, bool f8) {
    Tile *tile = c->tile;
    uint32_t key = weights_key(c, f8);
    if (__builtin_expect(tile->prepared_key == key, 1))
        return tile->prepared;
    AmpWeights *weights = prepared_weights(c);
    if (!weights)
        return NULL;
    prepare(c, weights, tile->weights, f8);
    tile->prepared_key = key;
    return weights;
}

const AmpWeights *exec_row_weights(Context *c, bool f8) {
    Tile *tile = c->tile;
    uint32_t key = weights_key(c, f8);
    if (__builtin_expect(tile->row_key == key, 1))
        return tile->prepared + 1;
    AmpWeights *weights = prepared_weights(c);
    if (!weights)
        return NULL;
    uint64_t words[4 * AMP_CHANNELS];
    for (unsigned i = 0; i < AMP_CHANNELS; i++)
        memcpy(words + 4 * i, tile->weights + 4 * exec_unit_of_channel[i], 4 * sizeof *words);
    prepare(c, weights + 1, words, f8);
    tile->row_key = key;
    return weights + 1;
}

/* In phase 0 the units swap what they computed with the partials that were shifted in. Units of
 * idle engines and sets do nothing. */
static void swap_units(Context *c, unsigned sets, unsigned units) {
    for (unsigned set = 0; set < sets; set++) {
        for (unsigned u = set * SET; u < set * SET + units; u++) {
            float computed = c->compute[u];
            c->compute[u] = c->shift[u];
            c->shift[u] = computed;
        }
    }
}

/* The same step by the aligned model. */
static void step_aligned(Context *c, unsigned sets, unsigned units, bool f8, const void *x,
                         unsigned phase) {
    F8State state = f8_state(c);
    for (unsigned set = 0; set < sets; set++) {
        for (unsigned u = set * SET; u < set * SET + units; u++) {
            const void *w = &c->tile->weights[4 * u + phase];
            c->compute[u] = f8 ? amp_aligned_f8(c->compute[u], x, state.format, w,
                                                state.weight_format, state.scale)
                               : amp_aligned_f16(c->compute[u], x, w);
        }
    }
}

/* The same with one F32 product. */
static float step_f32(const Context *c, float acc, float x, float weight) {
    return c->aligned ? amp_aligned_f32(acc, x, weight) : amp_step_f32(acc, x, weight);
}

/* The dot-product step of `units` units of each of `sets` sets with four F16 or eight F8. */
static bool step_units(Context *c, unsigned sets, unsigned units, bool f8, const void *x,
                       unsigned phase) {
    if (c->aligned) {
        step_aligned(c, sets, units, f8, x, phase);
        return true;
    }
    const AmpWeights *weights = exec_weights(c, f8);
    if (!weights)
        return false;
    float accumulator[AMP_CHANNELS];
    float *target = sets * units == AMP_CHANNELS ? c->compute : accumulator;
    memcpy(accumulator, c->compute, sizeof accumulator);
    if (f8)
        amp_phase_f8(target, x, weights, (int)phase);
    else
        amp_phase_f16(target, x, weights, (int)phase);
    if (target == accumulator)
        for (unsigned set = 0; set < sets; set++)
            memcpy(c->compute + set * SET, accumulator + set * SET, units * sizeof *accumulator);
    return true;
}

/* One instruction on F16 or F8 inputs; out and in hold two values a set. */
static bool amp(Context *c, const Half *h, unsigned sets, bool f8, float *out, const float *in) {
    Phase phase;
    if (!f16_phase(c, h->imm, &phase))
        return false;
    exec_rows_settle(c);
    unsigned units = 2 * phase.engines;
    uint64_t x;
    memcpy(&x, &c->a[h->r[1]], sizeof x);
    if (phase.number == 0)
        swap_units(c, sets, units);
    if (!step_units(c, sets, units, f8, &x, phase.number))
        return false;
    for (unsigned set = 0; set < sets; set++)
        shift_set(c->shift + set * SET, units, out + 2 * set, in + 2 * set);
    return true;
}

static void amp_v4(Context *c, const Half *h, bool f8) {
    float out[4], in[4];
    for (unsigned i = 0; i < 4; i++)
        in[i] = lane_half(c, h->r[2], i);
    if (!amp(c, h, 2, f8, out, in))
        return;
    F16 d[4];
    for (unsigned i = 0; i < 4; i++)
        d[i] = round_f16_out(c, out[i]);
    set_lanes_f16(c, h->r[0], d, 4);
}
static void f16v4hihov4amp(Context *c, const Half *h) {
    amp_v4(c, h, false);
}
static void f8v8hihov4amp(Context *c, const Half *h) {
    amp_v4(c, h, true);
}

/* Eight-channel forms: IN and OUT say whether partials and results are F16 or F32. */
#define AMP_SET0(name, value_in, set_out)                                                          \
    static void name(Context *c, const Half *h) {                                                  \
        float out[2], in[2] = {value_in(c, h->r[2], 0), value_in(c, h->r[2], 1)};                  \
        if (amp(c, h, 1, false, out, in))                                                          \
            set_out(c, h->r[0], out);                                                              \
    }
static void results_f16(Context *c, unsigned r, const float out[2]) {
    F16 d[2] = {round_f16_out(c, out[0]), round_f16_out(c, out[1])};
    set_lanes_f16(c, r, d, 2);
}
static void results_f32(Context *c, unsigned r, const float out[2]) {
    set_lanes_f32(c, r, out, 2);
}
AMP_SET0(f16v4hihoamp, lane_half, results_f16)
AMP_SET0(f16v4sihoamp, lane_f32, results_f16)
AMP_SET0(f16v4sisoamp, lane_f32, results_f32)

/* F32: one input; phase p uses word p % 2 of weight register p / 2. Set s moves in the phases with
 * p % 2 == s; the one-set form neither takes nor gives anything in odd phases. */
static void amp_f32(Context *c, const Half *h, unsigned sets) {
    Phase phase;
    if (!f32_phase(c, h->imm, &phase))
        return;
    exec_rows_settle(c);
    unsigned units = 2 * phase.engines, moving = phase.number % 2;
    float x = lane_f32(c, h->r[1], 0);
    float in[2] = {lane_f32(c, h->r[2], 0), lane_f32(c, h->r[2], 1)}, out[2] = {0, 0};
    if (phase.number == 0)
        swap_units(c, sets, units);
    for (unsigned set = 0; set < sets; set++) {
        for (unsigned u = set * SET; u < set * SET + units; u++) {
            uint64_t word = c->tile->weights[4 * u + phase.number / 2];
            float weight = f32_from_bits((uint32_t)(word >> 32 * (phase.number % 2)));
            c->compute[u] = step_f32(c, c->compute[u], x, weight);
        }
    }
    if (moving < sets)
        shift_set(c->shift + moving * SET, units, out, in);
    set_lanes_f32(c, h->r[0], out, 2);
}
/* The one-set F32 forms use $TAS as scratch; what they leave there is not public: here a NaN, so
 * that nothing can rely on it. */
static void spoil_tas(Context *c) {
    c->tas = (uint32_t)CHIP_QNAN_F32;
}
static void f32sisoamp(Context *c, const Half *h) {
    amp_f32(c, h, 1);
    spoil_tas(c);
}
static void f32sisov2amp(Context *c, const Half *h) {
    amp_f32(c, h, 2);
}

/* SLIC ------------------------------------------------------------------------------------------*/

/* One position of a slim convolution over a window of four: tap t of channel k works in unit
 * 6 - 2t + k % 2 of set k / 2, and its sum goes on to the unit of the next tap. The result that
 * leaves is that of the position four instructions back. */
static bool slic(Context *c, const Half *h, unsigned channels, bool f8, float *out,
                 const float *in) {
    int32_t mode = h->imm - CHIP_TSLIC_F16V4_1x4_W0;
    if (mode < 0 || mode > 1) {
        trap_raise(c, ERR_SIM_OPERAND, 0, "mode %d, which the instruction does not have", h->imm);
        return false;
    }
    exec_rows_settle(c);
    uint64_t x;
    memcpy(&x, &c->a[h->r[1]], sizeof x);
    unsigned sets = channels / 2;
    for (unsigned set = 0; set < sets; set++)
        shift_set(c->compute + set * SET, SET, out + 2 * set, in + 2 * set);
    return step_units(c, sets, SET, f8, &x, (unsigned)mode);
}

#define SLIC(name, channels, f8, value_in, set_out)                                                \
    static void name(Context *c, const Half *h) {                                                  \
        float out[channels], in[channels];                                                         \
        for (unsigned i = 0; i < (channels); i++)                                                  \
            in[i] = value_in(c, h->r[2], i);                                                       \
        if (slic(c, h, channels, f8, out, in))                                                     \
            set_out(c, h->r[0], out);                                                              \
    }
static void results_v4(Context *c, unsigned r, const float out[4]) {
    F16 d[4];
    for (unsigned i = 0; i < 4; i++)
        d[i] = round_f16_out(c, out[i]);
    set_lanes_f16(c, r, d, 4);
}
SLIC(f16v4hihoslic, 2, false, lane_half, results_f16)
SLIC(f16v4sihoslic, 2, false, lane_f32, results_f16)
SLIC(f16v4sisoslic, 2, false, lane_f32, results_f32)
SLIC(f16v4hihov4slic, 4, false, lane_half, results_v4)
SLIC(f8v8hihov4slic, 4, true, lane_half, results_v4)

/* F32: a position has two inputs. Step L (low words of the weights) moves the chain, takes partials
 * and gives results; step U (high words) adds to the same sums and moves nothing. */
static void f32sisoslic(Context *c, const Half *h) {
    int32_t mode = h->imm - CHIP_TSLIC_F32_1x4_W0_L;
    if (mode < 0 || mode > 3) {
        trap_raise(c, ERR_SIM_OPERAND, 0, "mode %d, which the instruction does not have", h->imm);
        return;
    }
    exec_rows_settle(c);
    unsigned upper = (unsigned)mode & 1, n = (unsigned)mode >> 1;
    float x = lane_f32(c, h->r[1], 0), out[2] = {0, 0};
    float in[2] = {lane_f32(c, h->r[2], 0), lane_f32(c, h->r[2], 1)};
    if (!upper)
        shift_set(c->compute, SET, out, in);
    for (unsigned u = 0; u < SET; u++) {
        float weight = f32_from_bits((uint32_t)(c->tile->weights[4 * u + n] >> 32 * upper));
        c->compute[u] = step_f32(c, c->compute[u], x, weight);
    }
    set_lanes_f32(c, h->r[0], out, 2);
    spoil_tas(c);
}

ExecTable exec_amp = {
    [ISA_F32MAC] = f32mac,
    [ISA_F32V2AOP] = f32v2aop,
    [ISA_F32SISOSLIC] = f32sisoslic,
    [ISA_F32V2MAC] = f32v2mac,
    [ISA_F16V2CMAC] = f16v2cmac,
    [ISA_F16V4CMAC] = f16v4cmac,
    [ISA_F16V4ACC] = f16v4acc,
    [ISA_F16V4ABSACC] = f16v4absacc,
    [ISA_F16V8ACC] = f16v8acc,
    [ISA_F16V8ABSACC] = f16v8absacc,
    [ISA_F16V8SQACC] = f16v8sqacc,
    [ISA_F32V4ACC] = f32v4acc,
    [ISA_F32V4ABSACC] = f32v4absacc,
    [ISA_F32V4SQACC] = f32v4sqacc,
    [ISA_F16V2GINA] = f16v2gina,
    [ISA_F32V2GINA] = f32v2gina,
    [ISA_F16V4GACC] = f16v4gacc,
    [ISA_F32V2AXPY] = f32v2axpy,
    [ISA_F16V4MIX] = f16v4mix,
    [ISA_F16V4ISTACC] = f16v4istacc,
    [ISA_F16V4STACC] = f16v4stacc,
    [ISA_F16V4HIHOAMP] = f16v4hihoamp,
    [ISA_F16V4SIHOAMP] = f16v4sihoamp,
    [ISA_F16V4SISOAMP] = f16v4sisoamp,
    [ISA_F16V4HIHOV4AMP] = f16v4hihov4amp,
    [ISA_F8V8HIHOV4AMP] = f8v8hihov4amp,
    [ISA_F32SISOAMP] = f32sisoamp,
    [ISA_F32SISOV2AMP] = f32sisov2amp,
    [ISA_F16V4HIHOSLIC] = f16v4hihoslic,
    [ISA_F16V4SIHOSLIC] = f16v4sihoslic,
    [ISA_F16V4SISOSLIC] = f16v4sisoslic,
    [ISA_F16V4HIHOV4SLIC] = f16v4hihov4slic,
    [ISA_F8V8HIHOV4SLIC] = f8v8hihov4slic,
};
