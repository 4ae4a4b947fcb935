/* The scheduler: cuts transfers into pieces, places the pieces in several orders and widths, and
 * keeps the shortest schedule whose rows can be encoded.
 *
 * Every order uses the same exact placement (lanes.c), which fills gaps in send and receive lanes:
 *   natural  the transfers as they come. Regular patterns, such as the cyclic rounds of a
 *            reduce-scatter, are best left alone.
 *   greedy   the piece that its receivers can take first, in steps of 8 events; among equals the
 * one whose tiles have most left to do, then the one that comes first. Pieces that go to complete
 * receiver pairs are tried as 64-bit and as 32-bit messages. */
#include "xchg/encode.h"
#include "xchg/lanes.h"
#include "xchg/phase.h"

#include "chip/chip.h"

#include <stdlib.h>
#include <string.h>

typedef VEC(Piece) Pieces;

typedef enum Order { ORDER_NATURAL, ORDER_GREEDY, ORDER_COUNT } Order;

static const char *const policy_names[ORDER_COUNT][2] = {
    {"natural order, 32-bit", "natural order, paired where possible"},
    {"greedy order, 32-bit", "greedy order, paired where possible"},
};

typedef struct Scheduler {
    const XchgPhase *phase;
    Lanes lanes;
    PhaseEdges edges;
    /* Per transfer: pieces not yet placed, and the event after which dependents may start. */
    uint32_t *open_pieces;
    int32_t *completion;
    /* Per tile: items not yet sent and not yet received. */
    uint64_t *left;
} Scheduler;

static bool scheduler_init(Scheduler *s, const XchgPhase *phase, uint32_t tile_count) {
    *s = (Scheduler){.phase = phase};
    s->open_pieces = mem_alloc(phase->transfers.count, sizeof *s->open_pieces);
    s->completion = mem_alloc(phase->transfers.count, sizeof *s->completion);
    s->left = mem_alloc(tile_count, 2 * sizeof *s->left);
    bool ok = (phase->transfers.count == 0 || (s->open_pieces && s->completion)) && s->left;
    return lanes_init(&s->lanes, phase, tile_count) && ok && phase_edges(phase, &s->edges);
}

static void scheduler_free(Scheduler *s) {
    lanes_free(&s->lanes);
    vec_free(&s->edges);
    mem_free(s->open_pieces);
    mem_free(s->completion);
    mem_free(s->left);
}

/* ---- pieces --------------------------------------------------------------------------------- */

/* Whether the destinations are complete receiver pairs at 8-byte aligned addresses. */
static bool can_pair(const XchgPhase *phase, const XchgTransfer *t) {
    if (t->words % 2 != 0 || t->address % 8 != 0 || t->dest_count % 2 != 0)
        return false;
    const XchgDest *dests = phase->dests.items + t->first_dest;
    for (uint32_t i = 0; i < t->dest_count; i++) {
        if (dests[i].address % 8 != 0)
            return false;
        bool partner = false;
        /* Partners usually stand side by side. */
        for (uint32_t k = 0; k < t->dest_count && !partner; k++)
            partner = dests[i ^ (k == 0 ? 1 : 0)].tile == (dests[i].tile ^ 1) ||
                      dests[k].tile == (dests[i].tile ^ 1);
        if (!partner)
            return false;
    }
    return true;
}

/* Lengths at which controls of one paired message would meet each other: the format's end on its
 * pointer (2), and on an early member the neutral on the format or the pointer. */
static bool paired_length_ok(const Lanes *lanes, const XchgTransfer *t, uint32_t items) {
    if (items < 3)
        return false;
    for (uint32_t i = 0; i < t->dest_count; i++) {
        const XchgDest *dest = lanes->phase->dests.items + t->first_dest + i;
        int32_t format = 51 + lanes->tiles[dest->tile].row2;
        if ((int32_t)items == format || (int32_t)items == format + 2)
            return false;
    }
    return true;
}

/* A message to its own tile whose source window would end one event after it starts. */
static bool loopback_length_ok(const Lanes *lanes, const XchgTransfer *t, uint32_t items,
                               bool paired) {
    for (uint32_t i = 0; i < t->dest_count; i++) {
        uint32_t tile = lanes->phase->dests.items[t->first_dest + i].tile;
        if (tile == t->source &&
            lanes_source_shift(lanes, tile, tile, paired) + (int32_t)items == 1)
            return false;
    }
    return true;
}

