/* The text form of graphs: one statement a line, grammar in docs/graph.md. */
#include "base/text.h"
#include "base/file.h"
#include "graph/graph.h"
#include "graph/names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct Parser {
    Graph *graph;
    const char *line; /* 0-terminated copy of the current line */
    const char *at;
    uint32_t number;
    Diag *diag;
} Parser;

static DiagPlace place_of(const Parser *parser, const char *at) {
    return (DiagPlace){.file = parser->graph->file,
                       .line = parser->number,
                       .column = (uint32_t)(at - parser->line) + 1,
                       .tile = -1};
}

/* Adds the line and a caret under `at` to the error just reported. Long lines are cut to a window
 * around it; characters that a terminal would act on become '?'. */
static void point_at(const Parser *parser, const char *at) {
    enum { BEFORE = 60, WINDOW = 100 };
    const char *start = parser->line;
    if (at - start > BEFORE)
        start = at - BEFORE;
    while (((unsigned char)*start & 0xC0) == 0x80)
        start++;
    char text[WINDOW + 8], caret[WINDOW + 8];
    size_t size = 0, width = 0;
    for (const char *p = start; *p && size < WINDOW;) {
        uint32_t code_point = 0;
        size_t length = utf8_next(p, strlen(p), &code_point);
        bool plain = length && (code_point == '\t' || (code_point >= 0x20 && code_point != 0x7F));
        length = MAX_OF(length, 1u);
        if (p < at)
            caret[width++] = code_point == '\t' ? '\t' : ' ';
        if (plain)
            memcpy(text + size, p, length);
        else
            memset(text + size, '?', length);
        size += length;
        p += length;
    }
    text[size] = caret[width] = 0;
    diag_note(parser->diag, "%s", text);
    diag_note(parser->diag, "%s^", caret);
}

static Status syntax_error(Parser *parser, const char *at, const char *expected) {
    diag_error(parser->diag, ERR_GRAPH_SYNTAX, place_of(parser, at), "expected %s", expected);
    point_at(parser, at);
    return ERR_GRAPH_SYNTAX;
}

/* Passes on a status of code that reports errors at `at`, adding line and caret. */
static Status pointed(Parser *parser, Status status, const char *at) {
    if (status != STATUS_OK && status != ERR_NO_MEMORY)
        point_at(parser, at);
    return status;
}

static void skip_blanks(Parser *parser) {
    while (*parser->at == ' ' || *parser->at == '\t')
        parser->at++;
}

/* Takes one character after blanks. */
static bool take(Parser *parser, char c) {
    skip_blanks(parser);
    if (*parser->at != c)
        return false;
    parser->at++;
    return true;
}

static Status want(Parser *parser, char c) {
    if (take(parser, c))
        return STATUS_OK;
    char expected[] = "'x'";
    expected[1] = c;
    return syntax_error(parser, parser->at, expected);
}

/* A run of name characters into the graph's arena; NULL when there is none (or no memory, told
 * apart by the caller's `length`). */
static char *take_word(Parser *parser, size_t *length) {
    skip_blanks(parser);
    const char *start = parser->at;
    while (graph_is_name_character(*parser->at))
        parser->at++;
    *length = (size_t)(parser->at - start);
    return *length ? arena_printf(&parser->graph->arena, "%.*s", (int)*length, start) : NULL;
}

static Status no_memory(Parser *parser) {
    return diag_error(parser->diag, ERR_NO_MEMORY, place_of(parser, parser->at),
                      "no memory left for the graph");
}

static Status want_word(Parser *parser, const char *expected, char **word) {
    size_t length;
    *word = take_word(parser, &length);
    if (length == 0)
        return syntax_error(parser, parser->at, expected);
    return *word ? STATUS_OK : no_memory(parser);
}

