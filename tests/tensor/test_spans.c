/* Spans, fragments and transfers: closed forms against value-by-value enumeration, and the
 * published counts. */
#include "testing.h"

#include "base/mem.h"
#include "base/random.h"
#include "tensor/span.h"

#include <stdlib.h>
#include <string.h>

static const Precision f8 = {PRECISION_F8F143, 0}, f16 = {PRECISION_F16, 0},
                       f32 = {PRECISION_F32, 0};

static uint32_t below(Random *random, uint32_t bound) {
    return (uint32_t)random_below(random, bound);
}

/* Byte map of a shard: which bytes the rectangle covers. */
static uint8_t *cover_map(const Layout *layout, const Region *region) {
    uint64_t count = layout_count(layout), b = layout->value_bytes;
    uint8_t *map = mem_alloc(count * b + 1, 1);
    assert_non_null(map);
    for (uint64_t offset = 0; offset < count; offset++) {
        uint32_t index[SHAPE_MAX_RANK] = {0};
        layout_index(layout, offset, index);
        bool inside = true;
        for (uint32_t i = 0; i < layout->rank; i++)
            inside &= index[i] >= region->start[i] && index[i] < region->end[i];
        memset(map + offset * b, inside, b);
    }
    return map;
}

typedef struct SpanCheck {
    const uint8_t *map;
    uint64_t spans, bytes, end;
} SpanCheck;

static void check_span(void *context, Span span) {
    SpanCheck *check = context;
    assert_true(check->spans == 0 || span.offset > check->end); /* ascending, maximal */
    for (uint64_t i = 0; i < span.bytes; i++)
        assert_true(check->map[span.offset + i]);
    check->spans++;
    check->bytes += span.bytes;
    check->end = span.offset + span.bytes;
}

static void check_region(const Layout *layout, const Region *region) {
    uint8_t *map = cover_map(layout, region);
    uint64_t runs = 0, bytes = 0, size = layout_count(layout) * layout->value_bytes;
    for (uint64_t i = 0; i < size; i++) {
        bytes += map[i];
        runs += map[i] && (i == 0 || !map[i - 1]);
    }
    SpanCheck check = {.map = map};
    span_each(layout, region, check_span, &check);
    assert_true(check.spans == runs);
    assert_true(check.bytes == bytes);
    assert_true(span_count(layout, region) == runs);
    assert_true(region_bytes(layout, region) == bytes);
    mem_free(map);
}

static uint32_t pick_extent(Random *random, uint32_t multiple, uint32_t most) {
    return multiple * (1 + below(random, MAX_OF(1U, most / multiple)));
}

/* Random order and extents of a given rank that suit each other. */
static Layout random_layout(Random *random, Precision precision, uint32_t rank,
                            const uint32_t leading[], uint32_t rows, uint32_t columns) {
    for (;;) {
        Order order = {.kind = (OrderKind)below(random, 9)};
        order.half = precision.kind == PRECISION_F8F143 && below(random, 2);
        if (order.kind == ORDER_BLOCK || order.kind == ORDER_TRANSPOSED_BLOCK) {
            order.inner_block = precision_group(precision) * (1 + below(random, 2));
            order.outer_block = 8 * (1 + below(random, 3));
        }
        if (order.kind == ORDER_LEFT || order.kind == ORDER_TRANSPOSED_LEFT)
            order.outer_block = below(random, 2) ? 1 + below(random, 40) : 0;
        uint32_t dims[SHAPE_MAX_RANK];
        for (uint32_t i = 0; i + 2 < rank; i++)
            dims[i] = leading[i];
        dims[rank - 2] = rows;
        dims[rank - 1] = columns;
        Layout layout;
        if (layout_make(&layout, order, precision, rank, dims))
            return layout;
    }
}

static Region random_region(Random *random, const Layout *layout) {
    Region region = {{0}, {0}};
    for (uint32_t i = 0; i < layout->rank; i++) {
        uint32_t kind = below(random, 4), extent = layout->dims[i];
        region.start[i] = kind == 0 ? 0 : below(random, extent);
        region.end[i] = region.start[i] + 1 + below(random, extent - region.start[i]);
        if (kind <= 1)
            region.end[i] = extent;
        if (below(random, 3) == 0) /* whole panels are the interesting case */
            region.start[i] = region.start[i] / 16 * 16;
    }
    return region;
}

