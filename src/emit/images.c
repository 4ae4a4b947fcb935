/* Supervisor programs, one a tile, equal ones kept once; and exchange rows. */
#include "emit/internal.h"

#include "isa/isa.h"
#include "kernel/step.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Registers of the calling convention (kernel.h). */
enum {
    REG_ZERO = 15,
    REG_RETURN = 10,
    REG_FIRST = 2,
    REG_LAST = 9,
    REG_BARRIER = 7, /* return address of the worker barrier */
    REG_COUNT = 8
};

/* A piece of the program that gets a symbol. */
typedef struct Mark {
    uint32_t offset, size;
    bool sampled;
    uint32_t step; /* of the tile graph, or MARK_HEAD, MARK_END */
} Mark;

enum { MARK_HEAD = UINT32_MAX, MARK_END = UINT32_MAX - 1 };

/* A word of the program that leads into a row of parameters, or, of a sample, to where it goes. */
typedef struct Site {
    uint32_t buffer; /* LOWER_NONE: a sample */
    uint32_t address;
} Site;

/* A program being written. The vectors are reused from tile to tile. */
typedef struct Writer {
    const EmitLibrary *library;
    const TileGraph *graph;
    const PlaceMap *places;
    const EmitExchange *exchanges;
    EmitTimes times; /* entry "run" */
    EmitLayout layout;
    uint32_t run_sampled;
    VEC(uint32_t) words;
    VEC(Mark) marks;
    VEC(EmitStep) steps;
    VEC(EmitCall) calls;
    VEC(Site) sites; /* in the loop in hand */
    bool in_loop;
    uint32_t loop, first_sample; /* number of the loop, and of the first sample in it */
    uint32_t body;               /* address of its first word */
    bool memory;                 /* false: an allocation failed */
} Writer;

static uint32_t here(const Writer *writer) {
    return writer->layout.program + 4 * (uint32_t)writer->words.count;
}

static void put(Writer *writer, IsaInstr instr) {
    uint32_t words[2] = {0};
    unsigned size = isa_encode(&instr, words);
    assert(size == 4);
    (void)size;
    writer->memory = writer->memory && vec_push(&writer->words, words[0]);
}

static void put_setzi(Writer *writer, int reg, uint32_t value) {
    put(writer, (IsaInstr){.form = ISA_SETZI, .operand = {reg, (int32_t)value}});
}

static void put_call(Writer *writer, int reg, uint32_t target) {
    put(writer, (IsaInstr){.form = ISA_CALL, .operand = {reg, (int32_t)target}});
}

static void put_csr(Writer *writer, int csr, int reg) {
    put(writer, (IsaInstr){.form = ISA_PUT, .operand = {csr, reg}});
}

static void put_sync(Writer *writer, ChipSync zone) {
    put(writer, (IsaInstr){.form = ISA_SYNC, .operand = {(int32_t)zone}});
}

static void note_site(Writer *writer, uint32_t buffer) {
    if (writer->in_loop)
        writer->memory = writer->memory && vec_push(&writer->sites, (Site){buffer, here(writer)});
}

/* As kernel/step.h promises: long scalars first, completed last. */
static void put_arguments(Writer *writer, const KernelInterface *interface, const LowerCall *call) {
    int scalar_register = REG_FIRST + (int)interface->operand_count;
    assert(scalar_register + (int)interface->scalar_count - 1 <= REG_LAST);
    for (uint32_t i = 0; i < interface->scalar_count; i++)
        if (kernel_scalar_is_long(call->scalars[i]))
            put_setzi(writer, scalar_register + (int)i, (uint32_t)call->scalars[i] & 0xFFFFF);
    for (uint32_t i = 0; i < interface->operand_count; i++) {
        const LowerOperand *operand = &call->operands[i];
        if (writer->graph->buffers.items[operand->buffer].members > 1)
            note_site(writer, operand->buffer);
        put_setzi(writer, REG_FIRST + (int)i,
                  writer->places->address[operand->buffer] + operand->offset);
    }
    for (uint32_t i = 0; i < interface->scalar_count; i++) {
        int32_t value = call->scalars[i];
        int reg = scalar_register + (int)i;
        if (kernel_scalar_is_long(value))
            continue;
        if (value >= 0)
            put_setzi(writer, reg, (uint32_t)value);
        else
            put(writer, (IsaInstr){.form = ISA_ADD_I16, .operand = {reg, REG_ZERO, value}});
    }
    for (uint32_t i = 0; i < interface->scalar_count; i++) {
        int reg = scalar_register + (int)i;
        if (kernel_scalar_is_long(call->scalars[i]))
            put(writer, (IsaInstr){.form = ISA_OR_HI12,
                                   .operand = {reg, reg, call->scalars[i] & ~0xFFFFF}});
    }
}

