/* The simulator on many tiles: an exchange phase of the whole chip, played and repeated; time
 * against tiles and against bundles; two threads beside a loop that stays in registers. Medians;
 * the first three of the thread's processor time, the last of the clock, both kinds of work in
 * turn. */
#include "../tests/xchg/patterns.h"

#include "asm/asm.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/random.h"
#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BASE     0x4C000u
#define ROW_BASE 0x54000u /* an element of its own */
#define TILES    1472u
#define RUNS     9

static void must(bool ok, const char *what) {
    if (!ok) {
        fprintf(stderr, "%s failed\n", what);
        exit(5);
    }
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count) {
    qsort(values, count, sizeof *values, compare);
    return values[count / 2];
}

static double processor_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static AsmImage assemble(const char *text) {
    AsmObject *object = NULL;
    AsmImage image = {0};
    Diag diag;
    diag_init(&diag);
    bool good =
        asm_assemble("bench.S", text, strlen(text), NULL, &object, &diag) == STATUS_OK &&
        asm_link((const AsmObject *const *)&object, 1, BASE, NULL, 0, &image, &diag) == STATUS_OK;
    diag_print(&diag, stderr);
    must(good, "assembling");
    diag_free(&diag);
    asm_object_free(object);
    return image;
}

static void run(Machine *machine) {
    Diag diag;
    diag_init(&diag);
    bool good = machine_run(machine, &diag) == STATUS_OK;
    diag_print(&diag, stderr);
    must(good, "running");
    diag_free(&diag);
}

/* ---- compute -------------------------------------------------------------------------------- */

/* Six workers stream 8 KiB each: loads, F16 lanes and stores; `rounds` times 1,024 bundles. */
static Machine *streaming(uint32_t tiles, uint32_t rounds, Pool *pool) {
    char *text = mem_printf(
        ".supervisor\n start: setzi $m0, worker\n runall $m0, $mzero, 0\n sync 2\n sync 7\n"
        "bri start\n .worker\n .align 8\n worker: get $m6, $WSR\n and $m6, $m6, 7\n"
        "shl $m6, $m6, 13\n setzi $m2, 0x60000\n add $m2, $m2, $m6\n setzi $m7, 0x90000\n"
        "add $m5, $m7, $m6\n setzi $m0, %u\n"
        "round: add $m6, $m2, 0\n add $m7, $m5, 0\n .align 8\n nop\n rpt 256, 3\n"
        "{ld64step $a0:1, $mzero, $m6+=, 1; f16v4add $a6:7, $a4:5, $a2:3}\n"
        "{ld64step $a2:3, $mzero, $m6+=, 1; f16v4mul $a6:7, $a4:5, $a0:1}\n"
        "{ld64step $a4:5, $mzero, $m6+=, 1; f16v4max $a6:7, $a2:3, $a0:1}\n"
        "{st64step $a6:7, $mzero, $m7+=, 1; f16v4sub $a0:1, $a4:5, $a2:3}\n"
        "brnzdec $m0, again\n exitz $mzero\n again: bri round\n",
        rounds - 1);
    AsmImage image = assemble(text);
    Machine *machine = machine_create(tiles, pool, NULL);
    must(machine, "creating a machine");
    uint8_t bytes[0xC000];
    memset(bytes, 0x3A, sizeof bytes);
    for (uint32_t tile = 0; tile < tiles; tile++)
        must(!machine_load(machine, tile, BASE, image.bytes, image.size, NULL) &&
                 !machine_load(machine, tile, 0x60000, bytes, sizeof bytes, NULL),
             "loading");
    machine_start(machine, image.base);
    asm_image_free(&image);
    mem_free(text);
    run(machine); /* pages and code are there from now on */
    return machine;
}

static double streaming_seconds(uint32_t tiles, uint32_t rounds, double *bundles) {
    Machine *machine = streaming(tiles, rounds, NULL);
    double seconds[RUNS];
    for (int i = 0; i < RUNS; i++) {
        uint64_t before = machine_counters(machine).bundles;
        double begin = processor_seconds();
        run(machine);
        seconds[i] = processor_seconds() - begin;
        *bundles = (double)(machine_counters(machine).bundles - before);
    }
    machine_free(machine);
    return median(seconds, RUNS);
}

static void growth(void) {
    static const uint32_t tiles[] = {64, 128, 256, 512, 1024, 1472};
    printf("\n%-28s %10s %12s %12s\n", "against tiles", "ms", "us a tile", "M bundles/s");
    for (size_t i = 0; i < COUNT_OF(tiles); i++) {
        double bundles, seconds = streaming_seconds(tiles[i], 2, &bundles);
        printf("%-28u %10.2f %12.2f %12.1f\n", tiles[i], seconds * 1e3, seconds * 1e6 / tiles[i],
               bundles / seconds * 1e-6);
    }
    printf("\n%-28s %10s %12s\n", "against bundles, 64 tiles", "ms", "M bundles/s");
    for (uint32_t rounds = 1; rounds <= 64; rounds *= 4) {
        double bundles, seconds = streaming_seconds(64, rounds, &bundles);
        printf("%-28.0f %10.2f %12.1f\n", bundles, seconds * 1e3, bundles / seconds * 1e-6);
    }
}

