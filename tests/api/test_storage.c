/* Storage of cast values, end to end: an F16 input that lies row-major or packed on some tiles is
 * cast on the chip to F143 in every packed order on others, as matrices and as batches of them;
 * every element is compared with a codec that knows only the definition of the numbers. */
#include "testing.h"

#include "base/random.h"
#include "chip/chip.h"
#include "compile/compile.h"
#include "num/f16.h"
#include "run/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
enum { FEW_ROUNDS = 60 };
#else
enum { FEW_ROUNDS = 240 };
#endif

static uint32_t below(Random *random, uint32_t bound) {
    return (uint32_t)random_below(random, bound);
}

/* ---- the codec: from the definition of both formats */

static double code_value(uint8_t code) {
    int exponent = code >> 3 & 15, mantissa = code & 7;
    double value = exponent ? ldexp(8 + mantissa, exponent - 11) : ldexp(mantissa, -10);
    return code & 0x80 ? -value : value;
}

static double half_value(uint16_t half) {
    int exponent = half >> 10 & 31, mantissa = half & 1023;
    double value = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
    return half & 0x8000 ? -value : value;
}

/* The nearest code, of two as near the even one; beyond the largest that one; no negative zero. */
static uint8_t nearest_code(uint16_t half, int scale) {
    if ((half & 0x7C00) == 0x7C00)
        return 0x80;
    double value = ldexp(fabs(half_value(half)), -scale);
    uint8_t best = 0;
    for (uint8_t code = 1; code < 0x80; code++) {
        double nearer = fabs(code_value(code) - value) - fabs(code_value(best) - value);
        if (nearer < 0 || (nearer == 0 && code % 2 == 0))
            best = code;
    }
    return half & 0x8000 && best ? best | 0x80 : best;
}

enum { LEAST_SCALE = -5, SCALES = 4 };
static uint8_t codes[SCALES][65536];

static int make_codes(void **state) {
    (void)state;
    for (int s = 0; s < SCALES; s++)
        for (uint32_t half = 0; half < 65536; half++)
            codes[s][half] = nearest_code((uint16_t)half, LEAST_SCALE + s);
    return 0;
}

/* ---- formats */

typedef struct Storage {
    Shape shape;
    Format source, target;
    PlanCastPolicy policy;
} Storage;

static bool inner_is_row(OrderKind kind) {
    return kind == ORDER_TRANSPOSED_LEFT || kind == ORDER_RIGHT || kind == ORDER_BLOCK;
}

static bool is_block(OrderKind kind) {
    return kind == ORDER_BLOCK || kind == ORDER_TRANSPOSED_BLOCK;
}

/* Deals an axis in units of `block`; shards end where padding to `padding` does. */
static void deal(Format *format, uint32_t axis, uint32_t parts, uint32_t block, uint32_t padding) {
    AxisTiling tiling = axis_tiling(axis, parts, block, format->tile_count);
    tiling.padding = padding;
    format->axes[format->axis_count++] = tiling;
    format->tile_count *= parts;
}

/* A packed order: panels along the inner axis, whole columns of 16 along the outer one where the
 * order wants them. */
static Format packed(Random *random, const Storage *storage, OrderKind kind, Precision precision,
                     uint32_t panel, uint32_t least) {
    const Shape *shape = &storage->shape;
    uint32_t rows = shape->rank - 2, columns = shape->rank - 1;
    uint32_t inner = inner_is_row(kind) ? rows : columns, outer = rows + columns - inner;
    uint32_t group = precision.kind == PRECISION_F16 ? 16 : 32;
    uint32_t grain = kind == ORDER_LEFT || kind == ORDER_TRANSPOSED_LEFT ? least : 16;
    Format format = {.precision = precision,
                     .order = {.kind = kind},
                     .first_tile = below(random, 6),
                     .tile_count = 1,
                     .replicas = 1};
    if (is_block(kind)) { /* the same blocks on both sides */
        format.order.inner_block = 32u << (shape->dims[inner] % 2);
        format.order.outer_block = 16;
        panel = group = format.order.inner_block;
    }
    deal(&format, inner, 1 + below(random, 4), panel, group);
    deal(&format, outer, 1 + below(random, 4), grain, grain);
    if (shape->rank == 3)
        deal(&format, 0, 1 + below(random, shape->dims[0]), 1, 1);
    return format;
}

