/* Running networks. */
#include "quant/net.h"

#include "num/f16.h"
#include "quant/vector.h"

#include <math.h>
#include <string.h>

enum {
    ROW_PIECE = 64, /* rows of work by element */
    PRODUCT_ROWS = 1024,
    PRODUCT_COLUMNS = 288,
    ALONE = 1 << 20 /* multiply-adds that are not worth waking threads */
};

/* ---- products */
typedef struct Product {
    const Blas *blas;
    uint32_t rows, inner, columns;
    const float *x, *w, *bias;
    float *y;
    size_t x_stride, y_stride;
    uint32_t row_pieces;
} Product;

static void multiply_piece(void *context, size_t index, unsigned worker) {
    (void)worker;
    const Product *p = context;
    uint32_t row = (uint32_t)(index % p->row_pieces) * PRODUCT_ROWS;
    uint32_t column = (uint32_t)(index / p->row_pieces) * PRODUCT_COLUMNS;
    uint32_t rows = MIN_OF((uint32_t)PRODUCT_ROWS, p->rows - row);
    uint32_t columns = MIN_OF((uint32_t)PRODUCT_COLUMNS, p->columns - column);
    float *y = p->y + row * p->y_stride + column;
    p->blas->sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)rows, (blasint)columns,
                   (blasint)p->inner, 1, p->x + row * p->x_stride, (blasint)p->x_stride,
                   p->w + (size_t)column * p->inner, (blasint)p->inner, 0, y, (blasint)p->y_stride);
    for (uint32_t r = 0; r < rows && p->bias; r++)
        vector_get()->multiply_add(y + r * p->y_stride, p->bias + column, 1, columns);
}

void net_multiply(const Blas *blas, Pool *pool, uint32_t rows, uint32_t inner, uint32_t columns,
                  const float *x, size_t x_stride, const float *w, const float *bias, float *y,
                  size_t y_stride) {
    Product product = {blas,
                       rows,
                       inner,
                       columns,
                       x,
                       w,
                       bias,
                       y,
                       x_stride,
                       y_stride,
                       (uint32_t)div_up(rows, PRODUCT_ROWS)};
    bool alone = (uint64_t)rows * inner * columns < ALONE;
    pool_run(alone ? NULL : pool, product.row_pieces * div_up(columns, PRODUCT_COLUMNS),
             multiply_piece, &product);
}

/* ---- the other operations, in pieces of rows or heads */
typedef struct Step {
    const Net *net;
    const NetOp *op;
    const NetSample *sample;
    const float *in, *in2, *in3, *weight, *bias;
    float *out;
    uint32_t rows, width, in_width, in2_width, in3_width;
    int scale; /* of operands that are projected */
} Step;

static void step_patch(const Step *step, uint32_t token) {
    const NetOp *op = step->op;
    uint32_t grid = op->size / op->patch, y = token / grid * op->patch,
             x = token % grid * op->patch;
    float *out = step->out + (size_t)token * step->width;
    for (uint32_t c = 0; c < op->channels; c++)
        for (uint32_t r = 0; r < op->patch; r++, out += op->patch)
            memcpy(out, step->in + ((size_t)c * op->size + y + r) * op->size + x,
                   op->patch * sizeof *out);
}

static void step_around(const Step *step, uint32_t row) {
    float *out = step->out + (size_t)row * step->width;
    for (uint32_t c = 0; c < step->in_width; c++) {
        const float *in = step->in + (size_t)row * step->in_width + c;
        out[3 * c] = row ? in[-(ptrdiff_t)step->in_width] : 0;
        out[3 * c + 1] = in[0];
        out[3 * c + 2] = row + 1 < step->rows ? in[step->in_width] : 0;
    }
}

static void step_row(const Step *step, uint32_t row) {
    const Vector *vector = vector_get();
    size_t width = step->width;
    float *out = step->out + row * width;
    const float *in = step->in ? step->in + (size_t)row * step->in_width : NULL;
    switch (step->op->kind) {
    case NET_PATCHES: step_patch(step, row); break;
    case NET_LINEAR: vector->project(out, in, width, step->scale); break; /* its operand */
    case NET_NORM: vector->norm(out, in, step->weight, step->bias, width, step->op->epsilon); break;
    case NET_ADD: vector->multiply_add(out, in, 1, width); break;
    case NET_ADD_PARAM: vector->multiply_add(out, step->weight + row * width, 1, width); break;
    case NET_GELU: vector->gelu(out, width); break;
    case NET_SWISH: vector->swish(out, width); break;
    case NET_AFFINE:
        for (size_t i = 0; i < width; i++)
            out[i] = out[i] * step->weight[i] + step->bias[i];
        break;
    case NET_JOIN:
        memcpy(out, in, step->in_width * sizeof *out);
        memcpy(out + step->in_width, step->in2 + (size_t)row * step->in2_width,
               step->in2_width * sizeof *out);
        break;
    case NET_AROUND: step_around(step, row); break;
    case NET_COPY_PARAM: memcpy(out, step->weight, width * sizeof *out); break;
    case NET_ATTENTION: break; /* by heads */
    }
}

static void step_rows(void *context, size_t index, unsigned worker) {
    (void)worker;
    const Step *step = context;
    uint32_t first = (uint32_t)index * ROW_PIECE;
    for (uint32_t row = first; row < MIN_OF(first + ROW_PIECE, step->rows); row++)
        step_row(step, row);
}

