/* What the files of the simulator share: pages and decoded code, contexts, tiles, the machine.
 *
 * One tile is run by one thread at a time. What several tiles share (equal pages and their decoded
 * code) never changes while tiles run.
 */
#pragma once

#include "base/mem.h"
#include "chip/chip.h"
#include "num/amp.h"
#include "sim/fabric.h"
#include "sim/sim.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

typedef struct Context Context;
typedef struct Tile Tile;

/* Decoded code ---------------------------------------------------------------------------------*/

typedef struct Half Half;
typedef void (*ExecFunction)(Context *context, const Half *half);
/* The same for the contexts first … end-1 of a tile, one after the other. */
typedef void (*GroupFunction)(Context *first, Context *end, const Half *half);

/* One instruction, ready to execute. r[i] is the i-th register operand of the form; registers only
 * written are numbered so that a write which the chip drops lands in a spare one (decode.c). imm is
 * the immediate; of two, r[3] holds the second. */
struct Half {
    ExecFunction run;
    GroupFunction run_group;
    int32_t imm;
    uint8_t r[4];
};

/* How a packet is executed; both halves of a bundle read before either writes. */
typedef enum Shape {
    SHAPE_UNDECODED = 0, /* the word was changed: decode it again */
    SHAPE_MAIN,          /* a single main instruction */
    SHAPE_AUX,           /* a single aux instruction */
    SHAPE_MAIN_AUX,      /* a bundle: main may run first */
    SHAPE_AUX_MAIN,      /* a bundle: aux may run first */
    SHAPE_CROSSED,       /* a bundle whose halves read what the other one writes */
    SHAPE_SUPERVISOR,    /* an instruction that workers may not execute */
    SHAPE_INVALID,       /* no instruction; imm is the Status to trap with */
    SHAPE_STRADDLE,      /* a bundle whose second word is in another page */
    SHAPE_END,           /* behind the last word of a granule: go on in the next one */
    SHAPE_GO,            /* go to context->target, wherever it is */
} Shape;

enum {
    PACKET_SUPERVISOR = 1,  /* the supervisor may execute it */
    PACKET_BODY_LEGAL = 2,  /* an rpt whose body was found legal */
    PACKET_COEFFICIENT = 4, /* reads $CCCSLOAD */
    PACKET_STRAIGHT = 8,    /* has neither control flow nor effects outside its worker and memory */
    PACKET_STORES = 16,     /* writes memory */
    PACKET_IDLE_MAIN = 32,  /* the main half does nothing */
    PACKET_IDLE_AUX = 64,   /* the aux half does nothing */
};

typedef struct Packet {
    Half main, aux;
    uint8_t shape;   /* Shape */
    uint8_t advance; /* words to the next packet */
    uint8_t slots;   /* issue slots of a worker */
    uint8_t flags;
    /* Main registers, a bit each: for the supervisor's interlock. Of a bundle, `writes` holds the
     * arithmetic registers that its main half writes. */
    uint16_t reads, writes;
    uint16_t main_form, aux_form;
    /* SHAPE_CROSSED: the arithmetic registers that the aux half writes and the main half reads. */
    uint8_t crossed_first, crossed_words;
} Packet;

/* Code is decoded by granules of 1 KiB: packet i is what begins at word i. The two behind the last
 * (a bundle may begin in the last word) have SHAPE_END. */
#define GRANULE_BITS  10u
#define GRANULE_BYTES (1u << GRANULE_BITS)
#define GRANULE_WORDS (GRANULE_BYTES / 4)

typedef struct Granule {
    Packet packet[GRANULE_WORDS + 2];
} Granule;

/* Memory ---------------------------------------------------------------------------------------*/

#define PAGE_BITS     12u
#define PAGE_BYTES    (1u << PAGE_BITS)
#define PAGE_COUNT    (CHIP_TILE_MEM_SIZE / PAGE_BYTES)
#define PAGE_GRANULES (PAGE_BYTES / GRANULE_BYTES)

