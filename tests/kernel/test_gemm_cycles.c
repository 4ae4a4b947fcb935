/* The GEMM kernel's cycle formula against the simulator, and its cycles against published ones. */
#include "rig.h"

#include <time.h>

static KernelSpec gemm(uint32_t rows, uint32_t panels, uint32_t groups, unsigned variant) {
    return (KernelSpec){.family = KERNEL_GEMM,
                        .gemm = {.precision = variant & 1 ? PRECISION_F16 : PRECISION_F8F143,
                                 .accumulate = variant & 2,
                                 .wide_weights = variant & 4,
                                 .rows = rows,
                                 .panels = panels,
                                 .groups = groups}};
}

/* Output, left, right far apart; small shapes only. */
static RigCall placed(const KernelSpec *spec, uint32_t delay) {
    RigCall call = {.delay = delay, .address = {0xC0000, 0x5C000, 0x80000}};
    KernelInterface interface;
    kernel_interface(spec, &interface);
    assert_true(interface.operands[0].bytes <= CHIP_TILE_MEM_END - 0xC0000);
    assert_true(interface.operands[1].bytes <= 0x80000 - 0x5C000);
    assert_true(interface.operands[2].bytes <= 0xC0000 - 0x80000);
    return call;
}

/* Six calls in one program, delayed so that, if the formula holds, each starts at another phase. */
static void check_cycles(const KernelSpec *spec) {
    KernelInterface interface;
    kernel_interface(spec, &interface);
    RigCall calls[CHIP_WORKER_SLOTS];
    uint64_t lead = 1 + interface.operand_count + interface.scalar_count + RIG_CALL_LEAD,
             now = lead;
    for (unsigned phase = 0; phase < CHIP_WORKER_SLOTS; phase++) {
        uint64_t delay = (phase + CHIP_WORKER_SLOTS - now % CHIP_WORKER_SLOTS) % CHIP_WORKER_SLOTS;
        calls[phase] = placed(spec, (uint32_t)delay);
        now += delay + kernel_cycles(spec, phase) + RIG_CALL_TRAIL + lead - 1;
    }
    Rig rig;
    rig_create(&rig);
    char *program = rig_program(spec, calls, CHIP_WORKER_SLOTS);
    rig_run(&rig, program, spec, false);
    mem_free(program);
    for (unsigned phase = 0; phase < CHIP_WORKER_SLOTS; phase++) {
        unsigned start;
        uint64_t cycles = rig_cycles(&rig, phase, &start), formula = kernel_cycles(spec, phase);
        char name[KERNEL_NAME_SIZE];
        if (start != phase || cycles != formula)
            fail_msg("%s, start %u (%u): %" PRIu64 " cycles, formula %" PRIu64,
                     kernel_name(spec, name), start, phase, cycles, formula);
    }
    rig_free(&rig);
}

static void fixed_shapes(void **state) {
    (void)state;
    static const uint16_t rows[] = {1,  2,  3,  4,  5,  6,   7,   8,   11,  12,
                                    13, 14, 17, 18, 19, 20,  21,  22,  23,  24,
                                    25, 29, 30, 50, 82, 122, 146, 154, 157, 244};
    static const struct {
        uint32_t panels, groups;
    } blocks[] = {{1, 1}, {1, 2}, {1, 3}, {1, 5}, {2, 1}, {3, 1},
                  {5, 1}, {2, 2}, {2, 3}, {3, 2}, {4, 3}};
    unsigned variant = 0;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (size_t j = 0; j < COUNT_OF(blocks); j++) {
            if (i % 3 != j % 3)
                continue;
            KernelSpec spec = gemm(rows[i], blocks[j].panels, blocks[j].groups, variant);
            check_cycles(&spec);
            variant = (variant + 3) % 8;
        }
    static const struct {
        uint32_t rows, panels, groups;
    } tall[] = {{769, 2, 2}, {773, 3, 2}, {774, 1, 3}, {1030, 2, 2}, {1032, 3, 1}, {1100, 1, 2}};
    for (size_t i = 0; i < COUNT_OF(tall); i++)
        for (unsigned accumulate = 0; accumulate < 2; accumulate++) {
            KernelSpec spec =
                gemm(tall[i].rows, tall[i].panels, tall[i].groups, 4 | accumulate << 1);
            check_cycles(&spec);
        }
}

