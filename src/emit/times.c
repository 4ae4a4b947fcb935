/* How long programs run: kernels, samples and launches by their formulas, barriers by the last tile
 * that arrives. */
#include "emit/internal.h"

#include "kernel/step.h"

/* Bundles of worker 0 in a sample (runtime.S), the longest. */
enum { SAMPLE_BUNDLES = 8 };

uint64_t emit_sample_cycles(unsigned start) {
    /* setzi, call; two setzi, a store that waits for the first of them, runall. */
    unsigned first = start + 1 + CHIP_SUP_TAKEN_BRANCH;
    unsigned launch = first + CHIP_SUP_RESULT_LATENCY + 1;
    /* Worker 0 issues at multiples of 6. */
    unsigned begin = (unsigned)align_up(launch + CHIP_RUNALL_LATENCY, CHIP_WORKER_SLOTS);
    unsigned join = begin + (SAMPLE_BUNDLES - 1) * CHIP_WORKER_BUNDLE + CHIP_EXIT_TO_RESUME;
    return join + CHIP_SUP_TAKEN_BRANCH - start;
}

/* From the first word of a launch sequence to its sync: two puts and the call of the worker barrier
 * (setzi, runall; in any six cycles each worker ends once; return), then the count of words. */
enum {
    BARRIER_JOIN =
        CHIP_SUP_RESULT_LATENCY + CHIP_RUNALL_LATENCY + CHIP_WORKER_SLOTS - 1 + CHIP_EXIT_TO_RESUME,
    LAUNCH_CYCLES = 2 * CHIP_SUP_PUT + CHIP_SUP_TAKEN_BRANCH + BARRIER_JOIN +
                    CHIP_SUP_TAKEN_BRANCH + CHIP_SUP_RESULT_LATENCY + CHIP_SUP_PUT,
};

uint64_t emit_launch_cycles(void) {
    return LAUNCH_CYCLES;
}

/* A loop: the count is loaded and stored; at the end of an iteration it is fetched, decremented,
 * stored and tested. */
enum {
    REPEAT_CYCLES = 1 + CHIP_SUP_RESULT_LATENCY + 1,
    AGAIN_CYCLES = 3 * CHIP_SUP_RESULT_LATENCY + 1,
};

/* Tiles being followed; now[tile] counts from a cycle that is a multiple of 6. */
typedef struct Clock {
    const TileGraph *graph;
    const EmitExchange *exchanges;
    bool sampled;
    uint64_t *now;
    uint64_t *patch; /* [tiles] cycles that the end of the loop in hand spends on patches */
} Clock;

static void advance_sample(const Clock *clock, uint32_t tile) {
    if (clock->sampled)
        clock->now[tile] += emit_sample_cycles((unsigned)(clock->now[tile] % CHIP_WORKER_SLOTS));
}

static void compute(const Clock *clock, const LowerStep *step) {
    for (uint32_t i = 0; i < step->call_count; i++) {
        const LowerCall *call = &clock->graph->calls.items[step->first_call + i];
        uint64_t *now = &clock->now[call->tile];
        if (i == 0 || call[-1].tile != call->tile)
            advance_sample(clock, call->tile);
        *now += kernel_step_cycles(&clock->graph->specs.items[call->spec], call->scalars,
                                   (unsigned)(*now % CHIP_WORKER_SLOTS));
    }
}

static void exchange(const Clock *clock, const LowerStep *step, const XchgRows *rows) {
    const TileGraph *graph = clock->graph;
    uint64_t last = 0;
    for (uint32_t tile = 0; tile < graph->tiles; tile++) {
        advance_sample(clock, tile);
        uint64_t launch = emit_has_row(graph, step, tile) ? LAUNCH_CYCLES : 0;
        last = MAX_OF(last, clock->now[tile] + launch);
    }
    uint64_t release = last + CHIP_SYNC_INTERNAL_CYCLES;
    for (uint32_t tile = 0; tile < graph->tiles; tile++) {
        clock->now[tile] = release;
        if (!emit_has_row(graph, step, tile))
            continue;
        const XchgRow *row = emit_find_row(rows, tile);
        clock->now[tile] += 2 * CHIP_SUP_TAKEN_BRANCH + (row ? row->horizon : 0);
    }
}

