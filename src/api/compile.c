#include "api/api.h"

#include "compile/compile.h"
#include "num/amp.h"

_Static_assert((int)TW_TILES == (int)CHIP_TILES, "the public headers know the chip's size");

/* Expands a graph, which it takes over, for everything that follows. */
static TwStatus wrap_graph(TwContext *context, Status status, Graph *graph, TwGraph **handle) {
    Graph *unrolled = NULL, *expanded = NULL;
    TwGraph *wrapped = NULL;
    if (status != STATUS_OK)
        return (TwStatus)status;
    status = graph_expand(graph, &unrolled, &context->diag);
    graph_free(graph);
    if (status == STATUS_OK)
        status = graph_split(unrolled, &expanded, &context->diag);
    graph_free(unrolled);
    if (status != STATUS_OK)
        return (TwStatus)status;
    wrapped = mem_alloc(1, sizeof *wrapped);
    if (!wrapped) {
        graph_free(expanded);
        return api_no_memory(context);
    }
    wrapped->graph = expanded;
    *handle = wrapped;
    return 0;
}

TwStatus tw_graph_read(TwContext *context, const char *path, TwGraph **graph) {
    Graph *read = NULL;
    Status status = graph_read(path, &read, &context->diag);
    return wrap_graph(context, status, read, graph);
}

TwStatus tw_graph_parse(TwContext *context, const char *text, size_t size, const char *name,
                        TwGraph **graph) {
    Graph *parsed = NULL;
    Status status = graph_parse(text, size, name, &parsed, &context->diag);
    return wrap_graph(context, status, parsed, graph);
}

TwStatus tw_graph_gemm(TwContext *context, uint32_t rows, uint32_t inner, uint32_t columns,
                       TwPrecision operand, TwGraph **graph) {
    Graph *built = NULL;
    Status status =
        graph_build_gemm(&built, rows, inner, columns, api_precision(operand), &context->diag);
    return wrap_graph(context, status, built, graph);
}

TwStatus tw_graph_device_gemm(TwContext *context, uint32_t rows, uint32_t inner, uint32_t columns,
                              TwPrecision operand, TwGraph **graph) {
    Graph *built = NULL;
    Status status = graph_build_device_gemm(&built, rows, inner, columns, api_precision(operand),
                                            &context->diag);
    return wrap_graph(context, status, built, graph);
}

TwStatus tw_graph_mlp(TwContext *context, const TwMlp *mlp, TwGraph **graph) {
    GraphMlp built_from = {.tokens = mlp->tokens,
                           .width = mlp->width,
                           .hidden = mlp->hidden,
                           .blocks = mlp->blocks,
                           .batch = mlp->batch,
                           .bias = mlp->bias,
                           .residual = mlp->residual,
                           .device_input = mlp->device_input,
                           .operand = api_precision(mlp->operand)};
    Graph *built = NULL;
    Status status = graph_build_mlp(&built, &built_from, &context->diag);
    return wrap_graph(context, status, built, graph);
}

TwStatus tw_graph_diff(TwContext *context, const char *const paths[2], FILE *out, bool *differ) {
    Graph *graphs[2] = {NULL, NULL};
    GraphDifference difference = {0};
    Status status = graph_read(paths[0], &graphs[0], &context->diag);
    if (status == STATUS_OK)
        status = graph_read(paths[1], &graphs[1], &context->diag);
    if (status == STATUS_OK)
        status = graph_diff(graphs[0], graphs[1], &difference, &context->diag);
    for (int side = 0; side < 2 && difference.found; side++) {
        const char *statement = difference.statements[side];
        if (statement)
            fprintf(out, "%s:%u: %s\n", paths[side], difference.lines[side], statement);
        else
            fprintf(out, "%s: no more statements\n", paths[side]);
    }
    *differ = difference.found;
    graph_difference_free(&difference);
    graph_free(graphs[0]);
    graph_free(graphs[1]);
    return (TwStatus)status;
}

