/* Deterministic random numbers: splitmix64 streams seeded by name (design: data D1). */
#pragma once

#include <stdint.h>

typedef struct Random {
    uint64_t state;
} Random;

uint64_t fnv1a64(const char *text); /* offset basis CBF29CE484222325, prime 100000001B3 */
static inline Random random_seed(uint64_t seed) {
    return (Random){seed};
}
/* state += 9E3779B97F4A7C15, then the 30/27/31 xor-shift-multiply finaliser. */
uint64_t random_next(Random *random);
/* Uniform in [0, bound), bound > 0, without modulo bias. */
uint64_t random_below(Random *random, uint64_t bound);
/* Data D1: sigma * (sum of twelve (next >> 40) * 2^-24 - 6), in double, rounded to float32. */
float random_d1(Random *random, double sigma);
/* The D1 stream of one tensor: seed = FNV-1a-64(name) XOR seed. */
Random random_tensor(const char *name, uint64_t seed);
/* Fills count values of the stream of tensor `name`. */
void random_fill_d1(float *values, uint64_t count, const char *name, uint64_t seed, double sigma);
