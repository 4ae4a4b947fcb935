#include "tensor/format.h"

#include "base/mem.h"

#include <assert.h>

AxisTiling axis_tiling(uint32_t axis, uint32_t partitions, uint32_t block, uint32_t stride) {
    return (AxisTiling){.axis = axis,
                        .partitions = partitions,
                        .groups = 1,
                        .block = block,
                        .padding = block,
                        .shard_padding = 1,
                        .stride = stride};
}

/* How the blocks of one padding group are dealt. */
typedef struct Deal {
    uint32_t extent; /* logical, of one group */
    uint32_t shards; /* of one group */
    uint32_t few;    /* blocks of a short shard; a long one has one more */
    uint32_t longer; /* long shards, which come first */
} Deal;

static Deal axis_deal(const AxisTiling *tiling, uint32_t extent) {
    uint32_t group = extent / tiling->groups;
    uint32_t blocks = (uint32_t)(align_up(group, tiling->padding) / tiling->block);
    uint32_t shards = tiling->partitions / tiling->groups;
    return (Deal){group, shards, blocks / shards, blocks % shards};
}

static uint32_t axis_width(const AxisTiling *tiling, uint32_t blocks) {
    return (uint32_t)align_up((uint64_t)blocks * tiling->block, tiling->shard_padding);
}

AxisBounds axis_bounds(const AxisTiling *tiling, uint32_t extent, uint32_t q) {
    Deal deal = axis_deal(tiling, extent);
    uint32_t base = q / deal.shards * deal.extent;
    uint32_t i = q % deal.shards;
    uint32_t first = (i * deal.few + MIN_OF(i, deal.longer)) * tiling->block;
    uint32_t blocks = deal.few + (i < deal.longer);
    uint32_t end = MIN_OF(first + blocks * tiling->block, deal.extent);
    return (AxisBounds){base + first, base + MAX_OF(first, end),
                        base + first + axis_width(tiling, blocks)};
}

uint32_t axis_owner(const AxisTiling *tiling, uint32_t extent, uint32_t i) {
    Deal deal = axis_deal(tiling, extent);
    uint32_t block = i % deal.extent / tiling->block;
    uint32_t in_long = deal.longer * (deal.few + 1);
    uint32_t q =
        block < in_long ? block / (deal.few + 1) : deal.longer + (block - in_long) / deal.few;
    return i / deal.extent * deal.shards + q;
}

uint32_t axis_widest(const AxisTiling *tiling, uint32_t extent) {
    Deal deal = axis_deal(tiling, extent);
    return axis_width(tiling, deal.few + (deal.longer > 0));
}

uint64_t axis_total(const AxisTiling *tiling, uint32_t extent) {
    Deal deal = axis_deal(tiling, extent);
    return tiling->groups * ((uint64_t)deal.longer * axis_width(tiling, deal.few + 1) +
                             (uint64_t)(deal.shards - deal.longer) * axis_width(tiling, deal.few));
}

/* Axes by ascending stride; whole axes take no part in the digits of a tile number. */
typedef struct Digits {
    uint32_t count;
    uint32_t axis[SHAPE_MAX_RANK];
} Digits;

static Digits format_digits(const Format *format) {
    Digits digits = {0};
    for (uint32_t i = 0; i < format->axis_count; i++) {
        if (format->axes[i].partitions == 1)
            continue;
        uint32_t at = digits.count++;
        for (; at > 0 && format->axes[digits.axis[at - 1]].stride > format->axes[i].stride; at--)
            digits.axis[at] = digits.axis[at - 1];
        digits.axis[at] = i;
    }
    return digits;
}

/* Tile numbers are mixed radix: axis coordinates at their strides, copy digits in the gaps. */
static Status check_strides(const Format *format, Diag *diag) {
    Digits digits = format_digits(format);
    uint64_t below = 1, shards = 1;
    for (uint32_t i = 0; i < digits.count; i++) {
        const AxisTiling *tiling = &format->axes[digits.axis[i]];
        if (tiling->stride % below != 0)
            return diag_error(diag, ERR_FORMAT_TILES, DIAG_NOWHERE,
                              "axis %u has stride %u, which is no multiple of %llu", tiling->axis,
                              tiling->stride, (unsigned long long)below);
        below = (uint64_t)tiling->stride * tiling->partitions;
        shards *= tiling->partitions;
        if (below > format->tile_count)
            break;
    }
    if (format->tile_count % below != 0 || shards * format->replicas != format->tile_count)
        return diag_error(diag, ERR_FORMAT_TILES, DIAG_NOWHERE,
                          "%u tiles are not %u copies of %llu shards with these strides",
                          format->tile_count, format->replicas, (unsigned long long)shards);
    return STATUS_OK;
}

