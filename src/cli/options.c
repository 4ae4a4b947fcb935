#include "cli/options.h"

#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static Status option_error(Diag *diag, Status code, const char *name, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static Status option_error(Diag *diag, Status code, const char *name, const char *format, ...) {
    char shown[TEXT_PRINTABLE];
    char *object = mem_printf("option --%s", text_printable(name, shown));
    va_list arguments;
    va_start(arguments, format);
    char *text = mem_vprintf(format, arguments);
    va_end(arguments);
    diag_error(diag, code, (DiagPlace){.tile = -1, .object = object}, "%s", text ? text : "");
    mem_free(object);
    mem_free(text);
    return code;
}

static Status no_memory(Diag *diag) {
    return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory left on the host");
}

/* The nearest value that an option takes; `low`: the given one lies below. */
static Status out_of_range(const Option *option, const char *value, bool low, Diag *diag) {
    char shown[TEXT_PRINTABLE];
    long long least = (long long)option->least, most = (long long)option->most;
    option_error(diag, ERR_CLI_VALUE, option->name, "%s is not in %lld…%lld",
                 text_printable(value, shown), least, most);
    diag_fix(diag, "the nearest one is --%s %lld", option->name, low ? least : most);
    return ERR_CLI_VALUE;
}

static Status set_whole(Option *option, const char *value, Diag *diag) {
    char shown[TEXT_PRINTABLE], *end;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    bool starts_well = (value[0] >= '0' && value[0] <= '9') || value[0] == '-';
    if (!starts_well || *end != 0 || end == value)
        return option_error(diag, ERR_CLI_VALUE, option->name, "'%s' is no whole number",
                            text_printable(value, shown));
    if (errno == ERANGE || number < option->least || number > option->most)
        return out_of_range(option, value, number < option->least, diag);
    *(int64_t *)option->target = number;
    return STATUS_OK;
}

static Status set_real(Option *option, const char *value, Diag *diag) {
    char shown[TEXT_PRINTABLE], *end;
    double number = strtod(value, &end);
    bool starts_well = strchr("0123456789.-", value[0]) && value[0] != 0;
    if (!starts_well || *end != 0 || end == value || !isfinite(number))
        return option_error(diag, ERR_CLI_VALUE, option->name, "'%s' is no number",
                            text_printable(value, shown));
    if (number < (double)option->least || number > (double)option->most)
        return out_of_range(option, value, number < (double)option->least, diag);
    *(double *)option->target = number;
    return STATUS_OK;
}

static Status unknown_choice(const Option *option, const char *word, Diag *diag) {
    char shown[TEXT_PRINTABLE];
    option_error(diag, ERR_CLI_VALUE, option->name, "there is no '%s'",
                 text_printable(word, shown));
    Nearest nearest = nearest_begin(word);
    for (size_t i = 0; option->choices[i]; i++)
        nearest_offer(&nearest, option->choices[i]);
    if (nearest.best)
        diag_fix(diag, "did you mean %s?", nearest.best);
    else
        diag_fix(diag, "the allowed words are those of %s", option->value);
    return ERR_CLI_VALUE;
}

static Status set_choices(Option *option, const char *value, Diag *diag) {
    char *words = mem_strdup(value);
    if (!words)
        return no_memory(diag);
    Status status = STATUS_OK;
    for (char *word = words, *next; word && status == STATUS_OK; word = next) {
        next = strchr(word, ',');
        if (next)
            *next++ = 0;
        size_t i = 0;
        while (option->choices[i] && strcmp(option->choices[i], word) != 0)
            i++;
        if (option->choices[i])
            *(unsigned *)option->target |= 1u << i;
        else
            status = unknown_choice(option, word, diag);
    }
    mem_free(words);
    return status;
}

static Status set_text(Option *option, const char *value, Diag *diag) {
    if (*value == 0)
        return option_error(diag, ERR_CLI_VALUE, option->name, "the value is empty");
    if (option->kind == OPTION_TEXT) {
        *(const char **)option->target = value;
        return STATUS_OK;
    }
    Texts *texts = option->target;
    return vec_push(texts, value) ? STATUS_OK : no_memory(diag);
}

