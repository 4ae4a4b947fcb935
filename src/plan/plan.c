/* Text of grids and plans. */
#include "plan/task.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A decimal number of at most nine digits; NULL if there is none at `text`. */
static const char *parse_number(const char *text, uint32_t *number) {
    *number = 0;
    const char *at = text;
    for (; isdigit((unsigned char)*at) && at - text < 9; at++)
        *number = *number * 10 + (uint32_t)(*at - '0');
    return at == text || isdigit((unsigned char)*at) ? NULL : at;
}

/* "R,C,K". */
static const char *parse_grid(const char *text, uint32_t grid[3]) {
    for (int i = 0; text && i < 3; i++) {
        if (i > 0 && *text++ != ',')
            return NULL;
        text = parse_number(text, &grid[i]);
    }
    return text;
}

Status plan_force_parse(const char *text, PlanForce *force, Diag *diag) {
    uint32_t grid[3];
    const char *equals = strchr(text, '=');
    const char *rest = equals && equals != text ? parse_grid(equals + 1, grid) : NULL;
    if (!rest || (*rest != 0 && strcmp(rest, ",swapped") != 0)) {
        Status status =
            diag_error(diag, ERR_PLAN_GRID_TEXT, DIAG_NOWHERE, "\"%.60s\" is no grid", text);
        diag_fix(diag, "write OP=R,C,K or OP=R,C,K,swapped, as in y=8,184,1");
        return status;
    }
    *force = (PlanForce){.operation = mem_printf("%.*s", (int)(equals - text), text),
                         .rows = grid[0],
                         .columns = grid[1],
                         .inner = grid[2],
                         .swapped = *rest != 0};
    if (!force->operation)
        return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "reading a grid");
    return STATUS_OK;
}

char *plan_value_name(const Graph *graph, const Plan *plan, uint32_t value) {
    static const char *const suffixes[] = {[PLAN_HOME] = "",
                                           [PLAN_MOVED] = ":moved",
                                           [PLAN_TURNED] = ":turned",
                                           [PLAN_PARTIALS] = ":partials",
                                           [PLAN_RECEIVED] = ":received"};
    const PlanValue *stored = &plan->values[value];
    const char *name = graph->values.items[stored->graph_value].name;
    uint32_t number = 1;
    for (uint32_t i = 0; i < value; i++)
        number += plan->values[i].kind == stored->kind &&
                  plan->values[i].graph_value == stored->graph_value;
    if (stored->kind == PLAN_HOME || number == 1)
        return mem_printf("%s%s", name, suffixes[stored->kind]);
    return mem_printf("%s%s.%u", name, suffixes[stored->kind], number);
}

/* What a text is printed from; good becomes false without memory. */
typedef struct Printer {
    const Graph *graph;
    const Plan *plan;
    FILE *out;
    bool good;
} Printer;

static void print_name(Printer *printer, const char *before, uint32_t value) {
    char *name = plan_value_name(printer->graph, printer->plan, value);
    printer->good = printer->good && name;
    fprintf(printer->out, "%s%s", before, name ? name : "");
    mem_free(name);
}

static void print_value(Printer *printer, uint32_t value) {
    const PlanValue *stored = &printer->plan->values[value];
    char *format = format_print(&stored->format);
    printer->good = printer->good && format;
    print_name(printer, "value ", value);
    fprintf(printer->out, " bytes=%" PRIu64 " widest=%" PRIu64, stored->total_bytes,
            stored->widest_bytes);
    if (stored->members > 1)
        fprintf(printer->out, " members=%u", stored->members);
    if (stored->inside_of != PLAN_NONE)
        print_name(printer, " inside=", stored->inside_of);
    fprintf(printer->out, " %s\n", format ? format : "");
    mem_free(format);
}

static void print_step(Printer *printer, const PlanStep *step) {
    static const char *const names[] = {
        [PLAN_LOCAL] = "local", [PLAN_EXCHANGE] = "exchange", [PLAN_CAST] = "cast",
        [PLAN_GEMM] = "gemm",   [PLAN_REDUCE] = "reduce",     [PLAN_POINT] = "point",
        [PLAN_TURN] = "turn",   [PLAN_PACK] = "pack"};
    FILE *out = printer->out;
    fprintf(out, "step %s", names[step->kind]);
    for (uint32_t i = 0; i < step->move_count; i++) {
        const PlanMove *move = &printer->plan->moves[step->first_move + i];
        print_name(printer, " ", move->source);
        if (move->source_row > 0)
            fprintf(out, "@%u", move->source_row);
        print_name(printer, "->", move->target);
        if (move->target_row > 0)
            fprintf(out, "@%u", move->target_row);
    }
    if (step->target != PLAN_NONE) {
        print_name(printer, " ", step->target);
        for (int i = 0; i < 2; i++)
            if (step->sources[i] != PLAN_NONE)
                print_name(printer, i == 0 ? "<-" : ",", step->sources[i]);
    }
    if (step->kind == PLAN_EXCHANGE)
        fprintf(out, " words=%" PRIu64, step->words);
    fprintf(out, " cycles=%" PRIu64 "\n", step->cycles);
}

