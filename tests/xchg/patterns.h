/* Exchange phases that plans of the SigLIP MLP need, and a few regular patterns; for tests and for
 * bench/bench_exchange.c. Each appends transfers and returns false without memory. */
#pragma once

#include "xchg/xchg.h"

static inline uint32_t pattern_shard(uint32_t extent, uint32_t parts, uint32_t i) {
    return i * (extent / parts) + MIN_OF(i, extent % parts);
}

static inline bool pattern_add(XchgPhase *phase, uint32_t source, uint32_t address, uint32_t words,
                               const XchgDest *dests, uint32_t count) {
    return xchg_phase_add(phase, source, address, words, dests, count, NULL) == STATUS_OK;
}

#define PATTERN_TOKENS 729u
#define PATTERN_PANELS 269u /* of 16 hidden units */
#define PATTERN_GROUPS 46u  /* of 16 tokens */

/* The part of one group's tokens and one panel that row block r of the up grid owns. */
static inline bool hidden_piece(XchgPhase *phase, uint32_t rows, uint32_t columns, uint32_t r,
                                uint32_t panel, uint32_t group, XchgDest *dests, uint32_t count) {
    uint32_t begin = 16 * group, end = MIN_OF(begin + 16, PATTERN_TOKENS);
    uint32_t row0 = pattern_shard(PATTERN_TOKENS, rows, r);
    uint32_t row1 = pattern_shard(PATTERN_TOKENS, rows, r + 1);
    uint32_t from = MAX_OF(begin, row0), to = MIN_OF(end, row1), owner = 0;
    if (from >= to)
        return true;
    while (pattern_shard(PATTERN_PANELS, columns, owner + 1) <= panel)
        owner++;
    uint32_t local = panel - pattern_shard(PATTERN_PANELS, columns, owner);
    uint32_t source = 0x60000 + (local * (row1 - row0) + from - row0) * 16;
    for (uint32_t p = 0; p < count; p++)
        dests[p].address += (from - begin) * 16;
    return pattern_add(phase, r + rows * owner, source, (to - from) * 4, dests, count);
}

/* FP8 hidden values 729x4304 from an up grid of rows x columns tiles, each owning whole panels in
 * half-panel order, to the down grid parts x 46 x k_parts (swapped): tile p + parts*(k + k_parts*g)
 * needs the 16 tokens of group g and its part k of the panels, the same for all p. Round j: the
 * groups turn to producers that lie 3 panels apart, so that none waits for another. */
static inline bool pattern_hidden(XchgPhase *phase, uint32_t rows, uint32_t columns, uint32_t parts,
                                  uint32_t k_parts) {
    uint32_t rounds = (uint32_t)div_up(PATTERN_PANELS, k_parts);
    for (uint32_t n = 0; n < rounds * k_parts * PATTERN_GROUPS; n++) {
        uint32_t group = n % PATTERN_GROUPS, k = n / PATTERN_GROUPS % k_parts;
        uint32_t round = n / PATTERN_GROUPS / k_parts;
        uint32_t first = pattern_shard(PATTERN_PANELS, k_parts, k);
        uint32_t count = pattern_shard(PATTERN_PANELS, k_parts, k + 1) - first;
        uint32_t local = (round + group * 3) % count;
        for (uint32_t r = 0; r < rows && round < count; r++) {
            XchgDest dests[16];
            for (uint32_t p = 0; p < parts; p++)
                dests[p] = (XchgDest){p + parts * (k + k_parts * group), 0xa0000 + local * 256};
            if (!hidden_piece(phase, rows, columns, r, first + local, group, dests, parts))
                return false;
        }
    }
    return true;
}

/* F16 partials of the down grid: the k_parts owners of one result block each keep a k-th of it.
 * Round j: part i sends to part i + j. */
static inline bool pattern_reduce_scatter(XchgPhase *phase, uint32_t parts, uint32_t k_parts,
                                          uint32_t words) {
    bool ok = true;
    for (uint32_t round = 1; round < k_parts; round++) {
        for (uint32_t i = 0; i < k_parts; i++) {
            uint32_t to = (i + round) % k_parts;
            for (uint32_t n = 0; ok && n < PATTERN_GROUPS * parts; n++) {
                uint32_t group = n / parts, p = n % parts;
                XchgDest dest = {p + parts * (to + k_parts * group),
                                 0x60000 + (round - 1) * words * 4};
                ok = pattern_add(phase, p + parts * (i + k_parts * group), 0xa0000 + to * words * 4,
                                 words, &dest, 1);
            }
        }
    }
    return ok;
}

/* One resident copy of an operand, cut over the tiles of a group, multicast to all of them. */
static inline bool pattern_replicate(XchgPhase *phase, uint32_t groups, uint32_t share,
                                     uint32_t words) {
    bool ok = true;
    for (uint32_t i = 0; ok && i < groups * share; i++) {
        uint32_t first = i - i % share;
        VEC(XchgDest) dests = {0};
        for (uint32_t p = 0; ok && p < share; p++)
            ok = vec_push(&dests, (XchgDest){first + p, 0x90000 + i % share * words * 4});
        ok = ok && pattern_add(phase, i, 0x60000, words, dests.items, share);
        vec_free(&dests);
    }
    return ok;
}

/* All but one tile of each group send to that one. */
static inline bool pattern_gather(XchgPhase *phase, uint32_t groups, uint32_t share,
                                  uint32_t words) {
    bool ok = true;
    for (uint32_t i = groups; ok && i < groups * share; i++) {
        uint32_t from = i / groups, group = i % groups;
        XchgDest dest = {group * share, 0x60000 + from * words * 4};
        ok = pattern_add(phase, group * share + from, 0xa0000, words, &dest, 1);
    }
    return ok;
}

/* Every tile of a group has a block for every other one. */
static inline bool pattern_transpose(XchgPhase *phase, uint32_t groups, uint32_t share,
                                     uint32_t words) {
    bool ok = true;
    for (uint32_t round = 1; round < share; round++) {
        for (uint32_t i = 0; ok && i < groups * share; i++) {
            uint32_t at = i % share, to = (at + round) % share;
            XchgDest dest = {i - at + to, 0x60000 + at * words * 4};
            ok = pattern_add(phase, i, 0xa0000 + to * words * 4, words, &dest, 1);
        }
    }
    return ok;
}
