/* Every kernel, executed plainly and fast: the same memory, cycles, counters and traps. And that
 * none is left out: each source, and with TW_TEST_ALL each statement of each source. */
#include "rig.h"

#include "base/embed.h"

extern const EmbeddedFile tw_kernel_sources[];

enum { SOURCES = 32, LINES = 2048 };

/* Of each source: kernels compared, and what became of its lines (LINE_…). */
static unsigned compared[SOURCES];
static uint8_t lines[SOURCES][LINES];
enum { LINE_LINKED = 1, LINE_CODE = 2, LINE_ISSUED = 4 };

static bool every_line(void) {
    return getenv("TW_TEST_ALL") != NULL;
}

static KernelSpec random_gemm(Random *random) {
    unsigned kind = (unsigned)random_below(random, RIG_GEMM_KINDS + 2);
    if (kind < RIG_GEMM_KINDS)
        return rig_draw_gemm(random, kind);
    if (kind == RIG_GEMM_KINDS) { /* rows beyond the reach of a packed stride */
        uint32_t quotient = 129 + (uint32_t)random_below(random, 20);
        uint32_t rest = (uint32_t)random_below(random, random_below(random, 2) ? 6 : 1);
        return rig_gemm(6 * quotient + rest, 1 + (uint32_t)random_below(random, 2),
                        1 + (uint32_t)random_below(random, 2),
                        (unsigned)random_below(random, RIG_GEMM_VARIANTS));
    }
    return (KernelSpec){.family = KERNEL_GEMM,
                        .gemm = {.precision = PRECISION_F32,
                                 .accumulate = random_below(random, 2),
                                 .wide_weights = random_below(random, 2),
                                 .rows = 1 + (uint32_t)random_below(random, 60),
                                 .panels = 1 + (uint32_t)random_below(random, 3),
                                 .groups = 1 + (uint32_t)random_below(random, 3)}};
}

static KernelSpec random_cast(Random *random) {
    KernelCast cast = {.order = (KernelCastOrder)random_below(random, 3),
                       .fast = random_below(random, 2),
                       .rows = 1 + (uint32_t)random_below(random, 80),
                       .panels = 1 + (uint32_t)random_below(random, 6),
                       .groups = 1};
    if (cast.order == CAST_LINEAR)
        cast = (KernelCast){
            .order = random_below(random, 4) ? CAST_LINEAR : CAST_IN_PLACE,
            .fast = cast.fast,
            .count = 1 + (uint32_t)random_below(random, random_below(random, 8) ? 3000 : 15)};
    else if (cast.order == CAST_PANELS)
        cast.groups = 1 + (uint32_t)random_below(random, 4);
    else
        cast.pitch = 16 * cast.panels + 4 * (uint32_t)random_below(random, 5);
    return (KernelSpec){.family = KERNEL_CAST, .cast = cast};
}

static KernelSpec random_reduce(Random *random) {
    return (KernelSpec){.family = KERNEL_REDUCE,
                        .reduce = {.parts = 2 + (uint32_t)random_below(random, 12),
                                   .count = 8 + 8 * (uint32_t)random_below(random, 150),
                                   .wide = random_below(random, 2)}};
}

static KernelSpec random_copy(Random *random) {
    uint32_t words = 1 + (uint32_t)random_below(random, 200);
    return (KernelSpec){.family = KERNEL_COPY,
                        .copy = {.rows = 1 + (uint32_t)random_below(random, 40),
                                 .words = words,
                                 .source_stride = 8 * (words + (uint32_t)random_below(random, 4)),
                                 .output_stride = 8 * (words + (uint32_t)random_below(random, 4)),
                                 .paced = random_below(random, 2)}};
}

static KernelSpec random_fill(Random *random) {
    return (KernelSpec){.family = KERNEL_FILL,
                        .fill = {.words = 1 + (uint32_t)random_below(random, 2000)}};
}

static KernelSpec random_convert(Random *random) {
    static const PrecisionKind pairs[][2] = {{PRECISION_F8F143, PRECISION_F16},
                                             {PRECISION_F8F143, PRECISION_F8F143},
                                             {PRECISION_F16, PRECISION_F32},
                                             {PRECISION_F32, PRECISION_F16},
                                             {PRECISION_F32, PRECISION_F8F143}};
    size_t pair = random_below(random, COUNT_OF(pairs));
    return (KernelSpec){.family = KERNEL_CONVERT,
                        .convert = {.from = pairs[pair][0],
                                    .to = pairs[pair][1],
                                    .fast = random_below(random, 2),
                                    .count = 1 + (uint32_t)random_below(random, 2000),
                                    .shift = (int8_t)((int)random_below(random, 9) - 4),
                                    .rows = 1 + (uint32_t)random_below(random, 60),
                                    .panels = pair == 0 ? (uint32_t)random_below(random, 4) : 0,
                                    .groups = 1 + (uint32_t)random_below(random, 3)}};
}

