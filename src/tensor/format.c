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
                        .split = 1,
                        .stride = stride,
                        .split_stride = 1};
}

AxisTiling axis_split(AxisTiling tiling, uint32_t split, uint32_t split_stride) {
    tiling.partitions *= split;
    tiling.split = split;
    tiling.split_stride = split_stride;
    return tiling;
}

/* How a run of blocks is dealt. */
typedef struct Deal {
    uint32_t few;    /* blocks of a short shard; a long one has one more */
    uint32_t longer; /* long shards, which come first */
} Deal;

static Deal deal_blocks(uint32_t blocks, uint32_t shards) {
    return (Deal){blocks / shards, blocks % shards};
}

static uint32_t deal_count(Deal deal, uint32_t i) {
    return deal.few + (i < deal.longer);
}

static uint32_t deal_first(Deal deal, uint32_t i) {
    return i * deal.few + MIN_OF(i, deal.longer);
}

static uint32_t deal_owner(Deal deal, uint32_t block) {
    uint32_t in_long = deal.longer * (deal.few + 1);
    return block < in_long ? block / (deal.few + 1) : deal.longer + (block - in_long) / deal.few;
}

/* One padding group of an axis. */
typedef struct Group {
    uint32_t extent, padded; /* logical, and with padding */
    uint32_t blocks;
    uint32_t parts; /* of the first level */
    Deal deal;
} Group;

static Group axis_group(const AxisTiling *tiling, uint32_t extent) {
    Group group = {.extent = extent / tiling->groups,
                   .parts = tiling->partitions / tiling->split / tiling->groups};
    group.padded = (uint32_t)align_up(group.extent, tiling->padding);
    group.blocks = (uint32_t)div_up(group.padded, tiling->block);
    group.deal = deal_blocks(group.blocks, group.parts);
    return group;
}

/* Allocation of `blocks` blocks from block `first` on. */
static uint32_t axis_width(const AxisTiling *tiling, const Group *group, uint32_t first,
                           uint32_t blocks) {
    uint64_t start = (uint64_t)first * tiling->block, end = start + blocks * tiling->block;
    end = MIN_OF(end, (uint64_t)group->padded);
    return blocks == 0 ? 0 : (uint32_t)align_up(end - start, tiling->shard_padding);
}

AxisBounds axis_bounds(const AxisTiling *tiling, uint32_t extent, uint32_t q) {
    Group group = axis_group(tiling, extent);
    uint32_t shards = group.parts * tiling->split, base = q / shards * group.extent;
    uint32_t part = q % shards / tiling->split, i = q % tiling->split;
    Deal inside = deal_blocks(deal_count(group.deal, part), tiling->split);
    uint32_t block = deal_first(group.deal, part) + deal_first(inside, i);
    uint32_t blocks = deal_count(inside, i), first = block * tiling->block;
    uint32_t end = MIN_OF(first + blocks * tiling->block, group.extent);
    return (AxisBounds){base + first, base + MAX_OF(first, end),
                        base + first + axis_width(tiling, &group, block, blocks)};
}

uint32_t axis_owner(const AxisTiling *tiling, uint32_t extent, uint32_t i) {
    Group group = axis_group(tiling, extent);
    uint32_t block = i % group.extent / tiling->block;
    uint32_t part = deal_owner(group.deal, block);
    Deal inside = deal_blocks(deal_count(group.deal, part), tiling->split);
    uint32_t q = part * tiling->split + deal_owner(inside, block - deal_first(group.deal, part));
    return i / group.extent * group.parts * tiling->split + q;
}

/* The first shard is as wide as any. */
uint32_t axis_widest(const AxisTiling *tiling, uint32_t extent) {
    AxisBounds first = axis_bounds(tiling, extent, 0);
    return first.physical_end - first.start;
}

/* Width of a shard of so many whole blocks. */
static uint64_t whole_width(const AxisTiling *tiling, uint32_t blocks) {
    return align_up((uint64_t)blocks * tiling->block, tiling->shard_padding);
}

