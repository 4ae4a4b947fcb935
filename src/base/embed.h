/* Files compiled into the program (cmake/embed.cmake). Tables end with a NULL name. */
#pragma once

#include <stddef.h>

typedef struct EmbeddedFile {
    const char *name;  /* file name without folders */
    const char *bytes; /* followed by a 0 that size does not count */
    size_t size;
} EmbeddedFile;

/* The entry called `name` of a table, or NULL. */
const EmbeddedFile *embed_find(const EmbeddedFile *table, const char *name);

extern const EmbeddedFile tw_error_pages[];
