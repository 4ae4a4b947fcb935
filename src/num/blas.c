#include "num/blas.h"

#include "base/mem.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

enum { BLAS_ROOM = 256 << 20 }; /* address space that a thread of OpenBLAS takes, with a reserve */

static Blas functions;
static bool loaded;

static void load_blas(void) {
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
    functions = (Blas){
        .sgemm = (__typeof__(functions.sgemm))dlsym(library, "cblas_sgemm"),
        .dgemm = (__typeof__(functions.dgemm))dlsym(library, "cblas_dgemm"),
        .ssyrk = (__typeof__(functions.ssyrk))dlsym(library, "cblas_ssyrk"),
        .dsyrk = (__typeof__(functions.dsyrk))dlsym(library, "cblas_dsyrk"),
        .dpotrf = (__typeof__(functions.dpotrf))dlsym(library, "dpotrf_"),
        .dtrtri = (__typeof__(functions.dtrtri))dlsym(library, "dtrtri_"),
    };
    loaded = functions.sgemm && functions.dgemm && functions.ssyrk && functions.dsyrk &&
             functions.dpotrf && functions.dtrtri;
}

const Blas *blas_open(unsigned threads) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    void *room = mem_alloc((size_t)BLAS_ROOM, threads);
    if (!room)
        return NULL;
    mem_free(room);
    pthread_once(&once, load_blas);
    return loaded ? &functions : NULL;
}
