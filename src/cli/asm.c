#include "cli/cli.h"

#include <string.h>

typedef struct Arguments {
    const char *object, *preprocessor;
    Texts defines, includes;
    bool listing;
} Arguments;

static int run_asm(Cli *cli, int argc, char **argv) {
    Arguments arguments = {.preprocessor = "cpp"};
    Option options[] = {
        {.name = "object",
         .letter = 'o',
         .kind = OPTION_TEXT,
         .value = "FILE",
         .help = "the object file to write",
         .target = &arguments.object,
         .required = true},
        {.name = "cpp",
         .kind = OPTION_TEXT,
         .value = "COMMAND",
         .help = "C preprocessor (default cpp); none: assemble the text as it is",
         .target = &arguments.preprocessor},
        {.name = "define",
         .letter = 'D',
         .kind = OPTION_TEXTS,
         .value = "NAME[=TEXT]",
         .help = "a macro of the preprocessor; may repeat",
         .target = &arguments.defines},
        {.name = "include",
         .letter = 'I',
         .kind = OPTION_TEXTS,
         .value = "FOLDER",
         .help = "where the preprocessor looks for headers; may repeat",
         .target = &arguments.includes},
        {.name = "listing",
         .kind = OPTION_FLAG,
         .help = "print words and places",
         .target = &arguments.listing},
        CLI_OPTION_HELP,
    };
    TwStatus status = 0;
    if (cli_begin(cli, options, COUNT_OF(options), argc, argv)) {
        bool plain = strcmp(arguments.preprocessor, "none") == 0;
        TwAssembleOptions assemble = {.preprocessor = plain ? NULL : arguments.preprocessor,
                                      .defines = arguments.defines.items,
                                      .define_count = arguments.defines.count,
                                      .includes = arguments.includes.items,
                                      .include_count = arguments.includes.count,
                                      .listing = arguments.listing ? stdout : NULL};
        if (plain && (arguments.defines.count || arguments.includes.count))
            status = (TwStatus)cli_error(cli, ERR_CLI_CONFLICT, "option --cpp",
                                         "without a preprocessor there are no --define and "
                                         "--include");
        else
            status =
                tw_assemble(cli->context, cli->arguments.items[0], arguments.object, &assemble);
    }
    vec_free(&arguments.defines);
    vec_free(&arguments.includes);
    return cli_end(cli, status, false);
}

const Verb verb_asm = {
    .name = "asm",
    .arguments = "FILE.S",
    .least = 1,
    .most = 1,
    .summary = "assemble a source file into an object file",
    .about = "The source is in the dialect of the public SDK; docs/chip/assembly.md describes "
             "it.\n",
    .examples = "  tilework asm examples/asm/double.S -o double.o --listing\n",
    .run = run_asm,
};
