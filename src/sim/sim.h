/* The simulated chip: N tiles, each a supervisor and six workers sharing one pipeline of six issue
 * slots, executed bundle by bundle with values and cycles.
 *
 * Life of a machine: machine_create, machine_load (initial segments), machine_start, then
 * machine_run again and again. Each machine_run executes every tile until all of them wait in the
 * host barrier (`sync 7`), or returns the first trap. While they wait the caller may read and write
 * memory (host points); the next machine_run releases the barrier.
 *
 * Time: all tiles count the same cycles from 0 at machine_start. Between barriers tiles do not see
 * each other, so each runs alone to its next barrier and then the next tile does; values, cycles,
 * counters and traps are therefore identical for any number of threads.
 *
 * Exchange: after each barrier of all tiles (`sync 3`) a tile may execute one row of timed
 * instructions. Tiles pause at the ends of their rows; when all have reached a row's end or a
 * barrier, the fabric (sim/fabric.h) delivers what was sent, and they go on. Rows start
 * CHIP_SYNC_INTERNAL_CYCLES and the call after the last arrival. What breaks a rule of the exchange
 * traps.
 *
 * Addresses are byte addresses in tile memory, 0x4C000 … 0xE7FFF (chip/chip.h).
 */
#pragma once

#include "base/diag.h"
#include "base/pool.h"
#include "isa/isa.h"

#include <stddef.h>
#include <stdint.h>

typedef struct Machine Machine;

/* Latencies that published timings leave within a range. 0: the constant of chip.def. */
typedef struct MachineTiming {
    uint32_t runall_latency;       /* CHIP_RUNALL_LATENCY */
    uint32_t taken_branch;         /* CHIP_SUP_TAKEN_BRANCH */
    uint32_t exit_to_resume;       /* CHIP_EXIT_TO_RESUME */
    uint32_t sync_internal_cycles; /* CHIP_SYNC_INTERNAL_CYCLES */
} MachineTiming;

/* An instruction or bundle that a context issued. */
typedef struct MachineIssue {
    uint64_t cycle;
    uint32_t tile;
    uint32_t context; /* 0 … 5, or MACHINE_SUPERVISOR */
    uint32_t pc;
    uint32_t slots; /* of its context that it takes: more than 1 for long operations */
} MachineIssue;

typedef struct MachineOptions {
    /* A tile that issues nothing but its own code for this many cycles after a release traps with
     * ERR_SIM_BUDGET. 0 = MACHINE_CYCLE_BUDGET. */
    uint64_t cycle_budget;
    /* Keep the time line of every tile (machine_timeline). */
    bool timeline;
    /* Play every exchange event by event, also one that is known to only copy. The same results. */
    bool play_exchange;
    /* Issue packet by packet and compute at once what is issued: slow, for comparison. Values,
     * cycles, counters and traps are the same. */
    bool plain;
    /* Matrix units that align their terms to 33 bits (num/aligned.h) instead of the exact model.
     * Implies `plain`. */
    bool amp_aligned33;
    MachineTiming timing;
    /* Called after every issue of a tile, in the order of cycles; from several threads at once for
     * different tiles. Implies `plain`. NULL: not called. */
    void (*issued)(void *issued_context, const MachineIssue *issue);
    void *issued_context;
    /* Which checks to hold the program against, of MachineCheck; 0: only what the chip refuses, or
     * all of them if the environment has TILEWORK_CHECK.
     * Packets are issued as with `plain`. Values, cycles and counters are the same. */
    unsigned checks;
} MachineOptions;

/* What a program may do on the chip and should not. Values are followed through registers,
 * accumulators and weights, and a wrong one traps where it reaches memory, a branch, an address or
 * a control register: what is only loaded, or drained and dropped, does no harm. */
typedef enum MachineCheck {
    /* Memory and registers that were never written: ERR_SIM_UNWRITTEN. */
    MACHINE_CHECK_UNWRITTEN = 1,
    /* Two workers of one launch store different values to a word, or one uses what the other
     * stores: ERR_SIM_RACE. The supervisor and a worker, or the weights: ERR_SIM_RACE_SUPERVISOR.
     */
    MACHINE_CHECK_RACES = 2,
    /* Accesses outside the operands given to machine_declare and machine_declare_calls:
     * ERR_SIM_OUTSIDE. */
    MACHINE_CHECK_OPERANDS = 4,
    /* NaNs among the operands of matrix instructions: ERR_SIM_NAN. */
    MACHINE_CHECK_NAN = 8,
    MACHINE_CHECK_ALL = 15,
} MachineCheck;

