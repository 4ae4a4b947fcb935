#include "xchg/lanes.h"

#include "chip/chip.h"

#include <string.h>

static uint32_t padded(uint32_t tile_count) {
    /* One more when the count is odd: the last tile's partner may lend its lane. */
    return tile_count + tile_count % 2;
}

static void find_routes(Lanes *lanes) {
    const XchgPhase *phase = lanes->phase;
    for (size_t i = 0; i < phase->transfers.count; i++) {
        const XchgTransfer *t = phase->transfers.items + i;
        unsigned s = lanes->tiles[t->source].physical;
        for (uint32_t k = t->first_dest; k < t->first_dest + t->dest_count; k++) {
            unsigned d = lanes->tiles[phase->dests.items[k].tile].physical;
            ChipRoute route = chip_route(s, d);
            int partner = chip_route(s, d ^ 2).time;
            lanes->routes[k] = (LaneRoute){
                .shift = {(int16_t)(route.time + 1), (int16_t)MAX_OF(route.time, partner)},
                .direction = (uint8_t)route.direction,
                .early = route.time < partner,
            };
        }
    }
}

/* Which tiles have a unit that the phase both reads and writes there. */
static void find_shared_units(Lanes *lanes, uint32_t *written) {
    const XchgPhase *phase = lanes->phase;
    for (size_t i = 0; i < phase->transfers.count; i++) {
        const XchgTransfer *t = phase->transfers.items + i;
        for (uint32_t k = 0; k < t->dest_count; k++) {
            const XchgDest *dest = phase->dests.items + t->first_dest + k;
            written[dest->tile] |= chip_effective_mask(dest->address, 4 * t->words);
        }
    }
    for (size_t i = 0; i < phase->transfers.count; i++) {
        const XchgTransfer *t = phase->transfers.items + i;
        if (written[t->source] & chip_effective_mask(t->address, 4 * t->words))
            lanes->tiles[t->source].shares_units = true;
    }
}

bool lanes_init(Lanes *lanes, const XchgPhase *phase, uint32_t tile_count) {
    *lanes = (Lanes){.phase = phase, .tile_count = tile_count};
    uint32_t count = padded(tile_count);
    lanes->tiles = mem_alloc(count, sizeof *lanes->tiles);
    lanes->routes = mem_alloc(phase->dests.count + 1, sizeof *lanes->routes);
    uint32_t *written = mem_alloc(count, sizeof *written);
    bool ok = lanes->tiles && lanes->routes && written;
    for (uint32_t i = 0; ok && i < count; i++) {
        lanes->tiles[i].physical = (uint16_t)chip_tile_physical(i);
        lanes->tiles[i].row2 = (int16_t)(2 * chip_tile_row(lanes->tiles[i].physical));
    }
    if (ok) {
        find_routes(lanes);
        find_shared_units(lanes, written);
    }
    mem_free(written);
    return ok;
}

void lanes_free(Lanes *lanes) {
    for (uint32_t i = 0; lanes->tiles && i < padded(lanes->tile_count); i++) {
        vec_free(&lanes->tiles[i].sends);
        vec_free(&lanes->tiles[i].lent);
        vec_free(&lanes->tiles[i].recvs);
        vec_free(&lanes->tiles[i].marks);
    }
    mem_free(lanes->tiles);
    mem_free(lanes->routes);
    lanes->tiles = NULL;
    lanes->routes = NULL;
}

void lanes_clear(Lanes *lanes) {
    for (uint32_t i = 0; i < padded(lanes->tile_count); i++) {
        LaneTile *tile = lanes->tiles + i;
        tile->sends.count = tile->lent.count = tile->recvs.count = tile->marks.count = 0;
    }
}

/* First payload slot after the source event; the format write of a paired message counts. */
static int32_t payload_begin(const LaneTile *tile, bool paired) {
    return (paired ? 51 : 52) + tile->row2;
}

int32_t lanes_payload_end(const LaneTile *tile, const RecvWindow *recv) {
    return recv->items + (recv->paired ? 53 : 52) + tile->row2;
}

/* ---- windows -------------------------------------------------------------------------------- */

