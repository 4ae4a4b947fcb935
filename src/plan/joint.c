/* A graph of several operations: every GEMM alone first, then the best of each together.
 *
 * What a GEMM costs depends on its neighbours only by where its operands come from. Alone, they are
 * taken as evenly spread; of the choices that are best then, or that leave more memory, or whose
 * result is better spread, some are kept and priced in the whole graph: all together if they are
 * few, else one GEMM after the other, all others held, until nothing gets better. */
#include "plan/joint.h"

#include "chip/chip.h"

#include <stdlib.h>
#include <string.h>

enum {
    KEPT_CHOICES = 48,      /* of one GEMM */
    KEPT_PLANS = 64,        /* whole ones */
    MOST_PLANS = 1 << 13,   /* priced all together */
    SCANNED_CHOICES = 6000, /* of one GEMM, cheapest first */
};

/* A choice of one product and one of another with which the latter takes the result of the former
 * where it lies. */
typedef struct JointPair {
    uint32_t maker, made, user, used;
} JointPair;

/* Where memory is so short that parameters get fewer copies, plans leave room for programs, rows
 * and gaps, of which nothing is known yet, the next ones twice as much, and so on: else all that
 * are kept would lack a little. */
enum { MOST_LEVELS = 4, ROOM_BESIDE_VALUES = 48 << 10, GAPS_BETWEEN_PAIRS = 16 << 10 };

typedef VEC(PlanCandidate) PlanList;

typedef struct Joint {
    const Graph *graph;
    PlanSearch *search;
    const PlanTask *task;
    PriceTable *table;
    Sketch sketch;
    bool cut;            /* some products are blocks of cut ones */
    uint32_t *product;   /* [choosing]: which one it is */
    GemmChoice *choices; /* [choosing]: what is being priced */
    uint32_t *at;        /* [products]: choice of each */
    VEC(JointPair) pairs;
    uint32_t level, levels; /* how much room is left beside values, and how often it is raised */
    PlanList found[MOST_LEVELS];
    Diag *diag;
} Joint;

static Status no_memory(Diag *diag) {
    return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "searching for a plan");
}

/* ---- products */

static bool on_chip(const Joint *joint, const GemmOperand *operand) {
    return task_on_chip(joint->graph, operand, joint->search->options.device_input);
}

/* Blocks of a cut product are alike, also the last one, which may have fewer columns. */
static uint32_t first_alike(const Graph *graph, uint32_t op) {
    uint32_t first = graph->ops.items[op].first_block;
    return first == GRAPH_NONE ? op : first;
}

static bool is_alike(const Joint *joint, uint32_t a, uint32_t b) {
    const Graph *graph = joint->graph;
    PlanGemm x = gemm_describe(graph, first_alike(graph, a));
    PlanGemm y = gemm_describe(graph, first_alike(graph, b));
    if (x.rows != y.rows || x.inner != y.inner || x.columns != y.columns ||
        x.precision != y.precision || x.scale != y.scale)
        return false;
    for (int i = 0; i < 2; i++)
        if (x.operands[i].inner_axis != y.operands[i].inner_axis ||
            (x.operands[i].cast == GRAPH_NONE) != (y.operands[i].cast == GRAPH_NONE) ||
            on_chip(joint, &x.operands[i]) != on_chip(joint, &y.operands[i]))
            return false;
    return true;
}

static Status add_operand(const Joint *joint, Graph *graph, const GemmOperand *operand,
                          const char *name, uint32_t *value) {
    const GraphValue *used = &joint->graph->values.items[operand->value];
    bool chip = on_chip(joint, operand);
    Precision f16 = {.kind = PRECISION_F16};
    bool cast = used->precision.kind == PRECISION_F8F143 && (chip || operand->cast != GRAPH_NONE);
    Precision precision = cast ? f16 : used->precision;
    Status status =
        chip ? graph_add_input(graph, name, name, precision, used->shape, value, joint->diag)
             : graph_add_parameter(graph, name, name, precision, used->shape, value, joint->diag);
    char cast_name[8];
    snprintf(cast_name, sizeof cast_name, "%s8", name);
    if (!status && cast)
        status = graph_add_cast(graph, cast_name, *value, used->precision, value, joint->diag);
    return status;
}

