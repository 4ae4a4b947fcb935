/* A tile graph executed on the host: copies as memory copies, calls by the kernels' references. */
#pragma once

#include "testing.h"

#include "lower/lower.h"
#include "tensor/bulk.h"

#include <string.h>

/* Storage of every buffer; aliases point into their roots. What nobody writes is full of NaNs. */
static inline uint8_t **tiles_create(const TileGraph *tiles) {
    uint8_t **memory = mem_alloc(tiles->buffers.count + 1, sizeof *memory);
    assert_non_null(memory);
    for (size_t i = 0; i < tiles->buffers.count; i++) {
        const LowerBuffer *buffer = &tiles->buffers.items[i];
        if (buffer->is_piece)
            continue;
        memory[i] = mem_alloc(buffer->bytes, 1);
        assert_non_null(memory[i]);
        memset(memory[i], 0xFF, buffer->bytes);
    }
    for (size_t i = 0; i < tiles->buffers.count; i++) {
        const LowerBuffer *buffer = &tiles->buffers.items[i];
        if (!buffer->is_piece)
            continue;
        const LowerBuffer *root = &tiles->buffers.items[buffer->whole];
        assert_false(root->is_piece);
        assert_int_equal(root->tile, buffer->tile);
        assert_true(buffer->offset + buffer->bytes <= root->bytes);
        memory[i] = memory[buffer->whole] + buffer->offset;
    }
    return memory;
}

static inline void tiles_free(const TileGraph *tiles, uint8_t **memory) {
    for (size_t i = 0; i < tiles->buffers.count; i++)
        if (!tiles->buffers.items[i].is_piece)
            mem_free(memory[i]);
    mem_free(memory);
}

/* All slices of a binding from, or to, the value's logical codes. */
static inline void tiles_move(const TileGraph *tiles, const char *name, uint8_t **memory,
                              void *logical) {
    const LowerBinding *binding = NULL;
    for (size_t i = 0; i < tiles->bindings.count; i++)
        if (strcmp(tiles->bindings.items[i].name, name) == 0)
            binding = &tiles->bindings.items[i];
    assert_non_null(binding);
    for (uint32_t i = 0; i < binding->slice_count; i++) {
        const LowerSlice *slice = &tiles->slices.items[binding->first_slice + i];
        Shard shard;
        format_shard(&binding->format, &binding->shape, slice->shard, &shard);
        if (binding->kind == BINDING_OUTPUT)
            bulk_unpack(&binding->shape, &shard, memory[slice->buffer], logical);
        else
            bulk_pack(&binding->shape, &shard, logical, memory[slice->buffer]);
    }
}

static inline void tiles_call(const TileGraph *tiles, const LowerCall *call, uint8_t **memory) {
    const KernelSpec *spec = &tiles->specs.items[call->spec];
    KernelInterface interface;
    kernel_interface(spec, &interface);
    void *operands[KERNEL_MAX_OPERANDS] = {0};
    for (uint32_t k = 0; k < interface.operand_count; k++) {
        const LowerOperand *operand = &call->operands[k];
        const LowerBuffer *buffer = &tiles->buffers.items[operand->buffer];
        assert_int_equal(buffer->tile, call->tile);
        assert_true(operand->offset + interface.operands[k].bytes <= buffer->bytes);
        assert_int_equal((buffer->offset + operand->offset) % interface.operands[k].alignment, 0);
        operands[k] = memory[operand->buffer] + operand->offset;
    }
    kernel_reference(spec, operands, call->scalars);
}

static inline void tiles_copy(const TileGraph *tiles, const LowerCopy *copy, uint8_t **memory) {
    uint32_t bytes = 4 * copy->words;
    assert_true(copy->words > 0 && copy->source.offset % 4 == 0);
    assert_true(copy->source.offset + bytes <= tiles->buffers.items[copy->source.buffer].bytes);
    uint32_t source_tile = tiles->buffers.items[copy->source.buffer].tile;
    for (uint32_t k = 0; k < copy->dest_count; k++) {
        const LowerOperand *dest = &tiles->dests.items[copy->first_dest + k];
        const LowerBuffer *buffer = &tiles->buffers.items[dest->buffer];
        assert_true(dest->offset % 4 == 0 && dest->offset + bytes <= buffer->bytes);
        assert_true(copy->dest_count > 1 || buffer->tile != source_tile);
        if (k > 0) {
            const LowerOperand *before = dest - 1;
            assert_true(tiles->buffers.items[before->buffer].tile < buffer->tile);
        }
        memcpy(memory[dest->buffer] + dest->offset,
               memory[copy->source.buffer] + copy->source.offset, bytes);
    }
}

/* All steps. Calls are by ascending tile. */
static inline void tiles_run(const TileGraph *tiles, uint8_t **memory) {
    for (size_t s = 0; s < tiles->steps.count; s++) {
        const LowerStep *step = &tiles->steps.items[s];
        uint32_t last = 0;
        for (uint32_t i = 0; step->kind == STEP_COMPUTE && i < step->call_count; i++) {
            const LowerCall *call = &tiles->calls.items[step->first_call + i];
            assert_true(call->tile >= last);
            last = call->tile;
            tiles_call(tiles, call, memory);
        }
        for (uint32_t i = 0; step->kind == STEP_EXCHANGE && i < step->copy_count; i++)
            tiles_copy(tiles, &tiles->copies.items[step->first_copy + i], memory);
    }
}
