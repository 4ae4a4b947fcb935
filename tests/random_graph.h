/* Random graphs for tests: chains of GEMM with transposes and leading axes, casts, broadcast sums,
 * GELU and repeats, in mixed precisions. Every value stays of the order of 1 on data D1. */
#pragma once

#include "testing.h"

#include "base/random.h"
#include "graph/graph.h"

#include <math.h>

typedef struct RandomGraphOptions {
    uint32_t most;  /* largest extent */
    double work;    /* multiply-adds of all products together, about */
    bool batched;   /* also GEMMs that multiply many pairs of matrices */
    uint32_t steps; /* at most, each a product, a sum, a GELU or a repeat; at least 1 */
} RandomGraphOptions;

typedef struct GraphMaker {
    Graph *graph;
    Random *random;
    const RandomGraphOptions *options;
    double work; /* left */
    uint32_t names;
    uint32_t value; /* the end of the chain */
    char name[32];
} GraphMaker;

static const Precision maker_f16 = {.kind = PRECISION_F16};

static inline bool maker_chance(GraphMaker *maker, uint32_t in) {
    return random_below(maker->random, in) == 0;
}

/* The next name with this beginning; valid until the next call. */
static inline const char *maker_name(GraphMaker *maker, const char *begin) {
    snprintf(maker->name, sizeof maker->name, "%s%u", begin, maker->names++);
    return maker->name;
}

/* 1 … most, small ones as often as large ones. */
static inline uint32_t maker_extent(GraphMaker *maker, double most) {
    static const uint32_t edges[] = {1, 15, 16, 17, 31, 32, 33};
    uint32_t edge = edges[random_below(maker->random, 7)];
    most = fmax(1, fmin(most, maker->options->most));
    if (maker_chance(maker, 4) && edge <= most)
        return edge;
    double share = (double)random_below(maker->random, 1001) / 1000;
    return (uint32_t)pow(most, share);
}

static inline const GraphValue *maker_value(const GraphMaker *maker) {
    return &maker->graph->values.items[maker->value];
}

static inline double maker_count(const Shape *shape) {
    double count = 1;
    for (uint32_t axis = 0; axis < shape->rank; axis++)
        count *= shape->dims[axis];
    return count;
}

static inline Precision maker_f8(GraphMaker *maker) {
    return (Precision){PRECISION_F8F143, (int8_t)(-4 - (int)random_below(maker->random, 3))};
}

static inline uint32_t maker_parameter(GraphMaker *maker, Precision precision, Shape shape) {
    uint32_t value;
    const char *name = maker_name(maker, "w");
    assert_int_equal(graph_add_parameter(maker->graph, name, name, precision, shape, &value, NULL),
                     STATUS_OK);
    return value;
}

/* F16 values may be cast for the product. */
static inline void maker_cast(GraphMaker *maker, uint32_t one_in) {
    if (maker_value(maker)->precision.kind == PRECISION_F16 && maker_chance(maker, one_in))
        assert_int_equal(graph_add_cast(maker->graph, maker_name(maker, "c"), maker->value,
                                        maker_f8(maker), &maker->value, NULL),
                         STATUS_OK);
}

/* The shape of a weight that has `a` and `b` as its last extents, in leading axes like those of the
 * value, some of them 1, if it is to be batched. */
static inline Shape maker_weight_shape(GraphMaker *maker, uint32_t a, uint32_t b, bool batched) {
    const Shape *value = &maker_value(maker)->shape;
    Shape shape = {0};
    for (uint32_t axis = 0; batched && axis + 2 < value->rank; axis++)
        shape.dims[shape.rank++] = maker_chance(maker, 3) ? 1 : value->dims[axis];
    shape.dims[shape.rank++] = a;
    shape.dims[shape.rank++] = b;
    return shape;
}

