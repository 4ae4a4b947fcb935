/* The chip around the tiles: memory that is shared and lazy, barriers, host points, counters, the
 * time line, a host without memory. */
#include "rig.h"

static void memory_is_lazy_and_shared(void **state) {
    (void)state;
    enum { TILES = 64, SIZE = 40000 };
    Machine *machine = machine_create(TILES, NULL, NULL);
    uint64_t empty = machine_memory_bytes(machine);
    static uint8_t bytes[SIZE], back[SIZE + 16];
    for (unsigned i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)(i * 7 + i / 256);
    for (uint32_t tile = 0; tile < TILES; tile++)
        machine_load(machine, tile, 0x60003, bytes, SIZE, NULL);
    /* One copy for all, of whole pages. */
    assert_in_range(machine_memory_bytes(machine) - empty, SIZE, SIZE + 8 * 1024);
    for (uint32_t tile = 0; tile < TILES; tile += 21) {
        machine_read(machine, tile, 0x60003 - 8, back, sizeof back, NULL);
        uint8_t zeros[8] = {0};
        assert_memory_equal(back, zeros, 8);
        assert_memory_equal(back + 8, bytes, SIZE);
        assert_memory_equal(back + 8 + SIZE, zeros, 8);
    }
    /* A write is seen by its tile only, and costs one page. */
    uint8_t other = 99;
    machine_write(machine, 5, 0x60003, &other, 1, NULL);
    machine_read(machine, 5, 0x60003, back, 2, NULL);
    assert_int_equal(back[0], 99);
    assert_int_equal(back[1], bytes[1]);
    machine_read(machine, 6, 0x60003, back, 1, NULL);
    assert_int_equal(back[0], bytes[0]);
    assert_in_range(machine_memory_bytes(machine) - empty, SIZE, SIZE + 13 * 1024);
    /* Segments of one page, in any order and overlapping: the last one wins. */
    machine_load(machine, 7, 0x60002, "abc", 3, NULL);
    machine_load(machine, 5, 0x60002, "xyz", 3, NULL);
    machine_read(machine, 7, 0x60002, back, 4, NULL);
    assert_memory_equal(back, "abc", 3);
    assert_int_equal(back[3], bytes[2]);
    machine_read(machine, 5, 0x60002, back, 3, NULL);
    assert_memory_equal(back, "xyz", 3);
    machine_free(machine);
}

/* Tile i waits i * 100 cycles, then meets the others; the counters around the barrier. */
static void all_tiles_barrier(void **state) {
    (void)state;
    enum { TILES = 9 };
    const char *text = ".supervisor\n setzi $m8, 0x60000\n ld32 $m0, $m8, $mzero, 0\n"
                       "1: brnzdec $m0, 1b\n get $m1, $SCOUNT_L\n sync 3\n get $m2, $SCOUNT_L\n"
                       "st32 $m1, $m8, $mzero, 1\n st32 $m2, $m8, $mzero, 2\n sync 7\n";
    Machine *machine = rig_load(text, TILES);
    for (uint32_t tile = 0; tile < TILES; tile++)
        rig_set_word(machine, tile, 0x60000, tile * 13);
    rig_run(machine);
    uint32_t last = rig_word(machine, TILES - 1, 0x60004) + 1; /* its sync issues */
    for (uint32_t tile = 0; tile < TILES; tile++)
        assert_int_equal(rig_word(machine, tile, 0x60008), last + CHIP_SYNC_INTERNAL_CYCLES);
    machine_free(machine);
}

/* A tile with nothing to do answers barriers in advance; `sans k` covers k + 1 of them. */
static void answered_barriers(void **state) {
    (void)state;
    const char *text =
        ".supervisor\n setzi $m8, 0x60000\n ld32 $m0, $m8, $mzero, 0\n brz $m0, idle\n"
        "sync 3\n get $m1, $SCOUNT_L\n .rept 50\n nop\n .endr\n get $m3, $SCOUNT_L\n sync 3\n"
        "get $m2, $SCOUNT_L\n"
        "end: st32 $m1, $m8, $mzero, 1\n st32 $m2, $m8, $mzero, 2\n st32 $m3, $m8, $mzero, 3\n"
        "sync 7\n"
        "idle: sans 1\n get $m1, $SSR\n sync 1\n get $m2, $SCOUNT_L\n sync 1\n get $m3, $SSR\n"
        "bri end\n";
    Machine *machine = rig_load(text, 3);
    rig_set_word(machine, 0, 0x60000, 1);
    rig_set_word(machine, 2, 0x60000, 1);
    rig_run(machine);
    uint32_t second = rig_word(machine, 0, 0x6000C) + 1 + CHIP_SYNC_INTERNAL_CYCLES;
    for (uint32_t tile = 0; tile < 3; tile++)
        assert_int_equal(rig_word(machine, tile, 0x60008), second);
    const uint32_t answered = 1u << CHIP_CSR_S_SSR_ANS_SHIFT;
    assert_int_equal(rig_word(machine, 1, 0x60004) & answered, 0);
    assert_int_equal(rig_word(machine, 1, 0x6000C) & answered, answered);
    machine_free(machine);
}

