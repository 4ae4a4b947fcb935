/* The exchange fabric by itself: what it delivers, and each way to break a rule. Event times of
 * sound phases are published ones (ipu-stack). */
#include "testing.h"

#include "base/random.h"
#include "sim/fabric.h"

#include <stdlib.h>
#include <string.h>

#define TILES 1288u

/* Physical ids that stand in mux values. */
#define P0 0u
#define P2 64u
#define P4 128u

typedef struct Bench {
    FabricRow rows[TILES];
    uint8_t *memory[TILES]; /* on demand */
    FabricTrap trap;
} Bench;

static uint8_t *memory_of(Bench *b, uint32_t tile) {
    assert_true(tile < TILES);
    if (!b->memory[tile]) {
        b->memory[tile] = mem_alloc(CHIP_TILE_MEM_SIZE, 1);
        assert_non_null(b->memory[tile]);
    }
    return b->memory[tile];
}

static void bench_read(void *context, uint32_t tile, uint32_t address, void *bytes, size_t size) {
    memcpy(bytes, memory_of(context, tile) + address - CHIP_TILE_MEM_BASE, size);
}

static bool bench_write(void *context, uint32_t tile, uint32_t address, const void *bytes,
                        size_t size) {
    memcpy(memory_of(context, tile) + address - CHIP_TILE_MEM_BASE, bytes, size);
    return true;
}

static FabricPhase phase_of(Bench *b) {
    return (FabricPhase){"phase test", b->rows, TILES, {b, bench_read, bench_write}};
}

static Status run(Bench *b) {
    FabricPhase phase = phase_of(b);
    return fabric_run(&phase, &b->trap);
}

static Bench *bench_create(void) {
    Bench *b = mem_alloc(1, sizeof *b);
    assert_non_null(b);
    return b;
}

static void bench_free(Bench *b) {
    for (uint32_t i = 0; i < TILES; i++) {
        fabric_row_free(b->rows + i);
        mem_free(b->memory[i]);
    }
    mem_free(b);
}

/* ---- building rows -------------------------------------------------------------------------- */

static FabricRow *begin(Bench *b, uint32_t tile, int32_t horizon) {
    FabricRow *row = b->rows + tile;
    fabric_row_begin(row, tile, 0x5C000);
    row->event = horizon;
    return row;
}

static void add_send(FabricRow *row, int32_t start, uint32_t items, uint32_t address,
                     uint32_t sctl) {
    assert_true(vec_push(&row->sends, (FabricSend){start, items, address, sctl}));
}

static void add_control(FabricRow *row, int32_t event, FabricStream stream, uint8_t selector,
                        uint32_t value) {
    assert_true(vec_push(&row->controls, (FabricControl){event, (uint8_t)stream, selector, value}));
}

static int compare_controls(const void *a, const void *b) {
    const FabricControl *x = a, *y = b;
    return (x->event > y->event) - (x->event < y->event);
}

/* Controls that arrived out of order. */
static void sort_controls(FabricRow *row) {
    qsort(row->controls.items, row->controls.count, sizeof *row->controls.items, compare_controls);
}

static void fill(Bench *b, uint32_t tile, uint32_t address, uint32_t words) {
    Random random = random_seed(tile + address);
    for (uint32_t i = 0; i < words; i++) {
        uint32_t word = (uint32_t)random_next(&random);
        bench_write(b, tile, address + 4 * i, &word, 4);
    }
}

static void assert_copied(Bench *b, uint32_t from, uint32_t from_address, uint32_t to,
                          uint32_t to_address, uint32_t words) {
    assert_memory_equal(memory_of(b, from) + from_address - CHIP_TILE_MEM_BASE,
                        memory_of(b, to) + to_address - CHIP_TILE_MEM_BASE, 4 * (size_t)words);
}

