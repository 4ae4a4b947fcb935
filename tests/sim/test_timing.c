/* Cycles: the supervisor's costs one by one, the workers' slots, and the reference harness whose
 * samples reproduce the published call timings. */
#include "rig.h"

/* Supervisor -----------------------------------------------------------------------------------*/

/* Cycles that the supervisor spends on `text`, from the issue after one counter read to the issue
 * of the next; m8 = 0x60000, m9 = 0. */
static unsigned supervisor_cycles(const char *text) {
    char *program =
        mem_printf(".supervisor\n setzi $m8, 0x60000\n setzi $m9, 0\n setzi $m7, worker\n"
                   ".rept 8\n nop\n .endr\n"
                   "get $m0, $SCOUNT_L\n%s\n get $m1, $SCOUNT_L\n"
                   "sub $m0, $m1, $m0\n setzi $m2, 0x61000\n st32 $m0, $m2, $mzero, 0\n"
                   "sync 2\n sync 7\n"
                   ".worker\n worker:\n .rept 20\n nop\n .endr\n exitz $mzero\n",
                   text);
    Machine *machine = rig_load(program, 1);
    rig_run(machine);
    unsigned cycles = rig_word(machine, 0, 0x61000) - 1;
    machine_free(machine);
    mem_free(program);
    return cycles;
}

static void supervisor_costs(void **state) {
    (void)state;
    static const struct {
        const char *text;
        unsigned cycles;
    } cases[] = {
        {"", 0},
        {"nop", 1},
        {"add $m2, $m8, 1\n add $m3, $m8, 2\n add $m4, $m8, 3", 3},
        /* A result can be used 6 cycles after its instruction issued. */
        {"add $m2, $m8, 1\n add $m3, $m2, 1", 7},
        {"add $m2, $m8, 1\n nop\n nop\n add $m3, $m2, 1", 7},
        {"add $m2, $m8, 1\n add $m2, $m2, 1\n add $m2, $m2, 1", 13},
        {"ld32 $m2, $m8, $mzero, 0\n st32 $m2, $m8, $mzero, 1", 7},
        {"ld32step $m2, $mzero, $m8+=, 1\n ld32 $m3, $m8, $mzero, 0", 7},
        {"setzi $m2, 5\n st32 $m2, $m8, $mzero, 0\n st32 $m2, $m8, $mzero, 1", 8},
        {"setzi $mzero, 5\n add $m3, $mzero, 0", 2},
        /* Branches. */
        {"bri 1f\n nop\n 1:", 8},
        {"brz $m9, 1f\n nop\n 1:", 8},
        {"brnz $m9, 1f\n 1:", 1},
        {"call $m10, 1f\n 1:", 8},
        {"call $m10, 1f\n bri 2f\n 1: br $m10\n 2:", 24},
        {"setzi $m2, 3\n nop\n nop\n nop\n nop\n nop\n 1: brnzdec $m2, 1b", 6 + 3 * 8 + 1},
        /* Control registers and weights. */
        {"put $FP_ICTL, $m9\n put $FP_ISCL, $m9", 2},
        {"get $m2, $TILE_ID\n add $m2, $m2, 1", 7},
        {"put $CCCSLOAD, $m8\n ld64putcs 0", 7},
        {"put $CCCSLOAD, $m8\n nop\n nop\n nop\n nop\n nop\n ld64putcs 0\n ld64putcs 1\n ld64putcs "
         "2",
         9},
        {"setzi $m2, 0x80000\n put $CCCSLOAD, $m2\n .set i, 0\n .rept 32\n ld128putcs 2 * i\n "
         ".set i, i + 1\n .endr",
         6 + 6 + 32},
        {"sync 2", 1},
        {"sync 1", 1},
        /* One worker takes one slot in six. */
        {"run $m7, $mzero, 0\n .rept 60\n nop\n .endr", 73},
    };
    for (unsigned i = 0; i < COUNT_OF(cases); i++) {
        unsigned cycles = supervisor_cycles(cases[i].text);
        if (cycles != cases[i].cycles)
            fail_msg("%u cycles, not %u:\n%s", cycles, cases[i].cycles, cases[i].text);
    }
}

/* Workers
 * ----------------------------------------------------------------------------------------*/

