#include "plan/joint.h"

#include <inttypes.h>
#include <string.h>

static const char *kind_name(const GemmChoice *choice) {
    static const char *const names[2][2] = {
        {"normal, standard weights", "normal, interleaved weights"},
        {"swapped, standard weights", "swapped, interleaved weights"},
    };
    return names[choice->swapped][choice->weights];
}

static void explain_part(const PlanGemm *gemm, const PlanCandidate *chosen, uint64_t cycles,
                         FILE *out) {
    const GemmChoice *choice = &chosen->gemm;
    GemmExtents whole = gemm_extents(gemm, choice->swapped), part = gemm_part(gemm, choice);
    uint32_t width = precision_group((Precision){.kind = gemm->precision});
    fprintf(out,
            "  largest part: %u rows x %u groups of 16 columns x %u panels of %u; "
            "smallest: %u x %u x %u\n",
            part.rows, part.groups, part.panels, width, whole.rows / choice->rows,
            whole.groups / choice->columns, whole.panels / choice->inner);
    double tiles = candidate_tiles(chosen);
    double useful = (double)gemm->rows * gemm->inner * gemm->columns / (4.0 * width) / tiles;
    double streamed = 4.0 * (double)part.rows * part.groups * part.panels, all = (double)cycles;
    fprintf(out,
            "  of the product's %.0f cycles, %.1f %% multiply logical values, %.1f %% padding or "
            "what other tiles have less,\n  %.1f %% load coefficients, fill pipelines and launch "
            "workers\n",
            all, 100 * useful / all, 100 * (streamed - useful) / all, 100 * (all - streamed) / all);
}

static void explain_values(const Graph *graph, const Plan *plan, FILE *out) {
    for (uint32_t i = 0; i < plan->value_count; i++) {
        const PlanValue *value = &plan->values[i];
        if (value->format.tile_count == 0)
            continue; /* part of what uses it */
        char *name = plan_value_name(graph, plan, i), *format = format_print(&value->format);
        fprintf(out,
                "  %%%s: %u %s, %" PRIu64 " bytes in all, %" PRIu64
                " on the fullest tile%s\n    %s\n",
                name ? name : "", value->format.replicas,
                value->format.replicas == 1 ? "copy" : "copies", value->total_bytes,
                value->widest_bytes, value->inside_of == PLAN_NONE ? "" : ", inside its partials",
                format ? format : "");
        mem_free(name);
        mem_free(format);
    }
}

/* Was an early cast chosen for a value that is cast for a product? */
static bool wants_early(const Graph *graph, const Plan *plan, uint32_t cast) {
    for (uint32_t i = 0; i < plan->choice_count; i++) {
        const PlanChoice *choice = &plan->choices[i];
        const GraphOp *op = &graph->ops.items[choice->op];
        for (uint32_t k = 0; k < 2 && op->kind == GRAPH_GEMM; k++)
            if (op->operands[k] == cast && choice->gemm.operands[k].early)
                return true;
    }
    return false;
}

static const char *cast_reason(const Graph *graph, const Plan *plan, const PlanStep *step) {
    if (plan->values[step->sources[0]].kind != PLAN_MOVED)
        return "the operand is wanted in FP8; cast on the tiles that hold it";
    return wants_early(graph, plan, plan->values[step->target].graph_value)
               ? "the operand is wanted in FP8; the tiles that held it have no whole panels to "
                 "cast "
                 "early, so it is cast where it is used"
               : "the operand is wanted in FP8; cast where it is used";
}

