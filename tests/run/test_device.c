/* Packages on the simulated device: values, cycles, samples, invocations, traps. */
#include "run/run.h"

#include "base/random.h"
#include "chip/chip.h"
#include "num/amp.h"
#include "pack/fixture.h"

#include <string.h>

typedef struct Problem {
    uint32_t rows, inner, columns;
    const char *operand;
    uint32_t tiles;
} Problem;

/* Codes of x and w, and the result that the chip must give, bit for bit. */
typedef struct Case {
    Problem p;
    Fixture fixture;
    Package *package;
    float *x, *w;
    F16 *y;
} Case;

static bool is_f8(const Case *c) {
    return c->p.operand[1] == '8';
}

/* One value: panels of 32 or 16 in order, four AMP steps each, rounded to F16 after each panel. */
static F16 product(const Case *c, uint32_t row, uint32_t column) {
    uint32_t lanes = is_f8(c) ? AMP_F8_LANES : AMP_F16_LANES;
    F16 sum = 0;
    for (uint32_t panel = 0; panel < c->p.inner; panel += AMP_PHASES * lanes) {
        float acc = f16_to_f32(sum);
        for (uint32_t phase = 0; phase < AMP_PHASES; phase++) {
            F16 x16[4] = {0}, w16[4] = {0};
            uint8_t x8[8] = {0}, w8[8] = {0};
            for (uint32_t lane = 0; lane < lanes; lane++) {
                uint32_t k = panel + phase * lanes + lane;
                float x = k < c->p.inner ? c->x[row * c->p.inner + k] : 0;
                float w = k < c->p.inner ? c->w[k * c->p.columns + column] : 0;
                if (is_f8(c)) {
                    x8[lane] = f8_from_f64(x, F8_F143, -4, F8_HOST);
                    w8[lane] = f8_from_f64(w, F8_F143, -4, F8_HOST);
                } else {
                    x16[lane] = f32_to_f16(x, F16_OVERFLOW_INFINITE);
                    w16[lane] = f32_to_f16(w, F16_OVERFLOW_INFINITE);
                }
            }
            acc = is_f8(c) ? amp_step_f8(acc, x8, F8_F143, w8, F8_F143, -8)
                           : amp_step_f16(acc, x16, w16);
        }
        sum = f32_to_f16(acc, F16_OVERFLOW_SATURATE);
    }
    return sum;
}

static void fill(Case *c, uint64_t seed) {
    random_fill_d1(c->x, (uint64_t)c->p.rows * c->p.inner, "x", seed, 1);
    random_fill_d1(c->w, (uint64_t)c->p.inner * c->p.columns, "w", seed, 0.2);
    for (uint32_t row = 0; row < c->p.rows; row++)
        for (uint32_t column = 0; column < c->p.columns; column++)
            c->y[row * c->p.columns + column] = product(c, row, column);
}

static void case_create(Case *c, Problem p) {
    *c = (Case){.p = p};
    fixture_create(&c->fixture, p.rows, p.inner, p.columns, p.operand, p.tiles);
    c->package = fixture_package(&c->fixture);
    fixture_finish(c->package);
    c->x = mem_alloc((size_t)p.rows * p.inner, sizeof *c->x);
    c->w = mem_alloc((size_t)p.inner * p.columns, sizeof *c->w);
    c->y = mem_alloc((size_t)p.rows * p.columns, sizeof *c->y);
    fill(c, 0);
}

static void case_free(Case *c) {
    mem_free(c->x);
    mem_free(c->w);
    mem_free(c->y);
    package_free(c->package);
    fixture_free(&c->fixture);
}

static Device *open_device(const Case *c, Pool *pool) {
    Device *device;
    Diag diag = {0};
    fixture_expect(run_open(c->package, pool, NULL, &device, &diag), &diag);
    return device;
}

static void set_inputs(Device *device, const Case *c) {
    Diag diag = {0};
    fixture_expect(run_set(device, "x", RUN_F32, c->x, (uint64_t)c->p.rows * c->p.inner, &diag),
                   &diag);
    fixture_expect(run_set(device, "w", RUN_F32, c->w, (uint64_t)c->p.inner * c->p.columns, &diag),
                   &diag);
}

static RunResult invoke(Device *device, const char *entry) {
    RunResult result;
    Diag diag = {0};
    fixture_expect(run_invoke(device, entry, &result, &diag), &diag);
    return result;
}

