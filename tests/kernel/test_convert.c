/* Conversions that keep the order of values: bits, cycles, limits. */
#include "num/f8.h"
#include "rig.h"

#include <math.h>

enum { OUTPUT, SOURCE };

static const struct {
    PrecisionKind from, to;
} pairs[] = {{PRECISION_F8F143, PRECISION_F16},
             {PRECISION_F8F143, PRECISION_F8F143},
             {PRECISION_F16, PRECISION_F32},
             {PRECISION_F32, PRECISION_F16},
             {PRECISION_F32, PRECISION_F8F143}};

static KernelSpec conversion(size_t pair, uint32_t count, bool fast, int shift) {
    return (KernelSpec){.family = KERNEL_CONVERT,
                        .convert = {.from = pairs[pair].from,
                                    .to = pairs[pair].to,
                                    .fast = fast,
                                    .count = count,
                                    .shift = (int8_t)shift}};
}

/* A number whose F143 code hangs on its last bits; or any bits. */
static float random_float(Random *random, int scale, bool any) {
    uint64_t bits = random_next(random);
    if (any)
        return f32_from_bits((uint32_t)bits);
    float tie = (float)(int)(16 + bits % 16) / 16,
          ulp = f32_from_bits((uint32_t)(103 + bits % 9) << 23);
    tie += bits & 1024 ? ulp : bits & 2048 ? -ulp : 0;
    return ldexpf(bits & 4096 ? -tie : tie, scale + (int)(bits >> 16) % 22 - 12);
}

static KernelSpec panels(uint32_t rows, uint32_t count, uint32_t groups, bool fast) {
    KernelSpec spec = conversion(0, 0, fast, 0);
    spec.convert.rows = rows;
    spec.convert.panels = count;
    spec.convert.groups = groups;
    return spec;
}

static void check_values(const KernelSpec *spec, Random *random) {
    const KernelConvert *convert = &spec->convert;
    KernelInterface interface;
    kernel_interface(spec, &interface);
    uint32_t bytes = convert->from == PRECISION_F32 ? 4 : convert->from == PRECISION_F16 ? 2 : 1;
    Rig rig;
    RigCall call;
    rig_start(&rig, spec, random, &call);
    bool any = random_below(random, 2);
    call.scalar[0] = any ? (int32_t)random_below(random, 63) - 31 : -4;
    uint8_t *source = rig_at(&rig, call.address[SOURCE]);
    for (uint32_t i = 0; i < interface.operands[SOURCE].bytes / bytes; i++) {
        float value = random_float(random, call.scalar[0], any);
        F16 half = any ? (F16)random_next(random) : f32_to_f16(value, F16_OVERFLOW_SATURATE);
        if (convert->from == PRECISION_F32)
            memcpy(source + 4 * i, &value, sizeof value);
        else if (convert->from == PRECISION_F16)
            memcpy(source + 2 * i, &half, sizeof half);
        else
            source[i] = (uint8_t)random_next(random);
    }
    rig_check_values(&rig, spec, &call);
    rig_free(&rig);
}

static void check(const KernelSpec *spec, Random *random) {
    check_values(spec, random);
    rig_check_cycles(spec, random);
}

static void every_body(void **state) {
    (void)state;
    Random random = random_seed(1);
    static const uint16_t vectors[] = {0, 1, 2, 5, 6, 7, 12, 13, 60};
    for (size_t pair = 0; pair < COUNT_OF(pairs); pair++)
        for (size_t i = 0; i < COUNT_OF(vectors); i++)
            for (uint32_t tail = 0; tail < 8; tail++)
                for (int fast = 0; fast < 2; fast++) {
                    uint32_t count = 8u * vectors[i] + tail;
                    KernelSpec spec = conversion(pair, count, fast, (int)i - 4 + fast);
                    if (count > 0)
                        check(&spec, &random);
                }
}

