/* Sum of partial results with GELU: limits, operands, cycles and reference of reduce_gelu.S. The
 * operations are those of reduce.c and gelu.c, one after the other. */
#include "kernel/gelu.h"

#include "base/mem.h"
#include "num/gelu.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

enum { OUTPUT = 0, FIRST = 1, REST = 2, BIAS = 3, LANES = 16, VECTOR = 8 };

static uint64_t value_count(const KernelReduceGelu *both) {
    return (uint64_t)LANES * both->rows * both->panels;
}

static KernelSpec reduce_part(const KernelReduceGelu *both) {
    return (KernelSpec){
        .family = KERNEL_REDUCE,
        .reduce = {.parts = both->parts, .count = (uint32_t)value_count(both), .wide = both->wide}};
}

static KernelSpec gelu_part(const KernelReduceGelu *both) {
    return (KernelSpec){.family = KERNEL_GELU,
                        .gelu = {.bias = both->bias,
                                 .output = both->output,
                                 .half = true,
                                 .rows = both->rows,
                                 .panels = both->panels}};
}

static bool has_bias(const KernelReduceGelu *both) {
    return both->bias != KERNEL_BIAS_NONE;
}

static bool is_f8(const KernelReduceGelu *both) {
    return both->output == PRECISION_F8F143;
}

static Status both_check(const KernelSpec *spec, Diag *diag) {
    KernelSpec reduce, gelu = gelu_part(&spec->reduce_gelu);
    Status status = kernel_check(&gelu, diag);
    if (status != STATUS_OK)
        return status;
    reduce = reduce_part(&spec->reduce_gelu);
    return kernel_check(&reduce, diag);
}

/* Panels are told apart by their bias. */
static bool loops(const KernelReduceGelu *both) {
    return has_bias(both) && both->panels > 1;
}

static void both_interface(const KernelSpec *spec, KernelInterface *result) {
    const KernelReduceGelu *both = &spec->reduce_gelu;
    KernelSpec reduce = reduce_part(both), gelu = gelu_part(both);
    KernelInterface sum, epilogue;
    kernel_interface(&reduce, &sum);
    kernel_interface(&gelu, &epilogue);
    result->operands[OUTPUT] = epilogue.operands[OUTPUT];
    result->operands[OUTPUT].same = is_f8(both) ? 0 : 1u << FIRST;
    result->operands[FIRST] = sum.operands[FIRST];
    result->operands[FIRST].same = is_f8(both) ? 0 : 1u << OUTPUT;
    result->operands[REST] = sum.operands[REST];
    result->operand_count = 3;
    if (has_bias(both))
        result->operands[result->operand_count++] = epilogue.operands[epilogue.operand_count - 1];
    result->free_scalars = epilogue.free_scalars;
    if (is_f8(both))
        result->scalars[result->scalar_count++] = "scale";
    result->scalars[result->scalar_count++] = "share";
    if (both->parts > 2 || loops(both))
        result->scalars[result->scalar_count++] = "bytes of a partial";
    if (loops(both))
        result->scalars[result->scalar_count++] = "lines and panels";
}

static uint32_t panel_vectors(const KernelReduceGelu *both) {
    return (uint32_t)(value_count(both) / VECTOR / (loops(both) ? both->panels : 1));
}

static void both_scalars(const KernelSpec *spec, int32_t scalars[]) {
    const KernelReduceGelu *both = &spec->reduce_gelu;
    int32_t *scalar = scalars + is_f8(both);
    *scalar++ = dealt_share(panel_vectors(both), 1);
    if (both->parts > 2 || loops(both))
        *scalar++ = (int32_t)(2 * value_count(both));
    if (loops(both))
        *scalar++ = pack_halves(both->rows, both->panels - 1);
}