/* Three words from tile 0 to tile 1286. */
static void unicast(Bench *b) {
    FabricRow *row = begin(b, 0, 26);
    add_send(row, 23, 3, 0x50000, 1);
    row = begin(b, 1286, 61);
    add_control(row, 1, FABRIC_XPIC, 0, P0);
    add_control(row, 4, FABRIC_XPIC, 0, CHIP_MUX_NEUTRAL);
    add_control(row, 53, FABRIC_PIC, 0, 0x18000);
    fill(b, 0, 0x50000, 3);
}

/* 64 items of 64 bits from tile 0 to tiles 2 and 3; tile 1 lends its lane. */
static void paired(Bench *b) {
    FabricRow *row = begin(b, 0, 95);
    add_send(row, 31, 64, 0x50000, 5);
    begin(b, 1, 95);
    for (uint32_t tile = 2; tile <= 3; tile++) {
        row = begin(b, tile, 125);
        if (tile == 2) {
            add_control(row, 1, FABRIC_XPIC, 1, P0);
            add_control(row, 65, FABRIC_XPIC, 1, CHIP_MUX_NEUTRAL);
        }
        add_control(row, 54, FABRIC_PIC, 1, 1);
        add_control(row, 56, FABRIC_PIC, 0, 0x60000 / 4);
        add_control(row, 118, FABRIC_PIC, 1, 0);
        sort_controls(row);
    }
    fill(b, 0, 0x50000, 128);
}

/* 20 words from tile 0 to itself and, unless it is alone, to tile 2. */
static void loopback(Bench *b, bool alone) {
    FabricRow *row = begin(b, 0, 80);
    add_send(row, 31, 20, 0x50000, 3);
    add_control(row, 3, FABRIC_XPIC, 0, P0);
    add_control(row, 23, FABRIC_XPIC, 0, CHIP_MUX_NEUTRAL);
    add_control(row, 55, FABRIC_PIC, 0, 0x64000 / 4);
    fill(b, 0, 0x50000, 20);
    if (alone)
        return;
    row = begin(b, 2, 80);
    add_control(row, 1, FABRIC_XPIC, 0, P0);
    add_control(row, 21, FABRIC_XPIC, 0, CHIP_MUX_NEUTRAL);
    add_control(row, 55, FABRIC_PIC, 0, 0x60000 / 4);
}

/* ---- delivery ------------------------------------------------------------------------------- */

static void test_unicast(void **state) {
    (void)state;
    Bench *b = bench_create();
    unicast(b);
    assert_int_equal(run(b), STATUS_OK);
    assert_copied(b, 0, 0x50000, 1286, 0x60000, 3);
    uint32_t after;
    bench_read(b, 1286, 0x6000C, &after, 4);
    assert_int_equal(after, 0);
    bench_free(b);
}

/* The base registers move both ends. */
static void test_bases(void **state) {
    (void)state;
    Bench *b = bench_create();
    unicast(b);
    b->rows[1286].incoming_base = 0x60000;
    b->rows[1286].controls.items[2].value = 0x100;
    assert_int_equal(run(b), STATUS_OK);
    assert_copied(b, 0, 0x50000, 1286, 0x60400, 3);
    bench_free(b);
}

static void test_paired(void **state) {
    (void)state;
    Bench *b = bench_create();
    paired(b);
    b->rows[3].controls.items[1].value = 0x70008 / 4; /* each member at its own address */
    assert_int_equal(run(b), STATUS_OK);
    assert_copied(b, 0, 0x50000, 2, 0x60000, 128);
    assert_copied(b, 0, 0x50000, 3, 0x70008, 128);
    bench_free(b);
}

static void test_loopback(void **state) {
    (void)state;
    Bench *b = bench_create();
    loopback(b, false);
    assert_int_equal(run(b), STATUS_OK);
    assert_copied(b, 0, 0x50000, 0, 0x64000, 20);
    assert_copied(b, 0, 0x50000, 2, 0x60000, 20);
    bench_free(b);
}

