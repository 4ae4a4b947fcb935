/* One directed program for each instruction of control and of the supervisor: what it leaves in
 * memory, and the slots that its worker takes or the cycles that its supervisor takes. */
#include "rig.h"

#include "num/f16.h"

#define OUT 0x60000u

typedef struct Case {
    const char *mnemonic;
    const char *supervisor; /* before the worker's launch or instead of it */
    const char *worker;     /* m8 = OUT; NULL: no worker */
    unsigned slots;         /* of the worker's lines, without the exitz after them */
    unsigned words;
    uint32_t want[8];
} Case;

/* A line of bits: which of 0, 1 and 0x80000000 take the branch. 3 + 3 + 4 slots. */
#define TAKES(op)                                                                                  \
    ".macro try value, bit\n ldconst $m0, \\value\n " op " $m0, 1f\n bri 2f\n"                     \
    "1: or $m1, $m1, \\bit\n 2:\n .endm\n"                                                         \
    "setzi $m1, 0\n try 0, 1\n try 1, 2\n try 0x80000000, 4\n st32 $m1, $m8, 0\n"

/* The consensus of one worker that ends with a condition on 0 and on 0x80000000, as the supervisor
 * reads it. */
#define ENDS(op)                                                                                   \
    "setzi $m8, 0x60000\n setzi $m7, 2\n"                                                          \
    ".macro try value, word\n put $CR, $m7\n setzi $m5, \\value\n shl $m5, $m5, 31\n"              \
    "st32 $m5, $m8, 8\n"                                                                           \
    "setzi $m6, ends\n run $m6, $mzero, 0\n sync 2\n get $m5, $SSR\n and $m5, $m5, 1\n"            \
    "st32 $m5, $m8, \\word\n .endm\n"                                                              \
    "try 0, 0\n try 1, 1\n bri over\n .worker\n ends: setzi $m8, 0x60000\n ld32 $m0, $m8, 8\n" op  \
    " $m0\n .supervisor\n over:\n"

