/* A package in memory: filling it, putting it into canonical order, looking things up. */
#include "pack/rows.h"

#include "chip/chip.h"
#include "tensor/bulk.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* Open addressing over blob ids; a slot holds a blob's index + 1. */
struct PackageIndex {
    uint32_t *slots;
    size_t size; /* power of two, at least twice the blobs */
};

Package *package_create(const char *producer, uint32_t tile_count) {
    assert(tile_count >= 1 && tile_count <= CHIP_TILES);
    Package *package = mem_alloc(1, sizeof *package);
    if (!package)
        return NULL;
    package->tile_count = tile_count;
    package->program = ARENA_NEW(&package->arena, uint32_t, tile_count);
    package->producer = arena_strdup(&package->arena, producer);
    package->index = mem_alloc(1, sizeof *package->index);
    if (!package->program || !package->producer || !package->index) {
        package_free(package);
        return NULL;
    }
    return package;
}

void package_free(Package *package) {
    if (!package)
        return;
    vec_free(&package->blobs);
    vec_free(&package->segments);
    vec_free(&package->bindings);
    vec_free(&package->entries);
    vec_free(&package->calls);
    vec_free(&package->origins);
    vec_free(&package->operands);
    vec_free(&package->programs);
    vec_free(&package->steps);
    vec_free(&package->phases);
    vec_free(&package->rows);
    vec_free(&package->patches);
    vec_free(&package->transfers);
    vec_free(&package->buffers);
    vec_free(&package->symbols);
    vec_free(&package->lines);
    vec_free(&package->notes);
    if (package->index)
        mem_free(package->index->slots);
    mem_free(package->index);
    arena_free(&package->arena);
    mem_free(package);
}

const char *package_string(Package *package, const char *text) {
    return arena_strdup(&package->arena, text);
}

/* ---- blobs */

static PackageDigest digest_of(const void *bytes, size_t size) {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes, size));
    PackageDigest digest;
    memcpy(digest.bytes, canonical.digest, sizeof digest.bytes);
    return digest;
}

static size_t slot_of(const struct PackageIndex *index, const PackageBlob *blobs,
                      const PackageDigest *id) {
    uint64_t hash;
    memcpy(&hash, id->bytes, sizeof hash);
    size_t slot = hash & (index->size - 1);
    while (index->slots[slot] && memcmp(&blobs[index->slots[slot] - 1].id, id, sizeof *id) != 0)
        slot = (slot + 1) & (index->size - 1);
    return slot;
}

static bool index_grow(Package *package) {
    struct PackageIndex *index = package->index;
    if (index->size >= 2 * (package->blobs.count + 1))
        return true;
    size_t size = index->size ? 2 * index->size : 64;
    uint32_t *slots = mem_alloc(size, sizeof *slots);
    if (!slots)
        return false;
    mem_free(index->slots);
    *index = (struct PackageIndex){slots, size};
    for (uint32_t i = 0; i < package->blobs.count; i++)
        slots[slot_of(index, package->blobs.items, &package->blobs.items[i].id)] = i + 1;
    return true;
}

uint32_t package_add_blob(Package *package, const void *bytes, uint32_t size) {
    PackageBlob blob = {.id = digest_of(bytes, size), .size = size};
    if (!index_grow(package))
        return PACKAGE_NONE;
    size_t slot = slot_of(package->index, package->blobs.items, &blob.id);
    if (package->index->slots[slot])
        return package->index->slots[slot] - 1;
    uint8_t *copy = arena_alloc(&package->arena, size, 1);
    if (!copy)
        return PACKAGE_NONE;
    memcpy(copy, bytes, size);
    blob.bytes = copy;
    if (!vec_push(&package->blobs, blob))
        return PACKAGE_NONE;
    package->index->slots[slot] = (uint32_t)package->blobs.count;
    return (uint32_t)package->blobs.count - 1;
}

uint32_t package_blob_by_id(const Package *package, const uint8_t id[16]) {
    size_t low = 0, high = package->blobs.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = memcmp(package->blobs.items[middle].id.bytes, id, 16);
        if (order == 0)
            return (uint32_t)middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return PACKAGE_NONE;
}

/* ---- bindings */

