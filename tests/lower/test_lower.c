/* Lowering: bytes as priced, buffers as the kernels want them, and the tile graph executed with the
 * kernels' host references against the product in integers. */
#include "testing.h"

#include "base/mem.h"
#include "base/random.h"
#include "chip/chip.h"
#include "lower/lower.h"
#include "num/f16.h"
#include "num/f8.h"
#include "plan/search.h"
#include "tensor/bulk.h"

#include <stdlib.h>
#include <string.h>

static uint32_t below(Random *random, uint32_t bound) {
    return (uint32_t)random_below(random, bound);
}

typedef struct Case {
    Graph *graph;
    uint32_t rows, inner, columns;
    bool transpose_left, transpose_right;
    Precision left, right;
    PlanSearch search;
    Plan plan;
    TileGraph tiles;
} Case;

static void build_graph(Case *test) {
    assert_int_equal(graph_create(&test->graph, NULL), STATUS_OK);
    Shape left = {2, {test->rows, test->inner}}, right = {2, {test->inner, test->columns}};
    if (test->transpose_left)
        left = (Shape){2, {test->inner, test->rows}};
    if (test->transpose_right)
        right = (Shape){2, {test->columns, test->inner}};
    uint32_t x, w, y;
    Graph *graph = test->graph;
    assert_int_equal(graph_add_input(graph, "x", "x", test->left, left, &x, NULL), STATUS_OK);
    assert_int_equal(graph_add_parameter(graph, "w", "weights", test->right, right, &w, NULL),
                     STATUS_OK);
    assert_int_equal(
        graph_add_gemm(graph, "y", x, w, test->transpose_left, test->transpose_right, &y, NULL),
        STATUS_OK);
    assert_int_equal(graph_add_output(graph, "y", y, NULL), STATUS_OK);
}

static void case_make(Case *test, uint32_t tiles, Random *random) {
    build_graph(test);
    PlanOptions options = {.tiles = tiles};
    assert_int_equal(plan_search(test->graph, &options, &test->search, NULL), STATUS_OK);
    const PlanCandidate *candidate =
        &test->search.candidates[random ? random_below(random, test->search.count) : 0];
    assert_int_equal(plan_build(&test->search, candidate, &test->plan, NULL), STATUS_OK);
    assert_int_equal(lower_plan(test->graph, &test->plan, &test->tiles, NULL), STATUS_OK);
    assert_true(tile_graph_bytes(&test->tiles) == candidate->total_bytes);
}

static void case_free(Case *test) {
    tile_graph_free(&test->tiles);
    plan_free(&test->plan);
    plan_search_free(&test->search);
    graph_free(test->graph);
}

/* Fields of every buffer, call and pair against the kernels' interfaces. */
static void check_structure(const Case *test) {
    const TileGraph *tiles = &test->tiles;
    assert_int_equal(tiles->steps.count, 1);
    const LowerStep *step = &tiles->steps.items[0];
    assert_int_equal(tiles->end_event, 2);
    assert_true(step->predicted_cycles == test->plan.predicted_cycles);
    assert_int_equal(step->call_count, plan_tiles_used(&test->plan));
    assert_int_equal(tiles->buffers.count, 3 * step->call_count);
    assert_int_equal(tiles->pairs.count, step->call_count); /* output apart from left */
    for (uint32_t i = 0; i < step->call_count; i++) {
        const LowerCall *call = &tiles->calls.items[i];
        assert_int_equal(call->tile, i);
        assert_int_equal(tiles->tile_buffer[i], 3 * i);
        assert_int_equal(tiles->tile_pair[i], i);
        KernelInterface interface;
        kernel_interface(&tiles->specs.items[call->spec], &interface);
        for (uint32_t k = 0; k < interface.operand_count; k++) {
            const LowerBuffer *buffer = &tiles->buffers.items[call->operands[k].buffer];
            assert_int_equal(buffer->tile, i);
            assert_int_equal(buffer->bytes, interface.operands[k].bytes);
            assert_int_equal(buffer->tail, interface.operands[k].tail);
            assert_int_equal(buffer->alignment, interface.operands[k].alignment);
            assert_int_equal(buffer->memory_class, interface.operands[k].memory_class);
            assert_int_equal(call->operands[k].offset, 0);
            bool parameter = buffer->role == BUFFER_PARAMETER;
            assert_int_equal(buffer->first_event, k == 0 ? 1 : 0);
            assert_int_equal(buffer->last_event, k == 0 || parameter ? 2 : 1);
        }
        LowerPair pair = tiles->pairs.items[i];
        assert_true(pair.a == call->operands[0].buffer && pair.b == call->operands[1].buffer);
    }
    for (uint32_t i = step->call_count; i <= tiles->tiles; i++)
        assert_int_equal(tiles->tile_buffer[i], tiles->buffers.count);
    for (size_t a = 0; a < tiles->specs.count; a++)
        for (size_t b = 0; b < a; b++)
            assert_false(kernel_spec_equal(&tiles->specs.items[a], &tiles->specs.items[b]));
    assert_true(tiles->specs.count <= 4);
}

