/* The codec verb: values that tools have got wrong. */
#include "shell.h"
#include "testing.h"

#include "base/random.h"
#include "model/checkpoint.h"
#include "num/f8.h"
#include "quant/quant.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/tilework-encode-XXXXXX";

static char *path_of(const char *name) {
    return mem_printf("%s/%s", folder, name);
}

static void write_tensor(const char *name, Dtype dtype, uint64_t rows, uint64_t columns,
                         const void *values) {
    uint64_t dims[] = {rows, columns}, count = rows * columns;
    SafeTensor tensor = {"w", dtype, 2, dims, count, count * dtype_bits(dtype) / 8, values};
    char *path = path_of(name);
    assert_int_equal(safetensors_write(path, &tensor, 1, NULL, 0, NULL), STATUS_OK);
    mem_free(path);
}

/* Encodes in.safetensors into out.safetensors; returns the code. */
static Status encode(EncodeOptions options, Diag *diag) {
    char *in = path_of(options.decode ? "out.safetensors" : "in.safetensors"),
         *out = path_of(options.decode ? "back.safetensors" : "out.safetensors"), *report;
    options.input = in;
    options.output = out;
    options.version = "test";
    Status status = quant_encode(&options, &report, diag);
    mem_free(report);
    mem_free(in);
    mem_free(out);
    return status;
}

static SafeTensors *open_file(const char *name) {
    char *path = path_of(name);
    SafeTensors *file;
    assert_int_equal(safetensors_open(path, &file, NULL), STATUS_OK);
    mem_free(path);
    return file;
}

/* Encodes F32 values with the options and compares the codes and the one exponent. */
static void expect(EncodeOptions options, const float *values, size_t count, const uint8_t *codes,
                   int scale) {
    write_tensor("in.safetensors", DTYPE_F32, 1, count, values);
    assert_int_equal(encode(options, NULL), STATUS_OK);
    SafeTensors *file = open_file("out.safetensors");
    const SafeTensor *w = safetensors_find(file, "w"), *s = safetensors_find(file, "w_scale");
    assert_int_equal(w->dtype, DTYPE_F8_E4M3FNUZ);
    assert_int_equal(s->dtype, DTYPE_I8);
    assert_int_equal(s->rank, 0);
    assert_int_equal((int8_t)s->data[0], scale);
    assert_memory_equal(w->data, codes, count);
    safetensors_close(file);
}

static void test_values(void **state) {
    (void)state;
    EncodeOptions automatic = {.granularity = GRANULARITY_TENSOR}, fixed = automatic;
    fixed.fixed = true;
    /* A small negative value is 0, never 0x80, which is NaN. */
    expect(fixed, (const float[]){-0.00001f, -0.0f, 1, -1}, 4, (const uint8_t[]){0, 0, 0x40, 0xC0},
           0);
    /* The largest number is 240, not 224 or 448. */
    expect(automatic, (const float[]){240, 224, -240}, 3, (const uint8_t[]){0x7F, 0x7E, 0xFF}, 0);
    expect(automatic, (const float[]){448, 0}, 2, (const uint8_t[]){0x7E, 0}, 1);
    /* Nothing but zeros has the exponent 0. */
    expect(automatic, (const float[]){0, -0.0f}, 2, (const uint8_t[]){0, 0}, 0);
    /* A fixed exponent clips. */
    fixed.scale = -4;
    expect(fixed, (const float[]){15, 16, -300}, 3, (const uint8_t[]){0x7F, 0x7F, 0xFF}, -4);
}

/* Bytes of the OCP format mean half as much as F143's: the same bytes, the exponent one up. */
static void test_other_e4m3(void **state) {
    (void)state;
    uint8_t bytes[254];
    size_t count = 0;
    for (int code = 0; code < 256; code++)
        if ((code & 0x7F) != 0x7F)
            bytes[count++] = (uint8_t)code;
    write_tensor("in.safetensors", DTYPE_F8_E4M3, 1, count, bytes);
    assert_int_equal(encode((EncodeOptions){.granularity = GRANULARITY_TENSOR}, NULL), STATUS_OK);
    SafeTensors *file = open_file("out.safetensors");
    assert_int_equal((int8_t)safetensors_find(file, "w_scale")->data[0], 1);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(safetensors_find(file, "w")->data[i], bytes[i] == 0x80 ? 0 : bytes[i]);
    safetensors_close(file);
    bytes[7] = 0x7F; /* its NaN */
    write_tensor("in.safetensors", DTYPE_F8_E4M3, 1, count, bytes);
    Diag diag = {0};
    assert_int_equal(encode((EncodeOptions){0}, &diag), ERR_QUANT_NONFINITE);
    assert_non_null(strstr(diag.entries[0].text, "value 7"));
    diag_free(&diag);
}

