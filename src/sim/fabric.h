/* The exchange fabric: what the timed rows of all tiles did to each other in one phase.
 *
 * The fabric is stateless. A sender drives one item an event, without address or destination; each
 * receiver points its input multiplexer at one source and says by two more control streams where
 * and in which width arriving items are stored. Nothing but time connects the two. A phase is
 * therefore worked out afterwards, from what every tile's row did: fabric_run plays all clocks
 * forward together, samples every receive mux at every event, reads and writes tile memory in the
 * order of time (a later message may forward what an earlier one brought), and holds the phase
 * against every rule of the exchange. Timing: ipu-stack's fabric model, checked on hardware; the
 * rules: ipu-stack's exchange reference and scheduler; docs/chip/exchange.md retells both.
 *
 * An *event* is a cycle of a row, counted on every tile from its own row start. Tiles are logical
 * ids, physical ones stand only in mux values, as on the chip.
 */
#pragma once

#include "base/diag.h"
#include "base/mem.h"
#include "isa/isa.h"
#include "sim/sim.h"

#include <stdint.h>

/* A message: item i leaves at event start + i. */
typedef struct FabricSend {
    int32_t start;
    uint32_t items;
    uint32_t address; /* byte address of the first item */
    uint32_t sctl;    /* bits 0, 1: directions, at least one; bit 2: items of 64 bits */
} FabricSend;

typedef enum FabricStream { FABRIC_PIC, FABRIC_XPIC } FabricStream;

/* Selector of FABRIC_PIC for a base register rewritten inside the row: `value` more bytes
 * (wrapping) are added to every pointer from the event on. No instruction writes it together with
 * another. */
#define FABRIC_PIC_BASE 2u

/* A write to a receive control register, in effect from `event` on. PIC selector 0 is the write
 * pointer in words, 1 the item format; XPIC selector 0 the ordinary mux, 1 the paired one. */
typedef struct FabricControl {
    int32_t event;
    uint8_t stream; /* FabricStream */
    uint8_t selector;
    uint32_t value;
} FabricControl;

/* What one tile's row did. Begin, issue and end fill it; a zeroed one is a tile without a row. */
typedef struct FabricRow {
    VEC(FabricSend) sends;       /* ascending, disjoint */
    VEC(FabricControl) controls; /* ascending */
    int32_t event;               /* at which the next instruction starts; at last the horizon */
    uint32_t tile;
    uint32_t incoming_base, outgoing_base; /* set them before the row; outgoing may change in it */
    uint32_t fetch_begin, fetch_end;       /* bytes that the row was fetched from; equal: unknown */
    bool active;
    bool workers; /* a worker of the tile ran when the row began */
    bool sending; /* the last send is continued by an instruction that starts at `event` */
} FabricRow;

/* Why a phase is wrong. What does not apply is 0, or FABRIC_NONE where that is said. */
#define FABRIC_NONE UINT32_MAX

typedef struct FabricTrap {
    Status code; /* ERR_SIM_XCHG_*, or ERR_NO_MEMORY */
    TrapClass class;
    ChipReceiveError receive_error; /* the code that the chip shows, if it notices */
    uint32_t tile;
    int32_t event;    /* on that tile's clock */
    uint32_t source;  /* sender of the message concerned, or FABRIC_NONE */
    uint32_t message; /* which of the sender's messages, or FABRIC_NONE */
    uint32_t element; /* effective memory element concerned, or FABRIC_NONE */
    uint32_t address; /* byte address in that tile's memory */
    char text[160];
} FabricTrap;

/* Forgets what the row did before and starts at event 0; `pc` is its first instruction. Bases and
 * the workers flag are the caller's. */
void fabric_row_begin(FabricRow *row, uint32_t tile, uint32_t pc);

/* Executes one exchange instruction (delay … sendpicp) at `pc`: records its effects and advances
 * row->event by the events that it takes. ERR_NO_MEMORY, or ERR_SIM_XCHG_ROW with *trap set for
 * what may not stand there: a two-word instruction off an 8-byte boundary, a stream that continues
 * none, items that wrap the address field. */
Status fabric_row_issue(FabricRow *row, const IsaInstr *instr, uint32_t pc, FabricTrap *trap);

/* The row returns: row->event is its horizon; `end` is the byte behind its last instruction. */
void fabric_row_end(FabricRow *row, uint32_t end);

void fabric_row_free(FabricRow *row);

/* Tile memory: word-aligned ranges that exist, of 4 to 128 bytes, which may cross any boundary.
 * `write` may fail for want of memory. */
typedef struct FabricMemory {
    void *context;
    void (*read)(void *context, uint32_t tile, uint32_t address, void *bytes, size_t size);
    bool (*write)(void *context, uint32_t tile, uint32_t address, const void *bytes, size_t size);
} FabricMemory;

typedef struct FabricPhase {
    const char *name; /* for messages; may be NULL */
    const FabricRow *rows;
    uint32_t tile_count; /* rows[0 … tile_count - 1] */
    FabricMemory memory;
} FabricPhase;

/* Plays the phase. STATUS_OK: every item that a mux selected was delivered and no rule was broken.
 * Otherwise the code of the first violation by event, then by tile, described in *trap; tile memory
 * then holds what the rest of the phase made of it. */
Status fabric_run(const FabricPhase *phase, FabricTrap *trap);

/* Bytes that a phase moved, as one copy from tile to tile. */
typedef struct FabricCopy {
    uint32_t source, from; /* tile, address */
    uint32_t dest, to;
    uint32_t bytes;
    int32_t start; /* of the message */
} FabricCopy;

typedef VEC(FabricCopy) FabricCopies;

/* The same; with STATUS_OK *copies, empty before, holds what was moved. Carried out in this order
 * the copies have the effect of the phase on any memory. To be freed in any case. */
Status fabric_record(const FabricPhase *phase, FabricCopies *copies, FabricTrap *trap);

/* "error TW05xx in phase P on tile T: event E: text", with notes on message, element and class. */
Status fabric_report(const FabricPhase *phase, const FabricTrap *trap, Diag *diag);
