#include "api/api.h"

#include "base/file.h"
#include "trial/trial.h"

#include <string.h>

_Static_assert((int)TW_WORKERS == (int)CHIP_WORKERS, "one row a worker");
_Static_assert((int)TW_KERNEL_MAX_RANK == (int)TRIAL_MAX_RANK, "one extent a dimension");

struct TwKernelRun {
    Trial trial;
    TwKernelReport report;
    Arena arena; /* arrays of the report */
};

/* Lines of source ------------------------------------------------------------------------------*/

/* The text of a file as its lines; NULL without memory. An unreadable file has none. */
static const char **split_lines(Arena *arena, const char *path, size_t *count) {
    uint8_t *bytes = NULL;
    size_t size = 0;
    *count = 0;
    char *text = NULL;
    if (file_read(path, &bytes, &size, NULL) == STATUS_OK)
        text = arena_strdup(arena, (const char *)bytes);
    mem_free(bytes);
    if (!text)
        return arena_alloc(arena, 1, sizeof(char *));
    size_t lines = 1;
    for (const char *at = text; *at; at++)
        lines += *at == '\n';
    const char **line = arena_alloc(arena, lines, sizeof *line);
    for (char *at = text; line && at; (*count)++) {
        char *end = strchr(at, '\n');
        if (end)
            *end++ = 0;
        line[*count] = at;
        at = end;
    }
    return line;
}

enum { MOST_BETWEEN = 12 }; /* lines between executed ones that are worth showing */

/* How many lines stand between a line and the one before. */
static unsigned lines_between(const TrialProfile *profile, size_t i) {
    const TrialLine *line = &profile->lines.items[i], *before = line - 1;
    if (i == 0 || !line->file || !before->file || strcmp(line->file, before->file) != 0)
        return 0;
    unsigned between = line->line - before->line - 1;
    return between <= MOST_BETWEEN ? between : 0;
}

static bool copy_lines(TwKernelRun *run) {
    const TrialProfile *profile = &run->trial.profile;
    size_t most = profile->lines.count + 1, at = 0, count = 0;
    for (size_t i = 0; i < profile->lines.count; i++)
        most += lines_between(profile, i);
    TwKernelLine *lines = ARENA_NEW(&run->arena, TwKernelLine, most);
    const char **texts = NULL, *open = NULL;
    for (size_t i = 0; i < profile->lines.count && lines; i++) {
        const TrialLine *line = &profile->lines.items[i];
        if (line->file && (!open || strcmp(line->file, open) != 0)) {
            open = line->file;
            texts = split_lines(&run->arena, open, &count);
            if (!texts)
                return false;
        }
        for (unsigned number = line->line - lines_between(profile, i); number <= line->line;
             number++)
            lines[at++] = (TwKernelLine){
                .file = line->file,
                .line = number,
                .text = line->file && number >= 1 && number <= count ? texts[number - 1] : ""};
        lines[at - 1].executions = line->executions;
        lines[at - 1].cycles = line->cycles;
        lines[at - 1].lost = line->lost;
        lines[at - 1].excess = line->excess;
        memcpy(lines[at - 1].by_worker, line->by_worker, sizeof line->by_worker);
    }
    run->report.lines = lines;
    run->report.line_count = at;
    return lines != NULL;
}

/* The report -----------------------------------------------------------------------------------*/

static bool copy_buffers(TwKernelRun *run) {
    const Trial *trial = &run->trial;
    TwKernelBuffer *buffers = ARENA_NEW(&run->arena, TwKernelBuffer, trial->buffers.count + 1);
    for (size_t i = 0; i < trial->buffers.count && buffers; i++) {
        const TrialBuffer *buffer = &trial->buffers.items[i];
        buffers[i] = (TwKernelBuffer){.name = buffer->name,
                                      .type = trial_type_name(buffer->type),
                                      .rank = buffer->rank,
                                      .count = buffer->count,
                                      .bytes = buffer->size,
                                      .address = buffer->address,
                                      .output = buffer->output,
                                      .expected = buffer->expected != NULL,
                                      .differing = buffer->differing,
                                      .first_difference = buffer->first_difference};
        memcpy(buffers[i].dims, buffer->dims, sizeof buffer->dims);
    }
    run->report.buffers = buffers;
    run->report.buffer_count = trial->buffers.count;
    return buffers != NULL;
}

static bool copy_instructions(TwKernelRun *run) {
    const TrialProfile *profile = &run->trial.profile;
    size_t count = profile->instructions.count;
    TwKernelInstruction *instructions = ARENA_NEW(&run->arena, TwKernelInstruction, count + 1);
    for (size_t i = 0; i < count && instructions; i++)
        instructions[i] = (TwKernelInstruction){profile->instructions.items[i].mnemonic,
                                                profile->instructions.items[i].executions};
    run->report.instructions = instructions;
    run->report.instruction_count = count;
    return instructions != NULL;
}

