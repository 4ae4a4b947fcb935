/* Lowering: bytes, words and cycles as priced, buffers as the kernels want them, and the tile graph
 * executed with the kernels' host references against the product in integers. */
#include "random_graph.h"

#include "base/random.h"
#include "chip/chip.h"
#include "kernel/step.h"
#include "lower/run_tiles.h"
#include "num/f16.h"
#include "num/f8.h"
#include "plan/search.h"

#include <stdlib.h>

static uint32_t below(Random *random, uint32_t bound) {
    return (uint32_t)random_below(random, bound);
}

typedef struct Case {
    Graph *graph;
    uint32_t rows, inner, columns;
    bool transpose_left, transpose_right;
    Precision left, right; /* of the product's operands */
    bool cast_left, cast_right;
    PlanOptions options;
    PlanForce force;
    PlanSearch search;
    Plan plan;
    TileGraph tiles;
} Case;

static const Precision f16 = {PRECISION_F16, 0};

static void build_graph(Case *test) {
    assert_int_equal(graph_create(&test->graph, NULL), STATUS_OK);
    Shape left = {2, {test->rows, test->inner}}, right = {2, {test->inner, test->columns}};
    if (test->transpose_left)
        left = (Shape){2, {test->inner, test->rows}};
    if (test->transpose_right)
        right = (Shape){2, {test->columns, test->inner}};
    uint32_t x, w, y;
    Graph *graph = test->graph;
    assert_int_equal(
        graph_add_input(graph, "x", "x", test->cast_left ? f16 : test->left, left, &x, NULL),
        STATUS_OK);
    assert_int_equal(graph_add_parameter(graph, "w", "weights",
                                         test->cast_right ? f16 : test->right, right, &w, NULL),
                     STATUS_OK);
    if (test->cast_left)
        assert_int_equal(graph_add_cast(graph, "xq", x, test->left, &x, NULL), STATUS_OK);
    if (test->cast_right)
        assert_int_equal(graph_add_cast(graph, "wq", w, test->right, &w, NULL), STATUS_OK);
    assert_int_equal(
        graph_add_gemm(graph, "y", x, w, test->transpose_left, test->transpose_right, &y, NULL),
        STATUS_OK);
    assert_int_equal(graph_add_output(graph, "y", y, NULL), STATUS_OK);
}

static void lower_candidate(Case *test, const PlanCandidate *candidate) {
    assert_int_equal(plan_build(&test->search, candidate, &test->plan, NULL), STATUS_OK);
    assert_int_equal(lower_plan(test->graph, &test->plan, &test->tiles, NULL), STATUS_OK);
}

static void lowered_free(Case *test) {
    tile_graph_free(&test->tiles);
    plan_free(&test->plan);
}

static void case_open(Case *test) {
    build_graph(test);
    assert_int_equal(plan_search(test->graph, &test->options, &test->search, NULL), STATUS_OK);
    assert_true(test->search.count > 0);
}

static void case_close(Case *test) {
    plan_search_free(&test->search);
    graph_free(test->graph);
}

/* ---- priced against lowered */

/* Most bytes alive on a tile at once, of all storage and of what needs region 1. */
static void check_bytes(const Case *test, const PlanCandidate *candidate) {
    const TileGraph *tiles = &test->tiles;
    uint64_t most = 0, interleaved = 0;
    for (uint32_t tile = 0; tile < tiles->tiles; tile++)
        for (uint32_t event = 0; event <= tiles->end_event; event++) {
            uint64_t all = 0, paired = 0;
            for (uint32_t i = tiles->tile_buffer[tile]; i < tiles->tile_buffer[tile + 1]; i++) {
                const LowerBuffer *buffer = &tiles->buffers.items[i];
                uint32_t first = buffer->first_event, last = buffer->last_event;
                if (buffer->role == BUFFER_ROWS || buffer->is_piece)
                    continue;
                for (uint32_t k = tiles->tile_buffer[tile]; k < tiles->tile_buffer[tile + 1]; k++)
                    if (tiles->buffers.items[k].is_piece && tiles->buffers.items[k].whole == i) {
                        first = MIN_OF(first, tiles->buffers.items[k].first_event);
                        last = MAX_OF(last, tiles->buffers.items[k].last_event);
                    }
                assert_true(first <= last);
                if (event < first || event > last)
                    continue;
                all += buffer->bytes;
                paired += buffer->memory_class == MEMORY_INTERLEAVED ? buffer->bytes : 0;
            }
            most = MAX_OF(most, all);
            interleaved = MAX_OF(interleaved, paired);
        }
    /* What is copied on its tile may also be sent; the price does not ask. */
    bool local = false;
    for (uint32_t i = 0; i < test->plan.step_count; i++)
        local |= test->plan.steps[i].kind == PLAN_LOCAL;
    assert_true(most == candidate->tile_bytes || (local && most > candidate->tile_bytes));
    assert_true(interleaved == candidate->interleaved ||
                (local && interleaved > candidate->interleaved));
    assert_true(tile_graph_bytes(tiles) == candidate->total_bytes);
    uint64_t stored = 0;
    for (uint32_t i = 0; i < test->plan.value_count; i++)
        stored += test->plan.values[i].total_bytes;
    assert_true(stored == candidate->total_bytes);
}

