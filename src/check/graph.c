/* Twin and reference of whole graphs: operation by operation, on all values. */
#include "check/check.h"

#include "check/pointwise.h"
#include "num/f8.h"

#include <assert.h>

#include <string.h>

/* What an evaluation works on: the arithmetic, and the values computed so far. The reference's
 * numbers are F64, the twin's are codes. */
typedef struct Evaluation {
    const Graph *graph;
    const Plan *plan; /* of the twin, or NULL */
    const void *const *given;
    Pool *pool;
    void **results;
    bool reference;
    Diag *diag;
} Evaluation;

static Status no_memory(Diag *diag) {
    return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory left for the check");
}

static void decode_f64(Precision precision, const void *codes, uint64_t count, double *values) {
    const uint8_t *bytes = codes;
    const F16 *halves = codes;
    const float *singles = codes;
    for (uint64_t i = 0; i < count; i++) {
        switch (precision.kind) {
        case PRECISION_F8F143:
            values[i] = (double)f8_to_f32(bytes[i], F8_F143, precision.scale_exponent);
            break;
        case PRECISION_F16: values[i] = (double)f16_to_f32(halves[i]); break;
        case PRECISION_F32: values[i] = (double)singles[i]; break;
        }
    }
}

static size_t number_bytes(const Evaluation *evaluation, const GraphValue *value) {
    return evaluation->reference ? sizeof(double) : precision_bytes(value->precision);
}

/* The numbers of a value: computed ones as they are; given ones as codes, or decoded into *owned.
 */
static Status numbers_of(const Evaluation *evaluation, uint32_t v, const void **numbers,
                         void **owned) {
    const GraphValue *value = &evaluation->graph->values.items[v];
    *owned = NULL;
    *numbers = evaluation->results[v] ? evaluation->results[v] : evaluation->given[v];
    if (evaluation->results[v] || !evaluation->reference)
        return STATUS_OK;
    uint64_t count;
    shape_count(&value->shape, &count);
    double *decoded = mem_alloc(count, sizeof *decoded);
    if (!decoded)
        return no_memory(evaluation->diag);
    decode_f64(value->precision, evaluation->given[v], count, decoded);
    *numbers = *owned = decoded;
    return STATUS_OK;
}

/* [rows,columns] → [columns,rows] */
static void transpose(const uint8_t *from, uint32_t rows, uint32_t columns, size_t size,
                      uint8_t *to) {
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++)
            memcpy(to + (c * rows + r) * size, from + (r * columns + c) * size, size);
}

/* One operand of a product, matrix by matrix. */
typedef struct Operand {
    const uint8_t *numbers;
    void *owned;
    uint32_t rows, columns; /* of a matrix as it is stored */
    bool transpose;
    uint8_t *transposed; /* room for one matrix, if it must be */
    size_t size;
} Operand;

static Status open_operand(const Evaluation *evaluation, uint32_t op, int side, Operand *operand) {
    const GraphOp *gemm = &evaluation->graph->ops.items[op];
    GraphGemm extents = graph_gemm(evaluation->graph, op);
    uint32_t v = gemm->operands[side];
    *operand = (Operand){.rows = side ? extents.inner : extents.rows,
                         .columns = side ? extents.columns : extents.inner,
                         .transpose = side ? gemm->transpose_right : gemm->transpose_left,
                         .size = number_bytes(evaluation, &evaluation->graph->values.items[v])};
    const void *numbers;
    Status status = numbers_of(evaluation, v, &numbers, &operand->owned);
    operand->numbers = numbers;
    if (status != STATUS_OK || !operand->transpose)
        return status;
    uint32_t columns = operand->rows;
    operand->rows = operand->columns;
    operand->columns = columns;
    operand->transposed = mem_alloc((size_t)operand->rows * operand->columns, operand->size);
    return operand->transposed ? STATUS_OK : no_memory(evaluation->diag);
}

static void close_operand(Operand *operand) {
    mem_free(operand->owned);
    mem_free(operand->transposed);
}

/* The matrix that begins at a row. */
static const void *operand_matrix(const Operand *operand, uint64_t row) {
    const uint8_t *matrix = operand->numbers + row * operand->columns * operand->size;
    if (!operand->transpose)
        return matrix;
    transpose(matrix, operand->rows, operand->columns, operand->size, operand->transposed);
    return operand->transposed;
}

