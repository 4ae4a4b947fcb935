/* Does a product fit on so many tiles? Answered by plain loops over all row x column grids, and
 * over all orders and regions of the three operands of the fullest tile. Any tile of a grid that
 * fits has no larger parts than its first one. */
#pragma once

#include "chip/chip.h"
#include "compile/attempt.h"

/* The buffers of one tile in all orders and regions, each as low as it goes. With
 * the order in a region given, the lowest address for each is best for all that follow. */

typedef struct Box {
    uint32_t bytes, align;
    bool high_only;
} Box;

static uint32_t element_end(uint32_t address) { /* of the element that holds the byte before */
    uint32_t size = address <= CHIP_REGION1_BASE ? 0x4000u : 0x8000u;
    uint32_t base =
        address <= CHIP_REGION1_BASE ? (uint32_t)CHIP_TILE_MEM_BASE : (uint32_t)CHIP_REGION1_BASE;
    return base + (uint32_t)align_up(address - base, size);
}

/* Boxes 0 (output) and 1 (left) stay apart. region[i]: 0 low, 1 high. */
static bool boxes_fit(const Box box[3], const uint32_t order[3], const uint32_t region[3],
                      const PlaceSpace *space) {
    uint32_t next[2] = {UINT32_MAX, UINT32_MAX}, end[2];
    for (uint32_t i = 0; i < space->count; i++) {
        uint32_t high = space->ranges[i].begin >= CHIP_REGION1_BASE;
        next[high] = space->ranges[i].begin;
        end[high] = space->ranges[i].end;
    }
    uint32_t apart[2] = {0, 0}; /* where the partner's last element ends */
    for (uint32_t k = 0; k < 3; k++) {
        uint32_t i = order[k], r = region[i];
        if (next[r] == UINT32_MAX || (box[i].high_only && r == 0))
            return false;
        uint32_t start = i == 2 ? next[r] : MAX_OF(next[r], apart[r]);
        start = (uint32_t)align_up(start, box[i].align);
        if (start > end[r] || end[r] - start < box[i].bytes)
            return false;
        next[r] = start + box[i].bytes;
        if (i != 2)
            apart[r] = element_end(next[r]);
    }
    return true;
}

static bool tile_fits(const KernelSpec *spec, const PlaceSpace *space) {
    static const uint32_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                          {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    KernelInterface interface;
    kernel_interface(spec, &interface);
    Box box[3];
    for (uint32_t i = 0; i < 3; i++)
        box[i] = (Box){interface.operands[i].bytes + interface.operands[i].tail,
                       interface.operands[i].alignment,
                       interface.operands[i].memory_class == MEMORY_INTERLEAVED};
    for (uint32_t regions = 0; regions < 8; regions++)
        for (uint32_t o = 0; o < 6; o++) {
            uint32_t region[3] = {regions & 1, regions >> 1 & 1, regions >> 2};
            if (boxes_fit(box, orders[o], region, space))
                return true;
        }
    return false;
}

/* Does any grid fit, in plain loops? Real space of its first tile, which has the largest parts. */
static bool any_grid_fits(const Graph *graph, uint32_t tiles) {
    GraphGemm extents = graph_gemm(graph, 2);
    Precision precision = graph->values.items[0].precision;
    PlaceSpace most = {
        .ranges = {{CHIP_DATA_BASE, CHIP_REGION1_BASE}, {CHIP_REGION1_BASE, CHIP_APP_LOAD_LIMIT}},
        .count = 2};
    for (uint32_t swapped = 0; swapped < 2; swapped++)
        for (uint32_t r = 1; r <= tiles; r++)
            for (uint32_t c = 1; r * c <= tiles; c++) {
                uint32_t m = swapped ? extents.columns : extents.rows;
                uint32_t groups = ((swapped ? extents.rows : extents.columns) + 15) / 16;
                if (r > m || c > groups)
                    continue;
                KernelSpec spec = {.gemm = {.precision = precision.kind,
                                            .rows = (m + r - 1) / r,
                                            .groups = (groups + c - 1) / c,
                                            .panels = (uint32_t)div_up(
                                                extents.inner, precision_group(precision))}};
                if (kernel_check(&spec, NULL) != STATUS_OK || !tile_fits(&spec, &most))
                    continue;
                PlanForce force = {(char[]){"y"}, r, c, 1, swapped};
                PlanOptions options = {.tiles = tiles, .forces = &force, .force_count = 1};
                PlanSearch search;
                assert_int_equal(plan_search(graph, &options, &search, NULL), STATUS_OK);
                bool fits = false;
                for (size_t i = 0; i < search.count && !fits; i++) {
                    Plan plan;
                    TileGraph lowered;
                    EmitLibrary library;
                    assert_int_equal(plan_build(&search, &search.candidates[i], &plan, NULL), 0);
                    assert_int_equal(lower_plan(graph, &plan, &lowered, NULL), STATUS_OK);
                    assert_int_equal(emit_link(&lowered, &library, NULL), STATUS_OK);
                    PlaceSpace space = emit_space(&library, &lowered, 0);
                    fits = tile_fits(&lowered.specs.items[lowered.calls.items[0].spec], &space);
                    emit_library_free(&library);
                    tile_graph_free(&lowered);
                    plan_free(&plan);
                }
                plan_search_free(&search);
                if (fits)
                    return true;
            }
    return false;
}
