/* What a tile does in a computing step, and how sums are put together. */
#include "plan/cast.h"
#include "plan/gemm.h"

#include <assert.h>

enum { ROW_BYTES = 32 }; /* of a panel, in every precision */

/* The shard of a stored value that a tile holds; false if it holds none, or an empty one. */
static bool tile_shard(const Plan *plan, uint32_t value, uint32_t tile, Shard *shard) {
    const PlanValue *stored = &plan->values[value];
    if (tile - stored->format.first_tile >= stored->format.tile_count)
        return false;
    format_shard(&stored->format, &stored->shape, format_shard_of_tile(&stored->format, tile),
                 shard);
    return shard_bytes(shard) > 0;
}

uint64_t plan_tile_bytes(const Plan *plan, uint32_t value, uint32_t tile) {
    Shard shard;
    return tile_shard(plan, value, tile, &shard) ? shard_bytes(&shard) * plan->values[value].members
                                                 : 0;
}

/* Rows and panels of a packed block. */
static PlanPiece block_of(const Shard *shard) {
    return (PlanPiece){.rows = shard->layout.outer,
                       .panels = shard->layout.inner / shard->layout.group};
}

/* The last two axes of both shapes are alike. */
PlanPiece plan_owned_piece(const Plan *plan, const PlanStep *reduce, uint32_t tile) {
    Shard whole, part;
    bool held = tile_shard(plan, reduce->sources[0], tile, &whole);
    held = tile_shard(plan, reduce->target, tile, &part) && held;
    assert(held);
    (void)held;
    uint32_t rows = plan_choice(plan, reduce->op)->swapped ? 1 : 0, columns = 1 - rows;
    PlanPiece piece = block_of(&part);
    piece.part_rows = block_of(&whole).rows;
    piece.first_row = part.bounds[rows].start - whole.bounds[1 + rows].start;
    piece.first_panel =
        (part.bounds[columns].start - whole.bounds[1 + columns].start) / COEFFICIENT_COLUMNS;
    return piece;
}

static uint32_t piece_offset(const PlanPiece *piece, uint32_t panel) {
    return ((piece->first_panel + panel) * piece->part_rows + piece->first_row) * ROW_BYTES;
}

/* All of an owner's piece in one call? */
static bool in_one_call(const PlanPiece *piece) {
    return piece->rows == piece->part_rows || piece->panels == 1;
}

static const PlanStep *reduce_step(const Plan *plan, uint32_t target) {
    const PlanStep *found = NULL;
    for (uint32_t i = 0; i < plan->step_count && !found; i++)
        if (plan->steps[i].kind == PLAN_REDUCE && plan->steps[i].target == target)
            found = &plan->steps[i];
    assert(found);
    return found;
}

uint64_t plan_inside_offset(const Plan *plan, uint32_t value, uint32_t tile) {
    PlanPiece piece = plan_owned_piece(plan, reduce_step(plan, value), tile);
    return piece_offset(&piece, 0);
}

static uint32_t own_part(const GemmChoice *choice, uint32_t tile) {
    return tile / (choice->rows * choice->columns);
}

uint64_t plan_received_offset(const Plan *plan, const PlanStep *reduce, uint32_t tile,
                              uint32_t other, uint32_t panel) {
    PlanPiece piece = plan_owned_piece(plan, reduce, tile);
    const GemmChoice *choice = plan_choice(plan, reduce->op);
    uint64_t bytes = (uint64_t)piece.rows * ROW_BYTES;
    uint32_t number = other < own_part(choice, tile) ? other : other - 1;
    if (in_one_call(&piece))
        return (number * (uint64_t)piece.panels + panel) * bytes;
    return (panel * (uint64_t)(choice->inner - 1) + number) * bytes;
}

/* Calls for each group of columns: one, or one for each block of rows of the left operand. */
static uint32_t row_blocks(const Layout *left) {
    return left->inner_block == left->inner ? (uint32_t)div_up(left->outer, left->outer_block) : 1;
}

static uint32_t gemm_call_count(const Plan *plan, const PlanStep *step, uint32_t tile) {
    Shard target, left;
    bool held = tile_shard(plan, step->target, tile, &target);
    held = tile_shard(plan, step->sources[0], tile, &left) && held;
    assert(held);
    (void)held;
    uint32_t blocks = row_blocks(&left.layout);
    return blocks == 1 ? 1 : blocks * block_of(&target).panels;
}

