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

/* Tiles being followed; now[tile] counts from a cycle that is a multiple of 6. */
typedef struct Clock {
    const TileGraph *graph;
    bool sampled;
    uint64_t *now;
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

Status emit_times(const TileGraph *graph, const EmitExchange *exchanges, bool sampled,
                  unsigned start, EmitTimes *times, Diag *diag) {
    size_t tiles = graph->tiles;
    *times = (EmitTimes){.tile = mem_alloc(tiles, sizeof *times->tile),
                         .step = mem_alloc(tiles * graph->steps.count + 1, sizeof *times->step)};
    if (!times->tile || !times->step)
        return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "the times of the tiles");
    Clock clock = {graph, sampled, times->tile};
    for (uint32_t tile = 0; tile < tiles; tile++)
        clock.now[tile] = start;
    for (size_t s = 0; s < graph->steps.count; s++) {
        const LowerStep *step = &graph->steps.items[s];
        if (step->kind == STEP_COMPUTE)
            compute(&clock, step);
        else
            exchange(&clock, step, exchanges[step->exchange].rows);
        for (uint32_t tile = 0; tile < tiles; tile++)
            times->step[s * tiles + tile] = clock.now[tile] - start;
    }
    for (uint32_t tile = 0; tile < tiles; tile++) {
        advance_sample(&clock, tile);
        clock.now[tile] -= start;
        times->cycles = MAX_OF(times->cycles, clock.now[tile]);
    }
    return STATUS_OK;
}

void emit_times_free(EmitTimes *times) {
    mem_free(times->tile);
    mem_free(times->step);
    *times = (EmitTimes){0};
}