/* Workers go on while their supervisor waits with the other tiles. */
static void workers_outlast_a_barrier(void **state) {
    (void)state;
    const char *text = ".supervisor\n setzi $m8, 0x60000\n setzi $m0, worker\n nop\n"
                       "run $m0, $mzero, 0\n sync 3\n get $m1, $SCOUNT_L\n sync 2\n"
                       "get $m2, $SCOUNT_L\n st32 $m1, $m8, $mzero, 1\n st32 $m2, $m8, $mzero, 2\n"
                       "sync 7\n .worker\n worker: setzi $m0, 99\n 1: brnzdec $m0, 1b\n"
                       "get $m1, $COUNT_L\n setzi $m8, 0x60000\n st32 $m1, $m8, $mzero, 3\n"
                       "exitz $mzero\n";
    Machine *machine = rig_load(text, 2);
    rig_run(machine);
    for (uint32_t tile = 0; tile < 2; tile++) {
        uint32_t released = rig_word(machine, tile, 0x60004),
                 joined = rig_word(machine, tile, 0x60008);
        uint32_t counted = rig_word(machine, tile, 0x6000C);
        assert_int_equal(counted % 6, 0);
        /* The barrier was passed long before the worker's 105 bundles were through. */
        assert_in_range(released, 100, 130);
        assert_in_range(counted, 600, 640);
        assert_int_equal(joined, counted + 18 + 6);
    }
    machine_free(machine);
}

static void host_points(void **state) {
    (void)state;
    const char *text = ".supervisor\n setzi $m8, 0x60000\n setzi $m1, worker\n"
                       "1: ld32 $m0, $m8, $mzero, 0\n add $m0, $m0, 5\n st32 $m0, $m8, $mzero, 0\n"
                       "runall $m1, $mzero, 0\n sync 2\n sync 7\n bri 1b\n"
                       ".worker\n worker: {nop; fnop}\n f32oox $a0, $a1\n exitz $mzero\n";
    AsmImage image = rig_assemble(text);
    MachineOptions options = {.timeline = true};
    Machine *machine = rig_machine(&image, 2, NULL, &options);
    rig_set_word(machine, 0, 0x60000, 100);
    rig_run(machine);
    assert_int_equal(rig_word(machine, 0, 0x60000), 105);
    assert_int_equal(rig_word(machine, 1, 0x60000), 5);
    MachineTileCounters first = machine_tile_counters(machine, 1);
    assert_int_equal(first.released, 0);
    assert_int_equal(first.bundles, 18);
    assert_int_equal(first.instructions, 24);
    assert_int_equal(first.worker_slots, 6 * (1 + 3 + 1));
    assert_int_equal(first.supervisor, 8);
    assert_int_equal(first.launches, 1);
    rig_set_word(machine, 0, 0x60000, 1000);
    rig_run(machine);
    assert_int_equal(rig_word(machine, 0, 0x60000), 1005);
    assert_int_equal(rig_word(machine, 1, 0x60000), 10);
    MachineTileCounters second = machine_tile_counters(machine, 1),
                        both = machine_counters(machine);
    assert_int_equal(second.released, first.arrived + CHIP_SUP_ISSUE + CHIP_HOST_PHASE_CYCLES);
    assert_int_equal(second.bundles, 36);
    assert_int_equal(both.bundles, 72);
    assert_int_equal(both.launches, 4);
    assert_int_equal(both.arrived, second.arrived);
    assert_int_equal(machine_tiles(machine), 2);

    size_t count;
    const MachineEvent *events = machine_timeline(machine, 0, &count);
    static const MachineEventKind kinds[] = {EVENT_LAUNCH, EVENT_JOIN, EVENT_ARRIVE, EVENT_RELEASE,
                                             EVENT_LAUNCH, EVENT_JOIN, EVENT_ARRIVE};
    assert_int_equal(count, COUNT_OF(kinds));
    for (unsigned i = 0; i < COUNT_OF(kinds); i++) {
        assert_int_equal(events[i].kind, kinds[i]);
        assert_true(i == 0 || events[i].cycle >= events[i - 1].cycle);
    }
    assert_int_equal(events[0].address, rig_symbol(&image, "worker"));
    assert_int_equal(events[2].address, CHIP_SYNC_GS2H);
    assert_int_equal(events[2].cycle, first.arrived);
    assert_int_equal(events[3].cycle, second.released);
    /* A start begins anew; memory stays. */
    machine_start(machine, image.base);
    rig_run(machine);
    assert_int_equal(rig_word(machine, 0, 0x60000), 1010);
    assert_int_equal(machine_tile_counters(machine, 0).arrived, first.arrived);
    machine_timeline(machine, 0, &count);
    assert_int_equal(count, 3);
    machine_free(machine);
    asm_image_free(&image);
}

