/* Cutting the time line of every tile into causes: as it is scheduled, with waiting where the tile
 * waits, and as the plan prices it, in which every step takes the slowest tile's time and nothing
 * depends on the cycle that a step begins at. */
#include "api/attribute.h"

#include "chip/chip.h"
#include "kernel/step.h"

#include <string.h>

/* Takes up to `wanted` of *rest. */
static int32_t take(uint64_t *rest, uint64_t wanted) {
    uint64_t taken = MIN_OF(*rest, wanted);
    *rest -= taken;
    return (int32_t)taken;
}

/* ---- products */

/* Cycles of the matrix unit for a row of a panel. */
static uint64_t row_cycles(const KernelGemm *gemm) {
    return gemm->precision == PRECISION_F32 ? 8 : 4;
}

static uint64_t unit_cycles(const KernelGemm *gemm) {
    return row_cycles(gemm) * gemm->rows * gemm->panels * gemm->groups;
}

/* The same for the logical product of an operation, on all tiles. */
static double logical_cycles(const Graph *graph, uint32_t op, const KernelGemm *gemm) {
    const GraphOp *product = &graph->ops.items[op];
    const Shape *left = &graph->values.items[product->operands[0]].shape;
    uint64_t count;
    shape_count(&graph->values.items[product->result].shape, &count);
    uint32_t inner = left->dims[left->rank - (product->transpose_left ? 2 : 1)];
    double rate = gemm->precision == PRECISION_F32      ? 16
                  : gemm->precision == PRECISION_F8F143 ? 128
                                                        : 64;
    return (double)count * inner / rate;
}

/* Share of an operation's matrix work that is no padding. */
static double useful_share(const Cutter *c, uint32_t op) {
    double all = 0, logical = 0;
    for (size_t s = 0; s < c->tiles.steps.count; s++) {
        const LowerStep *step = &c->tiles.steps.items[s];
        if (step->operation != op || step->kind != STEP_COMPUTE)
            continue;
        for (uint32_t i = 0; i < step->call_count; i++) {
            const LowerCall *call = &c->tiles.calls.items[step->first_call + i];
            const KernelSpec *spec = &c->tiles.specs.items[call->spec];
            if (spec->family != KERNEL_GEMM)
                continue;
            all += (double)unit_cycles(&spec->gemm);
            logical = logical_cycles(c->graph, op, &spec->gemm);
        }
    }
    return all > 0 ? MIN_OF(logical / all, 1.0) : 0;
}

static void cut_gemm(const KernelGemm *gemm, uint64_t cycles, double share, int32_t *cells) {
    uint64_t launches = (uint64_t)gemm->panels * gemm->groups;
    uint64_t unit = unit_cycles(gemm);
    uint64_t useful = (uint64_t)((double)unit * share + 0.5);
    uint64_t uneven = (CHIP_WORKERS - gemm->rows % CHIP_WORKERS) % CHIP_WORKERS;
    cells[PROF_MULTIPLY_ADDS] += take(&cycles, useful);
    cells[PROF_PADDING] += take(&cycles, unit - useful);
    cells[PROF_COEFFICIENT_LOADS] += take(&cycles, launches * (gemm->wide_weights ? 32 : 64));
    cells[PROF_IMBALANCE] += take(&cycles, launches * uneven * row_cycles(gemm));
    cells[PROF_LAUNCH_JOIN] += (int32_t)cycles;
}

/* ---- other kernels */

static const struct {
    const char *name;
    ProfCause cause;
} families[] = {
    [KERNEL_GEMM] = {"gemm", PROF_MULTIPLY_ADDS},
    [KERNEL_CAST] = {"cast", PROF_CAST},
    [KERNEL_REDUCE] = {"reduce", PROF_REDUCTION},
    [KERNEL_COPY] = {"copy", PROF_COPY},
    [KERNEL_FILL] = {"fill", PROF_COPY},
    [KERNEL_CONVERT] = {"convert", PROF_CAST},
    [KERNEL_GELU] = {"gelu", PROF_ACTIVATION},
    [KERNEL_ADD] = {"add", PROF_ACTIVATION},
    [KERNEL_PACK] = {"pack", PROF_COPY},
    [KERNEL_REDUCE_GELU] = {"reduce_gelu", PROF_REDUCTION},
};

const char *cutter_step_name(const TileGraph *tiles, const LowerStep *step) {
    if (step->kind == STEP_EXCHANGE)
        return "exchange";
    if (step->kind != STEP_COMPUTE)
        return step->kind == STEP_REPEAT ? "repeat" : "again";
    if (step->call_count == 0)
        return "none";
    return families[tiles->specs.items[tiles->calls.items[step->first_call].spec].family].name;
}

