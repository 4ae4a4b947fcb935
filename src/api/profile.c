#include "api/api.h"

#include "base/file.h"

#include <string.h>

_Static_assert((unsigned)TW_PROFILE_CAUSES == (unsigned)PROF_CAUSES, "the causes of prof.h");
_Static_assert((unsigned)TW_PROFILE_FIGURES == (unsigned)PROF_FIGURES &&
                   (unsigned)TW_PREDICTED == (unsigned)PROF_PREDICTED &&
                   (unsigned)TW_SCHEDULED == (unsigned)PROF_SCHEDULED,
               "the figures of prof.h");

void tw_profile_free(TwProfile *profile) {
    if (!profile)
        return;
    prof_free(&profile->profile);
    mem_free(profile);
}

TwStatus tw_profile_write(TwContext *context, const TwProfile *profile, const char *path) {
    return (TwStatus)prof_write(&profile->profile, path, &context->diag);
}

TwStatus tw_profile_read(TwContext *context, const char *path, TwProfile **profile) {
    TwProfile *read = mem_alloc(1, sizeof *read);
    if (!read)
        return api_no_memory(context);
    Status status = prof_read(path, &read->profile, &context->diag);
    if (status == STATUS_OK)
        *profile = read;
    else
        tw_profile_free(read);
    return (TwStatus)status;
}

const char *tw_profile_cause(unsigned cause) {
    return prof_cause_name((ProfCause)cause);
}

const char *tw_profile_figure(TwProfileFigure figure) {
    return prof_figure_name((ProfFigure)figure);
}

static void add_step(const Profile *profile, size_t step,
                     double causes[TW_PROFILE_FIGURES][TW_PROFILE_CAUSES]) {
    for (unsigned figure = 0; figure < PROF_FIGURES; figure++)
        for (unsigned cause = 0; cause < PROF_CAUSES; cause++)
            causes[figure][cause] +=
                (double)profile->steps.items[step].causes[figure][cause] / profile->tiles;
}

TwProfileTotals tw_profile_totals(const TwProfile *handle) {
    const Profile *profile = &handle->profile;
    TwProfileTotals totals = {
        .tiles = profile->tiles, .cycles_sampled = profile->cycles_sampled, .worst_phase = -1};
    memcpy(totals.cycles, profile->cycles, sizeof totals.cycles);
    uint64_t horizon = 0, bound = 0; /* of the worst one */
    for (size_t s = 0; s < profile->steps.count; s++) {
        const ProfStep *step = &profile->steps.items[s];
        totals.horizon += step->horizon;
        totals.bound += step->bound;
        if (step->bound && (uint64_t)step->horizon * bound >= horizon * step->bound) {
            totals.worst_phase = (int)s;
            totals.worst_operation = step->operation;
            horizon = step->horizon;
            bound = step->bound;
            totals.worst_ratio = (double)horizon / (double)bound;
        }
    }
    for (unsigned figure = 0; figure < PROF_FIGURES; figure++)
        for (unsigned cause = 0; cause < PROF_CAUSES; cause++) {
            int64_t sum = 0;
            for (size_t s = 0; s < profile->steps.count; s++)
                sum += profile->steps.items[s].causes[figure][cause];
            totals.causes[figure][cause] = (double)sum / profile->tiles;
        }
    return totals;
}

static size_t step_rows(const Profile *profile, bool merge, TwProfileRow *rows) {
    size_t count = 0;
    for (size_t s = 0; s < profile->steps.count; s++) {
        const ProfStep *step = &profile->steps.items[s];
        size_t at = merge ? 0 : count;
        while (at < count && strcmp(rows[at].name, step->name) != 0)
            at++;
        if (at == count)
            rows[count++] = (TwProfileRow){.name = step->name,
                                           .operation = merge ? "" : step->operation,
                                           .number = (unsigned)s};
        for (unsigned figure = 0; figure < PROF_FIGURES; figure++)
            rows[at].cycles[figure] += step->cycles[figure];
        rows[at].scheduled_sampled += step->scheduled_sampled;
        rows[at].simulated_sampled += step->simulated_sampled;
        rows[at].horizon += step->horizon;
        rows[at].bound += step->bound;
        add_step(profile, s, rows[at].causes);
    }
    return count;
}

static size_t tile_rows(const Profile *profile, TwProfileRow *rows) {
    for (uint32_t tile = 0; tile < profile->tiles; tile++) {
        rows[tile] = (TwProfileRow){.name = "tile", .operation = "", .number = tile};
        for (size_t s = 0; s < profile->steps.count; s++)
            for (unsigned cause = 0; cause < PROF_CAUSES; cause++)
                rows[tile].causes[TW_SIMULATED][cause] +=
                    profile->cells[(s * profile->tiles + tile) * PROF_CAUSES + cause];
    }
    return profile->tiles;
}

TwStatus tw_profile_rows(TwContext *context, const TwProfile *handle, TwProfileBy by,
                         TwProfileRow **rows, size_t *count) {
    const Profile *profile = &handle->profile;
    *rows = mem_alloc(by == TW_BY_TILE ? profile->tiles : profile->steps.count, sizeof **rows);
    if (!*rows)
        return api_no_memory(context);
    *count = by == TW_BY_TILE ? tile_rows(profile, *rows)
                              : step_rows(profile, by == TW_BY_KERNEL, *rows);
    return 0;
}

void tw_profile_rows_free(TwProfileRow *rows) {
    mem_free(rows);
}

static TwStatus write_text(TwContext *context, char *text, const char *path) {
    if (!text)
        return api_no_memory(context);
    Status status = file_write_atomic(path, text, strlen(text), &context->diag);
    mem_free(text);
    return (TwStatus)status;
}

TwStatus tw_profile_html(TwContext *context, const TwProfile *profile, const char *path) {
    size_t size;
    return write_text(context, prof_html(&profile->profile, &size), path);
}

TwStatus tw_profile_trace(TwContext *context, const TwProfile *profile, const char *path) {
    size_t size;
    return write_text(context, prof_trace(&profile->profile, &size), path);
}
