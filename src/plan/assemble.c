/* A graph of several operations: each in turn, on homes that earlier ones have left. */
#include "chip/chip.h"
#include "plan/task.h"

#include <assert.h>

typedef struct Assembly {
    const Graph *graph;
    const PlanTask *task;
    const PlanOptions *options;
    PriceTable *table;
    Sketch *sketch;
} Assembly;

static bool has_home(const Assembly *all, uint32_t value) {
    return all->sketch->values.items[value].format.tile_count > 0;
}

static const Format *home_of(const Assembly *all, uint32_t value) {
    return &all->sketch->values.items[value].format;
}

/* The axis along which lines of a packed home are contiguous. */
static uint32_t line_axis(const Format *format) {
    switch (format->order.kind) {
    case ORDER_TRANSPOSED_LEFT:
    case ORDER_RIGHT:
    case ORDER_BLOCK:
    case ORDER_TRANSPOSED_OUTPUT: return 0;
    default: return 1;
    }
}

/* Evenly spread, as an earlier block leaves it, lines along `axis`. */
static Format even_format(const Shape *shape, uint32_t axis, Precision precision, uint32_t tiles) {
    uint32_t group = precision_group((Precision){.kind = PRECISION_F8F143});
    Format format = plan_device_format(shape, axis == 0, group, tiles);
    format.precision = precision;
    format.axes[axis].padding = precision_group(precision);
    return format;
}

static void spread_home(const Assembly *all, uint32_t value) {
    const GraphValue *info = &all->graph->values.items[value];
    Format home = even_format(&info->shape, all->task->uses[value].axis, info->precision,
                              all->options->tiles);
    sketch_set_home(all->sketch, value, &home);
}

/* ---- lines along the other axis */

/* F16 in panels, whose parts are made of blocks of 16 x 16. */
static bool can_turn(const Format *format, const Shape *shape) {
    const OrderKind kind = format->order.kind;
    if (format->precision.kind != PRECISION_F16 ||
        (kind != ORDER_LEFT && kind != ORDER_TRANSPOSED_LEFT))
        return false;
    for (uint32_t axis = 0; axis < 2; axis++) {
        const AxisTiling *tiling = NULL;
        for (uint32_t i = 0; i < format->axis_count; i++)
            if (format->axes[i].axis == axis)
                tiling = &format->axes[i];
        bool whole = tiling && tiling->padding % COEFFICIENT_COLUMNS == 0 &&
                     (tiling->partitions == 1 || tiling->block % COEFFICIENT_COLUMNS == 0);
        if (!whole && (tiling || shape->dims[axis] % COEFFICIENT_COLUMNS != 0))
            return false;
    }
    return true;
}

/* Evenly spread in square blocks. */
static Format spread_blocks(const Shape *shape, uint32_t block, uint32_t tiles) {
    uint32_t rows = (uint32_t)div_up(shape->dims[0], block);
    uint32_t columns = (uint32_t)div_up(shape->dims[1], block);
    uint64_t best = UINT64_MAX;
    uint32_t parts[2] = {1, 1};
    for (uint32_t c = 1; c <= MIN_OF(columns, tiles); c++) {
        uint32_t r = MIN_OF(rows, tiles / c);
        uint64_t widest = div_up(rows, r) * div_up(columns, c);
        if (widest >= best)
            continue;
        best = widest;
        parts[0] = r;
        parts[1] = c;
    }
    Format format = {.memory_class = MEMORY_STANDARD,
                     .tile_count = parts[0] * parts[1],
                     .replicas = 1,
                     .axis_count = 2};
    format.axes[0] = axis_tiling(0, parts[0], block, parts[0] > 1 ? parts[1] : 1);
    format.axes[1] = axis_tiling(1, parts[1], block, 1);
    return format;
}

/* F16, evenly spread in blocks of 16 x 16, lines along `axis`. */
static Format blocks_format(const Shape *shape, uint32_t axis, uint32_t tiles) {
    Format format = spread_blocks(shape, COEFFICIENT_COLUMNS, tiles);
    format.precision = (Precision){.kind = PRECISION_F16};
    format.order = (Order){.kind = axis == 0 ? ORDER_TRANSPOSED_LEFT : ORDER_LEFT};
    return format;
}

