#include "pack/rows.h"

#include "chip/chip.h"

#include <stdlib.h>
#include <string.h>

static Value integer(int64_t value) {
    return (Value){.integer = value};
}
static Value bytes(const void *at, size_t size) {
    return (Value){.bytes = at, .size = size};
}
static Value text(const char *at) {
    return bytes(at, strlen(at));
}
static Value index_or_null(uint32_t index) {
    return index == PACKAGE_NONE ? (Value){.null = true} : integer(index);
}
static Value blob_id(const Package *package, uint32_t blob) {
    return blob == PACKAGE_NONE ? (Value){.null = true}
                                : bytes(package->blobs.items[blob].id.bytes, 16);
}

/* ---- loading: every number is checked against its range before it is stored */

Status loader_fail(Loader *loader, const char *what) {
    return diag_error(loader->diag, ERR_PACK_DAMAGED, (DiagPlace){.file = loader->path, .tile = -1},
                      "table %s: %s", loader->table, what);
}

static Status no_memory(Loader *loader) {
    return diag_error(loader->diag, ERR_NO_MEMORY, (DiagPlace){.file = loader->path, .tile = -1},
                      "table %s", loader->table);
}

static Status load_u32(Loader *loader, const Value *value, uint32_t *result) {
    if (value->integer < 0 || value->integer >= UINT32_MAX)
        return loader_fail(loader, "a number is out of range");
    *result = (uint32_t)value->integer;
    return STATUS_OK;
}

static Status load_text(Loader *loader, const Value *value, const char **result) {
    if (memchr(value->bytes, 0, value->size))
        return loader_fail(loader, "a text contains a zero byte");
    char *copy = arena_alloc(&loader->package->arena, value->size + 1, 1);
    if (!copy)
        return no_memory(loader);
    memcpy(copy, value->bytes, value->size);
    *result = copy;
    return STATUS_OK;
}

static Status load_blob(Loader *loader, const Value *value, uint32_t *result) {
    *result = PACKAGE_NONE;
    if (value->null)
        return STATUS_OK;
    *result = value->size == 16 ? package_blob_by_id(loader->package, value->bytes) : PACKAGE_NONE;
    return *result == PACKAGE_NONE ? loader_fail(loader, "a blob that is not there") : STATUS_OK;
}

/* Index of a value among names. */
static Status load_word(Loader *loader, const Value *value, const char *const *words,
                        uint32_t count, uint32_t *result) {
    for (*result = 0; *result < count; ++*result)
        if (strlen(words[*result]) == value->size &&
            !memcmp(words[*result], value->bytes, value->size))
            return STATUS_OK;
    return loader_fail(loader, "an unknown word");
}

static Status load_index(Loader *loader, const Value *value, uint32_t *result) {
    *result = PACKAGE_NONE;
    return value->null ? STATUS_OK : load_u32(loader, value, result);
}

/* A status chain: stops at the first failure. */
#define THEN(status, call) ((status) ? (status) : (call))

/* ---- meta: producer and what fixes the meaning of addresses */

static const char *const meta_keys[] = {"memory_base", "memory_size", "producer", "target",
                                        "tile_count"};
enum { META_COUNT = COUNT_OF(meta_keys) };
#define TARGET "ipu21"

static size_t meta_count(const Package *package) {
    (void)package;
    return META_COUNT;
}

static void meta_get(const Package *package, size_t row, Value *values, char *scratch) {
    switch (row) {
    case 0: snprintf(scratch, TABLE_SCRATCH, "%d", CHIP_TILE_MEM_BASE); break;
    case 1: snprintf(scratch, TABLE_SCRATCH, "%d", CHIP_TILE_MEM_SIZE); break;
    case 3: snprintf(scratch, TABLE_SCRATCH, "%s", TARGET); break;
    default: snprintf(scratch, TABLE_SCRATCH, "%u", package->tile_count); break;
    }
    values[0] = text(meta_keys[row]);
    values[1] = row == 2 ? text(package->producer) : text(scratch);
}

static Status meta_load(Loader *loader, const Value *values) {
    uint32_t row;
    const char *value = "";
    char *end;
    Status status = load_word(loader, &values[0], meta_keys, META_COUNT, &row);
    status = THEN(status, load_text(loader, &values[1], &value));
    if (status)
        return status;
    unsigned long number = strtoul(value, &end, 10);
    bool ok = true;
    switch (row) {
    case 0: ok = number == CHIP_TILE_MEM_BASE; break;
    case 1: ok = number == CHIP_TILE_MEM_SIZE; break;
    case 2: loader->package->producer = value; break;
    case 3: ok = !strcmp(value, TARGET); break;
    default: ok = *end == 0 && number >= 1 && number <= CHIP_TILES; break;
    }
    if (ok && row == 4)
        loader->package->tile_count = (uint32_t)number;
    return ok ? STATUS_OK : loader_fail(loader, "another chip");
}

/* ---- blobs */