bool package_add_binding(Package *package, const PackageBinding *binding) {
    PackageBinding copy = *binding;
    char *text = format_print(&binding->format);
    copy.name = arena_strdup(&package->arena, binding->name);
    copy.format_text = text ? arena_strdup(&package->arena, text) : NULL;
    mem_free(text);
    copy.slices = ARENA_NEW(&package->arena, PackageSlice, (size_t)binding->slice_count + 1);
    if (!copy.name || !copy.format_text || !copy.slices)
        return false;
    if (binding->slice_count)
        memcpy(copy.slices, binding->slices, binding->slice_count * sizeof *copy.slices);
    return vec_push(&package->bindings, copy);
}

uint32_t binding_tile_slices(const PackageBinding *binding, uint32_t slice, uint64_t *bytes) {
    uint32_t count = 0;
    *bytes = 0;
    while (slice + count < binding->slice_count &&
           binding->slices[slice + count].tile == binding->slices[slice].tile)
        *bytes += binding->slices[slice + count++].size;
    return count;
}

static void shard_of_slice(const PackageBinding *binding, uint32_t slice, Shard *shard) {
    format_shard(&binding->format, &binding->stored,
                 format_shard_of_tile(&binding->format, binding->slices[slice].tile), shard);
}

void binding_pack(const PackageBinding *binding, uint32_t slice, const void *logical, void *bytes) {
    Shard shard;
    shard_of_slice(binding, slice, &shard);
    bulk_pack(&binding->stored, &shard, logical, bytes);
}

void binding_unpack(const PackageBinding *binding, uint32_t slice, const void *bytes,
                    void *logical) {
    Shard shard;
    shard_of_slice(binding, slice, &shard);
    bulk_unpack(&binding->stored, &shard, bytes, logical);
}

/* Segments of one tile's slices, whose shard's bytes lie in `bytes`. */
static bool add_parameter_segments(Package *package, const PackageBinding *binding, uint32_t slice,
                                   uint32_t count, const uint8_t *bytes) {
    for (uint32_t i = slice; i < slice + count; i++) {
        const PackageSlice *s = &binding->slices[i];
        PackageSegment segment = {.tile = s->tile,
                                  .address = s->address,
                                  .size = s->size,
                                  .flags = PACKAGE_READ | PACKAGE_WRITE,
                                  .blob = package_add_blob(package, bytes, s->size)};
        if (segment.blob == PACKAGE_NONE || !vec_push(&package->segments, segment))
            return false;
        bytes += s->size;
    }
    return true;
}

Status package_set_parameter(Package *package, const PackageBinding *binding, const void *logical,
                             Diag *diag) {
    uint8_t *bytes = mem_alloc(CHIP_TILE_MEM_SIZE, 1);
    bool memory = bytes != NULL;
    uint32_t count, packed = PACKAGE_NONE; /* shard that lies in bytes */
    for (uint32_t slice = 0; slice < binding->slice_count && memory; slice += count) {
        uint64_t size;
        count = binding_tile_slices(binding, slice, &size);
        assert(size <= CHIP_TILE_MEM_SIZE);
        uint32_t shard = format_shard_of_tile(&binding->format, binding->slices[slice].tile);
        if (shard != packed)
            binding_pack(binding, slice, logical, bytes);
        packed = shard;
        memory = add_parameter_segments(package, binding, slice, count, bytes);
    }
    mem_free(bytes);
    return memory ? STATUS_OK
                  : diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "parameter %s", binding->name);
}

/* ---- canonical order */

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

static int compare_names(const char *a, const char *b) {
    int order = strcmp(a, b);
    return COMPARE(order, 0);
}

typedef struct NumberedBlob {
    PackageBlob blob;
    uint32_t was;
} NumberedBlob;

