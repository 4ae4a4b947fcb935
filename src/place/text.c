/* Text form of a placement problem: what place_print writes, place_read reads back. One record a
 * line, blank-separated words, numbers as C writes them, "#" begins a comment. */
#include "place/place.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void place_print(const PlaceProblem *problem, const PlaceResult *result, FILE *out) {
    for (uint32_t i = 0; i < problem->range_count; i++)
        fprintf(out, "range 0x%X 0x%X\n", problem->ranges[i].begin, problem->ranges[i].end);
    if (problem->window.end > problem->window.begin)
        fprintf(out, "window 0x%X 0x%X\n", problem->window.begin, problem->window.end);
    if (problem->code.end > problem->code.begin)
        fprintf(out, "code 0x%X 0x%X\n", problem->code.begin, problem->code.end);
    fprintf(out, "end %u\n", problem->end_event);
    for (uint32_t i = 0; i < problem->buffer_count; i++) {
        const PlaceBuffer *buffer = &problem->buffers[i];
        fprintf(out, "buffer %s bytes=%u tail=%u align=%u class=%s live=%u..%u", buffer->name,
                buffer->bytes, buffer->tail, buffer->align, memory_class_name(buffer->memory_class),
                buffer->first, buffer->last);
        if (buffer->members > 1)
            fprintf(out, " members=%u apart=%d", buffer->members, buffer->members_apart);
        if (buffer->code)
            fputs(" code=1", out);
        if (buffer->alias_of != PLACE_ROOT)
            fprintf(out, " alias=%u offset=%u", buffer->alias_of, buffer->alias_offset);
        fputc('\n', out);
    }
    for (uint32_t i = 0; i < problem->conflict_count; i++)
        fprintf(out, "conflict %u %u%s\n", problem->conflicts[i].a, problem->conflicts[i].b,
                problem->conflicts[i].soft ? " soft" : "");
    if (result && result->verdict == PLACE_PLACED)
        for (uint32_t i = 0; i < problem->buffer_count; i++)
            fprintf(out, "at %s 0x%X stride=%u\n", problem->buffers[i].name, result->address[i],
                    result->stride[i]);
}

typedef struct Reader {
    const char *name, *at;
    const char *line_start;
    uint32_t line;
    PlaceFile *file;
    VEC(PlaceRange) ranges;
    VEC(PlaceBuffer) buffers;
    VEC(PlaceConflict) conflicts;
    Diag *diag;
    Status status;
} Reader;

static bool fail(Reader *reader, const char *what) {
    DiagPlace place = {.file = reader->name,
                       .line = reader->line,
                       .column = (uint32_t)(reader->at - reader->line_start) + 1,
                       .tile = -1};
    if (!reader->status)
        reader->status = diag_error(reader->diag, ERR_PLACE_TEXT, place, "%s", what);
    return false;
}

static void skip_blanks(Reader *reader) {
    while (*reader->at == ' ' || *reader->at == '\t')
        reader->at++;
}

static bool at_end(Reader *reader) {
    skip_blanks(reader);
    return *reader->at == 0 || *reader->at == '\n' || *reader->at == '\r' || *reader->at == '#';
}

/* Takes `word` if it comes next, "=" included in the word where there is one. */
static bool take(Reader *reader, const char *word) {
    skip_blanks(reader);
    size_t length = strlen(word);
    if (strncmp(reader->at, word, length) != 0)
        return false;
    char next = reader->at[length];
    if (word[length - 1] != '=' && next && !isspace((unsigned char)next))
        return false;
    reader->at += length;
    return true;
}

static bool number(Reader *reader, uint32_t *value) {
    skip_blanks(reader);
    char *end;
    errno = 0;
    unsigned long long n = strtoull(reader->at, &end, 0);
    if (!isdigit((unsigned char)*reader->at) || errno || n > UINT32_MAX)
        return fail(reader, "a number from 0 to 4294967295 is wanted here");
    reader->at = end;
    *value = (uint32_t)n;
    return true;
}

static bool keep(Reader *reader, bool memory) {
    if (!memory && !reader->status)
        reader->status = diag_error(reader->diag, ERR_NO_MEMORY, DIAG_NOWHERE, "placement text");
    return memory;
}

