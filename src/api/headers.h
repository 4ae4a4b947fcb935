/* Stand-ins for headers that a source includes and nobody has: each defines the names of
 * asm_standard_defines. They live in a folder of their own until api_headers_free. */
#pragma once

#include "base/mem.h"

#include <stdbool.h>

typedef struct ApiHeaders {
    char *folder;     /* NULL before the first one */
    VEC(char *) made; /* files and folders, in the order of their making */
} ApiHeaders;

/* Makes FOLDER/name. False if that is not possible, the name leaves the folder, it was made before
 * or there are too many. */
bool api_headers_add(ApiHeaders *headers, const char *name);
void api_headers_free(ApiHeaders *headers);
