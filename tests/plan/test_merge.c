/* Exchange phases made one: what is independent, in an order that keeps what steps need. */
#include "testing.h"

#include "base/mem.h"
#include "plan/search.h"

#include <string.h>

/* Three products of one input, each of a sum of parts, and what uses two of them. */
static const char branches[] = "input %x \"x\" : f16[64,64]\n"
                               "parameter %a \"a\" : f16[64,64]\n"
                               "parameter %b \"b\" : f16[64,64]\n"
                               "parameter %c \"c\" : f16[64,32]\n"
                               "%q = gemm %x, %a : f16[64,64]\n"
                               "%k = gemm %x, %b : f16[64,64]\n"
                               "%v = gemm %x, %c : f16[64,32]\n"
                               "%s = gemm %q, %k {transpose_right=true} : f16[64,64]\n"
                               "%y = gemm %s, %v : f16[64,32]\n"
                               "output %y \"y\"\n";

static const PlanForce forces[] = {{(char[]){"q"}, 2, 4, 2, false},
                                   {(char[]){"k"}, 2, 4, 2, false},
                                   {(char[]){"v"}, 4, 2, 2, false}};

static void make_plan(Graph **graph, Plan *plan) {
    PlanSearch search;
    PlanOptions options = {
        .tiles = 16, .device_input = true, .forces = forces, .force_count = COUNT_OF(forces)};
    assert_int_equal(graph_parse(branches, sizeof branches - 1, "branches", graph, NULL),
                     STATUS_OK);
    assert_int_equal(plan_search(*graph, &options, &search, NULL), STATUS_OK);
    assert_true(search.count > 0);
    assert_int_equal(plan_build(&search, &search.candidates[0], plan, NULL), STATUS_OK);
    plan_search_free(&search);
}

static uint32_t count_phases(const Plan *plan) {
    uint32_t phases = 0;
    for (uint32_t i = 0; i < plan->step_count; i++)
        phases += plan->steps[i].kind == PLAN_EXCHANGE;
    return phases;
}

/* Marks what a step makes; what it needs must have been made. */
static void make_value(const Plan *plan, bool *made, uint32_t value) {
    made[value] = true;
    for (uint32_t i = 0; i < plan->value_count; i++)
        if (plan->values[i].inside_of == value && plan->values[i].kind != PLAN_HOME)
            made[i] = true;
}

/* Every value is made once before it is used; exchanges follow their own local calls. */
static void check_order(const Plan *plan, const Graph *graph) {
    bool *made = mem_alloc(plan->value_count, sizeof *made);
    assert_non_null(made);
    for (uint32_t i = 0; i < graph->ops.count; i++) {
        const GraphOp *op = &graph->ops.items[i];
        if (op->kind == GRAPH_INPUT || op->kind == GRAPH_PARAMETER)
            made[op->result] = true;
    }
    uint64_t cycles = 0;
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const PlanStep *step = &plan->steps[i];
        cycles += step->cycles;
        for (uint32_t k = 0; k < step->move_count; k++) {
            const PlanMove *move = &plan->moves[step->first_move + k];
            assert_true(made[move->source]);
            if (step->kind == PLAN_LOCAL) {
                assert_true(plan_same_moves(step, step + 1));
            } else {
                assert_false(made[move->target]);
                make_value(plan, made, move->target);
            }
        }
        for (int k = 0; k < 2; k++)
            assert_true(step->sources[k] == PLAN_NONE || made[step->sources[k]]);
        if (step->target != PLAN_NONE) {
            assert_false(made[step->target]);
            make_value(plan, made, step->target);
        }
    }
    assert_true(cycles == plan->predicted_cycles);
    mem_free(made);
}

static void test_levels(void **state) {
    (void)state;
    Graph *graph;
    Plan plan;
    uint64_t levels;
    make_plan(&graph, &plan);
    check_order(&plan, graph);
    assert_int_equal(plan_mergeable(&plan, &levels, NULL), STATUS_OK);
    assert_true(levels != 0);
    for (uint64_t mask = levels; mask; mask = (mask - 1) & levels) {
        Plan merged, again;
        assert_int_equal(plan_merge(graph, &plan, mask, &merged, NULL), STATUS_OK);
        assert_true(merged.merged == mask);
        check_order(&merged, graph);
        assert_int_equal(merged.move_count, plan.move_count);
        assert_true(count_phases(&merged) < count_phases(&plan));
        assert_true(merged.predicted_cycles < plan.predicted_cycles);
        char *text = plan_print(graph, &merged);
        assert_non_null(text);
        assert_int_equal(plan_parse(text, "merged", graph, &again, NULL), STATUS_OK);
        assert_true(again.merged == mask && again.step_count == merged.step_count);
        plan_free(&again);
        mem_free(text);
        plan_free(&merged);
    }
    plan_free(&plan);
    graph_free(graph);
}

/* Two products want the input in one format: it moves once. */
static void test_moved_once(void **state) {
    (void)state;
    Graph *graph;
    Plan plan;
    make_plan(&graph, &plan);
    for (uint32_t i = 0; i < plan.value_count; i++)
        for (uint32_t k = 0; k < i; k++) {
            const PlanValue *a = &plan.values[i], *b = &plan.values[k];
            if (a->kind == PLAN_MOVED && a->graph_value == b->graph_value)
                assert_false(format_equal(&a->format, &b->format));
        }
    plan_free(&plan);
    graph_free(graph);
}

/* A level that has one phase, or is none, leaves the text another than its header says. */
static void test_bad_levels(void **state) {
    (void)state;
    Graph *graph;
    Plan plan, merged;
    uint64_t levels;
    make_plan(&graph, &plan);
    assert_int_equal(plan_mergeable(&plan, &levels, NULL), STATUS_OK);
    assert_int_equal(plan_merge(graph, &plan, levels, &merged, NULL), STATUS_OK);
    char *text = plan_print(graph, &merged);
    char *rest = strchr(text, '\n');
    char *changed = mem_printf("plan tiles=16 input=device merged=8000%s", rest);
    assert_non_null(changed);
    plan_free(&merged);
    assert_int_equal(plan_parse(changed, "changed", graph, &merged, NULL), ERR_PLAN_MISMATCH);
    mem_free(changed);
    mem_free(text);
    plan_free(&plan);
    graph_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_levels),
                                       cmocka_unit_test(test_moved_once),
                                       cmocka_unit_test(test_bad_levels)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