static const Case cases[] = {
    {"br",
     "",
     "setzi $m1, 1\n setzi $m0, 1f\n br $m0\n setzi $m1, 9\n 1: st32 $m1, $m8, 0\n",
     4,
     1,
     {1}},
    {"bri", "", "setzi $m1, 1\n bri 1f\n setzi $m1, 9\n 1: st32 $m1, $m8, 0\n", 3, 1, {1}},
    {"call",
     "",
     "call $m2, 2f\n 1: setzi $m4, 9\n 2: setzi $m3, 1b\n sub $m3, $m2, $m3\n st32 $m3, $m8, 0\n"
     "{call $m2, 4f; fnop}\n 3: nop\n 4: setzi $m3, 3b\n sub $m3, $m2, $m3\n st32 $m3, $m8, 1\n",
     8,
     2,
     {0, 0}},
    {"brz", "", TAKES("brz"), 12, 1, {1}},
    {"brnz", "", TAKES("brnz"), 12, 1, {6}},
    {"brneg", "", TAKES("brneg"), 12, 1, {4}},
    {"brpos", "", TAKES("brpos"), 12, 1, {3}},
    {"brnzdec",
     "",
     "setzi $m1, 0\n setzi $m2, 3\n 1: add $m1, $m1, 10\n brnzdec $m2, 1b\n st32 $m1, $m8, 0\n"
     "st32 $m2, $m8, 1\n",
     12,
     2,
     {40, 0}},
    {"rpt",
     "",
     "setzi $m1, 0\n setzi $m2, 0x10003\n setzi $a0, 1\n nop\n"
     "rpt 5, 1\n {add $m1, $m1, 1; fnop}\n {add $m1, $m1, 2; fnop}\n st32 $m1, $m8, 0\n"
     "nop\n {rpt $m2, 0; setzi $a0, 5}\n {add $m1, $m1, 1; fnop}\n st32 $m1, $m8, 1\n nop\n nop\n"
     "rpt $mzero, 0\n {add $m1, $m1, 1; fnop}\n st32 $a0, $m8, 2\n",
     4 + 11 + 1 + 1 + 4 + 1 + 2 + 1 + 1,
     3,
     {15, 18, 5}},
    {"exitz", ENDS("exitz"), NULL, 6, 2, {1, 0}},
    {"exitnz", ENDS("exitnz"), NULL, 6, 2, {0, 1}},
    {"exitneg", ENDS("exitneg"), NULL, 6, 2, {0, 1}},
    {"exitpos", ENDS("exitpos"), NULL, 6, 2, {1, 0}},
    {"put",
     "setzi $m1, 0x5A\n put $FP_ISCL, $m1\n get $m2, $FP_ISCL\n setzi $m8, 0x60000\n"
     "st32 $m2, $m8, 0\n",
     "uget $a0, $FP_SCL\n st32 $a0, $m8, 1\n",
     2,
     2,
     {0x5A, 0x5A}},
    {"run",
     "setzi $m1, 0x14000\n setzi $m0, each\n run $m0, $m1, 1\n run $m0, $m1, 2\n sync 2\n"
     "bri over\n .worker\n each: get $m0, $WSR\n and $m0, $m0, 7\n add $m0, $m0, 100\n"
     "st32 $m0, $mvertex_base, $mzero, 0\n exitz $mzero\n .supervisor\n over:\n",
     NULL,
     10,
     3,
     {0, 100, 101}},
    {"runall",
     "setzi $m1, 0x60000\n setzi $m0, each\n runall $m0, $m1, 1\n sync 2\n"
     "bri over\n .worker\n each: get $m0, $WSR\n and $m0, $m0, 7\n add $m0, $m0, 100\n"
     "st32 $m0, $mvertex_base, $mzero, 0\n exitz $mzero\n .supervisor\n over:\n",
     NULL,
     30,
     6,
     {100, 101, 102, 103, 104, 105}},
    /* The store waits for the worker, which takes long to put its word. */
    {"sync",
     "setzi $m8, 0x60000\n setzi $m0, late\n run $m0, $mzero, 0\n sync 2\n"
     "ld32 $m1, $m8, 0\n st32 $m1, $m8, 1\n bri over\n .align 8\n .worker\n"
     "late: setzi $m8, 0x60000\n setzi $m1, 7\n nop\n rpt 50, 0\n {nop; fnop}\n"
     "st32 $m1, $m8, 0\n exitz $mzero\n .supervisor\n over:\n",
     NULL,
     56,
     2,
     {7, 7}},
    {"ld64putcs",
     "setzi $m0, 0x60020\n put $CCCSLOAD, $m0\n ld64putcs 9\n get $m1, $CCCSLOAD\n"
     "setzi $m8, 0x60000\n st32 $m1, $m8, 0\n",
     /* unit 2, phase 1: lane 0 holds 3 */
     "setzi $a0, 8\n uput $FP_CLR, $a0\n setzi $a0, 1.0h\n setzi $a1, 0\n"
     "f16v4sisoamp $azeros, $a0:1, $azeros, 1\n f32v2gina $azeros, $azeros, 0\n"
     "f32v2gina $a2:3, $azeros, 0\n st32 $a2, $m8, 1\n st32 $a3, $m8, 2\n",
     9,
     3,
     {0x60028, 0x40400000, 0}},
    {"ld128putcs",
     "setzi $m0, 0x80020\n put $CCCSLOAD, $m0\n ld128putcs 8\n get $m1, $CCCSLOAD\n"
     "setzi $m8, 0x60000\n st32 $m1, $m8, 0\n",
     /* unit 2, phases 0 and 1: 3 and 4 */
     "setzi $a0, 8\n uput $FP_CLR, $a0\n setzi $a0, 1.0h\n setzi $a1, 0\n"
     "f16v4sisoamp $azeros, $a0:1, $azeros, 0\n f16v4sisoamp $azeros, $a0:1, $azeros, 1\n"
     "f32v2gina $azeros, $azeros, 0\n f32v2gina $a2:3, $azeros, 0\n st32 $a2, $m8, 1\n",
     9,
     2,
     {0x80030, 0x40E00000}},
};

/* Does the image hold the instruction? */
static bool holds(const AsmImage *image, const char *mnemonic) {
    for (uint32_t at = 0; at < image->code_size; at += 4) {
        IsaInstr instr;
        uint32_t word;
        memcpy(&word, image->bytes + at, 4);
        if (word >> 28 != 0xF)
            word &= ~ISA_BUNDLE_BIT;
        if (isa_decode(&word, 1, &instr) &&
            strcmp(isa_form_info((IsaForm)instr.form)->mnemonic, mnemonic) == 0)
            return true;
    }
    return false;
}

