/* Element types: names, sizes, and every value of every small floating type into every precision.
 */
#include "testing.h"

#include "base/mem.h"
#include "base/random.h"
#include "model/dtype.h"
#include "num/f16.h"
#include "num/f8.h"

#include <math.h>
#include <string.h>

static const Precision f16 = {.kind = PRECISION_F16};
static const Precision f32 = {.kind = PRECISION_F32};

static void test_names(void **state) {
    (void)state;
    for (unsigned i = 0; i < DTYPE_COUNT; i++) {
        Dtype dtype;
        const char *name = dtype_name((Dtype)i);
        assert_true(dtype_parse(name, strlen(name), &dtype));
        assert_int_equal(dtype, i);
        assert_false(dtype_parse(name, strlen(name) - 1, &dtype) && dtype == i);
    }
    Dtype dtype;
    assert_false(dtype_parse("F7", 2, &dtype));
    assert_false(dtype_parse("f32", 3, &dtype));
    assert_false(dtype_parse("", 0, &dtype));
    static const struct {
        Dtype dtype;
        uint32_t bits;
        bool floating;
    } sizes[] = {{DTYPE_F4, 4, false},        {DTYPE_F6_E2M3, 6, false}, {DTYPE_BOOL, 8, false},
                 {DTYPE_F8_E8M0, 8, true},    {DTYPE_BF16, 16, true},    {DTYPE_U32, 32, false},
                 {DTYPE_F8_E4M3, 8, true},    {DTYPE_C64, 64, false},    {DTYPE_F64, 64, true},
                 {DTYPE_F8_E4M3FNUZ, 8, true}};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        assert_int_equal(dtype_bits(sizes[i].dtype), sizes[i].bits);
        assert_int_equal(dtype_is_float(sizes[i].dtype), sizes[i].floating);
    }
}

/* The value of an eight-bit code, from the definitions of the formats. */
static double small_value(Dtype dtype, uint8_t code) {
    double sign = code & 0x80 ? -1 : 1;
    int e4 = code >> 3 & 15, m3 = code & 7, e5 = code >> 2 & 31, m2 = code & 3;
    switch (dtype) {
    case DTYPE_F8_E4M3:
        if ((code & 0x7F) == 0x7F)
            return NAN;
        return sign * (e4 ? ldexp(1 + m3 / 8.0, e4 - 7) : ldexp(m3 / 8.0, -6));
    case DTYPE_F8_E5M2:
        if (e5 == 31)
            return m2 ? NAN : sign * INFINITY;
        return sign * (e5 ? ldexp(1 + m2 / 4.0, e5 - 15) : ldexp(m2 / 4.0, -14));
    case DTYPE_F8_E4M3FNUZ:
        if (code == 0x80)
            return NAN;
        return sign * (e4 ? ldexp(1 + m3 / 8.0, e4 - 8) : ldexp(m3 / 8.0, -7));
    case DTYPE_F8_E5M2FNUZ:
        if (code == 0x80)
            return NAN;
        return sign * (e5 ? ldexp(1 + m2 / 4.0, e5 - 16) : ldexp(m2 / 4.0, -15));
    default: return code == 255 ? NAN : ldexp(1, code - 127);
    }
}

static void test_small_types_widen_exactly(void **state) {
    (void)state;
    static const Dtype types[] = {DTYPE_F8_E4M3, DTYPE_F8_E5M2, DTYPE_F8_E4M3FNUZ,
                                  DTYPE_F8_E5M2FNUZ, DTYPE_F8_E8M0};
    uint8_t codes[256];
    float values[256];
    for (int i = 0; i < 256; i++)
        codes[i] = (uint8_t)i;
    for (size_t t = 0; t < COUNT_OF(types); t++) {
        EncodeStats stats = {0};
        dtype_encode(types[t], codes, 256, f32, values, &stats);
        uint64_t nonfinite = 0;
        for (int i = 0; i < 256; i++) {
            double wanted = small_value(types[t], codes[i]);
            nonfinite += isfinite(wanted) ? 0 : 1;
            if (isnan(wanted))
                assert_true(isnan(values[i]));
            else
                assert_true((double)values[i] == wanted && !signbit(values[i]) == !signbit(wanted));
        }
        assert_int_equal(stats.nonfinite, nonfinite);
        assert_int_equal(stats.clipped, 0);
        assert_int_equal(stats.count, 256);
    }
}

/* E4M3FN bytes as F143: 0x80 → 0x00, NaN → 0x80, all others the same byte with the scale one up. */
static void test_e4m3fn_is_f143_one_scale_up(void **state) {
    (void)state;
    const Precision one_up = {PRECISION_F8F143, 1};
    for (int i = 0; i < 256; i++) {
        uint8_t code = (uint8_t)i, out;
        dtype_encode(DTYPE_F8_E4M3, &code, 1, one_up, &out, NULL);
        assert_int_equal(out, code == 0x80 ? 0 : (code & 0x7F) == 0x7F ? 0x80 : code);
    }
}

