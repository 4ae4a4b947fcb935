/* The catalogue of tile kernels: what each computes, what it wants from memory, what it costs, its
 * assembly source and its C reference.
 *
 * A kernel is code for one tile that the supervisor calls:
 *
 *   $m2        address of operand 0, the output
 *   $m3, …     addresses of the other operands in order, then the scalars
 *   $m10       return address, written by `call $m10, entry`
 *   $m11       stack pointer; the kernel uses KERNEL_STACK_BYTES below it and leaves it as it was
 *
 * No worker runs before and after. Every other register, worker state, $FP_I* and the coefficients
 * are lost. (Register use as in the public ipu-stack kernels.)
 *
 * A KernelSpec holds everything that decides operands, cycles and results but for addresses and the
 * caller's own scalars. Which part of it specialises the code is the kernel's business: specs with
 * the same kernel_entry share one body, and what it needs to know of the shape arrives in further
 * scalars that kernel_scalars computes.
 */
#pragma once

#include "asm/asm.h"
#include "base/diag.h"
#include "tensor/tensor.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum KernelFamily {
    KERNEL_GEMM = 0,
    KERNEL_CAST = 1,
    KERNEL_REDUCE = 2,
    KERNEL_COPY = 3,
    KERNEL_FILL = 4,
    KERNEL_CONVERT = 5,
    KERNEL_GELU = 6,
    KERNEL_ADD = 7,
    KERNEL_PACK = 8,
    KERNEL_REDUCE_GELU = 9
} KernelFamily;

/* output[rows, 16 * groups] (+)= left[rows, panels * km] * right[panels * km, 16 * groups], with
 * km = 32 (F143) or 16 (F16).
 *
 * A swapped product (output transposed) is the same kernel: its left operand is the transposed
 * weight matrix, its rows are logical columns.
 *
 *   operand  order                                    bytes
 *   output   Left, F16: 16-column panels of `rows`    32 * rows * groups
 *   left     Left: km-column panels of `rows`         32 * rows * panels
 *   right    Right: groups outer, panels inner        512 * panels * groups
 *
 * F143 operands may be in half-panel order each (order.h, `half`), of 16 values of the inner
 * dimension: then two of their panels make one of the product. Where the inner dimension is an odd
 * number of half panels (`odd`: 32 * panels - 16) those operands lack the last one, and an operand
 * in whole panels holds zeros there, as padding does anyway. The result is the same bit by bit.
 *
 *   left     half-panel Left: panels of `rows`        16 * rows * (2 * panels - odd)
 *   right    half-panel Right: groups, then panels    256 * (2 * panels - odd) * groups
 *
 * `packed`: the result is F16 ORDER_TRANSPOSED_RIGHT of [rows, 16 * groups], the right operand of a
 * product that follows: blocks of 16 rows x 16 columns, 512 bytes each, those of the same rows side
 * by side; rows beyond the last one keep their bytes. Not with
 * half_left; up to 144 rows of up to 7 groups, 96 of 8. A flat cast makes it half-panel F143.
 *
 * Scalar (F143 only): sum of the scale exponents of left and right, -32…31.
 * Numerics: per row and panel the F16 partial widens to F32, four AMP instructions follow in phase
 * order (num/amp.h), and the result rounds once to F16, nearest even, saturating.
 *
 * F32 (km = 8): the result is F32 in ORDER_OUTPUT, 64 * rows * groups bytes: columns of a group in
 * the order in which accumulators give them. Who wants another order permutes the columns of right.
 * Eight AMP instructions a row and panel; nothing is rounded but their sums. */
enum { KERNEL_HALF_LEFT_ROWS = 256 }; /* a packed stride from one half panel to the next */

typedef struct KernelGemm {
    PrecisionKind precision;       /* of left and right */
    bool accumulate;               /* add to the output; else the first panel starts from zero */
    bool wide_weights;             /* right lies in interleaved memory: 32 loads a panel, not 64 */
    uint32_t rows, panels, groups; /* ≥ 1 each, rows ≤ 6143 */
    bool half_left, half_right;    /* in half-panel order; left: KERNEL_HALF_LEFT_ROWS at most */
    bool odd;                      /* half an operand panel less; wants one of them */
    bool packed;                   /* output in blocks of 16 rows */
} KernelGemm;

