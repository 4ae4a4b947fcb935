/* Library, memory layout and supervisor programs. */
#include "emit/fixture.h"

#include "asm/asm.h"
#include "chip/chip.h"
#include "kernel/step.h"

#include <stdlib.h>
#include <string.h>

static uint32_t word_at(const EmitCode *code, uint32_t index) {
    uint32_t word;
    assert_true(4 * index < code->size);
    memcpy(&word, code->bytes + 4 * (size_t)index, 4);
    return word;
}

static void expect_text(const EmitCode *code, const char *const *lines, uint32_t count) {
    assert_int_equal(code->size, 4 * count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t word = word_at(code, i);
        IsaInstr instr;
        char text[ISA_TEXT_SIZE];
        assert_int_equal(isa_decode(&word, 1, &instr), 4);
        isa_disassemble(&instr, ISA_SUPERVISOR, text);
        assert_string_equal(text, lines[i]);
    }
}

/* The whole program of one tile with one call. */
static void test_program(void **state) {
    (void)state;
    Fixture f;
    fixture_create(&f, 24, 32, 16, "f8f143(s=-4)", 1);
    assert_int_equal(f.images.programs.count, 1);
    const EmitProgram *program = &f.images.programs.items[0];
    assert_int_equal(f.tiles.calls.count, 1);
    const LowerCall *call = &f.tiles.calls.items[0];
    char out[60], left[60], right[60], kernel[60], start[60], sample[60], loop[60], sampled[60];
    char sample0[60], sample1[60], jump[60];
    const char *format = "setzi $m%d, 0x%x";
#define ADDRESS(i) (f.places.address[call->operands[i].buffer] + call->operands[i].offset)
    snprintf(jump, 60, format, 0, program->code.address);
    expect_text(&program->stub, (const char *const[]){jump, "br $m0"}, 2);
    snprintf(out, 60, format, 2, ADDRESS(0));
    snprintf(left, 60, format, 3, ADDRESS(1));
    snprintf(right, 60, format, 4, ADDRESS(2));
    snprintf(sample0, 60, format, 2, program->samples);
    snprintf(sample1, 60, format, 2, program->samples + 4);
    snprintf(kernel, 60, "call $m10, 0x%x", f.library.kernel[call->spec]);
    snprintf(start, 60, "call $m10, 0x%x", f.library.start);
    snprintf(sample, 60, "call $m10, 0x%x", f.library.sample);
    snprintf(loop, 60, "bri 0x%x", program->code.address + 4);
    snprintf(sampled, 60, "bri 0x%x", program->run_sampled + 4);
    const char *const lines[] = {start,
                                 "sync 7",
                                 out,
                                 left,
                                 right,
                                 "add $m5, $mzero, -8",
                                 kernel,
                                 "sync 7",
                                 loop,
                                 start,
                                 "sync 7",
                                 sample0,
                                 sample,
                                 out,
                                 left,
                                 right,
                                 "add $m5, $mzero, -8",
                                 kernel,
                                 sample1,
                                 sample,
                                 "sync 7",
                                 sampled};
    expect_text(&program->code, lines, COUNT_OF(lines));
    assert_int_equal(program->run, CHIP_ENTRY_STUB);
    assert_int_equal(program->run_sampled, program->code.address + 4 * 9);
    assert_int_equal(program->samples, program->code.address + program->code.size);
    assert_int_equal(program->steps.count, 1);
    assert_string_equal(program->steps.items[0].name, f.library.name[call->spec]);
    EmitTimes times;
    assert_int_equal(emit_times(&f.tiles, NULL, false, 0, &times, NULL), STATUS_OK);
    assert_int_equal(program->steps.items[0].cycles, times.cycles);
    assert_int_equal(times.tile[0], times.cycles);
    assert_int_equal(times.end[0], times.cycles);
    emit_times_free(&times);
    fixture_free(&f);
}

