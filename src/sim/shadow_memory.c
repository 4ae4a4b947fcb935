/* The shadow of tile memory: which bytes were written, and by whom. */
#include "sim/shadow.h"

struct Shadow *shadow_create(void) {
    return mem_alloc(1, sizeof(struct Shadow));
}

void shadow_free(struct Shadow *shadow) {
    if (!shadow)
        return;
    for (unsigned i = 0; i < PAGE_COUNT; i++) {
        if (shadow->page[i])
            mem_free(shadow->page[i]->words);
        mem_free(shadow->page[i]);
    }
    mem_free(shadow);
}

void shadow_start(Tile *tile) {
    struct Shadow *shadow = tile->shadow;
    const Origin origin = {.cause = CAUSE_REGISTER};
    const bool used = tile->machine->options.checks & MACHINE_CHECK_UNWRITTEN;
    const uint32_t bad = used ? UINT32_MAX : 0;
    for (unsigned i = 0; i <= WORKERS; i++) {
        ShadowContext *context = &shadow->context[i];
        memset(context, 0, sizeof *context);
        for (unsigned r = 0; r < 12; r++) {
            context->bad.m[r] = bad;
            context->main[r] = origin;
        }
        for (unsigned r = 0; r < 8; r++) {
            context->bad.a[r] = bad;
            context->aux[r] = origin;
        }
        context->compute = context->shift = (uint16_t)bad;
        for (unsigned u = 0; u < AMP_CHANNELS; u++)
            context->compute_origin[u] = context->shift_origin[u] = origin;
        context->tas = bad;
        context->tas_origin = origin;
    }
    for (unsigned i = 0; i < COUNT_OF(shadow->weights); i++) {
        shadow->weights[i] = used ? UINT64_MAX : 0;
        shadow->weight_origin[i] = origin;
    }
    memset(shadow->known, 0, sizeof shadow->known);
    shadow->launch = shadow->weights_changed = shadow->weights_used = 0;
    shadow->open = false;
    if (shadow->call_count) /* no call runs */
        shadow->operand_count = shadow->return_pc = 0;
    /* Launches are counted anew. */
    for (unsigned i = 0; i < PAGE_COUNT; i++) {
        ShadowWord *words = shadow->page[i] ? shadow->page[i]->words : NULL;
        for (unsigned w = 0; words && w < PAGE_BYTES / 4; w++)
            words[w].launch = words[w].reader = 0;
    }
}

static ShadowPage *page_at(Tile *tile, uint32_t address) {
    ShadowPage **page = &tile->shadow->page[(address - CHIP_TILE_MEM_BASE) >> PAGE_BITS];
    if (!*page)
        *page = mem_alloc(1, sizeof **page);
    return *page;
}

ShadowWord *shadow_words(Tile *tile, uint32_t address) {
    ShadowPage *page = page_at(tile, address);
    if (page && !page->words)
        page->words = mem_alloc(PAGE_BYTES / 4, sizeof *page->words);
    return page ? page->words : NULL;
}

static uint32_t within(uint32_t address) {
    return (address - CHIP_TILE_MEM_BASE) % PAGE_BYTES;
}

uint32_t shadow_bytes_written(const Tile *tile, uint32_t address, uint32_t size) {
    const ShadowPage *page = tile->shadow->page[(address - CHIP_TILE_MEM_BASE) >> PAGE_BITS];
    if (!page)
        return 0;
    uint32_t offset = within(address), bits = page->written[offset / 8];
    if (size > 8)
        bits |= (uint32_t)page->written[offset / 8 + 1] << 8;
    return bits >> offset % 8 & ((1u << size) - 1);
}

static void set_written(uint8_t *written, uint32_t offset, uint32_t size, bool value) {
    for (uint32_t end = offset + size; offset < end;) {
        uint32_t part = MIN_OF(8 - offset % 8, end - offset);
        uint8_t mask = (uint8_t)(((1u << part) - 1) << offset % 8);
        if (value)
            written[offset / 8] |= mask;
        else
            written[offset / 8] &= (uint8_t)~mask;
        offset += part;
    }
}

bool shadow_written(Tile *tile, uint32_t address, size_t size, Writer writer) {
    while (size > 0) {
        uint32_t offset = within(address);
        uint32_t part = (uint32_t)MIN_OF(size, (size_t)(PAGE_BYTES - offset));
        ShadowPage *page = page_at(tile, address);
        if (!page)
            return false;
        set_written(page->written, offset, part, true);
        for (uint32_t w = offset / 4; page->words && w <= (offset + part - 1) / 4; w++)
            page->words[w] = (ShadowWord){.writer = writer};
        address += part;
        size -= part;
    }
    return true;
}

void shadow_set_written(Tile *tile, uint32_t address, uint32_t size) {
    ShadowPage *page = page_at(tile, address);
    set_written(page->written, within(address), size, true);
}

bool shadow_moved(Tile *to, uint32_t to_address, const Tile *from, uint32_t address, size_t size) {
    Writer writer = writer_of(MACHINE_EXCHANGE, from->index);
    for (size_t done = 0; done < size; done += 4) {
        uint32_t target = to_address + (uint32_t)done;
        bool good = shadow_bytes_written(from, address + (uint32_t)done, 4) == 15;
        ShadowWord *words = shadow_words(to, target);
        if (!words)
            return false;
        set_written(page_at(to, target)->written, within(target), 4, good);
        words[within(target) / 4] = (ShadowWord){.writer = writer};
    }
    return true;
}