/* Converts F16 to F143: code = round(value / 2^scale), nearest even, saturating at +-240;
 * infinities and NaNs give the NaN 0x80.
 *
 * CAST_LINEAR: `count` values in any order that is the same on both sides.
 *
 *   operand  bytes
 *   output   count; a last word that is not full keeps its other bytes
 *   source   2 * count
 *
 * CAST_PANELS: a packed order of 16-wide F16 panels becomes the same order of 32-wide F143 panels;
 * a panel has `rows` rows of 32 bytes. Output panel p holds the source panels 2p (bytes 0 ... 15 of
 * its rows) and 2p + 1 (bytes 16 ... 31). That pairing begins anew in each of `groups` groups of
 * `panels` source panels; of an odd number the last one fills its row with 16 zero bytes.
 *
 *   order                             rows             panels   groups
 *   Left [R,C]                        R (batch * R)    C / 16   1
 *   TransposedLeft [K,N]              N                K / 16   1 a matrix
 *   Right [K,N], TransposedRight      16               K / 16   N / 16 a matrix
 *   BlockMajor with 32 | row block    16               all      1
 *
 *   output   32 * rows * ceil(panels / 2) * groups
 *   source   32 * rows * panels * groups
 *
 * CAST_ROWS: row-major F16, `pitch` values from row to row, to Left F143 [rows, 16 * panels].
 *
 *   output   32 * rows * ceil(panels / 2)
 *   source   2 * (pitch * (rows - 1) + 16 * panels)
 *
 * CAST_IN_PLACE: linear, one operand, `values`: 2 * count bytes, of which the first `count` become
 * the codes and the others stay. Several launches; three bundles for 8 values.
 *
 * A panel cast of one row and an even number of panels is a linear one, which is faster.
 * `fast`: the source lies in interleaved memory and shares no element with the output; one bundle
 * for 8 values instead of three.
 *
 * Scalar: scale exponent of the output, -31 ... 31. */
typedef enum KernelCastOrder { CAST_LINEAR, CAST_PANELS, CAST_ROWS, CAST_IN_PLACE } KernelCastOrder;

typedef struct KernelCast {
    KernelCastOrder order;
    bool fast;
    uint32_t count;                /* CAST_LINEAR, CAST_IN_PLACE */
    uint32_t rows, panels, groups; /* CAST_PANELS, CAST_ROWS; groups is 1 for CAST_ROWS */
    uint32_t pitch;                /* CAST_ROWS: multiple of 4, >= 16 * panels */
} KernelCast;

/* Bytes of a cast's operands, as in the tables above. */
uint64_t kernel_cast_source_bytes(const KernelCast *cast);
uint64_t kernel_cast_output_bytes(const KernelCast *cast);

/* Converts `count` values in any order that is the same on both sides; F16 to F143 is KERNEL_CAST.
 *
 *   from  to    scalar                      numerics
 *   F143  F16   scale exponent of source    code * 2^scale, rounded once
 *   F143  F143  none                        code * 2^shift, rounded once
 *   F16   F32   none                        exact
 *   F32   F16   none                        rounded once
 *   F32   F143  scale exponent of output    value * 2^-scale in F32, rounded once more
 *
 * To nearest even; finite values saturate at the largest number; NaNs and infinities stay what they
 * are, and in F143 both are the NaN 0x80. A product beyond F32 counts as infinite.
 *
 *   operand  bytes
 *   output   count values; a last word that is not full keeps its other bytes
 *   source   count values
 *
 * With panels > 0, F143 to F16 only: an order of 32-wide F143 panels becomes the same order of
 * 16-wide F16 panels, CAST_PANELS the other way round: `groups` groups of `panels` output panels of
 * `rows` lines of 32 bytes, each from ceil(panels / 2) source panels. `count` does not matter then.
 *
 * `fast`: they share no memory element; the loop runs at the rate of the store port. From F32 to
 * F16 the source lies in interleaved memory. Conversions of F143 to F143 and of F32 to F143 gain
 * nothing and ask for nothing. */
