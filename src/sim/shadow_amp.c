/* The shadow of accumulators and matrix units, which follows sim/exec_amp.c unit by unit. */
#include "sim/shadow.h"

#define SET 8u /* units of a set */

/* Up to eight values on their way to or from accumulators: a bit each, and why. */
typedef struct Lanes {
    unsigned bad;
    Origin origin;
} Lanes;

/* ---- NaNs ----------------------------------------------------------------------------------- */

static bool word_has_nan(uint64_t word, unsigned format, unsigned bytes) {
    const unsigned size = format == FORMAT_F8 ? 1 : format == FORMAT_F16 ? 2 : 4;
    for (unsigned i = 0; i < bytes; i += size) {
        uint64_t value = word >> 8 * i;
        if (format == FORMAT_F8    ? (value & 0xFF) == 0x80
            : format == FORMAT_F16 ? (value & 0x7FFF) > 0x7C00
                                   : (value & 0x7FFFFFFF) > 0x7F800000)
            return true;
    }
    return false;
}

/* ---- registers ------------------------------------------------------------------------------ */

/* Lanes of `width` bits of an operand, and NaNs among them if `format` is one. */
static Lanes take_lanes(const Step *s, unsigned index, unsigned count, unsigned width,
                        unsigned format) {
    const unsigned number = s->half->r[index];
    Lanes lanes = {0};
    for (unsigned i = 0; i < count; i++) {
        unsigned word = (number + i * width / 32) & 15, shift = i * width % 32;
        uint32_t mask = UINT32_MAX >> (32 - width);
        if (shadow_bad_aux(s, word) >> shift & mask) {
            if (!lanes.bad)
                lanes.origin = s->shadow->aux[word & 7];
        } else if (format < FORMATS && shadow_checks(s) & MACHINE_CHECK_NAN &&
                   word_has_nan(s->context->a[word] >> shift, format, width / 8)) {
            if (!lanes.bad)
                lanes.origin = (Origin){.address = word < 8 ? s->shadow->loaded[word] : 0,
                                        .pc = context_pc(s->context),
                                        .cause = CAUSE_NAN};
        } else {
            continue;
        }
        lanes.bad |= 1u << i;
    }
    return lanes;
}

static Lanes join_lanes(Lanes one, Lanes other) {
    if (!one.bad)
        one.origin = other.origin;
    one.bad |= other.bad;
    return one;
}

static Results give_lanes(Lanes lanes, unsigned count, unsigned width) {
    Results results = {.origin = lanes.origin};
    for (unsigned i = 0; i < count; i++)
        if (lanes.bad >> i & 1)
            results.bits[i * width / 32] |= UINT32_MAX >> (32 - width) << i * width % 32;
    return results;
}

/* ---- accumulators --------------------------------------------------------------------------- */

typedef struct Units {
    uint16_t *bad;
    Origin *origin;
} Units;

static Units compute_of(const Step *s) {
    return (Units){&s->shadow->compute, s->shadow->compute_origin};
}
static Units shift_of(const Step *s) {
    return (Units){&s->shadow->shift, s->shadow->shift_origin};
}

static void set_unit(Units units, unsigned unit, bool bad, const Origin *origin) {
    *units.bad = (uint16_t)((*units.bad & ~(1u << unit)) | (unsigned)bad << unit);
    if (bad)
        units.origin[unit] = *origin;
}

static bool unit_is_bad(Units units, unsigned unit) {
    return *units.bad >> unit & 1;
}

/* What is bad stays so: the lanes are added to unit 0 … */
static void add_lanes(Units units, Lanes lanes) {
    for (unsigned set = lanes.bad; set; set &= set - 1) {
        unsigned unit = (unsigned)__builtin_ctz(set);
        if (!unit_is_bad(units, unit))
            set_unit(units, unit, true, &lanes.origin);
    }
}

static Lanes read_units(Units units, unsigned first, unsigned count) {
    Lanes lanes = {.bad = (unsigned)*units.bad >> first & ((1u << count) - 1)};
    if (lanes.bad)
        lanes.origin = units.origin[first + (unsigned)__builtin_ctz(lanes.bad)];
    return lanes;
}

