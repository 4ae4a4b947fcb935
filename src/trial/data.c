/* Buffers: descriptions, contents, values. */
#include "trial/internal.h"

#include "base/file.h"
#include "base/random.h"
#include "base/text.h"
#include "model/npy.h"
#include "num/f8.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct TypeInfo {
    const char *name;
    uint8_t bytes;
    bool real, is_signed;
} TypeInfo;

static const TypeInfo types[TRIAL_TYPE_COUNT] = {
    [TRIAL_F8] = {"f8", 1, true, true},     [TRIAL_F16] = {"f16", 2, true, true},
    [TRIAL_F32] = {"f32", 4, true, true},   [TRIAL_U8] = {"u8", 1, false, false},
    [TRIAL_U16] = {"u16", 2, false, false}, [TRIAL_U32] = {"u32", 4, false, false},
    [TRIAL_I8] = {"i8", 1, false, true},    [TRIAL_I16] = {"i16", 2, false, true},
    [TRIAL_I32] = {"i32", 4, false, true},
};

const char *trial_type_name(TrialType type) {
    return types[type].name;
}

uint32_t trial_type_bytes(TrialType type) {
    return types[type].bytes;
}

Status trial_no_memory(Diag *diag) {
    return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory left on the host");
}

/* Single values --------------------------------------------------------------------------------*/

static uint32_t get_bits(const uint8_t *bytes, uint32_t index, uint32_t size) {
    uint32_t bits = 0;
    memcpy(&bits, bytes + (size_t)index * size, size);
    return bits;
}

static void put_bits(uint8_t *bytes, uint32_t index, uint32_t size, uint32_t bits) {
    memcpy(bytes + (size_t)index * size, &bits, size);
}

static double decode(TrialType type, int scale, uint32_t bits) {
    switch (type) {
    case TRIAL_F8: return (double)f8_to_f32((uint8_t)bits, F8_F143, scale);
    case TRIAL_F16: return (double)f16_to_f32((F16)bits);
    case TRIAL_F32: return (double)f32_from_bits(bits);
    case TRIAL_I8: return (int8_t)bits;
    case TRIAL_I16: return (int16_t)bits;
    case TRIAL_I32: return (int32_t)bits;
    default: return bits;
    }
}

/* Reals round once; whole numbers must fit. */
static bool encode(TrialType type, int scale, double value, uint32_t *bits) {
    switch (type) {
    case TRIAL_F8: *bits = f8_from_f64(value, F8_F143, scale, F8_HOST); return true;
    case TRIAL_F16: *bits = f64_to_f16(value, F16_OVERFLOW_INFINITE); return true;
    case TRIAL_F32: *bits = f32_bits((float)value); return true;
    default: break;
    }
    unsigned width = 8u * types[type].bytes;
    double least = types[type].is_signed ? -ldexp(1, (int)width - 1) : 0;
    double most = ldexp(1, (int)width - (types[type].is_signed ? 1 : 0)) - 1;
    if (!(value >= least && value <= most) || value != trunc(value))
        return false;
    *bits = (uint32_t)(int64_t)value & (uint32_t)((1ull << width) - 1);
    return true;
}

double trial_value(const TrialBuffer *buffer, const uint8_t *bytes, uint32_t index) {
    return decode(buffer->type, buffer->scale, get_bits(bytes, index, types[buffer->type].bytes));
}

bool data_number(TrialType type, int scale, const char *text, size_t length, uint32_t *bits) {
    char copy[64], *end;
    if (length == 0 || length >= sizeof copy)
        return false;
    memcpy(copy, text, length);
    copy[length] = 0;
    if (!isdigit((unsigned char)*copy) && !strchr("+-.", *copy) && strcmp(copy, "nan") != 0 &&
        strcmp(copy, "inf") != 0)
        return false;
    bool hex = copy[0] == '0' && (copy[1] == 'x' || copy[1] == 'X');
    double value = hex && !types[type].real ? (double)strtoull(copy, &end, 16) : strtod(copy, &end);
    return *end == 0 && encode(type, scale, value, bits);
}

