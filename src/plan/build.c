/* What a graph asks for, which choices there are, and whole plans of them. */
#include "chip/chip.h"
#include "plan/loop.h"
#include "plan/task.h"

#include <string.h>

enum { MOST_INNER_PARTS = 127 }; /* that the reduction kernel adds up */

void plan_free(Plan *plan) {
    mem_free(plan->values);
    mem_free(plan->steps);
    mem_free(plan->moves);
    mem_free(plan->choices);
    mem_free(plan->loops);
    mem_free(plan->places);
    *plan = (Plan){0};
}

const GemmChoice *plan_choice(const Plan *plan, uint32_t op) {
    for (uint32_t i = 0; i < plan->choice_count; i++)
        if (plan->choices[i].op == op)
            return &plan->choices[i].gemm;
    return NULL;
}

bool plan_moves_rows(const Plan *plan, const PlanMove *move) {
    const PlanValue *source = &plan->values[move->source], *target = &plan->values[move->target];
    return target->kind != PLAN_RECEIVED && source->shape.dims[0] != target->shape.dims[0];
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

/* The one cast of a graph that computes nothing else and whose homes are forced, or GRAPH_NONE. */
static uint32_t only_cast(const Graph *graph, const PlanOptions *options) {
    uint32_t found = GRAPH_NONE;
    for (uint32_t i = 0; i < graph->ops.count; i++)
        if (graph->ops.items[i].kind == GRAPH_CAST)
            found = i;
    if (found == GRAPH_NONE || graph->values.count != 2)
        return GRAPH_NONE;
    const GraphOp *op = &graph->ops.items[found];
    return is_forced(options, op->operands[0]) && is_forced(options, op->result) ? found
                                                                                 : GRAPH_NONE;
}

/* Are the forced homes those of these values, on the tiles that there are? */
static Status check_formats(const Graph *graph, const PlanOptions *options, Diag *diag) {
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

/* One GEMM, and every value is its result, an operand, or what an operand is cast from; nothing is
 * shared. */
static bool is_single(const Graph *graph, uint32_t op) {
    const PlanGemm gemm = gemm_describe(graph, op);
    const GemmOperand *left = &gemm.operands[0], *right = &gemm.operands[1];
    if (left->source == right->source)
        return false;
    for (uint32_t i = 0; i < graph->values.count; i++)
        if (i != left->value && i != left->source && i != right->value && i != right->source &&
            i != gemm.result)
            return false;
    for (uint32_t i = 0; i < graph->ops.count; i++) {
        const GraphOp *output = &graph->ops.items[i];
        if (output->kind == GRAPH_OUTPUT && output->operands[0] != gemm.result &&
            (output->operands[0] != left->source || left->cast != GRAPH_NONE) &&
            (output->operands[0] != right->source || right->cast != GRAPH_NONE))
            return false;
    }
    return true;
}

static Status refuse(const Graph *graph, uint32_t op, Diag *diag, const char *why) {
    DiagPlace place = {.tile = -1, .file = graph->file, .line = graph->ops.items[op].line};
    return diag_error(diag, ERR_PLAN_GRAPH, place, "%s", why);
}

static Status no_memory(Diag *diag) {
    return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "planning a graph");
}

static Status find_gemms(const Graph *graph, PlanTask *task, Diag *diag) {
    bool computes = false;
    for (uint32_t i = 0; i < graph->ops.count; i++) {
        const GraphOp *op = &graph->ops.items[i];
        computes |=
            op->kind != GRAPH_INPUT && op->kind != GRAPH_PARAMETER && op->kind != GRAPH_OUTPUT;
        if (op->kind == GRAPH_GEMM && op->batch > 1)
            return refuse(graph, i, diag, "a GEMM with batch axes is planned one by one matrix");
        if (op->kind == GRAPH_GEMM && !vec_push(&task->choosing, i))
            return no_memory(diag);
    }
    return computes ? STATUS_OK : refuse(graph, 0, diag, "the graph computes nothing");
}

/* Can a bias be added by the kernel that computes the GELU of the sum? */
static bool is_bias_of_gelu(const Graph *graph, const PlanTask *task, const GraphOp *add) {
    const PlanUse *use = &task->uses[add->result];
    if (use->count != 1 || graph->ops.items[use->first].kind != GRAPH_GELU)
        return false;
    const Shape *sum = &graph->values.items[add->result].shape;
    const Shape *whole = &graph->values.items[add->operands[0]].shape;
    const Shape *bias = &graph->values.items[add->operands[1]].shape;
    return shape_equal(whole, sum) && sum->dims[0] > 1 && bias->dims[0] == 1 &&
           bias->dims[1] == sum->dims[1];
}

/* From the last operation to the first one, so that of several users the first one decides. */
static Status find_uses(const Graph *graph, PlanTask *task, Diag *diag) {
    task->absorbed = mem_alloc(graph->ops.count + 1, sizeof *task->absorbed);
    task->uses = mem_alloc(graph->values.count + 1, sizeof *task->uses);
    if (!task->absorbed || !task->uses)
        return no_memory(diag);
    for (size_t v = 0; v < graph->values.count; v++)
        task->uses[v].axis = 1;
    for (uint32_t i = 0; i < graph->ops.count; i++)
        task->absorbed[i] = graph->ops.items[i].kind == GRAPH_CAST;
    for (uint32_t i = (uint32_t)graph->ops.count; i-- > 0;) {
        const GraphOp *op = &graph->ops.items[i];
        for (uint32_t k = 0; k < op->operand_count; k++) {
            PlanUse *use = &task->uses[op->operands[k]];
            use->count++;
            use->first = i;
            if (op->kind == GRAPH_GEMM)
                use->axis = k == 0 ? !op->transpose_left : op->transpose_right;
            else if (op->result != GRAPH_NONE)
                use->axis = task->uses[op->result].axis;
            if (op->kind != GRAPH_GEMM)
                task->absorbed[graph->values.items[op->operands[k]].op] = false;
        }
    }
    for (uint32_t i = 0; i < graph->ops.count; i++)
        if (graph->ops.items[i].kind == GRAPH_ADD)
            task->absorbed[i] = is_bias_of_gelu(graph, task, &graph->ops.items[i]);
    return STATUS_OK;
}

static void place_device_inputs(const Graph *graph, const PlanOptions *options, PlanTask *task) {
    uint32_t group = precision_group((Precision){.kind = task->gemm.precision});
    for (int i = 0; i < 2; i++) {
        GemmOperand *operand = &task->gemm.operands[i];
        operand->device = !operand->parameter && options->device_input;
        if (operand->device)
            operand->home = plan_device_format(&graph->values.items[operand->value].shape,
                                               operand->inner_axis == 0, group, options->tiles);
    }
}

bool task_on_chip(const Graph *graph, const GemmOperand *operand, bool device_input) {
    switch (graph->ops.items[graph->values.items[operand->source].op].kind) {
    case GRAPH_PARAMETER: return false;
    case GRAPH_INPUT: return device_input;
    default: return true;
    }
}

Status task_find(const Graph *graph, const PlanOptions *options, PlanTask *task, Diag *diag) {
    *task = (PlanTask){.kind = TASK_CAST, .op = only_cast(graph, options)};
    if (task->op != GRAPH_NONE) {
        Status status = check_formats(graph, options, diag);
        return status || vec_push(&task->choosing, task->op) ? status : no_memory(diag);
    }
    Status status = find_gemms(graph, task, diag);
    if (status)
        return status;
    task->kind = TASK_GRAPH;
    if (task->choosing.count == 1 && is_single(graph, task->choosing.items[0])) {
        task->kind = TASK_GEMM;
        task->op = task->choosing.items[0];
        task->gemm = gemm_describe(graph, task->op);
        place_device_inputs(graph, options, task);
        return STATUS_OK;
    }
    return find_uses(graph, task, diag);
}

void task_free(PlanTask *task) {
    vec_free(&task->choosing);
    mem_free(task->absorbed);
    mem_free(task->uses);
    *task = (PlanTask){0};
}

bool task_sketch(const Graph *graph, const PlanTask *task, const GemmChoice choices[],
                 const PlanOptions *options, PriceTable *table, Sketch *sketch) {
    sketch_begin(sketch, graph);
    if (sketch->no_memory)
        return false;
    switch (task->kind) {
    case TASK_CAST: return sketch_cast(sketch, task->op, &choices->operands[0], options, table);
    case TASK_GEMM: sketch_add_gemm(sketch, &task->gemm, choices, table); break;
    case TASK_GRAPH: task_assemble(task, choices, options, table, sketch); break;
    }
    return sketch->possible;
}

static Status sketch_to_plan(const PlanTask *task, const GemmChoice choices[],
                             const PlanOptions *options, Sketch *sketch, Plan *plan, Diag *diag) {
    Status status = sketch_plan(sketch, plan, diag);
    if (status)
        return status;
    plan->tiles = options->tiles;
    plan->device_input = options->device_input;
    plan->choice_count = (uint32_t)task->choosing.count;
    plan->choices = mem_alloc(task->choosing.count + 1, sizeof *plan->choices);
    if (!plan->choices) {
        plan_free(plan);
        return no_memory(diag);
    }
    for (size_t i = 0; i < task->choosing.count; i++)
        plan->choices[i] = (PlanChoice){task->choosing.items[i], choices[i]};
    status = loop_find(sketch->graph, plan, diag);
    if (status)
        plan_free(plan);
    return status;
}

Status task_plan(const Graph *graph, const PlanTask *task, const GemmChoice choices[],
                 const PlanOptions *options, Plan *plan, Diag *diag) {
    Sketch sketch = {0};
    *plan = (Plan){0};
    Status status;
    if (task_sketch(graph, task, choices, options, NULL, &sketch))
        status = sketch_to_plan(task, choices, options, &sketch, plan, diag);
    else if (sketch.no_memory)
        status = no_memory(diag);
    else
        status = diag_error(diag, ERR_PLAN_GRID, DIAG_NOWHERE,
                            "with this grid an operand is larger than the memory of a tile");
    sketch_free(&sketch);
    return status;
}
