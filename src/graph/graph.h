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

typedef struct Graph Graph;

typedef enum GraphOpKind {
    GRAPH_INPUT,     /* → value; from the host at each run */
    GRAPH_PARAMETER, /* → value; known when the graph is compiled, resident on the chip */
    GRAPH_GEMM,      /* left, right → left · right */
    GRAPH_CAST,      /* value → the same values in another precision */
    GRAPH_GELU,      /* value → 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³))) of each */
    GRAPH_ADD,       /* left, right → left + right, broadcast */
    GRAPH_REPEAT,    /* carried, invariant, iterated values → carried results */
    GRAPH_OUTPUT,    /* value → ; to the host */
    /* Only made by graph_split, of matrices: */
    GRAPH_ROWS,  /* value → as many rows of it as the result has, from `row` */
    GRAPH_STACK, /* values → their rows one after the other */
    /* Only in the body of a repeat: */
    GRAPH_ARGUMENT, /* → value; what the repeat hands in */
    GRAPH_YIELD,    /* values → ; what the next iteration, or at last the repeat's results, are */
} GraphOpKind;

typedef enum GraphArgumentKind {
    GRAPH_CARRIED,   /* what the iteration before has yielded; at first a value from outside */
    GRAPH_INVARIANT, /* the same value in every iteration */
    GRAPH_ITERATED,  /* another value in every iteration */
} GraphArgumentKind;

typedef struct GraphValue {
    const char *name; /* without '%' */
    Precision precision;
    Shape shape;   /* of an expanded graph: a matrix; see graph_expand */
    Shape logical; /* as declared; equal to `shape` unless the graph is expanded */
    uint32_t op;   /* index of the defining operation */
} GraphValue;

/* Which row of an operand of GRAPH_ADD meets row r of the result, both as matrices:
 * r / block * period + r / step % period. An operand with as many rows as the result has
 * period = block = these rows and step = 1; one with a single row has period 1. */
typedef struct GraphRows {
    uint32_t block, period, step;
} GraphRows;

/* Where, in the graph before graph_cut_hidden, an input's or parameter's matrix begins. */
typedef struct GraphPiece {
    uint32_t value, row, column;
} GraphPiece;

typedef struct GraphOp {
    GraphOpKind kind;
    uint32_t operand_count;
    const uint32_t *operands; /* values */
    uint32_t result_count;    /* 1; repeat: any number from 1; output, yield: 0 */
    uint32_t result;          /* value, the first of result_count in a row; GRAPH_NONE if none */
    const char *name;         /* input, parameter, output: its outside name, else NULL */
    uint32_t line;            /* in the text that it was read from, 0 if it was built */
    /* GRAPH_GEMM: an operand's last two axes are swapped before the product. batch: how many
     * products of matrices it is. */
    bool transpose_left, transpose_right;
    uint64_t batch;
    GraphRows rows[2];          /* GRAPH_ADD of an expanded graph */
    uint64_t row;               /* GRAPH_ROWS */
    GraphArgumentKind argument; /* GRAPH_ARGUMENT */
    /* GRAPH_REPEAT: `times` times `body`. Its arguments are operands 0 … carried - 1, then as many
     * invariant ones, then, for each iterated one, a list of `times` operands. */
    uint32_t times, carried, invariant, iterated;
    Graph *body; /* owned by the graph */
    /* Expanded graph: the operation in the first iteration that this one of a later iteration
     * repeats with other parameters, itself in the first, GRAPH_NONE outside of repeats. */
    uint32_t first;
    /* Made by graph_cut_hidden: an input or parameter is this piece; an operation of a block does
     * for it what this one does for the first block (GRAPH_NONE: of no block). */
    GraphPiece piece;
    uint32_t first_block;
} GraphOp;

struct Graph {
    VEC(GraphValue) values;
    VEC(GraphOp) ops;
    StrMap *value_names; /* → value */
    StrMap *port_names;  /* inputs, parameters, outputs → operation */
    const char *file;    /* text that it was read from, for messages; NULL if built */
    DiagPlace place;     /* errors of the next graph_add_* are reported here */
    Arena arena;         /* owns all strings and operand lists */
    bool is_body;        /* of a repeat */
    bool expanded;       /* made by graph_expand */
};

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
/* F16 → F16 of the same shape. ERR_GRAPH_PRECISION. */
Status graph_add_gelu(Graph *graph, const char *value_name, uint32_t operand, uint32_t *value,
                      Diag *diag);
