/* The scheduler: cuts transfers into pieces, places the pieces in several orders and widths, and
 * keeps the shortest schedule whose rows can be encoded.
 *
 * Every order uses the same exact placement (lanes.c), which fills gaps in send and receive lanes:
 *   natural  the transfers as they come. Regular patterns, such as the cyclic rounds of a
 *            reduce-scatter, are best left alone.
 *   greedy   the piece that its receivers can take first, in steps of 8 events; among equals the
 *            one whose tiles have most left to do, then the one that comes first.
 *   prompt   the same in steps of one event, for phases of many short pieces: tried where what was
 *            found so far is far from the least that is possible.
 *   pairs    greedy, 64-bit messages before all others, which then fill the gaps; for phases that
 *            have both.
 *   busiest  the piece whose tiles have most left to do, whenever it can start; not tried with many
 *            pieces, where it takes long and seldom wins.
 * Pieces that go to complete receiver pairs are tried as 64-bit and as 32-bit messages. */
#include "xchg/encode.h"
#include "xchg/lanes.h"
#include "xchg/phase.h"

#include "chip/chip.h"

#include <stdlib.h>
#include <string.h>

typedef VEC(Piece) Pieces;

typedef enum Order {
    ORDER_NATURAL,
    ORDER_GREEDY,
    ORDER_PROMPT,
    ORDER_PAIRS,
    ORDER_BUSIEST,
    ORDER_COUNT
} Order;

static const char *const policy_names[ORDER_COUNT][2] = {
    {"natural order, 32-bit", "natural order, paired where possible"},
    {"greedy order, 32-bit", "greedy order, paired where possible"},
    {"prompt order, 32-bit", "prompt order, paired where possible"},
    {"", "greedy order, pairs first"},
    {"busiest tiles first, 32-bit", "busiest tiles first, paired where possible"},
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
    uint32_t limit;  /* a schedule with a longer horizon is not wanted */
    uint32_t failed; /* the transfer that cannot be placed */
} Scheduler;

static bool scheduler_init(Scheduler *s, const XchgPhase *phase, uint32_t tile_count) {
    *s = (Scheduler){.phase = phase, .limit = UINT32_MAX};
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

typedef enum PlaceResult {
    PLACE_OK,
    PLACE_NO_MEMORY,
    PLACE_IMPOSSIBLE, /* no start is legal, however late */
    PLACE_WORSE,      /* longer than a schedule that exists, or not worth a try */
} PlaceResult;

/* ---- pieces --------------------------------------------------------------------------------- */

/* Whether the destinations are complete receiver pairs at 8-byte aligned addresses, and the source
 * has a partner that can lend its lane. */
static bool can_pair(const Lanes *lanes, const XchgTransfer *t) {
    if (t->words % 2 != 0 || t->address % 8 != 0 || t->dest_count % 2 != 0 ||
        (t->source ^ 1) >= lanes->tile_count)
        return false;
    const XchgDest *dests = lanes->phase->dests.items + t->first_dest;
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
            lanes->routes[t->first_dest + i].shift[paired] + (int32_t)items == 1)
            return false;
    }
    return true;
}

static bool length_ok(const Lanes *lanes, const XchgTransfer *t, uint32_t items, bool paired) {
    return loopback_length_ok(lanes, t, items, paired) &&
           (!paired || paired_length_ok(lanes, t, items));
}

/* Cuts one transfer: as few pieces as the longest message and the lengths to avoid allow. */
static PlaceResult cut_transfer(const Lanes *lanes, uint32_t index, bool paired, Pieces *pieces) {
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
            return PLACE_IMPOSSIBLE;
        if (!vec_push(pieces, (Piece){index, word, items, paired, false}))
            return PLACE_NO_MEMORY;
        left -= items;
        word += items * unit;
    }
    return PLACE_OK;
}

