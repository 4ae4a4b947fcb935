/* The instruction manual and the table of evidence, printed from the tables themselves. */
#include "api/api.h"

#include "base/text.h"
#include "chip/chip.h"
#include "isa/isa.h"
#include "sim/sim.h"

#include <string.h>

static const char *encoding_name(IsaEncoding encoding) {
    static const char *const names[] = {
        [ISA_REAL] = "real", [ISA_VECTOR] = "vector", [ISA_OURS] = "ours"};
    return names[encoding];
}

static const char *mode_name(IsaMode mode) {
    return mode == ISA_SUPERVISOR ? "supervisor" : mode == ISA_WORKER ? "worker" : "both";
}

static const char *lane_name(IsaLane lane) {
    return lane == ISA_LANE_MAIN ? "main" : "aux";
}

static void print_list(FILE *out) {
    for (int form = ISA_INVALID + 1; form < ISA_FORM_COUNT; form++) {
        const IsaFormInfo *info = isa_form_info((IsaForm)form);
        fprintf(out, "%-16s %-30s %s\n", info->mnemonic, info->operands, info->effect);
    }
}

/* Text in a table cell: '|' would end it. */
static void print_cell(const char *text, FILE *out) {
    for (; *text; text++)
        fputs(*text == '|' ? "\\|" : (char[]){*text, 0}, out);
}

static void print_markdown(FILE *out) {
    fputs(
        "# The instructions of the IPU21 tile\n\n"
        "Written by `tilework isa --markdown` from `src/isa/isa.def`, whose head explains the\n"
        "columns; a test keeps this page equal to the table. One line a form: an instruction has\n"
        "a form for each list of operand kinds.\n\n"
        "| Instruction | Operands | Lane | Context | Slots | Encoding | Class | Evidence | Effect "
        "|\n|---|---|---|---|---|---|---|---|---|\n",
        out);
    for (int form = ISA_INVALID + 1; form < ISA_FORM_COUNT; form++) {
        const IsaFormInfo *info = isa_form_info((IsaForm)form);
        fprintf(out, "| `%s` | `%s` | %s | %s | %u | `%s` | %s | %s | ", info->mnemonic,
                info->operands, lane_name(info->lane), mode_name(info->modes), info->slots,
                info->encoding, encoding_name(info->encoding_class),
                chip_evidence_name(info->evidence));
        print_cell(info->effect, out);
        fputs(" |\n", out);
    }
}

static void print_evidence(FILE *out) {
    size_t count;
    const ChipConstant *constants = chip_constants(&count);
    for (size_t i = 0; i < count; i++) {
        const ChipConstant *c = &constants[i];
        fprintf(out, "%-28s %12lld  %-10s %s%s%s%s\n", c->name, (long long)c->value,
                chip_evidence_name(c->evidence), c->meaning, *c->source ? " (" : "", c->source,
                *c->source ? ")" : "");
    }
}

/* Instructions, exchange apart: one counts when the simulator has all of its forms and a named test
 * checks its values and slots. Which are missing goes to `missing`, if not NULL. */
typedef struct Coverage {
    size_t forms, executed, total, implemented, exchange, exchange_implemented;
    size_t by_class[ISA_OURS + 1], by_evidence[CHIP_EVIDENCE_COUNT];
} Coverage;

static bool has_all_forms(const char *mnemonic) {
    for (IsaForm form = isa_form_next(mnemonic, ISA_INVALID); form != ISA_INVALID;
         form = isa_form_next(mnemonic, form))
        if (!sim_form_is_implemented(form))
            return false;
    return true;
}

static Coverage count_coverage(FILE *missing) {
    Coverage c = {0};
    for (int form = ISA_INVALID + 1; form < ISA_FORM_COUNT; form++) {
        const IsaFormInfo *info = isa_form_info((IsaForm)form);
        c.forms++;
        c.by_class[info->encoding_class]++;
        c.by_evidence[info->evidence]++;
        c.executed += sim_form_is_implemented((IsaForm)form);
        if (isa_form_next(info->mnemonic, ISA_INVALID) != (IsaForm)form)
            continue; /* counted with its first form */
        bool exchange = info->flags & ISA_F_EXCHANGE, whole = has_all_forms(info->mnemonic);
        bool tested = isa_tested_by(info->mnemonic) != NULL;
        c.exchange += exchange;
        c.exchange_implemented += exchange && whole;
        c.total += !exchange;
        c.implemented += !exchange && whole && tested;
        if (missing && (!whole || !(exchange || tested)))
            fprintf(missing, "%s: %s\n", whole ? "not tested" : "not executed", info->mnemonic);
    }
    return c;
}

static void print_coverage(FILE *out) {
    Coverage c = count_coverage(NULL);
    fprintf(out,
            "%zu of %zu instructions of workers and supervisor executed, values and slots tested\n"
            "%zu of %zu instructions of the exchange executed\n"
            "%zu of %zu forms executed; all are assembled and disassembled\n",
            c.implemented, c.total, c.exchange_implemented, c.exchange, c.executed, c.forms);
    for (unsigned i = 0; i < COUNT_OF(c.by_class); i++)
        fprintf(out, "encoding %-12s %4zu\n", encoding_name((IsaEncoding)i), c.by_class[i]);
    for (unsigned e = 0; e < CHIP_EVIDENCE_COUNT; e++)
        fprintf(out, "effect   %-12s %4zu\n", chip_evidence_name((ChipEvidence)e),
                c.by_evidence[e]);
    count_coverage(out);
}