/* Two F16 values → F16; shapes broadcast as in NumPy: aligned at the right, extents equal or 1.
 * Both are widened, added and rounded once. ERR_GRAPH_PRECISION, _SHAPE. */
Status graph_add_add(Graph *graph, const char *value_name, uint32_t left, uint32_t right,
                     uint32_t *value, Diag *diag);
Status graph_add_output(Graph *graph, const char *name, uint32_t value, Diag *diag);

/* The body of a repeat: a graph of its own, in which inputs, parameters and outputs may not be
 * added. It sees only its own values. First come the arguments, carried ones before invariant ones
 * before iterated ones, last the yield, of one value for each carried argument and of its precision
 * and shape. */
Status graph_create_body(Graph **body, Diag *diag);
Status graph_add_argument(Graph *body, const char *value_name, GraphArgumentKind kind,
                          Precision precision, Shape shape, uint32_t *value, Diag *diag);
Status graph_add_yield(Graph *body, const uint32_t *values, uint32_t count, Diag *diag);
/* `times` times the body, which it takes over if it succeeds. operands as in GraphOp, all of the
 * precision and shape of their arguments. value_names: one for each carried argument, of which
 * there must be at least one; *values receives the first result. ERR_GRAPH_REPEAT, _NAME,
 * _SHAPE, _PRECISION. */
Status graph_add_repeat(Graph *graph, const char *const *value_names, uint32_t times, Graph *body,
                        const uint32_t *operands, uint32_t operand_count, uint32_t *values,
                        Diag *diag);

/* The body's value that an operand of a repeat becomes. */
uint32_t graph_repeat_argument(const GraphOp *repeat, uint32_t operand);

/* Whole-graph rules: at least one output (ERR_GRAPH_OUTPUT), every computed value, input and
 * parameter used, of a repeat at least one result (ERR_GRAPH_UNUSED). graph_read calls it. */
Status graph_check(const Graph *graph, Diag *diag);

/* The graph of `bench gemm`: output "y" = input "x" [rows,inner] · parameter "w" [inner,columns],
 * both operands in `operand` precision. */
Status graph_build_gemm(Graph **graph, uint32_t rows, uint32_t inner, uint32_t columns,
                        Precision operand, Diag *diag);
/* The same for an input that an earlier block leaves on the chip: "x" is F16, and where the
 * operands are not, a cast stands before the product. */
Status graph_build_device_gemm(Graph **graph, uint32_t rows, uint32_t inner, uint32_t columns,
                               Precision operand, Diag *diag);

/* The workload `bench mlp`: blocks of GEMM [width,hidden] → GELU → GEMM [hidden,width] on input "x"
 * [batch,tokens,width] ([tokens,width] if batch is 1); output "y". Parameters are called
 * "block0.up.weight", ".up.bias", ".down.weight", ".down.bias" and so on; biases are F16. `bias`
 * adds them to both products, `residual` the block's input to its output.
 *
 * Operands of products are of precision `operand`. If that is F143, whatever is F16 is cast before
 * it is multiplied: the output of GELU, and x, unless there is one block only, without residual,
 * and x comes from the host: then x is F143 itself. More than one block is a repeat. */
typedef struct GraphMlp {
    uint32_t tokens, width, hidden, blocks, batch;
    bool bias, residual, device_input;
    Precision operand;
} GraphMlp;

/* Every extent, blocks and batch are at least 1. */
Status graph_build_mlp(Graph **graph, const GraphMlp *mlp, Diag *diag);

