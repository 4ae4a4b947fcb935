/* From messages to rows: the receive controls of every tile, then its words. */
#include "xchg/encode.h"

#include "xchg/lanes.h"

#include "chip/chip.h"

#include <stdlib.h>
#include <string.h>

typedef struct TileTraffic {
    VEC(RowSend) sends;
    VEC(RecvWindow) recvs;
    int32_t horizon; /* 0: the tile has no row */
} TileTraffic;

typedef struct Traffic {
    const XchgPhase *phase;
    TileTraffic *tiles;
    uint32_t padded;
    const LaneTile *lanes; /* physical ids and rows */
} Traffic;

static void traffic_free(Traffic *traffic) {
    for (uint32_t i = 0; traffic->tiles && i < traffic->padded; i++) {
        vec_free(&traffic->tiles[i].sends);
        vec_free(&traffic->tiles[i].recvs);
    }
    mem_free(traffic->tiles);
}

static void extend(TileTraffic *tile, int32_t horizon) {
    tile->horizon = MAX_OF(tile->horizon, horizon);
}

/* Directions of a message: one for a single receiver, both for several; a paired one counts its
 * receiving pair as one, unless the sender's own pair takes part. */
static uint32_t send_control(const Traffic *traffic, const XchgTransfer *t, bool paired) {
    const XchgDest *dests = traffic->phase->dests.items + t->first_dest;
    uint32_t s = traffic->lanes[t->source].physical;
    uint32_t d = traffic->lanes[dests[0].tile].physical;
    bool single = paired ? t->dest_count == 2 && (d | 2) != (s | 2) : t->dest_count == 1;
    uint32_t directions = single ? (uint32_t)chip_route(s, d).direction : ROW_SCTL_DIRECTIONS;
    return directions | (paired ? ROW_SCTL_PAIRED : 0);
}

static bool add_message(Traffic *traffic, const Lanes *lanes, const XchgMessage *m) {
    const XchgTransfer *t = traffic->phase->transfers.items + m->transfer;
    TileTraffic *sender = traffic->tiles + t->source;
    uint32_t unit = m->paired ? 8 : 4;
    RowSend send = {m->start, m->items, (t->address + 4 * m->word) / unit,
                    send_control(traffic, t, m->paired)};
    if (!vec_push(&sender->sends, send))
        return false;
    int32_t end = MAX_OF(m->start + (int32_t)m->items, 6);
    extend(sender, end);
    if (m->paired)
        extend(traffic->tiles + (t->source ^ 1), end);
    for (uint32_t i = 0; i < t->dest_count; i++) {
        const XchgDest *dest = traffic->phase->dests.items + t->first_dest + i;
        const LaneTile *tile = traffic->lanes + dest->tile;
        const LaneRoute *route = lanes->routes + t->first_dest + i;
        RecvWindow recv = {
            .source = m->start + route->shift[m->paired],
            .items = (int32_t)m->items,
            .address = dest->address + 4 * m->word,
            .message = traffic->lanes[t->source].physical, /* here: the physical source */
            .direction = route->direction,
            .paired = m->paired,
            .early = m->paired && route->early,
        };
        if (!vec_push(&traffic->tiles[dest->tile].recvs, recv))
            return false;
        /* Ordinary: 5 events after the last slot. Paired: 7 after the format's end, which stands 2
         * before the last slot's end: the same guard. */
        extend(traffic->tiles + dest->tile,
               recv.source + lanes_payload_end(tile, &recv) + CHIP_EXCHANGE_TAIL_GUARD);
    }
    return true;
}

static int compare_sends(const void *a, const void *b) {
    int32_t x = ((const RowSend *)a)->start, y = ((const RowSend *)b)->start;
    return (x > y) - (x < y);
}

static int compare_recvs(const void *a, const void *b) {
    int32_t x = ((const RecvWindow *)a)->source, y = ((const RecvWindow *)b)->source;
    return (x > y) - (x < y);
}

static int compare_controls(const void *a, const void *b) {
    const RowControl *x = a, *y = b;
    if (x->event != y->event)
        return x->event < y->event ? -1 : 1;
    return (int)x->stream - (int)y->stream;
}

/* Controls of one tile from its receives in order of time. A neutral or a format end that the next
 * receive replaces at the same event is left out, and so is a pointer that already stands right. */
