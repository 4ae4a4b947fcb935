/* From a choice to stored values and steps. */
#include "plan/gemm.h"

#include <assert.h>
#include <string.h>

static uint32_t add_value(Sketch *sketch, PlanValue value) {
    assert(sketch->value_count < SKETCH_VALUES);
    sketch->values[sketch->value_count] = value;
    return sketch->value_count++;
}

static PlanStep *add_step(Sketch *sketch, PlanStepKind kind, uint32_t op, uint64_t cycles) {
    assert(sketch->step_count < SKETCH_STEPS);
    PlanStep *step = &sketch->steps[sketch->step_count++];
    *step = (PlanStep){.kind = kind,
                       .op = op,
                       .target = PLAN_NONE,
                       .sources = {PLAN_NONE, PLAN_NONE},
                       .cycles = cycles};
    sketch->cycles += cycles;
    return step;
}

static void add_compute(Sketch *sketch, PlanStepKind kind, uint32_t op, uint32_t target,
                        uint32_t source, uint32_t second, uint64_t cycles) {
    PlanStep *step = add_step(sketch, kind, op, cycles);
    step->target = target;
    step->sources[0] = source;
    step->sources[1] = second;
    sketch->possible = sketch->possible && cycles > 0;
}

static PlanValue stored(PlanValueKind kind, uint32_t graph_value, const Shape *shape,
                        const Format *format) {
    return (PlanValue){.kind = kind,
                       .graph_value = graph_value,
                       .shape = *shape,
                       .format = *format,
                       .members = 1,
                       .inside_of = PLAN_NONE,
                       .total_bytes = format_total_bytes(format, shape),
                       .widest_bytes = format_widest_bytes(format, shape)};
}

static void set_home(const Graph *graph, uint32_t value, Format format, Sketch *sketch) {
    sketch->values[value] = stored(PLAN_HOME, value, &graph->values.items[value].shape, &format);
}

/* ---- moves */

/* Moves of one phase while it is put together. */
typedef struct Phase {
    Sketch *sketch;
    uint32_t op, first_move;
    bool crosses; /* something goes from tile to tile */
    ExchangeLoad load;
    uint64_t local; /* cycles of kernels for what stays on a tile, and for padding */
} Phase;

static Phase begin_phase(Sketch *sketch, uint32_t op) {
    return (Phase){.sketch = sketch, .op = op, .first_move = sketch->move_count};
}

static void add_move(Phase *phase, uint32_t source, uint32_t target) {
    assert(phase->sketch->move_count < SKETCH_MOVES);
    phase->sketch->moves[phase->sketch->move_count++] = (PlanMove){source, target};
}

uint32_t plan_padded_extent(const Format *format, uint32_t axis, uint32_t extent) {
    for (uint32_t i = 0; i < format->axis_count; i++)
        if (format->axes[i].axis == axis && format->axes[i].groups == 1)
            return (uint32_t)align_up(extent, format->axes[i].padding);
    return extent;
}

static bool has_padding_inside(const Format *format) {
    for (uint32_t i = 0; i < format->axis_count; i++)
        if (format->axes[i].groups > 1 || format->axes[i].shard_padding > 1)
            return true;
    return false;
}

/* Does the target have padding that the source has not? */
static bool lacks_padding(const Format *from, const Format *to, const Shape *shape) {
    if (has_padding_inside(to))
        return true;
    for (uint32_t axis = 0; axis < shape->rank; axis++)
        if (plan_padded_extent(to, axis, shape->dims[axis]) >
            plan_padded_extent(from, axis, shape->dims[axis]))
            return true;
    return false;
}

/* A tile that uses a copy alone may hold part of it itself. */
static bool may_stay(const Format *from, const Format *to) {
    bool meet = from->first_tile < to->first_tile + to->tile_count &&
                to->first_tile < from->first_tile + from->tile_count;
    return meet && to->replicas <= from->replicas;
}

static bool on_one_tile(const Format *from, const Format *to) {
    return from->tile_count == 1 && to->tile_count == 1 && from->first_tile == to->first_tile;
}

