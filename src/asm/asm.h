/* The assembler: `.S` text in the dialect of the public SDK -> object -> linked bytes; ELF32
 * relocatable files; listings. docs/chip/assembly.md describes the language.
 *
 * Objects and images own everything that hangs on them (an arena each). Text given to asm_assemble
 * need not outlive the call. Nothing here is shared between threads except immutable tables.
 */
#pragma once

#include "base/diag.h"
#include "base/mem.h"
#include "isa/isa.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- objects */

typedef enum AsmSectionFlags {
    ASM_ALLOC = 1,
    ASM_EXEC = 2,
    ASM_WRITE = 4,
    ASM_NOBITS = 8 /* zeros that the file does not hold: .bss */
} AsmSectionFlags;

/* How a symbol's value enters the word at `offset`. value = symbol + addend. */
typedef enum AsmRelocType {
    ASM_REL_NONE,
    ASM_REL_32,      /* the whole word */
    ASM_REL_16,      /* 16 bits of data */
    ASM_REL_8,       /* 8 bits of data */
    ASM_REL_TARGET,  /* bits 18:0 = value >> 2: branches and calls */
    ASM_REL_IMM20,   /* bits 19:0 = value: setzi */
    ASM_REL_HI12,    /* bits 11:0 = value >> 20: or with a high immediate */
    ASM_REL_ABS19_S2 /* bits 18:0 = value >> 2, of data */
} AsmRelocType;

typedef struct AsmReloc {
    uint32_t offset; /* in the section */
    uint32_t symbol; /* index in AsmObject.symbols */
    int32_t addend;
    uint32_t line; /* index in AsmSection.lines of the statement, or UINT32_MAX */
    uint8_t type;  /* AsmRelocType */
} AsmReloc;

/* What was emitted by one statement. Bundles are one entry. */
typedef struct AsmLine {
    uint32_t offset, size; /* in the section */
    uint32_t file;         /* index in AsmObject.files */
    uint32_t line;         /* where the statement stands, in a macro body if it came from one */
    uint32_t call_file, call_line; /* of the outermost macro call, or as before */
    uint8_t mode;                  /* IsaMode at that point */
    bool code;                     /* an instruction or bundle, else data or padding */
} AsmLine;

typedef struct AsmSection {
    const char *name;
    unsigned flags; /* AsmSectionFlags */
    uint32_t align; /* power of two */
    uint32_t size;  /* bytes */
    uint8_t *bytes; /* NULL for ASM_NOBITS */
    AsmLine *lines; /* ascending offsets */
    size_t line_count;
    AsmReloc *relocs; /* ascending offsets */
    size_t reloc_count;
} AsmSection;

#define ASM_ABSOLUTE  (-1)
#define ASM_UNDEFINED (-2)

typedef struct AsmSymbol {
    const char *name;
    int32_t section; /* index, ASM_ABSOLUTE or ASM_UNDEFINED */
    int64_t value;   /* offset in the section, or the number */
    uint32_t size;   /* .size, 0 if none */
    bool global;
    bool function;   /* .type name, @function */
    bool is_section; /* stands for the section; relocations against local labels use it */
} AsmSymbol;

typedef struct AsmObject {
    Arena arena;
    const char *name; /* of the source */
    AsmSection *sections;
    size_t section_count;
    AsmSymbol *symbols; /* .L names and numeric labels are not among them */
    size_t symbol_count;
    const char **files;
    size_t file_count;
} AsmObject;

/* A number with a name: predefined symbols of a source, addresses for the linker. */
typedef struct AsmDefine {
    const char *name;
    int64_t value;
} AsmDefine;

/* The names that kernels of the public libraries take from the SDK's headers (standard.def). A
 * caller adds them to its own defines where it wants them. */
const AsmDefine *asm_standard_defines(size_t *count);

typedef struct AsmOptions {
    const AsmDefine *defines; /* as if .set stood before the first line */
    size_t define_count;
    /* `.include "name"`: the text and its size, alive until asm_assemble returns, or NULL. May be
     * NULL: then .include is an error. */
    const char *(*include)(void *context, const char *name, size_t *size);
    void *context;
} AsmOptions;

/* Assembles a text of `size` bytes; `name` is its file name in messages. `options` may be NULL.
 * Every error and warning goes to diag with file, line, column, the source line with a caret, and
 * the macro calls it came through. On failure *object is NULL. */
Status asm_assemble(const char *name, const char *text, size_t size, const AsmOptions *options,
                    AsmObject **object, Diag *diag);
void asm_object_free(AsmObject *object);
/* The symbol called `name`, or NULL. */
const AsmSymbol *asm_object_symbol(const AsmObject *object, const char *name);

/* ELF32 little-endian relocatable files. The bytes are mem_free'd by the caller. */
Status asm_elf_write(const AsmObject *object, uint8_t **bytes, size_t *size, Diag *diag);
Status asm_elf_read(const char *name, const uint8_t *bytes, size_t size, AsmObject **object,
                    Diag *diag);

/* A listing: offset, words, lane or bundle, slots, text, place; data as bytes. Lines of code carry
 * labels before them. mem_free'd by the caller; NULL without memory. */
char *asm_listing(const AsmObject *object);

/* The object as source text that assembles to the same bytes, relocations and symbols; offset and
 * words stand as comments. mem_free'd by the caller; NULL without memory. */
char *asm_source(const AsmObject *object);

/* ---- linking */

typedef struct AsmImageSymbol {
    const char *name;
    uint32_t address, size;
    uint32_t object; /* index of the object it comes from */
    bool global, function;
} AsmImageSymbol;

typedef struct AsmImageLine {
    uint32_t address, size;
    const char *file, *call_file;
    uint32_t line, call_line;
    uint8_t mode;
    bool code;
} AsmImageLine;

typedef struct AsmImage {
    Arena arena;
    uint32_t base, size; /* of bytes; size is a multiple of 4 */
    uint32_t code_size;  /* executable sections come first: [base, base + code_size) */
    uint8_t *bytes;
    AsmImageSymbol *symbols; /* defined symbols, sorted by address; absolute ones left out */
    size_t symbol_count;
    AsmImageLine *lines; /* sorted by address */
    size_t line_count;
} AsmImage;

/* Places the allocated sections of the objects one after another from `base` (a multiple of the
 * largest section alignment): executable ones first, each group in the order of the objects; and
 * resolves. Undefined symbols are looked up among the globals of the objects, then in `externs`.
 * Errors: undefined or doubly defined symbols, values that do not fit, code at or above 0x80000, an
 * end above tile memory. Image alignment padding is zero. Free with asm_image_free. */
Status asm_link(const AsmObject *const *objects, size_t count, uint32_t base,
                const AsmDefine *externs, size_t extern_count, AsmImage *image, Diag *diag);
void asm_image_free(AsmImage *image);
/* Bytes that asm_link would give from a base of alignment 16; needs no symbol to be defined. */
uint32_t asm_link_size(const AsmObject *const *objects, size_t count);
/* Address of a global symbol (then of a local one, if no global has that name); false if none. */
bool asm_image_symbol(const AsmImage *image, const char *name, uint32_t *address);
/* The line that holds `address`, or NULL. */
const AsmImageLine *asm_image_line(const AsmImage *image, uint32_t address);
