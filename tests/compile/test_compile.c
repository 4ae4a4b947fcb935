/* The pass sequence: packages are sound and independent of threads, refusals are exact and name
 * what fits, no failed allocation is fatal. */
#include "testing.h"

#include "base/mem.h"
#include "base/random.h"
#include "chip/chip.h"
#include "compile/attempt.h"

#include "compile/brute_force.h"

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
    const void *parameters[] = {NULL, codes, NULL, NULL};
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
    assert_non_null(strstr(text[0], "plan tiles=3\n"));
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

/* A value beyond the whole chip is not priced: 64 bits would not hold what follows from it. */
static void test_giant(void **state) {
    (void)state;
    Graph *graph = gemm(1u << 31, 1u << 31, 1u << 30, false);
    const void *parameters[] = {NULL, NULL, NULL};
    CompileOptions options = {.plan = {.tiles = 1024}, .producer = "test"};
    CompileResult result;
    Diag diag;
    diag_init(&diag);
    assert_int_equal(compile_graph(graph, parameters, &options, NULL, &result, &diag),
                     ERR_COMPILE_PROVED);
    assert_true(result.refusal.proved && result.refusal.tiles_that_fit == 0);
    assert_true(result.refusal.bytes_over == (1ULL << 53) - CHIP_TILE_MEM_SIZE);
    assert_non_null(strstr(diag.entries[0].notes, "x alone takes 9223372036854775807 bytes"));
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

/* Compiles a text that is refused as not found; the message, its notes and its fix. */
static DiagEntry *refused_text(const char *text, uint32_t tiles, Diag *diag) {
    Graph *graph, *expanded;
    assert_int_equal(graph_parse(text, strlen(text), "text", &graph, NULL), STATUS_OK);
    assert_int_equal(graph_expand(graph, &expanded, NULL), STATUS_OK);
    CompileOptions options = {.plan = {.tiles = tiles}, .producer = "test"};
    CompileResult result;
    diag_init(diag);
    assert_int_equal(compile_graph(expanded, NULL, &options, NULL, &result, diag),
                     ERR_COMPILE_NOT_FOUND);
    assert_int_equal(diag->count, 1);
    graph_free(expanded);
    graph_free(graph);
    return &diag->entries[0];
}

/* What no plan can do is named with a way out that does not speak of tiles. */
static void test_names_operation(void **state) {
    (void)state;
    static const char text[] = "input %x \"x\" : f16[45,1]\n"
                               "parameter %b \"b\" : f16[1,31]\n"
                               "%s = add %x, %b : f16[45,31]\n"
                               "parameter %w \"w\" : f16[31,31]\n"
                               "%p = gemm %s, %w : f16[45,31]\n"
                               "output %p \"y\"\n";
    Diag diag;
    const DiagEntry *entry = refused_text(text, 5, &diag);
    assert_non_null(strstr(entry->text, "%s (add): a sum of which no operand has the whole shape"));
    assert_non_null(strstr(entry->text, "not proved"));
    assert_non_null(strstr(entry->fix, "give the sum one operand of its whole shape"));
    diag_free(&diag);
}

/* Where memory is short, the step and what lies there are named. */
static void test_names_worst_step(void **state) {
    (void)state;
    static const char text[] = "input %x \"x\" : f16[500,16]\n"
                               "parameter %w \"w\" : f16[16,300]\n"
                               "%h = gemm %x, %w : f16[500,300]\n"
                               "%g = gelu %h : f16[500,300]\n"
                               "input %v \"v\" : f16[300,16]\n" /* so that nothing is cut */
                               "%y = gemm %g, %v : f16[500,16]\n"
                               "output %y \"y\"\n";
    Diag diag;
    const DiagEntry *entry = refused_text(text, 1, &diag);
    assert_non_null(strstr(entry->notes, "at the worst step, for g, "));
    assert_non_null(strstr(entry->fix, "--tiles"));
    diag_free(&diag);
}

#ifdef __SANITIZE_ADDRESS__
enum { FEW_ROUNDS = 16 };
#else
enum { FEW_ROUNDS = 40 };
#endif

/* Shapes drawn so that about half of them fit, with and without a forced grid, with input from the
 * host and on the device. */
static void test_refusals_are_exact(void **state) {
    (void)state;
    uint64_t seed = 314159;
    print_message("seed %llu\n", (unsigned long long)seed);
    Random random = random_seed(seed);
    int rounds = getenv("TW_TEST_ALL") ? 600 : FEW_ROUNDS, counts[3] = {0}, compiled = 0,
        unsure = 0;
    for (int round = 0; round < rounds; round++) {
        bool f8 = below(&random, 2), device = round & 1, forced = round & 2;
        uint32_t tiles = 1 + below(&random, 8);
        uint32_t rows = 1 + below(&random, 900), inner = 1 + below(&random, 900);
        /* Solve for the columns at which operands and result fill the tiles by 30 to 100 %. */
        double budget = 586000.0 * tiles * (0.3 + 0.7 * below(&random, 1000) / 1000.0);
        double bytes = f8 ? 1 : 2, left = bytes * rows * inner;
        double columns = (budget - left) / (bytes * inner + 2.0 * rows);
        if (columns < 1)
            continue;
        Precision precision = {f8 ? PRECISION_F8F143 : PRECISION_F16, f8 ? -4 : 0};
        Graph *graph;
        assert_int_equal((device ? graph_build_device_gemm : graph_build_gemm)(
                             &graph, rows, inner, (uint32_t)columns, precision, NULL),
                         STATUS_OK);
        PlanForce force =
            random_grid(&random, rows, inner, (uint32_t)columns, tiles, precision_group(precision));
        CompileOptions options = {.plan = {.tiles = tiles,
                                           .device_input = device,
                                           .forces = &force,
                                           .force_count = forced},
                                  .producer = "test"};
        CompileResult result;
        Diag diag;
        diag_init(&diag);
        Status status = compile(graph, &options, 1, &result, &diag);
        ForceVerdict verdict =
            forced ? grid_fits(graph, &options.plan, force) : best_grid(graph, &options.plan);
        counts[verdict]++;
        compiled += status == STATUS_OK;
        unsure += status == ERR_COMPILE_NOT_FOUND;
        if (status == STATUS_OK ? verdict == FORCE_NO : verdict == FORCE_WHOLE) {
            diag_print(&diag, stderr);
            fail_msg("%u x %u x %u on %u tiles, f8 %d, device %d, grid %u,%u,%u%s (%d): status %d, "
                     "brute force %d",
                     rows, inner, (uint32_t)columns, tiles, f8, device, force.rows, force.columns,
                     force.inner, force.swapped ? ",swapped" : "", forced, status, verdict);
        }
        if (status == STATUS_OK)
            assert_int_equal(package_check(result.package, NULL), STATUS_OK);
        else if (status != ERR_COMPILE_PROVED && status != ERR_COMPILE_NOT_FOUND) {
            diag_print(&diag, stderr);
            fail_msg("status %d", status);
        }
        package_free(result.package);
        diag_free(&diag);
        graph_free(graph);
    }
    print_message("%d of %d compiled, %d refused without proof; brute force: %d no, %d bare, %d "
                  "whole\n",
                  compiled, rounds, unsure, counts[0], counts[1], counts[2]);
    assert_true(compiled > 0 && compiled < rounds);
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

/* Seven rows of half panels are 28 words, and each of three neighbours that share them multicasts
 * its own to itself as well. On the one whose stream would then end one event after its start the
 * message goes in two. */
static void test_loopbacks(void **state) {
    (void)state;
    static const char text[] = "input %x \"x\" : f8f143(s=-4)[7,48]\n"
                               "parameter %u \"u\" : f8f143(s=-4)[48,160]\n"
                               "parameter %w \"w\" : f8f143(s=-4)[160,48]\n"
                               "%h = gemm %x, %u : f16[7,160]\n"
                               "%g = gelu %h : f16[7,160]\n"
                               "%c = cast %g : f8f143(s=-4)[7,160]\n"
                               "%y = gemm %c, %w : f16[7,48]\n"
                               "output %y \"y\"\n";
    Graph *graph;
    assert_int_equal(graph_parse(text, sizeof text - 1, "loopbacks", &graph, NULL), STATUS_OK);
    const PlanForce forces[] = {{(char[]){"h"}, 1, 10, 1, false}, {(char[]){"y"}, 1, 3, 1, false}};
    CompileOptions options = {
        .plan = {.tiles = 10, .forces = forces, .force_count = COUNT_OF(forces)},
        .producer = "test"};
    static const uint8_t codes[48 * 160];
    const void *parameters[] = {NULL, codes, codes, NULL, NULL, NULL, NULL, NULL};
    CompileResult result;
    assert_int_equal(compile_graph(graph, parameters, &options, NULL, &result, NULL), STATUS_OK);
    assert_int_equal(package_verify(result.package, NULL), STATUS_OK);
    XchgPhase phase;
    PackageExchange summary;
    assert_int_equal(package_phase_transfers(result.package, 0, &phase, NULL), STATUS_OK);
    assert_int_equal(package_phase_summary(result.package, 0, &summary, NULL), STATUS_OK);
    uint32_t own = 0, cut = 0;
    for (size_t i = 0; i < phase.transfers.count; i++) {
        const XchgTransfer *t = &phase.transfers.items[i];
        for (uint32_t k = 0; k < t->dest_count; k++) {
            if (phase.dests.items[t->first_dest + k].tile != t->source)
                continue;
            bool late = (chip_tile_physical(t->source) & 2) != 0;
            assert_int_equal(t->words, 28);
            own++;
            cut += late;
        }
    }
    assert_int_equal(own, 3);
    assert_int_equal(cut, 1);
    assert_int_equal(summary.paired, 0);
    assert_int_equal(summary.messages, phase.transfers.count + cut);
    xchg_phase_free(&phase);
    package_free(result.package);
    graph_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_package),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_dumps),
        cmocka_unit_test(test_proved_refusal),
        cmocka_unit_test(test_advice),
        cmocka_unit_test(test_giant),
        cmocka_unit_test(test_not_found),
        cmocka_unit_test(test_names_operation),
        cmocka_unit_test(test_names_worst_step),
        cmocka_unit_test(test_refusals_are_exact),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_loopbacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