static Status check_axis(const Format *format, const Shape *shape, uint32_t i, Diag *diag) {
    const AxisTiling *tiling = &format->axes[i];
    bool good = tiling->axis < shape->rank && tiling->partitions > 0 && tiling->groups > 0 &&
                tiling->partitions % tiling->groups == 0 && tiling->block > 0 &&
                tiling->padding > 0 && tiling->padding % tiling->block == 0 &&
                tiling->shard_padding > 0 && tiling->stride > 0 &&
                shape->dims[tiling->axis] % tiling->groups == 0;
    for (uint32_t j = 0; good && j < i; j++)
        good = format->axes[j].axis != tiling->axis;
    if (!good)
        return diag_error(diag, ERR_FORMAT_AXIS, DIAG_NOWHERE,
                          "the tiling of axis %u does not suit the shape: %u parts in %u groups, "
                          "block %u, padding %u, shard padding %u, stride %u",
                          tiling->axis, tiling->partitions, tiling->groups, tiling->block,
                          tiling->padding, tiling->shard_padding, tiling->stride);
    uint64_t extent = shape->dims[tiling->axis];
    if (extent + ((uint64_t)tiling->padding + tiling->shard_padding) * tiling->partitions >
        UINT32_MAX)
        return diag_error(diag, ERR_FORMAT_AXIS, DIAG_NOWHERE,
                          "axis %u is too long when padded: it passes 2^32 - 1", tiling->axis);
    return STATUS_OK;
}

/* A shard's extent on an axis takes at most two values: the order must suit every combination. */
static Status check_order(const Format *format, const Shape *shape, Diag *diag) {
    for (uint32_t choice = 0; choice < 1U << format->axis_count; choice++) {
        uint32_t dims[SHAPE_MAX_RANK] = {0};
        for (uint32_t i = 0; i < shape->rank; i++)
            dims[i] = shape->dims[i];
        bool empty = false;
        for (uint32_t i = 0; i < format->axis_count; i++) {
            const AxisTiling *tiling = &format->axes[i];
            Deal deal = axis_deal(tiling, shape->dims[tiling->axis]);
            bool longer = choice >> i & 1 && deal.longer > 0;
            dims[tiling->axis] = axis_width(tiling, deal.few + longer);
            empty |= dims[tiling->axis] == 0;
        }
        Layout layout;
        if (!empty && !layout_make(&layout, format->order, format->precision, shape->rank, dims)) {
            char text[SHAPE_TEXT_SIZE];
            Shape shard = {.rank = shape->rank};
            for (uint32_t i = 0; i < shape->rank; i++)
                shard.dims[i] = dims[i];
            return diag_error(diag, ERR_FORMAT_ORDER, DIAG_NOWHERE,
                              "a shard of %s cannot be stored in this element order",
                              shape_print(&shard, text));
        }
    }
    return STATUS_OK;
}

/* All byte counts of the format fit 63 bits. */
static Status check_total(const Format *format, const Shape *shape, Diag *diag) {
    uint64_t widths[SHAPE_MAX_RANK], bytes = precision_bytes(format->precision);
    bool fits = checked_mul(bytes, format->replicas, &bytes);
    for (uint32_t i = 0; i < shape->rank; i++)
        widths[i] = shape->dims[i];
    for (uint32_t i = 0; i < format->axis_count; i++)
        widths[format->axes[i].axis] =
            axis_total(&format->axes[i], shape->dims[format->axes[i].axis]);
    for (uint32_t i = 0; i < shape->rank && fits; i++)
        fits = checked_mul(bytes, widths[i], &bytes) && bytes <= INT64_MAX;
    return fits ? STATUS_OK
                : diag_error(diag, ERR_FORMAT_AXIS, DIAG_NOWHERE,
                             "all copies with their padding take more than 2^63 bytes");
}

Status format_check(const Format *format, const Shape *shape, Diag *diag) {
    if (format->axis_count > SHAPE_MAX_RANK || format->tile_count == 0 || format->replicas == 0 ||
        format->tile_count > UINT32_MAX - format->first_tile)
        return diag_error(diag, ERR_FORMAT_TILES, DIAG_NOWHERE,
                          "a format needs tiles and copies, and at most %d axes", SHAPE_MAX_RANK);
    uint64_t count;
    if (shape->rank > SHAPE_MAX_RANK || !shape_count(shape, &count) || count == 0)
        return diag_error(diag, ERR_FORMAT_AXIS, DIAG_NOWHERE,
                          "a format needs a shape with at least one value and less than 2^63");
    for (uint32_t i = 0; i < format->axis_count; i++) {
        Status status = check_axis(format, shape, i, diag);
        if (status)
            return status;
    }
    Status status = check_strides(format, diag);
    if (!status)
        status = check_total(format, shape, diag);
    return status ? status : check_order(format, shape, diag);
}

