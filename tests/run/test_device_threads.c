/* One package on devices with 1, 2 and 7 threads: the same values, cycles and samples. */
#include "run/run.h"

#include "base/random.h"
#include "pack/fixture.h"

enum { ROWS = 90, INNER = 70, COLUMNS = 100, TILES = 40 };

typedef struct Outcome {
    uint16_t y[ROWS * COLUMNS];
    uint64_t cycles, sampled, bundles, tile_cycles[TILES];
    uint32_t first_sample[TILES];
} Outcome;

static float x[ROWS * INNER], w[INNER * COLUMNS];

static void run_with(const Package *package, unsigned threads, Outcome *outcome) {
    Pool *pool = pool_create(threads);
    Device *device;
    RunResult result;
    Diag diag = {0};
    assert_non_null(pool);
    fixture_expect(run_open(package, pool, NULL, &device, &diag), &diag);
    fixture_expect(run_set(device, "x", RUN_F32, x, ROWS * INNER, &diag), &diag);
    fixture_expect(run_set(device, "w", RUN_F32, w, INNER * COLUMNS, &diag), &diag);
    fixture_expect(run_invoke(device, EMIT_RUN_SAMPLED, &result, &diag), &diag);
    outcome->sampled = result.cycles;
    for (uint32_t tile = 0; tile < package->tile_count; tile++) {
        uint32_t *samples, count;
        fixture_expect(run_samples(device, tile, &samples, &count, &diag), &diag);
        outcome->first_sample[tile] = samples[0];
        mem_free(samples);
    }
    fixture_expect(run_invoke(device, EMIT_RUN, &result, &diag), &diag);
    outcome->cycles = result.cycles;
    outcome->bundles = result.bundles;
    for (uint32_t tile = 0; tile < package->tile_count; tile++)
        outcome->tile_cycles[tile] = run_tile_cycles(device, tile);
    fixture_expect(run_get(device, "y", RUN_CODES, outcome->y, ROWS * COLUMNS, &diag), &diag);
    run_close(device);
    pool_free(pool);
}

static void test_threads(void **state) {
    (void)state;
    static Outcome one, other;
    Fixture f;
    fixture_create(&f, ROWS, INNER, COLUMNS, "f8f143(s=-4)", TILES);
    Package *package = fixture_package(&f);
    fixture_finish(package);
    random_fill_d1(x, ROWS * INNER, "x", 0, 1);
    random_fill_d1(w, INNER * COLUMNS, "w", 0, 0.2);
    run_with(package, 1, &one);
    for (unsigned threads = 2; threads <= 7; threads += 5) {
        run_with(package, threads, &other);
        assert_memory_equal(&one, &other, sizeof one);
    }
    package_free(package);
    fixture_free(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
