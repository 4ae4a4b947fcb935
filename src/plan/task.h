/* Internal: what a graph asks for, and whole plans of given choices. */
#pragma once

#include "plan/sketch.h"

typedef enum TaskKind {
    TASK_GEMM,  /* one GEMM, to which every value belongs */
    TASK_CAST,  /* one cast between forced homes */
    TASK_GRAPH, /* anything else */
} TaskKind;

/* How a value is used (TASK_GRAPH). */
typedef struct PlanUse {
    uint32_t count, first; /* operands that it is, and the first operation that takes it */
    uint8_t axis;          /* along which the first product that it comes to multiplies */
    /* With given choices: */
    bool columns;     /* it comes to a product in which its rows are columns */
    uint32_t turned;  /* the stored value that is it with lines along the other axis, or none */
    bool early, half; /* of a cast: where and how the first product wants it */
} PlanUse;

typedef struct PlanTask {
    TaskKind kind;
    uint32_t op;   /* TASK_GEMM, TASK_CAST */
    PlanGemm gemm; /* TASK_GEMM */
    /* Operations that want a choice: the GEMMs of the graph, or `op` alone. */
    VEC(uint32_t) choosing;
    /* TASK_GRAPH, for every operation: made as part of what uses its result (a cast of an operand,
     * a bias before GELU); for every value its use. */
    bool *absorbed;
    PlanUse *uses;
} PlanTask;

/* Of a graph of several operations: does the operand come from another one, or lie on the chip as a
 * device input does? Then the search has it cast if it is in F143, whoever casts it. */
bool task_on_chip(const Graph *graph, const GemmOperand *operand, bool device_input);

/* ERR_PLAN_GRAPH for what is not covered; a graph of one cast wants both homes forced. task_free in
 * any case. */
Status task_find(const Graph *graph, const PlanOptions *options, PlanTask *task, Diag *diag);
void task_free(PlanTask *task);
/* Choices in the order of task->choosing. Begins the sketch; false if no kernel takes some part, or
 * without memory (sketch->no_memory). */
bool task_sketch(const Graph *graph, const PlanTask *task, const GemmChoice choices[],
                 const PlanOptions *options, PriceTable *table, Sketch *sketch);
/* The whole plan of checked choices. ERR_PLAN_GRID if a part is taken by no kernel. */
Status task_plan(const Graph *graph, const PlanTask *task, const GemmChoice choices[],
                 const PlanOptions *options, Plan *plan, Diag *diag);

/* TASK_GRAPH (assemble.c). */
void task_assemble(const PlanTask *task, const GemmChoice choices[], const PlanOptions *options,
                   PriceTable *table, Sketch *sketch);