static size_t blobs_count(const Package *package) {
    return package->blobs.count;
}
static void blobs_get(const Package *package, size_t row, Value *values, char *scratch) {
    (void)scratch;
    const PackageBlob *blob = &package->blobs.items[row];
    values[0] = bytes(blob->id.bytes, 16);
    values[1] = integer(blob->size);
    values[2] = bytes(blob->bytes, blob->size);
}
/* The reader has decompressed the bytes into the package's arena. */
static Status blobs_load(Loader *loader, const Value *values) {
    PackageBlob blob = {.bytes = values[2].bytes, .size = (uint32_t)values[2].size};
    if (values[0].size != sizeof blob.id.bytes)
        return loader_fail(loader, "a blob's id is too short");
    memcpy(blob.id.bytes, values[0].bytes, sizeof blob.id.bytes);
    return vec_push(&loader->package->blobs, blob) ? STATUS_OK : no_memory(loader);
}

/* ---- tiles */

static size_t tiles_count(const Package *package) {
    return package->tile_count;
}
static void tiles_get(const Package *package, size_t row, Value *values, char *scratch) {
    (void)scratch;
    values[0] = integer((int64_t)row);
    values[1] = integer(package->program[row]);
}
static Status tiles_load(Loader *loader, const Value *values) {
    Package *package = loader->package;
    uint32_t tile = 0, program = 0;
    Status status = load_u32(loader, &values[0], &tile);
    status = THEN(status, load_u32(loader, &values[1], &program));
    if (status)
        return status;
    if (tile >= package->tile_count)
        return loader_fail(loader, "a tile that is not there");
    package->program[tile] = program;
    return STATUS_OK;
}

/* ---- segments */

static size_t segments_count(const Package *package) {
    return package->segments.count;
}
static void segments_get(const Package *package, size_t row, Value *values, char *scratch) {
    (void)scratch;
    const PackageSegment *segment = &package->segments.items[row];
    values[0] = integer(segment->tile);
    values[1] = integer(segment->address);
    values[2] = integer(segment->size);
    values[3] = integer(segment->flags);
    values[4] = blob_id(package, segment->blob);
}
static Status segments_load(Loader *loader, const Value *values) {
    PackageSegment segment;
    Status status = load_u32(loader, &values[0], &segment.tile);
    status = THEN(status, load_u32(loader, &values[1], &segment.address));
    status = THEN(status, load_u32(loader, &values[2], &segment.size));
    status = THEN(status, load_u32(loader, &values[3], &segment.flags));
    status = THEN(status, load_blob(loader, &values[4], &segment.blob));
    return status                                          ? status
           : vec_push(&loader->package->segments, segment) ? STATUS_OK
                                                           : no_memory(loader);
}

/* ---- bindings and their slices */

static const char *const binding_kinds[] = {
    [PACKAGE_INPUT] = "input", [PACKAGE_PARAMETER] = "parameter", [PACKAGE_OUTPUT] = "output"};
static const char *const precision_names[] = {
    [PRECISION_F8F143] = "f8f143", [PRECISION_F16] = "f16", [PRECISION_F32] = "f32"};

static size_t bindings_count(const Package *package) {
    return package->bindings.count;
}
static void bindings_get(const Package *package, size_t row, Value *values, char *scratch) {
    const PackageBinding *binding = &package->bindings.items[row];
    values[0] = text(binding->name);
    values[1] = text(binding_kinds[binding->kind]);
    values[2] = text(precision_names[binding->format.precision.kind]);
    values[3] = integer(binding->format.precision.scale_exponent);
    values[4] = text(shape_print(&binding->shape, scratch));
    values[5] = text(shape_print(&binding->stored, scratch + SHAPE_TEXT_SIZE));
    values[6] = text(binding->format_text);
}

/* "[2,3]" */
static bool parse_shape(const char *at, Shape *shape) {
    *shape = (Shape){0};
    if (*at++ != '[')
        return false;
    while (*at != ']') {
        if (shape->rank == SHAPE_MAX_RANK || (shape->rank && *at++ != ','))
            return false;
        uint64_t dim = 0;
        const char *first = at;
        for (; *at >= '0' && *at <= '9' && dim <= UINT32_MAX; at++)
            dim = 10 * dim + (uint64_t)(*at - '0');
        if (at == first || dim > UINT32_MAX)
            return false;
        shape->dims[shape->rank++] = (uint32_t)dim;
    }
    return at[1] == 0;
}

