/* The search: every grid is there, with the price and bytes of its slowest and fullest tile, and
 * the order is total. */
#include "testing.h"

#include "base/mem.h"
#include "base/random.h"
#include "chip/chip.h"
#include "kernel/step.h"
#include "plan/search.h"

#include <stdlib.h>
#include <string.h>

static uint32_t below(Random *random, uint32_t bound) {
    return (uint32_t)random_below(random, bound);
}

static Graph *gemm_graph(uint32_t rows, uint32_t inner, uint32_t columns, Precision precision,
                         bool transpose_left, bool transpose_right) {
    Graph *graph;
    assert_int_equal(graph_create(&graph, NULL), STATUS_OK);
    Shape left = {2, {rows, inner}}, right = {2, {inner, columns}};
    if (transpose_left)
        left = (Shape){2, {inner, rows}};
    if (transpose_right)
        right = (Shape){2, {columns, inner}};
    uint32_t x, w, y;
    assert_int_equal(graph_add_input(graph, "x", "x", precision, left, &x, NULL), STATUS_OK);
    assert_int_equal(graph_add_parameter(graph, "w", "w", precision, right, &w, NULL), STATUS_OK);
    assert_int_equal(graph_add_gemm(graph, "y", x, w, transpose_left, transpose_right, &y, NULL),
                     STATUS_OK);
    assert_int_equal(graph_add_output(graph, "y", y, NULL), STATUS_OK);
    return graph;
}

static Precision f8(int scale) {
    return (Precision){PRECISION_F8F143, (int8_t)scale};
}

static const Precision f16 = {PRECISION_F16, 0};

/* Price and bytes from every single tile of the whole plan. */
static void check_candidate(const PlanSearch *search, const PlanCandidate *candidate) {
    Plan plan;
    assert_int_equal(plan_build(search, candidate, &plan, NULL), STATUS_OK);
    uint64_t slowest = 0, fullest = 0, total = 0;
    uint32_t used = plan_tiles_used(&plan);
    assert_int_equal(used, candidate_tiles(candidate));
    assert_int_equal(plan.step_count, 1);
    const PlanStep *step = &plan.steps[0];
    assert_int_equal(step->kind, PLAN_GEMM);
    for (uint32_t tile = 0; tile < used; tile++) {
        PlanCall call;
        assert_int_equal(plan_call_count(search->graph, &plan, step, tile), 1);
        plan_call(search->graph, &plan, step, tile, 0, &call);
        assert_int_equal(kernel_check(&call.spec, NULL), STATUS_OK);
        slowest = MAX_OF(slowest, kernel_step_cycles(&call.spec, call.scalars, 0));
        KernelInterface interface;
        kernel_interface(&call.spec, &interface);
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < interface.operand_count; i++) {
            const PlanValue *value = &plan.values[call.operands[i].value];
            assert_int_equal(call.operands[i].offset, 0);
            assert_int_equal(plan_tile_bytes(&plan, call.operands[i].value, tile),
                             interface.operands[i].bytes);
            assert_int_equal(value->format.memory_class, interface.operands[i].memory_class);
            bytes += interface.operands[i].bytes;
        }
        total += bytes;
        fullest = MAX_OF(fullest, bytes);
    }
    assert_int_equal(plan_call_count(search->graph, &plan, step, used), 0);
    assert_true(slowest == candidate->cycles && slowest == plan.predicted_cycles);
    assert_true(fullest == candidate->tile_bytes);
    assert_true(total == candidate->total_bytes);
    uint64_t stored = 0;
    for (uint32_t i = 0; i < plan.value_count; i++)
        stored += plan.values[i].total_bytes;
    assert_true(stored == total);
    for (int i = 0; i < 2; i++) {
        int left = candidate->gemm.swapped ? 1 : 0;
        assert_int_equal(plan_copies(&plan, (uint32_t)i),
                         i == left ? candidate->gemm.columns : candidate->gemm.rows);
    }
    plan_free(&plan);
}

static const PlanCandidate *find(const PlanSearch *search, GemmChoice choice) {
    for (size_t i = 0; i < search->count; i++) {
        const GemmChoice *at = &search->candidates[i].gemm;
        if (at->rows == choice.rows && at->columns == choice.columns && at->inner == 1 &&
            at->swapped == choice.swapped && at->weights == choice.weights)
            return &search->candidates[i];
    }
    return NULL;
}

