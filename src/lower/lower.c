#include "lower/lower.h"

#include <assert.h>

enum { NO_BUFFER = UINT32_MAX };

typedef struct Lowering {
    const Graph *graph;
    const Plan *plan;
    TileGraph *result;
    bool *is_output; /* [values] */
} Lowering;

static Status no_memory(Diag *diag) {
    return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "lowering a plan to tiles");
}

static uint32_t find_buffer(const TileGraph *tiles, uint32_t tile, uint32_t value) {
    for (uint32_t i = tiles->tile_buffer[tile]; i < tiles->tile_buffer[tile + 1]; i++)
        if (tiles->buffers.items[i].value == value)
            return i;
    return NO_BUFFER;
}

static BufferRole value_role(const Lowering *lowering, uint32_t value) {
    const GraphValue *info = &lowering->graph->values.items[value];
    switch (lowering->graph->ops.items[info->op].kind) {
    case GRAPH_INPUT: return BUFFER_INPUT;
    case GRAPH_PARAMETER: return BUFFER_PARAMETER;
    default: return lowering->is_output[value] ? BUFFER_OUTPUT : BUFFER_TEMPORARY;
    }
}

/* One buffer for each shard that the tile holds; uses narrow or widen it later. */
static bool add_buffers(Lowering *lowering, uint32_t tile) {
    TileGraph *tiles = lowering->result;
    for (uint32_t value = 0; value < lowering->plan->value_count; value++) {
        const Format *format = &lowering->plan->values[value].format;
        if (tile - format->first_tile >= format->tile_count)
            continue;
        uint32_t shard = format_shard_of_tile(format, tile);
        uint64_t bytes =
            format_shard_bytes(format, &lowering->graph->values.items[value].shape, shard);
        if (bytes == 0)
            continue;
        assert(bytes <= UINT32_MAX); /* a plan has no part larger than a tile */
        BufferRole role = value_role(lowering, value);
        bool from_host = role == BUFFER_INPUT || role == BUFFER_PARAMETER;
        bool to_end = role == BUFFER_PARAMETER || lowering->is_output[value];
        LowerBuffer buffer = {.tile = tile,
                              .value = value,
                              .shard = shard,
                              .bytes = (uint32_t)bytes,
                              .alignment = 4,
                              .memory_class = format->memory_class,
                              .role = role,
                              .first_event = from_host ? 0 : tiles->end_event,
                              .last_event = to_end ? tiles->end_event : 0};
        if (!vec_push(&tiles->buffers, buffer))
            return false;
    }
    tiles->tile_buffer[tile + 1] = (uint32_t)tiles->buffers.count;
    return true;
}

/* Index of the spec, added if it is new; UINT32_MAX without memory. A step has few of them. */
static uint32_t intern_spec(TileGraph *tiles, const KernelSpec *spec) {
    for (uint32_t i = 0; i < tiles->specs.count; i++)
        if (kernel_spec_equal(&tiles->specs.items[i], spec))
            return i;
    return vec_push(&tiles->specs, *spec) ? (uint32_t)tiles->specs.count - 1 : UINT32_MAX;
}

/* What the kernel wants of an operand's buffer, and when. */
static void use_buffer(LowerBuffer *buffer, const KernelOperand *operand, uint32_t event) {
    assert(buffer->bytes == operand->bytes);
    assert(buffer->memory_class >= operand->memory_class);
    buffer->alignment = MAX_OF(buffer->alignment, operand->alignment);
    buffer->tail = MAX_OF(buffer->tail, operand->tail);
    buffer->first_event = MIN_OF(buffer->first_event, event);
    buffer->last_event = MAX_OF(buffer->last_event, event);
}

static bool add_call(Lowering *lowering, uint32_t tile, const PlanCall *planned, uint32_t event) {
    TileGraph *tiles = lowering->result;
    LowerCall call = {.tile = tile, .spec = intern_spec(tiles, &planned->spec)};
    if (call.spec == UINT32_MAX)
        return false;
    KernelInterface interface;
    kernel_interface(&planned->spec, &interface);
    for (uint32_t i = 0; i < interface.operand_count; i++) {
        call.operands[i].buffer = find_buffer(tiles, tile, planned->values[i]);
        assert(call.operands[i].buffer != NO_BUFFER);
        use_buffer(&tiles->buffers.items[call.operands[i].buffer], &interface.operands[i], event);
    }
    for (uint32_t i = 0; i < interface.scalar_count; i++)
        call.scalars[i] = planned->scalars[i];
    return vec_push(&tiles->calls, call);
}

static bool add_step(Lowering *lowering, const PlanOperation *operation, uint32_t event) {
    TileGraph *tiles = lowering->result;
    LowerStep step = {.kind = STEP_COMPUTE,
                      .operation = operation->op,
                      .first_call = (uint32_t)tiles->calls.count,
                      .predicted_cycles = operation->cycles};
    for (uint32_t tile = 0; tile < tiles->tiles; tile++) {
        PlanCall call;
        if (plan_call(lowering->graph, lowering->plan, operation, tile, &call) &&
            !add_call(lowering, tile, &call, event))
            return false;
    }
    step.call_count = (uint32_t)tiles->calls.count - step.first_call;
    return vec_push(&tiles->steps, step);
}

