/* Horizons of large exchange phases: name, transfers, words delivered, bound, horizon, ratio,
 * longest row, policy, and the seconds that scheduling, verifying and simulating took. Phases are
 * those that plans of the SigLIP MLP need, and a few patterns. */
#include "base/progress.h"
#include "sim/fabric.h"
#include "xchg/xchg.h"

#include <stdlib.h>
#include <string.h>

#define TILES 1472u

static uint32_t shard_begin(uint32_t extent, uint32_t parts, uint32_t i) {
    return i * (extent / parts) + MIN_OF(i, extent % parts);
}

static void must(bool ok, const char *what) {
    if (!ok) {
        fprintf(stderr, "%s failed\n", what);
        exit(1);
    }
}

/* FP8 hidden values 729x4304 from an up grid of rows x columns tiles, each owning whole 16-column
 * groups in half-panel order, to the down grid n x 46 x k (swapped): tile p + n*(k + K*g) needs
 * the 16 tokens of group g and its part of the hidden units, the same for all n. Round j: the
 * groups turn to producers that lie 3 columns apart, so that none waits for another. */
static void hidden_distribution(XchgPhase *phase, uint32_t rows, uint32_t columns, uint32_t parts,
                                uint32_t k_parts) {
    uint32_t rounds = (uint32_t)div_up(269, k_parts);
    for (uint32_t j = 0; j < rounds; j++)
        for (uint32_t k = 0; k < k_parts; k++)
            for (uint32_t group = 0; group < 46; group++) {
                uint32_t begin = 16 * group, end = MIN_OF(begin + 16, 729u);
                uint32_t k0 = shard_begin(269, k_parts, k),
                         kn = shard_begin(269, k_parts, k + 1) - k0;
                if (j >= kn)
                    continue;
                uint32_t c = k0 + (j + group * 3) % kn;
                for (uint32_t r = 0; r < rows; r++) {
                    uint32_t row0 = shard_begin(729, rows, r), row1 = shard_begin(729, rows, r + 1);
                    uint32_t from = MAX_OF(begin, row0), to = MIN_OF(end, row1);
                    if (from >= to)
                        continue;
                    {
                        uint32_t owner = 0;
                        while (shard_begin(269, columns, owner + 1) <= c)
                            owner++;
                        uint32_t height = row1 - row0;
                        uint32_t local = c - shard_begin(269, columns, owner);
                        uint32_t source = 0x60000 + (local * height + from - row0) * 16;
                        uint32_t panel = c - k0;
                        XchgDest dests[16];
                        for (uint32_t p = 0; p < parts; p++)
                            dests[p] = (XchgDest){p + parts * (k + k_parts * group),
                                                  0xa0000 + panel * 256 + (from - begin) * 16};
                        must(xchg_phase_add(phase, r + rows * owner, source, (to - from) * 4, dests,
                                            parts, NULL) == STATUS_OK,
                             "building");
                    }
                }
            }
}

/* F16 partials of the down grid: the k_parts owners of one result block each keep a k-th of it.
 * Round j: part i sends to part i + j. */
static void reduce_scatter(XchgPhase *phase, uint32_t parts, uint32_t k_parts, uint32_t words) {
    for (uint32_t round = 1; round < k_parts; round++) {
        for (uint32_t i = 0; i < k_parts; i++) {
            for (uint32_t group = 0; group < 46; group++) {
                for (uint32_t p = 0; p < parts; p++) {
                    uint32_t to = (i + round) % k_parts;
                    XchgDest dest = {p + parts * (to + k_parts * group),
                                     0x60000 + (round - 1) * words * 4};
                    must(xchg_phase_add(phase, p + parts * (i + k_parts * group),
                                        0xa0000 + to * words * 4, words, &dest, 1,
                                        NULL) == STATUS_OK,
                         "building");
                }
            }
        }
    }
}