static KernelSpec random_pack(Random *random) {
    bool f8 = random_below(random, 2);
    uint32_t columns = 8 * (1 + (uint32_t)random_below(random, 12));
    KernelPackOrder order = (KernelPackOrder)random_below(random, 4);
    bool lines_along_rows = order >= PACK_TRANSPOSED_LEFT;
    return (KernelSpec){.family = KERNEL_PACK,
                        .pack = {.order = order,
                                 .precision = f8 ? PRECISION_F8F143 : PRECISION_F16,
                                 .half = f8 && random_below(random, 2),
                                 .unpack = random_below(random, 2),
                                 .fast = random_below(random, 2),
                                 .rows = 1 + (uint32_t)random_below(random, 100),
                                 .columns = columns,
                                 .pitch = columns + 8 * (uint32_t)random_below(random, 3),
                                 .groups = lines_along_rows && random_below(random, 2)
                                               ? 1 + (uint32_t)random_below(random, 3)
                                               : 1}};
}

static KernelSpec random_gelu(Random *random) {
    uint64_t bits = random_next(random);
    KernelGelu gelu = {.bias = bits & 1 ? KERNEL_BIAS_COLUMNS : KERNEL_BIAS_NONE,
                       .output = bits & 2 ? PRECISION_F16 : PRECISION_F8F143,
                       .half = bits & 4,
                       .rows = 1 + (uint32_t)random_below(random, 60),
                       .panels = 1 + (uint32_t)random_below(random, 4)};
    if (random_below(random, 3) == 0)
        gelu = (KernelGelu){.bias = bits & 1 ? KERNEL_BIAS_ROWS : KERNEL_BIAS_NONE,
                            .turn = bits & 2 ? KERNEL_TURN_LEFT : KERNEL_TURN_RIGHT,
                            .output = gelu.output,
                            .half = true,
                            .rows = 16 * (1 + gelu.rows / 16),
                            .panels = gelu.panels};
    return (KernelSpec){.family = KERNEL_GELU, .gelu = gelu};
}

static KernelSpec random_reduce_gelu(Random *random) {
    uint64_t bits = random_next(random);
    return (KernelSpec){.family = KERNEL_REDUCE_GELU,
                        .reduce_gelu = {.parts = 2 + (uint32_t)random_below(random, 8),
                                        .wide = bits & 4,
                                        .bias = bits & 1 ? KERNEL_BIAS_COLUMNS : KERNEL_BIAS_NONE,
                                        .output = bits & 2 ? PRECISION_F16 : PRECISION_F8F143,
                                        .rows = 1 + (uint32_t)random_below(random, 40),
                                        .panels = 1 + (uint32_t)random_below(random, 3)}};
}

static KernelSpec random_add(Random *random) {
    KernelAddForm form = (KernelAddForm)random_below(random, 4);
    bool panels = form == KERNEL_ADD_COLUMNS || form == KERNEL_ADD_ROWS;
    return (KernelSpec){
        .family = KERNEL_ADD,
        .add = {.form = form,
                .apart = panels ? KERNEL_ADD_ANYHOW : (KernelAddApart)random_below(random, 3),
                .rows = 1 + (uint32_t)random_below(random, 40),
                .columns = 16 * (1 + (uint32_t)random_below(random, 8))}};
}

typedef struct Outcome {
    Status status;
    MachineTrap trap;
    MachineTileCounters counters;
    uint8_t memory[CHIP_TILE_MEM_SIZE];
} Outcome;

static void mark_line(const char *file, uint32_t line, uint8_t mark) {
    for (size_t i = 0; file && tw_kernel_sources[i].name; i++)
        if (strcmp(tw_kernel_sources[i].name, file) == 0) {
            assert_true(line < LINES);
            lines[i][line] |= mark;
        }
}

static void mark(const AsmImageLine *line, uint8_t mark) {
    mark_line(line->file, line->line, mark);
    mark_line(line->call_file, line->call_line, mark);
}

static void mark_linked(const AsmImage *image) {
    for (size_t i = 0; i < image->line_count; i++)
        mark(&image->lines[i], image->lines[i].code ? LINE_LINKED | LINE_CODE : LINE_LINKED);
}

