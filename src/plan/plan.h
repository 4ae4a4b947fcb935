/* Planning: which tiles compute which part of every operation, in which formats, and what it costs.
 *
 * Every value has a home: the format in which an operation produces it or the host writes it. Every
 * use wants a format of its own; where the two differ, a move stands in between, which the exchange
 * carries out (one message to all copies that need a piece). A plan is the list of all stored
 * values and of the steps that make them, in order.
 *
 * Every candidate is enumerated and priced with the closed forms that lowering expands with and
 * with the cycle formulas of the kernels (search.h). A plan is one of them, complete.
 */
#pragma once

#include "base/diag.h"
#include "base/mem.h"
#include "graph/graph.h"
#include "kernel/kernel.h"
#include "tensor/format.h"

#include <stdio.h>

#define PLAN_NONE UINT32_MAX

/* How an operand comes to the tiles that use it. */
typedef struct OperandChoice {
    /* Resident copies, a divisor of the number of users: as many as users, and each lies where it
     * is used; fewer, and the users of a copy hold it between them until it is multicast. */
    uint32_t copies;
    /* Where the graph casts the operand: on the tiles of its home, before it moves (early), or
     * where it is used, as always if the tiles of its home hold no whole panels; in either place
     * fast, with the source in interleaved memory. */
    bool early, fast;
    bool half; /* cast to half panels: F16 producers of 16 columns need not be put together */
} OperandChoice;

/* How one GEMM is cut. Normal: left [M,K] · right [K,N], rows are M and columns N. Swapped:
 * computes the transposed product, so the physical left operand is the logical right one, rows are
 * N and columns M.
 *
 * Tile of row part p, column part q and inner part k: p * columns + q, or p + q * rows if rows are
 * fast, plus k * rows * columns. The fast axis is best the one along which moved operands are
 * shared, so that both tiles of a pair take the same stream. */
typedef struct GemmChoice {
    uint32_t rows, columns, inner; /* parts */
    bool swapped;
    MemoryClass weights; /* of the physical right operand: interleaved allows 128-bit loads */
    bool rows_fast;
    /* With inner parts, the F16 partials of a block are added up by owners: owner_rows x
     * owner_columns = inner of them, each for a part of the block (owner i * owner_columns + j has
     * row part i and column part j), or one, inner part 0, for all of it. */
    uint32_t owner_rows, owner_columns;
    bool wide_sum;             /* received partials lie in interleaved memory: 128-bit loads */
    OperandChoice operands[2]; /* of the logical left and right operand */
} GemmChoice;

/* A grid that the user forces on an operation. */
typedef struct PlanForce {
    char *operation; /* name of the operation's result in the graph, or "gemm": the only one */
    uint32_t rows, columns, inner;
    bool swapped;
} PlanForce;

/* Parses "OP=R,C,K" or "OP=R,C,K,swapped" (ERR_PLAN_GRID_TEXT). Free operation with mem_free. */
Status plan_force_parse(const char *text, PlanForce *force, Diag *diag);

/* A home that is forced on a value: only for graphs of one cast, which need both. */
typedef struct PlanFormat {
    uint32_t value; /* of the graph */
    Format format;
} PlanFormat;

typedef enum PlanCastPolicy { PLAN_CAST_AUTO, PLAN_CAST_EARLY, PLAN_CAST_LATE } PlanCastPolicy;

typedef struct PlanOptions {
    uint32_t tiles;      /* logical tiles that may be used, 1…CHIP_TILES */
    uint32_t max_copies; /* resident copies of one parameter; 0 = any number */
    /* Inputs lie once on the chip, as plan_device_format has it, whatever their consumers want. */
    bool device_input;
    /* Nothing moves between tiles: the inner dimension stays whole, the host writes every copy. */
    bool no_exchange;
    PlanCastPolicy cast;
    /* search: also fewer copies of parameters than users, which take less memory and more time */
    bool fewer_copies;
    bool complete; /* search: also grids whose product alone costs far more than the best plan */
    const PlanForce *forces;
    size_t force_count;
    const PlanFormat *formats;
    size_t format_count;
} PlanOptions;

/* Where an earlier block leaves a value: F16, once, spread about evenly over up to `tiles` tiles
 * (an eighth more on the fullest one is worth longer pieces). Left
 * order (or the left order of the transpose, if `transposed`) with whole groups of `group` columns,
 * 16 or 32; rows are padded to 16, so that they can become columns of the next product. */
Format plan_device_format(const Shape *shape, bool transposed, uint32_t group, uint32_t tiles);

