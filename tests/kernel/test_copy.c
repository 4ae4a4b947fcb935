/* Copies and fill: values, cycles, limits. */
#include "rig.h"

static KernelSpec copy(uint32_t rows, uint32_t words, uint32_t source_stride,
                       uint32_t output_stride, bool paced) {
    return (KernelSpec){.family = KERNEL_COPY,
                        .copy = {.rows = rows,
                                 .words = words,
                                 .source_stride = source_stride,
                                 .output_stride = output_stride,
                                 .paced = paced}};
}

static KernelSpec fill(uint32_t words) {
    return (KernelSpec){.family = KERNEL_FILL, .fill = {.words = words}};
}

static void check_values(const KernelSpec *spec, Random *random) {
    KernelInterface interface;
    kernel_interface(spec, &interface);
    Rig rig;
    RigCall call;
    rig_start(&rig, spec, random, &call);
    for (uint32_t i = 0; interface.operand_count > 1 && i < interface.operands[1].bytes; i++)
        *rig_at(&rig, call.address[1] + i) = (uint8_t)random_next(random);
    for (uint32_t i = 0; i < interface.free_scalars; i++)
        call.scalar[i] = (int32_t)random_next(random);
    rig_check_values(&rig, spec, &call);
    rig_free(&rig);
}

static void check(const KernelSpec *spec, Random *random) {
    check_values(spec, random);
    rig_check_cycles(spec, random);
}

static void contiguous(void **state) {
    (void)state;
    Random random = random_seed(1);
    static const uint16_t words[] = {1, 2, 5, 6, 7, 8, 11, 12, 13, 18, 23, 24, 100, 1023};
    for (size_t i = 0; i < COUNT_OF(words); i++)
        for (int paced = 0; paced < 2; paced++) {
            KernelSpec spec = copy(1, words[i], 0, 0, paced);
            check(&spec, &random);
        }
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        KernelSpec spec = fill(words[i]);
        check(&spec, &random);
    }
}

/* Few long rows are split by words, many by rows; both with and without pacing. */
static void strided(void **state) {
    (void)state;
    Random random = random_seed(2);
    static const uint16_t rows[] = {2, 3, 5, 6, 7, 12, 13, 50};
    static const uint16_t words[] = {1, 2, 3, 5, 6, 7, 13, 60};
    unsigned seen = 0;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (size_t j = 0; j < COUNT_OF(words); j++)
            for (int paced = 0; paced < 2; paced++) {
                uint32_t source = 8 * (words[j] + (uint32_t)random_below(&random, 5));
                uint32_t output = 8 * (words[j] + (uint32_t)random_below(&random, 5));
                KernelSpec spec = copy(rows[i], words[j], source, output, paced);
                check(&spec, &random);
                char name[KERNEL_NAME_SIZE];
                const char *bodies[] = {"copy_rows", "copy_words", "copy_rows_paced",
                                        "copy_words_paced"};
                for (unsigned k = 0; k < COUNT_OF(bodies); k++)
                    seen |= (unsigned)(strcmp(kernel_entry(&spec, name), bodies[k]) == 0) << k;
            }
    assert_int_equal(seen, 15);
}

/* kind: fill, contiguous, strided. */
static KernelSpec random_spec(Random *random, unsigned kind) {
    uint32_t words = 1 + (uint32_t)random_below(random, random_below(random, 4) ? 30 : 1500);
    if (kind == 0)
        return fill(words);
    uint32_t rows = kind == 1 ? 1 : 2 + (uint32_t)random_below(random, 40);
    return copy(rows, words, 8 * (words + (uint32_t)random_below(random, 20)),
                8 * (words + (uint32_t)random_below(random, 20)), random_below(random, 2));
}

static void random_shapes(void **state) {
    (void)state;
    rig_check_fresh(random_spec, 3, check);
}

static void more_cycles(void **state) {
    (void)state;
    rig_check_fixed(random_spec, 3, 190);
}

/* The largest operands: counts and strides at their limits. */
static void large(void **state) {
    (void)state;
    Random random = random_seed(3);
    KernelSpec spec = fill(53000);
    check(&spec, &random);
    spec = copy(1, 17000, 0, 0, false);
    check(&spec, &random);
    spec = copy(2, 100, 8 * 17000, 8 * 16000, true);
    check(&spec, &random);
    spec = copy(6000, 2, 24, 16, false);
    check(&spec, &random);
}

static void limits(void **state) {
    (void)state;
    Diag diag;
    diag_init(&diag);
    const KernelSpec wrong[] = {copy(0, 1, 8, 8, false),
                                copy(1, 0, 8, 8, false),
                                copy(2, 2, 8, 16, false),
                                copy(2, 2, 16, 8, false),
                                copy(2, 2, 20, 16, false),
                                copy(2, 1, 425984, 8, false),
                                copy(1, 53249, 0, 0, false),
                                copy(1u << 31, 1u << 31, 8, 8, true),
                                fill(0),
                                fill(53249),
                                copy(2, 1u << 29, 0, 0, true)};
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_int_equal(kernel_check(&wrong[i], &diag), ERR_KERNEL_SHAPE);
    const KernelSpec right[] = {copy(1, 53248, 3, 5, true), copy(2, 1, 425976, 8, false),
                                fill(53248)};
    for (size_t i = 0; i < COUNT_OF(right); i++)
        assert_int_equal(kernel_check(&right[i], &diag), STATUS_OK);
    diag_free(&diag);
}

static void specs_compare(void **state) {
    (void)state;
    const KernelSpec specs[] = {copy(1, 9, 0, 0, false),
                                copy(1, 10, 0, 0, false),
                                copy(1, 9, 0, 0, true),
                                copy(2, 9, 80, 80, false),
                                copy(2, 9, 88, 80, false),
                                copy(2, 9, 80, 88, false),
                                copy(2, 10, 80, 80, false),
                                fill(9),
                                fill(10)};
    for (size_t i = 0; i < COUNT_OF(specs); i++)
        for (size_t j = 0; j < COUNT_OF(specs); j++) {
            char a[KERNEL_NAME_SIZE], b[KERNEL_NAME_SIZE];
            kernel_name(&specs[i], a);
            kernel_name(&specs[j], b);
            assert_int_equal(kernel_spec_equal(&specs[i], &specs[j]), i == j);
            assert_int_equal(strcmp(a, b) == 0, i == j);
        }
    KernelSpec one = copy(1, 9, 0, 0, false), same = copy(1, 9, 8, 16, false);
    assert_true(kernel_spec_equal(&one, &same));
}

/* ipu-stack: 8 KiB between disjoint elements 1,308; its formulas 246 + 12 * words / 6 and 234 + 6 *
 * words / 6. */
static void published(void **state) {
    (void)state;
    Random random = random_seed(4);
    KernelSpec spec = copy(1, 1024, 0, 0, true);
    rig_compare(&spec, &random, "copy 1,024 words, paced", 1308, 1300);
    spec = copy(1, 1024, 0, 0, false);
    rig_compare(&spec, &random, "copy 1,024 words", 2298, 2290);
    spec = fill(1024);
    rig_compare(&spec, &random, "fill 1,024 words", 1260, 1240);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contiguous),    cmocka_unit_test(strided),
        cmocka_unit_test(random_shapes), cmocka_unit_test(more_cycles),
        cmocka_unit_test(large),         cmocka_unit_test(limits),
        cmocka_unit_test(specs_compare), cmocka_unit_test(published),
    };
    return cmocka_run_group_tests_name("kernel.copy", tests, NULL, NULL);
}
