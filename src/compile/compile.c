#include "compile/attempt.h"

#include "base/progress.h"
#include "pack/build.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *compile_pass_name(CompilePass pass) {
    static const char *const names[COMPILE_PASSES] = {"plan",     "lower", "link", "place",
                                                      "exchange", "emit",  "pack"};
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
    uint32_t blocks;   /* into which hidden columns are cut; 1: they are not */
    Graph *cut;        /* then the graph, and codes of its parameters */
    const void **pieces;
    Arena arena;
} Compiler;

static Status no_memory(const Compiler *compiler) {
    return diag_error(compiler->diag, ERR_NO_MEMORY, DIAG_NOWHERE, "compiling a graph");
}

/* plan_explain as a string for mem_free; NULL without memory. */
static char *explain(const PlanSearch *search, size_t chosen, uint32_t blocks) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    if (blocks > 1)
        fprintf(out,
                "hidden columns are computed in up to %u blocks, one after the other: no plan was "
                "found that has room for all of them\n",
                blocks);
    plan_explain(search, chosen, out);
    bool good = fclose(out) == 0;
    char *copy = good && text ? mem_strdup(text) : NULL;
    free(text);
    return copy;
}

/* again: after nothing was found that fits, among all that may take less memory. Tries `most` plans
 * at most. */
static Status search_and_select(Compiler *compiler, bool again, size_t most, PlanSearch *search,
                                Selection *selection) {
    CompileResult *result = compiler->result;
    PlanOptions options = compiler->options->plan;
    bool several = search->is_graph;
    options.complete = (again && !several) || options.complete;
    options.fewer_copies = (again && several) || options.fewer_copies;
    plan_search_free(search);
    double since = clock_seconds();
    Status status = plan_search(compiler->graph, &options, search, compiler->diag);
    count_time(&result->seconds[COMPILE_PLAN], &since);
    result->candidates = search->grids;
    search->count = MIN_OF(search->count, most);
    return status
               ? status
               : select_candidate(search, compiler->pool, result->seconds, compiler->options->rank,
                                  selection, &compiler->attempt, compiler->diag);
}

/* Merges phases, and says so. */
static Status merge(Compiler *compiler) {
    CompileResult *result = compiler->result;
    Merging merging;
    Status status = attempt_merge(compiler->graph, compiler->pool, result->seconds,
                                  &compiler->attempt, &merging, compiler->diag);
    if (status || merging.cycles == merging.cycles_before)
        return status;
    char *text = mem_printf("%s%u exchange phases were made %u: scheduled %" PRIu64
                            " cycles instead of %" PRIu64 "\n",
                            compiler->explanation, merging.phases_before, merging.phases,
                            merging.cycles, merging.cycles_before);
    if (!text)
        return no_memory(compiler);
    mem_free(compiler->explanation);
    compiler->explanation = text;
    return STATUS_OK;
}

static Status take_chosen(Compiler *compiler, const PlanSearch *search,
                          const Selection *selection) {
    CompileResult *result = compiler->result;
    result->rejected = selection->failed;
    result->finalist_count = selection->finalist_count;
    memcpy(result->finalists, selection->finalists, sizeof result->finalists);
    compiler->explanation = explain(search, selection->chosen, compiler->blocks);
    if (!compiler->explanation)
        return no_memory(compiler);
    return compiler->cut ? STATUS_OK : merge(compiler); /* memory is short, phases many */
}

/* From now on `cut` is what is compiled. */
static Status take_cut(Compiler *compiler, Graph *cut, uint32_t blocks) {
    const Graph *whole = compiler->graph;
    compiler->cut = cut;
    compiler->blocks = blocks;
    compiler->pieces = mem_alloc(cut->values.count, sizeof *compiler->pieces);
    if (!compiler->pieces)
        return no_memory(compiler);
    Status status = graph_cut_codes(whole, cut, compiler->parameters, &compiler->arena,
                                    compiler->pieces, compiler->diag);
    compiler->graph = cut;
    compiler->parameters = compiler->pieces;
    return status;
}

/* Blocks that are tried, fewest first: each wants phases, and rows, of its own. */
static const uint32_t tried_blocks[] = {8, 16};
enum { TRIED_PLANS = 4 }; /* of each number */

/* Nothing fits that has all hidden columns at once: looks for a plan that computes them in blocks;
 * *found tells whether there is one. Grids that are forced are meant for whole products. */
static Status choose_blocks(Compiler *compiler, bool *found) {
    const Graph *whole = compiler->graph;
    Status status = STATUS_OK;
    *found = false;
    if (compiler->options->plan.force_count > 0)
        return STATUS_OK;
    for (size_t i = 0; i < COUNT_OF(tried_blocks) && !status && !*found; i++) {
        Graph *cut;
        PlanSearch search = {.is_graph = true}; /* as any search for it would say */
        Selection selection = {0};
        status = graph_cut_hidden(whole, tried_blocks[i], &cut, compiler->diag);
        if (status || !cut)
            return status;
        compiler->graph = cut;
        status = search_and_select(compiler, true, TRIED_PLANS, &search, &selection);
        compiler->graph = whole;
        *found = !status && selection.chosen < search.count;
        if (*found) {
            status = take_cut(compiler, cut, tried_blocks[i]);
            if (!status)
                status = take_chosen(compiler, &search, &selection);
        } else {
            graph_free(cut);
        }
        plan_search_free(&search);
    }
    return status;
}

