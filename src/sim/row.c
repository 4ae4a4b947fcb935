/* Exchange rows on the supervisor. After a barrier of all tiles a tile may execute one row: timed
 * instructions up to a branch, one event a cycle. What the row does to other tiles is worked out by
 * the fabric (fabric.h) when all tiles have reached the ends of their rows; the tile pauses there.
 *
 * A row begins where the tile's call leads to, if that is code of a row, or with the first timed
 * instruction after the barrier. Inside, only timed instructions, setzi, base registers and the
 * return may stand (ipu-stack, EXCHANGE_INSTRUCTION_REFERENCE). */
#include "sim/shadow.h"

#include <assert.h>

/* Instructions of a row that may precede the first timed one. */
#define PROLOGUE 8

typedef struct Execution {
    Context *context;
    FabricRow *row;
    uint64_t start; /* cycle of event 0 */
    uint32_t pc;
} Execution;

static bool is_timed(const IsaInstr *instr) {
    switch (instr->form) {
    case ISA_DELAY:
    case ISA_DELAYPIC:
    case ISA_DELAYXPIC:
    case ISA_SEND:
    case ISA_SENDOFF:
    case ISA_SENDPIC:
    case ISA_SENDPICP: return true;
    default: return false;
    }
}

static bool is_base(const IsaInstr *instr) {
    return instr->form == ISA_PUT && (instr->operand[0] == CHIP_CSR_S_INCOMING_BASE ||
                                      instr->operand[0] == CHIP_CSR_S_OUTGOING_BASE);
}

/* Size of the instruction at `pc`, 0 if there is none. */
static unsigned fetch(const Tile *tile, uint32_t pc, IsaInstr *instr) {
    uint32_t words[2] = {0};
    if (pc % 4 != 0 || pc < CHIP_TILE_MEM_BASE || pc >= CHIP_REGION1_BASE)
        return 0;
    memcpy(&words[0], memory_at(tile, pc), 4);
    memcpy(&words[1], memory_at(tile, pc + 4), 4);
    return isa_decode(words, 2, instr);
}

/* Does code of a row begin here? */
static bool row_at(const Tile *tile, uint32_t pc) {
    for (uint32_t i = 0; i < PROLOGUE; i++) {
        IsaInstr instr;
        unsigned size = fetch(tile, pc, &instr);
        if (size == 0)
            return false;
        if (is_timed(&instr) || is_base(&instr))
            return true;
        if (instr.form == ISA_BR)
            return i == 0;
        if (instr.form != ISA_SETZI)
            return false;
        pc += size;
    }
    return false;
}

/* ---- traps ---------------------------------------------------------------------------------- */

/* Places the context at the row's present instruction. */
static void stand(const Execution *e) {
    e->context->current = NULL;
    e->context->current_address = e->pc;
    e->context->cycle = e->start + (uint64_t)e->row->event;
}

__attribute__((format(printf, 3, 4))) static bool refuse(const Execution *e, Status code,
                                                         const char *format, ...) {
    char text[120];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    stand(e);
    Tile *tile = e->context->tile;
    trap_raise(e->context, code, 0, "event %d of a row: %s", e->row->event, text);
    tile->trap.phase = phase_number(tile->machine);
    tile->trap.event = e->row->event;
    return false;
}

/* ---- instructions --------------------------------------------------------------------------- */

static bool timed(const Execution *e, const IsaInstr *instr) {
    FabricTrap trap;
    if (fabric_row_issue(e->row, instr, e->pc, &trap) == STATUS_OK)
        return true;
    return refuse(e, trap.code, "%s", trap.text);
}

static void set_zero_extended(const Execution *e, const IsaInstr *instr) {
    if (instr->operand[0] < 12)
        e->context->m[instr->operand[0]] = (uint32_t)instr->operand[1];
    if (e->context->tile->shadow)
        shadow_define_main(e->context, (unsigned)instr->operand[0]);
    e->row->event++;
    e->row->sending = false;
}

static bool put_base(const Execution *e, const IsaInstr *instr) {
    Supervisor *s = &e->context->tile->supervisor;
    FabricRow *row = e->row;
    uint32_t number = (uint32_t)instr->operand[0], value = e->context->m[instr->operand[1]];
    uint32_t *base = &s->exchange[number - CHIP_CSR_S_INCOMING_MUX];
    uint32_t moved = value - *base;
    if (value % 4 != 0)
        return refuse(e, ERR_SIM_OPERAND, "a base of 0x%X, no multiple of 4", value);
    *base = value;
    row->event += CHIP_EXCHANGE_BASE_PUT_EVENTS;
    row->sending = false;
    if (number == CHIP_CSR_S_OUTGOING_BASE) {
        row->outgoing_base = value;
        return true;
    }
    FabricControl control = {row->event, FABRIC_PIC, FABRIC_PIC_BASE, moved};
    return vec_push(&row->controls, control) ||
           refuse(e, ERR_NO_MEMORY, "no memory left on the host for a row's effects");
}

