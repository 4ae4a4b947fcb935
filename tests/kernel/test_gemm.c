/* The GEMM kernel against its reference, bit by bit, in memory that is full of NaNs. */
#include "num/f16.h"
#include "num/f8.h"
#include "rig.h"
#include "tensor/order.h"

enum { OUTPUT, LEFT, RIGHT };

typedef enum Values {
    VALUES_PLAIN,  /* numbers of moderate size */
    VALUES_LARGE,  /* results overflow, partials lose bits */
    VALUES_ANY,    /* any bits: NaNs, infinities, subnormals */
    VALUES_SPARSE, /* mostly zeros of both signs, some NaNs */
    VALUES_COUNT
} Values;

static F16 random_half(Random *random, Values values) {
    uint64_t bits = random_next(random);
    switch (values) {
    case VALUES_ANY: return (F16)bits;
    case VALUES_SPARSE:
        return bits % 61 == 0 ? F16_QNAN : bits % 3 == 0 ? 0x3C00 : (F16)(bits & 0x8000);
    case VALUES_LARGE: return (F16)((bits & 0x83FF) | (16 + (bits >> 16) % 12) << 10);
    default: return (F16)((bits & 0x83FF) | (9 + (bits >> 16) % 8) << 10);
    }
}

static uint8_t random_code(Random *random, Values values) {
    uint64_t bits = random_next(random);
    if (values == VALUES_ANY)
        return (uint8_t)bits;
    if (values == VALUES_SPARSE)
        return bits % 61 == 0 ? F8_NAN : bits % 3 == 0 ? 0x40 : 0;
    uint8_t code = (uint8_t)bits;
    return code == F8_NAN ? 0 : code;
}

static void fill_halves(uint8_t *bytes, uint32_t size, Random *random, Values values) {
    for (uint32_t i = 0; i < size; i += 2) {
        F16 half = random_half(random, values);
        memcpy(bytes + i, &half, sizeof half);
    }
}

static void fill_operand(const KernelSpec *spec, uint8_t *bytes, uint32_t size, Random *random,
                         Values values) {
    if (spec->gemm.precision == PRECISION_F16) {
        fill_halves(bytes, size, random, values);
        return;
    }
    for (uint32_t i = 0; i < size; i++)
        bytes[i] = random_code(random, values);
}

/* What a whole-panel operand holds beside the missing half panel of the other one. */
static void clear_padding(const KernelSpec *spec, Rig *rig, const RigCall *call) {
    const KernelGemm *gemm = &spec->gemm;
    if (!gemm->odd)
        return;
    if (!gemm->half_left)
        for (uint32_t row = 0; row < gemm->rows; row++)
            memset(rig_at(rig,
                          call->address[LEFT] + 32 * (gemm->rows * (gemm->panels - 1) + row) + 16),
                   0, 16);
    if (!gemm->half_right)
        for (uint32_t group = 1; group <= gemm->groups; group++)
            for (uint32_t column = 1; column <= 16; column++)
                memset(rig_at(rig, call->address[RIGHT] + 512 * (gemm->panels * group - 1) +
                                       32 * column - 16),
                       0, 16);
}

/* Runs the kernel on random operands at random places; all of memory must be as expected. */
static void check_values(const KernelSpec *spec, Random *random, Values values) {
    KernelInterface interface;
    kernel_interface(spec, &interface);
    Rig rig;
    RigCall call;
    rig_start(&rig, spec, random, &call);
    for (uint32_t j = 1; j < interface.operand_count; j++)
        fill_operand(spec, rig_at(&rig, call.address[j]), interface.operands[j].bytes, random,
                     values);
    if (spec->gemm.accumulate)
        fill_halves(rig_at(&rig, call.address[OUTPUT]), interface.operands[OUTPUT].bytes, random,
                    values);
    if (interface.scalar_count)
        call.scalar[0] = values == VALUES_LARGE ? (int32_t)random_below(random, 12)
                                                : (int32_t)random_below(random, 64) - 32;
    clear_padding(spec, &rig, &call);
    if (values == VALUES_ANY || values == VALUES_SPARSE)
        rig.checks &= ~(unsigned)MACHINE_CHECK_NAN;
    rig_check_values(&rig, spec, &call);
    rig_free(&rig);
}

/* Every way in which the code is specialised: numbers of rows at each border of gemm.S, one to
 * three panels and groups, all variants. */
