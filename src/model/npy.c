#include "model/npy.h"

#include "base/mem.h"

#include <errno.h>
#include <string.h>

/* The header is a Python dict literal; this cursor reads the form that NumPy writes. */
typedef struct Cursor {
    const char *at, *end;
} Cursor;

static Status npy_error(Diag *diag, const char *path, const char *text) {
    return diag_error(diag, ERR_NPY, (DiagPlace){.file = path, .tile = -1}, "%s", text);
}

static void skip_blanks(Cursor *cursor) {
    while (cursor->at < cursor->end && (*cursor->at == ' ' || *cursor->at == '\n'))
        cursor->at++;
}

/* Takes `text` after blanks. */
static bool take(Cursor *cursor, const char *text) {
    skip_blanks(cursor);
    size_t size = strlen(text);
    if ((size_t)(cursor->end - cursor->at) < size || memcmp(cursor->at, text, size) != 0)
        return false;
    cursor->at += size;
    return true;
}

static bool take_dtype(Cursor *cursor, Dtype *dtype) {
    static const struct {
        const char *text;
        Dtype dtype;
    } known[] = {{"'<f2'", DTYPE_F16}, {"'<f4'", DTYPE_F32}, {"'<f8'", DTYPE_F64}};
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (take(cursor, known[i].text)) {
            *dtype = known[i].dtype;
            return true;
        }
    }
    return false;
}

static bool take_number(Cursor *cursor, uint64_t *number) {
    skip_blanks(cursor);
    const char *start = cursor->at;
    *number = 0;
    for (; cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9'; cursor->at++) {
        if (!checked_mul(*number, 10, number) ||
            !checked_add(*number, (uint64_t)(*cursor->at - '0'), number))
            return false;
    }
    return cursor->at > start;
}

/* (), (3,), (3, 4), (3, 4,) */
static const char *take_shape(Cursor *cursor, Npy *npy) {
    npy->rank = 0;
    if (!take(cursor, "("))
        return "shape must be a tuple";
    while (!take(cursor, ")")) {
        if (npy->rank == SHAPE_MAX_RANK)
            return "more axes than the six that are read here";
        if (!take_number(cursor, &npy->dims[npy->rank++]))
            return "a dimension must be a whole number below 2^64";
        if (take(cursor, ","))
            continue;
        if (npy->rank == 1 || !take(cursor, ")"))
            return "shape must be a tuple";
        break;
    }
    return NULL;
}

/* NULL, or what is wrong. */
static const char *read_header(Cursor *cursor, Npy *npy) {
    enum { DESCR = 1, ORDER = 2, SHAPE = 4 };
    unsigned given = 0;
    if (!take(cursor, "{"))
        return "the header is no dict";
    while (!take(cursor, "}")) {
        unsigned key;
        const char *error = NULL;
        if (take(cursor, "'descr'") && take(cursor, ":")) {
            key = DESCR;
            if (!take_dtype(cursor, &npy->dtype))
                error = "descr must be '<f2', '<f4' or '<f8'";
        } else if (take(cursor, "'fortran_order'") && take(cursor, ":")) {
            key = ORDER;
            if (!take(cursor, "False"))
                error = "fortran_order must be False";
        } else if (take(cursor, "'shape'") && take(cursor, ":")) {
            key = SHAPE;
            error = take_shape(cursor, npy);
        } else {
            return "the header has other keys than descr, fortran_order and shape";
        }
        if (error)
            return error;
        if (given & key)
            return "the header has a key twice";
        given |= key;
        if (take(cursor, ","))
            continue;
        if (!take(cursor, "}"))
            return "the header is no dict";
        break;
    }
    skip_blanks(cursor);
    if (cursor->at != cursor->end)
        return "text follows the header's dict";
    return given == (DESCR | ORDER | SHAPE) ? NULL
                                            : "the header lacks descr, fortran_order or shape";
}

/* Extent of the header text; false if the file is too short or of another version. */
static bool find_header(const uint8_t *bytes, size_t size, size_t *start, size_t *length) {
    if (size < 10 || bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)
        return false;
    *start = bytes[6] == 1 ? 10 : 12;
    *length = bytes[8] | (size_t)bytes[9] << 8;
    if (bytes[6] > 1) {
        if (size < 12)
            return false;
        *length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    }
    return *length <= size - *start;
}