/* Two values out of units first and first + 1, two into the last two of `count`. */
static Lanes shift_units(Units units, unsigned first, unsigned count, Lanes in) {
    Lanes out = read_units(units, first, 2);
    unsigned mask = ((1u << count) - 1) << first;
    if (!(*units.bad & mask) && !in.bad)
        return out;
    for (unsigned i = first; i + 2 < first + count; i++)
        set_unit(units, i, unit_is_bad(units, i + 2), &units.origin[i + 2]);
    set_unit(units, first + count - 2, in.bad & 1, &in.origin);
    set_unit(units, first + count - 1, in.bad >> 1 & 1, &in.origin);
    return out;
}

static void swap_units(const Step *s, unsigned first, unsigned count) {
    Units compute = compute_of(s), shift = shift_of(s);
    unsigned mask = ((1u << count) - 1) << first;
    if (!((*compute.bad | *shift.bad) & mask))
        return;
    for (unsigned u = first; u < first + count; u++) {
        bool bad = unit_is_bad(compute, u);
        Origin origin = compute.origin[u];
        set_unit(compute, u, unit_is_bad(shift, u), &shift.origin[u]);
        set_unit(shift, u, bad, &origin);
    }
}

/* ---- matrix units --------------------------------------------------------------------------- */

/* Units whose weights of a phase are bad. */
static unsigned bad_weights(const Step *s, unsigned format, unsigned phase) {
    struct Shadow *tile = s->tile;
    if (tile->known[format] >> phase & 1)
        return tile->bad_units[format][phase];
    unsigned units = 0;
    for (unsigned u = 0; u < AMP_CHANNELS; u++) {
        uint64_t word = s->context->tile->weights[4 * u + phase];
        if (tile->weights[4 * u + phase] ||
            (shadow_checks(s) & MACHINE_CHECK_NAN && word_has_nan(word, format, 8)))
            units |= 1u << u;
    }
    tile->known[format] |= (uint8_t)(1u << phase);
    return tile->bad_units[format][phase] = (uint16_t)units;
}

static Origin weight_origin(const Step *s, unsigned number) {
    Origin origin = s->tile->weight_origin[number];
    if (!s->tile->weights[number])
        origin.cause = CAUSE_NAN;
    return origin;
}

/* `units` units of each of `sets` sets multiply what is in x with their weights. */
static void multiply(const Step *s, unsigned sets, unsigned units, unsigned format, unsigned phase,
                     Lanes x) {
    Units compute = compute_of(s);
    struct Shadow *tile = s->tile;
    unsigned working = ((1u << units) - 1) | (sets > 1 ? ((1u << units) - 1) << SET : 0);
    tile->weights_used = tile->launch;
    if (x.bad)
        add_lanes(compute, (Lanes){working, x.origin});
    if (tile->weights_changed && tile->weights_changed == tile->launch)
        add_lanes(compute,
                  (Lanes){working, {.pc = context_pc(s->context), .cause = CAUSE_SUPERVISOR}});
    for (unsigned bad = bad_weights(s, format, phase) & working; bad; bad &= bad - 1) {
        unsigned u = (unsigned)__builtin_ctz(bad);
        add_lanes(compute, (Lanes){1u << u, weight_origin(s, 4 * u + phase)});
    }
}

typedef struct Matrix {
    IsaForm form;
    uint8_t sets, format, width_in, width_out;
} Matrix;

static const Matrix matrices[] = {
    {ISA_F16V4HIHOAMP, 1, FORMAT_F16, 16, 16},    {ISA_F16V4SIHOAMP, 1, FORMAT_F16, 32, 16},
    {ISA_F16V4SISOAMP, 1, FORMAT_F16, 32, 32},    {ISA_F16V4HIHOV4AMP, 2, FORMAT_F16, 16, 16},
    {ISA_F8V8HIHOV4AMP, 2, FORMAT_F8, 16, 16},    {ISA_F32SISOAMP, 1, FORMAT_F32, 32, 32},
    {ISA_F32SISOV2AMP, 2, FORMAT_F32, 32, 32},    {ISA_F16V4HIHOSLIC, 1, FORMAT_F16, 16, 16},
    {ISA_F16V4SIHOSLIC, 1, FORMAT_F16, 32, 16},   {ISA_F16V4SISOSLIC, 1, FORMAT_F16, 32, 32},
    {ISA_F16V4HIHOV4SLIC, 2, FORMAT_F16, 16, 16}, {ISA_F8V8HIHOV4SLIC, 2, FORMAT_F8, 16, 16},
};