static void every_specialisation(void **state) {
    (void)state;
    static const uint16_t rows[] = {1, 2, 5, 6, 7, 11, 12, 13, 17, 18, 19, 23, 24, 25, 50};
    Random random = random_seed(1);
    unsigned variant = 0;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (uint32_t panels = 1; panels <= 3; panels++)
            for (uint32_t groups = 1; groups <= 3; groups++) {
                KernelSpec spec = rig_gemm(rows[i], panels, groups, variant);
                check_values(&spec, &random,
                             (Values)(variant % 3 == 0 ? VALUES_ANY : VALUES_PLAIN));
                variant = (variant + 3) % 8;
            }
}

/* One panel or half of one, few rows, every variant with and without packed output. */
static void smallest(void **state) {
    (void)state;
    static const uint8_t rows[] = {1, 5, 6, 7};
    Random random = random_seed(10);
    for (unsigned variant = 0; variant < 2 * RIG_GEMM_VARIANTS; variant++) {
        bool f8 = !(variant & 1), half = variant & 24;
        if ((!f8 && variant & 56) || (variant & 32 && !half) || (variant & 72) == 72)
            continue; /* the same as another one */
        for (size_t i = 0; i < COUNT_OF(rows); i++) {
            KernelSpec spec = rig_gemm(rows[i], 1, 1, variant);
            check_values(&spec, &random, i % 2 ? VALUES_PLAIN : VALUES_ANY);
        }
    }
}

/* The same for half panels: where strides change, up to the last row they reach; half a panel. */
static void every_half_specialisation(void **state) {
    (void)state;
    static const uint16_t rows[] = {1, 3, 5, 6, 7, 12, 13, 18, 19, 24, 25, 50, 152, 155, 255, 256};
    Random random = random_seed(6);
    unsigned step = 0;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (uint32_t panels = 1; panels <= 3; panels++)
            for (uint32_t groups = 1; groups <= 3; groups++) {
                unsigned halves = 8u * (1 + step % 3) + 32 * (step / 3 % 2);
                KernelSpec spec = rig_gemm(rows[i], panels, groups, halves | (step % 4) << 1);
                check_values(&spec, &random, (Values)(step % 2 ? VALUES_ANY : VALUES_PLAIN));
                step++;
            }
}

/* Packed output: every number of rows, as many groups as strides allow. */
static void every_packed(void **state) {
    (void)state;
    Random random = random_seed(8);
    for (uint32_t rows = 1; rows <= 160; rows++) {
        uint32_t groups = 1 + rows % 5, panels = 1 + rows % 3;
        unsigned variant = (unsigned)random_below(&random, 4) | (rows % 7 == 0 ? 16 : 0) | 64;
        KernelSpec spec = rig_gemm(rows, panels, groups, variant);
        while (kernel_check(&spec, NULL) != STATUS_OK && --spec.gemm.groups > 0) {
        }
        if (rows <= 128)
            assert_true(spec.gemm.groups > 0);
        if (spec.gemm.groups > 0)
            check_values(&spec, &random, rows % 2 ? VALUES_ANY : VALUES_PLAIN);
    }
}

/* Packed output is the plain one in ORDER_TRANSPOSED_RIGHT. */
static void packed_is_right(void **state) {
    (void)state;
    enum { ROWS = 48, GROUPS = 3, COLUMNS = 16 * GROUPS };
    static F16 left[2 * 16 * ROWS], right[2 * 16 * COLUMNS];
    static F16 plain[ROWS * COLUMNS], packed[ROWS * COLUMNS];
    Random random = random_seed(9);
    fill_halves((uint8_t *)left, sizeof left, &random, VALUES_PLAIN);
    fill_halves((uint8_t *)right, sizeof right, &random, VALUES_PLAIN);
    KernelSpec spec = rig_gemm(ROWS, 2, GROUPS, 1);
    kernel_reference(&spec, (void *[]){plain, left, right}, NULL);
    spec.gemm.packed = true;
    kernel_reference(&spec, (void *[]){packed, left, right}, NULL);
    Layout a, b;
    const Precision f16 = {.kind = PRECISION_F16};
    const uint32_t dims[] = {ROWS, COLUMNS};
    assert_true(layout_make(&a, (Order){.kind = ORDER_LEFT}, f16, 2, dims));
    assert_true(layout_make(&b, (Order){.kind = ORDER_TRANSPOSED_RIGHT}, f16, 2, dims));
    for (uint32_t index[2] = {0, 0}; index[0] < ROWS; index[0]++)
        for (index[1] = 0; index[1] < COLUMNS; index[1]++)
            assert_int_equal(plain[layout_offset(&a, index)], packed[layout_offset(&b, index)]);
}

