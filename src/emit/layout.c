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

/* Of a tile's program. */
typedef struct Size {
    uint32_t words;   /* of all steps in one entry */
    uint32_t sampled; /* words more in the other one */
    uint32_t sites;   /* where samples are taken */
    uint32_t samples, loops;
} Size;

/* In both entries: call of the runtime, two barriers, branch back. A sample: its address, the call.
 */
enum { ENTRY_WORDS = 4, SAMPLE_WORDS = 2 };

static void add_step(const TileGraph *graph, uint32_t number, uint32_t tile, Size *size) {
    const LowerStep *step = &graph->steps.items[number];
    uint32_t count;
    if (!emit_is_step(graph, step, tile))
        return;
    size->sites++;
    size->samples += step->kind == STEP_REPEAT ? 1 : step->times;
    switch (step->kind) {
    case STEP_EXCHANGE:
        size->words += emit_has_row(graph, step, tile) ? EMIT_LAUNCH_WORDS : EMIT_IDLE_WORDS;
        break;
    case STEP_REPEAT: {
        EmitLoop loop = emit_loop(graph, number, tile);
        size->words += EMIT_REPEAT_WORDS + EMIT_AGAIN_WORDS;
        size->words += 2 * (loop.patches[0].words + EMIT_CALL_WORDS * loop.rows);
        size->sampled += 2 * (loop.patches[1].words - loop.patches[0].words);
        size->loops++;
        break;
    }
    case STEP_AGAIN: break; /* counted with its begin */
    case STEP_COMPUTE: {
        const LowerCall *calls = emit_tile_calls(graph, step, tile, &count);
        for (uint32_t i = 0; i < count; i++)
            size->words += kernel_step_words(&graph->specs.items[calls[i].spec], calls[i].scalars);
        break;
    }
    }
}

EmitLayout emit_layout(const EmitLibrary *library, const TileGraph *graph, uint32_t tile) {
    Size size = {0};
    for (uint32_t s = 0; s < graph->steps.count; s++)
        add_step(graph, s, tile, &size);
    EmitLayout layout = {
        .sample_count = size.samples + 1, .data = library->end_above, .rows = library->end_below};
    layout.program_bytes =
        4 * (2 * (ENTRY_WORDS + size.words) + size.sampled + SAMPLE_WORDS * (size.sites + 1));
    uint32_t *end = &layout.data;
    uint32_t bytes = layout.program_bytes + 4 * (layout.sample_count + size.loops);
    if (layout.rows <= CHIP_HOST_WINDOW_BASE && bytes <= CHIP_HOST_WINDOW_BASE - layout.rows)
        end = &layout.rows;
    layout.program = *end;
    layout.samples = layout.program + layout.program_bytes;
    layout.counters = layout.samples + 4 * layout.sample_count;
    layout.end = layout.program + bytes;
    *end = (uint32_t)align_up(layout.end, EMIT_CODE_ALIGN);
    return layout;
}

Status emit_fits(const EmitLayout *layout, uint32_t tile, Diag *diag) {
    if (layout->end <= CHIP_REGION1_BASE)
        return STATUS_OK;
    diag_error(diag, ERR_EMIT_CODE, (DiagPlace){.tile = (int32_t)tile},
               "the program of %u bytes does not fit below 0x%X", layout->program_bytes,
               CHIP_REGION1_BASE);
    diag_fix(diag, "split the graph into several packages; iterations of a repeat that cannot have "
                   "one body count each");
    return ERR_EMIT_CODE;
}

Status emit_check(const EmitLibrary *library, const TileGraph *graph, uint32_t tile, Diag *diag) {
    EmitLayout layout = emit_layout(library, graph, tile);
    return emit_fits(&layout, tile, diag);
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
