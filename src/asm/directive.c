/* Sections, data, symbols, modes. */
#include "asm/assembler.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SECTION_BYTES (1u << 22)
#define MAX_BYTES         (1u << 24) /* of all sections */
#define NOP_WORD          0x19E00000u

/* ---- sections */

Section *asm_current(Assembler *a) {
    return a->sections.items[a->section];
}

static unsigned default_flags(const char *name) {
    static const struct {
        const char *prefix;
        unsigned flags;
    } table[] = {{".text", ASM_ALLOC | ASM_EXEC},
                 {".rodata", ASM_ALLOC},
                 {".data", ASM_ALLOC | ASM_WRITE},
                 {".bss", ASM_ALLOC | ASM_WRITE | ASM_NOBITS}};
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        size_t length = strlen(table[i].prefix);
        if (strncmp(name, table[i].prefix, length) == 0 && (!name[length] || name[length] == '.'))
            return table[i].flags;
    }
    return 0;
}

void asm_enter_section(Assembler *a, const char *name, unsigned flags) {
    Name *key = asm_name(a, name, strlen(name));
    if (!key->section) {
        Section *section = ASM_NEW(a, Section, 1);
        section->name = key;
        section->flags = flags;
        section->align = flags & ASM_EXEC ? 4 : 1;
        ASM_PUSH(a, &a->sections, section);
        key->section = (uint32_t)a->sections.count;
    }
    a->previous_section = a->section;
    a->section = key->section - 1;
}

/* .section name[, "flags"[, @type]] */
static void section_directive(Assembler *a, Cursor *cursor, Place place) {
    Name *name = asm_word(a, cursor);
    if (!name) {
        asm_error(a, ERR_ASM_DIRECTIVE, place, "expected the name of a section");
        return;
    }
    unsigned flags = default_flags(name->text);
    bool given = false;
    if (asm_take(cursor, ',')) {
        size_t length;
        char *text = asm_string(a, cursor, &length);
        if (!text)
            return;
        given = true;
        flags &= ASM_NOBITS;
        for (size_t i = 0; i < length; i++)
            flags |= text[i] == 'a'   ? ASM_ALLOC
                     : text[i] == 'x' ? ASM_EXEC
                     : text[i] == 'w' ? ASM_WRITE
                                      : 0;
        if (asm_take(cursor, ',')) {
            if (!asm_take(cursor, '@') && !asm_take(cursor, '%'))
                asm_error(a, ERR_ASM_DIRECTIVE, asm_cursor_place(a, cursor),
                          "expected @progbits or @nobits");
            size_t word = asm_peek_word(cursor);
            if (asm_word_is(cursor->at, word, "nobits"))
                flags |= ASM_NOBITS;
            cursor->at = cursor->end; /* group and entry sizes do not matter here */
        }
    }
    if (name->section && given && a->sections.items[name->section - 1]->flags != flags)
        asm_warning(a, ERR_ASM_DIRECTIVE, place, "section %s keeps the flags it had first",
                    name->text);
    asm_expect_end(a, cursor);
    asm_enter_section(a, name->text, flags);
}

uint32_t asm_emit(Assembler *a, const void *bytes, uint32_t size, Place place) {
    Section *section = asm_current(a);
    uint32_t offset = section->size;
    if (size > MAX_SECTION_BYTES - offset) {
        asm_error(a, ERR_ASM_LIMIT, place, "section %s grows above %u bytes", section->name->text,
                  MAX_SECTION_BYTES);
        a->stop = true;
        return offset;
    }
    if (size > MAX_BYTES - a->emitted) {
        asm_error(a, ERR_ASM_LIMIT, place, "the sections grow above %u bytes together", MAX_BYTES);
        a->stop = true;
        return offset;
    }
    section->size += size;
    a->emitted += size;
    if (section->flags & ASM_NOBITS) {
        const uint8_t *byte = bytes;
        for (uint32_t i = 0; byte && i < size; i++) {
            if (byte[i]) {
                asm_error(a, ERR_ASM_DIRECTIVE, place, "section %s holds only zeros",
                          section->name->text);
                break;
            }
        }
        return offset;
    }
    if (!vec_reserve(&section->bytes, size))
        asm_no_memory(a);
    if (bytes && size)
        memcpy(section->bytes.items + offset, bytes, size);
    else if (size)
        memset(section->bytes.items + offset, 0, size);
    section->bytes.count += size;
    return offset;
}

