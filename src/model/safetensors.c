#include "model/safetensors.h"

#include "base/text.h"
#include "model/jsonlex.h"

#include <stdlib.h>
#include <string.h>

/* Limits of the format's reference reader and schema. */
#define HEADER_MAX    100000000u
#define DIMENSION_MAX ((1ull << 48) - 1)
#define DEPTH_MAX     4 /* of the header; deeper nesting serves no purpose */

typedef struct Reader {
    SafeTensors *file;
    const uint8_t *data; /* behind the header */
    uint64_t data_size;
    Json json;
    VEC(SafeTensor) tensors;
    VEC(uint64_t) begins; /* data_offsets of each tensor */
    VEC(uint64_t) ends;
    VEC(SafeTensorsText) metadata;
    VEC(uint64_t) dims; /* of the entry being read */
    Diag *diag;
} Reader;

static Status file_error(const Reader *reader, Status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static Status file_error(const Reader *reader, Status code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = mem_vprintf(format, arguments);
    va_end(arguments);
    diag_error(reader->diag, code, (DiagPlace){.file = reader->file->path, .tile = -1}, "%s",
               text ? text : "no memory for the details");
    mem_free(text);
    return code;
}

static Status tensor_error(const Reader *reader, Status code, const char *name, const char *format,
                           ...) __attribute__((format(printf, 4, 5)));

static Status tensor_error(const Reader *reader, Status code, const char *name, const char *format,
                           ...) {
    char shown[TEXT_PRINTABLE];
    char *object = mem_printf("tensor %s", text_printable(name, shown));
    va_list arguments;
    va_start(arguments, format);
    char *text = mem_vprintf(format, arguments);
    va_end(arguments);
    diag_error(reader->diag, code,
               (DiagPlace){.file = reader->file->path, .tile = -1, .object = object}, "%s",
               text ? text : "no memory for the details");
    mem_free(object);
    mem_free(text);
    return code;
}

static Status no_memory(const Reader *reader) {
    return file_error(reader, ERR_NO_MEMORY, "no memory left for the header");
}

/* Why the lexer failed. */
static Status json_error(const Reader *reader) {
    if (reader->json.no_memory)
        return no_memory(reader);
    char object[48];
    snprintf(object, sizeof object, "header byte %zu", reader->json.at);
    return diag_error(reader->diag, ERR_ST_JSON,
                      (DiagPlace){.file = reader->file->path, .tile = -1, .object = object},
                      "expected %s", reader->json.error);
}

static Status read_metadata(Reader *reader) {
    Json *json = &reader->json;
    if (jsonlex_peek(json) != JSON_OBJECT)
        return file_error(reader, ERR_ST_METADATA, "__metadata__ is no object");
    jsonlex_want(json, '{');
    const char *key;
    for (bool first = true; jsonlex_next_member(json, &reader->file->arena, &first, &key);) {
        if (jsonlex_peek(json) != JSON_STRING) {
            char shown[TEXT_PRINTABLE];
            return file_error(reader, ERR_ST_METADATA, "metadata value of \"%s\" is no string",
                              text_printable(key, shown));
        }
        const char *value = jsonlex_string(json, &reader->file->arena);
        if (!value)
            return json_error(reader);
        if (!vec_push(&reader->metadata, (SafeTensorsText){key, value}))
            return no_memory(reader);
    }
    return jsonlex_failed(json) ? json_error(reader) : STATUS_OK;
}

static Status read_dtype(Reader *reader, SafeTensor *tensor) {
    Json *json = &reader->json;
    if (jsonlex_peek(json) != JSON_STRING)
        return tensor_error(reader, ERR_ST_ENTRY, tensor->name, "dtype must be a string");
    const char *name = jsonlex_string(json, &reader->file->arena);
    if (!name)
        return json_error(reader);
    char shown[TEXT_PRINTABLE];
    if (!dtype_parse(name, strlen(name), &tensor->dtype))
        return tensor_error(reader, ERR_ST_DTYPE, tensor->name, "unknown dtype \"%s\"",
                            text_printable(name, shown));
    return STATUS_OK;
}

/* An array of whole numbers into reader->dims. */
static Status read_numbers(Reader *reader, const SafeTensor *tensor, const char *member,
                           const char *element) {
    Json *json = &reader->json;
    reader->dims.count = 0;
    if (jsonlex_peek(json) != JSON_ARRAY)
        return tensor_error(reader, ERR_ST_ENTRY, tensor->name, "%s must be an array", member);
    jsonlex_want(json, '[');
    for (bool first = true; jsonlex_next_element(json, &first);) {
        uint64_t number;
        if (!jsonlex_whole(json, &number))
            return tensor_error(reader, ERR_ST_ENTRY, tensor->name, "%s must be %s", element,
                                json->error);
        if (!vec_push(&reader->dims, number))
            return no_memory(reader);
    }
    return jsonlex_failed(json) ? json_error(reader) : STATUS_OK;
}

static Status read_shape(Reader *reader, SafeTensor *tensor) {
    Status status = read_numbers(reader, tensor, "shape", "a dimension");
    if (status != STATUS_OK)
        return status;
    size_t rank = reader->dims.count;
    uint64_t *dims = ARENA_NEW(&reader->file->arena, uint64_t, rank + 1);
    if (!dims)
        return no_memory(reader);
    if (rank)
        memcpy(dims, reader->dims.items, rank * sizeof *dims);
    tensor->dims = dims;
    tensor->rank = (uint32_t)rank;
    return STATUS_OK;
}

static Status read_offsets(Reader *reader, SafeTensor *tensor, uint64_t *begin, uint64_t *end) {
    Status status = read_numbers(reader, tensor, "data_offsets", "an offset");
    if (status != STATUS_OK)
        return status;
    if (reader->dims.count != 2)
        return tensor_error(reader, ERR_ST_ENTRY, tensor->name, "data_offsets must be two numbers");
    *begin = reader->dims.items[0];
    *end = reader->dims.items[1];
    return STATUS_OK;
}

/* Element count and bytes of a tensor whose dtype and dims are set. */
static Status size_tensor(const Reader *reader, SafeTensor *tensor) {
    tensor->count = 1;
    for (uint32_t axis = 0; axis < tensor->rank; axis++) {
        if (tensor->dims[axis] > DIMENSION_MAX)
            return tensor_error(reader, ERR_ST_SHAPE, tensor->name, "dimension %u is 2^48 or more",
                                axis);
        if (!checked_mul(tensor->count, tensor->dims[axis], &tensor->count))
            return tensor_error(reader, ERR_ST_SHAPE, tensor->name,
                                "the product of the dimensions exceeds 64 bits");
    }
    uint64_t bits;
    if (!checked_mul(tensor->count, dtype_bits(tensor->dtype), &bits))
        return tensor_error(reader, ERR_ST_SHAPE, tensor->name,
                            "the number of bits exceeds 64 bits");
    if (bits % 8)
        return tensor_error(reader, ERR_ST_SHAPE, tensor->name,
                            "%llu elements of %s are no whole number of bytes",
                            (unsigned long long)tensor->count, dtype_name(tensor->dtype));
    tensor->bytes = bits / 8;
    return STATUS_OK;
}

static Status read_entry(Reader *reader, const char *name) {
    enum { DTYPE = 1, SHAPE = 2, OFFSETS = 4 };
    Json *json = &reader->json;
    SafeTensor tensor = {.name = name};
    uint64_t begin = 0, end = 0;
    unsigned given = 0;
    if (jsonlex_peek(json) != JSON_OBJECT)
        return tensor_error(reader, ERR_ST_ENTRY, name, "the entry must be an object");
    jsonlex_want(json, '{');
    const char *key;
    for (bool first = true; jsonlex_next_member(json, &reader->file->arena, &first, &key);) {
        unsigned member = strcmp(key, "dtype") == 0          ? DTYPE
                          : strcmp(key, "shape") == 0        ? SHAPE
                          : strcmp(key, "data_offsets") == 0 ? OFFSETS
                                                             : 0;
        if (given & member)
            return tensor_error(reader, ERR_ST_DUPLICATE, name, "%s is given twice", key);
        given |= member;
        Status status = STATUS_OK;
        if (member == DTYPE)
            status = read_dtype(reader, &tensor);
        else if (member == SHAPE)
            status = read_shape(reader, &tensor);
        else if (member == OFFSETS)
            status = read_offsets(reader, &tensor, &begin, &end);
        else if (!jsonlex_skip(json, DEPTH_MAX - 2))
            status = json_error(reader);
        if (status != STATUS_OK)
            return status;
    }
    if (jsonlex_failed(json))
        return json_error(reader);
    if (given != (DTYPE | SHAPE | OFFSETS))
        return tensor_error(reader, ERR_ST_ENTRY, name, "%s is missing",
                            given & DTYPE ? given & SHAPE ? "data_offsets" : "shape" : "dtype");
    Status status = size_tensor(reader, &tensor);
    if (status != STATUS_OK)
        return status;
    return vec_push(&reader->tensors, tensor) && vec_push(&reader->begins, begin) &&
                   vec_push(&reader->ends, end)
               ? STATUS_OK
               : no_memory(reader);
}

static Status read_header(Reader *reader) {
    Json *json = &reader->json;
    bool has_metadata = false;
    if (!jsonlex_want(json, '{'))
        return json_error(reader);
    const char *key;
    for (bool first = true; jsonlex_next_member(json, &reader->file->arena, &first, &key);) {
        Status status;
        if (strcmp(key, "__metadata__") != 0)
            status = read_entry(reader, key);
        else if (has_metadata)
            status = file_error(reader, ERR_ST_DUPLICATE, "__metadata__ is given twice");
        else
            status = read_metadata(reader);
        has_metadata |= strcmp(key, "__metadata__") == 0;
        if (status != STATUS_OK)
            return status;
    }
    if (jsonlex_failed(json))
        return json_error(reader);
    jsonlex_skip_space(json);
    if (json->at < json->size) {
        json->error = "nothing after the header's object";
        return json_error(reader);
    }
    return STATUS_OK;
}

static int compare_names(const void *a, const void *b, void *context) {
    const SafeTensor *tensors = context;
    return strcmp(tensors[*(const uint32_t *)a].name, tensors[*(const uint32_t *)b].name);
}

/* Fills by_name of a file whose tensors have names; one that is there twice is an error. */
static Status index_names(const Reader *reader) {
    SafeTensors *file = reader->file;
    file->by_name = ARENA_NEW(&file->arena, uint32_t, file->count + 1);
    if (!file->by_name)
        return no_memory(reader);
    for (size_t i = 0; i < file->count; i++)
        file->by_name[i] = (uint32_t)i;
    qsort_r(file->by_name, file->count, sizeof *file->by_name, compare_names, file->tensors);
    for (size_t i = 1; i < file->count; i++) {
        const char *name = file->tensors[file->by_name[i]].name;
        char shown[TEXT_PRINTABLE];
        if (strcmp(file->tensors[file->by_name[i - 1]].name, name) == 0)
            return file_error(reader, ERR_ST_DUPLICATE, "two tensors have the name \"%s\"",
                              text_printable(name, shown));
    }
    return STATUS_OK;
}

static int compare_metadata(const void *a, const void *b) {
    return strcmp(((const SafeTensorsText *)a)->key, ((const SafeTensorsText *)b)->key);
}

static Status keep_metadata(Reader *reader) {
    SafeTensors *file = reader->file;
    size_t count = reader->metadata.count;
    file->metadata = ARENA_NEW(&file->arena, SafeTensorsText, count + 1);
    if (!file->metadata)
        return no_memory(reader);
    if (count == 0)
        return STATUS_OK;
    memcpy(file->metadata, reader->metadata.items, count * sizeof *file->metadata);
    file->metadata_count = count;
    qsort(file->metadata, count, sizeof *file->metadata, compare_metadata);
    for (size_t i = 1; i < count; i++) {
        char shown[TEXT_PRINTABLE];
        if (strcmp(file->metadata[i - 1].key, file->metadata[i].key) == 0)
            return file_error(reader, ERR_ST_DUPLICATE, "metadata has the key \"%s\" twice",
                              text_printable(file->metadata[i].key, shown));
    }
    return STATUS_OK;
}

static int compare_offsets(const void *a, const void *b, void *context) {
    const Reader *reader = context;
    uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    uint64_t x = reader->begins.items[i], y = reader->begins.items[j];
    if (x == y) {
        x = reader->ends.items[i];
        y = reader->ends.items[j];
    }
    /* Empty tensors at one place keep the header's order. */
    return x != y ? (x < y ? -1 : 1) : (i < j ? -1 : i > j);
}

/* One tensor's offsets, the tensors before it ending at `previous`. */
static Status check_offsets(const Reader *reader, uint32_t i, uint64_t previous) {
    const SafeTensor *tensor = &reader->tensors.items[i];
    unsigned long long begin = reader->begins.items[i], end = reader->ends.items[i];
    if (begin > end)
        return tensor_error(reader, ERR_ST_OFFSETS, tensor->name,
                            "data_offsets begin (%llu) after they end (%llu)", begin, end);
    if (end - begin != tensor->bytes)
        return tensor_error(reader, ERR_ST_OFFSETS, tensor->name,
                            "data_offsets span %llu bytes, but its shape takes %llu", end - begin,
                            (unsigned long long)tensor->bytes);
    if (begin != previous)
        return tensor_error(
            reader, ERR_ST_OFFSETS, tensor->name,
            "its data begins at byte %llu, %s the tensors before it end at %llu", begin,
            begin > previous ? "leaving a hole:" : "overlapping:", (unsigned long long)previous);
    if (end > reader->data_size) {
        tensor_error(reader, ERR_ST_OFFSETS, tensor->name,
                     "its data ends at byte %llu, %llu bytes beyond the end of the file", end,
                     end - (unsigned long long)reader->data_size);
        diag_fix(reader->diag, "the file is incomplete: fetch it again");
        return ERR_ST_OFFSETS;
    }
    return STATUS_OK;
}

/* Moves the tensors into the file, sorted by position, and checks that no name is there twice and
 * that they fill the data. */
static Status place_tensors(Reader *reader) {
    SafeTensors *file = reader->file;
    size_t count = reader->tensors.count;
    uint32_t *order = mem_alloc(count + 1, sizeof *order);
    file->tensors = ARENA_NEW(&file->arena, SafeTensor, count + 1);
    if (!order || !file->tensors) {
        mem_free(order);
        return no_memory(reader);
    }
    for (size_t i = 0; i < count; i++)
        order[i] = (uint32_t)i;
    qsort_r(order, count, sizeof *order, compare_offsets, reader);
    for (size_t i = 0; i < count; i++)
        file->tensors[i] = reader->tensors.items[order[i]];
    file->count = count;
    uint64_t previous = 0;
    Status status = index_names(reader);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        status = check_offsets(reader, order[i], previous);
        previous = reader->ends.items[order[i]];
        if (status == STATUS_OK && file->tensors[i].bytes)
            file->tensors[i].data = reader->data + reader->begins.items[order[i]];
    }
    mem_free(order);
    if (status == STATUS_OK && previous != reader->data_size)
        status = file_error(reader, ERR_ST_OFFSETS, "%llu bytes follow the last tensor",
                            (unsigned long long)(reader->data_size - previous));
    return status;
}

