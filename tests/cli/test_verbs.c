/* The verbs on small products: what they print, what they write, and that it fits together. */
#include "command.h"

#include "api/api.h"
#include "model/npy.h"
#include "model/safetensors.h"
#include "num/f16.h"

#include "pack/folder.h"

#include <math.h>

/* A command line in which every '@' stands for the folder. Valid until the next call. */
static const char *at(const char *line) {
    static char text[2000];
    char *out = text;
    for (; *line; line++) {
        assert_true(out + strlen(folder) + 2 < text + sizeof text);
        if (*line == '@')
            out += sprintf(out, "%s/", folder);
        else
            *out++ = *line;
    }
    *out = 0;
    return text;
}

static void write_file(const char *name, const char *text) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static double real(const json_t *root, const char *key) {
    const json_t *value = json_object_get(root, key);
    if (!json_is_number(value))
        fail_msg("%s is missing", key);
    return json_number_value(value);
}

static const char *string(const json_t *root, const char *key) {
    const json_t *value = json_object_get(root, key);
    if (!json_is_string(value))
        fail_msg("%s is missing", key);
    return json_string_value(value);
}

static bool truth(const json_t *root, const char *key) {
    const json_t *value = json_object_get(root, key);
    if (!json_is_boolean(value))
        fail_msg("%s is missing", key);
    return json_is_true(value);
}

/* The acceptance case in both precisions; every field that is promised. */
static void test_bench(void **state) {
    (void)state;
    for (int f8 = 0; f8 < 2; f8++) {
        json_t *root =
            document(f8 ? "bench gemm --rows 128 --inner 128 --columns 64 --fp8-scale -4 --json"
                        : "bench gemm --rows 128 --inner 128 --columns 64 --f16 --json",
                     0);
        assert_true(truth(root, "pass") && truth(root, "bit_exact"));
        assert_true(real(root, "max_abs_error") <= (f8 ? 0.005 : 0.006));
        assert_true(real(root, "rel_rms_error") < 0.001);
        assert_string_equal(string(root, "workload"), "gemm");
        assert_string_equal(string(root, "precision"), f8 ? "f8f143" : "f16");
        assert_true(f8 ? real(root, "scale_exponent") == -4
                       : json_is_null(json_object_get(root, "scale_exponent")));
        const json_t *shape = json_object_get(root, "shape");
        assert_true(real(shape, "rows") == 128 && real(shape, "inner") == 128 &&
                    real(shape, "columns") == 64);
        assert_true(real(root, "tiles") == 1472 && real(root, "blocks") == 1 &&
                    real(root, "batch") == 1);
        assert_true(fabs(real(root, "ideal_cycles") - 128.0 * 128 * 64 / (f8 ? 128 : 64) / 1472) <
                    1e-6);
        assert_true(real(root, "scheduled_cycles") == real(root, "cycles"));
        assert_true(fabs(real(root, "predicted_cycles") / real(root, "cycles") - 1) < 0.2);
        assert_true(real(root, "cycles_sampled") > real(root, "cycles"));
        assert_true(real(root, "input_bytes") >= 128 * 128 * (f8 ? 1 : 2));
        assert_true(real(json_object_get(root, "weight_copies"), "w") >= 1);
        assert_true(real(root, "compile_seconds") > 0 && real(root, "simulate_seconds") > 0);
        assert_true(real(json_object_get(root, "compile_seconds_by_pass"), "plan") > 0);
        assert_true(real(root, "bundles") > 0 && real(root, "package_bytes") > 0 &&
                    real(root, "peak_rss_bytes") > 0);
        assert_int_equal(strlen(string(root, "content_digest")), 32);
        json_decref(root);
    }
}

/* Every value's format with what others would change, and why each step exists, for the published
 * case of an early cast. */