typedef struct Page {
    _Alignas(16) uint8_t bytes[PAGE_BYTES];
    _Atomic(Granule *) code[PAGE_GRANULES];
    /* A shared page (owner NULL) never changes and is in the machine's table of pages. */
    const Tile *owner;
    bool watched;        /* private: code of it was decoded, so that stores must look */
    uint32_t references; /* shared: tiles that map it; guarded by Machine.mutex */
    uint64_t hash;
    struct Page *next; /* in its bucket, or in the list of released pages */
} Page;

/* Contexts -------------------------------------------------------------------------------------*/

#define WORKERS     CHIP_WORKERS
#define SUPERVISOR  MACHINE_SUPERVISOR
#define ALL_WORKERS ((1u << WORKERS) - 1)
#define SPARE_MAIN  4 /* written $m12 … $m15 go to m[16 …] */
#define SPARE_AUX   8 /* written $a8 … $a15 go to a[16 …] */
#define NO_GRANULE  UINT32_MAX

/* A row of a matrix product that is not computed yet: exec_rows.c. */
typedef struct RowQueue {
    uint8_t expected; /* 0: nothing is queued; else kind and next phase */
    bool computed;    /* the present row is finished, `sums` and `rounded` are its results */
    uint64_t x[AMP_PHASES];
    F16 partial[AMP_CHANNELS], next[AMP_CHANNELS], rounded[AMP_CHANNELS];
    float sums[AMP_CHANNELS];
} RowQueue;

struct Context {
    /* Where it is. `packet` points into the granule `code`, or to a packet with SHAPE_GO. */
    const Packet *packet;  /* to issue next */
    const Packet *current; /* being executed; NULL: at current_address */
    uint32_t current_address;
    Granule *code;
    uint32_t granule; /* address of `code` >> GRANULE_BITS, or NO_GRANULE */
    uint32_t target;  /* SHAPE_GO: address */

    /* rpt: rounds still to do, 0 outside. The pointers are NULL while the packet concerned lies in
     * another granule than `code`. */
    uint32_t repeats;
    uint32_t repeat_first, repeat_end; /* addresses of the body and of what follows it */
    const Packet *repeat_begin_packet, *repeat_end_packet;

    uint64_t cycle; /* worker: of its next issue; during an execution: of that issue */
    Tile *tile;
    uint32_t index; /* 0 … 5, SUPERVISOR */

    uint32_t m[16 + SPARE_MAIN];
    _Alignas(16) uint32_t a[16 + SPARE_AUX];
    /* AACC[2u] = compute[u], AACC[2u + 1] = shift[u]. */
    _Alignas(64) float compute[AMP_CHANNELS];
    _Alignas(64) float shift[AMP_CHANNELS];
    RowQueue rows;
    bool queues_rows;
    bool aligned; /* MachineOptions.amp_aligned33 */

    /* Floating-point state of a worker. */
    uint32_t fp_control, fp_status, fp_format, fp_scale;
    uint32_t tas;
    uint64_t random[2];
    uint32_t rounding;   /* FP_CTL.RND */
    bool stochastic;     /* FP_CTL.ESR */
    bool plain_rounding; /* nearest even, not stochastic */
    F16Overflow overflow;

    /* The bundle of a SHAPE_STRADDLE packet, decoded when the tile's code had this version. */
    Packet straddle[2];
    uint32_t straddle_address;
    uint64_t straddle_version;
};

typedef enum Wait {
    WAIT_NOTHING,
    WAIT_WORKERS, /* sync 2 */
    WAIT_ACKS,    /* sync 1 */
    WAIT_ALL,     /* sync 3 */
    WAIT_HOST,    /* sync 7 */
    WAIT_ROW,     /* the row is through; what the others send has not been delivered yet */
} Wait;