/* Words that the busiest tile gets in an exchange, with what local copies before it bring. Padding
 * that is filled before it counts in the price of moves between operations. */
static void check_words(const Case *test, uint32_t number) {
    const TileGraph *tiles = &test->tiles;
    const LowerStep *step = &tiles->steps.items[number];
    uint64_t *words = mem_alloc(tiles->tiles, sizeof *words), most = 0;
    assert_non_null(words);
    for (uint32_t i = 0; i < step->copy_count; i++) {
        const LowerCopy *copy = &tiles->copies.items[step->first_copy + i];
        for (uint32_t k = 0; k < copy->dest_count; k++) {
            uint32_t buffer = tiles->dests.items[copy->first_dest + k].buffer;
            words[tiles->buffers.items[buffer].tile] += copy->words;
        }
    }
    bool local = number > 0 && test->plan.steps[number - 1].kind == PLAN_LOCAL;
    for (uint32_t i = 0; local && i < step[-1].call_count; i++) {
        const LowerCall *call = &tiles->calls.items[step[-1].first_call + i];
        const KernelSpec *spec = &tiles->specs.items[call->spec];
        if (spec->family == KERNEL_COPY)
            words[call->tile] += 2 * (uint64_t)spec->copy.rows * spec->copy.words;
    }
    for (uint32_t i = 0; i < tiles->tiles; i++)
        most = MAX_OF(most, words[i]);
    bool pads = test->search.is_graph && local;
    if (most != test->plan.steps[number].words &&
        !(pads && most < test->plan.steps[number].words)) {
        fprintf(stderr, "%s", plan_print(test->graph, &test->plan));
        fail_msg("step %u: %llu words, lowered %llu", number,
                 (unsigned long long)test->plan.steps[number].words, (unsigned long long)most);
    }
    mem_free(words);
}

/* The slowest tile of a computing step takes what was predicted. */
static void check_cycles(const Case *test, uint32_t number) {
    const TileGraph *tiles = &test->tiles;
    const LowerStep *step = &tiles->steps.items[number];
    uint64_t slowest = 0, now = 0;
    uint32_t tile = UINT32_MAX;
    for (uint32_t i = 0; i < step->call_count; i++) {
        const LowerCall *call = &tiles->calls.items[step->first_call + i];
        if (call->tile != tile)
            now = 0;
        tile = call->tile;
        now += kernel_step_cycles(&tiles->specs.items[call->spec], call->scalars,
                                  (unsigned)(now % CHIP_WORKER_SLOTS));
        slowest = MAX_OF(slowest, now);
    }
    if (slowest != step->predicted_cycles)
        fail_msg("step %u of\n%s: %llu cycles, slowest tile %llu", number,
                 plan_print(test->graph, &test->plan), (unsigned long long)step->predicted_cycles,
                 (unsigned long long)slowest);
}

/* Kernels of all steps but local copies; the steps sum up to the plan. */
static void check_computing(const Case *test) {
    uint64_t cycles = 0;
    for (uint32_t i = 0; i < test->plan.step_count; i++) {
        const PlanStep *step = &test->plan.steps[i];
        assert_true(test->tiles.steps.items[i].predicted_cycles == step->cycles);
        if (step->kind == PLAN_EXCHANGE)
            check_words(test, i);
        else if (step->kind != PLAN_LOCAL)
            check_cycles(test, i);
        cycles += step->cycles;
    }
    assert_true(cycles == test->plan.predicted_cycles);
}

