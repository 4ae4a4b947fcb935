/* The catalogue of the published planner (ipu-stack), enumerated by its own rules, against ours on
 * the shapes of SigLIP: every grid of it is a choice of the search or surely costs more, no plan of
 * its grids is priced below the chosen one, and the bindings of published builds come out. */
#include "testing.h"

#include "chip/chip.h"
#include "plan/joint.h"

#include <string.h>

enum { TOKENS = 729, WIDTH = 1152, HIDDEN = 4304, QKV = 3456 };

static const Precision f16 = {PRECISION_F16, 0}, f8 = {PRECISION_F8F143, -4};

/* ---- its grids */

typedef struct Extents {
    uint32_t rows, inner, columns, group;
} Extents;

typedef VEC(GemmChoice) Grids;

static Extents extents_of(uint32_t inner, uint32_t columns, Precision precision) {
    return (Extents){TOKENS, inner, columns, precision_group(precision)};
}

/* Does a part fit as its generator sees it: operands, F16 partials, and room to add these up? */
static bool fits(const Extents *p, uint32_t r, uint32_t c, uint32_t k) {
    enum { PLANNED_BYTES = 586960, PAIRED_BYTES = 424880 };
    uint64_t rows = div_up(p->rows, r), columns = div_up(div_up(p->columns, 16), c) * 16;
    uint64_t row_bytes = 32 * div_up(p->inner / p->group, k); /* of an operand's line */
    uint64_t partial = rows * columns * 2;
    return MAX_OF((rows + columns) * row_bytes + partial, 4 * partial) < PLANNED_BYTES &&
           columns * row_bytes + partial <= PAIRED_BYTES;
}

static void add_grid(Grids *grids, uint32_t r, uint32_t c, uint32_t k, bool swapped) {
    GemmChoice grid = {.rows = r, .columns = c, .inner = k, .swapped = swapped};
    assert_true(vec_push(grids, grid));
}

/* Parallel reduction: all cuts of the inner dimension in two or more, on about all tiles. */
static void add_reductions(Extents p, bool swapped, Grids *grids) {
    const uint32_t tiles = CHIP_TILES;
    if (swapped)
        p = (Extents){p.columns, p.inner, p.rows, p.group};
    uint32_t groups = (uint32_t)div_up(p.inner, p.group);
    for (uint32_t k = 2; k <= MIN_OF(p.inner / p.group, tiles); k++)
        for (uint32_t c = 1; c <= MIN_OF((uint32_t)div_up(p.columns, 16), tiles / k); c++) {
            uint32_t r = MIN_OF(tiles / k / c, p.rows);
            bool empty = (k - 1) * div_up(groups, k) >= groups;
            if (r * c * k >= tiles / 2 && !empty && fits(&p, r, c, k))
                add_grid(grids, r, c, k, swapped);
        }
}

/* Output-stationary: on all tiles, on powers of two, and on multiples of an extent. */
static void add_stationary(const Extents *p, Grids *grids) {
    uint32_t counts[16] = {CHIP_TILES}, count = 1;
    const uint32_t dims[] = {p->rows, p->inner, p->columns};
    for (uint32_t tiles = 1024; tiles > 0; tiles /= 2)
        counts[count++] = tiles;
    for (size_t i = 0; i < COUNT_OF(dims); i++)
        if (dims[i] <= CHIP_TILES && CHIP_TILES / dims[i] * dims[i] >= CHIP_TILES / 2)
            counts[count++] = CHIP_TILES / dims[i] * dims[i];
    assert_int_equal(count, p->columns <= CHIP_TILES || p->inner <= CHIP_TILES ? 14 : 13);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t c = 1; c <= counts[i]; c++)
            if (counts[i] % c == 0 && c <= div_up(p->columns, 16) && counts[i] / c <= p->rows)
                add_grid(grids, counts[i] / c, c, 1, false);
}

static Grids catalogue(uint32_t inner, uint32_t columns, Precision precision) {
    Grids grids = {0};
    Extents p = extents_of(inner, columns, precision);
    add_reductions(p, false, &grids);
    add_reductions(p, true, &grids);
    add_stationary(&p, &grids); /* published for F16 only */
    return grids;
}

