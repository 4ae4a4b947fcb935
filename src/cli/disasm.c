#include "cli/cli.h"

static int run_disasm(Cli *cli, int argc, char **argv) {
    int64_t tile = 0;
    Option options[] = {
        {.name = "tile",
         .kind = OPTION_WHOLE,
         .value = "N",
         .help = "the tile of a package (default 0)",
         .target = &tile,
         .least = 0,
         .most = TW_TILES - 1},
        CLI_OPTION_HELP,
    };
    TwStatus status = 0;
    if (cli_begin(cli, options, COUNT_OF(options), argc, argv))
        status = tw_disassemble(cli->context, cli->arguments.items[0], (unsigned)tile, stdout);
    return cli_end(cli, status, false);
}

const Verb verb_disasm = {
    .name = "disasm",
    .arguments = "FILE",
    .least = 1,
    .most = 1,
    .summary = "print an object file or the code of a package as source",
    .about =
        "What it prints assembles to the same bytes: tilework asm FILE.S --cpp none -o FILE.o\n",
    .examples = "  tilework disasm double.o\n"
                "  tilework disasm small.twpkg --tile 3\n",
    .run = run_disasm,
};
