/* Exchange phases: what the rows of all tiles did between two barriers is delivered at once. */
#include "sim/internal.h"

#include <stdio.h>

/* ---- tile memory as the fabric sees it ------------------------------------------------------ */

static void read_memory(void *context, uint32_t tile, uint32_t address, void *bytes, size_t size) {
    const Machine *machine = context;
    memory_copy_out(&machine->tiles[tile], address, bytes, size);
}

static bool write_memory(void *context, uint32_t tile, uint32_t address, const void *bytes,
                         size_t size) {
    Machine *machine = context;
    return memory_copy_in(&machine->tiles[tile], address, bytes, size);
}

const char *phase_name(const Machine *machine, uint32_t phase, char text[32]) {
    if (phase < machine->phase_name_count)
        return machine->phase_names[phase];
    snprintf(text, 32, "exchange %u", phase);
    return text;
}

static FabricPhase fabric_phase(Machine *machine, char text[32]) {
    return (FabricPhase){.name = phase_name(machine, phase_number(machine), text),
                         .rows = machine->rows,
                         .tile_count = machine->tile_count,
                         .memory = {machine, read_memory, write_memory}};
}

/* ---- traps ---------------------------------------------------------------------------------- */

static Status keep_trap(Machine *machine) {
    const FabricTrap *trap = &machine->fabric_trap;
    const Supervisor *supervisor = &machine->tiles[trap->tile].supervisor;
    machine->trap = (MachineTrap){
        .code = trap->code,
        .class = trap->class,
        .tile = trap->tile,
        .context = SUPERVISOR,
        .pc = machine->rows[trap->tile].fetch_begin,
        .address = trap->address,
        .cycle = supervisor->row_start + (uint64_t)trap->event,
        .phase = phase_number(machine),
        .event = trap->event,
        .source = trap->source,
        .message = trap->message,
        .element = trap->element,
    };
    memcpy(machine->trap.text, trap->text, sizeof machine->trap.text);
    return trap->code;
}

Status phase_report(const Machine *machine, Diag *diag) {
    char text[32];
    FabricPhase phase = {.name = phase_name(machine, machine->trap.phase, text),
                         .rows = machine->rows,
                         .tile_count = machine->tile_count};
    return fabric_report(&phase, &machine->fabric_trap, diag);
}

/* ---- phases --------------------------------------------------------------------------------- */

bool phase_is_pending(const Machine *machine) {
    for (uint32_t i = 0; i < machine->tile_count; i++)
        if (machine->tiles[i].supervisor.wait == WAIT_ROW)
            return true;
    return false;
}

static bool acts(const FabricRow *row) {
    return row->active && (row->sends.count > 0 || row->controls.count > 0);
}

/* Rows that send or receive begin in the same cycle. */
static Status check_starts(Machine *machine) {
    const Tile *first = NULL;
    for (uint32_t i = 0; i < machine->tile_count; i++) {
        Tile *tile = &machine->tiles[i];
        if (!acts(&machine->rows[i]))
            continue;
        uint64_t start = tile->supervisor.row_start;
        if (!first)
            first = tile;
        if (start == first->supervisor.row_start)
            continue;
        Context *context = &tile->context[SUPERVISOR];
        context->current = NULL;
        context->current_address = machine->rows[i].fetch_begin;
        context->cycle = start;
        trap_raise(context, ERR_SIM_XCHG_START, 0,
                   "the row begins at cycle %llu, that of tile %u at cycle %llu",
                   (unsigned long long)start, first->index,
                   (unsigned long long)first->supervisor.row_start);
        tile->trap.phase = phase_number(machine);
        machine->trap = tile->trap;
        return ERR_SIM_XCHG_START;
    }
    return STATUS_OK;
}

static void go_on(Machine *machine) {
    for (uint32_t i = 0; i < machine->tile_count; i++) {
        Supervisor *supervisor = &machine->tiles[i].supervisor;
        if (supervisor->wait == WAIT_ROW)
            supervisor->wait = WAIT_NOTHING;
        machine->rows[i].active = false;
    }
}

Status phase_run(Machine *machine) {
    char text[32];
    Status status = check_starts(machine);
    if (status)
        return status;
    FabricPhase phase = fabric_phase(machine, text);
    if (fabric_run(&phase, &machine->fabric_trap) != STATUS_OK)
        return keep_trap(machine);
    memory_sweep(machine);
    go_on(machine);
    return STATUS_OK;
}
