#include "plan/gemm.h"

#include "chip/chip.h"
#include "kernel/step.h"

#include <assert.h>

/* Cycle modulo 6 at which a tile issues the first instruction of its first step. */
enum { FIRST_STEP_START = 0 };

static Status refuse(const Graph *graph, uint32_t op, Diag *diag, const char *why) {
    DiagPlace place = {.tile = -1, .file = graph->file, .line = graph->ops.items[op].line};
    return diag_error(diag, ERR_PLAN_GRAPH, place, "%s", why);
}

static Status check_gemm(const Graph *graph, uint32_t op, Diag *diag) {
    const GraphOp *gemm = &graph->ops.items[op];
    const Shape *left = &graph->values.items[gemm->operands[0]].shape;
    const Shape *right = &graph->values.items[gemm->operands[1]].shape;
    if (left->rank != 2 || right->rank != 2)
        return refuse(graph, op, diag, "a GEMM with batch axes cannot be planned yet");
    if (gemm->operands[0] == gemm->operands[1])
        return refuse(graph, op, diag,
                      "a GEMM of a value with itself cannot be planned yet: the two operands need "
                      "different formats");
    return STATUS_OK;
}

Status gemm_find(const Graph *graph, PlanGemm *gemm, Diag *diag) {
    uint32_t found = GRAPH_NONE;
    for (uint32_t i = 0; i < graph->ops.count; i++) {
        if (graph->ops.items[i].kind != GRAPH_GEMM)
            continue;
        if (found != GRAPH_NONE)
            return refuse(graph, i, diag,
                          "a graph of more than one operation cannot be planned yet");
        found = i;
    }
    if (found == GRAPH_NONE)
        return refuse(graph, 0, diag, "the graph computes nothing");
    Status status = check_gemm(graph, found, diag);
    if (status)
        return status;
    const GraphOp *op = &graph->ops.items[found];
    for (uint32_t i = 0; i < graph->values.count; i++)
        if (i != op->operands[0] && i != op->operands[1] && i != op->result)
            return refuse(graph, graph->values.items[i].op, diag,
                          "a value that is no operand of the GEMM cannot be planned yet");
    GraphGemm extents = graph_gemm(graph, found);
    Precision left = graph->values.items[op->operands[0]].precision;
    Precision right = graph->values.items[op->operands[1]].precision;
    *gemm = (PlanGemm){.op = found,
                       .left = op->operands[0],
                       .right = op->operands[1],
                       .result = op->result,
                       .rows = extents.rows,
                       .inner = extents.inner,
                       .columns = extents.columns,
                       .precision = left.kind,
                       .scale = left.scale_exponent + right.scale_exponent,
                       .transpose_left = op->transpose_left,
                       .transpose_right = op->transpose_right};
    return STATUS_OK;
}

GemmExtents gemm_extents(const PlanGemm *gemm, bool swapped) {
    uint32_t group = precision_group((Precision){.kind = gemm->precision});
    uint32_t columns = swapped ? gemm->rows : gemm->columns;
    return (GemmExtents){.rows = swapped ? gemm->columns : gemm->rows,
                         .groups = (uint32_t)div_up(columns, COEFFICIENT_COLUMNS),
                         .panels = (uint32_t)div_up(gemm->inner, group)};
}

KernelSpec gemm_spec(const PlanGemm *gemm, const GemmChoice *choice, GemmExtents part) {
    return (KernelSpec){.family = KERNEL_GEMM,
                        .gemm = {.precision = gemm->precision,
                                 .wide_weights = choice->weights == MEMORY_INTERLEAVED,
                                 .rows = part.rows,
                                 .panels = part.panels,
                                 .groups = part.groups}};
}

/* A matrix cut along `cut` and whole along the other axis, both axes in their order. */
static void cut_matrix(Format *format, AxisTiling first, AxisTiling second) {
    format->axis_count = 2;
    format->axes[first.axis] = first;
    format->axes[second.axis] = second;
}

