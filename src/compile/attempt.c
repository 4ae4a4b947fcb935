#include "compile/attempt.h"

#include "base/progress.h"
#include "chip/chip.h"

#include <assert.h>
#include <string.h>

void count_time(double *seconds, double *since) {
    double now = clock_seconds();
    *seconds += now - *since;
    *since = now;
}

Status attempt_make(const Graph *graph, Plan *plan, Pool *pool, double seconds[COMPILE_PASSES],
                    Attempt *attempt, Diag *diag) {
    *attempt = (Attempt){.plan = *plan};
    *plan = (Plan){0};
    double since = clock_seconds();
    Status status = lower_plan(graph, &attempt->plan, &attempt->tiles, diag);
    count_time(&seconds[COMPILE_LOWER], &since);
    if (status)
        return status;
    status = emit_link(&attempt->tiles, &attempt->library, diag);
    count_time(&seconds[COMPILE_LINK], &since);
    if (status)
        return status;
    attempt->spaces = mem_alloc(attempt->tiles.tiles, sizeof(PlaceSpace));
    if (!attempt->spaces)
        return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "placing %u tiles",
                          attempt->tiles.tiles);
    for (uint32_t tile = 0; tile < attempt->tiles.tiles; tile++)
        attempt->spaces[tile] = emit_space(&attempt->library, &attempt->tiles, tile);
    Diag story;
    diag_init(&story);
    status = place_tiles(&attempt->tiles, attempt->spaces, pool, &attempt->places, &story);
    if (status != ERR_PLACE_INFEASIBLE && status != ERR_PLACE_NOT_FOUND && diag)
        diag_append(diag, &story);
    diag_free(&story);
    count_time(&seconds[COMPILE_PLACE], &since);
    return status;
}

void attempt_free(Attempt *attempt) {
    place_map_free(&attempt->places);
    mem_free(attempt->spaces);
    emit_library_free(&attempt->library);
    tile_graph_free(&attempt->tiles);
    plan_free(&attempt->plan);
    *attempt = (Attempt){0};
}

static uint64_t space_bytes(const PlaceSpace *space, uint32_t from) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < space->count; i++)
        if (space->ranges[i].end > from)
            bytes += space->ranges[i].end - MAX_OF(space->ranges[i].begin, from);
    return bytes;
}

/* The three buffers of tile 0, which has the largest part of everything. */
static Status probe_placement(const PlanSearch *search, const PlanCandidate *candidate,
                              const PlaceSpace *space, PlaceResult *result, Diag *diag) {
    Plan plan;
    Status status = plan_build(search, candidate, &plan, diag);
    if (status)
        return status;
    PlanCall call;
    bool works = plan_call(search->graph, &plan, &plan.operations[0], 0, &call);
    plan_free(&plan);
    assert(works);
    (void)works;
    KernelInterface interface;
    kernel_interface(&call.spec, &interface);
    PlaceBuffer buffers[KERNEL_MAX_OPERANDS];
    PlaceConflict conflicts[KERNEL_MAX_OPERANDS * KERNEL_MAX_OPERANDS];
    uint32_t conflict_count = 0;
    for (uint32_t i = 0; i < interface.operand_count; i++) {
        const KernelOperand *operand = &interface.operands[i];
        buffers[i] = (PlaceBuffer){.name = operand->name,
                                   .bytes = operand->bytes,
                                   .tail = operand->tail,
                                   .align = operand->alignment,
                                   .memory_class = operand->memory_class,
                                   .members = 1,
                                   .alias_of = PLACE_ROOT};
        for (uint32_t j = i + 1; j < interface.operand_count; j++)
            if (operand->apart >> j & 1)
                conflicts[conflict_count++] = (PlaceConflict){.a = i, .b = j};
    }
    PlaceProblem problem = {.ranges = space->ranges,
                            .range_count = space->count,
                            .end_event = 1,
                            .buffers = buffers,
                            .buffer_count = interface.operand_count,
                            .conflicts = conflicts,
                            .conflict_count = conflict_count};
    return place_solve(&problem, result, diag);
}

static const char *shortage_name(PlaceShortage shortage) {
    switch (shortage) {
    case PLACE_SHORT_INTERLEAVED: return "interleaved";
    case PLACE_SHORT_SINGLE:
    case PLACE_SHORT_ARRANGEMENT: return "contiguous";
    case PLACE_SHORT_TOTAL:
    case PLACE_SHORT_NONE: break;
    }
    return "total";
}

