/* Calls of small functions: results, cycles, and where every cycle went. */
#include "pack/folder.h"

#include "trial/trial.h"

#include <math.h>

typedef struct Call {
    const char *text;
    TrialOptions options;
    const char *outputs[4], *inputs[4], *expected[4];
} Call;

static size_t count_of(const char *const texts[4]) {
    size_t count = 0;
    while (count < 4 && texts[count])
        count++;
    return count;
}

static Status run(const Call *call, Trial *trial, Diag *diag) {
    AsmObject *object = NULL;
    AsmOptions names = {0};
    names.defines = asm_standard_defines(&names.define_count);
    assert_int_equal(asm_assemble("call.S", call->text, strlen(call->text), &names, &object, NULL),
                     STATUS_OK);
    const AsmObject *const objects[] = {object};
    TrialOptions options = call->options;
    options.objects = objects;
    options.object_count = 1;
    options.outputs = call->outputs;
    options.output_count = count_of(call->outputs);
    options.inputs = call->inputs;
    options.input_count = count_of(call->inputs);
    options.expected = call->expected;
    options.expected_count = count_of(call->expected);
    Status status = trial_run(&options, trial, diag);
    asm_object_free(object);
    return status;
}

/* What is always true of a profile. */
static void check_sums(const Trial *trial) {
    uint64_t cycles = 0, lost = 0, executions = 0, workers = 0;
    for (size_t i = 0; i < trial->profile.lines.count; i++) {
        const TrialLine *line = &trial->profile.lines.items[i];
        cycles += line->cycles;
        lost += line->lost;
        executions += line->executions;
        assert_true(line->lost <= line->cycles);
    }
    for (unsigned w = 0; w < CHIP_WORKERS; w++)
        workers += trial->profile.worker[w].issues;
    assert_int_equal(cycles, trial->cycles);
    assert_int_equal(lost, trial->profile.lost);
    assert_int_equal(executions, trial->profile.supervisor_issues + workers);
    /* At most one issue a cycle. */
    assert_int_equal(executions + lost, trial->cycles);
    assert_true(trial->least <= trial->cycles && trial->cycles <= trial->most);
}

static void good(const Call *call, Trial *trial) {
    Diag diag;
    diag_init(&diag);
    if (run(call, trial, &diag) != STATUS_OK) {
        diag_print(&diag, stderr);
        fail_msg("the call fails:\n%s", call->text);
    }
    diag_free(&diag);
    check_sums(trial);
}

static const TrialLine *line(const Trial *trial, unsigned number) {
    for (size_t i = 0; i < trial->profile.lines.count; i++) {
        const TrialLine *found = &trial->profile.lines.items[i];
        if (found->file && found->line == number)
            return found;
    }
    fail_msg("line %u was never executed", number);
    return NULL;
}

/* The supervisor alone: 8 cycles a taken branch, 6 from a result to its use. */
static void supervisor_function(void **state) {
    (void)state;
    const Call call = {.text = ".supervisor\n"
                               ".globl add\n"
                               "add: ld32 $m0, $m3, $mzero, 0\n"
                               " add $m0, $m0, $m4\n"
                               " st32 $m0, $m2, $mzero, 0\n"
                               " br $m10\n",
                       .outputs = {"y=u32:1"},
                       .inputs = {"x=u32:1:fill=40"},
                       .expected = {"y=fill=42"},
                       .options = {.arguments = "y,x,2"}};
    Trial trial;
    good(&call, &trial);
    assert_string_equal(trial.entry, "add");
    assert_false(trial.worker);
    assert_int_equal(trial.cycles, 8 + 6 + 6 + 1 + 8);
    assert_int_equal(trial.least, trial.most);
    assert_int_equal(trial.buffers.items[0].differing, 0);
    assert_true(trial_value(&trial.buffers.items[0], trial.buffers.items[0].after, 0) == 42);
    assert_int_equal(line(&trial, 3)->cycles, 6);
    assert_int_equal(line(&trial, 3)->lost, 5);
    assert_int_equal(line(&trial, 6)->cycles, 8);
    assert_int_equal(trial.profile.launches, 0);
    trial_free(&trial);
}

