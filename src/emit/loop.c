/* Loops: what changes from iteration to iteration, and the code that changes it.
 *
 * Programs and rows hold addresses in their words. Where they lead into a row of iterated
 * parameters, the end of each iteration adds the stride of its members to the word, `setzi` of a
 * kernel's argument or `send` of an exchange row; the end of the last one takes all of it back, so
 * that the next run finds the words as they were loaded. */
#include "emit/internal.h"

#include "isa/isa.h"

#include <assert.h>
#include <stdlib.h>

/* Words are patched four at a time, by up to two different numbers: loads, additions and stores
 * each wait for the ones before. Registers: addresses, values, numbers. */
enum { GROUP = 4, NUMBERS = 2, REG_VALUE = 4, REG_NUMBER = 8, REG_ZERO = 15 };

/* Where the key's number is among those of the group, or goes. */
static uint32_t find_number(const EmitPatchSize *size, uint32_t key) {
    uint32_t number = 0;
    while (number < size->numbers && size->keys[number] != key)
        number++;
    return number;
}

void emit_count_patch(EmitPatchSize *size, uint32_t key) {
    uint32_t number = find_number(size, key);
    if (size->cycles == 0 || size->count == GROUP || number == NUMBERS) {
        size->count = size->numbers = number = 0;
        size->cycles += 3 * CHIP_SUP_RESULT_LATENCY;
    }
    if (number == size->numbers) {
        size->keys[size->numbers++] = key;
        size->words++;
    }
    size->count++;
    size->words += 4;
    size->cycles++;
}

static uint32_t *put(uint32_t *out, IsaForm form, int32_t a, int32_t b, int32_t c, int32_t d) {
    uint32_t words[2];
    unsigned size = isa_encode(&(IsaInstr){.form = (uint16_t)form, .operand = {a, b, c, d}}, words);
    assert(size == 4);
    (void)size;
    *out = words[0];
    return out + 1;
}

/* The next group; *count receives how many patches it has. */
static uint32_t *put_group(uint32_t *out, const EmitWordPatch patches[], uint32_t most, bool back,
                           uint32_t *count) {
    EmitPatchSize size = {0};
    int32_t number[GROUP], n = 0;
    uint32_t by[NUMBERS];
    for (; (uint32_t)n < MIN_OF(most, (uint32_t)GROUP); n++) {
        uint32_t at = find_number(&size, patches[n].key);
        if (at == NUMBERS)
            break;
        emit_count_patch(&size, patches[n].key);
        number[n] = (int32_t)at;
        by[at] = patches[n].by;
        assert(by[at] < 1 << 20);
        out = put(out, ISA_SETZI, n, (int32_t)patches[n].address, 0, 0);
    }
    for (uint32_t i = 0; i < size.numbers; i++)
        out = put(out, ISA_SETZI, REG_NUMBER + (int32_t)i, (int32_t)by[i], 0, 0);
    for (int32_t i = 0; i < n; i++)
        out = put(out, ISA_LD32_M, REG_VALUE + i, i, REG_ZERO, 0);
    for (int32_t i = 0; i < n; i++)
        out = put(out, back ? ISA_SUB : ISA_ADD, REG_VALUE + i, REG_VALUE + i,
                  REG_NUMBER + number[i], 0);
    for (int32_t i = 0; i < n; i++)
        out = put(out, ISA_ST32_M, REG_VALUE + i, i, REG_ZERO, 0);
    *count = (uint32_t)n;
    return out;
}

uint32_t *emit_put_patches(uint32_t *out, const EmitWordPatch patches[], uint32_t count,
                           bool back) {
    for (uint32_t done; count > 0; count -= done, patches += done)
        out = put_group(out, patches, count, back, &done);
    return out;
}

/* ---- programs */

static bool is_iterated(const TileGraph *graph, uint32_t buffer) {
    return graph->buffers.items[buffer].members > 1;
}

/* Arguments in the body that lead into a buffer. */
static uint32_t count_pointers(const TileGraph *graph, uint32_t repeat, uint32_t tile,
                               uint32_t buffer) {
    uint32_t pointers = 0;
    for (uint32_t s = repeat + 1; s < repeat + graph->steps.items[repeat].body; s++) {
        uint32_t count;
        const LowerCall *calls = emit_tile_calls(graph, &graph->steps.items[s], tile, &count);
        for (uint32_t i = 0; i < count; i++) {
            KernelInterface interface;
            kernel_interface(&graph->specs.items[calls[i].spec], &interface);
            for (uint32_t k = 0; k < interface.operand_count; k++)
                pointers += calls[i].operands[k].buffer == buffer;
        }
    }
    return pointers;
}

EmitLoop emit_loop(const TileGraph *graph, uint32_t repeat, uint32_t tile) {
    EmitLoop loop = {0};
    for (uint32_t b = graph->tile_buffer[tile]; b < graph->tile_buffer[tile + 1]; b++) {
        uint32_t pointers = is_iterated(graph, b) ? count_pointers(graph, repeat, tile, b) : 0;
        for (uint32_t i = 0; i < pointers; i++)
            emit_count_patch(&loop.patches[0], b);
    }
    loop.patches[1] = loop.patches[0];
    for (uint32_t s = repeat + 1; s <= repeat + graph->steps.items[repeat].body; s++) {
        const LowerStep *step = &graph->steps.items[s];
        if (emit_is_step(graph, step, tile))
            emit_count_patch(&loop.patches[1], LOWER_NONE);
        if (step->kind == STEP_EXCHANGE && emit_has_row(graph, step, tile))
            loop.rows += graph->buffers.items[tile_graph_row(graph, step->exchange, tile)].iterated;
    }
    return loop;
}