/* Index of the first window that ends after `event`. */
static size_t first_send_after(const SendWindows *list, int32_t event) {
    const SendWindow *windows = list->items;
    size_t count = list->count;
    if (count == 0 || windows[count - 1].end <= event)
        return count;
    size_t low = 0, high = count - 1;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (windows[middle].end > event)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Index of the first receive whose source event is > `event`. */
static size_t first_recv_after(const LaneTile *tile, int32_t event) {
    const RecvWindow *recvs = tile->recvs.items;
    size_t count = tile->recvs.count;
    if (count == 0 || recvs[count - 1].source <= event)
        return count;
    size_t low = 0, high = count - 1;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (recvs[middle].source > event)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Earliest start >= start at which [start, start + length) meets no window of the list. */
static int32_t skip_windows(const SendWindows *list, int32_t start, int32_t length) {
    for (size_t i = first_send_after(list, start); i < list->count; i++) {
        if (list->items[i].start >= start + length)
            break;
        start = list->items[i].end;
    }
    return start;
}

static unsigned marks_at(const LaneTile *tile, int32_t event) {
    return event >= 0 && (size_t)event < tile->marks.count ? tile->marks.items[event] : 0;
}

static bool mark(LaneTile *tile, int32_t event, unsigned mask) {
    size_t needed = (size_t)event + 1;
    if (needed > tile->marks.count) {
        if (!vec_reserve(&tile->marks, needed - tile->marks.count))
            return false;
        memset(tile->marks.items + tile->marks.count, 0, needed - tile->marks.count);
        tile->marks.count = needed;
    }
    tile->marks.items[event] |= (uint8_t)mask;
    return true;
}

/* The controls of a receive; returns how many. */
typedef struct Control {
    unsigned mark;
    int32_t event;
} Control;

#define MAX_CONTROLS 5

static size_t list_controls(const LaneTile *tile, const RecvWindow *recv,
                            Control controls[MAX_CONTROLS]) {
    int32_t first = recv->source, last = first + recv->items;
    int32_t payload = first + payload_begin(tile, recv->paired);
    size_t count = 0;
    if (!recv->paired || recv->early) {
        unsigned source = recv->paired ? MARK_PAIRED_SOURCE : MARK_SOURCE;
        controls[count++] = (Control){source, first};
        controls[count++] = (Control){source, last};
    }
    if (recv->paired) {
        controls[count++] = (Control){MARK_FORMAT, payload};
        controls[count++] = (Control){MARK_FORMAT, payload + recv->items};
        controls[count++] = (Control){MARK_PAIRED_POINTER, payload + 2};
    } else {
        controls[count++] = (Control){MARK_POINTER, payload};
    }
    return count;
}

/* ---- rules ---------------------------------------------------------------------------------- */

/* Events that must lie between two neighbouring receives. Paired ones of one direction may follow
 * each other at once (their format writes cancel), else the format needs two events. */
static bool gap_allowed(const RecvWindow *first, const RecvWindow *second, int32_t gap) {
    if (!first->paired && !second->paired)
        return gap >= 0;
    bool same = first->paired && second->paired && first->direction == second->direction;
    return gap >= 2 || (gap == 0 && same);
}

static int32_t least_gap(const RecvWindow *first, const RecvWindow *second) {
    return gap_allowed(first, second, 0) ? 0 : 2;
}

/* Earliest source event >= recv.source that keeps the windows of this tile apart. */
static int32_t skip_recvs(const LaneTile *tile, RecvWindow recv) {
    const RecvWindow *recvs = tile->recvs.items;
    size_t count = tile->recvs.count;
    for (size_t i = first_recv_after(tile, recv.source);; i++) {
        while (i < count && recvs[i].source <= recv.source)
            i++;
        if (i > 0) {
            const RecvWindow *before = recvs + i - 1;
            int32_t end = before->source + before->items;
            if (!gap_allowed(before, &recv, recv.source - end)) {
                int32_t next = end + least_gap(before, &recv);
                recv.source = next > recv.source ? next : end + 2;
                i--; /* look at the same neighbours again */
                continue;
            }
        }
        if (i == count || gap_allowed(&recv, recvs + i, recvs[i].source - recv.source - recv.items))
            return recv.source;
        recv.source = recvs[i].source + recvs[i].items;
    }
}

/* Whether a control may join what stands at its event. The same source or format control there is
 * the neighbour's end, which this one replaces. */
static bool may_share(unsigned control, unsigned marks, bool lonely) {
    unsigned others = marks & ~control;
    if (others == 0)
        return control != MARK_POINTER || marks == 0;
    if (lonely)
        return false;
    return (control == MARK_SOURCE && others == MARK_POINTER) ||
           (control == MARK_POINTER && others == MARK_SOURCE);
}

typedef struct Candidate {
    const Lanes *lanes;
    const Piece *piece;
    const XchgTransfer *transfer;
    int32_t start;
    uint32_t units; /* that it reads; 0 when its tile shares none */
} Candidate;

typedef enum Verdict { VERDICT_OK, VERDICT_LATER, VERDICT_NEVER } Verdict;

static Verdict check_controls(const Candidate *c, uint32_t dest, const RecvWindow *recv) {
    const LaneTile *tile = c->lanes->tiles + dest;
    Control controls[MAX_CONTROLS];
    size_t count = list_controls(tile, recv, controls);
    for (size_t i = 0; i < count; i++) {
        int32_t event = controls[i].event;
        unsigned marks = marks_at(tile, event);
        if ((marks | marks_at(tile, event - 1)) & MARK_SEND)
            return VERDICT_LATER;
        if (!may_share(controls[i].mark, marks, c->piece->lonely))
            return VERDICT_LATER;
        if (dest == c->transfer->source && event == c->start + 1)
            return VERDICT_NEVER;
        for (size_t k = 0; k < i; k++) {
            if (controls[k].event == event && (recv->paired || c->piece->lonely))
                return VERDICT_NEVER;
        }
    }
    return VERDICT_OK;
}

/* A send reads while a receive writes: their units must differ. Windows as the hardware guard
 * wants them: the send to event 6 at least, the receive to 5 events after its last slot. */
static bool units_clash(const LaneTile *tile, int32_t send_start, int32_t send_end,
                        uint32_t send_units, const RecvWindow *recv) {
    int32_t begin = recv->source + payload_begin(tile, recv->paired);
    int32_t end = recv->source + lanes_payload_end(tile, recv) + CHIP_EXCHANGE_TAIL_GUARD;
    return (send_units & recv->units) && send_start < end && begin < MAX_OF(send_end, 6);
}

/* Earliest start >= start at which a send of `length` items that reads `units` clashes with no
 * receive: once it clashes with one, it does so until that is over. */
static int32_t skip_written(const LaneTile *tile, int32_t start, int32_t length, uint32_t units) {
    for (size_t i = 0; i < tile->recvs.count; i++) {
        const RecvWindow *recv = tile->recvs.items + i;
        if (units_clash(tile, start, start + length, units, recv))
            start = recv->source + lanes_payload_end(tile, recv) + CHIP_EXCHANGE_TAIL_GUARD;
    }
    return start;
}

/* By how much a receive must move so that it clashes with no send. */
static int32_t clash_length(const LaneTile *tile, const RecvWindow *recv) {
    int32_t begin = recv->source + payload_begin(tile, recv->paired);
    int32_t length = 0;
    RecvWindow moved = *recv;
    for (size_t i = 0; i < tile->sends.count; i++) {
        const SendWindow *send = tile->sends.items + i;
        moved.source = recv->source + length;
        if (units_clash(tile, send->start, send->end, send->units, &moved))
            length = MAX_OF(send->end, 6) - begin;
    }
    return length;
}

static uint32_t piece_units(const Piece *piece, uint32_t address) {
    return chip_effective_mask(address + 4 * piece->word, piece->items * (piece->paired ? 8 : 4));
}

/* The window of destination `dest` (an index into the phase's destinations) but for its units. */
static RecvWindow receive_of(const Candidate *c, uint32_t dest) {
    const LaneRoute *route = c->lanes->routes + dest;
    return (RecvWindow){
        .source = c->start + route->shift[c->piece->paired],
        .items = (int32_t)c->piece->items,
        .direction = route->direction,
        .paired = c->piece->paired,
        .early = c->piece->paired && route->early,
    };
}

static Verdict check_receiver(Candidate *c, uint32_t index) {
    const XchgDest *dest = c->lanes->phase->dests.items + index;
    const LaneTile *tile = c->lanes->tiles + dest->tile;
    RecvWindow recv = receive_of(c, index);
    int32_t source = skip_recvs(tile, recv);
    if (source > recv.source) {
        c->start += source - recv.source;
        return VERDICT_LATER;
    }
    Verdict verdict = check_controls(c, dest->tile, &recv);
    if (verdict == VERDICT_LATER)
        c->start++;
    if (verdict != VERDICT_OK || !tile->shares_units)
        return verdict;
    recv.units = piece_units(c->piece, dest->address);
    if (dest->tile == c->transfer->source &&
        units_clash(tile, c->start, c->start + recv.items, c->units, &recv))
        return VERDICT_NEVER;
    int32_t clash = clash_length(tile, &recv);
    c->start += clash;
    return clash > 0 ? VERDICT_LATER : VERDICT_OK;
}

/* The sender's side: raises the start past its own lane, and past the partner's when paired. */
static Verdict check_sender(Candidate *c) {
    uint32_t source = c->transfer->source;
    const LaneTile *tile = c->lanes->tiles + source, *partner = c->lanes->tiles + (source ^ 1);
    int32_t items = (int32_t)c->piece->items, start = c->start;
    start = skip_windows(&tile->sends, start, items);
    start = skip_windows(&tile->lent, start, items);
    if (c->piece->paired) {
        /* The partner's lane is taken to event 6 at least, as the row of the sender is. */
        int32_t length = MAX_OF(start + items, 6) - start;
        start = skip_windows(&partner->sends, start, length);
        start = skip_windows(&partner->lent, start, length);
    }
    if (start == c->start && ((marks_at(tile, start) | marks_at(tile, start + 1)) & MARK_CONTROLS))
        start++;
    if (start == c->start && c->units)
        start = skip_written(tile, start, items, c->units);
    bool moved = start > c->start;
    c->start = start;
    return moved ? VERDICT_LATER : VERDICT_OK;
}

static Candidate candidate(const Lanes *lanes, const Piece *piece, int32_t start) {
    Candidate c = {lanes, piece, lanes->phase->transfers.items + piece->transfer, start, 0};
    if (lanes->tiles[c.transfer->source].shares_units)
        c.units = piece_units(piece, c.transfer->address);
    return c;
}

int32_t lanes_find(const Lanes *lanes, const Piece *piece, int32_t from) {
    Candidate c = candidate(lanes, piece, MAX_OF(from, 0));
    uint32_t first = c.transfer->first_dest, end = first + c.transfer->dest_count;
    for (uint32_t i = first; i < end; i++) /* controls stand at event 1 at the earliest */
        c.start = MAX_OF(c.start, 1 - lanes->routes[i].shift[piece->paired]);
    for (;;) {
        Verdict verdict = check_sender(&c);
        for (uint32_t i = first; i < end && verdict == VERDICT_OK; i++)
            verdict = check_receiver(&c, i);
        if (verdict != VERDICT_LATER)
            return verdict == VERDICT_OK ? c.start : -1;
    }
}

/* ---- recording ------------------------------------------------------------------------------ */

static bool insert_send(SendWindows *list, SendWindow window) {
    if (!vec_reserve(list, 1))
        return false;
    size_t i = first_send_after(list, window.start);
    SendWindow *at = list->items + i;
    memmove(at + 1, at, (list->count++ - i) * sizeof *at);
    *at = window;
    return true;
}

static bool insert_recv(LaneTile *tile, RecvWindow window) {
    if (!vec_reserve(&tile->recvs, 1))
        return false;
    size_t i = first_recv_after(tile, window.source);
    RecvWindow *at = tile->recvs.items + i;
    memmove(at + 1, at, (tile->recvs.count++ - i) * sizeof *at);
    *at = window;
    Control controls[MAX_CONTROLS];
    size_t count = list_controls(tile, &window, controls);
    for (size_t k = 0; k < count; k++) {
        if (!mark(tile, controls[k].event, controls[k].mark))
            return false;
    }
    return true;
}

bool lanes_commit(Lanes *lanes, const Piece *piece, int32_t start, uint32_t message,
                  int32_t *completion) {
    Candidate c = candidate(lanes, piece, start);
    int32_t end = start + (int32_t)piece->items;
    SendWindow send = {start, end, c.units, message};
    *completion = MAX_OF(end, 6);
    LaneTile *sender = lanes->tiles + c.transfer->source;
    if (!insert_send(&sender->sends, send) || !mark(sender, start, MARK_SEND))
        return false;
    if (piece->paired) {
        LaneTile *partner = lanes->tiles + (c.transfer->source ^ 1);
        send.end = *completion;
        if (!insert_send(&partner->lent, send))
            return false;
    }
    for (uint32_t i = 0; i < c.transfer->dest_count; i++) {
        const XchgDest *dest = lanes->phase->dests.items + c.transfer->first_dest + i;
        LaneTile *tile = lanes->tiles + dest->tile;
        RecvWindow recv = receive_of(&c, c.transfer->first_dest + i);
        recv.address = dest->address + 4 * piece->word;
        recv.units = piece_units(piece, dest->address);
        recv.message = message;
        int32_t last = recv.source + lanes_payload_end(tile, &recv) + CHIP_EXCHANGE_TAIL_GUARD;
        *completion = MAX_OF(*completion, last);
        if (!insert_recv(tile, recv))
            return false;
    }
    return true;
}
