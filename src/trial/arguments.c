/* The arguments of the call. */
#include "trial/internal.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char object[] = "option --args";

static Status argument_error(Diag *diag, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static Status argument_error(Diag *diag, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = mem_vprintf(format, arguments);
    va_end(arguments);
    diag_error(diag, ERR_TRIAL_ARGUMENT, (DiagPlace){.tile = -1, .object = object}, "%s",
               text ? text : "");
    mem_free(text);
    return ERR_TRIAL_ARGUMENT;
}

/* Signed or unsigned, of 32 bits. */
static bool parse_word(const char *text, size_t length, uint32_t *word) {
    char copy[32], *end;
    if (length == 0 || length >= sizeof copy)
        return false;
    memcpy(copy, text, length);
    copy[length] = 0;
    if (!isdigit((unsigned char)*copy) && *copy != '-')
        return false;
    long long number = strtoll(copy, &end, 0);
    *word = (uint32_t)number;
    return *end == 0 && number >= INT32_MIN && number <= UINT32_MAX;
}

/* NAME, NAME+BYTES, #NAME, a number, f16:V, f32:V. */
static Status parse_value(Trial *trial, const char *text, size_t length, uint32_t *word,
                          Diag *diag) {
    if (parse_word(text, length, word))
        return STATUS_OK;
    if (length > 4 && text[0] == 'f' && text[3] == ':') {
        TrialType type = text[1] == '1' ? TRIAL_F16 : TRIAL_F32;
        const char *name = trial_type_name(type);
        if (memcmp(name, text, 3) == 0 && data_number(type, 0, text + 4, length - 4, word))
            return STATUS_OK;
    }
    bool number_of = text[0] == '#';
    size_t name = 0;
    while (name < length && text[name] != '+')
        name++;
    const TrialBuffer *buffer = data_find(trial, text + number_of, name - number_of);
    if (!buffer)
        return data_unknown(trial, text + number_of, name - number_of, object, diag);
    uint32_t offset = 0;
    if (name < length && !parse_word(text + name + 1, length - name - 1, &offset))
        return argument_error(diag, "'%.*s' is no number of bytes", (int)(length - name - 1),
                              text + name + 1);
    *word = number_of ? buffer->count : buffer->address + offset;
    return STATUS_OK;
}

/* mN= before a value; *at moves behind it. */
static bool parse_register(const char **at, size_t *length, uint8_t *number) {
    const char *text = *at + (**at == '$');
    char *end;
    if (*text != 'm' || !isdigit((unsigned char)text[1]))
        return false;
    unsigned long parsed = strtoul(text + 1, &end, 10);
    if (*end != '=' || parsed > UINT8_MAX || end >= *at + *length)
        return false;
    *length -= (size_t)(end + 1 - *at);
    *at = end + 1;
    *number = (uint8_t)parsed;
    return true;
}

static Status add_register(const Trial *trial, Arguments *arguments, uint8_t number, uint32_t word,
                           Diag *diag) {
    unsigned most = trial->worker ? WORKER_REGISTERS - 1 : 9;
    if (number > most)
        return argument_error(diag, "$m%u takes no argument: $m0 to $m%u can%s", number, most,
                              trial->worker ? "" : ", and arguments without mN= begin at $m2");
    for (uint32_t i = 0; i < arguments->register_count; i++)
        if (arguments->reg[i].number == number)
            return argument_error(diag, "$m%u gets two arguments", number);
    arguments->reg[arguments->register_count].number = number;
    arguments->reg[arguments->register_count++].word = word;
    return STATUS_OK;
}

static Status add_frame(Arguments *arguments, uint32_t word, Diag *diag) {
    if (arguments->frame_count == FRAME_WORDS)
        return argument_error(diag, "there are more than %d arguments", FRAME_WORDS);
    arguments->frame[arguments->frame_count++] = word;
    return STATUS_OK;
}

Status arguments_parse(Trial *trial, const TrialOptions *options, Arguments *arguments,
                       Diag *diag) {
    uint8_t next = FIRST_REGISTER;
    Status status = STATUS_OK;
    *arguments = (Arguments){0};
    for (size_t i = 0; i < trial->buffers.count && status == STATUS_OK && !options->arguments;
         i++) {
        uint32_t address = trial->buffers.items[i].address;
        status = trial->worker ? add_frame(arguments, address, diag)
                               : add_register(trial, arguments, next++, address, diag);
    }
    const char *at = options->arguments ? options->arguments : "";
    while (*at && status == STATUS_OK) {
        size_t length = strcspn(at, ",");
        const char *end = at + length;
        uint8_t number = next;
        uint32_t word;
        bool named = parse_register(&at, &length, &number);
        status = parse_value(trial, at, length, &word, diag);
        if (status == STATUS_OK)
            status = named || !trial->worker ? add_register(trial, arguments, number, word, diag)
                                             : add_frame(arguments, word, diag);
        next = (uint8_t)(next + !named);
        at = end + (*end == ',');
    }
    return status;
}