static Status bindings_load(Loader *loader, const Value *values) {
    PackageBinding binding = {0};
    uint32_t kind, precision;
    const char *shape = "", *stored = "";
    Status status = load_text(loader, &values[0], &binding.name);
    status = THEN(status, load_word(loader, &values[1], binding_kinds, 3, &kind));
    status = THEN(status, load_word(loader, &values[2], precision_names, 3, &precision));
    status = THEN(status, load_text(loader, &values[4], &shape));
    status = THEN(status, load_text(loader, &values[5], &stored));
    status = THEN(status, load_text(loader, &values[6], &binding.format_text));
    if (status)
        return status;
    binding.kind = (PackageKind)kind;
    if (!parse_shape(shape, &binding.shape) || !parse_shape(stored, &binding.stored))
        return loader_fail(loader, "a shape is malformed");
    if (format_parse(binding.format_text, &binding.format, NULL))
        return loader_fail(loader, "a format is malformed");
    if ((uint32_t)binding.format.precision.kind != precision ||
        binding.format.precision.scale_exponent != values[3].integer)
        return loader_fail(loader, "format and precision disagree");
    return vec_push(&loader->package->bindings, binding) ? STATUS_OK : no_memory(loader);
}

static size_t slices_count(const Package *package) {
    size_t count = 0;
    for (size_t i = 0; i < package->bindings.count; i++)
        count += package->bindings.items[i].slice_count;
    return count;
}
static void slices_get(const Package *package, size_t row, Value *values, char *scratch) {
    (void)scratch;
    const PackageBinding *binding = package->bindings.items;
    while (row >= binding->slice_count)
        row -= binding++->slice_count;
    const PackageSlice *slice = &binding->slices[row];
    values[0] = text(binding->name);
    values[1] = integer((int64_t)row);
    values[2] = integer(slice->tile);
    values[3] = integer(slice->address);
    values[4] = integer(slice->size);
    values[5] = integer((int64_t)slice->offset);
}

static uint32_t find_binding(const Loader *loader, const Value *name) {
    const Package *package = loader->package;
    for (uint32_t i = 0; i < package->bindings.count; i++)
        if (strlen(package->bindings.items[i].name) == name->size &&
            !memcmp(package->bindings.items[i].name, name->bytes, name->size))
            return i;
    return PACKAGE_NONE;
}

/* The block doubles inside the arena whenever the count reaches a power of two. */
static bool add_slice(Package *package, PackageBinding *binding, PackageSlice slice) {
    uint32_t n = binding->slice_count;
    if ((n & (n - 1)) == 0) {
        PackageSlice *grown = ARENA_NEW(&package->arena, PackageSlice, n ? 2 * (size_t)n : 1);
        if (!grown)
            return false;
        if (n)
            memcpy(grown, binding->slices, n * sizeof *grown);
        binding->slices = grown;
    }
    binding->slices[binding->slice_count++] = slice;
    return true;
}

static Status slices_load(Loader *loader, const Value *values) {
    PackageSlice slice = {.offset = (uint64_t)values[5].integer};
    uint32_t index = find_binding(loader, &values[0]);
    if (index == PACKAGE_NONE)
        return loader_fail(loader, "a slice of a binding that is not there");
    PackageBinding *binding = &loader->package->bindings.items[index];
    if (values[1].integer != binding->slice_count)
        return loader_fail(loader, "slices are not numbered from 0");
    Status status = load_u32(loader, &values[2], &slice.tile);
    status = THEN(status, load_u32(loader, &values[3], &slice.address));
    status = THEN(status, load_u32(loader, &values[4], &slice.size));
    return status                                       ? status
           : add_slice(loader->package, binding, slice) ? STATUS_OK
                                                        : no_memory(loader);
}

/* ---- entries */

static size_t entries_count(const Package *package) {
    return package->entries.count;
}
static void entries_get(const Package *package, size_t row, Value *values, char *scratch) {
    (void)scratch;
    const PackageEntry *entry = &package->entries.items[row];
    values[0] = text(entry->name);
    values[1] = integer(entry->tile);
    values[2] = integer(entry->address);
}
/* Rows of one entry share its name's storage. */
static Status entries_load(Loader *loader, const Value *values) {
    Package *package = loader->package;
    PackageEntry entry = {0};
    if (package->entries.count) {
        const char *last = package->entries.items[package->entries.count - 1].name;
        if (strlen(last) == values[0].size && !memcmp(last, values[0].bytes, values[0].size))
            entry.name = last;
    }
    Status status = entry.name ? STATUS_OK : load_text(loader, &values[0], &entry.name);
    status = THEN(status, load_u32(loader, &values[1], &entry.tile));
    status = THEN(status, load_u32(loader, &values[2], &entry.address));
    return status ? status : vec_push(&package->entries, entry) ? STATUS_OK : no_memory(loader);
}

/* ---- host calls */

static size_t calls_count(const Package *package) {
    return package->calls.count;
}
static void calls_get(const Package *package, size_t row, Value *values, char *scratch) {
    (void)scratch;
    const PackageCall *call = &package->calls.items[row];
    values[0] = text(call->name);
    values[1] = integer(call->ordinal);
    values[2] = text(call->entry);
    values[3] = text(package->bindings.items[call->binding].name);
}
static Status calls_load(Loader *loader, const Value *values) {
    PackageCall call = {.binding = find_binding(loader, &values[3])};
    if (call.binding == PACKAGE_NONE)
        return loader_fail(loader, "a transfer of a binding that is not there");
    Status status = load_text(loader, &values[0], &call.name);
    status = THEN(status, load_u32(loader, &values[1], &call.ordinal));
    status = THEN(status, load_text(loader, &values[2], &call.entry));
    return status                                    ? status
           : vec_push(&loader->package->calls, call) ? STATUS_OK
                                                     : no_memory(loader);
}