static Status read_length(const Reader *reader, const uint8_t *bytes, size_t size,
                          uint64_t *length) {
    if (size < 8)
        return file_error(reader, ERR_ST_HEADER,
                          "%zu bytes are too few for the length of a header, which takes 8", size);
    *length = 0;
    for (int i = 8; i-- > 0;)
        *length = *length << 8 | bytes[i];
    if (*length > HEADER_MAX)
        return file_error(reader, ERR_ST_HEADER,
                          "the header length %llu exceeds the limit of %u bytes",
                          (unsigned long long)*length, HEADER_MAX);
    if (*length > size - 8)
        return file_error(reader, ERR_ST_HEADER,
                          "the header of %llu bytes ends %llu bytes beyond the end of the file",
                          (unsigned long long)*length, (unsigned long long)(*length - (size - 8)));
    return STATUS_OK;
}

static Status parse(Reader *reader, const uint8_t *bytes, size_t size) {
    uint64_t length = 0;
    Status status = read_length(reader, bytes, size, &length);
    if (status != STATUS_OK)
        return status;
    reader->json = (Json){.text = (const char *)bytes + 8, .size = (size_t)length};
    reader->data = bytes + 8 + length;
    reader->data_size = size - 8 - length;
    status = read_header(reader);
    if (status == STATUS_OK)
        status = place_tensors(reader);
    if (status == STATUS_OK)
        status = keep_metadata(reader);
    return status;
}