/* Contents -------------------------------------------------------------------------------------*/

static Status content_error(const TrialBuffer *buffer, Diag *diag, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static Status content_error(const TrialBuffer *buffer, Diag *diag, const char *format, ...) {
    char *object = mem_printf("buffer %s", buffer->name);
    va_list arguments;
    va_start(arguments, format);
    char *text = mem_vprintf(format, arguments);
    va_end(arguments);
    diag_error(diag, ERR_TRIAL_CONTENT, (DiagPlace){.tile = -1, .object = object}, "%s",
               text ? text : "");
    mem_free(object);
    mem_free(text);
    return ERR_TRIAL_CONTENT;
}

static bool is_finite(const TrialBuffer *buffer, uint32_t bits) {
    return isfinite(decode(buffer->type, buffer->scale, bits));
}

/* zero, nan, ramp, random, bits; false: none of them. */
static bool fill_pattern(const TrialBuffer *buffer, const char *content, uint64_t seed,
                         uint8_t *bytes) {
    static const char *const names[] = {"zero", "nan", "ramp", "random", "bits"};
    size_t which = 0;
    while (which < COUNT_OF(names) && strcmp(names[which], content) != 0)
        which++;
    if (which == COUNT_OF(names))
        return false;
    Random random = random_tensor(buffer->name, seed);
    bool real = types[buffer->type].real;
    for (uint32_t i = 0; i < buffer->count; i++) {
        uint32_t bits = 0;
        if (which == 1)
            bits = real ? 0 : UINT32_MAX;
        if (which == 1 && real)
            encode(buffer->type, buffer->scale, (double)NAN, &bits);
        if (which == 2 && !encode(buffer->type, buffer->scale, i, &bits))
            bits = i; /* whole numbers begin anew */
        if (which == 3 && real)
            encode(buffer->type, buffer->scale, (double)random_d1(&random, 1), &bits);
        else if (which >= 3)
            do
                bits = (uint32_t)(random_next(&random) >> 32);
            while (
                real &&
                !is_finite(buffer, bits & (uint32_t)((1ull << 8 * types[buffer->type].bytes) - 1)));
        put_bits(bytes, i, types[buffer->type].bytes, bits);
    }
    return true;
}

static Status fill_list(const TrialBuffer *buffer, const char *list, bool single, uint8_t *bytes,
                        Diag *diag) {
    const char *at = list;
    for (uint32_t i = 0; i < buffer->count; i++) {
        size_t length = single ? strlen(at) : strcspn(at, ",");
        uint32_t bits;
        if (!data_number(buffer->type, buffer->scale, at, length, &bits))
            return content_error(buffer, diag, "'%.*s' is no number of type %s", (int)length, at,
                                 types[buffer->type].name);
        put_bits(bytes, i, types[buffer->type].bytes, bits);
        if (!single)
            at = at[length] ? at + length + 1 : list;
    }
    return STATUS_OK;
}

static Status fill_npy(const TrialBuffer *buffer, const char *path, uint8_t *bytes, Diag *diag) {
    Npy npy;
    Status status = npy_open(path, &npy, diag);
    if (status != STATUS_OK)
        return status;
    float *values = NULL;
    if (npy.count != buffer->count)
        status = content_error(buffer, diag, "%s holds %llu values, the buffer %u", path,
                               (unsigned long long)npy.count, buffer->count);
    else if (!(values = mem_alloc(buffer->count, sizeof *values)))
        status = trial_no_memory(diag);
    if (status == STATUS_OK)
        dtype_encode(npy.dtype, npy.data, npy.count, (Precision){.kind = PRECISION_F32}, values,
                     NULL);
    for (uint32_t i = 0; i < buffer->count && status == STATUS_OK; i++) {
        uint32_t bits;
        if (encode(buffer->type, buffer->scale, (double)values[i], &bits))
            put_bits(bytes, i, types[buffer->type].bytes, bits);
        else
            status = content_error(buffer, diag, "value %u of %s, %g, does not fit type %s", i,
                                   path, (double)values[i], types[buffer->type].name);
    }
    mem_free(values);
    npy_close(&npy);
    return status;
}

/* FIRST,STEP */
static Status fill_ramp(const TrialBuffer *buffer, const char *text, uint8_t *bytes, Diag *diag) {
    char *end, *last;
    double first = strtod(text, &end), step = *end == ',' ? strtod(end + 1, &last) : 0;
    if (end == text || *end != ',' || last == end + 1 || *last != 0)
        return content_error(buffer, diag, "'%s' is not FIRST,STEP", text);
    for (uint32_t i = 0; i < buffer->count; i++) {
        uint32_t bits;
        if (!encode(buffer->type, buffer->scale, first + i * step, &bits))
            return content_error(buffer, diag, "element %u, %g, does not fit type %s", i,
                                 first + i * step, types[buffer->type].name);
        put_bits(bytes, i, types[buffer->type].bytes, bits);
    }
    return STATUS_OK;
}

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static Status fill_file(const TrialBuffer *buffer, const char *path, uint8_t *bytes, Diag *diag) {
    if (ends_with(path, ".npy"))
        return fill_npy(buffer, path, bytes, diag);
    uint8_t *read = NULL;
    size_t size = 0;
    Status status = file_read(path, &read, &size, diag);
    if (status == STATUS_OK && size != buffer->size)
        status = content_error(buffer, diag, "%s holds %zu bytes, the buffer %u", path, size,
                               buffer->size);
    if (status == STATUS_OK)
        memcpy(bytes, read, size);
    mem_free(read);
    return status;
}

static Status fill(Trial *trial, const TrialBuffer *buffer, const char *content, uint64_t seed,
                   uint8_t **bytes, Diag *diag) {
    char shown[TEXT_PRINTABLE];
    *bytes = arena_alloc(&trial->arena, buffer->size, 1);
    if (!*bytes)
        return trial_no_memory(diag);
    if (fill_pattern(buffer, content, seed, *bytes))
        return STATUS_OK;
    if (strncmp(content, "fill=", 5) == 0)
        return fill_list(buffer, content + 5, true, *bytes, diag);
    if (strncmp(content, "list=", 5) == 0)
        return fill_list(buffer, content + 5, false, *bytes, diag);
    if (strncmp(content, "ramp=", 5) == 0)
        return fill_ramp(buffer, content + 5, *bytes, diag);
    if (strncmp(content, "file=", 5) == 0)
        return fill_file(buffer, content + 5, *bytes, diag);
    content_error(buffer, diag, "'%s' is no content", text_printable(content, shown));
    diag_fix(diag,
             "zero, nan, ramp, ramp=FIRST,STEP, random, bits, fill=V, list=V,V,… or file=PATH");
    return ERR_TRIAL_CONTENT;
}

/* Descriptions ---------------------------------------------------------------------------------*/

static Status buffer_error(const char *text, Diag *diag, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static Status buffer_error(const char *text, Diag *diag, const char *format, ...) {
    char shown[TEXT_PRINTABLE], *object = mem_printf("buffer '%s'", text_printable(text, shown));
    va_list arguments;
    va_start(arguments, format);
    char *message = mem_vprintf(format, arguments);
    va_end(arguments);
    diag_error(diag, ERR_TRIAL_BUFFER, (DiagPlace){.tile = -1, .object = object}, "%s",
               message ? message : "");
    mem_free(object);
    mem_free(message);
    diag_fix(diag, "NAME=TYPE:SHAPE[:CONTENT][@PLACE], such as x=f16:4x16:random");
    return ERR_TRIAL_BUFFER;
}

static bool parse_type(const char *text, TrialType *type, int *scale) {
    size_t length = strcspn(text, "/");
    *scale = 0;
    for (int i = 0; i < TRIAL_TYPE_COUNT; i++) {
        if (strlen(types[i].name) != length || memcmp(types[i].name, text, length) != 0)
            continue;
        *type = (TrialType)i;
        if (text[length] == 0)
            return true;
        char *end;
        long exponent = strtol(text + length + 1, &end, 10);
        *scale = (int)exponent;
        return i == TRIAL_F8 && *end == 0 && end != text + length + 1 && exponent >= F8_SCALE_MIN &&
               exponent <= F8_SCALE_MAX;
    }
    return false;
}

static bool parse_shape(const char *text, TrialBuffer *buffer) {
    uint64_t count = 1;
    for (buffer->rank = 0; buffer->rank < TRIAL_MAX_RANK;) {
        char *end;
        if (!isdigit((unsigned char)*text))
            return false;
        unsigned long long dim = strtoull(text, &end, 10);
        if (dim == 0 || dim > CHIP_TILE_MEM_SIZE || !checked_mul(count, dim, &count) ||
            count > CHIP_TILE_MEM_SIZE)
            return false;
        buffer->dims[buffer->rank++] = (uint32_t)dim;
        if (*end == '+') {
            char *tail_end;
            unsigned long long tail = strtoull(end + 1, &tail_end, 10);
            if (!isdigit((unsigned char)end[1]) || *tail_end != 0 || tail > CHIP_TILE_MEM_SIZE)
                return false;
            buffer->tail = (uint32_t)tail;
            end = tail_end;
        }
        if (*end == 0) {
            buffer->count = (uint32_t)count;
            buffer->size = (uint32_t)count * types[buffer->type].bytes;
            return buffer->size + buffer->tail <= CHIP_TILE_MEM_SIZE;
        }
        if (*end != 'x')
            return false;
        text = end + 1;
    }
    return false;
}

static bool parse_place(const char *text, PlaceClass *place, uint32_t *address) {
    char *end;
    if (strcmp(text, "interleaved") == 0) {
        *place = PLACE_INTERLEAVED;
        return true;
    }
    if (strcmp(text, "standard") == 0) {
        *place = PLACE_STANDARD;
        return true;
    }
    if (!isdigit((unsigned char)*text))
        return false;
    unsigned long long number = strtoull(text, &end, 0);
    *place = PLACE_ADDRESS;
    *address = (uint32_t)number;
    return *end == 0 && number <= UINT32_MAX;
}

static bool is_name(const char *text) {
    if (!isalpha((unsigned char)*text) && *text != '_')
        return false;
    while (isalnum((unsigned char)*text) || *text == '_')
        text++;
    return *text == 0;
}

/* Cuts the text at the first of `marks`; returns what follows, or NULL. */
static char *cut(char *text, int mark) {
    char *at = strchr(text, mark);
    if (at)
        *at++ = 0;
    return at;
}

Status data_buffer(Trial *trial, const char *text, bool output, uint64_t seed, TrialBuffer *buffer,
                   PlaceClass *place, Diag *diag) {
    char *name = arena_strdup(&trial->arena, text);
    if (!name)
        return trial_no_memory(diag);
    *buffer = (TrialBuffer){.name = name, .output = output};
    *place = PLACE_INTERLEAVED;
    char *at = strrchr(name, '@'), *type = cut(name, '=');
    if (!type || !is_name(name))
        return buffer_error(text, diag, "it does not begin with NAME=");
    if (at && at > type && parse_place(at + 1, place, &buffer->address))
        *at = 0;
    else if (at && at > type && !strstr(type, "file="))
        return buffer_error(text, diag, "'%s' is no place: interleaved, standard or an address",
                            at + 1);
    char *shape = cut(type, ':'), *content = shape ? cut(shape, ':') : NULL;
    if (!parse_type(type, &buffer->type, &buffer->scale))
        return buffer_error(text, diag,
                            "'%s' is no type: f8 (f8/E with a scale), f16, f32, u8 … i32", type);
    if (!shape || !parse_shape(shape, buffer))
        return buffer_error(text, diag, "'%s' is no shape of at most %u bytes: 2208 or 4x16",
                            shape ? shape : "", (unsigned)CHIP_TILE_MEM_SIZE);
    if (data_find(trial, name, strlen(name)))
        return buffer_error(text, diag, "there is already a buffer %s", name);
    buffer->after = arena_alloc(&trial->arena, buffer->size, 1);
    if (!buffer->after)
        return trial_no_memory(diag);
    if (!content && output)
        return STATUS_OK;
    return fill(trial, buffer, content ? content : "random", seed, &buffer->before, diag);
}

TrialBuffer *data_find(Trial *trial, const char *text, size_t length) {
    for (size_t i = 0; i < trial->buffers.count; i++) {
        TrialBuffer *buffer = &trial->buffers.items[i];
        if (strlen(buffer->name) == length && memcmp(buffer->name, text, length) == 0)
            return buffer;
    }
    return NULL;
}

Status data_unknown(Trial *trial, const char *text, size_t length, const char *object, Diag *diag) {
    char copy[64];
    snprintf(copy, sizeof copy, "%.*s", (int)MIN_OF(length, sizeof copy - 1), text);
    diag_error(diag, ERR_TRIAL_ARGUMENT, (DiagPlace){.tile = -1, .object = object},
               "there is no buffer '%s'", copy);
    Nearest nearest = nearest_begin(copy);
    for (size_t i = 0; i < trial->buffers.count; i++)
        nearest_offer(&nearest, trial->buffers.items[i].name);
    if (nearest.best)
        diag_fix(diag, "did you mean %s?", nearest.best);
    return ERR_TRIAL_ARGUMENT;
}

Status data_expect(Trial *trial, const char *text, uint64_t seed, Diag *diag) {
    size_t length = strcspn(text, "=");
    TrialBuffer *buffer = data_find(trial, text, length);
    if (!buffer || text[length] != '=')
        return data_unknown(trial, text, length, "option --expect", diag);
    return fill(trial, buffer, text + length + 1, seed, &buffer->expected, diag);
}

void data_compare(Trial *trial) {
    for (size_t i = 0; i < trial->buffers.count; i++) {
        TrialBuffer *buffer = &trial->buffers.items[i];
        uint32_t bytes = types[buffer->type].bytes;
        for (uint32_t j = 0; j < buffer->count && buffer->expected; j++) {
            if (get_bits(buffer->after, j, bytes) == get_bits(buffer->expected, j, bytes))
                continue;
            if (buffer->differing++ == 0)
                buffer->first_difference = j;
        }
    }
}

/* Saving ---------------------------------------------------------------------------------------*/

Status trial_save(const TrialBuffer *buffer, const char *path, Diag *diag) {
    if (!ends_with(path, ".npy"))
        return file_write_atomic(path, buffer->after, buffer->size, diag);
    Shape shape = {.rank = buffer->rank};
    for (uint32_t i = 0; i < buffer->rank; i++)
        shape.dims[i] = buffer->dims[i];
    if (buffer->type == TRIAL_F16 || buffer->type == TRIAL_F32)
        return npy_write(path, buffer->type == TRIAL_F16 ? DTYPE_F16 : DTYPE_F32, &shape,
                         buffer->after, diag);
    float *values = mem_alloc(buffer->count, sizeof *values);
    if (!values)
        return trial_no_memory(diag);
    for (uint32_t i = 0; i < buffer->count; i++)
        values[i] = (float)trial_value(buffer, buffer->after, i);
    Status status = npy_write(path, DTYPE_F32, &shape, values, diag);
    mem_free(values);
    return status;
}