typedef enum PlanValueKind {
    PLAN_HOME,     /* a graph value where it is produced, or where the host writes it */
    PLAN_MOVED,    /* the same value in the format of its use */
    PLAN_TURNED,   /* the same value with its lines along the other axis */
    PLAN_PARTIALS, /* parts of a sum: shape [parts, …], one part a tile */
    PLAN_RECEIVED, /* what owners receive for the sum; see plan_received_offset */
} PlanValueKind;

/* A stored value, and how much it takes: all copies together, and on the fullest tile. Values that
 * lie in another one's storage take nothing. */
typedef struct PlanValue {
    PlanValueKind kind;
    uint32_t graph_value;
    Shape shape;
    Format format;      /* of PLAN_RECEIVED: of one part on its owner */
    uint32_t members;   /* equal shards in a row: 1, or of PLAN_RECEIVED one for each other part */
    uint32_t inside_of; /* PLAN_NONE, or the value of which each tile's shard is a piece */
    uint64_t total_bytes, widest_bytes;
} PlanValue;

typedef enum PlanStepKind {
    PLAN_LOCAL,    /* what of moves stays on a tile, and padding, by kernels */
    PLAN_EXCHANGE, /* the rest of the same moves */
    PLAN_CAST,
    PLAN_GEMM,
    PLAN_REDUCE,
    PLAN_POINT, /* value by value: gelu, add */
    PLAN_TURN,  /* blocks of 16 x 16 are transposed */
    PLAN_PACK,  /* row-major values into a packed order on the same tiles */
} PlanStepKind;

/* From one stored value to another one; partials to received ones is a reduce-scatter. Between
 * values of different shapes, rows from source_row on become rows from target_row on, as many as
 * the smaller one has. */
typedef struct PlanMove {
    uint32_t source, target;
    uint32_t source_row, target_row;
} PlanMove;

typedef struct PlanStep {
    PlanStepKind kind;
    uint32_t op;                     /* of the graph */
    uint32_t first_move, move_count; /* PLAN_LOCAL, PLAN_EXCHANGE */
    /* Computing steps: stored values. GEMM: physical left and right; sum: partials, received. */
    uint32_t target, sources[2];
    uint64_t cycles; /* predicted, of the slowest tile, with the supervisor's share of the step */
    uint64_t words;  /* PLAN_EXCHANGE: received by the busiest tile, before pairing */
} PlanStep;

/* Are these a local step and the exchange of the same moves? */
static inline bool plan_same_moves(const PlanStep *local, const PlanStep *exchange) {
    return local->kind == PLAN_LOCAL && exchange->kind == PLAN_EXCHANGE &&
           local->first_move == exchange->first_move;
}

/* What was chosen for a GEMM; of a graph of one cast, for that: only operands[0].early and fast
 * count. */
typedef struct PlanChoice {
    uint32_t op; /* of the graph */
    GemmChoice gemm;
} PlanChoice;

/* Steps first_step … first_step + step_count - 1 are the body of a loop: the steps behind them, as
 * often as `times` says with the first, do the same with the values of later iterations. */
typedef struct PlanLoop {
    uint32_t first_step, step_count, times;
} PlanLoop;

/* Where a stored value lies: in the place of `value`, itself or one of an earlier iteration. Values
 * of different iterations of a loop take one place in turn. Iterated parameters lie in a row, since
 * all are there from the start: `member` is this one's number, `members` (of the first one) how
 * many there are. */
typedef struct PlanPlace {
    uint32_t value, member, members;
} PlanPlace;

typedef struct Plan {
    uint32_t tiles; /* those that the plan was made for; it may use fewer */
    bool device_input;
    uint64_t merged; /* levels of exchange steps that were made one (plan_merge) */
    uint64_t predicted_cycles;
    uint32_t choice_count;
    PlanChoice *choices; /* by ascending op */
    uint32_t value_count;
    PlanValue *values; /* first those of the graph, by its numbers: their homes */
    uint32_t step_count;
    PlanStep *steps;
    uint32_t move_count;
    PlanMove *moves;
    uint32_t loop_count;
    PlanLoop *loops;   /* ascending, disjoint */
    PlanPlace *places; /* [value_count] */
} Plan;

/* Extent of an axis with the padding behind its last value (padding between groups apart). Moves
 * carry as much of it as both formats have. */
uint32_t plan_padded_extent(const Format *format, uint32_t axis, uint32_t extent);

/* Does a move take rows from one shape to another? */
bool plan_moves_rows(const Plan *plan, const PlanMove *move);

/* The choice for an operation, NULL if there is none. */
const GemmChoice *plan_choice(const Plan *plan, uint32_t op);

