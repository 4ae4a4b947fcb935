/* The IPU21 chip: memory map, memory elements, control registers, exceptions, numbers of tiles and
 * route times, and every constant with its evidence (chip.def). Knows nothing of instructions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ChipEvidence {
    CHIP_MEASURED,
    CHIP_DOCUMENTED,
    CHIP_SOURCE,
    CHIP_INFERRED,
    CHIP_ASSUMED,
    CHIP_EVIDENCE_COUNT
} ChipEvidence;

/* "measured", "documented", "source", "inferred", "assumed" */
const char *chip_evidence_name(ChipEvidence evidence);

/* CHIP_<name> of chip.def. */
enum ChipConstantValue {
#define CONSTANT(name, value, evidence, source, meaning) CHIP_##name = (value),
#include "chip/chip.def"
#undef CONSTANT
};

typedef struct ChipConstant {
    const char *name, *source, *meaning; /* source may be "" */
    int64_t value;
    ChipEvidence evidence;
} ChipConstant;

/* All lines of chip.def, in its order. */
const ChipConstant *chip_constants(size_t *count);

/* ---- control registers: CHIP_CSR_S_SSR, CHIP_CSR_W_FP_CLR, … and their fields
 * CHIP_CSR_S_SSR_ETYPE_SHIFT, …_MASK (of the shifted-down value) */
enum ChipCsrNumber {
#define CSR(file, name, number, meaning) CHIP_CSR_##file##_##name = (number),
#define FIELD(file, csr, name, lowest, width)
#include "chip/csr.def"
#undef CSR
#undef FIELD
};
enum ChipCsrField {
#define CSR(file, name, number, meaning)
#define FIELD(file, csr, name, lowest, width)                                                      \
    CHIP_CSR_##file##_##csr##_##name##_SHIFT = (lowest),                                           \
    CHIP_CSR_##file##_##csr##_##name##_MASK = (1 << (width)) - 1,
#include "chip/csr.def"
#undef CSR
#undef FIELD
};
/* Worker registers from this number on are reached by uget and uput, as number less this. */
#define CHIP_CSR_UPPER 0x100

typedef struct ChipCsr {
    const char *name, *meaning;
    uint16_t number;
    bool worker; /* else the supervisor's */
} ChipCsr;

/* The register of that file, or NULL. Names without $. */
const ChipCsr *chip_csr_by_number(bool worker, unsigned number);
const ChipCsr *chip_csr_by_name(bool worker, const char *name);

/* Receive errors, CTXT_STS.ERERR (documented names). */
typedef enum ChipReceiveError {
    CHIP_RERR_NONE,
    CHIP_RERR_CLASH_INSTR,
    CHIP_RERR_CLASH_IFETCH,
    CHIP_RERR_ADDR,
    CHIP_RERR_WORKERS,
    CHIP_RERR_DBRK,
    CHIP_RERR_CONF,
    CHIP_RERR_MODI
} ChipReceiveError;

/* Zones of the sync instruction (graphcore-ipu-research, ipu-stack); 8 more: as master. */
typedef enum ChipSync {
    CHIP_SYNC_RECV = 0,
    CHIP_SYNC_ANS = 1,
    CHIP_SYNC_LOCAL = 2,
    CHIP_SYNC_INTERNAL = 3,
    CHIP_SYNC_GS1 = 4,
    CHIP_SYNC_GS1H = 5,
    CHIP_SYNC_GS2 = 6,
    CHIP_SYNC_GS2H = 7,
    CHIP_SYNC_MASTER = 8
} ChipSync;

/* ---- memory elements. Addresses are byte addresses inside tile memory (chip_address_ok). */
static inline bool chip_address_ok(uint32_t address) {
    return address - CHIP_TILE_MEM_BASE < (uint32_t)CHIP_TILE_MEM_SIZE;
}
/* Physical element 0..38: 0..12 in region 0, then two a pair, chosen by address bit 3. Each serves
 * one access a cycle. (ipu-stack memory.rs and its AMP kernels' pointer distances) */
static inline unsigned chip_element(uint32_t address) {
    if (address < CHIP_REGION1_BASE)
        return (address - CHIP_TILE_MEM_BASE) >> 14;
    return CHIP_REGION0_ELEMENTS + 2 * ((address - CHIP_REGION1_BASE) >> 15) + ((address >> 3) & 1);
}
/* Effective element 0..25, the unit of placement: element in region 0, pair in region 1. */
static inline unsigned chip_effective_element(uint32_t address) {
    if (address < CHIP_REGION1_BASE)
        return (address - CHIP_TILE_MEM_BASE) >> 14;
    return CHIP_REGION0_ELEMENTS + ((address - CHIP_REGION1_BASE) >> 15);
}
/* First byte of an effective element; element 26 gives the end of memory. */
static inline uint32_t chip_effective_element_base(unsigned element) {
    return element < CHIP_REGION0_ELEMENTS
               ? CHIP_TILE_MEM_BASE + element * CHIP_MEM_ELEM_SIZE
               : CHIP_REGION1_BASE + (element - CHIP_REGION0_ELEMENTS) * CHIP_REGION1_PAIR_SIZE;
}
/* Bit e set: effective element e holds one of the bytes [address, address + size). */
static inline uint32_t chip_effective_mask(uint32_t address, uint32_t size) {
    if (size == 0)
        return 0;
    unsigned first = chip_effective_element(address);
    unsigned last = chip_effective_element(address + size - 1);
    return (uint32_t)((2ull << last) - (1ull << first));
}
static inline bool chip_interleaved(uint32_t address) {
    return address >= CHIP_REGION1_BASE;
}

/* ---- tile numbers (ipu-stack topology.rs). Logical and physical ids are 0..1471; the map is a
 * permutation, and logical tiles 2m and 2m + 1 are partners (physical ids differ by XOR 2). */
unsigned chip_tile_physical(unsigned logical);
unsigned chip_tile_logical(unsigned physical);

/* Time and direction of the way from one physical tile to another (ipu-stack fabric.rs, equal for
 * all pairs). An item sent at event t meets the receiver's mux at t + time + 1 of its clock and its
 * memory at t + time + 53 + 2 * row. */
typedef struct ChipRoute {
    int time;         /* -78..112 */
    int displacement; /* -47..47, never 0 */
    int direction;    /* 1 or 2 */
} ChipRoute;
ChipRoute chip_route(unsigned sender, unsigned receiver);
/* Row of a physical tile, 0..22. */
static inline unsigned chip_tile_row(unsigned physical) {
    return physical >> 6;
}
