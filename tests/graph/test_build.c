/* Building graphs: shape and precision inference, names, whole-graph rules, lack of memory. */
#include "testing.h"

#include "graph/graph.h"

#include <string.h>

static const Precision f16 = {.kind = PRECISION_F16};
static const Precision f32 = {.kind = PRECISION_F32};

static Precision f8(int exponent) {
    return (Precision){PRECISION_F8F143, (int8_t)exponent};
}

#define SHAPE(...)                                                                                 \
    ((Shape){.rank = sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), .dims = {__VA_ARGS__}})

static Graph *create(void) {
    Graph *graph;
    assert_int_equal(graph_create(&graph, NULL), STATUS_OK);
    return graph;
}

/* Adds inputs %l and %r and their product %p. */
static Status product(Graph *graph, Shape left, Shape right, bool tl, bool tr, Diag *diag) {
    uint32_t l, r, p;
    assert_int_equal(graph_add_input(graph, "l", "l", f16, left, &l, diag), STATUS_OK);
    assert_int_equal(graph_add_input(graph, "r", "r", f16, right, &r, diag), STATUS_OK);
    return graph_add_gemm(graph, "p", l, r, tl, tr, &p, diag);
}

static void test_gemm_shapes(void **state) {
    (void)state;
    static const struct {
        Shape left, right;
        bool tl, tr;
        Shape result; /* rank 0: refused */
    } cases[] = {
        {{2, {3, 4}}, {2, {4, 5}}, false, false, {2, {3, 5}}},
        {{2, {4, 3}}, {2, {4, 5}}, true, false, {2, {3, 5}}},
        {{2, {3, 4}}, {2, {5, 4}}, false, true, {2, {3, 5}}},
        {{2, {4, 3}}, {2, {5, 4}}, true, true, {2, {3, 5}}},
        {{3, {7, 3, 4}}, {2, {4, 5}}, false, false, {3, {7, 3, 5}}},
        {{2, {3, 4}}, {4, {2, 7, 4, 5}}, false, false, {4, {2, 7, 3, 5}}},
        {{4, {2, 1, 3, 4}}, {3, {7, 4, 5}}, false, false, {4, {2, 7, 3, 5}}},
        {{4, {2, 7, 3, 4}}, {4, {1, 7, 4, 5}}, false, false, {4, {2, 7, 3, 5}}},
        {{6, {2, 3, 4, 5, 1, 1}}, {2, {1, 1}}, false, false, {6, {2, 3, 4, 5, 1, 1}}},
        {{2, {3, 4}}, {2, {5, 4}}, false, false, {0}},
        {{1, {4}}, {2, {4, 5}}, false, false, {0}},
        {{2, {3, 4}}, {1, {4}}, false, false, {0}},
        {{3, {2, 3, 4}}, {3, {7, 4, 5}}, false, false, {0}},
        {{2, {UINT32_MAX, 1}}, {2, {1, UINT32_MAX}}, false, false, {0}}, /* 2^64 elements */
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Graph *graph = create();
        Status status =
            product(graph, cases[i].left, cases[i].right, cases[i].tl, cases[i].tr, NULL);
        if (cases[i].result.rank == 0) {
            assert_int_equal(status, ERR_GRAPH_SHAPE);
            assert_int_equal(graph->ops.count, 2); /* as it was */
        } else {
            assert_int_equal(status, STATUS_OK);
            assert_true(shape_equal(&graph->values.items[2].shape, &cases[i].result));
        }
        graph_free(graph);
    }
}

static void test_gemm_extents(void **state) {
    (void)state;
    Graph *graph = create();
    assert_int_equal(product(graph, SHAPE(2, 1, 3, 4), SHAPE(7, 5, 4), false, true, NULL),
                     STATUS_OK);
    GraphGemm gemm = graph_gemm(graph, 2);
    assert_int_equal(gemm.batch, 14);
    assert_int_equal(gemm.rows, 3);
    assert_int_equal(gemm.inner, 4);
    assert_int_equal(gemm.columns, 5);
    graph_free(graph);
    graph = create();
    assert_int_equal(product(graph, SHAPE(4, 3), SHAPE(4, 5), true, false, NULL), STATUS_OK);
    gemm = graph_gemm(graph, 2);
    assert_int_equal(gemm.batch, 1);
    assert_int_equal(gemm.rows, 3);
    assert_int_equal(gemm.inner, 4);
    graph_free(graph);
}

