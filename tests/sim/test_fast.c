/* The fast ways of execution equal the plain one: random programs end with the same memory,
 * registers, accumulators, times, counters, time lines and traps. */
#include "rig.h"

#include "base/random.h"
#include "sim/internal.h"

enum {
    CODE_WORDS = 1536,
    SUPERVISOR_WORDS = 256, /* the workers' part begins here */
    ARRAYS = 6,
    ARRAY_BYTES = 8192,
};

/* Registers of the workers: $m0 index, $m1 rounds, $m2:3 scratch, $m4 ... $m7 pointers, $m8 strides
 * of packed pointers, $m9 a small number, $m10:11 packed pointers. */
typedef struct Program {
    Random random;
    uint32_t words[CODE_WORDS];
    uint32_t count;
    uint32_t array[ARRAYS]; /* where data are */
    int phase;              /* of the next AMP */
    bool f8;
    bool wild; /* operands that mostly trap */
} Program;

static uint32_t below(Program *p, uint32_t bound) {
    return (uint32_t)random_below(&p->random, bound);
}
static bool one_in(Program *p, uint32_t bound) {
    return below(p, bound) == 0;
}
static uint32_t here(const Program *p) {
    return RIG_BASE + 4 * p->count;
}
static bool is_full(const Program *p) {
    return p->count > CODE_WORDS - 120;
}

/* Encoding --------------------------------------------------------------------------------------*/

static void put_instr(Program *p, const IsaInstr *instr) {
    uint32_t pair[2];
    isa_encode(instr, pair);
    p->words[p->count++] = pair[0];
}
#define PUT(p, id, ...) put_instr(p, &(IsaInstr){.form = ISA_##id, .operand = {__VA_ARGS__}})

static void set_register(Program *p, int32_t number, uint32_t value) {
    PUT(p, SETZI, number, (int32_t)(value & 0xFFFFF));
    if (value >> 20)
        PUT(p, OR_HI12, number, number, (int32_t)(value & 0xFFF00000));
}

/* Random instructions ---------------------------------------------------------------------------*/

/* Steps keep pointers aligned: multiples of 16 bytes, or of 8. */
static int32_t random_stride(Program *p, const IsaFormInfo *info) {
    int32_t unit = strstr(info->id, "64") || strstr(info->id, "128") ? 1 : 16;
    return unit * ((int32_t)below(p, 5) - 1);
}

static int32_t random_immediate(Program *p, const IsaFormInfo *info, const IsaOperand *operand) {
    static const int32_t sets[] = {0, 1, CHIP_GINA_SET1_EVEN, CHIP_GINA_SET1_ODD};
    int64_t least, greatest;
    isa_operand_range(operand, &least, &greatest);
    if (!p->wild && strcmp(operand->name, "stride") == 0)
        return random_stride(p, info);
    if (!p->wild && strstr(info->id, "GINA"))
        return sets[below(p, 4)];
    if (!p->wild && strstr(info->id, "ISTACC"))
        return CHIP_TISTACC_P0 + (int32_t)below(p, 2);
    if (!p->wild && strstr(info->id, "STACC"))
        return CHIP_TSTACC_P0 + (int32_t)below(p, 2);
    if (!p->wild && strstr(info->id, "SLIC"))
        return CHIP_TSLIC_F16V4_1x4_W0 + (int32_t)below(p, 2);
    if (!p->wild && info->flags & ISA_F_AMP)
        return (int32_t)below(p, 4);
    if (!p->wild && strcmp(operand->name, "sel") != 0) {
        least = MAX_OF(least, -2);
        greatest = MIN_OF(greatest, 7);
    }
    int64_t value = least + (int64_t)random_below(&p->random, (uint64_t)(greatest - least) + 1);
    return isa_operand_valid(operand, value) ? (int32_t)value : 0;
}

