/* The web page and the trace. */
#include "prof/prof.h"

#include "base/embed.h"
#include "base/map.h"
#include "chip/chip.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

extern const EmbeddedFile tw_prof_pages[];

/* JSON in HTML: '<' would end the script that holds it. */
static void put_text(FILE *out, const char *text) {
    fputc('"', out);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == '"' || c == '\\' || c == '<')
            fprintf(out, "\\u%04x", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
}

static int32_t cell(const Profile *profile, size_t step, uint32_t tile, unsigned cause) {
    return profile->cells[(step * profile->tiles + tile) * PROF_CAUSES + cause];
}

static void put_head(FILE *out, const Profile *profile) {
    fprintf(out,
            "{\"tiles\":%u,\"cycles\":%" PRIu64 ",\"cycles_sampled\":%" PRIu64
            ",\"scheduled_cycles\":%" PRIu64 ",\"predicted_cycles\":%" PRIu64
            ",\"content_digest\":\"%s\",\"memory\":[%u,%u],\"causes\":[",
            profile->tiles, profile->cycles[PROF_SIMULATED], profile->cycles_sampled,
            profile->cycles[PROF_SCHEDULED], profile->cycles[PROF_PREDICTED], profile->digest,
            (unsigned)CHIP_TILE_MEM_BASE, (unsigned)CHIP_TILE_MEM_END);
    for (unsigned cause = 0; cause < PROF_CAUSES; cause++)
        fprintf(out, "%s\"%s\"", cause ? "," : "", prof_cause_name(cause));
    fputs("],\"steps\":[", out);
    for (size_t s = 0; s < profile->steps.count; s++) {
        const ProfStep *step = &profile->steps.items[s];
        fputs(s ? ",[" : "[", out);
        put_text(out, step->name);
        fputc(',', out);
        put_text(out, step->operation);
        for (int figure = 0; figure < PROF_FIGURES; figure++)
            fprintf(out, ",%" PRIu64, step->cycles[figure]);
        fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%u,%u]", step->scheduled_sampled,
                step->simulated_sampled, step->horizon, step->bound);
    }
    fputs("],\"sums\":[", out);
    for (size_t s = 0; s < profile->steps.count; s++)
        for (int figure = 0; figure < PROF_FIGURES; figure++)
            for (unsigned cause = 0; cause < PROF_CAUSES; cause++)
                fprintf(out, "%s%" PRId64, s || figure || cause ? "," : "",
                        profile->steps.items[s].causes[figure][cause]);
    fputc(']', out);
}

/* Along the tiles: how many, and the cycles of each. */
static void put_runs(FILE *out, const Profile *profile, size_t step, unsigned cause) {
    for (uint32_t tile = 0, next; tile < profile->tiles; tile = next) {
        int32_t value = cell(profile, step, tile, cause);
        for (next = tile + 1; next < profile->tiles; next++)
            if (cell(profile, step, next, cause) != value)
                break;
        fprintf(out, "%s%u,%d", tile ? "," : "", next - tile, value);
    }
}

static bool is_empty(const Profile *profile, size_t step, unsigned cause) {
    for (uint32_t tile = 0; tile < profile->tiles; tile++)
        if (cell(profile, step, tile, cause))
            return false;
    return true;
}

static void put_cells(FILE *out, const Profile *profile) {
    const char *separator = "";
    fputs(",\"cells\":[", out);
    for (size_t s = 0; s < profile->steps.count; s++)
        for (unsigned cause = 0; cause < PROF_CAUSES; cause++) {
            if (is_empty(profile, s, cause))
                continue;
            fprintf(out, "%s[%zu,%u,[", separator, s, cause);
            put_runs(out, profile, s, cause);
            fputs("]]", out);
            separator = ",";
        }
    fputc(']', out);
}