/* All grids that exist, counted by plain loops, are candidates or have a part beyond a kernel. */
static void check_complete(const PlanSearch *search, uint32_t rows, uint32_t columns) {
    uint64_t grids = 0;
    for (uint32_t swapped = 0; swapped < 2; swapped++)
        for (uint32_t weights = 0; weights < 2; weights++)
            for (uint32_t r = 1; r <= search->options.tiles; r++)
                for (uint32_t c = 1; r * c <= search->options.tiles; c++) {
                    uint32_t m = swapped ? columns : rows, n = swapped ? rows : columns;
                    if (r > m || c > (n + 15) / 16)
                        continue;
                    grids++;
                    GemmChoice choice = {.rows = r,
                                         .columns = c,
                                         .swapped = swapped,
                                         .weights = (MemoryClass)weights};
                    const PlanCandidate *found = find(search, choice);
                    assert_non_null(found); /* small shapes: kernels take all */
                    assert_true(found->cycles >= search->candidates[0].cycles);
                    check_candidate(search, found);
                }
    assert_true(grids == search->grids && grids == search->count);
}

static void test_every_grid(void **state) {
    (void)state;
    uint64_t seed = 1234;
    print_message("seed %llu\n", (unsigned long long)seed);
    Random random = random_seed(seed);
    static const uint32_t edges[] = {1, 15, 16, 17, 31, 32, 33};
    int rounds = getenv("TW_TEST_ALL") ? 200 : 12;
    for (int round = 0; round < rounds; round++) {
        uint32_t extents[3];
        for (int i = 0; i < 3; i++)
            extents[i] = below(&random, 2) ? edges[below(&random, COUNT_OF(edges))]
                                           : 1 + below(&random, 200);
        Precision precision = below(&random, 2) ? f16 : f8(-4);
        Graph *graph = gemm_graph(extents[0], extents[1], extents[2], precision, below(&random, 2),
                                  below(&random, 2));
        PlanOptions options = {.tiles = 1 + below(&random, 24), .no_exchange = true};
        PlanSearch search;
        assert_int_equal(plan_search(graph, &options, &search, NULL), STATUS_OK);
        check_complete(&search, extents[0], extents[2]);
        plan_search_free(&search);
        graph_free(graph);
    }
}

static bool ordered(const PlanCandidate *a, const PlanCandidate *b) {
    const uint64_t x[] = {a->cycles,       a->total_bytes, a->gemm.rows * a->gemm.columns,
                          a->gemm.swapped, a->gemm.rows,   1 - (uint64_t)a->gemm.weights};
    const uint64_t y[] = {b->cycles,       b->total_bytes, b->gemm.rows * b->gemm.columns,
                          b->gemm.swapped, b->gemm.rows,   1 - (uint64_t)b->gemm.weights};
    for (size_t i = 0; i < COUNT_OF(x); i++)
        if (x[i] != y[i])
            return x[i] < y[i];
    return false;
}

/* The whole chip: a strict order, samples priced exactly, the published grids among them. */
static void test_whole_chip(void **state) {
    (void)state;
    Graph *graph = gemm_graph(729, 1152, 4304, f8(-4), false, false);
    PlanOptions options = {.tiles = CHIP_TILES, .no_exchange = true};
    PlanSearch search;
    assert_int_equal(plan_search(graph, &options, &search, NULL), STATUS_OK);
    assert_true(search.count > 10000);
    for (size_t i = 1; i < search.count; i++)
        assert_true(ordered(&search.candidates[i - 1], &search.candidates[i]));
    for (size_t i = 0; i < search.count; i += search.count / 20)
        check_candidate(&search, &search.candidates[i]);
    /* ipu-stack's fused projections store 16 or 32 copies of 736 padded tokens in this grid. */
    GemmChoice choice = {.rows = 32, .columns = 46, .swapped = true, .weights = MEMORY_INTERLEAVED};
    const PlanCandidate *tokens = find(&search, choice);
    assert_non_null(tokens);
    Plan plan;
    assert_int_equal(plan_build(&search, tokens, &plan, NULL), STATUS_OK);
    assert_true(plan.values[0].total_bytes == 27131904);
    assert_true(plan.values[1].total_bytes == 46 * UINT64_C(4958208));
    plan_free(&plan);
    assert_non_null(find(&search, (GemmChoice){.rows = 5, .columns = 269}));
    assert_null(find(&search, (GemmChoice){.rows = 5, .columns = 270}));
    plan_search_free(&search);
    graph_free(graph);
}