static void check_steps(const Case *test) {
    const TileGraph *tiles = &test->tiles;
    assert_int_equal(tiles->steps.count, test->plan.step_count);
    assert_int_equal(tiles->end_event, test->plan.step_count + 1);
    uint64_t cycles = 0;
    for (uint32_t i = 0; i < tiles->steps.count; i++) {
        assert_true(tiles->steps.items[i].predicted_cycles == test->plan.steps[i].cycles);
        cycles += test->plan.steps[i].cycles;
        if (tiles->steps.items[i].kind == STEP_EXCHANGE)
            check_words(test, i);
        else if (test->plan.steps[i].kind != PLAN_LOCAL)
            check_cycles(test, i);
    }
    assert_true(cycles == test->plan.predicted_cycles);
    for (size_t a = 0; a < tiles->specs.count; a++)
        for (size_t b = 0; b < a; b++)
            assert_false(kernel_spec_equal(&tiles->specs.items[a], &tiles->specs.items[b]));
}

/* ---- buffers, pairs, bindings */

static uint32_t root_of(const TileGraph *tiles, uint32_t buffer) {
    const LowerBuffer *found = &tiles->buffers.items[buffer];
    return found->is_piece ? found->whole : buffer;
}

/* Is there a pair of these buffers' roots, hard or of any kind? */
static bool are_apart(const TileGraph *tiles, uint32_t a, uint32_t b, bool hard) {
    a = root_of(tiles, a);
    b = root_of(tiles, b);
    uint32_t tile = tiles->buffers.items[a].tile;
    for (uint32_t i = tiles->tile_pair[tile]; i < tiles->tile_pair[tile + 1]; i++) {
        const LowerPair *pair = &tiles->pairs.items[i];
        assert_true(pair->a < pair->b);
        if (pair->a == MIN_OF(a, b) && pair->b == MAX_OF(a, b))
            return !hard || !pair->soft;
    }
    return false;
}

static void check_alive(const LowerBuffer *buffer, uint32_t event) {
    assert_true(buffer->first_event <= event && event <= buffer->last_event);
}

static void check_calls(const TileGraph *tiles, uint32_t event, const LowerStep *step) {
    for (uint32_t i = 0; i < step->call_count; i++) {
        const LowerCall *call = &tiles->calls.items[step->first_call + i];
        KernelInterface interface;
        kernel_interface(&tiles->specs.items[call->spec], &interface);
        for (uint32_t k = 0; k < interface.operand_count; k++) {
            const LowerOperand *operand = &call->operands[k];
            const LowerBuffer *buffer = &tiles->buffers.items[operand->buffer];
            const KernelOperand *wanted = &interface.operands[k];
            check_alive(buffer, event);
            assert_true(buffer->alignment >= wanted->alignment);
            assert_true(buffer->memory_class >= wanted->memory_class);
            assert_true(operand->offset + wanted->bytes + wanted->tail <=
                        buffer->bytes + buffer->tail);
            for (uint32_t j = 0; j < k; j++) {
                bool same =
                    root_of(tiles, operand->buffer) == root_of(tiles, call->operands[j].buffer);
                if (wanted->apart >> j & 1)
                    assert_true(are_apart(tiles, operand->buffer, call->operands[j].buffer, true));
                else if (same)
                    assert_true(wanted->same >> j & 1);
            }
        }
    }
}

static void check_copies(const TileGraph *tiles, uint32_t event, const LowerStep *step) {
    for (uint32_t i = 0; i < step->copy_count; i++) {
        const LowerCopy *copy = &tiles->copies.items[step->first_copy + i];
        const LowerBuffer *source = &tiles->buffers.items[copy->source.buffer];
        uint32_t row = tile_graph_row(tiles, step->exchange, source->tile);
        check_alive(source, event);
        assert_true(are_apart(tiles, row, copy->source.buffer, true));
        for (uint32_t k = 0; k < copy->dest_count; k++) {
            uint32_t number = tiles->dests.items[copy->first_dest + k].buffer;
            const LowerBuffer *dest = &tiles->buffers.items[number];
            check_alive(dest, event);
            row = tile_graph_row(tiles, step->exchange, dest->tile);
            assert_true(are_apart(tiles, row, number, true));
            if (dest->tile == source->tile)
                assert_true(are_apart(tiles, copy->source.buffer, number, true));
        }
    }
}

