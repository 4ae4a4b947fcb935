/* Runs a command of the shell in a test; returns its exit code. */
#pragma once

#include <sys/wait.h>
#include <unistd.h>

static inline int shell_run(const char *command) {
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}
