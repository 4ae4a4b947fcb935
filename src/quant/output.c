/* The report and the output folder. */
#include "quant/internal.h"

#include "image/image.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *output_scale_name(Arena *arena, const char *weight) {
    return arena_printf(arena, "%s_scale", weight);
}

char *output_input_scale_name(Arena *arena, const char *module) {
    return arena_printf(arena, "%s.input_scale", module);
}

/* ---- the report */

static const char *algorithm_name(Algorithm algorithm) {
    static const char *const names[] = {
        [ALGORITHM_GPTQ] = "gptq", [ALGORITHM_NEAREST] = "nearest", [ALGORITHM_NONE] = "none"};
    return names[algorithm];
}

static json_t *sample_names(const TaskSamples *samples) {
    json_t *array = json_array();
    for (size_t i = 0; i < samples->count; i++)
        json_array_append_new(array, json_string(samples->items[i].label));
    return array;
}

static json_t *options_json(const Quant *q) {
    const QuantOptions *o = q->options;
    json_t *a = json_pack(
        "{s:s, s:s, s:s, s:f, s:i, s:b, s:b, s:i, s:b, s:b}", "algorithm",
        algorithm_name(o->solve.algorithm), "scale_granularity",
        o->solve.granularity == GRANULARITY_TENSOR ? "tensor" : "block", "scale_rule",
        o->solve.scale_rule == SCALE_RULE_ERROR ? "error" : "maximum", "damp", o->solve.damp,
        "damp_retries", (int)o->solve.damp_retries, "activation_order", o->solve.activation_order,
        "bias_correction", o->solve.bias_correction, "block_size", (int)o->block, "f64_hessians",
        o->wide, "sequential", o->sequential);
    json_t *b = json_pack(
        "{s:b, s:b, s:b, s:f, s:b, s:b, s:i, s:i, s:f, s:i, s:b, s:b}", "quantized_propagation",
        o->operands, "center", o->center, "equalize", o->equalize, "equalize_limit",
        o->equalize_limit, "share_roles", o->share_roles, "share_operands", o->share_operands,
        "input_scale_offset", o->input_offset, "weight_scale_offset", o->weight_offset, "clip",
        o->clip, "layers", (int)o->layers, "encode", o->encode, "covariance", o->solve.covariance);
    json_object_update(a, b);
    json_decref(b);
    return a;
}

/* Totals over all linears. */
static json_t *summary_json(Quant *q) {
    double nearest = 0, reconstructed = 0;
    json_int_t linears = 0, fallbacks = 0;
    size_t index;
    json_t *stage, *record;
    json_array_foreach(q->records, index, stage) {
        size_t i;
        json_array_foreach(json_object_get(stage, "linears"), i, record) {
            nearest += json_real_value(json_object_get(record, "nearest"));
            reconstructed += json_real_value(json_object_get(record, "reconstructed"));
            fallbacks += json_integer_value(json_object_get(record, "fallback_blocks"));
            linears++;
        }
    }
    q->fell_back = fallbacks > 0;
    double cosine = 2, both = 2;
    json_array_foreach(q->evaluations, index, record) {
        double w = json_real_value(
            json_object_get(json_object_get(record, "weights"), "cosine_similarity"));
        double a = json_real_value(
            json_object_get(json_object_get(record, "weights_and_inputs"), "cosine_similarity"));
        cosine = MIN_OF(cosine, w);
        both = MIN_OF(both, a);
    }
    json_t *summary = json_pack("{s:I, s:I, s:f, s:f, s:f}", "linears", linears, "fallback_blocks",
                                fallbacks, "nearest", nearest, "reconstructed", reconstructed,
                                "objective_ratio", nearest > 0 ? reconstructed / nearest : 0.0);
    if (cosine <= 1.5) {
        json_object_set_new(summary, "least_cosine_weights", json_real(cosine));
        json_object_set_new(summary, "least_cosine_weights_and_inputs", json_real(both));
    }
    return summary;
}

