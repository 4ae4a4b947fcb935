/* Internal: one plan taken as far as its placement and its exchange rows. */
#pragma once

#include "compile/compile.h"
#include "emit/emit.h"
#include "place/tiles.h"
#include "xchg/xchg.h"

/* Adds the time since *since to *seconds, and sets *since to now. */
void count_time(double *seconds, double *since);

/* An exchange step, scheduled. */
typedef struct AttemptPhase {
    char *name;
    uint32_t step; /* of the tile graph */
    XchgPhase phase;
    XchgSchedule schedule;
    XchgRows rows;
    EmitPatches patches;
    double seconds;
    Status status;
    Diag story;
} AttemptPhase;

/* All that exists once a plan is placed and its phases are scheduled. */
typedef struct Attempt {
    Plan plan;
    TileGraph tiles;
    EmitLibrary library;
    PlaceSpace *spaces;
    PlaceMap places;
    AttemptPhase *phases;    /* [tiles.exchanges] */
    EmitExchange *exchanges; /* the same for emit */
} Attempt;

/* Why a plan has no place in memory. */
typedef struct Probe {
    PlaceVerdict verdict;
    const char *memory; /* what is short, as in CompileRefusal */
    uint64_t bytes_over;
} Probe;

/* Takes the plan over (it is freed with the attempt). When a tile cannot be placed, the status is
 * ERR_PLACE_INFEASIBLE or ERR_PLACE_NOT_FOUND, told to nobody: *probe has the outcome, which is a
 * proof only if rows of the least size could not be placed. Adds to seconds[]. To be freed in any
 * case. */
Status attempt_make(const Graph *graph, Plan *plan, Pool *pool, double seconds[COMPILE_PASSES],
                    Attempt *attempt, Probe *probe, Diag *diag);
void attempt_free(Attempt *attempt);
/* Scheduled cycles of one run. */
Status attempt_cycles(const Attempt *attempt, uint64_t *cycles, Diag *diag);

/* What merging the phases of an attempt has brought (merge.c). */
typedef struct Merging {
    uint32_t phases_before, phases;
    uint64_t cycles_before, cycles; /* scheduled */
} Merging;

/* Makes phases of one level one where the whole program, placed and scheduled, takes fewer cycles
 * then; the attempt is the best one that was found. */
Status attempt_merge(const Graph *graph, Pool *pool, double seconds[COMPILE_PASSES],
                     Attempt *attempt, Merging *merging, Diag *diag);

/* Places everything with the row sizes that the tile graph has now. */
Status attempt_place(Attempt *attempt, Pool *pool, double seconds[COMPILE_PASSES], Probe *probe,
                     Diag *diag);

/* Schedules every phase at the addresses of the placement (rows.c). */
Status attempt_schedule(Attempt *attempt, Pool *pool, Diag *diag);
/* What to do with the sizes of row buffers: the same for all tiles of a phase, the largest that was
 * estimated; the least; what the schedule needs. *fits: no row is longer than its buffer. */
void rows_make_uniform(TileGraph *tiles);
void rows_make_least(TileGraph *tiles);
void rows_make_exact(Attempt *attempt);
bool rows_fit(const Attempt *attempt);
void phases_free(Attempt *attempt);

/* First candidate, in the order of the search, that can be placed; of a graph of several products
 * the fastest one, by its schedule, of the first few that are about as cheap. chosen =
 * search->count if none can. nearest and its probe: the one that lacks least; undecided: some
 * placement gave up. */
typedef struct Selection {
    size_t chosen;
    size_t failed; /* cheaper ones that could not be placed */
    CompileFinalist finalists[COMPILE_FINALISTS];
    uint32_t finalist_count;
    PlanCandidate nearest;
    Probe probe;
    bool undecided;
} Selection;

/* With a candidate chosen, *attempt holds it; it is to be freed in any case. rank: as
 * CompileOptions has it; then the chosen one is the only finalist. */
Status select_candidate(const PlanSearch *search, Pool *pool, double seconds[COMPILE_PASSES],
                        uint32_t rank, Selection *selection, Attempt *attempt, Diag *diag);

/* Bytes from an address on that a tile can have for values at most. */
uint64_t most_bytes(uint32_t from);

/* Can the whole chip be placed with this candidate? */
Status candidate_fits(const PlanSearch *search, const PlanCandidate *candidate, Pool *pool,
                      bool *fits, Diag *diag);

/* ERR_COMPILE_PROVED, told with *refusal, if one value alone is larger than the memory of all
 * tiles: sizes beyond that have no price. */
Status refuse_giant(const Graph *graph, uint32_t tiles, CompileRefusal *refusal, Diag *diag);

/* The same for a graph of several products whose parameters together are larger. */
Status refuse_parameters(const Graph *graph, const PlanOptions *options, Pool *pool,
                         CompileRefusal *refusal, Diag *diag);

/* Reports that no candidate can be placed, after looking for what would fit. */
Status refuse(const PlanSearch *search, const Selection *selection, Pool *pool,
              CompileRefusal *refusal, Diag *diag);
