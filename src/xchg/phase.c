/* Phases: building, bounds, validity, and which transfers wait for which. */
#include "xchg/phase.h"

#include "chip/chip.h"

#include <stdlib.h>

Status xchg_phase_add(XchgPhase *phase, uint32_t source, uint32_t address, uint32_t words,
                      const XchgDest *dests, uint32_t dest_count, Diag *diag) {
    XchgTransfer transfer = {.source = source,
                             .address = address,
                             .words = words,
                             .first_dest = (uint32_t)phase->dests.count,
                             .dest_count = dest_count};
    bool ok = vec_reserve(&phase->dests, dest_count) && vec_push(&phase->transfers, transfer);
    for (uint32_t i = 0; ok && i < dest_count; i++)
        ok = vec_push(&phase->dests, dests[i]);
    if (!ok)
        return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory for exchange transfers");
    return STATUS_OK;
}

void xchg_phase_free(XchgPhase *phase) {
    vec_free(&phase->transfers);
    vec_free(&phase->dests);
}

void xchg_schedule_free(XchgSchedule *schedule) {
    vec_free(&schedule->messages);
}

uint64_t xchg_phase_bound(const XchgPhase *phase, uint32_t tile_count) {
    uint64_t *loads = mem_alloc(tile_count, 2 * sizeof *loads);
    uint64_t bound = 0;
    for (size_t i = 0; loads && i < phase->transfers.count; i++) {
        const XchgTransfer *t = phase->transfers.items + i;
        loads[2 * t->source] += t->words;
        bound = MAX_OF(bound, loads[2 * t->source]);
        for (uint32_t k = 0; k < t->dest_count; k++) {
            uint64_t *load = loads + 2 * phase->dests.items[t->first_dest + k].tile + 1;
            *load += t->words;
            bound = MAX_OF(bound, *load);
        }
    }
    mem_free(loads);
    return bound;
}

static bool range_ok(uint32_t address, uint32_t words) {
    return address % 4 == 0 && address >= CHIP_TILE_MEM_BASE &&
           (uint64_t)address + 4 * (uint64_t)words <= CHIP_TILE_MEM_END;
}

/* Pieces of a long transfer would read what earlier ones wrote. */
static bool overlaps_itself(const XchgTransfer *t, const XchgDest *dest) {
    return dest->tile == t->source && dest->address < t->address + 4 * t->words &&
           t->address < dest->address + 4 * t->words;
}

Status phase_check(const XchgPhase *phase, uint32_t tile_count, Diag *diag) {
    uint32_t *seen = mem_alloc(tile_count, sizeof *seen);
    if (!seen)
        return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory to check an exchange");
    Status status = STATUS_OK;
    for (uint32_t i = 0; status == STATUS_OK && i < phase->transfers.count; i++) {
        const XchgTransfer *t = phase->transfers.items + i;
        const XchgDest *dests = phase->dests.items + t->first_dest;
        DiagPlace place = {.tile = (int32_t)t->source, .object = phase->name};
        if (t->source >= tile_count || t->words == 0 || t->dest_count == 0 ||
            !range_ok(t->address, t->words))
            status = diag_error(diag, ERR_XCHG_TRANSFER, place,
                                "transfer %u: %u words at 0x%x of tile %u do not lie word aligned "
                                "in the memory of one of %u tiles",
                                i, t->words, t->address, t->source, tile_count);
        for (uint32_t k = 0; status == STATUS_OK && k < t->dest_count; k++) {
            place.tile = (int32_t)dests[k].tile;
            if (dests[k].tile >= tile_count || !range_ok(dests[k].address, t->words))
                status = diag_error(diag, ERR_XCHG_TRANSFER, place,
                                    "transfer %u: destination 0x%x does not lie word aligned in "
                                    "the memory of one of %u tiles",
                                    i, dests[k].address, tile_count);
            else if (seen[dests[k].tile] == i + 1)
                status = diag_error(diag, ERR_XCHG_TRANSFER, place,
                                    "transfer %u names a destination tile twice", i);
            else if (overlaps_itself(t, dests + k))
                status = diag_error(diag, ERR_XCHG_TRANSFER, place,
                                    "transfer %u: the destination 0x%x overlaps the source 0x%x in "
                                    "one tile",
                                    i, dests[k].address, t->address);
            else
                seen[dests[k].tile] = i + 1;
        }
        if (status == STATUS_OK && t->dest_count == 1 && dests[0].tile == t->source)
            status = diag_error(diag, ERR_XCHG_LOOPBACK, place,
                                "transfer %u goes from tile %u to itself alone", i, t->source);
    }
    mem_free(seen);
    return status;
}

/* ---- dependencies --------------------------------------------------------------------------- */

typedef struct Access {
    uint32_t tile, begin, end;
    uint32_t transfer;
    bool write;
} Access;

static int compare_accesses(const void *a, const void *b) {
    const Access *x = a, *y = b;
    if (x->tile != y->tile)
        return x->tile < y->tile ? -1 : 1;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->transfer != y->transfer)
        return x->transfer < y->transfer ? -1 : 1;
    return (int)x->write - (int)y->write;
}

static int compare_edges(const void *a, const void *b) {
    const PhaseEdge *x = a, *y = b;
    if (x->after != y->after)
        return x->after < y->after ? -1 : 1;
    return (x->before > y->before) - (x->before < y->before);
}

/* All pairs of accesses of one tile that overlap in bytes, one of them a write. Accesses are sorted
 * by begin; `open` holds those that may still overlap what comes. */
static bool sweep(const Access *accesses, size_t count, PhaseEdges *edges) {
    VEC(size_t) open = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        const Access *a = accesses + i;
        size_t kept = 0;
        for (size_t k = 0; ok && k < open.count; k++) {
            const Access *b = accesses + open.items[k];
            if (b->tile != a->tile || b->end <= a->begin)
                continue;
            open.items[kept++] = open.items[k];
            if ((a->write || b->write) && a->transfer != b->transfer) {
                PhaseEdge edge = {MIN_OF(a->transfer, b->transfer),
                                  MAX_OF(a->transfer, b->transfer)};
                ok = vec_push(edges, edge);
            }
        }
        open.count = kept;
        ok = ok && vec_push(&open, i);
    }
    vec_free(&open);
    return ok;
}

bool phase_edges(const XchgPhase *phase, PhaseEdges *edges) {
    *edges = (PhaseEdges){0};
    VEC(Access) accesses = {0};
    bool ok = vec_reserve(&accesses, phase->transfers.count + phase->dests.count);
    for (uint32_t i = 0; ok && i < phase->transfers.count; i++) {
        const XchgTransfer *t = phase->transfers.items + i;
        Access read = {t->source, t->address, t->address + 4 * t->words, i, false};
        ok = vec_push(&accesses, read);
        for (uint32_t k = 0; ok && k < t->dest_count; k++) {
            const XchgDest *d = phase->dests.items + t->first_dest + k;
            Access write = {d->tile, d->address, d->address + 4 * t->words, i, true};
            ok = vec_push(&accesses, write);
        }
    }
    if (ok && accesses.count > 0) {
        qsort(accesses.items, accesses.count, sizeof *accesses.items, compare_accesses);
        ok = sweep(accesses.items, accesses.count, edges);
    }
    vec_free(&accesses);
    if (ok && edges->count > 0)
        qsort(edges->items, edges->count, sizeof *edges->items, compare_edges);
    return ok;
}