static void expect_output(Device *device, const Case *c) {
    uint64_t count = (uint64_t)c->p.rows * c->p.columns;
    F16 *codes = mem_alloc(count, sizeof *codes);
    float *values = mem_alloc(count, sizeof *values);
    Diag diag = {0};
    fixture_expect(run_get(device, "y", RUN_CODES, codes, count, &diag), &diag);
    fixture_expect(run_get(device, "y", RUN_F32, values, count, &diag), &diag);
    for (uint64_t i = 0; i < count; i++) {
        assert_int_equal(codes[i], c->y[i]);
        assert_true(f32_bits(values[i]) == f32_bits(f16_to_f32(c->y[i])));
    }
    mem_free(codes);
    mem_free(values);
}

/* Release of the host barrier modulo 6, then what emission promises for every tile. */
static void expect_cycles(Device *device, const Case *c, bool sampled, uint64_t cycles) {
    EmitTimes times;
    uint64_t released = machine_tile_counters(run_machine(device), 0).released;
    assert_int_equal(emit_times(&c->fixture.tiles, NULL, sampled,
                                (unsigned)(released % CHIP_WORKER_SLOTS), &times, NULL),
                     STATUS_OK);
    for (uint32_t tile = 0; tile < c->fixture.tiles.tiles; tile++)
        assert_int_equal(run_tile_cycles(device, tile), times.tile[tile]);
    assert_int_equal(cycles, times.cycles);
    emit_times_free(&times);
}

static void check_case(Problem p, Pool *pool) {
    Case c;
    case_create(&c, p);
    Device *device = open_device(&c, pool);
    set_inputs(device, &c);
    RunResult result = invoke(device, EMIT_RUN);
    expect_output(device, &c);
    expect_cycles(device, &c, false, result.cycles);
    assert_true(result.bundles > 0 && result.instructions >= result.bundles);
    assert_int_equal(machine_tile_counters(run_machine(device), 0).released % 6, 0);

    /* Parameters stay; a new input gives a new result. */
    float *w = c.w;
    fill(&c, 1);
    random_fill_d1(w, (uint64_t)p.inner * p.columns, "w", 0, 0.2);
    for (uint32_t i = 0; i < p.rows * p.columns; i++)
        c.y[i] = product(&c, i / p.columns, i % p.columns);
    Diag diag = {0};
    fixture_expect(run_set(device, "x", RUN_F32, c.x, (uint64_t)p.rows * p.inner, &diag), &diag);
    invoke(device, EMIT_RUN);
    expect_output(device, &c);

    result = invoke(device, EMIT_RUN_SAMPLED);
    expect_output(device, &c);
    expect_cycles(device, &c, true, result.cycles);
    run_close(device);
    case_free(&c);
}

static void test_values(void **state) {
    (void)state;
    Pool *pool = pool_create(2);
    check_case((Problem){1, 1, 1, "f16", 1}, NULL);
    check_case((Problem){7, 33, 17, "f8f143(s=-4)", 2}, pool);
    check_case((Problem){40, 64, 48, "f8f143(s=-4)", 7}, pool);
    check_case((Problem){33, 31, 70, "f16", 12}, pool);
    pool_free(pool);
}

/* Samples: one before each step and one behind the last; two in a row are 90 apart. */
static void test_samples(void **state) {
    (void)state;
    Case c;
    case_create(&c, (Problem){24, 64, 32, "f16", 3});
    Device *device = open_device(&c, NULL);
    set_inputs(device, &c);
    RunResult result = invoke(device, EMIT_RUN_SAMPLED);
    for (uint32_t tile = 0; tile < c.package->tile_count; tile++) {
        uint32_t *samples, count;
        assert_int_equal(run_samples(device, tile, &samples, &count, NULL), STATUS_OK);
        const PackageProgram *program = &c.package->programs.items[c.package->program[tile]];
        assert_int_equal(count, program->step_count + 1);
        for (uint32_t i = 1; i < count; i++)
            assert_true(samples[i] > samples[i - 1] && (samples[i] - samples[i - 1]) % 6 == 0);
        if (count > 1)
            assert_true(samples[count - 1] - samples[0] < result.cycles);
        mem_free(samples);
    }
    run_close(device);
    case_free(&c);
    for (unsigned start = 0; start < 6; start++) {
        uint64_t first = emit_sample_cycles(start);
        uint64_t second = emit_sample_cycles((unsigned)(start + first) % 6);
        assert_in_range(first, 85, 92);
        assert_int_equal(second, 90); /* aligned to worker 0 by the first */
    }
}

static void expect_code(Status status, Status wanted, Diag *diag) {
    assert_int_equal(status, wanted);
    assert_int_equal(diag_status(diag), wanted);
    diag_free(diag);
}

