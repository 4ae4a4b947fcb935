#include "kernel/launch.h"

#include <assert.h>
#include <inttypes.h>

uint64_t launch_cycles(unsigned start, unsigned prologue, const uint64_t bundles[WORKERS]) {
    uint64_t first = CHIP_SUP_TAKEN_BRANCH + prologue + CHIP_RUNALL_LATENCY, last = 0;
    unsigned slot = (unsigned)((start + first) % CHIP_WORKER_SLOTS);
    for (unsigned worker = 0; worker < WORKERS; worker++) {
        unsigned wait = (worker + CHIP_WORKER_SLOTS - slot) % CHIP_WORKER_SLOTS;
        last = MAX_OF(last, wait + CHIP_WORKER_BUNDLE * (bundles[worker] - 1));
    }
    return first + last + CHIP_EXIT_TO_RESUME + CHIP_SUP_TAKEN_BRANCH;
}

int32_t pack_halves(uint32_t low, uint32_t high) {
    assert(low <= UINT16_MAX && high <= UINT16_MAX);
    return (int32_t)(low | high << 16);
}

int32_t dealt_share(uint32_t total, uint32_t less) {
    return pack_halves((total / WORKERS - less) & UINT16_MAX, total % WORKERS);
}

int32_t run_share(uint32_t total) {
    return pack_halves(run_length(total), total - run_length(total));
}

Status check_operand_bytes(const char *kernel, const char *operand, uint64_t bytes, Diag *diag) {
    if (bytes == 0)
        return diag_error(diag, ERR_KERNEL_SHAPE, DIAG_NOWHERE, "a %s kernel with nothing to do",
                          kernel);
    if (bytes > OPERAND_BYTES_MOST)
        return diag_error(diag, ERR_KERNEL_SHAPE, DIAG_NOWHERE,
                          "the %s kernel's %s operand takes %" PRIu64
                          " bytes; memory for it has %d",
                          kernel, operand, bytes, (int)OPERAND_BYTES_MOST);
    return STATUS_OK;
}
