/* One call on one tile: memory, the stub that calls, runs. */
#include "trial/internal.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* Memory of the tile: the stub, the code, then from the next memory element on what the stub and
 * the runtime's conventions need, then the buffers. */
enum {
    STUB = CHIP_TILE_MEM_BASE,
    CODE = CHIP_TILE_MEM_BASE + 0x1000,
    FRAME = 0,          /* offsets from the beginning of that element */
    REGISTERS = 0x80,   /* words that are loaded into registers of the workers */
    SAMPLES = 0x100,    /* two words */
    SCRATCH = 0x200,    /* of worker 0; its stack grows down from it */
    STACK_END = 0x2000, /* the supervisor's grows down from here */
    STATE_BYTES = CHIP_MEM_ELEM_SIZE,
};

typedef struct Run {
    Trial *trial;
    const TrialOptions *options;
    Diag *diag;
    uint32_t entry, state; /* addresses of the function and of the stub's memory */
    Arguments arguments;
    AsmImage stub;
    uint32_t call, after; /* addresses in it */
    IssueLog log;
    unsigned pad; /* cycles by which that run's call was delayed */
    bool listens, ended;
    uint64_t returned; /* cycle of what follows the call */
} Run;

/* The function ----------------------------------------------------------------------------------*/

static bool is_candidate(const AsmObject *object, const AsmSymbol *symbol, bool functions) {
    return symbol->section >= 0 && !symbol->is_section &&
           object->sections[symbol->section].flags & ASM_EXEC && symbol->global &&
           (symbol->function || !functions);
}

static Status entry_error(const AsmObject *object, Diag *diag, const char *text) {
    diag_error(diag, ERR_TRIAL_ENTRY, (DiagPlace){.file = object->name, .tile = -1}, "%s", text);
    char names[400] = "";
    size_t used = 0;
    for (size_t i = 0; i < object->symbol_count && used < sizeof names - 64; i++) {
        const AsmSymbol *symbol = &object->symbols[i];
        if (!symbol->is_section && symbol->section >= 0 &&
            object->sections[symbol->section].flags & ASM_EXEC)
            used += (size_t)snprintf(names + used, sizeof names - used, "%s%.40s", used ? ", " : "",
                                     symbol->name);
    }
    if (used)
        diag_fix(diag, "choose one with --entry: %s", names);
    else
        diag_fix(diag, "put a label before the first instruction, and .globl with its name");
    return ERR_TRIAL_ENTRY;
}

/* The name of the function: the one that is asked for, or the only one that can be meant. */
static Status choose_entry(Run *run) {
    const AsmObject *object = run->options->objects[0];
    const char *name = run->options->entry;
    char text[200], shown[TEXT_PRINTABLE];
    for (int functions = 1; functions >= 0 && !name; functions--) {
        size_t count = 0;
        for (size_t i = 0; i < object->symbol_count; i++) {
            if (!is_candidate(object, &object->symbols[i], functions))
                continue;
            name = object->symbols[i].name;
            count++;
        }
        if (count > 1)
            return entry_error(object, run->diag, "it has several functions");
    }
    if (!name)
        return entry_error(object, run->diag, "it has no global function");
    snprintf(text, sizeof text, "it has no code called '%s'", text_printable(name, shown));
    const AsmSymbol *symbol = asm_object_symbol(object, name);
    if (!symbol || symbol->section < 0 || !(object->sections[symbol->section].flags & ASM_EXEC))
        return entry_error(object, run->diag, text);
    run->trial->entry = arena_strdup(&run->trial->arena, name);
    return run->trial->entry ? STATUS_OK : trial_no_memory(run->diag);
}

static Status link_code(Run *run) {
    const TrialOptions *options = run->options;
    Trial *trial = run->trial;
    Status status =
        asm_link(options->objects, options->object_count, CODE, NULL, 0, &trial->image, run->diag);
    if (status != STATUS_OK)
        return status;
    asm_image_symbol(&trial->image, trial->entry, &run->entry);
    const AsmImageLine *line = asm_image_line(&trial->image, run->entry);
    if (!line || line->mode == ISA_BOTH)
        return entry_error(options->objects[0], run->diag,
                           "its source does not say whose code it is: .supervisor or .worker");
    trial->worker = line->mode == ISA_WORKER;
    uint32_t end = trial->image.base + trial->image.size;
    run->state = chip_effective_element_base(chip_effective_element(end - 1) + 1);
    if (run->state >= CHIP_REGION1_BASE)
        return diag_error(
            run->diag, ERR_TRIAL_PLACE, (DiagPlace){.file = options->objects[0]->name, .tile = -1},
            "its %u bytes of code and data leave no room for a stack", trial->image.size);
    return STATUS_OK;
}

