/* Tiles with memory that execute the rows of one phase: decodes the words as the chip would, plays
 * them in the simulator's fabric, and compares memory with the transfers carried out one after the
 * other. Memory is set up once; each phase undoes what it wrote. */
#pragma once

#include "testing.h"

#include "execute.h"

#include "base/random.h"

#include <stdlib.h>
#include <string.h>

#define BOARD_TILES 64 /* tiles with memory; the others only exist */

typedef struct BoardWrite {
    uint32_t offset; /* in the image */
    uint32_t before;
} BoardWrite;

typedef struct Image {
    uint8_t *bytes; /* BOARD_TILES * CHIP_TILE_MEM_SIZE */
    VEC(BoardWrite) journal;
} Image;

typedef struct Board {
    Image chip, expected;
    uint8_t slot[CHIP_TILES]; /* which memory a tile has */
    bool mapped[CHIP_TILES];
    FabricRow rows[CHIP_TILES + 1];
    FabricTrap trap;
} Board;

static Board *board_create(void) {
    Board *board = mem_alloc(1, sizeof *board);
    assert_non_null(board);
    size_t size = (size_t)BOARD_TILES * CHIP_TILE_MEM_SIZE;
    board->chip.bytes = mem_alloc(size, 1);
    board->expected.bytes = mem_alloc(size, 1);
    assert_true(board->chip.bytes && board->expected.bytes);
    Random random = random_seed(1);
    for (size_t i = 0; i < size; i += 8) {
        uint64_t value = random_next(&random);
        memcpy(board->chip.bytes + i, &value, 8);
    }
    memcpy(board->expected.bytes, board->chip.bytes, size);
    return board;
}

static void board_free(Board *board) {
    for (uint32_t i = 0; i <= CHIP_TILES; i++)
        fabric_row_free(board->rows + i);
    vec_free(&board->chip.journal);
    vec_free(&board->expected.journal);
    mem_free(board->chip.bytes);
    mem_free(board->expected.bytes);
    mem_free(board);
}

/* Gives memories to these tiles and takes them from all others. */
static void board_map(Board *board, const uint32_t *tiles, uint32_t count) {
    assert_true(count <= BOARD_TILES);
    memset(board->mapped, 0, sizeof board->mapped);
    for (uint32_t i = 0; i < count; i++) {
        board->slot[tiles[i]] = (uint8_t)i;
        board->mapped[tiles[i]] = true;
    }
}

static uint32_t board_offset(const Board *board, uint32_t tile, uint32_t address) {
    assert_true(tile < CHIP_TILES && board->mapped[tile]);
    return (uint32_t)board->slot[tile] * CHIP_TILE_MEM_SIZE + (address - CHIP_TILE_MEM_BASE);
}

static void image_write(Image *image, uint32_t offset, const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i += 4) {
        uint8_t *at = image->bytes + offset + i;
        BoardWrite write = {offset + (uint32_t)i, 0};
        memcpy(&write.before, at, 4);
        assert_true(vec_push(&image->journal, write));
        memcpy(at, (const uint8_t *)bytes + i, 4);
    }
}

static void image_undo(Image *image) {
    while (image->journal.count > 0) {
        BoardWrite write = image->journal.items[--image->journal.count];
        memcpy(image->bytes + write.offset, &write.before, 4);
    }
}

static void board_read(void *context, uint32_t tile, uint32_t address, void *bytes, size_t size) {
    const Board *board = context;
    memcpy(bytes, board->chip.bytes + board_offset(board, tile, address), size);
}

static bool board_write(void *context, uint32_t tile, uint32_t address, const void *bytes,
                        size_t size) {
    Board *board = context;
    image_write(&board->chip, board_offset(board, tile, address), bytes, size);
    return true;
}

/* Plays all rows: the first trap of a row, or what the fabric says. */
static inline Status board_play(Board *board, const XchgRows *rows, const uint32_t *row_address,
                                uint32_t tile_count) {
    for (uint32_t i = 0; i <= CHIP_TILES; i++) {
        board->rows[i].active = false;
        board->rows[i].sends.count = board->rows[i].controls.count = 0;
    }
    for (size_t i = 0; i < rows->rows.count; i++) {
        const XchgRow *row = rows->rows.items + i;
        Status status =
            execute_row(board->rows + row->tile, row, rows->words.items + row->first_word,
                        row_address[i], &board->trap);
        if (status != STATUS_OK)
            return status;
    }
    FabricPhase phase = {"test", board->rows, tile_count, {board, board_read, board_write}};
    return fabric_run(&phase, &board->trap);
}

/* The meaning of a phase: its transfers, one after the other. */
static void board_expect(Board *board, const XchgPhase *phase) {
    for (size_t i = 0; i < phase->transfers.count; i++) {
        const XchgTransfer *t = phase->transfers.items + i;
        uint8_t *copy = mem_alloc(t->words, 4);
        assert_non_null(copy);
        memcpy(copy, board->expected.bytes + board_offset(board, t->source, t->address),
               (size_t)t->words * 4);
        for (uint32_t k = 0; k < t->dest_count; k++) {
            const XchgDest *d = phase->dests.items + t->first_dest + k;
            image_write(&board->expected, board_offset(board, d->tile, d->address), copy,
                        (size_t)t->words * 4);
        }
        mem_free(copy);
    }
}

/* Whether both images are equal; only what was written can differ. */
static inline bool board_equal(const Board *board) {
    const Image *images[2] = {&board->chip, &board->expected};
    for (int i = 0; i < 2; i++) {
        for (size_t k = 0; k < images[i]->journal.count; k++) {
            uint32_t offset = images[i]->journal.items[k].offset;
            if (memcmp(images[0]->bytes + offset, images[1]->bytes + offset, 4) != 0)
                return false;
        }
    }
    return true;
}

static void board_undo(Board *board) {
    image_undo(&board->chip);
    image_undo(&board->expected);
}
