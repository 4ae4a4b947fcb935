/* The text form: what is read, what is printed, and the message for each error. */
#include "testing.h"

#include "base/file.h"
#include "base/random.h"
#include "graph/graph.h"

#include <stdlib.h>
#include <string.h>

static char *printed(const Diag *diag) {
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    diag_print(diag, out);
    fclose(out);
    return text;
}

/* Each text, and what is printed about it. */
static const struct {
    const char *text, *message;
} errors[] = {
    {"", "error TW0708 at g: the graph has no output\n"},
    {"inptu %x \"x\" : f16[1]", "error TW0704 at g:1:1: unknown statement 'inptu'\n"
                                "  note: inptu %x \"x\" : f16[1]\n"
                                "  note: ^\n"
                                "  fix: did you mean input?\n"},
    {"\n  ! x", "error TW0701 at g:2:3: expected a statement\n  note:   ! x\n  note:   ^\n"},
    {"input x \"x\" : f16[1]", "error TW0701 at g:1:7: expected '%'\n"
                               "  note: input x \"x\" : f16[1]\n"
                               "  note:       ^\n"},
    {"input %-x \"x\" : f16[1]", "error TW0701 at g:1:8: expected a value's name\n"
                                 "  note: input %-x \"x\" : f16[1]\n"
                                 "  note:        ^\n"},
    {"input\t%x x", "error TW0701 at g:1:10: expected a name in double quotes\n"
                    "  note: input\t%x x\n"
                    "  note:      \t   ^\n"},
    {"input %x \"\" : f16[1]", "error TW0702 at g:1:10: the name is empty\n"
                               "  note: input %x \"\" : f16[1]\n"
                               "  note:          ^\n"},
    {"input %x \"ä", "error TW0701 at g:1:13: expected '\"' at the end of the name\n"
                     "  note: input %x \"ä\n"
                     "  note:            ^\n"},
    {"input %x \"\\n\"", "error TW0701 at g:1:12: expected '\"' or '\\' after '\\'\n"
                         "  note: input %x \"\\n\"\n"
                         "  note:            ^\n"},
    {"input %x \"\xC3\" : f16[1]", "error TW0702 at g:1:10: the name is not valid UTF-8\n"
                                   "  note: input %x \"?\" : f16[1]\n"
                                   "  note:          ^\n"},
    {"input %x \"a\x1B\" : f16[1]", "error TW0702 at g:1:10: the name holds a control character\n"
                                    "  note: input %x \"a?\" : f16[1]\n"
                                    "  note:          ^\n"},
    {"input %x \"x\" f16[1]", "error TW0701 at g:1:14: expected ':'\n"
                              "  note: input %x \"x\" f16[1]\n"
                              "  note:              ^\n"},
    {"input %x \"x\" : bf16[1]", "error TW0701 at g:1:16: expected f8f143(s=EXPONENT), f16 or f32\n"
                                 "  note: input %x \"x\" : bf16[1]\n"
                                 "  note:                ^\n"},
    {"input %x \"x\" : [1]", "error TW0701 at g:1:16: expected f8f143(s=EXPONENT), f16 or f32\n"
                             "  note: input %x \"x\" : [1]\n"
                             "  note:                ^\n"},
    {"input %x \"x\" : f8f143[1]", "error TW0701 at g:1:22: expected '('\n"
                                   "  note: input %x \"x\" : f8f143[1]\n"
                                   "  note:                      ^\n"},
    {"input %x \"x\" : f8f143(e=1)[1]", "error TW0701 at g:1:23: expected s=EXPONENT\n"
                                        "  note: input %x \"x\" : f8f143(e=1)[1]\n"
                                        "  note:                       ^\n"},
    {"input %x \"x\" : f8f143()[1]", "error TW0701 at g:1:23: expected s=EXPONENT\n"
                                     "  note: input %x \"x\" : f8f143()[1]\n"
                                     "  note:                       ^\n"},
    {"input %x \"x\" : f8f143(s=-)[1]", "error TW0701 at g:1:26: expected a whole number\n"
                                        "  note: input %x \"x\" : f8f143(s=-)[1]\n"
                                        "  note:                          ^\n"},
    {"input %x \"x\" : f8f143(s=-17)[1]",
     "error TW0707 at g:1:26: a scale exponent lies between -16 and 15\n"
     "  note: input %x \"x\" : f8f143(s=-17)[1]\n"
     "  note:                          ^\n"},
    {"input %x \"x\" : f8f143(s=99999999999999999999)[1]",
     "error TW0707 at g:1:25: a scale exponent lies between -16 and 15\n"
     "  note: input %x \"x\" : f8f143(s=99999999999999999999)[1]\n"
     "  note:                         ^\n"},
    {"input %x \"x\" : f16", "error TW0701 at g:1:19: expected '['\n"
                             "  note: input %x \"x\" : f16\n"
                             "  note:                   ^\n"},
    {"input %x \"x\" : f16[0]", "error TW0705 at g:1:20: an extent lies between 1 and 4294967295\n"
                                "  note: input %x \"x\" : f16[0]\n"
                                "  note:                    ^\n"},
    {"input %x \"x\" : f16[4,4294967296]",
     "error TW0705 at g:1:22: an extent lies between 1 and 4294967295\n"
     "  note: input %x \"x\" : f16[4,4294967296]\n"
     "  note:                      ^\n"},
    {"input %x \"x\" : f16[-1]", "error TW0701 at g:1:20: expected an extent\n"
                                 "  note: input %x \"x\" : f16[-1]\n"
                                 "  note:                    ^\n"},
    {"input %x \"x\" : f16[01]", "error TW0701 at g:1:20: expected an extent\n"
                                 "  note: input %x \"x\" : f16[01]\n"
                                 "  note:                    ^\n"},
    {"input %x \"x\" : f16[4 4]", "error TW0701 at g:1:22: expected ']'\n"
                                  "  note: input %x \"x\" : f16[4 4]\n"
                                  "  note:                      ^\n"},
    {"input %x \"x\" : f16[1,1,1,1,1,1,1]", "error TW0705 at g:1:19: more than 6 axes\n"
                                            "  note: input %x \"x\" : f16[1,1,1,1,1,1,1]\n"
                                            "  note:                   ^\n"},
    {"input %x \"x\" : f16[4294967295,4294967295]",
     "error TW0705 at g:1:16: the number of elements does not fit 63 bits\n"
     "  note: input %x \"x\" : f16[4294967295,4294967295]\n"
     "  note:                ^\n"},
    {"input %x \"x\" : f16[4] f16", "error TW0701 at g:1:23: expected the end of the line\n"
                                    "  note: input %x \"x\" : f16[4] f16\n"
                                    "  note:                       ^\n"},
    {"input %x \"x\" : f16[4]\n%y = cast %x : f8f143(s=16)[4]",
     "error TW0707 at g:2:25: a scale exponent lies between -16 and 15\n"
     "  note: %y = cast %x : f8f143(s=16)[4]\n"
     "  note:                         ^\n"},
    {"input %x \"x\" : f16[4]\n%y = cast %x : f8f143(s=1)[5]",
     "error TW0705 at g:2:16: the result of this operation is f8f143(s=1)[4]\n"
     "  note: %y = cast %x : f8f143(s=1)[5]\n"
     "  note:                ^\n"},
    {"input %x \"x\" : f16[4]\n%y = cast %x : f16[4]",
     "error TW0706 at g:2:6: a cast goes from f16 to f8f143, not from f16 to f16\n"
     "  note: %y = cast %x : f16[4]\n"
     "  note:      ^\n"},
    {"input %x \"x\" : f16[4]\n%y = cast %x, %x : f16[4]", "error TW0701 at g:2:13: expected ':'\n"
                                                           "  note: %y = cast %x, %x : f16[4]\n"
                                                           "  note:             ^\n"},
    {"input %x \"x\" : f16[4]\ninput %x \"y\" : f16[4]",
     "error TW0702 at g:2:8: %x is already defined\n"
     "  note: the first definition is in line 1\n"
     "  note: input %x \"y\" : f16[4]\n"
     "  note:        ^\n"},
    {"input %x \"x\" : f16[4]\n\nparameter %y \"x\" : f16[4]",
     "error TW0702 at g:3:14: another input has the name \"x\"\n"
     "  note: it was given in line 1\n"
     "  note: parameter %y \"x\" : f16[4]\n"
     "  note:              ^\n"},
    {"input %abc \"x\" : f16[4]\noutput %abd \"y\"",
     "error TW0703 at g:2:9: %abd is not defined yet\n"
     "  note: output %abd \"y\"\n"
     "  note:         ^\n"
     "  fix: did you mean %abc?\n"},
    {"input %x \"x\" : f16[4,4]\n%y = gem %x, %x : f16[4,4]",
     "error TW0704 at g:2:6: unknown operation 'gem'\n"
     "  note: %y = gem %x, %x : f16[4,4]\n"
     "  note:      ^\n"
     "  fix: did you mean gemm?\n"},
    {"input %x \"x\" : f16[4,4]\n%y = attention %x : f16[4,4]",
     "error TW0704 at g:2:6: unknown operation 'attention'\n"
     "  note: %y = attention %x : f16[4,4]\n"
     "  note:      ^\n"},
    {"input %x \"x\" : f16[4,4]\n%y = gemm %x %x : f16[4,4]",
     "error TW0701 at g:2:14: expected ','\n"
     "  note: %y = gemm %x %x : f16[4,4]\n"
     "  note:              ^\n"},
    {"input %x \"x\" : f16[4,4]\n%y = gemm %x, %x {transposeright=true} : f16[4,4]",
     "error TW0701 at g:2:19: expected an attribute of the operation\n"
     "  note: %y = gemm %x, %x {transposeright=true} : f16[4,4]\n"
     "  note:                   ^\n"
     "  fix: did you mean transpose_right?\n"},
    {"input %x \"x\" : f16[4,4]\n%y = gemm %x, %x {transpose_right=1} : f16[4,4]",
     "error TW0701 at g:2:35: expected true or false\n"
     "  note: %y = gemm %x, %x {transpose_right=1} : f16[4,4]\n"
     "  note:                                   ^\n"},
    {"input %x \"x\" : f16[4,4]\n"
     "%y = gemm %x, %x {transpose_left=true, transpose_left=true} : f16[4,4]",
     "error TW0701 at g:2:40: expected each attribute once\n"
     "  note: %y = gemm %x, %x {transpose_left=true, transpose_left=true} : f16[4,4]\n"
     "  note:                                        ^\n"},
    {"input %x \"x\" : f16[4,4]\n%y = gemm %x, %x {transpose_right=true : f16[4,4]",
     "error TW0701 at g:2:40: expected '}'\n"
     "  note: %y = gemm %x, %x {transpose_right=true : f16[4,4]\n"
     "  note:                                        ^\n"},
    {"input %x \"x\" : f16[4,8]\n%y = gemm %x, %x : f16[4,4]",
     "error TW0705 at g:2:6: inner extents differ: left [4,8] gives 8, right [4,8] gives 4\n"
     "  note: %y = gemm %x, %x : f16[4,4]\n"
     "  note:      ^\n"
     "  fix: transpose_right=true fits\n"},
    {"input %x \"x\" : f16[4,4]\n%y = gemm %x, %x : f16[4,5]",
     "error TW0705 at g:2:20: the result of this operation is f16[4,4]\n"
     "  note: %y = gemm %x, %x : f16[4,5]\n"
     "  note:                    ^\n"},
    {"input %x \"x\" : f16[4,4]\n%y = gemm %x, %x : f32[4,4]",
     "error TW0706 at g:2:20: the result of this operation is f16[4,4]\n"
     "  note: %y = gemm %x, %x : f32[4,4]\n"
     "  note:                    ^\n"},
    {"input %x \"x\" : f32[4,4]\n%y = gemm %x, %x : f16[4,4]",
     "error TW0706 at g:2:6: gemm takes two f16 or two f8f143 operands, not f32 and f32\n"
     "  note: %y = gemm %x, %x : f16[4,4]\n"
     "  note:      ^\n"},
    {"input %x \"x\" : f32[4]\n%y = gelu %x : f32[4]",
     "error TW0706 at g:2:6: gelu takes f16 values; %x is f32\n"
     "  note: %y = gelu %x : f32[4]\n"
     "  note:      ^\n"},
    {"input %x \"x\" : f16[4]\ninput %z \"z\" : f16[3]\n%y = add %x, %z : f16[4]",
     "error TW0705 at g:3:6: [4] and [3] cannot be broadcast: each pair of extents, counted from "
     "the right, must be equal or hold a 1\n"
     "  note: %y = add %x, %z : f16[4]\n"
     "  note:      ^\n"},
    {"input %x \"x\" : f16[4]\n%a, %b = gelu %x : f16[4]",
     "error TW0701 at g:2:10: expected repeat, which alone has several results\n"
     "  note: %a, %b = gelu %x : f16[4]\n"
     "  note:          ^\n"},
    {"input %x \"x\" : f16[4]\n%y = repeat 0 {",
     "error TW0710 at g:2:13: a number of iterations lies between 1 and 4294967295\n"
     "  note: %y = repeat 0 {\n"
     "  note:             ^\n"},
    {"input %x \"x\" : f16[4]\n%y = repeat 2 {\ncarried %h = %x : f16[4]",
     "error TW0701 at g:2:6: the body of this repeat has no '}'\n"},
    {"input %x \"x\" : f16[4]\n%y = repeat 2 {\ncarried %h = %x : f16[5]",
     "error TW0705 at g:3:14: %x is f16[4], not f16[5] as argument %h\n"
     "  note: carried %h = %x : f16[5]\n"
     "  note:              ^\n"},
    {"input %x \"x\" : f16[4]\n%y = repeat 3 {\niterated %h = %x, %x : f16[4]",
     "error TW0710 at g:3:15: 3 iterations take as many values here; these are 2\n"
     "  note: iterated %h = %x, %x : f16[4]\n"
     "  note:               ^\n"},
    {"input %x \"x\" : f16[4]\n%y = repeat 3 {\niterated %h = %x, %x, %x : f16[4]\n"
     "carried %k = %x : f16[4]",
     "error TW0710 at g:4:1: first come the carried arguments, then the invariant ones, then the "
     "iterated ones, then the operations\n"
     "  note: carried %k = %x : f16[4]\n"
     "  note: ^\n"},
    {"input %x \"x\" : f16[4]\n%y = repeat 3 {\ncarried %h = %x : f16[4]\n"
     "%g = gelu %x : f16[4]",
     "error TW0703 at g:4:12: %x is not defined yet\n"
     "  note: %g = gelu %x : f16[4]\n"
     "  note:            ^\n"
     "  note: a body sees only its arguments and its own values\n"},
    {"input %x \"x\" : f16[4]\n%y = repeat 3 {\ninput %z \"z\" : f16[4]",
     "error TW0704 at g:3:1: unknown statement of a body 'input'\n"
     "  note: input %z \"z\" : f16[4]\n"
     "  note: ^\n"
     "  fix: end the repeat with '}' before it\n"},
    {"input %x \"x\" : f16[4]\n%y = repeat 3 {\ncarried %h = %x : f16[4]\nyield %h, %h",
     "error TW0710 at g:4:1: 1 carried arguments need as many yielded values; these are 2\n"
     "  note: yield %h, %h\n"
     "  note: ^\n"},
    {"input %x \"x\" : f16[4]\n%y, %z = repeat 3 {\ncarried %h = %x : f16[4]\nyield %h\n}",
     "error TW0710 at g:5:1: 1 carried arguments give as many results; line 2 names 2\n"
     "  note: }\n"
     "  note: ^\n"},
    {"input %x \"x\" : f16[4]\n%y = repeat 3 {\ncarried %h = %x : f16[4]\n}",
     "error TW0710 at g:2:6: the body of the repeat yields nothing\n"},
    {"input %x \"x\" : f16[4]\n%y = repeat 3 {\ncarried %h = %x : f16[4]\n"
     "%g = gelu %h : f16[4]\nyield %h\n}\noutput %y \"y\"",
     "error TW0709 at g:4: %g is never used\n  fix: remove it or yield it\n"},
    {"input %x \"x\" : f16[4]\n}",
     "error TW0701 at g:2:1: expected a statement\n  note: }\n  note: ^\n"},
    {"input %x \"x\" : f16[4]\ninput %z \"z\" : f16[4]\noutput %x \"y\"",
     "error TW0709 at g:2: %z is never used\n  fix: remove it or make it an output\n"},
    /* A line longer than a terminal is cut around the caret. */
    {"input %x                                                                              "
     "                                 ? \"x\" : f16[4]                                          "
     "                                                                   tail",
     "error TW0701 at g:1:120: expected a name in double quotes\n"
     "  note: "
     "                                                            ? \"x\" : f16[4]"
     "                          \n"
     "  note:                                                             ^\n"},
};

