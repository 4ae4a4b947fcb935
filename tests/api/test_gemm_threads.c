/* Whole chain on random products: compile, run on the simulated chip, read back; every value equals
 * the twin's, or the product is refused and the brute force finds no grid that fits either. The
 * shapes are those where panels, groups and rows begin and end; both orientations are forced. */
#include "products.h"

#include "plan/search.h"

#include "compile/brute_force.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { FEW_ROUNDS = 9 };
#else
enum { FEW_ROUNDS = 30 };
#endif

typedef struct Case {
    uint32_t rows, inner, columns, tiles;
    bool f8;
    int orientation; /* 0 normal, 1 swapped, 2 as the planner likes */
} Case;

static uint32_t pick_extent(Random *random) {
    static const uint32_t edges[] = {1, 15, 16, 17, 31, 32, 33};
    if (random_below(random, 3) == 0)
        return edges[random_below(random, COUNT_OF(edges))];
    return 1 + (uint32_t)random_below(random, 700);
}

static Case pick_case(Random *random, int round) {
    static const uint32_t tiles[] = {1, 2, 7, 64, 271, 1472};
    return (Case){pick_extent(random), pick_extent(random),
                  pick_extent(random), tiles[random_below(random, COUNT_OF(tiles))],
                  round & 1,           round % 3};
}

/* The cheapest grid of an orientation, as text for TwCompileOptions; false if there is none. */
static bool cheapest_grid(const Graph *graph, const Case *c, char text[64]) {
    PlanOptions options = {.tiles = c->tiles};
    PlanSearch search;
    bool found = false;
    assert_int_equal(plan_search(graph, &options, &search, NULL), STATUS_OK);
    for (size_t i = 0; i < search.count && !found; i++) {
        const GemmChoice *choice = &search.candidates[i].gemm;
        found = choice->swapped == (c->orientation == 1);
        if (found)
            snprintf(text, 64, "y=%u,%u,%u%s", choice->rows, choice->columns, choice->inner,
                     choice->swapped ? ",swapped" : "");
    }
    plan_search_free(&search);
    return found;
}

/* Compiles; a forced grid that is refused gives way to the planner's choice. */
static TwStatus compile(TwContext *context, const TwGraph *graph, const TwWeights *weights,
                        const Case *c, TwPackage **package, bool *forced) {
    char text[64];
    const char *grid = text;
    TwCompileOptions options = {.tiles = c->tiles};
    if (c->orientation < 2 && cheapest_grid(graph->graph, c, text)) {
        options.grids = &grid;
        options.grid_count = 1;
        TwStatus status = tw_compile(context, graph, weights, &options, package, NULL);
        *forced = status == 0;
        if (status == 0)
            return status;
        assert_int_equal(tw_exit_code(status), EXIT_CLASS_NOFIT);
        options.grid_count = 0;
    }
    return tw_compile(context, graph, weights, &options, package, NULL);
}

/* Returns whether it was compiled; *forced: in the orientation asked for. */
static bool check_case(TwContext *context, const Case *c, uint64_t seed, bool *forced) {
    TwGraph *graph;
    TwWeights *weights;
    TwPackage *package;
    TwPrecision operand = c->f8 ? (TwPrecision){TW_F8F143, -4} : (TwPrecision){TW_F16, 0};
    assert_int_equal(tw_graph_gemm(context, c->rows, c->inner, c->columns, operand, &graph), 0);
    assert_int_equal(tw_weights_generate(context, graph, seed, 0, &weights), 0);
    TwStatus status = compile(context, graph, weights, c, &package, forced);
    tw_clear_messages(context);
    if (status != 0) {
        if (status != ERR_COMPILE_PROVED || any_grid_fits(graph->graph, c->tiles))
            fail_msg("%u x %u x %u on %u tiles, f8 %d: refused with %s", c->rows, c->inner,
                     c->columns, c->tiles, c->f8, tw_code(status));
    } else {
        char story[160];
        snprintf(story, sizeof story, "%u x %u x %u on %u tiles, f8 %d, orientation %d", c->rows,
                 c->inner, c->columns, c->tiles, c->f8, c->orientation);
        product_check(context, graph, weights, package, seed, story);
        tw_package_free(package);
    }
    tw_weights_free(weights);
    tw_graph_free(graph);
    return status == 0;
}

static void test_random_products(void **state) {
    (void)state;
    uint64_t seed = 20260;
    print_message("seed %llu\n", (unsigned long long)seed);
    Random random = random_seed(seed);
    int rounds = getenv("TW_TEST_ALL") ? 300 : FEW_ROUNDS, compiled = 0, forced_count = 0;
    TwContext *context = tw_open(2);
    for (int round = 0; round < rounds; round++) {
        Case c = pick_case(&random, round);
        bool forced = false;
        compiled += check_case(context, &c, seed + (uint64_t)round, &forced);
        forced_count += forced;
    }
    print_message("%d compiled, %d in a forced orientation, %d refused\n", compiled, forced_count,
                  rounds - compiled);
    assert_true(compiled > rounds / 2 && forced_count > rounds / 3);
    tw_close(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_products)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
