/* From a choice to stored values and steps. */
#include "plan/sketch.h"

#include "chip/chip.h"

#include <assert.h>
#include <string.h>

static void no_memory(Sketch *sketch) {
    sketch->no_memory = true;
    sketch->possible = false;
}

void sketch_begin(Sketch *sketch, const Graph *graph) {
    sketch->graph = graph;
    sketch->values.count = sketch->steps.count = sketch->moves.count = 0;
    sketch->possible = true;
    sketch->why = NULL;
    sketch->no_memory = false;
    sketch->cycles = 0;
    PlanValue none = {.inside_of = PLAN_NONE};
    for (size_t i = 0; i < graph->values.count; i++)
        if (!vec_push(&sketch->values, none))
            no_memory(sketch);
}

void sketch_free(Sketch *sketch) {
    vec_free(&sketch->values);
    vec_free(&sketch->steps);
    vec_free(&sketch->moves);
    vec_free(&sketch->lives);
    *sketch = (Sketch){0};
}

uint32_t sketch_add_value(Sketch *sketch, PlanValue value) {
    if (!vec_push(&sketch->values, value)) {
        no_memory(sketch);
        return 0;
    }
    return (uint32_t)sketch->values.count - 1;
}

static PlanStep *add_step(Sketch *sketch, PlanStepKind kind, uint32_t op, uint64_t cycles) {
    static PlanStep lost;
    PlanStep step = {.kind = kind,
                     .op = op,
                     .target = PLAN_NONE,
                     .sources = {PLAN_NONE, PLAN_NONE},
                     .cycles = cycles};
    sketch->cycles += cycles;
    if (!vec_push(&sketch->steps, step)) {
        no_memory(sketch);
        return &lost;
    }
    return &sketch->steps.items[sketch->steps.count - 1];
}

void sketch_refuse(Sketch *sketch, uint32_t op, const char *why) {
    if (!sketch->possible)
        return;
    sketch->possible = false;
    sketch->why = why;
    sketch->why_op = op;
}

static const char *step_refusal(PlanStepKind kind) {
    switch (kind) {
    case PLAN_CAST: return "a part is cast by no kernel";
    case PLAN_GEMM: return "a part is multiplied by no kernel";
    case PLAN_REDUCE: return "partial sums are added up by no kernel";
    case PLAN_TURN: return "a part is transposed by no kernel";
    case PLAN_PACK: return "a part is packed by no kernel";
    case PLAN_POINT:
    case PLAN_LOCAL:
    case PLAN_EXCHANGE: break;
    }
    return "a part is taken by no kernel";
}

void sketch_add_compute(Sketch *sketch, PlanStepKind kind, uint32_t op, uint32_t target,
                        uint32_t source, uint32_t second, uint64_t cycles) {
    PlanStep *step = add_step(sketch, kind, op, cycles);
    step->target = target;
    step->sources[0] = source;
    step->sources[1] = second;
    if (cycles == 0)
        sketch_refuse(sketch, op, step_refusal(kind));
}

