/* From a mnemonic and its operands to a form of the table. */
#include "asm/assembler.h"

#include <stdio.h>
#include <string.h>

/* The next form to try after `form`. */
static IsaForm next_form(const Parsed *parsed, IsaForm form) {
    if (parsed->exact)
        return ISA_INVALID;
    do {
        form = isa_form_next(isa_form_info(form)->mnemonic, form);
    } while (form && parsed->suffix &&
             !isa_form_has_suffix(form, parsed->suffix, strlen(parsed->suffix)));
    return form;
}

/* Operands of the source, one for each of the form: left-out `mz` operands are $mzero. */
typedef struct Aligned {
    const ParsedOperand *operand[ISA_MAX_OPERANDS];
} Aligned;

static const ParsedOperand zero_register = {.number = 15, .count = 1};

static bool align_operands(const IsaFormInfo *info, const Parsed *parsed, Aligned *aligned) {
    unsigned missing = info->operand_count - parsed->count, next = 0;
    if (parsed->count > info->operand_count || missing > 1)
        return false;
    for (unsigned i = 0; i < info->operand_count; i++) {
        if (missing && info->operand[i].kind == ISA_KIND_MZ) {
            aligned->operand[i] = &zero_register;
            missing = 0;
        } else {
            if (next == parsed->count)
                return false;
            aligned->operand[i] = &parsed->operand[next++];
        }
    }
    return next == parsed->count;
}

/* What a kind asks of a register. */
static void kind_marks(unsigned kind, uint8_t *broadcast, uint8_t *suffix) {
    *broadcast = kind == ISA_KIND_AB    ? BROADCAST_B
                 : kind == ISA_KIND_ABL ? BROADCAST_BL
                 : kind == ISA_KIND_ABU ? BROADCAST_BU
                                        : BROADCAST_NONE;
    *suffix = kind == ISA_KIND_M_INC || kind == ISA_KIND_M2_INC ? SUFFIX_INC
              : kind == ISA_KIND_M_PP                           ? SUFFIX_PP
              : kind == ISA_KIND_M_AT                           ? SUFFIX_AT
              : kind == ISA_KIND_M_SHR                          ? SUFFIX_SHR
                                                                : SUFFIX_NONE;
}

/* Does the operand have the kind, values of immediates aside? */
static bool kind_fits(const IsaOperand *kind, const ParsedOperand *operand) {
    bool arithmetic;
    unsigned registers = isa_operand_registers(kind, &arithmetic);
    if (registers == 0 || operand->expr)
        return registers == 0 && operand->expr;
    uint8_t broadcast, suffix;
    kind_marks(kind->kind, &broadcast, &suffix);
    return operand->arithmetic == arithmetic && operand->count == registers &&
           operand->broadcast == broadcast && operand->suffix == suffix;
}

/* How many operands fit from the left; for the message about a form that does not match. */
static unsigned fitting_operands(const IsaFormInfo *info, const Aligned *aligned) {
    unsigned i = 0;
    while (i < info->operand_count && kind_fits(&info->operand[i], aligned->operand[i]))
        i++;
    return i;
}

/* ---- messages */

/* As words, and as an example. */
static const struct {
    const char *words, *example;
} kind_names[] = {
    [ISA_KIND_M] = {"a main register", "$m0"},
    [ISA_KIND_MZ] = {"a main register", "$m0"},
    [ISA_KIND_A] = {"an arithmetic register", "$a0"},
    [ISA_KIND_M2] = {"a pair of main registers", "$m0:1"},
    [ISA_KIND_A2] = {"a pair of arithmetic registers", "$a0:1"},
    [ISA_KIND_A4] = {"four arithmetic registers", "$a0:3"},
    [ISA_KIND_AB] = {"a broadcast register", "$a0:B"},
    [ISA_KIND_ABL] = {"a broadcast low half", "$a0:BL"},
    [ISA_KIND_ABU] = {"a broadcast high half", "$a0:BU"},
    [ISA_KIND_M_INC] = {"a post-incremented main register", "$m0+="},
    [ISA_KIND_M2_INC] = {"a post-incremented pair", "$m0:1+="},
    [ISA_KIND_M_PP] = {"a stepped main register", "$m0++"},
    [ISA_KIND_M_AT] = {"a main register that is replaced", "$m0@"},
    [ISA_KIND_M_SHR] = {"a main register that is shifted", "$m0>>"},
    [ISA_KIND_TARGET] = {"an address", "label"},
    [ISA_KIND_CSR] = {"a control register", "$CSR"},
    [ISA_KIND_UCSR] = {"an upper control register", "$CSR"},
};

