/* Workers in lockstep: several rotations of the six slots at once.
 *
 * Neighbouring workers that are about to issue the same packet form a group. As long as no worker
 * meets control flow the groups stay as they are, and a rotation is: each group's packet, executed
 * for the group's workers in turn. Nothing is decided a worker but by the instruction itself; where
 * the program counters, times and counters are follows from the number of rotations.
 *
 * That keeps the order in which slots issue, up to this: of a bundle one half is executed for all
 * workers of the group before the other half is. No worker can see that, since aux halves touch
 * nothing but their own context, unless a store changes code. Where that could be a bundle is
 * executed worker by worker, and stops the run (lockstep_break). */
#include "sim/internal.h"

#define SLOTS CHIP_WORKER_SLOTS

/* Contexts in the order of their slots. */
typedef struct Span {
    Context *first, *end;
} Span;

typedef struct Group {
    Span span[2];                  /* the second one: from slot 0 on, behind slot 5 */
    const Packet *packet;          /* to issue next */
    const Packet *last;            /* issued before, or NULL */
    const Packet *body, *body_end; /* of the repeat that they are in, or NULL */
    uint32_t wraps;                /* times that they went back from body_end to body */
    uint32_t size;
} Group;

#define FOR_EACH(context, group)                                                                   \
    for (const Span *span = (group)->span; span < (group)->span + 2; span++)                       \
        for (Context *context = span->first; context < span->end; context++)

typedef struct Lockstep {
    Group group[WORKERS];
    unsigned count;
    unsigned present;  /* the group whose packet is executed */
    uint64_t rotation; /* first cycle of the rotation that is executed */
    bool broken;       /* the contexts are up to date, and no longer as the groups say */
} Lockstep;

/* Forming groups --------------------------------------------------------------------------------*/

static inline bool is_straight(const Packet *packet) {
    return packet->flags & PACKET_STRAIGHT && packet->shape >= SHAPE_MAIN &&
           packet->shape <= SHAPE_CROSSED;
}

/* Adds the context of the next slot to a group, if it belongs there. */
static bool join(Group *group, Context *context, const Tile *tile) {
    if (group->packet != context->packet || group->body_end != context->repeat_end_packet ||
        group->body != context->repeat_begin_packet)
        return false;
    Span *span = &group->span[group->span[1].first != NULL];
    if (span->end == tile->context + WORKERS && context == tile->context) {
        span = &group->span[1];
        *span = (Span){context, context};
    }
    if (span->end != context)
        return false;
    span->end++;
    group->size++;
    return true;
}

/* False if some worker cannot issue in this rotation. */
static bool form_groups(Lockstep *lockstep, Tile *tile) {
    Group *group = NULL;
    unsigned slot = (unsigned)(lockstep->rotation % SLOTS);
    for (unsigned i = 0; i < SLOTS; i++, slot = slot == SLOTS - 1 ? 0 : slot + 1) {
        Context *context = &tile->context[slot];
        if (!(tile->active >> slot & 1))
            continue;
        if (context->cycle != lockstep->rotation + i || !is_straight(context->packet))
            return false;
        if (group && join(group, context, tile))
            continue;
        group = group ? group + 1 : lockstep->group;
        *group = (Group){
            .span = {{context, context + 1}},
            .packet = context->packet,
            .body = context->repeat_begin_packet,
            .body_end = context->repeat_end_packet,
            .size = 1,
        };
    }
    lockstep->count = group ? (unsigned)(group + 1 - lockstep->group) : 0;
    return true;
}

/* How many packets a group can issue before it meets control flow, or the end of a repeat. Long
 * operations would part groups: they count as such if there are several. */
static uint32_t horizon(const Group *group, bool alone) {
    const Packet *packet = group->packet;
    uint32_t count = 0;
    while (is_straight(packet) && (alone || packet->slots == 1)) {
        count++;
        packet += packet->advance;
        if (packet != group->body_end)
            continue;
        if (!group->body)
            return count - 1;
        uint32_t rounds = UINT32_MAX, body = 0;
        FOR_EACH(c, group) {
            rounds = MIN_OF(rounds, c->repeats);
        }
        for (packet = group->body; packet < group->body_end; packet += packet->advance, body++)
            if (!is_straight(packet) || !(alone || packet->slots == 1))
                return count;
        return packet == group->body_end ? count + (rounds - 1) * body : count;
    }
    return count;
}

/* Contexts --------------------------------------------------------------------------------------*/

const Packet *lockstep_packet(const Context *context) {
    const Lockstep *lockstep = context->tile->lockstep;
    return lockstep->group[lockstep->present].packet;
}

/* The cycle at which a worker issues in a rotation. */
static uint64_t cycle_of(uint32_t worker, uint64_t rotation) {
    return rotation + (worker + SLOTS - rotation % SLOTS) % SLOTS;
}

