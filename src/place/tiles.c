#include "place/tiles.h"

#include <string.h>

typedef struct Tiles {
    const TileGraph *graph;
    PlaceProblem *problems;
    PlaceResult *results;
    PlaceBuffer *buffers; /* one a buffer of the graph */
    PlaceConflict *conflicts;
    Arena arena;
} Tiles;

static Status no_memory(Diag *diag) {
    return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "placement of a tile graph");
}

/* "input:x[3]": role, name of the binding or value, shard; "rows:2" of the second exchange. Blanks
 * would end the word in the text form. */
static const char *buffer_name(Tiles *tiles, const LowerBuffer *buffer) {
    static const char *const roles[] = {[BUFFER_INPUT] = "input",
                                        [BUFFER_PARAMETER] = "parameter",
                                        [BUFFER_OUTPUT] = "output",
                                        [BUFFER_TEMPORARY] = "temporary",
                                        [BUFFER_ROWS] = "rows"};
    const TileGraph *graph = tiles->graph;
    const char *name =
        buffer->value < graph->values.count ? graph->values.items[buffer->value].name : NULL;
    for (size_t i = 0; i < graph->bindings.count; i++)
        if (graph->bindings.items[i].value == buffer->value)
            name = graph->bindings.items[i].name;
    const char *role = roles[buffer->role];
    char *text =
        buffer->role == BUFFER_ROWS ? arena_printf(&tiles->arena, "%s:%u", role, buffer->shard)
        : name ? arena_printf(&tiles->arena, "%s:%s[%u]", role, name, buffer->shard)
               : arena_printf(&tiles->arena, "%s:%u[%u]", role, buffer->value, buffer->shard);
    for (char *at = text; at && *at; at++)
        if (*at == ' ' || *at == '#')
            *at = '_';
    return text;
}

static bool fill_tile(Tiles *tiles, uint32_t tile, const PlaceSpace *space, PlaceProblem *problem) {
    const TileGraph *graph = tiles->graph;
    uint32_t first = graph->tile_buffer[tile], end = graph->tile_buffer[tile + 1];
    uint32_t pair = graph->tile_pair[tile], pair_end = graph->tile_pair[tile + 1];
    for (uint32_t i = first; i < end; i++) {
        const LowerBuffer *buffer = &graph->buffers.items[i];
        tiles->buffers[i] =
            (PlaceBuffer){.name = buffer_name(tiles, buffer),
                          .bytes = buffer->bytes,
                          .tail = buffer->tail,
                          .align = buffer->alignment,
                          .memory_class = buffer->memory_class,
                          .first = buffer->first_event,
                          .last = buffer->last_event,
                          .members = MAX_OF(buffer->members, 1u),
                          .code = buffer->role == BUFFER_ROWS,
                          .alias_of = buffer->is_piece ? buffer->whole - first : PLACE_ROOT,
                          .alias_offset = buffer->offset};
        if (!tiles->buffers[i].name)
            return false;
    }
    for (uint32_t i = pair; i < pair_end; i++)
        tiles->conflicts[i] =
            (PlaceConflict){graph->pairs.items[i].a - first, graph->pairs.items[i].b - first,
                            graph->pairs.items[i].soft};
    *problem = (PlaceProblem){.ranges = space->ranges,
                              .range_count = space->count,
                              .code = space->code,
                              .end_event = graph->end_event,
                              .buffers = tiles->buffers + first,
                              .buffer_count = end - first,
                              .conflicts = tiles->conflicts + pair,
                              .conflict_count = pair_end - pair};
    return true;
}