static bool length_ok(const Lanes *lanes, const XchgTransfer *t, uint32_t items, bool paired) {
    return loopback_length_ok(lanes, t, items, paired) &&
           (!paired || paired_length_ok(lanes, t, items));
}

/* Cuts one transfer: as few pieces as the longest message and the lengths to avoid allow. A paired
 * transfer that cannot be cut so goes in 32-bit items. */
static bool cut_transfer(const Lanes *lanes, uint32_t index, bool paired, Pieces *pieces) {
    const XchgTransfer *t = lanes->phase->transfers.items + index;
    uint32_t unit = paired ? 2 : 1, left = t->words / unit, word = 0;
    while (left > 0) {
        uint32_t items = MIN_OF(left, (uint32_t)CHIP_EXCHANGE_MAX_ITEMS);
        while (items > 0 && !(length_ok(lanes, t, items, paired) &&
                              (items == left || !paired || left - items >= 3)))
            items--;
        /* What remains must be sendable as well: shrink until it is. */
        while (items > 0 && items < left && left - items < 200 &&
               !(length_ok(lanes, t, items, paired) && length_ok(lanes, t, left - items, paired)))
            items--;
        if (items == 0)
            return false;
        if (!vec_push(pieces, (Piece){index, word, items, paired, false}))
            return false;
        left -= items;
        word += items * unit;
    }
    return true;
}

static bool cut_phase(const Lanes *lanes, bool paired, Pieces *pieces) {
    pieces->count = 0;
    for (uint32_t i = 0; i < lanes->phase->transfers.count; i++) {
        size_t before = pieces->count;
        if (paired && can_pair(lanes->phase, lanes->phase->transfers.items + i)) {
            if (cut_transfer(lanes, i, true, pieces))
                continue;
            pieces->count = before;
        }
        if (!cut_transfer(lanes, i, false, pieces))
            return false;
    }
    return true;
}

/* ---- placing -------------------------------------------------------------------------------- */

static void start_placing(Scheduler *s, const Pieces *pieces) {
    const XchgPhase *phase = s->phase;
    lanes_clear(&s->lanes);
    memset(s->left, 0, s->lanes.tile_count * 2 * sizeof *s->left);
    for (size_t i = 0; i < phase->transfers.count; i++)
        s->open_pieces[i] = 0, s->completion[i] = 0;
    for (size_t i = 0; i < pieces->count; i++) {
        const Piece *piece = pieces->items + i;
        const XchgTransfer *t = phase->transfers.items + piece->transfer;
        s->open_pieces[piece->transfer]++;
        s->left[2 * t->source] += piece->items;
        for (uint32_t k = 0; k < t->dest_count; k++)
            s->left[2 * phase->dests.items[t->first_dest + k].tile + 1] += piece->items;
    }
}

