/* Files: whole reads, read-only mappings, and writes that are seen whole or not at all. */
#pragma once

#include "base/diag.h"

#include <stdint.h>

/* Whole file as bytes plus a final 0 (not counted), for texts: at most so many bytes. Free with
 * mem_free. */
enum { FILE_READ_MOST = 256 << 20 };
Status file_read(const char *path, uint8_t **bytes, size_t *size, Diag *diag);

typedef struct FileMap {
    const uint8_t *bytes; /* NULL for an empty file */
    size_t size;
} FileMap;

/* Regular files only. */
Status file_map(const char *path, FileMap *map, Diag *diag);
void file_unmap(FileMap *map);

/* Whether two paths lead to one file that exists. */
bool file_is_same(const char *path, const char *other);

/* Writes to ".NAME.tmp-PID" in the target's folder, fsyncs, renames. Stale temporary files of dead
 * processes for the same target are removed first. A target that exists and is no regular file is
 * refused. Two threads must not write the same target at the same time. */
Status file_write_atomic(const char *path, const void *bytes, size_t size, Diag *diag);

/* The same protocol for writers that need a path of their own (SQLite): begin makes an empty
 * temporary file and gives its path, without links (free with mem_free); end fsyncs it and renames
 * it to `path`, or removes it when !keep or when it fails. end does not free `temporary`. */
Status file_replace_begin(const char *path, char **temporary, Diag *diag);
Status file_replace_end(const char *path, const char *temporary, bool keep, Diag *diag);

/* Whether `path` can be written, as far as that shows before the work is done: ERR_FILE_WRITE. */
Status file_check_target(const char *path, Diag *diag);
