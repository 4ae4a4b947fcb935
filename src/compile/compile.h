/* The pass sequence: graph → plan → lower → place → exchange schedules → emit → package, with
 * feedback: rows that need more room than was estimated are placed once more, and a candidate that
 * cannot be placed or whose phases cannot be encoded gives way to the next best one. "Does not fit"
 * is a result that says how much is missing, whether that is proved, and what would fit. */
#pragma once

#include "base/diag.h"
#include "base/pool.h"
#include "pack/pack.h"
#include "plan/plan.h"
#include "plan/search.h"

#include <stdio.h>

typedef struct CompileOptions {
    PlanOptions plan;
    const Plan *given; /* a plan to be used as it is, or NULL: search */
    /* Take the plan of this rank among those that can be placed, by price, from 1; the last one if
     * there are fewer. 0: the fastest of the finalists. */
    uint32_t rank;
    const char *producer;
    /* Text forms, each written when its pass is done; NULL: not wanted. dump_place prints the
     * problem and the addresses of the first tile of every distinct program, dump_exchange every
     * phase with its bound in words, its horizon and the least that any schedule takes, and the
     * sums. */
    FILE *dump_plan, *dump_lower, *dump_place, *dump_exchange, *explain;
} CompileOptions;

typedef enum CompilePass {
    COMPILE_PLAN,
    COMPILE_LOWER,
    COMPILE_LINK,
    COMPILE_PLACE,
    COMPILE_EXCHANGE,
    COMPILE_EMIT,
    COMPILE_PACK,
    COMPILE_PASSES,
} CompilePass;

/* "plan", "lower", … */
const char *compile_pass_name(CompilePass pass);

/* Why nothing fits. The numbers are those of the grid that comes nearest. */
typedef struct CompileRefusal {
    bool proved;        /* else some placement gave up undecided */
    uint32_t tile;      /* with the largest parts */
    const char *memory; /* what is short: "total", "interleaved", "contiguous"; or "rows": a phase
                         * cannot be encoded or its rows not be stored; static */
    uint64_t bytes_over;
    uint32_t
        tiles_that_fit; /* smallest number, compiled up to its placement; 0: none up to 1,472 */
} CompileRefusal;

/* A plan that was placed and scheduled, with its cycles before and after that. */
typedef struct CompileFinalist {
    uint64_t predicted_cycles, scheduled_cycles;
} CompileFinalist;

enum { COMPILE_FINALISTS = 3 };

typedef struct CompileResult {
    Package *package; /* finished; the caller frees it with package_free */
    uint64_t predicted_cycles;
    /* Exact, from kernel formulas, row horizons and barriers, without the simulator; with a cycle
     * sample before every step. */
    uint64_t scheduled_cycles, scheduled_cycles_sampled;
    CompileFinalist
        finalists[COMPILE_FINALISTS]; /* in the order of the search; 0 of a given plan */
    uint32_t finalist_count;
    uint64_t candidates; /* enumerated */
    uint64_t rejected;   /* of these, cheaper than the chosen one but without a placement */
    uint32_t tiles_used;
    double seconds[COMPILE_PASSES], total_seconds;
    CompileRefusal refusal; /* valid with ERR_COMPILE_PROVED and ERR_COMPILE_NOT_FOUND */
} CompileResult;

/* Compiles. parameters[value]: codes of every graph parameter in logical row-major order; other
 * entries are NULL. The package carries the notes "graph", "plan" and
 * "explanation". If nothing fits otherwise, the graph is cut by graph_cut_hidden; then the notes
 * are of that graph, and the note "hidden blocks" has the number that was asked for.
 *
 * Errors: those of the passes; ERR_COMPILE_PROVED or ERR_COMPILE_NOT_FOUND when nothing fits, with
 * tile, memory class, bytes over, and as fix the smallest number of tiles that fits, tried.
 * On error result->package is NULL. Bytes do not depend on the number of threads. */
Status compile_graph(const Graph *graph, const void *const *parameters,
                     const CompileOptions *options, Pool *pool, CompileResult *result, Diag *diag);
