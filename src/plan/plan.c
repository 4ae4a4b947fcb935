#include "plan/gemm.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void plan_free(Plan *plan) {
    mem_free(plan->values);
    mem_free(plan->operations);
    *plan = (Plan){0};
}

uint32_t plan_tiles_used(const Plan *plan) {
    uint32_t used = 0;
    for (uint32_t i = 0; i < plan->operation_count; i++)
        used = MAX_OF(used, plan->operations[i].gemm.rows * plan->operations[i].gemm.columns);
    return used;
}

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

static bool print_value(const Graph *graph, const Plan *plan, uint32_t value, FILE *out) {
    const PlanValue *planned = &plan->values[value];
    char *format = format_print(&planned->format);
    if (format)
        fprintf(out, "value %s bytes=%llu widest=%llu %s\n", graph->values.items[value].name,
                (unsigned long long)planned->total_bytes, (unsigned long long)planned->widest_bytes,
                format);
    mem_free(format);
    return format != NULL;
}

char *plan_print(const Graph *graph, const Plan *plan) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fprintf(out, "plan tiles=%u cycles=%llu\n", plan->tiles,
            (unsigned long long)plan->predicted_cycles);
    bool good = true;
    for (uint32_t i = 0; i < plan->value_count; i++)
        good &= print_value(graph, plan, i, out);
    for (uint32_t i = 0; i < plan->operation_count; i++) {
        const PlanOperation *operation = &plan->operations[i];
        const GemmChoice *gemm = &operation->gemm;
        const GraphOp *op = &graph->ops.items[operation->op];
        fprintf(out, "operation %s grid=%u,%u,%u%s weights=%s cycles=%llu\n",
                graph->values.items[op->result].name, gemm->rows, gemm->columns, gemm->inner,
                gemm->swapped ? ",swapped" : "", memory_class_name(gemm->weights),
                (unsigned long long)operation->cycles);
    }
    good &= fclose(out) == 0;
    char *copy = good && text ? mem_strdup(text) : NULL;
    free(text);
    return copy;
}

/* Skips `word` at *at. */
static bool skip(const char **at, const char *word) {
    size_t length = strlen(word);
    if (strncmp(*at, word, length) != 0)
        return false;
    *at += length;
    return true;
}

/* "operation NAME grid=R,C,K[,swapped] weights=CLASS …" */
static bool parse_choice(const char *line, const char *name, GemmChoice *choice) {
    uint32_t grid[3];
    if (!skip(&line, "operation ") || !skip(&line, name) || !skip(&line, " grid=") ||
        !(line = parse_grid(line, grid)))
        return false;
    *choice = (GemmChoice){.rows = grid[0], .columns = grid[1], .inner = grid[2]};
    choice->swapped = skip(&line, ",swapped");
    if (!skip(&line, " weights="))
        return false;
    choice->weights = skip(&line, "interleaved ") ? MEMORY_INTERLEAVED : MEMORY_STANDARD;
    return choice->weights == MEMORY_INTERLEAVED || skip(&line, "standard ");
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

Status plan_parse(const char *text, const char *name, const Graph *graph, Plan *plan, Diag *diag) {
    *plan = (Plan){0};
    PlanGemm gemm;
    Status status = gemm_find(graph, &gemm, diag);
    if (status)
        return status;
    const char *at = text;
    uint32_t tiles, lines = 1;
    if (!skip(&at, "plan tiles=") || !parse_number(at, &tiles))
        return parse_error(name, 1, "a plan begins with \"plan tiles=\" and a number", diag);
    GemmChoice choice = {0};
    bool found = false;
    for (const char *line = text; line; lines++) {
        if (strncmp(line, "operation ", 10) == 0) {
            found = parse_choice(line, graph->values.items[gemm.result].name, &choice);
            if (!found)
                return parse_error(name, lines, "this is no operation of the graph's plan", diag);
        }
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    if (!found)
        return parse_error(name, lines, "the plan has no operation", diag);
    status = gemm_check_choice(&gemm, &choice, tiles, diag);
    if (status)
        return status;
    if (gemm_cycles(&gemm, &choice) == 0)
        return diag_error(diag, ERR_PLAN_GRID, DIAG_NOWHERE,
                          "with this grid an operand is larger than the memory of a tile");
    status = gemm_plan(graph, &gemm, &choice, tiles, plan, diag);
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
