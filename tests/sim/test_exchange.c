/* Tiles that execute rows: the published schedules (ipu-stack and what follows from its timing
 * relations) word by word, times, registers, code that arrives, several phases. */
#include "rows.h"

typedef struct RowCase {
    uint32_t tile;
    const char *row;
    int horizon;
} RowCase;

typedef struct CopyCase {
    uint32_t from, from_address, to, to_address, words;
} CopyCase;

typedef struct PhaseCase {
    const char *name;
    RowCase rows[6];
    CopyCase copies[5];
} PhaseCase;

static const PhaseCase published[] = {
    {"three words",
     {{0, "40a00016 784a0001 43a00000", 26},
      {1286, "64000000 64008640 61818000 40a00007 43a00000", 61}},
     {{0, 0x50000, 1286, 0x60000, 3}}},
    {"multicast",
     {{0, "40a0001e 7fea0003 74600003 43a00000", 131},
      {2, "64000000 61a98000 640b4640 40a0003a 43a00000", 160},
      {736, "6406c000 61999000 640bc640 40a00038 43a00000", 185}},
     {{0, 0x50000, 2, 0x60000, 100}, {0, 0x50000, 736, 0x64000, 100}}},
    {"pointer runs on",
     {{4, "delay 24\n send 63, 0x14000, 1", 89},
      {6, "delay 86\n send 63, 0x14000, 1", 151},
      {0, "64000080 61998000 6402c0c0 640fc640 40a00038 43a00000", 186}},
     {{4, 0x50000, 0, 0x60000, 64}, {6, 0x50000, 0, 0x60100, 64}}},
    {"source and pointer in one event",
     {{5, "delay 24\n send 51, 0x14000, 1", 77},
      {6, "delay 74\n send 51, 0x14000, 1", 127},
      {7, "delay 126\n send 51, 0x14000, 1", 179},
      {8, "delay 176\n send 51, 0x14000, 1", 229},
      {0,
       "64000082 40a00032 f6600000 03014048 f6600000 03095000 f6600000 04016000 f7200000 "
       "19017000 43a00000",
       266}},
     {{5, 0x50000, 0, 0x50120, 52},
      {6, 0x50000, 0, 0x54000, 52},
      {7, 0x50000, 0, 0x58000, 52},
      {8, 0x50000, 0, 0x5C000, 52}}},
    {"full duplex",
     {{100,
       "64000082 40a00016 7b6a0001 70f000c2 76599000 70000001 f7ea02c1 19019400 75e00001 "
       "43a00000",
       224},
      {5, "delay 31\n send 51, 0x14000, 1", 84},
      {7, "delay 81\n send 59, 0x14000, 1", 142},
      {900, "delayxpic 0, 0, 260\n delaypic 69, 0, 0x18000\n delayxpic 129, 0, 0x640\n delay 74",
       276}},
     {{100, 0x50000, 900, 0x60000, 200},
      {5, 0x50000, 100, 0x64000, 52},
      {7, 0x50000, 100, 0x65000, 60}}},
    {"forwarding",
     {{0, "delay 38\n send 63, 0x14000, 1", 103},
      {10, "64000000 61e98000 64004640 40a00064 7fec0001 43a00000", 230},
      {20, "delayxpic 127, 0, 320\n delayxpic 63, 0, 0x640\n delaypic 7, 0, 0x19000\n delay 68",
       269}},
     {{0, 0x50000, 10, 0x60000, 64}, {10, 0x60000, 20, 0x64000, 64}}},
    {"loopback",
     {{0, "64008000 6406c640 7aca0003 70999000 40a0001c 43a00000", 88},
      {2, "delayxpic 0, 0, 0\n delayxpic 27, 0, 0x640\n delaypic 25, 0, 0x18000\n delay 32", 88}},
     {{0, 0x50000, 0, 0x64000, 28}, {0, 0x50000, 2, 0x60000, 28}}},
    {"64-bit items",
     {{0, "40a0001e 7fe50005 43a00000", 95},
      {1, "delay 94", 95},
      {2, "64002000 61a40001 60098000 64022640 61a40000 40a00006 43a00000", 125},
      {3, "delaypic 53, 1, 1\n delaypic 1, 0, 0x18000\n delaypic 61, 1, 0\n delay 6", 125}},
     {{0, 0x50000, 2, 0x60000, 128}, {0, 0x50000, 3, 0x60000, 128}}},
    {"64-bit items, the other direction",
     {{700, "send 63, 0xa000, 6\n sendoff 63, 0, 6", 128},
      {701, "delay 127", 128},
      {101,
       "delayxpic 66, 1, 1119\n delaypic 58, 1, 2\n delaypic 1, 0, 0x18000\n"
       "delayxpic 66, 1, 0x640\n delaypic 58, 1, 0\n delay 6",
       261},
      {100, "delaypic 125, 1, 2\n delaypic 1, 0, 0x19000\n delaypic 125, 1, 0\n delay 6", 261}},
     {{700, 0x50000, 100, 0x64000, 256}, {700, 0x50000, 101, 0x60000, 256}}},
};