/* First edge that ends in `transfer`. */
static size_t first_edge(const PhaseEdges *edges, uint32_t transfer) {
    size_t low = 0, high = edges->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (edges->items[middle].after >= transfer)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Event from which the transfer may start, or -1 while one that it waits for is not placed. */
static int32_t ready_at(const Scheduler *s, uint32_t transfer) {
    int32_t from = 0;
    for (size_t i = first_edge(&s->edges, transfer);
         i < s->edges.count && s->edges.items[i].after == transfer; i++) {
        uint32_t before = s->edges.items[i].before;
        if (s->open_pieces[before] > 0)
            return -1;
        from = MAX_OF(from, s->completion[before]);
    }
    return from;
}

typedef enum PlaceResult { PLACE_OK, PLACE_NO_MEMORY, PLACE_IMPOSSIBLE } PlaceResult;

static PlaceResult place_piece(Scheduler *s, const Piece *piece, int32_t start,
                               XchgSchedule *schedule) {
    const XchgTransfer *t = s->phase->transfers.items + piece->transfer;
    int32_t completion;
    XchgMessage message = {piece->transfer, piece->word, piece->items, start, piece->paired};
    if (!lanes_commit(&s->lanes, piece, start, (uint32_t)schedule->messages.count, &completion) ||
        !vec_push(&schedule->messages, message))
        return PLACE_NO_MEMORY;
    s->open_pieces[piece->transfer]--;
    s->completion[piece->transfer] = MAX_OF(s->completion[piece->transfer], completion);
    s->left[2 * t->source] -= piece->items;
    for (uint32_t k = 0; k < t->dest_count; k++)
        s->left[2 * s->phase->dests.items[t->first_dest + k].tile + 1] -= piece->items;
    schedule->horizon = MAX_OF(schedule->horizon, (uint32_t)completion);
    return PLACE_OK;
}

static PlaceResult place_natural(Scheduler *s, const Pieces *pieces, XchgSchedule *schedule) {
    for (size_t i = 0; i < pieces->count; i++) {
        const Piece *piece = pieces->items + i;
        int32_t start = lanes_find(&s->lanes, piece, ready_at(s, piece->transfer));
        if (start < 0)
            return PLACE_IMPOSSIBLE;
        PlaceResult result = place_piece(s, piece, start, schedule);
        if (result != PLACE_OK)
            return result;
    }
    return PLACE_OK;
}

/* A piece that waits for its turn. Keys may be too early, never too late: lanes only fill up. */
typedef struct Waiting {
    int32_t key;
    int32_t start;
    uint64_t pressure;
    uint32_t piece;
} Waiting;

/* Coarser than an event, so that pressure decides among pieces that are nearly as early. */
#define GREEDY_STEP 8

typedef VEC(Waiting) Heap;

static bool goes_first(const Waiting *a, const Waiting *b) {
    if (a->key != b->key)
        return a->key < b->key;
    if (a->pressure != b->pressure)
        return a->pressure > b->pressure;
    return a->piece < b->piece;
}

static void sift_down(Heap *heap, size_t i) {
    Waiting item = heap->items[i];
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count && goes_first(heap->items + child + 1, heap->items + child))
            child++;
        if (!goes_first(heap->items + child, &item))
            break;
        heap->items[i] = heap->items[child];
        i = child;
    }
    heap->items[i] = item;
}

/* Work left at the busiest endpoint of the piece. */
static uint64_t pressure_of(const Scheduler *s, const Piece *piece) {
    const XchgTransfer *t = s->phase->transfers.items + piece->transfer;
    uint64_t most = s->left[2 * t->source];
    for (uint32_t k = 0; k < t->dest_count; k++)
        most = MAX_OF(most, s->left[2 * s->phase->dests.items[t->first_dest + k].tile + 1]);
    return most;
}

/* When the last receiver of the piece would switch to it. Receivers, not senders, are what phases
 * wait for, and their clocks differ from the senders' by the route times. */
static int32_t greedy_key(const Scheduler *s, const Piece *piece, int32_t start) {
    const XchgTransfer *t = s->phase->transfers.items + piece->transfer;
    int32_t latest = 0;
    for (uint32_t k = 0; k < t->dest_count; k++) {
        uint32_t tile = s->phase->dests.items[t->first_dest + k].tile;
        int32_t shift = lanes_source_shift(&s->lanes, t->source, tile, piece->paired);
        latest = MAX_OF(latest, start + shift);
    }
    return latest / GREEDY_STEP;
}

/* Takes the piece out that really can start first: the top is examined again until its key holds.
 * A piece whose predecessors are open is moved behind the present horizon and looked at later. */
static PlaceResult place_greedy(Scheduler *s, const Pieces *pieces, Heap *heap,
                                XchgSchedule *schedule) {
    heap->count = 0;
    for (uint32_t i = 0; i < pieces->count; i++) {
        if (!vec_push(heap, (Waiting){0, 0, pressure_of(s, pieces->items + i), i}))
            return PLACE_NO_MEMORY;
    }
    for (size_t i = heap->count / 2; i-- > 0;)
        sift_down(heap, i);
    while (heap->count > 0) {
        Waiting *top = heap->items;
        const Piece *piece = pieces->items + top->piece;
        int32_t ready = ready_at(s, piece->transfer);
        Waiting now = {.pressure = pressure_of(s, piece), .piece = top->piece};
        if (ready < 0) {
            now.key = MAX_OF(top->key, (int32_t)schedule->horizon / GREEDY_STEP) + 1;
        } else {
            now.start = lanes_find(&s->lanes, piece, ready);
            if (now.start < 0)
                return PLACE_IMPOSSIBLE;
            now.key = greedy_key(s, piece, now.start);
        }
        if (ready >= 0 && now.key == top->key && now.pressure == top->pressure) {
            PlaceResult result = place_piece(s, piece, now.start, schedule);
            if (result != PLACE_OK)
                return result;
            *top = heap->items[--heap->count];
        } else {
            *top = now;
        }
        if (heap->count > 0)
            sift_down(heap, 0);
    }
    return PLACE_OK;
}