static void test_explain_formats(void **state) {
    (void)state;
    static const char command[] =
        "bench mlp --tokens 128 --width 128 --hidden 512 --tiles 64 --fp8-scale -4 --cast early ";
    static const char *const wanted[] = {
        "  operand %x: 32 copies\n    no other one was priced for this grid\n",
        "  operand %block0.up.weight: in interleaved memory\n"
        "    +131 cycles, +0 bytes a tile: in standard memory\n",
        "  operand %act.cast: 1 copy, cast before it moves to half panels from interleaved memory\n"
        "    +80 cycles, +0 bytes a tile: 1 copy, cast before it moves to whole panels from "
        "interleaved memory\n",
        "  result %down: 4 x 1 owners, parts received in interleaved memory\n"
        "    +114 cycles, +0 bytes a tile: 4 x 1 owners, parts received in standard memory\n",
        "value by value, where they lie, and cast by the same kernel\n",
        "these values do not lie where they are used (%act.cast:moved)\n",
        "each owner of a piece gets it from the other inner parts (%down:received)\n",
        "  %act.cast: 1 copy, 65536 bytes in all, 1024 on the fullest tile\n",
    };
    char line[200];
    snprintf(line, sizeof line, "%s--explain --json", command);
    json_t *root = document(line, 0);
    for (size_t i = 0; i < COUNT_OF(wanted); i++)
        if (!strstr(string(root, "explanation"), wanted[i]))
            fail_msg("no \"%s\" in\n%s", wanted[i], string(root, "explanation"));
    assert_true(truth(root, "bit_exact") && real(root, "max_abs_error") <= 0.08);
    json_decref(root);
}

static void test_bench_text(void **state) {
    (void)state;
    expect("bench gemm --rows 20 --inner 40 --columns 30 --tiles 4 --threads 1 --seed 7", 0,
           "bit exact        yes\n", NULL);
    expect("bench gemm --rows 20 --inner 40 --columns 30 --tiles 4 --explain", 0, "chosen: grid",
           NULL);
    expect("bench gemm --rows 20 --inner 40 --columns 30 --tiles 4 --grid y=2,2,1,swapped", 0,
           "pass\n", NULL);
    expect("bench gemm --rows 20 --inner 40 --columns 30 --tiles 4 --grid z=2,2,1",
           EXIT_CLASS_USAGE, NULL, "error TW1003");
    /* Sums beyond 65504 saturate on the chip and in the twin, but mean something else. */
    expect("bench gemm --rows 8 --inner 64 --columns 8 --tiles 1 --weight-sigma 60000",
           EXIT_CLASS_CHECK, "FAIL\n", NULL);
    /* Every bit as the twin has it, but most values lie below the smallest codes. */
    expect("bench mlp --tokens 17 --width 1 --hidden 65 --tiles 5 --fp8-scale=2 --seed 12 --blocks "
           "2",
           EXIT_CLASS_CHECK, "FAIL: the relative rms is above 0.08", NULL);
}

static void test_bench_is_deterministic(void **state) {
    (void)state;
    static const char *const threads[] = {"1", "2", "7"};
    char digest[40] = "", line[500];
    double cycles = 0;
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        snprintf(line, sizeof line,
                 "bench gemm --rows 100 --inner 70 --columns 90 --tiles 60 --f16 --json "
                 "--threads %s --package %s/t%s.twpkg",
                 threads[i], folder, threads[i]);
        json_t *root = document(line, 0);
        if (i == 0) {
            strcpy(digest, string(root, "content_digest"));
            cycles = real(root, "cycles");
        }
        assert_string_equal(string(root, "content_digest"), digest);
        assert_true(real(root, "cycles") == cycles);
        json_decref(root);
    }
    expect(at("diff @t1.twpkg @t7.twpkg"), 0, "equal\n", NULL);
}

static void test_refusal(void **state) {
    (void)state;
    json_t *root = document("bench gemm --rows 729 --inner 1152 --columns 4304 --tiles 7 "
                            "--fp8-scale -4 --json",
                            EXIT_CLASS_NOFIT);
    const json_t *refusal = json_object_get(root, "refusal");
    assert_true(truth(refusal, "proved"));
    assert_true(real(refusal, "bytes_over") > 0 && real(refusal, "tiles_that_fit") > 7);
    assert_string_equal(string(refusal, "memory"), "total");
    const json_t *error = json_array_get(json_object_get(root, "errors"), 0);
    assert_string_equal(string(error, "code"), "TW1601");
    assert_non_null(strstr(string(error, "fix"), "use --tiles "));
    assert_null(json_object_get(root, "cycles"));
    json_decref(root);
    expect("bench gemm --rows 2000000000 --inner 1000000000 --columns 2", EXIT_CLASS_NOFIT, NULL,
           "error TW1601");
    expect("bench gemm --rows 4294967295 --inner 2 --columns 4294967295", EXIT_CLASS_INPUT, NULL,
           "error TW0705");
}