static Status build_product(const Joint *joint, PlanProduct *product) {
    PlanGemm gemm = gemm_describe(joint->graph, product->op);
    const GraphOp *op = &joint->graph->ops.items[product->op];
    uint32_t left, right, result;
    Status status = graph_create(&product->graph, joint->diag);
    if (!status)
        status = add_operand(joint, product->graph, &gemm.operands[0], "x", &left);
    if (!status)
        status = add_operand(joint, product->graph, &gemm.operands[1], "w", &right);
    if (!status)
        status = graph_add_gemm(product->graph, "y", left, right, op->transpose_left,
                                op->transpose_right, &result, joint->diag);
    return status ? status : graph_add_output(product->graph, "y", result, joint->diag);
}

static void add_product(Joint *joint, uint32_t index) {
    PlanSearch *search = joint->search;
    uint32_t op = joint->task->choosing.items[index];
    for (uint32_t i = 0; i < search->product_count; i++)
        if (is_alike(joint, search->products[i].op, op)) {
            joint->product[index] = i;
            return;
        }
    joint->product[index] = search->product_count;
    search->products[search->product_count++] = (PlanProduct){.op = op};
}

/* ---- forced grids */

/* "up" names "up" and, in a graph whose repeats are unrolled, "up.0", "up.1", … */
static bool is_named(const char *value, const char *name) {
    size_t length = strlen(name);
    if (strncmp(value, name, length) != 0)
        return false;
    if (value[length] == 0)
        return true;
    const char *digits = value + length + 1;
    return value[length] == '.' && *digits != 0 && digits[strspn(digits, "0123456789")] == 0;
}

static bool force_names(const Joint *joint, const PlanForce *force, uint32_t op) {
    const char *value = joint->graph->values.items[joint->graph->ops.items[op].result].name;
    bool only = joint->task->choosing.count == 1 && strcmp(force->operation, "gemm") == 0;
    return only || is_named(value, force->operation);
}

static bool is_same_grid(const PlanForce *a, const PlanForce *b) {
    return a->rows == b->rows && a->columns == b->columns && a->inner == b->inner &&
           a->swapped == b->swapped;
}

static Status find_forces(const Joint *joint) {
    static char only[] = "gemm"; /* what a product is called in a graph of its own */
    const PlanOptions *options = &joint->search->options;
    for (size_t f = 0; f < options->force_count; f++) {
        const PlanForce *force = &options->forces[f];
        bool used = false;
        for (size_t i = 0; i < joint->task->choosing.count; i++) {
            PlanProduct *product = &joint->search->products[joint->product[i]];
            if (!force_names(joint, force, joint->task->choosing.items[i]))
                continue;
            if (product->force.operation && !is_same_grid(&product->force, force))
                return diag_error(joint->diag, ERR_PLAN_GRID, DIAG_NOWHERE, "two grids for \"%s\"",
                                  force->operation);
            product->force = *force;
            product->force.operation = only;
            used = true;
        }
        if (used)
            continue;
        Status status = diag_error(joint->diag, ERR_PLAN_GRID, DIAG_NOWHERE,
                                   "a grid for \"%.60s\", which is no operation of the graph",
                                   force->operation);
        for (uint32_t i = 0; i < joint->search->product_count; i++)
            diag_fix(joint->diag, "name the result of a product: %s",
                     joint->graph->values
                         .items[joint->graph->ops.items[joint->search->products[i].op].result]
                         .name);
        return status;
    }
    return STATUS_OK;
}

/* ---- the choices of one product */

/* What makes a choice worth keeping: cycles alone, with what follows on the largest part of its
 * result; bytes of its parameters on the fullest tile; bytes at its worst step. */
