/* F143 to F16 between packed orders: limits, operands, cycles and reference of convert_panels.S. */
#include "kernel/launch.h"

#include "num/f8.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    OUTPUT = 0,
    SOURCE = 1,
    LINE = 32,     /* bytes, on both sides */
    VALUES = 16,   /* of a line of output */
    NFMT_F143 = 2, /* $FP_NFMT: the arithmetic registers' side is F143 */
};

static uint64_t output_bytes(const KernelConvert *convert) {
    return (uint64_t)LINE * convert->rows * convert->panels * convert->groups;
}

static uint64_t source_bytes(const KernelConvert *convert) {
    return (uint64_t)LINE * convert->rows * ((convert->panels + 1) / 2) * convert->groups;
}

static Status convert_check(const KernelSpec *spec, Diag *diag) {
    const KernelConvert *convert = &spec->convert;
    if (convert->from != PRECISION_F8F143 || convert->to != PRECISION_F16) {
        char a[PRECISION_TEXT_SIZE], b[PRECISION_TEXT_SIZE];
        return diag_error(diag, ERR_KERNEL_PRECISION, DIAG_NOWHERE,
                          "there is no conversion kernel for panels from %s to %s",
                          precision_print((Precision){.kind = convert->from}, a),
                          precision_print((Precision){.kind = convert->to}, b));
    }
    const uint32_t most = OPERAND_BYTES_MOST / LINE;
    if (convert->rows > most || convert->panels > most || convert->groups > most)
        return diag_error(diag, ERR_KERNEL_SHAPE, DIAG_NOWHERE,
                          "a conversion kernel of %" PRIu32 " rows, %" PRIu32 " panels and %" PRIu32
                          " groups; at most %" PRIu32 " of each are possible",
                          convert->rows, convert->panels, convert->groups, most);
    return check_operand_bytes("conversion", "output", output_bytes(convert), diag);
}

static void convert_interface(const KernelSpec *spec, KernelInterface *result) {
    const KernelConvert *convert = &spec->convert;
    result->operand_count = 2;
    result->operands[OUTPUT] = (KernelOperand){.name = "output",
                                               .bytes = (uint32_t)output_bytes(convert),
                                               .alignment = 8,
                                               .written = true,
                                               .apart = convert->fast ? 1u << SOURCE : 0};
    result->operands[SOURCE] = (KernelOperand){.name = "source",
                                               .bytes = (uint32_t)source_bytes(convert),
                                               .alignment = 8,
                                               .read = true,
                                               .apart = convert->fast ? 1u << OUTPUT : 0};
    result->scalar_count = result->free_scalars = 1;
    result->scalars[0] = "scale exponent";
}

static uint64_t convert_cycles(const KernelSpec *spec, unsigned start) {
    const KernelConvert *convert = &spec->convert;
    uint64_t run = run_length(convert->rows), bundles[WORKERS];
    uint64_t add = (uint64_t)LINE * convert->rows <= INT16_MAX ? 1 : 2; /* on to the next panel */
    uint64_t panel = (convert->fast ? 5 + 4 * run : 3 + 6 * run) + add;
    uint64_t pairs = convert->panels / 2, group = 1;
    if (pairs > 0)
        group += 1 + pairs * (2 * panel + add + 1);
    if (convert->panels % 2)
        group += panel + add;
    for (uint32_t w = 0; w < WORKERS; w++)
        bundles[w] = 12 + convert->groups * group + 1;
    return launch_cycles(start, 8, bundles);
}

static void convert_name(const KernelSpec *spec, char text[KERNEL_NAME_SIZE]) {
    const KernelConvert *convert = &spec->convert;
    snprintf(text, KERNEL_NAME_SIZE, "convert_panels%s_%" PRIu32 "x%" PRIu32 "x%" PRIu32,
             convert->fast ? "_fast" : "", convert->rows, convert->panels, convert->groups);
}

static void convert_defines(const KernelSpec *spec, KernelSource *source) {
    source_define(source, "ROWS", spec->convert.rows);
    source_define(source, "PANELS", spec->convert.panels);
    source_define(source, "GROUPS", spec->convert.groups);
    source_define(source, "FAST", spec->convert.fast);
    source_define(source, "NFMT_F143", NFMT_F143);
    source_define(source, "TEXCH_SYNCZONE_LOCAL", CHIP_SYNC_LOCAL);
}

static void convert_reference(const KernelSpec *spec, void *const operands[],
                              const int32_t scalars[]) {
    const KernelConvert *convert = &spec->convert;
    const uint8_t *source = operands[SOURCE];
    F16 *output = operands[OUTPUT];
    size_t rows = convert->rows;
    for (uint32_t group = 0; group < convert->groups; group++) {
        for (size_t panel = 0; panel < convert->panels; panel++)
            for (size_t row = 0; row < rows; row++, output += VALUES) {
                const uint8_t *line = source + LINE * (panel / 2 * rows + row);
                f8_decode_f16(output, line + panel % 2 * VALUES, VALUES, F8_F143, scalars[0],
                              F16_OVERFLOW_SATURATE);
            }
        source += LINE * rows * ((convert->panels + 1) / 2);
    }
}

static bool convert_equal(const KernelSpec *a, const KernelSpec *b) {
    const KernelConvert *x = &a->convert, *y = &b->convert;
    return x->panels == y->panels && x->from == y->from && x->to == y->to && x->fast == y->fast &&
           x->rows == y->rows && x->groups == y->groups;
}

const FamilyInfo family_convert_panels = {
    .file = "convert_panels.S",
    .check = convert_check,
    .interface = convert_interface,
    .cycles = convert_cycles,
    .name = convert_name,
    .defines = convert_defines,
    .reference = convert_reference,
    .equal = convert_equal,
};
