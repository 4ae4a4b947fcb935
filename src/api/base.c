#include "api/api.h"

#include "base/embed.h"

#include <string.h>

TwContext *tw_open(unsigned threads) {
    TwContext *context = mem_alloc(1, sizeof *context);
    if (context && !(context->pool = pool_create(threads))) {
        mem_free(context);
        context = NULL;
    }
    return context;
}

void tw_close(TwContext *context) {
    if (!context)
        return;
    pool_free(context->pool);
    diag_free(&context->diag);
    mem_free(context);
}

void tw_set_checks(TwContext *context, bool on) {
    context->checks = on;
}

size_t tw_message_count(const TwContext *context) {
    return context->diag.count;
}

TwMessage tw_message(TwContext *context, size_t index) {
    diag_complete(&context->diag);
    const DiagEntry *entry = &context->diag.entries[index];
    return (TwMessage){.code = (TwStatus)entry->code,
                       .warning = entry->warning,
                       .file = entry->place.file,
                       .line = entry->place.line,
                       .column = entry->place.column,
                       .tile = entry->place.tile,
                       .object = entry->place.object,
                       .text = entry->text,
                       .notes = entry->notes,
                       .fix = entry->fix};
}

void tw_print_messages(TwContext *context, FILE *out) {
    diag_complete(&context->diag);
    diag_print(&context->diag, out);
}

void tw_clear_messages(TwContext *context) {
    diag_free(&context->diag);
}

const char *tw_code(TwStatus status) {
    return status_code((Status)status);
}

int tw_exit_code(TwStatus status) {
    const StatusInfo *info = status_info((Status)status);
    return status == 0 ? EXIT_CLASS_OK : info ? (int)info->exit_class : EXIT_CLASS_INTERNAL;
}

const char *tw_explain(const char *code) {
    Status status = status_from_code(code);
    if (status == STATUS_OK)
        return NULL;
    char name[16];
    snprintf(name, sizeof name, "%s.md", status_code(status));
    const EmbeddedFile *page = embed_find(tw_error_pages, name);
    return page ? page->bytes : NULL;
}

bool tw_code_at(size_t index, TwStatus *status, const char **title) {
    int count;
    const StatusInfo *all = status_all(&count);
    if (index >= (size_t)count)
        return false;
    *status = (TwStatus)all[index].status;
    *title = all[index].title;
    return true;
}

void tw_free(void *text) {
    mem_free(text);
}

const char *tw_precision_name(TwPrecisionKind kind) {
    static const char *const names[] = {[TW_F8F143] = "f8f143", [TW_F16] = "f16", [TW_F32] = "f32"};
    return names[kind];
}

TwStatus api_no_memory(TwContext *context) {
    return (TwStatus)diag_error(&context->diag, ERR_NO_MEMORY, DIAG_NOWHERE,
                                "no memory left on the host");
}

Precision api_precision(TwPrecision precision) {
    static const PrecisionKind kinds[] = {
        [TW_F8F143] = PRECISION_F8F143, [TW_F16] = PRECISION_F16, [TW_F32] = PRECISION_F32};
    /* An exponent beyond a byte must not wrap into the legal range. */
    int exponent = MIN_OF(MAX_OF(precision.scale_exponent, INT8_MIN), INT8_MAX);
    return (Precision){kinds[precision.kind], (int8_t)exponent};
}

TwPrecision api_public_precision(Precision precision) {
    static const TwPrecisionKind kinds[] = {
        [PRECISION_F8F143] = TW_F8F143, [PRECISION_F16] = TW_F16, [PRECISION_F32] = TW_F32};
    return (TwPrecision){kinds[precision.kind], precision.scale_exponent};
}
