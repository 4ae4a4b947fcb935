/* The chip's rules for a package. */
#include "pack/rows.h"

#include "chip/chip.h"
#include "isa/isa.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_REPORTS = 20 };

typedef struct Verifier {
    const Package *package;
    Diag *diag;
    uint32_t reports;
} Verifier;

__attribute__((format(printf, 4, 5))) static void
breach(Verifier *verifier, uint32_t tile, const char *object, const char *format, ...) {
    if (verifier->reports++ >= MAX_REPORTS)
        return;
    va_list arguments;
    va_start(arguments, format);
    char *text = mem_vprintf(format, arguments);
    va_end(arguments);
    diag_error(verifier->diag, ERR_PACK_CHIP, (DiagPlace){.tile = (int32_t)tile, .object = object},
               "%s", text ? text : format);
    mem_free(text);
}

/* Offset of the first word that is no instruction of either kind of context; the size if there is
 * none. Zero words between functions are padding. */
static uint32_t first_undecodable(const PackageBlob *blob) {
    uint32_t words[2], offset = 0;
    while (offset + 4 <= blob->size) {
        size_t count = MIN_OF((blob->size - offset) / 4, 2u);
        memcpy(words, blob->bytes + offset, count * 4);
        IsaPacket packet = {.size = 4};
        if (words[0] != 0 && !isa_decode_packet(words, count, ISA_SUPERVISOR, &packet) &&
            !isa_decode_packet(words, count, ISA_WORKER, &packet))
            return offset;
        offset += packet.size;
    }
    return blob->size - blob->size % 4 == blob->size ? blob->size : offset;
}

static void verify_code(Verifier *verifier) {
    const Package *package = verifier->package;
    uint8_t *seen = mem_alloc(package->blobs.count + 1, 1);
    for (size_t i = 0; i < package->segments.count && seen; i++) {
        const PackageSegment *segment = &package->segments.items[i];
        if (!(segment->flags & PACKAGE_EXECUTE) || segment->blob == PACKAGE_NONE ||
            seen[segment->blob])
            continue;
        seen[segment->blob] = 1;
        const PackageBlob *blob = &package->blobs.items[segment->blob];
        uint32_t offset = first_undecodable(blob);
        if (offset < blob->size)
            breach(verifier, segment->tile, "code", "the word at 0x%X is no instruction",
                   segment->address + offset);
    }
    if (!seen)
        diag_error(verifier->diag, ERR_NO_MEMORY, DIAG_NOWHERE, "verifying a package");
    mem_free(seen);
}

static void verify_segments(Verifier *verifier) {
    for (size_t i = 0; i < verifier->package->segments.count; i++) {
        const PackageSegment *segment = &verifier->package->segments.items[i];
        uint32_t end = segment->address + segment->size;
        if (segment->address < CHIP_APP_LOAD_BASE || end > CHIP_APP_LOAD_LIMIT)
            breach(verifier, segment->tile, "segment", "0x%X…0x%X cannot be loaded",
                   segment->address, end);
        if (segment->flags & PACKAGE_EXECUTE && end > CHIP_REGION1_BASE)
            breach(verifier, segment->tile, "segment", "code at 0x%X…0x%X: none runs above 0x%X",
                   segment->address, end, CHIP_REGION1_BASE);
        if (segment->flags & PACKAGE_EXECUTE && segment->address % 4)
            breach(verifier, segment->tile, "segment", "code at 0x%X is misaligned",
                   segment->address);
    }
}

/* The executable segment of a tile that overlaps [address, address + size), or NULL. */
static const PackageSegment *code_at(const Package *package, uint32_t tile, uint32_t address,
                                     uint32_t size) {
    uint32_t count, first = package_tile_segments(package, tile, &count);
    for (uint32_t i = first; i < first + count; i++) {
        const PackageSegment *segment = &package->segments.items[i];
        if (segment->flags & PACKAGE_EXECUTE && segment->address < address + size &&
            address < segment->address + segment->size)
            return segment;
    }
    return NULL;
}