static void test_bad_calls(void **state) {
    (void)state;
    Case c;
    case_create(&c, (Problem){4, 16, 16, "f16", 1});
    Device *device = open_device(&c, NULL);
    Diag diag = {0};
    RunResult result;
    expect_code(run_set(device, "z", RUN_F32, c.x, 64, &diag), ERR_RUN_BINDING, &diag);
    expect_code(run_set(device, "y", RUN_F32, c.x, 64, &diag), ERR_RUN_BINDING, &diag);
    expect_code(run_get(device, "x", RUN_F32, c.x, 64, &diag), ERR_RUN_BINDING, &diag);
    expect_code(run_set(device, "x", RUN_F32, c.x, 63, &diag), ERR_RUN_COUNT, &diag);
    expect_code(run_invoke(device, "jump", &result, &diag), ERR_RUN_ENTRY, &diag);
    ((PackageBinding *)package_find(c.package, "y"))->format.precision.kind = PRECISION_F32;
    expect_code(run_get(device, "y", RUN_F16, c.y, 64, &diag), ERR_RUN_KIND, &diag);
    run_close(device);
    case_free(&c);
}

/* A damaged instruction traps; the message tells tile, function and line. */
static void test_trap(void **state) {
    (void)state;
    Case c;
    case_create(&c, (Problem){4, 16, 16, "f16", 1});
    Device *device = open_device(&c, NULL);
    set_inputs(device, &c);
    uint32_t kernel = c.fixture.library.kernel[0], zero = 0;
    assert_int_equal(machine_write(run_machine(device), 0, kernel, &zero, 4, NULL), STATUS_OK);
    RunResult result;
    Diag diag = {0};
    assert_int_equal(run_invoke(device, EMIT_RUN, &result, &diag), ERR_SIM_WORD);
    assert_int_equal(diag.entries[0].place.tile, 0);
    assert_non_null(diag.entries[0].notes);
    assert_non_null(strstr(diag.entries[0].notes, "gemm.S:"));
    assert_non_null(strstr(diag.entries[0].notes, c.fixture.library.name[0]));
    diag_free(&diag);
    run_close(device);
    case_free(&c);
}

/* Checks hold every kernel call to its operands. What a kernel does is right; so a package that
 * tells less of an operand traps where the kernel goes beyond, and one that tells more does not. */
static void test_operands(void **state) {
    (void)state;
    static const RunOptions checked = {.machine.checks = MACHINE_CHECK_OPERANDS};
    Case c;
    case_create(&c, (Problem){4, 16, 16, "f16", 1});
    for (size_t i = 0; i < c.package->operands.count; i++)
        for (int less = 0; less < 2; less++) {
            PackageOperand *operand = &c.package->operands.items[i], was = *operand;
            operand->size -= less ? 8 : 0;
            operand->tail = 0; /* without accumulation no kernel reads there */
            Device *device;
            RunResult result;
            Diag diag = {0};
            fixture_expect(run_open(c.package, NULL, &checked, &device, &diag), &diag);
            set_inputs(device, &c);
            Status status = run_invoke(device, EMIT_RUN, &result, &diag);
            const MachineTrap *trap = machine_trap(run_machine(device));
            if (less) {
                assert_int_equal(status, ERR_SIM_OUTSIDE);
                assert_non_null(strstr(trap->text, was.name));
                assert_non_null(strstr(diag.entries[0].notes, "gemm.S:"));
                assert_in_range(trap->context, 0, MACHINE_SUPERVISOR);
            } else {
                assert_int_equal(status, STATUS_OK);
                expect_output(device, &c);
            }
            diag_free(&diag);
            run_close(device);
            *operand = was;
        }
    case_free(&c);
}

