/* Expressions. Operators bind as in GNU assemblers: * / % << >> first, then | & ^ !, then + -, then
 * comparisons, then && and ||. */
#include "asm/assembler.h"

#include "num/f16.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_EXPR_DEPTH       200
#define MAX_EXPR_NODES       100000u
#define MAX_EVALUATION_DEPTH 2000 /* of one expression with the symbols in it */

static Expr *parse_binary(Assembler *a, Cursor *cursor, int least, unsigned depth);

static Expr *make_expr(Assembler *a, Expr expr) {
    expr.nodes = 1 + (expr.left ? expr.left->nodes : 0) + (expr.right ? expr.right->nodes : 0);
    expr.depth = 1 + MAX_OF(expr.left ? expr.left->depth : 0, expr.right ? expr.right->depth : 0);
    if (expr.depth > MAX_EXPR_DEPTH || expr.nodes > MAX_EXPR_NODES) {
        asm_error(a, ERR_ASM_LIMIT, expr.place, "this expression is too large");
        return NULL;
    }
    Expr *copy = ASM_NEW(a, Expr, 1);
    *copy = expr;
    return copy;
}

Expr *asm_number(Assembler *a, int64_t number, Place place) {
    return make_expr(a, (Expr){.kind = EXPR_NUMBER, .number = number, .place = place});
}

Expr *asm_unary(Assembler *a, Operator op, Expr *of, int64_t number, Place place) {
    return make_expr(
        a, (Expr){.kind = EXPR_UNARY, .op = op, .number = number, .left = of, .place = place});
}

static Expr *symbol_expr(Assembler *a, Symbol *symbol, Place place) {
    symbol->used = true;
    /* A .set symbol stands for what it is now; a later .set does not reach back. */
    if (symbol->variable && symbol->set)
        return symbol->set;
    return make_expr(a, (Expr){.kind = EXPR_SYMBOL, .symbol = symbol, .place = place});
}

Symbol *asm_here(Assembler *a, Place place) {
    Symbol *here = ASM_NEW(a, Symbol, 1);
    asm_define_label(a, here, place);
    return here;
}

/* ---- primaries */

/* 1.5h, 3h, -infh, nanh: the bits of an F16. Length of the literal, 0 if it is none. */
static size_t half_literal(const Cursor *cursor, int64_t *bits) {
    const char *at = cursor->at, *end = cursor->end;
    static const struct {
        const char *text;
        int64_t bits;
    } words[] = {{"infh", 0x7C00}, {"nanh", 0x7E00}};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if ((size_t)(end - at) >= 4 && strncasecmp(at, words[i].text, 4) == 0 &&
            (at + 4 == end || !asm_word_part(at[4]))) {
            *bits = words[i].bits;
            return 4;
        }
    }
    size_t length = 0;
    while (at + length < end && (isalnum((unsigned char)at[length]) || at[length] == '.' ||
                                 ((at[length] == '-' || at[length] == '+') && length &&
                                  tolower((unsigned char)at[length - 1]) == 'e')))
        length++;
    char text[64];
    if (length < 2 || length >= sizeof text || tolower((unsigned char)at[length - 1]) != 'h' ||
        tolower((unsigned char)at[1]) == 'x')
        return 0;
    memcpy(text, at, length - 1);
    text[length - 1] = 0;
    char *stop;
    double value = strtod(text, &stop);
    if (*stop)
        return 0;
    *bits = f64_to_f16(value, F16_OVERFLOW_INFINITE);
    return length;
}

NumericLabel *asm_numeric_label(Assembler *a, uint64_t number) {
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
    Name *name = asm_name(a, digits, (size_t)length);
    if (!name->numeric)
        name->numeric = ASM_NEW(a, NumericLabel, 1);
    return name->numeric;
}

