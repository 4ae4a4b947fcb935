/* The structural rules of a package, whatever source it comes from. All indices that the other
 * functions follow are checked here. */
#include "pack/rows.h"

#include "chip/chip.h"

#include <string.h>

typedef struct Checker {
    const Package *package;
    Diag *diag;
} Checker;

static Status broken(const Checker *checker, const char *table, size_t row, const char *what) {
    return diag_error(checker->diag, ERR_PACK_RULE, DIAG_NOWHERE, "table %s, row %zu: %s", table,
                      row, what);
}

static bool in_memory(uint32_t address, uint32_t size) {
    return address >= CHIP_TILE_MEM_BASE && address <= CHIP_TILE_MEM_END &&
           size <= CHIP_TILE_MEM_END - address;
}

static Status check_blobs(const Checker *checker) {
    const Package *package = checker->package;
    uint8_t *used = mem_alloc(package->blobs.count + 1, 1);
    if (!used)
        return diag_error(checker->diag, ERR_NO_MEMORY, DIAG_NOWHERE, "checking a package");
    for (size_t i = 0; i < package->segments.count; i++) {
        uint32_t blob = package->segments.items[i].blob;
        if (blob < package->blobs.count)
            used[blob] = 1;
    }
    for (size_t i = 0; i < package->transfers.count; i++)
        if (package->transfers.items[i].blob < package->blobs.count)
            used[package->transfers.items[i].blob] = 1;
    for (size_t i = 0; i < package->programs.count; i++)
        if (package->programs.items[i].calls < package->blobs.count)
            used[package->programs.items[i].calls] = 1;
    Status status = STATUS_OK;
    for (size_t i = 0; i < package->blobs.count && !status; i++) {
        if (i && memcmp(&package->blobs.items[i - 1].id, &package->blobs.items[i].id,
                        sizeof(PackageDigest)) >= 0)
            status = broken(checker, "blobs", i, "ids do not ascend");
        else if (package->blobs.items[i].size == 0)
            status = broken(checker, "blobs", i, "a blob is empty");
        else if (!used[i])
            status = broken(checker, "blobs", i, "nothing uses this blob");
    }
    mem_free(used);
    return status;
}

static Status check_segments(const Checker *checker) {
    const Package *package = checker->package;
    for (size_t i = 0; i < package->segments.count; i++) {
        const PackageSegment *segment = &package->segments.items[i];
        if (segment->tile >= package->tile_count)
            return broken(checker, "segments", i, "the tile is not there");
        if (segment->size == 0 || !in_memory(segment->address, segment->size))
            return broken(checker, "segments", i, "outside tile memory");
        if (segment->flags == 0 || segment->flags > 7)
            return broken(checker, "segments", i, "flags are 1 to 7");
        if (segment->blob != PACKAGE_NONE &&
            (segment->blob >= package->blobs.count ||
             package->blobs.items[segment->blob].size > segment->size))
            return broken(checker, "segments", i, "the content is larger than the segment");
        const PackageSegment *last = i ? segment - 1 : NULL;
        if (last && last->tile == segment->tile && last->address + last->size > segment->address)
            return broken(checker, "segments", i, "overlaps the segment before");
        if (last && last->tile > segment->tile)
            return broken(checker, "segments", i, "not sorted by tile");
    }
    return STATUS_OK;
}

/* Bytes of a shard; false if they exceed a tile's memory. */
static bool shard_size(const PackageBinding *binding, uint32_t shard, uint64_t *bytes) {
    Shard s;
    format_shard(&binding->format, &binding->stored, shard, &s);
    *bytes = s.layout.value_bytes;
    for (uint32_t i = 0; i < s.layout.rank; i++) {
        *bytes *= s.layout.dims[i]; /* below 2^52: no overflow */
        if (*bytes > CHIP_TILE_MEM_SIZE)
            return false;
    }
    return true;
}

