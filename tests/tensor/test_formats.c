/* Axis bounds, tile numbers, bytes, checks and text of formats. */
#include "testing.h"

#include "base/mem.h"
#include "base/random.h"
#include "tensor/format.h"

#include <stdlib.h>
#include <string.h>

static uint32_t below(Random *random, uint32_t bound) {
    return (uint32_t)random_below(random, bound);
}

/* extent, parts, block → widths, total, last shard. Published bounds of ipu-stack's layouts. */
static void test_bounds(void **state) {
    (void)state;
    static const struct {
        uint32_t extent, parts, block, longer, wide, narrow, total;
        AxisBounds last;
    } cases[] = {
        {729, 46, 1, 39, 16, 15, 729, {714, 729, 729}},
        {729, 9, 2, 5, 82, 80, 730, {650, 729, 730}},
        {729, 46, 16, 46, 16, 16, 736, {720, 729, 736}},
        {3456, 32, 64, 22, 128, 64, 3456, {3392, 3456, 3456}},
        {4304, 269, 16, 269, 16, 16, 4304, {4288, 4304, 4304}},
        {1152, 5, 64, 3, 256, 192, 1152, {960, 1152, 1152}},
        {1152, 5, 256, 5, 256, 256, 1280, {1024, 1152, 1280}},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        AxisTiling tiling = axis_tiling(0, cases[i].parts, cases[i].block, 1);
        for (uint32_t q = 0; q < cases[i].parts; q++) {
            AxisBounds bounds = axis_bounds(&tiling, cases[i].extent, q);
            assert_int_equal(bounds.physical_end - bounds.start,
                             q < cases[i].longer ? cases[i].wide : cases[i].narrow);
        }
        AxisBounds last = axis_bounds(&tiling, cases[i].extent, cases[i].parts - 1);
        assert_memory_equal(&last, &cases[i].last, sizeof last);
        assert_int_equal(axis_total(&tiling, cases[i].extent), cases[i].total);
        assert_int_equal(axis_widest(&tiling, cases[i].extent), cases[i].wide);
    }
    /* Groups keep heads of 72 apart, padded to 80; some shards are all padding in part. */
    AxisTiling heads = axis_tiling(0, 32, 16, 1);
    heads.groups = 16;
    heads.padding = 80;
    static const AxisBounds expected[] = {{0, 48, 48}, {48, 72, 80}, {72, 120, 120}};
    for (uint32_t q = 0; q < 3; q++) {
        AxisBounds bounds = axis_bounds(&heads, 1152, q);
        assert_memory_equal(&bounds, &expected[q], sizeof bounds);
    }
}

/* Every index has one owner, shards follow each other, the closed forms agree with a walk. */
static void test_random_axes(void **state) {
    (void)state;
    uint64_t seed = 77;
    print_message("seed %llu\n", (unsigned long long)seed);
    Random random = random_seed(seed);
    for (int round = 0; round < 3000; round++) {
        AxisTiling tiling = {
            .groups = 1 + below(&random, 4), .stride = 1, .split = 1 + below(&random, 4)};
        uint32_t extent = tiling.groups * (1 + below(&random, 200));
        tiling.partitions = tiling.groups * tiling.split * (1 + below(&random, 20));
        tiling.block = 1 + below(&random, 20);
        tiling.padding = tiling.block * (1 + below(&random, 3));
        if (below(&random, 3) == 0) { /* a short last block */
            tiling.padding = 1 + below(&random, 9);
            tiling.block = tiling.padding * (1 + below(&random, 4));
        }
        tiling.shard_padding = 1 + below(&random, 10);
        uint64_t total = 0;
        uint32_t widest = 0, owned = 0;
        for (uint32_t q = 0; q < tiling.partitions; q++) {
            AxisBounds bounds = axis_bounds(&tiling, extent, q);
            uint32_t width = bounds.physical_end - bounds.start;
            assert_true(bounds.start <= bounds.logical_end);
            assert_true(bounds.logical_end <= bounds.physical_end);
            assert_int_equal(width % tiling.shard_padding, 0);
            total += width;
            widest = MAX_OF(widest, width);
            if (bounds.logical_end > bounds.start)
                assert_int_equal(bounds.start, owned);
            for (uint32_t i = bounds.start; i < bounds.logical_end; i++, owned++)
                assert_int_equal(axis_owner(&tiling, extent, i), q);
        }
        assert_int_equal(owned, extent);
        assert_true(total == axis_total(&tiling, extent));
        assert_int_equal(widest, axis_widest(&tiling, extent));
    }
}