static void calls_in_the_timeline(void **state) {
    (void)state;
    AsmImage image =
        rig_assemble(".supervisor\n call $m10, f\n sans 0\n sync 1\n sync 7\n f: br $m10\n");
    MachineOptions options = {.timeline = true};
    Machine *machine = rig_machine(&image, 1, NULL, &options);
    rig_run(machine);
    size_t count;
    const MachineEvent *events = machine_timeline(machine, 0, &count);
    assert_int_equal(count, 5);
    assert_int_equal(events[0].kind, EVENT_CALL);
    assert_int_equal(events[0].address, rig_symbol(&image, "f"));
    assert_int_equal(events[1].kind, EVENT_RETURN);
    assert_int_equal(events[1].address, image.base + 4);
    assert_int_equal(events[1].cycle, events[0].cycle + CHIP_SUP_TAKEN_BRANCH);
    assert_int_equal(events[2].kind, EVENT_ARRIVE);
    assert_int_equal(events[2].address, CHIP_SYNC_ANS);
    assert_int_equal(events[3].kind, EVENT_RELEASE);
    machine_free(machine);
    asm_image_free(&image);
}

/* Tiles may begin at different places. */
static void own_entries(void **state) {
    (void)state;
    AsmImage image = rig_assemble(".supervisor\n setzi $m0, 1\n bri 1f\n other: setzi $m0, 2\n"
                                  "1: setzi $m8, 0x60000\n st32 $m0, $m8, $mzero, 0\n sync 7\n");
    Machine *machine = rig_machine(&image, 3, NULL, NULL);
    machine_start_tile(machine, 1, rig_symbol(&image, "other"));
    rig_run(machine);
    assert_int_equal(rig_word(machine, 0, 0x60000), 1);
    assert_int_equal(rig_word(machine, 1, 0x60000), 2);
    assert_int_equal(rig_word(machine, 2, 0x60000), 1);
    machine_free(machine);
    asm_image_free(&image);
}

/* The n-th allocation fails: an error at every n, and nothing is lost. */
static void host_without_memory(void **state) {
    (void)state;
    AsmImage image = rig_assemble(
        ".supervisor\n setzi $m8, 0x60000\n setzi $m0, worker\n call $m10, f\n"
        "runall $m0, $m8, 1\n sync 2\n sync 3\n sync 7\n f: st32 $m0, $m8, $mzero, 64\n br $m10\n"
        ".worker\n .align 4096\n worker: f16v4hihov4amp $a0:1, $a2:3, $a4:5, 0\n"
        "st32 $m0, $mvertex_base, $mzero, 0\n exitz $mzero\n");
    MachineOptions options = {.timeline = true};
    bool succeeded = false;
    for (uint64_t n = 1; !succeeded && n < 200; n++) {
        mem_fail_after(n);
        Machine *machine = machine_create(2, NULL, &options);
        Status status = machine ? STATUS_OK : ERR_NO_MEMORY;
        for (uint32_t tile = 0; tile < 2 && status == STATUS_OK; tile++)
            status = machine_load(machine, tile, image.base, image.bytes, image.size, NULL);
        if (status == STATUS_OK) {
            machine_start(machine, image.base);
            status = machine_run(machine, NULL);
        }
        mem_fail_after(0);
        assert_true(status == STATUS_OK || status == ERR_NO_MEMORY);
        succeeded = status == STATUS_OK;
        machine_free(machine);
    }
    assert_true(succeeded);
    asm_image_free(&image);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_lazy_and_shared),
        cmocka_unit_test(all_tiles_barrier),
        cmocka_unit_test(answered_barriers),
        cmocka_unit_test(workers_outlast_a_barrier),
        cmocka_unit_test(host_points),
        cmocka_unit_test(calls_in_the_timeline),
        cmocka_unit_test(own_entries),
        cmocka_unit_test(host_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
