#include "plan/point.h"

#include "base/mem.h"

enum { LANES = 16 };

PointRight point_right(const Shape *whole, const Shape *right) {
    if (shape_equal(whole, right))
        return POINT_PLAIN;
    if (right->dims[0] == 1 && right->dims[1] == whole->dims[1])
        return POINT_COLUMNS;
    if (right->dims[1] == 1 && right->dims[0] == whole->dims[0])
        return POINT_ROWS;
    return POINT_NONE;
}

/* Panels of sixteen lanes one after the other, as products leave them. */
static bool is_panels(const Layout *layout) {
    return layout->group == LANES && layout->inner_block == LANES && !layout->drain &&
           layout->outer_block == layout->outer && (layout->flattened || layout->matrices == 1);
}

/* A vector along the lanes or along the lines of the panels. */
static KernelBias bias_of(const Layout *source, PointRight right) {
    bool lanes_are_columns = !source->inner_is_row;
    if (right == POINT_NONE || right == POINT_PLAIN)
        return KERNEL_BIAS_NONE;
    return (right == POINT_COLUMNS) == lanes_are_columns ? KERNEL_BIAS_COLUMNS : KERNEL_BIAS_ROWS;
}

bool point_gelu(const Layout *source, const Layout *target, PrecisionKind precision,
                PointRight right, KernelSpec *spec) {
    KernelGelu gelu = {.bias = bias_of(source, right), .output = precision};
    uint64_t count = layout_count(source);
    bool turns = target->inner_is_row != source->inner_is_row;
    if (count % LANES != 0 || count > UINT32_MAX)
        return false;
    if (is_panels(source)) {
        gelu.rows = source->outer;
        gelu.panels = source->inner / LANES;
    } else if (gelu.bias == KERNEL_BIAS_NONE && precision == PRECISION_F16 && !turns) {
        gelu.rows = (uint32_t)(count / LANES);
        gelu.panels = 1;
    } else {
        return false;
    }
    gelu.half = precision == PRECISION_F8F143 && target->group == LANES;
    gelu.turn = turns ? KERNEL_TURN_RIGHT : KERNEL_TURN_NONE;
    *spec = (KernelSpec){.family = KERNEL_GELU, .gelu = gelu};
    return kernel_check(spec, NULL) == STATUS_OK;
}

bool point_add(const Layout *source, PointRight right, KernelSpec *spec) {
    KernelAdd add = {.form = KERNEL_ADD_PLAIN, .apart = KERNEL_ADD_ANYHOW};
    uint64_t count = layout_count(source);
    if (count % LANES != 0 || count > UINT32_MAX)
        return false;
    if (right == POINT_PLAIN) {
        add.rows = (uint32_t)(count / LANES);
        add.columns = LANES;
    } else if (is_panels(source)) {
        add.form =
            bias_of(source, right) == KERNEL_BIAS_COLUMNS ? KERNEL_ADD_COLUMNS : KERNEL_ADD_ROWS;
        add.rows = source->outer;
        add.columns = source->inner;
    } else {
        return false;
    }
    *spec = (KernelSpec){.family = KERNEL_ADD, .add = add};
    return kernel_check(spec, NULL) == STATUS_OK;
}

bool point_turn(uint64_t bytes, KernelSpec *spec) {
    enum { BLOCK_BYTES = 2 * LANES * LANES };
    *spec = (KernelSpec){.family = KERNEL_PACK,
                         .pack = {.order = PACK_TRANSPOSED_LEFT,
                                  .precision = PRECISION_F16,
                                  .unpack = true,
                                  .rows = LANES,
                                  .columns = LANES,
                                  .pitch = LANES,
                                  .groups = (uint32_t)(bytes / BLOCK_BYTES)}};
    return bytes % BLOCK_BYTES == 0 && bytes / BLOCK_BYTES <= UINT32_MAX &&
           kernel_check(spec, NULL) == STATUS_OK;
}
