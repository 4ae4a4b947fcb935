/* Rows: one tile's timed exchange code. Encoder from sends and control events, decoder back.
 * Internal to xchg; tests use it too. Tile ids in here are physical, as the words carry them. */
#pragma once

#include "base/diag.h"
#include "base/mem.h"

#include <stdint.h>

#define ROW_SCTL_DIRECTIONS 3u
#define ROW_SCTL_PAIRED     4u

/* One message as its sender sees it: item i leaves at event start + i. */
typedef struct RowSend {
    int32_t start;
    uint32_t items;
    uint32_t address; /* in items: 4-byte units, 8-byte ones with ROW_SCTL_PAIRED */
    uint32_t sctl;
} RowSend;

typedef enum RowStream { ROW_PIC, ROW_XPIC } RowStream;

/* A write to a receive control register that takes effect at `event`. PIC selector 0 is the write
 * pointer in words, 1 the item format; XPIC selector 0 is the ordinary mux, 1 the paired one. */
typedef struct RowControl {
    int32_t event;
    uint8_t stream; /* RowStream */
    uint8_t selector;
    uint32_t value;
} RowControl;

typedef struct RowProgram {
    VEC(RowSend) sends;       /* ascending start, disjoint */
    VEC(RowControl) controls; /* ascending event */
    uint32_t horizon;         /* events until the return */
} RowProgram;

void row_program_free(RowProgram *program);

typedef VEC(uint32_t) RowWords;

typedef enum RowFault {
    ROW_OK,
    ROW_NO_MEMORY,
    ROW_CONTROL_AT_START, /* a control one event after a send's first item cannot be encoded */
    ROW_CONTROLS_MEET,    /* two controls in one event that no instruction carries together */
    ROW_ALIGNMENT,        /* no instruction order puts the two-word control on an even word */
    ROW_RANGE,            /* a field does not hold the value, or events are out of order */
    ROW_WORD,             /* decoder: a word may not stand there */
} RowFault;

const char *row_fault_text(RowFault fault);

/* Appends the words of the row, return included. On a fault *event says where. */
RowFault row_encode(const RowProgram *program, RowWords *words, int32_t *event);

/* Reads one row up to its return; *index is then the number of words read. ROW_WORD for a word that
 * may not stand in a row, a missing return or a two-word instruction on an odd word: *index names
 * it. A `sendoff` with a delta and register writes are refused: nothing here emits them. */
RowFault row_decode(const uint32_t *words, uint32_t count, RowProgram *program, uint32_t *index);