/* One call that begins at cycle `now`; returns what it takes. */
static uint64_t cut_call(const Cutter *c, const LowerCall *call, uint64_t now, double share,
                         int32_t *cells) {
    const KernelSpec *spec = &c->tiles.specs.items[call->spec];
    uint64_t all = kernel_step_cycles(spec, call->scalars, (unsigned)(now % CHIP_WORKER_SLOTS));
    uint64_t lead = kernel_step_words(spec, call->scalars) - 1, inner = all;
    cells[PROF_LAUNCH_JOIN] += take(&inner, lead);
    if (spec->family == KERNEL_GEMM)
        cut_gemm(&spec->gemm, inner, share, cells);
    else
        cells[families[spec->family].cause] += (int32_t)inner;
    return all;
}

static void cut_compute(const Cutter *c, size_t run) {
    const LowerStep *step = cutter_step(c, run);
    double share = useful_share(c, step->operation);
    uint64_t now = 0;
    for (uint32_t i = 0; i < step->call_count; i++) {
        const LowerCall *call = &c->tiles.calls.items[step->first_call + i];
        if (i == 0 || call[-1].tile != call->tile)
            now = cutter_begin(c, run, call->tile);
        now += cut_call(c, call, now, share, cutter_cell(c->profile, run, call->tile));
        c->worked[call->tile] = true;
    }
}

/* Begin and end of a loop: the supervisor prepares calls to come. */
static void cut_loop(const Cutter *c, size_t run) {
    for (uint32_t tile = 0; tile < c->tiles.tiles; tile++)
        cutter_cell(c->profile, run, tile)[PROF_LAUNCH_JOIN] =
            (int32_t)(cutter_end(c, run, tile) - cutter_begin(c, run, tile));
}

/* ---- exchange */

static void count_words(const Cutter *c, const LowerStep *step) {
    const TileGraph *tiles = &c->tiles;
    uint64_t *sent = c->sent + (size_t)step->exchange * tiles->tiles;
    uint64_t *received = c->received + (size_t)step->exchange * tiles->tiles;
    for (uint32_t i = 0; i < step->copy_count; i++) {
        const LowerCopy *copy = &tiles->copies.items[step->first_copy + i];
        sent[tiles->buffers.items[copy->source.buffer].tile] += copy->words;
        for (uint32_t d = 0; d < copy->dest_count; d++) {
            uint32_t buffer = tiles->dests.items[copy->first_dest + d].buffer;
            received[tiles->buffers.items[buffer].tile] += copy->words;
        }
    }
}

/* Words that a tile sends or receives in an exchange, whichever are more. */
static uint64_t words_of(const Cutter *c, const LowerStep *step, uint32_t tile) {
    size_t at = (size_t)step->exchange * c->tiles.tiles + tile;
    return MAX_OF(c->sent[at], c->received[at]);
}

static ProfCause wait_cause(const Cutter *c, uint32_t tile) {
    return c->worked[tile] ? PROF_IMBALANCE : PROF_IDLE;
}

/* All tiles are released together: the earliest end is that of a tile without a row, or of the
 * shortest one less what it takes. */
static uint64_t release_of(const Cutter *c, size_t run, const uint32_t *horizon) {
    uint64_t end = cutter_end(c, run, 0);
    return horizon[0] == LOWER_NONE ? end : end - horizon[0] - 2 * CHIP_SUP_TAKEN_BRANCH;
}

static Status cut_exchange(const Cutter *c, size_t run) {
    const LowerStep *step = cutter_step(c, run);
    uint32_t tiles = c->tiles.tiles, count;
    uint32_t *horizon = mem_alloc(tiles, sizeof *horizon);
    if (!horizon)
        return cutter_no_memory(c);
    memset(horizon, 0xFF, tiles * sizeof *horizon);
    uint32_t first = package_phase_rows(c->package, step->exchange, &count);
    for (uint32_t i = first; i < first + count; i++)
        horizon[c->package->rows.items[i].tile] = c->package->rows.items[i].horizon;
    uint64_t release = release_of(c, run, horizon);
    for (uint32_t tile = 0; tile < tiles; tile++) {
        int32_t *cells = cutter_cell(c->profile, run, tile);
        bool row = horizon[tile] != LOWER_NONE;
        uint64_t before = release - cutter_begin(c, run, tile);
        cells[PROF_EXCHANGE_SYNC] += take(&before, CHIP_SYNC_INTERNAL_CYCLES);
        if (row)
            cells[PROF_LAUNCH_JOIN] += take(&before, emit_launch_cycles());
        cells[wait_cause(c, tile)] += (int32_t)before;
        uint64_t after = cutter_end(c, run, tile) - release;
        if (row) {
            uint64_t words = words_of(c, step, tile);
            cells[PROF_EXCHANGE_PAYLOAD] += take(&after, MIN_OF(words, horizon[tile]));
        }
        cells[PROF_EXCHANGE_CONTROL] += (int32_t)after;
        c->worked[tile] = row;
    }
    mem_free(horizon);
    return STATUS_OK;
}

/* ---- the prediction */

/* Adds a tile's waiting since the last barrier; where its calls take more than the plan's, they
 * are beyond it. */