/* One resident copy of an operand, multicast to `share` consecutive tiles. */
static void replicate(XchgPhase *phase, uint32_t groups, uint32_t share, uint32_t words) {
    for (uint32_t g = 0; g < groups; g++) {
        for (uint32_t s = 0; s < share; s++) {
            VEC(XchgDest) dests = {0};
            for (uint32_t p = 0; p < share; p++)
                must(vec_push(&dests, (XchgDest){g * share + p, 0x90000 + s * words * 4}),
                     "building");
            must(xchg_phase_add(phase, g * share + s, 0x60000, words, dests.items, share, NULL) ==
                     STATUS_OK,
                 "building");
            vec_free(&dests);
        }
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

static void execute(const XchgRow *row, const uint32_t *words) {
    FabricRow *r = executed + row->tile;
    FabricTrap trap;
    fabric_row_begin(r, row->tile, ROW_ADDRESS);
    for (uint32_t i = 0; i + 1 < row->word_count;) {
        IsaInstr instr;
        unsigned size = isa_decode(words + i, row->word_count - i, &instr);
        must(size > 0 && fabric_row_issue(r, &instr, ROW_ADDRESS + 4 * i, &trap) == STATUS_OK,
             "executing a row");
        i += size / 4;
    }
    fabric_row_end(r, ROW_ADDRESS + 4 * row->word_count);
}

/* Plays the rows; returns the words that were delivered. */
static uint64_t play(const XchgPhase *phase, const XchgRows *rows) {
    for (uint32_t i = 0; i < TILES; i++)
        executed[i].active = false;
    for (size_t i = 0; i < rows->rows.count; i++)
        execute(rows->rows.items + i, rows->words.items + rows->rows.items[i].first_word);
    FabricPhase fabric = {phase->name, executed, TILES, {NULL, read_memory, write_memory}};
    FabricTrap trap;
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

/* All but one tile of each group send to that one. */
static void gather(XchgPhase *phase, uint32_t groups, uint32_t share, uint32_t words) {
    for (uint32_t from = 1; from < share; from++) {
        for (uint32_t g = 0; g < groups; g++) {
            XchgDest dest = {g * share, 0x60000 + from * words * 4};
            must(xchg_phase_add(phase, g * share + from, 0xa0000, words, &dest, 1, NULL) ==
                     STATUS_OK,
                 "building");
        }
    }
}

/* Every tile of a group has a block for every other one. */
static void transpose(XchgPhase *phase, uint32_t groups, uint32_t share, uint32_t words) {
    for (uint32_t round = 1; round < share; round++) {
        for (uint32_t i = 0; i < groups * share; i++) {
            uint32_t at = i % share, to = (at + round) % share;
            XchgDest dest = {i - at + to, 0x60000 + at * words * 4};
            must(xchg_phase_add(phase, i, 0xa0000 + to * words * 4, words, &dest, 1, NULL) ==
                     STATUS_OK,
                 "building");
        }
    }
}

int main(void) {
    memory = mem_alloc(TILES, CHIP_TILE_MEM_SIZE);
    must(memory, "reserving memory");
    printf("%-40s %7s %7s %6s %6s %6s %6s  %-40s %6s %6s %6s\n", "phase", "copies", "Mwords",
           "bound", "events", "ratio", "row B", "policy", "sched", "verify", "fabric");
    XchgPhase phase = {0};
    hidden_distribution(&phase, 5, 269, 4, 8);
    run("hidden 5x269 -> 4x46x8 swapped", &phase);
    phase = (XchgPhase){0};
    hidden_distribution(&phase, 5, 269, 8, 4);
    run("hidden 5x269 -> 8x46x4 swapped", &phase);
    phase = (XchgPhase){0};
    hidden_distribution(&phase, 4, 134, 4, 8);
    run("hidden 4x134 -> 4x46x8 swapped", &phase);
    phase = (XchgPhase){0};
    reduce_scatter(&phase, 4, 8, 288);
    run("reduce-scatter of down partials 4x46x8", &phase);
    phase = (XchgPhase){0};
    reduce_scatter(&phase, 2, 16, 288);
    run("reduce-scatter of down partials 2x46x16", &phase);
    phase = (XchgPhase){0};
    replicate(&phase, 46, 32, 144);
    run("input 46 groups, shared by 32", &phase);
    phase = (XchgPhase){0};
    replicate(&phase, 368, 4, 576);
    run("input 368 groups, shared by 4", &phase);
    phase = (XchgPhase){0};
    replicate(&phase, 16, 92, 64);
    run("input 16 groups, shared by 92", &phase);
    phase = (XchgPhase){0};
    gather(&phase, 46, 32, 96);
    run("partials of 32 tiles onto one owner", &phase);
    phase = (XchgPhase){0};
    transpose(&phase, 46, 32, 12);
    run("transpose in 46 groups of 32", &phase);
    phase = (XchgPhase){0};
    transpose(&phase, 8, 184, 4);
    run("transpose in 8 groups of 184", &phase);
    for (uint32_t i = 0; i < TILES; i++)
        fabric_row_free(executed + i);
    mem_free(memory);
    return 0;
}