static void random_shapes(void **state) {
    (void)state;
    uint64_t seed = (uint64_t)time(NULL);
    print_message("seed %" PRIu64 "\n", seed);
    Random random = random_seed(seed);
    for (int i = 0; i < (getenv("TW_TEST_ALL") ? 1000 : 20); i++) {
        uint32_t rows = 1 + (uint32_t)random_below(&random, random_below(&random, 4) ? 60 : 400);
        KernelSpec spec =
            gemm(rows, 1 + (uint32_t)random_below(&random, 8),
                 1 + (uint32_t)random_below(&random, 8), (unsigned)random_below(&random, 8));
        check_cycles(&spec);
    }
}

/* Cycles as published figures of ipu-stack were taken: from one sample of the cycle counter to the
 * next with the call in between. A sample is a launch whose worker 0 reads the counter in its 4th
 * bundle of 8 while the others take 4; two samples back to back are 90 cycles apart. */
static const char sampling[] = //
    ".macro SAMPLE place\n"
    "setzi $m0, sample\n"
    "setzi $m1, \\place\n"
    ".rept 12\nsetzi $m6, 0\n.endr\n"
    "runall $m0, $m1, 0\n"
    "sync 2\n"
    ".rept 8\nsetzi $m6, 0\n.endr\n"
    ".endm\n"
    ".worker\n"
    "sample: get $m0, $WSR\n"
    "and $m0, $m0, 7\n"
    "brnz $m0, other\n"
    "get $m1, $COUNT_L\n"
    "st32 $m1, $mvertex_base, $mzero, 0\n"
    "nop\n"
    "nop\n"
    "exitz $mzero\n"
    "other: exitz $mzero\n"
    ".supervisor\n"
    ".globl start\n"
    "start: setzi $m11, 0x586E0\n"
    "SAMPLE 0x58000\n"
    "SAMPLE 0x58004\n"
    "setzi $m2, 0xC0000\n"
    "setzi $m3, 0x5C000\n"
    "setzi $m4, 0x80000\n"
    "setzi $m5, 0\n"
    "call $m10, %s\n"
    "SAMPLE 0x58008\n"
    "sync 7\n";

static uint64_t sampled_cycles(const KernelSpec *spec) {
    Rig rig;
    rig_create(&rig);
    placed(spec, 0);
    char name[KERNEL_NAME_SIZE];
    char *program = mem_printf(sampling, kernel_name(spec, name));
    rig_run(&rig, program, spec, false);
    mem_free(program);
    assert_int_equal(rig_word(&rig, 0x58004) - rig_word(&rig, 0x58000), 90);
    uint64_t cycles = rig_word(&rig, 0x58008) - rig_word(&rig, 0x58004);
    rig_free(&rig);
    return cycles;
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
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint32_t km = cases[i].f16 ? 16 : 32;
        KernelSpec spec =
            gemm(cases[i].rows, cases[i].inner / km, cases[i].columns / 16, 4u | cases[i].f16);
        uint64_t cycles = sampled_cycles(&spec);
        print_message("%-8s %" PRIu32 "x%" PRIu32 "x%" PRIu32 ": published %" PRIu32
                      ", sampled %" PRIu64 " (%.1f %%), call %" PRIu64 "\n",
                      cases[i].name, cases[i].rows, cases[i].inner, cases[i].columns,
                      cases[i].published, cycles, 100.0 * ((double)cycles / cases[i].published - 1),
                      kernel_cycles(&spec, 0));
        assert_true(cycles <= cases[i].published);
    }
}

/* What one more panel costs beyond the AMP instructions themselves. */
static void panel_overhead(void **state) {
    (void)state;
    for (uint32_t rows = 96; rows < 102; rows++) {
        KernelSpec few = gemm(rows, 4, 1, 4), more = gemm(rows, 16, 1, 4);
        uint64_t twelve = kernel_cycles(&more, 0) - kernel_cycles(&few, 0);
        double overhead = (double)twelve / 12 - 24 * ((rows + 5) / 6);
        print_message("rows mod 6 = %" PRIu32 ": %.2f cycles a panel\n", rows % 6, overhead);
        assert_true(overhead <= 112);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixed_shapes),
        cmocka_unit_test(random_shapes),
        cmocka_unit_test(published_shapes),
        cmocka_unit_test(panel_overhead),
    };
    return cmocka_run_group_tests_name("kernel.gemm_cycles", tests, NULL, NULL);
}