static void place(Context *context, const Group *group, uint64_t rotation) {
    context->packet = group->packet;
    if (group->last)
        context->current = group->last;
    context->cycle = cycle_of(context->index, rotation);
    context->repeats -= group->wraps;
    if (group->wraps > 0 && context->repeats == 0) {
        context->repeat_begin_packet = context->repeat_end_packet = NULL;
        if (group->packet == group->body)
            context->packet = group->body_end;
    }
}

static void step(Group *group) {
    group->last = group->packet;
    group->packet += group->packet->advance;
    if (group->packet == group->body_end) {
        group->packet = group->body;
        group->wraps++;
    }
}

/* Traps noted the cycle at which their context entered the run. */
static void correct_trap(Tile *tile, uint64_t rotation) {
    if (tile->stop)
        tile->trap.cycle = cycle_of(tile->trap.context, rotation);
}

/* In the group whose packet `context` executes: those before it have done so. */
static void break_group(const Group *group, Context *context, uint64_t rotation) {
    Group stepped = *group;
    bool before = true;
    step(&stepped);
    FOR_EACH(c, group) {
        before &= c != context;
        if (before)
            place(c, &stepped, rotation + SLOTS);
        else
            place(c, group, rotation);
    }
    context->current = group->packet;
    context->packet = group->packet + group->packet->advance;
}

void lockstep_break(Context *context) {
    Tile *tile = context->tile;
    Lockstep *lockstep = tile->lockstep;
    uint64_t rotation = lockstep->rotation;
    lockstep->broken = true;
    tile->lockstep = NULL;
    correct_trap(tile, rotation);
    for (unsigned i = 0; i < lockstep->count; i++) {
        const Group *group = &lockstep->group[i];
        if (i == lockstep->present) {
            break_group(group, context, rotation);
            continue;
        }
        FOR_EACH(c, group) {
            place(c, group, i < lockstep->present ? rotation + SLOTS : rotation);
        }
    }
}

/* Executing -------------------------------------------------------------------------------------*/

static void execute(Context *context, const Packet *packet) {
    switch ((Shape)packet->shape) {
    case SHAPE_MAIN_AUX:
        packet->main.run(context, &packet->main);
        packet->aux.run(context, &packet->aux);
        break;
    case SHAPE_AUX_MAIN:
        packet->aux.run(context, &packet->aux);
        packet->main.run(context, &packet->main);
        break;
    case SHAPE_CROSSED: tile_execute_crossed(context, packet); break;
    default: packet->main.run(context, &packet->main); break;
    }
}

static bool is_pair(const Packet *packet) {
    return packet->shape >= SHAPE_MAIN_AUX;
}

static void count(Tile *tile, const Packet *packet, bool pair, size_t workers) {
    tile->counters.bundles += workers;
    tile->pairs += pair ? workers : 0;
    tile->extra_slots += workers * (packet->slots - 1u);
}

/* Finishes the packet of the worker that broke the run, as issue_worker does. */
static void finish(Context *context, const Packet *packet) {
    context->cycle += (uint64_t)SLOTS * packet->slots;
    if (context->packet == context->repeat_end_packet)
        context_end_of_body(context);
}

/* Worker by worker; false if one broke the run. */
static bool issue_one_by_one(Tile *tile, Lockstep *lockstep, Group *group) {
    const Packet *packet = group->packet;
    bool pair = is_pair(packet); /* before a store that changes the packet itself */
    FOR_EACH(c, group) {
        execute(c, packet);
        count(tile, packet, pair, 1);
        if (__builtin_expect(lockstep->broken, 0)) {
            finish(c, packet);
            return false;
        }
    }
    step(group);
    return true;
}

static inline void run_half(const Group *group, const Half *half) {
    half->run_group(group->span[0].first, group->span[0].end, half);
    if (group->span[1].first)
        half->run_group(group->span[1].first, group->span[1].end, half);
}

/* Moves `words` registers of a context, mostly two. */
static inline void copy_registers(uint32_t *to, const uint32_t *from, unsigned words) {
    if (__builtin_expect(words == 2, 1)) {
        memcpy(to, from, 8);
        return;
    }
    for (unsigned i = 0; i < words; i++)
        to[i] = from[i];
}

/* The main half reads registers that the aux half writes, and the other way round: aux runs first,
 * and main then on the old values of those that it reads. */