static bool build_controls(const LaneTile *tile, const TileTraffic *traffic, RowProgram *program) {
    uint32_t pointer = UINT32_MAX;
    for (size_t i = 0; i < traffic->recvs.count; i++) {
        const RecvWindow *r = traffic->recvs.items + i;
        const RecvWindow *next = i + 1 < traffic->recvs.count ? r + 1 : NULL;
        const RecvWindow *last = i > 0 ? r - 1 : NULL;
        int32_t end = r->source + r->items;
        bool joined = next && next->source == end && next->paired == r->paired;
        bool continued =
            last && last->source + last->items == r->source && last->paired == r->paired;
        uint32_t d2 = tile->physical & 2;
        uint8_t paired = r->paired;
        bool ok = true;
        if (!r->paired || r->early) {
            uint32_t source = r->paired ? r->message ^ d2 : r->message;
            ok = vec_push(&program->controls, (RowControl){r->source, ROW_XPIC, paired, source});
            if (!joined)
                ok = ok && vec_push(&program->controls,
                                    (RowControl){end, ROW_XPIC, paired, CHIP_MUX_NEUTRAL});
        }
        int32_t slot = r->source + CHIP_EXCHANGE_RECEIVE_PIPE + tile->row2;
        if (r->paired) {
            if (!continued)
                ok = ok &&
                     vec_push(&program->controls, (RowControl){slot - 1, ROW_PIC, 1, r->direction});
            if (!joined)
                ok = ok &&
                     vec_push(&program->controls, (RowControl){slot - 1 + r->items, ROW_PIC, 1, 0});
            slot++;
        }
        if (r->address / 4 != pointer)
            ok = ok && vec_push(&program->controls, (RowControl){slot, ROW_PIC, 0, r->address / 4});
        pointer = r->address / 4 + (uint32_t)r->items * (r->paired ? 2 : 1);
        if (!ok)
            return false;
    }
    if (program->controls.count > 1)
        qsort(program->controls.items, program->controls.count, sizeof *program->controls.items,
              compare_controls);
    return true;
}

static RowFault encode_tile(const Traffic *traffic, uint32_t tile, XchgRows *rows, int32_t *event) {
    TileTraffic *t = traffic->tiles + tile;
    if (t->sends.count > 1)
        qsort(t->sends.items, t->sends.count, sizeof *t->sends.items, compare_sends);
    if (t->recvs.count > 1)
        qsort(t->recvs.items, t->recvs.count, sizeof *t->recvs.items, compare_recvs);
    RowProgram program = {.horizon = (uint32_t)t->horizon};
    program.sends.items = t->sends.items;
    program.sends.count = t->sends.count;
    RowWords words = {rows->words.items, rows->words.count, rows->words.capacity};
    RowFault fault = ROW_NO_MEMORY;
    /* Rows start on an even word, so that parity inside a row is parity in memory. */
    if (build_controls(traffic->lanes + tile, t, &program) &&
        (words.count % 2 == 0 || vec_push(&words, 0)))
        fault = row_encode(&program, &words, event);
    vec_free(&program.controls);
    uint32_t first = (uint32_t)align_up(rows->words.count, 2);
    rows->words.items = words.items;
    rows->words.capacity = words.capacity;
    if (fault == ROW_OK) {
        rows->words.count = words.count;
        XchgRow row = {tile, first, (uint32_t)words.count - first, (uint32_t)t->horizon};
        rows->max_bytes = MAX_OF(rows->max_bytes, 4 * row.word_count);
        if (!vec_push(&rows->rows, row))
            return ROW_NO_MEMORY;
    }
    return fault;
}

RowFault encode_rows(const XchgPhase *phase, uint32_t tile_count, const XchgSchedule *schedule,
                     XchgRows *rows, EncodeFault *where) {
    *rows = (XchgRows){0};
    Lanes lanes;
    Traffic traffic = {.phase = phase, .padded = tile_count + tile_count % 2};
    traffic.tiles = mem_alloc(traffic.padded, sizeof *traffic.tiles);
    bool ok = lanes_init(&lanes, phase, tile_count) && traffic.tiles;
    traffic.lanes = lanes.tiles;
    for (size_t i = 0; ok && i < schedule->messages.count; i++)
        ok = add_message(&traffic, &lanes, schedule->messages.items + i);
    RowFault fault = ok ? ROW_OK : ROW_NO_MEMORY;
    for (uint32_t i = 0; fault == ROW_OK && i < traffic.padded; i++) {
        where->tile = i;
        if (traffic.tiles[i].horizon > 0)
            fault = encode_tile(&traffic, i, rows, &where->event);
    }
    traffic_free(&traffic);
    lanes_free(&lanes);
    if (fault != ROW_OK)
        xchg_rows_free(rows);
    return fault;
}

Status encode_report(const XchgPhase *phase, RowFault fault, const EncodeFault *where, Diag *diag) {
    if (fault == ROW_NO_MEMORY)
        return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory for exchange rows");
    DiagPlace place = {.tile = (int32_t)where->tile, .object = phase->name};
    return diag_error(diag, ERR_XCHG_ENCODE, place, "event %d: %s", where->event,
                      row_fault_text(fault));
}

Status xchg_encode(const XchgPhase *phase, uint32_t tile_count, const XchgSchedule *schedule,
                   XchgRows *rows, Diag *diag) {
    EncodeFault where = {0};
    RowFault fault = encode_rows(phase, tile_count, schedule, rows, &where);
    return fault == ROW_OK ? STATUS_OK : encode_report(phase, fault, &where, diag);
}

void xchg_rows_free(XchgRows *rows) {
    vec_free(&rows->rows);
    vec_free(&rows->words);
    rows->max_bytes = 0;
}
