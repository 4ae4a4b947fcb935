/* The whole chip: tiles run one after the other, each to its next barrier of all tiles, then the
 * barrier is resolved. */
#include "sim/shadow.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static void set_defaults(MachineOptions *options) {
    if (options->cycle_budget == 0)
        options->cycle_budget = MACHINE_CYCLE_BUDGET;
    if (options->checks == 0 && getenv("TILEWORK_CHECK"))
        options->checks = MACHINE_CHECK_ALL;
    if (options->issued || options->checks || options->amp_aligned33)
        options->plain = true;
    MachineTiming *timing = &options->timing;
    if (timing->runall_latency == 0)
        timing->runall_latency = CHIP_RUNALL_LATENCY;
    if (timing->taken_branch == 0)
        timing->taken_branch = CHIP_SUP_TAKEN_BRANCH;
    if (timing->exit_to_resume == 0)
        timing->exit_to_resume = CHIP_EXIT_TO_RESUME;
    if (timing->sync_internal_cycles == 0)
        timing->sync_internal_cycles = CHIP_SYNC_INTERNAL_CYCLES;
}

Machine *machine_create(uint32_t tiles, Pool *pool, const MachineOptions *options) {
    assert(tiles >= 1 && tiles <= CHIP_TILES);
    Machine *machine = mem_alloc(1, sizeof *machine);
    if (!machine)
        return NULL;
    pthread_mutex_init(&machine->mutex, NULL);
    machine->pool = pool;
    if (options)
        machine->options = *options;
    set_defaults(&machine->options);
    machine->tiles = mem_alloc(tiles, sizeof *machine->tiles);
    machine->rows = mem_alloc(tiles, sizeof *machine->rows);
    if (!machine->tiles || !machine->rows || memory_init(machine) != STATUS_OK) {
        machine_free(machine);
        return NULL;
    }
    machine->tile_count = tiles;
    for (uint32_t i = 0; i < tiles; i++) {
        machine->tiles[i].index = i;
        memory_init_tile(machine, &machine->tiles[i]);
        if (machine->options.checks && !(machine->tiles[i].shadow = shadow_create())) {
            machine_free(machine);
            return NULL;
        }
    }
    return machine;
}

void machine_free(Machine *machine) {
    if (!machine)
        return;
    for (uint32_t i = 0; i < machine->tile_count; i++) {
        memory_free_tile(&machine->tiles[i]);
        shadow_free(machine->tiles[i].shadow);
        mem_free(machine->tiles[i].prepared_block);
        vec_free(&machine->tiles[i].timeline);
    }
    for (uint32_t i = 0; i < machine->tile_count; i++)
        fabric_row_free(&machine->rows[i]);
    phase_forget(machine);
    memory_free(machine);
    mem_free(machine->rows);
    mem_free(machine->tiles);
    pthread_mutex_destroy(&machine->mutex);
    mem_free(machine);
}

uint32_t machine_tiles(const Machine *machine) {
    return machine->tile_count;
}

/* Host access ----------------------------------------------------------------------------------*/

static Status check_range(const Machine *machine, uint32_t tile, uint32_t address, size_t size,
                          Diag *diag) {
    if (tile < machine->tile_count && memory_holds(address, size))
        return STATUS_OK;
    DiagPlace place = {.tile = (int32_t)tile};
    return diag_error(diag, ERR_SIM_HOST_ACCESS, place,
                      "the host addresses %zu bytes at 0x%05X; there are tiles 0..%u with memory "
                      "0x%05X..0x%05X",
                      size, address, machine->tile_count - 1, CHIP_TILE_MEM_BASE,
                      CHIP_TILE_MEM_END - 1);
}

static Status no_memory(uint32_t tile, Diag *diag) {
    DiagPlace place = {.tile = (int32_t)tile};
    return diag_error(diag, ERR_NO_MEMORY, place, "no memory left on the host for tile memory");
}

/* The host wrote a range. */
static bool note_host(Machine *machine, uint32_t tile, uint32_t address, size_t size) {
    Tile *t = &machine->tiles[tile];
    return !t->shadow || shadow_written(t, address, size, writer_of(MACHINE_HOST, 0));
}

Status machine_load(Machine *machine, uint32_t tile, uint32_t address, const void *bytes,
                    size_t size, Diag *diag) {
    Status status = check_range(machine, tile, address, size, diag);
    if (status == STATUS_OK && !(memory_load(&machine->tiles[tile], address, bytes, size) &&
                                 note_host(machine, tile, address, size)))
        status = no_memory(tile, diag);
    return status;
}

