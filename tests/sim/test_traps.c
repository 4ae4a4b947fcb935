/* Every trap: its code, class, place and message; and near misses that must not trap. */
#include "rig.h"

typedef struct Case {
    Status code;
    TrapClass class;
    uint32_t context, address;
    const char *text;  /* the program */
    const char *about; /* must occur in the message */
} Case;

/* Asserts that the program traps at its label `here`, or at the address it cannot fetch from. */
static void check_trap(const Case *c, const char *program) {
    AsmImage image = rig_assemble(program);
    Machine *machine = rig_machine(&image, 1, NULL, NULL);
    Diag diag;
    diag_init(&diag);
    Status status = machine_run(machine, &diag);
    const MachineTrap *trap = machine_trap(machine);
    if (status != c->code || !trap)
        fail_msg("%s instead of %s:\n%s", status_code(status), status_code(c->code), program);
    assert_int_equal(trap->code, c->code);
    assert_int_equal(trap->class, c->class);
    assert_int_equal(trap->tile, 0);
    assert_int_equal(trap->context, c->context);
    if (trap->address != c->address)
        fail_msg("address 0x%X, not 0x%X:\n%s", trap->address, c->address, program);
    uint32_t pc = strstr(program, "here:") ? rig_symbol(&image, "here") : c->address;
    if (trap->pc != pc)
        fail_msg("pc 0x%X, not 0x%X:\n%s", trap->pc, pc, program);
    assert_int_equal(diag.count, 1);
    assert_int_equal(diag.entries[0].place.tile, 0);
    if (!strstr(diag.entries[0].text, c->about))
        fail_msg("\"%s\" says nothing of \"%s\"", diag.entries[0].text, c->about);
    assert_non_null(diag.entries[0].notes);
    /* It stays trapped, and the host still can look. */
    assert_int_equal(machine_run(machine, NULL), c->code);
    assert_int_equal(rig_word(machine, 0, 0x60100), 0);
    diag_free(&diag);
    machine_free(machine);
    asm_image_free(&image);
}

/* Worker 0 runs `text`; m2 … are what the cases need. */
static void check_worker(const Case *c) {
    char *program = mem_printf(".supervisor\n setzi $m0, worker\n run $m0, $mzero, 0\n sync 2\n"
                               "sync 7\n .worker\n .align 8\n worker: %s\n exitz $mzero\n",
                               c->text);
    check_trap(c, program);
    mem_free(program);
}