/* %name that is not defined yet. */
static Status want_new_value(Parser *parser, char **name) {
    Status status = want(parser, '%');
    const char *at = parser->at;
    if (status == STATUS_OK)
        status = want_word(parser, "a value's name", name);
    if (status == STATUS_OK)
        status = pointed(
            parser,
            graph_check_value_name(parser->graph, *name, place_of(parser, at), parser->diag), at);
    return status;
}

/* %name of a defined value. */
static Status want_value(Parser *parser, uint32_t *value) {
    Status status = want(parser, '%');
    const char *at = parser->at;
    char *name;
    if (status == STATUS_OK)
        status = want_word(parser, "a value's name", &name);
    if (status != STATUS_OK)
        return status;
    uint64_t found;
    if (strmap_get(parser->graph->value_names, name, &found)) {
        *value = (uint32_t)found;
        return STATUS_OK;
    }
    diag_error(parser->diag, ERR_GRAPH_VALUE, place_of(parser, at), "%%%s is not defined yet",
               name);
    point_at(parser, at);
    Nearest nearest = nearest_begin(name);
    for (size_t v = 0; v < parser->graph->values.count; v++)
        nearest_offer(&nearest, parser->graph->values.items[v].name);
    if (nearest.best)
        diag_fix(parser->diag, "did you mean %%%s?", nearest.best);
    return ERR_GRAPH_VALUE;
}

/* A quoted name with \" and \\, not in use yet. */
static Status want_port_name(Parser *parser, char **name) {
    skip_blanks(parser);
    const char *start = parser->at;
    if (!take(parser, '"'))
        return syntax_error(parser, parser->at, "a name in double quotes");
    char *out = *name = ARENA_NEW(&parser->graph->arena, char, strlen(parser->at) + 1);
    if (!out)
        return no_memory(parser);
    for (; *parser->at != '"'; parser->at++) {
        if (*parser->at == '\\') {
            parser->at++;
            if (*parser->at != '"' && *parser->at != '\\')
                return syntax_error(parser, parser->at, "'\"' or '\\' after '\\'");
        } else if (*parser->at == 0) {
            return syntax_error(parser, parser->at, "'\"' at the end of the name");
        }
        *out++ = *parser->at;
    }
    parser->at++;
    return pointed(
        parser, graph_check_port_name(parser->graph, *name, place_of(parser, start), parser->diag),
        start);
}

/* A decimal number without leading zeros, as extents are written. */
static Status want_extent(Parser *parser, uint32_t *extent) {
    skip_blanks(parser);
    const char *start = parser->at;
    uint64_t number = 0;
    while (isdigit((unsigned char)*parser->at) && number <= UINT32_MAX)
        number = number * 10 + (uint64_t)(*parser->at++ - '0');
    if (parser->at == start || (*start == '0' && parser->at > start + 1))
        return syntax_error(parser, start, "an extent");
    if (number == 0 || number > UINT32_MAX) {
        diag_error(parser->diag, ERR_GRAPH_SHAPE, place_of(parser, start),
                   "an extent lies between 1 and %u", UINT32_MAX);
        return pointed(parser, ERR_GRAPH_SHAPE, start);
    }
    *extent = (uint32_t)number;
    return STATUS_OK;
}

static Status want_shape(Parser *parser, Shape *shape) {
    *shape = (Shape){0};
    skip_blanks(parser);
    const char *start = parser->at;
    Status status = want(parser, '[');
    if (status != STATUS_OK || take(parser, ']'))
        return status;
    do {
        if (shape->rank == SHAPE_MAX_RANK) {
            diag_error(parser->diag, ERR_GRAPH_SHAPE, place_of(parser, start), "more than %d axes",
                       SHAPE_MAX_RANK);
            return pointed(parser, ERR_GRAPH_SHAPE, start);
        }
        status = want_extent(parser, &shape->dims[shape->rank++]);
    } while (status == STATUS_OK && take(parser, ','));
    return status == STATUS_OK ? want(parser, ']') : status;
}

