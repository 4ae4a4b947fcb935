/* Published and hardware-checked exchange rows, word for word, and the row codec by itself. */
#include "testing.h"

#include "base/random.h"
#include "xchg/row.h"
#include "xchg/xchg.h"

#include <string.h>

typedef struct Copy {
    uint32_t source, address, words;
    XchgDest dests[3];
} Copy;

typedef struct Case {
    XchgPhase phase;
    XchgSchedule schedule;
    uint32_t tiles;
} Case;

static void add(Case *c, Copy copy, int32_t start, bool paired) {
    uint32_t count = 0;
    while (count < 3 && copy.dests[count].address)
        count++;
    assert_int_equal(
        xchg_phase_add(&c->phase, copy.source, copy.address, copy.words, copy.dests, count, NULL),
        STATUS_OK);
    XchgMessage m = {(uint32_t)c->phase.transfers.count - 1, 0, copy.words / (paired ? 2 : 1),
                     start, paired};
    assert_true(vec_push(&c->schedule.messages, m));
}

enum { TEXT = 512 };

static void print_words(const uint32_t *words, size_t count, char text[TEXT]) {
    text[0] = 0;
    for (size_t k = 0; k < count; k++)
        snprintf(text + strlen(text), TEXT - strlen(text), "%s%08x", k ? " " : "", words[k]);
}

static void assert_row(const XchgRows *rows, uint32_t tile, const char *expected) {
    for (size_t i = 0; i < rows->rows.count; i++) {
        const XchgRow *row = rows->rows.items + i;
        if (row->tile != tile)
            continue;
        char text[TEXT];
        print_words(rows->words.items + row->first_word, row->word_count, text);
        assert_string_equal(text, expected);
        return;
    }
    fail_msg("tile %u has no row", tile);
}

/* Encodes the case at its given times, verifies it, and shows that our own schedule of the same
 * copies is no longer than `horizon`. */
static XchgRows encode(Case *c, uint32_t horizon) {
    XchgRows rows, own;
    XchgSchedule schedule;
    Diag diag;
    diag_init(&diag);
    c->tiles = 1472;
    c->phase.name = "test";
    assert_int_equal(xchg_encode(&c->phase, c->tiles, &c->schedule, &rows, &diag), STATUS_OK);
    Status status = xchg_verify(&c->phase, c->tiles, &rows, NULL, &diag);
    if (status != STATUS_OK)
        diag_print(&diag, stderr);
    assert_int_equal(status, STATUS_OK);
    XchgOptions options = {0};
    assert_int_equal(xchg_schedule(&c->phase, c->tiles, &options, &schedule, &own, &diag),
                     STATUS_OK);
    status = xchg_verify(&c->phase, c->tiles, &own, NULL, &diag);
    if (status != STATUS_OK)
        diag_print(&diag, stderr);
    assert_int_equal(status, STATUS_OK);
    assert_true(schedule.horizon <= horizon);
    xchg_schedule_free(&schedule);
    xchg_rows_free(&own);
    diag_free(&diag);
    return rows;
}

static void finish(Case *c, XchgRows *rows) {
    xchg_rows_free(rows);
    xchg_schedule_free(&c->schedule);
    xchg_phase_free(&c->phase);
}

static void test_unicast(void **state) {
    (void)state;
    Case c = {0};
    add(&c, (Copy){0, 0x50000, 3, {{1286, 0x60000}}}, 23, false);
    XchgRows rows = encode(&c, 61);
    assert_row(&rows, 0, "40a00016 784a0001 43a00000");
    assert_row(&rows, 1286, "64000000 64008640 61818000 40a00007 43a00000");
    finish(&c, &rows);
}

static void test_multicast(void **state) {
    (void)state;
    Case c = {0};
    add(&c, (Copy){0, 0x50000, 100, {{2, 0x60000}, {736, 0x64000}}}, 31, false);
    XchgRows rows = encode(&c, 185);
    assert_row(&rows, 0, "40a0001e 7fea0003 74600003 43a00000");
    assert_row(&rows, 2, "64000000 61a98000 640b4640 40a0003a 43a00000");
    assert_row(&rows, 736, "6406c000 61999000 640bc640 40a00038 43a00000");
    finish(&c, &rows);
}

static void test_pointer_continues(void **state) {
    (void)state;
    Case c = {0};
    add(&c, (Copy){4, 0x50000, 64, {{0, 0x60000}}}, 25, false);
    add(&c, (Copy){6, 0x50000, 64, {{0, 0x60100}}}, 87, false);
    XchgRows rows = encode(&c, 186);
    assert_row(&rows, 0, "64000080 61998000 6402c0c0 640fc640 40a00038 43a00000");
    finish(&c, &rows);
}

