#include "api/headers.h"

#include "asm/asm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_HEADERS = 100 };

/* Remembers a path for api_headers_free; takes it over. */
static bool keep(ApiHeaders *headers, char *path) {
    if (path && vec_push(&headers->made, path))
        return true;
    mem_free(path);
    return false;
}

static bool make_folder(ApiHeaders *headers) {
    const char *where = getenv("TMPDIR");
    headers->folder = mem_printf("%s/tilework-headers-XXXXXX", where && *where ? where : "/tmp");
    if (headers->folder && mkdtemp(headers->folder))
        return true;
    mem_free(headers->folder);
    headers->folder = NULL;
    return false;
}

/* The folders of "a/b/c.h": a, then a/b. One that is there already is one of ours. */
static bool make_parents(ApiHeaders *headers, const char *name) {
    for (const char *at = strchr(name, '/'); at; at = strchr(at + 1, '/')) {
        char *path = mem_printf("%s/%.*s", headers->folder, (int)(at - name), name);
        struct stat info;
        if (path && stat(path, &info) == 0) {
            mem_free(path);
            continue;
        }
        if (!path || mkdir(path, 0700) != 0) {
            mem_free(path);
            return false;
        }
        if (!keep(headers, path))
            return false;
    }
    return true;
}

static bool write_names(const char *path) {
    FILE *out = fopen(path, "wx");
    if (!out)
        return false;
    size_t count;
    const AsmDefine *defines = asm_standard_defines(&count);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "#ifndef %s\n#define %s %lld\n#endif\n", defines[i].name, defines[i].name,
                (long long)defines[i].value);
    return fclose(out) == 0;
}

bool api_headers_add(ApiHeaders *headers, const char *name) {
    if (!*name || *name == '/' || strstr(name, "..") || strlen(name) > 200 ||
        headers->made.count >= MOST_HEADERS)
        return false;
    if (!headers->folder && !make_folder(headers))
        return false;
    char *path = mem_printf("%s/%s", headers->folder, name);
    if (path && make_parents(headers, name) && write_names(path))
        return keep(headers, path);
    mem_free(path);
    return false;
}

void api_headers_free(ApiHeaders *headers) {
    while (headers->made.count > 0) {
        char *path = headers->made.items[--headers->made.count];
        remove(path); /* a file or an empty folder */
        mem_free(path);
    }
    if (headers->folder)
        rmdir(headers->folder);
    mem_free(headers->folder);
    vec_free(&headers->made);
    *headers = (ApiHeaders){0};
}
