#include "base/file.h"
#include "base/progress.h"
#include "cli/profile.h"

#include <string.h>

/* The options of bench itself, in their order. */
enum {
    ROWS,
    INNER,
    COLUMNS,
    TOKENS,
    WIDTH,
    HIDDEN,
    BLOCKS,
    BATCH,
    BIAS,
    RESIDUAL,
    SCALE,
    F16,
    SEED,
    SIGMA,
    PACKAGE,
    PROFILE,
    OWN_OPTIONS
};

typedef struct Arguments {
    CompileArguments compile;
    int64_t extents[BATCH + 1]; /* ROWS … BATCH */
    bool bias, residual, f16;
    int64_t scale, seed;
    double weight_sigma;
    const char *package, *profile;
} Arguments;

/* A workload, with the three extents that it needs and the range of its other options. */
typedef struct Workload {
    const char *name, *needs;
    int first_extent, last_option;
} Workload;

static const Workload workloads[] = {
    {"gemm", "--rows, --inner and --columns", ROWS, COLUMNS},
    {"mlp", "--tokens, --width and --hidden", TOKENS, RESIDUAL},
};
enum { GEMM, MLP };

static TwPrecision operand_precision(const Arguments *arguments) {
    return arguments->f16 ? (TwPrecision){.kind = TW_F16}
                          : (TwPrecision){TW_F8F143, (int)arguments->scale};
}

/* Bytes that the host uploads for every run, and copies of every parameter. */
static void report_bindings(Cli *cli, const TwPackage *package) {
    uint64_t input_bytes = 0;
    json_t *copies = json_object();
    for (size_t i = 0; i < tw_binding_count(package); i++) {
        TwBinding binding = tw_binding(package, i);
        if (binding.kind == TW_INPUT)
            input_bytes += binding.allocated_bytes;
        if (binding.kind == TW_PARAMETER)
            json_object_set_new(copies, binding.name, json_integer(binding.copies));
    }
    cli_put_whole(cli, "input_bytes", input_bytes);
    cli_put(cli, "weight_copies", copies);
}

static void put_workload(Cli *cli, const Arguments *arguments, const Workload *workload,
                         const Option *options) {
    json_t *shape = json_object();
    for (int i = workload->first_extent; i < workload->first_extent + 3; i++)
        json_object_set_new(shape, options[i].name, json_integer(arguments->extents[i]));
    cli_put(cli, "workload", json_string(workload->name));
    cli_put(cli, "shape", shape);
    cli_put(cli, "precision", cli_text(arguments->f16 ? "f16" : "f8f143"));
    cli_put(cli, "scale_exponent", arguments->f16 ? json_null() : json_integer(arguments->scale));
    cli_put_whole(cli, "blocks", (uint64_t)arguments->extents[BLOCKS]);
    cli_put_whole(cli, "batch", (uint64_t)arguments->extents[BATCH]);
    cli_put(cli, "bias", json_boolean(arguments->bias));
    cli_put(cli, "residual", json_boolean(arguments->residual));
    cli_put(cli, "device_input", json_boolean(arguments->compile.device_input));
}

static TwStatus put_result(Cli *cli, const TwBenchReport *report) {
    char digest[TW_DIGEST_TEXT];
    tw_package_digest(report->package, digest);
    report_bindings(cli, report->package);
    cli_put_whole(cli, "cycles", report->run.cycles);
    cli_put_whole(cli, "cycles_sampled", report->sampled.cycles);
    TwStatus status = profile_put(cli, report->profile);
    cli_put_real(cli, "max_abs_error", report->max_abs_error);
    cli_put_real(cli, "rel_rms_error", report->rel_rms_error);
    cli_put(cli, "bit_exact", json_boolean(report->bit_exact));
    cli_put(cli, "pass", json_boolean(report->pass));
    cli_put_real(cli, "simulate_seconds", report->run.seconds);
    cli_put_whole(cli, "bundles", report->run.bundles);
    cli_put_whole(cli, "peak_rss_bytes", peak_rss_bytes());
    cli_put_whole(cli, "package_bytes", report->package_bytes);
    cli_put(cli, "content_digest", cli_text(digest));
    return status;
}

