#include "cli/cli.h"

#include <stdlib.h>

/* The differing rows as text lines, into the report or to the output. */
static bool show_rows(Cli *cli, const TwPackage *a, const TwPackage *b, unsigned limit) {
    char *text = NULL;
    size_t size;
    FILE *out = cli->report ? open_memstream(&text, &size) : stdout;
    if (!out) {
        cli_error(cli, ERR_NO_MEMORY, NULL, "no memory left on the host");
        return false;
    }
    uint64_t rows = tw_package_diff(a, b, out, limit);
    if (cli->report) {
        fclose(out);
        cli_put(cli, "rows", cli_text(text));
        free(text);
    }
    cli_put_whole(cli, "differing_rows", rows);
    cli_put(cli, "equal", json_boolean(rows == 0));
    if (!cli->report && rows == 0)
        puts("equal");
    return rows > 0;
}

/* The first differing statement of two graphs. */
static TwStatus show_statement(Cli *cli, bool *differ) {
    const char *const paths[2] = {cli->arguments.items[0], cli->arguments.items[1]};
    char *text = NULL;
    size_t size;
    FILE *out = cli->report ? open_memstream(&text, &size) : stdout;
    if (!out)
        return (TwStatus)cli_error(cli, ERR_NO_MEMORY, NULL, "no memory left on the host");
    TwStatus status = tw_graph_diff(cli->context, paths, out, differ);
    if (cli->report) {
        fclose(out);
        if (*differ)
            cli_put(cli, "first_difference", cli_text(text));
        free(text);
    }
    if (status != 0)
        return status;
    cli_put(cli, "equal", json_boolean(!*differ));
    if (!cli->report && !*differ)
        puts("equal");
    return 0;
}

static TwStatus compare_packages(Cli *cli, unsigned limit, bool *differ) {
    TwPackage *a = NULL, *b = NULL;
    TwStatus status = tw_package_read(cli->context, cli->arguments.items[0], &a);
    if (status == 0)
        status = tw_package_read(cli->context, cli->arguments.items[1], &b);
    if (status == 0)
        *differ = show_rows(cli, a, b, limit);
    tw_package_free(a);
    tw_package_free(b);
    return status;
}

static int run_diff(Cli *cli, int argc, char **argv) {
    int64_t limit = 20;
    Option options[] = {
        {.name = "limit",
         .kind = OPTION_WHOLE,
         .value = "N",
         .help = "rows of each table to print (default 20)",
         .target = &limit,
         .least = 0,
         .most = INT32_MAX},
        CLI_OPTION_JSON,
        CLI_OPTION_HELP,
    };
    TwStatus status = 0;
    bool differ = false;
    if (cli_begin(cli, options, COUNT_OF(options), argc, argv)) {
        bool packages =
            tw_is_package(cli->arguments.items[0]) || tw_is_package(cli->arguments.items[1]);
        if (!packages && options[0].given)
            status = (TwStatus)cli_error(cli, ERR_CLI_CONFLICT, "option --limit",
                                         "is for packages; of graphs the first difference is told");
        else
            status = packages ? compare_packages(cli, (unsigned)limit, &differ)
                              : show_statement(cli, &differ);
    }
    return cli_end(cli, status, differ);
}

const Verb verb_diff = {
    .name = "diff",
    .arguments = "FILE FILE",
    .least = 2,
    .most = 2,
    .summary = "compare two packages, or two files of graph text",
    .about =
        "Exit code 1 if they differ. Packages with equal content may differ as files. Of graphs "
        "the\nfirst statement that differs is told, whatever comments and blanks there are.\n",
    .examples = "  tilework diff small.twpkg small.twpkg\n"
                "  tilework diff examples/gemm/gemm.graph examples/gemm/gemm.graph\n",
    .run = run_diff,
};