static void check_bindings(const Case *test) {
    const TileGraph *tiles = &test->tiles;
    static const char *const names[] = {"x", "weights", "y"};
    static const BindingKind kinds[] = {BINDING_INPUT, BINDING_PARAMETER, BINDING_OUTPUT};
    assert_int_equal(tiles->bindings.count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        const LowerBinding *binding = &tiles->bindings.items[i];
        assert_string_equal(binding->name, names[i]);
        assert_int_equal(binding->kind, kinds[i]);
        assert_int_equal(binding->slice_count, binding->format.tile_count);
        uint64_t bytes = 0;
        for (uint32_t k = 0; k < binding->slice_count; k++) {
            const LowerSlice *slice = &tiles->slices.items[binding->first_slice + k];
            const LowerBuffer *buffer = &tiles->buffers.items[slice->buffer];
            assert_int_equal(slice->shard, k / binding->format.replicas);
            assert_int_equal(slice->copy, k % binding->format.replicas);
            assert_int_equal(buffer->value, binding->value);
            assert_int_equal(buffer->shard, slice->shard);
            bytes += buffer->bytes;
        }
        assert_true(bytes == test->plan.values[binding->value].total_bytes);
    }
}

/* Small integers times the scale: exact in both precisions. */
static void fill(void *codes, int8_t *numbers, uint64_t count, Precision precision,
                 Random *random) {
    for (uint64_t i = 0; i < count; i++) {
        numbers[i] = (int8_t)((int)below(random, 5) - 2);
        double value = numbers[i];
        if (precision.kind == PRECISION_F8F143)
            ((uint8_t *)codes)[i] = f8_from_f64(value, F8_F143, 0, F8_HOST);
        else
            ((F16 *)codes)[i] = f32_to_f16((float)value, F16_OVERFLOW_SATURATE);
    }
}

static void **alloc_buffers(const TileGraph *tiles) {
    void **memory = mem_alloc(tiles->buffers.count, sizeof *memory);
    assert_non_null(memory);
    for (size_t i = 0; i < tiles->buffers.count; i++) {
        memory[i] = mem_alloc(tiles->buffers.items[i].bytes, 1);
        assert_non_null(memory[i]);
    }
    return memory;
}

static void move_binding(const TileGraph *tiles, uint32_t number, void **memory, void *logical) {
    const LowerBinding *binding = &tiles->bindings.items[number];
    for (uint32_t i = 0; i < binding->slice_count; i++) {
        const LowerSlice *slice = &tiles->slices.items[binding->first_slice + i];
        Shard shard;
        format_shard(&binding->format, &binding->shape, slice->shard, &shard);
        if (binding->kind == BINDING_OUTPUT)
            bulk_unpack(&binding->shape, &shard, memory[slice->buffer], logical);
        else
            bulk_pack(&binding->shape, &shard, logical, memory[slice->buffer]);
    }
}

static void run_calls(const TileGraph *tiles, void **memory) {
    for (size_t i = 0; i < tiles->calls.count; i++) {
        const LowerCall *call = &tiles->calls.items[i];
        void *operands[KERNEL_MAX_OPERANDS] = {0};
        KernelInterface interface;
        kernel_interface(&tiles->specs.items[call->spec], &interface);
        for (uint32_t k = 0; k < interface.operand_count; k++)
            operands[k] = (uint8_t *)memory[call->operands[k].buffer] + call->operands[k].offset;
        kernel_reference(&tiles->specs.items[call->spec], operands, call->scalars);
    }
}

static void check_product(const Case *test, const int8_t *left, const int8_t *right,
                          const F16 *found) {
    double scale = 1;
    for (int i = test->left.scale_exponent + test->right.scale_exponent; i != 0;
         i += i < 0 ? 1 : -1)
        scale = i < 0 ? scale / 2 : scale * 2;
    for (uint32_t m = 0; m < test->rows; m++)
        for (uint32_t n = 0; n < test->columns; n++) {
            int sum = 0;
            for (uint32_t k = 0; k < test->inner; k++)
                sum += left[test->transpose_left ? k * test->rows + m : m * test->inner + k] *
                       right[test->transpose_right ? n * test->inner + k : k * test->columns + n];
            double value = f16_to_f32(found[m * test->columns + n]);
            assert_true(value == sum * scale);
        }
}

