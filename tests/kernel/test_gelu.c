/* GELU: values, cycles, limits. */
#include "num/f16.h"
#include "rig.h"

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
                    if (!rig_skips(&random))
                        check(&spec, &random);
                }
}

static KernelSpec turned(KernelTurn turn, Kind kind, bool bias, uint32_t rows, uint32_t panels) {
    return (KernelSpec){.family = KERNEL_GELU,
                        .gelu = {.bias = bias ? KERNEL_BIAS_ROWS : KERNEL_BIAS_NONE,
                                 .turn = turn,
                                 .output = kind == F16_OUTPUT ? PRECISION_F16 : PRECISION_F8F143,
                                 .half = kind == F8_HALF,
                                 .rows = rows,
                                 .panels = panels}};
}

static void transposed(void **state) {
    (void)state;
    Random random = random_seed(2);
    for (uint32_t blocks = 1; blocks <= 5; blocks++)
        for (uint32_t panels = 1; panels <= 4; panels++)
            for (int turn = KERNEL_TURN_LEFT; turn <= KERNEL_TURN_RIGHT; turn++)
                for (unsigned variant = 0; variant < 4; variant++) {
                    KernelSpec spec = turned((KernelTurn)turn, variant & 1 ? F8_HALF : F16_OUTPUT,
                                             variant & 2, 16 * blocks, panels);
                    if (!rig_skips(&random))
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
                if (!rig_skips(&random))
                    check(&spec, &random);
            }
}

/* Every half, through the kernel. */
static void all_halves(void **state) {
    (void)state;
    Random random = random_seed(4);
    for (int kind = F16_OUTPUT; kind <= F8_HALF; kind++) {
        KernelSpec spec = gelu((Kind)kind, false, (UINT16_MAX + 1) / 16, 1);
        Rig rig;
        RigCall call;
        rig_start(&rig, &spec, &random, &call);
        for (uint32_t i = 0; i <= UINT16_MAX; i++) {
            F16 half = (F16)i;
            memcpy(rig_at(&rig, call.address[SOURCE] + 2 * i), &half, sizeof half);
        }
        call.scalar[0] = -4;
        rig_check_values(&rig, &spec, &call);
        rig_free(&rig);
    }
}

static KernelSpec random_spec(Random *random, unsigned kind) {
    uint32_t rows = 1 + (uint32_t)random_below(random, random_below(random, 3) ? 30 : 200);
    uint32_t panels = 1 + (uint32_t)random_below(random, 6);
    uint64_t bits = random_next(random);
    switch (kind) {
    case 0: return gelu((Kind)(bits % KINDS), bits & 8, rows, panels);
    case 1:
        return turned(bits & 1 ? KERNEL_TURN_LEFT : KERNEL_TURN_RIGHT,
                      bits & 4 ? F8_HALF : F16_OUTPUT, bits & 2, 16 * ((rows + 15) / 16), panels);
    default:
        return reduced(2 + (uint32_t)random_below(random, 12), bits & 1, bits & 2, bits & 4, rows,
                       panels);
    }
}

static void random_shapes(void **state) {
    (void)state;
    rig_check_fresh(random_spec, 3, check);
}

static void more_cycles(void **state) {
    (void)state;
    rig_check_fixed(random_spec, 3, 40);
}

/* The largest counts and steps. */
static void large(void **state) {
    (void)state;
    Random random = random_seed(5);
    const KernelSpec specs[] = {gelu(F16_OUTPUT, true, 2, 3000),
                                gelu(F8_FULL, true, 1, 4001),
                                gelu(F8_HALF, false, 6000, 1),
                                turned(KERNEL_TURN_LEFT, F8_HALF, true, 16, 300),
                                turned(KERNEL_TURN_RIGHT, F8_HALF, false, 6000, 1),
                                turned(KERNEL_TURN_LEFT, F16_OUTPUT, true, 16, 300),
                                turned(KERNEL_TURN_RIGHT, F16_OUTPUT, false, 6000, 1),
                                reduced(127, true, true, true, 3, 30),
                                reduced(3, false, true, false, 1, 2500)};
    for (size_t i = 0; i < COUNT_OF(specs); i++)
        check(&specs[i], &random);
}

