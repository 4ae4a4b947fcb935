#include "model/model.h"

#include "base/file.h"
#include "base/random.h"
#include "base/text.h"
#include "model/npy.h"
#include "model/safetensors.h"
#include "num/scale.h"

#include <math.h>
#include <string.h>

/* A place taken apart; owned strings. */
typedef struct Place {
    char *path;
    const char *tensor; /* SafeTensors only; NULL: the default name */
    bool npy;
} Place;

static bool ends_with(const char *text, const char *end) {
    size_t size = strlen(text), length = strlen(end);
    return size > length && strcmp(text + size - length, end) == 0;
}

static Status no_memory(Diag *diag, const char *path) {
    return diag_error(diag, ERR_NO_MEMORY, (DiagPlace){.file = path, .tile = -1},
                      "no memory left for the values");
}

static Status parse_place(const char *text, Place *place, Diag *diag) {
    static const char extension[] = ".safetensors";
    *place = (Place){.path = mem_strdup(text)};
    if (!place->path)
        return no_memory(diag, text);
    char *separator = strstr(place->path, ".safetensors:");
    if (separator && separator > place->path) {
        separator[sizeof extension - 1] = 0;
        place->tensor = separator + sizeof extension;
        return STATUS_OK;
    }
    place->npy = ends_with(text, ".npy");
    if (place->npy || ends_with(text, extension))
        return STATUS_OK;
    mem_free(place->path);
    diag_error(diag, ERR_MODEL_PLACE, (DiagPlace){.file = text, .tile = -1},
               "not a file of a known kind");
    diag_fix(diag, "name a FILE.npy or FILE.safetensors[:TENSOR]");
    return ERR_MODEL_PLACE;
}

Status model_check_target(const char *place, Diag *diag) {
    Place parsed;
    Status status = parse_place(place, &parsed, diag);
    if (status == STATUS_OK) {
        status = file_check_target(parsed.path, diag);
        mem_free(parsed.path);
    }
    return status;
}

/* A tensor of either kind of file. */
typedef struct Source {
    const char *path, *tensor; /* tensor NULL for .npy */
    Dtype dtype;
    uint32_t rank;
    const uint64_t *dims;
    const void *data;
    uint64_t count;
} Source;

static Status source_error(const Source *source, Diag *diag, Status code, const char *text) {
    char shown[TEXT_PRINTABLE];
    char *object =
        source->tensor ? mem_printf("tensor %s", text_printable(source->tensor, shown)) : NULL;
    diag_error(diag, code, (DiagPlace){.file = source->path, .tile = -1, .object = object}, "%s",
               text);
    mem_free(object);
    return code;
}

static bool dims_equal(const Source *source, const Shape *shape) {
    bool equal = source->rank == shape->rank;
    for (uint32_t axis = 0; axis < shape->rank && equal; axis++)
        equal = source->dims[axis] == shape->dims[axis];
    return equal;
}

static Status shape_error(const Source *source, const Shape *shape, Diag *diag) {
    char wanted[SHAPE_TEXT_SIZE], found[256] = "[";
    size_t used = 1;
    for (uint32_t axis = 0; axis < source->rank && used < sizeof found - 32; axis++)
        used += (size_t)snprintf(found + used, sizeof found - used, "%s%llu", axis ? "," : "",
                                 (unsigned long long)source->dims[axis]);
    char text[sizeof found + sizeof wanted + 32];
    snprintf(text, sizeof text, "shape %s], but the graph wants %s", found,
             shape_print(shape, wanted));
    source_error(source, diag, ERR_MODEL_SHAPE, text);
    if (source->rank == 2 && shape->rank == 2 && source->dims[0] == shape->dims[1] &&
        source->dims[1] == shape->dims[0])
        diag_fix(diag, "the axes are swapped: declare the tensor [%u,%u] and transpose it in gemm",
                 shape->dims[1], shape->dims[0]);
    return ERR_MODEL_SHAPE;
}

static void suggest_scale(double largest, Diag *diag) {
    int scale = scale_for_magnitude(largest, F8_F143);
    if (scale <= PRECISION_SCALE_MAX)
        diag_fix(diag, "the largest magnitude is %g; s=%d holds it", largest, scale);
    else
        diag_fix(diag, "the largest magnitude is %g; not even s=%d holds it", largest,
                 PRECISION_SCALE_MAX);
}