/* ---- provenance */

static size_t origins_count(const Package *package) {
    return package->origins.count;
}
static void origins_get(const Package *package, size_t row, Value *values, char *scratch) {
    (void)scratch;
    const PackageOrigin *origin = &package->origins.items[row];
    values[0] = integer((int64_t)row);
    values[1] = index_or_null(origin->parent);
    values[2] = text(origin->kind);
    values[3] = text(origin->name);
    values[4] = text(origin->detail);
}
static Status origins_load(Loader *loader, const Value *values) {
    PackageOrigin origin;
    if (values[0].integer != (int64_t)loader->package->origins.count)
        return loader_fail(loader, "rows are not numbered from 0");
    Status status = load_index(loader, &values[1], &origin.parent);
    status = THEN(status, load_text(loader, &values[2], &origin.kind));
    status = THEN(status, load_text(loader, &values[3], &origin.name));
    status = THEN(status, load_text(loader, &values[4], &origin.detail));
    return status                                        ? status
           : vec_push(&loader->package->origins, origin) ? STATUS_OK
                                                         : no_memory(loader);
}

/* ---- programs, their steps and buffers */

static const char *const operand_uses[] = {"read", "stored"};

static size_t operands_count(const Package *package) {
    return package->operands.count;
}
static void operands_get(const Package *package, size_t row, Value *values, char *scratch) {
    (void)scratch;
    const PackageOperand *operand = &package->operands.items[row];
    values[0] = integer(operand->kernel);
    values[1] = integer(operand->operand);
    values[2] = text(operand->name);
    values[3] = integer(operand->size);
    values[4] = integer(operand->tail);
    values[5] = text(operand_uses[operand->stored]);
}
static Status operands_load(Loader *loader, const Value *values) {
    PackageOperand operand;
    uint32_t stored = 0;
    Status status = load_u32(loader, &values[0], &operand.kernel);
    status = THEN(status, load_u32(loader, &values[1], &operand.operand));
    status = THEN(status, load_text(loader, &values[2], &operand.name));
    status = THEN(status, load_u32(loader, &values[3], &operand.size));
    status = THEN(status, load_u32(loader, &values[4], &operand.tail));
    status = THEN(status, load_word(loader, &values[5], operand_uses, 2, &stored));
    operand.stored = stored;
    return status                                          ? status
           : vec_push(&loader->package->operands, operand) ? STATUS_OK
                                                           : no_memory(loader);
}

static size_t programs_count(const Package *package) {
    return package->programs.count;
}
static void programs_get(const Package *package, size_t row, Value *values, char *scratch) {
    (void)scratch;
    values[0] = integer((int64_t)row);
    values[1] = integer(package->programs.items[row].samples_address);
    values[2] = integer(package->programs.items[row].step_count);
    values[3] = blob_id(package, package->programs.items[row].calls);
}
static Status programs_load(Loader *loader, const Value *values) {
    PackageProgram program;
    if (values[0].integer != (int64_t)loader->package->programs.count)
        return loader_fail(loader, "rows are not numbered from 0");
    Status status = load_u32(loader, &values[1], &program.samples_address);
    status = THEN(status, load_u32(loader, &values[2], &program.step_count));
    status = THEN(status, load_blob(loader, &values[3], &program.calls));
    return status                                          ? status
           : vec_push(&loader->package->programs, program) ? STATUS_OK
                                                           : no_memory(loader);
}

static const char *const step_kinds[] = {[PACKAGE_COMPUTE] = "compute",
                                         [PACKAGE_EXCHANGE] = "exchange",
                                         [PACKAGE_REPEAT] = "repeat",
                                         [PACKAGE_AGAIN] = "again"};

static size_t steps_count(const Package *package) {
    return package->steps.count;
}
static void steps_get(const Package *package, size_t row, Value *values, char *scratch) {
    (void)scratch;
    const PackageStep *step = &package->steps.items[row];
    values[0] = integer(step->program);
    values[1] = integer(step->step);
    values[2] = text(step_kinds[step->kind]);
    values[3] = text(step->name);
    values[4] = index_or_null(step->origin);
    values[5] = index_or_null(step->phase);
    values[6] = integer(step->invocations);
    values[7] = integer((int64_t)step->predicted_cycles);
}
static Status steps_load(Loader *loader, const Value *values) {
    PackageStep step = {.predicted_cycles = (uint64_t)values[7].integer};
    uint32_t kind = 0;
    Status status = load_u32(loader, &values[0], &step.program);
    status = THEN(status, load_u32(loader, &values[1], &step.step));
    status = THEN(status, load_word(loader, &values[2], step_kinds, COUNT_OF(step_kinds), &kind));
    status = THEN(status, load_text(loader, &values[3], &step.name));
    status = THEN(status, load_index(loader, &values[4], &step.origin));
    status = THEN(status, load_index(loader, &values[5], &step.phase));
    status = THEN(status, load_u32(loader, &values[6], &step.invocations));
    step.kind = (PackageStepKind)kind;
    return status                                    ? status
           : vec_push(&loader->package->steps, step) ? STATUS_OK
                                                     : no_memory(loader);
}

