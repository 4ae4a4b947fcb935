/* GELU: limits, operands, cycles and reference of gelu.S. */
#include "kernel/gelu.h"

#include "num/f8.h"
#include "num/gelu.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

enum {
    OUTPUT = 0,
    SOURCE = 1,
    BIAS = 2,
    LANES = 16, /* values of a line of a panel */
    LINE_BYTES = 2 * LANES,
    VECTOR = 8 /* values that a worker takes at once */
};

/* What the code sees: `loop` if the panels are told apart, else they are one. */
typedef struct Body {
    bool f8, bias, loop, full, odd;
    uint32_t rows, panels;
} Body;

static Body body_of(const KernelGelu *gelu) {
    bool f8 = gelu->output == PRECISION_F8F143, full = f8 && !gelu->half;
    bool bias = gelu->bias != KERNEL_BIAS_NONE;
    Body body = {
        f8,         bias,        full || (bias && gelu->panels > 1), full, full && gelu->panels % 2,
        gelu->rows, gelu->panels};
    if (!body.loop) {
        body.rows *= body.panels;
        body.panels = 1;
    }
    return body;
}

static uint64_t source_bytes(const KernelGelu *gelu) {
    return (uint64_t)LINE_BYTES * gelu->rows * gelu->panels;
}

static uint64_t output_bytes(const KernelGelu *gelu) {
    if (gelu->output == PRECISION_F16)
        return source_bytes(gelu);
    uint64_t panels = gelu->half ? gelu->panels : gelu->panels + (uint64_t)gelu->panels % 2;
    return (uint64_t)LANES * gelu->rows * panels;
}

Status gelu_check(const KernelSpec *spec, Diag *diag) {
    const KernelGelu *gelu = &spec->gelu;
    if (gelu->output != PRECISION_F16 && gelu->output != PRECISION_F8F143)
        return diag_error(diag, ERR_KERNEL_PRECISION, DIAG_NOWHERE,
                          "a GELU kernel with output of another precision than f16 and f8f143");
    const uint32_t most = OPERAND_BYTES_MOST / LINE_BYTES;
    if (gelu->rows > most || gelu->panels > most)
        return diag_error(diag, ERR_KERNEL_SHAPE, DIAG_NOWHERE,
                          "a GELU kernel of %" PRIu32 " rows and %" PRIu32
                          " panels; at most %" PRIu32 " of each are possible",
                          gelu->rows, gelu->panels, most);
    if (gelu->turn == KERNEL_TURN_NONE && gelu->bias == KERNEL_BIAS_ROWS)
        return diag_error(diag, ERR_KERNEL_SHAPE, DIAG_NOWHERE,
                          "a GELU kernel with bias of lines that does not transpose");
    if (gelu->turn != KERNEL_TURN_NONE &&
        (gelu->bias == KERNEL_BIAS_COLUMNS || (gelu->output == PRECISION_F8F143 && !gelu->half) ||
         gelu->rows % LANES))
        return diag_error(diag, ERR_KERNEL_SHAPE, DIAG_NOWHERE,
                          "a GELU kernel that transposes %" PRIu32
                          " lines; it takes multiples of 16, bias of lines, and makes lines of 16 "
                          "values",
                          gelu->rows);
    Status status = check_operand_bytes("GELU", "source", source_bytes(gelu), diag);
    if (status == STATUS_OK)
        status = check_operand_bytes("GELU", "output", output_bytes(gelu), diag);
    return status;
}

void gelu_interface(const KernelSpec *spec, KernelInterface *result) {
    const KernelGelu *gelu = &spec->gelu;
    Body body = body_of(gelu);
    uint32_t same = body.f8 || gelu->turn != KERNEL_TURN_NONE ? 0 : 1u << SOURCE;
    result->operands[OUTPUT] = (KernelOperand){.name = "output",
                                               .bytes = (uint32_t)output_bytes(gelu),
                                               .alignment = 8,
                                               .written = true,
                                               .same = same};
    result->operands[SOURCE] = (KernelOperand){.name = "source",
                                               .bytes = (uint32_t)source_bytes(gelu),
                                               .alignment = 8,
                                               .read = true,
                                               .same = same ? 1u << OUTPUT : 0};
    result->operand_count = 2;
    if (gelu->bias == KERNEL_BIAS_COLUMNS)
        result->operands[result->operand_count++] = (KernelOperand){
            .name = "bias", .bytes = LINE_BYTES * gelu->panels, .alignment = 8, .read = true};
    if (gelu->bias == KERNEL_BIAS_ROWS)
        result->operands[result->operand_count++] =
            (KernelOperand){.name = "bias", .bytes = 2 * gelu->rows, .alignment = 4, .read = true};
    if (body.f8) {
        result->free_scalars = 1;
        result->scalars[result->scalar_count++] = "scale";
    }
    if (gelu->turn != KERNEL_TURN_NONE) {
        gelu_turn_interface(gelu, result);
        return;
    }
    result->scalars[result->scalar_count++] = "share";
    if (body.loop) {
        result->scalars[result->scalar_count++] = "bytes of a panel";
        result->scalars[result->scalar_count++] = "panels less 1";
    }
}

static uint32_t panel_vectors(const Body *body) {
    return body->rows * (LANES / VECTOR);
}

static void gelu_scalars(const KernelSpec *spec, int32_t scalars[]) {
    Body body = body_of(&spec->gelu);
    int32_t *scalar = scalars + body.f8;
    scalar[0] = dealt_share(panel_vectors(&body), 1);
    if (body.loop) {
        scalar[1] = (int32_t)(LINE_BYTES * body.rows);
        scalar[2] = (int32_t)body.panels - 1;
    }
}

