/* SRAM placement on one tile: which address each buffer gets.
 *
 * Rules (the access rules of the chip as ipu-stack and poplibs apply them):
 *  1. A buffer starts at a multiple of its alignment and lies, with its tail, inside one available
 *     range and on one side of 0x80000; an interleaved one at or above 0x80000.
 *  2. Buffers whose lifetimes overlap do not overlap in bytes.
 *  3. A conflict pair that is not soft shares no effective element (16 KiB below 0x80000, the
 *     32 KiB pair above), tails included, whatever the lifetimes.
 *  4. Aliases lie at a fixed offset in their root.
 *  5. A sequence (iterated parameter) is one block of equally spaced members; members that
 *     conflict with each other are spaced by whole elements.
 *  6. The host window may hold only buffers that are dead when the host uses it.
 *  7. Code lies below 0x80000; the code range holds nothing else, and code goes there first.
 * A verdict "infeasible" is a proof; "not found" means that the search gave up.
 */
#pragma once

#include "base/diag.h"
#include "base/mem.h"
#include "base/pool.h"
#include "tensor/tensor.h"

#include <stdio.h>

/* Half open; in bytes. */
typedef struct PlaceRange {
    uint32_t begin, end;
} PlaceRange;

#define PLACE_ROOT UINT32_MAX

typedef struct PlaceBuffer {
    const char *name; /* for reports; owned by the caller; no blanks */
    uint32_t bytes;   /* storage of one member, at least 1 */
    uint32_t tail;    /* bytes behind it that are read and discarded */
    uint32_t align;   /* power of two */
    MemoryClass memory_class;
    uint32_t first, last;  /* inclusive lifetime in events, first <= last */
    uint32_t members;      /* 1, or the length of a sequence */
    bool members_apart;    /* members conflict with each other */
    bool code;             /* is executed; not interleaved */
    uint32_t alias_of;     /* index of the root buffer, or PLACE_ROOT */
    uint32_t alias_offset; /* in bytes from the root's base, if an alias */
} PlaceBuffer;

/* Indices of two buffers. A soft pair is kept apart if that is found to be possible; it never makes
 * a problem infeasible. */
typedef struct PlaceConflict {
    uint32_t a, b;
    bool soft;
} PlaceConflict;

/* All arrays are owned by the caller. Ranges ascend and are disjoint. */
typedef struct PlaceProblem {
    const PlaceRange *ranges;
    uint32_t range_count;
    PlaceRange window;  /* host window, outside `ranges`; empty if it may not be used */
    PlaceRange code;    /* for code alone: outside `ranges` and `window`; may be empty */
    uint32_t end_event; /* window buffers have first > 0 and last < end_event */
    const PlaceBuffer *buffers;
    uint32_t buffer_count;
    const PlaceConflict *conflicts;
    uint32_t conflict_count;
} PlaceProblem;

typedef enum PlaceVerdict {
    PLACE_PLACED,
    PLACE_INFEASIBLE, /* proved */
    PLACE_NOT_FOUND,
} PlaceVerdict;

/* What was short, when not placed. */
typedef enum PlaceShortage {
    PLACE_SHORT_NONE,
    PLACE_SHORT_TOTAL,       /* live bytes of both classes against all ranges */
    PLACE_SHORT_INTERLEAVED, /* live interleaved bytes against region 1 */
    PLACE_SHORT_SINGLE,      /* one buffer is larger than every hole that it may use */
    PLACE_SHORT_ARRANGEMENT, /* the bytes would do, but no arrangement exists or was found */
} PlaceShortage;

typedef struct PlaceResult {
    PlaceVerdict verdict;
    const char *method; /* "lifetime", "size", "end-first", "corners", "search"; static */
    /* One a buffer, when placed; else NULL. The stride is that of a sequence's members; a single
     * buffer has its bytes + tail. */
    uint32_t *address;
    uint32_t *stride;
    /* When not placed: */
    PlaceShortage shortage;
    uint32_t event;     /* worst step */
    uint64_t needed;    /* bytes alive there, of the class that is short */
    uint64_t available; /* bytes that the class may use */
    uint64_t over;      /* bytes missing: needed - available, or for ARRANGEMENT the smallest
                         * growth of the last range with which a cheap order succeeded; 0 if no
                         * growth there helps */
    uint32_t *alive;    /* buffers alive at `event` of that class, largest first */
    uint32_t alive_count;
    uint64_t nodes;   /* search nodes spent */
    bool soft_broken; /* placed, but without regard to soft pairs */
} PlaceResult;

/* Places. Deterministic. Returns STATUS_OK for every verdict; ERR_PLACE_PROBLEM if the problem
 * breaks the field rules above, ERR_NO_MEMORY. The result is to be freed in any case. */
Status place_solve(const PlaceProblem *problem, PlaceResult *result, Diag *diag);

/* Places `count` problems in parallel; equal ones (names aside) are solved once. The results do not
 * depend on the number of threads. results[count] is owned by the caller, each to be freed;
 * *distinct, if not NULL, receives how many were solved. */
Status place_solve_all(const PlaceProblem *problems, uint32_t count, Pool *pool,
                       PlaceResult *results, uint32_t *distinct, Diag *diag);

void place_result_free(PlaceResult *result);

/* Adds the error of a result that is not PLACED: ERR_PLACE_INFEASIBLE or ERR_PLACE_NOT_FOUND, with
 * tile (-1: none), class, step, bytes over and the buffers alive. Returns its code. */
Status place_report(const PlaceProblem *problem, const PlaceResult *result, int32_t tile,
                    Diag *diag);

/* Checks the rules without trusting the solver. NULL if all hold; else the first broken rule as
 * a text in `buffer`. */
const char *place_check(const PlaceProblem *problem, const PlaceResult *result, char *buffer,
                        size_t size);

/* The ranges (of problem->ranges, not of window and code) that no buffer ever touches, ascending.
 * Free *ranges with mem_free. */
Status place_unused(const PlaceProblem *problem, const PlaceResult *result, PlaceRange **ranges,
                    uint32_t *count, Diag *diag);

/* Text form: "range", "window", "code", "buffer", "conflict" lines, then, with a result, "at"
 * lines. place_read takes what place_print wrote (the "at" lines are skipped) for replay. */
void place_print(const PlaceProblem *problem, const PlaceResult *result, FILE *out);

typedef struct PlaceFile {
    PlaceProblem problem; /* its arrays live in the arena */
    Arena arena;
} PlaceFile;

/* `name` is used in messages. ERR_PLACE_TEXT with line and column. */
Status place_read(const char *text, const char *name, PlaceFile *file, Diag *diag);
void place_file_free(PlaceFile *file);
