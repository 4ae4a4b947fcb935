/* Programs written as assembly text, run on a simulated machine. Every failure of the machinery
 * fails the test with the message that a user would get. */
#pragma once

#include "testing.h"

#include "asm/asm.h"
#include "base/mem.h"
#include "sim/sim.h"

#include <stdlib.h>
#include <string.h>

#define RIG_BASE 0x4C000u

/* Assembles and links one text at RIG_BASE; free with asm_image_free. */
static inline AsmImage rig_assemble(const char *text) {
    Diag diag;
    diag_init(&diag);
    AsmObject *object = NULL;
    AsmImage image = {0};
    Status status = asm_assemble("test.S", text, strlen(text), NULL, &object, &diag);
    if (status == STATUS_OK) {
        const AsmObject *objects[] = {object};
        status = asm_link(objects, 1, RIG_BASE, NULL, 0, &image, &diag);
    }
    if (status != STATUS_OK) {
        diag_print(&diag, stderr);
        fail_msg("the program does not assemble:\n%s", text);
    }
    asm_object_free(object);
    diag_free(&diag);
    return image;
}

static inline uint32_t rig_symbol(const AsmImage *image, const char *name) {
    uint32_t address = 0;
    assert_true(asm_image_symbol(image, name, &address));
    return address;
}

/* A machine of `tiles` tiles that all hold the image, about to begin at its first word. */
static inline Machine *rig_machine(const AsmImage *image, uint32_t tiles, Pool *pool,
                                   const MachineOptions *options) {
    Machine *machine = machine_create(tiles, pool, options);
    assert_non_null(machine);
    for (uint32_t tile = 0; tile < tiles; tile++)
        assert_int_equal(machine_load(machine, tile, image->base, image->bytes, image->size, NULL),
                         STATUS_OK);
    machine_start(machine, image->base);
    return machine;
}

/* The same from text. */
static inline Machine *rig_load(const char *text, uint32_t tiles) {
    AsmImage image = rig_assemble(text);
    Machine *machine = rig_machine(&image, tiles, NULL, NULL);
    asm_image_free(&image);
    return machine;
}

/* Runs to the next host barrier; any trap fails the test. */
static inline void rig_run(Machine *machine) {
    Diag diag;
    diag_init(&diag);
    if (machine_run(machine, &diag) != STATUS_OK) {
        diag_print(&diag, stderr);
        fail_msg("the program traps");
    }
    diag_free(&diag);
}

static inline uint32_t rig_word(Machine *machine, uint32_t tile, uint32_t address) {
    uint32_t word;
    assert_int_equal(machine_read(machine, tile, address, &word, sizeof word, NULL), STATUS_OK);
    return word;
}

static inline void rig_set_word(Machine *machine, uint32_t tile, uint32_t address, uint32_t word) {
    assert_int_equal(machine_write(machine, tile, address, &word, sizeof word, NULL), STATUS_OK);
}
