/* The device interface, on the simulator: open a package, set inputs and parameters by name, run,
 * read outputs.
 *
 * Values go in and come out in logical order (row major over the binding's shape); encoding to the
 * binding's precision and scale and the packed order of every slice happen here. Parameters and
 * inputs stay until they are set again, so one device serves many invocations: inputs, whose memory
 * a program may use for other values, are sent once more before each.
 * A device is used by one thread at a time; it uses the pool itself.
 */
#pragma once

#include "base/diag.h"
#include "base/pool.h"
#include "pack/pack.h"
#include "sim/sim.h"

typedef struct Device Device;

typedef struct RunOptions {
    MachineOptions machine;
} RunOptions;

/* What the caller's values are. */
typedef enum RunValues {
    RUN_F32,   /* float */
    RUN_F16,   /* binary16 bits in uint16_t */
    RUN_CODES, /* codes of the binding's own precision: uint8_t, uint16_t or float */
} RunValues;

/* Loads the package's segments. The package and the pool (may be NULL) are borrowed and must
 * outlive the device; options may be NULL. */
Status run_open(const Package *package, Pool *pool, const RunOptions *options, Device **device,
                Diag *diag);
void run_close(Device *device);

/* Sets input or parameter `name` from `count` values, the product of its shape. Values are rounded
 * to nearest even; too large ones saturate in F143 and become infinite in F16. Errors:
 * ERR_RUN_BINDING (no such name, or an output), ERR_RUN_COUNT. */
Status run_set(Device *device, const char *name, RunValues kind, const void *values, uint64_t count,
               Diag *diag);

/* Reads output `name`: `count` values in logical order. RUN_F16 (ERR_RUN_KIND) not from F32. A
 * value that lies in several slices is read from the first of them. Errors as run_set. */
Status run_get(Device *device, const char *name, RunValues kind, void *values, uint64_t count,
               Diag *diag);

/* One invocation. */
typedef struct RunResult {
    uint64_t cycles; /* release of the opening barrier … last tile's arrival at the closing one */
    uint64_t bundles, instructions, supervisor; /* sums over tiles of this invocation */
    double seconds;                             /* host time of the simulation */
} RunResult;

/* Runs one invocation of entry "run" or "run_sampled" on all tiles. Inputs and parameters that were
 * never set hold what the package's segments say, else zero. A trap comes back as its ERR_SIM_*
 * code with tile, function, and source line where the package knows it. Changing the entry between
 * invocations restarts the tiles' programs; memory stays. Errors: ERR_RUN_ENTRY. */
Status run_invoke(Device *device, const char *entry, RunResult *result, Diag *diag);

/* Cycles of one tile in the last invocation, counted from the common release. */
uint64_t run_tile_cycles(const Device *device, uint32_t tile);

/* The cycle counts that tile's samples hold after an invocation of "run_sampled": one before every
 * step and one after the last, in order of the package's schedule for the tile's program. 32-bit
 * counters, wrapping. Free with mem_free. */
Status run_samples(const Device *device, uint32_t tile, uint32_t **samples, uint32_t *count,
                   Diag *diag);

/* The machine below, for counters and tests. */
Machine *run_machine(Device *device);
