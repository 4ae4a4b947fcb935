/* Semantics of loads and stores. An access is checked for range and alignment; an instruction with
 * several accesses also for memory elements, which serve one access a cycle. */
#include "sim/pace.h"

_Static_assert(CHIP_SAME_ADDR_CONFLICT == 1, "equal addresses are in one element");
_Static_assert(CHIP_FETCH_DATA_CONFLICT == 0 && CHIP_BANK_STALL == 0, "fetches do not disturb");

/* Accesses -------------------------------------------------------------------------------------*/

static bool bad_address(Context *c, uint32_t address, uint32_t size) {
    if (!chip_address_ok(address))
        trap_raise(c, ERR_SIM_ADDRESS, address,
                   "accesses %u bytes at 0x%X; memory is 0x%05X..0x%05X", size, address,
                   CHIP_TILE_MEM_BASE, CHIP_TILE_MEM_END - 1);
    else
        trap_raise(c, ERR_SIM_MISALIGNED, address, "accesses %u bytes at 0x%05X, no multiple of %u",
                   size, address, size);
    return false;
}

/* An aligned access whose first byte exists lies in memory as a whole. */
static inline bool check(Context *c, uint32_t address, uint32_t size) {
    if (__builtin_expect(chip_address_ok(address) && (address & (size - 1)) == 0, 1))
        return true;
    return bad_address(c, address, size);
}

static inline bool load(Context *c, uint32_t address, void *value, uint32_t size) {
    if (!check(c, address, size))
        return false;
    memcpy(value, memory_at(c->tile, address), size);
    return true;
}

static void store_slowly(Context *c, uint32_t address, const void *value, uint32_t size) {
    if (c->tile->lockstep)
        lockstep_break(c);
    if (!memory_copy_in(c->tile, address, value, size))
        trap_raise(c, ERR_NO_MEMORY, address, "no memory left on the host for tile memory");
}

static inline void put_bytes(Context *c, uint32_t address, const void *value, uint32_t size) {
    uint32_t offset = address - CHIP_TILE_MEM_BASE;
    uint8_t *page = c->tile->writable[offset >> PAGE_BITS];
    if (__builtin_expect(page != NULL, 1))
        memcpy(page + (offset & (PAGE_BYTES - 1)), value, size);
    else
        store_slowly(c, address, value, size);
}

static inline bool store(Context *c, uint32_t address, const void *value, uint32_t size) {
    if (!check(c, address, size))
        return false;
    put_bytes(c, address, value, size);
    return true;
}

static bool interleaved(Context *c, uint32_t address) {
    if (chip_interleaved(address))
        return true;
    trap_raise(c, ERR_SIM_NOT_INTERLEAVED, address,
               "accesses 16 bytes at 0x%05X, below interleaved memory (0x%05X)", address,
               CHIP_REGION1_BASE);
    return false;
}

/* Both addresses are inside memory. */
static inline bool distinct(Context *c, uint32_t one, uint32_t other) {
    if (__builtin_expect(chip_element(one) != chip_element(other), 1))
        return true;
    trap_raise(c, ERR_SIM_CONFLICT, other, "accesses 0x%05X and 0x%05X, both in memory element %u",
               one, other, chip_element(one));
    return false;
}

static inline uint32_t spread16(uint32_t half) {
    return half << 16 | half;
}
static inline uint32_t spread8(uint32_t byte) {
    return byte * 0x01010101u;
}

/* What a loaded value becomes: LOAD_<kind>(c, address, register number), false after a trap.
 * ------*/

#define LOAD_WORDS(name, file, words)                                                              \
    static inline bool name(Context *c, uint32_t address, unsigned d) {                            \
        return load(c, address, &c->file[d], 4 * (words));                                         \
    }
#define LOAD_PART(name, file, type, expression)                                                    \
    static inline bool name(Context *c, uint32_t address, unsigned d) {                            \
        type value;                                                                                \
        if (!load(c, address, &value, sizeof value))                                               \
            return false;                                                                          \
        c->file[d] = (uint32_t)(expression);                                                       \
        return true;                                                                               \
    }
