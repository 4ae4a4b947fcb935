#include "graph/graph.h"

#include "base/text.h"
#include "graph/internal.h"

#include <assert.h>
#include <string.h>

static Status no_memory(Diag *diag) {
    return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory left for the graph");
}

Status graph_create(Graph **graph, Diag *diag) {
    Graph *created = mem_alloc(1, sizeof *created);
    if (created) {
        created->place = DIAG_NOWHERE;
        created->value_names = strmap_create();
        created->port_names = strmap_create();
    }
    if (!created || !created->value_names || !created->port_names) {
        graph_free(created);
        return no_memory(diag);
    }
    *graph = created;
    return STATUS_OK;
}

void graph_free(Graph *graph) {
    if (!graph)
        return;
    for (size_t i = 0; i < graph->ops.count; i++)
        graph_free(graph->ops.items[i].body);
    vec_free(&graph->values);
    vec_free(&graph->ops);
    strmap_free(graph->value_names);
    strmap_free(graph->port_names);
    arena_free(&graph->arena);
    mem_free(graph);
}

bool graph_is_name_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

Status graph_check_value_name(const Graph *graph, const char *name, DiagPlace place, Diag *diag) {
    size_t length = 0;
    while (graph_is_name_character(name[length]))
        length++;
    if (length == 0 || name[length] != 0)
        return diag_error(diag, ERR_GRAPH_NAME, place,
                          "a value's name is made of letters, digits, '_' and '.'");
    uint64_t value;
    if (strmap_get(graph->value_names, name, &value)) {
        diag_error(diag, ERR_GRAPH_NAME, place, "%%%s is already defined", name);
        uint32_t line = graph->ops.items[graph->values.items[value].op].line;
        if (line)
            diag_note(diag, "the first definition is in line %u", line);
        return ERR_GRAPH_NAME;
    }
    return STATUS_OK;
}

Status graph_check_port_name(const Graph *graph, const char *name, DiagPlace place, Diag *diag) {
    size_t size = strlen(name);
    if (size == 0)
        return diag_error(diag, ERR_GRAPH_NAME, place, "the name is empty");
    uint32_t code_point;
    for (size_t at = 0, length; at < size; at += length) {
        length = utf8_next(name + at, size - at, &code_point);
        if (length == 0)
            return diag_error(diag, ERR_GRAPH_NAME, place, "the name is not valid UTF-8");
        if (code_point < 0x20 || code_point == 0x7F)
            return diag_error(diag, ERR_GRAPH_NAME, place, "the name holds a control character");
    }
    uint64_t op;
    if (strmap_get(graph->port_names, name, &op)) {
        const GraphOp *owner = &graph->ops.items[op];
        diag_error(diag, ERR_GRAPH_NAME, place, "another %s has the name \"%s\"",
                   graph_op_name(owner->kind), name);
        if (owner->line)
            diag_note(diag, "it was given in line %u", owner->line);
        return ERR_GRAPH_NAME;
    }
    return STATUS_OK;
}

Status graph_check_type(const Graph *graph, Precision precision, const Shape *shape, Diag *diag) {
    if (precision.kind == PRECISION_F8F143 ? precision.scale_exponent < PRECISION_SCALE_MIN ||
                                                 precision.scale_exponent > PRECISION_SCALE_MAX
                                           : precision.scale_exponent != 0)
        return diag_error(diag, ERR_GRAPH_SCALE, graph->place,
                          "scale exponent %d is outside %d…%d (0 for F16 and F32)",
                          precision.scale_exponent, PRECISION_SCALE_MIN, PRECISION_SCALE_MAX);
    if (shape->rank > SHAPE_MAX_RANK)
        return diag_error(diag, ERR_GRAPH_SHAPE, graph->place, "more than %d axes", SHAPE_MAX_RANK);
    for (uint32_t axis = 0; axis < shape->rank; axis++) {
        if (shape->dims[axis] == 0)
            return diag_error(diag, ERR_GRAPH_SHAPE, graph->place, "axis %u has no elements", axis);
    }
    uint64_t count;
    if (!shape_count(shape, &count))
        return diag_error(diag, ERR_GRAPH_SHAPE, graph->place,
                          "the number of elements does not fit 63 bits");
    return STATUS_OK;
}