/* A warning if values were lost. */
static void warn_lost(const Source *source, Precision precision, const EncodeStats *stats,
                      Diag *diag) {
    char type[PRECISION_TEXT_SIZE], shown[TEXT_PRINTABLE];
    if (stats->clipped == 0 && stats->nonfinite == 0)
        return;
    char *object =
        source->tensor ? mem_printf("tensor %s", text_printable(source->tensor, shown)) : NULL;
    DiagPlace place = {.file = source->path, .tile = -1, .object = object};
    precision_print(precision, type);
    if (stats->clipped) {
        diag_warning(diag, ERR_MODEL_CLIPPED, place,
                     "%llu of %llu values exceed the largest of %s and were clipped",
                     (unsigned long long)stats->clipped, (unsigned long long)stats->count, type);
        if (precision.kind == PRECISION_F8F143)
            suggest_scale(stats->largest, diag);
    }
    if (stats->nonfinite)
        diag_warning(diag, ERR_MODEL_CLIPPED, place,
                     "%llu of %llu values are infinite or no numbers",
                     (unsigned long long)stats->nonfinite, (unsigned long long)stats->count);
    mem_free(object);
}

static Status encode_source(const Source *source, const Shape *shape, Precision precision,
                            void *codes, EncodeStats *stats, Diag *diag) {
    char type[PRECISION_TEXT_SIZE], text[96];
    if (!dims_equal(source, shape))
        return shape_error(source, shape, diag);
    if (!dtype_is_float(source->dtype)) {
        snprintf(text, sizeof text, "dtype %s cannot be converted to %s", dtype_name(source->dtype),
                 precision_print(precision, type));
        return source_error(source, diag, ERR_MODEL_DTYPE, text);
    }
    EncodeStats found = {0};
    dtype_encode(source->dtype, source->data, source->count, precision, codes, &found);
    warn_lost(source, precision, &found, diag);
    if (stats)
        *stats = found;
    return STATUS_OK;
}

static Status encode_tensor(const SafeTensors *file, const SafeTensor *tensor, const Shape *shape,
                            Precision precision, void *codes, EncodeStats *stats, Diag *diag) {
    Source source = {.path = file->path,
                     .tensor = tensor->name,
                     .dtype = tensor->dtype,
                     .rank = tensor->rank,
                     .dims = tensor->dims,
                     .data = tensor->data,
                     .count = tensor->count};
    return encode_source(&source, shape, precision, codes, stats, diag);
}

static Status read_safetensors(const char *path, const char *name, const Shape *shape,
                               Precision precision, void *codes, EncodeStats *stats, Diag *diag) {
    SafeTensors *file;
    const SafeTensor *tensor;
    Status status = safetensors_open(path, &file, diag);
    if (status != STATUS_OK)
        return status;
    status = safetensors_get(file, name, &tensor, diag);
    if (status == STATUS_OK)
        status = encode_tensor(file, tensor, shape, precision, codes, stats, diag);
    safetensors_close(file);
    return status;
}

static Status read_npy(const char *path, const Shape *shape, Precision precision, void *codes,
                       EncodeStats *stats, Diag *diag) {
    Npy npy;
    Status status = npy_open(path, &npy, diag);
    if (status != STATUS_OK)
        return status;
    Source source = {.path = path,
                     .dtype = npy.dtype,
                     .rank = npy.rank,
                     .dims = npy.dims,
                     .data = npy.data,
                     .count = npy.count};
    status = encode_source(&source, shape, precision, codes, stats, diag);
    npy_close(&npy);
    return status;
}

Status model_read(const char *place, const char *name, const Shape *shape, Precision precision,
                  void *codes, EncodeStats *stats, Diag *diag) {
    Place parsed;
    Status status = parse_place(place, &parsed, diag);
    if (status != STATUS_OK)
        return status;
    if (parsed.npy)
        status = read_npy(parsed.path, shape, precision, codes, stats, diag);
    else
        status = read_safetensors(parsed.path, parsed.tensor ? parsed.tensor : name, shape,
                                  precision, codes, stats, diag);
    mem_free(parsed.path);
    return status;
}

static Status write_values(const Place *place, const char *name, const Shape *shape, Dtype dtype,
                           const void *values, uint64_t count, Diag *diag) {
    if (place->npy)
        return npy_write(place->path, dtype, shape, values, diag);
    uint64_t dims[SHAPE_MAX_RANK];
    for (uint32_t axis = 0; axis < shape->rank; axis++)
        dims[axis] = shape->dims[axis];
    SafeTensor tensor = {.name = place->tensor ? place->tensor : name,
                         .dtype = dtype,
                         .rank = shape->rank,
                         .dims = dims,
                         .count = count,
                         .bytes = count * dtype_bits(dtype) / 8,
                         .data = values};
    return safetensors_write(place->path, &tensor, 1, NULL, 0, diag);
}

