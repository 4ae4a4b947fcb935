/* From issues to lines: which cycles of a call belong to which line of source. */
#include "trial/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The log --------------------------------------------------------------------------------------*/

void log_issue(IssueLog *log, const MachineIssue *issue) {
    uint64_t at = issue->cycle - log->first;
    uint64_t missing = at + 1 - log->cycles.count;
    if (log->no_memory || !vec_reserve(&log->cycles, missing)) {
        log->no_memory = true;
        return;
    }
    memset(log->cycles.items + log->cycles.count, 0, missing * sizeof *log->cycles.items);
    log->cycles.count = at + 1;
    uint32_t word = (issue->pc - CHIP_TILE_MEM_BASE) / 4;
    log->cycles.items[at] =
        ((word << LOG_SLOT_BITS | issue->slots) << LOG_CONTEXT_BITS) + issue->context + 1;
}

bool profile_packet(const AsmImage *image, uint32_t address, IsaMode mode, IsaPacket *packet) {
    uint32_t words[2] = {0};
    if (address < image->base || address + 4 > image->base + image->size)
        return false;
    size_t left = MIN_OF((size_t)(image->base + image->size - address), sizeof words);
    memcpy(words, image->bytes + (address - image->base), left);
    return isa_decode_packet(words, left / 4, mode, packet);
}

static IsaMode mode_of(unsigned context) {
    return context == MACHINE_SUPERVISOR ? ISA_SUPERVISOR : ISA_WORKER;
}

/* Words of code --------------------------------------------------------------------------------*/

typedef enum WordKind { WORD_UNKNOWN, WORD_PLAIN, WORD_EXIT, WORD_RUN, WORD_RUNALL } WordKind;

typedef struct Word {
    uint64_t by_worker[CHIP_WORKERS], executions, cycles, lost;
    int64_t excess;
    uint8_t kind; /* WordKind */
} Word;

/* A time in which workers ran without a break. */
typedef struct Epoch {
    uint64_t begin, first, exit; /* launch; first bundle and exit of the worker that ended last */
    unsigned longest;
} Epoch;

typedef struct Attribution {
    Trial *trial;
    const AsmImage *images[2]; /* stub, code */
    const IssueLog *log;
    Word *words;
    uint32_t word_count;
    VEC(Epoch) epochs;
    /* The epoch under way. */
    Epoch present;
    unsigned pending; /* workers that have not ended */
    uint64_t first[CHIP_WORKERS], slots[CHIP_WORKERS];
    bool runs[CHIP_WORKERS];
} Attribution;

static WordKind kind_at(const Attribution *a, uint32_t address, IsaMode mode) {
    IsaPacket packet;
    for (unsigned i = 0; i < COUNT_OF(a->images); i++) {
        if (!profile_packet(a->images[i], address, mode, &packet))
            continue;
        if (packet.main.form == ISA_RUN)
            return WORD_RUN;
        if (packet.main.form == ISA_RUNALL)
            return WORD_RUNALL;
        bool ends = packet.main.form != ISA_INVALID &&
                    isa_form_info((IsaForm)packet.main.form)->flags & ISA_F_EXIT;
        return ends ? WORD_EXIT : WORD_PLAIN;
    }
    return WORD_PLAIN;
}

/* Slots of longest and shortest worker, line by line. */
static void compare_workers(Attribution *a, unsigned shortest) {
    TrialProfile *profile = &a->trial->profile;
    unsigned longest = a->present.longest;
    uint64_t most = a->slots[longest], least = a->slots[shortest];
    if (most <= least)
        return;
    profile->excess += (int64_t)(most - least);
    if (most - least > profile->longest_slots - profile->shortest_slots) {
        profile->longest = longest;
        profile->shortest = shortest;
        profile->longest_slots = most;
        profile->shortest_slots = least;
    }
    for (uint64_t t = a->present.begin; t <= a->present.exit; t++) {
        uint32_t entry = a->log->cycles.items[t];
        if (entry && log_context(entry) == longest)
            a->words[log_word(entry)].excess += log_slots(entry);
        if (entry && log_context(entry) == shortest)
            a->words[log_word(entry)].excess -= log_slots(entry);
    }
}

static bool close_epoch(Attribution *a) {
    TrialProfile *profile = &a->trial->profile;
    unsigned shortest = a->present.longest;
    for (unsigned w = 0; w < CHIP_WORKERS; w++)
        if (a->slots[w] > 0 && a->slots[w] <= a->slots[shortest])
            shortest = w;
    profile->launches++;
    profile->worker[a->present.longest].longest_in++;
    compare_workers(a, shortest);
    memset(a->slots, 0, sizeof a->slots);
    return vec_push(&a->epochs, a->present);
}