typedef struct Merit {
    uint64_t cycles, resident, peak;
    uint64_t weights; /* of resident, the right operand: of a cut product, this block's own */
    bool swapped, early;
    bool half; /* of an early cast: producers may hold half panels */
} Merit;

/* Cycles for each value that operations value by value take, about. */
enum { POINT_CYCLES = 3 };

static Merit merit_of(const PlanProduct *product, const PlanGemm *gemm,
                      const PlanCandidate *candidate) {
    const GemmChoice *choice = &candidate->gemm;
    Format result = gemm_result_format(gemm, choice);
    const Shape *shape = &product->graph->values.items[gemm->result].shape;
    Merit merit = {.peak = candidate->tile_bytes,
                   .swapped = choice->swapped,
                   .early = choice->operands[0].early || choice->operands[1].early};
    for (int i = 0; i < 2; i++)
        merit.half |= choice->operands[i].early && choice->operands[i].half;
    merit.cycles = candidate->cycles + POINT_CYCLES * format_widest_bytes(&result, shape) / 2;
    for (int i = 0; i < 2; i++) {
        if (!gemm->operands[i].parameter)
            continue;
        Format home = gemm_home_format(product->graph, gemm, choice, i);
        uint64_t bytes = format_widest_bytes(
            &home, &product->graph->values.items[gemm->operands[i].source].shape);
        merit.resident += bytes;
        merit.weights += i ? bytes : 0;
    }
    return merit;
}

static bool is_better(const Merit *a, const Merit *b) {
    return a->swapped == b->swapped && a->early == b->early && a->half == b->half &&
           a->cycles <= b->cycles && a->resident <= b->resident && a->peak <= b->peak;
}

typedef struct Kept {
    Merit merit;
    GemmChoice choice;
} Kept;

static int compare_kept(const void *first, const void *second) {
    const Kept *a = first, *b = second;
    return (a->merit.cycles > b->merit.cycles) - (a->merit.cycles < b->merit.cycles);
}

/* Do the weights of all blocks leave room for the worst step of one? */
static bool has_room(const Merit *merit, uint32_t blocks) {
    return merit->weights * (blocks - 1) + merit->peak <=
           CHIP_TILE_MEM_SIZE - CHIP_SUPPORT_RESERVE_BYTES;
}

/* blocks: so many products, blocks of a cut one, are cut alike, or 0; then time is what there is,
 * and what surely has no room is left out. */
static Status keep_choices(PlanProduct *product, uint32_t blocks, Diag *diag) {
    PlanTask task;
    VEC(Kept) kept = {0};
    Status status = task_find(product->graph, &product->search.options, &task, diag);
    size_t scanned =
        blocks ? product->search.count : MIN_OF(product->search.count, (size_t)SCANNED_CHOICES);
    for (size_t i = 0; i < scanned && !status; i++) {
        const PlanCandidate *candidate = &product->search.candidates[i];
        Kept item = {merit_of(product, &task.gemm, candidate), candidate->gemm};
        if (blocks && !has_room(&item.merit, blocks))
            continue;
        bool beaten = false;
        size_t left = 0;
        for (size_t k = 0; k < kept.count && !beaten; k++)
            beaten = is_better(&kept.items[k].merit, &item.merit);
        if (beaten)
            continue;
        for (size_t k = 0; k < kept.count; k++)
            if (!is_better(&item.merit, &kept.items[k].merit))
                kept.items[left++] = kept.items[k];
        kept.count = left;
        if (!vec_push(&kept, item))
            status = no_memory(diag);
    }
    if (kept.count > 1)
        qsort(kept.items, kept.count, sizeof(Kept), compare_kept);
    for (size_t i = 0; i < kept.count && i < KEPT_CHOICES && !status; i++)
        if (!vec_push(&product->choices, kept.items[i].choice))
            status = no_memory(diag);
    vec_free(&kept);
    task_free(&task);
    return status;
}