static void test_halves(void **state) {
    (void)state;
    const Precision f143 = {PRECISION_F8F143, -4};
    for (uint32_t i = 0; i < 65536; i++) {
        uint16_t half = (uint16_t)i, same;
        float value;
        uint8_t code;
        dtype_encode(DTYPE_F16, &half, 1, f32, &value, NULL);
        assert_int_equal(f32_bits(value), f32_bits(f16_to_f32(half)));
        dtype_encode(DTYPE_F16, &half, 1, f16, &same, NULL);
        assert_int_equal(same, (half & 0x7FFF) > 0x7C00 ? F16_QNAN : half);
        dtype_encode(DTYPE_F16, &half, 1, f143, &code, NULL);
        assert_int_equal(code, f8_from_f16(half, F8_F143, -4, F8_HOST));
        dtype_encode(DTYPE_BF16, &half, 1, f32, &value, NULL);
        if (!isnan(value))
            assert_int_equal(f32_bits(value), i << 16);
    }
}

/* A double is rounded once: by way of float32 these would come out one step away. */
static void test_double_rounds_once(void **state) {
    (void)state;
    const double values[] = {1 + 0x1p-11 + 0x1p-40, 8.5 + 0x1p-40, 0x1p-11 + 0x1p-60, 1e300,
                             -1e-300};
    uint16_t half[5];
    uint8_t code[5];
    float single[5];
    EncodeStats stats = {0};
    dtype_encode(DTYPE_F64, values, 5, f16, half, &stats);
    assert_int_equal(half[0], 0x3C01);
    assert_int_equal(half[3], F16_INFINITE);
    assert_int_equal(half[4], 0x8000);
    assert_int_equal(stats.clipped, 1);
    assert_true(stats.largest == 1e300);
    dtype_encode(DTYPE_F64, values, 5, (Precision){.kind = PRECISION_F8F143}, code, NULL);
    static const uint8_t codes[] = {0x40, 0x59, 0x01, 0x7F, 0x00};
    assert_memory_equal(code, codes, 5);
    dtype_encode(DTYPE_F64, values, 5, f32, single, NULL);
    assert_true(single[1] == 8.5f && isinf(single[3]));
}

/* Blocks, unaligned sources and statistics against one value at a time. */
static void test_bulk(void **state) {
    (void)state;
    enum { COUNT = 5000 };
    Random random = random_seed(11);
    uint8_t *bytes = mem_alloc(4 * COUNT + 1, 1), *codes = mem_alloc(COUNT, 1);
    float *values = mem_alloc(COUNT, sizeof *values), *decoded = mem_alloc(COUNT, sizeof *values);
    const Precision f143 = {PRECISION_F8F143, -6};
    uint64_t clipped = 0;
    double largest = 0;
    for (int i = 0; i < COUNT; i++) {
        values[i] = random_d1(&random, 1.5);
        clipped += fabsf(values[i]) > 3.75f;
        largest = fmax(largest, fabs((double)values[i]));
    }
    memcpy(bytes + 1, values, 4 * COUNT);
    EncodeStats stats = {.count = 1};
    dtype_encode(DTYPE_F32, bytes + 1, COUNT, f143, codes, &stats);
    assert_int_equal(stats.count, COUNT + 1);
    assert_int_equal(stats.clipped, clipped);
    assert_true(clipped > 0 && stats.largest == largest);
    precision_decode(f143, codes, COUNT, decoded);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(codes[i], f8_from_f64((double)values[i], F8_F143, -6, F8_HOST));
        assert_true(decoded[i] == f8_to_f32(codes[i], F8_F143, -6));
    }
    mem_free(bytes);
    mem_free(codes);
    mem_free(values);
    mem_free(decoded);
}

static void test_decode(void **state) {
    (void)state;
    const uint16_t halves[] = {0x3C00, 0xC000};
    const float singles[] = {1.5f, -0.0f};
    float out[2];
    precision_decode(f16, halves, 2, out);
    assert_true(out[0] == 1 && out[1] == -2);
    precision_decode(f32, singles, 2, out);
    assert_memory_equal(out, singles, sizeof out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_small_types_widen_exactly),
        cmocka_unit_test(test_e4m3fn_is_f143_one_scale_up),
        cmocka_unit_test(test_halves),
        cmocka_unit_test(test_double_rounds_once),
        cmocka_unit_test(test_bulk),
        cmocka_unit_test(test_decode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
