/* NumPy .npy files of little-endian floats in C order. */
#pragma once

#include "base/file.h"
#include "model/dtype.h"

typedef struct Npy {
    Dtype dtype; /* DTYPE_F16, DTYPE_F32 or DTYPE_F64 */
    uint32_t rank;
    uint64_t dims[SHAPE_MAX_RANK];
    uint64_t count;
    const uint8_t *data; /* into the mapped file, unaligned */
    FileMap map;
} Npy;

/* Versions 1 to 3. Errors: ERR_FILE_*, ERR_NPY. */
Status npy_open(const char *path, Npy *npy, Diag *diag);
Status npy_parse(const uint8_t *bytes, size_t size, const char *path, Npy *npy, Diag *diag);
void npy_close(Npy *npy);

/* Writes version 1, seen whole or not at all. */
Status npy_write(const char *path, Dtype dtype, const Shape *shape, const void *values, Diag *diag);