static void test_transpose_is_proposed(void **state) {
    (void)state;
    Graph *graph = create();
    Diag diag = {0};
    assert_int_equal(product(graph, SHAPE(3, 4), SHAPE(5, 4), false, false, &diag),
                     ERR_GRAPH_SHAPE);
    assert_string_equal(diag.entries[0].fix, "transpose_right=true fits");
    diag_free(&diag);
    graph_free(graph);
}

static void test_gemm_precisions(void **state) {
    (void)state;
    const struct {
        Precision left, right;
        Status status;
    } cases[] = {
        {f16, f16, STATUS_OK},
        {f8(-16), f8(15), STATUS_OK},
        {f8(0), f16, ERR_GRAPH_PRECISION},
        {f16, f8(0), ERR_GRAPH_PRECISION},
        {f32, f32, ERR_GRAPH_PRECISION},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Graph *graph = create();
        uint32_t l, r, p = 99;
        Shape square = SHAPE(2, 2);
        assert_int_equal(graph_add_input(graph, "l", "l", cases[i].left, square, &l, NULL), 0);
        assert_int_equal(graph_add_parameter(graph, "r", "r", cases[i].right, square, &r, NULL), 0);
        assert_int_equal(graph_add_gemm(graph, "p", l, r, false, false, &p, NULL), cases[i].status);
        if (cases[i].status == STATUS_OK)
            assert_true(precision_equal(graph->values.items[p].precision, f16));
        graph_free(graph);
    }
}

static void test_casts(void **state) {
    (void)state;
    Graph *graph = create();
    uint32_t x, q, none;
    assert_int_equal(graph_add_input(graph, "x", "x", f16, SHAPE(2, 3, 4), &x, NULL), STATUS_OK);
    assert_int_equal(graph_add_cast(graph, "q", x, f8(-4), &q, NULL), STATUS_OK);
    assert_true(precision_equal(graph->values.items[q].precision, f8(-4)));
    assert_true(shape_equal(&graph->values.items[q].shape, &graph->values.items[x].shape));
    assert_int_equal(graph_add_cast(graph, "r", x, f16, &none, NULL), ERR_GRAPH_PRECISION);
    assert_int_equal(graph_add_cast(graph, "r", q, f8(-4), &none, NULL), ERR_GRAPH_PRECISION);
    assert_int_equal(graph_add_cast(graph, "r", x, f8(16), &none, NULL), ERR_GRAPH_SCALE);
    assert_int_equal(graph_add_cast(graph, "q", x, f8(0), &none, NULL), ERR_GRAPH_NAME);
    assert_int_equal(graph->ops.count, 2); /* as it was */
    graph_free(graph);
    static const int values[2] = {4, 3};
    for (int f8_operands = 0; f8_operands < 2; f8_operands++) {
        Precision operand = f8_operands ? f8(-4) : f16;
        assert_int_equal(graph_build_device_gemm(&graph, 5, 6, 7, operand, NULL), STATUS_OK);
        assert_int_equal(graph_check(graph, NULL), STATUS_OK);
        assert_int_equal(graph->values.count, values[1 - f8_operands]);
        assert_true(precision_equal(graph->values.items[0].precision, f16));
        assert_true(precision_equal(graph->values.items[1].precision, operand));
        graph_free(graph);
    }
}

static void test_types(void **state) {
    (void)state;
    Graph *graph = create();
    uint32_t v;
    const Shape one = SHAPE(1), none = SHAPE(4, 0, 4), huge = SHAPE(UINT32_MAX, UINT32_MAX);
    Shape deep = {.rank = SHAPE_MAX_RANK + 1};
    assert_int_equal(graph_add_input(graph, "a", "a", f8(-17), one, &v, NULL), ERR_GRAPH_SCALE);
    assert_int_equal(graph_add_input(graph, "a", "a", f8(16), one, &v, NULL), ERR_GRAPH_SCALE);
    Precision scaled = {PRECISION_F16, 1};
    assert_int_equal(graph_add_input(graph, "a", "a", scaled, one, &v, NULL), ERR_GRAPH_SCALE);
    assert_int_equal(graph_add_input(graph, "a", "a", f16, none, &v, NULL), ERR_GRAPH_SHAPE);
    assert_int_equal(graph_add_input(graph, "a", "a", f16, huge, &v, NULL), ERR_GRAPH_SHAPE);
    assert_int_equal(graph_add_input(graph, "a", "a", f16, deep, &v, NULL), ERR_GRAPH_SHAPE);
    assert_int_equal(graph_add_input(graph, "a", "a", f8(-16), (Shape){0}, &v, NULL), STATUS_OK);
    assert_int_equal(v, 0);
    assert_int_equal(graph->ops.count, 1);
    graph_free(graph);
}

