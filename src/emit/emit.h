/* From a tile graph to tile images: shared code, one supervisor program a tile, memory layout.
 *
 * Memory of a tile (the layout of the public ipu-stack runtime, chip/chip.h):
 *   0x4C010  entry stub (8 bytes): jumps to "run"
 *   0x4C018  library: runtime and the kernels that the graph uses, the same on every tile
 *   0x50000  host exchange window
 *   0x58000  runtime state: worker scratch, supervisor stack
 *   0x586E0  library and program where they do not fit below 0x50000; then data
 * The program and its cycle samples go behind the library if they fit below 0x50000.
 *
 * A program has two entries. "run": set up the tile, then for ever: host barrier (`sync 7`: the
 * host writes inputs), all steps, host barrier (it reads outputs). "run_sampled" is the same with a
 * cycle sample before every step and one after the last.
 *
 * Order of use: emit_link, emit_space for the ranges that placement may use, emit_images.
 */
#pragma once

#include "base/diag.h"
#include "base/mem.h"
#include "lower/lower.h"
#include "place/tiles.h"

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
    uint32_t end_below;     /* first free byte below the host window */
    uint32_t end_above;     /* and above it */
    Arena arena;
} EmitLibrary;

/* Assembles and links. ERR_EMIT_CODE when the code does not fit below 0x80000. */
Status emit_link(const TileGraph *graph, EmitLibrary *library, Diag *diag);
void emit_library_free(EmitLibrary *library);

/* The memory that placement may use on `tile`: the data ranges less library, program and samples.
 * Programs' sizes are known before placement, since every address takes one word. */
PlaceSpace emit_space(const EmitLibrary *library, const TileGraph *graph, uint32_t tile);
/* The space of a tile whose program fits below the host window: an upper bound for planning. */
PlaceSpace emit_space_most(void);

/* Exact cycles from the release of the opening barrier, at a cycle congruent to `start` modulo 6,
 * to the tile's arrival at the closing one; what the simulator runs. The first release after a
 * start of entry "run" is congruent to 0. */
uint64_t emit_tile_cycles(const TileGraph *graph, uint32_t tile, bool sampled, unsigned start);
/* Cycles of one sample in the program, from its first word to what follows. */
uint64_t emit_sample_cycles(unsigned start);

/* A step of a program, between two samples. */
typedef struct EmitStep {
    uint32_t step;    /* of the tile graph */
    uint32_t calls;   /* kernel calls it makes on these tiles */
    const char *name; /* symbol of the first of them */
    uint64_t cycles;  /* of one run of entry "run" from a release at a multiple of 6 */
} EmitStep;

/* A distinct program. Tiles that run it have equal code, steps and samples. */
typedef struct EmitProgram {
    EmitCode stub; /* at CHIP_ENTRY_STUB */
    EmitCode code;
    uint32_t run, run_sampled; /* entry addresses */
    uint32_t samples;          /* address of step_count + 1 words */
    VEC(EmitStep) steps;       /* those in which the tiles do something */
    uint32_t first_tile;       /* lowest one that runs it */
} EmitProgram;

typedef struct EmitImages {
    uint32_t tiles;
    VEC(EmitProgram) programs; /* in order of their first tiles */
    uint32_t *program;         /* [tiles] */
    Arena arena;
} EmitImages;

/* Programs for a complete placement. The library must outlive the result. */
Status emit_images(const EmitLibrary *library, const TileGraph *graph, const PlaceMap *places,
                   EmitImages *images, Diag *diag);
void emit_images_free(EmitImages *images);