/* Buffers
 * ----------------------------------------------------------------------------------------*/

static Status place_error(const Run *run, const TrialBuffer *buffer, const char *text) {
    char *object = mem_printf("buffer %s", buffer->name);
    diag_error(run->diag, ERR_TRIAL_PLACE, (DiagPlace){.tile = -1, .object = object}, "%s", text);
    mem_free(object);
    return ERR_TRIAL_PLACE;
}

/* A buffer whose address was given. */
static Status check_place(const Run *run, size_t index) {
    const TrialBuffer *buffer = &run->trial->buffers.items[index];
    uint32_t first = buffer->address, end = first + buffer->size + buffer->tail;
    if (!chip_address_ok(first) || end > CHIP_TILE_MEM_END || end < first)
        return place_error(run, buffer, "it does not lie in tile memory, 0x4C000 to 0xE7FFF");
    if (first % trial_type_bytes(buffer->type) != 0)
        return place_error(run, buffer, "its address is no multiple of its elements' size");
    if (first < run->state + STATE_BYTES)
        return place_error(run, buffer, "it would lie on code, or on the stack behind it");
    for (size_t i = 0; i < index; i++) {
        const TrialBuffer *other = &run->trial->buffers.items[i];
        if (first < other->address + other->size && other->address < first + buffer->size)
            return place_error(run, buffer, "it would lie on another buffer");
    }
    return STATUS_OK;
}

/* Effective elements that a buffer with an address touches. */
static uint32_t elements_of(const TrialBuffer *buffer) {
    return chip_effective_mask(buffer->address, buffer->size + buffer->tail);
}

static bool place_free(TrialBuffer *buffer, PlaceClass place, uint32_t *taken) {
    unsigned first = place == PLACE_STANDARD ? 0 : CHIP_REGION0_ELEMENTS;
    unsigned end = place == PLACE_STANDARD ? CHIP_REGION0_ELEMENTS : CHIP_EFFECTIVE_ELEMENTS;
    for (; first < end; first++) {
        uint32_t address = chip_effective_element_base(first);
        if (address + buffer->size + buffer->tail > chip_effective_element_base(end))
            return false;
        buffer->address = address;
        if (!(elements_of(buffer) & *taken)) {
            *taken |= elements_of(buffer);
            return true;
        }
    }
    return false;
}

static Status place_buffers(Run *run, const PlaceClass *places) {
    Trial *trial = run->trial;
    uint32_t taken = chip_effective_mask(STUB, run->state + STATE_BYTES - STUB);
    for (size_t i = 0; i < trial->buffers.count; i++) {
        if (places[i] == PLACE_ADDRESS)
            taken |= chip_address_ok(trial->buffers.items[i].address) &&
                             trial->buffers.items[i].size + trial->buffers.items[i].tail <=
                                 CHIP_TILE_MEM_END - trial->buffers.items[i].address
                         ? elements_of(&trial->buffers.items[i])
                         : 0;
    }
    for (size_t i = 0; i < trial->buffers.count; i++) {
        if (places[i] != PLACE_ADDRESS &&
            !place_free(&trial->buffers.items[i], places[i], &taken)) {
            place_error(run, &trial->buffers.items[i],
                        places[i] == PLACE_STANDARD
                            ? "no memory elements are left for it in standard memory"
                            : "no memory elements are left for it in interleaved memory");
            diag_fix(run->diag, "give addresses: buffers may share elements then (%s=…@0x80000)",
                     trial->buffers.items[i].name);
            return ERR_TRIAL_PLACE;
        }
    }
    Status status = STATUS_OK;
    for (size_t i = 0; i < trial->buffers.count && status == STATUS_OK; i++)
        if (places[i] == PLACE_ADDRESS)
            status = check_place(run, i);
    return status;
}

