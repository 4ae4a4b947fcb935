/* From a tile graph to tile images: shared code, one supervisor program a tile, memory layout.
 *
 * Memory of a tile (the layout of the public ipu-stack runtime, chip/chip.h):
 *   0x4C010  entry stub (8 bytes): jumps to "run"
 *   0x4C018  library: runtime and the kernels that the graph uses, the same on every tile
 *   0x50000  host exchange window
 *   0x58000  runtime state: worker scratch, supervisor stack
 *   0x586E0  library and program where they do not fit below 0x50000; then data
 *
 * The program and its cycle samples go behind the library if they fit below 0x50000; what is then
 * left there is for exchange rows, which go elsewhere below 0x80000 when it is full.
 *
 * A program has two entries. "run": set up the tile, then for ever: host barrier (`sync 7`: the
 * host writes inputs), all steps, host barrier (it reads outputs). "run_sampled" is the same with a
 * cycle sample before every step and one after the last.
 *
 * A loop counts its iterations in a word behind the samples. At the end of each the program adds to
 * every argument that leads into a row of parameters the distance of its members, in its own words,
 * and calls functions behind the exchange rows that do the same with these. Samples of later
 * iterations follow those of the first one.
 *
 * An exchange step is a barrier of all tiles, then the tile's row; a tile without a row only
 * acknowledges the barrier. (Launch sequence of the public ipu-stack runtime.)
 *
 * Order of use: emit_link, emit_space for the ranges that placement may use, placement; for every
 * exchange step emit_exchange_phase, schedule; emit_images.
 */
#pragma once

#include "base/diag.h"
#include "base/mem.h"
#include "lower/lower.h"
#include "place/tiles.h"
#include "xchg/xchg.h"

#define EMIT_RUN         "run"
#define EMIT_RUN_SAMPLED "run_sampled"

typedef struct EmitSymbol {
    uint32_t offset, size; /* from the start of its code */
    const char *name;
} EmitSymbol;

typedef struct EmitLine {
    uint32_t offset;
    const char *file;
    uint32_t line;
} EmitLine;

/* A piece of code at an address, with debug information, offsets ascending. */
typedef struct EmitCode {
    uint32_t address, size;
    const uint8_t *bytes;
    VEC(EmitSymbol) symbols;
    VEC(EmitLine) lines;
} EmitCode;

/* Code that every tile holds at the same addresses: runtime and kernels. */
typedef struct EmitLibrary {
    VEC(EmitCode) parts;    /* below and, if need be, above the host window */
    VEC(EmitCode) data;     /* constants of the kernels, behind each part that has some */
    uint32_t *kernel;       /* entry address of each spec of the tile graph */
    const char **name;      /* entry symbol of each spec */
    uint32_t start, sample; /* runtime: set up the tile; take a cycle sample */
    uint32_t barrier;       /* runtime: wait for all workers */
    uint32_t end_below;     /* first free byte below the host window */
    uint32_t end_above;     /* and above it */
    Arena arena;
} EmitLibrary;

/* Assembles and links. ERR_EMIT_CODE when the code does not fit below 0x80000. */
Status emit_link(const TileGraph *graph, EmitLibrary *library, Diag *diag);
void emit_library_free(EmitLibrary *library);

/* Whether the program of `tile` will fit, known before any address is: ERR_EMIT_CODE. */
Status emit_check(const EmitLibrary *library, const TileGraph *graph, uint32_t tile, Diag *diag);
/* The memory that placement may use on `tile`: the data ranges less library, program and samples.
 * Programs' sizes are known before placement, since every address takes one word. */
PlaceSpace emit_space(const EmitLibrary *library, const TileGraph *graph, uint32_t tile);
/* The space of a tile whose program fits below the host window: an upper bound for planning. */
PlaceSpace emit_space_most(void);

/* A word of a row that changes with every iteration of the loop that it is in. */
typedef struct EmitPatch {
    uint32_t tile, address, increment;
} EmitPatch;

typedef VEC(EmitPatch) EmitPatches;

/* One exchange step, scheduled. The functions below take an array of graph->exchanges of them, by
 * LowerStep.exchange; without exchange steps it may be NULL. What it points to is the caller's and
 * must outlive the results. A tile has a row only if it has a row buffer (TileGraph.row_buffer),
 * which is then at least as large; a tile with a buffer but no row gets one that returns at once.
 */