static const char sums[] = //
    ".worker\n"
    "work: get $m0, $WSR\n"
    " and $m0, $m0, 7\n"
    "1: brnzdec $m0, 1b\n"
    " exitz $mzero\n"
    ".supervisor\n"
    ".globl sums\n"
    "sums: setzi $m1, work\n"
    " runall $m1, $m11, 0\n"
    " sync 2\n"
    " br $m10\n";

/* Worker w executes w + 1 rounds: worker 5 decides, and why is a line. */
static void longest_worker(void **state) {
    (void)state;
    const Call call = {.text = sums};
    Trial trial;
    good(&call, &trial);
    const TrialProfile *profile = &trial.profile;
    assert_int_equal(profile->launches, 1);
    for (unsigned w = 0; w < CHIP_WORKERS; w++) {
        assert_int_equal(profile->worker[w].issues, 4 + w);
        assert_int_equal(profile->worker[w].runs, 1);
        assert_int_equal(profile->worker[w].longest_in, w == 5);
        assert_int_equal(line(&trial, 4)->by_worker[w], w + 1);
    }
    assert_int_equal(profile->longest, 5);
    assert_int_equal(profile->shortest, 0);
    assert_int_equal(profile->longest_slots - profile->shortest_slots, 5);
    assert_int_equal(profile->excess, 5);
    assert_int_equal(line(&trial, 4)->excess, 5);
    assert_int_equal(line(&trial, 2)->excess, 0);
    /* Six rounds of the longest worker, and none of what the others did. */
    assert_int_equal(line(&trial, 4)->cycles, 6 * 6);
    assert_int_equal(line(&trial, 5)->cycles, 6);
    /* 15 cycles and what is lost until the slot of worker 5 comes. */
    assert_in_range(line(&trial, 9)->cycles, 15, 20);
    assert_int_equal(line(&trial, 10)->cycles, 0);
    assert_true(trial.sampled > trial.cycles);
    trial_free(&trial);
}

/* The call can fall into any slot; that decides which worker comes first. */
static void start_slots(void **state) {
    (void)state;
    uint64_t least = UINT64_MAX, most = 0;
    for (unsigned start = 0; start < CHIP_WORKER_SLOTS; start++) {
        const Call call = {.text = sums, .options = {.start = start}};
        Trial trial;
        good(&call, &trial);
        least = trial.cycles < least ? trial.cycles : least;
        most = trial.cycles > most ? trial.cycles : most;
        if (start == CHIP_WORKER_SLOTS - 1) {
            assert_int_equal(trial.least, least);
            assert_int_equal(trial.most, most);
        }
        trial_free(&trial);
    }
    assert_true(least < most);
}

/* Code of workers, launched with a frame; on fewer of them; with registers. */
static void worker_function(void **state) {
    (void)state;
    static const char text[] = ".worker\n"
                               ".globl codelet\n"
                               "codelet: ld32 $m0, $mvertex_base, $mzero, 0\n"
                               " get $m1, $WSR\n"
                               " and $m1, $m1, 7\n"
                               " add $m2, $m1, $m5\n"
                               " shl $m1, $m1, 2\n"
                               " st32 $m2, $m0, $m1, 0\n"
                               " exitz $mzero\n";
    for (unsigned workers = 1; workers <= CHIP_WORKERS; workers++) {
        const Call call = {.text = text,
                           .outputs = {"y=u32:6:fill=7"},
                           .options = {.arguments = "y,m5=100", .workers = workers}};
        Trial trial;
        good(&call, &trial);
        assert_true(trial.worker);
        assert_int_equal(trial.sampled, 0);
        const TrialBuffer *y = &trial.buffers.items[0];
        for (unsigned i = 0; i < 6; i++)
            assert_true(trial_value(y, y->after, i) == (i < workers ? 100 + i : 7));
        for (unsigned w = 0; w < CHIP_WORKERS; w++)
            assert_int_equal(trial.profile.worker[w].issues, w < workers ? 7 : 0);
        trial_free(&trial);
    }
}

