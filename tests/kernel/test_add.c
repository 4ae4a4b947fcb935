/* Sums: values, cycles, limits. */
#include "num/f16.h"
#include "rig.h"

#include <time.h>

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
                check(&spec, &random);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain),
        cmocka_unit_test(repeated),
        cmocka_unit_test(panels),
    };
    return cmocka_run_group_tests_name("kernel.add", tests, NULL, NULL);
}
