/* One tile's pipeline: six slots, cycle t belonging to slot t modulo 6. A worker that runs owns its
 * slot and issues one packet a turn; the supervisor issues in the slots that are left. */
#include "sim/shadow.h"

#define SLOTS CHIP_WORKER_SLOTS

/* The loops below rest on these. */
_Static_assert(CHIP_WORKER_SLOTS == WORKERS, "one slot a worker");
_Static_assert(CHIP_WORKER_BUNDLE == SLOTS && CHIP_SLOT_RETURN == SLOTS, "one turn a rotation");
_Static_assert(CHIP_SUP_PUT == CHIP_SUP_ISSUE && CHIP_SUP_PUTCS == CHIP_SUP_ISSUE, "as any other");
_Static_assert(CHIP_SUP_BLOCKED_AFTER_RUNALL == 1, "a launched worker owns its slot at once");

void tile_event(Tile *tile, uint64_t cycle, MachineEventKind kind, uint32_t address) {
    if (!tile->machine->options.timeline)
        return;
    if (!vec_push(&tile->timeline, (MachineEvent){cycle, kind, address}))
        trap_raise(&tile->context[SUPERVISOR], ERR_NO_MEMORY, 0,
                   "no memory left on the host for the time line");
}

void tile_start(Tile *tile, uint32_t entry) {
    for (unsigned i = 0; i <= WORKERS; i++) {
        Context *context = &tile->context[i];
        memset(context, 0, sizeof *context);
        context->tile = tile;
        context->index = i;
        context->granule = NO_GRANULE;
        context->queues_rows = !tile->machine->options.plain;
        context->aligned = tile->machine->options.amp_aligned33;
        exec_set_fp_control(context, 0);
        context_start(context, entry);
    }
    memset(tile->weights, 0, sizeof tile->weights);
    tile->prepared_key = tile->row_key = 0;
    tile->now = tile->resume = 0;
    tile->active = 0;
    tile->supervisor = (Supervisor){.consensus = true};
    tile->supervisor.exchange[0] = CHIP_MUX_NEUTRAL; /* INCOMING_MUX, the first of them */
    tile->supervisor.exchange[CHIP_CSR_S_INCOMING_MUXPAIR - CHIP_CSR_S_INCOMING_MUX] =
        CHIP_MUX_NEUTRAL;
    tile->budget_end = tile->machine->options.cycle_budget;
    tile->counters = (MachineTileCounters){0};
    tile->pairs = tile->extra_slots = 0;
    tile->timeline.count = 0;
    tile->trap = (MachineTrap){.code = STATUS_OK};
    tile->stop = false;
    if (tile->shadow)
        shadow_start(tile);
}

void tile_release(Tile *tile, uint64_t cycle) {
    Supervisor *supervisor = &tile->supervisor;
    tile_event(tile, cycle, EVENT_RELEASE,
               supervisor->wait == WAIT_HOST ? CHIP_SYNC_GS2H : CHIP_SYNC_INTERNAL);
    supervisor->phase_open = supervisor->wait != WAIT_HOST;
    supervisor->wait = WAIT_NOTHING;
    supervisor->next = cycle;
    tile->budget_end = cycle + tile->machine->options.cycle_budget;
}

void tile_launch(Tile *tile, uint32_t worker, uint32_t entry, uint32_t vertex_base) {
    const Supervisor *supervisor = &tile->supervisor;
    Context *context = &tile->context[worker];
    uint64_t first = tile->context[SUPERVISOR].cycle + tile->machine->options.timing.runall_latency;
    context->cycle = first + (worker + SLOTS - first % SLOTS) % SLOTS;
    context->m[12] = supervisor->worker_base[worker];
    context->m[13] = vertex_base;
    context->fp_status = 0;
    context->fp_format = supervisor->initial_format;
    context->fp_scale = supervisor->initial_scale;
    exec_set_fp_control(context, supervisor->initial_control);
    context_start(context, entry);
    tile->active |= 1u << worker;
}

