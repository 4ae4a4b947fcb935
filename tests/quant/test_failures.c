/* What users of such tools have run into, each with the error or the right value. */
#include "quant/tiny.h"

#include "num/f16.h"

#include <math.h>
#include <sys/stat.h>

static Tiny tiny;

/* ---- small checkpoints */
typedef struct Made {
    SafeTensor tensors[8];
    uint64_t dims[8][4];
    size_t count;
} Made;

static void put(Made *made, const char *name, Dtype dtype, uint64_t rows, uint64_t columns,
                const void *values) {
    uint64_t *dims = made->dims[made->count], count = rows * MAX_OF(columns, 1u);
    dims[0] = rows;
    dims[1] = columns;
    made->tensors[made->count++] = (SafeTensor){
        name, dtype, columns ? 2 : 1, dims, count, count * dtype_bits(dtype) / 8, values};
}

static char *save(const Made *made, const char *name) {
    char *path = tiny_path(&tiny, name);
    assert_int_equal(safetensors_write(path, made->tensors, made->count, NULL, 0, NULL), STATUS_OK);
    return path;
}

static float *values(const char *name, size_t count) {
    float *made = mem_alloc(count, sizeof *made);
    generate_tensor(name, count, 16, made);
    return made;
}

/* Whether some message holds the text, wherever. */
static bool told(const Diag *diag, const char *text) {
    for (size_t i = 0; i < diag->count; i++) {
        const DiagEntry *e = &diag->entries[i];
        const char *const parts[] = {e->text, e->notes, e->fix, e->place.file, e->place.object};
        for (size_t p = 0; p < COUNT_OF(parts); p++)
            if (parts[p] && strstr(parts[p], text))
                return true;
    }
    return false;
}

/* Runs, and expects an error whose message holds the text; nothing is written. */
static void expect(QuantOptions options, Status code, const char *text) {
    char *output = tiny_path(&tiny, "failing"), *report;
    options.output = output;
    options.restart = true;
    Diag diag = {0};
    Status status = quant_run(&options, tiny.pool, &report, &diag);
    if (status != code || !told(&diag, text)) {
        diag_print(&diag, stderr);
        fail_msg("found %s, expected %s with \"%s\"", status_code(status), status_code(code), text);
    }
    struct stat info;
    if (code != ERR_QUANT_FALLBACK)
        assert_int_not_equal(stat(output, &info), 0);
    mem_free(report);
    mem_free(output);
    diag_free(&diag);
}

typedef struct Any {
    char *model, *inputs;
    const char *patterns[2];
} Any;

/* A checkpoint of one weight, and its inputs. */
static QuantOptions any_options(Any *any, const char *pattern) {
    any->patterns[0] = pattern;
    QuantOptions options = tiny_options(&tiny, NULL);
    options.model = any->model;
    options.calibration = (const char *const *)&any->inputs;
    options.evaluation_count = 0;
    options.linears = any->patterns;
    options.linear_count = 1;
    return options;
}

static void free_any(Any *any) {
    mem_free(any->model);
    mem_free(any->inputs);
}

/* weight [outputs,inputs] and rows × inputs of inputs under these names. */
static Any make_any(const char *name, uint64_t outputs, uint64_t inputs, const float *weight,
                    uint64_t rows, const float *x) {
    Made model = {0}, data = {0};
    char *weight_name = mem_printf("%s.weight", name), *input_name = mem_printf("%s.input", name);
    float *bias = values("bias", outputs);
    char *bias_name = mem_printf("%s.bias", name);
    static const int64_t step = 7;
    put(&model, weight_name, DTYPE_F32, outputs, inputs, weight);
    put(&model, bias_name, DTYPE_F32, outputs, 0, bias);
    put(&model, "step", DTYPE_I64, 1, 0, &step);
    model.tensors[2].rank = 0; /* a scalar stays one */
    put(&data, input_name, DTYPE_F32, rows, inputs, x);
    Any any = {.model = save(&model, "any.safetensors"),
               .inputs = save(&data, "inputs.safetensors")};
    mem_free(weight_name);
    mem_free(input_name);
    mem_free(bias_name);
    mem_free(bias);
    return any;
}

