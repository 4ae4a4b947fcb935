#include "base/text.h"
#include "cli/cli.h"

static void list_codes(void) {
    TwStatus code;
    const char *title;
    for (size_t i = 0; tw_code_at(i, &code, &title); i++)
        printf("%s  %s\n", tw_code(code), title);
}

static int run_explain(Cli *cli, int argc, char **argv) {
    Option options[] = {CLI_OPTION_HELP};
    TwStatus status = 0;
    if (cli_begin(cli, options, COUNT_OF(options), argc, argv)) {
        const char *code = cli->arguments.count ? cli->arguments.items[0] : NULL;
        const char *page = code ? tw_explain(code) : NULL;
        char shown[TEXT_PRINTABLE];
        if (!code)
            list_codes();
        else if (page)
            fputs(page, stdout);
        else
            status = (TwStatus)cli_error(cli, ERR_CLI_NAME, NULL,
                                         "%s is no code; tilework explain lists all",
                                         text_printable(code, shown));
    }
    return cli_end(cli, status, false);
}

const Verb verb_explain = {
    .name = "explain",
    .arguments = "[CODE]",
    .most = 1,
    .summary = "what an error code means and what to do",
    .examples = "  tilework explain TW0705\n",
    .run = run_explain,
};
