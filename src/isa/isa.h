/* The instruction table of the IPU21 tile: one form a line in isa.def, expanded here, in the
 * encoder and decoder, in the assembler, in the simulator and in the manual (`tilework isa`).
 *
 * A *form* is a mnemonic with one list of operand kinds ("add d:m s:m t:m" and "add d:m s:m i:i16"
 * are two forms). Its enumerator is ISA_<id>. A decoded instruction is its form plus one number an
 * operand, in the order of the form's list: register numbers (first register of a pair or quad),
 * immediates with their meaning restored (sign extended, hi12 already shifted, branch and call
 * targets as byte addresses).
 *
 * Words: a single instruction is 4 bytes. A worker bundle is 8 bytes, the main instruction with
 * bit 31 set, then the aux instruction. Encodings that public material gives are REAL, the others
 * are OURS and never collide with a real one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef enum IsaForm {
    ISA_INVALID = 0,
#define FORM(id, ...) ISA_##id,
#include "isa/isa.def"
#undef FORM
    ISA_FORM_COUNT
} IsaForm;

#define ISA_MAX_OPERANDS 6
#define ISA_BUNDLE_BIT   0x80000000u

typedef struct IsaInstr {
    uint16_t form; /* IsaForm */
    int32_t operand[ISA_MAX_OPERANDS];
} IsaInstr;
