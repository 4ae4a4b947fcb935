/* Values of a graph from and to files: places, shapes, conversions, parameters, generated data. */
#include "testing.h"

#include "base/random.h"
#include "model/model.h"
#include "model/npy.h"
#include "model/safetensors.h"
#include "num/f8.h"

#include "pack/folder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const Precision f16 = {.kind = PRECISION_F16};
static const Precision f32 = {.kind = PRECISION_F32};

/* A path in the folder; valid until four more were made. */
static const char *file(const char *name) {
    static char paths[4][300];
    static int next;
    return in_folder(name, paths[next++ % 4]);
}

/* Writes a SafeTensors file of one float32 tensor 0, 1, 2, … */
static void write_counting(const char *path, const char *name, uint64_t rows, uint64_t columns) {
    float *values = mem_alloc(rows * columns, sizeof *values);
    for (uint64_t i = 0; i < rows * columns; i++)
        values[i] = (float)i;
    uint64_t dims[] = {rows, columns};
    SafeTensor tensor = {.name = name,
                         .dtype = DTYPE_F32,
                         .rank = 2,
                         .dims = dims,
                         .bytes = rows * columns * 4,
                         .data = (const uint8_t *)values};
    assert_int_equal(safetensors_write(path, &tensor, 1, NULL, 0, NULL), STATUS_OK);
    mem_free(values);
}

static void test_places(void **state) {
    (void)state;
    const Shape shape = {2, {2, 3}};
    uint16_t codes[6];
    const char *path = file("a.safetensors");
    write_counting(path, "x", 2, 3);
    assert_int_equal(model_read(path, "x", &shape, f16, codes, NULL, NULL), STATUS_OK);
    assert_int_equal(codes[5], 0x4500); /* 5 */
    assert_int_equal(model_read(path, "y", &shape, f16, codes, NULL, NULL), ERR_MODEL_TENSOR);
    assert_int_equal(model_read(file("a.safetensors:x"), "y", &shape, f16, codes, NULL, NULL),
                     STATUS_OK);
    assert_int_equal(model_read(file("a.safetensors:z"), "x", &shape, f16, codes, NULL, NULL),
                     ERR_MODEL_TENSOR);
    static const char *const bad[] = {"a.bin", "a", "", ".npy", "a.npy:x", "a.safetensors.gz"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_int_equal(model_read(bad[i], "x", &shape, f16, codes, NULL, NULL), ERR_MODEL_PLACE);
        assert_int_equal(model_write(bad[i], "x", &shape, f16, codes, NULL), ERR_MODEL_PLACE);
    }
    assert_int_equal(model_read("nowhere.npy", "x", &shape, f16, codes, NULL, NULL), ERR_FILE_OPEN);
}

static void test_shapes(void **state) {
    (void)state;
    const Shape swapped = {2, {3, 2}}, flat = {1, {6}}, right = {2, {2, 3}};
    float codes[6];
    const char *path = file("s.safetensors");
    write_counting(path, "x", 2, 3);
    Diag diag = {0};
    assert_int_equal(model_read(path, "x", &swapped, f32, codes, NULL, &diag), ERR_MODEL_SHAPE);
    assert_string_equal(diag.entries[0].text, "shape [2,3], but the graph wants [3,2]");
    assert_string_equal(diag.entries[0].fix,
                        "the axes are swapped: declare the tensor [2,3] and transpose it in gemm");
    assert_string_equal(diag.entries[0].place.object, "tensor x");
    assert_int_equal(model_read(path, "x", &flat, f32, codes, NULL, &diag), ERR_MODEL_SHAPE);
    assert_int_equal(model_read(path, "x", &right, f32, codes, NULL, &diag), STATUS_OK);
    diag_free(&diag);
}

static void test_types(void **state) {
    (void)state;
    const uint64_t dims[] = {2};
    const int32_t numbers[] = {1, 2};
    const Shape shape = {1, {2}};
    float codes[2];
    SafeTensor tensor = {.name = "i",
                         .dtype = DTYPE_I32,
                         .rank = 1,
                         .dims = dims,
                         .bytes = 8,
                         .data = (const uint8_t *)numbers};
    const char *path = file("i.safetensors");
    assert_int_equal(safetensors_write(path, &tensor, 1, NULL, 0, NULL), STATUS_OK);
    Diag diag = {0};
    assert_int_equal(model_read(path, "i", &shape, f32, codes, NULL, &diag), ERR_MODEL_DTYPE);
    assert_string_equal(diag.entries[0].text, "dtype I32 cannot be converted to f32");
    diag_free(&diag);
}

