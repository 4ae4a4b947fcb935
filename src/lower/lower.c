/* From a plan to buffers, kernel calls and bindings. The exchange is in exchange.c. */
#include "lower/internal.h"

#include "chip/chip.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER_ALIGNMENT = 8, ROW_ALIGNMENT = 8 };
/* The second tile of a pair may have to wait while the first one sends. */
enum { TILES_OF_A_PAIR = 2 };
/* A row that only returns, or waits while a pair's partner sends, takes no more. */
enum { LEAST_ROW_BYTES = 16 };

Status lower_no_memory(Lowering *lowering) {
    return diag_error(lowering->diag, ERR_NO_MEMORY, DIAG_NOWHERE, "lowering a plan to tiles");
}

uint32_t lower_find(const TileGraph *tiles, uint32_t tile, uint32_t value) {
    uint32_t place = tiles->values.items[value].place;
    uint32_t low = tiles->tile_buffer[tile], high = tiles->tile_buffer[tile + 1];
    while (low < high) { /* by value, rows last */
        uint32_t middle = low + (high - low) / 2;
        if (tiles->buffers.items[middle].value < place)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < tiles->tile_buffer[tile + 1] && tiles->buffers.items[low].value == place;
    return found ? low : LOWER_NONE;
}

static uint32_t root_of(const TileGraph *tiles, uint32_t buffer) {
    const LowerBuffer *found = &tiles->buffers.items[buffer];
    return found->is_piece ? found->whole : buffer;
}

void lower_touch(TileGraph *tiles, uint32_t buffer, uint32_t event) {
    LowerBuffer *touched = &tiles->buffers.items[buffer];
    touched->first_event = MIN_OF(touched->first_event, event);
    touched->last_event = MAX_OF(touched->last_event, event);
}

/* ---- buffers */

static BufferRole value_role(const Lowering *lowering, uint32_t value) {
    const PlanValue *stored = &lowering->plan->values[value];
    if (stored->kind != PLAN_HOME)
        return BUFFER_TEMPORARY;
    const GraphValue *info = &lowering->graph->values.items[stored->graph_value];
    switch (lowering->graph->ops.items[info->op].kind) {
    case GRAPH_INPUT: return BUFFER_INPUT;
    case GRAPH_PARAMETER: return BUFFER_PARAMETER;
    default: return BUFFER_TEMPORARY;
    }
}

/* What a place is to the host follows from all values that lie there in turn. */
static void find_roles(Lowering *lowering) {
    const Graph *graph = lowering->graph;
    const PlanPlace *places = lowering->plan->places;
    for (uint32_t v = 0; v < lowering->plan->value_count; v++)
        lowering->role[v] = BUFFER_TEMPORARY;
    for (uint32_t i = 0; i < graph->ops.count; i++)
        if (graph->ops.items[i].kind == GRAPH_OUTPUT) {
            uint32_t place = places[graph_port_value(graph, i)].value;
            lowering->role[place] = BUFFER_OUTPUT;
            lowering->to_end[place] = true;
        }
    for (uint32_t v = 0; v < lowering->plan->value_count; v++) {
        BufferRole role = value_role(lowering, v);
        if (role != BUFFER_TEMPORARY)
            lowering->role[places[v].value] = role;
        lowering->to_end[places[v].value] |= role == BUFFER_PARAMETER;
    }
}

static bool add_buffer(Lowering *lowering, uint32_t tile, uint32_t value) {
    TileGraph *tiles = lowering->result;
    const PlanValue *stored = &lowering->plan->values[value];
    const PlanPlace *place = &lowering->plan->places[value];
    uint64_t bytes = plan_tile_bytes(lowering->plan, value, tile);
    if (bytes == 0 || place->value != value)
        return true;
    assert(bytes <= UINT32_MAX); /* a plan has no part larger than a tile */
    BufferRole role = lowering->role[value];
    bool from_host = role == BUFFER_INPUT || role == BUFFER_PARAMETER;
    LowerBuffer buffer = {.tile = tile,
                          .value = value,
                          .shard = format_shard_of_tile(&stored->format, tile),
                          .bytes = (uint32_t)bytes,
                          .members = place->members > 1 ? place->members : 0,
                          .alignment = BUFFER_ALIGNMENT,
                          .memory_class = stored->format.memory_class,
                          .role = role,
                          .first_event = from_host ? 0 : tiles->end_event,
                          .last_event = lowering->to_end[value] ? tiles->end_event : 0};
    return vec_push(&tiles->buffers, buffer);
}

static bool add_row_buffer(Lowering *lowering, uint32_t tile, uint32_t exchange) {
    TileGraph *tiles = lowering->result;
    tiles->row_buffer[exchange * tiles->tiles + tile] = (uint32_t)tiles->buffers.count;
    LowerBuffer buffer = {.tile = tile,
                          .value = LOWER_NONE,
                          .shard = exchange,
                          .bytes = LEAST_ROW_BYTES,
                          .tail = CHIP_FETCH_LOOKAHEAD_BYTES,
                          .alignment = ROW_ALIGNMENT,
                          .memory_class = MEMORY_STANDARD,
                          .role = BUFFER_ROWS,
                          .last_event = tiles->end_event};
    return vec_push(&tiles->buffers, buffer);
}

/* One buffer for each shard that the tile holds, and one for each row; uses narrow or widen them
 * later. */
static bool add_buffers(Lowering *lowering, uint32_t tile) {
    TileGraph *tiles = lowering->result;
    for (uint32_t value = 0; value < lowering->plan->value_count; value++)
        if (!add_buffer(lowering, tile, value))
            return false;
    for (uint32_t i = 0; i < tiles->exchanges; i++) {
        tiles->row_buffer[i * tiles->tiles + tile] = LOWER_NONE;
        if (tile < lowering->row_tiles && !add_row_buffer(lowering, tile, i))
            return false;
    }
    tiles->tile_buffer[tile + 1] = (uint32_t)tiles->buffers.count;
    for (uint32_t i = tiles->tile_buffer[tile]; i < tiles->tile_buffer[tile + 1]; i++) {
        LowerBuffer *buffer = &tiles->buffers.items[i];
        if (buffer->value == LOWER_NONE)
            continue;
        uint32_t whole = lowering->plan->values[buffer->value].inside_of;
        if (whole == PLAN_NONE)
            continue;
        buffer->is_piece = true;
        buffer->whole = lower_find(tiles, tile, whole);
        buffer->offset = (uint32_t)plan_inside_offset(lowering->plan, buffer->value, tile);
    }
    return true;
}

static bool add_values(Lowering *lowering) {
    TileGraph *tiles = lowering->result;
    for (uint32_t value = 0; value < lowering->plan->value_count; value++) {
        const PlanValue *stored = &lowering->plan->values[value];
        const PlanPlace *place = &lowering->plan->places[value];
        LowerValue entry = {lowering->graph->values.items[stored->graph_value].name,
                            stored->graph_value,
                            stored->shape,
                            stored->format,
                            place->value,
                            place->member};
        if (stored->kind != PLAN_HOME) {
            char *name = plan_value_name(lowering->graph, lowering->plan, value);
            entry.name = name ? arena_strdup(&tiles->arena, name) : NULL;
            mem_free(name);
        }
        if (!entry.name || !vec_push(&tiles->values, entry))
            return false;
    }
    return true;
}

/* ---- kernel calls */

/* A step has few different ones. */
uint32_t lower_spec(TileGraph *tiles, const KernelSpec *spec) {
    for (uint32_t i = 0; i < tiles->specs.count; i++)
        if (kernel_spec_equal(&tiles->specs.items[i], spec))
            return i;
    return vec_push(&tiles->specs, *spec) ? (uint32_t)tiles->specs.count - 1 : UINT32_MAX;
}

bool lower_want_apart(Lowering *lowering, uint32_t a, uint32_t b, bool soft) {
    a = root_of(lowering->result, a);
    b = root_of(lowering->result, b);
    if (a == b)
        return true;
    WantedPair wanted = {lowering->result->buffers.items[a].tile,
                         {MIN_OF(a, b), MAX_OF(a, b), soft}};
    return vec_push(&lowering->wanted, wanted);
}

/* What the kernel wants of an operand's buffer, and when. A tail counts from the buffer's end. */
static void use_operand(TileGraph *tiles, LowerOperand operand, const KernelOperand *wanted,
                        uint32_t event) {
    LowerBuffer *buffer = &tiles->buffers.items[operand.buffer];
    assert(operand.offset % wanted->alignment == 0);
    assert(operand.offset + wanted->bytes <= buffer->bytes);
    assert(buffer->memory_class >= wanted->memory_class);
    buffer->alignment = MAX_OF(buffer->alignment, wanted->alignment);
    uint32_t end = operand.offset + wanted->bytes + wanted->tail;
    if (end > buffer->bytes)
        buffer->tail = MAX_OF(buffer->tail, end - buffer->bytes);
    lower_touch(tiles, operand.buffer, event);
}

bool lower_call(Lowering *lowering, const KernelSpec *spec, const LowerOperand operands[],
                const int32_t scalars[], uint32_t event, LowerCall *call) {
    TileGraph *tiles = lowering->result;
    *call = (LowerCall){.tile = tiles->buffers.items[operands[0].buffer].tile,
                        .spec = lower_spec(tiles, spec)};
    if (call->spec == UINT32_MAX)
        return false;
    KernelInterface interface;
    kernel_interface(spec, &interface);
    for (uint32_t i = 0; i < interface.operand_count; i++) {
        call->operands[i] = operands[i];
        use_operand(tiles, operands[i], &interface.operands[i], event);
        for (uint32_t j = 0; j < i; j++)
            if (interface.operands[i].apart >> j & 1 &&
                !lower_want_apart(lowering, operands[j].buffer, operands[i].buffer, false))
                return false;
    }
    for (uint32_t i = 0; i < interface.free_scalars; i++)
        call->scalars[i] = scalars[i];
    kernel_scalars(spec, call->scalars);
    return true;
}

static bool add_planned_call(Lowering *lowering, uint32_t tile, const PlanCall *planned,
                             uint32_t event) {
    LowerOperand operands[KERNEL_MAX_OPERANDS] = {0};
    KernelInterface interface;
    kernel_interface(&planned->spec, &interface);
    for (uint32_t i = 0; i < interface.operand_count; i++) {
        operands[i].buffer = lower_find(lowering->result, tile, planned->operands[i].value);
        operands[i].offset = planned->operands[i].offset;
        assert(operands[i].buffer != LOWER_NONE);
    }
    LowerCall call;
    return lower_call(lowering, &planned->spec, operands, planned->scalars, event, &call) &&
           vec_push(&lowering->result->calls, call);
}

static bool add_compute(Lowering *lowering, const PlanStep *planned) {
    TileGraph *tiles = lowering->result;
    LowerStep step = {.kind = STEP_COMPUTE,
                      .operation = planned->op,
                      .planned = (uint32_t)(planned - lowering->plan->steps),
                      .first_call = (uint32_t)tiles->calls.count,
                      .first_copy = (uint32_t)tiles->copies.count,
                      .times = lowering->times,
                      .predicted_cycles = planned->cycles};
    uint32_t event = (uint32_t)tiles->steps.count + 1;
    for (uint32_t tile = 0; tile < tiles->tiles; tile++) {
        uint32_t count = plan_call_count(lowering->graph, lowering->plan, planned, tile);
        for (uint32_t i = 0; i < count; i++) {
            PlanCall call;
            plan_call(lowering->graph, lowering->plan, planned, tile, i, &call);
            if (!add_planned_call(lowering, tile, &call, event))
                return false;
        }
    }
    step.call_count = (uint32_t)tiles->calls.count - step.first_call;
    return vec_push(&tiles->steps, step);
}

/* Moves of tile 0 alone: what they touch at least. Where local calls come first, sources may have
 * done with them. */
static bool touch_moves(Lowering *lowering, const PlanStep *planned, bool after_local) {
    TileGraph *tiles = lowering->result;
    uint32_t event = (uint32_t)tiles->steps.count + 1;
    for (uint32_t i = 0; i < planned->move_count; i++) {
        const PlanMove *move = &lowering->plan->moves[planned->first_move + i];
        uint32_t source = lower_find(tiles, 0, move->source);
        uint32_t target = lower_find(tiles, 0, move->target);
        if (source != LOWER_NONE && !after_local)
            lower_touch(tiles, source, event);
        if (target != LOWER_NONE)
            lower_touch(tiles, target, planned->kind == PLAN_EXCHANGE ? event : event + 1);
    }
    LowerStep step = {.kind = planned->kind == PLAN_LOCAL ? STEP_COMPUTE : STEP_EXCHANGE,
                      .operation = planned->op,
                      .first_call = (uint32_t)tiles->calls.count,
                      .times = lowering->times};
    return vec_push(&tiles->steps, step);
}

/* Step *number of the plan, and the next one if both are one exchange. */
static Status add_step(Lowering *lowering, uint32_t *number, uint32_t end) {
    const PlanStep *step = &lowering->plan->steps[*number];
    bool moves = step->kind == PLAN_LOCAL || step->kind == PLAN_EXCHANGE;
    bool good = true;
    Status status = STATUS_OK;
    if (!moves)
        good = add_compute(lowering, step);
    else if (lowering->first_only)
        good = touch_moves(lowering, step, *number > 0 && plan_same_moves(step - 1, step));
    else if (step->kind == PLAN_EXCHANGE)
        status = lower_exchange(lowering, NULL, step);
    else if (*number + 1 < end && plan_same_moves(step, step + 1))
        status = lower_exchange(lowering, step, &lowering->plan->steps[++*number]);
    else
        status = lower_exchange(lowering, step, NULL);
    ++*number;
    return good ? status : lower_no_memory(lowering);
}

static Status add_steps(Lowering *lowering, uint32_t first, uint32_t end) {
    Status status = STATUS_OK;
    while (first < end && !status)
        status = add_step(lowering, &first, end);
    return status;
}

/* ---- loops */

static bool add_mark(Lowering *lowering, LowerStepKind kind, const PlanLoop *loop, uint32_t body) {
    TileGraph *tiles = lowering->result;
    LowerStep step = {.kind = kind,
                      .operation = lowering->plan->steps[loop->first_step].op,
                      .planned = loop->first_step,
                      .first_call = (uint32_t)tiles->calls.count,
                      .first_copy = (uint32_t)tiles->copies.count,
                      .times = loop->times,
                      .body = body};
    return vec_push(&tiles->steps, step);
}

/* What is there when a loop begins and is used in it must be there in all iterations. */
static void keep_through(TileGraph *tiles, uint32_t begin) {
    uint32_t end = (uint32_t)tiles->steps.count; /* event of the last step */
    for (size_t i = 0; i < tiles->buffers.count; i++) {
        LowerBuffer *buffer = &tiles->buffers.items[i];
        if (buffer->first_event < begin && buffer->last_event >= begin)
            buffer->last_event = MAX_OF(buffer->last_event, end);
    }
}

static Status add_loop(Lowering *lowering, const PlanLoop *loop) {
    TileGraph *tiles = lowering->result;
    size_t begin = tiles->steps.count;
    if (!add_mark(lowering, STEP_REPEAT, loop, 0))
        return lower_no_memory(lowering);
    lowering->times = loop->times;
    Status status = add_steps(lowering, loop->first_step, loop->first_step + loop->step_count);
    lowering->times = 1;
    uint32_t body = (uint32_t)(tiles->steps.count - begin);
    if (!status && !add_mark(lowering, STEP_AGAIN, loop, body))
        status = lower_no_memory(lowering);
    if (status)
        return status;
    tiles->steps.items[begin].body = body;
    keep_through(tiles, (uint32_t)begin + 1);
    return STATUS_OK;
}

static Status add_all_steps(Lowering *lowering) {
    const Plan *plan = lowering->plan;
    uint32_t at = 0;
    Status status = STATUS_OK;
    for (uint32_t i = 0; i < plan->loop_count && !status; i++) {
        const PlanLoop *loop = &plan->loops[i];
        status = add_steps(lowering, at, loop->first_step);
        if (!status)
            status = add_loop(lowering, loop);
        at = loop->first_step + loop->step_count * loop->times;
    }
    return status ? status : add_steps(lowering, at, plan->step_count);
}

/* Steps that are lowered, with the begin and end of each loop; *exchanges receives how many of them
 * are exchanges. */
static uint32_t count_steps(const Plan *plan, uint32_t *exchanges) {
    uint32_t steps = plan->step_count;
    *exchanges = 0;
    for (uint32_t i = 0; i < plan->step_count; i++)
        *exchanges += plan->steps[i].kind == PLAN_EXCHANGE;
    for (uint32_t i = 0; i < plan->loop_count; i++) {
        const PlanLoop *loop = &plan->loops[i];
        uint32_t more = loop->step_count * (loop->times - 1);
        steps -= more;
        steps += 2;
        for (uint32_t s = loop->first_step; s < loop->first_step + more; s++)
            *exchanges -= plan->steps[s].kind == PLAN_EXCHANGE;
    }
    return steps;
}

/* ---- pairs */

/* By tile, then by buffers; a hard pair before a soft one of the same buffers. */
static int compare_wanted(const void *first, const void *second) {
    const WantedPair *x = first, *y = second;
    if (x->tile != y->tile)
        return x->tile < y->tile ? -1 : 1;
    if (x->pair.a != y->pair.a)
        return x->pair.a < y->pair.a ? -1 : 1;
    if (x->pair.b != y->pair.b)
        return x->pair.b < y->pair.b ? -1 : 1;
    return (int)x->pair.soft - (int)y->pair.soft;
}

static bool add_pairs(Lowering *lowering) {
    TileGraph *tiles = lowering->result;
    if (lowering->wanted.count > 1)
        qsort(lowering->wanted.items, lowering->wanted.count, sizeof(WantedPair), compare_wanted);
    size_t at = 0;
    for (uint32_t tile = 0; tile < tiles->tiles; tile++) {
        for (; at < lowering->wanted.count && lowering->wanted.items[at].tile == tile; at++) {
            LowerPair pair = lowering->wanted.items[at].pair;
            const LowerPair *last = tiles->pairs.count > tiles->tile_pair[tile]
                                        ? &tiles->pairs.items[tiles->pairs.count - 1]
                                        : NULL;
            if (last && last->a == pair.a && last->b == pair.b)
                continue;
            if (!vec_push(&tiles->pairs, pair))
                return false;
        }
        tiles->tile_pair[tile + 1] = (uint32_t)tiles->pairs.count;
    }
    return true;
}

/* ---- bindings */

static bool add_binding(Lowering *lowering, const GraphOp *op, BindingKind kind, uint32_t value) {
    TileGraph *tiles = lowering->result;
    const Format *format = &lowering->plan->values[value].format;
    LowerBinding binding = {.name = op->name,
                            .kind = kind,
                            .value = value,
                            .shape = lowering->graph->values.items[value].logical,
                            .stored = lowering->graph->values.items[value].shape,
                            .format = *format,
                            .first_slice = (uint32_t)tiles->slices.count};
    for (uint32_t shard = 0; shard < format_shards(format); shard++)
        for (uint32_t copy = 0; copy < format->replicas; copy++) {
            uint32_t tile = format_tile_of_shard(format, shard, copy);
            LowerSlice slice = {lower_find(tiles, tile, value), tiles->values.items[value].member,
                                shard, copy};
            if (slice.buffer != LOWER_NONE && !vec_push(&tiles->slices, slice))
                return false;
        }
    binding.slice_count = (uint32_t)tiles->slices.count - binding.first_slice;
    return vec_push(&tiles->bindings, binding);
}

static bool add_bindings(Lowering *lowering) {
    const Graph *graph = lowering->graph;
    for (int outputs = 0; outputs < 2; outputs++) {
        for (uint32_t i = 0; i < graph->ops.count; i++) {
            const GraphOp *op = &graph->ops.items[i];
            BindingKind kind;
            switch (op->kind) {
            case GRAPH_INPUT: kind = BINDING_INPUT; break;
            case GRAPH_PARAMETER: kind = BINDING_PARAMETER; break;
            case GRAPH_OUTPUT: kind = BINDING_OUTPUT; break;
            default: continue;
            }
            if ((kind == BINDING_OUTPUT) == (outputs == 1) &&
                !add_binding(lowering, op, kind, graph_port_value(graph, i)))
                return false;
        }
    }
    return true;
}

/* ---- the whole */

static Status lower_all(Lowering *lowering) {
    TileGraph *tiles = lowering->result;
    find_roles(lowering);
    bool good = add_values(lowering);
    for (uint32_t tile = 0; tile < tiles->tiles && good; tile++)
        good = add_buffers(lowering, tile);
    if (!good)
        return lower_no_memory(lowering);
    Status status = add_all_steps(lowering);
    if (status)
        return status;
    good = add_pairs(lowering) && (lowering->first_only || add_bindings(lowering));
    return good ? STATUS_OK : lower_no_memory(lowering);
}

static Status lower(const Graph *graph, const Plan *plan, bool first_only, TileGraph *result,
                    Diag *diag) {
    uint32_t count = first_only ? 1 : plan->tiles, exchanges;
    uint32_t steps = count_steps(plan, &exchanges);
    *result = (TileGraph){.tiles = count,
                          .tile_buffer = mem_alloc((size_t)count + 1, sizeof(uint32_t)),
                          .tile_pair = mem_alloc((size_t)count + 1, sizeof(uint32_t)),
                          .exchanges = exchanges,
                          .row_buffer = mem_alloc((size_t)count * exchanges + 1, sizeof(uint32_t)),
                          .end_event = steps + 1};
    Lowering lowering = {.graph = graph,
                         .plan = plan,
                         .result = result,
                         .first_only = first_only,
                         .row_tiles = (uint32_t)align_up(plan_tiles_used(plan), TILES_OF_A_PAIR),
                         .role = mem_alloc((size_t)plan->value_count + 1, sizeof(BufferRole)),
                         .to_end = mem_alloc((size_t)plan->value_count + 1, sizeof(bool)),
                         .times = 1,
                         .diag = diag};
    Status status = result->tile_buffer && result->tile_pair && result->row_buffer &&
                            lowering.role && lowering.to_end
                        ? lower_all(&lowering)
                        : lower_no_memory(&lowering);
    mem_free(lowering.role);
    mem_free(lowering.to_end);
    vec_free(&lowering.local);
    vec_free(&lowering.wanted);
    return status;
}

Status lower_plan(const Graph *graph, const Plan *plan, TileGraph *result, Diag *diag) {
    return lower(graph, plan, false, result, diag);
}

Status lower_first_tile(const Graph *graph, const Plan *plan, TileGraph *result, Diag *diag) {
    return lower(graph, plan, true, result, diag);
}

void tile_graph_free(TileGraph *tiles) {
    mem_free(tiles->tile_buffer);
    mem_free(tiles->tile_pair);
    mem_free(tiles->row_buffer);
    vec_free(&tiles->values);
    vec_free(&tiles->buffers);
    vec_free(&tiles->pairs);
    vec_free(&tiles->specs);
    vec_free(&tiles->calls);
    vec_free(&tiles->copies);
    vec_free(&tiles->dests);
    vec_free(&tiles->steps);
    vec_free(&tiles->slices);
    vec_free(&tiles->bindings);
    arena_free(&tiles->arena);
    *tiles = (TileGraph){0};
}

uint64_t tile_graph_bytes(const TileGraph *tiles) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < tiles->buffers.count; i++)
        if (tiles->buffers.items[i].role != BUFFER_ROWS && !tiles->buffers.items[i].is_piece)
            bytes += (uint64_t)tiles->buffers.items[i].bytes *
                     MAX_OF(tiles->buffers.items[i].members, 1u);
    return bytes;
}
