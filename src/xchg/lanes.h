/* Lanes: what is already scheduled on every tile, and the earliest legal start of one more message.
 * All rules that a message must keep against the others stand here (lanes.c), once. */
#pragma once

#include "xchg/xchg.h"

/* What stands at an event of a tile: receive controls, by what may share an event with what, and
 * the start of a send. */
enum {
    MARK_SOURCE = 1,         /* ordinary XPIC: source or neutral */
    MARK_POINTER = 2,        /* PIC pointer of an ordinary message */
    MARK_PAIRED_SOURCE = 4,  /* paired XPIC */
    MARK_PAIRED_POINTER = 8, /* PIC pointer of a paired message */
    MARK_FORMAT = 16,        /* PIC item format */
    MARK_CONTROLS = 31,
    MARK_SEND = 32,
};

typedef struct SendWindow {
    int32_t start, end;
    uint32_t units; /* mask of the memory units that it reads */
    uint32_t message;
} SendWindow;

typedef VEC(SendWindow) SendWindows;

typedef struct RecvWindow {
    int32_t source; /* event E at which the mux takes the message's source */
    int32_t items;
    uint32_t address;
    uint32_t units; /* mask of the memory units that it writes */
    uint32_t message;
    uint8_t direction; /* route direction, 1 or 2 */
    bool paired;
    bool early; /* paired: this member of the pair holds the mux control */
} RecvWindow;

typedef struct LaneTile {
    SendWindows sends;     /* ascending, disjoint */
    SendWindows lent;      /* times at which the pair partner uses this tile's transmit lane */
    VEC(RecvWindow) recvs; /* ascending, disjoint */
    VEC(uint8_t) marks;    /* by event; none beyond their count */
    uint16_t physical;
    int16_t row2;      /* 2 * physical row: write slots come that much later */
    bool shares_units; /* some transfer of the phase reads a unit that another one writes here */
} LaneTile;

/* A piece of a transfer that is to be scheduled as one message. */
typedef struct Piece {
    uint32_t transfer;
    uint32_t word;
    uint32_t items;
    bool paired;
    bool lonely; /* its controls may not share an event: no two-word control on its account */
} Piece;

/* How a transfer reaches one of its destinations. */
typedef struct LaneRoute {
    int16_t shift[2];  /* from the start of a message, ordinary or paired, to its source event */
    uint8_t direction; /* 1 or 2 */
    bool early;        /* this member of the pair holds the mux control of a paired message */
} LaneRoute;

typedef struct Lanes {
    const XchgPhase *phase;
    LaneTile *tiles;
    LaneRoute *routes; /* parallel to phase->dests */
    uint32_t tile_count;
} Lanes;

/* False without memory. */
bool lanes_init(Lanes *lanes, const XchgPhase *phase, uint32_t tile_count);
void lanes_free(Lanes *lanes);
/* Forgets all messages. */
void lanes_clear(Lanes *lanes);

/* Events from a receive's source event to the end of its payload window. */
int32_t lanes_payload_end(const LaneTile *tile, const RecvWindow *recv);

/* Earliest legal start >= from, or -1 when none exists (only an own receive that can never be
 * apart from its send: loopback in one memory unit, or a control one event after the start). */
int32_t lanes_find(const Lanes *lanes, const Piece *piece, int32_t from);

/* Records the piece as message number `message` at `start`; *completion gets the event after which
 * dependent transfers may start. False without memory. */
bool lanes_commit(Lanes *lanes, const Piece *piece, int32_t start, uint32_t message,
                  int32_t *completion);