static void test_clipping_warns(void **state) {
    (void)state;
    const Shape shape = {1, {4}};
    const float values[] = {1, -17.25f, NAN, 16};
    uint8_t codes[4];
    EncodeStats stats;
    Diag diag = {0};
    const char *path = file("c.npy");
    assert_int_equal(npy_write(path, DTYPE_F32, &shape, values, NULL), STATUS_OK);
    assert_int_equal(
        model_read(path, "x", &shape, (Precision){PRECISION_F8F143, -4}, codes, &stats, &diag),
        STATUS_OK);
    assert_memory_equal(codes, "\x60\xFF\x80\x7F", 4);
    assert_int_equal(stats.clipped, 2);
    assert_int_equal(stats.nonfinite, 1);
    assert_int_equal(diag.errors, 0);
    assert_int_equal(diag.count, 2);
    assert_int_equal(diag.entries[0].code, ERR_MODEL_CLIPPED);
    assert_string_equal(diag.entries[0].text,
                        "2 of 4 values exceed the largest of f8f143(s=-4) and were clipped");
    assert_string_equal(diag.entries[0].fix, "the largest magnitude is 17.25; s=-3 holds it");
    diag_free(&diag);
    const float huge[] = {1, 1e30f, 2, 3};
    assert_int_equal(npy_write(path, DTYPE_F32, &shape, huge, NULL), STATUS_OK);
    assert_int_equal(
        model_read(path, "x", &shape, (Precision){PRECISION_F8F143, 15}, codes, NULL, &diag),
        STATUS_OK);
    assert_string_equal(diag.entries[0].fix,
                        "the largest magnitude is 1e+30; not even s=15 holds it");
    diag_free(&diag);
}

static void test_write(void **state) {
    (void)state;
    const Shape shape = {2, {2, 2}};
    const uint16_t halves[] = {0x3C00, 0x8000, 0x0001, 0x7C00};
    const uint8_t bytes[] = {0x40, 0x00, 0x80, 0xFF};
    uint16_t back[4];
    const char *npy_path = file("w.npy"), *path = file("w.safetensors:y");
    assert_int_equal(model_write(npy_path, "x", &shape, f16, halves, NULL), STATUS_OK);
    Npy npy;
    assert_int_equal(npy_open(npy_path, &npy, NULL), STATUS_OK);
    assert_int_equal(npy.dtype, DTYPE_F16);
    assert_memory_equal(npy.data, halves, sizeof halves);
    npy_close(&npy);
    assert_int_equal(model_write(path, "x", &shape, f16, halves, NULL), STATUS_OK);
    assert_int_equal(model_read(path, "x", &shape, f16, back, NULL, NULL), STATUS_OK);
    assert_memory_equal(back, halves, sizeof halves);
    assert_int_equal(
        model_write(npy_path, "x", &shape, (Precision){PRECISION_F8F143, 1}, bytes, NULL),
        STATUS_OK);
    assert_int_equal(npy_open(npy_path, &npy, NULL), STATUS_OK);
    float values[4];
    memcpy(values, npy.data, sizeof values);
    assert_int_equal(npy.dtype, DTYPE_F32);
    assert_true(values[0] == 2 && values[1] == 0 && isnan(values[2]) && values[3] == -480);
    npy_close(&npy);
    assert_int_equal(model_write("/nowhere/y.npy", "y", &shape, f16, halves, NULL), ERR_FILE_WRITE);
    assert_int_equal(model_write("/nowhere/y.safetensors", "y", &shape, f16, halves, NULL),
                     ERR_FILE_WRITE);
}

/* %h = x · w1, %y = h · w2ᵀ. */
static Graph *two_products(void) {
    static const char text[] = "input %x \"x\" : f16[4,3]\n"
                               "parameter %a \"w1\" : f16[3,5]\n"
                               "parameter %b \"w2\" : f16[2,5]\n"
                               "%h = gemm %x, %a : f16[4,5]\n"
                               "%y = gemm %h, %b {transpose_right=true} : f16[4,2]\n"
                               "output %y \"y\"\n";
    Graph *graph;
    assert_int_equal(graph_parse(text, sizeof text - 1, "g", &graph, NULL), STATUS_OK);
    return graph;
}

static void expect_bind(const Graph *graph, const char *first, const char *second, Status wanted) {
    const char *places[] = {first, second};
    ModelParameters parameters;
    Diag diag = {0};
    Status status = model_bind(graph, places, second ? 2 : first ? 1 : 0, &parameters, &diag);
    if (status != wanted)
        diag_print(&diag, stderr);
    assert_int_equal(status, wanted);
    assert_int_equal(diag_status(&diag), wanted);
    if (status == STATUS_OK) {
        assert_int_equal(parameters.count, 2);
        const uint16_t *w1 = parameters.items[0].codes, *w2 = parameters.items[1].codes;
        assert_int_equal(w1[14], 0x4B00); /* 14 */
        assert_int_equal(w2[9], 0x4880);  /* 9 */
        model_parameters_free(&parameters);
    }
    assert_int_equal(parameters.count, 0);
    diag_free(&diag);
}

