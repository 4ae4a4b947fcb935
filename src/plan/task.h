/* Internal: what a graph asks for, and whole plans of given choices. */
#pragma once

#include "plan/sketch.h"

typedef enum TaskKind {
    TASK_GEMM,  /* one GEMM, to which every value belongs */
    TASK_CAST,  /* one cast between forced homes */
    TASK_GRAPH, /* anything else */
} TaskKind;

typedef struct PlanTask {
    TaskKind kind;
    uint32_t op;   /* TASK_GEMM, TASK_CAST */
    PlanGemm gemm; /* TASK_GEMM */
    /* Operations that want a choice: the GEMMs of the graph, or `op` alone. */
    VEC(uint32_t) choosing;
    /* TASK_GRAPH, for every operation: a cast that is made where GEMMs want it; for every value:
     * the axis along which its first GEMM multiplies. */
    bool *absorbed;
    uint8_t *axis;
    /* Scratch, for every value: its rows become columns of a product, with these choices. */
    bool *turned;
} PlanTask;

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