Status model_write(const char *place, const char *name, const Shape *shape, Precision precision,
                   const void *codes, Diag *diag) {
    Place parsed;
    Status status = parse_place(place, &parsed, diag);
    if (status != STATUS_OK)
        return status;
    uint64_t count;
    float *values = NULL;
    if (!shape_count(shape, &count)) {
        status = diag_error(diag, ERR_ST_SHAPE, (DiagPlace){.file = place, .tile = -1},
                            "the number of elements does not fit 63 bits");
    } else if (precision.kind == PRECISION_F16) {
        status = write_values(&parsed, name, shape, DTYPE_F16, codes, count, diag);
    } else if (!(values = mem_alloc(count, sizeof *values))) {
        status = no_memory(diag, place);
    } else {
        precision_decode(precision, codes, count, values);
        status = write_values(&parsed, name, shape, DTYPE_F32, values, count, diag);
    }
    mem_free(values);
    mem_free(parsed.path);
    return status;
}

/* Room for the codes of every parameter. */
static Status reserve_parameters(const Graph *graph, ModelParameters *parameters, Diag *diag) {
    *parameters = (ModelParameters){0};
    size_t count = 0;
    for (size_t op = 0; op < graph->ops.count; op++)
        count += graph->ops.items[op].kind == GRAPH_PARAMETER;
    parameters->items = mem_alloc(count, sizeof *parameters->items);
    if (!parameters->items)
        return no_memory(diag, NULL);
    for (size_t op = 0; op < graph->ops.count; op++) {
        if (graph->ops.items[op].kind != GRAPH_PARAMETER)
            continue;
        const GraphValue *value = &graph->values.items[graph->ops.items[op].result];
        uint64_t elements;
        struct ModelParameter *parameter = &parameters->items[parameters->count++];
        parameter->op = (uint32_t)op;
        if (shape_count(&value->logical, &elements))
            parameter->codes = mem_alloc(elements, precision_bytes(value->precision));
        if (!parameter->codes)
            return no_memory(diag, NULL);
    }
    return STATUS_OK;
}

void model_parameters_free(ModelParameters *parameters) {
    for (size_t i = 0; i < parameters->count; i++)
        mem_free(parameters->items[i].codes);
    mem_free(parameters->items);
    *parameters = (ModelParameters){0};
}

/* The state of model_bind: from[i] tells where parameter i came from, NULL before it is found. */
typedef struct Binder {
    const Graph *graph;
    ModelParameters *parameters;
    const char **from;
    Diag *diag;
} Binder;

static const char *parameter_name(const Binder *binder, size_t i) {
    return binder->graph->ops.items[binder->parameters->items[i].op].name;
}

static const GraphValue *parameter_value(const Binder *binder, size_t i) {
    const Graph *graph = binder->graph;
    return &graph->values.items[graph->ops.items[binder->parameters->items[i].op].result];
}

static Status claim(Binder *binder, size_t i, const char *place) {
    char shown[TEXT_PRINTABLE];
    if (binder->from[i])
        return diag_error(binder->diag, ERR_MODEL_TWICE, DIAG_NOWHERE,
                          "parameter %s is in %s and in %s",
                          text_printable(parameter_name(binder, i), shown), binder->from[i], place);
    binder->from[i] = place;
    return STATUS_OK;
}

/* Every parameter that a SafeTensors file holds. */
static Status bind_file(Binder *binder, const char *path) {
    SafeTensors *file;
    Status status = safetensors_open(path, &file, binder->diag);
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < binder->parameters->count && status == STATUS_OK; i++) {
        const SafeTensor *tensor = safetensors_find(file, parameter_name(binder, i));
        if (!tensor)
            continue;
        const GraphValue *value = parameter_value(binder, i);
        status = claim(binder, i, path);
        if (status == STATUS_OK)
            status = encode_tensor(file, tensor, &value->logical, value->precision,
                                   binder->parameters->items[i].codes,
                                   &binder->parameters->items[i].stats, binder->diag);
    }
    safetensors_close(file);
    return status;
}

static Status unknown_parameter(const Binder *binder, const char *name) {
    char shown[TEXT_PRINTABLE];
    diag_error(binder->diag, ERR_MODEL_TENSOR, DIAG_NOWHERE, "the graph has no parameter %s",
               text_printable(name, shown));
    Nearest nearest = nearest_begin(name);
    for (size_t i = 0; i < binder->parameters->count; i++)
        nearest_offer(&nearest, parameter_name(binder, i));
    if (nearest.best)
        diag_fix(binder->diag, "the nearest one is %s", nearest.best);
    return ERR_MODEL_TENSOR;
}

/* NAME=PLACE, with the '=' at `equals`. */
static Status bind_named(Binder *binder, const char *text, const char *equals) {
    char *name = mem_printf("%.*s", (int)(equals - text), text);
    if (!name)
        return no_memory(binder->diag, text);
    size_t i = 0;
    while (i < binder->parameters->count && strcmp(parameter_name(binder, i), name) != 0)
        i++;
    Status status;
    if (i == binder->parameters->count) {
        status = unknown_parameter(binder, name);
    } else {
        const GraphValue *value = parameter_value(binder, i);
        status = claim(binder, i, equals + 1);
        if (status == STATUS_OK)
            status = model_read(equals + 1, name, &value->logical, value->precision,
                                binder->parameters->items[i].codes,
                                &binder->parameters->items[i].stats, binder->diag);
    }
    mem_free(name);
    return status;
}