/* Blocks of the cut product that `op` is one of; 0: of none. */
static uint32_t count_blocks(const Joint *joint, uint32_t op) {
    const GraphOp *ops = joint->graph->ops.items;
    uint32_t blocks = 0;
    for (size_t i = 0; i < joint->task->choosing.count && ops[op].first_block != GRAPH_NONE; i++)
        blocks += ops[joint->task->choosing.items[i]].first_block == ops[op].first_block;
    return blocks;
}

static Status search_product(const Joint *joint, PlanProduct *product) {
    Status status = build_product(joint, product);
    if (status)
        return status;
    PlanOptions options = joint->search->options;
    options.device_input = true;
    options.forces = &product->force;
    options.force_count = product->force.operation != NULL;
    options.format_count = 0;
    status = plan_search(product->graph, &options, &product->search, joint->diag);
    if (status == ERR_PLAN_GRID) {
        uint32_t result = joint->graph->ops.items[product->op].result;
        diag_note(joint->diag, "\"gemm\" is here the product %%%s",
                  joint->graph->values.items[result].name);
    }
    joint->search->grids += product->search.grids;
    joint->search->left_out |= product->search.left_out;
    return status ? status : keep_choices(product, count_blocks(joint, product->op), joint->diag);
}

/* ---- products that take a result where it lies */

/* The product whose result an operand is, but for what is done value by value; GRAPH_NONE if there
 * is none. */
static uint32_t maker_of(const Graph *graph, uint32_t value) {
    for (;;) {
        uint32_t index = graph->values.items[value].op;
        const GraphOp *op = &graph->ops.items[index];
        switch (op->kind) {
        case GRAPH_GEMM: return index;
        case GRAPH_CAST:
        case GRAPH_GELU: value = op->operands[0]; break;
        case GRAPH_ADD:
            value = op->operands[0];
            if (graph->ops.items[graph->values.items[value].op].kind == GRAPH_PARAMETER)
                value = op->operands[1];
            break;
        default: return GRAPH_NONE;
        }
    }
}

/* Of a forced grid the cheapest choice and the one that takes least memory. */
static Status add_choices_of(Joint *joint, uint32_t user, const PlanForce *force, JointPair pair) {
    PlanProduct *product = &joint->search->products[user];
    PlanOptions options = product->search.options;
    PlanSearch search;
    options.forces = force;
    options.force_count = 1;
    Status status = plan_search(product->graph, &options, &search, joint->diag);
    if (!status && search.count > 0) {
        const GemmChoice *choices[] = {&search.candidates[0].gemm, &search.least.gemm};
        uint32_t count = 1 + (search.least.cycles > 0);
        for (uint32_t i = 0; i < count && !status; i++) {
            pair.used = (uint32_t)product->choices.count;
            if (!vec_push(&product->choices, *choices[i]) || !vec_push(&joint->pairs, pair))
                status = no_memory(joint->diag);
        }
    }
    plan_search_free(&search);
    return status;
}

/* The grid of `user` whose parts are those of what `maker` leaves with a choice. */
static Status add_pair(Joint *joint, uint32_t maker, GemmChoice made, uint32_t user,
                       const PlanGemm *gemm, int operand) {
    static char only[] = "gemm";
    GemmChoice grid = {.rows = made.rows,
                       .columns = 1,
                       .inner = made.columns,
                       .swapped = operand == 1,
                       .owner_rows = 1,
                       .owner_columns = 1};
    uint32_t lines = made.swapped ? 0 : 1;
    if (made.inner > 1 || gemm->operands[operand].inner_axis != lines ||
        gemm_check_choice(gemm, &grid, joint->search->options.tiles, NULL))
        return STATUS_OK;
    PlanProduct *product = &joint->search->products[maker];
    JointPair pair = {.maker = maker, .made = (uint32_t)product->choices.count, .user = user};
    PlanForce force = {only, grid.rows, grid.columns, grid.inner, grid.swapped};
    made.rows_fast = true; /* as the tiles of a grid with one column are numbered */
    if (!vec_push(&product->choices, made))
        return no_memory(joint->diag);
    return add_choices_of(joint, user, &force, pair);
}

