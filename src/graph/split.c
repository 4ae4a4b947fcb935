/* GEMMs with leading axes become products of matrices, one by one, on row ranges of their operands;
 * sums whose operands' rows meet in turn become sums of such ranges. What takes a range that is the
 * result of one of these takes that result. */
#include "graph/internal.h"

/* A value that exists as ranges of `rows` rows each, one after the other. */
typedef struct Pieces {
    uint32_t count, rows; /* count 0: it does not */
    const uint32_t *values;
} Pieces;

typedef struct Split {
    const Graph *from;
    Graph *out;
    uint32_t *map;  /* values of `from` → of `out`, GRAPH_NONE: only pieces so far */
    Pieces *pieces; /* of values of `from` */
    uint32_t *ops;  /* operations of `from` → of `out` */
    Arena arena;
    Diag *diag;
} Split;

static Status no_memory(Diag *diag) {
    return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory left for the graph");
}

const char *graph_fresh_name(Arena *arena, const Graph *out, const Graph *from, const char *name) {
    uint64_t value;
    while (name && (strmap_get(out->value_names, name, &value) ||
                    strmap_get(from->value_names, name, &value)))
        name = arena_printf(arena, "_%s", name);
    return name;
}

/* "result.part.number", with more in front if such a name is in use. */
static const char *fresh_name(Split *split, const char *result, const char *part, uint64_t number) {
    const char *name =
        arena_printf(&split->arena, "%s%s.%llu", result, part, (unsigned long long)number);
    return graph_fresh_name(&split->arena, split->out, split->from, name);
}

static bool is_batched(const GraphOp *op) {
    return op->kind == GRAPH_GEMM && op->batch > 1;
}

/* Rows of the matrices of a value of a batched GEMM. */
static uint32_t matrix_rows(const GraphValue *value) {
    return value->logical.dims[value->logical.rank - 2];
}

/* The whole value, its pieces put together if there is nothing else yet. */
static Status take_whole(Split *split, uint32_t value, uint32_t *whole) {
    const Pieces *pieces = &split->pieces[value];
    const GraphValue *info = &split->from->values.items[value];
    Status status = STATUS_OK;
    if (split->map[value] == GRAPH_NONE) {
        GraphOp stack = {.kind = GRAPH_STACK, .operand_count = pieces->count, .result_count = 1};
        status = graph_add_op(split->out, stack, pieces->values,
                              &(GraphResult){info->name, info->precision, info->logical},
                              &split->map[value], split->diag);
    }
    *whole = split->map[value];
    return status;
}

/* `rows` rows of a value from `row` on; of several ranges that one operation takes, for its result,
 * of one operand, the number-th. */
static Status take_rows(Split *split, uint32_t value, uint32_t row, uint32_t rows, uint32_t result,
                        uint32_t side, uint64_t number, uint32_t *taken) {
    const GraphValue *info = &split->from->values.items[value];
    const Pieces *pieces = &split->pieces[value];
    bool inside = pieces->count > 0 && row / pieces->rows == (row + rows - 1) / pieces->rows;
    if (rows == info->shape.dims[0])
        return take_whole(split, value, taken);
    uint32_t source = GRAPH_NONE;
    Status status = STATUS_OK;
    if (inside) {
        source = pieces->values[row / pieces->rows];
        row %= pieces->rows;
    } else {
        status = take_whole(split, value, &source);
    }
    *taken = source;
    if (status != STATUS_OK || (inside && rows == pieces->rows))
        return status;
    const char *name = fresh_name(split, split->from->values.items[result].name,
                                  side ? ".right" : ".left", number);
    GraphResult slice = {.value_name = name,
                         .precision = info->precision,
                         .shape = {.rank = 2, .dims = {rows, info->shape.dims[1]}}};
    if (!name)
        return no_memory(split->diag);
    GraphOp op = {.kind = GRAPH_ROWS, .operand_count = 1, .result_count = 1, .row = row};
    return graph_add_op(split->out, op, &source, &slice, taken, split->diag);
}

