/* Internal: validity and order of a phase's transfers. */
#pragma once

#include "xchg/xchg.h"

/* Tiles in range, addresses word aligned and in memory, no tile twice, no bare loopback. */
Status phase_check(const XchgPhase *phase, uint32_t tile_count, Diag *diag);

/* `after` must start when `before` is complete; before < after. */
typedef struct PhaseEdge {
    uint32_t before, after;
} PhaseEdge;

typedef VEC(PhaseEdge) PhaseEdges;

/* Edges sorted by `after`; false without memory. Free with vec_free. */
bool phase_edges(const XchgPhase *phase, PhaseEdges *edges);