/* Small programs take nothing from the data; the ranges are those of the chip. */
static void test_space(void **state) {
    (void)state;
    Fixture f;
    fixture_create(&f, 40, 64, 48, "f16", 7);
    PlaceSpace most = emit_space_most();
    assert_int_equal(most.count, 2);
    assert_int_equal(most.ranges[0].begin, CHIP_DATA_BASE);
    assert_int_equal(most.ranges[0].end, CHIP_REGION1_BASE);
    assert_int_equal(most.ranges[1].begin, CHIP_REGION1_BASE);
    assert_int_equal(most.ranges[1].end, CHIP_APP_LOAD_LIMIT);
    assert_int_equal(most.code.end, CHIP_HOST_WINDOW_BASE);
    for (uint32_t tile = 0; tile < f.tiles.tiles; tile++) {
        assert_memory_equal(f.spaces[tile].ranges, most.ranges, sizeof most.ranges);
        const EmitProgram *program = &f.images.programs.items[f.images.program[tile]];
        uint32_t end = program->samples + 4 * ((uint32_t)program->steps.count + 1);
        assert_int_equal(f.spaces[tile].code.begin, align_up(end, 8));
        assert_int_equal(f.spaces[tile].code.end, CHIP_HOST_WINDOW_BASE);
    }
    const EmitCode *library = &f.library.parts.items[0];
    assert_true(library->address >= CHIP_LINK_REGION_BASE);
    assert_true(f.library.end_below <= CHIP_HOST_WINDOW_BASE);
    fixture_free(&f);
}

/* Tiles with equal programs share one; idle tiles have one too. */
static void test_sharing(void **state) {
    (void)state;
    Fixture f;
    fixture_create(&f, 64, 64, 64, "f16", 9);
    assert_true(f.images.programs.count < f.tiles.tiles);
    for (uint32_t tile = 0; tile < f.tiles.tiles; tile++) {
        const EmitProgram *program = &f.images.programs.items[f.images.program[tile]];
        assert_true(program->first_tile <= tile);
        assert_int_equal(f.images.program[program->first_tile], f.images.program[tile]);
        uint32_t buffers = f.tiles.tile_buffer[tile + 1] - f.tiles.tile_buffer[tile];
        assert_int_equal(program->steps.count > 0, buffers > 0);
    }
    fixture_free(&f);
}

/* Adds a step to the only tile that calls the kernel of `spec` on the buffers of its first call. */
static void add_step(TileGraph *tiles, uint32_t spec) {
    LowerCall call = tiles->calls.items[0];
    LowerStep step = tiles->steps.items[0];
    call.spec = spec;
    step.first_call = (uint32_t)tiles->calls.count;
    assert_true(vec_push(&tiles->calls, call) && vec_push(&tiles->steps, step));
}

