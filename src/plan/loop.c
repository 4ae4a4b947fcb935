/* Which steps of a plan are iterations of one body, and which values may then share one place.
 *
 * A plan of an unrolled graph is searched for runs in which every step does to other values what
 * the step one period earlier did. In such a run each value either stays the same (invariant) or
 * has a successor: the value that stands for it one iteration later. Chains of successors share one
 * place; those of parameters lie in a row, since they are all there from the start. Whether that is
 * right is then proved by following what every place holds through all steps. */
#include "plan/loop.h"

#include "plan/search.h"

#include <string.h>

typedef struct Finder {
    const Graph *graph;
    Plan *plan;
    uint32_t *next, *before; /* successor and predecessor of each value, or PLAN_NONE */
    uint32_t *held;          /* by place: the value that lies there, or PLAN_NONE */
} Finder;

/* The operation in the first iteration; itself outside of repeats. */
static uint32_t key_of(const Finder *finder, const PlanStep *step) {
    uint32_t first = finder->graph->ops.items[step->op].first;
    return first == GRAPH_NONE ? step->op : first;
}

static bool is_parameter(const Finder *finder, uint32_t value) {
    const PlanValue *stored = &finder->plan->values[value];
    uint32_t made_by = finder->graph->values.items[stored->graph_value].op;
    return stored->kind == PLAN_HOME && finder->graph->ops.items[made_by].kind == GRAPH_PARAMETER;
}

/* ---- steps that are alike */

static bool is_alike_value(const Finder *finder, uint32_t a, uint32_t b) {
    if (a == b)
        return true;
    if (a == PLAN_NONE || b == PLAN_NONE)
        return false;
    const PlanValue *x = &finder->plan->values[a], *y = &finder->plan->values[b];
    return x->kind == y->kind && x->members == y->members && shape_equal(&x->shape, &y->shape) &&
           format_equal(&x->format, &y->format) &&
           is_parameter(finder, a) == is_parameter(finder, b) &&
           is_alike_value(finder, x->inside_of, y->inside_of);
}

static bool is_same_choice(const GemmChoice *a, const GemmChoice *b) {
    return a && b ? plan_choice_equal(a, b) : a == b;
}

static bool is_alike(const Finder *finder, uint32_t a, uint32_t b) {
    const Plan *plan = finder->plan;
    const PlanStep *x = &plan->steps[a], *y = &plan->steps[b];
    if (x->kind != y->kind || x->cycles != y->cycles || x->words != y->words || x->op == y->op ||
        x->move_count != y->move_count || key_of(finder, x) != key_of(finder, y) ||
        !is_same_choice(plan_choice(plan, x->op), plan_choice(plan, y->op)) ||
        !is_alike_value(finder, x->target, y->target) ||
        !is_alike_value(finder, x->sources[0], y->sources[0]) ||
        !is_alike_value(finder, x->sources[1], y->sources[1]))
        return false;
    for (uint32_t i = 0; i < x->move_count; i++) {
        const PlanMove *from = &plan->moves[x->first_move + i],
                       *to = &plan->moves[y->first_move + i];
        if (from->source_row != to->source_row || from->target_row != to->target_row ||
            !is_alike_value(finder, from->source, to->source) ||
            !is_alike_value(finder, from->target, to->target))
            return false;
    }
    return true;
}

/* ---- successors */

static bool pair_values(Finder *finder, uint32_t value, uint32_t successor) {
    if (value == PLAN_NONE)
        return true;
    if (finder->next[value] == PLAN_NONE && finder->before[successor] == PLAN_NONE) {
        finder->next[value] = successor;
        finder->before[successor] = value;
    }
    return finder->next[value] == successor &&
           pair_values(finder, finder->plan->values[value].inside_of,
                       finder->plan->values[successor].inside_of);
}

static bool pair_steps(Finder *finder, uint32_t a, uint32_t b) {
    const Plan *plan = finder->plan;
    const PlanStep *x = &plan->steps[a], *y = &plan->steps[b];
    bool good = pair_values(finder, x->target, y->target) &&
                pair_values(finder, x->sources[0], y->sources[0]) &&
                pair_values(finder, x->sources[1], y->sources[1]);
    for (uint32_t i = 0; i < x->move_count && good; i++) {
        const PlanMove *from = &plan->moves[x->first_move + i],
                       *to = &plan->moves[y->first_move + i];
        good = pair_values(finder, from->source, to->source) &&
               pair_values(finder, from->target, to->target);
    }
    return good;
}

