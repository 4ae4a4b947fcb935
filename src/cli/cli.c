#include "cli/cli.h"

#include "base/cpu.h"
#include "base/progress.h"
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const Verb *const verbs[] = {
    &verb_bench,   &verb_compile,  &verb_run,     &verb_inspect, &verb_verify, &verb_diff,
    &verb_profile, &verb_quantize, &verb_merge,   &verb_encode,  &verb_asm,    &verb_disasm,
    &verb_kernel,  &verb_isa,      &verb_explain, &verb_version, &verb_help,
};

static const Verb *find_verb(const char *name) {
    for (size_t i = 0; i < COUNT_OF(verbs); i++) {
        if (strcmp(verbs[i]->name, name) == 0)
            return verbs[i];
    }
    return NULL;
}

Status cli_error(Cli *cli, Status code, const char *object, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = mem_vprintf(format, arguments);
    va_end(arguments);
    diag_error(&cli->diag, code, (DiagPlace){.tile = -1, .object = object}, "%s", text ? text : "");
    mem_free(text);
    return code;
}

static void print_verb_help(const Verb *verb, const Option *options, size_t count) {
    printf("usage: tilework %s%s%s [OPTIONS]\n\n%s\n", verb->name, *verb->arguments ? " " : "",
           verb->arguments, verb->summary);
    if (verb->about)
        printf("\n%s", verb->about);
    fputs("\nOptions:\n", stdout);
    options_print(options, count, stdout);
    printf("\nExamples:\n%s", verb->examples);
}

static void print_help(void) {
    fputs("usage: tilework VERB [ARGUMENTS] [OPTIONS]\n\n"
          "Compiles graphs of matrix products for the Graphcore IPU21, runs them on a simulated "
          "chip, and\n"
          "quantizes models for it.\n\n",
          stdout);
    for (size_t i = 0; i < COUNT_OF(verbs); i++)
        printf("  %-8s  %s\n", verbs[i]->name, verbs[i]->summary);
    fputs("\ntilework VERB --help tells more about a verb.\n", stdout);
}

static Status check_arguments(Cli *cli) {
    const Verb *verb = cli->verb;
    size_t count = cli->arguments.count;
    for (size_t i = 0; i < count; i++)
        if (cli->arguments.items[i][0] == 0)
            return cli_error(cli, ERR_CLI_ARGUMENTS, NULL, "an argument is empty");
    if (count >= verb->least && count <= verb->most)
        return STATUS_OK;
    if (verb->most == 0)
        return cli_error(cli, ERR_CLI_ARGUMENTS, NULL, "%s takes no arguments, only options",
                         verb->name);
    const char *limit = verb->least == verb->most ? ""
                        : count < verb->least     ? "at least "
                                                  : "at most ";
    size_t wanted = count < verb->least ? verb->least : verb->most;
    return cli_error(cli, ERR_CLI_ARGUMENTS, NULL, "%s takes %s%zu argument%s (%s), not %zu",
                     verb->name, limit, wanted, wanted == 1 ? "" : "s", verb->arguments, count);
}

static Status check_environment(Cli *cli) {
    char shown[TEXT_PRINTABLE];
    CpuLevel level;
    const char *cpu = getenv("TILEWORK_CPU");
    if (!cpu || *cpu == 0 || cpu_level_parse(cpu, &level))
        return STATUS_OK;
    return cli_error(cli, ERR_CLI_VALUE, "environment TILEWORK_CPU",
                     "'%s' is none of portable, avx2, avx512", text_printable(cpu, shown));
}

/* Errors in other options must not turn the document into text: --json counts wherever it stands.
 */
static bool wants_json(const Cli *cli, const Option *options, size_t count, int argc, char **argv) {
    bool known = false, written = false;
    for (size_t i = 0; i < count; i++)
        known |= options[i].target == &cli->json;
    for (int at = 0; at < argc && strcmp(argv[at], "--") != 0; at++)
        written |= strcmp(argv[at], "--json") == 0;
    return known && written;
}

bool cli_begin(Cli *cli, Option *options, size_t count, int argc, char **argv) {
    if (wants_json(cli, options, count, argc, argv))
        cli->report = json_object();
    Status status =
        options_parse(cli->verb->name, options, count, argc, argv, &cli->arguments, &cli->diag);
    if (cli->help) {
        diag_free(&cli->diag); /* whatever else was wrong */
        json_decref(cli->report);
        cli->report = NULL;
        print_verb_help(cli->verb, options, count);
        return false;
    }
    if (status == STATUS_OK)
        status = check_arguments(cli);
    if (status == STATUS_OK)
        status = check_environment(cli);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        char object[64];
        snprintf(object, sizeof object, "option --%s", options[i].name);
        if (options[i].required && !options[i].given)
            status = cli_error(cli, ERR_CLI_MISSING, object, "%s needs it", cli->verb->name);
    }
    if (status != STATUS_OK)
        return false;
    cli->context = tw_open((unsigned)cli->threads);
    if (!cli->context)
        cli_error(cli, ERR_THREAD, NULL, "no memory or threads left on the host");
    else
        tw_set_checks(cli->context, cli->checks);
    return cli->context != NULL;
}

void cli_put(Cli *cli, const char *key, json_t *value) {
    if (cli->report)
        json_object_set_new(cli->report, key, value);
    else
        json_decref(value);
}

