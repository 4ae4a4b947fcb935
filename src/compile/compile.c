#include "compile/attempt.h"

#include "base/progress.h"
#include "pack/build.h"

#include <stdlib.h>
#include <string.h>

const char *compile_pass_name(CompilePass pass) {
    static const char *const names[COMPILE_PASSES] = {"plan",  "lower", "link",
                                                      "place", "emit",  "pack"};
    return names[pass];
}

typedef struct Compiler {
    const Graph *graph;
    const void *const *parameters;
    const CompileOptions *options;
    Pool *pool;
    CompileResult *result;
    Diag *diag;
    Attempt attempt;
    char *explanation; /* NULL for a given plan */
} Compiler;

static Status no_memory(const Compiler *compiler) {
    return diag_error(compiler->diag, ERR_NO_MEMORY, DIAG_NOWHERE, "compiling a graph");
}

/* plan_explain as a string for mem_free; NULL without memory. */
static char *explain(const PlanSearch *search, size_t chosen) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    plan_explain(search, chosen, out);
    bool good = fclose(out) == 0;
    char *copy = good && text ? mem_strdup(text) : NULL;
    free(text);
    return copy;
}

/* Searches, and takes the first candidate that can be placed. */
static Status choose(Compiler *compiler) {
    CompileResult *result = compiler->result;
    PlanSearch search;
    double since = clock_seconds();
    Status status = plan_search(compiler->graph, &compiler->options->plan, &search, compiler->diag);
    count_time(&result->seconds[COMPILE_PLAN], &since);
    result->candidates = search.grids;
    Selection selection = {0};
    if (!status)
        status = select_candidate(&search, compiler->pool, result->seconds, &selection,
                                  &compiler->attempt, compiler->diag);
    if (!status && selection.chosen == search.count) {
        status = refuse(&search, &selection, compiler->pool, &result->refusal, compiler->diag);
    } else if (!status) {
        result->rejected = selection.chosen;
        compiler->explanation = explain(&search, selection.chosen);
        if (!compiler->explanation)
            status = no_memory(compiler);
    }
    plan_search_free(&search);
    return status;
}

static Status copy_plan(const Compiler *compiler, Plan *copy) {
    const Plan *given = compiler->options->given;
    *copy = *given;
    copy->values = mem_alloc(given->value_count, sizeof *copy->values);
    copy->operations = mem_alloc(given->operation_count, sizeof *copy->operations);
    if (!copy->values || !copy->operations) {
        plan_free(copy);
        return no_memory(compiler);
    }
    memcpy(copy->values, given->values, given->value_count * sizeof *copy->values);
    memcpy(copy->operations, given->operations, given->operation_count * sizeof *copy->operations);
    return STATUS_OK;
}

/* Takes a given plan as it is; placement speaks for itself when it fails. */
static Status take_given(Compiler *compiler) {
    Plan plan;
    Status status = copy_plan(compiler, &plan);
    if (status)
        return status;
    Attempt *attempt = &compiler->attempt;
    status = attempt_make(compiler->graph, &plan, compiler->pool, compiler->result->seconds,
                          attempt, compiler->diag);
    if (status == ERR_PLACE_INFEASIBLE || status == ERR_PLACE_NOT_FOUND) {
        place_map_free(&attempt->places);
        return place_tiles(&attempt->tiles, attempt->spaces, compiler->pool, &attempt->places,
                           compiler->diag);
    }
    return status;
}

static Status dump(const Compiler *compiler, const EmitImages *images) {
    const CompileOptions *options = compiler->options;
    const Attempt *attempt = &compiler->attempt;
    if (options->explain && compiler->explanation)
        fputs(compiler->explanation, options->explain);
    if (options->dump_plan) {
        char *text = plan_print(compiler->graph, &attempt->plan);
        if (!text)
            return no_memory(compiler);
        fputs(text, options->dump_plan);
        mem_free(text);
    }
    if (options->dump_lower)
        tile_graph_print(&attempt->tiles, options->dump_lower);
    for (size_t i = 0; options->dump_place && i < images->programs.count; i++) {
        uint32_t tile = images->programs.items[i].first_tile;
        fprintf(options->dump_place, "# tile %u\n", tile);
        Status status = place_print_tile(&attempt->tiles, &attempt->spaces[tile], &attempt->places,
                                         tile, options->dump_place, compiler->diag);
        if (status)
            return status;
    }
    return STATUS_OK;
}

