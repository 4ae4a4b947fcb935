/* Element orders against storage written out by nested loops, the published worked examples, and
 * the identities between orders. */
#include "testing.h"

#include "base/mem.h"
#include "base/random.h"
#include "tensor/order.h"

#include <stdlib.h>

static const Precision f8 = {PRECISION_F8F143, 0}, f16 = {PRECISION_F16, 0},
                       f32 = {PRECISION_F32, 0};

/* Independent description: calls visit for every value in the order in which it is stored. */
typedef struct Writer {
    const uint32_t *dims;
    uint32_t rank;
    uint32_t *expected; /* offset → row-major logical index */
    uint64_t next;
} Writer;

static void write_value(Writer *writer, uint64_t matrix, uint32_t row, uint32_t column) {
    uint32_t rows = writer->dims[writer->rank - 2], columns = writer->dims[writer->rank - 1];
    writer->expected[writer->next++] = (uint32_t)((matrix * rows + row) * columns + column);
}

/* Panels of `width` values along k, `lines` of them along n, both given by the loops of the caller.
 */
static void write_panel(Writer *writer, uint64_t matrix, bool k_is_row, uint32_t k0, uint32_t width,
                        uint32_t n0, uint32_t lines, bool drain) {
    static const uint32_t natural[32] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                         11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
                                         22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
    static const uint32_t drained[16] = {0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15};
    for (uint32_t n = n0; n < n0 + lines; n++)
        for (uint32_t i = 0; i < width; i++) {
            uint32_t k = k0 + (drain ? drained : natural)[i];
            write_value(writer, matrix, k_is_row ? k : n, k_is_row ? n : k);
        }
}

static void write_flattened(Writer *writer, uint32_t width, bool drain, uint64_t matrices) {
    uint32_t rows = writer->dims[writer->rank - 2], columns = writer->dims[writer->rank - 1];
    for (uint32_t k = 0; k < columns; k += width)
        for (uint64_t m = 0; m < matrices; m++)
            write_panel(writer, m, false, k, width, 0, rows, drain);
}

static void write_matrix(Writer *writer, Order order, uint64_t m, uint32_t g) {
    uint32_t rows = writer->dims[writer->rank - 2], columns = writer->dims[writer->rank - 1];
    switch (order.kind) {
    case ORDER_LEFT:
    case ORDER_TRANSPOSED_LEFT: {
        bool row = order.kind == ORDER_TRANSPOSED_LEFT;
        uint32_t inner = row ? rows : columns, outer = row ? columns : rows;
        uint32_t block = order.outer_block ? order.outer_block : outer;
        for (uint32_t n = 0; n < outer; n += block)
            for (uint32_t k = 0; k < inner; k += g)
                write_panel(writer, m, row, k, g, n, MIN_OF(block, outer - n), false);
        break;
    }
    case ORDER_TRANSPOSED_OUTPUT:
        for (uint32_t k = 0; k < rows; k += 16)
            write_panel(writer, m, true, k, 16, 0, columns, true);
        break;
    case ORDER_RIGHT:
        for (uint32_t n = 0; n < columns; n += 16)
            for (uint32_t k = 0; k < rows; k += g)
                write_panel(writer, m, true, k, g, n, 16, false);
        break;
    case ORDER_TRANSPOSED_RIGHT:
        for (uint32_t n = 0; n < rows; n += 16)
            for (uint32_t k = 0; k < columns; k += g)
                write_panel(writer, m, false, k, g, n, 16, false);
        break;
    default: {
        bool row = order.kind == ORDER_BLOCK;
        uint32_t inner = row ? rows : columns, outer = row ? columns : rows;
        for (uint32_t block = 0; block < inner; block += order.inner_block)
            for (uint32_t n = 0; n < outer; n += order.outer_block)
                for (uint32_t k = block; k < block + order.inner_block; k += g)
                    write_panel(writer, m, row, k, g, n, order.outer_block, false);
    }
    }
}

