/* The shadow of registers, form by form: what a packet does to bad bits, and where they trap. */
#include "sim/shadow.h"

#include "sim/pace.h"

static const Origin nowhere;

/* ---- registers ------------------------------------------------------------------------------ */

static void set_bad_main(Step *s, unsigned number, uint32_t bits, const Origin *origin) {
    if (number >= 12)
        return;
    s->shadow->bad.m[number] = bits;
    if (bits)
        s->shadow->main[number] = *origin;
}

static void put_aux(ShadowContext *shadow, const Pending *p) {
    shadow->bad.a[p->number] = p->bits;
    shadow->loaded[p->number] = p->loaded;
    if (p->bits)
        shadow->aux[p->number] = p->origin;
}

static void set_bad_aux_loaded(Step *s, unsigned number, uint32_t bits, const Origin *origin,
                               uint32_t loaded) {
    if (number >= 8)
        return;
    Pending p = {bits, bits ? *origin : nowhere, loaded, (uint8_t)number};
    if (s->defer)
        s->pending[s->pending_count++] = p;
    else
        put_aux(s->shadow, &p);
}

static void set_bad(Step *s, const RuleOperand *o, unsigned i, uint32_t bits,
                    const Origin *origin) {
    unsigned number = s->half->r[o->index] + i;
    if (o->aux)
        set_bad_aux_loaded(s, number, bits, origin, 0);
    else
        set_bad_main(s, number, bits, origin);
}

static uint32_t bad_of(const Step *s, const RuleOperand *o, unsigned i) {
    unsigned number = s->half->r[o->index] + i;
    return o->aux ? shadow_bad_aux(s, number) : shadow_bad_main(s, number);
}

static uint32_t value_of(const Step *s, const RuleOperand *o, unsigned i) {
    unsigned number = s->half->r[o->index] + i;
    return o->aux ? s->context->a[number] : s->context->m[number];
}

/* All bad bits of what the form reads, and the origin of some. */
static uint32_t bad_sources(const Step *s, const Origin **origin) {
    uint32_t all = 0;
    *origin = &nowhere;
    for (unsigned k = 0; k < s->rule->operand_count; k++) {
        const RuleOperand *o = &s->rule->operand[k];
        for (unsigned i = 0; o->read && i < o->count; i++) {
            uint32_t bits = bad_of(s, o, i);
            if (bits && !all)
                *origin = o->aux ? &s->shadow->aux[(s->half->r[o->index] + i) & 7]
                                 : &s->shadow->main[s->half->r[o->index] + i];
            all |= bits;
        }
    }
    return all;
}

/* A bad value decides where the program goes, or what it accesses. */
static bool demand_main(const Step *s, unsigned number, const char *deed) {
    if (!shadow_bad_main(s, number))
        return true;
    shadow_raise(s, &s->shadow->main[number], deed);
    return false;
}

void shadow_define_main(Context *context, unsigned number) {
    if (number < 12)
        context->tile->shadow->context[context->index].bad.m[number] = 0;
}

/* ---- arithmetic ----------------------------------------------------------------------------- */

/* Writes the same bits to all that the form writes. */
static void set_all(Step *s, uint32_t bits, const Origin *origin) {
    for (unsigned k = 0; k < s->rule->operand_count; k++) {
        const RuleOperand *o = &s->rule->operand[k];
        for (unsigned i = 0; o->written && i < o->count; i++)
            set_bad(s, o, i, bits, origin);
    }
}

/* The second source of a bitwise form: a register, or the immediate. */
static uint32_t second_bad(const Step *s, unsigned i) {
    return s->rule->immediate ? 0 : bad_of(s, &s->rule->operand[2], i);
}
static uint32_t second_value(const Step *s, unsigned i) {
    return s->rule->immediate ? (uint32_t)s->half->imm : value_of(s, &s->rule->operand[2], i);
}

