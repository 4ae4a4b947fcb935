#include "base/embed.h"

#include <string.h>

const EmbeddedFile *embed_find(const EmbeddedFile *table, const char *name) {
    for (; table->name; table++) {
        if (strcmp(table->name, name) == 0)
            return table;
    }
    return NULL;
}
