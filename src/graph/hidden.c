/* Products whose result only goes value by value into another product, cut into blocks of what lies
 * between them, the hidden columns: block after block, the columns of the first product, what is
 * made of them, and what they give to the second product, which is added up. */
#include "graph/internal.h"

#include <string.h>

/* Hidden columns of a block are whole panels of either precision. */
enum { BLOCK_GRAIN = 32 };

typedef struct Cut {
    const Graph *from;
    Graph *out;
    uint32_t blocks;   /* asked for */
    uint32_t *uses;    /* of values of `from` */
    uint32_t *map;     /* values of `from` → of `out`; of a block: those of this block */
    uint32_t *ops;     /* operations of `from` → of `out`, of a block: in the first one */
    uint32_t *last;    /* operations of `from` that are cut → the product that ends their chain */
    uint32_t **pieces; /* values of `from` that are cut parameters → of `out`, by block */
    Arena arena;
    Diag *diag;
} Cut;

static Status no_memory(Diag *diag) {
    return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory left for the graph");
}

static uint32_t block_columns(const Cut *cut, uint32_t hidden) {
    return (uint32_t)div_up(div_up(hidden, BLOCK_GRAIN), cut->blocks) * BLOCK_GRAIN;
}

static uint32_t block_count(const Cut *cut, uint32_t hidden) {
    return (uint32_t)div_up(hidden, block_columns(cut, hidden));
}

/* A parameter of which nothing else takes anything. */
static bool is_own_parameter(const Cut *cut, uint32_t value) {
    const Graph *from = cut->from;
    return from->ops.items[from->values.items[value].op].kind == GRAPH_PARAMETER &&
           cut->uses[value] == 1;
}

static uint32_t find_user(const Graph *graph, uint32_t value) {
    for (uint32_t i = graph->values.items[value].op + 1; i < graph->ops.count; i++)
        for (uint32_t k = 0; k < graph->ops.items[i].operand_count; k++)
            if (graph->ops.items[i].operands[k] == value)
                return i;
    return GRAPH_NONE;
}

/* Does the operation make every column of its result from this column of `value` alone? */
static bool is_by_columns(const Cut *cut, const GraphOp *op, uint32_t value) {
    if (op->kind == GRAPH_GELU || op->kind == GRAPH_CAST)
        return true;
    if (op->kind != GRAPH_ADD || op->operands[0] == op->operands[1])
        return false;
    uint32_t other = op->operands[op->operands[0] == value];
    const GraphValue *values = cut->from->values.items;
    return is_own_parameter(cut, other) && values[other].shape.dims[0] == 1 &&
           values[other].shape.dims[1] == values[value].shape.dims[1];
}

/* The product that takes what is made of a product's columns, or none. */
static uint32_t find_last(const Cut *cut, uint32_t index) {
    const Graph *from = cut->from;
    const GraphOp *op = &from->ops.items[index];
    if (op->batch != 1 || !is_own_parameter(cut, op->operands[1]))
        return GRAPH_NONE;
    while (cut->uses[op->result] == 1) {
        uint32_t value = op->result, user = find_user(from, value);
        op = &from->ops.items[user];
        if (op->kind == GRAPH_GEMM)
            return op->operands[0] == value && !op->transpose_left && op->batch == 1 &&
                           is_own_parameter(cut, op->operands[1])
                       ? user
                       : GRAPH_NONE;
        if (!is_by_columns(cut, op, value))
            return GRAPH_NONE;
    }
    return GRAPH_NONE;
}

static bool find_pieces(Cut *cut, uint32_t parameter, uint32_t hidden) {
    uint32_t count = block_count(cut, hidden);
    return (cut->pieces[parameter] = ARENA_NEW(&cut->arena, uint32_t, count)) != NULL;
}

/* Marks what is cut; a product ends one chain at most and then begins none. */
static Status find_chains(Cut *cut, bool *any) {
    const Graph *from = cut->from;
    for (uint32_t i = 0; i < from->ops.count; i++)
        for (uint32_t k = 0; k < from->ops.items[i].operand_count; k++)
            cut->uses[from->ops.items[i].operands[k]]++;
    for (uint32_t i = 0; i < from->ops.count; i++)
        cut->last[i] = GRAPH_NONE;
    for (uint32_t i = 0; i < from->ops.count; i++) {
        const GraphOp *op = &from->ops.items[i];
        if (op->kind != GRAPH_GEMM || cut->last[i] != GRAPH_NONE)
            continue;
        uint32_t last = find_last(cut, i), hidden = from->values.items[op->result].shape.dims[1];
        if (last == GRAPH_NONE || block_count(cut, hidden) < 2)
            continue;
        *any = true;
        for (uint32_t at = i;; at = find_user(from, op->result)) {
            op = &from->ops.items[at];
            cut->last[at] = last;
            for (uint32_t k = 0; k < op->operand_count; k++)
                if ((k == 1 || op->kind == GRAPH_ADD) && is_own_parameter(cut, op->operands[k]) &&
                    !find_pieces(cut, op->operands[k], hidden))
                    return no_memory(cut->diag);
            if (at == last)
                break;
        }
    }
    return STATUS_OK;
}