typedef struct KernelConvert {
    PrecisionKind from, to;
    bool fast;
    uint32_t count;
    int8_t shift; /* F143 to F143: source's scale less output's, -31 ... 31 */
    uint32_t rows, panels, groups;
} KernelConvert;

/* output[i] = first[i] + rest[0][i] + ... + rest[parts - 2][i], `count` F16 values each.
 *
 *   operand  bytes                      may be
 *   output   2 * count
 *   first    2 * count                  the output itself
 *   rest     2 * count * (parts - 1)
 *
 * No scalars of the caller.
 * Numerics: F32 sum from +0, in that order, each step rounded to nearest even; then one rounding to
 * F16, nearest even, saturating. */
typedef struct KernelReduce {
    uint32_t parts; /* 2 ... 127 */
    uint32_t count; /* multiple of 8 */
    bool wide;      /* first and rest lie in interleaved memory: 128-bit loads */
} KernelReduce;

/* Copies `rows` rows of `words` 64-bit words. Strides are bytes from row to row, multiples of 8 and
 * at least a row; they do not matter for one row. Source and output do not overlap.
 *
 *   operand  bytes
 *   output   (rows - 1) * output_stride + 8 * words; bytes between rows stay
 *   source   (rows - 1) * source_stride + 8 * words
 *
 * `paced`: they share no memory element; one bundle a word instead of two. No scalars. */
typedef struct KernelCopy {
    uint32_t rows, words;
    uint32_t source_stride, output_stride;
    bool paced;
} KernelCopy;

/* Fills `words` 64-bit words. Scalars: low and high half of the pattern. */
typedef struct KernelFill {
    uint32_t words;
} KernelFill;

/* Panels: `panels` of `rows` lines of 16 F16 values, as a product leaves them (ORDER_LEFT of F16).
 * Of a normal product with logical matrix y [R,C] the lines are rows of y, the lanes columns of y:
 * rows = R, panels = C / 16. Of a swapped one (ORDER_TRANSPOSED_LEFT of y) the lines are columns of
 * y, the lanes rows of y: rows = C, panels = R / 16. So bias along the columns of y is
 *
 *   normal    KERNEL_BIAS_COLUMNS  bias[16 * panel + lane], 32 * panels bytes
 *   swapped   KERNEL_BIAS_ROWS     bias[line], 2 * rows bytes
 */
typedef enum KernelBias { KERNEL_BIAS_NONE, KERNEL_BIAS_COLUMNS, KERNEL_BIAS_ROWS } KernelBias;

/* Transposing a swapped product y^T, so that the columns of y lie along the lines: as left operand
 * of a normal product (ORDER_LEFT of y), or as right operand of a swapped one
 * (ORDER_TRANSPOSED_RIGHT of y). With one panel the two are the same. */
typedef enum KernelTurn { KERNEL_TURN_NONE, KERNEL_TURN_LEFT, KERNEL_TURN_RIGHT } KernelTurn;

/* output = GELU(source + bias), tanh form; num/gelu.h has the steps.
 *
 *   operand  order                                     bytes
 *   output   F16: that of the source                   32 * rows * panels; may be the source
 *            F143, half: lines of 16 bytes             16 * rows * panels
 *            F143: lines of 32 bytes, from panels      32 * rows * ceil(panels / 2)
 *                  2p and 2p + 1; zeros if there is
 *                  no second one
 *   source   panels                                    32 * rows * panels
 *   bias     unless KERNEL_BIAS_NONE
 *
 * turn: F16, or F143 with half; KERNEL_BIAS_NONE or KERNEL_BIAS_ROWS; rows is a multiple of 16, and
 * output is not the source. Block b of 16 lines of panel p becomes a block of 16 lines at position
 *   KERNEL_TURN_LEFT   b * panels + p
 *   KERNEL_TURN_RIGHT  p * (rows / 16) + b
 * Without turn KERNEL_BIAS_ROWS does not exist.
 *
 * Scalar (F143 only): scale exponent of the output, -31 ... 31.
 * Numerics: source + bias is rounded to F16; F16 output is gelu_f16 of that, F143 output
 * gelu_twice_f16 encoded with scale + 1. */