static void mark_issued(void *image, const MachineIssue *issue) {
    const AsmImageLine *line = asm_image_line(image, issue->pc);
    if (line)
        mark(line, LINE_ISSUED);
}

static void run(const Rig *rig, bool plain, Outcome *outcome) {
    MachineOptions options = {.plain = plain};
    if (plain && every_line()) {
        options.issued = mark_issued;
        options.issued_context = (void *)&rig->image;
        mark_linked(&rig->image);
    }
    Machine *machine = machine_create(1, NULL, &options);
    assert_non_null(machine);
    assert_int_equal(machine_load(machine, 0, RIG_CODE, rig->image.bytes, rig->image.size, NULL),
                     STATUS_OK);
    assert_int_equal(machine_load(machine, 0, RIG_DATA, rig->memory, RIG_DATA_BYTES, NULL),
                     STATUS_OK);
    uint32_t entry;
    assert_true(asm_image_symbol(&rig->image, "start", &entry));
    machine_start(machine, entry);
    outcome->status = machine_run(machine, NULL);
    outcome->trap = machine_trap(machine) ? *machine_trap(machine) : (MachineTrap){0};
    outcome->counters = machine_tile_counters(machine, 0);
    assert_int_equal(
        machine_read(machine, 0, CHIP_TILE_MEM_BASE, outcome->memory, sizeof outcome->memory, NULL),
        STATUS_OK);
    machine_free(machine);
}

static void count_source(const KernelSpec *spec) {
    KernelSource source;
    kernel_source(spec, &source);
    for (size_t i = 0; tw_kernel_sources[i].name; i++)
        compared[i] += strcmp(tw_kernel_sources[i].name, source.file) == 0;
}

static void compare(const KernelSpec *spec, const Rig *rig) {
    static Outcome fast, plain;
    char name[KERNEL_NAME_SIZE];
    kernel_name(spec, name);
    run(rig, false, &fast);
    run(rig, true, &plain);
    if (memcmp(&fast.counters, &plain.counters, sizeof fast.counters) != 0)
        fail_msg("%s: %" PRIu64 " and %" PRIu64 " bundles, %" PRIu64 " and %" PRIu64 " cycles",
                 name, fast.counters.bundles, plain.counters.bundles, fast.counters.arrived,
                 plain.counters.arrived);
    if (fast.status != plain.status || fast.trap.pc != plain.trap.pc ||
        fast.trap.context != plain.trap.context || fast.trap.cycle != plain.trap.cycle ||
        fast.trap.address != plain.trap.address || strcmp(fast.trap.text, plain.trap.text) != 0)
        fail_msg("%s: %s, cycle %" PRIu64 "; plain %s, cycle %" PRIu64, name, fast.trap.text,
                 fast.trap.cycle, plain.trap.text, plain.trap.cycle);
    for (uint32_t i = 0; i < CHIP_TILE_MEM_SIZE; i++)
        if (fast.memory[i] != plain.memory[i])
            fail_msg("%s: 0x%05X holds %02X, plain %02X", name, CHIP_TILE_MEM_BASE + i,
                     fast.memory[i], plain.memory[i]);
}

/* Halves of moderate size are codes of any size. */
static void fill_memory(Rig *rig, Random *random) {
    bool any = random_below(random, 4) == 0;
    for (uint32_t i = 0; i < RIG_DATA_BYTES; i += 8) {
        uint64_t bits = random_next(random);
        if (!any)
            bits = (bits & 0x8FFF8FFF8FFF8FFF) + 0x3000300030003000;
        memcpy(rig->memory + i, &bits, sizeof bits);
    }
}

/* At times an operand lies where it must not. */
static void misplace(const KernelSpec *spec, RigCall *call, Random *random) {
    KernelInterface interface;
    kernel_interface(spec, &interface);
    uint32_t *address = &call->address[random_below(random, interface.operand_count)];
    switch (random_below(random, 4)) {
    case 0: *address = call->address[0]; break;
    case 1: *address += 4; break;
    case 2: *address = CHIP_TILE_MEM_END - 256; break;
    default: *address = 8 * (uint32_t)random_below(random, 0x20000); break;
    }
}