/* Long operations and repeats in the account. */
static void slots(void **state) {
    (void)state;
    const Call call = {.text = ".worker\n .align 8\n"
                               "work: { setzi $m0, 0\n fnop }\n"
                               " { rpt 10, 0\n fnop }\n"
                               " { nop\n f32oox $a0, $a1 }\n"
                               " exitz $mzero\n"
                               ".supervisor\n .globl f\n"
                               "f: setzi $m1, work\n runall $m1, $m11, 0\n sync 2\n br $m10\n"};
    Trial trial;
    good(&call, &trial);
    assert_int_equal(trial.profile.worker[0].issues, 13);
    assert_int_equal(trial.profile.worker[0].slots, 33);
    assert_int_equal(line(&trial, 7)->executions, 60);
    assert_int_equal(line(&trial, 7)->cycles, 180);
    assert_int_equal(line(&trial, 7)->lost, 120);
    assert_int_equal(trial.profile.pairs, 0);
    assert_int_equal(trial.profile.excess, 0);
    trial_free(&trial);
}

/* Buffers ---------------------------------------------------------------------------------------*/

static const char nothing[] = ".supervisor\n.globl f\nf: br $m10\n";

static double element(const Trial *trial, size_t buffer, uint32_t index) {
    const TrialBuffer *found = &trial->buffers.items[buffer];
    return trial_value(found, found->after, index);
}

static void contents(void **state) {
    (void)state;
    const Call call = {
        .text = nothing,
        .options = {.arguments = ""},
        .outputs = {"a=f16:4:list=1,-2.5", "b=f8/-4:3:ramp=0,0.5", "c=i16:2x2:ramp=-1,1",
                    "d=f32:2:nan"},
        .inputs = {"e=u8:4:fill=0xFF", "g=f16:3:zero", "h=u32:2:ramp", "k=i8:1:fill=-7"}};
    Trial trial;
    good(&call, &trial);
    assert_true(element(&trial, 0, 2) == 1 && element(&trial, 0, 3) == -2.5);
    assert_true(element(&trial, 1, 2) == 1 && trial.buffers.items[1].after[2] == 0x60);
    assert_true(element(&trial, 2, 0) == -1 && element(&trial, 2, 3) == 2);
    assert_true(isnan(element(&trial, 3, 1)));
    assert_true(element(&trial, 4, 3) == 255 && element(&trial, 5, 1) == 0);
    assert_true(element(&trial, 6, 1) == 1 && element(&trial, 7, 0) == -7);
    assert_int_equal(trial.buffers.items[2].rank, 2);
    /* Elements of their own. */
    for (size_t i = 1; i < trial.buffers.count; i++)
        assert_int_equal(trial.buffers.items[i].address,
                         trial.buffers.items[i - 1].address + CHIP_REGION1_PAIR_SIZE);
    trial_free(&trial);
}

static void random_contents(void **state) {
    (void)state;
    double sum[2] = {0};
    for (unsigned seed = 0; seed < 2; seed++) {
        const Call call = {.text = nothing,
                           .options = {.arguments = "", .seed = seed},
                           .inputs = {"x=f16:1000", "b=f16:1000:bits@standard", "p=u16:2@0x60000"}};
        Trial trial;
        good(&call, &trial);
        double squares = 0;
        for (uint32_t i = 0; i < 1000; i++) {
            sum[seed] += element(&trial, 0, i);
            squares += element(&trial, 0, i) * element(&trial, 0, i);
            assert_true(isfinite(element(&trial, 1, i)));
        }
        assert_true(squares > 800 && squares < 1200);
        assert_int_equal(trial.buffers.items[2].address, 0x60000);
        assert_true(trial.buffers.items[1].address < CHIP_REGION1_BASE);
        trial_free(&trial);
    }
    assert_true(sum[0] != sum[1]);
}

/* Values through .npy, bytes through any other file. */
static void files(void **state) {
    (void)state;
    char npy[300], raw[300], in_npy[330], in_raw[330];
    in_folder("x.npy", npy);
    in_folder("x.bin", raw);
    const Call first = {.text = nothing, .options = {.arguments = ""}, .inputs = {"x=f8/-3:2x5"}};
    Trial one, two;
    good(&first, &one);
    assert_int_equal(trial_save(&one.buffers.items[0], npy, NULL), STATUS_OK);
    assert_int_equal(trial_save(&one.buffers.items[0], raw, NULL), STATUS_OK);
    snprintf(in_npy, sizeof in_npy, "x=f8/-3:10:file=%s", npy);
    snprintf(in_raw, sizeof in_raw, "y=u8:10:file=%s", raw);
    const Call second = {.text = nothing, .options = {.arguments = ""}, .inputs = {in_npy, in_raw}};
    good(&second, &two);
    assert_memory_equal(one.buffers.items[0].after, two.buffers.items[0].after, 10);
    assert_memory_equal(one.buffers.items[0].after, two.buffers.items[1].after, 10);
    trial_free(&one);
    trial_free(&two);
    snprintf(in_npy, sizeof in_npy, "x=f16:11:file=%s", npy);
    const Call third = {.text = nothing, .inputs = {in_npy}};
    assert_int_equal(run(&third, &one, NULL), ERR_TRIAL_CONTENT);
    trial_free(&one);
}

