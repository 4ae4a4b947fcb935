#include "sim/fabric.h"

#include "chip/chip.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define SCTL_PAIRED 4u

/* All clocks advance together, a slice at a time, tile after tile. That keeps the order of time: an
 * item is on its way for 19 events at least (the route times of chip.h), so that what depends on a
 * write of this slice is written in a later one. */
#define SLICE 16

/* Longer than any item is on its way. */
#define FLIGHT 256

/* A row that sends runs to this event at least. */
#define SENDER_EVENTS 6

/* Items of 64 bits are stored in the format that was set this much before. */
#define FORMAT_LAG 2

/* One of a tile's two receive multiplexers. */
typedef struct Mux {
    size_t next;     /* its next control in the row, or their count */
    uint32_t source; /* logical tile, or FABRIC_NONE: connected to nothing */
    int32_t flight;  /* events from the source's send to the write here */
    uint32_t direction;
    uint32_t message; /* of the source: the one that is being received, or the next one */
} Mux;

/* Consecutive items of one message, written in consecutive events to consecutive addresses. */
typedef struct Run {
    uint32_t address, bytes;
    int32_t begin, end;
    uint32_t source, message;
    uint32_t from; /* address of the first item at the source */
} Run;

typedef struct Port {
    const FabricRow *row;
    uint32_t physical;
    int32_t pipe;           /* events from the mux to memory */
    uint32_t first_message; /* of this tile in Fabric.deliveries */

    Mux mux[2]; /* ordinary, paired */
    size_t pic; /* next control for pointer and format */
    uint32_t base, pointer;
    bool pointed;
    uint32_t format;      /* as last written */
    int32_t words_from;   /* a format written before still holds back words until this event */
    size_t lagging;       /* next control for item_format */
    uint32_t item_format; /* as written FORMAT_LAG events ago */
    VEC(Run) runs;
} Port;

/* What became of one message. */
typedef struct Delivery {
    int32_t completion; /* sent whole, and the last of its items written */
    bool own, other;    /* received by its sender, by other tiles */
} Delivery;

typedef struct Fabric {
    const FabricPhase *phase;
    Port *ports; /* an even number: partners stand side by side */
    uint32_t port_count;
    Delivery *deliveries;
    FabricTrap *trap;
    bool out_of_memory;
} Fabric;

static const FabricRow no_row;

/* ---- violations ----------------------------------------------------------------------------- */

static TrapClass class_of(Status code) {
    switch ((int)code) {
    case ERR_SIM_XCHG_ELEMENT:
    case ERR_SIM_XCHG_FETCH: return TRAP_ELEMENT_CONFLICT;
    case ERR_SIM_XCHG_ADDRESS:
    case ERR_SIM_XCHG_MISALIGNED:
    case ERR_SIM_XCHG_WORKERS: return TRAP_UNDEFINED;
    case ERR_NO_MEMORY: return TRAP_UNSUPPORTED;
    default: return TRAP_UNPREDICTABLE;
    }
}

static ChipReceiveError receive_error_of(Status code) {
    switch ((int)code) {
    case ERR_SIM_XCHG_ELEMENT: return CHIP_RERR_CLASH_INSTR;
    case ERR_SIM_XCHG_FETCH: return CHIP_RERR_CLASH_IFETCH;
    case ERR_SIM_XCHG_ADDRESS: return CHIP_RERR_ADDR;
    case ERR_SIM_XCHG_WORKERS: return CHIP_RERR_WORKERS;
    default: return CHIP_RERR_NONE;
    }
}

/* A violation at an event of a tile, of which nothing else is known. */
static FabricTrap at(Status code, uint32_t tile, int32_t event) {
    return (FabricTrap){
        .code = code,
        .class = class_of(code),
        .receive_error = receive_error_of(code),
        .tile = tile,
        .event = event,
        .source = FABRIC_NONE,
        .message = FABRIC_NONE,
        .element = FABRIC_NONE,
    };
}

static FabricTrap coded(FabricTrap trap, Status code) {
    trap.code = code;
    trap.class = class_of(code);
    trap.receive_error = receive_error_of(code);
    return trap;
}

static FabricTrap with_message(FabricTrap trap, uint32_t source, uint32_t message) {
    trap.source = source;
    trap.message = message;
    return trap;
}

static FabricTrap with_address(FabricTrap trap, uint32_t address) {
    trap.address = address;
    trap.element = chip_address_ok(address) ? chip_effective_element(address) : FABRIC_NONE;
    return trap;
}

/* Keeps the first violation by event, then by tile. They do not depend on each other: no time in a
 * phase depends on data. */