void tile_end_worker(Tile *tile, uint32_t worker) {
    Supervisor *supervisor = &tile->supervisor;
    uint64_t cycle = tile->context[worker].cycle;
    exec_rows_settle(&tile->context[worker]);
    tile->active &= ~(1u << worker);
    tile->resume = MAX_OF(tile->resume, cycle + tile->machine->options.timing.exit_to_resume);
    if (tile->active == 0 && supervisor->wait == WAIT_WORKERS) {
        supervisor->wait = WAIT_NOTHING;
        supervisor->next = MAX_OF(tile->resume, supervisor->arrived + CHIP_SYNC_PASSED);
        tile_event(tile, supervisor->next, EVENT_JOIN, 0);
    }
}

/* Both halves read what was there before the bundle: aux runs first, main then on the old
 * arithmetic registers, and what it wrote of them is kept beside what aux wrote. */
void tile_execute_crossed(Context *context, const Packet *packet) {
    uint32_t before[8], after[8];
    memcpy(before, context->a, sizeof before);
    packet->aux.run(context, &packet->aux);
    memcpy(after, context->a, sizeof after);
    memcpy(context->a, before, sizeof before);
    packet->main.run(context, &packet->main);
    for (unsigned set = packet->writes; set; set &= set - 1)
        after[__builtin_ctz(set)] = context->a[__builtin_ctz(set)];
    memcpy(context->a, after, sizeof after);
}

/* Tells the listener of a context's issue in this cycle. */
static void tell_issue(const Context *context, uint32_t slots) {
    const MachineOptions *options = &context->tile->machine->options;
    MachineIssue issue = {.cycle = context->cycle,
                          .tile = context->tile->index,
                          .context = context->index,
                          .pc = context_pc(context),
                          .slots = slots};
    options->issued(options->issued_context, &issue);
}

static inline void issue_worker(Tile *tile, Context *context) {
    const Packet *packet = context->packet;
again:
    switch ((Shape)packet->shape) {
    case SHAPE_MAIN:
        context->current = packet;
        context->packet = packet + packet->advance;
        packet->main.run(context, &packet->main);
        break;
    case SHAPE_AUX:
        context->current = packet;
        context->packet = packet + packet->advance;
        packet->aux.run(context, &packet->aux);
        break;
    case SHAPE_MAIN_AUX:
        context->current = packet;
        context->packet = packet + packet->advance;
        packet->main.run(context, &packet->main);
        packet->aux.run(context, &packet->aux);
        tile->pairs++;
        break;
    case SHAPE_AUX_MAIN:
        context->current = packet;
        context->packet = packet + packet->advance;
        packet->aux.run(context, &packet->aux);
        packet->main.run(context, &packet->main);
        tile->pairs++;
        break;
    case SHAPE_CROSSED:
        context->current = packet;
        context->packet = packet + packet->advance;
        tile_execute_crossed(context, packet);
        tile->pairs++;
        break;
    default:
        packet = context_resolve(context);
        if (!packet)
            return;
        goto again;
    }
    tile->counters.bundles++;
    if (__builtin_expect(tile->machine->options.issued != NULL, 0))
        tell_issue(context, packet->slots);
    context->cycle += SLOTS;
    if (__builtin_expect(packet->slots > 1, 0)) {
        tile->extra_slots += packet->slots - 1u;
        context->cycle += (uint64_t)SLOTS * (packet->slots - 1u);
    }
    if (context->packet == context->repeat_end_packet)
        context_end_of_body(context);
}

/* With checks: looks at the packet first. */
static void issue_checked(Tile *tile, Context *context) {
    const Packet *packet = context_resolve(context);
    if (packet && shadow_packet(context, packet))
        issue_worker(tile, context);
}