/* Bytes alone decide most hopeless candidates, those among them that no kernel takes. */
static bool probe_bytes(const PlanCandidate *candidate, const PlaceSpace *space, Probe *probe) {
    uint64_t all = space_bytes(space, 0), paired = space_bytes(space, CHIP_REGION1_BASE);
    uint64_t over_all = candidate->tile_bytes > all ? candidate->tile_bytes - all : 0;
    uint64_t over_paired = candidate->interleaved > paired ? candidate->interleaved - paired : 0;
    *probe = (Probe){.verdict = PLACE_INFEASIBLE,
                     .memory = over_paired > over_all ? "interleaved" : "total",
                     .bytes_over = MAX_OF(over_all, over_paired)};
    return probe->bytes_over == 0;
}

static Status probe_candidate(const PlanSearch *search, const PlanCandidate *candidate,
                              Probe *probe, Diag *diag) {
    PlaceSpace space = emit_space_most();
    if (!probe_bytes(candidate, &space, probe))
        return STATUS_OK;
    PlaceResult result;
    Status status = probe_placement(search, candidate, &space, &result, diag);
    if (status == STATUS_OK) {
        *probe = (Probe){result.verdict, shortage_name(result.shortage), result.over};
        place_result_free(&result);
    }
    return status;
}

/* Nearer to fitting: fewer bytes over. */
static void note_failure(Selection *selection, const PlanCandidate *candidate, const Probe *probe) {
    selection->undecided |= probe->verdict == PLACE_NOT_FOUND;
    if (selection->probe.memory && selection->probe.bytes_over <= probe->bytes_over)
        return;
    selection->nearest = *candidate;
    selection->probe = *probe;
}

/* Probes, then lowers, links and places the whole chip; *fits tells whether that worked, else
 * *probe why not. */
static Status try_candidate(const PlanSearch *search, const PlanCandidate *candidate, Pool *pool,
                            double seconds[COMPILE_PASSES], Attempt *attempt, Probe *probe,
                            bool *fits, Diag *diag) {
    *fits = false;
    *attempt = (Attempt){0};
    double since = clock_seconds();
    Status status = probe_candidate(search, candidate, probe, diag);
    count_time(&seconds[COMPILE_PLACE], &since);
    if (status || probe->verdict != PLACE_PLACED)
        return status;
    Plan plan;
    status = plan_build(search, candidate, &plan, diag);
    if (!status)
        status = attempt_make(search->graph, &plan, pool, seconds, attempt, diag);
    *fits = status == STATUS_OK;
    if (status == ERR_PLACE_INFEASIBLE || status == ERR_PLACE_NOT_FOUND) {
        const PlaceResult *failure = &attempt->places.failure;
        *probe = (Probe){failure->verdict, shortage_name(failure->shortage), failure->over};
        status = STATUS_OK;
    }
    return status;
}

Status candidate_fits(const PlanSearch *search, const PlanCandidate *candidate, Pool *pool,
                      bool *fits, Diag *diag) {
    double seconds[COMPILE_PASSES] = {0};
    Attempt attempt;
    Probe probe;
    Status status = try_candidate(search, candidate, pool, seconds, &attempt, &probe, fits, diag);
    attempt_free(&attempt);
    return status;
}

Status select_candidate(const PlanSearch *search, Pool *pool, double seconds[COMPILE_PASSES],
                        Selection *selection, Attempt *attempt, Diag *diag) {
    *selection = (Selection){0};
    *attempt = (Attempt){0};
    for (size_t i = 0; i < search->count; i++) {
        Probe probe;
        bool fits;
        Status status = try_candidate(search, &search->candidates[i], pool, seconds, attempt,
                                      &probe, &fits, diag);
        selection->chosen = i;
        if (status || fits)
            return status;
        attempt_free(attempt);
        note_failure(selection, &search->candidates[i], &probe);
    }
    selection->chosen = search->count;
    if (search->count == 0) { /* every grid has a part that no kernel takes */
        PlaceSpace space = emit_space_most();
        probe_bytes(&search->least, &space, &selection->probe);
        selection->nearest = search->least;
    }
    return STATUS_OK;
}
