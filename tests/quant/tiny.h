/* A folder with the generated tower, and runs of the quantizer in it. */
#pragma once

#include "shell.h"
#include "testing.h"

#include "base/random.h"
#include "quant/generate.h"
#include "quant/quant.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Tiny {
    char folder[40];
    char *model, *calibration, *held_out;
    Pool *pool;
} Tiny;

/* Images first … first + count - 1 as one file. */
static char *tiny_images(const Tiny *tiny, const char *name, uint32_t first, uint32_t count) {
    char *path = mem_printf("%s/%s", tiny->folder, name);
    float *values = mem_alloc(2700 * (size_t)count, sizeof *values);
    for (uint32_t i = 0; i < count; i++) {
        char text[32];
        snprintf(text, sizeof text, "pixel_values.%u", first + i);
        generate_tensor(text, 2700, 0, values + 2700 * (size_t)i);
    }
    uint64_t dims[] = {count, 3, 30, 30};
    SafeTensor tensor = {
        "pixel_values",         DTYPE_F32, 4, dims, 2700ull * count, 10800ull * count,
        (const uint8_t *)values};
    assert_int_equal(safetensors_write(path, &tensor, 1, NULL, 0, NULL), STATUS_OK);
    mem_free(values);
    return path;
}

static Tiny tiny_open(void) {
    Tiny tiny = {.folder = "/tmp/tilework-quant-XXXXXX", .pool = pool_create(2)};
    assert_non_null(mkdtemp(tiny.folder));
    tiny.model = mem_printf("%s/tiny", tiny.folder);
    assert_int_equal(generate_model(&siglip_tiny, tiny.model, 0, NULL), STATUS_OK);
    tiny.calibration = tiny_images(&tiny, "calibration.safetensors", 0, 4);
    tiny.held_out = tiny_images(&tiny, "held-out.safetensors", 4, 2);
    return tiny;
}

static void tiny_close(Tiny *tiny) {
    char *command = mem_printf("rm -rf %s", tiny->folder);
    assert_int_equal(shell_run(command), 0);
    mem_free(command);
    mem_free(tiny->model);
    mem_free(tiny->calibration);
    mem_free(tiny->held_out);
    pool_free(tiny->pool);
}

/* What the published recipe does with tensor scales. The texts belong to tiny. */
static QuantOptions tiny_options(const Tiny *tiny, const char *output) {
    return (QuantOptions){
        .model = tiny->model,
        .output = output,
        .calibration = (const char *const *)&tiny->calibration,
        .calibration_count = 1,
        .evaluation = (const char *const *)&tiny->held_out,
        .evaluation_count = 1,
        .solve = {.granularity = GRANULARITY_TENSOR, .damp = 0.01, .bias_correction = true},
        .block = 64,
        .equalize_limit = 16,
        .layer = -1,
        .version = "test"};
}

static char *tiny_path(const Tiny *tiny, const char *name) {
    return mem_printf("%s/%s", tiny->folder, name);
}

/* Runs, expects success, and returns the report. The output is `name` in the folder. */
static inline json_t *tiny_run(const Tiny *tiny, QuantOptions options, const char *name) {
    char *output = tiny_path(tiny, name), *report;
    options.output = output;
    Diag diag = {0};
    Status status = quant_run(&options, tiny->pool, &report, &diag);
    if (status != STATUS_OK)
        diag_print(&diag, stderr);
    assert_int_equal(status, STATUS_OK);
    json_t *document = json_loads(report, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(document);
    mem_free(report);
    mem_free(output);
    diag_free(&diag);
    return document;
}

static inline double tiny_cosine(const json_t *report, size_t image, const char *version) {
    const json_t *record = json_array_get(json_object_get(report, "evaluation"), image);
    return json_real_value(json_object_get(json_object_get(record, version), "cosine_similarity"));
}
