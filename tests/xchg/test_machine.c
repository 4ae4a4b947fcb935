/* Random phases executed by the tiles of a simulated machine: played event by event, carried out as
 * the copies that it was found to be, and by its meaning, the transfers one after the other. */
#include "phases.h"

#include "sim/sim.h"

#define PROGRAM_BASE CHIP_APP_LOAD_BASE
#define ROW_BASE     0x4C100u

/* Host barrier; barrier of all tiles and the row, or its acknowledgement; again. */
static void load_programs(Machine *machine, const XchgRows *rows) {
    static const uint32_t active[] = {0x41800007, 0x41800003, 0x18A00000 | ROW_BASE >> 2},
                          idle[] = {0x41800007, 0x40C00000, 0x41800001};
    uint32_t back[2];
    isa_encode(&(IsaInstr){.form = ISA_BRI, .operand = {PROGRAM_BASE}}, back);
    size_t r = 0;
    for (uint32_t tile = 0; tile < machine_tiles(machine); tile++) {
        const XchgRow *row = r < rows->rows.count && rows->rows.items[r].tile == tile
                                 ? &rows->rows.items[r++]
                                 : NULL;
        machine_write(machine, tile, PROGRAM_BASE, row ? active : idle, sizeof active, NULL);
        machine_write(machine, tile, PROGRAM_BASE + sizeof active, back, 4, NULL);
        if (row)
            machine_write(machine, tile, ROW_BASE, rows->words.items + row->first_word,
                          4 * row->word_count, NULL);
    }
    machine_start(machine, PROGRAM_BASE);
}

/* New values in all that is sent, and on the board the same. */
static void fill(Board *board, Machine *const machines[2], const XchgPhase *phase, Random *random) {
    for (size_t i = 0; i < phase->transfers.count; i++) {
        const XchgTransfer *t = phase->transfers.items + i;
        for (uint32_t k = 0; k < t->words; k++) {
            uint32_t word = (uint32_t)random_next(random), address = t->address + 4 * k;
            image_write(&board->expected, board_offset(board, t->source, address), &word, 4);
            for (int m = 0; m < 2; m++)
                machine_write(machines[m], t->source, address, &word, 4, NULL);
        }
    }
}

static void compare(const Board *board, const Machine *machine, const XchgPhase *phase) {
    for (size_t i = 0; i < phase->transfers.count; i++) {
        const XchgTransfer *t = phase->transfers.items + i;
        for (uint32_t k = 0; k < t->dest_count; k++) {
            const XchgDest *d = phase->dests.items + t->first_dest + k;
            uint32_t *got = mem_alloc(t->words, 4);
            machine_read(machine, d->tile, d->address, got, 4 * (size_t)t->words, NULL);
            assert_memory_equal(got,
                                board->expected.bytes + board_offset(board, d->tile, d->address),
                                4 * (size_t)t->words);
            mem_free(got);
        }
    }
}

static void run(Machine *machine) {
    Diag diag = {0};
    if (machine_run(machine, &diag) != STATUS_OK) {
        diag_print(&diag, stderr);
        fail();
    }
}

static void check_phase(Board *board, TestPhase *p, Random *random) {
    XchgSchedule schedule;
    XchgRows rows;
    assert_int_equal(
        xchg_schedule(&p->phase, p->tile_count, &(XchgOptions){0}, &schedule, &rows, NULL),
        STATUS_OK);
    assert_true(rows.rows.items[rows.rows.count - 1].tile < p->tile_count);
    board_map(board, p->tiles, p->used);
    Machine *machines[2];
    for (int m = 0; m < 2; m++) {
        machines[m] =
            machine_create(p->tile_count, NULL, &(MachineOptions){.play_exchange = m == 1});
        assert_non_null(machines[m]);
        load_programs(machines[m], &rows);
        run(machines[m]);
    }
    for (int round = 0; round < 3; round++) {
        fill(board, machines, &p->phase, random);
        board_expect(board, &p->phase);
        for (int m = 0; m < 2; m++) {
            run(machines[m]);
            compare(board, machines[m], &p->phase);
        }
        assert_int_equal(machine_counters(machines[0]).arrived,
                         machine_counters(machines[1]).arrived);
    }
    MachineTileCounters counters = machine_counters(machines[0]);
    assert_int_equal(counters.arrived - counters.released,
                     CHIP_SYNC_INTERNAL_CYCLES + 3 * CHIP_SUP_TAKEN_BRANCH + schedule.horizon);
    board_undo(board);
    for (int m = 0; m < 2; m++)
        machine_free(machines[m]);
    xchg_rows_free(&rows);
    xchg_schedule_free(&schedule);
    xchg_phase_free(&p->phase);
}

static void test_random_phases(void **state) {
    (void)state;
    Board *board = board_create();
    uint64_t seed = 9000, count = getenv("TW_TEST_ALL") ? 1000 : 40;
    printf("phases from seed %llu on\n", (unsigned long long)seed);
    for (uint64_t i = 0; i < count; i++) {
        PhaseLimits limits = {40, 20, i % 8 == 0 ? 5000 : 200, .write_once = false};
        Random random = random_seed(seed + i);
        TestPhase p;
        phase_random(&p, &random, limits);
        check_phase(board, &p, &random);
    }
    board_free(board);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_phases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