/* A product with a new weight. */
static inline void maker_gemm(GraphMaker *maker) {
    maker_cast(maker, 2);
    Precision precision = maker_value(maker)->precision;
    if (precision.kind == PRECISION_F8F143)
        precision = maker_f8(maker);
    Shape shape = maker_value(maker)->shape;
    double matrices = maker_count(&shape) / shape.dims[shape.rank - 1] / shape.dims[shape.rank - 2];
    bool batched = maker->options->batched, lone = matrices == 1;
    bool is_left = !(lone || batched) || random_below(maker->random, 4) != 0;
    bool transposed = (lone || batched) && maker_chance(maker, 3);
    /* The value's inner extent is its last one as a left operand, unless it is transposed. */
    bool last = is_left != transposed;
    uint32_t inner = shape.dims[shape.rank - (last ? 1 : 2)];
    uint32_t other = shape.dims[shape.rank - (last ? 2 : 1)];
    double rest = maker->work / matrices / inner / other;
    uint32_t free_extent = maker_extent(maker, rest / 2);
    maker->work -= matrices * inner * (double)other * free_extent;
    bool flip = maker_chance(maker, 2); /* the weight is stored transposed */
    bool weight_first_is_inner = is_left != flip;
    Shape weight_shape = maker_weight_shape(maker, weight_first_is_inner ? inner : free_extent,
                                            weight_first_is_inner ? free_extent : inner,
                                            batched && maker_chance(maker, 2));
    uint32_t weight = maker_parameter(maker, precision, weight_shape);
    uint32_t left = is_left ? maker->value : weight, right = is_left ? weight : maker->value;
    assert_int_equal(graph_add_gemm(maker->graph, maker_name(maker, "p"), left, right,
                                    is_left ? transposed : flip, is_left ? flip : transposed,
                                    &maker->value, NULL),
                     STATUS_OK);
}

/* A sum with a value that has some of the shape's axes. */
static inline void maker_add(GraphMaker *maker) {
    Shape shape = maker_value(maker)->shape, operand = {0};
    if (maker_value(maker)->precision.kind != PRECISION_F16)
        return;
    uint32_t form = (uint32_t)random_below(maker->random, 5);
    uint32_t skip = form == 0 ? shape.rank - 1 : form == 1 ? shape.rank - 2 : 0;
    for (uint32_t axis = skip; axis < shape.rank; axis++)
        operand.dims[operand.rank++] = shape.dims[axis];
    if (form == 2) /* [M,1] */
        operand.dims[operand.rank - 1] = 1;
    if (form == 3) /* [...,1,N] */
        operand.dims[operand.rank - 2] = 1;
    uint32_t other = maker_parameter(maker, maker_f16, operand);
    bool swap = maker_chance(maker, 2);
    assert_int_equal(graph_add_add(maker->graph, maker_name(maker, "s"),
                                   swap ? other : maker->value, swap ? maker->value : other,
                                   &maker->value, NULL),
                     STATUS_OK);
}

static inline void maker_gelu(GraphMaker *maker) {
    if (maker_value(maker)->precision.kind == PRECISION_F16)
        assert_int_equal(
            graph_add_gelu(maker->graph, maker_name(maker, "g"), maker->value, &maker->value, NULL),
            STATUS_OK);
}

/* The body of a repeat over h [...,N]: product with an iterated [N,N], then by chance bias, GELU,
 * and the carried value again. Returns whether it has the bias, which is invariant. */
static inline bool maker_body(GraphMaker *maker, Graph *body, Precision precision) {
    Shape shape = maker_value(maker)->shape;
    uint32_t columns = shape.dims[shape.rank - 1], h, bias = 0, weight, value;
    bool biased = maker_chance(maker, 2);
    assert_int_equal(graph_add_argument(body, "h", GRAPH_CARRIED, maker_f16, shape, &h, NULL),
                     STATUS_OK);
    if (biased)
        assert_int_equal(graph_add_argument(body, "bias", GRAPH_INVARIANT, maker_f16,
                                            (Shape){.rank = 1, .dims = {columns}}, &bias, NULL),
                         STATUS_OK);
    assert_int_equal(graph_add_argument(body, "w", GRAPH_ITERATED, precision,
                                        (Shape){.rank = 2, .dims = {columns, columns}}, &weight,
                                        NULL),
                     STATUS_OK);
    value = h;
    if (precision.kind == PRECISION_F8F143)
        assert_int_equal(graph_add_cast(body, "c", value, maker_f8(maker), &value, NULL),
                         STATUS_OK);
    assert_int_equal(
        graph_add_gemm(body, "p", value, weight, false, maker_chance(maker, 2), &value, NULL),
        STATUS_OK);
    if (biased)
        assert_int_equal(graph_add_add(body, "b", value, bias, &value, NULL), STATUS_OK);
    if (maker_chance(maker, 2))
        assert_int_equal(graph_add_gelu(body, "g", value, &value, NULL), STATUS_OK);
    if (maker_chance(maker, 2))
        assert_int_equal(graph_add_add(body, "r", value, h, &value, NULL), STATUS_OK);
    assert_int_equal(graph_add_yield(body, &value, 1, NULL), STATUS_OK);
    return biased;
}

