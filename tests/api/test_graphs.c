/* Whole chain on random graphs: compiled, verified, run on the simulated chip; every value of every
 * output equals the twin's. Tiles are drawn by the bytes of what is live together: where one copy
 * of it takes at most half of the memory, nothing may be refused; beyond, a refusal has a code. */
#include "random_graph.h"

#include "api/api.h"
#include "chip/chip.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of a tile that are left for values beside the smallest program. */
enum { TILE_ROOM = 586960 };

typedef struct Tally {
    unsigned exact, refused, proved, wrong;
} Tally;

/* Tiles whose memory is at least `share` of what is live, or none if no chip has so much. */
static uint32_t tiles_for(uint64_t live, double share) {
    double tiles = ceil((double)live / share / TILE_ROOM);
    return tiles <= CHIP_TILES ? (uint32_t)tiles : 0;
}

/* Draws a graph that fits into the chip, and tiles: live bytes take `low` to `high` of the memory.
 */
static Graph *draw(Random *random, const RandomGraphOptions *options, double low, double high,
                   uint32_t *tiles) {
    for (;;) {
        Graph *graph = random_graph(random, options), *expanded = NULL;
        assert_int_equal(graph_expand(graph, &expanded, NULL), STATUS_OK);
        uint64_t live = random_graph_live(expanded);
        graph_free(expanded);
        uint32_t least = tiles_for(live, high);
        uint32_t most = low > 0 ? tiles_for(live, low) : CHIP_TILES;
        if (least > 0) {
            most = most ? MAX_OF(most, least) : CHIP_TILES;
            /* few tiles as often as many */
            double part = (double)random_below(random, 1001) / 1000;
            *tiles = (uint32_t)(least * pow((double)most / least, part));
            return graph;
        }
        graph_free(graph);
    }
}

/* Runs one graph; its text is shown if something is wrong. */
static void check_graph(TwContext *context, const Graph *graph, uint32_t tiles, uint64_t seed,
                        bool may_refuse, Tally *tally) {
    char *text = graph_print(graph);
    TwGraph *handle;
    TwBenchReport report;
    TwBenchOptions options = {.compile.tiles = tiles, .seed = seed};
    assert_int_equal(tw_graph_parse(context, text, strlen(text), "random", &handle), 0);
    TwStatus status = tw_bench(context, handle, &options, &report);
    if (status == 0)
        status = tw_package_verify(context, report.package);
    bool refused = status == ERR_COMPILE_PROVED || status == ERR_COMPILE_NOT_FOUND;
    if (status != 0 ? !(refused && may_refuse) : !report.bit_exact) {
        tw_print_messages(context, stderr);
        print_error("on %u tiles, seed %llu: status %s, %llu values differ\n%s", tiles,
                    (unsigned long long)seed, tw_code(status), (unsigned long long)report.differing,
                    text);
        tally->wrong++;
    } else {
        tally->exact += status == 0;
        tally->refused += refused;
    }
    tally->proved += status == ERR_COMPILE_PROVED;
    tw_clear_messages(context);
    tw_bench_free(&report);
    tw_graph_free(handle);
    mem_free(text);
}

/* Is a sweep asked for: by TW_TEST_ALL, or one seed or range of it by the variable called `name`,
 * "620010" or "620000-620049"? */
static bool asked_seeds(const char *name, uint64_t *seed, unsigned *rounds) {
    const char *text = getenv(name);
    if (!text)
        return getenv("TW_TEST_ALL") != NULL;
    char *end;
    *seed = strtoull(text, &end, 10);
    *rounds = *end == '-' ? (unsigned)(strtoull(end + 1, NULL, 10) - *seed) + 1 : 1;
    return true;
}

static Tally check_graphs(uint64_t seed, unsigned rounds, const RandomGraphOptions *options,
                          double low, double high) {
    print_message("seed %llu\n", (unsigned long long)seed);
    Tally tally = {0};
    TwContext *context = tw_open(2);
    for (unsigned round = 0; round < rounds; round++) {
        Random random = random_seed(seed + round);
        uint32_t tiles;
        Graph *graph = draw(&random, options, low, high, &tiles);
        check_graph(context, graph, tiles, seed + round, low > 0, &tally);
        graph_free(graph);
    }
    tw_close(context);
    print_message("%u bit exact, %u wrong, %u refused, %u of them proved\n", tally.exact,
                  tally.wrong, tally.refused, tally.proved);
    return tally;
}

static void test_small(void **state) {
    (void)state;
    RandomGraphOptions options = {.most = 90, .work = 1e6, .steps = 5};
    Tally tally = check_graphs(6100, 8, &options, 0, 0.25);
    assert_int_equal(tally.exact, 8);
}

