/* Bulk conversions equal the scalar ones at every level of this processor. TW_TEST_ALL makes it
 * 10^8 float32 patterns a level. */
#include "compare_codec.h"

static void bulk_equals_scalar(void **state) {
    (void)state;
    print_levels();
    /* The portable level calls the scalar functions: little to find there. */
    compare_codec(codec_table(CPU_PORTABLE), "portable", repetitions(1 << 20, 100000000));
    for (CpuLevel level = CPU_AVX2; level <= cpu_level_native(); level++)
        compare_codec(codec_table(level), cpu_level_name(level), repetitions(1 << 25, 100000000));
}

static void public_functions_take_the_level(void **state) {
    (void)state;
    const float floats[3] = {1.0f, -0.3f, 1e9f};
    uint8_t codes[3];
    F16 halves[3];
    float back[3];
    f8_encode_f32(codes, floats, 3, F8_F143, -4, F8_DEVICE_NANOO);
    assert_int_equal(codes[0], 0x60);
    assert_int_equal(codes[1], 0xD2);
    assert_int_equal(codes[2], F8_NAN);
    f8_decode_f16(halves, codes, 3, F8_F143, -4, F16_OVERFLOW_NAN);
    assert_int_equal(halves[0], 0x3C00);
    assert_int_equal(halves[2], F16_QNAN);
    f8_encode_f16(codes, halves, 3, F8_F143, 0, F8_HOST);
    f8_decode_f32(back, codes, 3, F8_F143, 0);
    assert_true(back[0] == 1.0f && back[1] == -0.3125f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bulk_equals_scalar),
        cmocka_unit_test(public_functions_take_the_level),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