/* Row-major pieces of whole words. */
static Format row_major(Random *random, const Storage *storage) {
    const Shape *shape = &storage->shape;
    Format format = {.precision = {PRECISION_F16, 0},
                     .order = {.kind = ORDER_ROW_MAJOR},
                     .first_tile = below(random, 6),
                     .tile_count = 1,
                     .replicas = 1};
    deal(&format, shape->rank - 1, 1 + below(random, 3), 4u << below(random, 4), 4);
    deal(&format, shape->rank - 2, 1 + below(random, 5), 1, 1);
    return format;
}

static const OrderKind targets[] = {ORDER_LEFT,  ORDER_TRANSPOSED_LEFT, ORDER_TRANSPOSED_RIGHT,
                                    ORDER_RIGHT, ORDER_BLOCK,           ORDER_TRANSPOSED_BLOCK};

/* Owners that have one shard each in both formats: no exchange is needed. */
static Format same_owners(const Storage *storage) {
    Format source = storage->target;
    source.precision = (Precision){PRECISION_F16, 0};
    if (!is_block(source.order.kind))
        source.axes[0].padding = 16;
    return source;
}

static Storage pick_storage(Random *random, OrderKind target, bool from_rows) {
    Storage storage = {.policy = (PlanCastPolicy)below(random, 3)};
    Shape *shape = &storage.shape;
    shape->rank = 2 + below(random, 2);
    if (shape->rank == 3)
        shape->dims[0] = 1 + below(random, 3);
    shape->dims[shape->rank - 2] = 1 + below(random, 120);
    shape->dims[shape->rank - 1] = from_rows ? 4 * (1 + below(random, 40)) : 1 + below(random, 150);
    Precision f8 = {PRECISION_F8F143, (int8_t)(LEAST_SCALE + (int)below(random, SCALES))};
    storage.target = packed(random, &storage, target, f8, 32, from_rows ? 4 : 1);
    if (below(random, 3) == 0) { /* multicast */
        storage.target.replicas = 2;
        storage.target.tile_count *= 2;
    }
    if (from_rows)
        storage.source = row_major(random, &storage);
    else if (below(random, 4) == 0)
        storage.source = same_owners(&storage);
    else
        storage.source = packed(random, &storage, target, (Precision){PRECISION_F16, 0},
                                below(random, 2) ? 16 : 32, 1);
    storage.source.memory_class = (MemoryClass)below(random, 2);
    return storage;
}

/* ---- compile and run */

static Graph *cast_graph(const Storage *storage) {
    Graph *graph;
    uint32_t x, q;
    assert_int_equal(graph_create(&graph, NULL), STATUS_OK);
    assert_int_equal(
        graph_add_input(graph, "x", "x", storage->source.precision, storage->shape, &x, NULL),
        STATUS_OK);
    assert_int_equal(graph_add_cast(graph, "q", x, storage->target.precision, &q, NULL), STATUS_OK);
    assert_int_equal(graph_add_output(graph, "q", q, NULL), STATUS_OK);
    return graph;
}

static void tell(const Storage *storage, const Diag *diag) {
    char text[SHAPE_TEXT_SIZE], *source = format_print(&storage->source),
                                *target = format_print(&storage->target);
    fprintf(stderr, "%s, policy %d\n  %s\n  %s\n", shape_print(&storage->shape, text),
            (int)storage->policy, source, target);
    diag_print(diag, stderr);
    mem_free(source);
    mem_free(target);
}

static void check_values(const Storage *storage, const Package *package, Random *random) {
    uint64_t count;
    shape_count(&storage->shape, &count);
    uint16_t *halves = mem_alloc(count, sizeof *halves);
    uint8_t *found = mem_alloc(count, 1);
    assert_true(halves && found);
    for (uint64_t i = 0; i < count; i++)
        halves[i] = (uint16_t)random_next(random);
    Device *device;
    RunResult result;
    Diag diag;
    diag_init(&diag);
    Status status = package_verify(package, &diag);
    if (status == STATUS_OK)
        status = run_open(package, NULL, NULL, &device, &diag);
    if (status == STATUS_OK)
        status = run_set(device, "x", RUN_CODES, halves, count, &diag);
    if (status == STATUS_OK)
        status = run_invoke(device, "run", &result, &diag);
    if (status == STATUS_OK)
        status = run_get(device, "q", RUN_CODES, found, count, &diag);
    if (status != STATUS_OK)
        tell(storage, &diag);
    assert_int_equal(status, STATUS_OK);
    const uint8_t *wanted = codes[storage->target.precision.scale_exponent - LEAST_SCALE];
    for (uint64_t i = 0; i < count; i++)
        if (found[i] != wanted[halves[i]]) {
            tell(storage, &diag);
            fail_msg("value %llu, half %04x, is %02x, not %02x", (unsigned long long)i, halves[i],
                     found[i], wanted[halves[i]]);
        }
    run_close(device);
    diag_free(&diag);
    mem_free(halves);
    mem_free(found);
}