/* Every kind of value in and out of an FP8 input. */
static void test_kinds(void **state) {
    (void)state;
    Case c;
    case_create(&c, (Problem){5, 32, 16, "f8f143(s=-4)", 1});
    enum { X = 5 * 32, Y = 5 * 16 };
    F16 halves[X], from_f32[Y], from_f16[Y], from_codes[Y];
    float narrowed[X];
    uint8_t codes[X];
    f16_narrow_all(halves, c.x, X, F16_OVERFLOW_INFINITE);
    f16_widen_all(narrowed, halves, X);
    f8_encode_f32(codes, narrowed, X, F8_F143, -4, F8_HOST);
    Device *device = open_device(&c, NULL);
    set_inputs(device, &c);
    Diag diag = {0};
    fixture_expect(run_set(device, "x", RUN_F32, narrowed, X, &diag), &diag);
    invoke(device, EMIT_RUN);
    fixture_expect(run_get(device, "y", RUN_F16, from_f32, Y, &diag), &diag);
    fixture_expect(run_set(device, "x", RUN_F16, halves, X, &diag), &diag);
    invoke(device, EMIT_RUN);
    fixture_expect(run_get(device, "y", RUN_F16, from_f16, Y, &diag), &diag);
    fixture_expect(run_set(device, "x", RUN_CODES, codes, X, &diag), &diag);
    invoke(device, EMIT_RUN);
    fixture_expect(run_get(device, "y", RUN_CODES, from_codes, Y, &diag), &diag);
    assert_memory_equal(from_f32, from_f16, sizeof from_f32);
    assert_memory_equal(from_f32, from_codes, sizeof from_f32);
    run_close(device);
    case_free(&c);
}

/* Scalars of two words, and kernels above the host window: values and cycles stay right. */
static void test_long_arguments(void **state) {
    (void)state;
    Case c;
    case_create(&c, (Problem){24, 64, 32, "f8f143(s=-4)", 2});
    Fixture *f = &c.fixture;
    for (size_t i = 0; i < f->tiles.calls.count; i++)
        f->tiles.calls.items[i].scalars[0] = 1 << 26 | (-8 & 63); /* six bits are used */
    KernelSpec filler = f->tiles.specs.items[0], last = filler;
    for (filler.gemm.rows = 101; f->tiles.specs.count < 40; filler.gemm.rows++)
        assert_true(vec_push(&f->tiles.specs, filler));
    assert_true(vec_push(&f->tiles.specs, last)); /* the same kernel once more, at the end */
    f->tiles.specs.items[0].gemm.rows = 100;
    for (size_t i = 0; i < f->tiles.calls.count; i++)
        if (f->tiles.calls.items[i].spec == 0)
            f->tiles.calls.items[i].spec = (uint32_t)f->tiles.specs.count - 1;
    package_free(c.package);
    emit_images_free(&f->images);
    emit_library_free(&f->library);
    place_map_free(&f->places);
    Diag diag = {0};
    fixture_expect(emit_link(&f->tiles, &f->library, &diag), &diag);
    for (uint32_t tile = 0; tile < f->tiles.tiles; tile++)
        f->spaces[tile] = emit_space(&f->library, &f->tiles, tile);
    fixture_expect(place_tiles(&f->tiles, f->spaces, NULL, &f->places, &diag), &diag);
    fixture_expect(emit_images(&f->library, &f->tiles, &f->places, NULL, &f->images, &diag), &diag);
    assert_true(f->library.kernel[f->tiles.specs.count - 1] > CHIP_DATA_BASE);
    c.package = fixture_package(f);
    fixture_finish(c.package);
    fixture_expect(package_verify(c.package, &diag), &diag);

    Device *device = open_device(&c, NULL);
    set_inputs(device, &c);
    RunResult result = invoke(device, EMIT_RUN);
    expect_output(device, &c);
    expect_cycles(device, &c, false, result.cycles);
    run_close(device);
    case_free(&c);
}

/* Each allocation may fail. */
static void test_memory(void **state) {
    (void)state;
    Case c;
    case_create(&c, (Problem){4, 16, 16, "f16", 1});
    Status status = ERR_NO_MEMORY;
    for (uint64_t n = 1; status; n++) {
        Device *device;
        RunResult result;
        float y[64];
        uint32_t *samples = NULL, count;
        Diag diag = {0};
        mem_fail_after(n);
        status = run_open(c.package, NULL, NULL, &device, &diag);
        if (!status)
            status = run_set(device, "x", RUN_F32, c.x, 64, &diag);
        if (!status)
            status = run_set(device, "w", RUN_F32, c.w, 256, &diag);
        if (!status)
            status = run_invoke(device, EMIT_RUN, &result, &diag);
        if (!status)
            status = run_get(device, "y", RUN_F32, y, 64, &diag);
        if (!status)
            status = run_samples(device, 0, &samples, &count, &diag);
        mem_fail_after(0);
        assert_true(status == STATUS_OK || status == ERR_NO_MEMORY);
        mem_free(samples);
        run_close(device);
        diag_free(&diag);
    }
    case_free(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),         cmocka_unit_test(test_samples),
        cmocka_unit_test(test_bad_calls),      cmocka_unit_test(test_trap),
        cmocka_unit_test(test_operands),       cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_long_arguments), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
