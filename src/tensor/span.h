/* Spans: a rectangle of a shard as ascending byte runs; transfers: the pieces that are contiguous
 * in two shards at once. */
#pragma once

#include "tensor/format.h"

/* A rectangle, half open, in coordinates of one shard (0 = its first value) on every axis. */
typedef struct Region {
    uint32_t start[SHAPE_MAX_RANK], end[SHAPE_MAX_RANK];
} Region;

typedef struct Span {
    uint64_t offset, bytes;
} Span;

/* Closed forms: number of maximal runs, and bytes in them. */
uint64_t span_count(const Layout *layout, const Region *region);
uint64_t region_bytes(const Layout *layout, const Region *region);

/* Calls body for each maximal run, by ascending offset. */
void span_each(const Layout *layout, const Region *region, void (*body)(void *context, Span span),
               void *context);

typedef struct Fragment {
    uint64_t source, destination, bytes; /* byte offsets in the two shards */
} Fragment;

/* Calls body for each maximal piece of a rectangle that is contiguous in both layouts, by ascending
 * destination. `from` is the rectangle in source coordinates, `to` the one of equal extents in
 * destination coordinates; value sizes must be equal. */
void fragment_each(const Layout *source, const Region *from, const Layout *destination,
                   const Region *to, void (*body)(void *context, Fragment fragment), void *context);

/* What one shard of `destination` gets from shards of `source`, two formats of the same value:
 * calls body for every source shard that holds logical values of it, with the rectangle in
 * coordinates of both. Padding is nobody's. */
typedef struct Overlap {
    uint32_t source_shard;
    Region from, to;
} Overlap;

/* The same between values of different shapes: rows (axis 0) of the source from source_row on
 * become rows of the destination from destination_row on, as many as `rows`. */
typedef struct RowTransfer {
    const Format *source, *destination;
    const Shape *source_shape, *destination_shape; /* alike but for their rows */
    uint32_t source_row, destination_row, rows;
} RowTransfer;

void transfer_rows(const RowTransfer *transfer, uint32_t destination_shard,
                   void (*body)(void *context, const Overlap *overlap), void *context);

void transfer_each(const Format *source, const Format *destination, const Shape *shape,
                   uint32_t destination_shard, void (*body)(void *context, const Overlap *overlap),
                   void *context);
