/* Random numbers: published vectors of splitmix64 and FNV-1a, data D1, and the processor level. */
#include "testing.h"

#include "base/cpu.h"
#include "base/mem.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void test_vectors(void **state) {
    (void)state;
    static const uint64_t expected[] = {6457827717110365317u, 3203168211198807973u,
                                        9817491932198370423u, 4593380528125082431u,
                                        16408922859458223821u};
    Random random = random_seed(1234567);
    for (size_t i = 0; i < COUNT_OF(expected); i++)
        assert_true(random_next(&random) == expected[i]);
    assert_true(fnv1a64("") == 0xCBF29CE484222325u);
    assert_true(fnv1a64("a") == 0xAF63DC4C8601EC8Cu);
    assert_true(fnv1a64("foobar") == 0x85944171F73967E8u);
}

static void test_below(void **state) {
    (void)state;
    Random random = random_seed(3);
    unsigned seen[6] = {0};
    for (int i = 0; i < 6000; i++) {
        uint64_t value = random_below(&random, 6);
        assert_true(value < 6);
        seen[value]++;
    }
    for (size_t i = 0; i < COUNT_OF(seen); i++)
        assert_in_range(seen[i], 850, 1150);
    /* Just over half of the range: about every second draw must be rejected. */
    uint64_t bound = (UINT64_C(1) << 63) + 1;
    for (int i = 0; i < 100; i++)
        assert_true(random_below(&random, bound) < bound);
    assert_true(random_below(&random, 1) == 0);
}

static void assert_bits(float value, uint32_t expected) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    assert_int_equal(bits, expected);
}

/* The expected bits come from an independent program in arbitrary-precision integers. */
static void test_data_d1(void **state) {
    (void)state;
    float values[3];
    random_fill_d1(values, 3, "x", 0, 1.0);
    assert_bits(values[0], 0x3F8AAD4E);
    assert_bits(values[1], 0xBF577BC9);
    assert_bits(values[2], 0xBDB37478);
    random_fill_d1(values, 3, "block0.up.weight", 5, 0.02);
    assert_bits(values[0], 0xBCB0928B);
    assert_bits(values[1], 0x3CA4BB1E);
    assert_bits(values[2], 0x3C946CFF);
}

static void test_d1_moments(void **state) {
    (void)state;
    enum { COUNT = 100000 };
    float *values = mem_alloc(COUNT, sizeof *values);
    random_fill_d1(values, COUNT, "moments", 1, 2.0);
    double sum = 0, squares = 0;
    for (int i = 0; i < COUNT; i++) {
        sum += values[i];
        squares += (double)values[i] * values[i];
    }
    assert_true(fabs(sum / COUNT) < 0.05);
    assert_true(fabs(sqrt(squares / COUNT) - 2.0) < 0.05);
    mem_free(values);
}

static void test_cpu_level(void **state) {
    (void)state;
    char *before = getenv("TILEWORK_CPU") ? mem_strdup(getenv("TILEWORK_CPU")) : NULL;
    CpuLevel native = cpu_level_native();
    for (CpuLevel i = CPU_PORTABLE; i <= CPU_AVX512; i++) {
        CpuLevel parsed;
        assert_true(cpu_level_parse(cpu_level_name(i), &parsed));
        assert_int_equal(parsed, i);
        setenv("TILEWORK_CPU", cpu_level_name(i), 1);
        assert_int_equal(cpu_level(), MIN_OF(i, native));
    }
    CpuLevel level;
    assert_false(cpu_level_parse("avx3", &level));
    setenv("TILEWORK_CPU", "avx3", 1);
    assert_int_equal(cpu_level(), native);
    unsetenv("TILEWORK_CPU");
    assert_int_equal(cpu_level(), native);
    if (before)
        setenv("TILEWORK_CPU", before, 1);
    mem_free(before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),   cmocka_unit_test(test_below),
        cmocka_unit_test(test_data_d1),   cmocka_unit_test(test_d1_moments),
        cmocka_unit_test(test_cpu_level),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
