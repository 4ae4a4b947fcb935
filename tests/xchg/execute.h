/* Decodes the words of a row as the chip would and records what they do, for the fabric of the
 * simulator; for tests and bench/bench_exchange.c. */
#pragma once

#include "sim/fabric.h"
#include "xchg/xchg.h"

#define ROW_RETURN_REGISTER 10

/* Executes one row whose words stand at `address`. A branch through another register than the
 * return address would lead elsewhere; a row without end gives ERR_SIM_WORD. */
static inline Status execute_row(FabricRow *result, const XchgRow *row, const uint32_t *words,
                                 uint32_t address, FabricTrap *trap) {
    fabric_row_begin(result, row->tile, address);
    result->incoming_base = result->outgoing_base = 0;
    for (uint32_t i = 0; i < row->word_count;) {
        IsaInstr instr;
        unsigned size = isa_decode(words + i, row->word_count - i, &instr);
        uint32_t pc = address + 4 * i;
        if (size > 0 && instr.form == ISA_BR && instr.operand[0] == ROW_RETURN_REGISTER) {
            fabric_row_end(result, pc + 4);
            return STATUS_OK;
        }
        if (size == 0)
            instr = (IsaInstr){.form = ISA_INVALID};
        Status status = fabric_row_issue(result, &instr, pc, trap);
        if (status != STATUS_OK)
            return status;
        i += size / 4;
    }
    fabric_row_end(result, address + 4 * row->word_count);
    return trap->code = ERR_SIM_WORD;
}
