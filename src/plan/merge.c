/* Exchange phases that wait for none of each other become one.
 *
 * What must come before what follows from the storage that steps read and write. The longest chains
 * of phases give each phase the latest level at which nothing gets longer; those of one level are
 * independent. Computing steps follow as soon as what they need is there, in their old order. */
#include "plan/gemm.h"
#include "plan/loop.h"

#include <string.h>

enum { MOST_LEVELS = 64 }; /* bits of a mask */

/* Steps that stay together: an exchange with its local calls, or one computing step. */
typedef struct Unit {
    uint32_t first, count; /* steps */
    bool exchange;
    uint32_t after; /* phases on the longest chain that waits for it */
    uint32_t level; /* of an exchange; a computing step stands before the exchanges of its level */
} Unit;

typedef struct Units {
    const Plan *plan;
    Unit *items;
    uint32_t count, levels;
} Units;

static uint32_t storage_of(const Plan *plan, uint32_t value) {
    while (plan->values[value].inside_of != PLAN_NONE)
        value = plan->values[value].inside_of;
    return value;
}

/* Does the step read (or write, or either) this storage? */
static bool step_touches(const Plan *plan, const PlanStep *step, uint32_t storage, bool writes,
                         bool reads) {
    for (uint32_t i = 0; i < step->move_count; i++) {
        const PlanMove *move = &plan->moves[step->first_move + i];
        if ((writes && storage_of(plan, move->target) == storage) ||
            (reads && storage_of(plan, move->source) == storage))
            return true;
    }
    if (writes && step->target != PLAN_NONE && storage_of(plan, step->target) == storage)
        return true;
    for (int i = 0; i < 2 && reads; i++)
        if (step->sources[i] != PLAN_NONE && storage_of(plan, step->sources[i]) == storage)
            return true;
    return false;
}

static bool step_waits(const Plan *plan, const PlanStep *step, const PlanStep *before) {
    for (uint32_t i = 0; i < before->move_count; i++) {
        const PlanMove *move = &plan->moves[before->first_move + i];
        if (step_touches(plan, step, storage_of(plan, move->target), true, true) ||
            step_touches(plan, step, storage_of(plan, move->source), true, false))
            return true;
    }
    if (before->target != PLAN_NONE &&
        step_touches(plan, step, storage_of(plan, before->target), true, true))
        return true;
    for (int i = 0; i < 2; i++)
        if (before->sources[i] != PLAN_NONE &&
            step_touches(plan, step, storage_of(plan, before->sources[i]), true, false))
            return true;
    return false;
}

/* The last step of an exchange has all its moves. */
static bool unit_waits(const Units *units, uint32_t unit, uint32_t before) {
    const Unit *a = &units->items[before], *b = &units->items[unit];
    return step_waits(units->plan, &units->plan->steps[b->first + b->count - 1],
                      &units->plan->steps[a->first + a->count - 1]);
}

static void find_units(Units *units) {
    const Plan *plan = units->plan;
    for (uint32_t i = 0; i < plan->step_count;) {
        bool local =
            i + 1 < plan->step_count && plan_same_moves(&plan->steps[i], &plan->steps[i + 1]);
        Unit unit = {.first = i, .count = local ? 2 : 1};
        unit.exchange = local || plan->steps[i].kind == PLAN_EXCHANGE;
        units->items[units->count++] = unit;
        i += unit.count;
    }
}

static void find_levels(Units *units) {
    Unit *items = units->items;
    for (uint32_t i = units->count; i-- > 0;) {
        for (uint32_t k = i + 1; k < units->count; k++)
            if (unit_waits(units, k, i))
                items[i].after = MAX_OF(items[i].after, items[k].after + items[k].exchange);
        units->levels = MAX_OF(units->levels, items[i].after + items[i].exchange);
    }
    for (uint32_t i = 0; i < units->count; i++) {
        if (items[i].exchange)
            items[i].level = units->levels - 1 - items[i].after;
        for (uint32_t k = 0; k < i && !items[i].exchange; k++)
            if (unit_waits(units, i, k))
                items[i].level = MAX_OF(items[i].level, items[k].level + items[k].exchange);
    }
}

/* Free items with mem_free. */
static Status units_find(const Plan *plan, Units *units, Diag *diag) {
    *units = (Units){.plan = plan, .items = mem_alloc(plan->step_count + 1, sizeof(Unit))};
    if (!units->items)
        return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "ordering the steps of a plan");
    find_units(units);
    find_levels(units);
    return STATUS_OK;
}