static int32_t random_main(Program *p, const IsaOperand *operand, bool steps) {
    const char *name = operand->name;
    if (p->wild && one_in(p, 6))
        return (int32_t)below(p, 16);
    if (strcmp(name, "mp") == 0)
        return 10;
    if (strcmp(name, "base") == 0)
        return operand->kind == ISA_KIND_MZ ? 15 : (int32_t)(4 + below(p, 4));
    if (strcmp(name, "delta") == 0)
        return operand->kind == ISA_KIND_MZ ? 15 : steps ? (int32_t)(4 + below(p, 4)) : 9;
    if (strcmp(name, "p") == 0)
        return (int32_t)(4 + below(p, 4));
    if (strcmp(name, "off") == 0 || (strcmp(name, "stride") == 0 && steps))
        return one_in(p, 2) ? 9 : 15;
    if (strcmp(name, "stride") == 0)
        return one_in(p, 2) ? 8 : 15;
    return operand->written ? (int32_t)(2 + below(p, 2)) : (int32_t)below(p, 16);
}

static int32_t random_operand(Program *p, const IsaFormInfo *info, unsigned i) {
    const IsaOperand *operand = &info->operand[i];
    bool arithmetic, steps = false;
    unsigned registers = isa_operand_registers(operand, &arithmetic);
    if (registers == 0)
        return random_immediate(p, info, operand);
    for (unsigned k = 0; k < info->operand_count; k++)
        steps |= info->operand[k].kind == ISA_KIND_M_INC;
    int32_t number =
        arithmetic ? (int32_t)below(p, one_in(p, 8) ? 16 : 8) : random_main(p, operand, steps);
    return number & ~(int32_t)(registers - 1);
}

static bool is_straight(const IsaFormInfo *info) {
    return !(info->flags & (ISA_F_CONTROL | ISA_F_SYSTEM | ISA_F_EXCHANGE));
}

/* A form for a lane that neither branches nor ends anything; loads, stores and matrix products are
 * more frequent than they are in the table. */
static bool is_chain(IsaForm form) {
    return form == ISA_LDD16A32 || form == ISA_LDD16B16 || form == ISA_LDD16A64 ||
           form == ISA_LDD16V2A32 || form == ISA_LD64A32 || form == ISA_LDB16B16;
}

static IsaForm random_form(Program *p, IsaLane lane) {
    unsigned wanted = lane == ISA_LANE_MAIN ? ISA_F_LOAD | ISA_F_STORE : ISA_F_AACC;
    bool insist = one_in(p, 2);
    if (lane == ISA_LANE_AUX && one_in(p, 2))
        return p->f8 ? ISA_F8V8HIHOV4AMP : ISA_F16V4HIHOV4AMP;
    for (;;) {
        IsaForm form = (IsaForm)(1 + below(p, ISA_FORM_COUNT - 1));
        const IsaFormInfo *info = isa_form_info(form);
        if (is_chain(form) && !one_in(p, 20))
            continue;
        if (info->lane == lane && info->modes & ISA_WORKER && is_straight(info) &&
            sim_form_is_implemented(form) && (!insist || info->flags & wanted))
            return form;
    }
}

static IsaInstr random_instr(Program *p, IsaLane lane) {
    if (one_in(p, 6))
        return (IsaInstr){.form = lane == ISA_LANE_MAIN ? ISA_SETZI : ISA_SETZI_A,
                          .operand = {lane == ISA_LANE_MAIN ? 14 : 13, 0}};
    IsaInstr instr = {.form = (uint16_t)random_form(p, lane)};
    const IsaFormInfo *info = isa_form_info((IsaForm)instr.form);
    for (unsigned i = 0; i < info->operand_count; i++)
        instr.operand[i] = random_operand(p, info, i);
    if (instr.form == ISA_F8V8HIHOV4AMP || instr.form == ISA_F16V4HIHOV4AMP) {
        if (one_in(p, 30))
            p->phase = (int)below(p, p->wild ? 8 : 4);
        instr.operand[3] = p->phase;
        p->phase = (p->phase + 1) % 4;
    }
    return instr;
}

/* Halves that write the same register are refused. */
static void put_bundle(Program *p) {
    uint32_t pair[2];
    Packet packet;
    do {
        IsaInstr main_half = random_instr(p, ISA_LANE_MAIN);
        IsaInstr aux_half = random_instr(p, ISA_LANE_AUX);
        isa_encode_bundle(&main_half, &aux_half, pair);
        decode_packet(&packet, pair, 2);
    } while (packet.shape == SHAPE_INVALID && !one_in(p, 100));
    p->words[p->count++] = pair[0];
    p->words[p->count++] = pair[1];
}

