/* The verifier. It reads nothing but the words of the rows: decodes them, works out by intervals
 * which items every receive mux takes and where they are written, and holds the result against the
 * transfers and against every rule of the exchange. Schedules and their records are not looked at.
 */
#include "xchg/xchg.h"

#include "chip/chip.h"
#include "xchg/phase.h"
#include "xchg/row.h"

#include <stdlib.h>

/* A run of items that one mux took from one message. */
typedef struct Arrival {
    int32_t slot; /* write event of its first item */
    uint32_t items;
    uint32_t source;  /* logical tile */
    uint32_t address; /* byte address of its first item at the source */
    int32_t sent;     /* event at which the source sent it */
    bool paired;
    uint8_t direction;
} Arrival;

/* Bytes that were written. */
typedef struct Write {
    uint32_t tile, address, bytes;
    uint32_t source, source_address;
    int32_t slot, end; /* slots [slot, end) */
    int32_t sent;
} Write;

/* A time in which a paired item format is set: from its write to two events after the next one. */
typedef struct FormatWindow {
    int32_t begin, end;
    uint32_t format;
} FormatWindow;

typedef struct VerifyTile {
    RowProgram program;
    const XchgRow *row; /* NULL: the tile has none */
    VEC(FormatWindow) formats;
    VEC(Arrival) arrivals;
    uint32_t writes_mask, sends_mask;
    uint16_t physical;
} VerifyTile;

typedef struct Verifier {
    const XchgPhase *phase;
    VerifyTile *tiles;
    uint32_t tile_count, padded;
    VEC(Write) writes;
    Diag *diag;
} Verifier;

static Status no_memory(const Verifier *v) {
    return diag_error(v->diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory to verify an exchange");
}

#define VIOLATION(v, t, event, ...) violation((v), (t), (event), mem_printf(__VA_ARGS__))

static Status violation(const Verifier *v, uint32_t tile, int32_t event, char *text) {
    DiagPlace place = {.tile = (int32_t)tile, .object = v->phase->name};
    Status status = diag_error(v->diag, ERR_XCHG_VERIFY, place, "event %d: %s", event,
                               text ? text : "a rule of the exchange is broken");
    mem_free(text);
    return status;
}

#define TRY(call)                                                                                  \
    do {                                                                                           \
        Status status_ = (call);                                                                   \
        if (status_ != STATUS_OK)                                                                  \
            return status_;                                                                        \
    } while (0)

static uint32_t unit_of(uint32_t sctl) {
    return sctl & ROW_SCTL_PAIRED ? 8 : 4;
}

/* ---- decoding and the rules of one row ------------------------------------------------------ */

static bool list_formats(VerifyTile *tile) {
    const RowProgram *p = &tile->program;
    for (size_t i = 0; i < p->controls.count; i++) {
        const RowControl *c = p->controls.items + i;
        if (c->stream != ROW_PIC || c->selector != 1)
            continue;
        if (tile->formats.count > 0) {
            FormatWindow *last = tile->formats.items + tile->formats.count - 1;
            last->end = MIN_OF(last->end, c->event + 2);
        }
        if (c->value != 0 &&
            !vec_push(&tile->formats, (FormatWindow){c->event, INT32_MAX, c->value}))
            return false;
    }
    return true;
}

static Status decode_rows(Verifier *v, const XchgRows *rows) {
    for (size_t i = 0; i < rows->rows.count; i++) {
        const XchgRow *row = rows->rows.items + i;
        if (row->tile >= v->padded || v->tiles[row->tile].row || row->first_word % 2 != 0 ||
            (uint64_t)row->first_word + row->word_count > rows->words.count)
            return VIOLATION(v, row->tile, 0, "the row table is damaged");
        VerifyTile *tile = v->tiles + row->tile;
        tile->row = row;
        uint32_t index = 0;
        RowFault fault = row_decode(rows->words.items + row->first_word, row->word_count,
                                    &tile->program, &index);
        if (fault == ROW_NO_MEMORY)
            return no_memory(v);
        if (fault != ROW_OK || index != row->word_count)
            return VIOLATION(v, row->tile, 0, "word %u of the row cannot stand there", index);
        if (!list_formats(tile))
            return no_memory(v);
    }
    return STATUS_OK;
}

/* First format window that ends after `event`, or NULL. */
static const FormatWindow *format_after(const VerifyTile *tile, int32_t event) {
    size_t low = 0, high = tile->formats.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (tile->formats.items[middle].end > event)
            high = middle;
        else
            low = middle + 1;
    }
    return low < tile->formats.count ? tile->formats.items + low : NULL;
}