static Status make_buffers(Run *run) {
    const TrialOptions *options = run->options;
    Trial *trial = run->trial;
    size_t count = options->output_count + options->input_count;
    PlaceClass *places = arena_alloc(&trial->arena, count ? count : 1, sizeof *places);
    Status status = places ? STATUS_OK : trial_no_memory(run->diag);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        bool output = i < options->output_count;
        const char *text =
            output ? options->outputs[i] : options->inputs[i - options->output_count];
        TrialBuffer buffer;
        status = data_buffer(trial, text, output, options->seed, &buffer, &places[i], run->diag);
        if (status == STATUS_OK && !vec_push(&trial->buffers, buffer))
            status = trial_no_memory(run->diag);
    }
    for (size_t i = 0; i < options->expected_count && status == STATUS_OK; i++)
        status = data_expect(trial, options->expected[i], options->seed, run->diag);
    return status == STATUS_OK ? place_buffers(run, places) : status;
}

/* The stub
 * ---------------------------------------------------------------------------------------*/

static void print_word(FILE *out, unsigned number, uint32_t word, bool high) {
    if (!high)
        fprintf(out, " setzi $m%u, 0x%X\n", number, word & 0xFFFFF);
    else if (word >> 20)
        fprintf(out, " or $m%u, $m%u, 0x%X\n", number, number, word & 0xFFF00000);
}

/* A sample of the cycle counter into word `index`: see CHIP_SAMPLE_…. */
static void print_sample(const Run *run, FILE *out, unsigned index) {
    fprintf(out,
            " setzi $m0, sample\n setzi $m1, 0x%X\n .rept %d\n nop\n .endr\n"
            " runall $m0, $m1, 0\n sync 2\n .rept %d\n nop\n .endr\n",
            run->state + SAMPLES + 4 * index, CHIP_SAMPLE_BEFORE_LAUNCH - 2,
            CHIP_SAMPLE_AFTER_JOIN);
}

static void print_arguments(const Run *run, FILE *out) {
    const Arguments *arguments = &run->arguments;
    for (int high = 0; high < 2; high++)
        for (uint32_t i = 0; i < arguments->register_count; i++)
            print_word(out, arguments->reg[i].number, arguments->reg[i].word, high);
}

/* Registers of workers keep what an earlier launch left in them. */
static void print_loader(const Run *run, FILE *out) {
    fputs(".worker\n loader:\n", out);
    for (uint32_t i = 0; i < run->arguments.register_count; i++)
        fprintf(out, " ld32 $m%u, $mvertex_base, $mzero, %u\n", run->arguments.reg[i].number, i);
    fputs(" exitz $mzero\n", out);
}

static void print_call(const Run *run, FILE *out) {
    const TrialOptions *options = run->options;
    if (!run->trial->worker) {
        fprintf(out, "call: call $m10, function\n after: sync 2\n");
        return;
    }
    unsigned workers = options->workers ? options->workers : CHIP_WORKERS;
    if (workers == CHIP_WORKERS)
        fputs("call: runall $m0, $m1, 0\n", out);
    else
        fprintf(out, "call: .rept %u\n run $m0, $m2, 0\n .endr\n", workers);
    fputs(" sync 2\n after: nop\n", out);
}

static void print_preparation(const Run *run, FILE *out) {
    if (!run->trial->worker) {
        print_arguments(run, out);
        return;
    }
    if (run->arguments.register_count)
        fprintf(out,
                " setzi $m0, loader\n setzi $m1, 0x%X\n .rept 6\n nop\n .endr\n"
                " runall $m0, $m1, 0\n sync 2\n",
                run->state + REGISTERS);
    fprintf(out, " setzi $m0, 0x%X\n setzi $m1, 0x%X\n setzi $m2, 0x%X\n", run->entry,
            run->state + FRAME, run->state + FRAME - CHIP_TILE_MEM_BASE);
}

/* Between samples arguments are set as a program does; else the call waits for nothing. */
static void print_stub(const Run *run, FILE *out, bool sampled, unsigned pad) {
    fprintf(out,
            ".supervisor\n put $FP_ICTL, $mzero\n setzi $m11, 0x%X\n setzi $m0, 0x%X\n"
            " .rept 6\n nop\n .endr\n",
            run->state + STACK_END, run->state + SCRATCH);
    for (unsigned w = 0; w < CHIP_WORKERS; w++)
        fprintf(out, " put $WORKER%u_BASE, $m0\n add $m0, $m0, %d\n .rept 6\n nop\n .endr\n", w,
                CHIP_WORKER_SCRATCH_SIZE);
    if (sampled)
        print_sample(run, out, 0);
    print_preparation(run, out);
    if (!sampled)
        fprintf(out, " .rept 6 + %u\n nop\n .endr\n", pad);
    print_call(run, out);
    if (sampled)
        print_sample(run, out, 1);
    fputs(" sync 7\n .worker\n sample: get $m0, $WSR\n and $m0, $m0, 7\n brnz $m0, 1f\n"
          " get $m1, $COUNT_L\n st32 $m1, $mvertex_base, $mzero, 0\n nop\n nop\n"
          " 1: exitz $mzero\n",
          out);
    if (run->trial->worker)
        print_loader(run, out);
}

