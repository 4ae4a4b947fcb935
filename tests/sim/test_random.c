/* Any bytes are a program: whatever they do, the simulator ends with a barrier or a trap. */
#include "rig.h"

#include "base/random.h"

#define WORDS  1024u
#define WORKER 512u /* first word of the workers' part */

/* A random operand, biased to what makes an instruction work: branches stay in the program. */
static int32_t random_operand(Random *random, const IsaOperand *operand, uint32_t part) {
    bool arithmetic;
    unsigned registers = isa_operand_registers(operand, &arithmetic);
    if (registers > 0) {
        uint64_t number = random_below(random, random_below(random, 30) ? arithmetic ? 8 : 12 : 16);
        return (int32_t)(number & ~(uint64_t)(registers - 1));
    }
    if (operand->kind == ISA_KIND_TARGET)
        return (int32_t)(RIG_BASE + 4 * (part + (uint32_t)random_below(random, WORKER)));
    int64_t least, greatest;
    isa_operand_range(operand, &least, &greatest);
    int64_t value = least + (int64_t)random_below(random, (uint64_t)(greatest - least) + 1);
    return isa_operand_valid(operand, value) ? (int32_t)value : 0;
}

static IsaInstr random_instruction(Random *random, IsaMode mode, int lane, uint32_t part) {
    for (;;) {
        IsaForm form = (IsaForm)(1 + random_below(random, ISA_FORM_COUNT - 1));
        const IsaFormInfo *info = isa_form_info(form);
        if (!(info->modes & mode) || (lane >= 0 && (int)info->lane != lane) || info->size != 4)
            continue;
        /* These end a program too soon. */
        if ((info->flags & ISA_F_EXCHANGE || form == ISA_TRAP || form == ISA_BR ||
             form == ISA_SYNC) &&
            random_below(random, 20) > 0)
            continue;
        IsaInstr instr = {.form = (uint16_t)form};
        for (unsigned i = 0; i < info->operand_count; i++)
            instr.operand[i] = random_operand(random, &info->operand[i], part);
        return instr;
    }
}

/* Loads a main register with an aligned address in memory. */
static uint32_t random_pointer(Random *random, unsigned number) {
    uint32_t address = 0x58000 + 16 * (uint32_t)random_below(random, 0x8F000 / 16);
    IsaInstr instr = {.form = ISA_SETZI, .operand = {(int32_t)number, (int32_t)address}};
    uint32_t words[2];
    isa_encode(&instr, words);
    return words[0];
}

/* Mostly makes an access hit memory: writes to `words` what loads its address registers and takes
 * offsets out. Returns how many words that took. */
static uint32_t tame_access(Random *random, IsaInstr *instr, uint32_t words[4]) {
    const IsaFormInfo *info = isa_form_info((IsaForm)instr->form);
    uint32_t count = 0;
    if (!(info->flags & (ISA_F_LOAD | ISA_F_STORE)) || random_below(random, 20) == 0)
        return 0;
    bool step = false;
    for (unsigned i = 0; i < info->operand_count; i++)
        step |= info->operand[i].kind == ISA_KIND_M_INC;
    for (unsigned i = 0; i < info->operand_count; i++) {
        const char *name = info->operand[i].name;
        bool delta = strcmp(name, "delta") == 0, base = strcmp(name, "base") == 0;
        unsigned number = (unsigned)random_below(random, 12);
        if (strcmp(name, "mp") == 0) {
            instr->operand[i] = (int32_t)(number & ~1u);
            words[count++] = random_pointer(random, number & ~1u);
            words[count++] = random_pointer(random, number | 1);
        } else if ((delta && step) || (base && !(step && info->operand[i].kind == ISA_KIND_MZ)) ||
                   strcmp(name, "p") == 0) {
            instr->operand[i] = (int32_t)number;
            words[count++] = random_pointer(random, number);
        } else if (delta || base) {
            instr->operand[i] = 15;
        } else if (strcmp(name, "off") == 0) {
            instr->operand[i] = info->operand[i].kind == ISA_KIND_M ? 15 : (int32_t)number;
        }
    }
    return count;
}