static void check_structure(const Case *test) {
    const TileGraph *tiles = &test->tiles;
    for (uint32_t tile = 0; tile < tiles->tiles; tile++)
        for (uint32_t i = tiles->tile_buffer[tile]; i < tiles->tile_buffer[tile + 1]; i++) {
            const LowerBuffer *buffer = &tiles->buffers.items[i];
            assert_int_equal(buffer->tile, tile);
            if (buffer->role == BUFFER_PARAMETER || buffer->role == BUFFER_INPUT)
                assert_int_equal(buffer->first_event, 0);
            if (buffer->role == BUFFER_PARAMETER || buffer->role == BUFFER_OUTPUT ||
                buffer->role == BUFFER_ROWS)
                assert_int_equal(buffer->last_event, tiles->end_event);
        }
    for (uint32_t i = 0; i < tiles->steps.count; i++) {
        check_calls(tiles, i + 1, &tiles->steps.items[i]);
        check_copies(tiles, i + 1, &tiles->steps.items[i]);
    }
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
        uint64_t bytes = 0;
        for (uint32_t k = 0; k < binding->slice_count; k++) {
            const LowerSlice *slice = &tiles->slices.items[binding->first_slice + k];
            const LowerBuffer *buffer = &tiles->buffers.items[slice->buffer];
            assert_int_equal(buffer->value, binding->value);
            assert_int_equal(buffer->shard, slice->shard);
            bytes += buffer->bytes;
        }
        assert_true(bytes == format_total_bytes(&binding->format, &binding->shape));
    }
}

/* ---- execution */

/* Small integers times the scale: exact in all precisions. */
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

static void check_product(const Case *test, const int8_t *left, const int8_t *right,
                          const F16 *found) {
    /* An operand that is cast holds the numbers themselves. */
    int exponent = (test->cast_left ? 0 : test->left.scale_exponent) +
                   (test->cast_right ? 0 : test->right.scale_exponent);
    double scale = 1;
    for (int i = exponent; i != 0; i += i < 0 ? 1 : -1)
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
    fill(left, x, left_count, test->cast_left ? f16 : test->left, random);
    fill(right, w, right_count, test->cast_right ? f16 : test->right, random);
    uint8_t **memory = tiles_create(&test->tiles);
    tiles_move(&test->tiles, "x", memory, left);
    tiles_move(&test->tiles, "weights", memory, right);
    tiles_run(&test->tiles, memory);
    tiles_move(&test->tiles, "y", memory, result);
    check_product(test, x, w, result);
    tiles_free(&test->tiles, memory);
    mem_free(left);
    mem_free(right);
    mem_free(result);
    mem_free(x);
    mem_free(w);
}

/* Tile 0 alone has the buffers and calls that it has in the whole. */
static void check_first_tile(const Case *test) {
    TileGraph first;
    const TileGraph *tiles = &test->tiles;
    assert_int_equal(lower_first_tile(test->graph, &test->plan, &first, NULL), STATUS_OK);
    assert_int_equal(first.tiles, 1);
    assert_int_equal(first.buffers.count, tiles->tile_buffer[1]);
    for (uint32_t i = 0; i < tiles->tile_buffer[1]; i++) {
        const LowerBuffer *a = &first.buffers.items[i], *b = &tiles->buffers.items[i];
        if (a->role == BUFFER_ROWS) {
            assert_true(a->bytes <= b->bytes);
            continue;
        }
        assert_true(a->bytes == b->bytes && a->value == b->value && a->role == b->role);
        assert_true(a->memory_class == b->memory_class && a->is_piece == b->is_piece &&
                    a->whole == b->whole && a->offset == b->offset);
        /* Local copies and fills, which are not looked at, may want more. */
        assert_true(a->alignment <= b->alignment && a->tail <= b->tail);
        assert_true(a->first_event >= b->first_event && a->last_event <= b->last_event);
    }
    tile_graph_free(&first);
}

static void check_candidate(Case *test, const PlanCandidate *candidate, Random *random) {
    lower_candidate(test, candidate);
    check_bytes(test, candidate);
    check_steps(test);
    check_structure(test);
    check_bindings(test);
    check_first_tile(test);
    check_execution(test, random);
    lowered_free(test);
}

/* ---- tests */

static const uint32_t edges[] = {1, 15, 16, 17, 31, 32, 33};