/* 0 -> 10 -> 20: the second message reads what the first one brought, as early as it may. */
static void test_forwarding(void **state) {
    (void)state;
    Bench *b = bench_create();
    uint32_t p0 = chip_tile_physical(0), p10 = chip_tile_physical(10), p20 = chip_tile_physical(20);
    FabricRow *row = begin(b, 0, 103);
    add_send(row, 39, 64, 0x50000, 3);
    int32_t source = 39 + chip_route(p0, p10).time + 1;
    int32_t slot = source + 52 + 2 * (int32_t)chip_tile_row(p10);
    row = begin(b, 10, slot + 133);
    add_control(row, source, FABRIC_XPIC, 0, p0);
    add_control(row, source + 64, FABRIC_XPIC, 0, CHIP_MUX_NEUTRAL);
    add_control(row, slot, FABRIC_PIC, 0, 0x60000 / 4);
    sort_controls(row);
    add_send(row, slot + 69, 64, 0x60000, 3);
    source = slot + 69 + chip_route(p10, p20).time + 1;
    slot = source + 52 + 2 * (int32_t)chip_tile_row(p20);
    row = begin(b, 20, slot + 69);
    add_control(row, source, FABRIC_XPIC, 0, p10);
    add_control(row, source + 64, FABRIC_XPIC, 0, CHIP_MUX_NEUTRAL);
    add_control(row, slot, FABRIC_PIC, 0, 0x64000 / 4);
    sort_controls(row);
    fill(b, 0, 0x50000, 64);
    assert_int_equal(run(b), STATUS_OK);
    assert_copied(b, 0, 0x50000, 20, 0x64000, 64);
    b->rows[10].sends.items[0].start--; /* one event less of the guard */
    b->rows[20].controls.items[0].event--;
    b->rows[20].controls.items[1].event--;
    b->rows[20].controls.items[2].event--;
    assert_int_equal(run(b), ERR_SIM_XCHG_ELEMENT);
    bench_free(b);
}

/* A message that nobody selects is harmless. */
static void test_unheard(void **state) {
    (void)state;
    Bench *b = bench_create();
    FabricRow *row = begin(b, 5, 20);
    add_send(row, 7, 10, 0xA0000, 2);
    assert_int_equal(run(b), STATUS_OK);
    bench_free(b);
}

/* ---- instructions --------------------------------------------------------------------------- */

static Status issue_words(FabricRow *row, const uint32_t *words, size_t count, FabricTrap *trap) {
    for (size_t i = 0; i < count;) {
        IsaInstr instr;
        unsigned size = isa_decode(words + i, count - i, &instr);
        assert_true(size > 0);
        uint32_t pc = row->fetch_begin + 4 * (uint32_t)i;
        Status status = fabric_row_issue(row, &instr, pc, trap);
        if (status != STATUS_OK)
            return status;
        i += size / 4;
    }
    return STATUS_OK;
}

