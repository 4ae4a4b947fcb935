/* Timed instructions, one at a time: what they send, which controls they write, how long they take
 * (ipu-stack, EXCHANGE_INSTRUCTION_REFERENCE). */
#include "sim/fabric.h"

#include <assert.h>
#include <stdio.h>

#define SCTL_DIRECTIONS 3u
#define SCTL_PAIRED     4u

/* Source addresses have 18 bits, in items. */
#define ADDRESS_ITEMS (1u << 18)
#define MUX_BITS      13

void fabric_row_begin(FabricRow *row, uint32_t tile, uint32_t pc) {
    row->sends.count = row->controls.count = 0;
    row->event = 0;
    row->tile = tile;
    row->fetch_begin = row->fetch_end = pc;
    row->active = true;
    row->sending = false;
}

void fabric_row_end(FabricRow *row, uint32_t end) {
    row->fetch_end = end;
    row->sending = false;
}

void fabric_row_free(FabricRow *row) {
    vec_free(&row->sends);
    vec_free(&row->controls);
}

static Status refuse(const FabricRow *row, FabricTrap *trap, uint32_t pc, const char *text) {
    *trap = (FabricTrap){
        .code = ERR_SIM_XCHG_ROW,
        .class = TRAP_UNPREDICTABLE,
        .tile = row->tile,
        .event = row->event,
        .source = FABRIC_NONE,
        .message = FABRIC_NONE,
        .element = FABRIC_NONE,
        .address = pc,
    };
    snprintf(trap->text, sizeof trap->text, "%s", text);
    return trap->code;
}

/* The instruction in execution. */
typedef struct Issue {
    FabricRow *row;
    uint32_t pc;
    uint32_t events;
    FabricTrap *trap;
} Issue;

static Status out_of_memory(const Issue *issue) {
    refuse(issue->row, issue->trap, issue->pc, "no memory left on the host for a row's effects");
    return issue->trap->code = ERR_NO_MEMORY;
}

static Status control(const Issue *issue, FabricStream stream, uint32_t selector, uint32_t value,
                      uint32_t after) {
    FabricControl c = {issue->row->event + (int32_t)after, (uint8_t)stream, (uint8_t)selector,
                       value};
    return vec_push(&issue->row->controls, c) ? STATUS_OK : out_of_memory(issue);
}

static FabricSend *running(const FabricRow *row) {
    return row->sending ? row->sends.items + row->sends.count - 1 : NULL;
}

static uint32_t item_size(uint32_t sctl) {
    return sctl & SCTL_PAIRED ? 8 : 4;
}

static Status begin_message(const Issue *issue, uint32_t address, uint32_t sctl) {
    FabricSend send = {issue->row->event, issue->events, address, sctl};
    issue->row->sending = true;
    return vec_push(&issue->row->sends, send) ? STATUS_OK : out_of_memory(issue);
}

static Status send(const Issue *issue, uint32_t address, uint32_t sctl, bool may_continue) {
    FabricRow *row = issue->row;
    if (!(sctl & SCTL_DIRECTIONS)) { /* only waits */
        row->sending = false;
        return STATUS_OK;
    }
    if (address + issue->events > ADDRESS_ITEMS)
        return refuse(row, issue->trap, issue->pc, "a source address wraps");
    uint32_t bytes = row->outgoing_base + address * item_size(sctl);
    FabricSend *last = running(row);
    if (may_continue && last && last->sctl == sctl &&
        last->address + last->items * item_size(sctl) == bytes) {
        last->items += issue->events;
        return STATUS_OK;
    }
    return begin_message(issue, bytes, sctl);
}

static Status send_on(const Issue *issue, uint32_t delta, uint32_t sctl) {
    FabricSend *last = running(issue->row);
    if (!last || last->sctl != sctl)
        return refuse(issue->row, issue->trap, issue->pc, "sendoff continues no such stream");
    if (delta)
        return begin_message(issue, last->address + (last->items + delta) * item_size(sctl), sctl);
    last->items += issue->events;
    return STATUS_OK;
}

static Status send_with_control(const Issue *issue, uint32_t selector, uint32_t value) {
    FabricSend *last = running(issue->row);
    if (!last)
        return refuse(issue->row, issue->trap, issue->pc, "sendpic continues no stream");
    if (selector < 2 && value >> MUX_BITS)
        return refuse(issue->row, issue->trap, issue->pc, "a mux value does not fit");
    last->items += issue->events;
    return control(issue, selector < 2 ? FABRIC_XPIC : FABRIC_PIC, selector & 1, value, 1);
}

static Status send_with_both(const Issue *issue, const IsaInstr *instr) {
    const int32_t *o = instr->operand;
    if (issue->pc % 8 != 0)
        return refuse(issue->row, issue->trap, issue->pc, "sendpicp off an 8-byte boundary");
    Status status = control(issue, FABRIC_PIC, (uint32_t)o[3], (uint32_t)o[6], 1);
    if (status == STATUS_OK)
        status = control(issue, FABRIC_XPIC, (uint32_t)o[4], (uint32_t)o[5], 1);
    return status == STATUS_OK ? send(issue, (uint32_t)o[1], (uint32_t)o[2], true) : status;
}

static Status execute(const Issue *issue, const IsaInstr *instr) {
    const int32_t *o = instr->operand;
    uint32_t second = (uint32_t)o[1], third = (uint32_t)o[2];
    switch (instr->form) {
    case ISA_SEND: return send(issue, second, third, false);
    case ISA_SENDOFF: return send_on(issue, second, third);
    case ISA_SENDPIC: return send_with_control(issue, second, third);
    case ISA_SENDPICP: return send_with_both(issue, instr);
    default: break;
    }
    issue->row->sending = false;
    switch (instr->form) {
    case ISA_DELAY: return STATUS_OK;
    case ISA_DELAYPIC: return control(issue, FABRIC_PIC, second, third, issue->events);
    case ISA_DELAYXPIC: return control(issue, FABRIC_XPIC, second, third, issue->events);
    default: return refuse(issue->row, issue->trap, issue->pc, "no instruction of a row");
    }
}

Status fabric_row_issue(FabricRow *row, const IsaInstr *instr, uint32_t pc, FabricTrap *trap) {
    Issue issue = {row, pc, (uint32_t)instr->operand[0] + 1, trap};
    if (row->event > INT32_MAX / 2)
        return refuse(row, trap, pc, "a row of more than 2^30 events");
    Status status = execute(&issue, instr);
    if (status == STATUS_OK)
        row->event += (int32_t)issue.events;
    return status;
}