static Status check_row(const Verifier *v, uint32_t index) {
    const VerifyTile *tile = v->tiles + index;
    const RowProgram *p = &tile->program;
    for (size_t i = 0; i < p->controls.count; i++) {
        const RowControl *c = p->controls.items + i, *next = c + 1;
        if (c->event < 1 || c->event > (int32_t)p->horizon)
            return VIOLATION(v, index, c->event, "a control outside the row");
        if (i + 1 == p->controls.count || next->event != c->event)
            continue;
        const FormatWindow *format = format_after(tile, c->event);
        bool paired = format && format->begin <= c->event;
        if (c->stream == next->stream || c->selector || next->selector || paired)
            return VIOLATION(v, index, c->event,
                             "two controls in one event that are not an ordinary pointer and an "
                             "ordinary source");
    }
    const VerifyTile *partner = v->tiles + (index ^ 1);
    for (size_t i = 0; i < p->sends.count; i++) {
        const RowSend *s = p->sends.items + i;
        uint64_t begin = (uint64_t)s->address * unit_of(s->sctl);
        uint64_t end = begin + (uint64_t)s->items * unit_of(s->sctl);
        if (begin < CHIP_TILE_MEM_BASE || end > CHIP_TILE_MEM_END)
            return VIOLATION(v, index, s->start, "a send reads outside tile memory");
        if (s->items > CHIP_EXCHANGE_MAX_ITEMS)
            return VIOLATION(v, index, s->start, "a message of %u items", s->items);
        int32_t lane_end = MAX_OF(s->start + (int32_t)s->items, 6);
        if ((int32_t)p->horizon < lane_end)
            return VIOLATION(v, index, s->start, "the row returns before event %d", lane_end);
        if (!(s->sctl & ROW_SCTL_PAIRED))
            continue;
        if (!partner->row || (int32_t)partner->program.horizon < lane_end)
            return VIOLATION(v, index, s->start, "the partner does not lend its lane to the end");
        for (size_t k = 0; k < partner->program.sends.count; k++) {
            const RowSend *o = partner->program.sends.items + k;
            if (o->start < lane_end && s->start < o->start + (int32_t)o->items)
                return VIOLATION(v, index, s->start, "the partner sends during a paired message");
        }
    }
    return STATUS_OK;
}

/* ---- what every mux takes ------------------------------------------------------------------- */