/* (s=NUMBER) */
static Status want_scale(Parser *parser, int8_t *exponent) {
    char *word;
    Status status = want(parser, '(');
    skip_blanks(parser);
    const char *start = parser->at;
    if (status == STATUS_OK)
        status = want_word(parser, "s=EXPONENT", &word);
    if (status == STATUS_OK && strcmp(word, "s") != 0)
        status = syntax_error(parser, start, "s=EXPONENT");
    if (status == STATUS_OK)
        status = want(parser, '=');
    if (status != STATUS_OK)
        return status;
    bool negative = take(parser, '-');
    skip_blanks(parser);
    start = parser->at;
    int number = 0;
    while (isdigit((unsigned char)*parser->at) && number < 1000)
        number = number * 10 + (*parser->at++ - '0');
    if (parser->at == start)
        return syntax_error(parser, start, "a whole number");
    number = negative ? -number : number;
    if (number < PRECISION_SCALE_MIN || number > PRECISION_SCALE_MAX) {
        diag_error(parser->diag, ERR_GRAPH_SCALE, place_of(parser, start),
                   "a scale exponent lies between %d and %d", PRECISION_SCALE_MIN,
                   PRECISION_SCALE_MAX);
        return pointed(parser, ERR_GRAPH_SCALE, start);
    }
    *exponent = (int8_t)number;
    return want(parser, ')');
}

static Status want_type(Parser *parser, Precision *precision, Shape *shape) {
    skip_blanks(parser);
    const char *start = parser->at;
    char *word;
    Status status = want_word(parser, "f8f143(s=EXPONENT), f16 or f32", &word);
    if (status != STATUS_OK)
        return status;
    *precision = (Precision){0};
    if (strcmp(word, "f8f143") == 0) {
        precision->kind = PRECISION_F8F143;
        status = want_scale(parser, &precision->scale_exponent);
    } else if (strcmp(word, "f16") == 0) {
        precision->kind = PRECISION_F16;
    } else if (strcmp(word, "f32") == 0) {
        precision->kind = PRECISION_F32;
    } else {
        status = syntax_error(parser, start, "f8f143(s=EXPONENT), f16 or f32");
    }
    return status == STATUS_OK ? want_shape(parser, shape) : status;
}

static Status want_end(Parser *parser) {
    skip_blanks(parser);
    if (*parser->at == 0 || *parser->at == '#')
        return STATUS_OK;
    return syntax_error(parser, parser->at, "the end of the line");
}

/* input %x "name" : TYPE, parameter %w "name" : TYPE */
static Status parse_source(Parser *parser, GraphOpKind kind) {
    char *value_name, *name;
    Precision precision;
    Shape shape;
    const char *type = NULL;
    Status status = want_new_value(parser, &value_name);
    if (status == STATUS_OK)
        status = want_port_name(parser, &name);
    if (status == STATUS_OK)
        status = want(parser, ':');
    if (status == STATUS_OK) {
        skip_blanks(parser);
        type = parser->at;
        status = want_type(parser, &precision, &shape);
    }
    if (status == STATUS_OK)
        status = want_end(parser);
    if (status != STATUS_OK)
        return status;
    uint32_t value;
    parser->graph->place = place_of(parser, type);
    status = kind == GRAPH_INPUT ? graph_add_input(parser->graph, value_name, name, precision,
                                                   shape, &value, parser->diag)
                                 : graph_add_parameter(parser->graph, value_name, name, precision,
                                                       shape, &value, parser->diag);
    return pointed(parser, status, type);
}

static Status parse_output(Parser *parser) {
    uint32_t value;
    char *name;
    Status status = want_value(parser, &value);
    if (status == STATUS_OK)
        status = want_port_name(parser, &name);
    if (status == STATUS_OK)
        status = want_end(parser);
    if (status != STATUS_OK)
        return status;
    parser->graph->place = place_of(parser, parser->line);
    return graph_add_output(parser->graph, name, value, parser->diag);
}