static void play(const PhaseCase *c) {
    Chip chip = chip_create(CHIP_TILES, NULL);
    for (size_t i = 0; i < COUNT_OF(c->rows) && c->rows[i].row; i++)
        chip_row(&chip, c->rows[i].tile, c->rows[i].row);
    for (size_t i = 0; i < COUNT_OF(c->copies) && c->copies[i].words; i++)
        if (i == 0 || c->copies[i].from_address == 0x50000)
            chip_fill(&chip, c->copies[i].from, c->copies[i].from_address, c->copies[i].words);
    rig_run(chip.machine);
    for (size_t i = 0; i < COUNT_OF(c->copies) && c->copies[i].words; i++) {
        const CopyCase *copy = &c->copies[i];
        chip_expect_copy(&chip, copy->from, copy->from_address, copy->to, copy->to_address,
                         copy->words);
    }
    for (size_t i = 0; i < COUNT_OF(c->rows) && c->rows[i].row; i++)
        if (chip_horizon(&chip, c->rows[i].tile) != c->rows[i].horizon)
            fail_msg("%s: the row of tile %u takes %d events", c->name, c->rows[i].tile,
                     chip_horizon(&chip, c->rows[i].tile));
    chip_free(&chip);
}

static void published_phases(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(published); i++)
        play(&published[i]);
}

/* Rows that wait for the barrier themselves, addresses in the base registers (point form). */
static void rows_with_sync(void **state) {
    (void)state;
    Chip chip = chip_create(64, NULL);
    AsmImage image = rig_assemble(".supervisor\n setzi $m8, 0x80000\n put $OUTGOING_BASE, $m8\n"
                                  "setzi $m8, 0x90000\n put $INCOMING_BASE, $m8\n"
                                  "call $m10, 0x4D000\n get $m0, $SCOUNT_L\n"
                                  "setzi $m1, 0x4E000\n st32 $m0, $m1, $mzero, 0\n sync 7\n");
    static const uint32_t sender[] = {0x41800003, 0x40a0006c, 0x7fe00001, 0x766fc001, 0x43a00000},
                          receiver[] = {0x41800003, 0x641c0400, 0x61980000,
                                        0x67ffc640, 0x40a00038, 0x43a00000};
    chip_words(&chip, 32, sender, COUNT_OF(sender));
    chip_words(&chip, 0, receiver, COUNT_OF(receiver));
    for (uint32_t tile = 0; tile <= 32; tile += 32) {
        machine_write(chip.machine, tile, 0x4C800, image.bytes, image.size, NULL);
        machine_start_tile(chip.machine, tile, 0x4C800);
    }
    asm_image_free(&image);
    chip_fill(&chip, 32, 0x80000, 4148);
    rig_run(chip.machine);
    chip_expect_copy(&chip, 32, 0x80000, 0, 0x90000, 4148);
    uint32_t sent = rig_word(chip.machine, 32, ROW_THROUGH),
             received = rig_word(chip.machine, 0, ROW_THROUGH);
    assert_int_equal(received - sent, 113 + 52 + 4096 + 57 - (109 + 4148));
    chip_free(&chip);
}

