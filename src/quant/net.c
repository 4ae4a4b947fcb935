/* Building networks, and their parameters. */
#include "quant/net.h"

#include "base/text.h"
#include "num/f16.h"

#include <string.h>
#include <sys/mman.h>

static Status no_memory(Diag *diag) {
    return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory left for the network");
}

/* ---- building */

int net_param(Net *net, const char *name, uint32_t rank, const uint64_t *dims) {
    NetParam param = {.name = arena_strdup(&net->arena, name),
                      .rank = rank,
                      .count = 1,
                      .stage = (uint32_t)(net->stage_count ? net->stage_count - 1 : 0)};
    for (uint32_t axis = 0; axis < rank; axis++) {
        param.dims[axis] = dims[axis];
        param.count *= dims[axis];
    }
    bool done = param.name && vec_push(&net->params, param);
    return done ? (int)net->params.count - 1 : NET_NONE;
}

int net_buffer(Net *net, uint32_t width, bool fixed_rows, bool persistent) {
    bool done = vec_push(&net->buffers, (NetBuffer){width, fixed_rows, persistent});
    return done ? (int)net->buffers.count - 1 : NET_NONE;
}

bool net_stage(Net *net, const char *name) {
    void *stages = mem_resize(net->stages, net->stage_count + 1, sizeof *net->stages);
    char *copy = arena_strdup(&net->arena, name);
    if (stages)
        net->stages = stages;
    if (!stages || !copy)
        return false;
    net->stages[net->stage_count++] = (struct NetStage){
        .output = NET_NONE, .name = copy, .first = net->ops.count, .end = net->ops.count};
    return true;
}

bool net_op(Net *net, NetOp op) {
    if (op.kind != NET_LINEAR || op.linear < 0)
        op.linear = NET_NONE;
    bool done = vec_push(&net->ops, op);
    net->stages[net->stage_count - 1].end = net->ops.count;
    return done;
}

static bool add_site(Net *net, const NetOp *op, uint32_t inputs, int norm) {
    NetSite site = {.inputs = inputs,
                    .stage = (uint32_t)net->stage_count - 1,
                    .first_linear = (int)net->linears.count,
                    .norm_weight = NET_NONE,
                    .norm_bias = NET_NONE,
                    .shift_param = NET_NONE};
    if (norm != NET_NONE) {
        site.norm_weight = net->ops.items[norm].weight;
        site.norm_bias = site.shift_param = net->ops.items[norm].bias;
    }
    const NetOp *before = net->ops.count ? &net->ops.items[net->ops.count - 1] : NULL;
    if (before && before->kind == NET_ATTENTION && before->out == op->in) {
        /* The rows of softmax sum to one: what every value loses, every mixture loses. */
        for (size_t i = net->ops.count; i-- > 0;) {
            const NetOp *values = &net->ops.items[i];
            if (values->kind != NET_LINEAR || values->out != before->in3)
                continue;
            site.shift_param = values->bias;
            site.shift_at = before->in3_at;
            break;
        }
    }
    return vec_push(&net->sites, site);
}

bool net_target(Net *net, NetOp op, const char *module, const char *role, int norm) {
    const NetParam *weight = &net->params.items[op.weight];
    uint64_t inputs = weight->input_major ? weight->dims[0] : weight->count / weight->dims[0];
    const NetOp *before = net->ops.count ? &net->ops.items[net->ops.count - 1] : NULL;
    bool same_site = before && before->kind == NET_LINEAR && before->linear != NET_NONE &&
                     before->in == op.in && norm == NET_NONE &&
                     net->ops.count > net->stages[net->stage_count - 1].first;
    if (!same_site && !add_site(net, &op, (uint32_t)inputs, norm))
        return false;
    NetLinear linear = {.name = arena_strdup(&net->arena, module),
                        .weight = op.weight,
                        .bias = op.bias,
                        .outputs = op.rows,
                        .inputs = (uint32_t)inputs,
                        .stage = (uint32_t)net->stage_count - 1,
                        .site = (uint32_t)net->sites.count - 1,
                        .role = role};
    op.linear = (int)net->linears.count;
    return linear.name && vec_push(&net->linears, linear) && net_op(net, op);
}