/* The supervisor's part of a tile: interlocks, waits and control registers. */
typedef struct Supervisor {
    uint64_t next;              /* earliest cycle of its next issue */
    uint64_t ready[12];         /* cycle from which each main register can be read */
    uint64_t coefficient_ready; /* the same for $CCCSLOAD */
    Wait wait;
    uint64_t arrived; /* cycle at which the wait began */
    uint32_t acks;    /* barriers still to be acknowledged for a `sans` */
    uint64_t ack_cycle;
    bool phase_open;      /* released from a barrier of all tiles, and no row executed since */
    uint64_t row_start;   /* cycle of the row's event 0 */
    bool consensus;       /* $SSR.LC: no worker reported false since it was set */
    uint32_t coefficient; /* $CCCSLOAD */
    uint32_t initial_control, initial_format, initial_scale;
    uint32_t worker_base[WORKERS];
    uint32_t exchange[12]; /* 0xA0 … 0xAB as last put */
} Supervisor;

struct Tile {
    Page *page[PAGE_COUNT];
    uint8_t *writable[PAGE_COUNT]; /* bytes that a store may change without further ado, or NULL */
    struct Machine *machine;
    uint32_t index;
    uint64_t code_version; /* counts changes of watched memory */

    Context context[WORKERS + 1];
    uint64_t weights[4 * AMP_CHANNELS]; /* CWEI_m_n at 4m + n */
    AmpWeights *prepared;               /* the weights made ready for AMP; in prepared_block */
    void *prepared_block;
    /* For which formats and scale weights by unit and by channel are ready, 0: none. */
    uint32_t prepared_key, row_key;

    uint64_t now;    /* everything before this cycle has happened */
    uint32_t active; /* workers that own their slot, a bit each */
    uint64_t resume; /* a local sync lets the supervisor go on from here, once all have ended */
    Supervisor supervisor;

    uint64_t budget_end;          /* cycle at which the budget is used up */
    MachineTileCounters counters; /* but instructions and worker_slots: */
    uint64_t pairs;               /* bundles of two instructions */
    uint64_t extra_slots;         /* of long operations, beyond one a bundle */
    VEC(MachineEvent) timeline;
    MachineTrap trap;          /* code STATUS_OK: none */
    bool stop;                 /* trapped: leave the loops */
    struct Lockstep *lockstep; /* while lockstep_run executes */
    struct Shadow *shadow;     /* shadow.h; NULL without checks */
};

/* An exchange phase that broke no rule. */
typedef struct PlayedPhase {
    uint64_t key[2]; /* hash of all its rows */
    FabricCopies copies;
} PlayedPhase;

#define PAGE_BUCKETS 4096

struct Machine {
    uint32_t tile_count;
    Tile *tiles;
    Pool *pool;
    MachineOptions options;

    pthread_mutex_t mutex; /* guards the table of shared pages and the building of shared code */
    Page *bucket[PAGE_BUCKETS];
    Page *released; /* no longer mapped; freed when no tile runs */
    Page *zero;     /* what is mapped where nothing was written */

    bool started, at_host;
    uint64_t host_release; /* cycle at which the host barrier completed */
    FabricRow *rows;       /* [tile_count]; of the present phase where active */
    uint32_t phase_count;  /* barriers of all tiles since the host's */
    const char *const *phase_names;
    uint32_t phase_name_count;
    VEC(PlayedPhase) played;
    MachineLocate locate; /* may be NULL */
    void *locate_context;
    MachineTrap trap;
    FabricTrap fabric_trap; /* code STATUS_OK: the trap is none of the fabric's */
};

/* memory.c -------------------------------------------------------------------------------------*/

Status memory_init(Machine *machine);
void memory_free(Machine *machine);
/* Maps the zero page everywhere. */
void memory_init_tile(Machine *machine, Tile *tile);
void memory_free_tile(Tile *tile);
/* Frees pages that no tile maps any more; no tile may be running. */
void memory_sweep(Machine *machine);
/* Copies to and from tile memory; the range must exist. store tells contexts of changed code. */
void memory_copy_out(const Tile *tile, uint32_t address, void *bytes, size_t size);
bool memory_copy_in(Tile *tile, uint32_t address, const void *bytes, size_t size);
bool memory_move(Tile *to, uint32_t to_address, const Tile *from, uint32_t address, size_t size);
/* Makes the pages of the range equal to their present content with `bytes` put in, shared. */
bool memory_load(Tile *tile, uint32_t address, const void *bytes, size_t size);
/* The decoded granule at an executable address; NULL without memory. */
Granule *memory_code(Tile *tile, uint32_t address);

