/* One GEMM: what the graph says, and the formats that a choice gives its values. */
#include "plan/gemm.h"

#include "chip/chip.h"

#include <assert.h>

enum { HALF_PANEL = 16 }; /* values of F143 */

/* An eighth more on the fullest tile than with the most even cut. */
enum { UNEVEN = 8 };

static GemmOperand find_operand(const Graph *graph, uint32_t value, uint32_t inner_axis) {
    GemmOperand operand = {
        .value = value, .source = value, .cast = GRAPH_NONE, .inner_axis = inner_axis};
    uint32_t op = graph->values.items[value].op;
    if (graph->ops.items[op].kind == GRAPH_CAST) {
        operand.cast = op;
        operand.source = graph->ops.items[op].operands[0];
        op = graph->values.items[operand.source].op;
    }
    operand.parameter = graph->ops.items[op].kind == GRAPH_PARAMETER;
    return operand;
}

PlanGemm gemm_describe(const Graph *graph, uint32_t op) {
    const GraphOp *gemm = &graph->ops.items[op];
    GraphGemm extents = graph_gemm(graph, op);
    Precision left = graph->values.items[gemm->operands[0]].precision;
    Precision right = graph->values.items[gemm->operands[1]].precision;
    return (PlanGemm){
        .op = op,
        .result = gemm->result,
        .operands = {find_operand(graph, gemm->operands[0], gemm->transpose_left ? 0 : 1),
                     find_operand(graph, gemm->operands[1], gemm->transpose_right ? 1 : 0)},
        .rows = extents.rows,
        .inner = extents.inner,
        .columns = extents.columns,
        .precision = left.kind,
        .scale = left.scale_exponent + right.scale_exponent,
        .row_padding = 1,
        .row_grain = 1};
}

GemmExtents gemm_extents(const PlanGemm *gemm, bool swapped) {
    uint32_t group = precision_group((Precision){.kind = gemm->precision});
    uint32_t columns = swapped ? gemm->rows : gemm->columns;
    uint32_t rows = swapped ? gemm->columns : (uint32_t)align_up(gemm->rows, gemm->row_padding);
    rows = (uint32_t)align_up(rows, gemm->row_grain);
    return (GemmExtents){.rows = rows,
                         .groups = (uint32_t)div_up(columns, COEFFICIENT_COLUMNS),
                         .panels = (uint32_t)div_up(gemm->inner, group)};
}

/* Of the largest one. */
static uint32_t rows_of_part(const PlanGemm *gemm, uint32_t rows, uint32_t parts) {
    return (uint32_t)div_up(rows / gemm->row_grain, parts) * gemm->row_grain;
}

GemmExtents gemm_part(const PlanGemm *gemm, const GemmChoice *choice) {
    GemmExtents whole = gemm_extents(gemm, choice->swapped);
    return (GemmExtents){.rows = rows_of_part(gemm, whole.rows, choice->rows),
                         .groups = (uint32_t)div_up(whole.groups, choice->columns),
                         .panels = (uint32_t)div_up(whole.panels, choice->inner)};
}

uint32_t gemm_users(const GemmChoice *choice, int role) {
    return role == ROLE_LEFT ? choice->columns : choice->rows;
}

static int role_of(const GemmChoice *choice, int i) {
    return choice->swapped ? 1 - i : i;
}

bool gemm_moves(const PlanGemm *gemm, const GemmChoice *choice, int i) {
    return gemm->operands[i].device || gemm->operands[i].fixed ||
           choice->operands[i].copies < gemm_users(choice, role_of(choice, i));
}

GemmExtents gemm_owner_block(const PlanGemm *gemm, const GemmChoice *choice) {
    GemmExtents part = gemm_part(gemm, choice);
    return (GemmExtents){.rows = rows_of_part(gemm, part.rows, choice->owner_rows),
                         .groups = (uint32_t)div_up(part.groups, choice->owner_columns)};
}

bool gemm_contiguous_owners(const PlanGemm *gemm, const GemmChoice *choice) {
    return choice->owner_rows == 1 || gemm_owner_block(gemm, choice).groups == 1;
}