/* Adds a move of stored values, with what it costs. */
static void price_move(Phase *phase, uint32_t source, uint32_t target, bool paired) {
    const PlanValue *from = &phase->sketch->values[source], *to = &phase->sketch->values[target];
    add_move(phase, source, target);
    load_add_move(&phase->load, &from->format, &to->format, &from->shape, paired);
    phase->crosses = phase->crosses || !on_one_tile(&from->format, &to->format);
    if (lacks_padding(&from->format, &to->format, &from->shape))
        phase->local += price_fill(to->widest_bytes);
    if (may_stay(&from->format, &to->format))
        phase->local += price_copy(MIN_OF(from->widest_bytes, to->widest_bytes));
}

/* Adds the moved value and its move; returns the value. */
static uint32_t move_value(Phase *phase, uint32_t source, const Format *to, bool paired) {
    const PlanValue *from = &phase->sketch->values[source];
    uint32_t target =
        add_value(phase->sketch, stored(PLAN_MOVED, from->graph_value, &from->shape, to));
    price_move(phase, source, target, paired);
    return target;
}

static void end_phase(const Phase *phase) {
    Sketch *sketch = phase->sketch;
    uint32_t count = sketch->move_count - phase->first_move;
    if (count == 0)
        return;
    if (phase->local > 0) {
        PlanStep *local = add_step(sketch, PLAN_LOCAL, phase->op, phase->local);
        local->first_move = phase->first_move;
        local->move_count = count;
    }
    if (!phase->crosses)
        return;
    PlanStep *step = add_step(sketch, PLAN_EXCHANGE, phase->op, price_exchange(&phase->load));
    step->first_move = phase->first_move;
    step->move_count = count;
    step->words = phase->load.words + phase->load.paired_words;
}

/* ---- one GEMM */

typedef struct Sketcher {
    const Graph *graph;
    const PlanGemm *gemm;
    const GemmChoice *choice;
    PriceTable *table;
    Sketch *sketch;
    uint32_t at[2]; /* where logical operand i has come to */
    Format want[2]; /* what its next move leads to */
} Sketcher;

static void add_cast(Sketcher *s, int i, uint32_t target) {
    const GemmOperand *operand = &s->gemm->operands[i];
    const PlanValue *from = &s->sketch->values[s->at[i]], *to = &s->sketch->values[target];
    uint64_t cycles = price_cast(&from->shape, &from->format, &to->format, s->table);
    add_compute(s->sketch, PLAN_CAST, operand->cast, target, s->at[i], PLAN_NONE, cycles);
    s->at[i] = target;
}

static bool casts_late(const Sketcher *s, int i) {
    return s->gemm->operands[i].cast != GRAPH_NONE && !s->choice->operands[i].early;
}

/* Homes, and the casts on them. */
static void start_operand(Sketcher *s, int i) {
    const GemmOperand *operand = &s->gemm->operands[i];
    Format home = gemm_home_format(s->graph, s->gemm, s->choice, i);
    set_home(s->graph, operand->source, home, s->sketch);
    s->at[i] = operand->source;
    if (operand->cast == GRAPH_NONE || casts_late(s, i))
        return;
    home = gemm_cast_home_format(s->graph, s->gemm, s->choice, i);
    set_home(s->graph, operand->value, home, s->sketch);
    add_cast(s, i, operand->value);
}

/* Both tiles of a pair take a stream that is shared along an even number of neighbours. */
static bool in_pairs(const GemmChoice *choice, int i) {
    int role = gemm_operand(choice, ROLE_LEFT) == i ? ROLE_LEFT : ROLE_RIGHT;
    bool fast = choice->rows_fast == (role == ROLE_RIGHT);
    return fast && gemm_users(choice, role) % 2 == 0;
}

static void move_operands(Sketcher *s) {
    Phase phase = begin_phase(s->sketch, s->gemm->op);
    for (int i = 0; i < 2; i++) {
        if (!gemm_moves(s->gemm, s->choice, i))
            continue;
        Format to = casts_late(s, i) ? gemm_staged_format(s->graph, s->gemm, s->choice, i)
                                     : gemm_use_format(s->graph, s->gemm, s->choice, i);
        s->at[i] = move_value(&phase, s->at[i], &to, in_pairs(s->choice, i));
    }
    end_phase(&phase);
}