typedef struct Attribute {
    const char *name;
    bool *value;
} Attribute;

static Status want_attribute(Parser *parser, const Attribute *attributes, size_t count,
                             uint32_t *given) {
    skip_blanks(parser);
    const char *start = parser->at;
    char *word;
    Status status = want_word(parser, "an attribute", &word);
    if (status != STATUS_OK)
        return status;
    size_t which = 0;
    while (which < count && strcmp(word, attributes[which].name) != 0)
        which++;
    if (which == count) {
        status = syntax_error(parser, start, "an attribute of the operation");
        Nearest nearest = nearest_begin(word);
        for (size_t i = 0; i < count; i++)
            nearest_offer(&nearest, attributes[i].name);
        if (nearest.best)
            diag_fix(parser->diag, "did you mean %s?", nearest.best);
        return status;
    }
    if (*given & 1u << which)
        return syntax_error(parser, start, "each attribute once");
    *given |= 1u << which;
    status = want(parser, '=');
    if (status != STATUS_OK)
        return status;
    skip_blanks(parser);
    start = parser->at;
    status = want_word(parser, "true or false", &word);
    if (status != STATUS_OK)
        return status;
    *attributes[which].value = strcmp(word, "true") == 0;
    if (!*attributes[which].value && strcmp(word, "false") != 0)
        return syntax_error(parser, start, "true or false");
    return STATUS_OK;
}

/* [{name=true, …}] */
static Status parse_attributes(Parser *parser, const Attribute *attributes, size_t count) {
    if (!take(parser, '{') || take(parser, '}'))
        return STATUS_OK;
    uint32_t given = 0;
    Status status;
    do
        status = want_attribute(parser, attributes, count, &given);
    while (status == STATUS_OK && take(parser, ','));
    return status == STATUS_OK ? want(parser, '}') : status;
}

/* The type that a statement declares for the value it just defined. */
static Status check_declared(Parser *parser, const char *at, uint32_t value, Precision precision,
                             const Shape *shape) {
    const GraphValue *found = &parser->graph->values.items[value];
    char wanted_shape[SHAPE_TEXT_SIZE], wanted_type[PRECISION_TEXT_SIZE];
    bool type_fits = precision_equal(found->precision, precision);
    if (type_fits && shape_equal(&found->shape, shape))
        return STATUS_OK;
    Status code = type_fits ? ERR_GRAPH_SHAPE : ERR_GRAPH_PRECISION;
    diag_error(parser->diag, code, place_of(parser, at), "the result of this operation is %s%s",
               precision_print(found->precision, wanted_type),
               shape_print(&found->shape, wanted_shape));
    return pointed(parser, code, at);
}

/* : TYPE, the end of a definition; *at receives where the type begins. */
static Status want_declared(Parser *parser, const char **at, Precision *precision, Shape *shape) {
    Status status = want(parser, ':');
    if (status != STATUS_OK)
        return status;
    skip_blanks(parser);
    *at = parser->at;
    status = want_type(parser, precision, shape);
    return status == STATUS_OK ? want_end(parser) : status;
}

/* cast %x : TYPE, after the value's name, '=' and the operation's. The type says what to cast to.
 */
static Status parse_cast(Parser *parser, const char *value_name, const char *operation) {
    uint32_t operand, value;
    Precision precision;
    Shape shape;
    const char *type = NULL;
    Status status = want_value(parser, &operand);
    if (status == STATUS_OK)
        status = want_declared(parser, &type, &precision, &shape);
    if (status != STATUS_OK)
        return status;
    parser->graph->place = place_of(parser, operation);
    status = graph_add_cast(parser->graph, value_name, operand, precision, &value, parser->diag);
    if (status != STATUS_OK)
        return pointed(parser, status, operation);
    return check_declared(parser, type, value, precision, &shape);
}

