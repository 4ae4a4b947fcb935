/* ELF32 relocatable file -> AsmObject. Every offset and number of the file is checked before use.
 */
#include "asm/elf_lines.h"

#include <string.h>

#define MAX_ELF_BYTES (64u << 20)

typedef struct Reader {
    const char *name;
    const uint8_t *bytes;
    size_t size;
    Diag *diag;
    AsmObject *object;
    const Elf32_Ehdr *header;
    uint32_t *section_of; /* ELF section -> section of the object, UINT32_MAX if none */
    uint32_t symbols_index;
    Status status;
} Reader;

static bool wrong(Reader *r, const char *what) {
    if (r->status == STATUS_OK)
        r->status = diag_error(r->diag, ERR_ASM_OBJECT, (DiagPlace){.file = r->name, .tile = -1},
                               "%s", what);
    return false;
}

static bool no_memory(Reader *r) {
    if (r->status == STATUS_OK)
        r->status = diag_error(r->diag, ERR_NO_MEMORY, (DiagPlace){.file = r->name, .tile = -1},
                               "no memory to read this object");
    return false;
}

static void *room(Reader *r, size_t count, size_t size) {
    void *block = arena_alloc(&r->object->arena, count, size);
    if (!block)
        no_memory(r);
    return block;
}

/* `count` items of `size` bytes at an offset that is a multiple of 4, or NULL. */
static const void *span(Reader *r, uint32_t offset, size_t count, size_t size) {
    size_t bytes;
    if (!checked_mul(count, size, &bytes) || offset > r->size || bytes > r->size - offset ||
        (size > 1 && offset % 4)) {
        wrong(r, "a part lies outside the file");
        return NULL;
    }
    return r->bytes + offset;
}

static const Elf32_Shdr *section_header(const Reader *r, uint32_t index) {
    return (const Elf32_Shdr *)(const void *)(r->bytes + r->header->e_shoff) + index;
}

/* A name of a string table section. */
static const char *string_at(Reader *r, uint32_t table, uint32_t offset) {
    if (table >= r->header->e_shnum) {
        wrong(r, "a string table is missing");
        return NULL;
    }
    const Elf32_Shdr *header = section_header(r, table);
    const char *text = span(r, header->sh_offset, header->sh_size, 1);
    if (!text)
        return NULL;
    if (header->sh_type != SHT_STRTAB || offset >= header->sh_size ||
        !memchr(text + offset, 0, header->sh_size - offset)) {
        wrong(r, "a name lies outside its string table");
        return NULL;
    }
    return text + offset;
}

static bool read_header(Reader *r) {
    if (r->size < sizeof(Elf32_Ehdr) || memcmp(r->bytes, ELFMAG, SELFMAG) != 0)
        return wrong(r, "this is no ELF file");
    if (r->size > MAX_ELF_BYTES)
        return wrong(r, "the file is larger than any object");
    r->header = (const Elf32_Ehdr *)(const void *)r->bytes;
    const Elf32_Ehdr *h = r->header;
    if (h->e_ident[EI_CLASS] != ELFCLASS32 || h->e_ident[EI_DATA] != ELFDATA2LSB ||
        h->e_type != ET_REL || h->e_machine != ELF_MACHINE)
        return wrong(r, "this is no relocatable 32-bit little-endian object of tilework");
    if (h->e_shentsize != sizeof(Elf32_Shdr) || h->e_shnum == 0)
        return wrong(r, "the section table is malformed");
    return span(r, h->e_shoff, h->e_shnum, sizeof(Elf32_Shdr)) != NULL;
}

