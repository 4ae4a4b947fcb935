#include "plan/cast.h"

enum { SOURCE_GROUP = 16, TARGET_GROUP = 32 };

static bool same_outer(const Layout *a, const Layout *b) {
    return a->inner_is_row == b->inner_is_row && a->matrices == b->matrices &&
           a->outer == b->outer && a->outer_block == b->outer_block && a->drain == b->drain;
}

/* The very same order of values. */
static bool is_linear(const Layout *from, const Layout *to) {
    return same_outer(from, to) && from->inner == to->inner && from->group == to->group &&
           from->inner_block == to->inner_block;
}

/* Panels that follow each other along the inner axis before the next outer block begins. */
static uint32_t panel_run(const Layout *layout) {
    uint32_t values = layout->outer == layout->outer_block ? layout->inner : layout->inner_block;
    return values / layout->group;
}

static bool is_panels(const Layout *from, const Layout *to) {
    if (!same_outer(from, to) || from->drain || from->group != SOURCE_GROUP ||
        to->group != TARGET_GROUP)
        return false;
    uint32_t run = panel_run(from);
    bool whole = run * SOURCE_GROUP == from->inner;
    /* Inside the inner axis only whole pairs keep their place. */
    return panel_run(to) == div_up(run, 2) && (whole || run % 2 == 0) &&
           to->inner == align_up(from->inner, TARGET_GROUP);
}

static bool is_rows(const Layout *from, const Layout *to) {
    return !from->inner_is_row && !to->inner_is_row && from->group == from->inner &&
           from->outer_block == from->outer && to->flattened && to->group == TARGET_GROUP &&
           to->inner_block == TARGET_GROUP && to->outer == from->outer &&
           from->inner % SOURCE_GROUP == 0 && to->inner == align_up(from->inner, TARGET_GROUP);
}

static KernelCast panels_cast(const Layout *from) {
    uint32_t run = panel_run(from);
    uint64_t panels = layout_count(from) / ((uint64_t)SOURCE_GROUP * from->outer_block);
    KernelCast cast = {.order = CAST_PANELS,
                       .rows = from->outer_block,
                       .panels = run,
                       .groups = (uint32_t)(panels / run)};
    /* Rows of one panel side by side are contiguous: nothing is regrouped. */
    if (cast.rows == 1 && run % 2 == 0)
        cast = (KernelCast){.order = CAST_LINEAR, .count = (uint32_t)layout_count(from)};
    return cast;
}

bool cast_spec(const Layout *from, const Layout *to, bool fast, KernelSpec *spec) {
    if (layout_count(from) > UINT32_MAX || layout_count(to) > UINT32_MAX)
        return false;
    *spec = (KernelSpec){.family = KERNEL_CAST};
    if (is_linear(from, to))
        spec->cast = (KernelCast){.order = CAST_LINEAR, .count = (uint32_t)layout_count(from)};
    else if (is_panels(from, to))
        spec->cast = panels_cast(from);
    else if (is_rows(from, to))
        spec->cast = (KernelCast){.order = CAST_ROWS,
                                  .rows = from->outer,
                                  .panels = from->inner / SOURCE_GROUP,
                                  .groups = 1,
                                  .pitch = from->inner};
    else
        return false;
    spec->cast.fast = fast;
    return kernel_check(spec, NULL) == STATUS_OK;
}

bool pack_spec(const Layout *from, const Layout *to, KernelSpec *spec) {
    bool unpack = from->inner_is_row;
    if (unpack) {
        const Layout *packed = from;
        from = to;
        to = packed;
    }
    PrecisionKind precision = from->value_bytes == 1 ? PRECISION_F8F143 : PRECISION_F16;
    bool rows = !from->inner_is_row && from->group == from->inner &&
                from->outer_block == from->outer && !from->drain;
    bool columns = to->inner_is_row && !to->drain &&
                   to->group == precision_group((Precision){.kind = precision});
    if (!rows || !columns || from->value_bytes != to->value_bytes || from->inner != to->outer ||
        from->outer != to->matrices * to->inner)
        return false;
    KernelPack pack = {.order = PACK_RIGHT,
                       .precision = precision,
                       .unpack = unpack,
                       .rows = to->inner_block,
                       .columns = to->outer,
                       .pitch = to->outer,
                       .groups = (uint32_t)(from->outer / to->inner_block)};
    if (to->outer_block == to->outer && to->inner_block == to->group) {
        pack.order = PACK_TRANSPOSED_LEFT;
        pack.rows = to->inner;
        pack.groups = (uint32_t)to->matrices;
    } else if (to->outer_block != COEFFICIENT_COLUMNS) {
        return false;
    }
    *spec = (KernelSpec){.family = KERNEL_PACK, .pack = pack};
    return kernel_check(spec, NULL) == STATUS_OK;
}
