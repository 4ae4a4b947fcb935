#include "quant/task.h"

#include "base/text.h"
#include "image/image.h"
#include "model/npy.h"
#include "num/f16.h"

#include <fnmatch.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>

static DiagPlace in_file(const char *path) {
    return (DiagPlace){.file = path, .tile = -1};
}

static Status no_memory(Diag *diag) {
    return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory left for the model");
}

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* ---- linears of any checkpoint: a stage each */

/* The module of a weight: without ".weight". */
static char *module_name(Arena *arena, const char *weight) {
    size_t length = strlen(weight) - (ends_with(weight, ".weight") ? strlen(".weight") : 0);
    return arena_printf(arena, "%.*s", (int)length, weight);
}

/* The bias beside a weight, if there is one of its length. */
static const SafeTensor *find_bias(const Checkpoint *checkpoint, Arena *arena, const char *weight,
                                   uint64_t outputs) {
    static const char *const pairs[][2] = {
        {".weight", ".bias"}, {".w_0", ".b_0"}, {"_weight", "_bias"}};
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        if (!ends_with(weight, pairs[i][0]))
            continue;
        size_t length = strlen(weight) - strlen(pairs[i][0]);
        const char *name = arena_printf(arena, "%.*s%s", (int)length, weight, pairs[i][1]);
        const SafeTensor *bias = name ? checkpoint_find(checkpoint, name) : NULL;
        if (bias && bias->rank == 1 && bias->dims[0] == outputs && dtype_is_float(bias->dtype))
            return bias;
    }
    return NULL;
}

static bool is_wanted(const TaskLinears *linears, const char *name, bool *used) {
    bool wanted = false;
    for (size_t i = 0; i < linears->count; i++) {
        bool match = fnmatch(linears->patterns[i], name, 0) == 0;
        used[i] |= match;
        wanted |= match;
    }
    return wanted;
}

static Status add_linear(Net *net, const Checkpoint *checkpoint, const SafeTensor *weight,
                         bool input_major, Diag *diag) {
    char shown[TEXT_PRINTABLE], object[TEXT_PRINTABLE + 8];
    snprintf(object, sizeof object, "tensor %s", text_printable(weight->name, shown));
    DiagPlace place = {checkpoint_file(checkpoint, weight), 0, 0, -1, object};
    if (weight->rank != 2 || weight->count == 0)
        return diag_error(diag, ERR_QUANT_LINEARS, place,
                          "it has %u dimensions and %llu values; a linear's weight is a matrix",
                          weight->rank, (unsigned long long)weight->count);
    if (weight->dims[0] > 1u << 24 || weight->dims[1] > 1u << 24)
        return diag_error(diag, ERR_QUANT_LINEARS, place, "a side is longer than %u", 1u << 24);
    if (!dtype_is_float(weight->dtype))
        return diag_error(diag, ERR_MODEL_DTYPE, place, "%s is no floating-point type",
                          dtype_name(weight->dtype));
    uint32_t outputs = (uint32_t)weight->dims[input_major],
             inputs = (uint32_t)weight->dims[!input_major];
    const char *module = module_name(&net->arena, weight->name);
    const SafeTensor *bias = find_bias(checkpoint, &net->arena, weight->name, outputs);
    NetOp op = {.kind = NET_LINEAR, .in2 = NET_NONE, .in3 = NET_NONE, .bias = NET_NONE};
    bool made = module && net_stage(net, module);
    op.in = made ? net_buffer(net, inputs, false, false) : NET_NONE;
    op.out = made ? net_buffer(net, outputs, false, false) : NET_NONE;
    op.rows = outputs;
    op.weight = made ? net_param(net, weight->name, 2, weight->dims) : NET_NONE;
    if (made && bias)
        op.bias = net_param(net, bias->name, 1, bias->dims);
    made = op.in != NET_NONE && op.out != NET_NONE && op.weight != NET_NONE;
    if (made) {
        net->params.items[op.weight].input_major = input_major;
        made = net_target(net, op, module, module, NET_NONE);
        net->stages[net->stage_count - 1].output = op.out;
    }
    return made ? STATUS_OK : no_memory(diag);
}