/* gemm %l, %r {…} : TYPE, after the value's name, '=' and the operation's. */
static Status parse_gemm(Parser *parser, const char *value_name, const char *operation) {
    uint32_t left, right, value;
    bool transpose_left = false, transpose_right = false;
    const Attribute attributes[] = {{"transpose_left", &transpose_left},
                                    {"transpose_right", &transpose_right}};
    Precision precision;
    Shape shape;
    const char *type = NULL;
    Status status = want_value(parser, &left);
    if (status == STATUS_OK)
        status = want(parser, ',');
    if (status == STATUS_OK)
        status = want_value(parser, &right);
    if (status == STATUS_OK)
        status = parse_attributes(parser, attributes, COUNT_OF(attributes));
    if (status == STATUS_OK)
        status = want_declared(parser, &type, &precision, &shape);
    if (status != STATUS_OK)
        return status;
    parser->graph->place = place_of(parser, operation);
    status = graph_add_gemm(parser->graph, value_name, left, right, transpose_left, transpose_right,
                            &value, parser->diag);
    if (status != STATUS_OK)
        return pointed(parser, status, operation);
    return check_declared(parser, type, value, precision, &shape);
}

static Status unknown_word(Parser *parser, const char *at, const char *word, const char *what,
                           const char *const *known, size_t count) {
    char shown[TEXT_PRINTABLE];
    diag_error(parser->diag, ERR_GRAPH_OPERATION, place_of(parser, at), "unknown %s '%s'", what,
               text_printable(word, shown));
    point_at(parser, at);
    Nearest nearest = nearest_begin(word);
    for (size_t i = 0; i < count; i++)
        nearest_offer(&nearest, known[i]);
    if (nearest.best)
        diag_fix(parser->diag, "did you mean %s?", nearest.best);
    return ERR_GRAPH_OPERATION;
}

/* %h = OPERATION … */
static Status parse_definition(Parser *parser) {
    static const char *const operations[] = {"gemm", "cast"};
    char *value_name, *word;
    const char *start = NULL;
    Status status = want_new_value(parser, &value_name);
    if (status == STATUS_OK)
        status = want(parser, '=');
    if (status == STATUS_OK) {
        skip_blanks(parser);
        start = parser->at;
        status = want_word(parser, "an operation", &word);
    }
    if (status != STATUS_OK)
        return status;
    if (strcmp(word, "gemm") == 0)
        return parse_gemm(parser, value_name, start);
    if (strcmp(word, "cast") == 0)
        return parse_cast(parser, value_name, start);
    return unknown_word(parser, start, word, "operation", operations, COUNT_OF(operations));
}

static Status parse_line(Parser *parser) {
    static const char *const statements[] = {"input", "parameter", "output"};
    skip_blanks(parser);
    const char *start = parser->at;
    if (*start == 0 || *start == '#')
        return STATUS_OK;
    if (*start == '%')
        return parse_definition(parser);
    char *word;
    Status status = want_word(parser, "a statement", &word);
    if (status != STATUS_OK)
        return status;
    if (strcmp(word, "input") == 0)
        return parse_source(parser, GRAPH_INPUT);
    if (strcmp(word, "parameter") == 0)
        return parse_source(parser, GRAPH_PARAMETER);
    if (strcmp(word, "output") == 0)
        return parse_output(parser);
    return unknown_word(parser, start, word, "statement", statements, COUNT_OF(statements));
}

/* Copies one line without its end, so that parsing can rely on a final 0. */
static Status parse_copied_line(Parser *parser, const char *text, size_t size) {
    char *line = mem_alloc(size + 1, 1);
    if (!line)
        return no_memory(parser);
    memcpy(line, text, size);
    if (size && line[size - 1] == '\r')
        line[--size] = 0;
    parser->line = parser->at = line;
    size_t length = strlen(line);
    Status status = length < size ? syntax_error(parser, line + length, "text, not a zero byte")
                                  : parse_line(parser);
    parser->line = parser->at = "";
    mem_free(line);
    return status;
}

