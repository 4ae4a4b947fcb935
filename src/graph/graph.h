/* The shaped graph: what is to be computed, in static single assignment. Nothing in it says where
 * values lie or which tile computes them.
 *
 * A value has a precision, a shape and one defining operation. Operations stand in an order in
 * which every operand is defined before its use. Inputs, parameters and outputs carry names of the
 * outside world, all different from each other; values carry names of their own (`%h` in text).
 *
 * A graph is built by the graph_add_* functions, which infer and check every shape, or read from
 * text (docs/graph.md). A failed add leaves the graph as it was, except that after ERR_NO_MEMORY
 * only graph_free is allowed. Values and operations are numbered by their order of definition; the
 * numbers never change.
 */
#pragma once

#include "base/diag.h"
#include "base/map.h"
#include "base/mem.h"
#include "tensor/tensor.h"

#define GRAPH_NONE UINT32_MAX

typedef enum GraphOpKind {
    GRAPH_INPUT,     /* → value; from the host at each run */
    GRAPH_PARAMETER, /* → value; known when the graph is compiled, resident on the chip */
    GRAPH_GEMM,      /* left, right → left · right */
    GRAPH_CAST,      /* value → the same values in another precision */
    GRAPH_OUTPUT,    /* value → ; to the host */
} GraphOpKind;

typedef struct GraphValue {
    const char *name; /* without '%' */
    Precision precision;
    Shape shape;
    uint32_t op; /* index of the defining operation */
} GraphValue;

typedef struct GraphOp {
    GraphOpKind kind;
    uint32_t operand_count;
    const uint32_t *operands; /* values */
    uint32_t result;          /* value, GRAPH_NONE for an output */
    const char *name;         /* input, parameter, output: its outside name, else NULL */
    uint32_t line;            /* in the text that it was read from, 0 if it was built */
    /* GRAPH_GEMM: an operand's last two axes are swapped before the product */
    bool transpose_left, transpose_right;
} GraphOp;

typedef struct Graph {
    VEC(GraphValue) values;
    VEC(GraphOp) ops;
    StrMap *value_names; /* → value */
    StrMap *port_names;  /* inputs, parameters, outputs → operation */
    const char *file;    /* text that it was read from, for messages; NULL if built */
    DiagPlace place;     /* errors of the next graph_add_* are reported here */
    Arena arena;         /* owns all strings and operand lists */
} Graph;

Status graph_create(Graph **graph, Diag *diag);
void graph_free(Graph *graph);

/* Each adds one operation and, but for the output, one value, whose index goes to *value.
 * value_name: letters, digits, '_' and '.', not in use yet. name: UTF-8 without control characters,
 * not empty, not in use yet. Extents are at least 1 and their product fits 63 bits; the scale of
 * F143 is in PRECISION_SCALE_MIN…MAX, so that the scales of any two operands add up to one that the
 * device takes. Errors: ERR_GRAPH_NAME, _SHAPE, _PRECISION, _SCALE, ERR_NO_MEMORY. Operands must
 * exist. */
Status graph_add_input(Graph *graph, const char *value_name, const char *name, Precision precision,
                       Shape shape, uint32_t *value, Diag *diag);
Status graph_add_parameter(Graph *graph, const char *value_name, const char *name,
                           Precision precision, Shape shape, uint32_t *value, Diag *diag);
/* left [...,M,K] · right [...,K,N] → [...,M,N], either operand transposed in its last two axes if
 * asked. Leading axes broadcast as in NumPy: aligned at the right, equal or 1. Operands are both
 * F16 or both F143 (scales may differ, their sum must fit −32…31); the result is F16. */
Status graph_add_gemm(Graph *graph, const char *value_name, uint32_t left, uint32_t right,
                      bool transpose_left, bool transpose_right, uint32_t *value, Diag *diag);
/* F16 → F143 of any scale: each value divided by 2^scale and rounded to the nearest code, finite
 * ones beyond the largest code to that. Other pairs of precisions: ERR_GRAPH_PRECISION. */
Status graph_add_cast(Graph *graph, const char *value_name, uint32_t operand, Precision precision,
                      uint32_t *value, Diag *diag);
Status graph_add_output(Graph *graph, const char *name, uint32_t value, Diag *diag);

/* Whole-graph rules: at least one output (ERR_GRAPH_OUTPUT), every computed value, input and
 * parameter used (ERR_GRAPH_UNUSED). graph_read calls it. */
Status graph_check(const Graph *graph, Diag *diag);

/* The graph of `bench gemm`: output "y" = input "x" [rows,inner] · parameter "w" [inner,columns],
 * both operands in `operand` precision. */
Status graph_build_gemm(Graph **graph, uint32_t rows, uint32_t inner, uint32_t columns,
                        Precision operand, Diag *diag);
/* The same for an input that an earlier block leaves on the chip: "x" is F16, and where the
 * operands are not, a cast stands before the product. */
Status graph_build_device_gemm(Graph **graph, uint32_t rows, uint32_t inner, uint32_t columns,
                               Precision operand, Diag *diag);

/* Extents of a GEMM after its transposes. batch = product of the result's leading axes. */
typedef struct GraphGemm {
    uint64_t batch;
    uint32_t rows, inner, columns;
} GraphGemm;

GraphGemm graph_gemm(const Graph *graph, uint32_t op);

/* The input, parameter or output called `name`, or GRAPH_NONE. */
uint32_t graph_find_port(const Graph *graph, const char *name);
/* The value that an input, parameter or output carries. */
uint32_t graph_port_value(const Graph *graph, uint32_t op);
/* "input", "parameter", "gemm", "cast", "output". */
const char *graph_op_name(GraphOpKind kind);

/* Text form. `file` names the source in messages. Errors carry line and column, and notes show the
 * line with a caret: ERR_GRAPH_SYNTAX, _NAME, _VALUE, _OPERATION, _SHAPE, _PRECISION, _SCALE,
 * _OUTPUT, _UNUSED. The text need not end with a 0. */
Status graph_parse(const char *text, size_t size, const char *file, Graph **graph, Diag *diag);
Status graph_read(const char *path, Graph **graph, Diag *diag);
/* One statement a line; graph_parse of it gives an equal graph. NULL without memory; mem_free. */
char *graph_print(const Graph *graph);
