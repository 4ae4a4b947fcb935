#include "lower/lower.h"

#include <inttypes.h>

static const char *const role_names[] = {
    [BUFFER_INPUT] = "input",         [BUFFER_PARAMETER] = "parameter", [BUFFER_OUTPUT] = "output",
    [BUFFER_TEMPORARY] = "temporary", [BUFFER_ROWS] = "rows",
};

static const char *const kind_names[] = {
    [BINDING_INPUT] = "input",
    [BINDING_PARAMETER] = "parameter",
    [BINDING_OUTPUT] = "output",
};

static void print_head(const TileGraph *tiles, FILE *out) {
    fprintf(out, "tiles %u, %zu buffers of %" PRIu64 " bytes, end event %u\n", tiles->tiles,
            tiles->buffers.count, tile_graph_bytes(tiles), tiles->end_event);
    for (uint32_t i = 0; i < tiles->specs.count; i++) {
        char name[KERNEL_NAME_SIZE];
        fprintf(out, "spec %u %s\n", i, kernel_name(&tiles->specs.items[i], name));
    }
    for (uint32_t i = 0; i < tiles->steps.count; i++) {
        const LowerStep *step = &tiles->steps.items[i];
        if (step->kind == STEP_COMPUTE)
            fprintf(out, "step %u compute operation %u, %u calls, %" PRIu64 " cycles\n", i,
                    step->operation, step->call_count, step->predicted_cycles);
        else if (step->kind == STEP_REPEAT)
            fprintf(out, "step %u repeat steps %u-%u, %u times\n", i, i + 1, i + step->body - 1,
                    step->times);
        else if (step->kind == STEP_AGAIN)
            fprintf(out, "step %u again\n", i);
        else
            fprintf(out, "step %u exchange operation %u, %u copies, %" PRIu64 " cycles\n", i,
                    step->operation, step->copy_count, step->predicted_cycles);
    }
    for (uint32_t i = 0; i < tiles->values.count; i++) {
        char *format = format_print(&tiles->values.items[i].format);
        fprintf(out, "value %u %s %s\n", i, tiles->values.items[i].name, format ? format : "");
        mem_free(format);
    }
    for (uint32_t i = 0; i < tiles->bindings.count; i++) {
        const LowerBinding *binding = &tiles->bindings.items[i];
        char shape[SHAPE_TEXT_SIZE];
        char *format = format_print(&binding->format);
        fprintf(out, "binding %s \"%s\" %s, %u slices, %s\n", kind_names[binding->kind],
                binding->name, shape_print(&binding->shape, shape), binding->slice_count,
                format ? format : "");
        mem_free(format);
    }
}

static void print_calls(const TileGraph *tiles, uint32_t tile, FILE *out) {
    for (uint32_t s = 0; s < tiles->steps.count; s++) {
        const LowerStep *step = &tiles->steps.items[s];
        for (uint32_t i = step->first_call; i < step->first_call + step->call_count; i++) {
            const LowerCall *call = &tiles->calls.items[i];
            if (call->tile != tile)
                continue;
            KernelInterface interface;
            kernel_interface(&tiles->specs.items[call->spec], &interface);
            fprintf(out, "  call step %u spec %u:", s, call->spec);
            for (uint32_t k = 0; k < interface.operand_count; k++)
                fprintf(out, " %s=b%u+%u", interface.operands[k].name, call->operands[k].buffer,
                        call->operands[k].offset);
            for (uint32_t k = 0; k < interface.scalar_count; k++)
                fprintf(out, " %d", call->scalars[k]);
            fputc('\n', out);
        }
    }
}

static void print_copies(const TileGraph *tiles, FILE *out) {
    for (uint32_t s = 0; s < tiles->steps.count; s++) {
        const LowerStep *step = &tiles->steps.items[s];
        for (uint32_t i = step->first_copy; i < step->first_copy + step->copy_count; i++) {
            const LowerCopy *copy = &tiles->copies.items[i];
            fprintf(out, "copy step %u: %u words b%u+%u ->", s, copy->words, copy->source.buffer,
                    copy->source.offset);
            for (uint32_t k = 0; k < copy->dest_count; k++) {
                const LowerOperand *dest = &tiles->dests.items[copy->first_dest + k];
                fprintf(out, " b%u+%u", dest->buffer, dest->offset);
            }
            fputc('\n', out);
        }
    }
}

static void print_buffer(const TileGraph *tiles, uint32_t number, FILE *out) {
    const LowerBuffer *buffer = &tiles->buffers.items[number];
    fprintf(out, "  b%u %s ", number, role_names[buffer->role]);
    if (buffer->value != LOWER_NONE)
        fprintf(out, "value %u shard %u", buffer->value, buffer->shard);
    else
        fprintf(out, "exchange %u", buffer->shard);
    fprintf(out, ": %u+%u bytes, align %u, %s, events %u-%u", buffer->bytes, buffer->tail,
            buffer->alignment, memory_class_name(buffer->memory_class), buffer->first_event,
            buffer->last_event);
    if (buffer->members > 1)
        fprintf(out, ", %u members", buffer->members);
    if (buffer->is_piece)
        fprintf(out, ", at b%u+%u", buffer->whole, buffer->offset);
    fputc('\n', out);
}

void tile_graph_print(const TileGraph *tiles, FILE *out) {
    print_head(tiles, out);
    for (uint32_t tile = 0; tile < tiles->tiles; tile++) {
        if (tiles->tile_buffer[tile] == tiles->tile_buffer[tile + 1])
            continue;
        fprintf(out, "tile %u\n", tile);
        for (uint32_t i = tiles->tile_buffer[tile]; i < tiles->tile_buffer[tile + 1]; i++)
            print_buffer(tiles, i, out);
        for (uint32_t i = tiles->tile_pair[tile]; i < tiles->tile_pair[tile + 1]; i++) {
            const LowerPair *pair = &tiles->pairs.items[i];
            fprintf(out, "  apart b%u b%u%s\n", pair->a, pair->b, pair->soft ? " softly" : "");
        }
        print_calls(tiles, tile, out);
    }
    print_copies(tiles, out);
}
