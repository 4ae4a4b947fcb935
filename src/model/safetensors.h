/* SafeTensors files: a strict reader and a writer. The rules that a file must keep, and the message
 * for each, are listed in docs/safetensors.md. */
#pragma once

#include "base/file.h"
#include "base/mem.h"
#include "model/dtype.h"

typedef struct SafeTensor {
    const char *name; /* no NUL inside */
    Dtype dtype;
    uint32_t rank;
    const uint64_t *dims;
    uint64_t count, bytes; /* bytes = count × bits / 8, both checked */
    const uint8_t *data;   /* into the mapped file, unaligned; NULL if bytes is 0 */
} SafeTensor;

typedef struct SafeTensorsText {
    const char *key, *value;
} SafeTensorsText;

typedef struct SafeTensors {
    const char *path;
    SafeTensor *tensors; /* by position in the file */
    size_t count;
    uint32_t *by_name; /* indices in byte order of the names */
    SafeTensorsText *metadata;
    size_t metadata_count;
    FileMap map;
    Arena arena;
} SafeTensors;

/* Maps the file and checks every rule. Time near-linear in the header. Errors: ERR_FILE_*,
 * ERR_ST_*. */
Status safetensors_open(const char *path, SafeTensors **file, Diag *diag);
/* The same for bytes in memory, which must outlive the result. `path` is for messages. */
Status safetensors_parse(const uint8_t *bytes, size_t size, const char *path, SafeTensors **file,
                         Diag *diag);
void safetensors_close(SafeTensors *file);

/* NULL if there is none. */
const SafeTensor *safetensors_find(const SafeTensors *file, const char *name);
/* The same, but reports ERR_MODEL_TENSOR with the nearest name. */
Status safetensors_get(const SafeTensors *file, const char *name, const SafeTensor **tensor,
                       Diag *diag);

/* Writes the tensors (name, dtype, rank, dims, data) and metadata, seen whole or not at all. Order:
 * by descending element size, then name; header padded to 8 bytes; same input, same bytes. Errors:
 * ERR_FILE_WRITE, ERR_NO_MEMORY, ERR_ST_* if the input breaks a rule of the format. */
Status safetensors_write(const char *path, const SafeTensor *tensors, size_t count,
                         const SafeTensorsText *metadata, size_t metadata_count, Diag *diag);

/* The same for more data than memory holds: the data of tensors[index] is what fetch(context,
 * index) returns, which may be overwritten by the next call; NULL when there is no memory. */
typedef const uint8_t *SafeTensorsFetch(void *context, size_t index);
Status safetensors_write_fetched(const char *path, const SafeTensor *tensors, size_t count,
                                 const SafeTensorsText *metadata, size_t metadata_count,
                                 SafeTensorsFetch *fetch, void *context, Diag *diag);