/* Blocks ----------------------------------------------------------------------------------------*/

/* Stores another instruction into the workers' code, now or in every round of a loop. */
static void put_patch(Program *p) {
    uint32_t at = SUPERVISOR_WORDS + below(p, p->count - SUPERVISOR_WORDS + 24);
    uint32_t pair[2];
    IsaInstr instr = random_instr(p, one_in(p, 2) ? ISA_LANE_MAIN : ISA_LANE_AUX);
    isa_encode(&instr, pair);
    set_register(p, 2, one_in(p, 2) ? pair[0] : pair[0] ^ ISA_BUNDLE_BIT);
    set_register(p, 3, RIG_BASE + 4 * at);
    PUT(p, ST32_M, 2, 3, 15, 0);
}

static void put_repeat(Program *p) {
    uint32_t bundles = 1 + below(p, 8), rounds = below(p, one_in(p, 4) ? 40 : 8);
    bool patches = one_in(p, 12), from_register = one_in(p, 2);
    if (patches) { /* of the body itself, or of what follows */
        uint32_t pair[2];
        IsaInstr instr = random_instr(p, ISA_LANE_MAIN);
        isa_encode(&instr, pair);
        set_register(p, 2, pair[0] | ISA_BUNDLE_BIT);
        set_register(p, 3, (here(p) & ~7u) + 8 * (2 + below(p, bundles + 3)));
    }
    if (from_register) {
        PUT(p, SETZI, 1, (int32_t)rounds);
        if (one_in(p, 2))
            PUT(p, ADD, 1, 1, 0); /* other counts for other workers */
    }
    if (p->count % 2 == 0)
        PUT(p, SETZI, 14, 0);
    if (from_register)
        PUT(p, RPT, 1, (int32_t)bundles - 1);
    else
        PUT(p, RPT_U12, (int32_t)rounds, (int32_t)bundles - 1);
    uint32_t patched = patches ? below(p, bundles) : bundles;
    for (uint32_t i = 0; i < bundles; i++) {
        if (i != patched) {
            put_bundle(p);
            continue;
        }
        uint32_t pair[2];
        IsaInstr store = {.form = ISA_ST32_M, .operand = {2, 3, 15, 0}};
        IsaInstr aux = random_instr(p, ISA_LANE_AUX);
        isa_encode_bundle(&store, &aux, pair);
        p->words[p->count++] = pair[0];
        p->words[p->count++] = pair[1];
    }
}

/* A bundle of a matrix product: `d` is loaded, `out` takes results and `stored` is stored. */
typedef struct Product {
    bool partials;
    int32_t d, x, partial, out[2], stored[2], stride, select;
} Product;

static Product random_product(Program *p) {
    int32_t d = one_in(p, 4) ? 4 : 0, other = 4 - d, swapped = one_in(p, 4) ? 2 : 0;
    bool partials = !one_in(p, 4), late = one_in(p, 4);
    Product product = {.partials = partials,
                       .d = d,
                       .x = partials ? d + swapped : d,
                       .partial = partials ? d + 2 - swapped : 14,
                       .out = {other, other + 2},
                       .stored = {other + (late ? 2 : 0), other + (late ? 0 : 2)},
                       .stride = one_in(p, 3) ? 8 : 15};
    if (one_in(p, 4))
        product.out[1] = product.stored[1] = product.out[0];
    if (one_in(p, 4))
        product.select = (int32_t)below(p, 64);
    return product;
}

static void put_product(Program *p, const Product *product, uint32_t number) {
    IsaInstr main_half = {.form = product->partials ? ISA_LD2XST64PACE : ISA_LDST64PACE,
                          .operand = {product->d, product->stored[number % 2], 10, product->stride,
                                      product->partials ? product->select : product->select & 15}};
    IsaInstr aux_half = {
        .form = p->f8 ? ISA_F8V8HIHOV4AMP : ISA_F16V4HIHOV4AMP,
        .operand = {product->out[number % 2], product->x, product->partial, p->phase}};
    uint32_t pair[2];
    p->phase = (p->phase + 1) % 4;
    isa_encode_bundle(&main_half, &aux_half, pair);
    p->words[p->count++] = pair[0];
    p->words[p->count++] = pair[1];
}

