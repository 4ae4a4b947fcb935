/* A graph of several operations: each in turn, on homes that earlier ones have left. */
#include "plan/task.h"

#include <assert.h>

typedef struct Assembly {
    const Graph *graph;
    const PlanTask *task;
    const PlanOptions *options;
    PriceTable *table;
    Sketch *sketch;
} Assembly;

static bool has_home(const Assembly *all, uint32_t value) {
    return all->sketch->values.items[value].format.tile_count > 0;
}

static const Format *home_of(const Assembly *all, uint32_t value) {
    return &all->sketch->values.items[value].format;
}

/* The axis along which lines of a packed home are contiguous. */
static uint32_t line_axis(const Format *format) {
    switch (format->order.kind) {
    case ORDER_TRANSPOSED_LEFT:
    case ORDER_RIGHT:
    case ORDER_BLOCK:
    case ORDER_TRANSPOSED_OUTPUT: return 0;
    default: return 1;
    }
}

/* Evenly spread, as an earlier block leaves it. */
static void spread_home(const Assembly *all, uint32_t value) {
    const GraphValue *info = &all->graph->values.items[value];
    uint32_t group = precision_group((Precision){.kind = PRECISION_F8F143});
    Format home =
        plan_device_format(&info->shape, all->task->uses[value].axis == 0, group, all->options->tiles);
    home.precision = info->precision;
    home.axes[all->task->uses[value].axis].padding = precision_group(info->precision);
    sketch_set_home(all->sketch, value, &home);
}

/* ---- products */

/* The operand as it is by now: cast already, on the chip in some other precision, or free. */
static void find_home(const Assembly *all, GemmOperand *operand) {
    if (has_home(all, operand->value)) {
        operand->cast = GRAPH_NONE;
        operand->source = operand->value;
    }
    operand->fixed = has_home(all, operand->source);
    if (operand->fixed)
        operand->home = *home_of(all, operand->source);
}

static void add_gemm(const Assembly *all, uint32_t op, const GemmChoice *choice) {
    PlanGemm gemm = gemm_describe(all->graph, op);
    if (all->task->uses[gemm.result].turned)
        gemm.row_padding = COEFFICIENT_COLUMNS;
    uint32_t left = gemm.operands[0].source, right = gemm.operands[1].source;
    if (left == right && !has_home(all, left))
        spread_home(all, left);
    for (int i = 0; i < 2; i++) {
        GemmOperand *operand = &gemm.operands[i];
        find_home(all, operand);
        if (operand->fixed && line_axis(&operand->home) != operand->inner_axis)
            all->sketch->possible = false;
    }
    if (all->sketch->possible)
        sketch_add_gemm(all->sketch, &gemm, choice, all->table);
}

/* ---- casts that are no operand's own */

static void add_cast(const Assembly *all, uint32_t op) {
    uint32_t source = all->graph->ops.items[op].operands[0];
    uint32_t result = all->graph->ops.items[op].result;
    const GraphValue *info = &all->graph->values.items[result];
    if (!has_home(all, source))
        spread_home(all, source);
    Format home;
    uint32_t at = source;
    if (!sketch_in_precision(home_of(all, source), &info->shape, info->precision, &home)) {
        bool transposed = line_axis(home_of(all, source)) == 0;
        Format whole = plan_device_format(&info->shape, transposed, precision_group(info->precision),
                                          all->options->tiles);
        SketchPhase phase = sketch_begin_phase(all->sketch, op);
        at = sketch_move_value(&phase, source, &whole, false);
        sketch_end_phase(&phase);
        if (!sketch_in_precision(&whole, &info->shape, info->precision, &home)) {
            all->sketch->possible = false;
            return;
        }
    }
    sketch_set_home(all->sketch, result, &home);
    sketch_add_compute(all->sketch, PLAN_CAST, op, result, at, PLAN_NONE,
                       price_cast(&info->shape, home_of(all, at), &home, all->table));
}

/* ---- value by value */

/* The other operand of a sum, as `like` has it: a vector lies with every tile that needs a piece of
 * it. Its home if it has none yet, else where it moves; PLAN_NONE if no way leads there. */
