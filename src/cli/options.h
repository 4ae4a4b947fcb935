/* Strict parsing of a verb's options: --name VALUE, --name=VALUE, -x VALUE; `--` ends them. Nothing
 * is ignored, abbreviated or guessed. */
#pragma once

#include "base/diag.h"
#include "base/mem.h"

typedef enum OptionKind {
    OPTION_FLAG,   /* bool; takes no value */
    OPTION_WHOLE,  /* int64_t in least…most */
    OPTION_REAL,   /* double, finite, in least…most */
    OPTION_TEXT,   /* const char * */
    OPTION_TEXTS,  /* Texts; may be given more than once */
    OPTION_CHOICES /* unsigned: bit i for choices[i]; a list with commas; may be repeated */
} OptionKind;

typedef VEC(const char *) Texts;

typedef struct Option {
    const char *name;  /* without the dashes */
    const char *value; /* what help calls the value: "N" */
    const char *help;
    OptionKind kind;
    void *target; /* holds the default */
    int64_t least, most;
    const char *const *choices; /* ends with NULL */
    char letter;                /* short form, 0 if none */
    bool required;
    bool given;
} Option;

/* Parses argv[0…argc-1]. Words that are no options go to `arguments`. `verb` is for messages.
 * Errors: ERR_CLI_OPTION, _VALUE, _CONFLICT (given twice), _MISSING. */
Status options_parse(const char *verb, Option *options, size_t count, int argc, char **argv,
                     Texts *arguments, Diag *diag);

/* The lines of help, aligned. */
void options_print(const Option *options, size_t count, FILE *out);
