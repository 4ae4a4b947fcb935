/* Tile memory by pages. A page that several tiles hold with equal bytes is kept once and never
 * changes; a tile that stores into one gets a copy of its own. Decoded code hangs on its page. */
#include "sim/internal.h"

#include <xxhash.h>

/* Pages ----------------------------------------------------------------------------------------*/

static void page_free(Page *page) {
    for (unsigned g = 0; g < PAGE_GRANULES; g++)
        mem_free(atomic_load_explicit(&page->code[g], memory_order_relaxed));
    mem_free(page);
}

static bool page_has_code(Page *page) {
    for (unsigned g = 0; g < PAGE_GRANULES; g++)
        if (atomic_load_explicit(&page->code[g], memory_order_acquire))
            return true;
    return false;
}

/* Gives up one reference to a shared page; Machine.mutex is held. */
static void page_release(Machine *machine, Page *page) {
    if (page == machine->zero || --page->references > 0)
        return;
    Page **link = &machine->bucket[page->hash % PAGE_BUCKETS];
    while (*link != page)
        link = &(*link)->next;
    *link = page->next;
    page->next = machine->released;
    machine->released = page;
}

/* The shared page that holds these bytes, with one more reference; NULL without memory. */
static Page *page_share(Machine *machine, const uint8_t bytes[PAGE_BYTES]) {
    uint64_t hash = XXH3_64bits(bytes, PAGE_BYTES);
    Page **bucket = &machine->bucket[hash % PAGE_BUCKETS];
    for (Page *page = *bucket; page; page = page->next) {
        if (page->hash == hash && memcmp(page->bytes, bytes, PAGE_BYTES) == 0) {
            page->references++;
            return page;
        }
    }
    Page *page = mem_alloc(1, sizeof *page);
    if (!page)
        return NULL;
    memcpy(page->bytes, bytes, PAGE_BYTES);
    page->hash = hash;
    page->references = 1;
    page->next = *bucket;
    *bucket = page;
    return page;
}

/* The tile no longer maps this shared page: none of its contexts may go on in its code. */
static void leave_code(Tile *tile, Page *page) {
    tile->code_version++;
    if (page_has_code(page))
        for (unsigned i = 0; i <= WORKERS; i++)
            context_forget_code(&tile->context[i]);
}

/* Makes page `number` the tile's own; false without memory. */
static bool page_own(Tile *tile, uint32_t number) {
    Page *old = tile->page[number];
    if (old->owner)
        return true;
    Page *own = mem_alloc(1, sizeof *own);
    if (!own)
        return false;
    memcpy(own->bytes, old->bytes, PAGE_BYTES);
    own->owner = tile;
    tile->page[number] = own;
    tile->writable[number] = own->bytes;
    leave_code(tile, old);
    Machine *machine = tile->machine;
    pthread_mutex_lock(&machine->mutex);
    page_release(machine, old);
    pthread_mutex_unlock(&machine->mutex);
    return true;
}

/* Code -----------------------------------------------------------------------------------------*/

static Granule *granule_decode(const Page *page, unsigned number) {
    Granule *granule = mem_alloc(1, sizeof *granule);
    if (!granule)
        return NULL;
    const uint32_t *words = (const uint32_t *)page->bytes;
    for (unsigned i = 0; i < GRANULE_WORDS; i++) {
        unsigned word = number * GRANULE_WORDS + i;
        decode_packet(&granule->packet[i], words + word, PAGE_BYTES / 4 - word);
    }
    granule->packet[GRANULE_WORDS].shape = granule->packet[GRANULE_WORDS + 1].shape = SHAPE_END;
    return granule;
}

Granule *memory_code(Tile *tile, uint32_t address) {
    uint32_t offset = address - CHIP_TILE_MEM_BASE;
    Page *page = tile->page[offset >> PAGE_BITS];
    unsigned number = offset % PAGE_BYTES / GRANULE_BYTES;
    Granule *granule = atomic_load_explicit(&page->code[number], memory_order_acquire);
    if (granule)
        return granule;
    if (page->owner) {
        page->watched = true;
        tile->writable[offset >> PAGE_BITS] = NULL;
        granule = granule_decode(page, number);
        atomic_store_explicit(&page->code[number], granule, memory_order_relaxed);
        return granule;
    }
    pthread_mutex_lock(&tile->machine->mutex);
    granule = atomic_load_explicit(&page->code[number], memory_order_relaxed);
    if (!granule) {
        granule = granule_decode(page, number);
        atomic_store_explicit(&page->code[number], granule, memory_order_release);
    }
    pthread_mutex_unlock(&tile->machine->mutex);
    return granule;
}

/* A word that changed is decoded again when it is next executed, and so is a bundle that begins one
 * word before; every repeat whose body may hold the word is checked again. */
static void code_changed(Tile *tile, Page *page, uint32_t offset, size_t size) {
    enum { REACH = 2 * 256 + 2 }; /* words from an rpt to the last word of its body */
    tile->code_version++;
    unsigned first = offset / 4, last = (unsigned)((offset + size - 1) / 4);
    unsigned begin = first > REACH ? first - REACH : 0;
    for (unsigned word = begin; word <= last; word++) {
        Granule *granule =
            atomic_load_explicit(&page->code[word / GRANULE_WORDS], memory_order_relaxed);
        if (!granule) {
            word |= GRANULE_WORDS - 1;
            continue;
        }
        Packet *packet = &granule->packet[word % GRANULE_WORDS];
        packet->flags &= (uint8_t)~PACKET_BODY_LEGAL;
        if (word + 1 >= first)
            packet->shape = SHAPE_UNDECODED;
    }
}

