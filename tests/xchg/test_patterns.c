/* Large regular phases: horizons that must not get worse, rows that the verifier and the fabric
 * accept, the same result every time. */
#include "testing.h"

#include "execute.h"
#include "patterns.h"

#include "chip/chip.h"

#include <string.h>

static FabricRow rows_done[CHIP_TILES];

/* Memory of so many tiles is not needed to see that no rule is broken. */
static void read_nothing(void *context, uint32_t tile, uint32_t address, void *bytes, size_t size) {
    (void)context, (void)tile, (void)address;
    memset(bytes, 0, size);
}

static bool write_nothing(void *context, uint32_t tile, uint32_t address, const void *bytes,
                          size_t size) {
    (void)tile, (void)address, (void)bytes;
    *(uint64_t *)context += size / 4;
    return true;
}

static uint64_t wanted_words(const XchgPhase *phase) {
    uint64_t words = 0;
    for (size_t i = 0; i < phase->transfers.count; i++)
        words += (uint64_t)phase->transfers.items[i].words * phase->transfers.items[i].dest_count;
    return words;
}

static void play(const XchgPhase *phase, const XchgRows *rows, const uint32_t *row_address) {
    uint64_t written = 0;
    FabricTrap trap;
    memset(rows_done, 0, sizeof rows_done);
    for (size_t i = 0; i < rows->rows.count; i++) {
        const XchgRow *row = rows->rows.items + i;
        assert_int_equal(execute_row(rows_done + row->tile, row,
                                     rows->words.items + row->first_word, row_address[i], &trap),
                         STATUS_OK);
    }
    FabricPhase fabric = {
        phase->name, rows_done, CHIP_TILES, {&written, read_nothing, write_nothing}};
    Status status = fabric_run(&fabric, &trap);
    if (status != STATUS_OK)
        fail_msg("%s: tile %u, event %d: %s", phase->name, trap.tile, trap.event, trap.text);
    assert_true(written == wanted_words(phase));
    for (uint32_t i = 0; i < CHIP_TILES; i++)
        fabric_row_free(rows_done + i);
}

static void check(const char *name, XchgPhase *phase, bool built, uint64_t bound, uint32_t horizon,
                  uint32_t row_bytes) {
    XchgSchedule schedule;
    XchgRows rows;
    Diag diag;
    diag_init(&diag);
    assert_true(built);
    phase->name = name;
    assert_int_equal(xchg_phase_bound(phase, CHIP_TILES), bound);
    Status status = xchg_schedule(phase, CHIP_TILES, &(XchgOptions){0}, &schedule, &rows, &diag);
    uint32_t *row_address = mem_alloc(rows.rows.count + 1, sizeof *row_address);
    assert_non_null(row_address);
    for (size_t i = 0; i < rows.rows.count; i++)
        row_address[i] = CHIP_TILE_MEM_BASE;
    if (status == STATUS_OK)
        status = xchg_verify(phase, CHIP_TILES, &rows, row_address, &diag);
    if (status != STATUS_OK)
        diag_print(&diag, stderr);
    assert_int_equal(status, STATUS_OK);
    if (schedule.horizon > horizon || rows.max_bytes > row_bytes)
        fail_msg("%s: horizon %u, row bytes %u", name, schedule.horizon, rows.max_bytes);
    play(phase, &rows, row_address);
    mem_free(row_address);
    xchg_schedule_free(&schedule);
    xchg_rows_free(&rows);
    xchg_phase_free(phase);
    diag_free(&diag);
}

/* The hidden tensor between the projections, 5x269 to 4x46x8 swapped: paired, 0.6 of the bound. */
static void test_hidden(void **state) {
    (void)state;
    XchgPhase phase = {0};
    bool built = pattern_hidden(&phase, 5, 269, 4, 8);
    check("hidden", &phase, built, 2176, 1450, 1000);
}

/* Partial sums of that down grid: within 1.10 of the bound. */
static void test_reduce_scatter(void **state) {
    (void)state;
    XchgPhase phase = {0};
    bool built = pattern_reduce_scatter(&phase, 4, 8, 288);
    check("reduce-scatter", &phase, built, 2016, 2217, 200);
}

static void test_replicate(void **state) {
    (void)state;
    XchgPhase phase = {0};
    bool built = pattern_replicate(&phase, 368, 4, 576);
    check("replicate", &phase, built, 2304, 1300, 100);
}

static void test_gather(void **state) {
    (void)state;
    XchgPhase phase = {0};
    bool built = pattern_gather(&phase, 46, 32, 96);
    check("gather", &phase, built, 2976, 3100, 200);
}

static void test_transpose(void **state) {
    (void)state;
    XchgPhase phase = {0};
    bool built = pattern_transpose(&phase, 92, 16, 12);
    check("transpose", &phase, built, 180, 330, 400);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hidden),    cmocka_unit_test(test_reduce_scatter),
        cmocka_unit_test(test_replicate), cmocka_unit_test(test_gather),
        cmocka_unit_test(test_transpose),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
