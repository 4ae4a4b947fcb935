/* What breaks a rule of the exchange stops the machine and tells where. */
#include "rows.h"

#define NONE MACHINE_NONE

/* Tiles 0 and 2 of a chip of four execute these rows after their barrier. */
typedef struct Case {
    Status code;
    TrapClass class;
    uint32_t tile;
    int32_t event;
    uint32_t source, message, element;
    const char *row0, *row2;
    const char *about; /* must occur in the message */
} Case;

/* Three words from tile 0, sent at event 31, to tile 2. */
#define SEND "delay 30\n send 2, 0x14000, 1"
#define TAKE "delayxpic 0, 0, 0\n delayxpic 2, 0, 0x640\n"

static const Case cases[] = {
    {ERR_SIM_XCHG_RETURN, TRAP_UNPREDICTABLE, 2, 62, 0, 0, NONE, SEND,
     TAKE "delaypic 50, 0, 0x18000\n delay 6", "the row ends"},
    {ERR_SIM_XCHG_FETCH, TRAP_ELEMENT_CONFLICT, 2, 55, 0, 0, 0, SEND,
     TAKE "delaypic 50, 0, 0x13c00\n delay 7", "0x4F000 is written in the element"},
    {ERR_SIM_XCHG_FETCH, TRAP_ELEMENT_CONFLICT, 0, 31, 0, 0, 0, "delay 30\n send 2, 0x13c00, 1",
     TAKE "delaypic 50, 0, 0x18000\n delay 7", "0x4F000 is sent from the element"},
    {ERR_SIM_XCHG_SILENT, TRAP_UNPREDICTABLE, 2, 1, 0, NONE, NONE, "delay 31\n send 2, 0x14000, 1",
     TAKE "delaypic 50, 0, 0x18000\n delay 7", "sends nothing at its event 31"},
    {ERR_SIM_XCHG_POINTER, TRAP_UNPREDICTABLE, 2, 55, 0, 0, NONE, SEND, TAKE "delay 60",
     "before a pointer is set"},
    {ERR_SIM_XCHG_OPEN, TRAP_UNPREDICTABLE, 2, 63, NONE, NONE, NONE,
     "delay 30\n send 63, 0x14000, 1", "delayxpic 0, 0, 0\n delaypic 53, 0, 0x18000\n delay 7",
     "while its mux selects 0x0"},
    {ERR_SIM_XCHG_ADDRESS, TRAP_UNDEFINED, 0, 31, 0, 0, NONE, "delay 30\n send 2, 0x12fff, 1",
     TAKE "delaypic 50, 0, 0x18000\n delay 7", "are sent from 0x4BFFC"},
    {ERR_SIM_XCHG_SOURCE, TRAP_UNPREDICTABLE, 2, 1, NONE, NONE, NONE, "",
     "delayxpic 0, 0, 192\n delayxpic 2, 0, 0x640", "selects 0xC0, no tile here"},
    {ERR_SIM_XCHG_PARTNER, TRAP_UNPREDICTABLE, 0, 10, 0, 0, NONE, "delay 9\n send 9, 0xa000, 5", "",
     "the lane of tile 1"},
    /* Rows by themselves. */
    {ERR_SIM_XCHG_ROW, TRAP_UNPREDICTABLE, 0, 12, NONE, NONE, NONE,
     "delay 11\n here: add $m0, $m0, 1", "", "no instruction of a row"},
    {ERR_SIM_XCHG_ROW, TRAP_UNPREDICTABLE, 0, 5, NONE, NONE, NONE, "delay 4\n here: .long 0", "",
     "no instruction can be fetched"},
    {ERR_SIM_XCHG_ROW, TRAP_UNPREDICTABLE, 2, 1, NONE, NONE, NONE, "",
     "delay 0\n here: .long 0xf6600000, 0x03014048", "8-byte boundary"},
    {ERR_SIM_XCHG_ROW, TRAP_UNPREDICTABLE, 0, 4, NONE, NONE, NONE,
     "delay 3\n here: sendoff 3, 0, 1", "", "continues no such stream"},
    {ERR_SIM_XCHG_ROW, TRAP_UNPREDICTABLE, 0, 4, NONE, NONE, NONE, "delay 3\n here: sync 2", "",
     "no instruction of a row"},
    {ERR_SIM_OPERAND, TRAP_UNDEFINED, 0, 2, NONE, NONE, NONE,
     "setzi $m8, 2\n delay 0\n here: put $OUTGOING_BASE, $m8", "", "no multiple of 4"},
};

static void expect(Chip *chip, const Case *c) {
    Diag diag = {0};
    Status status = machine_run(chip->machine, &diag);
    const MachineTrap *trap = machine_trap(chip->machine);
    if (status != c->code || !trap)
        fail_msg("%s instead of %s: %s", status_code(status), status_code(c->code), c->about);
    assert_int_equal(trap->code, c->code);
    assert_int_equal(trap->class, c->class);
    assert_int_equal(trap->tile, c->tile);
    assert_int_equal(trap->phase, 0);
    assert_int_equal(trap->event, c->event);
    assert_int_equal(trap->source, c->source);
    assert_int_equal(trap->message, c->message);
    assert_int_equal(trap->element, c->element);
    assert_int_equal(trap->cycle, ROW_START + c->event);
    assert_int_equal(trap->context, MACHINE_SUPERVISOR);
    const DiagEntry *entry = &diag.entries[0];
    assert_int_equal(diag.count, 1);
    assert_int_equal(entry->place.tile, c->tile);
    assert_string_equal(entry->place.object, "exchange 0");
    char event[20];
    snprintf(event, sizeof event, "event %d", c->event);
    if (!strstr(entry->text, c->about) || !strstr(entry->text, event))
        fail_msg("\"%s\" says nothing of \"%s\" or \"%s\"", entry->text, c->about, event);
    diag_free(&diag);
    /* It stays trapped. */
    assert_int_equal(machine_run(chip->machine, &diag), c->code);
    assert_int_equal(diag_status(&diag), c->code);
    diag_free(&diag);
}

