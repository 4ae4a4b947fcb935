/* Where every buffer of every tile lies. A package tells it of one tile of each program, of bound
 * tensors, and of rows; the rest follows from calls and transfers, which are the same addresses in
 * other places. */
#include "api/attribute.h"

#include "base/map.h"

#include <stdlib.h>
#include <string.h>

typedef struct Mapper {
    const Cutter *cutter;
    const TileGraph *tiles;
    uint32_t *address; /* of each lowered buffer; LOWER_NONE: not known yet */
    uint32_t *size;    /* of each */
    uint32_t *runs[2]; /* of each step: its first and its last run */
    StrMap *known;     /* maps as text → their numbers */
    uint64_t count;
} Mapper;

/* ---- addresses */

static void learn(const Mapper *m, const LowerOperand *operand, uint32_t address) {
    if (m->address[operand->buffer] == LOWER_NONE)
        m->address[operand->buffer] = address - operand->offset;
}

/* The tile that the package describes for each program: its buffers in their order. */
static void learn_programs(const Mapper *m, uint32_t *first_tile) {
    const Package *package = m->cutter->package;
    for (uint32_t tile = m->tiles->tiles; tile-- > 0;)
        first_tile[package->program[tile]] = tile;
    for (size_t i = 0; i < package->buffers.count; i++) {
        const PackageBuffer *from = &package->buffers.items[i];
        uint32_t tile = first_tile[from->program];
        uint32_t buffer = m->tiles->tile_buffer[tile] + from->ordinal;
        if (buffer < m->tiles->tile_buffer[tile + 1])
            m->address[buffer] = from->address;
    }
}

static void learn_bindings(const Mapper *m) {
    for (size_t i = 0; i < m->tiles->bindings.count; i++) {
        const LowerBinding *binding = &m->tiles->bindings.items[i];
        const PackageBinding *packed = package_find(m->cutter->package, binding->name);
        for (uint32_t k = 0; packed && k < MIN_OF(binding->slice_count, packed->slice_count); k++) {
            const LowerSlice *slice = &m->tiles->slices.items[binding->first_slice + k];
            if (slice->member == 0)
                learn(m, &(LowerOperand){.buffer = slice->buffer}, packed->slices[k].address);
        }
    }
}

/* Up to the end of the last member of a row of parameters, tails included. */
static void find_sizes(const Mapper *m) {
    for (size_t i = 0; i < m->tiles->buffers.count; i++)
        m->size[i] = m->tiles->buffers.items[i].bytes + m->tiles->buffers.items[i].tail;
    for (size_t i = 0; i < m->tiles->bindings.count; i++) {
        const LowerBinding *binding = &m->tiles->bindings.items[i];
        const PackageBinding *packed = package_find(m->cutter->package, binding->name);
        for (uint32_t k = 0; packed && k < MIN_OF(binding->slice_count, packed->slice_count); k++) {
            const LowerSlice *slice = &m->tiles->slices.items[binding->first_slice + k];
            const LowerBuffer *buffer = &m->tiles->buffers.items[slice->buffer];
            uint32_t end = packed->slices[k].address + buffer->bytes + buffer->tail;
            if (slice->member > 0 && end > m->address[slice->buffer])
                m->size[slice->buffer] =
                    MAX_OF(m->size[slice->buffer], end - m->address[slice->buffer]);
        }
    }
}