/* A base register is rewritten inside a row in 13 events; setzi takes one. */
static void bases_inside(void **state) {
    (void)state;
    Chip chip = chip_create(4, NULL);
    /* Twice three words from tile 0 to tile 2, the second time 0x100 bytes further on. */
    chip_row(
        &chip, 0,
        "delay 30\n send 2, 0x14000, 1\n setzi $m8, 0x100\n put $OUTGOING_BASE, $m8\n delay 83\n"
        "send 2, 0x14000, 1");
    chip_row(&chip, 2,
             "delayxpic 0, 0, 0\n delayxpic 2, 0, 0x640\n delaypic 50, 0, 0x18000\n delay 4\n"
             "setzi $m8, 0x200\n put $INCOMING_BASE, $m8\n delayxpic 27, 0, 0\n"
             "delayxpic 2, 0, 0x640\n delaypic 50, 0, 0x18000\n delay 7");
    chip_fill(&chip, 0, 0x50000, 0x44);
    rig_run(chip.machine);
    chip_expect_copy(&chip, 0, 0x50000, 2, 0x60000, 3);
    chip_expect_copy(&chip, 0, 0x50100, 2, 0x60200, 3);
    assert_int_equal(chip_horizon(&chip, 0), 31 + 3 + 1 + 13 + 84 + 3);
    assert_int_equal(chip_horizon(&chip, 2), 60 + 14 + 28 + 3 + 51 + 8);
    chip_free(&chip);
}

/* What runs on after the base register moved arrives at the moved place. */
static void running_pointer(void **state) {
    (void)state;
    Chip chip = chip_create(4, NULL);
    chip_row(&chip, 0, "delay 30\n send 2, 0x14000, 1\n delay 97\n send 2, 0x14003, 1");
    chip_row(&chip, 2,
             "delayxpic 0, 0, 0\n delayxpic 2, 0, 0x640\n delaypic 50, 0, 0x18000\n delay 4\n"
             "setzi $m8, 0x200\n put $INCOMING_BASE, $m8\n delayxpic 27, 0, 0\n"
             "delayxpic 2, 0, 0x640\n delay 62");
    chip_fill(&chip, 0, 0x50000, 6);
    rig_run(chip.machine);
    chip_expect_copy(&chip, 0, 0x50000, 2, 0x60000, 3);
    chip_expect_copy(&chip, 0, 0x5000C, 2, 0x6020C, 3);
    chip_free(&chip);
}

/* Three words from tile 0 to tile 2 in a chip of four. */
static const char send_three[] = "delay 30\n send 2, 0x14000, 1",
                  take_three[] = "delayxpic 0, 0, 0\n delayxpic 2, 0, 0x640\n"
                                 "delaypic 50, 0, 0x18000\n delay 7";

/* A mux that was turned by hand before the row takes words from its first event on. */
static void mux_before_the_row(void **state) {
    (void)state;
    Chip chip = chip_create(4, NULL);
    AsmImage image = rig_assemble(
        ".supervisor\n setzi $m8, 0\n put $INCOMING_MUX, $m8\n nop\n nop\n nop\n nop\n nop\n"
        "bri 0x4C010\n");
    chip_row(&chip, 0, "delay 29\n send 2, 0x14000, 1");
    chip_row(&chip, 2, "delayxpic 2, 0, 0x640\n delaypic 50, 0, 0x18000\n delay 7");
    assert_int_equal(rig_symbol(&chip.image, "active"), 0x4C010);
    machine_write(chip.machine, 2, 0x4C800, image.bytes, image.size, NULL);
    machine_start_tile(chip.machine, 2, 0x4C800);
    asm_image_free(&image);
    chip_fill(&chip, 0, 0x50000, 3);
    rig_run(chip.machine);
    chip_expect_copy(&chip, 0, 0x50000, 2, 0x60000, 3);
    chip_free(&chip);
}