/* Copies ---------------------------------------------------------------------------------------*/

void memory_copy_out(const Tile *tile, uint32_t address, void *bytes, size_t size) {
    uint8_t *to = bytes;
    while (size > 0) {
        uint32_t within = (address - CHIP_TILE_MEM_BASE) % PAGE_BYTES;
        size_t part = MIN_OF(size, (size_t)(PAGE_BYTES - within));
        memcpy(to, memory_at(tile, address), part);
        address += (uint32_t)part;
        to += part;
        size -= part;
    }
}

bool memory_copy_in(Tile *tile, uint32_t address, const void *bytes, size_t size) {
    const uint8_t *from = bytes;
    while (size > 0) {
        uint32_t offset = address - CHIP_TILE_MEM_BASE, within = offset % PAGE_BYTES;
        size_t part = MIN_OF(size, (size_t)(PAGE_BYTES - within));
        if (!page_own(tile, offset >> PAGE_BITS))
            return false;
        Page *page = tile->page[offset >> PAGE_BITS];
        memcpy(page->bytes + within, from, part);
        if (page->watched)
            code_changed(tile, page, within, part);
        address += (uint32_t)part;
        from += part;
        size -= part;
    }
    return true;
}

bool memory_move(Tile *to, uint32_t to_address, const Tile *from, uint32_t address, size_t size) {
    while (size > 0) {
        uint32_t within = (address - CHIP_TILE_MEM_BASE) % PAGE_BYTES;
        size_t part = MIN_OF(size, (size_t)(PAGE_BYTES - within));
        if (!memory_copy_in(to, to_address, memory_at(from, address), part))
            return false;
        address += (uint32_t)part;
        to_address += (uint32_t)part;
        size -= part;
    }
    return true;
}

bool memory_load(Tile *tile, uint32_t address, const void *bytes, size_t size) {
    Machine *machine = tile->machine;
    const uint8_t *from = bytes;
    while (size > 0) {
        uint32_t offset = address - CHIP_TILE_MEM_BASE, within = offset % PAGE_BYTES;
        size_t part = MIN_OF(size, (size_t)(PAGE_BYTES - within));
        Page *old = tile->page[offset >> PAGE_BITS];
        if (old->owner) {
            if (!memory_copy_in(tile, address, from, part))
                return false;
        } else {
            _Alignas(16) uint8_t image[PAGE_BYTES];
            memcpy(image, old->bytes, PAGE_BYTES);
            memcpy(image + within, from, part);
            pthread_mutex_lock(&machine->mutex);
            Page *page = page_share(machine, image);
            if (page && page != old)
                leave_code(tile, old);
            if (page) {
                page_release(machine, old);
                tile->page[offset >> PAGE_BITS] = page;
            }
            pthread_mutex_unlock(&machine->mutex);
            if (!page)
                return false;
        }
        address += (uint32_t)part;
        from += part;
        size -= part;
    }
    return true;
}

/* Life -----------------------------------------------------------------------------------------*/

Status memory_init(Machine *machine) {
    machine->zero = mem_alloc(1, sizeof *machine->zero);
    return machine->zero ? STATUS_OK : ERR_NO_MEMORY;
}

void memory_init_tile(Machine *machine, Tile *tile) {
    tile->machine = machine;
    for (unsigned i = 0; i < PAGE_COUNT; i++)
        tile->page[i] = machine->zero;
}

void memory_free_tile(Tile *tile) {
    for (unsigned i = 0; i < PAGE_COUNT; i++)
        if (tile->page[i] && tile->page[i]->owner)
            page_free(tile->page[i]);
}

void memory_sweep(Machine *machine) {
    while (machine->released) {
        Page *page = machine->released;
        machine->released = page->next;
        page_free(page);
    }
}

void memory_free(Machine *machine) {
    memory_sweep(machine);
    for (unsigned i = 0; i < PAGE_BUCKETS; i++) {
        while (machine->bucket[i]) {
            Page *page = machine->bucket[i];
            machine->bucket[i] = page->next;
            page_free(page);
        }
    }
    if (machine->zero)
        page_free(machine->zero);
}

static uint64_t page_size(Page *page) {
    uint64_t size = sizeof *page;
    for (unsigned g = 0; g < PAGE_GRANULES; g++)
        if (atomic_load_explicit(&page->code[g], memory_order_relaxed))
            size += sizeof(Granule);
    return size;
}

uint64_t machine_memory_bytes(const Machine *machine) {
    uint64_t size = page_size(machine->zero);
    for (unsigned i = 0; i < PAGE_BUCKETS; i++)
        for (Page *page = machine->bucket[i]; page; page = page->next)
            size += page_size(page);
    for (Page *page = machine->released; page; page = page->next)
        size += page_size(page);
    for (uint32_t t = 0; t < machine->tile_count; t++)
        for (unsigned i = 0; i < PAGE_COUNT; i++)
            if (machine->tiles[t].page[i]->owner)
                size += page_size(machine->tiles[t].page[i]);
    return size;
}
