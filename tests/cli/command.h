/* Runs the command in this process and catches what it prints. */
#pragma once

#include "testing.h"

#include "cli/cli.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Command {
    int code;
    char *out, *err; /* mem_free by command_free */
} Command;

static int command_open(char path[]) {
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    unlink(path);
    return descriptor;
}

static char *command_read(int descriptor) {
    off_t size = lseek(descriptor, 0, SEEK_END);
    char *text = mem_alloc((size_t)size + 1, 1);
    assert_non_null(text);
    assert_int_equal(pread(descriptor, text, (size_t)size, 0), size);
    close(descriptor);
    return text;
}

/* `line` is cut at blanks. */
static Command command(const char *line) {
    char *words = mem_strdup(line), *argv[40] = {(char[]){"tilework"}};
    int argc = 1;
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
        assert_true(argc < 39);
        argv[argc++] = word;
    }
    char out_path[] = "/tmp/tilework-out-XXXXXX", err_path[] = "/tmp/tilework-err-XXXXXX";
    int out = command_open(out_path), err = command_open(err_path);
    fflush(stdout);
    fflush(stderr);
    int old_out = dup(STDOUT_FILENO), old_err = dup(STDERR_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    Command result = {.code = cli_main(argc, argv)};
    fflush(stdout);
    fflush(stderr);
    dup2(old_out, STDOUT_FILENO);
    dup2(old_err, STDERR_FILENO);
    close(old_out);
    close(old_err);
    mem_free(words);
    result.out = command_read(out);
    result.err = command_read(err);
    return result;
}

static void command_free(Command *result) {
    mem_free(result->out);
    mem_free(result->err);
}

/* Runs, and expects a code and, if they are not NULL, texts in the output and the error output. */
static void expect(const char *line, int code, const char *out, const char *err) {
    Command result = command(line);
    if (result.code != code || (out && !strstr(result.out, out)) ||
        (err && !strstr(result.err, err)))
        fail_msg("tilework %s\nended with %d and printed\n%s%s", line, result.code, result.out,
                 result.err);
    command_free(&result);
}

/* Runs with --json in the line, and returns the document. */
static json_t *document(const char *line, int code) {
    Command result = command(line);
    json_error_t error;
    json_t *root = json_loads(result.out, JSON_REJECT_DUPLICATES, &error);
    if (!root || result.code != code)
        fail_msg("tilework %s\nended with %d and printed\n%s%s%s", line, result.code, result.out,
                 result.err, root ? "" : error.text);
    command_free(&result);
    return root;
}
