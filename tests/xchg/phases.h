/* Random exchange phases for tests, and where their rows are stored. */
#pragma once

#include "board.h"

typedef struct TestPhase {
    XchgPhase phase;
    uint32_t tiles[BOARD_TILES]; /* complete pairs but for the last of an odd count */
    uint32_t used;
    uint32_t tile_count;
} TestPhase;

/* What a phase may hold at most. */
typedef struct PhaseLimits {
    uint32_t messages, tiles, words;
    bool write_once; /* no byte is written twice: whatever is lost shows in the end */
} PhaseLimits;

#define PHASE_DATA 0x50000u /* below it are the rows */

static uint32_t pick(Random *random, uint32_t from, uint32_t to) {
    return from + (uint32_t)random_below(random, (uint64_t)to - from + 1);
}

/* Neighbouring tiles of a small chip, or pairs from anywhere on the whole one. */
static void pick_tiles(TestPhase *p, Random *random, uint32_t most) {
    p->used = 2 * pick(random, 1, most / 2);
    if (random_below(random, 2)) {
        p->tile_count = p->used;
        for (uint32_t i = 0; i < p->used; i++)
            p->tiles[i] = i;
        return;
    }
    p->tile_count = CHIP_TILES;
    bool taken[CHIP_TILES / 2] = {false};
    for (uint32_t i = 0; i < p->used;) {
        uint32_t pair = pick(random, 0, CHIP_TILES / 2 - 1);
        if (taken[pair])
            continue;
        taken[pair] = true;
        p->tiles[i++] = 2 * pair;
        p->tiles[i++] = 2 * pair + 1;
    }
}

static uint32_t pick_address(Random *random, uint32_t bytes, uint32_t align) {
    uint32_t room = CHIP_TILE_MEM_END - PHASE_DATA - bytes;
    return PHASE_DATA + (uint32_t)random_below(random, room / align + 1) * align;
}

/* A range of the phase that lies in `tile`, to be read or written again; 0 if there is none. */
static uint32_t used_address(const TestPhase *p, Random *random, uint32_t tile, uint32_t words,
                             uint32_t align) {
    const XchgPhase *phase = &p->phase;
    for (int tries = 0; tries < 8 && phase->transfers.count > 0; tries++) {
        const XchgTransfer *t =
            phase->transfers.items + random_below(random, phase->transfers.count);
        const XchgDest *d =
            phase->dests.items + t->first_dest + random_below(random, t->dest_count);
        uint32_t address = t->source == tile ? t->address : d->tile == tile ? d->address : 0;
        if (address && t->words >= words && address % align == 0)
            return address;
    }
    return 0;
}

static uint32_t pick_range(const TestPhase *p, Random *random, uint32_t tile, uint32_t words,
                           uint32_t align) {
    uint32_t address = 0;
    if (random_below(random, 4) == 0)
        address = used_address(p, random, tile, words, align);
    return address ? address : pick_address(random, 4 * words, align);
}

static bool overlap(uint32_t a, uint32_t a_words, uint32_t b, uint32_t b_words) {
    return a < b + 4 * b_words && b < a + 4 * a_words;
}

static bool written_before(const TestPhase *p, const XchgDest *dest, uint32_t words) {
    const XchgPhase *phase = &p->phase;
    for (size_t i = 0; i < phase->transfers.count; i++) {
        const XchgTransfer *t = phase->transfers.items + i;
        for (uint32_t k = 0; k < t->dest_count; k++) {
            const XchgDest *d = phase->dests.items + t->first_dest + k;
            if (d->tile == dest->tile && overlap(d->address, t->words, dest->address, words))
                return true;
        }
    }
    return false;
}

static bool has_dest(const XchgDest *dests, uint32_t count, uint32_t tile) {
    for (uint32_t i = 0; i < count; i++) {
        if (dests[i].tile == tile)
            return true;
    }
    return false;
}

/* Adds destinations in random order: single tiles, or complete pairs. */
static uint32_t pick_dests(const TestPhase *p, Random *random, bool pairs, uint32_t words,
                           uint32_t align, XchgDest *dests) {
    uint32_t most = random_below(random, 2) ? 1 : 6, count = 0;
    uint32_t wanted = pick(random, 1, MIN_OF(most, pairs ? p->used / 2 : p->used));
    for (uint32_t tries = 0; count < wanted * (pairs ? 2 : 1) && tries < 50; tries++) {
        uint32_t tile = p->tiles[random_below(random, p->used)];
        if (has_dest(dests, count, tile))
            continue;
        dests[count++] = (XchgDest){tile, pick_range(p, random, tile, words, align)};
        if (pairs)
            dests[count++] = (XchgDest){tile ^ 1, pick_range(p, random, tile ^ 1, words, align)};
    }
    return count;
}

/* A tile that receives its own message does so in another memory element. */
static bool apart(uint32_t source, uint32_t address, uint32_t words, const XchgDest *dests,
                  uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        if (dests[i].tile == source && (chip_effective_mask(address, 4 * words) &
                                        chip_effective_mask(dests[i].address, 4 * words)))
            return false;
    }
    return true;
}

/* Unicasts, multicasts, loopbacks, paired ones, and those that take up what earlier ones touched.
 */
static void add_transfer(TestPhase *p, Random *random, const PhaseLimits *limits) {
    for (;;) {
        XchgDest dests[12];
        uint32_t source = p->tiles[random_below(random, p->used)];
        bool pairs = random_below(random, 3) == 0;
        uint32_t most = random_below(random, 3) ? MIN_OF(70, limits->words) : limits->words;
        uint32_t words = pick(random, 1, most);
        if (pairs)
            words += words % 2;
        uint32_t align = pairs ? 8 : 4;
        uint32_t address = pick_range(p, random, source, words, align);
        uint32_t count = pick_dests(p, random, pairs, words, align, dests);
        bool good = count > 1 || (count == 1 && dests[0].tile != source);
        good = good && apart(source, address, words, dests, count);
        for (uint32_t i = 0; i < count && good && limits->write_once; i++)
            good = !written_before(p, dests + i, words);
        if (!good)
            continue;
        assert_int_equal(xchg_phase_add(&p->phase, source, address, words, dests, count, NULL),
                         STATUS_OK);
        return;
    }
}

static void phase_random(TestPhase *p, Random *random, PhaseLimits limits) {
    *p = (TestPhase){.phase.name = "phase test"};
    pick_tiles(p, random, limits.tiles);
    uint32_t messages = pick(random, 1, limits.messages);
    while (p->phase.transfers.count < messages)
        add_transfer(p, random, &limits);
}

/* Where each row stands: somewhere in the first memory element, which no transfer touches. */
static inline uint32_t *place_rows(const XchgRows *rows, Random *random) {
    uint32_t *address = mem_alloc(rows->rows.count + 1, sizeof *address);
    assert_non_null(address);
    for (size_t i = 0; i < rows->rows.count; i++) {
        uint32_t bytes = 4 * rows->rows.items[i].word_count + CHIP_FETCH_LOOKAHEAD_BYTES;
        assert_true(bytes <= PHASE_DATA - CHIP_TILE_MEM_BASE);
        uint32_t room = (PHASE_DATA - CHIP_TILE_MEM_BASE - bytes) / 8;
        address[i] = CHIP_TILE_MEM_BASE + 8 * (uint32_t)random_below(random, room + 1);
    }
    return address;
}
