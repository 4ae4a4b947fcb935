/* The neck and head of PP-OCR text recognizers: pre-norm encoder blocks with one fused weight for
 * query, key and value, and the convolutions and the classifier behind them. */
#pragma once

#include "quant/net.h"

typedef struct NeckConfig {
    uint32_t hidden, intermediate, layers, heads;
    uint32_t pooled;   /* columns that join the neck's before the 1 × 3 convolution */
    uint32_t squeezed; /* columns behind that convolution */
    uint32_t classes;
    double epsilon, final_epsilon;
} NeckConfig;

/* Buffers of a sample: the tokens, the pooled columns, the logits. */
enum { NECK_STREAM = 0, NECK_POOLED = 1, NECK_LOGITS = 2 };

Status neck_read_config(const char *path, NeckConfig *config, Diag *diag);
/* Stages: each block, then "head". Tensors: docs/quantization.md. */
Status neck_build(const NeckConfig *config, Net *net, Diag *diag);
