/* Runs a C preprocessor on a source file: a child process without a shell. */
#include "api/api.h"

#include "api/headers.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef VEC(char) Text;
typedef VEC(char *) Arguments;

static Status no_memory(Diag *diag) {
    return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory left for the source");
}

static bool add(Arguments *arguments, Arena *arena, const char *prefix, const char *text) {
    char *argument = arena_printf(arena, "%s%s", prefix, text);
    return argument && vec_push(arguments, argument);
}

/* COMMAND -x assembler-with-cpp -undef -DNAME… -IFOLDER… SOURCE, the source as a path that cannot
 * be taken for an option. Sources of the public libraries ask for the first two names. */
static bool make_arguments(const char *source, const TwAssembleOptions *options,
                           const char *stand_ins, Arguments *arguments, Arena *arena) {
    bool done = add(arguments, arena, "", options->preprocessor) &&
                add(arguments, arena, "", "-x") &&
                add(arguments, arena, "", "assembler-with-cpp") &&
                add(arguments, arena, "", "-undef") && /* `linux` and `unix` are plain words */
                add(arguments, arena, "", "-D__IPU__=1") &&
                add(arguments, arena, "", "-D__IPU_ARCH_VERSION__=21");
    for (size_t i = 0; i < options->define_count && done; i++)
        done = add(arguments, arena, "-D", options->defines[i]);
    for (size_t i = 0; i < options->include_count && done; i++)
        done = add(arguments, arena, "-I", options->includes[i]);
    if (stand_ins && done)
        done = add(arguments, arena, "", "-idirafter") && add(arguments, arena, "", stand_ins);
    return done && add(arguments, arena, source[0] == '-' ? "./" : "", source) &&
           vec_push(arguments, NULL);
}

/* Reads both pipes to their ends, which must come before that of a source file. */
static Status read_pipes(const int pipes[2], const char *source, Text texts[2], Diag *diag) {
    struct pollfd open[2] = {{.fd = pipes[0], .events = POLLIN},
                             {.fd = pipes[1], .events = POLLIN}};
    while (open[0].fd >= 0 || open[1].fd >= 0) {
        if (poll(open, 2, -1) < 0 && errno != EINTR)
            return no_memory(diag);
        for (int i = 0; i < 2; i++) {
            if (open[i].fd < 0 || !(open[i].revents & (POLLIN | POLLHUP | POLLERR)))
                continue;
            if (texts[i].count > FILE_READ_MOST)
                return diag_error(diag, ERR_CPP_FAILED, (DiagPlace){.file = source, .tile = -1},
                                  "it writes more than %d bytes", FILE_READ_MOST);
            if (!vec_reserve(&texts[i], 65536))
                return no_memory(diag);
            ssize_t got = read(open[i].fd, texts[i].items + texts[i].count,
                               texts[i].capacity - texts[i].count);
            if (got > 0)
                texts[i].count += (size_t)got;
            else if (got == 0 || errno != EINTR)
                open[i].fd = -1;
        }
    }
    return STATUS_OK;
}

