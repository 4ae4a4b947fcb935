/* Sums: values, cycles, limits. */
#include "num/f16.h"
#include "rig.h"

enum { OUTPUT, LEFT, RIGHT };

static KernelSpec add(KernelAddForm form, KernelAddApart apart, uint32_t rows, uint32_t columns) {
    return (KernelSpec){.family = KERNEL_ADD,
                        .add = {.form = form, .apart = apart, .rows = rows, .columns = columns}};
}

static void check_values(const KernelSpec *spec, Random *random) {
    KernelInterface interface;
    kernel_interface(spec, &interface);
    Rig rig;
    RigCall call;
    rig_start(&rig, spec, random, &call);
    for (uint32_t j = LEFT; j <= RIGHT; j++)
        if (interface.operands[OUTPUT].same >> j & 1 && random_below(random, 3) == 0)
            call.address[OUTPUT] = call.address[j];
    bool any = random_below(random, 3) == 0;
    for (uint32_t j = LEFT; j <= RIGHT; j++)
        for (uint32_t i = 0; i < interface.operands[j].bytes; i += 2) {
            uint64_t bits = random_next(random);
            F16 half = any ? (F16)bits : (F16)((bits & 0x83FF) | (9 + (bits >> 16) % 10) << 10);
            memcpy(rig_at(&rig, call.address[j] + i), &half, sizeof half);
        }
    rig_check_values(&rig, spec, &call);
    rig_free(&rig);
}

static void check(const KernelSpec *spec, Random *random) {
    check_values(spec, random);
    rig_check_cycles(spec, random);
}

static void plain(void **state) {
    (void)state;
    Random random = random_seed(1);
    for (uint32_t quads = 1; quads < 40; quads++)
        for (int apart = 0; apart < 3; apart++) {
            KernelSpec spec = add(KERNEL_ADD_PLAIN, (KernelAddApart)apart, 1, 4 * quads);
            if (!rig_skips(&random))
                check(&spec, &random);
        }
}

static void repeated(void **state) {
    (void)state;
    Random random = random_seed(2);
    static const uint8_t rows[] = {1, 2, 3, 5, 6, 7, 30};
    static const uint8_t quads[] = {1, 2, 5, 6, 7, 12, 13, 40};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (size_t j = 0; j < COUNT_OF(quads); j++)
            for (int apart = 0; apart < 3; apart++) {
                KernelSpec spec =
                    add(KERNEL_ADD_REPEATED, (KernelAddApart)apart, rows[i], 4u * quads[j]);
                if (!rig_skips(&random))
                    check(&spec, &random);
            }
}

static void panels(void **state) {
    (void)state;
    Random random = random_seed(3);
    static const uint8_t rows[] = {1, 2, 3, 4, 5, 6, 7, 12, 25};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (uint32_t count = 1; count <= 3; count++)
            for (int form = KERNEL_ADD_COLUMNS; form <= KERNEL_ADD_ROWS; form++) {
                KernelSpec spec = add((KernelAddForm)form, KERNEL_ADD_ANYHOW, rows[i], 16 * count);
                if (!rig_skips(&random))
                    check(&spec, &random);
            }
}

static KernelSpec random_spec(Random *random, unsigned kind) {
    KernelAddForm form = (KernelAddForm)kind;
    bool panels = form == KERNEL_ADD_COLUMNS || form == KERNEL_ADD_ROWS;
    uint32_t rows = 1 + (uint32_t)random_below(random, random_below(random, 2) ? 8 : 150);
    uint32_t columns = (panels ? 16 : 4) * (1 + (uint32_t)random_below(random, panels ? 5 : 60));
    return add(form, panels ? KERNEL_ADD_ANYHOW : (KernelAddApart)random_below(random, 3), rows,
               columns);
}

static void random_shapes(void **state) {
    (void)state;
    rig_check_fresh(random_spec, 4, check);
}

static void more_cycles(void **state) {
    (void)state;
    rig_check_fixed(random_spec, 4, 175);
}

static void large(void **state) {
    (void)state;
    Random random = random_seed(4);
    const KernelSpec specs[] = {add(KERNEL_ADD_PLAIN, KERNEL_ADD_ANYHOW, 1, 60000),
                                add(KERNEL_ADD_PLAIN, KERNEL_ADD_ALL_APART, 10, 4000),
                                add(KERNEL_ADD_REPEATED, KERNEL_ADD_INPUTS_APART, 4, 16000),
                                add(KERNEL_ADD_REPEATED, KERNEL_ADD_ANYHOW, 6000, 8),
                                add(KERNEL_ADD_COLUMNS, KERNEL_ADD_ANYHOW, 1, 48000),
                                add(KERNEL_ADD_ROWS, KERNEL_ADD_ANYHOW, 5000, 16)};
    for (size_t i = 0; i < COUNT_OF(specs); i++)
        check(&specs[i], &random);
}

