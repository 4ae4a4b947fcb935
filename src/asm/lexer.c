/* Texts, statements, words. */
#include "asm/assembler.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 200

bool asm_word_start(char c) {
    return isalpha((unsigned char)c) || c == '_' || c == '.';
}

bool asm_word_part(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '$';
}

static const bool ends_statement[256] = {
    [0] = true, ['\n'] = true, [';'] = true, ['{'] = true, ['}'] = true};
static const bool quotes[256] = {['"'] = true, ['\''] = true};

size_t asm_quoted(const char *at, const char *end) {
    if (at == end)
        return 0;
    if (*at == '"') {
        for (const char *p = at + 1; p < end && *p != '\n'; p++) {
            if (*p == '\\' && p + 1 < end)
                p++;
            else if (*p == '"')
                return (size_t)(p + 1 - at);
        }
    } else if (*at == '\'') {
        size_t body = end - at > 3 && at[1] == '\\' ? 2 : 1;
        if ((size_t)(end - at) > body + 1 && at[body + 1] == '\'' && at[1] != '\n')
            return body + 2;
    }
    return 0;
}

/* Blanks comments out; newlines and columns stay. */
static void strip_comments(char *text, size_t size) {
    char *end = text + size;
    for (char *at = text; at < end;) {
        size_t quoted = asm_quoted(at, end);
        if (quoted) {
            at += quoted;
        } else if (*at == '/' && at + 1 < end && at[1] == '/') {
            while (at < end && *at != '\n')
                *at++ = ' ';
        } else if (*at == '/' && at + 1 < end && at[1] == '*') {
            char *stop = memmem(at + 2, (size_t)(end - at - 2), "*/", 2);
            stop = stop ? stop + 2 : end;
            for (; at < stop; at++)
                if (*at != '\n')
                    *at = ' ';
        } else {
            at++;
        }
    }
}

Source *asm_push_source(Assembler *a, const char *text, size_t size, bool clean, uint32_t file,
                        uint32_t line, const char *what, const Place *call) {
    Source *source = ASM_NEW(a, Source, 1);
    if (!clean) {
        char *copy = asm_copy(a, text, size);
        strip_comments(copy, size);
        text = copy;
    }
    *source = (Source){
        .parent = a->source,
        .text = text,
        .end = text + size,
        .at = text,
        .line_start = text,
        .file = file,
        .line = line,
        .first_file = file,
        .first_line = line,
        .what = what,
        .call = call,
        .conditions = a->conditions.count,
        .depth = a->source ? a->source->depth + 1 : 0,
    };
    if (source->depth > MAX_DEPTH) {
        asm_error(a, ERR_ASM_LIMIT, *call, "macros and includes are nested more than %d deep",
                  MAX_DEPTH);
        a->stop = true;
    }
    a->source = source;
    return source;
}

uint32_t asm_file(Assembler *a, const char *name, size_t length) {
    Name *key = asm_name(a, name, length);
    if (!key->file) {
        ASM_PUSH(a, &a->files, key->text);
        key->file = (uint32_t)a->files.count;
    }
    return key->file - 1;
}

void asm_set_limits(Assembler *a, size_t size) {
    a->most_statements = (1u << 15) + 32 * (uint64_t)size;
    a->most_bytes = 64 * a->most_statements;
    a->most_evaluations = 32 * a->most_statements;
}

bool asm_count_bytes(Assembler *a, size_t bytes, Place place) {
    a->bytes += bytes;
    if (a->bytes <= a->most_bytes)
        return true;
    asm_error(a, ERR_ASM_LIMIT, place, "more than %llu bytes of text after expansion",
              (unsigned long long)a->most_bytes);
    a->stop = true;
    return false;
}

static Place place_here(const Assembler *a) {
    const Source *source = a->source;
    return (Place){source, source->line_start, source->at, source->file, source->line};
}