/* d, s, t or an immediate; a good bit of one source may decide. */
static void bitwise(Step *s, const Origin *origin) {
    const RuleOperand *d = &s->rule->operand[0], *one = &s->rule->operand[1];
    uint32_t bits[2] = {0};
    for (unsigned i = 0; i < d->count; i++) {
        uint32_t x = value_of(s, one, i), y = second_value(s, i);
        uint32_t bad_x = bad_of(s, one, i), bad_y = second_bad(s, i);
        if (s->rule->rule == RULE_ANDC)
            y = ~y;
        if (s->rule->rule == RULE_OR)
            bits[i] = (bad_x | bad_y) & (bad_x | ~x) & (bad_y | ~y);
        else
            bits[i] = (bad_x | bad_y) & (bad_x | x) & (bad_y | y);
    }
    for (unsigned i = 0; i < d->count; i++)
        set_bad(s, d, i, bits[i], origin);
}

static void bit_for_bit(Step *s, const Origin *origin) {
    const RuleOperand *d = &s->rule->operand[0];
    uint32_t bits[2] = {0};
    for (unsigned k = 1; k < s->rule->operand_count; k++)
        for (unsigned i = 0; i < d->count; i++)
            bits[i] |= bad_of(s, &s->rule->operand[k], i);
    for (unsigned i = 0; i < d->count; i++)
        set_bad(s, d, i, bits[i], origin);
}

/* The form itself moves the bad bits; what it reads are they. */
static void permute(Step *s, const Origin *origin) {
    Context *bad = &s->shadow->bad;
    s->half->run(bad, s->half);
    for (unsigned k = 0; k < s->rule->operand_count; k++) {
        const RuleOperand *o = &s->rule->operand[k];
        for (unsigned i = 0; o->written && i < o->count; i++)
            set_bad(s, o, i,
                    o->aux ? bad->a[s->half->r[o->index] + i] : bad->m[s->half->r[o->index] + i],
                    origin);
    }
}

static void shift(Step *s, const Origin *origin) {
    const RuleOperand *d = &s->rule->operand[0];
    if (!s->rule->immediate && bad_of(s, &s->rule->operand[2], 0)) {
        set_bad(s, d, 0, UINT32_MAX, origin);
        return;
    }
    /* The amount is good: put it beside the bad bits of what is shifted. */
    Context *bad = &s->shadow->bad;
    Half half = *s->half;
    bad->m[16] = second_value(s, 0);
    half.r[0] = 17;
    half.r[2] = 16;
    half.run(bad, &half);
    set_bad(s, d, 0, bad->m[17], origin);
}

/* d, c, s: d keeps its value unless c says so. */
static void move(Step *s, const Origin *origin) {
    const RuleOperand *d = &s->rule->operand[0];
    uint32_t condition = value_of(s, &s->rule->operand[1], 0);
    if (bad_of(s, &s->rule->operand[1], 0))
        set_bad(s, d, 0, UINT32_MAX, origin);
    else if ((condition == 0) == (s->form == ISA_MOVZ))
        set_bad(s, d, 0, bad_of(s, &s->rule->operand[2], 0), origin);
}

/* Bits first … first + width - 1 of consecutive registers. */
static bool any_bad(const Step *s, const RuleOperand *o, unsigned first, unsigned width) {
    uint32_t bits = bad_of(s, o, first / 32) >> first % 32;
    return width == 32 ? bits : bits & ((1u << width) - 1);
}

static bool lane_is_bad(const Step *s, const RuleOperand *o, unsigned lane) {
    unsigned width = 32u * o->count / s->rule->lanes;
    switch (o->kind) {
    case ISA_KIND_AB: return any_bad(s, o, 0, 32);
    case ISA_KIND_ABL: return any_bad(s, o, 0, 16);
    case ISA_KIND_ABU: return any_bad(s, o, 16, 16);
    default: break;
    }
    if (s->form == ISA_F16TOF32)
        return any_bad(s, o, 0, 16);
    return any_bad(s, o, lane * width, width);
}

