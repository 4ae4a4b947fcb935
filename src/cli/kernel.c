#include "cli/kernel.h"

#include "base/text.h"

#include <errno.h>
#include <string.h>

typedef struct Arguments {
    const char *preprocessor, *entry, *arguments, *compare, *trace;
    Texts defines, includes, inputs, outputs, expected, saved;
    int64_t workers, start, budget, seed, values;
    bool unchecked;
} Arguments;

enum { OPTIONS = 19 };

static void fill_options(Cli *cli, Arguments *arguments, Option options[OPTIONS]) {
    Option all[OPTIONS] = {
        {.name = "output",
         .letter = 'o',
         .kind = OPTION_TEXTS,
         .value = "BUFFER",
         .help = "memory that is printed after the call; may repeat",
         .target = &arguments->outputs},
        {.name = "input",
         .letter = 'i',
         .kind = OPTION_TEXTS,
         .value = "BUFFER",
         .help = "memory that is filled before the call; may repeat",
         .target = &arguments->inputs},
        {.name = "args",
         .letter = 'a',
         .kind = OPTION_TEXT,
         .value = "LIST",
         .help = "arguments (default: addresses of all buffers, outputs first)",
         .target = &arguments->arguments},
        {.name = "entry",
         .letter = 'e',
         .kind = OPTION_TEXT,
         .value = "NAME",
         .help = "the function (default: the only global one of the first file)",
         .target = &arguments->entry},
        {.name = "expect",
         .kind = OPTION_TEXTS,
         .value = "NAME=CONTENT",
         .help = "what a buffer must hold afterwards, bit by bit; may repeat",
         .target = &arguments->expected},
        {.name = "save",
         .kind = OPTION_TEXTS,
         .value = "NAME=FILE",
         .help = "write a buffer: .npy, else its bytes; may repeat",
         .target = &arguments->saved},
        {.name = "compare",
         .kind = OPTION_TEXT,
         .value = "FILE.S",
         .help = "another version: the same call, side by side",
         .target = &arguments->compare},
        {.name = "workers",
         .kind = OPTION_WHOLE,
         .value = "N",
         .help = "start a function of workers on N of them (default 6)",
         .target = &arguments->workers,
         .least = 1,
         .most = TW_WORKERS},
        {.name = "start",
         .kind = OPTION_WHOLE,
         .value = "SLOT",
         .help = "issue slot in which the call falls, 0 to 5 (default 0)",
         .target = &arguments->start,
         .most = TW_WORKERS - 1},
        {.name = "budget",
         .kind = OPTION_WHOLE,
         .value = "CYCLES",
         .help = "give up after so many (default 10000000)",
         .target = &arguments->budget,
         .least = 1,
         .most = 100000000},
        {.name = "seed",
         .kind = OPTION_WHOLE,
         .value = "N",
         .help = "of random contents (default 0)",
         .target = &arguments->seed,
         .most = INT64_MAX},
        {.name = "values",
         .kind = OPTION_WHOLE,
         .value = "N",
         .help = "elements of each output to show (default 8)",
         .target = &arguments->values,
         .most = 1000000},
        {.name = "unchecked",
         .kind = OPTION_FLAG,
         .help = "only what the chip itself refuses stops the function",
         .target = &arguments->unchecked},
        {.name = "trace",
         .kind = OPTION_TEXT,
         .value = "FILE",
         .help = "write every issue: cycle, context, line, instruction",
         .target = &arguments->trace},
        {.name = "define",
         .letter = 'D',
         .kind = OPTION_TEXTS,
         .value = "NAME[=TEXT]",
         .help = "a macro of the preprocessor; may repeat",
         .target = &arguments->defines},
        {.name = "include",
         .letter = 'I',
         .kind = OPTION_TEXTS,
         .value = "FOLDER",
         .help = "where headers are looked for; may repeat",
         .target = &arguments->includes},
        {.name = "cpp",
         .kind = OPTION_TEXT,
         .value = "COMMAND",
         .help = "C preprocessor (default cpp); none: the text as it is",
         .target = &arguments->preprocessor},
        CLI_OPTION_JSON,
        CLI_OPTION_HELP,
    };
    memcpy(options, all, sizeof all);
}