/* Starts the command with its output and error output in pipes. Returns an error number. */
static int start(Arguments *arguments, int outputs[2], pid_t *child) {
    int out[2], err[2];
    if (pipe2(out, O_CLOEXEC) != 0)
        return errno;
    if (pipe2(err, O_CLOEXEC) != 0) {
        int number = errno;
        close(out[0]);
        close(out[1]);
        return number;
    }
    posix_spawn_file_actions_t actions;
    int number = posix_spawn_file_actions_init(&actions);
    if (number == 0) {
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
        posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
        number =
            posix_spawnp(child, arguments->items[0], &actions, NULL, arguments->items, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(out[1]);
    close(err[1]);
    outputs[0] = out[0];
    outputs[1] = err[0];
    if (number) {
        close(out[0]);
        close(err[0]);
    }
    return number;
}

/* The child's error output as notes, its first lines. */
static void note_lines(Diag *diag, const Text *text) {
    enum { MOST = 20 };
    size_t at = 0;
    for (int line = 0; line < MOST && at < text->count; line++) {
        const char *start_of_line = text->items + at;
        const char *end = memchr(start_of_line, '\n', text->count - at);
        size_t length = end ? (size_t)(end - start_of_line) : text->count - at;
        diag_note(diag, "%.*s", (int)MIN_OF(length, (size_t)1000), start_of_line);
        at += length + 1;
    }
}

/* NAME of "fatal error: NAME: No such file or directory" (gcc) or "fatal error: 'NAME' file not
 * found" (clang), or NULL. */
static const char *missing_header(const Text *errors, Arena *arena) {
    static const char before[] = "fatal error: ", gcc[] = ": No such file", clang[] = "' file not";
    const char *at = memmem(errors->items, errors->count, before, sizeof before - 1);
    if (!at)
        return NULL;
    at += sizeof before - 1;
    const char *line_end = memchr(at, '\n', errors->count - (size_t)(at - errors->items));
    size_t length =
        line_end ? (size_t)(line_end - at) : errors->count - (size_t)(at - errors->items);
    bool quoted = length && *at == '\'';
    at += quoted;
    length -= quoted;
    const char *end = quoted ? memmem(at, length, clang, sizeof clang - 1)
                             : memmem(at, length, gcc, sizeof gcc - 1);
    return end ? arena_printf(arena, "%.*s", (int)(end - at), at) : NULL;
}

static Status tell_failure(const char *source, const TwAssembleOptions *options, int state,
                           const Text *errors, Diag *diag) {
    DiagPlace place = {.file = source, .tile = -1};
    if (WIFSIGNALED(state))
        diag_error(diag, ERR_CPP_FAILED, place, "%s was ended by signal %d", options->preprocessor,
                   WTERMSIG(state));
    else if (WEXITSTATUS(state) == 127 && errors->count == 0)
        return diag_error(diag, ERR_CPP_START, place, "cannot run %s", options->preprocessor);
    else
        diag_error(diag, ERR_CPP_FAILED, place, "%s ended with code %d", options->preprocessor,
                   WEXITSTATUS(state));
    note_lines(diag, errors);
    return ERR_CPP_FAILED;
}

/* Runs the command once. *state is its end, texts its output and error output. */
static Status run(const char *source, const TwAssembleOptions *options, const char *stand_ins,
                  Arena *arena, Text texts[2], int *state, Diag *diag) {
    Arguments arguments = {0};
    int outputs[2] = {-1, -1};
    pid_t child;
    Status status = STATUS_OK;
    if (!make_arguments(source, options, stand_ins, &arguments, arena)) {
        status = no_memory(diag);
    } else {
        int number = start(&arguments, outputs, &child);
        if (number) {
            status =
                diag_error(diag, ERR_CPP_START, (DiagPlace){.file = source, .tile = -1},
                           "cannot run %s: %s", options->preprocessor, strerrordesc_np(number));
        } else {
            status = read_pipes(outputs, source, texts, diag);
            close(outputs[0]);
            close(outputs[1]);
            if (status != STATUS_OK)
                kill(child, SIGKILL);
            while (waitpid(child, state, 0) < 0 && errno == EINTR)
                continue;
        }
    }
    vec_free(&arguments);
    return status;
}

/* Headers of the SDK are not there: each one that is missed is replaced, and the command run again,
 * until it succeeds or fails with something else. */
Status api_preprocess(const char *source, const TwAssembleOptions *options, char **text,
                      size_t *size, Diag *diag) {
    Arena arena = {0};
    Text texts[2] = {0};
    ApiHeaders headers = {0};
    Status status;
    for (;;) {
        int state = 0;
        texts[0].count = texts[1].count = 0;
        status = run(source, options, headers.folder, &arena, texts, &state, diag);
        if (status != STATUS_OK || (WIFEXITED(state) && WEXITSTATUS(state) == 0))
            break;
        const char *header = WIFEXITED(state) ? missing_header(&texts[1], &arena) : NULL;
        if (header && api_headers_add(&headers, header)) {
            diag_warning(diag, ERR_CPP_HEADER, (DiagPlace){.file = source, .tile = -1},
                         "there is no header %s: the names of the chip take its place", header);
            diag_fix(diag, "tell the folder that holds it with -I");
            continue;
        }
        status = tell_failure(source, options, state, &texts[1], diag);
        break;
    }
    api_headers_free(&headers);
    arena_free(&arena);
    vec_free(&texts[1]);
    if (status == STATUS_OK) {
        *text = texts[0].items;
        *size = texts[0].count;
    } else {
        vec_free(&texts[0]);
    }
    return status;
}
