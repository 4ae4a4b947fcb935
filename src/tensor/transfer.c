#include "tensor/span.h"

#include "base/mem.h"

/* The tiling of an axis, NULL if it is whole. */
static const AxisTiling *tiling_of(const Format *format, uint32_t axis) {
    for (uint32_t i = 0; i < format->axis_count; i++)
        if (format->axes[i].axis == axis)
            return &format->axes[i];
    return NULL;
}

static uint32_t shard_number(const Format *format, const uint32_t coordinate[]) {
    uint32_t shard = 0;
    for (uint32_t i = 0; i < format->axis_count; i++)
        shard = shard * format->axes[i].partitions + coordinate[format->axes[i].axis];
    return shard;
}

/* What of an axis moves, in coordinates of the source; the destination's are larger by `shift`. */
typedef struct AxisMove {
    uint32_t start, end;
    int64_t shift;
} AxisMove;

/* Of the destination shard's part of an axis; empty if nothing of it moves. */
static AxisMove axis_move(const RowTransfer *transfer, const Shard *to, uint32_t axis) {
    uint32_t from = axis == 0 ? transfer->source_row : 0;
    uint32_t target = axis == 0 ? transfer->destination_row : 0;
    uint32_t count = axis == 0 ? transfer->rows : transfer->source_shape->dims[axis];
    uint32_t start = MAX_OF(to->bounds[axis].start, target);
    uint32_t end = MIN_OF(to->bounds[axis].logical_end, target + count);
    int64_t shift = (int64_t)target - from;
    if (start >= end)
        return (AxisMove){0};
    return (AxisMove){(uint32_t)(start - shift), (uint32_t)(end - shift), shift};
}

/* The part of axis `axis` that the source shard at `q` and the destination share; false if none. */
static bool overlap_axis(const RowTransfer *transfer, const Shard *to, uint32_t axis, uint32_t q,
                         Overlap *overlap) {
    uint32_t extent = transfer->source_shape->dims[axis];
    const AxisTiling *tiling = tiling_of(transfer->source, axis);
    AxisBounds have = {0, extent, extent};
    if (tiling)
        have = axis_bounds(tiling, extent, q);
    AxisMove move = axis_move(transfer, to, axis);
    uint32_t start = MAX_OF(have.start, move.start);
    uint32_t end = MIN_OF(have.logical_end, move.end);
    int64_t offset = move.shift - to->bounds[axis].start;
    overlap->from.start[axis] = start - have.start;
    overlap->from.end[axis] = end - have.start;
    overlap->to.start[axis] = (uint32_t)(start + offset);
    overlap->to.end[axis] = (uint32_t)(end + offset);
    return start < end;
}

void transfer_rows(const RowTransfer *transfer, uint32_t destination_shard,
                   void (*body)(void *context, const Overlap *overlap), void *context) {
    const Shape *shape = transfer->source_shape;
    Shard to;
    format_shard(transfer->destination, transfer->destination_shape, destination_shard, &to);
    uint32_t first[SHAPE_MAX_RANK] = {0}, last[SHAPE_MAX_RANK] = {0}, at[SHAPE_MAX_RANK] = {0};
    for (uint32_t i = 0; i < shape->rank; i++) {
        AxisMove move = axis_move(transfer, &to, i);
        if (move.start >= move.end)
            return;
        const AxisTiling *tiling = tiling_of(transfer->source, i);
        if (tiling) {
            first[i] = axis_owner(tiling, shape->dims[i], move.start);
            last[i] = axis_owner(tiling, shape->dims[i], move.end - 1);
        }
        at[i] = first[i];
    }
    for (;;) {
        Overlap overlap = {.source_shard = shard_number(transfer->source, at)};
        bool shared = true; /* with padded groups, a coordinate in between may own padding only */
        for (uint32_t i = 0; i < shape->rank; i++)
            shared &= overlap_axis(transfer, &to, i, at[i], &overlap);
        if (shared)
            body(context, &overlap);
        uint32_t i = shape->rank;
        for (; i > 0; i--) {
            if (++at[i - 1] <= last[i - 1])
                break;
            at[i - 1] = first[i - 1];
        }
        if (i == 0)
            return;
    }
}

void transfer_each(const Format *source, const Format *destination, const Shape *shape,
                   uint32_t destination_shard, void (*body)(void *context, const Overlap *overlap),
                   void *context) {
    RowTransfer transfer = {.source = source,
                            .destination = destination,
                            .source_shape = shape,
                            .destination_shape = shape,
                            .rows = shape->rank > 0 ? shape->dims[0] : 0};
    transfer_rows(&transfer, destination_shard, body, context);
}