typedef struct EmitExchange {
    const XchgPhase *phase; /* phase->name stands in schedules and traps */
    const XchgRows *rows;
    const EmitPatch *patches; /* by tile, increment, address */
    uint32_t patch_count;
} EmitExchange;

/* The patches of an exchange's rows at the places of a placement; those that were there before give
 * way. Free with vec_free. */
Status emit_row_patches(const TileGraph *graph, const PlaceMap *places, uint32_t exchange,
                        const XchgRows *rows, EmitPatches *patches, Diag *diag);
/* What the buffer of a row must hold: the row, and behind it functions that patch it. */
uint32_t emit_row_bytes(const EmitExchange *exchange, const XchgRow *row);

/* What exchange step `step` moves, at the addresses of a placement: its copies in their order.
 * phase->name remains the caller's to set; free with xchg_phase_free in any case. */
Status emit_exchange_phase(const TileGraph *graph, const PlaceMap *places, uint32_t step,
                           XchgPhase *phase, Diag *diag);

/* When what happens in one run, in cycles since the release of the opening host barrier. Exact: the
 * simulator runs the same. */
typedef struct EmitTimes {
    uint64_t cycles; /* last arrival at the closing host barrier */
    uint64_t *tile;  /* [tiles] arrival of each tile there */
    /* Steps as they are carried out, those of loops in every iteration: */
    uint32_t run_count;
    uint32_t *run; /* [run_count] number of the step */
    uint64_t *end; /* [run * tiles + tile] when the tile is through with it */
} EmitTimes;

/* The release is at a cycle congruent to `start` modulo 6; that of the first run after a start of
 * entry "run" is congruent to 0. The times are to be freed in any case. */
Status emit_times(const TileGraph *graph, const EmitExchange *exchanges, bool sampled,
                  unsigned start, EmitTimes *times, Diag *diag);
void emit_times_free(EmitTimes *times);
/* Cycles of one sample in the program, from its first word to what follows. */
uint64_t emit_sample_cycles(unsigned start);
/* Cycles from the first word of the launch sequence of a row to its sync. */
uint64_t emit_launch_cycles(void);

/* A step of a program, between two samples. */
typedef struct EmitStep {
    uint32_t step;    /* of the tile graph */
    uint32_t calls;   /* kernel calls it makes on these tiles; of an exchange step: rows, 0 or 1;
                       * of a begin or end of a loop: iterations */
    const char *name; /* symbol of the first kernel; name of the phase; "repeat", "again" */
    uint64_t cycles;  /* on the first tile, in one run of entry "run" from a release at a multiple
                       * of 6; all iterations, and time spent waiting for other tiles included */
} EmitStep;

/* A kernel call of a program. */
typedef struct EmitCall {
    uint32_t address; /* of the `call` */
    uint32_t spec;    /* of the tile graph */
} EmitCall;

/* A distinct program. Tiles that run it have equal code, steps and samples. */
typedef struct EmitProgram {
    EmitCode stub; /* at CHIP_ENTRY_STUB */
    EmitCode code;
    uint32_t run, run_sampled; /* entry addresses */
    uint32_t samples;          /* address of one word for each step in each iteration, and one */
    VEC(EmitStep) steps;       /* those in which the tiles do something; all but computing steps */
    VEC(EmitCall) calls;       /* ascending, of both entries */
    uint32_t first_tile;       /* lowest one that runs it */
} EmitProgram;

/* An exchange row in a tile's memory. */
typedef struct EmitRow {
    uint32_t tile, exchange;
    uint32_t address, size; /* bytes of the row */
    uint32_t stored;        /* bytes, with the functions that patch it */
    const uint32_t *words;
    uint32_t horizon; /* events that it takes */
} EmitRow;

typedef struct EmitImages {
    uint32_t tiles;
    VEC(EmitProgram) programs; /* in order of their first tiles */
    uint32_t *program;         /* [tiles] */
    VEC(EmitRow) rows;         /* by exchange, tile */
    Arena arena;
} EmitImages;

/* Programs for a complete placement. Library and exchanges must outlive the result. */
Status emit_images(const EmitLibrary *library, const TileGraph *graph, const PlaceMap *places,
                   const EmitExchange *exchanges, EmitImages *images, Diag *diag);
void emit_images_free(EmitImages *images);
