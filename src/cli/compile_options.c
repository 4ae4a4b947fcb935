/* What bench and compile share: options of compilation and the report about it. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

static const char *const dump_names[] = {"plan", "lower", "place", "exchange", NULL};
enum { EXPLANATION = 4 }; /* index behind the dumps */
static const char *const cast_names[] = {"auto", "early", "late", NULL};

void compile_options(CompileArguments *arguments, Option options[CLI_COMPILE_OPTIONS]) {
    *arguments = (CompileArguments){.tiles = TW_TILES};
    options[0] = (Option){.name = "tiles",
                          .kind = OPTION_WHOLE,
                          .value = "N",
                          .help = "use logical tiles 0…N-1 (default 1472)",
                          .target = &arguments->tiles,
                          .least = 1,
                          .most = TW_TILES};
    options[1] = (Option){.name = "grid",
                          .kind = OPTION_TEXTS,
                          .value = "OP=R,C,K[,swapped]",
                          .help = "force how an operation is cut: parts of rows, columns, inner",
                          .target = &arguments->grids};
    options[2] = (Option){.name = "max-copies",
                          .kind = OPTION_WHOLE,
                          .value = "N",
                          .help = "resident copies of one parameter (default: any number)",
                          .target = &arguments->max_copies,
                          .least = 1,
                          .most = TW_TILES};
    options[3] = (Option){.name = "dump",
                          .kind = OPTION_CHOICES,
                          .value = "plan,lower,place,exchange",
                          .help = "print the result of these passes",
                          .target = &arguments->dumps,
                          .choices = dump_names};
    options[4] = (Option){.name = "explain",
                          .kind = OPTION_FLAG,
                          .help = "say why this plan was taken",
                          .target = &arguments->explain};
    options[5] =
        (Option){.name = "device-input",
                 .kind = OPTION_FLAG,
                 .help = "inputs lie once on the chip, F16, as an earlier block leaves them",
                 .target = &arguments->device_input};
    options[6] = (Option){.name = "cast",
                          .kind = OPTION_CHOICES,
                          .value = "early|late|auto",
                          .help = "cast where a value lies, where it is used, or where cheaper",
                          .target = &arguments->casts,
                          .choices = cast_names};
    options[7] = (Option){.name = "rank",
                          .kind = OPTION_WHOLE,
                          .value = "N",
                          .help = "take the N-th best plan by price, not the fastest schedule",
                          .target = &arguments->rank,
                          .least = 1,
                          .most = 1000};
}

/* One of the casts' words. */
static Status read_cast(Cli *cli, unsigned casts, TwCastPolicy *policy) {
    static const TwCastPolicy policies[] = {
        [0] = TW_CAST_AUTO, [1] = TW_CAST_AUTO, [2] = TW_CAST_EARLY, [4] = TW_CAST_LATE};
    if (casts & (casts - 1))
        return cli_error(cli, ERR_CLI_CONFLICT, "--cast", "takes one word");
    *policy = policies[casts];
    return STATUS_OK;
}

/* NULL with an error if a stream is wanted and cannot be had. */
static FILE *open_dump(struct CompileDump *dump, bool wanted, bool *failed) {
    if (!wanted)
        return NULL;
    dump->file = open_memstream(&dump->text, &dump->size);
    *failed |= !dump->file;
    return dump->file;
}

Status compile_open(Cli *cli, CompileArguments *arguments, TwCompileOptions *options) {
    bool failed = false;
    *options = (TwCompileOptions){
        .tiles = (unsigned)arguments->tiles,
        .max_copies = (unsigned)arguments->max_copies,
        .grids = arguments->grids.items,
        .grid_count = arguments->grids.count,
        .device_input = arguments->device_input,
        .rank = (unsigned)arguments->rank,
        .plan = open_dump(&arguments->dump[0], arguments->dumps & 1, &failed),
        .lower = open_dump(&arguments->dump[1], arguments->dumps & 2, &failed),
        .place = open_dump(&arguments->dump[2], arguments->dumps & 4, &failed),
        .exchange = open_dump(&arguments->dump[3], arguments->dumps & 8, &failed),
        .explanation = open_dump(&arguments->dump[EXPLANATION], arguments->explain, &failed)};
    if (failed)
        return cli_error(cli, ERR_NO_MEMORY, NULL, "no memory left on the host");
    return read_cast(cli, arguments->casts, &options->cast);
}

static void report_dumps(Cli *cli, CompileArguments *arguments) {
    json_t *texts = json_object();
    for (unsigned i = 0; i <= EXPLANATION; i++) {
        struct CompileDump *dump = &arguments->dump[i];
        if (!dump->file)
            continue;
        fclose(dump->file);
        dump->file = NULL;
        if (!cli->report && dump->text)
            fputs(dump->text, stdout);
        if (i == EXPLANATION)
            cli_put(cli, "explanation", cli_text(dump->text));
        else
            json_object_set_new(texts, dump_names[i], cli_text(dump->text));
    }
    if (arguments->dumps)
        cli_put(cli, "dumps", texts);
    else
        json_decref(texts);
}

static void report_refusal(Cli *cli, const TwCompileReport *report) {
    if (!report->refused)
        return;
    json_t *refusal = json_object();
    json_object_set_new(refusal, "proved", json_boolean(report->proved));
    json_object_set_new(refusal, "tile", json_integer(report->tile));
    json_object_set_new(refusal, "memory", cli_text(report->memory ? report->memory : ""));
    json_object_set_new(refusal, "bytes_over", json_integer((json_int_t)report->bytes_over));
    json_object_set_new(refusal, "tiles_that_fit", json_integer(report->tiles_that_fit));
    cli_put(cli, "refusal", refusal);
}

void compile_report(Cli *cli, CompileArguments *arguments, const TwCompileReport *report) {
    report_dumps(cli, arguments);
    report_refusal(cli, report);
    json_t *passes = json_object();
    for (unsigned pass = 0; pass < report->pass_count; pass++)
        json_object_set_new(passes, report->pass_names[pass],
                            json_real(report->pass_seconds[pass]));
    if (!report->refused)
        cli_put_whole(cli, "predicted_cycles", report->predicted_cycles);
    if (!report->refused)
        cli_put_whole(cli, "scheduled_cycles", report->scheduled_cycles);
    cli_put_real(cli, "ideal_cycles", report->ideal_cycles);
    cli_put_whole(cli, "tiles", report->tiles);
    cli_put_whole(cli, "tiles_used", report->tiles_used);
    cli_put_whole(cli, "candidates", report->candidates);
    cli_put_whole(cli, "rejected", report->rejected);
    json_t *finalists = json_array();
    for (unsigned i = 0; i < report->finalist_count; i++)
        json_array_append_new(finalists,
                              json_pack("{s:I, s:I}", "predicted_cycles",
                                        (json_int_t)report->finalists[i].predicted_cycles,
                                        "scheduled_cycles",
                                        (json_int_t)report->finalists[i].scheduled_cycles));
    cli_put(cli, "finalists", finalists);
    cli_put_real(cli, "compile_seconds", report->seconds);
    cli_put(cli, "compile_seconds_by_pass", passes);
}

void compile_free(CompileArguments *arguments) {
    for (unsigned i = 0; i <= EXPLANATION; i++) {
        if (arguments->dump[i].file)
            fclose(arguments->dump[i].file);
        free(arguments->dump[i].text);
    }
    vec_free(&arguments->grids);
}