static Status tiles_create(Tiles *tiles, const TileGraph *graph, const PlaceSpace *spaces,
                           Diag *diag) {
    *tiles = (Tiles){.graph = graph};
    tiles->problems = mem_alloc((size_t)graph->tiles + 1, sizeof *tiles->problems);
    tiles->results = mem_alloc((size_t)graph->tiles + 1, sizeof *tiles->results);
    tiles->buffers = mem_alloc(graph->buffers.count + 1, sizeof *tiles->buffers);
    tiles->conflicts = mem_alloc(graph->pairs.count + 1, sizeof *tiles->conflicts);
    if (!tiles->problems || !tiles->results || !tiles->buffers || !tiles->conflicts)
        return no_memory(diag);
    for (uint32_t tile = 0; tile < graph->tiles; tile++)
        if (!fill_tile(tiles, tile, &spaces[tile], &tiles->problems[tile]))
            return no_memory(diag);
    return STATUS_OK;
}

static void tiles_free(Tiles *tiles) {
    for (uint32_t i = 0; tiles->results && i < tiles->graph->tiles; i++)
        place_result_free(&tiles->results[i]);
    mem_free(tiles->problems);
    mem_free(tiles->results);
    mem_free(tiles->buffers);
    mem_free(tiles->conflicts);
    arena_free(&tiles->arena);
}

static Status collect(Tiles *tiles, PlaceMap *map, Diag *diag) {
    const TileGraph *graph = tiles->graph;
    for (uint32_t tile = 0; tile < graph->tiles; tile++) {
        if (tiles->results[tile].verdict == PLACE_PLACED)
            continue;
        map->failed_tile = tile;
        map->failure = tiles->results[tile];
        tiles->results[tile] = (PlaceResult){.method = "none"};
        return place_report(&tiles->problems[tile], &map->failure, (int32_t)tile, diag);
    }
    map->address = mem_alloc(graph->buffers.count + 1, sizeof *map->address);
    map->stride = mem_alloc(graph->buffers.count + 1, sizeof *map->stride);
    if (!map->address || !map->stride)
        return no_memory(diag);
    for (uint32_t tile = 0; tile < graph->tiles; tile++) {
        uint32_t first = graph->tile_buffer[tile], end = graph->tile_buffer[tile + 1];
        if (end == first)
            continue;
        memcpy(map->address + first, tiles->results[tile].address,
               (end - first) * sizeof *map->address);
        memcpy(map->stride + first, tiles->results[tile].stride,
               (end - first) * sizeof *map->stride);
    }
    return STATUS_OK;
}

Status place_tiles(const TileGraph *graph, const PlaceSpace *spaces, Pool *pool, PlaceMap *map,
                   Diag *diag) {
    *map = (PlaceMap){.failure.method = "none"};
    Tiles tiles;
    Status status = tiles_create(&tiles, graph, spaces, diag);
    if (!status)
        status = place_solve_all(tiles.problems, graph->tiles, pool, tiles.results, &map->distinct,
                                 diag);
    if (!status)
        status = collect(&tiles, map, diag);
    tiles_free(&tiles);
    return status;
}

void place_map_free(PlaceMap *map) {
    mem_free(map->address);
    mem_free(map->stride);
    place_result_free(&map->failure);
    *map = (PlaceMap){.failure.method = "none"};
}

Status place_print_tile(const TileGraph *graph, const PlaceSpace *space, const PlaceMap *map,
                        uint32_t tile, FILE *out, Diag *diag) {
    uint32_t first = graph->tile_buffer[tile];
    Tiles tiles = {.graph = graph};
    PlaceProblem problem;
    PlaceResult result = {.verdict = PLACE_PLACED};
    tiles.buffers = mem_alloc(graph->buffers.count + 1, sizeof *tiles.buffers);
    tiles.conflicts = mem_alloc(graph->pairs.count + 1, sizeof *tiles.conflicts);
    bool memory = tiles.buffers && tiles.conflicts && fill_tile(&tiles, tile, space, &problem);
    if (memory) {
        result.address = map->address ? map->address + first : NULL;
        result.stride = map->stride ? map->stride + first : NULL;
        place_print(&problem, map->address ? &result : NULL, out);
    }
    tiles_free(&tiles);
    return memory ? STATUS_OK : no_memory(diag);
}