static void finish_operand(Sketcher *s, int i) {
    if (!casts_late(s, i))
        return;
    uint32_t value = s->gemm->operands[i].value;
    set_home(s->graph, value, gemm_use_format(s->graph, s->gemm, s->choice, i), s->sketch);
    add_cast(s, i, value);
}

static Shape partials_shape(const Shape *result, uint32_t parts) {
    Shape shape = {.rank = result->rank + 1, .dims = {parts}};
    memcpy(shape.dims + 1, result->dims, result->rank * sizeof *result->dims);
    return shape;
}

/* The GEMM's target, or with inner parts the sum of its partials. */
static void add_product(Sketcher *s) {
    Sketch *sketch = s->sketch;
    const GemmChoice *choice = s->choice;
    uint32_t op = s->gemm->op, result = s->gemm->result;
    uint32_t left = s->at[gemm_operand(choice, ROLE_LEFT)];
    uint32_t right = s->at[gemm_operand(choice, ROLE_RIGHT)];
    set_home(s->graph, result, gemm_result_format(s->gemm, choice), sketch);
    uint64_t cycles = price_gemm(s->gemm, choice, s->table);
    if (choice->inner == 1) {
        add_compute(sketch, PLAN_GEMM, op, result, left, right, cycles);
        return;
    }
    Shape shape = partials_shape(&s->graph->values.items[result].shape, choice->inner);
    Format format = gemm_partials_format(choice);
    uint32_t partials = add_value(sketch, stored(PLAN_PARTIALS, result, &shape, &format));
    add_compute(sketch, PLAN_GEMM, op, partials, left, right, cycles);
    format = sketch->values[result].format;
    format.memory_class = choice->wide_sum ? MEMORY_INTERLEAVED : MEMORY_STANDARD;
    PlanValue received = stored(PLAN_RECEIVED, result, &sketch->values[result].shape, &format);
    received.members = choice->inner - 1;
    received.total_bytes *= received.members;
    received.widest_bytes *= received.members;
    Phase phase = begin_phase(sketch, op);
    uint32_t others = add_value(sketch, received);
    load_add_sum(&phase.load, s->gemm, choice);
    phase.crosses = true;
    add_move(&phase, partials, others);
    end_phase(&phase);
    if (gemm_contiguous_owners(s->gemm, choice)) {
        sketch->values[result].inside_of = partials;
        sketch->values[result].total_bytes = sketch->values[result].widest_bytes = 0;
    }
    add_compute(sketch, PLAN_REDUCE, op, result, partials, others,
                price_sum(s->gemm, choice, s->table));
}

void gemm_sketch(const Graph *graph, const PlanGemm *gemm, const GemmChoice *choice,
                 PriceTable *table, Sketch *sketch) {
    sketch->value_count = (uint32_t)graph->values.count;
    sketch->step_count = sketch->move_count = 0;
    sketch->possible = true;
    sketch->cycles = 0;
    Sketcher s = {.graph = graph, .gemm = gemm, .choice = choice, .table = table, .sketch = sketch};
    for (int i = 0; i < 2; i++)
        start_operand(&s, i);
    move_operands(&s);
    for (int i = 0; i < 2; i++)
        finish_operand(&s, i);
    add_product(&s);
}

/* ---- one cast */

static const Format *forced_format(const PlanOptions *options, uint32_t value) {
    for (size_t i = 0; i < options->format_count; i++)
        if (options->formats[i].value == value)
            return &options->formats[i].format;
    return NULL;
}

static AxisTiling *find_tiling(Format *format, uint32_t axis) {
    for (uint32_t i = 0; i < format->axis_count; i++)
        if (format->axes[i].axis == axis)
            return &format->axes[i];
    return NULL;
}

/* The packed format of the same ownership in another precision: row-major becomes left. Owners must
 * hold whole panels of both precisions; only the last one may be narrow. */