static void add_waiting(const Cutter *c, uint32_t tile, int64_t *causes) {
    causes[c->waiting[tile] < 0 ? PROF_UNSCHEDULED : wait_cause(c, tile)] += c->waiting[tile];
    c->waiting[tile] = 0;
}

static void predict_compute(const Cutter *c, const LowerStep *step, int64_t *causes) {
    double share = useful_share(c, step->operation);
    for (uint32_t tile = 0; tile < c->tiles.tiles; tile++)
        c->waiting[tile] += (int64_t)step->predicted_cycles;
    int32_t cells[PROF_CAUSES];
    uint64_t now = 0;
    for (uint32_t i = 0; i < step->call_count; i++) {
        const LowerCall *call = &c->tiles.calls.items[step->first_call + i];
        if (i == 0 || call[-1].tile != call->tile)
            now = 0;
        memset(cells, 0, sizeof cells);
        uint64_t taken = cut_call(c, call, now, share, cells);
        now += taken;
        c->waiting[call->tile] -= (int64_t)taken;
        c->worked[call->tile] = true;
        for (unsigned cause = 0; cause < PROF_CAUSES; cause++)
            causes[cause] += cells[cause];
    }
}

/* All tiles are priced as the busiest one, which waits for nobody; the others do so afterwards. */
static void predict_exchange(const Cutter *c, const LowerStep *step, int64_t *causes) {
    uint64_t rest = step->predicted_cycles, busiest = 0;
    uint64_t barrier = (uint64_t)take(&rest, CHIP_SYNC_INTERNAL_CYCLES);
    uint64_t launch = (uint64_t)take(&rest, emit_launch_cycles());
    for (uint32_t tile = 0; tile < c->tiles.tiles; tile++)
        busiest = MAX_OF(busiest, words_of(c, step, tile));
    busiest = MIN_OF(busiest, rest);
    uint64_t control = rest - busiest;
    for (uint32_t tile = 0; tile < c->tiles.tiles; tile++) {
        uint64_t words = MIN_OF(words_of(c, step, tile), busiest);
        add_waiting(c, tile, causes);
        causes[PROF_EXCHANGE_SYNC] += (int64_t)barrier;
        c->waiting[tile] = (int64_t)(busiest - words);
        c->worked[tile] = tile_graph_row(&c->tiles, step->exchange, tile) != LOWER_NONE;
        if (c->worked[tile]) {
            causes[PROF_LAUNCH_JOIN] += (int64_t)launch;
            causes[PROF_EXCHANGE_PAYLOAD] += (int64_t)words;
            causes[PROF_EXCHANGE_CONTROL] += (int64_t)control;
        } else {
            c->waiting[tile] += (int64_t)(launch + control);
        }
    }
}

static void predict(const Cutter *c) {
    ProfStep *steps = c->profile->steps.items;
    uint32_t tiles = c->tiles.tiles;
    memset(c->worked, 0, tiles * sizeof *c->worked);
    for (size_t r = 0; r < c->times.run_count; r++) {
        const LowerStep *step = cutter_step(c, r);
        (step->kind == STEP_EXCHANGE ? predict_exchange
                                     : predict_compute)(c, step, steps[r].causes[PROF_PREDICTED]);
    }
    for (uint32_t tile = 0; tile < tiles; tile++)
        add_waiting(c, tile, steps[c->times.run_count].causes[PROF_PREDICTED]);
}

static Status cut_run(const Cutter *c, size_t run) {
    switch (cutter_step(c, run)->kind) {
    case STEP_EXCHANGE: return cut_exchange(c, run);
    case STEP_COMPUTE: cut_compute(c, run); break;
    case STEP_REPEAT:
    case STEP_AGAIN: cut_loop(c, run); break;
    }
    return STATUS_OK;
}

Status cut_steps(Cutter *c) {
    Profile *profile = c->profile;
    size_t steps = c->times.run_count;
    Status status = STATUS_OK;
    for (size_t s = 0; s < c->tiles.steps.count; s++)
        if (c->tiles.steps.items[s].kind == STEP_EXCHANGE)
            count_words(c, &c->tiles.steps.items[s]);
    for (size_t r = 0; r < steps && !status; r++)
        status = cut_run(c, r);
    if (status)
        return status;
    for (uint32_t tile = 0; tile < c->tiles.tiles; tile++)
        cutter_cell(profile, steps, tile)[wait_cause(c, tile)] +=
            (int32_t)(c->times.cycles - c->times.tile[tile]);
    const int32_t *cell = profile->cells;
    for (size_t s = 0; s <= steps; s++)
        for (uint32_t tile = 0; tile < profile->tiles; tile++)
            for (unsigned cause = 0; cause < PROF_CAUSES; cause++)
                profile->steps.items[s].causes[PROF_SCHEDULED][cause] += *cell++;
    predict(c);
    return STATUS_OK;
}