/* Inputs, partials and results of matrix products in places of their own, or nearly so. */
static void put_product_pointers(Program *p) {
    static const uint32_t spreads[] = {0, 8, 64, 512, 1000, 1024, 1024, 2048};
    uint32_t spread = spreads[below(p, COUNT_OF(spreads))], first = below(p, ARRAYS);
    PUT(p, MUL_I16, 2, 0, (int32_t)spread);
    set_register(p, 4, p->array[first] + 16 * below(p, 16));
    set_register(p, 5, p->array[(first + 1 + below(p, 2)) % ARRAYS] + 16 * below(p, 16));
    PUT(p, ADD, 4, 4, 2);
    PUT(p, ADD, 5, 5, 2);
    PUT(p, ADD_I16, 3, 5, (int32_t)(8 * below(p, 16)) - (one_in(p, 4) ? 64 : 0));
    PUT(p, TAPACK, 10, 4, 3, 5);
}

/* A matrix product: some bundles to fill the pipeline, a repeat, which may be spoiled, some more.
 */
static void put_product_loop(Program *p) {
    Product product = random_product(p);
    uint32_t lead = one_in(p, 6) ? below(p, 4) : 4 + below(p, 8);
    uint32_t bundles = one_in(p, 6) ? 8 : 4, spoiled = one_in(p, 8) ? below(p, bundles) : bundles;
    if (!one_in(p, 4))
        put_product_pointers(p);
    p->phase = 0;
    for (uint32_t i = 0; i < lead; i++)
        put_product(p, &product, i);
    PUT(p, SETZI, 1, (int32_t)below(p, 70));
    if (one_in(p, 3))
        PUT(p, ADD, 1, 1, 0);
    if (p->count % 2 == 0)
        PUT(p, SETZI, 14, 0);
    PUT(p, RPT, 1, (int32_t)bundles - 1);
    for (uint32_t i = 0; i < bundles; i++) {
        if (i == spoiled)
            put_bundle(p);
        else
            put_product(p, &product, lead + i);
    }
    for (uint32_t i = below(p, 8); i > 0; i--)
        put_product(p, &product, lead + bundles + i);
}

/* Registers of a worker: pointers that the workers share, or that lie side by side. */
static void put_pointers(Program *p) {
    static const uint32_t spreads[] = {0, 8, 16, 16, 32, 256, 1024, 1024};
    uint32_t spread = spreads[below(p, COUNT_OF(spreads))];
    PUT(p, MUL_I16, 2, 0, (int32_t)spread);
    for (int32_t number = 4; number < 8; number++) {
        set_register(p, number,
                     p->array[((uint32_t)number + below(p, 3)) % ARRAYS] + 16 * below(p, 64));
        PUT(p, ADD, number, number, 2);
        if (p->wild && one_in(p, 8))
            PUT(p, ADD_I16, number, number, (int32_t)below(p, 16));
    }
    uint32_t steps = below(p, 5) | (uint32_t)((int32_t)below(p, 5) - 2) << 10 | 1u << 20;
    set_register(p, 8, steps & (one_in(p, 8) ? UINT32_MAX : 0x7FFFFFFF));
    PUT(p, SETZI, 9, (int32_t)(16 * below(p, 3)));
    /* Packed: a place of its own for each access, or two that are an odd number of words apart. */
    int32_t first = (int32_t)(4 + below(p, 4)), second = one_in(p, 3) ? first : 4 + (first + 1) % 4;
    PUT(p, ADD_I16, 3, second, (int32_t)(8 + 16 * below(p, 8)));
    PUT(p, TAPACK, 10, 4 + (first + 2) % 4, 3, first);
}

static void put_branch(Program *p) {
    static const IsaForm forms[] = {ISA_BRZ, ISA_BRNZ, ISA_BRNEG, ISA_BRPOS};
    IsaInstr branch = {.form = (uint16_t)forms[below(p, 4)]};
    PUT(p, ADD_I16, 3, 0, -(int32_t)below(p, 6));
    branch.operand[0] = 3;
    uint32_t at = p->count++;
    for (uint32_t i = below(p, 4); i > 0; i--)
        put_bundle(p);
    branch.operand[1] = (int32_t)here(p);
    uint32_t pair[2];
    isa_encode(&branch, pair);
    p->words[at] = pair[0];
}