/* Published counts of generated grids: F16 normal and swapped, FP8 normal and swapped. */
static void test_counts(void **state) {
    (void)state;
    static const struct {
        uint32_t inner, columns, counts[4];
    } cases[] = {{WIDTH, HIDDEN, {2279, 570, 1848, 408}},
                 {HIDDEN, WIDTH, {1693, 1171, 1345, 910}},
                 {WIDTH, QKV, {2109, 579, 1636, 415}}};
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (int kind = 0; kind < 4; kind++) {
            Grids grids = {0};
            Precision precision = kind < 2 ? f16 : f8;
            add_reductions(extents_of(cases[i].inner, cases[i].columns, precision), kind % 2,
                           &grids);
            assert_int_equal(grids.count, cases[i].counts[kind]);
            vec_free(&grids);
        }
}

/* ---- contained */

/* The fewest parts that make the largest one no larger. */
static uint32_t fewest(uint32_t extent, uint32_t parts) {
    return (uint32_t)div_up(extent, div_up(extent, parts));
}

/* Is the grid a choice of the search, or one of fewer parts that are as large? */
static bool is_contained(const PlanSearch *search, const PlanGemm *gemm, const GemmChoice *grid) {
    GemmExtents whole = gemm_extents(gemm, grid->swapped);
    for (size_t i = 0; i < search->count; i++) {
        const GemmChoice *found = &search->candidates[i].gemm;
        if (found->inner == grid->inner && found->swapped == grid->swapped &&
            (found->rows == grid->rows || found->rows == fewest(whole.rows, grid->rows)) &&
            (found->columns == grid->columns ||
             found->columns == fewest(whole.groups, grid->columns)))
            return true;
    }
    return false;
}

/* Every grid is a candidate, and priced no lower than the chosen one; or its product alone costs
 * more than that, or is too large for a tile. */
static void check_contained(uint32_t inner, uint32_t columns, Precision precision) {
    Graph *graph;
    PlanOptions options = {.tiles = CHIP_TILES};
    PlanSearch search;
    PlanTask task;
    assert_int_equal(graph_build_gemm(&graph, TOKENS, inner, columns, precision, NULL), STATUS_OK);
    assert_int_equal(plan_search(graph, &options, &search, NULL), STATUS_OK);
    assert_int_equal(task_find(graph, &options, &task, NULL), STATUS_OK);
    PriceTable *table = price_table_create();
    Grids grids = catalogue(inner, columns, precision);
    uint64_t best = search.candidates[0].cycles;
    uint32_t near = 0;
    for (size_t i = 0; i < grids.count; i++) {
        GemmChoice *grid = &grids.items[i];
        grid->weights = MEMORY_INTERLEAVED;
        assert_int_equal(gemm_check_choice(&task.gemm, grid, CHIP_TILES, NULL), STATUS_OK);
        uint64_t cycles = price_gemm(&task.gemm, grid, table);
        if (cycles == 0 || cycles > best * PLAN_MARGIN_PERCENT / 100)
            continue;
        near++;
        if (!is_contained(&search, &task.gemm, grid))
            fail_msg("%u x %u x %u%s is left out", grid->rows, grid->columns, grid->inner,
                     grid->swapped ? ", swapped" : "");
    }
    assert_true(near > 0);
    vec_free(&grids);
    price_table_free(table);
    task_free(&task);
    plan_search_free(&search);
    graph_free(graph);
}

static void test_contained(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        Precision precision = i == 0 ? f8 : f16;
        check_contained(WIDTH, HIDDEN, precision);
        check_contained(HIDDEN, WIDTH, precision);
        check_contained(WIDTH, QKV, precision);
    }
}

/* ---- whole plans */

/* What a product with this grid costs at least, with the sum of its partials and, behind it, GELU
 * at a rate that no kernel reaches. */