static TwStatus run_file(Cli *cli, const Arguments *arguments, const char *first, FILE *trace,
                         TwKernelRun **run) {
    Texts sources = {0};
    bool added = vec_push(&sources, first);
    for (size_t i = 1; i < cli->arguments.count && added; i++)
        added = vec_push(&sources, cli->arguments.items[i]);
    bool plain = strcmp(arguments->preprocessor, "none") == 0;
    const TwKernelOptions options = {
        .sources = sources.items,
        .source_count = sources.count,
        .assemble = {.preprocessor = plain ? NULL : arguments->preprocessor,
                     .defines = arguments->defines.items,
                     .define_count = arguments->defines.count,
                     .includes = arguments->includes.items,
                     .include_count = arguments->includes.count},
        .entry = arguments->entry,
        .outputs = arguments->outputs.items,
        .output_count = arguments->outputs.count,
        .inputs = arguments->inputs.items,
        .input_count = arguments->inputs.count,
        .arguments = arguments->arguments,
        .expected = arguments->expected.items,
        .expected_count = arguments->expected.count,
        .workers = (unsigned)arguments->workers,
        .start = (unsigned)arguments->start,
        .budget = (uint64_t)arguments->budget,
        .seed = (uint64_t)arguments->seed,
        .trace = trace,
        .unchecked = arguments->unchecked};
    TwStatus status = added ? tw_kernel_run(cli->context, &options, run)
                            : (TwStatus)cli_error(cli, ERR_NO_MEMORY, NULL, "no memory left");
    vec_free(&sources);
    return status;
}

static TwStatus run_traced(Cli *cli, const Arguments *arguments, TwKernelRun **run) {
    FILE *trace = arguments->trace ? fopen(arguments->trace, "w") : NULL;
    if (arguments->trace && !trace)
        return (TwStatus)cli_error(cli, ERR_FILE_WRITE, arguments->trace, "cannot write: %s",
                                   strerrordesc_np(errno));
    TwStatus status = run_file(cli, arguments, cli->arguments.items[0], trace, run);
    if (trace && (ferror(trace) | fclose(trace)) && status == 0)
        status = (TwStatus)cli_error(cli, ERR_FILE_WRITE, arguments->trace, "cannot write: %s",
                                     strerrordesc_np(errno));
    return status;
}

static TwStatus save(Cli *cli, const Arguments *arguments, const TwKernelRun *run) {
    TwStatus status = 0;
    for (size_t i = 0; i < arguments->saved.count && status == 0; i++) {
        char shown[TEXT_PRINTABLE], *name = mem_strdup(arguments->saved.items[i]);
        char *path = name ? strchr(name, '=') : NULL;
        if (!name)
            status = (TwStatus)cli_error(cli, ERR_NO_MEMORY, NULL, "no memory left");
        else if (!path || path[1] == 0)
            status = (TwStatus)cli_error(cli, ERR_CLI_VALUE, "option --save",
                                         "'%s' is not NAME=FILE", text_printable(name, shown));
        else {
            *path++ = 0;
            status = tw_kernel_save(cli->context, run, name, path);
        }
        mem_free(name);
    }
    return status;
}

static void report(Cli *cli, const Arguments *arguments, const TwKernelRun *run,
                   const TwKernelRun *other, bool *pass) {
    unsigned values = (unsigned)arguments->values;
    const char *names[2] = {cli->arguments.items[0], arguments->compare};
    *pass = kernel_as_expected(run) && (!other || kernel_as_expected(other));
    if (cli->report) {
        json_t *document = kernel_json(run, values);
        json_object_update(cli->report, document);
        json_decref(document);
        if (other) {
            json_t *comparison = kernel_comparison_json(run, other);
            *pass = *pass && json_is_true(json_object_get(comparison, "outputs_equal"));
            json_object_set_new(comparison, "other", kernel_json(other, values));
            cli_put(cli, "comparison", comparison);
        }
        cli_put(cli, "pass", json_boolean(*pass));
    } else if (other) {
        *pass = kernel_print_comparison(run, other, names, stdout) && *pass;
    } else {
        kernel_print(run, values, stdout);
    }
}