/* What plans and checks take: the same computation without repeats, on matrices.
 *
 * Repeats are unrolled. Value %h of a body becomes %h.0, %h.1, … (with more in front if such a name
 * is in use); the results of a repeat are values of its last iteration. Values outside of repeats,
 * and all ports, keep their names. Equal casts of one value are merged; what no output needs is
 * left out, parameters and inputs too.
 *
 * Every value's `shape` is a matrix: its leading axes are flattened into rows, [N] is [1,N], [] is
 * [1,1]; `logical` is the shape of before. A GEMM whose right operand has no leading axes (or only
 * ones) and whose left operand has none or is not transposed is one product of matrices, batch 1.
 * Any other has batch > 1: it multiplies pairs of matrices that begin at rows
 * graph_matrix_row(…) of the operands and at row number · rows of the result. GRAPH_ADD says in
 * `rows` which rows meet; columns are equal or 1.
 *
 * graph_print of an expanded graph shows logical shapes and can be read and expanded again.
 * ERR_GRAPH_SHAPE: more than 2^32 - 1 rows, or rows of an operand of add that GraphRows cannot say.
 */
Status graph_expand(const Graph *graph, Graph **expanded, Diag *diag);

/* Makes of every GEMM of an expanded graph that has batch > 1 so many GEMMs of one pair of matrices
 * each, %y.0, %y.1, …, on GRAPH_ROWS of its operands, and of every sum whose operands' rows meet in
 * turn sums of such ranges, in which an operand has all rows or one. GELU follows piece by piece;
 * what takes a piece takes it as it is, and what takes more of the value has them put together by
 * GRAPH_STACK. Where an operand is cast, its matrices are. The result is for plans and checks; it
 * cannot be read back from its text. */
Status graph_split(const Graph *graph, Graph **split, Diag *diag);

/* The same computation with less memory: a product by a parameter whose result goes, value by value
 * (GELU, casts, parameters of one row added), into one other product by a parameter is cut by its
 * columns into up to `blocks` blocks of 32 or a multiple. Block after block, its columns are
 * computed, what is made of them, and their part of the second product, which is added, in F16, to
 * the parts before. Blocks of parameters are parameters: "w[:,0:64]". Of an expanded graph after
 * graph_split; *cut is NULL if nothing in it is like that. graph_print of it can be read. */
Status graph_cut_hidden(const Graph *graph, uint32_t blocks, Graph **cut, Diag *diag);
/* given: codes by value of `graph`, of inputs and parameters (NULL: not given); pieces: the same of
 * `cut`. They lie in `arena` or where the given ones do. */
Status graph_cut_codes(const Graph *graph, const Graph *cut, const void *const *given, Arena *arena,
                       const void **pieces, Diag *diag);

/* Extents of a GEMM after its transposes, and of how many products of such matrices it is. */
typedef struct GraphGemm {
    uint64_t batch;
    uint32_t rows, inner, columns;
} GraphGemm;

GraphGemm graph_gemm(const Graph *graph, uint32_t op);
/* Row of a GEMM's operand (0 left, 1 right; all its axes but the last are rows) at which its matrix
 * for product number `batch` begins. */
uint64_t graph_matrix_row(const Graph *graph, uint32_t op, uint32_t operand, uint64_t batch);

/* The input, parameter or output called `name`, or GRAPH_NONE. */
uint32_t graph_find_port(const Graph *graph, const char *name);
/* The value that an input, parameter or output carries. */
uint32_t graph_port_value(const Graph *graph, uint32_t op);
/* "input", "parameter", "gemm", … as in text. */
const char *graph_op_name(GraphOpKind kind);

/* Text form. `file` names the source in messages. Errors carry line and column, and notes show the
 * line with a caret: ERR_GRAPH_SYNTAX, _NAME, _VALUE, _OPERATION, _SHAPE, _PRECISION, _SCALE,
 * _OUTPUT, _UNUSED, _REPEAT. The text need not end with a 0. */
Status graph_parse(const char *text, size_t size, const char *file, Graph **graph, Diag *diag);
Status graph_read(const char *path, Graph **graph, Diag *diag);
/* One statement a line; graph_parse of it gives an equal graph. NULL without memory; mem_free. */
char *graph_print(const Graph *graph);

/* The first statement in which two graphs differ, as text of both (NULL where one has ended), and
 * its lines (0 if the graph was not read). ERR_NO_MEMORY. */
typedef struct GraphDifference {
    bool found;
    char *statements[2]; /* mem_free, or graph_difference_free */
    uint32_t lines[2];
} GraphDifference;

Status graph_diff(const Graph *a, const Graph *b, GraphDifference *difference, Diag *diag);
void graph_difference_free(GraphDifference *difference);
