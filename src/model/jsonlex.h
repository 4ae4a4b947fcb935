/* A strict lexer for the JSON subset that file headers need: RFC 8259, UTF-8 checked, strings with
 * escapes resolved, whole numbers as exact 64-bit integers. A caller drives it, and nothing
 * recurses or allocates by the input's wish. */
#pragma once

#include "base/mem.h"

#include <stdbool.h>

typedef struct Json {
    const char *text;
    size_t size, at;
    const char *error; /* what was expected, once a function failed; `at` tells where */
    bool no_memory;    /* or it failed for lack of memory */
} Json;

static inline bool jsonlex_failed(const Json *json) {
    return json->error || json->no_memory;
}

typedef enum JsonKind {
    JSON_OBJECT,
    JSON_ARRAY,
    JSON_STRING,
    JSON_WHOLE, /* digits alone */
    JSON_NUMBER,
    JSON_WORD, /* true, false, null */
    JSON_NONE, /* no value begins here */
} JsonKind;

void jsonlex_skip_space(Json *json);
/* What begins after blanks; takes nothing. JSON_WHOLE is not told from JSON_NUMBER here. */
JsonKind jsonlex_peek(Json *json);
/* Takes one punctuation character after blanks. */
bool jsonlex_take(Json *json, char c);
/* The same, as an error if it is not there. */
bool jsonlex_want(Json *json, char c);
/* A string into the arena, without the quotes, 0-terminated. No NUL and no lone surrogate may be in
 * it. NULL on failure. */
const char *jsonlex_string(Json *json, Arena *arena);
/* A whole number without sign, fraction, exponent and leading zero that fits 64 bits. */
bool jsonlex_whole(Json *json, uint64_t *number);
/* Passes over one value of at most `depth` nested arrays and objects. */
bool jsonlex_skip(Json *json, unsigned depth);

/* Members and elements: `first` is true before the first call. Returns whether there is a further
 * one; its key goes to *key (object). On false jsonlex_failed tells; if it did not, the end was
 * taken.
 *
 *   jsonlex_want(json, '{');
 *   for (bool first = true; jsonlex_next_member(json, arena, &first, &key);) …
 */
bool jsonlex_next_member(Json *json, Arena *arena, bool *first, const char **key);
bool jsonlex_next_element(Json *json, bool *first);
