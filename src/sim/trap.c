/* Traps: why a simulated program was stopped. */
#include "sim/internal.h"

#include <stdarg.h>
#include <stdio.h>

const char *trap_class_name(TrapClass class) {
    switch (class) {
    case TRAP_UNDEFINED: return "undefined";
    case TRAP_UNPREDICTABLE: return "unpredictable";
    case TRAP_ELEMENT_CONFLICT: return "element conflict";
    case TRAP_UNSUPPORTED: return "unsupported";
    case TRAP_ENDLESS: return "endless";
    case TRAP_UNINITIALISED: return "uninitialised read";
    case TRAP_RACE: return "race";
    case TRAP_OUTSIDE: return "outside the operands";
    case TRAP_NAN: return "NaN operand";
    }
    return "unknown";
}

static TrapClass trap_class(Status code) {
    switch ((int)code) {
    case ERR_SIM_CONFLICT: return TRAP_ELEMENT_CONFLICT;
    case ERR_SIM_UNSUPPORTED:
    case ERR_NO_MEMORY: return TRAP_UNSUPPORTED;
    case ERR_SIM_DEADLOCK:
    case ERR_SIM_BUDGET: return TRAP_ENDLESS;
    case ERR_SIM_UNWRITTEN: return TRAP_UNINITIALISED;
    case ERR_SIM_RACE:
    case ERR_SIM_RACE_SUPERVISOR: return TRAP_RACE;
    case ERR_SIM_OUTSIDE: return TRAP_OUTSIDE;
    case ERR_SIM_NAN: return TRAP_NAN;
    case ERR_SIM_XCHG_ROW:
    case ERR_SIM_XCHG_START:
    case ERR_SIM_WRITE_OVERLAP:
    case ERR_SIM_REPEAT: return TRAP_UNPREDICTABLE;
    default: return TRAP_UNDEFINED;
    }
}

void trap_raise(Context *context, Status code, uint32_t address, const char *format, ...) {
    Tile *tile = context->tile;
    tile->stop = true;
    /* The earliest stays: lockstep_run executes the halves of several workers' bundles in turn. */
    if (tile->trap.code != STATUS_OK && tile->trap.cycle <= context->cycle)
        return;
    tile->trap = (MachineTrap){
        .code = code,
        .class = trap_class(code),
        .tile = tile->index,
        .context = context->index,
        .pc = context_pc(context),
        .address = address,
        .cycle = context->cycle,
        .phase = MACHINE_NONE,
        .source = MACHINE_NONE,
        .message = MACHINE_NONE,
        .element = MACHINE_NONE,
        .writer = MACHINE_NONE,
        .writer_pc = MACHINE_NONE,
        .read_pc = MACHINE_NONE,
    };
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(tile->trap.text, sizeof tile->trap.text, format, arguments);
    va_end(arguments);
}

static void note_instruction(const Tile *tile, const MachineTrap *trap, Diag *diag) {
    if (trap->pc % 4 != 0 || !memory_holds(trap->pc, 4))
        return;
    uint32_t words[2] = {0};
    size_t count = memory_holds(trap->pc, 8) ? 2 : 1;
    memory_copy_out(tile, trap->pc, words, 4 * count);
    IsaMode mode = trap->context == SUPERVISOR ? ISA_SUPERVISOR : ISA_WORKER;
    IsaPacket packet;
    if (!isa_decode_packet(words, count, mode, &packet)) {
        diag_note(diag, "0x%05X holds 0x%08X", trap->pc, words[0]);
        return;
    }
    char text[2 * ISA_TEXT_SIZE];
    isa_disassemble_packet(&packet, mode, text);
    diag_note(diag, "0x%05X: %s", trap->pc, text);
}

/* ", gemm.S:41", or nothing where the source is not known. */
static const char *place_of(const Machine *machine, uint32_t tile, uint32_t pc,
                            char text[MACHINE_PLACE_SIZE + 4]) {
    char place[MACHINE_PLACE_SIZE];
    if (!machine->locate || !machine->locate(machine->locate_context, tile, pc, place))
        return "";
    snprintf(text, MACHINE_PLACE_SIZE + 4, ", %s", place);
    return text;
}

static const char *context_name(uint32_t context) {
    static const char *const names[] = {"worker 0", "worker 1", "worker 2",  "worker 3",
                                        "worker 4", "worker 5", "supervisor"};
    return names[context];
}

static void note_writer(const Machine *machine, const MachineTrap *trap, Diag *diag) {
    char place[MACHINE_PLACE_SIZE + 4];
    if (trap->read_pc != MACHINE_NONE)
        diag_note(diag, "the value was read at pc 0x%05X%s", trap->read_pc,
                  place_of(machine, trap->tile, trap->read_pc, place));
    if (trap->writer == MACHINE_NONE) {
        if (trap->address && trap->class >= TRAP_UNINITIALISED)
            diag_note(diag, "nothing has written to 0x%05X", trap->address);
        return;
    }
    if (trap->writer == MACHINE_HOST) {
        diag_note(diag, "the last to write to 0x%05X was the host", trap->address);
        return;
    }
    if (trap->writer == MACHINE_EXCHANGE) {
        diag_note(diag, "the last to write to 0x%05X was an exchange, from tile %u", trap->address,
                  trap->writer_pc);
        return;
    }
    diag_note(diag, "the last to write to 0x%05X was %s at pc 0x%05X%s", trap->address,
              context_name(trap->writer), trap->writer_pc,
              place_of(machine, trap->tile, trap->writer_pc, place));
}

Status trap_report(const Machine *machine, const MachineTrap *trap, Diag *diag) {
    if (!diag)
        return trap->code;
    if (machine->fabric_trap.code != STATUS_OK)
        return phase_report(machine, diag);
    char phase[32];
    DiagPlace place = {.tile = (int32_t)trap->tile};
    if (trap->phase != MACHINE_NONE)
        place.object = phase_name(machine, trap->phase, phase);
    diag_error(diag, trap->code, place, "%s at pc 0x%05X, cycle %llu: %s",
               context_name(trap->context), trap->pc, (unsigned long long)trap->cycle, trap->text);
    char place_text[MACHINE_PLACE_SIZE];
    if (machine->locate &&
        machine->locate(machine->locate_context, trap->tile, trap->pc, place_text))
        diag_note(diag, "0x%05X is in %s", trap->pc, place_text);
    note_instruction(&machine->tiles[trap->tile], trap, diag);
    note_writer(machine, trap, diag);
    diag_note(diag, "trap class: %s", trap_class_name(trap->class));
    return trap->code;
}