static Status find_pairs(Joint *joint) {
    const PlanSearch *search = joint->search;
    for (size_t i = 0; i < joint->task->choosing.count; i++) {
        uint32_t user = joint->product[i];
        if (search->products[user].op != joint->task->choosing.items[i])
            continue; /* one of several that are alike */
        PlanGemm gemm = gemm_describe(joint->graph, search->products[user].op);
        for (int k = 0; k < 2; k++) {
            uint32_t op = maker_of(joint->graph, gemm.operands[k].source), maker = 0;
            for (size_t j = 0; j < i && op != GRAPH_NONE; j++)
                if (joint->task->choosing.items[j] == op)
                    maker = joint->product[j] + 1;
            if (maker == 0 || maker - 1 == user)
                continue;
            const PlanProduct *product = &search->products[maker - 1];
            size_t count = product->choices.count;
            for (size_t c = 0; c < MIN_OF(count, (size_t)KEPT_CHOICES); c++) {
                Status status =
                    add_pair(joint, maker - 1, product->choices.items[c], user, &gemm, k);
                if (status)
                    return status;
            }
        }
    }
    return STATUS_OK;
}

/* ---- plans */

static void set_choices(Joint *joint) {
    for (size_t i = 0; i < joint->task->choosing.count; i++) {
        uint32_t product = joint->product[i];
        joint->choices[i] = joint->search->products[product].choices.items[joint->at[product]];
    }
}

static uint64_t bytes_over(const PlanCandidate *candidate, uint32_t rooms) {
    const uint64_t all = CHIP_TILE_MEM_SIZE - CHIP_SUPPORT_RESERVE_BYTES -
                         (uint64_t)rooms * ROOM_BESIDE_VALUES,
                   paired = CHIP_TILE_MEM_BASE + CHIP_TILE_MEM_SIZE - CHIP_REGION1_BASE -
                            (uint64_t)rooms * GAPS_BETWEEN_PAIRS;
    uint64_t over = candidate->tile_bytes > all ? candidate->tile_bytes - all : 0;
    return over + (candidate->interleaved > paired ? candidate->interleaved - paired : 0);
}

static uint32_t rooms_at(const Joint *joint, uint32_t level) {
    return joint->levels > 1 ? level + 1 : 0;
}

/* Plans that surely do not fit come last, those that lack least first. */
static int compare_plans(const Joint *joint, uint32_t level, const PlanCandidate *a,
                         const PlanCandidate *b) {
    uint32_t rooms = rooms_at(joint, level);
    uint64_t x = bytes_over(a, rooms), y = bytes_over(b, rooms);
    if (x != y)
        return x < y ? -1 : 1;
    if (a->cycles != b->cycles)
        return a->cycles < b->cycles ? -1 : 1;
    return (a->total_bytes > b->total_bytes) - (a->total_bytes < b->total_bytes);
}

/* Prices joint->at; false without memory. */
static bool price(Joint *joint, PlanCandidate *candidate) {
    set_choices(joint);
    bool possible = task_sketch(joint->graph, joint->task, joint->choices, &joint->search->options,
                                joint->table, &joint->sketch);
    if (!possible && joint->sketch.why) {
        joint->search->why = joint->sketch.why;
        joint->search->why_op = joint->sketch.why_op;
    }
    SketchBytes bytes = sketch_bytes(&joint->sketch);
    *candidate = (PlanCandidate){.gemm = joint->choices[0],
                                 .cycles = possible ? joint->sketch.cycles : 0,
                                 .tile_bytes = bytes.tile,
                                 .interleaved = bytes.interleaved,
                                 .total_bytes = bytes.total};
    return !joint->sketch.no_memory;
}

static bool is_same_plan(const Joint *joint, const GemmChoice *a, const GemmChoice *b) {
    size_t same = 0;
    while (same < joint->task->choosing.count && plan_choice_equal(&a[same], &b[same]))
        same++;
    return same == joint->task->choosing.count;
}

