/* Text of plans, grids and explanations. */
#include "testing.h"

#include "base/mem.h"
#include "base/random.h"
#include "chip/chip.h"
#include "plan/search.h"

#include <stdlib.h>
#include <string.h>

static Graph *example(uint32_t rows, uint32_t inner, uint32_t columns) {
    Graph *graph;
    Precision precision = {PRECISION_F8F143, -4};
    assert_int_equal(graph_build_gemm(&graph, rows, inner, columns, precision, NULL), STATUS_OK);
    return graph;
}

static char *text_of(const Graph *graph, uint32_t tiles, size_t candidate) {
    PlanSearch search;
    PlanOptions options = {.tiles = tiles};
    assert_int_equal(plan_search(graph, &options, &search, NULL), STATUS_OK);
    assert_true(candidate < search.count);
    Plan plan;
    assert_int_equal(plan_build(&search, &search.candidates[candidate], &plan, NULL), STATUS_OK);
    char *text = plan_print(graph, &plan);
    assert_non_null(text);
    plan_free(&plan);
    plan_search_free(&search);
    return text;
}

static void test_round_trip(void **state) {
    (void)state;
    Graph *graph = example(129, 100, 333);
    for (size_t i = 0; i < 400; i += 7) {
        char *text = text_of(graph, 60, i);
        Plan plan;
        assert_int_equal(plan_parse(text, "test", graph, &plan, NULL), STATUS_OK);
        char *again = plan_print(graph, &plan);
        assert_string_equal(text, again);
        plan_free(&plan);
        mem_free(again);
        mem_free(text);
    }
    graph_free(graph);
}

/* No changed character gives a plan that differs from what was printed. */
static void test_changes(void **state) {
    (void)state;
    Graph *graph = example(64, 96, 80);
    char *text = text_of(graph, 12, 0);
    size_t length = strlen(text);
    Random random = random_seed(8);
    for (size_t i = 0; i < length; i++) {
        char *changed = mem_strdup(text);
        changed[i] = (char)(32 + random_below(&random, 95));
        Plan plan;
        Status status = plan_parse(changed, "test", graph, &plan, NULL);
        if (status == STATUS_OK)
            assert_int_equal(changed[i], text[i]);
        else
            assert_true(status == ERR_PLAN_TEXT || status == ERR_PLAN_MISMATCH ||
                        status == ERR_PLAN_GRID || status == ERR_PLAN_TILES);
        plan_free(&plan);
        mem_free(changed);
    }
    for (size_t cut = 0; cut < length; cut++) {
        char *part = mem_strdup(text);
        part[cut] = 0;
        Plan plan;
        Status status = plan_parse(part, "test", graph, &plan, NULL);
        assert_true(status != STATUS_OK || cut == length - 1); /* the last newline may miss */
        plan_free(&plan);
        mem_free(part);
    }
    mem_free(text);
    graph_free(graph);
}

static void test_mismatch(void **state) {
    (void)state;
    Graph *graph = example(64, 96, 80), *other = example(64, 96, 96);
    char *text = text_of(graph, 12, 0);
    Plan plan;
    Diag diag;
    diag_init(&diag);
    assert_int_equal(plan_parse(text, "test", other, &plan, &diag), ERR_PLAN_MISMATCH);
    assert_int_equal(diag.entries[0].place.line, 3); /* other cycles */
    diag_free(&diag);
    assert_int_equal(plan_parse("plan tiles=3\n", "test", graph, &plan, NULL), ERR_PLAN_TEXT);
    assert_int_equal(plan_parse("plan", "test", graph, &plan, NULL), ERR_PLAN_TEXT);
    assert_int_equal(plan_parse("plan tiles=3\noperation z grid=1,1,1 weights=standard cycles=1\n",
                                "test", graph, &plan, NULL),
                     ERR_PLAN_TEXT);
    graph_free(graph);
    graph = example(4000, 4000, 4000);
    assert_int_equal(
        plan_parse("plan tiles=3\noperation y grid=1,3,1 weights=standard fast=columns "
                   "owners=1,1 left=3 right=1\n",
                   "test", graph, &plan, NULL),
        ERR_PLAN_GRID);
    mem_free(text);
    graph_free(graph);
    graph_free(other);
}

static void test_grid_text(void **state) {
    (void)state;
    PlanForce force;
    assert_int_equal(plan_force_parse("up.0=1,269,5", &force, NULL), STATUS_OK);
    assert_string_equal(force.operation, "up.0");
    assert_true(force.rows == 1 && force.columns == 269 && force.inner == 5 && !force.swapped);
    mem_free(force.operation);
    assert_int_equal(plan_force_parse("y=8,184,1,swapped", &force, NULL), STATUS_OK);
    assert_true(force.swapped);
    mem_free(force.operation);
    static const char *const bad[] = {
        "",          "y",        "=1,2,3",    "y=1,2",   "y=1,2,3,",     "y=1,2,x",
        "y=1,2,3,4", "y=-1,2,3", "y=1, 2, 3", "y=8x184", "y=1,2,3,swap", "y=1,2,12345678901234"};
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_int_equal(plan_force_parse(bad[i], &force, NULL), ERR_PLAN_GRID_TEXT);
}