__attribute__((format(printf, 3, 4))) static void violate(Fabric *f, FabricTrap trap,
                                                          const char *format, ...) {
    const FabricTrap *first = f->trap;
    if (first->code != STATUS_OK &&
        (first->event < trap.event || (first->event == trap.event && first->tile <= trap.tile)))
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(trap.text, sizeof trap.text, format, arguments);
    va_end(arguments);
    *f->trap = trap;
}

/* ---- rows by themselves --------------------------------------------------------------------- */

static uint32_t item_size(uint32_t sctl) {
    return sctl & SCTL_PAIRED ? 8 : 4;
}

static int32_t send_end(const FabricSend *send) {
    return send->start + (int32_t)send->items;
}

/* To this event the sender's row must run, and a partner must lend its lane. */
static int32_t lane_end(const FabricSend *send) {
    return MAX_OF(send_end(send), SENDER_EVENTS);
}

static uint32_t send_units(const FabricSend *send) {
    return chip_effective_mask(send->address, send->items * item_size(send->sctl));
}

static bool send_readable(const FabricSend *send) {
    uint64_t end = send->address + (uint64_t)send->items * item_size(send->sctl);
    return send->address >= CHIP_TILE_MEM_BASE && end <= CHIP_TILE_MEM_END &&
           send->address % item_size(send->sctl) == 0;
}

static void check_partner(Fabric *f, uint32_t tile, uint32_t message) {
    const FabricSend *send = f->ports[tile].row->sends.items + message;
    const FabricRow *partner = f->ports[tile ^ 1].row;
    FabricTrap trap = with_message(at(ERR_SIM_XCHG_PARTNER, tile, send->start), tile, message);
    if (!partner->active || partner->event < lane_end(send))
        violate(f, trap, "64-bit items take the lane of tile %u to event %d; its row ends at %d",
                tile ^ 1, lane_end(send), partner->event);
    for (size_t i = 0; i < partner->sends.count; i++) {
        const FabricSend *other = partner->sends.items + i;
        if (other->start < lane_end(send) && send->start < send_end(other))
            violate(f, trap, "64-bit items take the lane of tile %u, which sends at event %d",
                    tile ^ 1, other->start);
    }
}

static void check_send(Fabric *f, uint32_t tile, uint32_t message) {
    const FabricRow *row = f->ports[tile].row;
    const FabricSend *send = row->sends.items + message;
    assert(send->items > 0 && (message == 0 || send->start >= send_end(send - 1)));
    FabricTrap trap = with_message(at(STATUS_OK, tile, send->start), tile, message);
    if (send->items > CHIP_EXCHANGE_MAX_ITEMS)
        violate(f, coded(trap, ERR_SIM_XCHG_LENGTH), "a message of %u items", send->items);
    trap = with_address(trap, send->address);
    if (send->address % item_size(send->sctl) != 0)
        violate(f, coded(trap, ERR_SIM_XCHG_MISALIGNED), "64-bit items are sent from 0x%05X",
                send->address);
    else if (!send_readable(send))
        violate(f, coded(trap, ERR_SIM_XCHG_ADDRESS), "%u items are sent from 0x%05X", send->items,
                send->address);
    if (row->event < lane_end(send))
        violate(f, at(ERR_SIM_XCHG_RETURN, tile, row->event),
                "the row returns before event %d, until which a message needs it", lane_end(send));
    if (send->sctl & SCTL_PAIRED)
        check_partner(f, tile, message);
}

/* The logical tile that an XPIC value selects, FABRIC_NONE for none. */
static uint32_t selected(const Fabric *f, const Port *port, const FabricControl *c) {
    uint32_t physical = c->selector ? c->value ^ (port->physical & 2) : c->value;
    if (c->value == CHIP_MUX_NEUTRAL || physical >= CHIP_TILES)
        return FABRIC_NONE;
    uint32_t logical = chip_tile_logical(physical);
    return logical < f->port_count ? logical : FABRIC_NONE;
}

static void check_source(Fabric *f, uint32_t tile, const FabricControl *c) {
    const Port *port = f->ports + tile;
    if (c->value == CHIP_MUX_NEUTRAL)
        return;
    uint32_t source = selected(f, port, c);
    if (source == FABRIC_NONE) {
        violate(f, at(ERR_SIM_XCHG_SOURCE, tile, c->event), "the mux selects 0x%X, no tile here",
                c->value);
        return;
    }
    uint32_t s = f->ports[source].physical;
    if (c->selector && chip_route(s, port->physical).time > chip_route(s, port->physical ^ 2).time)
        violate(f, at(ERR_SIM_XCHG_LATE, tile, c->event),
                "its partner is nearer to tile %u and must hold the mux of the pair", source);
}

/* An ordinary pointer and an ordinary source share an event, nothing else does. `paired`: the
 * pointer stands in a time of 64-bit items. */
