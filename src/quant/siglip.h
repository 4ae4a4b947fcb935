/* Vision towers of the SigLIP type: configuration, tensors, and the network that they make. */
#pragma once

#include "model/checkpoint.h"
#include "quant/net.h"

typedef struct SiglipConfig {
    uint32_t hidden, intermediate, layers, heads, channels, image, patch;
    double epsilon; /* of all norms */
} SiglipConfig;

static inline uint32_t siglip_tokens(const SiglipConfig *config) {
    return (config->image / config->patch) * (config->image / config->patch);
}

extern const SiglipConfig siglip_tiny, siglip_so400m;

/* Reads a config.json, of a whole model (vision_config) or of a vision tower alone; missing numbers
 * take the published defaults. Errors: ERR_FILE_*, ERR_QUANT_CONFIG. */
Status siglip_read_config(const char *path, SiglipConfig *config, Diag *diag);

/* Calls take(context, name, rank, dims) for every tensor of a tower, in the order of use; stops at
 * the first error and returns it. */
typedef Status SiglipTake(void *context, const char *name, uint32_t rank, const uint64_t *dims);
Status siglip_each_tensor(const SiglipConfig *config, SiglipTake *take, void *context);

/* The network: stage 0 embeds, stage 1 + i is layer i, the last is post_layernorm and the head.
 * Output buffers: SIGLIP_OUT_POOLED is the pooled vector, SIGLIP_OUT_LAST the normed tokens. */
enum { SIGLIP_PIXELS = 0, SIGLIP_STREAM = 1, SIGLIP_LAST = 2, SIGLIP_POOLED = 3 };
Status siglip_build(const SiglipConfig *config, Net *net, Diag *diag);
