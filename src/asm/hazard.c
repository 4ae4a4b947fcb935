/* What straight code shows about the rules of the chip: constants are followed from setzi on, until
 * a label or a branch. Most findings are warnings: where the code came from is not known. */
#include "asm/assembler.h"

#define REGISTERS 16
#define ZERO      15u
enum { MOST_WARNINGS = 50 };

typedef struct Straight {
    Assembler *a;
    uint16_t known; /* main registers, a bit each */
    uint32_t value[REGISTERS];
    bool launched;      /* by runall or run, and not waited for */
    bool address_known; /* of $CCCSLOAD */
    uint32_t address;
    int phase; /* of the last matrix product with four engines, -1 none */
    IsaForm product;
    unsigned warnings;
} Straight;

static void forget(Straight *s) {
    s->known = 1u << ZERO;
    s->value[ZERO] = 0;
    s->launched = s->address_known = false;
    s->phase = -1;
}

static bool known(const Straight *s, int32_t number, uint32_t *value) {
    *value = s->value[number & 15];
    return s->known >> (number & 15) & 1;
}

static void learn(Straight *s, int32_t number, bool is_known, uint32_t value) {
    if (number >= 12)
        return;
    s->known = (uint16_t)(s->known & ~(1u << number));
    if (is_known)
        s->known = (uint16_t)(s->known | 1u << number);
    s->value[number] = value;
}

static bool may_warn(Straight *s) {
    return s->warnings++ < MOST_WARNINGS;
}

/* ---- constants */

static void follow_constant(Straight *s, const IsaInstr *instr) {
    const int32_t *o = instr->operand;
    uint32_t source = 0, i = (uint32_t)o[2];
    bool is_known = true;
    switch ((IsaForm)instr->form) {
    case ISA_SETZI: learn(s, o[0], true, (uint32_t)o[1]); return;
    case ISA_OR_U12:
    case ISA_OR_HI12:
        is_known = known(s, o[1], &source);
        learn(s, o[0], is_known, source | i);
        return;
    case ISA_ADD_I16:
    case ISA_ADD_Z16:
        is_known = known(s, o[1], &source);
        learn(s, o[0], is_known, source + i);
        return;
    case ISA_SHL_U12:
        is_known = known(s, o[1], &source);
        learn(s, o[0], is_known, i < 32 ? source << i : 0);
        return;
    default: break;
    }
    const IsaFormInfo *info = isa_form_info((IsaForm)instr->form);
    for (unsigned k = 0; k < info->operand_count; k++) {
        bool arithmetic;
        unsigned count = isa_operand_registers(&info->operand[k], &arithmetic);
        for (unsigned r = 0; r < count && !arithmetic && info->operand[k].written; r++)
            learn(s, o[k] + (int32_t)r, false, 0);
    }
}

/* ---- 128-bit accesses: interleaved memory only */

static void warn_not_interleaved(Straight *s, const Parsed *parsed, uint32_t address) {
    if (address < CHIP_REGION1_BASE && may_warn(s))
        asm_warning(s->a, ERR_ASM_HAZARD, parsed->place,
                    "%s at 0x%X: 128-bit accesses need memory from 0x%X on", parsed->word, address,
                    CHIP_REGION1_BASE);
}

static void check_wide_load(Straight *s, const Parsed *parsed, const IsaInstr *instr) {
    const int32_t *o = instr->operand;
    uint32_t base, delta, offset = (uint32_t)o[3];
    switch ((IsaForm)instr->form) {
    case ISA_LD128:
    case ISA_LD128STEP:
    case ISA_LD128STEP_REG:
        if (known(s, o[1], &base) && known(s, o[2], &delta))
            warn_not_interleaved(s, parsed,
                                 base + delta + (instr->form == ISA_LD128 ? offset * 16 : 0));
        break;
    case ISA_LD128_REG:
        if (known(s, o[1], &base) && known(s, o[2], &delta) && known(s, o[3], &offset))
            warn_not_interleaved(s, parsed, base + delta + offset * 16);
        break;
    case ISA_LD128PUTCS:
        if (s->address_known)
            warn_not_interleaved(s, parsed, s->address);
        break;
    default: break;
    }
}

/* ---- strides of packed addresses: three signed fields */

static const ParsedOperand *stride_of(const Parsed *parsed, const IsaInstr *instr,
                                      int32_t *number) {
    const IsaFormInfo *info = isa_form_info((IsaForm)instr->form);
    for (unsigned i = 1; i < info->operand_count; i++) {
        if (info->operand[i - 1].kind == ISA_KIND_M2_INC) {
            *number = instr->operand[i];
            return &parsed->operand[i];
        }
    }
    return NULL;
}