/* ---- the graph of blocks */

static const char *block_name(Cut *cut, uint32_t value, const char *part, uint32_t block) {
    const char *name =
        arena_printf(&cut->arena, "%s%s.%u", cut->from->values.items[value].name, part, block);
    return graph_fresh_name(&cut->arena, cut->out, cut->from, name);
}

/* Along which axis of an operand the hidden columns lie. */
static uint32_t hidden_axis(const Cut *cut, uint32_t index, uint32_t parameter) {
    const GraphOp *op = &cut->from->ops.items[index];
    const GraphValue *value = &cut->from->values.items[parameter];
    bool last = cut->last[index] == index;
    uint32_t axis = op->kind == GRAPH_GEMM && last == !op->transpose_right ? 0 : 1;
    return value->logical.rank - 2 + axis; /* a vector has one axis */
}

/* Blocks of a parameter become parameters of their own. */
static Status add_pieces(Cut *cut, const GraphOp *op) {
    const GraphValue *value = &cut->from->values.items[op->result];
    uint32_t user = find_user(cut->from, op->result), axis = hidden_axis(cut, user, op->result);
    uint32_t hidden = value->logical.dims[axis], width = block_columns(cut, hidden);
    for (uint32_t block = 0; block < block_count(cut, hidden); block++) {
        uint32_t first = block * width, end = MIN_OF(first + width, hidden);
        Shape shape = value->logical;
        shape.dims[axis] = end - first;
        const char *name = block_name(cut, op->result, "", block);
        const char *port =
            arena_printf(&cut->arena, "%s[%s%u:%u]", op->name,
                         axis + 1 == shape.rank && shape.rank > 1 ? ":," : "", first, end);
        uint32_t *piece = &cut->pieces[op->result][block];
        Status status = name && port ? graph_add_parameter(cut->out, name, port, value->precision,
                                                           shape, piece, cut->diag)
                                     : no_memory(cut->diag);
        if (status != STATUS_OK)
            return status;
        bool columns = axis + 1 == shape.rank;
        cut->out->ops.items[cut->out->ops.count - 1].piece =
            (GraphPiece){op->result, columns ? 0 : first, columns ? first : 0};
    }
    return STATUS_OK;
}

/* One operation of a chain, for one block. */
static Status add_block_op(Cut *cut, uint32_t index, uint32_t block, uint32_t *value) {
    const GraphOp *op = &cut->from->ops.items[index];
    Graph *out = cut->out;
    uint32_t operands[2] = {0}, number = (uint32_t)out->ops.count;
    for (uint32_t k = 0; k < op->operand_count; k++) {
        const uint32_t *pieces = cut->pieces[op->operands[k]];
        operands[k] = pieces ? pieces[block] : cut->map[op->operands[k]];
    }
    const char *name = block_name(cut, op->result, cut->last[index] == index ? ".part" : "", block);
    Status status = name ? graph_add_same(out, cut->from, op, name, operands, value, cut->diag)
                         : no_memory(cut->diag);
    if (status != STATUS_OK)
        return status;
    if (block == 0)
        cut->ops[index] = number;
    out->ops.items[number].first_block = cut->ops[index];
    return STATUS_OK;
}

/* Adds a block's part of the second product to the sum of those before; *sum is what there is. */
static Status add_to_sum(Cut *cut, const GraphOp *product, uint32_t block, uint32_t count,
                         uint32_t part, uint32_t *sum) {
    if (block == 0) {
        *sum = part;
        return STATUS_OK;
    }
    const char *name = block + 1 == count ? cut->from->values.items[product->result].name
                                          : block_name(cut, product->result, ".sum", block);
    return name ? graph_add_add(cut->out, name, *sum, part, sum, cut->diag) : no_memory(cut->diag);
}

/* All blocks of the chain that ends with this product. */
static Status add_chain(Cut *cut, uint32_t last) {
    const Graph *from = cut->from;
    const GraphOp *product = &from->ops.items[last];
    uint32_t hidden = from->values.items[product->operands[0]].shape.dims[1];
    uint32_t count = block_count(cut, hidden), sum = GRAPH_NONE;
    for (uint32_t block = 0; block < count; block++) {
        Status status = STATUS_OK;
        uint32_t value = GRAPH_NONE;
        for (uint32_t i = 0; i <= last && status == STATUS_OK; i++) {
            if (cut->last[i] != last)
                continue;
            status = add_block_op(cut, i, block, &value);
            cut->map[from->ops.items[i].result] = value;
        }
        if (status == STATUS_OK)
            status = add_to_sum(cut, product, block, count, value, &sum);
        if (status != STATUS_OK)
            return status;
    }
    cut->map[product->result] = sum;
    return STATUS_OK;
}

