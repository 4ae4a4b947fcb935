#include "quant/generate.h"

#include "base/random.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static void distribution(const char *name, uint64_t fan_in, double *mean, double *deviation) {
    *mean = 0;
    if (strncmp(name, "pixel_values", 12) == 0)
        *deviation = 0.25;
    else if (strstr(name, "norm") && ends_with(name, "weight"))
        *mean = 1, *deviation = 0.1;
    else if (ends_with(name, "bias"))
        *deviation = 0.02;
    else if (ends_with(name, "position_embedding.weight"))
        *deviation = 0.5;
    else if (ends_with(name, "head.probe"))
        *deviation = 1;
    else
        *deviation = 1 / sqrt((double)fan_in);
}

void generate_tensor(const char *name, uint64_t count, uint64_t fan_in, float *values) {
    double mean, deviation;
    distribution(name, fan_in, &mean, &deviation);
    Random random = random_tensor(name, 143);
    double factor = deviation * sqrt(3.0);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t sum = 0;
        for (int k = 0; k < 4; k++)
            sum += random_next(&random) >> 40;
        values[i] = (float)(factor * ((double)sum * 0x1p-24 - 2.0) + mean);
    }
}

/* ---- writing; the writer takes arrays, so a model is held in memory once */
typedef struct Writer {
    Arena arena;
    VEC(SafeTensor) tensors;

} Writer;

static Status add_tensor(void *context, const char *name, uint32_t rank, const uint64_t *dims) {
    Writer *writer = context;
    SafeTensor tensor = {.name = arena_strdup(&writer->arena, name), .dtype = DTYPE_F32};
    tensor.rank = rank;
    tensor.count = 1;
    uint64_t *copy = ARENA_NEW(&writer->arena, uint64_t, rank);
    if (!tensor.name || !copy)
        return ERR_NO_MEMORY;
    for (uint32_t axis = 0; axis < rank; axis++)
        tensor.count *= copy[axis] = dims[axis];
    tensor.dims = copy;
    tensor.bytes = tensor.count * sizeof(float);
    float *values = ARENA_NEW(&writer->arena, float, tensor.count);
    if (!values)
        return ERR_NO_MEMORY;
    generate_tensor(name, tensor.count, tensor.count / dims[0], values);
    tensor.data = (const uint8_t *)values;
    return vec_push(&writer->tensors, tensor) ? STATUS_OK : ERR_NO_MEMORY;
}

static Status write_tensors(Writer *writer, Status made, const char *folder, const char *name,
                            Diag *diag) {
    static const SafeTensorsText metadata[] = {{"format", "pt"}};
    char *path = mem_printf("%s/%s", folder, name);
    Status status = made;
    if (made == STATUS_OK && path)
        status = safetensors_write(path, writer->tensors.items, writer->tensors.count, metadata, 1,
                                   diag);
    else
        status = diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory left for the model");
    mem_free(path);
    vec_free(&writer->tensors);
    arena_free(&writer->arena);
    return status;
}

static Status write_config(const SiglipConfig *c, const char *folder, Diag *diag) {
    char *path = mem_printf("%s/config.json", folder);
    char *text = mem_printf("{\n"
                            "  \"model_type\": \"siglip_vision_model\",\n"
                            "  \"hidden_size\": %u,\n"
                            "  \"intermediate_size\": %u,\n"
                            "  \"num_hidden_layers\": %u,\n"
                            "  \"num_attention_heads\": %u,\n"
                            "  \"num_channels\": %u,\n"
                            "  \"image_size\": %u,\n"
                            "  \"patch_size\": %u,\n"
                            "  \"hidden_act\": \"gelu_pytorch_tanh\",\n"
                            "  \"layer_norm_eps\": %g\n"
                            "}\n",
                            c->hidden, c->intermediate, c->layers, c->heads, c->channels, c->image,
                            c->patch, c->epsilon);
    Status status = path && text ? file_write_atomic(path, text, strlen(text), diag)
                                 : diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory left");
    mem_free(path);
    mem_free(text);
    return status;
}

static Status write_images(const SiglipConfig *config, const char *folder, uint32_t count,
                           Diag *diag) {
    uint64_t each = (uint64_t)config->channels * config->image * config->image;
    uint64_t dims[] = {count, config->channels, config->image, config->image};
    Writer writer = {0};
    float *values = ARENA_NEW(&writer.arena, float, each *count);
    for (uint32_t i = 0; i < count && values; i++) {
        char name[32];
        snprintf(name, sizeof name, "pixel_values.%u", i);
        generate_tensor(name, each, 0, values + each * i);
    }
    SafeTensor tensor = {.name = "pixel_values",
                         .dtype = DTYPE_F32,
                         .rank = 4,
                         .dims = dims,
                         .count = each * count,
                         .bytes = each * count * sizeof(float),
                         .data = (const uint8_t *)values};
    bool made = values && vec_push(&writer.tensors, tensor);
    return write_tensors(&writer, made ? STATUS_OK : ERR_NO_MEMORY, folder, "images.safetensors",
                         diag);
}

Status generate_model(const SiglipConfig *config, const char *folder, uint32_t count, Diag *diag) {
    if (mkdir(folder, 0777) != 0) {
        int number = errno;
        return diag_error(diag, number == EEXIST ? ERR_QUANT_OUTPUT : ERR_FILE_WRITE,
                          (DiagPlace){.file = folder, .tile = -1}, "cannot make the folder: %s",
                          strerrordesc_np(number));
    }
    Writer writer = {0};
    Status made = siglip_each_tensor(config, add_tensor, &writer);
    Status status = write_tensors(&writer, made, folder, "model.safetensors", diag);
    if (status == STATUS_OK && count)
        status = write_images(config, folder, count, diag);
    return status == STATUS_OK ? write_config(config, folder, diag) : status;
}