static uint64_t least_cycles(const PlanGemm *gemm, GemmChoice grid, bool gelu, PriceTable *table) {
    enum { GELU_CYCLES = 3, PER_VALUES = 2 };
    uint64_t least = UINT64_MAX;
    grid.weights = MEMORY_INTERLEAVED;
    grid.wide_sum = grid.inner > 1;
    for (grid.owner_rows = 1; grid.owner_rows <= grid.inner; grid.owner_rows++) {
        grid.owner_columns = grid.inner / grid.owner_rows;
        GemmExtents part = gemm_part(gemm, &grid);
        if (grid.inner % grid.owner_rows != 0 || grid.owner_rows > part.rows ||
            grid.owner_columns > part.groups)
            continue;
        GemmExtents block = gemm_owner_block(gemm, &grid);
        uint64_t values = (uint64_t)block.rows * block.groups * COEFFICIENT_COLUMNS;
        uint64_t cycles = gelu ? values * GELU_CYCLES / PER_VALUES : 0;
        if (grid.inner > 1) {
            ExchangeLoad load = {0};
            load_add_sum(&load, gemm, &grid);
            cycles += price_exchange(&load) + price_sum(gemm, &grid, table);
        }
        least = MIN_OF(least, cycles);
    }
    grid.owner_rows = grid.owner_columns = 1;
    uint64_t product = price_gemm(gemm, &grid, table);
    return product == 0 || least == UINT64_MAX ? UINT64_MAX / 2 : product + least;
}

/* Cycles of the best plan with both grids forced that may fit, UINT64_MAX if there is none. */
static uint64_t forced_cycles(const Graph *graph, const GemmChoice *up, const GemmChoice *down) {
    PlanForce forces[] = {
        {(char[]){"up"}, up->rows, up->columns, up->inner, up->swapped},
        {(char[]){"down"}, down->rows, down->columns, down->inner, down->swapped},
    };
    PlanOptions options = {.tiles = CHIP_TILES, .forces = forces, .force_count = 2};
    PlanSearch search;
    assert_int_equal(plan_search(graph, &options, &search, NULL), STATUS_OK);
    bool any = search.count > 0 &&
               search.candidates[0].tile_bytes <= CHIP_TILE_MEM_SIZE - CHIP_SUPPORT_RESERVE_BYTES;
    uint64_t cycles = any ? search.candidates[0].cycles : UINT64_MAX;
    plan_search_free(&search);
    return cycles;
}

/* All pairs of grids: most are proved to cost more by parts of them alone, the others are priced
 * whole. */
static void test_pairs(void **state) {
    (void)state;
    GraphMlp mlp = {TOKENS, WIDTH, HIDDEN, 1, 1, .operand = f8};
    Graph *graph;
    PlanOptions options = {.tiles = CHIP_TILES};
    PlanSearch search;
    assert_int_equal(graph_build_mlp(&graph, &mlp, NULL), STATUS_OK);
    assert_int_equal(plan_search(graph, &options, &search, NULL), STATUS_OK);
    assert_int_equal(search.product_count, 2);
    uint64_t best = search.candidates[0].cycles;
    assert_true(best <= 62000);
    Grids grids[2] = {catalogue(WIDTH, HIDDEN, f8), catalogue(HIDDEN, WIDTH, f8)};
    uint64_t *least[2];
    PriceTable *table = price_table_create();
    for (int i = 0; i < 2; i++) {
        PlanGemm gemm = gemm_describe(graph, search.products[i].op);
        least[i] = mem_alloc(grids[i].count, sizeof *least[i]);
        assert_non_null(least[i]);
        for (size_t k = 0; k < grids[i].count; k++)
            least[i][k] = least_cycles(&gemm, grids[i].items[k], i == 0, table);
    }
    uint32_t priced = 0;
    for (size_t u = 0; u < grids[0].count; u++)
        for (size_t d = 0; d < grids[1].count; d++) {
            if (least[0][u] + least[1][d] > best)
                continue;
            priced++;
            assert_true(forced_cycles(graph, &grids[0].items[u], &grids[1].items[d]) >= best);
        }
    print_message("%zu pairs, %u of them priced whole\n", grids[0].count * grids[1].count, priced);
    /* The published finalist, as far as its grids are known, and others of its kind. */
    static const GemmChoice seed = {.rows = 1, .columns = 269, .inner = 5};
    static const uint32_t parts[] = {27, 15, 9, 5};
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        GemmChoice down = {.rows = CHIP_TILES / 72 / parts[i], .columns = 72, .inner = parts[i]};
        down.rows = MAX_OF(down.rows, 1U);
        down.columns = MIN_OF(down.columns, CHIP_TILES / parts[i]);
        assert_true(forced_cycles(graph, &seed, &down) > best);
    }
    for (int i = 0; i < 2; i++) {
        mem_free(least[i]);
        vec_free(&grids[i]);
    }
    price_table_free(table);
    plan_search_free(&search);
    graph_free(graph);
}

