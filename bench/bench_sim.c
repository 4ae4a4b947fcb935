/* Worker bundles and matrix multiply-adds a second of the simulator, plain and fast: medians of the
 * thread's processor time, so that other work on the machine does not count. */
#include "asm/asm.h"
#include "base/mem.h"
#include "base/random.h"
#include "kernel/kernel.h"
#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BASE   0x4C000u
#define RUNS   9
#define CALLS  20
#define ROUNDS 300 /* of an rpt of 200 times 4 bundles, in six workers */

/* Where operands begin: a matrix product's left one, its output, others. */
#define LEFT    0x5C000u
#define OUTPUT  0x90000u
#define WEIGHTS 0xC0000u

typedef enum Data { DATA_F16, DATA_F8 } Data;

/* Four bundles in a hardware loop. */
typedef struct Loop {
    const char *name;
    const char *body;
    unsigned macs; /* a bundle */
    Data data;
} Loop;

static const Loop loops[] = {
    {"integer",
     "{add $m1, $m1, 3; fnop}\n {add $m3, $m1, $m1; fnop}\n {shl $m3, $m3, 1; fnop}\n"
     "{cmpult $m4, $m3, $m1; fnop}\n",
     0, DATA_F16},
    {"integer and F16 lanes",
     "{add $m1, $m1, 3; f16v4add $a0:1, $a0:1, $a2:3}\n"
     "{add $m3, $m1, $m1; f16v4mul $a0:1, $a0:1, $a2:3}\n"
     "{shl $m3, $m3, 1; f16v4sub $a4:5, $a0:1, $a2:3}\n"
     "{cmpult $m4, $m3, $m1; f16v4max $a6:7, $a0:1, $a2:3}\n",
     0, DATA_F16},
    {"loads and F16 lanes",
     "{ld64step $a0:1, $mzero, $m6+=, 1; f16v4add $a6:7, $a4:5, $a2:3}\n"
     "{ld64step $a2:3, $mzero, $m6+=, 1; f16v4mul $a6:7, $a4:5, $a0:1}\n"
     "{ld64step $a4:5, $mzero, $m6+=, 1; f16v4max $a6:7, $a2:3, $a0:1}\n"
     "{st64step $a6:7, $mzero, $m7+=, 1; f16v4sub $a0:1, $a4:5, $a2:3}\n",
     0, DATA_F16},
    {"loads and F32 lanes",
     "{ld64 $a0:1, $m2, $mzero, 0; f32v2add $a6:7, $a4:5, $a2:3}\n"
     "{ld64 $a2:3, $m2, $mzero, 1; f32v2mul $a6:7, $a4:5, $a0:1}\n"
     "{ld64 $a0:1, $m2, $mzero, 2; f32v2add $a6:7, $a4:5, $a2:3}\n"
     "{st64 $a6:7, $m2, $mzero, 3; f32v2add $a4:5, $a4:5, $a2:3}\n",
     0, DATA_F16},
    {"F8 matrix",
     "{ld2xst64pace $a0:3, $a4:5, $m8:9+=, $mzero, 0; f8v8hihov4amp $a4:5, $a0:1, $a2:3, 2}\n"
     "{ld2xst64pace $a0:3, $a6:7, $m8:9+=, $mzero, 0; f8v8hihov4amp $a6:7, $a0:1, $a2:3, 3}\n"
     "{ld2xst64pace $a0:3, $a4:5, $m8:9+=, $mzero, 0; f8v8hihov4amp $a4:5, $a0:1, $a2:3, 0}\n"
     "{ld2xst64pace $a0:3, $a6:7, $m8:9+=, $mzero, 0; f8v8hihov4amp $a6:7, $a0:1, $a2:3, 1}\n",
     128, DATA_F8},
    {"F16 matrix",
     "{ld2xst64pace $a0:3, $a4:5, $m8:9+=, $mzero, 0; f16v4hihov4amp $a4:5, $a0:1, $a2:3, 2}\n"
     "{ld2xst64pace $a0:3, $a6:7, $m8:9+=, $mzero, 0; f16v4hihov4amp $a6:7, $a0:1, $a2:3, 3}\n"
     "{ld2xst64pace $a0:3, $a4:5, $m8:9+=, $mzero, 0; f16v4hihov4amp $a4:5, $a0:1, $a2:3, 0}\n"
     "{ld2xst64pace $a0:3, $a6:7, $m8:9+=, $mzero, 0; f16v4hihov4amp $a6:7, $a0:1, $a2:3, 1}\n",
     64, DATA_F16},
};

