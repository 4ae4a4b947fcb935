/* The twin against a plain loop over single instructions, the reference against a plain loop over
 * doubles, whole graphs, and the comparison. */
#include "random_graph.h"

#include "base/random.h"
#include "check/check.h"
#include "num/amp.h"
#include "num/f8.h"
#include "num/gelu.h"
#include "plan/search.h"

#include <math.h>
#include <string.h>

static const Precision f16 = {.kind = PRECISION_F16};

static uint32_t size_of(Precision precision) {
    return precision_bytes(precision);
}

/* Codes of D1 data, with a few odd ones among them if `odd`. */
static void *random_codes(Random *random, uint64_t count, Precision precision, bool odd) {
    uint8_t *codes = mem_alloc(count, size_of(precision));
    assert_non_null(codes);
    for (uint64_t i = 0; i < count; i++) {
        float value = random_d1(random, 1);
        bool strange = odd && random_below(random, 50) == 0;
        if (precision.kind == PRECISION_F8F143) {
            codes[i] = f8_from_f64((double)value, F8_F143, precision.scale_exponent, F8_HOST);
            if (strange)
                codes[i] = (uint8_t)random_next(random);
        } else {
            F16 half = f32_to_f16(value, F16_OVERFLOW_INFINITE);
            if (strange)
                half = (F16)random_next(random);
            memcpy(codes + 2 * i, &half, 2);
        }
    }
    return codes;
}

/* Inner elements [k, end) of one output of the twin, instruction by instruction. */
static F16 plain_part(const CheckGemm *gemm, uint32_t row, uint32_t column, uint32_t k,
                      uint32_t end) {
    bool f8 = gemm->left_precision.kind == PRECISION_F8F143;
    uint32_t lanes = f8 ? AMP_F8_LANES : AMP_F16_LANES;
    F16 sum = 0;
    while (k < end) {
        float acc = f16_to_f32(sum);
        for (int phase = 0; phase < AMP_PHASES; phase++, k += lanes) {
            uint8_t x8[AMP_F8_LANES] = {0}, w8[AMP_F8_LANES] = {0};
            F16 x16[AMP_F16_LANES] = {0}, w16[AMP_F16_LANES] = {0};
            for (uint32_t lane = 0; lane < lanes && k + lane < end; lane++) {
                size_t x = (size_t)row * gemm->inner + k + lane;
                size_t w = (size_t)(k + lane) * gemm->columns + column;
                if (f8) {
                    x8[lane] = ((const uint8_t *)gemm->left)[x];
                    w8[lane] = ((const uint8_t *)gemm->right)[w];
                } else {
                    x16[lane] = ((const F16 *)gemm->left)[x];
                    w16[lane] = ((const F16 *)gemm->right)[w];
                }
            }
            acc = f8 ? amp_step_f8(acc, x8, F8_F143, w8, F8_F143,
                                   gemm->left_precision.scale_exponent +
                                       gemm->right_precision.scale_exponent)
                     : amp_step_f16(acc, x16, w16);
        }
        sum = f32_to_f16(acc, F16_OVERFLOW_SATURATE);
    }
    return sum;
}

/* The whole: partials from last to first, but that of the owner before all. */
static F16 plain_dot(const CheckGemm *gemm, uint32_t row, uint32_t column) {
    const PlanSum *sum = gemm->sum;
    if (!sum)
        return plain_part(gemm, row, column, 0, gemm->inner);
    F16 parts[8];
    for (uint32_t i = 0; i < sum->parts; i++)
        parts[i] = plain_part(gemm, row, column, i ? sum->end[i - 1] : 0, sum->end[i]);
    uint32_t owner = sum->row_owner[row] + sum->column_owner[column];
    volatile float total = f16_to_f32(parts[owner]) + 0.0f;
    for (uint32_t i = 0; i < sum->parts; i++)
        if (i != owner)
            total = total + f16_to_f32(parts[i]);
    return f32_to_f16(total, F16_OVERFLOW_SATURATE);
}