/* Compile, run and look at a product of known values. */
static void test_chain(void **state) {
    (void)state;
    write_file("g.graph", "input %x \"x\" : f16[3,2]\n"
                          "parameter %w \"w\" : f16[2,4]\n"
                          "%y = gemm %x, %w : f16[3,4]\n"
                          "output %y \"y\"\n");
    const float w[8] = {1, 2, 3, 4, 10, 20, 30, 40}, x[6] = {1, 0, 0, 1, 2, -1}, zero[8] = {0};
    const Shape w_shape = {2, {2, 4}}, x_shape = {2, {3, 2}};
    char path[300];
    snprintf(path, sizeof path, "%s/w.npy", folder);
    assert_int_equal(npy_write(path, DTYPE_F32, &w_shape, w, NULL), STATUS_OK);
    snprintf(path, sizeof path, "%s/zero.npy", folder);
    assert_int_equal(npy_write(path, DTYPE_F32, &w_shape, zero, NULL), STATUS_OK);
    snprintf(path, sizeof path, "%s/x.npy", folder);
    assert_int_equal(npy_write(path, DTYPE_F32, &x_shape, x, NULL), STATUS_OK);
    json_t *root = document(at("compile @g.graph --weights w=@w.npy -o @p.twpkg --json"), 0);
    assert_true(real(root, "predicted_cycles") > 0 && real(root, "compile_seconds") > 0);
    json_decref(root);
    root = document(at("run @p.twpkg --input x=@x.npy --output y=@y.npy --output y=@y.safetensors "
                       "--json"),
                    0);
    assert_true(real(root, "cycles") > 0 && real(root, "simulate_seconds") >= 0);
    json_decref(root);
    static const float wanted[12] = {1, 2, 3, 4, 10, 20, 30, 40, -8, -16, -24, -32};
    Npy y;
    snprintf(path, sizeof path, "%s/y.npy", folder);
    assert_int_equal(npy_open(path, &y, NULL), STATUS_OK);
    assert_true(y.rank == 2 && y.dims[0] == 3 && y.dims[1] == 4 && y.dtype == DTYPE_F16);
    for (int i = 0; i < 12; i++) {
        F16 half;
        memcpy(&half, y.data + 2 * i, sizeof half);
        assert_true(f16_to_f32(half) == wanted[i]);
    }
    SafeTensors *tensors;
    snprintf(path, sizeof path, "%s/y.safetensors", folder);
    assert_int_equal(safetensors_open(path, &tensors, NULL), STATUS_OK);
    assert_memory_equal(safetensors_find(tensors, "y")->data, y.data, 24);
    safetensors_close(tensors);
    npy_close(&y);
    /* A parameter can be replaced for a run. */
    expect(at("run @p.twpkg --input x=@x.npy --input w=@zero.npy --output y=@z.npy"), 0, NULL,
           NULL);
    snprintf(path, sizeof path, "%s/z.npy", folder);
    assert_int_equal(npy_open(path, &y, NULL), STATUS_OK);
    for (size_t i = 0; i < 24; i++)
        assert_int_equal(y.data[i], 0);
    npy_close(&y);
}