static void launch(Attribution *a, uint64_t t, unsigned workers) {
    if (a->pending == 0)
        a->present = (Epoch){.begin = t};
    a->pending += workers;
}

static bool worker_issue(Attribution *a, uint64_t t, uint32_t entry, WordKind kind) {
    unsigned w = log_context(entry);
    TrialWorker *worker = &a->trial->profile.worker[w];
    if (!a->runs[w]) {
        a->runs[w] = true;
        a->first[w] = t;
        worker->runs++;
    }
    worker->issues++;
    worker->slots += log_slots(entry);
    a->slots[w] += log_slots(entry);
    a->words[log_word(entry)].by_worker[w]++;
    if (kind != WORD_EXIT)
        return true;
    a->runs[w] = false;
    a->present.longest = w;
    a->present.first = a->first[w];
    a->present.exit = t;
    return a->pending == 0 || --a->pending > 0 || close_epoch(a);
}

/* Executions, workers and epochs. */
static bool count_issues(Attribution *a) {
    for (uint64_t t = 0; t < a->log->cycles.count; t++) {
        uint32_t entry = a->log->cycles.items[t];
        if (!entry)
            continue;
        Word *word = &a->words[log_word(entry)];
        unsigned context = log_context(entry);
        if (word->kind == WORD_UNKNOWN)
            word->kind = (uint8_t)kind_at(a, log_address(entry), mode_of(context));
        word->executions++;
        if (context != MACHINE_SUPERVISOR) {
            if (!worker_issue(a, t, entry, (WordKind)word->kind))
                return false;
            continue;
        }
        a->trial->profile.supervisor_issues++;
        if (word->kind == WORD_RUN || word->kind == WORD_RUNALL)
            launch(a, t, word->kind == WORD_RUN ? 1 : CHIP_WORKERS);
    }
    a->trial->profile.left_running = a->pending > 0;
    return true;
}

/* Gives every cycle to a word. */
static void give_cycles(Attribution *a) {
    uint32_t supervisor = 0, worker = 0;
    size_t e = 0;
    for (uint64_t t = 0; t < a->trial->cycles; t++) {
        uint32_t entry = t < a->log->cycles.count ? a->log->cycles.items[t] : 0;
        while (e < a->epochs.count && t >= a->epochs.items[e].exit + CHIP_EXIT_TO_RESUME)
            e++;
        bool runs = e < a->epochs.count && t >= a->epochs.items[e].first;
        if (entry && log_context(entry) == MACHINE_SUPERVISOR)
            supervisor = log_word(entry);
        else if (entry && runs && log_context(entry) == a->epochs.items[e].longest)
            worker = log_word(entry);
        Word *owner = &a->words[runs ? worker : supervisor];
        owner->cycles++;
        owner->lost += entry == 0;
        a->trial->profile.lost += entry == 0;
    }
}

/* Lines ----------------------------------------------------------------------------------------*/

static TrialLine *line_of(TrialProfile *profile, const AsmImageLine *place) {
    const char *file = place ? place->file : NULL;
    uint32_t number = place ? place->line : 0;
    for (size_t i = profile->lines.count; i-- > 0;) { /* neighbours come one after the other */
        TrialLine *line = &profile->lines.items[i];
        if (line->line == number &&
            (line->file == file || (line->file && file && strcmp(line->file, file) == 0)))
            return line;
    }
    if (!vec_push(&profile->lines, (TrialLine){.file = file, .line = number}))
        return NULL;
    return &profile->lines.items[profile->lines.count - 1];
}

static int by_place(const void *a, const void *b) {
    const TrialLine *one = a, *other = b;
    if (!one->file || !other->file)
        return (one->file != NULL) - (other->file != NULL);
    int files = strcmp(one->file, other->file);
    return files ? files : (one->line > other->line) - (one->line < other->line);
}

static bool add_mnemonic(TrialProfile *profile, const IsaInstr *instr, uint64_t executions) {
    const char *mnemonic = isa_form_info((IsaForm)instr->form)->mnemonic;
    for (size_t i = 0; i < profile->instructions.count; i++) {
        if (strcmp(profile->instructions.items[i].mnemonic, mnemonic) == 0) {
            profile->instructions.items[i].executions += executions;
            return true;
        }
    }
    return vec_push(&profile->instructions, (TrialInstruction){mnemonic, executions});
}

