/* The core: names, messages, and what kind of statement each one is. */
#include "asm/assembler.h"

#include "base/random.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ERRORS   100
#define MAX_WARNINGS 1000

void asm_no_memory(Assembler *a) {
    longjmp(a->no_memory, 1);
}

void *asm_alloc(Assembler *a, size_t count, size_t size) {
    void *block = arena_alloc(&a->arena, count, size);
    if (!block)
        asm_no_memory(a);
    return block;
}

char *asm_copy(Assembler *a, const char *text, size_t length) {
    char *copy = ASM_NEW(a, char, length + 1);
    memcpy(copy, text, length);
    return copy;
}

/* ---- names */

static uint64_t hash_bytes(const char *text, size_t length) {
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001B3u;
    return hash;
}

static Name **name_slot(Assembler *a, const char *text, size_t length, uint64_t hash) {
    size_t slot = hash & (a->names.count - 1);
    for (;; slot = (slot + 1) & (a->names.count - 1)) {
        Name *name = a->names.items[slot];
        if (!name ||
            (name->hash == hash && name->length == length && memcmp(name->text, text, length) == 0))
            return &a->names.items[slot];
    }
}

static void grow_names(Assembler *a) {
    size_t old_count = a->names.count, count = old_count ? 2 * old_count : 1024;
    Name **old = a->names.items, **grown = mem_alloc(count, sizeof *grown);
    if (!grown)
        asm_no_memory(a);
    a->names.items = grown;
    a->names.count = a->names.capacity = count;
    for (size_t i = 0; i < old_count; i++)
        if (old[i])
            *name_slot(a, old[i]->text, old[i]->length, old[i]->hash) = old[i];
    mem_free(old);
}

Name *asm_name(Assembler *a, const char *text, size_t length) {
    if (2 * a->name_count >= a->names.count)
        grow_names(a);
    uint64_t hash = hash_bytes(text, length);
    Name **slot = name_slot(a, text, length, hash);
    if (!*slot) {
        Name *name = ASM_NEW(a, Name, 1);
        *name =
            (Name){.text = asm_copy(a, text, length), .length = length, .hash = hash, .form = -1};
        *slot = name;
        a->name_count++;
    }
    return *slot;
}

Symbol *asm_symbol(Assembler *a, Name *name) {
    if (!name->symbol) {
        Symbol *symbol = ASM_NEW(a, Symbol, 1);
        symbol->name = name;
        symbol->section = ASM_UNDEFINED;
        ASM_PUSH(a, &a->symbols, symbol);
        name->symbol = symbol;
    }
    return name->symbol;
}

/* ---- messages */

static DiagPlace diag_place(const Assembler *a, Place place) {
    ptrdiff_t column = place.at && place.line_start ? place.at - place.line_start : 0;
    return (DiagPlace){.file = a->files.items[place.file],
                       .line = place.line,
                       .column = (uint32_t)column + 1,
                       .tile = -1};
}

/* The source line, tabs as blanks, and a caret below the column. */
static void note_line(Assembler *a, Place place) {
    if (!place.source || !place.line_start)
        return;
    const char *end = place.line_start;
    while (end < place.source->end && *end != '\n' && end - place.line_start < 160)
        end++;
    ptrdiff_t length = end - place.line_start, column = place.at - place.line_start;
    char line[161];
    for (ptrdiff_t i = 0; i < length; i++)
        line[i] = isprint((unsigned char)place.line_start[i]) ? place.line_start[i] : ' ';
    diag_note(a->diag, "%.*s", (int)length, line);
    if (column >= 0 && column < 160)
        diag_note(a->diag, "%*s^", (int)column, "");
}

static void note_calls(Assembler *a, Place place) {
    unsigned told = 0;
    for (const Source *source = place.source; source; source = source->parent) {
        if (!source->call)
            continue;
        if (told++ < 8)
            diag_note(a->diag, "in %s at %s:%u", source->what ? source->what : "text included",
                      a->files.items[source->call->file], source->call->line);
    }
    if (told > 8)
        diag_note(a->diag, "and %u more", told - 8);
}

void asm_error(Assembler *a, Status code, Place place, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = mem_vprintf(format, arguments);
    va_end(arguments);
    if (!text)
        asm_no_memory(a);
    diag_error(a->diag, code, diag_place(a, place), "%s", text);
    mem_free(text);
    note_line(a, place);
    note_calls(a, place);
    if (a->errors == 0)
        a->first_code = code;
    if (++a->errors == MAX_ERRORS) {
        diag_note(a->diag, "no more than %d errors are told", MAX_ERRORS);
        a->stop = true;
    }
}

