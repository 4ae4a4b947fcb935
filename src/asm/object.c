/* The end of an assembly: expressions that waited, checks that need all labels, the object. */
#include "asm/assembler.h"

#include <stdlib.h>
#include <string.h>

/* ---- data that waited */

static Place fixup_place(const DataFixup *fixup) {
    return fixup->expr->place;
}

/* symbol@abs19@s2 is the one bit field of an address that has a relocation. */
static const Expr *abs19_s2(const Expr *expr) {
    if (expr->kind != EXPR_UNARY || expr->op != OP_ABS_BITS || expr->number != 19 ||
        expr->left->kind != EXPR_BINARY || expr->left->op != OP_SHR ||
        expr->left->right->kind != EXPR_NUMBER || expr->left->right->number != 2)
        return NULL;
    return expr->left->left;
}

static void finish_data(Assembler *a, Section *section, const DataFixup *fixup) {
    static const uint8_t plain[9] = {0, ASM_REL_8, ASM_REL_16, 0, ASM_REL_32, 0, 0, 0, 0};
    uint8_t type = plain[fixup->size];
    const Expr *field = abs19_s2(fixup->expr);
    Value value;
    const char *why = "";
    Known known = INVALID;
    if (field && fixup->size == 4) {
        known = asm_evaluate(a, field, true, &value, &why);
        type = ASM_REL_ABS19_S2;
    }
    if (known != KNOWN || !value.base) {
        known = asm_evaluate(a, fixup->expr, true, &value, &why);
        type = plain[fixup->size];
    }
    if (known != KNOWN || (value.base && type == ASM_REL_NONE)) {
        asm_error(a, ERR_ASM_EXPRESSION, fixup_place(fixup), "%s",
                  known != KNOWN ? why : "an address has 32 bits");
        return;
    }
    if (value.base) {
        PendingReloc reloc = {{.offset = fixup->offset,
                               .addend = (int32_t)value.number,
                               .line = fixup->line,
                               .type = type},
                              value.base};
        ASM_PUSH(a, &section->relocs, reloc);
        return;
    }
    int64_t limit = fixup->size < 8 ? (int64_t)1 << (8 * fixup->size) : INT64_MAX;
    if (value.number >= limit || value.number < -limit / 2)
        asm_error(a, ERR_ASM_RANGE, fixup_place(fixup), "%lld does not fit into %u bytes",
                  (long long)value.number, fixup->size);
    for (unsigned i = 0; i < fixup->size && !(section->flags & ASM_NOBITS); i++)
        section->bytes.items[fixup->offset + i] = (uint8_t)((uint64_t)value.number >> (8 * i));
}

void asm_finish(Assembler *a) {
    for (size_t s = 0; s < a->sections.count && !a->stop; s++) {
        Section *section = a->sections.items[s];
        asm_encode_pending(a, section);
        for (size_t i = 0; i < section->fixups.count; i++)
            finish_data(a, section, &section->fixups.items[i]);
    }
    for (size_t s = 0; s < a->sections.count && a->errors == 0; s++)
        asm_check_repeats(a, a->sections.items[s]);
    for (size_t s = 0; s < a->sections.count && a->errors == 0; s++)
        asm_check_hazards(a, a->sections.items[s]);
}

/* ---- the object */

static bool exported(const Symbol *symbol) {
    if (strncmp(symbol->name->text, ".L", 2) == 0 ||
        (symbol->predefined && !symbol->used && !symbol->global))
        return false;
    return symbol->defined || symbol->set || symbol->global || symbol->used;
}

static bool is_global(const Symbol *symbol) {
    return symbol->global || (!symbol->set && symbol->section == ASM_UNDEFINED);
}

static bool export_symbol(Assembler *a, Arena *arena, Symbol *symbol, AsmSymbol *out) {
    Value value = {.number = symbol->value};
    const char *why = "";
    int32_t section = symbol->section;
    if (symbol->set) {
        if (asm_evaluate(a, symbol->set, true, &value, &why) != KNOWN) {
            asm_error(a, ERR_ASM_EXPRESSION, symbol->place, "%s", why);
            return false;
        }
        section = value.base ? value.base->section : ASM_ABSOLUTE;
        if (section == ASM_UNDEFINED)
            return false; /* another name of an external symbol stays inside */
        if (section >= 0)
            value.number += value.base->value;
    }
    int64_t size = 0;
    Value size_value;
    if (symbol->size && asm_evaluate(a, symbol->size, true, &size_value, &why) == KNOWN &&
        !size_value.base && size_value.number >= 0 && size_value.number <= UINT32_MAX) {
        size = size_value.number;
    } else if (symbol->size) {
        asm_error(a, ERR_ASM_EXPRESSION, symbol->size->place, "a .size is a number of bytes");
        return false;
    }
    *out = (AsmSymbol){.name = arena_strdup(arena, symbol->name->text),
                       .section = section,
                       .value = value.number,
                       .size = (uint32_t)size,
                       .global = is_global(symbol),
                       .function = symbol->function};
    return true;
}