static Status make_stub(Run *run, bool sampled, unsigned pad) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return trial_no_memory(run->diag);
    print_stub(run, out, sampled, pad);
    bool written = fclose(out) == 0;
    AsmObject *object = NULL;
    asm_image_free(&run->stub);
    run->stub = (AsmImage){0};
    const AsmDefine function = {"function", run->entry};
    Status status = written ? asm_assemble("stub", text, size, NULL, &object, run->diag)
                            : trial_no_memory(run->diag);
    if (status == STATUS_OK)
        status = asm_link((const AsmObject *const[]){object}, 1, STUB, &function, 1, &run->stub,
                          run->diag);
    asm_object_free(object);
    free(text);
    if (status == STATUS_OK) {
        asm_image_symbol(&run->stub, "call", &run->call);
        asm_image_symbol(&run->stub, "after", &run->after);
    }
    return status;
}

/* Running
 * ----------------------------------------------------------------------------------------*/

static void listen(void *context, const MachineIssue *issue) {
    Run *run = context;
    if (issue->pc == run->after && issue->context == MACHINE_SUPERVISOR && run->listens) {
        run->ended = true;
        run->returned = issue->cycle;
    }
    if (issue->pc == run->call && !run->listens) {
        run->listens = true;
        run->log.first = issue->cycle;
    }
    if (run->listens && !run->ended)
        log_issue(&run->log, issue);
}

static Status load(const Run *run, Machine *machine) {
    const Trial *trial = run->trial;
    Status status =
        machine_load(machine, 0, run->stub.base, run->stub.bytes, run->stub.size, run->diag);
    if (status == STATUS_OK)
        status = machine_load(machine, 0, trial->image.base, trial->image.bytes, trial->image.size,
                              run->diag);
    const Arguments *arguments = &run->arguments;
    if (status == STATUS_OK && arguments->frame_count)
        status = machine_load(machine, 0, run->state + FRAME, arguments->frame,
                              4 * arguments->frame_count, run->diag);
    for (uint32_t i = 0; i < arguments->register_count && status == STATUS_OK; i++)
        status = machine_load(machine, 0, run->state + REGISTERS + 4 * i, &arguments->reg[i].word,
                              4, run->diag);
    for (size_t i = 0; i < trial->buffers.count && status == STATUS_OK; i++) {
        const TrialBuffer *buffer = &trial->buffers.items[i];
        if (buffer->before)
            status =
                machine_load(machine, 0, buffer->address, buffer->before, buffer->size, run->diag);
    }
    return status;
}

static DiagPlace place_of(const Run *run, uint32_t pc) {
    const AsmImageLine *line = asm_image_line(&run->trial->image, pc);
    return line ? (DiagPlace){.file = line->file, .line = line->line, .tile = -1} : DIAG_NOWHERE;
}

/* The lines that the last issues of a context lie on. */
typedef struct Whereabouts {
    const char *file; /* NULL: it issued nothing lately */
    uint32_t low, high;
} Whereabouts;

static Whereabouts look_back(const Run *run, unsigned context) {
    enum { CYCLES = 20000 };
    Whereabouts where = {.low = UINT32_MAX};
    for (size_t t = run->log.cycles.count, seen = 0; t-- > 0 && seen < CYCLES; seen++) {
        uint32_t entry = run->log.cycles.items[t];
        if (!entry || log_context(entry) != context)
            continue;
        const AsmImageLine *line = asm_image_line(&run->trial->image, log_address(entry));
        if (!line)
            break; /* the call itself */
        where.file = where.file ? where.file : line->file;
        if (strcmp(line->file, where.file) != 0)
            continue;
        where.low = MIN_OF(where.low, line->line);
        where.high = MAX_OF(where.high, line->line);
    }
    return where;
}