/* Too large for any kernel: no candidates, and the grid that is nearest. */
static void test_hopeless(void **state) {
    (void)state;
    Graph *graph = gemm_graph(729, 1152, 4304, f8(-4), false, false);
    PlanOptions options = {.tiles = 7, .no_exchange = true};
    PlanSearch search;
    assert_int_equal(plan_search(graph, &options, &search, NULL), STATUS_OK);
    assert_int_equal(search.count, 0);
    assert_true(search.grids > 0);
    uint64_t least = UINT64_MAX; /* over both orientations, in plain arithmetic */
    for (uint64_t r = 1; r <= 7; r++)
        for (uint64_t c = 1; r * c <= 7; c++)
            for (int swapped = 0; swapped < 2; swapped++) {
                uint64_t rows = div_up(swapped ? 4304 : 729, r);
                uint64_t columns = align_up(div_up(swapped ? 729 : 4304, 16), c) / c * 16;
                least = MIN_OF(least, rows * 1152 + columns * 1152 + rows * columns * 2);
            }
    assert_true(search.least.tile_bytes == least);
    plan_search_free(&search);
    graph_free(graph);
}

static Status search_with(const Graph *graph, const PlanOptions *options, PlanSearch *search) {
    Status status = plan_search(graph, options, search, NULL);
    if (status)
        plan_search_free(search);
    return status;
}

static void test_forced(void **state) {
    (void)state;
    Graph *graph = gemm_graph(100, 64, 80, f16, false, false);
    PlanForce force = {(char[]){"y"}, 3, 5, 1, false};
    PlanOptions options = {.tiles = 15, .forces = &force, .force_count = 1};
    PlanSearch search;
    assert_int_equal(search_with(graph, &options, &search), STATUS_OK);
    assert_int_equal(search.count, 2); /* both classes of weights */
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(search.candidates[i].gemm.rows, 3);
        assert_int_equal(search.candidates[i].gemm.columns, 5);
        check_candidate(&search, &search.candidates[i]);
    }
    plan_search_free(&search);
    options.tiles = 14;
    assert_int_equal(search_with(graph, &options, &search), ERR_PLAN_GRID);
    options.tiles = 200;
    force.columns = 6; /* five groups of 16 columns */
    assert_int_equal(search_with(graph, &options, &search), ERR_PLAN_GRID);
    force = (PlanForce){(char[]){"y"}, 3, 5, 5, false}; /* four panels of 16 */
    assert_int_equal(search_with(graph, &options, &search), ERR_PLAN_GRID);
    force = (PlanForce){(char[]){"y"}, 0, 5, 1, false};
    assert_int_equal(search_with(graph, &options, &search), ERR_PLAN_GRID);
    force = (PlanForce){(char[]){"y"}, 80, 2, 1, true}; /* swapped: 80 rows, 7 groups */
    assert_int_equal(search_with(graph, &options, &search), STATUS_OK);
    plan_search_free(&search);
    force.operation = (char[]){"gemm"}; /* the only one */
    assert_int_equal(search_with(graph, &options, &search), STATUS_OK);
    plan_search_free(&search);
    force.operation = (char[]){"z"};
    assert_int_equal(search_with(graph, &options, &search), ERR_PLAN_GRID);
    PlanForce twice[] = {{(char[]){"y"}, 3, 5, 1, false}, {(char[]){"y"}, 3, 5, 1, true}};
    options.forces = twice;
    options.force_count = 2;
    assert_int_equal(search_with(graph, &options, &search), ERR_PLAN_GRID);
    graph_free(graph);
}

/* Products that are alike take one choice, so their grids may not differ in any part. */
static void test_forced_products(void **state) {
    (void)state;
    GraphMlp mlp = {.tokens = 20,
                    .width = 64,
                    .hidden = 64,
                    .blocks = 3,
                    .batch = 1,
                    .device_input = true,
                    .operand = f16};
    Graph *repeated, *graph;
    assert_int_equal(graph_build_mlp(&repeated, &mlp, NULL), STATUS_OK);
    assert_int_equal(graph_expand(repeated, &graph, NULL), STATUS_OK);
    PlanForce forces[] = {{(char[]){"up.0"}, 2, 2, 1, false}, {(char[]){"up.1"}, 2, 2, 1, false}};
    PlanOptions options = {.tiles = 8, .device_input = true, .forces = forces, .force_count = 2};
    PlanSearch search;
    assert_int_equal(search_with(graph, &options, &search), STATUS_OK);
    plan_search_free(&search);
    forces[1].inner = 2;
    assert_int_equal(search_with(graph, &options, &search), ERR_PLAN_GRID);
    forces[1] = (PlanForce){(char[]){"up.1"}, 2, 2, 1, true};
    assert_int_equal(search_with(graph, &options, &search), ERR_PLAN_GRID);
    forces[1] = (PlanForce){(char[]){"up"}, 2, 50, 1, false};
    options.forces = &forces[1];
    options.force_count = 1;
    assert_int_equal(search_with(graph, &options, &search), ERR_PLAN_GRID);
    graph_free(graph);
    graph_free(repeated);
}