/* Whole calls of kernels. */
typedef struct Call {
    KernelSpec spec;
    uint32_t address[3]; /* of the operands */
    Data data;
} Call;

static const Call calls[] = {
    {{KERNEL_GEMM,
      {.gemm = {.precision = PRECISION_F8F143,
                .accumulate = true,
                .wide_weights = true,
                .rows = 82,
                .panels = 6,
                .groups = 10}}},
     {OUTPUT, LEFT, WEIGHTS},
     DATA_F8},
    {{KERNEL_GEMM,
      {.gemm = {.precision = PRECISION_F8F143,
                .wide_weights = true,
                .rows = 244,
                .panels = 6,
                .groups = 4}}},
     {OUTPUT, LEFT, WEIGHTS},
     DATA_F8},
    {{KERNEL_GEMM,
      {.gemm = {.precision = PRECISION_F16,
                .accumulate = true,
                .wide_weights = true,
                .rows = 82,
                .panels = 6,
                .groups = 10}}},
     {OUTPUT, LEFT, WEIGHTS},
     DATA_F16},
    {{KERNEL_CAST, {.cast = {.order = CAST_LINEAR, .fast = true, .count = 16384}}},
     {LEFT, WEIGHTS},
     DATA_F16},
    {{KERNEL_REDUCE, {.reduce = {4, 4416, true}}}, {OUTPUT, WEIGHTS, WEIGHTS + 0x4000}, DATA_F16},
    {{KERNEL_COPY, {.copy = {1, 4096, 8 * 4096, 8 * 4096, true}}}, {LEFT, WEIGHTS}, DATA_F16},
};

/* Each worker has 8 KiB at $m2 to load and 8 KiB at $m7 to store, with partials 11 words ahead. */
static char *loop_program(const char *body) {
    return mem_printf(
        ".supervisor\n start: setzi $m0, 3\n put $FP_INFMT, $m0\n setzi $m0, 56\n put $FP_ISCL, "
        "$m0\n"
        "setzi $m0, 0x%X\n put $CCCSLOAD, $m0\n .set i, 0\n .rept 64\n ld64putcs i\n .set i, i + "
        "1\n .endr\n"
        "again: setzi $m0, worker\n runall $m0, $mzero, 0\n sync 2\n sync 7\n bri again\n"
        ".worker\n .align 8\n worker: get $m6, $WSR\n and $m6, $m6, 7\n shl $m6, $m6, 13\n"
        "setzi $m2, 0x%X\n add $m2, $m2, $m6\n setzi $m7, 0x%X\n add $m11, $m7, $m6\n"
        "setzi $m0, %d\n setzi $a0, 8\n uput $FP_CLR, $a0\n ld64 $a0:1, $m2, $mzero, 0\n"
        "mov $a2:3, $a0:1\n mov $a4:5, $a0:1\n mov $a6:7, $a0:1\n"
        "round: add $m6, $m2, 0\n add $m7, $m11, 0\n add $m5, $m7, 88\n"
        "tapack $m8:9, $m2, $m5, $m7\n .align 8\n nop\n"
        "rpt 200, 3\n %s brnzdec $m0, again_round\n exitz $mzero\n"
        "again_round: bri round\n",
        WEIGHTS, LEFT, OUTPUT, ROUNDS - 1, body);
}

