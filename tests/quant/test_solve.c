/* Weighing errors by the inputs' covariance: what the solver reports is the error of the outputs
 * after the correction of the bias, and it is smaller than where the means are weighed too. */
#include "testing.h"

#include "base/mem.h"
#include "base/random.h"
#include "quant/solve.h"

#include <math.h>

enum { ROWS = 400, INPUTS = 128, OUTPUTS = 64 };

/* Σ over rows and outputs of the squared differences, with the biases, of an exact product. */
static double output_error(const float *x, const float *weight, const float *bias,
                           const Solved *solved) {
    double sum = 0;
    for (size_t row = 0; row < ROWS; row++)
        for (size_t o = 0; o < OUTPUTS; o++) {
            double difference = (double)bias[o] - (double)solved->bias[o];
            for (size_t c = 0; c < INPUTS; c++)
                difference +=
                    (double)x[row * INPUTS + c] *
                    ((double)weight[o * INPUTS + c] - (double)solved->weight[o * INPUTS + c]);
            sum += difference * difference;
        }
    return sum;
}

static void test_covariance(void **state) {
    (void)state;
    const Blas *blas = blas_open(1);
    float *x = mem_alloc(ROWS * INPUTS, sizeof *x),
          *weight = mem_alloc(OUTPUTS * INPUTS, sizeof *x);
    float bias[OUTPUTS] = {0};
    assert_true(blas && x && weight);
    Random random = random_tensor("covariance", 0);
    for (size_t i = 0; i < OUTPUTS * INPUTS; i++)
        weight[i] = random_d1(&random, 0.1);
    float mean[INPUTS];
    for (size_t c = 0; c < INPUTS; c++)
        mean[c] = random_d1(&random, 3);
    for (size_t row = 0; row < ROWS; row++) {
        float common = random_d1(&random, 1); /* inputs that go together leave the method room */
        for (size_t c = 0; c < INPUTS; c++)
            x[row * INPUTS + c] = mean[c] + common + random_d1(&random, 0.3);
    }
    Stats stats;
    bool no_memory;
    assert_true(stats_make(&stats, INPUTS, INPUTS, true));
    assert_true(stats_add(&stats, blas, NULL, x, ROWS, &no_memory));
    stats_fold(&stats);
    double errors[2];
    for (int covariance = 0; covariance < 2; covariance++) {
        SolveOptions options = {.granularity = GRANULARITY_TENSOR,
                                .damp = 1e-4,
                                .bias_correction = true,
                                .covariance = covariance};
        Factor factor;
        Solved solved;
        assert_int_equal(factor_make(&stats, &options, blas, NULL, &factor, NULL), STATUS_OK);
        assert_int_equal(
            solve_linear(&factor, &options, NULL, OUTPUTS, weight, bias, SOLVE_FREE, &solved, NULL),
            STATUS_OK);
        errors[covariance] = output_error(x, weight, bias, &solved);
        if (covariance)
            assert_true(fabs(solved.reconstructed / errors[1] - 1) < 1e-3);
        solved_free(&solved);
        factor_free(&factor);
    }
    print_message("squared error of the outputs %.4f, by covariance %.4f\n", errors[0], errors[1]);
    assert_true(errors[1] < 0.9 * errors[0]);
    stats_free(&stats);
    mem_free(weight);
    mem_free(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_covariance)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