uint32_t asm_add_line(Assembler *a, uint32_t offset, uint32_t size, bool code, Place place) {
    Section *section = asm_current(a);
    const Source *outer = place.source;
    AsmLine line = {.offset = offset,
                    .size = size,
                    .file = place.file,
                    .line = place.line,
                    .call_file = place.file,
                    .call_line = place.line,
                    .mode = (uint8_t)a->mode,
                    .code = code};
    for (; outer && outer->what; outer = outer->parent) {
        line.call_file = outer->call->file;
        line.call_line = outer->call->line;
    }
    ASM_PUSH(a, &section->lines, line);
    return (uint32_t)section->lines.count - 1;
}

/* ---- data */

static bool number_argument(Assembler *a, Cursor *cursor, int64_t *number) {
    Expr *expr = asm_expression(a, cursor);
    return expr && asm_constant(a, expr, number);
}

static void emit_number(Assembler *a, int64_t number, unsigned size, Place place) {
    if (size < 8) {
        int64_t least = -((int64_t)1 << (8 * size - 1)), greatest = ((int64_t)1 << (8 * size)) - 1;
        if (number < least || number > greatest)
            asm_error(a, ERR_ASM_RANGE, place, "%lld does not fit into %u bytes", (long long)number,
                      size);
    }
    uint8_t bytes[8];
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)((uint64_t)number >> (8 * i));
    uint32_t offset = asm_emit(a, bytes, size, place);
    asm_add_line(a, offset, size, false, place);
}

/* .byte, .half, .int, .quad: numbers, or expressions that wait for labels. */
static void data_directive(Assembler *a, Cursor *cursor, unsigned size) {
    do {
        asm_skip_blanks(cursor);
        Place place = asm_cursor_place(a, cursor);
        Expr *expr = asm_expression(a, cursor);
        if (!expr)
            return;
        Value value;
        const char *why = "";
        Known known = asm_evaluate(a, expr, false, &value, &why);
        if (known == KNOWN && !value.base) {
            emit_number(a, value.number, size, place);
            continue;
        }
        uint32_t offset = asm_emit(a, NULL, size, place);
        uint32_t line = asm_add_line(a, offset, size, false, place);
        ASM_PUSH(a, &asm_current(a)->fixups, (DataFixup){offset, (uint8_t)size, expr, line});
    } while (asm_take(cursor, ','));
    asm_expect_end(a, cursor);
}

/* .float, .double */
static void float_directive(Assembler *a, Cursor *cursor, unsigned size) {
    do {
        asm_skip_blanks(cursor);
        Place place = asm_cursor_place(a, cursor);
        size_t length = strcspn(cursor->at, ", \t\n;{}");
        length = MIN_OF(length, (size_t)(cursor->end - cursor->at));
        char text[64], *stop = text;
        double value = 0;
        if (length > 0 && length < sizeof text) {
            memcpy(text, cursor->at, length);
            text[length] = 0;
            value = strtod(text, &stop);
        }
        if (stop == text || *stop) {
            asm_error(a, ERR_ASM_DIRECTIVE, place, "expected a floating-point number");
            return;
        }
        cursor->at += length;
        float narrow = (float)value;
        uint32_t offset = asm_emit(a, size == 4 ? (void *)&narrow : (void *)&value, size, place);
        asm_add_line(a, offset, size, false, place);
    } while (asm_take(cursor, ','));
    asm_expect_end(a, cursor);
}

