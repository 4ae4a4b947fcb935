/* The verb kernel: its options, its text, its documents. */
#include "command.h"

#include "pack/folder.h"

#define SCALE                                                                                      \
    "kernel examples/asm/scale.S --output y=f16:100 --input x=f16:100:ramp "                       \
    "--args y,x,25,f16:0.5 "

static const char *write_source(const char *name, const char *text) {
    static char path[300];
    in_folder(name, path);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
    return path;
}

static void text(void **state) {
    (void)state;
    expect(SCALE "--expect y=ramp=0,0.5", 0, "as expected, bit by bit", NULL);
    expect(SCALE, 0, "worker 0 is longest: 28 slots, 2 more than worker 5", NULL);
    expect(SCALE "--values 3", 0, ": 0 0.5 1 …\n", NULL);
    expect(SCALE "--expect y=ramp", 1,
           "99 of 100 differ from what is expected; first element 1: 0.5, expected 1", "");
    expect("kernel --help", 0, "NAME=TYPE:SHAPE[:CONTENT][@PLACE]", NULL);
}

static void json(void **state) {
    (void)state;
    json_t *root = document(SCALE "--expect y=ramp=0,0.5 --values 2 --json", 0);
    assert_true(json_is_true(json_object_get(root, "pass")));
    assert_string_equal(json_string_value(json_object_get(root, "code_of")), "supervisor");
    json_int_t cycles = json_integer_value(json_object_get(root, "cycles")), sum = 0;
    size_t index;
    json_t *line;
    json_array_foreach(json_object_get(root, "lines"), index, line) {
        sum += json_integer_value(json_object_get(line, "cycles"));
        assert_true(json_array_size(json_object_get(line, "by_worker")) == 6);
    }
    assert_true(cycles > 0 && sum == cycles);
    const json_t *longest = json_object_get(root, "longest");
    assert_int_equal(json_integer_value(json_object_get(longest, "worker")), 0);
    const json_t *y = json_array_get(json_object_get(root, "buffers"), 0);
    assert_int_equal(json_array_size(json_object_get(y, "values")), 2);
    assert_int_equal(json_integer_value(json_object_get(y, "differing")), 0);
    json_decref(root);
    root = document(SCALE "--args y --json", 2); /* given twice */
    assert_non_null(json_object_get(root, "errors"));
    json_decref(root);
}

/* Another version, equal and not. */
static void comparison(void **state) {
    (void)state;
    expect(SCALE "--compare examples/asm/scale.S", 0, "y: equal, bit by bit", "");
    const char *path = write_source("zero.S", ".supervisor\n.globl scale\nscale:\n"
                                              " st32 $mzero, $m2, $mzero, 1\n br $m10\n");
    char line[600];
    snprintf(line, sizeof line, SCALE "--compare %s", path);
    expect(line, 1, "y: 99 of 100 elements differ between the versions", "");
    snprintf(line, sizeof line, SCALE "--compare %s --json", path);
    json_t *root = document(line, 1);
    const json_t *compared = json_object_get(root, "comparison");
    assert_true(json_is_false(json_object_get(compared, "outputs_equal")));
    assert_true(json_integer_value(json_object_get(compared, "cycles_change")) < 0);
    assert_non_null(json_object_get(json_object_get(compared, "other"), "lines"));
    json_decref(root);
}

static void files(void **state) {
    (void)state;
    char trace[300], saved[300], line[900];
    in_folder("trace", trace);
    in_folder("y.npy", saved);
    snprintf(line, sizeof line, SCALE "--trace %s --save y=%s", trace, saved);
    expect(line, 0, NULL, "");
    FILE *in = fopen(trace, "r");
    assert_non_null(in);
    char first[200];
    assert_non_null(fgets(first, sizeof first, in));
    assert_non_null(strstr(first, "instruction"));
    fclose(in);
    snprintf(line, sizeof line, SCALE "--expect y=file=%s", saved);
    expect(line, 0, "as expected", "");
    expect(SCALE "--trace /nowhere/trace", 3, NULL, "TW0104");
    expect(SCALE "--save y", 2, NULL, "NAME=FILE");
    expect(SCALE "--save z=file", 2, NULL, "TW2205");
    /* Several sources, macros of the preprocessor, code of workers. */
    const char *path = write_source("one.S", ".supervisor\n.globl f\nf: setzi $m0, VALUE\n"
                                             " bri other\n");
    snprintf(line, sizeof line, "kernel %s ", path);
    size_t used = strlen(line);
    path = write_source("two.S", ".supervisor\n.globl other\nother: st32 $m0, $m2, $mzero, 0\n"
                                 " br $m10\n");
    snprintf(line + used, sizeof line - used, "%s -D VALUE=77 -o y=u32:1 --expect y=fill=77", path);
    expect(line, 0, "as expected", "");
    expect("kernel examples/asm/double.S -o x=f32:64+4:ramp -a m2=x --workers 1", 0,
           "double_f32, code of workers", "");
}

static void errors(void **state) {
    (void)state;
    expect("kernel", 2, NULL, "TW2004");
    expect("kernel /nowhere/x.S", 3, NULL, "TW2012");
    expect("kernel examples/asm/scale.S --entry scal", 3, NULL, "TW2201");
    expect("kernel examples/asm/scale.S -i x=f15:1", 2, NULL, "TW2202");
    expect("kernel examples/asm/scale.S -i x=f16:1:what", 3, NULL, "TW2203");
    expect("kernel examples/asm/scale.S -i x=f16:1@0", 4, NULL, "TW2204");
    expect("kernel examples/asm/scale.S -a x", 2, NULL, "TW2205");
    expect(SCALE "--budget 20", 1, NULL, "TW2206");
    expect(SCALE "--workers 7", 2, NULL, "TW2003");
    expect(SCALE "--cpp none -D A=1", 2, NULL, "TW2005");
    expect("kernel examples/asm/scale.S -o y=f16:96 -i x=f16:96 -a y,x,25,f16:0.5", 1, NULL,
           "outside its operands; the nearest, x");
    expect("kernel examples/asm/scale.S -o y=f16:96 -i x=f16:96 -a y,x,25,f16:0.5 --unchecked", 0,
           NULL, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text),  cmocka_unit_test(json),   cmocka_unit_test(comparison),
        cmocka_unit_test(files), cmocka_unit_test(errors),
    };
    return cmocka_run_group_tests(tests, folder_create, folder_remove);
}
