/* Twin and reference of whole graphs: operation by operation, on all values. */
#include "check/check.h"

#include "num/f8.h"

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

/* Element offset of the matrix that an operand contributes to result matrix `batch`: its leading
 * axes of extent 1 stand still. */
static uint64_t matrix_offset(const Shape *operand, const Shape *result, uint64_t batch) {
    uint64_t offset = 0, stride = 1;
    uint32_t lead = operand->rank - 2, result_lead = result->rank - 2;
    for (uint32_t i = 1; i <= result_lead; i++) {
        uint64_t index = batch % result->dims[result_lead - i];
        batch /= result->dims[result_lead - i];
        if (i > lead)
            continue;
        uint32_t extent = operand->dims[lead - i];
        offset += (extent > 1 ? index : 0) * stride;
        stride *= extent;
    }
    return offset * operand->dims[operand->rank - 2] * operand->dims[operand->rank - 1];
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
    const GraphValue *value;
    const uint8_t *numbers;
    void *owned;
    uint8_t *transposed; /* room for one matrix, or NULL */
    size_t size;
} Operand;

static Status open_operand(const Evaluation *evaluation, uint32_t v, bool transposed,
                           Operand *operand) {
    *operand = (Operand){.value = &evaluation->graph->values.items[v]};
    const Shape *shape = &operand->value->shape;
    const void *numbers;
    Status status = numbers_of(evaluation, v, &numbers, &operand->owned);
    operand->numbers = numbers;
    operand->size = number_bytes(evaluation, operand->value);
    if (status != STATUS_OK || !transposed)
        return status;
    operand->transposed = mem_alloc(
        (size_t)shape->dims[shape->rank - 2] * shape->dims[shape->rank - 1], operand->size);
    return operand->transposed ? STATUS_OK : no_memory(evaluation->diag);
}

static void close_operand(Operand *operand) {
    mem_free(operand->owned);
    mem_free(operand->transposed);
}

static const void *operand_matrix(const Operand *operand, const Shape *result, uint64_t batch) {
    const Shape *shape = &operand->value->shape;
    const uint8_t *matrix = operand->numbers + matrix_offset(shape, result, batch) * operand->size;
    if (!operand->transposed)
        return matrix;
    transpose(matrix, shape->dims[shape->rank - 2], shape->dims[shape->rank - 1], operand->size,
              operand->transposed);
    return operand->transposed;
}

static Status multiply(const Evaluation *evaluation, uint32_t op, const Operand *left,
                       const Operand *right, const PlanSum *sum, uint8_t *out) {
    const GraphValue *result =
        &evaluation->graph->values.items[evaluation->graph->ops.items[op].result];
    GraphGemm extents = graph_gemm(evaluation->graph, op);
    size_t matrix_bytes = (size_t)extents.rows * extents.columns * number_bytes(evaluation, result);
    Status status = STATUS_OK;
    for (uint64_t batch = 0; batch < extents.batch && status == STATUS_OK; batch++) {
        CheckGemm gemm = {.rows = extents.rows,
                          .inner = extents.inner,
                          .columns = extents.columns,
                          .left_precision = left->value->precision,
                          .right_precision = right->value->precision,
                          .left = operand_matrix(left, &result->shape, batch),
                          .right = operand_matrix(right, &result->shape, batch),
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

static Status evaluate_gemm(const Evaluation *evaluation, uint32_t op) {
    const GraphOp *gemm = &evaluation->graph->ops.items[op];
    const GraphValue *value = &evaluation->graph->values.items[gemm->result];
    Operand left, right = {0};
    uint64_t count;
    shape_count(&value->shape, &count);
    Status status = open_operand(evaluation, gemm->operands[0], gemm->transpose_left, &left);
    if (status == STATUS_OK)
        status = open_operand(evaluation, gemm->operands[1], gemm->transpose_right, &right);
    PlanSum sum = {0};
    if (status == STATUS_OK)
        status = plan_sum(evaluation->graph, evaluation->plan, op, &sum, evaluation->diag);
    if (status == STATUS_OK) {
        void *out = mem_alloc(count, number_bytes(evaluation, value));
        evaluation->results[gemm->result] = out;
        status =
            out ? multiply(evaluation, op, &left, &right, &sum, out) : no_memory(evaluation->diag);
    }
    plan_sum_free(&sum);
    close_operand(&left);
    close_operand(&right);
    return status;
}

/* F16 to F143; the reference's numbers are rounded to codes and decoded again. */
static Status evaluate_cast(const Evaluation *evaluation, uint32_t op) {
    const GraphOp *cast = &evaluation->graph->ops.items[op];
    const GraphValue *value = &evaluation->graph->values.items[cast->result];
    int scale = value->precision.scale_exponent;
    uint64_t count;
    shape_count(&value->shape, &count);
    const void *numbers;
    void *owned;
    Status status = numbers_of(evaluation, cast->operands[0], &numbers, &owned);
    void *out = status ? NULL : mem_alloc(count, number_bytes(evaluation, value));
    evaluation->results[cast->result] = out;
    if (!status && !out)
        status = no_memory(evaluation->diag);
    if (!status && !evaluation->reference)
        f8_encode_f16(out, numbers, count, F8_F143, scale, F8_DEVICE_SATURATE);
    for (uint64_t i = 0; !status && evaluation->reference && i < count; i++) {
        double number = ((const double *)numbers)[i];
        uint8_t code = f8_from_f64(number, F8_F143, scale, F8_DEVICE_SATURATE);
        ((double *)out)[i] = (double)f8_to_f32(code, F8_F143, scale);
    }
    mem_free(owned);
    return status;
}

static Status evaluate(const Evaluation *evaluation) {
    const Graph *graph = evaluation->graph;
    memset(evaluation->results, 0, graph->values.count * sizeof *evaluation->results);
    Status status = STATUS_OK;
    for (uint32_t op = 0; op < graph->ops.count && status == STATUS_OK; op++) {
        if (graph->ops.items[op].kind == GRAPH_GEMM)
            status = evaluate_gemm(evaluation, op);
        else if (graph->ops.items[op].kind == GRAPH_CAST)
            status = evaluate_cast(evaluation, op);
    }
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