/* 1f, 1b: NULL if the digits are followed by something else. */
static Expr *numeric_reference(Assembler *a, Cursor *cursor, Place place, bool *taken) {
    const char *at = cursor->at;
    uint64_t number = 0;
    while (at < cursor->end && isdigit((unsigned char)*at))
        number = number * 10 + (uint64_t)(*at++ - '0');
    *taken = at < cursor->end && (*at == 'f' || *at == 'b') &&
             (at + 1 == cursor->end || !asm_word_part(at[1])) && at - cursor->at < 10 &&
             !(*cursor->at == '0' && at - cursor->at == 1 && *at == 'b' && at + 1 < cursor->end &&
               isdigit((unsigned char)at[1]));
    if (!*taken)
        return NULL;
    cursor->at = at + 1;
    NumericLabel *label = asm_numeric_label(a, number);
    if (*at == 'f') {
        if (!label->next) {
            label->next = ASM_NEW(a, Symbol, 1);
            label->next->section = ASM_UNDEFINED;
            label->next->place = place;
        }
        return symbol_expr(a, label->next, place);
    }
    if (!label->last) {
        asm_error(a, ERR_ASM_SYMBOL, place, "no label %llu: stands before this line",
                  (unsigned long long)number);
        return NULL;
    }
    return symbol_expr(a, label->last, place);
}

static Expr *parse_number(Assembler *a, Cursor *cursor, Place place) {
    bool taken;
    Expr *reference = numeric_reference(a, cursor, place, &taken);
    if (taken)
        return reference;
    int64_t bits;
    size_t half = half_literal(cursor, &bits);
    if (half) {
        cursor->at += half;
        return asm_number(a, bits, place);
    }
    size_t length = 0;
    while (cursor->at + length < cursor->end && isalnum((unsigned char)cursor->at[length]))
        length++;
    int base = 10;
    size_t skip = 0;
    if (length > 1 && cursor->at[0] == '0') {
        int second = tolower((unsigned char)cursor->at[1]);
        base = second == 'x' ? 16 : second == 'b' ? 2 : 8;
        skip = base == 8 ? 1 : 2;
    }
    uint64_t number = 0;
    bool wrong = length == skip, large = false;
    for (size_t i = skip; i < length; i++) {
        int c = tolower((unsigned char)cursor->at[i]);
        int digit = isdigit(c) ? c - '0' : c - 'a' + 10;
        wrong |= digit >= base;
        large |= __builtin_mul_overflow(number, (uint64_t)base, &number);
        large |= __builtin_add_overflow(number, (uint64_t)digit, &number);
    }
    if (wrong || large) {
        asm_error(a, ERR_ASM_SYNTAX, place, wrong ? "`%.*s` is not a number" : "%.*s is too large",
                  (int)length, cursor->at);
        return NULL;
    }
    cursor->at += length;
    return asm_number(a, (int64_t)number, place);
}

static Expr *parse_character(Assembler *a, Cursor *cursor, Place place) {
    size_t quoted = asm_quoted(cursor->at, cursor->end);
    if (quoted < 3) {
        asm_error(a, ERR_ASM_SYNTAX, place, "a character constant is 'c'");
        return NULL;
    }
    /* As a string of one character: reuse its escapes. */
    char text[8] = {'"', 0};
    memcpy(text + 1, cursor->at + 1, quoted - 2);
    text[quoted - 1] = '"';
    Cursor inner = {cursor->statement, text, text + quoted};
    size_t length = 0;
    char *bytes = quoted == 3 ? ASM_NEW(a, char, 2) : asm_string(a, &inner, &length);
    if (quoted == 3)
        bytes[0] = cursor->at[1];
    cursor->at += quoted;
    return bytes ? asm_number(a, (unsigned char)bytes[0], place) : NULL;
}

/* Name, number, character, `.`, ( … ), $CSR. */
static Expr *parse_primary(Assembler *a, Cursor *cursor, unsigned depth) {
    asm_skip_blanks(cursor);
    Place place = asm_cursor_place(a, cursor);
    if (cursor->at == cursor->end) {
        asm_error(a, ERR_ASM_SYNTAX, place, "expected an expression");
        return NULL;
    }
    if (asm_take(cursor, '(')) {
        Expr *inner = parse_binary(a, cursor, 1, depth + 1);
        if (inner && !asm_take(cursor, ')')) {
            asm_error(a, ERR_ASM_SYNTAX, asm_cursor_place(a, cursor), "expected `)`");
            return NULL;
        }
        return inner;
    }
    char c = *cursor->at;
    if (c == '\'')
        return parse_character(a, cursor, place);
    if (isdigit((unsigned char)c))
        return parse_number(a, cursor, place);
    int64_t bits;
    size_t half = isalpha((unsigned char)c) ? half_literal(cursor, &bits) : 0;
    if (half) {
        cursor->at += half;
        return asm_number(a, bits, place);
    }
    if (c == '$') {
        int number = asm_csr(a, cursor);
        return number < 0 ? NULL : asm_number(a, number, place);
    }
    if (c == '.' && (cursor->at + 1 == cursor->end || !asm_word_part(cursor->at[1]))) {
        cursor->at++;
        return symbol_expr(a, asm_here(a, place), place);
    }
    Name *name = asm_word(a, cursor);
    if (!name) {
        asm_error(a, ERR_ASM_SYNTAX, place, "expected an expression");
        return NULL;
    }
    return symbol_expr(a, asm_symbol(a, name), place);
}

