/* The text of docs/kernels.md. */
#include "kernels.h"
#include "page.h"

#include "base/mem.h"
#include "chip/chip.h"
#include "kernel/step.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

enum {
    SAMPLING = 90, /* cycles from one sample of the cycle counter to the next */
    GRAIN = CHIP_WORKER_SLOTS
};

static const char head[] = //
    "# Tile kernels\n"
    "\n"
    "What each kernel costs, beside the best figure published for the same shape (ipu-stack, on\n"
    "hardware) and beside the least that the issue slots of a tile allow. `./dev kernels` writes "
    "this\n"
    "page from the kernels' cycle formulas; the tests hold these equal to the simulator. What a "
    "kernel\n"
    "computes stands in `src/kernel/kernel.h`, how in the head of its `.S` file, and how to add "
    "one in\n"
    "[howto-kernel.md](howto-kernel.md).\n"
    "\n"
    "* *Bundles a unit*: what one more unit of work adds, in bundles of a worker. Six workers take "
    "turns,\n"
    "  one bundle a cycle, so that it is also the cycles a unit takes the tile.\n"
    "* *Fixed*: cycles of a call beyond that, arguments included.\n"
    "* *Gross*: as published figures were taken, from one sample of the cycle counter to the next: "
    "the\n"
    "  call with its arguments and 90 cycles of sampling, rounded to 6.\n"
    "* *Aim*: what was set out to be reached; none where nothing stands.\n"
    "* *Bound*: gross cycles if the workers did nothing but the bundles that the last column "
    "names, evenly\n"
    "  dealt, and the supervisor nothing but load arguments, call, launch, join and return (16 "
    "cycles,\n"
    "  and 21 a launch). *Share*: bound / gross.\n"
    "\n"
    "A bundle is a main and an arithmetic instruction; its accesses to memory are at most two "
    "loads of 8\n"
    "bytes (one of 16) and a store of 8, in different memory elements. So the scarcest of three "
    "sets the\n"
    "bound: accesses that may not share a bundle, arithmetic, launches.\n"
    "\n"
    "| Kernel, shape | Unit | Bundles a unit | Fixed | Gross | Published | Aim | Bound | Share | "
    "What binds |\n"
    "|---|---|---:|---:|---:|---:|---:|---:|---:|---|\n";

static uint64_t step_cycles(const KernelSpec *spec) {
    int32_t scalars[KERNEL_MAX_SCALARS] = {0};
    assert(kernel_check(spec, NULL) == STATUS_OK);
    kernel_scalars(spec, scalars);
    return kernel_step_cycles(spec, scalars, 0);
}

static uint64_t bound_cycles(const Row *row) {
    const Bound *bound = &row->bound;
    int32_t scalars[KERNEL_MAX_SCALARS] = {0};
    kernel_scalars(&row->spec, scalars);
    double most = bound->bundles * ((bound->units + CHIP_WORKERS - 1) / CHIP_WORKERS);
    uint64_t launch = CHIP_RUNALL_LATENCY + CHIP_EXIT_TO_RESUME + bound->supervisor +
                      CHIP_WORKER_BUNDLE * (uint64_t)ceil(most);
    return SAMPLING + kernel_step_words(&row->spec, scalars) + 2 * CHIP_SUP_TAKEN_BRANCH +
           bound->launches * launch;
}

/* A number that may be missing. */
static void cell(FILE *out, uint32_t number) {
    if (number)
        fprintf(out, " %" PRIu32 " |", number);
    else
        fprintf(out, " |");
}

static void write_row(FILE *out, const Row *row) {
    uint64_t cycles = step_cycles(&row->spec), more = step_cycles(&row->more);
    double bundles = (double)(more - cycles) / (row->more_units - row->units);
    uint64_t gross = (cycles + SAMPLING + GRAIN / 2) / GRAIN * GRAIN, bound = bound_cycles(row);
    fprintf(out, "| %s | %s | %.2f | %.0f | %" PRIu64 " |", row->shape, row->unit, bundles,
            (double)cycles - bundles * row->units, gross);
    cell(out, row->published);
    cell(out, row->aim);
    fprintf(out, " %" PRIu64 " | %.0f %% | %s |\n", bound, 100.0 * (double)bound / (double)gross,
            row->bound.why);
}

void document_write(FILE *out) {
    fputs(head, out);
    for (size_t i = 0; i < kernel_row_count; i++)
        write_row(out, &kernel_rows[i]);
}
