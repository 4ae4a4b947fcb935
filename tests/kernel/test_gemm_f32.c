/* The F32 GEMM kernel: bits, cycles, limits. */
#include "rig.h"
#include "tensor/order.h"

enum { OUTPUT, LEFT, RIGHT };

/* variant: 1 accumulate, 2 wide weights. */
static KernelSpec product(uint32_t rows, uint32_t panels, uint32_t groups, unsigned variant) {
    return (KernelSpec){.family = KERNEL_GEMM,
                        .gemm = {.precision = PRECISION_F32,
                                 .accumulate = variant & 1,
                                 .wide_weights = variant & 2,
                                 .rows = rows,
                                 .panels = panels,
                                 .groups = groups}};
}

static float random_float(Random *random, bool any) {
    uint32_t bits = (uint32_t)random_next(random), exponent = 120 + bits % 16;
    if (!any)
        bits = (bits & 0x807FFFFF) | exponent << 23;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void check(const KernelSpec *spec, Random *random) {
    KernelInterface interface;
    kernel_interface(spec, &interface);
    Rig rig;
    RigCall call;
    rig_start(&rig, spec, random, &call);
    bool any = random_below(random, 4) == 0;
    if (any)
        rig.checks &= ~(unsigned)MACHINE_CHECK_NAN;
    for (uint32_t j = spec->gemm.accumulate ? OUTPUT : LEFT; j <= RIGHT; j++)
        for (uint32_t i = 0; i < interface.operands[j].bytes; i += 4) {
            float value = random_float(random, any);
            memcpy(rig_at(&rig, call.address[j] + i), &value, sizeof value);
        }
    rig_check_values(&rig, spec, &call);
    rig_free(&rig);
    rig_check_cycles(spec, random);
}

static void every_specialisation(void **state) {
    (void)state;
    static const uint16_t rows[] = {1, 2, 5, 6, 7, 11, 12, 13, 30, 50, 512, 513, 1100};
    Random random = random_seed(1);
    unsigned variant = 0;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (uint32_t panels = 1; panels <= 3; panels++)
            for (uint32_t groups = 1; groups <= 3; groups++) {
                KernelSpec spec = product(rows[i], panels, groups, variant++ % 4);
                if (kernel_check(&spec, NULL) == STATUS_OK)
                    check(&spec, &random);
            }
    for (uint32_t step = 0; step < 32; step++) { /* one panel, few rows, all variants */
        KernelSpec spec = product(1 + step / 4, 1, 1, step % 4);
        check(&spec, &random);
    }
}

/* The cycle formula at more shapes. */
static void cycles(void **state) {
    (void)state;
    Random random = random_seed(3);
    for (uint32_t rows = 1; rows <= 60; rows++)
        for (uint32_t i = 0; i < 2; i++) {
            KernelSpec spec =
                product(rows, 1 + (rows + i) % 4, 1 + (rows / 4 + i) % 3, (rows / 3 + i) % 4);
            rig_check_cycles(&spec, &random);
        }
}

static KernelSpec random_spec(Random *random, unsigned wide) {
    uint32_t rows = 1 + (uint32_t)random_below(random, random_below(random, 4) ? 40 : 300);
    return product(rows, 1 + (uint32_t)random_below(random, 5),
                   1 + (uint32_t)random_below(random, 4),
                   2 * wide + (unsigned)random_below(random, 2));
}

static void random_shapes(void **state) {
    (void)state;
    rig_check_fresh(random_spec, 2, check);
}

/* The reference against plain loops over logical indices, where every sum is exact. */
static void reference_multiplies(void **state) {
    (void)state;
    enum { ROWS = 5, PANELS = 3, GROUPS = 2, K = 8 * PANELS, N = 16 * GROUPS };
    static float left[ROWS * K], right[K * N], output[ROWS * N], a[ROWS][K], b[K][N];
    const Precision f32 = {.kind = PRECISION_F32};
    Layout layouts[3];
    assert_true(layout_make(&layouts[OUTPUT], (Order){.kind = ORDER_OUTPUT}, f32, 2,
                            (uint32_t[]){ROWS, N}));
    assert_true(
        layout_make(&layouts[LEFT], (Order){.kind = ORDER_LEFT}, f32, 2, (uint32_t[]){ROWS, K}));
    assert_true(
        layout_make(&layouts[RIGHT], (Order){.kind = ORDER_RIGHT}, f32, 2, (uint32_t[]){K, N}));
    Random random = random_seed(2);
    for (uint32_t k = 0; k < K; k++) {
        for (uint32_t r = 0; r < ROWS; r++) {
            a[r][k] = (float)(int)random_below(&random, 9) - 4;
            left[layout_offset(&layouts[LEFT], (uint32_t[]){r, k})] = a[r][k];
        }
        for (uint32_t n = 0; n < N; n++) {
            b[k][n] = (float)(int)random_below(&random, 9) - 4;
            right[layout_offset(&layouts[RIGHT], (uint32_t[]){k, n})] = b[k][n];
        }
    }
    KernelSpec spec = product(ROWS, PANELS, GROUPS, 0);
    void *operands[3] = {output, left, right};
    kernel_reference(&spec, operands, NULL);
    for (uint32_t r = 0; r < ROWS; r++)
        for (uint32_t n = 0; n < N; n++) {
            float sum = 0;
            for (uint32_t k = 0; k < K; k++)
                sum += a[r][k] * b[k][n];
            float got = output[layout_offset(&layouts[OUTPUT], (uint32_t[]){r, n})];
            assert_true(got == sum);
        }
}

static void limits(void **state) {
    (void)state;
    Diag diag;
    diag_init(&diag);
    KernelSpec spec = product(6656, 1, 1, 0);
    assert_int_equal(kernel_check(&spec, &diag), STATUS_OK);
    const KernelSpec wrong[] = {product(6657, 1, 1, 0), product(0, 1, 1, 0),
                                product(1, 0, 1, 0),    product(1, 1, 0, 0),
                                product(1, 833, 1, 0),  product(1u << 30, 1u << 30, 1, 0)};
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_int_equal(kernel_check(&wrong[i], &diag), ERR_KERNEL_SHAPE);
    spec.gemm.half_left = true;
    assert_int_equal(kernel_check(&spec, &diag), ERR_KERNEL_SHAPE);
    diag_free(&diag);
}

static void specs_compare(void **state) {
    (void)state;
    const KernelSpec specs[] = {product(3, 4, 5, 0), product(3, 4, 5, 1), product(3, 4, 5, 2),
                                product(4, 4, 5, 0), product(3, 5, 5, 0), product(3, 4, 4, 0)};
    for (size_t i = 0; i < COUNT_OF(specs); i++)
        for (size_t j = 0; j < COUNT_OF(specs); j++) {
            char a[KERNEL_NAME_SIZE], b[KERNEL_NAME_SIZE];
            bool same = strcmp(kernel_name(&specs[i], a), kernel_name(&specs[j], b)) == 0;
            assert_int_equal(kernel_spec_equal(&specs[i], &specs[j]), i == j);
            assert_int_equal(same, i == j);
        }
    KernelSpec half = rig_gemm(3, 4, 5, 1);
    assert_false(kernel_spec_equal(&specs[0], &half));
}

/* What one more panel costs beyond the AMP instructions themselves. */
static void panel_overhead(void **state) {
    (void)state;
    for (uint32_t rows = 48; rows < 54; rows++) {
        KernelSpec few = product(rows, 4, 1, 0), more = product(rows, 16, 1, 0);
        uint64_t twelve = kernel_cycles(&more, 0) - kernel_cycles(&few, 0);
        double overhead = (double)twelve / 12 - 48 * ((rows + 5) / 6);
        print_message("rows mod 6 = %" PRIu32 ": %.2f cycles a panel\n", rows % 6, overhead);
        assert_true(overhead <= 260);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_multiplies),
        cmocka_unit_test(every_specialisation),
        cmocka_unit_test(cycles),
        cmocka_unit_test(random_shapes),
        cmocka_unit_test(limits),
        cmocka_unit_test(specs_compare),
        cmocka_unit_test(panel_overhead),
    };
    return cmocka_run_group_tests_name("kernel.gemm_f32", tests, NULL, NULL);
}