/* Pairs that some kernel on the tile wants apart. Calls are by tile inside each step. */
static bool add_pairs(TileGraph *tiles, uint32_t *cursor) {
    for (uint32_t tile = 0; tile < tiles->tiles; tile++) {
        for (uint32_t s = 0; s < tiles->steps.count; s++) {
            const LowerStep *step = &tiles->steps.items[s];
            const LowerCall *call = &tiles->calls.items[step->first_call + cursor[s]];
            if (cursor[s] == step->call_count || call->tile != tile)
                continue;
            cursor[s]++;
            KernelInterface interface;
            kernel_interface(&tiles->specs.items[call->spec], &interface);
            for (uint32_t a = 0; a < interface.operand_count; a++)
                for (uint32_t b = a + 1; b < interface.operand_count; b++)
                    if (interface.operands[a].apart >> b & 1 &&
                        !vec_push(&tiles->pairs, ((LowerPair){.a = call->operands[a].buffer,
                                                              .b = call->operands[b].buffer})))
                        return false;
        }
        tiles->tile_pair[tile + 1] = (uint32_t)tiles->pairs.count;
    }
    return true;
}

static bool add_binding(Lowering *lowering, const GraphOp *op, BindingKind kind, uint32_t value) {
    TileGraph *tiles = lowering->result;
    const Format *format = &lowering->plan->values[value].format;
    LowerBinding binding = {.name = op->name,
                            .kind = kind,
                            .value = value,
                            .shape = lowering->graph->values.items[value].shape,
                            .format = *format,
                            .first_slice = (uint32_t)tiles->slices.count};
    for (uint32_t shard = 0; shard < format_shards(format); shard++)
        for (uint32_t copy = 0; copy < format->replicas; copy++) {
            uint32_t tile = format_tile_of_shard(format, shard, copy);
            LowerSlice slice = {find_buffer(tiles, tile, value), shard, copy};
            if (slice.buffer != NO_BUFFER && !vec_push(&tiles->slices, slice))
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
            if (op->kind == GRAPH_GEMM || (op->kind == GRAPH_OUTPUT) != (outputs == 1))
                continue;
            BindingKind kind = op->kind == GRAPH_INPUT       ? BINDING_INPUT
                               : op->kind == GRAPH_PARAMETER ? BINDING_PARAMETER
                                                             : BINDING_OUTPUT;
            if (!add_binding(lowering, op, kind, graph_port_value(graph, i)))
                return false;
        }
    }
    return true;
}

static bool add_values(Lowering *lowering) {
    for (uint32_t value = 0; value < lowering->plan->value_count; value++) {
        const GraphValue *info = &lowering->graph->values.items[value];
        LowerValue entry = {info->name, value, info->shape, lowering->plan->values[value].format};
        if (!vec_push(&lowering->result->values, entry))
            return false;
    }
    return true;
}

static bool lower_all(Lowering *lowering) {
    const Graph *graph = lowering->graph;
    const Plan *plan = lowering->plan;
    TileGraph *tiles = lowering->result;
    if (!add_values(lowering))
        return false;
    for (uint32_t i = 0; i < graph->ops.count; i++)
        if (graph->ops.items[i].kind == GRAPH_OUTPUT)
            lowering->is_output[graph_port_value(graph, i)] = true;
    for (uint32_t tile = 0; tile < tiles->tiles; tile++)
        if (!add_buffers(lowering, tile))
            return false;
    for (uint32_t i = 0; i < plan->operation_count; i++)
        if (!add_step(lowering, &plan->operations[i], i + 1))
            return false;
    uint32_t *cursor = mem_alloc(tiles->steps.count + 1, sizeof *cursor);
    bool good = cursor && add_pairs(tiles, cursor) && add_bindings(lowering);
    mem_free(cursor);
    return good;
}

Status lower_plan(const Graph *graph, const Plan *plan, TileGraph *result, Diag *diag) {
    *result = (TileGraph){.tiles = plan->tiles,
                          .tile_buffer = mem_alloc(plan->tiles + 1, sizeof(uint32_t)),
                          .tile_pair = mem_alloc(plan->tiles + 1, sizeof(uint32_t)),
                          .end_event = plan->operation_count + 1};
    Lowering lowering = {graph, plan, result, mem_alloc(graph->values.count, sizeof(bool))};
    bool good =
        result->tile_buffer && result->tile_pair && lowering.is_output && lower_all(&lowering);
    mem_free(lowering.is_output);
    return good ? STATUS_OK : no_memory(diag);
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
    *tiles = (TileGraph){0};
}

uint64_t tile_graph_bytes(const TileGraph *tiles) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < tiles->buffers.count; i++)
        bytes += tiles->buffers.items[i].bytes;
    return bytes;
}
