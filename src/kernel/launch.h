/* Internal: what kernels that launch their workers once have in common. */
#pragma once

#include "chip/chip.h"
#include "kernel/families.h"

enum { WORKERS = CHIP_WORKERS };

/* Cycles of a call that issues its runall `prologue` cycles after its first instruction and whose
 * worker w executes bundles[w] >= 1 bundles; see kernel_cycles. */
uint64_t launch_cycles(unsigned start, unsigned prologue, const uint64_t bundles[WORKERS]);

/* `launches` launches one after the other, the longest of whose workers are those in the set
 * `longest`: each begins `period` cycles and a multiple of 6 after the one before. sum: what these
 * workers wait for their slots, that which starts last; slot: the one at the last launch's start.
 */
typedef struct Starts {
    unsigned slot;
    uint64_t sum;
} Starts;

Starts start_launches(Starts now, unsigned longest, uint64_t period, uint64_t launches);

enum { ALL_WORKERS = (1 << WORKERS) - 1 };

/* The first `count` workers. */
static inline unsigned first_workers(uint32_t count) {
    return (1u << count) - 1;
}

/* Units are dealt like cards: this many of `total` go to `worker`. */
static inline uint32_t dealt_units(uint32_t total, uint32_t worker) {
    return total / WORKERS + (worker < total % WORKERS);
}
/* How the workers are told: quotient (less `less`, in 16 bits) | rest << 16. */
int32_t dealt_share(uint32_t total, uint32_t less);

/* Runs of equal length that cover `total` units; those of two workers may overlap. Worker w begins
 * at min(w * length, total - length). */
static inline uint32_t run_length(uint32_t total) {
    return (total + WORKERS - 1) / WORKERS;
}
/* How the workers are told: length | total - length << 16. */
int32_t run_share(uint32_t total);

/* low | high << 16, both below 65536. */
int32_t pack_halves(uint32_t low, uint32_t high);

/* No buffer crosses the border between the regions of memory, so none is larger than the larger
 * one. */
enum { OPERAND_BYTES_MOST = CHIP_TILE_MEM_END - CHIP_REGION1_BASE };

/* ERR_KERNEL_SHAPE if an operand is empty or larger than that. */
Status check_operand_bytes(const char *kernel, const char *operand, uint64_t bytes, Diag *diag);