/* ---- exchange phases, their rows and transfers */

static size_t phases_count(const Package *package) {
    return package->phases.count;
}
static void phases_get(const Package *package, size_t row, Value *values, char *scratch) {
    (void)scratch;
    const PackagePhase *phase = &package->phases.items[row];
    values[0] = integer((int64_t)row);
    values[1] = text(phase->name);
    values[2] = integer(phase->horizon);
    values[3] = integer(phase->bound);
    values[4] = integer(phase->transfers);
    values[5] = integer(phase->times);
}
static Status phases_load(Loader *loader, const Value *values) {
    PackagePhase phase;
    if (values[0].integer != (int64_t)loader->package->phases.count)
        return loader_fail(loader, "rows are not numbered from 0");
    Status status = load_text(loader, &values[1], &phase.name);
    status = THEN(status, load_u32(loader, &values[2], &phase.horizon));
    status = THEN(status, load_u32(loader, &values[3], &phase.bound));
    status = THEN(status, load_u32(loader, &values[4], &phase.transfers));
    status = THEN(status, load_u32(loader, &values[5], &phase.times));
    return status                                      ? status
           : vec_push(&loader->package->phases, phase) ? STATUS_OK
                                                       : no_memory(loader);
}

static size_t exchange_rows_count(const Package *package) {
    return package->rows.count;
}
static void exchange_rows_get(const Package *package, size_t row, Value *values, char *scratch) {
    (void)scratch;
    const PackageRow *from = &package->rows.items[row];
    values[0] = integer(from->phase);
    values[1] = integer(from->tile);
    values[2] = integer(from->address);
    values[3] = integer(from->size);
    values[4] = integer(from->horizon);
}
static Status exchange_rows_load(Loader *loader, const Value *values) {
    PackageRow row;
    Status status = load_u32(loader, &values[0], &row.phase);
    status = THEN(status, load_u32(loader, &values[1], &row.tile));
    status = THEN(status, load_u32(loader, &values[2], &row.address));
    status = THEN(status, load_u32(loader, &values[3], &row.size));
    status = THEN(status, load_u32(loader, &values[4], &row.horizon));
    return status ? status : vec_push(&loader->package->rows, row) ? STATUS_OK : no_memory(loader);
}

static size_t patches_count(const Package *package) {
    return package->patches.count;
}
static void patches_get(const Package *package, size_t row, Value *values, char *scratch) {
    (void)scratch;
    const PackagePatch *from = &package->patches.items[row];
    values[0] = integer(from->phase);
    values[1] = integer(from->tile);
    values[2] = integer(from->increment);
    values[3] = integer(from->address);
}
static Status patches_load(Loader *loader, const Value *values) {
    PackagePatch patch;
    Status status = load_u32(loader, &values[0], &patch.phase);
    status = THEN(status, load_u32(loader, &values[1], &patch.tile));
    status = THEN(status, load_u32(loader, &values[2], &patch.increment));
    status = THEN(status, load_u32(loader, &values[3], &patch.address));
    return status                                       ? status
           : vec_push(&loader->package->patches, patch) ? STATUS_OK
                                                        : no_memory(loader);
}

static size_t transfers_count(const Package *package) {
    return package->transfers.count;
}
static void transfers_get(const Package *package, size_t row, Value *values, char *scratch) {
    (void)scratch;
    const PackageTransfers *from = &package->transfers.items[row];
    values[0] = integer(from->phase);
    values[1] = integer(from->part);
    values[2] = blob_id(package, from->blob);
}
static Status transfers_load(Loader *loader, const Value *values) {
    PackageTransfers part;
    Status status = load_u32(loader, &values[0], &part.phase);
    status = THEN(status, load_u32(loader, &values[1], &part.part));
    status = THEN(status, load_blob(loader, &values[2], &part.blob));
    return status                                        ? status
           : vec_push(&loader->package->transfers, part) ? STATUS_OK
                                                         : no_memory(loader);
}

static const char *const class_names[] = {
    [MEMORY_STANDARD] = "standard", [MEMORY_INTERLEAVED] = "interleaved"};

