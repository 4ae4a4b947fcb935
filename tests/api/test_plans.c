/* Graphs of several operations, from text to the output of the simulated chip, against the twin. */
#include "testing.h"

#include "base/mem.h"
#include "base/pool.h"
#include "check/check.h"
#include "compile/compile.h"
#include "model/model.h"
#include "run/run.h"

#include <stdlib.h>
#include <string.h>

typedef struct Case {
    Graph *graph; /* expanded */
    void **given, **twin;
    Pool *pool;
    CompileResult compiled;
    Plan plan;
} Case;

static uint64_t count_of(const GraphValue *value) {
    uint64_t count;
    assert_true(shape_count(&value->shape, &count));
    return count;
}

/* Codes of every input and parameter: parameters small enough that sums stay near 1. */
static void make_given(Case *c) {
    for (uint32_t i = 0; i < c->graph->ops.count; i++) {
        const GraphOp *op = &c->graph->ops.items[i];
        if (op->kind != GRAPH_INPUT && op->kind != GRAPH_PARAMETER)
            continue;
        const GraphValue *value = &c->graph->values.items[op->result];
        c->given[op->result] = mem_alloc(count_of(value), 2);
        assert_non_null(c->given[op->result]);
        double sigma = op->kind == GRAPH_INPUT ? 1 : 0.1;
        assert_int_equal(model_generate_codes(op->name, count_of(value), 0, sigma, value->precision,
                                              c->given[op->result], NULL, NULL),
                         STATUS_OK);
    }
}

static void check_outputs(Case *c, Device *device) {
    for (uint32_t i = 0; i < c->graph->ops.count; i++) {
        const GraphOp *op = &c->graph->ops.items[i];
        if (op->kind != GRAPH_OUTPUT)
            continue;
        const GraphValue *value = &c->graph->values.items[op->operands[0]];
        uint64_t count = count_of(value);
        const void *twin =
            c->twin[op->operands[0]] ? c->twin[op->operands[0]] : c->given[op->operands[0]];
        void *found = mem_alloc(count, 2);
        assert_int_equal(run_get(device, op->name, RUN_CODES, found, count, NULL), STATUS_OK);
        assert_memory_equal(found, twin, count * precision_bytes(value->precision));
        mem_free(found);
    }
}

static void run_case(Case *c) {
    Diag diag;
    diag_init(&diag);
    Device *device;
    Status status = run_open(c->compiled.package, c->pool, NULL, &device, &diag);
    for (uint32_t i = 0; i < c->graph->ops.count && !status; i++) {
        const GraphOp *op = &c->graph->ops.items[i];
        if (op->kind == GRAPH_INPUT)
            status = run_set(device, op->name, RUN_CODES, c->given[op->result],
                             count_of(&c->graph->values.items[op->result]), &diag);
    }
    RunResult result;
    if (!status)
        status = run_invoke(device, "run", &result, &diag);
    diag_print(&diag, stderr);
    assert_int_equal(status, STATUS_OK);
    assert_int_equal(result.cycles, c->compiled.scheduled_cycles);
    if (getenv("TW_TEST_VERBOSE"))
        printf("predicted %llu, simulated %llu\n", (unsigned long long)c->compiled.predicted_cycles,
               (unsigned long long)result.cycles);
    check_outputs(c, device);
    run_close(device);
    diag_free(&diag);
}

static const char *note(const Package *package, const char *name) {
    for (size_t i = 0; i < package->notes.count; i++)
        if (strcmp(package->notes.items[i].name, name) == 0)
            return package->notes.items[i].text;
    return NULL;
}

static void free_case(Case *c) {
    for (size_t i = 0; i < c->graph->values.count; i++) {
        mem_free(c->given[i]);
        mem_free(c->twin[i]);
    }
    mem_free(c->given);
    mem_free(c->twin);
    plan_free(&c->plan);
    package_free(c->compiled.package);
    pool_free(c->pool);
    graph_free(c->graph);
}

/* Compiles, runs and compares; the given options but for the number of tiles. */
static void check_graph(const char *text, uint32_t tiles, bool device_input) {
    Graph *graph;
    Diag diag;
    diag_init(&diag);
    Case c = {.pool = pool_create(2)};
    Status status = graph_parse(text, strlen(text), "test", &graph, &diag);
    if (!status)
        status = graph_expand(graph, &c.graph, &diag);
    diag_print(&diag, stderr);
    assert_int_equal(status, STATUS_OK);
    graph_free(graph);
    c.given = mem_alloc(c.graph->values.count, sizeof *c.given);
    c.twin = mem_alloc(c.graph->values.count, sizeof *c.twin);
    make_given(&c);
    CompileOptions options = {.plan = {.tiles = tiles, .device_input = device_input},
                              .producer = "test"};
    if (getenv("TW_TEST_VERBOSE"))
        options.explain = options.dump_exchange = stdout;
    status =
        compile_graph(c.graph, (const void *const *)c.given, &options, c.pool, &c.compiled, &diag);
    if (!status)
        status = plan_parse(note(c.compiled.package, "plan"), "plan", c.graph, &c.plan, &diag);
    if (!status)
        status = check_twin(c.graph, &c.plan, (const void *const *)c.given, c.pool, c.twin, &diag);
    diag_print(&diag, stderr);
    assert_int_equal(status, STATUS_OK);
    run_case(&c);
    free_case(&c);
    diag_free(&diag);
}