uint32_t gemm_block_rows(const GemmChoice *choice, uint32_t rows) {
    if (!choice->operands[gemm_operand(choice, ROLE_LEFT)].half || rows <= KERNEL_HALF_LEFT_ROWS)
        return rows;
    uint32_t share = (uint32_t)div_up(rows, div_up(rows, KERNEL_HALF_LEFT_ROWS));
    return (uint32_t)align_up(share, 2); /* blocks begin at 32 bytes, whatever the inner part */
}

KernelSpec gemm_spec(const PlanGemm *gemm, const GemmChoice *choice, GemmExtents part, bool odd) {
    bool half_left = choice->operands[gemm_operand(choice, ROLE_LEFT)].half,
         half_right = choice->operands[gemm_operand(choice, ROLE_RIGHT)].half;
    return (KernelSpec){.family = KERNEL_GEMM,
                        .gemm = {.precision = gemm->precision,
                                 .wide_weights = choice->weights == MEMORY_INTERLEAVED,
                                 .rows = part.rows,
                                 .panels = part.panels,
                                 .groups = part.groups,
                                 .half_left = half_left,
                                 .half_right = half_right,
                                 .odd = odd && (half_left || half_right)}};
}

/* ---- formats */

static uint32_t row_stride(const GemmChoice *choice) {
    return choice->rows_fast ? 1 : choice->columns;
}
static uint32_t column_stride(const GemmChoice *choice) {
    return choice->rows_fast ? choice->rows : 1;
}
static uint32_t inner_stride(const GemmChoice *choice) {
    return choice->rows * choice->columns;
}

/* Strides of digits with one value do not matter; they are 1. */
static AxisTiling tiling_of(uint32_t axis, uint32_t parts, uint32_t block, uint32_t stride) {
    return axis_tiling(axis, parts, block, parts > 1 ? stride : 1);
}

static void split(AxisTiling *tiling, uint32_t parts, uint32_t stride) {
    if (parts > 1)
        *tiling = axis_split(*tiling, parts, stride);
}

static AxisTiling rows_tiling(const PlanGemm *gemm, const GemmChoice *choice, uint32_t axis) {
    AxisTiling tiling = tiling_of(axis, choice->rows, gemm->row_grain, row_stride(choice));
    tiling.padding = MAX_OF(gemm->row_grain, choice->swapped ? 1 : gemm->row_padding);
    return tiling;
}

static AxisTiling columns_tiling(const GemmChoice *choice, uint32_t axis) {
    return tiling_of(axis, choice->columns, COEFFICIENT_COLUMNS, column_stride(choice));
}

/* Half panels, of an operand that is cast to them. */
static void set_half(const GemmChoice *choice, int i, uint32_t inner_axis, Format *format) {
    if (!choice->operands[i].half || format->precision.kind != PRECISION_F8F143)
        return;
    format->order.half = true;
    format->axes[inner_axis].padding = HALF_PANEL;
}

/* An operand in the order of its use, on all tiles that use it, in any precision. Parts of the
 * inner axis end where panels of the GEMM's precision do. */
static Format operand_format(const PlanGemm *gemm, const GemmChoice *choice, int i,
                             Precision precision, MemoryClass memory_class) {
    uint32_t inner = gemm->operands[i].inner_axis, outer = 1 - inner;
    int role = role_of(choice, i);
    OrderKind order = role == ROLE_LEFT ? ORDER_LEFT : ORDER_TRANSPOSED_RIGHT;
    if (inner == 0)
        order = role == ROLE_LEFT ? ORDER_TRANSPOSED_LEFT : ORDER_RIGHT;
    Format format = {.precision = precision,
                     .order = {.kind = order},
                     .memory_class = memory_class,
                     .tile_count = choice->rows * choice->columns * choice->inner,
                     .replicas = gemm_users(choice, role),
                     .axis_count = 2};
    format.axes[outer] =
        role == ROLE_LEFT ? rows_tiling(gemm, choice, outer) : columns_tiling(choice, outer);
    format.axes[inner] =
        tiling_of(inner, choice->inner, precision_group((Precision){.kind = gemm->precision}),
                  inner_stride(choice));
    format.axes[inner].padding = precision_group(precision);
    set_half(choice, i, inner, &format);
    uint32_t rows = gemm_part(gemm, choice).rows, block = gemm_block_rows(choice, rows);
    if (role == ROLE_LEFT && block < rows)
        format.order.outer_block = block;
    return format;
}

