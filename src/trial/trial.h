/* Trying out one function on one tile: memory from descriptions, one call, its results, and where
 * every cycle went.
 *
 * The function is code of the supervisor, called with arguments in $m2, $m3, …, or of workers,
 * launched with a frame of argument words at their vertex base. Whether it is the one or the other
 * its source says (.supervisor, .worker).
 *
 * A buffer is described by a text
 *
 *     NAME=TYPE:SHAPE[:CONTENT][@PLACE]
 *
 *   TYPE     f8 (F143; f8/E: with the scale exponent E), f16, f32, u8, u16, u32, i8, i16, i32
 *   SHAPE    whole numbers with x between them: 2208, 4x16; +BYTES behind them: that many bytes
 *            behind the buffer may be read, and the values not used
 *   CONTENT  zero, nan, ramp (0, 1, 2, …), ramp=FIRST,STEP, random (normal values of deviation 1;
 * whole numbers: any), bits (any finite pattern), fill=V, list=V,V,… (repeated), file=PATH (.npy:
 * values; else bytes). Inputs: random unless told; outputs: never written unless told PLACE
 * interleaved (unless told), standard, or an address
 *
 * Buffers without an address begin at the beginning of a memory element (a pair of them in
 * interleaved memory) that nothing else uses. */
#pragma once

#include "asm/asm.h"
#include "base/diag.h"
#include "base/mem.h"
#include "sim/sim.h"

typedef enum TrialType {
    TRIAL_F8,
    TRIAL_F16,
    TRIAL_F32,
    TRIAL_U8,
    TRIAL_U16,
    TRIAL_U32,
    TRIAL_I8,
    TRIAL_I16,
    TRIAL_I32,
    TRIAL_TYPE_COUNT
} TrialType;

const char *trial_type_name(TrialType type);
uint32_t trial_type_bytes(TrialType type);

enum { TRIAL_MAX_RANK = 4 };

typedef struct TrialBuffer {
    const char *name;
    TrialType type;
    int scale; /* exponent, of TRIAL_F8 */
    uint32_t rank, dims[TRIAL_MAX_RANK];
    uint32_t count, size; /* elements, bytes */
    uint32_t tail;        /* bytes behind it that may be read */
    uint32_t address;
    bool output;
    uint8_t *before; /* NULL: never written before the call */
    uint8_t *after;
    uint8_t *expected; /* NULL: nothing was */
    uint32_t differing, first_difference;
} TrialBuffer;

/* The value of an element of `bytes`. */
double trial_value(const TrialBuffer *buffer, const uint8_t *bytes, uint32_t index);
/* Writes a buffer's bytes after the call: values to a file that is called .npy, else bytes. */
Status trial_save(const TrialBuffer *buffer, const char *path, Diag *diag);

/* A line of source, over all of its instructions. */
typedef struct TrialLine {
    const char *file; /* NULL: code of the stub that calls */
    uint32_t line;
    uint64_t executions; /* by all contexts */
    uint64_t by_worker[CHIP_WORKERS];
    uint64_t cycles; /* of the call; see TrialProfile */
    uint64_t lost;   /* of these, cycles in which no context issued anything */
    int64_t excess; /* slots of the longest workers less those of the shortest, over all launches */
} TrialLine;

/* One mnemonic; nop and fnop are left out. */
typedef struct TrialInstruction {
    const char *mnemonic;
    uint64_t executions;
} TrialInstruction;

typedef struct TrialWorker {
    uint64_t runs;       /* times that it was started */
    uint64_t issues;     /* bundles and single instructions */
    uint64_t slots;      /* those and what long operations take beyond one */
    uint64_t longest_in; /* launches that it ended last */
} TrialWorker;

/* Where the cycles of the call went. Each belongs to one line: while workers run, from the first
 * bundle of the one that ends last to the supervisor's resumption, to the line that this worker
 * executes; else to the line of the supervisor's last instruction. What the supervisor does in the
 * slots of workers that ended early therefore costs no cycles. */
typedef struct TrialProfile {
    VEC(TrialLine) lines;               /* by file in order of first use, then line */
    VEC(TrialInstruction) instructions; /* by executions, falling */
    TrialWorker worker[CHIP_WORKERS];
    uint64_t launches; /* times that workers began to run while none did */
    uint64_t supervisor_issues;
    uint64_t lost;
    uint64_t pairs; /* worker issues in which both halves of a bundle do something */
    /* Of the launch in which longest and shortest worker are farthest apart. */
    unsigned longest, shortest;
    uint64_t longest_slots, shortest_slots;
    int64_t excess;    /* longest less shortest worker, summed over all launches */
    bool left_running; /* the function returned while workers ran */
} TrialProfile;

typedef struct Trial {
    Arena arena;
    AsmImage image; /* linked code of the objects; owns the names of files */
    const char *entry;
    bool worker;              /* code of workers */
    VEC(TrialBuffer) buffers; /* outputs, then inputs */
    uint64_t cycles;      /* from the issue of the call (of the launch) to that of what follows */
    uint64_t least, most; /* over the six slots that the call can be issued in; 0: not tried */
    uint64_t sampled;     /* between cycle samples before and after, as published; 0: of workers */
    TrialProfile profile;
} Trial;

typedef struct TrialOptions {
    const AsmObject *const *objects; /* linked together; the first holds the function */
    size_t object_count;
    const char *entry; /* NULL: the only global function of the first object */
    const char *const *outputs, *const *inputs; /* descriptions of buffers */
    size_t output_count, input_count;
    /* With commas: NAME (address of a buffer), NAME+BYTES, #NAME (its elements), whole numbers,
     * f32:V, f16:V; mN=… for a register of its own. Functions of the supervisor find them in $m2,
     * $m3, …; those of workers as words at their vertex base. NULL: addresses of all buffers. */
    const char *arguments;
    const char *const *expected; /* NAME=CONTENT */
    size_t expected_count;
    unsigned workers; /* that a function of workers is launched on, 1…6; 0: 6 */
    unsigned start;   /* slot, 0…5, in which the call is issued */
    uint64_t budget;  /* cycles; 0: TRIAL_BUDGET */
    uint64_t seed;    /* of random contents */
    FILE *trace;      /* every issue, a line each; NULL: none */
    /* Without the checks of sim.h: that nothing is used which was never written, that workers do
     * not race, that nothing outside buffers, frame and stack is accessed and only outputs are
     * stored to, that no NaN is multiplied. */
    bool unchecked;
} TrialOptions;

#define TRIAL_BUDGET 10000000u /* every cycle of a call is logged in 4 bytes */

/* Runs it. Errors: ERR_TRIAL_*, those of linking, and the simulator's traps with the line of
 * source. trial_free in any case. */
Status trial_run(const TrialOptions *options, Trial *trial, Diag *diag);
void trial_free(Trial *trial);
