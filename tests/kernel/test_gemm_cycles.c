/* The GEMM kernel's cycle formula against the simulator, and its cycles against published ones. */
#include "rig.h"

static void fixed_shapes(void **state) {
    (void)state;
    static const uint16_t rows[] = {1,  2,  3,  4,  5,  6,   7,   8,   11,  12,
                                    13, 14, 17, 18, 19, 20,  21,  22,  23,  24,
                                    25, 29, 30, 50, 82, 122, 146, 154, 157, 244};
    static const struct {
        uint32_t panels, groups;
    } blocks[] = {{1, 1}, {1, 2}, {1, 3}, {1, 5}, {2, 1}, {3, 1},
                  {5, 1}, {2, 2}, {2, 3}, {3, 2}, {4, 3}};
    Random random = random_seed(1);
    unsigned variant = 0;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (size_t j = 0; j < COUNT_OF(blocks); j++) {
            if (i % 3 != j % 3)
                continue;
            KernelSpec spec = rig_gemm(rows[i], blocks[j].panels, blocks[j].groups, variant);
            rig_check_cycles(&spec, &random);
            variant = (variant + 3) % 8;
            unsigned halves = (unsigned)(8 * (1 + (i + j) % 3) + 32 * ((i + j) / 3 % 2));
            spec = rig_gemm(rows[i], blocks[j].panels, blocks[j].groups, halves | (variant & 6));
            rig_check_cycles(&spec, &random);
        }
    for (uint32_t packed = 1; packed <= 152; packed += 1 + packed / 30) {
        KernelSpec spec = rig_gemm(packed, 1 + packed % 4, 1 + packed % 3, 64 | (packed & 6));
        rig_check_cycles(&spec, &random);
    }
    static const struct {
        uint32_t rows, panels, groups;
    } tall[] = {{769, 2, 2}, {773, 3, 2}, {774, 1, 3}, {1030, 2, 2}, {1032, 3, 1}, {1100, 1, 2}};
    for (size_t i = 0; i < COUNT_OF(tall); i++)
        for (unsigned accumulate = 0; accumulate < 2; accumulate++) {
            KernelSpec spec =
                rig_gemm(tall[i].rows, tall[i].panels, tall[i].groups, 4 | accumulate << 1);
            rig_check_cycles(&spec, &random);
        }
}

static void random_shapes(void **state) {
    (void)state;
    rig_check_fresh(rig_draw_gemm, RIG_GEMM_KINDS, rig_check_cycles);
}

static void more_cycles(void **state) {
    (void)state;
    rig_check_fixed(rig_draw_gemm, RIG_GEMM_KINDS, 140);
}

/* Published: ipu-stack, GEMM kernels of 2026-09-13, interleaved weights, initialising. */
static void published_shapes(void **state) {
    (void)state;
    static const struct {
        const char *name;
        bool f16;
        uint32_t rows, inner, columns, published;
    } cases[] = {{"FP8 QKV", false, 244, 128, 64, 18576},   {"FP8 up", false, 82, 192, 160, 29508},
                 {"FP8 down", false, 122, 160, 128, 26232}, {"FP8 out", false, 146, 96, 48, 7122},
                 {"F16 QK", true, 81, 80, 80, 12402},       {"FP8 PV", false, 57, 128, 80, 8124}};
    Random random = random_seed(2);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint32_t km = cases[i].f16 ? 16 : 32;
        KernelSpec spec =
            rig_gemm(cases[i].rows, cases[i].inner / km, cases[i].columns / 16, 4u | cases[i].f16);
        uint64_t cycles = rig_sampled_cycles(&spec, &random);
        print_message("%-8s %" PRIu32 "x%" PRIu32 "x%" PRIu32 ": published %" PRIu32
                      ", sampled %" PRIu64 " (%.1f %%), call %" PRIu64 "\n",
                      cases[i].name, cases[i].rows, cases[i].inner, cases[i].columns,
                      cases[i].published, cycles, 100.0 * ((double)cycles / cases[i].published - 1),
                      kernel_cycles(&spec, 0));
        assert_true(cycles <= cases[i].published);
    }
}

/* Published: ipu-stack, the same kernels with packed output, standard weights but where it says so.
 */
static void published_packed(void **state) {
    (void)state;
    Random random = random_seed(3);
    static const struct {
        const char *shape;
        uint32_t rows, panels, groups;
        bool wide;
        uint64_t published, most;
    } cases[] = {{"F16 48x240x64 packed", 48, 15, 4, false, 35022, 18000},
                 {"F16 48x240x64 packed, interleaved", 48, 15, 4, true, 33102, 16000},
                 {"F16 96x64x64 packed", 96, 4, 4, false, 12108, 8100},
                 {"F16 128x64x64 packed", 128, 4, 4, false, 19944, 10500}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        KernelSpec spec =
            rig_gemm(cases[i].rows, cases[i].panels, cases[i].groups, 65 | (cases[i].wide ? 4 : 0));
        rig_compare(&spec, &random, cases[i].shape, cases[i].published, cases[i].most);
    }
}

/* What one more panel costs beyond the AMP instructions themselves. */
static void panel_overhead(void **state) {
    (void)state;
    for (uint32_t rows = 96; rows < 102; rows++) {
        KernelSpec few = rig_gemm(rows, 4, 1, 4), more = rig_gemm(rows, 16, 1, 4);
        uint64_t twelve = kernel_cycles(&more, 0) - kernel_cycles(&few, 0);
        double overhead = (double)twelve / 12 - 24 * ((rows + 5) / 6);
        print_message("rows mod 6 = %" PRIu32 ": %.2f cycles a panel\n", rows % 6, overhead);
        assert_true(overhead <= 112);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_shapes),     cmocka_unit_test(random_shapes),
        cmocka_unit_test(more_cycles),      cmocka_unit_test(published_shapes),
        cmocka_unit_test(published_packed), cmocka_unit_test(panel_overhead),
    };
    return cmocka_run_group_tests_name("kernel.gemm_cycles", tests, NULL, NULL);
}
