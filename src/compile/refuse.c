#include "compile/attempt.h"

#include "chip/chip.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static uint32_t tiles_of(const PlanCandidate *candidate) {
    return candidate->gemm.rows * candidate->gemm.columns;
}

/* Fewest tiles first; among equals the order of the search, by position. */
static int compare_tiles(const void *first, const void *second) {
    const PlanCandidate *a = *(const PlanCandidate *const *)first,
                        *b = *(const PlanCandidate *const *)second;
    if (tiles_of(a) != tiles_of(b))
        return tiles_of(a) < tiles_of(b) ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* The candidate with the fewest tiles that can be placed, NULL if none can. */
static Status find_smallest(const PlanSearch *search, Pool *pool, const PlanCandidate **smallest,
                            Diag *diag) {
    *smallest = NULL;
    const PlanCandidate **order = mem_alloc(search->count + 1, sizeof *order);
    if (!order)
        return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "looking for a plan that fits");
    for (size_t i = 0; i < search->count; i++)
        order[i] = &search->candidates[i];
    qsort(order, search->count, sizeof *order, compare_tiles);
    Status status = STATUS_OK;
    for (size_t i = 0; i < search->count && !status && !*smallest; i++) {
        bool fits;
        status = candidate_fits(search, order[i], pool, &fits, diag);
        if (!status && fits)
            *smallest = order[i];
    }
    mem_free(order);
    return status;
}

/* The same graph on as many tiles as the chip has, with no grid forced. */
static Status search_everything(const PlanSearch *search, PlanSearch *all, Diag *diag) {
    PlanOptions options = {.tiles = CHIP_TILES, .max_copies = search->options.max_copies};
    return plan_search(search->graph, &options, all, diag);
}

static const char *orientation(const PlanCandidate *candidate) {
    return candidate->gemm.swapped ? "swapped" : "normal";
}

static const char *memory_text(const char *memory) {
    if (strcmp(memory, "interleaved") == 0)
        return "interleaved memory";
    return strcmp(memory, "total") == 0 ? "memory of both classes together" : "memory in one piece";
}

static Status report(const PlanSearch *search, const CompileRefusal *refusal,
                     const Selection *selection, Diag *diag) {
    const PlanCandidate *nearest = &selection->nearest;
    DiagPlace place = {.tile = (int32_t)refusal->tile};
    Status code = refusal->proved ? ERR_COMPILE_PROVED : ERR_COMPILE_NOT_FOUND;
    diag_error(diag, code, place,
               "the graph does not fit on %u tiles: the tile lacks %" PRIu64 " bytes of %s, %s",
               search->options.tiles, refusal->bytes_over, memory_text(refusal->memory),
               refusal->proved ? "proved" : "not proved: a placement gave up");
    diag_note(diag, "%" PRIu64 " grids were tried, %s", search->grids,
              search->options.force_count ? "the one that was forced" : "all that there are");
    diag_note(diag,
              "nearest: grid %u x %u, %s, with %" PRIu64 " bytes of operands on its fullest tile, "
              "%" PRIu64 " of them in interleaved memory",
              nearest->gemm.rows, nearest->gemm.columns, orientation(nearest), nearest->tile_bytes,
              nearest->interleaved);
    return code;
}

Status refuse(const PlanSearch *search, const Selection *selection, Pool *pool,
              CompileRefusal *refusal, Diag *diag) {
    *refusal = (CompileRefusal){.proved = !selection->undecided,
                                .tile = 0,
                                .memory = selection->probe.memory,
                                .bytes_over = selection->probe.bytes_over};
    PlanSearch all;
    const PlanCandidate *smallest;
    Status status = search_everything(search, &all, diag);
    if (!status)
        status = find_smallest(&all, pool, &smallest, diag);
    if (!status) {
        status = report(search, refusal, selection, diag);
        if (smallest) {
            refusal->tiles_that_fit = tiles_of(smallest);
            const char *what = refusal->tiles_that_fit <= search->options.tiles
                                   ? "leave out --grid; it fits from"
                                   : "use";
            diag_fix(diag, "%s --tiles %u (tried: grid %u x %u, %s)", what, refusal->tiles_that_fit,
                     smallest->gemm.rows, smallest->gemm.columns, orientation(smallest));
        } else {
            diag_fix(diag, "no number of tiles up to %d is enough: make the matrices smaller%s",
                     CHIP_TILES,
                     search->graph->values.items[0].precision.kind == PRECISION_F16
                         ? ", or use FP8 operands"
                         : "");
        }
    }
    plan_search_free(&all);
    return status;
}
