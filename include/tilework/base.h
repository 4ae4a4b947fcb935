/* Tilework's public interface: contexts, status codes and messages.
 *
 * Functions that can fail return a TwStatus: 0, or the number of an error ("TW0102" is 102), whose
 * story is in the context's messages. Objects belong to the caller, who frees them; they may not
 * outlive their context. A context is used by one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TW_VERSION "0.1.0"

typedef int TwStatus;

/* A pool of threads, and the messages of the functions called with it. */
typedef struct TwContext TwContext;

/* threads = 0: as many as the machine has processors. Results never depend on the number. NULL
 * without memory or threads. */
TwContext *tw_open(unsigned threads);
void tw_close(TwContext *context);

/* Whether devices opened from now on hold their programs against all checks: values never written,
 * races, accesses outside the operands of a kernel, NaNs in matrix products. Slower, with the same
 * results. */
void tw_set_checks(TwContext *context, bool on);

typedef struct TwMessage {
    TwStatus code;
    bool warning;
    const char *file;      /* this and the other texts: NULL if there is none */
    unsigned line, column; /* from 1; 0 if there is none */
    int tile;              /* -1 if there is none */
    const char *object;    /* what else it is about: "tensor w" */
    const char *text;
    const char *notes; /* lines separated by '\n' */
    const char *fix;   /* the nearest thing that would work */
} TwMessage;

/* Messages stay until they are cleared; their texts too. */
size_t tw_message_count(const TwContext *context);
TwMessage tw_message(TwContext *context, size_t index);
void tw_print_messages(TwContext *context, FILE *out);
void tw_clear_messages(TwContext *context);

/* "TW0102"; static storage. */
const char *tw_code(TwStatus status);
/* What the command exits with: 0 done, 1 a check failed, 2 bad usage, 3 bad input, 4 does not fit,
 * 5 internal error. */
int tw_exit_code(TwStatus status);
/* The page of a code ("TW0102", "tw102", "102") in Markdown, or NULL. */
const char *tw_explain(const char *code);
/* All codes in ascending order; false after the last one. */
bool tw_code_at(size_t index, TwStatus *status, const char **title);

/* Frees a text that a function of this interface returned. */
void tw_free(void *text);

typedef enum TwPrecisionKind { TW_F8F143, TW_F16, TW_F32 } TwPrecisionKind;

/* A stored F143 number stands for its value · 2^scale_exponent, -16…15; 0 for the others. */
typedef struct TwPrecision {
    TwPrecisionKind kind;
    int scale_exponent;
} TwPrecision;

/* "f8f143", "f16", "f32" */
const char *tw_precision_name(TwPrecisionKind kind);

enum { TW_TILES = 1472 }; /* of the chip */

enum { TW_MAX_RANK = 6 };
typedef struct TwShape {
    unsigned rank;
    uint32_t dims[TW_MAX_RANK];
} TwShape;