Status npy_parse(const uint8_t *bytes, size_t size, const char *path, Npy *npy, Diag *diag) {
    *npy = (Npy){0};
    size_t start, length;
    if (size < 6 || memcmp(bytes, "\x93NUMPY", 6) != 0)
        return npy_error(diag, path, "not a .npy file: it does not begin with \\x93NUMPY");
    if (!find_header(bytes, size, &start, &length))
        return npy_error(diag, path, "the file is cut off, or of a version above 3");
    Cursor cursor = {(const char *)bytes + start, (const char *)bytes + start + length};
    const char *error = read_header(&cursor, npy);
    if (error) {
        npy_error(diag, path, error);
        diag_fix(diag, "save it with numpy.save(path, numpy.ascontiguousarray(array, '<f4'))");
        return ERR_NPY;
    }
    npy->count = 1;
    uint64_t data_bytes;
    bool counted = true;
    for (uint32_t axis = 0; axis < npy->rank; axis++)
        counted = counted && checked_mul(npy->count, npy->dims[axis], &npy->count);
    if (!counted || !checked_mul(npy->count, dtype_bits(npy->dtype) / 8, &data_bytes))
        return npy_error(diag, path, "the size of the array exceeds 64 bits");
    uint64_t found = size - start - length;
    if (found != data_bytes)
        return diag_error(diag, ERR_NPY, (DiagPlace){.file = path, .tile = -1},
                          "the shape takes %llu bytes, but the file holds %llu",
                          (unsigned long long)data_bytes, (unsigned long long)found);
    npy->data = bytes + start + length;
    return STATUS_OK;
}

Status npy_open(const char *path, Npy *npy, Diag *diag) {
    FileMap map;
    Status status = file_map(path, &map, diag);
    if (status != STATUS_OK)
        return status;
    status = npy_parse(map.bytes, map.size, path, npy, diag);
    if (status == STATUS_OK)
        npy->map = map;
    else
        file_unmap(&map);
    return status;
}

void npy_close(Npy *npy) {
    file_unmap(&npy->map);
    *npy = (Npy){0};
}

/* Magic, version 1.0, length and the dict, padded so that the data is 64-byte aligned. */
static size_t make_header(Dtype dtype, const Shape *shape, char header[256]) {
    char dims[16 * SHAPE_MAX_RANK] = "";
    size_t used = 0;
    for (uint32_t axis = 0; axis < shape->rank; axis++)
        used += (size_t)snprintf(dims + used, sizeof dims - used, "%s%u", axis ? ", " : "",
                                 shape->dims[axis]);
    int size =
        snprintf(header + 10, 246, "{'descr': '<f%u', 'fortran_order': False, 'shape': (%s%s), }",
                 dtype_bits(dtype) / 8, dims, shape->rank == 1 ? "," : "");
    size_t total = align_up(10 + (uint64_t)size + 1, 64);
    memset(header + 10 + size, ' ', total - 10 - (size_t)size);
    header[total - 1] = '\n';
    memcpy(header, "\x93NUMPY\x01\x00", 8);
    header[8] = (char)((total - 10) & 0xFF);
    header[9] = (char)((total - 10) >> 8);
    return total;
}

Status npy_write(const char *path, Dtype dtype, const Shape *shape, const void *values,
                 Diag *diag) {
    char header[256];
    size_t start = make_header(dtype, shape, header);
    uint64_t count, bytes;
    if (!shape_count(shape, &count) || !checked_mul(count, dtype_bits(dtype) / 8, &bytes) ||
        !checked_add(bytes, start, &bytes))
        return npy_error(diag, path, "the size of the array exceeds 64 bits");
    uint8_t *file = mem_alloc(bytes, 1);
    if (!file)
        return diag_error(diag, ERR_NO_MEMORY, (DiagPlace){.file = path, .tile = -1},
                          "no memory left for the file's content");
    memcpy(file, header, start);
    memcpy(file + start, values, bytes - start);
    Status status = file_write_atomic(path, file, bytes, diag);
    mem_free(file);
    return status;
}
