/* Every way in which a phase is refused, and memory that runs out anywhere. */
#include "testing.h"

#include "chip/chip.h"
#include "xchg/xchg.h"

#include <string.h>

#define TILES 1472u

static void add(XchgPhase *phase, uint32_t source, uint32_t address, uint32_t words,
                const XchgDest *dests, uint32_t count) {
    assert_int_equal(xchg_phase_add(phase, source, address, words, dests, count, NULL), STATUS_OK);
}

/* Schedules the phase and frees everything; the text of the first error stays in `text`. */
static Status schedule(XchgPhase *phase, uint32_t tiles, XchgOptions options, char *text,
                       int32_t *tile) {
    XchgSchedule s;
    XchgRows rows;
    Diag diag;
    diag_init(&diag);
    phase->name = "phase test";
    Status status = xchg_schedule(phase, tiles, &options, &s, &rows, &diag);
    assert_int_equal(diag_status(&diag), status);
    text[0] = 0;
    *tile = -1;
    if (status != STATUS_OK) {
        assert_int_equal(diag.count, 1);
        assert_string_equal(diag.entries[0].place.object, "phase test");
        snprintf(text, 200, "%s", diag.entries[0].text);
        *tile = diag.entries[0].place.tile;
    }
    xchg_schedule_free(&s);
    xchg_rows_free(&rows);
    xchg_phase_free(phase);
    diag_free(&diag);
    return status;
}

typedef struct BadTransfer {
    uint32_t source, address, words;
    XchgDest dests[2];
    uint32_t count;
    Status code;
    int32_t tile;
    const char *says;
} BadTransfer;

static const BadTransfer bad_transfers[] = {
    {8, 0x50000, 4, {{1, 0x60000}}, 1, ERR_XCHG_TRANSFER, 8, "one of 8 tiles"},
    {0, 0x50002, 4, {{1, 0x60000}}, 1, ERR_XCHG_TRANSFER, 0, "word aligned"},
    {0, 0x4bffc, 4, {{1, 0x60000}}, 1, ERR_XCHG_TRANSFER, 0, "in the memory"},
    {0, 0xe7ffc, 4, {{1, 0x60000}}, 1, ERR_XCHG_TRANSFER, 0, "in the memory"},
    {0, 0x50000, 0x40000001, {{1, 0x60000}}, 1, ERR_XCHG_TRANSFER, 0, "in the memory"},
    {0, 0x50000, 0, {{1, 0x60000}}, 1, ERR_XCHG_TRANSFER, 0, "0 words"},
    {0, 0x50000, 4, {{1, 0x60000}}, 0, ERR_XCHG_TRANSFER, 0, "transfer 0"},
    {0, 0x50000, 4, {{8, 0x60000}}, 1, ERR_XCHG_TRANSFER, 8, "destination 0x60000"},
    {0, 0x50000, 4, {{1, 0x60001}}, 1, ERR_XCHG_TRANSFER, 1, "destination 0x60001"},
    {0, 0x50000, 4, {{1, 0xe7ff4}}, 1, ERR_XCHG_TRANSFER, 1, "destination 0xe7ff4"},
    {0, 0x50000, 4, {{1, 0x60000}, {1, 0x70000}}, 2, ERR_XCHG_TRANSFER, 1, "twice"},
    {0, 0x50000, 9000, {{0, 0x58000}, {1, 0x60000}}, 2, ERR_XCHG_TRANSFER, 0, "overlaps"},
    {0, 0x50000, 4, {{0, 0x60000}}, 1, ERR_XCHG_LOOPBACK, 0, "itself alone"},
    {0, 0x50000, 90, {{0, 0x50800}, {1, 0x60000}}, 2, ERR_XCHG_ELEMENT, 0, "memory element"},
    {2, 0x88000, 90, {{1, 0x60000}, {2, 0x8f000}}, 2, ERR_XCHG_ELEMENT, 2, "(0x88000)"},
};

static void test_bad_transfers(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad_transfers); i++) {
        const BadTransfer *b = bad_transfers + i;
        XchgPhase phase = {0};
        char text[200];
        int32_t tile;
        add(&phase, b->source, b->address, b->words, b->dests, b->count);
        Status status = schedule(&phase, 8, (XchgOptions){0}, text, &tile);
        if (status != b->code || tile != b->tile || !strstr(text, b->says))
            fail_msg("case %zu: %s on tile %d: %s", i, status_code(status), tile, text);
    }
}

