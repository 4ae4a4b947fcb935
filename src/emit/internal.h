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

/* Does a tile do anything in a step? Barriers, and begin and end of loops, are for all. */
bool emit_is_step(const TileGraph *graph, const LowerStep *step, uint32_t tile);

/* A word to which a number is added; the same one for equal keys. */
typedef struct EmitWordPatch {
    uint32_t address, key, by;
} EmitWordPatch;

/* Code that patches words, as far as it has been counted: words, and cycles that it takes. */
typedef struct EmitPatchSize {
    uint32_t words;
    uint64_t cycles;
    uint32_t count, numbers, keys[2]; /* of the last group */
} EmitPatchSize;

/* One patch more. */
void emit_count_patch(EmitPatchSize *size, uint32_t key);
/* Writes the code, or what takes the numbers off again; returns the end. */
uint32_t *emit_put_patches(uint32_t *out, const EmitWordPatch patches[], uint32_t count, bool back);

/* What the end of a loop's iteration does on a tile. */
typedef struct EmitLoop {
    EmitPatchSize patches[2]; /* of arguments, in order of buffers; of samples too */
    uint32_t rows;            /* that must be patched */
} EmitLoop;

EmitLoop emit_loop(const TileGraph *graph, uint32_t repeat, uint32_t tile);

/* Patches of a tile's row. */
const EmitPatch *emit_find_patches(const EmitExchange *exchange, uint32_t tile, uint32_t *count);
/* Cycles of a call of either function behind a row; 0 if it has none. */
uint64_t emit_row_patch_cycles(const EmitExchange *exchange, uint32_t tile);
/* The functions of a row of a loop of so many iterations, and the offset of one from the row. */
void emit_put_row_functions(const EmitExchange *exchange, uint32_t tile, uint32_t times,
                            uint32_t *out);
uint32_t emit_row_function(const EmitExchange *exchange, const XchgRow *row, bool back);

/* Words of a loop's begin, and of its end besides patches; of a call of a row's function. */
enum { EMIT_REPEAT_WORDS = 3, EMIT_AGAIN_WORDS = 5, EMIT_CALL_WORDS = 1 };

/* Words of the launch sequence of an exchange step, the call of the row included. */
enum { EMIT_LAUNCH_WORDS = 7, EMIT_IDLE_WORDS = 2 };

/* Where a tile's program and samples lie. */
typedef struct EmitLayout {
    uint32_t program, program_bytes;
    uint32_t samples, sample_count;
    uint32_t counters; /* of loops, in their order */
    uint32_t end;      /* of all this */
    uint32_t data;     /* first byte above the host window that is free */
    uint32_t rows;     /* the same below it */
} EmitLayout;

EmitLayout emit_layout(const EmitLibrary *library, const TileGraph *graph, uint32_t tile);
/* ERR_EMIT_CODE if the program ends in memory that cannot be executed. */
Status emit_fits(const EmitLayout *layout, uint32_t tile, Diag *diag);