Format gemm_use_format(const Graph *graph, const PlanGemm *gemm, const GemmChoice *choice, int i) {
    MemoryClass memory_class = role_of(choice, i) == ROLE_RIGHT ? choice->weights : MEMORY_STANDARD;
    Precision precision = graph->values.items[gemm->operands[i].value].precision;
    return operand_format(gemm, choice, i, precision, memory_class);
}

static MemoryClass cast_source_class(const GemmChoice *choice, int i) {
    return choice->operands[i].fast ? MEMORY_INTERLEAVED : MEMORY_STANDARD;
}

Format gemm_staged_format(const Graph *graph, const PlanGemm *gemm, const GemmChoice *choice,
                          int i) {
    Precision precision = graph->values.items[gemm->operands[i].source].precision;
    return operand_format(gemm, choice, i, precision, cast_source_class(choice, i));
}

/* Largest shard of an operand whose copy `share` tiles hold between them, cut in so many parts
 * along the inner axis, in units of an outer line of one panel. */
static uint64_t spread_widest(uint32_t outer, uint32_t panels, uint32_t share,
                              uint32_t inner_parts) {
    return div_up(outer, share / inner_parts) * div_up(panels, inner_parts);
}

/* Cuts every shard of a format into `share` pieces, the smallest that panels and the outer grain
 * allow; among equals along the axis on which pieces are contiguous, the inner one of a left
 * operand and the outer one of a right one. The copies become fewer by that factor. */
static void spread(Format *format, uint32_t outer, uint32_t inner, const Shape *shape, int role,
                   uint32_t stride, uint32_t share) {
    AxisTiling *along = &format->axes[inner], *across = &format->axes[outer];
    uint32_t panels = (uint32_t)div_up(axis_widest(along, shape->dims[inner]), along->block);
    uint32_t lines = (uint32_t)div_up(axis_widest(across, shape->dims[outer]), across->block);
    uint32_t best = role == ROLE_LEFT ? share : 1;
    for (uint32_t d = 1; d <= share; d++) {
        uint32_t parts = role == ROLE_LEFT ? share / d : d;
        if (share % d == 0 &&
            spread_widest(lines, panels, share, parts) < spread_widest(lines, panels, share, best))
            best = parts;
    }
    split(along, best, stride);
    split(across, share / best, stride * best);
    format->replicas /= share;
}

static Format home_format(const Graph *graph, const PlanGemm *gemm, const GemmChoice *choice, int i,
                          Precision precision, MemoryClass class) {
    const GemmOperand *operand = &gemm->operands[i];
    const Shape *shape = &graph->values.items[operand->value].shape;
    Format format;
    if (operand->device || operand->fixed) {
        format = operand->home;
        format.precision = precision;
        format.memory_class = class;
        format.axes[operand->inner_axis].padding = precision_group(precision);
        set_half(choice, i, operand->inner_axis, &format);
        return format;
    }
    int role = role_of(choice, i);
    format = operand_format(gemm, choice, i, precision, class);
    uint32_t users = gemm_users(choice, role), copies = choice->operands[i].copies;
    uint32_t stride = role == ROLE_LEFT ? column_stride(choice) : row_stride(choice);
    if (copies < users)
        spread(&format, 1 - operand->inner_axis, operand->inner_axis, shape, role, stride,
               users / copies);
    return format;
}

Format gemm_home_format(const Graph *graph, const PlanGemm *gemm, const GemmChoice *choice, int i) {
    const GemmOperand *operand = &gemm->operands[i];
    const OperandChoice *how = &choice->operands[i];
    Precision precision = graph->values.items[operand->source].precision;
    if (operand->fixed)
        return operand->home;
    if (!gemm_moves(gemm, choice, i))
        return operand->cast == GRAPH_NONE ? gemm_use_format(graph, gemm, choice, i)
                                           : gemm_staged_format(graph, gemm, choice, i);
    bool fast = operand->cast != GRAPH_NONE && how->early && how->fast;
    return home_format(graph, gemm, choice, i, precision,
                       fast ? MEMORY_INTERLEAVED : MEMORY_STANDARD);
}

