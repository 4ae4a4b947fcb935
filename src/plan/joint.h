/* Internal: the search over a graph of several operations. */
#pragma once

#include "plan/search.h"
#include "plan/task.h"

/* A different GEMM of the graph: shapes, precisions, transposes, and where its operands come from.
 * GEMMs that are alike take the same choice. */
struct PlanProduct {
    uint32_t op;             /* the first one */
    Graph *graph;            /* of this GEMM alone: operands that lie on the chip are inputs */
    PlanForce force;         /* its grid, if one is forced; operation is NULL if not */
    PlanSearch search;       /* of that graph */
    VEC(GemmChoice) choices; /* those that are put together with others */
};

/* Fills search->candidates, cheapest first, and search->products. */
Status joint_search(PlanSearch *search, const PlanTask *task, PriceTable *table, Diag *diag);
void joint_free(PlanSearch *search);