static void test_sdk_gather(void **state) {
    (void)state;
    Case c = {0};
    add(&c, (Copy){5, 0x60000, 52, {{0, 0x14048 * 4}}}, 25, false);
    add(&c, (Copy){6, 0x60000, 52, {{0, 0x15000 * 4}}}, 75, false);
    add(&c, (Copy){7, 0x60000, 52, {{0, 0x16000 * 4}}}, 127, false);
    add(&c, (Copy){8, 0x60000, 52, {{0, 0x17000 * 4}}}, 177, false);
    XchgRows rows = encode(&c, 266);
    assert_row(&rows, 0,
               "64000082 40a00032 f6600000 03014048 f6600000 03095000 f6600000 04016000 f7200000 "
               "19017000 43a00000");
    finish(&c, &rows);
}

static void test_full_duplex(void **state) {
    (void)state;
    Case c = {0};
    add(&c, (Copy){100, 0x50000, 200, {{900, 0x50000}}}, 24, false);
    add(&c, (Copy){5, 0x50000, 52, {{100, 0x64000}}}, 32, false);
    add(&c, (Copy){7, 0x50000, 60, {{100, 0x65000}}}, 82, false);
    XchgRows rows = encode(&c, 276);
    assert_row(&rows, 100,
               "64000082 40a00016 7b6a0001 70f000c2 76599000 70000001 f7ea02c1 19019400 75e00001 "
               "43a00000");
    assert_row(&rows, 900, "64000104 62294000 64204640 40a0004a 43a00000");
    finish(&c, &rows);
}

static void test_forwarding(void **state) {
    (void)state;
    Case c = {0};
    add(&c, (Copy){0, 0x50000, 64, {{10, 0x60000}}}, 39, false);
    add(&c, (Copy){10, 0x60000, 64, {{20, 0x64000}}}, 166, false);
    XchgRows rows = encode(&c, 269);
    assert_row(&rows, 10, "64000000 61e98000 64004640 40a00064 7fec0001 43a00000");
    assert_row(&rows, 20, "641fc140 640fc640 60399000 40a00044 43a00000");
    finish(&c, &rows);
}

static void test_loopback(void **state) {
    (void)state;
    Case c = {0};
    add(&c, (Copy){0, 0x50000, 28, {{0, 0x64000}, {2, 0x64000}}}, 31, false);
    XchgRows rows = encode(&c, 88);
    assert_row(&rows, 0, "64008000 6406c640 7aca0003 70999000 40a0001c 43a00000");
    finish(&c, &rows);
}

/* One word more, and the neutral falls one event after the send's start: no row can say that. */
static void test_loopback_of_29(void **state) {
    (void)state;
    Case c = {.tiles = 1472};
    add(&c, (Copy){0, 0x50000, 29, {{0, 0x64000}, {2, 0x64000}}}, 31, false);
    XchgRows rows;
    Diag diag;
    diag_init(&diag);
    assert_int_equal(xchg_encode(&c.phase, c.tiles, &c.schedule, &rows, &diag), ERR_XCHG_ENCODE);
    XchgSchedule schedule;
    XchgOptions options = {.no_pairing = true};
    assert_int_equal(xchg_schedule(&c.phase, c.tiles, &options, &schedule, &rows, &diag),
                     STATUS_OK);
    assert_int_equal(schedule.messages.count, 2);
    assert_int_equal(xchg_verify(&c.phase, c.tiles, &rows, NULL, &diag), STATUS_OK);
    xchg_schedule_free(&schedule);
    diag_free(&diag);
    finish(&c, &rows);
}

static void test_paired(void **state) {
    (void)state;
    Case c = {0};
    add(&c, (Copy){0, 0x50000, 128, {{2, 0x60000}, {3, 0x60000}}}, 31, true);
    XchgRows rows = encode(&c, 125);
    assert_row(&rows, 0, "40a0001e 7fe50005 43a00000");
    assert_row(&rows, 2, "64002000 61a40001 60098000 64022640 61a40000 40a00006 43a00000");
    assert_row(&rows, 3, "61ac0001 60098000 61ec0000 40a00006 43a00000");
    finish(&c, &rows);
    Case far = {0};
    add(&far, (Copy){700, 0x50000, 256, {{100, 0x60000}, {101, 0x60000}}}, 0, true);
    rows = encode(&far, 261);
    assert_row(&rows, 101, "6410a45f 61d40002 60098000 6410a640 61d40000 40a00006 43a00000");
    assert_row(&rows, 100, "63ec0002 60098000 63ec0000 40a00006 43a00000");
    finish(&far, &rows);
}