static Status add_whole_op(Cut *cut, uint32_t index) {
    const GraphOp *op = &cut->from->ops.items[index];
    Graph *out = cut->out;
    uint32_t *operands = ARENA_NEW(&cut->arena, uint32_t, op->operand_count + 1);
    uint32_t value = GRAPH_NONE, number = (uint32_t)out->ops.count;
    if (!operands)
        return no_memory(cut->diag);
    for (uint32_t k = 0; k < op->operand_count; k++)
        operands[k] = cut->map[op->operands[k]];
    const GraphValue *result =
        op->result == GRAPH_NONE ? NULL : &cut->from->values.items[op->result];
    Status status;
    if (op->kind == GRAPH_ROWS || op->kind == GRAPH_STACK)
        status = graph_add_op(out, *op, operands,
                              &(GraphResult){result->name, result->precision, result->logical},
                              &value, cut->diag);
    else
        status = graph_add_same(out, cut->from, op, result ? result->name : NULL, operands, &value,
                                cut->diag);
    if (status != STATUS_OK)
        return status;
    cut->ops[index] = number;
    if (result)
        cut->map[op->result] = value;
    if (op->kind == GRAPH_INPUT || op->kind == GRAPH_PARAMETER)
        out->ops.items[number].piece = (GraphPiece){op->result, 0, 0};
    if (op->first != GRAPH_NONE && cut->last[op->first] == GRAPH_NONE)
        out->ops.items[number].first = cut->ops[op->first];
    return STATUS_OK;
}

static Status cut_op(Cut *cut, uint32_t index) {
    const GraphOp *op = &cut->from->ops.items[index];
    cut->out->place = (DiagPlace){.file = cut->out->file, .line = op->line, .tile = -1};
    if (cut->last[index] == index)
        return add_chain(cut, index);
    if (cut->last[index] != GRAPH_NONE)
        return STATUS_OK;
    if (op->kind == GRAPH_PARAMETER && cut->pieces[op->result])
        return add_pieces(cut, op);
    return add_whole_op(cut, index);
}

Status graph_cut_hidden(const Graph *graph, uint32_t blocks, Graph **result, Diag *diag) {
    Cut cut = {.from = graph, .blocks = blocks, .diag = diag};
    size_t values = graph->values.count + 1, ops = graph->ops.count + 1;
    bool any = false;
    cut.uses = ARENA_NEW(&cut.arena, uint32_t, values);
    cut.map = ARENA_NEW(&cut.arena, uint32_t, values);
    cut.pieces = ARENA_NEW(&cut.arena, uint32_t *, values);
    cut.ops = ARENA_NEW(&cut.arena, uint32_t, ops);
    cut.last = ARENA_NEW(&cut.arena, uint32_t, ops);
    *result = NULL;
    Status status = cut.uses && cut.map && cut.pieces && cut.ops && cut.last
                        ? find_chains(&cut, &any)
                        : no_memory(diag);
    if (status == STATUS_OK && any)
        status = graph_create_like(graph, &cut.out, diag);
    for (uint32_t i = 0; i < graph->ops.count && any && status == STATUS_OK; i++)
        status = cut_op(&cut, i);
    if (status == STATUS_OK && any)
        status = graph_flatten(cut.out, diag);
    arena_free(&cut.arena);
    if (status != STATUS_OK) {
        graph_free(cut.out);
        return status;
    }
    if (cut.out)
        cut.out->place = DIAG_NOWHERE;
    *result = cut.out;
    return STATUS_OK;
}

/* The part of a matrix of codes that a smaller one of `shape` is. */
static const void *take_codes(const uint8_t *codes, const GraphPiece *piece, size_t whole_columns,
                              const Shape *shape, size_t size, Arena *arena) {
    size_t columns = shape->dims[1], rows = shape->dims[0];
    const uint8_t *first = codes + (piece->row * whole_columns + piece->column) * size;
    if (columns == whole_columns)
        return first;
    uint8_t *taken = arena_alloc(arena, rows * columns, size);
    for (size_t row = 0; taken && row < rows; row++)
        memcpy(taken + row * columns * size, first + row * whole_columns * size, columns * size);
    return taken;
}

Status graph_cut_codes(const Graph *graph, const Graph *cut, const void *const *given, Arena *arena,
                       const void **pieces, Diag *diag) {
    for (size_t i = 0; i < cut->ops.count; i++) {
        const GraphOp *op = &cut->ops.items[i];
        if ((op->kind != GRAPH_INPUT && op->kind != GRAPH_PARAMETER) || !given[op->piece.value])
            continue;
        const GraphValue *value = &cut->values.items[op->result];
        pieces[op->result] = take_codes(given[op->piece.value], &op->piece,
                                        graph->values.items[op->piece.value].shape.dims[1],
                                        &value->shape, precision_bytes(value->precision), arena);
        if (!pieces[op->result])
            return no_memory(diag);
    }
    return STATUS_OK;
}
