/* Exchange phases of a package: what they move, kept as words in blobs, and their rows. */
#include "pack/rows.h"

#include "chip/chip.h"

#include <string.h>

/* Words of a transfer before its destinations, and of each of these. */
enum { HEAD_WORDS = 5, DEST_WORDS = 2 };

/* A blob is no larger than this; a transfer fits in any case. */
enum { PART_WORDS = CHIP_TILE_MEM_SIZE / 4 };
_Static_assert(HEAD_WORDS + DEST_WORDS * CHIP_TILES <= PART_WORDS, "a part holds a transfer");

/* ---- writing */

typedef VEC(uint32_t) Words;

static bool add_part(Package *package, Words *words, uint32_t *part) {
    PackageTransfers row = {(uint32_t)package->phases.count - 1, (*part)++, PACKAGE_NONE};
    row.blob = package_add_blob(package, words->items, 4 * (uint32_t)words->count);
    words->count = 0;
    return row.blob != PACKAGE_NONE && vec_push(&package->transfers, row);
}

static void add_transfer(const XchgPhase *phase, const XchgTransfer *transfer, Words *words) {
    const XchgDest *dests = phase->dests.items + transfer->first_dest;
    uint32_t *at = words->items + words->count;
    *at++ = transfer->source;
    *at++ = transfer->address;
    *at++ = transfer->words;
    *at++ = transfer->dest_count;
    *at++ = transfer->stride;
    for (uint32_t i = 0; i < transfer->dest_count; i++) {
        *at++ = dests[i].tile;
        *at++ = dests[i].address;
    }
    words->count = (size_t)(at - words->items);
}

static bool add_transfers(Package *package, const XchgPhase *phase) {
    Words words = {0};
    uint32_t part = 0;
    bool memory = true;
    for (size_t i = 0; i < phase->transfers.count && memory; i++) {
        const XchgTransfer *transfer = &phase->transfers.items[i];
        size_t more = HEAD_WORDS + DEST_WORDS * (size_t)transfer->dest_count;
        if (words.count + more > PART_WORDS)
            memory = add_part(package, &words, &part);
        memory = memory && vec_reserve(&words, more);
        if (memory)
            add_transfer(phase, transfer, &words);
    }
    memory = memory && (words.count == 0 || add_part(package, &words, &part));
    vec_free(&words);
    return memory;
}

bool package_add_phase(Package *package, const XchgPhase *transfers, uint32_t horizon,
                       uint32_t times) {
    PackagePhase phase = {.name = package_string(package, transfers->name),
                          .horizon = horizon,
                          .bound = (uint32_t)xchg_phase_bound(transfers, package->tile_count),
                          .transfers = (uint32_t)transfers->transfers.count,
                          .times = times};
    if (!phase.name || (phase.bound == 0 && phase.transfers > 0)) /* no memory for the bound */
        return false;
    return vec_push(&package->phases, phase) && add_transfers(package, transfers);
}

/* ---- reading */

/* First index of the phase in a table that is sorted by phase. */
#define FIRST_OF_PHASE(vec, number, first, number_of)                                              \
    do {                                                                                           \
        (first) = 0;                                                                               \
        while ((first) < (vec).count && (vec).items[first].phase < (number))                       \
            (first)++;                                                                             \
        (number_of) = 0;                                                                           \
        while ((first) + (number_of) < (vec).count &&                                              \
               (vec).items[(first) + (number_of)].phase == (number))                               \
            (number_of)++;                                                                         \
    } while (0)

uint32_t package_phase_rows(const Package *package, uint32_t phase, uint32_t *count) {
    uint32_t first;
    FIRST_OF_PHASE(package->rows, phase, first, *count);
    return first;
}

