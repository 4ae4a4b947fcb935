#include "cli/kernel.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_REASONS = 6 };

static const char *name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Text -----------------------------------------------------------------------------------------*/

static void print_cycles(const TwKernelReport *report, FILE *out) {
    char text[4][CLI_NUMBER];
    fprintf(out, "%s, code of %s\n", report->entry,
            report->worker ? "workers, launched together" : "the supervisor");
    fprintf(out, "cycles           %s", cli_number(report->cycles, text[0]));
    if (report->least != report->most)
        fprintf(out, "; %s to %s from all six slots", cli_number(report->least, text[1]),
                cli_number(report->most, text[2]));
    if (report->sampled)
        fprintf(out, "; %s between samples", cli_number(report->sampled, text[3]));
    fprintf(out, "\nissued           %s worker bundles",
            cli_number(report->worker_issues, text[0]));
    if (report->worker_issues)
        fprintf(out, " (%.0f %% with work in both halves)",
                100.0 * (double)report->pairs / (double)report->worker_issues);
    fprintf(out, ", %s by the supervisor\n", cli_number(report->supervisor_issues, text[0]));
    fprintf(out, "lost             %s cycles in which nothing was issued, %.1f %%\n",
            cli_number(report->lost, text[0]),
            100.0 * (double)report->lost / (double)report->cycles);
    if (report->left_running)
        fputs("warning          it returns while workers run: no sync 2 behind the launch\n", out);
}

static void print_workers(const TwKernelReport *report, FILE *out) {
    if (report->launches == 0)
        return;
    char text[CLI_NUMBER];
    static const char *const names[] = {"bundles", "slots", "ends last"};
    fprintf(out, "\n%s launch%s\nworker    ", cli_number(report->launches, text),
            report->launches == 1 ? "" : "es");
    for (unsigned w = 0; w < TW_WORKERS; w++)
        fprintf(out, " %10u", w);
    for (unsigned row = 0; row < COUNT_OF(names); row++) {
        fprintf(out, "\n%-10s", names[row]);
        for (unsigned w = 0; w < TW_WORKERS; w++) {
            const TwKernelWorker *worker = &report->workers[w];
            uint64_t value = row == 0   ? worker->issues
                             : row == 1 ? worker->slots
                                        : worker->longest_in;
            fprintf(out, " %10s", cli_number(value, text));
        }
    }
    fputc('\n', out);
}

/* Lines by what they add to the longest workers, greatest first. */
static int by_excess(const void *a, const void *b) {
    const TwKernelLine *one = *(const TwKernelLine *const *)a;
    const TwKernelLine *other = *(const TwKernelLine *const *)b;
    if (llabs(one->excess) != llabs(other->excess))
        return llabs(one->excess) < llabs(other->excess) ? 1 : -1;
    return (one > other) - (one < other);
}

static void print_reason(const TwKernelReport *report, FILE *out) {
    if (report->launches == 0)
        return;
    unsigned workers = 0;
    for (unsigned w = 0; w < TW_WORKERS; w++)
        workers += report->workers[w].runs > 0;
    if (workers == 1)
        return;
    if (report->excess == 0) {
        fputs("\nall workers of a launch take the same number of slots\n", out);
        return;
    }
    char text[3][CLI_NUMBER];
    fprintf(out, "\nworker %u is longest: %s slots, %s more than worker %u", report->longest,
            cli_number(report->longest_slots, text[0]),
            cli_number(report->longest_slots - report->shortest_slots, text[1]), report->shortest);
    if (report->launches > 1)
        fprintf(out, " in the most uneven launch; %s in all",
                cli_number((uint64_t)report->excess, text[2]));
    fputs("; the slots more, by line\n", out);
    const TwKernelLine **lines = mem_alloc(report->line_count, sizeof *lines);
    for (size_t i = 0; i < report->line_count && lines; i++)
        lines[i] = &report->lines[i];
    if (lines)
        qsort(lines, report->line_count, sizeof *lines, by_excess);
    for (size_t i = 0; i < report->line_count && lines && lines[i]->excess; i++) {
        const TwKernelLine *line = lines[i];
        if (i == MOST_REASONS) {
            fputs("            and other lines\n", out);
            break;
        }
        const char *source = line->text + strspn(line->text, " \t");
        fprintf(out, "%+10" PRId64 "  %s:%u  %s\n", line->excess, name_of(line->file), line->line,
                source);
    }
    mem_free(lines);
}