void tw_graph_free(TwGraph *graph) {
    if (!graph)
        return;
    graph_free(graph->graph);
    mem_free(graph);
}

static TwWeights *create_weights(const TwGraph *graph) {
    TwWeights *weights = mem_alloc(1, sizeof *weights);
    if (weights)
        weights->graph = graph->graph;
    return weights;
}

/* Hands over filled weights, or frees them. */
static TwStatus finish_weights(Status status, TwWeights *filled, TwWeights **weights) {
    if (status == STATUS_OK)
        *weights = filled;
    else
        mem_free(filled);
    return (TwStatus)status;
}

TwStatus tw_weights_read(TwContext *context, const TwGraph *graph, const char *const *places,
                         size_t count, TwWeights **weights) {
    TwWeights *filled = create_weights(graph);
    if (!filled)
        return api_no_memory(context);
    Status status = model_bind(graph->graph, places, count, &filled->parameters, &context->diag);
    return finish_weights(status, filled, weights);
}

/* Bytes of all inputs, parameters and outputs, one copy each, against the tiles' memory. */
static bool may_fit(const Graph *graph, unsigned tiles) {
    uint64_t total = 0, memory = (uint64_t)tiles * CHIP_TILE_MEM_SIZE;
    for (uint32_t op = 0; op < graph->ops.count && total <= memory; op++) {
        GraphOpKind kind = graph->ops.items[op].kind;
        if (kind != GRAPH_INPUT && kind != GRAPH_PARAMETER && kind != GRAPH_OUTPUT)
            continue;
        const GraphValue *value = &graph->values.items[graph_port_value(graph, op)];
        uint64_t count;
        if (!shape_count(&value->shape, &count) || count > memory)
            return false;
        total += count * precision_bytes(value->precision);
    }
    return total <= memory;
}

TwStatus api_generate_weights(TwContext *context, const TwGraph *graph, uint64_t seed, double sigma,
                              unsigned tiles, TwWeights **weights) {
    TwWeights *filled = create_weights(graph);
    if (!filled)
        return api_no_memory(context);
    Status status = STATUS_OK;
    if (may_fit(graph->graph, tiles ? tiles : CHIP_TILES))
        status = model_generate(graph->graph, seed, sigma, &filled->parameters, &context->diag);
    return finish_weights(status, filled, weights);
}

TwStatus tw_weights_generate(TwContext *context, const TwGraph *graph, uint64_t seed, double sigma,
                             TwWeights **weights) {
    return api_generate_weights(context, graph, seed, sigma, CHIP_TILES, weights);
}

void tw_weights_free(TwWeights *weights) {
    if (!weights)
        return;
    model_parameters_free(&weights->parameters);
    mem_free(weights);
}

/* Cycles in which the matrix units of all tiles, each with an AMP instruction in every cycle, could
 * do the graph's multiply-adds. */
static double ideal_cycles(const Graph *graph, unsigned tiles) {
    double cycles = 0;
    for (uint32_t op = 0; op < graph->ops.count; op++) {
        if (graph->ops.items[op].kind != GRAPH_GEMM)
            continue;
        GraphGemm gemm = graph_gemm(graph, op);
        Precision operand = graph->values.items[graph->ops.items[op].operands[0]].precision;
        double lanes = operand.kind == PRECISION_F8F143 ? AMP_F8_LANES : AMP_F16_LANES;
        cycles += (double)gemm.batch * gemm.rows * gemm.inner * gemm.columns /
                  (AMP_CHANNELS * lanes) / tiles;
    }
    return cycles;
}

