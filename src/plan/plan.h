/* Planning: which tiles compute which part of every operation, in which formats, and what it costs.
 *
 * Every candidate is enumerated and priced with the closed forms that lowering expands with and
 * with the cycle formulas of the kernels; the search keeps them all, ranked, so that a caller whose
 * placement fails takes the next one.
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
    const char *operation; /* name of the operation's result in the graph */
    uint32_t rows, columns, inner;
    bool swapped;
} PlanForce;

/* Parses "OP=R,C,K" or "OP=R,C,K,swapped" (ERR_PLAN_GRID_TEXT); free operation with mem_free. */
Status plan_force_parse(const char *text, PlanForce *force, Diag *diag);

typedef struct PlanOptions {
    uint32_t tiles;      /* logical tiles that may be used, 1…1,472 */
    uint32_t max_copies; /* resident copies of one parameter; 0 = any number */
    const PlanForce *forces;
    size_t force_count;
} PlanOptions;

/* Where a graph value lies, and how much it takes, all copies together and on the fullest tile. */
typedef struct PlanValue {
    Format format;
    uint64_t total_bytes, widest_bytes;
} PlanValue;

typedef struct PlanOperation {
    GemmChoice gemm;
    uint64_t cycles; /* predicted, of the slowest tile, with the supervisor's share of the step */
} PlanOperation;

typedef struct Plan {
    uint32_t tiles;
    uint64_t predicted_cycles;
    uint32_t value_count, operation_count; /* those of the graph, in its order */
    PlanValue *values;
    PlanOperation *operations;
} Plan;

void plan_free(Plan *plan);

/* Text form, which plan_parse reads back: "plan", "value" and "operation" lines. */
Status plan_print(const Graph *graph, const Plan *plan, FILE *out, Diag *diag);
/* ERR_PLAN_TEXT with line and column, or ERR_PLAN_MISMATCH if formats, prices or bytes are not what
 * the choices give for this graph. `name` is used in messages. */
Status plan_parse(const char *text, const char *name, const Graph *graph, Plan *plan, Diag *diag);
