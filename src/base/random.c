#include "base/random.h"

uint64_t fnv1a64(const char *text) {
    uint64_t hash = 0xCBF29CE484222325u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001B3u;
    return hash;
}

uint64_t random_next(Random *random) {
    uint64_t z = random->state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

uint64_t random_below(Random *random, uint64_t bound) {
    /* The first 2^64 mod bound values would make the small results too frequent. */
    uint64_t skip = -bound % bound;
    uint64_t value;
    do
        value = random_next(random);
    while (value < skip);
    return value % bound;
}

float random_d1(Random *random, double sigma) {
    uint64_t sum = 0;
    for (int i = 0; i < 12; i++)
        sum += random_next(random) >> 40;
    return (float)(sigma * ((double)sum * 0x1p-24 - 6.0));
}

Random random_tensor(const char *name, uint64_t seed) {
    return random_seed(fnv1a64(name) ^ seed);
}

void random_fill_d1(float *values, uint64_t count, const char *name, uint64_t seed, double sigma) {
    Random random = random_tensor(name, seed);
    for (uint64_t i = 0; i < count; i++)
        values[i] = random_d1(&random, sigma);
}