static Status parse_lines(Parser *parser, const char *text, size_t size) {
    while (size) {
        const char *end = memchr(text, '\n', size);
        size_t length = end ? (size_t)(end - text) : size;
        parser->number++;
        Status status = parse_copied_line(parser, text, length);
        if (status != STATUS_OK)
            return status;
        length += end != NULL;
        text += length;
        size -= length;
    }
    return STATUS_OK;
}

Status graph_parse(const char *text, size_t size, const char *file, Graph **graph, Diag *diag) {
    Graph *parsed;
    Status status = graph_create(&parsed, diag);
    if (status != STATUS_OK)
        return status;
    Parser parser = {.graph = parsed, .line = "", .at = "", .diag = diag};
    if (file) {
        parsed->file = arena_strdup(&parsed->arena, file);
        if (!parsed->file)
            status = no_memory(&parser);
    }
    if (status == STATUS_OK)
        status = parse_lines(&parser, text, size);
    parsed->place = DIAG_NOWHERE;
    if (status == STATUS_OK)
        status = graph_check(parsed, diag);
    if (status == STATUS_OK)
        *graph = parsed;
    else
        graph_free(parsed);
    return status;
}

Status graph_read(const char *path, Graph **graph, Diag *diag) {
    uint8_t *bytes;
    size_t size;
    Status status = file_read(path, &bytes, &size, diag);
    if (status != STATUS_OK)
        return status;
    status = graph_parse((const char *)bytes, size, path, graph, diag);
    mem_free(bytes);
    return status;
}

static void print_name(const char *name, FILE *out) {
    fputc('"', out);
    for (; *name; name++) {
        if (*name == '"' || *name == '\\')
            fputc('\\', out);
        fputc(*name, out);
    }
    fputc('"', out);
}

static void print_type(const GraphValue *value, FILE *out) {
    char precision[PRECISION_TEXT_SIZE], shape[SHAPE_TEXT_SIZE];
    fprintf(out, " : %s%s\n", precision_print(value->precision, precision),
            shape_print(&value->shape, shape));
}

static void print_gemm(const Graph *graph, const GraphOp *op, FILE *out) {
    const GraphValue *values = graph->values.items;
    fprintf(out, "%%%s = gemm %%%s, %%%s", values[op->result].name, values[op->operands[0]].name,
            values[op->operands[1]].name);
    if (op->transpose_left || op->transpose_right)
        fprintf(out, " {%s%s%s}", op->transpose_left ? "transpose_left=true" : "",
                op->transpose_left && op->transpose_right ? ", " : "",
                op->transpose_right ? "transpose_right=true" : "");
    print_type(&values[op->result], out);
}

static void print_op(const Graph *graph, const GraphOp *op, FILE *out) {
    const GraphValue *values = graph->values.items;
    switch (op->kind) {
    case GRAPH_INPUT:
    case GRAPH_PARAMETER:
        fprintf(out, "%s %%%s ", graph_op_name(op->kind), values[op->result].name);
        print_name(op->name, out);
        print_type(&values[op->result], out);
        break;
    case GRAPH_GEMM: print_gemm(graph, op, out); break;
    case GRAPH_CAST:
        fprintf(out, "%%%s = cast %%%s", values[op->result].name, values[op->operands[0]].name);
        print_type(&values[op->result], out);
        break;
    case GRAPH_OUTPUT:
        fprintf(out, "output %%%s ", values[op->operands[0]].name);
        print_name(op->name, out);
        fputc('\n', out);
        break;
    }
}

char *graph_print(const Graph *graph) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    for (size_t i = 0; i < graph->ops.count; i++)
        print_op(graph, &graph->ops.items[i], out);
    bool failed = ferror(out) != 0;
    char *copy = fclose(out) == 0 && !failed ? mem_strdup(text) : NULL;
    free(text);
    return copy;
}
