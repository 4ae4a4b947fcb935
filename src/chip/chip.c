#include "chip/chip.h"

#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const ChipConstant constants[] = {
#define CONSTANT(name, value, evidence, source, meaning)                                           \
    {#name, source, meaning, (value), CHIP_##evidence},
#include "chip/chip.def"
#undef CONSTANT
};

static const ChipCsr csrs[] = {
#define S                                0
#define W                                1
#define CSR(file, name, number, meaning) {#name, meaning, (number), (file) != 0},
#define FIELD(file, csr, name, lowest, width)
#include "chip/csr.def"
#undef CSR
#undef FIELD
#undef S
#undef W
};

const ChipConstant *chip_constants(size_t *count) {
    *count = COUNT_OF(constants);
    return constants;
}

const char *chip_evidence_name(ChipEvidence evidence) {
    static const char *const names[CHIP_EVIDENCE_COUNT] = {"measured", "documented", "source",
                                                           "inferred", "assumed"};
    assert((unsigned)evidence < CHIP_EVIDENCE_COUNT);
    return names[evidence];
}

const ChipCsr *chip_csr_by_number(bool worker, unsigned number) {
    for (size_t i = 0; i < COUNT_OF(csrs); i++)
        if (csrs[i].worker == worker && csrs[i].number == number)
            return &csrs[i];
    return NULL;
}

const ChipCsr *chip_csr_by_name(bool worker, const char *name) {
    for (size_t i = 0; i < COUNT_OF(csrs); i++)
        if (csrs[i].worker == worker && strcmp(csrs[i].name, name) == 0)
            return &csrs[i];
    return NULL;
}

/* Pairs run up and down the columns of half a supertile: block b is one such column of 23 pairs. */
unsigned chip_tile_physical(unsigned logical) {
    assert(logical < CHIP_TILES);
    unsigned pair = logical / 2, lane = logical & 1;
    unsigned block = pair / CHIP_TILE_ROWS, k = pair % CHIP_TILE_ROWS;
    unsigned row = block & 1 ? CHIP_TILE_ROWS - 1 - k : k;
    return row * 64 + (block / 2) * 4 + (block & 1) + lane * 2;
}

unsigned chip_tile_logical(unsigned physical) {
    assert(physical < CHIP_TILES);
    unsigned row = physical >> 6, column = (physical >> 2) & 15, sub = physical & 3;
    unsigned block = 2 * column + (sub & 1), lane = sub >> 1;
    unsigned k = block & 1 ? CHIP_TILE_ROWS - 1 - row : row;
    return 2 * (CHIP_TILE_ROWS * block + k) + lane;
}

/* Columns c and 15 - c face each other across the fabric. */
static int folded_column(unsigned physical) {
    int column = (int)((physical >> 2) & 15);
    return column < 8 ? column : 15 - column;
}

ChipRoute chip_route(unsigned sender, unsigned receiver) {
    assert(sender < CHIP_TILES && receiver < CHIP_TILES);
    int side_s = (sender >> 5) & 1, side_d = (receiver >> 5) & 1;
    int fold_s = folded_column(sender), fold_d = folded_column(receiver);
    bool same = side_d == (int)(receiver & 1);
    int lane = (receiver & 3) < 2 ? (same ? 1 : 5) : (same ? 2 : 4);
    int displacement = 6 * (fold_d - fold_s - (side_s ^ (int)(sender & 1))) + lane;
    int base = side_s == 1 && side_d == 0 ? -14 : -30;
    int column_cost = side_d == 0 ? 5 : 3;
    int rows = (int)(sender >> 6) - (int)(receiver >> 6);
    return (ChipRoute){
        .time = base + column_cost * (fold_s - fold_d) + 2 * rows + abs(displacement),
        .displacement = displacement,
        .direction = displacement >= 1 ? 1 : 2,
    };
}