Status safetensors_parse(const uint8_t *bytes, size_t size, const char *path, SafeTensors **file,
                         Diag *diag) {
    SafeTensors *parsed = mem_alloc(1, sizeof *parsed);
    if (!parsed || !(parsed->path = arena_strdup(&parsed->arena, path))) {
        safetensors_close(parsed);
        return diag_error(diag, ERR_NO_MEMORY, (DiagPlace){.file = path, .tile = -1},
                          "no memory left for the header");
    }
    Reader reader = {.file = parsed, .diag = diag};
    Status status = parse(&reader, bytes, size);
    vec_free(&reader.tensors);
    vec_free(&reader.begins);
    vec_free(&reader.ends);
    vec_free(&reader.metadata);
    vec_free(&reader.dims);
    if (status == STATUS_OK)
        *file = parsed;
    else
        safetensors_close(parsed);
    return status;
}

Status safetensors_open(const char *path, SafeTensors **file, Diag *diag) {
    FileMap map;
    Status status = file_map(path, &map, diag);
    if (status != STATUS_OK)
        return status;
    status = safetensors_parse(map.bytes, map.size, path, file, diag);
    if (status == STATUS_OK)
        (*file)->map = map;
    else
        file_unmap(&map);
    return status;
}

void safetensors_close(SafeTensors *file) {
    if (!file)
        return;
    file_unmap(&file->map);
    arena_free(&file->arena);
    mem_free(file);
}

const SafeTensor *safetensors_find(const SafeTensors *file, const char *name) {
    size_t low = 0, high = file->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const SafeTensor *tensor = &file->tensors[file->by_name[middle]];
        int order = strcmp(name, tensor->name);
        if (order == 0)
            return tensor;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

Status safetensors_get(const SafeTensors *file, const char *name, const SafeTensor **tensor,
                       Diag *diag) {
    *tensor = safetensors_find(file, name);
    if (*tensor)
        return STATUS_OK;
    char shown[TEXT_PRINTABLE];
    diag_error(diag, ERR_MODEL_TENSOR, (DiagPlace){.file = file->path, .tile = -1},
               "no tensor is called \"%s\"", text_printable(name, shown));
    Nearest nearest = nearest_begin(name);
    for (size_t i = 0; i < file->count; i++)
        nearest_offer(&nearest, file->tensors[i].name);
    if (nearest.best)
        diag_fix(diag, "the nearest name is \"%s\"", text_printable(nearest.best, shown));
    else if (file->count == 1)
        diag_fix(diag, "the file holds one tensor, \"%s\"",
                 text_printable(file->tensors[0].name, shown));
    return ERR_MODEL_TENSOR;
}