static void print_coverage_json(FILE *out) {
    Coverage c = count_coverage(NULL);
    fprintf(out,
            "{\"implemented\": %zu, \"total\": %zu, \"exchange_implemented\": %zu, "
            "\"exchange_total\": %zu, \"forms_implemented\": %zu, \"forms_total\": %zu, "
            "\"encodings\": {",
            c.implemented, c.total, c.exchange_implemented, c.exchange, c.executed, c.forms);
    for (unsigned i = 0; i < COUNT_OF(c.by_class); i++)
        fprintf(out, "%s\"%s\": %zu", i ? ", " : "", encoding_name((IsaEncoding)i), c.by_class[i]);
    fputs("}, \"evidence\": {", out);
    for (unsigned e = 0; e < CHIP_EVIDENCE_COUNT; e++)
        fprintf(out, "%s\"%s\": %zu", e ? ", " : "", chip_evidence_name((ChipEvidence)e),
                c.by_evidence[e]);
    fputs("}, \"instructions\": [", out);
    const char *comma = "";
    for (int form = ISA_INVALID + 1; form < ISA_FORM_COUNT; form++) {
        const IsaFormInfo *info = isa_form_info((IsaForm)form);
        const char *test = isa_tested_by(info->mnemonic);
        if (isa_form_next(info->mnemonic, ISA_INVALID) != (IsaForm)form || !test)
            continue;
        fprintf(out, "%s\n  {\"name\": \"%s\", \"slots\": %u, \"test\": \"%s\"}", comma,
                info->mnemonic, info->slots, test);
        comma = ",";
    }
    fputs("\n]}\n", out);
}

void tw_manual(TwManual what, FILE *out) {
    switch (what) {
    case TW_MANUAL_LIST: print_list(out); break;
    case TW_MANUAL_MARKDOWN: print_markdown(out); break;
    case TW_MANUAL_EVIDENCE: print_evidence(out); break;
    case TW_MANUAL_COVERAGE: print_coverage(out); break;
    case TW_MANUAL_COVERAGE_JSON: print_coverage_json(out); break;
    }
}

/* The form as source text, with some operands that it takes. */
static void print_example(IsaForm form, const IsaFormInfo *info, FILE *out) {
    IsaInstr instr = {.form = (uint16_t)form};
    int32_t next[2] = {0, 0}; /* main and arithmetic register */
    for (unsigned i = 0; i < info->operand_count; i++) {
        const IsaOperand *operand = &info->operand[i];
        bool arithmetic;
        int32_t count = (int32_t)isa_operand_registers(operand, &arithmetic);
        int32_t *number = &next[arithmetic];
        if (count) {
            *number = (int32_t)align_up((uint64_t)*number, (uint64_t)count) % (arithmetic ? 8 : 12);
            instr.operand[i] = *number;
            *number += count;
        } else {
            instr.operand[i] = operand->kind == ISA_KIND_TARGET ? CHIP_TILE_MEM_BASE
                               : operand->kind == ISA_KIND_HI12 ? 1 << 20
                               : operand->kind == ISA_KIND_EVEN ? 2
                                                                : 1;
        }
    }
    char text[ISA_TEXT_SIZE];
    isa_disassemble(&instr, info->modes == ISA_BOTH ? ISA_WORKER : info->modes, text);
    fprintf(out, "  example   %s\n", text);
}

static void print_rules(const IsaFormInfo *info, FILE *out) {
    if (info->flags & (ISA_F_CONTROL | ISA_F_SYSTEM))
        fputs("  rule      not in the body of rpt\n", out);
    if (info->flags & ISA_F_MULTI)
        fputs("  rule      its accesses meet different memory elements\n", out);
    if (info->modes == ISA_SUPERVISOR)
        fputs("  rule      not in a bundle\n", out);
}

static void print_form(IsaForm form, const IsaFormInfo *info, FILE *out) {
    fprintf(out, "%s %s\n", info->mnemonic, info->operands);
    print_example(form, info, out);
    fprintf(out, "  effect    %s (%s)\n", info->effect, chip_evidence_name(info->evidence));
    fprintf(out, "  issue     %s lane, %s, %u slot%s\n", lane_name(info->lane),
            mode_name(info->modes), info->slots, info->slots == 1 ? "" : "s");
    fprintf(out, "  encoding  %s (%s)\n", info->encoding, encoding_name(info->encoding_class));
    print_rules(info, out);
    if (isa_tested_by(info->mnemonic))
        fprintf(out, "  test      %s\n", isa_tested_by(info->mnemonic));
}

TwStatus tw_manual_entry(TwContext *context, const char *mnemonic, FILE *out) {
    IsaForm form = isa_form_next(mnemonic, ISA_INVALID);
    if (form == ISA_INVALID) {
        char shown[TEXT_PRINTABLE];
        diag_error(&context->diag, ERR_CLI_NAME, DIAG_NOWHERE, "no instruction is called %s",
                   text_printable(mnemonic, shown));
        Nearest nearest = nearest_begin(mnemonic);
        for (int i = ISA_INVALID + 1; i < ISA_FORM_COUNT; i++)
            nearest_offer(&nearest, isa_form_info((IsaForm)i)->mnemonic);
        if (nearest.best)
            diag_fix(&context->diag, "did you mean %s?", nearest.best);
        return (TwStatus)ERR_CLI_NAME;
    }
    for (; form != ISA_INVALID; form = isa_form_next(mnemonic, form))
        print_form(form, isa_form_info(form), out);
    return 0;
}
