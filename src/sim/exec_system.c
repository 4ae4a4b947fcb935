/* Semantics of launches, barriers, control registers, worker ends and repeats. */
#include "sim/internal.h"

_Static_assert(CHIP_RUNALL_BASE_ABSOLUTE == 1, "run adds the start of memory, runall does not");
_Static_assert(CHIP_FP_SCL_INIT_FROM_ISCL == 1, "tile_launch copies the formats and the scale");

/* Floating-point control -----------------------------------------------------------------------*/

#define FIELD(value, csr, field)                                                                   \
    ((value) >> CHIP_CSR_##csr##_##field##_SHIFT & CHIP_CSR_##csr##_##field##_MASK)

void exec_set_fp_control(Context *context, uint32_t value) {
    context->fp_control = value;
    context->overflow = FIELD(value, W_FP_CTL, NANOO) ? F16_OVERFLOW_NAN : F16_OVERFLOW_SATURATE;
    context->rounding = FIELD(value, W_FP_CTL, RND);
    context->stochastic = FIELD(value, W_FP_CTL, ESR);
    context->plain_rounding = context->rounding == CHIP_RND_NEAREST && !context->stochastic;
}

/* Random generator: xoroshiro128aox, state in two 64-bit words. */
uint64_t exec_random(Context *context) {
    uint64_t s0 = context->random[0], s1 = context->random[1];
    uint64_t sx = s0 ^ s1, sa = s0 & s1;
    context->random[0] = (s0 << 55 | s0 >> 9) ^ sx ^ sx << 14;
    context->random[1] = sx << 36 | sx >> 28;
    return sx ^ ((sa << 1 | sa >> 63) | (sa << 2 | sa >> 62));
}

static void seed_random(Context *context, uint32_t v) {
    uint32_t n = ~v;
    context->random[0] = v | (uint64_t)n << 32;
    context->random[1] = (v << 13 | n >> 19) | (uint64_t)(n << 13 | v >> 19) << 32;
}

/* Control registers of workers -----------------------------------------------------------------*/

/* A register that the chip does not have, or one whose effect is not modelled. */
static void no_register(Context *c, const char *access, uint32_t number) {
    bool worker = c->index != SUPERVISOR;
    const ChipCsr *csr = chip_csr_by_number(worker, number);
    if (csr)
        trap_raise(c, ERR_SIM_UNSUPPORTED, 0, "%s control register $%s, which is not modelled",
                   access, csr->name);
    else
        trap_raise(c, ERR_SIM_OPERAND, 0, "%s control register 0x%X; a %s has none of that number",
                   access, number, worker ? "worker" : "supervisor");
}

static uint32_t random_word(const Context *c, uint32_t number) {
    uint32_t word = number - CHIP_CSR_W_PRNG_0_0;
    return (uint32_t)(c->random[word / 2] >> 32 * (word % 2));
}

static void set_random_word(Context *c, uint32_t number, uint32_t value) {
    uint32_t word = number - CHIP_CSR_W_PRNG_0_0, shift = 32 * (word % 2);
    uint64_t *half = &c->random[word / 2];
    *half = (*half & ~((uint64_t)UINT32_MAX << shift)) | (uint64_t)value << shift;
}

static uint32_t get_worker(Context *c, uint32_t number) {
    switch (number) {
    case CHIP_CSR_W_PC: return context_pc(c);
    case CHIP_CSR_W_WSR: return c->index << CHIP_CSR_W_WSR_CTXTID_M1_SHIFT;
    case CHIP_CSR_W_VERTEX_BASE: return c->m[13];
    case CHIP_CSR_W_WORKER_BASE: return c->m[12];
    case CHIP_CSR_W_REPEAT_COUNT: return c->repeats;
    case CHIP_CSR_W_REPEAT_FIRST: return c->repeat_first;
    case CHIP_CSR_W_REPEAT_END: return c->repeat_end;
    case CHIP_CSR_W_COUNT_L: return (uint32_t)c->cycle;
    case CHIP_CSR_W_COUNT_U: return (uint32_t)(c->cycle >> 32);
    case CHIP_CSR_W_FP_STS: return c->fp_status;
    case CHIP_CSR_W_FP_CLR: return 0;
    case CHIP_CSR_W_FP_CTL: return c->fp_control;
    case CHIP_CSR_W_PRNG_0_0:
    case CHIP_CSR_W_PRNG_0_1:
    case CHIP_CSR_W_PRNG_1_0:
    case CHIP_CSR_W_PRNG_1_1: return random_word(c, number);
    case CHIP_CSR_W_TAS: return c->tas;
    case CHIP_CSR_W_FP_NFMT: return c->fp_format;
    case CHIP_CSR_W_FP_SCL: return c->fp_scale;
    default: no_register(c, "reads", number); return 0;
    }
}

static void put_worker(Context *c, uint32_t number, uint32_t value) {
    exec_rows_settle(c);
    switch (number) {
    case CHIP_CSR_W_FP_CLR:
        c->fp_status &= ~value;
        if (FIELD(value, W_FP_CLR, ZAACC)) {
            memset(c->compute, 0, sizeof c->compute);
            memset(c->shift, 0, sizeof c->shift);
        }
        break;
    case CHIP_CSR_W_FP_CTL: exec_set_fp_control(c, value); break;
    case CHIP_CSR_W_PRNG_0_0:
    case CHIP_CSR_W_PRNG_0_1:
    case CHIP_CSR_W_PRNG_1_0:
    case CHIP_CSR_W_PRNG_1_1: set_random_word(c, number, value); break;
    case CHIP_CSR_W_PRNG_SEED: seed_random(c, value); break;
    case CHIP_CSR_W_TAS: c->tas = value; break;
    case CHIP_CSR_W_FP_NFMT: c->fp_format = value; break;
    case CHIP_CSR_W_FP_SCL: c->fp_scale = value; break;
    default: no_register(c, "writes", number); break;
    }
}

static void uget(Context *c, const Half *h) {
    c->a[h->r[0]] = get_worker(c, CHIP_CSR_UPPER + (uint32_t)h->imm);
}

static void uput(Context *c, const Half *h) {
    put_worker(c, CHIP_CSR_UPPER + (uint32_t)h->imm, c->a[h->r[0]]);
}

/* Control registers of the supervisor ----------------------------------------------------------*/

static uint32_t supervisor_status(const Tile *tile) {
    const Supervisor *s = &tile->supervisor;
    return (uint32_t)s->consensus << CHIP_CSR_S_SSR_LC_SHIFT | (uint32_t)(s->acks == 0)
                                                                   << CHIP_CSR_S_SSR_ANS_SHIFT;
}

/* Two bits a context: 1 = active; the supervisor is, since it asks. */
static uint32_t context_status(const Tile *tile) {
    uint32_t status = 1;
    for (unsigned i = 0; i < WORKERS; i++)
        status |= (tile->active >> i & 1) << (2 * i + 2);
    return status;
}

static uint32_t get_supervisor(Context *c, uint32_t number) {
    const Tile *tile = c->tile;
    const Supervisor *s = &tile->supervisor;
    if (number >= CHIP_CSR_S_WORKER0_BASE && number <= CHIP_CSR_S_WORKER5_BASE)
        return s->worker_base[number - CHIP_CSR_S_WORKER0_BASE];
    switch (number) {
    case CHIP_CSR_S_PC: return context_pc(c);
    case CHIP_CSR_S_SSR: return supervisor_status(tile);
    case CHIP_CSR_S_CR: return 0;
    case CHIP_CSR_S_TILE_ID: return chip_tile_physical(tile->index);
    case CHIP_CSR_S_FP_ICTL: return s->initial_control;
    case CHIP_CSR_S_FP_INFMT: return s->initial_format;
    case CHIP_CSR_S_FP_ISCL: return s->initial_scale;
    case CHIP_CSR_S_CCCSLOAD: return s->coefficient;
    case CHIP_CSR_S_SCOUNT_L: return (uint32_t)c->cycle;
    case CHIP_CSR_S_SCOUNT_U: return (uint32_t)(c->cycle >> 32);
    case CHIP_CSR_S_CTXT_STS: return context_status(tile);
    case CHIP_CSR_S_ANS_DCOUNT: return s->acks;
    default:
        if (number >= CHIP_CSR_S_INCOMING_MUX && number <= CHIP_CSR_S_EXCHANGE_ADJ)
            return s->exchange[number - CHIP_CSR_S_INCOMING_MUX];
        no_register(c, "reads", number);
        return 0;
    }
}

static void put_command(Tile *tile, uint32_t value) {
    if (FIELD(value, S_CR, LC_CLR))
        tile->supervisor.consensus = false;
    if (FIELD(value, S_CR, LC_SET))
        tile->supervisor.consensus = true;
    if (FIELD(value, S_CR, ZCWEI)) {
        exec_weights_change(tile);
        memset(tile->weights, 0, sizeof tile->weights);
    }
}

static void put_supervisor(Context *c, uint32_t number, uint32_t value) {
    Tile *tile = c->tile;
    Supervisor *s = &tile->supervisor;
    if (number >= CHIP_CSR_S_WORKER0_BASE && number <= CHIP_CSR_S_WORKER5_BASE) {
        s->worker_base[number - CHIP_CSR_S_WORKER0_BASE] = value;
        return;
    }
    switch (number) {
    case CHIP_CSR_S_CR: put_command(tile, value); break;
    case CHIP_CSR_S_FP_ICTL: s->initial_control = value; break;
    case CHIP_CSR_S_FP_INFMT: s->initial_format = value; break;
    case CHIP_CSR_S_FP_ISCL: s->initial_scale = value; break;
    case CHIP_CSR_S_CCCSLOAD:
        s->coefficient = value;
        s->coefficient_ready = c->cycle + CHIP_CCCSLOAD_LATENCY;
        break;
    default:
        if (number >= CHIP_CSR_S_INCOMING_MUX && number <= CHIP_CSR_S_EXCHANGE_ADJ)
            s->exchange[number - CHIP_CSR_S_INCOMING_MUX] = value;
        else
            no_register(c, "writes", number);
        break;
    }
}

static void get(Context *c, const Half *h) {
    uint32_t number = (uint32_t)h->imm;
    c->m[h->r[0]] = c->index == SUPERVISOR ? get_supervisor(c, number) : get_worker(c, number);
}

static void put(Context *c, const Half *h) {
    uint32_t number = (uint32_t)h->imm, value = c->m[h->r[0]];
    if (c->index == SUPERVISOR)
        put_supervisor(c, number, value);
    else
        put_worker(c, number, value);
}

/* Launch and end of workers --------------------------------------------------------------------*/

static bool launch_operands(Context *c, uint32_t entry, uint32_t base) {
    if (entry % 4 == 0 && base % 4 == 0)
        return true;
    trap_raise(c, ERR_SIM_OPERAND, entry % 4 ? entry : base,
               "launches at 0x%X with vertex base 0x%X; both must be multiples of 4", entry, base);
    return false;
}

static void count_launch(Context *c, uint32_t entry) {
    c->tile->counters.launches++;
    tile_event(c->tile, c->cycle, EVENT_LAUNCH, entry);
}

static void run(Context *c, const Half *h) {
    Tile *tile = c->tile;
    uint32_t entry = c->m[h->r[0]];
    uint32_t base = c->m[h->r[1]] + 4 * (uint32_t)h->imm + CHIP_TILE_MEM_BASE;
    if (!launch_operands(c, entry, base))
        return;
    if (tile->active == ALL_WORKERS) {
        trap_raise(c, ERR_SIM_LAUNCH, 0, "starts a worker while all contexts are active");
        return;
    }
    count_launch(c, entry);
    tile_launch(tile, (uint32_t)__builtin_ctz(~tile->active), entry, base);
}

static void runall(Context *c, const Half *h) {
    Tile *tile = c->tile;
    uint32_t entry = c->m[h->r[0]], base = c->m[h->r[1]];
    if (!launch_operands(c, entry, base))
        return;
    if (tile->active) {
        trap_raise(c, ERR_SIM_LAUNCH, 0, "starts all workers while some are active (mask 0x%02X)",
                   tile->active);
        return;
    }
    count_launch(c, entry);
    for (uint32_t i = 0; i < WORKERS; i++)
        tile_launch(tile, i, entry, base + 4 * (uint32_t)h->imm * i);
}

static void end_worker(Context *c, bool condition) {
    c->tile->supervisor.consensus &= condition;
    tile_end_worker(c->tile, c->index);
}
static void exitz(Context *c, const Half *h) {
    end_worker(c, c->m[h->r[0]] == 0);
}
static void exitnz(Context *c, const Half *h) {
    end_worker(c, c->m[h->r[0]] != 0);
}
static void exitneg(Context *c, const Half *h) {
    end_worker(c, c->m[h->r[0]] >> 31);
}
static void exitpos(Context *c, const Half *h) {
    end_worker(c, !(c->m[h->r[0]] >> 31));
}

/* Barriers -------------------------------------------------------------------------------------*/

static void wait_for(Context *c, Wait wait) {
    Supervisor *s = &c->tile->supervisor;
    s->wait = wait;
    s->arrived = c->cycle;
}

static void sync_local(Context *c) {
    Tile *tile = c->tile;
    if (tile->active) {
        wait_for(c, WAIT_WORKERS);
        return;
    }
    tile->supervisor.next = MAX_OF(tile->resume, c->cycle + CHIP_SYNC_PASSED);
    tile_event(tile, tile->supervisor.next, EVENT_JOIN, 0);
}

static void sync_acks(Context *c) {
    if (c->tile->supervisor.acks > 0)
        wait_for(c, WAIT_ACKS);
    else
        c->tile->supervisor.next = c->cycle + CHIP_SYNC_PASSED;
}

static void sync(Context *c, const Half *h) {
    switch (h->imm) {
    case CHIP_SYNC_ANS: sync_acks(c); break;
    case CHIP_SYNC_LOCAL: sync_local(c); break;
    case CHIP_SYNC_INTERNAL:
    case CHIP_SYNC_GS2H:
        wait_for(c, h->imm == CHIP_SYNC_GS2H ? WAIT_HOST : WAIT_ALL);
        tile_event(c->tile, c->cycle, EVENT_ARRIVE, (uint32_t)h->imm);
        break;
    default:
        trap_raise(c, ERR_SIM_UNSUPPORTED, 0, "waits in sync zone %d, which is not modelled",
                   h->imm);
    }
}

static void sans(Context *c, const Half *h) {
    Supervisor *s = &c->tile->supervisor;
    if (s->acks > 0) {
        trap_raise(c, ERR_SIM_UNSUPPORTED, 0, "sans while %u acknowledgements are outstanding",
                   s->acks);
        return;
    }
    s->acks = (uint32_t)h->imm + CHIP_SANS_EXTRA;
    s->ack_cycle = c->cycle;
    tile_event(c->tile, c->cycle, EVENT_ARRIVE, CHIP_SYNC_ANS);
}

/* delay … sendpicp: the row reads its words itself. */
static void timed(Context *c, const Half *h) {
    (void)h;
    row_entered(c);
}

static void trap(Context *c, const Half *h) {
    trap_raise(c, ERR_SIM_BREAKPOINT, 0, "trap %d", h->imm);
}

/* Repeats --------------------------------------------------------------------------------------*/

/* The body was checked when its rpt was decoded, unless it reaches into another page. */
static bool body_is_legal(Context *c, uint32_t first, uint32_t bundles) {
    if (c->current->flags & PACKET_BODY_LEGAL)
        return true;
    uint32_t words[2 * CHIP_RPT_BODY_LIMIT];
    if (!memory_holds(first, 8u * bundles))
        return false;
    memory_copy_out(c->tile, first, words, 8u * bundles);
    return decode_body_is_legal(words, bundles);
}

static void repeat(Context *c, uint32_t count, uint32_t bundles) {
    uint32_t first = context_next_pc(c);
    if (c->repeats > 0 || first % 8 != 0 || !body_is_legal(c, first, bundles)) {
        trap_raise(c, ERR_SIM_REPEAT, first,
                   first % 8 ? "the repeat body begins at 0x%05X, no multiple of 8"
                             : "the repeat body at 0x%05X holds more than plain bundles",
                   first);
        return;
    }
    context_repeat(c, count, bundles);
}

static void rpt(Context *c, const Half *h) {
    repeat(c, c->m[h->r[0]] & ((1u << CHIP_RPT_COUNT_BITS) - 1), (uint32_t)h->imm + 1);
}

static void rpt_imm(Context *c, const Half *h) {
    repeat(c, (uint32_t)h->imm, h->r[3] + 1u);
}

ExecTable exec_system = {
    [ISA_GET] = get,         [ISA_PUT] = put,        [ISA_UGET] = uget,
    [ISA_UPUT] = uput,       [ISA_RUN] = run,        [ISA_RUNALL] = runall,
    [ISA_EXITZ] = exitz,     [ISA_EXITNZ] = exitnz,  [ISA_EXITNEG] = exitneg,
    [ISA_EXITPOS] = exitpos, [ISA_SYNC] = sync,      [ISA_SANS] = sans,
    [ISA_DELAY] = timed,     [ISA_DELAYPIC] = timed, [ISA_DELAYXPIC] = timed,
    [ISA_SEND] = timed,      [ISA_SENDOFF] = timed,  [ISA_SENDPIC] = timed,
    [ISA_SENDPICP] = timed,  [ISA_TRAP] = trap,      [ISA_RPT] = rpt,
    [ISA_RPT_U12] = rpt_imm,
};
