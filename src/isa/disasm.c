/* Instructions as text that assembles back to the same words. */
#include "isa/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct Text {
    char *at, *end;
} Text;

static void put(Text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(Text *text, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text->at, (size_t)(text->end - text->at), format, arguments);
    va_end(arguments);
    if (length > 0)
        text->at += length < text->end - text->at ? length : text->end - text->at - 1;
}

static void put_register(Text *text, const IsaOperand *operand, int number) {
    bool arithmetic;
    unsigned count = isa_operand_registers(operand, &arithmetic);
    static const char *const suffix[] = {
        [ISA_KIND_AB] = ":B",    [ISA_KIND_ABL] = ":BL",   [ISA_KIND_ABU] = ":BU",
        [ISA_KIND_M_INC] = "+=", [ISA_KIND_M2_INC] = "+=", [ISA_KIND_M_PP] = "++",
        [ISA_KIND_M_AT] = "@",   [ISA_KIND_M_SHR] = ">>",
    };
    if (count > 1)
        put(text, "$%c%d:%d", arithmetic ? 'a' : 'm', number, number + (int)count - 1);
    else if (!arithmetic && number == 12)
        put(text, "$mworker_base");
    else if (!arithmetic && number == 13)
        put(text, "$mvertex_base");
    else if (number == 15)
        put(text, arithmetic ? "$azero" : "$mzero");
    else
        put(text, "$%c%d", arithmetic ? 'a' : 'm', number);
    if (operand->kind < sizeof suffix / sizeof *suffix && suffix[operand->kind])
        put(text, "%s", suffix[operand->kind]);
}

static void put_operand(Text *text, const IsaOperand *operand, int32_t value, IsaMode mode) {
    bool arithmetic;
    if (isa_operand_registers(operand, &arithmetic)) {
        put_register(text, operand, value);
        return;
    }
    const ChipCsr *csr = NULL;
    if (operand->kind == ISA_KIND_UCSR)
        csr = chip_csr_by_number(true, (unsigned)value + CHIP_CSR_UPPER);
    else if (operand->kind == ISA_KIND_CSR && mode != ISA_BOTH)
        csr = chip_csr_by_number(mode == ISA_WORKER, (unsigned)value);
    if (csr)
        put(text, "$%s", csr->name);
    else if (value > -10000 && value < 10000 && operand->kind != ISA_KIND_TARGET)
        put(text, "%d", value);
    else if (operand->kind == ISA_KIND_SIGNED && value < 0)
        put(text, "-0x%x", -(unsigned)value);
    else
        put(text, "0x%x", (unsigned)value);
}

/* Would the assembler take `other` for operands of `form`? The kinds are the same but for the range
 * of an immediate, and that holds the value. */
static bool could_be(const IsaFormInfo *form, const IsaFormInfo *other, const int32_t *values) {
    if (form->operand_count != other->operand_count)
        return false;
    for (unsigned i = 0; i < form->operand_count; i++) {
        const IsaOperand *l = &form->operand[i], *r = &other->operand[i];
        bool arithmetic;
        unsigned registers = isa_operand_registers(l, &arithmetic);
        if (registers ? l->kind != r->kind : isa_operand_registers(r, &arithmetic) != 0)
            return false;
        int64_t value = values[i];
        if (l->kind == ISA_KIND_HI12)
            value = (uint32_t)value;
        if (!registers && !isa_operand_valid(r, value))
            return false;
    }
    return true;
}

/* The first form of the mnemonic that could hold the operands is the one that plain text means. */
static bool needs_suffix(const IsaInstr *instr) {
    const IsaFormInfo *info = isa_form_info((IsaForm)instr->form);
    IsaForm form = isa_form_next(info->mnemonic, ISA_INVALID);
    while (form != (IsaForm)instr->form && !could_be(info, isa_form_info(form), instr->operand))
        form = isa_form_next(info->mnemonic, form);
    return form != (IsaForm)instr->form;
}

static void put_mnemonic(Text *text, const IsaInstr *instr) {
    const IsaFormInfo *info = isa_form_info((IsaForm)instr->form);
    put(text, "%s", info->mnemonic);
    if (!needs_suffix(instr))
        return;
    put(text, ".");
    for (const char *at = strrchr(info->id, '_') + 1; *at; at++)
        put(text, "%c", *at >= 'A' && *at <= 'Z' ? *at + 32 : *at);
}

static bool holds_address(const IsaOperand *operand) {
    return operand->kind == ISA_KIND_TARGET || operand->kind == ISA_KIND_HI12 ||
           (operand->kind == ISA_KIND_UNSIGNED && operand->bits == 20);
}

static bool is_idle(const IsaInstr *instr, IsaForm form, int32_t number) {
    return instr->form == form && instr->operand[0] == number && instr->operand[1] == 0;
}

size_t isa_disassemble_address(const IsaInstr *instr, IsaMode mode, const char *address, char *text,
                               size_t size) {
    Text out = {text, text + size};
    if (!address && is_idle(instr, ISA_SETZI, 14)) {
        put(&out, "nop");
    } else if (!address && is_idle(instr, ISA_SETZI_A, 13)) {
        put(&out, "fnop");
    } else {
        const IsaFormInfo *info = isa_form_info((IsaForm)instr->form);
        put_mnemonic(&out, instr);
        for (unsigned i = 0; i < info->operand_count; i++) {
            put(&out, i ? ", " : " ");
            if (address && holds_address(&info->operand[i]))
                put(&out, "%s", address);
            else
                put_operand(&out, &info->operand[i], instr->operand[i], mode);
        }
    }
    return (size_t)(out.at - text);
}

size_t isa_disassemble(const IsaInstr *instr, IsaMode mode, char text[ISA_TEXT_SIZE]) {
    return isa_disassemble_address(instr, mode, NULL, text, ISA_TEXT_SIZE);
}

size_t isa_disassemble_packet(const IsaPacket *packet, IsaMode mode, char text[2 * ISA_TEXT_SIZE]) {
    if (packet->main.form == ISA_INVALID || packet->aux.form == ISA_INVALID)
        return isa_disassemble(packet->main.form ? &packet->main : &packet->aux, mode, text);
    char half[ISA_TEXT_SIZE];
    Text out = {text, text + 2 * ISA_TEXT_SIZE};
    isa_disassemble(&packet->main, mode, half);
    put(&out, "{%s; ", half);
    isa_disassemble(&packet->aux, mode, half);
    put(&out, "%s}", half);
    return (size_t)(out.at - text);
}
