/* Internal: the plan of given choices while it is put together. The stored values of a sketch begin
 * with those of the graph, by its numbers; what an operation adds stands behind them. */
#pragma once

#include "plan/gemm.h"

typedef struct SketchLife {
    uint32_t first, last;
    bool used;
} SketchLife;

typedef struct Sketch {
    const Graph *graph;
    VEC(PlanValue) values;
    VEC(PlanStep) steps;
    VEC(PlanMove) moves;
    VEC(SketchLife) lives; /* scratch */
    bool possible;         /* kernels take all parts */
    const char *why;       /* if not: what they do not take, static, */
    uint32_t why_op;       /* of which operation */
    bool no_memory;        /* then the sketch is void */
    uint64_t cycles;
} Sketch;

/* An empty sketch of a graph; a zeroed one, or one that was used before, whose room it keeps. */
void sketch_begin(Sketch *sketch, const Graph *graph);
void sketch_free(Sketch *sketch);

/* A value in a format, not yet added. */
PlanValue sketch_stored(PlanValueKind kind, uint32_t graph_value, const Shape *shape,
                        const Format *format);
/* Returns its number. */
uint32_t sketch_add_value(Sketch *sketch, PlanValue value);
/* No kernel or move does what operation `op` asks for. The first reason stays. */
void sketch_refuse(Sketch *sketch, uint32_t op, const char *why);
void sketch_set_home(Sketch *sketch, uint32_t value, const Format *format);
/* A computing step; one of 0 cycles is none that a kernel takes. */
void sketch_add_compute(Sketch *sketch, PlanStepKind kind, uint32_t op, uint32_t target,
                        uint32_t source, uint32_t second, uint64_t cycles);

/* Moves of one phase while it is put together. */
typedef struct SketchPhase {
    Sketch *sketch;
    uint32_t op, first_move;
    bool crosses; /* something goes from tile to tile */
    ExchangeLoad load;
    uint64_t local; /* cycles of kernels for what stays on a tile, and for padding */
} SketchPhase;

SketchPhase sketch_begin_phase(Sketch *sketch, uint32_t op);
/* Adds the moved value and its move; returns the value, which may be one that lies so already. */
uint32_t sketch_move_value(SketchPhase *phase, uint32_t source, const Format *to, bool paired);
/* A move between stored values, with what it costs. */
void sketch_price_move(SketchPhase *phase, uint32_t source, uint32_t target, bool paired);
/* The same of rows, between values of different shapes. Whoever stacks several ones zeroes all,
 * which the first move does. */
void sketch_move_rows(SketchPhase *phase, PlanMove move, bool zeroes);
void sketch_end_phase(const SketchPhase *phase);

/* Does an operand that lies on the chip need no move, since the product takes it as it lies? */
bool sketch_rests(const Sketch *sketch, const PlanGemm *gemm, const GemmChoice *choice, int i);
/* Appends a GEMM: its operands' homes where they are not fixed, casts, moves, product and sum. */
void sketch_add_gemm(Sketch *sketch, const PlanGemm *gemm, const GemmChoice *choice,
                     PriceTable *table);

/* The packed format of the same ownership in another precision: row-major becomes left. Owners must
 * hold whole panels of both precisions; only the last one may be narrow. */
bool sketch_in_precision(const Format *format, const Shape *shape, Precision precision,
                         Format *other);
/* A graph of one cast, `op`, with forced homes; false if no kernel and no move gets from one to the
 * other in this way. */
bool sketch_cast(Sketch *sketch, uint32_t op, const OperandChoice *choice,
                 const PlanOptions *options, PriceTable *table);

/* Bytes of all stored values, without tails and rows: on the fullest tile, what of it needs region
 * 1 (each the largest sum over the steps), and over all tiles (all values). */
typedef struct SketchBytes {
    uint64_t tile, interleaved, total;
} SketchBytes;

SketchBytes sketch_bytes(Sketch *sketch);
/* As a plan of its own; the caller fills in the choices. */
Status sketch_plan(const Sketch *sketch, Plan *plan, Diag *diag);
