#include "plan/search.h"

#include "chip/chip.h"
#include "plan/gemm.h"

#include <stdlib.h>
#include <string.h>

static int compare(uint64_t a, uint64_t b) {
    return (a > b) - (a < b);
}

static int compare_candidates(const void *first, const void *second) {
    const PlanCandidate *a = first, *b = second;
    int order = compare(a->cycles, b->cycles);
    if (order == 0)
        order = compare(a->total_bytes, b->total_bytes);
    if (order == 0)
        order = compare((uint64_t)a->gemm.rows * a->gemm.columns,
                        (uint64_t)b->gemm.rows * b->gemm.columns);
    if (order == 0)
        order = compare(a->gemm.swapped, b->gemm.swapped);
    if (order == 0)
        order = compare(a->gemm.rows, b->gemm.rows);
    return order ? order : compare(b->gemm.weights, a->gemm.weights);
}

typedef VEC(PlanCandidate) Candidates;

typedef struct Enumeration {
    const Graph *graph;
    const PlanOptions *options;
    PlanGemm gemm;
    Candidates found;
    PlanSearch *search;
} Enumeration;

/* Copies that the grid makes of a parameter: column parts of the physical left operand, row parts
 * of the right one. */
static bool copies_allowed(const Enumeration *all, const GemmChoice *choice) {
    uint32_t most = all->options->max_copies;
    uint32_t left = choice->swapped ? choice->rows : choice->columns;
    uint32_t right = choice->swapped ? choice->columns : choice->rows;
    const GraphValue *values = all->graph->values.items;
    const GraphOp *ops = all->graph->ops.items;
    return most == 0 ||
           ((ops[values[all->gemm.left].op].kind != GRAPH_PARAMETER || left <= most) &&
            (ops[values[all->gemm.right].op].kind != GRAPH_PARAMETER || right <= most));
}

/* `cycles` is that of the choice; 0: no candidate. */
static bool add_choice(Enumeration *all, const GemmChoice *choice, uint64_t cycles) {
    GemmBytes bytes = gemm_bytes(&all->gemm, choice);
    PlanCandidate candidate = {*choice, cycles, bytes.total, bytes.tile, bytes.interleaved};
    PlanCandidate *least = &all->search->least;
    if (all->search->grids++ == 0 || candidate.tile_bytes < least->tile_bytes ||
        (candidate.tile_bytes == least->tile_bytes && candidate.interleaved < least->interleaved))
        *least = candidate;
    return cycles == 0 || vec_push(&all->found, candidate);
}

/* All column counts with one row count. The price depends on the widest part only, so it is kept
 * while that stays the same. */
static bool add_row(Enumeration *all, GemmChoice choice, uint32_t groups) {
    uint32_t most = MIN_OF(groups, all->options->tiles / choice.rows);
    uint64_t widest = 0, cycles = 0;
    for (choice.columns = 1; choice.columns <= most; choice.columns++) {
        if (!copies_allowed(all, &choice))
            continue;
        if (div_up(groups, choice.columns) != widest) {
            widest = div_up(groups, choice.columns);
            cycles = gemm_cycles(&all->gemm, &choice);
        }
        if (!add_choice(all, &choice, cycles))
            return false;
    }
    return true;
}

static bool enumerate(Enumeration *all) {
    for (int swapped = 0; swapped < 2; swapped++) {
        GemmExtents whole = gemm_extents(&all->gemm, swapped);
        for (int weights = 0; weights < 2; weights++) {
            GemmChoice choice = {.inner = 1, .swapped = swapped, .weights = (MemoryClass)weights};
            uint32_t most = MIN_OF(whole.rows, all->options->tiles);
            for (choice.rows = 1; choice.rows <= most; choice.rows++)
                if (!add_row(all, choice, whole.groups))
                    return false;
        }
    }
    return true;
}

/* The forced grid of the GEMM, NULL if there is none. */
static Status find_force(const Enumeration *all, const PlanForce **force, Diag *diag) {
    const char *name = all->graph->values.items[all->gemm.result].name;
    *force = NULL;
    for (size_t i = 0; i < all->options->force_count; i++) {
        const PlanForce *candidate = &all->options->forces[i];
        if (strcmp(candidate->operation, name) != 0) {
            Status status = diag_error(diag, ERR_PLAN_GRID, DIAG_NOWHERE,
                                       "a grid for \"%.60s\", which is no operation of the graph",
                                       candidate->operation);
            diag_fix(diag, "name the result of an operation: %s", name);
            return status;
        }
        if (*force)
            return diag_error(diag, ERR_PLAN_GRID, DIAG_NOWHERE, "two grids for \"%s\"", name);
        *force = candidate;
    }
    return STATUS_OK;
}

static Status add_forced(Enumeration *all, const PlanForce *force, Diag *diag) {
    GemmChoice choice = {.rows = force->rows,
                         .columns = force->columns,
                         .inner = force->inner,
                         .swapped = force->swapped};
    Status status = gemm_check_choice(&all->gemm, &choice, all->options->tiles, diag);
    if (status)
        return status;
    if (!copies_allowed(all, &choice))
        return diag_error(diag, ERR_PLAN_COPIES, DIAG_NOWHERE,
                          "the grid %u x %u keeps more than %u copies of a parameter", choice.rows,
                          choice.columns, all->options->max_copies);
    for (int weights = 0; weights < 2; weights++) {
        choice.weights = (MemoryClass)weights;
        if (!add_choice(all, &choice, gemm_cycles(&all->gemm, &choice)))
            return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "searching for a plan");
    }
    return STATUS_OK;
}

Status plan_search(const Graph *graph, const PlanOptions *options, PlanSearch *search, Diag *diag) {
    *search = (PlanSearch){.graph = graph, .options = *options};
    Enumeration all = {.graph = graph, .options = options, .search = search};
    if (options->tiles < 1 || options->tiles > CHIP_TILES)
        return diag_error(diag, ERR_PLAN_TILES, DIAG_NOWHERE, "%u tiles; the chip has 1 to %d",
                          options->tiles, CHIP_TILES);
    Status status = gemm_find(graph, &all.gemm, diag);
    if (status)
        return status;
    const PlanForce *force;
    status = find_force(&all, &force, diag);
    if (status)
        return status;
    if (force)
        status = add_forced(&all, force, diag);
    else if (!enumerate(&all))
        status = diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "searching for a plan");
    search->candidates = all.found.items;
    search->count = all.found.count;
    if (search->count > 1)
        qsort(search->candidates, search->count, sizeof(PlanCandidate), compare_candidates);
    return status;
}

void plan_search_free(PlanSearch *search) {
    mem_free(search->candidates);
    *search = (PlanSearch){0};
}

Status plan_build(const PlanSearch *search, const PlanCandidate *candidate, Plan *plan,
                  Diag *diag) {
    PlanGemm gemm;
    Status status = gemm_find(search->graph, &gemm, diag);
    return status ? status
                  : gemm_plan(search->graph, &gemm, &candidate->gemm, search->options.tiles, plan,
                              diag);
}
