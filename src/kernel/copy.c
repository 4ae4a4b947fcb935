/* Copies and fill: limits, operands, cycles and reference of copy.S. */
#include "kernel/launch.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { WORD = 8 };

/* What the workers share: the words of the only row, the rows, or the words of each row. */
typedef enum CopyForm { ONE_ROW = 0, BY_ROWS = 1, BY_WORDS = 2 } CopyForm;

typedef struct CopyBody {
    CopyForm form;
    bool paced;
} CopyBody;

static uint64_t body_bundles(const KernelCopy *copy, CopyBody body, uint32_t worker) {
    uint64_t words = dealt_units(copy->words, worker);
    switch (body.form) {
    case ONE_ROW:
        if (!body.paced)
            return 11 + 2 * words;
        return words == 0 ? 8 : 17 + words;
    case BY_ROWS:
        return 1 + (body.paced ? 18 + run_length(copy->rows) * (6 + (uint64_t)copy->words)
                               : 19 + run_length(copy->rows) * (4 + 2 * (uint64_t)copy->words));
    default:
        return 1 + (body.paced ? 17 + copy->rows * (6 + words) : 12 + copy->rows * (5 + 2 * words));
    }
}

/* Worker 0 is never shorter than another one. Rows of so few words that some worker has none, which
 * the paced loop over words cannot have, are always copied faster by rows. */
static CopyBody choose_body(const KernelCopy *copy) {
    if (copy->rows == 1)
        return (CopyBody){ONE_ROW, copy->paced};
    CopyBody best = {BY_ROWS, false};
    for (int form = BY_ROWS; form <= BY_WORDS; form++)
        for (int paced = 0; paced <= copy->paced; paced++) {
            CopyBody body = {(CopyForm)form, paced};
            if (body_bundles(copy, body, 0) < body_bundles(copy, best, 0))
                best = body;
        }
    assert(best.form != BY_WORDS || !best.paced || copy->words >= WORKERS);
    return best;
}

static uint64_t copy_bytes(const KernelCopy *copy, uint32_t stride) {
    return (uint64_t)(copy->rows - 1) * stride + (uint64_t)WORD * copy->words;
}

static Status copy_check(const KernelSpec *spec, Diag *diag) {
    const KernelCopy *copy = &spec->copy;
    if (copy->rows == 0 || copy->words == 0)
        return check_operand_bytes("copy", "output", 0, diag);
    if (copy->rows > 1) {
        uint32_t least = MIN_OF(copy->source_stride, copy->output_stride);
        if ((copy->source_stride | copy->output_stride) % WORD || least / WORD < copy->words)
            return diag_error(diag, ERR_KERNEL_SHAPE, DIAG_NOWHERE,
                              "a copy kernel with %" PRIu32 " and %" PRIu32
                              " bytes from row to row for rows of %" PRIu32
                              " words; they must be multiples of 8 and hold a row",
                              copy->source_stride, copy->output_stride, copy->words);
    }
    Status status =
        check_operand_bytes("copy", "output", copy_bytes(copy, copy->output_stride), diag);
    if (status == STATUS_OK)
        status = check_operand_bytes("copy", "source", copy_bytes(copy, copy->source_stride), diag);
    return status;
}

static void copy_interface(const KernelSpec *spec, KernelInterface *result) {
    const KernelCopy *copy = &spec->copy;
    result->operand_count = 2;
    result->operands[0] = (KernelOperand){.name = "output",
                                          .bytes = (uint32_t)copy_bytes(copy, copy->output_stride),
                                          .alignment = WORD,
                                          .written = true,
                                          .apart = copy->paced ? 1u << 1 : 0};
    result->operands[1] = (KernelOperand){.name = "source",
                                          .bytes = (uint32_t)copy_bytes(copy, copy->source_stride),
                                          .alignment = WORD,
                                          .read = true,
                                          .apart = copy->paced ? 1u << 0 : 0};
    result->scalars[0] = "share";
    result->scalar_count = 1;
    if (copy->rows > 1) {
        result->scalars[1] = "counts";
        result->scalars[2] = "source stride";
        result->scalars[3] = "output stride";
        result->scalar_count = 4;
    }
}

static void copy_scalars(const KernelSpec *spec, int32_t scalars[]) {
    const KernelCopy *copy = &spec->copy;
    CopyBody body = choose_body(copy);
    scalars[0] = body.form == BY_ROWS
                     ? run_share(copy->rows)
                     : dealt_share(copy->words, body.paced && body.form == ONE_ROW);
    if (body.form == ONE_ROW)
        return;
    scalars[1] = body.form == BY_ROWS ? pack_halves(copy->words, run_length(copy->rows) - 1)
                                      : (int32_t)copy->rows - 1;
    scalars[2] = (int32_t)copy->source_stride;
    scalars[3] = (int32_t)copy->output_stride;
}

static uint64_t copy_cycles(const KernelSpec *spec, unsigned start) {
    CopyBody body = choose_body(&spec->copy);
    uint64_t bundles[WORKERS];
    for (uint32_t w = 0; w < WORKERS; w++)
        bundles[w] = body_bundles(&spec->copy, body, w);
    return launch_cycles(start, body.form == ONE_ROW ? 9 : 12, bundles);
}

