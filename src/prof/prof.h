/* The profile of a run: where every cycle of every tile went.
 *
 * A profile is made from a package and a device that has run it (api/attribute.c). Each tile's
 * time, from the release of the opening host barrier to the last arrival at the closing one, is cut
 * into steps and each step into causes, without a rest: the cells of a tile add up to `cycles`. The
 * cuts come from what the package holds (its plan, lowered once more; the horizons of its rows) by
 * the formulas that the simulator is held to; where a tile ends at another cycle than these say,
 * the difference is a cause of its own.
 */
#pragma once

#include "base/diag.h"
#include "base/mem.h"
#include "run/run.h"

#include <stdio.h>

#define PROF_APPLICATION_ID 0x54574B32 /* "TWK2" */
#define PROF_VERSION        1          /* user_version */

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

/* "multiply_adds", … */
const char *prof_cause_name(ProfCause cause);

typedef struct ProfStep {
    const char *name;      /* kernel family, "exchange", or "end": behind the last step */
    const char *operation; /* value of the graph that it works for, "" for the end */
    uint64_t predicted;    /* by the plan, of the slowest tile */
    /* From the last tile's end of the step before to that of this one. The first from the schedule;
     * the others with a sample before every step, by the schedule and as simulated. */
    uint64_t scheduled, scheduled_sampled, simulated_sampled;
} ProfStep;

/* A buffer in the memory of the tiles of a program; events as in placement. */
typedef struct ProfBuffer {
    uint32_t program;
    const char *name;
    uint32_t address, size, first, last;
} ProfBuffer;

typedef struct Profile {
    uint32_t tiles;
    uint64_t cycles, cycles_sampled, scheduled_cycles, predicted_cycles;
    char digest[PACKAGE_DIGEST_TEXT]; /* of the package */
    VEC(ProfStep) steps;              /* those of the plan, then "end" */
    int32_t *cells;                   /* [(step * tiles + tile) * PROF_CAUSES + cause] */
    uint32_t *program;                /* [tiles] */
    VEC(ProfBuffer) buffers;          /* by program */
    Arena arena;
} Profile;

/* The second step of making a profile. The first one has filled in all but `cycles` and the last
 * step, whose cells hold, as PROF_UNSCHEDULED, when the tile ends by the schedule, and 1 as
 * PROF_IDLE if it had nothing to do since the last barrier. This one turns them into what they mean
 * for an invocation of "run" that took `cycles`. ERR_PROF_LONG. */
Status prof_end(const Device *device, uint64_t cycles, Profile *profile, Diag *diag);
void prof_free(Profile *profile);

/* Sum over the tiles. All causes of all steps add up to cycles * tiles. */
int64_t prof_sum(const Profile *profile, size_t step, ProfCause cause);

/* SQLite, as docs/profile.md says; the whole file or none. Errors: ERR_FILE_*. */
Status prof_write(const Profile *profile, const char *path, Diag *diag);
/* Errors: ERR_FILE_*, ERR_PROF_FORMAT, ERR_PROF_DAMAGED (also where sums are wrong). */
Status prof_read(const char *path, Profile *profile, Diag *diag);

/* One page without references to anything else; events for Chrome's trace viewer, one cycle as a
 * microsecond. NULL without memory; mem_free. */
char *prof_html(const Profile *profile, size_t *size);
char *prof_trace(const Profile *profile, size_t *size);
