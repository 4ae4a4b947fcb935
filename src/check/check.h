/* Is the result right? The numeric twin computes what the chip must produce bit for bit; the
 * reference computes in F64 what the graph means. Both work on whole logical tensors of codes
 * (row-major, precision_bytes a value, little-endian) and know nothing of tiles or layouts.
 *
 * Order of the twin's product (that of all plans whose inner dimension is whole on a tile): inner
 * panels of 32 (F143) or 16 (F16) in ascending order; in a panel four instructions in ascending
 * order, each exact over its 8 or 4 products and rounded once to F32 (num/amp.h); the sum rounds to
 * F16 after each panel and is the next panel's start. The first panel starts at +0, and the last is
 * filled up with zeros. Overflow saturates (FP_ICTL.NANOO = 0).
 *
 * Results never depend on the number of threads. */
#pragma once

#include "base/diag.h"
#include "base/pool.h"
#include "graph/graph.h"
#include "num/f16.h"

/* Twin of one product: left [rows,inner], right [inner,columns], out [rows,columns]; precisions of
 * both operands alike but for the scale. */
typedef struct CheckGemm {
    uint32_t rows, inner, columns;
    Precision left_precision, right_precision;
    const void *left, *right;
} CheckGemm;

Status check_gemm_twin(const CheckGemm *gemm, Pool *pool, F16 *out, Diag *diag);
/* The same product in F64 from the decoded operands, nothing rounded but F64 itself. Finite
 * operands give the same bits for any number of threads; NaNs and infinities come out as such. */
Status check_gemm_reference(const CheckGemm *gemm, Pool *pool, double *out, Diag *diag);

/* The value of graph output `op` (codes of its precision; F64 values). given[v] = codes of value v
 * for every input and parameter, other entries are not read. */
Status check_twin(const Graph *graph, const void *const *given, uint32_t op, Pool *pool, void *out,
                  Diag *diag);
Status check_reference(const Graph *graph, const void *const *given, uint32_t op, Pool *pool,
                       double *out, Diag *diag);

typedef struct CheckResult {
    uint64_t count;
    uint64_t differing;        /* codes that are not equal (+0 ≠ −0) or NaN on either side */
    uint64_t nans;             /* in found */
    uint64_t first_difference; /* index, if differing > 0 */
    bool bit_exact;            /* differing = 0 */
    double max_abs_error;      /* against the reference; NaN if any error is */
    double rel_rms_error;      /* rms(found − reference) / rms(reference) */
} CheckResult;

CheckResult check_compare(Precision precision, const void *found, const void *twin,
                          const double *reference, uint64_t count);