/* The matrix of an operand that begins at a row; of a cast operand, that of its source is cast. */
static Status take_matrix(Split *split, const GraphOp *gemm, uint32_t side, uint64_t batch,
                          uint64_t row, uint32_t *value) {
    const Graph *from = split->from;
    uint32_t operand = gemm->operands[side];
    const GraphOp *cast = &from->ops.items[from->values.items[operand].op];
    const GraphValue *used = &from->values.items[operand];
    uint32_t rows = matrix_rows(used);
    bool casts = cast->kind == GRAPH_CAST && rows < used->shape.dims[0];
    Status status = take_rows(split, casts ? cast->operands[0] : operand, (uint32_t)row, rows,
                              gemm->result, side, batch, value);
    if (status != STATUS_OK || !casts)
        return status;
    const char *name = fresh_name(split, from->values.items[gemm->result].name,
                                  side ? ".right.cast" : ".left.cast", batch);
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

/* Room for the pieces of a result. */
static uint32_t *begin_pieces(Split *split, uint32_t result, uint32_t count) {
    uint32_t *values = ARENA_NEW(&split->arena, uint32_t, count);
    uint32_t rows = split->from->values.items[result].shape.dims[0];
    split->pieces[result] = (Pieces){count, rows / count, values};
    split->map[result] = GRAPH_NONE;
    return values;
}

static Status split_gemm(Split *split, uint32_t index) {
    const GraphOp *gemm = &split->from->ops.items[index];
    const GraphValue *result = &split->from->values.items[gemm->result];
    uint32_t *taken[2], *products = begin_pieces(split, gemm->result, (uint32_t)gemm->batch);
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
    return STATUS_OK;
}

/* ---- sums */

/* Rows of the result in a row that meet either one row of the operand or as many in a row. */
static uint32_t run_of(const GraphRows *rows) {
    if (rows->period == 1)
        return rows->block;
    return rows->step > 1 ? rows->step : rows->period;
}

static bool meets_one_row(const GraphRows *rows) {
    return rows->period == 1 || rows->step > 1;
}

static uint32_t operand_row(const GraphRows *rows, uint32_t row) {
    return row / rows->block * rows->period + row / rows->step % rows->period;
}

/* Does every operand of a sum have its rows, or one for all? */
static bool is_plain_sum(const Graph *graph, const GraphOp *add) {
    uint32_t rows = graph->values.items[add->result].shape.dims[0];
    for (uint32_t k = 0; k < 2; k++) {
        uint32_t own = graph->values.items[add->operands[k]].shape.dims[0];
        if (own != rows && own != 1)
            return false;
    }
    return true;
}

static Status split_sum(Split *split, uint32_t index) {
    const GraphOp *add = &split->from->ops.items[index];
    const GraphValue *result = &split->from->values.items[add->result];
    uint32_t rows = result->shape.dims[0], run = rows;
    for (uint32_t k = 0; k < 2; k++)
        if (split->from->values.items[add->operands[k]].shape.dims[0] > 1)
            run = MIN_OF(run, run_of(&add->rows[k]));
    uint32_t *sums = begin_pieces(split, add->result, rows / run);
    if (!sums)
        return no_memory(split->diag);
    for (uint32_t i = 0; i < rows / run; i++) {
        uint32_t taken[2];
        const char *name = fresh_name(split, result->name, "", i);
        Status status = name ? STATUS_OK : no_memory(split->diag);
        for (uint32_t k = 0; k < 2 && status == STATUS_OK; k++) {
            uint32_t own = split->from->values.items[add->operands[k]].shape.dims[0];
            bool one = own == 1 || (own < rows && meets_one_row(&add->rows[k]));
            uint32_t row = own == 1 ? 0 : operand_row(&add->rows[k], i * run);
            status = take_rows(split, add->operands[k], row, one ? 1 : run, add->result, k, i,
                               &taken[k]);
        }
        if (status == STATUS_OK)
            status = graph_add_add(split->out, name, taken[0], taken[1], &sums[i], split->diag);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* Of a value that exists in pieces only. */
static Status split_gelu(Split *split, uint32_t index) {
    const GraphOp *gelu = &split->from->ops.items[index];
    const Pieces *pieces = &split->pieces[gelu->operands[0]];
    uint32_t *values = begin_pieces(split, gelu->result, pieces->count);
    Status status = values ? STATUS_OK : no_memory(split->diag);
    for (uint32_t i = 0; i < pieces->count && status == STATUS_OK; i++) {
        const char *name = fresh_name(split, split->from->values.items[gelu->result].name, "", i);
        status = name ? graph_add_gelu(split->out, name, pieces->values[i], &values[i], split->diag)
                      : no_memory(split->diag);
    }
    return status;
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
    if (op->kind == GRAPH_ADD && !is_plain_sum(split->from, op))
        return split_sum(split, index);
    if (op->kind == GRAPH_GELU && split->map[op->operands[0]] == GRAPH_NONE)
        return split_gelu(split, index);
    uint32_t operands[2] = {0}, value = GRAPH_NONE;
    Status status = STATUS_OK;
    for (uint32_t k = 0; k < op->operand_count && status == STATUS_OK; k++)
        status = take_whole(split, op->operands[k], &operands[k]);
    const char *name = op->result == GRAPH_NONE ? NULL : split->from->values.items[op->result].name;
    split->ops[index] = (uint32_t)out->ops.count;
    if (status == STATUS_OK)
        status = graph_add_same(out, split->from, op, name, operands, &value, split->diag);
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
    work.pieces = ARENA_NEW(&work.arena, Pieces, graph->values.count + 1);
    work.ops = ARENA_NEW(&work.arena, uint32_t, graph->ops.count + 1);
    Status status = work.map && work.pieces && work.ops ? graph_create_like(graph, &work.out, diag)
                                                        : no_memory(diag);
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