static Status multiply(const Evaluation *evaluation, uint32_t op, const Operand operands[2],
                       const PlanSum *sum, uint8_t *out) {
    const Graph *graph = evaluation->graph;
    const GraphOp *product = &graph->ops.items[op];
    const GraphValue *result = &graph->values.items[product->result];
    GraphGemm extents = graph_gemm(graph, op);
    size_t matrix_bytes = (size_t)extents.rows * extents.columns * number_bytes(evaluation, result);
    Status status = STATUS_OK;
    for (uint64_t batch = 0; batch < extents.batch && status == STATUS_OK; batch++) {
        CheckGemm gemm = {
            .rows = extents.rows,
            .inner = extents.inner,
            .columns = extents.columns,
            .left_precision = graph->values.items[product->operands[0]].precision,
            .right_precision = graph->values.items[product->operands[1]].precision,
            .left = operand_matrix(&operands[0], graph_matrix_row(graph, op, 0, batch)),
            .right = operand_matrix(&operands[1], graph_matrix_row(graph, op, 1, batch)),
            .sum = sum};
        void *matrix = out + batch * matrix_bytes;
        if (evaluation->reference)
            check_gemm_f64(gemm.rows, gemm.inner, gemm.columns, gemm.left, gemm.right,
                           evaluation->pool, matrix);
        else
            status = check_gemm_twin(&gemm, evaluation->pool, matrix, evaluation->diag);
    }
    return status;
}

static Status evaluate_gemm(const Evaluation *evaluation, uint32_t op, uint8_t *out) {
    Operand operands[2] = {0};
    PlanSum sum = {0};
    Status status = open_operand(evaluation, op, 0, &operands[0]);
    if (status == STATUS_OK)
        status = open_operand(evaluation, op, 1, &operands[1]);
    if (status == STATUS_OK)
        status = plan_sum(evaluation->graph, evaluation->plan, op, &sum, evaluation->diag);
    if (status == STATUS_OK)
        status = multiply(evaluation, op, operands, &sum, out);
    plan_sum_free(&sum);
    close_operand(&operands[0]);
    close_operand(&operands[1]);
    return status;
}

/* Does the plan cast the GELU `v` by its own kernel, which encodes twice the value with half the
 * scale? */
static bool is_cast_twice(const Evaluation *evaluation, uint32_t v) {
    const Graph *graph = evaluation->graph;
    for (uint32_t i = 0; i < graph->ops.count; i++)
        if (graph->ops.items[i].kind == GRAPH_CAST && graph->ops.items[i].operands[0] == v &&
            plan_casts_twice(graph, evaluation->plan, i))
            return true;
    return false;
}

/* F16 to F143; the reference's numbers are rounded to codes and decoded again. */
static void cast(const Evaluation *evaluation, const GraphOp *op, const void *numbers,
                 uint64_t count, void *out) {
    Precision precision = evaluation->graph->values.items[op->result].precision;
    int scale = precision.scale_exponent;
    if (evaluation->reference)
        pointwise_cast_f64(numbers, count, precision, evaluation->pool, out);
    else if (is_cast_twice(evaluation, op->operands[0]))
        f8_encode_f16(out, numbers, count, F8_F143, scale + 1, F8_DEVICE_SATURATE);
    else
        f8_encode_f16(out, numbers, count, F8_F143, scale, F8_DEVICE_SATURATE);
}

static void gelu(const Evaluation *evaluation, const GraphOp *op, const void *numbers,
                 uint64_t count, void *out) {
    if (evaluation->reference)
        pointwise_gelu_f64(numbers, count, evaluation->pool, out);
    else
        pointwise_gelu_f16(numbers, count, is_cast_twice(evaluation, op->result), evaluation->pool,
                           out);
}

static void add(const Evaluation *evaluation, const GraphOp *op, const void *const numbers[2],
                void *out) {
    const GraphValue *values = evaluation->graph->values.items;
    PointwiseAdd sum = {
        .result = values[op->result].logical,
        .operands = {values[op->operands[0]].logical, values[op->operands[1]].logical},
        .numbers = {numbers[0], numbers[1]},
        .reference = evaluation->reference,
        .out = out};
    pointwise_add(&sum, evaluation->pool);
}

/* An operation that works value by value. */
static Status evaluate_pointwise(const Evaluation *evaluation, uint32_t index, uint64_t count,
                                 void *out) {
    const GraphOp *op = &evaluation->graph->ops.items[index];
    const void *numbers[2] = {NULL, NULL};
    void *owned[2] = {NULL, NULL};
    Status status = STATUS_OK;
    for (uint32_t i = 0; i < op->operand_count && status == STATUS_OK; i++)
        status = numbers_of(evaluation, op->operands[i], &numbers[i], &owned[i]);
    if (status == STATUS_OK && op->kind == GRAPH_CAST)
        cast(evaluation, op, numbers[0], count, out);
    else if (status == STATUS_OK && op->kind == GRAPH_GELU)
        gelu(evaluation, op, numbers[0], count, out);
    else if (status == STATUS_OK)
        add(evaluation, op, numbers, out);
    mem_free(owned[0]);
    mem_free(owned[1]);
    return status;
}

