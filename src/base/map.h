/* StrMap: string → number. */
#pragma once

#include "base/mem.h"

typedef struct StrMap StrMap;

StrMap *strmap_create(void); /* NULL without memory */
void strmap_free(StrMap *map);
/* Inserts or replaces; the key is copied. False without memory. */
bool strmap_put(StrMap *map, const char *key, uint64_t value);
bool strmap_get(const StrMap *map, const char *key, uint64_t *value);
