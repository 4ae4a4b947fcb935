/* Trying out one function of assembly text on one simulated tile: its results, its cycles, and what
 * every line of it costs. */
#pragma once

#include "tilework/assembly.h"

enum { TW_WORKERS = 6, TW_KERNEL_MAX_RANK = 4 };

/* Buffers are described by texts "NAME=TYPE:SHAPE[:CONTENT][@PLACE]":
 *   TYPE     f8 (F143; f8/E: with scale exponent E), f16, f32, u8, u16, u32, i8, i16, i32
 *   SHAPE    2208 or 4x16; +BYTES behind it may be read too, and the values not used
 *   CONTENT  zero, nan, ramp, random, bits, fill=V, list=V,V,…, file=PATH (.npy: values; else
 * bytes) PLACE    interleaved, standard, or an address */
typedef struct TwKernelOptions {
    const char *const *sources; /* assembled and linked together; the first holds the function */
    size_t source_count;
    TwAssembleOptions assemble;
    const char *entry; /* NULL: the only global function of the first source */
    const char *const *outputs, *const *inputs;
    size_t output_count, input_count;
    /* With commas: NAME, NAME+BYTES, #NAME (elements), whole numbers, f32:V, f16:V; mN=… for
     * another register than the next. NULL: the addresses of all buffers, outputs first. Functions
     * of the supervisor find them in $m2, $m3, …; those of workers as words at their vertex base.
     */
    const char *arguments;
    const char *const *expected; /* NAME=CONTENT */
    size_t expected_count;
    unsigned workers; /* to launch a function of workers on; 0: all six */
    unsigned start;   /* issue slot of the call, 0…5 */
    uint64_t budget;  /* cycles; 0: ten million */
    uint64_t seed;    /* of random contents */
    FILE *trace;      /* a line for every issue; NULL: none */
    /* Without checks of what the chip allows and is wrong: to use what was never written, races of
     * workers, accesses outside buffers, frame and stack, stores to what is no output, NaNs in
     * matrix products. */
    bool unchecked;
} TwKernelOptions;

typedef struct TwKernelBuffer {
    const char *name, *type; /* "f16" */
    unsigned rank;
    uint32_t dims[TW_KERNEL_MAX_RANK];
    uint32_t count, bytes, address;
    bool output;
    bool expected; /* it was compared, bit by bit */
    uint32_t differing, first_difference;
} TwKernelBuffer;

typedef struct TwKernelLine {
    const char *file; /* NULL: the code that makes the call */
    unsigned line;
    const char *text;    /* of the source; "" if it cannot be read */
    uint64_t executions; /* by all contexts; 0 of lines that stand between executed ones */
    uint64_t by_worker[TW_WORKERS];
    uint64_t cycles; /* of the call */
    uint64_t lost;   /* of these, cycles in which nothing was issued */
    int64_t excess;  /* slots of the longest worker less those of the shortest, over all launches */
} TwKernelLine;

typedef struct TwKernelWorker {
    uint64_t runs;       /* times that it was started */
    uint64_t issues;     /* bundles and single instructions */
    uint64_t slots;      /* those, and what long operations take beyond one */
    uint64_t longest_in; /* launches that it ended last */
} TwKernelWorker;

typedef struct TwKernelInstruction {
    const char *mnemonic;
    uint64_t executions;
} TwKernelInstruction;

/* Every cycle of the call belongs to one line: while workers run to the one that ends last
 * executes, else to the supervisor's last instruction. */
typedef struct TwKernelReport {
    const char *entry;
    bool worker;          /* the function is code of workers */
    uint64_t cycles;      /* from the issue of the call to that of what follows it */
    uint64_t least, most; /* over the six slots that the call can be issued in */
    uint64_t sampled;     /* between two cycle samples, as published timings are; 0: of workers */
    uint64_t launches, supervisor_issues, worker_issues;
    uint64_t pairs;    /* worker issues in which both halves of a bundle do something */
    uint64_t lost;     /* cycles in which nothing was issued */
    bool left_running; /* it returned while workers ran */
    TwKernelWorker workers[TW_WORKERS];
    /* Of the launch in which longest and shortest worker are farthest apart, and over all. */
    unsigned longest, shortest;
    uint64_t longest_slots, shortest_slots;
    int64_t excess;
    const TwKernelBuffer *buffers; /* outputs, then inputs */
    size_t buffer_count;
    const TwKernelLine *lines; /* by file, line */
    size_t line_count;
    const TwKernelInstruction *instructions; /* most executions first */
    size_t instruction_count;
} TwKernelReport;

typedef struct TwKernelRun TwKernelRun;

/* Assembles, runs and accounts. *run is NULL after an error. */
TwStatus tw_kernel_run(TwContext *context, const TwKernelOptions *options, TwKernelRun **run);
void tw_kernel_free(TwKernelRun *run);
const TwKernelReport *tw_kernel_report(const TwKernelRun *run);
/* An element after the call; what was expected (of a buffer with `expected`). */
double tw_kernel_value(const TwKernelRun *run, size_t buffer, uint32_t element);
double tw_kernel_expected(const TwKernelRun *run, size_t buffer, uint32_t element);
/* Elements of a buffer that differ in some bit between two runs; UINT32_MAX if their shapes or
 * types do. */
uint32_t tw_kernel_differing(const TwKernelRun *run, const TwKernelRun *other, size_t buffer);
/* Writes a buffer after the call: values to a file that is called .npy, else bytes. An unknown name
 * is an error. */
TwStatus tw_kernel_save(TwContext *context, const TwKernelRun *run, const char *name,
                        const char *path);
