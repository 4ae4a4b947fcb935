/* Random exchanges of many tiles in 1, 2 and 7 threads: equal memory, cycles and traps. */
#include "rows.h"

enum { TILES = 60, WORDS = 40 };

/* Even tiles send WORDS words each at event 200; every odd one stores at 0x60000 what one of them
 * sends. Tile `broken` listens one event too late. */
static void set_rows(Chip *chip, uint64_t seed, uint32_t broken) {
    Random random = random_seed(seed);
    for (uint32_t tile = 0; tile < TILES; tile += 2) {
        chip_fill(chip, tile, 0x50000, WORDS);
        char *row = mem_printf("delay 199\n send %u, 0x14000, 3", WORDS - 1);
        chip_row(chip, tile, row);
        mem_free(row);
    }
    for (uint32_t tile = 1; tile < TILES; tile += 2) {
        uint32_t from = 2 * (uint32_t)random_below(&random, TILES / 2);
        unsigned s = chip_tile_physical(from), d = chip_tile_physical(tile);
        int source = 200 + chip_route(s, d).time + 1 + (tile == broken);
        int pointer = source + CHIP_EXCHANGE_RECEIVE_PIPE + 2 * (int)chip_tile_row(d);
        char *row = mem_printf("delayxpic %d, 0, %u\n delayxpic %u, 0, 0x640\n"
                               "delaypic %d, 0, 0x18000\n delay %u",
                               source - 1, s, WORDS - 1, pointer - source - WORDS - 1,
                               WORDS + CHIP_EXCHANGE_TAIL_GUARD - 1);
        chip_row(chip, tile, row);
        mem_free(row);
    }
}

typedef struct Result {
    uint32_t words[TILES][WORDS];
    uint64_t arrived[TILES];
    MachineTrap trap;
} Result;

static void run(unsigned threads, uint32_t broken, Result *result) {
    Pool *pool = threads ? pool_create(threads) : NULL;
    Chip chip = chip_create(TILES, pool);
    memset(result, 0, sizeof *result);
    set_rows(&chip, 3, broken);
    Status status = machine_run(chip.machine, NULL);
    assert_int_equal(status, broken ? ERR_SIM_XCHG_SILENT : STATUS_OK);
    for (uint32_t tile = 0; tile < TILES; tile++) {
        machine_read(chip.machine, tile, 0x60000, result->words[tile], 4 * WORDS, NULL);
        result->arrived[tile] = machine_tile_counters(chip.machine, tile).arrived;
    }
    if (broken)
        memcpy(&result->trap, machine_trap(chip.machine), sizeof result->trap);
    chip_free(&chip);
    pool_free(pool);
}

static void any_number_of_threads(void **state) {
    (void)state;
    static const unsigned threads[] = {1, 2, 7};
    static Result expected, got;
    for (uint32_t broken = 0; broken <= 31; broken += 31) {
        run(0, broken, &expected);
        for (unsigned i = 0; i < COUNT_OF(threads); i++) {
            run(threads[i], broken, &got);
            assert_memory_equal(&got, &expected, sizeof got);
        }
    }
    assert_int_equal(expected.trap.tile, 31);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_number_of_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