/* Copies of a parameter are limited, those of an input are not; what is missing is multicast. */
static void test_copies(void **state) {
    (void)state;
    Graph *graph = gemm_graph(100, 64, 80, f16, false, false);
    PlanOptions options = {.tiles = 40, .max_copies = 3, .complete = true};
    PlanSearch search;
    assert_int_equal(search_with(graph, &options, &search), STATUS_OK);
    bool wide = false, moved = false;
    for (size_t i = 0; i < search.count; i += 7) {
        Plan plan;
        assert_int_equal(plan_build(&search, &search.candidates[i], &plan, NULL), STATUS_OK);
        assert_true(plan_copies(&plan, 1) <= 3);
        wide |= plan_copies(&plan, 0) > 3;
        moved |= plan.steps[0].kind == PLAN_EXCHANGE;
        plan_free(&plan);
    }
    assert_true(wide && moved);
    plan_search_free(&search);
    options.tiles = 0;
    assert_int_equal(search_with(graph, &options, &search), ERR_PLAN_TILES);
    options.tiles = CHIP_TILES + 1;
    assert_int_equal(search_with(graph, &options, &search), ERR_PLAN_TILES);
    graph_free(graph);
}

/* For every grid of every kind, forced, there is a candidate in the free search that costs no more
 * and takes no more memory. */
static void check_dominated(const Graph *graph, const PlanOptions *free_options,
                            const PlanSearch *search, PlanForce force) {
    PlanOptions options = *free_options;
    options.forces = &force;
    options.force_count = 1;
    PlanSearch forced;
    if (search_with(graph, &options, &forced))
        return;
    for (size_t i = 0; i < forced.count; i++) {
        const PlanCandidate *wanted = &forced.candidates[i];
        bool found = false;
        for (size_t k = 0; k < search->count && !found; k++) {
            const PlanCandidate *other = &search->candidates[k];
            found = other->cycles <= wanted->cycles && other->tile_bytes <= wanted->tile_bytes &&
                    other->interleaved <= wanted->interleaved;
        }
        if (!found)
            fail_msg("grid %u,%u,%u%s is left out", force.rows, force.columns, force.inner,
                     force.swapped ? ",swapped" : "");
        assert_true(wanted->tile_bytes >= search->least.tile_bytes);
    }
    plan_search_free(&forced);
}

static void test_complete(void **state) {
    (void)state;
    uint64_t seed = 4711;
    print_message("seed %llu\n", (unsigned long long)seed);
    Random random = random_seed(seed);
    int rounds = getenv("TW_TEST_ALL") ? 60 : 6;
    for (int round = 0; round < rounds; round++) {
        bool device = below(&random, 2);
        uint32_t rows = 1 + below(&random, 40), inner = 1 + below(&random, 200),
                 columns = 1 + below(&random, 60);
        Precision precision = below(&random, 2) ? f16 : f8(-4);
        Graph *graph;
        assert_int_equal(
            device ? graph_build_device_gemm(&graph, rows, inner, columns, precision, NULL)
                   : graph_build_gemm(&graph, rows, inner, columns, precision, NULL),
            STATUS_OK);
        PlanOptions options = {.tiles = 1 + below(&random, 20),
                               .device_input = device,
                               .complete = true,
                               .max_copies = below(&random, 2) ? 1 + below(&random, 3) : 0};
        PlanSearch search;
        assert_int_equal(plan_search(graph, &options, &search, NULL), STATUS_OK);
        assert_false(search.left_out);
        for (uint32_t r = 1; r <= options.tiles; r++)
            for (uint32_t c = 1; r * c <= options.tiles; c++)
                for (uint32_t k = 1; r * c * k <= options.tiles; k++)
                    for (int swapped = 0; swapped < 2; swapped++)
                        check_dominated(graph, &options, &search,
                                        (PlanForce){(char[]){"y"}, r, c, k, swapped});
        /* Leaving out what is far costs nothing. */
        PlanSearch near;
        options.complete = false;
        assert_int_equal(plan_search(graph, &options, &near, NULL), STATUS_OK);
        assert_true(near.candidates[0].cycles == search.candidates[0].cycles);
        plan_search_free(&near);
        plan_search_free(&search);
        graph_free(graph);
    }
}