void gemm_formats(const Graph *graph, const PlanGemm *gemm, const GemmChoice *choice,
                  Format formats[3]) {
    uint32_t tiles = choice->rows * choice->columns;
    uint32_t group = precision_group((Precision){.kind = gemm->precision});
    bool swapped = choice->swapped;
    /* Of the operand that is physically left or right: its inner axis in the graph's shape. */
    uint32_t left_inner = gemm->transpose_left ? 0 : 1, right_inner = gemm->transpose_right ? 1 : 0;
    uint32_t rows_inner = swapped ? right_inner : left_inner;
    uint32_t columns_inner = swapped ? left_inner : right_inner;

    Format *rows = &formats[swapped ? 1 : 0], *columns = &formats[swapped ? 0 : 1];
    *rows = (Format){.precision = graph->values.items[swapped ? gemm->right : gemm->left].precision,
                     .order = {.kind = rows_inner == 1 ? ORDER_LEFT : ORDER_TRANSPOSED_LEFT},
                     .memory_class = MEMORY_STANDARD,
                     .tile_count = tiles,
                     .replicas = choice->columns};
    cut_matrix(rows, axis_tiling(1 - rows_inner, choice->rows, 1, choice->columns),
               axis_tiling(rows_inner, 1, group, 1));
    *columns =
        (Format){.precision = graph->values.items[swapped ? gemm->left : gemm->right].precision,
                 .order = {.kind = columns_inner == 0 ? ORDER_RIGHT : ORDER_TRANSPOSED_RIGHT},
                 .memory_class = choice->weights,
                 .tile_count = tiles,
                 .replicas = choice->rows};
    cut_matrix(columns, axis_tiling(1 - columns_inner, choice->columns, COEFFICIENT_COLUMNS, 1),
               axis_tiling(columns_inner, 1, group, 1));
    formats[2] = (Format){.precision = graph->values.items[gemm->result].precision,
                          .order = {.kind = swapped ? ORDER_TRANSPOSED_LEFT : ORDER_LEFT},
                          .memory_class = MEMORY_INTERLEAVED,
                          .tile_count = tiles,
                          .replicas = 1};
    uint32_t rows_axis = swapped ? 1 : 0;
    cut_matrix(&formats[2], axis_tiling(rows_axis, choice->rows, 1, choice->columns),
               axis_tiling(1 - rows_axis, choice->columns, COEFFICIENT_COLUMNS, 1));
}

uint64_t gemm_part_cycles(const PlanGemm *gemm, const GemmChoice *choice, GemmExtents part) {
    KernelSpec spec = gemm_spec(gemm, choice, part);
    if (kernel_check(&spec, NULL) != STATUS_OK)
        return 0;
    return kernel_step_cycles(&spec, &gemm->scale, FIRST_STEP_START);
}

/* A tile with one row more is not always the slower one (six workers share the rows), so both row
 * counts are priced; a tile with a column group more always is. */
uint64_t gemm_cycles(const PlanGemm *gemm, const GemmChoice *choice) {
    GemmExtents whole = gemm_extents(gemm, choice->swapped);
    GemmExtents part = {.rows = (uint32_t)div_up(whole.rows, choice->rows),
                        .groups = (uint32_t)div_up(whole.groups, choice->columns),
                        .panels = whole.panels};
    uint64_t cycles = gemm_part_cycles(gemm, choice, part);
    if (cycles == 0 || whole.rows % choice->rows == 0)
        return cycles;
    part.rows--;
    return MAX_OF(cycles, gemm_part_cycles(gemm, choice, part));
}

enum { ROW_BYTES = 32, PANEL_BYTES = 32 * COEFFICIENT_COLUMNS }; /* in every precision */

GemmBytes gemm_bytes(const PlanGemm *gemm, const GemmChoice *choice) {
    GemmExtents whole = gemm_extents(gemm, choice->swapped);
    uint64_t panels = whole.panels, rows = div_up(whole.rows, choice->rows),
             groups = div_up(whole.groups, choice->columns);
    uint64_t left = rows * panels * ROW_BYTES, right = groups * panels * PANEL_BYTES,
             output = rows * groups * ROW_BYTES;
    return (GemmBytes){
        .tile = left + right + output,
        .interleaved = output + (choice->weights == MEMORY_INTERLEAVED ? right : 0),
        .total = whole.rows * panels * ROW_BYTES * choice->columns +
                 whole.groups * panels * PANEL_BYTES * choice->rows +
                 (uint64_t)whole.rows * whole.groups * ROW_BYTES,
    };
}

static Status refuse_grid(Diag *diag, const char *what, uint32_t parts, uint32_t most) {
    return diag_error(diag, ERR_PLAN_GRID, DIAG_NOWHERE, "%u parts of %s, which allow 1 to %u",
                      parts, what, most);
}