/* A transfer that cannot be cut into 64-bit items goes in 32-bit ones. */
static PlaceResult cut_phase(const Lanes *lanes, bool paired, Pieces *pieces) {
    pieces->count = 0;
    for (uint32_t i = 0; i < lanes->phase->transfers.count; i++) {
        size_t before = pieces->count;
        PlaceResult result = PLACE_IMPOSSIBLE;
        if (paired && can_pair(lanes, lanes->phase->transfers.items + i))
            result = cut_transfer(lanes, i, true, pieces);
        if (result == PLACE_IMPOSSIBLE) {
            pieces->count = before;
            result = cut_transfer(lanes, i, false, pieces);
        }
        if (result != PLACE_OK)
            return result;
    }
    return PLACE_OK;
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
    return schedule->horizon > s->limit ? PLACE_WORSE : PLACE_OK;
}

static PlaceResult place_natural(Scheduler *s, const Pieces *pieces, XchgSchedule *schedule) {
    for (size_t i = 0; i < pieces->count; i++) {
        const Piece *piece = pieces->items + i;
        int32_t start = lanes_find(&s->lanes, piece, ready_at(s, piece->transfer));
        if (start < 0) {
            s->failed = piece->transfer;
            return PLACE_IMPOSSIBLE;
        }
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
    bool last; /* after all that are not */
} Waiting;

/* Coarser than an event, so that pressure decides among pieces that are nearly as early. */
#define GREEDY_STEP 8

/* How often the greedy orders look at a piece before they give up, if there is a schedule already:
 * many short pieces that compete for few tiles are looked at again and again. */
#define MAX_LOOKS 2000000

/* More pieces are not tried in the order of the busiest tiles. */
#define BUSIEST_PIECES 4096

/* The prompt order is tried if the horizon is longer than the least by more than its 32nd part. */
#define PROMPT_EXCESS 32

typedef VEC(Waiting) Heap;

static bool goes_first(const Waiting *a, const Waiting *b) {
    if (a->last != b->last)
        return b->last;
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
static int32_t receive_time(const Scheduler *s, const Piece *piece, int32_t start) {
    const XchgTransfer *t = s->phase->transfers.items + piece->transfer;
    int32_t latest = 0;
    for (uint32_t k = 0; k < t->dest_count; k++) {
        int32_t shift = s->lanes.routes[t->first_dest + k].shift[piece->paired];
        latest = MAX_OF(latest, start + shift);
    }
    return latest;
}

/* Takes the piece out that really can start first: the top is examined again until its key holds.
 * A piece whose predecessors are open is moved behind the present horizon and looked at later. */
static PlaceResult place_greedy(Scheduler *s, const Pieces *pieces, Order order, Heap *heap,
                                XchgSchedule *schedule) {
    const int32_t step = order == ORDER_PROMPT ? 1 : GREEDY_STEP;
    heap->count = 0;
    for (uint32_t i = 0; i < pieces->count; i++) {
        const Piece *piece = pieces->items + i;
        Waiting waiting = {.pressure = pressure_of(s, piece), .piece = i};
        waiting.last = order == ORDER_PAIRS && !piece->paired;
        if (!vec_push(heap, waiting))
            return PLACE_NO_MEMORY;
    }
    for (size_t i = heap->count / 2; i-- > 0;)
        sift_down(heap, i);
    uint64_t looks = MAX_LOOKS + 4 * (uint64_t)pieces->count;
    while (heap->count > 0) {
        if (looks-- == 0 && s->limit != UINT32_MAX)
            return PLACE_WORSE;
        Waiting *top = heap->items;
        const Piece *piece = pieces->items + top->piece;
        int32_t ready = ready_at(s, piece->transfer);
        Waiting now = {.pressure = pressure_of(s, piece), .piece = top->piece, .last = top->last};
        if (ready < 0) {
            now.last = order == ORDER_PAIRS;
            now.key = MAX_OF(top->key, (int32_t)schedule->horizon / step) + 1;
        } else {
            now.start = lanes_find(&s->lanes, piece, MAX_OF(ready, top->start));
            if (now.start < 0) {
                s->failed = piece->transfer;
                return PLACE_IMPOSSIBLE;
            }
            now.key = order == ORDER_BUSIEST ? 0 : receive_time(s, piece, now.start) / step;
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

/* Makes a piece lonely; one that meets itself is cut in two. False without memory. */
static bool isolate(const Lanes *lanes, Pieces *pieces, size_t index) {
    Piece *piece = pieces->items + index;
    const XchgTransfer *t = lanes->phase->transfers.items + piece->transfer;
    piece->lonely = true;
    if (piece->paired || !meets_itself(lanes, t, piece->items))
        return true;
    /* 52 items or more: both halves are too short to meet themselves, and a loopback forbids one
     * length at most. */
    uint32_t items = piece->items, first = items / 2;
    while (!length_ok(lanes, t, first, false) || !length_ok(lanes, t, items - first, false))
        first--;
    if (!vec_reserve(pieces, 1))
        return false;
    piece = pieces->items + index;
    memmove(piece + 1, piece, (pieces->count++ - index) * sizeof *piece);
    piece[0].items = first;
    piece[1].items = items - first;
    piece[1].word += first;
    return true;
}

static bool isolate_all(const Lanes *lanes, Pieces *pieces) {
    for (size_t i = 0; i < pieces->count; i++) {
        if (!isolate(lanes, pieces, i))
            return false;
    }
    return true;
}

/* Makes those pieces lonely that have a control at `event` on `tile`; *marked: there were some. */
static bool isolate_at(const Lanes *lanes, Pieces *pieces, const XchgSchedule *schedule,
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
            if (!isolate(lanes, pieces, k))
                return false;
        }
    }
    return true;
}

/* How often a schedule is repaired piece by piece before no two controls may meet at all. */
#define MAX_REPAIRS 12

/* A schedule with its rows, or why there is none. */
typedef struct Attempt {
    XchgSchedule schedule;
    XchgRows rows;
    PlaceResult result;
    RowFault fault; /* of the encoder, if placing went well */
    EncodeFault where;
} Attempt;

static void attempt_free(Attempt *attempt) {
    xchg_schedule_free(&attempt->schedule);
    xchg_rows_free(&attempt->rows);
}

static bool attempt_good(const Attempt *attempt) {
    return attempt->result == PLACE_OK && attempt->fault == ROW_OK;
}

static void place_all(Scheduler *s, const Pieces *pieces, Order order, Heap *heap,
                      Attempt *attempt) {
    XchgSchedule *schedule = &attempt->schedule;
    schedule->messages.count = 0;
    schedule->horizon = 0;
    start_placing(s, pieces);
    attempt->result = order == ORDER_NATURAL ? place_natural(s, pieces, schedule)
                                             : place_greedy(s, pieces, order, heap, schedule);
    if (attempt->result == PLACE_OK)
        attempt->fault =
            encode_rows(s->phase, s->lanes.tile_count, schedule, &attempt->rows, &attempt->where);
    if (attempt->fault == ROW_NO_MEMORY)
        attempt->result = PLACE_NO_MEMORY;
}

static bool is_worth_trying(const Pieces *pieces, Order order) {
    if (order == ORDER_BUSIEST)
        return pieces->count <= BUSIEST_PIECES;
    size_t paired = 0;
    for (size_t i = 0; i < pieces->count && order == ORDER_PAIRS; i++)
        paired += pieces->items[i].paired;
    return order != ORDER_PAIRS || (paired > 0 && paired < pieces->count);
}

static void try_policy(Scheduler *s, Pieces *pieces, Order order, bool paired, Heap *heap,
                       Attempt *attempt) {
    *attempt = (Attempt){.schedule.policy = policy_names[order][paired]};
    attempt->result = cut_phase(&s->lanes, paired, pieces);
    if (attempt->result == PLACE_OK && !is_worth_trying(pieces, order))
        attempt->result = PLACE_WORSE;
    if (attempt->result == PLACE_OK)
        place_all(s, pieces, order, heap, attempt);
    for (int round = 0; round <= MAX_REPAIRS; round++) {
        if (attempt->result != PLACE_OK || attempt->fault != ROW_ALIGNMENT)
            return;
        bool marked = false, ok = true;
        if (round < MAX_REPAIRS)
            ok = isolate_at(&s->lanes, pieces, &attempt->schedule, &attempt->where, &marked);
        if (ok && !marked) {
            round = MAX_REPAIRS;
            ok = isolate_all(&s->lanes, pieces);
        }
        if (ok)
            place_all(s, pieces, order, heap, attempt);
        else
            attempt->result = PLACE_NO_MEMORY;
    }
}

/* Rows that fit come first, then the shorter schedule, then shorter rows. */
static bool better(const Attempt *a, const Attempt *b, uint32_t max_row_bytes) {
    if (!attempt_good(a) || !attempt_good(b))
        return attempt_good(a);
    bool fits = a->rows.max_bytes <= max_row_bytes;
    if (fits != (b->rows.max_bytes <= max_row_bytes))
        return fits;
    if (a->schedule.horizon != b->schedule.horizon)
        return a->schedule.horizon < b->schedule.horizon;
    return a->rows.max_bytes < b->rows.max_bytes;
}

/* No schedule is shorter, be it of 32-bit items alone or of 64-bit ones where pairs take them: each
 * tile must receive all its items, the first not before event 1, and send all its items, the last
 * of which are some time on their way. */
static uint32_t least_horizon(const Scheduler *s, bool pairs) {
    const XchgPhase *phase = s->phase;
    uint32_t tile_count = s->lanes.tile_count;
    int64_t *sent = mem_alloc(tile_count, 4 * sizeof *sent); /* items, start, way; received */
    int64_t least = 0;
    for (uint32_t i = 0; sent && i < phase->transfers.count; i++) {
        const XchgTransfer *t = phase->transfers.items + i;
        bool paired = pairs && can_pair(&s->lanes, t);
        int64_t *from = sent + 4 * t->source, start = 0, way = 0;
        int64_t items = paired ? t->words / 2 : t->words;
        for (uint32_t k = t->first_dest; k < t->first_dest + t->dest_count; k++) {
            const LaneTile *tile = s->lanes.tiles + phase->dests.items[k].tile;
            int32_t shift = s->lanes.routes[k].shift[paired];
            int32_t after = CHIP_EXCHANGE_RECEIVE_PIPE + tile->row2 + CHIP_EXCHANGE_TAIL_GUARD;
            int64_t *received = sent + 4 * phase->dests.items[k].tile + 3;
            *received += items;
            least = MAX_OF(least, 1 + *received + after);
            start = MAX_OF(start, 1 - shift);
            way = MAX_OF(way, shift + after);
        }
        from[1] = from[0] == 0 ? start : MIN_OF(from[1], start);
        from[2] = from[0] == 0 ? way : MIN_OF(from[2], way);
        from[0] += items;
    }
    for (uint32_t i = 0; sent && i < tile_count; i++)
        least = MAX_OF(least, sent[4 * i] + sent[4 * i + 1] + sent[4 * i + 2]);
    mem_free(sent);
    return (uint32_t)MIN_OF(least, UINT32_MAX);
}

static bool any_pairs(const Lanes *lanes) {
    for (size_t i = 0; i < lanes->phase->transfers.count; i++) {
        if (can_pair(lanes, lanes->phase->transfers.items + i))
            return true;
    }
    return false;
}

/* The best of all orders and widths; if there is none, one that failed. */
static void run_policies(Scheduler *s, const XchgOptions *options, Attempt *best) {
    Pieces pieces = {0};
    Heap heap = {0};
    uint32_t max_row_bytes = options->max_row_bytes ? options->max_row_bytes : UINT32_MAX;
    bool pairs = !options->no_pairing && any_pairs(&s->lanes);
    const uint32_t least[] = {least_horizon(s, false), least_horizon(s, pairs)};
    *best = (Attempt){.result = PLACE_WORSE};
    for (int n = pairs ? 0 : ORDER_COUNT; n < 2 * ORDER_COUNT; n++) {
        bool paired = n < ORDER_COUNT;
        Order order = (Order)(n % ORDER_COUNT);
        if (s->limit <= least[paired] ||
            (order == ORDER_PROMPT && s->limit <= least[paired] + least[paired] / PROMPT_EXCESS))
            continue;
        Attempt attempt;
        try_policy(s, &pieces, order, paired, &heap, &attempt);
        if (attempt.result == PLACE_NO_MEMORY || !attempt_good(best) ||
            better(&attempt, best, max_row_bytes)) {
            attempt_free(best);
            *best = attempt;
        } else {
            attempt_free(&attempt);
        }
        if (best->result == PLACE_NO_MEMORY)
            break;
        if (attempt_good(best) && best->rows.max_bytes <= max_row_bytes)
            s->limit = best->schedule.horizon;
    }
    best->schedule.least = least[pairs];
    vec_free(&pieces);
    vec_free(&heap);
}

static Status report_failure(const Scheduler *s, const Attempt *attempt, Diag *diag) {
    if (attempt->result == PLACE_NO_MEMORY)
        return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory for a schedule");
    if (attempt->result == PLACE_OK)
        return encode_report(s->phase, attempt->fault, &attempt->where, diag);
    const XchgTransfer *t = s->phase->transfers.items + s->failed;
    DiagPlace place = {.tile = (int32_t)t->source, .object = s->phase->name};
    diag_error(diag, ERR_XCHG_ELEMENT, place,
               "transfer %u: the tile receives its own %u words into a memory element that it "
               "sends them from (0x%x)",
               s->failed, t->words, t->address);
    diag_fix(diag, "place the source and the destination in different memory elements");
    return ERR_XCHG_ELEMENT;
}

static Status check_row_bytes(const XchgPhase *phase, const XchgOptions *options,
                              const XchgRows *rows, Diag *diag) {
    if (options->max_row_bytes == 0 || rows->max_bytes <= options->max_row_bytes)
        return STATUS_OK;
    size_t longest = 0;
    for (size_t i = 0; i < rows->rows.count; i++) {
        if (rows->rows.items[i].word_count > rows->rows.items[longest].word_count)
            longest = i;
    }
    DiagPlace place = {.tile = (int32_t)rows->rows.items[longest].tile, .object = phase->name};
    return diag_error(diag, ERR_XCHG_ROW_BYTES, place,
                      "the row takes %u bytes, %u are allowed: %u over", rows->max_bytes,
                      options->max_row_bytes, rows->max_bytes - options->max_row_bytes);
}

Status xchg_schedule(const XchgPhase *phase, uint32_t tile_count, const XchgOptions *options,
                     XchgSchedule *schedule, XchgRows *rows, Diag *diag) {
    *schedule = (XchgSchedule){0};
    *rows = (XchgRows){0};
    Status status = phase_check(phase, tile_count, diag);
    if (status != STATUS_OK)
        return status;
    Scheduler s;
    Attempt best = {.result = PLACE_NO_MEMORY};
    if (scheduler_init(&s, phase, tile_count))
        run_policies(&s, options, &best);
    status = attempt_good(&best) ? check_row_bytes(phase, options, &best.rows, diag)
                                 : report_failure(&s, &best, diag);
    scheduler_free(&s);
    if (status != STATUS_OK) {
        attempt_free(&best);
        return status;
    }
    *schedule = best.schedule;
    *rows = best.rows;
    return STATUS_OK;
}