/* Calls the kernel CALLS times a run. */
static char *call_program(const Call *call) {
    char name[KERNEL_NAME_SIZE];
    int32_t scalars[KERNEL_MAX_SCALARS] = {-8};
    KernelInterface interface;
    kernel_interface(&call->spec, &interface);
    kernel_scalars(&call->spec, scalars);
    char *arguments = mem_printf("%s", "");
    for (uint32_t i = 0; arguments && i < interface.operand_count + interface.scalar_count; i++) {
        uint32_t value = i < interface.operand_count
                             ? call->address[i]
                             : (uint32_t)scalars[i - interface.operand_count];
        char *more = mem_printf("%s setzi $m%u, 0x%X\n or $m%u, $m%u, 0x%X\n", arguments, i + 2,
                                value & 0xFFFFF, i + 2, i + 2, value & 0xFFF00000);
        mem_free(arguments);
        arguments = more;
    }
    char *text = mem_printf(".globl start\n .supervisor\n start: setzi $m11, 0x%X\n"
                            ".rept %d\n %s call $m10, %s\n .endr\n sync 7\n bri start\n",
                            LEFT, CALLS, arguments, kernel_entry(&call->spec, name));
    mem_free(arguments);
    return text;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double processor_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Numbers of moderate size. */
static void fill(Machine *machine, Data data) {
    static uint8_t bytes[0x8000];
    Random random = random_seed(1);
    for (uint32_t i = 0; i < sizeof bytes; i += 2) {
        uint64_t bits = random_next(&random);
        uint16_t word =
            (uint16_t)(data == DATA_F8 ? (bits & 0x8787) + 0x3030 : (bits & 0x83FF) + 0x3400);
        memcpy(bytes + i, &word, sizeof word);
    }
    static const uint32_t places[] = {LEFT, LEFT + sizeof bytes, WEIGHTS, WEIGHTS + sizeof bytes};
    for (size_t i = 0; i < COUNT_OF(places); i++)
        machine_write(machine, 0, places[i], bytes, sizeof bytes, NULL);
}

/* Seconds of a run, which is `bundles` long; 0 after an error. */
static double run_seconds(const AsmImage *image, Data data, bool plain, double *bundles,
                          Diag *diag) {
    MachineOptions options = {.plain = plain};
    Machine *machine = machine_create(1, NULL, &options);
    uint32_t entry = 0;
    bool good = machine && asm_image_symbol(image, "start", &entry) &&
                machine_load(machine, 0, BASE, image->bytes, image->size, diag) == STATUS_OK;
    if (good) {
        fill(machine, data);
        machine_start(machine, entry);
    }
    double seconds[RUNS];
    for (int i = 0; i < RUNS && good; i++) {
        double before = (double)machine_counters(machine).bundles, begin = processor_seconds();
        good = machine_run(machine, diag) == STATUS_OK;
        seconds[i] = processor_seconds() - begin;
        *bundles = (double)machine_counters(machine).bundles - before;
    }
    machine_free(machine);
    if (!good)
        return 0;
    qsort(seconds, RUNS, sizeof *seconds, compare);
    return seconds[RUNS / 2];
}

/* Runs a program with up to one kernel; macs: in a run, or 0. */
static bool measure(const char *name, const char *text, const KernelSpec *spec, Data data,
                    double macs) {
    AsmObject *objects[2] = {NULL, NULL};
    AsmImage image = {0};
    Diag diag;
    diag_init(&diag);
    bool good = asm_assemble("bench.S", text, strlen(text), NULL, &objects[0], &diag) == STATUS_OK;
    if (spec)
        good = good && kernel_assemble(spec, &objects[1], &diag) == STATUS_OK;
    good = good && asm_link((const AsmObject *const *)objects, spec ? 2 : 1, BASE, NULL, 0, &image,
                            &diag) == STATUS_OK;
    double seconds[2] = {0, 0}, bundles = 0;
    for (int plain = 0; plain < 2 && good; plain++) {
        seconds[plain] = run_seconds(&image, data, plain, &bundles, &diag);
        good = seconds[plain] > 0;
    }
    if (good) {
        printf("%-32s %8.1f %8.1f", name, bundles / seconds[1] * 1e-6, bundles / seconds[0] * 1e-6);
        if (macs > 0)
            printf(" %8.2f", macs / seconds[0] * 1e-9);
        printf("\n");
    }
    diag_print(&diag, stderr);
    diag_free(&diag);
    asm_image_free(&image);
    asm_object_free(objects[0]);
    asm_object_free(objects[1]);
    return good;
}

/* Multiply-adds of a call; 0 if it is no GEMM. */
static double kernel_macs(const KernelSpec *spec) {
    const KernelGemm *gemm = &spec->gemm;
    if (spec->family != KERNEL_GEMM)
        return 0;
    unsigned inputs = gemm->precision == PRECISION_F16 ? 16 : 32;
    return 16.0 * inputs * gemm->rows * gemm->panels * gemm->groups;
}

int main(void) {
    bool good = true;
    printf("%-32s %8s %8s %8s\n", "M bundles/s", "plain", "fast", "GMAC/s");
    for (size_t i = 0; i < COUNT_OF(loops); i++) {
        char *text = loop_program(loops[i].body);
        good &= measure(loops[i].name, text, NULL, loops[i].data,
                        (double)loops[i].macs * ROUNDS * 200 * 4 * 6);
        mem_free(text);
    }
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        char name[KERNEL_NAME_SIZE];
        char *text = call_program(&calls[i]);
        good &= measure(kernel_name(&calls[i].spec, name), text, &calls[i].spec, calls[i].data,
                        CALLS * kernel_macs(&calls[i].spec));
        mem_free(text);
    }
    return good ? 0 : 5;
}