static void put_control(Program *p) {
    static const int32_t registers[] = {CHIP_CSR_W_FP_CLR, CHIP_CSR_W_FP_SCL, CHIP_CSR_W_FP_NFMT,
                                        CHIP_CSR_W_FP_CTL, CHIP_CSR_W_COUNT_L};
    uint32_t which = below(p, COUNT_OF(registers));
    static const uint32_t limit[] = {16, 64, 4, 1, 1};
    if (registers[which] == CHIP_CSR_W_COUNT_L) {
        PUT(p, GET, 3, CHIP_CSR_W_COUNT_L);
        return;
    }
    uint32_t value = below(p, limit[which]);
    if (registers[which] == CHIP_CSR_W_FP_CTL)
        value = below(p, 32) << 16;
    PUT(p, SETZI_A, 7, (int32_t)(value & 0xFFFFF));
    if (value >> 20)
        PUT(p, OR_A_HI12, 7, 7, (int32_t)(value & 0xFFF00000));
    PUT(p, UPUT, registers[which] - (int32_t)CHIP_CSR_UPPER, 7);
}

static void put_block(Program *p) {
    switch (below(p, 12)) {
    case 10:
    case 11: put_product_loop(p); break;
    case 0:
    case 1:
    case 2:
    case 3: put_repeat(p); break;
    case 4: put_branch(p); break;
    case 5: put_pointers(p); break;
    case 6:
        if (one_in(p, 3))
            put_control(p);
        break;
    case 7:
        if (one_in(p, 5))
            put_patch(p);
        break;
    default:
        for (uint32_t i = below(p, 12); i > 0; i--)
            put_bundle(p);
        break;
    }
}

static void put_worker(Program *p) {
    p->f8 = one_in(p, 2);
    PUT(p, GET, 0, CHIP_CSR_W_WSR);
    PUT(p, AND_U12, 0, 0, 7);
    if (one_in(p, 3))
        PUT(p, SETZI, 0, (int32_t)below(p, 3)); /* all alike */
    put_pointers(p);
    for (int32_t i = 0; i < 8; i += 2)
        PUT(p, LD64, i, 4 + i / 2, 15, (int32_t)below(p, 8));
    uint32_t again = p->count;
    bool loops = one_in(p, 3);
    if (loops)
        PUT(p, SETZI, 12, 0);
    for (uint32_t blocks = 1 + below(p, 8); blocks > 0 && !is_full(p); blocks--)
        put_block(p);
    if (loops) {
        PUT(p, ADD_I16, 0, 0, -1);
        PUT(p, BRPOS, 0, (int32_t)(RIG_BASE + 4 * again));
    }
    PUT(p, EXITZ, 15);
}

static void put_weights(Program *p) {
    set_register(p, 0, p->array[0] & ~7u);
    PUT(p, PUT, CHIP_CSR_S_CCCSLOAD, 0);
    uint32_t first = below(p, 64), count = one_in(p, 3) ? 64 : below(p, 24);
    for (uint32_t i = 0; i < count; i++)
        PUT(p, LD64PUTCS, (int32_t)((first + i) % 64));
}