void net_free(Net *net) {
    for (size_t stage = 0; stage < net->stage_count; stage++)
        net_unload(net, stage);
    for (size_t i = 0; net->scratch && i < net->buffers.count; i++)
        mem_free(net->scratch[i]);
    for (unsigned i = 0; net->worker_scratch && i < pool_threads(net->pool); i++)
        mem_free(net->worker_scratch[i]);
    mem_free(net->scratch);
    mem_free(net->worker_scratch);
    mem_free(net->operand);
    vec_free(&net->ops);
    vec_free(&net->params);
    vec_free(&net->linears);
    vec_free(&net->sites);
    vec_free(&net->buffers);
    mem_free(net->stages);
    arena_free(&net->arena);
    *net = (Net){0};
}

/* ---- parameters */

static Status param_error(const Net *net, const NetParam *param, Status code, Diag *diag,
                          const char *format, ...) __attribute__((format(printf, 5, 6)));

static Status param_error(const Net *net, const NetParam *param, Status code, Diag *diag,
                          const char *format, ...) {
    char shown[TEXT_PRINTABLE];
    const SafeTensor *tensor = checkpoint_find(net->checkpoint, param->name);
    char *object = mem_printf("tensor %s, %s", text_printable(param->name, shown),
                              net->stages[param->stage].name);
    va_list arguments;
    va_start(arguments, format);
    char *text = mem_vprintf(format, arguments);
    va_end(arguments);
    const char *file = tensor ? checkpoint_file(net->checkpoint, tensor) : net->checkpoint->path;
    diag_error(diag, code, (DiagPlace){.file = file, .tile = -1, .object = object}, "%s",
               text ? text : "");
    mem_free(object);
    mem_free(text);
    return code;
}

static void print_dims(uint32_t rank, const uint64_t *dims, char text[128]) {
    size_t used = 0;
    text[used++] = '[';
    for (uint32_t axis = 0; axis < rank && used < 100; axis++)
        used += (size_t)snprintf(text + used, 128 - used, "%s%llu", axis ? "," : "",
                                 (unsigned long long)dims[axis]);
    snprintf(text + used, 128 - used, "]");
}

static Status check_shape(const Net *net, const NetParam *param, const SafeTensor *tensor,
                          Diag *diag) {
    bool same = tensor->rank == param->rank;
    for (uint32_t axis = 0; axis < param->rank && same; axis++)
        same = tensor->dims[axis] == param->dims[axis];
    if (same)
        return STATUS_OK;
    char found[128], wanted[128];
    print_dims(tensor->rank, tensor->dims, found);
    print_dims(param->rank, param->dims, wanted);
    return param_error(net, param, ERR_MODEL_SHAPE, diag,
                       "its shape is %s, but the configuration asks for %s", found, wanted);
}

/* Index of the first value that is not finite as float32, or count. */
static uint64_t find_nonfinite(const SafeTensor *tensor) {
    enum { PIECE = 4096 };
    float piece[PIECE];
    size_t size = dtype_bits(tensor->dtype) / 8;
    for (uint64_t at = 0; at < tensor->count; at += PIECE) {
        uint64_t count = MIN_OF(tensor->count - at, (uint64_t)PIECE);
        dtype_encode(tensor->dtype, tensor->data + at * size, count, (Precision){PRECISION_F32, 0},
                     piece, NULL);
        uint32_t bad = 0;
        for (uint64_t i = 0; i < count; i++)
            bad |= (f32_bits(piece[i]) & 0x7F800000u) == 0x7F800000u;
        for (uint64_t i = 0; bad && i < count; i++)
            if ((f32_bits(piece[i]) & 0x7F800000u) == 0x7F800000u)
                return at + i;
    }
    return tensor->count;
}

void net_forget(const uint8_t *bytes, uint64_t size) {
    uintptr_t begin = ((uintptr_t)bytes + 4095) & ~(uintptr_t)4095;
    uintptr_t end = ((uintptr_t)bytes + size) & ~(uintptr_t)4095;
    if (bytes && begin < end)
        madvise((void *)begin, end - begin, MADV_DONTNEED);
}