static const json_t *first_linear(const json_t *report) {
    return json_array_get(json_object_get(report, "linears"), 0);
}

static double real(const json_t *record, const char *key) {
    return json_number_value(json_object_get(record, key));
}

/* Opens an output's tensor. */
static SafeTensors *open_output(const char *name) {
    char *path = mem_printf("%s/%s/model.safetensors", tiny.folder, name);
    SafeTensors *file;
    assert_int_equal(safetensors_open(path, &file, NULL), STATUS_OK);
    mem_free(path);
    return file;
}

static void remove_output(const char *name) {
    char *command = mem_printf("rm -rf %s/%s", tiny.folder, name);
    assert_int_equal(shell_run(command), 0);
    mem_free(command);
}

/* ---- statistics without a factor: few or repetitive samples */
static void test_fallback(void **state) {
    (void)state;
    float *weight = values("weight", 70 * 130), x[130];
    for (int i = 0; i < 130; i++)
        x[i] = 2; /* one row: moments 4 everywhere */
    Any any = make_any("layer", 70, 130, weight, 1, x);
    QuantOptions options = any_options(&any, "layer.weight");
    options.solve.damp = 0;
    expect(options, ERR_QUANT_FALLBACK, "rounded to nearest");
    remove_output("failing");
    options.allow_fallback = true;
    json_t *report = tiny_run(&tiny, options, "fallen");
    assert_int_equal(real(first_linear(report), "fallback_blocks"), 3);
    assert_int_equal(real(first_linear(report), "rows"), 1);
    assert_string_equal(json_string_value(json_object_get(first_linear(report), "method")),
                        "nearest (fallback)");
    assert_true(real(first_linear(report), "ratio") == 1);
    json_decref(report);
    /* Damping that grows by itself finds a factor, and says so. */
    options.allow_fallback = false;
    options.solve.damp_retries = 12;
    report = tiny_run(&tiny, options, "retried");
    assert_int_equal(real(first_linear(report), "fallback_blocks"), 0);
    assert_true(real(first_linear(report), "damping_retries") > 0);
    assert_true(real(first_linear(report), "damping") > 0);
    json_decref(report);
    free_any(&any);
    mem_free(weight);
}

static void test_singular_factor(void **state) {
    (void)state;
    const Blas *blas = blas_open(1);
    assert_non_null(blas);
    Stats stats;
    bool no_memory;
    assert_true(stats_make(&stats, 2, 64, false));
    assert_true(stats_add(&stats, blas, NULL, (const float[]){2, 2}, 1, &no_memory));
    stats_fold(&stats);
    SolveOptions options = {.damp = 0};
    Factor factor;
    assert_int_equal(factor_make(&stats, &options, blas, NULL, &factor, NULL), STATUS_OK);
    assert_true(factor.blocks[0].fallback);
    assert_true(factor.blocks[0].ut[0] == 0.5f && factor.blocks[0].ut[3] == 0.5f);
    assert_true(factor.blocks[0].ut[1] == 0 && factor.blocks[0].ut[2] == 0);
    factor_free(&factor);
    stats_free(&stats);
}