/* Up to eight parts that end with panels, owned at random. */
static PlanSum random_sum(Random *random, uint32_t rows, uint32_t inner, uint32_t columns,
                          uint32_t panel) {
    uint32_t panels = (uint32_t)div_up(inner, panel);
    PlanSum sum = {.parts = 1 + (uint32_t)random_below(random, MIN_OF(panels, 8u))};
    sum.end = mem_alloc(sum.parts, sizeof *sum.end);
    sum.row_owner = mem_alloc(rows, sizeof *sum.row_owner);
    sum.column_owner = mem_alloc(columns, sizeof *sum.column_owner);
    for (uint32_t i = 0; i < sum.parts; i++)
        sum.end[i] = MIN_OF(inner, (i + 1) * (panels / sum.parts) * panel);
    sum.end[sum.parts - 1] = inner;
    for (uint32_t i = 0; i < rows; i++)
        sum.row_owner[i] = (uint32_t)random_below(random, sum.parts / 2 + 1);
    for (uint32_t i = 0; i < columns; i++)
        sum.column_owner[i] = (uint32_t)random_below(random, sum.parts - sum.parts / 2);
    return sum;
}

static void check_one(Random *random, Pool *pool, uint32_t rows, uint32_t inner, uint32_t columns,
                      Precision left, Precision right, bool odd) {
    PlanSum sum = random_sum(random, rows, inner, columns, precision_group(left));
    bool cut = random_below(random, 2);
    CheckGemm gemm = {.rows = rows,
                      .inner = inner,
                      .columns = columns,
                      .left_precision = left,
                      .right_precision = right,
                      .left = random_codes(random, (uint64_t)rows * inner, left, odd),
                      .right = random_codes(random, (uint64_t)inner * columns, right, odd),
                      .sum = cut ? &sum : NULL};
    F16 *out = mem_alloc((uint64_t)rows * columns, sizeof *out);
    assert_int_equal(check_gemm_twin(&gemm, pool, out, NULL), STATUS_OK);
    for (uint32_t row = 0; row < rows; row++) {
        for (uint32_t column = 0; column < columns; column++) {
            F16 wanted = plain_dot(&gemm, row, column), found = out[row * columns + column];
            if (found != wanted)
                fail_msg("%ux%ux%u at %u,%u: %04x, not %04x", rows, inner, columns, row, column,
                         found, wanted);
        }
    }
    mem_free((void *)gemm.left);
    mem_free((void *)gemm.right);
    mem_free(out);
    plan_sum_free(&sum);
}

static void test_twin(void **state) {
    (void)state;
    uint64_t seed = 3;
    print_message("seed %llu\n", (unsigned long long)seed);
    Random random = random_seed(seed);
    static const uint32_t edges[] = {1, 15, 16, 17, 31, 32, 33};
    Pool *pool = pool_create(3);
    for (int i = 0; i < 80; i++) {
        bool f8 = i & 1, odd = i % 3 == 0;
        Precision left =
            f8 ? (Precision){PRECISION_F8F143, (int8_t)(random_below(&random, 9) - 8)} : f16;
        Precision right =
            f8 ? (Precision){PRECISION_F8F143, (int8_t)(random_below(&random, 9) - 8)} : f16;
        uint32_t rows = edges[random_below(&random, 7)], inner = edges[random_below(&random, 7)];
        uint32_t columns = 1 + (uint32_t)random_below(&random, 70);
        if (i % 4 == 3)
            inner = 100 + (uint32_t)random_below(&random, 300); /* several parts */
        if (i % 10 == 9)
            rows = 250 + (uint32_t)random_below(&random, 300); /* several row blocks */
        check_one(&random, i % 2 ? pool : NULL, rows, inner, columns, left, right, odd);
    }
    pool_free(pool);
}