bool format_equal(const Format *a, const Format *b) {
    bool equal = precision_equal(a->precision, b->precision) && order_equal(a->order, b->order) &&
                 a->memory_class == b->memory_class && a->first_tile == b->first_tile &&
                 a->tile_count == b->tile_count && a->replicas == b->replicas &&
                 a->axis_count == b->axis_count;
    for (uint32_t i = 0; equal && i < a->axis_count; i++) {
        const AxisTiling *x = &a->axes[i], *y = &b->axes[i];
        equal = x->axis == y->axis && x->partitions == y->partitions && x->groups == y->groups &&
                x->block == y->block && x->padding == y->padding &&
                x->shard_padding == y->shard_padding && x->stride == y->stride;
    }
    return equal;
}

uint32_t format_shards(const Format *format) {
    return format->tile_count / format->replicas;
}

uint32_t format_shard_of_tile(const Format *format, uint32_t tile) {
    assert(tile - format->first_tile < format->tile_count);
    uint32_t local = tile - format->first_tile, shard = 0;
    for (uint32_t i = 0; i < format->axis_count; i++) {
        const AxisTiling *tiling = &format->axes[i];
        shard = shard * tiling->partitions + local / tiling->stride % tiling->partitions;
    }
    return shard;
}

uint32_t format_copy_of_tile(const Format *format, uint32_t tile) {
    Digits digits = format_digits(format);
    uint32_t local = tile - format->first_tile, copy = 0, scale = 1, below = 1;
    for (uint32_t i = 0; i < digits.count; i++) {
        const AxisTiling *tiling = &format->axes[digits.axis[i]];
        uint32_t gap = tiling->stride / below;
        copy += local / below % gap * scale;
        scale *= gap;
        below = tiling->stride * tiling->partitions;
    }
    return copy + local / below * scale;
}

uint32_t format_tile_of_shard(const Format *format, uint32_t shard, uint32_t copy) {
    uint32_t tile = 0;
    for (uint32_t i = format->axis_count; i-- > 0;) {
        const AxisTiling *tiling = &format->axes[i];
        if (tiling->partitions > 1)
            tile += shard % tiling->partitions * tiling->stride;
        shard /= tiling->partitions;
    }
    Digits digits = format_digits(format);
    uint32_t below = 1;
    for (uint32_t i = 0; i < digits.count; i++) {
        const AxisTiling *tiling = &format->axes[digits.axis[i]];
        uint32_t gap = tiling->stride / below;
        tile += copy % gap * below;
        copy /= gap;
        below = tiling->stride * tiling->partitions;
    }
    return format->first_tile + tile + copy * below;
}

void format_shard(const Format *format, const Shape *shape, uint32_t shard, Shard *result) {
    assert(shard < format_shards(format));
    *result = (Shard){.rank = shape->rank};
    for (uint32_t i = 0; i < shape->rank; i++)
        result->bounds[i] = (AxisBounds){0, shape->dims[i], shape->dims[i]};
    for (uint32_t i = format->axis_count; i-- > 0;) {
        const AxisTiling *tiling = &format->axes[i];
        uint32_t extent = shape->dims[tiling->axis];
        result->bounds[tiling->axis] = axis_bounds(tiling, extent, shard % tiling->partitions);
        shard /= tiling->partitions;
    }
    uint32_t dims[SHAPE_MAX_RANK] = {0};
    for (uint32_t i = 0; i < shape->rank; i++) {
        dims[i] = result->bounds[i].physical_end - result->bounds[i].start;
        if (dims[i] == 0)
            return; /* an empty shard has an empty layout */
    }
    bool suits = layout_make(&result->layout, format->order, format->precision, shape->rank, dims);
    assert(suits);
    (void)suits;
}

uint64_t shard_bytes(const Shard *shard) {
    return layout_count(&shard->layout) * shard->layout.value_bytes;
}

uint64_t format_shard_bytes(const Format *format, const Shape *shape, uint32_t shard) {
    Shard geometry;
    format_shard(format, shape, shard, &geometry);
    return shard_bytes(&geometry);
}

uint64_t format_widest_bytes(const Format *format, const Shape *shape) {
    uint64_t widths[SHAPE_MAX_RANK];
    uint64_t bytes = precision_bytes(format->precision);
    for (uint32_t i = 0; i < shape->rank; i++)
        widths[i] = shape->dims[i];
    for (uint32_t i = 0; i < format->axis_count; i++)
        widths[format->axes[i].axis] =
            axis_widest(&format->axes[i], shape->dims[format->axes[i].axis]);
    for (uint32_t i = 0; i < shape->rank; i++)
        bytes *= widths[i];
    return bytes;
}

uint64_t format_total_bytes(const Format *format, const Shape *shape) {
    uint64_t widths[SHAPE_MAX_RANK];
    uint64_t bytes = (uint64_t)precision_bytes(format->precision) * format->replicas;
    for (uint32_t i = 0; i < shape->rank; i++)
        widths[i] = shape->dims[i];
    for (uint32_t i = 0; i < format->axis_count; i++)
        widths[format->axes[i].axis] =
            axis_total(&format->axes[i], shape->dims[format->axes[i].axis]);
    for (uint32_t i = 0; i < shape->rank; i++)
        bytes *= widths[i];
    return bytes;
}