/* All shards of a part with so many blocks, as if these were whole. */
static uint64_t part_total(const AxisTiling *tiling, uint32_t blocks) {
    Deal deal = deal_blocks(blocks, tiling->split);
    return (uint64_t)deal.longer * whole_width(tiling, deal.few + 1) +
           (uint64_t)(tiling->split - deal.longer) * whole_width(tiling, deal.few);
}

uint64_t axis_total(const AxisTiling *tiling, uint32_t extent) {
    Group group = axis_group(tiling, extent);
    uint64_t total =
        (uint64_t)group.deal.longer * part_total(tiling, group.deal.few + 1) +
        (uint64_t)(group.parts - group.deal.longer) * part_total(tiling, group.deal.few);
    /* Only the shard with the last block can be less wide than its blocks. */
    uint32_t part = deal_owner(group.deal, group.blocks - 1);
    Deal inside = deal_blocks(deal_count(group.deal, part), tiling->split);
    uint32_t last = group.blocks - 1 - deal_first(group.deal, part);
    uint32_t i = deal_owner(inside, last), blocks = deal_count(inside, i);
    total -=
        whole_width(tiling, blocks) - axis_width(tiling, &group, group.blocks - blocks, blocks);
    return tiling->groups * total;
}

/* A digit of tile numbers: `count` values, `stride` apart, of coordinate i of the format's axes. */
typedef struct Digit {
    uint32_t count, stride;
} Digit;

/* Digits by ascending stride; those with one value are left out. */
typedef struct Digits {
    uint32_t count;
    Digit items[2 * SHAPE_MAX_RANK];
} Digits;

static void add_digit(Digits *digits, uint32_t count, uint32_t stride) {
    if (count == 1)
        return;
    uint32_t at = digits->count++;
    for (; at > 0 && digits->items[at - 1].stride > stride; at--)
        digits->items[at] = digits->items[at - 1];
    digits->items[at] = (Digit){count, stride};
}

static Digits format_digits(const Format *format) {
    Digits digits = {0};
    for (uint32_t i = 0; i < format->axis_count; i++) {
        const AxisTiling *tiling = &format->axes[i];
        add_digit(&digits, tiling->partitions / tiling->split, tiling->stride);
        add_digit(&digits, tiling->split, tiling->split_stride);
    }
    return digits;
}

