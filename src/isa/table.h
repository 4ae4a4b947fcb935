/* Inside isa: the rows of isa.def with their encodings parsed. */
#pragma once

#include "isa/isa.h"

#define ISA_MAX_FIELDS 8

typedef struct IsaField {
    uint8_t operand;
    uint8_t lowest; /* bit of the 64-bit pair of words */
    uint8_t width;
    uint8_t shift; /* the field holds operand >> shift */
} IsaField;

typedef struct IsaRow {
    IsaFormInfo info;
    uint64_t value; /* fixed bits */
    uint64_t mask;  /* bits that no field covers; all must equal `value` */
    IsaField field[ISA_MAX_FIELDS];
    unsigned field_count;
    uint16_t next; /* next form of the same mnemonic, ISA_INVALID ends */
} IsaRow;

/* All rows, parsed at the first call from any thread; index = IsaForm. */
const IsaRow *isa_rows(void);
/* The form of a word with bit 31 as it stands in memory, or ISA_INVALID. Operand values are not
 * looked at. */
IsaForm isa_lookup_word(uint32_t word);