static bool read_section(Reader *r, uint32_t index, const char *name) {
    const Elf32_Shdr *h = section_header(r, index);
    AsmSection *section = &r->object->sections[r->object->section_count];
    uint32_t align = h->sh_addralign ? h->sh_addralign : 1;
    if (align & (align - 1) || align > 65536)
        return wrong(r, "a section has an alignment that is no power of two up to 65536");
    if (h->sh_size > MAX_ELF_BYTES)
        return wrong(r, "a section is larger than any tile's memory");
    *section = (AsmSection){.name = arena_strdup(&r->object->arena, name),
                            .flags = (h->sh_flags & SHF_ALLOC ? ASM_ALLOC : 0) |
                                     (h->sh_flags & SHF_EXECINSTR ? ASM_EXEC : 0) |
                                     (h->sh_flags & SHF_WRITE ? ASM_WRITE : 0) |
                                     (h->sh_type == SHT_NOBITS ? ASM_NOBITS : 0),
                            .align = align,
                            .size = h->sh_size};
    if (!section->name)
        return no_memory(r);
    if (h->sh_type == SHT_PROGBITS) {
        const uint8_t *bytes = span(r, h->sh_offset, h->sh_size, 1);
        section->bytes = bytes ? room(r, h->sh_size, 1) : NULL;
        if (!section->bytes)
            return false;
        memcpy(section->bytes, bytes, h->sh_size);
    }
    r->section_of[index] = (uint32_t)r->object->section_count++;
    return true;
}

static bool read_sections(Reader *r) {
    r->object->sections = room(r, r->header->e_shnum, sizeof(AsmSection));
    r->section_of = room(r, r->header->e_shnum, sizeof *r->section_of);
    if (!r->object->sections || !r->section_of)
        return false;
    for (uint32_t i = 0; i < r->header->e_shnum; i++) {
        const Elf32_Shdr *h = section_header(r, i);
        r->section_of[i] = UINT32_MAX;
        if (h->sh_type == SHT_SYMTAB)
            r->symbols_index = i;
        if (h->sh_type != SHT_PROGBITS && h->sh_type != SHT_NOBITS)
            continue;
        const char *name = string_at(r, r->header->e_shstrndx, h->sh_name);
        if (!name)
            return false;
        if (strcmp(name, ELF_LINES_NAME) != 0 && !read_section(r, i, name))
            return false;
    }
    return true;
}

static bool read_symbol(Reader *r, const Elf32_Sym *from, uint32_t strings, AsmSymbol *to) {
    unsigned type = ELF32_ST_TYPE(from->st_info);
    int32_t section = ASM_UNDEFINED;
    if (from->st_shndx == SHN_ABS) {
        section = ASM_ABSOLUTE;
    } else if (from->st_shndx != SHN_UNDEF) {
        if (from->st_shndx >= r->header->e_shnum || r->section_of[from->st_shndx] == UINT32_MAX)
            return wrong(r, "a symbol lies in a section that does not exist");
        section = (int32_t)r->section_of[from->st_shndx];
    }
    if (type == STT_SECTION && section < 0)
        return wrong(r, "a section symbol without a section");
    const char *name = type == STT_SECTION ? r->object->sections[section].name
                                           : string_at(r, strings, from->st_name);
    if (!name)
        return false;
    *to = (AsmSymbol){.name = arena_strdup(&r->object->arena, name),
                      .section = section,
                      .value = section == ASM_ABSOLUTE ? (int32_t)from->st_value
                                                       : (int64_t)from->st_value,
                      .size = from->st_size,
                      .global = ELF32_ST_BIND(from->st_info) != STB_LOCAL,
                      .function = type == STT_FUNC,
                      .is_section = type == STT_SECTION};
    if (section >= 0 && from->st_value > r->object->sections[section].size)
        return wrong(r, "a symbol lies outside its section");
    return to->name ? true : no_memory(r);
}

static bool read_symbols(Reader *r) {
    if (r->symbols_index == 0)
        return wrong(r, "there is no symbol table");
    const Elf32_Shdr *h = section_header(r, r->symbols_index);
    size_t count = h->sh_size / sizeof(Elf32_Sym);
    const Elf32_Sym *symbols = span(r, h->sh_offset, count, sizeof(Elf32_Sym));
    if (!symbols || count == 0)
        return symbols ? wrong(r, "the symbol table is empty") : false;
    r->object->symbols = room(r, count, sizeof(AsmSymbol));
    if (!r->object->symbols)
        return false;
    for (size_t i = 1; i < count; i++) {
        if (!read_symbol(r, &symbols[i], h->sh_link, &r->object->symbols[i - 1]))
            return false;
        r->object->symbol_count = i;
    }
    return true;
}