/* Panels: every number of rows up to some rounds, odd and even numbers of panels. */
static void every_panel(void **state) {
    (void)state;
    Random random = random_seed(4);
    for (uint32_t rows = 1; rows <= 40; rows++)
        for (uint32_t count = 1; count <= 5; count++) {
            KernelSpec spec = panels(rows, count, 1 + (rows + count) % 3, (rows + count / 2) % 2);
            check(&spec, &random);
            spec.convert.fast = !spec.convert.fast;
            if (rows <= 7)
                check(&spec, &random);
        }
    KernelSpec spec = panels(1100, 3, 1, true);
    check(&spec, &random);
}

/* What CAST_PANELS packs comes back. */
static void panels_return(void **state) {
    (void)state;
    enum { ROWS = 7, PANELS = 5, GROUPS = 2, COUNT = 16 * ROWS * PANELS * GROUPS };
    static F16 before[COUNT], after[COUNT];
    static uint8_t codes[32 * ROWS * (PANELS + 1) / 2 * GROUPS];
    Random random = random_seed(5);
    for (int i = 0; i < COUNT; i++)
        before[i] =
            f8_to_f16((uint8_t)random_below(&random, 128), F8_F143, -2, F16_OVERFLOW_SATURATE);
    KernelSpec cast = {
        .family = KERNEL_CAST,
        .cast = {.order = CAST_PANELS, .rows = ROWS, .panels = PANELS, .groups = GROUPS}};
    KernelSpec back = panels(ROWS, PANELS, GROUPS, false);
    const int32_t scale = -2;
    kernel_reference(&cast, (void *[]){codes, before}, &scale);
    kernel_reference(&back, (void *[]){after, codes}, &scale);
    assert_memory_equal(before, after, sizeof before);
}

/* The references against one rounding of the exact value. */
static void rounded_once(void **state) {
    (void)state;
    Random random = random_seed(2);
    for (int shift = -31; shift <= 31; shift++) {
        KernelSpec spec = conversion(1, 256, false, shift);
        uint8_t codes[256], output[256];
        for (int i = 0; i < 256; i++)
            codes[i] = (uint8_t)i;
        void *operands[] = {output, codes};
        kernel_reference(&spec, operands, NULL);
        for (int i = 0; i < 256; i++) {
            double exact = ldexp(f8_values[F8_F143][i], shift);
            uint8_t once = f8_from_f64(exact, F8_F143, 0, F8_HOST);
            if (output[i] != once)
                fail_msg("code %02X * 2^%d: %02X, rounded once %02X", i, shift, output[i], once);
        }
    }
    for (int i = 0; i < 200000; i++) {
        int scale = (int)random_below(&random, 32) - 16;
        float value = random_float(&random, scale, i % 4 == 0);
        uint8_t code, once = f8_from_f64((double)value, F8_F143, scale, F8_DEVICE_SATURATE);
        KernelSpec spec = conversion(4, 1, false, 0);
        void *operands[] = {&code, &value};
        kernel_reference(&spec, operands, &scale);
        if (fabs((double)value) < 0x1p110 && code != once)
            fail_msg("%a at scale %d: %02X, rounded once %02X", (double)value, scale, code, once);
    }
}

/* kind: the pair, or panels. */
static KernelSpec random_spec(Random *random, unsigned kind) {
    bool fast = random_below(random, 2);
    if (kind < COUNT_OF(pairs))
        return conversion(kind, 1 + (uint32_t)random_below(random, 4000), fast,
                          (int)random_below(random, 63) - 31);
    return panels(1 + (uint32_t)random_below(random, random_below(random, 3) ? 40 : 300),
                  1 + (uint32_t)random_below(random, 8), 1 + (uint32_t)random_below(random, 4),
                  fast);
}

static void random_shapes(void **state) {
    (void)state;
    rig_check_fresh(random_spec, COUNT_OF(pairs) + 1, check);
}

static void more_cycles(void **state) {
    (void)state;
    rig_check_fixed(random_spec, COUNT_OF(pairs) + 1, 60);
}