/* ---- limits --------------------------------------------------------------------------------- */

/* Many short messages to scattered addresses of one tile: some 16 bytes of row each. */
static void scattered(XchgPhase *phase, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        XchgDest dest = {0, 0x60000 + 64 * i};
        add(phase, 1 + i % 50, 0x50000 + 64 * i, 3, &dest, 1);
    }
}

static void test_row_bytes(void **state) {
    (void)state;
    XchgPhase phase = {0};
    char text[200];
    int32_t tile;
    scattered(&phase, 100);
    assert_int_equal(schedule(&phase, TILES, (XchgOptions){.max_row_bytes = 500}, text, &tile),
                     ERR_XCHG_ROW_BYTES);
    assert_int_equal(tile, 0);
    unsigned takes = 0, allowed = 0, over = 0;
    assert_int_equal(
        sscanf(text, "the row takes %u bytes, %u are allowed: %u over", &takes, &allowed, &over),
        3);
    assert_int_equal(allowed, 500);
    assert_true(takes > 800 && takes < 2000 && over == takes - 500);
    scattered(&phase, 100);
    assert_int_equal(schedule(&phase, TILES, (XchgOptions){.max_row_bytes = takes}, text, &tile),
                     STATUS_OK);
}

/* Encodes messages that stand at given times. */
static Status encode(XchgPhase *phase, const XchgMessage *messages, size_t count, char *text,
                     int32_t *tile) {
    XchgSchedule s = {0};
    XchgRows rows;
    Diag diag;
    diag_init(&diag);
    phase->name = "phase test";
    for (size_t i = 0; i < count; i++)
        assert_true(vec_push(&s.messages, messages[i]));
    Status status = xchg_encode(phase, TILES, &s, &rows, &diag);
    text[0] = 0;
    *tile = -1;
    if (status != STATUS_OK) {
        snprintf(text, 200, "%s", diag.entries[0].text);
        *tile = diag.entries[0].place.tile;
    }
    xchg_schedule_free(&s);
    xchg_rows_free(&rows);
    xchg_phase_free(phase);
    diag_free(&diag);
    return status;
}

static void test_control_at_start(void **state) {
    (void)state;
    XchgPhase phase = {0};
    char text[200];
    int32_t tile;
    XchgDest dests[] = {{0, 0x64000}, {2, 0x64000}};
    add(&phase, 0, 0x50000, 29, dests, 2);
    XchgMessage m = {0, 0, 29, 31, false};
    assert_int_equal(encode(&phase, &m, 1, text, &tile), ERR_XCHG_ENCODE);
    assert_int_equal(tile, 0);
    assert_string_equal(text, "event 32: a receive control falls one event after a send starts");
}

static void test_controls_meet(void **state) {
    (void)state;
    XchgPhase phase = {0};
    char text[200];
    int32_t tile;
    /* Both sources are to be selected at event 1 of tile 0. */
    XchgDest dest = {0, 0x60000};
    add(&phase, 4, 0x50000, 8, &dest, 1);
    dest.address = 0x64000;
    add(&phase, 6, 0x50000, 8, &dest, 1);
    XchgMessage m[] = {{0, 0, 8, 25, false}, {1, 0, 8, 23, false}};
    assert_int_equal(encode(&phase, m, 2, text, &tile), ERR_XCHG_ENCODE);
    assert_int_equal(tile, 0);
    assert_string_equal(text, "event 1: two receive controls fall in one event");
}

static void test_sends_overlap(void **state) {
    (void)state;
    XchgPhase phase = {0};
    char text[200];
    int32_t tile;
    XchgDest dest = {100, 0x60000};
    add(&phase, 4, 0x50000, 8, &dest, 1);
    dest.tile = 200;
    add(&phase, 4, 0x50000, 8, &dest, 1);
    XchgMessage m[] = {{0, 0, 8, 100, false}, {1, 0, 8, 107, false}};
    assert_int_equal(encode(&phase, m, 2, text, &tile), ERR_XCHG_ENCODE);
    assert_int_equal(tile, 4);
    assert_string_equal(text, "event 107: a value does not fit its field");
}

