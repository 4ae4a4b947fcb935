/* Allocation: checked sizes, and one place where tests make the n-th allocation fail. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* count * size zeroed bytes, or NULL (overflow or no memory). Free with mem_free. */
void *mem_alloc(size_t count, size_t size);
/* Grows or shrinks; new bytes are not zeroed. On NULL the old block is still valid. */
void *mem_resize(void *block, size_t count, size_t size);
void mem_free(void *block);
char *mem_strdup(const char *text);
char *mem_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *mem_vprintf(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

/* Test hook: the n-th allocation from now (1 = next) and all after it fail; 0 switches it off.
 * Returns how many allocations were made since the last call. */
uint64_t mem_fail_after(uint64_t n);

/* Arena: many small blocks of one lifetime. Blocks are zeroed and 16-byte aligned. */
typedef struct Arena {
    struct ArenaChunk *chunks;
} Arena;

void *arena_alloc(Arena *arena, size_t count, size_t size);
char *arena_strdup(Arena *arena, const char *text);
char *arena_printf(Arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
void arena_free(Arena *arena);
#define ARENA_NEW(arena, type, count) ((type *)arena_alloc((arena), (count), sizeof(type)))

/* VEC(T): a growable array, {T *items; size_t count, capacity}. Zero-initialise to create. */
#define VEC(type)                                                                                  \
    struct {                                                                                       \
        type *items;                                                                               \
        size_t count, capacity;                                                                    \
    }
/* Makes room for n more; false when there is no memory. */
#define vec_reserve(vec, n)                                                                        \
    vec_grow((void **)&(vec)->items, &(vec)->capacity, (vec)->count, (n), sizeof *(vec)->items)
/* Appends one item; false when there is no memory. */
#define vec_push(vec, ...)                                                                         \
    (vec_reserve((vec), 1) && ((vec)->items[(vec)->count++] = (__VA_ARGS__), true))
#define vec_free(vec)                                                                              \
    (mem_free((vec)->items), (vec)->items = NULL, (vec)->count = (vec)->capacity = 0)

bool vec_grow(void **items, size_t *capacity, size_t count, size_t more, size_t size);

/* Checked arithmetic: true if the result is exact. */
#define checked_add(a, b, result) (!__builtin_add_overflow((a), (b), (result)))
#define checked_mul(a, b, result) (!__builtin_mul_overflow((a), (b), (result)))

/* Smallest multiple of `to` that is >= value; `to` > 0, no overflow check. */
static inline uint64_t align_up(uint64_t value, uint64_t to) {
    return (value + to - 1) / to * to;
}
static inline uint64_t div_up(uint64_t value, uint64_t by) {
    return (value + by - 1) / by;
}
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define MIN_OF(a, b)    ((a) < (b) ? (a) : (b))
#define MAX_OF(a, b)    ((a) > (b) ? (a) : (b))