static void step_head(void *context, size_t index, unsigned worker) {
    const Step *step = context;
    const NetOp *op = step->op;
    const Blas *blas = step->net->blas;
    uint32_t keys = step->sample->rows, width = op->head_width, at = (uint32_t)index * width;
    float *scores = step->net->worker_scratch[worker];
    blas->sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)step->rows, (blasint)keys,
                (blasint)width, op->scale, step->in + op->in_at + at, (blasint)step->in_width,
                step->in2 + op->in2_at + at, (blasint)step->in2_width, 0, scores, (blasint)keys);
    for (uint32_t row = 0; row < step->rows; row++)
        vector_get()->softmax(scores + (size_t)row * keys, keys);
    blas->sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint)step->rows, (blasint)width,
                (blasint)keys, 1, scores, (blasint)keys, step->in3 + op->in3_at + at,
                (blasint)step->in3_width, 0, step->out + at, (blasint)step->width);
}

static Step make_step(const Net *net, const NetOp *op, const NetSample *sample) {
    const NetBuffer *buffers = net->buffers.items;
    Step step = {
        .net = net, .op = op, .sample = sample, .out = net_buffer_of(net, sample, op->out)};
    step.width = buffers[op->out].width;
    step.rows = buffers[op->out].fixed_rows ? 1 : sample->rows;
    if (op->in != NET_NONE) {
        step.in = net_buffer_of(net, sample, op->in);
        step.in_width = buffers[op->in].width;
    }
    if (op->in2 != NET_NONE) {
        step.in2 = net_buffer_of(net, sample, op->in2);
        step.in2_width = buffers[op->in2].width;
    }
    if (op->in3 != NET_NONE) {
        step.in3 = net_buffer_of(net, sample, op->in3);
        step.in3_width = buffers[op->in3].width;
    }
    step.weight = op->weight == NET_NONE ? NULL : net->params.items[op->weight].values;
    step.bias = op->bias == NET_NONE ? NULL : net->params.items[op->bias].values;
    return step;
}

/* The input of a target as F143 would hold it; kept for the linears of the same site. */
static const float *project_operand(Net *net, const Step *step, int scale) {
    Step project = *step;
    project.out = net->operand;
    project.width = step->in_width;
    project.scale = scale;
    pool_run(net->pool, div_up(step->rows, ROW_PIECE), step_rows, &project);
    return net->operand;
}

static void run_linear(Net *net, const Step *step, const float *x) {
    const NetOp *op = step->op;
    const NetParam *weight = &net->params.items[op->weight];
    uint32_t inner =
        (uint32_t)(weight->input_major ? weight->dims[0] : weight->count / weight->dims[0]);
    net_multiply(net->blas, net->pool, step->rows, inner, op->rows, x, step->in_width,
                 step->weight + (size_t)op->weight_row * inner,
                 step->bias ? step->bias + op->weight_row : NULL, step->out, step->width);
}

static bool is_first_of_site(const Net *net, const NetOp *op) {
    return op->linear != NET_NONE &&
           net->sites.items[net->linears.items[op->linear].site].first_linear == op->linear;
}

/* The operation after which nothing more is observed in a stage. */
static size_t last_observed(const Net *net, const struct NetStage *stage) {
    size_t last = stage->first;
    for (size_t i = stage->first; i < stage->end; i++)
        if (is_first_of_site(net, &net->ops.items[i]))
            last = i;
    return last;
}

static Status check_finite(const Net *net, size_t stage, const NetSample *sample, Diag *diag) {
    for (size_t b = 0; b < net->buffers.count; b++) {
        const NetBuffer *buffer = &net->buffers.items[b];
        const float *x = sample->buffers[b];
        size_t count = (size_t)buffer->width * (buffer->fixed_rows ? 1 : sample->rows);
        uint32_t bad = 0;
        for (size_t i = 0; x && i < count; i++)
            bad |= (f32_bits(x[i]) & 0x7F800000u) == 0x7F800000u;
        if (bad)
            return diag_error(
                diag, ERR_QUANT_NONFINITE,
                (DiagPlace){.file = sample->name, .tile = -1, .object = net->stages[stage].name},
                "the stage computes values that are not finite");
    }
    return STATUS_OK;
}

Status net_run(Net *net, size_t stage_index, NetSample *sample, const NetRun *run, Diag *diag) {
    const struct NetStage *stage = &net->stages[stage_index];
    size_t last = run->sites_only ? last_observed(net, stage) : stage->end;
    int projected = NET_NONE;
    const float *operand = NULL;
    for (size_t i = stage->first; i < stage->end; i++) {
        const NetOp *op = &net->ops.items[i];
        Step step = make_step(net, op, sample);
        if (run->observe && is_first_of_site(net, op)) {
            Status status =
                run->observe(run->context, net->linears.items[op->linear].site, step.in, step.rows);
            if (status != STATUS_OK)
                return status;
        }
        if (run->sites_only && i >= last)
            return STATUS_OK;
        if (op->kind == NET_LINEAR) {
            const float *x = step.in;
            int site = op->linear == NET_NONE ? NET_NONE : (int)net->linears.items[op->linear].site;
            bool simulate =
                site != NET_NONE && run->input_scales && run->input_scales[site] != NET_UNSCALED;
            if (simulate) {
                if (site != projected)
                    operand = project_operand(net, &step, run->input_scales[site]);
                projected = site;
                x = operand;
            }
            run_linear(net, &step, x);
        } else if (op->kind == NET_ATTENTION) {
            pool_run(net->pool, op->heads, step_head, &step);
        } else {
            pool_run(net->pool, div_up(step.rows, ROW_PIECE), step_rows, &step);
        }
    }
    return check_finite(net, stage_index, sample, diag);
}
