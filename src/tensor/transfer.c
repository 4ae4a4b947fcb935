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

/* The part of axis `axis` that the source shard at `q` and the destination share; false if none. */
static bool overlap_axis(const Format *source, const Shape *shape, const Shard *to, uint32_t axis,
                         uint32_t q, Overlap *overlap) {
    const AxisTiling *tiling = tiling_of(source, axis);
    AxisBounds have = {0, shape->dims[axis], shape->dims[axis]};
    if (tiling)
        have = axis_bounds(tiling, shape->dims[axis], q);
    AxisBounds want = to->bounds[axis];
    uint32_t start = MAX_OF(have.start, want.start);
    uint32_t end = MIN_OF(have.logical_end, want.logical_end);
    overlap->from.start[axis] = start - have.start;
    overlap->from.end[axis] = end - have.start;
    overlap->to.start[axis] = start - want.start;
    overlap->to.end[axis] = end - want.start;
    return start < end;
}

void transfer_each(const Format *source, const Format *destination, const Shape *shape,
                   uint32_t destination_shard, void (*body)(void *context, const Overlap *overlap),
                   void *context) {
    Shard to;
    format_shard(destination, shape, destination_shard, &to);
    uint32_t first[SHAPE_MAX_RANK] = {0}, last[SHAPE_MAX_RANK] = {0}, at[SHAPE_MAX_RANK] = {0};
    for (uint32_t i = 0; i < shape->rank; i++) {
        if (to.bounds[i].logical_end <= to.bounds[i].start)
            return;
        const AxisTiling *tiling = tiling_of(source, i);
        if (tiling) {
            first[i] = axis_owner(tiling, shape->dims[i], to.bounds[i].start);
            last[i] = axis_owner(tiling, shape->dims[i], to.bounds[i].logical_end - 1);
        }
        at[i] = first[i];
    }
    for (;;) {
        Overlap overlap = {.source_shard = shard_number(source, at)};
        bool shared = true; /* with padded groups, a coordinate in between may own padding only */
        for (uint32_t i = 0; i < shape->rank; i++)
            shared &= overlap_axis(source, shape, &to, i, at[i], &overlap);
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