/* Why a move or a cast exists. */
static const char *reason(const Graph *graph, const Plan *plan, const PlanStep *step) {
    switch (step->kind) {
    case PLAN_LOCAL: return "what its next move leaves on a tile, and padding";
    case PLAN_GEMM: return "the product";
    case PLAN_PACK: return "rows become columns, which no exchange does";
    case PLAN_POINT:
        return graph->ops.items[graph->values.items[plan->values[step->target].graph_value].op]
                           .kind == GRAPH_CAST
                   ? "value by value, where they lie, and cast by the same kernel"
                   : "value by value, where they lie";
    case PLAN_TURN: return "its use wants the values of the other axis side by side";
    case PLAN_REDUCE: return "the inner dimension is cut";
    case PLAN_CAST: return cast_reason(graph, plan, step);
    case PLAN_EXCHANGE: break;
    }
    return plan->values[plan->moves[step->first_move].source].kind == PLAN_PARTIALS
               ? "each owner of a piece gets it from the other inner parts"
               : "these values do not lie where they are used";
}

static void explain_steps(const Graph *graph, const Plan *plan, FILE *out) {
    static const char *const names[] = {
        [PLAN_LOCAL] = "local copies", [PLAN_EXCHANGE] = "exchange", [PLAN_CAST] = "cast",
        [PLAN_GEMM] = "gemm",          [PLAN_REDUCE] = "sum",        [PLAN_POINT] = "point",
        [PLAN_TURN] = "turn",          [PLAN_PACK] = "pack"};
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const PlanStep *step = &plan->steps[i];
        fprintf(out, "  step %u: %s, %" PRIu64 " cycles: %s", i, names[step->kind], step->cycles,
                reason(graph, plan, step));
        for (uint32_t m = 0; m < step->move_count; m++) {
            char *name = plan_value_name(graph, plan, plan->moves[step->first_move + m].target);
            fprintf(out, "%s%%%s", m == 0 ? " (" : ", ", name ? name : "");
            mem_free(name);
        }
        fprintf(out, "%s\n", step->move_count ? ")" : "");
    }
}

static void explain_alternative(const PlanCandidate *chosen, const PlanCandidate *other,
                                FILE *out) {
    const GemmChoice *gemm = &other->gemm;
    fprintf(out,
            "    %4u x %-4u x %-3u %-28s %8" PRIu64 " cycles (%+.1f %%), %" PRIu64 " bytes a tile",
            gemm->rows, gemm->columns, gemm->inner, kind_name(gemm), other->cycles,
            100 * ((double)other->cycles / (double)chosen->cycles - 1), other->tile_bytes);
    if (gemm->inner > 1)
        fprintf(out, ", owners %u x %u", gemm->owner_rows, gemm->owner_columns);
    fprintf(out, "%s\n", gemm->operands[0].early || gemm->operands[1].early ? ", cast early" : "");
}

/* What makes two candidates be of one kind: orientation, weights, cut inner dimension, cast. */
static uint32_t kind_of(const GemmChoice *choice) {
    bool early = choice->operands[0].early || choice->operands[1].early;
    return (uint32_t)choice->swapped | (uint32_t)choice->weights << 1 |
           (uint32_t)(choice->inner > 1) << 2 | (uint32_t)early << 3;
}

/* Up to `limit` candidates from `first` on that are, or are not, of the chosen one's kind; of other
 * kinds only the best one each. */
static void explain_others(const PlanSearch *search, size_t chosen, bool same, int limit,
                           FILE *out) {
    const PlanCandidate *all = search->candidates;
    bool shown[16] = {false};
    uint32_t own = kind_of(&all[chosen].gemm);
    for (size_t i = chosen + 1; i < search->count && limit > 0; i++) {
        uint32_t kind = kind_of(&all[i].gemm);
        if ((kind == own) != same || (!same && shown[kind]))
            continue;
        shown[kind] = true;
        explain_alternative(&all[chosen], &all[i], out);
        limit--;
    }
}

/* What of a choice decides the format of one value: an operand, the class of the weights, or the
 * owners of the result. */
typedef enum Part { PART_LEFT, PART_RIGHT, PART_WEIGHTS, PART_OWNERS, PARTS } Part;

/* Of the same grid, with nothing else chosen otherwise than this? The numbering of tiles follows.
 */