uint32_t plan_call_count(const Graph *graph, const Plan *plan, const PlanStep *step,
                         uint32_t tile) {
    (void)graph;
    Shard shard;
    if (!tile_shard(plan, step->target, tile, &shard))
        return 0;
    if (step->kind == PLAN_GEMM)
        return gemm_call_count(plan, step, tile);
    if (step->kind != PLAN_REDUCE)
        return 1;
    PlanPiece piece = plan_owned_piece(plan, step, tile);
    return in_one_call(&piece) ? 1 : piece.panels;
}

/* The part of a product that one of several calls computes: a block of rows, a group of columns. */
static void gemm_piece(const Shard *left, const Shard *right, uint32_t number, GemmExtents *part,
                       PlanCall *call) {
    uint32_t blocks = row_blocks(&left->layout), group = number / blocks;
    if (blocks == 1)
        return;
    uint32_t row = number % blocks * left->layout.outer_block;
    call->operands[0].offset = (group * part->rows + row) * ROW_BYTES;
    call->operands[1].offset = row * left->layout.inner * left->layout.value_bytes;
    call->operands[2].offset =
        group * COEFFICIENT_COLUMNS * right->layout.inner * right->layout.value_bytes;
    *part = (GemmExtents){layout_lines(&left->layout, row), 1, part->panels};
}

static void gemm_call(const Graph *graph, const Plan *plan, const PlanStep *step, uint32_t tile,
                      uint32_t number, PlanCall *call) {
    PlanGemm gemm = gemm_describe(graph, step->op);
    Shard target, left, right;
    bool held = tile_shard(plan, step->target, tile, &target);
    held = tile_shard(plan, step->sources[0], tile, &left) && held;
    held = tile_shard(plan, step->sources[1], tile, &right) && held;
    assert(held);
    (void)held;
    PlanPiece block = block_of(&target);
    /* Half panels of an operand say whether the last panel is whole. */
    uint32_t inner = MIN_OF(left.layout.inner, right.layout.inner);
    uint32_t width = precision_group((Precision){.kind = gemm.precision});
    GemmExtents part = {block.rows, block.panels, (uint32_t)div_up(inner, width)};
    gemm_piece(&left, &right, number, &part, call);
    call->spec = gemm_spec(&gemm, plan_choice(plan, step->op), part, inner % width != 0);
    if (gemm.precision == PRECISION_F8F143)
        call->scalars[0] = gemm.scale;
    for (int i = 0; i < 2; i++)
        call->operands[1 + i].value = step->sources[i];
}

static void reduce_call(const Plan *plan, const PlanStep *step, uint32_t tile, uint32_t number,
                        PlanCall *call) {
    PlanPiece piece = plan_owned_piece(plan, step, tile);
    const GemmChoice *choice = plan_choice(plan, step->op);
    uint32_t panels = in_one_call(&piece) ? piece.panels : 1;
    uint32_t bytes = piece.rows * panels * ROW_BYTES;
    call->spec = (KernelSpec){
        .family = KERNEL_REDUCE,
        .reduce = {.parts = choice->inner, .count = bytes / 2, .wide = choice->wide_sum}};
    call->operands[0].offset = number * bytes;
    call->operands[1] = (PlanOperand){step->sources[0], piece_offset(&piece, number)};
    call->operands[2] = (PlanOperand){step->sources[1], number * bytes * (choice->inner - 1)};
}

static void cast_call(const Graph *graph, const Plan *plan, const PlanStep *step, uint32_t tile,
                      PlanCall *call) {
    Shard from, to;
    bool held = tile_shard(plan, step->sources[0], tile, &from);
    held = tile_shard(plan, step->target, tile, &to) && held;
    const PlanValue *source = &plan->values[step->sources[0]];
    bool fast = source->format.memory_class == MEMORY_INTERLEAVED;
    held = held && cast_spec(&from.layout, &to.layout, fast, &call->spec);
    assert(held);
    (void)held;
    (void)graph;
    call->scalars[0] = plan->values[step->target].format.precision.scale_exponent;
    call->operands[1].value = step->sources[0];
}

static void point_call(const Graph *graph, const Plan *plan, const PlanStep *step, uint32_t tile,
                       PlanCall *call) {
    Shard from, to;
    bool held = tile_shard(plan, step->sources[0], tile, &from);
    held = tile_shard(plan, step->target, tile, &to) && held;
    const PlanValue *source = &plan->values[step->sources[0]];
    const Format *target = &plan->values[step->target].format;
    PointRight right = POINT_NONE;
    if (step->sources[1] != PLAN_NONE)
        right = point_right(&source->shape, &plan->values[step->sources[1]].shape);
    if (graph->ops.items[step->op].kind == GRAPH_GELU)
        held = held &&
               point_gelu(&from.layout, &to.layout, target->precision.kind, right, &call->spec);
    else
        held = held && point_add(&from.layout, right, &call->spec);
    assert(held);
    (void)held;
    call->scalars[0] = target->precision.scale_exponent;
    for (int i = 0; i < 2; i++)
        call->operands[1 + i].value = step->sources[i];
}

