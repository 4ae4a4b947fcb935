#include "base/diag.h"

#include "base/mem.h"

#include <stdarg.h>
#include <string.h>

/* Stands for a text that found no memory; recognised by address and never freed. */
static char lost_text[] = "(the host had no memory left for the details)";

void diag_init(Diag *diag) {
    *diag = (Diag){0};
}

static void text_free(const char *text) {
    if (text != lost_text)
        mem_free((void *)text);
}

static char *text_copy(const char *text) {
    if (!text)
        return NULL;
    char *copy = mem_strdup(text);
    return copy ? copy : lost_text;
}

static void entry_free(DiagEntry *entry) {
    text_free(entry->place.file);
    text_free(entry->place.object);
    text_free(entry->text);
    text_free(entry->notes);
    text_free(entry->fix);
}

void diag_free(Diag *diag) {
    for (size_t i = 0; i < diag->count; i++)
        entry_free(&diag->entries[i]);
    mem_free(diag->entries);
    diag_init(diag);
}

static bool reserve(Diag *diag, size_t more) {
    return vec_grow((void **)&diag->entries, &diag->capacity, diag->count, more,
                    sizeof *diag->entries);
}

static void diag_add(Diag *diag, DiagEntry entry, const char *format, va_list arguments) {
    if (!entry.warning)
        diag->errors++;
    if (!reserve(diag, 1)) {
        if (!entry.warning && diag->unrecorded == STATUS_OK)
            diag->unrecorded = entry.code;
        return;
    }
    entry.place.file = text_copy(entry.place.file);
    entry.place.object = text_copy(entry.place.object);
    entry.text = mem_vprintf(format, arguments);
    if (!entry.text)
        entry.text = lost_text;
    diag->entries[diag->count++] = entry;
}

Status diag_error(Diag *diag, Status code, DiagPlace place, const char *format, ...) {
    if (!diag)
        return code;
    va_list arguments;
    va_start(arguments, format);
    diag_add(diag, (DiagEntry){.code = code, .place = place}, format, arguments);
    va_end(arguments);
    return code;
}

void diag_warning(Diag *diag, Status code, DiagPlace place, const char *format, ...) {
    if (!diag)
        return;
    va_list arguments;
    va_start(arguments, format);
    diag_add(diag, (DiagEntry){.code = code, .warning = true, .place = place}, format, arguments);
    va_end(arguments);
}

/* The entry that a note belongs to, or NULL when it may be one that was lost. */
static DiagEntry *newest_entry(Diag *diag) {
    if (!diag || diag->count == 0 || diag->unrecorded != STATUS_OK)
        return NULL;
    return &diag->entries[diag->count - 1];
}

/* Puts text after what `field` holds, on a line of its own. Takes over `text`. */
static void append_line(char **field, char *text) {
    if (!text || *field == lost_text) {
        mem_free(text);
        return;
    }
    if (!*field) {
        *field = text;
        return;
    }
    char *joined = mem_printf("%s\n%s", *field, text);
    mem_free(text);
    if (joined) {
        mem_free(*field);
        *field = joined;
    }
}

void diag_note(Diag *diag, const char *format, ...) {
    DiagEntry *entry = newest_entry(diag);
    if (!entry)
        return;
    va_list arguments;
    va_start(arguments, format);
    append_line(&entry->notes, mem_vprintf(format, arguments));
    va_end(arguments);
}

void diag_fix(Diag *diag, const char *format, ...) {
    DiagEntry *entry = newest_entry(diag);
    if (!entry)
        return;
    va_list arguments;
    va_start(arguments, format);
    append_line(&entry->fix, mem_vprintf(format, arguments));
    va_end(arguments);
}

void diag_append(Diag *to, Diag *from) {
    to->errors += from->errors;
    if (to->unrecorded == STATUS_OK)
        to->unrecorded = from->unrecorded;
    if (reserve(to, from->count)) {
        if (from->count)
            memcpy(to->entries + to->count, from->entries, from->count * sizeof *to->entries);
        to->count += from->count;
        from->count = 0;
    } else if (to->unrecorded == STATUS_OK) {
        to->unrecorded = diag_status(from);
    }
    diag_free(from);
}

Status diag_status(const Diag *diag) {
    for (size_t i = 0; i < diag->count; i++) {
        if (!diag->entries[i].warning)
            return diag->entries[i].code;
    }
    return diag->unrecorded;
}

void diag_complete(Diag *diag) {
    for (size_t i = 0; i < diag->count; i++) {
        char remedy[STATUS_REMEDY];
        DiagEntry *entry = &diag->entries[i];
        if (!entry->fix && *status_remedy(entry->code, remedy))
            entry->fix = text_copy(remedy);
    }
}

static void print_place(const DiagPlace *place, FILE *out) {
    const char *separator = " at ";
    if (place->file) {
        fprintf(out, "%s%s", separator, place->file);
        if (place->line)
            fprintf(out, ":%u", place->line);
        if (place->line && place->column)
            fprintf(out, ":%u", place->column);
        separator = ", ";
    }
    if (place->tile >= 0) {
        fprintf(out, "%stile %d", separator, place->tile);
        separator = ", ";
    }
    if (place->object)
        fprintf(out, "%s%s", separator, place->object);
}

/* Each line of `text` with the label before it. */
static void print_lines(const char *label, const char *text, FILE *out) {
    while (text) {
        const char *end = strchr(text, '\n');
        int length = end ? (int)(end - text) : (int)strlen(text);
        fprintf(out, "  %s: %.*s\n", label, length, text);
        text = end ? end + 1 : NULL;
    }
}

void diag_print(const Diag *diag, FILE *out) {
    for (size_t i = 0; i < diag->count; i++) {
        const DiagEntry *entry = &diag->entries[i];
        fprintf(out, "%s %s", entry->warning ? "warning" : "error", status_code(entry->code));
        print_place(&entry->place, out);
        fprintf(out, ": %s\n", entry->text);
        print_lines("note", entry->notes, out);
        print_lines("fix", entry->fix, out);
    }
    if (diag->unrecorded != STATUS_OK)
        fprintf(out, "error %s: %s\n", status_code(diag->unrecorded), lost_text);
}
