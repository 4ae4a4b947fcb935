/* Planning: which tiles compute which part of every operation, in which formats, and what it costs.
 *
 * Every candidate is enumerated and priced with the closed forms that lowering expands with and
 * with the cycle formulas of the kernels (search.h). A plan is one of them, complete.
 */
#pragma once

#include "base/diag.h"
#include "base/mem.h"
#include "graph/graph.h"
#include "kernel/kernel.h"
#include "tensor/format.h"

#include <stdio.h>

/* How one GEMM is cut. Normal: left [M,K] · right [K,N], rows are M and columns N. Swapped:
 * computes the transposed product, so the physical left operand is the logical right one, rows are
 * N and columns M. Tile (row part p, column part q) = p * columns + q. */
typedef struct GemmChoice {
    uint32_t rows, columns, inner; /* parts; inner is 1 */
    bool swapped;
    MemoryClass weights; /* of the physical right operand: interleaved allows 128-bit loads */
} GemmChoice;

/* A grid that the user forces on an operation. */
typedef struct PlanForce {
    char *operation; /* name of the operation's result in the graph */
    uint32_t rows, columns, inner;
    bool swapped;
} PlanForce;

/* Parses "OP=R,C,K" or "OP=R,C,K,swapped" (ERR_PLAN_GRID_TEXT). Free operation with mem_free. */
Status plan_force_parse(const char *text, PlanForce *force, Diag *diag);

typedef struct PlanOptions {
    uint32_t tiles;      /* logical tiles that may be used, 1…CHIP_TILES */
    uint32_t max_copies; /* resident copies of one parameter; 0 = any number */
    const PlanForce *forces;
    size_t force_count;
} PlanOptions;

/* Where a graph value lies, and how much it takes: all copies together, and on the fullest tile. */
typedef struct PlanValue {
    Format format;
    uint64_t total_bytes, widest_bytes;
} PlanValue;

/* A computing operation. */
typedef struct PlanOperation {
    uint32_t op; /* of the graph */
    GemmChoice gemm;
    uint64_t cycles; /* predicted, of the slowest tile, with the supervisor's share of the step */
} PlanOperation;

typedef struct Plan {
    uint32_t tiles; /* those that the plan was made for; it may use fewer */
    uint64_t predicted_cycles;
    uint32_t value_count; /* that of the graph */
    PlanValue *values;
    uint32_t operation_count;
    PlanOperation *operations; /* in graph order */
} Plan;

/* Frees the arrays; a zeroed plan is an empty one. */
void plan_free(Plan *plan);

/* Highest tile with work, plus one. */
uint32_t plan_tiles_used(const Plan *plan);

/* What one tile does for an operation: one kernel call on shards of these values. */
typedef struct PlanCall {
    KernelSpec spec;
    uint32_t values[KERNEL_MAX_OPERANDS]; /* graph value of each operand, output first */
    int32_t scalars[KERNEL_MAX_SCALARS];
} PlanCall;

/* False if `tile` has no part in it. */
bool plan_call(const Graph *graph, const Plan *plan, const PlanOperation *operation, uint32_t tile,
               PlanCall *call);

/* Text form: one "plan" line, then "value" and "operation" lines. NULL without memory; mem_free. */
char *plan_print(const Graph *graph, const Plan *plan);
/* Reads it back for the same graph. The choices decide; every other number must be what they give:
 * ERR_PLAN_TEXT and ERR_PLAN_MISMATCH carry the line. `name` is used in messages. */
Status plan_parse(const char *text, const char *name, const Graph *graph, Plan *plan, Diag *diag);