/* Rows of one value, or those of several values one after the other. */
static Status evaluate_rows(const Evaluation *evaluation, const GraphOp *op, uint8_t *out) {
    const GraphValue *values = evaluation->graph->values.items, *result = &values[op->result];
    size_t row_bytes = (size_t)result->shape.dims[1] * number_bytes(evaluation, result);
    Status status = STATUS_OK;
    for (uint32_t i = 0; i < op->operand_count && status == STATUS_OK; i++) {
        const void *numbers;
        void *owned = NULL;
        status = numbers_of(evaluation, op->operands[i], &numbers, &owned);
        uint32_t rows = MIN_OF(result->shape.dims[0], values[op->operands[i]].shape.dims[0]);
        if (status == STATUS_OK)
            memcpy(out, (const uint8_t *)numbers + op->row * row_bytes, rows * row_bytes);
        out += rows * row_bytes;
        mem_free(owned);
    }
    return status;
}

/* An output that is an input or a parameter: its numbers. */
static Status evaluate_given(const Evaluation *evaluation, uint32_t v) {
    const GraphValue *value = &evaluation->graph->values.items[v];
    const void *numbers;
    void *owned;
    uint64_t count;
    shape_count(&value->shape, &count);
    Status status = numbers_of(evaluation, v, &numbers, &owned);
    if (status != STATUS_OK)
        return status;
    if (!owned) {
        size_t size = number_bytes(evaluation, value);
        owned = mem_alloc(count, size);
        if (!owned)
            return no_memory(evaluation->diag);
        memcpy(owned, numbers, count * size);
    }
    evaluation->results[v] = owned;
    return STATUS_OK;
}

static Status evaluate_op(const Evaluation *evaluation, uint32_t index) {
    const GraphOp *op = &evaluation->graph->ops.items[index];
    assert(op->kind != GRAPH_REPEAT);
    if (op->kind == GRAPH_INPUT || op->kind == GRAPH_PARAMETER)
        return STATUS_OK;
    if (op->kind == GRAPH_OUTPUT)
        return evaluation->results[op->operands[0]] ? STATUS_OK
                                                    : evaluate_given(evaluation, op->operands[0]);
    const GraphValue *value = &evaluation->graph->values.items[op->result];
    uint64_t count;
    shape_count(&value->shape, &count);
    void *out = mem_alloc(count, number_bytes(evaluation, value));
    evaluation->results[op->result] = out;
    if (!out)
        return no_memory(evaluation->diag);
    if (op->kind == GRAPH_ROWS || op->kind == GRAPH_STACK)
        return evaluate_rows(evaluation, op, out);
    return op->kind == GRAPH_GEMM ? evaluate_gemm(evaluation, index, out)
                                  : evaluate_pointwise(evaluation, index, count, out);
}

/* Frees what only operations up to `index` use. last: of each value, GRAPH_NONE for outputs. */
static void free_used(const Evaluation *evaluation, uint32_t index, const uint32_t *last) {
    const GraphOp *op = &evaluation->graph->ops.items[index];
    for (uint32_t i = 0; i < op->operand_count; i++) {
        uint32_t v = op->operands[i];
        if (last[v] != index)
            continue;
        mem_free(evaluation->results[v]);
        evaluation->results[v] = NULL;
    }
}

static void find_last(const Graph *graph, uint32_t *last) {
    for (uint32_t i = 0; i < graph->ops.count; i++) {
        const GraphOp *op = &graph->ops.items[i];
        for (uint32_t k = 0; k < op->operand_count; k++)
            last[op->operands[k]] =
                op->kind == GRAPH_OUTPUT ? GRAPH_NONE : MAX_OF(last[op->operands[k]], i);
    }
}

static Status evaluate(const Evaluation *evaluation) {
    const Graph *graph = evaluation->graph;
    memset(evaluation->results, 0, graph->values.count * sizeof *evaluation->results);
    uint32_t *last = mem_alloc(graph->values.count, sizeof *last);
    Status status = last ? STATUS_OK : no_memory(evaluation->diag);
    if (last)
        find_last(graph, last);
    for (uint32_t op = 0; op < graph->ops.count && status == STATUS_OK; op++) {
        status = evaluate_op(evaluation, op);
        if (status == STATUS_OK)
            free_used(evaluation, op, last);
    }
    mem_free(last);
    for (size_t v = 0; v < graph->values.count && status != STATUS_OK; v++) {
        mem_free(evaluation->results[v]);
        evaluation->results[v] = NULL;
    }
    return status;
}

Status check_twin(const Graph *graph, const Plan *plan, const void *const *given, Pool *pool,
                  void **results, Diag *diag) {
    return evaluate(&(Evaluation){.graph = graph,
                                  .plan = plan,
                                  .given = given,
                                  .pool = pool,
                                  .results = results,
                                  .diag = diag});
}

Status check_reference(const Graph *graph, const void *const *given, Pool *pool, double **results,
                       Diag *diag) {
    return evaluate(&(Evaluation){.graph = graph,
                                  .given = given,
                                  .pool = pool,
                                  .results = (void **)results,
                                  .reference = true,
                                  .diag = diag});
}