static void workers(void **state) {
    (void)state;
    static const Case cases[] = {
        {ERR_SIM_ADDRESS, TRAP_UNDEFINED, 0, 0x4BFFC,
         "setzi $m2, 0x4C000\n add $m2, $m2, -4\n here: ld32 $m0, $m2, $mzero, 0", "0x4BFFC"},
        {ERR_SIM_ADDRESS, TRAP_UNDEFINED, 0, 0xE8000,
         "setzi $m2, 0xE7FF8\n ld64 $a0:1, $m2, $mzero, 0\n here: ld64 $a0:1, $m2, $mzero, 1",
         "0xE8000"},
        {ERR_SIM_ADDRESS, TRAP_UNDEFINED, 0, 0, "here: st32 $m0, $mzero, $mzero, 0", "memory is"},
        {ERR_SIM_ADDRESS, TRAP_UNDEFINED, 0, 0xFFFFFFFE,
         "sub $m2, $mzero, 2\n here: ldz16 $m0, $m2, $mzero, 0", "0xFFFFFFFE"},
        {ERR_SIM_MISALIGNED, TRAP_UNDEFINED, 0, 0x60002,
         "setzi $m2, 0x60002\n ldz16 $m0, $m2, $mzero, 0\n here: ld32 $m0, $m2, $mzero, 0",
         "no multiple of 4"},
        {ERR_SIM_MISALIGNED, TRAP_UNDEFINED, 0, 0x80008,
         "setzi $m2, 0x80008\n ld64 $a0:1, $m2, $mzero, 0\n here: ld128 $a0:3, $m2, $mzero, 0",
         "16 bytes"},
        {ERR_SIM_NOT_INTERLEAVED, TRAP_UNDEFINED, 0, 0x7FFF0,
         "setzi $m2, 0x80000\n ld128 $a0:3, $m2, $mzero, 0\n setzi $m2, 0x7FFF0\n"
         "here: ld128step $a0:3, $mzero, $m2+=, 1",
         "below interleaved memory"},
        /* Elements: 16 KiB below 0x80000, above it bit 3 within 32 KiB. */
        {ERR_SIM_CONFLICT, TRAP_ELEMENT_CONFLICT, 0, 0x60008,
         "setzi $m2, 0x5FFF8\n setzi $m3, 0x60000\n tapack $m4:5, $m2, $m3, $mzero\n"
         "ld2x64pace $a0:1, $a2:3, $m4:5+=, $mzero, 0\n"
         "here: ld2x64pace $a0:1, $a2:3, $m4:5+=, $mzero, 0",
         "memory element 5"},
        {ERR_SIM_CONFLICT, TRAP_ELEMENT_CONFLICT, 0, 0x80010,
         "setzi $m2, 0x80000\n setzi $m3, 0x80018\n tapack $m4:5, $m2, $mzero, $m3\n"
         "ldst64pace $a0:1, $a2:3, $m4:5+=, $mzero, 0\n add $m3, $m2, 16\n"
         "tapack $m4:5, $m2, $mzero, $m3\n here: ldst64pace $a0:1, $a2:3, $m4:5+=, $mzero, 0",
         "memory element 13"},
        {ERR_SIM_CONFLICT, TRAP_ELEMENT_CONFLICT, 0, 0x80000,
         "setzi $m2, 0x80000\n setzi $m3, 0x90000\n tapack $m4:5, $m2, $m3, $m2\n"
         "here: {ld2xst64pace $a0:3, $a4:5, $m4:5+=, $mzero, 0; fnop}",
         "0x80000"},
        {ERR_SIM_CONFLICT, TRAP_ELEMENT_CONFLICT, 0, 0x98000,
         "setzi $m2, 0x98000\n setzi $m3, 0x60000\n mov $m4, $mzero\n"
         "here: ldd16a64 $a0:1, $m2++, $m2, $m4@",
         "0x98000"},
        {ERR_SIM_NOT_EXECUTABLE, TRAP_UNDEFINED, 0, 0x80000, "setzi $m2, 0x80000\n br $m2",
         "0x80000"},
        {ERR_SIM_UNSUPPORTED, TRAP_UNSUPPORTED, 0, 0, "here: put $REPEAT_COUNT, $m0",
         "$REPEAT_COUNT"},
        {ERR_SIM_OPERAND, TRAP_UNDEFINED, 0, 0, "here: f16v4hihov4amp $a0:1, $a2:3, $a4:5, 7",
         "phase 7"},
        {ERR_SIM_OPERAND, TRAP_UNDEFINED, 0, 0, "here: f32v2gina $a0:1, $a2:3, 4", "gina"},
        {ERR_SIM_OPERAND, TRAP_UNDEFINED, 0, 0, "here: f16v4stacc $a0:1, 2", "phase 2"},
        {ERR_SIM_OPERAND, TRAP_UNDEFINED, 0, 0, "here: f16v4hihov4slic $a0:1, $a2:3, $a4:5, 2",
         "mode 2"},
        {ERR_SIM_OPERAND, TRAP_UNDEFINED, 0, 0, "here: f32v2aop $a0:1, $a2:3, 4", "f32v2aop"},
        {ERR_SIM_OPERAND, TRAP_UNDEFINED, 0, 0, "here: f32sisoslic $a0:1, $a2, $a4:5, 4", "mode 4"},
        {ERR_SIM_BREAKPOINT, TRAP_UNDEFINED, 0, 0, "here: trap 1", "trap 1"},
        {ERR_SIM_FLOAT, TRAP_UNDEFINED, 0, 0,
         "setzi $a0, 4\n uput $FP_CTL, $a0\n setzi $a1, 0x7BFF\n f16v2sub $a2, $a1, $a1\n"
         "here: f16v2add $a2, $a1, $a1",
         "an overflow"},
        {ERR_SIM_FLOAT, TRAP_UNDEFINED, 0, 0,
         "setzi $a0, 2\n uput $FP_CTL, $a0\n here: f32oox $a2, $azero", "a division by zero"},
        {ERR_SIM_FLOAT, TRAP_UNDEFINED, 0, 0,
         "setzi $a0, 1\n uput $FP_CTL, $a0\n or $a1, $azero, 0xBF800000\n here: f32sqrt $a2, $a1",
         "an invalid operation"},
        {ERR_SIM_WORD, TRAP_UNDEFINED, 0, 0, "here: .int 0, 0", "no instruction"},
    };
    for (unsigned i = 0; i < COUNT_OF(cases); i++)
        check_worker(&cases[i]);
}