static void draw_shape(Case *test, Random *random) {
    uint32_t *extents[] = {&test->rows, &test->inner, &test->columns};
    for (int i = 0; i < 3; i++)
        *extents[i] =
            below(random, 2) ? edges[below(random, COUNT_OF(edges))] : 1 + below(random, 120);
    test->transpose_left = below(random, 2);
    test->transpose_right = below(random, 2);
    test->left = test->right = f16;
    if (below(random, 2)) {
        test->left = (Precision){PRECISION_F8F143, (int8_t)((int)below(random, 5) - 3)};
        test->right = (Precision){PRECISION_F8F143, (int8_t)((int)below(random, 4) - 4)};
    }
}

static void test_random(void **state) {
    (void)state;
    uint64_t seed = 60221;
    print_message("seed %llu\n", (unsigned long long)seed);
    Random random = random_seed(seed);
    int rounds = getenv("TW_TEST_ALL") ? 2000 : 150, exchanging = 0;
    for (int round = 0; round < rounds; round++) {
        Case test = {.options = {.tiles = 1 + below(&random, 60)}};
        draw_shape(&test, &random);
        bool f8 = test.left.kind == PRECISION_F8F143;
        test.cast_left = f8 && below(&random, 2);
        test.cast_right = f8 && below(&random, 4) == 0;
        test.options.device_input = below(&random, 2);
        test.options.max_copies = below(&random, 2) ? 1 + below(&random, 4) : 0;
        test.options.cast = (PlanCastPolicy)below(&random, 3);
        case_open(&test);
        for (int i = 0; i < 4; i++) {
            const PlanCandidate *candidate =
                &test.search.candidates[random_below(&random, test.search.count)];
            check_candidate(&test, candidate, &random);
            exchanging += candidate->gemm.inner > 1 || test.options.device_input;
        }
        case_close(&test);
    }
    assert_true(exchanging > rounds);
}

/* Forced grids with inner parts, on more of the chip. */
static void test_inner_parts(void **state) {
    (void)state;
    uint64_t seed = 602;
    print_message("seed %llu\n", (unsigned long long)seed);
    Random random = random_seed(seed);
    for (int round = 0; round < 30; round++) {
        Case test = {.rows = 20 + below(&random, 150),
                     .inner = 200 + below(&random, 300),
                     .columns = 20 + below(&random, 200)};
        test.left = test.right = f16;
        bool f8 = below(&random, 2);
        if (f8)
            test.left = test.right = (Precision){PRECISION_F8F143, -3};
        test.cast_left = f8 && below(&random, 2);
        uint32_t panels = (uint32_t)div_up(test.inner, f8 ? 32 : 16);
        bool swapped = below(&random, 2);
        uint32_t m = swapped ? test.columns : test.rows, n = swapped ? test.rows : test.columns;
        test.force = (PlanForce){(char[]){"y"}, 1 + below(&random, MIN_OF(m, 12u)),
                                 1 + below(&random, (uint32_t)div_up(n, 16)),
                                 2 + below(&random, panels - 1), swapped};
        test.options = (PlanOptions){.tiles = CHIP_TILES,
                                     .device_input = below(&random, 2),
                                     .max_copies = below(&random, 2) ? 1 + below(&random, 3) : 0,
                                     .forces = &test.force,
                                     .force_count = 1};
        if (test.force.rows * test.force.columns * test.force.inner > CHIP_TILES)
            continue;
        case_open(&test);
        for (size_t i = 0; i < test.search.count; i += 1 + test.search.count / 5)
            check_candidate(&test, &test.search.candidates[i], &random);
        case_close(&test);
    }
}