static inline void maker_repeat(GraphMaker *maker) {
    Shape shape = maker_value(maker)->shape;
    uint32_t columns = shape.dims[shape.rank - 1], operands[5], count = 0;
    uint32_t times = 2 + (uint32_t)random_below(maker->random, 2);
    double work = times * maker_count(&shape) * columns;
    if (maker_value(maker)->precision.kind != PRECISION_F16 || work > maker->work)
        return;
    maker->work -= work;
    Precision precision = maker_chance(maker, 2) ? maker_f16 : maker_f8(maker);
    Graph *body;
    assert_int_equal(graph_create_body(&body, NULL), STATUS_OK);
    operands[count++] = maker->value;
    if (maker_body(maker, body, precision))
        operands[count++] =
            maker_parameter(maker, maker_f16, (Shape){.rank = 1, .dims = {columns}});
    for (uint32_t i = 0; i < times; i++)
        operands[count++] =
            maker_parameter(maker, precision, (Shape){.rank = 2, .dims = {columns, columns}});
    char name[32];
    snprintf(name, sizeof name, "%s", maker_name(maker, "h"));
    assert_int_equal(graph_add_repeat(maker->graph, (const char *[]){name}, times, body, operands,
                                      count, &maker->value, NULL),
                     STATUS_OK);
}

/* A graph that graph_check accepts; its last output is called "y". */
static inline Graph *random_graph(Random *random, const RandomGraphOptions *options) {
    GraphMaker maker = {.random = random, .options = options, .work = options->work};
    assert_int_equal(graph_create(&maker.graph, NULL), STATUS_OK);
    Shape shape = {0};
    if (maker_chance(&maker, 3))
        shape.dims[shape.rank++] = 1 + (uint32_t)random_below(random, 4);
    if (maker_chance(&maker, 6))
        shape.dims[shape.rank++] = 1 + (uint32_t)random_below(random, 3);
    shape.dims[shape.rank++] = maker_extent(&maker, options->most);
    shape.dims[shape.rank++] = maker_extent(&maker, options->work / 4 / maker_count(&shape));
    Precision precision = maker_chance(&maker, 2) ? maker_f16 : maker_f8(&maker);
    assert_int_equal(graph_add_input(maker.graph, "x", "x", precision, shape, &maker.value, NULL),
                     STATUS_OK);
    maker_gemm(&maker);
    for (uint32_t i = (uint32_t)random_below(random, options->steps); i > 0; i--) {
        switch (random_below(random, 5)) {
        case 0: maker_add(&maker); break;
        case 1: maker_gelu(&maker); break;
        case 2: maker_repeat(&maker); break;
        default: maker_gemm(&maker); break;
        }
        if (maker_chance(&maker, 8)) {
            const char *name = maker_name(&maker, "o");
            assert_int_equal(graph_add_output(maker.graph, name, maker.value, NULL), STATUS_OK);
        }
    }
    maker_cast(&maker, 6);
    assert_int_equal(graph_add_output(maker.graph, "y", maker.value, NULL), STATUS_OK);
    Diag diag = {0};
    if (graph_check(maker.graph, &diag)) {
        diag_print(&diag, stderr);
        fail();
    }
    return maker.graph;
}

/* Bytes of one copy of the largest set of values of an expanded graph that are live together:
 * parameters always, inputs from the start, outputs to the end. */
static inline uint64_t random_graph_live(const Graph *graph) {
    uint64_t most = 0;
    uint32_t *last = mem_alloc(graph->values.count, sizeof *last);
    for (uint32_t i = 0; i < graph->ops.count; i++) {
        const GraphOp *op = &graph->ops.items[i];
        uint32_t end = op->kind == GRAPH_OUTPUT ? (uint32_t)graph->ops.count : i;
        for (uint32_t k = 0; k < op->operand_count; k++)
            last[op->operands[k]] = MAX_OF(last[op->operands[k]], end);
    }
    for (uint32_t i = 0; i < graph->ops.count; i++) {
        uint64_t live = 0;
        for (uint32_t v = 0; v < graph->values.count; v++) {
            const GraphValue *value = &graph->values.items[v];
            GraphOpKind kind = graph->ops.items[value->op].kind;
            bool begun = value->op <= i || kind == GRAPH_INPUT || kind == GRAPH_PARAMETER;
            uint64_t count;
            shape_count(&value->shape, &count);
            if (begun && (last[v] >= i || kind == GRAPH_PARAMETER))
                live += count * precision_bytes(value->precision);
        }
        most = live > most ? live : most;
    }
    mem_free(last);
    return most;
}