static void write_expected(Writer *writer, Order order, uint32_t g) {
    uint64_t matrices = 1;
    for (uint32_t i = 0; i + 2 < writer->rank; i++)
        matrices *= writer->dims[i];
    uint32_t rows = writer->dims[writer->rank - 2], columns = writer->dims[writer->rank - 1];
    if (order.kind == ORDER_ROW_MAJOR) {
        for (uint64_t i = 0; i < matrices * rows * columns; i++)
            writer->expected[writer->next++] = (uint32_t)i;
    } else if ((order.kind == ORDER_LEFT && !order.outer_block) || order.kind == ORDER_OUTPUT) {
        bool drain = order.kind == ORDER_OUTPUT;
        write_flattened(writer, drain ? 16 : g, drain, matrices);
    } else {
        for (uint64_t m = 0; m < matrices; m++)
            write_matrix(writer, order, m, g);
    }
}

static uint64_t row_major(const uint32_t dims[], uint32_t rank, const uint32_t index[]) {
    uint64_t number = 0;
    for (uint32_t i = 0; i < rank; i++)
        number = number * dims[i] + index[i];
    return number;
}

static void check_order(Order order, Precision precision, uint32_t rank, const uint32_t dims[]) {
    Layout layout;
    assert_true(layout_make(&layout, order, precision, rank, dims));
    uint64_t count = layout_count(&layout);
    uint64_t product = 1;
    for (uint32_t i = 0; i < rank; i++)
        product *= dims[i];
    assert_true(count == product);
    Writer writer = {dims, rank, mem_alloc(count, sizeof(uint32_t)), 0};
    assert_non_null(writer.expected);
    write_expected(&writer, order, order.half ? 16 : precision_group(precision));
    assert_true(writer.next == count);
    for (uint64_t offset = 0; offset < count; offset++) {
        uint32_t index[SHAPE_MAX_RANK] = {0};
        layout_index(&layout, offset, index);
        for (uint32_t i = 0; i < rank; i++)
            assert_true(index[i] < dims[i]);
        assert_int_equal(row_major(dims, rank, index), writer.expected[offset]);
        assert_true(layout_offset(&layout, index) == offset);
    }
    mem_free(writer.expected);
}

static uint32_t below(Random *random, uint32_t bound) {
    return (uint32_t)random_below(random, bound);
}

/* Every element of random rectangular and batched matrices in every order. */
static void test_every_element(void **state) {
    (void)state;
    uint64_t seed = 20240611;
    print_message("seed %llu\n", (unsigned long long)seed);
    Random random = random_seed(seed);
    int rounds = getenv("TW_TEST_ALL") ? 4000 : 400;
    for (int round = 0; round < rounds; round++) {
        Precision precision = {(PrecisionKind)below(&random, 3), 0};
        Order order = {.kind = (OrderKind)below(&random, 9)};
        bool plain = order.kind >= ORDER_LEFT && order.kind <= ORDER_TRANSPOSED_RIGHT;
        order.half = plain && precision.kind == PRECISION_F8F143 && below(&random, 2);
        uint32_t g = order.half ? 16 : precision_group(precision);
        uint32_t inner = g * (1 + below(&random, 4)), outer = 1 + below(&random, 40);
        bool inner_is_row = false;
        switch (order.kind) {
        case ORDER_ROW_MAJOR: inner = 1 + below(&random, 60); break;
        case ORDER_OUTPUT: inner = 16 * (1 + below(&random, 4)); break;
        case ORDER_TRANSPOSED_OUTPUT:
            inner = 16 * (1 + below(&random, 4));
            inner_is_row = true;
            break;
        case ORDER_TRANSPOSED_LEFT: inner_is_row = true; break;
        case ORDER_RIGHT:
        case ORDER_TRANSPOSED_RIGHT:
            outer = 16 * (1 + below(&random, 4));
            inner_is_row = order.kind == ORDER_RIGHT;
            break;
        case ORDER_BLOCK:
        case ORDER_TRANSPOSED_BLOCK:
            order.inner_block = g * (1 + below(&random, 3));
            order.outer_block = 8 * (1 + below(&random, 3));
            inner = order.inner_block * (1 + below(&random, 3));
            outer = order.outer_block * (1 + below(&random, 3));
            inner_is_row = order.kind == ORDER_BLOCK;
            break;
        case ORDER_LEFT: break;
        }
        if (order.kind == ORDER_LEFT || order.kind == ORDER_TRANSPOSED_LEFT)
            order.outer_block = below(&random, 2) ? 1 + below(&random, 50) : 0;
        uint32_t dims[SHAPE_MAX_RANK], rank = 2 + below(&random, 3);
        for (uint32_t i = 0; i + 2 < rank; i++)
            dims[i] = 1 + below(&random, 3);
        dims[rank - 2] = inner_is_row ? inner : outer;
        dims[rank - 1] = inner_is_row ? outer : inner;
        check_order(order, precision, rank, dims);
    }
}