static void verify_entries(Verifier *verifier) {
    const Package *package = verifier->package;
    for (size_t i = 0; i < package->entries.count; i++) {
        const PackageEntry *entry = &package->entries.items[i];
        const PackageSegment *segment = code_at(package, entry->tile, entry->address, 4);
        uint32_t offset = segment ? entry->address - segment->address : 0, word = 0;
        const PackageBlob *blob =
            segment && segment->blob != PACKAGE_NONE ? &package->blobs.items[segment->blob] : NULL;
        IsaPacket packet;
        if (blob && offset + 4 <= blob->size)
            memcpy(&word, blob->bytes + offset, 4);
        if (!isa_decode_packet(&word, 1, ISA_SUPERVISOR, &packet))
            breach(verifier, entry->tile, entry->name,
                   "the entry address 0x%X holds no supervisor instruction", entry->address);
    }
}

static void verify_slice(Verifier *verifier, const PackageBinding *binding,
                         const PackageSlice *slice) {
    uint32_t end = slice->address + slice->size;
    if (slice->address % 4)
        breach(verifier, slice->tile, binding->name, "the slice at 0x%X is misaligned",
               slice->address);
    if (slice->address < CHIP_REGION1_BASE && end > CHIP_REGION1_BASE)
        breach(verifier, slice->tile, binding->name, "the slice 0x%X…0x%X crosses 0x%X",
               slice->address, end, CHIP_REGION1_BASE);
    if (binding->format.memory_class == MEMORY_INTERLEAVED && !chip_interleaved(slice->address))
        breach(verifier, slice->tile, binding->name,
               "the slice at 0x%X is not in interleaved memory", slice->address);
    if (slice->address < CHIP_RUNTIME_END && end > CHIP_HOST_WINDOW_BASE)
        breach(verifier, slice->tile, binding->name,
               "the slice 0x%X…0x%X meets the host window or the runtime's state", slice->address,
               end);
    if (code_at(verifier->package, slice->tile, slice->address, slice->size))
        breach(verifier, slice->tile, binding->name, "the slice 0x%X…0x%X meets code",
               slice->address, end);
}

typedef struct Held {
    uint32_t tile, address, end;
    const PackageBinding *binding;
} Held;

/* An input may lie where an output comes later, and an output may be what another binding is too,
 * one value of several names; no other two may meet. */
static bool may_meet(const Held *a, const Held *b) {
    PackageKind x = a->binding->kind, y = b->binding->kind;
    bool same = a->address == b->address && a->end == b->end;
    return (x == PACKAGE_OUTPUT && (y == PACKAGE_INPUT || same)) ||
           (y == PACKAGE_OUTPUT && (x == PACKAGE_INPUT || same));
}

static int compare_held(const void *a, const void *b) {
    const Held *x = a, *y = b;
    if (x->tile != y->tile)
        return x->tile < y->tile ? -1 : 1;
    return x->address < y->address ? -1 : x->address > y->address;
}

static void verify_overlaps(Verifier *verifier, const Held *held, size_t count) {
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1;
             j < count && held[j].tile == held[i].tile && held[j].address < held[i].end; j++)
            if (!may_meet(&held[i], &held[j]))
                breach(verifier, held[i].tile, held[i].binding->name, "overlaps %s at 0x%X",
                       held[j].binding->name, held[j].address);
}

static void verify_bindings(Verifier *verifier) {
    const Package *package = verifier->package;
    VEC(Held) held = {0};
    bool memory = true;
    for (size_t b = 0; b < package->bindings.count && memory; b++) {
        const PackageBinding *binding = &package->bindings.items[b];
        for (uint32_t i = 0; i < binding->slice_count && memory; i++) {
            const PackageSlice *slice = &binding->slices[i];
            verify_slice(verifier, binding, slice);
            memory = vec_push(
                &held, (Held){slice->tile, slice->address, slice->address + slice->size, binding});
        }
    }
    if (memory && held.count) {
        qsort(held.items, held.count, sizeof *held.items, compare_held);
        verify_overlaps(verifier, held.items, held.count);
    }
    if (!memory)
        diag_error(verifier->diag, ERR_NO_MEMORY, DIAG_NOWHERE, "verifying a package");
    vec_free(&held);
}