/* Rows of each exchange as numbers: tile, address, size. */
static void put_rows(FILE *out, const Profile *profile) {
    fputs(",\"rows\":{", out);
    for (size_t i = 0; i < profile->rows.count; i++) {
        const ProfRow *row = &profile->rows.items[i];
        if (i == 0 || row[-1].step != row->step)
            fprintf(out, "%s\"%u\":[", i ? "]," : "", row->step);
        else
            fputc(',', out);
        fprintf(out, "%u,%u,%u", row->tile, row->address, row->size);
    }
    fputs(profile->rows.count ? "]}}" : "}}", out);
}

/* Buffers of each map as numbers: name, address, size, first, last event. */
static bool put_memory(FILE *out, const Profile *profile) {
    StrMap *names = strmap_create();
    bool memory = names != NULL;
    uint64_t count = 0, number;
    fputs(",\"names\":[", out);
    for (size_t i = 0; i < profile->buffers.count && memory; i++) {
        const char *name = profile->buffers.items[i].name;
        if (strmap_get(names, name, &number))
            continue;
        fputs(count ? "," : "", out);
        put_text(out, name);
        memory = strmap_put(names, name, count++);
    }
    fputs("],\"map\":[", out);
    for (uint32_t tile = 0; tile < profile->tiles; tile++)
        fprintf(out, "%s%u", tile ? "," : "", profile->map[tile]);
    fputs("],\"buffers\":{", out);
    for (size_t i = 0; i < profile->buffers.count && memory; i++) {
        const ProfBuffer *buffer = &profile->buffers.items[i];
        if (i == 0 || buffer[-1].map != buffer->map)
            fprintf(out, "%s\"%u\":[", i ? "]," : "", buffer->map);
        else
            fputc(',', out);
        strmap_get(names, buffer->name, &number);
        fprintf(out, "%" PRIu64 ",%u,%u,%u,%u", number, buffer->address, buffer->size,
                buffer->first, buffer->last);
    }
    fputs(profile->buffers.count ? "]}" : "}", out);
    strmap_free(names);
    put_rows(out, profile);
    return memory;
}

/* Ends a memory stream; its text, or NULL if something was lost. */
static char *finish(FILE *out, char **text, bool good) {
    good = !ferror(out) && good;
    good = fclose(out) == 0 && good;
    char *copy = good ? mem_strdup(*text) : NULL;
    free(*text);
    return copy;
}

char *prof_html(const Profile *profile, size_t *size) {
    static const char mark[] = "@DATA@";
    const EmbeddedFile *page = embed_find(tw_prof_pages, "report.html");
    const char *at = strstr(page->bytes, mark);
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    if (!out)
        return NULL;
    fwrite(page->bytes, 1, (size_t)(at - page->bytes), out);
    put_head(out, profile);
    put_cells(out, profile);
    bool good = put_memory(out, profile);
    fputs(at + strlen(mark), out);
    return finish(out, &text, good);
}

char *prof_trace(const Profile *profile, size_t *size) {
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    if (!out)
        return NULL;
    fprintf(out,
            "{\"otherData\":{\"cycles\":%" PRIu64 ",\"unit\":\"one cycle is shown as one "
            "microsecond\"},\n\"traceEvents\":[\n"
            "{\"ph\":\"M\",\"pid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"tiles\"}}",
            profile->cycles[PROF_SIMULATED]);
    for (uint32_t tile = 0; tile < profile->tiles; tile++) {
        int64_t now = 0;
        for (size_t s = 0; s < profile->steps.count; s++)
            for (unsigned cause = 0; cause < PROF_CAUSES; cause++) {
                int32_t cycles = cell(profile, s, tile, cause);
                if (cycles > 0)
                    fprintf(out,
                            ",\n{\"ph\":\"X\",\"pid\":0,\"tid\":%u,\"ts\":%" PRId64
                            ",\"dur\":%d,\"name\":\"%s\",\"args\":{\"step\":%zu}}",
                            tile, now, cycles, prof_cause_name(cause), s);
                now += cycles;
            }
    }
    fputs("\n]}\n", out);
    return finish(out, &text, true);
}
