#include "base/map.h"

#include "base/random.h"

#include <string.h>

typedef struct Entry {
    char *key;
    uint64_t hash, value;
} Entry;

struct StrMap {
    VEC(Entry) entries;
    size_t *slots;     /* 1 + index into entries, 0 when free; linear probing */
    size_t slot_count; /* power of two, at least twice the entries */
};

StrMap *strmap_create(void) {
    return mem_alloc(1, sizeof(StrMap));
}

void strmap_free(StrMap *map) {
    if (!map)
        return;
    for (size_t i = 0; i < map->entries.count; i++)
        mem_free(map->entries.items[i].key);
    vec_free(&map->entries);
    mem_free(map->slots);
    mem_free(map);
}

/* The slot that holds the key, or the free one where it belongs; the table is never full. */
static size_t *find_slot(const StrMap *map, const char *key, uint64_t hash) {
    size_t mask = map->slot_count - 1;
    for (size_t i = (size_t)hash & mask;; i = (i + 1) & mask) {
        size_t *slot = &map->slots[i];
        if (*slot == 0)
            return slot;
        const Entry *entry = &map->entries.items[*slot - 1];
        if (entry->hash == hash && strcmp(entry->key, key) == 0)
            return slot;
    }
}

static bool grow_slots(StrMap *map) {
    size_t count = map->slot_count ? 2 * map->slot_count : 16;
    size_t *slots = mem_alloc(count, sizeof *slots);
    if (!slots)
        return false;
    mem_free(map->slots);
    map->slots = slots;
    map->slot_count = count;
    for (size_t i = 0; i < map->entries.count; i++) {
        const Entry *entry = &map->entries.items[i];
        *find_slot(map, entry->key, entry->hash) = i + 1;
    }
    return true;
}

bool strmap_put(StrMap *map, const char *key, uint64_t value) {
    if (2 * (map->entries.count + 1) > map->slot_count && !grow_slots(map))
        return false;
    uint64_t hash = fnv1a64(key);
    size_t *slot = find_slot(map, key, hash);
    if (*slot) {
        map->entries.items[*slot - 1].value = value;
        return true;
    }
    char *copy = mem_strdup(key);
    if (!copy || !vec_push(&map->entries, (Entry){copy, hash, value})) {
        mem_free(copy);
        return false;
    }
    *slot = map->entries.count;
    return true;
}

bool strmap_get(const StrMap *map, const char *key, uint64_t *value) {
    if (map->slot_count == 0)
        return false;
    size_t slot = *find_slot(map, key, fnv1a64(key));
    if (slot == 0)
        return false;
    *value = map->entries.items[slot - 1].value;
    return true;
}
