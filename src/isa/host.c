#include "isa/host.h"

#include "base/mem.h"
#include "chip/chip.h"

/* Formats, bits 31…29 of the first word. */
enum { SHORT_WRITE = 4, LONG_WRITE = 5, SHORT_READ = 6, LONG_READ = 7 };

enum { WORD = 4, WINDOW_UNIT = 32, LENGTHS = 16, COLUMN_BITS = 0x3F, BITMAP_BITS = 24 };
static const uint32_t LAST = 3u << 26, READ = 1u << 9, WINDOW_UNITS = 0x1FF;

bool isa_host_encode(const IsaHostPacket *packet, uint32_t words[2]) {
    bool is_long = packet->bytes > ISA_HOST_SHORT_MOST;
    uint32_t unit = is_long ? ISA_HOST_LONG : WORD, length = packet->bytes / unit;
    uint32_t most = packet->read ? ISA_HOST_READ_MOST : ISA_HOST_WRITE_MOST;
    uint32_t window = packet->address - CHIP_HOST_WINDOW_BASE;
    if (packet->tile >= CHIP_TILES || packet->bytes % unit || packet->host_offset % unit ||
        packet->bytes > most || packet->host_offset >= 1u << 27 ||
        packet->host_offset % ISA_HOST_PAGE + packet->bytes > ISA_HOST_PAGE)
        return false;
    if (packet->read ? packet->address % WINDOW_UNIT || window / WINDOW_UNIT > WINDOW_UNITS
                     : packet->bytes == 0 || packet->last)
        return false;
    uint32_t format = is_long ? LONG_WRITE : SHORT_WRITE;
    words[0] = packet->tile >> 1 << 16 | (packet->tile & 1) << 15;
    if (packet->read) {
        format += SHORT_READ - SHORT_WRITE;
        words[0] |= (packet->last ? LAST : 0) | READ | window / WINDOW_UNIT;
    }
    words[0] |= format << 29;
    words[1] = (packet->tile & 1) << 31 | packet->host_offset / unit << 4 | length % LENGTHS;
    return true;
}

bool isa_host_decode(const uint32_t words[2], IsaHostPacket *packet) {
    uint32_t format = words[0] >> 29, length = words[1] % LENGTHS;
    bool is_long = format == LONG_WRITE || format == LONG_READ;
    uint32_t unit = is_long ? ISA_HOST_LONG : WORD;
    *packet = (IsaHostPacket){.read = format >= SHORT_READ,
                              .last = (words[0] & LAST) == LAST,
                              .tile = (words[0] >> 16 & 0x3FF) << 1 | words[1] >> 31,
                              .host_offset = (words[1] >> 4 & 0x7FFFFFF) * unit,
                              .bytes = (is_long && length == 0 ? LENGTHS : length) * unit};
    if (packet->read)
        packet->address = CHIP_HOST_WINDOW_BASE + (words[0] & WINDOW_UNITS) * WINDOW_UNIT;
    uint32_t again[2];
    return format >= SHORT_WRITE && isa_host_encode(packet, again) && again[0] == words[0] &&
           again[1] == words[1];
}

uint32_t isa_host_first(uint32_t host_offset, uint32_t bytes, bool read) {
    uint32_t most = read ? ISA_HOST_READ_MOST : ISA_HOST_WRITE_MOST;
    bytes = MIN_OF(bytes, ISA_HOST_PAGE - host_offset % ISA_HOST_PAGE);
    if (bytes <= ISA_HOST_SHORT_MOST)
        return bytes;
    if (host_offset % ISA_HOST_LONG)
        return ISA_HOST_PIECE;
    return MIN_OF(bytes / ISA_HOST_LONG * ISA_HOST_LONG, most);
}

uint32_t isa_host_mux(uint32_t tile) {
    return CHIP_MUX_HOST + (tile & COLUMN_BITS & ~2u);
}

uint32_t isa_host_controller(uint32_t tile) {
    return tile & COLUMN_BITS & ~2u;
}

void isa_host_bitmap(uint32_t tile, uint32_t words[2]) {
    uint32_t index = tile / (COLUMN_BITS + 1) * 2 + (tile >> 1 & 1), word = index / BITMAP_BITS;
    words[word] = 1u << index % BITMAP_BITS;
    words[1 - word] = 0;
}
