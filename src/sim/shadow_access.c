/* The shadow of accesses: what loads bring, what stores may do, and the traps of all checks. */
#include "sim/shadow.h"

#include <stdio.h>

/* ---- traps ---------------------------------------------------------------------------------- */

/* Completes the trap just raised, unless an earlier one stays. */
static void name_writer(const Step *s, Writer writer, uint32_t read_pc) {
    MachineTrap *trap = &s->context->tile->trap;
    if (trap->writer != MACHINE_NONE)
        return;
    if (writer) {
        trap->writer = (writer >> CHIP_ADDRESS_BITS) - 1;
        trap->writer_pc = writer & WRITER_PLACE;
    }
    trap->read_pc = read_pc;
}

static Status code_of(Cause cause) {
    switch (cause) {
    case CAUSE_UNWRITTEN:
    case CAUSE_REGISTER: return ERR_SIM_UNWRITTEN;
    case CAUSE_TAIL: return ERR_SIM_OUTSIDE;
    case CAUSE_WORKER: return ERR_SIM_RACE;
    case CAUSE_SUPERVISOR: return ERR_SIM_RACE_SUPERVISOR;
    case CAUSE_NAN: return ERR_SIM_NAN;
    }
    return ERR_SIM_UNWRITTEN;
}

static const char *story_of(Cause cause) {
    switch (cause) {
    case CAUSE_UNWRITTEN: return "was never written";
    case CAUSE_TAIL: return "lies in the tail of an operand";
    case CAUSE_WORKER: return "another worker of the launch stores";
    case CAUSE_SUPERVISOR: return "the supervisor and a running worker share";
    case CAUSE_NAN: return "holds a NaN, a matrix operand";
    case CAUSE_REGISTER: break;
    }
    return "";
}

static uint32_t writer_context(Writer writer) {
    return (writer >> CHIP_ADDRESS_BITS) - 1;
}

/* Who wrote last to a byte of memory. An exchange may have brought what was never written. */
static Writer last_writer(const Step *s, uint32_t address) {
    uint32_t offset = (address - CHIP_TILE_MEM_BASE) % PAGE_BYTES;
    if (!chip_address_ok(address))
        return 0;
    const ShadowPage *page = s->tile->page[(address - CHIP_TILE_MEM_BASE) >> PAGE_BITS];
    Writer writer = page && page->words ? page->words[offset / 4].writer : 0;
    if (!shadow_bytes_written(s->context->tile, address, 1))
        return writer_context(writer) == MACHINE_EXCHANGE ? writer : 0;
    return writer ? writer : writer_of(MACHINE_HOST, 0);
}

void shadow_raise(const Step *s, const Origin *origin, const char *deed) {
    Status code = code_of(origin->cause);
    if (origin->cause == CAUSE_REGISTER)
        trap_raise(s->context, code, 0, "%s a value that rests on a register never written", deed);
    else if (origin->cause == CAUSE_NAN && origin->address == 0)
        trap_raise(s->context, code, 0, "%s a value that rests on a NaN, a matrix operand", deed);
    else if (origin->cause == CAUSE_SUPERVISOR && origin->address == 0)
        trap_raise(s->context, code, 0,
                   "%s a value that rests on weights which the supervisor changed meanwhile", deed);
    else
        trap_raise(s->context, code, origin->address, "%s a value that rests on 0x%05X, which %s",
                   deed, origin->address, story_of(origin->cause));
    name_writer(s, origin->writer ? origin->writer : last_writer(s, origin->address),
                origin->pc ? origin->pc : MACHINE_NONE);
}

/* ---- memory --------------------------------------------------------------------------------- */

static bool is_sound(uint32_t address, uint32_t size) {
    return chip_address_ok(address) && address % size == 0;
}

/* Bytes of the access that no operand holds; with tails. */
static uint32_t bytes_outside(const Step *s, uint32_t address, uint32_t size, bool tails,
                              bool stored) {
    uint32_t left = (1u << size) - 1;
    for (uint32_t k = 0; k < s->tile->operand_count && left; k++) {
        const MachineOperand *o = &s->tile->operands[k];
        uint32_t end = o->address + o->size + (tails ? o->tail : 0);
        for (uint32_t i = 0; i < size && !(stored && !o->stored); i++)
            if (address + i >= o->address && address + i < end)
                left &= ~(1u << i);
    }
    return left;
}