static void test_explanation(void **state) {
    (void)state;
    Graph *graph = example(642, 120, 6625);
    PlanOptions options = {.tiles = CHIP_TILES};
    PlanSearch search;
    assert_int_equal(plan_search(graph, &options, &search, NULL), STATUS_OK);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    plan_explain(&search, 3, out);
    fclose(out);
    static const char *const wanted[] = {"%y: [642,120] x [120,6625] on at most 1472 tiles",
                                         "3 cheaper ones found no placement",
                                         "largest part:",
                                         "multiply logical values",
                                         "operand %x: ",
                                         "operand %w: ",
                                         ": in interleaved memory\n",
                                         " cycles, +0 bytes a tile: in standard memory\n",
                                         "%x: ",
                                         "%w: ",
                                         "next best grids",
                                         "normal, standard weights",
                                         "swapped, standard weights"};
    for (size_t i = 0; i < COUNT_OF(wanted); i++)
        assert_non_null(strstr(text, wanted[i]));
    free(text);
    plan_search_free(&search);
    graph_free(graph);
}

/* What no search chooses is no plan, though it could be computed: a cast where there is none,
 * copies of what lies on the chip once. */
static void test_choices(void **state) {
    (void)state;
    static const char *const operands[][3] = {
        /* written by the search, refused, refused */
        {"left=3 right=1\n", "left=3,fast right=1\n", "left=3 right=1,half\n"},
        {"left=1 right=1\n", "left=3 right=1\n", "left=1,early right=1\n"},
    };
    static const char head[] = "plan tiles=8\n"
                               "operation h grid=1,3,1 weights=standard fast=columns owners=1,1 ";
    static const char next[] = "operation y grid=1,3,1 weights=standard fast=columns owners=1,1 ";
    static const char graph_text[] = "input %x \"x\" : f16[16,48]\n"
                                     "parameter %w \"w\" : f16[48,48]\n"
                                     "parameter %v \"v\" : f16[48,48]\n"
                                     "%h = gemm %x, %w : f16[16,48]\n"
                                     "%y = gemm %h, %v : f16[16,48]\n"
                                     "output %y \"y\"\n";
    Graph *graph;
    assert_int_equal(graph_parse(graph_text, strlen(graph_text), "test", &graph, NULL), STATUS_OK);
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            char *text = mem_printf("%s%s%s%s", head, operands[0][a], next, operands[1][b]);
            Plan plan;
            Diag diag;
            diag_init(&diag);
            Status status = plan_parse(text, "test", graph, &plan, &diag);
            /* The choices are good; the rest of the text is missing. */
            assert_int_equal(status, a + b == 0 ? ERR_PLAN_MISMATCH : ERR_PLAN_TEXT);
            assert_int_equal(diag.entries[0].place.line, a > 0 ? 2 : 3 + (b == 0));
            plan_free(&plan);
            diag_free(&diag);
            mem_free(text);
        }
    graph_free(graph);
}

/* An early cast that was chosen and cannot be done is told as what is done. */
static void test_explained_casts(void **state) {
    (void)state;
    Graph *graph;
    GraphMlp mlp = {.tokens = 40,
                    .width = 64,
                    .hidden = 96,
                    .blocks = 1,
                    .batch = 1,
                    .operand = {PRECISION_F8F143, -4}};
    assert_int_equal(graph_build_mlp(&graph, &mlp, NULL), STATUS_OK);
    PlanOptions options = {.tiles = 16};
    PlanForce force = {.operation = (char[]){"up"}, .rows = 2, .columns = 6, .inner = 1};
    options.forces = &force;
    options.force_count = 1;
    PlanSearch search;
    assert_int_equal(plan_search(graph, &options, &search, NULL), STATUS_OK);
    static const char *const wanted[] = {
        "so it is cast where it is used", /* parts of 16 columns are no whole panels */
        "and cast by the same kernel",    /* but half ones */
        "cast where it is used",
    };
    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        OperandChoice *left = &((GemmChoice *)search.candidates[0].choices)[1].operands[0];
        *left = (OperandChoice){.copies = 1, .early = i < 2, .fast = true, .half = i == 1};
        char *text = NULL;
        size_t size;
        FILE *out = open_memstream(&text, &size);
        assert_non_null(out);
        plan_explain(&search, 0, out);
        fclose(out);
        assert_non_null(strstr(text, wanted[i]));
        assert_int_equal(strstr(text, wanted[0]) != NULL, i == 0);
        free(text);
    }
    plan_search_free(&search);
    graph_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),      cmocka_unit_test(test_changes),
        cmocka_unit_test(test_choices),         cmocka_unit_test(test_mismatch),
        cmocka_unit_test(test_grid_text),       cmocka_unit_test(test_explanation),
        cmocka_unit_test(test_explained_casts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
