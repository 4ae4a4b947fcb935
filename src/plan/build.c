/* What a graph asks for, which choices there are, and whole plans of them. */
#include "chip/chip.h"
#include "plan/gemm.h"

enum { MOST_INNER_PARTS = 127 }; /* that the reduction kernel adds up */

void plan_free(Plan *plan) {
    mem_free(plan->values);
    mem_free(plan->steps);
    mem_free(plan->moves);
    *plan = (Plan){0};
}

uint32_t plan_tiles_used(const Plan *plan) {
    uint32_t used = 0;
    for (uint32_t i = 0; i < plan->value_count; i++) {
        const Format *format = &plan->values[i].format;
        used = MAX_OF(used, format->first_tile + format->tile_count);
    }
    return used;
}

uint32_t plan_copies(const Plan *plan, uint32_t value) {
    return plan->values[value].format.replicas;
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
    uint32_t inner = MIN_OF(whole.panels, (uint32_t)MOST_INNER_PARTS);
    if (choice->inner < 1 || choice->inner > inner)
        return refuse_grid(diag, "the inner dimension", choice->inner, inner);
    if (choice->rows < 1 || choice->rows > whole.rows)
        return refuse_grid(diag, "the rows", choice->rows, whole.rows);
    if (choice->columns < 1 || choice->columns > whole.groups)
        return refuse_grid(diag, "the groups of 16 columns", choice->columns, whole.groups);
    if ((uint64_t)choice->rows * choice->columns * choice->inner > tiles)
        return diag_error(diag, ERR_PLAN_GRID, DIAG_NOWHERE,
                          "a grid of %u x %u x %u does not fit on %u tiles", choice->rows,
                          choice->columns, choice->inner, tiles);
    return STATUS_OK;
}

/* ---- tasks */

static bool is_forced(const PlanOptions *options, uint32_t value) {
    for (size_t i = 0; i < options->format_count; i++)
        if (options->formats[i].value == value)
            return true;
    return false;
}

/* The one cast of a graph that computes nothing else, or GRAPH_NONE. */
static uint32_t only_cast(const Graph *graph) {
    uint32_t found = GRAPH_NONE, computing = 0;
    for (uint32_t i = 0; i < graph->ops.count; i++) {
        GraphOpKind kind = graph->ops.items[i].kind;
        computing += kind == GRAPH_GEMM || kind == GRAPH_CAST;
        if (kind == GRAPH_CAST)
            found = i;
    }
    return computing == 1 && graph->values.count == 2 ? found : GRAPH_NONE;
}

static Status find_cast(const Graph *graph, uint32_t op, const PlanOptions *options, Diag *diag) {
    uint32_t source = graph->ops.items[op].operands[0], result = graph->ops.items[op].result;
    if (!is_forced(options, source) || !is_forced(options, result)) {
        DiagPlace place = {.tile = -1, .file = graph->file, .line = graph->ops.items[op].line};
        return diag_error(diag, ERR_PLAN_GRAPH, place,
                          "a cast alone can be planned only between given formats");
    }
    for (size_t i = 0; i < options->format_count; i++) {
        const PlanFormat *forced = &options->formats[i];
        const GraphValue *value = &graph->values.items[forced->value];
        Status status = format_check(&forced->format, &value->shape, diag);
        if (!status && !precision_equal(forced->format.precision, value->precision))
            status = diag_error(diag, ERR_PLAN_GRAPH, DIAG_NOWHERE,
                                "the format of %%%s has another precision", value->name);
        if (!status && forced->format.first_tile + forced->format.tile_count > options->tiles)
            status = diag_error(diag, ERR_PLAN_TILES, DIAG_NOWHERE,
                                "the format of %%%s has more tiles than there are", value->name);
        if (status)
            return status;
    }
    return STATUS_OK;
}

Status task_find(const Graph *graph, const PlanOptions *options, PlanTask *task, Diag *diag) {
    *task = (PlanTask){.op = only_cast(graph)};
    if (task->op != GRAPH_NONE)
        return find_cast(graph, task->op, options, diag);
    task->is_gemm = true;
    Status status = gemm_find(graph, &task->gemm, diag);
    task->op = task->gemm.op;
    if (status || !options->device_input)
        return status;
    uint32_t group = precision_group((Precision){.kind = task->gemm.precision});
    for (int i = 0; i < 2; i++) {
        GemmOperand *operand = &task->gemm.operands[i];
        operand->device = !operand->parameter;
        operand->device_home = plan_device_format(&graph->values.items[operand->value].shape,
                                                  operand->inner_axis == 0, group, options->tiles);
    }
    return STATUS_OK;
}

bool task_sketch(const Graph *graph, const PlanTask *task, const GemmChoice *choice,
                 const PlanOptions *options, PriceTable *table, Sketch *sketch) {
    if (!task->is_gemm)
        return cast_sketch(graph, task->op, &choice->operands[0], options, table, sketch);
    gemm_sketch(graph, &task->gemm, choice, table, sketch);
    return sketch->possible;
}

Status task_plan(const Graph *graph, const PlanTask *task, const GemmChoice *choice,
                 const PlanOptions *options, Plan *plan, Diag *diag) {
    Sketch sketch;
    *plan = (Plan){0};
    if (!task_sketch(graph, task, choice, options, NULL, &sketch))
        return diag_error(diag, ERR_PLAN_GRID, DIAG_NOWHERE,
                          "with this grid an operand is larger than the memory of a tile");
    Status status = sketch_plan(&sketch, plan, diag);
    if (status)
        return status;
    plan->tiles = options->tiles;
    plan->device_input = options->device_input;
    plan->is_gemm = task->is_gemm;
    plan->op = task->op;
    plan->gemm = *choice;
    return STATUS_OK;
}
