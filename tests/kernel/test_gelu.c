/* GELU: values, cycles, limits. */
#include "num/f16.h"
#include "rig.h"

#include <time.h>

enum { OUTPUT, SOURCE, BIAS };

typedef enum Kind { F16_OUTPUT, F8_HALF, F8_FULL, KINDS } Kind;

static KernelSpec gelu(Kind kind, bool bias, uint32_t rows, uint32_t panels) {
    return (KernelSpec){.family = KERNEL_GELU,
                        .gelu = {.bias = bias ? KERNEL_BIAS_COLUMNS : KERNEL_BIAS_NONE,
                                 .output = kind == F16_OUTPUT ? PRECISION_F16 : PRECISION_F8F143,
                                 .half = kind == F8_HALF,
                                 .rows = rows,
                                 .panels = panels}};
}

/* Mostly what a layer computes; at times any bits. */
static F16 random_half(Random *random, bool any) {
    uint64_t bits = random_next(random);
    return any ? (F16)bits : (F16)((bits & 0x83FF) | (9 + (bits >> 16) % 10) << 10);
}

static void check_values(const KernelSpec *spec, Random *random) {
    KernelInterface interface;
    kernel_interface(spec, &interface);
    Rig rig;
    RigCall call;
    rig_start(&rig, spec, random, &call);
    if (random_below(random, 2))
        rig_alias(spec, &call);
    bool any = random_below(random, 3) == 0;
    for (uint32_t j = SOURCE; j < interface.operand_count; j++)
        for (uint32_t i = 0; i < interface.operands[j].bytes; i += 2) {
            F16 half = random_half(random, any);
            memcpy(rig_at(&rig, call.address[j] + i), &half, sizeof half);
        }
    call.scalar[0] = any ? (int32_t)random_below(random, 63) - 31 : -5;
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
    static const uint8_t rows[] = {1, 2, 3, 4, 5, 6, 7, 12, 16, 25};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (uint32_t panels = 1; panels <= 3; panels++)
            for (unsigned kind = 0; kind < KINDS; kind++)
                for (int bias = 0; bias < 2; bias++) {
                    KernelSpec spec = gelu((Kind)kind, bias, rows[i], panels);
                    check(&spec, &random);
                }
}

static KernelSpec turned(KernelTurn turn, bool bias, uint32_t rows, uint32_t panels) {
    return (KernelSpec){.family = KERNEL_GELU,
                        .gelu = {.bias = bias ? KERNEL_BIAS_ROWS : KERNEL_BIAS_NONE,
                                 .turn = turn,
                                 .output = PRECISION_F8F143,
                                 .half = true,
                                 .rows = rows,
                                 .panels = panels}};
}

static void transposed(void **state) {
    (void)state;
    Random random = random_seed(2);
    for (uint32_t blocks = 1; blocks <= 7; blocks++)
        for (uint32_t panels = 1; panels <= 4; panels++)
            for (int turn = KERNEL_TURN_LEFT; turn <= KERNEL_TURN_RIGHT; turn++)
                for (int bias = 0; bias < 2; bias++) {
                    KernelSpec spec = turned((KernelTurn)turn, bias, 16 * blocks, panels);
                    check(&spec, &random);
                }
}

static KernelSpec reduced(uint32_t parts, bool wide, bool bias, bool f8, uint32_t rows,
                          uint32_t panels) {
    return (KernelSpec){.family = KERNEL_REDUCE_GELU,
                        .reduce_gelu = {.parts = parts,
                                        .wide = wide,
                                        .bias = bias ? KERNEL_BIAS_COLUMNS : KERNEL_BIAS_NONE,
                                        .output = f8 ? PRECISION_F8F143 : PRECISION_F16,
                                        .rows = rows,
                                        .panels = panels}};
}

static void after_sums(void **state) {
    (void)state;
    Random random = random_seed(3);
    static const uint8_t rows[] = {1, 2, 3, 4, 5, 6, 7, 20};
    static const uint8_t parts[] = {2, 3, 8};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (size_t j = 0; j < COUNT_OF(parts); j++)
            for (unsigned variant = 0; variant < 8; variant++) {
                KernelSpec spec = reduced(parts[j], variant & 1, variant & 2, variant & 4, rows[i],
                                          1 + (uint32_t)(i + j) % 3);
                check(&spec, &random);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_specialisation),
        cmocka_unit_test(transposed),
        cmocka_unit_test(after_sums),
    };
    return cmocka_run_group_tests_name("kernel.gelu", tests, NULL, NULL);
}