void asm_warning(Assembler *a, Status code, Place place, const char *format, ...) {
    if (a->warnings == MAX_WARNINGS)
        return;
    va_list arguments;
    va_start(arguments, format);
    char *text = mem_vprintf(format, arguments);
    va_end(arguments);
    if (!text)
        asm_no_memory(a);
    diag_warning(a->diag, code, diag_place(a, place), "%s", text);
    mem_free(text);
    note_line(a, place);
    note_calls(a, place);
    if (++a->warnings == MAX_WARNINGS)
        diag_note(a->diag, "no more than %d warnings are told", MAX_WARNINGS);
}

void asm_note(Assembler *a, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = mem_vprintf(format, arguments);
    va_end(arguments);
    if (!text)
        asm_no_memory(a);
    diag_note(a->diag, "%s", text);
    mem_free(text);
}

/* ---- statements */

void asm_define_label(Assembler *a, Symbol *symbol, Place place) {
    Section *section = asm_current(a);
    if (symbol->defined || symbol->set) {
        asm_error(a, ERR_ASM_SYMBOL, place, "`%s` is already defined",
                  symbol->name ? symbol->name->text : "?");
        asm_note(a, "first at %s:%u", a->files.items[symbol->place.file], symbol->place.line);
        return;
    }
    symbol->defined = true;
    symbol->section = (int32_t)a->section;
    symbol->value = section->size;
    symbol->place = place;
}

static void numeric_label(Assembler *a, uint64_t number, Place place) {
    NumericLabel *label = asm_numeric_label(a, number);
    label->last = label->next ? label->next : ASM_NEW(a, Symbol, 1);
    label->next = NULL;
    asm_define_label(a, label->last, place);
    asm_current(a)->labelled = true;
}

/* name: and 1: in front of a statement. */
static bool take_label(Assembler *a, Cursor *cursor) {
    asm_skip_blanks(cursor);
    Place place = asm_cursor_place(a, cursor);
    Cursor ahead = *cursor;
    if (ahead.at < ahead.end && isdigit((unsigned char)*ahead.at)) {
        uint64_t number = 0;
        const char *start = ahead.at;
        while (ahead.at < ahead.end && isdigit((unsigned char)*ahead.at) && ahead.at - start < 10)
            number = number * 10 + (uint64_t)(*ahead.at++ - '0');
        if (!asm_take(&ahead, ':'))
            return false;
        numeric_label(a, number, place);
    } else {
        size_t length = asm_peek_word(&ahead);
        if (length == 0 && (ahead.at == ahead.end || *ahead.at != '"'))
            return false;
        Name *name = asm_word(a, &ahead);
        if (!name || !asm_take(&ahead, ':'))
            return false;
        asm_define_label(a, asm_symbol(a, name), place);
        asm_current(a)->labelled = true;
    }
    if (a->bundle.open)
        asm_error(a, ERR_ASM_BUNDLE, place, "a label cannot stand inside a bundle");
    *cursor = ahead;
    return true;
}

static void set_symbol(Assembler *a, Name *name, Cursor *cursor, Place place) {
    Symbol *symbol = asm_symbol(a, name);
    Expr *value = asm_expression(a, cursor);
    if (!value || !asm_expect_end(a, cursor))
        return;
    if (symbol->defined) {
        asm_error(a, ERR_ASM_SYMBOL, place, "`%s` is a label and cannot be set", name->text);
        return;
    }
    symbol->set = value;
    symbol->variable = true;
    symbol->predefined = false;
    symbol->place = place;
}

/* name = value */
static bool take_assignment(Assembler *a, Cursor *cursor) {
    Cursor ahead = *cursor;
    Place place = asm_cursor_place(a, &ahead);
    if (asm_peek_word(&ahead) == 0)
        return false;
    Name *name = asm_word(a, &ahead);
    if (!asm_take(&ahead, '='))
        return false;
    asm_take(&ahead, '=');
    set_symbol(a, name, &ahead, place);
    return true;
}

/* Macros of the SDK's headers that note how much stack a function needs; they emit no code. */
static bool is_stack_note(const Name *name) {
    return asm_word_is(name->text, name->length, "DEF_STACK_USAGE") ||
           asm_word_is(name->text, name->length, "DEF_STACK_SIZE_OWN");
}

