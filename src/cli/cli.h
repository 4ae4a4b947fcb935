/* The command: verbs, their arguments, and what they print. A verb's file fills a table of options,
 * lets cli_begin parse them, calls the public interface and prints text or one JSON document. */
#pragma once

#include "cli/options.h"
#include "tilework/tilework.h"

#include <jansson.h>

typedef struct Cli Cli;

typedef struct Verb {
    const char *name;
    const char *arguments; /* "GRAPH", "PACKAGE PACKAGE" */
    size_t least, most;    /* how many of them */
    const char *summary;   /* one line */
    const char *about;     /* lines for its help, or NULL */
    const char *examples;  /* lines that run in the source folder, in the order of the verbs */
    int (*run)(Cli *cli, int argc, char **argv);
} Verb;

extern const Verb verb_bench, verb_compile, verb_run, verb_inspect, verb_verify, verb_diff,
    verb_profile, verb_quantize, verb_merge, verb_encode, verb_asm, verb_disasm, verb_kernel,
    verb_isa, verb_explain, verb_version, verb_help;

struct Cli {
    const Verb *verb;
    TwContext *context; /* from cli_begin on */
    Texts arguments;
    int64_t threads;
    bool checks;
    bool json, help;
    Diag diag;      /* errors of the command line itself */
    json_t *report; /* the document, with --json; NULL otherwise */
};

int cli_main(int argc, char **argv);

/* Options that verbs add to their own. */
#define CLI_OPTION_JSON                                                                            \
    { .name = "json", .kind = OPTION_FLAG, .help = "print one JSON document", .target = &cli->json }
#define CLI_OPTION_HELP                                                                            \
    {                                                                                              \
        .name = "help", .letter = 'h', .kind = OPTION_FLAG, .help = "print this",                  \
        .target = &cli->help                                                                       \
    }
#define CLI_OPTION_THREADS                                                                         \
    {                                                                                              \
        .name = "threads", .kind = OPTION_WHOLE, .value = "N",                                     \
        .help = "threads to use (default: as many as processors)", .target = &cli->threads,        \
        .least = 1, .most = 1024                                                                   \
    }

#define CLI_OPTION_CHECK                                                                           \
    {                                                                                              \
        .name = "check", .kind = OPTION_FLAG,                                                      \
        .help = "trap on values never written, races, stray accesses and NaNs (slower)",           \
        .target = &cli->checks                                                                     \
    }

/* Parses, prints help if it is asked for, checks the number of arguments and opens the context.
 * True if the verb shall go on; else it returns cli_end(cli, STATUS_OK) at once. */
bool cli_begin(Cli *cli, Option *options, size_t count, int argc, char **argv);
/* Errors of the command line that a verb finds; returns the code. */
Status cli_error(Cli *cli, Status code, const char *object, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Prints messages and, with --json, the report, and returns the exit code: that of the first error,
 * or of `status`, or 1 if `failed`. */
int cli_end(Cli *cli, TwStatus status, bool failed);

/* Adds to the report; nothing without --json. Numbers that JSON lacks become null. */
void cli_put(Cli *cli, const char *key, json_t *value);
void cli_put_real(Cli *cli, const char *key, double value);
void cli_put_whole(Cli *cli, const char *key, uint64_t value);
json_t *cli_real(double value);
/* Text that may be no valid UTF-8: what JSON cannot hold becomes '?'. NULL becomes null. */
json_t *cli_text(const char *text);
/* 1234567 → "1,234,567" in `text`, which is returned. */
enum { CLI_NUMBER = 32 };
const char *cli_number(uint64_t value, char text[CLI_NUMBER]);

/* ---- options and report of compilation, for bench and compile */
typedef struct CompileArguments {
    int64_t tiles, max_copies, rank;
    Texts grids;
    unsigned dumps; /* bits: plan, lower, place, exchange */
    unsigned casts; /* bits: auto, early, late */
    bool explain, device_input;
    struct CompileDump {
        char *text;
        size_t size;
        FILE *file;
    } dump[5]; /* plan, lower, place, exchange, explanation */
} CompileArguments;

enum { CLI_COMPILE_OPTIONS = 8 };
/* Fills options[0…7] and the defaults. */
void compile_options(CompileArguments *arguments, Option options[CLI_COMPILE_OPTIONS]);
/* The same for tw_compile; opens the dumps. */
Status compile_open(Cli *cli, CompileArguments *arguments, TwCompileOptions *options);
/* Prints what was dumped, and puts the common part of the report: cycles predicted, scheduled and
 * ideal, seconds, refusal. */
void compile_report(Cli *cli, CompileArguments *arguments, const TwCompileReport *report);
void compile_free(CompileArguments *arguments);