/* Codes row by row, evenly spread in blocks of whole lines along either axis. */
static Format codes_format(const Shape *shape, Precision precision, uint32_t tiles) {
    enum { GRAIN = 8 /* bytes, that kernels copy */ };
    uint32_t line = precision_group(precision);
    Format format = spread_blocks(shape, line, tiles);
    format.precision = precision;
    format.order = (Order){.kind = ORDER_ROW_MAJOR};
    format.axes[1].padding = GRAIN;
    return format;
}

/* Where they lie with lines along `axis`, by way of row-major ones. */
static uint32_t turn_codes(const Assembly *all, uint32_t op, uint32_t value, uint32_t axis) {
    Sketch *sketch = all->sketch;
    const GraphValue *info = &all->graph->values.items[value];
    Format from = codes_format(&info->shape, info->precision, all->options->tiles), to = from;
    (axis == 0 ? &to : &from)->order.kind = ORDER_TRANSPOSED_LEFT;
    uint32_t at = value;
    if (!format_equal(home_of(all, value), &from)) {
        SketchPhase phase = sketch_begin_phase(sketch, op);
        at = sketch_move_value(&phase, value, &from, false);
        sketch_end_phase(&phase);
    }
    uint32_t turned =
        sketch_add_value(sketch, sketch_stored(PLAN_TURNED, value, &info->shape, &to));
    sketch_add_compute(sketch, PLAN_PACK, op, turned, at, PLAN_NONE,
                       price_pack(&info->shape, &from, &to));
    return turned;
}

/* The stored value that is `value` with its lines along `axis`. */
static uint32_t bring_lines(const Assembly *all, uint32_t op, uint32_t value, uint32_t axis) {
    Sketch *sketch = all->sketch;
    PlanUse *use = &all->task->uses[value];
    if (line_axis(home_of(all, value)) == axis)
        return value;
    if (use->turned != PLAN_NONE)
        return use->turned;
    const Shape *shape = &all->graph->values.items[value].shape;
    if (all->graph->values.items[value].precision.kind != PRECISION_F16)
        return use->turned = turn_codes(all, op, value, axis);
    uint32_t at = value;
    if (!can_turn(home_of(all, value), shape)) {
        Format blocks = blocks_format(shape, 1 - axis, all->options->tiles);
        SketchPhase phase = sketch_begin_phase(sketch, op);
        at = sketch_move_value(&phase, value, &blocks, false);
        sketch_end_phase(&phase);
    }
    Format turned = *home_of(all, at);
    turned.order.kind = axis == 1 ? ORDER_TRANSPOSED_RIGHT : ORDER_RIGHT;
    turned.memory_class = MEMORY_STANDARD;
    PlanValue stored = sketch_stored(PLAN_TURNED, value, shape, &turned);
    use->turned = sketch_add_value(sketch, stored);
    sketch_add_compute(sketch, PLAN_TURN, op, use->turned, at, PLAN_NONE,
                       price_turn(stored.widest_bytes));
    return use->turned;
}

/* ---- products */

/* The operand as it is by now: cast already, on the chip in some other precision, or free. */
static void find_home(const Assembly *all, uint32_t op, GemmOperand *operand) {
    if (has_home(all, operand->value)) {
        operand->cast = GRAPH_NONE;
        operand->source = operand->value;
    }
    operand->fixed = has_home(all, operand->source);
    if (!operand->fixed)
        return;
    operand->at = bring_lines(all, op, operand->source, operand->inner_axis);
    operand->home = *home_of(all, operand->at);
}

/* Is the first to use the value an operation? Outputs take lines along either axis. */
static bool is_used_on_chip(const Assembly *all, uint32_t value) {
    const PlanUse *use = &all->task->uses[value];
    return use->count > 0 && all->graph->ops.items[use->first].kind != GRAPH_OUTPUT;
}

/* Whole blocks of rows spare a move of the result; what spares one of an operand has precedence. */
static void rest_operands(const Assembly *all, PlanGemm *gemm, const GemmChoice *choice) {
    PlanGemm other = *gemm;
    for (int way = 0; way < 3; way++) {
        if (sketch_rests(all->sketch, &other, choice, gemm_operand(choice, ROLE_LEFT))) {
            *gemm = other;
            return;
        }
        *(way == 0 ? &other.row_grain : &other.row_padding) = 1;
    }
}