static uint64_t at(Order order, Precision precision, uint32_t rows, uint32_t columns, uint32_t row,
                   uint32_t column) {
    Layout layout;
    uint32_t dims[] = {rows, columns}, index[] = {row, column};
    assert_true(layout_make(&layout, order, precision, 2, dims));
    return layout_offset(&layout, index) * precision_bytes(precision);
}

#define ORDER(...) ((Order){.kind = __VA_ARGS__})

/* Byte offset of row 37, column 29 of a 48 x 80 matrix, padded as each order wants. */
static void test_worked_example(void **state) {
    (void)state;
    static const struct {
        Order order;
        uint32_t rows[3], columns[3], offset[3]; /* F8, F16, F32 */
    } cases[] = {
        {{ORDER_ROW_MAJOR, 0, 0, 0}, {48, 48, 48}, {80, 80, 80}, {2989, 5978, 11956}},
        {{ORDER_LEFT, 0, 0, 0}, {48, 48, 48}, {96, 80, 80}, {1213, 2746, 5812}},
        {{ORDER_TRANSPOSED_LEFT, 0, 0, 0}, {64, 48, 48}, {80, 80, 80}, {3493, 6058, 11188}},
        {{ORDER_RIGHT, 0, 0, 0}, {64, 48, 48}, {80, 80, 80}, {1957, 2986, 5556}},
        {{ORDER_TRANSPOSED_RIGHT, 0, 0, 0}, {48, 48, 48}, {96, 80, 80}, {3261, 5818, 11956}},
        {{ORDER_OUTPUT, 0, 0, 0}, {48, 48, 48}, {80, 80, 80}, {1371, 2742, 5484}},
        {{ORDER_BLOCK, 0, 64, 16}, {64, 64, 64}, {80, 80, 80}, {1957, 3498, 6580}},
        {{ORDER_TRANSPOSED_BLOCK, 0, 64, 16}, {48, 48, 48}, {128, 128, 128}, {2237, 4794, 9908}},
    };
    const Precision precisions[] = {f8, f16, f32};
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (size_t p = 0; p < 3; p++)
            assert_int_equal(
                at(cases[i].order, precisions[p], cases[i].rows[p], cases[i].columns[p], 37, 29),
                cases[i].offset[p]);
    uint32_t blocks[] = {32, 16, 8}, offsets[] = {3493, 6058, 11188}, rows[] = {64, 48, 48};
    for (size_t p = 0; p < 3; p++)
        assert_int_equal(at(ORDER(ORDER_BLOCK, .inner_block = blocks[p], .outer_block = 16),
                            precisions[p], rows[p], 80, 37, 29),
                         offsets[p]);
    /* Batched: value (1, 13, 29) of [2, 24, 80] has flat row 37. */
    Layout layout;
    uint32_t dims[] = {2, 24, 80}, index[] = {1, 13, 29};
    assert_true(layout_make(&layout, ORDER(ORDER_LEFT), f16, 3, dims));
    assert_int_equal(layout_offset(&layout, index) * 2, 2746);
}

