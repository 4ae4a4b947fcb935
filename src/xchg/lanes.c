#include "xchg/lanes.h"

#include "chip/chip.h"

#include <string.h>

bool lanes_init(Lanes *lanes, const XchgPhase *phase, uint32_t tile_count) {
    *lanes = (Lanes){.phase = phase, .tile_count = tile_count};
    /* One more when the count is odd: the last tile's partner may lend its lane. */
    uint32_t padded = tile_count + tile_count % 2;
    lanes->tiles = mem_alloc(padded, sizeof *lanes->tiles);
    uint32_t *written = mem_alloc(padded, sizeof *written);
    if (!lanes->tiles || !written) {
        mem_free(written);
        return false;
    }
    for (uint32_t i = 0; i < padded; i++) {
        lanes->tiles[i].physical = (uint16_t)chip_tile_physical(i);
        lanes->tiles[i].row2 = (int16_t)(2 * chip_tile_row(lanes->tiles[i].physical));
    }
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
    mem_free(written);
    return true;
}

void lanes_free(Lanes *lanes) {
    uint32_t padded = lanes->tile_count + lanes->tile_count % 2;
    for (uint32_t i = 0; lanes->tiles && i < padded; i++) {
        vec_free(&lanes->tiles[i].sends);
        vec_free(&lanes->tiles[i].lent);
        vec_free(&lanes->tiles[i].recvs);
    }
    mem_free(lanes->tiles);
    lanes->tiles = NULL;
}

void lanes_clear(Lanes *lanes) {
    uint32_t padded = lanes->tile_count + lanes->tile_count % 2;
    for (uint32_t i = 0; i < padded; i++)
        lanes->tiles[i].sends.count = lanes->tiles[i].lent.count = lanes->tiles[i].recvs.count = 0;
}

