/* The instruction table of the IPU21 tile: one form a line in isa.def, expanded here, in the
 * encoder and decoder, in the assembler, in the simulator and in the manual (`tilework isa`).
 *
 * A *form* is a mnemonic with one list of operand kinds ("add d:m s:m t:m" and "add d:m s:m i:i16"
 * are two forms). Its enumerator is ISA_<id>. A decoded instruction is its form plus one number an
 * operand, in the order of the form's list: register numbers (first register of a pair or quad),
 * immediates with their meaning restored (sign extended, hi12 already shifted, branch and call
 * targets as byte addresses).
 *
 * Words: a single instruction is 4 bytes (sendpicp: 8). A worker bundle is 8 bytes, the main
 * instruction with bit 31 set, then the aux instruction. Encodings that public material gives are
 * REAL, the others are OURS and never collide with a real one.
 */
#pragma once

#include "chip/chip.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum IsaForm {
    ISA_INVALID = 0,
#define FORM(id, ...) ISA_##id,
#include "isa/isa.def"
#undef FORM
    ISA_FORM_COUNT
} IsaForm;

#define ISA_MAX_OPERANDS 7
#define ISA_BUNDLE_BIT   0x80000000u

typedef struct IsaInstr {
    uint16_t form; /* IsaForm */
    int32_t operand[ISA_MAX_OPERANDS];
} IsaInstr;

typedef enum IsaLane { ISA_LANE_MAIN, ISA_LANE_AUX } IsaLane;

/* In which context an instruction may run; also the state of the assembler (BOTH: not known). */
typedef enum IsaMode { ISA_SUPERVISOR = 1, ISA_WORKER = 2, ISA_BOTH = 3 } IsaMode;

typedef enum IsaFlags {
    ISA_F_CONTROL = 1 << 0, /* changes the flow; not in a repeat body */
    ISA_F_BRANCH = 1 << 1,  /* br, bri, call, br?? */
    ISA_F_SYSTEM = 1 << 2,  /* control registers, run, sync, trap, exchange; not in a repeat body */
    ISA_F_EXIT = 1 << 3,    /* ends the worker */
    ISA_F_REPEAT = 1 << 4,  /* rpt */
    ISA_F_LOAD = 1 << 5,    /* reads tile memory */
    ISA_F_STORE = 1 << 6,   /* writes tile memory */
    ISA_F_MULTI = 1 << 7,   /* several accesses in one cycle: same-element rule */
    ISA_F_AACC = 1 << 8,    /* reads or writes the accumulators */
    ISA_F_AMP = 1 << 9,     /* AMP and SLIC: reads the common weights */
    ISA_F_EXCHANGE = 1 << 10 /* timed instruction of an exchange row */
} IsaFlags;

typedef enum IsaEncoding { ISA_REAL, ISA_VECTOR, ISA_OURS } IsaEncoding;

/* Operand kinds; the comment is the token in isa.def. */
typedef enum IsaKind {
    ISA_KIND_M,        /* m */
    ISA_KIND_MZ,       /* mz: may be left out, then $mzero */
    ISA_KIND_A,        /* a */
    ISA_KIND_M2,       /* m2 */
    ISA_KIND_A2,       /* a2 */
    ISA_KIND_A4,       /* a4 */
    ISA_KIND_AB,       /* aB */
    ISA_KIND_ABL,      /* aBL */
    ISA_KIND_ABU,      /* aBU */
    ISA_KIND_M_INC,    /* m+= */
    ISA_KIND_M2_INC,   /* m2+= */
    ISA_KIND_M_PP,     /* m++ */
    ISA_KIND_M_AT,     /* m@ */
    ISA_KIND_M_SHR,    /* m>> */
    ISA_KIND_UNSIGNED, /* uN */
    ISA_KIND_SIGNED,   /* iN */
    ISA_KIND_EVEN,     /* eN */
    ISA_KIND_HI12,     /* hi12 */
    ISA_KIND_TARGET,   /* target */
    ISA_KIND_CSR,      /* csr */
    ISA_KIND_UCSR      /* ucsr */
} IsaKind;

typedef struct IsaOperand {
    char name[8];
    uint8_t kind; /* IsaKind */
    uint8_t bits; /* width of an immediate as written: u12 -> 12 */
    bool read, written;
} IsaOperand;