/* False with an error when there are too many. */
static bool count_statement(Assembler *a) {
    if (++a->statements <= a->most_statements)
        return true;
    asm_error(a, ERR_ASM_LIMIT, place_here(a), "more than %llu statements after expansion",
              (unsigned long long)a->most_statements);
    a->stop = true;
    return false;
}

/* A line that begins with '#': `# 12 "file"` or `#line 12 "file"` says where the next line comes
 * from; other lines of a preprocessor cannot be meant for an assembler. */
static void take_hash_line(Assembler *a, Source *source, const char *end) {
    Statement statement = {source->at, end, '\n', source->line_start, source->file, source->line};
    Cursor cursor = {&statement, source->at, end};
    asm_take(&cursor, '#');
    size_t word = asm_peek_word(&cursor);
    static const char *const preprocessor[] = {"define", "undef",  "include", "import", "if",
                                               "ifdef",  "ifndef", "elif",    "else",   "endif"};
    for (size_t i = 0; i < COUNT_OF(preprocessor) && !asm_skipping(a); i++)
        if (asm_word_is(cursor.at, word, preprocessor[i]))
            asm_error(a, ERR_ASM_SYNTAX, asm_cursor_place(a, &cursor),
                      "#%s is for the C preprocessor, which has not been run on this text",
                      preprocessor[i]);
    if (asm_word_is(cursor.at, word, "line"))
        cursor.at += word;
    asm_skip_blanks(&cursor);
    uint64_t line = 0;
    const char *digits = cursor.at;
    while (cursor.at < end && isdigit((unsigned char)*cursor.at) && cursor.at - digits < 9)
        line = line * 10 + (uint64_t)(*cursor.at++ - '0');
    if (cursor.at == digits)
        return;
    asm_skip_blanks(&cursor);
    size_t quoted = asm_quoted(cursor.at, end);
    if (quoted < 2 || *cursor.at != '"')
        return;
    source->file = asm_file(a, cursor.at + 1, quoted - 2);
    source->line = (uint32_t)line - 1; /* the newline that follows counts one */
}

static void next_line(Source *source) {
    source->line++;
    source->line_start = source->at;
}

void asm_leave_source(Assembler *a, const Source *source) {
    a->source = source->parent;
    if (source->then)
        asm_brace(a, source->then, *source->then_place);
}

/* Leaves the finished source, or starts its next pass. */
static void end_source(Assembler *a) {
    Source *source = a->source;
    asm_close_conditions(a, source->conditions);
    if (source->passes > 0) {
        source->passes--;
        source->at = source->line_start = source->text;
        source->file = source->first_file;
        source->line = source->first_line;
    } else {
        asm_leave_source(a, source);
    }
}

/* Takes the lines that begin with '#'. */
static void take_hash_lines(Assembler *a, Source *source) {
    while (source->at == source->line_start) {
        const char *at = source->at;
        while (at < source->end && (*at == ' ' || *at == '\t' || *at == '\r'))
            at++;
        if (at == source->end || *at != '#')
            return;
        const char *end = memchr(at, '\n', (size_t)(source->end - at));
        end = end ? end : source->end;
        source->at = at;
        take_hash_line(a, source, end);
        source->at = end < source->end ? end + 1 : end;
        next_line(source);
        if (!count_statement(a)) /* a repetition of such lines alone may be as long as any other */
            return;
    }
}

bool asm_next_statement(Assembler *a, Statement *statement) {
    Source *source;
    for (;;) {
        source = a->source;
        if (!source || a->stop)
            return false;
        take_hash_lines(a, source);
        if (a->stop)
            return false;
        if (source->at < source->end)
            break;
        end_source(a);
    }
    if (!count_statement(a))
        return false;
    const char *at = source->at;
    while (at < source->end && !ends_statement[(unsigned char)*at]) {
        size_t quoted = quotes[(unsigned char)*at] ? asm_quoted(at, source->end) : 0;
        at += quoted ? quoted : 1;
    }
    if (!asm_count_bytes(a, (size_t)(at - source->at) + 1, place_here(a)))
        return false;
    *statement = (Statement){source->at,         at,           at < source->end ? *at : '\n',
                             source->line_start, source->file, source->line};
    source->at = at < source->end ? at + 1 : at;
    if (statement->terminator == '\n')
        next_line(source);
    return true;
}