Status machine_read(const Machine *machine, uint32_t tile, uint32_t address, void *bytes,
                    size_t size, Diag *diag) {
    Status status = check_range(machine, tile, address, size, diag);
    if (status == STATUS_OK)
        memory_copy_out(&machine->tiles[tile], address, bytes, size);
    return status;
}

Status machine_write(Machine *machine, uint32_t tile, uint32_t address, const void *bytes,
                     size_t size, Diag *diag) {
    Status status = check_range(machine, tile, address, size, diag);
    if (status == STATUS_OK && !(memory_copy_in(&machine->tiles[tile], address, bytes, size) &&
                                 note_host(machine, tile, address, size)))
        status = no_memory(tile, diag);
    return status;
}

/* Barriers -------------------------------------------------------------------------------------*/

/* What a tile contributes to the next barrier of all tiles: a `sans` given in advance answers any
 * barrier (WAIT_ACKS), else the zone of its sync counts. */
static Wait tile_zone(const Tile *tile) {
    return tile->supervisor.acks > 0 ? WAIT_ACKS : tile->supervisor.wait;
}

static const char *zone_name(Wait zone) {
    return zone == WAIT_HOST ? "sync 7, with the host" : "sync 3, of all tiles";
}

static void raise_deadlock(Machine *machine, const Tile *one, const Tile *other) {
    Tile *stuck = &machine->tiles[other->index];
    trap_raise(&stuck->context[SUPERVISOR], ERR_SIM_DEADLOCK, 0,
               "waits for ever in %s, while tile %u waits in %s", zone_name(tile_zone(other)),
               one->index, zone_name(tile_zone(one)));
}

/* The zone of the barrier that all tiles have reached, and the last arrival; WAIT_NOTHING after a
 * deadlock. */
static Wait barrier_zone(Machine *machine, uint64_t *last) {
    const Tile *decisive = NULL;
    *last = 0;
    for (uint32_t i = 0; i < machine->tile_count; i++) {
        Tile *tile = &machine->tiles[i];
        Wait zone = tile_zone(tile);
        *last = MAX_OF(*last,
                       zone == WAIT_ACKS ? tile->supervisor.ack_cycle : tile->supervisor.arrived);
        if (zone == WAIT_ACKS)
            continue;
        if (!decisive)
            decisive = tile;
        if (zone != tile_zone(decisive)) {
            raise_deadlock(machine, decisive, tile);
            return WAIT_NOTHING;
        }
    }
    return decisive ? tile_zone(decisive) : WAIT_ALL;
}

/* The barrier completes at `cycle`: tiles that waited in it go on. */
static void barrier_complete(Machine *machine, uint64_t cycle) {
    for (uint32_t i = 0; i < machine->tile_count; i++) {
        Tile *tile = &machine->tiles[i];
        Supervisor *supervisor = &tile->supervisor;
        if (supervisor->acks == 0)
            tile_release(tile, cycle);
        else if (--supervisor->acks == 0 && supervisor->wait == WAIT_ACKS)
            tile_release(tile, MAX_OF(cycle, supervisor->arrived + CHIP_SYNC_PASSED));
    }
}

/* The earliest trap of all tiles, if any. */
static bool collect_traps(Machine *machine, Diag *diag) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < machine->tile_count; i++) {
        const MachineTrap *trap = &machine->tiles[i].trap;
        if (trap->code == STATUS_OK)
            continue;
        if (count++ == 0 || trap->cycle < machine->trap.cycle)
            machine->trap = *trap;
    }
    if (count == 0)
        return false;
    trap_report(machine, &machine->trap, diag);
    if (count > 1 && diag)
        diag_note(diag, "%u more tiles trapped", count - 1);
    return true;
}

/* Running --------------------------------------------------------------------------------------*/

void machine_name_phases(Machine *machine, const char *const *names, uint32_t count) {
    machine->phase_names = names;
    machine->phase_name_count = count;
}

void machine_start(Machine *machine, uint32_t entry) {
    for (uint32_t i = 0; i < machine->tile_count; i++)
        tile_start(&machine->tiles[i], entry);
    for (uint32_t i = 0; i < machine->tile_count; i++)
        machine->rows[i].active = false;
    machine->started = true;
    machine->phase_count = 0;
    machine->fabric_trap.code = STATUS_OK;
    machine->at_host = false;
    machine->trap = (MachineTrap){.code = STATUS_OK};
}

void machine_start_tile(Machine *machine, uint32_t tile, uint32_t entry) {
    assert(machine->started && tile < machine->tile_count);
    tile_start(&machine->tiles[tile], entry);
}

