/* The product in F64. */
#include "check/check.h"

#include <cblas.h>

enum { ROW_BLOCK = 192, COLUMN_BLOCK = 512 };

typedef struct Product {
    uint32_t rows, inner, columns, row_blocks;
    const double *left, *right;
    double *out;
} Product;

static void compute_block(void *context, size_t index, unsigned worker) {
    (void)worker;
    const Product *product = context;
    size_t row = index % product->row_blocks * ROW_BLOCK;
    size_t column = index / product->row_blocks * COLUMN_BLOCK;
    size_t rows = MIN_OF((size_t)ROW_BLOCK, product->rows - row);
    size_t columns = MIN_OF((size_t)COLUMN_BLOCK, product->columns - column);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint)rows, (blasint)columns,
                (blasint)product->inner, 1, product->left + row * product->inner,
                (blasint)product->inner, product->right + column, (blasint)product->columns, 0,
                product->out + row * product->columns + column, (blasint)product->columns);
}

void check_gemm_f64(uint32_t rows, uint32_t inner, uint32_t columns, const double *left,
                    const double *right, Pool *pool, double *out) {
    Product product = {.rows = rows,
                       .inner = inner,
                       .columns = columns,
                       .row_blocks = (uint32_t)div_up(rows, ROW_BLOCK),
                       .left = left,
                       .right = right,
                       .out = out};
    /* Parallelism is ours, over fixed blocks, so that sums do not depend on the machine's load. */
    openblas_set_num_threads(1);
    pool_run(pool, product.row_blocks * div_up(columns, COLUMN_BLOCK), compute_block, &product);
}
