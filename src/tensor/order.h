/* Element orders: where a value of a matrix lies inside its shard.
 *
 * All orders are instances of one closed form. A matrix has an inner axis of K values and an outer
 * axis of N values; runs of `group` inner values are contiguous (a line); lines of `outer_block`
 * neighbouring outer values form a panel; panels follow each other group by group inside an inner
 * block, then along the outer axis, then along the inner axis:
 *
 *   panel  = ((k / IB) * (N / OB) + n / OB) * (IB / g) + (k % IB) / g
 *   offset = panel * g * OB + (n % OB) * g + permute(k % g)
 *
 * if OB divides N; else the last panels of an inner block have fewer lines, those that are left.
 * With g = values in 32 bytes (precision_group), or 16 for the half-panel orders of F143:
 *
 *   order             inner axis  g          IB         OB          public name
 *   row_major         columns     C          C          R           -
 *   left              columns     g          g          R           AMP left, A panels
 *   transposed_left   rows        g          g          C           left of the transpose
 *   left in blocks    columns     g          K          block       A panels, block by block
 *   its transpose     rows        g          K          block
 *   right             rows        g          K          16          coefficient panels [K,N]
 *   transposed_right  columns     g          K          16          right of the transpose
 *   output            columns     16, drain  16         R           accumulator drain order
 *   transposed_output rows        16, drain  16         C
 *   block             rows        g          row block  col block   block-major weights
 *   transposed_block  columns     g          row block  col block   block-major of the transpose
 *
 * "drain" permutes the columns of a group as accumulators return them when coefficients were loaded
 * in numeric order: 0 1 8 9 2 3 10 11 4 5 12 13 6 7 14 15 by physical position. Panel orders:
 * poplibs lib/poplin (1x1 convolution) and ipu-stack (GEMM operands).
 *
 * Axes before the last two are flattened into the rows by row_major, left (not in blocks) and
 * output; the other orders store one packed matrix after the other.
 */
#pragma once

#include "tensor/tensor.h"

typedef enum OrderKind {
    ORDER_ROW_MAJOR = 0,
    ORDER_LEFT = 1,
    ORDER_TRANSPOSED_LEFT = 2,
    ORDER_RIGHT = 3,
    ORDER_TRANSPOSED_RIGHT = 4,
    ORDER_OUTPUT = 5,
    ORDER_TRANSPOSED_OUTPUT = 6,
    ORDER_BLOCK = 7,
    ORDER_TRANSPOSED_BLOCK = 8,
} OrderKind;

typedef struct Order {
    OrderKind kind;
    bool half;            /* F143 in 16-byte lines; left, right and their transposes */
    uint32_t inner_block; /* block orders only, else 0 */
    uint32_t outer_block; /* the same; left and transposed_left in blocks: their lines */
} Order;

enum { COEFFICIENT_COLUMNS = 16 }; /* outputs of one AMP coefficient panel */

/* Drain order: physical position of each column of a group, and column at each position. */
extern const uint8_t order_drain_position[16], order_drain_column[16];

bool order_equal(Order a, Order b);

/* Extents of a shard and an order in it, resolved into the closed form above: the one structure
 * that offsets, spans, transfers and bulk packing work from. */
typedef struct Layout {
    uint32_t rank;
    uint32_t dims[SHAPE_MAX_RANK]; /* physical extents of the shard, padding included */
    uint32_t value_bytes;
    bool inner_is_row; /* the inner axis is the last but one */
    bool flattened;    /* leading axes are part of the rows, else one matrix after another */
    bool drain;
    uint32_t inner, outer;                    /* K and N; N counts flattened rows */
    uint32_t group, inner_block, outer_block; /* a last outer block may have fewer lines */
    uint64_t matrices;                        /* 1 if flattened */
} Layout;

/* Resolves; false if the order does not suit the extents (a multiple is violated, a block is 0,
 * half panels of another precision than F143, drain order of 1-byte values is allowed). A rank
 * below 2 is taken as one row. */
bool layout_make(Layout *layout, Order order, Precision precision, uint32_t rank,
                 const uint32_t dims[]);

/* Number of values the shard stores: product of the extents. */
uint64_t layout_count(const Layout *layout);

/* Lines of the panels that begin with line n, a multiple of outer_block. */
uint32_t layout_lines(const Layout *layout, uint32_t n);

/* Offset in values of the value at `index` (rank numbers), and back. */
uint64_t layout_offset(const Layout *layout, const uint32_t index[]);
void layout_index(const Layout *layout, uint64_t offset, uint32_t index[]);