static void test_errors(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(errors); i++) {
        Diag diag = {0};
        Graph *graph = NULL;
        Status status = graph_parse(errors[i].text, strlen(errors[i].text), "g", &graph, &diag);
        assert_int_not_equal(status, STATUS_OK);
        assert_int_equal(status, diag_status(&diag));
        assert_null(graph);
        char *text = printed(&diag);
        assert_string_equal(text, errors[i].message);
        free(text);
        diag_free(&diag);
    }
}

static void test_zero_byte(void **state) {
    (void)state;
    Graph *graph;
    assert_int_equal(graph_parse("# a\0b", 5, "g", &graph, NULL), ERR_GRAPH_SYNTAX);
}

/* Text that is not in the printed form, and what it prints as. */
static void test_forms(void **state) {
    (void)state;
    const char text[] = "# comment\r\n"
                        "\r\n"
                        "\tinput%x\"a \\\"b\\\" \\\\c\":f8f143 ( s = - 4 ) [ 8 , 8 ] # why\r\n"
                        "parameter %_.1 \"w\" : f8f143(s=015)[]\n"
                        "%2=gemm%x,%x{}:f16[8,8]\n"
                        "%3 = gemm %2, %2 { transpose_right = true , transpose_left = false } "
                        ": f16[8,8]\n"
                        "%4 = gemm %2, %3 {transpose_left=true,transpose_right=true} : f16[8,8]\n"
                        "output %4 \"out\"\n"
                        "output %_.1 \"w2\"";
    const char form[] = "input %x \"a \\\"b\\\" \\\\c\" : f8f143(s=-4)[8,8]\n"
                        "parameter %_.1 \"w\" : f8f143(s=15)[]\n"
                        "%2 = gemm %x, %x : f16[8,8]\n"
                        "%3 = gemm %2, %2 {transpose_right=true} : f16[8,8]\n"
                        "%4 = gemm %2, %3 {transpose_left=true, transpose_right=true} : f16[8,8]\n"
                        "output %4 \"out\"\n"
                        "output %_.1 \"w2\"\n";
    Diag diag = {0};
    Graph *graph;
    Status status = graph_parse(text, sizeof text - 1, "g", &graph, &diag);
    if (status != STATUS_OK)
        diag_print(&diag, stderr);
    assert_int_equal(status, STATUS_OK);
    char *print = graph_print(graph);
    assert_string_equal(print, form);
    assert_int_equal(graph->ops.items[2].line, 5);
    assert_string_equal(graph->ops.items[0].name, "a \"b\" \\c");
    graph_free(graph);
    assert_int_equal(graph_parse(print, strlen(print), NULL, &graph, &diag), STATUS_OK);
    char *again = graph_print(graph);
    assert_string_equal(again, print);
    mem_free(again);
    mem_free(print);
    graph_free(graph);
    diag_free(&diag);
}

