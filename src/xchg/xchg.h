/* The exchange of one phase: what must move (transfers) → when (messages) → rows of code.
 *
 * Tiles are logical ids everywhere in this interface; physical ids and route times are used inside.
 * Addresses are byte addresses in tile memory, lengths are 32-bit words. An *event* is one cycle of
 * a row, counted from the common start of all rows of the phase. The timing relations between a
 * send, its receivers' control events and the write slots are those that ipu-stack recovered and
 * checked on hardware (its EXCHANGE_INSTRUCTION_REFERENCE and encoder); docs/chip/exchange.md
 * retells them.
 */
#pragma once

#include "base/diag.h"
#include "base/mem.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct XchgDest {
    uint32_t tile;
    uint32_t address;
} XchgDest;

/* `words` words at `address` of tile `source` must appear at every destination. Transfers are in
 * program order: where one reads or overwrites bytes that an earlier one writes, or overwrites
 * bytes that an earlier one reads, it waits for the earlier one. */
typedef struct XchgTransfer {
    uint32_t source;
    uint32_t address;
    uint32_t words;
    uint32_t first_dest; /* index into XchgPhase.dests */
    uint32_t dest_count; /* at least 1; a tile occurs once */
    uint32_t stride;     /* by which the address grows each time that the phase is repeated; what is
                          * scheduled and proved is the first time */
} XchgTransfer;

typedef struct XchgPhase {
    const char *name; /* for messages; owned by the caller */
    VEC(XchgTransfer) transfers;
    VEC(XchgDest) dests;
} XchgPhase;

/* Appends one transfer; destinations are copied. ERR_NO_MEMORY is the only failure. */
Status xchg_phase_add(XchgPhase *phase, uint32_t source, uint32_t address, uint32_t words,
                      const XchgDest *dests, uint32_t dest_count, Diag *diag);
void xchg_phase_free(XchgPhase *phase);

/* Endpoint bound in words: max over tiles of the words received and of the words sent, every word
 * counted whole, a multicast once at its sender. A paired schedule may beat it. 0 without memory.
 */
uint64_t xchg_phase_bound(const XchgPhase *phase, uint32_t tile_count);

/* One scheduled piece of a transfer. */
typedef struct XchgMessage {
    uint32_t transfer;
    uint32_t word;  /* first word of the transfer that it carries */
    uint32_t items; /* 32-bit items, or 64-bit ones when paired */
    int32_t start;  /* event S of its first item at the sender */
    bool paired;
} XchgMessage;

typedef struct XchgSchedule {
    VEC(XchgMessage) messages;
    uint32_t horizon;   /* events until the last row returns */
    uint32_t least;     /* no schedule of these transfers is shorter */
    const char *policy; /* which order and width won; static string */
} XchgSchedule;

void xchg_schedule_free(XchgSchedule *schedule);

typedef struct XchgOptions {
    bool no_pairing;        /* ordinary 32-bit sends only */
    uint32_t max_row_bytes; /* 0: no limit; else ERR_XCHG_ROW_BYTES when no schedule keeps it */
} XchgOptions;

/* The row of one tile: words as stored, the first at an 8-byte aligned address. */
typedef struct XchgRow {
    uint32_t tile;
    uint32_t first_word, word_count; /* in XchgRows.words */
    uint32_t horizon;                /* events that the row takes */
} XchgRow;

typedef struct XchgRows {
    VEC(XchgRow)
    rows; /* ascending tile; tiles that neither send, receive nor lend a lane have none */
    VEC(uint32_t) words;
    uint32_t max_bytes; /* longest row, return included */
} XchgRows;

void xchg_rows_free(XchgRows *rows);

/* Messages that a row sends, and how many of them are paired; what cannot be read counts nothing.
 * False without memory. */
bool xchg_row_messages(const uint32_t *words, uint32_t count, uint32_t *messages, uint32_t *paired);

/* Finds a short legal schedule and encodes it. Deterministic. Errors: ERR_XCHG_TRANSFER (not in
 * memory, not word aligned, a tile out of range or named twice, a destination over its source),
 * ERR_XCHG_LOOPBACK (to its own tile alone), ERR_XCHG_ELEMENT (to its own tile within one memory
 * element), ERR_XCHG_ROW_BYTES, ERR_XCHG_ENCODE, ERR_NO_MEMORY. */
Status xchg_schedule(const XchgPhase *phase, uint32_t tile_count, const XchgOptions *options,
                     XchgSchedule *schedule, XchgRows *rows, Diag *diag);

/* Encodes given messages exactly as they stand (tests and replays). ERR_XCHG_ENCODE names tile and
 * event of what cannot be encoded. */
Status xchg_encode(const XchgPhase *phase, uint32_t tile_count, const XchgSchedule *schedule,
                   XchgRows *rows, Diag *diag);

/* Proves from the words of the rows alone that every word of every transfer arrives at its address
 * and that no rule of lanes, windows, controls, elements and fetches is broken. row_address gives
 * the byte address at which each row is stored (parallel to rows->rows), or NULL to leave out the
 * fetch rule. The first violation is reported with phase, tile, event and transfer. */
Status xchg_verify(const XchgPhase *phase, uint32_t tile_count, const XchgRows *rows,
                   const uint32_t *row_address, Diag *diag);