static Status set_option(Option *option, const char *value, Diag *diag) {
    bool repeats = option->kind == OPTION_TEXTS || option->kind == OPTION_CHOICES;
    if (option->given && !repeats)
        return option_error(diag, ERR_CLI_CONFLICT, option->name, "given twice");
    option->given = true;
    switch (option->kind) {
    case OPTION_FLAG: *(bool *)option->target = true; return STATUS_OK;
    case OPTION_WHOLE: return set_whole(option, value, diag);
    case OPTION_REAL: return set_real(option, value, diag);
    case OPTION_TEXT:
    case OPTION_TEXTS: return set_text(option, value, diag);
    case OPTION_CHOICES: return set_choices(option, value, diag);
    }
    return STATUS_OK;
}
static Status unknown_option(const char *verb, const char *name, const Option *options,
                             size_t count, Diag *diag) {
    option_error(diag, ERR_CLI_OPTION, name, "%s has no such option", verb);
    Nearest nearest = nearest_begin(name);
    for (size_t i = 0; i < count; i++)
        nearest_offer(&nearest, options[i].name);
    if (nearest.best)
        diag_fix(diag, "did you mean --%s?", nearest.best);
    else
        diag_fix(diag, "tilework %s --help lists them", verb);
    return ERR_CLI_OPTION;
}

/* The option that a word names, and the value written behind '=', or NULL. */
static Option *find_option(const char *word, Option *options, size_t count, const char **value) {
    const char *name = word[1] == '-' ? word + 2 : word + 1;
    size_t length = strcspn(name, "=");
    *value = name[length] == '=' ? name + length + 1 : NULL;
    for (size_t i = 0; i < count; i++) {
        bool named = word[1] == '-' ? strlen(options[i].name) == length &&
                                          memcmp(options[i].name, name, length) == 0
                                    : length == 1 && options[i].letter == name[0];
        if (named)
            return &options[i];
    }
    return NULL;
}

/* One word that begins with '-', and its value; *at is the index of the last word taken. */
static Status parse_word(const char *verb, Option *options, size_t count, int argc, char **argv,
                         int *at, Diag *diag) {
    const char *word = argv[*at], *value;
    Option *option = find_option(word, options, count, &value);
    if (!option) {
        char *name = mem_printf("%.*s", (int)strcspn(word + 2, "=") + 1,
                                word[1] == '-' ? word + 2 : word + 1);
        if (!name)
            return no_memory(diag);
        name[strcspn(name, "=")] = 0;
        Status status = unknown_option(verb, name, options, count, diag);
        mem_free(name);
        return status;
    }
    if (option->kind == OPTION_FLAG && value)
        return option_error(diag, ERR_CLI_VALUE, option->name, "takes no value");
    if (option->kind != OPTION_FLAG && !value) {
        if (*at + 1 >= argc)
            return option_error(diag, ERR_CLI_VALUE, option->name, "needs a value %s behind it",
                                option->value);
        value = argv[++*at];
    }
    return set_option(option, value, diag);
}

Status options_parse(const char *verb, Option *options, size_t count, int argc, char **argv,
                     Texts *arguments, Diag *diag) {
    bool open = true;
    for (int at = 0; at < argc; at++) {
        Status status = STATUS_OK;
        if (open && strcmp(argv[at], "--") == 0)
            open = false;
        else if (open && argv[at][0] == '-' && argv[at][1] != 0)
            status = parse_word(verb, options, count, argc, argv, &at, diag);
        else if (!vec_push(arguments, argv[at]))
            status = no_memory(diag);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

void options_print(const Option *options, size_t count, FILE *out) {
    for (size_t i = 0; i < count; i++) {
        char left[64];
        const Option *option = &options[i];
        char letter[8] = "";
        if (option->letter)
            snprintf(letter, sizeof letter, "-%c, ", option->letter);
        snprintf(left, sizeof left, "%s--%s%s%s", letter, option->name, option->value ? " " : "",
                 option->value ? option->value : "");
        if (strlen(left) > 24)
            fprintf(out, "  %s\n  %-24s  %s\n", left, "", option->help);
        else
            fprintf(out, "  %-24s  %s\n", left, option->help);
    }
}
