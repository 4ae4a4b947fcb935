#include "base/mem.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Atomic uint64_t allocations; /* since the last mem_fail_after */
static _Atomic uint64_t fail_from;   /* the first allocation that fails, 0 for none */

static bool allocation_may_proceed(void) {
    uint64_t number = atomic_fetch_add_explicit(&allocations, 1, memory_order_relaxed) + 1;
    uint64_t limit = atomic_load_explicit(&fail_from, memory_order_relaxed);
    return limit == 0 || number < limit;
}

uint64_t mem_fail_after(uint64_t n) {
    atomic_store(&fail_from, n);
    return atomic_exchange(&allocations, 0);
}

/* Bytes to ask for: an empty block still needs an address of its own. False on overflow. */
static bool block_bytes(size_t count, size_t size, size_t *bytes) {
    if (!checked_mul(count, size, bytes) || *bytes > PTRDIFF_MAX)
        return false;
    *bytes = MAX_OF(*bytes, (size_t)1);
    return true;
}

void *mem_alloc(size_t count, size_t size) {
    size_t bytes;
    if (!allocation_may_proceed() || !block_bytes(count, size, &bytes))
        return NULL;
    return calloc(1, bytes);
}

void *mem_resize(void *block, size_t count, size_t size) {
    size_t bytes;
    if (!allocation_may_proceed() || !block_bytes(count, size, &bytes))
        return NULL;
    return realloc(block, bytes);
}

void mem_free(void *block) {
    free(block);
}

char *mem_strdup(const char *text) {
    size_t bytes = strlen(text) + 1;
    char *copy = mem_alloc(bytes, 1);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

/* Length of the formatted text without its final 0, or -1. */
static int formatted_length(const char *format, va_list arguments) {
    va_list copy;
    va_copy(copy, arguments);
    int length = vsnprintf(NULL, 0, format, copy);
    va_end(copy);
    return length;
}

char *mem_vprintf(const char *format, va_list arguments) {
    int length = formatted_length(format, arguments);
    char *text = length < 0 ? NULL : mem_alloc((size_t)length + 1, 1);
    if (text)
        vsnprintf(text, (size_t)length + 1, format, arguments);
    return text;
}

char *mem_printf(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = mem_vprintf(format, arguments);
    va_end(arguments);
    return text;
}

struct ArenaChunk {
    struct ArenaChunk *next;
    size_t used, size; /* bytes of `bytes` */
    _Alignas(16) unsigned char bytes[];
};

#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
/* Every block is a chunk of its own, so that the sanitizer sees its ends. */
static const size_t first_chunk = 1, last_chunk = 1;
#else
static const size_t first_chunk = 4096, last_chunk = 1 << 20;
#endif

static struct ArenaChunk *arena_add_chunk(Arena *arena, size_t bytes) {
    size_t size = arena->chunks ? 2 * arena->chunks->size : first_chunk;
    size = MAX_OF(MIN_OF(size, last_chunk), bytes);
    size_t total;
    if (!checked_add(size, sizeof(struct ArenaChunk), &total))
        return NULL;
    struct ArenaChunk *chunk = mem_alloc(total, 1);
    if (!chunk)
        return NULL;
    chunk->size = size;
    chunk->next = arena->chunks;
    arena->chunks = chunk;
    return chunk;
}

void *arena_alloc(Arena *arena, size_t count, size_t size) {
    size_t bytes, padded;
    if (!checked_mul(count, size, &bytes) || !checked_add(bytes, (size_t)15, &padded))
        return NULL;
    struct ArenaChunk *chunk = arena->chunks;
    if (chunk) {
        size_t start = align_up(chunk->used, 16);
        if (start < chunk->size && bytes <= chunk->size - start) {
            chunk->used = start + bytes;
            return chunk->bytes + start;
        }
    }
    chunk = arena_add_chunk(arena, MAX_OF(bytes, (size_t)1));
    if (!chunk)
        return NULL;
    chunk->used = bytes;
    return chunk->bytes;
}

char *arena_strdup(Arena *arena, const char *text) {
    size_t bytes = strlen(text) + 1;
    char *copy = arena_alloc(arena, bytes, 1);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

char *arena_printf(Arena *arena, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = formatted_length(format, arguments);
    char *text = length < 0 ? NULL : arena_alloc(arena, (size_t)length + 1, 1);
    if (text)
        vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return text;
}

void arena_free(Arena *arena) {
    while (arena->chunks) {
        struct ArenaChunk *next = arena->chunks->next;
        mem_free(arena->chunks);
        arena->chunks = next;
    }
}

bool vec_grow(void **items, size_t *capacity, size_t count, size_t more, size_t size) {
    size_t needed;
    if (!checked_add(count, more, &needed))
        return false;
    if (needed <= *capacity)
        return true;
    size_t doubled = *capacity <= SIZE_MAX / 2 ? 2 * *capacity : needed;
    size_t wanted = MAX_OF(MAX_OF(needed, doubled), (size_t)8);
    void *grown = mem_resize(*items, wanted, size);
    if (!grown)
        return false;
    *items = grown;
    *capacity = wanted;
    return true;
}