static const MachineOperand *nearest_operand(const Step *s, uint32_t address) {
    const MachineOperand *nearest = s->tile->operands;
    uint32_t least = UINT32_MAX;
    for (uint32_t k = 0; k < s->tile->operand_count; k++) {
        const MachineOperand *o = &s->tile->operands[k];
        uint32_t end = o->address + o->size + o->tail;
        uint32_t distance = address < o->address ? o->address - address
                            : address >= end     ? address - end
                                                 : 0;
        if (distance < least) {
            nearest = o;
            least = distance;
        }
    }
    return nearest;
}

static void raise_outside(const Step *s, uint32_t address, uint32_t size, bool stored) {
    const MachineOperand *o = nearest_operand(s, address);
    uint32_t end = o->address + o->size;
    trap_raise(s->context, ERR_SIM_OUTSIDE, address,
               "%s %u bytes at 0x%05X, outside its operands; the nearest, %s, is "
               "0x%05X..0x%05X and a tail of %u",
               stored ? "stores" : "loads", size, address, o->name, o->address, end - 1, o->tail);
    name_writer(s, last_writer(s, address), MACHINE_NONE);
}

static bool operands_matter(const Step *s) {
    return shadow_checks(s) & MACHINE_CHECK_OPERANDS && s->tile->operand_count > 0;
}

/* False if the load is outside. *tail: bytes that only a tail holds. */
static bool may_load(const Step *s, uint32_t address, uint32_t size, uint32_t *tail) {
    *tail = operands_matter(s) ? bytes_outside(s, address, size, false, false) : 0;
    uint32_t outside = *tail ? bytes_outside(s, address, size, true, false) : 0;
    if (!outside)
        return true;
    raise_outside(s, address + (uint32_t)__builtin_ctz(outside), size, false);
    return false;
}

/* A word of which some bytes are to change is loaded, changed in part and stored: the chip cannot
 * store less. Do `bytes`, not all of them, stay as they are? */
static bool stay(const Step *s, uint32_t address, uint32_t value, uint32_t bytes) {
    uint32_t old, mask = 0;
    memcpy(&old, memory_at(s->context->tile, address), 4);
    for (uint32_t i = 0; i < 4; i++)
        mask |= bytes >> i & 1 ? 0xFFu << 8 * i : 0;
    return bytes != 15 && ((old ^ value) & mask) == 0;
}

static bool may_store_there(const Step *s, uint32_t address, uint32_t value) {
    uint32_t outside = operands_matter(s) ? bytes_outside(s, address, 4, false, true) : 0;
    if (!outside || stay(s, address, value, outside))
        return true;
    raise_outside(s, address + (uint32_t)__builtin_ctz(outside), 4, true);
    return false;
}

/* Is the value fit to be stored? *keep: bytes that stay what they are, unwritten or not. */
static bool may_store_value(const Step *s, uint32_t address, bool aux, unsigned number,
                            uint32_t value, uint32_t *keep) {
    uint32_t bits = aux ? shadow_bad_aux(s, number) : shadow_bad_main(s, number);
    *keep = 0;
    if (!bits)
        return true;
    const Origin *origin = aux ? &s->shadow->aux[number & 7] : &s->shadow->main[number];
    for (uint32_t i = 0; i < 4; i++)
        *keep |= (bits >> 8 * i & 0xFF ? 1u : 0u) << i;
    if ((origin->cause == CAUSE_UNWRITTEN || origin->cause == CAUSE_TAIL) &&
        origin->address / 4 == address / 4 && stay(s, address, value, *keep))
        return true;
    shadow_raise(s, origin, "stores");
    return false;
}

static ShadowWord *words_of(const Step *s, uint32_t address) {
    ShadowWord *words = shadow_words(s->context->tile, address);
    if (!words)
        trap_raise(s->context, ERR_NO_MEMORY, 0, "no memory left on the host for checks");
    return words;
}

/* Whether the word was stored by one who runs at the same time. */
static bool word_is_shared(const Step *s, const ShadowWord *word, Cause *cause) {
    if (word->launch == 0 || word->launch != s->tile->launch ||
        writer_context(word->writer) == s->context->index)
        return false;
    if (!shadow_is_worker(s) && !s->tile->open)
        return false;
    *cause = shadow_is_worker(s) && writer_context(word->writer) < WORKERS ? CAUSE_WORKER
                                                                           : CAUSE_SUPERVISOR;
    return true;
}

static void spoil(Loaded *loaded, uint32_t address, uint32_t byte, uint32_t bytes, Cause cause,
                  Writer writer, uint32_t pc) {
    bool first = true;
    for (uint32_t i = 0; i < 4; i++)
        first &= loaded->bits[i] == 0;
    if (first)
        loaded->origin = (Origin){address + byte, pc, writer, cause};
    for (uint32_t i = 0; i < bytes; i++, byte++)
        loaded->bits[byte / 4] |= 0xFFu << 8 * (byte % 4);
}