static void add_gemm(const Assembly *all, uint32_t op, const GemmChoice *choice) {
    PlanGemm gemm = gemm_describe(all->graph, op);
    if (all->task->uses[gemm.result].columns)
        gemm.row_padding = COEFFICIENT_COLUMNS;
    if (all->task->uses[gemm.result].axis != !choice->swapped && is_used_on_chip(all, gemm.result))
        gemm.row_grain = COEFFICIENT_COLUMNS;
    if (choice->rows > gemm_extents(&gemm, choice->swapped).rows / gemm.row_grain ||
        choice->owner_rows > gemm_part(&gemm, choice).rows / gemm.row_grain)
        gemm.row_grain = 1; /* too few blocks: it moves before it is transposed */
    uint32_t left = gemm.operands[0].source, right = gemm.operands[1].source;
    if (left == right && !has_home(all, left))
        spread_home(all, left);
    for (int i = 0; i < 2; i++)
        find_home(all, op, &gemm.operands[i]);
    rest_operands(all, &gemm, choice);
    if (all->sketch->possible)
        sketch_add_gemm(all->sketch, &gemm, choice, all->table);
}

/* ---- casts that are no operand's own */

static void add_cast(const Assembly *all, uint32_t op) {
    uint32_t source = all->graph->ops.items[op].operands[0];
    uint32_t result = all->graph->ops.items[op].result;
    const GraphValue *info = &all->graph->values.items[result];
    if (!has_home(all, source))
        spread_home(all, source);
    Format home;
    uint32_t at = source;
    if (!sketch_in_precision(home_of(all, source), &info->shape, info->precision, &home)) {
        bool transposed = line_axis(home_of(all, source)) == 0;
        Format whole = plan_device_format(&info->shape, transposed,
                                          precision_group(info->precision), all->options->tiles);
        SketchPhase phase = sketch_begin_phase(all->sketch, op);
        at = sketch_move_value(&phase, source, &whole, false);
        sketch_end_phase(&phase);
        if (!sketch_in_precision(&whole, &info->shape, info->precision, &home)) {
            sketch_refuse(all->sketch, op, "no home holds whole panels to be cast");
            return;
        }
    }
    sketch_set_home(all->sketch, result, &home);
    sketch_add_compute(all->sketch, PLAN_CAST, op, result, at, PLAN_NONE,
                       price_cast(&info->shape, home_of(all, at), &home, all->table));
}

/* ---- value by value */

/* F16 values of a 64-bit word, which local copies are made of. */
enum { VECTOR_WORD = 4 };

/* Do all parts of a vector begin at whole words, so that pieces of them can be copied? */
static bool begins_at_words(const Format *format, const Shape *shape) {
    for (uint32_t i = 0; i < format->axis_count; i++) {
        const AxisTiling *tiling = &format->axes[i];
        for (uint32_t q = 0; q < tiling->partitions; q++)
            if (axis_bounds(tiling, shape->dims[tiling->axis], q).start % VECTOR_WORD != 0)
                return false;
    }
    return true;
}

/* A vector along `along` as it is added to values in the format `like`: a piece of it lies with
 * every tile that needs it. */
static Format vector_format(const Format *like, uint32_t along) {
    Format to = *like;
    uint32_t kept = 0, shards = 1;
    for (uint32_t i = 0; i < to.axis_count; i++)
        if (to.axes[i].axis == along) {
            shards = to.axes[i].partitions;
            to.axes[kept++] = to.axes[i];
        }
    if (kept == 0)
        to.axes[kept++] = axis_tiling(along, 1, 1, 1);
    to.axes[0].shard_padding = MAX_OF(to.axes[0].shard_padding, (uint32_t)VECTOR_WORD);
    to.axis_count = kept;
    to.replicas = to.tile_count / shards;
    to.order = (Order){.kind = ORDER_ROW_MAJOR};
    to.memory_class = MEMORY_STANDARD;
    return to;
}

