/* Counts of clipped and flushed values against counting one by one, and by each processor level. */
#include "testing.h"

#include "base/mem.h"
#include "base/random.h"
#include "num/f16.h"
#include "quant/stats.h"
#include "quant/vector.h"

#include <math.h>
#include <stdio.h>

enum { ROWS = 133, INPUTS = 150 }; /* neither whole groups of rows nor whole vectors */

/* Of all magnitudes, near powers of two and 1.875 times them, zeros, and ordinary ones. */
static float pick(Random *random) {
    uint32_t bits = (uint32_t)random_next(random), sign = bits & 0x80000000u;
    uint32_t exponent = bits >> 8 & 0xFFu;
    exponent = MIN_OF(exponent, 254u);
    switch (bits & 3u) {
    case 0: return f32_from_bits(sign);
    case 1: return f32_from_bits(sign | (exponent << 23 | (bits >> 16 & 0x7FFFu)));
    case 2: {
        uint32_t edge = exponent << 23 | (bits & 4u ? 0x700000u : 0);
        return f32_from_bits(sign | (edge + (bits >> 4 & 3u) - (edge ? 1u : 0)));
    }
    default: return (float)(int32_t)bits * 0x1p-30f;
    }
}

static void check_counts(const Stats *stats, const float *x, size_t count) {
    for (int scale = -32; scale <= 31; scale++) {
        uint64_t clipped = 0, flushed = 0;
        for (size_t i = 0; i < count; i++) {
            clipped += fabsf(x[i]) > ldexpf(240, scale);
            flushed += x[i] != 0 && fabsf(x[i]) <= ldexpf(1, scale - 11);
        }
        assert_int_equal(stats_clipped(stats, scale), clipped);
        assert_int_equal(stats_flushed(stats, scale), flushed);
    }
}

static void test_counts(void **state) {
    (void)state;
    uint64_t seed = 20;
    print_message("seed %llu\n", (unsigned long long)seed);
    Random random = random_seed(seed);
    float *x = mem_alloc(ROWS * INPUTS, sizeof *x);
    const Blas *blas = blas_open(1);
    assert_non_null(blas);
    assert_non_null(x);
    for (size_t i = 0; i < ROWS * INPUTS; i++)
        x[i] = pick(&random);
    for (uint32_t block = 64; block <= 256; block *= 4) {
        Stats stats;
        bool no_memory;
        assert_true(stats_make(&stats, INPUTS, block, false));
        assert_true(stats_add(&stats, blas, NULL, x, ROWS, &no_memory));
        stats_fold(&stats);
        check_counts(&stats, x, ROWS * INPUTS);
        stats_free(&stats);
    }
    mem_free(x);
}

static void test_levels(void **state) {
    (void)state;
    Random random = random_seed(21);
    uint8_t bytes[VECTOR_BYTES];
    for (uint32_t most = 0; most < STATS_BINS; most += 17) {
        uint64_t expected[STATS_BINS] = {0};
        size_t count = VECTOR_BYTES - most;
        for (size_t i = 0; i < count; i++) {
            bytes[i] = (uint8_t)(random_next(&random) % (most + 1));
            expected[bytes[i]]++;
        }
        for (CpuLevel level = CPU_PORTABLE; level <= cpu_level_native(); level++) {
            uint64_t counts[STATS_BINS] = {0};
            vector_table(level)->histogram(counts, bytes, count, most);
            assert_memory_equal(counts, expected, sizeof counts);
        }
    }
    for (size_t i = 0; i < VECTOR_BYTES; i++)
        bytes[i] = 200;
    for (CpuLevel level = CPU_PORTABLE; level <= cpu_level_native(); level++) {
        uint64_t counts[STATS_BINS] = {0};
        vector_table(level)->histogram(counts, bytes, VECTOR_BYTES, 200);
        assert_int_equal(counts[200], VECTOR_BYTES);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_levels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