static void test_run_errors(void **state) {
    (void)state;
    expect(at("run @p.twpkg --input x=@x.npy --check"), EXIT_CLASS_OK, NULL, NULL);
    expect("bench gemm --rows 8 --inner 64 --columns 8 --tiles 1 --check", EXIT_CLASS_OK,
           "bit exact        yes", NULL);
    expect("bench gemm --rows 8 --inner 64 --columns 8 --tiles 1 --weight-sigma 60000 --check",
           EXIT_CLASS_CHECK, NULL, "error TW0523 at tile 0: worker");
    expect("bench gemm --rows 8 --inner 64 --columns 32 --tiles 4 --rank 3", 0, "\npass\n", NULL);
    expect(at("run @p.twpkg"), EXIT_CLASS_USAGE, NULL,
           "error TW2006 at option --input: the package needs a value for x: --input x=FILE");
    expect(at("run @p.twpkg --input x"), EXIT_CLASS_USAGE, NULL, "error TW2006");
    expect(at("run @p.twpkg --input x=@x.npy --input =y"), EXIT_CLASS_USAGE, NULL,
           "error TW2003 at option --input: '=y' is not NAME=FILE");
    expect(at("run @p.twpkg --input x=@x.npy --input v=@x.npy"), EXIT_CLASS_INPUT, NULL,
           "error TW1701: the package has no input, parameter or output called v");
    expect(at("run @p.twpkg --input x=@w.npy"), EXIT_CLASS_INPUT, NULL, "error TW0824");
    expect(at("run @p.twpkg --input x=@x.npy --input y=@x.npy"), EXIT_CLASS_INPUT, NULL,
           "error TW0824");
    /* Before anything is read or run. */
    expect(at("run @p.twpkg --input x=@missing.npy --output y=/nowhere/y.npy"), EXIT_CLASS_INPUT,
           NULL, "error TW0104");
    expect(at("bench gemm --rows 4294967295 --inner 8 --columns 8 --profile /nowhere/p"),
           EXIT_CLASS_INPUT, NULL, "error TW0104");
    expect(at("compile @missing.graph --generated -o /nowhere/q.twpkg"), EXIT_CLASS_INPUT, NULL,
           "fix: create the folder");
    expect(at("run @p.twpkg --input x=@x.npy --output y=@y.bin"), EXIT_CLASS_INPUT, NULL,
           "error TW0821");
    expect(at("run @p.twpkg --input x=@x.npy --output x=@x2.npy"), EXIT_CLASS_INPUT, NULL,
           "error TW1701");
    expect(at("run @g.graph --input x=@x.npy"), EXIT_CLASS_INPUT, NULL, "error TW15");
    expect(at("compile @p.twpkg -o @q.twpkg"), EXIT_CLASS_INPUT, NULL, "error TW0701");
    expect(at("compile @g.graph -o @q.twpkg"), EXIT_CLASS_INPUT, NULL, "error TW0822");
    expect(at("compile @g.graph --generated -o /nowhere/q.twpkg"), EXIT_CLASS_INPUT, NULL,
           "error TW0104");
}

static void test_inspect(void **state) {
    (void)state;
    expect(at("inspect @p.twpkg"), 0, "made by tilework " TW_VERSION, NULL);
    expect(at("inspect @p.twpkg --bindings"), 0, "parameter w: f16[2,4]\n  16 bytes, ", NULL);
    expect(at("inspect @p.twpkg --plan"), 0, "%y = gemm %x, %w : f16[3,4]\n", NULL);
    expect(at("inspect @p.twpkg --memory"), 0, "parameter %w", NULL);
    expect(at("inspect @p.twpkg --segments --tile 0"), 0, "tile    0", NULL);
    json_t *root =
        document(at("inspect @p.twpkg --bindings --segments --tile 0 --plan --memory --json"), 0);
    const json_t *bindings = json_object_get(root, "bindings");
    assert_int_equal(json_array_size(bindings), 3);
    const json_t *w = json_array_get(bindings, 0);
    assert_string_equal(string(w, "name"), "w");
    assert_string_equal(string(w, "kind"), "parameter");
    assert_true(real(w, "logical_bytes") == 16 && real(w, "allocated_bytes") >= 16 &&
                real(w, "copies") >= 1);
    assert_true(json_array_size(json_object_get(root, "segments")) > 2);
    assert_int_equal(json_array_size(json_object_get(json_object_get(root, "memory"), "buffers")),
                     3);
    assert_non_null(strstr(string(root, "plan"), "operation y"));
    json_decref(root);
    expect(at("bench gemm --rows 8 --inner 8 --columns 8 --tiles 2 --package @two.twpkg"), 0, NULL,
           NULL);
    expect(at("inspect @two.twpkg --memory --tile 2"), EXIT_CLASS_USAGE, NULL,
           "error TW2007 at option --tile: the package has tiles 0 to 1\n");
    expect(at("inspect @two.twpkg --exchange"), 0, "nothing moves between tiles\n", NULL);
    expect(at("disasm @two.twpkg --tile 2"), EXIT_CLASS_USAGE, NULL, "error TW2007");
    expect(at("disasm @two.twpkg"), 0, "f16v4hihov4amp", NULL);
}

