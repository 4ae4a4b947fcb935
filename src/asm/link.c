/* Objects -> bytes at their final addresses. */
#include "asm/asm.h"

#include "base/map.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct Linker {
    const AsmObject *const *objects;
    size_t count;
    const AsmDefine *externs;
    size_t extern_count;
    AsmImage *image;
    Diag *diag;
    uint32_t **address; /* [object][section], UINT32_MAX if not placed */
    StrMap *globals;    /* name -> object << 32 | symbol */
    Status failed;      /* the first error */
} Linker;

static DiagPlace object_place(const AsmObject *object) {
    return (DiagPlace){.file = object->name, .tile = -1};
}

static DiagPlace reloc_place(const AsmObject *object, const AsmSection *section,
                             const AsmReloc *reloc) {
    DiagPlace place = object_place(object);
    if (reloc->line < section->line_count) {
        const AsmLine *line = &section->lines[reloc->line];
        place.file = object->files[line->file];
        place.line = line->line;
    }
    return place;
}

/* `text` holds one %s. */
static void fail(Linker *l, Status code, DiagPlace place, const char *text, const char *name) {
    diag_error(l->diag, code, place, text, name);
    if (!l->failed)
        l->failed = code;
}

/* ---- placing */

static bool in_group(const AsmSection *section, bool code) {
    return (section->flags & ASM_ALLOC) && ((section->flags & ASM_EXEC) != 0) == code &&
           section->size > 0;
}

/* The end of one group of sections that starts at `at`. */
static uint64_t place_group(const AsmObject *const *objects, size_t count, bool code, uint64_t at,
                            uint32_t **address) {
    for (size_t o = 0; o < count; o++) {
        for (size_t s = 0; s < objects[o]->section_count; s++) {
            const AsmSection *section = &objects[o]->sections[s];
            if (!in_group(section, code))
                continue;
            at = align_up(at, section->align);
            if (address)
                address[o][s] = (uint32_t)at;
            at += section->size;
        }
    }
    return at;
}

uint32_t asm_link_size(const AsmObject *const *objects, size_t count) {
    uint64_t base = 1 << 16; /* a multiple of every alignment */
    uint64_t end = place_group(objects, count, true, base, NULL);
    end = place_group(objects, count, false, align_up(end, 4), NULL);
    return (uint32_t)align_up(end - base, 4);
}

/* Where the first code stands that reaches above executable memory. */
static DiagPlace place_beyond(const Linker *l) {
    for (size_t o = 0; o < l->count; o++) {
        const AsmObject *object = l->objects[o];
        for (size_t s = 0; s < object->section_count; s++) {
            const AsmSection *section = &object->sections[s];
            if (!in_group(section, true))
                continue;
            for (size_t i = 0; i < section->line_count; i++) {
                const AsmLine *line = &section->lines[i];
                if ((uint64_t)l->address[o][s] + line->offset + line->size > CHIP_REGION1_BASE)
                    return (DiagPlace){
                        .file = object->files[line->file], .line = line->line, .tile = -1};
            }
        }
    }
    return l->count ? object_place(l->objects[0]) : DIAG_NOWHERE;
}

