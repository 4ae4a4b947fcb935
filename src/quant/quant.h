/* The quantizer: calibration, reconstruction, evaluation, output. docs/quantization.md tells what
 * each option means; cli/quantize.c which are the defaults. */
#pragma once

#include "base/pool.h"
#include "quant/solve.h"

typedef struct QuantOptions {
    const char *model, *output;
    const char *const *calibration; /* pictures, pixel_values, inputs */
    size_t calibration_count;
    const char *const *evaluation;
    size_t evaluation_count;
    const char *const *linears; /* patterns: any checkpoint; none: a model with config.json */
    size_t linear_count;
    bool input_major;
    uint32_t layers; /* only the first so many; 0: all */

    SolveOptions solve;
    uint32_t block;  /* columns of a Hessian block; at least the widest input: whole Hessians */
    bool wide;       /* Hessians in double */
    bool sequential; /* each layer sees the layers before it as they were reconstructed */
    bool operands;   /* and their operands as F143 */
    bool equalize;   /* columns behind layer norms */
    double equalize_limit;
    bool center;                     /* means of inputs into biases */
    bool share_roles;                /* one scale for all layers of a role */
    bool share_operands;             /* one scale for both operands of a product */
    int input_offset, weight_offset; /* added to all scales */
    double clip;                     /* the fraction of an input's values that may be clipped */

    bool encode, resume, restart, allow_fallback;
    uint64_t memory;        /* limit in bytes; 0: that of the machine */
    uint32_t shard, shards; /* 1…shards: make statistics only; 0: all */
    int32_t layer;          /* only this one; -1: all */
    const char *state;      /* folder of finished layers; NULL: output with ".partial" */
    const char *statistics; /* merged file; NULL: calibrate */
    const char *version;    /* of the program, for metadata */
} QuantOptions;

/* Runs to the end. *report becomes a JSON document (mem_free) once the run is far enough to have
 * one. ERR_QUANT_FALLBACK comes with a complete output. */
Status quant_run(const QuantOptions *options, Pool *pool, char **report, Diag *diag);

/* Folds the statistics of all shards of one run, in the order of their blocks, into one file.
 * Errors: ERR_QUANT_STATISTICS if they do not make a whole. */
Status quant_merge(const char *const *paths, size_t count, const char *output, Diag *diag);

typedef struct EncodeOptions {
    const char *input, *output;
    const char *const *tensors; /* patterns; none: every matrix of floats */
    size_t tensor_count;
    Granularity granularity;
    bool fixed; /* take `scale`, else the maximum rule */
    int scale;
    bool decode; /* the other way: F8_E4M3FNUZ with scales into F32 */
    const char *version;
} EncodeOptions;

/* Codec alone. *report: JSON, a record for each tensor; mem_free. */
Status quant_encode(const EncodeOptions *options, char **report, Diag *diag);