static void lanes(Step *s, const Origin *origin) {
    const RuleOperand *d = &s->rule->operand[0];
    unsigned width = 32u * d->count / s->rule->lanes;
    uint32_t bits[4] = {0}, ones = UINT32_MAX >> (32 - MIN_OF(width, 32u));
    for (unsigned lane = 0; lane < s->rule->lanes; lane++)
        for (unsigned k = 1; k < s->rule->operand_count; k++)
            if (lane_is_bad(s, &s->rule->operand[k], lane))
                bits[lane * width / 32] |= ones << lane * width % 32;
    for (unsigned i = 0; i < d->count; i++)
        set_bad(s, d, i, bits[i], origin);
}

static void arithmetic(Step *s) {
    const Origin *found;
    uint32_t bits = bad_sources(s, &found);
    if (!bits) {
        set_all(s, 0, &nowhere);
        return;
    }
    Origin origin = *found;
    switch ((Rule)s->rule->rule) {
    case RULE_AND:
    case RULE_ANDC:
    case RULE_OR: bitwise(s, &origin); break;
    case RULE_UNION: bit_for_bit(s, &origin); break;
    case RULE_PERMUTE: permute(s, &origin); break;
    case RULE_SHIFT: shift(s, &origin); break;
    case RULE_MOVE: move(s, &origin); break;
    case RULE_LANES: lanes(s, &origin); break;
    case RULE_CARRY: set_all(s, UINT32_MAX << __builtin_ctz(bits), &origin); break;
    default: set_all(s, UINT32_MAX, &origin); break;
    }
}

/* ---- loads and stores ----------------------------------------------------------------------- */

/* d or s, base, delta, and an offset or stride. Stores through $m off, without delta, have their
 * own operands. */
static bool find_address(const Step *s, uint32_t *address) {
    const uint32_t *m = s->context->m;
    const uint8_t *r = s->half->r;
    uint32_t size = s->rule->size;
    if (!demand_main(s, r[1], "takes as an address"))
        return false;
    *address = m[r[1]];
    if (s->form == ISA_STM32STEP)
        return true;
    if (!demand_main(s, r[2], "takes as an address"))
        return false;
    *address += s->form == ISA_STM32 ? 4 * m[r[2]] : m[r[2]];
    if (s->form == ISA_STM32 || s->rule->addressing == ADDRESS_STEP)
        return true;
    if (s->rule->addressing == ADDRESS_REG && !demand_main(s, r[3], "takes as an address"))
        return false;
    *address += size * (s->rule->addressing == ADDRESS_REG ? m[r[3]] : (uint32_t)s->half->imm);
    return true;
}

/* A bad stride makes the next address bad. */
static void advance(Step *s) {
    if (s->rule->addressing != ADDRESS_STEP)
        return;
    unsigned pointer = s->form == ISA_STM32STEP ? 1 : 2, stride = pointer + 1;
    if (s->rule->immediate || !shadow_bad_main(s, s->half->r[stride]))
        return;
    Origin origin = s->shadow->main[s->half->r[stride]];
    set_bad_main(s, s->half->r[pointer], UINT32_MAX, &origin);
}

static uint32_t spread_bits(uint32_t bits, uint32_t size) {
    return size == 1 ? bits * 0x01010101u : bits << 16 | bits;
}

/* Puts what was loaded into registers d on. */
static void put_loaded(Step *s, bool aux, unsigned d, const Loaded *loaded, uint32_t size,
                       uint32_t address) {
    for (uint32_t i = 0; i < MAX_OF(size / 4, 1u); i++) {
        if (aux)
            set_bad_aux_loaded(s, d + i, loaded->bits[i], &loaded->origin, address + 4 * i);
        else
            set_bad_main(s, d + i, loaded->bits[i], &loaded->origin);
    }
}

static void load(Step *s) {
    uint32_t address, size = s->rule->size;
    Loaded loaded;
    if (!find_address(s, &address) || !shadow_read(s, address, size, &loaded))
        return;
    advance(s);
    if (s->rule->spread)
        loaded.bits[0] = spread_bits(loaded.bits[0], size);
    else if (s->rule->sign && loaded.bits[0] >> (8 * size - 1))
        loaded.bits[0] |= UINT32_MAX << (8 * size - 1);
    put_loaded(s, s->rule->operand[0].aux, s->half->r[0], &loaded, size, address);
}