/* A published row with every form: one message of 200 words and five controls during it. */
static void test_instructions(void **state) {
    (void)state;
    static const uint32_t words[] = {0x64000082, 0x40a00016, 0x7b6a0001, 0x70f000c2, 0x76599000,
                                     0x70000001, 0xf7ea02c1, 0x19019400, 0x75e00001};
    FabricTrap trap;
    FabricRow row = {0};
    fabric_row_begin(&row, 100, 0x5C000);
    assert_int_equal(issue_words(&row, words, COUNT_OF(words), &trap), STATUS_OK);
    fabric_row_end(&row, 0x5C000 + 4 * 10);
    assert_int_equal(row.event, 224);
    assert_int_equal(row.sends.count, 1);
    FabricSend send = row.sends.items[0];
    assert_int_equal(send.start, 24);
    assert_int_equal(send.items, 200);
    assert_int_equal(send.address, 0x50000);
    assert_int_equal(send.sctl, 1);
    static const FabricControl expected[] = {{1, FABRIC_XPIC, 0, 130},
                                             {53, FABRIC_XPIC, 0, 194},
                                             {61, FABRIC_PIC, 0, 0x19000},
                                             {113, FABRIC_PIC, 0, 0x19400},
                                             {113, FABRIC_XPIC, 0, 0x640}};
    assert_int_equal(row.controls.count, COUNT_OF(expected));
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        const FabricControl *c = row.controls.items + i;
        assert_int_equal(c->event, expected[i].event);
        assert_int_equal(c->stream, expected[i].stream);
        assert_int_equal(c->selector, expected[i].selector);
        assert_int_equal(c->value, expected[i].value);
    }
    /* A silent sendpicp and a send without direction only wait. */
    static const uint32_t silent[] = {0xf6600000, 0x03014048, 0x78400000};
    fabric_row_begin(&row, 100, 0x5C000);
    row.outgoing_base = 0x100;
    assert_int_equal(issue_words(&row, silent, COUNT_OF(silent), &trap), STATUS_OK);
    assert_int_equal(row.event, 55);
    assert_int_equal(row.sends.count, 0);
    assert_int_equal(row.controls.count, 2);
    /* A delta skips items of the source; addresses are relative to the base. */
    static const uint32_t skipping[] = {0x782a0001, 0x70000009};
    assert_int_equal(issue_words(&row, skipping, COUNT_OF(skipping), &trap), STATUS_OK);
    assert_int_equal(row.sends.count, 2);
    assert_int_equal(row.sends.items[0].address, 0x14000 * 4 + 0x100);
    assert_int_equal(row.sends.items[1].address, 0x14000 * 4 + 0x100 + 4 * 3);
    assert_int_equal(row.sends.items[1].start, 57);
    fabric_row_free(&row);
}

static void test_row_refusals(void **state) {
    (void)state;
    static const uint32_t bad[][3] = {
        {0x40a00000, 0xf6600000, 0x03014048}, /* a two-word control on an odd word */
        {0x70000001},                         /* sendoff, sendpic: nothing to continue */
        {0x70f00640},
        {0x7b6a0001, 0x40a00000, 0x70000001}, /* a delay ends the stream */
        {0x7b6a0001, 0x70000003},             /* another direction */
        {0x7b6a0001, 0x70f3ffff},             /* 18 bits for a mux */
        {0x7bfffff9},                         /* the source address wraps */
        {0x43a00000},                         /* br */
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        FabricTrap trap = {0};
        FabricRow row = {0};
        fabric_row_begin(&row, 7, 0x5C000);
        size_t count = 3;
        while (bad[i][count - 1] == 0)
            count--;
        assert_int_equal(issue_words(&row, bad[i], count, &trap), ERR_SIM_XCHG_ROW);
        assert_int_equal(trap.code, ERR_SIM_XCHG_ROW);
        assert_int_equal(trap.tile, 7);
        assert_true(trap.text[0] != 0);
        fabric_row_free(&row);
    }
}

/* ---- violations ----------------------------------------------------------------------------- */

static void send_from_nowhere(Bench *b) {
    unicast(b);
    b->rows[0].sends.items[0].address = 0xE7FF8;
}

static void receive_nowhere(Bench *b) {
    unicast(b);
    b->rows[1286].controls.items[2].value = 0xE7FF8 / 4;
}

static void send_misaligned(Bench *b) {
    paired(b);
    b->rows[0].sends.items[0].address = 0x50004;
}

static void receive_misaligned(Bench *b) {
    paired(b);
    b->rows[3].controls.items[1].value++;
}

static void too_long(Bench *b) {
    unicast(b);
    b->rows[0].sends.items[0].items = CHIP_EXCHANGE_MAX_ITEMS + 1;
    b->rows[0].event = 5000;
}

static void control_after_start(Bench *b) {
    unicast(b);
    add_control(b->rows, 24, FABRIC_PIC, 0, 0x15000);
}

static void format_meets_source(Bench *b) {
    unicast(b);
    add_control(b->rows, 2, FABRIC_PIC, 1, 0);
    add_control(b->rows, 2, FABRIC_XPIC, 0, CHIP_MUX_NEUTRAL);
}

static void paired_pointer_meets_source(Bench *b) {
    paired(b);
    add_control(b->rows + 3, 56, FABRIC_XPIC, 0, CHIP_MUX_NEUTRAL);
    sort_controls(b->rows + 3);
}

