/* Internal: one GEMM of a graph, and the closed forms of a grid on it. */
#pragma once

#include "plan/plan.h"

typedef struct PlanGemm {
    uint32_t op, left, right, result; /* of the graph */
    uint32_t rows, inner, columns;    /* logical M, K, N */
    PrecisionKind precision;          /* of the operands */
    int32_t scale;                    /* sum of the operands' scale exponents */
    bool transpose_left, transpose_right;
} PlanGemm;

/* The one GEMM of a graph in which every value belongs to it. ERR_PLAN_GRAPH. */
Status gemm_find(const Graph *graph, PlanGemm *gemm, Diag *diag);

/* Extents of the product as it is computed: rows, 16-column groups, panels along the inner axis. */
typedef struct GemmExtents {
    uint32_t rows, groups, panels;
} GemmExtents;

GemmExtents gemm_extents(const PlanGemm *gemm, bool swapped);

KernelSpec gemm_spec(const PlanGemm *gemm, const GemmChoice *choice, GemmExtents part);

/* Formats of left, right and result. */
void gemm_formats(const Graph *graph, const PlanGemm *gemm, const GemmChoice *choice,
                  Format formats[3]);

/* Cycles of the step on a tile with that part, or 0 if no kernel takes it. */
uint64_t gemm_part_cycles(const PlanGemm *gemm, const GemmChoice *choice, GemmExtents part);
/* The same on the slowest tile of a grid, or 0 if some part is taken by no kernel. */
uint64_t gemm_cycles(const PlanGemm *gemm, const GemmChoice *choice);

/* Bytes of the operands, without tails: on the fullest tile, what of it needs region 1, and over
 * all tiles. */
typedef struct GemmBytes {
    uint64_t tile, interleaved, total;
} GemmBytes;

GemmBytes gemm_bytes(const PlanGemm *gemm, const GemmChoice *choice);

/* Is there such a grid on so many tiles? ERR_PLAN_TILES, ERR_PLAN_GRID. */
Status gemm_check_choice(const PlanGemm *gemm, const GemmChoice *choice, uint32_t tiles,
                         Diag *diag);

/* The whole plan of a checked choice that kernels take (gemm_cycles > 0). */
Status gemm_plan(const Graph *graph, const PlanGemm *gemm, const GemmChoice *choice, uint32_t tiles,
                 Plan *plan, Diag *diag);
