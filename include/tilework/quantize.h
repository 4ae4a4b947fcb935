/* Quantization of checkpoints for F143 (float8_e4m3fnuz): docs/quantization.md. */
#pragma once

#include "tilework/base.h"

typedef enum TwAlgorithm { TW_GPTQ, TW_NEAREST, TW_NO_ALGORITHM } TwAlgorithm;

/* Zeroed options are the published recipe's, apart from paths and what is told below. */
typedef struct TwQuantizeOptions {
    const char *model, *output;
    const char *const *calibration; /* pictures, files of pixel_values or of inputs */
    size_t calibration_count;
    const char *const *evaluation; /* held out */
    size_t evaluation_count;
    const char *const *linears; /* patterns of weights of any checkpoint; none: a model's own */
    size_t linear_count;
    bool input_major; /* these are stored inputs × outputs */
    unsigned layers;  /* only the first so many; 0: all */

    TwAlgorithm algorithm;
    bool tensor_scales; /* else a scale for 64 × 64 weights */
    bool error_scales;  /* the scale of least weighted error, not the smallest that clips nothing */
    double damp;        /* of the Hessians' diagonals: 0.01 */
    unsigned damp_retries;
    bool activation_order;
    bool no_bias_correction;
    unsigned block_size; /* columns of a Hessian block: 64 */
    bool f64_hessians;
    bool covariance; /* of inputs instead of their second moments */
    bool sequential, quantized_propagation;
    bool center, equalize;
    double equalize_limit; /* 16 */
    bool share_roles, share_operands;
    int input_scale_offset, weight_scale_offset;
    double clip; /* fraction of an input's values that its scale may clip */

    bool encode, resume, restart, allow_fallback;
    uint64_t memory;        /* limit in bytes; 0: that of the machine */
    unsigned shard, shards; /* 1…shards: make statistics only; 0: all */
    int layer;              /* only this one; -1: all */
    const char *state;      /* folder of finished layers; NULL: output with ".partial" */
    const char *statistics; /* merged file; NULL: calibrate */
} TwQuantizeOptions;

/* *report: a JSON document, or NULL if the run did not come so far; tw_free. With the error TW1904
 * the output is complete. */
TwStatus tw_quantize(TwContext *context, const TwQuantizeOptions *options, char **report);

/* Folds the statistics of all shards of a run into one file. */
TwStatus tw_merge(TwContext *context, const char *const *paths, size_t count, const char *output);

typedef struct TwEncodeOptions {
    const char *input, *output;
    const char *const *tensors; /* patterns; none: every matrix of floats */
    size_t tensor_count;
    bool block_scales; /* else one a tensor */
    bool fixed;        /* take `scale`, else the smallest that clips nothing */
    int scale;
    bool decode; /* F8_E4M3FNUZ with exponents to F32 */
} TwEncodeOptions;

TwStatus tw_encode(TwContext *context, const TwEncodeOptions *options, char **report);

/* Writes a generated vision tower ("siglip-tiny", "siglip-so400m"), with so many images, into a new
 * folder: for first steps and measurements. */
TwStatus tw_generate_model(TwContext *context, const char *name, const char *folder,
                           unsigned images);