static bool may_meet(const FabricControl *a, const FabricControl *b, bool paired) {
    return a->stream != b->stream && a->selector == 0 && b->selector == 0 && !paired;
}

static void check_controls(Fabric *f, uint32_t tile) {
    const FabricRow *row = f->ports[tile].row;
    size_t send = 0;
    bool paired = false;              /* a paired format is set */
    int32_t paired_until = INT32_MIN; /* or was, and is in effect until here */
    uint32_t open[2] = {CHIP_MUX_NEUTRAL, CHIP_MUX_NEUTRAL};
    for (size_t i = 0; i < row->controls.count; i++) {
        const FabricControl *c = row->controls.items + i;
        assert(i == 0 || c[-1].event <= c->event);
        while (send < row->sends.count && row->sends.items[send].start + 1 < c->event)
            send++;
        if (send < row->sends.count && row->sends.items[send].start + 1 == c->event)
            violate(f, at(ERR_SIM_XCHG_CONTROLS, tile, c->event),
                    "a receive control stands one event after a message starts");
        if (i > 0 && c[-1].event == c->event &&
            (!may_meet(c - 1, c, paired || c->event < paired_until) ||
             (i > 1 && c[-2].event == c->event)))
            violate(f, at(ERR_SIM_XCHG_CONTROLS, tile, c->event),
                    "receive controls that no instruction carries together");
        if (c->stream == FABRIC_XPIC) {
            check_source(f, tile, c);
            open[c->selector] = c->value;
        } else if (c->selector == 1) {
            if (paired)
                paired_until = c->event + FORMAT_LAG;
            paired = c->value != 0;
        }
    }
    for (int i = 0; i < 2; i++)
        if (open[i] != CHIP_MUX_NEUTRAL)
            violate(f, at(ERR_SIM_XCHG_OPEN, tile, row->event),
                    "the row returns while its mux selects 0x%X", open[i]);
}

static void check_rows(Fabric *f) {
    for (uint32_t tile = 0; tile < f->port_count; tile++) {
        const FabricRow *row = f->ports[tile].row;
        for (uint32_t i = 0; i < row->sends.count; i++)
            check_send(f, tile, i);
        check_controls(f, tile);
        if (row->active && row->workers)
            violate(f, at(ERR_SIM_XCHG_WORKERS, tile, 0), "a worker runs while the row does");
    }
}

/* ---- playing -------------------------------------------------------------------------------- */

/* Next control of that stream and selector. */
static size_t next_control(const FabricRow *row, size_t from, FabricStream stream,
                           uint32_t selector) {
    const FabricControl *c = row->controls.items;
    while (from < row->controls.count && (c[from].stream != stream || c[from].selector != selector))
        from++;
    return from;
}

