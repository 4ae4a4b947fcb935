/* Internal: one plan taken as far as its placement. */
#pragma once

#include "compile/compile.h"
#include "emit/emit.h"
#include "place/tiles.h"

/* Adds the time since *since to *seconds, and sets *since to now. */
void count_time(double *seconds, double *since);

/* All that exists once a plan is placed. */
typedef struct Attempt {
    Plan plan;
    TileGraph tiles;
    EmitLibrary library;
    PlaceSpace *spaces;
    PlaceMap places;
} Attempt;

/* Takes the plan over (it is freed with the attempt). ERR_PLACE_INFEASIBLE and ERR_PLACE_NOT_FOUND
 * when a tile cannot be placed, told to nobody: attempt->places has the story. Adds to seconds[].
 * To be freed in any case. */
Status attempt_make(const Graph *graph, Plan *plan, Pool *pool, double seconds[COMPILE_PASSES],
                    Attempt *attempt, Diag *diag);
void attempt_free(Attempt *attempt);

/* Outcome for a plan's fullest tile alone, in the most memory that any tile can have. */
typedef struct Probe {
    PlaceVerdict verdict;
    const char *memory; /* what is short, as in CompileRefusal */
    uint64_t bytes_over;
} Probe;

/* First candidate, in the order of the search, that can be placed; chosen = search->count if none
 * can. nearest and its probe: the one that lacks least; undecided: some placement gave up. */
typedef struct Selection {
    size_t chosen;
    PlanCandidate nearest;
    Probe probe;
    bool undecided;
} Selection;

/* With a candidate chosen, *attempt holds it; it is to be freed in any case. */
Status select_candidate(const PlanSearch *search, Pool *pool, double seconds[COMPILE_PASSES],
                        Selection *selection, Attempt *attempt, Diag *diag);

/* Can the whole chip be placed with this candidate? */
Status candidate_fits(const PlanSearch *search, const PlanCandidate *candidate, Pool *pool,
                      bool *fits, Diag *diag);

/* Reports that no candidate can be placed, after looking for what would fit. */
Status refuse(const PlanSearch *search, const Selection *selection, Pool *pool,
              CompileRefusal *refusal, Diag *diag);