static Status check_options(Cli *cli, const Arguments *arguments) {
    if (strcmp(arguments->preprocessor, "none") == 0 && arguments->defines.count)
        return cli_error(cli, ERR_CLI_CONFLICT, "option --cpp",
                         "without a preprocessor there is no --define");
    return STATUS_OK;
}

static int run_kernel(Cli *cli, int argc, char **argv) {
    Arguments arguments = {.preprocessor = "cpp", .values = 8};
    Option options[OPTIONS];
    fill_options(cli, &arguments, options);
    TwStatus status = 0;
    bool pass = true;
    if (cli_begin(cli, options, OPTIONS, argc, argv)) {
        TwKernelRun *run = NULL, *other = NULL;
        status = (TwStatus)check_options(cli, &arguments);
        if (status == 0)
            status = run_traced(cli, &arguments, &run);
        if (status == 0 && arguments.compare)
            status = run_file(cli, &arguments, arguments.compare, NULL, &other);
        if (status == 0)
            status = save(cli, &arguments, run);
        if (status == 0)
            report(cli, &arguments, run, other, &pass);
        tw_kernel_free(run);
        tw_kernel_free(other);
    }
    vec_free(&arguments.defines);
    vec_free(&arguments.includes);
    vec_free(&arguments.inputs);
    vec_free(&arguments.outputs);
    vec_free(&arguments.expected);
    vec_free(&arguments.saved);
    return cli_end(cli, status, !pass);
}

const Verb verb_kernel = {
    .name = "kernel",
    .arguments = "FILE.S [FILE.S…]",
    .least = 1,
    .most = 16,
    .summary = "call one function on one tile: results, and where every cycle goes",
    .about =
        "Assembles the files, fills the buffers, calls the function and prints what it left, how\n"
        "long it took and what each line cost. Code of the supervisor is called with its "
        "arguments\n"
        "in $m2, $m3, …; $m10 is the return address, $m11 a stack. Code of workers is launched on\n"
        "all six with the arguments as words at $mvertex_base. Which of the two it is .supervisor\n"
        "and .worker in the source say. docs/tutorial-kernel.md shows the way from an empty file.\n"
        "\n"
        "A BUFFER is NAME=TYPE:SHAPE[:CONTENT][@PLACE]:\n"
        "  TYPE     f8 (F143; f8/-4 with its scale exponent), f16, f32, u8, u16, u32, i8, i16, "
        "i32\n"
        "  SHAPE    2208, 4x16; with +BYTES: so many bytes behind it may be read, but not used\n"
        "  CONTENT  zero, nan, ramp (0, 1, 2, …), random (deviation 1), bits (any finite "
        "pattern),\n"
        "           fill=V, list=V,V,…, file=PATH (.npy: values; else bytes). Inputs are random,\n"
        "           outputs never written unless told\n"
        "  PLACE    interleaved (the default), standard, or an address. Without an address each\n"
        "           buffer has memory elements of its own\n"
        "An argument in LIST is NAME (an address), NAME+BYTES, #NAME (elements), a whole number,\n"
        "f32:V or f16:V; with mN= before it it goes to that register (also of all workers).\n"
        "\n"
        "What the chip allows and is wrong stops the function: to use memory or registers that "
        "were\n"
        "never written, workers that race, accesses outside the buffers, stores to what is no\n"
        "output, NaNs in matrix products.\n"
        "\n"
        "Every cycle belongs to one line: while workers run, to the line that the worker which "
        "ends\n"
        "last executes; else to the supervisor's last instruction. Lost are the cycles in which\n"
        "nothing was issued.\n",
    .examples =
        "  tilework kernel examples/asm/double.S --output x=f32:64+4:ramp --args m2=x --workers 1\n"
        "  tilework kernel examples/asm/scale.S --output y=f16:100 --input x=f16:100:ramp "
        "--args y,x,25,f16:0.5 --expect y=ramp=0,0.5\n",
    .run = run_kernel,
};
