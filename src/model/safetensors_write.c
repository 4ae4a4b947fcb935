#include "base/text.h"
#include "model/safetensors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static Status write_error(Diag *diag, Status code, const char *path, const char *text) {
    return diag_error(diag, code, (DiagPlace){.file = path, .tile = -1}, "%s", text);
}

static void print_string(const char *text, FILE *out) {
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fprintf(out, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            fprintf(out, "\\u%04x", (unsigned char)*text);
        else
            fputc(*text, out);
    }
    fputc('"', out);
}

static bool is_utf8(const char *text) {
    uint32_t code_point;
    for (size_t left = strlen(text), length; left; text += length, left -= length) {
        length = utf8_next(text, left, &code_point);
        if (length == 0)
            return false;
    }
    return true;
}

/* Positions in the file: descending element size, then name. */
static int compare_places(const void *a, const void *b, void *context) {
    const SafeTensor *tensors = context;
    const SafeTensor *x = &tensors[*(const uint32_t *)a], *y = &tensors[*(const uint32_t *)b];
    uint32_t x_bits = dtype_bits(x->dtype), y_bits = dtype_bits(y->dtype);
    return x_bits != y_bits ? (x_bits > y_bits ? -1 : 1) : strcmp(x->name, y->name);
}

static Status check_tensor(const SafeTensor *tensor, const char *path, Diag *diag) {
    uint64_t count = 1, bits;
    bool counted = true;
    for (uint32_t axis = 0; axis < tensor->rank; axis++)
        counted = counted && checked_mul(count, tensor->dims[axis], &count);
    if (!counted || !checked_mul(count, dtype_bits(tensor->dtype), &bits) || bits % 8 ||
        bits / 8 != tensor->bytes)
        return write_error(diag, ERR_ST_SHAPE, path, "a tensor's size is not that of its shape");
    if (!is_utf8(tensor->name))
        return write_error(diag, ERR_ST_JSON, path, "a tensor's name is not valid UTF-8");
    if (strcmp(tensor->name, "__metadata__") == 0)
        return write_error(diag, ERR_ST_METADATA, path, "no tensor can be called __metadata__");
    return STATUS_OK;
}

static void print_entry(const SafeTensor *tensor, uint64_t begin, FILE *out) {
    print_string(tensor->name, out);
    fprintf(out, ":{\"dtype\":\"%s\",\"shape\":[", dtype_name(tensor->dtype));
    for (uint32_t axis = 0; axis < tensor->rank; axis++)
        fprintf(out, "%s%llu", axis ? "," : "", (unsigned long long)tensor->dims[axis]);
    unsigned long long first = begin, end = begin + tensor->bytes;
    fprintf(out, "],\"data_offsets\":[%llu,%llu]}", first, end);
}

/* The JSON text, padded with blanks to a multiple of 8 bytes. NULL without memory; free(). */
static char *make_header(const SafeTensor *tensors, const uint32_t *order, size_t count,
                         const SafeTensorsText *metadata, size_t metadata_count, size_t *size) {
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    if (!out)
        return NULL;
    fputc('{', out);
    if (metadata_count) {
        fputs("\"__metadata__\":{", out);
        for (size_t i = 0; i < metadata_count; i++) {
            fputs(i ? "," : "", out);
            print_string(metadata[i].key, out);
            fputc(':', out);
            print_string(metadata[i].value, out);
        }
        fputs(count ? "}," : "}", out);
    }
    uint64_t begin = 0;
    for (size_t i = 0; i < count; i++) {
        const SafeTensor *tensor = &tensors[order[i]];
        fputs(i ? "," : "", out);
        print_entry(tensor, begin, out);
        begin += tensor->bytes;
    }
    fputc('}', out);
    for (long at = ftell(out); at % 8 != 0; at++)
        fputc(' ', out);
    bool failed = ferror(out) != 0;
    if (fclose(out) == 0 && !failed)
        return text;
    free(text);
    return NULL;
}

/* What is written: tensors in `order`, whose data is their own or fetched. */
typedef struct Writing {
    const SafeTensor *tensors;
    const uint32_t *order;
    size_t count;
    const char *header;
    size_t header_size;
    SafeTensorsFetch *fetch;
    void *context;
    bool no_memory; /* fetch failed */
} Writing;

static bool write_file(FILE *out, Writing *writing) {
    uint8_t length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)((uint64_t)writing->header_size >> (8 * i));
    bool done = fwrite(length, sizeof length, 1, out) == 1 &&
                fwrite(writing->header, writing->header_size, 1, out) == 1;
    for (size_t i = 0; i < writing->count && done; i++) {
        const SafeTensor *tensor = &writing->tensors[writing->order[i]];
        if (tensor->bytes == 0)
            continue;
        const uint8_t *data =
            writing->fetch ? writing->fetch(writing->context, writing->order[i]) : tensor->data;
        writing->no_memory = !data;
        done = data && fwrite(data, (size_t)tensor->bytes, 1, out) == 1;
    }
    return done;
}

static Status write_ordered(const char *path, Writing *writing, Diag *diag) {
    char *temporary;
    Status status = file_replace_begin(path, &temporary, diag);
    if (status != STATUS_OK)
        return status;
    errno = 0;
    FILE *out = fopen(temporary, "wbe");
    bool done = out && write_file(out, writing);
    int number = errno;
    if (out && fclose(out) != 0 && done) {
        done = false;
        number = errno;
    }
    if (done) {
        status = file_replace_end(path, temporary, true, diag);
    } else {
        file_replace_end(path, temporary, false, NULL);
        status = writing->no_memory
                     ? write_error(diag, ERR_NO_MEMORY, path, "no memory left for a tensor")
                     : diag_error(diag, ERR_FILE_WRITE, (DiagPlace){.file = path, .tile = -1},
                                  "cannot write: %s", strerrordesc_np(number));
    }
    mem_free(temporary);
    return status;
}

Status safetensors_write_fetched(const char *path, const SafeTensor *tensors, size_t count,
                                 const SafeTensorsText *metadata, size_t metadata_count,
                                 SafeTensorsFetch *fetch, void *context, Diag *diag) {
    Status status = STATUS_OK;
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        status = check_tensor(&tensors[i], path, diag);
    for (size_t i = 0; i < metadata_count && status == STATUS_OK; i++) {
        if (!is_utf8(metadata[i].key) || !is_utf8(metadata[i].value))
            status = write_error(diag, ERR_ST_METADATA, path, "metadata is not valid UTF-8");
    }
    if (status != STATUS_OK)
        return status;
    uint32_t *order = mem_alloc(count + 1, sizeof *order);
    if (!order)
        return write_error(diag, ERR_NO_MEMORY, path, "no memory left for the header");
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, count, sizeof *order, compare_places, (void *)tensors);
    size_t size;
    char *header = make_header(tensors, order, count, metadata, metadata_count, &size);
    Writing writing = {tensors, order, count, header, size, fetch, context, false};
    if (header)
        status = write_ordered(path, &writing, diag);
    else
        status = write_error(diag, ERR_NO_MEMORY, path, "no memory left for the header");
    free(header);
    mem_free(order);
    return status;
}

Status safetensors_write(const char *path, const SafeTensor *tensors, size_t count,
                         const SafeTensorsText *metadata, size_t metadata_count, Diag *diag) {
    return safetensors_write_fetched(path, tensors, count, metadata, metadata_count, NULL, NULL,
                                     diag);
}