/* Searches, at first near the best plan, and takes the first candidate that can be placed. */
static Status choose(Compiler *compiler) {
    CompileResult *result = compiler->result;
    PlanSearch search = {0};
    Selection selection = {0};
    Status status = refuse_giant(compiler->graph, compiler->options->plan.tiles, &result->refusal,
                                 compiler->diag);
    if (!status)
        status = refuse_parameters(compiler->graph, &compiler->options->plan, compiler->pool,
                                   &result->refusal, compiler->diag);
    if (status)
        return status;
    status = search_and_select(compiler, false, SIZE_MAX, &search, &selection);
    if (!status && selection.chosen == search.count && search.left_out)
        status = search_and_select(compiler, true, SIZE_MAX, &search, &selection);
    bool found = !status && selection.chosen < search.count;
    if (found)
        status = take_chosen(compiler, &search, &selection);
    else if (!status)
        status = choose_blocks(compiler, &found);
    if (!status && !found)
        status = refuse(&search, &selection, compiler->pool, &result->refusal, compiler->diag);
    plan_search_free(&search);
    return status;
}

/* Takes a given plan as it is; placement speaks for itself when it fails. */
static Status take_given(Compiler *compiler) {
    Plan plan;
    Status status = plan_copy(compiler->options->given, &plan, compiler->diag);
    if (status)
        return status;
    Attempt *attempt = &compiler->attempt;
    Probe probe;
    status = attempt_make(compiler->graph, &plan, compiler->pool, compiler->result->seconds,
                          attempt, &probe, compiler->diag);
    if ((status == ERR_PLACE_INFEASIBLE || status == ERR_PLACE_NOT_FOUND) &&
        !attempt->places.address) {
        place_map_free(&attempt->places);
        return place_tiles(&attempt->tiles, attempt->spaces, compiler->pool, &attempt->places,
                           compiler->diag);
    }
    return status;
}

static double ratio_of(uint64_t horizon, uint64_t bound) {
    return bound ? (double)horizon / (double)bound : 0;
}

static void dump_phases(const Attempt *attempt, FILE *out) {
    uint64_t bounds = 0, horizons = 0, leasts = 0;
    uint32_t worst = 0, worst_excess = 0;
    for (uint32_t i = 0; i < attempt->tiles.exchanges; i++) {
        const AttemptPhase *phase = &attempt->phases[i];
        const XchgSchedule *schedule = &phase->schedule;
        uint64_t bound = xchg_phase_bound(&phase->phase, attempt->tiles.tiles);
        uint32_t excess = schedule->horizon - MIN_OF(schedule->horizon, schedule->least);
        bounds += bound;
        horizons += schedule->horizon;
        leasts += schedule->least;
        if (i == 0 || excess > worst_excess) {
            worst = i;
            worst_excess = excess;
        }
        fprintf(out,
                "%s: %zu copies, bound %" PRIu64
                " words, horizon %u events (%.3f), at least %u, longest row %u bytes, %s\n",
                phase->name, phase->phase.transfers.count, bound, schedule->horizon,
                ratio_of(schedule->horizon, bound), schedule->least, phase->rows.max_bytes,
                schedule->policy ? schedule->policy : "");
    }
    if (attempt->tiles.exchanges > 0)
        fprintf(out,
                "all exchanges: bound %" PRIu64 " words, horizon %" PRIu64
                " events (%.3f), at least %" PRIu64 "; the farthest from its least: %u\n",
                bounds, horizons, ratio_of(horizons, bounds), leasts, worst);
}

/* Exact times of the whole program, from the schedules. */
static Status count_cycles(Compiler *compiler) {
    const Attempt *attempt = &compiler->attempt;
    uint64_t *const cycles[] = {&compiler->result->scheduled_cycles,
                                &compiler->result->scheduled_cycles_sampled};
    Status status = STATUS_OK;
    for (int sampled = 0; sampled < 2 && !status; sampled++) {
        EmitTimes times;
        status =
            emit_times(&attempt->tiles, attempt->exchanges, sampled, 0, &times, compiler->diag);
        *cycles[sampled] = times.cycles;
        emit_times_free(&times);
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
    if (options->dump_exchange)
        dump_phases(attempt, options->dump_exchange);
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
    if (!status && compiler->cut)
        status = add_note(compiler, "hidden blocks", mem_printf("%u", compiler->blocks));
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
                                  images, &attempt->places, attempt->exchanges, compiler->diag);
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
    EmitImages images = {0};
    double since = clock_seconds();
    Status status = count_cycles(compiler);
    if (!status)
        status = emit_images(&attempt->library, &attempt->tiles, &attempt->places,
                             attempt->exchanges, &images, compiler->diag);
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
                         .diag = diag,
                         .blocks = 1};
    Status status = options->given ? take_given(&compiler) : choose(&compiler);
    if (!status)
        status = finish(&compiler);
    attempt_free(&compiler.attempt);
    mem_free(compiler.explanation);
    mem_free(compiler.pieces);
    arena_free(&compiler.arena);
    graph_free(compiler.cut);
    if (status && result->package) {
        package_free(result->package);
        result->package = NULL;
    }
    result->total_seconds = clock_seconds() - start;
    return status;
}