static void limits(void **state) {
    (void)state;
    Diag diag;
    diag_init(&diag);
    const KernelSpec wrong[] = {add(KERNEL_ADD_PLAIN, KERNEL_ADD_ANYHOW, 0, 4),
                                add(KERNEL_ADD_PLAIN, KERNEL_ADD_ANYHOW, 1, 0),
                                add(KERNEL_ADD_PLAIN, KERNEL_ADD_ANYHOW, 1, 6),
                                add(KERNEL_ADD_PLAIN, KERNEL_ADD_ANYHOW, 1, 212996),
                                add(KERNEL_ADD_REPEATED, KERNEL_ADD_ANYHOW, 1u << 31, 1u << 31),
                                add(KERNEL_ADD_REPEATED, KERNEL_ADD_ANYHOW, 2, 106500),
                                add(KERNEL_ADD_COLUMNS, KERNEL_ADD_ANYHOW, 2, 24),
                                add(KERNEL_ADD_ROWS, KERNEL_ADD_INPUTS_APART, 2, 32),
                                add(KERNEL_ADD_ROWS, KERNEL_ADD_ANYHOW, 13313, 16)};
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_int_equal(kernel_check(&wrong[i], &diag), ERR_KERNEL_SHAPE);
    const KernelSpec right[] = {add(KERNEL_ADD_PLAIN, KERNEL_ADD_ANYHOW, 1, 212992),
                                add(KERNEL_ADD_ROWS, KERNEL_ADD_ANYHOW, 13312, 16)};
    for (size_t i = 0; i < COUNT_OF(right); i++)
        assert_int_equal(kernel_check(&right[i], &diag), STATUS_OK);
    diag_free(&diag);
}

static void specs_compare(void **state) {
    (void)state;
    const KernelSpec specs[] = {add(KERNEL_ADD_PLAIN, KERNEL_ADD_ANYHOW, 3, 96),
                                add(KERNEL_ADD_PLAIN, KERNEL_ADD_INPUTS_APART, 3, 96),
                                add(KERNEL_ADD_PLAIN, KERNEL_ADD_ALL_APART, 3, 96),
                                add(KERNEL_ADD_REPEATED, KERNEL_ADD_ANYHOW, 3, 96),
                                add(KERNEL_ADD_COLUMNS, KERNEL_ADD_ANYHOW, 3, 96),
                                add(KERNEL_ADD_ROWS, KERNEL_ADD_ANYHOW, 3, 96),
                                add(KERNEL_ADD_ROWS, KERNEL_ADD_ANYHOW, 4, 96),
                                add(KERNEL_ADD_ROWS, KERNEL_ADD_ANYHOW, 3, 80)};
    for (size_t i = 0; i < COUNT_OF(specs); i++)
        for (size_t j = 0; j < COUNT_OF(specs); j++) {
            char a[KERNEL_NAME_SIZE], b[KERNEL_NAME_SIZE];
            kernel_name(&specs[i], a);
            kernel_name(&specs[j], b);
            assert_int_equal(kernel_spec_equal(&specs[i], &specs[j]), i == j);
            assert_int_equal(strcmp(a, b) == 0, i == j);
        }
}

/* ipu-stack, elementwise kernels of 2026-09-09 (576 and the broadcast one) and 2026-09-13. */
static void published(void **state) {
    (void)state;
    Random random = random_seed(5);
    static const struct {
        KernelAdd add;
        uint32_t published, most;
        const char *shape;
    } cases[] = {
        {{KERNEL_ADD_PLAIN, KERNEL_ADD_ANYHOW, 1, 1152}, 1368, 1200, "add 1,152"},
        {{KERNEL_ADD_PLAIN, KERNEL_ADD_INPUTS_APART, 1, 1152},
         1368,
         840,
         "add 1,152, inputs apart"},
        {{KERNEL_ADD_PLAIN, KERNEL_ADD_ALL_APART, 1, 1152}, 1368, 600, "add 1,152, all apart"},
        {{KERNEL_ADD_PLAIN, KERNEL_ADD_INPUTS_APART, 1, 2152},
         2124,
         1400,
         "add 2,152, inputs apart"},
        {{KERNEL_ADD_PLAIN, KERNEL_ADD_ANYHOW, 1, 576}, 1068, 800, "add 576"},
        {{KERNEL_ADD_REPEATED, KERNEL_ADD_ANYHOW, 3, 1152}, 4416, 3200, "add 3,456 over 1,152"},
        {{KERNEL_ADD_REPEATED, KERNEL_ADD_INPUTS_APART, 3, 1152},
         4416,
         2200,
         "the same, inputs apart"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        KernelSpec spec = {.family = KERNEL_ADD, .add = cases[i].add};
        rig_compare(&spec, &random, cases[i].shape, cases[i].published, cases[i].most);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain),       cmocka_unit_test(repeated),
        cmocka_unit_test(panels),      cmocka_unit_test(random_shapes),
        cmocka_unit_test(more_cycles), cmocka_unit_test(large),
        cmocka_unit_test(limits),      cmocka_unit_test(specs_compare),
        cmocka_unit_test(published),
    };
    return cmocka_run_group_tests_name("kernel.add", tests, NULL, NULL);
}
