/* Programs with exchange steps on the simulated device: values, exact cycles, samples, traps, and
 * that a package's rows are proved. */
#include "run/run.h"

#include "base/random.h"
#include "emit/exchange.h"
#include "num/f16.h"
#include "pack/build.h"

#include <string.h>

typedef struct Shape3 {
    uint32_t rows, inner, columns;
    const char *operand;
    uint32_t tiles;
} Shape3;

static Package *package_of(const Fixture *f, const EmitExchange *exchanges) {
    Diag diag = {0};
    Package *package = package_create("test 1", f->tiles.tiles);
    assert_non_null(package);
    fixture_expect(package_build(package, f->graph, &f->tiles, &f->library, &f->images, &f->places,
                                 exchanges, &diag),
                   &diag);
    fixture_expect(package_finish(package, &diag), &diag);
    return package;
}

static Device *open_device(const Package *package, Pool *pool) {
    Device *device;
    Diag diag = {0};
    fixture_expect(run_open(package, pool, NULL, &device, &diag), &diag);
    return device;
}

static void set_inputs(Device *device, const Shape3 *s, uint64_t seed) {
    uint64_t nx = (uint64_t)s->rows * s->inner, nw = (uint64_t)s->inner * s->columns;
    float *x = mem_alloc(nx, sizeof *x), *w = mem_alloc(nw, sizeof *w);
    Diag diag = {0};
    random_fill_d1(x, nx, "x", seed, 1);
    random_fill_d1(w, nw, "w", seed, 0.2);
    fixture_expect(run_set(device, "x", RUN_F32, x, nx, &diag), &diag);
    fixture_expect(run_set(device, "w", RUN_F32, w, nw, &diag), &diag);
    mem_free(x);
    mem_free(w);
}

static F16 *output(Device *device, const Shape3 *s) {
    uint64_t count = (uint64_t)s->rows * s->columns;
    F16 *codes = mem_alloc(count, sizeof *codes);
    Diag diag = {0};
    fixture_expect(run_get(device, "y", RUN_CODES, codes, count, &diag), &diag);
    return codes;
}

static RunResult invoke(Device *device, const char *entry) {
    RunResult result;
    Diag diag = {0};
    fixture_expect(run_invoke(device, entry, &result, &diag), &diag);
    return result;
}

/* What the GEMM gives without a detour. */
static F16 *expected(const Shape3 *s, uint64_t seed) {
    Fixture f;
    fixture_create(&f, s->rows, s->inner, s->columns, s->operand, s->tiles);
    Package *package = package_of(&f, NULL);
    Device *device = open_device(package, NULL);
    set_inputs(device, s, seed);
    invoke(device, EMIT_RUN);
    F16 *codes = output(device, s);
    run_close(device);
    package_free(package);
    fixture_free(&f);
    return codes;
}

static void expect_cycles(Device *device, const Detour *d, bool sampled, uint64_t cycles) {
    EmitTimes times;
    uint64_t released = machine_tile_counters(run_machine(device), 0).released;
    assert_int_equal(
        emit_times(&d->f.tiles, d->exchanges, sampled, (unsigned)(released % 6), &times, NULL),
        STATUS_OK);
    for (uint32_t tile = 0; tile < d->f.tiles.tiles; tile++)
        assert_int_equal(run_tile_cycles(device, tile), times.tile[tile]);
    assert_int_equal(cycles, times.cycles);
    emit_times_free(&times);
}

/* Four invocations, the last two sampled. */
static void check_shape(const Shape3 *s, Pool *pool) {
    Detour d;
    detour_create(&d, s->rows, s->inner, s->columns, s->operand, s->tiles);
    Package *package = package_of(&d.f, d.exchanges);
    Diag diag = {0};
    fixture_expect(package_verify(package, &diag), &diag);
    Device *device = open_device(package, pool);
    for (uint64_t round = 0; round < 4; round++) {
        F16 *wanted = expected(s, round);
        set_inputs(device, s, round);
        RunResult result = invoke(device, round < 2 ? EMIT_RUN : EMIT_RUN_SAMPLED);
        F16 *got = output(device, s);
        assert_memory_equal(got, wanted, (size_t)s->rows * s->columns * sizeof *got);
        expect_cycles(device, &d, round >= 2, result.cycles);
        mem_free(got);
        mem_free(wanted);
    }
    run_close(device);
    package_free(package);
    detour_free(&d);
}