static uint32_t bring_right(const Assembly *all, uint32_t op, uint32_t value, const Format *like,
                            const Shape *shape) {
    const Shape *own = &all->graph->values.items[value].shape;
    Format to = *like;
    PointRight right = point_right(shape, own);
    to.memory_class = MEMORY_STANDARD;
    if (right == POINT_NONE)
        return PLAN_NONE;
    if (right != POINT_PLAIN) {
        uint32_t along = right == POINT_COLUMNS ? 1 : 0, kept = 0;
        uint32_t shards = 1;
        for (uint32_t i = 0; i < to.axis_count; i++)
            if (to.axes[i].axis == along) {
                shards = to.axes[i].partitions;
                to.axes[kept++] = to.axes[i];
            }
        to.axis_count = kept;
        to.replicas = to.tile_count / shards;
        to.order = (Order){.kind = ORDER_ROW_MAJOR};
    }
    if (!has_home(all, value)) {
        sketch_set_home(all->sketch, value, &to);
        return value;
    }
    Format home = *home_of(all, value);
    if (right == POINT_PLAIN && line_axis(&home) != line_axis(like))
        return PLAN_NONE;
    home.memory_class = MEMORY_STANDARD;
    if (format_equal(&home, &to))
        return value;
    SketchPhase phase = sketch_begin_phase(all->sketch, op);
    uint32_t moved = sketch_move_value(&phase, value, &to, false);
    sketch_end_phase(&phase);
    return moved;
}

static void add_point(const Assembly *all, uint32_t op, uint32_t result, const Format *to,
                      uint32_t source, uint32_t other) {
    Sketch *sketch = all->sketch;
    const Shape *shape = &all->graph->values.items[source].shape;
    const Format from = *home_of(all, source);
    uint32_t right = PLAN_NONE;
    PlanPoint point = {.shape = shape, .from = &from, .to = to};
    point.gelu = all->graph->ops.items[op].kind == GRAPH_GELU;
    if (other != GRAPH_NONE) {
        right = bring_right(all, op, other, &from, shape);
        if (right == PLAN_NONE) {
            sketch->possible = false;
            return;
        }
        point.right = point_right(shape, &sketch->values.items[right].shape);
    }
    sketch_set_home(sketch, result, to);
    sketch_add_compute(sketch, PLAN_POINT, op, result, source, right, price_point(&point));
}

/* The sum lies where its whole operand does; of two whole ones where the better spread one does. */
static void add_add(const Assembly *all, uint32_t op) {
    const GraphOp *add = &all->graph->ops.items[op];
    const Shape *sum = &all->graph->values.items[add->result].shape;
    int whole = 0;
    bool fits[2];
    for (int i = 0; i < 2; i++)
        fits[i] = shape_equal(&all->graph->values.items[add->operands[i]].shape, sum);
    if (!fits[0] && !fits[1]) {
        all->sketch->possible = false;
        return;
    }
    if (!fits[0])
        whole = 1;
    else if (fits[1] && has_home(all, add->operands[1]) &&
             (!has_home(all, add->operands[0]) ||
              all->sketch->values.items[add->operands[1]].widest_bytes <
                  all->sketch->values.items[add->operands[0]].widest_bytes))
        whole = 1;
    uint32_t source = add->operands[whole];
    if (!has_home(all, source))
        spread_home(all, source);
    Format to = *home_of(all, source);
    to.memory_class = MEMORY_STANDARD;
    add_point(all, op, add->result, &to, source, add->operands[1 - whole]);
}

/* The cast of a GELU that its own kernel can make: nothing else wants either of them, and the
 * product wants it cast early. GRAPH_NONE if there is none. */