static void test_verifier_story(void **state) {
    (void)state;
    XchgPhase phase = {.name = "phase test"};
    XchgDest dest = {1286, 0x60000};
    add(&phase, 0, 0x50000, 3, &dest, 1);
    XchgSchedule s;
    XchgRows rows;
    Diag diag;
    diag_init(&diag);
    assert_int_equal(xchg_schedule(&phase, TILES, &(XchgOptions){0}, &s, &rows, &diag), STATUS_OK);
    rows.words.items[rows.rows.items[1].first_word + 1] += 1u << 14; /* the neutral, one later */
    assert_int_equal(xchg_verify(&phase, TILES, &rows, NULL, &diag), ERR_XCHG_VERIFY);
    assert_int_equal(diag.entries[0].place.tile, 1286);
    assert_string_equal(diag.entries[0].place.object, "phase test");
    assert_string_equal(diag.entries[0].text,
                        "event 1: the mux selects tile 0 for 4 events, in which it sends 3 items");
    xchg_schedule_free(&s);
    xchg_rows_free(&rows);
    xchg_phase_free(&phase);
    diag_free(&diag);
}

/* ---- allocations that fail ------------------------------------------------------------------- */

/* Unicast, multicast, paired, forwarding, and controls that meet. */
static void mixed(XchgPhase *phase) {
    phase->name = "phase test";
    XchgDest dests[] = {{2, 0x60000}, {3, 0x60000}, {7, 0x70000}};
    add(phase, 0, 0x50000, 128, dests, 2);
    add(phase, 5, 0x50000, 40, dests + 1, 2);
    add(phase, 2, 0x60000, 128, dests + 2, 1);
    for (uint32_t i = 0; i < 4; i++) {
        XchgDest dest = {0, 0x90000 + 0x1000 * i};
        add(phase, 8 + i, 0x50000, 52, &dest, 1);
    }
}

static Status all_steps(const XchgPhase *phase) {
    XchgSchedule s;
    XchgRows rows, again = {0};
    Diag diag;
    diag_init(&diag);
    Status status = xchg_schedule(phase, TILES, &(XchgOptions){0}, &s, &rows, &diag);
    if (status == STATUS_OK)
        status = xchg_encode(phase, TILES, &s, &again, &diag);
    if (status == STATUS_OK)
        status = xchg_verify(phase, TILES, &again, NULL, &diag);
    assert_int_equal(diag_status(&diag), status);
    xchg_schedule_free(&s);
    xchg_rows_free(&rows);
    xchg_rows_free(&again);
    diag_free(&diag);
    return status;
}

static void test_no_memory(void **state) {
    (void)state;
    XchgPhase phase = {0};
    mixed(&phase);
    mem_fail_after(0);
    assert_int_equal(all_steps(&phase), STATUS_OK);
    uint64_t allocations = mem_fail_after(0);
    assert_true(allocations > 100);
    /* Every one of the first hundred and of the last hundred, one in seven between. */
    for (uint64_t n = 1; n <= allocations; n++) {
        if (n > 100 && n + 100 < allocations && n % 7 != 0)
            continue;
        mem_fail_after(n);
        Status status = all_steps(&phase);
        mem_fail_after(0);
        assert_int_equal(status, ERR_NO_MEMORY);
    }
    XchgPhase empty = {0};
    XchgDest dest = {1, 0x60000};
    mem_fail_after(1);
    Status status = xchg_phase_add(&empty, 0, 0x50000, 4, &dest, 1, NULL);
    uint64_t bound = xchg_phase_bound(&phase, TILES);
    mem_fail_after(0);
    assert_int_equal(status, ERR_NO_MEMORY);
    assert_int_equal(bound, 0);
    xchg_phase_free(&empty);
    xchg_phase_free(&phase);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_transfers),    cmocka_unit_test(test_row_bytes),
        cmocka_unit_test(test_control_at_start), cmocka_unit_test(test_controls_meet),
        cmocka_unit_test(test_sends_overlap),    cmocka_unit_test(test_verifier_story),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
