/* The search: all candidates of a graph, cheapest first. */
#pragma once

#include "plan/plan.h"

/* A priced candidate. */
typedef struct PlanCandidate {
    GemmChoice gemm;           /* of the first GEMM */
    const GemmChoice *choices; /* of all of them in graph order; NULL: there is one */
    uint64_t cycles;
    uint64_t total_bytes; /* of all values over all tiles */
    uint64_t tile_bytes;  /* alive on the fullest tile at once, at least, without tails and rows */
    uint64_t interleaved; /* the same for what needs region 1 */
} PlanCandidate;

/* Tiles that compute in its grid, the first one of several. */
static inline uint32_t candidate_tiles(const PlanCandidate *candidate) {
    return candidate->gemm.rows * candidate->gemm.columns * candidate->gemm.inner;
}

/* Candidates are ordered by cycles, then total bytes, then tiles used, then normal before swapped,
 * then fewer row parts, then interleaved weights before standard ones, then the rest of the choice:
 * a total order.
 *
 * Grids with a part that no kernel takes (an operand larger than tile memory) are no candidates;
 * `grids` counts them too, and `least` is the one of all with the fewest bytes on its fullest tile,
 * which tells how far from fitting a hopeless product is (its cycles are 0 if it is no candidate).
 *
 * Left out is what cannot be better in price nor in memory: where values move, grids of more row or
 * column parts than the largest part's size needs (one more is tried, since pairs of tiles want
 * even numbers; all are, if copies are limited); owners that another choice of owners beats in
 * cycles, received bytes and pieces; the numbering of tiles that costs more. Also left out, unless
 * options->complete, are grids of that sort whose product alone costs more than PLAN_MARGIN_PERCENT
 * of the best plan; `left_out` says that there were some. */
enum { PLAN_MARGIN_PERCENT = 120 };

typedef struct PlanProduct PlanProduct;

typedef struct PlanSearch {
    const Graph *graph;
    PlanOptions options;
    PlanCandidate *candidates;
    size_t count;
    uint64_t grids;
    bool left_out;
    /* If there are no candidates: what no plan could do, static, of which operation; else NULL. */
    const char *why;
    uint32_t why_op;
    PlanCandidate least;
    /* Of anything but one GEMM or one cast: the searches for each different GEMM. Not all plans are
     * candidates then. */
    bool is_graph;
    PlanProduct *products;
    uint32_t product_count;
    Arena arena; /* owns the choices of candidates */
} PlanSearch;

/* Of a graph of one GEMM: enumerates and prices all grids in both orientations, with all ways to
 * bring operands and to add up partials, on at most options->tiles tiles. Of a graph of several
 * operations: does that for each different GEMM as if its operands from other operations lay evenly
 * spread, keeps those that may be of use, and prices them together. Errors: ERR_PLAN_TILES,
 * ERR_PLAN_GRAPH (a form of graph that is not covered), ERR_PLAN_GRID (a forced grid that cannot
 * be). The search keeps pointers to the graph, the forces and the formats. Free it in any case. */
Status plan_search(const Graph *graph, const PlanOptions *options, PlanSearch *search, Diag *diag);
void plan_search_free(PlanSearch *search);

bool plan_choice_equal(const GemmChoice *a, const GemmChoice *b);

/* The candidate as a whole plan; plan_free. */
Status plan_build(const PlanSearch *search, const PlanCandidate *candidate, Plan *plan, Diag *diag);

/* Why candidate `chosen` was taken and what the best of every other kind would cost. The candidates
 * before it had found no placement. */
void plan_explain(const PlanSearch *search, size_t chosen, FILE *out);