static void put_sample(Writer *writer, uint32_t number) {
    note_site(writer, LOWER_NONE);
    put_setzi(writer, REG_FIRST, writer->layout.samples + 4 * number);
    put_call(writer, REG_RETURN, writer->library->sample);
}

static void put_mark(Writer *writer, uint32_t begin, bool sampled, uint32_t step) {
    Mark mark = {begin - writer->layout.program, here(writer) - begin, sampled, step};
    writer->memory = writer->memory && vec_push(&writer->marks, mark);
}

static void keep_step(Writer *writer, uint32_t tile, uint32_t step, uint32_t calls,
                      const char *name) {
    const EmitTimes *times = &writer->times;
    EmitStep entry = {step, calls, name, 0};
    uint64_t begin = 0;
    for (uint32_t r = 0; r < times->run_count; r++) {
        uint64_t end = times->end[(size_t)r * writer->graph->tiles + tile];
        entry.cycles += times->run[r] == step ? end - begin : 0;
        begin = end;
    }
    writer->memory = writer->memory && vec_push(&writer->steps, entry);
}

static void put_kernel(Writer *writer, const LowerCall *call) {
    KernelInterface interface;
    kernel_interface(&writer->graph->specs.items[call->spec], &interface);
    put_arguments(writer, &interface, call);
    writer->memory =
        writer->memory && vec_push(&writer->calls, ((EmitCall){here(writer), call->spec}));
    put_call(writer, REG_RETURN, writer->library->kernel[call->spec]);
}

/* The tile meets all others and runs its row, whose addresses are absolute. */
static void put_launch(Writer *writer, uint32_t row) {
    put_csr(writer, CHIP_CSR_S_INCOMING_BASE, REG_ZERO);
    put_csr(writer, CHIP_CSR_S_OUTGOING_BASE, REG_ZERO);
    put_call(writer, REG_BARRIER, writer->library->barrier);
    put_setzi(writer, REG_COUNT, 1);
    put_csr(writer, CHIP_CSR_S_INCOMING_DCOUNT, REG_COUNT);
    put_sync(writer, CHIP_SYNC_INTERNAL);
    put_call(writer, REG_RETURN, row);
}

static void put_acknowledgement(Writer *writer) {
    put(writer, (IsaInstr){.form = ISA_SANS, .operand = {0}});
    put_sync(writer, CHIP_SYNC_ANS);
}

static void put_exchange(Writer *writer, const LowerStep *step, uint32_t tile) {
    const TileGraph *graph = writer->graph;
    if (emit_has_row(graph, step, tile))
        put_launch(writer,
                   writer->places
                       ->address[graph->row_buffer[(size_t)step->exchange * graph->tiles + tile]]);
    else
        put_acknowledgement(writer);
}

/* ---- loops */

static void put_repeat(Writer *writer, const LowerStep *step) {
    put_setzi(writer, 0, step->times);
    put_setzi(writer, 1, writer->layout.counters + 4 * writer->loop);
    put(writer, (IsaInstr){.form = ISA_ST32_M, .operand = {0, 1, REG_ZERO, 0}});
    writer->body = here(writer);
    writer->in_loop = true;
    writer->sites.count = 0;
}

