/* An object as source text that assembles to the same bytes. */
#include "asm/asm.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names of a section's own labels: .Lat3_1c0 is offset 0x1C0 of section 3. */
#define LABEL ".Lat%zu_%x"

typedef struct Writer {
    const AsmObject *object;
    VEC(char) text;
    bool failed;
    size_t section; /* being written */
    uint8_t mode;
} Writer;

static void put(Writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(Writer *w, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0 || w->failed || !vec_reserve(&w->text, (size_t)length + 1)) {
        w->failed = true;
    } else {
        vsnprintf(w->text.items + w->text.count, (size_t)length + 1, format, again);
        w->text.count += (size_t)length;
    }
    va_end(again);
}

/* ---- names */

static bool is_plain(const char *name) {
    if (!isalpha((unsigned char)*name) && *name != '_' && *name != '.')
        return false;
    while (isalnum((unsigned char)*name) || (*name && strchr("_.$", *name)))
        name++;
    return *name == 0;
}

/* A name as the assembler reads it: others than plain ones in quotes. */
static char *spelled(const char *name) {
    return is_plain(name) ? mem_printf("%s", name) : mem_printf("\"%s\"", name);
}

/* symbol + addend */
static char *address_text(const Writer *w, const AsmReloc *reloc) {
    const AsmSymbol *symbol = &w->object->symbols[reloc->symbol];
    if (symbol->is_section && symbol->section >= 0)
        return mem_printf(LABEL "%+lld", (size_t)symbol->section, 0u,
                          (long long)symbol->value + reloc->addend);
    char *name = spelled(symbol->name);
    char *text = reloc->addend ? mem_printf("%s%+d", name ? name : "", reloc->addend)
                               : mem_printf("%s", name ? name : "");
    mem_free(name);
    return text;
}

static bool is_label(const AsmSymbol *symbol, size_t section) {
    return !symbol->is_section && symbol->section == (int32_t)section;
}

static void put_labels(Writer *w, uint32_t offset) {
    if (offset == 0)
        put(w, LABEL ":\n", w->section, 0u);
    for (size_t i = 0; i < w->object->symbol_count; i++) {
        const AsmSymbol *symbol = &w->object->symbols[i];
        if (!is_label(symbol, w->section) || symbol->value != (int64_t)offset)
            continue;
        char *name = spelled(symbol->name);
        put(w, "%s:\n", name ? name : "");
        mem_free(name);
    }
}

/* ---- contents */

static const AsmReloc *reloc_from(const AsmSection *section, uint32_t offset, uint32_t size) {
    for (size_t i = 0; i < section->reloc_count; i++)
        if (section->relocs[i].offset >= offset && section->relocs[i].offset - offset < size)
            return &section->relocs[i];
    return NULL;
}

static void put_bytes(Writer *w, const AsmSection *section, uint32_t from, uint32_t to) {
    if (!section->bytes) {
        put(w, "    .space %u\n", to - from);
        return;
    }
    while (from < to) {
        uint32_t count = MIN_OF(to - from, 16u);
        put(w, "    .byte ");
        for (uint32_t i = 0; i < count; i++)
            put(w, "%s0x%02x", i ? ", " : "", section->bytes[from + i]);
        put(w, " // %08x\n", from);
        from += count;
    }
}

/* Data with its relocations. */
static void put_data(Writer *w, const AsmSection *section, uint32_t from, uint32_t to) {
    static const struct {
        const char *before, *after;
        uint8_t size;
    } types[] = {
        [ASM_REL_32] = {".int ", "", 4},
        [ASM_REL_16] = {".half ", "", 2},
        [ASM_REL_8] = {".byte ", "", 1},
        [ASM_REL_ABS19_S2] = {".int (", ")@abs19@s2", 4},
    };
    while (from < to) {
        const AsmReloc *reloc = reloc_from(section, from, to - from);
        if (!reloc || reloc->type >= COUNT_OF(types) || !types[reloc->type].size ||
            types[reloc->type].size > to - reloc->offset)
            break;
        put_bytes(w, section, from, reloc->offset);
        char *address = address_text(w, reloc);
        put(w, "    %s%s%s // %08x\n", types[reloc->type].before, address ? address : "",
            types[reloc->type].after, reloc->offset);
        mem_free(address);
        from = reloc->offset + types[reloc->type].size;
    }
    put_bytes(w, section, from, to);
}

static void put_half(Writer *w, const AsmSection *section, const IsaInstr *instr, IsaMode mode,
                     uint32_t offset) {
    const AsmReloc *reloc = reloc_from(section, offset, 4);
    char *address = reloc ? address_text(w, reloc) : NULL;
    size_t size = ISA_TEXT_SIZE + (address ? strlen(address) : 0);
    char *text = mem_alloc(size, 1);
    if (text && (address || !reloc))
        isa_disassemble_address(instr, mode, address, text, size);
    else
        w->failed = true;
    put(w, "%s", text ? text : "");
    mem_free(text);
    mem_free(address);
}

