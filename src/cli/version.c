#include "cli/cli.h"

static int run_version(Cli *cli, int argc, char **argv) {
    Option options[] = {CLI_OPTION_HELP};
    if (cli_begin(cli, options, COUNT_OF(options), argc, argv))
        puts("tilework " TW_VERSION);
    return cli_end(cli, 0, false);
}

const Verb verb_version = {
    .name = "version",
    .arguments = "",
    .summary = "print the version",
    .examples = "  tilework version\n",
    .run = run_version,
};
