/* Which candidate is the first that can be placed, and how near the others come. */
#include "compile/attempt.h"

#include "base/progress.h"
#include "chip/chip.h"

#include <string.h>

uint64_t most_bytes(uint32_t from) {
    PlaceSpace space = emit_space_most();
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < space.count; i++)
        if (space.ranges[i].end > from)
            bytes += space.ranges[i].end - MAX_OF(space.ranges[i].begin, from);
    return bytes;
}

/* Bytes alone decide most hopeless candidates, those among them that no kernel takes. */
static bool probe_bytes(const PlanCandidate *candidate, Probe *probe) {
    uint64_t all = most_bytes(0), paired = most_bytes(CHIP_REGION1_BASE);
    uint64_t over_all = candidate->tile_bytes > all ? candidate->tile_bytes - all : 0;
    uint64_t over_paired = candidate->interleaved > paired ? candidate->interleaved - paired : 0;
    *probe = (Probe){.verdict = PLACE_INFEASIBLE,
                     .memory = over_paired > over_all ? "interleaved" : "total",
                     .bytes_over = MAX_OF(over_all, over_paired)};
    return probe->bytes_over == 0;
}

/* ---- tile 0 alone, in the most memory that any tile can have */

/* Outcomes by what decides them: candidates that differ in tiles only have the same first tile. */
typedef struct Known {
    uint64_t hash;
    Probe probe;
} Known;

typedef struct Prober {
    const PlanSearch *search;
    Known *known;
    size_t slots, count;
} Prober;

static uint64_t hash_mix(uint64_t hash, uint64_t value) {
    hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 29;
}

static uint64_t hash_tile(const TileGraph *tile) {
    uint64_t hash = hash_mix(tile->end_event, tile->pairs.count);
    for (size_t i = 0; i < tile->buffers.count; i++) {
        const LowerBuffer *b = &tile->buffers.items[i];
        hash = hash_mix(hash, (uint64_t)b->bytes << 32 | b->tail);
        hash =
            hash_mix(hash, (uint64_t)b->alignment << 32 | (uint64_t)b->memory_class << 8 | b->role);
        hash = hash_mix(hash, b->members);
        hash = hash_mix(hash, (uint64_t)b->first_event << 32 | b->last_event);
        hash = hash_mix(hash, b->is_piece ? (uint64_t)b->whole << 32 | b->offset : 0);
    }
    for (size_t i = 0; i < tile->pairs.count; i++)
        hash = hash_mix(hash, (uint64_t)tile->pairs.items[i].a << 32 | tile->pairs.items[i].b);
    return hash | 1; /* 0 is a free slot */
}

static Known *find_known(const Prober *prober, uint64_t hash) {
    size_t slot = hash & (prober->slots - 1);
    while (prober->known[slot].hash != 0 && prober->known[slot].hash != hash)
        slot = (slot + 1) & (prober->slots - 1);
    return &prober->known[slot];
}

static bool prober_grow(Prober *prober) {
    if (2 * prober->count < prober->slots)
        return true;
    Prober larger = {.slots = prober->slots ? 2 * prober->slots : 64};
    larger.known = mem_alloc(larger.slots, sizeof *larger.known);
    if (!larger.known)
        return false;
    for (size_t i = 0; i < prober->slots; i++)
        if (prober->known[i].hash)
            *find_known(&larger, prober->known[i].hash) = prober->known[i];
    mem_free(prober->known);
    prober->known = larger.known;
    prober->slots = larger.slots;
    return true;
}

static Status no_memory(Diag *diag) {
    return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "looking for a plan that fits");
}

static Status probe_first_tile(Prober *prober, const Plan *plan, Probe *probe, Diag *diag) {
    Attempt first = {0};
    PlaceSpace space = emit_space_most();
    double seconds[COMPILE_PASSES] = {0};
    Status status = lower_first_tile(prober->search->graph, plan, &first.tiles, diag);
    if (!status && !prober_grow(prober))
        status = no_memory(diag);
    if (!status) {
        uint64_t hash = hash_tile(&first.tiles);
        Known *known = find_known(prober, hash);
        if (known->hash == 0) {
            first.spaces = &space;
            status = attempt_place(&first, NULL, seconds, &known->probe, diag);
            if (status == ERR_PLACE_INFEASIBLE || status == ERR_PLACE_NOT_FOUND)
                status = STATUS_OK;
            known->hash = status ? 0 : hash;
            prober->count++;
        }
        *probe = known->probe;
    }
    place_map_free(&first.places);
    tile_graph_free(&first.tiles);
    return status;
}

/* Probes, then lowers, links, places and schedules the whole chip; *fits tells whether that worked,
 * else *probe why not. */