static bool place_sections(Linker *l, uint32_t base) {
    for (size_t o = 0; o < l->count; o++) {
        for (size_t s = 0; s < l->objects[o]->section_count; s++) {
            const AsmSection *section = &l->objects[o]->sections[s];
            l->address[o][s] = UINT32_MAX;
            if ((section->flags & ASM_ALLOC) && base % section->align) {
                diag_error(l->diag, ERR_LINK_PLACE, object_place(l->objects[o]),
                           "section %s needs an alignment of %u bytes, the base 0x%X has less",
                           section->name, section->align, base);
                return false;
            }
        }
    }
    uint64_t code_end = place_group(l->objects, l->count, true, base, l->address);
    uint64_t end =
        align_up(place_group(l->objects, l->count, false, align_up(code_end, 4), l->address), 4);
    DiagPlace place = l->count ? object_place(l->objects[0]) : DIAG_NOWHERE;
    if (code_end > base && code_end > CHIP_REGION1_BASE) {
        diag_error(l->diag, ERR_LINK_PLACE, place_beyond(l),
                   "code ends at 0x%llX, and only memory below 0x%X can be executed",
                   (unsigned long long)code_end, CHIP_REGION1_BASE);
        return false;
    }
    if (end > CHIP_TILE_MEM_END) {
        diag_error(l->diag, ERR_LINK_PLACE, place, "the image ends at 0x%llX, tile memory at 0x%X",
                   (unsigned long long)end, CHIP_TILE_MEM_END);
        return false;
    }
    l->image->base = base;
    l->image->size = (uint32_t)(end - base);
    l->image->code_size = (uint32_t)(code_end - base);
    return true;
}

/* ---- symbols */

static bool gather_globals(Linker *l) {
    for (size_t o = 0; o < l->count; o++) {
        for (size_t s = 0; s < l->objects[o]->symbol_count; s++) {
            const AsmSymbol *symbol = &l->objects[o]->symbols[s];
            uint64_t other;
            if (!symbol->global || symbol->section == ASM_UNDEFINED || symbol->is_section)
                continue;
            if (strmap_get(l->globals, symbol->name, &other)) {
                fail(l, ERR_LINK_SYMBOL, object_place(l->objects[o]),
                     "`%s` is defined in more than one object", symbol->name);
                diag_note(l->diag, "also in %s", l->objects[other >> 32]->name);
            } else if (!strmap_put(l->globals, symbol->name, (uint64_t)o << 32 | s)) {
                return false;
            }
        }
    }
    return true;
}

/* Address or number of a defined symbol; false if its section is not part of the image. */
static bool symbol_value(const Linker *l, size_t object, const AsmSymbol *symbol, int64_t *value) {
    *value = symbol->value;
    if (symbol->section == ASM_ABSOLUTE)
        return true;
    uint32_t address = l->address[object][symbol->section];
    /* An empty section has no place: its labels stand for the start of the image. */
    if (address == UINT32_MAX && l->objects[object]->sections[symbol->section].size == 0)
        address = l->image->base;
    *value += address;
    return address != UINT32_MAX;
}

static bool resolve(Linker *l, size_t object, const AsmSymbol *symbol, int64_t *value) {
    if (symbol->section != ASM_UNDEFINED)
        return symbol_value(l, object, symbol, value);
    uint64_t found;
    if (strmap_get(l->globals, symbol->name, &found))
        return symbol_value(l, found >> 32, &l->objects[found >> 32]->symbols[(uint32_t)found],
                            value);
    for (size_t i = 0; i < l->extern_count; i++) {
        if (strcmp(l->externs[i].name, symbol->name) == 0) {
            *value = l->externs[i].value;
            return true;
        }
    }
    return false;
}

/* ---- relocations */

typedef struct Field {
    uint8_t size;  /* bytes of the word */
    uint8_t bits;  /* at the low end of the word */
    uint8_t shift; /* the field holds value >> shift */
    bool exact;    /* the bits shifted out must be zero */
    const char *what;
} Field;

static const Field fields[] = {
    [ASM_REL_32] = {4, 32, 0, true, "32 bits"},
    [ASM_REL_16] = {2, 16, 0, true, "16 bits"},
    [ASM_REL_8] = {1, 8, 0, true, "8 bits"},
    [ASM_REL_TARGET] = {4, 19, 2, true, "a branch: a multiple of 4 below 0x200000"},
    [ASM_REL_IMM20] = {4, 20, 0, true, "20 bits"},
    [ASM_REL_HI12] = {4, 12, 20, true, "the high 12 bits"},
    [ASM_REL_ABS19_S2] = {4, 19, 2, false, "19 bits"},
};