static void print_line(const TwKernelReport *report, const TwKernelLine *line, FILE *out) {
    char text[3][CLI_NUMBER];
    if (line->executions == 0 && line->cycles == 0) {
        fprintf(out, "%39s", "");
        return;
    }
    fprintf(out, "%10s %10s %5.1f %% %9s", cli_number(line->executions, text[0]),
            cli_number(line->cycles, text[1]),
            100.0 * (double)line->cycles / (double)report->cycles, cli_number(line->lost, text[2]));
}

/* The executed lines of every file, with what stands between neighbours. */
static void print_listing(const TwKernelReport *report, FILE *out) {
    fprintf(out, "\n%10s %10s %7s %9s\n", "executed", "cycles", "", "lost");
    for (size_t i = 0; i < report->line_count; i++) {
        const TwKernelLine *line = &report->lines[i];
        bool same = i > 0 && line->file && report->lines[i - 1].file &&
                    strcmp(line->file, report->lines[i - 1].file) == 0;
        if (line->file && !same)
            fprintf(out, "%s:\n", line->file);
        if (same && line->line > report->lines[i - 1].line + 1)
            fprintf(out, "%43s\n", "...");
        print_line(report, line, out);
        if (line->file)
            fprintf(out, " %5u%s%s\n", line->line, *line->text ? " " : "", line->text);
        else
            fputs("       (the call)\n", out);
    }
}

static void print_value(double value, FILE *out) {
    fprintf(out, isnan(value) ? " nan" : " %.9g", value);
}

static void print_shape(const TwKernelBuffer *buffer, FILE *out) {
    for (unsigned i = 0; i < buffer->rank; i++)
        fprintf(out, "%s%u", i ? "x" : "", buffer->dims[i]);
}

static void print_outputs(const TwKernelRun *run, unsigned values, FILE *out) {
    const TwKernelReport *report = tw_kernel_report(run);
    for (size_t i = 0; i < report->buffer_count; i++) {
        const TwKernelBuffer *buffer = &report->buffers[i];
        if (!buffer->output && !buffer->expected)
            continue;
        fprintf(out, "%s%s=%s:", i ? "" : "\n", buffer->name, buffer->type);
        print_shape(buffer, out);
        fprintf(out, "@0x%X:", buffer->address);
        for (uint32_t j = 0; j < buffer->count && j < values; j++)
            print_value(tw_kernel_value(run, i, j), out);
        fputs(buffer->count > values ? " …\n" : "\n", out);
        if (!buffer->expected)
            continue;
        if (buffer->differing == 0) {
            fputs("  as expected, bit by bit\n", out);
            continue;
        }
        fprintf(out,
                "  %u of %u differ from what is expected; first element %u:", buffer->differing,
                buffer->count, buffer->first_difference);
        print_value(tw_kernel_value(run, i, buffer->first_difference), out);
        fputs(", expected", out);
        print_value(tw_kernel_expected(run, i, buffer->first_difference), out);
        fputc('\n', out);
    }
}

void kernel_print(const TwKernelRun *run, unsigned values, FILE *out) {
    const TwKernelReport *report = tw_kernel_report(run);
    print_cycles(report, out);
    print_workers(report, out);
    print_reason(report, out);
    print_listing(report, out);
    print_outputs(run, values, out);
}

bool kernel_as_expected(const TwKernelRun *run) {
    const TwKernelReport *report = tw_kernel_report(run);
    bool good = true;
    for (size_t i = 0; i < report->buffer_count; i++)
        good &= report->buffers[i].differing == 0;
    return good;
}

/* Two versions ---------------------------------------------------------------------------------*/

static void print_pair(const char *name, uint64_t one, uint64_t other, FILE *out) {
    char text[2][CLI_NUMBER];
    if (one == 0 && other == 0)
        return;
    fprintf(out, "%-24s %14s %14s", name, cli_number(one, text[0]), cli_number(other, text[1]));
    if (one > 0 && one != other)
        fprintf(out, " %+8.1f %%", 100.0 * ((double)other - (double)one) / (double)one);
    fputc('\n', out);
}

static uint64_t most_slots(const TwKernelReport *report) {
    uint64_t most = 0;
    for (unsigned w = 0; w < TW_WORKERS; w++)
        most = MAX_OF(most, report->workers[w].slots);
    return most;
}

static uint64_t executions_of(const TwKernelReport *report, const char *mnemonic) {
    for (size_t i = 0; i < report->instruction_count; i++)
        if (strcmp(report->instructions[i].mnemonic, mnemonic) == 0)
            return report->instructions[i].executions;
    return 0;
}