static void test_two_products(void **state) {
    (void)state;
    check_graph("input %x \"x\" : f16[64,128]\n"
                "parameter %w \"w\" : f16[128,96]\n"
                "parameter %v \"v\" : f16[96,80]\n"
                "%h = gemm %x, %w : f16[64,96]\n"
                "%y = gemm %h, %v : f16[64,80]\n"
                "output %y \"y\"\n",
                16, false);
}

static void test_cast_between(void **state) {
    (void)state;
    static const char text[] = "input %x \"x\" : f8f143(s=-4)[50,96]\n"
                               "parameter %w \"w\" : f8f143(s=-4)[96,144]\n"
                               "parameter %v \"v\" : f8f143(s=-4)[144,80]\n"
                               "%h = gemm %x, %w : f16[50,144]\n"
                               "%q = cast %h : f8f143(s=-4)[50,144]\n"
                               "%y = gemm %q, %v : f16[50,80]\n"
                               "output %y \"y\"\n";
    check_graph(text, 24, false);
    check_graph(text, 5, false);
}

static void test_mlp(void **state) {
    (void)state;
    static const char text[] = "input %x \"x\" : f16[50,96]\n"
                               "parameter %w \"w\" : f8f143(s=-4)[96,144]\n"
                               "parameter %b \"b\" : f16[144]\n"
                               "parameter %v \"v\" : f8f143(s=-4)[144,80]\n"
                               "parameter %c \"c\" : f16[80]\n"
                               "%p = cast %x : f8f143(s=-4)[50,96]\n"
                               "%h = gemm %p, %w : f16[50,144]\n"
                               "%i = add %h, %b : f16[50,144]\n"
                               "%g = gelu %i : f16[50,144]\n"
                               "%q = cast %g : f8f143(s=-4)[50,144]\n"
                               "%y = gemm %q, %v : f16[50,80]\n"
                               "%z = add %y, %c : f16[50,80]\n"
                               "output %z \"z\"\n";
    check_graph(text, 24, true);
    check_graph(text, 24, false);
    check_graph(text, 3, false);
}

/* Values that are wanted along both axes. */
static void test_turns(void **state) {
    (void)state;
    static const char text[] = "input %x \"x\" : f16[50,96]\n"
                               "parameter %w \"w\" : f16[96,70]\n"
                               "%h = gemm %x, %w : f16[50,70]\n"
                               "%s = gemm %h, %h {transpose_left=true} : f16[70,70]\n"
                               "%t = gemm %h, %h {transpose_right=true} : f16[50,50]\n"
                               "%u = gemm %t, %h : f16[50,70]\n"
                               "%v = gemm %u, %s : f16[50,70]\n"
                               "%g = gelu %v : f16[50,70]\n"
                               "%z = add %g, %h : f16[50,70]\n"
                               "output %z \"z\"\noutput %t \"t\"\n";
    check_graph(text, 24, false);
    check_graph(text, 40, true);
    check_graph(text, 1, false);
}

/* Graphs without a product: their plans hold no choice. */
static void test_no_product(void **state) {
    (void)state;
    check_graph("input %x \"x\" : f16[40,48]\n%q = cast %x : f8f143(s=-4)[40,48]\n"
                "output %q \"y\"\n",
                4, false);
    check_graph("input %x \"x\" : f16[40,48]\n%g = gelu %x : f16[40,48]\noutput %g \"y\"\n", 7,
                false);
}

/* For measurements by hand: a graph of one's own. */
static void test_given(void **state) {
    (void)state;
    const char *path = getenv("TW_TEST_GRAPH");
    if (!path)
        skip();
    Graph *graph;
    assert_int_equal(graph_read(path, &graph, NULL), STATUS_OK);
    char *text = graph_print(graph);
    check_graph(text, 1472, getenv("TW_TEST_DEVICE") != NULL);
    mem_free(text);
    graph_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_products), cmocka_unit_test(test_cast_between),
        cmocka_unit_test(test_mlp),          cmocka_unit_test(test_turns),
        cmocka_unit_test(test_no_product),   cmocka_unit_test(test_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