typedef struct KernelGelu {
    KernelBias bias;
    KernelTurn turn;
    PrecisionKind output; /* PRECISION_F16 or PRECISION_F8F143 */
    bool half;            /* F143 only */
    uint32_t rows, panels;
} KernelGelu;

/* output = GELU(first + rest[0] + ... + rest[parts - 2] + bias): KernelReduce, then KernelGelu, in
 * one. Panels, lines, bias and output as in KernelGelu without turn; F143 output has lines of 16
 * bytes. Operands: output, first, rest as in KernelReduce (count = 16 * rows * panels; F16 output
 * may be first), bias. Scalar and numerics as those of the two. */
typedef struct KernelReduceGelu {
    uint32_t parts;       /* 2 ... 127 */
    bool wide;            /* first and rest lie in interleaved memory: 128-bit loads */
    KernelBias bias;      /* KERNEL_BIAS_NONE or KERNEL_BIAS_COLUMNS */
    PrecisionKind output; /* PRECISION_F16 or PRECISION_F8F143 */
    uint32_t rows, panels;
} KernelReduceGelu;

/* output = left + right, F16, each sum rounded once (nearest even, saturating). Output may be the
 * very bytes of left, and in KERNEL_ADD_PLAIN of right.
 *
 *   form                 left, output         right
 *   KERNEL_ADD_PLAIN     rows * columns       rows * columns values
 *   KERNEL_ADD_REPEATED  [rows, columns]      columns values, added to each row (row-major)
 *   KERNEL_ADD_COLUMNS   panels, 16 values a  bias as KERNEL_BIAS_COLUMNS: columns values
 *   KERNEL_ADD_ROWS      line; columns = 16   bias as KERNEL_BIAS_ROWS: rows values
 *                        a panel
 *
 * columns is a multiple of 4, for panels of 16.
 * apart: which operands share no memory element (PLAIN and REPEATED only; else KERNEL_ADD_ANYHOW):
 *   KERNEL_ADD_ANYHOW        none; three bundles for 4 values
 *   KERNEL_ADD_INPUTS_APART  left and right; two bundles
 *   KERNEL_ADD_ALL_APART     any two (output is neither input); one bundle
 * No scalars of the caller. */
typedef enum KernelAddForm {
    KERNEL_ADD_PLAIN,
    KERNEL_ADD_REPEATED,
    KERNEL_ADD_COLUMNS,
    KERNEL_ADD_ROWS
} KernelAddForm;

typedef enum KernelAddApart {
    KERNEL_ADD_ANYHOW,
    KERNEL_ADD_INPUTS_APART,
    KERNEL_ADD_ALL_APART
} KernelAddApart;

typedef struct KernelAdd {
    KernelAddForm form;
    KernelAddApart apart;
    uint32_t rows, columns;
} KernelAdd;

/* Moves a matrix between row-major order, `pitch` values from row to row, and a packed order;
 * `unpack` from the packed order to row-major. F16 or F143, F143 also in half panels (`half`: 16
 * values a line, else 32; F16: 16). `groups` matrices, one after the other on both sides
 * (row-major: rows * pitch values each).
 *
 *   order             lines run along  packed extents, padding zero
 *   Left              columns          rows, columns up to a multiple of a line
 *   TransposedRight   columns          rows up to a multiple of 16, columns as before
 *   TransposedLeft    rows             rows up to a multiple of a line, columns
 *   Right             rows             the same, columns up to a multiple of 16
 *
 * BlockMajor with blocks of 16 columns is Right, a group for each block of rows. Left and
 * TransposedRight want one group: several matrices are one of more rows (TransposedRight: of a
 * multiple of 16 each).
 * Packing writes the padding, unpacking does not touch what lies between rows.
 * `fast`: the two share no memory element; all then moves at the rate of the store port but for
 * TransposedLeft and Right of F143, which gain nothing and ask for nothing. No scalars. */
typedef enum KernelPackOrder {
    PACK_LEFT = 0,
    PACK_TRANSPOSED_RIGHT = 1,
    PACK_TRANSPOSED_LEFT = 2,
    PACK_RIGHT = 3
} KernelPackOrder;