Format gemm_cast_home_format(const Graph *graph, const PlanGemm *gemm, const GemmChoice *choice,
                             int i) {
    Precision precision = graph->values.items[gemm->operands[i].value].precision;
    return home_format(graph, gemm, choice, i, precision, MEMORY_STANDARD);
}

static Format block_format(const PlanGemm *gemm, const GemmChoice *choice, uint32_t first_axis) {
    Format format = {.precision = {.kind = PRECISION_F16},
                     .order = {.kind = choice->swapped ? ORDER_TRANSPOSED_LEFT : ORDER_LEFT},
                     .memory_class = MEMORY_INTERLEAVED,
                     .replicas = 1,
                     .axis_count = first_axis + 2};
    uint32_t rows_axis = choice->swapped ? 1 : 0;
    format.axes[first_axis + rows_axis] = rows_tiling(gemm, choice, first_axis + rows_axis);
    format.axes[first_axis + 1 - rows_axis] = columns_tiling(choice, first_axis + 1 - rows_axis);
    return format;
}

Format gemm_partials_format(const PlanGemm *gemm, const GemmChoice *choice) {
    Format format = block_format(gemm, choice, 1);
    format.axes[0] = tiling_of(0, choice->inner, 1, inner_stride(choice));
    format.tile_count = choice->rows * choice->columns * choice->inner;
    return format;
}

Format gemm_result_format(const PlanGemm *gemm, const GemmChoice *choice) {
    Format format = block_format(gemm, choice, 0);
    uint32_t owners = choice->owner_rows * choice->owner_columns;
    format.tile_count = choice->rows * choice->columns * owners;
    if (choice->inner > 1 && !gemm_contiguous_owners(gemm, choice))
        format.memory_class = MEMORY_STANDARD;
    split(&format.axes[choice->swapped ? 1 : 0], choice->owner_rows,
          inner_stride(choice) * choice->owner_columns);
    split(&format.axes[choice->swapped ? 0 : 1], choice->owner_columns, inner_stride(choice));
    return format;
}

Format plan_device_format(const Shape *shape, bool transposed, uint32_t group, uint32_t tiles) {
    assert(shape->rank == 2);
    uint32_t inner = transposed ? 0 : 1, outer = 1 - inner;
    uint64_t rows = align_up(shape->dims[outer], COEFFICIENT_COLUMNS);
    uint32_t groups = (uint32_t)div_up(shape->dims[inner], group);
    uint64_t best = UINT64_MAX;
    uint32_t parts = 1, columns = 1;
    for (uint32_t c = 1; c <= MIN_OF(groups, tiles); c++)
        best = MIN_OF(best, div_up(rows, MIN_OF(rows, (uint64_t)tiles / c)) * div_up(groups, c));
    /* Fewer columns a tile make longer pieces, which is worth a little imbalance. */
    for (uint32_t c = 1; c <= MIN_OF(groups, tiles); c++) {
        uint32_t r = (uint32_t)MIN_OF(rows, (uint64_t)tiles / c);
        if (div_up(rows, r) * div_up(groups, c) > best + best / UNEVEN)
            continue;
        parts = r;
        columns = c;
    }
    Format format = {.precision = {.kind = PRECISION_F16},
                     .order = {.kind = transposed ? ORDER_TRANSPOSED_LEFT : ORDER_LEFT},
                     .memory_class = MEMORY_STANDARD,
                     .tile_count = parts * columns,
                     .replicas = 1,
                     .axis_count = 2};
    format.axes[inner] = tiling_of(inner, columns, group, 1);
    format.axes[inner].padding = precision_group(format.precision);
    format.axes[outer] = tiling_of(outer, parts, 1, columns);
    format.axes[outer].padding = COEFFICIENT_COLUMNS;
    return format;
}
