/* The slot model against a second implementation of it: random supervisor programs that launch
 * workers singly and together, do independent and dependent work, branch and join, with workers of
 * different lengths and long operations, for all latencies in the published ranges. Every issue of
 * every context must come at the cycle that the model says. */
#include "rig.h"

#include "base/random.h"
#include "chip/chip.h"

#include <inttypes.h>

enum { STEPS = 60, SINGLE_KINDS = 4, KINDS = 7, MAX_ISSUES = 20000 };

typedef struct Issue {
    uint64_t cycle;
    uint32_t context;
} Issue;

typedef struct Issues {
    Issue at[MAX_ISSUES];
    size_t count;
} Issues;

static void add_issue(Issues *issues, uint64_t cycle, uint32_t context) {
    assert_true(issues->count < MAX_ISSUES);
    issues->at[issues->count++] = (Issue){cycle, context};
}

/* What the supervisor does, an instruction each. */
typedef enum Step {
    STEP_FREE,   /* needs no result that is under way */
    STEP_ADD,    /* needs the result of the last STEP_ADD or STEP_LOAD */
    STEP_LOAD,   /* the same, from memory */
    STEP_BRANCH, /* taken */
    STEP_RUN,    /* starts a worker of some kind */
    STEP_RUNALL, /* starts all: the length of a worker depends on its number */
    STEP_SYNC,
} Step;

/* A worker executes `longs` operations of three slots and `plain` bundles, and ends. Kinds from
 * SINGLE_KINDS on are launched together; worker w executes slope * w bundles more. */
typedef struct Kind {
    int longs, plain, slope;
} Kind;

typedef struct Program {
    MachineTiming timing;
    struct {
        Step step;
        unsigned kind;
    } step[STEPS];
    Kind kind[KINDS];
} Program;

enum { ALL_LEAD = 4 }; /* plain bundles that tell the workers of a runall apart */

static void random_program(Program *program, Random *random) {
    program->timing =
        (MachineTiming){.runall_latency = CHIP_RUNALL_LATENCY - (uint32_t)random_below(random, 2),
                        .taken_branch = CHIP_SUP_TAKEN_BRANCH + (uint32_t)random_below(random, 2),
                        .exit_to_resume = CHIP_EXIT_TO_RESUME - (uint32_t)random_below(random, 2)};
    for (unsigned k = 0; k < KINDS; k++)
        program->kind[k] = (Kind){.longs = (int)random_below(random, 4),
                                  .plain = 25 + (int)random_below(random, 20),
                                  .slope = (int)random_below(random, 9) - 4};
    unsigned active = 0; /* at most; they may have ended already */
    for (unsigned i = 0; i < STEPS; i++) {
        Step step = (Step)random_below(random, STEP_SYNC + 1);
        /* A launch that finds no free context traps: not the subject here. */
        if ((step == STEP_RUN && active == CHIP_WORKERS) || (step == STEP_RUNALL && active > 0) ||
            i + 1 == STEPS)
            step = STEP_SYNC;
        active = step == STEP_SYNC     ? 0
                 : step == STEP_RUN    ? active + 1
                 : step == STEP_RUNALL ? CHIP_WORKERS
                                       : active;
        program->step[i].step = step;
        bool all = step == STEP_RUNALL;
        program->step[i].kind =
            all ? SINGLE_KINDS + (unsigned)random_below(random, KINDS - SINGLE_KINDS)
                : (unsigned)random_below(random, SINGLE_KINDS);
    }
}

/* The model, slot by slot -----------------------------------------------------------------------*/

typedef struct Model {
    const Program *program;
    Issues *issues;
    struct {
        uint64_t next; /* cycle of its next bundle */
        int lead, longs, plain;
        bool runs;
    } worker[CHIP_WORKERS];
    unsigned at;              /* next step */
    uint64_t free, ready;     /* next issue of the supervisor; operand of the dependent steps */
    uint64_t resume, arrived; /* last end of a worker is known; sync issued */
    bool waits;
} Model;