/* Index of the first message that is not over at `event`. */
static size_t first_send_after(const RowProgram *p, int32_t event) {
    size_t low = 0, high = p->sends.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (p->sends.items[middle].start + (int32_t)p->sends.items[middle].items > event)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Items of `sender` that reach `dest` while its mux selects it during events [begin, end) of the
 * sender's clock; slots are the sender's event + `lag`. Counts the items. */
static Status take_items(Verifier *v, uint32_t sender, uint32_t dest, int32_t begin, int32_t end,
                         int32_t lag, bool paired, uint8_t direction, uint32_t *taken) {
    const RowProgram *p = &v->tiles[sender].program;
    *taken = 0;
    for (size_t i = first_send_after(p, begin); i < p->sends.count; i++) {
        const RowSend *s = p->sends.items + i;
        if (s->start >= end)
            break;
        int32_t from = MAX_OF(begin, s->start), to = MIN_OF(end, s->start + (int32_t)s->items);
        if (from >= to || !(s->sctl & direction))
            continue;
        if (((s->sctl & ROW_SCTL_PAIRED) != 0) != paired)
            return VIOLATION(v, dest, from + lag, "a mux of the other width takes items of tile %u",
                             sender);
        Arrival arrival = {
            .slot = from + lag,
            .items = (uint32_t)(to - from),
            .source = sender,
            .address = (s->address + (uint32_t)(from - s->start)) * unit_of(s->sctl),
            .sent = from,
            .paired = paired,
            .direction = direction,
        };
        *taken += arrival.items;
        if (!vec_push(&v->tiles[dest].arrivals, arrival))
            return no_memory(v);
    }
    return STATUS_OK;
}

/* One interval in which a mux control of tile `index` selects a source. */
static Status take_interval(Verifier *v, uint32_t index, const RowControl *c, int32_t end) {
    uint32_t d = v->tiles[index].physical;
    uint32_t s = c->selector ? c->value ^ (d & 2) : c->value;
    if (s >= CHIP_TILES || chip_tile_logical(s) >= v->padded)
        return VIOLATION(v, index, c->event, "the mux selects %u, which is no tile here", c->value);
    uint32_t sender = chip_tile_logical(s), taken;
    ChipRoute route = chip_route(s, d);
    uint8_t direction = (uint8_t)route.direction;
    if (!c->selector) {
        int32_t shift = route.time + 1;
        int32_t lag = shift + CHIP_EXCHANGE_RECEIVE_PIPE + 2 * (int32_t)chip_tile_row(d);
        TRY(take_items(v, sender, index, c->event - shift, end - shift, lag, false, direction,
                       &taken));
    } else {
        int32_t other = chip_route(s, d ^ 2).time;
        if (route.time > other)
            return VIOLATION(v, index, c->event, "the late member of a pair holds the mux control");
        int32_t lag = other + CHIP_EXCHANGE_RECEIVE_PIPE + 1 + 2 * (int32_t)chip_tile_row(d);
        TRY(take_items(v, sender, index, c->event - other, end - other, lag, true, direction,
                       &taken));
        TRY(take_items(v, sender, index ^ 1, c->event - other, end - other, lag, true, direction,
                       &taken));
    }
    if ((int32_t)taken != end - c->event)
        return VIOLATION(v, index, c->event,
                         "the mux selects tile %u for %d events, in which it sends %u items",
                         sender, end - c->event, taken);
    return STATUS_OK;
}

static Status take_all(Verifier *v, uint32_t index) {
    const RowProgram *p = &v->tiles[index].program;
    for (int selector = 0; selector < 2; selector++) {
        const RowControl *open = NULL;
        for (size_t i = 0; i < p->controls.count; i++) {
            const RowControl *c = p->controls.items + i;
            if (c->stream != ROW_XPIC || c->selector != selector)
                continue;
            if (open)
                TRY(take_interval(v, index, open, c->event));
            open = c->value == CHIP_MUX_NEUTRAL ? NULL : c;
        }
        if (open)
            return VIOLATION(v, index, open->event, "the mux is left on source %u", open->value);
    }
    return STATUS_OK;
}

/* ---- where it is written -------------------------------------------------------------------- */

static int compare_arrivals(const void *a, const void *b) {
    const Arrival *x = a, *y = b;
    return (x->slot > y->slot) - (x->slot < y->slot);
}

/* The write pointer of a tile while its arrivals are followed in order of time. */
typedef struct Pointer {
    const RowProgram *program;
    size_t next; /* next control to look at */
    uint32_t word;
    bool known;
} Pointer;

/* Applies pointer writes up to `slot`; returns the event of the next one after it. */
static int32_t advance_pointer(Pointer *pointer, int32_t slot) {
    const RowProgram *p = pointer->program;
    for (; pointer->next < p->controls.count; pointer->next++) {
        const RowControl *c = p->controls.items + pointer->next;
        if (c->stream != ROW_PIC || c->selector != 0)
            continue;
        if (c->event > slot)
            return c->event;
        pointer->word = c->value;
        pointer->known = true;
    }
    return INT32_MAX;
}

/* 64-bit items need their format set two events before, to the end; words keep clear of it. */
static Status check_format(const Verifier *v, uint32_t index, const Arrival *a) {
    const VerifyTile *tile = v->tiles + index;
    const FormatWindow *format = format_after(tile, a->slot);
    int32_t end = a->slot + (int32_t)a->items;
    bool good = a->paired ? format && format->begin + 2 <= a->slot && format->end >= end &&
                                format->format == a->direction
                          : !format || format->begin >= end;
    return good ? STATUS_OK
                : VIOLATION(v, index, a->slot, "items arrive in another format than is set");
}

static Status write_arrival(Verifier *v, uint32_t index, const Arrival *a, Pointer *pointer) {
    uint32_t unit = a->paired ? 8 : 4, done = 0;
    TRY(check_format(v, index, a));
    while (done < a->items) {
        int32_t slot = a->slot + (int32_t)done;
        int32_t change = advance_pointer(pointer, slot);
        uint32_t items = a->items - done;
        if (change - slot < (int32_t)items)
            items = (uint32_t)(change - slot);
        uint64_t address = 4 * (uint64_t)pointer->word;
        if (!pointer->known || address < CHIP_TILE_MEM_BASE || address % unit != 0 ||
            address + items * unit > CHIP_TILE_MEM_END)
            return VIOLATION(v, index, slot, "items are written outside tile memory");
        Write write = {index,
                       (uint32_t)address,
                       items * unit,
                       a->source,
                       a->address + done * unit,
                       slot,
                       slot + (int32_t)items,
                       a->sent + (int32_t)done};
        if (!vec_push(&v->writes, write))
            return no_memory(v);
        v->tiles[index].writes_mask |= chip_effective_mask(write.address, write.bytes);
        pointer->word += items * unit / 4;
        done += items;
    }
    return STATUS_OK;
}

static Status write_all(Verifier *v, uint32_t index) {
    VerifyTile *tile = v->tiles + index;
    if (tile->arrivals.count == 0)
        return STATUS_OK;
    if (!tile->row)
        return VIOLATION(v, index, 0, "items arrive at a tile without a row");
    qsort(tile->arrivals.items, tile->arrivals.count, sizeof *tile->arrivals.items,
          compare_arrivals);
    Pointer pointer = {.program = &tile->program};
    int32_t free_from = INT32_MIN;
    for (size_t i = 0; i < tile->arrivals.count; i++) {
        const Arrival *a = tile->arrivals.items + i;
        if (a->slot < free_from)
            return VIOLATION(v, index, a->slot, "two messages are written at once");
        TRY(write_arrival(v, index, a, &pointer));
        free_from = a->slot + (int32_t)a->items;
    }
    if ((int32_t)tile->program.horizon < free_from + CHIP_EXCHANGE_TAIL_GUARD)
        return VIOLATION(v, index, free_from, "the row returns within %d events of its last write",
                         CHIP_EXCHANGE_TAIL_GUARD);
    return STATUS_OK;
}

/* ---- memory elements ------------------------------------------------------------------------ */

static int compare_writes_by_time(const void *a, const void *b) {
    const Write *x = a, *y = b;
    if (x->tile != y->tile)
        return x->tile < y->tile ? -1 : 1;
    return (x->slot > y->slot) - (x->slot < y->slot);
}

static Status check_elements(const Verifier *v, uint32_t index, const Write *writes, size_t count) {
    const VerifyTile *tile = v->tiles + index;
    if (!(tile->writes_mask & tile->sends_mask))
        return STATUS_OK;
    size_t first = 0;
    for (size_t i = 0; i < tile->program.sends.count; i++) {
        const RowSend *s = tile->program.sends.items + i;
        int32_t end = MAX_OF(s->start + (int32_t)s->items, 6);
        uint32_t unit = unit_of(s->sctl);
        uint32_t mask = chip_effective_mask(s->address * unit, s->items * unit);
        while (first < count && writes[first].end + CHIP_EXCHANGE_TAIL_GUARD <= s->start)
            first++;
        for (size_t k = first; k < count && writes[k].slot < end; k++) {
            const Write *w = writes + k;
            if (w->end + CHIP_EXCHANGE_TAIL_GUARD > s->start &&
                (chip_effective_mask(w->address, w->bytes) & mask))
                return VIOLATION(v, index, s->start,
                                 "a send and a receive meet in one memory element (0x%x)",
                                 w->address);
        }
    }
    return STATUS_OK;
}

static Status check_fetch(const Verifier *v, const XchgRow *row, uint32_t address) {
    const VerifyTile *tile = v->tiles + row->tile;
    uint32_t bytes = 4 * row->word_count;
    if (address % 8 != 0 || address < CHIP_TILE_MEM_BASE ||
        address + bytes > (uint32_t)CHIP_REGION1_BASE)
        return VIOLATION(v, row->tile, 0, "a row at 0x%x cannot be executed", address);
    uint32_t fetched = chip_effective_mask(address, bytes + CHIP_FETCH_LOOKAHEAD_BYTES);
    if (fetched & (tile->writes_mask | tile->sends_mask))
        return VIOLATION(v, row->tile, 0,
                         "the row at 0x%x is fetched from an element that is sent from or written",
                         address);
    return STATUS_OK;
}

static Status check_memory(Verifier *v, const XchgRows *rows, const uint32_t *row_address) {
    if (v->writes.count > 1)
        qsort(v->writes.items, v->writes.count, sizeof *v->writes.items, compare_writes_by_time);
    size_t w = 0;
    for (uint32_t i = 0; i < v->padded; i++) {
        const RowProgram *p = &v->tiles[i].program;
        for (size_t k = 0; k < p->sends.count; k++) {
            uint32_t unit = unit_of(p->sends.items[k].sctl);
            v->tiles[i].sends_mask |= chip_effective_mask(p->sends.items[k].address * unit,
                                                          p->sends.items[k].items * unit);
        }
        size_t begin = w;
        while (w < v->writes.count && v->writes.items[w].tile == i)
            w++;
        TRY(check_elements(v, i, v->writes.items + begin, w - begin));
    }
    for (size_t i = 0; row_address && i < rows->rows.count; i++)
        TRY(check_fetch(v, rows->rows.items + i, row_address[i]));
    return STATUS_OK;
}

/* ---- against the transfers ------------------------------------------------------------------ */

typedef struct Expected {
    uint32_t tile, address, bytes;
    uint32_t source, source_address;
    uint32_t transfer;
    uint32_t reach; /* largest end of this and all earlier ones of the tile */
} Expected;

/* A piece of an expected destination that a write brought. */
typedef struct Match {
    uint32_t expected, offset, bytes;
} Match;

typedef struct Span {
    int32_t first_sent, completion;
} Span;

static int compare_expected(const void *a, const void *b) {
    const Expected *x = a, *y = b;
    if (x->tile != y->tile)
        return x->tile < y->tile ? -1 : 1;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return (x->transfer > y->transfer) - (x->transfer < y->transfer);
}

static int compare_matches(const void *a, const void *b) {
    const Match *x = a, *y = b;
    if (x->expected != y->expected)
        return x->expected < y->expected ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

typedef VEC(Expected) ExpectedList;

static bool list_expected(const XchgPhase *phase, ExpectedList *list) {
    for (uint32_t i = 0; i < phase->transfers.count; i++) {
        const XchgTransfer *t = phase->transfers.items + i;
        for (uint32_t k = 0; k < t->dest_count; k++) {
            const XchgDest *d = phase->dests.items + t->first_dest + k;
            Expected e = {d->tile, d->address, 4 * t->words, t->source, t->address, i, 0};
            if (!vec_push(list, e))
                return false;
        }
    }
    if (list->count > 1)
        qsort(list->items, list->count, sizeof *list->items, compare_expected);
    for (size_t i = 0; i < list->count; i++) {
        Expected *e = list->items + i;
        e->reach = e->address + e->bytes;
        if (i > 0 && e[-1].tile == e->tile)
            e->reach = MAX_OF(e->reach, e[-1].reach);
    }
    return true;
}

/* The expected destination that holds this write whole and takes these bytes, or SIZE_MAX. */
static size_t find_expected(const ExpectedList *list, const Write *w) {
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const Expected *e = list->items + middle;
        if (e->tile > w->tile || (e->tile == w->tile && e->address > w->address))
            high = middle;
        else
            low = middle + 1;
    }
    for (size_t i = low; i > 0; i--) {
        const Expected *e = list->items + i - 1;
        if (e->tile != w->tile || e->reach <= w->address)
            break;
        if (w->address + w->bytes <= e->address + e->bytes && e->source == w->source &&
            w->source_address - e->source_address == w->address - e->address)
            return i - 1;
    }
    return SIZE_MAX;
}

typedef struct Comparison {
    ExpectedList expected;
    VEC(Match) matches;
    Span *spans; /* per transfer */
} Comparison;

static Status match_writes(const Verifier *v, Comparison *c) {
    for (size_t i = 0; i < v->writes.count; i++) {
        const Write *w = v->writes.items + i;
        size_t index = find_expected(&c->expected, w);
        if (index == SIZE_MAX)
            return VIOLATION(v, w->tile, w->slot,
                             "%u bytes from 0x%x of tile %u are written to 0x%x, which no transfer "
                             "asks for",
                             w->bytes, w->source_address, w->source, w->address);
        const Expected *e = c->expected.items + index;
        Match match = {(uint32_t)index, w->address - e->address, w->bytes};
        if (!vec_push(&c->matches, match))
            return no_memory(v);
        Span *span = c->spans + e->transfer;
        span->first_sent = MIN_OF(span->first_sent, w->sent);
        span->completion = MAX_OF(span->completion, w->end);
        span->completion = MAX_OF(span->completion, w->sent + (w->end - w->slot));
    }
    return STATUS_OK;
}

static Status check_complete(const Verifier *v, Comparison *c) {
    if (c->matches.count > 1)
        qsort(c->matches.items, c->matches.count, sizeof *c->matches.items, compare_matches);
    size_t m = 0;
    for (uint32_t i = 0; i < c->expected.count; i++) {
        const Expected *e = c->expected.items + i;
        uint32_t offset = 0;
        for (; m < c->matches.count && c->matches.items[m].expected == i; m++) {
            if (c->matches.items[m].offset != offset)
                break;
            offset += c->matches.items[m].bytes;
        }
        if (offset != e->bytes)
            return VIOLATION(v, e->tile, 0,
                             "transfer %u from tile %u: byte %u of its destination 0x%x does not "
                             "arrive exactly once",
                             e->transfer, e->source, offset, e->address);
    }
    return STATUS_OK;
}

static Status check_order(const Verifier *v, const Comparison *c) {
    PhaseEdges edges;
    bool ok = phase_edges(v->phase, &edges);
    Status status = ok ? STATUS_OK : no_memory(v);
    for (size_t i = 0; status == STATUS_OK && i < edges.count; i++) {
        const PhaseEdge *e = edges.items + i;
        if (c->spans[e->after].first_sent < c->spans[e->before].completion)
            status = VIOLATION(v, v->phase->transfers.items[e->after].source,
                               c->spans[e->after].first_sent,
                               "transfer %u starts before transfer %u, on which it depends, is "
                               "complete",
                               e->after, e->before);
    }
    vec_free(&edges);
    return status;
}

static Status compare_transfers(const Verifier *v) {
    Comparison c = {.spans = mem_alloc(v->phase->transfers.count + 1, sizeof *c.spans)};
    Status status = STATUS_OK;
    if (!c.spans || !list_expected(v->phase, &c.expected))
        status = no_memory(v);
    for (size_t i = 0; c.spans && i < v->phase->transfers.count; i++)
        c.spans[i] = (Span){INT32_MAX, INT32_MIN};
    if (status == STATUS_OK)
        status = match_writes(v, &c);
    if (status == STATUS_OK)
        status = check_complete(v, &c);
    if (status == STATUS_OK)
        status = check_order(v, &c);
    vec_free(&c.expected);
    vec_free(&c.matches);
    mem_free(c.spans);
    return status;
}

/* ---- entry ---------------------------------------------------------------------------------- */

static Status verify_tiles(Verifier *v, const XchgRows *rows, const uint32_t *row_address) {
    TRY(decode_rows(v, rows));
    for (uint32_t i = 0; i < v->padded; i++)
        TRY(check_row(v, i));
    for (uint32_t i = 0; i < v->padded; i++)
        TRY(take_all(v, i));
    for (uint32_t i = 0; i < v->padded; i++)
        TRY(write_all(v, i));
    TRY(compare_transfers(v));
    return check_memory(v, rows, row_address);
}

Status xchg_verify(const XchgPhase *phase, uint32_t tile_count, const XchgRows *rows,
                   const uint32_t *row_address, Diag *diag) {
    Status status = phase_check(phase, tile_count, diag);
    if (status != STATUS_OK)
        return status;
    Verifier v = {.phase = phase,
                  .tile_count = tile_count,
                  .padded = tile_count + tile_count % 2,
                  .diag = diag};
    v.tiles = mem_alloc(v.padded, sizeof *v.tiles);
    if (!v.tiles)
        return no_memory(&v);
    for (uint32_t i = 0; i < v.padded; i++)
        v.tiles[i].physical = (uint16_t)chip_tile_physical(i);
    status = verify_tiles(&v, rows, row_address);
    for (uint32_t i = 0; i < v.padded; i++) {
        row_program_free(&v.tiles[i].program);
        vec_free(&v.tiles[i].arrivals);
        vec_free(&v.tiles[i].formats);
    }
    mem_free(v.tiles);
    vec_free(&v.writes);
    return status;
}
