/* The pass sequence: packages are sound and independent of threads, refusals are exact and name
 * what fits, no failed allocation is fatal. */
#include "testing.h"

#include "base/mem.h"
#include "base/random.h"
#include "chip/chip.h"
#include "compile/attempt.h"

#include <stdlib.h>
#include <string.h>

static uint32_t below(Random *random, uint32_t bound) {
    return (uint32_t)random_below(random, bound);
}

static Graph *gemm(uint32_t rows, uint32_t inner, uint32_t columns, bool f8) {
    Graph *graph;
    Precision precision = {f8 ? PRECISION_F8F143 : PRECISION_F16, f8 ? -4 : 0};
    assert_int_equal(graph_build_gemm(&graph, rows, inner, columns, precision, NULL), STATUS_OK);
    return graph;
}

/* Compiles with parameters that are all ones. */
static Status compile(const Graph *graph, const CompileOptions *options, unsigned threads,
                      CompileResult *result, Diag *diag) {
    const Shape *shape = &graph->values.items[1].shape;
    uint64_t count;
    assert_true(shape_count(shape, &count));
    uint8_t *codes = mem_alloc(count, 2);
    assert_non_null(codes);
    memset(codes, 0x38, count * 2);
    const void *parameters[] = {NULL, codes, NULL};
    Pool *pool = pool_create(threads);
    assert_non_null(pool);
    Status status = compile_graph(graph, parameters, options, pool, result, diag);
    pool_free(pool);
    mem_free(codes);
    return status;
}

static const char *note(const Package *package, const char *name) {
    for (size_t i = 0; i < package->notes.count; i++)
        if (strcmp(package->notes.items[i].name, name) == 0)
            return package->notes.items[i].text;
    return NULL;
}

static void test_package(void **state) {
    (void)state;
    Graph *graph = gemm(100, 70, 90, true);
    CompileOptions options = {.plan = {.tiles = 12}, .producer = "test"};
    CompileResult result;
    Diag diag;
    diag_init(&diag);
    Status status = compile(graph, &options, 2, &result, &diag);
    diag_print(&diag, stderr);
    assert_int_equal(status, STATUS_OK);
    assert_int_equal(package_check(result.package, &diag), STATUS_OK);
    assert_int_equal(package_verify(result.package, &diag), STATUS_OK);
    assert_int_equal(result.rejected, 0);
    assert_true(result.candidates > 20 && result.tiles_used <= 12);
    assert_true(result.predicted_cycles > 0 && result.total_seconds > 0);
    char *text = graph_print(graph);
    assert_string_equal(note(result.package, "graph"), text);
    mem_free(text);
    assert_non_null(strstr(note(result.package, "explanation"), "chosen: grid"));
    /* The plan in the package compiles to the same bytes. */
    Plan plan;
    assert_int_equal(plan_parse(note(result.package, "plan"), "note", graph, &plan, &diag),
                     STATUS_OK);
    assert_true(plan.predicted_cycles == result.predicted_cycles);
    options.given = &plan;
    CompileResult again;
    assert_int_equal(compile(graph, &options, 1, &again, &diag), STATUS_OK);
    assert_int_equal(again.package->segments.count, result.package->segments.count);
    assert_null(note(again.package, "explanation"));
    package_free(again.package);
    package_free(result.package);
    plan_free(&plan);
    diag_free(&diag);
    graph_free(graph);
}

static void test_threads(void **state) {
    (void)state;
    Graph *graph = gemm(90, 64, 333, false);
    CompileOptions options = {.plan = {.tiles = 100}, .producer = "test"};
    static const unsigned threads[] = {1, 2, 7};
    PackageDigest first = {{0}};
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        CompileResult result;
        assert_int_equal(compile(graph, &options, threads[i], &result, NULL), STATUS_OK);
        PackageDigest digest = package_digest(result.package);
        if (i == 0)
            first = digest;
        assert_memory_equal(&digest, &first, sizeof digest);
        package_free(result.package);
    }
    graph_free(graph);
}

