/* The text form of graphs: one statement a line, grammar in docs/graph.md. */
#include "base/text.h"
#include "base/file.h"
#include "graph/graph.h"
#include "graph/internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Bodies in bodies, at most: what is unrolled is as deep. */
enum { MAX_NESTING = 8 };

/* A repeat whose body is being read. */
typedef struct Frame {
    Graph *outer;
    VEC(const char *) names; /* of the results; in the outer graph's arena */
    uint32_t times;
    VEC(uint32_t) operands;
    uint32_t line, column; /* of the operation */
} Frame;

typedef struct Parser {
    Graph *graph; /* or the innermost body */
    Frame frames[MAX_NESTING];
    uint32_t depth;
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

/* %name of a defined value of `graph`: of the innermost body, or of what is around it. */
static Status want_value_of(Parser *parser, const Graph *graph, uint32_t *value) {
    Status status = want(parser, '%');
    const char *at = parser->at;
    char *name;
    if (status == STATUS_OK)
        status = want_word(parser, "a value's name", &name);
    if (status != STATUS_OK)
        return status;
    uint64_t found;
    if (strmap_get(graph->value_names, name, &found)) {
        *value = (uint32_t)found;
        return STATUS_OK;
    }
    diag_error(parser->diag, ERR_GRAPH_VALUE, place_of(parser, at), "%%%s is not defined yet",
               name);
    point_at(parser, at);
    for (uint32_t i = 0; i < parser->depth; i++) {
        if (!strmap_get(parser->frames[i].outer->value_names, name, &found))
            continue;
        diag_note(parser->diag, "a body sees only its arguments and its own values");
        return ERR_GRAPH_VALUE;
    }
    Nearest nearest = nearest_begin(name);
    for (size_t v = 0; v < graph->values.count; v++)
        nearest_offer(&nearest, graph->values.items[v].name);
    if (nearest.best)
        diag_fix(parser->diag, "did you mean %%%s?", nearest.best);
    return ERR_GRAPH_VALUE;
}

static Status want_value(Parser *parser, uint32_t *value) {
    return want_value_of(parser, parser->graph, value);
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

/* A decimal number from 1 on without leading zeros: `what`, or the error `code`. */
static Status want_number(Parser *parser, const char *what, Status code, uint32_t *result) {
    skip_blanks(parser);
    const char *start = parser->at;
    uint64_t number = 0;
    while (isdigit((unsigned char)*parser->at) && number <= UINT32_MAX)
        number = number * 10 + (uint64_t)(*parser->at++ - '0');
    if (parser->at == start || (*start == '0' && parser->at > start + 1))
        return syntax_error(parser, start, what);
    if (number == 0 || number > UINT32_MAX) {
        diag_error(parser->diag, code, place_of(parser, start), "%s lies between 1 and %u", what,
                   UINT32_MAX);
        return pointed(parser, code, start);
    }
    *result = (uint32_t)number;
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
        status = want_number(parser, "an extent", ERR_GRAPH_SHAPE, &shape->dims[shape->rank++]);
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

/* gelu %x : TYPE */
static Status parse_gelu(Parser *parser, const char *value_name, const char *operation) {
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
    status = graph_add_gelu(parser->graph, value_name, operand, &value, parser->diag);
    if (status != STATUS_OK)
        return pointed(parser, status, operation);
    return check_declared(parser, type, value, precision, &shape);
}

/* add %l, %r : TYPE */
static Status parse_add(Parser *parser, const char *value_name, const char *operation) {
    uint32_t left, right, value;
    Precision precision;
    Shape shape;
    const char *type = NULL;
    Status status = want_value(parser, &left);
    if (status == STATUS_OK)
        status = want(parser, ',');
    if (status == STATUS_OK)
        status = want_value(parser, &right);
    if (status == STATUS_OK)
        status = want_declared(parser, &type, &precision, &shape);
    if (status != STATUS_OK)
        return status;
    parser->graph->place = place_of(parser, operation);
    status = graph_add_add(parser->graph, value_name, left, right, &value, parser->diag);
    if (status != STATUS_OK)
        return pointed(parser, status, operation);
    return check_declared(parser, type, value, precision, &shape);
}

/* ---- repeats */

static void free_frame(Frame *frame) {
    vec_free(&frame->names);
    vec_free(&frame->operands);
}

/* repeat N {, after the results' names, which the frame takes over. */
static Status open_repeat(Parser *parser, Frame *frame, const char *operation) {
    Status status = want_number(parser, "a number of iterations", ERR_GRAPH_REPEAT, &frame->times);
    if (status == STATUS_OK)
        status = want(parser, '{');
    if (status == STATUS_OK)
        status = want_end(parser);
    if (status == STATUS_OK && parser->depth == MAX_NESTING) {
        status = diag_error(parser->diag, ERR_GRAPH_REPEAT, place_of(parser, operation),
                            "more than %d repeats in each other", MAX_NESTING);
        point_at(parser, operation);
    }
    Graph *body = NULL;
    if (status == STATUS_OK)
        status = graph_create_body(&body, parser->diag);
    if (status != STATUS_OK)
        return status;
    body->file = parser->graph->file;
    frame->outer = parser->graph;
    frame->line = parser->number;
    frame->column = (uint32_t)(operation - parser->line) + 1;
    parser->frames[parser->depth++] = *frame;
    *frame = (Frame){0};
    parser->graph = body;
    return STATUS_OK;
}

/* } */
static Status close_repeat(Parser *parser) {
    Frame *frame = &parser->frames[parser->depth - 1];
    const char *start = parser->at++;
    Status status = want_end(parser);
    if (status != STATUS_OK)
        return status;
    Graph *body = parser->graph, *outer = frame->outer;
    uint32_t carried = 0, values;
    while (carried < body->ops.count && body->ops.items[carried].kind == GRAPH_ARGUMENT &&
           body->ops.items[carried].argument == GRAPH_CARRIED)
        carried++;
    if (carried != frame->names.count) {
        diag_error(parser->diag, ERR_GRAPH_REPEAT, place_of(parser, start),
                   "%u carried arguments give as many results; line %u names %zu", carried,
                   frame->line, frame->names.count);
        return pointed(parser, ERR_GRAPH_REPEAT, start);
    }
    body->place = DIAG_NOWHERE;
    outer->place =
        (DiagPlace){.file = outer->file, .line = frame->line, .column = frame->column, .tile = -1};
    status = graph_add_repeat(outer, frame->names.items, frame->times, body, frame->operands.items,
                              (uint32_t)frame->operands.count, &values, parser->diag);
    if (status != STATUS_OK)
        return status;
    parser->graph = outer;
    parser->depth--;
    free_frame(frame);
    return STATUS_OK;
}

/* One operand of an argument, from around the body. */
static Status want_handed(Parser *parser, const GraphValue *argument) {
    Frame *frame = &parser->frames[parser->depth - 1];
    skip_blanks(parser);
    const char *start = parser->at;
    uint32_t value;
    Status status = want_value_of(parser, frame->outer, &value);
    if (status != STATUS_OK)
        return status;
    if (!vec_push(&frame->operands, value))
        return no_memory(parser);
    return pointed(parser,
                   graph_check_handed(&frame->outer->values.items[value], argument,
                                      place_of(parser, start), parser->diag),
                   start);
}

/* The operands of an argument, whose text begins at `start`. */
static Status want_all_handed(Parser *parser, GraphArgumentKind kind, const GraphValue *argument,
                              const char *start) {
    const Frame *frame = &parser->frames[parser->depth - 1];
    uint32_t wanted = kind == GRAPH_ITERATED ? frame->times : 1, count = 0;
    parser->at = start;
    Status status;
    do {
        status = want_handed(parser, argument);
        count++;
    } while (status == STATUS_OK && take(parser, ','));
    if (status == STATUS_OK && count != wanted) {
        diag_error(parser->diag, ERR_GRAPH_REPEAT, place_of(parser, start),
                   "%u iterations take as many values here; these are %u", wanted, count);
        status = pointed(parser, ERR_GRAPH_REPEAT, start);
    }
    return status;
}

/* carried %h = %x : TYPE; iterated takes a list of values. The type stands behind what it is
 * compared with, so the values are read twice. */
static Status parse_argument(Parser *parser, GraphArgumentKind kind, const char *statement) {
    char *value_name, *word;
    Precision precision;
    Shape shape;
    uint32_t argument;
    Status status = want_new_value(parser, &value_name);
    if (status == STATUS_OK)
        status = want(parser, '=');
    skip_blanks(parser);
    const char *start = parser->at, *type = NULL;
    do {
        if (status == STATUS_OK)
            status = want(parser, '%');
        if (status == STATUS_OK)
            status = want_word(parser, "a value's name", &word);
    } while (status == STATUS_OK && take(parser, ','));
    if (status == STATUS_OK)
        status = want_declared(parser, &type, &precision, &shape);
    if (status != STATUS_OK)
        return status;
    parser->graph->place = place_of(parser, statement);
    status = graph_add_argument(parser->graph, value_name, kind, precision, shape, &argument,
                                parser->diag);
    if (status != STATUS_OK)
        return pointed(parser, status, statement);
    GraphValue added = parser->graph->values.items[argument];
    return want_all_handed(parser, kind, &added, start);
}

/* yield %a, … */
static Status parse_yield(Parser *parser, const char *statement) {
    VEC(uint32_t) values = {0};
    uint32_t value;
    Status status;
    do {
        status = want_value(parser, &value);
        if (status == STATUS_OK && !vec_push(&values, value))
            status = no_memory(parser);
    } while (status == STATUS_OK && take(parser, ','));
    if (status == STATUS_OK)
        status = want_end(parser);
    if (status == STATUS_OK) {
        parser->graph->place = place_of(parser, statement);
        status = pointed(
            parser,
            graph_add_yield(parser->graph, values.items, (uint32_t)values.count, parser->diag),
            statement);
    }
    vec_free(&values);
    return status;
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

/* One of the operations with one result, whose name `word` begins at `start`. */
static Status parse_operation(Parser *parser, const char *value_name, const char *start,
                              const char *word) {
    static const char *const operations[] = {"gemm", "cast", "gelu", "add", "repeat"};
    if (strcmp(word, "gemm") == 0)
        return parse_gemm(parser, value_name, start);
    if (strcmp(word, "cast") == 0)
        return parse_cast(parser, value_name, start);
    if (strcmp(word, "gelu") == 0)
        return parse_gelu(parser, value_name, start);
    if (strcmp(word, "add") == 0)
        return parse_add(parser, value_name, start);
    return unknown_word(parser, start, word, "operation", operations, COUNT_OF(operations));
}

/* %h = OPERATION …, with the room for the results' names. */
static Status parse_results(Parser *parser, Frame *frame) {
    char *value_name, *word;
    const char *start = NULL;
    Status status;
    do {
        status = want_new_value(parser, &value_name);
        if (status == STATUS_OK && !vec_push(&frame->names, value_name))
            status = no_memory(parser);
    } while (status == STATUS_OK && take(parser, ','));
    if (status == STATUS_OK)
        status = want(parser, '=');
    if (status == STATUS_OK) {
        skip_blanks(parser);
        start = parser->at;
        status = want_word(parser, "an operation", &word);
    }
    if (status != STATUS_OK)
        return status;
    if (strcmp(word, "repeat") == 0)
        return open_repeat(parser, frame, start);
    if (frame->names.count > 1)
        return syntax_error(parser, start, "repeat, which alone has several results");
    return parse_operation(parser, value_name, start, word);
}

static Status parse_definition(Parser *parser) {
    Frame frame = {0};
    Status status = parse_results(parser, &frame);
    free_frame(&frame);
    return status;
}

/* A statement that may stand in a body only. */
static Status parse_in_body(Parser *parser, const char *start, const char *word) {
    static const char *const statements[] = {"carried", "invariant", "iterated", "yield"};
    for (int kind = GRAPH_CARRIED; kind <= GRAPH_ITERATED; kind++)
        if (strcmp(word, statements[kind]) == 0)
            return parse_argument(parser, (GraphArgumentKind)kind, start);
    if (strcmp(word, "yield") == 0)
        return parse_yield(parser, start);
    Status status =
        unknown_word(parser, start, word, "statement of a body", statements, COUNT_OF(statements));
    if (strcmp(word, "output") == 0 || strcmp(word, "input") == 0 || strcmp(word, "parameter") == 0)
        diag_fix(parser->diag, "end the repeat with '}' before it");
    return status;
}

static Status parse_line(Parser *parser) {
    static const char *const statements[] = {"input", "parameter", "output"};
    skip_blanks(parser);
    const char *start = parser->at;
    if (*start == 0 || *start == '#')
        return STATUS_OK;
    if (*start == '%')
        return parse_definition(parser);
    if (*start == '}' && parser->depth)
        return close_repeat(parser);
    char *word;
    Status status = want_word(parser, "a statement", &word);
    if (status != STATUS_OK)
        return status;
    if (parser->depth)
        return parse_in_body(parser, start, word);
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

/* Drops the bodies that are still open, with a message about the innermost if all else is well. */
static Status close_open(Parser *parser, Status status) {
    if (status == STATUS_OK && parser->depth) {
        const Frame *frame = &parser->frames[parser->depth - 1];
        DiagPlace place = {
            .file = parser->graph->file, .line = frame->line, .column = frame->column, .tile = -1};
        status =
            diag_error(parser->diag, ERR_GRAPH_SYNTAX, place, "the body of this repeat has no '}'");
    }
    for (; parser->depth; parser->depth--) {
        Frame *frame = &parser->frames[parser->depth - 1];
        graph_free(parser->graph);
        parser->graph = frame->outer;
        free_frame(frame);
    }
    return status;
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
    status = close_open(&parser, status);
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