static void differences(void **state) {
    (void)state;
    const Call call = {.text = nothing,
                       .outputs = {"x=f16:6:ramp"},
                       .expected = {"x=list=0,1,5"},
                       .options = {.arguments = ""}};
    Trial trial;
    good(&call, &trial);
    assert_int_equal(trial.buffers.items[0].differing, 3);
    assert_int_equal(trial.buffers.items[0].first_difference, 2);
    trial_free(&trial);
}

/* Errors ----------------------------------------------------------------------------------------*/

/* Fails with the code, and says `text`. */
static void bad(const Call *call, Status code, const char *text) {
    Trial trial;
    Diag diag;
    diag_init(&diag);
    Status status = run(call, &trial, &diag);
    char *printed = NULL;
    size_t size;
    FILE *out = open_memstream(&printed, &size);
    assert_non_null(out);
    diag_print(&diag, out);
    fclose(out);
    if (status != code || !strstr(printed, text))
        fail_msg("status %d, not %d; printed:\n%swithout: %s", (int)status, (int)code, printed,
                 text);
    free(printed);
    diag_free(&diag);
    trial_free(&trial);
}

static void entries(void **state) {
    (void)state;
    bad(&(Call){.text = ".supervisor\nf: br $m10\n"}, ERR_TRIAL_ENTRY, "no global function");
    bad(&(Call){.text = ".supervisor\nf: br $m10\n"}, ERR_TRIAL_ENTRY, "--entry: f");
    bad(&(Call){.text = ".supervisor\n.globl f, g\nf: br $m10\ng: br $m10\n"}, ERR_TRIAL_ENTRY,
        "several functions");
    bad(&(Call){.text = nothing, .options = {.entry = "g"}}, ERR_TRIAL_ENTRY, "no code called 'g'");
    bad(&(Call){.text = ".globl f\nf: br $m10\n"}, ERR_TRIAL_ENTRY, ".supervisor or .worker");
    bad(&(Call){.text = ""}, ERR_TRIAL_ENTRY, ".globl");
    /* Of several one is a function; and a local one can be named. */
    Trial trial;
    good(&(Call){.text = ".supervisor\n.globl f, g\n.type g, @function\nf: nop\ng: br $m10\n"},
         &trial);
    assert_string_equal(trial.entry, "g");
    trial_free(&trial);
    good(&(Call){.text = ".supervisor\nf: br $m10\n", .options = {.entry = "f"}}, &trial);
    trial_free(&trial);
}

