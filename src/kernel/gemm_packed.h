/* Internal: how the rows of a product with packed output are dealt to workers; see gemm.S, PACKED.
 */
#pragma once

#include "kernel/launch.h"

enum { PACKED_BLOCK = 16, PACKED_CHUNKS_MOST = 3, PACKED_GROUPS_MOST = 8, PACKED_ROWS_MOST = 160 };

typedef struct PackedShare {
    uint32_t chunks;          /* pieces of every worker that has rows */
    uint32_t used;            /* workers that have rows */
    uint32_t walk;            /* rows that the longest worker walks */
    unsigned longest;         /* bit w: worker w walks as many */
    uint32_t pieces[WORKERS]; /* WORKER_w of gemm.S */
} PackedShare;

/* rows >= 1. False if there is no way; there is none beyond PACKED_ROWS_MOST: too many rows for the
 * strides, given the column groups. */
bool packed_share(uint32_t rows, uint32_t groups, PackedShare *share);
