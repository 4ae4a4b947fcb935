/* A compiled GEMM whose input x comes a long way round: the host writes it into other buffers, an
 * exchange step sends every shard to the next two tiles that work, and a second one sends it back
 * from the first of these to where the GEMM reads it. Its result is the GEMM's. */
#pragma once

#include "chip/chip.h"
#include "emit/fixture.h"

enum { DETOUR_PHASES = 2, DETOUR_ROW_BYTES = 192 };

typedef struct Detour {
    Fixture f;
    XchgPhase phases[DETOUR_PHASES];
    XchgRows rows[DETOUR_PHASES];
    EmitExchange exchanges[DETOUR_PHASES];
} Detour;

/* Buffers of one tile, as indices into the tile graph; LOWER_NONE: not there. */
typedef struct DetourTile {
    uint32_t x, staging, next, after, row[DETOUR_PHASES];
} DetourTile;

static inline uint32_t detour_add(TileGraph *to, LowerBuffer buffer) {
    assert_true(vec_push(&to->buffers, buffer));
    return (uint32_t)to->buffers.count - 1;
}

static inline void detour_pair(TileGraph *to, uint32_t a, uint32_t b, bool soft) {
    if (a != LOWER_NONE && b != LOWER_NONE)
        assert_true(vec_push(&to->pairs, (LowerPair){a, b, soft}));
}

static inline uint32_t detour_bytes(const TileGraph *from, const uint32_t *works, uint32_t index) {
    return from->buffers.items[works[index]].bytes;
}

/* Adds the buffers of a working tile, number i of n in `works` (their x buffers in the old graph).
 */
static inline void detour_buffers(const TileGraph *from, TileGraph *to, const uint32_t *works,
                                  uint32_t i, uint32_t n, DetourTile *tile) {
    LowerBuffer x = from->buffers.items[works[i]];
    LowerBuffer other = {.tile = x.tile, .value = x.value, .shard = x.shard, .alignment = 8};
    other.bytes = x.bytes;
    other.memory_class = x.memory_class;
    other.role = BUFFER_INPUT;
    other.last_event = 1;
    tile->staging = detour_add(to, other);
    other.memory_class = MEMORY_STANDARD;
    other.role = BUFFER_TEMPORARY;
    other.first_event = 1;
    other.last_event = 2;
    other.bytes = detour_bytes(from, works, (i + n - 1) % n);
    tile->next = detour_add(to, other);
    other.last_event = 1;
    other.bytes = detour_bytes(from, works, (i + n - 2) % n);
    tile->after = n > 2 ? detour_add(to, other) : LOWER_NONE;
}

/* Rows of the first step on all tiles, of the second on those that work. */
static inline void detour_rows(TileGraph *to, uint32_t index, bool works, DetourTile *tile) {
    for (uint32_t e = 0; e < DETOUR_PHASES; e++) {
        LowerBuffer row = {.tile = index,
                           .value = LOWER_NONE,
                           .shard = e,
                           .bytes = DETOUR_ROW_BYTES,
                           .tail = CHIP_FETCH_LOOKAHEAD_BYTES,
                           .alignment = 8,
                           .role = BUFFER_ROWS,
                           .last_event = to->end_event};
        tile->row[e] = works || e == 0 ? detour_add(to, row) : LOWER_NONE;
        to->row_buffer[e * to->tiles + index] = tile->row[e];
    }
}

static inline void detour_copy(TileGraph *to, uint32_t source, const uint32_t *dests,
                               uint32_t count) {
    LowerCopy copy = {.source = {source, 0},
                      .words = to->buffers.items[source].bytes / 4,
                      .first_dest = (uint32_t)to->dests.count,
                      .dest_count = count};
    for (uint32_t i = 0; i < count; i++)
        assert_true(vec_push(&to->dests, (LowerOperand){dests[i], 0}));
    assert_true(vec_push(&to->copies, copy));
}

static inline void detour_steps(const TileGraph *from, TileGraph *to, const DetourTile *tiles,
                                const uint32_t *works, uint32_t n) {
    for (uint32_t e = 0; e < DETOUR_PHASES; e++) {
        LowerStep step = {.kind = STEP_EXCHANGE,
                          .operation = from->steps.items[0].operation,
                          .first_copy = (uint32_t)to->copies.count,
                          .copy_count = n,
                          .exchange = e,
                          .times = 1};
        for (uint32_t i = 0; i < n; i++) {
            const DetourTile *tile = &tiles[from->buffers.items[works[i]].tile];
            const DetourTile *next = &tiles[from->buffers.items[works[(i + 1) % n]].tile];
            const DetourTile *after = &tiles[from->buffers.items[works[(i + 2) % n]].tile];
            if (e == 0) {
                /* Destinations by ascending tile. */
                uint32_t dests[2] = {next->next, after->after};
                if (n > 2 && (i + 1) % n > (i + 2) % n) {
                    dests[0] = after->after;
                    dests[1] = next->next;
                }
                detour_copy(to, tile->staging, dests, n > 2 ? 2 : 1);
            } else {
                detour_copy(to, next->next, &tile->x, 1);
            }
        }
        assert_true(vec_push(&to->steps, step));
    }
    for (size_t s = 0; s < from->steps.count; s++)
        assert_true(vec_push(&to->steps, from->steps.items[s]));
}