/* Workers that are about the same lines share a note. */
static void note_whereabouts(const Run *run) {
    Whereabouts where[MACHINE_SUPERVISOR + 1];
    for (unsigned i = 0; i <= MACHINE_SUPERVISOR; i++)
        where[i] = look_back(run, i);
    for (unsigned i = 0; i < CHIP_WORKERS; i++) {
        char names[32] = "";
        size_t used = 0, count = 0;
        const Whereabouts first = where[i];
        for (unsigned j = i; j < CHIP_WORKERS && first.file; j++) {
            if (!where[j].file || strcmp(where[j].file, first.file) != 0 ||
                where[j].low != first.low || where[j].high != first.high)
                continue;
            used +=
                (size_t)snprintf(names + used, sizeof names - used, "%s%u", count ? ", " : "", j);
            where[j].file = NULL;
            count++;
        }
        if (count)
            diag_note(run->diag, "worker%s %s last executed lines %u to %u of %s",
                      count > 1 ? "s" : "", names, first.low, first.high, first.file);
    }
    const Whereabouts *supervisor = &where[MACHINE_SUPERVISOR];
    if (supervisor->file)
        diag_note(run->diag, "the supervisor last executed lines %u to %u of %s", supervisor->low,
                  supervisor->high, supervisor->file);
}

static Status budget_error(const Run *run) {
    uint64_t budget = run->options->budget ? run->options->budget : TRIAL_BUDGET;
    uint32_t pc = 0;
    for (size_t t = run->log.cycles.count; t-- > 0 && !pc;)
        if (run->log.cycles.items[t])
            pc = log_address(run->log.cycles.items[t]);
    diag_error(run->diag, ERR_TRIAL_BUDGET, place_of(run, pc),
               "%s has not come back after %llu cycles", run->trial->entry,
               (unsigned long long)budget);
    note_whereabouts(run);
    diag_fix(run->diag, "look for a loop without end (rpt with a count of -1 takes 65,535 rounds), "
                        "or allow more with --budget");
    return ERR_TRIAL_BUDGET;
}

/* For the simulator's messages. */
static bool locate(void *context, uint32_t tile, uint32_t pc, char text[MACHINE_PLACE_SIZE]) {
    (void)tile;
    const Run *run = context;
    const AsmImageLine *line = asm_image_line(&run->trial->image, pc);
    if (line)
        snprintf(text, MACHINE_PLACE_SIZE, "%s:%u", line->file, line->line);
    return line != NULL;
}

/* What the function may access. */
static Status declare(Run *run, Machine *machine) {
    Trial *trial = run->trial;
    uint32_t count = (uint32_t)trial->buffers.count + 2;
    MachineOperand *operands = arena_alloc(&trial->arena, count, sizeof *operands);
    if (!operands)
        return trial_no_memory(run->diag);
    operands[0] = (MachineOperand){"the frame, or the stack", run->state, STATE_BYTES, 0, true};
    operands[1] =
        (MachineOperand){"the data of the source", trial->image.base, trial->image.size, 0, true};
    for (size_t i = 0; i < trial->buffers.count; i++) {
        const TrialBuffer *buffer = &trial->buffers.items[i];
        operands[i + 2] = (MachineOperand){buffer->name, buffer->address, buffer->size,
                                           buffer->tail, buffer->output};
    }
    machine_declare(machine, 0, operands, count);
    machine_locate(machine, locate, run);
    return STATUS_OK;
}

static Status trap_error(const Run *run, const Machine *machine, Diag *told) {
    const MachineTrap *trap = machine_trap(machine);
    Status status = diag_status(told);
    if (trap && trap->code == ERR_SIM_BUDGET) {
        diag_free(told);
        return budget_error(run);
    }
    diag_append(run->diag, told);
    return status;
}

/* Runs the stub. `results`: the buffers are read; sampled: *sampled is the time between samples. */
static Status run_stub(Run *run, const MachineOptions *options, bool results, uint64_t *sampled,
                       uint64_t *arrived) {
    Trial *trial = run->trial;
    Machine *machine = machine_create(1, NULL, options);
    if (!machine)
        return trial_no_memory(run->diag);
    Status status = load(run, machine);
    if (status == STATUS_OK && options->checks)
        status = declare(run, machine);
    if (status == STATUS_OK) {
        Diag told;
        diag_init(&told);
        machine_start(machine, run->stub.base);
        status = machine_run(machine, &told);
        if (status != STATUS_OK)
            status = trap_error(run, machine, &told);
        diag_free(&told);
    }
    for (size_t i = 0; i < trial->buffers.count && status == STATUS_OK && results; i++) {
        TrialBuffer *buffer = &trial->buffers.items[i];
        status = machine_read(machine, 0, buffer->address, buffer->after, buffer->size, run->diag);
    }
    uint32_t sample[2] = {0};
    if (status == STATUS_OK && sampled) {
        status = machine_read(machine, 0, run->state + SAMPLES, sample, sizeof sample, run->diag);
        *sampled = sample[1] - sample[0];
    }
    if (arrived)
        *arrived = machine_tile_counters(machine, 0).arrived;
    machine_free(machine);
    return status;
}

