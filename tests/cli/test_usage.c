/* Options, arguments, exit codes and messages of the command line. */
#include "command.h"

static void test_options(void **state) {
    (void)state;
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"bnech", "error TW2001: no verb 'bnech'\n  fix: did you mean bench?\n"},
        {"zzzzzz", "fix: tilework help lists the verbs\n"},
        {"bench gemm --row 3", "error TW2002 at option --row: bench has no such option\n"
                               "  fix: did you mean --rows?\n"},
        {"bench gemm --row=3", "error TW2002 at option --row: "},
        {"bench gemm --zzzzzz", "  fix: tilework bench --help lists them\n"},
        {"bench gemm -x", "error TW2002 at option --x: "},
        {"bench gemm -oo", "error TW2002 at option --oo: "},
        {"bench gemm --rows x", "error TW2003 at option --rows: 'x' is no whole number\n"},
        {"bench gemm --rows=", "error TW2003 at option --rows: '' is no whole number\n"},
        {"bench gemm --rows 1x", "'1x' is no whole number"},
        {"bench gemm --rows +1", "'+1' is no whole number"},
        {"bench gemm --rows 0x10", "'0x10' is no whole number"},
        {"bench gemm --rows 1.5", "'1.5' is no whole number"},
        {"bench gemm --rows -1", "-1 is not in 1…4294967295"},
        {"bench gemm --rows 0", "0 is not in 1…4294967295"},
        {"bench gemm --rows 99999999999999999999", "is not in 1…4294967295"},
        {"bench gemm --tiles 1473", "error TW2003 at option --tiles: 1473 is not in 1…1472\n"},
        {"bench gemm --fp8-scale -17", "-17 is not in -16…15"},
        {"bench gemm --fp8-scale=16", "16 is not in -16…15"},
        {"bench gemm --weight-sigma nan", "'nan' is no number"},
        {"bench gemm --weight-sigma inf", "'inf' is no number"},
        {"bench gemm --weight-sigma 1e400", "'1e400' is no number"},
        {"bench gemm --weight-sigma -1", "-1 is not in 0…1000000"},
        {"bench gemm --rows", "error TW2003 at option --rows: needs a value N behind it\n"},
        {"bench gemm --json=1", "error TW2003 at option --json: takes no value\n"},
        {"bench gemm --dump plna", "error TW2003 at option --dump: there is no 'plna'\n"
                                   "  fix: did you mean plan?\n"},
        {"bench gemm --dump plan,zzzzzz",
         "fix: the allowed words are those of plan,lower,place,exchange"},
        {"bench gemm --rows 1 --inner 1 --columns 1 --cast early,late",
         "error TW2005 at --cast: takes one word\n"},
        {"bench gemm --rows 1 --rows 1", "error TW2005 at option --rows: given twice\n"},
        {"bench gemm --rows 3 --inner 4",
         "error TW2006 at gemm: needs --rows, --inner and --columns\n"},
        {"bench mpl", "error TW2007 at mpl: no workload of this name; there are gemm and mlp\n"},
        {"bench mlp --tokens 3", "error TW2006 at mlp: needs --tokens, --width and --hidden\n"},
        {"bench gemm --rows 1 --inner 1 --columns 1 --bias",
         "error TW2005 at gemm: takes no option --bias\n"},
        {"bench gemm --package=", "error TW2003 at option --package: the value is empty\n"},
        {"bench", "error TW2004: bench takes 1 argument (WORKLOAD), not 0\n"},
        {"bench gemm gemm", "error TW2004: bench takes 1 argument (WORKLOAD), not 2\n"},
        {"isa add sub", "error TW2004: isa takes at most 1 argument ([INSTRUCTION]), not 2\n"},
        {"version x", "error TW2004: version takes no arguments, only options\n"},
        {"bench mlp --rows 1 --inner 1 --columns 1", "error TW2005 at mlp: takes no option --rows"},
        {"bench gemm --rows 1 --inner 1 --columns 1 --f16 --fp8-scale 1",
         "error TW2005 at option --f16: cannot be given together with --fp8-scale\n"},
        {"bench gemm --rows 1 --inner 1 --columns 1 --grid y=1,2", "error TW1004"},
        {"compile g -o p --generated --weights w",
         "error TW2005 at option --generated: cannot be given together with --weights\n"},
        {"compile g -o p --seed 1", "error TW2005 at option --seed: is for --generated data\n"},
        {"compile g", "error TW2006 at option --package: compile needs it\n"},
        {"asm f -o o --cpp none -D X", "error TW2005 at option --cpp: "},
        {"isa add --markdown", "error TW2005: isa shows one thing at a time\n"},
        {"isa f8v8hihoamp", "error TW2007: no instruction is called f8v8hihoamp\n"
                            "  fix: did you mean f8v8hihov4amp?\n"},
        {"explain TW9999", "error TW2007: TW9999 is no code; tilework explain lists all\n"},
        {"help bnech", "error TW2001: no verb 'bnech'\n"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        expect(cases[i].line, EXIT_CLASS_USAGE, NULL, cases[i].message);
    expect("", EXIT_CLASS_USAGE, "usage: tilework VERB", NULL);
}

