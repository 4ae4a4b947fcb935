#include "quant/neck.h"

#include "base/text.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

static Status read_size(const json_t *root, const char *path, const char *key, uint32_t *number,
                        Diag *diag) {
    const json_t *value = json_object_get(root, key);
    json_int_t whole = json_integer_value(value);
    if (!json_is_integer(value) || whole < 1 || whole > 1 << 20)
        return diag_error(diag, ERR_QUANT_CONFIG, (DiagPlace){.file = path, .tile = -1},
                          "%s is missing or no whole number from 1 to %d", key, 1 << 20);
    *number = (uint32_t)whole;
    return STATUS_OK;
}

Status neck_read_config(const char *path, NeckConfig *config, Diag *diag) {
    uint8_t *text;
    size_t size;
    Status status = file_read(path, &text, &size, diag);
    if (status != STATUS_OK)
        return status;
    json_t *root = json_loadb((const char *)text, size, JSON_REJECT_DUPLICATES, NULL);
    mem_free(text);
    *config = (NeckConfig){.epsilon = 1e-5, .final_epsilon = 1e-6};
    const struct {
        const char *key;
        uint32_t *number;
    } fields[] = {
        {"hidden_size", &config->hidden},       {"intermediate_size", &config->intermediate},
        {"num_hidden_layers", &config->layers}, {"num_attention_heads", &config->heads},
        {"pooled_size", &config->pooled},       {"squeezed_size", &config->squeezed},
        {"num_classes", &config->classes},
    };
    for (size_t i = 0; i < COUNT_OF(fields) && status == STATUS_OK; i++)
        status = read_size(root, path, fields[i].key, fields[i].number, diag);
    json_decref(root);
    if (status == STATUS_OK && config->hidden % config->heads != 0)
        status = diag_error(diag, ERR_QUANT_CONFIG, (DiagPlace){.file = path, .tile = -1},
                            "hidden_size is no multiple of num_attention_heads");
    return status;
}

typedef struct Builder {
    const NeckConfig *config;
    Net *net;
    bool failed;
    int normed, qkv, mixed, change, hidden, grown, joined, around, squeezed, last;
} Builder;

static int param(Builder *b, const char *name, uint32_t rank, uint64_t a, uint64_t c, uint64_t d,
                 uint64_t e) {
    int made = net_param(b->net, name, rank, (uint64_t[]){a, c, d, e});
    b->failed |= made == NET_NONE;
    return made;
}

static int buffer(Builder *b, uint32_t width, bool persistent) {
    int made = net_buffer(b->net, width, false, persistent);
    b->failed |= made == NET_NONE;
    return made;
}

static NetOp op(NetOpKind kind, int in, int out) {
    return (NetOp){.kind = kind,
                   .in = in,
                   .in2 = NET_NONE,
                   .in3 = NET_NONE,
                   .out = out,
                   .weight = NET_NONE,
                   .bias = NET_NONE,
                   .linear = NET_NONE};
}

static void add(Builder *b, NetOp made) {
    b->failed = b->failed || !net_op(b->net, made);
}

/* A pair NAME.weight, NAME.bias by column: a norm, or a batch normalization folded into two. */
static void add_pair(Builder *b, NetOpKind kind, const char *name, uint32_t width, int in, int out,
                     double epsilon) {
    char text[96];
    NetOp made = op(kind, in, out);
    made.epsilon = epsilon;
    snprintf(text, sizeof text, "%s.weight", name);
    made.weight = param(b, text, 1, width, 0, 0, 0);
    snprintf(text, sizeof text, "%s.bias", name);
    made.bias = param(b, text, 1, width, 0, 0, 0);
    add(b, made);
}

static void add_target(Builder *b, const char *module, const char *role, uint32_t inputs, int in,
                       int out, int norm) {
    char text[96];
    NetOp made = op(NET_LINEAR, in, out);
    made.rows = b->net->buffers.items[out].width;
    snprintf(text, sizeof text, "%s.weight", module);
    made.weight = param(b, text, 2, inputs, made.rows, 0, 0);
    if (made.weight != NET_NONE)
        b->net->params.items[made.weight].input_major = true;
    snprintf(text, sizeof text, "%s.bias", module);
    made.bias = param(b, text, 1, made.rows, 0, 0, 0);
    b->failed = b->failed || !net_target(b->net, made, module, role, norm);
}

