/* Cutting the time line of every tile into causes, from what the package holds. Here and not in
 * prof, which knows nothing of plans. */
#include "api/api.h"

#include "chip/chip.h"
#include "emit/emit.h"
#include "kernel/step.h"
#include "lower/lower.h"
#include "plan/plan.h"

#include <string.h>

static Status no_memory(Diag *diag) {
    return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory left for the profile");
}

/* What is known of a package while it is cut up. */
typedef struct Cutter {
    const Package *package;
    const Graph *graph;
    Profile *profile;
    Diag *diag;
    unsigned start; /* release of the sampled run, modulo 6 */
    Plan plan;
    TileGraph tiles;
    EmitExchange *exchanges;
    XchgRows *rows;
    EmitTimes times, sampled;
    bool *worked;   /* [tiles] since the last barrier */
    uint64_t *sent; /* [tiles] words of the phase */
    uint64_t *received;
} Cutter;

static int32_t *cell(const Profile *profile, size_t step, uint32_t tile) {
    return profile->cells + (step * profile->tiles + tile) * PROF_CAUSES;
}

static uint64_t end_of(const EmitTimes *times, uint32_t tiles, size_t step, uint32_t tile) {
    return times->step[step * tiles + tile];
}

static uint64_t begin_of(const Cutter *c, size_t step, uint32_t tile) {
    return step ? end_of(&c->times, c->tiles.tiles, step - 1, tile) : 0;
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

/* Takes up to `wanted` of *rest. */
static int32_t take(uint64_t *rest, uint64_t wanted) {
    uint64_t taken = MIN_OF(*rest, wanted);
    *rest -= taken;
    return (int32_t)taken;
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

static void cut_compute(const Cutter *c, size_t number) {
    const LowerStep *step = &c->tiles.steps.items[number];
    double share = useful_share(c, step->operation);
    uint64_t now = 0;
    for (uint32_t i = 0; i < step->call_count; i++) {
        const LowerCall *call = &c->tiles.calls.items[step->first_call + i];
        const KernelSpec *spec = &c->tiles.specs.items[call->spec];
        if (i == 0 || call[-1].tile != call->tile)
            now = begin_of(c, number, call->tile);
        int32_t *cells = cell(c->profile, number, call->tile);
        uint64_t all = kernel_step_cycles(spec, call->scalars, (unsigned)(now % CHIP_WORKER_SLOTS));
        uint64_t lead = kernel_step_words(spec, call->scalars) - 1, inner = all;
        cells[PROF_LAUNCH_JOIN] += take(&inner, lead);
        if (spec->family == KERNEL_GEMM)
            cut_gemm(&spec->gemm, inner, share, cells);
        else
            cells[families[spec->family].cause] += (int32_t)inner;
        now += all;
        c->worked[call->tile] = true;
    }
}

/* ---- exchange */

static Status count_words(const Cutter *c, uint32_t number) {
    XchgPhase phase = {0};
    Status status = package_phase_transfers(c->package, number, &phase, c->diag);
    memset(c->sent, 0, c->tiles.tiles * sizeof *c->sent);
    memset(c->received, 0, c->tiles.tiles * sizeof *c->received);
    for (size_t i = 0; i < phase.transfers.count && !status; i++) {
        const XchgTransfer *transfer = &phase.transfers.items[i];
        c->sent[transfer->source] += transfer->words;
        for (uint32_t d = 0; d < transfer->dest_count; d++)
            c->received[phase.dests.items[transfer->first_dest + d].tile] += transfer->words;
    }
    xchg_phase_free(&phase);
    return status;
}

/* All tiles are released together: the earliest end is that of a tile without a row, or of the
 * shortest one less what it takes. */
static uint64_t release_of(const Cutter *c, size_t number, const uint32_t *horizon) {
    uint64_t end = end_of(&c->times, c->tiles.tiles, number, 0);
    return horizon[0] == LOWER_NONE ? end : end - horizon[0] - 2 * CHIP_SUP_TAKEN_BRANCH;
}

static Status cut_exchange(const Cutter *c, size_t number) {
    const LowerStep *step = &c->tiles.steps.items[number];
    uint32_t tiles = c->tiles.tiles, count;
    uint32_t *horizon = mem_alloc(tiles, sizeof *horizon);
    if (!horizon)
        return no_memory(c->diag);
    memset(horizon, 0xFF, tiles * sizeof *horizon);
    uint32_t first = package_phase_rows(c->package, step->exchange, &count);
    for (uint32_t i = first; i < first + count; i++)
        horizon[c->package->rows.items[i].tile] = c->package->rows.items[i].horizon;
    Status status = count_words(c, step->exchange);
    uint64_t release = release_of(c, number, horizon);
    for (uint32_t tile = 0; tile < tiles && !status; tile++) {
        int32_t *cells = cell(c->profile, number, tile);
        bool row = horizon[tile] != LOWER_NONE;
        uint64_t before = release - begin_of(c, number, tile);
        cells[PROF_EXCHANGE_SYNC] += take(&before, CHIP_SYNC_INTERNAL_CYCLES);
        if (row)
            cells[PROF_LAUNCH_JOIN] += take(&before, emit_launch_cycles());
        cells[c->worked[tile] ? PROF_IMBALANCE : PROF_IDLE] += (int32_t)before;
        uint64_t after = end_of(&c->times, tiles, number, tile) - release;
        if (row) {
            uint64_t words = MAX_OF(c->sent[tile], c->received[tile]);
            cells[PROF_EXCHANGE_PAYLOAD] += take(&after, MIN_OF(words, horizon[tile]));
        }
        cells[PROF_EXCHANGE_CONTROL] += (int32_t)after;
        c->worked[tile] = row;
    }
    mem_free(horizon);
    return status;
}

/* ---- what the package says */

/* The lowered exchange steps with the rows that the package has. */
static Status find_rows(Cutter *c) {
    TileGraph *tiles = &c->tiles;
    c->exchanges = mem_alloc(tiles->exchanges + 1, sizeof *c->exchanges);
    c->rows = mem_alloc(tiles->exchanges + 1, sizeof *c->rows);
    if (!c->exchanges || !c->rows)
        return no_memory(c->diag);
    for (uint32_t e = 0; e < tiles->exchanges; e++) {
        uint32_t *buffers = tiles->row_buffer + (size_t)e * tiles->tiles, count;
        for (uint32_t tile = 0; tile < tiles->tiles; tile++)
            buffers[tile] = LOWER_NONE;
        uint32_t first = package_phase_rows(c->package, e, &count);
        for (uint32_t i = first; i < first + count; i++) {
            const PackageRow *row = &c->package->rows.items[i];
            XchgRow copy = {.tile = row->tile, .horizon = row->horizon};
            if (!vec_push(&c->rows[e].rows, copy))
                return no_memory(c->diag);
            buffers[row->tile] = 0;
        }
        c->exchanges[e].rows = &c->rows[e];
    }
    return STATUS_OK;
}

static Status open_cutter(Cutter *c) {
    const char *plan = "";
    for (size_t i = 0; i < c->package->notes.count; i++)
        if (strcmp(c->package->notes.items[i].name, "plan") == 0)
            plan = c->package->notes.items[i].text;
    uint32_t count = c->package->tile_count;
    Status status = plan_parse(plan, "plan", c->graph, &c->plan, c->diag);
    if (status == STATUS_OK)
        status = lower_plan(c->graph, &c->plan, &c->tiles, c->diag);
    if (status == STATUS_OK && c->tiles.tiles != count)
        status = diag_error(c->diag, ERR_PROF_DAMAGED, DIAG_NOWHERE,
                            "the package has %u tiles, its plan %u", count, c->tiles.tiles);
    if (status == STATUS_OK)
        status = find_rows(c);
    if (status == STATUS_OK)
        status = emit_times(&c->tiles, c->exchanges, false, 0, &c->times, c->diag);
    if (status == STATUS_OK)
        status = emit_times(&c->tiles, c->exchanges, true, c->start, &c->sampled, c->diag);
    c->worked = mem_alloc(count, sizeof *c->worked);
    c->sent = mem_alloc(count, sizeof *c->sent);
    c->received = mem_alloc(count, sizeof *c->received);
    if (status == STATUS_OK && (!c->worked || !c->sent || !c->received))
        status = no_memory(c->diag);
    return status;
}

static void close_cutter(Cutter *c) {
    for (uint32_t e = 0; c->rows && e < c->tiles.exchanges; e++)
        xchg_rows_free(&c->rows[e]);
    emit_times_free(&c->times);
    emit_times_free(&c->sampled);
    tile_graph_free(&c->tiles);
    plan_free(&c->plan);
    mem_free(c->exchanges);
    mem_free(c->rows);
    mem_free(c->worked);
    mem_free(c->sent);
    mem_free(c->received);
}

static const char *step_name(const TileGraph *tiles, const LowerStep *step) {
    if (step->kind == STEP_EXCHANGE)
        return "exchange";
    if (step->call_count == 0)
        return "none";
    return families[tiles->specs.items[tiles->calls.items[step->first_call].spec].family].name;
}

static uint64_t latest_end(const EmitTimes *times, uint32_t tiles, size_t step) {
    uint64_t latest = 0;
    for (uint32_t tile = 0; tile < tiles; tile++)
        latest = MAX_OF(latest, end_of(times, tiles, step, tile));
    return latest;
}

static bool add_steps(const Cutter *c) {
    Profile *profile = c->profile;
    uint64_t plain = 0, sampled = 0;
    for (size_t s = 0; s < c->tiles.steps.count; s++) {
        const LowerStep *step = &c->tiles.steps.items[s];
        uint32_t result = c->graph->ops.items[step->operation].result;
        ProfStep row = {.name = arena_strdup(&profile->arena, step_name(&c->tiles, step)),
                        .operation =
                            arena_strdup(&profile->arena, c->graph->values.items[result].name),
                        .predicted = step->predicted_cycles};
        uint64_t now = latest_end(&c->times, profile->tiles, s);
        row.scheduled = now - plain;
        plain = now;
        now = latest_end(&c->sampled, profile->tiles, s);
        row.scheduled_sampled = now - sampled;
        sampled = now;
        if (!row.name || !row.operation || !vec_push(&profile->steps, row))
            return false;
        profile->predicted_cycles += row.predicted;
    }
    ProfStep end = {.name = "end",
                    .operation = "",
                    .scheduled = c->times.cycles - plain,
                    .scheduled_sampled = c->sampled.cycles - sampled};
    profile->scheduled_cycles = c->times.cycles;
    return vec_push(&profile->steps, end);
}

static bool add_memory(const Cutter *c) {
    Profile *profile = c->profile;
    memcpy(profile->program, c->package->program, profile->tiles * sizeof *profile->program);
    for (size_t i = 0; i < c->package->buffers.count; i++) {
        const PackageBuffer *from = &c->package->buffers.items[i];
        ProfBuffer buffer = {from->program, arena_strdup(&profile->arena, from->name),
                             from->address, from->size,
                             from->first,   from->last};
        if (!buffer.name || !vec_push(&profile->buffers, buffer))
            return false;
    }
    return true;
}

/* ---- samples */

/* latest[step]: last end of a step as the samples have it, counted from the tile's first one. */
static Status read_samples(const Cutter *c, const Device *device, uint64_t *latest) {
    Status status = STATUS_OK;
    for (uint32_t tile = 0; tile < c->tiles.tiles && !status; tile++) {
        uint32_t *samples, count, at = 0;
        status = run_samples(device, tile, &samples, &count, c->diag);
        for (size_t s = 0; s < c->tiles.steps.count && !status; s++) {
            bool present = c->tiles.steps.items[s].kind == STEP_EXCHANGE ||
                           end_of(&c->times, c->tiles.tiles, s, tile) != begin_of(c, s, tile);
            at += present && at + 1 < count;
            latest[s] = MAX_OF(latest[s], (uint64_t)(samples[at] - samples[0]));
        }
        if (status == STATUS_OK)
            mem_free(samples);
    }
    return status;
}

static Status add_samples(const Cutter *c, const Device *device) {
    ProfStep *steps = c->profile->steps.items;
    size_t count = c->tiles.steps.count;
    uint64_t *latest = mem_alloc(count + 1, sizeof *latest), before = 0;
    if (!latest)
        return no_memory(c->diag);
    Status status = read_samples(c, device, latest);
    latest[count] = c->profile->cycles_sampled;
    for (size_t s = 0; s <= count; s++) {
        steps[s].simulated_sampled = latest[s] - before;
        before = latest[s];
    }
    mem_free(latest);
    return status;
}

/* The cells of the last step become the scheduled ends, until prof_end knows the real ones. */
static Status cut_steps(Cutter *c) {
    Status status = STATUS_OK;
    for (size_t s = 0; s < c->tiles.steps.count && !status; s++) {
        if (c->tiles.steps.items[s].kind == STEP_EXCHANGE)
            status = cut_exchange(c, s);
        else
            cut_compute(c, s);
    }
    for (uint32_t tile = 0; tile < c->tiles.tiles && !status; tile++) {
        int32_t *cells = cell(c->profile, c->tiles.steps.count, tile);
        cells[PROF_UNSCHEDULED] = (int32_t)c->times.tile[tile];
        cells[PROF_IDLE] = !c->worked[tile];
    }
    return status;
}

Status api_profile_begin(const Package *package, const Graph *graph, Device *device,
                         uint64_t cycles_sampled, Profile *profile, Diag *diag) {
    uint64_t released = machine_tile_counters(run_machine(device), 0).released;
    Cutter cutter = {.package = package,
                     .graph = graph,
                     .profile = profile,
                     .diag = diag,
                     .start = (unsigned)(released % CHIP_WORKER_SLOTS)};
    *profile = (Profile){.tiles = package->tile_count, .cycles_sampled = cycles_sampled};
    package_digest_print(package_digest(package), profile->digest);
    Status status = open_cutter(&cutter);
    if (status == STATUS_OK) {
        size_t cells = (cutter.tiles.steps.count + 1) * profile->tiles;
        profile->cells = mem_alloc(cells, PROF_CAUSES * sizeof *profile->cells);
        profile->program = mem_alloc(profile->tiles, sizeof *profile->program);
        if (!profile->cells || !profile->program || !add_steps(&cutter) || !add_memory(&cutter))
            status = no_memory(diag);
    }
    if (status == STATUS_OK)
        status = cut_steps(&cutter);
    if (status == STATUS_OK)
        status = add_samples(&cutter, device);
    close_cutter(&cutter);
    return status;
}
