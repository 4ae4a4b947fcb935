/* Casts F16 to F143: values against the reference and the reference against tensor orders, cycles,
 * limits. */
#include "num/f8.h"
#include "rig.h"
#include "tensor/order.h"

enum { OUTPUT, SOURCE };

static KernelSpec linear(uint32_t count, bool fast) {
    return (KernelSpec){.family = KERNEL_CAST,
                        .cast = {.order = CAST_LINEAR, .fast = fast, .count = count}};
}

static KernelSpec panels(uint32_t rows, uint32_t panels, uint32_t groups, bool fast) {
    return (KernelSpec){
        .family = KERNEL_CAST,
        .cast = {
            .order = CAST_PANELS, .fast = fast, .rows = rows, .panels = panels, .groups = groups}};
}

static KernelSpec in_place(uint32_t count) {
    KernelSpec spec = linear(count, false);
    spec.cast.order = CAST_IN_PLACE;
    return spec;
}

static KernelSpec row_major(uint32_t rows, uint32_t panels, uint32_t pitch, bool fast) {
    return (KernelSpec){.family = KERNEL_CAST,
                        .cast = {.order = CAST_ROWS,
                                 .fast = fast,
                                 .rows = rows,
                                 .panels = panels,
                                 .groups = 1,
                                 .pitch = pitch}};
}

static void check_values(const KernelSpec *spec, Random *random) {
    KernelInterface interface;
    kernel_interface(spec, &interface);
    Rig rig;
    RigCall call;
    rig_start(&rig, spec, random, &call);
    bool any = random_below(random, 2);
    uint32_t source = interface.operand_count - 1; /* the only operand of a cast in place */
    for (uint32_t i = 0; i < interface.operands[source].bytes; i += 2) {
        uint64_t bits = random_next(random);
        F16 half = (F16)(any ? bits : (bits & 0x83FF) | (5 + (bits >> 16) % 20) << 10);
        memcpy(rig_at(&rig, call.address[source] + i), &half, sizeof half);
    }
    call.scalar[0] = any ? (int32_t)random_below(random, 63) - 31 : -4;
    rig_check_values(&rig, spec, &call);
    rig_free(&rig);
}

static void check(const KernelSpec *spec, Random *random) {
    check_values(spec, random);
    rig_check_cycles(spec, random);
}

/* Every residue of the tail at few and many vectors: no vector, workers that repeat one, two each.
 */
static void every_linear(void **state) {
    (void)state;
    Random random = random_seed(1);
    static const uint16_t vectors[] = {0, 1, 2, 5, 6, 7, 8, 12, 13, 18, 100};
    for (size_t i = 0; i < COUNT_OF(vectors); i++)
        for (uint32_t tail = 0; tail < 8; tail++)
            for (int fast = 0; fast < 2; fast++)
                if (vectors[i] + tail > 0) {
                    KernelSpec spec = linear(8u * vectors[i] + tail, fast);
                    check(&spec, &random);
                }
}

/* The source's last bytes are those of memory. */
static void tail_ends_with_memory(void **state) {
    (void)state;
    for (uint32_t count = 1; count < 30; count++) {
        KernelSpec spec = linear(count, false);
        KernelInterface interface;
        kernel_interface(&spec, &interface);
        uint32_t size = interface.operands[SOURCE].bytes + interface.operands[SOURCE].tail;
        RigCall call = {.address = {0xA0000, (CHIP_TILE_MEM_END - size) / 8 * 8}};
        Rig rig;
        rig_create(&rig);
        rig_fill_nan(&rig);
        rig_check_values(&rig, &spec, &call);
        rig_free(&rig);
    }
}

/* All halves at some scales. */
static void every_half(void **state) {
    (void)state;
    static const int8_t scales[] = {-31, -4, 0, 31};
    for (size_t i = 0; i < COUNT_OF(scales); i++) {
        Rig rig;
        rig_create(&rig);
        KernelSpec spec = linear(65536, i % 2);
        RigCall call = {.address = {0x5C000, 0xA0000}, .scalar = {scales[i]}};
        for (uint32_t half = 0; half < 65536; half++) {
            F16 value = (F16)half;
            memcpy(rig_at(&rig, 0xA0000 + 2 * half), &value, sizeof value);
        }
        char *program = rig_program(&spec, &call, 1, false);
        rig_run(&rig, program, &spec);
        mem_free(program);
        for (uint32_t half = 0; half < 65536; half++)
            assert_int_equal(*rig_at(&rig, 0x5C000 + half),
                             f8_from_f16((F16)half, F8_F143, scales[i], F8_DEVICE_SATURATE));
        rig_free(&rig);
    }
}