static const Matrix *matrix_of(IsaForm form) {
    for (size_t i = 0; i < COUNT_OF(matrices); i++)
        if (matrices[i].form == form)
            return &matrices[i];
    return NULL;
}

/* Units of a set that work, and the phase; false for what traps when it is executed. */
static bool find_phase(int32_t imm, bool f32, unsigned *units, unsigned *phase) {
    static const struct {
        int32_t first, count;
        unsigned units;
    } f16_phases[] = {{CHIP_TAMP_F16V4_E4_P0, 4, 8},
                      {CHIP_TAMP_F16V4_E2_P0, 2, 4},
                      {CHIP_TAMP_F16V4_E1_P0, 1, 2}},
      f32_phases[] = {{CHIP_TAMP_F32_E4_P0, 8, 8},
                      {CHIP_TAMP_F32_E2_P0, 4, 4},
                      {CHIP_TAMP_F32_E1_P0, 1, 2},
                      {CHIP_TAMP_F32_E1_P2, 1, 2}};
    for (size_t i = 0; i < (f32 ? COUNT_OF(f32_phases) : COUNT_OF(f16_phases)); i++) {
        int32_t first = f32 ? f32_phases[i].first : f16_phases[i].first;
        int32_t count = f32 ? f32_phases[i].count : f16_phases[i].count;
        if (imm < first || imm >= first + count)
            continue;
        *units = f32 ? f32_phases[i].units : f16_phases[i].units;
        *phase = (unsigned)(imm - (f32 && count == 1 ? CHIP_TAMP_F32_E1_P0 : first));
        return true;
    }
    return false;
}

/* Lanes first and first + 1. */
static Lanes pair_of(Lanes lanes, unsigned first) {
    return (Lanes){lanes.bad >> first & 3, lanes.origin};
}

static Results amp_f32(const Step *s, const Matrix *matrix) {
    unsigned units, phase;
    if (!find_phase(s->half->imm, true, &units, &phase))
        return (Results){0};
    Lanes x = take_lanes(s, 1, 1, 32, FORMAT_F32), in = take_lanes(s, 2, 2, 32, FORMAT_F32);
    Lanes out = {0};
    unsigned moving = phase % 2;
    for (unsigned set = 0; set < matrix->sets && phase == 0; set++)
        swap_units(s, set * SET, units);
    multiply(s, matrix->sets, units, FORMAT_F32, phase / 2, x);
    if (moving < matrix->sets)
        out = shift_units(shift_of(s), moving * SET, units, in);
    return give_lanes(out, 2, 32);
}

static Results amp(const Step *s, const Matrix *matrix) {
    bool slic = strstr(isa_form_info(s->form)->mnemonic, "slic") != NULL;
    unsigned units = SET, phase = (unsigned)(s->half->imm - CHIP_TSLIC_F16V4_1x4_W0);
    if (slic ? phase > 1 : !find_phase(s->half->imm, false, &units, &phase))
        return (Results){0};
    unsigned lanes = 2u * matrix->sets;
    Lanes x = take_lanes(s, 1, 2, 32, matrix->format), out = {0};
    Lanes in =
        take_lanes(s, 2, lanes, matrix->width_in, matrix->width_in == 16 ? FORMAT_F16 : FORMAT_F32);
    for (unsigned set = 0; set < matrix->sets && phase == 0 && !slic; set++)
        swap_units(s, set * SET, units);
    if (!slic)
        multiply(s, matrix->sets, units, matrix->format, phase, x);
    for (unsigned set = 0; set < matrix->sets; set++) {
        Lanes left =
            shift_units(slic ? compute_of(s) : shift_of(s), set * SET, units, pair_of(in, 2 * set));
        left.bad <<= 2 * set;
        out = join_lanes(out, left);
    }
    if (slic)
        multiply(s, matrix->sets, units, matrix->format, phase, x);
    return give_lanes(out, lanes, matrix->width_out);
}