static void print_operand(const char *name, const OperandChoice *operand, FILE *out) {
    fprintf(out, " %s=%u%s%s%s", name, operand->copies, operand->early ? ",early" : "",
            operand->fast ? ",fast" : "", operand->half ? ",half" : "");
}

/* What decides everything else. */
static void print_choice(const Printer *printer, const PlanChoice *choice) {
    const GraphOp *op = &printer->graph->ops.items[choice->op];
    const GemmChoice *gemm = &choice->gemm;
    FILE *out = printer->out;
    fprintf(out, "operation %s", printer->graph->values.items[op->result].name);
    if (op->kind == GRAPH_GEMM) {
        fprintf(out, " grid=%u,%u,%u%s weights=%s", gemm->rows, gemm->columns, gemm->inner,
                gemm->swapped ? ",swapped" : "", memory_class_name(gemm->weights));
        fprintf(out, " fast=%s", gemm->rows_fast ? "rows" : "columns");
        fprintf(out, " owners=%u,%u%s", gemm->owner_rows, gemm->owner_columns,
                gemm->wide_sum ? ",wide" : "");
        print_operand("left", &gemm->operands[0], out);
        print_operand("right", &gemm->operands[1], out);
    } else {
        print_operand("cast", &gemm->operands[0], out);
    }
    fputc('\n', out);
}

char *plan_print(const Graph *graph, const Plan *plan) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    Printer printer = {graph, plan, out, true};
    fprintf(out, "plan tiles=%u%s", plan->tiles, plan->device_input ? " input=device" : "");
    if (plan->merged)
        fprintf(out, " merged=%" PRIx64, plan->merged);
    fputc('\n', out);
    for (uint32_t i = 0; i < plan->choice_count; i++)
        print_choice(&printer, &plan->choices[i]);
    fprintf(out, "cycles %" PRIu64 "\n", plan->predicted_cycles);
    for (uint32_t i = 0; i < plan->value_count; i++)
        if (plan->values[i].format.tile_count > 0) /* else part of what uses it */
            print_value(&printer, i);
    for (uint32_t i = 0; i < plan->step_count; i++)
        print_step(&printer, &plan->steps[i]);
    for (uint32_t i = 0; i < plan->loop_count; i++)
        fprintf(out, "loop steps=%u+%u times=%u\n", plan->loops[i].first_step,
                plan->loops[i].step_count, plan->loops[i].times);
    bool good = fclose(out) == 0 && printer.good;
    char *copy = good && text ? mem_strdup(text) : NULL;
    free(text);
    return copy;
}

/* ---- reading */

/* Skips `word` at *at. */
static bool skip(const char **at, const char *word) {
    size_t length = strlen(word);
    if (strncmp(*at, word, length) != 0)
        return false;
    *at += length;
    return true;
}

static bool parse_operand(const char **at, const char *name, OperandChoice *operand) {
    if (!skip(at, " ") || !skip(at, name) || !skip(at, "=") ||
        !(*at = parse_number(*at, &operand->copies)))
        return false;
    operand->early = skip(at, ",early");
    operand->fast = skip(at, ",fast");
    operand->half = skip(at, ",half");
    return operand->copies > 0;
}

/* "AxB[,wide]" without the name. */
static bool parse_owners(const char **at, GemmChoice *choice) {
    if (!(*at = parse_number(*at, &choice->owner_rows)) || !skip(at, ",") ||
        !(*at = parse_number(*at, &choice->owner_columns)))
        return false;
    choice->wide_sum = skip(at, ",wide");
    return true;
}

/* "operation NAME grid=R,C,K[,swapped] weights=CLASS fast=AXIS owners=A,B[,wide] left=… right=…"
 */
