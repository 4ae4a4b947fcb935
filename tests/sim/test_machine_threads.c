/* The same machine in 1, 2 and 7 threads: equal memory, cycles, counters, time lines, traps. */
#include "rig.h"

#include "base/random.h"

enum { TILES = 40 };

/* A tile's work depends on its number: weights and products, loads and stores, patched code in a
 * page that all tiles share, barriers with different arrivals. */
static const char program[] =
    ".supervisor\n setzi $m8, 0x60000\n get $m9, $TILE_ID\n setzi $m2, 0x80000\n"
    "setzi $m5, word\n ld32 $m4, $m5, $mzero, 0\n setzi $m6, patch\n setzi $m1, worker\n"
    "setzi $m7, 3\n"
    "round: and $m0, $m9, 31\n 1: brnzdec $m0, 1b\n put $CCCSLOAD, $m2\n"
    ".set i, 0\n .rept 32\n ld128putcs 2 * i\n .set i, i + 1\n .endr\n"
    "setzi $m0, 0x60100\n runall $m1, $m0, 16\n sync 2\n sync 3\n"
    "and $m0, $m9, 7\n brnz $m0, 2f\n st32 $m4, $m6, $mzero, 0\n 2: call $m10, patch\n"
    "st32step $m3, $mzero, $m8+=, 1\n brnzdec $m7, round\n sync 7\n"
    "bri round\n"
    "patch: setzi $m3, 5\n br $m10\n word: setzi $m3, 9\n"
    ".worker\n .align 8\n worker: ld64 $a0:1, $mvertex_base, $mzero, 2\n setzi $m1, 0x90000\n"
    "get $m0, $WSR\n and $m0, $m0, 7\n shl $m0, $m0, 8\n add $m1, $m1, $m0\n"
    "nop\n rpt 20, 3\n"
    "{ld64step $a2:3, $mzero, $m1+=, 1; f16v4hihov4amp $a4:5, $a2:3, $a0:1, 0}\n"
    "{ld64step $a2:3, $mzero, $m1+=, 1; f16v4hihov4amp $a6:7, $a2:3, $a4:5, 1}\n"
    "{nop; f16v4hihov4amp $a4:5, $a2:3, $a6:7, 2}\n"
    "{st64step $a4:5, $mzero, $m1+=, 1; f16v2tanh $a0, $a4}\n"
    "st64 $a4:5, $mvertex_base, $mzero, 2\n exitz $mzero\n";

typedef struct Result {
    uint8_t memory[TILES][0x2000];
    MachineTileCounters counters[TILES];
    MachineEvent events[TILES][64];
    size_t event_counts[TILES];
} Result;

static void run(const AsmImage *image, unsigned threads, Result *result) {
    Pool *pool = threads ? pool_create(threads) : NULL;
    MachineOptions options = {.timeline = true};
    Machine *machine = rig_machine(image, TILES, pool, &options);
    Random random = random_seed(5);
    for (uint32_t tile = 0; tile < TILES; tile++) {
        uint16_t halves[0x800];
        for (unsigned i = 0; i < COUNT_OF(halves); i++)
            halves[i] = (uint16_t)(random_next(&random) & 0xBBFF);
        machine_write(machine, tile, 0x80000, halves, 512, NULL);
        machine_write(machine, tile, 0x90000, halves, sizeof halves, NULL);
    }
    rig_run(machine);
    rig_run(machine);
    memset(result, 0, sizeof *result);
    for (uint32_t tile = 0; tile < TILES; tile++) {
        machine_read(machine, tile, 0x60000, result->memory[tile], 0x1000, NULL);
        machine_read(machine, tile, 0x90000, result->memory[tile] + 0x1000, 0x1000, NULL);
        result->counters[tile] = machine_tile_counters(machine, tile);
        const MachineEvent *events = machine_timeline(machine, tile, &result->event_counts[tile]);
        for (size_t i = 0; i < result->event_counts[tile] && i < 64; i++) {
            result->events[tile][i].cycle = events[i].cycle;
            result->events[tile][i].kind = events[i].kind;
            result->events[tile][i].address = events[i].address;
        }
    }
    machine_free(machine);
    pool_free(pool);
}

static void any_number_of_threads(void **state) {
    (void)state;
    AsmImage image = rig_assemble(program);
    static Result expected, got;
    run(&image, 0, &expected);
    assert_true(expected.event_counts[0] > 20);
    static const unsigned threads[] = {1, 2, 7};
    for (unsigned i = 0; i < COUNT_OF(threads); i++) {
        run(&image, threads[i], &got);
        assert_memory_equal(&got, &expected, sizeof got);
    }
    asm_image_free(&image);
}

static void traps_in_threads(void **state) {
    (void)state;
    AsmImage image = rig_assemble(".supervisor\n get $m0, $TILE_ID\n and $m0, $m0, 15\n"
                                  "1: brnzdec $m0, 1b\n trap 0\n");
    MachineTrap first = {0};
    for (unsigned threads = 1; threads <= 7; threads += 3) {
        Pool *pool = pool_create(threads);
        Machine *machine = rig_machine(&image, TILES, pool, NULL);
        assert_int_equal(machine_run(machine, NULL), ERR_SIM_BREAKPOINT);
        if (threads == 1)
            first = *machine_trap(machine);
        assert_int_equal(machine_trap(machine)->tile, first.tile);
        assert_int_equal(machine_trap(machine)->cycle, first.cycle);
        machine_free(machine);
        pool_free(pool);
    }
    asm_image_free(&image);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_number_of_threads),
                                       cmocka_unit_test(traps_in_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