void machine_declare(Machine *machine, uint32_t tile, const MachineOperand *operands,
                     uint32_t count) {
    machine_declare_calls(machine, tile, NULL, 0, operands, count);
    struct Shadow *shadow = machine->tiles[tile].shadow;
    if (shadow)
        shadow->operand_count = count;
}

void machine_declare_calls(Machine *machine, uint32_t tile, const MachineCall *calls,
                           uint32_t count, const MachineOperand *operands, uint32_t operand_count) {
    assert(tile < machine->tile_count);
    struct Shadow *shadow = machine->tiles[tile].shadow;
    if (!shadow)
        return;
    shadow->calls = calls;
    shadow->call_count = count;
    shadow->operands = shadow->common = operands;
    shadow->common_count = operand_count;
    shadow->operand_count = shadow->return_pc = 0;
}

unsigned machine_checks(const Machine *machine) {
    return machine->options.checks;
}

void machine_locate(Machine *machine, MachineLocate locate, void *context) {
    machine->locate = locate;
    machine->locate_context = context;
}

static void run_body(void *context, size_t index, unsigned worker) {
    (void)worker;
    Machine *machine = context;
    tile_run(&machine->tiles[index]);
}

/* The host lets all tiles go on. */
static void leave_host_barrier(Machine *machine) {
    machine->at_host = false;
    machine->phase_count = 0;
    barrier_complete(machine, machine->host_release);
    for (uint32_t i = 0; i < machine->tile_count; i++) {
        machine->tiles[i].counters.released = machine->host_release;
        machine->tiles[i].supervisor.phase_open = false; /* also of tiles that only answered */
    }
}

Status machine_run(Machine *machine, Diag *diag) {
    assert(machine->started);
    if (machine->trap.code != STATUS_OK)
        return trap_report(machine, &machine->trap, diag);
    if (machine->at_host)
        leave_host_barrier(machine);
    for (;;) {
        pool_run(machine->pool, machine->tile_count, run_body, machine);
        memory_sweep(machine);
        if (collect_traps(machine, diag))
            return machine->trap.code;
        if (phase_is_pending(machine)) {
            if (phase_run(machine) != STATUS_OK)
                return trap_report(machine, &machine->trap, diag);
            continue;
        }
        uint64_t last;
        Wait zone = barrier_zone(machine, &last);
        if (zone == WAIT_NOTHING) {
            collect_traps(machine, diag);
            return machine->trap.code;
        }
        if (zone == WAIT_HOST) {
            machine->at_host = true;
            /* The last tile's sync takes a cycle of its own: all go on together behind it. */
            machine->host_release = last + CHIP_SUP_ISSUE + CHIP_HOST_PHASE_CYCLES;
            for (uint32_t i = 0; i < machine->tile_count; i++)
                machine->tiles[i].counters.arrived = machine->tiles[i].supervisor.arrived;
            return STATUS_OK;
        }
        machine->phase_count++;
        barrier_complete(machine, last + machine->options.timing.sync_internal_cycles);
    }
}

/* Results --------------------------------------------------------------------------------------*/

const MachineTrap *machine_trap(const Machine *machine) {
    return machine->trap.code == STATUS_OK ? NULL : &machine->trap;
}

MachineTileCounters machine_tile_counters(const Machine *machine, uint32_t tile) {
    assert(tile < machine->tile_count);
    const Tile *t = &machine->tiles[tile];
    MachineTileCounters counters = t->counters;
    counters.instructions = counters.bundles + t->pairs;
    counters.worker_slots = counters.bundles + t->extra_slots;
    return counters;
}

MachineTileCounters machine_counters(const Machine *machine) {
    MachineTileCounters sum = machine_tile_counters(machine, 0);
    for (uint32_t i = 1; i < machine->tile_count; i++) {
        MachineTileCounters one = machine_tile_counters(machine, i);
        sum.released = MIN_OF(sum.released, one.released);
        sum.arrived = MAX_OF(sum.arrived, one.arrived);
        sum.bundles += one.bundles;
        sum.instructions += one.instructions;
        sum.supervisor += one.supervisor;
        sum.launches += one.launches;
        sum.worker_slots += one.worker_slots;
    }
    return sum;
}

const MachineEvent *machine_timeline(const Machine *machine, uint32_t tile, size_t *count) {
    assert(tile < machine->tile_count);
    *count = machine->tiles[tile].timeline.count;
    return machine->tiles[tile].timeline.items;
}