PlanValue sketch_stored(PlanValueKind kind, uint32_t graph_value, const Shape *shape,
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

void sketch_set_home(Sketch *sketch, uint32_t value, const Format *format) {
    const Shape *shape = &sketch->graph->values.items[value].shape;
    sketch->values.items[value] = sketch_stored(PLAN_HOME, value, shape, format);
}

/* ---- moves */

SketchPhase sketch_begin_phase(Sketch *sketch, uint32_t op) {
    return (SketchPhase){.sketch = sketch, .op = op, .first_move = (uint32_t)sketch->moves.count};
}

static void add_move(SketchPhase *phase, PlanMove move) {
    if (!vec_push(&phase->sketch->moves, move))
        no_memory(phase->sketch);
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

void sketch_price_move(SketchPhase *phase, uint32_t source, uint32_t target, bool paired) {
    const PlanValue *values = phase->sketch->values.items;
    const PlanValue *from = &values[source], *to = &values[target];
    add_move(phase, (PlanMove){.source = source, .target = target});
    load_add_move(&phase->load, &from->format, &to->format, &from->shape, paired);
    phase->crosses = phase->crosses || !on_one_tile(&from->format, &to->format);
    if (lacks_padding(&from->format, &to->format, &from->shape))
        phase->local += price_fill(to->widest_bytes);
    /* A value inside another one has a shard all the same. */
    uint64_t widest = from->inside_of == PLAN_NONE
                          ? from->widest_bytes
                          : format_widest_bytes(&from->format, &from->shape);
    if (may_stay(&from->format, &to->format))
        phase->local += price_copy(MIN_OF(widest, to->widest_bytes));
}

void sketch_move_rows(SketchPhase *phase, PlanMove move, bool zeroes) {
    const PlanValue *values = phase->sketch->values.items;
    const PlanValue *from = &values[move.source], *to = &values[move.target];
    const PlanValue *smaller = from->shape.dims[0] < to->shape.dims[0] ? from : to;
    bool begun = false;
    for (size_t i = 0; i < phase->sketch->moves.count && !begun; i++)
        begun = phase->sketch->moves.items[i].target == move.target;
    add_move(phase, move);
    load_add_move(&phase->load, &smaller->format, &smaller->format, &smaller->shape, false);
    phase->crosses = phase->crosses || !on_one_tile(&from->format, &to->format);
    bool lacks = has_padding_inside(&to->format) ||
                 plan_padded_extent(&to->format, 0, to->shape.dims[0]) > to->shape.dims[0] ||
                 plan_padded_extent(&to->format, 1, to->shape.dims[1]) >
                     plan_padded_extent(&from->format, 1, to->shape.dims[1]);
    if (!begun && (zeroes || lacks))
        phase->local += price_fill(to->widest_bytes);
    if (may_stay(&from->format, &to->format))
        phase->local += price_copy(format_widest_bytes(&smaller->format, &smaller->shape));
}

/* Where the value lies in a format already: the source itself, or an earlier move's target. */
static uint32_t find_stored(const Sketch *sketch, uint32_t source, const Format *format) {
    const PlanValue *from = &sketch->values.items[source];
    for (uint32_t i = 0; i < sketch->values.count; i++) {
        const PlanValue *value = &sketch->values.items[i];
        if ((i == source ||
             (value->kind == PLAN_MOVED && value->graph_value == from->graph_value)) &&
            shape_equal(&value->shape, &from->shape) && format_equal(&value->format, format))
            return i;
    }
    return PLAN_NONE;
}

uint32_t sketch_move_value(SketchPhase *phase, uint32_t source, const Format *to, bool paired) {
    uint32_t stored = find_stored(phase->sketch, source, to);
    if (stored != PLAN_NONE)
        return stored;
    const PlanValue *from = &phase->sketch->values.items[source];
    PlanValue moved = sketch_stored(PLAN_MOVED, from->graph_value, &from->shape, to);
    uint32_t target = sketch_add_value(phase->sketch, moved);
    sketch_price_move(phase, source, target, paired);
    return target;
}

void sketch_end_phase(const SketchPhase *phase) {
    Sketch *sketch = phase->sketch;
    uint32_t count = (uint32_t)sketch->moves.count - phase->first_move;
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
    const PlanGemm *gemm;
    const GemmChoice *choice;
    PriceTable *table;
    Sketch *sketch;
    bool early[2];  /* logical operand i is cast on the tiles of its home */
    uint32_t at[2]; /* where logical operand i has come to */
    Format want[2]; /* what its next move leads to */
} Sketcher;

static void add_cast(Sketcher *s, int i, uint32_t target) {
    const GemmOperand *operand = &s->gemm->operands[i];
    const PlanValue *from = &s->sketch->values.items[s->at[i]],
                    *to = &s->sketch->values.items[target];
    uint64_t cycles = price_cast(&from->shape, &from->format, &to->format, s->table);
    sketch_add_compute(s->sketch, PLAN_CAST, operand->cast, target, s->at[i], PLAN_NONE, cycles);
    s->at[i] = target;
}

/* As chosen, unless the operand lies where owners hold no whole panels: then it moves first. */
static bool can_cast_early(const Sketcher *s, int i) {
    const GemmOperand *operand = &s->gemm->operands[i];
    if (operand->cast == GRAPH_NONE || !s->choice->operands[i].early)
        return false;
    if (!operand->fixed)
        return true;
    Format cast = gemm_cast_home_format(s->sketch->graph, s->gemm, s->choice, i);
    const Shape *shape = &s->sketch->graph->values.items[operand->value].shape;
    return format_check(&cast, shape, NULL) == STATUS_OK &&
           price_cast(shape, &operand->home, &cast, s->table) > 0;
}

static bool casts_late(const Sketcher *s, int i) {
    return s->gemm->operands[i].cast != GRAPH_NONE && !s->early[i];
}

static AxisTiling tiling_on(const Format *format, uint32_t axis) {
    for (uint32_t i = 0; i < format->axis_count; i++)
        if (format->axes[i].axis == axis)
            return format->axes[i];
    return axis_tiling(axis, 1, 1, 1);
}

/* Does every tile hold in one format what it holds in the other, in the same order? */
static bool lies_alike(const Format *from, const Format *to, const Shape *shape) {
    if (!precision_equal(from->precision, to->precision) || !order_equal(from->order, to->order) ||
        from->first_tile != to->first_tile || from->tile_count != to->tile_count ||
        from->replicas != to->replicas ||
        (to->memory_class == MEMORY_INTERLEAVED && from->memory_class != MEMORY_INTERLEAVED))
        return false;
    for (uint32_t axis = 0; axis < shape->rank; axis++) {
        AxisTiling a = tiling_on(from, axis), b = tiling_on(to, axis);
        if (a.partitions != b.partitions || a.split != b.split ||
            (a.partitions > a.split && a.stride != b.stride) ||
            (a.split > 1 && a.split_stride != b.split_stride))
            return false;
        for (uint32_t q = 0; q < a.partitions; q++) {
            AxisBounds x = axis_bounds(&a, shape->dims[axis], q),
                       y = axis_bounds(&b, shape->dims[axis], q);
            if (x.start != y.start || x.logical_end != y.logical_end ||
                x.physical_end != y.physical_end)
                return false;
        }
    }
    return true;
}

static Format wanted_format(const Sketcher *s, int i) {
    return casts_late(s, i) ? gemm_staged_format(s->sketch->graph, s->gemm, s->choice, i)
                            : gemm_use_format(s->sketch->graph, s->gemm, s->choice, i);
}

/* Homes, and the casts on them. */
static void start_operand(Sketcher *s, int i) {
    const GemmOperand *operand = &s->gemm->operands[i];
    s->at[i] = operand->fixed ? operand->at : operand->source;
    if (!operand->fixed) {
        Format home = gemm_home_format(s->sketch->graph, s->gemm, s->choice, i);
        sketch_set_home(s->sketch, operand->source, &home);
    }
    if (operand->cast == GRAPH_NONE || casts_late(s, i))
        return;
    Format cast = gemm_cast_home_format(s->sketch->graph, s->gemm, s->choice, i);
    sketch_set_home(s->sketch, operand->value, &cast);
    add_cast(s, i, operand->value);
}

/* Both tiles of a pair take a stream that is shared along an even number of neighbours. */
static bool in_pairs(const GemmChoice *choice, int i) {
    int role = gemm_operand(choice, ROLE_LEFT) == i ? ROLE_LEFT : ROLE_RIGHT;
    bool fast = choice->rows_fast == (role == ROLE_RIGHT);
    return fast && gemm_users(choice, role) % 2 == 0;
}

/* What an operation has left just so as the product wants it is used where it lies. */
static void move_operands(Sketcher *s) {
    SketchPhase phase = sketch_begin_phase(s->sketch, s->gemm->op);
    for (int i = 0; i < 2; i++) {
        if (!gemm_moves(s->gemm, s->choice, i))
            continue;
        Format to = wanted_format(s, i);
        const PlanValue *from = &s->sketch->values.items[s->at[i]];
        if (!lies_alike(&from->format, &to, &from->shape))
            s->at[i] = sketch_move_value(&phase, s->at[i], &to, in_pairs(s->choice, i));
    }
    sketch_end_phase(&phase);
}

static void finish_operand(Sketcher *s, int i) {
    if (!casts_late(s, i))
        return;
    uint32_t value = s->gemm->operands[i].value;
    Format use = gemm_use_format(s->sketch->graph, s->gemm, s->choice, i);
    sketch_set_home(s->sketch, value, &use);
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
    Format home = gemm_result_format(s->gemm, choice);
    sketch_set_home(sketch, result, &home);
    uint64_t cycles = price_gemm(s->gemm, choice, s->table);
    if (choice->inner == 1) {
        sketch_add_compute(sketch, PLAN_GEMM, op, result, left, right, cycles);
        return;
    }
    Shape shape = partials_shape(&s->sketch->graph->values.items[result].shape, choice->inner);
    Format format = gemm_partials_format(s->gemm, choice);
    uint32_t partials =
        sketch_add_value(sketch, sketch_stored(PLAN_PARTIALS, result, &shape, &format));
    sketch_add_compute(sketch, PLAN_GEMM, op, partials, left, right, cycles);
    format = home;
    format.memory_class = choice->wide_sum ? MEMORY_INTERLEAVED : MEMORY_STANDARD;
    PlanValue received = sketch_stored(PLAN_RECEIVED, result,
                                       &s->sketch->graph->values.items[result].shape, &format);
    received.members = choice->inner - 1;
    received.total_bytes *= received.members;
    received.widest_bytes *= received.members;
    SketchPhase phase = sketch_begin_phase(sketch, op);
    uint32_t others = sketch_add_value(sketch, received);
    load_add_sum(&phase.load, s->gemm, choice);
    phase.crosses = true;
    add_move(&phase, (PlanMove){.source = partials, .target = others});
    sketch_end_phase(&phase);
    if (gemm_contiguous_owners(s->gemm, choice)) {
        PlanValue *piece = &sketch->values.items[result];
        piece->inside_of = partials;
        piece->total_bytes = piece->widest_bytes = 0;
    }
    sketch_add_compute(sketch, PLAN_REDUCE, op, result, partials, others,
                       price_sum(s->gemm, choice, s->table));
}

bool sketch_rests(const Sketch *sketch, const PlanGemm *gemm, const GemmChoice *choice, int i) {
    Sketcher s = {.gemm = gemm, .choice = choice, .sketch = (Sketch *)sketch};
    const GemmOperand *operand = &gemm->operands[i];
    if (!operand->fixed)
        return false;
    s.early[i] = can_cast_early(&s, i);
    Format from =
        s.early[i] ? gemm_cast_home_format(sketch->graph, gemm, choice, i) : operand->home;
    Format to = wanted_format(&s, i);
    return lies_alike(&from, &to, &sketch->graph->values.items[operand->value].shape);
}

void sketch_add_gemm(Sketch *sketch, const PlanGemm *gemm, const GemmChoice *choice,
                     PriceTable *table) {
    Sketcher s = {.gemm = gemm, .choice = choice, .table = table, .sketch = sketch};
    for (int i = 0; i < 2; i++)
        s.early[i] = can_cast_early(&s, i);
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

static bool is_packed_along_rows(OrderKind kind) {
    return kind == ORDER_TRANSPOSED_LEFT || kind == ORDER_RIGHT || kind == ORDER_BLOCK;
}

bool sketch_in_precision(const Format *format, const Shape *shape, Precision precision,
                         Format *other) {
    *other = *format;
    other->precision = precision;
    OrderKind kind = format->order.kind;
    if (kind == ORDER_ROW_MAJOR)
        other->order = (Order){.kind = ORDER_LEFT};
    bool inner_is_row = is_packed_along_rows(kind);
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
    const PlanValue *from = &sketch->values.items[source], *to = &sketch->values.items[target];
    sketch_add_compute(sketch, PLAN_CAST, op, target, source, PLAN_NONE,
                       price_cast(&from->shape, &from->format, &to->format, table));
}

bool sketch_cast(Sketch *sketch, uint32_t op, const OperandChoice *choice,
                 const PlanOptions *options, PriceTable *table) {
    const Graph *graph = sketch->graph;
    uint32_t source = graph->ops.items[op].operands[0], result = graph->ops.items[op].result;
    const Format *from = forced_format(options, source), *to = forced_format(options, result);
    const Shape *shape = &graph->values.items[source].shape;
    sketch_set_home(sketch, source, from);
    sketch_set_home(sketch, result, to);
    if (same_owners(from, to, shape) && price_cast(shape, from, to, table) > 0) {
        forced_cast(op, result, source, table, sketch);
        return !choice->early && sketch->possible;
    }
    Format between;
    SketchPhase phase = sketch_begin_phase(sketch, op);
    if (choice->early) {
        if (!sketch_in_precision(from, shape, to->precision, &between) ||
            is_packed_along_rows(between.order.kind) != is_packed_along_rows(to->order.kind))
            return false;
        uint32_t owned =
            sketch_add_value(sketch, sketch_stored(PLAN_MOVED, result, shape, &between));
        forced_cast(op, owned, source, table, sketch);
        sketch_price_move(&phase, owned, result, false);
        sketch_end_phase(&phase);
        return sketch->possible;
    }
    if (!sketch_in_precision(to, shape, from->precision, &between))
        return false;
    uint32_t staged;
    if (from->order.kind == ORDER_ROW_MAJOR && is_packed_along_rows(to->order.kind)) {
        Format rows = between;
        rows.order = (Order){.kind = ORDER_ROW_MAJOR};
        uint32_t moved = sketch_move_value(&phase, source, &rows, false);
        sketch_end_phase(&phase);
        staged = sketch_add_value(sketch, sketch_stored(PLAN_MOVED, source, shape, &between));
        sketch_add_compute(sketch, PLAN_PACK, op, staged, moved, PLAN_NONE,
                           price_pack(shape, &rows, &between));
    } else {
        staged = sketch_move_value(&phase, source, &between, false);
        sketch_end_phase(&phase);
    }
    forced_cast(op, result, staged, table, sketch);
    return sketch->possible;
}

/* ---- lifetimes and plans */

static void touch(SketchLife *life, uint32_t event) {
    if (!life->used)
        *life = (SketchLife){event, event, true};
    life->first = MIN_OF(life->first, event);
    life->last = MAX_OF(life->last, event);
}

/* Events as in lowering: 0, one a step, the end. What local calls before an exchange have read may
 * be dead in it. */
static void find_lifetimes(const Sketch *sketch, SketchLife lives[]) {
    const Graph *graph = sketch->graph;
    uint32_t end = (uint32_t)sketch->steps.count + 1;
    for (uint32_t i = 0; i < graph->ops.count; i++) {
        const GraphOp *op = &graph->ops.items[i];
        if (op->kind == GRAPH_OUTPUT || op->kind == GRAPH_PARAMETER)
            touch(&lives[graph_port_value(graph, i)], end);
        if (op->kind == GRAPH_INPUT || op->kind == GRAPH_PARAMETER)
            touch(&lives[op->result], 0);
    }
    for (uint32_t i = 0; i < sketch->steps.count; i++) {
        const PlanStep *step = &sketch->steps.items[i];
        const uint32_t values[] = {step->target, step->sources[0], step->sources[1]};
        for (size_t k = 0; k < COUNT_OF(values); k++)
            if (values[k] != PLAN_NONE)
                touch(&lives[values[k]], i + 1);
        bool after_local = i > 0 && plan_same_moves(step - 1, step);
        for (uint32_t k = 0; k < step->move_count; k++) {
            if (!after_local)
                touch(&lives[sketch->moves.items[step->first_move + k].source], i + 1);
            touch(&lives[sketch->moves.items[step->first_move + k].target],
                  step->kind == PLAN_LOCAL ? i + 2 : i + 1);
        }
    }
    for (uint32_t i = 0; i < sketch->values.count; i++) {
        uint32_t root = sketch->values.items[i].inside_of;
        if (root != PLAN_NONE) {
            touch(&lives[root], lives[i].first);
            touch(&lives[root], lives[i].last);
        }
    }
}

/* In region 1, where it must lie or because the memory below is too small for it. */
static bool needs_region1(const PlanValue *value) {
    return value->format.memory_class == MEMORY_INTERLEAVED ||
           value->widest_bytes > CHIP_REGION1_BASE - CHIP_TILE_MEM_BASE;
}

static void add_bytes(SketchBytes *sum, const PlanValue *value) {
    sum->tile += value->widest_bytes;
    if (needs_region1(value))
        sum->interleaved += value->widest_bytes;
}

static void take_most(SketchBytes *most, const SketchBytes *sum) {
    most->tile = MAX_OF(most->tile, sum->tile);
    most->interleaved = MAX_OF(most->interleaved, sum->interleaved);
}

static bool lives_through(const SketchLife *life, uint32_t first, uint32_t last) {
    return life->used && life->first <= first && life->last >= last;
}

/* What lives through local calls and the exchange after them, with one value that is filled and
 * what fills it: they meet in the one or in the other. */
static SketchBytes met_bytes(const Sketch *sketch, const PlanStep *local, uint32_t target) {
    uint32_t event = (uint32_t)(local - sketch->steps.items) + 1;
    SketchBytes sum = {0};
    for (uint32_t i = 0; i < sketch->values.count; i++) {
        const PlanValue *value = &sketch->values.items[i];
        bool met = i == target || lives_through(&sketch->lives.items[i], event, event + 1);
        for (uint32_t k = 0; k < local->move_count && !met; k++) {
            const PlanMove *move = &sketch->moves.items[local->first_move + k];
            met = move->target == target && move->source == i && value->format.replicas == 1;
        }
        if (met)
            add_bytes(&sum, value);
    }
    return sum;
}

SketchBytes sketch_bytes(Sketch *sketch) {
    SketchBytes bytes = {0};
    if (sketch->no_memory)
        return bytes;
    sketch->lives.count = 0;
    for (size_t i = 0; i < sketch->values.count; i++)
        if (!vec_push(&sketch->lives, (SketchLife){0})) {
            no_memory(sketch);
            return bytes;
        }
    find_lifetimes(sketch, sketch->lives.items);
    for (uint32_t event = 0; event <= sketch->steps.count + 1; event++) {
        SketchBytes sum = {0};
        for (size_t i = 0; i < sketch->values.count; i++)
            if (lives_through(&sketch->lives.items[i], event, event))
                add_bytes(&sum, &sketch->values.items[i]);
        take_most(&bytes, &sum);
    }
    for (size_t i = 0; i < sketch->steps.count; i++) {
        const PlanStep *step = &sketch->steps.items[i];
        for (uint32_t k = 0; step->kind == PLAN_LOCAL && k < step->move_count; k++) {
            const PlanMove *move = &sketch->moves.items[step->first_move + k];
            if (k > 0 && move->target == move[-1].target)
                continue;
            SketchBytes sum = met_bytes(sketch, step, move->target);
            take_most(&bytes, &sum);
        }
    }
    for (size_t i = 0; i < sketch->values.count; i++)
        bytes.total += sketch->values.items[i].total_bytes;
    return bytes;
}

static void *copy_items(const void *items, uint32_t count, size_t size) {
    void *copy = mem_alloc((size_t)count + 1, size);
    if (copy && count > 0)
        memcpy(copy, items, count * size);
    return copy;
}

Status sketch_plan(const Sketch *sketch, Plan *plan, Diag *diag) {
    uint32_t values = (uint32_t)sketch->values.count, steps = (uint32_t)sketch->steps.count,
             moves = (uint32_t)sketch->moves.count;
    *plan = (Plan){.predicted_cycles = sketch->cycles,
                   .value_count = values,
                   .values = copy_items(sketch->values.items, values, sizeof(PlanValue)),
                   .step_count = steps,
                   .steps = copy_items(sketch->steps.items, steps, sizeof(PlanStep)),
                   .move_count = moves,
                   .moves = copy_items(sketch->moves.items, moves, sizeof(PlanMove))};
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
    copy->choices = copy_items(plan->choices, plan->choice_count, sizeof(PlanChoice));
    copy->loops = copy_items(plan->loops, plan->loop_count, sizeof(PlanLoop));
    copy->places = copy_items(plan->places, plan->value_count, sizeof(PlanPlace));
    if (copy->values && copy->steps && copy->moves && copy->choices && copy->loops && copy->places)
        return STATUS_OK;
    plan_free(copy);
    return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "copying a plan");
}