/* ---- bindings of published builds */

static void check_bytes(uint32_t inner, uint32_t columns, Precision precision, const char *grid,
                        uint64_t input, uint64_t weights) {
    Graph *graph;
    PlanForce force;
    PlanSearch search;
    Plan plan;
    assert_int_equal(graph_build_gemm(&graph, TOKENS, inner, columns, precision, NULL), STATUS_OK);
    assert_int_equal(plan_force_parse(grid, &force, NULL), STATUS_OK);
    PlanOptions options = {.tiles = CHIP_TILES, .forces = &force, .force_count = 1};
    assert_int_equal(plan_search(graph, &options, &search, NULL), STATUS_OK);
    assert_int_equal(plan_build(&search, &search.candidates[0], &plan, NULL), STATUS_OK);
    if (input > 0)
        assert_true(plan.values[0].total_bytes == input);
    assert_true(plan.values[1].total_bytes == weights);
    plan_free(&plan);
    plan_search_free(&search);
    mem_free(force.operation);
    graph_free(graph);
}

static void test_bindings(void **state) {
    (void)state;
    check_bytes(WIDTH, QKV, f8, "gemm=16,46,2,swapped", 736 * 1152 * 16, 183140352);
    check_bytes(WIDTH, QKV, f16, "gemm=16,46,2,swapped", 27131904, 366280704);
    check_bytes(WIDTH, HIDDEN, f8, "gemm=1,269,5", 225908352, 4958208);
    check_bytes(HIDDEN, WIDTH, f8, "gemm=1,72,15", 0, 4976640);
    check_bytes(WIDTH, HIDDEN, f16, "gemm=9,30,5", UINT64_C(729) * 1152 * 2 * 30,
                9 * UINT64_C(2) * 4958208);
}

/* The grid of the published finalist in the whole graph: nothing is padded but the hidden units,
 * and half panels of 729 rows let it fit where an operand staged in F16 would not. */
static void test_one_row_grid(void **state) {
    (void)state;
    GraphMlp mlp = {TOKENS, WIDTH, HIDDEN, 1, 1, .operand = f8};
    PlanForce forces[] = {{(char[]){"up"}, 1, 269, 5, false}, {(char[]){"down"}, 1, 72, 15, false}};
    PlanOptions options = {.tiles = CHIP_TILES, .forces = forces, .force_count = 2};
    Graph *graph;
    PlanSearch search;
    Plan plan;
    assert_int_equal(graph_build_mlp(&graph, &mlp, NULL), STATUS_OK);
    assert_int_equal(plan_search(graph, &options, &search, NULL), STATUS_OK);
    assert_true(search.candidates[0].tile_bytes < 256 * 1024);
    assert_int_equal(plan_build(&search, &search.candidates[0], &plan, NULL), STATUS_OK);
    static const struct {
        const char *name;
        uint64_t bytes;
    } wanted[] = {{"x", 225908352},
                  {"block0.up.weight", 4958208},
                  {"block0.down.weight", 4976640},
                  {"act.cast", 729 * 4304},
                  {"act.cast:moved", UINT64_C(72) * 729 * 4304}};
    size_t found = 0;
    for (uint32_t v = 0; v < plan.value_count; v++) {
        if (plan.values[v].format.tile_count == 0)
            continue; /* not stored */
        char *name = plan_value_name(graph, &plan, v);
        for (size_t i = 0; i < COUNT_OF(wanted); i++)
            if (strcmp(name, wanted[i].name) == 0) {
                assert_true(plan.values[v].total_bytes == wanted[i].bytes);
                found++;
            }
        mem_free(name);
    }
    assert_int_equal(found, COUNT_OF(wanted));
    plan_free(&plan);
    plan_search_free(&search);
    graph_free(graph);
}

/* ---- casts */

/* Published for 128 x 128 x 512 on 64 tiles, cast early: 65,536 values, 1,024 a tile, before the
 * exchange, the longest cast 1,260 cycles. Ours is part of GELU; that it costs no more beside GELU
 * alone. */
