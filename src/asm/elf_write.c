/* AsmObject -> ELF32 little-endian relocatable file. Beside the usual sections there is
 * ".tilework.lines": where each instruction comes from (elf_lines.h). The host is little-endian. */
#include "asm/elf_lines.h"

#include <string.h>

typedef struct Out {
    VEC(uint8_t) bytes;
    bool failed;
} Out;

static uint32_t put(Out *out, const void *bytes, size_t size) {
    uint32_t at = (uint32_t)out->bytes.count;
    if (out->failed || !vec_reserve(&out->bytes, size)) {
        out->failed = true;
        return 0;
    }
    if (size)
        memcpy(out->bytes.items + at, bytes, size);
    out->bytes.count += size;
    return at;
}

static void align_out(Out *out, uint32_t align) {
    static const uint8_t zeros[16] = {0};
    while (out->bytes.count % align && !out->failed)
        put(out, zeros, MIN_OF(align - out->bytes.count % align, sizeof zeros));
}

static uint32_t put_string(Out *out, const char *text) {
    return put(out, text, strlen(text) + 1);
}

typedef struct Writer {
    const AsmObject *object;
    Out file;
    Out names;   /* .shstrtab */
    Out strings; /* .strtab */
    VEC(Elf32_Shdr) headers;
} Writer;

static uint32_t add_header(Writer *w, const char *prefix, const char *name, Elf32_Shdr header) {
    header.sh_name = (uint32_t)w->names.bytes.count;
    put(&w->names, prefix, strlen(prefix));
    put_string(&w->names, name);
    if (!vec_push(&w->headers, header))
        w->file.failed = true;
    return (uint32_t)w->headers.count - 1;
}

static void put_sections(Writer *w) {
    for (size_t i = 0; i < w->object->section_count; i++) {
        const AsmSection *section = &w->object->sections[i];
        bool empty = section->flags & ASM_NOBITS;
        align_out(&w->file, 16);
        uint32_t flags = (section->flags & ASM_ALLOC ? SHF_ALLOC : 0) |
                         (section->flags & ASM_EXEC ? SHF_EXECINSTR : 0) |
                         (section->flags & ASM_WRITE ? SHF_WRITE : 0);
        add_header(w, "", section->name,
                   (Elf32_Shdr){.sh_type = empty ? SHT_NOBITS : SHT_PROGBITS,
                                .sh_flags = flags,
                                .sh_offset = empty ? (uint32_t)w->file.bytes.count
                                                   : put(&w->file, section->bytes, section->size),
                                .sh_size = section->size,
                                .sh_addralign = section->align});
    }
}

/* Symbols keep their order (locals first), after the null symbol. */
static void put_symbols(Writer *w, uint32_t strings_index) {
    align_out(&w->file, 4);
    Elf32_Sym null = {0};
    uint32_t at = put(&w->file, &null, sizeof null), locals = 1;
    for (size_t i = 0; i < w->object->symbol_count; i++) {
        const AsmSymbol *symbol = &w->object->symbols[i];
        unsigned bind = symbol->global ? STB_GLOBAL : STB_LOCAL;
        unsigned type = symbol->is_section ? STT_SECTION : symbol->function ? STT_FUNC : STT_NOTYPE;
        locals += !symbol->global;
        Elf32_Sym entry = {
            .st_name = symbol->is_section ? 0 : put_string(&w->strings, symbol->name),
            .st_value = (uint32_t)symbol->value,
            .st_size = symbol->size,
            .st_info = (unsigned char)ELF32_ST_INFO(bind, type),
            .st_shndx = symbol->section == ASM_ABSOLUTE    ? SHN_ABS
                        : symbol->section == ASM_UNDEFINED ? SHN_UNDEF
                                                           : (uint16_t)(symbol->section + 1)};
        put(&w->file, &entry, sizeof entry);
    }
    add_header(w, "", ".symtab",
               (Elf32_Shdr){.sh_type = SHT_SYMTAB,
                            .sh_offset = at,
                            .sh_size = (uint32_t)w->file.bytes.count - at,
                            .sh_link = strings_index,
                            .sh_info = locals,
                            .sh_addralign = 4,
                            .sh_entsize = sizeof(Elf32_Sym)});
}