static bool parse_gemm(const char *line, const char *name, GemmChoice *choice) {
    uint32_t grid[3];
    if (!skip(&line, "operation ") || !skip(&line, name) || !skip(&line, " grid=") ||
        !(line = parse_grid(line, grid)))
        return false;
    *choice = (GemmChoice){.rows = grid[0], .columns = grid[1], .inner = grid[2]};
    choice->swapped = skip(&line, ",swapped");
    if (!skip(&line, " weights="))
        return false;
    choice->weights = skip(&line, "interleaved ") ? MEMORY_INTERLEAVED : MEMORY_STANDARD;
    if (choice->weights != MEMORY_INTERLEAVED && !skip(&line, "standard "))
        return false;
    choice->rows_fast = skip(&line, "fast=rows ");
    return (choice->rows_fast || skip(&line, "fast=columns ")) && skip(&line, "owners=") &&
           parse_owners(&line, choice) && parse_operand(&line, "left", &choice->operands[0]) &&
           parse_operand(&line, "right", &choice->operands[1]) && *line == '\n';
}

/* "operation NAME cast=1[,early][,fast][,half]" */
static bool parse_cast(const char *line, const char *name, GemmChoice *choice) {
    *choice = (GemmChoice){.rows = 1, .columns = 1, .inner = 1, .owner_rows = 1};
    return skip(&line, "operation ") && skip(&line, name) &&
           parse_operand(&line, "cast", &choice->operands[0]) && *line == '\n';
}

/* Reports the first line in which the text differs from what its choices give. */
static Status compare_text(const char *text, const char *expected, const char *name, Diag *diag) {
    for (uint32_t line = 1; *text != 0 || *expected != 0; line++) {
        size_t a = strcspn(text, "\n"), b = strcspn(expected, "\n");
        if (a != b || memcmp(text, expected, a) != 0) {
            DiagPlace place = {.file = name, .line = line, .tile = -1};
            Status status = diag_error(diag, ERR_PLAN_MISMATCH, place,
                                       "the plan's line is not what its grids give for this graph");
            diag_note(diag, "found    \"%.*s\"", (int)MIN_OF(a, 200u), text);
            diag_note(diag, "expected \"%.*s\"", (int)MIN_OF(b, 200u), expected);
            return status;
        }
        text += a + (text[a] == '\n');
        expected += b + (expected[b] == '\n');
    }
    return STATUS_OK;
}

static Status parse_error(const char *name, uint32_t line, const char *what, Diag *diag) {
    DiagPlace place = {.file = name, .line = line, .tile = -1};
    return diag_error(diag, ERR_PLAN_TEXT, place, "%s", what);
}

/* The format at the end of a "value" line of a graph value, if it is one. */
static bool read_format(const char *line, const Graph *graph, PlanFormat *format) {
    char *end = strchr(line, '\n');
    size_t length = end ? (size_t)(end - line) : strlen(line);
    char *copy = mem_printf("%.*s", (int)length, line);
    bool found = false;
    for (uint32_t v = 0; v < graph->values.count && copy && !found; v++) {
        const char *at = copy;
        const char *words = NULL;
        if (skip(&at, "value ") && skip(&at, graph->values.items[v].name) && *at == ' ' &&
            (words = strstr(at, " widest=")) && (words = strchr(words + 1, ' '))) {
            format->value = v;
            found = format_parse(words + 1, &format->format, NULL) == STATUS_OK;
        }
    }
    mem_free(copy);
    return found;
}

/* What the text says besides what follows from it. */
typedef struct PlanText {
    PlanOptions options;
    PlanFormat formats[2]; /* homes, for a graph of one cast */
    uint64_t merged;
    VEC(GemmChoice) choices;
} PlanText;

static bool is_valid(const GemmChoice *choice, const PlanGemm *gemm) {
    uint32_t owners = choice->owner_rows * choice->owner_columns;
    if (choice->owner_rows > choice->inner || choice->owner_columns > choice->inner ||
        (owners != 1 && owners != choice->inner) || (choice->inner == 1 && choice->wide_sum))
        return false;
    for (int i = 0; i < 2; i++) {
        int role = gemm_operand(choice, ROLE_LEFT) == i ? ROLE_LEFT : ROLE_RIGHT;
        uint32_t users = gemm_users(choice, role), copies = choice->operands[i].copies;
        const GemmOperand *operand = &gemm->operands[i];
        bool cast = operand->cast != GRAPH_NONE, moves = gemm_moves(gemm, choice, i);
        if (users % copies != 0 || (operand->device && copies != 1) ||
            (choice->operands[i].early && !(cast && moves)) ||
            ((choice->operands[i].fast || choice->operands[i].half) && !cast))
            return false;
    }
    GemmExtents part = gemm_part(gemm, choice);
    return choice->owner_rows <= part.rows && choice->owner_columns <= part.groups;
}

