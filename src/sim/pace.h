/* Paced accesses: three 21-bit addresses packed in a pair of main registers, which advance by one
 * unit or by a field of a stride register. */
#pragma once

#include "sim/internal.h"

#define ADDRESS_MASK ((1u << CHIP_ADDRESS_BITS) - 1)

typedef struct Pack {
    uint32_t address[3];
} Pack;

/* Writes a main register that the form also reads: the chip drops writes to $m12 … $m15. */
static inline void set_main(Context *c, unsigned number, uint32_t value) {
    if (number < 12)
        c->m[number] = value;
}

static inline Pack unpack(const Context *c, unsigned pair) {
    uint32_t low = c->m[pair], high = c->m[pair + 1];
    uint32_t third = low >> CHIP_ADDRESS_BITS | high >> CHIP_ADDRESS_BITS
                                                            << CHIP_TAPACK_A2_LOW_BITS;
    return (Pack){{low & ADDRESS_MASK, high & ADDRESS_MASK, third & ADDRESS_MASK}};
}

static inline void repack(Context *c, unsigned pair, const Pack *pack) {
    const uint32_t low_mask = (1u << CHIP_TAPACK_A2_LOW_BITS) - 1;
    /* Bit 31 of the high register belongs to no address and stays. */
    uint32_t spare = c->m[pair + 1] & ~(UINT32_MAX >> 1);
    set_main(c, pair, pack->address[0] | (pack->address[2] & low_mask) << CHIP_ADDRESS_BITS);
    set_main(c, pair + 1,
             spare | pack->address[1] |
                 pack->address[2] >> CHIP_TAPACK_A2_LOW_BITS << CHIP_ADDRESS_BITS);
}

/* Units by which an address advances: selector 0 one, 1 … 3 a signed field of the stride register.
 */
static inline int32_t pace_units(uint32_t stride, uint32_t selector) {
    if ((selector & 3) == 0)
        return 1;
    unsigned lowest = CHIP_PACE_STRIDE_BITS * ((selector & 3) - 1);
    return (int32_t)(stride >> lowest << (32 - CHIP_PACE_STRIDE_BITS)) >>
           (32 - CHIP_PACE_STRIDE_BITS);
}

static inline uint32_t pace(uint32_t address, uint32_t stride, uint32_t selector, uint32_t unit) {
    return (address + (uint32_t)pace_units(stride, selector) * unit) & ADDRESS_MASK;
}
