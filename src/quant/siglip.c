#include "quant/siglip.h"

#include "base/text.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

const SiglipConfig siglip_tiny = {144, 400, 3, 6, 3, 30, 7, 1e-6};
const SiglipConfig siglip_so400m = {1152, 4304, 27, 16, 3, 384, 14, 1e-6};

/* ---- configuration */

static Status config_error(const char *path, Diag *diag, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static Status config_error(const char *path, Diag *diag, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = mem_vprintf(format, arguments);
    va_end(arguments);
    diag_error(diag, ERR_QUANT_CONFIG, (DiagPlace){.file = path, .tile = -1}, "%s",
               text ? text : "");
    mem_free(text);
    return ERR_QUANT_CONFIG;
}

static Status read_number(const json_t *object, const char *path, const char *key, uint32_t most,
                          uint32_t *number, Diag *diag) {
    const json_t *value = json_object_get(object, key);
    if (!value)
        return STATUS_OK; /* the default stays */
    json_int_t whole = json_integer_value(value);
    if (!json_is_integer(value) || whole < 1 || whole > most)
        return config_error(path, diag, "%s is no whole number from 1 to %u", key, most);
    *number = (uint32_t)whole;
    return STATUS_OK;
}

/* Models as published leave out what equals the defaults of the library's class. */
static Status read_fields(const json_t *object, const char *path, SiglipConfig *config,
                          Diag *diag) {
    *config = (SiglipConfig){768, 3072, 12, 12, 3, 224, 16, 1e-6};
    const struct {
        const char *key;
        uint32_t most, *number;
    } fields[] = {
        {"hidden_size", 1 << 16, &config->hidden},
        {"intermediate_size", 1 << 18, &config->intermediate},
        {"num_hidden_layers", 4096, &config->layers},
        {"num_attention_heads", 1 << 12, &config->heads},
        {"num_channels", 64, &config->channels},
        {"image_size", 1 << 14, &config->image},
        {"patch_size", 1 << 10, &config->patch},
    };
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        Status status =
            read_number(object, path, fields[i].key, fields[i].most, fields[i].number, diag);
        if (status != STATUS_OK)
            return status;
    }
    const json_t *epsilon = json_object_get(object, "layer_norm_eps");
    if (epsilon)
        config->epsilon = json_number_value(epsilon);
    if (!(config->epsilon > 0))
        return config_error(path, diag, "layer_norm_eps is no positive number");
    const char *activation = json_string_value(json_object_get(object, "hidden_act"));
    char shown[TEXT_PRINTABLE];
    if (activation && strcmp(activation, "gelu_pytorch_tanh") != 0)
        return config_error(path, diag, "hidden_act is \"%s\", only gelu_pytorch_tanh is known",
                            text_printable(activation, shown));
    if (config->hidden % config->heads != 0)
        return config_error(path, diag, "hidden_size %u is no multiple of num_attention_heads %u",
                            config->hidden, config->heads);
    if (config->patch > config->image)
        return config_error(path, diag, "patch_size %u exceeds image_size %u", config->patch,
                            config->image);
    return STATUS_OK;
}

Status siglip_read_config(const char *path, SiglipConfig *config, Diag *diag) {
    uint8_t *text;
    size_t size;
    Status status = file_read(path, &text, &size, diag);
    if (status != STATUS_OK)
        return status;
    json_error_t error;
    json_t *root = json_loadb((const char *)text, size, JSON_REJECT_DUPLICATES, &error);
    mem_free(text);
    const json_t *vision = json_object_get(root, "vision_config");
    const char *type = json_string_value(json_object_get(root, "model_type"));
    char shown[TEXT_PRINTABLE];
    if (!root)
        status = config_error(path, diag, "line %d: %s", error.line, error.text);
    else if (!json_is_object(root))
        status = config_error(path, diag, "the file is no JSON object");
    else if (type && strcmp(type, "siglip") != 0 && strcmp(type, "siglip_vision_model") != 0)
        status = config_error(path, diag, "model_type is \"%s\", not siglip or siglip_vision_model",
                              text_printable(type, shown));
    else
        status = read_fields(json_is_object(vision) ? vision : root, path, config, diag);
    json_decref(root);
    return status;
}

/* ---- tensors */

