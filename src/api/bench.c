#include "api/api.h"

#include "check/check.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a benchmark holds besides its report. */
typedef struct Bench {
    TwContext *context;
    const TwBenchOptions *options;
    TwBenchReport *report;
    TwGraph *graph;
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
    TwStatus status = options->compile.device_input
                          ? tw_graph_device_gemm(bench->context, options->rows, options->inner,
                                                 options->columns, options->operand, &bench->graph)
                          : tw_graph_gemm(bench->context, options->rows, options->inner,
                                          options->columns, options->operand, &bench->graph);
    if (status == 0)
        status =
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
    TwStatus status = tw_device_open(bench->context, report->package, &bench->device);
    if (status == 0)
        status = tw_device_generate(bench->device, "x", bench->options->seed, 1);
    if (status == 0)
        status = tw_device_run(bench->device, true, &report->sampled);
    if (status == 0)
        status = tw_device_run(bench->device, false, &report->run);
    return status;
}

/* The arrays that a check needs, by graph value: at most an input, a weight, a cast of the input, a
 * result. */
enum { CHECKED_VALUES = 4 };

typedef struct Checked {
    Plan plan;
    const void *given[CHECKED_VALUES];
    void *input, *found;
    void *twin[CHECKED_VALUES];
    double *reference[CHECKED_VALUES];
} Checked;

static Status compute_checked(const Bench *bench, Checked *checked) {
    TwContext *context = bench->context;
    Diag *diag = &context->diag;
    const Graph *graph = bench->graph->graph;
    uint32_t result = graph_port_value(graph, graph_find_port(graph, "y"));
    const GraphValue *x = &graph->values.items[0], *y = &graph->values.items[result];
    uint64_t x_count, y_count;
    shape_count(&x->shape, &x_count);
    shape_count(&y->shape, &y_count);
    checked->input = mem_alloc(x_count, precision_bytes(x->precision));
    checked->found = mem_alloc(y_count, precision_bytes(y->precision));
    if (!checked->input || !checked->found)
        return (Status)api_no_memory(context);
    assert(graph->values.count <= CHECKED_VALUES);
    /* The twin adds up in the order of the plan that the package was made by. */
    const char *plan = tw_package_note(bench->report->package, "plan");
    Status status = plan_parse(plan, "plan", graph, &checked->plan, diag);
    if (status == STATUS_OK)
        status = model_generate_codes("x", x_count, bench->options->seed, 1, x->precision,
                                      checked->input, NULL, diag);
    checked->given[0] = checked->input;
    checked->given[1] = bench->weights->parameters.items[0].codes;
    if (status == STATUS_OK)
        status =
            check_twin(graph, &checked->plan, checked->given, context->pool, checked->twin, diag);
    if (status == STATUS_OK)
        status = check_reference(graph, checked->given, context->pool, checked->reference, diag);
    if (status == STATUS_OK)
        status = run_get(bench->device->device, "y", RUN_CODES, checked->found, y_count, diag);
    if (status != STATUS_OK)
        return status;
    CheckResult compared = check_compare(y->precision, checked->found, checked->twin[result],
                                         checked->reference[result], y_count);
    TwBenchReport *report = bench->report;
    report->bit_exact = compared.bit_exact;
    report->differing = compared.differing;
    report->nans = compared.nans;
    report->max_abs_error = compared.max_abs_error;
    report->rel_rms_error = compared.rel_rms_error;
    report->pass = compared.bit_exact && compared.rel_rms_error <= TW_BENCH_MAX_RMS;
    return STATUS_OK;
}

static TwStatus check_bench(const Bench *bench) {
    Checked checked = {0};
    Status status = compute_checked(bench, &checked);
    mem_free(checked.input);
    mem_free(checked.found);
    for (int i = 0; i < CHECKED_VALUES; i++) {
        mem_free(checked.twin[i]);
        mem_free(checked.reference[i]);
    }
    plan_free(&checked.plan);
    return (TwStatus)status;
}

TwStatus tw_bench_gemm(TwContext *context, const TwBenchOptions *options, TwBenchReport *report) {
    Bench bench = {.context = context, .options = options, .report = report};
    *report = (TwBenchReport){0};
    TwStatus status = compile_bench(&bench);
    if (status == 0)
        status = run_bench(&bench);
    if (status == 0)
        status = check_bench(&bench);
    tw_device_close(bench.device);
    tw_weights_free(bench.weights);
    tw_graph_free(bench.graph);
    return status;
}

void tw_bench_free(TwBenchReport *report) {
    tw_package_free(report->package);
    report->package = NULL;
}
