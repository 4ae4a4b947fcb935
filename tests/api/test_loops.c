/* Repeats: iterations with one body compute what the same graph computes written out, again in a
 * second run; and a package whose loops are damaged is found out. */
#include "testing.h"

#include "api/api.h"
#include "num/f16.h"

#include <string.h>

typedef struct Shape3 {
    TwMlp mlp;
    unsigned tiles, max_copies;
} Shape3;

/* All parameters resident; one copy that is sent to its users in every iteration; carried values
 * that are still read when the next ones are written. */
static const Shape3 shapes[] = {
    {{.tokens = 60, .width = 32, .hidden = 48, .batch = 1, .operand = {TW_F16, 0}}, 8, 0},
    {{.tokens = 300, .width = 64, .hidden = 64, .batch = 1, .operand = {TW_F8F143, -4}}, 32, 1},
    {{.tokens = 40, .width = 32, .hidden = 48, .batch = 2, .bias = true, .operand = {TW_F16, 0}},
     6,
     1},
    {{.tokens = 60,
      .width = 32,
      .hidden = 48,
      .batch = 1,
      .bias = true,
      .residual = true,
      .operand = {TW_F8F143, -4}},
     8,
     0},
};

static TwContext *context;

static int set_up(void **state) {
    (void)state;
    context = tw_open(2);
    return context ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    tw_close(context);
    return 0;
}

static void expect(TwStatus status) {
    if (status != 0)
        tw_print_messages(context, stderr);
    assert_int_equal(status, 0);
}

static TwPackage *compile(const TwGraph *graph, const Shape3 *shape) {
    TwWeights *weights;
    TwPackage *package;
    TwCompileOptions options = {.tiles = shape->tiles, .max_copies = shape->max_copies};
    expect(tw_weights_generate(context, graph, 3, 0, &weights));
    expect(tw_compile(context, graph, weights, &options, &package, NULL));
    expect(tw_package_verify(context, package));
    tw_weights_free(weights);
    return package;
}

/* "y" of the last of three runs: with samples, without, and once more with other inputs between.
 */
static void compute(const TwPackage *package, F16 *y, uint64_t count) {
    TwDevice *device;
    TwRunReport report;
    Diag *diag = &context->diag;
    expect(tw_device_open(context, package, &device));
    expect(tw_device_generate(device, "x", 8, 1));
    expect(tw_device_run(device, false, &report));
    expect(tw_device_generate(device, "x", 7, 1));
    expect(tw_device_run(device, true, &report));
    expect((TwStatus)run_get(device->device, "y", RUN_CODES, y, count, diag));
    F16 *again = mem_alloc(count, sizeof *again);
    expect(tw_device_run(device, false, &report));
    expect((TwStatus)run_get(device->device, "y", RUN_CODES, again, count, diag));
    assert_memory_equal(y, again, count * sizeof *y);
    mem_free(again);
    tw_device_close(device);
}

static unsigned count_loops(const TwPackage *package) {
    unsigned loops = 0;
    for (size_t i = 0; i < package->package->steps.count; i++)
        loops += package->package->steps.items[i].kind == PACKAGE_REPEAT &&
                 package->package->steps.items[i].program == 0;
    return loops;
}

/* The same graph without repeats. */
static TwGraph *write_out(const TwGraph *graph) {
    TwGraph *unrolled;
    char *text = graph_print(graph->graph);
    expect(tw_graph_parse(context, text, strlen(text), "unrolled", &unrolled));
    mem_free(text);
    return unrolled;
}

static void check_shape(const Shape3 *shape, unsigned blocks) {
    TwMlp mlp = shape->mlp;
    TwGraph *graph, *unrolled;
    mlp.blocks = blocks;
    expect(tw_graph_mlp(context, &mlp, &graph));
    unrolled = write_out(graph);
    TwPackage *packages[] = {compile(graph, shape), compile(unrolled, shape)};
    uint64_t count = (uint64_t)mlp.batch * mlp.tokens * mlp.width;
    F16 *y[2];
    for (int i = 0; i < 2; i++) {
        y[i] = mem_alloc(count, sizeof(F16));
        compute(packages[i], y[i], count);
    }
    assert_memory_equal(y[0], y[1], count * sizeof(F16));
    assert_int_equal(count_loops(packages[1]), 0);
    if (blocks > 4)
        assert_int_equal(count_loops(packages[0]), 1);
    if (blocks > 4 && shape->max_copies == 1 && !mlp.bias)
        assert_true(packages[0]->package->patches.count > 0);
    for (int i = 0; i < 2; i++) {
        mem_free(y[i]);
        tw_package_free(packages[i]);
    }
    tw_graph_free(graph);
    tw_graph_free(unrolled);
}

static void test_equal(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        for (unsigned blocks = 2; blocks <= 5; blocks += blocks == 3 ? 2 : 1)
            check_shape(&shapes[i], blocks);
}

/* The step takes what it was scheduled to take. */
static bool is_even(const ProfStep *step) {
    return step->causes[PROF_SIMULATED][PROF_UNSCHEDULED] == 0 &&
           step->cycles[PROF_SIMULATED] == step->cycles[PROF_SCHEDULED];
}