/* One graph that must be bit exact. */
static void check_text(const char *text, uint32_t tiles) {
    Graph *graph;
    Tally tally = {0};
    assert_int_equal(graph_parse(text, strlen(text), "text", &graph, NULL), STATUS_OK);
    TwContext *context = tw_open(2);
    check_graph(context, graph, tiles, 1, false, &tally);
    tw_close(context);
    graph_free(graph);
    assert_int_equal(tally.exact, 1);
}

/* Products of few rows leave no whole panels along the axis along which they are cast for the next
 * one, in several places at once. */
static void test_narrow(void **state) {
    (void)state;
    static const char text[] = "input %x \"x\" : f8f143(s=-4)[8,31]\n"
                               "parameter %w0 \"w0\" : f8f143(s=-4)[31,32]\n"
                               "%p1 = gemm %x, %w0 : f16[8,32]\n"
                               "%c2 = cast %p1 : f8f143(s=-4)[8,32]\n"
                               "parameter %w3 \"w3\" : f8f143(s=-4)[31,32]\n"
                               "%p4 = gemm %c2, %w3 {transpose_right=true} : f16[8,31]\n"
                               "%c5 = cast %p4 : f8f143(s=-6)[8,31]\n"
                               "parameter %w6 \"w6\" : f8f143(s=-4)[31,32]\n"
                               "%p7 = gemm %c5, %w6 : f16[8,32]\n"
                               "%g8 = gelu %p7 : f16[8,32]\n"
                               "%c9 = cast %g8 : f8f143(s=-6)[8,32]\n"
                               "parameter %w10 \"w10\" : f8f143(s=-4)[40,32]\n"
                               "%p11 = gemm %c9, %w10 {transpose_right=true} : f16[8,40]\n"
                               "%c12 = cast %p11 : f8f143(s=-4)[8,40]\n"
                               "parameter %w13 \"w13\" : f8f143(s=-5)[11,40]\n"
                               "%p14 = gemm %c12, %w13 {transpose_right=true} : f16[8,11]\n"
                               "%c15 = cast %p14 : f8f143(s=-6)[8,11]\n"
                               "parameter %w16 \"w16\" : f8f143(s=-6)[8,32]\n"
                               "%p17 = gemm %c15, %w16 {transpose_left=true} : f16[11,32]\n"
                               "output %p17 \"y\"\n";
    check_text(text, 36);
}

/* Pairs of matrices, cast and transposed, one of them shared. */
static void test_batched(void **state) {
    (void)state;
    static const char text[] = "input %x \"x\" : f16[2,3,20,33]\n"
                               "%c = cast %x : f8f143(s=-4)[2,3,20,33]\n"
                               "parameter %w \"w\" : f8f143(s=-5)[3,40,33]\n"
                               "%h = gemm %c, %w {transpose_right=true} : f16[2,3,20,40]\n"
                               "parameter %v \"v\" : f16[2,1,20,17]\n"
                               "%y = gemm %h, %v {transpose_left=true} : f16[2,3,40,17]\n"
                               "output %y \"y\"\n";
    check_text(text, 30);
}

/* Sums whose operands' rows meet in turn: the same matrix for each of several, one row for each
 * matrix, both; before and after products of many pairs of matrices. */
static void test_sums_in_turn(void **state) {
    (void)state;
    static const char text[] = "input %x \"x\" : f16[2,3,20,33]\n"
                               "parameter %a \"a\" : f16[20,33]\n"
                               "%s = add %a, %x : f16[2,3,20,33]\n"
                               "parameter %w \"w\" : f16[3,33,24]\n"
                               "%h = gemm %s, %w : f16[2,3,20,24]\n"
                               "parameter %b \"b\" : f16[3,1,24]\n"
                               "%t = add %h, %b : f16[2,3,20,24]\n"
                               "%g = gelu %t : f16[2,3,20,24]\n"
                               "parameter %c \"c\" : f16[2,1,1,24]\n"
                               "%u = add %g, %c : f16[2,3,20,24]\n"
                               "output %t \"t\"\n"
                               "output %u \"y\"\n";
    check_text(text, 40);
    check_text(text, 1);
}

/* Matrices of codes with lines along their rows: more of them than tiles, and a sum of vectors on
 * parts that begin at any row. */
static void test_codes_on_few_tiles(void **state) {
    (void)state;
    static const char text[] = "input %x \"x\" : f8f143(s=-4)[5,21,37]\n"
                               "parameter %w \"w\" : f8f143(s=-5)[5,37,19]\n"
                               "%h = gemm %x, %w : f16[5,21,19]\n"
                               "parameter %v \"v\" : f8f143(s=-5)[5,21,9]\n"
                               "%y = gemm %x, %v {transpose_left=true} : f16[5,37,9]\n"
                               "output %h \"h\"\n"
                               "output %y \"y\"\n";
    check_text(text, 1);
    check_text(text, 3);
    check_text(text, 50);
}