/* ---- what every place holds */

static bool is_held(const Finder *finder, uint32_t value) {
    return value == PLAN_NONE || finder->held[finder->plan->places[value].value] == value ||
           (is_parameter(finder, value) && finder->held[value] == PLAN_NONE);
}

/* Values inside of another one are gone when that is written. */
static void hold(Finder *finder, uint32_t value) {
    const Plan *plan = finder->plan;
    uint32_t place = plan->places[value].value;
    for (uint32_t v = 0; v < plan->value_count && plan->values[value].inside_of == PLAN_NONE; v++)
        if (plan->values[v].inside_of != PLAN_NONE &&
            plan->places[plan->values[v].inside_of].value == place)
            finder->held[plan->places[v].value] = PLAN_NONE;
    finder->held[place] = value;
}

static uint32_t whole_of(const Plan *plan, uint32_t value) {
    uint32_t whole = plan->values[value].inside_of;
    return plan->places[whole == PLAN_NONE ? value : whole].value;
}

/* May a step read `source` and write `target`: not if they share a place by a loop only. */
static bool may_write(const Plan *plan, uint32_t source, uint32_t target) {
    return source == PLAN_NONE || source == target ||
           whole_of(plan, source) != whole_of(plan, target) ||
           plan->values[target].inside_of == source;
}

static bool follow_step(Finder *finder, const PlanStep *step) {
    const Plan *plan = finder->plan;
    bool good = is_held(finder, step->sources[0]) && is_held(finder, step->sources[1]);
    if (step->target != PLAN_NONE) {
        for (int i = 0; i < 2; i++)
            good = good && may_write(plan, step->sources[i], step->target);
        hold(finder, step->target);
    }
    const PlanMove *moves = plan->moves + step->first_move;
    for (uint32_t i = 0; i < step->move_count && good; i++)
        for (uint32_t k = 0; k < step->move_count && good; k++)
            good = is_held(finder, moves[i].source) &&
                   may_write(plan, moves[i].source, moves[k].target);
    for (uint32_t i = 0; i < step->move_count; i++)
        hold(finder, moves[i].target);
    return good;
}

/* Every step finds what it reads, and the host its outputs. */
static bool places_suffice(Finder *finder) {
    const Plan *plan = finder->plan;
    const Graph *graph = finder->graph;
    for (uint32_t v = 0; v < plan->value_count; v++)
        finder->held[v] = PLAN_NONE;
    for (uint32_t i = 0; i < graph->ops.count; i++)
        if (graph->ops.items[i].kind == GRAPH_INPUT)
            finder->held[plan->places[graph->ops.items[i].result].value] =
                graph->ops.items[i].result;
    for (uint32_t s = 0; s < plan->step_count; s++)
        if (!follow_step(finder, &plan->steps[s]))
            return false;
    for (uint32_t i = 0; i < graph->ops.count; i++)
        if (graph->ops.items[i].kind == GRAPH_OUTPUT &&
            !is_held(finder, graph->ops.items[i].operands[0]))
            return false;
    return true;
}

/* ---- loops */

/* Is the step within an iteration of the loop? */
static bool is_within(const PlanLoop *loop, uint32_t step) {
    return step - loop->first_step < loop->step_count * loop->times;
}

static bool reads(const Plan *plan, const PlanStep *step, uint32_t value) {
    bool found = step->sources[0] == value || step->sources[1] == value;
    for (uint32_t i = 0; i < step->move_count; i++)
        found = found || plan->moves[step->first_move + i].source == value;
    return found;
}

/* Chains become places. False if members of a row of parameters are used out of their turn. */
static bool share_places(Finder *finder, const PlanLoop *loop) {
    Plan *plan = finder->plan;
    for (uint32_t v = 0; v < plan->value_count; v++) {
        if (finder->before[v] != PLAN_NONE || finder->next[v] == PLAN_NONE)
            continue;
        bool row = is_parameter(finder, v);
        uint32_t member = 0;
        for (uint32_t at = v; at != PLAN_NONE; at = finder->next[at], member++) {
            PlanPlace *place = &plan->places[at];
            if (row && (place->members > 1 || place->value != at))
                return false; /* of another loop */
            uint32_t old = place->value;
            for (uint32_t w = 0; w < plan->value_count && !row; w++)
                if (plan->places[w].value == old)
                    plan->places[w].value = plan->places[v].value;
            if (row)
                *place = (PlanPlace){v, member, 1};
            for (uint32_t s = 0; s < plan->step_count && row; s++)
                if (reads(plan, &plan->steps[s], at) &&
                    (!is_within(loop, s) || (s - loop->first_step) / loop->step_count != member))
                    return false;
        }
        if (row && member != loop->times)
            return false;
        if (row)
            plan->places[v].members = member;
    }
    return true;
}

