/* Does a product fit on so many tiles? Answered by plain loops over all grids of rows, columns and
 * inner parts with all that may be chosen for them, and over all orders and ranges of the buffers
 * of the first tile, which has the largest shard of every value. */
#pragma once

#include "base/random.h"
#include "chip/chip.h"
#include "compile/attempt.h"

/* ---- one tile: its roots in all orders and ranges, each as low as it goes */

enum { FORCE_BUFFERS = 16 };

typedef struct ForceBuffer {
    uint64_t bytes; /* with tail */
    uint32_t align, first, last;
    bool high_only, code;
    uint32_t apart; /* bits of the others */
    uint64_t at;
    bool placed;
} ForceBuffer;

typedef struct Force {
    ForceBuffer buffers[FORCE_BUFFERS];
    uint32_t count;
    PlaceRange ranges[PLACE_MAX_RANGES + 1]; /* the last one is for code alone */
    uint32_t range_count;
    uint64_t nodes; /* left */
} Force;

static uint64_t force_element_begin(uint64_t address) {
    uint64_t base = address < CHIP_REGION1_BASE ? CHIP_TILE_MEM_BASE : CHIP_REGION1_BASE;
    uint64_t size = address < CHIP_REGION1_BASE ? 0x4000 : 0x8000;
    return base + (address - base) / size * size;
}

static uint64_t force_element_end(uint64_t last) { /* of the element that holds this byte */
    return force_element_begin(last) + (last < CHIP_REGION1_BASE ? 0x4000 : 0x8000);
}

/* Lowest address at or above `from` at which buffer i does not meet placed buffer k. */
static uint64_t force_clear_of(const Force *force, uint32_t i, uint32_t k, uint64_t from) {
    const ForceBuffer *a = &force->buffers[i], *b = &force->buffers[k];
    uint64_t end = b->at + b->bytes;
    if (a->apart >> k & 1) {
        bool above = force_element_begin(from) >= force_element_end(end - 1);
        bool below = force_element_end(from + a->bytes - 1) <= force_element_begin(b->at);
        return above || below ? from : force_element_end(end - 1);
    }
    bool together = a->first <= b->last && b->first <= a->last;
    bool meet = from < end && b->at < from + a->bytes;
    return together && meet ? end : from;
}

static bool force_lowest(const Force *force, uint32_t i, PlaceRange range, uint64_t *at) {
    const ForceBuffer *buffer = &force->buffers[i];
    uint64_t from = align_up(range.begin, buffer->align);
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t k = 0; k < force->count; k++) {
            uint64_t next = force->buffers[k].placed ? force_clear_of(force, i, k, from) : from;
            next = align_up(next, buffer->align);
            moved |= next != from;
            from = next;
        }
    }
    *at = from;
    return from + buffer->bytes <= range.end;
}

static bool force_range_allowed(const Force *force, const ForceBuffer *buffer, uint32_t range) {
    bool high = force->ranges[range].begin >= CHIP_REGION1_BASE;
    if (buffer->code)
        return !high;
    return range + 1 < force->range_count && (high || !buffer->high_only);
}

/* False when nothing fits, or all nodes are used up. */
static bool force_search(Force *force, uint32_t depth) {
    if (depth == force->count)
        return true;
    for (uint32_t i = 0; i < force->count; i++) {
        ForceBuffer *buffer = &force->buffers[i];
        if (buffer->placed)
            continue;
        for (uint32_t range = 0; range < force->range_count; range++) {
            if (force->nodes == 0)
                return false;
            force->nodes--;
            if (!force_range_allowed(force, buffer, range) ||
                !force_lowest(force, i, force->ranges[range], &buffer->at))
                continue;
            buffer->placed = true;
            if (force_search(force, depth + 1))
                return true;
            buffer->placed = false;
        }
    }
    return false;
}

/* Bytes alive at once against all memory there is: settles most cases. */
static bool force_bytes_fit(const Force *force) {
    uint64_t all = 0, paired = 0;
    for (uint32_t r = 0; r < force->range_count; r++) {
        uint64_t bytes = force->ranges[r].end - force->ranges[r].begin;
        all += bytes;
        paired += force->ranges[r].begin >= CHIP_REGION1_BASE ? bytes : 0;
    }
    for (uint32_t i = 0; i < force->count; i++) {
        uint64_t live = 0, high = 0;
        for (uint32_t k = 0; k < force->count; k++) {
            const ForceBuffer *b = &force->buffers[k];
            if (b->first > force->buffers[i].first || b->last < force->buffers[i].first)
                continue;
            live += b->bytes;
            high += b->high_only ? b->bytes : 0;
        }
        if (live > all || high > paired)
            return false;
    }
    return true;
}