/* The slices of one copy of a shard, from *at on; *at moves behind them. */
static const char *check_copy(const PackageBinding *binding, uint32_t shard, uint32_t copy,
                              uint32_t *at, uint64_t *offset) {
    uint64_t bytes;
    if (!shard_size(binding, shard, &bytes))
        return "a shard is larger than tile memory";
    uint32_t tile = format_tile_of_shard(&binding->format, shard, copy);
    while (bytes > 0) {
        if (*at >= binding->slice_count)
            return "slices are missing";
        const PackageSlice *slice = &binding->slices[(*at)++];
        if (slice->tile != tile)
            return "a slice is on another tile than its format says";
        if (slice->size == 0 || slice->size > bytes || !in_memory(slice->address, slice->size))
            return "a slice is outside tile memory or has a wrong size";
        if (slice->offset != *offset)
            return "the offsets of slices are not the sums of their sizes";
        bytes -= slice->size;
        *offset += slice->size;
    }
    return NULL;
}

static const char *check_slices(const PackageBinding *binding) {
    uint32_t at = 0, shards = format_shards(&binding->format);
    uint64_t offset = 0, values, stored;
    if (!shape_count(&binding->shape, &values))
        return "the shape is too large";
    if (!shape_count(&binding->stored, &stored) || stored != values)
        return "as many values are stored as the shape has";
    for (uint32_t shard = 0; shard < shards; shard++)
        for (uint32_t copy = 0; copy < binding->format.replicas; copy++) {
            const char *what = check_copy(binding, shard, copy, &at, &offset);
            if (what)
                return what;
        }
    return at == binding->slice_count ? NULL : "there are more slices than shards";
}

static Status check_bindings(const Checker *checker) {
    const Package *package = checker->package;
    for (size_t i = 0; i < package->bindings.count; i++) {
        const PackageBinding *binding = &package->bindings.items[i];
        if (binding->name[0] == 0 || (i && strcmp(binding[-1].name, binding->name) >= 0))
            return broken(checker, "bindings", i, "names are unique, not empty, and ascend");
        if (binding->format.tile_count > package->tile_count ||
            binding->format.first_tile > package->tile_count - binding->format.tile_count)
            return broken(checker, "bindings", i, "the format has more tiles than the package");
        if (format_check(&binding->format, &binding->stored, NULL))
            return broken(checker, "bindings", i, "the format does not suit the shape");
        const char *what = check_slices(binding);
        if (what)
            return diag_error(checker->diag, ERR_PACK_RULE, DIAG_NOWHERE, "binding %s: %s",
                              binding->name, what);
    }
    return STATUS_OK;
}

static Status check_entries(const Checker *checker) {
    const Package *package = checker->package;
    if (package->entries.count == 0)
        return broken(checker, "entries", 0, "a package has an entry program");
    for (size_t i = 0; i < package->entries.count; i++) {
        const PackageEntry *entry = &package->entries.items[i];
        if (entry->name[0] == 0 || entry->tile != i % package->tile_count)
            return broken(checker, "entries", i, "every entry has a name and each tile once");
        if (entry->tile ? strcmp(entry[-1].name, entry->name) != 0
                        : i && strcmp(entry[-1].name, entry->name) >= 0)
            return broken(checker, "entries", i, "names ascend, and each has all tiles");
        if (entry->address % 4 || !in_memory(entry->address, 4))
            return broken(checker, "entries", i, "no address of an instruction");
    }
    return package->entries.count % package->tile_count
               ? broken(checker, "entries", package->entries.count, "tiles are missing")
               : STATUS_OK;
}

static bool has_entry(const Package *package, const char *name) {
    for (size_t i = 0; i < package->entries.count; i += package->tile_count)
        if (!strcmp(package->entries.items[i].name, name))
            return true;
    return false;
}

