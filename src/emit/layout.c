/* How large a tile's program is, and where it goes. */
#include "emit/internal.h"

#include "kernel/step.h"

const LowerCall *emit_tile_calls(const TileGraph *graph, const LowerStep *step, uint32_t tile,
                                 uint32_t *count) {
    *count = 0;
    if (step->call_count == 0)
        return NULL;
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
        const LowerStep *step = &graph->steps.items[s];
        if (step->kind == STEP_EXCHANGE) {
            words += emit_has_row(graph, step, tile) ? EMIT_LAUNCH_WORDS : EMIT_IDLE_WORDS;
            ++*steps;
            continue;
        }
        const LowerCall *calls = emit_tile_calls(graph, step, tile, &count);
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
    EmitLayout layout = {
        .sample_count = steps + 1, .data = library->end_above, .rows = library->end_below};
    layout.program_bytes = 4 * (2 * (ENTRY_WORDS + words) + SAMPLE_WORDS * (steps + 1));
    uint32_t *end = &layout.data;
    uint32_t bytes = layout.program_bytes + 4 * layout.sample_count;
    if (layout.rows <= CHIP_HOST_WINDOW_BASE && bytes <= CHIP_HOST_WINDOW_BASE - layout.rows)
        end = &layout.rows;
    layout.program = *end;
    layout.samples = layout.program + layout.program_bytes;
    *end = (uint32_t)align_up(layout.program + bytes, EMIT_CODE_ALIGN);
    return layout;
}

static PlaceSpace space_from(uint32_t data, uint32_t rows) {
    return (PlaceSpace){
        .ranges = {{MIN_OF(data, (uint32_t)CHIP_REGION1_BASE), CHIP_REGION1_BASE},
                   {CHIP_REGION1_BASE, CHIP_APP_LOAD_LIMIT}},
        .count = 2,
        .code = {MIN_OF(rows, (uint32_t)CHIP_HOST_WINDOW_BASE), CHIP_HOST_WINDOW_BASE}};
}

PlaceSpace emit_space(const EmitLibrary *library, const TileGraph *graph, uint32_t tile) {
    EmitLayout layout = emit_layout(library, graph, tile);
    return space_from(layout.data, layout.rows);
}

PlaceSpace emit_space_most(void) {
    return space_from(EMIT_DATA_BASE, EMIT_LIBRARY_BASE);
}
