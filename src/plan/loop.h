/* Internal: loops of a plan. */
#pragma once

#include "plan/plan.h"

/* Fills in places and loops of a plan that has neither. */
Status loop_find(const Graph *graph, Plan *plan, Diag *diag);