static Status take(SiglipTake *call, void *context, const char *prefix, const char *name,
                   uint32_t rank, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    char full[160];
    snprintf(full, sizeof full, "vision_model.%s%s", prefix, name);
    return call(context, full, rank, (uint64_t[]){a, b, c, d});
}

/* A weight [outputs, inputs] and its bias. */
static Status take_linear(SiglipTake *call, void *context, const char *prefix, const char *name,
                          uint64_t outputs, uint64_t inputs) {
    char weight[64], bias[64];
    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    Status status = take(call, context, prefix, weight, 2, outputs, inputs, 0, 0);
    return status == STATUS_OK ? take(call, context, prefix, bias, 1, outputs, 0, 0, 0) : status;
}

static Status take_norm(SiglipTake *call, void *context, const char *prefix, const char *name,
                        uint64_t width) {
    char weight[64], bias[64];
    snprintf(weight, sizeof weight, "%s.weight", name);
    snprintf(bias, sizeof bias, "%s.bias", name);
    Status status = take(call, context, prefix, weight, 1, width, 0, 0, 0);
    return status == STATUS_OK ? take(call, context, prefix, bias, 1, width, 0, 0, 0) : status;
}

/* The modules of a layer, in this order everywhere. */
static const struct {
    const char *name, *role;
} layer_linears[] = {{"self_attn.q_proj", "q"}, {"self_attn.k_proj", "k"},
                     {"self_attn.v_proj", "v"}, {"self_attn.out_proj", "out"},
                     {"mlp.fc1", "fc1"},        {"mlp.fc2", "fc2"}};

static Status take_layer(const SiglipConfig *config, SiglipTake *call, void *context,
                         uint32_t layer) {
    char prefix[48];
    snprintf(prefix, sizeof prefix, "encoder.layers.%u.", layer);
    Status status = take_norm(call, context, prefix, "layer_norm1", config->hidden);
    for (int i = 0; i < 4 && status == STATUS_OK; i++)
        status = take_linear(call, context, prefix, layer_linears[i].name, config->hidden,
                             config->hidden);
    if (status == STATUS_OK)
        status = take_norm(call, context, prefix, "layer_norm2", config->hidden);
    if (status == STATUS_OK)
        status =
            take_linear(call, context, prefix, "mlp.fc1", config->intermediate, config->hidden);
    if (status == STATUS_OK)
        status =
            take_linear(call, context, prefix, "mlp.fc2", config->hidden, config->intermediate);
    return status;
}

static Status take_head(const SiglipConfig *config, SiglipTake *call, void *context) {
    uint64_t hidden = config->hidden, inner = config->intermediate;
    Status status = take_norm(call, context, "", "post_layernorm", hidden);
    if (status == STATUS_OK)
        status = take(call, context, "", "head.probe", 3, 1, 1, hidden, 0);
    if (status == STATUS_OK)
        status =
            take(call, context, "", "head.attention.in_proj_weight", 2, 3 * hidden, hidden, 0, 0);
    if (status == STATUS_OK)
        status = take(call, context, "", "head.attention.in_proj_bias", 1, 3 * hidden, 0, 0, 0);
    if (status == STATUS_OK)
        status = take_linear(call, context, "", "head.attention.out_proj", hidden, hidden);
    if (status == STATUS_OK)
        status = take_norm(call, context, "", "head.layernorm", hidden);
    if (status == STATUS_OK)
        status = take_linear(call, context, "", "head.mlp.fc1", inner, hidden);
    return status == STATUS_OK ? take_linear(call, context, "", "head.mlp.fc2", hidden, inner)
                               : status;
}

Status siglip_each_tensor(const SiglipConfig *config, SiglipTake *call, void *context) {
    uint64_t hidden = config->hidden;
    Status status = take(call, context, "embeddings.", "patch_embedding.weight", 4, hidden,
                         config->channels, config->patch, config->patch);
    if (status == STATUS_OK)
        status = take(call, context, "embeddings.", "patch_embedding.bias", 1, hidden, 0, 0, 0);
    if (status == STATUS_OK)
        status = take(call, context, "embeddings.", "position_embedding.weight", 2,
                      siglip_tokens(config), hidden, 0, 0);
    for (uint32_t layer = 0; layer < config->layers && status == STATUS_OK; layer++)
        status = take_layer(config, call, context, layer);
    return status == STATUS_OK ? take_head(config, call, context) : status;
}

