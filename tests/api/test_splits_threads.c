/* Whole chain on random products with inner parts, forced grids and inputs that lie on the chip:
 * compile, verify, run, read back; every value equals the twin's, or the product is refused and the
 * brute force finds no choice for the forced grid (for any grid where none is forced) that fits,
 * with the rows of its exchanges and what owners of sums receive. */
#include "products.h"

#include "compile/brute_force.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { FEW_ROUNDS = 12 };
#else
enum { FEW_ROUNDS = 48 };
#endif

typedef struct Case {
    uint32_t rows, inner, columns;
    bool f8, forced;
    PlanForce force;
    PlanOptions options;
} Case;

static uint32_t below(Random *random, uint32_t bound) {
    return (uint32_t)random_below(random, bound);
}

static uint32_t pick_extent(Random *random, uint32_t most) {
    static const uint32_t edges[] = {1, 15, 16, 17, 31, 32, 33, 63, 65};
    return below(random, 3) == 0 ? edges[below(random, COUNT_OF(edges))] : 1 + below(random, most);
}

/* Operands and result fill few tiles by 40 to 110 %. */
static void fill_tiles(Case *c, Random *random) {
    c->options.tiles = 1 + below(random, 6);
    double budget = 586000.0 * c->options.tiles * (0.4 + 0.7 * below(random, 1000) / 1000.0);
    double bytes = c->f8 ? 1 : 2, left = bytes * c->rows * c->inner;
    double columns = (budget - left) / (bytes * c->inner + 2.0 * c->rows);
    c->columns = columns < 1 ? 1 : columns > 4000 ? 4000 : (uint32_t)columns;
}

static Case pick_case(Random *random, int round) {
    static const uint32_t tiles[] = {1, 2, 3, 7, 64, 271, 600, CHIP_TILES};
    Case c = {.rows = pick_extent(random, 300),
              .inner = pick_extent(random, 900),
              .columns = pick_extent(random, 500),
              .f8 = below(random, 3) > 0,
              .forced = round % 3 > 0};
    c.options = (PlanOptions){.tiles = tiles[below(random, COUNT_OF(tiles))],
                              .device_input = round & 1,
                              .max_copies = below(random, 3) == 0 ? 1 + below(random, 4) : 0,
                              .cast = (PlanCastPolicy)below(random, 3)};
    if (round % 16 == 7 || round % 16 == 10)
        fill_tiles(&c, random);
    /* Parts of seven rows are pieces of 28 pairs of words. */
    if (round % 8 == 5)
        c.rows = 7 * (1 + below(random, 20));
    c.force = random_grid(random, c.rows, c.inner, c.columns, c.options.tiles, c.f8 ? 32 : 16);
    if (round % 8 == 5 && !c.force.swapped && c.rows / 7 <= c.options.tiles) {
        c.force.rows = c.rows / 7;
        c.force.inner = MIN_OF(c.force.inner, c.options.tiles / c.force.rows);
        c.force.columns = MIN_OF(c.force.columns, c.options.tiles / c.force.rows / c.force.inner);
    }
    return c;
}

static void tell(const Case *c, char story[240]) {
    char grid[64] = "free";
    if (c->forced)
        snprintf(grid, sizeof grid, "%u,%u,%u%s", c->force.rows, c->force.columns, c->force.inner,
                 c->force.swapped ? ",swapped" : "");
    snprintf(story, 240, "%u x %u x %u on %u tiles, f8 %d, device %d, copies %u, cast %d, grid %s",
             c->rows, c->inner, c->columns, c->options.tiles, c->f8, c->options.device_input,
             c->options.max_copies, (int)c->options.cast, grid);
}

static TwStatus compile(TwContext *context, const TwGraph *graph, const TwWeights *weights,
                        const Case *c, TwPackage **package) {
    char text[64];
    const char *grid = text;
    snprintf(text, sizeof text, "y=%u,%u,%u%s", c->force.rows, c->force.columns, c->force.inner,
             c->force.swapped ? ",swapped" : "");
    TwCompileOptions options = {.tiles = c->options.tiles,
                                .max_copies = c->options.max_copies,
                                .grids = &grid,
                                .grid_count = c->forced,
                                .device_input = c->options.device_input,
                                .cast = (TwCastPolicy)c->options.cast};
    return tw_compile(context, graph, weights, &options, package, NULL);
}

typedef struct Tally {
    int compiled, split, device, device_refused, refused;
} Tally;

static void check_case(TwContext *context, const Case *c, uint64_t seed, Tally *tally) {
    TwGraph *graph;
    TwWeights *weights;
    TwPackage *package;
    char story[240];
    tell(c, story);
    TwPrecision operand = c->f8 ? (TwPrecision){TW_F8F143, -4} : (TwPrecision){TW_F16, 0};
    TwStatus status = (c->options.device_input ? tw_graph_device_gemm : tw_graph_gemm)(
        context, c->rows, c->inner, c->columns, operand, &graph);
    assert_int_equal(status, 0);
    assert_int_equal(tw_weights_generate(context, graph, seed, 0, &weights), 0);
    status = compile(context, graph, weights, c, &package);
    if (status == 0) {
        product_check(context, graph, weights, package, seed, story);
        tally->compiled++;
        tally->device += c->options.device_input;
        tally->split += strstr(tw_package_note(package, "plan"), "step reduce") != NULL;
        tw_package_free(package);
    } else {
        tally->refused++;
        tally->device_refused += c->options.device_input;
        ForceVerdict verdict = c->forced ? grid_fits(graph->graph, &c->options, c->force)
                                         : best_grid(graph->graph, &c->options);
        if (tw_exit_code(status) != EXIT_CLASS_NOFIT || verdict == FORCE_WHOLE) {
            tw_print_messages(context, stderr);
            fail_msg("%s: refused with %s", story, tw_code(status));
        }
    }
    tw_clear_messages(context);
    tw_weights_free(weights);
    tw_graph_free(graph);
}

static void test_random_splits(void **state) {
    (void)state;
    uint64_t seed = 30303;
    print_message("seed %llu\n", (unsigned long long)seed);
    Random random = random_seed(seed);
    int rounds = getenv("TW_TEST_ALL") ? 320 : FEW_ROUNDS;
    Tally tally = {0};
    TwContext *context = tw_open(2);
    for (int round = 0; round < rounds; round++) {
        Case c = pick_case(&random, round);
        check_case(context, &c, seed + (uint64_t)round, &tally);
    }
    print_message("%d compiled, %d of them with inner parts, %d with the input on the chip; %d "
                  "refused, %d with the input on the chip\n",
                  tally.compiled, tally.split, tally.device, tally.refused, tally.device_refused);
    assert_true(tally.split > rounds / 4 && tally.device > rounds / 3);
    assert_true(tally.device + tally.device_refused == rounds / 2);
    tw_close(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_splits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