/* Convolution without bias, its batch normalization, swish. */
static void add_convolution(Builder *b, const char *name, uint32_t inputs, uint32_t wide, int in,
                            int out) {
    char text[96];
    uint32_t outputs = b->net->buffers.items[out].width;
    NetOp made = op(NET_LINEAR, in, out);
    made.rows = outputs;
    snprintf(text, sizeof text, "%s.weight", name);
    made.weight = param(b, text, 4, outputs, inputs, 1, wide);
    add(b, made);
    snprintf(text, sizeof text, "%s.norm", name);
    add_pair(b, NET_AFFINE, text, outputs, NET_NONE, out, 0);
    add(b, op(NET_SWISH, NET_NONE, out));
}

static void build_layer(Builder *b, uint32_t layer) {
    const NeckConfig *c = b->config;
    char text[64];
#define NAME(end) (snprintf(text, sizeof text, "layers.%u." end, layer), text)
    add_pair(b, NET_NORM, NAME("norm1"), c->hidden, NECK_STREAM, b->normed, c->epsilon);
    add_target(b, NAME("qkv"), "qkv", c->hidden, b->normed, b->qkv, (int)b->net->ops.count - 1);
    NetOp attention = op(NET_ATTENTION, b->qkv, b->mixed);
    attention.in2 = attention.in3 = b->qkv;
    attention.in2_at = c->hidden;
    attention.in3_at = 2 * c->hidden;
    attention.heads = c->heads;
    attention.head_width = c->hidden / c->heads;
    attention.scale = (float)(1 / sqrt((double)attention.head_width));
    add(b, attention);
    add_target(b, NAME("out"), "out", c->hidden, b->mixed, b->change, NET_NONE);
    add(b, op(NET_ADD, b->change, NECK_STREAM));
    add_pair(b, NET_NORM, NAME("norm2"), c->hidden, NECK_STREAM, b->normed, c->epsilon);
    add_target(b, NAME("up"), "up", c->hidden, b->normed, b->hidden, (int)b->net->ops.count - 1);
    add(b, op(NET_SWISH, NET_NONE, b->hidden));
    add_target(b, NAME("down"), "down", c->intermediate, b->hidden, b->change, NET_NONE);
    add(b, op(NET_ADD, b->change, NECK_STREAM));
#undef NAME
}

static void build_head(Builder *b) {
    const NeckConfig *c = b->config;
    add_pair(b, NET_NORM, "norm", c->hidden, NECK_STREAM, b->normed, c->final_epsilon);
    add_convolution(b, "conv1", c->hidden, 1, b->normed, b->grown);
    NetOp join = op(NET_JOIN, NECK_POOLED, b->joined);
    join.in2 = b->grown;
    add(b, join);
    add(b, op(NET_AROUND, b->joined, b->around));
    add_convolution(b, "conv2", 2 * c->pooled, 3, b->around, b->squeezed);
    add_convolution(b, "conv3", c->squeezed, 1, b->squeezed, b->last);
    add_target(b, "classifier", "classifier", c->hidden, b->last, NECK_LOGITS, NET_NONE);
}

Status neck_build(const NeckConfig *c, Net *net, Diag *diag) {
    *net = (Net){.stream = NECK_STREAM};
    Builder b = {.config = c, .net = net};
    buffer(&b, c->hidden, true);  /* NECK_STREAM */
    buffer(&b, c->pooled, true);  /* NECK_POOLED */
    buffer(&b, c->classes, true); /* NECK_LOGITS */
    b.normed = buffer(&b, c->hidden, false);
    b.qkv = buffer(&b, 3 * c->hidden, false);
    b.mixed = buffer(&b, c->hidden, false);
    b.change = buffer(&b, c->hidden, false);
    b.hidden = buffer(&b, c->intermediate, false);
    b.grown = buffer(&b, c->pooled, false);
    b.joined = buffer(&b, 2 * c->pooled, false);
    b.around = buffer(&b, 6 * c->pooled, false);
    b.squeezed = buffer(&b, c->squeezed, false);
    b.last = buffer(&b, c->hidden, false);
    for (uint32_t layer = 0; layer < c->layers && !b.failed; layer++) {
        char name[32];
        snprintf(name, sizeof name, "layer %u", layer);
        b.failed = !net_stage(net, name);
        if (!b.failed)
            build_layer(&b, layer);
    }
    b.failed = b.failed || !net_stage(net, "head");
    if (!b.failed)
        build_head(&b);
    for (size_t stage = 0; stage < net->stage_count; stage++)
        net->stages[stage].output = stage < c->layers ? NECK_STREAM : NECK_LOGITS;
    if (!b.failed)
        return STATUS_OK;
    net_free(net);
    return diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory left for the network");
}