/* ---- the network */
typedef struct Builder {
    const SiglipConfig *config;
    Net *net;
    bool failed; /* no memory */
    int param;   /* the next one; they were added in the order of use */
    /* buffers */
    int patches, y, q, k, v, mixed, change, hidden, probe, probe_mixed, probe_change, probe_hidden,
        probe_normed;
} Builder;

/* Parameters belong to the stage that is open when they are added, so stages are begun here. */
static Status add_param(void *context, const char *name, uint32_t rank, const uint64_t *dims) {
    Builder *b = context;
    char stage[32];
    unsigned layer;
    if (sscanf(name, "vision_model.encoder.layers.%u.", &layer) == 1)
        snprintf(stage, sizeof stage, "layer %u", layer);
    else
        snprintf(stage, sizeof stage, "%s", strstr(name, ".embeddings.") ? "embedding" : "head");
    Net *net = b->net;
    if (net->stage_count == 0 || strcmp(net->stages[net->stage_count - 1].name, stage) != 0)
        b->failed |= !net_stage(net, stage);
    b->failed |= net_param(net, name, rank, dims) == NET_NONE;
    return b->failed ? ERR_NO_MEMORY : STATUS_OK;
}

static NetOp blank(NetOpKind kind, int in, int out) {
    return (NetOp){.kind = kind,
                   .in = in,
                   .in2 = NET_NONE,
                   .in3 = NET_NONE,
                   .out = out,
                   .weight = NET_NONE,
                   .bias = NET_NONE,
                   .linear = NET_NONE};
}

static void add(Builder *b, NetOp op) {
    b->failed = b->failed || !net_op(b->net, op);
}

/* Takes the next two parameters. */
static NetOp with_weights(Builder *b, NetOpKind kind, int in, int out) {
    NetOp op = blank(kind, in, out);
    op.weight = b->param++;
    op.bias = b->param++;
    op.epsilon = b->config->epsilon;
    op.rows = b->net->buffers.items[out].width;
    return op;
}

static NetOp attention(const Builder *b, int q, int out) {
    NetOp op = blank(NET_ATTENTION, q, out);
    op.in2 = b->k;
    op.in3 = b->v;
    op.heads = b->config->heads;
    op.head_width = b->config->hidden / b->config->heads;
    op.scale = (float)(1 / sqrt((double)op.head_width));
    return op;
}

static void add_target(Builder *b, uint32_t layer, int which, int in, int out, int norm) {
    char module[96];
    snprintf(module, sizeof module, "vision_model.encoder.layers.%u.%s", layer,
             layer_linears[which].name);
    NetOp op = with_weights(b, NET_LINEAR, in, out);
    b->failed = b->failed || !net_target(b->net, op, module, layer_linears[which].role, norm);
}

static void build_layer(Builder *b, uint32_t layer) {
    Net *net = b->net;
    add(b, with_weights(b, NET_NORM, SIGLIP_STREAM, b->y));
    add_target(b, layer, 0, b->y, b->q, (int)net->ops.count - 1);
    add_target(b, layer, 1, b->y, b->k, NET_NONE);
    add_target(b, layer, 2, b->y, b->v, NET_NONE);
    add(b, attention(b, b->q, b->mixed));
    add_target(b, layer, 3, b->mixed, b->change, NET_NONE);
    add(b, blank(NET_ADD, b->change, SIGLIP_STREAM));
    add(b, with_weights(b, NET_NORM, SIGLIP_STREAM, b->y));
    add_target(b, layer, 4, b->y, b->hidden, (int)net->ops.count - 1);
    add(b, blank(NET_GELU, NET_NONE, b->hidden));
    add_target(b, layer, 5, b->hidden, b->change, NET_NONE);
    add(b, blank(NET_ADD, b->change, SIGLIP_STREAM));
}

static void build_embedding(Builder *b) {
    NetOp patches = blank(NET_PATCHES, SIGLIP_PIXELS, b->patches);
    patches.channels = b->config->channels;
    patches.size = b->config->image;
    patches.patch = b->config->patch;
    add(b, patches);
    add(b, with_weights(b, NET_LINEAR, b->patches, SIGLIP_STREAM));
    NetOp position = blank(NET_ADD_PARAM, NET_NONE, SIGLIP_STREAM);
    position.weight = b->param++;
    add(b, position);
}