/* Products of one input, whose phases are made one, and a sum of what lies in many copies. */
static void test_branches(void **state) {
    (void)state;
    static const char text[] = "input %x \"x\" : f16[64,96]\n"
                               "parameter %a \"a\" : f16[96,96]\n"
                               "parameter %b \"b\" : f16[96,96]\n"
                               "parameter %c \"c\" : f16[96,40]\n"
                               "%q = gemm %x, %a : f16[64,96]\n"
                               "%k = gemm %x, %b : f16[64,96]\n"
                               "%v = gemm %x, %c : f16[64,40]\n"
                               "%s = gemm %q, %k {transpose_right=true} : f16[64,64]\n"
                               "%y = gemm %s, %v : f16[64,40]\n"
                               "%z = add %q, %x : f16[64,96]\n"
                               "output %y \"y\"\n"
                               "output %z \"z\"\n";
    check_text(text, 1);
    check_text(text, 24);
    check_text(text, 300);
}

/* One vector, added to values that lie in parts of any number of rows and columns. */
static void test_shared_vector(void **state) {
    (void)state;
    static const char text[] = "input %x \"x\" : f16[45,31]\n"
                               "parameter %b \"b\" : f16[31]\n"
                               "parameter %w \"w\" : f16[31,31]\n"
                               "%s = add %x, %b : f16[45,31]\n"
                               "%p = gemm %s, %w : f16[45,31]\n"
                               "%q = add %p, %b : f16[45,31]\n"
                               "%g = gelu %q : f16[45,31]\n"
                               "parameter %v \"v\" : f16[17,45]\n"
                               "%r = gemm %v, %g : f16[17,31]\n"
                               "%t = add %r, %b : f16[17,31]\n"
                               "%y = gelu %t : f16[17,31]\n"
                               "output %y \"y\"\n";
    check_text(text, 70);
    check_text(text, 7);
}

/* A result of nearly half of the memory: there is no room for a copy of it, so the next product
 * takes it as it lies. */
static void test_result_in_place(void **state) {
    (void)state;
    static const char text[] = "input %x \"x\" : f8f143(s=-4)[721,24]\n"
                               "parameter %w \"w\" : f8f143(s=-5)[24,1048]\n"
                               "%h = gemm %x, %w : f16[721,1048]\n"
                               "parameter %v \"v\" : f16[1048,17]\n"
                               "%y = gemm %h, %v : f16[721,17]\n"
                               "parameter %u \"u\" : f16[9,721]\n"
                               "%z = gemm %u, %y : f16[9,17]\n"
                               "output %z \"z\"\n";
    check_text(text, 6);
}

/* Matrices of a result that takes nearly half of the memory: each goes there before the next one is
 * made. */
static void test_large_stack(void **state) {
    (void)state;
    static const char text[] = "input %x \"x\" : f16[4,5,382]\n"
                               "parameter %w \"w\" : f16[4,5,402]\n"
                               "%y = gemm %x, %w {transpose_left=true} : f16[4,382,402]\n"
                               "output %y \"y\"\n";
    check_text(text, 5);
}

static void test_with_room(void **state) {
    (void)state;
    uint64_t seed = 620000;
    unsigned rounds = 200;
    if (!asked_seeds("TW_TEST_SEEDS", &seed, &rounds))
        skip();
    RandomGraphOptions options = {.most = 1500, .work = 4e8, .batched = true, .steps = 7};
    Tally tally = check_graphs(seed, rounds, &options, 0, 0.5);
    assert_int_equal(tally.exact, rounds);
}

static void test_tight(void **state) {
    (void)state;
    uint64_t seed = 630000;
    unsigned rounds = 50;
    if (!asked_seeds("TW_TEST_TIGHT_SEEDS", &seed, &rounds))
        skip();
    RandomGraphOptions options = {.most = 1500, .work = 4e8, .batched = true, .steps = 7};
    Tally tally = check_graphs(seed, rounds, &options, 0.5, 1);
    assert_int_equal(tally.exact + tally.refused, rounds);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_small),
                                       cmocka_unit_test(test_narrow),
                                       cmocka_unit_test(test_batched),
                                       cmocka_unit_test(test_sums_in_turn),
                                       cmocka_unit_test(test_codes_on_few_tiles),
                                       cmocka_unit_test(test_shared_vector),
                                       cmocka_unit_test(test_branches),
                                       cmocka_unit_test(test_result_in_place),
                                       cmocka_unit_test(test_large_stack),
                                       cmocka_unit_test(test_with_room),
                                       cmocka_unit_test(test_tight)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
