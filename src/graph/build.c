/* Graphs of the workloads. */
#include "graph/graph.h"

static Status build_gemm(Graph **graph, uint32_t rows, uint32_t inner, uint32_t columns,
                         Precision input, Precision operand, Diag *diag) {
    Graph *built;
    Status status = graph_create(&built, diag);
    if (status != STATUS_OK)
        return status;
    uint32_t x, w, y;
    Shape left = {.rank = 2, .dims = {rows, inner}}, right = {.rank = 2, .dims = {inner, columns}};
    status = graph_add_input(built, "x", "x", input, left, &x, diag);
    if (status == STATUS_OK)
        status = graph_add_parameter(built, "w", "w", operand, right, &w, diag);
    if (status == STATUS_OK && !precision_equal(input, operand))
        status = graph_add_cast(built, "x.cast", x, operand, &x, diag);
    if (status == STATUS_OK)
        status = graph_add_gemm(built, "y", x, w, false, false, &y, diag);
    if (status == STATUS_OK)
        status = graph_add_output(built, "y", y, diag);
    if (status == STATUS_OK)
        *graph = built;
    else
        graph_free(built);
    return status;
}

Status graph_build_gemm(Graph **graph, uint32_t rows, uint32_t inner, uint32_t columns,
                        Precision operand, Diag *diag) {
    return build_gemm(graph, rows, inner, columns, operand, operand, diag);
}

Status graph_build_device_gemm(Graph **graph, uint32_t rows, uint32_t inner, uint32_t columns,
                               Precision operand, Diag *diag) {
    return build_gemm(graph, rows, inner, columns, (Precision){.kind = PRECISION_F16}, operand,
                      diag);
}

/* The parameters of a block, in the order in which they are passed on: those that it has. */
enum { UP_WEIGHT, UP_BIAS, DOWN_WEIGHT, DOWN_BIAS, BLOCK_PARAMETERS };

static const char *const parameter_names[BLOCK_PARAMETERS] = {"up.weight", "up.bias", "down.weight",
                                                              "down.bias"};

static bool has_parameter(const GraphMlp *mlp, int which) {
    return mlp->bias || which == UP_WEIGHT || which == DOWN_WEIGHT;
}

static Precision parameter_precision(const GraphMlp *mlp, int which) {
    bool weight = which == UP_WEIGHT || which == DOWN_WEIGHT;
    return weight ? mlp->operand : (Precision){.kind = PRECISION_F16};
}

static Shape parameter_shape(const GraphMlp *mlp, int which) {
    switch (which) {
    case UP_WEIGHT: return (Shape){.rank = 2, .dims = {mlp->width, mlp->hidden}};
    case UP_BIAS: return (Shape){.rank = 1, .dims = {mlp->hidden}};
    case DOWN_WEIGHT: return (Shape){.rank = 2, .dims = {mlp->hidden, mlp->width}};
    default: return (Shape){.rank = 1, .dims = {mlp->width}};
    }
}

/* Casts what is no operand of a product yet. */
static Status cast_operand(Graph *graph, const GraphMlp *mlp, const char *name, uint32_t *value,
                           Diag *diag) {
    if (precision_equal(graph->values.items[*value].precision, mlp->operand))
        return STATUS_OK;
    return graph_add_cast(graph, name, *value, mlp->operand, value, diag);
}

/* One block: *value is its input, then its output. */
static Status add_block(Graph *graph, const GraphMlp *mlp,
                        const uint32_t parameters[BLOCK_PARAMETERS], const char *cast_name,
                        uint32_t *value, Diag *diag) {
    uint32_t input = *value;
    Status status = cast_operand(graph, mlp, cast_name, value, diag);
    if (status == STATUS_OK)
        status =
            graph_add_gemm(graph, "up", *value, parameters[UP_WEIGHT], false, false, value, diag);
    if (status == STATUS_OK && mlp->bias)
        status = graph_add_add(graph, "up.biased", *value, parameters[UP_BIAS], value, diag);
    if (status == STATUS_OK)
        status = graph_add_gelu(graph, "act", *value, value, diag);
    if (status == STATUS_OK)
        status = cast_operand(graph, mlp, "act.cast", value, diag);
    if (status == STATUS_OK)
        status = graph_add_gemm(graph, "down", *value, parameters[DOWN_WEIGHT], false, false, value,
                                diag);
    if (status == STATUS_OK && mlp->bias)
        status = graph_add_add(graph, "down.biased", *value, parameters[DOWN_BIAS], value, diag);
    if (status == STATUS_OK && mlp->residual)
        status = graph_add_add(graph, "down.residual", *value, input, value, diag);
    return status;
}