static void string_directive(Assembler *a, Cursor *cursor, bool ends_with_zero) {
    do {
        asm_skip_blanks(cursor);
        Place place = asm_cursor_place(a, cursor);
        size_t length;
        char *text = asm_string(a, cursor, &length);
        if (!text)
            return;
        uint32_t size = (uint32_t)length + ends_with_zero; /* asm_string leaves room for the 0 */
        uint32_t offset = asm_emit(a, text, size, place);
        asm_add_line(a, offset, size, false, place);
    } while (asm_take(cursor, ','));
    asm_expect_end(a, cursor);
}

static void emit_fill(Assembler *a, int64_t count, unsigned size, int64_t value, Place place) {
    if (count < 0 || count > MAX_SECTION_BYTES / size) {
        asm_error(a, ERR_ASM_DIRECTIVE, place, "%lld is no sensible count", (long long)count);
        return;
    }
    uint8_t bytes[8 * 64];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)((uint64_t)value >> (8 * (i % size)));
    uint32_t offset = asm_current(a)->size;
    for (int64_t left = count; left > 0 && !a->stop; left -= 64)
        asm_emit(a, bytes, (uint32_t)MIN_OF(left, 64) * size, place);
    asm_add_line(a, offset, (uint32_t)count * size, false, place);
}

/* .space size[, value] */
static void space_directive(Assembler *a, Cursor *cursor, Place place) {
    int64_t count, value = 0;
    if (!number_argument(a, cursor, &count))
        return;
    if (asm_take(cursor, ',') && !number_argument(a, cursor, &value))
        return;
    if (asm_expect_end(a, cursor))
        emit_fill(a, count, 1, value, place);
}

/* .fill count[, size[, value]] */
static void fill_directive(Assembler *a, Cursor *cursor, Place place) {
    int64_t count, size = 1, value = 0;
    if (!number_argument(a, cursor, &count) ||
        (asm_take(cursor, ',') && !number_argument(a, cursor, &size)) ||
        (asm_take(cursor, ',') && !number_argument(a, cursor, &value)) ||
        !asm_expect_end(a, cursor))
        return;
    if (size < 1 || size > 8)
        asm_error(a, ERR_ASM_DIRECTIVE, place, "a fill value has 1 to 8 bytes");
    else
        emit_fill(a, count, (unsigned)size, value, place);
}

/* Code is padded with nop, which both modes execute, unless another byte than 0 is given; other
 * sections with zeros or the given byte. */
static void align_to(Assembler *a, uint32_t align, const int64_t *fill, Place place) {
    Section *section = asm_current(a);
    section->align = MAX_OF(section->align, align);
    uint32_t offset = section->size, end = (uint32_t)align_up(offset, align);
    bool code = (section->flags & ASM_EXEC) && (!fill || *fill == 0);
    while (section->size < end && !a->stop) {
        if (code && section->size % 4 == 0 && end - section->size >= 4) {
            uint32_t nop = NOP_WORD;
            asm_emit(a, &nop, 4, place);
        } else {
            uint8_t byte = fill ? (uint8_t)*fill : 0;
            asm_emit(a, &byte, 1, place);
        }
    }
    if (end > offset)
        asm_add_line(a, offset, end - offset, false, place);
}

/* .align bytes, .balign bytes, .p2align power; [, fill[, most]] */
static void align_directive(Assembler *a, Cursor *cursor, bool power, Place place) {
    int64_t align, fill, most = INT64_MAX;
    bool filled = false;
    if (!number_argument(a, cursor, &align))
        return;
    if (asm_take(cursor, ',')) {
        asm_skip_blanks(cursor);
        filled = cursor->at < cursor->end && *cursor->at != ',';
        if (filled && !number_argument(a, cursor, &fill))
            return;
        if (asm_take(cursor, ',') && !number_argument(a, cursor, &most))
            return;
    }
    if (!asm_expect_end(a, cursor))
        return;
    if (power && align >= 0 && align <= 16)
        align = (int64_t)1 << align;
    else if (power)
        align = -1;
    if (align == 0)
        return;
    if (align < 0 || align > 65536 || (align & (align - 1))) {
        asm_error(a, ERR_ASM_DIRECTIVE, place, "an alignment is a power of two up to 65536");
        return;
    }
    uint32_t size = asm_current(a)->size;
    if ((int64_t)(align_up(size, (uint64_t)align) - size) <= most)
        align_to(a, (uint32_t)align, filled ? &fill : NULL, place);
}

