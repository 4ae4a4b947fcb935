/* A folder for one test program, removed with its files at the end. */
#pragma once

#include "testing.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[200];

static inline const char *in_folder(const char *name, char path[300]) {
    snprintf(path, 300, "%s/%s", folder, name);
    return path;
}

static inline int folder_create(void **state) {
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/tilework-test-XXXXXX", base ? base : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

/* Names in the folder that begin with `prefix`; removes them if asked. */
static inline int folder_files(const char *prefix, bool removed) {
    int count = 0;
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    for (struct dirent *entry; (entry = readdir(entries));) {
        char path[600];
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
            strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        count++;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (removed)
            unlink(path);
    }
    closedir(entries);
    return count;
}

static inline int folder_remove(void **state) {
    (void)state;
    folder_files("", true);
    return rmdir(folder);
}