/* The shards of a split tiling lie inside those of the tiling without. */
static void test_split_axes(void **state) {
    (void)state;
    uint64_t seed = 78;
    print_message("seed %llu\n", (unsigned long long)seed);
    Random random = random_seed(seed);
    for (int round = 0; round < 500; round++) {
        uint32_t extent = 1 + below(&random, 400), split = 1 + below(&random, 6);
        AxisTiling whole = axis_tiling(0, 1 + below(&random, 12), 1 + below(&random, 20), 1);
        AxisTiling fine = axis_split(whole, split, 1);
        for (uint32_t q = 0; q < whole.partitions; q++) {
            AxisBounds outer = axis_bounds(&whole, extent, q);
            uint32_t at = outer.start;
            for (uint32_t i = 0; i < split; i++) {
                AxisBounds inner = axis_bounds(&fine, extent, q * split + i);
                assert_int_equal(inner.start, at);
                at = inner.physical_end;
            }
            assert_int_equal(at, outer.physical_end);
        }
    }
    /* 729 rows in 16 parts of 45 or 46, each dealt to two; a narrow last panel of 16 columns. */
    AxisTiling rows = axis_split(axis_tiling(0, 16, 1, 1), 2, 1);
    AxisBounds last = axis_bounds(&rows, 729, 31), expected = {707, 729, 729};
    assert_memory_equal(&last, &expected, sizeof last);
    AxisTiling panels = axis_tiling(0, 2, 32, 1);
    panels.padding = 16;
    last = axis_bounds(&panels, 75, 1);
    expected = (AxisBounds){64, 75, 80};
    assert_memory_equal(&last, &expected, sizeof last);
    assert_int_equal(axis_total(&panels, 75), 80);
}

/* A random valid format for a matrix: strides are built from factors in random order. */
static Format random_format(Random *random, Shape *shape) {
    *shape = (Shape){2, {1 + below(random, 300), 1 + below(random, 300)}};
    Format format = {.precision = {PRECISION_F16, 0}, .order = {.kind = ORDER_LEFT}};
    if (below(random, 2))
        format.precision = (Precision){PRECISION_F8F143, (int8_t)((int)below(random, 32) - 16)};
    if (below(random, 2))
        format.memory_class = MEMORY_INTERLEAVED;
    format.order.half = format.precision.kind == PRECISION_F8F143 && below(random, 2);
    /* Digits of tile numbers: parts and splits of the axes, from the lowest one on in an order that
     * `turn` shifts, with copies between them. */
    uint32_t counts[4], strides[4], turn = below(random, 4), stride = 1;
    format.replicas = 1;
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t copies = 1 + below(random, 3), digit = (i + turn) % 4;
        counts[digit] = 1 + below(random, digit < 2 ? 6 : 3);
        strides[digit] = stride * copies;
        stride *= copies * counts[digit];
        format.replicas *= copies;
    }
    format.axis_count = 2;
    for (uint32_t i = 0; i < 2; i++)
        format.axes[i] = axis_split(axis_tiling(i, counts[i], i == 0 ? 1 : 32, strides[i]),
                                    counts[2 + i], strides[2 + i]);
    format.tile_count = stride;
    format.first_tile = below(random, 1000);
    return format;
}

static void test_tiles(void **state) {
    (void)state;
    uint64_t seed = 5;
    print_message("seed %llu\n", (unsigned long long)seed);
    Random random = random_seed(seed);
    for (int round = 0; round < 500; round++) {
        Shape shape;
        Format format = random_format(&random, &shape);
        assert_int_equal(format_check(&format, &shape, NULL), STATUS_OK);
        uint32_t shards = format_shards(&format);
        uint32_t *seen = mem_alloc(shards, sizeof *seen);
        assert_non_null(seen);
        uint64_t bytes = 0, widest = 0;
        for (uint32_t i = 0; i < format.tile_count; i++) {
            uint32_t tile = format.first_tile + i;
            uint32_t shard = format_shard_of_tile(&format, tile);
            assert_true(shard < shards);
            assert_int_equal(format_copy_of_tile(&format, tile), seen[shard]);
            assert_int_equal(format_tile_of_shard(&format, shard, seen[shard]), tile);
            seen[shard]++;
            uint64_t size = format_shard_bytes(&format, &shape, shard);
            bytes += size;
            widest = MAX_OF(widest, size);
        }
        for (uint32_t i = 0; i < shards; i++)
            assert_int_equal(seen[i], format.replicas);
        assert_true(bytes == format_total_bytes(&format, &shape));
        assert_true(widest == format_widest_bytes(&format, &shape));
        char *text = format_print(&format);
        assert_non_null(text);
        Format again;
        assert_int_equal(format_parse(text, &again, NULL), STATUS_OK);
        assert_true(format_equal(&format, &again));
        mem_free(text);
        mem_free(seen);
    }
}

/* Stored bytes = copies · padded rows · padded columns · value bytes: bindings published for
 * ipu-stack's SigLIP and MLP builds. */