static void supervisor(void **state) {
    (void)state;
    static const Case cases[] = {
        {ERR_SIM_ADDRESS, TRAP_UNDEFINED, MACHINE_SUPERVISOR, 4,
         ".supervisor\n here: ld32 $m0, $mzero, $mzero, 1\n sync 7", "4 bytes at 0x4"},
        {ERR_SIM_NOT_INTERLEAVED, TRAP_UNDEFINED, MACHINE_SUPERVISOR, 0x60000,
         ".supervisor\n setzi $m0, 0x60000\n put $CCCSLOAD, $m0\n here: ld128putcs 0\n sync 7",
         "16 bytes"},
        {ERR_SIM_MISALIGNED, TRAP_UNDEFINED, MACHINE_SUPERVISOR, 0x80008,
         ".supervisor\n setzi $m0, 0x80008\n put $CCCSLOAD, $m0\n here: ld128putcs 0\n sync 7",
         "no multiple of 16"},
        {ERR_SIM_NOT_EXECUTABLE, TRAP_UNDEFINED, MACHINE_SUPERVISOR, 0, ".supervisor\n br $mzero",
         "0x00000"},
        {ERR_SIM_NOT_EXECUTABLE, TRAP_UNDEFINED, MACHINE_SUPERVISOR, 0x4C012,
         ".supervisor\n setzi $m0, 0x4C012\n br $m0", "multiples of 4"},
        {ERR_SIM_WORD, TRAP_UNDEFINED, MACHINE_SUPERVISOR, 0, ".supervisor\n nop\n here: .int 0",
         "0x00000000"},
        {ERR_SIM_MODE, TRAP_UNDEFINED, MACHINE_SUPERVISOR, 0,
         ".supervisor\n bri here\n .worker\n here: setzi $a0, 1", "worker instruction"},
        {ERR_SIM_MODE, TRAP_UNDEFINED, MACHINE_SUPERVISOR, 0,
         ".supervisor\n bri here\n .worker\n here: {nop; fnop}", "worker instruction"},
        {ERR_SIM_MODE, TRAP_UNDEFINED, MACHINE_SUPERVISOR, 0,
         ".supervisor\n bri here\n .worker\n here: add $m0, $m13, 1", "worker instruction"},
        {ERR_SIM_MODE, TRAP_UNDEFINED, 0, 0,
         ".supervisor\n setzi $m0, here\n run $m0, $mzero, 0\n sync 2\n sync 7\n here: sync 2",
         "supervisor instruction"},
        {ERR_SIM_LAUNCH, TRAP_UNDEFINED, MACHINE_SUPERVISOR, 0,
         ".supervisor\n setzi $m0, work\n run $m0, $mzero, 0\n here: runall $m0, $mzero, 0\n"
         ".worker\n work: exitz $mzero",
         "mask 0x01"},
        {ERR_SIM_OPERAND, TRAP_UNDEFINED, MACHINE_SUPERVISOR, 2,
         ".supervisor\n setzi $m0, 2\n here: runall $m0, $mzero, 0", "multiples of 4"},
        {ERR_SIM_UNSUPPORTED, TRAP_UNSUPPORTED, MACHINE_SUPERVISOR, 0,
         ".supervisor\n here: put $DBG_CTL, $m0", "$DBG_CTL"},
        {ERR_SIM_UNSUPPORTED, TRAP_UNSUPPORTED, MACHINE_SUPERVISOR, 0, ".supervisor\n here: sync 4",
         "zone 4"},
        {ERR_SIM_UNSUPPORTED, TRAP_UNSUPPORTED, MACHINE_SUPERVISOR, 0,
         ".supervisor\n sans 0\n here: sans 0", "outstanding"},
        {ERR_SIM_BREAKPOINT, TRAP_UNDEFINED, MACHINE_SUPERVISOR, 0, ".supervisor\n here: trap 0",
         "trap 0"},
    };
    for (unsigned i = 0; i < COUNT_OF(cases); i++)
        check_trap(&cases[i], cases[i].text);
}

/* Replaces the words at `here` before the program runs: what the assembler refuses to make. */
static void check_words(Status code, TrapClass class, const char *text, const uint32_t *words,
                        unsigned count, uint32_t address_offset, const char *about) {
    AsmImage image = rig_assemble(text);
    uint32_t here = rig_symbol(&image, "here");
    memcpy(image.bytes + (here - image.base), words, 4 * count);
    Machine *machine = rig_machine(&image, 1, NULL, NULL);
    assert_int_equal(machine_run(machine, NULL), code);
    const MachineTrap *trap = machine_trap(machine);
    assert_int_equal(trap->class, class);
    assert_int_equal(trap->pc, here);
    if (address_offset)
        assert_int_equal(trap->address, here + address_offset);
    assert_non_null(strstr(trap->text, about));
    machine_free(machine);
    asm_image_free(&image);
}