static bool differs_in(const GemmChoice *chosen, const GemmChoice *other, Part part) {
    GemmChoice same = *other;
    same.rows_fast = chosen->rows_fast;
    if (part == PART_WEIGHTS)
        same.weights = chosen->weights;
    if (part == PART_LEFT || part == PART_RIGHT)
        same.operands[part] = chosen->operands[part];
    if (part == PART_OWNERS) {
        same.owner_rows = chosen->owner_rows;
        same.owner_columns = chosen->owner_columns;
        same.wide_sum = chosen->wide_sum;
    }
    return !plan_choice_equal(other, chosen) && plan_choice_equal(&same, chosen);
}

static void describe_part(const GemmChoice *choice, Part part, bool cast, FILE *out) {
    if (part == PART_WEIGHTS) {
        fprintf(out, "in %s memory", memory_class_name(choice->weights));
    } else if (part == PART_OWNERS) {
        fprintf(out, "%u x %u owners, parts received in %s memory", choice->owner_rows,
                choice->owner_columns,
                memory_class_name(choice->wide_sum ? MEMORY_INTERLEAVED : MEMORY_STANDARD));
    } else {
        const OperandChoice *operand = &choice->operands[part];
        fprintf(out, "%u %s", operand->copies, operand->copies == 1 ? "copy" : "copies");
        if (cast)
            fprintf(out, ", cast %s to %s panels from %s memory",
                    operand->early ? "before it moves" : "where it is used",
                    operand->half ? "half" : "whole",
                    memory_class_name(operand->fast ? MEMORY_INTERLEAVED : MEMORY_STANDARD));
    }
}

/* One value of a product: its format as chosen, and what the next best ones would cost. */
static void explain_part_formats(const PlanSearch *search, size_t chosen, Part part, bool cast,
                                 const char *name, FILE *out) {
    enum { SHOWN = 4 };
    const PlanCandidate *best = &search->candidates[chosen];
    int shown = 0;
    fprintf(out, "  %s%%%s: ", part == PART_OWNERS ? "result " : "operand ", name);
    describe_part(&best->gemm, part, cast, out);
    fputs("\n", out);
    for (size_t i = 0; i < search->count && shown < SHOWN; i++) {
        const PlanCandidate *other = &search->candidates[i];
        if (!differs_in(&best->gemm, &other->gemm, part))
            continue;
        fprintf(out, "    %+" PRId64 " cycles, %+" PRId64 " bytes a tile: ",
                (int64_t)(other->cycles - best->cycles),
                (int64_t)(other->tile_bytes - best->tile_bytes));
        describe_part(&other->gemm, part, cast, out);
        fputs("\n", out);
        shown++;
    }
    if (shown == 0)
        fputs("    no other one was priced for this grid\n", out);
}

/* The operands and the result of a product that the search knows as `gemm`. */
static void explain_formats(const PlanSearch *search, const PlanGemm *gemm, const bool cast[2],
                            const Graph *graph, size_t chosen, FILE *out) {
    const GemmChoice *choice = &search->candidates[chosen].gemm;
    int right = gemm_operand(choice, ROLE_RIGHT);
    for (int i = 0; i < 2; i++) {
        const char *name = graph->values.items[gemm->operands[i].value].name;
        explain_part_formats(search, chosen, (Part)i, cast[i], name, out);
        if (i == right)
            explain_part_formats(search, chosen, PART_WEIGHTS, false, name, out);
    }
    if (choice->inner > 1)
        explain_part_formats(search, chosen, PART_OWNERS, false,
                             graph->values.items[gemm->result].name, out);
}