static bool tile_fits(const TileGraph *tiles, const PlaceSpace *space) {
    Force force = {.nodes = 300000};
    uint32_t root[FORCE_BUFFERS * 2], first = tiles->tile_buffer[0], end = tiles->tile_buffer[1];
    for (uint32_t i = first; i < end; i++) {
        const LowerBuffer *buffer = &tiles->buffers.items[i];
        root[i] = force.count;
        if (!buffer->is_piece)
            force.buffers[force.count++] =
                (ForceBuffer){.bytes = (uint64_t)buffer->bytes + buffer->tail,
                              .align = buffer->alignment,
                              .first = buffer->first_event,
                              .last = buffer->last_event,
                              .high_only = buffer->memory_class == MEMORY_INTERLEAVED,
                              .code = buffer->role == BUFFER_ROWS};
    }
    for (uint32_t i = first; i < end; i++) {
        const LowerBuffer *buffer = &tiles->buffers.items[i];
        root[i] = root[buffer->is_piece ? buffer->whole : i];
        ForceBuffer *whole = &force.buffers[root[i]];
        whole->first = MIN_OF(whole->first, buffer->first_event);
        whole->last = MAX_OF(whole->last, buffer->last_event);
    }
    for (uint32_t i = tiles->tile_pair[0]; i < tiles->tile_pair[1]; i++) {
        const LowerPair *pair = &tiles->pairs.items[i];
        if (pair->soft)
            continue;
        force.buffers[root[pair->a]].apart |= 1u << root[pair->b];
        force.buffers[root[pair->b]].apart |= 1u << root[pair->a];
    }
    for (uint32_t i = 0; i < space->count; i++)
        force.ranges[force.range_count++] = space->ranges[i];
    force.ranges[force.range_count++] = space->code;
    return force_bytes_fit(&force) && force_search(&force, 0);
}

/* ---- one plan */

typedef enum ForceVerdict {
    FORCE_NO,    /* not even without rows, code and samples */
    FORCE_BARE,  /* without them */
    FORCE_WHOLE, /* with rows as estimated, in the space that there is */
} ForceVerdict;

static ForceVerdict plan_fits(const Graph *graph, const Plan *plan) {
    TileGraph tiles;
    PlaceSpace most = emit_space_most();
    assert_int_equal(lower_first_tile(graph, plan, &tiles, NULL), STATUS_OK);
    bool fits = tile_fits(&tiles, &most);
    tile_graph_free(&tiles);
    if (!fits)
        return FORCE_NO;
    EmitLibrary library;
    assert_int_equal(lower_plan(graph, plan, &tiles, NULL), STATUS_OK);
    assert_int_equal(emit_link(&tiles, &library, NULL), STATUS_OK);
    PlaceSpace space = emit_space(&library, &tiles, 0);
    fits = tile_fits(&tiles, &space);
    emit_library_free(&library);
    tile_graph_free(&tiles);
    return fits ? FORCE_WHOLE : FORCE_BARE;
}

/* The best verdict of all choices for a forced grid. */
static ForceVerdict grid_fits(const Graph *graph, const PlanOptions *given, PlanForce force) {
    PlanOptions options = *given;
    options.forces = &force;
    options.force_count = 1;
    options.complete = true;
    PlanSearch search;
    ForceVerdict best = FORCE_NO;
    Status status = plan_search(graph, &options, &search, NULL);
    for (size_t i = 0; i < search.count && !status && best != FORCE_WHOLE; i++) {
        Plan plan;
        if (search.candidates[i].tile_bytes > CHIP_TILE_MEM_SIZE)
            continue;
        assert_int_equal(plan_build(&search, &search.candidates[i], &plan, NULL), STATUS_OK);
        ForceVerdict verdict = plan_fits(graph, &plan);
        best = MAX_OF(best, verdict);
        plan_free(&plan);
    }
    plan_search_free(&search);
    return best;
}

static ForceVerdict best_grid(const Graph *graph, const PlanOptions *options) {
    ForceVerdict best = FORCE_NO;
    for (uint32_t swapped = 0; swapped < 2; swapped++)
        for (uint32_t r = 1; r <= options->tiles; r++)
            for (uint32_t c = 1; r * c <= options->tiles; c++)
                for (uint32_t k = 1; r * c * k <= options->tiles && best != FORCE_WHOLE; k++) {
                    ForceVerdict verdict =
                        grid_fits(graph, options, (PlanForce){(char[]){"gemm"}, r, c, k, swapped});
                    best = MAX_OF(best, verdict);
                }
    return best;
}

/* Does any grid fit, host input and any number of copies allowed? */
static inline bool any_grid_fits(const Graph *graph, uint32_t tiles) {
    PlanOptions options = {.tiles = tiles};
    return best_grid(graph, &options) == FORCE_WHOLE;
}

/* A grid of at most so many tiles for a product of these extents. */
static inline PlanForce random_grid(Random *random, uint32_t rows, uint32_t inner, uint32_t columns,
                                    uint32_t tiles, uint32_t panel) {
    static char name[] = "y";
    PlanForce force = {.operation = name, .swapped = random_below(random, 2)};
    uint32_t m = force.swapped ? columns : rows;
    uint32_t groups = (uint32_t)div_up(force.swapped ? rows : columns, 16);
    uint32_t panels = (uint32_t)div_up(inner, panel);
    force.inner = 1 + (uint32_t)random_below(random, MIN_OF(panels, tiles));
    force.rows = 1 + (uint32_t)random_below(random, MIN_OF(m, tiles / force.inner));
    force.columns =
        1 + (uint32_t)random_below(random, MIN_OF(groups, tiles / force.inner / force.rows));
    return force;
}
