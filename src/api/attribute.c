/* Making a profile from a package and a device that has run it. Here and not in prof, which knows
 * nothing of plans. */
#include "api/attribute.h"

#include <string.h>

Status cutter_no_memory(const Cutter *c) {
    return diag_error(c->diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory left for the profile");
}

/* ---- what the package says */

/* The lowered exchange steps with the rows that the package has. */
static Status find_rows(Cutter *c) {
    TileGraph *tiles = &c->tiles;
    c->exchanges = mem_alloc(tiles->exchanges + 1, sizeof *c->exchanges);
    c->rows = mem_alloc(tiles->exchanges + 1, sizeof *c->rows);
    if (!c->exchanges || !c->rows)
        return cutter_no_memory(c);
    for (uint32_t e = 0; e < tiles->exchanges; e++) {
        uint32_t *buffers = tiles->row_buffer + (size_t)e * tiles->tiles, count;
        for (uint32_t tile = 0; tile < tiles->tiles; tile++)
            buffers[tile] = LOWER_NONE;
        uint32_t first = package_phase_rows(c->package, e, &count);
        for (uint32_t i = first; i < first + count; i++) {
            const PackageRow *row = &c->package->rows.items[i];
            XchgRow copy = {.tile = row->tile, .horizon = row->horizon};
            if (!vec_push(&c->rows[e].rows, copy))
                return cutter_no_memory(c);
            buffers[row->tile] = 0;
        }
        c->exchanges[e].rows = &c->rows[e];
    }
    return STATUS_OK;
}

static bool find_patches(Cutter *c) {
    c->patches = mem_alloc((size_t)c->tiles.exchanges + 1, sizeof *c->patches);
    for (size_t i = 0; i < c->package->patches.count && c->patches; i++) {
        const PackagePatch *from = &c->package->patches.items[i];
        EmitPatch patch = {from->tile, from->address, from->increment};
        if (from->phase < c->tiles.exchanges && !vec_push(&c->patches[from->phase], patch))
            return false;
    }
    for (uint32_t e = 0; e < c->tiles.exchanges && c->patches; e++) {
        c->exchanges[e].patches = c->patches[e].items;
        c->exchanges[e].patch_count = (uint32_t)c->patches[e].count;
    }
    return c->patches != NULL;
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
    if (status == STATUS_OK && !find_patches(c))
        status = cutter_no_memory(c);
    if (status == STATUS_OK)
        status = emit_times(&c->tiles, c->exchanges, false, 0, &c->times, c->diag);
    if (status == STATUS_OK)
        status = emit_times(&c->tiles, c->exchanges, true, c->start, &c->sampled, c->diag);
    c->worked = mem_alloc(count, sizeof *c->worked);
    c->waiting = mem_alloc(count, sizeof *c->waiting);
    size_t words = (size_t)c->tiles.exchanges * count + 1;
    c->sent = mem_alloc(words, sizeof *c->sent);
    c->received = mem_alloc(words, sizeof *c->received);
    if (status == STATUS_OK && (!c->worked || !c->waiting || !c->sent || !c->received))
        status = cutter_no_memory(c);
    return status;
}

static void close_cutter(Cutter *c) {
    for (uint32_t e = 0; c->rows && e < c->tiles.exchanges; e++)
        xchg_rows_free(&c->rows[e]);
    for (uint32_t e = 0; c->patches && e < c->tiles.exchanges; e++)
        vec_free(&c->patches[e]);
    emit_times_free(&c->times);
    emit_times_free(&c->sampled);
    tile_graph_free(&c->tiles);
    plan_free(&c->plan);
    mem_free(c->exchanges);
    mem_free(c->rows);
    mem_free(c->patches);
    mem_free(c->worked);
    mem_free(c->waiting);
    mem_free(c->sent);
    mem_free(c->received);
}

static uint64_t latest_end(const EmitTimes *times, uint32_t tiles, size_t run) {
    uint64_t latest = 0;
    for (uint32_t tile = 0; tile < tiles; tile++)
        latest = MAX_OF(latest, times->end[run * tiles + tile]);
    return latest;
}

static Status add_phase(const Cutter *c, const LowerStep *step, ProfStep *row) {
    if (step->kind != STEP_EXCHANGE)
        return STATUS_OK;
    PackageExchange summary;
    Status status = package_phase_summary(c->package, step->exchange, &summary, c->diag);
    row->horizon = summary.horizon;
    row->bound = summary.bound;
    return status;
}

/* The value that a run works for: a loop's steps work for another one in each iteration. */
static uint32_t result_of(const Cutter *c, size_t run) {
    const LowerStep *step = cutter_step(c, run);
    uint32_t planned = step->planned, before = 0;
    for (size_t r = 0; r < run; r++)
        before += c->times.run[r] == c->times.run[run];
    for (uint32_t i = 0; i < c->plan.loop_count; i++)
        if (planned - c->plan.loops[i].first_step < c->plan.loops[i].step_count)
            planned += before * c->plan.loops[i].step_count;
    return c->graph->ops.items[c->plan.steps[planned].op].result;
}

static Status add_steps(const Cutter *c) {
    Profile *profile = c->profile;
    uint64_t plain = 0, sampled = 0;
    for (size_t s = 0; s < c->times.run_count; s++) {
        const LowerStep *step = cutter_step(c, s);
        const char *name = cutter_step_name(&c->tiles, step);
        uint32_t result = result_of(c, s);
        ProfStep row = {.name = arena_strdup(&profile->arena, name),
                        .operation =
                            arena_strdup(&profile->arena, c->graph->values.items[result].name),
                        .cycles[PROF_PREDICTED] = step->predicted_cycles};
        Status status = add_phase(c, step, &row);
        if (status)
            return status;
        uint64_t now = latest_end(&c->times, profile->tiles, s);
        row.cycles[PROF_SCHEDULED] = now - plain;
        plain = now;
        now = latest_end(&c->sampled, profile->tiles, s);
        row.scheduled_sampled = now - sampled;
        sampled = now;
        if (!row.name || !row.operation || !vec_push(&profile->steps, row))
            return cutter_no_memory(c);
        profile->cycles[PROF_PREDICTED] += step->predicted_cycles;
    }
    ProfStep end = {.name = "end",
                    .operation = "",
                    .cycles[PROF_SCHEDULED] = c->times.cycles - plain,
                    .scheduled_sampled = c->sampled.cycles - sampled};
    profile->cycles[PROF_SCHEDULED] = c->times.cycles;
    return vec_push(&profile->steps, end) ? STATUS_OK : cutter_no_memory(c);
}

/* ---- samples */

/* latest[run]: last end of a run as the samples have it, counted from the tile's first one. */
static Status read_samples(const Cutter *c, const Device *device, uint64_t *latest) {
    Status status = STATUS_OK;
    for (uint32_t tile = 0; tile < c->tiles.tiles && !status; tile++) {
        uint32_t *samples, count, at = 0;
        status = run_samples(device, tile, &samples, &count, c->diag);
        for (size_t s = 0; s < c->times.run_count && !status; s++) {
            bool present = cutter_step(c, s)->kind != STEP_COMPUTE ||
                           cutter_end(c, s, tile) != cutter_begin(c, s, tile);
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
    size_t count = c->times.run_count;
    uint64_t *latest = mem_alloc(count + 1, sizeof *latest), before = 0;
    if (!latest)
        return cutter_no_memory(c);
    Status status = read_samples(c, device, latest);
    latest[count] = c->profile->cycles_sampled;
    for (size_t s = 0; s <= count; s++) {
        steps[s].simulated_sampled = latest[s] - before;
        before = latest[s];
    }
    mem_free(latest);
    return status;
}

/* ---- the run without samples */

/* The tile's last run in its time line: from what follows the release by the host. */
static const MachineEvent *run_events(Device *device, uint32_t tile, size_t *count) {
    const MachineEvent *events = machine_timeline(run_machine(device), tile, count);
    size_t first = *count;
    while (first > 0 && !(events[first - 1].kind == EVENT_RELEASE &&
                          events[first - 1].address == CHIP_SYNC_GS2H))
        first--;
    *count -= first;
    return events + first;
}

/* The next event of a kind, counted from the release; the end if there is none. */
static uint64_t next_event(const MachineEvent *events, size_t count, size_t *at,
                           MachineEventKind kind, uint64_t released, uint64_t end) {
    while (*at < count && events[*at].kind != kind)
        ++*at;
    return *at < count ? events[(*at)++].cycle - released : end;
}

/* Scheduled cells become simulated ones: between two barriers, what the tile took more is beyond
 * the schedule; then it waited until the barrier released it. */
static void simulate_tile(const Profile *profile, Device *device, uint32_t tile) {
    uint64_t released = machine_tile_counters(run_machine(device), tile).released;
    uint64_t end = run_tile_cycles(device, tile), now = 0;
    size_t count, at = 0;
    const MachineEvent *events = run_events(device, tile, &count);
    for (size_t s = 0; s < profile->steps.count; s++) {
        int32_t *cells = cutter_cell(profile, s, tile);
        bool barrier = prof_is_exchange(&profile->steps.items[s]);
        if (barrier || s + 1 == profile->steps.count) {
            uint64_t arrival = end, release = profile->cycles[PROF_SIMULATED];
            int32_t sync = cells[PROF_EXCHANGE_SYNC], launch = cells[PROF_LAUNCH_JOIN];
            if (barrier) {
                arrival = next_event(events, count, &at, EVENT_ARRIVE, released, end);
                release = next_event(events, count, &at, EVENT_RELEASE, released, end);
            }
            int32_t *wait = &cells[cells[PROF_IDLE] ? PROF_IDLE : PROF_IMBALANCE];
            int64_t all = (int64_t)(release - now) - sync - launch;
            *wait = (int32_t)MAX_OF((int64_t)(release - arrival) - sync, 0);
            cells[PROF_UNSCHEDULED] = (int32_t)(all - *wait);
        }
        for (unsigned cause = 0; cause < PROF_CAUSES; cause++)
            now += (uint64_t)(int64_t)cells[cause];
    }
}

/* The sums of the simulated cells, and the ends of the steps by them. */
static bool sum_cells(Profile *profile) {
    uint64_t *now = mem_alloc(profile->tiles, sizeof *now), before = 0;
    if (!now)
        return false;
    const int32_t *cell = profile->cells;
    for (size_t s = 0; s < profile->steps.count; s++) {
        ProfStep *step = &profile->steps.items[s];
        uint64_t latest = 0;
        for (uint32_t tile = 0; tile < profile->tiles; tile++) {
            for (unsigned cause = 0; cause < PROF_CAUSES; cause++, cell++) {
                step->causes[PROF_SIMULATED][cause] += *cell;
                now[tile] += (uint64_t)(int64_t)*cell;
            }
            latest = MAX_OF(latest, now[tile]);
        }
        step->cycles[PROF_SIMULATED] = latest - before;
        before = latest;
    }
    mem_free(now);
    return true;
}

Status api_profile_end(Device *device, uint64_t cycles, Profile *profile, Diag *diag) {
    if (cycles > INT32_MAX)
        return diag_error(diag, ERR_PROF_LONG, DIAG_NOWHERE,
                          "%llu cycles are more than a profile holds", (unsigned long long)cycles);
    profile->cycles[PROF_SIMULATED] = cycles;
    for (uint32_t tile = 0; tile < profile->tiles; tile++)
        simulate_tile(profile, device, tile);
    return sum_cells(profile)
               ? STATUS_OK
               : diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory left for the profile");
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
        size_t cells = ((size_t)cutter.times.run_count + 1) * profile->tiles;
        profile->cells = mem_alloc(cells, PROF_CAUSES * sizeof *profile->cells);
        status = profile->cells ? add_steps(&cutter) : cutter_no_memory(&cutter);
    }
    if (status == STATUS_OK)
        status = add_maps(&cutter);
    if (status == STATUS_OK)
        status = cut_steps(&cutter);
    if (status == STATUS_OK)
        status = add_samples(&cutter, device);
    close_cutter(&cutter);
    return status;
}