/* Sites by buffer, samples last; of one buffer as they stand in the program. */
static int compare_sites(const void *first, const void *second) {
    const Site *a = first, *b = second;
    if (a->buffer != b->buffer)
        return a->buffer < b->buffer ? -1 : 1;
    return a->address < b->address ? -1 : a->address > b->address;
}

static void put_site_patches(Writer *writer, uint32_t samples, uint32_t times, bool back) {
    size_t count = writer->sites.count;
    EmitPatchSize size = {0};
    EmitWordPatch *patches = mem_alloc(count + 1, sizeof *patches);
    if (count > 1)
        qsort(writer->sites.items, count, sizeof(Site), compare_sites);
    for (size_t i = 0; i < count && patches; i++) {
        const Site *site = &writer->sites.items[i];
        uint32_t by =
            site->buffer == LOWER_NONE ? 4 * samples : writer->places->stride[site->buffer];
        patches[i] = (EmitWordPatch){site->address, site->buffer, by * times};
        emit_count_patch(&size, site->buffer);
    }
    writer->memory = writer->memory && patches && vec_reserve(&writer->words, size.words);
    if (writer->memory) {
        emit_put_patches(writer->words.items + writer->words.count, patches, (uint32_t)count, back);
        writer->words.count += size.words;
    }
    mem_free(patches);
}

static void call_row_functions(Writer *writer, uint32_t again, uint32_t tile, bool back) {
    const TileGraph *graph = writer->graph;
    for (uint32_t s = again + 1 - graph->steps.items[again].body; s < again; s++) {
        const LowerStep *step = &graph->steps.items[s];
        if (step->kind != STEP_EXCHANGE || !emit_has_row(graph, step, tile))
            continue;
        uint32_t buffer = tile_graph_row(graph, step->exchange, tile);
        const EmitExchange *exchange = &writer->exchanges[step->exchange];
        if (graph->buffers.items[buffer].iterated)
            put_call(writer, REG_RETURN,
                     writer->places->address[buffer] +
                         emit_row_function(exchange, emit_find_row(exchange->rows, tile), back));
    }
}

static void put_patches(Writer *writer, uint32_t again, uint32_t tile, uint32_t samples,
                        bool back) {
    put_site_patches(writer, samples, back ? writer->graph->steps.items[again].times : 1, back);
    call_row_functions(writer, again, tile, back);
}

/* `samples`: of one iteration. */
static void put_again(Writer *writer, uint32_t again, uint32_t tile, uint32_t samples) {
    writer->in_loop = false;
    put_patches(writer, again, tile, samples, false);
    put_setzi(writer, 1, writer->layout.counters + 4 * writer->loop++);
    put(writer, (IsaInstr){.form = ISA_LD32_M, .operand = {0, 1, REG_ZERO, 0}});
    put(writer, (IsaInstr){.form = ISA_ADD_I16, .operand = {0, 0, -1}});
    put(writer, (IsaInstr){.form = ISA_ST32_M, .operand = {0, 1, REG_ZERO, 0}});
    put(writer, (IsaInstr){.form = ISA_BRNZ, .operand = {0, (int32_t)writer->body}});
    put_patches(writer, again, tile, samples, true);
}

/* ---- steps */

static void keep_any_step(Writer *writer, uint32_t tile, uint32_t index, const LowerCall *calls,
                          uint32_t count) {
    const LowerStep *step = &writer->graph->steps.items[index];
    switch (step->kind) {
    case STEP_COMPUTE:
        keep_step(writer, tile, index, count, writer->library->name[calls[0].spec]);
        break;
    case STEP_EXCHANGE:
        keep_step(writer, tile, index, emit_has_row(writer->graph, step, tile),
                  writer->exchanges[step->exchange].phase->name);
        break;
    case STEP_REPEAT: keep_step(writer, tile, index, step->times, "repeat"); break;
    case STEP_AGAIN: keep_step(writer, tile, index, step->times, "again"); break;
    }
}