/* More rows in half panels than a kernel call takes: blocks of them, with calls of their own. */
static void test_row_blocks(void **state) {
    (void)state;
    const struct {
        uint32_t rows, inner, columns;
        PlanForce force;
        uint32_t calls; /* of tile 0: blocks of rows by groups of columns */
    } cases[] = {
        {513, 48, 40, {(char[]){"y"}, 2, 1, 1, false}, 2 * 3},
        {700, 208, 16, {(char[]){"y"}, 1, 1, 3, false}, 3},
        {300, 80, 33, {(char[]){"y"}, 1, 2, 2, false}, 2 * 2},
        {20, 96, 530, {(char[]){"y"}, 1, 1, 2, true}, 3 * 2},
    };
    Random random = random_seed(257);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Case test = {.rows = cases[i].rows,
                     .inner = cases[i].inner,
                     .columns = cases[i].columns,
                     .left = {PRECISION_F8F143, -3},
                     .right = {PRECISION_F8F143, -3},
                     .cast_left = true,
                     .cast_right = true,
                     .force = cases[i].force,
                     .options = {.tiles = 8, .device_input = true, .force_count = 1}};
        test.options.forces = &test.force;
        case_open(&test);
        int left = test.force.swapped ? 1 : 0, checked = 0;
        for (size_t k = 0; k < test.search.count && checked < 6; k++) {
            const PlanCandidate *candidate = &test.search.candidates[k];
            if (!candidate->gemm.operands[left].half)
                continue;
            checked++;
            check_candidate(&test, candidate, &random);
            assert_int_equal(plan_build(&test.search, candidate, &test.plan, NULL), STATUS_OK);
            for (uint32_t s = 0; s < test.plan.step_count; s++)
                if (test.plan.steps[s].kind == PLAN_GEMM)
                    assert_int_equal(
                        plan_call_count(test.graph, &test.plan, &test.plan.steps[s], 0),
                        cases[i].calls);
            plan_free(&test.plan);
        }
        assert_true(checked > 0);
        case_close(&test);
    }
}

/* Chains of products, sums and GELU: kernel cycles and bytes of whole plans are as priced. */
static void test_graphs(void **state) {
    (void)state;
    uint64_t seed = 88172645;
    print_message("seed %llu\n", (unsigned long long)seed);
    Random random = random_seed(seed);
    RandomGraphOptions options = {.most = 100, .work = 1e6, .steps = 5};
    int rounds = getenv("TW_TEST_ALL") ? 1000 : 40, checked = 0;
    for (int round = 0; round < rounds; round++) {
        Graph *graph = random_graph(&random, &options);
        Case test = {.options = {.tiles = 4 + below(&random, 60)}};
        assert_int_equal(graph_expand(graph, &test.graph, NULL), STATUS_OK);
        if (plan_search(test.graph, &test.options, &test.search, NULL) == STATUS_OK)
            for (size_t i = 0; i < test.search.count; i += 1 + test.search.count / 2) {
                const PlanCandidate *candidate = &test.search.candidates[i];
                lower_candidate(&test, candidate);
                if (test.plan.loop_count == 0) { /* what places share is priced elsewhere */
                    check_bytes(&test, candidate);
                    check_computing(&test);
                    checked++;
                }
                check_structure(&test);
                lowered_free(&test);
            }
        case_close(&test);
        graph_free(graph);
    }
    assert_true(checked > rounds / 2);
}

/* The whole chip: every tile beyond the grid is idle, priced bytes equal lowered ones. */
static void test_whole_chip(void **state) {
    (void)state;
    Case test = {.rows = 642, .inner = 120, .columns = 6625, .options = {.tiles = CHIP_TILES}};
    test.left = (Precision){PRECISION_F8F143, -4};
    test.right = (Precision){PRECISION_F8F143, -6};
    case_open(&test);
    lower_candidate(&test, &test.search.candidates[0]);
    check_bytes(&test, &test.search.candidates[0]);
    check_steps(&test);
    check_structure(&test);
    check_bindings(&test);
    assert_int_equal(test.tiles.calls.items[0].scalars[0], -10);
    lowered_free(&test);
    case_close(&test);
}

static void test_text(void **state) {
    (void)state;
    Case test = {.rows = 20,
                 .inner = 48,
                 .columns = 30,
                 .force = {(char[]){"y"}, 2, 1, 2, false},
                 .options = {.tiles = 5}};
    test.left = test.right = (Precision){PRECISION_F8F143, -4};
    test.options.forces = &test.force;
    test.options.force_count = 1;
    case_open(&test);
    lower_candidate(&test, &test.search.candidates[0]);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    tile_graph_print(&test.tiles, out);
    fclose(out);
    static const char *const wanted[] = {
        "tiles 5, ",
        "bytes, end event 4\n",
        "binding parameter \"weights\" [48,30], 4 slices, f8f143(s=-4) right",
        "step 1 exchange operation 2, 4 copies, ",
        "value 3 y:partials f16 left",
        "tile 3\n",
        " rows exchange 0: ",
        " temporary value 4 shard ",
        ", at b",
        " softly\n",
        "copy step 1: ",
    };
    for (size_t i = 0; i < COUNT_OF(wanted); i++)
        if (!strstr(text, wanted[i]))
            fail_msg("no \"%s\" in\n%s", wanted[i], text);
    free(text);
    lowered_free(&test);
    case_close(&test);
}