static void test_saturation_and_zero(void **state) {
    (void)state;
    /* 65504 + 65504 saturates; −2^-24·2^-3 rounds to −0 and stays it; nothing times NaN is NaN. */
    const F16 left[3] = {0x7BFF, 0x8001, 0x0000};
    const F16 right[3] = {0x4000, 0x3000, F16_QNAN};
    F16 out;
    for (int i = 0; i < 3; i++) {
        CheckGemm gemm = {1, 1, 1, f16, f16, &left[i], &right[i], NULL};
        assert_int_equal(check_gemm_twin(&gemm, NULL, &out, NULL), STATUS_OK);
        assert_int_equal(out, i == 0 ? F16_MAX : i == 1 ? 0x8000 : F16_QNAN);
    }
}

static void test_reference(void **state) {
    (void)state;
    Random random = random_seed(5);
    Pool *pools[] = {NULL, pool_create(2), pool_create(7)};
    /* The last by OpenBLAS, the others by plain loops. */
    static const uint32_t shapes[][3] = {
        {1, 1, 1}, {193, 70, 515}, {40, 300, 1030}, {197, 171, 517}};
    for (size_t s = 0; s < COUNT_OF(shapes); s++) {
        uint32_t rows = shapes[s][0], inner = shapes[s][1], columns = shapes[s][2];
        size_t count = (size_t)rows * columns;
        double *left = mem_alloc((size_t)rows * inner, sizeof *left);
        double *right = mem_alloc((size_t)inner * columns, sizeof *right);
        double *out[3];
        for (size_t i = 0; i < (size_t)rows * inner; i++)
            left[i] = (double)random_d1(&random, 1);
        for (size_t i = 0; i < (size_t)inner * columns; i++)
            right[i] = (double)random_d1(&random, 1);
        for (int p = 0; p < 3; p++) {
            out[p] = mem_alloc(count, sizeof *out[p]);
            check_gemm_f64(rows, inner, columns, left, right, pools[p], out[p]);
        }
        assert_memory_equal(out[0], out[1], count * sizeof(double));
        assert_memory_equal(out[0], out[2], count * sizeof(double));
        for (size_t i = 0; i < count; i += 17) {
            double sum = 0;
            for (size_t k = 0; k < inner; k++)
                sum += left[i / columns * inner + k] * right[k * columns + i % columns];
            assert_true(fabs(sum - out[0][i]) < 1e-11);
        }
        for (int p = 0; p < 3; p++)
            mem_free(out[p]);
        mem_free(left);
        mem_free(right);
    }
    pool_free(pools[1]);
    pool_free(pools[2]);
}