static uint64_t both_cycles(const KernelSpec *spec, unsigned start) {
    const KernelReduceGelu *both = &spec->reduce_gelu;
    uint64_t bias = has_bias(both), f8 = is_f8(both), loads = both->wide ? 1 : 2;
    uint64_t loop = loops(both), panels = loop ? both->panels : 1, bundles[WORKERS];
    uint64_t setup = 14 + f8 + 4 * bias + 7 * loop;
    setup += both->parts == 2 ? 1 : 3 + loads;
    uint64_t vector = (both->parts - 1) * loads + 19 + 2 * bias - 2 * f8;
    uint64_t between = f8 || !both->wide ? 2 : 1;
    for (uint32_t w = 0; w < WORKERS; w++) {
        uint64_t vectors = dealt_units(panel_vectors(both), w);
        uint64_t panel =
            loads + vector + 1 + (vector + between) * (vectors - 1) + 2 + f8 + 5 * loop;
        bundles[w] = vectors == 0 ? 8 : setup + panels * panel + 1;
    }
    bool step = both->parts > 2 || loop;
    return launch_cycles(start, (unsigned)(11 + bias + step + loop), bundles);
}

static void both_entry(const KernelSpec *spec, char text[KERNEL_NAME_SIZE]) {
    const KernelReduceGelu *both = &spec->reduce_gelu;
    snprintf(text, KERNEL_NAME_SIZE, "reduce_gelu_%" PRIu32 "%s%s%s%s", both->parts,
             both->wide ? "_wide" : "", has_bias(both) ? "_bias" : "",
             is_f8(both) ? "_f8_half" : "_f16", loops(both) ? "_panels" : "");
}

static void both_name(const KernelSpec *spec, char text[KERNEL_NAME_SIZE]) {
    char entry[KERNEL_NAME_SIZE];
    both_entry(spec, entry);
    snprintf(text, KERNEL_NAME_SIZE, "%.40s_%" PRIu32 "x%" PRIu32, entry, spec->reduce_gelu.rows,
             spec->reduce_gelu.panels);
}

static void both_defines(const KernelSpec *spec, KernelSource *source) {
    const KernelReduceGelu *both = &spec->reduce_gelu;
    source_define(source, "PARTS", both->parts);
    source_define(source, "WIDE", both->wide);
    source_define(source, "F8", is_f8(both));
    source_define(source, "BIAS", has_bias(both));
    source_define(source, "LOOP", loops(both));
    source_define(source, "LINEAR", GELU_LINEAR);
    source_define(source, "CUBIC", GELU_CUBIC);
    source_define(source, "NFMT_F143", GELU_NFMT_F143);
    source_define(source, "TEXCH_SYNCZONE_LOCAL", CHIP_SYNC_LOCAL);
}

static void both_reference(const KernelSpec *spec, void *const operands[],
                           const int32_t scalars[]) {
    const KernelReduceGelu *both = &spec->reduce_gelu;
    KernelSpec reduce = reduce_part(both), gelu = gelu_part(both);
    void *sum = mem_alloc(value_count(both), sizeof(uint16_t));
    assert(sum);
    void *const first[] = {sum, operands[FIRST], operands[REST]};
    kernel_reference(&reduce, first, NULL);
    void *const second[] = {operands[OUTPUT], sum, operands[BIAS]};
    kernel_reference(&gelu, second, scalars);
    mem_free(sum);
}

static bool both_equal(const KernelSpec *a, const KernelSpec *b) {
    const KernelReduceGelu *x = &a->reduce_gelu, *y = &b->reduce_gelu;
    return x->parts == y->parts && x->wide == y->wide && x->bias == y->bias &&
           x->output == y->output && x->rows == y->rows && x->panels == y->panels;
}

const FamilyInfo family_reduce_gelu = {
    .file = "reduce_gelu.S",
    .check = both_check,
    .interface = both_interface,
    .cycles = both_cycles,
    .scalars = both_scalars,
    .name = both_name,
    .entry = both_entry,
    .defines = both_defines,
    .reference = both_reference,
    .equal = both_equal,
};