static void check_case(const Case *c) {
    char *text = c->worker ? mem_printf(".supervisor\n%s setzi $m0, worker\n run $m0, $mzero, 0\n"
                                        "sync 2\n sync 7\n .align 8\n .worker\n worker:"
                                        "setzi $m8, 0x60000\n%s exitz $mzero\n",
                                        c->supervisor, c->worker)
                           : mem_printf(".supervisor\n%s sync 7\n", c->supervisor);
    AsmImage image = rig_assemble(text);
    assert_true(holds(&image, c->mnemonic));
    Machine *machine = rig_machine(&image, 1, NULL, NULL);
    static const F16 weights[8] = {0x4200, 0, 0, 0, 0x4400, 0, 0, 0}; /* 3, 4 in lane 0 */
    assert_int_equal(machine_write(machine, 0, 0x60020, weights, 8, NULL), STATUS_OK);
    assert_int_equal(machine_write(machine, 0, 0x80020, weights, 16, NULL), STATUS_OK);
    rig_run(machine);
    for (unsigned i = 0; i < c->words; i++)
        if (rig_word(machine, 0, OUT + 4 * i) != c->want[i])
            fail_msg("%s: word %u is 0x%X, not 0x%X", c->mnemonic, i,
                     rig_word(machine, 0, OUT + 4 * i), c->want[i]);
    unsigned slots = c->slots + (c->worker ? 2 : 0);
    uint64_t taken = machine_tile_counters(machine, 0).worker_slots;
    if (taken != slots)
        fail_msg("%s: %llu slots, not %u", c->mnemonic, (unsigned long long)taken, slots);
    machine_free(machine);
    asm_image_free(&image);
    mem_free(text);
}

static void every_case(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check_case(&cases[i]);
}

/* trap stops the context with the breakpoint exception; what came before it is done. */
static void trap(void **state) {
    (void)state;
    Machine *machine = rig_load(".supervisor\n setzi $m8, 0x60000\n setzi $m1, 7\n"
                                "st32 $m1, $m8, 0\n trap 1\n st32 $mzero, $m8, 0\n sync 7\n",
                                1);
    assert_int_equal(machine_run(machine, NULL), ERR_SIM_BREAKPOINT);
    assert_int_equal(machine_trap(machine)->context, MACHINE_SUPERVISOR);
    assert_int_equal(machine_trap(machine)->pc, RIG_BASE + 12);
    assert_int_equal(rig_word(machine, 0, OUT), 7);
    assert_int_equal(machine_tile_counters(machine, 0).supervisor, 4);
    machine_free(machine);
}

/* A supervisor's instruction takes one cycle; six when it needs the result before. */
static void supervisor_cycles(void **state) {
    (void)state;
    static const struct {
        const char *text;
        unsigned cycles;
    } programs[] = {
        {"nop\n", 1},
        {"put $CCCSLOAD, $mzero\n", 1},
        {"setzi $m1, 1\n setzi $m2, 2\n", 2},
        {"setzi $m1, 1\n add $m2, $m1, 1\n", CHIP_SUP_RESULT_LATENCY + 1},
    };
    uint64_t empty = 0;
    for (size_t i = 0; i <= COUNT_OF(programs); i++) {
        char *text = mem_printf(".supervisor\n%s sync 7\n", i ? programs[i - 1].text : "");
        Machine *machine = rig_load(text, 1);
        rig_run(machine);
        uint64_t cycles = machine_tile_counters(machine, 0).arrived;
        if (i == 0)
            empty = cycles;
        else
            assert_int_equal(cycles - empty, programs[i - 1].cycles);
        machine_free(machine);
        mem_free(text);
    }
}

/* tested.def gives these instructions to this test, and no others. */
static void registry(void **state) {
    (void)state;
    for (int form = ISA_INVALID + 1; form < ISA_FORM_COUNT; form++) {
        const char *mnemonic = isa_form_info((IsaForm)form)->mnemonic;
        const char *test = isa_tested_by(mnemonic);
        bool here = strcmp(mnemonic, "trap") == 0;
        for (size_t i = 0; i < COUNT_OF(cases); i++)
            here |= strcmp(cases[i].mnemonic, mnemonic) == 0;
        if (here != (test && strcmp(test, "sim.directed") == 0))
            fail_msg("tested.def and the cases disagree about %s", mnemonic);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case),
        cmocka_unit_test(trap),
        cmocka_unit_test(supervisor_cycles),
        cmocka_unit_test(registry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