/* The first message of the row that is not over at `event`. */
static uint32_t first_message_after(const FabricRow *row, int32_t event) {
    uint32_t low = 0, high = (uint32_t)row->sends.count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (send_end(row->sends.items + middle) > event)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void select_source(const Fabric *f, Port *port, Mux *mux, const FabricControl *c) {
    mux->source = selected(f, port, c);
    if (mux->source == FABRIC_NONE)
        return;
    unsigned s = f->ports[mux->source].physical, d = port->physical;
    ChipRoute route = chip_route(s, d);
    int32_t way = route.time + 1; /* to the mux */
    if (c->selector)
        way = MAX_OF(route.time, chip_route(s, d ^ 2).time);
    mux->direction = (uint32_t)route.direction;
    mux->flight = way + port->pipe + c->selector;
    mux->message = first_message_after(f->ports[mux->source].row, c->event - way);
    assert(mux->flight > SLICE && mux->flight < FLIGHT);
}

/* A mux samples `pipe` events before its item is written; the paired one another event earlier. */
static int32_t sampling_event(const Port *port, uint32_t selector, int32_t slot) {
    return slot - port->pipe - (int32_t)selector;
}

static void advance_mux(const Fabric *f, Port *port, uint32_t selector, int32_t slot) {
    const FabricRow *row = port->row;
    Mux *mux = port->mux + selector;
    int32_t event = sampling_event(port, selector, slot);
    while (mux->next < row->controls.count && row->controls.items[mux->next].event <= event) {
        select_source(f, port, mux, row->controls.items + mux->next);
        mux->next = next_control(row, mux->next + 1, FABRIC_XPIC, selector);
    }
}

/* Pointer and format as they stand in this slot. */
static void advance_memory(Port *port, int32_t slot) {
    const FabricRow *row = port->row;
    for (; port->pic < row->controls.count; port->pic++) {
        const FabricControl *c = row->controls.items + port->pic;
        if (c->event > slot)
            break;
        if (c->stream != FABRIC_PIC)
            continue;
        if (c->selector == 0) {
            port->pointer = port->base + 4 * c->value;
            port->pointed = true;
        } else if (c->selector == FABRIC_PIC_BASE) {
            port->pointer += c->value;
            port->base += c->value;
        } else {
            if (port->format)
                port->words_from = c->event + FORMAT_LAG;
            port->format = c->value;
        }
    }
    while (port->lagging < row->controls.count &&
           row->controls.items[port->lagging].event <= slot - FORMAT_LAG) {
        port->item_format = row->controls.items[port->lagging].value;
        port->lagging = next_control(row, port->lagging + 1, FABRIC_PIC, 1);
    }
}

/* What a mux takes at one event: an item of a message of its source. */
typedef struct Arrival {
    const Mux *mux;
    const FabricSend *send;
    uint32_t item;
} Arrival;

static uint32_t arrival_size(const Arrival *a) {
    return item_size(a->send->sctl);
}

/* Why the item cannot be stored, STATUS_OK if it can. */
static Status storable(const Port *port, const Arrival *a, int32_t slot) {
    uint32_t size = arrival_size(a);
    bool format_good = size == 8 ? port->item_format == a->mux->direction
                                 : port->format == 0 && slot >= port->words_from;
    if (!format_good)
        return ERR_SIM_XCHG_FORMAT;
    if (!port->pointed)
        return ERR_SIM_XCHG_POINTER;
    if (!chip_address_ok(port->pointer) || !chip_address_ok(port->pointer + size - 1))
        return ERR_SIM_XCHG_ADDRESS;
    return port->pointer % size == 0 ? STATUS_OK : ERR_SIM_XCHG_MISALIGNED;
}

static void refuse_item(Fabric *f, uint32_t tile, const Arrival *a, int32_t slot, Status code) {
    const Port *port = f->ports + tile;
    bool wide = arrival_size(a) == 8;
    const char *item = wide ? "an item of 64 bits" : "a word";
    FabricTrap trap = with_message(at(code, tile, slot), a->mux->source, a->mux->message);
    if (code == ERR_SIM_XCHG_FORMAT && !wide && port->format == 0)
        violate(f, trap, "%s arrives less than %d events after a 64-bit format", item, FORMAT_LAG);
    else if (code == ERR_SIM_XCHG_FORMAT)
        violate(f, trap, "%s arrives while the format is %u", item,
                wide ? port->item_format : port->format);
    else if (code == ERR_SIM_XCHG_POINTER)
        violate(f, trap, "%s arrives before a pointer is set", item);
    else
        violate(f, with_address(trap, port->pointer), "%s is received at 0x%05X", item,
                port->pointer);
}

static void record(Fabric *f, Port *port, const Arrival *a, int32_t slot, uint32_t items) {
    uint32_t bytes = items * arrival_size(a);
    Run *last = port->runs.count ? port->runs.items + port->runs.count - 1 : NULL;
    if (last && last->end == slot && last->source == a->mux->source &&
        last->message == a->mux->message && last->address + last->bytes == port->pointer) {
        last->bytes += bytes;
        last->end += (int32_t)items;
    } else {
        Run run = {port->pointer,
                   bytes,
                   slot,
                   slot + (int32_t)items,
                   a->mux->source,
                   a->mux->message,
                   a->send->address + a->item * arrival_size(a)};
        if (!vec_push(&port->runs, run))
            f->out_of_memory = true;
    }
}

/* Stores so many items, at most SLICE, from `slot` on. They are read only now: where nobody breaks
 * the order of messages, nobody has changed them since they were sent. */
static void store_items(Fabric *f, uint32_t tile, const Arrival *a, int32_t slot, uint32_t items) {
    Port *port = f->ports + tile;
    const FabricMemory *memory = &f->phase->memory;
    uint32_t size = arrival_size(a);
    uint64_t values[SLICE] = {0};
    if (send_readable(a->send))
        memory->read(memory->context, a->mux->source, a->send->address + a->item * size, values,
                     items * size);
    record(f, port, a, slot, items);
    if (!memory->write(memory->context, tile, port->pointer, values, items * size))
        f->out_of_memory = true;
    port->pointer += items * size;
}

static void store_item(Fabric *f, uint32_t tile, const Arrival *a, int32_t slot) {
    Port *port = f->ports + tile;
    advance_memory(port, slot);
    Status status = storable(port, a, slot);
    if (status == STATUS_OK) {
        store_items(f, tile, a, slot, 1);
    } else {
        refuse_item(f, tile, a, slot, status);
        port->pointer += arrival_size(a);
    }
}

/* The message that the source of the mux sends at `event`, or NULL. */
static const FabricSend *message_at(const Fabric *f, Mux *mux, int32_t event) {
    const FabricRow *row = f->ports[mux->source].row;
    while (mux->message < row->sends.count && send_end(row->sends.items + mux->message) <= event)
        mux->message++;
    const FabricSend *send = row->sends.items + mux->message;
    return mux->message < row->sends.count && send->start <= event ? send : NULL;
}

/* The mux of `holder` takes no good item for `tile`; `send` is NULL if it takes none. */
static void refuse_sample(Fabric *f, uint32_t tile, uint32_t holder, uint32_t selector,
                          int32_t slot, const FabricSend *send) {
    const Mux *mux = f->ports[holder].mux + selector;
    FabricTrap trap =
        at(ERR_SIM_XCHG_SILENT, tile, sampling_event(f->ports + holder, selector, slot));
    trap.source = mux->source;
    if (!send) {
        violate(f, trap, "the mux selects tile %u, which sends nothing at its event %d",
                mux->source, slot - mux->flight);
        return;
    }
    trap.message = mux->message;
    if (!(send->sctl & mux->direction))
        violate(f, trap, "the mux selects tile %u, which sends in the other direction",
                mux->source);
    else
        violate(f, coded(trap, ERR_SIM_XCHG_FORMAT), "the %s mux takes items of %u bits",
                selector ? "paired" : "ordinary", 8 * item_size(send->sctl));
}

/* What the mux of `holder` takes for `tile` into this slot; false if nothing. */
static bool sample(Fabric *f, uint32_t tile, uint32_t holder, uint32_t selector, int32_t slot,
                   Arrival *arrival) {
    Mux *mux = f->ports[holder].mux + selector;
    if (mux->source == FABRIC_NONE)
        return false;
    int32_t event = slot - mux->flight;
    const FabricSend *send = message_at(f, mux, event);
    if (!send || !(send->sctl & mux->direction) || item_size(send->sctl) != (selector ? 8 : 4)) {
        refuse_sample(f, tile, holder, selector, slot, send);
        return false;
    }
    *arrival = (Arrival){mux, send, (uint32_t)(event - send->start)};
    return true;
}

static void check_arrivals(Fabric *f, uint32_t tile, const Arrival *arrivals, int count,
                           int32_t slot) {
    const FabricRow *row = f->ports[tile].row;
    uint32_t source = arrivals[0].mux->source, message = arrivals[0].mux->message;
    if (count > 1)
        violate(f, with_message(at(ERR_SIM_XCHG_LANE, tile, slot), source, message),
                "items of tiles %u and %u are written in one event", source,
                arrivals[1].mux->source);
    if (row->event < slot + 1 + CHIP_EXCHANGE_TAIL_GUARD)
        violate(f, with_message(at(ERR_SIM_XCHG_RETURN, tile, row->event), source, message),
                "the row ends, an item is written at event %d, %d more must follow", slot,
                CHIP_EXCHANGE_TAIL_GUARD);
}

static void receive_items(Fabric *f, uint32_t tile, int32_t slot) {
    Arrival arrivals[3];
    int count = sample(f, tile, tile, 0, slot, arrivals);
    count += sample(f, tile, tile, 1, slot, arrivals + count);
    count += sample(f, tile, tile ^ 1, 1, slot, arrivals + count);
    if (count == 0)
        return;
    check_arrivals(f, tile, arrivals, count, slot);
    for (int i = 0; i < count; i++)
        store_item(f, tile, arrivals + i, slot);
}

/* ---- a slice at once: the same, where nothing changes in it ---------------------------------- */

/* Whether a mux keeps its source for all slots of the slice. */
static bool keeps_source(const Port *port, uint32_t selector, int32_t end) {
    const FabricRow *row = port->row;
    size_t next = port->mux[selector].next;
    return next == row->controls.count ||
           row->controls.items[next].event > sampling_event(port, selector, end - 1);
}

/* Whether pointer and format stay for all slots of the slice, and as they stand allow its items. */
static bool keeps_memory(const Port *port, const Arrival *a, int32_t begin, int32_t end) {
    const FabricRow *row = port->row;
    const FabricControl *c = row->controls.items;
    for (size_t i = port->pic; i < row->controls.count && c[i].event < end; i++) {
        if (c[i].stream == FABRIC_PIC)
            return false;
    }
    if (port->lagging < row->controls.count && c[port->lagging].event < end - FORMAT_LAG)
        return false;
    return storable(port, a, begin) == STATUS_OK &&
           chip_address_ok(port->pointer + SLICE * arrival_size(a) - 1) &&
           row->event >= end + CHIP_EXCHANGE_TAIL_GUARD;
}

/* Receives a whole slice; false, with nothing done, if it must be looked at item by item. */
static bool receive_slice(Fabric *f, uint32_t tile, int32_t begin) {
    int32_t end = begin + SLICE;
    Port *port = f->ports + tile, *partner = f->ports + (tile ^ 1);
    Mux *muxes[] = {port->mux, port->mux + 1, partner->mux + 1}, *only = NULL;
    if (!keeps_source(port, 0, end) || !keeps_source(port, 1, end) ||
        !keeps_source(partner, 1, end))
        return false;
    for (size_t i = 0; i < COUNT_OF(muxes); i++) {
        if (muxes[i]->source == FABRIC_NONE)
            continue;
        if (only)
            return false;
        only = muxes[i];
    }
    if (!only)
        return true;
    int32_t event = begin - only->flight;
    const FabricSend *send = message_at(f, only, event);
    if (!send || send_end(send) < event + SLICE || !(send->sctl & only->direction) ||
        item_size(send->sctl) != (only == port->mux ? 4 : 8))
        return false;
    Arrival a = {only, send, (uint32_t)(event - send->start)};
    advance_memory(port, begin);
    if (!keeps_memory(port, &a, begin, end))
        return false;
    store_items(f, tile, &a, begin, SLICE);
    return true;
}

/* Whether a tile can receive before `end`. */
static bool awake(const Port *port, int32_t end) {
    return port->mux[0].source != FABRIC_NONE || port->mux[1].source != FABRIC_NONE ||
           !keeps_source(port, 0, end) || !keeps_source(port, 1, end);
}

static void play_pair(Fabric *f, uint32_t pair, int32_t begin) {
    uint32_t first = 2 * pair;
    Port *ports = f->ports + first;
    int32_t end = begin + SLICE;
    if (!awake(ports, end) && !awake(ports + 1, end))
        return;
    for (uint32_t i = 0; i < 4; i++)
        advance_mux(f, ports + i / 2, i % 2, begin);
    bool received[2] = {receive_slice(f, first, begin), receive_slice(f, first + 1, begin)};
    if (received[0] && received[1])
        return;
    for (int32_t slot = begin; slot < end; slot++) {
        for (uint32_t i = 0; i < 4; i++)
            advance_mux(f, ports + i / 2, i % 2, slot);
        for (uint32_t i = 0; i < 2; i++) {
            if (!received[i])
                receive_items(f, first + i, slot);
        }
    }
}

static void play(Fabric *f) {
    int32_t end = 0;
    for (uint32_t i = 0; i < f->port_count; i++)
        end = MAX_OF(end, f->ports[i].row->event);
    end += FLIGHT; /* what the last controls let in */
    for (int32_t begin = 0; begin < end && !f->out_of_memory; begin += SLICE)
        for (uint32_t pair = 0; pair < f->port_count / 2; pair++)
            play_pair(f, pair, begin);
}

/* ---- what was sent and received together ---------------------------------------------------- */

static Delivery *delivery_of(const Fabric *f, uint32_t source, uint32_t message) {
    return f->deliveries + f->ports[source].first_message + message;
}

/* When each message was complete, and a message that only its sender received. */
static void check_deliveries(Fabric *f) {
    for (uint32_t tile = 0; tile < f->port_count; tile++) {
        const Port *port = f->ports + tile;
        for (uint32_t i = 0; i < port->row->sends.count; i++)
            delivery_of(f, tile, i)->completion = send_end(port->row->sends.items + i);
    }
    for (uint32_t tile = 0; tile < f->port_count; tile++) {
        const Port *port = f->ports + tile;
        for (size_t i = 0; i < port->runs.count; i++) {
            const Run *run = port->runs.items + i;
            Delivery *delivery = delivery_of(f, run->source, run->message);
            delivery->completion = MAX_OF(delivery->completion, run->end);
            *(run->source == tile ? &delivery->own : &delivery->other) = true;
        }
    }
    for (uint32_t tile = 0; tile < f->port_count; tile++) {
        const FabricRow *row = f->ports[tile].row;
        for (uint32_t i = 0; i < row->sends.count; i++) {
            const Delivery *delivery = delivery_of(f, tile, i);
            if (delivery->own && !delivery->other)
                violate(f,
                        with_message(at(ERR_SIM_XCHG_LOOPBACK, tile, row->sends.items[i].start),
                                     tile, i),
                        "no tile but its sender receives the message");
        }
    }
}

/* Sends against receives, each with its time of guard, and both against the fetches of the row. */
static void check_elements(Fabric *f, uint32_t tile) {
    const Port *port = f->ports + tile;
    const FabricRow *row = port->row;
    uint32_t fetched = 0;
    if (row->fetch_end > row->fetch_begin)
        fetched = chip_effective_mask(row->fetch_begin, row->fetch_end - row->fetch_begin +
                                                            CHIP_FETCH_LOOKAHEAD_BYTES);
    for (size_t i = 0; i < port->runs.count; i++) {
        const Run *run = port->runs.items + i;
        if (chip_effective_mask(run->address, run->bytes) & fetched)
            violate(f,
                    with_address(with_message(at(ERR_SIM_XCHG_FETCH, tile, run->begin), run->source,
                                              run->message),
                                 run->address),
                    "0x%05X is written in the element that the row is fetched from", run->address);
    }
    size_t first = 0;
    for (uint32_t i = 0; i < row->sends.count; i++) {
        const FabricSend *send = row->sends.items + i;
        if (!send_readable(send))
            continue;
        uint32_t units = send_units(send);
        if (units & fetched)
            violate(f,
                    with_address(with_message(at(ERR_SIM_XCHG_FETCH, tile, send->start), tile, i),
                                 send->address),
                    "0x%05X is sent from the element that the row is fetched from", send->address);
        while (first < port->runs.count &&
               port->runs.items[first].end + CHIP_EXCHANGE_TAIL_GUARD <= send->start)
            first++;
        for (size_t k = first; k < port->runs.count; k++) {
            const Run *run = port->runs.items + k;
            if (run->begin >= lane_end(send))
                break;
            if (run->end + CHIP_EXCHANGE_TAIL_GUARD > send->start &&
                chip_effective_mask(run->address, run->bytes) & units)
                violate(f,
                        with_address(with_message(at(ERR_SIM_XCHG_ELEMENT, tile,
                                                     MAX_OF(send->start, run->begin)),
                                                  run->source, run->message),
                                     run->address),
                        "0x%05X is received in an element that is sent from (0x%05X)", run->address,
                        send->address);
        }
    }
}

/* Bytes that a message read or wrote in one tile. */
typedef struct Access {
    uint32_t begin, end;
    uint32_t source, message;
    int32_t start, completion; /* of the message */
    bool write;
} Access;

typedef VEC(Access) AccessList;

static int compare_accesses(const void *a, const void *b) {
    const Access *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static bool list_accesses(const Fabric *f, uint32_t tile, AccessList *list) {
    const Port *port = f->ports + tile;
    list->count = 0;
    for (uint32_t i = 0; i < port->row->sends.count; i++) {
        const FabricSend *s = port->row->sends.items + i;
        Access read = {s->address, s->address + s->items * item_size(s->sctl), tile, i,
                       s->start,   delivery_of(f, tile, i)->completion,        false};
        if (send_readable(s) && !vec_push(list, read))
            return false;
    }
    for (size_t i = 0; i < port->runs.count; i++) {
        const Run *r = port->runs.items + i;
        Access write = {r->address,
                        r->address + r->bytes,
                        r->source,
                        r->message,
                        f->ports[r->source].row->sends.items[r->message].start,
                        delivery_of(f, r->source, r->message)->completion,
                        true};
        if (!vec_push(list, write))
            return false;
    }
    if (list->count > 1)
        qsort(list->items, list->count, sizeof *list->items, compare_accesses);
    return true;
}

/* Of two messages that touch the same bytes, one to write them, the second starts when the first
 * is complete. `open` holds the accesses that reach beyond the present one's begin. */
static void check_order(Fabric *f, uint32_t tile, AccessList *list, AccessList *open) {
    if (!list_accesses(f, tile, list) || !vec_reserve(open, list->count + 1)) {
        f->out_of_memory = true;
        return;
    }
    open->count = 0;
    for (size_t i = 0; i < list->count; i++) {
        const Access *a = list->items + i;
        size_t kept = 0;
        for (size_t k = 0; k < open->count; k++) {
            const Access *b = open->items + k;
            if (b->end <= a->begin)
                continue;
            bool same = a->source == b->source && a->message == b->message;
            if ((a->write || b->write) && !same && a->start < b->completion &&
                b->start < a->completion) {
                FabricTrap trap =
                    with_message(at(ERR_SIM_XCHG_ORDER, tile, MAX_OF(a->start, b->start)),
                                 a->source, a->message);
                violate(f, with_address(trap, a->begin),
                        "messages of tiles %u and %u use the bytes at 0x%05X at one time",
                        a->source, b->source, a->begin);
            }
            open->items[kept++] = *b;
        }
        open->items[kept] = *a;
        open->count = kept + 1;
    }
}

static void check_memory(Fabric *f) {
    AccessList list = {0}, open = {0};
    check_deliveries(f);
    for (uint32_t tile = 0; tile < f->port_count && !f->out_of_memory; tile++) {
        check_elements(f, tile);
        check_order(f, tile, &list, &open);
    }
    vec_free(&list);
    vec_free(&open);
}

/* ---- entry ---------------------------------------------------------------------------------- */

static void init_port(Fabric *f, uint32_t tile, uint32_t *messages) {
    Port *port = f->ports + tile;
    port->row = tile < f->phase->tile_count ? f->phase->rows + tile : &no_row;
    if (!port->row->active)
        port->row = &no_row;
    port->physical = chip_tile_physical(tile);
    port->base = port->row->incoming_base;
    port->pipe = CHIP_EXCHANGE_RECEIVE_PIPE + 2 * (int32_t)chip_tile_row(port->physical);
    port->first_message = *messages;
    *messages += (uint32_t)port->row->sends.count;
    for (uint32_t i = 0; i < 2; i++) {
        port->mux[i].source = FABRIC_NONE;
        port->mux[i].next = next_control(port->row, 0, FABRIC_XPIC, i);
    }
    port->lagging = next_control(port->row, 0, FABRIC_PIC, 1);
}

static bool init(Fabric *f, const FabricPhase *phase, FabricTrap *trap) {
    *f = (Fabric){.phase = phase, .trap = trap};
    f->port_count = phase->tile_count + phase->tile_count % 2;
    f->ports = mem_alloc(f->port_count, sizeof *f->ports);
    uint32_t messages = 0;
    for (uint32_t i = 0; f->ports && i < f->port_count; i++)
        init_port(f, i, &messages);
    f->deliveries = mem_alloc((size_t)messages + 1, sizeof *f->deliveries);
    return f->ports && f->deliveries;
}

static void finish(Fabric *f) {
    for (uint32_t i = 0; f->ports && i < f->port_count; i++)
        vec_free(&f->ports[i].runs);
    mem_free(f->ports);
    mem_free(f->deliveries);
}

static int compare_copies(const void *a, const void *b) {
    const FabricCopy *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->dest != y->dest)
        return x->dest < y->dest ? -1 : 1;
    return (x->to > y->to) - (x->to < y->to);
}

/* By the starts of the messages: one that needs what another brought starts when that is complete.
 */
static bool list_copies(const Fabric *f, FabricCopies *copies) {
    for (uint32_t tile = 0; tile < f->port_count; tile++) {
        const Port *port = f->ports + tile;
        if (!vec_reserve(copies, port->runs.count + 1))
            return false;
        for (size_t i = 0; i < port->runs.count; i++) {
            const Run *run = port->runs.items + i;
            copies->items[copies->count++] = (FabricCopy){
                .source = run->source,
                .from = run->from,
                .dest = tile,
                .to = run->address,
                .bytes = run->bytes,
                .start = f->ports[run->source].row->sends.items[run->message].start,
            };
        }
    }
    if (copies->count > 1)
        qsort(copies->items, copies->count, sizeof *copies->items, compare_copies);
    return true;
}

Status fabric_run(const FabricPhase *phase, FabricTrap *trap) {
    return fabric_record(phase, NULL, trap);
}

Status fabric_record(const FabricPhase *phase, FabricCopies *copies, FabricTrap *trap) {
    Fabric f;
    *trap = at(STATUS_OK, 0, 0);
    f.out_of_memory = !init(&f, phase, trap);
    if (!f.out_of_memory) {
        check_rows(&f);
        play(&f);
        check_memory(&f);
        if (copies && trap->code == STATUS_OK && !f.out_of_memory)
            f.out_of_memory = !list_copies(&f, copies);
    }
    if (f.out_of_memory) {
        *trap = at(ERR_NO_MEMORY, 0, 0);
        snprintf(trap->text, sizeof trap->text, "no memory left on the host for an exchange");
    }
    finish(&f);
    return trap->code;
}

Status fabric_report(const FabricPhase *phase, const FabricTrap *trap, Diag *diag) {
    DiagPlace place = {.tile = (int32_t)trap->tile, .object = phase->name};
    diag_error(diag, trap->code, place, "event %d: %s", trap->event, trap->text);
    if (trap->message != FABRIC_NONE) {
        const FabricSend *send = phase->rows[trap->source].sends.items + trap->message;
        diag_note(diag, "message %u of tile %u: %u items of %u bits from 0x%05X, sent at event %d",
                  trap->message, trap->source, send->items, 8 * item_size(send->sctl),
                  send->address, send->start);
    }
    if (trap->element != FABRIC_NONE)
        diag_note(diag, "memory element %u, from 0x%05X on", trap->element,
                  chip_effective_element_base(trap->element));
    diag_note(diag, "trap class: %s", trap_class_name(trap->class));
    return trap->code;
}
