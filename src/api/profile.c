#include "api/api.h"

#include "base/file.h"

#include <string.h>

_Static_assert((unsigned)TW_PROFILE_CAUSES == (unsigned)PROF_CAUSES, "the causes of prof.h");

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

static void add_step(const Profile *profile, size_t step, double causes[TW_PROFILE_CAUSES]) {
    for (unsigned cause = 0; cause < PROF_CAUSES; cause++)
        causes[cause] += (double)prof_sum(profile, step, cause) / profile->tiles;
}

TwProfileTotals tw_profile_totals(const TwProfile *handle) {
    const Profile *profile = &handle->profile;
    TwProfileTotals totals = {.tiles = profile->tiles,
                              .cycles = profile->cycles,
                              .cycles_sampled = profile->cycles_sampled,
                              .scheduled_cycles = profile->scheduled_cycles,
                              .predicted_cycles = profile->predicted_cycles};
    for (unsigned cause = 0; cause < PROF_CAUSES; cause++) {
        int64_t sum = 0;
        for (size_t s = 0; s < profile->steps.count; s++)
            sum += prof_sum(profile, s, cause);
        totals.causes[cause] = (double)sum / profile->tiles;
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
        rows[at].predicted += step->predicted;
        rows[at].scheduled += step->scheduled;
        rows[at].scheduled_sampled += step->scheduled_sampled;
        rows[at].simulated_sampled += step->simulated_sampled;
        add_step(profile, s, rows[at].causes);
    }
    return count;
}

static size_t tile_rows(const Profile *profile, TwProfileRow *rows) {
    for (uint32_t tile = 0; tile < profile->tiles; tile++) {
        rows[tile] = (TwProfileRow){.name = "tile", .operation = "", .number = tile};
        for (size_t s = 0; s < profile->steps.count; s++)
            for (unsigned cause = 0; cause < PROF_CAUSES; cause++)
                rows[tile].causes[cause] +=
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
