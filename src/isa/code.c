/* Encoding and decoding. */
#include "isa/table.h"

#include <assert.h>
#include <string.h>

unsigned isa_operand_registers(const IsaOperand *operand, bool *arithmetic) {
    *arithmetic = false;
    switch ((IsaKind)operand->kind) {
    case ISA_KIND_M:
    case ISA_KIND_MZ:
    case ISA_KIND_M_INC:
    case ISA_KIND_M_PP:
    case ISA_KIND_M_AT:
    case ISA_KIND_M_SHR: return 1;
    case ISA_KIND_M2:
    case ISA_KIND_M2_INC: return 2;
    case ISA_KIND_A:
    case ISA_KIND_AB:
    case ISA_KIND_ABL:
    case ISA_KIND_ABU: *arithmetic = true; return 1;
    case ISA_KIND_A2: *arithmetic = true; return 2;
    case ISA_KIND_A4: *arithmetic = true; return 4;
    case ISA_KIND_UNSIGNED:
    case ISA_KIND_SIGNED:
    case ISA_KIND_EVEN:
    case ISA_KIND_HI12:
    case ISA_KIND_TARGET:
    case ISA_KIND_CSR:
    case ISA_KIND_UCSR: return 0;
    }
    return 0;
}

void isa_operand_range(const IsaOperand *operand, int64_t *least, int64_t *greatest) {
    if (operand->kind == ISA_KIND_SIGNED) {
        *least = -((int64_t)1 << (operand->bits - 1));
        *greatest = ((int64_t)1 << (operand->bits - 1)) - 1;
    } else {
        *least = 0;
        *greatest = ((int64_t)1 << operand->bits) - 1;
    }
}

bool isa_operand_valid(const IsaOperand *operand, int64_t value) {
    bool arithmetic;
    unsigned registers = isa_operand_registers(operand, &arithmetic);
    if (registers)
        return value >= 0 && value < 16 && value % registers == 0;
    int64_t least, greatest;
    isa_operand_range(operand, &least, &greatest);
    if (value < least || value > greatest)
        return false;
    switch (operand->kind) {
    case ISA_KIND_HI12: return (value & 0xFFFFF) == 0;
    case ISA_KIND_TARGET: return (value & 3) == 0;
    case ISA_KIND_EVEN: return (value & 1) == 0;
    default: return true;
    }
}

unsigned isa_encode(const IsaInstr *instr, uint32_t words[2]) {
    assert(instr->form > ISA_INVALID && instr->form < ISA_FORM_COUNT);
    const IsaRow *row = &isa_rows()[instr->form];
    for (unsigned i = 0; i < row->info.operand_count; i++) {
        /* A high immediate of 0x80000000 or more is negative as int32_t. */
        int64_t value = instr->operand[i];
        if (row->info.operand[i].kind == ISA_KIND_HI12)
            value = (uint32_t)value;
        assert(isa_operand_valid(&row->info.operand[i], value));
        (void)value;
    }
    uint64_t bits = row->value;
    for (unsigned i = 0; i < row->field_count; i++) {
        const IsaField *field = &row->field[i];
        uint64_t value = (uint32_t)instr->operand[field->operand] >> field->shift;
        bits |= (value & ((1ull << field->width) - 1)) << field->lowest;
    }
    words[0] = (uint32_t)bits;
    words[1] = (uint32_t)(bits >> 32);
    return row->info.size;
}

void isa_encode_bundle(const IsaInstr *main_half, const IsaInstr *aux_half, uint32_t words[2]) {
    assert(isa_form_info((IsaForm)main_half->form)->lane == ISA_LANE_MAIN);
    assert(isa_form_info((IsaForm)aux_half->form)->lane == ISA_LANE_AUX);
    uint32_t half[2];
    isa_encode(main_half, half);
    words[0] = half[0] | ISA_BUNDLE_BIT;
    isa_encode(aux_half, half);
    words[1] = half[0];
}

unsigned isa_decode(const uint32_t *words, size_t count, IsaInstr *instr) {
    *instr = (IsaInstr){.form = ISA_INVALID};
    if (count == 0)
        return 0;
    IsaForm form = isa_lookup_word(words[0]);
    if (form == ISA_INVALID)
        return 0;
    const IsaRow *row = &isa_rows()[form];
    if (row->info.size / 4 > count)
        return 0;
    uint64_t bits = words[0];
    if (row->info.size == 8)
        bits |= (uint64_t)words[1] << 32;
    uint32_t value[ISA_MAX_OPERANDS] = {0};
    for (unsigned i = 0; i < row->field_count; i++) {
        const IsaField *field = &row->field[i];
        uint64_t part = bits >> field->lowest & ((1ull << field->width) - 1);
        value[field->operand] |= (uint32_t)part << field->shift;
    }
    for (unsigned i = 0; i < row->info.operand_count; i++) {
        const IsaOperand *operand = &row->info.operand[i];
        if (operand->kind == ISA_KIND_SIGNED) {
            uint32_t sign = 1u << (operand->bits - 1);
            value[i] = (value[i] ^ sign) - sign;
        }
        int64_t checked = operand->kind == ISA_KIND_SIGNED ? (int32_t)value[i] : (int64_t)value[i];
        if (!isa_operand_valid(operand, checked))
            return 0;
    }
    instr->form = (uint16_t)form;
    memcpy(instr->operand, value, sizeof value);
    return row->info.size;
}

static unsigned slots_of(const IsaInstr *instr) {
    return instr->form ? isa_form_info((IsaForm)instr->form)->slots : 0;
}

/* May the instruction run in a context of `mode`? Arithmetic registers exist in workers only; the
 * table says so by the form's modes. */
static bool runs_in(const IsaInstr *instr, IsaMode mode) {
    return (isa_form_info((IsaForm)instr->form)->modes & mode) != 0;
}

static bool decode_bundle(const uint32_t *words, IsaPacket *packet) {
    uint32_t main_word = words[0] & ~ISA_BUNDLE_BIT;
    if (!isa_decode(&main_word, 1, &packet->main) || !isa_decode(&words[1], 1, &packet->aux))
        return false;
    return isa_form_info((IsaForm)packet->main.form)->lane == ISA_LANE_MAIN &&
           isa_form_info((IsaForm)packet->aux.form)->lane == ISA_LANE_AUX &&
           runs_in(&packet->main, ISA_WORKER);
}

bool isa_decode_packet(const uint32_t *words, size_t count, IsaMode mode, IsaPacket *packet) {
    *packet = (IsaPacket){0};
    if (count == 0)
        return false;
    if (mode == ISA_WORKER && (words[0] & ISA_BUNDLE_BIT)) {
        if (count < 2 || !decode_bundle(words, packet)) {
            *packet = (IsaPacket){0};
            return false;
        }
        packet->size = 8;
    } else {
        IsaInstr instr;
        unsigned size = isa_decode(words, count, &instr);
        if (size == 0 || !runs_in(&instr, mode))
            return false;
        bool aux = isa_form_info((IsaForm)instr.form)->lane == ISA_LANE_AUX;
        *(aux ? &packet->aux : &packet->main) = instr;
        packet->size = (uint8_t)size;
    }
    unsigned a = slots_of(&packet->main), b = slots_of(&packet->aux);
    packet->slots = (uint8_t)(a > b ? a : b);
    return true;
}
