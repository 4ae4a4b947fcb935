/* Repeats unrolled, casts merged, dead operations dropped, values made matrices. */
#include "graph/internal.h"

#include <string.h>

/* Operations and iterations, at most: far more than any chip's memory has programs for, few enough
 * to be unrolled at once. */
enum { MOST_UNROLLED = 1 << 16 };

/* Of a body, by its operations: what each became in its first iteration, and the bodies in it. */
typedef struct Unrolled {
    uint32_t *first;
    struct Unrolled **bodies;
} Unrolled;

typedef struct Expansion {
    const Graph *source;
    Graph *out;
    StrMap *casts; /* "OPERAND:SCALE" → value */
    Arena arena;   /* of the maps below */
    uint32_t unrolled;
    Diag *diag;
} Expansion;

/* One level of the source, in one iteration. */
typedef struct Level {
    const Graph *graph;
    uint32_t *map;      /* value → value of the expanded graph */
    Unrolled *unrolled; /* NULL outside of repeats */
    const char *prefix; /* name of the repeat's first result */
    const char *suffix; /* ".0.2" */
} Level;

static Status no_memory(Diag *diag) {
    return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory left for the graph");
}

/* A name for the value of a body that nothing in either graph has; NULL without memory. */
static const char *fresh_name(Expansion *expansion, const Level *level, const char *name) {
    uint64_t value;
    for (;;) {
        char *full = arena_printf(&expansion->arena, "%s%s", name, level->suffix);
        if (!full || (!strmap_get(expansion->out->value_names, full, &value) &&
                      !strmap_get(expansion->source->value_names, full, &value)))
            return full;
        name = arena_printf(&expansion->arena, "%s.%s", level->prefix, name);
        if (!name)
            return NULL;
    }
}

/* Adds the same operation with one result, or an output, to another graph. */
Status graph_add_same(Graph *out, const Graph *from, const GraphOp *op, const char *name,
                      const uint32_t *operands, uint32_t *value, Diag *diag) {
    const GraphValue *result = op->result == GRAPH_NONE ? NULL : &from->values.items[op->result];
    out->place = (DiagPlace){.file = out->file, .line = op->line, .tile = -1};
    switch (op->kind) {
    case GRAPH_INPUT:
        return graph_add_input(out, name, op->name, result->precision, result->logical, value,
                               diag);
    case GRAPH_PARAMETER:
        return graph_add_parameter(out, name, op->name, result->precision, result->logical, value,
                                   diag);
    case GRAPH_GEMM:
        return graph_add_gemm(out, name, operands[0], operands[1], op->transpose_left,
                              op->transpose_right, value, diag);
    case GRAPH_CAST: return graph_add_cast(out, name, operands[0], result->precision, value, diag);
    case GRAPH_GELU: return graph_add_gelu(out, name, operands[0], value, diag);
    case GRAPH_ADD: return graph_add_add(out, name, operands[0], operands[1], value, diag);
    default: return graph_add_output(out, op->name, operands[0], diag);
    }
}

/* An operation that is no repeat and belongs to none's frame. */
static Status expand_op(Expansion *expansion, Level *level, uint32_t index) {
    const GraphOp *op = &level->graph->ops.items[index];
    Graph *out = expansion->out;
    uint32_t operands[2] = {0}, value = GRAPH_NONE, number = (uint32_t)out->ops.count;
    for (uint32_t i = 0; i < op->operand_count; i++)
        operands[i] = level->map[op->operands[i]];
    char cast[32] = "";
    uint64_t same;
    if (op->kind == GRAPH_CAST) {
        const GraphValue *result = &level->graph->values.items[op->result];
        snprintf(cast, sizeof cast, "%u:%d", operands[0], result->precision.scale_exponent);
        if (strmap_get(expansion->casts, cast, &same)) {
            level->map[op->result] = (uint32_t)same;
            return STATUS_OK;
        }
    }
    const char *name = NULL;
    if (op->result != GRAPH_NONE) {
        name = level->graph->values.items[op->result].name;
        if (level->unrolled)
            name = fresh_name(expansion, level, name);
        if (!name)
            return no_memory(expansion->diag);
    }
    Status status = graph_add_same(out, level->graph, op, name, operands, &value, expansion->diag);
    if (status != STATUS_OK)
        return status;
    if (op->result != GRAPH_NONE)
        level->map[op->result] = value;
    if (*cast && !strmap_put(expansion->casts, cast, value))
        return no_memory(expansion->diag);
    if (level->unrolled) {
        uint32_t *first = &level->unrolled->first[index];
        if (*first == GRAPH_NONE)
            *first = number;
        out->ops.items[number].first = *first;
    }
    return STATUS_OK;
}

