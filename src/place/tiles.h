/* Placement of a whole tile graph: one problem a tile, equal ones solved once. */
#pragma once

#include "lower/lower.h"
#include "place/place.h"

#define PLACE_MAX_RANGES 4

/* Ranges of one tile that its buffers may use. */
typedef struct PlaceSpace {
    PlaceRange ranges[PLACE_MAX_RANGES];
    uint32_t count;
    PlaceRange code; /* for rows alone; may be empty */
} PlaceSpace;

typedef struct PlaceMap {
    uint32_t *address; /* one a buffer of the tile graph; NULL if a tile could not be placed */
    uint32_t *stride;  /* the same: from member to member of a row */
    uint32_t distinct; /* problems solved */
    /* The first tile that could not be placed: */
    uint32_t failed_tile;
    PlaceResult failure; /* `alive` counts from the tile's first buffer */
} PlaceMap;

/* spaces[graph->tiles]. When some tile cannot be placed: ERR_PLACE_INFEASIBLE (proved) or
 * ERR_PLACE_NOT_FOUND, of the first such tile, with its story in diag (may be NULL) and in the map.
 * The map is to be freed in any case. Independent of the number of threads. */
Status place_tiles(const TileGraph *graph, const PlaceSpace *spaces, Pool *pool, PlaceMap *map,
                   Diag *diag);
void place_map_free(PlaceMap *map);

/* Text form of one tile's problem and, if placed, its addresses (place_print). */
Status place_print_tile(const TileGraph *graph, const PlaceSpace *space, const PlaceMap *map,
                        uint32_t tile, FILE *out, Diag *diag);
