/* A program that knows the public headers alone. */
#include "testing.h"

#include "tilework/tilework.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char graph_text[] = "input %a \"a\" : f16[5,3]\n"
                                 "parameter %b \"b\" : f16[4,3]\n"
                                 "%c = gemm %a, %b {transpose_right=true} : f16[5,4]\n"
                                 "output %c \"c\"\n";

/* Graph text to package to file to device and back, by hand. */
static void test_whole_way(void **state) {
    (void)state;
    char path[] = "/tmp/tilework-api-XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    TwContext *context = tw_open(1);
    TwGraph *graph;
    TwWeights *weights;
    TwPackage *package, *read;
    TwCompileOptions options = {.tiles = 3};
    TwCompileReport report;
    assert_int_equal(tw_graph_parse(context, graph_text, sizeof graph_text - 1, "g", &graph), 0);
    assert_int_equal(tw_weights_generate(context, graph, 0, 1, &weights), 0);
    assert_int_equal(tw_compile(context, graph, weights, &options, &package, &report), 0);
    assert_true(report.predicted_cycles > 0 && report.tiles == 3 && !report.refused);
    assert_true(fabs(report.ideal_cycles - 5.0 * 3 * 4 / 64 / 3) < 1e-12);
    assert_true(report.pass_count > 0 && report.pass_count <= TW_MAX_PASSES);
    assert_int_equal(tw_package_write(context, package, path), 0);
    assert_int_equal(tw_package_read(context, path, &read), 0);
    assert_int_equal(tw_package_verify(context, read), 0);
    assert_int_equal(tw_package_diff(package, read, stderr, 5), 0);
    char digest[TW_DIGEST_TEXT], read_digest[TW_DIGEST_TEXT];
    tw_package_digest(package, digest);
    tw_package_digest(read, read_digest);
    assert_string_equal(digest, read_digest);
    tw_package_free(package);
    tw_weights_free(weights);
    tw_graph_free(graph);

    TwDevice *device;
    TwRunReport run;
    float a[15], b[12], c[20];
    for (int i = 0; i < 15; i++)
        a[i] = (float)(i % 7 - 3);
    for (int i = 0; i < 12; i++)
        b[i] = (float)(i % 5) / 4;
    assert_int_equal(tw_device_open(context, read, &device), 0);
    assert_int_equal(tw_device_set(device, "a", a, 15), 0);
    assert_int_equal(tw_device_set(device, "b", b, 12), 0);
    assert_int_equal(tw_device_run(device, true, &run), 0);
    uint64_t sampled = run.cycles;
    assert_int_equal(tw_device_run(device, false, &run), 0);
    assert_true(run.cycles < sampled && run.bundles > 0);
    assert_int_equal(tw_device_get(device, "c", c, 20), 0);
    for (int m = 0; m < 5; m++)
        for (int n = 0; n < 4; n++) {
            float sum = 0; /* small numbers: exact in any order */
            for (int k = 0; k < 3; k++)
                sum += a[3 * m + k] * b[3 * n + k];
            assert_true(c[4 * m + n] == sum);
        }
    assert_int_equal(tw_device_set(device, "c", c, 20), 1701);
    assert_int_equal(tw_device_set(device, "a", a, 14), 1702);
    assert_int_equal(tw_device_get(device, "d", c, 20), 1701);
    assert_int_equal(tw_device_generate(device, "e", 0, 1), 1701);
    tw_device_close(device);
    tw_package_free(read);
    tw_close(context);
    unlink(path);
}

static void test_description(void **state) {
    (void)state;
    TwContext *context = tw_open(1);
    TwGraph *graph;
    TwWeights *weights;
    TwPackage *package;
    TwCompileOptions options = {.tiles = 6};
    assert_int_equal(tw_graph_gemm(context, 40, 33, 50, (TwPrecision){TW_F8F143, -3}, &graph), 0);
    assert_int_equal(tw_weights_generate(context, graph, 0, 0, &weights), 0);
    assert_int_equal(tw_compile(context, graph, weights, &options, &package, NULL), 0);
    TwPackageSummary summary = tw_package_summary(package);
    assert_int_equal(summary.tiles, 6);
    assert_int_equal(summary.bindings, tw_binding_count(package));
    assert_int_equal(summary.segments, tw_segment_count(package));
    TwBinding x = tw_binding(package, 1);
    assert_string_equal(x.name, "x");
    assert_int_equal(x.kind, TW_INPUT);
    assert_true(x.precision.kind == TW_F8F143 && x.precision.scale_exponent == -3);
    assert_true(x.shape.rank == 2 && x.shape.dims[0] == 40 && x.shape.dims[1] == 33);
    assert_true(x.logical_bytes == 40 * 33 && x.allocated_bytes >= 40 * 64 * x.copies);
    char *format = tw_binding_format(package, 1);
    assert_true(strncmp(format, "f8f143(s=-3) ", 13) == 0);
    tw_free(format);
    uint64_t stored = 0;
    for (size_t i = 0; i < tw_segment_count(package); i++) {
        TwSegment segment = tw_segment(package, i);
        assert_true(segment.tile < 6 && segment.stored <= segment.size);
        assert_true((segment.stored > 0) == (segment.bytes != NULL));
        stored += segment.size;
    }
    assert_true(stored == summary.segment_bytes);
    unsigned program = tw_tile_program(package, 0);
    TwBuffer buffers[3];
    assert_int_equal(tw_program_buffers(package, program, buffers, 3), 3);
    assert_true(buffers[0].address < buffers[1].address);
    assert_int_equal(tw_program_buffers(package, program, buffers, 1), 3);
    assert_non_null(strstr(tw_package_note(package, "graph"), "%y = gemm %x, %w"));
    assert_null(tw_package_note(package, "weather"));
    tw_package_free(package);
    tw_weights_free(weights);
    tw_graph_free(graph);
    tw_close(context);
}

static void test_messages(void **state) {
    (void)state;
    TwContext *context = tw_open(0);
    TwGraph *graph;
    assert_int_equal(tw_graph_parse(context, "x", 1, "g", &graph), 704);
    assert_int_equal(tw_message_count(context), 1);
    TwMessage message = tw_message(context, 0);
    assert_true(message.code == 704 && !message.warning && message.line == 1 &&
                message.column == 1 && message.tile == -1);
    assert_string_equal(message.file, "g");
    assert_string_equal(message.text, "unknown statement 'x'");
    tw_clear_messages(context);
    assert_int_equal(tw_message_count(context), 0);
    assert_int_equal(tw_graph_gemm(context, 1, 1, 1, (TwPrecision){TW_F8F143, 272}, &graph), 707);
    assert_int_equal(tw_graph_gemm(context, 1, 1, 1, (TwPrecision){TW_F32, 0}, &graph), 706);
    tw_close(context);
    assert_string_equal(tw_code(704), "TW0704");
    assert_int_equal(tw_exit_code(0), 0);
    assert_int_equal(tw_exit_code(704), 3);
    assert_int_equal(tw_exit_code(1601), 4);
    assert_int_equal(tw_exit_code(9999), 5);
    assert_non_null(tw_explain("tw704"));
    assert_null(tw_explain("9999"));
    TwStatus code;
    const char *title;
    size_t count = 0;
    while (tw_code_at(count, &code, &title))
        count++;
    assert_true(count > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_way),
        cmocka_unit_test(test_description),
        cmocka_unit_test(test_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