/* Words that arrive over a function change what the next call of it does. */
static void code_arrives(void **state) {
    (void)state;
    static const char text[] =
        ".supervisor\n start: call $m10, 0x60000\n sync 3\n call $m10, 0x4D000\n"
        "call $m10, 0x60000\n sync 7\n .set f, 0x60000\n";
    Chip chip = chip_create(4, NULL);
    AsmImage program = rig_assemble(text);
    AsmImage old = rig_assemble(".supervisor\n add $m5, $m5, 1\n nop\n br $m10\n"),
             new = rig_assemble(".supervisor\n setzi $m1, 0x4E000\n st32 $m5, $m1, $mzero, 0\n"
                                "br $m10\n");
    chip_row(&chip, 0, send_three);
    chip_row(&chip, 2, take_three);
    machine_write(chip.machine, 2, 0x4C800, program.bytes, program.size, NULL);
    machine_write(chip.machine, 2, 0x60000, old.bytes, old.size, NULL);
    machine_write(chip.machine, 0, 0x50000, new.bytes, new.size, NULL);
    machine_start_tile(chip.machine, 2, 0x4C800);
    rig_run(chip.machine);
    assert_int_equal(rig_word(chip.machine, 2, ROW_THROUGH), 1);
    asm_image_free(&program);
    asm_image_free(&old);
    asm_image_free(&new);
    chip_free(&chip);
}

/* A row may be called by the tiles that only acknowledged; a row of nothing returns at once. */
static void idle_tiles(void **state) {
    (void)state;
    static const char text[] = ".supervisor\n sans 0\n sync 1\n call $m10, 0x4D000\n"
                               "get $m0, $SCOUNT_L\n setzi $m1, 0x4E000\n"
                               "st32 $m0, $m1, $mzero, 0\n sync 7\n";
    Chip chip = chip_create(6, NULL);
    AsmImage program = rig_assemble(text);
    chip_row(&chip, 0, send_three);
    chip_row(&chip, 2, take_three);
    chip_row(&chip, 4, "");
    chip_row(&chip, 5, "");
    machine_write(chip.machine, 5, 0x4C800, program.bytes, program.size, NULL);
    machine_start_tile(chip.machine, 5, 0x4C800);
    asm_image_free(&program);
    chip_fill(&chip, 0, 0x50000, 3);
    rig_run(chip.machine);
    chip_expect_copy(&chip, 0, 0x50000, 2, 0x60000, 3);
    assert_int_equal(chip_horizon(&chip, 4), 0);
    assert_int_equal(chip_horizon(&chip, 5), 0);
    size_t count;
    const MachineEvent *events = machine_timeline(chip.machine, 2, &count);
    static const MachineEventKind kinds[] = {EVENT_ARRIVE, EVENT_RELEASE, EVENT_CALL, EVENT_RETURN,
                                             EVENT_ARRIVE};
    assert_int_equal(count, COUNT_OF(kinds));
    for (size_t i = 0; i < count; i++)
        assert_int_equal(events[i].kind, kinds[i]);
    assert_int_equal(events[2].address, ROW_BASE);
    assert_int_equal(events[3].cycle, events[2].cycle + CHIP_SUP_TAKEN_BRANCH + 63);
    chip_free(&chip);
}

