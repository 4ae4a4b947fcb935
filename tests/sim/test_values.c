/* Each line of values.txt: one short program, the registers and words before it, and what it must
 * change. Together they execute every form that has semantics and is no matter of control. */
#include "rig.h"

#include "base/file.h"

enum { MAIN = 12, AUX = 8, WORDS = 16 };
#define BEFORE 0x5C000u /* block of registers; the one after lies 0x1000 bytes on */
#define AFTER  (BEFORE + 0x1000u)
static const uint32_t area[3] = {0x80000, 0x90000, 0x60000}; /* p, q, r */

typedef struct State {
    uint32_t main[MAIN], aux[AUX], memory[3][WORDS];
} State;

static bool covered[ISA_FORM_COUNT];

/* What takes more than one slot, apart from the tables of src/. */
static const struct {
    const char *mnemonic;
    unsigned slots;
} long_ones[] = {{"f16v2ln", 2}, {"f16v2log2", 2}, {"f16v2sigm", 2}, {"f32exp2", 3},
                 {"f32oox", 3},  {"f32oorx", 3},   {"f32div", 3},    {"f32ln", 5},
                 {"f32tanh", 5}, {"f32sigm", 5},   {"f32sqrt", 5},   {"f32log2", 6}};

static unsigned expected_slots(uint16_t form) {
    for (size_t i = 0; i < COUNT_OF(long_ones); i++)
        if (form && strcmp(isa_form_info((IsaForm)form)->mnemonic, long_ones[i].mnemonic) == 0)
            return long_ones[i].slots;
    return 1;
}

static void pattern(State *state) {
    for (unsigned i = 0; i < MAIN; i++)
        state->main[i] = 0x0D000000u + i * 0x111;
    for (unsigned i = 0; i < AUX; i++)
        state->aux[i] = 0xA0000000u + i * 0x10101;
    for (unsigned i = 0; i < 3; i++)
        for (unsigned j = 0; j < WORDS; j++)
            state->memory[i][j] = 0xE0000000u + i * 0x100 + j;
}

/* Puts "m3=12 p+4=FF …" into a state. */
static void apply(State *state, const char *text, const char *line) {
    char name;
    unsigned number, value;
    int length;
    for (; *text; text += length) {
        if (sscanf(text, " %c%n", &name, &length) < 1)
            return;
        bool word = strchr("pqr", name) != NULL;
        if (sscanf(text, word ? " %*c+%x=%x%n" : " %*c%u=%x%n", &number, &value, &length) != 2)
            fail_msg("cannot read: %s", line);
        if (word)
            state->memory[name == 'p' ? 0 : name == 'q' ? 1 : 2][number / 4 % WORDS] = value;
        else if (name == 'm' && number < MAIN)
            state->main[number] = value;
        else if (name == 'a' && number < AUX)
            state->aux[number] = value;
        else
            fail_msg("no such register: %s", line);
    }
}

static char *program(const char *text) {
    char load[1024] = "", store[1024] = "", *body = mem_strdup(text);
    size_t l = 0, s = 0;
    for (unsigned i = 0; i < MAIN + AUX; i++) {
        const char *file = i < MAIN ? "$m" : "$a";
        unsigned number = i < MAIN ? i : i - MAIN;
        l += (size_t)snprintf(load + l, sizeof load - l, "ld32 %s%u, $mvertex_base, $mzero, %u\n",
                              file, number, i);
        s += (size_t)snprintf(store + s, sizeof store - s, "st32 %s%u, $mvertex_base, $mzero, %u\n",
                              file, number, 1024 + i);
    }
    char *all =
        mem_printf(".supervisor\n"
                   "setzi $m0, 0x5F000\n put $WORKER0_BASE, $m0\n"
                   "setzi $m0, worker\n setzi $m1, 0x%X\n run $m0, $m1, 0\n sync 2\n sync 7\n"
                   ".worker\n worker:\n%s test_begin:\n%s\n test_end:\n%s exitz $mzero\n",
                   BEFORE - 0x4C000, load, body, store);
    mem_free(body);
    return all;
}

/* Notes the forms between the labels; returns the slots that they take. */
static unsigned cover(const AsmImage *image) {
    unsigned slots = 0;
    uint32_t at = rig_symbol(image, "test_begin"), end = rig_symbol(image, "test_end");
    while (at < end) {
        IsaPacket packet;
        const uint32_t *words = (const uint32_t *)(const void *)(image->bytes + (at - image->base));
        assert_true(isa_decode_packet(words, 2, ISA_WORKER, &packet));
        covered[packet.main.form] = covered[packet.aux.form] = true;
        slots += MAX_OF(expected_slots(packet.main.form), expected_slots(packet.aux.form));
        at += packet.size;
    }
    return slots;
}