static void range_text(const IsaOperand *operand, char *text, size_t size) {
    int64_t least, greatest;
    isa_operand_range(operand, &least, &greatest);
    const char *extra = operand->kind == ISA_KIND_HI12     ? ", a multiple of 0x100000"
                        : operand->kind == ISA_KIND_TARGET ? ", a multiple of 4"
                        : operand->kind == ISA_KIND_EVEN   ? ", even"
                                                           : "";
    snprintf(text, size, greatest > 99999 ? "%lld..0x%llX%s" : "%lld..%lld%s", (long long)least,
             (long long)greatest, extra);
}

static const char *kind_example(const IsaOperand *operand, char *text, size_t size) {
    if (operand->kind < COUNT_OF(kind_names) && kind_names[operand->kind].example)
        return kind_names[operand->kind].example;
    range_text(operand, text, size);
    return text;
}

static void note_forms(Assembler *a, const Parsed *parsed) {
    for (IsaForm form = parsed->form; form; form = next_form(parsed, form)) {
        const IsaFormInfo *info = isa_form_info(form);
        char line[160], text[48];
        int used = snprintf(line, sizeof line, "form: %s", info->mnemonic);
        for (unsigned i = 0; i < info->operand_count; i++)
            used += snprintf(line + used, sizeof line - (size_t)used, "%s%s", i ? ", " : " ",
                             kind_example(&info->operand[i], text, sizeof text));
        asm_note(a, "%s", line);
    }
}

/* No form has operands of these kinds: tell what the nearest one expects. */
static void no_form(Assembler *a, const Parsed *parsed) {
    const char *mnemonic = isa_form_info(parsed->form)->mnemonic;
    const IsaFormInfo *best = NULL;
    const ParsedOperand *wrong = NULL;
    unsigned best_count = 0;
    for (IsaForm form = parsed->form; form; form = next_form(parsed, form)) {
        const IsaFormInfo *info = isa_form_info(form);
        Aligned aligned;
        if (!align_operands(info, parsed, &aligned))
            continue;
        unsigned count = fitting_operands(info, &aligned);
        if (!best || count > best_count) {
            best = info;
            best_count = count;
            wrong = aligned.operand[count];
        }
    }
    if (!best) {
        asm_error(a, ERR_ASM_OPERANDS, parsed->place, "%s does not take %u operand%s", mnemonic,
                  parsed->count, parsed->count == 1 ? "" : "s");
    } else {
        const IsaOperand *operand = &best->operand[best_count];
        char text[48];
        const char *words = operand->kind < COUNT_OF(kind_names) && kind_names[operand->kind].words
                                ? kind_names[operand->kind].words
                                : "a number";
        asm_error(a, ERR_ASM_OPERANDS, wrong == &zero_register ? parsed->place : wrong->place,
                  "%s expects %s here: %s", mnemonic, words,
                  kind_example(operand, text, sizeof text));
    }
    note_forms(a, parsed);
}

/* ---- values */

typedef enum Fit { FITS, WAITS, OUT_OF_RANGE, FAILS } Fit;

typedef struct Attempt {
    Match match;
    Fit fit;
    const IsaOperand *kind; /* of the operand that does not fit */
    const ParsedOperand *operand;
    int64_t number;
    bool pattern; /* a negative number written as 32 bits */
    const char *why;
} Attempt;

static uint8_t reloc_of(const IsaOperand *kind) {
    switch (kind->kind) {
    case ISA_KIND_TARGET: return ASM_REL_TARGET;
    case ISA_KIND_HI12: return ASM_REL_HI12;
    case ISA_KIND_UNSIGNED: return kind->bits == 20 ? ASM_REL_IMM20 : ASM_REL_NONE;
    default: return ASM_REL_NONE;
    }
}

