/* Lowering: a plan becomes a tile graph, that is the buffers of every tile and the ordered steps
 * that use them. No address is known here.
 *
 * A step either computes (kernel calls, each tile for itself, no barrier before or after) or
 * exchanges (all tiles meet at a barrier and then run the rows of one phase together).
 *
 * A loop is a step STEP_REPEAT, the steps of its body, and a step STEP_AGAIN. Buffers hold the
 * values of every iteration in turn; iterated parameters are one buffer of equal members in a row,
 * of which each iteration uses the next.
 *
 * Steps are numbered 0…step_count-1. Time is counted in events: the host writes inputs and
 * parameters in event 0, step s is event s + 1, the host reads outputs in event step_count + 1 (the
 * end event). A parameter lives from event 0 to the end event: the package may run many times.
 */
#pragma once

#include "base/diag.h"
#include "base/mem.h"
#include "graph/graph.h"
#include "kernel/kernel.h"
#include "plan/plan.h"
#include "tensor/format.h"

#include <stdio.h>

typedef enum BufferRole {
    BUFFER_INPUT,     /* written by the host before every run */
    BUFFER_PARAMETER, /* written by the host once */
    BUFFER_OUTPUT,    /* read by the host after every run */
    BUFFER_TEMPORARY,
    BUFFER_ROWS, /* code of a tile's row in one exchange step, loaded once: 8-byte aligned, below
                  * 0x80000; its tail is what instruction fetch reads ahead */
} BufferRole;

#define LOWER_NONE UINT32_MAX

/* A stored value: a graph value or partial results, in one format. The plan's numbers; the first
 * ones are the graph's own values, where they are produced or written by the host. */
typedef struct LowerValue {
    const char *name;     /* plan_value_name; that of a home is the graph's */
    uint32_t graph_value; /* what it holds, or the sum that it is part of */
    Shape shape;
    Format format;
    uint32_t place, member; /* the value whose buffers it lies in, and in which member of them */
} LowerValue;

typedef struct LowerBuffer {
    uint32_t tile;      /* logical */
    uint32_t value;     /* index into TileGraph.values; LOWER_NONE for rows */
    uint32_t shard;     /* shard number in the value's format; of rows: the exchange's number */
    uint32_t bytes;     /* storage, ≥ 1; of one member */
    uint32_t tail;      /* bytes behind it that are read and discarded */
    uint32_t members;   /* of a row of iterated parameters, else 0 */
    uint32_t alignment; /* power of two */
    MemoryClass memory_class;
    BufferRole role;
    uint32_t first_event, last_event; /* inclusive */
    bool iterated;                    /* rows: sends from members of a row of parameters */
    bool is_piece;                    /* lies inside another buffer of the tile: */
    uint32_t whole, offset;           /* which, and where; it is no piece itself */
} LowerBuffer;

/* Two buffers of one tile that may not share an effective memory element. A soft pair only runs
 * faster apart (a tile that sends from one and receives into the other). */
typedef struct LowerPair {
    uint32_t a, b;
    bool soft;
} LowerPair;

typedef struct LowerOperand {
    uint32_t buffer, offset; /* offset in bytes */
} LowerOperand;

/* One kernel call on one tile. Operands and scalars are those of kernel_operands for the spec, in
 * its order: output first. */
typedef struct LowerCall {
    uint32_t tile;
    uint32_t spec; /* index into TileGraph.specs */
    LowerOperand operands[KERNEL_MAX_OPERANDS];
    int32_t scalars[KERNEL_MAX_SCALARS];
} LowerCall;

/* `words` 32-bit words from one buffer to the same number of bytes in others: one send, received by
 * all destinations. Offsets are multiples of 4. A tile occurs once among the destinations; the
 * source's own tile may be one of several (a loopback), never the only one. Copies of one step
 * neither read nor overwrite what another one writes, nor what fills and local copies before them
 * write but for padding. */
typedef struct LowerCopy {
    LowerOperand source;
    uint32_t words;
    uint32_t first_dest, dest_count; /* TileGraph.dests, by ascending tile */
} LowerCopy;