/* First of the step's calls on a tile. */
static uint32_t first_call(const Mapper *m, const LowerStep *step, uint32_t tile) {
    uint32_t low = step->first_call, high = low + step->call_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (m->tiles->calls.items[middle].tile < tile)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Tiles of one program make the same calls. */
static void learn_calls(const Mapper *m, const LowerStep *step, const uint32_t *first_tile) {
    const LowerCall *calls = m->tiles->calls.items;
    uint32_t end = step->first_call + step->call_count, other = 0;
    for (uint32_t i = step->first_call; i < end; i++, other++) {
        uint32_t like = first_tile[m->cutter->package->program[calls[i].tile]];
        if (i == step->first_call || calls[i - 1].tile != calls[i].tile)
            other = first_call(m, step, like);
        if (other >= end || calls[other].tile != like || calls[other].spec != calls[i].spec)
            continue;
        KernelInterface interface;
        kernel_interface(&m->tiles->specs.items[calls[i].spec], &interface);
        for (uint32_t k = 0; k < interface.operand_count; k++) {
            const LowerOperand *from = &calls[other].operands[k];
            if (m->address[from->buffer] != LOWER_NONE)
                learn(m, &calls[i].operands[k], m->address[from->buffer] + from->offset);
        }
    }
}

static Status learn_transfers(const Mapper *m, const LowerStep *step) {
    XchgPhase phase = {0};
    Status status =
        package_phase_transfers(m->cutter->package, step->exchange, &phase, m->cutter->diag);
    bool same = !status && phase.transfers.count == step->copy_count;
    for (uint32_t i = 0; same && i < step->copy_count; i++) {
        const LowerCopy *copy = &m->tiles->copies.items[step->first_copy + i];
        const XchgTransfer *transfer = &phase.transfers.items[i];
        learn(m, &copy->source, transfer->address);
        for (uint32_t d = 0; d < MIN_OF(copy->dest_count, transfer->dest_count); d++)
            learn(m, &m->tiles->dests.items[copy->first_dest + d],
                  phase.dests.items[transfer->first_dest + d].address);
    }
    xchg_phase_free(&phase);
    return status;
}

static void learn_pieces(const Mapper *m) {
    for (size_t i = 0; i < m->tiles->buffers.count; i++) {
        const LowerBuffer *piece = &m->tiles->buffers.items[i];
        if (!piece->is_piece)
            continue;
        if (m->address[piece->whole] == LOWER_NONE && m->address[i] != LOWER_NONE)
            m->address[piece->whole] = m->address[i] - piece->offset;
        else if (m->address[piece->whole] != LOWER_NONE)
            m->address[i] = m->address[piece->whole] + piece->offset;
    }
}

static Status find_addresses(const Mapper *m) {
    const TileGraph *tiles = m->tiles;
    Status status = STATUS_OK;
    uint32_t *first_tile = mem_alloc(m->cutter->package->programs.count + 1, sizeof *first_tile);
    if (!first_tile)
        return cutter_no_memory(m->cutter);
    memset(m->address, 0xFF, tiles->buffers.count * sizeof *m->address);
    learn_programs(m, first_tile);
    learn_bindings(m);
    for (size_t s = 0; s < tiles->steps.count && !status; s++) {
        const LowerStep *step = &tiles->steps.items[s];
        if (step->kind == STEP_EXCHANGE)
            status = learn_transfers(m, step);
        else if (step->kind == STEP_COMPUTE)
            learn_calls(m, step, first_tile);
    }
    learn_pieces(m);
    find_sizes(m);
    mem_free(first_tile);
    return status;
}

/* ---- maps */

static void find_runs(const Mapper *m) {
    for (uint32_t r = m->cutter->times.run_count; r-- > 0;)
        m->runs[0][m->cutter->times.run[r]] = r;
    for (uint32_t r = 0; r < m->cutter->times.run_count; r++)
        m->runs[1][m->cutter->times.run[r]] = r;
}

/* The event of a buffer's first (0) or last (1) use, of steps, as one of runs. */
static uint32_t run_event(const Mapper *m, uint32_t event, int last) {
    if (event == 0)
        return 0;
    return event > m->tiles->steps.count ? m->cutter->times.run_count + 1
                                         : m->runs[last][event - 1] + 1;
}

static bool is_mapped(const Mapper *m, uint32_t buffer) {
    return m->tiles->buffers.items[buffer].role != BUFFER_ROWS && m->address[buffer] != LOWER_NONE;
}

/* A tile's buffers as text, without what no other tile can share. NULL without memory. */
static char *map_text(const Mapper *m, uint32_t tile) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    for (uint32_t i = m->tiles->tile_buffer[tile]; i < m->tiles->tile_buffer[tile + 1]; i++) {
        const LowerBuffer *buffer = &m->tiles->buffers.items[i];
        if (is_mapped(m, i))
            fprintf(out, "%u %x %x %u %u;", buffer->value, m->address[i], m->size[i],
                    buffer->first_event, buffer->last_event);
    }
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

static bool add_buffers(const Mapper *m, uint32_t tile) {
    static const char *const roles[] = {[BUFFER_INPUT] = "input",
                                        [BUFFER_PARAMETER] = "parameter",
                                        [BUFFER_OUTPUT] = "output",
                                        [BUFFER_TEMPORARY] = "temporary"};
    Profile *profile = m->cutter->profile;
    for (uint32_t i = m->tiles->tile_buffer[tile]; i < m->tiles->tile_buffer[tile + 1]; i++) {
        const LowerBuffer *from = &m->tiles->buffers.items[i];
        if (!is_mapped(m, i))
            continue;
        ProfBuffer buffer = {.map = (uint32_t)m->count,
                             .name = arena_printf(&profile->arena, "%s %%%s", roles[from->role],
                                                  m->tiles->values.items[from->value].name),
                             .address = m->address[i],
                             .size = m->size[i],
                             .first = run_event(m, from->first_event, 0),
                             .last = run_event(m, from->last_event, 1)};
        if (!buffer.name || !vec_push(&profile->buffers, buffer))
            return false;
    }
    return true;
}

static bool add_tile(Mapper *m, uint32_t tile) {
    uint64_t number = m->count;
    char *text = map_text(m, tile);
    bool good = text != NULL;
    if (good && !strmap_get(m->known, text, &number)) {
        good = strmap_put(m->known, text, number) && add_buffers(m, tile);
        m->count++;
    }
    m->cutter->profile->map[tile] = (uint32_t)number;
    free(text);
    return good;
}

static bool add_rows(const Mapper *m) {
    const Package *package = m->cutter->package;
    for (uint32_t s = 0; s < m->tiles->steps.count; s++) {
        const LowerStep *step = &m->tiles->steps.items[s];
        uint32_t count = 0, first = 0;
        if (step->kind == STEP_EXCHANGE)
            first = package_phase_rows(package, step->exchange, &count);
        for (uint32_t i = first; i < first + count; i++) {
            const PackageRow *from = &package->rows.items[i];
            ProfRow row = {m->runs[0][s], from->tile, from->address, from->size};
            if (!vec_push(&m->cutter->profile->rows, row))
                return false;
        }
    }
    return true;
}

Status add_maps(const Cutter *c) {
    Mapper m = {.cutter = c,
                .tiles = &c->tiles,
                .address = mem_alloc(c->tiles.buffers.count + 1, sizeof *m.address),
                .size = mem_alloc(c->tiles.buffers.count + 1, sizeof *m.size),
                .runs = {mem_alloc(c->tiles.steps.count + 1, sizeof(uint32_t)),
                         mem_alloc(c->tiles.steps.count + 1, sizeof(uint32_t))},
                .known = strmap_create()};
    c->profile->map = mem_alloc(c->tiles.tiles, sizeof *c->profile->map);
    bool memory = m.address && m.size && m.runs[0] && m.runs[1] && m.known && c->profile->map;
    Status status = memory ? find_addresses(&m) : cutter_no_memory(c);
    if (memory)
        find_runs(&m);
    for (uint32_t tile = 0; tile < c->tiles.tiles && !status; tile++)
        if (!add_tile(&m, tile))
            status = cutter_no_memory(c);
    if (!status && !add_rows(&m))
        status = cutter_no_memory(c);
    strmap_free(m.known);
    mem_free(m.address);
    mem_free(m.size);
    mem_free(m.runs[0]);
    mem_free(m.runs[1]);
    return status;
}
