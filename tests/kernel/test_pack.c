/* Kernels between row-major and packed orders: bits, cycles, limits. */
#include "rig.h"
#include "tensor/order.h"

enum { OUTPUT, SOURCE, ORDERS = 4 };

/* variant: 1 F143, 2 half panels of it, 4 unpack, 8 fast. */
static KernelSpec packing(unsigned order, unsigned variant, uint32_t rows, uint32_t columns,
                          uint32_t more, uint32_t groups) {
    bool f8 = variant & 1;
    if (order < PACK_TRANSPOSED_LEFT) { /* rows of whole words, one matrix */
        groups = 1;
        columns *= f8 ? 2 : 1;
        more *= f8 ? 2 : 1;
    }
    return (KernelSpec){.family = KERNEL_PACK,
                        .pack = {.order = (KernelPackOrder)order,
                                 .precision = f8 ? PRECISION_F8F143 : PRECISION_F16,
                                 .half = f8 && variant & 2,
                                 .unpack = variant & 4,
                                 .fast = variant & 8,
                                 .rows = rows,
                                 .columns = columns,
                                 .pitch = columns + more,
                                 .groups = groups}};
}

static void check_values(const KernelSpec *spec, Random *random) {
    KernelInterface interface;
    kernel_interface(spec, &interface);
    Rig rig;
    RigCall call;
    rig_start(&rig, spec, random, &call);
    for (uint32_t i = 0; i < interface.operands[SOURCE].bytes; i++)
        *rig_at(&rig, call.address[SOURCE] + i) = (uint8_t)random_next(random);
    rig_check_values(&rig, spec, &call);
    rig_free(&rig);
}

static void check(const KernelSpec *spec, Random *random) {
    check_values(spec, random);
    rig_check_cycles(spec, random);
}

/* Every residue of rows and of columns in each variant, up to a full line of both. */
static void up_to_a_line(void **state) {
    (void)state;
    Random random = random_seed(3);
    for (unsigned order = 0; order < ORDERS; order++)
        for (unsigned variant = 0; variant < 16; variant++)
            for (uint32_t i = 0; i < (order < PACK_TRANSPOSED_LEFT ? 16 : 32); i++) {
                if ((variant & 3) == 2) /* no half panels of F16 */
                    continue;
                KernelSpec spec = packing(order, variant, 1 + i, 4 * (1 + (i + i / 8) % 8), 0, 1);
                if (!rig_skips(&random))
                    check_values(&spec, &random);
            }
}

/* Residues behind full lines. */
static void every_tail(void **state) {
    (void)state;
    Random random = random_seed(1);
    unsigned step = 0;
    for (uint32_t rows = 1; rows <= 100; rows++)
        for (unsigned i = 0; i < 3; i++, step++) {
            unsigned order = step % ORDERS, variant = (unsigned)random_below(&random, 16);
            uint32_t columns = 4 * (1 + (uint32_t)random_below(&random, 12));
            KernelSpec spec = packing(order, variant, rows, columns, 4 * (step % 3), 1 + step % 2);
            check(&spec, &random);
        }
}

static KernelSpec random_spec(Random *random, unsigned order) {
    return packing(order, (unsigned)random_below(random, 16),
                   1 + (uint32_t)random_below(random, 200),
                   4 * (1 + (uint32_t)random_below(random, 40)),
                   4 * (uint32_t)random_below(random, random_below(random, 4) ? 6 : 800),
                   1 + (uint32_t)random_below(random, 3));
}

static void random_shapes(void **state) {
    (void)state;
    rig_check_fresh(random_spec, ORDERS, check);
}

static void more_cycles(void **state) {
    (void)state;
    rig_check_fixed(random_spec, ORDERS, 125);
}