static Status build_linears(const TaskLinears *linears, Task *task, Diag *diag) {
    bool *used = mem_alloc(linears->count, sizeof *used);
    if (!used)
        return no_memory(diag);
    Status status = STATUS_OK;
    for (size_t i = 0; i < task->checkpoint->count && status == STATUS_OK; i++) {
        const SafeTensor *tensor = task->checkpoint->tensors[i].tensor;
        if (is_wanted(linears, tensor->name, used))
            status = add_linear(&task->net, task->checkpoint, tensor, linears->input_major, diag);
    }
    for (size_t i = 0; i < linears->count && status == STATUS_OK; i++) {
        if (used[i])
            continue;
        char shown[TEXT_PRINTABLE];
        status = diag_error(diag, ERR_QUANT_LINEARS, in_file(task->checkpoint->path),
                            "no tensor has a name like \"%s\"",
                            text_printable(linears->patterns[i], shown));
        Nearest nearest = nearest_begin(linears->patterns[i]);
        for (size_t t = 0; t < task->checkpoint->count; t++)
            nearest_offer(&nearest, task->checkpoint->tensors[t].tensor->name);
        if (nearest.best)
            diag_fix(diag, "the nearest name is \"%s\"", text_printable(nearest.best, shown));
    }
    mem_free(used);
    task->net.stream = NET_NONE;
    return status;
}

/* ---- models with a configuration */

static Status read_kind(const char *path, TaskKind *kind, Diag *diag) {
    uint8_t *text;
    size_t size;
    Status status = file_read(path, &text, &size, diag);
    if (status != STATUS_OK) {
        diag_fix(diag, "a model is a folder with config.json; for other checkpoints tell which "
                       "tensors to quantize (--linears)");
        return status;
    }
    json_t *root = json_loadb((const char *)text, size, JSON_REJECT_DUPLICATES, NULL);
    const char *type = json_string_value(json_object_get(root, "model_type"));
    *kind = type && strcmp(type, "pp_ocr_neck") == 0 ? TASK_NECK : TASK_SIGLIP;
    json_decref(root);
    mem_free(text);
    return STATUS_OK;
}

static Status build_model(const char *model, Task *task, Diag *diag) {
    task->config_path = arena_printf(&task->net.arena, "%s/config.json", model);
    if (!task->config_path)
        return no_memory(diag);
    Arena kept = task->net.arena; /* building starts a network afresh */
    Status status = read_kind(task->config_path, &task->kind, diag);
    if (status != STATUS_OK)
        return status;
    Net net;
    if (task->kind == TASK_NECK) {
        NeckConfig config;
        status = neck_read_config(task->config_path, &config, diag);
        if (status == STATUS_OK)
            status = neck_build(&config, &net, diag);
    } else {
        status = siglip_read_config(task->config_path, &task->siglip, diag);
        if (status == STATUS_OK)
            status = siglip_build(&task->siglip, &net, diag);
    }
    if (status != STATUS_OK)
        return status;
    const char *path = arena_strdup(&net.arena, task->config_path);
    arena_free(&kept);
    task->net = net;
    task->config_path = path;
    return path ? STATUS_OK : no_memory(diag);
}

Status task_open(const char *model, const TaskLinears *linears, Task *task, Diag *diag) {
    *task = (Task){.kind = TASK_LINEARS};
    Status status = linears->count ? STATUS_OK : build_model(model, task, diag);
    if (status == STATUS_OK)
        status = checkpoint_open(model, &task->checkpoint, diag);
    task->checkpoint_open = status == STATUS_OK;
    if (status == STATUS_OK && linears->count)
        status = build_linears(linears, task, diag);
    if (status == STATUS_OK)
        status = net_bind(&task->net, task->checkpoint, diag);
    if (status != STATUS_OK)
        task_close(task);
    return status;
}

void task_close(Task *task) {
    net_free(&task->net);
    if (task->checkpoint_open)
        checkpoint_close(task->checkpoint);
    *task = (Task){0};
}

/* ---- arrays in files */
typedef struct Values {
    Dtype dtype;
    uint32_t rank;
    uint64_t dims[8], count;
    const uint8_t *data;
    SafeTensors *file;
    Npy npy;
    bool npy_open;
} Values;

static void values_close(Values *values) {
    safetensors_close(values->file);
    if (values->npy_open)
        npy_close(&values->npy);
    *values = (Values){0};
}