/* Frees the arrays; a zeroed plan is an empty one. */
void plan_free(Plan *plan);
Status plan_copy(const Plan *plan, Plan *copy, Diag *diag);

/* Exchange steps of a plan stand on levels: those of one level wait for none of each other and can
 * be one phase. *levels: a bit for each of the first 64 levels that has several. */
Status plan_mergeable(const Plan *plan, uint64_t *levels, Diag *diag);
/* The plan, which is not merged yet, with the exchange steps of each of these levels, at least one,
 * as one step, and the others in an order that allows it. The price assumes that words add up;
 * there may be other loops. */
Status plan_merge(const Graph *graph, const Plan *plan, uint64_t levels, Plan *merged, Diag *diag);

/* Highest tile that stores something, plus one. */
uint32_t plan_tiles_used(const Plan *plan);

/* Resident copies of a graph value. */
uint32_t plan_copies(const Plan *plan, uint32_t value);

/* A kernel call on shards of stored values. */
typedef struct PlanOperand {
    uint32_t value, offset; /* bytes into the tile's shard */
} PlanOperand;

typedef struct PlanCall {
    KernelSpec spec;
    PlanOperand operands[KERNEL_MAX_OPERANDS]; /* output first */
    int32_t scalars[KERNEL_MAX_SCALARS];       /* the caller's own */
} PlanCall;

/* Calls of `tile` in a computing step that is not PLAN_LOCAL, and each of them. */
uint32_t plan_call_count(const Graph *graph, const Plan *plan, const PlanStep *step, uint32_t tile);
void plan_call(const Graph *graph, const Plan *plan, const PlanStep *step, uint32_t tile,
               uint32_t call, PlanCall *result);

/* Bytes of a tile's shard of a stored value with all members; 0 if it has none. */
uint64_t plan_tile_bytes(const Plan *plan, uint32_t value, uint32_t tile);

/* Byte offset at which a tile's shard of a value that lies inside another one begins there. */
uint64_t plan_inside_offset(const Plan *plan, uint32_t value, uint32_t tile);

/* The piece of its partials that an owner adds up, in panels of 16 columns by rows of 32 bytes. */
typedef struct PlanPiece {
    uint32_t rows, panels;
    uint32_t first_row, first_panel; /* within the tile's partials */
    uint32_t part_rows;              /* rows of these */
} PlanPiece;

PlanPiece plan_owned_piece(const Plan *plan, const PlanStep *reduce, uint32_t tile);

/* Byte offset, in a PLAN_RECEIVED shard, of a piece of one part: the panel-th panel of the owner's
 * block from part `other` of the sum (not the owner's own). One kernel call adds up what lies in
 * one piece of the owner's partials: all panels together, part after part, or (several panels,
 * owners of fewer rows than a part has) each panel for itself. */
uint64_t plan_received_offset(const Plan *plan, const PlanStep *reduce, uint32_t tile,
                              uint32_t other, uint32_t panel);

/* Is cast `op` made by the kernel of the GELU before it, which encodes twice the GELU with a scale
 * that is one larger? plan NULL: no. */
bool plan_casts_twice(const Graph *graph, const Plan *plan, uint32_t op);

/* How a GEMM's inner dimension is cut and added up, for whoever must compute the same numbers.
 * parts 1: not at all. Else part i covers inner indices from end[i - 1] (0) to end[i]; the element
 * of row m and column n belongs to owner row_owner[m] + column_owner[n], whose partial comes first
 * in the F32 sum, then the others by ascending number, then one rounding to F16. */
typedef struct PlanSum {
    uint32_t parts;
    uint32_t *end, *row_owner, *column_owner;
} PlanSum;

/* The sum of graph operation `op`; plan NULL: not cut. plan_sum_free in any case. */
Status plan_sum(const Graph *graph, const Plan *plan, uint32_t op, PlanSum *sum, Diag *diag);
void plan_sum_free(PlanSum *sum);

/* "x", "x:moved", "y:partials", "y:received"; NULL without memory, mem_free. */
char *plan_value_name(const Graph *graph, const Plan *plan, uint32_t value);

/* Text form: "plan" line, each "operation" with its choice, then "value" and "step" lines. NULL
 * without memory; mem_free. */
char *plan_print(const Graph *graph, const Plan *plan);
/* Reads it back for the same graph. The choices decide; every other number must be what they give:
 * ERR_PLAN_TEXT and ERR_PLAN_MISMATCH carry the line. `name` is used in messages. */
Status plan_parse(const char *text, const char *name, const Graph *graph, Plan *plan, Diag *diag);
