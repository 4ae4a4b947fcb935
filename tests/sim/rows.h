/* Chips whose tiles meet in a barrier, execute rows, and wait for the host; again and again. */
#pragma once

#include "rig.h"

#include "base/random.h"
#include "chip/chip.h"

#define ROW_BASE    0x4D000u
#define ROW_THROUGH 0x4E000u /* a tile with a row stores here when its row has returned */

/* Cycle of event 0 in the first phase: six instructions and a stall, the barrier, the call. */
#define ROW_START (9 + CHIP_SYNC_INTERNAL_CYCLES + CHIP_SUP_TAKEN_BRANCH)

static const char rows_program[] =
    ".supervisor\n idle: sans 0\n sync 1\n sync 7\n bri idle\n"
    "active: put $INCOMING_BASE, $mzero\n put $OUTGOING_BASE, $mzero\n"
    "setzi $m8, 1\n put $INCOMING_DCOUNT, $m8\n sync 3\n call $m10, row\n"
    "get $m0, $SCOUNT_L\n setzi $m1, through\n st32 $m0, $m1, $mzero, 0\n sync 7\n bri active\n"
    ".set row, 0x4D000\n .set through, 0x4E000\n";

typedef struct Chip {
    Machine *machine;
    AsmImage image;
} Chip;

static inline Chip chip_create(uint32_t tiles, Pool *pool) {
    Chip chip = {.image = rig_assemble(rows_program)};
    MachineOptions options = {.timeline = true};
    chip.machine = rig_machine(&chip.image, tiles, pool, &options);
    return chip;
}

static inline void chip_free(Chip *chip) {
    machine_free(chip->machine);
    asm_image_free(&chip->image);
}

static inline void chip_words(Chip *chip, uint32_t tile, const uint32_t *words, size_t count) {
    for (size_t i = 0; i < count; i++)
        rig_set_word(chip->machine, tile, ROW_BASE + 4 * (uint32_t)i, words[i]);
    machine_start_tile(chip->machine, tile, rig_symbol(&chip->image, "active"));
}

/* The tile's row: words in hexadecimal if the text begins with a digit, else assembly. */
static inline void chip_row(Chip *chip, uint32_t tile, const char *text) {
    uint32_t words[64];
    size_t count = 0;
    if (*text >= '0' && *text <= '9') {
        char *end;
        for (const char *at = text; *at; at = end) {
            words[count++] = (uint32_t)strtoul(at, &end, 16);
            while (*end == ' ')
                end++;
        }
    } else {
        char *program = mem_printf(".supervisor\n %s\n br $m10\n", text);
        AsmImage image = rig_assemble(program);
        count = image.size / 4;
        memcpy(words, image.bytes, image.size);
        asm_image_free(&image);
        mem_free(program);
    }
    chip_words(chip, tile, words, count);
}

static inline void chip_fill(Chip *chip, uint32_t tile, uint32_t address, uint32_t words) {
    Random random = random_seed(tile * 64 + address);
    for (uint32_t i = 0; i < words; i++)
        rig_set_word(chip->machine, tile, address + 4 * i, (uint32_t)random_next(&random));
}

static inline void chip_expect_copy(Chip *chip, uint32_t from, uint32_t from_address, uint32_t to,
                                    uint32_t to_address, uint32_t words) {
    for (uint32_t i = 0; i < words; i++)
        assert_int_equal(rig_word(chip->machine, to, to_address + 4 * i),
                         rig_word(chip->machine, from, from_address + 4 * i));
}

/* Events that the tile's row took in the first phase. */
static inline int chip_horizon(Chip *chip, uint32_t tile) {
    return (int)rig_word(chip->machine, tile, ROW_THROUGH) - ROW_START - CHIP_SUP_TAKEN_BRANCH;
}