static bool read_reloc(Reader *r, const Elf32_Rela *from, const AsmSection *section, AsmReloc *to) {
    static const uint8_t sizes[] = {0, 4, 2, 1, 4, 4, 4, 4};
    uint32_t symbol = ELF32_R_SYM(from->r_info), type = ELF32_R_TYPE(from->r_info);
    if (type == ASM_REL_NONE || type >= COUNT_OF(sizes))
        return wrong(r, "a relocation has an unknown type");
    if (symbol == 0 || symbol > r->object->symbol_count)
        return wrong(r, "a relocation has a symbol that does not exist");
    if (!section->bytes || section->size < sizes[type] ||
        from->r_offset > section->size - sizes[type])
        return wrong(r, "a relocation lies outside its section");
    *to = (AsmReloc){.offset = from->r_offset,
                     .symbol = symbol - 1,
                     .addend = from->r_addend,
                     .line = UINT32_MAX,
                     .type = (uint8_t)type};
    return true;
}

static bool read_relocs(Reader *r) {
    for (uint32_t i = 0; i < r->header->e_shnum; i++) {
        const Elf32_Shdr *h = section_header(r, i);
        if (h->sh_type != SHT_RELA)
            continue;
        if (h->sh_info >= r->header->e_shnum || r->section_of[h->sh_info] == UINT32_MAX)
            return wrong(r, "relocations of a section that does not exist");
        AsmSection *section = &r->object->sections[r->section_of[h->sh_info]];
        size_t count = h->sh_size / sizeof(Elf32_Rela);
        const Elf32_Rela *relocs = span(r, h->sh_offset, count, sizeof(Elf32_Rela));
        section->relocs = relocs && !section->relocs ? room(r, count, sizeof(AsmReloc)) : NULL;
        if (!section->relocs)
            return wrong(r, "two sets of relocations for one section");
        section->reloc_count = count;
        for (size_t k = 0; k < count; k++) {
            if (!read_reloc(r, &relocs[k], section, &section->relocs[k]))
                return false;
            if (k && relocs[k].r_offset < relocs[k - 1].r_offset)
                return wrong(r, "relocations are not in the order of their places");
        }
    }
    return true;
}

/* ---- lines: a file without them is whole too */

typedef struct Part {
    const uint8_t *at, *end;
} Part;

static bool take_u32(Part *part, uint32_t *value) {
    if (part->end - part->at < 4)
        return false;
    memcpy(value, part->at, 4);
    part->at += 4;
    return true;
}

static char *take_name(Reader *r, Part *part) {
    const uint8_t *zero = memchr(part->at, 0, (size_t)(part->end - part->at));
    if (!zero) {
        wrong(r, "the line table is cut off");
        return NULL;
    }
    char *name = arena_strdup(&r->object->arena, (const char *)part->at);
    if (!name)
        no_memory(r);
    part->at = zero + 1;
    return name;
}

static bool read_line(Reader *r, Part *part, const AsmSection *section, AsmLine *line) {
    ElfLine from;
    if ((size_t)(part->end - part->at) < sizeof from)
        return wrong(r, "the line table is cut off");
    memcpy(&from, part->at, sizeof from);
    part->at += sizeof from;
    if (from.offset > section->size || from.size > section->size - from.offset ||
        from.file >= r->object->file_count || from.call_file >= r->object->file_count ||
        from.mode < ISA_SUPERVISOR || from.mode > ISA_BOTH || from.code > 1)
        return wrong(r, "the line table is malformed");
    *line = (AsmLine){from.offset,    from.size,      from.file,          from.line,
                      from.call_file, from.call_line, (uint8_t)from.mode, from.code != 0};
    return true;
}

