/* Repeats, sums and GELU as builders make them, unrolling, matrices, differences. */
#include "random_graph.h"

#include <string.h>

static Graph *parse(const char *text) {
    Graph *graph = NULL;
    Diag diag = {0};
    if (graph_parse(text, strlen(text), "g", &graph, &diag) != STATUS_OK) {
        diag_print(&diag, stderr);
        fail();
    }
    return graph;
}

static Graph *expand(const Graph *graph) {
    Graph *expanded = NULL;
    Diag diag = {0};
    if (graph_expand(graph, &expanded, &diag) != STATUS_OK) {
        diag_print(&diag, stderr);
        fail();
    }
    return expanded;
}

static uint32_t value_of(const Graph *graph, const char *name) {
    uint64_t value;
    assert_true(strmap_get(graph->value_names, name, &value));
    return (uint32_t)value;
}

static void expect_print(const Graph *graph, const char *text) {
    char *print = graph_print(graph);
    assert_string_equal(print, text);
    mem_free(print);
}

/* Nested repeats, two carried values, names that are taken, a cast that every iteration makes
 * anew, and what only the last iteration would have made for nobody. */
static void test_unrolling(void **state) {
    (void)state;
    const char text[] = "input %x \"x\" : f16[4,8]\n"
                        "parameter %p.0 \"w0\" : f8f143(s=-4)[8,8]\n"
                        "parameter %w1 \"w1\" : f8f143(s=-4)[8,8]\n"
                        "%a, %b = repeat 2 {\n"
                        "  carried %h = %x : f16[4,8]\n"
                        "  carried %k = %x : f16[4,8]\n"
                        "  invariant %x = %x : f16[4,8]\n"
                        "  iterated %w = %p.0, %w1 : f8f143(s=-4)[8,8]\n"
                        "  %q = cast %x : f8f143(s=-3)[4,8]\n"
                        "  %p = gemm %q, %w : f16[4,8]\n"
                        "  %i = repeat 2 {\n"
                        "    carried %h = %p : f16[4,8]\n"
                        "    %g = gelu %h : f16[4,8]\n"
                        "    yield %g\n"
                        "  }\n"
                        "  %s = add %i, %h : f16[4,8]\n"
                        "  %t = add %k, %s : f16[4,8]\n"
                        "  yield %s, %t\n"
                        "}\n"
                        "output %a \"y\"\n";
    Graph *graph = parse(text), *expanded = expand(graph);
    expect_print(graph, text);
    expect_print(expanded, "input %x \"x\" : f16[4,8]\n"
                           "parameter %p.0 \"w0\" : f8f143(s=-4)[8,8]\n"
                           "parameter %w1 \"w1\" : f8f143(s=-4)[8,8]\n"
                           "%q.0 = cast %x : f8f143(s=-3)[4,8]\n"
                           "%a.p.0 = gemm %q.0, %p.0 : f16[4,8]\n"
                           "%g.0.0 = gelu %a.p.0 : f16[4,8]\n"
                           "%g.0.1 = gelu %g.0.0 : f16[4,8]\n"
                           "%s.0 = add %g.0.1, %x : f16[4,8]\n"
                           "%p.1 = gemm %q.0, %w1 : f16[4,8]\n"
                           "%g.1.0 = gelu %p.1 : f16[4,8]\n"
                           "%g.1.1 = gelu %g.1.0 : f16[4,8]\n"
                           "%s.1 = add %g.1.1, %s.0 : f16[4,8]\n"
                           "output %s.1 \"y\"\n");
    static const struct {
        const char *name, *first;
    } firsts[] = {{"p.1", "a.p.0"},   {"a.p.0", "a.p.0"}, {"g.1.1", "g.0.0"},
                  {"g.0.0", "g.0.0"}, {"s.1", "s.0"},     {"q.0", "q.0"}};
    for (size_t i = 0; i < COUNT_OF(firsts); i++) {
        const GraphValue *value = &expanded->values.items[value_of(expanded, firsts[i].name)];
        uint32_t first = expanded->ops.items[value->op].first;
        assert_int_equal(expanded->ops.items[first].result, value_of(expanded, firsts[i].first));
    }
    assert_int_equal(expanded->ops.items[0].first, GRAPH_NONE);
    assert_int_equal(expanded->ops.items[4].line, 10);
    graph_free(expanded);
    graph_free(graph);
}