static void write_state(Machine *machine, const State *state) {
    machine_write(machine, 0, BEFORE, state->main, sizeof state->main, NULL);
    machine_write(machine, 0, BEFORE + 4 * MAIN, state->aux, sizeof state->aux, NULL);
    for (unsigned i = 0; i < 3; i++)
        machine_write(machine, 0, area[i], state->memory[i], sizeof state->memory[i], NULL);
}

static void read_state(Machine *machine, State *state) {
    machine_read(machine, 0, AFTER, state->main, sizeof state->main, NULL);
    machine_read(machine, 0, AFTER + 4 * MAIN, state->aux, sizeof state->aux, NULL);
    for (unsigned i = 0; i < 3; i++)
        machine_read(machine, 0, area[i], state->memory[i], sizeof state->memory[i], NULL);
}

static unsigned compare(const uint32_t *got, const uint32_t *want, unsigned count, char name,
                        const char *line) {
    unsigned differences = 0;
    for (unsigned i = 0; i < count; i++) {
        if (got[i] == want[i])
            continue;
        print_error("%s\n    %c%u = %08X, not %08X\n", line, name, i, got[i], want[i]);
        differences++;
    }
    return differences;
}

static unsigned check_line(Machine *machine, const char *line) {
    char *copy = mem_strdup(line), *bar = strchr(copy, '|');
    char *after = bar ? strchr(bar + 1, '|') : NULL;
    if (!after)
        fail_msg("a line without two bars: %s", line);
    *bar = *after = 0;
    State before, want, got;
    pattern(&before);
    apply(&before, bar + 1, line);
    want = before;
    apply(&want, after + 1, line);
    char *text = program(copy);
    AsmImage image = rig_assemble(text);
    unsigned slots = 2 * (MAIN + AUX) + 1 + cover(&image); /* loads, stores, exit */
    machine_write(machine, 0, image.base, image.bytes, image.size, NULL);
    write_state(machine, &before);
    machine_start(machine, image.base);
    Diag diag;
    diag_init(&diag);
    unsigned differences = 0;
    if (machine_run(machine, &diag) != STATUS_OK) {
        print_error("%s\n", line);
        diag_print(&diag, stderr);
        differences++;
    } else {
        read_state(machine, &got);
        differences = compare(got.main, want.main, MAIN, 'm', line) +
                      compare(got.aux, want.aux, AUX, 'a', line);
        for (unsigned i = 0; i < 3; i++)
            differences += compare(got.memory[i], want.memory[i], WORDS, "pqr"[i], line);
        uint64_t taken = machine_tile_counters(machine, 0).worker_slots;
        if (taken != slots) {
            print_error("%s\n    %llu slots, not %u\n", line, (unsigned long long)taken, slots);
            differences++;
        }
    }
    diag_free(&diag);
    asm_image_free(&image);
    mem_free(text);
    mem_free(copy);
    return differences;
}

static void every_line(void **state) {
    (void)state;
    uint8_t *bytes;
    size_t size;
    assert_int_equal(file_read("tests/sim/values.txt", &bytes, &size, NULL), STATUS_OK);
    Machine *machine = machine_create(1, NULL, NULL);
    unsigned differences = 0, lines = 0;
    for (char *line = strtok((char *)bytes, "\n"); line; line = strtok(NULL, "\n")) {
        if (*line == '#')
            continue;
        differences += check_line(machine, line);
        lines++;
    }
    print_message("%u lines\n", lines);
    machine_free(machine);
    mem_free(bytes);
    assert_int_equal(differences, 0);
}

/* Every form of the instructions that tested.def gives to this test has a line, and no others. */
static void all_forms_covered(void **state) {
    (void)state;
    unsigned wrong = 0;
    for (int form = ISA_INVALID + 1; form < ISA_FORM_COUNT; form++) {
        const IsaFormInfo *info = isa_form_info((IsaForm)form);
        const char *test = isa_tested_by(info->mnemonic);
        bool here = test && strcmp(test, "sim.values") == 0;
        bool exchange = (info->flags & ISA_F_EXCHANGE) != 0;
        assert_true(sim_form_is_implemented((IsaForm)form));
        bool elsewhere =
            test && (strcmp(test, "sim.directed") == 0 || strcmp(test, "sim.amp") == 0);
        if (here ? covered[form] : exchange || elsewhere)
            continue;
        print_error("%s: %s %s\n", here ? "no line" : "not in tested.def", info->mnemonic,
                    info->operands);
        wrong++;
    }
    assert_int_equal(wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_line),
        cmocka_unit_test(all_forms_covered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