static void broken_rules(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Chip chip = chip_create(4, NULL);
        chip_row(&chip, 0, cases[i].row0);
        chip_row(&chip, 2, cases[i].row2);
        expect(&chip, &cases[i]);
        if (cases[i].code == ERR_SIM_XCHG_ROW)
            assert_true(machine_trap(chip.machine)->pc > ROW_BASE);
        chip_free(&chip);
    }
}

/* Tile 2 runs `text` instead of its usual way to the row. */
static Chip with_program(const char *text) {
    Chip chip = chip_create(4, NULL);
    AsmImage image = rig_assemble(text);
    chip_row(&chip, 0, SEND);
    chip_row(&chip, 2, TAKE "delaypic 50, 0, 0x18000\n delay 7");
    machine_write(chip.machine, 2, RIG_BASE, image.bytes, image.size, NULL);
    machine_start_tile(chip.machine, 2, RIG_BASE);
    asm_image_free(&image);
    return chip;
}

static void expect_code(Chip *chip, Status code, const char *about) {
    Diag diag = {0};
    assert_int_equal(machine_run(chip->machine, &diag), code);
    const MachineTrap *trap = machine_trap(chip->machine);
    assert_int_equal(trap->tile, 2);
    if (!strstr(trap->text, about))
        fail_msg("\"%s\" says nothing of \"%s\"", trap->text, about);
    diag_free(&diag);
    chip_free(chip);
}

static void around_rows(void **state) {
    (void)state;
    Chip chip =
        with_program(".supervisor\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n sync 3\n"
                     "nop\n call $m10, 0x4D000\n sync 7\n");
    expect_code(&chip, ERR_SIM_XCHG_START, "the row begins at cycle");
    chip = with_program(".supervisor\n delay 3\n sync 3\n");
    expect_code(&chip, ERR_SIM_XCHG_ROW, "outside the row");
    chip = with_program(".supervisor\n sync 3\n call $m10, 0x4D000\n delay 3\n sync 7\n");
    expect_code(&chip, ERR_SIM_XCHG_ROW, "outside the row");
    chip = with_program(".supervisor\n sync 3\n call $m10, 0x84000\n sync 7\n");
    expect_code(&chip, ERR_SIM_NOT_EXECUTABLE, "0x84000");
    chip = with_program(".supervisor\n setzi $m0, worker\n run $m0, $mzero, 0\n"
                        "sync 3\n call $m10, 0x4D000\n sync 7\n"
                        ".worker\n worker: setzi $m0, 200\n 1: brnzdec $m0, 1b\n exitz $mzero\n");
    expect_code(&chip, ERR_SIM_XCHG_WORKERS, "a worker runs");
}

/* No row follows the host's barrier, not even on a tile that only answered it. */
static void after_the_host(void **state) {
    (void)state;
    AsmImage image = rig_assemble(".supervisor\n sync 7\n 1: sync 7\n bri 1b\n"
                                  "other: sans 0\n sync 1\n delay 3\n br $m10\n");
    Machine *machine = rig_machine(&image, 2, NULL, NULL);
    machine_start_tile(machine, 1, rig_symbol(&image, "other"));
    rig_run(machine);
    assert_int_equal(machine_run(machine, NULL), ERR_SIM_XCHG_ROW);
    assert_int_equal(machine_trap(machine)->tile, 1);
    assert_int_equal(machine_trap(machine)->phase, MACHINE_NONE);
    machine_free(machine);
    asm_image_free(&image);
}

static void budget(void **state) {
    (void)state;
    AsmImage image = rig_assemble(".supervisor\n sync 3\n call $m10, row\n sync 7\n"
                                  "row: .rept 50\n delay 999\n .endr\n br $m10\n");
    MachineOptions options = {.cycle_budget = 20000};
    Machine *machine = rig_machine(&image, 1, NULL, &options);
    assert_int_equal(machine_run(machine, NULL), ERR_SIM_BUDGET);
    assert_int_equal(machine_trap(machine)->event, 20000);
    assert_int_equal(machine_trap(machine)->pc, rig_symbol(&image, "row") + 4 * 20);
    machine_free(machine);
    asm_image_free(&image);
}

/* Phases are counted from the host's barrier, and have names if the caller knows them. */
static void names(void **state) {
    (void)state;
    AsmImage image =
        rig_assemble(".supervisor\n sync 7\n sync 3\n sync 3\n call $m10, row\n sync 7\n"
                     "row: delayxpic 3, 0, 7\n br $m10\n");
    static const char *const all[] = {"first", "second"};
    for (uint32_t known = 0; known <= 2; known += 2) {
        Machine *machine = rig_machine(&image, 1, NULL, NULL);
        machine_name_phases(machine, all, known);
        rig_run(machine);
        Diag diag = {0};
        assert_int_equal(machine_run(machine, &diag), ERR_SIM_XCHG_SOURCE);
        assert_int_equal(machine_trap(machine)->phase, 1);
        assert_string_equal(diag.entries[0].place.object, known ? "second" : "exchange 1");
        diag_free(&diag);
        machine_free(machine);
    }
    asm_image_free(&image);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_rules),   cmocka_unit_test(around_rows),
        cmocka_unit_test(after_the_host), cmocka_unit_test(budget),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