/* Adds parameter `which` of a block. */
static Status add_parameter(Graph *graph, const GraphMlp *mlp, uint32_t block, int which,
                            uint32_t *value, Diag *diag) {
    char name[40];
    snprintf(name, sizeof name, "block%u.%s", block, parameter_names[which]);
    return graph_add_parameter(graph, name, name, parameter_precision(mlp, which),
                               parameter_shape(mlp, which), value, diag);
}

static Status build_one_block(Graph *graph, const GraphMlp *mlp, uint32_t *value, Diag *diag) {
    uint32_t parameters[BLOCK_PARAMETERS] = {0};
    Status status = STATUS_OK;
    for (int which = 0; which < BLOCK_PARAMETERS && status == STATUS_OK; which++)
        if (has_parameter(mlp, which))
            status = add_parameter(graph, mlp, 0, which, &parameters[which], diag);
    if (status == STATUS_OK)
        status = add_block(graph, mlp, parameters, "x.cast", value, diag);
    return status;
}

/* The body of the repeat: block input %h, parameters iterated. */
static Status build_body(Graph *body, const GraphMlp *mlp, Shape shape, Diag *diag) {
    uint32_t parameters[BLOCK_PARAMETERS] = {0}, value;
    Status status = graph_add_argument(body, "h", GRAPH_CARRIED, (Precision){.kind = PRECISION_F16},
                                       shape, &value, diag);
    for (int which = 0; which < BLOCK_PARAMETERS && status == STATUS_OK; which++)
        if (has_parameter(mlp, which))
            status = graph_add_argument(body, parameter_names[which], GRAPH_ITERATED,
                                        parameter_precision(mlp, which),
                                        parameter_shape(mlp, which), &parameters[which], diag);
    if (status == STATUS_OK)
        status = add_block(body, mlp, parameters, "h.cast", &value, diag);
    return status == STATUS_OK ? graph_add_yield(body, &value, 1, diag) : status;
}

/* All blocks as one repeat. operands: room for the input and all parameters. */
static Status build_repeat(Graph *graph, const GraphMlp *mlp, Graph *body, uint32_t *operands,
                           uint32_t *value, Diag *diag) {
    uint32_t count = 0;
    Status status = build_body(body, mlp, graph->values.items[*value].shape, diag);
    operands[count++] = *value;
    for (int which = 0; which < BLOCK_PARAMETERS; which++)
        for (uint32_t i = 0; has_parameter(mlp, which) && i < mlp->blocks && status == STATUS_OK;
             i++)
            status = add_parameter(graph, mlp, i, which, &operands[count++], diag);
    if (status == STATUS_OK)
        status = graph_add_repeat(graph, (const char *[]){"blocks"}, mlp->blocks, body, operands,
                                  count, value, diag);
    return status;
}

static Status build_blocks(Graph *graph, const GraphMlp *mlp, uint32_t *value, Diag *diag) {
    if (mlp->blocks == 1)
        return build_one_block(graph, mlp, value, diag);
    uint64_t count = 1 + (uint64_t)BLOCK_PARAMETERS * mlp->blocks;
    uint32_t *operands = mem_alloc(count, sizeof *operands);
    Graph *body = NULL;
    if (!operands)
        return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory left for the graph");
    Status status = graph_create_body(&body, diag);
    if (status == STATUS_OK)
        status = build_repeat(graph, mlp, body, operands, value, diag);
    if (status != STATUS_OK)
        graph_free(body);
    mem_free(operands);
    return status;
}

Status graph_build_mlp(Graph **graph, const GraphMlp *mlp, Diag *diag) {
    Graph *built;
    Status status = graph_create(&built, diag);
    if (status != STATUS_OK)
        return status;
    bool cast = mlp->device_input || mlp->residual || mlp->blocks > 1;
    Precision input = cast ? (Precision){.kind = PRECISION_F16} : mlp->operand;
    Shape shape = mlp->batch > 1 ? (Shape){.rank = 3, .dims = {mlp->batch, mlp->tokens, mlp->width}}
                                 : (Shape){.rank = 2, .dims = {mlp->tokens, mlp->width}};
    uint32_t value;
    status = graph_add_input(built, "x", "x", input, shape, &value, diag);
    if (status == STATUS_OK)
        status = build_blocks(built, mlp, &value, diag);
    if (status == STATUS_OK)
        status = graph_add_output(built, "y", value, diag);
    if (status == STATUS_OK)
        *graph = built;
    else
        graph_free(built);
    return status;
}
