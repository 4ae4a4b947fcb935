/* Checks of what a program does beyond what the chip itself refuses (MachineOptions.checks).
 *
 * A *shadow* stands beside the values: a bit of a register is *bad* if its value rests on
 * something that nobody may use: memory or a register that was never written, bytes of an operand's
 * tail, a word that another worker of the launch writes, a NaN among the operands of a matrix
 * instruction. Bad bits travel with the values, through registers, accumulators and weights; what
 * is loaded and dropped does no harm. Where a bad value reaches memory, a branch, an address or a
 * control register the program traps.
 *
 * Every packet is looked at before it executes, while all of its sources are what they were. */
#pragma once

#include "sim/internal.h"

/* Why a value is bad. */
typedef enum Cause {
    CAUSE_UNWRITTEN,  /* memory that was never written */
    CAUSE_REGISTER,   /* a register, accumulator or weight that was never written */
    CAUSE_TAIL,       /* memory behind an operand that is declared to be readable only */
    CAUSE_WORKER,     /* a word that another worker of the launch stores */
    CAUSE_SUPERVISOR, /* a word or weights that the supervisor and a running worker share */
    CAUSE_NAN,        /* a NaN that a matrix instruction multiplied */
} Cause;

/* The word that was written last: by whom (context, MACHINE_HOST or MACHINE_EXCHANGE) and where
 * (pc; of an exchange the sending tile). 0: never. */
typedef uint32_t Writer;
#define WRITER_PLACE ((1u << CHIP_ADDRESS_BITS) - 1)
static inline Writer writer_of(uint32_t who, uint32_t place) {
    return (who + 1) << CHIP_ADDRESS_BITS | (place & WRITER_PLACE);
}

typedef struct Origin {
    uint32_t address; /* of the memory concerned, 0 if none */
    uint32_t pc;      /* of the instruction that took the value */
    Writer writer;
    Cause cause;
} Origin;

typedef struct ShadowWord {
    Writer writer;
    uint32_t launch; /* in which it was written, 0: while no worker ran */
    uint32_t reader; /* launch in which a worker last read it */
} ShadowWord;

typedef struct ShadowPage {
    uint8_t written[PAGE_BYTES / 8]; /* a bit a byte */
    ShadowWord *words;               /* [PAGE_BYTES / 4], or NULL: nothing is known */
} ShadowPage;

typedef struct ShadowContext {
    Context bad;             /* its registers hold the bad bits */
    Origin main[12], aux[8]; /* why, of registers with bad bits */
    uint32_t loaded[8];      /* address that an arithmetic register was loaded from */
    uint16_t compute, shift; /* accumulators, a bit a unit */
    Origin compute_origin[AMP_CHANNELS], shift_origin[AMP_CHANNELS];
    uint32_t tas;
    Origin tas_origin;
} ShadowContext;

enum { FORMAT_F16, FORMAT_F8, FORMAT_F32, FORMATS };

struct Shadow {
    ShadowPage *page[PAGE_COUNT];
    ShadowContext context[WORKERS + 1];
    uint64_t weights[4 * AMP_CHANNELS]; /* bad bits */
    Origin weight_origin[4 * AMP_CHANNELS];
    /* Units whose weights of a phase are bad or NaN, by format; of those in `known`. */
    uint16_t bad_units[FORMATS][AMP_PHASES];
    uint8_t known[FORMATS];
    uint32_t launch; /* counts launches; those without a sync between them are one */
    bool open;       /* the supervisor has not waited for the last launch */
    /* Launches during which the weights were changed, and multiplied with. */
    uint32_t weights_changed, weights_used;
    const MachineOperand *operands; /* that count now; none: all of memory */
    uint32_t operand_count;
    /* Declared calls, what they have in common, and of the one that runs: where it returns to, or
     * 0. `called` holds its operands then. */
    const MachineCall *calls;
    const MachineOperand *common;
    uint32_t call_count, common_count, return_pc;
    MachineOperand called[2 * MACHINE_MAX_PARAMETERS];
};

/* shadow.c: packets
 * ------------------------------------------------------------------------------*/

/* Looks at a packet that is about to execute; false after a trap. */
bool shadow_packet(Context *context, const Packet *packet);
/* A row of an exchange sets a main register of the supervisor. */
void shadow_define_main(Context *context, unsigned number);

/* shadow_rules.c: forms
 * --------------------------------------------------------------------------*/