/* The same phase once more, with other values; and a second phase in one run. */
static void again(void **state) {
    (void)state;
    Chip chip = chip_create(4, NULL);
    chip_row(&chip, 0, send_three);
    chip_row(&chip, 2, take_three);
    for (uint32_t run = 0; run < 3; run++) {
        chip_fill(&chip, 0, 0x50000, 3);
        rig_set_word(chip.machine, 0, 0x50004, run);
        rig_run(chip.machine);
        chip_expect_copy(&chip, 0, 0x50000, 2, 0x60000, 3);
        assert_int_equal(rig_word(chip.machine, 2, 0x60004), run);
    }
    chip_free(&chip);
    /* Tile 1 answers both barriers in advance and computes meanwhile. */
    AsmImage image = rig_assemble(
        ".supervisor\n b: sans 1\n setzi $m0, 99\n 1: brnzdec $m0, 1b\n sync 1\n sync 7\n"
        "a: sync 3\n call $m10, row\n sync 3\n call $m10, row\n sync 7\n .set row, 0x4D000\n");
    chip = chip_create(4, NULL);
    chip_row(&chip, 0, send_three);
    chip_row(&chip, 2, take_three);
    for (uint32_t tile = 0; tile < 4; tile++) {
        machine_write(chip.machine, tile, RIG_BASE, image.bytes, image.size, NULL);
        machine_start_tile(chip.machine, tile, rig_symbol(&image, tile % 2 ? "b" : "a"));
    }
    asm_image_free(&image);
    chip_fill(&chip, 0, 0x50000, 3);
    rig_run(chip.machine);
    chip_expect_copy(&chip, 0, 0x50000, 2, 0x60000, 3);
    chip_free(&chip);
}

/* A call that is no row leaves the phase as it is. */
static void other_calls(void **state) {
    (void)state;
    Chip chip = chip_create(2, NULL);
    AsmImage image = rig_assemble(
        ".supervisor\n sync 3\n call $m10, f\n call $m10, g\n call $m10, row\n sync 7\n"
        "f: add $m0, $m0, 1\n br $m10\n g: setzi $m1, 7\n br $m10\n row: delay 9\n br $m10\n");
    for (uint32_t tile = 0; tile < 2; tile++)
        machine_write(chip.machine, tile, RIG_BASE, image.bytes, image.size, NULL);
    machine_start(chip.machine, RIG_BASE);
    rig_run(chip.machine);
    /* sync, release, three calls with their bodies, ten events, return */
    assert_int_equal(machine_tile_counters(chip.machine, 0).arrived,
                     CHIP_SYNC_INTERNAL_CYCLES + 6 * CHIP_SUP_TAKEN_BRANCH + 2 + 10);
    assert_int_equal(machine_tile_counters(chip.machine, 0).supervisor, 1 + 3 + 6 + 1);
    asm_image_free(&image);
    chip_free(&chip);
}

/* The n-th allocation fails: an error at every n, and nothing is lost. */
static void host_without_memory(void **state) {
    (void)state;
    Chip chip = chip_create(4, NULL);
    chip_row(&chip, 0, "setzi $m8, 0\n put $INCOMING_BASE, $m8\n delay 16\n send 2, 0x14000, 1");
    chip_row(&chip, 2, take_three);
    chip_fill(&chip, 0, 0x50000, 3);
    bool succeeded = false;
    for (uint64_t n = 1; !succeeded && n < 200; n++) {
        Chip one = chip_create(4, NULL);
        chip_row(&one, 0, "setzi $m8, 0\n put $INCOMING_BASE, $m8\n delay 16\n send 2, 0x14000, 1");
        chip_row(&one, 2, take_three);
        mem_fail_after(n);
        Status status = machine_run(one.machine, NULL);
        mem_fail_after(0);
        assert_true(status == STATUS_OK || status == ERR_NO_MEMORY);
        succeeded = status == STATUS_OK;
        chip_free(&one);
    }
    assert_true(succeeded);
    chip_free(&chip);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_phases),   cmocka_unit_test(rows_with_sync),
        cmocka_unit_test(bases_inside),       cmocka_unit_test(running_pointer),
        cmocka_unit_test(mux_before_the_row), cmocka_unit_test(code_arrives),
        cmocka_unit_test(idle_tiles),         cmocka_unit_test(again),
        cmocka_unit_test(other_calls),        cmocka_unit_test(host_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
