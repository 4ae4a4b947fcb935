/* Registers and operands. */
#include "asm/assembler.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    bool arithmetic;
    uint8_t number, count;
} aliases[] = {
    {"bp", false, 8, 1},
    {"fp", false, 9, 1},
    {"lr", false, 10, 1},
    {"sp", false, 11, 1},
    {"mworker_base", false, 12, 1},
    {"mvertex_base", false, 13, 1},
    {"mzero", false, 15, 1},
    {"azero", true, 15, 1},
    {"azeros", true, 14, 2},
    {"azeroq", true, 12, 4},
    {"aq0", true, 0, 4},
    {"aq1", true, 4, 4},
};

/* Length of the word after the `$`, 0 if there is none. */
static size_t dollar_word(const Cursor *cursor) {
    const char *at = cursor->at + 1;
    if (cursor->at == cursor->end || *cursor->at != '$')
        return 0;
    while (at < cursor->end && (isalnum((unsigned char)*at) || *at == '_'))
        at++;
    return (size_t)(at - cursor->at - 1);
}

/* "m12" or "a3": the number, or -1. */
static int plain_register(const char *word, size_t length) {
    if (length < 2 || length > 3 || (word[0] != 'm' && word[0] != 'a'))
        return -1;
    int number = 0;
    for (size_t i = 1; i < length; i++) {
        if (!isdigit((unsigned char)word[i]))
            return -1;
        number = number * 10 + (word[i] - '0');
    }
    return number < 16 && !(length == 3 && word[1] == '0') ? number : -1;
}

static bool take_tuple(Assembler *a, Cursor *cursor, ParsedOperand *operand) {
    const char *at = cursor->at + 1;
    int last = 0;
    size_t digits = 0;
    while (at + digits < cursor->end && isdigit((unsigned char)at[digits]) && digits < 3)
        last = last * 10 + (at[digits++] - '0');
    cursor->at = at + digits;
    int count = last - operand->number + 1;
    if (last > 15 || (count != 2 && count != 4)) {
        asm_error(a, ERR_ASM_REGISTER, operand->place, "a tuple has two or four registers");
        return false;
    }
    if (operand->number % count) {
        int first = operand->number - operand->number % count;
        char file = operand->arithmetic ? 'a' : 'm';
        asm_error(a, ERR_ASM_REGISTER, operand->place,
                  "a tuple of %d starts at a multiple of %d: $%c%d:%d, not $%c%d:%d", count, count,
                  file, first, first + count - 1, file, operand->number, last);
        return false;
    }
    operand->count = (uint8_t)count;
    return true;
}

/* :B, :BL, :BU */
static bool take_broadcast(Assembler *a, Cursor *cursor, ParsedOperand *operand) {
    Cursor ahead = {cursor->statement, cursor->at + 1, cursor->end};
    size_t length = asm_peek_word(&ahead);
    static const char *const words[] = {"", "B", "BL", "BU"};
    for (size_t i = 1; i < COUNT_OF(words); i++) {
        if (operand->arithmetic && operand->count == 1 && asm_word_is(ahead.at, length, words[i])) {
            operand->broadcast = (uint8_t)i;
            cursor->at = ahead.at + length;
            return true;
        }
    }
    asm_error(a, ERR_ASM_REGISTER, operand->place,
              "expected a tuple or :B, :BL, :BU after the colon");
    return false;
}

static void take_suffix(Cursor *cursor, ParsedOperand *operand) {
    static const struct {
        const char *text;
        Suffix suffix;
    } suffixes[] = {{"+=", SUFFIX_INC}, {"++", SUFFIX_PP}, {"@", SUFFIX_AT}, {">>", SUFFIX_SHR}};
    asm_skip_blanks(cursor);
    for (size_t i = 0; i < COUNT_OF(suffixes); i++) {
        size_t length = strlen(suffixes[i].text);
        if ((size_t)(cursor->end - cursor->at) >= length &&
            memcmp(cursor->at, suffixes[i].text, length) == 0) {
            operand->suffix = (uint8_t)suffixes[i].suffix;
            cursor->at += length;
            return;
        }
    }
}