static void forget_pages(const SafeTensor *tensor) {
    net_forget(tensor->data, tensor->bytes);
}

Status net_bind(Net *net, const Checkpoint *checkpoint, Diag *diag) {
    net->checkpoint = checkpoint;
    for (size_t i = 0; i < net->params.count; i++) {
        const NetParam *param = &net->params.items[i];
        const SafeTensor *tensor;
        Status status = checkpoint_get(checkpoint, param->name, &tensor, diag);
        if (status == STATUS_OK)
            status = check_shape(net, param, tensor, diag);
        if (status == STATUS_OK && !dtype_is_float(tensor->dtype))
            status = param_error(net, param, ERR_MODEL_DTYPE, diag, "%s is no floating-point type",
                                 dtype_name(tensor->dtype));
        if (status != STATUS_OK)
            return status;
    }
    for (size_t i = 0; i < net->params.count; i++) {
        const NetParam *param = &net->params.items[i];
        const SafeTensor *tensor = checkpoint_find(checkpoint, param->name);
        uint64_t at = find_nonfinite(tensor);
        forget_pages(tensor);
        if (at < tensor->count)
            return param_error(net, param, ERR_QUANT_NONFINITE, diag,
                               "value %llu is not finite as float32", (unsigned long long)at);
    }
    return STATUS_OK;
}

static const SafeTensor *source(const Net *net, const NetParam *param, const SafeTensors *changed) {
    const SafeTensor *tensor = changed ? safetensors_find(changed, param->name) : NULL;
    return tensor ? tensor : checkpoint_find(net->checkpoint, param->name);
}

/* inputs × outputs to outputs × inputs */
static void transpose(const float *from, float *to, uint64_t rows, uint64_t columns) {
    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t c = 0; c < columns; c++)
            to[c * rows + r] = from[r * columns + c];
}

Status net_read_param(const Net *net, int param_index, const SafeTensors *changed, float **values,
                      Diag *diag) {
    const NetParam *param = &net->params.items[param_index];
    const SafeTensor *tensor = source(net, param, changed);
    float *read = mem_alloc(param->count + 1, sizeof *read);
    float *turned = param->input_major ? mem_alloc(param->count + 1, sizeof *turned) : NULL;
    *values = NULL;
    if (!read || (param->input_major && !turned)) {
        mem_free(read);
        mem_free(turned);
        return no_memory(diag);
    }
    dtype_encode(tensor->dtype, tensor->data, param->count, (Precision){PRECISION_F32, 0}, read,
                 NULL);
    forget_pages(tensor);
    if (turned) {
        transpose(read, turned, param->dims[0], param->dims[1]);
        mem_free(read);
    }
    *values = turned ? turned : read;
    return STATUS_OK;
}

Status net_load(Net *net, size_t stage, const SafeTensors *changed, Diag *diag) {
    net_unload(net, stage);
    for (size_t i = 0; i < net->params.count; i++) {
        NetParam *param = &net->params.items[i];
        if (param->stage != stage)
            continue;
        const SafeTensor *tensor = param->source = source(net, param, changed);
        bool direct = tensor->dtype == DTYPE_F32 && !param->input_major &&
                      (uintptr_t)tensor->data % sizeof(float) == 0;
        if (direct) {
            param->values = (const float *)(const void *)tensor->data;
            continue;
        }
        Status status = net_read_param(net, (int)i, changed, &param->owned, diag);
        if (status != STATUS_OK)
            return status;
        param->values = param->owned;
    }
    return STATUS_OK;
}

void net_unload(Net *net, size_t stage) {
    for (size_t i = 0; i < net->params.count; i++) {
        NetParam *param = &net->params.items[i];
        if (param->stage != stage || !param->values)
            continue;
        mem_free(param->owned);
        param->owned = NULL;
        param->values = NULL;
        forget_pages(param->source);
    }
}

