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
 * A KernelSpec holds everything that specialises the code, so two calls with equal specs share it;
 * addresses and scalars are arguments.
 */
#pragma once

#include "asm/asm.h"
#include "base/diag.h"
#include "tensor/tensor.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum KernelFamily { KERNEL_GEMM = 0 } KernelFamily;

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
 * Scalar (F143 only): sum of the scale exponents of left and right, -32…31.
 * Numerics: per row and panel the F16 partial widens to F32, four AMP instructions follow in phase
 * order (num/amp.h), and the result rounds once to F16, nearest even, saturating. */
typedef struct KernelGemm {
    PrecisionKind precision;       /* of left and right: PRECISION_F8F143 or PRECISION_F16 */
    bool accumulate;               /* add to the output; else the first panel starts from zero */
    bool wide_weights;             /* right lies in interleaved memory: 32 loads a panel, not 64 */
    uint32_t rows, panels, groups; /* ≥ 1 each, rows ≤ 6143 */
} KernelGemm;

typedef struct KernelSpec {
    KernelFamily family;
    union {
        KernelGemm gemm;
    };
} KernelSpec;

bool kernel_spec_equal(const KernelSpec *a, const KernelSpec *b);
uint64_t kernel_spec_hash(const KernelSpec *spec);

/* Is there such a kernel? ERR_KERNEL_SHAPE with the limit that is broken, ERR_KERNEL_PRECISION.
 * All functions below want a spec that passes. */
Status kernel_check(const KernelSpec *spec, Diag *diag);

enum { KERNEL_MAX_OPERANDS = 6, KERNEL_MAX_SCALARS = 4, KERNEL_STACK_BYTES = 8 };

typedef struct KernelOperand {
    const char *name; /* "output", "left", "right" */
    uint32_t bytes;
    uint32_t alignment; /* power of two */
    uint32_t tail;      /* bytes behind the operand that may be read, never written; their values do
                         * not matter. They count for `apart`. */
    MemoryClass memory_class;
    bool read, written;
    uint32_t apart; /* bit j: shares no effective memory element with operand j; symmetric */
} KernelOperand;

typedef struct KernelInterface {
    uint32_t operand_count, scalar_count;
    KernelOperand operands[KERNEL_MAX_OPERANDS]; /* output first */
    const char *scalars[KERNEL_MAX_SCALARS];     /* names, in argument order */
} KernelInterface;

void kernel_interface(const KernelSpec *spec, KernelInterface *result);

/* Exact cycles from the issue of the `call` to the issue of the instruction after the return, when
 * the call issues at a cycle congruent to `start` modulo 6. A closed formula, equal to what the
 * simulator runs. */
uint64_t kernel_cycles(const KernelSpec *spec, unsigned start);

/* Name of the kernel's entry symbol, different for different specs: "gemm_f8_init_wide_82x6x10". */
enum { KERNEL_NAME_SIZE = 64 };
const char *kernel_name(const KernelSpec *spec, char text[KERNEL_NAME_SIZE]);

/* Source text of the kernel (embedded in the program) and the symbols that specialise it. */
enum { KERNEL_MAX_DEFINES = 16 };
typedef struct KernelSource {
    const char *file; /* "gemm.S" */
    const char *text;
    size_t size;
    AsmDefine defines[KERNEL_MAX_DEFINES];
    size_t define_count;
} KernelSource;

void kernel_source(const KernelSpec *spec, KernelSource *result);

/* Assembles it. The object's one global symbol is kernel_name(). Free with asm_object_free. */
Status kernel_assemble(const KernelSpec *spec, AsmObject **object, Diag *diag);

/* The same computation on the host, bit by bit, in the operand orders above. operands[] as in
 * kernel_interface (operand 0 is written), scalars[] as passed to the kernel. */
void kernel_reference(const KernelSpec *spec, void *const operands[], const int32_t scalars[]);