/* .org offset[, fill]: the offset may be counted from a label of this section. */
static void org_directive(Assembler *a, Cursor *cursor, Place place) {
    Section *section = asm_current(a);
    Expr *expr = asm_expression(a, cursor);
    int64_t fill = 0;
    Value value;
    const char *why = "";
    if (!expr || (asm_take(cursor, ',') && !number_argument(a, cursor, &fill)) ||
        !asm_expect_end(a, cursor))
        return;
    bool good = asm_evaluate(a, expr, false, &value, &why) == KNOWN;
    if (good && value.base) {
        good = value.base->section == (int32_t)a->section;
        value.number += value.base->value;
    }
    if (!good || value.number < section->size)
        asm_error(a, ERR_ASM_DIRECTIVE, place, ".org goes on to a later offset of this section");
    else if (value.number > section->size)
        emit_fill(a, value.number - section->size, 1, fill, place);
}

/* .uleb128, .sleb128: groups of seven bits, lowest first. */
static void leb_directive(Assembler *a, Cursor *cursor, bool is_signed) {
    do {
        asm_skip_blanks(cursor);
        Place place = asm_cursor_place(a, cursor);
        int64_t number;
        uint8_t bytes[10];
        uint32_t size = 0;
        if (!number_argument(a, cursor, &number))
            return;
        if (!is_signed && number < 0) {
            asm_error(a, ERR_ASM_RANGE, place, "%lld is not in the range of .uleb128",
                      (long long)number);
            return;
        }
        bool more = true;
        while (more) {
            bytes[size] = number & 0x7F;
            number >>= 7;
            more = is_signed ? number != -(int64_t)(bytes[size] >> 6 & 1) : number != 0;
            bytes[size++] |= more ? 0x80 : 0;
        }
        uint32_t offset = asm_emit(a, bytes, size, place);
        asm_add_line(a, offset, size, false, place);
    } while (asm_take(cursor, ','));
    asm_expect_end(a, cursor);
}

/* ---- symbols */

/* .comm name, size[, alignment]: zeros in .bss. */
static void common_directive(Assembler *a, Cursor *cursor, bool global, Place place) {
    Name *name = asm_word(a, cursor);
    int64_t size, align = 4;
    if (!name || !asm_take(cursor, ',')) {
        asm_error(a, ERR_ASM_DIRECTIVE, place, "expected a name, a size in bytes, an alignment");
        return;
    }
    if (!number_argument(a, cursor, &size) ||
        (asm_take(cursor, ',') && !number_argument(a, cursor, &align)) ||
        !asm_expect_end(a, cursor))
        return;
    if (align < 1 || align > 65536 || (align & (align - 1))) {
        asm_error(a, ERR_ASM_DIRECTIVE, place, "an alignment is a power of two up to 65536");
        return;
    }
    uint32_t section = a->section, previous = a->previous_section;
    asm_enter_section(a, ".bss", default_flags(".bss"));
    align_to(a, (uint32_t)align, NULL, place);
    Symbol *symbol = asm_symbol(a, name);
    symbol->global |= global;
    asm_define_label(a, symbol, place);
    emit_fill(a, size, 1, 0, place);
    a->section = section;
    a->previous_section = previous;
}

static void globals(Assembler *a, Cursor *cursor, Place place) {
    do {
        Name *name = asm_word(a, cursor);
        if (!name) {
            asm_error(a, ERR_ASM_DIRECTIVE, place, "expected the name of a symbol");
            return;
        }
        asm_symbol(a, name)->global = true;
    } while (asm_take(cursor, ','));
    asm_expect_end(a, cursor);
}