static void explain_gemm(const PlanSearch *search, const PlanGemm *gemm, const Plan *plan,
                         size_t chosen, FILE *out) {
    const PlanCandidate *best = &search->candidates[chosen];
    fprintf(out, "%%%s: [%u,%u] x [%u,%u] on at most %u tiles\n",
            search->graph->values.items[gemm->result].name, gemm->rows, gemm->inner, gemm->inner,
            gemm->columns, search->options.tiles);
    fprintf(out, "  chosen: grid %u x %u x %u, %s: %" PRIu64 " cycles on %u tiles\n",
            best->gemm.rows, best->gemm.columns, best->gemm.inner, kind_name(&best->gemm),
            best->cycles, candidate_tiles(best));
    fprintf(out, "  %s %" PRIu64 " choices; %zu cheaper ones found no placement\n",
            search->options.force_count ? "forced, from" : "the cheapest of", search->grids,
            chosen);
    for (uint32_t i = 0; i < plan->step_count; i++)
        if (plan->steps[i].kind == PLAN_GEMM)
            explain_part(gemm, best, plan->steps[i].cycles, out);
    const bool cast[] = {gemm->operands[0].cast != GRAPH_NONE,
                         gemm->operands[1].cast != GRAPH_NONE};
    explain_formats(search, gemm, cast, search->graph, chosen, out);
}

/* Of one product of several: its grid, and what others would have cost alone. */
static void explain_product(const PlanSearch *search, const PlanProduct *product,
                            const GemmChoice *choice, FILE *out) {
    const GraphOp *op = &search->graph->ops.items[product->op];
    PlanGemm gemm = gemm_describe(search->graph, product->op);
    fprintf(out,
            "%%%s: [%u,%u] x [%u,%u]\n  chosen: grid %u x %u x %u, %s, of %" PRIu64 " choices\n",
            search->graph->values.items[op->result].name, gemm.rows, gemm.inner, gemm.inner,
            gemm.columns, choice->rows, choice->columns, choice->inner, kind_name(choice),
            product->search.grids);
    size_t at = 0;
    while (at < product->search.count &&
           !plan_choice_equal(&product->search.candidates[at].gemm, choice))
        at++;
    if (at == product->search.count)
        return;
    fprintf(out,
            "  alone, with operands evenly spread: %" PRIu64
            " cycles; %zu cheaper ones cost more in the whole\n  next best grids of this kind, and "
            "the best of the other kinds, alone:\n",
            product->search.candidates[at].cycles, at);
    explain_others(&product->search, at, true, 3, out);
    explain_others(&product->search, at, false, 5, out);
    fprintf(out, "  formats, and what others of this grid would change, alone:\n");
    bool cast[2];
    for (int i = 0; i < 2; i++) {
        const GemmOperand *operand = &gemm.operands[i];
        cast[i] = gemm.precision == PRECISION_F8F143 &&
                  (operand->cast != GRAPH_NONE ||
                   task_on_chip(search->graph, operand, search->options.device_input));
    }
    explain_formats(&product->search, &gemm, cast, search->graph, at, out);
}

static void explain_graph(const PlanSearch *search, size_t chosen, const PlanTask *task,
                          FILE *out) {
    const PlanCandidate *best = &search->candidates[chosen];
    fprintf(out,
            "%zu products, %u different, on at most %u tiles: %" PRIu64
            " cycles; %zu cheaper plans found no placement\n",
            task->choosing.count, search->product_count, search->options.tiles, best->cycles,
            chosen);
    for (uint32_t i = 0; i < search->product_count; i++)
        for (size_t k = 0; k < task->choosing.count; k++)
            if (task->choosing.items[k] == search->products[i].op)
                explain_product(search, &search->products[i], &best->choices[k], out);
}

void plan_explain(const PlanSearch *search, size_t chosen, FILE *out) {
    PlanTask task = {0};
    Plan plan = {0};
    if (task_find(search->graph, &search->options, &task, NULL) == STATUS_OK &&
        plan_build(search, &search->candidates[chosen], &plan, NULL) == STATUS_OK) {
        if (task.kind == TASK_GEMM)
            explain_gemm(search, &task.gemm, &plan, chosen, out);
        if (task.kind == TASK_GRAPH)
            explain_graph(search, chosen, &task, out);
        explain_steps(search->graph, &plan, out);
        explain_values(search->graph, &plan, out);
    }
    if (task.kind == TASK_GEMM) {
        fprintf(out, "  next best grids of this kind, and the best of the other kinds:\n");
        explain_others(search, chosen, true, 3, out);
        explain_others(search, chosen, false, 5, out);
    }
    plan_free(&plan);
    task_free(&task);
}