static void test_bind(void **state) {
    (void)state;
    Graph *graph = two_products();
    const char *w1 = file("w1.safetensors"), *w2 = file("w2.safetensors");
    write_counting(w1, "w1", 3, 5);
    write_counting(w2, "w2", 2, 5);
    expect_bind(graph, w1, w2, STATUS_OK);
    expect_bind(graph, w2, w1, STATUS_OK);
    expect_bind(graph, NULL, NULL, ERR_MODEL_TENSOR);
    expect_bind(graph, w1, NULL, ERR_MODEL_TENSOR);
    expect_bind(graph, w1, w1, ERR_MODEL_TWICE);
    expect_bind(graph, w1, "nowhere.safetensors", ERR_FILE_OPEN);
    expect_bind(graph, w1, "nowhere.npy", ERR_MODEL_PLACE);
    char named[340];
    snprintf(named, sizeof named, "w2=%s", w2);
    expect_bind(graph, w1, named, STATUS_OK);
    expect_bind(graph, named, w2, ERR_MODEL_TWICE);
    snprintf(named, sizeof named, "w2=%s:w1", w1);
    expect_bind(graph, w1, named, ERR_MODEL_SHAPE);
    snprintf(named, sizeof named, "w3=%s", w2);
    expect_bind(graph, w1, named, ERR_MODEL_TENSOR);
    write_counting(w2, "w2", 5, 2);
    expect_bind(graph, w1, w2, ERR_MODEL_SHAPE);
    graph_free(graph);
}

static void test_generate(void **state) {
    (void)state;
    Graph *graph = two_products();
    ModelParameters parameters;
    assert_int_equal(model_generate(graph, 3, 0, &parameters, NULL), STATUS_OK);
    float w2[10], wanted[10];
    precision_decode(f16, parameters.items[1].codes, 10, w2);
    random_fill_d1(wanted, 10, "w2", 3, 1 / sqrt(5));
    for (int i = 0; i < 10; i++)
        assert_true(fabsf(w2[i] - wanted[i]) <= 0x1p-11f * fabsf(wanted[i]));
    model_parameters_free(&parameters);
    assert_int_equal(model_generate(graph, 3, 2, &parameters, NULL), STATUS_OK);
    precision_decode(f16, parameters.items[1].codes, 10, w2);
    random_fill_d1(wanted, 10, "w2", 3, 2);
    assert_true(fabsf(w2[9] - wanted[9]) <= 0x1p-10f * fabsf(wanted[9]));
    model_parameters_free(&parameters);
    graph_free(graph);
}

static void test_without_memory(void **state) {
    (void)state;
    Graph *graph = two_products();
    const char *w1 = file("m1.safetensors"), *w2 = file("m2.safetensors");
    write_counting(w1, "w1", 3, 5);
    write_counting(w2, "w2", 2, 5);
    char named[340];
    snprintf(named, sizeof named, "w2=%s", w2);
    const char *places[] = {w1, named};
    Status status = ERR_NO_MEMORY;
    for (uint64_t n = 1; status != STATUS_OK; n++) {
        ModelParameters parameters = {0};
        mem_fail_after(n);
        status = model_bind(graph, places, 2, &parameters, NULL);
        if (status == STATUS_OK) {
            model_parameters_free(&parameters);
            status = model_generate(graph, 0, 0, &parameters, NULL);
        }
        mem_fail_after(0);
        if (status != STATUS_OK)
            assert_int_equal(status, ERR_NO_MEMORY);
        model_parameters_free(&parameters);
    }
    const Shape shape = {2, {2, 2}};
    const float values[4] = {0};
    status = ERR_NO_MEMORY;
    for (uint64_t n = 1; status != STATUS_OK; n++) {
        mem_fail_after(n);
        status = model_write(w1, "y", &shape, f32, values, NULL);
        mem_fail_after(0);
        if (status != STATUS_OK)
            assert_int_equal(status, ERR_NO_MEMORY);
    }
    graph_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),   cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_types),    cmocka_unit_test(test_clipping_warns),
        cmocka_unit_test(test_write),    cmocka_unit_test(test_bind),
        cmocka_unit_test(test_generate), cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, folder_create, folder_remove);
}