/* Names the operation and defines its values; the lists have room. */
static Status define(Graph *graph, GraphOp *op, const GraphResult *results) {
    if (op->name) {
        op->name = arena_strdup(&graph->arena, op->name);
        if (!op->name || !strmap_put(graph->port_names, op->name, graph->ops.count))
            return ERR_NO_MEMORY;
    }
    for (uint32_t i = 0; i < op->result_count; i++) {
        GraphValue defined = {.name = arena_strdup(&graph->arena, results[i].value_name),
                              .precision = results[i].precision,
                              .shape = results[i].shape,
                              .logical = results[i].shape,
                              .op = (uint32_t)graph->ops.count};
        if (!defined.name || !strmap_put(graph->value_names, defined.name, graph->values.count))
            return ERR_NO_MEMORY;
        graph->values.items[graph->values.count++] = defined;
    }
    return STATUS_OK;
}

Status graph_add_op(Graph *graph, GraphOp op, const uint32_t *operands, const GraphResult *results,
                    uint32_t *value, Diag *diag) {
    if (graph->ops.count && graph->ops.items[graph->ops.count - 1].kind == GRAPH_YIELD)
        return diag_error(diag, ERR_GRAPH_REPEAT, graph->place, "nothing may follow the yield");
    uint32_t *copy = ARENA_NEW(&graph->arena, uint32_t, op.operand_count + 1);
    if (!copy || !vec_reserve(&graph->ops, 1) || !vec_reserve(&graph->values, op.result_count))
        return no_memory(diag);
    for (uint32_t i = 0; i < op.operand_count; i++)
        copy[i] = operands[i];
    op.operands = copy;
    op.result = op.result_count ? (uint32_t)graph->values.count : GRAPH_NONE;
    op.line = graph->place.line;
    op.first = op.first_block = GRAPH_NONE;
    if (define(graph, &op, results) != STATUS_OK)
        return no_memory(diag);
    graph->ops.items[graph->ops.count++] = op;
    if (op.result_count)
        *value = op.result;
    return STATUS_OK;
}

static Status add_source(Graph *graph, GraphOpKind kind, const char *name,
                         const GraphResult *result, uint32_t *value, Diag *diag) {
    assert(!graph->is_body);
    Status status = graph_check_value_name(graph, result->value_name, graph->place, diag);
    if (status == STATUS_OK)
        status = graph_check_port_name(graph, name, graph->place, diag);
    if (status == STATUS_OK)
        status = graph_check_type(graph, result->precision, &result->shape, diag);
    if (status != STATUS_OK)
        return status;
    return graph_add_op(graph, (GraphOp){.kind = kind, .name = name, .result_count = 1}, NULL,
                        result, value, diag);
}

Status graph_add_input(Graph *graph, const char *value_name, const char *name, Precision precision,
                       Shape shape, uint32_t *value, Diag *diag) {
    return add_source(graph, GRAPH_INPUT, name, &(GraphResult){value_name, precision, shape}, value,
                      diag);
}

Status graph_add_parameter(Graph *graph, const char *value_name, const char *name,
                           Precision precision, Shape shape, uint32_t *value, Diag *diag) {
    return add_source(graph, GRAPH_PARAMETER, name, &(GraphResult){value_name, precision, shape},
                      value, diag);
}

bool graph_broadcast(const Shape *left, uint32_t left_rank, const Shape *right, uint32_t right_rank,
                     Shape *result) {
    uint32_t rank = MAX_OF(left_rank, right_rank);
    for (uint32_t i = 1; i <= rank; i++) {
        uint32_t a = i <= left_rank ? left->dims[left_rank - i] : 1;
        uint32_t b = i <= right_rank ? right->dims[right_rank - i] : 1;
        if (a != b && a != 1 && b != 1)
            return false;
        result->dims[rank - i] = a == 1 ? b : a;
    }
    result->rank = rank;
    return true;
}