/* Can a vector along `along` be added to what lies in this format, wherever the vector is? */
static bool takes_vector(const Format *format, const Shape *shape, uint32_t along) {
    Format vector = vector_format(format, along);
    return (format->order.kind == ORDER_LEFT || format->order.kind == ORDER_TRANSPOSED_LEFT) &&
           plan_padded_extent(&vector, along, shape->dims[along]) % VECTOR_WORD == 0 &&
           begins_at_words(&vector, shape);
}

/* Where values lie to which something is added: at `source`, or, if a vector that lies somewhere
 * cannot be brought there, evenly spread in blocks. */
static uint32_t bring_left(const Assembly *all, uint32_t op, uint32_t source, uint32_t other) {
    const Shape *shape = &all->graph->values.items[source].shape;
    PointRight right = point_right(shape, &all->graph->values.items[other].shape);
    if (right == POINT_NONE || right == POINT_PLAIN ||
        (!has_home(all, other) && all->task->uses[other].count == 1) ||
        takes_vector(home_of(all, source), shape, right == POINT_COLUMNS ? 1 : 0))
        return source;
    Format blocks = blocks_format(shape, line_axis(home_of(all, source)), all->options->tiles);
    SketchPhase phase = sketch_begin_phase(all->sketch, op);
    source = sketch_move_value(&phase, source, &blocks, false);
    sketch_end_phase(&phase);
    return source;
}

/* The other operand of a sum, as `like` has it: its home if it has none yet, else where it moves;
 * PLAN_NONE if no way leads there. */
static uint32_t bring_right(const Assembly *all, uint32_t op, uint32_t value, const Format *like,
                            const Shape *shape) {
    const Shape *own = &all->graph->values.items[value].shape;
    PointRight right = point_right(shape, own);
    uint32_t along = right == POINT_COLUMNS ? 1 : 0;
    if (right == POINT_NONE)
        return PLAN_NONE;
    Format to = right == POINT_PLAIN ? *like : vector_format(like, along);
    to.memory_class = MEMORY_STANDARD;
    if (!has_home(all, value)) {
        sketch_set_home(all->sketch, value, &to);
        return value;
    }
    uint32_t at = value;
    if (right == POINT_PLAIN || home_of(all, value)->order.kind != ORDER_ROW_MAJOR)
        at = bring_lines(all, op, value, right == POINT_PLAIN ? line_axis(like) : along);
    Format home = *home_of(all, at);
    home.memory_class = MEMORY_STANDARD;
    if (format_equal(&home, &to))
        return at;
    SketchPhase phase = sketch_begin_phase(all->sketch, op);
    uint32_t moved = sketch_move_value(&phase, at, &to, false);
    sketch_end_phase(&phase);
    return moved;
}

static void add_point(const Assembly *all, uint32_t op, uint32_t result, const Format *to,
                      uint32_t source, uint32_t other) {
    Sketch *sketch = all->sketch;
    const Shape *shape = &all->graph->values.items[result].shape;
    const Format from = *home_of(all, source);
    uint32_t right = PLAN_NONE;
    PlanPoint point = {.shape = shape, .from = &from, .to = to};
    point.gelu = all->graph->ops.items[op].kind == GRAPH_GELU;
    if (other != GRAPH_NONE) {
        right = bring_right(all, op, other, &from, shape);
        if (right == PLAN_NONE) {
            sketch_refuse(sketch, op,
                          "the other operand of a sum cannot be brought to where it is added");
            return;
        }
        point.right = point_right(shape, &sketch->values.items[right].shape);
    }
    sketch_set_home(sketch, result, to);
    sketch_add_compute(sketch, PLAN_POINT, op, result, source, right, price_point(&point));
}

/* The sum lies where its whole operand does; of two whole ones where the better spread one does. */
static void add_add(const Assembly *all, uint32_t op) {
    const GraphOp *add = &all->graph->ops.items[op];
    const Shape *sum = &all->graph->values.items[add->result].shape;
    int whole = 0;
    bool fits[2];
    for (int i = 0; i < 2; i++)
        fits[i] = shape_equal(&all->graph->values.items[add->operands[i]].shape, sum);
    if (!fits[0] && !fits[1]) {
        sketch_refuse(all->sketch, op, "a sum of which no operand has the whole shape");
        return;
    }
    if (!fits[0])
        whole = 1;
    else if (fits[1] && has_home(all, add->operands[1]) &&
             (!has_home(all, add->operands[0]) ||
              all->sketch->values.items[add->operands[1]].widest_bytes <
                  all->sketch->values.items[add->operands[0]].widest_bytes))
        whole = 1;
    uint32_t source = add->operands[whole];
    if (!has_home(all, source))
        spread_home(all, source);
    uint32_t other = add->operands[1 - whole];
    source = bring_left(all, op, source, other);
    Format to = *home_of(all, source);
    to.memory_class = MEMORY_STANDARD;
    add_point(all, op, add->result, &to, source, other);
}