static void look_at_words(const Step *s, uint32_t address, uint32_t size, ShadowWord *words,
                          Loaded *loaded) {
    for (uint32_t byte = 0; byte < size; byte += 4) {
        ShadowWord *word = &words[(address + byte - CHIP_TILE_MEM_BASE) % PAGE_BYTES / 4];
        Cause cause;
        if (shadow_is_worker(s))
            word->reader = s->tile->launch;
        if (shadow_checks(s) & MACHINE_CHECK_RACES && word_is_shared(s, word, &cause))
            spoil(loaded, address, byte, MIN_OF(size, 4u), cause, word->writer,
                  context_pc(s->context));
    }
}

bool shadow_read(const Step *s, uint32_t address, uint32_t size, Loaded *loaded) {
    uint32_t tail;
    *loaded = (Loaded){0};
    if (!is_sound(address, size))
        return true; /* executing it traps */
    if (!may_load(s, address, size, &tail))
        return false;
    ShadowWord *words = words_of(s, address);
    if (!words)
        return false;
    look_at_words(s, address, size, words, loaded);
    uint32_t pc = tail ? context_pc(s->context) : 0;
    for (; tail; tail &= tail - 1) {
        uint32_t byte = (uint32_t)__builtin_ctz(tail);
        spoil(loaded, address, byte, 1, CAUSE_TAIL, 0, pc);
    }
    uint32_t missing = ~shadow_bytes_written(s->context->tile, address, size) & ((1u << size) - 1);
    if (shadow_checks(s) & MACHINE_CHECK_UNWRITTEN)
        for (; missing; missing &= missing - 1)
            spoil(loaded, address, (uint32_t)__builtin_ctz(missing), 1, CAUSE_UNWRITTEN, 0,
                  context_pc(s->context));
    return true;
}

static const char *who(uint32_t context, char text[16]) {
    if (context == SUPERVISOR)
        return "the supervisor";
    snprintf(text, 16, "worker %u", context);
    return text;
}

/* A store to a word that another context stored or read in the launch. Equal values do no harm
 * between workers: whoever is last, the word is the same. */
static bool may_share(const Step *s, uint32_t address, const ShadowWord *word, uint32_t value) {
    uint32_t old = 0;
    char name[16];
    Cause cause;
    if (!(shadow_checks(s) & MACHINE_CHECK_RACES))
        return true;
    if (word_is_shared(s, word, &cause)) {
        memcpy(&old, memory_at(s->context->tile, address), 4);
        if (cause == CAUSE_WORKER && old == value)
            return true;
        trap_raise(s->context, code_of(cause), address,
                   "stores 0x%08X to 0x%05X, where %s stored 0x%08X in the same launch", value,
                   address, who(writer_context(word->writer), name), old);
        name_writer(s, word->writer, MACHINE_NONE);
        return false;
    }
    if (!shadow_is_worker(s) && s->tile->open && word->reader == s->tile->launch) {
        trap_raise(s->context, ERR_SIM_RACE_SUPERVISOR, address,
                   "stores to 0x%05X, which a worker of the running launch read", address);
        name_writer(s, last_writer(s, address), MACHINE_NONE);
        return false;
    }
    return true;
}

static bool store_word(const Step *s, uint32_t address, bool aux, unsigned number) {
    uint32_t value = aux ? s->context->a[number] : s->context->m[number], keep;
    if (!may_store_value(s, address, aux, number, value, &keep) ||
        !may_store_there(s, address, value))
        return false;
    ShadowWord *words = words_of(s, address);
    if (!words)
        return false;
    ShadowWord *word = words + (address - CHIP_TILE_MEM_BASE) % PAGE_BYTES / 4;
    if (!may_share(s, address, word, value))
        return false;
    for (uint32_t i = 0; i < 4; i++)
        if (!(keep >> i & 1))
            shadow_set_written(s->context->tile, address + i, 1);
    word->writer = writer_of(s->context->index, context_pc(s->context));
    word->launch = shadow_is_worker(s) || s->tile->open ? s->tile->launch : 0;
    return true;
}

bool shadow_store(const Step *s, uint32_t address, uint32_t size, bool aux, unsigned number) {
    if (!is_sound(address, size))
        return true;
    for (uint32_t i = 0; i < size / 4; i++)
        if (!store_word(s, address + 4 * i, aux, number + i))
            return false;
    return true;
}
