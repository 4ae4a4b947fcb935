#include "api/api.h"

#include "check/check.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const double INPUT_SIGMA = 1;

/* NaN counts as the largest error. */
static double larger(double a, double b) {
    return isnan(a) || a > b ? a : b;
}

/* What a benchmark holds besides its report. */
typedef struct Bench {
    TwContext *context;
    const TwBenchOptions *options;
    TwBenchReport *report;
    const TwGraph *graph;
    Graph *cut;           /* what the package was planned for, if hidden columns are cut */
    const Graph *planned; /* that, or the graph itself */
    TwWeights *weights;
    TwDevice *device;
} Bench;

/* A path for a package that is deleted after it was read back: a name in a folder of its own. */
static Status temporary_package(char **folder, char **path, Diag *diag) {
    const char *parent = getenv("TMPDIR");
    *folder = mem_printf("%s/tilework-XXXXXX", parent && *parent ? parent : "/tmp");
    *path = NULL;
    if (!*folder)
        return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory left on the host");
    if (!mkdtemp(*folder)) {
        Status status = diag_error(diag, ERR_FILE_WRITE, (DiagPlace){.file = *folder, .tile = -1},
                                   "cannot make a temporary folder: %s", strerrordesc_np(errno));
        mem_free(*folder);
        *folder = NULL;
        return status;
    }
    *path = mem_printf("%s/bench.twpkg", *folder);
    if (*path)
        return STATUS_OK;
    return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory left on the host");
}

/* Writes the package and reads it back, so that what runs is what a file can hold. */
static TwStatus pass_through_file(const Bench *bench, const TwPackage *compiled) {
    Diag *diag = &bench->context->diag;
    char *folder = NULL, *owned = NULL;
    const char *path = bench->options->package_path;
    TwStatus status = 0;
    if (!path) {
        status = (TwStatus)temporary_package(&folder, &owned, diag);
        path = owned;
    }
    if (status == 0)
        status = tw_package_write(bench->context, compiled, path);
    struct stat info;
    if (status == 0 && stat(path, &info) == 0)
        bench->report->package_bytes = (uint64_t)info.st_size;
    if (status == 0)
        status = tw_package_read(bench->context, path, &bench->report->package);
    if (owned)
        unlink(owned);
    if (folder)
        rmdir(folder);
    mem_free(owned);
    mem_free(folder);
    return status;
}

/* The graph that the package's plan is of. */
static TwStatus find_planned(Bench *bench) {
    const Graph *graph = bench->graph->graph;
    const char *blocks = tw_package_note(bench->report->package, "hidden blocks");
    Status status = STATUS_OK;
    if (blocks)
        status = graph_cut_hidden(graph, (uint32_t)strtoul(blocks, NULL, 10), &bench->cut,
                                  &bench->context->diag);
    bench->planned = bench->cut ? bench->cut : graph;
    return (TwStatus)status;
}

static TwStatus compile_bench(Bench *bench) {
    const TwBenchOptions *options = bench->options;
    TwPackage *compiled = NULL;
    TwStatus status =
        api_generate_weights(bench->context, bench->graph, options->seed, options->weight_sigma,
                             options->compile.tiles, &bench->weights);
    if (status == 0)
        status = tw_compile(bench->context, bench->graph, bench->weights, &options->compile,
                            &compiled, &bench->report->compile);
    if (status == 0)
        status = pass_through_file(bench, compiled);
    if (status == 0)
        status = find_planned(bench);
    tw_package_free(compiled);
    return status;
}

/* Plain, then with samples; both must give the output that is checked, which is read last. */
static TwStatus run_bench(Bench *bench) {
    TwBenchReport *report = bench->report;
    const Graph *graph = bench->planned;
    Diag *diag = &bench->context->diag;
    TwStatus status = api_device_open(bench->context, report->package, true, &bench->device);
    for (uint32_t op = 0; op < graph->ops.count && status == 0; op++)
        if (graph->ops.items[op].kind == GRAPH_INPUT)
            status = tw_device_generate(bench->device, graph->ops.items[op].name,
                                        bench->options->seed, INPUT_SIGMA);
    if (status == 0)
        status = tw_device_run(bench->device, true, &report->sampled);
    if (status == 0 && !(report->profile = mem_alloc(1, sizeof *report->profile)))
        status = api_no_memory(bench->context);
    if (status == 0)
        status =
            (TwStatus)api_profile_begin(report->package->package, graph, bench->device->device,
                                        report->sampled.cycles, &report->profile->profile, diag);
    if (status == 0)
        status = tw_device_run(bench->device, false, &report->run);
    if (status == 0)
        status = (TwStatus)api_profile_end(bench->device->device, report->run.cycles,
                                           &report->profile->profile, diag);
    return status;
}

/* The arrays that a check needs, by graph value. */
typedef struct Checked {
    Plan plan;
    const void **given; /* codes of inputs and parameters of what was planned */
    Arena arena;        /* holds some of them */
    void **twin;
    double **reference;
} Checked;

static bool open_checked(const Bench *bench, Checked *checked) {
    size_t count = bench->planned->values.count;
    checked->given = mem_alloc(count, sizeof *checked->given);
    checked->twin = mem_alloc(count, sizeof *checked->twin);
    checked->reference = mem_alloc(count, sizeof *checked->reference);
    return checked->given && checked->twin && checked->reference;
}

static void free_all(void **blocks, size_t count) {
    for (size_t i = 0; blocks && i < count; i++)
        mem_free(blocks[i]);
    mem_free(blocks);
}