static Status bind_place(Binder *binder, const char *place) {
    const char *equals = strchr(place, '='), *slash = strchr(place, '/');
    if (equals && (!slash || slash > equals))
        return bind_named(binder, place, equals);
    if (ends_with(place, ".safetensors"))
        return bind_file(binder, place);
    diag_error(binder->diag, ERR_MODEL_PLACE, (DiagPlace){.file = place, .tile = -1},
               "weights are read from SafeTensors files");
    diag_fix(binder->diag, "name a FILE.safetensors, or NAME=FILE.npy for one parameter");
    return ERR_MODEL_PLACE;
}

static Status missing_parameter(const Binder *binder, size_t i, size_t place_count) {
    char shown[TEXT_PRINTABLE];
    DiagPlace place = {.tile = -1,
                       .file = binder->graph->file,
                       .line = binder->graph->ops.items[binder->parameters->items[i].op].line};
    diag_error(binder->diag, ERR_MODEL_TENSOR, place,
               "parameter %s is in none of the %zu files given",
               text_printable(parameter_name(binder, i), shown), place_count);
    diag_fix(binder->diag,
             "name a FILE.safetensors that holds it, or NAME=FILE for another tensor");
    return ERR_MODEL_TENSOR;
}

static Status bind_all(Binder *binder, const char *const *places, size_t place_count) {
    Status status = STATUS_OK;
    for (size_t i = 0; i < place_count && status == STATUS_OK; i++)
        status = bind_place(binder, places[i]);
    for (size_t i = 0; i < binder->parameters->count && status == STATUS_OK; i++) {
        if (!binder->from[i])
            status = missing_parameter(binder, i, place_count);
    }
    return status;
}

Status model_bind(const Graph *graph, const char *const *places, size_t place_count,
                  ModelParameters *parameters, Diag *diag) {
    Status status = reserve_parameters(graph, parameters, diag);
    Binder binder = {.graph = graph, .parameters = parameters, .diag = diag};
    if (status == STATUS_OK) {
        binder.from = mem_alloc(parameters->count, sizeof *binder.from);
        status = binder.from ? bind_all(&binder, places, place_count) : no_memory(diag, NULL);
    }
    mem_free(binder.from);
    if (status != STATUS_OK)
        model_parameters_free(parameters);
    return status;
}

Status model_generate_codes(const char *name, uint64_t count, uint64_t seed, double sigma,
                            Precision precision, void *codes, EncodeStats *stats, Diag *diag) {
    float *values = mem_alloc(count, sizeof *values);
    if (!values)
        return no_memory(diag, NULL);
    random_fill_d1(values, count, name, seed, sigma);
    dtype_encode(DTYPE_F32, values, count, precision, codes, stats);
    mem_free(values);
    return STATUS_OK;
}

/* That of a parameter, by the first operation that takes the value, or what it is cast to. */
static double deviation_of(const Graph *graph, uint32_t value, double weight_sigma) {
    for (uint32_t i = graph->values.items[value].op; i < graph->ops.count; i++) {
        const GraphOp *op = &graph->ops.items[i];
        bool takes = false;
        for (uint32_t k = 0; k < op->operand_count; k++)
            takes |= op->operands[k] == value;
        if (!takes)
            continue;
        if (op->kind == GRAPH_CAST)
            value = op->result;
        else if (op->kind == GRAPH_GEMM)
            return weight_sigma > 0 ? weight_sigma : 1 / sqrt((double)graph_gemm(graph, i).inner);
        else if (op->kind == GRAPH_ADD)
            return MODEL_BIAS_SIGMA;
    }
    return 1;
}

Status model_generate(const Graph *graph, uint64_t seed, double weight_sigma,
                      ModelParameters *parameters, Diag *diag) {
    Status status = reserve_parameters(graph, parameters, diag);
    for (size_t i = 0; i < parameters->count && status == STATUS_OK; i++) {
        struct ModelParameter *parameter = &parameters->items[i];
        const GraphOp *op = &graph->ops.items[parameter->op];
        const GraphValue *value = &graph->values.items[op->result];
        uint64_t count;
        shape_count(&value->logical, &count);
        double sigma = deviation_of(graph, op->result, weight_sigma);
        status = model_generate_codes(op->name, count, seed, sigma, value->precision,
                                      parameter->codes, &parameter->stats, diag);
    }
    if (status != STATUS_OK)
        model_parameters_free(parameters);
    return status;
}
