/* Phases merged when the scheduled cost says so: at first all that can be, and if that is no gain,
 * level after level. */
#include "compile/attempt.h"

enum { MERGE_TRIES = 6 }; /* levels that are tried on their own */

/* The plan with these levels merged takes the attempt's place if it is faster. *base is the plan
 * without merged phases. */
static Status try_levels(const Graph *graph, const Plan *base, uint64_t levels, Pool *pool,
                         double seconds[COMPILE_PASSES], Attempt *attempt, Merging *merging,
                         Diag *diag) {
    Plan plan;
    Status status = plan_merge(graph, base, levels, &plan, diag);
    if (status)
        return status;
    if (plan.loop_count < base->loop_count) { /* code and rows for every iteration */
        plan_free(&plan);
        return STATUS_OK;
    }
    Attempt other;
    Probe probe;
    uint64_t cycles = UINT64_MAX;
    status = attempt_make(graph, &plan, pool, seconds, &other, &probe, diag);
    if (!status)
        status = attempt_cycles(&other, &cycles, diag);
    else if (probe.verdict != PLACE_PLACED) /* then it stays as it is */
        status = STATUS_OK;
    if (cycles < merging->cycles) {
        merging->cycles = cycles;
        merging->phases = other.tiles.exchanges;
        attempt_free(attempt);
        *attempt = other;
    } else {
        attempt_free(&other);
    }
    return status;
}

Status attempt_merge(const Graph *graph, Pool *pool, double seconds[COMPILE_PASSES],
                     Attempt *attempt, Merging *merging, Diag *diag) {
    uint64_t levels;
    Plan base;
    *merging =
        (Merging){.phases_before = attempt->tiles.exchanges, .phases = attempt->tiles.exchanges};
    Status status = plan_mergeable(&attempt->plan, &levels, diag);
    if (status || levels == 0)
        return status;
    status = attempt_cycles(attempt, &merging->cycles_before, diag);
    if (!status)
        status = plan_copy(&attempt->plan, &base, diag);
    if (status)
        return status;
    merging->cycles = merging->cycles_before;
    status = try_levels(graph, &base, levels, pool, seconds, attempt, merging, diag);
    bool several = (levels & (levels - 1)) != 0;
    for (int tries = 0; tries < MERGE_TRIES && several && levels && !status; tries++) {
        if (merging->cycles < merging->cycles_before && tries == 0)
            break;
        uint64_t level = levels & -levels;
        levels &= levels - 1;
        status = try_levels(graph, &base, attempt->plan.merged | level, pool, seconds, attempt,
                            merging, diag);
    }
    plan_free(&base);
    return status;
}