static void check_stride(Straight *s, const Parsed *parsed, const IsaInstr *instr) {
    int32_t number = 0;
    const ParsedOperand *operand = stride_of(parsed, instr, &number);
    uint32_t value;
    const int32_t limit = 1 << (3 * CHIP_PACE_STRIDE_BITS);
    if (!operand || !known(s, number, &value) || s->a->allow_operands)
        return;
    if ((int32_t)value >= limit || (int32_t)value < -limit / 2)
        asm_error(s->a, ERR_ASM_RANGE, operand->place,
                  "the stride is 0x%X here: it holds three signed fields of %d bits, -%d..%d atoms "
                  "each",
                  value, CHIP_PACE_STRIDE_BITS, 1 << (CHIP_PACE_STRIDE_BITS - 1),
                  (1 << (CHIP_PACE_STRIDE_BITS - 1)) - 1);
}

/* ---- launches */

static void check_launch(Straight *s, const Parsed *parsed, const IsaInstr *instr) {
    uint32_t value;
    switch ((IsaForm)instr->form) {
    case ISA_RUNALL:
        if (s->launched && may_warn(s))
            asm_warning(s->a, ERR_ASM_HAZARD, parsed->place,
                        "runall while workers may still run: sync %d comes first", CHIP_SYNC_LOCAL);
        s->launched = true;
        break;
    case ISA_RUN: s->launched = true; break;
    case ISA_SYNC:
        if (instr->operand[0] == CHIP_SYNC_LOCAL)
            s->launched = false;
        break;
    case ISA_PUT:
    case ISA_LD64PUTCS:
    case ISA_LD128PUTCS:
        if (s->launched && may_warn(s))
            asm_warning(s->a, ERR_ASM_HAZARD, parsed->place,
                        "%s while workers may still run: sync %d comes first", parsed->word,
                        CHIP_SYNC_LOCAL);
        if (instr->form == ISA_PUT && instr->operand[0] == CHIP_CSR_S_CCCSLOAD) {
            s->address_known = known(s, instr->operand[1], &value);
            s->address = value;
        }
        break;
    default: break;
    }
}

/* ---- matrix products: results leave in the order of the phases */

static void check_phase(Straight *s, const Parsed *parsed, const IsaInstr *instr) {
    const IsaFormInfo *info = isa_form_info((IsaForm)instr->form);
    int phases = 4;
    switch ((IsaForm)instr->form) {
    case ISA_F32SISOAMP:
    case ISA_F32SISOV2AMP: phases = 8; break;
    case ISA_F16V4HIHOAMP:
    case ISA_F16V4SIHOAMP:
    case ISA_F16V4SISOAMP:
    case ISA_F16V4HIHOV4AMP:
    case ISA_F8V8HIHOV4AMP: break;
    default: return;
    }
    int phase = instr->operand[info->operand_count - 1];
    if (phase >= phases) { /* fewer engines: other orders */
        s->phase = -1;
        return;
    }
    bool warm_up = s->phase == 1 && phase <= 1;
    if (s->phase >= 0 && s->product == (IsaForm)instr->form && phase != (s->phase + 1) % phases &&
        !warm_up && may_warn(s))
        asm_warning(s->a, ERR_ASM_HAZARD, parsed->place,
                    "phase %d after phase %d: results and partials move in the order of the phases",
                    phase, s->phase);
    s->phase = phase;
    s->product = (IsaForm)instr->form;
}

static void check_packet(Straight *s, const Packet *packet) {
    if (packet->labelled)
        forget(s);
    unsigned flags = 0;
    for (unsigned h = 0; h < 2 && packet->half[h]; h++) {
        const IsaInstr *instr = &packet->instr[h];
        check_wide_load(s, packet->half[h], instr);
        check_stride(s, packet->half[h], instr);
        check_launch(s, packet->half[h], instr);
        check_phase(s, packet->half[h], instr);
        flags |= isa_form_info((IsaForm)instr->form)->flags;
    }
    follow_constant(s, &packet->instr[0]);
    if (packet->relocated)
        learn(s, packet->instr[0].operand[0], false, 0);
    if (flags & (ISA_F_BRANCH | ISA_F_EXIT | ISA_F_REPEAT))
        forget(s);
}

void asm_check_hazards(Assembler *a, const Section *section) {
    Straight s = {.a = a};
    forget(&s);
    uint32_t end = 0;
    for (size_t i = 0; i < section->packets.count; i++) {
        const Packet *packet = &section->packets.items[i];
        if (packet->offset != end)
            forget(&s);
        end = packet->offset + packet->size;
        check_packet(&s, packet);
    }
}