static void turn_call(const Plan *plan, const PlanStep *step, uint32_t tile, PlanCall *call) {
    bool good = point_turn(plan_tile_bytes(plan, step->target, tile), &call->spec);
    assert(good);
    (void)good;
    call->operands[1].value = step->sources[0];
}

static void pack_call(const Plan *plan, const PlanStep *step, uint32_t tile, PlanCall *call) {
    Shard from, to;
    bool held = tile_shard(plan, step->sources[0], tile, &from);
    held = tile_shard(plan, step->target, tile, &to) && held;
    held = held && pack_spec(&from.layout, &to.layout, &call->spec);
    assert(held);
    (void)held;
    call->operands[1].value = step->sources[0];
}

void plan_call(const Graph *graph, const Plan *plan, const PlanStep *step, uint32_t tile,
               uint32_t call, PlanCall *result) {
    *result = (PlanCall){.operands[0] = {.value = step->target}};
    switch (step->kind) {
    case PLAN_GEMM: gemm_call(graph, plan, step, tile, call, result); break;
    case PLAN_REDUCE: reduce_call(plan, step, tile, call, result); break;
    case PLAN_CAST: cast_call(graph, plan, step, tile, result); break;
    case PLAN_POINT: point_call(graph, plan, step, tile, result); break;
    case PLAN_TURN: turn_call(plan, step, tile, result); break;
    case PLAN_PACK: pack_call(plan, step, tile, result); break;
    case PLAN_LOCAL:
    case PLAN_EXCHANGE: assert(false); break;
    }
}

bool plan_casts_twice(const Graph *graph, const Plan *plan, uint32_t op) {
    const GraphOp *cast = &graph->ops.items[op];
    uint32_t made_by = graph->values.items[cast->operands[0]].op;
    for (uint32_t i = 0; plan && i < plan->step_count; i++) {
        const PlanStep *step = &plan->steps[i];
        if (step->kind == PLAN_POINT && step->op == made_by &&
            plan->values[step->target].graph_value == cast->result)
            return true;
    }
    return false;
}

/* ---- the order of sums */

static Status no_memory(Diag *diag) {
    return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "the parts of a sum");
}

/* Digit of the owner of each index of an axis, times `scale`. */
static uint32_t *owner_digits(const Format *format, uint32_t axis, uint32_t extent,
                              uint32_t scale) {
    uint32_t *digits = mem_alloc(extent, sizeof *digits);
    const AxisTiling *tiling = &format->axes[axis];
    for (uint32_t i = 0; digits && i < extent; i++)
        digits[i] = axis_owner(tiling, extent, i) % tiling->split * scale;
    return digits;
}

Status plan_sum(const Graph *graph, const Plan *plan, uint32_t op, PlanSum *sum, Diag *diag) {
    *sum = (PlanSum){.parts = 1};
    const GemmChoice *choice = plan ? plan_choice(plan, op) : NULL;
    if (!choice || choice->inner == 1)
        return STATUS_OK;
    PlanGemm gemm = gemm_describe(graph, op);
    Format use = gemm_use_format(graph, &gemm, choice, 0);
    const AxisTiling *inner = &use.axes[gemm.operands[0].inner_axis];
    const Format *result = &plan->values[gemm.result].format;
    uint32_t rows = choice->swapped ? 1 : 0;
    sum->parts = choice->inner;
    sum->end = mem_alloc(sum->parts, sizeof *sum->end);
    sum->row_owner = owner_digits(result, 0, gemm.rows, rows == 0 ? choice->owner_columns : 1);
    sum->column_owner =
        owner_digits(result, 1, gemm.columns, rows == 1 ? choice->owner_columns : 1);
    if (!sum->end || !sum->row_owner || !sum->column_owner)
        return no_memory(diag);
    for (uint32_t i = 0; i < sum->parts; i++)
        sum->end[i] = axis_bounds(inner, gemm.inner, i).logical_end;
    return STATUS_OK;
}

void plan_sum_free(PlanSum *sum) {
    mem_free(sum->end);
    mem_free(sum->row_owner);
    mem_free(sum->column_owner);
    *sum = (PlanSum){0};
}