/* Cycles between the counter reads around `text` in worker 0. */
static unsigned worker_cycles(const char *text) {
    char *program =
        mem_printf(".supervisor\n setzi $m7, worker\n run $m7, $mzero, 0\n sync 2\n sync 7\n"
                   ".worker\n .align 8\n worker:\n setzi $m8, 0x60000\n setzi $m9, 0\n"
                   "nop\n get $m0, $COUNT_L\n nop\n%s\n get $m1, $COUNT_L\n"
                   "sub $m0, $m1, $m0\n"
                   "st32 $m0, $m8, $mzero, 0\n exitz $mzero\n",
                   text);
    Machine *machine = rig_load(program, 1);
    rig_run(machine);
    unsigned cycles = rig_word(machine, 0, 0x60000) - 12;
    machine_free(machine);
    mem_free(program);
    return cycles;
}

static void worker_costs(void **state) {
    (void)state;
    static const struct {
        const char *text;
        unsigned bundles;
    } cases[] = {
        {"", 0},
        {"nop", 1},
        {"{nop; fnop}", 1},
        {"ld32 $m2, $m8, $mzero, 0\n add $m2, $m2, 1\n add $m2, $m2, 1", 3},
        {"bri 1f\n nop\n 1:", 1},
        {"setzi $m2, 5\n 1: brnzdec $m2, 1b", 7},
        {"rpt 10, 1\n {nop; fnop}\n {nop; fnop}", 21},
        {"rpt $m9, 1\n {nop; fnop}\n {nop; fnop}", 1},
        {"nop\n {rpt 3, 0; fnop}\n {nop; fnop}\n nop", 6},
        {"f16v2exp $a0, $a1", CHIP_SLOTS_F16V2EXP},
        {"f16v2tanh $a0, $a1", CHIP_SLOTS_F16V2TANH},
        {"f32exp $a0, $a1", CHIP_SLOTS_F32EXP},
        {"f32oox $a0, $a1", 3},
        {"f32oorx $a0, $a1", 3},
        {"{nop; f32div $a0, $a1, $a2}", 3},
        {"f32sqrt $a0, $a1", 5},
        {"f32ln $a0, $a1", 5},
        {"f32tanh $a0, $a1\n nop", 6},
        {"f16v2sigm $a0, $a1", 2},
        {"rpt 4, 0\n {nop; f32oox $a0, $a1}", 13},
    };
    for (unsigned i = 0; i < COUNT_OF(cases); i++) {
        /* Five words precede the text, so that the body of an rpt begins at a multiple of 8. */
        unsigned cycles = worker_cycles(cases[i].text);
        if (cycles != 6 * cases[i].bundles)
            fail_msg("%u cycles, not 6 * %u:\n%s", cycles, cases[i].bundles, cases[i].text);
    }
}

/* Worker k issues at cycles k modulo 6 only, the first at least 15 cycles after the launch, and no
 * supervisor instruction comes between a runall and the first end of a worker. */
static void launch(void **state) {
    (void)state;
    for (unsigned delay = 0; delay < 6; delay++) {
        char *text =
            mem_printf(".supervisor\n setzi $m7, worker\n setzi $m8, 0x60000\n"
                       ".rept 6 + %u\n nop\n .endr\n get $m0, $SCOUNT_L\n runall $m7, $m8, 1\n"
                       "get $m1, $SCOUNT_L\n sync 2\n get $m2, $SCOUNT_L\n"
                       "setzi $m3, 0x61000\n st32 $m0, $m3, $mzero, 0\n"
                       "st32 $m1, $m3, $mzero, 1\n st32 $m2, $m3, $mzero, 2\n sync 7\n"
                       ".worker\n worker:\n get $m0, $COUNT_L\n"
                       "st32 $m0, $mvertex_base, $mzero, 0\n exitz $mzero\n",
                       delay);
        Machine *machine = rig_load(text, 1);
        rig_run(machine);
        unsigned issue = rig_word(machine, 0, 0x61000) + 1, first = UINT32_MAX, last = 0;
        for (unsigned w = 0; w < 6; w++) {
            unsigned cycle = rig_word(machine, 0, 0x60000 + 4 * w);
            assert_int_equal(cycle % 6, w);
            first = MIN_OF(first, cycle);
            last = MAX_OF(last, cycle);
        }
        assert_int_equal(first, issue + 15);
        assert_int_equal(last, first + 5);
        /* Three bundles each: the first worker's exit frees its slot at its next turn. */
        assert_int_equal(rig_word(machine, 0, 0x61004), first + 12 + 6);
        assert_int_equal(rig_word(machine, 0, 0x61008), last + 12 + 6);
        machine_free(machine);
        mem_free(text);
    }
}

