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

static void print_coverage(FILE *out) {
    size_t forms = 0, executed = 0, by_class[ISA_OURS + 1] = {0};
    size_t by_evidence[CHIP_EVIDENCE_COUNT] = {0};
    for (int form = ISA_INVALID + 1; form < ISA_FORM_COUNT; form++) {
        const IsaFormInfo *info = isa_form_info((IsaForm)form);
        forms++;
        by_class[info->encoding_class]++;
        by_evidence[info->evidence]++;
        executed += sim_form_is_implemented((IsaForm)form);
    }
    fprintf(out, "%zu forms, assembled and disassembled; the simulator executes %zu\n", forms,
            executed);
    for (unsigned c = 0; c < COUNT_OF(by_class); c++)
        fprintf(out, "encoding %-12s %4zu\n", encoding_name((IsaEncoding)c), by_class[c]);
    for (unsigned e = 0; e < CHIP_EVIDENCE_COUNT; e++)
        fprintf(out, "effect   %-12s %4zu\n", chip_evidence_name((ChipEvidence)e), by_evidence[e]);
    for (int form = ISA_INVALID + 1; form < ISA_FORM_COUNT; form++) {
        if (!sim_form_is_implemented((IsaForm)form))
            fprintf(out, "not executed: %s (%s)\n", isa_form_info((IsaForm)form)->mnemonic,
                    isa_form_info((IsaForm)form)->id);
    }
}

void tw_manual(TwManual what, FILE *out) {
    switch (what) {
    case TW_MANUAL_LIST: print_list(out); break;
    case TW_MANUAL_MARKDOWN: print_markdown(out); break;
    case TW_MANUAL_EVIDENCE: print_evidence(out); break;
    case TW_MANUAL_COVERAGE: print_coverage(out); break;
    }
}

static void print_form(const IsaFormInfo *info, bool executed, FILE *out) {
    fprintf(out, "%s %s\n", info->mnemonic, info->operands);
    fprintf(out, "  effect    %s (%s)\n", info->effect, chip_evidence_name(info->evidence));
    fprintf(out, "  issue     %s lane, %s, %u slot%s\n", lane_name(info->lane),
            mode_name(info->modes), info->slots, info->slots == 1 ? "" : "s");
    fprintf(out, "  encoding  %s (%s)\n", info->encoding, encoding_name(info->encoding_class));
    if (!executed)
        fputs("  the simulator does not execute it\n", out);
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
        print_form(isa_form_info(form), sim_form_is_implemented(form), out);
    return 0;
}