/* symbol@abs19@s2: the value shifted right by 2, 19 bits of it. */
static Expr *parse_suffixes(Assembler *a, Cursor *cursor, Expr *expr) {
    while (expr && cursor->at < cursor->end && *cursor->at == '@') {
        Place place = asm_cursor_place(a, cursor);
        cursor->at++;
        size_t length = asm_peek_word(cursor);
        const char *word = cursor->at;
        bool keep = length > 3 && strncasecmp(word, "abs", 3) == 0;
        size_t letters = keep ? 3 : 1;
        uint64_t number = 0;
        for (size_t i = letters; i < length; i++)
            number = isdigit((unsigned char)word[i]) && number < 100
                         ? number * 10 + (uint64_t)(word[i] - '0')
                         : 1000;
        if (length <= letters || (!keep && tolower((unsigned char)*word) != 's') || number > 32) {
            asm_error(a, ERR_ASM_SYNTAX, place, "expected @absN or @sN, N up to 32");
            return NULL;
        }
        cursor->at += length;
        if (keep)
            expr = asm_unary(a, OP_ABS_BITS, expr, (int64_t)number, place);
        else if (expr->kind == EXPR_UNARY && expr->op == OP_ABS_BITS)
            /* The shift stands last but comes first. */
            expr = asm_unary(a, OP_ABS_BITS,
                             make_expr(a, (Expr){.kind = EXPR_BINARY,
                                                 .op = OP_SHR,
                                                 .left = expr->left,
                                                 .right = asm_number(a, (int64_t)number, place),
                                                 .place = expr->place}),
                             expr->number, place);
        else
            expr = make_expr(a, (Expr){.kind = EXPR_BINARY,
                                       .op = OP_SHR,
                                       .left = expr,
                                       .right = asm_number(a, (int64_t)number, place),
                                       .place = expr->place});
    }
    return expr;
}

static Expr *parse_unary(Assembler *a, Cursor *cursor, unsigned depth) {
    asm_skip_blanks(cursor);
    Place place = asm_cursor_place(a, cursor);
    if (depth > MAX_EXPR_DEPTH) {
        asm_error(a, ERR_ASM_LIMIT, place, "this expression is too large");
        return NULL;
    }
    if (asm_take(cursor, '+'))
        return parse_unary(a, cursor, depth + 1);
    if (asm_take(cursor, '-')) {
        int64_t bits;
        size_t half = half_literal(cursor, &bits);
        if (half) {
            cursor->at += half;
            return asm_number(a, bits ^ 0x8000, place);
        }
        Expr *of = parse_unary(a, cursor, depth + 1);
        return of ? asm_unary(a, OP_NEG, of, 0, place) : NULL;
    }
    Operator op = asm_take(cursor, '~') ? OP_NOT : asm_take(cursor, '!') ? OP_LNOT : OP_ADD;
    if (op != OP_ADD) {
        Expr *of = parse_unary(a, cursor, depth + 1);
        return of ? asm_unary(a, op, of, 0, place) : NULL;
    }
    return parse_suffixes(a, cursor, parse_primary(a, cursor, depth));
}