/* One row (0.02, −0.09) with H = [[4, 2], [2, 3]]. */
static void test_worked_example(void **state) {
    (void)state;
    const Blas *blas = blas_open(1);
    Stats stats;
    bool no_memory;
    assert_true(stats_make(&stats, 2, 64, true));
    const float rows[] = {2, 1, 0, 1.41421356f};
    assert_true(stats_add(&stats, blas, NULL, rows, 2, &no_memory));
    stats_fold(&stats);
    SolveOptions options = {.granularity = GRANULARITY_TENSOR};
    Factor factor;
    assert_int_equal(factor_make(&stats, &options, blas, NULL, &factor, NULL), STATUS_OK);
    assert_float_equal(factor.blocks[0].ut[0], 0.6123724, 1e-6);
    assert_float_equal(factor.blocks[0].ut[2], -0.4082483, 1e-6);
    assert_float_equal(factor.blocks[0].ut[3], 0.5773503, 1e-6);
    const float weight[] = {0.02f, -0.09f};
    Solved solved;
    assert_int_equal(
        solve_linear(&factor, &options, NULL, 1, weight, NULL, SOLVE_FREE, &solved, NULL),
        STATUS_OK);
    assert_int_equal(solved.scales[0], -11);
    assert_true(solved.weight[0] == 0.01953125f && solved.weight[1] == -0.0859375f);
    assert_true(fabs(solved.reconstructed * 1e5 - 4.27735) < 1e-3);
    assert_true(fabs(solved.nearest * 1e5 - 5.00976) < 1e-3);
    solved_free(&solved);
    factor_free(&factor);
    stats_free(&stats);
}

/* ---- data that never comes, or does not suit */
static void test_calibration(void **state) {
    (void)state;
    float *weight = values("weight", 20 * 30), *x = values("x", 30 * 50);
    Any any = make_any("layer", 20, 30, weight, 50, x);
    Made other = {0};
    put(&other, "layer.weight", DTYPE_F32, 20, 30, weight);
    put(&other, "expert.weight", DTYPE_F32, 20, 30, weight);
    char *two = save(&other, "two.safetensors");
    QuantOptions options = any_options(&any, "*.weight");
    options.model = two;
    expect(options, ERR_QUANT_CALIBRATION, "no calibration data reached expert");
    options = any_options(&any, "lay.weight");
    expect(options, ERR_QUANT_LINEARS, "layer.weight"); /* the nearest name */
    options = any_options(&any, "layer.bias");
    expect(options, ERR_QUANT_LINEARS, "matrix");
    options = any_options(&any, "step");
    expect(options, ERR_QUANT_LINEARS, "0 dimensions");
    options = any_options(&any, "layer.weight");
    options.input_major = true;
    expect(options, ERR_QUANT_CALIBRATION, "rows of 20 values");
    const char *const place[] = {NULL};
    char *named = mem_printf("layer=%s:nothing", any.inputs);
    options = any_options(&any, "layer.weight");
    memcpy((void *)&place, &named, sizeof named);
    options.calibration = place;
    expect(options, ERR_MODEL_TENSOR, "nothing");
    options = tiny_options(&tiny, NULL);
    options.calibration_count = 0;
    expect(options, ERR_QUANT_CALIBRATION, "no calibration data");
    options = tiny_options(&tiny, NULL);
    options.calibration = (const char *const *)&any.inputs;
    expect(options, ERR_MODEL_TENSOR, "pixel_values");
    mem_free(named);
    mem_free(two);
    free_any(&any);
    mem_free(weight);
    mem_free(x);
}

static void test_nonfinite(void **state) {
    (void)state;
    float *weight = values("weight", 20 * 30), *x = values("x", 30 * 50);
    x[777] = NAN;
    Any any = make_any("layer", 20, 30, weight, 50, x);
    expect(any_options(&any, "layer.weight"), ERR_QUANT_NONFINITE, "value 777");
    expect(any_options(&any, "layer.weight"), ERR_QUANT_NONFINITE, "inputs.safetensors");
    free_any(&any);
    x[777] = 1;
    weight[33] = INFINITY;
    any = make_any("layer", 20, 30, weight, 50, x);
    expect(any_options(&any, "layer.weight"), ERR_QUANT_NONFINITE, "value 33");
    expect(any_options(&any, "layer.weight"), ERR_QUANT_NONFINITE, "tensor layer.weight");
    free_any(&any);
    mem_free(weight);
    mem_free(x);
    /* Finite inputs whose activations overflow: image, linear and layer are told. */
    float pixels[2700];
    for (int i = 0; i < 2700; i++)
        pixels[i] = i % 2 ? 3e38f : -3e38f;
    Made made = {0};
    put(&made, "pixel_values", DTYPE_F32, 1, 3, pixels);
    made.tensors[0].rank = 4;
    made.dims[0][2] = made.dims[0][3] = 30;
    made.tensors[0].count = 2700;
    made.tensors[0].bytes = 10800;
    char *path = save(&made, "huge.safetensors");
    QuantOptions options = tiny_options(&tiny, NULL);
    options.calibration = (const char *const *)&path;
    expect(options, ERR_QUANT_NONFINITE, "huge.safetensors[0]");
    mem_free(path);
}