static uint32_t phases_of_level(const Units *units, uint32_t level) {
    uint32_t phases = 0;
    for (uint32_t i = 0; i < units->count; i++)
        phases += units->items[i].exchange && units->items[i].level == level;
    return phases;
}

Status plan_mergeable(const Plan *plan, uint64_t *levels, Diag *diag) {
    Units units;
    *levels = 0;
    Status status = units_find(plan, &units, diag);
    for (uint32_t level = 0; !status && level < MIN_OF(units.levels, (uint32_t)MOST_LEVELS);
         level++)
        if (phases_of_level(&units, level) > 1)
            *levels |= UINT64_C(1) << level;
    mem_free(units.items);
    return status;
}

/* A plan being written; its arrays have room for all that the old one has. */
static void copy_unit(const Plan *old, const Unit *unit, Plan *plan) {
    for (uint32_t i = 0; i < unit->count; i++) {
        PlanStep step = old->steps[unit->first + i];
        /* Local calls and exchange have the same moves. */
        if (i == 0) {
            memcpy(&plan->moves[plan->move_count], &old->moves[step.first_move],
                   step.move_count * sizeof(PlanMove));
            plan->move_count += step.move_count;
        }
        step.first_move = plan->move_count - step.move_count;
        plan->steps[plan->step_count++] = step;
    }
}

/* All phases of a level as one: its price saves what every phase costs beyond its words. */
static void copy_level(const Units *units, uint32_t level, Plan *plan) {
    const Plan *old = units->plan;
    const uint64_t fixed = price_exchange(&(ExchangeLoad){0});
    PlanStep local = {.kind = PLAN_LOCAL, .op = PLAN_NONE}, exchange = {.op = PLAN_NONE};
    uint32_t first_move = plan->move_count;
    bool any_local = false;
    for (uint32_t i = 0; i < units->count; i++) {
        const Unit *unit = &units->items[i];
        if (!unit->exchange || unit->level != level)
            continue;
        const PlanStep *step = &old->steps[unit->first + unit->count - 1];
        memcpy(&plan->moves[plan->move_count], &old->moves[step->first_move],
               step->move_count * sizeof(PlanMove));
        plan->move_count += step->move_count;
        if (unit->count == 2) {
            any_local = true;
            local.cycles += step[-1].cycles;
        }
        if (exchange.op == PLAN_NONE) {
            exchange = *step;
            continue;
        }
        exchange.words += step->words;
        exchange.cycles += step->cycles - fixed;
        plan->predicted_cycles -= fixed;
    }
    exchange.first_move = local.first_move = first_move;
    exchange.move_count = local.move_count = plan->move_count - first_move;
    local.op = exchange.op;
    local.target = local.sources[0] = local.sources[1] = PLAN_NONE;
    if (any_local)
        plan->steps[plan->step_count++] = local;
    plan->steps[plan->step_count++] = exchange;
}

static void copy_units(const Units *units, uint32_t level, bool exchange, Plan *plan) {
    for (uint32_t i = 0; i < units->count; i++)
        if (units->items[i].level == level && units->items[i].exchange == exchange)
            copy_unit(units->plan, &units->items[i], plan);
}

Status plan_merge(const Graph *graph, const Plan *plan, uint64_t levels, Plan *merged, Diag *diag) {
    Units units = {0};
    Status status = plan_copy(plan, merged, diag);
    if (!status)
        status = units_find(plan, &units, diag);
    if (status) {
        plan_free(merged);
        return status;
    }
    merged->merged = 0;
    merged->step_count = merged->move_count = 0;
    for (uint32_t level = 0; level <= units.levels; level++) {
        copy_units(&units, level, false, merged);
        bool one =
            level < MOST_LEVELS && (levels >> level & 1) && phases_of_level(&units, level) > 1;
        if (one) {
            merged->merged |= UINT64_C(1) << level;
            copy_level(&units, level, merged);
        } else {
            copy_units(&units, level, true, merged);
        }
    }
    mem_free(units.items);
    mem_free(merged->loops);
    mem_free(merged->places);
    merged->loops = NULL;
    merged->places = NULL;
    merged->loop_count = 0;
    status = loop_find(graph, merged, diag);
    if (status)
        plan_free(merged);
    return status;
}