/* .type name, @function; also %function, STT_FUNC, "function" */
static void type_directive(Assembler *a, Cursor *cursor, Place place) {
    Name *name = asm_word(a, cursor);
    Name *type = NULL;
    if (name && asm_take(cursor, ',')) {
        bool marked = asm_take(cursor, '@') || asm_take(cursor, '%') || asm_take(cursor, '#');
        asm_skip_blanks(cursor);
        bool quoted = cursor->at < cursor->end && *cursor->at == '"';
        size_t length = asm_peek_word(cursor);
        if (marked || quoted || (length > 4 && strncmp(cursor->at, "STT_", 4) == 0))
            type = asm_word(a, cursor);
    }
    if (!type) {
        asm_error(a, ERR_ASM_DIRECTIVE, place, "expected .type name, @function or @object");
        return;
    }
    asm_symbol(a, name)->function = asm_word_is(type->text, type->length, "function") ||
                                    asm_word_is(type->text, type->length, "STT_FUNC");
    asm_expect_end(a, cursor);
}

static void size_directive(Assembler *a, Cursor *cursor, Place place) {
    Name *name = asm_word(a, cursor);
    if (!name || !asm_take(cursor, ',')) {
        asm_error(a, ERR_ASM_DIRECTIVE, place, "expected .size name, bytes");
        return;
    }
    Expr *size = asm_expression(a, cursor);
    if (size && asm_expect_end(a, cursor))
        asm_symbol(a, name)->size = size;
}

/* ---- the table */

typedef enum Directive {
    DIR_SECTION,
    DIR_NAMED_SECTION,
    DIR_PREVIOUS,
    DIR_PUSH,
    DIR_POP,
    DIR_DATA,
    DIR_FLOAT,
    DIR_STRING,
    DIR_SPACE,
    DIR_FILL,
    DIR_ORG,
    DIR_LEB,
    DIR_COMMON,
    DIR_WEAK,
    DIR_ALIGN,
    DIR_P2ALIGN,
    DIR_GLOBAL,
    DIR_TYPE,
    DIR_SIZE,
    DIR_MODE,
    DIR_OPTION,
    DIR_ERROR,
    DIR_WARNING,
    DIR_INCLUDE,
    DIR_END,
    DIR_IGNORE
} Directive;