/* One product of logical matrices in whole and in half panels, all operands placed by the closed
 * form of their orders: the same bits. */
static void halves_are_whole(void **state) {
    (void)state;
    Random random = random_seed(7);
    const Precision f8 = {.kind = PRECISION_F8F143};
    for (unsigned step = 0; step < 24; step++) {
        unsigned variant = 2 * (step % 4) + 8u * (1 + step % 3);
        uint32_t rows = 1 + (uint32_t)random_below(&random, 60);
        uint32_t halves = 1 + (uint32_t)random_below(&random, 7), inner = 16 * halves;
        uint32_t groups = 1 + (uint32_t)random_below(&random, 3), panels = (halves + 1) / 2;
        KernelSpec spec[2] = {rig_gemm(rows, panels, groups, variant & 7),
                              rig_gemm(rows, panels, groups, variant | (halves % 2 ? 32 : 0))};
        Rig rig[2];
        RigCall call[2];
        for (int i = 0; i < 2; i++)
            rig_start(&rig[i], &spec[i], &random, &call[i]);
        for (int operand = LEFT; operand <= RIGHT; operand++) {
            uint32_t outer = operand == LEFT ? rows : 16 * groups;
            for (int i = 0; i < 2; i++) {
                bool half = operand == LEFT ? spec[i].gemm.half_left : spec[i].gemm.half_right;
                Order order = {.kind = operand == LEFT ? ORDER_LEFT : ORDER_TRANSPOSED_RIGHT,
                               .half = half};
                uint32_t dims[2] = {outer, half ? inner : 32 * panels};
                Layout layout;
                assert_true(layout_make(&layout, order, f8, 2, dims));
                KernelInterface interface;
                kernel_interface(&spec[i], &interface);
                assert_int_equal(interface.operands[operand].bytes, layout_count(&layout));
                memset(rig_at(&rig[i], call[i].address[operand]), 0, layout_count(&layout));
                Random codes = random_seed(100 * step + (unsigned)operand);
                for (uint32_t n = 0; n < outer; n++)
                    for (uint32_t k = 0; k < inner; k++) {
                        uint32_t index[2] = {n, k};
                        *rig_at(&rig[i], call[i].address[operand] +
                                             (uint32_t)layout_offset(&layout, index)) =
                            random_code(&codes, VALUES_PLAIN);
                    }
            }
        }
        uint32_t bytes = 32 * rows * groups;
        if (spec[0].gemm.accumulate) {
            fill_halves(rig_at(&rig[0], call[0].address[OUTPUT]), bytes, &random, VALUES_PLAIN);
            memcpy(rig_at(&rig[1], call[1].address[OUTPUT]),
                   rig_at(&rig[0], call[0].address[OUTPUT]), bytes);
        }
        for (int i = 0; i < 2; i++)
            rig_check_values(&rig[i], &spec[i], &call[i]);
        assert_memory_equal(rig_at(&rig[0], call[0].address[OUTPUT]),
                            rig_at(&rig[1], call[1].address[OUTPUT]), bytes);
        for (int i = 0; i < 2; i++)
            rig_free(&rig[i]);
    }
}

/* Rows beyond the reach of a packed stride: to the next panel from 153 or 154 on, to the worker's
 * first row from 769 on; constants beyond 16 bits. */
static void tall(void **state) {
    (void)state;
    static const struct {
        uint32_t rows, panels, groups;
    } shapes[] = {{152, 2, 2},  {153, 2, 2},  {154, 2, 3},  {155, 1, 3},  {244, 5, 2},
                  {700, 3, 2},  {768, 2, 2},  {769, 3, 3},  {774, 2, 2},  {780, 1, 3},
                  {1023, 2, 2}, {1024, 3, 3}, {1030, 1, 2}, {4100, 1, 1}, {2000, 2, 2}};
    Random random = random_seed(2);
    for (size_t i = 0; i < COUNT_OF(shapes); i++)
        for (unsigned accumulate = 0; accumulate < 2; accumulate++) {
            unsigned variant = (unsigned)(i & 1) | accumulate << 1 | (i & 2 ? 4 : 0);
            KernelSpec spec = rig_gemm(shapes[i].rows, shapes[i].panels, shapes[i].groups, variant);
            check_values(&spec, &random, VALUES_PLAIN);
        }
}

