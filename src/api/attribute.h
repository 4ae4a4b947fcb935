/* Where the cycles of a package's steps go; the making of a profile (attribute.c) and its parts:
 * what the plan predicts, what is scheduled (cut.c), what lies in the tiles (maps.c). */
#pragma once

#include "api/api.h"
#include "emit/emit.h"
#include "lower/lower.h"
#include "plan/plan.h"

/* What is known of a package while it is cut up. */
typedef struct Cutter {
    const Package *package;
    const Graph *graph;
    Profile *profile;
    Diag *diag;
    unsigned start; /* release of the sampled run, modulo 6 */
    Plan plan;
    TileGraph tiles;
    EmitExchange *exchanges;
    XchgRows *rows;
    EmitTimes times, sampled;
    EmitPatches *patches; /* [exchanges] */
    bool *worked;         /* [tiles] since the last barrier */
    int64_t *waiting;     /* [tiles] predicted: for slower tiles, since the last barrier */
    uint64_t *sent;       /* [exchange * tiles + tile] words */
    uint64_t *received;
} Cutter;

Status cutter_no_memory(const Cutter *c);
static inline int32_t *cutter_cell(const Profile *profile, size_t step, uint32_t tile) {
    return profile->cells + (step * profile->tiles + tile) * PROF_CAUSES;
}
/* The steps of a profile are those that are carried out, in a loop each in every iteration: "runs"
 * here. */
static inline const LowerStep *cutter_step(const Cutter *c, size_t run) {
    return &c->tiles.steps.items[c->times.run[run]];
}
/* When a tile is through with a run as scheduled, and with that before. */
static inline uint64_t cutter_end(const Cutter *c, size_t run, uint32_t tile) {
    return c->times.end[run * c->tiles.tiles + tile];
}
static inline uint64_t cutter_begin(const Cutter *c, size_t run, uint32_t tile) {
    return run ? cutter_end(c, run - 1, tile) : 0;
}
/* "gemm", …, "exchange", "repeat", "again", "none" */
const char *cutter_step_name(const TileGraph *tiles, const LowerStep *step);

/* The cells of all steps as scheduled, their sums, and those of the prediction. */
Status cut_steps(Cutter *c);
/* Where every buffer of every tile lies. */
Status add_maps(const Cutter *c);