/* The last of an odd number of tiles has no partner that lends its lane. */
static void test_without_partner(void **state) {
    (void)state;
    for (uint32_t tiles = 5; tiles <= 6; tiles++) {
        XchgPhase phase = {.name = "last"};
        XchgDest dests[] = {{2, 0x60000}, {3, 0x60000}};
        XchgSchedule schedule;
        XchgRows rows;
        assert_int_equal(xchg_phase_add(&phase, 4, 0x50000, 400, dests, 2, NULL), STATUS_OK);
        assert_int_equal(xchg_schedule(&phase, tiles, &(XchgOptions){0}, &schedule, &rows, NULL),
                         STATUS_OK);
        assert_int_equal(schedule.messages.items[0].paired, tiles == 6);
        assert_int_equal(rows.rows.items[rows.rows.count - 1].tile, tiles - 1);
        assert_int_equal(xchg_verify(&phase, tiles, &rows, NULL, NULL), STATUS_OK);
        xchg_schedule_free(&schedule);
        xchg_rows_free(&rows);
        xchg_phase_free(&phase);
    }
}

static void assert_words(RowProgram *program, const char *expected) {
    RowWords words = {0};
    int32_t event;
    char text[TEXT];
    assert_int_equal(row_encode(program, &words, &event), ROW_OK);
    print_words(words.items, words.count, text);
    assert_string_equal(text, expected);
    vec_free(&words);
    row_program_free(program);
}

static void test_longest(void **state) {
    (void)state;
    Case c = {0};
    add(&c, (Copy){32, 0xa0000, 4148, {{0, 0x60000}}}, 109, false);
    XchgRows rows = encode(&c, 4318);
    assert_row(&rows, 32, "40a0006c 7ff40001 766fc001 43a00000");
    assert_row(&rows, 0, "641c0400 61998000 67ffc640 40a00038 43a00000");
    finish(&c, &rows);
    /* The same message as the SDK's rows say it, addresses in base registers. */
    RowProgram sender = {.horizon = 109 + 4148}, receiver = {.horizon = 4318};
    assert_true(vec_push(&sender.sends, (RowSend){109, 4148, 0, 1}));
    assert_true(vec_push(&receiver.controls, (RowControl){113, ROW_XPIC, 0, 1024}) &&
                vec_push(&receiver.controls, (RowControl){165, ROW_PIC, 0, 0}) &&
                vec_push(&receiver.controls, (RowControl){4261, ROW_XPIC, 0, 0x640}));
    assert_words(&sender, "40a0006c 7fe00001 766fc001 43a00000");
    assert_words(&receiver, "641c0400 61980000 67ffc640 40a00038 43a00000");
}

/* Every row that the encoder makes is what the decoder reads. False if it makes none, for want of
 * an instruction to split before a two-word one. */
static bool round_trip(const RowProgram *program) {
    RowWords words = {0};
    int32_t event;
    RowFault fault = row_encode(program, &words, &event);
    if (fault == ROW_OK) {
        RowProgram back = {0};
        uint32_t index;
        assert_int_equal(row_decode(words.items, (uint32_t)words.count, &back, &index), ROW_OK);
        assert_int_equal(back.horizon, program->horizon);
        assert_int_equal(back.sends.count, program->sends.count);
        assert_int_equal(back.controls.count, program->controls.count);
        for (size_t i = 0; i < back.sends.count; i++)
            assert_memory_equal(back.sends.items + i, program->sends.items + i, sizeof(RowSend));
        for (size_t i = 0; i < back.controls.count; i++) {
            assert_int_equal(back.controls.items[i].event, program->controls.items[i].event);
            assert_int_equal(back.controls.items[i].value, program->controls.items[i].value);
            assert_int_equal(back.controls.items[i].selector, program->controls.items[i].selector);
        }
        row_program_free(&back);
    } else {
        assert_int_equal(fault, ROW_ALIGNMENT);
    }
    vec_free(&words);
    return fault == ROW_OK;
}

static void test_codec_round_trip(void **state) {
    (void)state;
    uint64_t seed = 20261130;
    Random random = random_seed(seed);
    int unaligned = 0;
    for (int n = 0; n < 2000; n++) {
        RowProgram p = {0};
        int32_t t = 0, first = INT32_MIN;
        for (uint64_t i = random_below(&random, 5); i > 0; i--) {
            t += (int32_t)random_below(&random, 90);
            RowSend s = {t, 1 + (uint32_t)random_below(&random, 300),
                         0x13000 + (uint32_t)random_below(&random, 999), 3};
            t += (int32_t)s.items;
            assert_true(vec_push(&p.sends, s));
            first = MAX_OF(first, s.start);
        }
        p.horizon = (uint32_t)(t + 80);
        size_t send = 0;
        for (int32_t event = 1; event < t + 70; event += 1 + (int32_t)random_below(&random, 40)) {
            while (send < p.sends.count && p.sends.items[send].start + 1 < event)
                send++;
            bool near = false;
            for (size_t k = 0; k < p.sends.count; k++)
                near |= event == p.sends.items[k].start || event == p.sends.items[k].start + 1;
            if (near)
                continue;
            unsigned both = (unsigned)random_below(&random, 3);
            if (both != 1)
                assert_true(vec_push(&p.controls, (RowControl){event, ROW_PIC, 0, 0x14000}));
            if (both != 0)
                assert_true(vec_push(&p.controls, (RowControl){event, ROW_XPIC, 0, 77}));
        }
        unaligned += !round_trip(&p);
        row_program_free(&p);
    }
    assert_true(unaligned < 20);
}