static Status check_calls(const Checker *checker) {
    const Package *package = checker->package;
    for (size_t i = 0; i < package->calls.count; i++) {
        const PackageCall *call = &package->calls.items[i];
        const PackageCall *last = i ? call - 1 : NULL;
        bool next = last && !strcmp(last->name, call->name);
        if (call->name[0] == 0 || (last && !next && strcmp(last->name, call->name) > 0) ||
            call->ordinal != (next ? last->ordinal + 1 : 0))
            return broken(checker, "host_calls", i, "transfers are numbered from 0");
        if (call->binding >= package->bindings.count)
            return broken(checker, "host_calls", i, "the binding is not there");
        if (call->entry[0] && !has_entry(package, call->entry))
            return broken(checker, "host_calls", i, "the entry is not there");
        if (next && strcmp(last->entry, call->entry) != 0)
            return broken(checker, "host_calls", i, "one call has one entry");
    }
    return STATUS_OK;
}

static Status check_origins(const Checker *checker) {
    const Package *package = checker->package;
    for (size_t i = 0; i < package->origins.count; i++) {
        uint32_t parent = package->origins.items[i].parent;
        if (parent != PACKAGE_NONE && parent >= i)
            return broken(checker, "provenance", i, "parents come first");
    }
    return STATUS_OK;
}

static Status check_operands(const Checker *checker) {
    const Package *package = checker->package;
    for (size_t i = 0; i < package->operands.count; i++) {
        const PackageOperand *operand = &package->operands.items[i];
        uint32_t kernel = i ? operand[-1].kernel : UINT32_MAX; /* the one before */
        bool next = i && operand->kernel == kernel;
        if (operand->kernel != (next ? kernel : kernel + 1) ||
            operand->operand != (next ? operand[-1].operand + 1 : 0))
            return broken(checker, "operands", i, "kernels and operands are numbered from 0");
        if (operand->operand >= PACKAGE_MAX_OPERANDS)
            return broken(checker, "operands", i, "more operands than registers for them");
        if (operand->size > CHIP_TILE_MEM_SIZE || operand->tail > CHIP_TILE_MEM_SIZE)
            return broken(checker, "operands", i, "larger than tile memory");
    }
    return STATUS_OK;
}

/* NULL, or what is wrong with the calls of a program. */
static const char *check_kernel_calls(const Package *package, uint32_t program) {
    uint32_t count;
    if (package->programs.items[program].calls == PACKAGE_NONE)
        return NULL;
    const PackageKernelCall *calls = package_kernel_calls(package, program, &count);
    if (!calls)
        return "the calls are not whole";
    for (uint32_t i = 0; i < count; i++)
        if (calls[i].kernel >= package_kernels(package) || calls[i].address % 4 ||
            !in_memory(calls[i].address, 4) || (i && calls[i - 1].address >= calls[i].address))
            return "calls ascend by address, and their kernels are there";
    return NULL;
}

static Status check_programs(const Checker *checker) {
    const Package *package = checker->package;
    for (uint32_t tile = 0; tile < package->tile_count; tile++)
        if (package->program[tile] >= package->programs.count)
            return broken(checker, "tiles", tile, "the program is not there");
    size_t at = 0;
    for (uint32_t p = 0; p < package->programs.count; p++) {
        const PackageProgram *program = &package->programs.items[p];
        uint64_t words = package_samples(package, p);
        uint32_t phases = 0, times = 1;
        if (words == 0)
            return broken(checker, "programs", p, "loops begin and end in turn, with equal counts");
        if (words > CHIP_TILE_MEM_SIZE / 4 || program->samples_address % 4 ||
            !in_memory(program->samples_address, (uint32_t)words * 4))
            return broken(checker, "programs", p, "the samples are outside tile memory");
        const char *what = check_kernel_calls(package, p);
        if (what)
            return broken(checker, "programs", p, what);
        for (uint32_t s = 0; s < program->step_count; s++, at++) {
            if (at >= package->steps.count || package->steps.items[at].program != p ||
                package->steps.items[at].step != s)
                return broken(checker, "schedule", at, "steps are not those of the programs");
            uint32_t origin = package->steps.items[at].origin;
            if (origin != PACKAGE_NONE && origin >= package->origins.count)
                return broken(checker, "schedule", at, "the origin is not there");
            PackageStepKind kind = package->steps.items[at].kind;
            bool exchange = kind == PACKAGE_EXCHANGE;
            if (kind == PACKAGE_REPEAT || kind == PACKAGE_AGAIN)
                times = kind == PACKAGE_REPEAT ? package->steps.items[at].invocations : 1;
            if (exchange && phases < package->phases.count &&
                package->phases.items[phases].times != times)
                return broken(checker, "schedule", at,
                              "an exchange is done as often as the loop that it is in");
            if (package->steps.items[at].phase != (exchange ? phases++ : PACKAGE_NONE))
                return broken(checker, "schedule", at,
                              "the exchange steps of a program are the phases in their order");
        }
        if (phases != package->phases.count)
            return broken(checker, "programs", p, "an exchange phase is missing");
    }
    return at == package->steps.count ? STATUS_OK
                                      : broken(checker, "schedule", at, "a step of no program");
}

