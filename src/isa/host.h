/* Packets of the host exchange: the two header words with which a tile asks for bytes of the host
 * or sends it some, as ipu-stack found them on hardware. Programs move host data by the package's
 * bindings; these are the words that a driver of the card puts in their place. Tile ids are
 * physical. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    ISA_HOST_PAGE = 4096,      /* a packet stays inside one */
    ISA_HOST_LONG = 64,        /* unit of long packets, whose host offset is a multiple of it */
    ISA_HOST_PIECE = 32,       /* of what is not aligned */
    ISA_HOST_SHORT_MOST = 60,  /* bytes of a short packet, in words */
    ISA_HOST_READ_MOST = 1024, /* host to tile */
    ISA_HOST_WRITE_MOST = 256, /* tile to host */
};

typedef struct IsaHostPacket {
    bool read; /* host to tile */
    bool last; /* ends a stream of reads */
    uint32_t tile, host_offset, bytes;
    uint32_t address; /* reads: where the bytes go, in the host window, a multiple of 32 */
} IsaHostPacket;

/* False if no header says it: a length or an offset that is no multiple of its unit, too long,
 * across a page, an address outside the window. Zero bytes are a read that only closes. */
bool isa_host_encode(const IsaHostPacket *packet, uint32_t words[2]);
/* False if the words are no header of a read or a write. */
bool isa_host_decode(const uint32_t words[2], IsaHostPacket *packet);

/* Bytes of the first packet of `bytes` whole words at a host offset. */
uint32_t isa_host_first(uint32_t host_offset, uint32_t bytes, bool read);

/* What a tile selects to hear the host, the tile that asks the host on its behalf, and the request
 * bitmap that names it. */
uint32_t isa_host_mux(uint32_t tile);
uint32_t isa_host_controller(uint32_t tile);
void isa_host_bitmap(uint32_t tile, uint32_t words[2]);