/* What the published stack stores of a fused projection: weights 46 times. */
static void test_published(void **state) {
    (void)state;
    Graph *graph;
    assert_int_equal(graph_build_gemm(&graph, 729, 1152, 3456, f8(-4), NULL), STATUS_OK);
    PlanForce force;
    assert_int_equal(plan_force_parse("gemm=16,46,2,swapped", &force, NULL), STATUS_OK);
    PlanOptions options = {.tiles = CHIP_TILES, .forces = &force, .force_count = 1};
    PlanSearch search;
    assert_int_equal(plan_search(graph, &options, &search, NULL), STATUS_OK);
    Plan plan;
    assert_int_equal(plan_build(&search, &search.candidates[0], &plan, NULL), STATUS_OK);
    assert_true(plan.values[1].total_bytes == 183140352);
    assert_int_equal(plan_copies(&plan, 1), 46);
    assert_int_equal(plan_tiles_used(&plan), 1472);
    plan_free(&plan);
    plan_search_free(&search);
    mem_free(force.operation);
    graph_free(graph);
}

/* A device input is F16, once, in pieces that differ little. */
static void test_device_format(void **state) {
    (void)state;
    static const uint32_t cases[][4] = {{729, 1152, 32, 1472}, {729, 4304, 32, 1472},
                                        {1, 1, 16, 1},         {37, 100, 32, 64},
                                        {5, 3000, 16, 7},      {200, 16, 32, 1000}};
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (int transposed = 0; transposed < 2; transposed++) {
            Shape shape = {2, {cases[i][transposed], cases[i][1 - transposed]}};
            Format format = plan_device_format(&shape, transposed, cases[i][2], cases[i][3]);
            assert_int_equal(format_check(&format, &shape, NULL), STATUS_OK);
            assert_int_equal(format.replicas, 1);
            assert_int_equal(format.precision.kind, PRECISION_F16);
            assert_true(format.tile_count <= cases[i][3]);
            uint64_t total = format_total_bytes(&format, &shape);
            uint64_t widest = format_widest_bytes(&format, &shape);
            assert_true(total == 2 * align_up(cases[i][0], 16) * align_up(cases[i][1], 16));
            /* No grid of rows and groups has a much smaller largest piece. */
            for (uint32_t c = 1; c <= cases[i][3]; c++) {
                uint64_t groups = div_up(cases[i][1], cases[i][2]);
                uint64_t most = div_up(align_up(cases[i][0], 16), cases[i][3] / c);
                uint64_t piece = 2 * most * div_up(groups, c) * cases[i][2];
                assert_true(widest <= piece + piece / 8);
            }
        }
}

static void expect_graph_error(const char *text) {
    Graph *graph;
    assert_int_equal(graph_parse(text, strlen(text), "test", &graph, NULL), STATUS_OK);
    PlanOptions options = {.tiles = 8};
    PlanSearch search;
    assert_int_equal(search_with(graph, &options, &search), ERR_PLAN_GRAPH);
    graph_free(graph);
}

static void test_graphs_not_covered(void **state) {
    (void)state;
    expect_graph_error("input %x \"x\" : f16[4,16]\noutput %x \"y\"\n");
    expect_graph_error("input %x \"x\" : f16[2,4,16]\ninput %w \"w\" : f16[16,16]\n"
                       "%y = gemm %x, %w : f16[2,4,16]\noutput %y \"y\"\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_grid),      cmocka_unit_test(test_whole_chip),
        cmocka_unit_test(test_hopeless),        cmocka_unit_test(test_forced),
        cmocka_unit_test(test_forced_products), cmocka_unit_test(test_copies),
        cmocka_unit_test(test_complete),        cmocka_unit_test(test_published),
        cmocka_unit_test(test_device_format),   cmocka_unit_test(test_graphs_not_covered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
