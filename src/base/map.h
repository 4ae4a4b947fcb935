/* StrMap: string → pointer or number, insertion-ordered (so that iteration is deterministic). */
#pragma once

#include "base/mem.h"

typedef struct StrMap StrMap;

StrMap *strmap_create(void); /* NULL without memory */
void strmap_free(StrMap *map);
/* Inserts or replaces; the key is copied. False without memory. */
bool strmap_put(StrMap *map, const char *key, uint64_t value);
bool strmap_get(const StrMap *map, const char *key, uint64_t *value);
size_t strmap_count(const StrMap *map);
/* The i-th inserted key and value. */
const char *strmap_key(const StrMap *map, size_t index);
uint64_t strmap_value(const StrMap *map, size_t index);
