/* A bench for kernels: one simulated tile, a supervisor program that calls kernels, and memory
 * whose every byte is known before and compared after. Included by the kernel tests only. */
#pragma once

#include "asm/asm.h"
#include "base/random.h"
#include "chip/chip.h"
#include "kernel/kernel.h"
#include "sim/sim.h"
#include "testing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    RIG_CODE = 0x4C018,
    RIG_STACK = 0x586E0, /* grows down */
    RIG_DATA = 0x5C000,  /* operands lie from here on */
    RIG_DATA_BYTES = CHIP_TILE_MEM_END - RIG_DATA,
    RIG_TIMES = 0x58000, /* words that the program writes */
    /* Cycles of the program from a call's last argument to the call, and from the instruction after
     * the return to the next call's delay. */
    RIG_CALL_LEAD = 2 + CHIP_SUP_RESULT_LATENCY,
    RIG_CALL_TRAIL = 2 + CHIP_SUP_RESULT_LATENCY,
};

/* One call: where its operands are. */
typedef struct RigCall {
    uint32_t address[KERNEL_MAX_OPERANDS];
    int32_t scalar[KERNEL_MAX_SCALARS];
    uint32_t delay; /* supervisor instructions before the call, to shift its phase */
} RigCall;

typedef struct Rig {
    uint8_t *memory; /* RIG_DATA_BYTES: before the run, then after it */
    Machine *machine;
    AsmImage image;
    bool linked;
} Rig;

static inline void rig_expect(Status status, Diag *diag) {
    if (status != STATUS_OK) {
        diag_print(diag, stderr);
        fail();
    }
    diag_free(diag);
}

static inline void rig_create(Rig *rig) {
    *rig = (Rig){.memory = malloc(RIG_DATA_BYTES)};
    assert_non_null(rig->memory);
}

static inline void rig_free(Rig *rig) {
    free(rig->memory);
    machine_free(rig->machine);
    if (rig->linked)
        asm_image_free(&rig->image);
}

/* Memory full of NaNs of both precisions: words of F143 NaNs and of F16 NaNs in turn. */
static inline void rig_fill_nan(Rig *rig) {
    for (uint32_t i = 0; i < RIG_DATA_BYTES; i++)
        rig->memory[i] = i & 8 ? 0xFF : 0x80;
}

static inline uint8_t *rig_at(Rig *rig, uint32_t address) {
    assert_in_range(address, RIG_DATA, CHIP_TILE_MEM_END - 1);
    return rig->memory + (address - RIG_DATA);
}

/* Calls `spec` once for each entry of calls, and notes the cycle counter before and after. */
static inline char *rig_program(const KernelSpec *spec, const RigCall *calls, size_t count) {
    KernelInterface interface;
    kernel_interface(spec, &interface);
    char name[KERNEL_NAME_SIZE];
    kernel_name(spec, name);
    char *text = mem_printf(".supervisor\n.globl start\nstart:\nsetzi $m11, %d\n", RIG_STACK);
    for (size_t i = 0; i < count; i++) {
        char *more = mem_printf("%s.rept %" PRIu32 "\nsetzi $m0, 0\n.endr\n", text, calls[i].delay);
        mem_free(text);
        text = more;
        for (uint32_t j = 0; j < interface.operand_count + interface.scalar_count; j++) {
            bool operand = j < interface.operand_count;
            int64_t value = operand ? (int64_t)calls[i].address[j]
                                    : (int64_t)calls[i].scalar[j - interface.operand_count];
            const char *form = value < 0 ? "add $m%u, $m15, %lld" : "setzi $m%u, %lld";
            char line[64];
            snprintf(line, sizeof line, form, j + 2, (long long)value);
            more = mem_printf("%s%s\n", text, line);
            mem_free(text);
            text = more;
        }
        more = mem_printf("%s"
                          "setzi $m7, %d\n"
                          "get $m9, $SCOUNT_L\n"
                          "st32 $m9, $m7, $m15, 0\n"
                          "call $m10, %s\n"
                          "get $m9, $SCOUNT_L\n"
                          "setzi $m7, %d\n"
                          "st32 $m9, $m7, $m15, 1\n",
                          text, RIG_TIMES + (int)(8 * i), name, RIG_TIMES + (int)(8 * i));
        mem_free(text);
        text = more;
    }
    char *more = mem_printf("%ssync 7\n", text);
    mem_free(text);
    assert_non_null(more);
    return more;
}

