/* The programs that write pages of docs/, each with its own document_write:
 *
 * NAME FILE          writes the page
 * NAME --check FILE  fails if the file is not what would be written */
#include "page.h"

#include "base/file.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int fail(Diag *diag, const char *path, const char *text) {
    diag_print(diag, stderr);
    fprintf(stderr, "%s: %s\n", path, text);
    return 1;
}

int main(int argc, char **argv) {
    bool check = argc == 3 && strcmp(argv[1], "--check") == 0;
    if (argc != (check ? 3 : 2)) {
        fprintf(stderr, "usage: %s [--check] FILE\n", program_invocation_short_name);
        return 2;
    }
    const char *path = argv[argc - 1];
    char *text = NULL;
    size_t size = 0, old_size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return 1;
    document_write(out);
    fclose(out);
    Diag diag;
    diag_init(&diag);
    int code = 0;
    if (check) {
        uint8_t *old = NULL;
        if (file_read(path, &old, &old_size, &diag) != STATUS_OK)
            code = fail(&diag, path, "cannot be compared");
        else if (old_size != size || memcmp(old, text, size) != 0)
            code = fail(&diag, path, "is out of date; write it again with ./dev");
        mem_free(old);
    } else if (file_write_atomic(path, text, size, &diag) != STATUS_OK) {
        code = fail(&diag, path, "is not written");
    }
    diag_free(&diag);
    free(text);
    return code;
}
