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

typedef struct TwProfileTotals {
    unsigned tiles;
    uint64_t cycles, cycles_sampled, scheduled_cycles, predicted_cycles;
    double causes[TW_PROFILE_CAUSES]; /* mean over all tiles; they add up to cycles */
} TwProfileTotals;

TwProfileTotals tw_profile_totals(const TwProfile *profile);

/* TW_BY_STEP has every step of its own, TW_BY_KERNEL steps of one name together, TW_BY_TILE tiles.
 */
typedef enum TwProfileBy { TW_BY_STEP, TW_BY_KERNEL, TW_BY_TILE } TwProfileBy;

typedef struct TwProfileRow {
    const char *name, *operation; /* of a tile: "tile" and "" */
    unsigned number;              /* of the step or tile; of the first step of a kernel */
    /* Of steps: see docs/profile.md. */
    uint64_t predicted, scheduled, scheduled_sampled, simulated_sampled;
    double causes[TW_PROFILE_CAUSES]; /* mean over all tiles, of a tile its own */
} TwProfileRow;

/* Rows of a table, free with tw_profile_rows_free; strings live as long as the profile. */
TwStatus tw_profile_rows(TwContext *context, const TwProfile *profile, TwProfileBy by,
                         TwProfileRow **rows, size_t *count);
void tw_profile_rows_free(TwProfileRow *rows);

/* A web page of its own; a trace for Chrome's viewer. */
TwStatus tw_profile_html(TwContext *context, const TwProfile *profile, const char *path);
TwStatus tw_profile_trace(TwContext *context, const TwProfile *profile, const char *path);