float *net_own(Net *net, int index) {
    NetParam *param = &net->params.items[index];
    if (param->owned)
        return param->owned;
    param->owned = mem_alloc(param->count, sizeof *param->owned);
    if (!param->owned)
        return NULL;
    memcpy(param->owned, param->values, param->count * sizeof *param->owned);
    param->values = param->owned;
    return param->owned;
}

/* ---- samples and scratch */

float *net_buffer_of(const Net *net, const NetSample *sample, int buffer) {
    return net->buffers.items[buffer].persistent ? sample->buffers[buffer] : net->scratch[buffer];
}

static uint64_t buffer_count(const NetBuffer *buffer, uint32_t rows) {
    return (uint64_t)buffer->width * (buffer->fixed_rows ? 1 : rows);
}

static uint32_t widest_input(const Net *net) {
    uint32_t widest = 1;
    for (size_t i = 0; i < net->sites.count; i++)
        widest = MAX_OF(widest, net->sites.items[i].inputs);
    return widest;
}

static bool has_attention(const Net *net) {
    for (size_t i = 0; i < net->ops.count; i++)
        if (net->ops.items[i].kind == NET_ATTENTION)
            return true;
    return false;
}

uint64_t net_scratch_bytes(const Net *net, unsigned threads, uint32_t rows) {
    uint64_t count = (uint64_t)rows * widest_input(net);
    for (size_t i = 0; i < net->buffers.count; i++)
        if (!net->buffers.items[i].persistent)
            count += buffer_count(&net->buffers.items[i], rows);
    if (has_attention(net))
        count += (uint64_t)threads * rows * rows;
    return count * sizeof(float);
}

Status net_prepare(Net *net, Pool *pool, uint32_t rows, Diag *diag) {
    net->pool = pool;
    unsigned threads = pool_threads(pool);
    net->blas = blas_open(threads);
    if (!net->blas) {
        diag_error(diag, ERR_QUANT_BLAS, DIAG_NOWHERE,
                   "libopenblas.so.0 cannot be loaded, or lacks room for %u threads", threads);
        diag_fix(diag, "install libopenblas0, or use fewer threads (--threads)");
        return ERR_QUANT_BLAS;
    }
    net->scratch_rows = rows;
    net->scratch = mem_alloc(net->buffers.count + 1, sizeof *net->scratch);
    net->worker_scratch = mem_alloc(threads, sizeof *net->worker_scratch);
    net->operand = mem_alloc((size_t)rows * widest_input(net), sizeof(float));
    bool made = net->scratch && net->worker_scratch && net->operand;
    for (size_t i = 0; i < net->buffers.count && made; i++)
        if (!net->buffers.items[i].persistent)
            made = (net->scratch[i] =
                        mem_alloc(buffer_count(&net->buffers.items[i], rows), sizeof(float)));
    for (unsigned i = 0; i < threads && made && has_attention(net); i++)
        made = (net->worker_scratch[i] = mem_alloc((size_t)rows * rows, sizeof(float)));
    return made ? STATUS_OK : no_memory(diag);
}

uint64_t net_sample_bytes(const Net *net, uint32_t rows) {
    uint64_t count = 0;
    for (size_t i = 0; i < net->buffers.count; i++)
        if (net->buffers.items[i].persistent)
            count += buffer_count(&net->buffers.items[i], rows);
    return count * sizeof(float);
}

Status net_sample_make(const Net *net, const char *name, uint32_t rows, NetSample *sample,
                       Diag *diag) {
    *sample = (NetSample){name, rows, mem_alloc(net->buffers.count + 1, sizeof *sample->buffers)};
    bool made = sample->buffers;
    for (size_t i = 0; i < net->buffers.count && made; i++)
        if (net->buffers.items[i].persistent)
            made = (sample->buffers[i] =
                        mem_alloc(buffer_count(&net->buffers.items[i], rows), sizeof(float)));
    return made ? STATUS_OK : no_memory(diag);
}

void net_sample_free(const Net *net, NetSample *sample) {
    for (size_t i = 0; sample->buffers && i < net->buffers.count; i++)
        mem_free(sample->buffers[i]);
    mem_free(sample->buffers);
    *sample = (NetSample){0};
}