/* The cast of a GELU that its own kernel can make: nothing else wants either of them, and the
 * product wants it cast early. Its lines run as the product wants them. GRAPH_NONE if there is
 * none. */
static uint32_t cast_of(const Assembly *all, uint32_t gelu, const Format *from, Format *to) {
    const PlanUse *use = &all->task->uses[gelu];
    const GraphOp *cast = &all->graph->ops.items[use->first];
    const Shape *shape = &all->graph->values.items[gelu].shape;
    if (use->count != 1 || cast->kind != GRAPH_CAST || !all->task->absorbed[use->first] ||
        !all->task->uses[cast->result].early)
        return GRAPH_NONE;
    bool half = all->task->uses[cast->result].half;
    uint32_t inner = use->axis;
    *to = *from;
    to->memory_class = MEMORY_STANDARD;
    to->precision = all->graph->values.items[cast->result].precision;
    to->order.half = half;
    if (line_axis(from) != inner) {
        if (!half || !can_turn(from, shape))
            return GRAPH_NONE;
        to->order.kind = inner == 1 ? ORDER_TRANSPOSED_RIGHT : ORDER_RIGHT;
    }
    for (uint32_t i = 0; i < to->axis_count; i++)
        if (to->axes[i].axis == inner)
            to->axes[i].padding = half ? COEFFICIENT_COLUMNS : precision_group(to->precision);
    return format_check(to, shape, NULL) == STATUS_OK ? cast->result : GRAPH_NONE;
}

/* Do lines of a GELU run as a product, which is all that wants it, wants them, once they turn? */
static bool turns_for_use(const Assembly *all, uint32_t gelu, const Format *from) {
    const PlanUse *use = &all->task->uses[gelu];
    return use->count == 1 && all->graph->ops.items[use->first].kind == GRAPH_GEMM &&
           line_axis(from) != use->axis && can_turn(from, &all->graph->values.items[gelu].shape);
}

/* What the kernel of a GELU makes of values that lie so: the codes of its cast, which is returned,
 * or its result (GRAPH_NONE). */
static uint32_t gelu_target(const Assembly *all, uint32_t gelu, const Format *from, Format *to) {
    uint32_t cast = cast_of(all, gelu, from, to);
    if (cast != GRAPH_NONE)
        return cast;
    *to = *from;
    to->memory_class = MEMORY_STANDARD;
    if (turns_for_use(all, gelu, from))
        to->order.kind = line_axis(from) == 0 ? ORDER_TRANSPOSED_RIGHT : ORDER_RIGHT;
    return GRAPH_NONE;
}

/* Its kernel adds a bias to each line, or if it turns them, along them. */
static bool takes_bias(const Format *from, const Format *to) {
    bool turns = line_axis(from) != line_axis(to);
    return (line_axis(from) == 0) == turns;
}

/* With a bias before it and a cast behind it, if its kernel can do that. */
static void add_gelu(const Assembly *all, uint32_t op) {
    const GraphOp *gelu = &all->graph->ops.items[op];
    uint32_t source = gelu->operands[0], bias = GRAPH_NONE;
    uint32_t made_by = all->graph->values.items[source].op;
    const GraphOp *add = &all->graph->ops.items[made_by];
    if (all->task->absorbed[made_by] && add->kind == GRAPH_ADD) {
        source = add->operands[0];
        bias = add->operands[1];
    }
    if (!has_home(all, source))
        spread_home(all, source);
    Format to, from = *home_of(all, source);
    uint32_t cast = gelu_target(all, gelu->result, &from, &to);
    if (bias != GRAPH_NONE && takes_bias(&from, &to)) {
        source = bring_left(all, op, source, bias);
        from = *home_of(all, source);
        cast = gelu_target(all, gelu->result, &from, &to);
    }
    if (bias != GRAPH_NONE && !takes_bias(&from, &to)) {
        add_add(all, made_by);
        source = gelu->operands[0];
        bias = GRAPH_NONE;
        from = *home_of(all, source);
        cast = gelu_target(all, gelu->result, &from, &to);
    }
    add_point(all, op, cast == GRAPH_NONE ? gelu->result : cast, &to, source, bias);
}

