/* A listing of an object. */
#include "asm/asm.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Out {
    VEC(char) text;
    bool failed;
} Out;

static void put(Out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(Out *out, const char *format, ...) {
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    size_t size = length < 0 ? 0 : MIN_OF((size_t)length, sizeof line - 1);
    if (out->failed || !vec_reserve(&out->text, size + 1)) {
        out->failed = true;
        return;
    }
    memcpy(out->text.items + out->text.count, line, size + 1);
    out->text.count += size;
}

static void put_labels(Out *out, const AsmObject *object, size_t section, uint32_t from,
                       uint32_t to) {
    for (size_t i = 0; i < object->symbol_count; i++) {
        const AsmSymbol *symbol = &object->symbols[i];
        if (symbol->section == (int32_t)section && !symbol->is_section &&
            symbol->value >= (int64_t)from && symbol->value < (int64_t)to)
            put(out, "%s:%s\n", symbol->name, symbol->global ? " (global)" : "");
    }
}

static void put_place(Out *out, const AsmObject *object, const AsmLine *line) {
    put(out, " ; %s:%u", object->files[line->file], line->line);
    if (line->call_line != line->line || line->call_file != line->file)
        put(out, " from %s:%u", object->files[line->call_file], line->call_line);
}

/* The relocation that ends in [offset, offset + size), or NULL. */
static const AsmReloc *reloc_at(const AsmSection *section, uint32_t offset, uint32_t size) {
    for (size_t i = 0; i < section->reloc_count; i++)
        if (section->relocs[i].offset >= offset && section->relocs[i].offset < offset + size)
            return &section->relocs[i];
    return NULL;
}

/* 00000010 c7f02201 3022001f B1 {ld64step …; …} ; f.S:12 */
static void put_code(Out *out, const AsmObject *object, const AsmSection *section,
                     const AsmLine *line) {
    uint32_t words[2] = {0};
    memcpy(words, section->bytes + line->offset, line->size);
    IsaPacket packet;
    IsaMode mode = (IsaMode)line->mode;
    bool good =
        isa_decode_packet(words, line->size / 4, mode == ISA_BOTH ? ISA_WORKER : mode, &packet) ||
        isa_decode_packet(words, line->size / 4, ISA_SUPERVISOR, &packet);
    char text[2 * ISA_TEXT_SIZE] = "?";
    if (good)
        isa_disassemble_packet(&packet, mode, text);
    put(out, "%08x %08x ", line->offset, words[0]);
    if (line->size == 8)
        put(out, "%08x ", words[1]);
    else
        put(out, "         ");
    bool bundle = packet.main.form && packet.aux.form;
    put(out, "%c%u %s", bundle ? 'B' : packet.aux.form ? 'A' : 'M', packet.slots, text);
    const AsmReloc *reloc = reloc_at(section, line->offset, line->size);
    if (reloc)
        put(out, " <%s%+d>", object->symbols[reloc->symbol].name, reloc->addend);
    put_place(out, object, line);
    put(out, "\n");
}

static void put_data(Out *out, const AsmObject *object, const AsmSection *section,
                     const AsmLine *line) {
    put(out, "%08x ", line->offset);
    uint32_t shown = MIN_OF(line->size, 16u);
    for (uint32_t i = 0; i < shown && section->bytes; i++)
        put(out, "%02x", section->bytes[line->offset + i]);
    if (line->size > shown || !section->bytes)
        put(out, "... (%u bytes)", line->size);
    const AsmReloc *reloc = reloc_at(section, line->offset, line->size);
    if (reloc)
        put(out, " <%s%+d>", object->symbols[reloc->symbol].name, reloc->addend);
    put_place(out, object, line);
    put(out, "\n");
}

static void put_section(Out *out, const AsmObject *object, size_t index) {
    const AsmSection *section = &object->sections[index];
    put(out, "section %s %s%s%s align %u size %u\n", section->name,
        section->flags & ASM_ALLOC ? "a" : "", section->flags & ASM_WRITE ? "w" : "",
        section->flags & ASM_EXEC ? "x" : "", section->align, section->size);
    uint32_t told = 0;
    for (size_t i = 0; i < section->line_count; i++) {
        const AsmLine *line = &section->lines[i];
        if (line->offset >= told) {
            put_labels(out, object, index, told, line->offset + 1);
            told = line->offset + 1;
        }
        if (line->code && section->bytes && (line->size == 4 || line->size == 8))
            put_code(out, object, section, line);
        else if (line->size)
            put_data(out, object, section, line);
    }
    put_labels(out, object, index, told, section->size + 1);
}

char *asm_listing(const AsmObject *object) {
    Out out = {0};
    put(&out, "%s", "");
    for (size_t i = 0; i < object->section_count; i++)
        if (object->sections[i].size)
            put_section(&out, object, i);
    if (out.failed)
        vec_free(&out.text);
    return out.text.items;
}