static const struct {
    const char *text;
    Operator op;
    int strength;
} binary_operators[] = {
    /* Longer ones first. */
    {"||", OP_LOR, 1}, {"&&", OP_LAND, 2}, {"==", OP_EQ, 3},  {"!=", OP_NE, 3},  {"<>", OP_NE, 3},
    {"<=", OP_LE, 3},  {">=", OP_GE, 3},   {"<<", OP_SHL, 6}, {">>", OP_SHR, 6}, {"<", OP_LT, 3},
    {">", OP_GT, 3},   {"+", OP_ADD, 4},   {"-", OP_SUB, 4},  {"|", OP_OR, 5},   {"^", OP_XOR, 5},
    {"&", OP_AND, 5},  {"*", OP_MUL, 6},   {"/", OP_DIV, 6},  {"%", OP_MOD, 6},
};

static bool is_next(const Cursor *cursor, const char *text) {
    size_t length = strlen(text);
    return length <= (size_t)(cursor->end - cursor->at) && memcmp(cursor->at, text, length) == 0;
}

static Expr *parse_binary(Assembler *a, Cursor *cursor, int least, unsigned depth) {
    Expr *left = parse_unary(a, cursor, depth);
    while (left) {
        asm_skip_blanks(cursor);
        size_t i = 0;
        while (i < COUNT_OF(binary_operators) && !is_next(cursor, binary_operators[i].text))
            i++;
        if (i == COUNT_OF(binary_operators) || binary_operators[i].strength < least)
            break;
        Place place = asm_cursor_place(a, cursor);
        cursor->at += strlen(binary_operators[i].text);
        Expr *right = parse_binary(a, cursor, binary_operators[i].strength + 1, depth + 1);
        left = right ? make_expr(a, (Expr){.kind = EXPR_BINARY,
                                           .op = binary_operators[i].op,
                                           .left = left,
                                           .right = right,
                                           .place = place})
                     : NULL;
    }
    return left;
}

Expr *asm_expression(Assembler *a, Cursor *cursor) {
    Expr *expr = parse_binary(a, cursor, 1, 0);
    /* Numbers are folded at once: long chains of .set stay small. */
    Value value;
    const char *why;
    if (expr && expr->kind != EXPR_NUMBER && asm_evaluate(a, expr, false, &value, &why) == KNOWN &&
        !value.base)
        return asm_number(a, value.number, expr->place);
    return expr;
}

/* ---- values */

static bool arithmetic(Operator op, int64_t l, int64_t r, int64_t *result) {
    uint64_t x = (uint64_t)l, y = (uint64_t)r;
    switch (op) {
    case OP_ADD: *result = (int64_t)(x + y); return true;
    case OP_SUB: *result = (int64_t)(x - y); return true;
    case OP_MUL: *result = (int64_t)(x * y); return true;
    case OP_DIV:
    case OP_MOD:
        if (r == 0)
            return false;
        if (r == -1)
            *result = op == OP_DIV ? (int64_t)(0 - x) : 0;
        else
            *result = op == OP_DIV ? l / r : l % r;
        return true;
    case OP_SHL: *result = r < 0 || r > 63 ? 0 : (int64_t)(x << r); return true;
    case OP_SHR: *result = r < 0 || r > 63 ? 0 : l >> r; return true;
    case OP_AND: *result = l & r; return true;
    case OP_OR: *result = l | r; return true;
    case OP_XOR: *result = l ^ r; return true;
    case OP_EQ: *result = l == r; return true;
    case OP_NE: *result = l != r; return true;
    case OP_LT: *result = l < r; return true;
    case OP_LE: *result = l <= r; return true;
    case OP_GT: *result = l > r; return true;
    case OP_GE: *result = l >= r; return true;
    case OP_LAND: *result = l && r; return true;
    case OP_LOR: *result = l || r; return true;
    default: return false;
    }
}

static Known evaluate_symbol(Assembler *a, Symbol *symbol, bool final, Value *value,
                             const char **why) {
    if (symbol->set) {
        if (symbol->evaluating) {
            *why = "a symbol is defined by itself";
            return INVALID;
        }
        symbol->evaluating = true;
        Known known = asm_evaluate(a, symbol->set, final, value, why);
        symbol->evaluating = false;
        return known;
    }
    if (!symbol->defined && !final)
        return UNKNOWN;
    if (!symbol->defined && !symbol->name) {
        *why = "a numeric label that is used with `f` does not follow";
        return INVALID;
    }
    *value = symbol->section == ASM_ABSOLUTE ? (Value){.number = symbol->value}
                                             : (Value){.base = symbol};
    return KNOWN;
}