static uint32_t cast_of(const Assembly *all, uint32_t gelu, const Format *from, Format *to) {
    const PlanUse *use = &all->task->uses[gelu];
    const GraphOp *cast = &all->graph->ops.items[use->first];
    if (use->count != 1 || cast->kind != GRAPH_CAST || !all->task->absorbed[use->first] ||
        !all->task->uses[cast->result].early)
        return GRAPH_NONE;
    bool half = all->task->uses[cast->result].half;
    uint32_t inner = line_axis(from);
    *to = *from;
    to->memory_class = MEMORY_STANDARD;
    to->precision = all->graph->values.items[cast->result].precision;
    to->order.half = half;
    for (uint32_t i = 0; i < to->axis_count; i++)
        if (to->axes[i].axis == inner)
            to->axes[i].padding = half ? COEFFICIENT_COLUMNS : precision_group(to->precision);
    bool good = format_check(to, &all->graph->values.items[gelu].shape, NULL) == STATUS_OK;
    return good ? cast->result : GRAPH_NONE;
}

static void add_gelu(const Assembly *all, uint32_t op) {
    const GraphOp *gelu = &all->graph->ops.items[op];
    uint32_t source = gelu->operands[0], bias = GRAPH_NONE;
    uint32_t made_by = all->graph->values.items[source].op;
    if (all->task->absorbed[made_by] && all->graph->ops.items[made_by].kind == GRAPH_ADD) {
        bias = all->graph->ops.items[made_by].operands[1];
        source = all->graph->ops.items[made_by].operands[0];
    }
    if (!has_home(all, source))
        spread_home(all, source);
    Format to, from = *home_of(all, source);
    uint32_t cast = cast_of(all, gelu->result, &from, &to);
    if (cast != GRAPH_NONE) {
        add_point(all, op, cast, &to, source, bias);
        return;
    }
    from.memory_class = MEMORY_STANDARD;
    add_point(all, op, gelu->result, &from, source, bias);
}

/* ---- the whole */

/* What choices say of values, from the last operation to the first one. */
static void find_turned(const Graph *graph, const PlanTask *task, const GemmChoice choices[]) {
    for (size_t v = 0; v < graph->values.count; v++)
        task->uses[v].turned = task->uses[v].early = task->uses[v].half = false;
    size_t gemm = task->choosing.count;
    for (uint32_t i = (uint32_t)graph->ops.count; i-- > 0;) {
        const GraphOp *op = &graph->ops.items[i];
        const GemmChoice *choice = op->kind == GRAPH_GEMM ? &choices[--gemm] : NULL;
        for (uint32_t k = 0; k < op->operand_count && op->result != GRAPH_NONE; k++) {
            PlanUse *use = &task->uses[op->operands[k]];
            use->turned |= choice ? gemm_operand(choice, ROLE_RIGHT) == (int)k
                                  : task->uses[op->result].turned;
            if (choice) {
                use->early = choice->operands[k].early;
                use->half = choice->operands[k].half;
            }
        }
    }
}

void task_assemble(const PlanTask *task, const GemmChoice choices[], const PlanOptions *options,
                   PriceTable *table, Sketch *sketch) {
    const Graph *graph = sketch->graph;
    Assembly all = {graph, task, options, table, sketch};
    find_turned(graph, task, choices);
    for (uint32_t i = 0; i < graph->ops.count && sketch->possible; i++) {
        const GraphOp *op = &graph->ops.items[i];
        switch (op->kind) {
        case GRAPH_INPUT:
            if (options->device_input && graph->values.items[op->result].shape.dims[0] > 1)
                spread_home(&all, op->result);
            break;
        case GRAPH_PARAMETER: break;
        case GRAPH_GEMM: add_gemm(&all, i, choices++); break;
        case GRAPH_CAST:
            if (!task->absorbed[i])
                add_cast(&all, i);
            break;
        case GRAPH_GELU: add_gelu(&all, i); break;
        case GRAPH_ADD:
            if (!task->absorbed[i])
                add_add(&all, i);
            break;
        case GRAPH_OUTPUT:
            if (!has_home(&all, op->operands[0]))
                spread_home(&all, op->operands[0]);
            break;
        case GRAPH_REPEAT:
        case GRAPH_ARGUMENT:
        case GRAPH_YIELD: assert(false); break; /* of no expanded graph */
        }
    }
}
