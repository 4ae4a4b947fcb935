/* Conditions, macros and repetitions. */
#include "asm/assembler.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define MAX_PARAMETERS 64

/* ---- conditions */

bool asm_skipping(const Assembler *a) {
    return a->conditions.count > 0 && !a->conditions.items[a->conditions.count - 1].active;
}

void asm_close_conditions(Assembler *a, size_t depth) {
    while (a->conditions.count > depth) {
        asm_error(a, ERR_ASM_CONDITION, a->conditions.items[--a->conditions.count].place,
                  "this condition has no .endif");
    }
}

static const char *const if_words[] = {
    ".if",   ".ifeq",  ".ifne",  ".ifgt",  ".ifge",   ".iflt",     ".ifle", ".ifc",
    ".ifnc", ".ifeqs", ".ifnes", ".ifdef", ".ifndef", ".ifnotdef", ".ifb",  ".ifnb"};

static bool compare_zero(const char *word, int64_t value) {
    static const struct {
        const char *word;
        bool below, zero, above;
    } table[] = {{"if", true, false, true},   {"ifeq", false, true, false},
                 {"ifne", true, false, true}, {"ifgt", false, false, true},
                 {"ifge", false, true, true}, {"iflt", true, false, false},
                 {"ifle", true, true, false}, {"elseif", true, false, true}};
    for (size_t i = 0; i < COUNT_OF(table); i++)
        if (strcmp(table[i].word, word) == 0)
            return value < 0 ? table[i].below : value > 0 ? table[i].above : table[i].zero;
    return false;
}

typedef struct Slice {
    const char *at;
    size_t length;
} Slice;

static Slice trimmed(const char *at, const char *end) {
    while (at < end && isspace((unsigned char)*at))
        at++;
    while (end > at && isspace((unsigned char)end[-1]))
        end--;
    return (Slice){at, (size_t)(end - at)};
}

/* Up to the first comma outside quotes. */
static Slice to_comma(Cursor *cursor) {
    const char *start = cursor->at;
    while (cursor->at < cursor->end && *cursor->at != ',') {
        size_t quoted = asm_quoted(cursor->at, cursor->end);
        cursor->at += quoted ? quoted : 1;
    }
    return trimmed(start, cursor->at);
}

static bool same_text(Assembler *a, Cursor *cursor, Place place) {
    Slice left = to_comma(cursor);
    if (!asm_take(cursor, ',')) {
        asm_error(a, ERR_ASM_CONDITION, place, "expected two texts separated by a comma");
        return false;
    }
    Slice right = trimmed(cursor->at, cursor->end);
    cursor->at = cursor->end;
    return left.length == right.length && memcmp(left.at, right.at, left.length) == 0;
}

static bool same_strings(Assembler *a, Cursor *cursor, Place place) {
    size_t l, r;
    char *left = asm_string(a, cursor, &l);
    if (!left)
        return false;
    if (!asm_take(cursor, ',')) {
        asm_error(a, ERR_ASM_CONDITION, place, "expected two strings separated by a comma");
        return false;
    }
    char *right = asm_string(a, cursor, &r);
    return right && l == r && memcmp(left, right, l) == 0;
}

static bool is_defined(Assembler *a, Cursor *cursor, Place place) {
    Name *name = asm_word(a, cursor);
    if (!name) {
        asm_error(a, ERR_ASM_CONDITION, place, "expected the name of a symbol");
        return false;
    }
    return name->symbol && (name->symbol->defined || name->symbol->set);
}

/* The truth of `.if…` without its dot. */
static bool decide(Assembler *a, const char *word, Cursor *cursor, Place place) {
    bool result;
    if (strcmp(word, "ifc") == 0 || strcmp(word, "ifnc") == 0) {
        result = same_text(a, cursor, place) == (word[2] == 'c');
    } else if (strcmp(word, "ifeqs") == 0 || strcmp(word, "ifnes") == 0) {
        result = same_strings(a, cursor, place) == (word[2] == 'e');
    } else if (strcmp(word, "ifdef") == 0 || strcmp(word, "ifndef") == 0 ||
               strcmp(word, "ifnotdef") == 0) {
        result = is_defined(a, cursor, place) == (word[2] == 'd');
    } else if (strcmp(word, "ifb") == 0 || strcmp(word, "ifnb") == 0) {
        result = asm_at_end(cursor) == (word[2] == 'b');
        cursor->at = cursor->end;
    } else {
        Expr *expr = asm_expression(a, cursor);
        int64_t value;
        if (!expr || !asm_constant(a, expr, &value)) {
            cursor->at = cursor->end;
            return false;
        }
        result = compare_zero(word, value);
    }
    asm_expect_end(a, cursor);
    return result;
}