static void fit_immediate(Assembler *a, Attempt *attempt, unsigned index, bool final) {
    Value value;
    const char *why = "";
    Known known = asm_evaluate(a, attempt->operand->expr, final, &value, &why);
    if (known != KNOWN) {
        attempt->fit = known == UNKNOWN ? WAITS : FAILS;
        attempt->why = why;
        return;
    }
    if (value.base) {
        attempt->match.reloc = reloc_of(attempt->kind);
        attempt->match.symbol = value.base;
        attempt->match.addend = value.number;
        if (attempt->match.reloc == ASM_REL_NONE) {
            attempt->fit = FAILS;
            attempt->why = "an address is known only when linking; this operand takes a number";
        }
        return;
    }
    /* Numbers of upper registers are written with and without their 0x100. */
    if (attempt->kind->kind == ISA_KIND_UCSR && value.number >= CHIP_CSR_UPPER)
        value.number -= CHIP_CSR_UPPER;
    /* 32-bit patterns may be written as negative numbers. */
    if (attempt->kind->kind == ISA_KIND_HI12 && value.number < 0 && value.number >= INT32_MIN)
        value.number += (int64_t)1 << 32;
    if (attempt->kind->kind == ISA_KIND_SIGNED && value.number > INT32_MAX &&
        value.number <= UINT32_MAX &&
        isa_operand_valid(attempt->kind, value.number - ((int64_t)1 << 32))) {
        value.number -= (int64_t)1 << 32;
        attempt->pattern = true;
    }
    attempt->number = value.number;
    if (!isa_operand_valid(attempt->kind, value.number))
        attempt->fit = OUT_OF_RANGE;
    else
        attempt->match.instr.operand[index] = (int32_t)(uint32_t)value.number;
}

static Attempt try_form(Assembler *a, IsaForm form, const Aligned *aligned, bool final) {
    Attempt attempt = {.match.instr.form = (uint16_t)form, .fit = FITS};
    const IsaFormInfo *info = isa_form_info(form);
    for (unsigned i = 0; i < info->operand_count && attempt.fit == FITS; i++) {
        attempt.kind = &info->operand[i];
        attempt.operand = aligned->operand[i];
        if (attempt.operand->expr)
            fit_immediate(a, &attempt, i, final);
        else
            attempt.match.instr.operand[i] = attempt.operand->number;
    }
    return attempt;
}

static void out_of_range(Assembler *a, const Parsed *parsed, const Attempt *first) {
    const char *mnemonic = isa_form_info(parsed->form)->mnemonic;
    char text[96] = "", range[64];
    for (IsaForm form = parsed->form; form; form = next_form(parsed, form)) {
        const IsaFormInfo *info = isa_form_info(form);
        Aligned aligned;
        if (!align_operands(info, parsed, &aligned) ||
            fitting_operands(info, &aligned) < info->operand_count)
            continue;
        for (unsigned i = 0; i < info->operand_count; i++) {
            if (aligned.operand[i] != first->operand)
                continue;
            range_text(&info->operand[i], range, sizeof range);
            size_t used = strlen(text);
            snprintf(text + used, sizeof text - used, "%s%s", used ? " or " : "", range);
        }
    }
    asm_error(a, ERR_ASM_RANGE, first->operand->place, "%lld is not in the range of %s: %s",
              (long long)first->number, mnemonic, text);
}

Match asm_match(Assembler *a, const Parsed *parsed, bool final) {
    Attempt first = {.fit = FAILS};
    bool any = false;
    for (IsaForm form = parsed->form; form; form = next_form(parsed, form)) {
        const IsaFormInfo *info = isa_form_info(form);
        Aligned aligned;
        if (!align_operands(info, parsed, &aligned) ||
            fitting_operands(info, &aligned) < info->operand_count)
            continue;
        Attempt attempt = try_form(a, form, &aligned, final);
        if (attempt.fit == FITS || attempt.fit == WAITS) {
            attempt.match.known = attempt.fit == FITS ? KNOWN : UNKNOWN;
            attempt.match.pattern = attempt.pattern;
            return attempt.match;
        }
        if (!any)
            first = attempt;
        any = true;
    }
    if (!any)
        no_form(a, parsed);
    else if (first.fit == OUT_OF_RANGE)
        out_of_range(a, parsed, &first);
    else
        asm_error(a, ERR_ASM_EXPRESSION, first.operand->place, "%s", first.why);
    return (Match){.known = INVALID};
}