static void model_launch(Model *m, unsigned w, uint64_t cycle, const Kind *kind, bool all) {
    uint64_t first = cycle + m->program->timing.runall_latency;
    while (first % 6 != w)
        first++;
    m->worker[w].next = first;
    m->worker[w].lead = all ? ALL_LEAD : 0;
    m->worker[w].longs = kind->longs;
    m->worker[w].plain = kind->plain + (all ? kind->slope * (int)w : 0);
    m->worker[w].runs = true;
}

static void model_worker(Model *m, unsigned w, uint64_t cycle) {
    if (m->worker[w].next != cycle)
        return;
    add_issue(m->issues, cycle, w);
    m->worker[w].next = cycle + 6;
    if (m->worker[w].lead > 0) {
        m->worker[w].lead--;
    } else if (m->worker[w].longs > 0) {
        m->worker[w].longs--;
        m->worker[w].next = cycle + 18;
    } else if (m->worker[w].plain > 0) {
        m->worker[w].plain--;
    } else {
        m->worker[w].runs = false;
        m->resume = MAX_OF(m->resume, cycle + m->program->timing.exit_to_resume);
    }
}

static void model_supervisor(Model *m, uint64_t cycle) {
    if (m->waits || cycle < m->free)
        return;
    Step step = m->program->step[m->at].step;
    if ((step == STEP_ADD || step == STEP_LOAD) && cycle < m->ready)
        return;
    const Kind *kind = &m->program->kind[m->program->step[m->at].kind];
    add_issue(m->issues, cycle, MACHINE_SUPERVISOR);
    m->at++;
    m->free = cycle + (step == STEP_BRANCH ? m->program->timing.taken_branch : 1);
    if (step == STEP_ADD || step == STEP_LOAD)
        m->ready = cycle + 6;
    for (unsigned w = 0, started = 0; w < CHIP_WORKERS; w++) {
        if (step == STEP_RUNALL || (step == STEP_RUN && !m->worker[w].runs && started == 0)) {
            model_launch(m, w, cycle, kind, step == STEP_RUNALL);
            started++;
        }
    }
    if (step == STEP_SYNC) {
        m->waits = true;
        m->arrived = cycle;
    }
}

static void model_run(const Program *program, uint64_t start, Issues *issues) {
    Model m = {.program = program, .issues = issues, .free = start};
    issues->count = 0;
    for (uint64_t cycle = start;; cycle++) {
        bool any = false;
        for (unsigned w = 0; w < CHIP_WORKERS; w++)
            any |= m.worker[w].runs;
        if (m.waits && !any) {
            if (m.at == STEPS)
                return;
            m.waits = false;
            m.free = MAX_OF(m.resume, m.arrived + 1);
        }
        unsigned w = (unsigned)(cycle % 6);
        if (m.worker[w].runs)
            model_worker(&m, w, cycle);
        else
            model_supervisor(&m, cycle);
    }
}

/* The same as assembly text ---------------------------------------------------------------------*/

static void print_step(Step step, unsigned kind, FILE *out) {
    switch (step) {
    case STEP_FREE: fputs(" st32 $m8, $m8, $mzero, 1\n", out); break;
    case STEP_ADD: fputs(" add $m0, $m0, 0\n", out); break;
    case STEP_LOAD: fputs(" ld32 $m0, $m0, $mzero, 0\n", out); break;
    case STEP_BRANCH: fputs(" bri 1f\n nop\n 1:\n", out); break;
    case STEP_RUN: fprintf(out, " run $m%u, $mzero, 0\n", kind + 1); break;
    case STEP_RUNALL: fprintf(out, " runall $m%u, $m8, 0\n", kind + 1); break;
    case STEP_SYNC: fputs(" sync 2\n", out); break;
    }
}

