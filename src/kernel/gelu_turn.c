/* GELU that transposes: cycles and symbols of gelu_turn.S. Limits, operands and reference are those
 * of all GELU kernels, in gelu.c. */
#include "kernel/gelu.h"

#include "num/gelu.h"

#include <inttypes.h>
#include <stdio.h>

/* A panel is shared by three pairs of workers. */
enum { PAIRS = WORKERS / 2, TILE = 4, BLOCK = 16 };

static bool has_bias(const KernelGelu *gelu) {
    return gelu->bias != KERNEL_BIAS_NONE;
}

static bool is_f8(const KernelGelu *gelu) {
    return gelu->output == PRECISION_F8F143;
}

static bool blocks_of_panels(const KernelGelu *gelu) {
    return gelu->turn == KERNEL_TURN_LEFT && gelu->panels > 1;
}

void gelu_turn_interface(const KernelGelu *gelu, KernelInterface *result) {
    result->scalars[result->scalar_count++] = "share";
    if (gelu->panels > 1)
        result->scalars[result->scalar_count++] = "bytes of a panel";
}

static void turn_scalars(const KernelSpec *spec, int32_t scalars[]) {
    const KernelGelu *gelu = &spec->gelu;
    uint32_t tiles = gelu->rows / TILE;
    scalars[is_f8(gelu)] = pack_halves(tiles / PAIRS, tiles % PAIRS);
    if (gelu->panels > 1)
        scalars[is_f8(gelu) + 1] = (int32_t)(2 * BLOCK * gelu->rows);
}

/* Bundles of a strip of that many tiles, and from one to the next. */
static uint64_t strip_bundles(const KernelGelu *gelu, uint64_t tiles) {
    uint64_t bias = has_bias(gelu);
    if (is_f8(gelu))
        return 49 + 7 * bias + (30 + 4 * bias) * (tiles - 1);
    return 51 + 7 * bias + (36 + 4 * bias) * (tiles - 1);
}

static uint64_t worker_bundles(const KernelGelu *gelu, uint64_t tiles) {
    uint64_t f8 = is_f8(gelu), panels = gelu->panels, next = f8 ? 1 : 3, ends;
    if (panels == 1)
        ends = 2 * (2 + next);
    else
        ends = panels * (8 + 2 * next + (gelu->turn == KERNEL_TURN_LEFT ? 2 : 3 + f8));
    return 29 - f8 + 3 * has_bias(gelu) + 2 * panels * strip_bundles(gelu, tiles) + ends + 1;
}

static uint64_t turn_cycles(const KernelSpec *spec, unsigned start) {
    const KernelGelu *gelu = &spec->gelu;
    uint64_t bundles[WORKERS];
    for (uint32_t w = 0; w < WORKERS; w++) {
        uint32_t tiles = gelu->rows / TILE, pair = w / 2;
        bundles[w] = worker_bundles(gelu, tiles / PAIRS + (pair < tiles % PAIRS));
    }
    return launch_cycles(start, 10u + has_bias(gelu) + (gelu->panels > 1), bundles);
}

static void turn_entry(const KernelSpec *spec, char text[KERNEL_NAME_SIZE]) {
    const KernelGelu *gelu = &spec->gelu;
    const char *blocks = gelu->panels == 1                ? ""
                         : gelu->turn == KERNEL_TURN_LEFT ? "_left"
                                                          : "_right";
    snprintf(text, KERNEL_NAME_SIZE, "gelu_turn%s%s%s_%" PRIu32, is_f8(gelu) ? "" : "_f16",
             has_bias(gelu) ? "_bias" : "", blocks, gelu->panels);
}

static void turn_name(const KernelSpec *spec, char text[KERNEL_NAME_SIZE]) {
    const KernelGelu *gelu = &spec->gelu;
    snprintf(text, KERNEL_NAME_SIZE, "gelu_turn%s%s_%s_%" PRIu32 "x%" PRIu32,
             is_f8(gelu) ? "" : "_f16", has_bias(gelu) ? "_bias" : "",
             gelu->turn == KERNEL_TURN_LEFT ? "left" : "right", gelu->rows, gelu->panels);
}

static void turn_defines(const KernelSpec *spec, KernelSource *source) {
    const KernelGelu *gelu = &spec->gelu;
    source_define(source, "PANELS", gelu->panels);
    source_define(source, "F8", is_f8(gelu));
    source_define(source, "BIAS", has_bias(gelu));
    source_define(source, "LEFT", blocks_of_panels(gelu));
    source_define(source, "LINEAR", GELU_LINEAR);
    source_define(source, "CUBIC", GELU_CUBIC);
    source_define(source, "NFMT_F143", GELU_NFMT_F143);
    source_define(source, "TEXCH_SYNCZONE_LOCAL", CHIP_SYNC_LOCAL);
}

const FamilyInfo family_gelu_turn = {
    .file = "gelu_turn.S",
    .check = gelu_check,
    .interface = gelu_interface,
    .cycles = turn_cycles,
    .scalars = turn_scalars,
    .name = turn_name,
    .entry = turn_entry,
    .defines = turn_defines,
    .reference = gelu_reference,
    .equal = gelu_equal,
};
