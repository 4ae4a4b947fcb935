/* Where a context is in its program: granules of decoded code, jumps, repeats. */
#include "sim/internal.h"

_Static_assert(CHIP_BUNDLE_ALIGN == 4, "bundles may begin at any word");

static const Packet go_packet = {.shape = SHAPE_GO};

void context_start(Context *context, uint32_t entry) {
    context->repeats = 0;
    context->repeat_begin_packet = context->repeat_end_packet = NULL;
    context_jump(context, entry);
}

static uint32_t packet_address(const Context *context, const Packet *packet) {
    return (context->granule << GRANULE_BITS) + 4 * (uint32_t)(packet - context->code->packet);
}

uint32_t context_pc(const Context *context) {
    if (context->tile->lockstep)
        return packet_address(context, lockstep_packet(context));
    if (context->current == context->straddle)
        return context->straddle_address;
    return context->current ? packet_address(context, context->current) : context->current_address;
}

uint32_t context_next_pc(const Context *context) {
    return context->packet->shape == SHAPE_GO ? context->target
                                              : packet_address(context, context->packet);
}

void context_jump(Context *context, uint32_t target) {
    if (target >> GRANULE_BITS == context->granule && target % 4 == 0) {
        context->packet = &context->code->packet[target % GRANULE_BYTES / 4];
        return;
    }
    context->target = target;
    context->packet = &go_packet;
}

void context_forget_code(Context *context) {
    if (!context->packet)
        return;
    context->target = context_next_pc(context);
    if (context->current && context->current != context->straddle) {
        context->current_address = packet_address(context, context->current);
        context->current = NULL;
    }
    context->packet = &go_packet;
    context->granule = NO_GRANULE;
    context->code = NULL;
    context->repeat_begin_packet = context->repeat_end_packet = NULL;
    /* In the midst of a body's last bundle: only the packets would have told that it ends here. */
    if (context->repeats > 0 && context->target == context->repeat_end)
        context_end_of_body(context);
}

/* Repeats -------------------------------------------------------------------------------------*/

/* The body's borders as packets of the present granule. The end may be the packet behind the last,
 * so that a body which ends with its granule is left before the next one is entered. */
static void find_repeat(Context *context) {
    context->repeat_begin_packet = context->repeat_end_packet = NULL;
    if (context->repeats == 0)
        return;
    uint32_t base = context->granule << GRANULE_BITS;
    if (context->repeat_first - base < GRANULE_BYTES)
        context->repeat_begin_packet = &context->code->packet[(context->repeat_first - base) / 4];
    if (context->repeat_end - base - 1 < GRANULE_BYTES)
        context->repeat_end_packet = &context->code->packet[(context->repeat_end - base) / 4];
}

void context_repeat(Context *context, uint32_t count, uint32_t bundles) {
    uint32_t first = context_next_pc(context), end = first + 8 * bundles;
    if (count == 0) {
        context_jump(context, end);
        return;
    }
    context->repeats = count;
    context->repeat_first = first;
    context->repeat_end = end;
    if (context->packet->shape != SHAPE_GO)
        find_repeat(context);
}

void context_end_of_body(Context *context) {
    if (--context->repeats == 0)
        context->repeat_begin_packet = context->repeat_end_packet = NULL;
    else if (context->repeat_begin_packet)
        context->packet = context->repeat_begin_packet;
    else
        context_jump(context, context->repeat_first);
}

/* Resolving packets ----------------------------------------------------------------------------*/

static bool executable(Context *context, uint32_t address) {
    if (address % 4 == 0 && address >= CHIP_TILE_MEM_BASE && address < CHIP_REGION1_BASE)
        return true;
    trap_raise(context, ERR_SIM_NOT_EXECUTABLE, address,
               "fetches from 0x%05X; code lies at multiples of 4 in 0x%05X..0x%05X", address,
               CHIP_TILE_MEM_BASE, CHIP_REGION1_BASE - 1);
    return false;
}

static Granule *code_at(Context *context, uint32_t address) {
    Granule *code = memory_code(context->tile, address);
    if (!code)
        trap_raise(context, ERR_NO_MEMORY, 0, "no memory left on the host for decoded code");
    return code;
}

static bool enter(Context *context, uint32_t address) {
    context->current = NULL;
    context->current_address = address;
    if (!executable(context, address))
        return false;
    Granule *code = code_at(context, address);
    if (!code)
        return false;
    context->code = code;
    context->granule = address >> GRANULE_BITS;
    context->packet = &code->packet[address % GRANULE_BYTES / 4];
    find_repeat(context);
    return true;
}

/* A bundle on the border of two pages; decoded once as long as no code changes. */
static bool straddle(Context *context) {
    Tile *tile = context->tile;
    uint32_t address = packet_address(context, context->packet);
    if (context->straddle_address != address || context->straddle_version != tile->code_version) {
        /* Entering its second half traps where nothing can be executed, and has stores watched. */
        if (!executable(context, address + 4) || !code_at(context, address + 4))
            return false;
        uint32_t words[2];
        memory_copy_out(tile, address, words, sizeof words);
        decode_packet(&context->straddle[0], words, 2);
        context->straddle[0].advance = 1;
        context->straddle[1].shape = SHAPE_GO;
        context->straddle_address = address;
        context->straddle_version = tile->code_version;
    }
    context->target = address + 8;
    context->packet = &context->straddle[0];
    return true;
}

static void raise_invalid(Context *context, const Packet *packet) {
    uint32_t words[2] = {0}, address = context_pc(context);
    memory_copy_out(context->tile, address, words, memory_holds(address, 8) ? 8 : 4);
    if (packet->shape == SHAPE_SUPERVISOR)
        trap_raise(context, ERR_SIM_MODE, 0, "a worker executes a supervisor instruction");
    else if (packet->main.imm == ERR_SIM_WRITE_OVERLAP)
        trap_raise(context, ERR_SIM_WRITE_OVERLAP, 0,
                   "both halves of the bundle write one register");
    else
        trap_raise(context, ERR_SIM_WORD, 0, "0x%08X (next 0x%08X) is no instruction", words[0],
                   words[1]);
}

/* Decodes again a packet of the tile's own page. */
static void decode_again(Context *context, const Packet *packet) {
    uint32_t address = packet_address(context, packet);
    uint32_t offset = (address - CHIP_TILE_MEM_BASE) % PAGE_BYTES;
    const uint32_t *words = (const uint32_t *)memory_at(context->tile, address - offset);
    Packet *own = &context->code->packet[packet - context->code->packet];
    decode_packet(own, words + offset / 4, (PAGE_BYTES - offset) / 4);
}

const Packet *context_resolve(Context *context) {
    for (;;) {
        const Packet *packet = context->packet;
        switch ((Shape)packet->shape) {
        case SHAPE_GO:
            if (!enter(context, context->target))
                return NULL;
            break;
        case SHAPE_END:
            if (!enter(context, packet_address(context, packet)))
                return NULL;
            break;
        case SHAPE_UNDECODED: decode_again(context, packet); break;
        case SHAPE_STRADDLE:
            if (!straddle(context))
                return NULL;
            break;
        case SHAPE_INVALID:
            context->current = packet;
            raise_invalid(context, packet);
            return NULL;
        case SHAPE_SUPERVISOR:
            if (context->index == SUPERVISOR)
                return packet;
            context->current = packet;
            raise_invalid(context, packet);
            return NULL;
        case SHAPE_MAIN:
        case SHAPE_AUX:
        case SHAPE_MAIN_AUX:
        case SHAPE_AUX_MAIN:
        case SHAPE_CROSSED: return packet;
        }
    }
}