/* Instructions of both, those of the first version first. */
static void print_instructions(const TwKernelReport *one, const TwKernelReport *other, FILE *out) {
    fputs("\nexecuted\n", out);
    for (size_t i = 0; i < one->instruction_count; i++)
        print_pair(one->instructions[i].mnemonic, one->instructions[i].executions,
                   executions_of(other, one->instructions[i].mnemonic), out);
    for (size_t i = 0; i < other->instruction_count; i++)
        if (executions_of(one, other->instructions[i].mnemonic) == 0)
            print_pair(other->instructions[i].mnemonic, 0, other->instructions[i].executions, out);
}

/* The end of a path that fits a column. */
static const char *short_name(const char *path) {
    enum { COLUMN = 14 };
    size_t length = strlen(path);
    const char *slash = length > COLUMN ? strchr(path + length - COLUMN - 1, '/') : path - 1;
    return slash ? slash + 1 : name_of(path);
}

bool kernel_print_comparison(const TwKernelRun *run, const TwKernelRun *other,
                             const char *const names[2], FILE *out) {
    const TwKernelReport *one = tw_kernel_report(run), *two = tw_kernel_report(other);
    fprintf(out, "%-24s %14s %14s\n", one->entry, short_name(names[0]), short_name(names[1]));
    print_pair("cycles", one->cycles, two->cycles, out);
    print_pair("  least of six slots", one->least, two->least, out);
    print_pair("  most", one->most, two->most, out);
    print_pair("  between samples", one->sampled, two->sampled, out);
    print_pair("launches", one->launches, two->launches, out);
    print_pair("slots, busiest worker", most_slots(one), most_slots(two), out);
    print_pair("worker bundles", one->worker_issues, two->worker_issues, out);
    print_pair("  with both halves", one->pairs, two->pairs, out);
    print_pair("supervisor instructions", one->supervisor_issues, two->supervisor_issues, out);
    print_pair("cycles lost", one->lost, two->lost, out);
    print_instructions(one, two, out);
    fputc('\n', out);
    bool equal = true;
    for (size_t i = 0; i < one->buffer_count; i++) {
        const TwKernelBuffer *buffer = &one->buffers[i];
        if (!buffer->output)
            continue;
        uint32_t differing = tw_kernel_differing(run, other, i);
        if (differing)
            fprintf(out, "%s: %u of %u elements differ between the versions\n", buffer->name,
                    differing, buffer->count);
        else
            fprintf(out, "%s: equal, bit by bit\n", buffer->name);
        equal &= differing == 0;
    }
    const TwKernelRun *const runs[2] = {run, other};
    for (unsigned i = 0; i < 2; i++)
        if (!kernel_as_expected(runs[i]))
            fprintf(out, "%s: outputs differ from what is expected\n", short_name(names[i]));
    return equal;
}

/* JSON -----------------------------------------------------------------------------------------*/

static json_t *whole(uint64_t value) {
    return json_integer((json_int_t)value);
}

static json_t *workers_json(const TwKernelReport *report) {
    json_t *workers = json_array();
    for (unsigned w = 0; w < TW_WORKERS; w++) {
        const TwKernelWorker *worker = &report->workers[w];
        json_t *object = json_object();
        json_object_set_new(object, "runs", whole(worker->runs));
        json_object_set_new(object, "bundles", whole(worker->issues));
        json_object_set_new(object, "slots", whole(worker->slots));
        json_object_set_new(object, "last_in", whole(worker->longest_in));
        json_array_append_new(workers, object);
    }
    return workers;
}

static json_t *lines_json(const TwKernelReport *report) {
    json_t *lines = json_array();
    for (size_t i = 0; i < report->line_count; i++) {
        const TwKernelLine *line = &report->lines[i];
        json_t *object = json_object(), *by_worker = json_array();
        for (unsigned w = 0; w < TW_WORKERS; w++)
            json_array_append_new(by_worker, whole(line->by_worker[w]));
        json_object_set_new(object, "file", cli_text(line->file));
        json_object_set_new(object, "line", line->file ? json_integer(line->line) : json_null());
        json_object_set_new(object, "text", cli_text(line->text));
        json_object_set_new(object, "executions", whole(line->executions));
        json_object_set_new(object, "by_worker", by_worker);
        json_object_set_new(object, "cycles", whole(line->cycles));
        json_object_set_new(object, "lost", whole(line->lost));
        json_object_set_new(object, "excess_slots", json_integer(line->excess));
        json_array_append_new(lines, object);
    }
    return lines;
}