/* An array of a .npy file, or the tensor of that name. *found false (and no error) if a SafeTensors
 * file lacks it and `optional`. */
static Status values_open(const char *path, const char *name, bool optional, Values *values,
                          bool *found, Diag *diag) {
    *values = (Values){0};
    *found = true;
    if (ends_with(path, ".npy")) {
        Status status = npy_open(path, &values->npy, diag);
        if (status != STATUS_OK)
            return status;
        values->npy_open = true;
        values->dtype = values->npy.dtype;
        values->rank = values->npy.rank;
        memcpy(values->dims, values->npy.dims, values->rank * sizeof *values->dims);
        values->count = values->npy.count;
        values->data = values->npy.data;
        return STATUS_OK;
    }
    Status status = safetensors_open(path, &values->file, diag);
    if (status != STATUS_OK)
        return status;
    const SafeTensor *tensor = safetensors_find(values->file, name);
    *found = tensor != NULL;
    if (!tensor)
        status = optional ? STATUS_OK : safetensors_get(values->file, name, &tensor, diag);
    else if (!dtype_is_float(tensor->dtype))
        status = diag_error(diag, ERR_MODEL_DTYPE, in_file(path), "%s is no floating-point type",
                            dtype_name(tensor->dtype));
    else if (tensor->rank > COUNT_OF(values->dims))
        status = diag_error(diag, ERR_QUANT_CALIBRATION, in_file(path),
                            "\"%s\" has %u dimensions, more than calibration data have", name,
                            tensor->rank);
    if (status != STATUS_OK || !tensor) {
        values_close(values);
        return status;
    }
    values->dtype = tensor->dtype;
    values->rank = tensor->rank;
    memcpy(values->dims, tensor->dims, tensor->rank * sizeof *values->dims);
    values->count = tensor->count;
    values->data = tensor->data;
    return STATUS_OK;
}

/* Values [first, first + count) as float32, checked to be finite. */
static Status values_take(const Values *values, const char *path, const char *what, uint64_t first,
                          uint64_t count, float *out, Diag *diag) {
    dtype_encode(values->dtype, values->data + first * (dtype_bits(values->dtype) / 8), count,
                 (Precision){PRECISION_F32, 0}, out, NULL);
    for (uint64_t i = 0; i < count; i++)
        if ((f32_bits(out[i]) & 0x7F800000u) == 0x7F800000u)
            return diag_error(diag, ERR_QUANT_NONFINITE,
                              (DiagPlace){.file = path, .tile = -1, .object = what},
                              "value %llu is not finite as float32", (unsigned long long)first + i);
    return STATUS_OK;
}

/* ---- listing */

static bool is_array_file(const char *path) {
    return ends_with(path, ".npy") || ends_with(path, ".safetensors");
}

static Status push(TaskSamples *samples, TaskSource source, Diag *diag) {
    samples->most_rows = MAX_OF(samples->most_rows, source.rows);
    return source.path && source.label && vec_push(samples, source) ? STATUS_OK : no_memory(diag);
}

static Status list_pixels(const Task *task, const char *path, TaskSamples *samples, Diag *diag) {
    Values values;
    bool found;
    Status status = values_open(path, "pixel_values", false, &values, &found, diag);
    if (status != STATUS_OK)
        return status;
    const SiglipConfig *c = &task->siglip;
    bool right = values.rank == 4 && values.dims[0] > 0 && values.dims[0] < 1u << 24 &&
                 values.dims[1] == c->channels && values.dims[2] == c->image &&
                 values.dims[3] == c->image;
    if (!right)
        status = diag_error(diag, ERR_QUANT_CALIBRATION, in_file(path),
                            "pixel_values must be [images,%u,%u,%u], with one image at least",
                            c->channels, c->image, c->image);
    for (uint32_t i = 0; right && i < values.dims[0] && status == STATUS_OK; i++)
        status = push(samples,
                      (TaskSource){.path = arena_strdup(&samples->arena, path),
                                   .label = arena_printf(&samples->arena, "%s[%u]", path, i),
                                   .index = i,
                                   .rows = siglip_tokens(c)},
                      diag);
    values_close(&values);
    return status;
}