static IsaInstr instr(IsaForm form, int32_t a, int32_t b, int32_t c) {
    return (IsaInstr){.form = (uint16_t)form, .operand = {a, b, c}};
}

static void refused_by_the_assembler(void **state) {
    (void)state;
    const char *text = ".supervisor\n setzi $m0, worker\n run $m0, $mzero, 0\n sync 2\n sync 7\n"
                       ".worker\n .align 8\n worker: nop\n here: .rept 12\n nop\n .endr\n"
                       "exitz $mzero\n";
    uint32_t words[8];
    IsaInstr load = {.form = ISA_LD64, .operand = {0, 13, 15, 0}};
    IsaInstr copy = instr(ISA_SETZI_A, 1, 5, 0), aux_nop = instr(ISA_SETZI_A, 13, 0, 0);
    IsaInstr nop = instr(ISA_SETZI, 14, 0, 0), repeat = instr(ISA_RPT_U12, 3, 0, 0);
    isa_encode_bundle(&load, &copy, words);
    check_words(ERR_SIM_WRITE_OVERLAP, TRAP_UNPREDICTABLE, text, words, 2, 0, "one register");

    /* `here` is at 4 modulo 8: a body behind a single rpt begins at a multiple of 8. */
    isa_encode(&repeat, words);
    isa_encode_bundle(&nop, &aux_nop, words + 1);
    const uint32_t single[3] = {words[0], words[1], words[2]};
    Machine *machine = NULL;
    AsmImage image = rig_assemble(text);
    memcpy(image.bytes + (rig_symbol(&image, "here") - image.base), single, sizeof single);
    machine = rig_machine(&image, 1, NULL, NULL);
    rig_run(machine);
    machine_free(machine);
    asm_image_free(&image);
    /* A plain instruction in the body; a control instruction; a misaligned body. */
    isa_encode(&nop, words + 1);
    isa_encode(&nop, words + 2);
    check_words(ERR_SIM_REPEAT, TRAP_UNPREDICTABLE, text, words, 3, 4, "more than plain bundles");
    IsaInstr branch = instr(ISA_BRZ, 0, 0x4C000, 0);
    isa_encode_bundle(&branch, &aux_nop, words + 1);
    check_words(ERR_SIM_REPEAT, TRAP_UNPREDICTABLE, text, words, 3, 4, "more than plain bundles");
    isa_encode_bundle(&repeat, &aux_nop, words);
    isa_encode_bundle(&nop, &aux_nop, words + 2);
    check_words(ERR_SIM_REPEAT, TRAP_UNPREDICTABLE, text, words, 4, 8, "no multiple of 8");
    IsaInstr read = instr(ISA_GET, 2, 0x44, 0);
    isa_encode(&read, words);
    check_words(ERR_SIM_OPERAND, TRAP_UNDEFINED, text, words, 1, 0, "0x44");
    IsaInstr twice = {.form = ISA_LD2X64PACE, .operand = {2, 2, 4, 15, 0}};
    isa_encode(&twice, words);
    check_words(ERR_SIM_OPERAND, TRAP_UNDEFINED, text, words, 1, 0, "same registers");
}

static void endless(void **state) {
    (void)state;
    static const char *const loops[] = {
        ".supervisor\n here: bri here\n",
        ".supervisor\n setzi $m0, worker\n runall $m0, $mzero, 0\n sync 2\n .worker\n"
        "worker: bri worker\n",
        ".supervisor\n setzi $m0, worker\n run $m0, $mzero, 0\n 1: bri 1b\n .worker\n"
        "worker: bri worker\n",
    };
    MachineOptions options = {.cycle_budget = 10000};
    for (unsigned i = 0; i < COUNT_OF(loops); i++) {
        AsmImage image = rig_assemble(loops[i]);
        Machine *machine = rig_machine(&image, 2, NULL, &options);
        Diag diag;
        diag_init(&diag);
        assert_int_equal(machine_run(machine, &diag), ERR_SIM_BUDGET);
        assert_int_equal(machine_trap(machine)->class, TRAP_ENDLESS);
        assert_non_null(strstr(diag.entries[0].notes, "1 more tiles trapped"));
        diag_free(&diag);
        machine_free(machine);
        asm_image_free(&image);
    }
    /* A run within the budget, twice: each release starts it anew. */
    Machine *machine = NULL;
    AsmImage image = rig_assemble(".supervisor\n 2: setzi $m0, 1000\n nop\n 1: brnzdec $m0, 1b\n"
                                  "sync 7\n bri 2b\n");
    machine = rig_machine(&image, 1, NULL, &options);
    for (unsigned i = 0; i < 3; i++)
        rig_run(machine);
    machine_free(machine);
    asm_image_free(&image);
}