int32_t lanes_source_shift(const Lanes *lanes, uint32_t source, uint32_t dest, bool paired) {
    uint32_t s = lanes->tiles[source].physical, d = lanes->tiles[dest].physical;
    int32_t time = chip_route(s, d).time;
    if (!paired)
        return time + 1;
    return MAX_OF(time, chip_route(s, d ^ 2).time);
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
static size_t first_send_after(const SendWindow *windows, size_t count, int32_t event) {
    size_t low = 0, high = count;
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
    size_t low = 0, high = tile->recvs.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (tile->recvs.items[middle].source > event)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Earliest start >= start at which [start, start + length) meets no window of the list. */
static int32_t skip_windows(const SendWindow *windows, size_t count, int32_t start,
                            int32_t length) {
    for (size_t i = first_send_after(windows, count, start); i < count; i++) {
        if (windows[i].start >= start + length)
            break;
        start = windows[i].end;
    }
    return start;
}

static bool send_starts_at(const LaneTile *tile, int32_t event) {
    size_t i = first_send_after(tile->sends.items, tile->sends.count, event);
    return i < tile->sends.count && tile->sends.items[i].start == event;
}

/* Which controls of recorded receives stand at `event`. */
static unsigned controls_at(const LaneTile *tile, int32_t event) {
    unsigned mask = 0;
    size_t i = first_recv_after(tile, event);
    if (i > 0) {
        const RecvWindow *recv = tile->recvs.items + i - 1;
        if (recv->source == event || recv->source + recv->items == event)
            mask |= !recv->paired ? CONTROL_SOURCE : recv->early ? CONTROL_PAIRED_SOURCE : 0;
    }
    /* A window that ends here may stand before one that starts here. */
    if (i > 1) {
        const RecvWindow *recv = tile->recvs.items + i - 2;
        if (recv->source + recv->items == event)
            mask |= !recv->paired ? CONTROL_SOURCE : recv->early ? CONTROL_PAIRED_SOURCE : 0;
    }
    for (int32_t back = 51; back <= 53; back++) {
        int32_t source = event - back - tile->row2;
        i = first_recv_after(tile, source);
        for (size_t k = i; k > 0 && k + 2 > i; k--) {
            const RecvWindow *recv = tile->recvs.items + k - 1;
            if (!recv->paired && back == 52 && recv->source == source)
                mask |= CONTROL_POINTER;
            if (recv->paired && back == 53 && recv->source == source)
                mask |= CONTROL_PAIRED_POINTER;
            if (recv->paired && back == 51 &&
                (recv->source == source || recv->source + recv->items == source))
                mask |= CONTROL_FORMAT;
        }
    }
    return mask;
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

/* Earliest source event >= recv->source that keeps the windows of this tile apart. */
static int32_t skip_recvs(const LaneTile *tile, RecvWindow recv) {
    for (;;) {
        size_t i = first_recv_after(tile, recv.source);
        const RecvWindow *before = i > 0 ? tile->recvs.items + i - 1 : NULL;
        const RecvWindow *after = i < tile->recvs.count ? tile->recvs.items + i : NULL;
        if (before) {
            int32_t end = before->source + before->items;
            if (!gap_allowed(before, &recv, recv.source - end)) {
                int32_t next = end + least_gap(before, &recv);
                recv.source = next > recv.source ? next : end + 2;
                continue;
            }
        }
        if (after && !gap_allowed(&recv, after, after->source - recv.source - recv.items)) {
            recv.source = after->source + after->items;
            continue;
        }
        return recv.source;
    }
}

/* Whether a control of `kind` may join those of `mask` in one event. The same kind of source or
 * format control there is the neighbour's end, which this one replaces. */
static bool may_share(unsigned kind, unsigned mask, bool lonely) {
    unsigned others = mask & ~kind;
    if (others == 0)
        return kind != CONTROL_POINTER || mask == 0;
    if (lonely)
        return false;
    return (kind == CONTROL_SOURCE && others == CONTROL_POINTER) ||
           (kind == CONTROL_POINTER && others == CONTROL_SOURCE);
}

typedef struct Candidate {
    const Lanes *lanes;
    const Piece *piece;
    const XchgTransfer *transfer;
    int32_t start;
} Candidate;

typedef enum Verdict { VERDICT_OK, VERDICT_LATER, VERDICT_NEVER } Verdict;

/* A control event of the candidate at tile `dest`. */
static Verdict check_control(const Candidate *c, uint32_t dest, unsigned kind, int32_t event) {
    const LaneTile *tile = c->lanes->tiles + dest;
    if (!may_share(kind, controls_at(tile, event), c->piece->lonely))
        return VERDICT_LATER;
    if (send_starts_at(tile, event) || send_starts_at(tile, event - 1))
        return VERDICT_LATER;
    if (dest == c->transfer->source && event == c->start + 1)
        return VERDICT_NEVER;
    return VERDICT_OK;
}

static Verdict check_controls(const Candidate *c, uint32_t dest, const RecvWindow *recv) {
    const LaneTile *tile = c->lanes->tiles + dest;
    int32_t first = recv->source, last = first + recv->items;
    int32_t payload = first + payload_begin(tile, recv->paired);
    struct {
        unsigned kind;
        int32_t event;
    } controls[5];
    size_t count = 0;
    if (!recv->paired || recv->early) {
        unsigned kind = recv->paired ? CONTROL_PAIRED_SOURCE : CONTROL_SOURCE;
        controls[count].kind = kind, controls[count++].event = first;
        controls[count].kind = kind, controls[count++].event = last;
    }
    if (recv->paired) {
        controls[count].kind = CONTROL_FORMAT, controls[count++].event = payload;
        controls[count].kind = CONTROL_FORMAT, controls[count++].event = payload + recv->items;
        controls[count].kind = CONTROL_PAIRED_POINTER, controls[count++].event = payload + 2;
    } else {
        controls[count].kind = CONTROL_POINTER, controls[count++].event = payload;
    }
    for (size_t i = 0; i < count; i++) {
        Verdict verdict = check_control(c, dest, controls[i].kind, controls[i].event);
        if (verdict != VERDICT_OK)
            return verdict;
        for (size_t k = 0; k < i; k++) {
            if (controls[k].event == controls[i].event && (recv->paired || c->piece->lonely))
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

static bool send_clashes(const LaneTile *tile, int32_t start, int32_t end, uint32_t units) {
    for (size_t i = 0; i < tile->recvs.count; i++) {
        if (units_clash(tile, start, end, units, tile->recvs.items + i))
            return true;
    }
    return false;
}

static bool recv_clashes(const LaneTile *tile, const RecvWindow *recv) {
    for (size_t i = 0; i < tile->sends.count; i++) {
        const SendWindow *send = tile->sends.items + i;
        if (units_clash(tile, send->start, send->end, send->units, recv))
            return true;
    }
    return false;
}

static uint32_t piece_bytes(const Piece *piece) {
    return piece->items * (piece->paired ? 8 : 4);
}

static RecvWindow receive_of(const Candidate *c, const XchgDest *dest) {
    const Lanes *lanes = c->lanes;
    uint32_t s = lanes->tiles[c->transfer->source].physical, d = lanes->tiles[dest->tile].physical;
    uint32_t address = dest->address + 4 * c->piece->word;
    return (RecvWindow){
        .source =
            c->start + lanes_source_shift(lanes, c->transfer->source, dest->tile, c->piece->paired),
        .items = (int32_t)c->piece->items,
        .address = address,
        .units = chip_effective_mask(address, piece_bytes(c->piece)),
        .direction = (uint8_t)chip_route(s, d).direction,
        .paired = c->piece->paired,
        .early = c->piece->paired && chip_route(s, d).time < chip_route(s, d ^ 2).time,
    };
}

static Verdict check_receiver(Candidate *c, const XchgDest *dest) {
    const LaneTile *tile = c->lanes->tiles + dest->tile;
    RecvWindow recv = receive_of(c, dest);
    int32_t source = skip_recvs(tile, recv);
    if (source > recv.source) {
        c->start += source - recv.source;
        return VERDICT_LATER;
    }
    Verdict verdict = check_controls(c, dest->tile, &recv);
    if (verdict == VERDICT_OK && tile->shares_units) {
        if (recv_clashes(tile, &recv))
            verdict = VERDICT_LATER;
        uint32_t own =
            chip_effective_mask(c->transfer->address + 4 * c->piece->word, piece_bytes(c->piece));
        if (dest->tile == c->transfer->source &&
            units_clash(tile, c->start, c->start + recv.items, own, &recv))
            return VERDICT_NEVER;
    }
    if (verdict == VERDICT_LATER)
        c->start++;
    return verdict;
}

/* The sender's side: raises the start past its own lane, and past the partner's when paired. */
static Verdict check_sender(Candidate *c) {
    uint32_t source = c->transfer->source;
    const LaneTile *tile = c->lanes->tiles + source, *partner = c->lanes->tiles + (source ^ 1);
    int32_t items = (int32_t)c->piece->items, start = c->start;
    start = skip_windows(tile->sends.items, tile->sends.count, start, items);
    start = skip_windows(tile->lent.items, tile->lent.count, start, items);
    if (c->piece->paired) {
        /* The partner's lane is taken to event 6 at least, as the row of the sender is. */
        int32_t length = MAX_OF(start + items, 6) - start;
        start = skip_windows(partner->sends.items, partner->sends.count, start, length);
        start = skip_windows(partner->lent.items, partner->lent.count, start, length);
    }
    if (start == c->start && (controls_at(tile, start) || controls_at(tile, start + 1)))
        start++;
    if (start == c->start && tile->shares_units &&
        send_clashes(
            tile, start, start + items,
            chip_effective_mask(c->transfer->address + 4 * c->piece->word, piece_bytes(c->piece))))
        start++;
    bool moved = start > c->start;
    c->start = start;
    return moved ? VERDICT_LATER : VERDICT_OK;
}

int32_t lanes_find(const Lanes *lanes, const Piece *piece, int32_t from) {
    const XchgTransfer *transfer = lanes->phase->transfers.items + piece->transfer;
    const XchgDest *dests = lanes->phase->dests.items + transfer->first_dest;
    Candidate c = {lanes, piece, transfer, MAX_OF(from, 0)};
    for (uint32_t i = 0; i < transfer->dest_count; i++) {
        int32_t shift = lanes_source_shift(lanes, transfer->source, dests[i].tile, piece->paired);
        c.start = MAX_OF(c.start, 1 - shift); /* controls stand at event 1 at the earliest */
    }
    for (;;) {
        Verdict verdict = check_sender(&c);
        for (uint32_t i = 0; i < transfer->dest_count && verdict == VERDICT_OK; i++)
            verdict = check_receiver(&c, dests + i);
        if (verdict != VERDICT_LATER)
            return verdict == VERDICT_OK ? c.start : -1;
    }
}

/* ---- recording ------------------------------------------------------------------------------ */

static bool insert_send(LaneTile *tile, bool lent, SendWindow window) {
    if (lent) {
        if (!vec_reserve(&tile->lent, 1))
            return false;
        size_t i = first_send_after(tile->lent.items, tile->lent.count, window.start);
        SendWindow *at = tile->lent.items + i;
        memmove(at + 1, at, (tile->lent.count++ - i) * sizeof *at);
        *at = window;
        return true;
    }
    if (!vec_reserve(&tile->sends, 1))
        return false;
    size_t i = first_send_after(tile->sends.items, tile->sends.count, window.start);
    SendWindow *at = tile->sends.items + i;
    memmove(at + 1, at, (tile->sends.count++ - i) * sizeof *at);
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
    return true;
}

bool lanes_commit(Lanes *lanes, const Piece *piece, int32_t start, uint32_t message,
                  int32_t *completion) {
    const XchgTransfer *transfer = lanes->phase->transfers.items + piece->transfer;
    Candidate c = {lanes, piece, transfer, start};
    int32_t end = start + (int32_t)piece->items;
    uint32_t units = chip_effective_mask(transfer->address + 4 * piece->word, piece_bytes(piece));
    SendWindow send = {start, end, units, message};
    *completion = MAX_OF(end, 6);
    if (!insert_send(lanes->tiles + transfer->source, false, send))
        return false;
    if (piece->paired) {
        send.end = *completion;
        if (!insert_send(lanes->tiles + (transfer->source ^ 1), true, send))
            return false;
    }
    for (uint32_t i = 0; i < transfer->dest_count; i++) {
        const XchgDest *dest = lanes->phase->dests.items + transfer->first_dest + i;
        LaneTile *tile = lanes->tiles + dest->tile;
        RecvWindow recv = receive_of(&c, dest);
        recv.message = message;
        int32_t last = recv.source + lanes_payload_end(tile, &recv) + CHIP_EXCHANGE_TAIL_GUARD;
        *completion = MAX_OF(*completion, last);
        if (!insert_recv(tile, recv))
            return false;
    }
    return true;
}