/* While workers that end early leave slots, the supervisor issues in just those. */
static void freed_slots(void **state) {
    (void)state;
    /* Workers 0, 2 and 4 end at once, the others after 40 more bundles. */
    const char *text =
        ".supervisor\n setzi $m7, worker\n runall $m7, $mzero, 0\n"
        "get $m0, $SCOUNT_L\n .rept 30\n nop\n .endr\n get $m1, $SCOUNT_L\n sync 2\n"
        "sub $m0, $m1, $m0\n setzi $m2, 0x60000\n st32 $m0, $m2, $mzero, 0\n sync 7\n"
        ".worker\n worker:\n get $m0, $WSR\n and $m0, $m0, 1\n brz $m0, 1f\n"
        ".rept 40\n nop\n .endr\n 1: exitz $mzero\n";
    Machine *machine = rig_load(text, 1);
    rig_run(machine);
    /* 31 instructions, 3 slots in 6. */
    assert_int_equal(rig_word(machine, 0, 0x60000), 62);
    machine_free(machine);
}

/* The reference harness
 * ----------------------------------------------------------------------------*/

static const char harness[] =
    ".macro cycles n\n .rept \\n\n nop\n .endr\n .endm\n"
    /* 14 cycles, in which the destination is put where worker 0 finds it; launch, join, 8 cycles.
     */
    ".macro sample\n st32 $m4, $m6, $mzero, 0\n add $m4, $m4, 4\n cycles 12\n"
    " runall $m5, $m6, 0\n sync 2\n cycles 8\n .endm\n"
    ".supervisor\n setzi $m4, 0x60000\n setzi $m5, sampler\n setzi $m6, 0x61000\n"
    "setzi $m11, 0x62000\n cycles 6\n";

/* Worker 0 reads the counter in the fourth of its eight bundles; the others end after four. */
static const char sampler[] =
    ".worker\n sampler:\n get $m0, $WSR\n and $m0, $m0, 7\n brnz $m0, 1f\n"
    "get $m1, $COUNT_L\n ld32 $m2, $mvertex_base, $mzero, 0\n"
    "st32 $m1, $m2, $mzero, 0\n nop\n 1: exitz $mzero\n";

/* Runs `steps`, which hold two samples, and returns the cycles between them. */
static unsigned sampled(const char *steps, const char *code) {
    char *text = mem_printf("%s%s sync 7\n%s%s", harness, steps, sampler, code);
    Machine *machine = rig_load(text, 1);
    rig_run(machine);
    unsigned difference = rig_word(machine, 0, 0x60004) - rig_word(machine, 0, 0x60000);
    machine_free(machine);
    mem_free(text);
    return difference;
}

/* A call with `arguments` words in its frame: 2 a + 22 cycles to the launch, 9 after the join. */
static char *call_step(unsigned arguments, const char *launches) {
    char set[256] = "", store[256] = "";
    size_t l = 0, s = 0;
    for (unsigned i = 0; i < arguments; i++) {
        l += (size_t)snprintf(set + l, sizeof set - l, "setzi $m%u, %u\n", 2 + (i & 1), i);
        s += (size_t)snprintf(store + s, sizeof store - s, "st32 $m15, $m11, $mzero, %u\n", i);
    }
    return mem_printf("sample\n %s call $m10, kernel\n sample\n bri done\n"
                      "kernel: add $m11, $m11, -64\n %s cycles 2\n setzi $m0, work\n %s"
                      "add $m11, $m11, 64\n br $m10\n done:\n",
                      set, store, launches);
}

static char *workers(unsigned bundles) {
    return mem_printf("work: .rept %u\n nop\n .endr\n exitz $mzero\n", bundles - 1);
}

static void back_to_back_samples(void **state) {
    (void)state;
    assert_int_equal(sampled("sample\n sample\n", ""), CHIP_SAMPLE_CYCLES);
    assert_int_equal(sampled("cycles 3\n sample\n sample\n", ""), 90);
}

