#include "base/file.h"
#include "base/progress.h"
#include "cli/cli.h"

typedef struct Arguments {
    CompileArguments compile;
    Texts weights;
    int64_t seed;
    double weight_sigma;
    bool generated;
    const char *package;
} Arguments;

static void report_package(Cli *cli, const Arguments *arguments, const TwPackage *package,
                           const TwCompileReport *report) {
    char digest[TW_DIGEST_TEXT], a[CLI_NUMBER], b[CLI_NUMBER];
    tw_package_digest(package, digest);
    cli_put(cli, "content_digest", cli_text(digest));
    cli_put(cli, "package", cli_text(arguments->package));
    cli_put_whole(cli, "peak_rss_bytes", peak_rss_bytes());
    if (cli->report)
        return;
    printf("%s: %u of %u tiles, %s cycles predicted\n", arguments->package, report->tiles_used,
           report->tiles, cli_number(report->predicted_cycles, a));
    printf("compiled in %.3f s, %s plans priced; content %s\n", report->seconds,
           cli_number(report->candidates, b), digest);
}

static TwStatus load_weights(Cli *cli, const Arguments *arguments, const TwGraph *graph,
                             TwWeights **weights) {
    if (arguments->generated)
        return tw_weights_generate(cli->context, graph, (uint64_t)arguments->seed,
                                   arguments->weight_sigma, weights);
    return tw_weights_read(cli->context, graph, arguments->weights.items, arguments->weights.count,
                           weights);
}

static TwStatus compile(Cli *cli, Arguments *arguments) {
    TwGraph *graph = NULL;
    TwWeights *weights = NULL;
    TwPackage *package = NULL;
    TwCompileOptions options;
    TwStatus status = (TwStatus)file_check_target(arguments->package, &cli->diag);
    if (status == 0)
        status = tw_graph_read(cli->context, cli->arguments.items[0], &graph);
    if (status == 0)
        status = load_weights(cli, arguments, graph, &weights);
    if (status == 0)
        status = (TwStatus)compile_open(cli, &arguments->compile, &options);
    if (status == 0) {
        TwCompileReport report;
        status = tw_compile(cli->context, graph, weights, &options, &package, &report);
        compile_report(cli, &arguments->compile, &report);
        if (status == 0)
            status = tw_package_write(cli->context, package, arguments->package);
        if (status == 0)
            report_package(cli, arguments, package, &report);
    }
    tw_package_free(package);
    tw_weights_free(weights);
    tw_graph_free(graph);
    return status;
}

static int run_compile(Cli *cli, int argc, char **argv) {
    Arguments arguments = {0};
    Option options[] = {
        {.name = "package",
         .letter = 'o',
         .kind = OPTION_TEXT,
         .value = "FILE",
         .help = "the package to write",
         .target = &arguments.package,
         .required = true},
        {.name = "weights",
         .kind = OPTION_TEXTS,
         .value = "FILE",
         .help = "FILE.safetensors with parameters, or NAME=FILE for one; may repeat",
         .target = &arguments.weights},
        {.name = "generated",
         .kind = OPTION_FLAG,
         .help = "parameters from generated data",
         .target = &arguments.generated},
        {.name = "seed",
         .kind = OPTION_WHOLE,
         .value = "N",
         .help = "of the generated data (default 0)",
         .target = &arguments.seed,
         .least = 0,
         .most = INT64_MAX},
        {.name = "weight-sigma",
         .kind = OPTION_REAL,
         .value = "S",
         .help = "its standard deviation (default 1/√inner)",
         .target = &arguments.weight_sigma,
         .least = 0,
         .most = 1000000},
        [5 + CLI_COMPILE_OPTIONS] = CLI_OPTION_THREADS,
        CLI_OPTION_JSON,
        CLI_OPTION_HELP,
    };
    compile_options(&arguments.compile, options + 5);
    TwStatus status = 0;
    if (cli_begin(cli, options, COUNT_OF(options), argc, argv)) {
        if (arguments.generated && arguments.weights.count)
            status = (TwStatus)cli_error(cli, ERR_CLI_CONFLICT, "option --generated",
                                         "cannot be given together with --weights");
        else if (!arguments.generated && (options[3].given || options[4].given))
            status = (TwStatus)cli_error(
                cli, ERR_CLI_CONFLICT, options[3].given ? "option --seed" : "option --weight-sigma",
                "is for --generated data");
        else if (file_is_same(cli->arguments.items[0], arguments.package))
            status =
                (TwStatus)cli_error(cli, ERR_CLI_CONFLICT, "option --package", "it is the graph");
        else
            status = compile(cli, &arguments);
    }
    compile_free(&arguments.compile);
    vec_free(&arguments.weights);
    return cli_end(cli, status, false);
}

const Verb verb_compile = {
    .name = "compile",
    .arguments = "GRAPH",
    .least = 1,
    .most = 1,
    .summary = "compile graph text into a package",
    .about = "docs/graph.md describes graph text. Exit code 4 if the graph does not fit.\n",
    .examples = "  tilework compile examples/gemm/gemm.graph --weights "
                "examples/gemm/gemm.safetensors -o small.twpkg\n"
                "  tilework compile examples/gemm/gemm.graph --generated --explain -o "
                "generated.twpkg\n",
    .run = run_compile,
};