static void test_too_long(void **state) {
    (void)state;
    Graph *graph = parse("input %x \"x\" : f16[4]\n"
                         "%y = repeat 4294967295 {\n"
                         "  carried %h = %x : f16[4]\n"
                         "  yield %h\n"
                         "}\n"
                         "output %y \"y\"\n"),
          *expanded = NULL;
    Diag diag = {0};
    assert_int_equal(graph_expand(graph, &expanded, &diag), ERR_GRAPH_REPEAT);
    assert_int_equal(diag.entries[0].place.line, 2);
    assert_null(expanded);
    diag_free(&diag);
    graph_free(graph);
}

static void expect_matrix(const Graph *graph, const char *name, uint32_t rows, uint32_t columns) {
    const Shape *shape = &graph->values.items[value_of(graph, name)].shape;
    assert_int_equal(shape->rank, 2);
    assert_int_equal(shape->dims[0], rows);
    assert_int_equal(shape->dims[1], columns);
}

static void test_matrices(void **state) {
    (void)state;
    Graph *graph = parse("input %x \"x\" : f16[2,3,5,8]\n"
                         "parameter %w \"w\" : f16[1,8,7]\n"
                         "parameter %v \"v\" : f16[3,5,6]\n"
                         "parameter %b \"b\" : f16[7]\n"
                         "parameter %c \"c\" : f16[]\n"
                         "%p = gemm %x, %w : f16[2,3,5,7]\n"
                         "%q = gemm %p, %v {transpose_left=true} : f16[2,3,7,6]\n"
                         "%s = add %p, %b : f16[2,3,5,7]\n"
                         "%t = add %c, %s : f16[2,3,5,7]\n"
                         "output %q \"q\"\n"
                         "output %t \"t\"\n"),
          *expanded = expand(graph);
    expect_matrix(expanded, "x", 30, 8);
    expect_matrix(expanded, "w", 8, 7);
    expect_matrix(expanded, "v", 15, 6);
    expect_matrix(expanded, "b", 1, 7);
    expect_matrix(expanded, "c", 1, 1);
    expect_matrix(expanded, "q", 42, 6);
    GraphGemm p = graph_gemm(expanded, 5), q = graph_gemm(expanded, 6);
    assert_true(p.batch == 1 && p.rows == 30 && p.inner == 8 && p.columns == 7);
    assert_true(q.batch == 6 && q.rows == 7 && q.inner == 5 && q.columns == 6);
    for (uint64_t i = 0; i < 6; i++) {
        assert_int_equal(graph_matrix_row(expanded, 6, 0, i), i * 5);
        assert_int_equal(graph_matrix_row(expanded, 6, 1, i), i % 3 * 5);
    }
    assert_int_equal(graph_matrix_row(expanded, 5, 0, 0), 0);
    p = graph_gemm(graph, 5);
    assert_true(p.batch == 6 && p.rows == 5 && p.inner == 8 && p.columns == 7);
    char *before = graph_print(graph);
    expect_print(expanded, before); /* logical shapes */
    mem_free(before);
    graph_free(expanded);
    graph_free(graph);
}

/* The row of an operand that meets row r of the result, from index arithmetic. */
static uint64_t plain_row(const Shape *operand, const Shape *result, uint64_t r) {
    uint64_t index[SHAPE_MAX_RANK] = {0}, row = 0;
    for (uint32_t axis = result->rank - 1; axis-- > 0; r /= result->dims[axis])
        index[axis] = r % result->dims[axis];
    for (uint32_t axis = 0; axis + 1 < operand->rank; axis++) {
        uint64_t i = index[axis + result->rank - operand->rank];
        row = row * operand->dims[axis] + (operand->dims[axis] == 1 ? 0 : i);
    }
    return row;
}