/* ---- damaged and unusual models */

/* Copies the tiny model into a folder, one tensor changed by `change`. */
static char *changed_model(const char *name, void (*change)(SafeTensor *tensor, float *values)) {
    char *folder = tiny_path(&tiny, name);
    char *command = mem_printf("mkdir -p %s && cp %s/config.json %s/", folder, tiny.model, folder);
    assert_int_equal(shell_run(command), 0);
    mem_free(command);
    char *from = mem_printf("%s/model.safetensors", tiny.model),
         *to = mem_printf("%s/model.safetensors", folder);
    SafeTensors *file;
    assert_int_equal(safetensors_open(from, &file, NULL), STATUS_OK);
    SafeTensor *tensors = mem_alloc(file->count, sizeof *tensors);
    float **copies = mem_alloc(file->count, sizeof *copies);
    for (size_t i = 0; i < file->count; i++) {
        tensors[i] = file->tensors[i];
        copies[i] = mem_alloc(tensors[i].bytes, 1);
        memcpy(copies[i], tensors[i].data, tensors[i].bytes);
        tensors[i].data = (const uint8_t *)copies[i];
        change(&tensors[i], copies[i]);
    }
    assert_int_equal(safetensors_write(to, tensors, file->count, NULL, 0, NULL), STATUS_OK);
    for (size_t i = 0; i < file->count; i++)
        mem_free(copies[i]);
    mem_free(copies);
    mem_free(tensors);
    safetensors_close(file);
    mem_free(from);
    mem_free(to);
    return folder;
}

static void to_bf16(SafeTensor *tensor, float *from) {
    uint16_t *to = (uint16_t *)from;
    for (uint64_t i = 0; i < tensor->count; i++)
        to[i] = (uint16_t)(f32_bits(from[i]) >> 16);
    tensor->dtype = DTYPE_BF16;
    tensor->bytes /= 2;
}

static void to_f16(SafeTensor *tensor, float *from) {
    F16 *to = (F16 *)from;
    for (uint64_t i = 0; i < tensor->count; i++)
        to[i] = f32_to_f16(from[i], F16_OVERFLOW_INFINITE);
    tensor->dtype = DTYPE_F16;
    tensor->bytes /= 2;
}

static void rename_tied(SafeTensor *tensor, float *from) {
    (void)from;
    if (strcmp(tensor->name, "vision_model.encoder.layers.1.self_attn.k_proj.weight") == 0)
        tensor->name = "vision_model.encoder.layers.1.self_attn.key.weight";
}

static void widen(SafeTensor *tensor, float *from) {
    (void)from;
    static const uint64_t odd[] = {400 * 2, 72};
    if (strcmp(tensor->name, "vision_model.encoder.layers.2.mlp.fc1.weight") == 0)
        tensor->dims = odd;
}

static void kill_channel(SafeTensor *tensor, float *from) {
    if (strstr(tensor->name, "layer_norm1."))
        from[5] = 0; /* weight and bias: the channel is always zero */
}