/* The old graph with everything above put in. */
static inline void detour_graph(const TileGraph *from, TileGraph *to) {
    uint32_t *moved = mem_alloc(from->buffers.count + 1, sizeof *moved);
    uint32_t *works = mem_alloc(from->tiles + 1, sizeof *works), n = 0;
    DetourTile *tiles = mem_alloc(from->tiles, sizeof *tiles);
    uint32_t x_value = from->bindings.items[0].value; /* inputs come first */
    *to = (TileGraph){.tiles = from->tiles,
                      .tile_buffer = mem_alloc(from->tiles + 1, sizeof(uint32_t)),
                      .tile_pair = mem_alloc(from->tiles + 1, sizeof(uint32_t)),
                      .exchanges = DETOUR_PHASES,
                      .end_event = from->end_event + DETOUR_PHASES};
    to->row_buffer = mem_alloc(DETOUR_PHASES * from->tiles, sizeof(uint32_t));
    assert_true(moved && works && tiles && to->tile_buffer && to->tile_pair && to->row_buffer);
    for (uint32_t i = 0; i < from->buffers.count; i++)
        if (from->buffers.items[i].value == x_value)
            works[n++] = i;
    for (uint32_t t = 0, w = 0; t < from->tiles; t++) {
        DetourTile *tile = &tiles[t];
        *tile = (DetourTile){LOWER_NONE, LOWER_NONE, LOWER_NONE, LOWER_NONE, {0}};
        for (uint32_t i = from->tile_buffer[t]; i < from->tile_buffer[t + 1]; i++) {
            LowerBuffer buffer = from->buffers.items[i];
            buffer.last_event += DETOUR_PHASES;
            buffer.first_event += buffer.first_event ? DETOUR_PHASES : 0;
            if (buffer.value == x_value) {
                buffer.role = BUFFER_TEMPORARY;
                buffer.first_event = 2;
            }
            moved[i] = detour_add(to, buffer);
            tile->x = buffer.value == x_value ? moved[i] : tile->x;
        }
        bool working = tile->x != LOWER_NONE;
        if (working)
            detour_buffers(from, to, works, w++, n, tile);
        detour_rows(to, t, working, tile);
        to->tile_buffer[t + 1] = (uint32_t)to->buffers.count;
        for (uint32_t i = from->tile_pair[t]; i < from->tile_pair[t + 1]; i++)
            detour_pair(to, moved[from->pairs.items[i].a], moved[from->pairs.items[i].b], false);
        uint32_t touched[4] = {tile->staging, tile->next, tile->after, tile->x};
        for (uint32_t e = 0; e < DETOUR_PHASES; e++)
            for (uint32_t i = 0; i < 4; i++)
                detour_pair(to, tile->row[e], touched[i], false);
        detour_pair(to, tile->staging, tile->next, true);
        to->tile_pair[t + 1] = (uint32_t)to->pairs.count;
    }
    for (size_t i = 0; i < from->calls.count; i++) {
        LowerCall call = from->calls.items[i];
        for (uint32_t k = 0; k < 3; k++)
            call.operands[k].buffer = moved[call.operands[k].buffer];
        assert_true(vec_push(&to->calls, call));
    }
    for (size_t i = 0; i < from->slices.count; i++) {
        LowerSlice slice = from->slices.items[i];
        const LowerBuffer *buffer = &from->buffers.items[slice.buffer];
        slice.buffer = buffer->value == x_value ? tiles[buffer->tile].staging : moved[slice.buffer];
        assert_true(vec_push(&to->slices, slice));
    }
    for (size_t i = 0; i < from->bindings.count; i++)
        assert_true(vec_push(&to->bindings, from->bindings.items[i]));
    for (size_t i = 0; i < from->specs.count; i++)
        assert_true(vec_push(&to->specs, from->specs.items[i]));
    for (size_t i = 0; i < from->values.count; i++)
        assert_true(vec_push(&to->values, from->values.items[i]));
    detour_steps(from, to, tiles, works, n);
    mem_free(moved);
    mem_free(works);
    mem_free(tiles);
}

static inline void detour_schedule(Detour *d, Diag *diag) {
    static const char *const names[] = {"there", "back"};
    for (uint32_t e = 0; e < DETOUR_PHASES; e++) {
        XchgSchedule schedule;
        fixture_expect(emit_exchange_phase(&d->f.tiles, &d->f.places, e, &d->phases[e], diag),
                       diag);
        d->phases[e].name = names[e];
        fixture_expect(xchg_schedule(&d->phases[e], d->f.tiles.tiles,
                                     &(XchgOptions){.no_pairing = true}, &schedule, &d->rows[e],
                                     diag),
                       diag);
        xchg_schedule_free(&schedule);
        d->exchanges[e] = (EmitExchange){.phase = &d->phases[e], .rows = &d->rows[e]};
    }
}

static inline void detour_create(Detour *d, uint32_t rows, uint32_t inner, uint32_t columns,
                                 const char *operand, uint32_t tiles) {
    *d = (Detour){0};
    Fixture *f = &d->f;
    Diag diag = {0};
    TileGraph graph;
    fixture_create(f, rows, inner, columns, operand, tiles);
    detour_graph(&f->tiles, &graph);
    tile_graph_free(&f->tiles);
    f->tiles = graph;
    emit_images_free(&f->images);
    place_map_free(&f->places);
    for (uint32_t tile = 0; tile < f->tiles.tiles; tile++)
        f->spaces[tile] = emit_space(&f->library, &f->tiles, tile);
    fixture_expect(place_tiles(&f->tiles, f->spaces, NULL, &f->places, &diag), &diag);
    detour_schedule(d, &diag);
    fixture_expect(emit_images(&f->library, &f->tiles, &f->places, d->exchanges, &f->images, &diag),
                   &diag);
    diag_free(&diag);
}

static inline void detour_free(Detour *d) {
    for (uint32_t e = 0; e < DETOUR_PHASES; e++) {
        xchg_phase_free(&d->phases[e]);
        xchg_rows_free(&d->rows[e]);
    }
    fixture_free(&d->f);
}