/* All ways to broadcast along some axes: rows as GraphRows says, or refused. */
static void test_rows_of_sums(void **state) {
    (void)state;
    int refused = 0, told = 0;
    for (unsigned ones = 0; ones < 64; ones++) {
        for (uint32_t rank = 1; rank <= 6; rank++) {
            static const uint32_t dims[] = {2, 3, 2, 1, 3, 4};
            Shape result = {.rank = 6}, operand = {.rank = rank};
            memcpy(result.dims, dims, sizeof dims);
            for (uint32_t i = 1; i <= rank; i++)
                operand.dims[rank - i] = ones & 1u << i ? 1 : dims[6 - i];
            Graph *graph, *expanded = NULL;
            uint32_t a, b, c;
            assert_int_equal(graph_create(&graph, NULL), STATUS_OK);
            assert_int_equal(graph_add_input(graph, "a", "a", maker_f16, result, &a, NULL), 0);
            assert_int_equal(graph_add_input(graph, "b", "b", maker_f16, operand, &b, NULL), 0);
            assert_int_equal(graph_add_add(graph, "c", b, a, &c, NULL), STATUS_OK);
            assert_int_equal(graph_add_output(graph, "c", c, NULL), STATUS_OK);
            if (graph_expand(graph, &expanded, NULL) == STATUS_OK) {
                const GraphRows *rows = expanded->ops.items[2].rows;
                for (uint32_t r = 0; r < 36; r++) {
                    assert_int_equal(r / rows[0].block * rows[0].period +
                                         r / rows[0].step % rows[0].period,
                                     plain_row(&operand, &result, r));
                    assert_int_equal(
                        r / rows[1].block * rows[1].period + r / rows[1].step % rows[1].period, r);
                }
                told++;
            } else {
                refused++;
            }
            graph_free(expanded);
            graph_free(graph);
        }
    }
    /* Only [2,1,2,1,1,…] and its like have three groups of rows apart. */
    print_message("%d told, %d refused\n", told, refused);
    assert_true(refused > 0 && refused < told / 20);
}

static void test_shared_rows(void **state) {
    (void)state;
    Graph *graph = parse("input %x \"x\" : f16[2,3,5,8]\n"
                         "input %m \"m\" : f16[2,1,5,1]\n"
                         "%y = add %x, %m : f16[2,3,5,8]\n"
                         "output %y \"y\"\n"),
          *expanded = expand(graph);
    GraphRows rows = expanded->ops.items[2].rows[1];
    assert_true(rows.block == 15 && rows.period == 5 && rows.step == 1);
    graph_free(expanded);
    graph_free(graph);
}

static void test_too_many_rows(void **state) {
    (void)state;
    Graph *graph = parse("input %x \"x\" : f16[65536,65536,1]\noutput %x \"y\"\n"), *expanded;
    assert_int_equal(graph_expand(graph, &expanded, NULL), ERR_GRAPH_SHAPE);
    graph_free(graph);
    graph = parse("input %x \"x\" : f16[2,3,2,3,2,1]\n"
                  "input %m \"m\" : f16[2,1,2,1,2,1]\n"
                  "%y = add %x, %m : f16[2,3,2,3,2,1]\n"
                  "output %y \"y\"\n");
    Diag diag = {0};
    assert_int_equal(graph_expand(graph, &expanded, &diag), ERR_GRAPH_SHAPE);
    assert_string_equal(diag.entries[0].text, "[2,1,2,1,2,1] is broadcast to [2,3,2,3,2,1] along "
                                              "axes that are not adjacent");
    diag_free(&diag);
    graph_free(graph);
}

