/* Random phases: scheduled, accepted by the verifier, executed in the simulator's fabric; every
 * destination byte is right and nothing else changes. */
#include "phases.h"

/* Scheduled by us: what kinds of messages the phases were made of, so that none is forgotten. */
typedef struct Census {
    uint64_t messages, paired, multicast, loopback, split, forwarded, merged;
} Census;

static void count_messages(Census *census, const XchgPhase *phase, const XchgSchedule *schedule) {
    for (size_t i = 0; i < schedule->messages.count; i++) {
        const XchgMessage *m = schedule->messages.items + i;
        const XchgTransfer *t = phase->transfers.items + m->transfer;
        const XchgDest *dests = phase->dests.items + t->first_dest;
        census->messages++;
        census->paired += m->paired;
        census->multicast += t->dest_count > (m->paired ? 2u : 1u);
        census->loopback += has_dest(dests, t->dest_count, t->source);
        census->split += m->word > 0;
    }
    for (size_t i = 0; i < phase->transfers.count; i++) {
        const XchgTransfer *t = phase->transfers.items + i;
        for (size_t k = 0; k < i; k++) {
            const XchgTransfer *o = phase->transfers.items + k;
            for (uint32_t d = 0; d < o->dest_count; d++) {
                const XchgDest *dest = phase->dests.items + o->first_dest + d;
                census->forwarded += dest->tile == t->source && dest->address == t->address;
            }
        }
    }
}

static void fail_with(const Diag *diag, uint64_t seed, const char *what) {
    diag_print(diag, stderr);
    fail_msg("seed %llu: %s", (unsigned long long)seed, what);
}

/* Schedules, verifies and plays the phase, and frees it. */
static void check_phase(Board *board, uint64_t seed, TestPhase *p, Random *random, Census *census) {
    XchgSchedule schedule;
    XchgRows rows;
    Diag diag;
    diag_init(&diag);
    XchgOptions options = {.no_pairing = random_below(random, 4) == 0};
    if (xchg_schedule(&p->phase, p->tile_count, &options, &schedule, &rows, &diag) != STATUS_OK)
        fail_with(&diag, seed, "no schedule");
    assert_true(schedule.horizon >= schedule.least);
    uint32_t *row_address = place_rows(&rows, random);
    if (xchg_verify(&p->phase, p->tile_count, &rows, row_address, &diag) != STATUS_OK)
        fail_with(&diag, seed, "the verifier rejects the rows");
    board_map(board, p->tiles, p->used);
    board_expect(board, &p->phase);
    if (board_play(board, &rows, row_address, p->tile_count) != STATUS_OK) {
        FabricPhase phase = {"test", board->rows, p->tile_count, {0}};
        fabric_report(&phase, &board->trap, &diag);
        fail_with(&diag, seed, "the fabric stops");
    }
    if (!board_equal(board))
        fail_with(&diag, seed, "memory is wrong");
    board_undo(board);
    uint32_t horizon = 0;
    for (size_t i = 0; i < rows.rows.count; i++) {
        const XchgRow *row = rows.rows.items + i;
        assert_int_equal(board->rows[row->tile].event, row->horizon);
        horizon = MAX_OF(horizon, row->horizon);
    }
    assert_int_equal(horizon, schedule.horizon);
    count_messages(census, &p->phase, &schedule);
    mem_free(row_address);
    xchg_rows_free(&rows);
    xchg_schedule_free(&schedule);
    xchg_phase_free(&p->phase);
    diag_free(&diag);
}

#ifdef __SANITIZE_ADDRESS__
#define PHASES 300 /* all of them would take a quarter of a minute */
#else
#define PHASES 2000
#endif

static void test_random_phases(void **state) {
    Board *board = *state;
    Census census = {0};
    uint64_t seed = 3000, count = getenv("TW_TEST_ALL") ? 2000 : PHASES;
    printf("phases from seed %llu on\n", (unsigned long long)seed);
    for (uint64_t i = 0; i < count; i++) {
        /* One in eight with messages longer than one may be. */
        PhaseLimits limits = {40, BOARD_TILES, i % 8 == 0 ? 9000 : 400, .write_once = false};
        Random random = random_seed(seed + i);
        TestPhase p;
        phase_random(&p, &random, limits);
        check_phase(board, seed + i, &p, &random, &census);
    }
    assert_true(census.messages > 10 * count);
    assert_true(census.paired > count && census.multicast > count && census.loopback > count);
    assert_true(census.split > count / 8 && census.forwarded > count / 4);
}

/* Messages of a word or two, and of the length at which a message's own controls meet, to one tile:
 * a control or two in nearly every event, so that few words of the row can be split to align it. */
static void crowd(TestPhase *p, Random *random) {
    uint32_t dest = p->tiles[0], address = 0x60000;
    uint32_t meeting = 52 + 2 * chip_tile_row(chip_tile_physical(dest));
    for (int i = 0; i < 150; i++) {
        uint32_t words = random_below(random, 20) == 0 ? meeting : pick(random, 1, 2);
        uint32_t source = p->tiles[pick(random, 1, p->used - 1)];
        if (random_below(random, 3))
            address += 64;
        XchgDest to = {dest, address};
        assert_int_equal(xchg_phase_add(&p->phase, source, pick_address(random, 4 * words, 4),
                                        words, &to, 1, NULL),
                         STATUS_OK);
        address += 4 * words;
    }
}

static void test_crowded_rows(void **state) {
    Board *board = *state;
    Census census = {0};
    for (uint64_t seed = 7000; seed < 7010; seed++) {
        Random random = random_seed(seed);
        TestPhase p = {.phase.name = "phase test"};
        pick_tiles(&p, &random, BOARD_TILES);
        crowd(&p, &random);
        check_phase(board, seed, &p, &random, &census);
    }
}

/* Messages to the own tile and another one, the pair's partner or not, of every length. At one of
 * them, 29 or 28 by the tile's place in its group of four, the end of the stream falls one event
 * after the start, which no row can say: the message is cut in two. */
static void test_loopbacks(void **state) {
    Board *board = *state;
    for (uint32_t place = 0; place < 4; place++) {
        uint32_t own = chip_tile_logical(place), first = own & ~1u;
        for (uint32_t words = 1; words <= 70; words++)
            for (uint32_t partner = 0; partner < 2; partner++) {
                Random random = random_seed(words);
                TestPhase p = {.phase.name = "phase test",
                               .tiles = {first, first + 1, first + 2, first + 3},
                               .used = 4,
                               .tile_count = CHIP_TILES};
                XchgDest dests[] = {{own, 0x64000}, {partner ? own ^ 1 : first + 2, 0x64000}};
                Census census = {0};
                assert_int_equal(xchg_phase_add(&p.phase, own, 0x50000, words, dests, 2, NULL),
                                 STATUS_OK);
                check_phase(board, words, &p, &random, &census);
                assert_true(census.loopback == census.messages);
                if (!partner)
                    assert_int_equal(census.messages, words == (place < 2 ? 29 : 28) ? 2 : 1);
            }
    }
}

static int set_up(void **state) {
    *state = board_create();
    return 0;
}

static int tear_down(void **state) {
    board_free(*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_phases),
        cmocka_unit_test(test_loopbacks),
        cmocka_unit_test(test_crowded_rows),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
