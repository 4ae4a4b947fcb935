#include "compile/attempt.h"

#include "base/progress.h"

void count_time(double *seconds, double *since) {
    double now = clock_seconds();
    *seconds += now - *since;
    *since = now;
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

static bool no_place(Status status) {
    return status == ERR_PLACE_INFEASIBLE || status == ERR_PLACE_NOT_FOUND;
}

Status attempt_place(Attempt *attempt, Pool *pool, double seconds[COMPILE_PASSES], Probe *probe,
                     Diag *diag) {
    double since = clock_seconds();
    Diag story;
    diag_init(&story);
    place_map_free(&attempt->places);
    Status status = place_tiles(&attempt->tiles, attempt->spaces, pool, &attempt->places, &story);
    if (status && !no_place(status) && diag)
        diag_append(diag, &story);
    diag_free(&story);
    const PlaceResult *failure = &attempt->places.failure;
    *probe = (Probe){.verdict = PLACE_PLACED};
    if (no_place(status))
        *probe = (Probe){failure->verdict, shortage_name(failure->shortage), failure->over};
    count_time(&seconds[COMPILE_PLACE], &since);
    return status;
}

/* A phase that cannot be encoded is as good as one that cannot be placed. */
static Status schedule(Attempt *attempt, Pool *pool, double seconds[COMPILE_PASSES], Probe *probe,
                       Diag *diag) {
    double since = clock_seconds();
    Diag story;
    diag_init(&story);
    Status status = attempt_schedule(attempt, pool, &story);
    count_time(&seconds[COMPILE_EXCHANGE], &since);
    if (status == ERR_XCHG_ELEMENT || status == ERR_XCHG_ENCODE || status == ERR_XCHG_ROW_BYTES) {
        *probe = (Probe){PLACE_NOT_FOUND, "rows", 0};
        status = ERR_PLACE_NOT_FOUND;
    } else if (status && diag) {
        diag_append(diag, &story);
    }
    diag_free(&story);
    return status;
}

/* Rows may grow a little when buffers move: so often are they placed again. */
enum { ROW_ROUNDS = 4 };

/* Sizes that a schedule asked for, until a schedule at their places asks for no more. */
static Status settle_rows(Attempt *attempt, Pool *pool, double seconds[COMPILE_PASSES],
                          Probe *probe, Diag *diag) {
    for (int round = 0; round < ROW_ROUNDS && !rows_fit(attempt); round++) {
        rows_make_exact(attempt);
        Status status = attempt_place(attempt, pool, seconds, probe, diag);
        if (no_place(status)) /* other schedules may have shorter rows */
            probe->verdict = PLACE_NOT_FOUND;
        if (!status)
            status = schedule(attempt, pool, seconds, probe, diag);
        if (status)
            return status;
    }
    if (rows_fit(attempt))
        return STATUS_OK;
    *probe = (Probe){PLACE_NOT_FOUND, "rows", 0};
    return ERR_PLACE_NOT_FOUND;
}

/* With rows as estimated; where these do not fit, at first with none to speak of. */
static Status place_and_schedule(Attempt *attempt, Pool *pool, double seconds[COMPILE_PASSES],
                                 Probe *probe, Diag *diag) {
    rows_make_uniform(&attempt->tiles);
    Status status = attempt_place(attempt, pool, seconds, probe, diag);
    if (no_place(status) && attempt->tiles.exchanges > 0) {
        rows_make_least(&attempt->tiles);
        status = attempt_place(attempt, pool, seconds, probe, diag);
    }
    if (!status)
        status = schedule(attempt, pool, seconds, probe, diag);
    return status ? status : settle_rows(attempt, pool, seconds, probe, diag);
}

Status attempt_make(const Graph *graph, Plan *plan, Pool *pool, double seconds[COMPILE_PASSES],
                    Attempt *attempt, Probe *probe, Diag *diag) {
    *attempt = (Attempt){.plan = *plan};
    *plan = (Plan){0};
    *probe = (Probe){.verdict = PLACE_PLACED};
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
    for (uint32_t tile = 0; tile < attempt->tiles.tiles && !status; tile++) {
        attempt->spaces[tile] = emit_space(&attempt->library, &attempt->tiles, tile);
        status = emit_check(&attempt->library, &attempt->tiles, tile, diag);
    }
    return status ? status : place_and_schedule(attempt, pool, seconds, probe, diag);
}

Status attempt_cycles(const Attempt *attempt, uint64_t *cycles, Diag *diag) {
    EmitTimes times;
    Status status = emit_times(&attempt->tiles, attempt->exchanges, false, 0, &times, diag);
    *cycles = times.cycles;
    emit_times_free(&times);
    return status;
}

void attempt_free(Attempt *attempt) {
    phases_free(attempt);
    place_map_free(&attempt->places);
    mem_free(attempt->spaces);
    emit_library_free(&attempt->library);
    tile_graph_free(&attempt->tiles);
    plan_free(&attempt->plan);
    *attempt = (Attempt){0};
}