typedef struct IsaFormInfo {
    const char *id;       /* "ADD_I16" */
    const char *mnemonic; /* "add" */
    const char *operands; /* the text of isa.def */
    const char *encoding; /* the text of isa.def */
    const char *effect;   /* the manual */
    IsaLane lane;
    IsaMode modes;
    unsigned slots; /* issue slots of a worker, 1..6 */
    unsigned flags; /* IsaFlags */
    IsaEncoding encoding_class;
    ChipEvidence evidence; /* of the effect */
    unsigned operand_count;
    IsaOperand operand[ISA_MAX_OPERANDS];
    unsigned size; /* bytes of a single instruction: 4, or 8 for sendpicp */
} IsaFormInfo;

/* The row of a form, ISA_INVALID excluded. */
const IsaFormInfo *isa_form_info(IsaForm form);

/* All forms of a mnemonic in table order: they are neighbours neither in the table nor in number.
 * Call with ISA_INVALID first, then with the last result; ISA_INVALID ends. */
IsaForm isa_form_next(const char *mnemonic, IsaForm last);
/* Does the form's id end with "_" and the suffix, capitals aside? `add.i16` names ADD_I16: so the
 * disassembler tells apart forms that could hold the same operands. */
bool isa_form_has_suffix(IsaForm form, const char *suffix, size_t length);

/* The name of the test that executes the instruction and checks values and slots (tested.def), or
 * NULL. */
const char *isa_tested_by(const char *mnemonic);

/* Is `value` one that the operand can hold: a register of the right alignment, an immediate in
 * range? Register operands are 0..15. */
bool isa_operand_valid(const IsaOperand *operand, int64_t value);
/* The least and the greatest value of an immediate operand. */
void isa_operand_range(const IsaOperand *operand, int64_t *least, int64_t *greatest);
/* Is it a register (of either file)? Of the arithmetic file? How many registers: 0, 1, 2 or 4. */
unsigned isa_operand_registers(const IsaOperand *operand, bool *arithmetic);

/* Encodes one instruction as a single one (bit 31 as the form has it) into words[0], and words[1]
 * for sendpicp. All operands must be valid (asserted). Returns its size in bytes. */
unsigned isa_encode(const IsaInstr *instr, uint32_t words[2]);
/* Encodes a bundle; main and aux must be of those lanes. */
void isa_encode_bundle(const IsaInstr *main_half, const IsaInstr *aux_half, uint32_t words[2]);

/* Decodes one single instruction; words[1] is read only if the form has 8 bytes. Returns its size,
 * or 0 (and form = ISA_INVALID) for a word that no form covers, down to the last bit. */
unsigned isa_decode(const uint32_t *words, size_t count, IsaInstr *instr);

/* One issue: a single instruction of either lane, or a bundle. The absent half is ISA_INVALID. */
typedef struct IsaPacket {
    IsaInstr main, aux;
    uint8_t size;  /* bytes: 4 or 8; 0 = not an instruction */
    uint8_t slots; /* issue slots of a worker: the longer half's */
} IsaPacket;

/* Decodes what a context in `mode` (SUPERVISOR or WORKER) would issue at words[0]; `count` words
 * are readable. False if it is no instruction of that mode. */
bool isa_decode_packet(const uint32_t *words, size_t count, IsaMode mode, IsaPacket *packet);

/* The text of one instruction; it assembles back to the same words. `mode` names control registers
 * (BOTH: they stay numbers). Always ends with a 0; returns the length. */
#define ISA_TEXT_SIZE 128
size_t isa_disassemble(const IsaInstr *instr, IsaMode mode, char text[ISA_TEXT_SIZE]);
/* The same with `address` in place of the number that a relocation completes: the operand that is a
 * target, 20 bits or a multiple of 2^20. NULL: none. */
size_t isa_disassemble_address(const IsaInstr *instr, IsaMode mode, const char *address, char *text,
                               size_t size);
/* The same for a packet: "{ld32 …; fnop}" for a bundle. */
size_t isa_disassemble_packet(const IsaPacket *packet, IsaMode mode, char text[2 * ISA_TEXT_SIZE]);
