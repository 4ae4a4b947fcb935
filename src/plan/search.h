/* The search: all candidates of a graph, cheapest first. */
#pragma once

#include "plan/plan.h"

/* A priced candidate. */
typedef struct PlanCandidate {
    GemmChoice gemm;
    uint64_t cycles;
    uint64_t total_bytes; /* of all operands over all tiles */
    uint64_t tile_bytes;  /* of all operands of the fullest tile, without tails */
    uint64_t interleaved; /* part of it that needs region 1 */
} PlanCandidate;

/* Candidates are ordered by cycles, then total bytes, then tiles used, then normal before swapped,
 * then fewer row parts, then interleaved weights before standard ones: a total order.
 *
 * Grids with a part that no kernel takes (an operand larger than tile memory) are no candidates;
 * `grids` counts them too, and `least` is the grid of all with the fewest bytes on its fullest
 * tile, which tells how far from fitting a hopeless product is (its cycles are 0 if it is no
 * candidate). */
typedef struct PlanSearch {
    const Graph *graph;
    PlanOptions options;
    PlanCandidate *candidates;
    size_t count;
    uint64_t grids;
    PlanCandidate least;
} PlanSearch;

/* Enumerates and prices all row x column grids in both orientations and weight classes on at most
 * options->tiles tiles. Errors: ERR_PLAN_TILES, ERR_PLAN_GRAPH (a form of graph that is not
 * covered), ERR_PLAN_GRID (a forced grid that cannot be), ERR_PLAN_COPIES (no grid keeps to
 * max_copies). The search keeps pointers to the graph and the forces. Free it in any case. */
Status plan_search(const Graph *graph, const PlanOptions *options, PlanSearch *search, Diag *diag);
void plan_search_free(PlanSearch *search);

/* The candidate as a whole plan; plan_free. */
Status plan_build(const PlanSearch *search, const PlanCandidate *candidate, Plan *plan, Diag *diag);

/* Why candidate `chosen` was taken and what the best of every other kind would cost. The candidates
 * before it had found no placement. */
void plan_explain(const PlanSearch *search, size_t chosen, FILE *out);