static void test_arguments_behind_dashes(void **state) {
    (void)state;
    expect("verify -- --json", EXIT_CLASS_INPUT, NULL, "error TW0102 at --json: cannot open");
    expect("verify -", EXIT_CLASS_INPUT, NULL, "error TW0102 at -: cannot open");
}

static void test_help(void **state) {
    (void)state;
    static const char *const verbs[] = {"bench", "compile", "run", "inspect", "verify",  "diff",
                                        "asm",   "disasm",  "isa", "explain", "version", "help"};
    for (size_t i = 0; i < COUNT_OF(verbs); i++) {
        char line[64], example[64];
        snprintf(example, sizeof example, "\nExamples:\n  tilework %s", verbs[i]);
        snprintf(line, sizeof line, "%s --help", verbs[i]);
        expect(line, 0, example, NULL);
        snprintf(line, sizeof line, "help %s", verbs[i]);
        expect(line, 0, "usage: tilework ", NULL);
        expect("help", 0, verbs[i], NULL);
    }
    expect("bench gemm --rows x -h", EXIT_CLASS_USAGE, NULL, "TW2003"); /* the error came first */
    expect("bench -h --rows x", 0, "usage: tilework bench WORKLOAD", NULL);
    expect("--help", 0, "usage: tilework VERB", NULL);
    expect("--version", 0, "tilework " TW_VERSION "\n", NULL);
    expect("version", 0, "tilework " TW_VERSION "\n", NULL);
}

static void test_manuals(void **state) {
    (void)state;
    expect("isa", 0, "f8v8hihov4amp", NULL);
    expect("isa add", 0,
           "add =d:m s:m i:i16\n  example   add $m0, $m1, 1\n"
           "  effect    d = s + sx(i) (documented)\n",
           NULL);
    expect("isa --markdown", 0, "| `f8v8hihov4amp` |", NULL);
    expect("isa --evidence", 0, "TILES ", NULL);
    expect("isa --coverage", 0,
           "242 of 242 instructions of workers and supervisor executed, values and slots tested",
           NULL);
    expect("explain", 0, "TW0102  a file cannot be opened\n", NULL);
    expect("explain TW0705", 0, "# TW0705: shapes in a graph do not fit together\n", NULL);
    expect("explain 705", 0, "# TW0705", NULL);
}

static void test_errors_as_json(void **state) {
    (void)state;
    json_t *root = document("bench gemm --rows 1 --bad --json", EXIT_CLASS_USAGE);
    json_t *error = json_array_get(json_object_get(root, "errors"), 0);
    assert_string_equal(json_string_value(json_object_get(error, "code")), "TW2002");
    assert_string_equal(json_string_value(json_object_get(error, "object")), "option --bad");
    json_decref(root);
    root = document("verify --json nowhere.twpkg", EXIT_CLASS_INPUT);
    error = json_array_get(json_object_get(root, "errors"), 0);
    assert_string_equal(json_string_value(json_object_get(error, "code")), "TW0102");
    assert_string_equal(json_string_value(json_object_get(error, "file")), "nowhere.twpkg");
    assert_false(json_is_true(json_object_get(root, "pass")));
    json_decref(root);
}

static void test_numbers(void **state) {
    (void)state;
    char text[CLI_NUMBER];
    assert_string_equal(cli_number(0, text), "0");
    assert_string_equal(cli_number(999, text), "999");
    assert_string_equal(cli_number(1000, text), "1,000");
    assert_string_equal(cli_number(UINT64_MAX, text), "18,446,744,073,709,551,615");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options),        cmocka_unit_test(test_arguments_behind_dashes),
        cmocka_unit_test(test_help),           cmocka_unit_test(test_manuals),
        cmocka_unit_test(test_errors_as_json), cmocka_unit_test(test_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
