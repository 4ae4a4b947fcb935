#include "cli/cli.h"

static int run_verify(Cli *cli, int argc, char **argv) {
    Option options[] = {CLI_OPTION_JSON, CLI_OPTION_HELP};
    TwStatus status = 0;
    if (cli_begin(cli, options, COUNT_OF(options), argc, argv)) {
        TwPackage *package = NULL;
        status = tw_package_read(cli->context, cli->arguments.items[0], &package);
        if (status == 0) {
            char digest[TW_DIGEST_TEXT];
            tw_package_digest(package, digest);
            cli_put(cli, "content_digest", cli_text(digest));
            status = tw_package_verify(cli->context, package);
            if (status == 0 && !cli->report)
                printf("correct; content %s\n", digest);
        }
        cli_put(cli, "pass", json_boolean(status == 0));
        tw_package_free(package);
    }
    return cli_end(cli, status, false);
}

const Verb verb_verify = {
    .name = "verify",
    .arguments = "PACKAGE",
    .least = 1,
    .most = 1,
    .summary = "check a package against its own rules and the chip's",
    .about = "Exit code 3 if the file is damaged, 1 if it breaks a rule of the chip.\n",
    .examples = "  tilework verify small.twpkg\n",
    .run = run_verify,
};
