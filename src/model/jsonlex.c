#include "model/jsonlex.h"

#include "base/text.h"

#include <string.h>

static bool fail(Json *json, const char *expected) {
    if (!json->error)
        json->error = expected;
    return false;
}

/* The character at the current place, -1 at the end. */
static int here(const Json *json) {
    return json->at < json->size ? (unsigned char)json->text[json->at] : -1;
}

void jsonlex_skip_space(Json *json) {
    while (here(json) == ' ' || here(json) == '\t' || here(json) == '\n' || here(json) == '\r')
        json->at++;
}

static bool is_digit(int c) {
    return c >= '0' && c <= '9';
}

JsonKind jsonlex_peek(Json *json) {
    jsonlex_skip_space(json);
    int c = here(json);
    switch (c) {
    case '{': return JSON_OBJECT;
    case '[': return JSON_ARRAY;
    case '"': return JSON_STRING;
    case 't':
    case 'f':
    case 'n': return JSON_WORD;
    default: return is_digit(c) || c == '-' ? JSON_NUMBER : JSON_NONE;
    }
}

bool jsonlex_take(Json *json, char c) {
    jsonlex_skip_space(json);
    if (here(json) != c)
        return false;
    json->at++;
    return true;
}

bool jsonlex_want(Json *json, char c) {
    static const char *const expected[] = {"'{'", "'}'", "'['", "']'", "':'", "','", "'\"'"};
    if (jsonlex_take(json, c))
        return true;
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        if (expected[i][1] == c)
            return fail(json, expected[i]);
    }
    return fail(json, "other punctuation");
}

static bool hex4(Json *json, uint32_t *code) {
    *code = 0;
    for (int i = 0; i < 4; i++, json->at++) {
        int c = here(json);
        uint32_t digit = 0;
        if (is_digit(c))
            digit = (uint32_t)(c - '0');
        else if ((c | 32) >= 'a' && (c | 32) <= 'f')
            digit = (uint32_t)((c | 32) - 'a' + 10);
        else
            return fail(json, "four hexadecimal digits after \\u");
        *code = *code << 4 | digit;
    }
    return true;
}

/* \uXXXX, the \u being taken; a high surrogate takes its partner too. */
static bool unicode_escape(Json *json, uint32_t *code) {
    if (!hex4(json, code))
        return false;
    if (*code >= 0xD800 && *code < 0xDC00) {
        uint32_t low;
        if (here(json) != '\\' || json->at + 1 >= json->size || json->text[json->at + 1] != 'u')
            return fail(json, "a low surrogate after a high one");
        json->at += 2;
        if (!hex4(json, &low))
            return false;
        if (low < 0xDC00 || low > 0xDFFF)
            return fail(json, "a low surrogate after a high one");
        *code = 0x10000 + ((*code - 0xD800) << 10) + (low - 0xDC00);
    } else if (*code >= 0xDC00 && *code < 0xE000) {
        return fail(json, "no lone low surrogate");
    }
    return *code != 0 || fail(json, "no NUL character in a string");
}

static size_t put_utf8(char *out, uint32_t code) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = length; i-- > 1; code >>= 6)
        out[i] = (char)(0x80 | (code & 0x3F));
    out[0] = (char)(code | (0xF00u >> length & 0xFF));
    return length;
}

/* One escape sequence, the backslash being taken. */
static bool escape(Json *json, char **out) {
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    int c = here(json);
    const char *found = c > 0 ? strchr(from, c) : NULL;
    if (c != 'u' && !found)
        return fail(json, "an escape sequence");
    json->at++;
    if (found) {
        *(*out)++ = to[found - from];
        return true;
    }
    uint32_t code;
    if (!unicode_escape(json, &code))
        return false;
    *out += put_utf8(*out, code);
    return true;
}

/* Index of the closing quote of the string whose content begins at `at`, or the end of the text:
 * an upper bound of the content's size. */
static size_t string_end(const Json *json, size_t at) {
    while (at < json->size && json->text[at] != '"')
        at += json->text[at] == '\\' ? 2 : 1;
    return MIN_OF(at, json->size);
}

/* The content of a string into `out`, which is large enough; the opening quote is taken. */
static bool string_content(Json *json, char *out) {
    for (;;) {
        int c = here(json);
        if (c == '"') {
            json->at++;
            *out = 0;
            return true;
        }
        if (c < 0)
            return fail(json, "'\"' at the end of a string");
        if (c < 0x20)
            return fail(json, "no control character in a string");
        if (c == '\\') {
            json->at++;
            if (!escape(json, &out))
                return false;
            continue;
        }
        uint32_t code;
        size_t length = utf8_next(json->text + json->at, json->size - json->at, &code);
        if (length == 0)
            return fail(json, "valid UTF-8");
        memcpy(out, json->text + json->at, length);
        out += length;
        json->at += length;
    }
}

