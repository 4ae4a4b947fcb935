#include "base/progress.h"
#include "base/text.h"
#include "cli/cli.h"

#include <string.h>

typedef struct Arguments {
    Texts inputs, outputs; /* NAME=PLACE */
} Arguments;

/* Splits NAME=PLACE; the name is for mem_free. NULL after an error. */
static char *split(Cli *cli, const char *option, const char *text, const char **place) {
    char shown[TEXT_PRINTABLE];
    const char *equals = strchr(text, '=');
    bool both = equals && equals > text && equals[1] != 0;
    char *name = both ? mem_printf("%.*s", (int)(equals - text), text) : NULL;
    if (!name)
        cli_error(cli, ERR_CLI_VALUE, option, "'%s' is not NAME=FILE", text_printable(text, shown));
    *place = name ? equals + 1 : NULL;
    return name;
}

/* How many of the texts are for `name`. */
static unsigned count_given(const Texts *texts, const char *name) {
    unsigned count = 0;
    size_t length = strlen(name);
    for (size_t i = 0; i < texts->count; i++)
        count += strncmp(texts->items[i], name, length) == 0 && texts->items[i][length] == '=';
    return count;
}

static TwStatus check_inputs(Cli *cli, const Arguments *arguments, const TwPackage *package) {
    for (size_t i = 0; i < tw_binding_count(package); i++) {
        TwBinding binding = tw_binding(package, i);
        unsigned given = count_given(&arguments->inputs, binding.name);
        if (binding.kind == TW_INPUT && given == 0)
            return (TwStatus)cli_error(cli, ERR_CLI_MISSING, "option --input",
                                       "the package needs a value for %s: --input %s=FILE",
                                       binding.name, binding.name);
        if (given > 1)
            return (TwStatus)cli_error(cli, ERR_CLI_CONFLICT, "option --input", "%s is given twice",
                                       binding.name);
    }
    return 0;
}

/* Finds what is wrong with the outputs before the work is done. */
static TwStatus check_outputs(Cli *cli, const Arguments *arguments, TwDevice *device) {
    TwStatus status = 0;
    for (size_t i = 0; i < arguments->outputs.count && status == 0; i++) {
        const char *place;
        char *name = split(cli, "option --output", arguments->outputs.items[i], &place);
        status = name ? tw_device_check_output(device, name, place) : (TwStatus)ERR_CLI_VALUE;
        mem_free(name);
    }
    return status;
}

static TwStatus set_inputs(Cli *cli, const Arguments *arguments, TwDevice *device) {
    TwStatus status = 0;
    for (size_t i = 0; i < arguments->inputs.count && status == 0; i++) {
        const char *place;
        char *name = split(cli, "option --input", arguments->inputs.items[i], &place);
        status = name ? tw_device_read_input(device, name, place) : (TwStatus)ERR_CLI_VALUE;
        mem_free(name);
    }
    return status;
}

static TwStatus write_outputs(Cli *cli, const Arguments *arguments, TwDevice *device) {
    TwStatus status = 0;
    json_t *files = json_object();
    for (size_t i = 0; i < arguments->outputs.count && status == 0; i++) {
        const char *place;
        char *name = split(cli, "option --output", arguments->outputs.items[i], &place);
        status = name ? tw_device_write_output(device, name, place) : (TwStatus)ERR_CLI_VALUE;
        if (status == 0)
            json_object_set_new(files, name, cli_text(place));
        mem_free(name);
    }
    cli_put(cli, "outputs", files);
    return status;
}

static void report_run(Cli *cli, const TwPackage *package, const TwRunReport *run) {
    char digest[TW_DIGEST_TEXT], a[CLI_NUMBER], b[CLI_NUMBER];
    tw_package_digest(package, digest);
    cli_put_whole(cli, "cycles", run->cycles);
    cli_put_whole(cli, "bundles", run->bundles);
    cli_put_real(cli, "simulate_seconds", run->seconds);
    cli_put_whole(cli, "peak_rss_bytes", peak_rss_bytes());
    cli_put(cli, "content_digest", cli_text(digest));
    if (!cli->report)
        printf("%s cycles, %s bundles, simulated in %.3f s\n", cli_number(run->cycles, a),
               cli_number(run->bundles, b), run->seconds);
}

static TwStatus run_package(Cli *cli, const Arguments *arguments, const TwPackage *package) {
    TwDevice *device = NULL;
    TwRunReport run;
    TwStatus status = check_inputs(cli, arguments, package);
    if (status == 0)
        status = tw_device_open(cli->context, package, &device);
    if (status == 0)
        status = check_outputs(cli, arguments, device);
    if (status == 0)
        status = set_inputs(cli, arguments, device);
    if (status == 0)
        status = tw_device_run(device, false, &run);
    if (status == 0)
        report_run(cli, package, &run);
    if (status == 0)
        status = write_outputs(cli, arguments, device);
    tw_device_close(device);
    return status;
}

static int run_run(Cli *cli, int argc, char **argv) {
    Arguments arguments = {0};
    Option options[] = {
        {.name = "input",
         .kind = OPTION_TEXTS,
         .value = "NAME=FILE",
         .help = "values from FILE.npy or FILE.safetensors[:TENSOR]; for a parameter too",
         .target = &arguments.inputs},
        {.name = "output",
         .kind = OPTION_TEXTS,
         .value = "NAME=FILE",
         .help = "write values to FILE.npy or FILE.safetensors[:TENSOR]",
         .target = &arguments.outputs},
        CLI_OPTION_CHECK,
        CLI_OPTION_THREADS,
        CLI_OPTION_JSON,
        CLI_OPTION_HELP,
    };
    TwStatus status = 0;
    if (cli_begin(cli, options, COUNT_OF(options), argc, argv)) {
        TwPackage *package = NULL;
        status = tw_package_read(cli->context, cli->arguments.items[0], &package);
        if (status == 0)
            status = run_package(cli, &arguments, package);
        tw_package_free(package);
    }
    vec_free(&arguments.inputs);
    vec_free(&arguments.outputs);
    return cli_end(cli, status, false);
}

const Verb verb_run = {
    .name = "run",
    .arguments = "PACKAGE",
    .least = 1,
    .most = 1,
    .summary = "run a package on the simulated chip",
    .about = "Files hold logical values; they are encoded into each binding's precision here. "
             "`tilework\ninspect PACKAGE --bindings` lists the names. Exit code 1 if a program "
             "traps.\n",
    .examples = "  tilework run small.twpkg --input x=examples/gemm/gemm.safetensors "
                "--output y=y.npy\n",
    .run = run_run,
};
