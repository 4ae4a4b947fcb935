/* Profiles: where the cycles of a run went. tw_bench makes one; files hold it (docs/profile.md). */
#pragma once

#include "tilework/base.h"

#include <stdint.h>

typedef struct TwProfile TwProfile;

void tw_profile_free(TwProfile *profile);
TwStatus tw_profile_write(TwContext *context, const TwProfile *profile, const char *path);
TwStatus tw_profile_read(TwContext *context, const char *path, TwProfile **profile);

enum { TW_PROFILE_CAUSES = 14 };
/* "multiply_adds", …; cause < TW_PROFILE_CAUSES. */
const char *tw_profile_cause(unsigned cause);

/* By the closed forms of the plan; by the calls and rows of the package; as it was simulated. */
typedef enum TwProfileFigure { TW_PREDICTED, TW_SCHEDULED, TW_SIMULATED } TwProfileFigure;
enum { TW_PROFILE_FIGURES = 3 };
/* "predicted", "scheduled", "simulated" */
const char *tw_profile_figure(TwProfileFigure figure);

typedef struct TwProfileTotals {
    unsigned tiles;
    uint64_t cycles[TW_PROFILE_FIGURES], cycles_sampled;
    /* Mean over all tiles; they add up to the figure's cycles. */
    double causes[TW_PROFILE_FIGURES][TW_PROFILE_CAUSES];
    /* Sums over the exchange phases, and the one whose horizon is farthest above its bound: its
     * step, or -1 if there is none, and what it works for. */
    uint64_t horizon, bound;
    int worst_phase;
    const char *worst_operation; /* as long as the profile; NULL if there is none */
    double worst_ratio;
} TwProfileTotals;

TwProfileTotals tw_profile_totals(const TwProfile *profile);

/* TW_BY_STEP has every step of its own, TW_BY_KERNEL steps of one name together, TW_BY_TILE tiles.
 */
typedef enum TwProfileBy { TW_BY_STEP, TW_BY_KERNEL, TW_BY_TILE } TwProfileBy;

typedef struct TwProfileRow {
    const char *name, *operation; /* of a tile: "tile" and "" */
    unsigned number;              /* of the step or tile; of the first step of a kernel */
    /* Of steps: see docs/profile.md. */
    uint64_t cycles[TW_PROFILE_FIGURES], scheduled_sampled, simulated_sampled;
    /* Mean over all tiles; of a tile its own, as simulated. */
    double causes[TW_PROFILE_FIGURES][TW_PROFILE_CAUSES];
    uint64_t horizon, bound; /* of the rows of an exchange: events, words; else 0 */
} TwProfileRow;

/* Rows of a table, free with tw_profile_rows_free; strings live as long as the profile. */
TwStatus tw_profile_rows(TwContext *context, const TwProfile *profile, TwProfileBy by,
                         TwProfileRow **rows, size_t *count);
void tw_profile_rows_free(TwProfileRow *rows);

/* A web page of its own; a trace for Chrome's viewer. */
TwStatus tw_profile_html(TwContext *context, const TwProfile *profile, const char *path);
TwStatus tw_profile_trace(TwContext *context, const TwProfile *profile, const char *path);
