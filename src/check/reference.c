/* The product in F64. */
#include "check/check.h"

#include "base/mem.h"
#include "num/blas.h"

enum {
    ROW_BLOCK = 192,
    COLUMN_BLOCK = 512,
    BLAS_LEAST = 1 << 24 /* multiply-adds that are worth the library's start */
};

typedef struct Product {
    uint32_t rows, inner, columns, row_blocks;
    const double *left, *right;
    double *out;
    const Blas *blas; /* NULL: without it */
} Product;

/* OpenBLAS, if it serves this product: there, worth it, and with room for its buffers. */
static const Blas *choose_blas(uint32_t rows, uint32_t inner, uint32_t columns, unsigned threads) {
    uint64_t work;
    if (checked_mul((uint64_t)rows * columns, inner, &work) && work < BLAS_LEAST)
        return NULL;
    return blas_open(threads);
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
        product->blas->dgemm(
            CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint)rows, (blasint)columns,
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
                       .blas = choose_blas(rows, inner, columns, pool ? pool_threads(pool) : 1)};
    pool_run(pool, product.row_blocks * div_up(columns, COLUMN_BLOCK), compute_block, &product);
}