static void limits(void **state) {
    (void)state;
    Diag diag;
    diag_init(&diag);
    KernelSpec spec = conversion(0, 0, false, 0);
    assert_int_equal(kernel_check(&spec, &diag), ERR_KERNEL_SHAPE);
    spec = conversion(0, 212992, false, 0);
    assert_int_equal(kernel_check(&spec, &diag), STATUS_OK);
    spec = conversion(0, 212993, false, 0);
    assert_int_equal(kernel_check(&spec, &diag), ERR_KERNEL_SHAPE);
    spec = conversion(3, 106497, false, 0);
    assert_int_equal(kernel_check(&spec, &diag), ERR_KERNEL_SHAPE);
    spec = conversion(1, 8, false, 32);
    assert_int_equal(kernel_check(&spec, &diag), ERR_KERNEL_SHAPE);
    spec = conversion(0, 8, false, 0);
    spec.convert.to = PRECISION_F32;
    assert_int_equal(kernel_check(&spec, &diag), ERR_KERNEL_PRECISION);
    spec = panels(16, 2, 2, true);
    assert_int_equal(kernel_check(&spec, &diag), STATUS_OK);
    spec.convert.to = PRECISION_F32;
    assert_int_equal(kernel_check(&spec, &diag), ERR_KERNEL_PRECISION);
    spec = panels(0, 2, 2, true);
    assert_int_equal(kernel_check(&spec, &diag), ERR_KERNEL_SHAPE);
    spec = panels(13313, 1, 1, true);
    assert_int_equal(kernel_check(&spec, &diag), ERR_KERNEL_SHAPE);
    diag_free(&diag);
}

static void specs_compare(void **state) {
    (void)state;
    const KernelSpec specs[] = {
        conversion(0, 80, false, 0), conversion(0, 80, true, 0),   conversion(0, 81, false, 0),
        conversion(1, 80, false, 1), conversion(1, 80, false, -1), conversion(4, 80, false, 0),
        conversion(4, 80, true, 0),  panels(80, 1, 1, false),      panels(80, 2, 1, false),
        panels(80, 2, 1, true),      panels(80, 2, 2, true),       panels(81, 2, 2, true),
        conversion(3, 80, false, 0), conversion(2, 80, false, 0)};
    for (size_t i = 0; i < COUNT_OF(specs); i++)
        for (size_t j = 0; j < COUNT_OF(specs); j++) {
            char a[KERNEL_NAME_SIZE], b[KERNEL_NAME_SIZE];
            bool same = strcmp(kernel_name(&specs[i], a), kernel_name(&specs[j], b)) == 0;
            assert_int_equal(kernel_spec_equal(&specs[i], &specs[j]), i == j);
            assert_int_equal(same, i == j);
        }
}

/* Nothing is published; the loops' rates. */
static void rates(void **state) {
    (void)state;
    Random random = random_seed(3);
    static const struct {
        const char *shape;
        size_t pair;
        bool fast;
        int shift;
        uint64_t most;
    } cases[] = {
        {"F143 to F16 8,320", 0, true, 0, 2340},
        {"F143 to F16 8,320, plain", 0, false, 0, 3400},
        {"F143 to F143 8,320, shift 2", 1, false, 2, 3400},
        {"F143 to F143 8,320, shift 1", 1, false, 1, 5500},
        {"F16 to F32 8,320", 2, true, 0, 4420},
        {"F16 to F32 8,320, plain", 2, false, 0, 6500},
        {"F32 to F16 8,320", 3, true, 0, 2400},
        {"F32 to F16 8,320, plain", 3, false, 0, 6500},
        {"F32 to F143 8,320", 4, false, 0, 25400},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        KernelSpec spec = conversion(cases[i].pair, 8320, cases[i].fast, cases[i].shift);
        rig_compare(&spec, &random, cases[i].shape, 0, cases[i].most);
    }
    KernelSpec spec = panels(184, 6, 1, true);
    rig_compare(&spec, &random, "F143 to F16 panels 184 x 96", 0, 5200);
    spec = panels(184, 6, 1, false);
    rig_compare(&spec, &random, "F143 to F16 panels 184 x 96, plain", 0, 7500);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_body),    cmocka_unit_test(every_panel),
        cmocka_unit_test(panels_return), cmocka_unit_test(rounded_once),
        cmocka_unit_test(random_shapes), cmocka_unit_test(more_cycles),
        cmocka_unit_test(limits),        cmocka_unit_test(specs_compare),
        cmocka_unit_test(rates),
    };
    return cmocka_run_group_tests_name("kernel.convert", tests, NULL, NULL);
}