static void limits(void **state) {
    (void)state;
    Diag diag;
    diag_init(&diag);
    const KernelSpec wrong[] = {packing(2, 0, 0, 4, 0, 1),      packing(2, 0, 4, 0, 0, 1),
                                packing(2, 0, 4, 4, 0, 0),      packing(2, 0, 4, 6, 2, 1),
                                packing(2, 0, 4, 4, 2, 1),      packing(2, 0, 4, 4, 0, 4097),
                                packing(2, 0, 10000, 64, 0, 1), packing(3, 0, 13313, 4, 0, 1),
                                packing(0, 0, 4, 6, 2, 1),      packing(0, 0, 13313, 4, 0, 1)};
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_int_equal(kernel_check(&wrong[i], &diag), ERR_KERNEL_SHAPE);
    KernelSpec spec = packing(1, 0, 64, 64, 0, 1);
    spec.pack.groups = 2;
    assert_int_equal(kernel_check(&spec, &diag), ERR_KERNEL_SHAPE);
    spec = packing(0, 1, 64, 64, 0, 1);
    spec.pack.columns = 60;
    assert_int_equal(kernel_check(&spec, &diag), ERR_KERNEL_SHAPE);
    spec = packing(0, 0, 64, 64, 0, 1);
    assert_int_equal(kernel_check(&spec, &diag), STATUS_OK);
    spec.pack.half = true;
    assert_int_equal(kernel_check(&spec, &diag), ERR_KERNEL_SHAPE);
    spec = packing(0, 0, 64, 64, 0, 1);
    spec.pack.pitch = 60;
    assert_int_equal(kernel_check(&spec, &diag), ERR_KERNEL_SHAPE);
    spec = packing(0, 0, 64, 64, 0, 1);
    spec.pack.precision = PRECISION_F32;
    assert_int_equal(kernel_check(&spec, &diag), ERR_KERNEL_PRECISION);
    diag_free(&diag);
}

static void specs_compare(void **state) {
    (void)state;
    const KernelSpec specs[] = {
        packing(0, 0, 64, 64, 0, 1), packing(1, 0, 64, 64, 0, 1), packing(0, 1, 64, 64, 0, 1),
        packing(0, 3, 64, 64, 0, 1), packing(0, 4, 64, 64, 0, 1), packing(0, 8, 64, 64, 0, 1),
        packing(0, 0, 65, 64, 0, 1), packing(0, 0, 64, 60, 4, 1), packing(0, 0, 64, 64, 4, 1),
        packing(2, 0, 64, 64, 0, 1), packing(2, 0, 64, 64, 0, 2), packing(3, 0, 64, 64, 0, 2)};
    for (size_t i = 0; i < COUNT_OF(specs); i++)
        for (size_t j = 0; j < COUNT_OF(specs); j++) {
            char a[KERNEL_NAME_SIZE], b[KERNEL_NAME_SIZE];
            bool same = strcmp(kernel_name(&specs[i], a), kernel_name(&specs[j], b)) == 0;
            assert_int_equal(kernel_spec_equal(&specs[i], &specs[j]), i == j);
            assert_int_equal(same, i == j);
        }
}

/* ipu-stack, rearranging kernels of 2026-09. */
static void published(void **state) {
    (void)state;
    Random random = random_seed(2);
    const struct {
        const char *shape;
        KernelSpec spec;
        uint64_t published, most;
    } cases[] = {
        {"row-major 64 x 80 to block-major", packing(PACK_RIGHT, 8, 64, 80, 0, 1), 25140, 8000},
        {"the same, plain", packing(PACK_RIGHT, 0, 64, 80, 0, 1), 25140, 8000},
        {"the same, F143", packing(PACK_RIGHT, 1, 64, 80, 0, 1), 0, 8000},
        {"row-major 64 x 16 to block-major", packing(PACK_RIGHT, 8, 64, 16, 0, 1), 5556, 1000},
        {"2 x 64 x 16 to block-major", packing(PACK_RIGHT, 8, 64, 16, 0, 2), 4260, 1500},
        {"row-major 8 x 72 to left", packing(PACK_LEFT, 0, 8, 72, 0, 1), 2364, 1200},
        {"row-major 64 x 16 to transposed-right", packing(PACK_TRANSPOSED_RIGHT, 0, 64, 16, 0, 1),
         1500, 1500},
        {"row-major 64 x 80 to left", packing(PACK_LEFT, 8, 64, 80, 0, 1), 0, 2500},
        {"left to row-major 64 x 80", packing(PACK_LEFT, 12, 64, 80, 0, 1), 0, 2500},
        {"block-major to row-major 64 x 80", packing(PACK_RIGHT, 12, 64, 80, 0, 1), 0, 8000},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        rig_compare(&cases[i].spec, &random, cases[i].shape, cases[i].published, cases[i].most);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(up_to_a_line),  cmocka_unit_test(every_tail),
        cmocka_unit_test(random_shapes), cmocka_unit_test(more_cycles),
        cmocka_unit_test(limits),        cmocka_unit_test(specs_compare),
        cmocka_unit_test(published),
    };
    return cmocka_run_group_tests_name("kernel.pack", tests, NULL, NULL);
}