static void limits(void **state) {
    (void)state;
    Diag diag;
    diag_init(&diag);
    KernelSpec lines = gelu(F16_OUTPUT, true, 6, 1),
               columns = turned(KERNEL_TURN_LEFT, F8_HALF, true, 16, 1);
    KernelSpec whole = turned(KERNEL_TURN_LEFT, F8_FULL, true, 16, 1);
    lines.gelu.bias = KERNEL_BIAS_ROWS;
    columns.gelu.bias = KERNEL_BIAS_COLUMNS;
    const KernelSpec wrong[] = {gelu(F16_OUTPUT, false, 0, 1),
                                gelu(F8_HALF, false, 1, 0),
                                gelu(F16_OUTPUT, false, 13313, 1),
                                gelu(F16_OUTPUT, true, 2, 6657),
                                gelu(F8_FULL, false, 1u << 31, 1u << 31),
                                gelu(F8_FULL, false, 1, 1u << 28),
                                lines,
                                columns,
                                whole,
                                turned(KERNEL_TURN_LEFT, F8_HALF, false, 8, 1),
                                turned(KERNEL_TURN_RIGHT, F8_HALF, true, 24, 2),
                                reduced(1, true, false, false, 4, 1),
                                reduced(128, true, false, false, 4, 1),
                                reduced(3, true, false, true, 6657, 1)};
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_int_equal(kernel_check(&wrong[i], &diag), ERR_KERNEL_SHAPE);
    KernelSpec single = gelu(F16_OUTPUT, false, 4, 1);
    single.gelu.output = PRECISION_F32;
    assert_int_equal(kernel_check(&single, &diag), ERR_KERNEL_PRECISION);
    const KernelSpec right[] = {gelu(F16_OUTPUT, false, 13312, 1), gelu(F8_HALF, true, 1, 13312),
                                turned(KERNEL_TURN_LEFT, F8_HALF, true, 16, 832),
                                reduced(3, false, true, true, 1, 6656)};
    for (size_t i = 0; i < COUNT_OF(right); i++)
        assert_int_equal(kernel_check(&right[i], &diag), STATUS_OK);
    diag_free(&diag);
}

static void specs_compare(void **state) {
    (void)state;
    const KernelSpec specs[] = {gelu(F16_OUTPUT, false, 4, 3),
                                gelu(F16_OUTPUT, true, 4, 3),
                                gelu(F8_HALF, false, 4, 3),
                                gelu(F8_FULL, false, 4, 3),
                                gelu(F8_FULL, false, 5, 3),
                                gelu(F8_FULL, false, 4, 2),
                                turned(KERNEL_TURN_LEFT, F8_HALF, false, 16, 3),
                                turned(KERNEL_TURN_RIGHT, F8_HALF, false, 16, 3),
                                turned(KERNEL_TURN_RIGHT, F8_HALF, true, 16, 3),
                                turned(KERNEL_TURN_RIGHT, F16_OUTPUT, true, 16, 3),
                                reduced(3, false, false, false, 4, 3),
                                reduced(4, false, false, false, 4, 3),
                                reduced(3, true, false, false, 4, 3),
                                reduced(3, false, true, false, 4, 3),
                                reduced(3, false, false, true, 4, 3)};
    for (size_t i = 0; i < COUNT_OF(specs); i++)
        for (size_t j = 0; j < COUNT_OF(specs); j++) {
            char a[KERNEL_NAME_SIZE], b[KERNEL_NAME_SIZE];
            kernel_name(&specs[i], a);
            kernel_name(&specs[j], b);
            assert_int_equal(kernel_spec_equal(&specs[i], &specs[j]), i == j);
            assert_int_equal(strcmp(a, b) == 0, i == j);
        }
}

/* ipu-stack, GELU with clamp of 2026-09-11, bias and GELU of 2026-09-13, FP8 output, and reduction
 * with epilogue. */
static void published(void **state) {
    (void)state;
    Random random = random_seed(6);
    static const struct {
        KernelSpec spec;
        uint32_t published, most;
        const char *shape;
    } cases[] = {
#define GELU(...) {.family = KERNEL_GELU, .gelu = {__VA_ARGS__}}
        {GELU(.output = PRECISION_F16, .rows = 138, .panels = 1), 10956, 4900, "GELU 2,208"},
        {GELU(.output = PRECISION_F16, .rows = 1, .panels = 1), 792, 400, "GELU 16"},
        {GELU(.bias = KERNEL_BIAS_COLUMNS, .output = PRECISION_F16, .rows = 138, .panels = 1), 8730,
         5400, "bias and GELU 2,208, one panel"},
        {GELU(.output = PRECISION_F8F143, .half = true, .rows = 72, .panels = 1), 6498, 2500,
         "GELU to F143 1,152"},
        {GELU(.turn = KERNEL_TURN_LEFT, .output = PRECISION_F8F143, .half = true, .rows = 144,
              .panels = 1),
         0, 7372, "GELU to F143, transposed, 2,304"},
        {GELU(.bias = KERNEL_BIAS_ROWS, .turn = KERNEL_TURN_LEFT, .output = PRECISION_F8F143,
              .half = true, .rows = 144, .panels = 1),
         0, 7372, "the same with bias"},
        {{.family = KERNEL_REDUCE_GELU,
          .reduce_gelu = {.parts = 6,
                          .wide = true,
                          .bias = KERNEL_BIAS_COLUMNS,
                          .output = PRECISION_F16,
                          .rows = 82,
                          .panels = 2}},
         17892,
         9900,
         "reduce 82x32 x 6, bias, GELU"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        rig_compare(&cases[i].spec, &random, cases[i].shape, cases[i].published, cases[i].most);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_specialisation),
        cmocka_unit_test(transposed),
        cmocka_unit_test(after_sums),
        cmocka_unit_test(all_halves),
        cmocka_unit_test(random_shapes),
        cmocka_unit_test(more_cycles),
        cmocka_unit_test(large),
        cmocka_unit_test(limits),
        cmocka_unit_test(specs_compare),
        cmocka_unit_test(published),
    };
    return cmocka_run_group_tests_name("kernel.gelu", tests, NULL, NULL);
}