/* The transfers of one blob; NULL, or what is wrong. *memory becomes false without memory. */
static const char *read_part(const PackageBlob *blob, uint32_t tiles, XchgPhase *phase,
                             bool *memory) {
    uint32_t count = blob->size / 4, at = 0;
    if (blob->size % 4)
        return "transfers are whole words";
    while (at < count && *memory) {
        uint32_t head[HEAD_WORDS];
        if (count - at < HEAD_WORDS)
            return "a transfer is cut off";
        memcpy(head, blob->bytes + 4 * (size_t)at, sizeof head);
        at += HEAD_WORDS;
        if (head[3] == 0 || head[3] > tiles || (count - at) / DEST_WORDS < head[3])
            return "a transfer has no destinations, too many, or is cut off";
        XchgTransfer transfer = {.source = head[0],
                                 .address = head[1],
                                 .words = head[2],
                                 .first_dest = (uint32_t)phase->dests.count,
                                 .dest_count = head[3],
                                 .stride = head[4]};
        *memory = vec_push(&phase->transfers, transfer) && vec_reserve(&phase->dests, head[3]);
        if (!*memory)
            break;
        _Static_assert(sizeof(XchgDest) == 4 * DEST_WORDS, "tile and address");
        memcpy(phase->dests.items + phase->dests.count, blob->bytes + 4 * (size_t)at,
               head[3] * sizeof(XchgDest));
        phase->dests.count += head[3];
        at += DEST_WORDS * head[3];
    }
    return NULL;
}

Status package_phase_transfers(const Package *package, uint32_t phase, XchgPhase *transfers,
                               Diag *diag) {
    const PackagePhase *from = &package->phases.items[phase];
    *transfers = (XchgPhase){.name = from->name};
    DiagPlace place = {.tile = -1, .object = from->name};
    uint32_t first, count;
    FIRST_OF_PHASE(package->transfers, phase, first, count);
    const char *what = NULL;
    bool memory = true;
    for (uint32_t i = first; i < first + count && !what && memory; i++)
        what = read_part(&package->blobs.items[package->transfers.items[i].blob],
                         package->tile_count, transfers, &memory);
    if (!memory)
        return diag_error(diag, ERR_NO_MEMORY, place, "the transfers of an exchange");
    if (!what && transfers->transfers.count != from->transfers)
        what = "there are not as many transfers as told";
    return what ? diag_error(diag, ERR_PACK_RULE, place, "%s", what) : STATUS_OK;
}

const uint8_t *package_row_bytes(const Package *package, const PackageRow *row) {
    uint32_t count, at = package_tile_segments(package, row->tile, &count);
    while (package->segments.items[at].address + package->segments.items[at].size <= row->address)
        at++;
    const PackageSegment *segment = &package->segments.items[at];
    return package->blobs.items[segment->blob].bytes + (row->address - segment->address);
}

/* Adds what a row sends; false without memory. */
static bool add_messages(const Package *package, const PackageRow *row, PackageExchange *summary) {
    uint32_t messages, paired, *words = mem_alloc(row->size / 4, sizeof *words);
    if (!words)
        return false;
    memcpy(words, package_row_bytes(package, row), row->size);
    bool memory = xchg_row_messages(words, row->size / 4, &messages, &paired);
    summary->messages += messages;
    summary->paired += paired;
    mem_free(words);
    return memory;
}

Status package_phase_summary(const Package *package, uint32_t phase, PackageExchange *summary,
                             Diag *diag) {
    const PackagePhase *from = &package->phases.items[phase];
    *summary = (PackageExchange){.name = from->name,
                                 .horizon = from->horizon,
                                 .bound = from->bound,
                                 .transfers = from->transfers};
    uint32_t first = package_phase_rows(package, phase, &summary->rows);
    for (uint32_t i = first; i < first + summary->rows; i++) {
        summary->row_bytes += package->rows.items[i].size;
        summary->max_row_bytes = MAX_OF(summary->max_row_bytes, package->rows.items[i].size);
        if (!add_messages(package, &package->rows.items[i], summary))
            return diag_error(diag, ERR_NO_MEMORY, (DiagPlace){.tile = -1, .object = from->name},
                              "the messages of an exchange");
    }
    XchgPhase transfers;
    Status status = package_phase_transfers(package, phase, &transfers, diag);
    for (size_t i = 0; i < transfers.transfers.count; i++) {
        summary->words_sent += transfers.transfers.items[i].words;
        summary->words_received +=
            (uint64_t)transfers.transfers.items[i].words * transfers.transfers.items[i].dest_count;
    }
    xchg_phase_free(&transfers);
    return status;
}