/* Rows and columns of an operand after its transposition. */
static void matrix_extents(const Shape *shape, bool transpose, uint32_t *rows, uint32_t *columns) {
    uint32_t a = shape->dims[shape->rank - 2], b = shape->dims[shape->rank - 1];
    *rows = transpose ? b : a;
    *columns = transpose ? a : b;
}

static Status infer_gemm(const Graph *graph, const GraphValue *left, const GraphValue *right,
                         bool transpose_left, bool transpose_right, GraphResult *result,
                         Diag *diag) {
    char left_text[SHAPE_TEXT_SIZE], right_text[SHAPE_TEXT_SIZE];
    char left_type[PRECISION_TEXT_SIZE], right_type[PRECISION_TEXT_SIZE];
    shape_print(&left->shape, left_text);
    shape_print(&right->shape, right_text);
    if (left->shape.rank < 2 || right->shape.rank < 2)
        return diag_error(diag, ERR_GRAPH_SHAPE, graph->place,
                          "the operands of gemm have two axes or more; these are %s and %s",
                          left_text, right_text);
    uint32_t rows, inner, right_inner, columns;
    matrix_extents(&left->shape, transpose_left, &rows, &inner);
    matrix_extents(&right->shape, transpose_right, &right_inner, &columns);
    if (inner != right_inner) {
        diag_error(diag, ERR_GRAPH_SHAPE, graph->place,
                   "inner extents differ: left %s gives %u, right %s gives %u", left_text, inner,
                   right_text, right_inner);
        uint32_t flipped_inner, flipped_columns;
        matrix_extents(&right->shape, !transpose_right, &flipped_inner, &flipped_columns);
        if (flipped_inner == inner)
            diag_fix(diag, "transpose_right=%s fits", transpose_right ? "false" : "true");
        return ERR_GRAPH_SHAPE;
    }
    if (!graph_broadcast(&left->shape, left->shape.rank - 2, &right->shape, right->shape.rank - 2,
                         &result->shape))
        return diag_error(diag, ERR_GRAPH_SHAPE, graph->place,
                          "leading axes of %s and %s cannot be broadcast: each pair, counted from "
                          "the right, must be equal or hold a 1",
                          left_text, right_text);
    result->shape.dims[result->shape.rank++] = rows;
    result->shape.dims[result->shape.rank++] = columns;
    if (left->precision.kind != right->precision.kind || left->precision.kind == PRECISION_F32)
        return diag_error(diag, ERR_GRAPH_PRECISION, graph->place,
                          "gemm takes two f16 or two f8f143 operands, not %s and %s",
                          precision_print(left->precision, left_type),
                          precision_print(right->precision, right_type));
    result->precision = (Precision){.kind = PRECISION_F16};
    return graph_check_type(graph, result->precision, &result->shape, diag);
}

Status graph_add_gemm(Graph *graph, const char *value_name, uint32_t left, uint32_t right,
                      bool transpose_left, bool transpose_right, uint32_t *value, Diag *diag) {
    Status status = graph_check_value_name(graph, value_name, graph->place, diag);
    GraphResult result = {.value_name = value_name};
    if (status == STATUS_OK)
        status = infer_gemm(graph, &graph->values.items[left], &graph->values.items[right],
                            transpose_left, transpose_right, &result, diag);
    if (status != STATUS_OK)
        return status;
    GraphOp op = {.kind = GRAPH_GEMM,
                  .operand_count = 2,
                  .result_count = 1,
                  .batch = 1,
                  .transpose_left = transpose_left,
                  .transpose_right = transpose_right};
    for (uint32_t axis = 0; axis + 2 < result.shape.rank; axis++)
        op.batch *= result.shape.dims[axis];
    return graph_add_op(graph, op, (uint32_t[]){left, right}, &result, value, diag);
}