typedef struct Splitting {
    RowSend send; /* no items: none */
    RowControl controls[6];
    uint32_t horizon;
    const char *words;
} Splitting;

#define SOURCE_AT(event)                                                                           \
    { event, ROW_XPIC, 0, 0x640 }
#define POINTER_AT(event)                                                                          \
    { event, ROW_PIC, 0, 0x14000 }

/* Two controls in one event need an even word: which instruction gives up an event for that. */
static const Splitting splittings[] = {
    {{0},
     {SOURCE_AT(10), POINTER_AT(11), SOURCE_AT(11)},
     12, /* a delay with a control */
     "40a00008 64000640 f0200000 19014000 43a00000"},
    {{0},
     {POINTER_AT(3), SOURCE_AT(3)},
     4, /* a plain delay */
     "40a00000 40a00000 f0200000 19014000 43a00000"},
    {{0, 9, 0x14000, 1},
     {POINTER_AT(5), SOURCE_AT(5)},
     9, /* send */
     "784a0001 70000001 f08a0021 19014000 43a00000"},
    {{3, 20, 0x14000, 1},
     {SOURCE_AT(8), POINTER_AT(20), SOURCE_AT(20)},
     23, /* sendpic */
     "40a00002 786a0001 71500640 70000001 f06a0081 19014000 43a00000"},
    {{0, 40, 0x14000, 3}, /* sendpicp that sends: the instruction behind it lasts one event */
     {POINTER_AT(5), SOURCE_AT(5), SOURCE_AT(30), POINTER_AT(31), SOURCE_AT(31)},
     40,
     "784a0003 70000003 f2ea0023 19014000 70000003 70100640 f12a00f3 19014000 43a00000"},
    {{0}, /* silent sendpicp */
     {POINTER_AT(3), SOURCE_AT(3), SOURCE_AT(30), POINTER_AT(31), SOURCE_AT(31)},
     32,
     "40a00000 40a00000 f3200000 19014000 40a00000 64000640 f0200000 19014000 43a00000"},
    {{0}, {POINTER_AT(2), SOURCE_AT(2)}, 4, NULL}, /* one event, one word: nothing to split */
};

static void test_splitting(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(splittings); i++) {
        const Splitting *s = splittings + i;
        RowProgram p = {.horizon = s->horizon};
        if (s->send.items > 0)
            assert_true(vec_push(&p.sends, s->send));
        for (size_t k = 0; k < COUNT_OF(s->controls) && s->controls[k].event > 0; k++)
            assert_true(vec_push(&p.controls, s->controls[k]));
        RowWords words = {0};
        int32_t event;
        RowFault fault = row_encode(&p, &words, &event);
        assert_int_equal(fault, s->words ? ROW_OK : ROW_ALIGNMENT);
        char text[TEXT];
        print_words(words.items, words.count, text);
        if (s->words)
            assert_string_equal(text, s->words);
        assert_int_equal(round_trip(&p), s->words != NULL);
        vec_free(&words);
        row_program_free(&p);
    }
}

static void test_decoder_refuses(void **state) {
    (void)state;
    static const uint32_t bad[][3] = {
        {0x40a00016, 0x784a0001, 0},         /* no return */
        {0x41800003, 0x43a00000, 0},         /* a sync */
        {0x70000001, 0x43a00000, 0},         /* a sendoff without a send */
        {0x40a00000, 0xf6600000, 0x3014048}, /* a two-word control on an odd word */
        {0x12345678, 0x43a00000, 0},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        RowProgram p = {0};
        uint32_t index;
        assert_int_equal(row_decode(bad[i], 3, &p, &index), ROW_WORD);
        row_program_free(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unicast),
        cmocka_unit_test(test_multicast),
        cmocka_unit_test(test_pointer_continues),
        cmocka_unit_test(test_sdk_gather),
        cmocka_unit_test(test_full_duplex),
        cmocka_unit_test(test_forwarding),
        cmocka_unit_test(test_loopback),
        cmocka_unit_test(test_loopback_of_29),
        cmocka_unit_test(test_paired),
        cmocka_unit_test(test_without_partner),
        cmocka_unit_test(test_longest),
        cmocka_unit_test(test_codec_round_trip),
        cmocka_unit_test(test_splitting),
        cmocka_unit_test(test_decoder_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