static size_t buffers_count(const Package *package) {
    return package->buffers.count;
}
static void buffers_get(const Package *package, size_t row, Value *values, char *scratch) {
    (void)scratch;
    const PackageBuffer *buffer = &package->buffers.items[row];
    values[0] = integer(buffer->program);
    values[1] = integer(buffer->ordinal);
    values[2] = text(buffer->name);
    values[3] = integer(buffer->address);
    values[4] = integer(buffer->size);
    values[5] = text(class_names[buffer->memory_class]);
    values[6] = integer(buffer->first);
    values[7] = integer(buffer->last);
}
static Status buffers_load(Loader *loader, const Value *values) {
    PackageBuffer buffer;
    uint32_t class = 0;
    Status status = load_u32(loader, &values[0], &buffer.program);
    status = THEN(status, load_u32(loader, &values[1], &buffer.ordinal));
    status = THEN(status, load_text(loader, &values[2], &buffer.name));
    status = THEN(status, load_u32(loader, &values[3], &buffer.address));
    status = THEN(status, load_u32(loader, &values[4], &buffer.size));
    status = THEN(status, load_word(loader, &values[5], class_names, 2, &class));
    status = THEN(status, load_u32(loader, &values[6], &buffer.first));
    status = THEN(status, load_u32(loader, &values[7], &buffer.last));
    buffer.memory_class = (MemoryClass) class;
    return status                                        ? status
           : vec_push(&loader->package->buffers, buffer) ? STATUS_OK
                                                         : no_memory(loader);
}

/* ---- debug information */

static size_t symbols_count(const Package *package) {
    return package->symbols.count;
}
static void symbols_get(const Package *package, size_t row, Value *values, char *scratch) {
    (void)scratch;
    const PackageSymbol *symbol = &package->symbols.items[row];
    values[0] = blob_id(package, symbol->blob);
    values[1] = integer(symbol->offset);
    values[2] = text(symbol->name);
    values[3] = integer(symbol->size);
}
static Status symbols_load(Loader *loader, const Value *values) {
    PackageSymbol symbol;
    Status status = load_blob(loader, &values[0], &symbol.blob);
    status = THEN(status, load_u32(loader, &values[1], &symbol.offset));
    status = THEN(status, load_text(loader, &values[2], &symbol.name));
    status = THEN(status, load_u32(loader, &values[3], &symbol.size));
    return status                                        ? status
           : vec_push(&loader->package->symbols, symbol) ? STATUS_OK
                                                         : no_memory(loader);
}

static size_t lines_count(const Package *package) {
    return package->lines.count;
}
static void lines_get(const Package *package, size_t row, Value *values, char *scratch) {
    (void)scratch;
    const PackageLine *line = &package->lines.items[row];
    values[0] = blob_id(package, line->blob);
    values[1] = integer(line->offset);
    values[2] = text(line->file);
    values[3] = integer(line->line);
}
static Status lines_load(Loader *loader, const Value *values) {
    Package *package = loader->package;
    PackageLine line = {0};
    if (package->lines.count) {
        const char *last = package->lines.items[package->lines.count - 1].file;
        if (strlen(last) == values[2].size && !memcmp(last, values[2].bytes, values[2].size))
            line.file = last;
    }
    Status status = line.file ? STATUS_OK : load_text(loader, &values[2], &line.file);
    status = THEN(status, load_blob(loader, &values[0], &line.blob));
    status = THEN(status, load_u32(loader, &values[1], &line.offset));
    status = THEN(status, load_u32(loader, &values[3], &line.line));
    return status ? status : vec_push(&package->lines, line) ? STATUS_OK : no_memory(loader);
}

/* ---- notes */

static size_t notes_count(const Package *package) {
    return package->notes.count;
}
static void notes_get(const Package *package, size_t row, Value *values, char *scratch) {
    (void)scratch;
    values[0] = text(package->notes.items[row].name);
    values[1] = text(package->notes.items[row].text);
}
static Status notes_load(Loader *loader, const Value *values) {
    PackageNote note;
    Status status = load_text(loader, &values[0], &note.name);
    status = THEN(status, load_text(loader, &values[1], &note.text));
    return status                                    ? status
           : vec_push(&loader->package->notes, note) ? STATUS_OK
                                                     : no_memory(loader);
}

/* ---- all of them */

#define INT(n)                                                                                     \
    { .name = n, .type = COLUMN_INTEGER }
#define HEX(n)                                                                                     \
    { .name = n, .type = COLUMN_INTEGER, .hexadecimal = true }
#define INT_NULL(n)                                                                                \
    { .name = n, .type = COLUMN_INTEGER, .nullable = true }
#define TEXT(n)                                                                                    \
    { .name = n, .type = COLUMN_TEXT }
#define BYTES(n)                                                                                   \
    { .name = n, .type = COLUMN_BYTES }
#define BYTES_NULL(n)                                                                              \
    { .name = n, .type = COLUMN_BYTES, .nullable = true }
#define COLUMNS(...) .columns = {__VA_ARGS__}, .column_count = COUNT_OF(((Column[]){__VA_ARGS__}))
#define ROWS(prefix) .count = prefix##_count, .get = prefix##_get, .load = prefix##_load