static void check_any_values(const KernelSpec *spec, Random *random) {
    check_values(spec, random, (Values)random_below(random, VALUES_COUNT));
}

static void random_shapes(void **state) {
    (void)state;
    rig_check_fresh(rig_draw_gemm, RIG_GEMM_KINDS, check_any_values);
}

/* What an earlier call leaves in accumulators, coefficients and registers does not matter. */
static void after_nans(void **state) {
    (void)state;
    Random random = random_seed(3);
    for (unsigned variant = 0; variant < 8; variant++) {
        KernelSpec spec = rig_gemm(20 + variant, 2, 2, variant);
        Rig rig;
        rig_create(&rig);
        rig_fill_nan(&rig);
        /* The first call multiplies NaNs. */
        rig.checks &= ~(unsigned)MACHINE_CHECK_NAN;
        RigCall calls[2] = {{.address = {0xA0000, 0x60000, 0xC0000}},
                            {.address = {0x80000, 0x5C020, 0xB0040}}};
        KernelInterface interface;
        kernel_interface(&spec, &interface);
        for (uint32_t j = 0; j < 3; j++)
            if (j == OUTPUT)
                fill_halves(rig_at(&rig, calls[1].address[j]), interface.operands[j].bytes, &random,
                            VALUES_PLAIN);
            else
                fill_operand(&spec, rig_at(&rig, calls[1].address[j]), interface.operands[j].bytes,
                             &random, VALUES_PLAIN);
        uint8_t *expected = malloc(interface.operands[OUTPUT].bytes);
        assert_non_null(expected);
        memcpy(expected, rig_at(&rig, calls[1].address[OUTPUT]), interface.operands[OUTPUT].bytes);
        void *operands[3] = {expected, rig_at(&rig, calls[1].address[LEFT]),
                             rig_at(&rig, calls[1].address[RIGHT])};
        kernel_reference(&spec, operands, calls[1].scalar);
        char *program = rig_program(&spec, calls, 2, false);
        rig_run(&rig, program, &spec);
        mem_free(program);
        F16 nan;
        memcpy(&nan, rig_at(&rig, calls[0].address[OUTPUT]), sizeof nan);
        assert_int_equal(nan, F16_QNAN);
        assert_memory_equal(expected, rig_at(&rig, calls[1].address[OUTPUT]),
                            interface.operands[OUTPUT].bytes);
        free(expected);
        rig_free(&rig);
    }
}

/* The reference itself against plain loops over logical indices. */
static void reference_multiplies(void **state) {
    (void)state;
    enum { ROWS = 5, PANELS = 3, GROUPS = 2, KM = 16, K = PANELS * KM, N = 16 * GROUPS };
    static F16 left[ROWS * K], right[K * N], output[ROWS * N];
    Random random = random_seed(4);
    float a[ROWS][K], b[K][N];
    for (int k = 0; k < K; k++) {
        for (int r = 0; r < ROWS; r++) {
            a[r][k] = (float)(int)random_below(&random, 9) - 4;
            left[k / KM * ROWS * KM + r * KM + k % KM] = f32_to_f16(a[r][k], F16_OVERFLOW_INFINITE);
        }
        for (int n = 0; n < N; n++) {
            b[k][n] = (float)(int)random_below(&random, 9) - 4;
            int panel = n / 16 * PANELS + k / KM;
            right[panel * 16 * KM + n % 16 * KM + k % KM] =
                f32_to_f16(b[k][n], F16_OVERFLOW_INFINITE);
        }
    }
    KernelSpec spec = rig_gemm(ROWS, PANELS, GROUPS, 1);
    void *operands[3] = {output, left, right};
    kernel_reference(&spec, operands, NULL);
    for (int r = 0; r < ROWS; r++)
        for (int n = 0; n < N; n++) {
            float sum = 0;
            for (int k = 0; k < K; k++)
                sum += a[r][k] * b[k][n];
            F16 got = output[n / 16 * ROWS * 16 + r * 16 + n % 16];
            assert_int_equal(got, f32_to_f16(sum, F16_OVERFLOW_INFINITE));
        }
}