#define MACHINE_CYCLE_BUDGET 4000000000u

/* tiles in 1 … CHIP_TILES. `pool` (may be NULL: this thread only) and `options` (may be NULL: all
 * zero) are borrowed; pool must outlive the machine. NULL without memory. */
Machine *machine_create(uint32_t tiles, Pool *pool, const MachineOptions *options);
void machine_free(Machine *machine);
uint32_t machine_tiles(const Machine *machine);

/* Puts initial bytes into a tile before machine_start. The bytes are copied; equal pages of all
 * tiles are kept once until one of them is written. Memory never loaded nor written reads as zero
 * and costs nothing. Errors: ERR_SIM_HOST_ACCESS (tile or range does not exist), ERR_NO_MEMORY. */
Status machine_load(Machine *machine, uint32_t tile, uint32_t address, const void *bytes,
                    size_t size, Diag *diag);

/* Host access at host points: any byte range of one tile's memory. Writing bytes that hold code is
 * allowed. Both may be called from several threads at once for different tiles. Errors as above. */
Status machine_read(const Machine *machine, uint32_t tile, uint32_t address, void *bytes,
                    size_t size, Diag *diag);
Status machine_write(Machine *machine, uint32_t tile, uint32_t address, const void *bytes,
                     size_t size, Diag *diag);

/* Every tile's supervisor will begin at `entry`, at cycle 0, all registers zero; counters and time
 * lines restart, memory stays. machine_start_tile gives one tile another entry afterwards. A bad
 * entry traps when it is fetched. */
void machine_start(Machine *machine, uint32_t entry);
void machine_start_tile(Machine *machine, uint32_t tile, uint32_t entry);

/* Names for messages: phase i after each host barrier is names[i]. Borrowed. */
void machine_name_phases(Machine *machine, const char *const *names, uint32_t count);

/* What a tile's program may access from now on, while MACHINE_CHECK_OPERANDS is on: loads in
 * `size` + `tail` bytes from `address` on, stores in `size` bytes where `stored`. A value loaded
 * from a tail must not be used. Borrowed until the next call; none: all of memory. */
typedef struct MachineOperand {
    const char *name; /* for messages */
    uint32_t address, size, tail;
    bool stored;
} MachineOperand;

void machine_declare(Machine *machine, uint32_t tile, const MachineOperand *operands,
                     uint32_t count);

/* An operand of a routine: it lies `offset` bytes from where main register `reg` of the supervisor
 * points when the routine is called. */
typedef struct MachineParameter {
    const char *name;
    uint32_t reg;
    int32_t offset;
    uint32_t size, tail;
    bool stored;
} MachineParameter;

enum { MACHINE_MAX_PARAMETERS = 12 };

/* The supervisor's `call` at `pc`, of a routine with so many parameters. */
typedef struct MachineCall {
    uint32_t pc;
    uint32_t count; /* at most MACHINE_MAX_PARAMETERS */
    const MachineParameter *parameters;
} MachineCall;

/* As machine_declare, for a program that calls routines: from each of these calls (ascending by pc)
 * to its return the tile may access the call's operands and the `operands` that all calls have; of
 * these MACHINE_MAX_PARAMETERS at most. Between calls all of memory is free. */
void machine_declare_calls(Machine *machine, uint32_t tile, const MachineCall *calls,
                           uint32_t count, const MachineOperand *operands, uint32_t operand_count);
/* The checks that are on, of MachineCheck. */
unsigned machine_checks(const Machine *machine);

/* Writes the source place of an instruction ("gemm.S:41") for messages; false if it is unknown. */
#define MACHINE_PLACE_SIZE 128
typedef bool (*MachineLocate)(void *context, uint32_t tile, uint32_t pc,
                              char text[MACHINE_PLACE_SIZE]);
void machine_locate(Machine *machine, MachineLocate locate, void *context);

/* Runs to the next host barrier of all tiles. STATUS_OK when all wait in it. Otherwise the code of
 * the trap that machine_trap tells about, also in `diag` (place.tile set); the machine can then be
 * inspected and freed, and machine_run again returns the same trap. */