const char *jsonlex_string(Json *json, Arena *arena) {
    if (!jsonlex_want(json, '"'))
        return NULL;
    char *out = arena_alloc(arena, string_end(json, json->at) - json->at + 1, 1);
    json->no_memory |= !out;
    return out && string_content(json, out) ? out : NULL;
}

bool jsonlex_whole(Json *json, uint64_t *number) {
    jsonlex_skip_space(json);
    size_t start = json->at;
    *number = 0;
    for (; is_digit(here(json)); json->at++) {
        if (!checked_mul(*number, 10, number) ||
            !checked_add(*number, (uint64_t)(here(json) - '0'), number))
            return fail(json, "a number below 2^64");
    }
    int c = here(json);
    bool leading_zero = json->at > start + 1 && json->text[start] == '0';
    if (json->at == start || leading_zero || c == '.' || c == 'e' || c == 'E') {
        json->at = start;
        return fail(json, "a whole number without sign, fraction or exponent");
    }
    return true;
}

static bool digits(Json *json) {
    if (!is_digit(here(json)))
        return fail(json, "a digit");
    while (is_digit(here(json)))
        json->at++;
    return true;
}

static bool skip_number(Json *json) {
    if (here(json) == '-')
        json->at++;
    if (here(json) == '0')
        json->at++;
    else if (!digits(json))
        return false;
    if (here(json) == '.') {
        json->at++;
        if (!digits(json))
            return false;
    }
    if (here(json) == 'e' || here(json) == 'E') {
        json->at++;
        if (here(json) == '+' || here(json) == '-')
            json->at++;
        return digits(json);
    }
    return true;
}

static bool skip_word(Json *json) {
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        size_t length = strlen(words[i]);
        if (json->size - json->at >= length &&
            memcmp(json->text + json->at, words[i], length) == 0) {
            json->at += length;
            return true;
        }
    }
    return fail(json, "a value");
}

/* Reads a string for its errors alone. */
static bool skip_string(Json *json) {
    Arena scratch = {0};
    bool done = jsonlex_string(json, &scratch) != NULL;
    arena_free(&scratch);
    return done;
}

static bool skip_scalar(Json *json) {
    switch (jsonlex_peek(json)) {
    case JSON_STRING: return skip_string(json);
    case JSON_WHOLE:
    case JSON_NUMBER: return skip_number(json);
    case JSON_WORD: return skip_word(json);
    default: return fail(json, "a value");
    }
}

bool jsonlex_skip(Json *json, unsigned depth) {
    enum { MOST = 32 };
    bool object[MOST], first[MOST];
    unsigned level = 0;
    depth = MIN_OF(depth, MOST);
    do {
        if (level > 0 && jsonlex_take(json, object[level - 1] ? '}' : ']')) {
            level--;
            continue;
        }
        if (level > 0 && !first[level - 1] && !jsonlex_want(json, ','))
            return false;
        if (level > 0) {
            first[level - 1] = false;
            if (object[level - 1] && (!skip_string(json) || !jsonlex_want(json, ':')))
                return false;
        }
        JsonKind kind = jsonlex_peek(json);
        if (kind != JSON_OBJECT && kind != JSON_ARRAY) {
            if (!skip_scalar(json))
                return false;
            continue;
        }
        if (level == depth)
            return fail(json, "no deeper nesting");
        json->at++;
        object[level] = kind == JSON_OBJECT;
        first[level++] = true;
    } while (level > 0);
    return true;
}

/* Takes the separator before a further entry; false at the closing character, which is taken. */
static bool next_entry(Json *json, char close, bool *first) {
    if (jsonlex_failed(json))
        return false;
    if (*first) {
        *first = false;
        return !jsonlex_take(json, close);
    }
    return !jsonlex_take(json, close) && jsonlex_want(json, ',');
}

bool jsonlex_next_member(Json *json, Arena *arena, bool *first, const char **key) {
    if (!next_entry(json, '}', first))
        return false;
    *key = jsonlex_string(json, arena);
    return *key && jsonlex_want(json, ':');
}

bool jsonlex_next_element(Json *json, bool *first) {
    return next_entry(json, ']', first);
}
