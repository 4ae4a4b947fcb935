/* Rules and steps that the builders and the reader of text share. */
#pragma once

#include "graph/graph.h"

/* Characters of a value's name. */
bool graph_is_name_character(char c);
/* Whether a name may be given now; errors ERR_GRAPH_NAME at `place`. */
Status graph_check_value_name(const Graph *graph, const char *name, DiagPlace place, Diag *diag);
Status graph_check_port_name(const Graph *graph, const char *name, DiagPlace place, Diag *diag);

/* Whether an operand may be handed to an argument; errors ERR_GRAPH_SHAPE, _PRECISION at `place`.
 */
Status graph_check_handed(const GraphValue *operand, const GraphValue *argument, DiagPlace place,
                          Diag *diag);

/* An empty graph that names the same file. */
Status graph_create_like(const Graph *graph, Graph **created, Diag *diag);
/* Adds the same operation with one result, or an output, to another graph. */
Status graph_add_same(Graph *out, const Graph *from, const GraphOp *op, const char *name,
                      const uint32_t *operands, uint32_t *value, Diag *diag);
/* `name` (NULL: none), with '_' in front as often as it is in use in either graph; NULL without
 * memory. */
const char *graph_fresh_name(Arena *arena, const Graph *out, const Graph *from, const char *name);
/* All values become matrices, as graph_expand says. */
Status graph_flatten(Graph *graph, Diag *diag);

/* What an operation defines. */
typedef struct GraphResult {
    const char *value_name;
    Precision precision;
    Shape shape;
} GraphResult;

/* Scale and extents; errors at graph->place. */
Status graph_check_type(const Graph *graph, Precision precision, const Shape *shape, Diag *diag);

/* Adds a checked operation and its op.result_count values; names and operands are copied. *value
 * receives the first of them. ERR_GRAPH_REPEAT behind the yield of a body. */
Status graph_add_op(Graph *graph, GraphOp op, const uint32_t *operands, const GraphResult *results,
                    uint32_t *value, Diag *diag);

/* Broadcasts the first `left_rank` and `right_rank` axes of two shapes, aligned at the right, into
 * `result` (rank and dims); false if they do not fit. */
bool graph_broadcast(const Shape *left, uint32_t left_rank, const Shape *right, uint32_t right_rank,
                     Shape *result);
