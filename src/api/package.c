#include "api/api.h"

#include <stdlib.h>
#include <string.h>

TwStatus api_wrap_package(TwContext *context, Package *package, TwPackage **handle) {
    *handle = mem_alloc(1, sizeof **handle);
    if (!*handle) {
        package_free(package);
        return api_no_memory(context);
    }
    (*handle)->package = package;
    return 0;
}

TwStatus tw_package_read(TwContext *context, const char *path, TwPackage **package) {
    Package *read;
    Status status = package_read(path, &read, &context->diag);
    return status == STATUS_OK ? api_wrap_package(context, read, package) : (TwStatus)status;
}

TwStatus tw_package_write(TwContext *context, const TwPackage *package, const char *path) {
    return (TwStatus)package_write(package->package, path, 0, &context->diag);
}

bool tw_is_package(const char *path) {
    return package_is_file(path);
}

void tw_package_free(TwPackage *package) {
    if (!package)
        return;
    package_free(package->package);
    mem_free(package);
}

TwStatus tw_package_verify(TwContext *context, const TwPackage *package) {
    return (TwStatus)package_verify(package->package, &context->diag);
}

void tw_package_digest(const TwPackage *package, char text[TW_DIGEST_TEXT]) {
    package_digest_print(package_digest(package->package), text);
}

uint64_t tw_package_diff(const TwPackage *a, const TwPackage *b, FILE *out, unsigned limit) {
    return package_diff(a->package, b->package, out, limit);
}

TwPackageSummary tw_package_summary(const TwPackage *package) {
    const Package *p = package->package;
    TwPackageSummary summary = {.producer = p->producer,
                                .tiles = p->tile_count,
                                .programs = (unsigned)p->programs.count,
                                .segments = p->segments.count,
                                .blobs = p->blobs.count,
                                .bindings = p->bindings.count};
    for (size_t i = 0; i < p->segments.count; i++)
        summary.segment_bytes += p->segments.items[i].size;
    for (size_t i = 0; i < p->blobs.count; i++)
        summary.blob_bytes += p->blobs.items[i].size;
    return summary;
}

size_t tw_binding_count(const TwPackage *package) {
    return package->package->bindings.count;
}

TwBinding tw_binding(const TwPackage *package, size_t index) {
    static const TwBindingKind kinds[] = {[PACKAGE_INPUT] = TW_INPUT,
                                          [PACKAGE_PARAMETER] = TW_PARAMETER,
                                          [PACKAGE_OUTPUT] = TW_OUTPUT};
    const PackageBinding *binding = &package->package->bindings.items[index];
    TwBinding result = {.name = binding->name,
                        .kind = kinds[binding->kind],
                        .precision = api_public_precision(binding->format.precision),
                        .shape.rank = binding->shape.rank,
                        .copies = binding->format.replicas,
                        .first_tile = binding->format.first_tile,
                        .tiles = binding->format.tile_count};
    memcpy(result.shape.dims, binding->shape.dims, binding->shape.rank * sizeof(uint32_t));
    uint64_t count;
    if (shape_count(&binding->shape, &count))
        result.logical_bytes = count * precision_bytes(binding->format.precision);
    for (uint32_t i = 0; i < binding->slice_count; i++)
        result.allocated_bytes += binding->slices[i].size;
    return result;
}

char *tw_binding_format(const TwPackage *package, size_t index) {
    return format_print(&package->package->bindings.items[index].format);
}

const char *tw_binding_kind_name(TwBindingKind kind) {
    static const char *const names[] = {
        [TW_INPUT] = "input", [TW_PARAMETER] = "parameter", [TW_OUTPUT] = "output"};
    return names[kind];
}

size_t tw_segment_count(const TwPackage *package) {
    return package->package->segments.count;
}

TwSegment tw_segment(const TwPackage *package, size_t index) {
    const PackageSegment *segment = &package->package->segments.items[index];
    TwSegment result = {.tile = segment->tile,
                        .address = segment->address,
                        .size = segment->size,
                        .readable = segment->flags & PACKAGE_READ,
                        .writable = segment->flags & PACKAGE_WRITE,
                        .executable = segment->flags & PACKAGE_EXECUTE};
    if (segment->blob != PACKAGE_NONE) {
        const PackageBlob *blob = &package->package->blobs.items[segment->blob];
        result.stored = blob->size;
        result.bytes = blob->bytes;
        package_digest_print(blob->id, result.blob);
    }
    return result;
}

unsigned tw_tile_program(const TwPackage *package, unsigned tile) {
    return package->package->program[tile];
}

static int compare_buffers(const void *a, const void *b) {
    const TwBuffer *x = a, *y = b;
    return x->address != y->address ? (x->address < y->address ? -1 : 1) : strcmp(x->name, y->name);
}

size_t tw_program_buffers(const TwPackage *package, unsigned program, TwBuffer *buffers,
                          size_t capacity) {
    const Package *p = package->package;
    size_t count = 0;
    for (size_t i = 0; i < p->buffers.count; i++) {
        const PackageBuffer *buffer = &p->buffers.items[i];
        if (buffer->program != program)
            continue;
        if (count < capacity)
            buffers[count] = (TwBuffer){.name = buffer->name,
                                        .address = buffer->address,
                                        .size = buffer->size,
                                        .memory_class = memory_class_name(buffer->memory_class),
                                        .first = buffer->first,
                                        .last = buffer->last};
        count++;
    }
    if (capacity)
        qsort(buffers, MIN_OF(count, capacity), sizeof *buffers, compare_buffers);
    return count;
}

size_t tw_phase_count(const TwPackage *package) {
    return package->package->phases.count;
}

TwStatus tw_phase(TwContext *context, const TwPackage *package, size_t index, TwPhase *phase) {
    PackageExchange summary;
    Status status =
        package_phase_summary(package->package, (uint32_t)index, &summary, &context->diag);
    *phase = (TwPhase){.name = summary.name,
                       .horizon = summary.horizon,
                       .bound = summary.bound,
                       .tiles = summary.rows,
                       .transfers = summary.transfers,
                       .messages = summary.messages,
                       .paired = summary.paired,
                       .words_sent = summary.words_sent,
                       .words_received = summary.words_received,
                       .row_bytes = summary.row_bytes,
                       .max_row_bytes = summary.max_row_bytes};
    return (TwStatus)status;
}

const char *tw_package_note(const TwPackage *package, const char *name) {
    const Package *p = package->package;
    for (size_t i = 0; i < p->notes.count; i++) {
        if (strcmp(p->notes.items[i].name, name) == 0)
            return p->notes.items[i].text;
    }
    return NULL;
}