/* Batches, broadcasting, transposition and a chain, against index arithmetic. */
static void test_graph(void **state) {
    (void)state;
    static const char text[] = "input %a \"a\" : f16[2,1,5,3]\n"
                               "parameter %b \"b\" : f16[4,5,7]\n"
                               "parameter %c \"c\" : f16[6,7]\n"
                               "%p = gemm %a, %b {transpose_left=true} : f16[2,4,3,7]\n"
                               "%q = gemm %p, %c {transpose_right=true} : f16[2,4,3,6]\n"
                               "output %q \"q\"\n"
                               "output %p \"p\"\n";
    Graph *graph;
    assert_int_equal(graph_parse(text, sizeof text - 1, "g", &graph, NULL), STATUS_OK);
    Random random = random_seed(9);
    F16 *a = random_codes(&random, 30, f16, false), *b = random_codes(&random, 140, f16, false);
    F16 *c = random_codes(&random, 42, f16, false);
    const void *given[] = {a, b, c, NULL, NULL};
    void *twin[5];
    double *reference[5];
    assert_int_equal(check_twin(graph, NULL, given, NULL, twin, NULL), STATUS_OK);
    assert_int_equal(check_reference(graph, given, NULL, reference, NULL), STATUS_OK);
    assert_null(twin[0]);
    assert_null(reference[2]);
    const F16 *p_codes = twin[3], *q_codes = twin[4];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
            for (int m = 0; m < 3; m++) {
                int row = (i * 4 + j) * 3 + m;
                double p[7];
                for (int n = 0; n < 7; n++) {
                    p[n] = 0;
                    for (int k = 0; k < 5; k++)
                        p[n] += (double)f16_to_f32(a[i * 15 + k * 3 + m]) *
                                (double)f16_to_f32(b[j * 35 + k * 7 + n]);
                    assert_true(fabs(p[n] - reference[3][row * 7 + n]) < 1e-12);
                    assert_true(fabs(p[n] - (double)f16_to_f32(p_codes[row * 7 + n])) < 0.01);
                }
                for (int n = 0; n < 6; n++) {
                    double q = 0, rounded = 0;
                    for (int k = 0; k < 7; k++) {
                        double w = (double)f16_to_f32(c[n * 7 + k]);
                        q += p[k] * w;
                        rounded += (double)f16_to_f32(p_codes[row * 7 + k]) * w;
                    }
                    assert_true(fabs(q - reference[4][row * 6 + n]) < 1e-12);
                    assert_int_equal(q_codes[row * 6 + n],
                                     f64_to_f16(rounded, F16_OVERFLOW_SATURATE));
                }
            }
    for (int v = 0; v < 5; v++) {
        mem_free(twin[v]);
        mem_free(reference[v]);
    }
    mem_free(a);
    mem_free(b);
    mem_free(c);
    graph_free(graph);
}

/* A cast in the graph: the twin's codes are those of the scalar codec, the reference's numbers
 * their values. */
static void test_cast(void **state) {
    (void)state;
    static const char text[] = "input %x \"x\" : f16[40,70]\n"
                               "parameter %w \"w\" : f8f143(s=-3)[70,9]\n"
                               "%q = cast %x : f8f143(s=-4)[40,70]\n"
                               "%y = gemm %q, %w : f16[40,9]\n"
                               "output %q \"q\"\n"
                               "output %y \"y\"\n";
    Graph *graph;
    assert_int_equal(graph_parse(text, sizeof text - 1, "g", &graph, NULL), STATUS_OK);
    Random random = random_seed(21);
    F16 *x = random_codes(&random, 40 * 70, f16, true);
    for (int i = 0; i < 40 * 70; i++)
        if ((x[i] & 0x7C00) == 0x7C00) /* no infinities, no NaNs */
            x[i] = F16_MAX;
    Precision scaled = {PRECISION_F8F143, -3};
    uint8_t *w = random_codes(&random, 70 * 9, scaled, false);
    const void *given[] = {x, w, NULL, NULL};
    void *twin[4];
    double *reference[4];
    assert_int_equal(check_twin(graph, NULL, given, NULL, twin, NULL), STATUS_OK);
    assert_int_equal(check_reference(graph, given, NULL, reference, NULL), STATUS_OK);
    const uint8_t *codes = twin[2];
    for (int i = 0; i < 40 * 70; i++) {
        assert_int_equal(codes[i], f8_from_f16(x[i], F8_F143, -4, F8_DEVICE_SATURATE));
        assert_true(reference[2][i] == (double)f8_to_f32(codes[i], F8_F143, -4));
    }
    CheckResult result = check_compare(f16, twin[3], twin[3], reference[3], 40 * 9);
    assert_true(result.bit_exact && result.rel_rms_error < 0.001);
    for (int v = 2; v < 4; v++) {
        mem_free(twin[v]);
        mem_free(reference[v]);
    }
    mem_free(x);
    mem_free(w);
    graph_free(graph);
}