static void relocate(Linker *l, size_t o, const AsmSection *section, const AsmReloc *reloc,
                     uint8_t *bytes) {
    const AsmObject *object = l->objects[o];
    const AsmSymbol *symbol = &object->symbols[reloc->symbol];
    const Field *field = &fields[reloc->type];
    int64_t value;
    if (!resolve(l, o, symbol, &value)) {
        fail(l, ERR_LINK_SYMBOL, reloc_place(object, section, reloc), "`%s` is not defined",
             symbol->name);
        return;
    }
    value += reloc->addend;
    int64_t part = value >> field->shift;
    if (part < 0 || part >> field->bits || (field->exact && part << field->shift != value)) {
        diag_error(l->diag, ERR_LINK_VALUE, reloc_place(object, section, reloc),
                   "`%s` is 0x%llX here, which does not fit into %s", symbol->name,
                   (unsigned long long)value, field->what);
        if (!l->failed)
            l->failed = ERR_LINK_VALUE;
        return;
    }
    uint32_t word = 0;
    memcpy(&word, bytes + reloc->offset, field->size);
    uint32_t mask = field->bits == 32 ? UINT32_MAX : (1u << field->bits) - 1;
    word = (word & ~mask) | (uint32_t)part;
    memcpy(bytes + reloc->offset, &word, field->size);
}

static void copy_sections(Linker *l) {
    for (size_t o = 0; o < l->count; o++) {
        for (size_t s = 0; s < l->objects[o]->section_count; s++) {
            const AsmSection *section = &l->objects[o]->sections[s];
            if (l->address[o][s] == UINT32_MAX || !section->bytes)
                continue;
            uint8_t *bytes = l->image->bytes + (l->address[o][s] - l->image->base);
            memcpy(bytes, section->bytes, section->size);
            for (size_t i = 0; i < section->reloc_count; i++)
                relocate(l, o, section, &section->relocs[i], bytes);
        }
    }
}

/* ---- what the image tells */

static int by_address(const void *left, const void *right) {
    const AsmImageSymbol *x = left, *y = right;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return strcmp(x->name, y->name);
}

static bool export_symbols(Linker *l) {
    AsmImage *image = l->image;
    size_t count = 0;
    for (size_t o = 0; o < l->count; o++)
        count += l->objects[o]->symbol_count;
    image->symbols = arena_alloc(&image->arena, count, sizeof *image->symbols);
    for (size_t o = 0; image->symbols && o < l->count; o++) {
        for (size_t s = 0; s < l->objects[o]->symbol_count; s++) {
            const AsmSymbol *symbol = &l->objects[o]->symbols[s];
            int64_t value;
            if (symbol->section < 0 || symbol->is_section || !symbol_value(l, o, symbol, &value))
                continue;
            char *name = arena_strdup(&image->arena, symbol->name);
            if (!name)
                return false;
            image->symbols[image->symbol_count++] = (AsmImageSymbol){
                name, (uint32_t)value, symbol->size, (uint32_t)o, symbol->global, symbol->function};
        }
    }
    if (image->symbol_count)
        qsort(image->symbols, image->symbol_count, sizeof *image->symbols, by_address);
    return image->symbols != NULL;
}

static int lines_by_address(const void *left, const void *right) {
    const AsmImageLine *x = left, *y = right;
    return x->address < y->address ? -1 : x->address > y->address;
}

/* The lines of one section; `files` are the image's copies of the object's file names. */
static void export_section_lines(AsmImage *image, const AsmSection *section, uint32_t address,
                                 char **files) {
    for (size_t i = 0; i < section->line_count; i++) {
        const AsmLine *line = &section->lines[i];
        image->lines[image->line_count++] = (AsmImageLine){
            .address = address + line->offset,
            .size = line->size,
            .file = files[line->file],
            .call_file = files[line->call_file],
            .line = line->line,
            .call_line = line->call_line,
            .mode = line->mode,
            .code = line->code,
        };
    }
}

