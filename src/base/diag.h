/* Diag: the sink of errors and warnings. One entry = code, place, text, notes, nearest fix.
 *
 * A Diag owns its strings. It is not shared between threads: workers fill one each, and
 * diag_append moves them over in a fixed order. When the host is out of memory an entry keeps its
 * code and a constant text, or at least `unrecorded` its code, so that reporting never fails. A
 * zeroed Diag is an empty one.
 */
#pragma once

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Where. Unused members are 0, -1 for tile. `file` and `object` need not outlive the call. */
typedef struct DiagPlace {
    const char *file;
    uint32_t line, column; /* 1-based */
    int32_t tile;          /* logical tile */
    const char *object;    /* phase, buffer, tensor, option … with its kind: "buffer %w[3]" */
} DiagPlace;

#define DIAG_NOWHERE ((DiagPlace){.tile = -1})

typedef struct DiagEntry {
    Status code;
    bool warning;
    DiagPlace place; /* strings owned by the Diag */
    char *text;
    char *notes; /* lines separated by '\n', NULL if none */
    char *fix;   /* NULL if none */
} DiagEntry;

typedef struct Diag {
    DiagEntry *entries;
    size_t count, capacity;
    size_t errors;
    Status unrecorded; /* code of the first error that found no memory for its entry */
} Diag;

void diag_init(Diag *diag);
void diag_free(Diag *diag);

/* Adds an error and returns its code, so that `return diag_error(…)` reads well. `diag` may be
 * NULL: then only the code is returned. */
Status diag_error(Diag *diag, Status code, DiagPlace place, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void diag_warning(Diag *diag, Status code, DiagPlace place, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Adds a note or the nearest fix to the newest entry; a printf text without final newline. */
void diag_note(Diag *diag, const char *format, ...) __attribute__((format(printf, 2, 3)));
void diag_fix(Diag *diag, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Moves all entries of `from` to the end of `to`. */
void diag_append(Diag *to, Diag *from);

/* The first error's code, or STATUS_OK. */
Status diag_status(const Diag *diag);

/* Entries without a fix get the remedy of their code (status.h). */
void diag_complete(Diag *diag);

/* "error TW0102 at f.S:3:7: text", then notes and fix, one a line, indented. */
void diag_print(const Diag *diag, FILE *out);
