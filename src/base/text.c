#include "base/text.h"

#include "base/mem.h"

#include <string.h>

size_t utf8_next(const char *text, size_t size, uint32_t *code_point) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (size == 0)
        return 0;
    unsigned char first = (unsigned char)text[0];
    if (first < 0x80) {
        *code_point = first;
        return 1;
    }
    size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || length > size)
        return 0;
    uint32_t code = first & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        unsigned char next = (unsigned char)text[i];
        if ((next & 0xC0) != 0x80)
            return 0;
        code = code << 6 | (next & 0x3F);
    }
    if (code < least[length] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
        return 0;
    *code_point = code;
    return length;
}

enum { NEAREST_MAX = 64 };

/* Optimal string alignment distance of two words of at most NEAREST_MAX bytes. */
static size_t distance(const char *a, size_t m, const char *b, size_t n) {
    size_t rows[3][NEAREST_MAX + 1];
    size_t *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= n; j++)
        last[j] = j;
    for (size_t i = 1; i <= m; i++) {
        now[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t best = last[j - 1] + (a[i - 1] != b[j - 1]);
            best = MIN_OF(best, last[j] + 1);
            best = MIN_OF(best, now[j - 1] + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                best = MIN_OF(best, before[j - 2] + 1);
            now[j] = best;
        }
        size_t *free_row = before;
        before = last;
        last = now;
        now = free_row;
    }
    return last[n];
}

Nearest nearest_begin(const char *word) {
    size_t length = strlen(word);
    return (Nearest){.word = word, .distance = MAX_OF(length / 3, 1u) + 1};
}

void nearest_offer(Nearest *nearest, const char *candidate) {
    size_t m = strlen(nearest->word), n = strlen(candidate);
    size_t apart = m > n ? m - n : n - m;
    if (apart >= nearest->distance)
        return;
    size_t found = nearest->distance;
    if (m <= NEAREST_MAX && n <= NEAREST_MAX)
        found = distance(nearest->word, m, candidate, n);
    else if (strcmp(nearest->word, candidate) == 0)
        found = 0;
    if (found < nearest->distance) {
        nearest->distance = found;
        nearest->best = candidate;
    }
}

const char *text_printable(const char *name, char out[TEXT_PRINTABLE]) {
    static const char cut[] = "…";
    size_t size = strlen(name), used = 0;
    for (size_t at = 0; at < size;) {
        uint32_t code_point;
        size_t length = utf8_next(name + at, size - at, &code_point);
        bool plain = length && code_point >= 0x20 && (code_point < 0x7F || code_point >= 0xA0);
        if (used + 4 + sizeof cut > TEXT_PRINTABLE) {
            memcpy(out + used, cut, sizeof cut);
            return out;
        }
        if (plain)
            memcpy(out + used, name + at, length);
        else
            out[used] = '?';
        used += plain ? length : 1;
        at += MAX_OF(length, 1u);
    }
    out[used] = 0;
    return out;
}