static Status listen_once(Run *run, unsigned pad) {
    uint64_t budget = run->options->budget ? run->options->budget : TRIAL_BUDGET;
    MachineOptions machine = {.cycle_budget = budget,
                              .issued = listen,
                              .issued_context = run,
                              .checks = run->options->unchecked ? 0 : MACHINE_CHECK_ALL};
    run->pad = pad;
    run->listens = run->ended = false;
    run->log.cycles.count = 0;
    Status status = make_stub(run, false, pad);
    if (status == STATUS_OK)
        status = run_stub(run, &machine, true, NULL, NULL);
    if (status != STATUS_OK || run->ended)
        return status;
    return diag_error(run->diag, ERR_TRIAL_BUDGET, place_of(run, run->entry),
                      "%s waits for the host in a sync 7, where it is taken for ended",
                      run->trial->entry);
}

/* The run that is looked at. */
static Status run_listening(Run *run) {
    const TrialOptions *options = run->options;
    Status status = listen_once(run, 0);
    if (status == STATUS_OK && run->log.first % CHIP_WORKER_SLOTS != options->start)
        status = listen_once(run, (unsigned)((options->start + CHIP_WORKER_SLOTS -
                                              run->log.first % CHIP_WORKER_SLOTS) %
                                             CHIP_WORKER_SLOTS));
    if (run->log.no_memory)
        return trial_no_memory(run->diag);
    if (options->trace)
        profile_trace(&run->trial->image, &run->log, options->trace);
    if (status != STATUS_OK)
        return status;
    run->trial->cycles = run->returned - run->log.first;
    return profile_make(run->trial, &run->stub, &run->trial->image, &run->log, run->diag);
}

/* The same from all six slots, and between samples. */
static Status run_others(Run *run) {
    enum { AFTER_TO_BARRIER = 1 };
    Trial *trial = run->trial;
    uint64_t budget = run->options->budget ? run->options->budget : TRIAL_BUDGET;
    MachineOptions machine = {.cycle_budget = 2 * budget + 1000};
    Status status = STATUS_OK;
    for (unsigned pad = 0; pad < CHIP_WORKER_SLOTS && status == STATUS_OK; pad++) {
        uint64_t arrived = 0;
        status = make_stub(run, false, pad);
        if (status == STATUS_OK)
            status = run_stub(run, &machine, false, NULL, &arrived);
        uint64_t cycles = arrived - AFTER_TO_BARRIER - (run->log.first + pad - run->pad);
        trial->least = pad ? MIN_OF(trial->least, cycles) : cycles;
        trial->most = MAX_OF(trial->most, cycles);
    }
    if (status == STATUS_OK && !trial->worker)
        status = make_stub(run, true, 0);
    if (status == STATUS_OK && !trial->worker)
        status = run_stub(run, &machine, false, &trial->sampled, NULL);
    return status;
}

Status trial_run(const TrialOptions *options, Trial *trial, Diag *diag) {
    *trial = (Trial){0};
    Run run = {.trial = trial, .options = options, .diag = diag};
    Status status = choose_entry(&run);
    if (status == STATUS_OK)
        status = link_code(&run);
    if (status == STATUS_OK)
        status = make_buffers(&run);
    if (status == STATUS_OK)
        status = arguments_parse(trial, options, &run.arguments, diag);
    if (status == STATUS_OK)
        status = run_listening(&run);
    if (status == STATUS_OK)
        data_compare(trial);
    if (status == STATUS_OK)
        status = run_others(&run);
    asm_image_free(&run.stub);
    vec_free(&run.log.cycles);
    return status;
}

void trial_free(Trial *trial) {
    asm_image_free(&trial->image);
    vec_free(&trial->buffers);
    vec_free(&trial->profile.lines);
    vec_free(&trial->profile.instructions);
    arena_free(&trial->arena);
}
