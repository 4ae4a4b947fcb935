/* What must hold of every object: it survives ELF, and what the disassembler prints of it assembles
 * to the same bytes, packet by packet and as a whole. */
#pragma once

#include "testing.h"

#include "asm/asm.h"

#include <stdlib.h>
#include <string.h>

/* Messages as a user sees them; free() it. */
static inline char *round_trip_messages(const Diag *diag) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    diag_print(diag, out);
    fclose(out);
    return text;
}

static inline void assert_same_object(const AsmObject *left, const AsmObject *right) {
    assert_int_equal(left->section_count, right->section_count);
    assert_int_equal(left->symbol_count, right->symbol_count);
    for (size_t i = 0; i < left->section_count; i++) {
        const AsmSection *l = &left->sections[i], *r = &right->sections[i];
        assert_string_equal(l->name, r->name);
        assert_int_equal(l->flags, r->flags);
        assert_int_equal(l->align, r->align);
        assert_int_equal(l->size, r->size);
        if (l->bytes && l->size)
            assert_memory_equal(l->bytes, r->bytes, l->size);
        assert_int_equal(l->line_count, r->line_count);
        assert_int_equal(l->reloc_count, r->reloc_count);
        for (size_t k = 0; k < l->reloc_count; k++) {
            assert_int_equal(l->relocs[k].offset, r->relocs[k].offset);
            assert_int_equal(l->relocs[k].symbol, r->relocs[k].symbol);
            assert_int_equal(l->relocs[k].addend, r->relocs[k].addend);
            assert_int_equal(l->relocs[k].line, r->relocs[k].line);
            assert_int_equal(l->relocs[k].type, r->relocs[k].type);
        }
        for (size_t k = 0; k < l->line_count; k++) {
            assert_int_equal(l->lines[k].offset, r->lines[k].offset);
            assert_int_equal(l->lines[k].line, r->lines[k].line);
        }
    }
    for (size_t i = 0; i < left->symbol_count; i++) {
        assert_string_equal(left->symbols[i].name, right->symbols[i].name);
        assert_int_equal(left->symbols[i].section, right->symbols[i].section);
        assert_int_equal(left->symbols[i].value, right->symbols[i].value);
        assert_int_equal(left->symbols[i].size, right->symbols[i].size);
        assert_int_equal(left->symbols[i].global, right->symbols[i].global);
        assert_int_equal(left->symbols[i].function, right->symbols[i].function);
    }
}

static inline void round_trip_elf(const AsmObject *object) {
    uint8_t *bytes, *again;
    size_t size, again_size;
    AsmObject *back;
    Diag diag = {0};
    assert_int_equal(asm_elf_write(object, &bytes, &size, &diag), STATUS_OK);
    assert_int_equal(asm_elf_read("case.o", bytes, size, &back, &diag), STATUS_OK);
    assert_same_object(object, back);
    assert_int_equal(asm_elf_write(back, &again, &again_size, &diag), STATUS_OK);
    assert_int_equal(size, again_size);
    assert_memory_equal(bytes, again, size);
    asm_object_free(back);
    mem_free(bytes);
    mem_free(again);
    diag_free(&diag);
}

/* The words of a code line (unlinked, so branch targets are 0) -> text -> the same words. */
static inline void round_trip_packet(const AsmSection *section, const AsmLine *line) {
    uint32_t words[2] = {0};
    memcpy(words, section->bytes + line->offset, line->size);
    IsaPacket packet;
    IsaMode mode = (IsaMode)line->mode;
    if (!isa_decode_packet(words, line->size / 4, mode == ISA_BOTH ? ISA_WORKER : mode, &packet)) {
        mode = mode == ISA_WORKER || mode == ISA_BOTH ? ISA_SUPERVISOR : ISA_WORKER;
        assert_true(isa_decode_packet(words, line->size / 4, mode, &packet));
    }
    char text[2 * ISA_TEXT_SIZE], source[3 * ISA_TEXT_SIZE];
    isa_disassemble_packet(&packet, mode, text);
    snprintf(source, sizeof source, "%s\n.allow_invalid_operands\n.allow_invalid_repeat\n%s\n",
             mode == ISA_WORKER       ? ".worker"
             : mode == ISA_SUPERVISOR ? ".supervisor"
                                      : "",
             text);
    Diag diag = {0};
    AsmObject *object;
    Status status = asm_assemble("text", source, strlen(source), NULL, &object, &diag);
    if (status != STATUS_OK) {
        diag_print(&diag, stdout);
        fail_msg("the disassembly does not assemble: %s", text);
    }
    assert_int_equal(object->sections[0].size, line->size);
    assert_memory_equal(object->sections[0].bytes, words, line->size);
    asm_object_free(object);
    diag_free(&diag);
}

/* All code of the object. */
static inline void round_trip_packets(const AsmObject *object) {
    for (size_t s = 0; s < object->section_count; s++)
        for (size_t i = 0; i < object->sections[s].line_count; i++)
            if (object->sections[s].lines[i].code)
                round_trip_packet(&object->sections[s], &object->sections[s].lines[i]);
}

static inline const AsmSection *round_trip_section(const AsmObject *object, const char *name) {
    for (size_t i = 0; i < object->section_count; i++)
        if (strcmp(object->sections[i].name, name) == 0)
            return &object->sections[i];
    return NULL;
}

/* Object -> source -> object: the same bytes, alignments, relocations by offset and type, and
 * globals. */
static inline void round_trip_source(const AsmObject *object) {
    char *text = asm_source(object);
    assert_non_null(text);
    Diag diag = {0};
    AsmObject *again;
    Status status = asm_assemble("source.S", text, strlen(text), NULL, &again, &diag);
    if (status != STATUS_OK) {
        diag_print(&diag, stdout);
        fail_msg("the disassembly does not assemble:\n%s", text);
    }
    for (size_t s = 0; s < object->section_count; s++) {
        const AsmSection *l = &object->sections[s], *r = round_trip_section(again, l->name);
        assert_non_null(r);
        if (l->size != r->size || (l->bytes && l->size && memcmp(l->bytes, r->bytes, l->size) != 0))
            fail_msg("section %s differs after disassembly:\n%s", l->name, text);
        assert_int_equal(l->flags, r->flags);
        assert_int_equal(l->align, r->align);
        assert_int_equal(l->reloc_count, r->reloc_count);
        for (size_t i = 0; i < l->reloc_count; i++) {
            assert_int_equal(l->relocs[i].offset, r->relocs[i].offset);
            assert_int_equal(l->relocs[i].type, r->relocs[i].type);
        }
    }
    for (size_t i = 0; i < object->symbol_count; i++) {
        const AsmSymbol *symbol = &object->symbols[i];
        if (symbol->is_section || !symbol->global || symbol->section == ASM_UNDEFINED)
            continue;
        const AsmSymbol *other = asm_object_symbol(again, symbol->name);
        assert_non_null(other);
        assert_int_equal(symbol->value, other->value);
        assert_int_equal(symbol->size, other->size);
        assert_int_equal(symbol->function, other->function);
        assert_true(other->global);
    }
    asm_object_free(again);
    diag_free(&diag);
    mem_free(text);
}