json_t *output_report(Quant *q) {
    json_t *linears = json_array(), *equalization = json_array();
    size_t index;
    json_t *stage;
    json_array_foreach(q->records, index, stage) {
        json_array_extend(linears, json_object_get(stage, "linears"));
        json_array_extend(equalization, json_object_get(stage, "equalization"));
    }
    const struct QuantTimes *t = &q->times;
    json_t *times = json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "forward", t->forward,
                              "hessian", t->hessian, "solve", t->solve, "transform", t->equalize,
                              "evaluate", t->evaluate, "write", t->write, "total", t->total);
    json_t *report =
        json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o}", "tool", "tilework quantize", "version",
                  q->options->version, "processor", cpu_level_name(cpu_level()), "model",
                  q->options->model, "options", options_json(q), "calibration",
                  sample_names(&q->calibration), "held_out", sample_names(&q->evaluation));
    json_object_set_new(report, "calibration_digest", json_string(q->state.fingerprint));
    json_object_set_new(report, "summary", summary_json(q));
    json_object_set_new(report, "linears", linears);
    json_object_set_new(report, "equalization", equalization);
    json_object_set(report, "evaluation", q->evaluations);
    json_object_set(report, "stages", q->stages);
    json_object_set_new(report, "seconds", times);
    json_object_set_new(report, "memory_estimate_bytes",
                        json_integer((json_int_t)q->memory_estimate));
    json_object_set_new(report, "peak_rss_bytes", json_integer((json_int_t)peak_rss_bytes()));
    return report;
}

/* ---- the tensors of the output */

typedef struct OutputTensor {
    const SafeTensor *source; /* of the checkpoint or of a layer's file */
    const NetLinear *linear;  /* whose weight is to be encoded, or NULL */
    const SafeTensor *scales;
} OutputTensor;

typedef struct Output {
    Quant *q;
    VEC(SafeTensor) tensors;
    VEC(OutputTensor) origins;
    const SafeTensor *last; /* that was fetched */
    uint8_t *codes;
    size_t codes_size;
    Arena arena;
} Output;

static bool add(Output *out, SafeTensor tensor, OutputTensor origin) {
    return vec_push(&out->tensors, tensor) && vec_push(&out->origins, origin);
}

static const SafeTensor *find_changed(const Quant *q, const char *name) {
    for (size_t stage = 0; stage < q->net->stage_count; stage++) {
        const SafeTensors *layer = q->state.layers[stage];
        const SafeTensor *tensor = layer ? safetensors_find(layer, name) : NULL;
        if (tensor)
            return tensor;
    }
    return NULL;
}

static const NetLinear *linear_of(const Quant *q, const char *weight) {
    for (size_t i = 0; i < q->net->linears.count; i++)
        if (strcmp(q->net->params.items[q->net->linears.items[i].weight].name, weight) == 0)
            return &q->net->linears.items[i];
    return NULL;
}

static bool add_checkpoint_tensor(Output *out, const SafeTensor *tensor) {
    Quant *q = out->q;
    const SafeTensor *changed = find_changed(q, tensor->name);
    if (!changed)
        return add(out, *tensor, (OutputTensor){.source = tensor});
    const NetLinear *linear = q->options->encode ? linear_of(q, tensor->name) : NULL;
    char *scale_name = output_scale_name(&out->arena, tensor->name);
    const SafeTensor *scales = linear && scale_name ? find_changed(q, scale_name) : NULL;
    if (!scales)
        return add(out, *changed, (OutputTensor){.source = changed});
    SafeTensor codes = *changed;
    codes.dtype = DTYPE_F8_E4M3FNUZ;
    codes.bytes = codes.count;
    out->codes_size = MAX_OF(out->codes_size, (size_t)codes.count);
    char *input_name = output_input_scale_name(&out->arena, linear->name);
    const SafeTensor *input = input_name ? find_changed(q, input_name) : NULL;
    return input && add(out, codes, (OutputTensor){changed, linear, scales}) &&
           add(out, *scales, (OutputTensor){.source = scales}) &&
           add(out, *input, (OutputTensor){.source = input});
}

/* Encodes row by row, each with the scale of its block. In files that store inputs × outputs the
 * blocks lie across. */
static void encode_weight(const OutputTensor *origin, uint8_t *codes) {
    const SafeTensor *w = origin->source;
    const int8_t *scales = (const int8_t *)origin->scales->data;
    uint64_t columns = w->dims[w->rank - 1], rows = w->count / columns;
    bool tensor_scale = origin->scales->rank == 0;
    uint64_t across = tensor_scale ? 1 : origin->scales->dims[1];
    bool input_major =
        rows == origin->linear->inputs && columns == origin->linear->outputs && rows != columns;
    for (uint64_t r = 0; r < rows; r++) {
        uint64_t step = tensor_scale ? columns : SCALE_BLOCK;
        for (uint64_t c = 0; c < columns; c += step) {
            uint64_t count = MIN_OF(step, columns - c), b = r / SCALE_BLOCK, d = c / SCALE_BLOCK;
            int scale =
                tensor_scale ? scales[0] : scales[input_major ? d * across + b : b * across + d];
            float piece[SCALE_BLOCK];
            for (uint64_t at = 0; at < count; at += SCALE_BLOCK) {
                uint64_t n = MIN_OF(count - at, (uint64_t)SCALE_BLOCK);
                memcpy(piece, w->data + (r * columns + c + at) * sizeof(float), n * sizeof(float));
                f8_encode_f32(codes + r * columns + c + at, piece, n, F8_F143, scale, F8_HOST);
            }
        }
    }
}

