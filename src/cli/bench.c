#include "base/progress.h"
#include "cli/cli.h"

#include <string.h>

typedef struct Arguments {
    CompileArguments compile;
    int64_t rows, inner, columns, scale, seed;
    double weight_sigma;
    bool f16;
    const char *package;
} Arguments;

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

static void put_workload(Cli *cli, const Arguments *arguments) {
    json_t *shape = json_object();
    json_object_set_new(shape, "rows", json_integer(arguments->rows));
    json_object_set_new(shape, "inner", json_integer(arguments->inner));
    json_object_set_new(shape, "columns", json_integer(arguments->columns));
    cli_put(cli, "workload", json_string("gemm"));
    cli_put(cli, "shape", shape);
    cli_put(cli, "precision", cli_text(arguments->f16 ? "f16" : "f8f143"));
    cli_put(cli, "scale_exponent", arguments->f16 ? json_null() : json_integer(arguments->scale));
    cli_put_whole(cli, "blocks", 1);
    cli_put_whole(cli, "batch", 1);
}

static void put_result(Cli *cli, const TwBenchReport *report) {
    char digest[TW_DIGEST_TEXT];
    tw_package_digest(report->package, digest);
    report_bindings(cli, report->package);
    cli_put_whole(cli, "cycles", report->run.cycles);
    cli_put_whole(cli, "cycles_sampled", report->sampled.cycles);
    cli_put_real(cli, "max_abs_error", report->max_abs_error);
    cli_put_real(cli, "rel_rms_error", report->rel_rms_error);
    cli_put(cli, "bit_exact", json_boolean(report->bit_exact));
    cli_put(cli, "pass", json_boolean(report->pass));
    cli_put_real(cli, "simulate_seconds", report->run.seconds);
    cli_put_whole(cli, "bundles", report->run.bundles);
    cli_put_whole(cli, "peak_rss_bytes", peak_rss_bytes());
    cli_put_whole(cli, "package_bytes", report->package_bytes);
    cli_put(cli, "content_digest", cli_text(digest));
}

static void print_result(const Arguments *arguments, const TwBenchReport *report) {
    char a[CLI_NUMBER], b[CLI_NUMBER], digest[TW_DIGEST_TEXT];
    const TwCompileReport *compile = &report->compile;
    printf("gemm %lld x %lld x %lld, ", (long long)arguments->rows, (long long)arguments->inner,
           (long long)arguments->columns);
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
    puts(report->pass ? "pass" : "FAIL");
}

static TwStatus bench_gemm(Cli *cli, Arguments *arguments, bool *failed) {
    TwBenchReport report = {0};
    TwBenchOptions options = {.rows = (uint32_t)arguments->rows,
                              .inner = (uint32_t)arguments->inner,
                              .columns = (uint32_t)arguments->columns,
                              .operand = arguments->f16
                                             ? (TwPrecision){.kind = TW_F16}
                                             : (TwPrecision){TW_F8F143, (int)arguments->scale},
                              .seed = (uint64_t)arguments->seed,
                              .weight_sigma = arguments->weight_sigma,
                              .package_path = arguments->package};
    TwStatus status = (TwStatus)compile_open(cli, &arguments->compile, &options.compile);
    if (status == 0) {
        put_workload(cli, arguments);
        status = tw_bench_gemm(cli->context, &options, &report);
        compile_report(cli, &arguments->compile, &report.compile);
    }
    if (status == 0) {
        put_result(cli, &report);
        if (!cli->report)
            print_result(arguments, &report);
        *failed = !report.pass;
    }
    tw_bench_free(&report);
    return status;
}

static int run_bench(Cli *cli, int argc, char **argv) {
    Arguments arguments = {0};
    Option options[] = {
        {.name = "rows",
         .kind = OPTION_WHOLE,
         .value = "N",
         .help = "rows of the left operand",
         .target = &arguments.rows,
         .least = 1,
         .most = UINT32_MAX},
        {.name = "inner",
         .kind = OPTION_WHOLE,
         .value = "N",
         .help = "columns of the left, rows of the right operand",
         .target = &arguments.inner,
         .least = 1,
         .most = UINT32_MAX},
        {.name = "columns",
         .kind = OPTION_WHOLE,
         .value = "N",
         .help = "columns of the right operand",
         .target = &arguments.columns,
         .least = 1,
         .most = UINT32_MAX},
        {.name = "fp8-scale",
         .kind = OPTION_WHOLE,
         .value = "E",
         .help = "operands in F143 with this scale exponent; -4 represents ±15",
         .target = &arguments.scale,
         .least = -16,
         .most = 15},
        {.name = "f16",
         .kind = OPTION_FLAG,
         .help = "operands in F16 (the default)",
         .target = &arguments.f16},
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
         .help = "standard deviation of the weights (default 1/√inner)",
         .target = &arguments.weight_sigma,
         .least = 0,
         .most = 1000000},
        {.name = "package",
         .kind = OPTION_TEXT,
         .value = "FILE",
         .help = "keep the package",
         .target = &arguments.package},
        [8 + CLI_COMPILE_OPTIONS] = CLI_OPTION_THREADS,
        CLI_OPTION_JSON,
        CLI_OPTION_HELP,
    };
    compile_options(&arguments.compile, options + 8);
    bool failed = false;
    TwStatus status = 0;
    if (cli_begin(cli, options, COUNT_OF(options), argc, argv)) {
        const char *workload = cli->arguments.items[0];
        if (strcmp(workload, "gemm") != 0)
            status = (TwStatus)cli_error(cli, ERR_CLI_NAME, workload,
                                         "no workload of this name; there is gemm");
        else if (!options[0].given || !options[1].given || !options[2].given)
            status = (TwStatus)cli_error(cli, ERR_CLI_MISSING, workload,
                                         "needs --rows, --inner and --columns");
        else if (arguments.f16 && options[3].given)
            status = (TwStatus)cli_error(cli, ERR_CLI_CONFLICT, "option --f16",
                                         "cannot be given together with --fp8-scale");
        else {
            arguments.f16 = !options[3].given;
            status = bench_gemm(cli, &arguments, &failed);
        }
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
    .about = "Workload gemm: y = x·w, x [rows,inner], w [inner,columns]. The package goes through "
             "a file;\nwhat is read back runs on the simulated chip, and every value of the output "
             "is compared\nwith a bit-exact twin and with an F64 reference. Exit code 1 if they "
             "differ.\n",
    .examples = "  tilework bench gemm --rows 128 --inner 128 --columns 64 --fp8-scale -4 "
                "--package gemm.twpkg\n"
                "  tilework bench gemm --rows 128 --inner 128 --columns 64 --f16 --tiles 64 "
                "--json\n",
    .run = run_bench,
};