static void put_mode(Writer *w, uint8_t mode) {
    if (mode == w->mode || mode == ISA_BOTH)
        return;
    w->mode = mode;
    put(w, "    .%s\n", mode == ISA_WORKER ? "worker" : "supervisor");
}

static void put_code(Writer *w, const AsmSection *section, const AsmLine *line) {
    uint32_t words[2] = {0};
    memcpy(words, section->bytes + line->offset, line->size);
    IsaPacket packet;
    IsaMode mode = (IsaMode)line->mode;
    /* Code may stand in the wrong mode on request. */
    bool good = (mode == ISA_SUPERVISOR &&
                 isa_decode_packet(words, line->size / 4, ISA_SUPERVISOR, &packet)) ||
                isa_decode_packet(words, line->size / 4, ISA_WORKER, &packet) ||
                isa_decode_packet(words, line->size / 4, ISA_SUPERVISOR, &packet);
    if (!good || packet.size != line->size) {
        put_data(w, section, line->offset, line->offset + line->size);
        return;
    }
    put_mode(w, line->mode);
    bool bundle = packet.main.form && packet.aux.form;
    put(w, "    %s", bundle ? "{" : "");
    put_half(w, section, packet.main.form ? &packet.main : &packet.aux, mode, line->offset);
    if (bundle) {
        put(w, "; ");
        put_half(w, section, &packet.aux, mode, line->offset + 4);
        put(w, "}");
    }
    put(w, " // %08x %08x", line->offset, words[0]);
    if (line->size == 8)
        put(w, " %08x", words[1]);
    put(w, "\n");
}

/* ---- sections and symbols */

static void put_section(Writer *w) {
    const AsmSection *section = &w->object->sections[w->section];
    char *name = spelled(section->name);
    put(w, "\n    .section %s, \"%s%s%s\", @%s\n    .p2align %d\n", name ? name : "",
        section->flags & ASM_ALLOC ? "a" : "", section->flags & ASM_WRITE ? "w" : "",
        section->flags & ASM_EXEC ? "x" : "", section->flags & ASM_NOBITS ? "nobits" : "progbits",
        __builtin_ctz(section->align | 1u << 16));
    mem_free(name);
    uint32_t at = 0;
    put_labels(w, 0);
    for (size_t i = 0; i < section->line_count; i++) {
        const AsmLine *line = &section->lines[i];
        if (line->offset < at || line->size == 0)
            continue;
        put_data(w, section, at, line->offset);
        if (line->offset > at && line->offset > 0)
            put_labels(w, line->offset);
        bool code = line->code && section->bytes && (line->size == 4 || line->size == 8) &&
                    section->flags & ASM_EXEC && line->offset % 4 == 0;
        if (code)
            put_code(w, section, line);
        else
            put_data(w, section, line->offset, line->offset + line->size);
        at = line->offset + line->size;
        put_labels(w, at);
    }
    put_data(w, section, at, section->size);
    if (section->size > at)
        put_labels(w, section->size);
}

/* Was the label written with its section, where a line begins or ends? */
static bool is_written(const AsmSection *section, int64_t value) {
    if (value == 0 || value == section->size)
        return true;
    for (size_t i = 0; i < section->line_count; i++)
        if (section->lines[i].offset == value ||
            (int64_t)section->lines[i].offset + section->lines[i].size == value)
            return true;
    return false;
}

static void put_symbol(Writer *w, const AsmSymbol *symbol) {
    if (symbol->is_section)
        return;
    char *name = spelled(symbol->name);
    const char *text = name ? name : "";
    if (symbol->section == ASM_ABSOLUTE)
        put(w, "    .set %s, %lld\n", text, (long long)symbol->value);
    else if (symbol->section >= 0 &&
             !is_written(&w->object->sections[symbol->section], symbol->value))
        put(w, "    .set %s, " LABEL " + %lld\n", text, (size_t)symbol->section, 0u,
            (long long)symbol->value);
    if (symbol->global)
        put(w, "    .global %s\n", text);
    if (symbol->function)
        put(w, "    .type %s, @function\n", text);
    if (symbol->size)
        put(w, "    .size %s, %u\n", text, symbol->size);
    mem_free(name);
}

char *asm_source(const AsmObject *object) {
    Writer w = {.object = object};
    put(&w,
        "// %s\n    .allow_invalid_execution_mode\n    .allow_invalid_operands\n"
        "    .allow_invalid_repeat\n",
        object->name);
    for (size_t i = 0; i < object->symbol_count; i++)
        put_symbol(&w, &object->symbols[i]);
    for (w.section = 0; w.section < object->section_count; w.section++)
        put_section(&w);
    if (w.failed)
        vec_free(&w.text);
    return w.text.items;
}
