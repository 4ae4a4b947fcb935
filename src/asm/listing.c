/* A listing of an object. */
#include "asm/asm.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Out {
    VEC(char) text;
    bool failed;
    const AsmSymbol **labels; /* by section and value */
    size_t label_count, next_label;
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

static int compare_labels(const void *left, const void *right) {
    const AsmSymbol *a = *(const AsmSymbol *const *)left, *b = *(const AsmSymbol *const *)right;
    if (a->section != b->section)
        return a->section < b->section ? -1 : 1;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return a < b ? -1 : a > b; /* as in the object */
}

static void sort_labels(Out *out, const AsmObject *object) {
    out->labels = mem_alloc(object->symbol_count, sizeof *out->labels);
    out->failed = !out->labels;
    for (size_t i = 0; i < object->symbol_count && out->labels; i++)
        if (!object->symbols[i].is_section && object->symbols[i].section >= 0)
            out->labels[out->label_count++] = &object->symbols[i];
    if (out->label_count)
        qsort(out->labels, out->label_count, sizeof *out->labels, compare_labels);
}

/* The labels of a section from the last one told on, below an offset. */
static void put_labels(Out *out, size_t section, uint32_t to) {
    for (; out->next_label < out->label_count; out->next_label++) {
        const AsmSymbol *label = out->labels[out->next_label];
        if (label->section > (int32_t)section ||
            (label->section == (int32_t)section && label->value >= (int64_t)to))
            return;
        if (label->section == (int32_t)section)
            put(out, "%s:%s\n", label->name, label->global ? " (global)" : "");
    }
}

static void put_place(Out *out, const AsmObject *object, const AsmLine *line) {
    put(out, " ; %s:%u", object->files[line->file], line->line);
    if (line->call_line != line->line || line->call_file != line->file)
        put(out, " from %s:%u", object->files[line->call_file], line->call_line);
}

/* The first relocation in [offset, offset + size), or NULL. They are sorted by offset. */
static const AsmReloc *reloc_at(const AsmSection *section, uint32_t offset, uint32_t size) {
    size_t from = 0, to = section->reloc_count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (section->relocs[middle].offset < offset)
            from = middle + 1;
        else
            to = middle;
    }
    bool inside = from < section->reloc_count && section->relocs[from].offset - offset < size;
    return inside ? &section->relocs[from] : NULL;
}

/* 00000010 c7f02201 3022001f B1 {ld64step …; …} ; f.S:12 */
static void put_code(Out *out, const AsmObject *object, const AsmSection *section,
                     const AsmLine *line) {
    uint32_t words[2] = {0};
    memcpy(words, section->bytes + line->offset, line->size);
    IsaPacket packet;
    IsaMode mode = (IsaMode)line->mode;
    bool good = (mode == ISA_SUPERVISOR &&
                 isa_decode_packet(words, line->size / 4, ISA_SUPERVISOR, &packet)) ||
                isa_decode_packet(words, line->size / 4, ISA_WORKER, &packet) ||
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
    for (size_t i = 0; i < section->line_count; i++) {
        const AsmLine *line = &section->lines[i];
        put_labels(out, index, line->offset + 1);
        if (line->code && section->bytes && (line->size == 4 || line->size == 8))
            put_code(out, object, section, line);
        else if (line->size)
            put_data(out, object, section, line);
    }
    put_labels(out, index, section->size + 1);
}

char *asm_listing(const AsmObject *object) {
    Out out = {0};
    sort_labels(&out, object);
    put(&out, "%s", "");
    for (size_t i = 0; i < object->section_count; i++)
        if (object->sections[i].size)
            put_section(&out, object, i);
    mem_free(out.labels);
    if (out.failed)
        vec_free(&out.text);
    return out.text.items;
}