/* ---- exchange ------------------------------------------------------------------------------- */

/* Host barrier; barrier of all tiles and the row, or its acknowledgement; again. */
static void load_rows(Machine *machine, const XchgRows *rows) {
    static const uint32_t active[] = {0x41800007, 0x41800003, 0x18A00000 | ROW_BASE >> 2},
                          idle[] = {0x41800007, 0x40C00000, 0x41800001};
    uint32_t back[2];
    isa_encode(&(IsaInstr){.form = ISA_BRI, .operand = {BASE}}, back);
    size_t r = 0;
    for (uint32_t tile = 0; tile < TILES; tile++) {
        const XchgRow *row = r < rows->rows.count && rows->rows.items[r].tile == tile
                                 ? &rows->rows.items[r++]
                                 : NULL;
        machine_write(machine, tile, BASE, row ? active : idle, sizeof active, NULL);
        machine_write(machine, tile, BASE + sizeof active, back, 4, NULL);
        if (row)
            machine_write(machine, tile, ROW_BASE, rows->words.items + row->first_word,
                          4 * row->word_count, NULL);
    }
    machine_start(machine, BASE);
}

/* Seconds of the phase when it is met first, and the median of those that follow. */
static void exchange(const char *name, XchgPhase *phase) {
    XchgSchedule schedule;
    XchgRows rows;
    must(xchg_schedule(phase, TILES, &(XchgOptions){0}, &schedule, &rows, NULL) == STATUS_OK,
         "scheduling");
    Machine *machine = machine_create(TILES, NULL, NULL);
    must(machine, "creating a machine");
    load_rows(machine, &rows);
    run(machine);
    double seconds[RUNS], begin = processor_seconds();
    run(machine);
    double first = processor_seconds() - begin;
    for (int i = 0; i < RUNS; i++) {
        begin = processor_seconds();
        run(machine);
        seconds[i] = processor_seconds() - begin;
    }
    uint64_t words = 0;
    for (size_t i = 0; i < phase->transfers.count; i++)
        words += (uint64_t)phase->transfers.items[i].words * phase->transfers.items[i].dest_count;
    printf("%-28s %10.2f %12.1f %12.2f\n", name, (double)words * 1e-6, first * 1e3,
           median(seconds, RUNS) * 1e3);
    machine_free(machine);
    xchg_rows_free(&rows);
    xchg_schedule_free(&schedule);
    xchg_phase_free(phase);
}

static void exchanges(void) {
    printf("%-28s %10s %12s %12s\n", "exchange", "M words", "first ms", "then ms");
    XchgPhase phase = {0};
    must(pattern_reduce_scatter(&phase, 16, 2, 684), "building");
    exchange("sums of two partials", &phase);
    phase = (XchgPhase){0};
    must(pattern_transpose(&phase, 46, 32, 24), "building");
    exchange("transpose in groups of 32", &phase);
    phase = (XchgPhase){0};
    must(pattern_replicate(&phase, 46, 32, 22), "building");
    exchange("one to 32", &phase);
}

/* ---- threads -------------------------------------------------------------------------------- */

/* Work that needs nothing but registers. */
static void spin(void *context, size_t index, unsigned worker) {
    (void)worker;
    uint64_t x = index + 1;
    for (unsigned i = 0; i < 200000; i++)
        x = x * 6364136223846793005u + 1442695040888963407u;
    ((volatile uint64_t *)context)[index] = x;
}

static double spin_seconds(Pool *pool) {
    static uint64_t results[256];
    double begin = clock_seconds();
    pool_run(pool, COUNT_OF(results), spin, results);
    return clock_seconds() - begin;
}

static double machine_seconds(Machine *machine) {
    double begin = clock_seconds();
    run(machine);
    return clock_seconds() - begin;
}

static void threads(void) {
    enum { TURNS = 25 };
    Pool *pool = pool_create(2);
    must(pool, "starting threads");
    Machine *one = streaming(256, 4, NULL), *two = streaming(256, 4, pool);
    double loop[TURNS], simulator[TURNS], ratio[TURNS];
    for (int i = 0; i < TURNS; i++) {
        double loop_one = spin_seconds(NULL), machine_one = machine_seconds(one);
        double loop_two = spin_seconds(pool), machine_two = machine_seconds(two);
        loop[i] = loop_one / loop_two;
        simulator[i] = machine_one / machine_two;
        ratio[i] = simulator[i] / loop[i];
    }
    printf(
        "\ntwo threads: loop in registers %.2f, simulator %.2f times as fast as one; ratio %.2f\n",
        median(loop, TURNS), median(simulator, TURNS), median(ratio, TURNS));
    machine_free(one);
    machine_free(two);
    pool_free(pool);
}

int main(void) {
    exchanges();
    growth();
    threads();
    return 0;
}
