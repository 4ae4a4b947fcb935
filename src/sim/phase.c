/* Exchange phases: what the rows of all tiles did between two barriers is delivered at once.
 *
 * Nothing in a phase but the bytes that move depends on memory. A phase whose rows do the same as
 * those of one that was played and broke no rule is therefore only copied. */
#include "sim/shadow.h"

#include <stdio.h>
#define XXH_STATIC_LINKING_ONLY /* for the size of the state */
#include <xxhash.h>

/* Phases that are remembered. */
#define PLAYED_PHASES 64

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
        .writer = MACHINE_NONE,
        .writer_pc = MACHINE_NONE,
        .read_pc = MACHINE_NONE,
    };
    memcpy(machine->trap.text, trap->text, sizeof machine->trap.text);
    return trap->code;
}

static Status no_memory(Machine *machine) {
    trap_raise(&machine->tiles[0].context[SUPERVISOR], ERR_NO_MEMORY, 0,
               "no memory left on the host for an exchange");
    machine->trap = machine->tiles[0].trap;
    return ERR_NO_MEMORY;
}

Status phase_report(const Machine *machine, Diag *diag) {
    char text[32];
    FabricPhase phase = {.name = phase_name(machine, machine->trap.phase, text),
                         .rows = machine->rows,
                         .tile_count = machine->tile_count};
    return fabric_report(&phase, &machine->fabric_trap, diag);
}

/* ---- phases that were played ---------------------------------------------------------------- */

/* All that a row does, without the padding of its structures. */
static void hash_row(XXH3_state_t *state, const FabricRow *row) {
    const uint32_t head[] = {row->active,
                             row->workers,
                             (uint32_t)row->event,
                             row->incoming_base,
                             row->outgoing_base,
                             row->fetch_begin,
                             row->fetch_end,
                             (uint32_t)row->sends.count,
                             (uint32_t)row->controls.count};
    XXH3_128bits_update(state, head, sizeof head);
    if (row->sends.count > 0)
        XXH3_128bits_update(state, row->sends.items, row->sends.count * sizeof *row->sends.items);
    for (size_t i = 0; i < row->controls.count; i++) {
        const FabricControl *c = &row->controls.items[i];
        const uint32_t words[] = {(uint32_t)c->event, c->stream, c->selector, c->value};
        XXH3_128bits_update(state, words, sizeof words);
    }
}

static XXH128_hash_t hash_rows(const Machine *machine) {
    static const FabricRow idle;
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_128bits_reset(&state);
    for (uint32_t i = 0; i < machine->tile_count; i++)
        hash_row(&state, machine->rows[i].active ? &machine->rows[i] : &idle);
    return XXH3_128bits_digest(&state);
}

static const PlayedPhase *find_played(const Machine *machine, XXH128_hash_t key) {
    for (size_t i = 0; i < machine->played.count; i++)
        if (machine->played.items[i].key[0] == key.low64 &&
            machine->played.items[i].key[1] == key.high64)
            return &machine->played.items[i];
    return NULL;
}

static bool carry_out(Machine *machine, const FabricCopies *copies) {
    for (size_t i = 0; i < copies->count; i++) {
        const FabricCopy *copy = &copies->items[i];
        if (!memory_move(&machine->tiles[copy->dest], copy->to, &machine->tiles[copy->source],
                         copy->from, copy->bytes))
            return false;
    }
    return true;
}

/* The same copies for the checks. */
static bool carry_out_shadow(Machine *machine, const FabricCopies *copies) {
    for (size_t i = 0; i < copies->count && machine->options.checks; i++) {
        const FabricCopy *copy = &copies->items[i];
        if (!shadow_moved(&machine->tiles[copy->dest], copy->to, &machine->tiles[copy->source],
                          copy->from, copy->bytes))
            return false;
    }
    return true;
}

/* Plays the phase, and remembers what it moved. */
static Status play(Machine *machine, XXH128_hash_t key) {
    char text[32];
    FabricPhase phase = fabric_phase(machine, text);
    PlayedPhase played = {.key = {key.low64, key.high64}};
    Status status = fabric_record(&phase, &played.copies, &machine->fabric_trap);
    if (status == STATUS_OK && !carry_out_shadow(machine, &played.copies)) {
        machine->fabric_trap.code = status = ERR_NO_MEMORY;
        snprintf(machine->fabric_trap.text, sizeof machine->fabric_trap.text,
                 "no memory left on the host for checks");
    }
    if (status != STATUS_OK || machine->played.count == PLAYED_PHASES ||
        !vec_push(&machine->played, played))
        vec_free(&played.copies);
    return status;
}

void phase_forget(Machine *machine) {
    for (size_t i = 0; i < machine->played.count; i++)
        vec_free(&machine->played.items[i].copies);
    vec_free(&machine->played);
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
    Status status = check_starts(machine);
    if (status)
        return status;
    XXH128_hash_t key = hash_rows(machine);
    const PlayedPhase *played = machine->options.play_exchange ? NULL : find_played(machine, key);
    if (!played && play(machine, key) != STATUS_OK)
        return keep_trap(machine);
    if (played &&
        !(carry_out(machine, &played->copies) && carry_out_shadow(machine, &played->copies)))
        return no_memory(machine);
    memory_sweep(machine);
    go_on(machine);
    return STATUS_OK;
}