static void print_result(const Arguments *arguments, const Workload *workload,
                         const TwBenchReport *report) {
    char a[CLI_NUMBER], b[CLI_NUMBER], digest[TW_DIGEST_TEXT];
    const TwCompileReport *compile = &report->compile;
    const int64_t *extents = arguments->extents + workload->first_extent;
    printf("%s %lld x %lld x %lld, ", workload->name, (long long)extents[0], (long long)extents[1],
           (long long)extents[2]);
    if (arguments->extents[BLOCKS] > 1)
        printf("%lld blocks, ", (long long)arguments->extents[BLOCKS]);
    if (arguments->extents[BATCH] > 1)
        printf("batch %lld, ", (long long)arguments->extents[BATCH]);
    if (arguments->f16)
        fputs("f16", stdout);
    else
        printf("f8f143(s=%lld)", (long long)arguments->scale);
    printf(", %u of %u tiles\n", compile->tiles_used, compile->tiles);
    printf("cycles           %s, predicted %s, ", cli_number(report->run.cycles, a),
           cli_number(compile->predicted_cycles, b));
    printf("scheduled %s\n", cli_number(compile->scheduled_cycles, a));
    printf("  with samples   %s\n", cli_number(report->sampled.cycles, a));
    printf("  ideal          %.1f (%.1f %%)\n", compile->ideal_cycles,
           100 * compile->ideal_cycles / (double)report->run.cycles);
    printf("error            max %.6g, relative rms %.6g\n", report->max_abs_error,
           report->rel_rms_error);
    printf("bit exact        %s\n", report->bit_exact ? "yes" : "no");
    if (!report->bit_exact)
        printf("  differing      %s values, %s of them NaN\n", cli_number(report->differing, a),
               cli_number(report->nans, b));
    printf("compiled in      %.3f s, %s plans priced, %s given up\n", compile->seconds,
           cli_number(compile->candidates, a), cli_number(compile->rejected, b));
    printf("simulated in     %.3f s, %s bundles\n", report->run.seconds,
           cli_number(report->run.bundles, a));
    tw_package_digest(report->package, digest);
    printf("package          %s bytes, content %s\n", cli_number(report->package_bytes, a), digest);
    if (report->pass)
        puts("pass");
    else if (report->bit_exact)
        printf("FAIL: the relative rms is above %.6g, 0.02 for each cast: values near or below the "
               "smallest codes; try another scale\n",
               report->rms_limit);
    else
        puts("FAIL");
}

static TwStatus build_graph(Cli *cli, const Arguments *arguments, const Workload *workload,
                            TwGraph **graph) {
    const int64_t *extents = arguments->extents;
    TwPrecision operand = operand_precision(arguments);
    bool device_input = arguments->compile.device_input;
    if (workload == &workloads[GEMM])
        return (device_input ? tw_graph_device_gemm : tw_graph_gemm)(
            cli->context, (uint32_t)extents[ROWS], (uint32_t)extents[INNER],
            (uint32_t)extents[COLUMNS], operand, graph);
    TwMlp mlp = {.tokens = (uint32_t)extents[TOKENS],
                 .width = (uint32_t)extents[WIDTH],
                 .hidden = (uint32_t)extents[HIDDEN],
                 .blocks = (uint32_t)extents[BLOCKS],
                 .batch = (uint32_t)extents[BATCH],
                 .bias = arguments->bias,
                 .residual = arguments->residual,
                 .device_input = device_input,
                 .operand = operand};
    return tw_graph_mlp(cli->context, &mlp, graph);
}