static void begin_if(Assembler *a, const char *word, Cursor *cursor, Place place) {
    Condition condition = {.outer = !asm_skipping(a), .place = place};
    if (condition.outer)
        condition.active = condition.decided = decide(a, word, cursor, place);
    ASM_PUSH(a, &a->conditions, condition);
}

/* .else, .elseif, .endif belong to a condition that began in the same text. */
static Condition *innermost(Assembler *a, const char *word, Place place) {
    if (a->conditions.count <= (a->source ? a->source->conditions : 0)) {
        asm_error(a, ERR_ASM_CONDITION, place, ".%s without .if", word);
        return NULL;
    }
    return &a->conditions.items[a->conditions.count - 1];
}

static void continue_if(Assembler *a, const char *word, Cursor *cursor, Place place) {
    Condition *condition = innermost(a, word, place);
    if (!condition)
        return;
    if (condition->last) {
        asm_error(a, ERR_ASM_CONDITION, place, ".%s after .else", word);
        return;
    }
    condition->last = word[4] == 0; /* else */
    condition->active = false;
    if (condition->outer && !condition->decided) {
        bool taken = condition->last || decide(a, word, cursor, place);
        condition->active = condition->decided = taken;
    }
}

bool asm_condition(Assembler *a, Cursor cursor) {
    size_t length = asm_peek_word(&cursor);
    Place place = asm_cursor_place(a, &cursor);
    const char *at = cursor.at;
    if (length < 3 || length > 9 || at[0] != '.')
        return asm_skipping(a);
    char word[10] = {0};
    for (size_t i = 1; i < length; i++)
        word[i - 1] = (char)tolower((unsigned char)at[i]);
    cursor.at += length;
    if (strcmp(word, "endif") == 0) {
        if (innermost(a, word, place))
            a->conditions.count--;
    } else if (strcmp(word, "else") == 0 || strcmp(word, "elseif") == 0) {
        continue_if(a, word, &cursor, place);
    } else {
        size_t i = 0;
        while (i < COUNT_OF(if_words) && strcmp(if_words[i] + 1, word) != 0)
            i++;
        if (i == COUNT_OF(if_words))
            return asm_skipping(a);
        begin_if(a, word, &cursor, place);
    }
    return true;
}

/* ---- bodies */

static bool begins_body(const char *word, size_t length, bool macro) {
    if (macro)
        return asm_word_is(word, length, ".macro");
    return asm_word_is(word, length, ".rept") || asm_word_is(word, length, ".irp") ||
           asm_word_is(word, length, ".irpc");
}

static bool ends_body(const char *word, size_t length, bool macro) {
    if (macro)
        return asm_word_is(word, length, ".endm") || asm_word_is(word, length, ".endmacro");
    return asm_word_is(word, length, ".endr");
}

typedef struct Body {
    const char *text;
    size_t length;
    uint32_t file, line;
} Body;

/* The text from the end of the current statement to the matching end word. */
static bool take_body(Assembler *a, bool macro, Place place, const char *end_word, Body *body) {
    Source *source = a->source;
    *body = (Body){source->at, 0, source->file, source->line};
    unsigned depth = 1;
    Statement statement;
    while (a->source == source && source->at < source->end) {
        if (!asm_next_statement(a, &statement) || a->source != source)
            break;
        Cursor cursor = {&statement, statement.text, statement.end};
        size_t length = asm_peek_word(&cursor);
        if (length == 0)
            continue;
        depth += begins_body(cursor.at, length, macro);
        depth -= ends_body(cursor.at, length, macro);
        if (depth == 0) {
            body->length = (size_t)(statement.text - body->text);
            return true;
        }
    }
    asm_error(a, ERR_ASM_MACRO, place, "no %s follows", end_word);
    a->stop = true;
    return false;
}

/* ---- macros */

/* Parameters end at commas or blanks outside parentheses and quotes; a blank beside an operator
 * belongs to an expression. */
static bool is_operator(char c) {
    return c && strchr("+-*/=|^&!%<>", c);
}