/* The kinds of the steps of a package's plan, in their order. */
static void expect_steps(const char *line, const char *wanted) {
    json_t *root = document(at(line), 0);
    char steps[300] = "";
    for (const char *step = strstr(string(root, "plan"), "\nstep "); step;
         step = strstr(step + 1, "\nstep ")) {
        size_t length = strcspn(step + 6, " ");
        snprintf(steps + strlen(steps), sizeof steps - strlen(steps), "%.*s ", (int)length,
                 step + 6);
    }
    assert_string_equal(steps, wanted);
    json_decref(root);
}

/* Between the input, its cast and the product stands nothing but the exchange, and what of its
 * moves stays on a tile. */
static void test_inspect_steps(void **state) {
    (void)state;
    expect(at("bench gemm --rows 70 --inner 200 --columns 64 --tiles 16 --fp8-scale -4 "
              "--device-input --cast late --grid gemm=4,2,1 --package @late.twpkg"),
           0, NULL, NULL);
    expect_steps("inspect @late.twpkg --plan --json", "exchange cast gemm ");
    expect(at("bench gemm --rows 70 --inner 200 --columns 64 --tiles 16 --fp8-scale -4 "
              "--device-input --cast early --grid gemm=4,2,1 --package @early.twpkg"),
           0, NULL, NULL);
    expect_steps("inspect @early.twpkg --plan --json", "cast exchange gemm ");
    expect(at("bench gemm --rows 70 --inner 200 --columns 64 --tiles 16 --fp8-scale -4 "
              "--device-input --cast late --grid gemm=4,1,1 --package @local.twpkg"),
           0, NULL, NULL);
    expect_steps("inspect @local.twpkg --plan --json", "local exchange cast gemm ");
}

/* Both exchanges of a product with its input on the chip and inner parts. */
static void test_inspect_exchange(void **state) {
    (void)state;
    expect(at("bench gemm --rows 64 --inner 128 --columns 64 --tiles 16 --fp8-scale -4 "
              "--device-input --cast early --grid gemm=2,2,4 --package @m.twpkg"),
           0, NULL, NULL);
    expect(at("inspect @m.twpkg --exchange"), 0, " messages, ", NULL);
    json_t *root = document(at("inspect @m.twpkg --exchange --json"), 0);
    const json_t *phases = json_object_get(root, "phases");
    assert_int_equal(json_array_size(phases), 2);
    const json_t *input = json_array_get(phases, 0), *sum = json_array_get(phases, 1);
    assert_non_null(strstr(string(input, "name"), "moved"));
    assert_non_null(strstr(string(sum, "name"), "received"));
    for (int i = 0; i < 2; i++) {
        const json_t *phase = json_array_get(phases, (size_t)i);
        assert_true(real(phase, "messages") >= real(phase, "transfers"));
        assert_true(real(phase, "paired") <= real(phase, "messages"));
        assert_true(real(phase, "horizon") > 0 && real(phase, "tiles") == 16);
        assert_true(real(phase, "row_bytes") > real(phase, "max_row_bytes"));
        assert_true(real(phase, "words_received") <= 16 * real(phase, "bound"));
    }
    /* Each of the input's [32,32] shards goes to two tiles at once; each tile gives the others of
     * its block three quarters of [32,32] partials. */
    assert_true(real(input, "words_received") == 2 * real(input, "words_sent"));
    assert_true(real(input, "words_sent") == 64 * 128 / 4 && real(input, "paired") > 0);
    assert_true(real(sum, "words_sent") == 16 * 3 * 32 * 32 / 4 / 2);
    assert_true(real(sum, "words_received") == real(sum, "words_sent"));
    assert_true(real(sum, "bound") == 3 * 32 * 32 / 4 / 2 && real(sum, "paired") == 0);
    assert_true(real(sum, "horizon") > real(sum, "bound"));
    json_decref(root);
}