static void test_models(void **state) {
    (void)state;
    QuantOptions options = tiny_options(&tiny, NULL);
    char *half = changed_model("bf16", to_bf16);
    options.model = half;
    json_t *report = tiny_run(&tiny, options, "from-bf16");
    assert_true(tiny_cosine(report, 0, "weights") > 0.999);
    json_decref(report);
    mem_free(half);
    half = changed_model("f16", to_f16);
    options.model = half;
    report = tiny_run(&tiny, options, "from-f16");
    assert_true(tiny_cosine(report, 0, "weights") > 0.999);
    json_decref(report);
    mem_free(half);

    char *tied = changed_model("tied", rename_tied);
    options.model = tied;
    expect(options, ERR_MODEL_TENSOR, "layers.1.self_attn.k_proj.weight");
    mem_free(tied);
    char *odd = changed_model("odd", widen);
    options.model = odd;
    expect(options, ERR_MODEL_SHAPE, "[800,72]");
    expect(options, ERR_MODEL_SHAPE, "layers.2.mlp.fc1.weight, layer 2");
    mem_free(odd);

    char *dead = changed_model("dead", kill_channel);
    options.model = dead;
    options.equalize = options.center = true;
    report = tiny_run(&tiny, options, "from-dead");
    assert_true(tiny_cosine(report, 0, "weights_and_inputs") > 0.995);
    assert_int_equal(real(first_linear(report), "fallback_blocks"), 0);
    json_decref(report);
    mem_free(dead);
    SafeTensors *file = open_output("from-dead");
    for (size_t i = 0; i < file->count; i++)
        for (uint64_t k = 0; k < file->tensors[i].count && file->tensors[i].dtype == DTYPE_F32;
             k++) {
            float value;
            memcpy(&value, file->tensors[i].data + 4 * k, 4);
            assert_true(isfinite(value));
        }
    safetensors_close(file);

    /* A model cut off in download. */
    char *cut = tiny_path(&tiny, "cut");
    char *command =
        mem_printf("cp -r %s %s && truncate -s -100 %s/model.safetensors", tiny.model, cut, cut);
    assert_int_equal(shell_run(command), 0);
    options = tiny_options(&tiny, NULL);
    options.model = cut;
    expect(options, ERR_ST_OFFSETS, "100 bytes beyond the end");
    expect(options, ERR_ST_OFFSETS, "cut/model.safetensors");
    mem_free(command);
    mem_free(cut);
}

static void test_configurations(void **state) {
    (void)state;
    char *path = tiny_path(&tiny, "config.json");
    static const struct {
        const char *text, *error;
    } bad[] = {{"", "expected"},
               {"[]", "no JSON object"},
               {"{\"model_type\":\"clip\"}", "clip"},
               {"{\"hidden_act\":\"gelu\"}", "gelu_pytorch_tanh"},
               {"{\"hidden_size\":0}", "hidden_size"},
               {"{\"hidden_size\":1.5}", "hidden_size"},
               {"{\"hidden_size\":100,\"num_attention_heads\":7}", "no multiple"},
               {"{\"layer_norm_eps\":0}", "layer_norm_eps"},
               {"{\"patch_size\":300}", "exceeds"}};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        Diag diag = {0};
        SiglipConfig config;
        assert_int_equal(file_write_atomic(path, bad[i].text, strlen(bad[i].text), NULL),
                         STATUS_OK);
        assert_int_equal(siglip_read_config(path, &config, &diag), ERR_QUANT_CONFIG);
        if (!told(&diag, bad[i].error))
            fail_msg("%s", bad[i].text);
        diag_free(&diag);
    }
    static const char whole[] = "{\"model_type\":\"siglip\",\"text_config\":{},\"vision_config\":"
                                "{\"hidden_size\":1152,\"intermediate_size\":4304,"
                                "\"num_hidden_layers\":27,\"num_attention_heads\":16,"
                                "\"image_size\":384,\"patch_size\":14}}";
    SiglipConfig config;
    assert_int_equal(file_write_atomic(path, whole, strlen(whole), NULL), STATUS_OK);
    assert_int_equal(siglip_read_config(path, &config, NULL), STATUS_OK);
    assert_true(config.hidden == 1152 && config.intermediate == 4304 && config.layers == 27);
    assert_true(config.heads == 16 && config.image == 384 && config.patch == 14);
    assert_true(config.channels == 3 && config.epsilon == 1e-6);
    assert_int_equal(siglip_tokens(&config), 729);
    mem_free(path);
    QuantOptions options = tiny_options(&tiny, NULL);
    options.model = "/nowhere";
    expect(options, ERR_FILE_OPEN, "--linears");
}

