/* Internal: what the parts of lowering share. */
#pragma once

#include "lower/lower.h"

/* A kernel call and the order among the calls of its tile. */
typedef struct LocalCall {
    LowerCall call;
    uint32_t order;
} LocalCall;

/* A pair that some step wants apart. */
typedef struct WantedPair {
    uint32_t tile;
    LowerPair pair; /* a < b */
} WantedPair;

typedef struct Lowering {
    const Graph *graph;
    const Plan *plan;
    TileGraph *result;
    bool first_only;    /* lower_first_tile */
    uint32_t row_tiles; /* tiles from here on have no rows */
    BufferRole *role;   /* [plan values] of each place */
    bool *to_end;       /* the same: the host reads it, or writes it once */
    uint32_t times;     /* that the step in hand is done */
    VEC(LocalCall) local;
    VEC(WantedPair) wanted;
    Diag *diag;
} Lowering;

/* Buffer of a stored value on a tile, or LOWER_NONE. */
uint32_t lower_find(const TileGraph *tiles, uint32_t tile, uint32_t value);
/* The buffer is alive in an event. */
void lower_touch(TileGraph *tiles, uint32_t buffer, uint32_t event);
/* Index of the spec, added if it is new; UINT32_MAX without memory. */
uint32_t lower_spec(TileGraph *tiles, const KernelSpec *spec);
/* Roots of two buffers are to be apart; false without memory. Nothing if they are the same. */
bool lower_want_apart(Lowering *lowering, uint32_t a, uint32_t b, bool soft);
/* A kernel call on the tile of its buffers, its operands checked against the kernel's interface. */
bool lower_call(Lowering *lowering, const KernelSpec *spec, const LowerOperand operands[],
                const int32_t scalars[], uint32_t event, LowerCall *call);

Status lower_no_memory(Lowering *lowering);

/* One exchange step of the plan, with the step of local calls before it; NULL what is not there. */
Status lower_exchange(Lowering *lowering, const PlanStep *local, const PlanStep *step);
