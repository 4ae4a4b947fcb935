/* Is the result right? The numeric twin computes what the chip must produce bit for bit; the
 * reference computes in F64 what the graph means. Both work on whole logical tensors (row-major)
 * and know nothing of tiles or layouts.
 *
 * Order of the twin's product: inner panels of 32 (F143) or 16 (F16) in ascending order; in a panel
 * four instructions in ascending order, each exact over its 8 or 4 products and rounded once to F32
 * (num/amp.h); the sum rounds to F16 after each panel and is the next panel's start. The first
 * panel starts at +0, and the last is filled up with zeros. Where the plan cuts the inner
 * dimension, every part is such a product, and their F16 partials are added in F32 from +0, that of
 * the element's owner first, then the others in ascending order, each sum rounded to nearest even;
 * the last one rounds to F16. Overflow saturates (FP_ICTL.NANOO = 0).
 *
 * A sum (GRAPH_ADD) is exact and rounds once to F16; GELU goes the way of the kernels, one binary16
 * step after the other (num/gelu.h). Where the plan has its kernel make the cast as well
 * (plan_casts_twice), gelu_twice_f16 is encoded with half the scale.
 *
 * A cast divides by the scale and rounds once, to nearest even; what is beyond the largest code
 * becomes that code, infinities and NaNs the NaN.
 *
 * Results never depend on the number of threads. A pool may be NULL. The only error is
 * ERR_NO_MEMORY. */
#pragma once

#include "base/diag.h"
#include "base/pool.h"
#include "graph/graph.h"
#include "num/f16.h"
#include "plan/plan.h"

/* One product of codes: left [rows,inner], right [inner,columns], extents at least 1; precisions of
 * both operands alike (F143 or F16) but for the scale. */
typedef struct CheckGemm {
    uint32_t rows, inner, columns;
    Precision left_precision, right_precision;
    const void *left, *right;
    const PlanSum *sum; /* how the inner dimension is cut; NULL: not at all */
} CheckGemm;

/* out [rows,columns] */
Status check_gemm_twin(const CheckGemm *gemm, Pool *pool, F16 *out, Diag *diag);

/* left · right in F64; row-major, no overlap. Big products by OpenBLAS with one thread a block,
 * the others, and all where it is missing or short of memory, by plain loops. */
void check_gemm_f64(uint32_t rows, uint32_t inner, uint32_t columns, const double *left,
                    const double *right, Pool *pool, double *out);

/* The outputs of a graph without repeats, the twin's in the order of the plan (NULL: no
 * product is cut). given[v] are the codes of value v for inputs and parameters; other entries are
 * not read. results has room for all values; entries of values that are outputs receive an array
 * for mem_free (codes of the value's precision; F64), the others NULL. On error all are NULL. The
 * reference starts from the encoded inputs and rounds nothing between operations but what a cast in
 * the graph does; its GELU is the tanh form in F64. */
Status check_twin(const Graph *graph, const Plan *plan, const void *const *given, Pool *pool,
                  void **results, Diag *diag);
Status check_reference(const Graph *graph, const void *const *given, Pool *pool, double **results,
                       Diag *diag);

typedef struct CheckResult {
    uint64_t count;
    uint64_t differing;        /* codes that are not equal (+0 ≠ −0), or NaN on either side */
    uint64_t nans;             /* in `found` */
    uint64_t first_difference; /* index, if differing > 0 */
    bool bit_exact;            /* differing = 0 */
    double max_abs_error;      /* against the reference; NaN if any error is */
    double rel_rms_error;      /* rms(found − reference) / rms(reference); 0 if both are 0 */
} CheckResult;

/* Codes found on the chip against the twin's and the reference. */
CheckResult check_compare(Precision precision, const void *found, const void *twin,
                          const double *reference, uint64_t count);