static void descriptions(void **state) {
    (void)state;
    static const char *const texts[] = {
        "x",       "=f16:1",       "1x=f16:1",        "x=f15:1",      "x=f16",     "x=f16:",
        "x=f16:0", "x=f16:1x",     "x=f16:1x1x1x1x1", "x=f16:600000", "x=f16/2:1", "x=f8/99:1",
        "x=f8/:1", "x=f16:1@here", "x=f16:-1",        "x=f16:1+",     "x=f16:1+a",
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        bad(&(Call){.text = nothing, .inputs = {texts[i]}}, ERR_TRIAL_BUFFER, "such as");
    bad(&(Call){.text = nothing, .inputs = {"x=f16:1", "x=f16:1"}}, ERR_TRIAL_BUFFER, "already");
    static const char *const contents[] = {
        "x=u8:1:fill=256", "x=u8:1:fill=0.5",    "x=f16:2:list=",  "x=f16:1:fill=",
        "x=f16:1:what",    "x=i8:1:fill=200",    "x=f16:1:ramp=1", "x=u8:300:ramp=0,1",
        "x=f16:1:",        "x=f16:2:list=1,two", "x=u16:1:ramp=0,"};
    for (size_t i = 0; i < COUNT_OF(contents); i++)
        bad(&(Call){.text = nothing, .inputs = {contents[i]}}, ERR_TRIAL_CONTENT, "buffer x");
    bad(&(Call){.text = nothing, .inputs = {"x=f16:1:file=/nowhere/x.npy"}}, ERR_FILE_OPEN,
        "x.npy");
}

static void places(void **state) {
    (void)state;
    static const char *const texts[] = {"x=f16:1@0x4C000", "x=f16:1@0xE7FFF", "x=f16:1@0xE8000",
                                        "x=f16:2@0xE7FFE", "x=f32:1@0x60002", "x=f16:1@0"};
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        bad(&(Call){.text = nothing, .inputs = {texts[i]}}, ERR_TRIAL_PLACE, "buffer x");
    bad(&(Call){.text = nothing, .inputs = {"x=f16:8@0x60000", "y=f16:1@0x6000E"}}, ERR_TRIAL_PLACE,
        "another buffer");
    bad(&(Call){.text = nothing, .inputs = {"x=u8:400000", "y=u8:40000"}}, ERR_TRIAL_PLACE,
        "no memory elements");
    bad(&(Call){.text = nothing, .inputs = {"x=u8:200000@standard"}}, ERR_TRIAL_PLACE, "standard");
}

static void arguments(void **state) {
    (void)state;
    static const char *const texts[] = {
        "xx", "x+y", "#y", "0x1FFFFFFFF", "f16:z", "1,2,3,4,5,6,7,8,9", "m10=1", "1,m2=1", "f17:1"};
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        bad(&(Call){.text = nothing, .inputs = {"x=f16:1"}, .options = {.arguments = texts[i]}},
            ERR_TRIAL_ARGUMENT, "option --args");
    bad(&(Call){.text = nothing, .expected = {"z=zero"}}, ERR_TRIAL_ARGUMENT, "option --expect");
    /* All forms of them, through registers. */
    const Call call = {.text = ".supervisor\n.globl f\n"
                               "f: st32 $m3, $m2, $mzero, 0\n st32 $m4, $m2, $mzero, 1\n"
                               " st32 $m5, $m2, $mzero, 2\n st32 $m6, $m2, $mzero, 3\n"
                               " st32 $m0, $m2, $mzero, 4\n br $m10\n",
                       .outputs = {"y=u32:5"},
                       .inputs = {"x=f16:7@0x70000"},
                       .options = {.arguments = "y,x+6,#x,-2,f32:1,m0=0x12345678"}};
    Trial trial;
    good(&call, &trial);
    static const uint32_t words[] = {0x70006, 7, 0xFFFFFFFE, 0x3F800000, 0x12345678};
    assert_memory_equal(trial.buffers.items[0].after, words, sizeof words);
    trial_free(&trial);
}

static void traps(void **state) {
    (void)state;
    bad(&(Call){.text = ".supervisor\n.globl f\nf: ld32 $m0, $mzero, $mzero, 0\n br $m10\n"},
        ERR_SIM_ADDRESS, "call.S:3");
    /* Without end: one that branches to itself, and workers that never leave a loop. */
    const Call loop = {.text = ".supervisor\n.globl f\nf: nop\n1: nop\n bri 1b\n",
                       .options = {.budget = 5000}};
    bad(&loop, ERR_TRIAL_BUDGET, "not come back after 5000 cycles");
    bad(&loop, ERR_TRIAL_BUDGET, "the supervisor last executed lines 3 to 5");
    const Call workers = {.text = ".worker\nw: nop\n1: nop\n bri 1b\n"
                                  ".supervisor\n.globl f\nf: setzi $m1, w\n runall $m1, $m11, 0\n"
                                  " sync 2\n br $m10\n",
                          .options = {.budget = 50000}};
    bad(&workers, ERR_TRIAL_BUDGET, "workers 0, 1, 2, 3, 4, 5 last executed lines 3 to 4");
    bad(&(Call){.text = ".supervisor\n.globl f\nf: sync 7\n br $m10\n"}, ERR_TRIAL_BUDGET,
        "waits for the host");
    /* Returning while workers run is seen. */
    const Call early = {.text = ".worker\nw: .rept 50\n nop\n .endr\n exitz $mzero\n"
                                ".supervisor\n.globl f\nf: setzi $m1, w\n run $m1, $mzero, 0\n"
                                " br $m10\n"};
    Trial trial;
    Diag diag;
    diag_init(&diag);
    assert_int_equal(run(&early, &trial, &diag), STATUS_OK);
    assert_true(trial.profile.left_running);
    diag_free(&diag);
    trial_free(&trial);
}

/* What the chip allows: each stops a function unless it is told not to. */
static void checks(void **state) {
    (void)state;
    static const char copy[] = ".supervisor\n.globl f\nf: ld32 $m0, $m3, $mzero, 0\n"
                               " st32 $m0, $m2, $mzero, 0\n br $m10\n";
    Call calls[] = {
        {.text = copy, .outputs = {"y=u32:1"}, .inputs = {"x=u32:1"}},
        {.text = copy, .outputs = {"y=u32:1", "x=u32:1"}},
        {.text = copy, .inputs = {"y=u32:1", "x=u32:1"}},
        {.text = copy, .outputs = {"y=u32:1"}, .inputs = {"x=u8:2+2"}},
        {.text = copy, .outputs = {"y=u32:1"}, .options = {.arguments = "y,0x90000"}},
    };
    static const Status codes[] = {STATUS_OK, ERR_SIM_UNWRITTEN, ERR_SIM_OUTSIDE, ERR_SIM_OUTSIDE,
                                   ERR_SIM_OUTSIDE};
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        if (codes[i] != STATUS_OK)
            bad(&calls[i], codes[i], "call.S:");
        calls[i].options.unchecked = true;
        Trial trial;
        good(&calls[i], &trial);
        trial_free(&trial);
    }
}

