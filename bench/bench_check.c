/* Seconds of the numeric twin and of the F64 reference for the up projection 729×1152×4304. */
#include "base/progress.h"
#include "base/random.h"
#include "check/check.h"
#include "num/f8.h"

#include <math.h>

enum { ROWS = 729, INNER = 1152, COLUMNS = 4304 };

static double *decoded(const uint8_t *codes, size_t count) {
    double *values = mem_alloc(count, sizeof *values);
    for (size_t i = 0; values && i < count; i++)
        values[i] = (double)f8_to_f32(codes[i], F8_F143, -4);
    return values;
}

int main(void) {
    size_t x_count = (size_t)ROWS * INNER, w_count = (size_t)INNER * COLUMNS;
    size_t out_count = (size_t)ROWS * COLUMNS;
    Pool *pool = pool_create(0);
    float *values = mem_alloc(w_count, sizeof *values);
    uint8_t *x = mem_alloc(x_count, 1), *w = mem_alloc(w_count, 1);
    F16 *out = mem_alloc(out_count, sizeof *out);
    double *reference = mem_alloc(out_count, sizeof *reference);
    if (!pool || !values || !x || !w || !out || !reference)
        return 1;
    random_fill_d1(values, x_count, "x", 0, 1);
    f8_encode_f32(x, values, x_count, F8_F143, -4, F8_HOST);
    random_fill_d1(values, w_count, "w", 0, 1 / sqrt(INNER));
    f8_encode_f32(w, values, w_count, F8_F143, -4, F8_HOST);
    Precision precision = {PRECISION_F8F143, -4};
    CheckGemm gemm = {ROWS, INNER, COLUMNS, precision, precision, x, w, NULL};
    double start = clock_seconds();
    if (check_gemm_twin(&gemm, pool, out, NULL) != STATUS_OK)
        return 1;
    double twin = clock_seconds() - start;
    double *left = decoded(x, x_count), *right = decoded(w, w_count);
    if (!left || !right)
        return 1;
    start = clock_seconds();
    check_gemm_f64(ROWS, INNER, COLUMNS, left, right, pool, reference);
    printf("%u threads: twin %.3f s, reference %.3f s\n", pool_threads(pool), twin,
           clock_seconds() - start);
    mem_free(values);
    mem_free(x);
    mem_free(w);
    mem_free(out);
    mem_free(reference);
    mem_free(left);
    mem_free(right);
    pool_free(pool);
    return 0;
}