/* Bundles of a worker that takes `vectors` >= 1 of each panel. */
static uint64_t worker_bundles(const Body *body, uint64_t vectors) {
    uint64_t bias = body->bias, setup = 11 + 4 * bias, panel, loop;
    if (body->f8) {
        panel = 20 + 2 * bias + (15 + 2 * bias) * (vectors - 1);
        setup += body->full ? 6 : 2;
    } else {
        panel = 21 + 2 * bias + (16 + 2 * bias) * (vectors - 1);
        setup += 1;
    }
    if (!body->loop)
        return setup + panel + 1;
    loop = 2 + panel + 3 + bias + body->full;
    return setup + 5 + loop * body->panels + (body->odd ? 2 + vectors : 0) + 1;
}

static uint64_t gelu_cycles(const KernelSpec *spec, unsigned start) {
    Body body = body_of(&spec->gelu);
    uint64_t bundles[WORKERS];
    for (uint32_t w = 0; w < WORKERS; w++) {
        uint32_t vectors = dealt_units(panel_vectors(&body), w);
        bundles[w] = vectors == 0 ? 8 : worker_bundles(&body, vectors);
    }
    return launch_cycles(start, 10u + body.bias + 2u * body.loop, bundles);
}

static void gelu_entry(const KernelSpec *spec, char text[KERNEL_NAME_SIZE]) {
    Body body = body_of(&spec->gelu);
    snprintf(text, KERNEL_NAME_SIZE, "gelu%s%s%s", body.bias ? "_bias" : "",
             !body.f8     ? "_f16"
             : !body.full ? "_f8_half"
             : body.odd   ? "_f8_odd"
                          : "_f8",
             body.loop && !body.full ? "_panels" : "");
}

static void gelu_name(const KernelSpec *spec, char text[KERNEL_NAME_SIZE]) {
    char entry[KERNEL_NAME_SIZE];
    gelu_entry(spec, entry);
    snprintf(text, KERNEL_NAME_SIZE, "%.40s_%" PRIu32 "x%" PRIu32, entry, spec->gelu.rows,
             spec->gelu.panels);
}

static void gelu_defines(const KernelSpec *spec, KernelSource *source) {
    Body body = body_of(&spec->gelu);
    source_define(source, "F8", body.f8);
    source_define(source, "BIAS", body.bias);
    source_define(source, "LOOP", body.loop);
    source_define(source, "FULL", body.full);
    source_define(source, "ODD", body.odd);
    source_define(source, "LINEAR", GELU_LINEAR);
    source_define(source, "CUBIC", GELU_CUBIC);
    source_define(source, "NFMT_F143", GELU_NFMT_F143);
    source_define(source, "TEXCH_SYNCZONE_LOCAL", CHIP_SYNC_LOCAL);
}

/* Where value `lane` of line `row` of a panel goes. */
static size_t output_place(const KernelGelu *gelu, size_t panel, size_t row, size_t lane) {
    size_t blocks = gelu->rows / LANES, block = row / LANES;
    if (gelu->turn != KERNEL_TURN_NONE) {
        size_t position =
            gelu->turn == KERNEL_TURN_LEFT ? block * gelu->panels + panel : panel * blocks + block;
        return (position * LANES + lane) * LANES + row % LANES;
    }
    if (gelu->output == PRECISION_F16 || gelu->half)
        return (panel * gelu->rows + row) * LANES + lane;
    return (panel / 2 * gelu->rows + row) * 2 * LANES + panel % 2 * LANES + lane;
}

void gelu_reference(const KernelSpec *spec, void *const operands[], const int32_t scalars[]) {
    const KernelGelu *gelu = &spec->gelu;
    const F16 *source = operands[SOURCE], *bias = operands[BIAS];
    bool f8 = gelu->output == PRECISION_F8F143;
    if (f8 && !gelu->half && gelu->panels % 2)
        for (size_t row = 0; row < gelu->rows; row++)
            for (size_t lane = 0; lane < LANES; lane++)
                ((uint8_t *)operands[OUTPUT])[output_place(gelu, gelu->panels, row, lane)] = 0;
    for (size_t panel = 0; panel < gelu->panels; panel++)
        for (size_t row = 0; row < gelu->rows; row++)
            for (size_t lane = 0; lane < LANES; lane++) {
                F16 z = source[(panel * gelu->rows + row) * LANES + lane];
                if (gelu->bias == KERNEL_BIAS_COLUMNS)
                    z = f16_add(z, bias[panel * LANES + lane]);
                else if (gelu->bias == KERNEL_BIAS_ROWS)
                    z = f16_add(z, bias[row]);
                size_t at = output_place(gelu, panel, row, lane);
                if (f8)
                    ((uint8_t *)operands[OUTPUT])[at] =
                        f8_from_f16(gelu_twice_f16(z), F8_F143, scalars[0] + 1, F8_DEVICE_SATURATE);
                else
                    ((F16 *)operands[OUTPUT])[at] = gelu_f16(z);
            }
}

bool gelu_equal(const KernelSpec *a, const KernelSpec *b) {
    const KernelGelu *x = &a->gelu, *y = &b->gelu;
    return x->bias == y->bias && x->turn == y->turn && x->output == y->output &&
           (x->output == PRECISION_F16 || x->half == y->half) && x->rows == y->rows &&
           x->panels == y->panels;
}

const FamilyInfo family_gelu = {
    .file = "gelu.S",
    .check = gelu_check,
    .interface = gelu_interface,
    .cycles = gelu_cycles,
    .scalars = gelu_scalars,
    .name = gelu_name,
    .entry = gelu_entry,
    .defines = gelu_defines,
    .reference = gelu_reference,
    .equal = gelu_equal,
};