static inline bool memory_holds(uint32_t address, size_t size) {
    return address >= CHIP_TILE_MEM_BASE && address <= CHIP_TILE_MEM_END &&
           size <= CHIP_TILE_MEM_END - address;
}

/* For aligned accesses inside memory. */
static inline const uint8_t *memory_at(const Tile *tile, uint32_t address) {
    uint32_t offset = address - CHIP_TILE_MEM_BASE;
    return tile->page[offset >> PAGE_BITS]->bytes + (offset & (PAGE_BYTES - 1));
}

/* decode.c -------------------------------------------------------------------------------------*/

/* Decodes what begins at words[0]; count words (at least 1) follow in the page. */
void decode_packet(Packet *packet, const uint32_t *words, size_t count);
/* Whether words hold `bundles` bundles that may stand in a repeat body. */
bool decode_body_is_legal(const uint32_t *words, uint32_t bundles);

/* context.c ------------------------------------------------------------------------------------*/

void context_start(Context *context, uint32_t entry);
/* Address of the packet in execution, and of the one that follows it. */
uint32_t context_pc(const Context *context);
uint32_t context_next_pc(const Context *context);
/* Continues at target, which need not be executable: fetching it then traps. */
void context_jump(Context *context, uint32_t target);
/* Resolves a packet that cannot be executed as it is (SHAPE_UNDECODED, _STRADDLE, _END, _GO, and
 * those that trap): returns one that can, also in context->packet, or NULL after a trap. */
const Packet *context_resolve(Context *context);
/* Begins `count` rounds of the `bundles` bundles that follow. */
void context_repeat(Context *context, uint32_t count, uint32_t bundles);
/* One more round of rpt, or out of it; called when the body's end is reached. */
void context_end_of_body(Context *context);
/* The mapping or content of code changed: nothing decoded may be used any more. */
void context_forget_code(Context *context);

/* trap.c ---------------------------------------------------------------------------------------*/