LOAD_WORDS(load32_m, m, 1)
LOAD_WORDS(load32_a, a, 1)
LOAD_WORDS(load64, a, 2)
LOAD_PART(loadz8, m, uint8_t, value)
LOAD_PART(loads8, m, int8_t, value)
LOAD_PART(loadz16, m, uint16_t, value)
LOAD_PART(loads16, m, int16_t, value)
LOAD_PART(loadb16, a, uint16_t, spread16(value))
LOAD_PART(loadb8, a, uint8_t, spread8(value))

static inline bool load128(Context *c, uint32_t address, unsigned d) {
    return check(c, address, 16) && interleaved(c, address) && load(c, address, &c->a[d], 16);
}

/* d, base, delta, offset: at base + delta + offset * size, offset an immediate or a register. */
#define LOAD_IMM(name, what, size)                                                                 \
    static void name(Context *c, const Half *h) {                                                  \
        what(c, c->m[h->r[1]] + c->m[h->r[2]] + (uint32_t)h->imm * (size), h->r[0]);               \
    }                                                                                              \
    GROUP(name)
#define LOAD_REG(name, what, size)                                                                 \
    static void name(Context *c, const Half *h) {                                                  \
        what(c, c->m[h->r[1]] + c->m[h->r[2]] + c->m[h->r[3]] * (size), h->r[0]);                  \
    }                                                                                              \
    GROUP(name)
/* d, base, delta, stride: at base + delta; then delta += stride * size. */
#define LOAD_STEP(name, what, size, stride)                                                        \
    static void name(Context *c, const Half *h) {                                                  \
        uint32_t delta = c->m[h->r[2]], after = delta + (stride) * (size);                         \
        uint32_t address = c->m[h->r[1]] + delta;                                                  \
        set_main(c, h->r[2], after);                                                               \
        what(c, address, h->r[0]);                                                                 \
    }                                                                                              \
    GROUP(name)