/* ---- rows of other values */

/* A home of which ranges of so many rows are to be taken: if lines run along rows, each range
 * begins with panels of its own. */
static void range_home(const Assembly *all, uint32_t value, uint32_t rows) {
    const GraphValue *info = &all->graph->values.items[value];
    uint32_t axis = all->task->uses[value].axis, ranges = info->shape.dims[0] / rows;
    uint32_t tiles = all->options->tiles / ranges;
    if (axis == 1 || tiles == 0) {
        bool codes = axis == 0 && info->precision.kind == PRECISION_F8F143;
        Format home = codes ? codes_format(&info->shape, info->precision, all->options->tiles)
                            : even_format(&info->shape, 1, info->precision, all->options->tiles);
        sketch_set_home(all->sketch, value, &home);
        return;
    }
    Shape range = {.rank = 2, .dims = {rows, info->shape.dims[1]}};
    Format home = even_format(&range, 0, info->precision, tiles);
    home.tile_count *= ranges;
    home.axes[0].partitions *= ranges;
    home.axes[0].groups = ranges;
    home.axes[0].stride = 1;
    home.axes[1].stride = home.axes[0].partitions;
    sketch_set_home(all->sketch, value, &home);
}

/* Where whole lines can be taken from, or put to, any row. */
static uint32_t bring_rows(const Assembly *all, uint32_t op, uint32_t value, uint32_t rows) {
    const Format *home = home_of(all, value);
    uint32_t ranges = all->graph->values.items[value].shape.dims[0] / rows;
    if (line_axis(home) == 0 && ranges > 1)
        for (uint32_t i = 0; i < home->axis_count; i++)
            if (home->axes[i].axis == 0 && home->axes[i].groups == ranges)
                return value;
    return bring_lines(all, op, value, 1);
}

static void take_rows(const Assembly *all, uint32_t index) {
    const GraphOp *op = &all->graph->ops.items[index];
    const GraphValue *result = &all->graph->values.items[op->result];
    uint32_t source = op->operands[0], rows = result->shape.dims[0];
    if (!has_home(all, source))
        range_home(all, source, rows);
    uint32_t at = bring_rows(all, index, source, rows);
    const Format *from = home_of(all, at);
    Format home =
        from->order.kind == ORDER_ROW_MAJOR
            ? codes_format(&result->shape, result->precision, all->options->tiles)
            : even_format(&result->shape, line_axis(from), result->precision, all->options->tiles);
    sketch_set_home(all->sketch, op->result, &home);
    SketchPhase phase = sketch_begin_phase(all->sketch, index);
    PlanMove move = {.source = at, .target = op->result, .source_row = (uint32_t)op->row};
    sketch_move_rows(&phase, move, false);
    sketch_end_phase(&phase);
}

/* Results of which a tile holds more than this are put together piece by piece, as soon as each
 * exists: that takes more phases and half the memory. */
enum { LARGE_STACK = CHIP_TILE_MEM_SIZE / 8 };

static Format stack_home(const Assembly *all, uint32_t result) {
    const GraphValue *info = &all->graph->values.items[result];
    return even_format(&info->shape, 1, info->precision, all->options->tiles);
}

static bool is_large(const Assembly *all, uint32_t result) {
    Format home = stack_home(all, result);
    return format_widest_bytes(&home, &all->graph->values.items[result].shape) > LARGE_STACK;
}

/* The k-th value of a stack goes to its rows. */
static void move_to_stack(const Assembly *all, SketchPhase *phase, uint32_t k) {
    const GraphOp *op = &all->graph->ops.items[phase->op];
    PlanMove move = {.source = bring_lines(all, phase->op, op->operands[k], 1),
                     .target = op->result};
    for (uint32_t i = 0; i < k; i++)
        move.target_row += all->graph->values.items[op->operands[i]].shape.dims[0];
    sketch_move_rows(phase, move, true);
}

