#include "check/pointwise.h"

#include "base/mem.h"
#include "num/f8.h"
#include "num/gelu.h"

#include <math.h>

enum { BLOCK = 1 << 14 };

typedef struct Pointwise {
    const void *in;
    void *out;
    uint64_t count;
    Precision precision;
    bool twice;
} Pointwise;

static uint64_t block_end(const Pointwise *work, size_t index) {
    return MIN_OF(work->count, ((uint64_t)index + 1) * BLOCK);
}

static void run(Pointwise work, Pool *pool,
                void (*body)(void *context, size_t index, unsigned worker)) {
    pool_run(pool, div_up(work.count, BLOCK), body, &work);
}

static void gelu_f16_block(void *context, size_t index, unsigned worker) {
    (void)worker;
    const Pointwise *work = context;
    const F16 *in = work->in;
    F16 *out = work->out;
    for (uint64_t i = (uint64_t)index * BLOCK; i < block_end(work, index); i++)
        out[i] = work->twice ? gelu_twice_f16(in[i]) : gelu_f16(in[i]);
}

static void gelu_f64_block(void *context, size_t index, unsigned worker) {
    (void)worker;
    const Pointwise *work = context;
    const double *in = work->in;
    double *out = work->out;
    const double linear = sqrt(2 / M_PI);
    for (uint64_t i = (uint64_t)index * BLOCK; i < block_end(work, index); i++) {
        double x = in[i];
        out[i] = 0.5 * x * (1 + tanh(linear * (x + 0.044715 * x * x * x)));
    }
}

static void cast_f64_block(void *context, size_t index, unsigned worker) {
    (void)worker;
    const Pointwise *work = context;
    const double *in = work->in;
    double *out = work->out;
    int scale = work->precision.scale_exponent;
    for (uint64_t i = (uint64_t)index * BLOCK; i < block_end(work, index); i++) {
        uint8_t code = f8_from_f64(in[i], F8_F143, scale, F8_DEVICE_SATURATE);
        out[i] = (double)f8_to_f32(code, F8_F143, scale);
    }
}

void pointwise_gelu_f16(const F16 *in, uint64_t count, bool twice, Pool *pool, F16 *out) {
    run((Pointwise){.in = in, .out = out, .count = count, .twice = twice}, pool, gelu_f16_block);
}

void pointwise_gelu_f64(const double *in, uint64_t count, Pool *pool, double *out) {
    run((Pointwise){.in = in, .out = out, .count = count}, pool, gelu_f64_block);
}

void pointwise_cast_f64(const double *in, uint64_t count, Precision precision, Pool *pool,
                        double *out) {
    run((Pointwise){.in = in, .out = out, .count = count, .precision = precision}, pool,
        cast_f64_block);
}

/* Where the operand's row for a row of the result begins, and how far apart its columns are. */
static uint64_t operand_start(const Shape *operand, const Shape *result, uint64_t row,
                              uint64_t *stride) {
    uint32_t columns = operand->rank ? operand->dims[operand->rank - 1] : 1;
    uint64_t start = 0, size = columns;
    for (uint32_t i = 2; i <= operand->rank; i++) {
        uint32_t extent = operand->dims[operand->rank - i];
        if (extent > 1)
            start += row % extent * size;
        size *= extent;
        row /= result->dims[result->rank - i];
    }
    *stride = columns > 1;
    return start;
}

typedef struct Sum {
    const PointwiseAdd *add;
    uint64_t rows, columns, block; /* rows of a block */
} Sum;

static void add_row(const PointwiseAdd *add, uint64_t row, uint64_t columns) {
    uint64_t strides[2], starts[2];
    for (int i = 0; i < 2; i++)
        starts[i] = operand_start(&add->operands[i], &add->result, row, &strides[i]);
    for (uint64_t c = 0; c < columns; c++) {
        uint64_t a = starts[0] + c * strides[0], b = starts[1] + c * strides[1];
        if (add->reference) {
            const double *left = add->numbers[0], *right = add->numbers[1];
            ((double *)add->out)[row * columns + c] = left[a] + right[b];
        } else {
            const F16 *left = add->numbers[0], *right = add->numbers[1];
            ((F16 *)add->out)[row * columns + c] =
                f32_to_f16(f16_to_f32(left[a]) + f16_to_f32(right[b]), F16_OVERFLOW_SATURATE);
        }
    }
}

static void add_block(void *context, size_t index, unsigned worker) {
    (void)worker;
    const Sum *sum = context;
    uint64_t end = MIN_OF(sum->rows, ((uint64_t)index + 1) * sum->block);
    for (uint64_t row = (uint64_t)index * sum->block; row < end; row++)
        add_row(sum->add, row, sum->columns);
}

void pointwise_add(const PointwiseAdd *add, Pool *pool) {
    Sum sum = {.add = add, .rows = 1, .columns = 1};
    for (uint32_t axis = 0; axis + 1 < add->result.rank; axis++)
        sum.rows *= add->result.dims[axis];
    if (add->result.rank)
        sum.columns = add->result.dims[add->result.rank - 1];
    sum.block = MAX_OF((uint64_t)1, BLOCK / sum.columns);
    pool_run(pool, div_up(sum.rows, sum.block), add_block, &sum);
}
