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
    tw_package_free(compiled);
    return status;
}

/* Plain, then with samples; both must give the output that is checked, which is read last. */
static TwStatus run_bench(Bench *bench) {
    TwBenchReport *report = bench->report;
    const Graph *graph = bench->graph->graph;
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
    const void **given;
    void **inputs; /* the generated ones of these */
    void **twin;
    double **reference;
} Checked;

static bool open_checked(const Bench *bench, Checked *checked) {
    size_t count = bench->graph->graph->values.count;
    checked->given = mem_alloc(count, sizeof *checked->given);
    checked->inputs = mem_alloc(count, sizeof *checked->inputs);
    checked->twin = mem_alloc(count, sizeof *checked->twin);
    checked->reference = mem_alloc(count, sizeof *checked->reference);
    return checked->given && checked->inputs && checked->twin && checked->reference;
}

static void free_all(void **blocks, size_t count) {
    for (size_t i = 0; blocks && i < count; i++)
        mem_free(blocks[i]);
    mem_free(blocks);
}

static void close_checked(const Bench *bench, Checked *checked) {
    size_t count = bench->graph->graph->values.count;
    free_all(checked->inputs, count);
    free_all(checked->twin, count);
    free_all((void **)checked->reference, count);
    mem_free(checked->given);
    plan_free(&checked->plan);
}

/* Codes of all inputs and parameters. */
static Status give_codes(const Bench *bench, Checked *checked) {
    const Graph *graph = bench->graph->graph;
    const ModelParameters *parameters = &bench->weights->parameters;
    for (size_t i = 0; i < parameters->count; i++)
        checked->given[graph->ops.items[parameters->items[i].op].result] =
            parameters->items[i].codes;
    Status status = STATUS_OK;
    for (size_t op = 0; op < graph->ops.count && status == STATUS_OK; op++) {
        if (graph->ops.items[op].kind != GRAPH_INPUT)
            continue;
        uint32_t v = graph->ops.items[op].result;
        const GraphValue *value = &graph->values.items[v];
        uint64_t count;
        shape_count(&value->shape, &count);
        void *codes = mem_alloc(count, precision_bytes(value->precision));
        if (!codes)
            return (Status)api_no_memory(bench->context);
        checked->given[v] = checked->inputs[v] = codes;
        status =
            model_generate_codes(graph->ops.items[op].name, count, bench->options->seed,
                                 INPUT_SIGMA, value->precision, codes, NULL, &bench->context->diag);
    }
    return status;
}

/* Adds an output's errors to the report. */
static Status compare_output(const Bench *bench, const Checked *checked, const GraphOp *output) {
    uint32_t v = output->operands[0];
    const GraphValue *value = &bench->graph->graph->values.items[v];
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
    const Graph *graph = bench->graph->graph;
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
    const Graph *graph = bench->graph->graph;
    TwBenchReport *report = bench->report;
    Checked checked = {0};
    Status status = compute_checked(bench, &checked);
    report->bit_exact = true;
    for (size_t op = 0; op < graph->ops.count && status == STATUS_OK; op++)
        if (graph->ops.items[op].kind == GRAPH_OUTPUT)
            status = compare_output(bench, &checked, &graph->ops.items[op]);
    unsigned casts = 0;
    for (size_t op = 0; op < graph->ops.count; op++)
        casts += graph->ops.items[op].kind == GRAPH_CAST;
    report->pass =
        report->bit_exact && report->rel_rms_error <= TW_BENCH_MAX_RMS * MAX_OF(casts, 1u);
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
    return status;
}

void tw_bench_free(TwBenchReport *report) {
    tw_package_free(report->package);
    tw_profile_free(report->profile);
    report->package = NULL;
    report->profile = NULL;
}