static Status expand_level(Expansion *expansion, Level *level);

static Status count_unrolled(Expansion *expansion, const Graph *graph, const GraphOp *op) {
    if (++expansion->unrolled <= MOST_UNROLLED)
        return STATUS_OK;
    return diag_error(expansion->diag, ERR_GRAPH_REPEAT,
                      (DiagPlace){.file = graph->file, .line = op->line, .tile = -1},
                      "unrolled, the graph has more than %d operations", MOST_UNROLLED);
}

/* The arguments of iteration i, carried ones as they are in `carried`. */
static void hand_in(const Level *outer, const GraphOp *repeat, const uint32_t *carried, uint32_t i,
                    uint32_t *map) {
    uint32_t single = repeat->carried + repeat->invariant;
    for (uint32_t k = 0; k < single; k++)
        map[k] = k < repeat->carried ? carried[k] : outer->map[repeat->operands[k]];
    for (uint32_t k = 0; k < repeat->iterated; k++)
        map[single + k] = outer->map[repeat->operands[single + (size_t)k * repeat->times + i]];
}

/* Finds or makes the memory of a body's first iteration; NULL without room. */
static Unrolled *open_body(Expansion *expansion, Unrolled **slot, const Graph *body) {
    Unrolled *unrolled = *slot;
    if (unrolled)
        return unrolled;
    unrolled = ARENA_NEW(&expansion->arena, Unrolled, 1);
    if (!unrolled)
        return NULL;
    unrolled->first = ARENA_NEW(&expansion->arena, uint32_t, body->ops.count);
    unrolled->bodies = ARENA_NEW(&expansion->arena, Unrolled *, body->ops.count);
    if (!unrolled->first || !unrolled->bodies)
        return NULL;
    for (size_t i = 0; i < body->ops.count; i++)
        unrolled->first[i] = GRAPH_NONE;
    return *slot = unrolled;
}

static Status expand_repeat(Expansion *expansion, Level *outer, uint32_t index) {
    const GraphOp *repeat = &outer->graph->ops.items[index];
    const Graph *body = repeat->body;
    Unrolled *none = NULL;
    Level level = {.graph = body,
                   .prefix = outer->graph->values.items[repeat->result].name,
                   .map = ARENA_NEW(&expansion->arena, uint32_t, body->values.count)};
    uint32_t *carried = ARENA_NEW(&expansion->arena, uint32_t, repeat->carried);
    level.unrolled =
        open_body(expansion, outer->unrolled ? &outer->unrolled->bodies[index] : &none, body);
    if (!level.map || !carried || !level.unrolled)
        return no_memory(expansion->diag);
    for (uint32_t k = 0; k < repeat->carried; k++)
        carried[k] = outer->map[repeat->operands[k]];
    Status status = STATUS_OK;
    for (uint32_t i = 0; i < repeat->times && status == STATUS_OK; i++) {
        status = count_unrolled(expansion, outer->graph, repeat);
        level.suffix = arena_printf(&expansion->arena, "%s.%u", outer->suffix, i);
        if (status == STATUS_OK && !level.suffix)
            status = no_memory(expansion->diag);
        hand_in(outer, repeat, carried, i, level.map);
        if (status == STATUS_OK)
            status = expand_level(expansion, &level);
        const GraphOp *yield = &body->ops.items[body->ops.count - 1];
        for (uint32_t k = 0; k < repeat->carried; k++)
            carried[k] = level.map[yield->operands[k]];
    }
    for (uint32_t k = 0; k < repeat->carried; k++)
        outer->map[repeat->result + k] = carried[k];
    return status;
}