static void test_landmarks(void **state) {
    (void)state;
    Order right = {.kind = ORDER_RIGHT};
    static const uint32_t half[][3] = {{0, 0, 0},    {15, 0, 30},   {0, 1, 32},
                                       {16, 0, 512}, {0, 16, 1536}, {47, 79, 7678}};
    for (size_t i = 0; i < COUNT_OF(half); i++)
        assert_int_equal(at(right, f16, 48, 80, half[i][0], half[i][1]), half[i][2]);
    static const uint32_t byte[][3] = {
        {31, 0, 31}, {0, 1, 32}, {32, 0, 512}, {0, 16, 1024}, {63, 79, 5119}};
    for (size_t i = 0; i < COUNT_OF(byte); i++)
        assert_int_equal(at(right, f8, 64, 80, byte[i][0], byte[i][1]), byte[i][2]);
    assert_int_equal(at(ORDER(ORDER_LEFT), f16, 4, 32, 2, 21), 2 * 101);
    assert_int_equal(at(ORDER(ORDER_LEFT), f16, 4, 32, 2, 17), 2 * 97);
    assert_int_equal(at(ORDER(ORDER_LEFT), f8, 4, 64, 2, 37), 197);
    assert_int_equal(at(ORDER(ORDER_LEFT), f8, 5, 96, 3, 70), 422);
    assert_int_equal(at(right, f8, 64, 32, 40, 19), 1640);
    assert_int_equal(
        at(ORDER(ORDER_BLOCK, .inner_block = 64, .outer_block = 16), f16, 128, 32, 80, 17),
        2 * 3344);
    assert_int_equal(
        at(ORDER(ORDER_BLOCK, .inner_block = 64, .outer_block = 16), f16, 128, 48, 70, 20),
        2 * 4166);
    assert_int_equal(
        at(ORDER(ORDER_BLOCK, .inner_block = 64, .outer_block = 16), f8, 128, 48, 70, 20), 4230);
    static const uint32_t drained[16] = {0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15};
    for (uint32_t c = 0; c < 16; c++)
        assert_int_equal(at(ORDER(ORDER_OUTPUT), f16, 3, 16, 0, c), 2 * drained[c]);
    /* Half panels: ((n/16)·(K/16) + k/16)·256 + (n%16)·16 + k%16, and 16-byte rows on the left. */
    assert_int_equal(at(ORDER(ORDER_RIGHT, .half = true), f8, 64, 32, 37, 21),
                     (1 * 4 + 2) * 256 + 5 * 16 + 5);
    assert_int_equal(at(ORDER(ORDER_LEFT, .half = true), f8, 7, 64, 3, 37),
                     2 * 7 * 16 + 3 * 16 + 5);
}

static void check_identity(Order a, Order b, Precision precision) {
    for (uint32_t row = 0; row < 64; row++)
        for (uint32_t column = 0; column < 80; column++)
            if (precision.kind != PRECISION_F8F143 || column < 64)
                assert_true(at(a, precision, 64, precision.kind == PRECISION_F8F143 ? 64 : 80, row,
                               column) == at(b, precision, 64,
                                             precision.kind == PRECISION_F8F143 ? 64 : 80, row,
                                             column));
}

static void test_identities(void **state) {
    (void)state;
    const Precision precisions[] = {f8, f16, f32};
    for (size_t p = 0; p < 3; p++) {
        uint32_t g = precision_group(precisions[p]);
        check_identity(ORDER(ORDER_TRANSPOSED_LEFT),
                       ORDER(ORDER_BLOCK, .inner_block = g, .outer_block = 16), precisions[p]);
        check_identity(ORDER(ORDER_LEFT),
                       ORDER(ORDER_TRANSPOSED_BLOCK, .inner_block = g, .outer_block = 16),
                       precisions[p]);
        check_identity(ORDER(ORDER_RIGHT), ORDER(ORDER_BLOCK, .inner_block = 64, .outer_block = 16),
                       precisions[p]);
    }
}

/* The FP8 panel row that F16 panels 2P and 2P + 1 build: bytes 0…15 and 16…31. */
static void test_regroup(void **state) {
    (void)state;
    uint32_t index[2] = {0}, dims8[] = {48, 96}, dims16[] = {48, 96};
    Layout bytes, halves;
    assert_true(layout_make(&bytes, ORDER(ORDER_LEFT), f8, 2, dims8));
    assert_true(layout_make(&halves, ORDER(ORDER_LEFT), f16, 2, dims16));
    layout_index(&bytes, 1213, index);
    assert_int_equal(index[0], 37);
    assert_int_equal(index[1], 29);
    assert_int_equal(layout_offset(&halves, index) * 2, 2746);
    for (uint32_t panel = 0; panel < 3; panel++)
        for (uint32_t row = 0; row < 48; row++)
            for (uint32_t i = 0; i < 32; i++) {
                layout_index(&bytes, panel * 32 * 48 + 32 * row + i, index);
                uint64_t source = (uint64_t)(2 * panel + i / 16) * 16 * 48 + 16 * row + i % 16;
                assert_true(layout_offset(&halves, index) == source);
            }
    /* In half-panel order the cast is flat. */
    assert_true(layout_make(&bytes, ORDER(ORDER_LEFT, .half = true), f8, 2, dims8));
    for (uint64_t offset = 0; offset < layout_count(&bytes); offset++) {
        layout_index(&bytes, offset, index);
        assert_true(layout_offset(&halves, index) == offset);
    }
}