typedef struct Tally {
    uint32_t cast, batched, exchanged, early, refused;
} Tally;

/* Nothing but the exchange, with what of its moves stays on a tile, stands beside the cast; before
 * it, where rows become columns, their packing. */
static void check_steps(const char *plan, bool turned, Tally *tally) {
    bool cast_seen = false;
    uint32_t casts = 0, exchanges = 0;
    for (const char *line = strstr(plan, "step "); line; line = strstr(line + 1, "\nstep ")) {
        line += *line == '\n';
        bool cast = strncmp(line, "step cast ", 10) == 0;
        bool exchange = strncmp(line, "step exchange ", 14) == 0;
        bool pack = turned && !cast_seen && strncmp(line, "step pack ", 10) == 0;
        assert_true(cast || exchange || pack || strncmp(line, "step local ", 11) == 0);
        tally->early += exchange && cast_seen;
        casts += cast;
        exchanges += exchange;
        cast_seen |= cast;
    }
    assert_true(casts == 1 && exchanges <= 1);
    tally->exchanged += exchanges;
}

static void check_storage(const Storage *storage, Random *random, Tally *tally) {
    Graph *graph = cast_graph(storage);
    PlanFormat formats[] = {{0, storage->source}, {1, storage->target}};
    CompileOptions options = {
        .plan = {.tiles = 256, .cast = storage->policy, .formats = formats, .format_count = 2},
        .producer = "test"};
    const void *parameters[] = {NULL, NULL};
    CompileResult result;
    Diag diag;
    diag_init(&diag);
    Status status = compile_graph(graph, parameters, &options, NULL, &result, &diag);
    /* Shards that end inside a panel, or whose rows are to become columns, cannot be cast where
     * they lie. */
    bool early = storage->policy == PLAN_CAST_EARLY;
    if (early && (status == ERR_PLAN_GRID || status == ERR_LOWER_PIECE)) {
        tally->refused++;
    } else if (status != STATUS_OK) {
        tell(storage, &diag);
        fail_msg("status %d", status);
    } else {
        bool turned = storage->source.order.kind == ORDER_ROW_MAJOR &&
                      inner_is_row(storage->target.order.kind);
        for (size_t i = 0; i < result.package->notes.count; i++)
            if (strcmp(result.package->notes.items[i].name, "plan") == 0)
                check_steps(result.package->notes.items[i].text, turned, tally);
        check_values(storage, result.package, random);
        tally->cast++;
        tally->batched += storage->shape.rank == 3 && storage->shape.dims[0] > 1;
        package_free(result.package);
    }
    diag_free(&diag);
    graph_free(graph);
}

static void test_storage(void **state) {
    (void)state;
    uint64_t seed = 70707;
    print_message("seed %llu\n", (unsigned long long)seed);
    Random random = random_seed(seed);
    uint32_t batched = 0, exchanged = 0;
    uint32_t rounds = getenv("TW_TEST_ALL") ? 1200 : FEW_ROUNDS;
    for (size_t t = 0; t < COUNT_OF(targets); t++)
        for (int from_rows = 0; from_rows < 2; from_rows++) {
            Tally tally = {0};
            uint32_t wanted = rounds / (2 * COUNT_OF(targets));
            for (uint32_t i = 0; i < wanted; i++) {
                Storage storage = pick_storage(&random, targets[t], from_rows);
                check_storage(&storage, &random, &tally);
            }
            print_message("order %d from %s: %u cast, %u batched, %u over the exchange, %u early; "
                          "%u refused\n",
                          (int)targets[t], from_rows ? "rows" : "panels", tally.cast, tally.batched,
                          tally.exchanged, tally.early, tally.refused);
            assert_true(3 * tally.cast >= wanted);
            batched += tally.batched;
            exchanged += tally.exchanged;
        }
    assert_true(batched > rounds / 8 && exchanged > rounds / 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_storage)};
    return cmocka_run_group_tests(tests, make_codes, NULL);
}