static Precision random_precision(Random *random) {
    if (random_below(random, 3) == 0)
        return (Precision){.kind = PRECISION_F16};
    return (Precision){PRECISION_F8F143, (int8_t)((int)random_below(random, 32) - 16)};
}

/* A random graph of products of fitting shapes. */
static Graph *random_graph(Random *random) {
    Graph *graph;
    assert_int_equal(graph_create(&graph, NULL), STATUS_OK);
    uint32_t products = 1 + (uint32_t)random_below(random, 5);
    for (uint32_t i = 0; i < products; i++) {
        Precision precision = random_precision(random);
        Shape left = {.rank = 2 + (uint32_t)random_below(random, 5)}, right;
        for (uint32_t axis = 0; axis < left.rank; axis++)
            left.dims[axis] = 1 + (uint32_t)random_below(random, 9);
        right = left;
        bool tl = random_below(random, 2);
        bool tr = !tl; /* X·Xᵀ or Xᵀ·X */
        uint32_t l, r, p;
        char name[24];
        snprintf(name, sizeof name, "l%u", i);
        assert_int_equal(graph_add_input(graph, name, name, precision, left, &l, NULL), 0);
        snprintf(name, sizeof name, "r%u", i);
        assert_int_equal(graph_add_parameter(graph, name, name, precision, right, &r, NULL), 0);
        snprintf(name, sizeof name, "p%u", i);
        assert_int_equal(graph_add_gemm(graph, name, l, r, tl, tr, &p, NULL), 0);
        assert_int_equal(graph_add_output(graph, name, p, NULL), 0);
        if (random_below(random, 2) == 0)
            continue;
        snprintf(name, sizeof name, "c%u", i);
        Precision f8 = {PRECISION_F8F143, (int8_t)((int)random_below(random, 32) - 16)};
        assert_int_equal(graph_add_cast(graph, name, p, f8, &p, NULL), 0);
        assert_int_equal(graph_add_output(graph, name, p, NULL), 0);
    }
    return graph;
}