static void test_dumps(void **state) {
    (void)state;
    Graph *graph = gemm(33, 32, 40, true);
    char *text[4] = {NULL};
    size_t size[4];
    FILE *out[4];
    for (int i = 0; i < 4; i++)
        out[i] = open_memstream(&text[i], &size[i]);
    CompileOptions options = {.plan = {.tiles = 3},
                              .producer = "test",
                              .dump_plan = out[0],
                              .dump_lower = out[1],
                              .dump_place = out[2],
                              .explain = out[3]};
    CompileResult result;
    assert_int_equal(compile(graph, &options, 1, &result, NULL), STATUS_OK);
    for (int i = 0; i < 4; i++)
        fclose(out[i]);
    assert_non_null(strstr(text[0], "plan tiles=3 cycles="));
    assert_non_null(strstr(text[1], "step 0 compute"));
    assert_non_null(strstr(text[2], "# tile 0\n"));
    assert_non_null(strstr(text[3], "chosen: grid"));
    for (int i = 0; i < 4; i++)
        free(text[i]);
    package_free(result.package);
    graph_free(graph);
    assert_string_equal(compile_pass_name(COMPILE_PLACE), "place");
}

/* The smallest number of tiles that a refusal names fits, one tile less does not. */
static void check_smallest(const Graph *graph, uint32_t tiles) {
    CompileOptions options = {.plan = {.tiles = tiles}, .producer = "test"};
    CompileResult result;
    assert_int_equal(compile(graph, &options, 2, &result, NULL), STATUS_OK);
    assert_int_equal(result.tiles_used, tiles);
    package_free(result.package);
    options.plan.tiles = tiles - 1;
    assert_int_equal(compile(graph, &options, 2, &result, NULL), ERR_COMPILE_PROVED);
    assert_int_equal(result.refusal.tiles_that_fit, tiles);
    assert_null(result.package);
}

static void test_proved_refusal(void **state) {
    (void)state;
    Graph *graph = gemm(729, 1152, 4304, true);
    CompileOptions options = {.plan = {.tiles = 7}, .producer = "test"};
    CompileResult result;
    Diag diag;
    diag_init(&diag);
    assert_int_equal(compile(graph, &options, 1, &result, &diag), ERR_COMPILE_PROVED);
    diag_print(&diag, stderr);
    assert_true(result.total_seconds < 10); /* a tenth of a second when nothing else runs */
    assert_int_equal(diag.entries[0].place.tile, 0);
    assert_non_null(diag.entries[0].fix);
    assert_true(result.refusal.proved && result.refusal.bytes_over > 0);
    assert_non_null(result.refusal.memory);
    check_smallest(graph, result.refusal.tiles_that_fit);
    diag_free(&diag);
    graph_free(graph);
}

/* A forced grid that is too large gives way to the search in the advice; a product beyond the chip
 * has none. */
static void test_advice(void **state) {
    (void)state;
    Graph *graph = gemm(2000, 512, 2000, true);
    PlanForce force = {(char[]){"y"}, 1, 40, 1, false};
    CompileOptions options = {.plan = {.tiles = 100, .forces = &force, .force_count = 1},
                              .producer = "test"};
    CompileResult result;
    Diag diag;
    diag_init(&diag);
    assert_int_equal(compile(graph, &options, 1, &result, &diag), ERR_COMPILE_PROVED);
    assert_non_null(strstr(diag.entries[0].fix, "leave out --grid"));
    assert_true(result.refusal.tiles_that_fit <= 100);
    diag_free(&diag);
    graph_free(graph);
    graph = gemm(40000, 4000, 40000, false);
    options.plan = (PlanOptions){.tiles = CHIP_TILES};
    diag_init(&diag);
    assert_int_equal(compile(graph, &options, 1, &result, &diag), ERR_COMPILE_PROVED);
    assert_int_equal(result.refusal.tiles_that_fit, 0);
    diag_free(&diag);
    graph_free(graph);
}

/* A search whose placements gave up is not called a proof. */
static void test_not_found(void **state) {
    (void)state;
    Graph *graph = gemm(729, 1152, 4304, true);
    PlanOptions options = {.tiles = 7};
    PlanSearch search;
    assert_int_equal(plan_search(graph, &options, &search, NULL), STATUS_OK);
    Selection selection = {
        .nearest = search.least, .probe = {PLACE_NOT_FOUND, "contiguous", 96}, .undecided = true};
    CompileRefusal refusal;
    assert_int_equal(refuse(&search, &selection, NULL, &refusal, NULL), ERR_COMPILE_NOT_FOUND);
    assert_false(refusal.proved);
    assert_true(refusal.tiles_that_fit > 7);
    plan_search_free(&search);
    graph_free(graph);
}