Status machine_run(Machine *machine, Diag *diag);

/* Why a simulated program was stopped. */
typedef enum TrapClass {
    TRAP_UNDEFINED,        /* the chip raises an exception here, or does nothing useful */
    TRAP_UNPREDICTABLE,    /* the chip's behaviour cannot be relied on */
    TRAP_ELEMENT_CONFLICT, /* two accesses of one instruction meet in one memory element */
    TRAP_UNSUPPORTED,      /* outside what the simulator models (external devices) */
    TRAP_ENDLESS,          /* deadlock, or the cycle budget is used up */
    TRAP_UNINITIALISED,    /* what was never written is used */
    TRAP_RACE,             /* the result depends on which context is faster */
    TRAP_OUTSIDE,          /* outside the declared operands */
    TRAP_NAN,              /* a NaN was multiplied */
} TrapClass;

#define MACHINE_SUPERVISOR 6 /* context number of the supervisor; workers are 0 … 5 */
#define MACHINE_HOST       7 /* and of others that write memory: machine_load, machine_write, */
#define MACHINE_EXCHANGE   8 /* and another tile */

#define MACHINE_NONE UINT32_MAX

typedef struct MachineTrap {
    Status code; /* ERR_SIM_*, or ERR_NO_MEMORY */
    TrapClass class;
    uint32_t tile;
    uint32_t context; /* 0 … 5, or MACHINE_SUPERVISOR */
    uint32_t pc;      /* of the instruction that trapped */
    uint32_t address; /* memory address concerned, 0 if none */
    uint64_t cycle;
    /* Of an exchange: its number since the host barrier, the event on the tile's clock, the message
     * (sender, and which of its messages), the effective memory element. MACHINE_NONE where not. */
    uint32_t phase;
    int32_t event;
    uint32_t source, message, element;
    /* Of a check: who wrote the word at `address` last (MACHINE_NONE: nobody), and where: pc, or
     * the tile that sent it. Where the value concerned was read, MACHINE_NONE if it was not memory.
     */
    uint32_t writer, writer_pc, read_pc;
    char text[160];
} MachineTrap;

/* The trap that ended the last machine_run: the earliest by cycle, then by tile. NULL if none. */
const MachineTrap *machine_trap(const Machine *machine);
const char *trap_class_name(TrapClass class);

/* One tile since machine_start; the two cycles are those of the last machine_run. */
typedef struct MachineTileCounters {
    uint64_t released;     /* cycle at which the host barrier released it (0 in the first run) */
    uint64_t arrived;      /* cycle at which it reached the next host barrier */
    uint64_t bundles;      /* worker bundles and single worker instructions issued */
    uint64_t instructions; /* worker instructions: a bundle counts 2 */
    uint64_t supervisor;   /* supervisor instructions */
    uint64_t launches;     /* run and runall */
    uint64_t worker_slots; /* issue slots taken by workers, long operations included */
} MachineTileCounters;

MachineTileCounters machine_tile_counters(const Machine *machine, uint32_t tile);
/* Sums over tiles; `released` and `arrived` are the earliest release and the last arrival. */
MachineTileCounters machine_counters(const Machine *machine);

/* Time line of a tile's supervisor (option `timeline`): what it did at which cycle, ascending. */
typedef enum MachineEventKind {
    EVENT_CALL,    /* call issued; address = target */
    EVENT_RETURN,  /* br issued; address = target */
    EVENT_LAUNCH,  /* run or runall issued; address = entry of the workers */
    EVENT_JOIN,    /* supervisor resumed after a local sync */
    EVENT_ARRIVE,  /* arrived at a barrier of all tiles; address = sync zone, or 1 for `sans` */
    EVENT_RELEASE, /* a barrier of all tiles released it; address = sync zone */
} MachineEventKind;

typedef struct MachineEvent {
    uint64_t cycle;
    MachineEventKind kind;
    uint32_t address;
} MachineEvent;

const MachineEvent *machine_timeline(const Machine *machine, uint32_t tile, size_t *count);

/* Memory that the machine holds for tiles now, in bytes: pages (shared ones once) and code. */
uint64_t machine_memory_bytes(const Machine *machine);

/* Whether a form of isa.def has semantics: all have. */
bool sim_form_is_implemented(IsaForm form);