static Status expand_level(Expansion *expansion, Level *level) {
    Status status = STATUS_OK;
    for (uint32_t i = 0; i < level->graph->ops.count && status == STATUS_OK; i++) {
        const GraphOp *op = &level->graph->ops.items[i];
        if (op->kind == GRAPH_ARGUMENT || op->kind == GRAPH_YIELD)
            continue;
        status = count_unrolled(expansion, level->graph, op);
        if (status == STATUS_OK)
            status = op->kind == GRAPH_REPEAT ? expand_repeat(expansion, level, i)
                                              : expand_op(expansion, level, i);
    }
    return status;
}

Status graph_create_like(const Graph *graph, Graph **created, Diag *diag) {
    Status status = graph_create(created, diag);
    if (status != STATUS_OK || !graph->file)
        return status;
    (*created)->file = arena_strdup(&(*created)->arena, graph->file);
    if ((*created)->file)
        return STATUS_OK;
    graph_free(*created);
    *created = NULL;
    return no_memory(diag);
}

static Status unroll(const Graph *graph, Graph **unrolled, Diag *diag) {
    Expansion expansion = {.source = graph, .diag = diag, .casts = strmap_create()};
    Level top = {.graph = graph,
                 .suffix = "",
                 .map = ARENA_NEW(&expansion.arena, uint32_t, graph->values.count)};
    Status status = expansion.casts && top.map ? graph_create_like(graph, &expansion.out, diag)
                                               : no_memory(diag);
    if (status == STATUS_OK)
        status = expand_level(&expansion, &top);
    strmap_free(expansion.casts);
    arena_free(&expansion.arena);
    if (status == STATUS_OK)
        *unrolled = expansion.out;
    else
        graph_free(expansion.out);
    return status;
}

/* Operations that an output needs; the others are parts of last iterations. */
static size_t mark_needed(const Graph *graph, bool *needed) {
    size_t count = 0;
    for (size_t i = graph->ops.count; i-- > 0;) {
        const GraphOp *op = &graph->ops.items[i];
        needed[i] = needed[i] || op->kind == GRAPH_OUTPUT;
        count += needed[i];
        for (uint32_t k = 0; needed[i] && k < op->operand_count; k++)
            needed[graph->values.items[op->operands[k]].op] = true;
    }
    return count;
}

/* map: room for the new numbers of values, ops: of operations. */
static Status copy_needed(const Graph *graph, const bool *needed, uint32_t *map, uint32_t *ops,
                          Graph *out, Diag *diag) {
    Status status = STATUS_OK;
    for (size_t i = 0; i < graph->ops.count && status == STATUS_OK; i++) {
        const GraphOp *op = &graph->ops.items[i];
        ops[i] = needed[i] ? (uint32_t)out->ops.count : GRAPH_NONE;
        if (!needed[i])
            continue;
        uint32_t operands[2] = {0}, value = GRAPH_NONE;
        for (uint32_t k = 0; k < op->operand_count; k++)
            operands[k] = map[op->operands[k]];
        const char *name = op->result == GRAPH_NONE ? NULL : graph->values.items[op->result].name;
        status = graph_add_same(out, graph, op, name, operands, &value, diag);
        if (status != STATUS_OK)
            return status;
        if (op->result != GRAPH_NONE)
            map[op->result] = value;
        if (op->first == GRAPH_NONE)
            continue;
        if (ops[op->first] == GRAPH_NONE) /* dropped: the next one takes its part */
            ops[op->first] = ops[i];
        out->ops.items[ops[i]].first = ops[op->first];
    }
    return status;
}

/* Replaces the graph by one of what its outputs need. */
static Status drop_dead(Graph **graph, Diag *diag) {
    const Graph *old = *graph;
    bool *needed = mem_alloc(old->ops.count, sizeof *needed);
    uint32_t *map = mem_alloc(old->values.count, sizeof *map);
    uint32_t *ops = mem_alloc(old->ops.count, sizeof *ops);
    Graph *kept = NULL;
    Status status = needed && map && ops ? STATUS_OK : no_memory(diag);
    if (status == STATUS_OK && mark_needed(old, needed) < old->ops.count) {
        status = graph_create_like(old, &kept, diag);
        if (status == STATUS_OK)
            status = copy_needed(old, needed, map, ops, kept, diag);
        if (status == STATUS_OK) {
            graph_free(*graph);
            *graph = kept;
        } else {
            graph_free(kept);
        }
    }
    mem_free(needed);
    mem_free(map);
    mem_free(ops);
    return status;
}