static void check_execution(Case *test, Random *random) {
    uint64_t left_count = (uint64_t)test->rows * test->inner,
             right_count = (uint64_t)test->inner * test->columns,
             count = (uint64_t)test->rows * test->columns;
    void *left = mem_alloc(left_count, 2), *right = mem_alloc(right_count, 2);
    F16 *result = mem_alloc(count, sizeof *result);
    int8_t *x = mem_alloc(left_count, 1), *w = mem_alloc(right_count, 1);
    assert_true(left && right && result && x && w);
    fill(left, x, left_count, test->left, random);
    fill(right, w, right_count, test->right, random);
    void **memory = alloc_buffers(&test->tiles);
    move_binding(&test->tiles, 0, memory, left);
    move_binding(&test->tiles, 1, memory, right);
    run_calls(&test->tiles, memory);
    move_binding(&test->tiles, 2, memory, result);
    check_product(test, x, w, result);
    for (size_t i = 0; i < test->tiles.buffers.count; i++)
        mem_free(memory[i]);
    mem_free(memory);
    mem_free(left);
    mem_free(right);
    mem_free(result);
    mem_free(x);
    mem_free(w);
}

static void test_random(void **state) {
    (void)state;
    uint64_t seed = 60221;
    print_message("seed %llu\n", (unsigned long long)seed);
    Random random = random_seed(seed);
    static const uint32_t edges[] = {1, 15, 16, 17, 31, 32, 33};
    int rounds = getenv("TW_TEST_ALL") ? 1000 : 60;
    for (int round = 0; round < rounds; round++) {
        Case test = {.transpose_left = below(&random, 2), .transpose_right = below(&random, 2)};
        uint32_t *extents[] = {&test.rows, &test.inner, &test.columns};
        for (int i = 0; i < 3; i++)
            *extents[i] = below(&random, 2) ? edges[below(&random, COUNT_OF(edges))]
                                            : 1 + below(&random, 120);
        test.left = test.right = (Precision){PRECISION_F16, 0};
        if (below(&random, 2)) {
            test.left = (Precision){PRECISION_F8F143, (int8_t)((int)below(&random, 5) - 3)};
            test.right = (Precision){PRECISION_F8F143, (int8_t)((int)below(&random, 4) - 4)};
        }
        case_make(&test, 1 + below(&random, 60), &random);
        check_structure(&test);
        check_bindings(&test);
        check_execution(&test, &random);
        case_free(&test);
    }
}

/* The whole chip: every tile beyond the grid is idle, priced bytes equal lowered ones. */
static void test_whole_chip(void **state) {
    (void)state;
    Case test = {.rows = 642, .inner = 120, .columns = 6625};
    test.left = (Precision){PRECISION_F8F143, -4};
    test.right = (Precision){PRECISION_F8F143, -6};
    case_make(&test, CHIP_TILES, NULL);
    check_structure(&test);
    check_bindings(&test);
    assert_int_equal(test.tiles.calls.items[0].scalars[0], -10);
    case_free(&test);
}

static void test_text(void **state) {
    (void)state;
    Case test = {.rows = 20, .inner = 48, .columns = 30};
    test.left = test.right = (Precision){PRECISION_F8F143, -4};
    build_graph(&test);
    PlanForce force = {(char[]){"y"}, 2, 2, 1, false};
    PlanOptions options = {.tiles = 5, .forces = &force, .force_count = 1};
    assert_int_equal(plan_search(test.graph, &options, &test.search, NULL), STATUS_OK);
    assert_int_equal(plan_build(&test.search, &test.search.candidates[0], &test.plan, NULL),
                     STATUS_OK);
    assert_int_equal(lower_plan(test.graph, &test.plan, &test.tiles, NULL), STATUS_OK);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    tile_graph_print(&test.tiles, out);
    fclose(out);
    static const char *const wanted[] = {
        "tiles 5, 12 buffers of 7936 bytes, end event 2\n",
        "binding parameter \"weights\" [48,30], 4 slices, f8f143(s=-4) right",
        "tile 3\n",
        "  b9 input value 0 shard 1: 640+",
        "  b10 parameter value 1 shard 1: 1024+",
        "  b11 output value 2 shard 3: 320+",
        "  apart b11 b9\n",
        "  call step 0 spec 0: output=b11+0 left=b9+0 right=b10+0 -8\n",
    };
    for (size_t i = 0; i < COUNT_OF(wanted); i++)
        if (!strstr(text, wanted[i]))
            fail_msg("no \"%s\" in\n%s", wanted[i], text);
    free(text);
    case_free(&test);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random),
                                       cmocka_unit_test(test_whole_chip),
                                       cmocka_unit_test(test_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