/* The part of in_proj from row `part` · hidden on. */
static void add_projection(Builder *b, int weight, uint32_t part, int in, int out) {
    NetOp op = blank(NET_LINEAR, in, out);
    op.weight = weight;
    op.bias = weight + 1;
    op.weight_row = part * b->config->hidden;
    op.rows = b->config->hidden;
    add(b, op);
}

static void build_head(Builder *b) {
    add(b, with_weights(b, NET_NORM, SIGLIP_STREAM, SIGLIP_LAST));
    NetOp probe = blank(NET_COPY_PARAM, NET_NONE, b->probe);
    probe.weight = b->param++;
    add(b, probe);
    int weight = b->param;
    b->param += 2;
    add_projection(b, weight, 0, b->probe, b->probe_change);
    add_projection(b, weight, 1, SIGLIP_LAST, b->k);
    add_projection(b, weight, 2, SIGLIP_LAST, b->v);
    add(b, attention(b, b->probe_change, b->probe_mixed));
    add(b, with_weights(b, NET_LINEAR, b->probe_mixed, SIGLIP_POOLED));
    add(b, with_weights(b, NET_NORM, SIGLIP_POOLED, b->probe_normed));
    add(b, with_weights(b, NET_LINEAR, b->probe_normed, b->probe_hidden));
    add(b, blank(NET_GELU, NET_NONE, b->probe_hidden));
    add(b, with_weights(b, NET_LINEAR, b->probe_hidden, b->probe_change));
    add(b, blank(NET_ADD, b->probe_change, SIGLIP_POOLED));
}

static int buffer(Builder *b, uint32_t width, bool fixed_rows, bool persistent) {
    int made = net_buffer(b->net, width, fixed_rows, persistent);
    b->failed |= made == NET_NONE;
    return made;
}

static void build_buffers(Builder *b) {
    const SiglipConfig *c = b->config;
    uint32_t hidden = c->hidden;
    buffer(b, c->channels * c->image * c->image, true, true); /* SIGLIP_PIXELS */
    buffer(b, hidden, false, true);                           /* SIGLIP_STREAM */
    buffer(b, hidden, false, true);                           /* SIGLIP_LAST */
    buffer(b, hidden, true, true);                            /* SIGLIP_POOLED */
    b->patches = buffer(b, c->channels * c->patch * c->patch, false, false);
    b->y = buffer(b, hidden, false, false);
    b->q = buffer(b, hidden, false, false);
    b->k = buffer(b, hidden, false, false);
    b->v = buffer(b, hidden, false, false);
    b->mixed = buffer(b, hidden, false, false);
    b->change = buffer(b, hidden, false, false);
    b->hidden = buffer(b, c->intermediate, false, false);
    b->probe = buffer(b, hidden, true, false);
    b->probe_mixed = buffer(b, hidden, true, false);
    b->probe_change = buffer(b, hidden, true, false);
    b->probe_normed = buffer(b, hidden, true, false);
    b->probe_hidden = buffer(b, c->intermediate, true, false);
}

/* Stages hold their operations' range: they are filled in the order in which they were begun. */
static void enter_stage(Net *net, size_t stage) {
    net->stages[stage].first = net->stages[stage].end = net->ops.count;
}

Status siglip_build(const SiglipConfig *config, Net *net, Diag *diag) {
    *net = (Net){.stream = SIGLIP_STREAM};
    Builder b = {.config = config, .net = net};
    siglip_each_tensor(config, add_param, &b);
    if (!b.failed)
        build_buffers(&b);
    size_t stages = net->stage_count;
    for (size_t stage = 0; stage < stages && !b.failed; stage++) {
        net->stage_count = stage + 1; /* operations go into the last one */
        enter_stage(net, stage);
        net->stages[stage].output = stage + 1 < stages ? SIGLIP_STREAM : SIGLIP_POOLED;
        if (stage == 0)
            build_embedding(&b);
        else if (stage + 1 < stages)
            build_layer(&b, (uint32_t)stage - 1);
        else
            build_head(&b);
    }
    if (!b.failed)
        return STATUS_OK;
    net_free(net);
    return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory left for the network");
}