/* Takes over `text`, which mem_free frees. */
static Status add_note(const Compiler *compiler, const char *name, char *text) {
    Package *package = compiler->result->package;
    const char *copy = text ? package_string(package, text) : NULL;
    mem_free(text);
    return copy && vec_push(&package->notes, (PackageNote){name, copy}) ? STATUS_OK
                                                                        : no_memory(compiler);
}

static Status add_notes(Compiler *compiler) {
    Status status = add_note(compiler, "graph", graph_print(compiler->graph));
    if (!status)
        status = add_note(compiler, "plan", plan_print(compiler->graph, &compiler->attempt.plan));
    if (!status && compiler->explanation)
        status = add_note(compiler, "explanation", mem_strdup(compiler->explanation));
    return status;
}

static Status add_parameters(Compiler *compiler) {
    const TileGraph *tiles = &compiler->attempt.tiles;
    Package *package = compiler->result->package;
    for (size_t i = 0; i < tiles->bindings.count; i++) {
        const LowerBinding *binding = &tiles->bindings.items[i];
        if (binding->kind != BINDING_PARAMETER)
            continue;
        const PackageBinding *packed = package_find(package, binding->name);
        Status status = package_set_parameter(package, packed, compiler->parameters[binding->value],
                                              compiler->diag);
        if (status)
            return status;
    }
    return STATUS_OK;
}

static Status pack(Compiler *compiler, const EmitImages *images) {
    const Attempt *attempt = &compiler->attempt;
    Package *package = package_create(compiler->options->producer, attempt->tiles.tiles);
    compiler->result->package = package;
    if (!package)
        return no_memory(compiler);
    Status status = package_build(package, compiler->graph, &attempt->tiles, &attempt->library,
                                  images, &attempt->places, NULL, compiler->diag);
    if (!status)
        status = add_notes(compiler);
    if (!status)
        status = add_parameters(compiler);
    return status ? status : package_finish(package, compiler->diag);
}

static Status finish(Compiler *compiler) {
    CompileResult *result = compiler->result;
    Attempt *attempt = &compiler->attempt;
    result->predicted_cycles = attempt->plan.predicted_cycles;
    result->tiles_used = plan_tiles_used(&attempt->plan);
    EmitImages images;
    double since = clock_seconds();
    Status status = emit_images(&attempt->library, &attempt->tiles, &attempt->places, NULL, &images,
                                compiler->diag);
    count_time(&result->seconds[COMPILE_EMIT], &since);
    if (!status)
        status = pack(compiler, &images);
    count_time(&result->seconds[COMPILE_PACK], &since);
    if (!status)
        status = dump(compiler, &images);
    emit_images_free(&images);
    return status;
}

Status compile_graph(const Graph *graph, const void *const *parameters,
                     const CompileOptions *options, Pool *pool, CompileResult *result, Diag *diag) {
    *result = (CompileResult){0};
    double start = clock_seconds();
    Compiler compiler = {.graph = graph,
                         .parameters = parameters,
                         .options = options,
                         .pool = pool,
                         .result = result,
                         .diag = diag};
    Status status = options->given ? take_given(&compiler) : choose(&compiler);
    if (!status)
        status = finish(&compiler);
    attempt_free(&compiler.attempt);
    mem_free(compiler.explanation);
    if (status && result->package) {
        package_free(result->package);
        result->package = NULL;
    }
    result->total_seconds = clock_seconds() - start;
    return status;
}