/* One step of a tile, and a sample before it if it has any; *number counts these. */
static void put_step(Writer *writer, uint32_t tile, uint32_t index, bool sampled,
                     uint32_t *number) {
    const LowerStep *step = &writer->graph->steps.items[index];
    uint32_t count = 0, begin = here(writer);
    if (!emit_is_step(writer->graph, step, tile))
        return;
    const LowerCall *calls = emit_tile_calls(writer->graph, step, tile, &count);
    if (sampled)
        put_sample(writer, *number);
    ++*number;
    switch (step->kind) {
    case STEP_COMPUTE:
        for (uint32_t i = 0; i < count; i++)
            put_kernel(writer, &calls[i]);
        break;
    case STEP_EXCHANGE: put_exchange(writer, step, tile); break;
    case STEP_REPEAT:
        put_repeat(writer, step);
        writer->first_sample = *number;
        break;
    case STEP_AGAIN:
        put_again(writer, index, tile, *number - writer->first_sample);
        *number += (*number - writer->first_sample) * (step->times - 1);
        break;
    }
    put_mark(writer, begin, sampled, index);
    if (!sampled)
        keep_any_step(writer, tile, index, calls, count);
}

static void put_entry(Writer *writer, uint32_t tile, bool sampled) {
    uint32_t number = 0, begin = here(writer);
    writer->loop = 0;
    put_call(writer, REG_RETURN, writer->library->start);
    uint32_t loop = here(writer);
    put_sync(writer, CHIP_SYNC_GS2H);
    put_mark(writer, begin, sampled, MARK_HEAD);
    for (uint32_t step = 0; step < writer->graph->steps.count; step++)
        put_step(writer, tile, step, sampled, &number);
    begin = here(writer);
    if (sampled)
        put_sample(writer, number);
    put_sync(writer, CHIP_SYNC_GS2H);
    put(writer, (IsaInstr){.form = ISA_BRI, .operand = {(int32_t)loop}});
    put_mark(writer, begin, sampled, MARK_END);
}

static void write_tile(Writer *writer, uint32_t tile) {
    writer->layout = emit_layout(writer->library, writer->graph, tile);
    writer->words.count = writer->marks.count = writer->steps.count = writer->calls.count = 0;
    put_entry(writer, tile, false);
    writer->run_sampled = here(writer);
    put_entry(writer, tile, true);
    assert(!writer->memory || 4 * writer->words.count == writer->layout.program_bytes);
}

/* ---- keeping distinct programs */

/* Equal words call equal code with equal arguments: the kernels are the same but for their names.
 */
static bool same_program(const EmitProgram *program, const Writer *writer) {
    if (program->code.address != writer->layout.program ||
        program->samples != writer->layout.samples ||
        program->code.size != writer->layout.program_bytes ||
        program->steps.count != writer->steps.count ||
        memcmp(program->code.bytes, writer->words.items, program->code.size) != 0)
        return false;
    for (size_t i = 0; i < program->steps.count; i++)
        if (program->steps.items[i].step != writer->steps.items[i].step)
            return false;
    return true;
}

static uint64_t hash_program(const Writer *writer) {
    uint64_t hash = writer->layout.program;
    for (size_t i = 0; i < writer->words.count; i++) {
        hash = (hash ^ writer->words.items[i]) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    }
    return hash;
}

static char *mark_name(EmitImages *images, const Writer *writer, const Mark *mark) {
    const char *entry = mark->sampled ? EMIT_RUN_SAMPLED : EMIT_RUN;
    if (mark->step == MARK_HEAD)
        return arena_printf(&images->arena, "%s", entry);
    if (mark->step == MARK_END)
        return arena_printf(&images->arena, "%s end", entry);
    const char *name = NULL;
    for (size_t i = 0; i < writer->steps.count; i++)
        if (writer->steps.items[i].step == mark->step)
            name = writer->steps.items[i].name;
    return arena_printf(&images->arena, "%s step %u: %s", entry, mark->step, name);
}