static void test_verify_and_diff(void **state) {
    (void)state;
    expect(at("verify @p.twpkg"), 0, "correct; content ", NULL);
    json_t *verified = document(at("verify @p.twpkg --json"), 0);
    assert_true(truth(verified, "pass"));
    json_decref(verified);
    expect(at("verify @g.graph"), EXIT_CLASS_INPUT, NULL, "error TW15");
    expect(at("diff @p.twpkg @p.twpkg"), 0, "equal\n", NULL);
    expect(at("diff @p.twpkg @two.twpkg --limit 1"), EXIT_CLASS_CHECK, "+ ", NULL);
    json_t *root = document(at("diff @p.twpkg @two.twpkg --json"), EXIT_CLASS_CHECK);
    assert_true(!truth(root, "equal") && real(root, "differing_rows") > 1);
    json_decref(root);
}

static void test_dumps(void **state) {
    (void)state;
    json_t *root = document(at("compile @g.graph --generated --seed 3 --weight-sigma 0.5 "
                               "--dump plan,lower --dump place --explain -o @d.twpkg --json"),
                            0);
    const json_t *dumps = json_object_get(root, "dumps");
    assert_true(strlen(string(dumps, "plan")) > 50 && strlen(string(dumps, "lower")) > 50 &&
                strlen(string(dumps, "place")) > 50 && strlen(string(root, "explanation")) > 50);
    json_decref(root);
    expect(at("compile @g.graph --generated --dump=plan -o @d.twpkg"), 0,
           "operation y grid=", NULL);
}

static void test_assembler(void **state) {
    (void)state;
    write_file("f.S", "#include \"n.h\"\n    .text\n    .worker\n    .globl f\nf:\n"
                      "    setzi $m0, NUMBER\n    exitz $mzero\n");
    write_file("n.h", "#ifndef NUMBER\n#define NUMBER 7\n#endif\n");
    write_file("bad.S", "\n\n    .text\n    .worker\n    sezti $m0, 7\n");
    expect(at("asm @f.S -o @f.o --listing"), 0, "setzi $m0, 7", NULL);
    expect(at("asm @f.S -o @f.o -D NUMBER=9 --listing"), 0, "setzi $m0, 9", NULL);
    expect(at("disasm @f.o"), 0, "setzi $m0, 9", NULL);
    expect(at("asm @f.S -o @f.o --cpp none"), EXIT_CLASS_INPUT, NULL, "error TW04");
    expect(at("asm @bad.S -o @f.o"), EXIT_CLASS_INPUT, NULL, "bad.S:5:"); /* line markers kept */
    expect(at("asm @f.S -o @f.o --cpp nonesuch"), EXIT_CLASS_INPUT, NULL, "error TW2011");
    expect(at("asm @nowhere.S -o @f.o"), EXIT_CLASS_INPUT, NULL, "error TW2012");
    expect(at("asm @nowhere.S -o @f.o --cpp none"), EXIT_CLASS_INPUT, NULL, "error TW0102");
    expect(at("asm @f.S -o /nowhere/f.o"), EXIT_CLASS_INPUT, NULL, "error TW0104");
    expect(at("disasm @nowhere.o"), EXIT_CLASS_INPUT, NULL, "error TW0102");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bench),
        cmocka_unit_test(test_explain_formats),
        cmocka_unit_test(test_bench_text),
        cmocka_unit_test(test_bench_is_deterministic),
        cmocka_unit_test(test_refusal),
        cmocka_unit_test(test_chain),
        cmocka_unit_test(test_run_errors),
        cmocka_unit_test(test_inspect),
        cmocka_unit_test(test_inspect_exchange),
        cmocka_unit_test(test_inspect_steps),
        cmocka_unit_test(test_verify_and_diff),
        cmocka_unit_test(test_dumps),
        cmocka_unit_test(test_assembler),
    };
    return cmocka_run_group_tests(tests, folder_create, folder_remove);
}