static void test_names(void **state) {
    (void)state;
    Graph *graph = create();
    uint32_t v, ignored;
    const Shape one = SHAPE(1);
    assert_int_equal(graph_add_input(graph, "Az_0.9", "Größe \"x\"\\", f16, one, &v, NULL), 0);
    static const char *const bad_values[] = {"", "Az_0.9", "%a", "a b", "a-b", "ä"};
    for (size_t i = 0; i < COUNT_OF(bad_values); i++)
        assert_int_equal(graph_add_input(graph, bad_values[i], "x", f16, one, &ignored, NULL),
                         ERR_GRAPH_NAME);
    static const char *const bad_ports[] = {"",     "Größe \"x\"\\", "a\nb", "\x7F",
                                            "\xC3", "\xED\xA0\x80",  "a\x01"};
    for (size_t i = 0; i < COUNT_OF(bad_ports); i++) {
        assert_int_equal(graph_add_parameter(graph, "b", bad_ports[i], f16, one, &ignored, NULL),
                         ERR_GRAPH_NAME);
        assert_int_equal(graph_add_output(graph, bad_ports[i], v, NULL), ERR_GRAPH_NAME);
    }
    assert_int_equal(graph_find_port(graph, "x"), GRAPH_NONE);
    assert_int_equal(graph_add_output(graph, "x", v, NULL), STATUS_OK);
    assert_int_equal(graph_find_port(graph, "x"), 1);
    assert_int_equal(graph_port_value(graph, 1), v);
    assert_int_equal(graph_port_value(graph, 0), v);
    graph_free(graph);
}

static void test_whole_graph(void **state) {
    (void)state;
    Graph *graph;
    assert_int_equal(graph_build_gemm(&graph, 128, 96, 64, f8(-4), NULL), STATUS_OK);
    assert_int_equal(graph_check(graph, NULL), STATUS_OK);
    uint32_t v;
    assert_int_equal(graph_add_input(graph, "z", "z", f16, SHAPE(1), &v, NULL), STATUS_OK);
    assert_int_equal(graph_check(graph, NULL), ERR_GRAPH_UNUSED);
    graph_free(graph);
    graph = create();
    assert_int_equal(graph_check(graph, NULL), ERR_GRAPH_OUTPUT);
    graph_free(graph);
    assert_int_equal(graph_build_gemm(&graph, 128, 96, 64, f32, NULL), ERR_GRAPH_PRECISION);
    assert_int_equal(graph_build_gemm(&graph, 0, 96, 64, f16, NULL), ERR_GRAPH_SHAPE);
}

static void test_without_memory(void **state) {
    (void)state;
    Graph *graph = NULL;
    Status status = ERR_NO_MEMORY;
    for (uint64_t n = 1; status != STATUS_OK; n++) {
        Diag diag = {0};
        mem_fail_after(n);
        status = graph_build_gemm(&graph, 4, 4, 4, f16, &diag);
        mem_fail_after(0);
        assert_int_equal(diag_status(&diag), status);
        if (status != STATUS_OK)
            assert_int_equal(status, ERR_NO_MEMORY);
        diag_free(&diag);
    }
    graph_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gemm_shapes),     cmocka_unit_test(test_gemm_extents),
        cmocka_unit_test(test_gemm_precisions), cmocka_unit_test(test_transpose_is_proposed),
        cmocka_unit_test(test_casts),           cmocka_unit_test(test_types),
        cmocka_unit_test(test_names),           cmocka_unit_test(test_whole_graph),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
