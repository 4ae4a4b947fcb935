/* Runs a fuzz target on every file of a folder, and on every file cut to half its size: what the
 * fuzzers found stays fixed, with any compiler. */
#include "base/file.h"
#include "base/mem.h"

#include <dirent.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* A copy of exactly the given size, so that the address sanitizer sees a read past its end. */
static bool run_on(const uint8_t *bytes, size_t size) {
    uint8_t *copy = mem_alloc(size, 1);
    if (!copy)
        return false;
    memcpy(copy, bytes, size);
    LLVMFuzzerTestOneInput(copy, size);
    mem_free(copy);
    return true;
}

static bool replay(const char *path, Diag *diag) {
    uint8_t *bytes;
    size_t size;
    if (file_read(path, &bytes, &size, diag) != STATUS_OK)
        return false;
    bool done = run_on(bytes, size) && run_on(bytes, size / 2);
    mem_free(bytes);
    return done;
}

int main(int argc, char **argv) {
    DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
    if (!folder) {
        fprintf(stderr, "usage: %s FOLDER-OF-SEEDS\n", argv[0]);
        return 2;
    }
    Diag diag = {0};
    size_t seeds = 0, done = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.')
            continue;
        char *path = mem_printf("%s/%s", argv[1], entry->d_name);
        seeds++;
        done += path && replay(path, &diag);
        mem_free(path);
    }
    closedir(folder);
    diag_print(&diag, stderr);
    diag_free(&diag);
    printf("%zu of %zu seeds replayed\n", done, seeds);
    return seeds > 0 && done == seeds ? 0 : 1;
}