const Table pack_tables[TABLE_COUNT] = {
    {.name = "meta",
     .sql = "CREATE TABLE meta(key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY(key)) "
            "STRICT, WITHOUT ROWID",
     .key_count = 1,
     COLUMNS(TEXT("key"), TEXT("value")),
     ROWS(meta)},
    {.name = "blobs",
     .sql = "CREATE TABLE blobs(id BLOB NOT NULL, size INTEGER NOT NULL, data BLOB NOT NULL, "
            "PRIMARY KEY(id)) STRICT, WITHOUT ROWID",
     .key_count = 1,
     COLUMNS(BYTES("id"), INT("size"), BYTES("data")),
     ROWS(blobs)},
    {.name = "tiles",
     .sql = "CREATE TABLE tiles(tile INTEGER NOT NULL, program INTEGER NOT NULL, "
            "PRIMARY KEY(tile)) STRICT, WITHOUT ROWID",
     .key_count = 1,
     COLUMNS(INT("tile"), INT("program")),
     ROWS(tiles)},
    {.name = "segments",
     .sql = "CREATE TABLE segments(tile INTEGER NOT NULL, address INTEGER NOT NULL, "
            "size INTEGER NOT NULL, flags INTEGER NOT NULL, blob BLOB, "
            "PRIMARY KEY(tile, address)) STRICT, WITHOUT ROWID",
     .key_count = 2,
     COLUMNS(INT("tile"), HEX("address"), INT("size"), INT("flags"), BYTES_NULL("blob")),
     ROWS(segments)},
    {.name = "bindings",
     .sql = "CREATE TABLE bindings(name TEXT NOT NULL, kind TEXT NOT NULL, "
            "precision TEXT NOT NULL, scale INTEGER NOT NULL, shape TEXT NOT NULL, "
            "stored TEXT NOT NULL, format TEXT NOT NULL, PRIMARY KEY(name)) STRICT, WITHOUT ROWID",
     .key_count = 1,
     COLUMNS(TEXT("name"), TEXT("kind"), TEXT("precision"), INT("scale"), TEXT("shape"),
             TEXT("stored"), TEXT("format")),
     ROWS(bindings)},
    {.name = "slices",
     .sql = "CREATE TABLE slices(binding TEXT NOT NULL, slice INTEGER NOT NULL, "
            "tile INTEGER NOT NULL, address INTEGER NOT NULL, size INTEGER NOT NULL, "
            "\"offset\" INTEGER NOT NULL, PRIMARY KEY(binding, slice)) STRICT, WITHOUT ROWID",
     .key_count = 2,
     COLUMNS(TEXT("binding"), INT("slice"), INT("tile"), HEX("address"), INT("size"),
             INT("offset")),
     ROWS(slices)},
    {.name = "entries",
     .sql = "CREATE TABLE entries(name TEXT NOT NULL, tile INTEGER NOT NULL, "
            "address INTEGER NOT NULL, PRIMARY KEY(name, tile)) STRICT, WITHOUT ROWID",
     .key_count = 2,
     COLUMNS(TEXT("name"), INT("tile"), HEX("address")),
     ROWS(entries)},
    {.name = "host_calls",
     .sql = "CREATE TABLE host_calls(name TEXT NOT NULL, transfer INTEGER NOT NULL, "
            "entry TEXT NOT NULL, binding TEXT NOT NULL, PRIMARY KEY(name, transfer)) "
            "STRICT, WITHOUT ROWID",
     .key_count = 2,
     COLUMNS(TEXT("name"), INT("transfer"), TEXT("entry"), TEXT("binding")),
     ROWS(calls)},
    {.name = "provenance",
     .sql = "CREATE TABLE provenance(id INTEGER NOT NULL, parent INTEGER, kind TEXT NOT NULL, "
            "name TEXT NOT NULL, detail TEXT NOT NULL, PRIMARY KEY(id)) STRICT, WITHOUT ROWID",
     .key_count = 1,
     COLUMNS(INT("id"), INT_NULL("parent"), TEXT("kind"), TEXT("name"), TEXT("detail")),
     ROWS(origins)},
    {.name = "operands",
     .sql = "CREATE TABLE operands(kernel INTEGER NOT NULL, operand INTEGER NOT NULL, "
            "name TEXT NOT NULL, size INTEGER NOT NULL, tail INTEGER NOT NULL, "
            "\"use\" TEXT NOT NULL, PRIMARY KEY(kernel, operand)) STRICT, WITHOUT ROWID",
     .key_count = 2,
     COLUMNS(INT("kernel"), INT("operand"), TEXT("name"), INT("size"), INT("tail"), TEXT("use")),
     ROWS(operands)},
    {.name = "programs",
     .sql = "CREATE TABLE programs(program INTEGER NOT NULL, samples INTEGER NOT NULL, "
            "steps INTEGER NOT NULL, calls BLOB, PRIMARY KEY(program)) STRICT, WITHOUT ROWID",
     .key_count = 1,
     COLUMNS(INT("program"), HEX("samples"), INT("steps"), BYTES_NULL("calls")),
     ROWS(programs)},
    {.name = "schedule",
     .sql = "CREATE TABLE schedule(program INTEGER NOT NULL, step INTEGER NOT NULL, "
            "kind TEXT NOT NULL, name TEXT NOT NULL, origin INTEGER, phase INTEGER, "
            "invocations INTEGER NOT NULL, predicted_cycles INTEGER NOT NULL, "
            "PRIMARY KEY(program, step)) STRICT, WITHOUT ROWID",
     .key_count = 2,
     COLUMNS(INT("program"), INT("step"), TEXT("kind"), TEXT("name"), INT_NULL("origin"),
             INT_NULL("phase"), INT("invocations"), INT("predicted_cycles")),
     ROWS(steps)},
    {.name = "phases",
     .sql = "CREATE TABLE phases(phase INTEGER NOT NULL, name TEXT NOT NULL, "
            "horizon INTEGER NOT NULL, bound INTEGER NOT NULL, transfers INTEGER NOT NULL, "
            "times INTEGER NOT NULL, PRIMARY KEY(phase)) STRICT, WITHOUT ROWID",
     .key_count = 1,
     COLUMNS(INT("phase"), TEXT("name"), INT("horizon"), INT("bound"), INT("transfers"),
             INT("times")),
     ROWS(phases)},
    {.name = "exchange_rows",
     .sql = "CREATE TABLE exchange_rows(phase INTEGER NOT NULL, tile INTEGER NOT NULL, "
            "address INTEGER NOT NULL, size INTEGER NOT NULL, horizon INTEGER NOT NULL, "
            "PRIMARY KEY(phase, tile)) STRICT, WITHOUT ROWID",
     .key_count = 2,
     COLUMNS(INT("phase"), INT("tile"), HEX("address"), INT("size"), INT("horizon")),
     ROWS(exchange_rows)},
    {.name = "patches",
     .sql = "CREATE TABLE patches(phase INTEGER NOT NULL, tile INTEGER NOT NULL, "
            "increment INTEGER NOT NULL, address INTEGER NOT NULL, "
            "PRIMARY KEY(phase, tile, increment, address)) STRICT, WITHOUT ROWID",
     .key_count = 4,
     COLUMNS(INT("phase"), INT("tile"), INT("increment"), HEX("address")),
     ROWS(patches)},
    {.name = "transfers",
     .sql = "CREATE TABLE transfers(phase INTEGER NOT NULL, part INTEGER NOT NULL, "
            "blob BLOB NOT NULL, PRIMARY KEY(phase, part)) STRICT, WITHOUT ROWID",
     .key_count = 2,
     COLUMNS(INT("phase"), INT("part"), BYTES("blob")),
     ROWS(transfers)},
    {.name = "buffers",
     .sql = "CREATE TABLE buffers(program INTEGER NOT NULL, buffer INTEGER NOT NULL, "
            "name TEXT NOT NULL, address INTEGER NOT NULL, size INTEGER NOT NULL, "
            "class TEXT NOT NULL, \"first\" INTEGER NOT NULL, \"last\" INTEGER NOT NULL, "
            "PRIMARY KEY(program, buffer)) STRICT, WITHOUT ROWID",
     .key_count = 2,
     COLUMNS(INT("program"), INT("buffer"), TEXT("name"), HEX("address"), INT("size"),
             TEXT("class"), INT("first"), INT("last")),
     ROWS(buffers)},
    {.name = "symbols",
     .sql = "CREATE TABLE symbols(blob BLOB NOT NULL, \"offset\" INTEGER NOT NULL, "
            "name TEXT NOT NULL, size INTEGER NOT NULL, PRIMARY KEY(blob, \"offset\", name)) "
            "STRICT, WITHOUT ROWID",
     .key_count = 3,
     COLUMNS(BYTES("blob"), INT("offset"), TEXT("name"), INT("size")),
     ROWS(symbols)},
    {.name = "lines",
     .sql = "CREATE TABLE lines(blob BLOB NOT NULL, \"offset\" INTEGER NOT NULL, "
            "file TEXT NOT NULL, line INTEGER NOT NULL, PRIMARY KEY(blob, \"offset\")) "
            "STRICT, WITHOUT ROWID",
     .key_count = 2,
     COLUMNS(BYTES("blob"), INT("offset"), TEXT("file"), INT("line")),
     ROWS(lines)},
    {.name = "notes",
     .sql = "CREATE TABLE notes(name TEXT NOT NULL, \"text\" TEXT NOT NULL, PRIMARY KEY(name)) "
            "STRICT, WITHOUT ROWID",
     .key_count = 1,
     COLUMNS(TEXT("name"), TEXT("text")),
     ROWS(notes)},
};