/* ---- repair and choice ---------------------------------------------------------------------- */

/* Whether the end of the piece's source window meets its own pointer at some receiver. */
static bool meets_itself(const Lanes *lanes, const XchgTransfer *t, uint32_t items) {
    for (uint32_t i = 0; i < t->dest_count; i++) {
        uint32_t tile = lanes->phase->dests.items[t->first_dest + i].tile;
        if ((int32_t)items == CHIP_EXCHANGE_RECEIVE_PIPE + lanes->tiles[tile].row2)
            return true;
    }
    return false;
}

/* Makes a piece lonely; one that meets itself is cut in two. PLACE_IMPOSSIBLE: nothing helps. */
static PlaceResult isolate(const Lanes *lanes, Pieces *pieces, size_t index) {
    Piece *piece = pieces->items + index;
    const XchgTransfer *t = lanes->phase->transfers.items + piece->transfer;
    piece->lonely = true;
    if (piece->paired || !meets_itself(lanes, t, piece->items))
        return PLACE_OK;
    uint32_t items = piece->items, first = items / 2;
    while (first > 0 &&
           !(length_ok(lanes, t, first, false) && !meets_itself(lanes, t, first) &&
             length_ok(lanes, t, items - first, false) && !meets_itself(lanes, t, items - first)))
        first--;
    if (first == 0)
        return PLACE_IMPOSSIBLE;
    if (!vec_reserve(pieces, 1))
        return PLACE_NO_MEMORY;
    piece = pieces->items + index;
    memmove(piece + 1, piece, (pieces->count++ - index) * sizeof *piece);
    piece[0].items = first;
    piece[1].items = items - first;
    piece[1].word += first;
    return PLACE_OK;
}

static PlaceResult isolate_all(const Lanes *lanes, Pieces *pieces) {
    for (size_t i = 0; i < pieces->count; i++) {
        PlaceResult result = isolate(lanes, pieces, i);
        if (result != PLACE_OK)
            return result;
    }
    return PLACE_OK;
}

/* Makes those pieces lonely that have a control at `event` on `tile`; *marked: there were some. */
static PlaceResult isolate_at(const Lanes *lanes, Pieces *pieces, const XchgSchedule *schedule,
                              const EncodeFault *where, bool *marked) {
    const LaneTile *tile = lanes->tiles + where->tile;
    *marked = false;
    for (size_t i = 0; i < tile->recvs.count; i++) {
        const RecvWindow *r = tile->recvs.items + i;
        int32_t pointer = r->source + CHIP_EXCHANGE_RECEIVE_PIPE + tile->row2;
        if (r->paired || (where->event != r->source && where->event != r->source + r->items &&
                          where->event != pointer))
            continue;
        const XchgMessage *m = schedule->messages.items + r->message;
        for (size_t k = 0; k < pieces->count; k++) {
            const Piece *piece = pieces->items + k;
            if (piece->transfer != m->transfer || piece->word != m->word || piece->lonely)
                continue;
            *marked = true;
            PlaceResult result = isolate(lanes, pieces, k);
            if (result != PLACE_OK)
                return result;
        }
    }
    return PLACE_OK;
}

/* How often a schedule is repaired piece by piece before no two controls may meet at all. */
#define MAX_REPAIRS 12