/* Kernels beyond the first link region go above the host window, and data begins behind them. */
static void test_overflow(void **state) {
    (void)state;
    Fixture f;
    fixture_create(&f, 24, 32, 16, "f16", 1);
    uint32_t specs = 1;
    Diag diag = {0};
    EmitLibrary library;
    for (uint32_t rows = 25; f.tiles.specs.count < 40; rows++) {
        KernelSpec spec = f.tiles.specs.items[0];
        spec.gemm.rows = rows;
        assert_true(vec_push(&f.tiles.specs, spec));
        add_step(&f.tiles, specs++);
    }
    fixture_expect(emit_link(&f.tiles, &library, &diag), &diag);
    assert_int_equal(library.parts.count, 2);
    const EmitCode *above = &library.parts.items[1];
    assert_int_equal(above->address, CHIP_DATA_BASE);
    assert_true(library.end_above >= above->address + above->size);
    uint32_t inside = 0;
    for (uint32_t i = 0; i < specs; i++) {
        uint32_t at = library.kernel[i];
        inside += at >= above->address && at < above->address + above->size;
        assert_true(at < CHIP_HOST_WINDOW_BASE || at >= above->address);
    }
    assert_true(inside > 0 && inside < specs);
    PlaceSpace space = emit_space(&library, &f.tiles, 0);
    assert_true(space.ranges[0].begin >= library.end_above);
    EmitImages images;
    fixture_expect(emit_images(&library, &f.tiles, &f.places, NULL, &images, &diag), &diag);
    const EmitProgram *program = &images.programs.items[0];
    assert_int_equal(program->steps.count, specs);
    assert_true(program->samples + 4 * (specs + 1) <= space.ranges[0].begin ||
                program->samples < CHIP_HOST_WINDOW_BASE);
    emit_images_free(&images);
    assert_int_equal(emit_check(&library, &f.tiles, 0, NULL), STATUS_OK);

    /* A program that is too long for what is left. */
    for (uint32_t i = 0; i < 4000; i++)
        add_step(&f.tiles, 0);
    assert_int_equal(emit_check(&library, &f.tiles, 0, NULL), ERR_EMIT_CODE);
    assert_int_equal(emit_images(&library, &f.tiles, &f.places, NULL, &images, &diag),
                     ERR_EMIT_CODE);
    assert_int_equal(diag_status(&diag), ERR_EMIT_CODE);
    diag_free(&diag);
    space = emit_space(&library, &f.tiles, 0);
    assert_int_equal(space.ranges[0].begin, space.ranges[0].end);
    emit_library_free(&library);
    fixture_free(&f);
}

/* Specs that differ only in what arrives as scalars are one piece of code. */
static void test_shared_kernels(void **state) {
    (void)state;
    Fixture f;
    fixture_create(&f, 24, 32, 16, "f16", 1);
    for (uint32_t words = 10; words < 14; words++) {
        KernelSpec spec = {.family = KERNEL_COPY,
                           .copy = {.rows = 1, .words = words, .paced = words == 13}};
        assert_true(vec_push(&f.tiles.specs, spec));
    }
    EmitLibrary library;
    Diag diag = {0};
    fixture_expect(emit_link(&f.tiles, &library, &diag), &diag);
    assert_int_equal(library.kernel[1], library.kernel[2]);
    assert_int_equal(library.kernel[1], library.kernel[3]);
    assert_int_not_equal(library.kernel[1], library.kernel[4]);
    assert_int_not_equal(library.kernel[1], library.kernel[0]);
    emit_library_free(&library);
    fixture_free(&f);
}

/* More kernels than executable memory holds. */
static void test_too_many_kernels(void **state) {
    (void)state;
    Fixture f;
    fixture_create(&f, 24, 32, 16, "f16", 1);
    for (uint32_t rows = 25; f.tiles.specs.count < 420; rows++) {
        KernelSpec spec = f.tiles.specs.items[0];
        spec.gemm.rows = rows;
        assert_true(vec_push(&f.tiles.specs, spec));
    }
    EmitLibrary library;
    Diag diag = {0};
    assert_int_equal(emit_link(&f.tiles, &library, &diag), ERR_EMIT_CODE);
    assert_int_equal(diag_status(&diag), ERR_EMIT_CODE);
    diag_free(&diag);
    fixture_free(&f);
}

static void test_memory(void **state) {
    (void)state;
    Fixture f;
    fixture_create(&f, 24, 32, 16, "f16", 2);
    Status status = ERR_NO_MEMORY;
    for (uint64_t n = 1; status; n += 1 + n / 50) {
        EmitLibrary library;
        EmitImages images = {0};
        Diag diag = {0};
        mem_fail_after(n);
        status = emit_link(&f.tiles, &library, &diag);
        if (!status) {
            status = emit_images(&library, &f.tiles, &f.places, NULL, &images, &diag);
            emit_images_free(&images);
            emit_library_free(&library);
        }
        mem_fail_after(0);
        assert_true(status == STATUS_OK || status == ERR_NO_MEMORY);
        diag_free(&diag);
    }
    fixture_free(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_program),        cmocka_unit_test(test_space),
        cmocka_unit_test(test_sharing),        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_shared_kernels), cmocka_unit_test(test_too_many_kernels),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