static bool keep_stub(EmitImages *images, const Writer *writer, EmitCode *stub) {
    uint32_t words[2], unused[2];
    uint8_t *bytes = arena_alloc(&images->arena, sizeof words, 1);
    EmitSymbol symbol = {.size = sizeof words, .name = "entry stub"};
    isa_encode(&(IsaInstr){.form = ISA_SETZI, .operand = {0, (int32_t)writer->layout.program}},
               unused);
    words[0] = unused[0];
    isa_encode(&(IsaInstr){.form = ISA_BR, .operand = {0}}, unused);
    words[1] = unused[0];
    if (!bytes || !vec_push(&stub->symbols, symbol))
        return false;
    memcpy(bytes, words, sizeof words);
    stub->address = CHIP_ENTRY_STUB;
    stub->size = sizeof words;
    stub->bytes = bytes;
    return true;
}

static bool keep_code(EmitImages *images, const Writer *writer, EmitCode *code) {
    uint8_t *bytes = arena_alloc(&images->arena, writer->layout.program_bytes, 1);
    if (!bytes)
        return false;
    memcpy(bytes, writer->words.items, writer->layout.program_bytes);
    code->address = writer->layout.program;
    code->size = writer->layout.program_bytes;
    code->bytes = bytes;
    for (size_t i = 0; i < writer->marks.count; i++) {
        const Mark *mark = &writer->marks.items[i];
        EmitSymbol symbol = {mark->offset, mark->size, mark_name(images, writer, mark)};
        if (!symbol.name || !vec_push(&code->symbols, symbol))
            return false;
    }
    return true;
}

static bool keep_program(EmitImages *images, const Writer *writer, uint32_t tile) {
    if (!vec_push(&images->programs, (EmitProgram){0}))
        return false;
    EmitProgram *program = &images->programs.items[images->programs.count - 1];
    program->run = CHIP_ENTRY_STUB;
    program->run_sampled = writer->run_sampled;
    program->samples = writer->layout.samples;
    program->first_tile = tile;
    for (size_t i = 0; i < writer->steps.count; i++)
        if (!vec_push(&program->steps, writer->steps.items[i]))
            return false;
    for (size_t i = 0; i < writer->calls.count; i++)
        if (!vec_push(&program->calls, writer->calls.items[i]))
            return false;
    return keep_stub(images, writer, &program->stub) && keep_code(images, writer, &program->code);
}

static Status no_memory(Diag *diag) {
    return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "writing the programs of the tiles");
}

/* `table` maps hashes to programs + 1. */
static Status emit_tile(Writer *writer, EmitImages *images, uint32_t *table, size_t slots,
                        uint32_t tile, Diag *diag) {
    write_tile(writer, tile);
    if (!writer->memory)
        return no_memory(diag);
    Status status = emit_fits(&writer->layout, tile, diag);
    if (status)
        return status;
    size_t slot = hash_program(writer) & (slots - 1);
    while (table[slot] && !same_program(&images->programs.items[table[slot] - 1], writer))
        slot = (slot + 1) & (slots - 1);
    if (!table[slot]) {
        if (!keep_program(images, writer, tile))
            return no_memory(diag);
        table[slot] = (uint32_t)images->programs.count;
    }
    images->program[tile] = table[slot] - 1;
    return STATUS_OK;
}

/* ---- rows */

/* The words of a row and of the functions behind it; NULL without memory. */
static const uint32_t *copy_row(EmitImages *images, const EmitExchange *exchange,
                                const XchgRow *row, uint32_t times) {
    uint32_t bytes = emit_row_bytes(exchange, row);
    uint32_t *words = ARENA_NEW(&images->arena, uint32_t, bytes / 4);
    if (!words)
        return NULL;
    memcpy(words, exchange->rows->words.items + row->first_word, 4 * row->word_count);
    emit_put_row_functions(exchange, row->tile, times, words + row->word_count);
    return words;
}

