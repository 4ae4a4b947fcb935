/* Sum of partial results: limits, operands, cycles and reference of reduce.S. */
#include "kernel/launch.h"

#include "num/f16.h"

#include <inttypes.h>
#include <stdio.h>

enum { OUTPUT = 0, FIRST = 1, REST = 2, GROUP = 8, PARTS_MOST = 127 };

static Status reduce_check(const KernelSpec *spec, Diag *diag) {
    const KernelReduce *reduce = &spec->reduce;
    if (reduce->parts < 2 || reduce->parts > PARTS_MOST)
        return diag_error(diag, ERR_KERNEL_SHAPE, DIAG_NOWHERE,
                          "a reduction kernel of %" PRIu32 " parts; 2 to %d are possible",
                          reduce->parts, (int)PARTS_MOST);
    if (reduce->count % GROUP)
        return diag_error(diag, ERR_KERNEL_SHAPE, DIAG_NOWHERE,
                          "a reduction kernel of %" PRIu32 " values; it takes multiples of 8",
                          reduce->count);
    uint64_t part = 2 * (uint64_t)reduce->count;
    return check_operand_bytes("reduction", "rest", part * (reduce->parts - 1), diag);
}

static void reduce_interface(const KernelSpec *spec, KernelInterface *result) {
    const KernelReduce *reduce = &spec->reduce;
    MemoryClass memory_class = reduce->wide ? MEMORY_INTERLEAVED : MEMORY_STANDARD;
    uint32_t bytes = 2 * reduce->count, alignment = reduce->wide ? 16 : 8;
    result->operand_count = 3;
    result->operands[OUTPUT] = (KernelOperand){
        .name = "output", .bytes = bytes, .alignment = 8, .written = true, .same = 1u << FIRST};
    result->operands[FIRST] = (KernelOperand){.name = "first",
                                              .bytes = bytes,
                                              .alignment = alignment,
                                              .memory_class = memory_class,
                                              .read = true,
                                              .same = 1u << OUTPUT};
    result->operands[REST] = (KernelOperand){.name = "rest",
                                             .bytes = bytes * (reduce->parts - 1),
                                             .alignment = alignment,
                                             .memory_class = memory_class,
                                             .read = true};
    result->scalars[0] = "share";
    result->scalar_count = 1;
    if (reduce->parts > 2) {
        result->scalars[1] = "step to the next part";
        result->scalars[2] = "step to the next group";
        result->scalar_count = 3;
    }
}

/* Steps are in units of a load, of which the first half of a group has taken one if there are two.
 */
static void reduce_scalars(const KernelSpec *spec, int32_t scalars[]) {
    const KernelReduce *reduce = &spec->reduce;
    int32_t loads = reduce->wide ? 1 : 2, part = (int32_t)(reduce->count / GROUP) * loads;
    scalars[0] = dealt_share(reduce->count / GROUP, 1);
    if (reduce->parts == 2)
        return;
    scalars[1] = part - (loads - 1);
    scalars[2] = WORKERS * loads - part * ((int32_t)reduce->parts - 2) - (loads - 1);
}

static uint64_t reduce_cycles(const KernelSpec *spec, unsigned start) {
    const KernelReduce *reduce = &spec->reduce;
    uint64_t parts = reduce->parts, loads = parts * (reduce->wide ? 1 : 2);
    uint64_t loop = reduce->wide ? parts + 3 : 2 * parts + 2, bundles[WORKERS];
    for (uint32_t w = 0; w < WORKERS; w++) {
        uint64_t groups = dealt_units(reduce->count / GROUP, w);
        bundles[w] =
            groups == 0 ? 8 : 12 + (parts > 2 ? 2u : 0u) + loads + 1 + loop * (groups - 1) + 5;
    }
    return launch_cycles(start, parts > 2 ? 12 : 10, bundles);
}

static void reduce_entry(const KernelSpec *spec, char text[KERNEL_NAME_SIZE]) {
    snprintf(text, KERNEL_NAME_SIZE, "reduce_%" PRIu32 "%s", spec->reduce.parts,
             spec->reduce.wide ? "_wide" : "");
}

static void reduce_name(const KernelSpec *spec, char text[KERNEL_NAME_SIZE]) {
    snprintf(text, KERNEL_NAME_SIZE, "reduce_%" PRIu32 "%s_%" PRIu32, spec->reduce.parts,
             spec->reduce.wide ? "_wide" : "", spec->reduce.count);
}

static void reduce_defines(const KernelSpec *spec, KernelSource *source) {
    source_define(source, "PARTS", spec->reduce.parts);
    source_define(source, "WIDE", spec->reduce.wide);
    source_define(source, "TEXCH_SYNCZONE_LOCAL", CHIP_SYNC_LOCAL);
}

static void reduce_reference(const KernelSpec *spec, void *const operands[],
                             const int32_t scalars[]) {
    (void)scalars;
    const KernelReduce *reduce = &spec->reduce;
    const F16 *first = operands[FIRST], *rest = operands[REST];
    F16 *output = operands[OUTPUT];
    for (size_t i = 0; i < reduce->count; i++) {
        float sum = 0.0f + f16_to_f32(first[i]);
        for (size_t part = 0; part + 1 < reduce->parts; part++)
            sum += f16_to_f32(rest[part * reduce->count + i]);
        output[i] = f32_to_f16(sum, F16_OVERFLOW_SATURATE);
    }
}

static bool reduce_equal(const KernelSpec *a, const KernelSpec *b) {
    const KernelReduce *x = &a->reduce, *y = &b->reduce;
    return x->parts == y->parts && x->count == y->count && x->wide == y->wide;
}

const FamilyInfo family_reduce = {
    .file = "reduce.S",
    .check = reduce_check,
    .interface = reduce_interface,
    .cycles = reduce_cycles,
    .scalars = reduce_scalars,
    .name = reduce_name,
    .entry = reduce_entry,
    .defines = reduce_defines,
    .reference = reduce_reference,
    .equal = reduce_equal,
};