/* Executable bytes with content from `address` on. */
static bool holds_row(const Package *package, const PackageRow *row) {
    uint32_t count, first = package_tile_segments(package, row->tile, &count);
    for (uint32_t i = first; i < first + count; i++) {
        const PackageSegment *segment = &package->segments.items[i];
        if (segment->address > row->address || segment->blob == PACKAGE_NONE ||
            !(segment->flags & PACKAGE_EXECUTE))
            continue;
        uint32_t offset = row->address - segment->address;
        uint32_t size = package->blobs.items[segment->blob].size;
        if (offset <= size && row->size <= size - offset)
            return true;
    }
    return false;
}

static Status check_rows(const Checker *checker) {
    const Package *package = checker->package;
    for (size_t i = 0; i < package->rows.count; i++) {
        const PackageRow *row = &package->rows.items[i];
        bool same = i && row[-1].phase == row->phase;
        if (row->phase >= package->phases.count || row->tile >= package->tile_count ||
            (i && row[-1].phase > row->phase) || (same && row[-1].tile >= row->tile))
            return broken(checker, "exchange_rows", i, "phases and tiles do not ascend");
        if (row->address % 8 || row->size % 4 || row->size == 0 || !holds_row(package, row))
            return broken(checker, "exchange_rows", i, "no code of the tile is there");
    }
    return STATUS_OK;
}

/* The row of a phase on a tile, or NULL. */
static const PackageRow *find_row(const Package *package, uint32_t phase, uint32_t tile) {
    uint32_t count, first = package_phase_rows(package, phase, &count);
    for (uint32_t i = first; i < first + count; i++)
        if (package->rows.items[i].tile == tile)
            return &package->rows.items[i];
    return NULL;
}

static int compare_patches(const PackagePatch *a, const PackagePatch *b) {
    if (a->phase != b->phase)
        return a->phase < b->phase ? -1 : 1;
    if (a->tile != b->tile)
        return a->tile < b->tile ? -1 : 1;
    if (a->increment != b->increment)
        return a->increment < b->increment ? -1 : 1;
    return a->address < b->address ? -1 : a->address > b->address;
}

static Status check_patches(const Checker *checker) {
    const Package *package = checker->package;
    const PackageRow *row = NULL;
    for (size_t i = 0; i < package->patches.count; i++) {
        const PackagePatch *patch = &package->patches.items[i];
        if (patch->phase >= package->phases.count || (i && compare_patches(patch - 1, patch) >= 0))
            return broken(checker, "patches", i, "phases, tiles and words do not ascend");
        if (!row || row->phase != patch->phase || row->tile != patch->tile)
            row = find_row(package, patch->phase, patch->tile);
        if (!row || patch->address % 4 || patch->address < row->address ||
            patch->address - row->address >= row->size || patch->increment == 0 ||
            patch->increment >= 1 << 20)
            return broken(checker, "patches", i, "no word of a row, or a number beyond 20 bits");
    }
    return STATUS_OK;
}