#define LOADS(name, what, size)                                                                    \
    LOAD_IMM(name##_imm, what, size)                                                               \
    LOAD_REG(name##_reg, what, size)
#define STEPS(name, what, size)                                                                    \
    LOAD_STEP(name##_step_imm, what, size, (uint32_t)h->imm)                                       \
    LOAD_STEP(name##_step_reg, what, size, c->m[h->r[3]])

LOADS(ld32_m, load32_m, 4)
LOADS(ld32_a, load32_a, 4)
LOADS(ld64, load64, 8)
LOADS(ld128, load128, 16)
LOADS(ldz8, loadz8, 1)
LOADS(lds8, loads8, 1)
LOADS(ldz16, loadz16, 2)
LOADS(lds16, loads16, 2)
LOADS(ldb16, loadb16, 2)
LOADS(ldb8, loadb8, 1)
STEPS(ld32_m, load32_m, 4)
STEPS(ld32_a, load32_a, 4)
STEPS(ld64, load64, 8)
STEPS(ld128, load128, 16)
STEPS(ldz8, loadz8, 1)
STEPS(lds8, loads8, 1)
STEPS(ldz16, loadz16, 2)
STEPS(lds16, loads16, 2)
STEPS(ldb16, loadb16, 2)

/* name_ready: whether a store can be executed without store_slowly (or traps anyhow). */
static inline bool ready(const Context *c, uint32_t address) {
    uint32_t offset = address - CHIP_TILE_MEM_BASE;
    return offset < CHIP_TILE_MEM_SIZE && c->tile->writable[offset >> PAGE_BITS];
}
#define READY(name, address)                                                                       \
    static bool name##_ready(const Context *first, const Context *end, const Half *h) {            \
        bool all = true;                                                                           \
        for (const Context *c = first; c < end; c++)                                               \
            all &= ready(c, address);                                                              \
        return all;                                                                                \
    }

/* Stores: s, base, delta, offset or stride.
 * ------------------------------------------------------*/

#define STORE(name, file, size, offset)                                                            \
    static void name(Context *c, const Half *h) {                                                  \
        store(c, c->m[h->r[1]] + c->m[h->r[2]] + (offset) * (size), &c->file[h->r[0]], size);      \
    }                                                                                              \
    GROUP(name)                                                                                    \
    READY(name, c->m[h->r[1]] + c->m[h->r[2]] + (offset) * (size))
#define STORE_STEP(name, file, size, stride)                                                       \
    static void name(Context *c, const Half *h) {                                                  \
        uint32_t delta = c->m[h->r[2]], after = delta + (stride) * (size);                         \
        if (store(c, c->m[h->r[1]] + delta, &c->file[h->r[0]], size))                              \
            set_main(c, h->r[2], after);                                                           \
    }                                                                                              \
    GROUP(name)                                                                                    \
    READY(name, c->m[h->r[1]] + c->m[h->r[2]])
STORE(st32_m, m, 4, (uint32_t)h->imm)
STORE(st32_a, a, 4, (uint32_t)h->imm)
STORE(st32_a_reg, a, 4, c->m[h->r[3]])
STORE(st64, a, 8, (uint32_t)h->imm)
STORE(st64_reg, a, 8, c->m[h->r[3]])
STORE_STEP(st32step_m, m, 4, (uint32_t)h->imm)
STORE_STEP(st32step_a, a, 4, (uint32_t)h->imm)
STORE_STEP(st32step_a_reg, a, 4, c->m[h->r[3]])
STORE_STEP(st64step, a, 8, (uint32_t)h->imm)
STORE_STEP(st64step_reg, a, 8, c->m[h->r[3]])

static void stm32(Context *c, const Half *h) {
    store(c, c->m[h->r[1]] + 4 * c->m[h->r[2]], &c->m[h->r[0]], 4);
}
GROUP(stm32)
READY(stm32, c->m[h->r[1]] + 4 * c->m[h->r[2]])

static void stm32step(Context *c, const Half *h) {
    uint32_t base = c->m[h->r[1]], after = base + 4 * c->m[h->r[2]];
    if (store(c, base, &c->m[h->r[0]], 4))
        set_main(c, h->r[1], after);
}
GROUP(stm32step)
READY(stm32step, c->m[h->r[1]])

/* The addresses of both accesses are checked before a register changes. */
static bool two_addresses(Context *c, uint32_t one, uint32_t size, uint32_t other,
                          uint32_t other_size) {
    return check(c, one, size) && check(c, other, other_size) && distinct(c, one, other);
}

/* Delta chains: d, p, base, delta; the value at base + delta, the next delta from p.
 * -------------*/

#define CHAIN(name, what, size)                                                                    \
    static void name(Context *c, const Half *h) {                                                  \
        uint32_t p = c->m[h->r[1]], address = c->m[h->r[2]] + (c->m[h->r[3]] & 0xFFFF);            \
        uint16_t next;                                                                             \
        if (!two_addresses(c, address, size, p, 2) || !load(c, p, &next, 2))                       \
            return;                                                                                \
        set_main(c, h->r[3], next);                                                                \
        set_main(c, h->r[1], p + 2);                                                               \
        what(c, address, h->r[0]);                                                                 \
    }                                                                                              \
    GROUP(name)
CHAIN(ldd16a32, load32_a, 4)
CHAIN(ldd16b16, loadb16, 2)
CHAIN(ldd16a64, load64, 8)

static void ldd16v2a32(Context *c, const Half *h) {
    uint32_t p = c->m[h->r[1]], address = c->m[h->r[2]] + (c->m[h->r[3]] >> 16), next;
    if (!two_addresses(c, address, 4, p, 4) || !load(c, p, &next, 4))
        return;
    set_main(c, h->r[3], next);
    set_main(c, h->r[1], p + 4);
    load32_a(c, address, h->r[0]);
}
GROUP(ldd16v2a32)

static void ld64a32(Context *c, const Half *h) {
    uint32_t p = c->m[h->r[1]], address = c->m[h->r[2]] + (c->m[h->r[3]] & 0xFFFF), quad[4];
    if (!two_addresses(c, address, 4, p, 8))
        return;
    load(c, p, &quad[2], 8);
    load(c, address, &quad[1], 4);
    set_main(c, h->r[1], p + 8);
    if (h->r[0] < 8)
        memcpy(&c->a[h->r[0] + 1], &quad[1], 12);
}
GROUP(ld64a32)

static void ldb16b16(Context *c, const Half *h) {
    uint32_t base = c->m[h->r[1]], delta = c->m[h->r[2]], mini = c->m[h->r[3]];
    uint32_t one = base + (delta & 0xFFFF), other = base + (delta >> 16);
    if (!two_addresses(c, one, 2, other, 2))
        return;
    loadb16(c, one, h->r[0]);
    loadb16(c, other, h->r[0] + 1u);
    set_main(c, h->r[2], ((delta + 2) & 0xFFFF) | (((delta >> 16) + (mini & 15)) << 16));
    set_main(c, h->r[3], mini >> 4);
}
GROUP(ldb16b16)

/* Paced accesses (sim/pace.h)
 * --------------------------------------------------------------------*/

/* d, e, pair, stride, selectors: 64 bits at address 0, and `what` at address 1. */
#define PACED_LOADS(name, what, size, unit)                                                        \
    static void name(Context *c, const Half *h) {                                                  \
        Pack pack = unpack(c, h->r[2]);                                                            \
        uint32_t stride = c->m[h->r[3]], selector = (uint32_t)h->imm;                              \
        uint32_t one = pack.address[0], other = pack.address[1];                                   \
        if (!paced_destinations(c, h, size) || !two_addresses(c, one, 8, other, size))             \
            return;                                                                                \
        pack.address[0] = pace(one, stride, selector, CHIP_ATOM_SIZE);                             \
        pack.address[1] = pace(other, stride, selector >> 2, unit);                                \
        repack(c, h->r[2], &pack);                                                                 \
        load64(c, one, h->r[0]);                                                                   \
        what(c, other, h->r[1]);                                                                   \
    }                                                                                              \
    GROUP(name)

/* The second destination lies outside the first pair, $a8 … $a15 included. */
static bool paced_destinations(Context *c, const Half *h, uint32_t size) {
    unsigned second = size == 8 ? h->r[1] : h->r[1] & ~1u;
    if (second != h->r[0])
        return true;
    trap_raise(c, ERR_SIM_OPERAND, 0, "loads twice into the same registers");
    return false;
}

#define SECOND_UNIT(size) (CHIP_PACE_A1_UNIT_IS_ACCESS ? (size) : CHIP_ATOM_SIZE)
PACED_LOADS(ld2x64pace, load64, 8, CHIP_ATOM_SIZE)
PACED_LOADS(ld64a32pace, load32_a, 4, SECOND_UNIT(4))
PACED_LOADS(ld64b16pace, loadb16, 2, SECOND_UNIT(2))

/* d, s, pair, stride, selectors. */
static void ldst64pace(Context *c, const Half *h) {
    Pack pack = unpack(c, h->r[2]);
    uint32_t stride = c->m[h->r[3]], selector = (uint32_t)h->imm;
    uint32_t from = pack.address[0], to = pack.address[2];
    if (!two_addresses(c, from, 8, to, 8))
        return;
    pack.address[0] = pace(from, stride, selector, CHIP_ATOM_SIZE);
    pack.address[2] = pace(to, stride, selector >> 2, CHIP_ATOM_SIZE);
    repack(c, h->r[2], &pack);
    put_bytes(c, to, &c->a[h->r[1]], 8);
    load64(c, from, h->r[0]);
}
GROUP(ldst64pace)
READY(ldst64pace, unpack(c, h->r[2]).address[2])

static bool three_addresses(Context *c, uint32_t one, uint32_t other, uint32_t to) {
    return check(c, one, 8) && check(c, other, 8) && check(c, to, 8) && distinct(c, one, other) &&
           distinct(c, one, to) && distinct(c, other, to);
}

/* The same question without a branch an address. */
static inline bool three_addresses_fit(uint32_t one, uint32_t other, uint32_t to) {
    unsigned first = chip_element(one), second = chip_element(other), third = chip_element(to);
    unsigned inside = (unsigned)chip_address_ok(one) & chip_address_ok(other) & chip_address_ok(to);
    unsigned apart = (unsigned)(first != second) & (first != third) & (second != third);
    return (((one | other | to) & 7) == 0) & inside & apart;
}

static void ld2xst64pace(Context *c, const Half *h) {
    Pack pack = unpack(c, h->r[2]);
    uint32_t stride = c->m[h->r[3]], selector = (uint32_t)h->imm;
    uint32_t one = pack.address[0], other = pack.address[1], to = pack.address[2];
    if (__builtin_expect(!three_addresses_fit(one, other, to), 0) &&
        !three_addresses(c, one, other, to))
        return;
    pack.address[0] = pace(one, stride, selector, CHIP_ATOM_SIZE);
    pack.address[1] = pace(other, stride, selector >> 2, CHIP_ATOM_SIZE);
    pack.address[2] = pace(to, stride, selector >> 4, CHIP_ATOM_SIZE);
    repack(c, h->r[2], &pack);
    put_bytes(c, to, &c->a[h->r[1]], 8);
    memcpy(&c->a[h->r[0]], memory_at(c->tile, one), 8);
    memcpy(&c->a[h->r[0] + 2], memory_at(c->tile, other), 8);
}
GROUP(ld2xst64pace)
READY(ld2xst64pace, unpack(c, h->r[2]).address[2])

static void st64pace(Context *c, const Half *h) {
    Pack pack = unpack(c, h->r[1]);
    uint32_t to = pack.address[2];
    if (!check(c, to, 8))
        return;
    pack.address[2] = pace(to, c->m[h->r[2]], (uint32_t)h->imm, CHIP_ATOM_SIZE);
    repack(c, h->r[1], &pack);
    put_bytes(c, to, &c->a[h->r[0]], 8);
}
GROUP(st64pace)
READY(st64pace, unpack(c, h->r[1]).address[2])

/* Common weights, loaded by the supervisor at $CCCSLOAD. ---------------------------------------*/

static void load_weights(Context *c, uint32_t number, uint32_t size) {
    Tile *tile = c->tile;
    uint32_t address = tile->supervisor.coefficient;
    exec_weights_change(tile);
    if (load(c, address, &tile->weights[number], size))
        tile->supervisor.coefficient = address + size;
}

static void ld64putcs(Context *c, const Half *h) {
    load_weights(c, (uint32_t)h->imm, 8);
}

static void ld128putcs(Context *c, const Half *h) {
    uint32_t address = c->tile->supervisor.coefficient;
    if (check(c, address, 16) && interleaved(c, address))
        load_weights(c, (uint32_t)h->imm, 16);
}

#define FORMS(ROW)                                                                                 \
    ROW(LD32_M, ld32_m_imm)                                                                        \
    ROW(LD32_M_REG, ld32_m_reg)                                                                    \
    ROW(LD32_A, ld32_a_imm)                                                                        \
    ROW(LD32_A_REG, ld32_a_reg)                                                                    \
    ROW(LD64, ld64_imm)                                                                            \
    ROW(LD64_REG, ld64_reg)                                                                        \
    ROW(LD128, ld128_imm)                                                                          \
    ROW(LD128_REG, ld128_reg)                                                                      \
    ROW(LDZ8, ldz8_imm)                                                                            \
    ROW(LDZ8_REG, ldz8_reg)                                                                        \
    ROW(LDS8, lds8_imm)                                                                            \
    ROW(LDS8_REG, lds8_reg)                                                                        \
    ROW(LDZ16, ldz16_imm)                                                                          \
    ROW(LDZ16_REG, ldz16_reg)                                                                      \
    ROW(LDS16, lds16_imm)                                                                          \
    ROW(LDS16_REG, lds16_reg)                                                                      \
    ROW(LDB16, ldb16_imm)                                                                          \
    ROW(LDB16_REG, ldb16_reg)                                                                      \
    ROW(LDB8, ldb8_imm)                                                                            \
    ROW(LDB8_REG, ldb8_reg)                                                                        \
    ROW(LD32STEP_M, ld32_m_step_imm)                                                               \
    ROW(LD32STEP_M_REG, ld32_m_step_reg)                                                           \
    ROW(LD32STEP_A, ld32_a_step_imm)                                                               \
    ROW(LD32STEP_A_REG, ld32_a_step_reg)                                                           \
    ROW(LD64STEP, ld64_step_imm)                                                                   \
    ROW(LD64STEP_REG, ld64_step_reg)                                                               \
    ROW(LD128STEP, ld128_step_imm)                                                                 \
    ROW(LD128STEP_REG, ld128_step_reg)                                                             \
    ROW(LDZ8STEP, ldz8_step_imm)                                                                   \
    ROW(LDZ8STEP_REG, ldz8_step_reg)                                                               \
    ROW(LDS8STEP, lds8_step_imm)                                                                   \
    ROW(LDS8STEP_REG, lds8_step_reg)                                                               \
    ROW(LDZ16STEP, ldz16_step_imm)                                                                 \
    ROW(LDZ16STEP_REG, ldz16_step_reg)                                                             \
    ROW(LDS16STEP, lds16_step_imm)                                                                 \
    ROW(LDS16STEP_REG, lds16_step_reg)                                                             \
    ROW(LDB16STEP, ldb16_step_imm)                                                                 \
    ROW(LDB16STEP_REG, ldb16_step_reg)                                                             \
    ROW(ST32_M, st32_m)                                                                            \
    ROW(ST32_A, st32_a)                                                                            \
    ROW(ST32_A_REG, st32_a_reg)                                                                    \
    ROW(ST64, st64)                                                                                \
    ROW(ST64_REG, st64_reg)                                                                        \
    ROW(ST32STEP_M, st32step_m)                                                                    \
    ROW(ST32STEP_A, st32step_a)                                                                    \
    ROW(ST32STEP_A_REG, st32step_a_reg)                                                            \
    ROW(ST64STEP, st64step)                                                                        \
    ROW(ST64STEP_REG, st64step_reg)                                                                \
    ROW(STM32, stm32)                                                                              \
    ROW(STM32STEP, stm32step)                                                                      \
    ROW(LDD16A32, ldd16a32)                                                                        \
    ROW(LDD16B16, ldd16b16)                                                                        \
    ROW(LDD16A64, ldd16a64)                                                                        \
    ROW(LDD16V2A32, ldd16v2a32)                                                                    \
    ROW(LD64A32, ld64a32)                                                                          \
    ROW(LDB16B16, ldb16b16)                                                                        \
    ROW(LD2X64PACE, ld2x64pace)                                                                    \
    ROW(LDST64PACE, ldst64pace)                                                                    \
    ROW(LD2XST64PACE, ld2xst64pace)                                                                \
    ROW(ST64PACE, st64pace)                                                                        \
    ROW(LD64A32PACE, ld64a32pace)                                                                  \
    ROW(LD64B16PACE, ld64b16pace)

ExecTable exec_mem = {
    /* Of the supervisor. */
    [ISA_LD64PUTCS] = ld64putcs,
    [ISA_LD128PUTCS] = ld128putcs,
    FORMS(EXEC_ROW)};
GroupTable group_mem = {FORMS(GROUP_ROW)};

#define READY_ROW(form, name) [ISA_##form] = name##_ready,
ReadyTable stores_ready = {
    READY_ROW(ST32_M, st32_m) READY_ROW(ST32_A, st32_a) READY_ROW(ST32_A_REG, st32_a_reg)
        READY_ROW(ST64, st64) READY_ROW(ST64_REG, st64_reg) READY_ROW(ST32STEP_M, st32step_m)
            READY_ROW(ST32STEP_A, st32step_a) READY_ROW(ST32STEP_A_REG, st32step_a_reg)
                READY_ROW(ST64STEP, st64step) READY_ROW(ST64STEP_REG, st64step_reg)
                    READY_ROW(STM32, stm32) READY_ROW(STM32STEP, stm32step)
                        READY_ROW(LDST64PACE, ldst64pace) READY_ROW(LD2XST64PACE, ld2xst64pace)
                            READY_ROW(ST64PACE, st64pace)};