static Status try_candidate(Prober *prober, const PlanCandidate *candidate, Pool *pool,
                            double seconds[COMPILE_PASSES], Attempt *attempt, Probe *probe,
                            bool *fits, Diag *diag) {
    *fits = false;
    *attempt = (Attempt){0};
    if (!probe_bytes(candidate, probe))
        return STATUS_OK;
    double since = clock_seconds();
    Plan plan;
    Status status = plan_build(prober->search, candidate, &plan, diag);
    if (!status)
        status = probe_first_tile(prober, &plan, probe, diag);
    count_time(&seconds[COMPILE_PLACE], &since);
    if (status || probe->verdict != PLACE_PLACED) {
        plan_free(&plan);
        return status;
    }
    status = attempt_make(prober->search->graph, &plan, pool, seconds, attempt, probe, diag);
    *fits = status == STATUS_OK;
    return probe->verdict == PLACE_PLACED ? status : STATUS_OK;
}

Status candidate_fits(const PlanSearch *search, const PlanCandidate *candidate, Pool *pool,
                      bool *fits, Diag *diag) {
    double seconds[COMPILE_PASSES] = {0};
    Attempt attempt;
    Probe probe;
    Prober prober = {.search = search};
    Status status = try_candidate(&prober, candidate, pool, seconds, &attempt, &probe, fits, diag);
    attempt_free(&attempt);
    mem_free(prober.known);
    return status;
}

/* Nearer to fitting: fewer bytes over. */
static void note_failure(Selection *selection, const PlanCandidate *candidate, const Probe *probe) {
    selection->undecided |= probe->verdict == PLACE_NOT_FOUND;
    if (selection->probe.memory && selection->probe.bytes_over <= probe->bytes_over)
        return;
    selection->nearest = *candidate;
    selection->probe = *probe;
}

/* Plans that cost so much more than the first one are no finalists. */
enum { FINALIST_PER_MILLE = 10 };

/* Takes `other` over if it is the first one that fits, or a faster one, or if any is wanted: a plan
 * of a given rank, the only one that is kept then. */
static Status note_finalist(const PlanSearch *search, size_t index, bool any, Selection *selection,
                            Attempt *attempt, Attempt *other, uint64_t *best, Diag *diag) {
    selection->finalist_count = any ? 0 : selection->finalist_count;
    CompileFinalist *finalist = &selection->finalists[selection->finalist_count];
    finalist->predicted_cycles = search->candidates[index].cycles;
    Status status = attempt_cycles(other, &finalist->scheduled_cycles, diag);
    if (status)
        return status;
    if (selection->finalist_count++ == 0 || finalist->scheduled_cycles < *best) {
        *best = finalist->scheduled_cycles;
        selection->chosen = index;
        attempt_free(attempt);
        *attempt = *other;
        *other = (Attempt){0};
    }
    return STATUS_OK;
}

/* Does it fill a tile so far that the search for a placement may take seconds and fail? Another
 * finalist is not worth that, unless it takes less than one that has a place. */
static bool is_tight(const PlanCandidate *candidate) {
    return candidate->tile_bytes > most_bytes(0) / 4 * 3;
}

Status select_candidate(const PlanSearch *search, Pool *pool, double seconds[COMPILE_PASSES],
                        uint32_t rank, Selection *selection, Attempt *attempt, Diag *diag) {
    *selection = (Selection){.chosen = search->count};
    *attempt = (Attempt){0};
    Prober prober = {.search = search};
    Status status = STATUS_OK;
    uint64_t best = 0;
    uint32_t wanted = rank ? rank : search->is_graph ? COMPILE_FINALISTS : 1, found = 0;
    for (size_t i = 0; i < search->count && !status; i++) {
        uint64_t first = found ? selection->finalists[0].predicted_cycles : 0;
        if (found == wanted ||
            (found && !rank &&
             search->candidates[i].cycles > first + first * FINALIST_PER_MILLE / 1000))
            break;
        if (found && is_tight(&search->candidates[i]) &&
            search->candidates[i].tile_bytes > search->candidates[selection->chosen].tile_bytes)
            continue;
        Probe probe;
        bool fits;
        Attempt other;
        status = try_candidate(&prober, &search->candidates[i], pool, seconds, &other, &probe,
                               &fits, diag);
        if (!status && fits) {
            status = note_finalist(search, i, rank > 0, selection, attempt, &other, &best, diag);
            found++;
        } else if (!status && !found) {
            note_failure(selection, &search->candidates[i], &probe);
            selection->failed++;
        }
        attempt_free(&other);
    }
    mem_free(prober.known);
    if (status || selection->finalist_count > 0)
        return status;
    attempt_free(attempt);
    if (search->count == 0) { /* every grid has a part that no kernel takes */
        probe_bytes(&search->least, &selection->probe);
        selection->nearest = search->least;
    }
    return STATUS_OK;
}