static void test_random_spans(void **state) {
    (void)state;
    uint64_t seed = 4242;
    print_message("seed %llu\n", (unsigned long long)seed);
    Random random = random_seed(seed);
    int rounds = getenv("TW_TEST_ALL") ? 100000 : 3000;
    for (int round = 0; round < rounds; round++) {
        Precision precision = {(PrecisionKind)below(&random, 3), 0};
        uint32_t rank = 2 + below(&random, 3);
        uint32_t leading[] = {1 + below(&random, 3), 1 + below(&random, 3)};
        Layout layout = random_layout(&random, precision, rank, leading,
                                      pick_extent(&random, below(&random, 2) ? 1 : 32, 64),
                                      pick_extent(&random, below(&random, 2) ? 1 : 32, 64));
        Region region = random_region(&random, &layout);
        check_region(&layout, &region);
    }
}

static uint64_t spans_of(Order order, Precision precision, uint32_t rows, uint32_t columns,
                         Region region) {
    Layout layout;
    uint32_t dims[] = {rows, columns};
    assert_true(layout_make(&layout, order, precision, 2, dims));
    check_region(&layout, &region);
    return span_count(&layout, &region);
}

/* Rows 8…23, columns 16…47 of the 48 x 80 matrix. */
static void test_published_spans(void **state) {
    (void)state;
    static const struct {
        OrderKind kind;
        uint32_t spans[3]; /* F8, F16, F32 */
    } cases[] = {
        {ORDER_ROW_MAJOR, {16, 16, 16}},      {ORDER_LEFT, {32, 2, 4}},
        {ORDER_TRANSPOSED_LEFT, {32, 64, 2}}, {ORDER_RIGHT, {32, 62, 2}},
        {ORDER_TRANSPOSED_RIGHT, {32, 4, 8}}, {ORDER_OUTPUT, {2, 2, 2}},
    };
    const Precision precisions[] = {f8, f16, f32};
    Region region = {{8, 16}, {24, 48}};
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (size_t p = 0; p < 3; p++) {
            bool wide = cases[i].kind == ORDER_LEFT || cases[i].kind == ORDER_TRANSPOSED_RIGHT;
            bool tall = cases[i].kind == ORDER_RIGHT || cases[i].kind == ORDER_TRANSPOSED_LEFT;
            assert_int_equal(spans_of((Order){.kind = cases[i].kind}, precisions[p],
                                      tall && p == 0 ? 64 : 48, wide && p == 0 ? 96 : 80, region),
                             cases[i].spans[p]);
        }
    /* All rows, columns from a panel's start; and crossing a panel: one merge. */
    Order left = {.kind = ORDER_LEFT};
    static const uint32_t narrow[][2] = {{2, 48}, {4, 48}, {8, 48}, {16, 1}};
    for (size_t i = 0; i < COUNT_OF(narrow); i++)
        assert_int_equal(spans_of(left, f16, 48, 80, (Region){{0, 0}, {48, narrow[i][0]}}),
                         narrow[i][1]);
    assert_int_equal(spans_of(left, f8, 48, 96, (Region){{0, 0}, {48, 16}}), 48);
    assert_int_equal(spans_of(left, f8, 48, 96, (Region){{0, 0}, {48, 32}}), 1);
    assert_int_equal(spans_of(left, f8, 48, 96, (Region){{0, 16}, {48, 48}}), 95);
    /* 269 producers of 16 columns, 135 of 32, for 729 rows. */
    Order any = {.kind = ORDER_LEFT};
    uint64_t pieces = 0, panels = 0;
    Layout layout;
    uint32_t dims[] = {729, 4320};
    assert_true(layout_make(&layout, any, f8, 2, dims));
    for (uint32_t c = 0; c < 4304; c += 16)
        pieces += span_count(&layout, &(Region){{0, c}, {729, c + 16}});
    for (uint32_t c = 0; c < 4320; c += 32)
        panels += span_count(&layout, &(Region){{0, c}, {729, c + 32}});
    assert_int_equal(pieces, 196101);
    assert_int_equal(panels, 135);
    /* In half-panel order the same producers send one piece each. */
    any.half = true;
    assert_true(layout_make(&layout, any, f8, 2, dims));
    for (uint32_t c = 0; c < 4304; c += 16)
        assert_int_equal(span_count(&layout, &(Region){{0, c}, {729, c + 16}}), 1);
}