static void process_body(Assembler *a, const Statement *statement, Cursor *cursor) {
    while (take_label(a, cursor)) {
    }
    if (asm_at_end(cursor))
        return;
    Place place = asm_cursor_place(a, cursor);
    if (take_assignment(a, cursor))
        return;
    size_t length = asm_peek_word(cursor);
    if (length == 0) {
        asm_error(a, ERR_ASM_SYNTAX, place, "a statement begins with a name");
        return;
    }
    const char *word = cursor->at;
    Name *name = asm_word(a, cursor);
    if (name->macro)
        asm_call_macro(a, name->macro, cursor, place);
    else if (is_stack_note(name))
        cursor->at = cursor->end;
    else if (word[0] != '.')
        asm_instruction(a, name, cursor, place);
    else if (asm_word_is(word, length, ".set") || asm_word_is(word, length, ".equ") ||
             asm_word_is(word, length, ".equiv")) {
        Name *target = asm_word(a, cursor);
        if (!target || !asm_take(cursor, ','))
            asm_error(a, ERR_ASM_DIRECTIVE, place, "expected %.*s name, value", (int)length, word);
        else if (length == 6 && target->symbol && (target->symbol->defined || target->symbol->set))
            asm_error(a, ERR_ASM_SYMBOL, place, "`%s` is already defined", target->text);
        else
            set_symbol(a, target, cursor, place);
    } else if (!asm_macro_directive(a, statement, word, length, cursor))
        asm_directive(a, statement, word, length, cursor, place);
}

void asm_brace(Assembler *a, char brace, Place place) {
    if (brace == '{')
        asm_open_bundle(a, place);
    else
        asm_close_bundle(a, place);
}

void asm_process(Assembler *a, const Statement *statement) {
    Cursor cursor = {statement, statement->text, statement->end};
    Place end = asm_place(a, statement, statement->end);
    const Source *source = a->source;
    if (!asm_condition(a, cursor))
        process_body(a, statement, &cursor);
    if (asm_skipping(a) || (statement->terminator != '{' && statement->terminator != '}'))
        return;
    if (a->source && a->source != source && a->source->parent == source) {
        /* A macro was called: the brace comes after what it expands to. */
        Place *place = ASM_NEW(a, Place, 1);
        *place = end;
        a->source->then = statement->terminator;
        a->source->then_place = place;
    } else {
        asm_brace(a, statement->terminator, end);
    }
}

/* ---- the call */

const AsmDefine *asm_standard_defines(size_t *count) {
    static const AsmDefine standard[] = {
#define STANDARD(name, value) {#name, (value)},
#include "asm/standard.def"
#undef STANDARD
    };
    *count = COUNT_OF(standard);
    return standard;
}

static void run(Assembler *a, const char *name, const char *text, size_t size) {
    asm_enter_section(a, ".text", ASM_ALLOC | ASM_EXEC);
    a->mode = ISA_BOTH;
    asm_set_limits(a, size);
    asm_push_source(a, text, size, false, asm_file(a, name, strlen(name)), 1, NULL, NULL);
    Place nowhere = {.source = a->source, .line = 1};
    for (size_t i = 0; a->options && i < a->options->define_count; i++) {
        const AsmDefine *define = &a->options->defines[i];
        Symbol *symbol = asm_symbol(a, asm_name(a, define->name, strlen(define->name)));
        symbol->set = asm_number(a, define->value, nowhere);
        symbol->variable = symbol->predefined = true;
    }
    Statement statement;
    while (asm_next_statement(a, &statement))
        asm_process(a, &statement);
    if (a->bundle.open && !a->stop)
        asm_error(a, ERR_ASM_BUNDLE, a->bundle.place, "this bundle is not closed by `}`");
    if (!a->stop)
        asm_finish(a);
}

static void free_state(Assembler *a) {
    for (size_t i = 0; i < a->sections.count; i++) {
        Section *section = a->sections.items[i];
        vec_free(&section->bytes);
        vec_free(&section->lines);
        vec_free(&section->packets);
        vec_free(&section->fixups);
        vec_free(&section->relocs);
    }
    asm_object_free(a->object);
    vec_free(&a->sections);
    vec_free(&a->section_stack);
    vec_free(&a->names);
    vec_free(&a->files);
    vec_free(&a->symbols);
    vec_free(&a->conditions);
    vec_free(&a->scratch);
    arena_free(&a->arena);
    mem_free(a);
}

Status asm_assemble(const char *name, const char *text, size_t size, const AsmOptions *options,
                    AsmObject **object, Diag *diag) {
    *object = NULL;
    Diag own = {0};
    Assembler *a = mem_alloc(1, sizeof *a);
    if (!a)
        return diag_error(diag, ERR_NO_MEMORY, (DiagPlace){.file = name, .tile = -1},
                          "no memory to assemble this file");
    a->options = options;
    a->diag = diag ? diag : &own;
    Status status = STATUS_OK;
    if (setjmp(a->no_memory) == 0) {
        run(a, name, text, size);
        if (a->errors == 0)
            *object = asm_build_object(a, name);
        if (!*object)
            status = a->first_code;
    } else {
        status = diag_error(a->diag, ERR_NO_MEMORY, (DiagPlace){.file = name, .tile = -1},
                            "no memory to assemble this file");
    }
    free_state(a);
    diag_free(&own);
    return status;
}