static bool export_lines(Linker *l) {
    AsmImage *image = l->image;
    size_t count = 0;
    for (size_t o = 0; o < l->count; o++)
        for (size_t s = 0; s < l->objects[o]->section_count; s++)
            count += l->objects[o]->sections[s].line_count;
    image->lines = arena_alloc(&image->arena, count, sizeof *image->lines);
    if (!image->lines)
        return false;
    for (size_t o = 0; o < l->count; o++) {
        const AsmObject *object = l->objects[o];
        char **files = arena_alloc(&image->arena, object->file_count, sizeof *files);
        for (size_t i = 0; files && i < object->file_count; i++)
            if (!(files[i] = arena_strdup(&image->arena, object->files[i])))
                files = NULL;
        if (!files)
            return false;
        for (size_t s = 0; s < object->section_count; s++)
            if (l->address[o][s] != UINT32_MAX)
                export_section_lines(image, &object->sections[s], l->address[o][s], files);
    }
    if (image->line_count)
        qsort(image->lines, image->line_count, sizeof *image->lines, lines_by_address);
    return true;
}

/* ---- the call */

static bool prepare(Linker *l, Arena *scratch) {
    l->globals = strmap_create();
    l->address = arena_alloc(scratch, l->count, sizeof *l->address);
    for (size_t o = 0; l->address && o < l->count; o++) {
        l->address[o] = arena_alloc(scratch, l->objects[o]->section_count, sizeof **l->address);
        if (!l->address[o])
            return false;
    }
    return l->globals && l->address;
}

static Status no_memory(Linker *l) {
    return diag_error(l->diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory to link");
}

static Status link_all(Linker *l, uint32_t base, Arena *scratch) {
    if (!prepare(l, scratch) || !gather_globals(l))
        return no_memory(l);
    if (l->failed)
        return l->failed;
    if (!place_sections(l, base))
        return ERR_LINK_PLACE;
    l->image->bytes = arena_alloc(&l->image->arena, l->image->size, 1);
    if (!l->image->bytes)
        return no_memory(l);
    copy_sections(l);
    if (l->failed)
        return l->failed;
    return export_symbols(l) && export_lines(l) ? STATUS_OK : no_memory(l);
}

Status asm_link(const AsmObject *const *objects, size_t count, uint32_t base,
                const AsmDefine *externs, size_t extern_count, AsmImage *image, Diag *diag) {
    *image = (AsmImage){0};
    Arena scratch = {0};
    Linker linker = {.objects = objects,
                     .count = count,
                     .externs = externs,
                     .extern_count = extern_count,
                     .image = image,
                     .diag = diag};
    Status status = link_all(&linker, base, &scratch);
    strmap_free(linker.globals);
    arena_free(&scratch);
    if (status != STATUS_OK)
        asm_image_free(image);
    return status;
}

void asm_image_free(AsmImage *image) {
    arena_free(&image->arena);
    *image = (AsmImage){0};
}

bool asm_image_symbol(const AsmImage *image, const char *name, uint32_t *address) {
    bool found = false;
    for (size_t i = 0; i < image->symbol_count; i++) {
        const AsmImageSymbol *symbol = &image->symbols[i];
        if (strcmp(symbol->name, name) != 0 || (found && !symbol->global))
            continue;
        *address = symbol->address;
        found = true;
        if (symbol->global)
            return true;
    }
    return found;
}

const AsmImageLine *asm_image_line(const AsmImage *image, uint32_t address) {
    size_t low = 0, high = image->line_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (image->lines[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    /* Entries of no bytes may share an address. */
    while (low > 0) {
        const AsmImageLine *line = &image->lines[--low];
        if (address - line->address < line->size)
            return line;
        if (line->size > 0)
            return NULL;
    }
    return NULL;
}
