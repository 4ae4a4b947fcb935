/* Graphs, weights, and their compilation into a package. */
#pragma once

#include "tilework/base.h"

typedef struct TwGraph TwGraph;
typedef struct TwWeights TwWeights;
typedef struct TwPackage TwPackage;

/* Graph text; docs/graph.md. `name` is what messages call it. */
TwStatus tw_graph_read(TwContext *context, const char *path, TwGraph **graph);
TwStatus tw_graph_parse(TwContext *context, const char *text, size_t size, const char *name,
                        TwGraph **graph);
/* "y" = input "x" [rows,inner] · parameter "w" [inner,columns]. */
TwStatus tw_graph_gemm(TwContext *context, uint32_t rows, uint32_t inner, uint32_t columns,
                       TwPrecision operand, TwGraph **graph);
/* The same for an F16 input that an earlier block leaves on the chip, cast there if the operands
 * are not F16; to be compiled with TwCompileOptions.device_input. */
TwStatus tw_graph_device_gemm(TwContext *context, uint32_t rows, uint32_t inner, uint32_t columns,
                              TwPrecision operand, TwGraph **graph);
/* Blocks of GEMM [width,hidden], GELU, GEMM [hidden,width] on input "x" [batch,tokens,width]
 * ([tokens,width] if batch is 1); output "y"; docs/graph.md shows it. All extents at least 1. */
typedef struct TwMlp {
    uint32_t tokens, width, hidden, blocks, batch;
    bool bias;         /* on both products */
    bool residual;     /* adds a block's input to its output */
    bool device_input; /* as tw_graph_device_gemm */
    TwPrecision operand;
} TwMlp;
TwStatus tw_graph_mlp(TwContext *context, const TwMlp *mlp, TwGraph **graph);
void tw_graph_free(TwGraph *graph);

/* Prints the first statement in which two files of graph text differ; *differ tells whether there
 * is one. */
TwStatus tw_graph_diff(TwContext *context, const char *const paths[2], FILE *out, bool *differ);

/* Values of all parameters of a graph. Each place is a SafeTensors file that is searched for every
 * parameter, or "NAME=FILE.npy" or "NAME=FILE.safetensors[:TENSOR]" for one. The graph must outlive
 * the weights. */
TwStatus tw_weights_read(TwContext *context, const TwGraph *graph, const char *const *places,
                         size_t count, TwWeights **weights);
/* Gaussian-like values from a stream seeded by `seed` and each parameter's name. The weights of
 * products have standard deviation `sigma`, or, if that is 0, 1/√(inner dimension), biases 0.02.
 * docs/data.md defines them bit by bit. */
TwStatus tw_weights_generate(TwContext *context, const TwGraph *graph, uint64_t seed, double sigma,
                             TwWeights **weights);
void tw_weights_free(TwWeights *weights);

/* Where casts are done: where it is cheaper, on the tiles that hold a value, where it is used. */
typedef enum TwCastPolicy { TW_CAST_AUTO = 0, TW_CAST_EARLY = 1, TW_CAST_LATE = 2 } TwCastPolicy;

typedef struct TwCompileOptions {
    unsigned tiles;           /* at most TW_TILES, which is meant by 0 */
    unsigned max_copies;      /* resident copies of one parameter; 0: any number */
    const char *const *grids; /* forced: "OP=ROWS,COLUMNS,INNER[,swapped]" */
    size_t grid_count;
    bool device_input; /* inputs lie once on the chip, F16, evenly spread, as a block leaves them */
    TwCastPolicy cast;
    unsigned rank; /* take this one of the plans that fit, by price from 1; 0: the fastest */
    /* Where to write the text form of a pass's result, or NULL. */
    FILE *plan, *lower, *place, *exchange, *explanation;
} TwCompileOptions;

enum { TW_MAX_PASSES = 8, TW_MAX_FINALISTS = 4 };

/* A plan that was placed and scheduled, with its cycles before and after that. */
typedef struct TwFinalist {
    uint64_t predicted_cycles, scheduled_cycles;
} TwFinalist;

typedef struct TwCompileReport {
    uint64_t predicted_cycles;
    /* Exact, from formulas and exchange schedules; with a cycle sample before every step. */
    uint64_t scheduled_cycles, scheduled_cycles_sampled;
    double ideal_cycles; /* multiply-adds of the graph / (128 FP8, 64 F16) / tiles */
    unsigned tiles;      /* that could be used */
    unsigned tiles_used;
    uint64_t candidates;     /* plans that were priced */
    uint64_t rejected;       /* of these, cheaper than the chosen one but without a placement */
    unsigned finalist_count; /* cheapest first; the fastest schedule was taken */
    TwFinalist finalists[TW_MAX_FINALISTS];
    double seconds;
    unsigned pass_count;
    const char *pass_names[TW_MAX_PASSES];
    double pass_seconds[TW_MAX_PASSES];
    /* If the graph does not fit (exit code 4): */
    bool refused, proved;    /* else the search gave up undecided */
    unsigned tile;           /* the fullest one of the nearest plan */
    const char *memory;      /* what is short there: "total", "interleaved", "contiguous", "rows" */
    uint64_t bytes_over;     /* by how much */
    unsigned tiles_that_fit; /* the smallest number that does; 0: none */
} TwCompileReport;

/* report may be NULL; it is filled in as far as the passes came, also on failure. */
TwStatus tw_compile(TwContext *context, const TwGraph *graph, const TwWeights *weights,
                    const TwCompileOptions *options, TwPackage **package, TwCompileReport *report);