static void store(Step *s) {
    uint32_t address;
    if (find_address(s, &address) &&
        shadow_store(s, address, s->rule->size, s->rule->operand[0].aux, s->half->r[0]))
        advance(s);
}

/* A bad stride field makes the packed addresses bad that it advances. */
static void advance_pair(Step *s, unsigned pair, unsigned stride) {
    if (!shadow_bad_main(s, stride) || s->half->imm == 0)
        return;
    Origin origin = s->shadow->main[stride];
    set_bad_main(s, pair, UINT32_MAX, &origin);
    set_bad_main(s, pair + 1, UINT32_MAX, &origin);
}

static void pace_form(Step *s) {
    const uint8_t *r = s->half->r;
    unsigned pair = s->form == ISA_ST64PACE ? r[1] : r[2];
    bool single = s->form == ISA_LD64A32PACE || s->form == ISA_LD64B16PACE;
    uint32_t second = s->form == ISA_LD64A32PACE ? 4 : s->form == ISA_LD64B16PACE ? 2 : 8;
    Loaded one = {0}, other = {0};
    if (!demand_main(s, pair, "takes as an address") ||
        !demand_main(s, pair + 1, "takes as an address"))
        return;
    Pack pack = unpack(s->context, pair);
    if (s->form != ISA_ST64PACE && !shadow_read(s, pack.address[0], 8, &one))
        return;
    bool two = s->form == ISA_LD2X64PACE || s->form == ISA_LD2XST64PACE || single;
    if (two && !shadow_read(s, pack.address[1], second, &other))
        return;
    if (s->form == ISA_ST64PACE ? !shadow_store(s, pack.address[2], 8, true, r[0])
        : s->form == ISA_LDST64PACE || s->form == ISA_LD2XST64PACE
            ? !shadow_store(s, pack.address[2], 8, true, r[1])
            : false)
        return;
    advance_pair(s, pair, s->form == ISA_ST64PACE ? r[2] : r[3]);
    if (s->form == ISA_ST64PACE)
        return;
    put_loaded(s, true, r[0], &one, 8, pack.address[0]);
    if (s->form == ISA_LD64B16PACE)
        other.bits[0] = spread_bits(other.bits[0], 2);
    if (two)
        put_loaded(s, true, s->form == ISA_LD2XST64PACE ? r[0] + 2u : r[1], &other, second,
                   pack.address[1]);
}

/* d, p, base, delta: the value at base + delta, the next delta at p. */
static void chain(Step *s) {
    const uint32_t *m = s->context->m;
    const uint8_t *r = s->half->r;
    for (unsigned i = 1; i <= 3; i++)
        if (!demand_main(s, r[i], "takes as an address"))
            return;
    Loaded next, value;
    if (s->form == ISA_LDB16B16) {
        if (!shadow_read(s, m[r[1]] + (m[r[2]] & 0xFFFF), 2, &value) ||
            !shadow_read(s, m[r[1]] + (m[r[2]] >> 16), 2, &next))
            return;
        value.bits[0] = spread_bits(value.bits[0], 2);
        next.bits[0] = spread_bits(next.bits[0], 2);
        put_loaded(s, true, r[0], &value, 2, m[r[1]] + (m[r[2]] & 0xFFFF));
        put_loaded(s, true, r[0] + 1u, &next, 2, m[r[1]] + (m[r[2]] >> 16));
        return;
    }
    bool high = s->form == ISA_LDD16V2A32;
    uint32_t link = s->form == ISA_LD64A32 ? 8 : high ? 4 : 2;
    uint32_t size = s->form == ISA_LDD16A64 ? 8 : s->form == ISA_LDD16B16 ? 2 : 4;
    uint32_t address = m[r[2]] + (high ? m[r[3]] >> 16 : m[r[3]] & 0xFFFF);
    if (!shadow_read(s, address, size, &value) || !shadow_read(s, m[r[1]], link, &next))
        return;
    if (s->form == ISA_LD64A32) {
        put_loaded(s, true, r[0] + 1u, &value, 4, address);
        put_loaded(s, true, r[0] + 2u, &next, 8, m[r[1]]);
        return;
    }
    set_bad_main(s, r[3], next.bits[0], &next.origin);
    if (s->form == ISA_LDD16B16)
        value.bits[0] = spread_bits(value.bits[0], 2);
    put_loaded(s, true, r[0], &value, size, address);
}