/* `argument`: bytes of data, the mode, or which option. */
enum { OPTION_OPTIMIZE, OPTION_BUNDLES, OPTION_OPERANDS, OPTION_MODE, OPTION_REPEAT };
static const struct {
    const char *word;
    Directive directive;
    int argument;
    bool on;
} directives[] = {
    {".section", DIR_SECTION, 0, 0},
    {".text", DIR_NAMED_SECTION, 0, 0},
    {".data", DIR_NAMED_SECTION, 0, 0},
    {".rodata", DIR_NAMED_SECTION, 0, 0},
    {".bss", DIR_NAMED_SECTION, 0, 0},
    {".previous", DIR_PREVIOUS, 0, 0},
    {".pushsection", DIR_PUSH, 0, 0},
    {".popsection", DIR_POP, 0, 0},
    {".byte", DIR_DATA, 1, 0},
    {".half", DIR_DATA, 2, 0},
    {".short", DIR_DATA, 2, 0},
    {".hword", DIR_DATA, 2, 0},
    {".2byte", DIR_DATA, 2, 0},
    {".int", DIR_DATA, 4, 0},
    {".long", DIR_DATA, 4, 0},
    {".word", DIR_DATA, 4, 0},
    {".4byte", DIR_DATA, 4, 0},
    {".quad", DIR_DATA, 8, 0},
    {".8byte", DIR_DATA, 8, 0},
    {".float", DIR_FLOAT, 4, 0},
    {".single", DIR_FLOAT, 4, 0},
    {".double", DIR_FLOAT, 8, 0},
    {".ascii", DIR_STRING, 0, 0},
    {".asciz", DIR_STRING, 1, 0},
    {".string", DIR_STRING, 1, 0},
    {".space", DIR_SPACE, 0, 0},
    {".skip", DIR_SPACE, 0, 0},
    {".zero", DIR_SPACE, 0, 0},
    {".fill", DIR_FILL, 0, 0},
    {".align", DIR_ALIGN, 0, 0},
    {".balign", DIR_ALIGN, 0, 0},
    {".p2align", DIR_P2ALIGN, 0, 0},
    {".org", DIR_ORG, 0, 0},
    {".uleb128", DIR_LEB, false, 0},
    {".sleb128", DIR_LEB, true, 0},
    {".comm", DIR_COMMON, true, 0},
    {".lcomm", DIR_COMMON, false, 0},
    {".weak", DIR_WEAK, 0, 0},
    {".globl", DIR_GLOBAL, 0, 0},
    {".global", DIR_GLOBAL, 0, 0},
    {".type", DIR_TYPE, 0, 0},
    {".size", DIR_SIZE, 0, 0},
    {".worker", DIR_MODE, ISA_WORKER, 0},
    {".supervisor", DIR_MODE, ISA_SUPERVISOR, 0},
    {".allow_optimizations", DIR_OPTION, OPTION_OPTIMIZE, true},
    {".warn_on_invalid_bundles", DIR_OPTION, OPTION_BUNDLES, true},
    {".error_on_invalid_bundles", DIR_OPTION, OPTION_BUNDLES, false},
    {".allow_invalid_operands", DIR_OPTION, OPTION_OPERANDS, true},
    {".error_on_invalid_operands", DIR_OPTION, OPTION_OPERANDS, false},
    {".allow_invalid_execution_mode", DIR_OPTION, OPTION_MODE, true},
    {".error_on_invalid_execution_mode", DIR_OPTION, OPTION_MODE, false},
    {".allow_invalid_repeat", DIR_OPTION, OPTION_REPEAT, true},
    {".error_on_invalid_repeat", DIR_OPTION, OPTION_REPEAT, false},
    {".error", DIR_ERROR, 0, 0},
    {".err", DIR_ERROR, 0, 0},
    {".warning", DIR_WARNING, 0, 0},
    {".include", DIR_INCLUDE, 0, 0},
    {".end", DIR_END, 0, 0},
    {".extern", DIR_IGNORE, 0, 0},
    {".local", DIR_IGNORE, 0, 0},
    {".hidden", DIR_IGNORE, 0, 0},
    {".internal", DIR_IGNORE, 0, 0},
    {".protected", DIR_IGNORE, 0, 0},
    {".addrsig", DIR_IGNORE, 0, 0},
    {".addrsig_sym", DIR_IGNORE, 0, 0},
    {".print", DIR_IGNORE, 0, 0},
    {".title", DIR_IGNORE, 0, 0},
    {".sbttl", DIR_IGNORE, 0, 0},
    {".list", DIR_IGNORE, 0, 0},
    {".nolist", DIR_IGNORE, 0, 0},
    {".eject", DIR_IGNORE, 0, 0},
    {".version", DIR_IGNORE, 0, 0},
    {".line", DIR_IGNORE, 0, 0},
    {".file", DIR_IGNORE, 0, 0},
    {".loc", DIR_IGNORE, 0, 0},
    {".ident", DIR_IGNORE, 0, 0},
};

static void set_option(Assembler *a, int option, bool on) {
    switch (option) {
    case OPTION_OPTIMIZE: a->allow_optimizations = on; break;
    case OPTION_BUNDLES: a->warn_bundles = on; break;
    case OPTION_OPERANDS: a->allow_operands = on; break;
    case OPTION_MODE: a->allow_mode = on; break;
    case OPTION_REPEAT: a->allow_repeat = on; break;
    }
}