static void host_selected(Bench *b) {
    unicast(b);
    b->rows[1286].controls.items[0].value = CHIP_MUX_HOST;
}

static void late_holds(Bench *b) {
    paired(b);
    b->rows[2].controls.count = 0;
    FabricRow *row = b->rows + 3;
    add_control(b->rows + 2, 54, FABRIC_PIC, 1, 1);
    add_control(b->rows + 2, 56, FABRIC_PIC, 0, 0x60000 / 4);
    add_control(b->rows + 2, 118, FABRIC_PIC, 1, 0);
    add_control(row, 1, FABRIC_XPIC, 1, P0 ^ 2);
    add_control(row, 65, FABRIC_XPIC, 1, CHIP_MUX_NEUTRAL);
    sort_controls(row);
}

static void left_open(Bench *b) {
    unicast(b);
    add_control(b->rows + 1286, 61, FABRIC_XPIC, 0, P2);
}

static void neutral_late(Bench *b) {
    unicast(b);
    b->rows[1286].controls.items[1].event = 6;
}

static void wrong_direction(Bench *b) {
    unicast(b);
    b->rows[0].sends.items[0].sctl = 2;
}

static void partner_without_format(Bench *b) {
    paired(b);
    b->rows[3].controls.items[0].value = 2;
}

static void wide_into_narrow(Bench *b) {
    unicast(b);
    begin(b, 1, 26);
    b->rows[0].sends.items[0].sctl = 5;
}

static void word_under_format(Bench *b) {
    unicast(b);
    FabricRow *row = b->rows + 1286;
    add_control(row, 10, FABRIC_PIC, 1, 1);
    add_control(row, 52, FABRIC_PIC, 1, 0); /* still counts for two events */
    sort_controls(row);
}

static void no_pointer(Bench *b) {
    unicast(b);
    b->rows[1286].controls.count--;
}

/* The late member of a pair selects its next source when the paired message's window ends: the
 * first word would meet the last 64-bit item in memory. */
static void items_meet(Bench *b) {
    paired(b);
    FabricRow *row = b->rows + 3;
    uint32_t d = chip_tile_physical(3);
    add_control(row, 65, FABRIC_XPIC, 0, P4);
    add_control(row, 68, FABRIC_XPIC, 0, CHIP_MUX_NEUTRAL);
    add_control(row, 119, FABRIC_PIC, 0, 0x68000 / 4);
    sort_controls(row);
    row = begin(b, 4, 200);
    add_send(row, 65 - chip_route(P4, d).time - 1, 3, 0x50000,
             (uint32_t)chip_route(P4, d).direction);
}

static void partner_without_row(Bench *b) {
    paired(b);
    b->rows[1].active = false;
}

static void partner_sends(Bench *b) {
    paired(b);
    add_send(b->rows + 1, 94, 1, 0x50000, 1);
}

static void elements_meet(Bench *b) {
    unicast(b);
    add_send(b->rows + 1286, 60, 1, 0x60100, 1);
    b->rows[1286].event = 70;
}

static void fetched_where_written(Bench *b) {
    unicast(b);
    b->rows[1286].fetch_begin = 0x5FF80;
    fabric_row_end(b->rows + 1286, 0x5FFC8); /* 64 more bytes are fetched ahead */
}

static void fetched_where_sent(Bench *b) {
    unicast(b);
    b->rows[0].fetch_begin = 0x53000;
    fabric_row_end(b->rows, 0x53010);
}

static void receiver_returns(Bench *b) {
    unicast(b);
    b->rows[1286].event = 60;
}

static void sender_returns(Bench *b) {
    unicast(b);
    FabricRow *row = begin(b, 5, 5);
    add_send(row, 0, 3, 0x50000, 1); /* rows that send run to event 6 */
}

static void partner_receives_without_row(Bench *b) {
    paired(b);
    b->rows[3].active = false;
}

static void workers_run(Bench *b) {
    unicast(b);
    b->rows[1286].workers = true;
}