static void verify_samples(Verifier *verifier) {
    const Package *package = verifier->package;
    for (uint32_t tile = 0; tile < package->tile_count; tile++) {
        const PackageProgram *program = &package->programs.items[package->program[tile]];
        uint32_t size = 4 * (uint32_t)package_samples(package, package->program[tile]),
                 address = program->samples_address;
        if (code_at(package, tile, address, size))
            breach(verifier, tile, "samples", "0x%X…0x%X meet code", address, address + size);
        for (size_t b = 0; b < package->bindings.count; b++) {
            const PackageBinding *binding = &package->bindings.items[b];
            for (uint32_t i = 0; i < binding->slice_count; i++)
                if (binding->slices[i].tile == tile &&
                    binding->slices[i].address < address + size &&
                    address < binding->slices[i].address + binding->slices[i].size)
                    breach(verifier, tile, "samples", "0x%X…0x%X meet %s", address, address + size,
                           binding->name);
        }
    }
}

/* ---- exchange */

/* The words of a phase's rows as they stand in memory. */
typedef struct Phase {
    XchgPhase transfers;
    XchgRows rows;
    uint32_t *address; /* of each row */
} Phase;

static bool collect_rows(const Package *package, uint32_t number, Phase *phase) {
    uint32_t count, first = package_phase_rows(package, number, &count);
    phase->address = mem_alloc((size_t)count + 1, sizeof *phase->address);
    bool memory = phase->address != NULL;
    for (uint32_t i = 0; i < count && memory; i++) {
        const PackageRow *from = &package->rows.items[first + i];
        uint32_t words = from->size / 4, padded = words + words % 2;
        XchgRow row = {from->tile, (uint32_t)phase->rows.words.count, words, from->horizon};
        memory = vec_push(&phase->rows.rows, row) && vec_reserve(&phase->rows.words, padded);
        if (!memory)
            break;
        uint32_t *at = phase->rows.words.items + row.first_word;
        memcpy(at, package_row_bytes(package, from), from->size);
        at[padded - 1] = words % 2 ? 0 : at[padded - 1];
        phase->rows.words.count += padded;
        phase->address[i] = from->address;
    }
    return memory;
}

/* Does the tile have this word in some code? Bits of it that `mask` leaves out do not count. */
static bool has_word(const Package *package, uint32_t tile, uint32_t wanted, uint32_t mask) {
    uint32_t word, count, first = package_tile_segments(package, tile, &count);
    for (uint32_t i = first; i < first + count; i++) {
        const PackageSegment *segment = &package->segments.items[i];
        if (!(segment->flags & PACKAGE_EXECUTE) || segment->blob == PACKAGE_NONE)
            continue;
        const PackageBlob *blob = &package->blobs.items[segment->blob];
        for (uint32_t at = 0; at + 4 <= blob->size; at += 4) {
            memcpy(&word, blob->bytes + at, 4);
            if ((word & mask) == (wanted & mask))
                return true;
        }
    }
    return false;
}

/* Does some code of the tile call the row? */
static bool calls_row(const Package *package, const PackageRow *row) {
    uint32_t call[2];
    isa_encode(&(IsaInstr){.form = ISA_CALL, .operand = {10, (int32_t)row->address}}, call);
    return has_word(package, row->tile, call[0], UINT32_MAX);
}

/* Does some code of the tile load a number, into any register? */
static bool loads(const Package *package, uint32_t tile, uint32_t number) {
    uint32_t words[2][2];
    for (int reg = 0; reg < 2; reg++)
        isa_encode(&(IsaInstr){.form = ISA_SETZI, .operand = {reg * 15, (int32_t)number}},
                   words[reg]);
    return has_word(package, tile, words[0][0], ~(words[0][0] ^ words[1][0]));
}