typedef enum LowerStepKind {
    STEP_COMPUTE,
    STEP_EXCHANGE,
    STEP_REPEAT, /* a loop begins */
    STEP_AGAIN,  /* and goes on with the step behind its begin, or ends */
} LowerStepKind;

/* All tiles enter a step in the same order; tiles without a call go on to the next one. */
typedef struct LowerStep {
    LowerStepKind kind;
    uint32_t operation;              /* graph operation it comes from */
    uint32_t planned;                /* step of the plan, in the first iteration of a loop */
    uint32_t first_call, call_count; /* STEP_COMPUTE: by ascending tile */
    uint32_t first_copy, copy_count; /* STEP_EXCHANGE: in the order in which they are best sent */
    uint32_t exchange;               /* STEP_EXCHANGE: its number among the exchange steps */
    uint32_t times;                  /* that it is done in a run; STEP_REPEAT, _AGAIN: the body */
    uint32_t body;                   /* STEP_REPEAT, _AGAIN: steps from behind it to _AGAIN */
    uint64_t predicted_cycles;       /* of the slowest tile, once */
} LowerStep;

typedef enum BindingKind { BINDING_INPUT, BINDING_PARAMETER, BINDING_OUTPUT } BindingKind;

/* One copy of one shard. Slices of a binding are ordered by shard, then by copy. */
typedef struct LowerSlice {
    uint32_t buffer, member, shard, copy;
} LowerSlice;

/* A named tensor of the host. Name and format live as long as graph and plan. */
typedef struct LowerBinding {
    const char *name;
    BindingKind kind;
    uint32_t value;
    Shape shape;  /* logical */
    Shape stored; /* the same values, as the format wants them */
    Format format;
    uint32_t first_slice, slice_count;
} LowerBinding;

typedef struct TileGraph {
    uint32_t tiles;        /* logical tiles 0…tiles-1; some may be idle */
    uint32_t *tile_buffer; /* tiles + 1 numbers: buffers of tile t are [t], …, [t + 1] - 1 */
    uint32_t *tile_pair;   /* the same for pairs */
    VEC(LowerValue) values;
    VEC(LowerBuffer) buffers;
    VEC(LowerPair) pairs;
    VEC(KernelSpec) specs; /* different ones */
    VEC(LowerCall) calls;
    VEC(LowerCopy) copies;
    VEC(LowerOperand) dests;
    VEC(LowerStep) steps;
    uint32_t exchanges;   /* exchange steps */
    uint32_t *row_buffer; /* [exchange * tiles + tile]: buffer of the tile's row, or LOWER_NONE */
    VEC(LowerSlice) slices;
    VEC(LowerBinding) bindings; /* inputs and parameters in graph order, then outputs */
    uint32_t end_event;
    Arena arena; /* other names */
} TileGraph;

/* Expands. `graph` and `plan` must outlive the result, which wants tile_graph_free in any case.
 * Tiles get a buffer for their row in every exchange step, of estimated size. ERR_LOWER_PIECE:
 * a move would have to carry pieces that are no whole number of words. */
Status lower_plan(const Graph *graph, const Plan *plan, TileGraph *result, Diag *diag);
/* Tile 0 alone, which has the largest shard of every value: its buffers and calls, no copies, and
 * rows of the least size. What has no placement here has none in the whole. */
Status lower_first_tile(const Graph *graph, const Plan *plan, TileGraph *result, Diag *diag);
void tile_graph_free(TileGraph *tiles);

/* Buffer of a tile's row in an exchange step; tiles behind the last one that stores something have
 * none. */
static inline uint32_t tile_graph_row(const TileGraph *tiles, uint32_t exchange, uint32_t tile) {
    return tiles->row_buffer[exchange * tiles->tiles + tile];
}

/* Bytes of all buffers but rows and pieces of others, tails not counted. */
uint64_t tile_graph_bytes(const TileGraph *tiles);

/* Text form: steps, specs, bindings, then buffers, pairs and calls of each tile. */
void tile_graph_print(const TileGraph *tiles, FILE *out);
