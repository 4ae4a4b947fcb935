/* Supervisor programs, one a tile, equal ones kept once; and exchange rows. */
#include "emit/internal.h"

#include "isa/isa.h"
#include "kernel/step.h"
#include <assert.h>
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
    bool memory; /* false: an allocation failed */
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

/* As kernel/step.h promises: long scalars first, completed last. */
static void put_arguments(Writer *writer, const KernelInterface *interface, const LowerCall *call) {
    int scalar_register = REG_FIRST + (int)interface->operand_count;
    assert(scalar_register + (int)interface->scalar_count - 1 <= REG_LAST);
    for (uint32_t i = 0; i < interface->scalar_count; i++)
        if (kernel_scalar_is_long(call->scalars[i]))
            put_setzi(writer, scalar_register + (int)i, (uint32_t)call->scalars[i] & 0xFFFFF);
    for (uint32_t i = 0; i < interface->operand_count; i++)
        put_setzi(writer, REG_FIRST + (int)i,
                  writer->places->address[call->operands[i].buffer] + call->operands[i].offset);
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
    put_setzi(writer, REG_FIRST, writer->layout.samples + 4 * number);
    put_call(writer, REG_RETURN, writer->library->sample);
}

static void put_mark(Writer *writer, uint32_t begin, bool sampled, uint32_t step) {
    Mark mark = {begin - writer->layout.program, here(writer) - begin, sampled, step};
    writer->memory = writer->memory && vec_push(&writer->marks, mark);
}

/* When the tile is through with a step; before the first one: 0. */
static uint64_t step_end(const Writer *writer, uint32_t tile, uint32_t step) {
    return writer->times.step[(size_t)step * writer->graph->tiles + tile];
}

static void keep_step(Writer *writer, uint32_t tile, uint32_t step, uint32_t calls,
                      const char *name) {
    uint64_t begin = step ? step_end(writer, tile, step - 1) : 0;
    EmitStep entry = {step, calls, name, step_end(writer, tile, step) - begin};
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

/* One step of a tile: its calls or its exchange, and a sample before them. Returns whether it has
 * any. */
static bool put_step(Writer *writer, uint32_t tile, uint32_t index, bool sampled, uint32_t number) {
    const LowerStep *step = &writer->graph->steps.items[index];
    uint32_t count = 0, begin = here(writer);
    const LowerCall *calls = emit_tile_calls(writer->graph, step, tile, &count);
    bool exchange = step->kind == STEP_EXCHANGE;
    if (count == 0 && !exchange)
        return false;
    if (sampled)
        put_sample(writer, number);
    for (uint32_t i = 0; i < count; i++)
        put_kernel(writer, &calls[i]);
    if (exchange)
        put_exchange(writer, step, tile);
    put_mark(writer, begin, sampled, index);
    if (!sampled && exchange)
        keep_step(writer, tile, index, emit_has_row(writer->graph, step, tile),
                  writer->exchanges[step->exchange].phase->name);
    else if (!sampled)
        keep_step(writer, tile, index, count, writer->library->name[calls[0].spec]);
    return true;
}

static void put_entry(Writer *writer, uint32_t tile, bool sampled) {
    uint32_t number = 0, begin = here(writer);
    put_call(writer, REG_RETURN, writer->library->start);
    uint32_t loop = here(writer);
    put_sync(writer, CHIP_SYNC_GS2H);
    put_mark(writer, begin, sampled, MARK_HEAD);
    for (uint32_t step = 0; step < writer->graph->steps.count; step++)
        number += put_step(writer, tile, step, sampled, number);
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
    const EmitLayout *layout = &writer->layout;
    if (layout->samples + 4 * layout->sample_count > CHIP_REGION1_BASE) {
        Status status = diag_error(diag, ERR_EMIT_CODE, (DiagPlace){.tile = (int32_t)tile},
                                   "the program of %u bytes does not fit below 0x%X",
                                   layout->program_bytes, CHIP_REGION1_BASE);
        diag_fix(diag, "split the graph into several packages; iterations of repeats count each");
        return status;
    }
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

static bool keep_row(EmitImages *images, const EmitExchange *exchange, EmitRow row) {
    static const XchgRow none;
    const XchgRow *from = emit_find_row(exchange->rows, row.tile);
    if (!from) {
        from = &none;
        uint32_t *words = ARENA_NEW(&images->arena, uint32_t, 2);
        if (!words)
            return false;
        row.size = isa_encode(&(IsaInstr){.form = ISA_BR, .operand = {REG_RETURN}}, words);
        row.words = words;
    } else {
        row.words = exchange->rows->words.items + from->first_word;
        row.size = 4 * from->word_count;
    }
    row.horizon = from->horizon;
    return vec_push(&images->rows, row);
}

static bool keep_rows(EmitImages *images, const TileGraph *graph, const PlaceMap *places,
                      const EmitExchange *exchanges) {
    for (uint32_t e = 0; e < graph->exchanges; e++) {
        size_t rows = 0;
        for (uint32_t tile = 0; tile < graph->tiles; tile++) {
            uint32_t buffer = graph->row_buffer[(size_t)e * graph->tiles + tile];
            if (buffer == LOWER_NONE)
                continue;
            rows += emit_find_row(exchanges[e].rows, tile) != NULL;
            EmitRow row = {.tile = tile, .exchange = e, .address = places->address[buffer]};
            if (!keep_row(images, &exchanges[e], row))
                return false;
            assert(images->rows.items[images->rows.count - 1].size <=
                   graph->buffers.items[buffer].bytes);
        }
        assert(rows == exchanges[e].rows->rows.count);
        (void)rows;
    }
    return true;
}

static Status emit_tiles(Writer *writer, EmitImages *images, Diag *diag) {
    const TileGraph *graph = writer->graph;
    size_t slots = 16;
    while (slots < 2 * (size_t)graph->tiles)
        slots *= 2;
    uint32_t *table = mem_alloc(slots, sizeof *table);
    images->program = ARENA_NEW(&images->arena, uint32_t, (size_t)graph->tiles + 1);
    bool memory =
        table && images->program && keep_rows(images, graph, writer->places, writer->exchanges);
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