static inline void rig_link(Rig *rig, const char *program, const KernelSpec *spec) {
    AsmObject *objects[2];
    Diag diag = {0};
    diag_init(&diag);
    rig_expect(asm_assemble("program", program, strlen(program), NULL, &objects[0], &diag), &diag);
    rig_expect(kernel_assemble(spec, &objects[1], &diag), &diag);
    rig_expect(
        asm_link((const AsmObject *const *)objects, 2, RIG_CODE, NULL, 0, &rig->image, &diag),
        &diag);
    rig->linked = true;
    asm_object_free(objects[0]);
    asm_object_free(objects[1]);
}

/* Runs the program from "start" to its host barrier; the memory is zeros, or rig->memory (`load`),
 * which then receives what the program left. */
static inline void rig_run(Rig *rig, const char *program, const KernelSpec *spec, bool load) {
    Diag diag;
    diag_init(&diag);
    rig_link(rig, program, spec);
    rig->machine = machine_create(1, NULL, NULL);
    Machine *machine = rig->machine;
    assert_non_null(machine);
    rig_expect(machine_load(machine, 0, RIG_CODE, rig->image.bytes, rig->image.size, &diag), &diag);
    if (load)
        rig_expect(machine_load(machine, 0, RIG_DATA, rig->memory, RIG_DATA_BYTES, &diag), &diag);
    uint32_t entry;
    assert_true(asm_image_symbol(&rig->image, "start", &entry));
    machine_start(machine, entry);
    rig_expect(machine_run(machine, &diag), &diag);
    if (load)
        rig_expect(machine_read(machine, 0, RIG_DATA, rig->memory, RIG_DATA_BYTES, &diag), &diag);
}

static inline uint32_t rig_word(Rig *rig, uint32_t address) {
    uint32_t word;
    Diag diag;
    diag_init(&diag);
    rig_expect(machine_read(rig->machine, 0, address, &word, sizeof word, &diag), &diag);
    return word;
}

/* Cycles of call i, and the cycle modulo 6 at which it was issued. */
static inline uint64_t rig_cycles(Rig *rig, size_t i, unsigned *start) {
    uint32_t before = rig_word(rig, RIG_TIMES + (uint32_t)(8 * i));
    uint32_t after = rig_word(rig, RIG_TIMES + (uint32_t)(8 * i) + 4);
    uint32_t call = before + RIG_CALL_LEAD - 1;
    *start = call % CHIP_WORKER_SLOTS;
    return after - call;
}

/* Places the operands of one call at random where the kernel may have them, `guard` bytes apart, or
 * returns false. */
static inline bool rig_place(const KernelSpec *spec, Random *random, RigCall *call) {
    enum { GUARD = 64, TRIES = 100000 };
    KernelInterface interface;
    kernel_interface(spec, &interface);
    for (unsigned try = 0; try < TRIES; try++) {
        bool good = true;
        for (uint32_t j = 0; j < interface.operand_count && good; j++) {
            const KernelOperand *operand = &interface.operands[j];
            uint32_t low =
                operand->memory_class == MEMORY_INTERLEAVED ? CHIP_REGION1_BASE : RIG_DATA;
            uint32_t size = operand->bytes + operand->tail;
            uint32_t high = CHIP_TILE_MEM_END - GUARD;
            if (size + GUARD > high - low)
                return false;
            uint32_t places = (high - low - GUARD - size) / operand->alignment + 1;
            uint32_t at = low + GUARD + (uint32_t)random_below(random, places) * operand->alignment;
            call->address[j] = at;
            good = !(at < CHIP_REGION1_BASE && at + size > CHIP_REGION1_BASE);
            for (uint32_t k = 0; k < j && good; k++) {
                uint32_t other = call->address[k];
                uint32_t bytes = interface.operands[k].bytes + interface.operands[k].tail;
                good = at + size + GUARD <= other || other + bytes + GUARD <= at;
                if (operand->apart >> k & 1)
                    good = good &&
                           !(chip_effective_mask(at, size) & chip_effective_mask(other, bytes));
            }
        }
        if (good)
            return true;
    }
    return false;
}
