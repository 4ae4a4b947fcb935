#include "base/file.h"

#include "base/mem.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static Status file_error(Diag *diag, Status code, const char *path, const char *what, int number) {
    return diag_error(diag, code, (DiagPlace){.file = path, .tile = -1}, "%s: %s", what,
                      strerrordesc_np(number));
}

static Status no_memory(Diag *diag, const char *path) {
    return diag_error(diag, ERR_NO_MEMORY, (DiagPlace){.file = path, .tile = -1},
                      "no memory left on the host for this file");
}

static Status open_for_reading(const char *path, int flags, int *descriptor, struct stat *info,
                               Diag *diag) {
    *descriptor = open(path, O_RDONLY | O_CLOEXEC | flags);
    if (*descriptor < 0)
        return file_error(diag, ERR_FILE_OPEN, path, "cannot open", errno);
    if (fstat(*descriptor, info) != 0) {
        int number = errno;
        close(*descriptor);
        return file_error(diag, ERR_FILE_OPEN, path, "cannot open", number);
    }
    return STATUS_OK;
}

typedef VEC(uint8_t) Bytes;

static Status too_long(const char *path, Diag *diag) {
    return diag_error(diag, ERR_FILE_READ, (DiagPlace){.file = path, .tile = -1},
                      "cannot read: longer than %d bytes", FILE_READ_MOST);
}

/* Reads to the end: a file may grow while it is read, and a pipe tells no size. */
static Status read_all(int descriptor, const char *path, Bytes *bytes, Diag *diag) {
    for (;;) {
        if (bytes->count > FILE_READ_MOST)
            return too_long(path, diag);
        if (!vec_reserve(bytes, 4096))
            return no_memory(diag, path);
        ssize_t got =
            read(descriptor, bytes->items + bytes->count, bytes->capacity - bytes->count - 1);
        if (got > 0)
            bytes->count += (size_t)got;
        else if (got == 0)
            return STATUS_OK;
        else if (errno != EINTR)
            return file_error(diag, ERR_FILE_READ, path, "cannot read", errno);
    }
}

Status file_read(const char *path, uint8_t **bytes, size_t *size, Diag *diag) {
    int descriptor;
    struct stat info;
    Status status = open_for_reading(path, 0, &descriptor, &info, diag);
    if (status != STATUS_OK)
        return status;
    Bytes read = {0};
    if (S_ISREG(info.st_mode) && info.st_size > FILE_READ_MOST)
        status = too_long(path, diag);
    else if (S_ISREG(info.st_mode) && !vec_reserve(&read, (size_t)info.st_size + 4096))
        status = no_memory(diag, path);
    else
        status = read_all(descriptor, path, &read, diag);
    close(descriptor);
    if (status != STATUS_OK) {
        vec_free(&read);
        return status;
    }
    read.items[read.count] = 0;
    *bytes = read.items;
    *size = read.count;
    return STATUS_OK;
}

Status file_map(const char *path, FileMap *map, Diag *diag) {
    *map = (FileMap){0};
    int descriptor;
    struct stat info;
    /* Without waiting for the writer of a pipe, which is refused anyway. */
    Status status = open_for_reading(path, O_NONBLOCK, &descriptor, &info, diag);
    if (status != STATUS_OK)
        return status;
    if (!S_ISREG(info.st_mode)) {
        status = diag_error(diag, ERR_FILE_READ, (DiagPlace){.file = path, .tile = -1},
                            "cannot read: not a regular file");
    } else if (info.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (bytes == MAP_FAILED)
            status = file_error(diag, ERR_FILE_READ, path, "cannot read", errno);
        else
            *map = (FileMap){bytes, (size_t)info.st_size};
    }
    close(descriptor);
    return status;
}

void file_unmap(FileMap *map) {
    if (map->bytes)
        munmap((void *)map->bytes, map->size);
    *map = (FileMap){0};
}