typedef struct FragmentCheck {
    const Layout *source, *destination;
    const Region *from, *to;
    uint8_t *seen;
    uint64_t fragments, bytes, last_source_end, last_destination_end;
} FragmentCheck;

static void check_fragment(void *context, Fragment fragment) {
    FragmentCheck *check = context;
    uint32_t b = check->source->value_bytes;
    assert_int_equal(fragment.bytes % b, 0);
    if (check->fragments > 0) { /* ascending, and not continuing the last one */
        assert_true(fragment.destination >= check->last_destination_end);
        assert_false(fragment.destination == check->last_destination_end &&
                     fragment.source == check->last_source_end);
    }
    for (uint64_t i = 0; i < fragment.bytes / b; i++) {
        uint32_t of[SHAPE_MAX_RANK] = {0}, at[SHAPE_MAX_RANK] = {0};
        layout_index(check->source, fragment.source / b + i, of);
        layout_index(check->destination, fragment.destination / b + i, at);
        for (uint32_t axis = 0; axis < check->source->rank; axis++) {
            assert_int_equal(of[axis] - check->from->start[axis],
                             at[axis] - check->to->start[axis]);
            assert_true(of[axis] >= check->from->start[axis]);
            assert_true(of[axis] < check->from->end[axis]);
        }
        assert_false(check->seen[fragment.destination / b + i]);
        check->seen[fragment.destination / b + i] = 1;
    }
    check->fragments++;
    check->bytes += fragment.bytes;
    check->last_source_end = fragment.source + fragment.bytes;
    check->last_destination_end = fragment.destination + fragment.bytes;
}

static uint64_t fragments_of(const Layout *source, const Region *from, const Layout *destination,
                             const Region *to) {
    FragmentCheck check = {source, destination, from, to, NULL, 0, 0, 0, 0};
    check.seen = mem_alloc(layout_count(destination), 1);
    assert_non_null(check.seen);
    fragment_each(source, from, destination, to, check_fragment, &check);
    assert_true(check.bytes == region_bytes(source, from));
    mem_free(check.seen);
    return check.fragments;
}

static void test_random_fragments(void **state) {
    (void)state;
    uint64_t seed = 99;
    print_message("seed %llu\n", (unsigned long long)seed);
    Random random = random_seed(seed);
    int rounds = getenv("TW_TEST_ALL") ? 20000 : 1000;
    for (int round = 0; round < rounds; round++) {
        Precision precision = {(PrecisionKind)below(&random, 3), 0};
        uint32_t rank = 2 + below(&random, 2);
        uint32_t lead[2][1] = {{1 + below(&random, 3)}, {1 + below(&random, 3)}};
        uint32_t size[4];
        for (int i = 0; i < 4; i++)
            size[i] = pick_extent(&random, below(&random, 2) ? 1 : 32, 64);
        Layout source = random_layout(&random, precision, rank, lead[0], size[0], size[1]);
        Layout destination = random_layout(&random, precision, rank, lead[1], size[2], size[3]);
        Region from = {{0}, {0}}, to = {{0}, {0}};
        for (uint32_t i = 0; i < rank; i++) {
            uint32_t width = MIN_OF(source.dims[i], destination.dims[i]);
            width = below(&random, 2) ? width : 1 + below(&random, width);
            from.start[i] = below(&random, source.dims[i] - width + 1);
            to.start[i] = below(&random, destination.dims[i] - width + 1);
            from.end[i] = from.start[i] + width;
            to.end[i] = to.start[i] + width;
        }
        fragments_of(&source, &from, &destination, &to);
        /* With itself the fragments are the spans. */
        assert_true(fragments_of(&source, &from, &source, &from) == span_count(&source, &from));
    }
}

/* Two batch rows that lie side by side at the source and far apart at the destination. */
static void test_published_fragments(void **state) {
    (void)state;
    Order left = {.kind = ORDER_LEFT};
    Layout source, destination;
    assert_true(layout_make(&source, left, f8, 3, (uint32_t[]){2, 1, 384}));
    assert_true(layout_make(&destination, left, f8, 3, (uint32_t[]){2, 82, 384}));
    Region from = {{0}, {2, 1, 384}}, to = {{0, 17, 0}, {2, 18, 384}};
    uint64_t fragments = fragments_of(&source, &from, &destination, &to);
    assert_int_equal(fragments, 24);
    assert_int_equal(fragments * 3 * 729, 52488);
}

