#include "tensor/order.h"

#include "base/mem.h"

#include <assert.h>

const uint8_t order_drain_position[16] = {0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15};
const uint8_t order_drain_column[16] = {0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15};

bool order_equal(Order a, Order b) {
    return a.kind == b.kind && a.half == b.half && a.inner_block == b.inner_block &&
           a.outer_block == b.outer_block;
}

static bool order_is_block(OrderKind kind) {
    return kind == ORDER_BLOCK || kind == ORDER_TRANSPOSED_BLOCK;
}

static bool order_may_be_half(OrderKind kind) {
    return kind == ORDER_LEFT || kind == ORDER_TRANSPOSED_LEFT || kind == ORDER_RIGHT ||
           kind == ORDER_TRANSPOSED_RIGHT;
}

static bool order_is_left(OrderKind kind) {
    return kind == ORDER_LEFT || kind == ORDER_TRANSPOSED_LEFT;
}

/* The table of order.h, with rows and columns already counted. */
static void layout_resolve(Layout *layout, Order order, uint32_t group, uint32_t rows,
                           uint32_t columns) {
    layout->inner_is_row = order.kind == ORDER_TRANSPOSED_LEFT || order.kind == ORDER_RIGHT ||
                           order.kind == ORDER_TRANSPOSED_OUTPUT || order.kind == ORDER_BLOCK;
    layout->inner = layout->inner_is_row ? rows : columns;
    layout->outer = layout->inner_is_row ? columns : rows;
    layout->group = layout->inner_block = group;
    layout->outer_block = layout->outer;
    switch (order.kind) {
    case ORDER_ROW_MAJOR: layout->group = layout->inner_block = columns; break;
    case ORDER_RIGHT:
    case ORDER_TRANSPOSED_RIGHT:
        layout->inner_block = layout->inner;
        layout->outer_block = COEFFICIENT_COLUMNS;
        break;
    case ORDER_OUTPUT:
    case ORDER_TRANSPOSED_OUTPUT:
        layout->group = layout->inner_block = 16;
        layout->drain = true;
        break;
    case ORDER_BLOCK:
    case ORDER_TRANSPOSED_BLOCK:
        layout->inner_block = order.inner_block;
        layout->outer_block = order.outer_block;
        break;
    case ORDER_LEFT:
    case ORDER_TRANSPOSED_LEFT:
        if (order.outer_block != 0) {
            layout->inner_block = layout->inner;
            layout->outer_block = MIN_OF(order.outer_block, layout->outer);
        }
        break;
    }
}

bool layout_make(Layout *layout, Order order, Precision precision, uint32_t rank,
                 const uint32_t dims[]) {
    assert(rank <= SHAPE_MAX_RANK);
    *layout = (Layout){.rank = rank, .value_bytes = precision_bytes(precision), .matrices = 1};
    uint64_t count = 1, leading = 1;
    for (uint32_t i = 0; i < rank; i++) {
        layout->dims[i] = dims[i];
        if (dims[i] == 0 || !checked_mul(count, dims[i], &count) || count > INT64_MAX / 4)
            return false;
        if (i + 2 < rank)
            leading *= dims[i];
    }
    if (order.half && (!order_may_be_half(order.kind) || precision.kind != PRECISION_F8F143))
        return false;
    bool left_blocks = order_is_left(order.kind) && order.outer_block != 0;
    if (order_is_block(order.kind) != (order.inner_block != 0) ||
        (order_is_block(order.kind) || left_blocks) != (order.outer_block != 0))
        return false;
    layout->flattened = order.kind == ORDER_ROW_MAJOR || order.kind == ORDER_OUTPUT ||
                        (order.kind == ORDER_LEFT && !left_blocks);
    uint64_t rows = rank >= 2 ? dims[rank - 2] : 1;
    if (layout->flattened)
        rows *= leading;
    else
        layout->matrices = leading;
    if (rows > UINT32_MAX)
        return false;
    uint32_t group = order.half ? 16 : precision_group(precision);
    layout_resolve(layout, order, group, (uint32_t)rows, rank >= 1 ? dims[rank - 1] : 1);
    return layout->inner_block % layout->group == 0 && layout->inner % layout->inner_block == 0 &&
           (left_blocks || layout->outer % layout->outer_block == 0);
}

uint64_t layout_count(const Layout *layout) {
    return layout->matrices * layout->inner * layout->outer;
}

uint32_t layout_lines(const Layout *layout, uint32_t n) {
    return MIN_OF(layout->outer_block, layout->outer - n);
}

/* k and n inside one matrix to the offset inside it. */
static uint64_t matrix_offset(const Layout *layout, uint32_t k, uint32_t n) {
    uint32_t ib = layout->inner_block, n0 = n - n % layout->outer_block;
    uint64_t block = (uint64_t)(k / ib) * layout->outer * ib + (uint64_t)n0 * ib;
    uint64_t panel = (uint64_t)(k % ib / layout->group) * layout_lines(layout, n0);
    uint32_t within = k % layout->group;
    if (layout->drain)
        within = order_drain_position[within];
    return block + (panel + n - n0) * layout->group + within;
}

uint64_t layout_offset(const Layout *layout, const uint32_t index[]) {
    uint32_t rank = layout->rank;
    uint64_t leading = 0;
    for (uint32_t i = 0; i + 2 < rank; i++)
        leading = leading * layout->dims[i] + index[i];
    uint32_t row = rank >= 2 ? index[rank - 2] : 0;
    uint32_t column = rank >= 1 ? index[rank - 1] : 0;
    if (layout->flattened) {
        row += (uint32_t)leading * (rank >= 2 ? layout->dims[rank - 2] : 1);
        leading = 0;
    }
    uint32_t k = layout->inner_is_row ? row : column;
    uint32_t n = layout->inner_is_row ? column : row;
    return leading * layout->inner * layout->outer + matrix_offset(layout, k, n);
}

void layout_index(const Layout *layout, uint64_t offset, uint32_t index[]) {
    uint64_t matrix = (uint64_t)layout->inner * layout->outer;
    uint64_t leading = offset / matrix;
    offset %= matrix;
    uint32_t within = (uint32_t)(offset % layout->group);
    if (layout->drain)
        within = order_drain_column[within];
    uint32_t ib = layout->inner_block;
    uint64_t inner_block = offset / ((uint64_t)layout->outer * ib);
    offset %= (uint64_t)layout->outer * ib;
    uint64_t outer_block = offset / ((uint64_t)layout->outer_block * ib);
    offset %= (uint64_t)layout->outer_block * ib;
    uint32_t n = (uint32_t)outer_block * layout->outer_block;
    uint64_t line = offset / layout->group, lines = layout_lines(layout, n);
    uint32_t k = (uint32_t)inner_block * ib + (uint32_t)(line / lines) * layout->group + within;
    n += (uint32_t)(line % lines);
    uint32_t row = layout->inner_is_row ? k : n;
    uint32_t column = layout->inner_is_row ? n : k;
    uint32_t rank = layout->rank;
    if (rank >= 1)
        index[rank - 1] = column;
    if (rank >= 2 && layout->flattened) {
        leading = row / layout->dims[rank - 2];
        row %= layout->dims[rank - 2];
    }
    if (rank >= 2)
        index[rank - 2] = row;
    for (uint32_t i = rank >= 2 ? rank - 2 : 0; i-- > 0;) {
        index[i] = (uint32_t)(leading % layout->dims[i]);
        leading /= layout->dims[i];
    }
}
