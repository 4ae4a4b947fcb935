/* Calls between two samples of the cycle counter, as published timings were taken. */
#include "accuracy.h"

#include "asm/asm.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum {
    CODE = 0x4C000,
    SAMPLES = 0x60000,
    SCRATCH = 0x61000,
    STACK = 0x62000,
    TABLE = 0x63000, /* WORDS words a worker */
};

/* A sample: 14 supervisor cycles, in which the destination is put where worker 0 finds it, launch,
 * join, 8 cycles. Worker 0 reads the counter in the fourth of its eight bundles; the others end
 * after four. (Fitted to ipu-stack's timings: CHIP_SAMPLE_… of chip.def.) */
static const char frame[] = //
    ".macro cycles n\n .if \\n\n .rept \\n\n nop\n .endr\n .endif\n .endm\n"
    ".macro sample\n st32 $m4, $m6, $mzero, 0\n add $m4, $m4, 4\n cycles 12\n"
    " runall $m5, $m6, 0\n sync 2\n cycles 8\n .endm\n"
    ".macro bundles n\n .if \\n\n .rept \\n\n {nop; fnop}\n .endr\n .endif\n .endm\n"
    ".supervisor\n setzi $m4, %d\n setzi $m5, sampler\n setzi $m6, %d\n setzi $m11, %d\n"
    " setzi $m9, %d\n cycles 6\n sample\n%s sample\n sync 7\n%s"
    ".worker\n .align 8\n sampler:\n get $m0, $WSR\n and $m0, $m0, 7\n brnz $m0, 1f\n"
    " get $m1, $COUNT_L\n ld32 $m2, $mvertex_base, $mzero, 0\n st32 $m1, $m2, $mzero, 0\n nop\n"
    " 1: exitz $mzero\n .align 8\n%s";

static void stop(Diag *diag, const char *text) {
    diag_print(diag, stderr);
    fprintf(stderr, "%s\n", text);
    exit(1);
}

static unsigned run(const AsmImage *image, const uint32_t table[WORKERS][WORDS],
                    const Assumption *assumption, Diag *diag) {
    MachineOptions options = {.timing = *assumption};
    Machine *machine = machine_create(1, NULL, &options);
    uint32_t sample[2] = {0};
    if (!machine ||
        machine_load(machine, 0, image->base, image->bytes, image->size, diag) != STATUS_OK ||
        machine_load(machine, 0, TABLE, table, sizeof(uint32_t[WORKERS][WORDS]), diag) != STATUS_OK)
        stop(diag, "the stream cannot be loaded");
    machine_start(machine, image->base);
    if (machine_run(machine, diag) != STATUS_OK ||
        machine_read(machine, 0, SAMPLES, sample, sizeof sample, diag) != STATUS_OK)
        stop(diag, "the stream does not run");
    machine_free(machine);
    return sample[1] - sample[0];
}

/* step: what the supervisor does between the samples; routines: what it calls. */
static unsigned sampled(const char *step, const char *routines, const char *workers,
                        const uint32_t table[WORKERS][WORDS], const Assumption *assumption) {
    Diag diag;
    diag_init(&diag);
    char *text = mem_printf(frame, SAMPLES, SCRATCH, STACK, TABLE, step, routines, workers);
    AsmObject *object = NULL;
    AsmImage image = {0};
    if (!text || asm_assemble("stream.S", text, strlen(text), NULL, &object, &diag) != STATUS_OK)
        stop(&diag, text ? text : "no memory");
    const AsmObject *objects[] = {object};
    if (asm_link(objects, 1, CODE, NULL, 0, &image, &diag) != STATUS_OK)
        stop(&diag, text);
    unsigned cycles = run(&image, table, assumption, &diag);
    asm_image_free(&image);
    asm_object_free(object);
    mem_free(text);
    diag_free(&diag);
    return cycles;
}

/* A step of 2 a + 22 cycles around what the call does: `a` words are set, the frame is made and
 * filled, the entry is set. */
static unsigned sampled_step(unsigned arguments, unsigned entries, const char *body,
                             const char *workers, const uint32_t table[WORKERS][WORDS],
                             const Assumption *assumption) {
    char *step = mem_printf(" .rept %u\n setzi $m7, 1\n .endr\n call $m10, kernel\n", arguments);
    char *routine =
        mem_printf("kernel: add $m11, $m11, -64\n .rept %u\n st32 $m15, $m11, $mzero, 0\n .endr\n"
                   " %s\n %s\n setzi $m0, work\n%s add $m11, $m11, 64\n br $m10\n",
                   arguments, entries > 1 ? "setzi $m1, work1" : "nop",
                   entries > 2 ? "setzi $m2, work2" : "nop", body);
    if (!step || !routine)
        abort();
    unsigned cycles = sampled(step, routine, workers, table, assumption);
    mem_free(step);
    mem_free(routine);
    return cycles;
}

unsigned sampled_call(const Measurement *measurement, const Assumption *assumption) {
    char *supervisor = NULL, *workers = NULL;
    size_t size[2];
    Call call = {.arguments = measurement->stream->arguments};
    call.supervisor = open_memstream(&supervisor, &size[0]);
    call.workers = open_memstream(&workers, &size[1]);
    if (!call.supervisor || !call.workers)
        abort();
    measurement->stream->build(&call, measurement->stream, measurement->parameters);
    fclose(call.supervisor);
    fclose(call.workers);
    unsigned cycles =
        sampled_step(call.arguments, call.entries, supervisor, workers, call.word, assumption);
    free(supervisor);
    free(workers);
    return cycles;
}

static const uint32_t no_words[WORKERS][WORDS];

unsigned sampled_nothing(const Assumption *assumption) {
    return sampled("", "", "", no_words, assumption);
}

unsigned sampled_empty_call(unsigned arguments, const Assumption *assumption) {
    return sampled_step(arguments, 1, " runall $m0, $m9, 0\n sync 2\n", "work: exitz $mzero\n",
                        no_words, assumption);
}

unsigned sampled_empty_phase(const Assumption *assumption) {
    return sampled(" setzi $m8, 0x70000\n put $INCOMING_BASE, $m8\n put $OUTGOING_BASE, $mzero\n"
                   " call $m7, barrier\n setzi $m8, 1\n put $INCOMING_DCOUNT, $m8\n sync 3\n"
                   " call $m10, row\n",
                   "barrier: setzi $m0, barrier_worker\n runall $m0, $mzero, 0\n sync 2\n"
                   " br $m7\n row: br $m10\n",
                   "barrier_worker: exitz $mzero\n", no_words, assumption);
}