static const uint8_t *fetch(void *context, size_t index) {
    Output *out = context;
    const OutputTensor *origin = &out->origins.items[index];
    if (out->last)
        net_forget(out->last->data, out->last->bytes);
    out->last = origin->source;
    if (!origin->linear)
        return origin->source->data;
    encode_weight(origin, out->codes);
    return out->codes;
}

static Status write_tensors(Output *out, const char *folder) {
    Quant *q = out->q;
    bool made = true;
    for (size_t i = 0; i < q->task.checkpoint->count && made; i++)
        made = add_checkpoint_tensor(out, q->task.checkpoint->tensors[i].tensor);
    out->codes = mem_alloc(out->codes_size + 1, 1);
    char *path = mem_printf("%s/model.safetensors", folder);
    const char *algorithm = algorithm_name(q->options->solve.algorithm);
    SafeTensorsText metadata[] = {
        {"format", "pt"},
        {"ipu_f143_reconstruction", algorithm},
        {"tilework_version", q->options->version},
        {"scale_granularity",
         q->options->solve.granularity == GRANULARITY_TENSOR ? "tensor" : "block"},
        {"calibration_digest", q->state.fingerprint}};
    Status status =
        made && path && out->codes
            ? safetensors_write_fetched(path, out->tensors.items, out->tensors.count, metadata,
                                        COUNT_OF(metadata), fetch, out, q->diag)
            : quant_no_memory(q);
    mem_free(path);
    return status;
}

static Status copy_config(const Quant *q, const char *folder) {
    if (!q->task.config_path)
        return STATUS_OK;
    uint8_t *text;
    size_t size;
    Status status = file_read(q->task.config_path, &text, &size, q->diag);
    if (status != STATUS_OK)
        return status;
    char *path = mem_printf("%s/config.json", folder);
    status = path ? file_write_atomic(path, text, size, q->diag) : quant_no_memory(q);
    mem_free(path);
    mem_free(text);
    return status;
}

static Status write_folder(Output *out, const char *folder, const char *report) {
    Quant *q = out->q;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return diag_error(q->diag, ERR_FILE_WRITE, (DiagPlace){.file = folder, .tile = -1},
                          "cannot make the folder: %s", strerrordesc_np(errno));
    Status status = write_tensors(out, folder);
    if (status == STATUS_OK)
        status = copy_config(q, folder);
    char *path = mem_printf("%s/quantization.json", folder);
    if (status == STATUS_OK)
        status =
            path ? file_write_atomic(path, report, strlen(report), q->diag) : quant_no_memory(q);
    mem_free(path);
    if (status == STATUS_OK && rename(folder, q->options->output) != 0)
        status =
            diag_error(q->diag, ERR_FILE_WRITE, (DiagPlace){.file = q->options->output, .tile = -1},
                       "cannot move the finished folder there: %s", strerrordesc_np(errno));
    return status;
}

/* All files are written in a folder beside, which gets its name when it is whole. */
Status output_write(Quant *q, const char *report) {
    Output out = {.q = q};
    double begin = clock_seconds();
    char *folder = mem_printf("%s.partial/output", q->options->output);
    char *parent = mem_printf("%s.partial", q->options->output);
    Status status = folder && parent ? STATUS_OK : quant_no_memory(q);
    if (status == STATUS_OK && mkdir(parent, 0777) != 0 && errno != EEXIST)
        status = diag_error(q->diag, ERR_FILE_WRITE, (DiagPlace){.file = parent, .tile = -1},
                            "cannot make the folder: %s", strerrordesc_np(errno));
    if (status == STATUS_OK)
        status = write_folder(&out, folder, report);
    if (status == STATUS_OK)
        state_remove(q);
    if (status == STATUS_OK && q->options->state)
        rmdir(parent);
    mem_free(folder);
    mem_free(parent);
    mem_free(out.codes);
    vec_free(&out.tensors);
    vec_free(&out.origins);
    arena_free(&out.arena);
    q->times.write += clock_seconds() - begin;
    return status;
}
