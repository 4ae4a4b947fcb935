/* Shared by the files of this module. */
#pragma once

#include "chip/chip.h"
#include "emit/emit.h"

/* Word in the runtime's state, behind the public ones (completion, profile start and end), that
 * tells worker 0 where a sample goes. */
#define EMIT_SAMPLE_SLOT (CHIP_RUNTIME_BASE + 12)

/* Idle cycles of the start-up, so that the first host barrier of entry "run" is reached at a
 * multiple of 6 and worker 0's slot comes first in the run: predictions start there. */
#define EMIT_START_PADDING 2

/* Linked code starts on 16 bytes, so that the alignment of repeat bodies holds. */
#define EMIT_LIBRARY_BASE ((uint32_t)(CHIP_LINK_REGION_BASE + 15) / 16 * 16)
#define EMIT_DATA_BASE    ((uint32_t)CHIP_DATA_BASE)

#define EMIT_CODE_ALIGN 8u

void emit_code_free(EmitCode *code);

/* The calls of `tile` in a step; *count receives how many. */
const LowerCall *emit_tile_calls(const TileGraph *graph, const LowerStep *step, uint32_t tile,
                                 uint32_t *count);

/* Whether a tile has a row in an exchange step. */
static inline bool emit_has_row(const TileGraph *graph, const LowerStep *step, uint32_t tile) {
    return graph->row_buffer[(size_t)step->exchange * graph->tiles + tile] != LOWER_NONE;
}

/* Row of the tile, or NULL. */
const XchgRow *emit_find_row(const XchgRows *rows, uint32_t tile);

/* Words of the launch sequence of an exchange step, the call of the row included. */
enum { EMIT_LAUNCH_WORDS = 7, EMIT_IDLE_WORDS = 2 };

/* Where a tile's program and samples lie. */
typedef struct EmitLayout {
    uint32_t program, program_bytes;
    uint32_t samples, sample_count;
    uint32_t data; /* first byte above the host window that is free */
    uint32_t rows; /* the same below it */
} EmitLayout;

EmitLayout emit_layout(const EmitLibrary *library, const TileGraph *graph, uint32_t tile);