static void put_supervisor(Program *p) {
    for (uint32_t launches = 1 + below(p, 3); launches > 0; launches--) {
        uint32_t entry = RIG_BASE + 4 * SUPERVISOR_WORDS;
        if (p->count < 120 && !one_in(p, 4))
            put_weights(p);
        set_register(p, 0,
                     one_in(p, 4) ? below(p, 32) << 16 | (one_in(p, 4) ? below(p, 8) : 0) : 0);
        PUT(p, PUT, CHIP_CSR_S_FP_ICTL, 0);
        PUT(p, SETZI, 0, (int32_t)(one_in(p, 2) ? 3 : below(p, 4)));
        PUT(p, PUT, CHIP_CSR_S_FP_INFMT, 0);
        PUT(p, SETZI, 0, (int32_t)below(p, 64));
        PUT(p, PUT, CHIP_CSR_S_FP_ISCL, 0);
        PUT(p, SETZI, 1, (int32_t)entry);
        if (one_in(p, 4)) {
            for (uint32_t i = 1 + below(p, 6); i > 0; i--)
                PUT(p, RUN, 1, 15, 0);
        } else {
            PUT(p, RUNALL, 1, 15, 0);
        }
        for (uint32_t i = below(p, 4); i > 0; i--)
            PUT(p, ADD_I16, 2, 2, 1);
        PUT(p, SYNC, CHIP_SYNC_LOCAL);
    }
    PUT(p, SYNC, CHIP_SYNC_GS2H);
}

static void make_program(Program *p) {
    static const uint32_t begins[] = {0x58000, 0x60000, 0x70000, 0x7F000, 0x80000,
                                      0x90000, 0x98000, 0xA0000, 0xC0000, 0xE6000};
    uint32_t first = one_in(p, 2) ? 0 : 5;
    for (unsigned i = 0; i < ARRAYS; i++)
        p->array[i] = begins[first + below(p, COUNT_OF(begins) - first)];
    p->wild = one_in(p, 8);
    p->count = SUPERVISOR_WORDS;
    put_worker(p);
    uint32_t end = p->count;
    p->count = 0;
    put_supervisor(p);
    assert_true(p->count <= SUPERVISOR_WORDS && end <= CODE_WORDS);
    p->count = end;
}

/* Numbers of both formats that mostly do not overflow, and some of any kind. */
static void fill_array(Program *p, uint16_t *halves) {
    for (unsigned i = 0; i < ARRAY_BYTES / 2; i++) {
        uint64_t bits = random_next(&p->random);
        halves[i] = (uint16_t)(bits >> 60 ? (bits & 0x8FFF) + 0x3000 : bits);
    }
}

/* Running and comparing -------------------------------------------------------------------------*/

static Machine *start(Program *p, bool plain, uint64_t budget, const uint16_t *data) {
    MachineOptions options = {.plain = plain, .cycle_budget = budget, .timeline = true};
    Machine *machine = machine_create(1, NULL, &options);
    assert_non_null(machine);
    machine_load(machine, 0, RIG_BASE, p->words, 4 * p->count, NULL);
    for (unsigned i = 0; i < ARRAYS; i++)
        machine_load(machine, 0, p->array[i], data + i * (ARRAY_BYTES / 2), ARRAY_BYTES, NULL);
    machine_start(machine, RIG_BASE);
    return machine;
}