/* Eleven F16 columns on a tile are 22 bytes a row: no exchange carries half a word. */
static void test_cut_words(void **state) {
    (void)state;
    Graph *graph;
    uint32_t x, q;
    Shape shape = {2, {16, 32}};
    assert_int_equal(graph_create(&graph, NULL), STATUS_OK);
    assert_int_equal(graph_add_input(graph, "x", "x", f16, shape, &x, NULL), STATUS_OK);
    Precision f8 = {PRECISION_F8F143, 0};
    assert_int_equal(graph_add_cast(graph, "q", x, f8, &q, NULL), STATUS_OK);
    assert_int_equal(graph_add_output(graph, "q", q, NULL), STATUS_OK);
    PlanFormat formats[2] = {{.value = x}, {.value = q}};
    assert_int_equal(format_parse("f16 row_major standard tiles=0+3 replicas=1 axis1(parts=3)",
                                  &formats[0].format, NULL),
                     STATUS_OK);
    assert_int_equal(format_parse("f8f143(s=0) left standard tiles=0+1 replicas=1 axis1(block=32)",
                                  &formats[1].format, NULL),
                     STATUS_OK);
    PlanOptions options = {.tiles = 3, .formats = formats, .format_count = 2};
    PlanSearch search;
    assert_int_equal(plan_search(graph, &options, &search, NULL), STATUS_OK);
    assert_true(search.count > 0);
    Plan plan;
    TileGraph tiles;
    assert_int_equal(plan_build(&search, &search.candidates[0], &plan, NULL), STATUS_OK);
    assert_int_equal(lower_plan(graph, &plan, &tiles, NULL), ERR_LOWER_PIECE);
    tile_graph_free(&tiles);
    plan_free(&plan);
    plan_search_free(&search);
    graph_free(graph);
}

/* x lies on four tiles whole, where one product reads it. Of the eight that read rows of it for the
 * other one, four have theirs and four get them, each from another tile. */
static void test_many_copies(void **state) {
    (void)state;
    static const char text[] = "input %x \"x\" : f16[64,32]\n"
                               "parameter %u \"u\" : f16[32,64]\n"
                               "parameter %w \"w\" : f16[32,16]\n"
                               "%a = gemm %x, %u : f16[64,64]\n"
                               "%b = gemm %x, %w : f16[64,16]\n"
                               "output %a \"a\"\n"
                               "output %b \"b\"\n";
    Graph *graph;
    assert_int_equal(graph_parse(text, sizeof text - 1, "copies", &graph, NULL), STATUS_OK);
    const PlanForce forces[] = {{(char[]){"a"}, 1, 4, 1, false}, {(char[]){"b"}, 8, 1, 1, false}};
    PlanOptions options = {.tiles = 8, .forces = forces, .force_count = COUNT_OF(forces)};
    PlanSearch search;
    assert_int_equal(plan_search(graph, &options, &search, NULL), STATUS_OK);
    assert_true(search.count > 0);
    Plan plan;
    TileGraph tiles;
    assert_int_equal(plan_build(&search, &search.candidates[0], &plan, NULL), STATUS_OK);
    assert_int_equal(lower_plan(graph, &plan, &tiles, NULL), STATUS_OK);
    assert_int_equal(tiles.exchanges, 1);
    uint32_t words[8] = {0}, local = 0;
    for (size_t i = 0; i < tiles.copies.count; i++)
        words[tiles.buffers.items[tiles.copies.items[i].source.buffer].tile] +=
            tiles.copies.items[i].words;
    for (size_t i = 0; i < tiles.calls.count; i++)
        local += tiles.specs.items[tiles.calls.items[i].spec].family == KERNEL_COPY;
    for (int tile = 0; tile < 8; tile++)
        assert_int_equal(words[tile], tile < 4 ? 64 / 8 * 32 / 2 : 0);
    assert_true(local >= 4);
    tile_graph_free(&tiles);
    plan_free(&plan);
    plan_search_free(&search);
    graph_free(graph);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),     cmocka_unit_test(test_inner_parts),
        cmocka_unit_test(test_row_blocks), cmocka_unit_test(test_graphs),
        cmocka_unit_test(test_whole_chip), cmocka_unit_test(test_cut_words),
        cmocka_unit_test(test_text),       cmocka_unit_test(test_many_copies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