Status graph_add_cast(Graph *graph, const char *value_name, uint32_t operand, Precision precision,
                      uint32_t *value, Diag *diag) {
    const GraphValue *from = &graph->values.items[operand];
    char given[PRECISION_TEXT_SIZE], wanted[PRECISION_TEXT_SIZE];
    Status status = graph_check_value_name(graph, value_name, graph->place, diag);
    if (status == STATUS_OK &&
        (from->precision.kind != PRECISION_F16 || precision.kind != PRECISION_F8F143))
        status =
            diag_error(diag, ERR_GRAPH_PRECISION, graph->place,
                       "a cast goes from f16 to f8f143, not from %s to %s",
                       precision_print(from->precision, given), precision_print(precision, wanted));
    if (status == STATUS_OK)
        status = graph_check_type(graph, precision, &from->shape, diag);
    if (status != STATUS_OK)
        return status;
    GraphResult result = {value_name, precision, from->shape};
    return graph_add_op(graph, (GraphOp){.kind = GRAPH_CAST, .operand_count = 1, .result_count = 1},
                        &operand, &result, value, diag);
}

static Status want_f16(const Graph *graph, const char *operation, uint32_t operand, Diag *diag) {
    char given[PRECISION_TEXT_SIZE];
    const GraphValue *value = &graph->values.items[operand];
    if (value->precision.kind == PRECISION_F16)
        return STATUS_OK;
    return diag_error(diag, ERR_GRAPH_PRECISION, graph->place, "%s takes f16 values; %%%s is %s",
                      operation, value->name, precision_print(value->precision, given));
}

Status graph_add_gelu(Graph *graph, const char *value_name, uint32_t operand, uint32_t *value,
                      Diag *diag) {
    Status status = graph_check_value_name(graph, value_name, graph->place, diag);
    if (status == STATUS_OK)
        status = want_f16(graph, "gelu", operand, diag);
    if (status != STATUS_OK)
        return status;
    const GraphValue *from = &graph->values.items[operand];
    GraphResult result = {value_name, from->precision, from->shape};
    return graph_add_op(graph, (GraphOp){.kind = GRAPH_GELU, .operand_count = 1, .result_count = 1},
                        &operand, &result, value, diag);
}

Status graph_add_add(Graph *graph, const char *value_name, uint32_t left, uint32_t right,
                     uint32_t *value, Diag *diag) {
    char left_text[SHAPE_TEXT_SIZE], right_text[SHAPE_TEXT_SIZE];
    Status status = graph_check_value_name(graph, value_name, graph->place, diag);
    if (status == STATUS_OK)
        status = want_f16(graph, "add", left, diag);
    if (status == STATUS_OK)
        status = want_f16(graph, "add", right, diag);
    if (status != STATUS_OK)
        return status;
    const Shape *a = &graph->values.items[left].shape, *b = &graph->values.items[right].shape;
    GraphResult result = {value_name, {.kind = PRECISION_F16}, {0}};
    if (!graph_broadcast(a, a->rank, b, b->rank, &result.shape))
        return diag_error(diag, ERR_GRAPH_SHAPE, graph->place,
                          "%s and %s cannot be broadcast: each pair of extents, counted from the "
                          "right, must be equal or hold a 1",
                          shape_print(a, left_text), shape_print(b, right_text));
    status = graph_check_type(graph, result.precision, &result.shape, diag);
    if (status != STATUS_OK)
        return status;
    return graph_add_op(graph, (GraphOp){.kind = GRAPH_ADD, .operand_count = 2, .result_count = 1},
                        (uint32_t[]){left, right}, &result, value, diag);
}

Status graph_add_output(Graph *graph, const char *name, uint32_t value, Diag *diag) {
    assert(!graph->is_body);
    Status status = graph_check_port_name(graph, name, graph->place, diag);
    if (status != STATUS_OK)
        return status;
    GraphOp op = {.kind = GRAPH_OUTPUT, .name = name, .operand_count = 1};
    return graph_add_op(graph, op, &value, NULL, NULL, diag);
}