/* ---- brute force: the buffers of one tile in all orders and regions, each as low as it goes. With
 * the order in a region given, the lowest address for each is best for all that follow. */

typedef struct Box {
    uint32_t bytes, align;
    bool high_only;
} Box;

static uint32_t element_end(uint32_t address) { /* of the element that holds the byte before */
    uint32_t size = address <= CHIP_REGION1_BASE ? 0x4000u : 0x8000u;
    uint32_t base =
        address <= CHIP_REGION1_BASE ? (uint32_t)CHIP_TILE_MEM_BASE : (uint32_t)CHIP_REGION1_BASE;
    return base + (uint32_t)align_up(address - base, size);
}

/* Boxes 0 (output) and 1 (left) stay apart. region[i]: 0 low, 1 high. */
static bool boxes_fit(const Box box[3], const uint32_t order[3], const uint32_t region[3],
                      const PlaceSpace *space) {
    uint32_t next[2] = {UINT32_MAX, UINT32_MAX}, end[2];
    for (uint32_t i = 0; i < space->count; i++) {
        uint32_t high = space->ranges[i].begin >= CHIP_REGION1_BASE;
        next[high] = space->ranges[i].begin;
        end[high] = space->ranges[i].end;
    }
    uint32_t apart[2] = {0, 0}; /* where the partner's last element ends */
    for (uint32_t k = 0; k < 3; k++) {
        uint32_t i = order[k], r = region[i];
        if (next[r] == UINT32_MAX || (box[i].high_only && r == 0))
            return false;
        uint32_t start = i == 2 ? next[r] : MAX_OF(next[r], apart[r]);
        start = (uint32_t)align_up(start, box[i].align);
        if (start > end[r] || end[r] - start < box[i].bytes)
            return false;
        next[r] = start + box[i].bytes;
        if (i != 2)
            apart[r] = element_end(next[r]);
    }
    return true;
}