/* Sums and GELU, value by value. */
static void test_sum_and_gelu(void **state) {
    (void)state;
    static const char text[] = "input %x \"x\" : f16[2,3,5]\n"
                               "input %b \"b\" : f16[3,1]\n"
                               "%s = add %b, %x : f16[2,3,5]\n"
                               "%g = gelu %s : f16[2,3,5]\n"
                               "output %s \"s\"\n"
                               "output %g \"g\"\n"
                               "output %b \"b2\"\n";
    Graph *graph;
    assert_int_equal(graph_parse(text, sizeof text - 1, "g", &graph, NULL), STATUS_OK);
    Random random = random_seed(44);
    F16 *x = random_codes(&random, 30, f16, false), *b = random_codes(&random, 3, f16, false);
    x[0] = b[0] = F16_MAX; /* saturates */
    const void *given[] = {x, b, NULL, NULL};
    void *twin[4];
    double *reference[4];
    assert_int_equal(check_twin(graph, NULL, given, NULL, twin, NULL), STATUS_OK);
    assert_int_equal(check_reference(graph, given, NULL, reference, NULL), STATUS_OK);
    const F16 *sums = twin[2], *gelus = twin[3];
    assert_int_equal(sums[0], F16_MAX);
    for (int i = 0; i < 30; i++) {
        double exact = (double)f16_to_f32(x[i]) + (double)f16_to_f32(b[i / 5 % 3]);
        assert_int_equal(sums[i], f64_to_f16(exact, F16_OVERFLOW_SATURATE));
        assert_true(reference[2][i] == exact);
        assert_int_equal(gelus[i], gelu_f16(sums[i]));
        double u = sqrt(2 / M_PI) * (exact + 0.044715 * pow(exact, 3));
        assert_true(fabs(reference[3][i] - 0.5 * exact * (1 + tanh(u))) <= 1e-12 * fabs(exact));
    }
    assert_memory_equal(twin[1], b, 6);
    for (int v = 0; v < 4; v++) {
        mem_free(twin[v]);
        mem_free(reference[v]);
    }
    mem_free(x);
    mem_free(b);
    graph_free(graph);
}

/* What a random graph unrolls to, on matrices and on shapes as they are written: the same numbers.
 */
static void test_matrices(void **state) {
    (void)state;
    uint64_t seed = 51;
    print_message("seed %llu\n", (unsigned long long)seed);
    Random random = random_seed(seed);
    RandomGraphOptions options = {.most = 40, .work = 2e5, .batched = true, .steps = 6};
    for (int round = 0; round < 30; round++) {
        Graph *graph = random_graph(&random, &options), *matrices, *plain;
        assert_int_equal(graph_expand(graph, &matrices, NULL), STATUS_OK);
        char *text = graph_print(matrices);
        assert_int_equal(graph_parse(text, strlen(text), "g", &plain, NULL), STATUS_OK);
        size_t count = plain->values.count;
        void **given = mem_alloc(count, sizeof *given);
        void **all[4]; /* twin and reference of either */
        for (int i = 0; i < 4; i++)
            all[i] = mem_alloc(count, sizeof **all);
        for (size_t v = 0; v < count; v++) {
            const GraphValue *value = &plain->values.items[v];
            uint64_t values;
            shape_count(&value->shape, &values);
            GraphOpKind kind = plain->ops.items[value->op].kind;
            if (kind == GRAPH_INPUT || kind == GRAPH_PARAMETER)
                given[v] = random_codes(&random, values, value->precision, false);
        }
        for (int i = 0; i < 2; i++) {
            const Graph *of = i ? plain : matrices;
            const void *const *codes = (const void *const *)given;
            assert_int_equal(check_twin(of, NULL, codes, NULL, all[i], NULL), STATUS_OK);
            assert_int_equal(check_reference(of, codes, NULL, (double **)all[2 + i], NULL),
                             STATUS_OK);
        }
        for (size_t v = 0; v < count; v++) {
            uint64_t values;
            shape_count(&plain->values.items[v].shape, &values);
            assert_int_equal(!all[0][v], !all[1][v]);
            if (all[0][v]) {
                assert_memory_equal(all[0][v], all[1][v],
                                    values * size_of(plain->values.items[v].precision));
                assert_memory_equal(all[2][v], all[3][v], values * sizeof(double));
            }
            for (int i = 0; i < 4; i++)
                mem_free(all[i][v]);
            mem_free(given[v]);
        }
        for (int i = 0; i < 4; i++)
            mem_free(all[i]);
        mem_free(given);
        mem_free(text);
        graph_free(plain);
        graph_free(matrices);
        graph_free(graph);
    }
}