static void run_crossed(const Group *group, const Packet *packet) {
    uint32_t old[WORKERS][4], new[WORKERS][4];
    unsigned first = packet->crossed_first, words = packet->crossed_words, i = 0;
    FOR_EACH(c, group) {
        copy_registers(old[i++], &c->a[first], words);
    }
    run_half(group, &packet->aux);
    i = 0;
    FOR_EACH(c, group) {
        copy_registers(new[i], &c->a[first], words);
        copy_registers(&c->a[first], old[i++], words);
    }
    run_half(group, &packet->main);
    i = 0;
    FOR_EACH(c, group) {
        copy_registers(&c->a[first], new[i++], words);
    }
}

/* Whether one half can be executed for the whole group before the other half is. */
static inline bool goes_by_halves(const Group *group, const Packet *packet) {
    if (!(packet->flags & PACKET_STORES))
        return true;
    ReadyFunction ready = stores_ready[packet->main_form];
    const Span *span = group->span;
    return ready(span[0].first, span[0].end, &packet->main) &&
           (!span[1].first || ready(span[1].first, span[1].end, &packet->main));
}

static bool issue(Tile *tile, Lockstep *lockstep, Group *group) {
    const Packet *packet = group->packet;
    if (!goes_by_halves(group, packet))
        return issue_one_by_one(tile, lockstep, group);
    if (packet->shape == SHAPE_CROSSED) {
        run_crossed(group, packet);
    } else {
        if (packet->shape != SHAPE_AUX_MAIN && !(packet->flags & PACKET_IDLE_MAIN))
            run_half(group, &packet->main);
        if (!(packet->flags & PACKET_IDLE_AUX))
            run_half(group, &packet->aux);
        if (packet->shape == SHAPE_AUX_MAIN && !(packet->flags & PACKET_IDLE_MAIN))
            run_half(group, &packet->main);
    }
    count(tile, packet, is_pair(packet), group->size);
    step(group);
    return true;
}

/* Executes rounds of a repeat as a whole, if it can; returns how many bundles a worker. */
static uint64_t run_rounds(Tile *tile, Lockstep *lockstep, uint64_t bundles) {
    Group *group = &lockstep->group[0];
    if (lockstep->count > 1)
        return 0;
    Context *contexts[WORKERS];
    unsigned contexts_count = 0;
    FOR_EACH(c, group) {
        contexts[contexts_count++] = c;
    }
    uint64_t length = (uint64_t)(group->body_end - group->body) / 2, done = 0;
    uint64_t within =
        (tile->budget_end - lockstep->rotation) / SLOTS; /* bundles that begin in it */
    for (;;) {
        uint64_t rounds = (MIN_OF(bundles, within) - done) / length;
        rounds = matrix_loop_run(contexts, contexts_count, group->body, group->body_end,
                                 (uint32_t)MIN_OF(rounds, (uint64_t)UINT32_MAX));
        if (rounds == 0)
            break;
        done += rounds * length;
        group->wraps += (uint32_t)rounds;
    }
    if (done > 0) {
        group->last = group->body_end - 2;
        count(tile, group->last, true, done * group->size);
        lockstep->rotation += done * SLOTS;
    }
    return done;
}

/* One rotation; false if a worker broke the run. */
static bool run_rotation(Tile *tile, Lockstep *lockstep) {
    uint64_t slots = 1;
    for (lockstep->present = 0; lockstep->present < lockstep->count; lockstep->present++) {
        Group *group = &lockstep->group[lockstep->present];
        slots = group->packet->slots;
        if (!issue(tile, lockstep, group))
            return false;
    }
    correct_trap(tile, lockstep->rotation);
    lockstep->rotation += SLOTS * slots;
    return true;
}

bool lockstep_run(Tile *tile, uint64_t *rotation) {
    Lockstep lockstep; /* most of it is never used */
    lockstep.rotation = *rotation;
    lockstep.broken = false;
    if (!form_groups(&lockstep, tile))
        return false;
    uint64_t left = UINT64_MAX;
    for (unsigned i = 0; i < lockstep.count; i++)
        left = MIN_OF(left, horizon(&lockstep.group[i], lockstep.count == 1));
    if (left == 0)
        return false;
    tile->lockstep = &lockstep;
    /* A matrix product may need a round to begin its rows. */
    for (unsigned attempts = 2; left > 0 && lockstep.rotation < tile->budget_end && !tile->stop;) {
        if (lockstep.group[0].packet == lockstep.group[0].body && attempts > 0) {
            uint64_t done = run_rounds(tile, &lockstep, left);
            attempts--;
            left -= done;
            if (done > 0)
                continue;
        }
        if (!run_rotation(tile, &lockstep)) {
            *rotation = lockstep.rotation;
            return false;
        }
        left--;
    }
    tile->lockstep = NULL;
    for (unsigned i = 0; i < lockstep.count; i++) {
        FOR_EACH(c, &lockstep.group[i]) {
            place(c, &lockstep.group[i], lockstep.rotation);
        }
    }
    *rotation = lockstep.rotation;
    return true;
}