static void talks_to_itself(Bench *b) {
    loopback(b, true);
}

/* The second message to the same bytes starts before the first one is complete. */
static void same_bytes(Bench *b) {
    unicast(b);
    FabricRow *row = b->rows + 1286;
    row->controls.count = 0;
    row->event = 64;
    uint32_t d = chip_tile_physical(1286);
    add_control(row, 1, FABRIC_XPIC, 0, P0);
    add_control(row, 4, FABRIC_XPIC, 0, P2);
    add_control(row, 7, FABRIC_XPIC, 0, CHIP_MUX_NEUTRAL);
    add_control(row, 53, FABRIC_PIC, 0, 0x18000);
    add_control(row, 56, FABRIC_PIC, 0, 0x18000);
    row = begin(b, 2, 80);
    add_send(row, 4 - chip_route(P2, d).time - 1, 3, 0x50000,
             (uint32_t)chip_route(P2, d).direction);
}

typedef struct Violation {
    const char *name;
    void (*build)(Bench *);
    Status code;
    uint32_t tile;
    int32_t event;
    TrapClass class;
} Violation;

static const Violation violations[] = {
    {"send address", send_from_nowhere, ERR_SIM_XCHG_ADDRESS, 0, 23, TRAP_UNDEFINED},
    {"receive address", receive_nowhere, ERR_SIM_XCHG_ADDRESS, 1286, 55, TRAP_UNDEFINED},
    {"send alignment", send_misaligned, ERR_SIM_XCHG_MISALIGNED, 0, 31, TRAP_UNDEFINED},
    {"receive alignment", receive_misaligned, ERR_SIM_XCHG_MISALIGNED, 3, 56, TRAP_UNDEFINED},
    {"length", too_long, ERR_SIM_XCHG_LENGTH, 0, 23, TRAP_UNPREDICTABLE},
    {"control at S + 1", control_after_start, ERR_SIM_XCHG_CONTROLS, 0, 24, TRAP_UNPREDICTABLE},
    {"controls meet", format_meets_source, ERR_SIM_XCHG_CONTROLS, 0, 2, TRAP_UNPREDICTABLE},
    {"paired pointer", paired_pointer_meets_source, ERR_SIM_XCHG_CONTROLS, 3, 56,
     TRAP_UNPREDICTABLE},
    {"no tile", host_selected, ERR_SIM_XCHG_SOURCE, 1286, 1, TRAP_UNPREDICTABLE},
    {"late member", late_holds, ERR_SIM_XCHG_LATE, 3, 1, TRAP_UNPREDICTABLE},
    {"left open", left_open, ERR_SIM_XCHG_OPEN, 1286, 61, TRAP_UNPREDICTABLE},
    {"neutral late", neutral_late, ERR_SIM_XCHG_SILENT, 1286, 4, TRAP_UNPREDICTABLE},
    {"direction", wrong_direction, ERR_SIM_XCHG_SILENT, 1286, 1, TRAP_UNPREDICTABLE},
    {"partner's format", partner_without_format, ERR_SIM_XCHG_FORMAT, 3, 56, TRAP_UNPREDICTABLE},
    {"mux width", wide_into_narrow, ERR_SIM_XCHG_FORMAT, 1286, 1, TRAP_UNPREDICTABLE},
    {"word format", word_under_format, ERR_SIM_XCHG_FORMAT, 1286, 53, TRAP_UNPREDICTABLE},
    {"no pointer", no_pointer, ERR_SIM_XCHG_POINTER, 1286, 53, TRAP_UNPREDICTABLE},
    {"items meet", items_meet, ERR_SIM_XCHG_LANE, 3, 119, TRAP_UNPREDICTABLE},
    {"partner's row", partner_without_row, ERR_SIM_XCHG_PARTNER, 0, 31, TRAP_UNPREDICTABLE},
    {"partner sends", partner_sends, ERR_SIM_XCHG_PARTNER, 0, 31, TRAP_UNPREDICTABLE},
    {"elements", elements_meet, ERR_SIM_XCHG_ELEMENT, 1286, 60, TRAP_ELEMENT_CONFLICT},
    {"fetch, written", fetched_where_written, ERR_SIM_XCHG_FETCH, 1286, 53, TRAP_ELEMENT_CONFLICT},
    {"fetch, sent", fetched_where_sent, ERR_SIM_XCHG_FETCH, 0, 23, TRAP_ELEMENT_CONFLICT},
    {"tail", receiver_returns, ERR_SIM_XCHG_RETURN, 1286, 60, TRAP_UNPREDICTABLE},
    {"sender's end", sender_returns, ERR_SIM_XCHG_RETURN, 5, 5, TRAP_UNPREDICTABLE},
    {"no row", partner_receives_without_row, ERR_SIM_XCHG_RETURN, 3, 0, TRAP_UNPREDICTABLE},
    {"workers", workers_run, ERR_SIM_XCHG_WORKERS, 1286, 0, TRAP_UNDEFINED},
    {"itself alone", talks_to_itself, ERR_SIM_XCHG_LOOPBACK, 0, 31, TRAP_UNPREDICTABLE},
    {"same bytes", same_bytes, ERR_SIM_XCHG_ORDER, 1286, 24, TRAP_UNPREDICTABLE},
};

