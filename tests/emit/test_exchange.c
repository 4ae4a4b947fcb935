/* Exchange steps in programs: the launch sequence word by word, rows in memory, times. */
#include "emit/exchange.h"

#include "isa/isa.h"

#include <string.h>

/* Text of instruction `index` of a program. */
static const char *line(const EmitCode *code, uint32_t index, char text[ISA_TEXT_SIZE]) {
    uint32_t word;
    IsaInstr instr;
    assert_true(4 * index < code->size);
    memcpy(&word, code->bytes + 4 * (size_t)index, 4);
    assert_int_equal(isa_decode(&word, 1, &instr), 4);
    isa_disassemble(&instr, ISA_SUPERVISOR, text);
    return text;
}

static void expect_lines(const EmitCode *code, uint32_t from, const char *const *lines,
                         uint32_t count) {
    char text[ISA_TEXT_SIZE];
    for (uint32_t i = 0; i < count; i++)
        assert_string_equal(line(code, from + i, text), lines[i]);
}

static void test_program(void **state) {
    (void)state;
    Detour d;
    detour_create(&d, 40, 64, 48, "f16", 7);
    const Fixture *f = &d.f;
    const EmitProgram *program = &f->images.programs.items[f->images.program[0]];
    char row[60], other[60], barrier[60], sample[60], address[60];
    snprintf(row, 60, "call $m10, 0x%x", f->images.rows.items[0].address);
    snprintf(barrier, 60, "call $m7, 0x%x", f->library.barrier);
    snprintf(sample, 60, "call $m10, 0x%x", f->library.sample);
    snprintf(address, 60, "setzi $m2, 0x%x", program->samples);
    snprintf(other, 60, "call $m10, 0x%x", f->places.address[f->tiles.row_buffer[f->tiles.tiles]]);
    const char *const lines[] = {"put $INCOMING_BASE, $mzero",
                                 "put $OUTGOING_BASE, $mzero",
                                 barrier,
                                 "setzi $m8, 1",
                                 "put $INCOMING_DCOUNT, $m8",
                                 "sync 3",
                                 row};
    expect_lines(&program->code, 2, lines, COUNT_OF(lines));
    char text[ISA_TEXT_SIZE];
    assert_string_equal(line(&program->code, 2 + 13, text), other);
    uint32_t sampled = (program->run_sampled - program->code.address) / 4 + 2;
    expect_lines(&program->code, sampled, (const char *const[]){address, sample}, 2);
    expect_lines(&program->code, sampled + 2, lines, COUNT_OF(lines));
    assert_int_equal(program->steps.count, 3);
    assert_string_equal(program->steps.items[0].name, "there");
    assert_string_equal(program->steps.items[1].name, "back");
    assert_int_equal(program->steps.items[0].calls, 1);
    assert_string_equal(program->code.symbols.items[1].name, "run step 0: there");
    detour_free(&d);
}

/* A tile without work has a row of a single return in the first step, and only acknowledges the
 * second. */
static void test_idle(void **state) {
    (void)state;
    Detour d;
    detour_create(&d, 4, 16, 32, "f16", 5);
    const Fixture *f = &d.f;
    uint32_t tile = f->tiles.tiles - 1;
    const EmitProgram *program = &f->images.programs.items[f->images.program[tile]];
    assert_int_equal(program->steps.count, 2);
    assert_int_equal(program->steps.items[0].calls, 1);
    assert_int_equal(program->steps.items[1].calls, 0);
    expect_lines(&program->code, 2 + 7, (const char *const[]){"sans 0", "sync 1", "sync 7"}, 3);
    const EmitRow *row = NULL;
    for (size_t i = 0; i < f->images.rows.count; i++)
        if (f->images.rows.items[i].tile == tile)
            row = &f->images.rows.items[i];
    assert_non_null(row);
    assert_int_equal(row->exchange, 0);
    assert_int_equal(row->size, 4);
    assert_int_equal(row->words[0], 0x43A00000);
    assert_int_equal(row->horizon, 0);
    detour_free(&d);
}

/* Rows stand below the host window, on 8 bytes, as the scheduler encoded them. */
static void test_rows(void **state) {
    (void)state;
    Detour d;
    detour_create(&d, 64, 64, 64, "f8f143(s=-4)", 9);
    const Fixture *f = &d.f;
    for (size_t i = 0; i < f->images.rows.count; i++) {
        const EmitRow *row = &f->images.rows.items[i];
        assert_int_equal(row->address % 8, 0);
        assert_true(row->address >= f->library.end_below &&
                    row->address + row->size <= CHIP_HOST_WINDOW_BASE);
        assert_int_equal(row->words[row->size / 4 - 1], 0x43A00000);
        if (i)
            assert_true(row[-1].exchange < row->exchange || row[-1].tile < row->tile);
    }
    for (uint32_t e = 0; e < DETOUR_PHASES; e++) {
        Diag diag = {0};
        uint32_t address[16], count = 0;
        for (size_t i = 0; i < f->images.rows.count; i++)
            if (f->images.rows.items[i].exchange == e && f->images.rows.items[i].horizon)
                address[count++] = f->images.rows.items[i].address;
        assert_int_equal(count, d.rows[e].rows.count);
        fixture_expect(xchg_verify(&d.phases[e], f->tiles.tiles, &d.rows[e], address, &diag),
                       &diag);
    }
    detour_free(&d);
}

/* An exchange takes as long as the last tile makes it. */
static void test_times(void **state) {
    (void)state;
    Detour d;
    detour_create(&d, 40, 64, 48, "f16", 7);
    const TileGraph *graph = &d.f.tiles;
    for (unsigned start = 0; start < 6; start++)
        for (int sampled = 0; sampled < 2; sampled++) {
            EmitTimes times;
            assert_int_equal(emit_times(graph, d.exchanges, sampled, start, &times, NULL),
                             STATUS_OK);
            for (uint32_t e = 0; e < DETOUR_PHASES; e++)
                for (size_t i = 0; i < d.rows[e].rows.count; i++) {
                    const XchgRow *row = &d.rows[e].rows.items[i],
                                  *first = &d.rows[e].rows.items[0];
                    const uint64_t *ends = times.end + e * graph->tiles;
                    assert_int_equal(ends[row->tile] - ends[first->tile],
                                     (uint64_t)row->horizon - first->horizon);
                }
            emit_times_free(&times);
        }
    detour_free(&d);
}

static void test_memory(void **state) {
    (void)state;
    Detour d;
    detour_create(&d, 24, 32, 16, "f16", 3);
    Fixture *f = &d.f;
    Status status = ERR_NO_MEMORY;
    for (uint64_t n = 1; status; n++) {
        EmitImages images = {0};
        XchgPhase phase = {0};
        Diag diag = {0};
        mem_fail_after(n);
        status = emit_exchange_phase(&f->tiles, &f->places, 0, &phase, &diag);
        if (!status)
            status = emit_images(&f->library, &f->tiles, &f->places, d.exchanges, &images, &diag);
        mem_fail_after(0);
        assert_true(status == STATUS_OK || status == ERR_NO_MEMORY);
        xchg_phase_free(&phase);
        emit_images_free(&images);
        diag_free(&diag);
    }
    detour_free(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_program), cmocka_unit_test(test_idle),   cmocka_unit_test(test_rows),
        cmocka_unit_test(test_times),   cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