static bool in_precision(const Format *format, const Shape *shape, Precision precision,
                         Format *other) {
    *other = *format;
    other->precision = precision;
    OrderKind kind = format->order.kind;
    if (kind == ORDER_ROW_MAJOR)
        other->order = (Order){.kind = ORDER_LEFT};
    bool inner_is_row = kind == ORDER_TRANSPOSED_LEFT || kind == ORDER_RIGHT || kind == ORDER_BLOCK;
    if (shape->rank < 1u + inner_is_row)
        return false;
    uint32_t inner = shape->rank - 1 - inner_is_row;
    uint32_t panel = precision_group((Precision){.kind = PRECISION_F8F143});
    AxisTiling *tiling = find_tiling(other, inner);
    if (!tiling) {
        if (other->axis_count == SHAPE_MAX_RANK)
            return false;
        tiling = &other->axes[other->axis_count++];
        *tiling = axis_tiling(inner, 1, panel, 1);
    }
    if (other->order.inner_block == 0) {
        if (tiling->partitions == 1)
            tiling->block = panel;
        tiling->padding = precision_group(precision);
        tiling->shard_padding = 1;
    }
    return tiling->block % panel == 0 && format_check(other, shape, NULL) == STATUS_OK;
}

static bool same_owners(const Format *a, const Format *b, const Shape *shape) {
    if (a->first_tile != b->first_tile || a->tile_count != b->tile_count ||
        a->replicas != b->replicas)
        return false;
    for (uint32_t i = 0; i < a->tile_count; i++) {
        Shard x, y;
        uint32_t tile = a->first_tile + i;
        format_shard(a, shape, format_shard_of_tile(a, tile), &x);
        format_shard(b, shape, format_shard_of_tile(b, tile), &y);
        for (uint32_t axis = 0; axis < shape->rank; axis++) {
            const AxisBounds *p = &x.bounds[axis], *q = &y.bounds[axis];
            if (p->start < p->logical_end || q->start < q->logical_end)
                if (p->start != q->start || p->logical_end != q->logical_end)
                    return false;
        }
    }
    return true;
}

static void forced_cast(uint32_t op, uint32_t target, uint32_t source, PriceTable *table,
                        Sketch *sketch) {
    const PlanValue *from = &sketch->values[source], *to = &sketch->values[target];
    add_compute(sketch, PLAN_CAST, op, target, source, PLAN_NONE,
                price_cast(&from->shape, &from->format, &to->format, table));
}

bool cast_sketch(const Graph *graph, uint32_t op, const OperandChoice *choice,
                 const PlanOptions *options, PriceTable *table, Sketch *sketch) {
    uint32_t source = graph->ops.items[op].operands[0], result = graph->ops.items[op].result;
    const Format *from = forced_format(options, source), *to = forced_format(options, result);
    const Shape *shape = &graph->values.items[source].shape;
    *sketch = (Sketch){.value_count = (uint32_t)graph->values.count, .possible = true};
    set_home(graph, source, *from, sketch);
    set_home(graph, result, *to, sketch);
    if (same_owners(from, to, shape) && price_cast(shape, from, to, table) > 0) {
        forced_cast(op, result, source, table, sketch);
        return !choice->early && sketch->possible;
    }
    Format between;
    Phase phase = begin_phase(sketch, op);
    if (choice->early) {
        if (!in_precision(from, shape, to->precision, &between))
            return false;
        uint32_t owned = add_value(sketch, stored(PLAN_MOVED, result, shape, &between));
        forced_cast(op, owned, source, table, sketch);
        price_move(&phase, owned, result, false);
        end_phase(&phase);
        return sketch->possible;
    }
    if (!in_precision(to, shape, from->precision, &between))
        return false;
    uint32_t staged = move_value(&phase, source, &between, false);
    end_phase(&phase);
    forced_cast(op, result, staged, table, sketch);
    return sketch->possible;
}

/* ---- lifetimes and plans */

typedef struct Lifetime {
    uint32_t first, last;
    bool used;
} Lifetime;

static void touch(Lifetime *life, uint32_t event) {
    if (!life->used)
        *life = (Lifetime){event, event, true};
    life->first = MIN_OF(life->first, event);
    life->last = MAX_OF(life->last, event);
}

/* Events as in lowering: 0, one a step, the end. What local calls before an exchange have read may
 * be dead in it. */