static void test_random_round_trip(void **state) {
    (void)state;
    uint64_t seed = 7;
    print_message("seed %llu\n", (unsigned long long)seed);
    Random random = random_seed(seed);
    for (int i = 0; i < 200; i++) {
        Graph *graph = random_graph(&random), *read;
        char *text = graph_print(graph);
        assert_int_equal(graph_parse(text, strlen(text), NULL, &read, NULL), STATUS_OK);
        char *again = graph_print(read);
        assert_string_equal(again, text);
        assert_int_equal(read->values.count, graph->values.count);
        for (size_t v = 0; v < graph->values.count; v++) {
            const GraphValue *a = &graph->values.items[v], *b = &read->values.items[v];
            assert_true(shape_equal(&a->shape, &b->shape));
            assert_true(precision_equal(a->precision, b->precision));
            assert_int_equal(a->op, b->op);
        }
        mem_free(again);
        mem_free(text);
        graph_free(read);
        graph_free(graph);
    }
}

/* Every ```graph block of the manual is a graph. */
static void test_manual(void **state) {
    (void)state;
    uint8_t *bytes;
    size_t size;
    assert_int_equal(file_read("docs/graph.md", &bytes, &size, NULL), STATUS_OK);
    int blocks = 0;
    for (char *at = (char *)bytes; (at = strstr(at, "```graph\n"));) {
        at += strlen("```graph\n");
        char *end = strstr(at, "```");
        assert_non_null(end);
        Graph *graph;
        assert_int_equal(graph_parse(at, (size_t)(end - at), "docs/graph.md", &graph, NULL),
                         STATUS_OK);
        graph_free(graph);
        at = end;
        blocks++;
    }
    assert_int_equal(blocks, 5);
    mem_free(bytes);
}