/* 0x80 decodes to NaN, all other codes round-trip, by blocks and with odd sides. */
static void test_round_trip(void **state) {
    (void)state;
    enum { ROWS = 70, COLUMNS = 130 };
    float *values = mem_alloc(ROWS * COLUMNS, sizeof *values);
    Random random = random_seed(5);
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        values[i] = ldexpf(random_d1(&random, 1), (int)(i / COLUMNS / 64 * 9));
    write_tensor("in.safetensors", DTYPE_F32, ROWS, COLUMNS, values);
    assert_int_equal(encode((EncodeOptions){0}, NULL), STATUS_OK);
    assert_int_equal(encode((EncodeOptions){.decode = true}, NULL), STATUS_OK);
    SafeTensors *file = open_file("back.safetensors"), *codes = open_file("out.safetensors");
    assert_int_equal(file->count, 1);
    const SafeTensor *scales = safetensors_find(codes, "w_scale");
    assert_int_equal(scales->dims[0], 2);
    assert_int_equal(scales->dims[1], 3);
    for (size_t i = 0; i < ROWS * COLUMNS; i++) {
        float back;
        memcpy(&back, safetensors_find(file, "w")->data + 4 * i, 4);
        assert_true(fabsf(back - values[i]) <= fabsf(values[i]) / 16 + 1e-3f);
    }
    safetensors_close(file);
    safetensors_close(codes);
    mem_free(values);
    const uint8_t bytes[] = {0x80, 0x01, 0x40, 0xFF};
    const int8_t scale = 2;
    uint64_t dims[] = {1, 4};
    SafeTensor tensors[] = {{"w", DTYPE_F8_E4M3FNUZ, 2, dims, 4, 4, bytes},
                            {"w_scale", DTYPE_I8, 0, NULL, 1, 1, (const uint8_t *)&scale}};
    char *path = path_of("out.safetensors");
    assert_int_equal(safetensors_write(path, tensors, 2, NULL, 0, NULL), STATUS_OK);
    assert_int_equal(encode((EncodeOptions){.decode = true}, NULL), STATUS_OK);
    file = open_file("back.safetensors");
    float back[4];
    memcpy(back, safetensors_find(file, "w")->data, sizeof back);
    assert_true(isnan(back[0]) && back[1] == 0x1p-8f && back[2] == 4 && back[3] == -960);
    safetensors_close(file);
    Diag diag = {0};
    assert_int_equal(safetensors_write(path, tensors, 1, NULL, 0, NULL), STATUS_OK);
    assert_int_equal(encode((EncodeOptions){.decode = true}, &diag), ERR_MODEL_TENSOR);
    diag_free(&diag);
    dims[1] = 2;
    tensors[1] = (SafeTensor){"w_scale", DTYPE_I8, 2, dims, 2, 2, bytes};
    dims[1] = 4;
    tensors[1].dims = (const uint64_t[]){1, 2};
    assert_int_equal(safetensors_write(path, tensors, 2, NULL, 0, NULL), STATUS_OK);
    assert_int_equal(encode((EncodeOptions){.decode = true}, &diag), ERR_MODEL_SHAPE);
    diag_free(&diag);
    mem_free(path);
}

static void test_patterns(void **state) {
    (void)state;
    const int32_t whole[] = {1, 2};
    write_tensor("in.safetensors", DTYPE_I32, 1, 2, whole);
    Diag diag = {0};
    const char *const names[] = {"v*"}, *const all[] = {"*"};
    assert_int_equal(encode((EncodeOptions){0}, &diag), ERR_QUANT_LINEARS);
    assert_int_equal(encode((EncodeOptions){.tensors = names, .tensor_count = 1}, &diag),
                     ERR_QUANT_LINEARS);
    assert_int_equal(encode((EncodeOptions){.tensors = all, .tensor_count = 1}, &diag),
                     ERR_MODEL_DTYPE);
    diag_free(&diag);
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    char *command = mem_printf("rm -rf %s", folder);
    int code = shell_run(command);
    mem_free(command);
    return code;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_other_e4m3),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_patterns),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
