/* The assembler, the disassembler and the instruction manual. */
#pragma once

#include "tilework/base.h"

typedef struct TwAssembleOptions {
    const char *preprocessor;   /* command, found through PATH; NULL: the text is taken as it is */
    const char *const *defines; /* NAME[=VALUE], of the preprocessor */
    size_t define_count;
    const char *const *includes; /* folders, of the preprocessor */
    size_t include_count;
    FILE *listing; /* NULL: none */
} TwAssembleOptions;

/* Assembles a file into an ELF32 relocatable object file, which is seen whole or not at all.
 * options may be NULL. */
TwStatus tw_assemble(TwContext *context, const char *source, const char *object,
                     const TwAssembleOptions *options);

/* Prints an object file, or the code of one tile of a package, as source that assembles to the same
 * bytes; addresses and words stand as comments. */
TwStatus tw_disassemble(TwContext *context, const char *path, unsigned tile, FILE *out);

typedef enum TwManual {
    TW_MANUAL_LIST,     /* one line a form */
    TW_MANUAL_MARKDOWN, /* the whole table */
    TW_MANUAL_EVIDENCE, /* every constant about the chip, and how well it is known */
    TW_MANUAL_COVERAGE, /* how many instructions are executed and tested; encodings, evidence */
    TW_MANUAL_COVERAGE_JSON, /* the same as one JSON object */
} TwManual;

void tw_manual(TwManual what, FILE *out);
/* All forms of one mnemonic; an error names the nearest one. */
TwStatus tw_manual_entry(TwContext *context, const char *mnemonic, FILE *out);