static TwStatus check_targets(Cli *cli, const Arguments *arguments) {
    const char *const paths[] = {arguments->package, arguments->profile};
    Status status = STATUS_OK;
    for (size_t i = 0; i < COUNT_OF(paths) && status == STATUS_OK; i++)
        if (paths[i])
            status = file_check_target(paths[i], &cli->diag);
    return (TwStatus)status;
}

static TwStatus bench(Cli *cli, Arguments *arguments, const Workload *workload, const Option *own,
                      bool *failed) {
    TwGraph *graph = NULL;
    TwBenchReport report = {0};
    TwBenchOptions options = {.seed = (uint64_t)arguments->seed,
                              .weight_sigma = arguments->weight_sigma,
                              .package_path = arguments->package};
    TwStatus status = check_targets(cli, arguments);
    if (status == 0)
        status = build_graph(cli, arguments, workload, &graph);
    if (status == 0)
        status = (TwStatus)compile_open(cli, &arguments->compile, &options.compile);
    if (status == 0) {
        put_workload(cli, arguments, workload, own);
        status = tw_bench(cli->context, graph, &options, &report);
        compile_report(cli, &arguments->compile, &report.compile);
    }
    if (status == 0) {
        status = put_result(cli, &report);
        if (!cli->report)
            print_result(arguments, workload, &report);
        if (arguments->profile && status == 0) {
            if (!cli->report)
                profile_print_causes(report.profile);
            status = tw_profile_write(cli->context, report.profile, arguments->profile);
        }
        *failed = !report.pass;
    }
    tw_bench_free(&report);
    tw_graph_free(graph);
    return status;
}

/* The workload that is named, or NULL with an error: unknown, without what it needs, or with what
 * it does not take. */
static const Workload *find_workload(Cli *cli, const Option *options) {
    const char *name = cli->arguments.items[0];
    const Workload *workload = NULL;
    for (size_t i = 0; i < COUNT_OF(workloads); i++)
        if (strcmp(name, workloads[i].name) == 0)
            workload = &workloads[i];
    if (!workload) {
        cli_error(cli, ERR_CLI_NAME, name, "no workload of this name; there are gemm and mlp");
        return NULL;
    }
    for (int i = 0; i <= RESIDUAL; i++) {
        bool own = i >= workload->first_extent && i <= workload->last_option;
        bool needed = own && i < workload->first_extent + 3;
        if (needed && !options[i].given)
            cli_error(cli, ERR_CLI_MISSING, name, "needs %s", workload->needs);
        else if (!own && options[i].given)
            cli_error(cli, ERR_CLI_CONFLICT, name, "takes no option --%s", options[i].name);
        else
            continue;
        return NULL;
    }
    if (options[F16].given && options[SCALE].given) {
        cli_error(cli, ERR_CLI_CONFLICT, "option --f16",
                  "cannot be given together with --fp8-scale");
        return NULL;
    }
    return workload;
}

static void extent_option(Arguments *arguments, Option *options, int which, const char *name,
                          const char *help) {
    options[which] = (Option){.name = name,
                              .kind = OPTION_WHOLE,
                              .value = "N",
                              .help = help,
                              .target = &arguments->extents[which],
                              .least = 1,
                              .most = UINT32_MAX};
}