/* ---- weights -------------------------------------------------------------------------------- */

/* The weights are about to change. */
static bool change_weights(Step *s) {
    struct Shadow *tile = s->tile;
    memset(tile->known, 0, sizeof tile->known);
    if (!tile->open || !(shadow_checks(s) & MACHINE_CHECK_RACES))
        return true;
    tile->weights_changed = tile->launch;
    if (tile->weights_used != tile->launch)
        return true;
    trap_raise(s->context, ERR_SIM_RACE_SUPERVISOR, 0,
               "changes the weights that workers of the running launch multiply with");
    return false;
}

static void load_weights(Step *s) {
    uint32_t address = s->context->tile->supervisor.coefficient;
    uint32_t size = s->form == ISA_LD128PUTCS ? 16 : 8, number = (uint32_t)s->half->imm;
    Loaded loaded;
    if (!change_weights(s) || !shadow_read(s, address, size, &loaded))
        return;
    for (uint32_t i = 0; i < size / 8; i++) {
        s->tile->weights[number + i] = loaded.bits[2 * i] | (uint64_t)loaded.bits[2 * i + 1] << 32;
        Origin origin = loaded.origin;
        if (!s->tile->weights[number + i])
            origin = (Origin){.address = address + 8 * i, .pc = context_pc(s->context)};
        s->tile->weight_origin[number + i] = origin;
    }
}

/* ---- control -------------------------------------------------------------------------------- */

static void put_register(Step *s, uint32_t number, uint32_t bits, const Origin *origin) {
    ShadowContext *shadow = s->shadow;
    bool worker = shadow_is_worker(s);
    if (worker && number == CHIP_CSR_W_TAS) {
        shadow->tas = bits;
        shadow->tas_origin = *origin;
        return;
    }
    if (bits) {
        shadow_raise(s, origin, "puts into a control register");
        return;
    }
    uint32_t value =
        s->rule->operand[0].aux ? s->context->a[s->half->r[0]] : s->context->m[s->half->r[0]];
    if (worker && number == CHIP_CSR_W_FP_CLR && value >> CHIP_CSR_W_FP_CLR_ZAACC_SHIFT & 1)
        shadow->compute = shadow->shift = 0;
    if (!worker && number == CHIP_CSR_S_CR && value >> CHIP_CSR_S_CR_ZCWEI_SHIFT & 1 &&
        change_weights(s))
        memset(s->tile->weights, 0, sizeof s->tile->weights);
}

/* Launches without a sync between them are one. */
static void launch(Step *s) {
    if (!demand_main(s, s->half->r[0], "launches at") ||
        !demand_main(s, s->half->r[1], "launches with"))
        return;
    if (!s->tile->open || s->form == ISA_RUNALL)
        s->tile->launch++;
    s->tile->open = true;
}

static void control(Step *s) {
    const Origin *origin = &nowhere;
    unsigned r = s->half->r[0];
    switch ((int)s->form) {
    case ISA_RUN:
    case ISA_RUNALL: launch(s); break;
    case ISA_SYNC: s->tile->open &= s->half->imm != CHIP_SYNC_LOCAL; break;
    case ISA_GET: set_bad_main(s, r, 0, origin); break;
    case ISA_UGET: {
        bool tas = CHIP_CSR_UPPER + (uint32_t)s->half->imm == CHIP_CSR_W_TAS;
        set_bad_aux_loaded(s, r, tas ? s->shadow->tas : 0, &s->shadow->tas_origin, 0);
        break;
    }
    case ISA_PUT:
        put_register(s, (uint32_t)s->half->imm, shadow_bad_main(s, r),
                     r < 12 ? &s->shadow->main[r] : origin);
        break;
    case ISA_UPUT:
        put_register(s, CHIP_CSR_UPPER + (uint32_t)s->half->imm, shadow_bad_aux(s, r),
                     r < 8 ? &s->shadow->aux[r] : origin);
        break;
    default: break;
    }
}