static bool make_report(TwKernelRun *run) {
    const Trial *trial = &run->trial;
    const TrialProfile *profile = &trial->profile;
    run->report = (TwKernelReport){.entry = trial->entry,
                                   .worker = trial->worker,
                                   .cycles = trial->cycles,
                                   .least = trial->least,
                                   .most = trial->most,
                                   .sampled = trial->sampled,
                                   .launches = profile->launches,
                                   .supervisor_issues = profile->supervisor_issues,
                                   .pairs = profile->pairs,
                                   .lost = profile->lost,
                                   .left_running = profile->left_running,
                                   .longest = profile->longest,
                                   .shortest = profile->shortest,
                                   .longest_slots = profile->longest_slots,
                                   .shortest_slots = profile->shortest_slots,
                                   .excess = profile->excess};
    for (unsigned w = 0; w < TW_WORKERS; w++) {
        const TrialWorker *worker = &profile->worker[w];
        run->report.workers[w] = (TwKernelWorker){.runs = worker->runs,
                                                  .issues = worker->issues,
                                                  .slots = worker->slots,
                                                  .longest_in = worker->longest_in};
        run->report.worker_issues += worker->issues;
    }
    return copy_buffers(run) && copy_lines(run) && copy_instructions(run);
}

/* Running --------------------------------------------------------------------------------------*/

static Status run_objects(const TwKernelOptions *options, const AsmObject *const *objects,
                          Trial *trial, Diag *diag) {
    const TrialOptions trial_options = {.objects = objects,
                                        .object_count = options->source_count,
                                        .entry = options->entry,
                                        .outputs = options->outputs,
                                        .inputs = options->inputs,
                                        .output_count = options->output_count,
                                        .input_count = options->input_count,
                                        .arguments = options->arguments,
                                        .expected = options->expected,
                                        .expected_count = options->expected_count,
                                        .workers = options->workers,
                                        .start = options->start,
                                        .budget = options->budget,
                                        .seed = options->seed,
                                        .trace = options->trace,
                                        .unchecked = options->unchecked};
    return trial_run(&trial_options, trial, diag);
}

TwStatus tw_kernel_run(TwContext *context, const TwKernelOptions *options, TwKernelRun **run) {
    *run = NULL;
    TwKernelRun *made = mem_alloc(1, sizeof *made);
    AsmObject **objects = mem_alloc(options->source_count, sizeof(AsmObject *));
    Status status = STATUS_OK;
    TwStatus result = 0;
    if (!made || !objects)
        result = api_no_memory(context);
    for (size_t i = 0; i < options->source_count && result == 0 && status == STATUS_OK; i++)
        status = api_assemble(options->sources[i], &options->assemble, &objects[i], &context->diag);
    if (result == 0 && status == STATUS_OK)
        status =
            run_objects(options, (const AsmObject *const *)objects, &made->trial, &context->diag);
    if (result == 0 && status == STATUS_OK && !make_report(made))
        result = api_no_memory(context);
    for (size_t i = 0; i < options->source_count && objects; i++)
        asm_object_free(objects[i]);
    mem_free(objects);
    if (result == 0)
        result = (TwStatus)status;
    if (result == 0)
        *run = made;
    else
        tw_kernel_free(made);
    return result;
}

void tw_kernel_free(TwKernelRun *run) {
    if (!run)
        return;
    trial_free(&run->trial);
    arena_free(&run->arena);
    mem_free(run);
}

const TwKernelReport *tw_kernel_report(const TwKernelRun *run) {
    return &run->report;
}

double tw_kernel_value(const TwKernelRun *run, size_t buffer, uint32_t element) {
    const TrialBuffer *found = &run->trial.buffers.items[buffer];
    return trial_value(found, found->after, element);
}

double tw_kernel_expected(const TwKernelRun *run, size_t buffer, uint32_t element) {
    const TrialBuffer *found = &run->trial.buffers.items[buffer];
    return trial_value(found, found->expected, element);
}

uint32_t tw_kernel_differing(const TwKernelRun *run, const TwKernelRun *other, size_t buffer) {
    if (buffer >= other->trial.buffers.count)
        return UINT32_MAX;
    const TrialBuffer *one = &run->trial.buffers.items[buffer];
    const TrialBuffer *two = &other->trial.buffers.items[buffer];
    if (one->type != two->type || one->count != two->count)
        return UINT32_MAX;
    uint32_t bytes = trial_type_bytes(one->type), differing = 0;
    for (uint32_t i = 0; i < one->count; i++)
        differing +=
            memcmp(one->after + (size_t)i * bytes, two->after + (size_t)i * bytes, bytes) != 0;
    return differing;
}

TwStatus tw_kernel_save(TwContext *context, const TwKernelRun *run, const char *name,
                        const char *path) {
    for (size_t i = 0; i < run->trial.buffers.count; i++) {
        const TrialBuffer *buffer = &run->trial.buffers.items[i];
        if (strcmp(buffer->name, name) == 0)
            return (TwStatus)trial_save(buffer, path, &context->diag);
    }
    return (TwStatus)diag_error(&context->diag, ERR_TRIAL_ARGUMENT,
                                (DiagPlace){.tile = -1, .object = "option --save"},
                                "there is no buffer '%s'", name);
}