static void test_mlp(void **state) {
    (void)state;
    GraphMlp mlp = {.tokens = 3,
                    .width = 4,
                    .hidden = 5,
                    .blocks = 1,
                    .batch = 1,
                    .operand = {PRECISION_F8F143, -4}};
    Graph *graph;
    assert_int_equal(graph_build_mlp(&graph, &mlp, NULL), STATUS_OK);
    expect_print(graph, "input %x \"x\" : f8f143(s=-4)[3,4]\n"
                        "parameter %block0.up.weight \"block0.up.weight\" : f8f143(s=-4)[4,5]\n"
                        "parameter %block0.down.weight \"block0.down.weight\" : f8f143(s=-4)[5,4]\n"
                        "%up = gemm %x, %block0.up.weight : f16[3,5]\n"
                        "%act = gelu %up : f16[3,5]\n"
                        "%act.cast = cast %act : f8f143(s=-4)[3,5]\n"
                        "%down = gemm %act.cast, %block0.down.weight : f16[3,4]\n"
                        "output %down \"y\"\n");
    assert_int_equal(graph_check(graph, NULL), STATUS_OK);
    graph_free(graph);
    for (unsigned which = 0; which < 64; which++) {
        mlp.bias = which & 1;
        mlp.residual = which & 2;
        mlp.device_input = which & 4;
        mlp.blocks = which & 8 ? 3 : 1;
        mlp.batch = which & 16 ? 2 : 1;
        mlp.operand = which & 32 ? maker_f16 : (Precision){PRECISION_F8F143, (int8_t)-4};
        assert_int_equal(graph_build_mlp(&graph, &mlp, NULL), STATUS_OK);
        assert_int_equal(graph_check(graph, NULL), STATUS_OK);
        const GraphValue *x = &graph->values.items[0];
        bool f16 = which & (32 + 8 + 4 + 2);
        assert_int_equal(x->precision.kind, f16 ? PRECISION_F16 : PRECISION_F8F143);
        assert_int_equal(x->shape.rank, which & 16 ? 3 : 2);
        Graph *expanded = expand(graph);
        uint32_t gemms = 0, adds = 0, casts = 0;
        for (size_t i = 0; i < expanded->ops.count; i++) {
            gemms += expanded->ops.items[i].kind == GRAPH_GEMM;
            adds += expanded->ops.items[i].kind == GRAPH_ADD;
            casts += expanded->ops.items[i].kind == GRAPH_CAST;
        }
        assert_int_equal(gemms, 2 * mlp.blocks);
        assert_int_equal(adds, mlp.blocks * ((mlp.bias ? 2u : 0u) + (mlp.residual ? 1u : 0u)));
        assert_int_equal(casts, which & 32 ? 0 : mlp.blocks * 2 - (f16 ? 0 : 1));
        assert_int_not_equal(graph_find_port(expanded, "y"), GRAPH_NONE);
        assert_int_not_equal(
            graph_find_port(expanded, mlp.blocks == 3 ? "block2.down.weight" : "block0.up.weight"),
            GRAPH_NONE);
        graph_free(expanded);
        graph_free(graph);
    }
}