typedef enum Rule {
    RULE_CLEAR,   /* what is written is good */
    RULE_ANY,     /* one bad bit makes all that is written bad */
    RULE_PERMUTE, /* bits change places */
    RULE_UNION,   /* bit for bit */
    RULE_AND,
    RULE_ANDC,
    RULE_OR,
    RULE_CARRY, /* a bad bit makes the higher ones bad */
    RULE_SHIFT,
    RULE_MOVE,
    RULE_LANES, /* lane for lane */
    RULE_BRANCH,
    RULE_CONTROL, /* get, put, launches, sync */
    RULE_LOAD,
    RULE_STORE,
    RULE_PACE,  /* three packed addresses */
    RULE_CHAIN, /* an address behind another */
    RULE_WEIGHTS,
    RULE_ACCUMULATORS,
} Rule;

typedef struct RuleOperand {
    uint8_t index; /* into Half.r */
    uint8_t count; /* registers */
    uint8_t kind;  /* IsaKind */
    bool aux, read, written;
} RuleOperand;

typedef enum Addressing { ADDRESS_IMM, ADDRESS_REG, ADDRESS_STEP } Addressing;

typedef struct FormRule {
    uint8_t rule; /* Rule */
    uint8_t operand_count;
    RuleOperand operand[4];
    uint8_t lanes;
    bool immediate; /* the last source is an immediate */
    /* Loads and stores. */
    uint8_t size, addressing;
    bool sign, spread;
} FormRule;

const FormRule *shadow_rule(IsaForm form);

/* A form in execution
 * -----------------------------------------------------------------------------*/

/* A bundle's halves read before either writes. The main half goes first; what it writes to
 * arithmetic registers waits here until the aux half has read them. */
typedef struct Pending {
    uint32_t bits;
    Origin origin;
    uint32_t loaded;
    uint8_t number;
} Pending;

typedef struct Step {
    Context *context;
    struct Shadow *tile;
    ShadowContext *shadow;
    IsaForm form;
    const Half *half;
    const FormRule *rule;
    Pending pending[4];
    unsigned pending_count;
    bool defer;
} Step;

static inline unsigned shadow_checks(const Step *s) {
    return s->context->tile->machine->options.checks;
}
static inline bool shadow_is_worker(const Step *s) {
    return s->context->index != SUPERVISOR;
}
static inline uint32_t shadow_bad_main(const Step *s, unsigned number) {
    return s->shadow->bad.m[number & 15];
}
static inline uint32_t shadow_bad_aux(const Step *s, unsigned number) {
    return s->shadow->bad.a[number & 15];
}

/* shadow_access.c
 * --------------------------------------------------------------------------------*/

/* What a load brings: bad bits, and why. */
typedef struct Loaded {
    uint32_t bits[4];
    Origin origin;
} Loaded;

/* Traps: a bad value does `deed`. */
void shadow_raise(const Step *step, const Origin *origin, const char *deed);
/* An access of 1 … 16 bytes that the instruction makes if it is aligned and in memory; others trap
 * when they are executed. The source of a store are the registers from `number` on. False after a
 * trap. */
bool shadow_read(const Step *step, uint32_t address, uint32_t size, Loaded *loaded);
bool shadow_store(const Step *step, uint32_t address, uint32_t size, bool aux, unsigned number);

/* shadow_amp.c
 * -----------------------------------------------------------------------------------*/

/* Bad bits of what a form with ISA_F_AACC writes to registers, and why. */
typedef struct Results {
    uint32_t bits[4];
    Origin origin;
} Results;

Results shadow_accumulators(const Step *step);

/* shadow_memory.c
 * --------------------------------------------------------------------------------*/

/* NULL without memory. */
struct Shadow *shadow_create(void);
void shadow_free(struct Shadow *shadow);
/* All registers become bad: the chip starts with what was left in them. */
void shadow_start(Tile *tile);
/* `who` wrote a range that exists; false without memory. */
bool shadow_written(Tile *tile, uint32_t address, size_t size, Writer writer);
/* The exchange copied words from tile to tile. */
bool shadow_moved(Tile *to, uint32_t to_address, const Tile *from, uint32_t address, size_t size);
/* The words of a page that exists or is made; NULL without memory. */
ShadowWord *shadow_words(Tile *tile, uint32_t address);
/* Bytes of a page that exists, without their writers. */
void shadow_set_written(Tile *tile, uint32_t address, uint32_t size);
/* A bit for each byte of an aligned access of up to 16 bytes: was it written? */
uint32_t shadow_bytes_written(const Tile *tile, uint32_t address, uint32_t size);
