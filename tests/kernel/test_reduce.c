/* Reduction of partial results: values, cycles, limits. */
#include "num/f16.h"
#include "rig.h"

enum { OUTPUT, FIRST, REST };

static KernelSpec reduce(uint32_t parts, uint32_t count, bool wide) {
    return (KernelSpec){.family = KERNEL_REDUCE,
                        .reduce = {.parts = parts, .count = count, .wide = wide}};
}

/* Any bits, large values whose sums overflow, or partial results as they are. */
static F16 random_half(Random *random, unsigned kind) {
    uint64_t bits = random_next(random);
    switch (kind) {
    case 0: return (F16)bits;
    case 1: return (F16)((bits & 0x83FF) | (28 + (bits >> 16) % 3) << 10);
    case 2: return (F16)(bits & 0x8000); /* zeros of both signs */
    default: return (F16)((bits & 0x83FF) | (9 + (bits >> 16) % 8) << 10);
    }
}

static void check_values(const KernelSpec *spec, Random *random) {
    KernelInterface interface;
    kernel_interface(spec, &interface);
    Rig rig;
    RigCall call;
    rig_start(&rig, spec, random, &call);
    if (random_below(random, 2))
        rig_alias(spec, &call);
    unsigned kind = (unsigned)random_below(random, 6);
    for (uint32_t j = FIRST; j <= REST; j++)
        for (uint32_t i = 0; i < interface.operands[j].bytes; i += 2) {
            F16 half = random_half(random, kind);
            memcpy(rig_at(&rig, call.address[j] + i), &half, sizeof half);
        }
    rig_check_values(&rig, spec, &call);
    rig_free(&rig);
}

static void check(const KernelSpec *spec, Random *random) {
    check_values(spec, random);
    rig_check_cycles(spec, random);
}

static void every_specialisation(void **state) {
    (void)state;
    Random random = random_seed(1);
    static const uint8_t parts[] = {2, 3, 4, 5, 8, 15};
    static const uint16_t groups[] = {1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 24, 72};
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        for (size_t j = 0; j < COUNT_OF(groups); j++)
            for (int wide = 0; wide < 2; wide++) {
                KernelSpec spec = reduce(parts[i], 8u * groups[j], wide);
                check(&spec, &random);
            }
}

/* kind: interleaved memory or not. */
static KernelSpec random_spec(Random *random, unsigned kind) {
    uint32_t parts = 2 + (uint32_t)random_below(random, random_below(random, 3) ? 8 : 50);
    return reduce(parts, 8 + 8 * (uint32_t)random_below(random, 100), kind);
}

static void random_shapes(void **state) {
    (void)state;
    rig_check_fresh(random_spec, 2, check);
}

static void more_cycles(void **state) {
    (void)state;
    rig_check_fixed(random_spec, 2, 130);
}

/* Steps beyond 16 bits, the most parts, the largest operands. */
static void large(void **state) {
    (void)state;
    Random random = random_seed(2);
    const KernelSpec specs[] = {reduce(127, 1200, true), reduce(127, 1200, false),
                                reduce(3, 40000, false), reduce(2, 40000, true)};
    for (size_t i = 0; i < COUNT_OF(specs); i++)
        check(&specs[i], &random);
}

/* One rounding in all: 2048 + 1 + 1 is 2050, which additions rounded to F16 one by one miss. */
static void rounds_once(void **state) {
    (void)state;
    KernelSpec spec = reduce(3, 8, true);
    F16 output[8], first[8], rest[16];
    for (int i = 0; i < 8; i++) {
        first[i] = f32_to_f16(2048, F16_OVERFLOW_INFINITE);
        rest[i] = rest[8 + i] = f32_to_f16(1, F16_OVERFLOW_INFINITE);
    }
    void *operands[] = {output, first, rest};
    kernel_reference(&spec, operands, NULL);
    for (int i = 0; i < 8; i++)
        assert_true(f16_to_f32(output[i]) == 2050);
}

static void limits(void **state) {
    (void)state;
    Diag diag;
    diag_init(&diag);
    const KernelSpec wrong[] = {reduce(1, 8, true),          reduce(128, 8, true),
                                reduce(2, 0, true),          reduce(2, 12, false),
                                reduce(2, 212996, true),     reduce(3, 106504, true),
                                reduce(127, 1u << 31, false)};
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_int_equal(kernel_check(&wrong[i], &diag), ERR_KERNEL_SHAPE);
    const KernelSpec right[] = {reduce(2, 212992, true), reduce(3, 106496, false)};
    for (size_t i = 0; i < COUNT_OF(right); i++)
        assert_int_equal(kernel_check(&right[i], &diag), STATUS_OK);
    diag_free(&diag);
}

static void specs_compare(void **state) {
    (void)state;
    const KernelSpec specs[] = {reduce(4, 64, true), reduce(4, 72, true), reduce(4, 64, false),
                                reduce(5, 64, true)};
    for (size_t i = 0; i < COUNT_OF(specs); i++)
        for (size_t j = 0; j < COUNT_OF(specs); j++) {
            char a[KERNEL_NAME_SIZE], b[KERNEL_NAME_SIZE];
            assert_int_equal(kernel_spec_equal(&specs[i], &specs[j]), i == j);
            assert_int_equal(strcmp(kernel_name(&specs[i], a), kernel_name(&specs[j], b)) == 0,
                             i == j);
            assert_int_equal(strcmp(kernel_entry(&specs[i], a), kernel_entry(&specs[j], b)) == 0,
                             specs[i].reduce.parts == specs[j].reduce.parts &&
                                 specs[i].reduce.wide == specs[j].reduce.wide);
        }
}

/* ipu-stack, reduction of 2026-09-13; standard memory unless said. */
static void published(void **state) {
    (void)state;
    Random random = random_seed(3);
    static const struct {
        uint32_t parts, count;
        bool wide;
        uint32_t published, most;
        const char *shape;
    } cases[] = {
        {4, 1472, false, 3444, 2700, "reduce 1,472 x 4"},
        {4, 1472, true, 3444, 2200, "reduce 1,472 x 4, interleaved"},
        {4, 2208, false, 4974, 3444, "reduce 2,208 x 4"},
        {4, 2208, true, 4974, 2700, "reduce 2,208 x 4, interleaved"},
        {15, 576, false, 3090, 2700, "reduce 576 x 15"},
        {15, 576, true, 3090, 2200, "reduce 576 x 15, interleaved"},
        {28, 2208, false, 18222, 17000, "reduce 2,208 x 28"},
        {28, 2208, true, 18222, 9600, "reduce 2,208 x 28, interleaved"},
        {2, 8, false, 360, 360, "reduce 8 x 2"},
        {2, 56, false, 438, 438, "reduce 56 x 2"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        KernelSpec spec = reduce(cases[i].parts, cases[i].count, cases[i].wide);
        rig_compare(&spec, &random, cases[i].shape, cases[i].published, cases[i].most);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_once),   cmocka_unit_test(every_specialisation),
        cmocka_unit_test(random_shapes), cmocka_unit_test(more_cycles),
        cmocka_unit_test(large),         cmocka_unit_test(limits),
        cmocka_unit_test(specs_compare), cmocka_unit_test(published),
    };
    return cmocka_run_group_tests_name("kernel.reduce", tests, NULL, NULL);
}