json_t *cli_real(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *cli_text(const char *text) {
    json_t *string = text ? json_string(text) : json_null();
    char *copy = string ? NULL : mem_strdup(text);
    if (!copy)
        return string;
    uint32_t code_point;
    for (size_t at = 0, left = strlen(copy), length; left; at += length, left -= length) {
        length = utf8_next(copy + at, left, &code_point);
        if (length == 0) {
            copy[at] = '?';
            length = 1;
        }
    }
    string = json_string(copy);
    mem_free(copy);
    return string;
}

void cli_put_real(Cli *cli, const char *key, double value) {
    cli_put(cli, key, cli_real(value));
}

void cli_put_whole(Cli *cli, const char *key, uint64_t value) {
    cli_put(cli, key, json_integer((json_int_t)value));
}

const char *cli_number(uint64_t value, char text[CLI_NUMBER]) {
    char digits[24];
    int count = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value);
    char *out = text;
    for (int i = 0; i < count; i++) {
        if (i > 0 && (count - i) % 3 == 0)
            *out++ = ',';
        *out++ = digits[i];
    }
    *out = 0;
    return text;
}

static void put_text(json_t *object, const char *key, const char *text) {
    if (text)
        json_object_set_new(object, key, cli_text(text));
}

static json_t *message_json(const TwMessage *message) {
    json_t *object = json_object();
    put_text(object, "code", tw_code(message->code));
    put_text(object, "text", message->text);
    put_text(object, "file", message->file);
    if (message->line)
        json_object_set_new(object, "line", json_integer(message->line));
    if (message->column)
        json_object_set_new(object, "column", json_integer(message->column));
    if (message->tile >= 0)
        json_object_set_new(object, "tile", json_integer(message->tile));
    put_text(object, "object", message->object);
    put_text(object, "notes", message->notes);
    put_text(object, "fix", message->fix);
    return object;
}

static void put_messages(Cli *cli) {
    json_t *errors = json_array(), *warnings = json_array();
    for (size_t i = 0; i < cli->diag.count; i++) {
        const DiagEntry *entry = &cli->diag.entries[i];
        TwMessage message = {.code = (TwStatus)entry->code,
                             .tile = -1,
                             .object = entry->place.object,
                             .text = entry->text,
                             .fix = entry->fix};
        json_array_append_new(errors, message_json(&message));
    }
    size_t count = cli->context ? tw_message_count(cli->context) : 0;
    for (size_t i = 0; i < count; i++) {
        TwMessage message = tw_message(cli->context, i);
        json_array_append_new(message.warning ? warnings : errors, message_json(&message));
    }
    if (json_array_size(errors))
        json_object_set(cli->report, "errors", errors);
    if (json_array_size(warnings))
        json_object_set(cli->report, "warnings", warnings);
    json_decref(errors);
    json_decref(warnings);
}

/* Output that could not be written must not look like success. */
static Status flush_output(Cli *cli) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return STATUS_OK;
    const char *reason = errno ? strerrordesc_np(errno) : "an earlier write failed";
    return cli_error(cli, ERR_FILE_WRITE, "standard output", "cannot write: %s", reason);
}

int cli_end(Cli *cli, TwStatus status, bool failed) {
    if (status == 0)
        status = (TwStatus)diag_status(&cli->diag);
    diag_complete(&cli->diag);
    if (cli->report) {
        put_messages(cli);
        json_dumpf(cli->report, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
        fputc('\n', stdout);
    }
    Status flushed = flush_output(cli);
    if (status == 0)
        status = (TwStatus)flushed;
    diag_complete(&cli->diag);
    diag_print(&cli->diag, stderr);
    if (cli->context)
        tw_print_messages(cli->context, stderr);
    json_decref(cli->report);
    vec_free(&cli->arguments);
    diag_free(&cli->diag);
    tw_close(cli->context);
    return status != 0 ? tw_exit_code(status) : failed ? EXIT_CLASS_CHECK : EXIT_CLASS_OK;
}

static int unknown_verb(const char *name) {
    Cli cli = {0};
    char shown[TEXT_PRINTABLE];
    cli_error(&cli, ERR_CLI_VERB, NULL, "no verb '%s'", text_printable(name, shown));
    Nearest nearest = nearest_begin(name);
    for (size_t i = 0; i < COUNT_OF(verbs); i++)
        nearest_offer(&nearest, verbs[i]->name);
    if (nearest.best)
        diag_fix(&cli.diag, "did you mean %s?", nearest.best);
    else
        diag_fix(&cli.diag, "tilework help lists the verbs");
    return cli_end(&cli, 0, false);
}

static int run_verb(const Verb *verb, int argc, char **argv) {
    Cli cli = {.verb = verb};
    return verb->run(&cli, argc, argv);
}

int cli_main(int argc, char **argv) {
    if (argc < 2) {
        print_help();
        return EXIT_CLASS_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = "help";
    if (strcmp(name, "--version") == 0)
        name = "version";
    const Verb *verb = find_verb(name);
    return verb ? run_verb(verb, argc - 2, argv + 2) : unknown_verb(name);
}

static int run_help(Cli *cli, int argc, char **argv) {
    Option options[] = {CLI_OPTION_HELP};
    if (!cli_begin(cli, options, COUNT_OF(options), argc, argv))
        return cli_end(cli, 0, false);
    if (cli->arguments.count == 0) {
        print_help();
        return cli_end(cli, 0, false);
    }
    const char *name = cli->arguments.items[0];
    const Verb *verb = find_verb(name);
    int code = cli_end(cli, 0, false);
    return code ? code : verb ? run_verb(verb, 1, (char *[]){"--help", NULL}) : unknown_verb(name);
}

const Verb verb_help = {
    .name = "help",
    .arguments = "[VERB]",
    .most = 1,
    .summary = "list the verbs, or explain one",
    .examples = "  tilework help bench\n",
    .run = run_help,
};
