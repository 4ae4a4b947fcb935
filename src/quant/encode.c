/* Codec alone: tensors to F143 codes with their exponents, and back. */
#include "quant/internal.h"

#include "base/text.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Encoding {
    const EncodeOptions *options;
    Diag *diag;
    Checkpoint *checkpoint;
    Arena arena;
    VEC(SafeTensor) tensors;
    json_t *records;
    uint8_t *out;
    float *values;
} Encoding;

static Status no_memory(const Encoding *e) {
    return diag_error(e->diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory left for the tensors");
}

static Status tensor_error(const Encoding *e, const SafeTensor *tensor, Status code,
                           const char *format, ...) __attribute__((format(printf, 4, 5)));

static Status tensor_error(const Encoding *e, const SafeTensor *tensor, Status code,
                           const char *format, ...) {
    char shown[TEXT_PRINTABLE], object[TEXT_PRINTABLE + 8];
    snprintf(object, sizeof object, "tensor %s", text_printable(tensor->name, shown));
    va_list arguments;
    va_start(arguments, format);
    char *text = mem_vprintf(format, arguments);
    va_end(arguments);
    diag_error(
        e->diag, code,
        (DiagPlace){.file = checkpoint_file(e->checkpoint, tensor), .tile = -1, .object = object},
        "%s", text ? text : "");
    mem_free(text);
    return code;
}

static bool is_wanted(const EncodeOptions *options, const SafeTensor *tensor, bool *used) {
    bool wanted = options->tensor_count == 0 && tensor->rank == 2 && dtype_is_float(tensor->dtype);
    for (size_t i = 0; i < options->tensor_count; i++) {
        bool match = fnmatch(options->tensors[i], tensor->name, 0) == 0;
        used[i] |= match;
        wanted |= match;
    }
    return wanted;
}

/* Rows and columns of a tensor as blocks of scales see it. */
static void matrix_of(const SafeTensor *tensor, uint64_t *rows, uint64_t *columns) {
    *columns = tensor->rank ? tensor->dims[tensor->rank - 1] : 1;
    *rows = *columns ? tensor->count / *columns : 0;
}

/* Error and loss of a tensor whose codes are in e->out and values in e->values. */
static json_t *encode_record(const Encoding *e, const SafeTensor *tensor, const int8_t *scales,
                             uint64_t columns, uint64_t across) {
    double squares = 0, errors = 0, most = 0;
    json_int_t clipped = 0, flushed = 0;
    int least = scales[0], largest = scales[0];
    for (uint64_t i = 0; i < tensor->count; i++) {
        uint64_t row = i / columns, column = i % columns;
        int scale = across ? scales[row / SCALE_BLOCK * across + column / SCALE_BLOCK] : scales[0];
        double value = (double)e->values[i];
        double error = fabs(value - (double)f8_to_f32(e->out[i], F8_F143, scale));
        squares += value * value;
        errors += error * error;
        most = fmax(most, error);
        clipped += fabs(value) > ldexp(240, scale);
        flushed += value != 0 && e->out[i] == 0;
        least = MIN_OF(least, scale);
        largest = MAX_OF(largest, scale);
    }
    return json_pack("{s:s, s:i, s:i, s:I, s:I, s:I, s:f, s:f}", "name", tensor->name,
                     "scale_least", least, "scale_most", largest, "values",
                     (json_int_t)tensor->count, "clipped", clipped, "flushed", flushed,
                     "maximum_absolute_error", most, "relative_rms_error",
                     squares > 0 ? sqrt(errors / squares) : 0.0);
}

static Status read_values(Encoding *e, const SafeTensor *tensor) {
    mem_free(e->values);
    mem_free(e->out);
    e->values = mem_alloc(tensor->count + 1, sizeof *e->values);
    e->out = mem_alloc(tensor->count + 1, 1);
    if (!e->values || !e->out)
        return no_memory(e);
    dtype_encode(tensor->dtype, tensor->data, tensor->count, (Precision){PRECISION_F32, 0},
                 e->values, NULL);
    for (uint64_t i = 0; i < tensor->count; i++)
        if (!isfinite(e->values[i]))
            return tensor_error(e, tensor, ERR_QUANT_NONFINITE, "value %llu is not finite",
                                (unsigned long long)i);
    return STATUS_OK;
}

/* Codes of e->values by blocks; across = 0: one scale. */
static void encode_values(Encoding *e, uint64_t rows, uint64_t columns, const int8_t *scales,
                          uint64_t across) {
    for (uint64_t r = 0; r < rows; r++) {
        const float *row = e->values + r * columns;
        for (uint64_t c = 0; c < columns; c += SCALE_BLOCK) {
            int scale = across ? scales[r / SCALE_BLOCK * across + c / SCALE_BLOCK] : scales[0];
            f8_encode_f32(e->out + r * columns + c, row + c,
                          MIN_OF((uint64_t)SCALE_BLOCK, columns - c), F8_F143, scale, F8_HOST);
        }
    }
}

static Status encode_tensor(Encoding *e, const SafeTensor *tensor) {
    const EncodeOptions *o = e->options;
    uint64_t rows, columns;
    matrix_of(tensor, &rows, &columns);
    if (!dtype_is_float(tensor->dtype))
        return tensor_error(e, tensor, ERR_MODEL_DTYPE, "%s is no floating-point type",
                            dtype_name(tensor->dtype));
    if (rows > UINT32_MAX || columns > UINT32_MAX)
        return tensor_error(e, tensor, ERR_QUANT_LINEARS, "a side is longer than 2^32");
    Status status = read_values(e, tensor);
    if (status != STATUS_OK)
        return status;
    bool blocks = o->granularity == GRANULARITY_BLOCK && !o->fixed;
    uint64_t down = blocks ? div_up(rows, SCALE_BLOCK) : 1,
             across = blocks ? div_up(columns, SCALE_BLOCK) : 0;
    int8_t *scales = ARENA_NEW(&e->arena, int8_t, down * MAX_OF(across, 1u) + 1);
    uint64_t *dims = ARENA_NEW(&e->arena, uint64_t, 2);
    char *name = output_scale_name(&e->arena, tensor->name);
    if (!scales || !dims || !name)
        return no_memory(e);
    if (o->fixed)
        scales[0] = (int8_t)o->scale;
    else if (tensor->count)
        solve_scales(e->values, (uint32_t)rows, (uint32_t)columns, o->granularity, scales);
    dims[0] = down;
    dims[1] = across;
    encode_values(e, rows, columns, scales, across);
    json_array_append_new(e->records,
                          encode_record(e, tensor, scales, MAX_OF(columns, 1u), across));
    uint64_t count = down * MAX_OF(across, 1u);
    SafeTensor codes = *tensor, scale = {name,  DTYPE_I8, blocks ? 2 : 0,         dims,
                                         count, count,    (const uint8_t *)scales};
    codes.dtype = DTYPE_F8_E4M3FNUZ;
    codes.bytes = codes.count;
    uint8_t *kept = arena_alloc(&e->arena, codes.count + 1, 1);
    if (!kept)
        return no_memory(e);
    memcpy(kept, e->out, codes.count);
    codes.data = kept;
    return vec_push(&e->tensors, codes) && vec_push(&e->tensors, scale) ? STATUS_OK : no_memory(e);
}

static Status decode_tensor(Encoding *e, const SafeTensor *tensor) {
    char *name = output_scale_name(&e->arena, tensor->name);
    const SafeTensor *scale = name ? checkpoint_find(e->checkpoint, name) : NULL;
    uint64_t rows, columns;
    matrix_of(tensor, &rows, &columns);
    uint64_t across = scale && scale->rank == 2 ? scale->dims[1] : 0;
    if (!scale)
        return tensor_error(e, tensor, ERR_MODEL_TENSOR, "its exponents, \"%s_scale\", are missing",
                            tensor->name);
    bool fits =
        scale->dtype == DTYPE_I8 &&
        (scale->rank == 0 || (scale->rank == 2 && scale->dims[0] == div_up(rows, SCALE_BLOCK) &&
                              across == div_up(columns, SCALE_BLOCK)));
    for (uint64_t i = 0; fits && i < scale->count; i++)
        fits = (int8_t)scale->data[i] >= F8_SCALE_MIN && (int8_t)scale->data[i] <= F8_SCALE_MAX;
    if (!fits)
        return tensor_error(e, scale, ERR_MODEL_SHAPE,
                            "exponents must be I8 from %d to %d, one or one for 64 × 64 values",
                            F8_SCALE_MIN, F8_SCALE_MAX);
    float *values = ARENA_NEW(&e->arena, float, tensor->count + 1);
    if (!values)
        return no_memory(e);
    for (uint64_t i = 0; i < tensor->count; i++) {
        uint64_t at = across ? i / columns / SCALE_BLOCK * across + i % columns / SCALE_BLOCK : 0;
        values[i] = f8_to_f32(tensor->data[i], F8_F143, (int8_t)scale->data[at]);
    }
    SafeTensor decoded = *tensor;
    decoded.dtype = DTYPE_F32;
    decoded.bytes = decoded.count * sizeof(float);
    decoded.data = (const uint8_t *)values;
    json_array_append_new(e->records, json_pack("{s:s, s:I}", "name", tensor->name, "values",
                                                (json_int_t)tensor->count));
    return vec_push(&e->tensors, decoded) ? STATUS_OK : no_memory(e);
}

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

/* Exponents of a tensor that is decoded too. */
static bool is_scale(Encoding *e, const SafeTensor *tensor) {
    if (!ends_with(tensor->name, "_scale"))
        return false;
    char *name = arena_printf(&e->arena, "%.*s", (int)(strlen(tensor->name) - strlen("_scale")),
                              tensor->name);
    const SafeTensor *of = name ? checkpoint_find(e->checkpoint, name) : NULL;
    return of && of->dtype == DTYPE_F8_E4M3FNUZ;
}

static Status take_tensor(Encoding *e, const SafeTensor *tensor, bool *used) {
    if (e->options->decode) {
        if (tensor->dtype == DTYPE_F8_E4M3FNUZ)
            return decode_tensor(e, tensor);
        if (is_scale(e, tensor))
            return STATUS_OK;
    } else if (is_wanted(e->options, tensor, used)) {
        return encode_tensor(e, tensor);
    }
    return vec_push(&e->tensors, *tensor) ? STATUS_OK : no_memory(e);
}

static Status check_used(const Encoding *e, const bool *used) {
    const EncodeOptions *o = e->options;
    char shown[TEXT_PRINTABLE];
    for (size_t i = 0; i < o->tensor_count && !o->decode; i++)
        if (!used[i])
            return diag_error(
                e->diag, ERR_QUANT_LINEARS, (DiagPlace){.file = e->checkpoint->path, .tile = -1},
                "no tensor has a name like \"%s\"", text_printable(o->tensors[i], shown));
    if (json_array_size(e->records) == 0)
        return diag_error(e->diag, ERR_QUANT_LINEARS,
                          (DiagPlace){.file = e->checkpoint->path, .tile = -1},
                          o->decode ? "no tensor is F8_E4M3FNUZ"
                                    : "no tensor is a matrix of floating-point values");
    return STATUS_OK;
}

static Status write_file(Encoding *e) {
    SafeTensorsText metadata[] = {{"format", "pt"}, {"tilework_version", e->options->version}};
    return safetensors_write(e->options->output, e->tensors.items, e->tensors.count, metadata,
                             COUNT_OF(metadata), e->diag);
}

Status quant_encode(const EncodeOptions *options, char **report, Diag *diag) {
    Encoding e = {.options = options, .diag = diag, .records = json_array()};
    bool *used = mem_alloc(options->tensor_count + 1, sizeof *used);
    *report = NULL;
    Status status =
        used && e.records ? checkpoint_open(options->input, &e.checkpoint, diag) : no_memory(&e);
    for (size_t i = 0; status == STATUS_OK && i < e.checkpoint->count; i++)
        status = take_tensor(&e, e.checkpoint->tensors[i].tensor, used);
    if (status == STATUS_OK)
        status = check_used(&e, used);
    if (status == STATUS_OK)
        status = write_file(&e);
    if (status == STATUS_OK) {
        json_t *document = json_pack("{s:s, s:s, s:O}", "tool", "tilework encode", "version",
                                     options->version, "tensors", e.records);
        char *text = json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
        json_decref(document);
        *report = text ? mem_strdup(text) : NULL;
        free(text);
    }
    checkpoint_close(e.checkpoint);
    json_decref(e.records);
    mem_free(e.values);
    mem_free(e.out);
    mem_free(used);
    vec_free(&e.tensors);
    arena_free(&e.arena);
    return status;
}