/* One instruction; *done at the return. */
static bool step(Execution *e, bool *done) {
    Tile *tile = e->context->tile;
    IsaInstr instr;
    unsigned size = fetch(tile, e->pc, &instr);
    if (size == 0)
        return refuse(e, ERR_SIM_XCHG_ROW, "no instruction can be fetched from 0x%05X", e->pc);
    if (e->start + (uint64_t)e->row->event >= tile->budget_end)
        return refuse(e, ERR_SIM_BUDGET, "ran for %llu cycles without reaching a barrier",
                      (unsigned long long)tile->machine->options.cycle_budget);
    tile->counters.supervisor++;
    *done = instr.form == ISA_BR;
    bool good = true;
    if (is_timed(&instr))
        good = timed(e, &instr);
    else if (instr.form == ISA_SETZI)
        set_zero_extended(e, &instr);
    else if (is_base(&instr))
        good = put_base(e, &instr);
    else if (*done)
        context_jump(e->context, e->context->m[instr.operand[0]]);
    else
        good = refuse(e, ERR_SIM_XCHG_ROW, "no instruction of a row");
    e->pc += good && !*done ? size : 0;
    return good;
}

/* Receive registers that the program set before the row act from its first event on. */
static bool take_registers(const Execution *e) {
    static const struct {
        uint32_t number, rest;
        FabricStream stream;
        uint8_t selector;
    } registers[] = {{CHIP_CSR_S_INCOMING_MUX, CHIP_MUX_NEUTRAL, FABRIC_XPIC, 0},
                     {CHIP_CSR_S_INCOMING_MUXPAIR, CHIP_MUX_NEUTRAL, FABRIC_XPIC, 1},
                     {CHIP_CSR_S_INCOMING_FORMAT, 0, FABRIC_PIC, 1}};
    const uint32_t *exchange = e->context->tile->supervisor.exchange;
    FabricRow *row = e->row;
    row->incoming_base = exchange[CHIP_CSR_S_INCOMING_BASE - CHIP_CSR_S_INCOMING_MUX];
    row->outgoing_base = exchange[CHIP_CSR_S_OUTGOING_BASE - CHIP_CSR_S_INCOMING_MUX];
    for (size_t i = 0; i < COUNT_OF(registers); i++) {
        uint32_t value = exchange[registers[i].number - CHIP_CSR_S_INCOMING_MUX];
        FabricControl control = {0, (uint8_t)registers[i].stream, registers[i].selector, value};
        if (value != registers[i].rest && !vec_push(&row->controls, control))
            return refuse(e, ERR_NO_MEMORY, "no memory left on the host for a row's effects");
    }
    return true;
}

/* And keep what the row wrote last. */
static void keep_registers(const Execution *e) {
    uint32_t *exchange = e->context->tile->supervisor.exchange;
    for (size_t i = 0; i < e->row->controls.count; i++) {
        const FabricControl *c = e->row->controls.items + i;
        if (c->stream == FABRIC_XPIC)
            exchange[c->selector] = c->value; /* INCOMING_MUX, INCOMING_MUXPAIR */
        else if (c->selector == 1)
            exchange[CHIP_CSR_S_INCOMING_FORMAT - CHIP_CSR_S_INCOMING_MUX] = c->value;
    }
}

/* The row at `pc`, whose event 0 is at cycle `start`. */
static void run_row(Context *context, uint32_t pc, uint64_t start) {
    Tile *tile = context->tile;
    Supervisor *s = &tile->supervisor;
    Execution e = {context, &tile->machine->rows[tile->index], start, pc};
    fabric_row_begin(e.row, tile->index, pc);
    e.row->workers = tile->active != 0;
    s->phase_open = false;
    bool done = false;
    if (!take_registers(&e))
        return;
    while (!done)
        if (!step(&e, &done))
            return;
    stand(&e);
    tile_event(tile, context->cycle, EVENT_RETURN, context_next_pc(context));
    fabric_row_end(e.row, e.pc + 4);
    keep_registers(&e);
    s->wait = WAIT_ROW;
    s->row_start = start;
    s->next = context->cycle + context->tile->machine->options.timing.taken_branch;
}

void row_called(Context *context, uint32_t target) {
    const Tile *tile = context->tile;
    if (tile->supervisor.phase_open && row_at(tile, target))
        run_row(context, target,
                context->cycle + context->tile->machine->options.timing.taken_branch);
}

void row_entered(Context *context) {
    Tile *tile = context->tile;
    uint32_t pc = context_pc(context);
    if (!tile->supervisor.phase_open) {
        trap_raise(context, ERR_SIM_XCHG_ROW, 0,
                   "a timed instruction outside the row that follows a barrier of all tiles");
        return;
    }
    tile->counters.supervisor--; /* counted again in the row */
    run_row(context, pc, context->cycle);
}
