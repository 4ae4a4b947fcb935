#include "base/status.h"

#include "base/embed.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const StatusInfo rows[] = {
#define ERROR(identifier, number, exit_class, title)                                               \
    {identifier, EXIT_CLASS_##exit_class, #identifier, title},
#include "base/errors.def"
#undef ERROR
};

/* The code of each row, in the same order. */
static const char codes[][sizeof "TW0000"] = {
#define DIGIT(number, power) (char)('0' + (number) / (power) % 10)
#define ERROR(identifier, number, exit_class, title)                                               \
    {'T', 'W', DIGIT(number, 1000), DIGIT(number, 100), DIGIT(number, 10), DIGIT(number, 1), 0},
#include "base/errors.def"
#undef ERROR
#undef DIGIT
};

enum { ROWS = sizeof rows / sizeof rows[0] };

const StatusInfo *status_info(Status status) {
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].status == status)
            return &rows[i];
    }
    return NULL;
}

const char *status_code(Status status) {
    const StatusInfo *info = status_info(status);
    return info ? codes[info - rows] : "TW0000";
}

Status status_from_code(const char *text) {
    if (toupper((unsigned char)text[0]) == 'T' && toupper((unsigned char)text[1]) == 'W')
        text += 2;
    size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 4 || text[digits] != 0)
        return STATUS_OK;
    const StatusInfo *info = status_info((Status)strtoul(text, NULL, 10));
    return info ? info->status : STATUS_OK;
}

const char *status_remedy(Status status, char text[STATUS_REMEDY]) {
    static const char mark[] = "\nWhat to do: ";
    char name[16];
    snprintf(name, sizeof name, "%s.md", status_code(status));
    const EmbeddedFile *page = embed_find(tw_error_pages, name);
    const char *from = page ? strstr(page->bytes, mark) : NULL;
    size_t length = 0;
    for (from = from ? from + strlen(mark) : ""; *from && length < STATUS_REMEDY - 1; from++) {
        bool last = from[1] == 0 || isspace((unsigned char)from[1]);
        if ((*from == '.' && last) || (*from == '\n' && last))
            break;
        text[length++] = *from == '\n' ? ' ' : *from;
    }
    text[length] = 0;
    return text;
}

const StatusInfo *status_all(int *count) {
    *count = ROWS;
    return rows;
}