static void test_refused(void **state) {
    (void)state;
    static const struct {
        Order order;
        PrecisionKind precision;
        uint32_t rows, columns;
    } cases[] = {
        {{ORDER_LEFT, 0, 0, 0}, PRECISION_F8F143, 4, 48},
        {{ORDER_LEFT, 1, 0, 0}, PRECISION_F16, 4, 48},
        {{ORDER_ROW_MAJOR, 1, 0, 0}, PRECISION_F8F143, 4, 48},
        {{ORDER_RIGHT, 0, 0, 0}, PRECISION_F16, 8, 16},
        {{ORDER_RIGHT, 0, 0, 0}, PRECISION_F16, 16, 8},
        {{ORDER_OUTPUT, 0, 0, 0}, PRECISION_F16, 16, 24},
        {{ORDER_BLOCK, 0, 64, 16}, PRECISION_F16, 96, 32},
        {{ORDER_BLOCK, 0, 24, 16}, PRECISION_F16, 96, 32},
        {{ORDER_BLOCK, 0, 0, 0}, PRECISION_F16, 96, 32},
        {{ORDER_LEFT, 0, 64, 16}, PRECISION_F16, 64, 32},
        {{ORDER_LEFT, 0, 0, 0}, PRECISION_F16, 0, 32},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Layout layout;
        uint32_t dims[] = {cases[i].rows, cases[i].columns};
        assert_false(
            layout_make(&layout, cases[i].order, (Precision){cases[i].precision, 0}, 2, dims));
    }
}

/* Vectors are one row, scalars one value. */
static void test_low_rank(void **state) {
    (void)state;
    Layout layout;
    uint32_t dims[] = {48}, index[] = {37};
    assert_true(layout_make(&layout, ORDER(ORDER_LEFT), f16, 1, dims));
    assert_true(layout_offset(&layout, index) == 37);
    index[0] = 0;
    layout_index(&layout, 37, index);
    assert_int_equal(index[0], 37);
    assert_true(layout_make(&layout, ORDER(ORDER_ROW_MAJOR), f32, 0, NULL));
    assert_true(layout_count(&layout) == 1);
}

static void test_precision_text(void **state) {
    (void)state;
    char text[PRECISION_TEXT_SIZE];
    for (int scale = PRECISION_SCALE_MIN; scale <= PRECISION_SCALE_MAX; scale++) {
        Precision precision = {PRECISION_F8F143, (int8_t)scale}, parsed;
        const char *end = precision_parse(precision_print(precision, text), &parsed);
        assert_non_null(end);
        assert_int_equal(*end, 0);
        assert_true(precision_equal(precision, parsed));
    }
    static const char *const bad[] = {"f8f143(s=16)",
                                      "f8f143(s=-17)",
                                      "f8f143(s=)",
                                      "f8f143(s=1",
                                      "f8f143(s=1000000000000)",
                                      "f8",
                                      "bf16",
                                      ""};
    Precision precision;
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_null(precision_parse(bad[i], &precision));
    assert_string_equal(precision_parse("f16[3]", &precision), "[3]");
    assert_string_equal(precision_parse("f8f143[3]", &precision), "[3]");
    Shape shape = {3, {2, 24, 4294967295u}}, scalar = {0};
    char shape_text[SHAPE_TEXT_SIZE];
    assert_string_equal(shape_print(&shape, shape_text), "[2,24,4294967295]");
    assert_string_equal(shape_print(&scalar, shape_text), "[]");
    uint64_t count;
    assert_true(shape_count(&shape, &count));
    shape.dims[1] = shape.dims[2];
    assert_false(shape_count(&shape, &count));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_element), cmocka_unit_test(test_worked_example),
        cmocka_unit_test(test_landmarks),     cmocka_unit_test(test_identities),
        cmocka_unit_test(test_regroup),       cmocka_unit_test(test_refused),
        cmocka_unit_test(test_low_rank),      cmocka_unit_test(test_precision_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