/* br, brz …, brnzdec, call, exitz …, rpt */
static void branch(Step *s) {
    for (unsigned k = 0; k < s->rule->operand_count; k++) {
        const RuleOperand *o = &s->rule->operand[k];
        unsigned r = s->half->r[o->index];
        if (o->read && !demand_main(s, r, "branches on"))
            return;
        if (o->written)
            set_bad_main(s, r, 0, &nowhere);
    }
}

/* ---- packets -------------------------------------------------------------------------------- */

static void accumulators(Step *s) {
    Results results = shadow_accumulators(s);
    const RuleOperand *d = &s->rule->operand[0];
    for (unsigned i = 0; d->written && i < d->count; i++)
        set_bad(s, d, i, results.bits[i], &results.origin);
}

/* ---- declared calls ------------------------------------------------------------------------- */

static const MachineCall *call_at(const struct Shadow *tile, uint32_t pc) {
    uint32_t low = 0, high = tile->call_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (tile->calls[middle].pc < pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low < tile->call_count && tile->calls[low].pc == pc ? &tile->calls[low] : NULL;
}

static void enter_call(struct Shadow *tile, const Context *supervisor, const MachineCall *call) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < call->count; i++) {
        const MachineParameter *p = &call->parameters[i];
        uint32_t address = supervisor->m[p->reg] + (uint32_t)p->offset;
        tile->called[count++] = (MachineOperand){p->name, address, p->size, p->tail, p->stored};
    }
    for (uint32_t i = 0; i < tile->common_count; i++)
        tile->called[count++] = tile->common[i];
    tile->operands = tile->called;
    tile->operand_count = count;
    tile->return_pc = call->pc + 4;
}

/* The supervisor is about to issue a packet: does a declared call begin or has it returned? */
static void follow_calls(struct Shadow *tile, const Context *supervisor, const Packet *packet) {
    uint32_t pc = context_pc(supervisor);
    if (pc == tile->return_pc)
        tile->return_pc = tile->operand_count = 0;
    const MachineCall *call = packet->main_form == ISA_CALL ? call_at(tile, pc) : NULL;
    if (call)
        enter_call(tile, supervisor, call);
}

static void look_at_half(Step *s, uint16_t form, const Half *half) {
    s->form = (IsaForm)form;
    s->half = half;
    s->rule = shadow_rule(s->form);
    switch ((Rule)s->rule->rule) {
    case RULE_BRANCH: branch(s); break;
    case RULE_CONTROL: control(s); break;
    case RULE_LOAD: load(s); break;
    case RULE_STORE: store(s); break;
    case RULE_PACE: pace_form(s); break;
    case RULE_CHAIN: chain(s); break;
    case RULE_WEIGHTS: load_weights(s); break;
    case RULE_ACCUMULATORS: accumulators(s); break;
    default: arithmetic(s); break;
    }
}

bool shadow_packet(Context *context, const Packet *packet) {
    Tile *tile = context->tile;
    Step step = {
        .context = context, .tile = tile->shadow, .shadow = &tile->shadow->context[context->index]};
    context->current = packet;
    if (step.tile->call_count && context->index == SUPERVISOR)
        follow_calls(step.tile, context, packet);
    step.defer = packet->aux_form != 0;
    if (packet->main_form)
        look_at_half(&step, packet->main_form, &packet->main);
    step.defer = false;
    if (packet->aux_form && !tile->stop)
        look_at_half(&step, packet->aux_form, &packet->aux);
    for (unsigned i = 0; i < step.pending_count; i++)
        put_aux(step.shadow, &step.pending[i]);
    return !tile->stop;
}
