/* GEMMs with leading axes become products of matrices, one by one, on row ranges of their operands.
 */
#include "graph/internal.h"

typedef struct Split {
    const Graph *from;
    Graph *out;
    uint32_t *map; /* values of `from` → of `out` */
    uint32_t *ops; /* the same of operations */
    Arena arena;
    Diag *diag;
} Split;

static Status no_memory(Diag *diag) {
    return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory left for the graph");
}

/* "result.part.number", with more in front if such a name is in use. */
static const char *fresh_name(Split *split, const char *result, const char *part, uint64_t number) {
    const char *name =
        arena_printf(&split->arena, "%s%s.%llu", result, part, (unsigned long long)number);
    uint64_t value;
    while (name && (strmap_get(split->out->value_names, name, &value) ||
                    strmap_get(split->from->value_names, name, &value)))
        name = arena_printf(&split->arena, "_%s", name);
    return name;
}

static bool is_batched(const GraphOp *op) {
    return op->kind == GRAPH_GEMM && op->batch > 1;
}

/* Rows of the matrices of a value of a batched GEMM. */
static uint32_t matrix_rows(const GraphValue *value) {
    return value->logical.dims[value->logical.rank - 2];
}

/* The matrix of an operand that begins at a row; of a cast operand, that of its source is cast. */
static Status take_matrix(Split *split, const GraphOp *gemm, uint32_t side, uint64_t batch,
                          uint64_t row, uint32_t *value) {
    const Graph *from = split->from;
    uint32_t operand = gemm->operands[side], source = operand;
    const GraphOp *cast = &from->ops.items[from->values.items[operand].op];
    const GraphValue *used = &from->values.items[operand];
    uint32_t rows = matrix_rows(used);
    if (rows == used->shape.dims[0]) {
        *value = split->map[operand];
        return STATUS_OK;
    }
    if (cast->kind == GRAPH_CAST)
        source = cast->operands[0];
    const char *result = from->values.items[gemm->result].name;
    GraphResult slice = {.value_name = fresh_name(split, result, side ? ".right" : ".left", batch),
                         .precision = from->values.items[source].precision,
                         .shape = {.rank = 2, .dims = {rows, used->shape.dims[1]}}};
    if (!slice.value_name)
        return no_memory(split->diag);
    GraphOp op = {.kind = GRAPH_ROWS, .operand_count = 1, .result_count = 1, .row = row};
    Status status = graph_add_op(split->out, op, &split->map[source], &slice, value, split->diag);
    if (status != STATUS_OK || source == operand)
        return status;
    const char *name = fresh_name(split, result, side ? ".right.cast" : ".left.cast", batch);
    return name ? graph_add_cast(split->out, name, *value, used->precision, value, split->diag)
                : no_memory(split->diag);
}

/* Matrices that several products take are taken out once. */
static Status take_operand(Split *split, uint32_t index, uint32_t side, uint64_t batch,
                           uint32_t *taken) {
    const GraphOp *gemm = &split->from->ops.items[index];
    uint64_t row = graph_matrix_row(split->from, index, side, batch);
    for (uint64_t i = 0; i < batch; i++)
        if (graph_matrix_row(split->from, index, side, i) == row) {
            taken[batch] = taken[i];
            return STATUS_OK;
        }
    return take_matrix(split, gemm, side, batch, row, &taken[batch]);
}

static Status split_gemm(Split *split, uint32_t index) {
    const GraphOp *gemm = &split->from->ops.items[index];
    const GraphValue *result = &split->from->values.items[gemm->result];
    uint32_t *taken[2], *products = ARENA_NEW(&split->arena, uint32_t, gemm->batch);
    for (int side = 0; side < 2; side++)
        taken[side] = ARENA_NEW(&split->arena, uint32_t, gemm->batch);
    if (!taken[0] || !taken[1] || !products)
        return no_memory(split->diag);
    for (uint64_t batch = 0; batch < gemm->batch; batch++) {
        Status status = STATUS_OK;
        for (uint32_t side = 0; side < 2 && status == STATUS_OK; side++)
            status = take_operand(split, index, side, batch, taken[side]);
        const char *name = fresh_name(split, result->name, "", batch);
        if (status == STATUS_OK && !name)
            status = no_memory(split->diag);
        if (status == STATUS_OK)
            status = graph_add_gemm(split->out, name, taken[0][batch], taken[1][batch],
                                    gemm->transpose_left, gemm->transpose_right, &products[batch],
                                    split->diag);
        if (status != STATUS_OK)
            return status;
    }
    GraphOp stack = {
        .kind = GRAPH_STACK, .operand_count = (uint32_t)gemm->batch, .result_count = 1};
    return graph_add_op(split->out, stack, products,
                        &(GraphResult){result->name, result->precision, result->logical},
                        &split->map[gemm->result], split->diag);
}

/* Is the operation a cast of which only matrices are taken? They are cast themselves. */
static bool is_cast_of_matrices(const Graph *graph, uint32_t index) {
    const GraphOp *cast = &graph->ops.items[index];
    if (cast->kind != GRAPH_CAST)
        return false;
    const GraphValue *value = &graph->values.items[cast->result];
    for (size_t i = 0; i < graph->ops.count; i++)
        for (uint32_t k = 0; k < graph->ops.items[i].operand_count; k++)
            if (graph->ops.items[i].operands[k] == cast->result &&
                (!is_batched(&graph->ops.items[i]) || matrix_rows(value) == value->shape.dims[0]))
                return false;
    return true;
}

static Status split_op(Split *split, uint32_t index) {
    const GraphOp *op = &split->from->ops.items[index];
    Graph *out = split->out;
    split->ops[index] = (uint32_t)out->ops.count;
    out->place = (DiagPlace){.file = out->file, .line = op->line, .tile = -1};
    if (is_batched(op))
        return split_gemm(split, index);
    if (is_cast_of_matrices(split->from, index))
        return STATUS_OK;
    uint32_t operands[2] = {0}, value = GRAPH_NONE;
    for (uint32_t k = 0; k < op->operand_count; k++)
        operands[k] = split->map[op->operands[k]];
    const char *name = op->result == GRAPH_NONE ? NULL : split->from->values.items[op->result].name;
    Status status = graph_add_same(out, split->from, op, name, operands, &value, split->diag);
    if (status != STATUS_OK)
        return status;
    if (op->result != GRAPH_NONE)
        split->map[op->result] = value;
    if (op->first != GRAPH_NONE)
        out->ops.items[split->ops[index]].first = split->ops[op->first];
    return STATUS_OK;
}

Status graph_split(const Graph *graph, Graph **split, Diag *diag) {
    Split work = {.from = graph, .diag = diag};
    work.map = ARENA_NEW(&work.arena, uint32_t, graph->values.count + 1);
    work.ops = ARENA_NEW(&work.arena, uint32_t, graph->ops.count + 1);
    Status status =
        work.map && work.ops ? graph_create_like(graph, &work.out, diag) : no_memory(diag);
    for (uint32_t i = 0; i < graph->ops.count && status == STATUS_OK; i++)
        status = split_op(&work, i);
    if (status == STATUS_OK)
        status = graph_flatten(work.out, diag);
    arena_free(&work.arena);
    if (status != STATUS_OK) {
        graph_free(work.out);
        return status;
    }
    work.out->place = DIAG_NOWHERE;
    *split = work.out;
    return STATUS_OK;
}
