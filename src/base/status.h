/* Status: what every function that can fail returns. The story goes to a Diag (diag.h). */
#pragma once

#include <stdbool.h>

typedef enum Status {
    STATUS_OK = 0,
#define ERROR(identifier, number, exit_class, title) identifier = number,
#include "base/errors.def"
#undef ERROR
} Status;

typedef enum ExitClass {
    EXIT_CLASS_OK = 0,
    EXIT_CLASS_CHECK = 1,
    EXIT_CLASS_USAGE = 2,
    EXIT_CLASS_INPUT = 3,
    EXIT_CLASS_NOFIT = 4,
    EXIT_CLASS_INTERNAL = 5,
} ExitClass;

/* Row of errors.def for a status, or NULL if there is none. */
typedef struct StatusInfo {
    Status status;
    ExitClass exit_class;
    const char *name;  /* "ERR_FILE_OPEN" */
    const char *title; /* one line, no capital, no full stop */
} StatusInfo;

const StatusInfo *status_info(Status status);

/* "TW0102"; static storage. */
const char *status_code(Status status);

/* Parses "TW0102", "tw102" or "102"; STATUS_OK if it names no error. */
Status status_from_code(const char *text);

/* What its page (docs/errors) says to do: the first sentence behind "What to do: " on one line,
 * without the full stop. "" if there is none. */
enum { STATUS_REMEDY = 320 };
const char *status_remedy(Status status, char text[STATUS_REMEDY]);

/* All rows, in order of number; *count receives how many. */
const StatusInfo *status_all(int *count);