static void deadlock(void **state) {
    (void)state;
    AsmImage image = rig_assemble(".supervisor\n setzi $m0, 0x60000\n ld32 $m1, $m0, $mzero, 0\n"
                                  "brz $m1, 1f\n sync 3\n 1: here: sync 7\n");
    Machine *machine = rig_machine(&image, 3, NULL, NULL);
    rig_set_word(machine, 0, 0x60000, 1);
    rig_set_word(machine, 2, 0x60000, 1);
    Diag diag;
    diag_init(&diag);
    assert_int_equal(machine_run(machine, &diag), ERR_SIM_DEADLOCK);
    const MachineTrap *trap = machine_trap(machine);
    assert_int_equal(trap->tile, 1);
    assert_int_equal(trap->class, TRAP_ENDLESS);
    assert_int_equal(trap->pc, rig_symbol(&image, "here"));
    assert_non_null(strstr(trap->text, "sync 7"));
    assert_non_null(strstr(trap->text, "tile 0 waits in sync 3"));
    diag_free(&diag);
    machine_free(machine);
    asm_image_free(&image);
}

static void host_access(void **state) {
    (void)state;
    Machine *machine = machine_create(2, NULL, NULL);
    uint8_t bytes[16] = {0};
    static const struct {
        uint32_t tile, address;
        size_t size;
    } bad[] = {
        {2, 0x60000, 4}, {0, 0x4BFFF, 2},    {0, 0xE7FF8, 16},       {1, 0xE8000, 1},
        {0, 0, 4},       {0, 0xFFFFFFFF, 4}, {0, 0x60000, SIZE_MAX}, {UINT32_MAX, 0x60000, 4}};
    for (unsigned i = 0; i < COUNT_OF(bad); i++) {
        Diag diag;
        diag_init(&diag);
        assert_int_equal(
            machine_read(machine, bad[i].tile, bad[i].address, bytes, bad[i].size, &diag),
            ERR_SIM_HOST_ACCESS);
        assert_int_equal(
            machine_write(machine, bad[i].tile, bad[i].address, bytes, bad[i].size, NULL),
            ERR_SIM_HOST_ACCESS);
        assert_int_equal(
            machine_load(machine, bad[i].tile, bad[i].address, bytes, bad[i].size, NULL),
            ERR_SIM_HOST_ACCESS);
        assert_int_equal(diag.errors, 1);
        diag_free(&diag);
    }
    assert_int_equal(machine_write(machine, 1, 0xE7FF0, bytes, 16, NULL), STATUS_OK);
    assert_int_equal(machine_read(machine, 1, 0xE8000, bytes, 0, NULL), STATUS_OK);
    machine_free(machine);
}

/* Of several trapped tiles the earliest is told about, at equal cycles the first. */
static void earliest_trap(void **state) {
    (void)state;
    AsmImage image = rig_assemble(".supervisor\n setzi $m0, 0x60000\n ld32 $m1, $m0, $mzero, 0\n"
                                  "brz $m1, 2f\n 1: brnzdec $m1, 1b\n trap 1\n 2: sync 7\n");
    Machine *machine = rig_machine(&image, 4, NULL, NULL);
    rig_set_word(machine, 0, 0x60000, 9);
    rig_set_word(machine, 2, 0x60000, 4);
    rig_set_word(machine, 3, 0x60000, 4);
    assert_int_equal(machine_run(machine, NULL), ERR_SIM_BREAKPOINT);
    assert_int_equal(machine_trap(machine)->tile, 2);
    machine_free(machine);
    asm_image_free(&image);
}

static void class_names(void **state) {
    (void)state;
    assert_string_equal(trap_class_name(TRAP_ELEMENT_CONFLICT), "element conflict");
    assert_string_equal(trap_class_name(TRAP_UNDEFINED), "undefined");
    assert_string_equal(trap_class_name(TRAP_ENDLESS), "endless");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers),
        cmocka_unit_test(supervisor),
        cmocka_unit_test(refused_by_the_assembler),
        cmocka_unit_test(endless),
        cmocka_unit_test(deadlock),
        cmocka_unit_test(host_access),
        cmocka_unit_test(earliest_trap),
        cmocka_unit_test(class_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
