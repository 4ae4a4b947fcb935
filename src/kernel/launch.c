#include "kernel/launch.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

uint64_t launch_cycles(unsigned start, unsigned prologue, const uint64_t bundles[WORKERS]) {
    uint64_t first = CHIP_SUP_TAKEN_BRANCH + prologue + CHIP_RUNALL_LATENCY, last = 0;
    unsigned slot = (unsigned)((start + first) % CHIP_WORKER_SLOTS);
    for (unsigned worker = 0; worker < WORKERS; worker++) {
        unsigned wait = (worker + CHIP_WORKER_SLOTS - slot) % CHIP_WORKER_SLOTS;
        last = MAX_OF(last, wait + CHIP_WORKER_BUNDLE * (bundles[worker] - 1));
    }
    return first + last + CHIP_EXIT_TO_RESUME + CHIP_SUP_TAKEN_BRANCH;
}

/* Cycles from the first cycle at which a worker may issue to the first issue of that worker of the
 * set that starts last. The first cycle belongs to `slot`. */
static unsigned last_start(unsigned slot, unsigned set) {
    unsigned last = 0;
    for (unsigned worker = 0; worker < WORKERS; worker++)
        if (set >> worker & 1)
            last = MAX_OF(last, (worker + CHIP_WORKER_SLOTS - slot) % CHIP_WORKER_SLOTS);
    return last;
}

Starts start_launches(Starts now, unsigned longest, uint64_t period, uint64_t launches) {
    uint64_t sum_at[CHIP_WORKERS], done_at[CHIP_WORKERS];
    bool seen[CHIP_WORKERS] = {false};
    for (uint64_t done = 0; done < launches; done++) {
        if (seen[now.slot]) {
            uint64_t length = done - done_at[now.slot], rounds = (launches - done) / length;
            now.sum += rounds * (now.sum - sum_at[now.slot]);
            done += rounds * length;
            memset(seen, 0, sizeof seen);
            if (done == launches)
                break;
        }
        seen[now.slot] = true;
        sum_at[now.slot] = now.sum;
        done_at[now.slot] = done;
        now.slot = (unsigned)((now.slot + period) % CHIP_WORKERS);
        unsigned wait = last_start(now.slot, longest);
        now.sum += wait;
        now.slot = (now.slot + wait) % CHIP_WORKERS;
    }
    return now;
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