/* Reports the first operation of whose results no operation takes any. */
static Status check_used(const Graph *graph, const bool *used, Diag *diag) {
    for (size_t i = 0; i < graph->ops.count; i++) {
        const GraphOp *op = &graph->ops.items[i];
        bool any = op->result_count == 0;
        for (uint32_t k = 0; k < op->result_count; k++)
            any |= used[op->result + k];
        if (any)
            continue;
        DiagPlace place = {.file = graph->file, .line = op->line, .tile = -1};
        diag_error(diag, ERR_GRAPH_UNUSED, place, "%%%s is never used",
                   graph->values.items[op->result].name);
        diag_fix(diag, graph->is_body ? "remove it or yield it" : "remove it or make it an output");
        return ERR_GRAPH_UNUSED;
    }
    return STATUS_OK;
}

/* The rules of a graph or a body, and of all bodies in it. */
static Status check_level(const Graph *graph, Diag *diag) {
    bool *used = mem_alloc(graph->values.count + 1, sizeof *used);
    if (!used)
        return no_memory(diag);
    bool ends = false;
    Status status = STATUS_OK;
    for (size_t i = 0; i < graph->ops.count && status == STATUS_OK; i++) {
        const GraphOp *op = &graph->ops.items[i];
        ends |= op->kind == GRAPH_OUTPUT || op->kind == GRAPH_YIELD;
        for (uint32_t k = 0; k < op->operand_count; k++)
            used[op->operands[k]] = true;
        if (op->kind == GRAPH_REPEAT)
            status = check_level(op->body, diag);
    }
    if (status == STATUS_OK && !ends)
        status = diag_error(diag, ERR_GRAPH_OUTPUT, (DiagPlace){.file = graph->file, .tile = -1},
                            "the graph has no output");
    if (status == STATUS_OK)
        status = check_used(graph, used, diag);
    mem_free(used);
    return status;
}

Status graph_check(const Graph *graph, Diag *diag) {
    return check_level(graph, diag);
}

GraphGemm graph_gemm(const Graph *graph, uint32_t op) {
    const GraphOp *gemm = &graph->ops.items[op];
    const GraphValue *left = &graph->values.items[gemm->operands[0]];
    const Shape *result = &graph->values.items[gemm->result].shape;
    GraphGemm extents = {.batch = gemm->batch, .columns = result->dims[result->rank - 1]};
    matrix_extents(gemm->batch == 1 ? &left->shape : &left->logical, gemm->transpose_left,
                   &extents.rows, &extents.inner);
    return extents;
}

uint64_t graph_matrix_row(const Graph *graph, uint32_t op, uint32_t operand, uint64_t batch) {
    const GraphOp *gemm = &graph->ops.items[op];
    const Shape *shape = &graph->values.items[gemm->operands[operand]].logical;
    const Shape *result = &graph->values.items[gemm->result].logical;
    if (gemm->batch == 1)
        return 0;
    uint32_t axes = shape->rank - 2, result_axes = result->rank - 2;
    uint64_t row = 0, stride = shape->dims[shape->rank - 2];
    for (uint32_t i = 1; i <= axes; i++) {
        uint32_t extent = shape->dims[axes - i];
        row += (extent > 1 ? batch % result->dims[result_axes - i] : 0) * stride;
        stride *= extent;
        batch /= result->dims[result_axes - i];
    }
    return row;
}

uint32_t graph_find_port(const Graph *graph, const char *name) {
    uint64_t op;
    return strmap_get(graph->port_names, name, &op) ? (uint32_t)op : GRAPH_NONE;
}

uint32_t graph_port_value(const Graph *graph, uint32_t op) {
    const GraphOp *port = &graph->ops.items[op];
    return port->kind == GRAPH_OUTPUT ? port->operands[0] : port->result;
}

const char *graph_op_name(GraphOpKind kind) {
    static const char *const names[] = {
        [GRAPH_INPUT] = "input",   [GRAPH_PARAMETER] = "parameter", [GRAPH_GEMM] = "gemm",
        [GRAPH_CAST] = "cast",     [GRAPH_GELU] = "gelu",           [GRAPH_ADD] = "add",
        [GRAPH_REPEAT] = "repeat", [GRAPH_OUTPUT] = "output",       [GRAPH_ARGUMENT] = "argument",
        [GRAPH_YIELD] = "yield",   [GRAPH_ROWS] = "rows",           [GRAPH_STACK] = "stack"};
    return names[kind];
}