static void put_relocs(Writer *w, size_t index, uint32_t symbols_index) {
    const AsmSection *section = &w->object->sections[index];
    if (section->reloc_count == 0)
        return;
    align_out(&w->file, 4);
    uint32_t at = (uint32_t)w->file.bytes.count;
    for (size_t i = 0; i < section->reloc_count; i++) {
        const AsmReloc *reloc = &section->relocs[i];
        Elf32_Rela entry = {.r_offset = reloc->offset,
                            .r_info = ELF32_R_INFO(reloc->symbol + 1, reloc->type),
                            .r_addend = reloc->addend};
        put(&w->file, &entry, sizeof entry);
    }
    add_header(w, ".rela", section->name,
               (Elf32_Shdr){.sh_type = SHT_RELA,
                            .sh_offset = at,
                            .sh_size = (uint32_t)w->file.bytes.count - at,
                            .sh_link = symbols_index,
                            .sh_info = (uint32_t)index + 1,
                            .sh_addralign = 4,
                            .sh_entsize = sizeof(Elf32_Rela)});
}

static void put_lines(Writer *w) {
    const AsmObject *object = w->object;
    align_out(&w->file, 4);
    uint32_t head[2] = {ELF_LINES_VERSION, (uint32_t)object->file_count};
    uint32_t at = put(&w->file, head, sizeof head);
    put_string(&w->file, object->name);
    for (size_t i = 0; i < object->file_count; i++)
        put_string(&w->file, object->files[i]);
    align_out(&w->file, 4);
    for (size_t s = 0; s < object->section_count; s++) {
        const AsmSection *section = &object->sections[s];
        uint32_t count = (uint32_t)section->line_count;
        put(&w->file, &count, sizeof count);
        for (size_t i = 0; i < section->line_count; i++) {
            const AsmLine *line = &section->lines[i];
            ElfLine entry = {line->offset,    line->size,      line->file, line->line,
                             line->call_file, line->call_line, line->mode, line->code};
            put(&w->file, &entry, sizeof entry);
        }
    }
    add_header(w, "", ELF_LINES_NAME,
               (Elf32_Shdr){.sh_type = SHT_PROGBITS,
                            .sh_offset = at,
                            .sh_size = (uint32_t)w->file.bytes.count - at,
                            .sh_addralign = 4});
}

static uint32_t put_table(Writer *w, const char *name, Out *table) {
    uint32_t index =
        add_header(w, "", name, (Elf32_Shdr){.sh_type = SHT_STRTAB, .sh_addralign = 1});
    if (table->failed || w->file.failed) {
        w->file.failed = true;
        return index;
    }
    uint32_t at = put(&w->file, table->bytes.items, table->bytes.count);
    w->headers.items[index].sh_offset = at;
    w->headers.items[index].sh_size = (uint32_t)table->bytes.count;
    return index;
}

static void put_header(Writer *w, uint32_t headers_at, uint32_t names_index) {
    Elf32_Ehdr header = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_REL,
        .e_machine = ELF_MACHINE,
        .e_version = EV_CURRENT,
        .e_shoff = headers_at,
        .e_ehsize = sizeof header,
        .e_shentsize = sizeof(Elf32_Shdr),
        .e_shnum = (uint16_t)w->headers.count,
        .e_shstrndx = (uint16_t)names_index};
    memcpy(w->file.bytes.items, &header, sizeof header);
}

static void write_all(Writer *w) {
    Elf32_Ehdr room = {0};
    put(&w->file, &room, sizeof room);
    put(&w->names, "", 1);
    put(&w->strings, "", 1);
    if (!vec_push(&w->headers, (Elf32_Shdr){0}))
        w->file.failed = true;
    put_sections(w);
    /* .strtab follows .symtab; its number is known before. */
    uint32_t symbols_index = (uint32_t)w->headers.count;
    put_symbols(w, symbols_index + 1);
    put_table(w, ".strtab", &w->strings);
    for (size_t i = 0; i < w->object->section_count; i++)
        put_relocs(w, i, symbols_index);
    put_lines(w);
    uint32_t names_index = put_table(w, ".shstrtab", &w->names);
    align_out(&w->file, 4);
    if (w->file.failed)
        return;
    /* The name of .shstrtab itself is in the table: written just before its bytes were copied. */
    uint32_t headers_at = put(&w->file, w->headers.items, w->headers.count * sizeof(Elf32_Shdr));
    if (!w->file.failed)
        put_header(w, headers_at, names_index);
}

Status asm_elf_write(const AsmObject *object, uint8_t **bytes, size_t *size, Diag *diag) {
    Writer writer = {.object = object};
    write_all(&writer);
    vec_free(&writer.headers);
    vec_free(&writer.names.bytes);
    vec_free(&writer.strings.bytes);
    *bytes = NULL;
    *size = 0;
    if (writer.file.failed) {
        vec_free(&writer.file.bytes);
        return diag_error(diag, ERR_NO_MEMORY, (DiagPlace){.file = object->name, .tile = -1},
                          "no memory to write this object");
    }
    *bytes = writer.file.bytes.items;
    *size = writer.file.bytes.count;
    return STATUS_OK;
}
