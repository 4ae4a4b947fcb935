#include "kernel/gemm_packed.h"

enum {
    LEAST = 3,         /* rows that a piece walks at least */
    STRIDE_MOST = 511, /* of a packed stride, in units of 8 bytes */
    ROW_WORDS = 4,
    BLOCK_WORDS = 64, /* of output: 16 rows */
};

/* Pieces of one worker: rows, and whether the output jumps after them. */
typedef struct Pieces {
    uint32_t count;
    uint32_t rows[PACKED_CHUNKS_MOST];
    bool jump[PACKED_CHUNKS_MOST];
} Pieces;

/* Rows `first` ... `end` - 1, cut where a block of output ends. */
static bool cut_at_blocks(uint32_t first, uint32_t end, Pieces *pieces) {
    *pieces = (Pieces){0};
    while (first < end) {
        if (pieces->count == PACKED_CHUNKS_MOST)
            return false;
        uint32_t stop = MIN_OF(end, first / PACKED_BLOCK * PACKED_BLOCK + PACKED_BLOCK);
        if (stop < end && stop - first < LEAST)
            return false;
        pieces->rows[pieces->count] = stop - first;
        pieces->jump[pieces->count++] = stop < end;
        first = stop;
    }
    return true;
}

/* Cuts a piece in two if there are fewer than `count`. */
static bool cut_further(Pieces *pieces, uint32_t count) {
    while (pieces->count < count) {
        uint32_t i = 0;
        while (i < pieces->count &&
               pieces->rows[i] < (i + 1 < pieces->count ? 2 * LEAST : LEAST + 1))
            i++;
        if (i == pieces->count)
            return false;
        for (uint32_t j = pieces->count; j > i; j--) {
            pieces->rows[j] = pieces->rows[j - 1];
            pieces->jump[j] = pieces->jump[j - 1];
        }
        pieces->rows[i] = LEAST;
        pieces->rows[i + 1] -= LEAST;
        pieces->jump[i] = false;
        pieces->count++;
    }
    return true;
}

/* Of output, from the end of a worker's rows back to their start; of left, to their start in the
 * next panel. */
static bool strides_fit(const Pieces *pieces, uint32_t rows, uint32_t groups) {
    uint32_t own = 0, jumps = 0;
    for (uint32_t i = 0; i < pieces->count; i++) {
        own += pieces->rows[i];
        jumps += pieces->jump[i];
    }
    return ROW_WORDS * own + BLOCK_WORDS * (groups - 1) * jumps <= STRIDE_MOST + 1 &&
           ROW_WORDS * (rows - own) + 1 <= STRIDE_MOST;
}

/* May a worker's rows end here? Not so that a piece of less than LEAST rows is not its worker's
 * last one. */
static bool may_end(uint32_t end) {
    uint32_t within = end % PACKED_BLOCK;
    return within == 0 || (within >= LEAST && within <= PACKED_BLOCK - LEAST);
}

/* Deals at most `most` rows to each worker, as many as possible. across: a worker's rows may lie in
 * more than one block. */
static bool deal(uint32_t rows, uint32_t most, bool across, uint32_t ends[WORKERS],
                 uint32_t *used) {
    uint32_t first = 0;
    for (*used = 0; first < rows; ++*used) {
        if (*used == WORKERS)
            return false;
        uint32_t end = MIN_OF(rows, first + most);
        if (!across)
            end = MIN_OF(end, first / PACKED_BLOCK * PACKED_BLOCK + PACKED_BLOCK);
        while (across && end < rows && !may_end(end))
            if (--end == first)
                return false;
        ends[*used] = first = end;
    }
    return true;
}

static bool make_share(const uint32_t ends[WORKERS], uint32_t used, uint32_t rows, uint32_t groups,
                       PackedShare *share) {
    Pieces pieces[WORKERS] = {{0}};
    *share = (PackedShare){.used = used};
    for (uint32_t w = 0; w < used; w++) {
        if (!cut_at_blocks(w ? ends[w - 1] : 0, ends[w], &pieces[w]) ||
            !strides_fit(&pieces[w], rows, groups))
            return false;
        share->chunks = MAX_OF(share->chunks, pieces[w].count);
    }
    for (uint32_t w = 0; w < used; w++) {
        if (!cut_further(&pieces[w], share->chunks))
            return false;
        uint32_t walk = 0, last = share->chunks - 1;
        for (uint32_t i = 0; i <= last; i++) {
            walk += pieces[w].rows[i];
            share->pieces[w] |= pieces[w].rows[i] << 8 * i;
        }
        if (pieces[w].rows[last] < LEAST)
            walk += LEAST - pieces[w].rows[last];
        share->pieces[w] |= (uint32_t)pieces[w].jump[0] << 24 | (uint32_t)pieces[w].jump[1] << 25;
        if (walk > share->walk) {
            share->walk = walk;
            share->longest = 0;
        }
        if (walk == share->walk)
            share->longest |= 1u << w;
    }
    return true;
}

bool packed_share(uint32_t rows, uint32_t groups, PackedShare *share) {
    uint32_t least = (rows + WORKERS - 1) / WORKERS;
    if (rows > PACKED_ROWS_MOST || groups > PACKED_GROUPS_MOST)
        return false;
    for (uint32_t most = least; most <= 3 * PACKED_BLOCK && most <= rows + LEAST; most++)
        for (int across = 0; across < 2; across++) {
            uint32_t ends[WORKERS], used;
            if (deal(rows, most, across, ends, &used) &&
                make_share(ends, used, rows, groups, share))
                return true;
        }
    return false;
}
