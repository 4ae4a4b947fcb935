/* MLPs whose hidden columns are computed in blocks, from compiling to the check of every value. */
#include "testing.h"

#include "api/api.h"
#include "base/random.h"

#include <string.h>

static TwStatus run(TwContext *context, const TwGraph *graph, unsigned tiles,
                    TwBenchReport *report) {
    TwBenchOptions options = {.compile.tiles = tiles, .seed = 5};
    TwStatus status = tw_bench(context, graph, &options, report);
    if (status == 0)
        status = tw_package_verify(context, report->package);
    if (status != 0)
        tw_print_messages(context, stderr);
    return status;
}

/* Weights that leave no room for whole copies of the hidden columns: blocks only where nothing else
 * fits. */
static void test_few_tiles(void **state) {
    (void)state;
    TwContext *context = tw_open(2);
    TwMlp mlp = {.tokens = 64,
                 .width = 128,
                 .hidden = 4096,
                 .blocks = 1,
                 .batch = 1,
                 .bias = true,
                 .residual = true,
                 .operand = {TW_F8F143, -4}};
    TwGraph *graph;
    assert_int_equal(tw_graph_mlp(context, &mlp, &graph), 0);
    static const unsigned tiles[] = {3, 16};
    for (size_t i = 0; i < COUNT_OF(tiles); i++) {
        TwBenchReport report;
        assert_int_equal(run(context, graph, tiles[i], &report), 0);
        assert_true(report.bit_exact && report.pass);
        const char *blocks = tw_package_note(report.package, "hidden blocks");
        const char *explained = tw_package_note(report.package, "explanation");
        assert_true((blocks != NULL) == (tiles[i] == 3));
        assert_true((strstr(explained, "hidden columns are computed in") != NULL) == !!blocks);
        assert_true((strstr(tw_package_note(report.package, "graph"), "weight[") != NULL) ==
                    !!blocks);
        tw_bench_free(&report);
    }
    tw_graph_free(graph);
    tw_close(context);
}

/* Cut whatever fits: the blocks of any shape are bit exact. */
static void test_random_shapes(void **state) {
    (void)state;
    enum { ROUNDS = 4, SEED = 9300 };
    print_message("seed %d\n", SEED);
    TwContext *context = tw_open(2);
    for (unsigned round = 0; round < ROUNDS; round++) {
        Random random = random_seed(SEED + round);
        GraphMlp mlp = {
            .tokens = 1 + (uint32_t)random_below(&random, 60),
            .width = 1 + (uint32_t)random_below(&random, 90),
            .hidden = 33 + (uint32_t)random_below(&random, 200),
            .blocks = 1 + round % 2,
            .batch = 1,
            .bias = round % 3 == 0,
            .residual = round % 2 == 0,
            .operand = {round % 3 ? PRECISION_F8F143 : PRECISION_F16, round % 3 ? -4 : 0}};
        Graph *whole, *expanded, *cut;
        assert_int_equal(graph_build_mlp(&whole, &mlp, NULL), STATUS_OK);
        assert_int_equal(graph_expand(whole, &expanded, NULL), STATUS_OK);
        assert_int_equal(
            graph_cut_hidden(expanded, 2 + (uint32_t)random_below(&random, 3), &cut, NULL),
            STATUS_OK);
        assert_non_null(cut);
        char *text = graph_print(cut);
        TwGraph *graph;
        TwBenchReport report;
        assert_int_equal(tw_graph_parse(context, text, strlen(text), "cut", &graph), 0);
        assert_int_equal(run(context, graph, 2 + (unsigned)random_below(&random, 6), &report), 0);
        if (!report.bit_exact)
            fail_msg("%s", text);
        tw_bench_free(&report);
        tw_graph_free(graph);
        mem_free(text);
        graph_free(whole);
        graph_free(expanded);
        graph_free(cut);
    }
    tw_close(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_few_tiles),
                                       cmocka_unit_test(test_random_shapes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