static json_t *buffers_json(const TwKernelRun *run, unsigned values) {
    const TwKernelReport *report = tw_kernel_report(run);
    json_t *buffers = json_array();
    for (size_t i = 0; i < report->buffer_count; i++) {
        const TwKernelBuffer *buffer = &report->buffers[i];
        json_t *object = json_object(), *shape = json_array(), *elements = json_array();
        for (unsigned j = 0; j < buffer->rank; j++)
            json_array_append_new(shape, json_integer(buffer->dims[j]));
        for (uint32_t j = 0; j < buffer->count && j < values; j++)
            json_array_append_new(elements, cli_real(tw_kernel_value(run, i, j)));
        json_object_set_new(object, "name", cli_text(buffer->name));
        json_object_set_new(object, "type", cli_text(buffer->type));
        json_object_set_new(object, "shape", shape);
        json_object_set_new(object, "address", json_integer(buffer->address));
        json_object_set_new(object, "output", json_boolean(buffer->output));
        json_object_set_new(object, "values", elements);
        if (buffer->expected) {
            json_object_set_new(object, "differing", json_integer(buffer->differing));
            json_object_set_new(object, "first_difference",
                                buffer->differing ? json_integer(buffer->first_difference)
                                                  : json_null());
        }
        json_array_append_new(buffers, object);
    }
    return buffers;
}

static json_t *instructions_json(const TwKernelReport *report) {
    json_t *instructions = json_object();
    for (size_t i = 0; i < report->instruction_count; i++)
        json_object_set_new(instructions, report->instructions[i].mnemonic,
                            whole(report->instructions[i].executions));
    return instructions;
}

static json_t *longest_json(const TwKernelReport *report) {
    if (report->excess == 0)
        return json_null();
    json_t *longest = json_object();
    json_object_set_new(longest, "worker", json_integer(report->longest));
    json_object_set_new(longest, "slots", whole(report->longest_slots));
    json_object_set_new(longest, "shortest_worker", json_integer(report->shortest));
    json_object_set_new(longest, "shortest_slots", whole(report->shortest_slots));
    json_object_set_new(longest, "excess_slots", json_integer(report->excess));
    return longest;
}

json_t *kernel_json(const TwKernelRun *run, unsigned values) {
    const TwKernelReport *report = tw_kernel_report(run);
    json_t *document = json_object();
    json_object_set_new(document, "entry", cli_text(report->entry));
    json_object_set_new(document, "code_of", json_string(report->worker ? "worker" : "supervisor"));
    json_object_set_new(document, "cycles", whole(report->cycles));
    json_object_set_new(document, "cycles_least", whole(report->least));
    json_object_set_new(document, "cycles_most", whole(report->most));
    json_object_set_new(document, "cycles_sampled",
                        report->sampled ? whole(report->sampled) : json_null());
    json_object_set_new(document, "launches", whole(report->launches));
    json_object_set_new(document, "worker_bundles", whole(report->worker_issues));
    json_object_set_new(document, "worker_bundles_full", whole(report->pairs));
    json_object_set_new(document, "supervisor_instructions", whole(report->supervisor_issues));
    json_object_set_new(document, "lost", whole(report->lost));
    json_object_set_new(document, "left_running", json_boolean(report->left_running));
    json_object_set_new(document, "workers", workers_json(report));
    json_object_set_new(document, "longest", longest_json(report));
    json_object_set_new(document, "lines", lines_json(report));
    json_object_set_new(document, "instructions", instructions_json(report));
    json_object_set_new(document, "buffers", buffers_json(run, values));
    return document;
}

json_t *kernel_comparison_json(const TwKernelRun *run, const TwKernelRun *other) {
    const TwKernelReport *one = tw_kernel_report(run), *two = tw_kernel_report(other);
    json_t *comparison = json_object(), *outputs = json_object();
    bool equal = true;
    for (size_t i = 0; i < one->buffer_count; i++) {
        if (!one->buffers[i].output)
            continue;
        uint32_t differing = tw_kernel_differing(run, other, i);
        equal &= differing == 0;
        json_object_set_new(outputs, one->buffers[i].name, json_integer(differing));
    }
    json_object_set_new(comparison, "cycles_change",
                        json_integer((json_int_t)two->cycles - (json_int_t)one->cycles));
    json_object_set_new(comparison, "outputs_equal", json_boolean(equal));
    json_object_set_new(comparison, "differing", outputs);
    return comparison;
}