static bool keep_row(EmitImages *images, const EmitExchange *exchange, uint32_t times,
                     EmitRow row) {
    static const XchgRow none;
    const XchgRow *from = emit_find_row(exchange->rows, row.tile);
    if (!from) {
        from = &none;
        uint32_t *words = ARENA_NEW(&images->arena, uint32_t, 2);
        if (!words)
            return false;
        row.size = row.stored =
            isa_encode(&(IsaInstr){.form = ISA_BR, .operand = {REG_RETURN}}, words);
        row.words = words;
    } else {
        row.size = 4 * from->word_count;
        row.stored = emit_row_bytes(exchange, from);
        row.words = row.stored > row.size ? copy_row(images, exchange, from, times)
                                          : exchange->rows->words.items + from->first_word;
        if (!row.words)
            return false;
    }
    row.horizon = from->horizon;
    return vec_push(&images->rows, row);
}

static bool keep_rows(EmitImages *images, const TileGraph *graph, const PlaceMap *places,
                      uint32_t step, const EmitExchange *exchange) {
    uint32_t e = graph->steps.items[step].exchange;
    size_t rows = 0;
    for (uint32_t tile = 0; tile < graph->tiles; tile++) {
        uint32_t buffer = tile_graph_row(graph, e, tile);
        if (buffer == LOWER_NONE)
            continue;
        rows += emit_find_row(exchange->rows, tile) != NULL;
        EmitRow row = {.tile = tile, .exchange = e, .address = places->address[buffer]};
        if (!keep_row(images, exchange, graph->steps.items[step].times, row))
            return false;
        assert(images->rows.items[images->rows.count - 1].stored <=
               graph->buffers.items[buffer].bytes);
    }
    assert(rows == exchange->rows->rows.count);
    (void)rows;
    return true;
}

static bool keep_all_rows(EmitImages *images, const Writer *writer) {
    const TileGraph *graph = writer->graph;
    bool memory = true;
    for (uint32_t s = 0; s < graph->steps.count && memory; s++)
        if (graph->steps.items[s].kind == STEP_EXCHANGE)
            memory = keep_rows(images, graph, writer->places, s,
                               &writer->exchanges[graph->steps.items[s].exchange]);
    return memory;
}

static Status emit_tiles(Writer *writer, EmitImages *images, Diag *diag) {
    const TileGraph *graph = writer->graph;
    size_t slots = 16;
    while (slots < 2 * (size_t)graph->tiles)
        slots *= 2;
    uint32_t *table = mem_alloc(slots, sizeof *table);
    images->program = ARENA_NEW(&images->arena, uint32_t, (size_t)graph->tiles + 1);
    bool memory = table && images->program && keep_all_rows(images, writer);
    Status status = memory ? STATUS_OK : no_memory(diag);
    for (uint32_t tile = 0; tile < graph->tiles && !status; tile++)
        status = emit_tile(writer, images, table, slots, tile, diag);
    mem_free(table);
    return status;
}

Status emit_images(const EmitLibrary *library, const TileGraph *graph, const PlaceMap *places,
                   const EmitExchange *exchanges, EmitImages *images, Diag *diag) {
    *images = (EmitImages){.tiles = graph->tiles};
    Writer writer = {.library = library,
                     .graph = graph,
                     .places = places,
                     .exchanges = exchanges,
                     .memory = true};
    Status status = emit_times(graph, exchanges, false, 0, &writer.times, diag);
    if (!status)
        status = emit_tiles(&writer, images, diag);
    emit_times_free(&writer.times);
    vec_free(&writer.words);
    vec_free(&writer.marks);
    vec_free(&writer.steps);
    vec_free(&writer.calls);
    vec_free(&writer.sites);
    if (status)
        emit_images_free(images);
    return status;
}

void emit_images_free(EmitImages *images) {
    for (size_t i = 0; i < images->programs.count; i++) {
        EmitProgram *program = &images->programs.items[i];
        emit_code_free(&program->stub);
        emit_code_free(&program->code);
        vec_free(&program->steps);
        vec_free(&program->calls);
    }
    vec_free(&images->programs);
    vec_free(&images->rows);
    arena_free(&images->arena);
    *images = (EmitImages){0};
}