/* A plan's parts and owners reach the twin. */
static void test_plan(void **state) {
    (void)state;
    Graph *graph;
    assert_int_equal(graph_build_gemm(&graph, 50, 160, 40, f16, NULL), STATUS_OK);
    PlanForce force = {(char[]){"gemm"}, 5, 1, 6, false};
    PlanOptions options = {.tiles = 60, .forces = &force, .force_count = 1};
    PlanSearch search;
    Plan plan;
    PlanSum sum;
    assert_int_equal(plan_search(graph, &options, &search, NULL), STATUS_OK);
    assert_int_equal(plan_build(&search, &search.candidates[0], &plan, NULL), STATUS_OK);
    assert_int_equal(plan_sum(graph, &plan, 2, &sum, NULL), STATUS_OK);
    assert_int_equal(sum.parts, 6);
    Random random = random_seed(33);
    F16 *x = random_codes(&random, 50 * 160, f16, false);
    F16 *w = random_codes(&random, 160 * 40, f16, false);
    const void *given[] = {x, w, NULL};
    void *cut[3], *whole[3];
    assert_int_equal(check_twin(graph, &plan, given, NULL, cut, NULL), STATUS_OK);
    assert_int_equal(check_twin(graph, NULL, given, NULL, whole, NULL), STATUS_OK);
    CheckGemm gemm = {50, 160, 40, f16, f16, x, w, &sum};
    const F16 *found = cut[2];
    for (uint32_t i = 0; i < 50 * 40; i++)
        assert_int_equal(found[i], plain_dot(&gemm, i / 40, i % 40));
    assert_true(memcmp(cut[2], whole[2], 50 * 40 * sizeof(F16)) != 0);
    mem_free(cut[2]);
    mem_free(whole[2]);
    mem_free(x);
    mem_free(w);
    plan_sum_free(&sum);
    plan_free(&plan);
    plan_search_free(&search);
    graph_free(graph);
}

/* The product that `bench gemm` is judged by: what the order of roundings alone costs. */
static void test_error_of_d1(void **state) {
    (void)state;
    for (int f8 = 0; f8 < 2; f8++) {
        Precision precision = f8 ? (Precision){PRECISION_F8F143, -4} : f16;
        Graph *graph;
        assert_int_equal(graph_build_gemm(&graph, 128, 128, 64, precision, NULL), STATUS_OK);
        float *values = mem_alloc(128 * 128, sizeof *values);
        uint8_t *x = mem_alloc(128 * 128, 2), *w = mem_alloc(128 * 64, 2);
        for (int side = 0; side < 2; side++) {
            size_t count = side ? 128 * 64 : 128 * 128;
            uint8_t *codes = side ? w : x;
            random_fill_d1(values, count, side ? "w" : "x", 0, side ? 1 / sqrt(128) : 1);
            if (f8)
                f8_encode_f32(codes, values, count, F8_F143, -4, F8_HOST);
            else
                f16_narrow_all((F16 *)(void *)codes, values, count, F16_OVERFLOW_INFINITE);
        }
        const void *given[] = {x, w, NULL};
        void *twin[3];
        double *reference[3];
        assert_int_equal(check_twin(graph, NULL, given, NULL, twin, NULL), STATUS_OK);
        assert_int_equal(check_reference(graph, given, NULL, reference, NULL), STATUS_OK);
        CheckResult result = check_compare(f16, twin[2], twin[2], reference[2], 128 * 64);
        print_message("%s: max_abs_error %.6f, rel_rms_error %.6f\n", f8 ? "f8f143" : "f16",
                      result.max_abs_error, result.rel_rms_error);
        assert_true(result.bit_exact);
        assert_true(result.max_abs_error <= (f8 ? 0.005 : 0.006));
        assert_true(result.rel_rms_error > 0 && result.rel_rms_error < 0.001);
        mem_free(twin[2]);
        mem_free(reference[2]);
        mem_free(values);
        mem_free(x);
        mem_free(w);
        graph_free(graph);
    }
}

