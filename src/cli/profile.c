#include "cli/profile.h"

#include "base/mem.h"

#include <string.h>

typedef struct Arguments {
    unsigned by; /* bits of the tables */
    const char *html, *trace;
} Arguments;

enum { BY_CAUSE, BY_KERNEL, BY_PHASE, BY_TILE };
static const char *const tables[] = {"cause", "kernel", "phase", "tile", NULL};

static json_t *causes_of(const double causes[TW_PROFILE_CAUSES]) {
    json_t *object = json_object();
    for (unsigned cause = 0; cause < TW_PROFILE_CAUSES; cause++)
        json_object_set_new(object, tw_profile_cause(cause), cli_real(causes[cause]));
    return object;
}

void profile_put_causes(Cli *cli, const TwProfile *profile) {
    cli_put(cli, "cycles_by_cause", causes_of(tw_profile_totals(profile).causes));
}

void profile_print_causes(const TwProfile *profile) {
    TwProfileTotals totals = tw_profile_totals(profile);
    puts("cycles by cause, mean over the tiles");
    for (unsigned cause = 0; cause < TW_PROFILE_CAUSES; cause++)
        if (totals.causes[cause] > 0 || totals.causes[cause] < 0)
            printf("  %-18s %12.1f  %5.1f %%\n", tw_profile_cause(cause), totals.causes[cause],
                   100 * totals.causes[cause] / (double)totals.cycles);
    printf("  %-18s %12.1f\n", "sum", (double)totals.cycles);
}

static void put_rows(Cli *cli, const char *key, const TwProfileRow *rows, size_t count,
                     bool steps) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *row = json_object();
        json_object_set_new(row, "number", json_integer(rows[i].number));
        if (steps) {
            json_object_set_new(row, "name", cli_text(rows[i].name));
            json_object_set_new(row, "operation", cli_text(rows[i].operation));
            json_object_set_new(row, "predicted", json_integer((json_int_t)rows[i].predicted));
            json_object_set_new(row, "scheduled", json_integer((json_int_t)rows[i].scheduled));
            json_object_set_new(row, "scheduled_sampled",
                                json_integer((json_int_t)rows[i].scheduled_sampled));
            json_object_set_new(row, "simulated_sampled",
                                json_integer((json_int_t)rows[i].simulated_sampled));
        }
        json_object_set_new(row, "cycles_by_cause", causes_of(rows[i].causes));
        json_array_append_new(list, row);
    }
    cli_put(cli, key, list);
}

static void print_causes(const TwProfileRow *row) {
    for (unsigned cause = 0; cause < TW_PROFILE_CAUSES; cause++)
        if (row->causes[cause] > 0 || row->causes[cause] < 0)
            printf(" %s %.1f", tw_profile_cause(cause), row->causes[cause]);
    putchar('\n');
}

static void print_rows(const TwProfileRow *rows, size_t count, bool steps) {
    if (steps)
        puts(
            "     step                              predicted  scheduled  with samples  simulated");
    for (size_t i = 0; i < count; i++) {
        const TwProfileRow *row = &rows[i];
        if (steps)
            printf("%4u %-12s %-20s %9llu  %9llu  %12llu  %9llu\n    ", row->number, row->name,
                   row->operation, (unsigned long long)row->predicted,
                   (unsigned long long)row->scheduled, (unsigned long long)row->scheduled_sampled,
                   (unsigned long long)row->simulated_sampled);
        else
            printf("tile %4u:", row->number);
        print_causes(row);
    }
}

static TwStatus show(Cli *cli, const TwProfile *profile, TwProfileBy by, const char *key) {
    TwProfileRow *rows;
    size_t count;
    TwStatus status = tw_profile_rows(cli->context, profile, by, &rows, &count);
    if (status)
        return status;
    if (cli->report)
        put_rows(cli, key, rows, count, by != TW_BY_TILE);
    else
        print_rows(rows, count, by != TW_BY_TILE);
    tw_profile_rows_free(rows);
    return 0;
}

static TwStatus profile(Cli *cli, const Arguments *arguments, const TwProfile *read) {
    TwProfileTotals totals = tw_profile_totals(read);
    cli_put_whole(cli, "tiles", totals.tiles);
    cli_put_whole(cli, "cycles", totals.cycles);
    cli_put_whole(cli, "cycles_sampled", totals.cycles_sampled);
    cli_put_whole(cli, "scheduled_cycles", totals.scheduled_cycles);
    cli_put_whole(cli, "predicted_cycles", totals.predicted_cycles);
    profile_put_causes(cli, read);
    TwStatus status = 0;
    if (arguments->by & 1u << BY_CAUSE && !cli->report)
        profile_print_causes(read);
    if (arguments->by & 1u << BY_KERNEL)
        status = show(cli, read, TW_BY_KERNEL, "kernels");
    if (status == 0 && arguments->by & 1u << BY_PHASE)
        status = show(cli, read, TW_BY_STEP, "phases");
    if (status == 0 && arguments->by & 1u << BY_TILE)
        status = show(cli, read, TW_BY_TILE, "by_tile");
    if (status == 0 && arguments->html)
        status = tw_profile_html(cli->context, read, arguments->html);
    if (status == 0 && arguments->trace)
        status = tw_profile_trace(cli->context, read, arguments->trace);
    return status;
}

static int run_profile(Cli *cli, int argc, char **argv) {
    Arguments arguments = {0};
    Option options[] = {
        {.name = "by",
         .kind = OPTION_CHOICES,
         .value = "TABLES",
         .help = "cause (the default), kernel, phase, tile",
         .choices = tables,
         .target = &arguments.by},
        {.name = "html",
         .kind = OPTION_TEXT,
         .value = "FILE",
         .help = "write a web page that needs nothing else",
         .target = &arguments.html},
        {.name = "trace",
         .kind = OPTION_TEXT,
         .value = "FILE",
         .help = "write a trace for Chrome's viewer",
         .target = &arguments.trace},
        CLI_OPTION_JSON,
        CLI_OPTION_HELP,
    };
    TwStatus status = 0;
    if (cli_begin(cli, options, COUNT_OF(options), argc, argv)) {
        TwProfile *read = NULL;
        if (!arguments.by)
            arguments.by = 1u << BY_CAUSE;
        status = tw_profile_read(cli->context, cli->arguments.items[0], &read);
        if (status == 0)
            status = profile(cli, &arguments, read);
        tw_profile_free(read);
    }
    return cli_end(cli, status, false);
}

const Verb verb_profile = {
    .name = "profile",
    .arguments = "FILE",
    .least = 1,
    .most = 1,
    .summary = "where the cycles of a run went",
    .about = "FILE was written by `tilework bench … --profile FILE`. Every cycle of every tile has "
             "one\ncause; docs/profile.md explains them.\n",
    .examples = "  tilework profile gemm.twprof --by phase --html gemm.html\n",
    .run = run_profile,
};