/* ---- reductions and read-out ---------------------------------------------------------------- */

static Results gina(const Step *s) {
    bool f32 = s->form == ISA_F32V2GINA;
    unsigned width = f32 ? 32 : 16;
    bool odd = s->half->imm == 1 || s->half->imm == CHIP_GINA_SET1_ODD;
    bool high = s->half->imm == CHIP_GINA_SET1_EVEN || s->half->imm == CHIP_GINA_SET1_ODD;
    Lanes in = take_lanes(s, 1, 2, width, FORMATS);
    Lanes out = shift_units(odd ? shift_of(s) : compute_of(s), high ? SET : 0, SET, in);
    return give_lanes(out, 2, width);
}

/* d = accumulators as they were; they become factors times s and t. */
static Results exchange_lanes(const Step *s, unsigned count, unsigned width) {
    Units compute = compute_of(s);
    Lanes old = read_units(compute, 0, count);
    Lanes new = join_lanes(take_lanes(s, 1, count, width, FORMATS),
                           take_lanes(s, 2, count, width, FORMATS));
    if (s->shadow->tas)
        new = join_lanes(new, (Lanes){(1u << count) - 1, s->shadow->tas_origin});
    for (unsigned i = 0; i < count; i++)
        set_unit(compute, i, new.bad >> i & 1, &new.origin);
    return give_lanes(old, count, width);
}

static Lanes take_odd(const Step *s) {
    Units shift = shift_of(s);
    Lanes stay = read_units(shift, SET - 2, 2);
    return shift_units(shift, 0, SET, stay);
}

static Results transpose(const Step *s) {
    Units compute = compute_of(s), shift = shift_of(s);
    if (s->form == ISA_F16V4ISTACC) {
        unsigned odd = (unsigned)(s->half->imm - CHIP_TISTACC_P0) & 1;
        Lanes in = join_lanes(take_lanes(s, 1, 4, 16, FORMATS), take_lanes(s, 2, 4, 16, FORMATS));
        Lanes out = take_odd(s);
        for (unsigned j = 0; j < 4; j++)
            set_unit(compute, 2 * j + odd, in.bad >> j & 1, &in.origin);
        return give_lanes(out, 2, 32);
    }
    if (s->half->imm != CHIP_TSTACC_P0)
        return give_lanes(take_odd(s), 2, 32);
    for (unsigned i = 0; i + 2 < SET; i++)
        set_unit(shift, i, unit_is_bad(compute, i + 2), &compute.origin[i + 2]);
    return give_lanes(read_units(compute, 0, 2), 2, 32);
}

/* Each lane goes to an accumulator; of pairs of halves both go to one. */
static void reduce(const Step *s) {
    const FormRule *rule = s->rule;
    unsigned width = 32u * rule->operand[0].count / rule->lanes;
    bool pairs = s->form == ISA_F16V2CMAC || s->form == ISA_F16V4CMAC;
    unsigned count = pairs ? rule->lanes / 2u : rule->lanes;
    for (unsigned k = 0; k < rule->operand_count; k++)
        add_lanes(compute_of(s), take_lanes(s, k, count, pairs ? 2 * width : width, FORMATS));
}

Results shadow_accumulators(const Step *s) {
    const Matrix *matrix = matrix_of(s->form);
    if (matrix)
        return matrix->format == FORMAT_F32 ? amp_f32(s, matrix) : amp(s, matrix);
    switch ((int)s->form) {
    case ISA_F16V2GINA:
    case ISA_F32V2GINA: return gina(s);
    case ISA_F16V4GACC: return give_lanes(read_units(compute_of(s), 0, 4), 4, 16);
    case ISA_F32V2AXPY: return exchange_lanes(s, 2, 32);
    case ISA_F16V4MIX: return exchange_lanes(s, 4, 16);
    case ISA_F16V4ISTACC:
    case ISA_F16V4STACC: return transpose(s);
    default: reduce(s); return (Results){0};
    }
}