static void test_builder_errors(void **state) {
    (void)state;
    Graph *graph, *body;
    Shape four = {.rank = 1, .dims = {4}}, five = {.rank = 1, .dims = {5}};
    const Precision f8 = {PRECISION_F8F143, 0};
    uint32_t x, c, h, w, y, v;
    assert_int_equal(graph_create(&graph, NULL), STATUS_OK);
    assert_int_equal(graph_add_input(graph, "x", "x", maker_f16, four, &x, NULL), STATUS_OK);
    assert_int_equal(graph_add_input(graph, "v", "v", maker_f16, five, &v, NULL), STATUS_OK);
    assert_int_equal(graph_add_cast(graph, "c", x, f8, &c, NULL), STATUS_OK);
    assert_int_equal(graph_add_gelu(graph, "g", c, &y, NULL), ERR_GRAPH_PRECISION);
    assert_int_equal(graph_add_add(graph, "g", x, c, &y, NULL), ERR_GRAPH_PRECISION);
    assert_int_equal(graph_add_add(graph, "g", x, v, &y, NULL), ERR_GRAPH_SHAPE);
    assert_int_equal(graph_add_gelu(graph, "x", x, &y, NULL), ERR_GRAPH_NAME);
    assert_int_equal(graph_create_body(&body, NULL), STATUS_OK);
    const char *const names[] = {"y"}, *const used[] = {"x"};
    uint32_t operands[] = {x, x, x};
    assert_int_equal(graph_add_repeat(graph, names, 2, body, operands, 0, &y, NULL),
                     ERR_GRAPH_REPEAT); /* nothing carried */
    assert_int_equal(graph_add_argument(body, "h", GRAPH_CARRIED, maker_f16, four, &h, NULL),
                     STATUS_OK);
    assert_int_equal(graph_add_repeat(graph, names, 2, body, operands, 1, &y, NULL),
                     ERR_GRAPH_REPEAT); /* no yield */
    assert_int_equal(graph_add_argument(body, "w", GRAPH_ITERATED, maker_f16, four, &w, NULL),
                     STATUS_OK);
    assert_int_equal(graph_add_argument(body, "k", GRAPH_CARRIED, maker_f16, four, &y, NULL),
                     ERR_GRAPH_REPEAT);
    assert_int_equal(graph_add_argument(body, "h", GRAPH_ITERATED, maker_f16, four, &y, NULL),
                     ERR_GRAPH_NAME);
    assert_int_equal(graph_add_add(body, "s", h, w, &y, NULL), STATUS_OK);
    assert_int_equal(graph_add_argument(body, "k", GRAPH_ITERATED, maker_f16, four, &v, NULL),
                     ERR_GRAPH_REPEAT);
    assert_int_equal(graph_add_yield(body, NULL, 0, NULL), ERR_GRAPH_REPEAT);
    assert_int_equal(graph_add_yield(body, &y, 1, NULL), STATUS_OK);
    assert_int_equal(graph_add_gelu(body, "late", y, &y, NULL), ERR_GRAPH_REPEAT);
    assert_int_equal(graph_add_repeat(graph, names, 0, body, operands, 1, &y, NULL),
                     ERR_GRAPH_REPEAT);
    assert_int_equal(graph_add_repeat(graph, names, 2, body, operands, 2, &y, NULL),
                     ERR_GRAPH_REPEAT);
    assert_int_equal(graph_add_repeat(graph, used, 2, body, operands, 3, &y, NULL), ERR_GRAPH_NAME);
    operands[2] = 1; /* of five */
    assert_int_equal(graph_add_repeat(graph, names, 2, body, operands, 3, &y, NULL),
                     ERR_GRAPH_SHAPE);
    operands[2] = c;
    assert_int_equal(graph_add_repeat(graph, names, 2, body, operands, 3, &y, NULL),
                     ERR_GRAPH_PRECISION);
    operands[2] = x;
    assert_int_equal(graph_add_repeat(graph, names, 2, body, operands, 3, &y, NULL), STATUS_OK);
    assert_int_equal(y, 3);
    graph_free(graph);
}

