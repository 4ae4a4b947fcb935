/* Horizons of large exchange phases: name, transfers, words delivered, bound, horizon, ratio,
 * longest row, policy, and the seconds that scheduling, verifying and simulating took. Phases are
 * those that plans of the SigLIP MLP need, and a few patterns. */
#include "../tests/xchg/execute.h"
#include "../tests/xchg/patterns.h"

#include "base/progress.h"
#include "chip/chip.h"

#include <stdlib.h>
#include <string.h>

#define TILES 1472u

static void must(bool ok, const char *what) {
    if (!ok) {
        fprintf(stderr, "%s failed\n", what);
        exit(1);
    }
}

/* ---- the simulator's fabric ------------------------------------------------------------------ */

#define ROW_ADDRESS 0x4C000u

static uint8_t *memory; /* of all tiles; pages appear as they are touched */
static FabricRow executed[TILES];

static uint8_t *memory_at(uint32_t tile, uint32_t address) {
    return memory + (size_t)tile * CHIP_TILE_MEM_SIZE + (address - CHIP_TILE_MEM_BASE);
}

static void read_memory(void *context, uint32_t tile, uint32_t address, void *bytes, size_t size) {
    (void)context;
    memcpy(bytes, memory_at(tile, address), size);
}

static bool write_memory(void *context, uint32_t tile, uint32_t address, const void *bytes,
                         size_t size) {
    (void)context;
    memcpy(memory_at(tile, address), bytes, size);
    return true;
}

/* Plays the rows; returns the words that were delivered. */
static uint64_t play(const XchgPhase *phase, const XchgRows *rows) {
    for (uint32_t i = 0; i < TILES; i++)
        executed[i].active = false;
    FabricTrap trap;
    for (size_t i = 0; i < rows->rows.count; i++) {
        const XchgRow *row = rows->rows.items + i;
        const uint32_t *words = rows->words.items + row->first_word;
        must(execute_row(executed + row->tile, row, words, ROW_ADDRESS, &trap) == STATUS_OK,
             "executing a row");
    }
    FabricPhase fabric = {phase->name, executed, TILES, {NULL, read_memory, write_memory}};
    must(fabric_run(&fabric, &trap) == STATUS_OK, trap.text);
    uint64_t words = 0;
    for (size_t i = 0; i < phase->transfers.count; i++)
        words += (uint64_t)phase->transfers.items[i].words * phase->transfers.items[i].dest_count;
    return words;
}

static void run(const char *name, XchgPhase *phase) {
    XchgSchedule schedule;
    XchgRows rows;
    Diag diag;
    diag_init(&diag);
    phase->name = name;
    uint64_t bound = xchg_phase_bound(phase, TILES);
    double begin = clock_seconds();
    Status status = xchg_schedule(phase, TILES, &(XchgOptions){0}, &schedule, &rows, &diag);
    double scheduled = clock_seconds();
    if (status == STATUS_OK)
        status = xchg_verify(phase, TILES, &rows, NULL, &diag);
    double verified = clock_seconds();
    if (status != STATUS_OK) {
        diag_print(&diag, stderr);
        exit(1);
    }
    uint64_t words = play(phase, &rows);
    double played = clock_seconds();
    printf("%-40s %7zu %7.2f %6llu %6u %6.3f %6u  %-40s %6.2f %6.2f %6.2f\n", name,
           phase->transfers.count, (double)words * 1e-6, (unsigned long long)bound,
           schedule.horizon, schedule.horizon / (double)bound, rows.max_bytes, schedule.policy,
           scheduled - begin, verified - scheduled, played - verified);
    xchg_schedule_free(&schedule);
    xchg_rows_free(&rows);
    xchg_phase_free(phase);
    diag_free(&diag);
}

typedef enum Pattern { HIDDEN, REDUCE_SCATTER, REPLICATE, GATHER, TRANSPOSE } Pattern;

typedef struct Case {
    const char *name;
    Pattern pattern;
    uint32_t sizes[4];
} Case;

static bool build(XchgPhase *phase, const Case *c) {
    const uint32_t *n = c->sizes;
    switch (c->pattern) {
    case HIDDEN: return pattern_hidden(phase, n[0], n[1], n[2], n[3]);
    case REDUCE_SCATTER: return pattern_reduce_scatter(phase, n[0], n[1], n[2]);
    case REPLICATE: return pattern_replicate(phase, n[0], n[1], n[2]);
    case GATHER: return pattern_gather(phase, n[0], n[1], n[2]);
    case TRANSPOSE: return pattern_transpose(phase, n[0], n[1], n[2]);
    }
    return false;
}

int main(void) {
    memory = mem_alloc(TILES, CHIP_TILE_MEM_SIZE);
    must(memory, "reserving memory");
    printf("%-40s %7s %7s %6s %6s %6s %6s  %-40s %6s %6s %6s\n", "phase", "copies", "Mwords",
           "bound", "events", "ratio", "row B", "policy", "sched", "verify", "fabric");
    static const Case cases[] = {
        {"hidden 5x269 -> 4x46x8 swapped", HIDDEN, {5, 269, 4, 8}},
        {"hidden 5x269 -> 8x46x4 swapped", HIDDEN, {5, 269, 8, 4}},
        {"hidden 4x134 -> 4x46x8 swapped", HIDDEN, {4, 134, 4, 8}},
        {"reduce-scatter of down partials 4x46x8", REDUCE_SCATTER, {4, 8, 288}},
        {"reduce-scatter of down partials 2x46x16", REDUCE_SCATTER, {2, 16, 288}},
        {"reduce-scatter of QKV partials 16x46x2", REDUCE_SCATTER, {16, 2, 864}},
        {"input 46 groups, shared by 32", REPLICATE, {46, 32, 144}},
        {"input 368 groups, shared by 4", REPLICATE, {368, 4, 576}},
        {"input 16 groups, shared by 92", REPLICATE, {16, 92, 64}},
        {"partials of 32 tiles onto one owner", GATHER, {46, 32, 96}},
        {"transpose in 46 groups of 32", TRANSPOSE, {46, 32, 12}},
        {"transpose in 8 groups of 184", TRANSPOSE, {8, 184, 4}},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        XchgPhase phase = {0};
        must(build(&phase, cases + i), "building");
        run(cases[i].name, &phase);
    }
    for (uint32_t i = 0; i < TILES; i++)
        fabric_row_free(executed + i);
    mem_free(memory);
    return 0;
}