/* Issues the supervisor's next instruction at `cycle`, or notes when its operands will be ready. */
static void issue_supervisor(Tile *tile, uint64_t cycle) {
    Context *context = &tile->context[SUPERVISOR];
    Supervisor *supervisor = &tile->supervisor;
    context->cycle = cycle;
    const Packet *packet = context->packet;
    if (packet->shape != SHAPE_MAIN && packet->shape != SHAPE_SUPERVISOR) {
        packet = context_resolve(context);
        if (!packet)
            return;
    }
    if (!(packet->flags & PACKET_SUPERVISOR)) {
        context->current = packet;
        trap_raise(context, ERR_SIM_MODE, 0, "the supervisor executes a worker instruction");
        return;
    }
    uint64_t ready = packet->flags & PACKET_COEFFICIENT ? supervisor->coefficient_ready : 0;
    for (unsigned reads = packet->reads; reads; reads &= reads - 1)
        ready = MAX_OF(ready, supervisor->ready[__builtin_ctz(reads)]);
    if (ready > cycle) {
        supervisor->next = ready;
        return;
    }
    if (__builtin_expect(tile->shadow != NULL, 0) && !shadow_packet(context, packet))
        return;
    context->current = packet;
    context->packet = packet + packet->advance;
    supervisor->next = cycle + CHIP_SUP_ISSUE;
    tile->counters.supervisor++;
    for (unsigned writes = packet->writes; writes; writes &= writes - 1)
        supervisor->ready[__builtin_ctz(writes)] = cycle + CHIP_SUP_RESULT_LATENCY;
    packet->main.run(context, &packet->main);
    if (__builtin_expect(tile->machine->options.issued != NULL, 0))
        tell_issue(context, 1);
}

static bool within_budget(Tile *tile, Context *context, uint64_t cycle) {
    if (cycle < tile->budget_end)
        return true;
    trap_raise(context, ERR_SIM_BUDGET, 0, "ran for %llu cycles without reaching a barrier",
               (unsigned long long)tile->machine->options.cycle_budget);
    return false;
}

/* No worker runs. */
static void run_supervisor(Tile *tile) {
    Supervisor *supervisor = &tile->supervisor;
    while (!tile->stop && !tile->active && supervisor->wait == WAIT_NOTHING) {
        uint64_t cycle = MAX_OF(supervisor->next, tile->now);
        if (!within_budget(tile, &tile->context[SUPERVISOR], cycle))
            return;
        issue_supervisor(tile, cycle);
        tile->now = cycle + 1;
    }
}

/* The supervisor cannot issue before a worker ends: all slots are taken, or it waits for them. A
 * rotation begins with the slot of the worker that is first to issue, so that workers which were
 * started together are at one place in it. */
static void run_workers(Tile *tile) {
    uint32_t active = tile->active;
    uint64_t rotation = UINT64_MAX;
    for (uint32_t set = active; set; set &= set - 1)
        rotation = MIN_OF(rotation, tile->context[__builtin_ctz(set)].cycle);
    bool plain = tile->machine->options.plain;
    while (!tile->stop) {
        if (!within_budget(tile, &tile->context[__builtin_ctz(active)], rotation))
            return;
        if (!plain && lockstep_run(tile, &rotation))
            continue;
        for (uint64_t cycle = rotation; cycle < rotation + SLOTS; cycle++) {
            Context *context = &tile->context[cycle % SLOTS];
            if (!(active >> context->index & 1) || context->cycle != cycle)
                continue;
            if (__builtin_expect(tile->shadow != NULL, 0))
                issue_checked(tile, context);
            else
                issue_worker(tile, context);
            if (tile->active != active) {
                tile->now = cycle + 1;
                return;
            }
        }
        rotation += SLOTS;
    }
}

/* Some slots are the supervisor's. */
static void run_mixed(Tile *tile) {
    Supervisor *supervisor = &tile->supervisor;
    uint64_t cycle = tile->now;
    while (!tile->stop && tile->active && tile->active != ALL_WORKERS &&
           supervisor->wait == WAIT_NOTHING) {
        Context *context = &tile->context[cycle % SLOTS];
        if (!within_budget(tile, &tile->context[SUPERVISOR], cycle))
            return;
        if (tile->active >> context->index & 1) {
            if (context->cycle == cycle && tile->shadow)
                issue_checked(tile, context);
            else if (context->cycle == cycle)
                issue_worker(tile, context);
        } else if (supervisor->next <= cycle) {
            issue_supervisor(tile, cycle);
        }
        cycle++;
    }
    tile->now = cycle;
}

void tile_run(Tile *tile) {
    while (!tile->stop && tile->supervisor.wait <= WAIT_WORKERS) {
        if (!tile->active)
            run_supervisor(tile);
        else if (tile->active == ALL_WORKERS || tile->supervisor.wait == WAIT_WORKERS)
            run_workers(tile);
        else
            run_mixed(tile);
    }
}