/* Is the plan that is being priced among the kept ones that cost the same, before `at`? */
static bool is_kept(const Joint *joint, uint32_t level, const PlanCandidate *candidate, size_t at) {
    const PlanCandidate *items = joint->found[level].items;
    for (; at > 0 && compare_plans(joint, level, candidate, &items[at - 1]) == 0; at--)
        if (is_same_plan(joint, items[at - 1].choices, joint->choices))
            return true;
    return false;
}

static bool keep_at(Joint *joint, uint32_t level, PlanCandidate candidate) {
    PlanList *found = &joint->found[level];
    size_t at = found->count, most = KEPT_PLANS / joint->levels;
    while (at > 0 && compare_plans(joint, level, &candidate, &found->items[at - 1]) < 0)
        at--;
    if (at >= most || is_kept(joint, level, &candidate, at))
        return true;
    size_t count = joint->task->choosing.count;
    GemmChoice *choices = arena_alloc(&joint->search->arena, count, sizeof *choices);
    if (!choices || !vec_push(found, candidate))
        return false;
    memcpy(choices, joint->choices, count * sizeof *choices);
    candidate.choices = choices;
    memmove(found->items + at + 1, found->items + at,
            (found->count - 1 - at) * sizeof *found->items);
    found->items[at] = candidate;
    found->count = MIN_OF(found->count, most);
    return true;
}

/* Keeps the plan of joint->at if it is one of the best. */
static bool keep(Joint *joint, PlanCandidate candidate) {
    bool memory = true;
    if (candidate.cycles == 0 || (joint->cut && bytes_over(&candidate, rooms_at(joint, 0)) > 0))
        return true;
    for (uint32_t level = 0; level < joint->levels && memory; level++)
        memory = keep_at(joint, level, candidate);
    return memory;
}

/* All that were kept, each once, those that leave more room last. */
static bool collect(Joint *joint) {
    PlanList *all = &joint->found[0];
    for (uint32_t level = 1; level < joint->levels; level++) {
        const PlanList *found = &joint->found[level];
        for (size_t i = 0; i < found->count; i++) {
            bool known = false;
            for (size_t k = 0; k < all->count && !known; k++)
                known = is_same_plan(joint, all->items[k].choices, found->items[i].choices);
            if (!known && !vec_push(all, found->items[i]))
                return false;
        }
    }
    return true;
}

static bool price_all(Joint *joint) {
    const PlanSearch *search = joint->search;
    for (;;) {
        PlanCandidate candidate;
        if (!price(joint, &candidate) || !keep(joint, candidate))
            return false;
        uint32_t i = 0;
        for (; i < search->product_count; i++) {
            if (++joint->at[i] < search->products[i].choices.count)
                break;
            joint->at[i] = 0;
        }
        if (i == search->product_count)
            return true;
    }
}

/* Takes the best choice of one product, the others held; *better tells whether that helped. */
static bool improve(Joint *joint, uint32_t product, PlanCandidate *best, bool *better) {
    uint32_t kept = joint->at[product];
    for (uint32_t i = 0; i < joint->search->products[product].choices.count; i++) {
        PlanCandidate candidate;
        joint->at[product] = i;
        if (!price(joint, &candidate) || !keep(joint, candidate))
            return false;
        if (candidate.cycles &&
            (!best->cycles || compare_plans(joint, joint->level, &candidate, best) < 0)) {
            *best = candidate;
            kept = i;
            *better = true;
        }
    }
    joint->at[product] = kept;
    return true;
}

/* Until the first plan is possible, all products change in turn. */
static bool descend(Joint *joint) {
    PlanCandidate best = {0};
    bool better = true;
    while (better) {
        better = false;
        for (uint32_t i = 0; i < joint->search->product_count; i++)
            if (!improve(joint, i, &best, &better))
                return false;
    }
    return true;
}

/* From the best normal or the best swapped choice of each product, in every combination of the
 * first six products. */