static void own_options(Arguments *arguments, Option options[OWN_OPTIONS]) {
    extent_option(arguments, options, ROWS, "rows", "gemm: rows of the left operand");
    extent_option(arguments, options, INNER, "inner",
                  "gemm: columns of the left, rows of the right operand");
    extent_option(arguments, options, COLUMNS, "columns", "gemm: columns of the right operand");
    extent_option(arguments, options, TOKENS, "tokens", "mlp: rows of the input");
    extent_option(arguments, options, WIDTH, "width", "mlp: columns of input and output");
    extent_option(arguments, options, HIDDEN, "hidden", "mlp: columns between the products");
    extent_option(arguments, options, BLOCKS, "blocks", "mlp: how many, one after the other");
    extent_option(arguments, options, BATCH, "batch", "mlp: inputs that go through together");
    arguments->extents[BLOCKS] = arguments->extents[BATCH] = 1;
    options[BLOCKS].most = 1000;
    options[BIAS] = (Option){.name = "bias",
                             .kind = OPTION_FLAG,
                             .help = "mlp: add a bias to every product",
                             .target = &arguments->bias};
    options[RESIDUAL] = (Option){.name = "residual",
                                 .kind = OPTION_FLAG,
                                 .help = "mlp: add a block's input to its output",
                                 .target = &arguments->residual};
    options[SCALE] =
        (Option){.name = "fp8-scale",
                 .kind = OPTION_WHOLE,
                 .value = "E",
                 .help = "operands in F143 with this scale exponent; -4 represents ±15",
                 .target = &arguments->scale,
                 .least = -16,
                 .most = 15};
    options[F16] = (Option){.name = "f16",
                            .kind = OPTION_FLAG,
                            .help = "operands in F16 (the default)",
                            .target = &arguments->f16};
    options[SEED] = (Option){.name = "seed",
                             .kind = OPTION_WHOLE,
                             .value = "N",
                             .help = "of the generated data (default 0)",
                             .target = &arguments->seed,
                             .least = 0,
                             .most = INT64_MAX};
    options[SIGMA] = (Option){.name = "weight-sigma",
                              .kind = OPTION_REAL,
                              .value = "S",
                              .help = "standard deviation of the weights (default 1/√inner)",
                              .target = &arguments->weight_sigma,
                              .least = 0,
                              .most = 1000000};
    options[PACKAGE] = (Option){.name = "package",
                                .kind = OPTION_TEXT,
                                .value = "FILE",
                                .help = "keep the package",
                                .target = &arguments->package};
    options[PROFILE] = (Option){.name = "profile",
                                .kind = OPTION_TEXT,
                                .value = "FILE",
                                .help = "keep the profile, for tilework profile",
                                .target = &arguments->profile};
}

static int run_bench(Cli *cli, int argc, char **argv) {
    Arguments arguments = {0};
    Option options[] = {
        [OWN_OPTIONS + CLI_COMPILE_OPTIONS] = CLI_OPTION_CHECK,
        CLI_OPTION_THREADS,
        CLI_OPTION_JSON,
        CLI_OPTION_HELP,
    };
    own_options(&arguments, options);
    compile_options(&arguments.compile, options + OWN_OPTIONS);
    bool failed = false;
    TwStatus status = 0;
    if (cli_begin(cli, options, COUNT_OF(options), argc, argv)) {
        const Workload *workload = find_workload(cli, options);
        arguments.f16 = !options[SCALE].given;
        if (workload)
            status = bench(cli, &arguments, workload, options, &failed);
    }
    compile_free(&arguments.compile);
    return cli_end(cli, status, failed);
}

const Verb verb_bench = {
    .name = "bench",
    .arguments = "WORKLOAD",
    .least = 1,
    .most = 1,
    .summary = "compile, run and check a workload on generated data",
    .about = "Workload gemm: y = x·w, x [rows,inner], w [inner,columns].\n"
             "Workload mlp: blocks of a product [width,hidden], GELU and a product [hidden,width] "
             "on\nx [tokens,width], or [batch,tokens,width].\n"
             "The package goes through a file; what is read back runs on the simulated chip, and "
             "every\nvalue of the output is compared with a bit-exact twin and with an F64 "
             "reference. Exit\ncode 1 if a bit differs, or more than 0.02 relative rms for each "
             "cast.\n",
    .examples =
        "  tilework bench gemm --rows 128 --inner 128 --columns 64 --fp8-scale -4 "
        "--package gemm.twpkg --profile gemm.twprof\n"
        "  tilework bench gemm --rows 128 --inner 128 --columns 64 --f16 --tiles 64 "
        "--json\n"
        "  tilework bench mlp --tokens 48 --width 64 --hidden 192 --tiles 16 --fp8-scale -4\n",
    .run = run_bench,
};