static bool buffer_field(Reader *reader, PlaceBuffer *buffer) {
    uint32_t flag;
    if (take(reader, "bytes="))
        return number(reader, &buffer->bytes);
    if (take(reader, "tail="))
        return number(reader, &buffer->tail);
    if (take(reader, "align="))
        return number(reader, &buffer->align);
    if (take(reader, "members="))
        return number(reader, &buffer->members);
    if (take(reader, "alias="))
        return number(reader, &buffer->alias_of);
    if (take(reader, "offset="))
        return number(reader, &buffer->alias_offset);
    if (take(reader, "apart=")) {
        bool ok = number(reader, &flag);
        buffer->members_apart = flag != 0;
        return ok;
    }
    if (take(reader, "code=")) {
        bool ok = number(reader, &flag);
        buffer->code = flag != 0;
        return ok;
    }
    if (take(reader, "class=")) {
        bool interleaved = take(reader, "interleaved");
        buffer->memory_class = interleaved ? MEMORY_INTERLEAVED : MEMORY_STANDARD;
        return interleaved || take(reader, "standard") ||
               fail(reader, "the class is standard or interleaved");
    }
    if (take(reader, "live=")) {
        if (!number(reader, &buffer->first))
            return false;
        if (strncmp(reader->at, "..", 2) != 0)
            return fail(reader, "'..' is wanted here");
        reader->at += 2;
        return number(reader, &buffer->last);
    }
    return fail(reader, "no field of a buffer");
}

static bool read_buffer(Reader *reader) {
    PlaceBuffer buffer = {.members = 1, .align = 4, .alias_of = PLACE_ROOT};
    skip_blanks(reader);
    size_t length = strcspn(reader->at, " \t\r\n#");
    if (length == 0)
        return fail(reader, "a buffer needs a name");
    char *name = arena_alloc(&reader->file->arena, length + 1, 1);
    if (!keep(reader, name != NULL))
        return false;
    memcpy(name, reader->at, length);
    buffer.name = name;
    reader->at += length;
    while (!at_end(reader))
        if (!buffer_field(reader, &buffer))
            return false;
    return keep(reader, vec_push(&reader->buffers, buffer));
}

static bool read_line(Reader *reader) {
    PlaceProblem *problem = &reader->file->problem;
    PlaceRange range;
    PlaceConflict pair = {0};
    if (take(reader, "range"))
        return number(reader, &range.begin) && number(reader, &range.end) &&
               keep(reader, vec_push(&reader->ranges, range));
    if (take(reader, "window"))
        return number(reader, &problem->window.begin) && number(reader, &problem->window.end);
    if (take(reader, "code"))
        return number(reader, &problem->code.begin) && number(reader, &problem->code.end);
    if (take(reader, "end"))
        return number(reader, &problem->end_event);
    if (take(reader, "conflict")) {
        bool ok = number(reader, &pair.a) && number(reader, &pair.b);
        pair.soft = ok && take(reader, "soft");
        return ok && keep(reader, vec_push(&reader->conflicts, pair));
    }
    if (take(reader, "buffer"))
        return read_buffer(reader);
    if (take(reader, "at")) {
        reader->at += strcspn(reader->at, "\r\n#");
        return true;
    }
    return fail(reader, "a line begins with range, window, code, end, buffer, conflict or at");
}

static void read_lines(Reader *reader) {
    while (*reader->at && !reader->status) {
        reader->line++;
        reader->line_start = reader->at;
        if (!at_end(reader) && read_line(reader) && !at_end(reader))
            fail(reader, "the line goes on behind its end");
        reader->at += strcspn(reader->at, "\n");
        reader->at += *reader->at == '\n';
    }
}

static void *to_arena(Reader *reader, const void *items, size_t count, size_t size) {
    void *copy = arena_alloc(&reader->file->arena, count + 1, size);
    if (keep(reader, copy != NULL) && count)
        memcpy(copy, items, count * size);
    return copy;
}

Status place_read(const char *text, const char *name, PlaceFile *file, Diag *diag) {
    *file = (PlaceFile){0};
    Reader reader = {.name = name, .at = text, .file = file, .diag = diag};
    read_lines(&reader);
    if (!reader.status) {
        PlaceProblem *problem = &file->problem;
        problem->ranges =
            to_arena(&reader, reader.ranges.items, reader.ranges.count, sizeof *problem->ranges);
        problem->range_count = (uint32_t)reader.ranges.count;
        problem->buffers =
            to_arena(&reader, reader.buffers.items, reader.buffers.count, sizeof *problem->buffers);
        problem->buffer_count = (uint32_t)reader.buffers.count;
        problem->conflicts = to_arena(&reader, reader.conflicts.items, reader.conflicts.count,
                                      sizeof *problem->conflicts);
        problem->conflict_count = (uint32_t)reader.conflicts.count;
    }
    vec_free(&reader.ranges);
    vec_free(&reader.buffers);
    vec_free(&reader.conflicts);
    if (reader.status)
        place_file_free(file);
    return reader.status;
}

void place_file_free(PlaceFile *file) {
    arena_free(&file->arena);
    *file = (PlaceFile){0};
}