/* One operand: where the halves were, their codes and then what was there. */
static void every_in_place(void **state) {
    (void)state;
    Random random = random_seed(6);
    static const uint16_t vectors[] = {0, 1, 2, 11, 12, 13, 18, 23, 24, 25, 47, 48, 50, 96, 130};
    for (size_t i = 0; i < COUNT_OF(vectors); i++)
        for (uint32_t tail = 0; tail < 8; tail++) {
            KernelSpec spec = in_place(8u * vectors[i] + tail);
            if (spec.cast.count > 0)
                check(&spec, &random);
        }
}

static unsigned body_bit(const KernelSpec *spec) {
    static const char *const bodies[] = {
        "cast_panels",      "cast_panels_odd",      "cast_panels_by_pairs",
        "cast_panels_fast", "cast_panels_fast_odd", "cast_panels_fast_by_pairs",
        "cast_rows",        "cast_rows_odd",        "cast_rows_by_pairs",
        "cast_rows_fast",   "cast_rows_fast_odd",   "cast_rows_fast_by_pairs"};
    char name[KERNEL_NAME_SIZE];
    for (unsigned i = 0; i < COUNT_OF(bodies); i++)
        if (strcmp(kernel_entry(spec, name), bodies[i]) == 0)
            return 1u << i;
    fail_msg("no body %s", name);
    return 0;
}

static void every_panel_body(void **state) {
    (void)state;
    Random random = random_seed(2);
    static const uint16_t rows[] = {1, 2, 5, 6, 7, 12, 13, 16, 31, 60};
    static const struct {
        uint32_t panels, groups;
    } blocks[] = {{1, 1},  {2, 1}, {3, 1}, {4, 1}, {5, 1}, {12, 1}, {13, 1},
                  {14, 1}, {1, 2}, {1, 7}, {3, 2}, {2, 7}, {5, 3},  {4, 4}};
    unsigned seen = 0;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (size_t j = 0; j < COUNT_OF(blocks); j++)
            for (int fast = 0; fast < 2; fast++) {
                KernelSpec spec = panels(rows[i], blocks[j].panels, blocks[j].groups, fast);
                check(&spec, &random);
                seen |= body_bit(&spec);
                if (blocks[j].groups > 1)
                    continue;
                uint32_t pitch =
                    16 * blocks[j].panels + 4 * (uint32_t)(random_below(&random, 4) * (j % 2));
                spec = row_major(rows[i], blocks[j].panels, pitch, fast);
                check(&spec, &random);
                seen |= body_bit(&spec);
            }
    assert_int_equal(seen, 0xFFF);
}

/* Rows beyond the reach of packed strides, source rows just within and beyond it. */
static void tall_and_wide(void **state) {
    (void)state;
    Random random = random_seed(3);
    const KernelSpec specs[] = {
        panels(700, 3, 1, true),       panels(153, 4, 1, true),      panels(2000, 2, 1, false),
        row_major(30, 4, 2052, true),  row_major(30, 4, 2056, true), row_major(30, 5, 3000, false),
        row_major(3, 128, 2052, true), panels(1, 800, 1, true),      panels(16, 35, 5, true),
        panels(129, 12, 1, true),      panels(130, 12, 1, true)};
    for (size_t i = 0; i < COUNT_OF(specs); i++)
        check(&specs[i], &random);
}

static KernelSpec random_spec(Random *random, unsigned kind) {
    uint32_t rows = 1 + (uint32_t)random_below(random, random_below(random, 3) ? 40 : 200);
    uint32_t count = 1 + (uint32_t)random_below(random, 20);
    bool fast = random_below(random, 2);
    switch (kind) {
    case 0: return linear(1 + (uint32_t)random_below(random, 6000), fast);
    case 1:
        return in_place(1 + (uint32_t)random_below(random, random_below(random, 3) ? 900 : 9000));
    case 2: return panels(rows, count, 1 + (uint32_t)random_below(random, 3), fast);
    default:
        return row_major(rows, count, 16 * count + 4 * (uint32_t)random_below(random, 10), fast);
    }
}

static void random_shapes(void **state) {
    (void)state;
    rig_check_fresh(random_spec, 4, check);
}