static int compare_blobs(const void *a, const void *b) {
    return memcmp(((const NumberedBlob *)a)->blob.id.bytes,
                  ((const NumberedBlob *)b)->blob.id.bytes, sizeof(PackageDigest));
}
static int compare_segments(const void *a, const void *b) {
    const PackageSegment *x = a, *y = b;
    return x->tile != y->tile ? COMPARE(x->tile, y->tile) : COMPARE(x->address, y->address);
}
static int compare_entries(const void *a, const void *b) {
    const PackageEntry *x = a, *y = b;
    int order = compare_names(x->name, y->name);
    return order ? order : COMPARE(x->tile, y->tile);
}
static int compare_calls(const void *a, const void *b) {
    const PackageCall *x = a, *y = b;
    int order = compare_names(x->name, y->name);
    return order ? order : COMPARE(x->ordinal, y->ordinal);
}
static int compare_steps(const void *a, const void *b) {
    const PackageStep *x = a, *y = b;
    return x->program != y->program ? COMPARE(x->program, y->program) : COMPARE(x->step, y->step);
}
static int compare_rows(const void *a, const void *b) {
    const PackageRow *x = a, *y = b;
    return x->phase != y->phase ? COMPARE(x->phase, y->phase) : COMPARE(x->tile, y->tile);
}
static int compare_transfers(const void *a, const void *b) {
    const PackageTransfers *x = a, *y = b;
    return x->phase != y->phase ? COMPARE(x->phase, y->phase) : COMPARE(x->part, y->part);
}
static int compare_buffers(const void *a, const void *b) {
    const PackageBuffer *x = a, *y = b;
    return x->program != y->program ? COMPARE(x->program, y->program)
                                    : COMPARE(x->ordinal, y->ordinal);
}
static int compare_symbols(const void *a, const void *b) {
    const PackageSymbol *x = a, *y = b;
    if (x->blob != y->blob)
        return COMPARE(x->blob, y->blob);
    return x->offset != y->offset ? COMPARE(x->offset, y->offset) : compare_names(x->name, y->name);
}
static int compare_lines(const void *a, const void *b) {
    const PackageLine *x = a, *y = b;
    return x->blob != y->blob ? COMPARE(x->blob, y->blob) : COMPARE(x->offset, y->offset);
}
static int compare_notes(const void *a, const void *b) {
    return compare_names(((const PackageNote *)a)->name, ((const PackageNote *)b)->name);
}

typedef struct NumberedBinding {
    PackageBinding binding;
    uint32_t was;
} NumberedBinding;

static int compare_bindings(const void *a, const void *b) {
    return compare_names(((const NumberedBinding *)a)->binding.name,
                         ((const NumberedBinding *)b)->binding.name);
}

#define SORT(vec, compare)                                                                         \
    ((vec)->count ? qsort((vec)->items, (vec)->count, sizeof *(vec)->items, compare) : (void)0)

static void renumber(uint32_t *index, const uint32_t *becomes) {
    if (*index != PACKAGE_NONE)
        *index = becomes[*index];
}

static bool sort_blobs(Package *package) {
    uint32_t count = (uint32_t)package->blobs.count;
    NumberedBlob *blobs = mem_alloc((size_t)count + 1, sizeof *blobs);
    uint32_t *becomes = mem_alloc((size_t)count + 1, sizeof *becomes);
    bool memory = blobs && becomes;
    for (uint32_t i = 0; i < count && memory; i++)
        blobs[i] = (NumberedBlob){package->blobs.items[i], i};
    if (memory)
        qsort(blobs, count, sizeof *blobs, compare_blobs);
    for (uint32_t i = 0; i < count && memory; i++) {
        package->blobs.items[i] = blobs[i].blob;
        becomes[blobs[i].was] = i;
    }
    for (size_t i = 0; i < package->segments.count && memory; i++)
        renumber(&package->segments.items[i].blob, becomes);
    for (size_t i = 0; i < package->transfers.count && memory; i++)
        renumber(&package->transfers.items[i].blob, becomes);
    for (size_t i = 0; i < package->programs.count && memory; i++)
        renumber(&package->programs.items[i].calls, becomes);
    for (size_t i = 0; i < package->symbols.count && memory; i++)
        renumber(&package->symbols.items[i].blob, becomes);
    for (size_t i = 0; i < package->lines.count && memory; i++)
        renumber(&package->lines.items[i].blob, becomes);
    if (memory) { /* the index is by old numbers and of no use any more */
        mem_free(package->index->slots);
        *package->index = (struct PackageIndex){0};
    }
    mem_free(blobs);
    mem_free(becomes);
    return memory;
}

static bool sort_bindings(Package *package) {
    uint32_t count = (uint32_t)package->bindings.count;
    NumberedBinding *bindings = mem_alloc((size_t)count + 1, sizeof *bindings);
    uint32_t *becomes = mem_alloc((size_t)count + 1, sizeof *becomes);
    bool memory = bindings && becomes;
    for (uint32_t i = 0; i < count && memory; i++)
        bindings[i] = (NumberedBinding){package->bindings.items[i], i};
    if (memory)
        qsort(bindings, count, sizeof *bindings, compare_bindings);
    for (uint32_t i = 0; i < count && memory; i++) {
        package->bindings.items[i] = bindings[i].binding;
        becomes[bindings[i].was] = i;
    }
    for (size_t i = 0; i < package->calls.count && memory; i++)
        renumber(&package->calls.items[i].binding, becomes);
    mem_free(bindings);
    mem_free(becomes);
    return memory;
}