static void test_without_memory(void **state) {
    (void)state;
    const char text[] = "input %x \"x\" : f16[8,8]\n%y = gemm %x, %x : f16[8,8]\noutput %y \"y\"\n";
    const char wrong[] = "input %x \"x\" : f16[8,8]\noutput %z \"y\"\n";
    Graph *graph = NULL;
    Status status = ERR_NO_MEMORY;
    for (uint64_t n = 1; status == ERR_NO_MEMORY; n++) {
        mem_fail_after(n);
        status = graph_parse(text, sizeof text - 1, "g", &graph, NULL);
        mem_fail_after(0);
    }
    assert_int_equal(status, STATUS_OK);
    graph_free(graph);
    status = ERR_NO_MEMORY;
    for (uint64_t n = 1; status == ERR_NO_MEMORY; n++) {
        Diag diag = {0};
        mem_fail_after(n);
        status = graph_parse(wrong, sizeof wrong - 1, "g", &graph, &diag);
        mem_fail_after(0);
        diag_free(&diag);
    }
    assert_int_equal(status, ERR_GRAPH_VALUE);
}

static void test_read(void **state) {
    (void)state;
    Graph *graph;
    assert_int_equal(graph_read("tests/graph/absent.graph", &graph, NULL), ERR_FILE_OPEN);
    assert_int_equal(graph_read("docs/graph.md", &graph, NULL), ERR_GRAPH_OPERATION);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),         cmocka_unit_test(test_zero_byte),
        cmocka_unit_test(test_forms),          cmocka_unit_test(test_random_round_trip),
        cmocka_unit_test(test_manual),         cmocka_unit_test(test_read),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
