/* Bulk packing of shards against the closed form, value by value, and back. */
#include "testing.h"

#include "base/mem.h"
#include "base/random.h"
#include "tensor/bulk.h"

#include <stdlib.h>
#include <string.h>

static uint32_t below(Random *random, uint32_t bound) {
    return (uint32_t)random_below(random, bound);
}

static uint64_t logical_offset(const Shape *shape, const Shard *shard, const uint32_t index[],
                               bool *padding) {
    uint64_t offset = 0;
    *padding = false;
    for (uint32_t i = 0; i < shape->rank; i++) {
        uint32_t at = shard->bounds[i].start + index[i];
        *padding |= at >= shard->bounds[i].logical_end;
        offset = offset * shape->dims[i] + at;
    }
    return offset;
}

static void check_shard(const Format *format, const Shape *shape, uint32_t number,
                        const uint8_t *logical, uint8_t *again) {
    Shard shard;
    format_shard(format, shape, number, &shard);
    uint64_t bytes = shard_bytes(&shard);
    uint32_t b = precision_bytes(format->precision);
    uint8_t *packed = mem_alloc(bytes + 1, 1);
    assert_non_null(packed);
    memset(packed, 0xAA, bytes + 1); /* padding must be written, the byte behind must not */
    bulk_pack(shape, &shard, logical, packed);
    assert_int_equal(packed[bytes], 0xAA);
    for (uint64_t offset = 0; offset < bytes / b; offset++) {
        uint32_t index[SHAPE_MAX_RANK] = {0};
        layout_index(&shard.layout, offset, index);
        bool padding;
        uint64_t from = logical_offset(shape, &shard, index, &padding);
        static const uint8_t zero[4];
        assert_memory_equal(packed + offset * b, padding ? zero : logical + from * b, b);
    }
    bulk_unpack(shape, &shard, packed, again);
    mem_free(packed);
}

static Format random_format(Random *random, const Shape *shape) {
    Format format = {.precision = {(PrecisionKind)below(random, 3), 0},
                     .order = {.kind = (OrderKind)below(random, 9)},
                     .replicas = 1,
                     .tile_count = 1};
    if (shape->rank == 1) /* one row: only orders with columns inside suit */
        format.order.kind = ORDER_LEFT;
    if (format.order.kind == ORDER_BLOCK || format.order.kind == ORDER_TRANSPOSED_BLOCK) {
        format.order.inner_block = precision_group(format.precision) * (1 + below(random, 2));
        format.order.outer_block = 8 * (1 + below(random, 2));
    }
    if (format.order.kind == ORDER_LEFT || format.order.kind == ORDER_TRANSPOSED_LEFT)
        format.order.outer_block = below(random, 2) ? 1 + below(random, 70) : 0;
    format.order.half = format.precision.kind == PRECISION_F8F143 &&
                        format.order.kind >= ORDER_LEFT &&
                        format.order.kind <= ORDER_TRANSPOSED_RIGHT && below(random, 2);
    for (uint32_t i = 0; i < shape->rank; i++) {
        uint32_t block = i + 2 < shape->rank ? 1 : 32;
        if (i + 2 >= shape->rank && format.order.kind == ORDER_ROW_MAJOR)
            block = 1 + below(random, 5);
        if (format.order.inner_block != 0 && i + 2 >= shape->rank)
            block = 64;
        AxisTiling tiling = axis_tiling(i, 1 + below(random, 3), block, format.tile_count);
        format.tile_count *= tiling.partitions;
        format.axes[format.axis_count++] = tiling;
    }
    return format;
}

static void test_random_shards(void **state) {
    (void)state;
    uint64_t seed = 271828;
    print_message("seed %llu\n", (unsigned long long)seed);
    Random random = random_seed(seed);
    int rounds = getenv("TW_TEST_ALL") ? 5000 : 400;
    for (int round = 0; round < rounds; round++) {
        Shape shape = {.rank = 1 + below(&random, 4)};
        uint64_t count = 1;
        for (uint32_t i = 0; i < shape.rank; i++) {
            shape.dims[i] = 1 + below(&random, i + 2 < shape.rank ? 4 : 90);
            count *= shape.dims[i];
        }
        Format format = random_format(&random, &shape);
        assert_int_equal(format_check(&format, &shape, NULL), STATUS_OK);
        uint64_t bytes = count * precision_bytes(format.precision);
        uint8_t *logical = mem_alloc(bytes, 1), *again = mem_alloc(bytes, 1);
        assert_non_null(logical);
        assert_non_null(again);
        for (uint64_t i = 0; i < bytes; i++)
            logical[i] = (uint8_t)(1 + below(&random, 255));
        for (uint32_t i = 0; i < format_shards(&format); i++)
            check_shard(&format, &shape, i, logical, again);
        assert_memory_equal(logical, again, bytes);
        mem_free(logical);
        mem_free(again);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_shards)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
