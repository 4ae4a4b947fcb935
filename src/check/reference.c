/* The product in F64. */
#include "check/check.h"

#include "base/mem.h"

#include <cblas.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

enum {
    ROW_BLOCK = 192,
    COLUMN_BLOCK = 512,
    BLAS_LEAST = 1 << 24, /* multiply-adds that are worth the library's start */
    BLAS_ROOM = 256 << 20 /* address space that a thread of OpenBLAS takes, with a reserve */
};

typedef struct Product {
    uint32_t rows, inner, columns, row_blocks;
    const double *left, *right;
    double *out;
    bool blas;
} Product;

/* OpenBLAS is loaded when it is first wanted and not linked: on its start it would begin a thread
 * for every processor, in commands that never multiply too, and it waits for ever where these get
 * no memory. NULL where the library is missing. */
static __typeof__(cblas_dgemm) *dgemm;

static void load_blas(void) {
    setenv("OPENBLAS_NUM_THREADS", "1", 1); /* parallelism is ours, over fixed blocks */
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library)
        dgemm = (__typeof__(dgemm))dlsym(library, "cblas_dgemm");
}

/* Whether OpenBLAS serves this product: there, worth it, and with room for its buffers. */
static bool use_blas(uint32_t rows, uint32_t inner, uint32_t columns, unsigned threads) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    uint64_t work;
    if (checked_mul((uint64_t)rows * columns, inner, &work) && work < BLAS_LEAST)
        return false;
    void *room = mem_alloc((size_t)BLAS_ROOM, threads);
    if (!room)
        return false;
    mem_free(room);
    pthread_once(&once, load_blas);
    return dgemm;
}

static void multiply_plain(const Product *product, size_t row, size_t rows, size_t column,
                           size_t columns) {
    for (size_t r = row; r < row + rows; r++) {
        double *out = product->out + r * product->columns + column;
        for (size_t c = 0; c < columns; c++)
            out[c] = 0;
        for (size_t k = 0; k < product->inner; k++) {
            double left = product->left[r * product->inner + k];
            const double *right = product->right + k * product->columns + column;
            for (size_t c = 0; c < columns; c++)
                out[c] += left * right[c];
        }
    }
}

static void compute_block(void *context, size_t index, unsigned worker) {
    (void)worker;
    const Product *product = context;
    size_t row = index % product->row_blocks * ROW_BLOCK;
    size_t column = index / product->row_blocks * COLUMN_BLOCK;
    size_t rows = MIN_OF((size_t)ROW_BLOCK, product->rows - row);
    size_t columns = MIN_OF((size_t)COLUMN_BLOCK, product->columns - column);
    if (product->blas)
        dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint)rows, (blasint)columns,
              (blasint)product->inner, 1, product->left + row * product->inner,
              (blasint)product->inner, product->right + column, (blasint)product->columns, 0,
              product->out + row * product->columns + column, (blasint)product->columns);
    else
        multiply_plain(product, row, rows, column, columns);
}

void check_gemm_f64(uint32_t rows, uint32_t inner, uint32_t columns, const double *left,
                    const double *right, Pool *pool, double *out) {
    Product product = {.rows = rows,
                       .inner = inner,
                       .columns = columns,
                       .row_blocks = (uint32_t)div_up(rows, ROW_BLOCK),
                       .left = left,
                       .right = right,
                       .out = out,
                       .blas = use_blas(rows, inner, columns, pool ? pool_threads(pool) : 1)};
    pool_run(pool, product.row_blocks * div_up(columns, COLUMN_BLOCK), compute_block, &product);
}