static void test_compare(void **state) {
    (void)state;
    const F16 one[] = {0x3C00, 0x0000, 0x4000}, other[] = {0x3C00, 0x8000, 0x4001};
    const F16 nan[] = {0x3C00, 0x0000, F16_QNAN};
    const double reference[] = {1, 0, 2.25};
    CheckResult same = check_compare(f16, one, one, reference, 3);
    assert_true(same.bit_exact && same.differing == 0 && same.nans == 0);
    assert_true(same.max_abs_error == 0.25);
    assert_true(fabs(same.rel_rms_error - 0.25 / sqrt(1 + 2.25 * 2.25)) < 1e-15);
    CheckResult different = check_compare(f16, other, one, reference, 3);
    assert_true(!different.bit_exact && different.differing == 2);
    assert_int_equal(different.first_difference, 1);
    CheckResult undefined = check_compare(f16, nan, nan, reference, 3);
    assert_true(!undefined.bit_exact && undefined.nans == 1 && undefined.differing == 1);
    assert_true(isnan(undefined.max_abs_error) && isnan(undefined.rel_rms_error));
    const uint8_t bytes[] = {0x40};
    const float singles[] = {-2};
    const double minus_two[] = {-2};
    CheckResult f8 = check_compare((Precision){PRECISION_F8F143, 1}, bytes, bytes, minus_two, 1);
    assert_true(f8.bit_exact && f8.max_abs_error == 4);
    CheckResult f32 =
        check_compare((Precision){.kind = PRECISION_F32}, singles, singles, minus_two, 1);
    assert_true(f32.bit_exact && f32.max_abs_error == 0 && f32.rel_rms_error == 0);
}

static void test_without_memory(void **state) {
    (void)state;
    static const char text[] = "input %a \"a\" : f16[5,3]\n"
                               "parameter %b \"b\" : f16[7,5]\n"
                               "%p = gemm %a, %b {transpose_left=true, transpose_right=true} : "
                               "f16[3,7]\n"
                               "output %p \"p\"\n";
    Graph *graph;
    assert_int_equal(graph_parse(text, sizeof text - 1, "g", &graph, NULL), STATUS_OK);
    Random random = random_seed(9);
    void *a = random_codes(&random, 15, f16, false), *b = random_codes(&random, 35, f16, false);
    const void *given[] = {a, b, NULL};
    for (int which = 0; which < 2; which++) {
        Status status = ERR_NO_MEMORY;
        for (uint64_t n = 1; status != STATUS_OK; n++) {
            void *results[3];
            mem_fail_after(n);
            status = which ? check_twin(graph, NULL, given, NULL, results, NULL)
                           : check_reference(graph, given, NULL, (double **)results, NULL);
            mem_fail_after(0);
            assert_true((results[2] != NULL) == (status == STATUS_OK));
            mem_free(results[2]);
        }
    }
    mem_free(a);
    mem_free(b);
    graph_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twin),           cmocka_unit_test(test_saturation_and_zero),
        cmocka_unit_test(test_reference),      cmocka_unit_test(test_graph),
        cmocka_unit_test(test_cast),           cmocka_unit_test(test_plan),
        cmocka_unit_test(test_sum_and_gelu),   cmocka_unit_test(test_matrices),
        cmocka_unit_test(test_error_of_d1),    cmocka_unit_test(test_compare),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