static void repeat(const Clock *clock, uint32_t number) {
    const TileGraph *graph = clock->graph;
    for (uint32_t tile = 0; tile < graph->tiles; tile++) {
        EmitLoop loop = emit_loop(graph, number, tile);
        uint64_t *patch = &clock->patch[tile];
        *patch = loop.patches[clock->sampled].cycles;
        for (uint32_t s = number + 1; s < number + graph->steps.items[number].body; s++)
            if (graph->steps.items[s].kind == STEP_EXCHANGE)
                *patch +=
                    emit_row_patch_cycles(&clock->exchanges[graph->steps.items[s].exchange], tile);
        advance_sample(clock, tile);
        clock->now[tile] += REPEAT_CYCLES;
    }
}

/* All patches are undone behind the last iteration. */
static void again(const Clock *clock, bool last) {
    for (uint32_t tile = 0; tile < clock->graph->tiles; tile++) {
        advance_sample(clock, tile);
        clock->now[tile] += clock->patch[tile] + AGAIN_CYCLES;
        clock->now[tile] += last ? 1 + clock->patch[tile] : (uint64_t)CHIP_SUP_TAKEN_BRANCH;
    }
}

const XchgRow *emit_find_row(const XchgRows *rows, uint32_t tile) {
    size_t low = 0, high = rows->rows.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (rows->rows.items[middle].tile < tile)
            low = middle + 1;
        else
            high = middle;
    }
    return low < rows->rows.count && rows->rows.items[low].tile == tile ? &rows->rows.items[low]
                                                                        : NULL;
}

static uint64_t count_runs(const TileGraph *graph) {
    uint64_t runs = 0;
    for (size_t s = 0; s < graph->steps.count; s++)
        runs += graph->steps.items[s].kind == STEP_REPEAT ? 1 : graph->steps.items[s].times;
    return runs;
}

/* Carries out a step; the next one is returned. *left: iterations of the loop that it is in. */
static uint32_t take_step(const Clock *clock, uint32_t number, uint32_t *left) {
    const LowerStep *step = &clock->graph->steps.items[number];
    switch (step->kind) {
    case STEP_COMPUTE: compute(clock, step); break;
    case STEP_EXCHANGE: exchange(clock, step, clock->exchanges[step->exchange].rows); break;
    case STEP_REPEAT:
        repeat(clock, number);
        *left = step->times;
        break;
    case STEP_AGAIN:
        again(clock, --*left == 0);
        return *left ? number + 1 - step->body : number + 1;
    }
    return number + 1;
}

Status emit_times(const TileGraph *graph, const EmitExchange *exchanges, bool sampled,
                  unsigned start, EmitTimes *times, Diag *diag) {
    size_t tiles = graph->tiles;
    uint64_t runs = count_runs(graph);
    *times = (EmitTimes){.tile = mem_alloc(tiles, sizeof *times->tile),
                         .run_count = (uint32_t)runs,
                         .run = mem_alloc(runs + 1, sizeof *times->run),
                         .end = mem_alloc(tiles * runs + 1, sizeof *times->end)};
    Clock clock = {graph, exchanges, sampled, times->tile, mem_alloc(tiles, sizeof(uint64_t))};
    if (!times->tile || !times->run || !times->end || !clock.patch) {
        mem_free(clock.patch);
        return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "the times of the tiles");
    }
    for (uint32_t tile = 0; tile < tiles; tile++)
        clock.now[tile] = start;
    uint32_t left = 0, at = 0;
    for (uint32_t r = 0; r < runs; r++) {
        times->run[r] = at;
        at = take_step(&clock, at, &left);
        for (uint32_t tile = 0; tile < tiles; tile++)
            times->end[r * tiles + tile] = clock.now[tile] - start;
    }
    for (uint32_t tile = 0; tile < tiles; tile++) {
        advance_sample(&clock, tile);
        clock.now[tile] -= start;
        times->cycles = MAX_OF(times->cycles, clock.now[tile]);
    }
    mem_free(clock.patch);
    return STATUS_OK;
}

void emit_times_free(EmitTimes *times) {
    mem_free(times->tile);
    mem_free(times->run);
    mem_free(times->end);
    *times = (EmitTimes){0};
}
