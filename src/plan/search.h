/* The search: all candidates of a graph, cheapest first. */
#pragma once

#include "base/pool.h"
#include "plan/plan.h"

/* A priced candidate. Bytes are those of the fullest tile, tails included. */
typedef struct PlanCandidate {
    GemmChoice gemm;
    uint64_t cycles;
    uint64_t bytes;       /* all operands of the fullest tile */
    uint64_t interleaved; /* of these, the ones that need region 1 */
    uint64_t total_bytes; /* over all tiles, tails not counted */
} PlanCandidate;

/* Order of candidates: cycles, then total bytes, then fewer tiles, then normal before swapped, then
 * fewer rows, then interleaved weights first: total, so that ties do not depend on anything else.
 */
typedef struct PlanSearch {
    const Graph *graph;
    PlanOptions options;
    PlanCandidate *candidates;
    size_t count;
} PlanSearch;

/* Enumerates and prices all row x column grids in both orientations and weight classes on at most
 * options->tiles tiles. Errors: ERR_PLAN_* (a graph that cannot be planned, a forced grid that does
 * not exist for it, copies limited so that nothing remains). `options` may die, what it points to
 * may not. */
Status plan_search(const Graph *graph, const PlanOptions *options, PlanSearch *search, Diag *diag);
void plan_search_free(PlanSearch *search);

/* The candidate as a whole plan, to be freed with plan_free. */
Status plan_build(const PlanSearch *search, const PlanCandidate *candidate, Plan *plan, Diag *diag);

/* Why `chosen` was taken and what the best of every other kind would cost. `rejected` candidates at
 * the head of the ranking had found no placement. */
void plan_explain(const PlanSearch *search, size_t chosen, FILE *out);