Place asm_place(const Assembler *a, const Statement *statement, const char *at) {
    return (Place){a->source, statement->line_start, at, statement->file, statement->line};
}

Place asm_cursor_place(const Assembler *a, const Cursor *cursor) {
    return asm_place(a, cursor->statement, cursor->at);
}

void asm_skip_blanks(Cursor *cursor) {
    while (cursor->at < cursor->end &&
           (*cursor->at == ' ' || *cursor->at == '\t' || *cursor->at == '\r'))
        cursor->at++;
}

bool asm_at_end(Cursor *cursor) {
    asm_skip_blanks(cursor);
    return cursor->at == cursor->end;
}

bool asm_take(Cursor *cursor, char c) {
    asm_skip_blanks(cursor);
    if (cursor->at == cursor->end || *cursor->at != c)
        return false;
    cursor->at++;
    return true;
}

size_t asm_peek_word(Cursor *cursor) {
    asm_skip_blanks(cursor);
    const char *at = cursor->at;
    if (at == cursor->end || !asm_word_start(*at))
        return 0;
    while (at < cursor->end && asm_word_part(*at))
        at++;
    return (size_t)(at - cursor->at);
}

Name *asm_word(Assembler *a, Cursor *cursor) {
    size_t length = asm_peek_word(cursor);
    if (length == 0) {
        /* "name": quoted names are names too. */
        size_t quoted = asm_quoted(cursor->at, cursor->end);
        if (quoted <= 2 || *cursor->at != '"')
            return NULL;
        Name *name = asm_name(a, cursor->at + 1, quoted - 2);
        cursor->at += quoted;
        return name;
    }
    Name *name = asm_name(a, cursor->at, length);
    cursor->at += length;
    return name;
}

bool asm_word_is(const char *text, size_t length, const char *word) {
    return strlen(word) == length && strncasecmp(text, word, length) == 0;
}

static int escape(const char **at, const char *end) {
    char c = *(*at)++;
    switch (c) {
    case 'n': return '\n';
    case 't': return '\t';
    case 'r': return '\r';
    case 'b': return '\b';
    case 'f': return '\f';
    }
    if (c >= '0' && c <= '7') {
        int value = c - '0';
        for (int i = 0; i < 2 && *at < end && **at >= '0' && **at <= '7'; i++)
            value = value * 8 + (*(*at)++ - '0');
        return value & 0xFF;
    }
    if (c == 'x') {
        int value = 0;
        for (int i = 0; i < 2 && *at < end && isxdigit((unsigned char)**at); i++) {
            char digit[2] = {*(*at)++, 0};
            value = value * 16 + (int)strtol(digit, NULL, 16);
        }
        return value;
    }
    return (unsigned char)c;
}

char *asm_string(Assembler *a, Cursor *cursor, size_t *length) {
    asm_skip_blanks(cursor);
    size_t quoted = asm_quoted(cursor->at, cursor->end);
    if (quoted < 2 || *cursor->at != '"') {
        asm_error(a, ERR_ASM_SYNTAX, asm_cursor_place(a, cursor), "expected a string in quotes");
        return NULL;
    }
    char *text = ASM_NEW(a, char, quoted);
    const char *at = cursor->at + 1, *end = cursor->at + quoted - 1;
    *length = 0;
    while (at < end) {
        if (*at == '\\' && at + 1 < end) {
            at++;
            text[(*length)++] = (char)escape(&at, end);
        } else {
            text[(*length)++] = *at++;
        }
    }
    cursor->at = end + 1;
    return text;
}

bool asm_expect_end(Assembler *a, Cursor *cursor) {
    if (asm_at_end(cursor))
        return true;
    asm_error(a, ERR_ASM_SYNTAX, asm_cursor_place(a, cursor),
              "unexpected text after the statement");
    return false;
}
