#include "cli/cli.h"

static int run_isa(Cli *cli, int argc, char **argv) {
    bool markdown = false, evidence = false, coverage = false, json = false;
    Option options[] = {
        {.name = "markdown",
         .kind = OPTION_FLAG,
         .help = "the whole table in Markdown",
         .target = &markdown},
        {.name = "evidence",
         .kind = OPTION_FLAG,
         .help = "every constant about the chip, and how well it is known",
         .target = &evidence},
        {.name = "coverage",
         .kind = OPTION_FLAG,
         .help = "how many instructions are executed and tested, and how well they are known",
         .target = &coverage},
        {.name = "json",
         .kind = OPTION_FLAG,
         .help = "with --coverage: one JSON object",
         .target = &json},
        CLI_OPTION_HELP,
    };
    TwStatus status = 0;
    if (cli_begin(cli, options, COUNT_OF(options), argc, argv)) {
        if (markdown + evidence + coverage + (int)cli->arguments.count > 1)
            status =
                (TwStatus)cli_error(cli, ERR_CLI_CONFLICT, NULL, "isa shows one thing at a time");
        else if (json && !coverage)
            status = (TwStatus)cli_error(cli, ERR_CLI_CONFLICT, "option --json",
                                         "belongs to --coverage");
        else if (cli->arguments.count)
            status = tw_manual_entry(cli->context, cli->arguments.items[0], stdout);
        else
            tw_manual(markdown   ? TW_MANUAL_MARKDOWN
                      : evidence ? TW_MANUAL_EVIDENCE
                      : coverage ? (json ? TW_MANUAL_COVERAGE_JSON : TW_MANUAL_COVERAGE)
                                 : TW_MANUAL_LIST,
                      stdout);
    }
    return cli_end(cli, status, false);
}

const Verb verb_isa = {
    .name = "isa",
    .arguments = "[INSTRUCTION]",
    .most = 1,
    .summary = "the instruction manual",
    .examples = "  tilework isa f8v8hihov4amp\n"
                "  tilework isa --evidence\n"
                "  tilework isa --coverage --json\n",
    .run = run_isa,
};
