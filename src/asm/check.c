/* The rules of the machine that words alone do not show. */
#include "asm/assembler.h"

void asm_check_mode(Assembler *a, const Parsed *parsed, const IsaInstr *instr) {
    const IsaFormInfo *info = isa_form_info((IsaForm)instr->form);
    if (a->allow_mode || (info->modes & a->mode))
        return;
    asm_error(a, ERR_ASM_MODE, parsed->place, "%s is for %s only, and this is %s code",
              parsed->word, info->modes == ISA_WORKER ? "workers" : "the supervisor",
              a->mode == ISA_WORKER ? "worker" : "supervisor");
}

/* Is there such a register in code of this mode? */
static bool csr_exists(unsigned mode, unsigned number) {
    return ((mode & ISA_WORKER) && chip_csr_by_number(true, number)) ||
           ((mode & ISA_SUPERVISOR) && chip_csr_by_number(false, number));
}

static void check_csr(Assembler *a, const Parsed *parsed, unsigned index, unsigned number) {
    const ParsedOperand *operand = &parsed->operand[index];
    if (operand->weights)
        asm_error(a, ERR_ASM_OPERANDS, operand->place,
                  "weights are loaded with ld64putcs or ld128putcs, not with put");
    else if (!csr_exists(parsed->mode, number) && !a->allow_operands)
        asm_error(a, ERR_ASM_MODE, operand->place, "%s has no control register 0x%x",
                  parsed->mode == ISA_WORKER       ? "a worker"
                  : parsed->mode == ISA_SUPERVISOR ? "the supervisor"
                                                   : "the chip",
                  number);
}

/* $mworker_base and $mvertex_base belong to workers; writes to them are dropped. */
static void check_bases(Assembler *a, const Parsed *parsed, const IsaInstr *instr) {
    const IsaFormInfo *info = isa_form_info((IsaForm)instr->form);
    for (unsigned i = 0; i < info->operand_count; i++) {
        bool arithmetic;
        const IsaOperand *operand = &info->operand[i];
        unsigned count = isa_operand_registers(operand, &arithmetic);
        int32_t number = instr->operand[i];
        if (count == 0 || arithmetic || (number != 12 && number != 13) || a->allow_operands)
            continue;
        if (parsed->mode == ISA_SUPERVISOR && operand->read)
            asm_error(a, ERR_ASM_MODE, parsed->place,
                      "$m%d is a base register of workers, and this is supervisor code", number);
        else if (operand->written)
            asm_warning(a, ERR_ASM_HAZARD, parsed->place,
                        "$m%d cannot be written: the result is dropped", number);
    }
}

void asm_check_operands(Assembler *a, const Parsed *parsed, const IsaInstr *instr) {
    const int32_t *value = instr->operand;
    check_bases(a, parsed, instr);
    switch ((IsaForm)instr->form) {
    case ISA_GET: check_csr(a, parsed, 1, (unsigned)value[1]); break;
    case ISA_PUT: check_csr(a, parsed, 0, (unsigned)value[0]); break;
    case ISA_UGET: check_csr(a, parsed, 1, (unsigned)value[1] + CHIP_CSR_UPPER); break;
    case ISA_UPUT: check_csr(a, parsed, 0, (unsigned)value[0] + CHIP_CSR_UPPER); break;
    case ISA_LD2X64PACE:
        if (value[0] == value[1] && !a->allow_operands)
            asm_error(a, ERR_ASM_OPERANDS, parsed->operand[1].place,
                      "the two destinations of ld2x64pace must differ; $azeros may be one of them");
        break;
    case ISA_LD64A32PACE:
    case ISA_LD64B16PACE:
        if ((value[1] & ~1) == value[0] && !a->allow_operands)
            asm_error(a, ERR_ASM_OPERANDS, parsed->operand[1].place,
                      "the two destinations of this instruction must differ");
        break;
    default: break;
    }
}

/* Bits of the arithmetic registers that an instruction writes; $a12..$a15 count too. */
static unsigned written_registers(const IsaInstr *instr) {
    const IsaFormInfo *info = isa_form_info((IsaForm)instr->form);
    unsigned written = 0;
    for (unsigned i = 0; i < info->operand_count; i++) {
        bool arithmetic;
        unsigned count = isa_operand_registers(&info->operand[i], &arithmetic);
        if (arithmetic && info->operand[i].written)
            written |= ((1u << count) - 1) << instr->operand[i];
    }
    return written;
}

/* Only arithmetic registers can be written by both lanes. */
void asm_check_overlap(Assembler *a, const Parsed *const half[2], const IsaInstr instr[2]) {
    unsigned both = written_registers(&instr[0]) & written_registers(&instr[1]);
    if (both)
        asm_error(a, ERR_ASM_OVERLAP, half[1]->place, "both halves of this bundle write $a%d",
                  __builtin_ctz(both));
}

/* ---- repeat bodies */

static void check_body(Assembler *a, Section *section, size_t index) {
    const Packet *repeat = &section->packets.items[index];
    Place place = repeat->half[0]->place;
    unsigned bundles = (unsigned)repeat->instr[0].operand[1] + 1;
    uint32_t at = repeat->offset + repeat->size;
    if (at % 8) {
        asm_error(a, ERR_ASM_REPEAT, place,
                  "the body of rpt must start at a multiple of 8: put a nop before rpt");
        return;
    }
    for (unsigned i = 0; i < bundles; i++, at += 8) {
        const Packet *body =
            index + 1 + i < section->packets.count ? &section->packets.items[index + 1 + i] : NULL;
        if (!body || body->offset != at) {
            asm_error(a, ERR_ASM_REPEAT, place, "the body of rpt is %u bundles, only %u follow",
                      bundles, i);
            return;
        }
        if (!body->half[1]) {
            asm_error(a, ERR_ASM_REPEAT, body->half[0]->place,
                      "a single instruction in the body of rpt: only bundles may stand there");
            asm_note(a, "rpt at %s:%u", a->files.items[place.file], place.line);
            return;
        }
        for (unsigned h = 0; h < 2; h++) {
            const IsaFormInfo *info = isa_form_info((IsaForm)body->instr[h].form);
            if (!(info->flags & (ISA_F_CONTROL | ISA_F_SYSTEM)))
                continue;
            asm_error(a, ERR_ASM_REPEAT, body->half[h]->place, "%s cannot stand in the body of rpt",
                      info->mnemonic);
            asm_note(a, "rpt at %s:%u", a->files.items[place.file], place.line);
            return;
        }
    }
}

void asm_check_repeats(Assembler *a, Section *section) {
    for (size_t i = 0; i < section->packets.count; i++) {
        const Packet *packet = &section->packets.items[i];
        IsaForm form = (IsaForm)packet->instr[0].form;
        if (!packet->unchecked && (isa_form_info(form)->flags & ISA_F_REPEAT))
            check_body(a, section, i);
    }
}