static void test_binding_bytes(void **state) {
    (void)state;
    static const struct {
        uint32_t shape[2], parts[2], block[2], replicas;
        PrecisionKind precision;
        OrderKind order;
        uint64_t bytes;
    } cases[] = {
        {{1152, 3456}, {1, 32}, {32, 16}, 46, PRECISION_F8F143, ORDER_TRANSPOSED_LEFT, 183140352},
        {{729, 1152}, {46, 2}, {16, 16}, 16, PRECISION_F16, ORDER_TRANSPOSED_RIGHT, 27131904},
        {{1152, 4304}, {1, 269}, {32, 16}, 1, PRECISION_F8F143, ORDER_RIGHT, 4958208},
        {{4304, 1152}, {15, 72}, {32, 16}, 1, PRECISION_F8F143, ORDER_RIGHT, 4976640},
        {{1152, 4304}, {5, 269}, {256, 16}, 1, PRECISION_F8F143, ORDER_RIGHT, 5509120},
        {{729, 1152}, {1, 5}, {2, 256}, 269, PRECISION_F8F143, ORDER_LEFT, 251353600},
        {{729, 1152}, {9, 5}, {2, 16}, 30, PRECISION_F16, ORDER_LEFT, 50457600},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Shape shape = {2, {cases[i].shape[0], cases[i].shape[1]}};
        uint32_t shards = cases[i].parts[0] * cases[i].parts[1];
        Format format = {.precision = {cases[i].precision, 0},
                         .order = {.kind = cases[i].order},
                         .tile_count = shards * cases[i].replicas,
                         .replicas = cases[i].replicas,
                         .axis_count = 2};
        format.axes[0] = axis_tiling(0, cases[i].parts[0], cases[i].block[0], cases[i].parts[1]);
        format.axes[1] = axis_tiling(1, cases[i].parts[1], cases[i].block[1], 1);
        assert_int_equal(format_check(&format, &shape, NULL), STATUS_OK);
        assert_true(format_total_bytes(&format, &shape) == cases[i].bytes);
    }
}

static Format sound(void) {
    Format format = {.precision = {PRECISION_F16, 0},
                     .order = {.kind = ORDER_LEFT},
                     .tile_count = 12,
                     .replicas = 2,
                     .axis_count = 2};
    format.axes[0] = axis_tiling(0, 3, 1, 4);
    format.axes[1] = axis_tiling(1, 2, 16, 2);
    return format;
}

static void test_refused(void **state) {
    (void)state;
    Shape shape = {2, {30, 48}};
    Format format = sound();
    Diag diag;
    diag_init(&diag);
    assert_int_equal(format_check(&format, &shape, &diag), STATUS_OK);
    format.replicas = 3;
    assert_int_equal(format_check(&format, &shape, &diag), ERR_FORMAT_TILES);
    format = sound();
    format.axes[0].stride = 3;
    assert_int_equal(format_check(&format, &shape, &diag), ERR_FORMAT_TILES);
    format = sound();
    format.axes[0].stride = 8; /* the highest tile would be 8 * 2 + … */
    assert_int_equal(format_check(&format, &shape, &diag), ERR_FORMAT_TILES);
    format = sound();
    format.first_tile = UINT32_MAX - 5;
    assert_int_equal(format_check(&format, &shape, &diag), ERR_FORMAT_TILES);
    format = sound();
    format.axes[1].axis = 0;
    assert_int_equal(format_check(&format, &shape, &diag), ERR_FORMAT_AXIS);
    format = sound();
    format.axes[1].axis = 2;
    assert_int_equal(format_check(&format, &shape, &diag), ERR_FORMAT_AXIS);
    format = sound();
    format.axes[1].padding = 24;
    assert_int_equal(format_check(&format, &shape, &diag), ERR_FORMAT_AXIS);
    format = sound();
    format.axes[0].groups = 4;
    assert_int_equal(format_check(&format, &shape, &diag), ERR_FORMAT_AXIS);
    format = sound();
    format.axes[0].split = 2; /* 3 parts */
    assert_int_equal(format_check(&format, &shape, &diag), ERR_FORMAT_AXIS);
    format = sound();
    format.axes[1].split = 2; /* the split at the place of the copies, which are then too many */
    assert_int_equal(format_check(&format, &shape, &diag), STATUS_OK);
    format.axes[1].split_stride = 4;
    assert_int_equal(format_check(&format, &shape, &diag), ERR_FORMAT_TILES);
    format = sound();
    format.axes[1].padding = 16;
    format.axes[1].block = 32;
    format.axes[1].stride = format.axes[1].split_stride = 2; /* a last block of 16 of 48 columns */
    assert_int_equal(format_check(&format, &shape, &diag), STATUS_OK);
    format.axes[1].padding = 8;
    shape.dims[1] = 40; /* 8 columns are no panel */
    assert_int_equal(format_check(&format, &shape, &diag), ERR_FORMAT_ORDER);
    shape.dims[1] = 48;
    format = sound();
    format.axes[0].shard_padding = UINT32_MAX;
    assert_int_equal(format_check(&format, &shape, &diag), ERR_FORMAT_AXIS);
    format = sound();
    format.axis_count = 1;
    format.axes[0] = axis_tiling(0, 1, 1, 0); /* a stride of 0 divides, even where nothing is cut */
    assert_int_equal(format_check(&format, &shape, &diag), ERR_FORMAT_AXIS);
    format = sound();
    format.axes[0].block = format.axes[0].padding = 1U << 29;
    format.axes[1].block = format.axes[1].padding = 1U << 30;
    format.replicas = 1U << 27;
    format.tile_count = 6U << 27; /* 2^66 bytes and more */
    assert_int_equal(format_check(&format, &shape, &diag), ERR_FORMAT_AXIS);
    format = sound();
    format.axes[1].block = format.axes[1].padding = 8;
    assert_int_equal(format_check(&format, &shape, &diag), ERR_FORMAT_ORDER);
    format = sound();
    format.order.half = true;
    assert_int_equal(format_check(&format, &shape, &diag), ERR_FORMAT_ORDER);
    diag_free(&diag);
}

