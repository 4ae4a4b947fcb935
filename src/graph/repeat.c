/* Repeats: bodies, their arguments and yields. */
#include "graph/internal.h"

#include <assert.h>
#include <string.h>

Status graph_create_body(Graph **body, Diag *diag) {
    Status status = graph_create(body, diag);
    if (status == STATUS_OK)
        (*body)->is_body = true;
    return status;
}

Status graph_add_argument(Graph *body, const char *value_name, GraphArgumentKind kind,
                          Precision precision, Shape shape, uint32_t *value, Diag *diag) {
    assert(body->is_body);
    const GraphOp *last = body->ops.count ? &body->ops.items[body->ops.count - 1] : NULL;
    if (last && (last->kind != GRAPH_ARGUMENT || last->argument > kind))
        return diag_error(diag, ERR_GRAPH_REPEAT, body->place,
                          "first come the carried arguments, then the invariant ones, then the "
                          "iterated ones, then the operations");
    Status status = graph_check_value_name(body, value_name, body->place, diag);
    if (status == STATUS_OK)
        status = graph_check_type(body, precision, &shape, diag);
    if (status != STATUS_OK)
        return status;
    GraphOp op = {.kind = GRAPH_ARGUMENT, .argument = kind, .result_count = 1};
    return graph_add_op(body, op, NULL, &(GraphResult){value_name, precision, shape}, value, diag);
}

Status graph_check_handed(const GraphValue *operand, const GraphValue *argument, DiagPlace place,
                          Diag *diag) {
    char is_type[PRECISION_TEXT_SIZE], wanted_type[PRECISION_TEXT_SIZE];
    char is_shape[SHAPE_TEXT_SIZE], wanted_shape[SHAPE_TEXT_SIZE];
    bool type_fits = precision_equal(operand->precision, argument->precision);
    if (type_fits && shape_equal(&operand->shape, &argument->shape))
        return STATUS_OK;
    return diag_error(diag, type_fits ? ERR_GRAPH_SHAPE : ERR_GRAPH_PRECISION, place,
                      "%%%s is %s%s, not %s%s as argument %%%s", operand->name,
                      precision_print(operand->precision, is_type),
                      shape_print(&operand->shape, is_shape),
                      precision_print(argument->precision, wanted_type),
                      shape_print(&argument->shape, wanted_shape), argument->name);
}

static uint32_t count_arguments(const Graph *body, GraphArgumentKind kind) {
    uint32_t count = 0;
    for (size_t i = 0; i < body->ops.count && body->ops.items[i].kind == GRAPH_ARGUMENT; i++)
        count += body->ops.items[i].argument == kind;
    return count;
}

Status graph_add_yield(Graph *body, const uint32_t *values, uint32_t count, Diag *diag) {
    assert(body->is_body);
    uint32_t carried = count_arguments(body, GRAPH_CARRIED);
    if (count != carried)
        return diag_error(diag, ERR_GRAPH_REPEAT, body->place,
                          "%u carried arguments need as many yielded values; these are %u", carried,
                          count);
    Status status = STATUS_OK;
    for (uint32_t i = 0; i < count && status == STATUS_OK; i++)
        status = graph_check_handed(&body->values.items[values[i]], &body->values.items[i],
                                    body->place, diag);
    if (status != STATUS_OK)
        return status;
    return graph_add_op(body, (GraphOp){.kind = GRAPH_YIELD, .operand_count = count}, values, NULL,
                        NULL, diag);
}

/* Counts of arguments and operands. */
static Status check_counts(const Graph *graph, const GraphOp *repeat, Diag *diag) {
    const Graph *body = repeat->body;
    if (repeat->times == 0)
        return diag_error(diag, ERR_GRAPH_REPEAT, graph->place, "a repeat runs at least once");
    if (repeat->carried == 0)
        return diag_error(diag, ERR_GRAPH_REPEAT, graph->place, "a repeat carries nothing");
    if (body->ops.items[body->ops.count - 1].kind != GRAPH_YIELD)
        return diag_error(diag, ERR_GRAPH_REPEAT, graph->place,
                          "the body of the repeat yields nothing");
    uint64_t wanted =
        repeat->carried + repeat->invariant + (uint64_t)repeat->iterated * repeat->times;
    if (repeat->operand_count != wanted)
        return diag_error(diag, ERR_GRAPH_REPEAT, graph->place,
                          "a repeat with %u carried, %u invariant and %u iterated arguments that "
                          "runs %u times takes %llu operands, not %u",
                          repeat->carried, repeat->invariant, repeat->iterated, repeat->times,
                          (unsigned long long)wanted, repeat->operand_count);
    return STATUS_OK;
}

/* Names and types of the results, types of the operands. */
static Status check_repeat(const Graph *graph, const GraphOp *repeat, const uint32_t *operands,
                           const char *const *value_names, Diag *diag) {
    Status status = check_counts(graph, repeat, diag);
    for (uint32_t i = 0; i < repeat->operand_count && status == STATUS_OK; i++)
        status = graph_check_handed(&graph->values.items[operands[i]],
                                    &repeat->body->values.items[graph_repeat_argument(repeat, i)],
                                    graph->place, diag);
    for (uint32_t i = 0; i < repeat->carried && status == STATUS_OK; i++) {
        status = graph_check_value_name(graph, value_names[i], graph->place, diag);
        for (uint32_t k = 0; k < i && status == STATUS_OK; k++)
            if (strcmp(value_names[i], value_names[k]) == 0)
                status = diag_error(diag, ERR_GRAPH_NAME, graph->place,
                                    "two results have the name %%%s", value_names[i]);
    }
    return status;
}

uint32_t graph_repeat_argument(const GraphOp *repeat, uint32_t operand) {
    uint32_t single = repeat->carried + repeat->invariant;
    return operand < single ? operand : single + (operand - single) / repeat->times;
}

Status graph_add_repeat(Graph *graph, const char *const *value_names, uint32_t times, Graph *body,
                        const uint32_t *operands, uint32_t operand_count, uint32_t *values,
                        Diag *diag) {
    assert(body->is_body);
    GraphOp repeat = {.kind = GRAPH_REPEAT,
                      .operand_count = operand_count,
                      .times = times,
                      .carried = count_arguments(body, GRAPH_CARRIED),
                      .invariant = count_arguments(body, GRAPH_INVARIANT),
                      .iterated = count_arguments(body, GRAPH_ITERATED),
                      .body = body};
    Status status = check_repeat(graph, &repeat, operands, value_names, diag);
    if (status != STATUS_OK)
        return status;
    repeat.result_count = repeat.carried;
    GraphResult *results = mem_alloc(repeat.carried, sizeof *results);
    if (!results)
        return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory left for the graph");
    for (uint32_t i = 0; i < repeat.carried; i++) {
        const GraphValue *argument = &body->values.items[i];
        results[i] = (GraphResult){value_names[i], argument->precision, argument->shape};
    }
    status = graph_add_op(graph, repeat, operands, results, values, diag);
    mem_free(results);
    return status;
}