static void more_cycles(void **state) {
    (void)state;
    rig_check_fixed(random_spec, 4, 90);
}

/* ---- the reference against the closed form of tensor orders */

static void check_order(Order source_order, Order output_order, KernelSpec spec, uint32_t rank,
                        const uint32_t source_dims[], const uint32_t output_dims[]) {
    const Precision f16 = {.kind = PRECISION_F16}, f8 = {.kind = PRECISION_F8F143};
    Layout from, to;
    assert_true(layout_make(&from, source_order, f16, rank, source_dims));
    assert_true(layout_make(&to, output_order, f8, rank, output_dims));
    size_t source_count = layout_count(&from), output_count = layout_count(&to);
    assert_int_equal(kernel_cast_source_bytes(&spec.cast), 2 * source_count);
    assert_int_equal(kernel_cast_output_bytes(&spec.cast), output_count);
    F16 *source = malloc(2 * source_count);
    uint8_t *output = malloc(output_count);
    assert_non_null(source);
    assert_non_null(output);
    Random random = random_seed(source_count);
    for (size_t i = 0; i < source_count; i++)
        source[i] = (F16)random_next(&random);
    void *operands[] = {output, source};
    const int32_t scale = -4;
    kernel_reference(&spec, operands, &scale);
    for (size_t i = 0; i < output_count; i++) {
        uint32_t index[SHAPE_MAX_RANK];
        layout_index(&to, i, index);
        bool inside = true;
        for (uint32_t axis = 0; axis < rank; axis++)
            inside = inside && index[axis] < source_dims[axis];
        uint8_t expected = inside ? f8_from_f64(f16_to_f32(source[layout_offset(&from, index)]),
                                                F8_F143, scale, F8_DEVICE_SATURATE)
                                  : 0;
        assert_int_equal(output[i], expected);
    }
    free(source);
    free(output);
}

static void reference_follows_orders(void **state) {
    (void)state;
    enum { BATCH = 3 };
    for (uint32_t inner = 16; inner <= 80; inner += 16) /* K: 1 ... 5 source panels */
        for (uint32_t outer = 16; outer <= 48; outer += 32) {
            uint32_t padded = (inner + 31) / 32 * 32, count = inner / 16, blocks = outer / 16;
            const uint32_t by_columns[] = {BATCH, outer, inner},
                           to_columns[] = {BATCH, outer, padded};
            const uint32_t by_rows[] = {BATCH, inner, outer}, to_rows[] = {BATCH, padded, outer};
            const struct {
                OrderKind kind;
                bool rows;
                KernelSpec spec;
            } cases[] = {
                {ORDER_LEFT, false, panels(BATCH * outer, count, 1, false)},
                {ORDER_TRANSPOSED_LEFT, true, panels(outer, count, BATCH, false)},
                {ORDER_RIGHT, true, panels(16, count, BATCH * blocks, false)},
                {ORDER_TRANSPOSED_RIGHT, false, panels(16, count, BATCH * blocks, false)},
            };
            for (size_t i = 0; i < COUNT_OF(cases); i++) {
                Order order = {.kind = cases[i].kind};
                check_order(order, order, cases[i].spec, 3, cases[i].rows ? by_rows : by_columns,
                            cases[i].rows ? to_rows : to_columns);
            }
            check_order((Order){.kind = ORDER_ROW_MAJOR}, (Order){.kind = ORDER_LEFT},
                        row_major(BATCH * outer, count, inner, false), 3, by_columns, to_columns);
        }
    for (uint32_t inner_block = 32; inner_block <= 64; inner_block += 32) {
        const uint32_t rows[] = {2, 128, 48}, columns[] = {2, 48, 128};
        Order order = {.kind = ORDER_BLOCK, .inner_block = inner_block, .outer_block = 16};
        check_order(order, order, panels(16, 2 * 3 * 8, 1, false), 3, rows, rows);
        order.kind = ORDER_TRANSPOSED_BLOCK;
        check_order(order, order, panels(16, 2 * 3 * 8, 1, false), 3, columns, columns);
    }
}

/* ---- limits, names, cycles */