static void export_symbols(Assembler *a, AsmObject *object) {
    size_t count = a->sections.count;
    for (size_t i = 0; i < a->symbols.count; i++)
        count += exported(a->symbols.items[i]);
    object->symbols = arena_alloc(&object->arena, count, sizeof *object->symbols);
    if (!object->symbols)
        asm_no_memory(a);
    for (size_t i = 0; i < a->sections.count; i++) {
        object->symbols[object->symbol_count++] =
            (AsmSymbol){.name = arena_strdup(&object->arena, a->sections.items[i]->name->text),
                        .section = (int32_t)i,
                        .is_section = true};
    }
    /* Local ones first, as ELF wants them. */
    for (int global = 0; global < 2; global++) {
        for (size_t i = 0; i < a->symbols.count; i++) {
            Symbol *symbol = a->symbols.items[i];
            if (is_global(symbol) != (global == 1) || !exported(symbol))
                continue;
            symbol->index = (uint32_t)object->symbol_count;
            symbol->exported =
                export_symbol(a, &object->arena, symbol, &object->symbols[object->symbol_count]);
            object->symbol_count += symbol->exported;
        }
    }
}

static int by_offset(const void *left, const void *right) {
    const AsmReloc *l = left, *r = right;
    return l->offset < r->offset ? -1 : l->offset > r->offset;
}

/* Relocations against labels that the object does not name go against their section. */
static void export_relocs(Assembler *a, AsmObject *object, const Section *from, AsmSection *to) {
    to->reloc_count = from->relocs.count;
    to->relocs = arena_alloc(&object->arena, to->reloc_count, sizeof *to->relocs);
    if (!to->relocs)
        asm_no_memory(a);
    for (size_t i = 0; i < to->reloc_count; i++) {
        const PendingReloc *pending = &from->relocs.items[i];
        const Symbol *symbol = pending->symbol;
        AsmReloc *reloc = &to->relocs[i];
        *reloc = pending->reloc;
        if (symbol->exported) {
            reloc->symbol = symbol->index;
        } else if (symbol->section >= 0) {
            reloc->symbol = (uint32_t)symbol->section;
            reloc->addend += (int32_t)symbol->value;
        } else {
            asm_error(a, ERR_ASM_SYMBOL, symbol->place, "`%s` is not defined",
                      symbol->name ? symbol->name->text : "a label");
        }
    }
    if (to->reloc_count)
        qsort(to->relocs, to->reloc_count, sizeof *to->relocs, by_offset);
}

static void *copy_items(Assembler *a, AsmObject *object, const void *items, size_t count,
                        size_t size) {
    void *copy = arena_alloc(&object->arena, count, size);
    if (!copy)
        asm_no_memory(a);
    if (count)
        memcpy(copy, items, count * size);
    return copy;
}

static void export_section(Assembler *a, AsmObject *object, const Section *from, AsmSection *to) {
    *to = (AsmSection){.name = arena_strdup(&object->arena, from->name->text),
                       .flags = from->flags,
                       .align = from->align,
                       .size = from->size,
                       .line_count = from->lines.count};
    if (!(from->flags & ASM_NOBITS))
        to->bytes = copy_items(a, object, from->bytes.items, from->size, 1);
    to->lines = copy_items(a, object, from->lines.items, from->lines.count, sizeof *to->lines);
    export_relocs(a, object, from, to);
}

static void build(Assembler *a, AsmObject *object, const char *name) {
    object->name = arena_strdup(&object->arena, name);
    export_symbols(a, object);
    object->section_count = a->sections.count;
    object->sections = arena_alloc(&object->arena, object->section_count, sizeof(AsmSection));
    object->file_count = a->files.count;
    object->files = arena_alloc(&object->arena, object->file_count, sizeof(char *));
    if (!object->sections || !object->files || !object->name)
        asm_no_memory(a);
    for (size_t i = 0; i < object->section_count; i++)
        export_section(a, object, a->sections.items[i], &object->sections[i]);
    for (size_t i = 0; i < object->file_count; i++)
        object->files[i] = arena_strdup(&object->arena, a->files.items[i]);
    bool whole = true;
    for (size_t i = 0; i < object->symbol_count; i++)
        whole = whole && object->symbols[i].name;
    for (size_t i = 0; i < object->section_count; i++)
        whole = whole && object->sections[i].name;
    for (size_t i = 0; i < object->file_count; i++)
        whole = whole && object->files[i];
    if (!whole)
        asm_no_memory(a);
}

AsmObject *asm_build_object(Assembler *a, const char *name) {
    a->object = mem_alloc(1, sizeof *a->object);
    if (!a->object)
        asm_no_memory(a);
    build(a, a->object, name);
    AsmObject *object = a->errors ? NULL : a->object;
    if (object)
        a->object = NULL; /* the rest is freed with the state */
    return object;
}

void asm_object_free(AsmObject *object) {
    if (!object)
        return;
    Arena arena = object->arena;
    arena_free(&arena);
    mem_free(object);
}

const AsmSymbol *asm_object_symbol(const AsmObject *object, const char *name) {
    for (size_t i = 0; i < object->symbol_count; i++)
        if (!object->symbols[i].is_section && strcmp(object->symbols[i].name, name) == 0)
            return &object->symbols[i];
    return NULL;
}