/* More parts than blocks: the shards past the last block are empty and take no bytes. */
static void test_empty_shards(void **state) {
    (void)state;
    Shape shape = {2, {3, 16}};
    Format format = sound();
    format.axis_count = 1;
    format.axes[0] = axis_tiling(0, 6, 1, 2);
    assert_int_equal(format_check(&format, &shape, NULL), STATUS_OK);
    for (uint32_t i = 0; i < 6; i++)
        assert_true(format_shard_bytes(&format, &shape, i) == (i < 3 ? 32 : 0));
    assert_true(format_total_bytes(&format, &shape) == 3 * 2 * 32);
}

static void test_text(void **state) {
    (void)state;
    static const char example[] = "f8f143(s=-4) left_half standard tiles=0+1472 replicas=46 "
                                  "axis0(parts=32,stride=46) axis1(block=32)";
    Format format;
    assert_int_equal(format_parse(example, &format, NULL), STATUS_OK);
    assert_int_equal(format.axes[1].padding, 32);
    char *text = format_print(&format);
    assert_string_equal(text, example);
    mem_free(text);
    static const char block[] = "f32 transposed_block(64,16) interleaved tiles=7+1 replicas=1 "
                                "axis2(groups=2,block=8,padding=24,shard=5,split=2,split_stride=9)";
    assert_int_equal(format_parse(block, &format, NULL), STATUS_OK);
    text = format_print(&format);
    assert_string_equal(text, block);
    mem_free(text);
    static const char left[] = "f8f143(s=-4) transposed_left_half(244) standard tiles=0+5 "
                               "replicas=5";
    assert_int_equal(format_parse(left, &format, NULL), STATUS_OK);
    assert_int_equal(format.order.outer_block, 244);
    text = format_print(&format);
    assert_string_equal(text, left);
    mem_free(text);

    static const struct {
        const char *text;
        uint32_t column;
    } bad[] = {
        {"", 1},
        {"f16", 4},
        {"f16 lefft standard tiles=0+4 replicas=1", 5},
        {"f16 block(16) standard tiles=0+4 replicas=1", 13},
        {"f16 left other tiles=0+4 replicas=1", 9},
        {"f16 left standard tiles=0+99999999999 replicas=1", 27},
        {"f16 left standard tiles=0+4 replicas=1 axis0(parts=3", 53},
        {"f16 left standard tiles=0+4 replicas=1 axis0(size=3)", 46},
        {"f16 left standard tiles=0+4 replicas=1 ", 39},
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        Diag diag;
        diag_init(&diag);
        assert_int_equal(format_parse(bad[i].text, &format, &diag), ERR_FORMAT_TEXT);
        assert_int_equal(diag.entries[0].place.column, bad[i].column);
        diag_free(&diag);
    }
    /* No truncation of a good text is a good text, but those that end before an axis. */
    char cut[sizeof example];
    for (size_t length = 0; length < sizeof example - 1; length++) {
        memcpy(cut, example, length);
        cut[length] = 0;
        bool whole = length > 2 && (strstr(cut, " replicas=4") != NULL) &&
                     (strchr(cut, '(') == strrchr(cut, '(') || cut[length - 1] == ')') &&
                     strspn(strrchr(cut, '=') + 1, "0123456789)") == strlen(strrchr(cut, '=') + 1);
        assert_int_equal(format_parse(cut, &format, NULL), whole ? STATUS_OK : ERR_FORMAT_TEXT);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds),        cmocka_unit_test(test_random_axes),
        cmocka_unit_test(test_split_axes),    cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_binding_bytes), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_empty_shards),  cmocka_unit_test(test_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