static void limits(void **state) {
    (void)state;
    Diag diag;
    diag_init(&diag);
    const KernelSpec wrong[] = {linear(0, true),
                                linear(212993, true),
                                panels(0, 2, 1, true),
                                panels(2, 0, 1, true),
                                panels(2, 2, 0, true),
                                panels(13313, 1, 1, true),
                                panels(1u << 30, 1u << 30, 1u << 30, true),
                                panels(1, 13313, 1, false),
                                panels(12000, 1, 2, false),
                                row_major(10, 2, 28, false),
                                row_major(10, 2, 34, false),
                                row_major(10, 1u << 31, 0, false)};
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_int_equal(kernel_check(&wrong[i], &diag), ERR_KERNEL_SHAPE);
    KernelSpec two_groups = row_major(10, 2, 32, false);
    two_groups.cast.groups = 2;
    assert_int_equal(kernel_check(&two_groups, &diag), ERR_KERNEL_SHAPE);
    const KernelSpec right[] = {linear(212992, true), panels(13312, 1, 1, true),
                                panels(1, 13312, 1, false), panels(16, 2, 416, false),
                                row_major(2, 1, 212976, true)};
    for (size_t i = 0; i < COUNT_OF(right); i++)
        assert_int_equal(kernel_check(&right[i], &diag), STATUS_OK);
    diag_free(&diag);
}

static void specs_compare(void **state) {
    (void)state;
    const KernelSpec specs[] = {
        linear(80, true),           linear(88, true),           linear(80, false),
        panels(16, 4, 1, true),     panels(16, 4, 2, true),     panels(16, 2, 2, true),
        panels(20, 4, 1, true),     panels(16, 4, 1, false),    row_major(16, 4, 64, true),
        row_major(16, 4, 68, true), row_major(17, 4, 64, true), row_major(16, 4, 64, false)};
    for (size_t i = 0; i < COUNT_OF(specs); i++)
        for (size_t j = 0; j < COUNT_OF(specs); j++) {
            char a[KERNEL_NAME_SIZE], b[KERNEL_NAME_SIZE];
            bool same = strcmp(kernel_name(&specs[i], a), kernel_name(&specs[j], b)) == 0;
            assert_int_equal(kernel_spec_equal(&specs[i], &specs[j]), i == j);
            assert_int_equal(same, i == j);
        }
}

/* What of a panel cast's sampled time is not halves of panels: the intercept over panels. */
static void fixed_cost(void **state) {
    (void)state;
    Random random = random_seed(4);
    for (int fast = 0; fast < 2; fast++) {
        KernelSpec few = panels(96, 2, 1, fast), more = panels(96, 4, 1, fast);
        uint64_t one = rig_sampled_cycles(&few, &random), two = rig_sampled_cycles(&more, &random);
        print_message("panel cast, %s: %" PRIu64 " + %" PRIu64 " a pair of 96 rows\n",
                      fast ? "fast" : "plain", 2 * one - two, two - one);
        assert_true(2 * one - two <= 350);
    }
}

/* ipu-stack, casts of 2026-09. */
static void published(void **state) {
    (void)state;
    Random random = random_seed(5);
    const struct {
        KernelSpec spec;
        uint32_t published, most;
        const char *shape;
    } cases[] = {
        {linear(8320, true), 2706, 2450, "cast 8,320 linear"},
        {linear(8320, false), 4638, 4000, "cast 8,320 linear, plain"},
        {in_place(8320), 0, 4500, "cast 8,320 in place"},
        {panels(184, 6, 1, true), 6762, 5000, "cast 184 x 96 panels"},
        {panels(184, 6, 1, false), 8172, 8000, "cast 184 x 96 panels, plain"},
        {panels(65, 8, 1, true), 4794, 1800, "cast 65 x 128 panels"},
        {panels(65, 8, 1, false), 4794, 4300, "cast 65 x 128 panels, plain"},
        {row_major(65, 8, 128, true), 0, 1800, "cast 65 x 128 row-major"},
        {panels(16, 34, 1, true), 0, 1500, "cast 16 x 544 right panels"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        rig_compare(&cases[i].spec, &random, cases[i].shape, cases[i].published, cases[i].most);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_follows_orders),
        cmocka_unit_test(every_linear),
        cmocka_unit_test(tail_ends_with_memory),
        cmocka_unit_test(every_half),
        cmocka_unit_test(every_in_place),
        cmocka_unit_test(every_panel_body),
        cmocka_unit_test(tall_and_wide),
        cmocka_unit_test(random_shapes),
        cmocka_unit_test(more_cycles),
        cmocka_unit_test(limits),
        cmocka_unit_test(specs_compare),
        cmocka_unit_test(fixed_cost),
        cmocka_unit_test(published),
    };
    return cmocka_run_group_tests_name("kernel.cast", tests, NULL, NULL);
}