static Slice argument(Cursor *cursor) {
    asm_skip_blanks(cursor);
    const char *start = cursor->at;
    unsigned depth = 0;
    bool glued = true; /* the last character was an operator: a blank does not end the argument */
    while (cursor->at < cursor->end) {
        char c = *cursor->at;
        size_t quoted = asm_quoted(cursor->at, cursor->end);
        if (quoted) {
            cursor->at += quoted;
            glued = false;
            continue;
        }
        if (depth == 0 && c == ',')
            break;
        if (depth == 0 && (c == ' ' || c == '\t')) {
            Cursor ahead = *cursor;
            asm_skip_blanks(&ahead);
            if (!glued && ahead.at < ahead.end && !is_operator(*ahead.at))
                break;
            cursor->at = ahead.at;
            continue;
        }
        depth += c == '(';
        depth -= c == ')' && depth > 0;
        glued = is_operator(c);
        cursor->at++;
    }
    return trimmed(start, cursor->at);
}

static Slice unquoted(Slice slice) {
    if (slice.length >= 2 && slice.at[0] == '"' &&
        asm_quoted(slice.at, slice.at + slice.length) == slice.length)
        return (Slice){slice.at + 1, slice.length - 2};
    return slice;
}

static bool parse_parameter(Assembler *a, Cursor *cursor, Parameter *parameter) {
    Place place = asm_cursor_place(a, cursor);
    size_t length = asm_peek_word(cursor);
    if (length == 0) {
        asm_error(a, ERR_ASM_MACRO, place, "expected the name of a parameter");
        return false;
    }
    *parameter = (Parameter){.name = asm_word(a, cursor), .value = ""};
    if (asm_take(cursor, ':')) {
        size_t kind = asm_peek_word(cursor);
        parameter->required = asm_word_is(cursor->at, kind, "req");
        parameter->variadic = asm_word_is(cursor->at, kind, "vararg");
        if (!parameter->required && !parameter->variadic) {
            asm_error(a, ERR_ASM_MACRO, asm_cursor_place(a, cursor),
                      "a parameter may be :req or :vararg");
            return false;
        }
        cursor->at += kind;
    }
    if (asm_take(cursor, '=')) {
        Slice value = unquoted(argument(cursor));
        parameter->value = asm_copy(a, value.at, value.length);
        parameter->length = value.length;
    }
    asm_take(cursor, ',');
    return true;
}

static void define_macro(Assembler *a, Cursor *cursor, Place place) {
    size_t length = asm_peek_word(cursor);
    Name *name = length ? asm_word(a, cursor) : NULL;
    Parameter parameters[MAX_PARAMETERS];
    size_t count = 0;
    asm_take(cursor, ',');
    bool good = name != NULL;
    if (!good)
        asm_error(a, ERR_ASM_MACRO, place, "expected the name of a macro");
    while (good && !asm_at_end(cursor)) {
        if (count == MAX_PARAMETERS || (count && parameters[count - 1].variadic)) {
            asm_error(a, ERR_ASM_MACRO, asm_cursor_place(a, cursor),
                      count == MAX_PARAMETERS ? "too many parameters"
                                              : "a :vararg parameter is the last one");
            good = false;
        } else {
            good = parse_parameter(a, cursor, &parameters[count++]);
        }
    }
    Body body;
    if (!take_body(a, true, place, ".endm", &body) || !good)
        return;
    if (name->macro) {
        asm_error(a, ERR_ASM_MACRO, place, "macro %s is already defined; .purgem removes it",
                  name->text);
        return;
    }
    Macro *macro = ASM_NEW(a, Macro, 1);
    *macro = (Macro){
        name,     ASM_NEW(a, Parameter, count + 1), count, body.text, body.length, body.file,
        body.line};
    memcpy(macro->parameters, parameters, count * sizeof *parameters);
    name->macro = macro;
}

enum { MAX_EXPANSION = 1 << 24 };

/* The text of an expansion grows in a->scratch. */
static void add_text(Assembler *a, const char *at, size_t length) {
    if (length == 0)
        return;
    if (a->scratch.count + length > MAX_EXPANSION) {
        a->scratch_full = true;
        return;
    }
    if (!vec_reserve(&a->scratch, length))
        asm_no_memory(a);
    memcpy(a->scratch.items + a->scratch.count, at, length);
    a->scratch.count += length;
}