static Status list_line(const char *path, TaskSamples *samples, Diag *diag) {
    Values values;
    bool found;
    Status status = values_open(path, "stream", false, &values, &found, diag);
    if (status != STATUS_OK)
        return status;
    if (values.rank != 2 || values.dims[0] == 0 || values.dims[0] > 1u << 16)
        status = diag_error(diag, ERR_QUANT_CALIBRATION, in_file(path),
                            "stream must be [steps,hidden_size], with one step at least");
    else
        status = push(samples,
                      (TaskSource){.path = arena_strdup(&samples->arena, path),
                                   .label = arena_strdup(&samples->arena, path),
                                   .rows = (uint32_t)values.dims[0]},
                      diag);
    values_close(&values);
    return status;
}

/* "[NAME=]FILE[:TENSOR]" */
static Status list_inputs(const Task *task, const char *text, TaskSamples *samples, Diag *diag) {
    const char *equals = strchr(text, '='), *path = equals ? equals + 1 : text;
    const char *suffix = strstr(path, ".safetensors:");
    TaskSource source = {.label = arena_strdup(&samples->arena, text)};
    if (equals)
        source.linear = arena_printf(&samples->arena, "%.*s", (int)(equals - text), text);
    if (suffix) {
        source.tensor = suffix + strlen(".safetensors:");
        source.tensor = arena_strdup(&samples->arena, source.tensor);
        source.path = arena_printf(&samples->arena, "%.*s",
                                   (int)(suffix + strlen(".safetensors") - path), path);
    } else {
        source.path = arena_strdup(&samples->arena, path);
    }
    if (!source.path || !source.label)
        return no_memory(diag);
    bool any = false;
    for (size_t stage = 0; stage < task->net.stage_count; stage++) {
        NetSample sample = {.name = source.label};
        bool found;
        Status status = task_load_inputs(task, &source, stage, &sample, &found, diag);
        if (status != STATUS_OK)
            return status;
        any |= found;
        source.rows = MAX_OF(source.rows, sample.rows);
    }
    char shown[TEXT_PRINTABLE];
    if (!any)
        return diag_error(
            diag, ERR_QUANT_CALIBRATION, in_file(source.path),
            "no inputs for any of the linears are in it; the first would be \"%s.input\"",
            text_printable(task->net.linears.items[0].name, shown));
    return push(samples, source, diag);
}