/* How often the steps from `first` on repeat with this period. */
static uint32_t count_times(const Finder *finder, uint32_t first, uint32_t period) {
    uint32_t alike = 0;
    while (first + period + alike < finder->plan->step_count &&
           is_alike(finder, first + alike, first + period + alike))
        alike++;
    return 1 + alike / period;
}

/* Makes it a loop if its places suffice; else everything stays as it was. */
static bool try_loop(Finder *finder, const PlanLoop *loop, PlanPlace *kept) {
    Plan *plan = finder->plan;
    for (uint32_t v = 0; v < plan->value_count; v++)
        finder->next[v] = finder->before[v] = PLAN_NONE;
    memcpy(kept, plan->places, plan->value_count * sizeof *kept);
    bool good = true;
    for (uint32_t s = 0; s < loop->step_count * (loop->times - 1) && good; s++)
        good = pair_steps(finder, loop->first_step + s, loop->first_step + s + loop->step_count);
    for (uint32_t v = 0; v < plan->value_count; v++)
        if (finder->next[v] == v) /* invariant */
            finder->next[v] = finder->before[v] = PLAN_NONE;
    good = good && share_places(finder, loop) && places_suffice(finder);
    if (!good)
        memcpy(plan->places, kept, plan->value_count * sizeof *kept);
    return good;
}

/* A value that is carried cannot be written where it is still read: then two iterations make a
 * body, which takes their values to places of their own. */
enum { MOST_ITERATIONS = 2 };

static bool find_at(Finder *finder, uint32_t first, PlanLoop *loop, PlanPlace *kept) {
    uint32_t found = 0;
    for (uint32_t s = first + 1; s < finder->plan->step_count && found < MOST_ITERATIONS; s++) {
        if (!is_alike(finder, first, s))
            continue;
        found++;
        *loop = (PlanLoop){first, s - first, count_times(finder, first, s - first)};
        if (loop->times > 1 && try_loop(finder, loop, kept))
            return true;
    }
    return false;
}

static Status find_all(Finder *finder, PlanPlace *kept, Diag *diag) {
    Plan *plan = finder->plan;
    VEC(PlanLoop) loops = {0};
    for (uint32_t s = 0; s < plan->step_count;) {
        PlanLoop loop;
        if (finder->graph->ops.items[plan->steps[s].op].first == GRAPH_NONE ||
            !find_at(finder, s, &loop, kept)) {
            s++;
            continue;
        }
        if (!vec_push(&loops, loop)) {
            vec_free(&loops);
            return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "the loops of a plan");
        }
        s += loop.step_count * loop.times;
    }
    plan->loop_count = (uint32_t)loops.count;
    plan->loops = loops.items;
    return STATUS_OK;
}

Status loop_find(const Graph *graph, Plan *plan, Diag *diag) {
    size_t count = (size_t)plan->value_count + 1;
    Finder finder = {.graph = graph,
                     .plan = plan,
                     .next = mem_alloc(count, sizeof *finder.next),
                     .before = mem_alloc(count, sizeof *finder.before),
                     .held = mem_alloc(count, sizeof *finder.held)};
    PlanPlace *kept = mem_alloc(count, sizeof *kept);
    plan->places = mem_alloc(count, sizeof *plan->places);
    Status status = STATUS_OK;
    if (!finder.next || !finder.before || !finder.held || !kept || !plan->places)
        status = diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "the loops of a plan");
    for (uint32_t v = 0; v < plan->value_count && !status; v++)
        plan->places[v] = (PlanPlace){v, 0, 1};
    if (!status)
        status = find_all(&finder, kept, diag);
    mem_free(finder.next);
    mem_free(finder.before);
    mem_free(finder.held);
    mem_free(kept);
    return status;
}