typedef struct KernelPack {
    KernelPackOrder order;
    PrecisionKind precision;
    bool half, unpack, fast;
    uint32_t rows, columns; /* columns a multiple of 4; Left, TransposedRight: of 8 bytes */
    uint32_t pitch;         /* the same, >= columns */
    uint32_t groups;        /* 1 ... 4096 */
} KernelPack;

/* Bytes of the two sides, all groups. */
uint64_t kernel_pack_row_bytes(const KernelPack *pack);
uint64_t kernel_pack_packed_bytes(const KernelPack *pack);

typedef struct KernelSpec {
    KernelFamily family;
    union {
        KernelGemm gemm;
        KernelCast cast;
        KernelReduce reduce;
        KernelCopy copy;
        KernelFill fill;
        KernelConvert convert;
        KernelGelu gelu;
        KernelAdd add;
        KernelPack pack;
        KernelReduceGelu reduce_gelu;
    };
} KernelSpec;

bool kernel_spec_equal(const KernelSpec *a, const KernelSpec *b);

/* Is there such a kernel? ERR_KERNEL_SHAPE with the limit that is broken, ERR_KERNEL_PRECISION.
 * All functions below want a spec that passes. */
Status kernel_check(const KernelSpec *spec, Diag *diag);

enum { KERNEL_MAX_OPERANDS = 6, KERNEL_MAX_SCALARS = 6, KERNEL_STACK_BYTES = 32 };

typedef struct KernelOperand {
    const char *name; /* "output", "left", "right" */
    uint32_t bytes;
    uint32_t alignment; /* power of two */
    uint32_t tail;      /* bytes behind the operand that may be read, never written; their values do
                         * not matter. They count for `apart`. */
    MemoryClass memory_class;
    bool read, written;
    uint32_t apart; /* bit j: shares no effective memory element with operand j; symmetric */
    uint32_t same;  /* bit j: may be the very bytes of operand j; symmetric. Else operands are
                     * disjoint, tails excepted. */
} KernelOperand;

typedef struct KernelInterface {
    uint32_t operand_count, scalar_count;
    uint32_t free_scalars; /* the first ones are the caller's, the others are kernel_scalars' */
    KernelOperand operands[KERNEL_MAX_OPERANDS]; /* output first */
    const char *scalars[KERNEL_MAX_SCALARS];     /* names, in argument order */
} KernelInterface;

void kernel_interface(const KernelSpec *spec, KernelInterface *result);

/* Completes the arguments of a call: scalars[] holds the caller's own, the others are filled in. */
void kernel_scalars(const KernelSpec *spec, int32_t scalars[KERNEL_MAX_SCALARS]);

/* Exact cycles from the issue of the `call` to the issue of the instruction after the return, when
 * the call issues at a cycle congruent to `start` modulo 6. A closed formula, equal to what the
 * simulator runs. */
uint64_t kernel_cycles(const KernelSpec *spec, unsigned start);

/* Name of the kernel, different for different specs: "gemm_f8_init_wide_82x6x10". */
enum { KERNEL_NAME_SIZE = 64 };
const char *kernel_name(const KernelSpec *spec, char text[KERNEL_NAME_SIZE]);

/* Name of its entry symbol: "gemm_f8_init_wide_82x6x10", "reduce_4_wide". Specs with the same one
 * have the same code, so that it need be linked only once. */
const char *kernel_entry(const KernelSpec *spec, char text[KERNEL_NAME_SIZE]);

/* Source text of the kernel (embedded in the program) and the symbols that specialise it. */
enum { KERNEL_MAX_DEFINES = 32 };
typedef struct KernelSource {
    const char *file; /* "gemm.S" */
    const char *text;
    size_t size;
    AsmDefine defines[KERNEL_MAX_DEFINES];
    size_t define_count;
} KernelSource;

void kernel_source(const KernelSpec *spec, KernelSource *result);

/* Assembles it. The object's one global symbol is kernel_entry(). Free with asm_object_free. */
Status kernel_assemble(const KernelSpec *spec, AsmObject **object, Diag *diag);

/* The same computation on the host, bit by bit, in the operand orders above. operands[] as in
 * kernel_interface (operand 0 is written), scalars[] as passed to the kernel, of which only the
 * caller's own are read. */
void kernel_reference(const KernelSpec *spec, void *const operands[], const int32_t scalars[]);