/* The rows of an operand of add, from its leading axes, the last one first. Broadcast axes, then
 * ones that it has, then broadcast and again own ones can be told. */
static bool find_rows(const Shape *operand, const Shape *result, GraphRows *rows) {
    enum { TRAILING, PERIOD, BLOCK, REST } state = TRAILING;
    *rows = (GraphRows){1, 1, 1};
    for (uint32_t i = 2; i <= result->rank; i++) {
        uint32_t extent = result->dims[result->rank - i];
        bool own = i <= operand->rank && operand->dims[operand->rank - i] == extent;
        if (extent == 1)
            continue;
        if (own && state == TRAILING)
            state = PERIOD;
        else if (!own && state == PERIOD)
            state = BLOCK;
        else if (own && state == BLOCK)
            state = REST;
        else if (!own && state == REST)
            return false;
        rows->step *= state == TRAILING ? extent : 1;
        rows->period *= state == PERIOD ? extent : 1;
        rows->block *= state != REST ? extent : 1;
    }
    return true;
}

static Status flatten_add(const Graph *graph, GraphOp *op, Diag *diag) {
    const Shape *result = &graph->values.items[op->result].logical;
    for (int side = 0; side < 2; side++) {
        const Shape *operand = &graph->values.items[op->operands[side]].logical;
        if (find_rows(operand, result, &op->rows[side]))
            continue;
        char from[SHAPE_TEXT_SIZE], to[SHAPE_TEXT_SIZE];
        DiagPlace place = {.file = graph->file, .line = op->line, .tile = -1};
        diag_error(diag, ERR_GRAPH_SHAPE, place,
                   "%s is broadcast to %s along axes that are not adjacent",
                   shape_print(operand, from), shape_print(result, to));
        diag_fix(diag, "put the axes that are broadcast next to each other");
        return ERR_GRAPH_SHAPE;
    }
    return STATUS_OK;
}

/* Leading axes of both operands into rows, unless matrices of the right one, or transposed ones of
 * the left one, must be taken one by one. */
static void flatten_gemm(const Graph *graph, GraphOp *op) {
    uint64_t left = 1, right = 1;
    const Shape *l = &graph->values.items[op->operands[0]].logical;
    const Shape *r = &graph->values.items[op->operands[1]].logical;
    for (uint32_t axis = 0; axis + 2 < l->rank; axis++)
        left *= l->dims[axis];
    for (uint32_t axis = 0; axis + 2 < r->rank; axis++)
        right *= r->dims[axis];
    if (right == 1 && (left == 1 || !op->transpose_left))
        op->batch = 1;
}

Status graph_flatten(Graph *graph, Diag *diag) {
    for (size_t v = 0; v < graph->values.count; v++) {
        GraphValue *value = &graph->values.items[v];
        char text[SHAPE_TEXT_SIZE];
        DiagPlace place = {
            .file = graph->file, .line = graph->ops.items[value->op].line, .tile = -1};
        if (!shape_matrix(&value->logical, &value->shape))
            return diag_error(diag, ERR_GRAPH_SHAPE, place, "%%%s %s has more than %u rows",
                              value->name, shape_print(&value->logical, text), UINT32_MAX);
    }
    Status status = STATUS_OK;
    for (size_t i = 0; i < graph->ops.count && status == STATUS_OK; i++) {
        GraphOp *op = &graph->ops.items[i];
        if (op->kind == GRAPH_GEMM)
            flatten_gemm(graph, op);
        else if (op->kind == GRAPH_ADD)
            status = flatten_add(graph, op, diag);
    }
    graph->expanded = true;
    return status;
}

Status graph_expand(const Graph *graph, Graph **expanded, Diag *diag) {
    Graph *out = NULL;
    Status status = unroll(graph, &out, diag);
    if (status != STATUS_OK)
        return status;
    status = drop_dead(&out, diag);
    if (status == STATUS_OK)
        status = graph_flatten(out, diag);
    out->place = DIAG_NOWHERE;
    if (status == STATUS_OK)
        *expanded = out;
    else
        graph_free(out);
    return status;
}