static bool read_files(Reader *r, Part *part) {
    uint32_t version, files;
    const uint8_t *start = part->at;
    if (!take_u32(part, &version) || !take_u32(part, &files) || version != ELF_LINES_VERSION ||
        files > (size_t)(part->end - part->at))
        return wrong(r, "the line table is malformed");
    r->object->name = take_name(r, part);
    r->object->files = r->object->name ? room(r, files, sizeof(char *)) : NULL;
    for (uint32_t i = 0; r->object->files && i < files; i++) {
        r->object->files[i] = take_name(r, part);
        if (!r->object->files[i])
            return false;
        r->object->file_count = i + 1;
    }
    size_t used = align_up((uint64_t)(part->at - start), 4);
    if (used > (size_t)(part->end - start))
        return wrong(r, "the line table is cut off");
    part->at = start + used;
    return r->object->files != NULL;
}

static bool read_lines(Reader *r, Part part) {
    if (!read_files(r, &part))
        return false;
    for (size_t s = 0; s < r->object->section_count; s++) {
        AsmSection *section = &r->object->sections[s];
        uint32_t count;
        if (!take_u32(&part, &count) || count > (size_t)(part.end - part.at) / sizeof(ElfLine))
            return wrong(r, "the line table is cut off");
        section->lines = room(r, count, sizeof(AsmLine));
        if (!section->lines)
            return false;
        section->line_count = count;
        for (uint32_t i = 0; i < count; i++) {
            if (!read_line(r, &part, section, &section->lines[i]))
                return false;
            if (i && section->lines[i].offset < section->lines[i - 1].offset)
                return wrong(r, "the line table is out of order");
        }
    }
    return true;
}

/* The line whose bytes hold a relocation. */
static void place_relocs(AsmSection *section) {
    size_t line = 0;
    for (size_t i = 0; i < section->reloc_count; i++) {
        AsmReloc *reloc = &section->relocs[i];
        while (line < section->line_count &&
               section->lines[line].offset + section->lines[line].size <= reloc->offset)
            line++;
        if (line < section->line_count && section->lines[line].offset <= reloc->offset)
            reloc->line = (uint32_t)line;
    }
}

static bool find_lines(Reader *r) {
    for (uint32_t i = 0; i < r->header->e_shnum; i++) {
        const Elf32_Shdr *h = section_header(r, i);
        if (h->sh_type != SHT_PROGBITS)
            continue;
        const char *name = string_at(r, r->header->e_shstrndx, h->sh_name);
        if (!name)
            return false;
        if (strcmp(name, ELF_LINES_NAME) != 0)
            continue;
        const uint8_t *bytes = span(r, h->sh_offset, h->sh_size, 1);
        return bytes && read_lines(r, (Part){bytes, bytes + h->sh_size});
    }
    r->object->name = arena_strdup(&r->object->arena, r->name);
    return r->object->name ? true : no_memory(r);
}

Status asm_elf_read(const char *name, const uint8_t *bytes, size_t size, AsmObject **object,
                    Diag *diag) {
    *object = NULL;
    Reader reader = {.name = name, .size = size, .diag = diag};
    reader.object = mem_alloc(1, sizeof *reader.object);
    /* A copy at an address that suits the structures. */
    uint8_t *copy = reader.object ? mem_alloc(MAX_OF(size, (size_t)1), 1) : NULL;
    bool good = copy != NULL;
    if (good) {
        if (size)
            memcpy(copy, bytes, size);
        reader.bytes = copy;
        good = read_header(&reader) && read_sections(&reader) && read_symbols(&reader) &&
               read_relocs(&reader) && find_lines(&reader);
    } else {
        no_memory(&reader);
    }
    mem_free(copy);
    if (!good) {
        asm_object_free(reader.object);
        return reader.status;
    }
    for (size_t i = 0; i < reader.object->section_count; i++)
        place_relocs(&reader.object->sections[i]);
    *object = reader.object;
    return STATUS_OK;
}