static void test_difference(void **state) {
    (void)state;
    const char base[] = "input %x \"x\" : f16[4,8]\n"
                        "%y = repeat 2 {\n"
                        "  carried %h = %x : f16[4,8]\n"
                        "  %g = gelu %h : f16[4,8]\n"
                        "  yield %g\n"
                        "}\n"
                        "output %y \"y\"\n";
    static const struct {
        const char *text, *left, *right;
        uint32_t left_line, right_line;
    } cases[] = {
        {"# the same\n\ninput %x \"x\" : f16[4,8]\n%y = repeat 2 {\ncarried %h = %x : f16[4,8]\n"
         "%g = gelu %h : f16[4,8]\nyield %g\n}\noutput %y \"y\"",
         NULL, NULL, 0, 0},
        {"\ninput %x \"x\" : f16[4,8]\n%y = repeat 2 {\ncarried %h = %x : f16[4,8]\n"
         "\n%g = add %h, %h : f16[4,8]\nyield %g\n}\noutput %y \"y\"",
         "%g = gelu %h : f16[4,8]", "%g = add %h, %h : f16[4,8]", 4, 6},
        {"input %x \"x\" : f16[4,8]\n%y = repeat 2 {\ncarried %h = %x : f16[4,8]\n"
         "%g = gelu %h : f16[4,8]\nyield %g\n}\noutput %y \"y\"\noutput %x \"z\"",
         NULL, "output %x \"z\"", 0, 8},
    };
    Graph *a = parse(base);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Graph *b = parse(cases[i].text);
        GraphDifference difference;
        assert_int_equal(graph_diff(a, b, &difference, NULL), STATUS_OK);
        assert_int_equal(difference.found, cases[i].left || cases[i].right);
        const char *wanted[] = {cases[i].left, cases[i].right};
        for (int side = 0; side < 2; side++) {
            if (wanted[side])
                assert_string_equal(difference.statements[side], wanted[side]);
            else
                assert_null(difference.statements[side]);
        }
        assert_int_equal(difference.lines[0], cases[i].left_line);
        assert_int_equal(difference.lines[1], cases[i].right_line);
        graph_difference_free(&difference);
        graph_free(b);
    }
    graph_free(a);
}

/* Text of a random graph and of what it unrolls to gives the same again. */
static void test_random(void **state) {
    (void)state;
    uint64_t seed = 11;
    print_message("seed %llu\n", (unsigned long long)seed);
    Random random = random_seed(seed);
    RandomGraphOptions options = {.most = 1500, .work = 1e9, .batched = true, .steps = 8};
    for (int i = 0; i < 200; i++) {
        Graph *graph = random_graph(&random, &options);
        char *text = graph_print(graph);
        Graph *read = parse(text);
        expect_print(read, text);
        Graph *expanded = expand(read);
        assert_int_equal(graph_check(expanded, NULL), STATUS_OK);
        char *unrolled = graph_print(expanded);
        Graph *again = parse(unrolled), *twice = expand(again), *thrice = expand(expanded);
        for (size_t v = 0; v < expanded->values.count; v++) {
            const Shape *shape = &expanded->values.items[v].shape;
            assert_int_equal(shape->rank, 2);
            assert_true(shape_equal(&twice->values.items[v].shape, shape));
            assert_true(shape_equal(&thrice->values.items[v].shape, shape));
        }
        assert_true(random_graph_live(expanded) > 0);
        Graph *all[] = {graph, read, expanded, again, twice, thrice};
        for (size_t g = 0; g < COUNT_OF(all); g++)
            graph_free(all[g]);
        mem_free(text);
        mem_free(unrolled);
    }
}

static void test_without_memory(void **state) {
    (void)state;
    GraphMlp mlp = {3, 4, 5, 2, 2, true, true, true, {PRECISION_F8F143, -4}};
    Graph *whole;
    assert_int_equal(graph_build_mlp(&whole, &mlp, NULL), STATUS_OK);
    char *text = graph_print(whole);
    for (int what = 0; what < 4; what++) {
        Status status = ERR_NO_MEMORY;
        for (uint64_t n = 1; status != STATUS_OK; n++) {
            Graph *made = NULL;
            GraphDifference difference = {0};
            assert_int_equal(status, ERR_NO_MEMORY);
            mem_fail_after(n);
            switch (what) {
            case 0: status = graph_build_mlp(&made, &mlp, NULL); break;
            case 1: status = graph_expand(whole, &made, NULL); break;
            case 2: status = graph_parse(text, strlen(text), "g", &made, NULL); break;
            default: status = graph_diff(whole, whole, &difference, NULL); break;
            }
            mem_fail_after(0);
            graph_free(made);
        }
    }
    mem_free(text);
    graph_free(whole);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unrolling),
        cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_matrices),
        cmocka_unit_test(test_rows_of_sums),
        cmocka_unit_test(test_shared_rows),
        cmocka_unit_test(test_too_many_rows),
        cmocka_unit_test(test_mlp),
        cmocka_unit_test(test_builder_errors),
        cmocka_unit_test(test_difference),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