/* .error and .warning with or without a text. */
static void user_message(Assembler *a, Cursor *cursor, bool error, Place place) {
    size_t length;
    const char *text =
        asm_at_end(cursor) ? (error ? ".error" : ".warning") : asm_string(a, cursor, &length);
    if (!text)
        return;
    if (error)
        asm_error(a, ERR_ASM_USER, place, "%s", text);
    else
        asm_warning(a, ERR_ASM_USER, place, "%s", text);
}

static void include_file(Assembler *a, Cursor *cursor, Place place) {
    size_t length, size = 0;
    char *name = asm_string(a, cursor, &length);
    if (!name || !asm_expect_end(a, cursor))
        return;
    const char *text = a->options && a->options->include
                           ? a->options->include(a->options->context, name, &size)
                           : NULL;
    if (!text) {
        asm_error(a, ERR_ASM_DIRECTIVE, place, "there is no file %s to include", name);
        return;
    }
    Place *call = ASM_NEW(a, Place, 1);
    *call = place;
    asm_push_source(a, text, size, false, asm_file(a, name, length), 1, NULL, call);
}

static void pop_section(Assembler *a, Place place) {
    if (a->section_stack.count == 0) {
        asm_error(a, ERR_ASM_DIRECTIVE, place, ".popsection without .pushsection");
        return;
    }
    a->previous_section = a->section;
    a->section = a->section_stack.items[--a->section_stack.count];
}

void asm_directive(Assembler *a, const Statement *statement, const char *word, size_t length,
                   Cursor *cursor, Place place) {
    (void)statement;
    size_t i = 0;
    while (i < COUNT_OF(directives) && !asm_word_is(word, length, directives[i].word))
        i++;
    if (i == COUNT_OF(directives)) {
        if (length > 5 && strncmp(word, ".cfi_", 5) == 0)
            return;
        asm_error(a, ERR_ASM_MNEMONIC, place, "unknown directive %.*s", (int)length, word);
        return;
    }
    int argument = directives[i].argument;
    switch (directives[i].directive) {
    case DIR_SECTION: section_directive(a, cursor, place); return;
    case DIR_DATA: data_directive(a, cursor, (unsigned)argument); return;
    case DIR_FLOAT: float_directive(a, cursor, (unsigned)argument); return;
    case DIR_STRING: string_directive(a, cursor, argument); return;
    case DIR_SPACE: space_directive(a, cursor, place); return;
    case DIR_FILL: fill_directive(a, cursor, place); return;
    case DIR_ALIGN: align_directive(a, cursor, false, place); return;
    case DIR_P2ALIGN: align_directive(a, cursor, true, place); return;
    case DIR_GLOBAL: globals(a, cursor, place); return;
    case DIR_TYPE: type_directive(a, cursor, place); return;
    case DIR_SIZE: size_directive(a, cursor, place); return;
    case DIR_ERROR: user_message(a, cursor, true, place); return;
    case DIR_WARNING: user_message(a, cursor, false, place); return;
    case DIR_INCLUDE: include_file(a, cursor, place); return;
    case DIR_IGNORE: return;
    case DIR_ORG: org_directive(a, cursor, place); return;
    case DIR_LEB: leb_directive(a, cursor, argument); return;
    case DIR_COMMON: common_directive(a, cursor, argument, place); return;
    case DIR_WEAK:
        asm_warning(a, ERR_ASM_DIALECT, place, "a .weak symbol is taken for a .global one");
        globals(a, cursor, place);
        return;
    case DIR_PUSH:
        ASM_PUSH(a, &a->section_stack, a->section);
        section_directive(a, cursor, place);
        return;
    case DIR_NAMED_SECTION:
        asm_enter_section(a, directives[i].word, default_flags(directives[i].word));
        break;
    case DIR_PREVIOUS: {
        uint32_t section = a->section;
        a->section = a->previous_section;
        a->previous_section = section;
        break;
    }
    case DIR_POP: pop_section(a, place); break;
    case DIR_MODE: a->mode = (IsaMode)argument; break;
    case DIR_OPTION: set_option(a, argument, directives[i].on); break;
    case DIR_END: a->source = NULL; break;
    }
    asm_expect_end(a, cursor);
}