/* The operand as the search has it, for which each product is a graph of its own (joint.c). */
static void search_operand(const Graph *graph, const PlanOptions *options, PrecisionKind precision,
                           GemmOperand *operand) {
    operand->device = task_on_chip(graph, operand, options->device_input);
    if (precision != PRECISION_F8F143)
        operand->cast = GRAPH_NONE;
    else if (operand->device && operand->cast == GRAPH_NONE)
        operand->cast = graph->values.items[operand->value].op;
}

/* One "operation" line, the next of the task's. */
static Status read_choice(const char *line, const char *name, uint32_t number, const Graph *graph,
                          const PlanTask *task, PlanText *read, Diag *diag) {
    size_t index = read->choices.count;
    if (index == task->choosing.count)
        return parse_error(name, number, "the plan has more operations than the graph", diag);
    uint32_t op = task->choosing.items[index];
    const char *result = graph->values.items[graph->ops.items[op].result].name;
    GemmChoice choice;
    bool good = task->kind == TASK_CAST ? parse_cast(line, result, &choice)
                                        : parse_gemm(line, result, &choice);
    if (!good)
        return parse_error(name, number, "this is no operation of the graph's plan", diag);
    if (task->kind != TASK_CAST) {
        PlanGemm gemm = task->kind == TASK_GEMM ? task->gemm : gemm_describe(graph, op);
        for (int i = 0; i < 2 && task->kind == TASK_GRAPH; i++)
            search_operand(graph, &read->options, gemm.precision, &gemm.operands[i]);
        Status status = gemm_check_choice(&gemm, &choice, read->options.tiles, diag);
        if (status)
            return status;
        if (!is_valid(&choice, &gemm))
            return parse_error(name, number, "this choice cannot be made for the graph", diag);
    }
    return vec_push(&read->choices, choice)
               ? STATUS_OK
               : diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "reading a plan");
}

/* Homes are given where the one operation is a cast that was chosen; elsewhere they follow. */
static void read_formats(const char *text, const Graph *graph, PlanText *read) {
    read->options.formats = read->formats;
    const char *choice = strstr(text, "\noperation ");
    if (!choice || !memmem(choice + 1, strcspn(choice + 1, "\n"), " cast=", 6))
        return;
    for (const char *line = text; line; line = line ? line + 1 : NULL) {
        if (read->options.format_count < 2 &&
            read_format(line, graph, &read->formats[read->options.format_count]))
            read->options.format_count++;
        line = strchr(line, '\n');
    }
}

static Status read_choices(const char *text, const char *name, const Graph *graph, PlanText *read,
                           PlanTask *task, Diag *diag) {
    const char *at = text;
    if (!skip(&at, "plan tiles=") || !(at = parse_number(at, &read->options.tiles)))
        return parse_error(name, 1, "a plan begins with \"plan tiles=\" and a number", diag);
    read->options.device_input = skip(&at, " input=device");
    if (skip(&at, " merged="))
        read->merged = strtoull(at, NULL, 16);
    read_formats(text, graph, read);
    Status status = task_find(graph, &read->options, task, diag);
    uint32_t number = 1;
    for (const char *line = text; line && !status; number++) {
        if (strncmp(line, "operation ", 10) == 0)
            status = read_choice(line, name, number, graph, task, read, diag);
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    if (!status && read->choices.count < task->choosing.count)
        return parse_error(name, number - 1, "the plan lacks an operation", diag);
    return status;
}

Status plan_parse(const char *text, const char *name, const Graph *graph, Plan *plan, Diag *diag) {
    *plan = (Plan){0};
    PlanText read = {0};
    PlanTask task = {0};
    Status status = read_choices(text, name, graph, &read, &task, diag);
    if (!status)
        status = task_plan(graph, &task, read.choices.items, &read.options, plan, diag);
    vec_free(&read.choices);
    task_free(&task);
    if (!status && read.merged) {
        Plan whole = *plan;
        status = plan_merge(graph, &whole, read.merged, plan, diag);
        plan_free(&whole);
    }
    if (status)
        return status;
    char *expected = plan_print(graph, plan);
    status = expected ? compare_text(text, expected, name, diag)
                      : diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "reading a plan");
    mem_free(expected);
    if (status)
        plan_free(plan);
    return status;
}