/* Neither absent nor one that only fills its place. */
static bool fills(const IsaInstr *instr) {
    if (instr->form == ISA_INVALID)
        return false;
    char text[ISA_TEXT_SIZE];
    isa_disassemble(instr, ISA_BOTH, text);
    return strcmp(text, "nop") != 0 && strcmp(text, "fnop") != 0;
}

static bool add_instructions(TrialProfile *profile, const AsmImage *image, uint32_t address,
                             const Word *word) {
    uint64_t workers = 0;
    for (unsigned w = 0; w < CHIP_WORKERS; w++)
        workers += word->by_worker[w];
    IsaPacket packet;
    if (!profile_packet(image, address, workers ? ISA_WORKER : ISA_SUPERVISOR, &packet))
        return true;
    bool has_main = fills(&packet.main), has_aux = fills(&packet.aux);
    if (has_main && has_aux)
        profile->pairs += workers;
    return (!has_main || add_mnemonic(profile, &packet.main, word->executions)) &&
           (!has_aux || add_mnemonic(profile, &packet.aux, word->executions));
}

static int by_executions(const void *a, const void *b) {
    const TrialInstruction *one = a, *other = b;
    if (one->executions != other->executions)
        return one->executions < other->executions ? 1 : -1;
    return strcmp(one->mnemonic, other->mnemonic);
}

static bool add_lines(Attribution *a) {
    TrialProfile *profile = &a->trial->profile;
    const AsmImage *code = a->images[1];
    for (uint32_t i = 0; i < a->word_count; i++) {
        const Word *word = &a->words[i];
        if (word->executions == 0 && word->cycles == 0)
            continue;
        uint32_t address = CHIP_TILE_MEM_BASE + 4 * i;
        const AsmImageLine *place = address >= code->base ? asm_image_line(code, address) : NULL;
        TrialLine *line = line_of(profile, place);
        if (!line || (place && !add_instructions(profile, code, address, word)))
            return false;
        line->executions += word->executions;
        line->cycles += word->cycles;
        line->lost += word->lost;
        line->excess += word->excess;
        for (unsigned w = 0; w < CHIP_WORKERS; w++)
            line->by_worker[w] += word->by_worker[w];
    }
    if (profile->lines.count)
        qsort(profile->lines.items, profile->lines.count, sizeof *profile->lines.items, by_place);
    if (profile->instructions.count)
        qsort(profile->instructions.items, profile->instructions.count,
              sizeof *profile->instructions.items, by_executions);
    return true;
}

Status profile_make(Trial *trial, const AsmImage *stub, const AsmImage *image, const IssueLog *log,
                    Diag *diag) {
    Attribution a = {.trial = trial, .images = {stub, image}, .log = log};
    a.word_count = (image->base + image->size - CHIP_TILE_MEM_BASE) / 4;
    /* Code may also run from elsewhere: what it loaded or wrote. */
    a.word_count = MAX_OF(a.word_count, (CHIP_REGION1_BASE - CHIP_TILE_MEM_BASE) / 4);
    a.words = mem_alloc(a.word_count, sizeof *a.words);
    bool done = a.words && count_issues(&a);
    if (done) {
        give_cycles(&a);
        done = add_lines(&a);
    }
    mem_free(a.words);
    vec_free(&a.epochs);
    return done ? STATUS_OK : trial_no_memory(diag);
}

/* Trace ----------------------------------------------------------------------------------------*/

void profile_trace(const AsmImage *image, const IssueLog *log, FILE *out) {
    fprintf(out, "%8s  %-7s  %-5s  %-24s  %s\n", "cycle", "context", "pc", "line", "instruction");
    for (uint64_t t = 0; t < log->cycles.count; t++) {
        uint32_t entry = log->cycles.items[t];
        if (!entry)
            continue;
        unsigned context = log_context(entry);
        uint32_t address = log_address(entry);
        char name[16] = "super", text[2 * ISA_TEXT_SIZE] = "", place[64] = "";
        if (context != MACHINE_SUPERVISOR)
            snprintf(name, sizeof name, "%u", context);
        IsaPacket packet;
        if (profile_packet(image, address, mode_of(context), &packet))
            isa_disassemble_packet(&packet, mode_of(context), text);
        const AsmImageLine *line = asm_image_line(image, address);
        if (line)
            snprintf(place, sizeof place, "%s:%u", line->file, line->line);
        fprintf(out, "%8" PRIu64 "  %-7s  %05x  %-24s  %s\n", t, name, address, place,
                line ? text : "(the call)");
    }
}