static Status check_transfers(const Checker *checker) {
    const Package *package = checker->package;
    for (size_t i = 0; i < package->transfers.count; i++) {
        const PackageTransfers *part = &package->transfers.items[i];
        bool next = i && part[-1].phase == part->phase;
        if (part->phase >= package->phases.count || part->blob >= package->blobs.count ||
            (i && part[-1].phase > part->phase) || part->part != (next ? part[-1].part + 1 : 0))
            return broken(checker, "transfers", i, "parts are numbered from 0 in each phase");
    }
    return STATUS_OK;
}

/* Rows and transfers as a whole. */
static Status check_phases(const Checker *checker) {
    const Package *package = checker->package;
    for (uint32_t p = 0; p < package->phases.count; p++) {
        const PackagePhase *phase = &package->phases.items[p];
        uint32_t count, first = package_phase_rows(package, p, &count), horizon = 0;
        for (uint32_t i = first; i < first + count; i++)
            horizon = MAX_OF(horizon, package->rows.items[i].horizon);
        if (phase->name[0] == 0 || phase->horizon != horizon)
            return broken(checker, "phases", p,
                          "a phase has a name, and the horizon is that of the longest row");
        XchgPhase transfers;
        Status status = package_phase_transfers(package, p, &transfers, checker->diag);
        xchg_phase_free(&transfers);
        if (status)
            return status;
    }
    return STATUS_OK;
}

static Status check_buffers(const Checker *checker) {
    const Package *package = checker->package;
    for (size_t i = 0; i < package->buffers.count; i++) {
        const PackageBuffer *buffer = &package->buffers.items[i];
        bool next = i && buffer[-1].program == buffer->program;
        if (buffer->program >= package->programs.count ||
            (i && buffer[-1].program > buffer->program) ||
            buffer->ordinal != (next ? buffer[-1].ordinal + 1 : 0))
            return broken(checker, "buffers", i, "buffers are numbered from 0 in each program");
        if (!in_memory(buffer->address, buffer->size) || buffer->first > buffer->last)
            return broken(checker, "buffers", i, "outside tile memory, or a lifetime is void");
    }
    return STATUS_OK;
}

static Status check_debug(const Checker *checker) {
    const Package *package = checker->package;
    for (size_t i = 0; i < package->symbols.count; i++) {
        const PackageSymbol *symbol = &package->symbols.items[i];
        if (symbol->blob >= package->blobs.count ||
            symbol->offset > package->blobs.items[symbol->blob].size ||
            symbol->size > package->blobs.items[symbol->blob].size - symbol->offset)
            return broken(checker, "symbols", i, "outside its blob");
    }
    for (size_t i = 0; i < package->lines.count; i++) {
        const PackageLine *line = &package->lines.items[i];
        if (line->blob >= package->blobs.count ||
            line->offset >= package->blobs.items[line->blob].size)
            return broken(checker, "lines", i, "outside its blob");
        if (i && line[-1].blob == line->blob && line[-1].offset >= line->offset)
            return broken(checker, "lines", i, "two lines at one place");
    }
    for (size_t i = 1; i < package->notes.count; i++)
        if (strcmp(package->notes.items[i - 1].name, package->notes.items[i].name) >= 0)
            return broken(checker, "notes", i, "names are unique and ascend");
    return STATUS_OK;
}

Status package_check(const Package *package, Diag *diag) {
    static Status (*const rules[])(const Checker *) = {
        check_blobs,    check_segments,  check_bindings, check_entries, check_calls,
        check_origins,  check_transfers, check_rows,     check_patches, check_phases,
        check_operands, check_programs,  check_buffers,  check_debug};
    Checker checker = {package, diag};
    Status status = STATUS_OK;
    for (size_t i = 0; i < COUNT_OF(rules) && !status; i++)
        status = rules[i](&checker);
    return status;
}