static void check(KernelSpec (*random_spec)(Random *), uint64_t seed, unsigned count) {
    print_message("seed %" PRIu64 "\n", seed);
    Random random = random_seed(seed);
    for (unsigned i = 0; i < count; i++) {
        KernelSpec spec = random_spec(&random);
        RigCall call = {.delay = (uint32_t)random_below(&random, 6),
                        .scalar = {(int32_t)random_below(&random, 63) - 31,
                                   (int32_t)random_below(&random, 63) - 31}};
        if (kernel_check(&spec, NULL) != STATUS_OK || !rig_place(&spec, &random, &call))
            continue;
        if (random_below(&random, 6) == 0)
            misplace(&spec, &call, &random);
        Rig rig;
        rig_create(&rig);
        fill_memory(&rig, &random);
        char *program = rig_program(&spec, &call, 1, random_below(&random, 4) == 0);
        rig_link(&rig, program, &spec);
        mem_free(program);
        compare(&spec, &rig);
        count_source(&spec);
        rig_free(&rig);
    }
}

static unsigned cases(void) {
    return getenv("TW_TEST_ALL") ? 1000 : 40;
}
static void gemms(void **state) {
    (void)state;
    check(random_gemm, 1, 2 * cases());
}
static void casts(void **state) {
    (void)state;
    check(random_cast, 2, 2 * cases());
}
static void reductions(void **state) {
    (void)state;
    check(random_reduce, 3, cases());
}
static void copies(void **state) {
    (void)state;
    check(random_copy, 4, cases());
}
static void fills(void **state) {
    (void)state;
    check(random_fill, 5, cases() / 2);
}

static void gelus(void **state) {
    (void)state;
    check(random_gelu, 8, cases());
    check(random_reduce_gelu, 9, cases() / 2);
}
static void sums(void **state) {
    (void)state;
    check(random_add, 10, cases());
}

static void conversions(void **state) {
    (void)state;
    check(random_convert, 6, cases());
}

static void packings(void **state) {
    (void)state;
    check(random_pack, 7, cases());
}

/* The text behind labels, without comment; empty if it is no statement. */
static const char *statement_of(const char *line, size_t length, char text[200]) {
    size_t end = 0;
    for (; end < length && end < 199 && strncmp(line + end, "//", 2) != 0; end++)
        text[end] = line[end];
    text[end] = 0;
    char *label = strchr(text, ':');
    bool is_label = label && (size_t)(label - text) == strcspn(text, ": ");
    const char *at = is_label ? label + 1 : text;
    return at + strspn(at, " ");
}

/* Statements outside of macros and repetitions, which stand where they are used: each is in some
 * kernel that was compared, and each instruction in some kernel in which it was executed. Of a
 * bundle of several lines the first counts. */
static unsigned missed_lines(size_t source) {
    const EmbeddedFile *file = &tw_kernel_sources[source];
    unsigned missed = 0, inside = 0;
    bool bundle = false;
    const char *at = file->bytes;
    for (uint32_t number = 1; *at; number++) {
        size_t length = strcspn(at, "\n");
        char text[200];
        const char *statement = statement_of(at, length, text);
        bool begins = !strncmp(statement, ".macro", 6) || !strncmp(statement, ".rept", 5) ||
                      !strncmp(statement, ".irp", 4);
        bool ends = !strncmp(statement, ".endm", 5) || !strncmp(statement, ".endr", 5);
        bool counts = *statement && *statement != '.' && !bundle && inside == 0;
        inside = inside + begins - ends;
        if (*statement == '{' || bundle)
            bundle = strchr(statement, '}') == NULL;
        uint8_t found = lines[source][number];
        if (counts && (!(found & LINE_LINKED) || (found & LINE_CODE && !(found & LINE_ISSUED)))) {
            print_message("%s:%u: not compared:%s\n", file->name, number, text);
            missed++;
        }
        at += length + (at[length] == '\n');
    }
    return missed;
}

/* No source of a kernel is left out; last, since it looks at what the others compared. */
static void every_source(void **state) {
    (void)state;
    for (size_t i = 0; tw_kernel_sources[i].name; i++) {
        assert_true(i < SOURCES);
        if (compared[i] < 3)
            fail_msg("%s: %u of its kernels were compared; it wants a row above",
                     tw_kernel_sources[i].name, compared[i]);
        if (every_line())
            assert_int_equal(missed_lines(i), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gemms),        cmocka_unit_test(casts), cmocka_unit_test(reductions),
        cmocka_unit_test(copies),       cmocka_unit_test(fills), cmocka_unit_test(conversions),
        cmocka_unit_test(packings),     cmocka_unit_test(gelus), cmocka_unit_test(sums),
        cmocka_unit_test(every_source),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