/* ALL_LEAD bundles, the long ones, and a loop of one bundle a round. */
static void print_kind(const Kind *kind, unsigned number, FILE *out) {
    fprintf(out, " kind%u:\n", number);
    if (number >= SINGLE_KINDS)
        fprintf(out,
                " get $m0, $WSR\n and $m0, $m0, 7\n mul $m0, $m0, %d\n add $m0, $m0, %d\n"
                " .rept %d\n f32oox $a0, $a1\n .endr\n",
                kind->slope, kind->plain - 1, kind->longs);
    else
        fprintf(out, " .rept %d\n {nop; f32oox $a0, $a1}\n .endr\n setzi $m0, %d\n", kind->longs,
                kind->plain - 2);
    fputs(" 1: brnzdec $m0, 1b\n exitz $mzero\n", out);
}

/* $m0 holds the address of a word that holds that address; $m1 … the entries of the kinds. */
static char *program_text(const Program *program) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    fputs(".supervisor\n setzi $m0, 0x60000\n setzi $m8, 0x60000\n", out);
    for (unsigned k = 0; k < KINDS; k++)
        fprintf(out, " setzi $m%u, kind%u\n", k + 1, k);
    fputs(" st32 $m0, $m0, $mzero, 0\n .rept 6\n nop\n .endr\n begin:\n", out);
    for (unsigned i = 0; i < STEPS; i++)
        print_step(program->step[i].step, program->step[i].kind, out);
    fputs(" sync 7\n .worker\n", out);
    for (unsigned k = 0; k < KINDS; k++)
        print_kind(&program->kind[k], k, out);
    fclose(out);
    return text;
}

/* Running both ----------------------------------------------------------------------------------*/

typedef struct Listener {
    uint32_t begin; /* address of the first step */
    bool begun;
    uint64_t start; /* its cycle */
    Issues issues;  /* from there on */
} Listener;

static void listen(void *context, const MachineIssue *issue) {
    Listener *listener = context;
    assert_int_equal(issue->tile, 0);
    if (issue->pc == listener->begin && !listener->begun) {
        listener->begun = true;
        listener->start = issue->cycle;
    }
    if (listener->begun)
        add_issue(&listener->issues, issue->cycle, issue->context);
}

static void compare(const Issues *simulated, const Issues *modelled, uint64_t seed,
                    const char *text) {
    for (size_t i = 0; i < modelled->count; i++) {
        const Issue *one = &simulated->at[i], *other = &modelled->at[i];
        if (i >= simulated->count || one->cycle != other->cycle || one->context != other->context)
            fail_msg("seed %" PRIu64 ", issue %zu: context %u at %" PRIu64
                     ", the model says %u at %" PRIu64 "\n%s",
                     seed, i, one->context, one->cycle, other->context, other->cycle, text);
    }
    /* What follows is the host barrier. */
    assert_int_equal(simulated->count, modelled->count + 1);
}

static void random_programs(void **state) {
    (void)state;
    static Listener listener;
    static Issues modelled;
    unsigned programs = getenv("TW_TEST_ALL") ? 20000 : 300;
    for (uint64_t seed = 1; seed <= programs; seed++) {
        Random random = random_seed(seed);
        Program program;
        random_program(&program, &random);
        char *text = program_text(&program);
        AsmImage image = rig_assemble(text);
        listener.begin = rig_symbol(&image, "begin");
        listener.begun = false;
        listener.issues.count = 0;
        MachineOptions options = {
            .timing = program.timing, .issued = listen, .issued_context = &listener};
        Machine *machine = rig_machine(&image, 1, NULL, &options);
        rig_run(machine);
        model_run(&program, listener.start, &modelled);
        compare(&listener.issues, &modelled, seed, text);
        uint64_t end = modelled.at[modelled.count - 1].cycle;
        machine_free(machine);
        /* Without a listener, and so in lockstep where possible: the same end. */
        options.issued = NULL;
        Machine *fast = rig_machine(&image, 1, NULL, &options);
        rig_run(fast);
        assert_int_equal(machine_tile_counters(fast, 0).arrived,
                         listener.issues.at[listener.issues.count - 1].cycle);
        assert_true(machine_tile_counters(fast, 0).arrived > end);
        machine_free(fast);
        asm_image_free(&image);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
