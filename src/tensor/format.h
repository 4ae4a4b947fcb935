/* Format: a value's storage over the whole chip: precision, element order, memory class, and which
 * tile owns which rectangle. Everything is closed form; no per-tile list exists. */
#pragma once

#include "base/diag.h"
#include "tensor/order.h"

/* How one axis is dealt to `partitions` shards. With E = extent / groups and P = E rounded up to
 * `padding`, the blocks that cover P (the last one is short if `block` does not divide P) are dealt
 * to partitions / split / groups parts, the first (blocks mod parts) of which get one more, and the
 * blocks of each part in the same way to `split` shards. Each shard's allocation is rounded up to
 * `shard_padding`. Values past the logical end are zero.
 *
 * Two levels keep shards inside those of a coarser tiling: what the owners of a partial sum share
 * out among each other, or the tiles that hold a copy of an operand between them. */
typedef struct AxisTiling {
    uint32_t axis; /* index into the shape */
    uint32_t partitions;
    uint32_t groups;        /* ≥ 1; divides the extent and partitions / split */
    uint32_t block;         /* ≥ 1 */
    uint32_t padding;       /* multiple of block, or a divisor of it */
    uint32_t shard_padding; /* ≥ 1 */
    uint32_t split;         /* ≥ 1; divides the partitions */
    /* Coordinate of a tile = ((tile / stride) mod (partitions / split)) * split
     *                        + (tile / split_stride) mod split */
    uint32_t stride, split_stride;
} AxisTiling;

/* Half-open ranges of one axis in logical coordinates; the allocation ends at physical_end. */
typedef struct AxisBounds {
    uint32_t start, logical_end, physical_end;
} AxisBounds;

typedef struct Format {
    Precision precision;
    Order order;
    MemoryClass memory_class;
    uint32_t first_tile, tile_count; /* logical tiles that hold a shard */
    uint32_t replicas;               /* copies of each shard: tile_count / product of partitions */
    uint32_t axis_count;
    AxisTiling axes[SHAPE_MAX_RANK]; /* axes that are not listed are whole and unpadded */
} Format;

/* A tiling with groups 1, padding = block, shard_padding 1, split 1. */
AxisTiling axis_tiling(uint32_t axis, uint32_t partitions, uint32_t block, uint32_t stride);
/* The same tiling with each part dealt once more to `split` shards. */
AxisTiling axis_split(AxisTiling tiling, uint32_t split, uint32_t split_stride);

/* Bounds of coordinate q < partitions. */
AxisBounds axis_bounds(const AxisTiling *tiling, uint32_t extent, uint32_t q);
/* Coordinate that owns logical index i < extent. */
uint32_t axis_owner(const AxisTiling *tiling, uint32_t extent, uint32_t i);
/* Largest physical width of any shard, and the sum of all widths (padding included). */
uint32_t axis_widest(const AxisTiling *tiling, uint32_t extent);
uint64_t axis_total(const AxisTiling *tiling, uint32_t extent);

/* Checks all rules for values of `shape` (codes ERR_FORMAT_*): partitions, groups and blocks divide
 * where they must, the strides give every shard to exactly `replicas` tiles, the order suits every
 * shard. All other functions want a checked format. */
Status format_check(const Format *format, const Shape *shape, Diag *diag);
bool format_equal(const Format *a, const Format *b);

/* Number of different shards; shards are numbered row-major over the coordinates in the order of
 * axes[]. */
uint32_t format_shards(const Format *format);
/* Shard that tile first_tile <= tile < first_tile + tile_count holds, and its copy number in
 * [0, replicas): copies of a shard are numbered by ascending tile. */
uint32_t format_shard_of_tile(const Format *format, uint32_t tile);
uint32_t format_copy_of_tile(const Format *format, uint32_t tile);
/* Tile of a copy of a shard. */
uint32_t format_tile_of_shard(const Format *format, uint32_t shard, uint32_t copy);

/* One shard: bounds on every axis of the shape, and its layout. */
typedef struct Shard {
    uint32_t rank;
    AxisBounds bounds[SHAPE_MAX_RANK];
    Layout layout;
} Shard;

void format_shard(const Format *format, const Shape *shape, uint32_t shard, Shard *result);
uint64_t shard_bytes(const Shard *shard);

/* Bytes of one shard, of the largest one, and of all copies of all shards. */
uint64_t format_shard_bytes(const Format *format, const Shape *shape, uint32_t shard);
uint64_t format_widest_bytes(const Format *format, const Shape *shape);
uint64_t format_total_bytes(const Format *format, const Shape *shape);

/* Text form, one line, e.g.
 *   f8f143(s=-4) left standard tiles=0+1472 replicas=46 axis0(parts=32,stride=46) axis1(block=32)
 * Members with their default (parts 1, groups 1, block 1, padding = block, shard 1, split 1, stride
 * 1, split_stride 1) are left out. format_print returns a string for mem_free, NULL without memory.
 */
char *format_print(const Format *format);
/* Parses it (ERR_FORMAT_TEXT with the column); the result still wants format_check. */
Status format_parse(const char *text, Format *format, Diag *diag);
