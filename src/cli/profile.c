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

/* "cycles_by_cause" as simulated, "predicted_by_cause", "scheduled_by_cause". */
static void put_figures(json_t *object,
                        const double causes[TW_PROFILE_FIGURES][TW_PROFILE_CAUSES]) {
    json_object_set_new(object, "cycles_by_cause", causes_of(causes[TW_SIMULATED]));
    json_object_set_new(object, "predicted_by_cause", causes_of(causes[TW_PREDICTED]));
    json_object_set_new(object, "scheduled_by_cause", causes_of(causes[TW_SCHEDULED]));
}

static double exchange_ratio(uint64_t horizon, uint64_t bound) {
    return bound ? (double)horizon / (double)bound : 0;
}

static json_t *step_json(const TwProfileRow *step) {
    json_t *row = json_object();
    json_object_set_new(row, "number", json_integer(step->number));
    json_object_set_new(row, "name", cli_text(step->name));
    json_object_set_new(row, "operation", cli_text(step->operation));
    for (unsigned figure = 0; figure < TW_PROFILE_FIGURES; figure++)
        json_object_set_new(row, tw_profile_figure((TwProfileFigure)figure),
                            json_integer((json_int_t)step->cycles[figure]));
    json_object_set_new(row, "scheduled_sampled",
                        json_integer((json_int_t)step->scheduled_sampled));
    json_object_set_new(row, "simulated_sampled",
                        json_integer((json_int_t)step->simulated_sampled));
    if (step->bound) {
        json_object_set_new(row, "horizon", json_integer((json_int_t)step->horizon));
        json_object_set_new(row, "bound", json_integer((json_int_t)step->bound));
    }
    put_figures(row, step->causes);
    return row;
}

static json_t *steps_json(const TwProfileRow *rows, size_t count) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, step_json(&rows[i]));
    return list;
}

static json_t *tiles_json(const TwProfileRow *rows, size_t count) {
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *row = json_object();
        json_object_set_new(row, "number", json_integer(rows[i].number));
        json_object_set_new(row, "cycles_by_cause", causes_of(rows[i].causes[TW_SIMULATED]));
        json_array_append_new(list, row);
    }
    return list;
}

static TwStatus put_rows(Cli *cli, const TwProfile *profile, TwProfileBy by, const char *key) {
    TwProfileRow *rows;
    size_t count;
    TwStatus status = tw_profile_rows(cli->context, profile, by, &rows, &count);
    if (status)
        return status;
    cli_put(cli, key, by == TW_BY_TILE ? tiles_json(rows, count) : steps_json(rows, count));
    tw_profile_rows_free(rows);
    return 0;
}

/* Of the totals what bench does not report by itself. */
static void put_totals(Cli *cli, const TwProfileTotals *totals) {
    json_t *object = json_object();
    put_figures(object, totals->causes);
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value) cli_put(cli, key, json_incref(value));
    json_decref(object);
    json_t *exchange = json_object();
    json_object_set_new(exchange, "horizon", json_integer((json_int_t)totals->horizon));
    json_object_set_new(exchange, "bound", json_integer((json_int_t)totals->bound));
    json_object_set_new(exchange, "ratio",
                        cli_real(exchange_ratio(totals->horizon, totals->bound)));
    json_object_set_new(exchange, "worst_phase",
                        totals->worst_phase < 0 ? json_null() : json_integer(totals->worst_phase));
    json_object_set_new(exchange, "worst_ratio", cli_real(totals->worst_ratio));
    cli_put(cli, "exchange", exchange);
}

TwStatus profile_put(Cli *cli, const TwProfile *profile) {
    TwProfileTotals totals = tw_profile_totals(profile);
    put_totals(cli, &totals);
    if (!cli->report)
        return 0;
    TwStatus status = put_rows(cli, profile, TW_BY_STEP, "phases");
    return status ? status : put_rows(cli, profile, TW_BY_KERNEL, "kernels");
}

static bool has_cause(const double causes[TW_PROFILE_FIGURES][TW_PROFILE_CAUSES], unsigned cause) {
    for (unsigned figure = 0; figure < TW_PROFILE_FIGURES; figure++)
        if (causes[figure][cause] > 0 || causes[figure][cause] < 0)
            return true;
    return false;
}

