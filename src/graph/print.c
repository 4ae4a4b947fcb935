/* The text form of graphs, written and compared; text.c reads it. */
#include "graph/graph.h"

#include <stdlib.h>
#include <string.h>

typedef VEC(uint32_t) Lines;

/* Where the text goes, and for each of its lines the line that its operation was read from. */
typedef struct Printer {
    FILE *out;
    Lines lines;
    bool failed; /* no memory for `lines` */
} Printer;

static void print_name(const char *name, FILE *out) {
    fputc('"', out);
    for (; *name; name++) {
        if (*name == '"' || *name == '\\')
            fputc('\\', out);
        fputc(*name, out);
    }
    fputc('"', out);
}

static void print_values(const Graph *graph, const uint32_t *values, uint32_t count, FILE *out) {
    for (uint32_t i = 0; i < count; i++)
        fprintf(out, "%s%%%s", i ? ", " : "", graph->values.items[values[i]].name);
}

static void print_type(const GraphValue *value, FILE *out) {
    char precision[PRECISION_TEXT_SIZE], shape[SHAPE_TEXT_SIZE];
    fprintf(out, " : %s%s", precision_print(value->precision, precision),
            shape_print(&value->logical, shape));
}

static void begin_line(Printer *printer, const GraphOp *op, int depth) {
    printer->failed |= !vec_push(&printer->lines, op->line);
    fprintf(printer->out, "%*s", 2 * depth, "");
}

static void print_computation(const Graph *graph, const GraphOp *op, FILE *out) {
    const GraphValue *result = &graph->values.items[op->result];
    fprintf(out, "%%%s = %s ", result->name, graph_op_name(op->kind));
    print_values(graph, op->operands, op->operand_count, out);
    if (op->transpose_left || op->transpose_right)
        fprintf(out, " {%s%s%s}", op->transpose_left ? "transpose_left=true" : "",
                op->transpose_left && op->transpose_right ? ", " : "",
                op->transpose_right ? "transpose_right=true" : "");
    print_type(result, out);
}

static void print_ops(Printer *printer, const Graph *graph, const Graph *outer,
                      const GraphOp *repeat, int depth);

/* Argument number i of the body that `repeat` runs. */
static void print_argument(const Graph *graph, const GraphOp *op, const Graph *outer,
                           const GraphOp *repeat, FILE *out) {
    static const char *const names[] = {"carried", "invariant", "iterated"};
    const GraphValue *value = &graph->values.items[op->result];
    uint32_t single = repeat->carried + repeat->invariant, i = op->result;
    bool list = op->argument == GRAPH_ITERATED;
    fprintf(out, "%s %%%s = ", names[op->argument], value->name);
    print_values(outer, repeat->operands + (list ? single + (i - single) * repeat->times : i),
                 list ? repeat->times : 1, out);
    print_type(value, out);
}

static void print_repeat(Printer *printer, const Graph *graph, const GraphOp *op, int depth) {
    for (uint32_t i = 0; i < op->result_count; i++)
        fprintf(printer->out, "%s%%%s", i ? ", " : "", graph->values.items[op->result + i].name);
    fprintf(printer->out, " = repeat %u {\n", op->times);
    print_ops(printer, op->body, graph, op, depth + 1);
    begin_line(printer, op, depth);
    fputc('}', printer->out);
}

/* outer, repeat: of a body, else NULL. */
static void print_op(Printer *printer, const Graph *graph, const GraphOp *op, const Graph *outer,
                     const GraphOp *repeat, int depth) {
    FILE *out = printer->out;
    begin_line(printer, op, depth);
    switch (op->kind) {
    case GRAPH_INPUT:
    case GRAPH_PARAMETER:
        fprintf(out, "%s %%%s ", graph_op_name(op->kind), graph->values.items[op->result].name);
        print_name(op->name, out);
        print_type(&graph->values.items[op->result], out);
        break;
    case GRAPH_GEMM:
    case GRAPH_CAST:
    case GRAPH_GELU:
    case GRAPH_ADD:
    case GRAPH_ROWS:
    case GRAPH_STACK: print_computation(graph, op, out); break;
    case GRAPH_REPEAT: print_repeat(printer, graph, op, depth); break;
    case GRAPH_ARGUMENT: print_argument(graph, op, outer, repeat, out); break;
    case GRAPH_YIELD:
        fputs("yield ", out);
        print_values(graph, op->operands, op->operand_count, out);
        break;
    case GRAPH_OUTPUT:
        fputs("output ", out);
        print_values(graph, op->operands, 1, out);
        fputc(' ', out);
        print_name(op->name, out);
        break;
    }
    fputc('\n', out);
}

static void print_ops(Printer *printer, const Graph *graph, const Graph *outer,
                      const GraphOp *repeat, int depth) {
    for (size_t i = 0; i < graph->ops.count; i++)
        print_op(printer, graph, &graph->ops.items[i], outer, repeat, depth);
}

/* The text (mem_free) or NULL; `lines` receives the lines that its lines were read from. */
static char *print_graph(const Graph *graph, Lines *lines) {
    char *text = NULL;
    size_t size;
    Printer printer = {.out = open_memstream(&text, &size)};
    if (!printer.out)
        return NULL;
    print_ops(&printer, graph, NULL, NULL, 0);
    bool failed = ferror(printer.out) != 0;
    failed |= fclose(printer.out) != 0 || printer.failed;
    char *copy = failed ? NULL : mem_strdup(text);
    free(text);
    *lines = printer.lines;
    return copy;
}

char *graph_print(const Graph *graph) {
    Lines lines = {0};
    char *text = print_graph(graph, &lines);
    vec_free(&lines);
    return text;
}

void graph_difference_free(GraphDifference *difference) {
    mem_free(difference->statements[0]);
    mem_free(difference->statements[1]);
    *difference = (GraphDifference){0};
}

/* The two lines of text at which they differ, without what indents them, or NULL at their ends. */
static Status tell_difference(const char *const at[2], const Lines lines[2], size_t number,
                              GraphDifference *difference) {
    difference->found = true;
    for (int side = 0; side < 2; side++) {
        const char *start = at[side] + strspn(at[side], " ");
        if (!*start)
            continue;
        difference->lines[side] = lines[side].items[number];
        difference->statements[side] = mem_printf("%.*s", (int)strcspn(start, "\n"), start);
        if (!difference->statements[side])
            return ERR_NO_MEMORY;
    }
    return STATUS_OK;
}

static Status compare_texts(const char *const texts[2], const Lines lines[2],
                            GraphDifference *difference) {
    const char *at[2] = {texts[0], texts[1]};
    for (size_t number = 0; *at[0] || *at[1]; number++) {
        size_t length = strcspn(at[0], "\n");
        if (length != strcspn(at[1], "\n") || memcmp(at[0], at[1], length) != 0)
            return tell_difference(at, lines, number, difference);
        at[0] += length + 1;
        at[1] += length + 1;
    }
    return STATUS_OK;
}

Status graph_diff(const Graph *a, const Graph *b, GraphDifference *difference, Diag *diag) {
    *difference = (GraphDifference){0};
    Lines lines[2] = {0};
    char *texts[2] = {print_graph(a, &lines[0]), print_graph(b, &lines[1])};
    Status status = ERR_NO_MEMORY;
    if (texts[0] && texts[1])
        status = compare_texts((const char *const *)texts, lines, difference);
    for (int side = 0; side < 2; side++) {
        mem_free(texts[side]);
        vec_free(&lines[side]);
    }
    if (status == STATUS_OK)
        return STATUS_OK;
    graph_difference_free(difference);
    return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory left for the comparison");
}