/* Replaces \parameter, \@ and \() in a body. */
static void substitute(Assembler *a, const char *at, size_t length, const Parameter *parameters,
                       const Slice *values, size_t count) {
    const char *end = at + length;
    while (at < end) {
        const char *stop = memchr(at, '\\', (size_t)(end - at));
        stop = stop ? stop : end;
        add_text(a, at, (size_t)(stop - at));
        if (stop == end)
            return;
        at = stop + 1;
        if (at < end && *at == '@') {
            char number[24];
            int digits = snprintf(number, sizeof number, "%llu", (unsigned long long)a->expansions);
            add_text(a, number, (size_t)digits);
            at++;
        } else if (at + 1 < end && at[0] == '(' && at[1] == ')') {
            at += 2;
        } else {
            size_t word = 0;
            while (at + word < end && (isalnum((unsigned char)at[word]) || at[word] == '_'))
                word++;
            size_t i = 0;
            while (i < count && (parameters[i].name->length != word ||
                                 memcmp(parameters[i].name->text, at, word) != 0))
                i++;
            if (i < count)
                add_text(a, values[i].at, values[i].length);
            else
                add_text(a, stop, word + 1);
            at += word;
        }
    }
}

/* Reads what add_text gathered as a new source. */
static void push_expansion(Assembler *a, const char *what, const Body *body, Place place,
                           uint64_t passes) {
    size_t length = a->scratch.count;
    bool full = a->scratch_full;
    a->scratch.count = 0;
    a->scratch_full = false;
    if (full)
        asm_error(a, ERR_ASM_LIMIT, place, "this expansion is longer than %d bytes", MAX_EXPANSION);
    if (length == 0 || full || !asm_count_bytes(a, length, place))
        return;
    char *bytes = asm_copy(a, a->scratch.items, length);
    Place *call = ASM_NEW(a, Place, 1);
    *call = place;
    asm_push_source(a, bytes, length, true, body->file, body->line, what, call)->passes = passes;
}

/* Assigns the arguments of a call to the parameters. */
static bool take_arguments(Assembler *a, const Macro *macro, Cursor *cursor, Slice *values,
                           bool *given) {
    size_t position = 0;
    while (!asm_at_end(cursor)) {
        Place place = asm_cursor_place(a, cursor);
        Cursor ahead = *cursor;
        size_t word = asm_peek_word(&ahead), index = macro->count;
        const char *at = ahead.at;
        ahead.at += word;
        asm_skip_blanks(&ahead);
        bool named = word && ahead.at < ahead.end && *ahead.at == '=' &&
                     !(ahead.at + 1 < ahead.end && ahead.at[1] == '=');
        if (named) {
            for (index = 0; index < macro->count; index++)
                if (macro->parameters[index].name->length == word &&
                    memcmp(macro->parameters[index].name->text, at, word) == 0)
                    break;
            if (index == macro->count) {
                asm_error(a, ERR_ASM_MACRO, place, "macro %s has no parameter `%.*s`",
                          macro->name->text, (int)word, at);
                return false;
            }
            cursor->at = ahead.at + 1;
        } else {
            index = position;
            while (index < macro->count && given[index])
                index++;
            position = index + 1;
        }
        if (index >= macro->count) {
            asm_error(a, ERR_ASM_MACRO, place, "macro %s takes %zu arguments", macro->name->text,
                      macro->count);
            return false;
        }
        if (macro->parameters[index].variadic) {
            values[index] = trimmed(cursor->at, cursor->end);
            cursor->at = cursor->end;
        } else {
            values[index] = unquoted(argument(cursor));
        }
        given[index] = true;
        asm_take(cursor, ',');
    }
    return true;
}

void asm_call_macro(Assembler *a, const Macro *macro, Cursor *cursor, Place place) {
    Slice *values = ASM_NEW(a, Slice, macro->count + 1);
    bool *given = ASM_NEW(a, bool, macro->count + 1);
    if (!take_arguments(a, macro, cursor, values, given))
        return;
    for (size_t i = 0; i < macro->count; i++) {
        if (values[i].length > 0)
            continue;
        if (macro->parameters[i].required) {
            asm_error(a, ERR_ASM_MACRO, place, "macro %s needs a value for `%s`", macro->name->text,
                      macro->parameters[i].name->text);
            return;
        }
        values[i] = (Slice){macro->parameters[i].value, macro->parameters[i].length};
    }
    substitute(a, macro->body, macro->length, macro->parameters, values, macro->count);
    a->expansions++;
    Body body = {macro->body, macro->length, macro->file, macro->line};
    size_t length = macro->name->length + 7;
    char *what = ASM_NEW(a, char, length);
    snprintf(what, length, "macro %s", macro->name->text);
    push_expansion(a, what, &body, place, 0);
}