static void fill_report(TwCompileReport *report, const CompileResult *result) {
    report->predicted_cycles = result->predicted_cycles;
    report->scheduled_cycles = result->scheduled_cycles;
    report->scheduled_cycles_sampled = result->scheduled_cycles_sampled;
    report->tiles_used = result->tiles_used;
    report->candidates = result->candidates;
    report->rejected = result->rejected;
    _Static_assert((int)COMPILE_FINALISTS <= (int)TW_MAX_FINALISTS, "room for all");
    report->finalist_count = result->finalist_count;
    for (unsigned i = 0; i < result->finalist_count; i++) {
        report->finalists[i].predicted_cycles = result->finalists[i].predicted_cycles;
        report->finalists[i].scheduled_cycles = result->finalists[i].scheduled_cycles;
    }
    report->seconds = result->total_seconds;
    report->pass_count = COMPILE_PASSES;
    for (unsigned pass = 0; pass < COMPILE_PASSES; pass++) {
        report->pass_names[pass] = compile_pass_name((CompilePass)pass);
        report->pass_seconds[pass] = result->seconds[pass];
    }
}

static void fill_refusal(TwCompileReport *report, const CompileRefusal *refusal) {
    report->refused = true;
    report->proved = refusal->proved;
    report->tile = refusal->tile;
    report->memory = refusal->memory;
    report->bytes_over = refusal->bytes_over;
    report->tiles_that_fit = refusal->tiles_that_fit;
}

/* The forced grids as the planner wants them; false after an error. */
static Status parse_grids(const TwCompileOptions *options, PlanForce *forces, size_t *count,
                          Diag *diag) {
    for (*count = 0; *count < options->grid_count; ++*count) {
        Status status = plan_force_parse(options->grids[*count], &forces[*count], diag);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static Status compile_with(TwContext *context, const Graph *graph, const TwWeights *weights,
                           const TwCompileOptions *options, const PlanForce *forces,
                           CompileResult *result) {
    CompileOptions compile = {.plan = {.tiles = options->tiles ? options->tiles : CHIP_TILES,
                                       .max_copies = options->max_copies,
                                       .device_input = options->device_input,
                                       .cast = (PlanCastPolicy)options->cast,
                                       .forces = forces,
                                       .force_count = options->grid_count},
                              .rank = options->rank,
                              .producer = "tilework " TW_VERSION,
                              .dump_plan = options->plan,
                              .dump_lower = options->lower,
                              .dump_place = options->place,
                              .dump_exchange = options->exchange,
                              .explain = options->explanation};
    const void **codes = mem_alloc(graph->values.count, sizeof *codes);
    if (!codes)
        return (Status)api_no_memory(context);
    for (size_t i = 0; i < weights->parameters.count; i++)
        codes[graph->ops.items[weights->parameters.items[i].op].result] =
            weights->parameters.items[i].codes;
    Status status = compile_graph(graph, codes, &compile, context->pool, result, &context->diag);
    mem_free(codes);
    return status;
}

TwStatus tw_compile(TwContext *context, const TwGraph *graph, const TwWeights *weights,
                    const TwCompileOptions *options, TwPackage **package, TwCompileReport *report) {
    TwCompileReport unwanted;
    CompileResult result = {0};
    size_t force_count = 0;
    report = report ? report : &unwanted;
    *report = (TwCompileReport){.tiles = options->tiles ? options->tiles : CHIP_TILES};
    report->ideal_cycles = ideal_cycles(graph->graph, report->tiles);
    PlanForce *forces = mem_alloc(options->grid_count, sizeof *forces);
    if (!forces)
        return api_no_memory(context);
    Status status = parse_grids(options, forces, &force_count, &context->diag);
    if (status == STATUS_OK) {
        status = compile_with(context, graph->graph, weights, options, forces, &result);
        fill_report(report, &result);
        if (status == ERR_COMPILE_PROVED || status == ERR_COMPILE_NOT_FOUND)
            fill_refusal(report, &result.refusal);
    }
    for (size_t i = 0; i < force_count; i++)
        mem_free((void *)forces[i].operation);
    mem_free(forces);
    return status == STATUS_OK ? api_wrap_package(context, result.package, package)
                               : (TwStatus)status;
}