bool file_is_same(const char *path, const char *other) {
    struct stat a, b;
    return stat(path, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* Length of the folder part of a path, its last '/' included. */
static size_t folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* The process that owns the temporary file called `entry`, 0 if it is none of this target's. */
static pid_t temporary_owner(const char *entry, const char *prefix) {
    size_t length = strlen(prefix);
    if (strncmp(entry, prefix, length) != 0)
        return 0;
    const char *digits = entry + length;
    size_t count = strspn(digits, "0123456789");
    if (count == 0 || count > 9 || digits[count] != 0)
        return 0;
    return (pid_t)strtol(digits, NULL, 10);
}

/* Removes what killed processes left for this target. Whatever goes wrong is no error: the write
 * itself will tell. */
static void remove_stale(const char *folder, const char *prefix) {
    DIR *entries = opendir(folder);
    if (!entries)
        return;
    for (struct dirent *entry; (entry = readdir(entries));) {
        pid_t owner = temporary_owner(entry->d_name, prefix);
        bool dead = owner > 0 && kill(owner, 0) != 0 && errno == ESRCH;
        if (dead || owner == getpid())
            unlinkat(dirfd(entries), entry->d_name, 0);
    }
    closedir(entries);
}

/* The path of the temporary file, NULL without memory. Its folder is written out: SQLite follows
 * ".." by text, the system follows links first. */
static char *temporary_path(const char *folder, const char *name) {
    char *prefix = mem_printf(".%s.tmp-", name);
    if (!prefix)
        return NULL;
    remove_stale(folder, prefix);
    char *path = mem_printf("%s/%s%d", folder, prefix, (int)getpid());
    mem_free(prefix);
    return path;
}

Status file_replace_begin(const char *path, char **temporary, Diag *diag) {
    *temporary = NULL;
    struct stat info;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return diag_error(diag, ERR_FILE_WRITE, (DiagPlace){.file = path, .tile = -1},
                          "cannot write: not a regular file");
    size_t length = folder_length(path);
    const char *name = path + length;
    if (*name == 0)
        return file_error(diag, ERR_FILE_WRITE, path, "cannot write", EISDIR);
    char *folder = length ? mem_printf("%.*s", (int)length, path) : mem_strdup(".");
    if (!folder)
        return no_memory(diag, path);
    char real_folder[PATH_MAX];
    int number = realpath(folder, real_folder) ? 0 : errno;
    mem_free(folder);
    if (number)
        return file_error(diag, ERR_FILE_WRITE, path, "cannot write", number);
    *temporary = temporary_path(real_folder, name);
    if (!*temporary)
        return no_memory(diag, path);
    int descriptor = open(*temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0) {
        close(descriptor);
        return STATUS_OK;
    }
    Status status = file_error(diag, ERR_FILE_WRITE, path, "cannot write", errno);
    mem_free(*temporary);
    *temporary = NULL;
    return status;
}

/* 0, or the error number. */
static int sync_path(const char *path, int flags) {
    int descriptor = open(path, flags | O_CLOEXEC);
    if (descriptor < 0)
        return errno;
    int number = fsync(descriptor) == 0 ? 0 : errno;
    close(descriptor);
    return number;
}

/* The folder's own fsync makes the new name durable; some file systems refuse it, and the file is
 * whole without it. */
static void sync_folder(const char *path) {
    size_t length = folder_length(path);
    char *folder = length ? mem_printf("%.*s", (int)length, path) : mem_strdup(".");
    if (folder)
        sync_path(folder, O_RDONLY | O_DIRECTORY);
    mem_free(folder);
}

Status file_replace_end(const char *path, const char *temporary, bool keep, Diag *diag) {
    if (!keep) {
        unlink(temporary);
        return STATUS_OK;
    }
    int number = sync_path(temporary, O_RDONLY);
    if (number == 0 && rename(temporary, path) != 0)
        number = errno;
    if (number) {
        unlink(temporary);
        return file_error(diag, ERR_FILE_WRITE, path, "cannot write", number);
    }
    sync_folder(path);
    return STATUS_OK;
}

/* 0, or the error number. */
static int write_all(const char *path, const uint8_t *bytes, size_t size) {
    int descriptor = open(path, O_WRONLY | O_CLOEXEC);
    if (descriptor < 0)
        return errno;
    int number = 0;
    while (size && number == 0) {
        ssize_t put = write(descriptor, bytes, size);
        if (put >= 0) {
            bytes += put;
            size -= (size_t)put;
        } else if (errno != EINTR) {
            number = errno;
        }
    }
    if (close(descriptor) != 0 && number == 0)
        number = errno;
    return number;
}

Status file_check_target(const char *path, Diag *diag) {
    char *temporary;
    Status status = file_replace_begin(path, &temporary, diag);
    if (status == STATUS_OK)
        unlink(temporary);
    mem_free(temporary);
    return status;
}

Status file_write_atomic(const char *path, const void *bytes, size_t size, Diag *diag) {
    char *temporary;
    Status status = file_replace_begin(path, &temporary, diag);
    if (status != STATUS_OK)
        return status;
    int number = write_all(temporary, bytes, size);
    if (number == 0) {
        status = file_replace_end(path, temporary, true, diag);
    } else {
        unlink(temporary);
        status = file_error(diag, ERR_FILE_WRITE, path, "cannot write", number);
    }
    mem_free(temporary);
    return status;
}