static void find_lifetimes(const Graph *graph, const Sketch *sketch, Lifetime lives[]) {
    uint32_t end = sketch->step_count + 1;
    for (uint32_t i = 0; i < graph->ops.count; i++) {
        const GraphOp *op = &graph->ops.items[i];
        if (op->kind == GRAPH_OUTPUT || op->kind == GRAPH_PARAMETER)
            touch(&lives[graph_port_value(graph, i)], end);
        if (op->kind == GRAPH_INPUT || op->kind == GRAPH_PARAMETER)
            touch(&lives[op->result], 0);
    }
    for (uint32_t i = 0; i < sketch->step_count; i++) {
        const PlanStep *step = &sketch->steps[i];
        const uint32_t values[] = {step->target, step->sources[0], step->sources[1]};
        for (size_t k = 0; k < COUNT_OF(values); k++)
            if (values[k] != PLAN_NONE)
                touch(&lives[values[k]], i + 1);
        bool after_local = i > 0 && step[-1].kind == PLAN_LOCAL;
        for (uint32_t k = 0; k < step->move_count; k++) {
            if (!after_local)
                touch(&lives[sketch->moves[step->first_move + k].source], i + 1);
            touch(&lives[sketch->moves[step->first_move + k].target],
                  step->kind == PLAN_LOCAL ? i + 2 : i + 1);
        }
    }
    for (uint32_t i = 0; i < sketch->value_count; i++) {
        uint32_t root = sketch->values[i].inside_of;
        if (root != PLAN_NONE) {
            touch(&lives[root], lives[i].first);
            touch(&lives[root], lives[i].last);
        }
    }
}

SketchBytes sketch_bytes(const Graph *graph, const Sketch *sketch) {
    Lifetime lives[SKETCH_VALUES] = {0};
    find_lifetimes(graph, sketch, lives);
    SketchBytes bytes = {0};
    for (uint32_t event = 0; event <= sketch->step_count + 1; event++) {
        uint64_t all = 0, interleaved = 0;
        for (uint32_t i = 0; i < sketch->value_count; i++) {
            if (event < lives[i].first || event > lives[i].last)
                continue;
            const PlanValue *value = &sketch->values[i];
            all += value->widest_bytes;
            if (value->format.memory_class == MEMORY_INTERLEAVED)
                interleaved += value->widest_bytes;
        }
        bytes.tile = MAX_OF(bytes.tile, all);
        bytes.interleaved = MAX_OF(bytes.interleaved, interleaved);
    }
    for (uint32_t i = 0; i < sketch->value_count; i++)
        bytes.total += sketch->values[i].total_bytes;
    return bytes;
}

static void *copy_items(const void *items, uint32_t count, size_t size) {
    void *copy = mem_alloc((size_t)count + 1, size);
    if (copy && count > 0)
        memcpy(copy, items, count * size);
    return copy;
}

Status sketch_plan(const Sketch *sketch, Plan *plan, Diag *diag) {
    *plan = (Plan){.predicted_cycles = sketch->cycles,
                   .value_count = sketch->value_count,
                   .values = copy_items(sketch->values, sketch->value_count, sizeof(PlanValue)),
                   .step_count = sketch->step_count,
                   .steps = copy_items(sketch->steps, sketch->step_count, sizeof(PlanStep)),
                   .move_count = sketch->move_count,
                   .moves = copy_items(sketch->moves, sketch->move_count, sizeof(PlanMove))};
    if (plan->values && plan->steps && plan->moves)
        return STATUS_OK;
    plan_free(plan);
    return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "building a plan");
}

Status plan_copy(const Plan *plan, Plan *copy, Diag *diag) {
    *copy = *plan;
    copy->values = copy_items(plan->values, plan->value_count, sizeof(PlanValue));
    copy->steps = copy_items(plan->steps, plan->step_count, sizeof(PlanStep));
    copy->moves = copy_items(plan->moves, plan->move_count, sizeof(PlanMove));
    if (copy->values && copy->steps && copy->moves)
        return STATUS_OK;
    plan_free(copy);
    return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "copying a plan");
}