/* Scheduled, simulated and attributed cycles are one, and the twin agrees. */
static void test_cycles(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        TwMlp mlp = shapes[i].mlp;
        TwGraph *graph;
        TwBenchReport report;
        TwBenchOptions options = {
            .compile = {.tiles = shapes[i].tiles, .max_copies = shapes[i].max_copies}};
        mlp.blocks = 5;
        expect(tw_graph_mlp(context, &mlp, &graph));
        expect(tw_bench(context, graph, &options, &report));
        assert_true(report.bit_exact);
        assert_int_equal(report.run.cycles, report.compile.scheduled_cycles);
        const Profile *profile = &report.profile->profile;
        assert_int_equal(profile->cycles[PROF_SIMULATED], profile->cycles[PROF_SCHEDULED]);
        for (size_t s = 0; s < profile->steps.count; s++)
            assert_true(is_even(&profile->steps.items[s]));
        tw_bench_free(&report);
        tw_graph_free(graph);
    }
}

/* Code and rows do not grow with the iterations. */
static void test_size(void **state) {
    (void)state;
    uint64_t bytes[2] = {0};
    for (int i = 0; i < 2; i++) {
        TwMlp mlp = shapes[0].mlp;
        TwGraph *graph;
        mlp.blocks = i ? 12 : 5;
        expect(tw_graph_mlp(context, &mlp, &graph));
        TwPackage *package = compile(graph, &shapes[0]);
        for (size_t s = 0; s < package->package->segments.count; s++)
            if (package->package->segments.items[s].flags & PACKAGE_EXECUTE)
                bytes[i] += package->package->segments.items[s].size;
        tw_package_free(package);
        tw_graph_free(graph);
    }
    assert_int_equal(bytes[0], bytes[1]);
}

/* ---- damage */

static PackagePhase *looped(Package *p) {
    return &p->phases.items[p->patches.items[0].phase];
}

static PackageStep *mark(Package *p, PackageStepKind kind) {
    PackageStep *step = p->steps.items;
    while (step->kind != kind)
        step++;
    return step;
}

/* The first transfer of the phase whose source moves on; word 3 counts its destinations, word 4 is
 * the stride. */
static uint32_t *iterated(Package *p, uint32_t phase) {
    size_t part = 0;
    while (p->transfers.items[part].phase != phase)
        part++;
    uint32_t *words = (uint32_t *)(uintptr_t)p->blobs.items[p->transfers.items[part].blob].bytes;
    while (words[4] == 0)
        words += 5 + 2 * words[3];
    return words;
}

#define DAMAGE(name, statement)                                                                    \
    static void name(Package *p) {                                                                 \
        statement;                                                                                 \
    }

DAMAGE(more_iterations, looped(p)->times++)
DAMAGE(no_end, mark(p, PACKAGE_AGAIN)->kind = PACKAGE_COMPUTE)
DAMAGE(no_begin, mark(p, PACKAGE_REPEAT)->kind = PACKAGE_COMPUTE)
DAMAGE(other_count, mark(p, PACKAGE_AGAIN)->invocations++)
DAMAGE(none_at_all, mark(p, PACKAGE_REPEAT)->invocations = 0)
DAMAGE(patch_lost, p->patches.count--)
DAMAGE(patch_address, p->patches.items[0].address += 4)
DAMAGE(patch_outside, p->patches.items[0].address = CHIP_DATA_BASE)
DAMAGE(patch_phase, p->patches.items[p->patches.count - 1].phase = 1000)
DAMAGE(patch_nothing, p->patches.items[0].increment = 0)
DAMAGE(patch_long, p->patches.items[p->patches.count - 1].increment = 1 << 20)
DAMAGE(patch_increment, p->patches.items[p->patches.count - 1].increment += 64)
DAMAGE(patch_twice, p->patches.items[1] = p->patches.items[0])
DAMAGE(other_stride, iterated(p, p->patches.items[0].phase)[4] += 8)
DAMAGE(no_stride, iterated(p, p->patches.items[0].phase)[4] = 0)

static void test_damage(void **state) {
    (void)state;
    static void (*const damages[])(Package *) = {
        more_iterations, no_end,        no_begin,        other_count,  none_at_all,
        patch_lost,      patch_address, patch_outside,   patch_phase,  patch_nothing,
        patch_long,      patch_twice,   patch_increment, other_stride, no_stride};
    TwMlp mlp = shapes[1].mlp;
    TwGraph *graph;
    mlp.blocks = 4;
    expect(tw_graph_mlp(context, &mlp, &graph));
    for (size_t i = 0; i < COUNT_OF(damages); i++) {
        TwPackage *package = compile(graph, &shapes[1]);
        damages[i](package->package);
        if (tw_package_verify(context, package) == 0)
            fail_msg("damage %zu is not found", i);
        tw_clear_messages(context);
        tw_package_free(package);
    }
    tw_graph_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_equal), cmocka_unit_test(test_cycles),
                                       cmocka_unit_test(test_size), cmocka_unit_test(test_damage)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
