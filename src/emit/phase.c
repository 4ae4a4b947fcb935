/* What an exchange step moves, at the addresses of a placement. */
#include "emit/internal.h"

static Status no_memory(Diag *diag) {
    return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "the transfers of an exchange");
}

static uint32_t operand_address(const PlaceMap *places, const LowerOperand *operand) {
    return places->address[operand->buffer] + operand->offset;
}

Status emit_exchange_phase(const TileGraph *graph, const PlaceMap *places, uint32_t step,
                           XchgPhase *phase, Diag *diag) {
    const LowerStep *exchange = &graph->steps.items[step];
    const LowerCopy *copies = graph->copies.items + exchange->first_copy;
    *phase = (XchgPhase){0};
    VEC(XchgDest) dests = {0};
    Status status = STATUS_OK;
    for (uint32_t i = 0; i < exchange->copy_count && !status; i++) {
        const LowerCopy *copy = &copies[i];
        if (!vec_reserve(&dests, copy->dest_count)) {
            status = no_memory(diag);
            break;
        }
        for (uint32_t k = 0; k < copy->dest_count; k++) {
            const LowerOperand *to = &graph->dests.items[copy->first_dest + k];
            dests.items[k] =
                (XchgDest){graph->buffers.items[to->buffer].tile, operand_address(places, to)};
        }
        status = xchg_phase_add(phase, graph->buffers.items[copy->source.buffer].tile,
                                operand_address(places, &copy->source), copy->words, dests.items,
                                copy->dest_count, diag);
        if (!status && graph->buffers.items[copy->source.buffer].members > 1)
            phase->transfers.items[phase->transfers.count - 1].stride =
                places->stride[copy->source.buffer];
    }
    vec_free(&dests);
    return status;
}