static void close_checked(const Bench *bench, Checked *checked) {
    size_t count = bench->planned->values.count;
    free_all(checked->twin, count);
    free_all((void **)checked->reference, count);
    mem_free(checked->given);
    arena_free(&checked->arena);
    plan_free(&checked->plan);
}

static Status generate_input(const Bench *bench, const GraphOp *input, Arena *arena,
                             const void **given) {
    const GraphValue *value = &bench->graph->graph->values.items[input->result];
    uint64_t count;
    shape_count(&value->shape, &count);
    void *codes = arena_alloc(arena, count, precision_bytes(value->precision));
    if (!codes)
        return (Status)api_no_memory(bench->context);
    given[input->result] = codes;
    return model_generate_codes(input->name, count, bench->options->seed, INPUT_SIGMA,
                                value->precision, codes, NULL, &bench->context->diag);
}

/* Codes of all inputs and parameters. */
static Status give_codes(const Bench *bench, Checked *checked) {
    const Graph *graph = bench->graph->graph;
    const ModelParameters *parameters = &bench->weights->parameters;
    const void **given = ARENA_NEW(&checked->arena, const void *, graph->values.count);
    if (!given)
        return (Status)api_no_memory(bench->context);
    for (size_t i = 0; i < parameters->count; i++)
        given[graph->ops.items[parameters->items[i].op].result] = parameters->items[i].codes;
    Status status = STATUS_OK;
    for (size_t op = 0; op < graph->ops.count && status == STATUS_OK; op++)
        if (graph->ops.items[op].kind == GRAPH_INPUT)
            status = generate_input(bench, &graph->ops.items[op], &checked->arena, given);
    if (status == STATUS_OK && bench->cut)
        return graph_cut_codes(graph, bench->cut, given, &checked->arena, checked->given,
                               &bench->context->diag);
    memcpy(checked->given, given, graph->values.count * sizeof *given);
    return status;
}

/* Adds an output's errors to the report. */
static Status compare_output(const Bench *bench, const Checked *checked, const GraphOp *output) {
    uint32_t v = output->operands[0];
    const GraphValue *value = &bench->planned->values.items[v];
    TwBenchReport *report = bench->report;
    uint64_t count;
    shape_count(&value->shape, &count);
    void *found = mem_alloc(count, precision_bytes(value->precision));
    if (!found)
        return (Status)api_no_memory(bench->context);
    Status status = run_get(bench->device->device, output->name, RUN_CODES, found, count,
                            &bench->context->diag);
    if (status == STATUS_OK) {
        CheckResult compared =
            check_compare(value->precision, found, checked->twin[v], checked->reference[v], count);
        report->bit_exact &= compared.bit_exact;
        report->differing += compared.differing;
        report->nans += compared.nans;
        report->max_abs_error = larger(report->max_abs_error, compared.max_abs_error);
        report->rel_rms_error = larger(report->rel_rms_error, compared.rel_rms_error);
    }
    mem_free(found);
    return status;
}

static Status compute_checked(const Bench *bench, Checked *checked) {
    const Graph *graph = bench->planned;
    TwContext *context = bench->context;
    Diag *diag = &context->diag;
    if (!open_checked(bench, checked))
        return (Status)api_no_memory(context);
    /* The twin adds up in the order of the plan that the package was made by. */
    const char *plan = tw_package_note(bench->report->package, "plan");
    Status status = plan_parse(plan, "plan", graph, &checked->plan, diag);
    if (status == STATUS_OK)
        status = give_codes(bench, checked);
    if (status == STATUS_OK)
        status =
            check_twin(graph, &checked->plan, checked->given, context->pool, checked->twin, diag);
    if (status == STATUS_OK)
        status = check_reference(graph, checked->given, context->pool, checked->reference, diag);
    return status;
}

static TwStatus check_bench(const Bench *bench) {
    const Graph *graph = bench->planned;
    TwBenchReport *report = bench->report;
    Checked checked = {0};
    Status status = compute_checked(bench, &checked);
    report->bit_exact = true;
    for (size_t op = 0; op < graph->ops.count && status == STATUS_OK; op++)
        if (graph->ops.items[op].kind == GRAPH_OUTPUT)
            status = compare_output(bench, &checked, &graph->ops.items[op]);
    unsigned casts = 0;
    const Graph *whole = bench->graph->graph;
    for (size_t op = 0; op < whole->ops.count; op++)
        casts += whole->ops.items[op].kind == GRAPH_CAST;
    report->rms_limit = TW_BENCH_MAX_RMS * MAX_OF(casts, 1u);
    report->pass = report->bit_exact && report->rel_rms_error <= report->rms_limit;
    close_checked(bench, &checked);
    return (TwStatus)status;
}

TwStatus tw_bench(TwContext *context, const TwGraph *graph, const TwBenchOptions *options,
                  TwBenchReport *report) {
    Bench bench = {.context = context, .graph = graph, .options = options, .report = report};
    *report = (TwBenchReport){0};
    TwStatus status = compile_bench(&bench);
    if (status == 0)
        status = run_bench(&bench);
    if (status == 0)
        status = check_bench(&bench);
    tw_device_close(bench.device);
    tw_weights_free(bench.weights);
    graph_free(bench.cut);
    return status;
}

void tw_bench_free(TwBenchReport *report) {
    tw_package_free(report->package);
    tw_profile_free(report->profile);
    report->package = NULL;
    report->profile = NULL;
}