/* ---- repetitions */

static void repeat_count(Assembler *a, Cursor *cursor, Place place) {
    Expr *expr = asm_expression(a, cursor);
    int64_t count = 0;
    bool good = expr && asm_constant(a, expr, &count) && asm_expect_end(a, cursor);
    Body body;
    if (!take_body(a, false, place, ".endr", &body) || !good)
        return;
    if (count < 0) {
        asm_error(a, ERR_ASM_MACRO, place, "a repetition count of %lld", (long long)count);
        return;
    }
    if (count > 0)
        add_text(a, body.text, body.length);
    push_expansion(a, ".rept", &body, place, (uint64_t)count - 1);
}

/* .irp name, values…; .irpc name, characters */
static void repeat_values(Assembler *a, Cursor *cursor, Place place, bool characters) {
    Parameter parameter = {0};
    size_t length = asm_peek_word(cursor);
    if (length)
        parameter.name = asm_word(a, cursor);
    else
        asm_error(a, ERR_ASM_MACRO, place, "expected a name, then values");
    asm_take(cursor, ',');
    Cursor values = *cursor;
    Body body;
    if (!take_body(a, false, place, ".endr", &body) || !length)
        return;
    asm_skip_blanks(&values);
    /* Each pass is followed by the others in one text; a marker line restores the line number. */
    for (bool first = true; first || values.at < values.end; first = false) {
        Slice value = {values.at, 1};
        if (characters && values.at < values.end)
            values.at++;
        else if (!characters)
            value = unquoted(argument(&values));
        if (value.at >= values.end && characters)
            break;
        if (!first) {
            char marker[32];
            int size = snprintf(marker, sizeof marker, "\n# %u ", body.line);
            add_text(a, marker, (size_t)size);
            const char *file = a->files.items[body.file];
            add_text(a, "\"", 1);
            add_text(a, file, strlen(file));
            add_text(a, "\"\n", 2);
        }
        substitute(a, body.text, body.length, &parameter, &value, 1);
        if (!characters)
            asm_take(&values, ',');
        asm_skip_blanks(&values);
    }
    a->expansions++;
    push_expansion(a, characters ? ".irpc" : ".irp", &body, place, 0);
}

static void purge_macros(Assembler *a, Cursor *cursor) {
    do {
        Place place = asm_cursor_place(a, cursor);
        size_t length = asm_peek_word(cursor);
        Name *name = length ? asm_word(a, cursor) : NULL;
        if (!name || !name->macro) {
            asm_error(a, ERR_ASM_MACRO, place, "no macro of this name");
            return;
        }
        name->macro = NULL;
    } while (asm_take(cursor, ','));
    asm_expect_end(a, cursor);
}

/* Leaves the innermost macro. */
static void exit_macro(Assembler *a, Place place) {
    Source *source = a->source;
    while (source && (!source->what || strncmp(source->what, "macro ", 6) != 0))
        source = source->parent;
    if (!source) {
        asm_error(a, ERR_ASM_MACRO, place, ".exitm outside a macro");
        return;
    }
    a->conditions.count = source->conditions;
    asm_leave_source(a, source);
}

bool asm_macro_directive(Assembler *a, const Statement *statement, const char *word, size_t length,
                         Cursor *cursor) {
    Place place = asm_place(a, statement, word);
    if (asm_word_is(word, length, ".macro"))
        define_macro(a, cursor, place);
    else if (asm_word_is(word, length, ".rept"))
        repeat_count(a, cursor, place);
    else if (asm_word_is(word, length, ".irp"))
        repeat_values(a, cursor, place, false);
    else if (asm_word_is(word, length, ".irpc"))
        repeat_values(a, cursor, place, true);
    else if (asm_word_is(word, length, ".purgem"))
        purge_macros(a, cursor);
    else if (asm_word_is(word, length, ".exitm"))
        exit_macro(a, place);
    else if (ends_body(word, length, true) || ends_body(word, length, false))
        asm_error(a, ERR_ASM_MACRO, place, "%.*s without a beginning", (int)length, word);
    else
        return false;
    return true;
}