static bool tile_fits(const KernelSpec *spec, const PlaceSpace *space) {
    static const uint32_t orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                          {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    KernelInterface interface;
    kernel_interface(spec, &interface);
    Box box[3];
    for (uint32_t i = 0; i < 3; i++)
        box[i] = (Box){interface.operands[i].bytes + interface.operands[i].tail,
                       interface.operands[i].alignment,
                       interface.operands[i].memory_class == MEMORY_INTERLEAVED};
    for (uint32_t regions = 0; regions < 8; regions++)
        for (uint32_t o = 0; o < 6; o++) {
            uint32_t region[3] = {regions & 1, regions >> 1 & 1, regions >> 2};
            if (boxes_fit(box, orders[o], region, space))
                return true;
        }
    return false;
}

/* Does any grid fit, in plain loops? Real space of its first tile, which has the largest parts. */
static bool any_grid_fits(const Graph *graph, uint32_t tiles) {
    GraphGemm extents = graph_gemm(graph, 2);
    Precision precision = graph->values.items[0].precision;
    PlaceSpace most = {
        {{CHIP_DATA_BASE, CHIP_REGION1_BASE}, {CHIP_REGION1_BASE, CHIP_APP_LOAD_LIMIT}}, 2};
    for (uint32_t swapped = 0; swapped < 2; swapped++)
        for (uint32_t r = 1; r <= tiles; r++)
            for (uint32_t c = 1; r * c <= tiles; c++) {
                uint32_t m = swapped ? extents.columns : extents.rows;
                uint32_t groups = ((swapped ? extents.rows : extents.columns) + 15) / 16;
                if (r > m || c > groups)
                    continue;
                KernelSpec spec = {.gemm = {.precision = precision.kind,
                                            .rows = (m + r - 1) / r,
                                            .groups = (groups + c - 1) / c,
                                            .panels = (uint32_t)div_up(
                                                extents.inner, precision_group(precision))}};
                if (kernel_check(&spec, NULL) != STATUS_OK || !tile_fits(&spec, &most))
                    continue;
                PlanForce force = {(char[]){"y"}, r, c, 1, swapped};
                PlanOptions options = {.tiles = tiles, .forces = &force, .force_count = 1};
                PlanSearch search;
                assert_int_equal(plan_search(graph, &options, &search, NULL), STATUS_OK);
                bool fits = false;
                for (size_t i = 0; i < search.count && !fits; i++) {
                    Plan plan;
                    TileGraph lowered;
                    EmitLibrary library;
                    assert_int_equal(plan_build(&search, &search.candidates[i], &plan, NULL), 0);
                    assert_int_equal(lower_plan(graph, &plan, &lowered, NULL), STATUS_OK);
                    assert_int_equal(emit_link(&lowered, &library, NULL), STATUS_OK);
                    PlaceSpace space = emit_space(&library, &lowered, 0);
                    fits = tile_fits(&lowered.specs.items[lowered.calls.items[0].spec], &space);
                    emit_library_free(&library);
                    tile_graph_free(&lowered);
                    plan_free(&plan);
                }
                plan_search_free(&search);
                if (fits)
                    return true;
            }
    return false;
}

/* Shapes drawn so that about half of them fit. */
static void test_refusals_are_exact(void **state) {
    (void)state;
    uint64_t seed = 314159;
    print_message("seed %llu\n", (unsigned long long)seed);
    Random random = random_seed(seed);
    int rounds = getenv("TW_TEST_ALL") ? 500 : 30, fitting = 0;
    for (int round = 0; round < rounds; round++) {
        bool f8 = below(&random, 2);
        uint32_t tiles = 1 + below(&random, 8);
        uint32_t rows = 1 + below(&random, 900), inner = 1 + below(&random, 900);
        /* Solve for the columns at which operands and result fill the tiles by 70 to 100 %. */
        double budget = 586000.0 * tiles * (0.7 + 0.3 * below(&random, 1000) / 1000.0);
        double bytes = f8 ? 1 : 2, left = bytes * rows * inner;
        double columns = (budget - left) / (bytes * inner + 2.0 * rows);
        if (columns < 1)
            continue;
        Graph *graph = gemm(rows, inner, (uint32_t)columns, f8);
        CompileOptions options = {.plan = {.tiles = tiles}, .producer = "test"};
        CompileResult result;
        Status status = compile(graph, &options, 1, &result, NULL);
        bool fits = any_grid_fits(graph, tiles);
        fitting += fits;
        if ((status == STATUS_OK) != fits)
            fail_msg("%u x %u x %u on %u tiles, f8 %d: status %d, brute force %d", rows, inner,
                     (uint32_t)columns, tiles, f8, status, fits);
        if (status == STATUS_OK)
            assert_int_equal(package_check(result.package, NULL), STATUS_OK);
        else
            assert_int_equal(status, ERR_COMPILE_PROVED);
        package_free(result.package);
        graph_free(graph);
    }
    print_message("%d of %d fit\n", fitting, rounds);
    assert_true(fitting > 0 && fitting < rounds);
}

/* Every allocation fails once, with all after it: no crash, no leak, the right code. */
static void test_no_memory(void **state) {
    (void)state;
    Graph *graph = gemm(20, 33, 40, true);
    uint8_t codes[33 * 40] = {0};
    const void *parameters[] = {NULL, codes, NULL};
    CompileOptions options = {.plan = {.tiles = 2}, .producer = "test"};
    CompileResult result;
    mem_fail_after(0);
    assert_int_equal(compile_graph(graph, parameters, &options, NULL, &result, NULL), STATUS_OK);
    package_free(result.package);
    uint64_t allocations = mem_fail_after(0);
    uint64_t step = getenv("TW_TEST_ALL") ? 1 : MAX_OF(UINT64_C(1), allocations / 120);
    for (uint64_t n = 1; n <= allocations; n += step) {
        mem_fail_after(n);
        Status status = compile_graph(graph, parameters, &options, NULL, &result, NULL);
        mem_fail_after(0);
        assert_int_equal(status, ERR_NO_MEMORY);
        assert_null(result.package);
    }
    graph_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_package),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_dumps),
        cmocka_unit_test(test_proved_refusal),
        cmocka_unit_test(test_advice),
        cmocka_unit_test(test_not_found),
        cmocka_unit_test(test_refusals_are_exact),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
