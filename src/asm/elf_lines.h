/* Inside asm: the parts of our ELF files that the ELF standard leaves to us.
 *
 * e_machine is EM_NONE: the number that the vendor's tools use is not public. Relocation types are
 * AsmRelocType. Section ".tilework.lines": u32 version, u32 number of files; the name of the source
 * and of each file, each with a final 0, padded to 4 bytes; then for each section of the object, in
 * order, u32 count and that many ElfLine. */
#pragma once

#include "asm/asm.h"

#include <elf.h>

#define ELF_MACHINE       EM_NONE
#define ELF_LINES_NAME    ".tilework.lines"
#define ELF_LINES_VERSION 1

typedef struct ElfLine {
    uint32_t offset, size, file, line, call_file, call_line, mode, code;
} ElfLine;