static Status verify_bound(Verifier *verifier, uint32_t number, const XchgPhase *transfers) {
    uint64_t bound = xchg_phase_bound(transfers, verifier->package->tile_count);
    if (bound == 0 && transfers->transfers.count > 0)
        return ERR_NO_MEMORY;
    if (bound != verifier->package->phases.items[number].bound)
        breach(verifier, UINT32_MAX, transfers->name, "the bound is not that of its transfers");
    return STATUS_OK;
}

/* Transfers and words of rows as they are in the next iteration. */
static void advance(const Package *package, uint32_t number, Phase *phase) {
    for (size_t i = 0; i < phase->transfers.transfers.count; i++)
        phase->transfers.transfers.items[i].address += phase->transfers.transfers.items[i].stride;
    uint32_t row = 0;
    for (size_t i = 0; i < package->patches.count; i++) {
        const PackagePatch *patch = &package->patches.items[i];
        if (patch->phase != number)
            continue;
        while (phase->rows.rows.items[row].tile != patch->tile)
            row++;
        phase->rows.words.items[phase->rows.rows.items[row].first_word +
                                (patch->address - phase->address[row]) / 4] += patch->increment;
    }
}

/* The rows of all iterations, each with its own addresses. */
static Status verify_rows(Verifier *verifier, uint32_t number, Phase *phase) {
    const Package *package = verifier->package;
    Status status = STATUS_OK;
    uint32_t times = package->phases.items[number].times;
    for (uint32_t i = 0; i < times && !status; i++) {
        if (i > 0)
            advance(package, number, phase);
        status = xchg_verify(&phase->transfers, package->tile_count, &phase->rows, phase->address,
                             verifier->diag);
        if (status && times > 1)
            diag_note(verifier->diag, "in iteration %u of %u", i, times);
    }
    return status;
}

/* The code adds to every word that is to change in a loop. */
static void verify_patches(Verifier *verifier) {
    const Package *package = verifier->package;
    for (size_t i = 0; i < package->patches.count; i++) {
        const PackagePatch *patch = &package->patches.items[i];
        if (!loads(package, patch->tile, patch->address) ||
            !loads(package, patch->tile, patch->increment))
            breach(verifier, patch->tile, package->phases.items[patch->phase].name,
                   "no code adds %u to the word at 0x%X", patch->increment, patch->address);
    }
}

static void verify_phase(Verifier *verifier, uint32_t number) {
    const Package *package = verifier->package;
    Phase phase = {0};
    Status status = package_phase_transfers(package, number, &phase.transfers, verifier->diag);
    bool memory = true;
    if (!status) {
        memory = collect_rows(package, number, &phase);
        if (memory)
            status = verify_rows(verifier, number, &phase);
        if (memory && !status)
            memory = verify_bound(verifier, number, &phase.transfers) == STATUS_OK;
    }
    if (!memory)
        diag_error(verifier->diag, ERR_NO_MEMORY, DIAG_NOWHERE, "verifying a package");
    xchg_phase_free(&phase.transfers);
    xchg_rows_free(&phase.rows);
    mem_free(phase.address);
}

static void verify_exchange(Verifier *verifier) {
    const Package *package = verifier->package;
    for (uint32_t p = 0; p < package->phases.count; p++)
        verify_phase(verifier, p);
    for (size_t i = 0; i < package->rows.count; i++) {
        const PackageRow *row = &package->rows.items[i];
        if (!calls_row(package, row))
            breach(verifier, row->tile, package->phases.items[row->phase].name,
                   "no code calls the row at 0x%X", row->address);
    }
    verify_patches(verifier);
}

Status package_verify(const Package *package, Diag *diag) {
    Status status = package_check(package, diag);
    if (status)
        return status;
    Diag own = {0};
    Verifier verifier = {.package = package, .diag = &own};
    verify_segments(&verifier);
    verify_code(&verifier);
    verify_entries(&verifier);
    verify_bindings(&verifier);
    verify_samples(&verifier);
    verify_exchange(&verifier);
    if (verifier.reports > MAX_REPORTS)
        diag_note(&own, "and %u more", verifier.reports - MAX_REPORTS);
    status = diag_status(&own);
    if (diag)
        diag_append(diag, &own);
    diag_free(&own);
    return status;
}