static Known evaluate_unary(Assembler *a, const Expr *expr, bool final, Value *value,
                            const char **why) {
    Known known = asm_evaluate(a, expr->left, final, value, why);
    if (known != KNOWN)
        return known;
    if (value->base) {
        *why = "an address is known only when linking; here only +, - and differences are possible";
        return INVALID;
    }
    switch (expr->op) {
    case OP_NEG: value->number = (int64_t)(0 - (uint64_t)value->number); break;
    case OP_NOT: value->number = ~value->number; break;
    case OP_LNOT: value->number = !value->number; break;
    default: value->number &= expr->number >= 63 ? -1 : ((int64_t)1 << expr->number) - 1; break;
    }
    return KNOWN;
}

static Known evaluate_binary(Assembler *a, const Expr *expr, bool final, Value *value,
                             const char **why) {
    Value l, r;
    Known known = asm_evaluate(a, expr->left, final, &l, why);
    Known other = known == INVALID ? INVALID : asm_evaluate(a, expr->right, final, &r, why);
    if (known == INVALID || other == INVALID)
        return INVALID;
    if (known == UNKNOWN || other == UNKNOWN)
        return UNKNOWN;
    bool difference =
        l.base && r.base && l.base->section == r.base->section && l.base->section != ASM_UNDEFINED;
    if (difference) {
        l.number += l.base->value;
        r.number += r.base->value;
        l.base = r.base = NULL;
        bool meaningful = expr->op == OP_SUB || (expr->op >= OP_EQ && expr->op <= OP_GE);
        if (!meaningful) {
            *why = "addresses can only be subtracted and compared";
            return INVALID;
        }
    }
    if ((l.base && r.base) || (r.base && expr->op != OP_ADD) ||
        (l.base && expr->op != OP_ADD && expr->op != OP_SUB)) {
        *why = "an address is known only when linking; here only +, - and differences are possible";
        return INVALID;
    }
    if (!arithmetic(expr->op, l.number, r.number, &value->number)) {
        *why = "division by zero";
        return INVALID;
    }
    value->base = l.base ? l.base : r.base;
    return KNOWN;
}

/* Symbols that are set to sums of other such symbols make small sources mean long work. */
Known asm_evaluate(Assembler *a, const Expr *expr, bool final, Value *value, const char **why) {
    *value = (Value){0};
    if (expr->kind == EXPR_NUMBER) {
        value->number = expr->number;
        return KNOWN;
    }
    if (a->evaluation_depth > MAX_EVALUATION_DEPTH || a->evaluations > a->most_evaluations) {
        *why = "the symbols of this expression are defined by too many others";
        return INVALID;
    }
    a->evaluations++;
    a->evaluation_depth++;
    Known known = expr->kind == EXPR_SYMBOL  ? evaluate_symbol(a, expr->symbol, final, value, why)
                  : expr->kind == EXPR_UNARY ? evaluate_unary(a, expr, final, value, why)
                                             : evaluate_binary(a, expr, final, value, why);
    a->evaluation_depth--;
    return known;
}

/* The first symbol in the expression that is not defined yet. */
static const Symbol *undefined_symbol(const Expr *expr) {
    if (!expr)
        return NULL;
    if (expr->kind == EXPR_SYMBOL)
        return expr->symbol->defined || expr->symbol->set ? NULL : expr->symbol;
    const Symbol *left = undefined_symbol(expr->left);
    return left ? left : undefined_symbol(expr->right);
}

bool asm_constant(Assembler *a, const Expr *expr, int64_t *number) {
    Value value;
    const char *why = "";
    switch (asm_evaluate(a, expr, false, &value, &why)) {
    case KNOWN:
        if (!value.base) {
            *number = value.number;
            return true;
        }
        asm_error(a, ERR_ASM_EXPRESSION, expr->place,
                  "must be a number here, not an address that is known only when linking");
        return false;
    case UNKNOWN: {
        const Symbol *symbol = undefined_symbol(expr);
        asm_error(a, ERR_ASM_EXPRESSION, expr->place,
                  "must be a number here, and `%s` is not defined above",
                  symbol && symbol->name ? symbol->name->text : "a label");
        return false;
    }
    case INVALID: asm_error(a, ERR_ASM_EXPRESSION, expr->place, "%s", why); return false;
    }
    return false;
}
