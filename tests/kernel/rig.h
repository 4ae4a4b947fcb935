/* A bench for kernels: one simulated tile, a supervisor program that calls kernels, and memory
 * whose every byte is known before and compared after. Included by the kernel tests only. */
#pragma once

#include "asm/asm.h"
#include "base/random.h"
#include "chip/chip.h"
#include "kernel/kernel.h"
#include "kernel/step.h"
#include "sim/sim.h"
#include "testing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
    unsigned checks; /* of the machine; all but for operands that hold NaNs */
    MachineOperand operands[KERNEL_MAX_OPERANDS + 3];
    uint32_t operand_count; /* 0: all of memory */
} Rig;

static inline void rig_expect(Status status, Diag *diag) {
    if (status != STATUS_OK) {
        diag_print(diag, stderr);
        fail();
    }
    diag_free(diag);
}

static inline void rig_create(Rig *rig) {
    *rig = (Rig){.memory = calloc(RIG_DATA_BYTES, 1), .checks = MACHINE_CHECK_ALL};
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

/* One argument takes RIG_ARGUMENT_CYCLES: two instructions, the second waiting for the first. */
enum { RIG_ARGUMENT_CYCLES = CHIP_SUP_RESULT_LATENCY + 1 };

enum { RIG_MAX_ARGUMENTS = KERNEL_MAX_OPERANDS + KERNEL_MAX_SCALARS };

/* A call's arguments in the order of their registers; returns their number. */
static inline uint32_t rig_values(const KernelSpec *spec, const RigCall *call,
                                  int32_t values[RIG_MAX_ARGUMENTS]) {
    KernelInterface interface;
    kernel_interface(spec, &interface);
    int32_t scalars[KERNEL_MAX_SCALARS];
    memcpy(scalars, call->scalar, sizeof scalars);
    kernel_scalars(spec, scalars);
    for (uint32_t j = 0; j < interface.operand_count; j++)
        values[j] = (int32_t)call->address[j];
    for (uint32_t j = 0; j < interface.scalar_count; j++)
        values[interface.operand_count + j] = scalars[j];
    return interface.operand_count + interface.scalar_count;
}

/* Text that loads a call's arguments. mem_free. */
static inline char *rig_arguments(const KernelSpec *spec, const RigCall *call) {
    int32_t values[RIG_MAX_ARGUMENTS];
    uint32_t count = rig_values(spec, call, values);
    char *text = mem_printf("%s", "");
    for (uint32_t j = 0; j < count; j++) {
        uint32_t value = (uint32_t)values[j];
        char *more = mem_printf("%ssetzi $m%" PRIu32 ", 0x%" PRIX32 "\nor $m%" PRIu32 ", $m%" PRIu32
                                ", 0x%" PRIX32 "\n",
                                text, j + 2, value & 0xFFFFF, j + 2, j + 2, value & 0xFFF00000);
        mem_free(text);
        text = more;
    }
    return text;
}

/* What a kernel may find: NaNs in all accumulators and registers of the workers, and every control
 * register of the floating point units set otherwise than anyone wants it. */
static const char rig_dirt[] = //
    ".worker\n"
    "dirt: setzi $a0, 0x07E00\n"
    "or $a0, $a0, 0x7E000000\n"
    "or $a1, $a0, $a0\n"
    "or64 $a2:3, $a0:1, $a0:1\n"
    "or64 $a4:5, $a0:1, $a0:1\n"
    "or64 $a6:7, $a0:1, $a0:1\n"
    "uput $TAS, $a0\n"
    "uput $FP_NFMT, $azero\n"
    ".rept 4\n"
    "f16v4hihov4amp $azeros, $a0:1, $a0:1, 0\n"
    "f16v4hihov4amp $azeros, $a0:1, $a0:1, 1\n"
    "f16v4hihov4amp $azeros, $a0:1, $a0:1, 2\n"
    "f16v4hihov4amp $azeros, $a0:1, $a0:1, 3\n"
    ".endr\n"
    "exitz $mzero\n"
    ".supervisor\n"
    ".macro DIRT\n"
    "setzi $m0, dirt\n"
    "runall $m0, $m11, 0\n"
    "sync 2\n"
    "setzi $m0, 0x30007\n"    /* exceptions, round toward zero */
    "or $m0, $m0, 0x100000\n" /* overflow to NaN */
    "put $FP_ICTL, $m0\n"
    "setzi $m0, 5\n"
    "put $FP_ISCL, $m0\n"
    "put $FP_INFMT, $mzero\n"
    ".endm\n";

/* Calls `spec` once for each entry of calls, and notes the cycle counter before and after. */
static inline char *rig_program(const KernelSpec *spec, const RigCall *calls, size_t count,
                                bool dirty) {
    char name[KERNEL_NAME_SIZE];
    kernel_entry(spec, name);
    char *text = mem_printf("%s.globl start\nstart:\nsetzi $m11, %d\n%s", rig_dirt, RIG_STACK,
                            dirty ? "DIRT\n" : "");
    for (size_t i = 0; i < count; i++) {
        char *arguments = rig_arguments(spec, &calls[i]);
        char *more = mem_printf("%s.rept %" PRIu32 "\nsetzi $m0, 0\n.endr\n%s", text,
                                calls[i].delay, arguments);
        mem_free(arguments);
        mem_free(text);
        text = more;
        more = mem_printf("%s"
                          "setzi $m0, %d\n"
                          "get $m1, $SCOUNT_L\n"
                          "st32 $m1, $m0, $m15, 0\n"
                          "call $m10, %s\n"
                          "get $m1, $SCOUNT_L\n"
                          "setzi $m0, %d\n"
                          "st32 $m1, $m0, $m15, 1\n",
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

/* The call may access its operands, the stack and the words for times, and nothing else. */
static inline void rig_declare(Rig *rig, const KernelSpec *spec, const RigCall *call) {
    KernelInterface interface;
    kernel_interface(spec, &interface);
    rig->operand_count = 0;
    for (uint32_t j = 0; j < interface.operand_count; j++) {
        const KernelOperand *operand = &interface.operands[j];
        rig->operands[rig->operand_count++] = (MachineOperand){
            operand->name, call->address[j], operand->bytes, operand->tail, operand->written};
    }
    rig->operands[rig->operand_count++] = (MachineOperand){"stack", RIG_STACK - 256, 256, 0, true};
    rig->operands[rig->operand_count++] = (MachineOperand){"times", RIG_TIMES, 256, 0, true};
}

static inline bool rig_locate(void *context, uint32_t tile, uint32_t pc,
                              char text[MACHINE_PLACE_SIZE]) {
    const AsmImage *image = context;
    const AsmImageLine *line = asm_image_line(image, pc);
    (void)tile;
    if (line)
        snprintf(text, MACHINE_PLACE_SIZE, "%s:%" PRIu32, line->file, line->line);
    return line;
}

/* Runs the program from "start" to its host barrier; the memory is rig->memory, which then receives
 * what the program left. */
static inline void rig_run(Rig *rig, const char *program, const KernelSpec *spec) {
    Diag diag;
    diag_init(&diag);
    rig_link(rig, program, spec);
    rig->machine = machine_create(1, NULL, &(MachineOptions){.checks = rig->checks});
    Machine *machine = rig->machine;
    assert_non_null(machine);
    rig_expect(machine_load(machine, 0, RIG_CODE, rig->image.bytes, rig->image.size, &diag), &diag);
    rig_expect(machine_load(machine, 0, RIG_DATA, rig->memory, RIG_DATA_BYTES, &diag), &diag);
    if (rig->operand_count > 0) /* kernels have constants beside their code */
        rig->operands[rig->operand_count++] =
            (MachineOperand){"code", RIG_CODE, (uint32_t)rig->image.size, 0, false};
    machine_declare(machine, 0, rig->operands, rig->operand_count);
    machine_locate(machine, rig_locate, &rig->image);
    uint32_t entry;
    assert_true(asm_image_symbol(&rig->image, "start", &entry));
    machine_start(machine, entry);
    rig_expect(machine_run(machine, &diag), &diag);
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

/* A random place for `size` bytes in [low, high), often one that begins or ends with a memory
 * element. */
static inline uint32_t rig_somewhere(Random *random, uint32_t low, uint32_t high, uint32_t size,
                                     uint32_t alignment) {
    uint32_t places = (high - low - size) / alignment + 1;
    uint32_t at = low + (uint32_t)random_below(random, places) * alignment;
    switch (random_below(random, 4)) {
    case 0: return at / CHIP_MEM_ELEM_SIZE * CHIP_MEM_ELEM_SIZE;
    case 1:
        at = (at + size) / CHIP_MEM_ELEM_SIZE * CHIP_MEM_ELEM_SIZE - size;
        return at / alignment * alignment;
    default: return at;
    }
}

static inline void rig_expect_symmetry(const KernelInterface *interface) {
    for (uint32_t j = 0; j < interface->operand_count; j++)
        for (uint32_t k = 0; k < interface->operand_count; k++) {
            const KernelOperand *one = &interface->operands[j], *other = &interface->operands[k];
            assert_int_equal(one->apart >> k & 1, other->apart >> j & 1);
            assert_int_equal(one->same >> k & 1, other->same >> j & 1);
        }
}

/* Places the operands of one call at random where the kernel may have them, or returns false. */
static inline bool rig_place(const KernelSpec *spec, Random *random, RigCall *call) {
    enum { TRIES = 100000 };
    KernelInterface interface;
    kernel_interface(spec, &interface);
    rig_expect_symmetry(&interface);
    for (unsigned try = 0; try < TRIES; try++) {
        bool good = true;
        for (uint32_t j = 0; j < interface.operand_count && good; j++) {
            const KernelOperand *operand = &interface.operands[j];
            bool interleaved = operand->memory_class == MEMORY_INTERLEAVED;
            uint32_t low = interleaved ? CHIP_REGION1_BASE : RIG_DATA, high = CHIP_TILE_MEM_END;
            uint32_t size = operand->bytes + operand->tail;
            if (size > high - low)
                return false;
            uint32_t at = rig_somewhere(random, low, high, size, operand->alignment);
            call->address[j] = at;
            good = at >= low && at + size <= high &&
                   !(at < CHIP_REGION1_BASE && at + size > CHIP_REGION1_BASE);
            for (uint32_t k = 0; k < j && good; k++) {
                uint32_t other = call->address[k];
                uint32_t bytes = interface.operands[k].bytes + interface.operands[k].tail;
                good = at + size <= other || other + bytes <= at;
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

/* A valid kernel in a tile full of NaNs, its operands at random places. */
static inline void rig_start(Rig *rig, const KernelSpec *spec, Random *random, RigCall *call) {
    Diag diag;
    diag_init(&diag);
    rig_expect(kernel_check(spec, &diag), &diag);
    rig_create(rig);
    rig_fill_nan(rig);
    *call = (RigCall){.delay = (uint32_t)random_below(random, CHIP_WORKER_SLOTS)};
    assert_true(rig_place(spec, random, call));
}

/* variant: 1 F16 in place of FP8, 2 accumulate, 4 wide weights; FP8: 8 and 16 half panels of left
 * and right, 32 half a panel less, if one of them is. */
enum { RIG_GEMM_VARIANTS = 64 };
static inline KernelSpec rig_gemm(uint32_t rows, uint32_t panels, uint32_t groups,
                                  unsigned variant) {
    bool f8 = !(variant & 1);
    return (KernelSpec){.family = KERNEL_GEMM,
                        .gemm = {.precision = f8 ? PRECISION_F8F143 : PRECISION_F16,
                                 .accumulate = variant & 2,
                                 .wide_weights = variant & 4,
                                 .rows = rows,
                                 .panels = panels,
                                 .groups = groups,
                                 .half_left = f8 && variant & 8,
                                 .half_right = f8 && variant & 16,
                                 .odd = f8 && variant & 32 && variant & 24,
                                 .packed = variant & 64 && !(f8 && variant & 8)}};
}

/* kind: whole panels, half panels, packed output. */
enum { RIG_GEMM_KINDS = 3 };
static inline KernelSpec rig_draw_gemm(Random *random, unsigned kind) {
    uint32_t most = kind == 2 ? 144 : 300;
    uint32_t rows = 1 + (uint32_t)random_below(random, random_below(random, 4) ? 60 : most);
    uint32_t panels = 1 + (uint32_t)random_below(random, 6);
    uint32_t groups = 1 + (uint32_t)random_below(random, 5);
    unsigned variant = (unsigned)random_below(random, RIG_GEMM_VARIANTS);
    switch (kind) {
    case 0: return rig_gemm(rows, panels, groups, variant & 7);
    case 1:
        variant &= ~1u;
        return rig_gemm(rows, panels, groups, variant & 24 ? variant : variant | 24);
    default: return rig_gemm(rows, panels, groups, (variant & ~8u) | 64);
    }
}

/* Where two operands may be the same bytes, makes them so. */
static inline void rig_alias(const KernelSpec *spec, RigCall *call) {
    KernelInterface interface;
    kernel_interface(spec, &interface);
    for (uint32_t j = 1; j < interface.operand_count; j++)
        if (interface.operands[0].same >> j & 1)
            call->address[0] = call->address[j];
}

/* Runs the kernel on the operands that lie in rig->memory. All of memory must become as the
 * reference says. */
static inline void rig_check_values(Rig *rig, const KernelSpec *spec, const RigCall *call) {
    KernelInterface interface;
    kernel_interface(spec, &interface);
    char name[KERNEL_NAME_SIZE];
    uint8_t *expected = malloc(RIG_DATA_BYTES);
    assert_non_null(expected);
    memcpy(expected, rig->memory, RIG_DATA_BYTES);
    void *operands[KERNEL_MAX_OPERANDS];
    for (uint32_t j = 0; j < interface.operand_count; j++)
        operands[j] = expected + (call->address[j] - RIG_DATA);
    kernel_reference(spec, operands, call->scalar);
    char *program = rig_program(spec, call, 1, true);
    rig_declare(rig, spec, call);
    rig_run(rig, program, spec);
    mem_free(program);
    for (uint32_t i = 0; i < RIG_DATA_BYTES; i++)
        if (expected[i] != rig->memory[i])
            fail_msg("%s: address 0x%X is %02X, expected %02X; operands at 0x%X, 0x%X, 0x%X",
                     kernel_name(spec, name), RIG_DATA + i, rig->memory[i], expected[i],
                     call->address[0], call->address[1], call->address[2]);
    free(expected);
}

/* The cycle formula against the simulator: six calls in one program, delayed so that, if the
 * formula holds, each starts at another phase. Operands lie at random, and are zeros. */
static inline void rig_check_cycles(const KernelSpec *spec, Random *random) {
    KernelInterface interface;
    kernel_interface(spec, &interface);
    RigCall calls[CHIP_WORKER_SLOTS];
    RigCall call = {0};
    assert_true(rig_place(spec, random, &call));
    uint64_t arguments = interface.operand_count + interface.scalar_count;
    uint64_t lead = arguments * RIG_ARGUMENT_CYCLES + RIG_CALL_LEAD, now = 1 + lead;
    for (unsigned phase = 0; phase < CHIP_WORKER_SLOTS; phase++) {
        uint64_t delay = (phase + CHIP_WORKER_SLOTS - now % CHIP_WORKER_SLOTS) % CHIP_WORKER_SLOTS;
        calls[phase] = call;
        calls[phase].delay = (uint32_t)delay;
        now += delay + kernel_cycles(spec, phase) + RIG_CALL_TRAIL + lead;
    }
    Rig rig;
    rig_create(&rig);
    char *program = rig_program(spec, calls, CHIP_WORKER_SLOTS, false);
    rig_declare(&rig, spec, &call);
    rig_run(&rig, program, spec);
    mem_free(program);
    for (unsigned phase = 0; phase < CHIP_WORKER_SLOTS; phase++) {
        unsigned start;
        uint64_t cycles = rig_cycles(&rig, phase, &start), formula = kernel_cycles(spec, phase);
        char name[KERNEL_NAME_SIZE];
        if (start != phase || cycles != formula)
            fail_msg("%s, start %u (%u): %" PRIu64 " cycles, formula %" PRIu64,
                     kernel_name(spec, name), start, phase, cycles, formula);
    }
    rig_free(&rig);
}

/* Cycles as published figures of ipu-stack were taken: from one sample of the cycle counter to the
 * next with the call in between. A sample is a launch whose worker 0 reads the counter in its 4th
 * bundle of 8 while the others take 4; two samples back to back are 90 cycles apart. */
static const char rig_sampling[] = //
    ".macro SAMPLE place\n"
    "setzi $m0, sample\n"
    "setzi $m1, \\place\n"
    ".rept 12\nsetzi $m6, 0\n.endr\n"
    "runall $m0, $m1, 0\n"
    "sync 2\n"
    ".rept 8\nsetzi $m6, 0\n.endr\n"
    ".endm\n"
    ".worker\n"
    "sample: get $m0, $WSR\n"
    "and $m0, $m0, 7\n"
    "brnz $m0, other\n"
    "get $m1, $COUNT_L\n"
    "st32 $m1, $mvertex_base, $mzero, 0\n"
    "nop\n"
    "nop\n"
    "exitz $mzero\n"
    "other: exitz $mzero\n"
    ".supervisor\n"
    ".globl start\n"
    "start: setzi $m11, 0x586E0\n"
    "SAMPLE 0x58000\n"
    "SAMPLE 0x58004\n"
    "%s"
    "call $m10, %s\n"
    "SAMPLE 0x58008\n"
    "sync 7\n";

/* The call's arguments as a compiled program loads them (kernel/step.h). mem_free. */
static inline char *rig_step_arguments(const KernelSpec *spec, const RigCall *call) {
    KernelInterface interface;
    kernel_interface(spec, &interface);
    int32_t values[RIG_MAX_ARGUMENTS];
    uint32_t count = rig_values(spec, call, values);
    char *text = mem_printf("%s", "");
    for (unsigned pass = 0; pass < 3; pass++)
        for (uint32_t j = 0; j < count; j++) {
            int32_t value = values[j];
            bool is_long = j >= interface.operand_count && kernel_scalar_is_long(value);
            if (pass == 1 ? is_long : !is_long)
                continue;
            uint32_t bits = (uint32_t)value;
            char line[64];
            if (pass == 2)
                snprintf(line, sizeof line, "or $m%u, $m%u, 0x%X", j + 2, j + 2, bits & 0xFFF00000);
            else if (pass == 1 && value < 0)
                snprintf(line, sizeof line, "add $m%u, $m15, %d", j + 2, value);
            else
                snprintf(line, sizeof line, "setzi $m%u, 0x%X", j + 2, bits & 0xFFFFF);
            char *more = mem_printf("%s%s\n", text, line);
            mem_free(text);
            text = more;
        }
    return text;
}

static inline uint64_t rig_sampled_cycles(const KernelSpec *spec, Random *random) {
    Rig rig;
    rig_create(&rig);
    RigCall call = {0};
    assert_true(rig_place(spec, random, &call));
    char name[KERNEL_NAME_SIZE];
    char *arguments = rig_step_arguments(spec, &call);
    char *program = mem_printf(rig_sampling, arguments, kernel_entry(spec, name));
    mem_free(arguments);
    rig_declare(&rig, spec, &call);
    rig_run(&rig, program, spec);
    mem_free(program);
    assert_int_equal(rig_word(&rig, 0x58004) - rig_word(&rig, 0x58000), 90);
    uint64_t cycles = rig_word(&rig, 0x58008) - rig_word(&rig, 0x58004);
    rig_free(&rig);
    return cycles;
}

/* Under a sanitizer only a quarter of the shapes of a long sweep are run. */
static inline bool rig_skips(Random *random) {
#ifdef __SANITIZE_ADDRESS__
    return random_below(random, 4) != 0 && !getenv("TW_TEST_ALL");
#else
    (void)random;
    return false;
#endif
}

/* A random kernel of one kind; what has no place on a tile does not count. */
typedef KernelSpec RigDraw(Random *random, unsigned kind);
typedef void RigCheck(const KernelSpec *spec, Random *random);

static inline bool rig_holds(const KernelSpec *spec) {
    enum { BYTES_MOST = 200000 }; /* of all operands: random places are found soon */
    if (kernel_check(spec, NULL) != STATUS_OK)
        return false;
    KernelInterface interface;
    kernel_interface(spec, &interface);
    uint64_t bytes = 0;
    for (uint32_t j = 0; j < interface.operand_count; j++)
        bytes += interface.operands[j].bytes;
    return bytes <= BYTES_MOST;
}

/* Checks `count` kernels of each kind. */
static inline void rig_check_drawn(RigDraw *draw, unsigned kinds, RigCheck *check, uint64_t seed,
                                   unsigned count) {
    Random random = random_seed(seed);
    for (unsigned kind = 0; kind < kinds; kind++)
        for (unsigned counted = 0; counted < count;) {
            KernelSpec spec = draw(&random, kind);
            if (!rig_holds(&spec))
                continue;
            check(&spec, &random);
            counted++;
        }
}

/* 50 of each kind, others in each run. */
static inline void rig_check_fresh(RigDraw *draw, unsigned kinds, RigCheck *check) {
    uint64_t seed = (uint64_t)time(NULL);
    print_message("seed %" PRIu64 "\n", seed);
    rig_check_drawn(draw, kinds, check, seed, getenv("TW_TEST_ALL") ? 1000 : 50);
}

static inline void rig_check_some_cycles(const KernelSpec *spec, Random *random) {
    if (!rig_skips(random))
        rig_check_cycles(spec, random);
}

/* The cycle formula at `count` more shapes of each kind, the same ones in each run, so that with
 * those of its other tests each kernel has 200. */
static inline void rig_check_fixed(RigDraw *draw, unsigned kinds, unsigned count) {
    rig_check_drawn(draw, kinds, rig_check_some_cycles, count, count);
}

/* Prints our cycles beside a published figure (0: there is none), and demands that they are not
 * more than `most`. */
static inline void rig_compare(const KernelSpec *spec, Random *random, const char *shape,
                               uint64_t published, uint64_t most) {
    uint64_t cycles = rig_sampled_cycles(spec, random);
    print_message("%-34s published %6" PRIu64 ", at most %6" PRIu64 ", sampled %6" PRIu64
                  ", call %6" PRIu64 "\n",
                  shape, published, most, cycles, kernel_cycles(spec, 0));
    assert_true(cycles <= most);
}