static RowFault try_policy(Scheduler *s, Pieces *pieces, Order order, Heap *heap,
                           XchgSchedule *schedule, XchgRows *rows, EncodeFault *where,
                           bool *impossible) {
    for (int round = 0;; round++) {
        schedule->messages.count = 0;
        schedule->horizon = 0;
        start_placing(s, pieces);
        PlaceResult result = order == ORDER_NATURAL ? place_natural(s, pieces, schedule)
                                                    : place_greedy(s, pieces, heap, schedule);
        *impossible = result == PLACE_IMPOSSIBLE;
        if (result != PLACE_OK)
            return ROW_NO_MEMORY;
        RowFault fault = encode_rows(s->phase, s->lanes.tile_count, schedule, rows, where);
        if (fault != ROW_ALIGNMENT || round > MAX_REPAIRS)
            return fault;
        bool marked = false;
        result = round < MAX_REPAIRS ? isolate_at(&s->lanes, pieces, schedule, where, &marked)
                                     : PLACE_OK;
        if (result == PLACE_OK && !marked) {
            round = MAX_REPAIRS;
            result = isolate_all(&s->lanes, pieces);
        }
        if (result != PLACE_OK)
            return result == PLACE_NO_MEMORY ? ROW_NO_MEMORY : ROW_ALIGNMENT;
    }
}

typedef struct Best {
    XchgSchedule schedule;
    XchgRows rows;
    bool found;
} Best;

static bool better(const Best *best, const XchgSchedule *schedule, const XchgRows *rows) {
    if (!best->found || schedule->horizon != best->schedule.horizon)
        return !best->found || schedule->horizon < best->schedule.horizon;
    return rows->max_bytes < best->rows.max_bytes;
}

static Status impossible_error(const XchgPhase *phase, Diag *diag) {
    DiagPlace place = {.tile = -1, .object = phase->name};
    diag_error(diag, ERR_XCHG_ELEMENT, place,
               "a tile receives its own message into a memory element that it sends from");
    diag_fix(diag, "place the source and the destination in different memory elements");
    return ERR_XCHG_ELEMENT;
}

static Status run_policies(Scheduler *s, const XchgOptions *options, Best *best, Diag *diag) {
    Pieces pieces = {0};
    Heap heap = {0};
    EncodeFault where = {0};
    RowFault fault = ROW_OK;
    bool impossible = false;
    uint64_t bound = xchg_phase_bound(s->phase, s->lanes.tile_count);
    for (int paired = options->no_pairing ? 0 : 1; paired >= 0; paired--) {
        /* No schedule of 32-bit items can be shorter than the bound. */
        if (best->found && best->schedule.horizon <= bound)
            break;
        for (int order = 0; order < ORDER_COUNT; order++) {
            XchgSchedule schedule = {.policy = policy_names[order][paired]};
            XchgRows rows = {0};
            fault = ROW_NO_MEMORY;
            if (cut_phase(&s->lanes, paired, &pieces))
                fault = try_policy(s, &pieces, (Order)order, &heap, &schedule, &rows, &where,
                                   &impossible);
            if (fault == ROW_OK && better(best, &schedule, &rows)) {
                xchg_schedule_free(&best->schedule);
                xchg_rows_free(&best->rows);
                *best = (Best){schedule, rows, true};
            } else {
                xchg_schedule_free(&schedule);
                xchg_rows_free(&rows);
            }
        }
    }
    vec_free(&pieces);
    vec_free(&heap);
    if (best->found)
        return STATUS_OK;
    return impossible ? impossible_error(s->phase, diag)
                      : encode_report(s->phase, fault, &where, diag);
}

Status xchg_schedule(const XchgPhase *phase, uint32_t tile_count, const XchgOptions *options,
                     XchgSchedule *schedule, XchgRows *rows, Diag *diag) {
    *schedule = (XchgSchedule){0};
    *rows = (XchgRows){0};
    Status status = phase_check(phase, tile_count, diag);
    if (status != STATUS_OK)
        return status;
    Scheduler s;
    Best best = {0};
    if (!scheduler_init(&s, phase, tile_count))
        status = diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory for a schedule");
    else
        status = run_policies(&s, options, &best, diag);
    scheduler_free(&s);
    if (status == STATUS_OK && options->max_row_bytes &&
        best.rows.max_bytes > options->max_row_bytes) {
        DiagPlace place = {.tile = -1, .object = phase->name};
        status = diag_error(diag, ERR_XCHG_ROW_BYTES, place,
                            "the longest row takes %u bytes, %u are allowed", best.rows.max_bytes,
                            options->max_row_bytes);
    }
    if (status != STATUS_OK) {
        xchg_schedule_free(&best.schedule);
        xchg_rows_free(&best.rows);
        return status;
    }
    *schedule = best.schedule;
    *rows = best.rows;
    return STATUS_OK;
}