Status gemm_check_choice(const PlanGemm *gemm, const GemmChoice *choice, uint32_t tiles,
                         Diag *diag) {
    if (tiles < 1 || tiles > CHIP_TILES)
        return diag_error(diag, ERR_PLAN_TILES, DIAG_NOWHERE, "%u tiles; the chip has 1 to %d",
                          tiles, CHIP_TILES);
    GemmExtents whole = gemm_extents(gemm, choice->swapped);
    if (choice->inner != 1)
        return refuse_grid(diag, "the inner dimension", choice->inner, 1);
    if (choice->rows < 1 || choice->rows > whole.rows)
        return refuse_grid(diag, "the rows", choice->rows, whole.rows);
    if (choice->columns < 1 || choice->columns > whole.groups)
        return refuse_grid(diag, "the groups of 16 columns", choice->columns, whole.groups);
    if ((uint64_t)choice->rows * choice->columns > tiles)
        return diag_error(diag, ERR_PLAN_GRID, DIAG_NOWHERE,
                          "a grid of %u x %u does not fit on %u tiles", choice->rows,
                          choice->columns, tiles);
    return STATUS_OK;
}

static void set_value(const Graph *graph, uint32_t value, const Format *format, Plan *plan) {
    const Shape *shape = &graph->values.items[value].shape;
    assert(format_check(format, shape, NULL) == STATUS_OK);
    plan->values[value] = (PlanValue){.format = *format,
                                      .total_bytes = format_total_bytes(format, shape),
                                      .widest_bytes = format_widest_bytes(format, shape)};
}

Status gemm_plan(const Graph *graph, const PlanGemm *gemm, const GemmChoice *choice, uint32_t tiles,
                 Plan *plan, Diag *diag) {
    *plan = (Plan){.tiles = tiles,
                   .value_count = (uint32_t)graph->values.count,
                   .values = mem_alloc(graph->values.count, sizeof(PlanValue)),
                   .operation_count = 1,
                   .operations = mem_alloc(1, sizeof(PlanOperation))};
    if (!plan->values || !plan->operations) {
        plan_free(plan);
        return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "building a plan");
    }
    Format formats[3];
    gemm_formats(graph, gemm, choice, formats);
    set_value(graph, gemm->left, &formats[0], plan);
    set_value(graph, gemm->right, &formats[1], plan);
    set_value(graph, gemm->result, &formats[2], plan);
    plan->predicted_cycles = gemm_cycles(gemm, choice);
    plan->operations[0] =
        (PlanOperation){.op = gemm->op, .gemm = *choice, .cycles = plan->predicted_cycles};
    return STATUS_OK;
}

/* Width of the tile's shard of a value on one axis. */
static uint32_t shard_width(const Graph *graph, const Plan *plan, uint32_t value, uint32_t axis,
                            uint32_t tile) {
    const Format *format = &plan->values[value].format;
    Shard shard;
    format_shard(format, &graph->values.items[value].shape, format_shard_of_tile(format, tile),
                 &shard);
    return shard.bounds[axis].physical_end - shard.bounds[axis].start;
}

bool plan_call(const Graph *graph, const Plan *plan, const PlanOperation *operation, uint32_t tile,
               PlanCall *call) {
    const GemmChoice *choice = &operation->gemm;
    if (tile >= choice->rows * choice->columns)
        return false;
    PlanGemm gemm;
    Status status = gemm_find(graph, &gemm, NULL);
    assert(status == STATUS_OK);
    (void)status;
    uint32_t rows_axis = choice->swapped ? 1 : 0;
    GemmExtents part = gemm_extents(&gemm, choice->swapped);
    part.rows = shard_width(graph, plan, gemm.result, rows_axis, tile);
    part.groups = shard_width(graph, plan, gemm.result, 1 - rows_axis, tile) / COEFFICIENT_COLUMNS;
    *call = (PlanCall){.spec = gemm_spec(&gemm, choice, part),
                       .values = {gemm.result, choice->swapped ? gemm.right : gemm.left,
                                  choice->swapped ? gemm.left : gemm.right}};
    if (gemm.precision == PRECISION_F8F143)
        call->scalars[0] = gemm.scale;
    return true;
}