Status task_list(const Task *task, const char *const *paths, size_t count, TaskSamples *samples,
                 Diag *diag) {
    for (size_t i = 0; i < count; i++) {
        Status status;
        struct stat info;
        if (task->kind == TASK_LINEARS)
            status = list_inputs(task, paths[i], samples, diag);
        else if (task->kind == TASK_NECK)
            status = list_line(paths[i], samples, diag);
        else if (is_array_file(paths[i]))
            status = list_pixels(task, paths[i], samples, diag);
        else if (stat(paths[i], &info) != 0)
            status =
                diag_error(diag, ERR_FILE_OPEN, in_file(paths[i]), "cannot open: no such file");
        else
            status = push(samples,
                          (TaskSource){.path = arena_strdup(&samples->arena, paths[i]),
                                       .label = arena_strdup(&samples->arena, paths[i]),
                                       .rows = siglip_tokens(&task->siglip)},
                          diag);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

void task_samples_free(TaskSamples *samples) {
    vec_free(samples);
    arena_free(&samples->arena);
    *samples = (TaskSamples){0};
}

/* ---- loading */

/* Resized to the model's square, (v/255 − 0.5)/0.5, channel first. */
static Status load_picture(const SiglipConfig *config, const char *path, float *pixels,
                           Diag *diag) {
    Image image, square;
    if (config->channels != 3)
        return diag_error(diag, ERR_QUANT_CALIBRATION, in_file(path),
                          "a picture has three channels, the model takes %u", config->channels);
    Status status = image_read(path, &image, diag);
    if (status != STATUS_OK)
        return status;
    status = image_resize(&image, config->image, config->image, IMAGE_BICUBIC, &square, diag);
    image_free(&image);
    if (status != STATUS_OK)
        return status;
    size_t count = (size_t)config->image * config->image;
    for (size_t i = 0; i < count; i++)
        for (size_t c = 0; c < 3; c++)
            pixels[c * count + i] = ((float)square.rgb[3 * i + c] / 255.0f - 0.5f) / 0.5f;
    image_free(&square);
    return STATUS_OK;
}

static Status load_array(const TaskSource *source, const char *name, uint64_t index, uint64_t count,
                         float *out, Diag *diag) {
    Values values;
    bool found;
    Status status = values_open(source->path, name, false, &values, &found, diag);
    if (status != STATUS_OK)
        return status;
    if ((index + 1) * count > values.count)
        status =
            diag_error(diag, ERR_QUANT_CALIBRATION, in_file(source->path),
                       "\"%s\" holds %llu values, %llu are wanted", name,
                       (unsigned long long)values.count, ((unsigned long long)index + 1) * count);
    else
        status = values_take(&values, source->path, name, index * count, count, out, diag);
    values_close(&values);
    return status;
}

Status task_load(const Task *task, const TaskSource *source, NetSample *sample, Diag *diag) {
    const NetBuffer *buffers = task->net.buffers.items;
    if (task->kind == TASK_LINEARS)
        return STATUS_OK; /* stage by stage */
    if (task->kind == TASK_NECK) {
        Status status =
            load_array(source, "stream", 0, (uint64_t)source->rows * buffers[NECK_STREAM].width,
                       sample->buffers[NECK_STREAM], diag);
        return status != STATUS_OK ? status
                                   : load_array(source, "pooled", 0,
                                                (uint64_t)source->rows * buffers[NECK_POOLED].width,
                                                sample->buffers[NECK_POOLED], diag);
    }
    if (!is_array_file(source->path))
        return load_picture(&task->siglip, source->path, sample->buffers[SIGLIP_PIXELS], diag);
    return load_array(source, "pixel_values", source->index, buffers[SIGLIP_PIXELS].width,
                      sample->buffers[SIGLIP_PIXELS], diag);
}

Status task_load_inputs(const Task *task, const TaskSource *source, size_t stage, NetSample *sample,
                        bool *found, Diag *diag) {
    const Net *net = &task->net;
    const NetLinear *linear = &net->linears.items[stage];
    *found = false;
    sample->rows = 0;
    if (source->linear && strcmp(source->linear, linear->name) != 0)
        return STATUS_OK;
    char *name = source->tensor ? mem_strdup(source->tensor) : mem_printf("%s.input", linear->name);
    if (!name)
        return no_memory(diag);
    Values values;
    bool optional = !source->linear && !source->tensor;
    Status status = values_open(source->path, name, optional, &values, found, diag);
    if (status != STATUS_OK || !*found) {
        mem_free(name);
        return status;
    }
    uint64_t rows = values.rank ? values.count / MAX_OF(values.dims[values.rank - 1], 1u) : 0;
    if (rows == 0 || rows > 1u << 28 || values.dims[values.rank - 1] != linear->inputs) {
        status = diag_error(diag, ERR_QUANT_CALIBRATION, in_file(source->path),
                            "\"%s\" must have rows of %u values for %s", name, linear->inputs,
                            linear->name);
        if (values.rank && rows && values.dims[values.rank - 1] == linear->outputs)
            diag_fix(diag, "the weight may be stored inputs × outputs (--input-major)");
    }
    sample->rows = (uint32_t)rows;
    const NetOp *op = &net->ops.items[net->stages[stage].first];
    if (status == STATUS_OK && net->scratch)
        status = values_take(&values, source->path, name, 0, rows * linear->inputs,
                             net->scratch[op->in], diag);
    values_close(&values);
    mem_free(name);
    return status;
}

Status task_reference(const Task *task, const TaskSource *source, uint64_t count, float **values,
                      Diag *diag) {
    *values = NULL;
    if (task->kind != TASK_NECK)
        return STATUS_OK;
    Values found;
    bool there;
    Status status = values_open(source->path, "logits", true, &found, &there, diag);
    if (status != STATUS_OK || !there)
        return status;
    *values = mem_alloc(count, sizeof **values);
    if (!*values)
        status = no_memory(diag);
    else if (found.count != count)
        status = diag_error(diag, ERR_QUANT_CALIBRATION, in_file(source->path),
                            "logits holds %llu values, %llu are computed",
                            (unsigned long long)found.count, (unsigned long long)count);
    else
        status = values_take(&found, source->path, "logits", 0, count, *values, diag);
    values_close(&found);
    return status;
}