/* Every issue, with its cycle in the call. */
static void trace(void **state) {
    (void)state;
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    const Call call = {.text = sums, .options = {.trace = out}};
    Trial trial;
    good(&call, &trial);
    fclose(out);
    uint64_t lines = 0;
    for (const char *at = text; *at; at++)
        lines += *at == '\n';
    assert_int_equal(lines, 1 + trial.cycles - trial.profile.lost);
    assert_non_null(strstr(text, "       0  super"));
    assert_non_null(strstr(text, "runall $m1, $m11, 0"));
    free(text);
    trial_free(&trial);
}

/* Memory runs out at every allocation in turn. */
static void no_memory(void **state) {
    (void)state;
    const Call call = {
        .text = sums, .outputs = {"y=f16:8"}, .inputs = {"x=f16:8:ramp"}, .expected = {"y=zero"}};
    AsmObject *object = NULL;
    assert_int_equal(asm_assemble("call.S", sums, strlen(sums), NULL, &object, NULL), STATUS_OK);
    const AsmObject *const objects[] = {object};
    TrialOptions options = {.objects = objects,
                            .object_count = 1,
                            .outputs = call.outputs,
                            .output_count = 1,
                            .inputs = call.inputs,
                            .input_count = 1,
                            .expected = call.expected,
                            .expected_count = 1};
    Status status = ERR_NO_MEMORY;
    unsigned n = 1;
    for (; status != STATUS_OK; n += n < 200 ? 1 : 37) {
        Trial trial;
        Diag diag;
        diag_init(&diag);
        mem_fail_after(n);
        status = trial_run(&options, &trial, &diag);
        mem_fail_after(0);
        if (status != STATUS_OK)
            assert_int_equal(status, ERR_NO_MEMORY);
        trial_free(&trial);
        diag_free(&diag);
    }
    assert_true(n > 20);
    asm_object_free(object);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(supervisor_function),
        cmocka_unit_test(longest_worker),
        cmocka_unit_test(start_slots),
        cmocka_unit_test(worker_function),
        cmocka_unit_test(slots),
        cmocka_unit_test(contents),
        cmocka_unit_test(random_contents),
        cmocka_unit_test(files),
        cmocka_unit_test(differences),
        cmocka_unit_test(entries),
        cmocka_unit_test(descriptions),
        cmocka_unit_test(places),
        cmocka_unit_test(arguments),
        cmocka_unit_test(traps),
        cmocka_unit_test(checks),
        cmocka_unit_test(trace),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, folder_create, folder_remove);
}