static void copy_entry(const KernelSpec *spec, char text[KERNEL_NAME_SIZE]) {
    static const char *const forms[] = {"", "_rows", "_words"};
    CopyBody body = choose_body(&spec->copy);
    snprintf(text, KERNEL_NAME_SIZE, "copy%s%s", forms[body.form], body.paced ? "_paced" : "");
}

static void copy_name(const KernelSpec *spec, char text[KERNEL_NAME_SIZE]) {
    const KernelCopy *copy = &spec->copy;
    const char *paced = copy->paced ? "_paced" : "";
    if (copy->rows == 1)
        snprintf(text, KERNEL_NAME_SIZE, "copy%s_%" PRIu32, paced, copy->words);
    else
        snprintf(text, KERNEL_NAME_SIZE, "copy%s_%" PRIu32 "x%" PRIu32 "_%" PRIu32 "_%" PRIu32,
                 paced, copy->rows, copy->words, copy->output_stride, copy->source_stride);
}

static void define_body(KernelSource *source, bool fill, CopyBody body) {
    source_define(source, "FILL", fill);
    source_define(source, "PACED", body.paced);
    source_define(source, "ROWS", body.form);
    source_define(source, "TEXCH_SYNCZONE_LOCAL", CHIP_SYNC_LOCAL);
}

static void copy_defines(const KernelSpec *spec, KernelSource *source) {
    define_body(source, false, choose_body(&spec->copy));
}

static void copy_reference(const KernelSpec *spec, void *const operands[],
                           const int32_t scalars[]) {
    (void)scalars;
    const KernelCopy *copy = &spec->copy;
    for (size_t row = 0; row < copy->rows; row++)
        memcpy((uint8_t *)operands[0] + row * copy->output_stride,
               (const uint8_t *)operands[1] + row * copy->source_stride,
               (size_t)WORD * copy->words);
}

/* The strides of a single row do not matter. */
static bool copy_equal(const KernelSpec *a, const KernelSpec *b) {
    const KernelCopy *x = &a->copy, *y = &b->copy;
    return x->rows == y->rows && x->words == y->words && x->paced == y->paced &&
           (x->rows == 1 ||
            (x->source_stride == y->source_stride && x->output_stride == y->output_stride));
}

const FamilyInfo family_copy = {
    .file = "copy.S",
    .check = copy_check,
    .interface = copy_interface,
    .cycles = copy_cycles,
    .scalars = copy_scalars,
    .name = copy_name,
    .entry = copy_entry,
    .defines = copy_defines,
    .reference = copy_reference,
    .equal = copy_equal,
};

/* ---- fill */

static Status fill_check(const KernelSpec *spec, Diag *diag) {
    return check_operand_bytes("fill", "output", (uint64_t)WORD * spec->fill.words, diag);
}

static void fill_interface(const KernelSpec *spec, KernelInterface *result) {
    result->operand_count = 1;
    result->operands[0] = (KernelOperand){
        .name = "output", .bytes = WORD * spec->fill.words, .alignment = WORD, .written = true};
    result->scalar_count = 3;
    result->free_scalars = 2;
    result->scalars[0] = "low half of the pattern";
    result->scalars[1] = "high half of the pattern";
    result->scalars[2] = "share";
}

static void fill_scalars(const KernelSpec *spec, int32_t scalars[]) {
    scalars[2] = dealt_share(spec->fill.words, 0);
}

static uint64_t fill_cycles(const KernelSpec *spec, unsigned start) {
    uint64_t bundles[WORKERS];
    for (uint32_t w = 0; w < WORKERS; w++)
        bundles[w] = 11 + dealt_units(spec->fill.words, w);
    return launch_cycles(start, 10, bundles);
}

static void fill_entry(const KernelSpec *spec, char text[KERNEL_NAME_SIZE]) {
    (void)spec;
    snprintf(text, KERNEL_NAME_SIZE, "fill");
}

static void fill_name(const KernelSpec *spec, char text[KERNEL_NAME_SIZE]) {
    snprintf(text, KERNEL_NAME_SIZE, "fill_%" PRIu32, spec->fill.words);
}

static void fill_defines(const KernelSpec *spec, KernelSource *source) {
    (void)spec;
    define_body(source, true, (CopyBody){ONE_ROW, false});
}

static void fill_reference(const KernelSpec *spec, void *const operands[],
                           const int32_t scalars[]) {
    for (size_t word = 0; word < spec->fill.words; word++)
        memcpy((uint8_t *)operands[0] + WORD * word, scalars, WORD);
}

static bool fill_equal(const KernelSpec *a, const KernelSpec *b) {
    return a->fill.words == b->fill.words;
}

const FamilyInfo family_fill = {
    .file = "copy.S",
    .check = fill_check,
    .interface = fill_interface,
    .cycles = fill_cycles,
    .scalars = fill_scalars,
    .name = fill_name,
    .entry = fill_entry,
    .defines = fill_defines,
    .reference = fill_reference,
    .equal = fill_equal,
};
