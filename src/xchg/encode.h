/* Internal: encoding with a fault that the scheduler can act on. */
#pragma once

#include "xchg/row.h"
#include "xchg/xchg.h"

typedef struct EncodeFault {
    uint32_t tile;
    int32_t event;
} EncodeFault;

RowFault encode_rows(const XchgPhase *phase, uint32_t tile_count, const XchgSchedule *schedule,
                     XchgRows *rows, EncodeFault *where);

/* The fault as an error of the phase; returns its code. */
Status encode_report(const XchgPhase *phase, RowFault fault, const EncodeFault *where, Diag *diag);