static void test_violations(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(violations); i++) {
        const Violation *v = violations + i;
        Bench *b = bench_create();
        v->build(b);
        Status status = run(b);
        if (status != v->code || b->trap.tile != v->tile || b->trap.event != v->event ||
            b->trap.class != v->class)
            fail_msg("%s: %s, tile %u, event %d: %s", v->name, status_code(status), b->trap.tile,
                     b->trap.event, b->trap.text);
        FabricPhase phase = phase_of(b);
        Diag diag;
        diag_init(&diag);
        assert_int_equal(fabric_report(&phase, &b->trap, &diag), v->code);
        assert_int_equal(diag.count, 1);
        assert_string_equal(diag.entries[0].place.object, "phase test");
        assert_int_equal(diag.entries[0].place.tile, v->tile);
        diag_free(&diag);
        bench_free(b);
    }
}

/* The trap names message and element, and of several violations the first one counts. */
static void test_trap_story(void **state) {
    (void)state;
    Bench *b = bench_create();
    elements_meet(b);
    b->rows[1286].event = 63; /* a violation too, at event 63 */
    assert_int_equal(run(b), ERR_SIM_XCHG_ELEMENT);
    assert_int_equal(b->trap.source, 0);
    assert_int_equal(b->trap.message, 0);
    assert_int_equal(b->trap.element, 5);
    assert_int_equal(b->trap.address, 0x60000);
    assert_int_equal(b->trap.receive_error, CHIP_RERR_CLASH_INSTR);
    b->rows[1286].controls.items[1].event = 5; /* at event 4 */
    assert_int_equal(run(b), ERR_SIM_XCHG_SILENT);
    assert_int_equal(b->trap.event, 4);
    bench_free(b);
}

/* Every allocation may fail; nothing leaks and the code says so. */
static void test_no_memory(void **state) {
    (void)state;
    Bench *b = bench_create();
    unicast(b);
    assert_int_equal(run(b), STATUS_OK);
    Status status = ERR_NO_MEMORY;
    uint64_t n = 1;
    for (; status != STATUS_OK; n++) {
        mem_fail_after(n);
        status = run(b);
        mem_fail_after(0);
        assert_true(status == STATUS_OK || status == ERR_NO_MEMORY);
    }
    assert_true(n > 4);
    bench_free(b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unicast),      cmocka_unit_test(test_bases),
        cmocka_unit_test(test_paired),       cmocka_unit_test(test_loopback),
        cmocka_unit_test(test_forwarding),   cmocka_unit_test(test_unheard),
        cmocka_unit_test(test_instructions), cmocka_unit_test(test_row_refusals),
        cmocka_unit_test(test_violations),   cmocka_unit_test(test_trap_story),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