static void test_early_cast(void **state) {
    (void)state;
    GraphMlp mlp = {128, 128, 512, 1, 1, .operand = f8};
    PlanOptions options = {.tiles = 64, .cast = PLAN_CAST_EARLY};
    Graph *graph;
    PlanSearch search;
    Plan plan;
    assert_int_equal(graph_build_mlp(&graph, &mlp, NULL), STATUS_OK);
    assert_int_equal(plan_search(graph, &options, &search, NULL), STATUS_OK);
    assert_int_equal(plan_build(&search, &search.candidates[0], &plan, NULL), STATUS_OK);
    const PlanStep *cast = NULL, *moved = NULL;
    for (uint32_t s = 0; s < plan.step_count; s++) {
        const PlanStep *step = &plan.steps[s];
        if (step->kind == PLAN_EXCHANGE && !moved)
            moved = step;
        if (step->target == PLAN_NONE)
            continue;
        const PlanValue *target = &plan.values[step->target];
        if (target->format.precision.kind != PRECISION_F8F143)
            continue;
        assert_null(cast);
        cast = step;
        assert_true(target->total_bytes == 65536 && target->widest_bytes == 1024);
        assert_int_equal(target->format.tile_count, 64);
    }
    assert_true(cast && moved && cast < moved);
    assert_int_equal(plan.moves[moved->first_move].source, cast->target);
    KernelSpec alone;
    const PlanValue *source = &plan.values[cast->sources[0]];
    Shard shard;
    format_shard(&source->format, &source->shape, 0, &shard);
    assert_true(point_gelu(&shard.layout, &shard.layout, PRECISION_F16, POINT_NONE, &alone));
    assert_true(cast->cycles <= kernel_cycles(&alone, 0) + 1260);
    KernelSpec linear = {.family = KERNEL_CAST, .cast = {.order = CAST_LINEAR, .count = 1024}};
    assert_true(kernel_cycles(&linear, 0) <= 1260);
    plan_free(&plan);
    plan_search_free(&search);
    graph_free(graph);
}

/* F16 values that the next product wants along the other axis turn in the GELU that makes them. */
static void test_gelu_turns(void **state) {
    (void)state;
    GraphMlp mlp = {48, 96, 128, 1, 1, .operand = f16};
    PlanForce forces[] = {{(char[]){"up"}, 4, 3, 1, true}, {(char[]){"down"}, 6, 3, 1, true}};
    PlanOptions options = {.tiles = 18, .forces = forces, .force_count = 2};
    for (int bias = 0; bias < 2; bias++) {
        Graph *made, *graph;
        PlanSearch search;
        Plan plan;
        mlp.bias = bias;
        assert_int_equal(graph_build_mlp(&made, &mlp, NULL), STATUS_OK);
        assert_int_equal(graph_expand(made, &graph, NULL), STATUS_OK);
        assert_int_equal(plan_search(graph, &options, &search, NULL), STATUS_OK);
        assert_int_equal(plan_build(&search, &search.candidates[0], &plan, NULL), STATUS_OK);
        uint32_t turned = 0;
        for (uint32_t s = 0; s < plan.step_count; s++) {
            const PlanStep *step = &plan.steps[s];
            assert_true(step->kind != PLAN_TURN);
            if (step->kind != PLAN_POINT || graph->ops.items[step->op].kind != GRAPH_GELU)
                continue;
            turned++;
            assert_int_equal(plan.values[step->target].format.order.kind, ORDER_TRANSPOSED_RIGHT);
            PlanCall call;
            plan_call(graph, &plan, step, 0, 0, &call);
            assert_int_equal(call.spec.gelu.turn, KERNEL_TURN_RIGHT);
            assert_int_equal(call.spec.gelu.bias, bias ? KERNEL_BIAS_ROWS : KERNEL_BIAS_NONE);
        }
        assert_int_equal(turned, 1);
        plan_free(&plan);
        plan_search_free(&search);
        graph_free(graph);
        graph_free(made);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),       cmocka_unit_test(test_contained),
        cmocka_unit_test(test_pairs),        cmocka_unit_test(test_bindings),
        cmocka_unit_test(test_one_row_grid), cmocka_unit_test(test_early_cast),
        cmocka_unit_test(test_gelu_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
