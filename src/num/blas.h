/* OpenBLAS, loaded when it is first wanted and not linked: on its start it would begin a thread for
 * every processor, in commands that never multiply too, and it waits for ever where these get no
 * memory. It runs one thread; parallelism is ours, over fixed blocks, so that results do not depend
 * on the number of threads. */
#pragma once

#include <cblas.h>

typedef struct Blas {
    __typeof__(cblas_sgemm) *sgemm;
    __typeof__(cblas_dgemm) *dgemm;
    __typeof__(cblas_ssyrk) *ssyrk;
    __typeof__(cblas_dsyrk) *dsyrk;
    /* LAPACK in Fortran's way: column-major, everything by address, lengths of the texts last. */
    void (*dpotrf)(const char *uplo, const blasint *n, double *a, const blasint *lda, blasint *info,
                   size_t uplo_length);
    void (*dtrtri)(const char *uplo, const char *diag, const blasint *n, double *a,
                   const blasint *lda, blasint *info, size_t uplo_length, size_t diag_length);
} Blas;

/* NULL where the library is missing or lacks one of these, or where its buffers for so many threads
 * would find no address space. */
const Blas *blas_open(unsigned threads);