typedef struct TransferCheck {
    const Format *source;
    const Shape *shape;
    Shard to;
    uint8_t *seen; /* logical values of the destination shard */
} TransferCheck;

static void check_overlap(void *context, const Overlap *overlap) {
    TransferCheck *check = context;
    Shard from;
    format_shard(check->source, check->shape, overlap->source_shard, &from);
    uint32_t width = check->shape->dims[1];
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(overlap->from.start[i] < overlap->from.end[i]);
        assert_true(from.bounds[i].start + overlap->from.end[i] <= from.bounds[i].logical_end);
        assert_true(from.bounds[i].start + overlap->from.start[i] ==
                    check->to.bounds[i].start + overlap->to.start[i]);
    }
    for (uint32_t r = overlap->to.start[0]; r < overlap->to.end[0]; r++)
        for (uint32_t c = overlap->to.start[1]; c < overlap->to.end[1]; c++) {
            uint8_t *seen = &check->seen[(check->to.bounds[0].start + r) * width +
                                         check->to.bounds[1].start + c];
            assert_int_equal(*seen, 0);
            *seen = 1;
        }
}

static Format random_format(Random *random, const Shape *shape) {
    Format format = {.precision = f16, .order = {.kind = ORDER_ROW_MAJOR}, .replicas = 1};
    format.axis_count = 2;
    format.tile_count = 1;
    for (uint32_t i = 0; i < 2; i++) {
        AxisTiling *tiling = &format.axes[i];
        *tiling = axis_tiling(i, 1, 1 + below(random, 9), format.tile_count);
        tiling->padding = tiling->block * (1 + below(random, 3));
        if (shape->dims[i] % 3 == 0 && below(random, 2))
            tiling->groups = 3;
        tiling->partitions = tiling->groups * (1 + below(random, 5));
        if (below(random, 2)) {
            *tiling = axis_split(*tiling, 1 + below(random, 3), format.tile_count);
            tiling->stride *= tiling->split;
        }
        format.tile_count *= tiling->partitions;
    }
    return format;
}

/* Every logical value of every destination shard comes from exactly one source shard. */
static void test_transfers(void **state) {
    (void)state;
    uint64_t seed = 31;
    print_message("seed %llu\n", (unsigned long long)seed);
    Random random = random_seed(seed);
    for (int round = 0; round < 300; round++) {
        Shape shape = {2, {1 + below(&random, 50), 3 * (1 + below(&random, 20))}};
        Format source = random_format(&random, &shape),
               destination = random_format(&random, &shape);
        assert_int_equal(format_check(&source, &shape, NULL), STATUS_OK);
        assert_int_equal(format_check(&destination, &shape, NULL), STATUS_OK);
        uint8_t *seen = mem_alloc((uint64_t)shape.dims[0] * shape.dims[1], 1);
        assert_non_null(seen);
        for (uint32_t i = 0; i < format_shards(&destination); i++) {
            TransferCheck check = {.source = &source, .shape = &shape, .seen = seen};
            format_shard(&destination, &shape, i, &check.to);
            transfer_each(&source, &destination, &shape, i, check_overlap, &check);
        }
        for (uint64_t i = 0; i < (uint64_t)shape.dims[0] * shape.dims[1]; i++)
            assert_int_equal(seen[i], 1);
        mem_free(seen);
    }
}

static void test_empty_region(void **state) {
    (void)state;
    Layout layout;
    assert_true(layout_make(&layout, (Order){.kind = ORDER_LEFT}, f16, 2, (uint32_t[]){4, 16}));
    Region nothing = {{2, 3}, {2, 9}};
    assert_true(span_count(&layout, &nothing) == 0);
    assert_true(region_bytes(&layout, &nothing) == 0);
    span_each(&layout, &nothing, check_span, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_spans),     cmocka_unit_test(test_published_spans),
        cmocka_unit_test(test_random_fragments), cmocka_unit_test(test_published_fragments),
        cmocka_unit_test(test_transfers),        cmocka_unit_test(test_empty_region),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