/* Stops the tile: the earliest trap of a tile stays. `address` as in MachineTrap. */
void trap_raise(Context *context, Status code, uint32_t address, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Reports to a Diag, with the disassembly of the trapped instruction. */
Status trap_report(const Machine *machine, const MachineTrap *trap, Diag *diag);

/* row.c ----------------------------------------------------------------------------------------*/

/* The supervisor calls `target` now: executes it if it is the row of an open phase. */
void row_called(Context *context, uint32_t target);
/* The supervisor issues a timed instruction now, outside a row that was called. */
void row_entered(Context *context);

/* phase.c --------------------------------------------------------------------------------------*/

/* Number of the present exchange phase, counted from the host's barrier. */
static inline uint32_t phase_number(const Machine *machine) {
    return machine->phase_count - 1;
}
/* Does any tile pause behind its row? */
bool phase_is_pending(const Machine *machine);
/* Delivers what all rows send and lets their tiles go on. Code of the trap otherwise, with
 * Machine.trap set. */
Status phase_run(Machine *machine);
/* Frees what is remembered of phases. */
void phase_forget(Machine *machine);
/* Reports a trap of the fabric. */
Status phase_report(const Machine *machine, Diag *diag);
/* The name of a phase, or "exchange N" in `text`. */
const char *phase_name(const Machine *machine, uint32_t phase, char text[32]);

/* tile.c ---------------------------------------------------------------------------------------*/

/* Runs until the supervisor waits in a barrier of all tiles, or a trap. */
void tile_run(Tile *tile);
/* Everything but memory as at power-on, the supervisor about to begin at `entry`. */
void tile_start(Tile *tile, uint32_t entry);
/* The barrier in which the supervisor waits lets it go on at `cycle`. */
void tile_release(Tile *tile, uint64_t cycle);
void tile_event(Tile *tile, uint64_t cycle, MachineEventKind kind, uint32_t address);
/* Starts a worker, whose run or runall issues now, at the first cycle that it can issue in. */
void tile_launch(Tile *tile, uint32_t worker, uint32_t entry, uint32_t vertex_base);
/* Ends the worker whose exit issues now. */
void tile_end_worker(Tile *tile, uint32_t worker);

/* Executes a SHAPE_CROSSED packet. */
void tile_execute_crossed(Context *context, const Packet *packet);

/* lockstep.c -----------------------------------------------------------------------------------*/

/* Issues whole rotations, equal to issuing slot by slot, from the cycle *rotation on as long as no
 * active worker meets control flow; moves *rotation on. False if what is due in
 * *rotation is left to issue slot by slot. */
bool lockstep_run(Tile *tile, uint64_t *rotation);
/* The packet that a context executes in the run of its tile. */
const Packet *lockstep_packet(const Context *context);
/* A packet of `context`, in execution, is about to change memory that may hold code: brings all
 * contexts up to date. */
void lockstep_break(Context *context);

/* matrix_loop.c --------------------------------------------------------------------------------*/

/* Executes up to `rounds` rounds of the repeat body begin … close for these workers, which are all
 * that run and all at its beginning. Only what the bundles themselves do: registers, rows, flags
 * and memory. Returns how many rounds, 0 if the body or the accesses are not as they need be. */
uint32_t matrix_loop_run(Context *const contexts[], unsigned count, const Packet *begin,
                         const Packet *close, uint32_t rounds);

/* exec_*.c -------------------------------------------------------------------------------------*/

/* Semantics of each form, NULL where there is none. */
ExecFunction exec_function(IsaForm form);
/* The same without exec_rows. */
ExecFunction exec_function_plain(IsaForm form);
/* What does exec_function(form) for a group. */
GroupFunction exec_group_function(IsaForm form);
/* The tile's weights made ready: as F16, or as F8 in the formats and with the scale that the worker
 * has set. NULL after a trap for want of memory. */
const AmpWeights *exec_weights(Context *context, bool f8);
/* The unit that holds channel c of a row: partials and results of phase p are the channels 4p …
 * 4p + 3, two of each set. */
extern const uint8_t exec_unit_of_channel[AMP_CHANNELS];
/* The same weights by channel. */
const AmpWeights *exec_row_weights(Context *context, bool f8);
/* The weights are about to change. */
void exec_weights_change(Tile *tile);
/* Brings compute and shift of a worker up to date; exec_rows.c. */
void exec_rows_leave(Context *context);
static inline void exec_rows_settle(Context *context) {
    if (__builtin_expect(context->rows.expected != 0, 0))
        exec_rows_leave(context);
}
/* 64 random bits of a worker. */
uint64_t exec_random(Context *context);
/* Writes $FP_CTL of a worker. */
void exec_set_fp_control(Context *context, uint32_t value);

typedef const ExecFunction ExecTable[ISA_FORM_COUNT];
extern ExecTable exec_int, exec_mem, exec_float, exec_amp, exec_system;
/* Faster equals of some of them, from CPU_AVX2 on. */
extern ExecTable exec_f16c;
/* Forms that a worker with queues_rows executes later. */
extern ExecTable exec_rows;

/* Groups: of the functions in the table of the same name, those that are worth a loop of their
 * own. */
typedef const GroupFunction GroupTable[ISA_FORM_COUNT];
extern GroupTable group_rows, group_f16c, group_mem, group_int, group_float;

/* Rows of both tables from a list of forms and functions. */
#define EXEC_ROW(form, function)  [ISA_##form] = function,
#define GROUP_ROW(form, function) [ISA_##form] = function##_group,

/* Of forms that store: whether the stores of the contexts first … end-1 go to pages that can be
 * written at once, so that no code changes and nothing is copied. */
typedef bool (*ReadyFunction)(const Context *first, const Context *end, const Half *half);
typedef const ReadyFunction ReadyTable[ISA_FORM_COUNT];
extern ReadyTable stores_ready;

/* Defines the loop around `function`, named function_group. */
#define GROUP(function)                                                                            \
    __attribute__((flatten)) static void function##_group(Context *first, Context *end,            \
                                                          const Half *half) {                      \
        const Half copy = *half; /* what the loop stores cannot change it */                       \
        for (Context *each = first; each < end; each++)                                            \
            function(each, &copy);                                                                 \
    }