static void print_cause(const char *name, const double causes[][TW_PROFILE_CAUSES],
                        unsigned cause) {
    printf("  %-18s %12.1f %12.1f %12.1f", name, causes[TW_PREDICTED][cause],
           causes[TW_SCHEDULED][cause], causes[TW_SIMULATED][cause]);
}

void profile_print_causes(const TwProfile *profile) {
    TwProfileTotals totals = tw_profile_totals(profile);
    puts("cycles by cause, mean over the tiles\n"
         "                        predicted    scheduled    simulated");
    for (unsigned cause = 0; cause < TW_PROFILE_CAUSES; cause++)
        if (has_cause(totals.causes, cause)) {
            print_cause(tw_profile_cause(cause), totals.causes, cause);
            printf("  %5.1f %%\n",
                   100 * totals.causes[TW_SIMULATED][cause] / (double)totals.cycles[TW_SIMULATED]);
        }
    printf("  %-18s %12.1f %12.1f %12.1f\n", "sum", (double)totals.cycles[TW_PREDICTED],
           (double)totals.cycles[TW_SCHEDULED], (double)totals.cycles[TW_SIMULATED]);
    if (totals.worst_phase >= 0)
        printf("exchange: horizon %llu, bound %llu: %.3f; worst phase %.3f, step %d, %s\n",
               (unsigned long long)totals.horizon, (unsigned long long)totals.bound,
               exchange_ratio(totals.horizon, totals.bound), totals.worst_ratio, totals.worst_phase,
               totals.worst_operation);
}

static void print_steps(const TwProfileRow *rows, size_t count) {
    puts("     step                               predicted    scheduled    simulated  "
         "(with samples)");
    for (size_t i = 0; i < count; i++) {
        const TwProfileRow *row = &rows[i];
        printf("%4u %-12s %-20s", row->number, row->name, row->operation);
        for (unsigned figure = 0; figure < TW_PROFILE_FIGURES; figure++)
            printf(" %*llu", figure ? 12 : 6, (unsigned long long)row->cycles[figure]);
        printf("  (%llu, %llu)", (unsigned long long)row->scheduled_sampled,
               (unsigned long long)row->simulated_sampled);
        if (row->bound)
            printf(" horizon %llu, bound %llu: %.3f", (unsigned long long)row->horizon,
                   (unsigned long long)row->bound, exchange_ratio(row->horizon, row->bound));
        putchar('\n');
        for (unsigned cause = 0; cause < TW_PROFILE_CAUSES; cause++)
            if (has_cause(row->causes, cause)) {
                fputs("     ", stdout);
                print_cause(tw_profile_cause(cause), row->causes, cause);
                putchar('\n');
            }
    }
}

static void print_tiles(const TwProfileRow *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const double *causes = rows[i].causes[TW_SIMULATED];
        printf("tile %4u:", rows[i].number);
        for (unsigned cause = 0; cause < TW_PROFILE_CAUSES; cause++)
            if (causes[cause] > 0 || causes[cause] < 0)
                printf(" %s %.1f", tw_profile_cause(cause), causes[cause]);
        putchar('\n');
    }
}

static TwStatus show(Cli *cli, const TwProfile *profile, TwProfileBy by, const char *key) {
    if (cli->report)
        return put_rows(cli, profile, by, key);
    TwProfileRow *rows;
    size_t count;
    TwStatus status = tw_profile_rows(cli->context, profile, by, &rows, &count);
    if (status)
        return status;
    (by == TW_BY_TILE ? print_tiles : print_steps)(rows, count);
    tw_profile_rows_free(rows);
    return 0;
}

static TwStatus profile(Cli *cli, const Arguments *arguments, const TwProfile *read) {
    TwProfileTotals totals = tw_profile_totals(read);
    cli_put_whole(cli, "tiles", totals.tiles);
    cli_put_whole(cli, "cycles", totals.cycles[TW_SIMULATED]);
    cli_put_whole(cli, "cycles_sampled", totals.cycles_sampled);
    cli_put_whole(cli, "scheduled_cycles", totals.cycles[TW_SCHEDULED]);
    cli_put_whole(cli, "predicted_cycles", totals.cycles[TW_PREDICTED]);
    put_totals(cli, &totals);
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
