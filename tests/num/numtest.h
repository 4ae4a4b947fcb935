/* Shared by the tests of num: CRC-32, random bit patterns, and the order of levels. */
#pragma once

#include "base/cpu.h"
#include "base/random.h"
#include "num/f8.h"
#include "testing.h"

#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

/* CRC-32 of zlib, bit by bit. */
static inline uint32_t crc32_of(const void *bytes, size_t size) {
    uint32_t crc = 0xFFFFFFFFu;
    for (size_t i = 0; i < size; i++) {
        crc ^= ((const uint8_t *)bytes)[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
    }
    return ~crc;
}

/* A seed of the clock, or the number in TW_TEST_SEED; printed so that a failure can be repeated. */
static inline Random seeded(const char *what) {
    const char *given = getenv("TW_TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
    printf("%s: TW_TEST_SEED=%llu\n", what, (unsigned long long)seed);
    return random_seed(seed);
}

#ifdef __SANITIZE_ADDRESS__
#define SLOWDOWN 8 /* of instrumented code */
#else
#define SLOWDOWN 1
#endif

/* `usual` repetitions, fewer in instrumented programs, or `all` when TW_TEST_ALL is set. */
static inline uint64_t repetitions(uint64_t usual, uint64_t all) {
    return getenv("TW_TEST_ALL") ? all : usual / SLOWDOWN;
}

/* Says which levels run. */
static inline void print_levels(void) {
    for (CpuLevel level = CPU_PORTABLE; level <= CPU_AVX512; level++)
        printf("level %s: %s\n", cpu_level_name(level),
               level <= cpu_level_native() ? "runs" : "not in this processor");
}

/* assert_int_equal for loops of millions. */
#define assert_same(actual, expected)                                                              \
    do {                                                                                           \
        if ((actual) != (expected))                                                                \
            assert_int_equal((actual), (expected));                                                \
    } while (0)

#define assert_same_float(actual, expected) assert_same(f32_bits(actual), f32_bits(expected))