Status package_finish(Package *package, Diag *diag) {
    if (!sort_blobs(package) || !sort_bindings(package))
        return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "sorting a package");
    SORT(&package->segments, compare_segments);
    SORT(&package->entries, compare_entries);
    SORT(&package->calls, compare_calls);
    SORT(&package->steps, compare_steps);
    SORT(&package->rows, compare_rows);
    SORT(&package->transfers, compare_transfers);
    SORT(&package->buffers, compare_buffers);
    SORT(&package->symbols, compare_symbols);
    SORT(&package->lines, compare_lines);
    SORT(&package->notes, compare_notes);
    return package_check(package, diag);
}

/* ---- looking up */

const PackageBinding *package_find(const Package *package, const char *name) {
    for (size_t i = 0; i < package->bindings.count; i++)
        if (!strcmp(package->bindings.items[i].name, name))
            return &package->bindings.items[i];
    return NULL;
}

/* Number of segments that lie before (tile, address). */
static uint32_t segments_before(const Package *package, uint32_t tile, uint32_t address) {
    PackageSegment key = {.tile = tile, .address = address};
    uint32_t low = 0, high = (uint32_t)package->segments.count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare_segments(&package->segments.items[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t package_tile_segments(const Package *package, uint32_t tile, uint32_t *count) {
    uint32_t first = segments_before(package, tile, 0);
    *count = segments_before(package, tile + 1, 0) - first;
    return first;
}

uint32_t package_kernels(const Package *package) {
    size_t count = package->operands.count;
    return count ? package->operands.items[count - 1].kernel + 1 : 0;
}

const PackageKernelCall *package_kernel_calls(const Package *package, uint32_t program,
                                              uint32_t *count) {
    uint32_t blob = package->programs.items[program].calls;
    *count = 0;
    if (blob >= package->blobs.count ||
        package->blobs.items[blob].size % sizeof(PackageKernelCall) != 0)
        return NULL;
    *count = package->blobs.items[blob].size / (uint32_t)sizeof(PackageKernelCall);
    return (const void *)package->blobs.items[blob].bytes;
}

static void source_symbol(const Package *package, uint32_t blob, uint32_t offset,
                          PackageSource *source) {
    for (size_t i = 0; i < package->symbols.count; i++) {
        const PackageSymbol *symbol = &package->symbols.items[i];
        if (symbol->blob == blob && symbol->offset <= offset &&
            (symbol->size == 0 || offset - symbol->offset < symbol->size)) {
            source->function = symbol->name;
            source->offset = offset - symbol->offset;
        }
    }
}

static void source_line(const Package *package, uint32_t blob, uint32_t offset,
                        PackageSource *source) {
    for (size_t i = 0; i < package->lines.count; i++) {
        const PackageLine *line = &package->lines.items[i];
        if (line->blob == blob && line->offset <= offset) {
            source->file = line->file;
            source->line = line->line;
        }
    }
}

bool package_source(const Package *package, uint32_t tile, uint32_t address,
                    PackageSource *source) {
    *source = (PackageSource){0};
    uint32_t behind = segments_before(package, tile, address + 1);
    if (behind == 0)
        return false;
    const PackageSegment *segment = &package->segments.items[behind - 1];
    if (segment->tile != tile || address - segment->address >= segment->size ||
        segment->blob == PACKAGE_NONE)
        return false;
    source_symbol(package, segment->blob, address - segment->address, source);
    source_line(package, segment->blob, address - segment->address, source);
    return source->function || source->file;
}

uint64_t package_samples(const Package *package, uint32_t program) {
    uint64_t samples = 1, times = 1;
    bool inside = false;
    for (size_t i = 0; i < package->steps.count; i++) {
        const PackageStep *step = &package->steps.items[i];
        if (step->program != program)
            continue;
        bool begins = step->kind == PACKAGE_REPEAT, ends = step->kind == PACKAGE_AGAIN;
        if (begins == inside && (begins || ends))
            return 0;
        samples += times;
        if (begins || ends) {
            if (step->invocations == 0 || (ends && step->invocations != times))
                return 0;
            inside = begins;
            times = begins ? step->invocations : 1;
        }
    }
    return inside ? 0 : samples;
}