static void test_values(void **state) {
    (void)state;
    static const Shape3 shapes[] = {{40, 64, 48, "f8f143(s=-4)", 7},
                                    {33, 31, 70, "f16", 12},
                                    {4, 16, 32, "f16", 5},
                                    {8, 16, 16, "f16", 2}};
    Pool *pool = pool_create(3);
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        check_shape(&shapes[i], i % 2 ? pool : NULL);
    pool_free(pool);
}

/* Each step's interval between samples is what the schedule of the package predicts, and the
 * sampling itself; an exchange costs the published overhead on top of its row. */
static void test_samples(void **state) {
    (void)state;
    Detour d;
    Shape3 s = {40, 64, 48, "f16", 7};
    detour_create(&d, s.rows, s.inner, s.columns, s.operand, s.tiles);
    Package *package = package_of(&d.f, d.exchanges);
    Device *device = open_device(package, NULL);
    set_inputs(device, &s, 0);
    invoke(device, EMIT_RUN_SAMPLED);
    uint32_t *samples, count, first;
    for (uint32_t e = 0; e < DETOUR_PHASES; e++) {
        uint32_t row_count, longest = 0;
        int64_t interval = 0;
        first = package_phase_rows(package, e, &row_count);
        for (uint32_t i = first; i < first + row_count; i++) {
            const PackageRow *row = &package->rows.items[i];
            if (row->horizon < longest)
                continue;
            longest = row->horizon;
            assert_int_equal(run_samples(device, row->tile, &samples, &count, NULL), STATUS_OK);
            interval = (int64_t)samples[e + 1] - samples[e] - longest;
            mem_free(samples);
        }
        assert_int_equal(longest, package->phases.items[e].horizon);
        /* In the first step all tiles arrive together; the second one also waits for the last. */
        int64_t most = e == 0 ? CHIP_EXCHANGE_PHASE_OVERHEAD + 6 : 400;
        assert_in_range(interval, CHIP_EXCHANGE_PHASE_OVERHEAD - 6, most);
    }
    run_close(device);
    package_free(package);
    detour_free(&d);
}

/* A damaged row traps with the name of its phase; the package's proof finds it first. */
static void test_trap(void **state) {
    (void)state;
    Detour d;
    Shape3 s = {40, 64, 48, "f16", 7};
    detour_create(&d, s.rows, s.inner, s.columns, s.operand, s.tiles);
    Package *package = package_of(&d.f, d.exchanges);
    uint32_t count, first = package_phase_rows(package, 1, &count);
    const PackageRow *row = &package->rows.items[first + 2];
    Device *device = open_device(package, NULL);
    set_inputs(device, &s, 0);
    uint32_t word = 0x64000000 | 5 << 14 | CHIP_MUX_NEUTRAL; /* delayxpic 5, 0, neutral */
    assert_int_equal(machine_write(run_machine(device), row->tile, row->address, &word, 4, NULL),
                     STATUS_OK);
    RunResult result;
    Diag diag = {0};
    Status status = run_invoke(device, EMIT_RUN, &result, &diag);
    assert_int_not_equal(status, STATUS_OK);
    assert_string_equal(diag.entries[0].place.object, "back");
    assert_int_equal(machine_trap(run_machine(device))->phase, 1);
    diag_free(&diag);
    run_close(device);

    for (size_t i = 0; i < package->segments.count; i++) {
        const PackageSegment *segment = &package->segments.items[i];
        if (segment->tile == row->tile && segment->address == row->address)
            memcpy((uint8_t *)package->blobs.items[segment->blob].bytes, &word, 4);
    }
    assert_int_equal(package_verify(package, &diag), ERR_XCHG_VERIFY);
    assert_string_equal(diag.entries[0].place.object, "back");
    diag_free(&diag);
    package_free(package);
    detour_free(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_trap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
