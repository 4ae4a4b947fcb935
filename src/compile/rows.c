/* Exchange phases of an attempt: schedules, and the storage of their rows. */
#include "compile/attempt.h"

#include "base/progress.h"

/* Buffers of one size for all tiles give equal placements and equal programs. */
enum { UNIFORM_STEP = 64, EXACT_STEP = 8, LEAST_BYTES = 16 };

static uint32_t *row_bytes(TileGraph *tiles, uint32_t exchange, uint32_t tile) {
    uint32_t buffer = tile_graph_row(tiles, exchange, tile);
    return buffer == LOWER_NONE ? NULL : &tiles->buffers.items[buffer].bytes;
}

void rows_make_uniform(TileGraph *tiles) {
    for (uint32_t i = 0; i < tiles->exchanges; i++) {
        uint32_t most = 0;
        for (uint32_t tile = 0; tile < tiles->tiles; tile++) {
            const uint32_t *bytes = row_bytes(tiles, i, tile);
            most = MAX_OF(most, bytes ? *bytes : 0);
        }
        for (uint32_t tile = 0; tile < tiles->tiles; tile++) {
            uint32_t *bytes = row_bytes(tiles, i, tile);
            if (bytes)
                *bytes = (uint32_t)align_up(most, UNIFORM_STEP);
        }
    }
}

void rows_make_least(TileGraph *tiles) {
    for (uint32_t i = 0; i < tiles->exchanges; i++)
        for (uint32_t tile = 0; tile < tiles->tiles; tile++) {
            uint32_t *bytes = row_bytes(tiles, i, tile);
            if (bytes)
                *bytes = LEAST_BYTES;
        }
}

void rows_make_exact(Attempt *attempt) {
    TileGraph *tiles = &attempt->tiles;
    rows_make_least(tiles);
    for (uint32_t i = 0; i < tiles->exchanges; i++) {
        const XchgRows *rows = &attempt->phases[i].rows;
        for (size_t r = 0; r < rows->rows.count; r++) {
            uint32_t *bytes = row_bytes(tiles, i, rows->rows.items[r].tile);
            uint32_t needed = (uint32_t)align_up(
                emit_row_bytes(&attempt->exchanges[i], &rows->rows.items[r]), EXACT_STEP);
            if (bytes)
                *bytes = MAX_OF(*bytes, needed);
        }
    }
}

bool rows_fit(const Attempt *attempt) {
    const TileGraph *tiles = &attempt->tiles;
    for (uint32_t i = 0; i < tiles->exchanges; i++) {
        const XchgRows *rows = &attempt->phases[i].rows;
        for (size_t r = 0; r < rows->rows.count; r++) {
            const XchgRow *row = &rows->rows.items[r];
            uint32_t buffer = tile_graph_row(tiles, i, row->tile);
            if (buffer == LOWER_NONE ||
                tiles->buffers.items[buffer].bytes < emit_row_bytes(&attempt->exchanges[i], row))
                return false;
        }
    }
    return true;
}

void phases_free(Attempt *attempt) {
    for (uint32_t i = 0; attempt->phases && i < attempt->tiles.exchanges; i++) {
        AttemptPhase *phase = &attempt->phases[i];
        mem_free(phase->name);
        xchg_phase_free(&phase->phase);
        xchg_schedule_free(&phase->schedule);
        xchg_rows_free(&phase->rows);
        vec_free(&phase->patches);
        diag_free(&phase->story);
    }
    mem_free(attempt->phases);
    mem_free(attempt->exchanges);
    attempt->phases = NULL;
    attempt->exchanges = NULL;
}

static void schedule_one(void *context, size_t index, unsigned worker) {
    Attempt *attempt = context;
    AttemptPhase *phase = &attempt->phases[index];
    (void)worker;
    double since = clock_seconds();
    phase->status = xchg_schedule(&phase->phase, attempt->tiles.tiles, &(XchgOptions){0},
                                  &phase->schedule, &phase->rows, &phase->story);
    count_time(&phase->seconds, &since);
}

/* "exchange 0 of y: x.cast:moved" */
static char *phase_name(const Attempt *attempt, uint32_t exchange, uint32_t step) {
    const TileGraph *tiles = &attempt->tiles;
    const LowerStep *lowered = &tiles->steps.items[step];
    if (lowered->copy_count == 0)
        return mem_printf("exchange %u", exchange);
    const LowerCopy *first = &tiles->copies.items[lowered->first_copy];
    uint32_t buffer = tiles->dests.items[first->first_dest].buffer;
    uint32_t value = tiles->buffers.items[buffer].value;
    return mem_printf("exchange %u: %s", exchange, tiles->values.items[value].name);
}

Status attempt_schedule(Attempt *attempt, Pool *pool, Diag *diag) {
    const TileGraph *tiles = &attempt->tiles;
    phases_free(attempt);
    if (tiles->exchanges == 0)
        return STATUS_OK;
    attempt->phases = mem_alloc(tiles->exchanges, sizeof *attempt->phases);
    attempt->exchanges = mem_alloc(tiles->exchanges, sizeof *attempt->exchanges);
    if (!attempt->phases || !attempt->exchanges)
        return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "scheduling exchanges");
    Status status = STATUS_OK;
    for (uint32_t s = 0; s < tiles->steps.count && !status; s++) {
        if (tiles->steps.items[s].kind != STEP_EXCHANGE)
            continue;
        uint32_t exchange = tiles->steps.items[s].exchange;
        AttemptPhase *phase = &attempt->phases[exchange];
        phase->step = s;
        phase->name = phase_name(attempt, exchange, s);
        if (!phase->name)
            return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "scheduling exchanges");
        status = emit_exchange_phase(tiles, &attempt->places, s, &phase->phase, diag);
        phase->phase.name = phase->name;
        attempt->exchanges[exchange] = (EmitExchange){.phase = &phase->phase, .rows = &phase->rows};
    }
    if (status)
        return status;
    pool_run(pool, tiles->exchanges, schedule_one, attempt);
    for (uint32_t i = 0; i < tiles->exchanges; i++) {
        if (diag && attempt->phases[i].status)
            diag_append(diag, &attempt->phases[i].story);
        status = status ? status : attempt->phases[i].status;
    }
    for (uint32_t i = 0; i < tiles->exchanges && !status; i++) {
        AttemptPhase *phase = &attempt->phases[i];
        status = emit_row_patches(tiles, &attempt->places, i, &phase->rows, &phase->patches, diag);
        attempt->exchanges[i].patches = phase->patches.items;
        attempt->exchanges[i].patch_count = (uint32_t)phase->patches.count;
    }
    return status;
}
