/* Small helpers for readers of text. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Length 1–4 of the UTF-8 character at `text` (size bytes left) and its code point; 0 if it is no
 * valid one: overlong, surrogate, above 10FFFF, cut off, or size 0. */
size_t utf8_next(const char *text, size_t size, uint32_t *code_point);

/* The candidate most like a misspelt word: fewest insertions, deletions, changes and swaps of
 * neighbours, at most a third of the word's length (but 1 for every word); the first of equals. */
typedef struct Nearest {
    const char *word;
    const char *best; /* NULL while none is near enough */
    size_t distance;  /* of best; a candidate must be below it */
} Nearest;

Nearest nearest_begin(const char *word);
/* `candidate` must outlive the search. Words above 64 bytes are compared for equality alone. */
void nearest_offer(Nearest *nearest, const char *candidate);

/* A name from a file, fit for a message: control characters and invalid UTF-8 become '?', and what
 * does not fit is cut with "…". Returns `out`. */
enum { TEXT_PRINTABLE = 128 };
const char *text_printable(const char *name, char out[TEXT_PRINTABLE]);