/* Tile numbers are mixed radix: axis coordinates at their strides, copy digits in the gaps. */
static Status check_strides(const Format *format, Diag *diag) {
    Digits digits = format_digits(format);
    uint64_t below = 1, shards = 1;
    for (uint32_t i = 0; i < digits.count; i++) {
        const Digit *digit = &digits.items[i];
        if (digit->stride % below != 0)
            return diag_error(diag, ERR_FORMAT_TILES, DIAG_NOWHERE,
                              "%u parts have stride %u, which is no multiple of %llu", digit->count,
                              digit->stride, (unsigned long long)below);
        below = (uint64_t)digit->stride * digit->count;
        shards *= digit->count;
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
                tiling->split > 0 && tiling->partitions % tiling->split == 0 &&
                tiling->partitions / tiling->split % tiling->groups == 0 && tiling->block > 0 &&
                tiling->padding > 0 &&
                (tiling->padding % tiling->block == 0 || tiling->block % tiling->padding == 0) &&
                tiling->shard_padding > 0 && tiling->stride > 0 && tiling->split_stride > 0 &&
                shape->dims[tiling->axis] % tiling->groups == 0;
    for (uint32_t j = 0; good && j < i; j++)
        good = format->axes[j].axis != tiling->axis;
    if (!good)
        return diag_error(diag, ERR_FORMAT_AXIS, DIAG_NOWHERE,
                          "the tiling of axis %u does not suit the shape: %u parts in %u groups, "
                          "split %u, block %u, padding %u, shard padding %u, strides %u and %u",
                          tiling->axis, tiling->partitions, tiling->groups, tiling->split,
                          tiling->block, tiling->padding, tiling->shard_padding, tiling->stride,
                          tiling->split_stride);
    uint64_t extent = shape->dims[tiling->axis];
    uint64_t grain = MAX_OF(tiling->padding, tiling->block);
    if (extent + (grain + tiling->shard_padding) * tiling->partitions > UINT32_MAX)
        return diag_error(diag, ERR_FORMAT_AXIS, DIAG_NOWHERE,
                          "axis %u is too long when padded: it passes 2^32 - 1", tiling->axis);
    return STATUS_OK;
}

/* The widths that shards have on an axis. */
typedef struct Widths {
    uint32_t count;
    uint32_t items[5];
} Widths;

static void add_width(Widths *widths, uint32_t width) {
    for (uint32_t i = 0; i < widths->count; i++)
        if (widths->items[i] == width)
            return;
    widths->items[widths->count++] = width;
}

static Widths axis_widths(const AxisTiling *tiling, uint32_t extent) {
    Group group = axis_group(tiling, extent);
    Widths widths = {0};
    AxisBounds last = axis_bounds(tiling, extent, axis_owner(tiling, extent, extent - 1));
    add_width(&widths, last.physical_end - last.start);
    for (uint32_t longer = 0; longer <= (group.deal.longer > 0); longer++) {
        Deal inside = deal_blocks(group.deal.few + longer, tiling->split);
        /* Blocks are whole but for the last one, which `last` has. */
        if (group.blocks > 1 || group.padded % tiling->block == 0) {
            add_width(&widths, (uint32_t)whole_width(tiling, inside.few));
            if (inside.longer > 0)
                add_width(&widths, (uint32_t)whole_width(tiling, inside.few + 1));
        }
    }
    return widths;
}

/* The order must suit every combination of widths. */
static Status check_order(const Format *format, const Shape *shape, Diag *diag) {
    Widths widths[SHAPE_MAX_RANK];
    uint32_t choices = 1;
    for (uint32_t i = 0; i < format->axis_count; i++) {
        widths[i] = axis_widths(&format->axes[i], shape->dims[format->axes[i].axis]);
        choices *= widths[i].count;
    }
    for (uint32_t choice = 0; choice < choices; choice++) {
        uint32_t dims[SHAPE_MAX_RANK] = {0};
        for (uint32_t i = 0; i < shape->rank; i++)
            dims[i] = shape->dims[i];
        bool empty = false;
        for (uint32_t i = 0, rest = choice; i < format->axis_count; i++) {
            uint32_t width = widths[i].items[rest % widths[i].count];
            rest /= widths[i].count;
            dims[format->axes[i].axis] = width;
            empty |= width == 0;
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
                x->shard_padding == y->shard_padding && x->split == y->split &&
                x->stride == y->stride && x->split_stride == y->split_stride;
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
        shard = shard * (tiling->partitions / tiling->split) +
                local / tiling->stride % (tiling->partitions / tiling->split);
        shard = shard * tiling->split + local / tiling->split_stride % tiling->split;
    }
    return shard;
}

uint32_t format_copy_of_tile(const Format *format, uint32_t tile) {
    Digits digits = format_digits(format);
    uint32_t local = tile - format->first_tile, copy = 0, scale = 1, below = 1;
    for (uint32_t i = 0; i < digits.count; i++) {
        uint32_t gap = digits.items[i].stride / below;
        copy += local / below % gap * scale;
        scale *= gap;
        below = digits.items[i].stride * digits.items[i].count;
    }
    return copy + local / below * scale;
}

uint32_t format_tile_of_shard(const Format *format, uint32_t shard, uint32_t copy) {
    uint32_t tile = 0;
    for (uint32_t i = format->axis_count; i-- > 0;) {
        const AxisTiling *tiling = &format->axes[i];
        uint32_t parts = tiling->partitions / tiling->split;
        tile += shard % tiling->split * tiling->split_stride;
        shard /= tiling->split;
        tile += shard % parts * tiling->stride;
        shard /= parts;
    }
    Digits digits = format_digits(format);
    uint32_t below = 1;
    for (uint32_t i = 0; i < digits.count; i++) {
        uint32_t gap = digits.items[i].stride / below;
        tile += copy % gap * below;
        copy /= gap;
        below = digits.items[i].stride * digits.items[i].count;
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
