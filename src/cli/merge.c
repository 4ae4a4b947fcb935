#include "cli/cli.h"

static int run_merge(Cli *cli, int argc, char **argv) {
    const char *output = NULL;
    Option options[] = {
        {.name = "output",
         .letter = 'o',
         .kind = OPTION_TEXT,
         .value = "FILE",
         .help = "the merged statistics",
         .target = &output,
         .required = true},
        CLI_OPTION_JSON,
        CLI_OPTION_HELP,
    };
    TwStatus status = 0;
    if (cli_begin(cli, options, COUNT_OF(options), argc, argv)) {
        status = tw_merge(cli->context, cli->arguments.items, cli->arguments.count, output);
        cli_put_whole(cli, "files", cli->arguments.count);
        cli_put(cli, "output", cli_text(output));
        if (status == 0 && !cli->report)
            printf("%zu files merged into %s\n", cli->arguments.count, output);
    }
    return cli_end(cli, status, false);
}

const Verb verb_merge = {
    .name = "merge",
    .arguments = "STATISTICS...",
    .least = 1,
    .most = 1 << 20,
    .summary = "fold the statistics of all shards of a quantization",
    .about = "Shards may run anywhere and in any order: what they learnt is added in the order of\n"
             "the samples, so that the result does not depend on how many there were.\n",
    .examples =
        "  tilework quantize tiny -o part1.st --shard 1/2 --calibration tiny/images.safetensors\n"
        "  tilework quantize tiny -o part2.st --shard 2/2 --calibration tiny/images.safetensors\n"
        "  tilework merge part1.st part2.st -o all.st\n"
        "  tilework quantize tiny -o tiny-merged --statistics all.st --calibration "
        "tiny/images.safetensors\n",
    .run = run_merge,
};