/* A value that has just been made, if all that it is for is a large stack. */
static void stack_piece(const Assembly *all, uint32_t value) {
    const PlanUse *use = &all->task->uses[value];
    const GraphOp *stack = &all->graph->ops.items[use->first];
    if (use->count != 1 || stack->kind != GRAPH_STACK || !is_large(all, stack->result))
        return;
    Format home = stack_home(all, stack->result);
    sketch_set_home(all->sketch, stack->result, &home);
    bring_lines(all, use->first, value, 1);
    SketchPhase phase = sketch_begin_phase(all->sketch, use->first);
    for (uint32_t k = 0; k < stack->operand_count; k++)
        if (stack->operands[k] == value)
            move_to_stack(all, &phase, k);
    sketch_end_phase(&phase);
}

static void stack_rows(const Assembly *all, uint32_t index) {
    const GraphOp *op = &all->graph->ops.items[index];
    bool large = is_large(all, op->result);
    Format home = stack_home(all, op->result);
    sketch_set_home(all->sketch, op->result, &home);
    /* All turn before the first one moves. */
    for (uint32_t i = 0; i < op->operand_count; i++)
        bring_lines(all, index, op->operands[i], 1);
    SketchPhase phase = sketch_begin_phase(all->sketch, index);
    for (uint32_t k = 0; k < op->operand_count; k++)
        if (!large || all->task->uses[op->operands[k]].count > 1)
            move_to_stack(all, &phase, k); /* else stack_piece has done it */
    sketch_end_phase(&phase);
}

/* ---- the whole */

/* What choices say of values, from the last operation to the first one. */
static void find_ways(const Graph *graph, const PlanTask *task, const GemmChoice choices[]) {
    for (size_t v = 0; v < graph->values.count; v++) {
        PlanUse *use = &task->uses[v];
        use->columns = use->early = use->half = false;
        use->turned = PLAN_NONE;
    }
    size_t gemm = task->choosing.count;
    for (uint32_t i = (uint32_t)graph->ops.count; i-- > 0;) {
        const GraphOp *op = &graph->ops.items[i];
        const GemmChoice *choice = op->kind == GRAPH_GEMM ? &choices[--gemm] : NULL;
        for (uint32_t k = 0; k < op->operand_count && op->result != GRAPH_NONE; k++) {
            PlanUse *use = &task->uses[op->operands[k]];
            use->columns |= choice ? gemm_operand(choice, ROLE_RIGHT) == (int)k
                                   : task->uses[op->result].columns;
            if (choice) {
                use->early = choice->operands[k].early;
                use->half = choice->operands[k].half;
            }
        }
    }
}

void task_assemble(const PlanTask *task, const GemmChoice choices[], const PlanOptions *options,
                   PriceTable *table, Sketch *sketch) {
    const Graph *graph = sketch->graph;
    Assembly all = {graph, task, options, table, sketch};
    find_ways(graph, task, choices);
    for (uint32_t i = 0; i < graph->ops.count && sketch->possible; i++) {
        const GraphOp *op = &graph->ops.items[i];
        switch (op->kind) {
        case GRAPH_INPUT:
            if (options->device_input && graph->values.items[op->result].shape.dims[0] > 1)
                spread_home(&all, op->result);
            break;
        case GRAPH_PARAMETER: break;
        case GRAPH_GEMM: add_gemm(&all, i, choices++); break;
        case GRAPH_CAST:
            if (!task->absorbed[i])
                add_cast(&all, i);
            break;
        case GRAPH_GELU: add_gelu(&all, i); break;
        case GRAPH_ADD:
            if (!task->absorbed[i])
                add_add(&all, i);
            break;
        case GRAPH_OUTPUT:
            if (!has_home(&all, op->operands[0]))
                spread_home(&all, op->operands[0]);
            break;
        case GRAPH_ROWS: take_rows(&all, i); break;
        case GRAPH_STACK: stack_rows(&all, i); break;
        case GRAPH_REPEAT:
        case GRAPH_ARGUMENT:
        case GRAPH_YIELD: assert(false); break; /* of no expanded graph */
        }
        if (op->result != GRAPH_NONE && sketch->possible)
            stack_piece(&all, op->result);
    }
}