static void limits(void **state) {
    (void)state;
    Diag diag;
    diag_init(&diag);
    KernelSpec spec = rig_gemm(6143, 1, 1, 0);
    assert_int_equal(kernel_check(&spec, &diag), STATUS_OK);
    spec = rig_gemm(6144, 1, 1, 0);
    assert_int_equal(kernel_check(&spec, &diag), ERR_KERNEL_SHAPE);
    spec = rig_gemm(6143, 1, 3, 0);
    assert_int_equal(kernel_check(&spec, &diag), ERR_KERNEL_SHAPE);
    spec = rig_gemm(100, 200, 1, 0);
    assert_int_equal(kernel_check(&spec, &diag), ERR_KERNEL_SHAPE);
    spec = rig_gemm(1, 1300, 1, 0);
    assert_int_equal(kernel_check(&spec, &diag), ERR_KERNEL_SHAPE);
    spec = rig_gemm(1, 1000, 1, 0);
    assert_int_equal(kernel_check(&spec, &diag), STATUS_OK);
    spec = rig_gemm(1, 1000, 1, 4);
    assert_int_equal(kernel_check(&spec, &diag), ERR_KERNEL_SHAPE);
    spec = rig_gemm(1, 0, 1, 0);
    assert_int_equal(kernel_check(&spec, &diag), ERR_KERNEL_SHAPE);
    spec = rig_gemm(256, 1, 1, 8 + 32);
    assert_int_equal(kernel_check(&spec, &diag), STATUS_OK);
    spec.gemm.rows = 257;
    assert_int_equal(kernel_check(&spec, &diag), ERR_KERNEL_SHAPE);
    spec = rig_gemm(3, 1, 1, 16 + 32);
    assert_int_equal(kernel_check(&spec, &diag), STATUS_OK);
    spec.gemm.half_right = false;
    assert_int_equal(kernel_check(&spec, &diag), ERR_KERNEL_SHAPE);
    spec = rig_gemm(3, 1, 1, 1);
    spec.gemm.half_right = true;
    assert_int_equal(kernel_check(&spec, &diag), ERR_KERNEL_SHAPE);
    spec = rig_gemm(144, 1, 7, 64);
    assert_int_equal(kernel_check(&spec, &diag), STATUS_OK);
    spec = rig_gemm(96, 1, 8, 64);
    assert_int_equal(kernel_check(&spec, &diag), STATUS_OK);
    spec.gemm.groups = 9;
    assert_int_equal(kernel_check(&spec, &diag), ERR_KERNEL_SHAPE);
    spec = rig_gemm(161, 1, 1, 64);
    assert_int_equal(kernel_check(&spec, &diag), ERR_KERNEL_SHAPE);
    spec = rig_gemm(96, 1, 1, 8);
    spec.gemm.packed = true;
    assert_int_equal(kernel_check(&spec, &diag), ERR_KERNEL_SHAPE);
    assert_int_equal(diag.errors, 12);
    diag_free(&diag);
}

static void specs_compare(void **state) {
    (void)state;
    KernelSpec a = rig_gemm(3, 4, 5, 0);
    char name[KERNEL_NAME_SIZE], other[KERNEL_NAME_SIZE];
    assert_string_equal(kernel_name(&a, name), "gemm_f8_init_narrow_3x4x5");
    for (unsigned variant = 0; variant < RIG_GEMM_VARIANTS; variant++) {
        KernelSpec b = rig_gemm(3, 4, 5, variant);
        bool same = variant % 32 == 0 && variant < 64; /* half a panel less of nothing */
        assert_int_equal(kernel_spec_equal(&a, &b), same);
        assert_int_equal(strcmp(name, kernel_name(&b, other)) == 0, same);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_multiplies),
        cmocka_unit_test(limits),
        cmocka_unit_test(specs_compare),
        cmocka_unit_test(every_specialisation),
        cmocka_unit_test(smallest),
        cmocka_unit_test(every_half_specialisation),
        cmocka_unit_test(halves_are_whole),
        cmocka_unit_test(every_packed),
        cmocka_unit_test(packed_is_right),
        cmocka_unit_test(tall),
        cmocka_unit_test(random_shapes),
        cmocka_unit_test(after_nans),
    };
    return cmocka_run_group_tests_name("kernel.gemm", tests, NULL, NULL);
}
