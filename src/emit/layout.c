/* How large a tile's program is, where it goes, and how long it runs. */
#include "emit/internal.h"

#include "kernel/step.h"

const LowerCall *emit_tile_calls(const TileGraph *graph, const LowerStep *step, uint32_t tile,
                                 uint32_t *count) {
    const LowerCall *calls = graph->calls.items + step->first_call;
    uint32_t low = 0, high = step->call_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (calls[middle].tile < tile)
            low = middle + 1;
        else
            high = middle;
    }
    for (high = low; high < step->call_count && calls[high].tile == tile; high++)
        continue;
    *count = high - low;
    return calls + low;
}

/* Words of all steps of a tile; *steps receives in how many it does something. */
static uint32_t step_words(const TileGraph *graph, uint32_t tile, uint32_t *steps) {
    uint32_t words = 0;
    *steps = 0;
    for (size_t s = 0; s < graph->steps.count; s++) {
        uint32_t count;
        const LowerCall *calls = emit_tile_calls(graph, &graph->steps.items[s], tile, &count);
        *steps += count > 0;
        for (uint32_t i = 0; i < count; i++)
            words += kernel_step_words(&graph->specs.items[calls[i].spec], calls[i].scalars);
    }
    return words;
}

/* In both entries: call of the runtime, two barriers, branch back. A sample: its address, the call.
 */
enum { ENTRY_WORDS = 4, SAMPLE_WORDS = 2 };

EmitLayout emit_layout(const EmitLibrary *library, const TileGraph *graph, uint32_t tile) {
    uint32_t steps, words = step_words(graph, tile, &steps);
    EmitLayout layout = {.sample_count = steps + 1, .data = library->end_above};
    layout.program_bytes = 4 * (2 * (ENTRY_WORDS + words) + SAMPLE_WORDS * (steps + 1));
    uint32_t *end = &layout.data, below = library->end_below;
    uint32_t bytes = layout.program_bytes + 4 * layout.sample_count;
    if (below <= CHIP_HOST_WINDOW_BASE && bytes <= CHIP_HOST_WINDOW_BASE - below)
        end = &below;
    layout.program = *end;
    layout.samples = layout.program + layout.program_bytes;
    *end = (uint32_t)align_up(layout.program + bytes, EMIT_CODE_ALIGN);
    return layout;
}

static PlaceSpace space_from(uint32_t data) {
    return (PlaceSpace){.ranges = {{MIN_OF(data, (uint32_t)CHIP_REGION1_BASE), CHIP_REGION1_BASE},
                                   {CHIP_REGION1_BASE, CHIP_APP_LOAD_LIMIT}},
                        .count = 2};
}

PlaceSpace emit_space(const EmitLibrary *library, const TileGraph *graph, uint32_t tile) {
    return space_from(emit_layout(library, graph, tile).data);
}

PlaceSpace emit_space_most(void) {
    return space_from(EMIT_DATA_BASE);
}

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

uint64_t emit_tile_cycles(const TileGraph *graph, uint32_t tile, bool sampled, unsigned start) {
    uint64_t now = start;
    for (size_t s = 0; s < graph->steps.count; s++) {
        uint32_t count;
        const LowerCall *calls = emit_tile_calls(graph, &graph->steps.items[s], tile, &count);
        if (count > 0 && sampled)
            now += emit_sample_cycles((unsigned)(now % CHIP_WORKER_SLOTS));
        for (uint32_t i = 0; i < count; i++)
            now += kernel_step_cycles(&graph->specs.items[calls[i].spec], calls[i].scalars,
                                      (unsigned)(now % CHIP_WORKER_SLOTS));
    }
    if (sampled)
        now += emit_sample_cycles((unsigned)(now % CHIP_WORKER_SLOTS));
    return now - start;
}
