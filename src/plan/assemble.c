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
        plan_device_format(&info->shape, all->task->axis[value] == 0, group, all->options->tiles);
    home.precision = info->precision;
    home.axes[all->task->axis[value]].padding = precision_group(info->precision);
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
    if (all->task->turned[gemm.result])
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

/* ---- the whole */

/* From the last operation to the first one: values that come to a product as its right operand in
 * the order of columns. */
static void find_turned(const Graph *graph, const PlanTask *task, const GemmChoice choices[]) {
    for (size_t v = 0; v < graph->values.count; v++)
        task->turned[v] = false;
    size_t gemm = task->choosing.count;
    for (uint32_t i = (uint32_t)graph->ops.count; i-- > 0;) {
        const GraphOp *op = &graph->ops.items[i];
        const GemmChoice *choice = op->kind == GRAPH_GEMM ? &choices[--gemm] : NULL;
        for (uint32_t k = 0; k < op->operand_count && op->result != GRAPH_NONE; k++)
            task->turned[op->operands[k]] |=
                choice ? gemm_operand(choice, ROLE_RIGHT) == (int)k : task->turned[op->result];
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
            if (options->device_input && graph->values.items[op->result].shape.rank == 2)
                spread_home(&all, op->result);
            break;
        case GRAPH_PARAMETER: break;
        case GRAPH_GEMM: add_gemm(&all, i, choices++); break;
        case GRAPH_CAST:
            if (!task->absorbed[i])
                add_cast(&all, i);
            break;
        case GRAPH_GELU:
        case GRAPH_ADD: sketch->possible = false; break;
        case GRAPH_REPEAT:
        case GRAPH_ARGUMENT:
        case GRAPH_YIELD: assert(false); break; /* of no expanded graph */
        case GRAPH_OUTPUT:
            if (!has_home(&all, op->operands[0]))
                spread_home(&all, op->operands[0]);
            break;
        }
    }
}