static bool descend_from_corners(Joint *joint) {
    uint32_t count = joint->search->product_count;
    uint32_t corners = 1u << MIN_OF(count, 6u);
    for (uint32_t corner = 0; corner < corners; corner++) {
        for (uint32_t i = 0; i < count; i++) {
            const PlanProduct *product = &joint->search->products[i];
            bool swapped = corner >> MIN_OF(i, 5u) & 1;
            joint->at[i] = 0;
            while (joint->at[i] + 1 < product->choices.count &&
                   product->choices.items[joint->at[i]].swapped != swapped)
                joint->at[i]++;
        }
        if (!descend(joint))
            return false;
    }
    return true;
}

/* From each pair, with the best of every other product. */
static bool descend_from_pairs(Joint *joint) {
    for (size_t i = 0; i < joint->pairs.count; i++) {
        const JointPair *pair = &joint->pairs.items[i];
        for (uint32_t k = 0; k < joint->search->product_count; k++)
            joint->at[k] = 0;
        joint->at[pair->maker] = pair->made;
        joint->at[pair->user] = pair->used;
        if (!descend(joint))
            return false;
    }
    return true;
}

static bool price_plans(Joint *joint) {
    uint64_t plans = 1;
    for (uint32_t i = 0; i < joint->search->product_count; i++) {
        plans *= joint->search->products[i].choices.count;
        if (plans == 0) {
            joint->search->why = "however it is cut, some part is multiplied by no kernel";
            joint->search->why_op = joint->search->products[i].op;
            return true;
        }
        plans = MIN_OF(plans, (uint64_t)MOST_PLANS + 1);
    }
    return plans <= MOST_PLANS ? price_all(joint)
                               : descend_from_corners(joint) && descend_from_pairs(joint);
}

static Status search_all(Joint *joint) {
    PlanSearch *search = joint->search;
    size_t count = joint->task->choosing.count;
    search->products = mem_alloc(count + 1, sizeof *search->products);
    joint->product = mem_alloc(count + 1, sizeof *joint->product);
    joint->choices = mem_alloc(count + 1, sizeof *joint->choices);
    joint->at = mem_alloc(count + 1, sizeof *joint->at);
    if (!search->products || !joint->product || !joint->choices || !joint->at)
        return no_memory(joint->diag);
    for (uint32_t i = 0; i < count; i++) {
        add_product(joint, i);
        joint->cut |= count_blocks(joint, joint->task->choosing.items[i]) > 0;
    }
    Status status = find_forces(joint);
    for (uint32_t i = 0; i < search->product_count && !status; i++)
        status = search_product(joint, &search->products[i]);
    if (!status && search->options.fewer_copies)
        status = find_pairs(joint);
    if (!status && !price_plans(joint))
        status = no_memory(joint->diag);
    if (!status && !collect(joint))
        status = no_memory(joint->diag);
    search->candidates = joint->found[0].items;
    search->count = joint->found[0].count;
    if (search->count > 0) {
        search->least = search->candidates[0];
        for (size_t i = 1; i < search->count; i++)
            if (search->candidates[i].tile_bytes < search->least.tile_bytes)
                search->least = search->candidates[i];
    }
    return status;
}

Status joint_search(PlanSearch *search, const PlanTask *task, PriceTable *table, Diag *diag) {
    search->is_graph = true;
    Joint joint = {
        .graph = search->graph, .search = search, .task = task, .table = table, .diag = diag};
    joint.levels = search->options.fewer_copies ? MOST_LEVELS : 1;
    Status status = search_all(&joint);
    for (uint32_t level = 1; level < MOST_LEVELS; level++)
        vec_free(&joint.found[level]);
    sketch_free(&joint.sketch);
    mem_free(joint.product);
    mem_free(joint.choices);
    mem_free(joint.at);
    vec_free(&joint.pairs);
    return status;
}

void joint_free(PlanSearch *search) {
    for (uint32_t i = 0; i < search->product_count; i++) {
        PlanProduct *product = &search->products[i];
        plan_search_free(&product->search);
        graph_free(product->graph);
        vec_free(&product->choices);
    }
    mem_free(search->products);
    search->products = NULL;
    search->product_count = 0;
}