/* T = 144 + 2 (a - 3) + 6 W, rounded to the nearest multiple of 6. */
static void single_launch(void **state) {
    (void)state;
    static const unsigned fixed[] = {0, 138, 144, 144, 144, 150, 150, 150};
    static const unsigned counts[] = {1, 2, 4, 10, 61, 305};
    for (unsigned a = 1; a <= 7; a++) {
        for (unsigned i = 0; i < COUNT_OF(counts); i++) {
            char *steps = call_step(a, "runall $m0, $m11, 0\n sync 2\n");
            char *code = workers(counts[i]);
            assert_int_equal(sampled(steps, code), fixed[a] + 6 * counts[i]);
            mem_free(steps);
            mem_free(code);
        }
    }
}

/* A second launch in the same call, 4 to 6 cycles after the join, adds 24 + 6 W. */
static void second_launch(void **state) {
    (void)state;
    for (unsigned between = 4; between <= 6; between++) {
        char *launches = mem_printf("runall $m0, $m11, 0\n sync 2\n cycles %u\n"
                                    "runall $m0, $m11, 0\n sync 2\n",
                                    between);
        char *steps = call_step(3, launches), *code = workers(20);
        assert_int_equal(sampled(steps, code), 144 + 6 * 20 + 24 + 6 * 20);
        mem_free(launches);
        mem_free(steps);
        mem_free(code);
    }
}

/* Published timings of isolated kernels (ipu-stack), their longest worker being a stream of
 * bundles: GELU revisions of 93, 61, 85 and 77 bundles a block of 16 values, reductions of 9 + 6 (p
 * - 1) and 11 + 2 (p - 1) bundles a group of 8. The prologue is what the published fixed part
 * leaves. */
static void published_calls(void **state) {
    (void)state;
    static const struct {
        unsigned cycles, fixed, bundles, rounds;
    } cases[] = {
        {13134, 300, 93, 23}, {8718, 300, 61, 23},  {12060, 330, 85, 23}, {7980, 330, 85, 15},
        {840, 330, 85, 1},    {10956, 330, 77, 23}, {7260, 330, 77, 15},  {792, 330, 77, 1},
        {360, 282, 13, 1},    {2700, 282, 13, 31},  {4974, 282, 17, 46},  {3444, 282, 17, 31},
        {3090, 282, 39, 12},  {18222, 282, 65, 46}, {7734, 282, 27, 46},  {6978, 282, 93, 12},
    };
    for (unsigned i = 0; i < COUNT_OF(cases); i++) {
        unsigned total = (cases[i].fixed - 144) / 6 + cases[i].bundles * cases[i].rounds;
        char *steps = call_step(3, "runall $m0, $m11, 0\n sync 2\n"), *code = workers(total);
        assert_int_equal(sampled(steps, code), cases[i].cycles);
        mem_free(steps);
        mem_free(code);
    }
}

/* The launch sequence of an exchange phase around an empty row, sampled before and after, lasts the
 * published mean of 262 to within the six cycles that a sample can resolve. */
static void empty_phase(void **state) {
    (void)state;
    unsigned cycles =
        sampled("setzi $m1, barrier_worker\n cycles 6\n sample\n"
                "setzi $m8, 0x70000\n put $INCOMING_BASE, $m8\n put $OUTGOING_BASE, $mzero\n"
                "call $m7, barrier\n setzi $m8, 1\n put $INCOMING_DCOUNT, $m8\n sync 3\n"
                "call $m10, row\n sample\n bri done\n"
                "barrier: setzi $m0, barrier_worker\n runall $m0, $mzero, 0\n sync 2\n br $m7\n"
                "row: br $m10\n done:\n",
                "barrier_worker: exitz $mzero\n");
    int difference = (int)cycles - CHIP_EXCHANGE_PHASE_OVERHEAD;
    assert_in_range(difference + 6, 1, 11);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(supervisor_costs),
        cmocka_unit_test(worker_costs),
        cmocka_unit_test(launch),
        cmocka_unit_test(freed_slots),
        cmocka_unit_test(back_to_back_samples),
        cmocka_unit_test(single_launch),
        cmocka_unit_test(second_launch),
        cmocka_unit_test(published_calls),
        cmocka_unit_test(empty_phase),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