/* ---- options, memory, output */
static void test_options(void **state) {
    (void)state;
    QuantOptions o = tiny_options(&tiny, NULL);
    o.equalize = o.share_roles = true;
    expect(o, ERR_QUANT_OPTIONS, "--algorithm none");
    o = tiny_options(&tiny, NULL);
    o.operands = true;
    expect(o, ERR_QUANT_OPTIONS, "build on each other");
    o = tiny_options(&tiny, NULL);
    o.solve.algorithm = ALGORITHM_NONE;
    expect(o, ERR_QUANT_OPTIONS, "without an algorithm");
    o = tiny_options(&tiny, NULL);
    o.solve.covariance = true;
    o.solve.bias_correction = false;
    expect(o, ERR_QUANT_OPTIONS, "need biases that take these");
    o = tiny_options(&tiny, NULL);
    o.memory = 1 << 20;
    expect(o, ERR_QUANT_MEMORY, "MiB");
    o = tiny_options(&tiny, NULL);
    json_t *report = tiny_run(&tiny, o, "there");
    assert_true(real(report, "peak_rss_bytes") <= real(report, "memory_estimate_bytes"));
    json_decref(report);
    char *output = tiny_path(&tiny, "there"), *text;
    Diag diag = {0};
    o.output = output;
    assert_int_equal(quant_run(&o, tiny.pool, &text, &diag), ERR_QUANT_OUTPUT);
    diag_free(&diag);
    mem_free(output);
}

static void test_no_blas(void **state) {
    (void)state;
    /* Room for so many threads' buffers does not exist. */
    assert_null(blas_open(1u << 30));
    Net net = {0};
    Diag diag = {0};
    mem_fail_after(1);
    Status status = net_prepare(&net, NULL, 1, &diag);
    mem_fail_after(0);
    assert_int_equal(status, ERR_QUANT_BLAS);
    diag_free(&diag);
}

/* ---- values */
static void test_zero_weight(void **state) {
    (void)state;
    float *weight = mem_alloc(65 * 30, sizeof *weight), *x = values("x", 30 * 50);
    Any any = make_any("layer", 65, 30, weight, 50, x);
    QuantOptions options = any_options(&any, "layer.weight");
    options.encode = true;
    json_t *report = tiny_run(&tiny, options, "zeros");
    assert_int_equal(real(first_linear(report), "weight_scale_least"), 0);
    json_decref(report);
    SafeTensors *file = open_output("zeros");
    const SafeTensor *codes = safetensors_find(file, "layer.weight");
    assert_int_equal(codes->dtype, DTYPE_F8_E4M3FNUZ);
    for (uint64_t i = 0; i < codes->count; i++)
        assert_int_equal(codes->data[i], 0);
    const SafeTensor *step = safetensors_find(file, "step");
    assert_int_equal(step->rank, 0);
    assert_int_equal(step->data[0], 7);
    safetensors_close(file);
    free_any(&any);
    mem_free(weight);
    mem_free(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fallback),       cmocka_unit_test(test_singular_factor),
        cmocka_unit_test(test_worked_example), cmocka_unit_test(test_calibration),
        cmocka_unit_test(test_nonfinite),      cmocka_unit_test(test_models),
        cmocka_unit_test(test_configurations), cmocka_unit_test(test_options),
        cmocka_unit_test(test_no_blas),        cmocka_unit_test(test_zero_weight),
    };
    tiny = tiny_open();
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    tiny_close(&tiny);
    return failures;
}