/* A register if the word after `$` names one; *is_register tells. */
static bool take_register(Assembler *a, Cursor *cursor, ParsedOperand *operand, bool *is_register) {
    size_t length = dollar_word(cursor);
    const char *word = cursor->at + 1;
    int number = plain_register(word, length);
    *is_register = true;
    if (number >= 0) {
        operand->arithmetic = word[0] == 'a';
        operand->number = (uint8_t)number;
        operand->count = 1;
    } else {
        size_t i = 0;
        while (i < COUNT_OF(aliases) && !asm_word_is(word, length, aliases[i].name))
            i++;
        if (i == COUNT_OF(aliases)) {
            *is_register = false;
            return true;
        }
        operand->arithmetic = aliases[i].arithmetic;
        operand->number = aliases[i].number;
        operand->count = aliases[i].count;
    }
    cursor->at = word + length;
    bool good = true;
    if (cursor->at + 1 < cursor->end && *cursor->at == ':')
        good = isdigit((unsigned char)cursor->at[1]) ? take_tuple(a, cursor, operand)
                                                     : take_broadcast(a, cursor, operand);
    if (good)
        take_suffix(cursor, operand);
    return good;
}

/* $CWEI_m_n: m 0..15, n 0..3; -1 if the word is no such name. */
static int weight_register(const char *word, size_t length) {
    char text[16] = {0};
    if (length < 8 || length > 9 || strncasecmp(word, "CWEI_", 5) != 0)
        return -1;
    memcpy(text, word + 5, length - 5);
    char *end;
    long unit = strtol(text, &end, 10);
    if (end == text || *end != '_' || unit > 15 || end[1] < '0' || end[1] > '3' || end[2])
        return -1;
    return (int)unit * 4 + (end[1] - '0');
}

int asm_csr(Assembler *a, Cursor *cursor) {
    asm_skip_blanks(cursor);
    Place place = asm_cursor_place(a, cursor);
    size_t length = dollar_word(cursor);
    const char *word = cursor->at + 1;
    int weights = weight_register(word, length);
    if (weights >= 0) {
        cursor->at = word + length;
        return weights;
    }
    char name[32] = {0};
    for (size_t i = 0; i < length && i + 1 < sizeof name; i++)
        name[i] = (char)toupper((unsigned char)word[i]);
    bool worker_first = a->mode != ISA_SUPERVISOR;
    const ChipCsr *csr = chip_csr_by_name(worker_first, name);
    const ChipCsr *other = csr ? NULL : chip_csr_by_name(!worker_first, name);
    if (!csr && !other) {
        asm_error(a, ERR_ASM_REGISTER, place, "there is no register $%.*s", (int)length, word);
        return -1;
    }
    if (!csr && a->mode != ISA_BOTH && !a->allow_mode) {
        asm_error(a, ERR_ASM_MODE, place, "$%s is a register of the %s, and this is %s code", name,
                  other->worker ? "workers" : "supervisor",
                  other->worker ? "supervisor" : "worker");
        return -1;
    }
    cursor->at = word + length;
    return (csr ? csr : other)->number;
}

bool asm_operand(Assembler *a, Cursor *cursor, ParsedOperand *operand) {
    asm_skip_blanks(cursor);
    *operand = (ParsedOperand){.place = asm_cursor_place(a, cursor)};
    if (cursor->at < cursor->end && *cursor->at == '$') {
        bool is_register;
        if (!take_register(a, cursor, operand, &is_register))
            return false;
        if (is_register)
            return true;
        operand->weights = weight_register(cursor->at + 1, dollar_word(cursor)) >= 0;
    }
    operand->expr = asm_expression(a, cursor);
    return operand->expr != NULL;
}