bool emit_is_step(const TileGraph *graph, const LowerStep *step, uint32_t tile) {
    uint32_t count = 0;
    if (step->kind == STEP_COMPUTE)
        emit_tile_calls(graph, step, tile, &count);
    return step->kind != STEP_COMPUTE || count > 0;
}

/* ---- rows */

/* By how much a word of a row grows if it sends from a member of a row of parameters; else 0. */
static uint32_t increment_of(const TileGraph *graph, const PlaceMap *places, uint32_t tile,
                             const uint32_t *words, size_t count, unsigned *size) {
    IsaInstr instr;
    *size = isa_decode(words, count, &instr);
    assert(*size > 0);
    bool paired = instr.operand[2] & 4;
    if ((instr.form != ISA_SEND && instr.form != ISA_SENDPICP) || !(instr.operand[2] & 3))
        return 0;
    uint32_t address = (uint32_t)instr.operand[1] * (paired ? 8 : 4);
    for (uint32_t b = graph->tile_buffer[tile]; b < graph->tile_buffer[tile + 1]; b++)
        if (is_iterated(graph, b) && address - places->address[b] < graph->buffers.items[b].bytes) {
            assert(places->stride[b] % 8 == 0);
            /* The field counts items and begins at bit 3. */
            return places->stride[b] / (paired ? 8 : 4) * 8;
        }
    return 0;
}

static int compare_patches(const void *first, const void *second) {
    const EmitPatch *x = first, *y = second;
    if (x->tile != y->tile)
        return x->tile < y->tile ? -1 : 1;
    if (x->increment != y->increment)
        return x->increment < y->increment ? -1 : 1;
    return x->address < y->address ? -1 : x->address > y->address;
}

Status emit_row_patches(const TileGraph *graph, const PlaceMap *places, uint32_t exchange,
                        const XchgRows *rows, EmitPatches *patches, Diag *diag) {
    patches->count = 0;
    for (size_t r = 0; r < rows->rows.count; r++) {
        const XchgRow *row = &rows->rows.items[r];
        uint32_t buffer = tile_graph_row(graph, exchange, row->tile);
        if (buffer == LOWER_NONE || !graph->buffers.items[buffer].iterated)
            continue;
        const uint32_t *words = rows->words.items + row->first_word;
        for (uint32_t at = 0; at < row->word_count;) {
            unsigned size;
            uint32_t increment =
                increment_of(graph, places, row->tile, words + at, row->word_count - at, &size);
            EmitPatch patch = {row->tile, places->address[buffer] + 4 * at, increment};
            if (increment && !vec_push(patches, patch))
                return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "the rows of a loop");
            at += size / 4;
        }
    }
    if (patches->count > 1)
        qsort(patches->items, patches->count, sizeof(EmitPatch), compare_patches);
    return STATUS_OK;
}

const EmitPatch *emit_find_patches(const EmitExchange *exchange, uint32_t tile, uint32_t *count) {
    uint32_t low = 0, high = exchange->patch_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (exchange->patches[middle].tile < tile)
            low = middle + 1;
        else
            high = middle;
    }
    for (high = low; high < exchange->patch_count && exchange->patches[high].tile == tile; high++)
        continue;
    *count = high - low;
    return exchange->patches + low;
}

static EmitPatchSize size_of(const EmitPatch *patches, uint32_t count) {
    EmitPatchSize size = {0};
    for (uint32_t i = 0; i < count; i++)
        emit_count_patch(&size, patches[i].increment);
    return size;
}

uint64_t emit_row_patch_cycles(const EmitExchange *exchange, uint32_t tile) {
    uint32_t count;
    const EmitPatch *patches = emit_find_patches(exchange, tile, &count);
    return count ? 2 * CHIP_SUP_TAKEN_BRANCH + size_of(patches, count).cycles : 0;
}

/* Words of one of the two functions behind a row. */
static uint32_t function_words(const EmitPatch *patches, uint32_t count) {
    return size_of(patches, count).words + 1;
}

uint32_t emit_row_bytes(const EmitExchange *exchange, const XchgRow *row) {
    uint32_t count;
    const EmitPatch *patches = emit_find_patches(exchange, row->tile, &count);
    return 4 * (row->word_count + (count ? 2 * function_words(patches, count) : 0));
}

static uint32_t *put_function(uint32_t *out, const EmitPatch *patches, uint32_t count,
                              uint32_t times) {
    for (uint32_t done; count > 0; count -= done, patches += done) {
        EmitWordPatch words[GROUP];
        uint32_t n = MIN_OF(count, (uint32_t)GROUP);
        for (uint32_t i = 0; i < n; i++)
            words[i] = (EmitWordPatch){patches[i].address, patches[i].increment,
                                       patches[i].increment * MAX_OF(times, 1u)};
        out = put_group(out, words, n, times > 0, &done);
    }
    return put(out, ISA_BR, 10, 0, 0, 0);
}

void emit_put_row_functions(const EmitExchange *exchange, uint32_t tile, uint32_t times,
                            uint32_t *out) {
    uint32_t count;
    const EmitPatch *patches = emit_find_patches(exchange, tile, &count);
    out = put_function(out, patches, count, 0);
    put_function(out, patches, count, times);
}

uint32_t emit_row_function(const EmitExchange *exchange, const XchgRow *row, bool back) {
    uint32_t count;
    const EmitPatch *patches = emit_find_patches(exchange, row->tile, &count);
    return 4 * (row->word_count + (back ? function_words(patches, count) : 0));
}