static void fill_part(Random *random, uint32_t *words, IsaMode mode, uint32_t part) {
    uint32_t i = part, end = part + WORKER;
    for (; i < part + 12; i++)
        words[i] = random_pointer(random, i - part);
    while (i < end) {
        uint32_t pair[2];
        unsigned size = 4;
        unsigned choice = (unsigned)random_below(random, 40);
        if (choice == 0) {
            pair[0] = (uint32_t)random_next(random);
        } else if (choice < 6) {
            pair[0] = random_pointer(random, (unsigned)random_below(random, 12));
        } else if (choice < 20 && mode == ISA_WORKER) {
            IsaInstr first = random_instruction(random, mode, ISA_LANE_MAIN, part);
            IsaInstr second = random_instruction(random, mode, ISA_LANE_AUX, part);
            if (i + 4 < end)
                i += tame_access(random, &first, words + i);
            isa_encode_bundle(&first, &second, pair);
            size = 8;
        } else {
            IsaInstr instr = random_instruction(random, mode, -1, part);
            if (i + 4 < end)
                i += tame_access(random, &instr, words + i);
            isa_encode(&instr, pair);
        }
        words[i++] = pair[0];
        if (size == 8 && i < end)
            words[i++] = pair[1];
    }
}

/* The supervisor's part, which launches now and then, and the workers' part. */
static void fill(Random *random, uint32_t *words) {
    fill_part(random, words, ISA_SUPERVISOR, 0);
    fill_part(random, words, ISA_WORKER, WORKER);
    uint32_t at = 12 + (uint32_t)random_below(random, 40);
    IsaInstr entry = {.form = ISA_SETZI, .operand = {0, (int32_t)(RIG_BASE + 4 * WORKER)}};
    IsaInstr launch = {.form = random_below(random, 2) ? ISA_RUNALL : ISA_RUN,
                       .operand = {0, 1, (int32_t)random_below(random, 8)}};
    uint32_t pair[2];
    isa_encode(&entry, pair);
    words[at] = pair[0];
    isa_encode(&launch, pair);
    words[at + 1] = pair[0];
}

static void random_programs(void **state) {
    (void)state;
    unsigned count = getenv("TW_TEST_ALL") ? 20000 : 500;
    uint64_t seed = 4711;
    print_message("seed %llu\n", (unsigned long long)seed);
    Random random = random_seed(seed);
    MachineOptions options = {.cycle_budget = 20000, .timeline = true};
    unsigned ends[ERR_SIM_HOST_ACCESS + 1] = {0};
    uint64_t bundles = 0, supervisor = 0;
    static uint32_t words[WORDS];
    for (unsigned i = 0; i < count; i++) {
        Machine *machine = machine_create(2, NULL, &options);
        for (uint32_t tile = 0; tile < 2; tile++) {
            fill(&random, words);
            machine_load(machine, tile, RIG_BASE, words, sizeof words, NULL);
        }
        machine_start(machine, RIG_BASE);
        for (unsigned run = 0; run < 3; run++) {
            Diag diag;
            diag_init(&diag);
            Status status = machine_run(machine, &diag);
            assert_int_equal(diag_status(&diag), status);
            if (status <= ERR_SIM_HOST_ACCESS)
                ends[status]++;
            diag_free(&diag);
            if (status != STATUS_OK)
                break;
        }
        bundles += machine_counters(machine).bundles;
        supervisor += machine_counters(machine).supervisor;
        machine_free(machine);
    }
    print_message("%llu worker packets, %llu supervisor instructions; ends:",
                  (unsigned long long)bundles, (unsigned long long)supervisor);
    for (unsigned code = 0; code < COUNT_OF(ends); code++)
        if (ends[code])
            print_message(" %u x %u", code, ends[code]);
    print_message("\n");
    assert_true(bundles > 5 * (uint64_t)count && supervisor > 15 * (uint64_t)count);
}

/* Bytes without any sense. */
static void random_bytes(void **state) {
    (void)state;
    Random random = random_seed(12);
    MachineOptions options = {.cycle_budget = 20000};
    static uint32_t words[WORDS];
    for (unsigned i = 0; i < 200; i++) {
        for (unsigned w = 0; w < WORDS; w++)
            words[w] = (uint32_t)random_next(&random);
        Machine *machine = machine_create(1, NULL, &options);
        machine_load(machine, 0, RIG_BASE, words, sizeof words, NULL);
        machine_start(machine, RIG_BASE + 4 * (uint32_t)random_below(&random, WORDS));
        assert_int_not_equal(machine_run(machine, NULL), STATUS_OK);
        machine_free(machine);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs),
                                       cmocka_unit_test(random_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
