/* The profile of a run: where every cycle of every tile went.
 *
 * A profile is made from a package and a device that has run it (api/attribute.c). Each tile's
 * time, from the release of the opening host barrier to the last arrival at the closing one, is cut
 * into steps and each step into causes, without a rest, three times: as the plan predicts it, as it
 * is scheduled, and as it was simulated. The cuts come from what the package holds (its plan,
 * lowered once more; the horizons of its rows) by the formulas that the simulator is held to; where
 * a simulated tile comes to a barrier at another cycle than these say, the difference is a cause of
 * its own.
 */
#pragma once

#include "base/diag.h"
#include "base/mem.h"
#include "pack/pack.h"

#include <stdio.h>

#define PROF_APPLICATION_ID 0x54574B32 /* "TWK2" */
#define PROF_VERSION        2          /* user_version */

typedef enum ProfCause {
    PROF_MULTIPLY_ADDS,     /* logical products at the full rate of the matrix unit */
    PROF_PADDING,           /* the same for rows, columns and inner values that are padding */
    PROF_IMBALANCE,         /* waiting for a slower tile, or for the slowest worker of a product */
    PROF_COEFFICIENT_LOADS, /* the matrix unit gets its next block of weights */
    PROF_LAUNCH_JOIN,       /* arguments, calls, starts and ends of workers */
    PROF_EXCHANGE_PAYLOAD,  /* events in which a row sends or receives, whichever are more */
    PROF_EXCHANGE_CONTROL,  /* the rest of the row */
    PROF_EXCHANGE_SYNC,     /* the barrier itself, after the last arrival */
    PROF_CAST,
    PROF_COPY,
    PROF_ACTIVATION,
    PROF_REDUCTION,
    PROF_IDLE,        /* waiting of a tile that had nothing to do since the last barrier */
    PROF_UNSCHEDULED, /* simulated less scheduled; 0 unless the formulas are wrong */
    PROF_CAUSES
} ProfCause;

typedef enum ProfFigure {
    PROF_PREDICTED, /* by the closed forms of the plan */
    PROF_SCHEDULED, /* by rows and kernel calls as they are in the package */
    PROF_SIMULATED,
    PROF_FIGURES
} ProfFigure;

/* "multiply_adds", … */
const char *prof_cause_name(ProfCause cause);

/* "predicted", … */
const char *prof_figure_name(ProfFigure figure);

typedef struct ProfStep {
    const char *name;      /* kernel family, "exchange", or "end": behind the last step */
    const char *operation; /* value of the graph that it works for, "" for the end */
    /* Of the slowest tile as the plan has it; else from the last tile's end of the step before to
     * that of this one. With a cycle sample before every step by the schedule and as simulated. */
    uint64_t cycles[PROF_FIGURES], scheduled_sampled, simulated_sampled;
    /* Tile-cycles: over all steps and causes those of a figure are its cycles times the tiles. */
    int64_t causes[PROF_FIGURES][PROF_CAUSES];
    uint32_t horizon, bound; /* of the rows of an exchange, in events; else 0 */
} ProfStep;

/* What lies in tiles of one memory map, their rows apart; events as in placement. */
typedef struct ProfBuffer {
    uint32_t map;
    const char *name;
    uint32_t address, size, first, last;
} ProfBuffer;

/* Exchange code, loaded once. */
typedef struct ProfRow {
    uint32_t step, tile, address, size;
} ProfRow;

typedef struct Profile {
    uint32_t tiles;
    uint64_t cycles[PROF_FIGURES], cycles_sampled; /* the latter as simulated */
    char digest[PACKAGE_DIGEST_TEXT];              /* of the package */
    VEC(ProfStep) steps;                           /* those of the plan, then "end" */
    int32_t *cells;          /* as simulated: [(step * tiles + tile) * PROF_CAUSES + cause] */
    uint32_t *map;           /* [tiles] */
    VEC(ProfBuffer) buffers; /* by map */
    VEC(ProfRow) rows;       /* by step, tile */
    Arena arena;
} Profile;

void prof_free(Profile *profile);

bool prof_is_exchange(const ProfStep *step);

/* SQLite, as docs/profile.md says; the whole file or none. Errors: ERR_FILE_*. */
Status prof_write(const Profile *profile, const char *path, Diag *diag);
/* Errors: ERR_FILE_*, ERR_PROF_FORMAT, ERR_PROF_DAMAGED (also where sums are wrong). */
Status prof_read(const char *path, Profile *profile, Diag *diag);

/* One page without references to anything else; events for Chrome's trace viewer, one cycle as a
 * microsecond. NULL without memory; mem_free. */
char *prof_html(const Profile *profile, size_t *size);
char *prof_trace(const Profile *profile, size_t *size);