#define EQUAL(field)                                                                               \
    if (memcmp((const void *)&one->field, (const void *)&other->field, sizeof one->field) != 0)    \
    fail_msg("seed %llu: %s differs, worker %u", (unsigned long long)seed, #field, worker)

static void compare_contexts(Context *one, Context *other, uint64_t seed, unsigned worker) {
    exec_rows_settle(one);
    exec_rows_settle(other);
    if (memcmp(one->m, other->m, 16 * 4) != 0 || memcmp(one->a, other->a, 16 * 4) != 0)
        fail_msg("seed %llu: registers differ, worker %u", (unsigned long long)seed, worker);
    EQUAL(compute);
    EQUAL(shift);
    EQUAL(fp_control);
    EQUAL(fp_status);
    EQUAL(fp_format);
    EQUAL(fp_scale);
    EQUAL(tas);
    EQUAL(random);
    EQUAL(cycle);
    EQUAL(repeats);
    EQUAL(repeat_first);
    EQUAL(repeat_end);
    if (one->packet && context_next_pc(one) != context_next_pc(other))
        fail_msg("seed %llu: worker %u is elsewhere", (unsigned long long)seed, worker);
}

static void compare_traps(const MachineTrap *one, const MachineTrap *other, uint64_t seed) {
    if (one->code != other->code || one->class != other->class || one->context != other->context ||
        one->pc != other->pc || one->address != other->address || one->cycle != other->cycle ||
        strcmp(one->text, other->text) != 0)
        fail_msg("seed %llu: context %u at 0x%X, cycle %llu: %s\nnot context %u at 0x%X, cycle "
                 "%llu: %s",
                 (unsigned long long)seed, one->context, one->pc, (unsigned long long)one->cycle,
                 one->text, other->context, other->pc, (unsigned long long)other->cycle,
                 other->text);
}

static void compare_machines(Machine *fast, Machine *plain, uint64_t seed) {
    Tile *one = &fast->tiles[0], *other = &plain->tiles[0];
    unsigned worker = SUPERVISOR;
    for (unsigned i = 0; i < PAGE_COUNT; i++)
        if (memcmp(one->page[i]->bytes, other->page[i]->bytes, PAGE_BYTES) != 0)
            fail_msg("seed %llu: memory differs at 0x%05X", (unsigned long long)seed,
                     CHIP_TILE_MEM_BASE + i * PAGE_BYTES);
    MachineTileCounters a = machine_tile_counters(fast, 0), b = machine_tile_counters(plain, 0);
    if (memcmp(&a, &b, sizeof a) != 0)
        fail_msg(
            "seed %llu: counters differ: %llu bundles, %llu instructions, %llu slots; %llu, %llu, "
            "%llu",
            (unsigned long long)seed, (unsigned long long)a.bundles,
            (unsigned long long)a.instructions, (unsigned long long)a.worker_slots,
            (unsigned long long)b.bundles, (unsigned long long)b.instructions,
            (unsigned long long)b.worker_slots);
    EQUAL(weights);
    EQUAL(active);
    compare_traps(&one->trap, &other->trap, seed);
    size_t count, other_count;
    const MachineEvent *events = machine_timeline(fast, 0, &count);
    const MachineEvent *others = machine_timeline(plain, 0, &other_count);
    assert_int_equal(count, other_count);
    for (size_t i = 0; i < count; i++)
        assert_true(events[i].cycle == others[i].cycle && events[i].kind == others[i].kind &&
                    events[i].address == others[i].address);
    for (worker = 0; worker <= WORKERS; worker++)
        compare_contexts(&one->context[worker], &other->context[worker], seed, worker);
}

typedef struct Statistics {
    uint64_t bundles;
    unsigned ends[ERR_SIM_HOST_ACCESS + 1];
} Statistics;

static void compare_program(uint64_t seed, Statistics *statistics) {
    static Program program;
    static uint16_t data[ARRAYS * ARRAY_BYTES / 2];
    program = (Program){.random = random_seed(seed)};
    make_program(&program);
    for (unsigned i = 0; i < ARRAYS; i++)
        fill_array(&program, data + i * (ARRAY_BYTES / 2));
    uint64_t budget = one_in(&program, 10) ? 100 + below(&program, 3000) : 100000;
    Machine *fast = start(&program, false, budget, data);
    Machine *plain = start(&program, true, budget, data);
    Status status = machine_run(plain, NULL);
    Status other = machine_run(fast, NULL);
    if (other != status)
        fail_msg("seed %llu: ends with %d, plain with %d", (unsigned long long)seed, other, status);
    compare_machines(fast, plain, seed);
    statistics->bundles += machine_counters(plain).bundles;
    if (status <= ERR_SIM_HOST_ACCESS)
        statistics->ends[status]++;
    machine_free(fast);
    machine_free(plain);
}

static void random_programs(void **state) {
    (void)state;
    uint64_t count = getenv("TW_TEST_ALL") ? 10000 : 1000, seed = 1;
    if (getenv("TW_TEST_SEED")) {
        seed = strtoull(getenv("TW_TEST_SEED"), NULL, 0);
        count = 1;
    }
    print_message("seeds from %llu\n", (unsigned long long)seed);
    Statistics statistics = {0};
    for (uint64_t i = 0; i < count; i++)
        compare_program(seed + i, &statistics);
    print_message("%llu bundles; ends:", (unsigned long long)statistics.bundles);
    for (unsigned code = 0; code < COUNT_OF(statistics.ends); code++)
        if (statistics.ends[code])
            print_message(" %u x %u", code, statistics.ends[code]);
    print_message("\n");
    if (count >= 1000)
        assert_true(statistics.bundles > 500 * count && statistics.ends[STATUS_OK] > count / 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
