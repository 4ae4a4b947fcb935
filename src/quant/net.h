/* A network on the host: a list of operations on row-major float32 buffers, in stages.
 *
 * A stage is what is loaded, calibrated and quantized at a time: an encoder layer, usually. Between
 * stages only a sample's own buffers live. Every operation is cut into fixed pieces, so that
 * results do not depend on the number of threads.
 */
#pragma once

#include "base/pool.h"
#include "model/checkpoint.h"
#include "num/blas.h"

typedef enum NetOpKind {
    NET_PATCHES,   /* out[token] = patch of the picture `in`, channel, row, column; size, rows */
    NET_LINEAR,    /* out = in · weightᵀ + bias */
    NET_NORM,      /* layer norm with weight and bias */
    NET_ATTENTION, /* out = softmax(scale · in · in2ᵀ) in3, by heads */
    NET_ADD,       /* out += in */
    NET_ADD_PARAM, /* out += weight, row by row */
    NET_GELU,      /* out = gelu(out), tanh form */
    NET_SWISH,     /* out = out · sigmoid(out) */
    NET_AFFINE,    /* out = out · weight + bias by column */
    NET_JOIN,      /* out = columns of in, then those of in2 */
    NET_AROUND,    /* out[t] = for each column in[t−1], in[t], in[t+1], zero outside */
    NET_COPY_PARAM /* out = weight, one row */
} NetOpKind;

enum { NET_NONE = -1 };

typedef struct NetOp {
    NetOpKind kind;
    int in, in2, in3, out;          /* buffers */
    uint32_t in_at, in2_at, in3_at; /* first columns of attention's operands */
    int weight, bias;               /* parameters */
    uint32_t weight_row, rows;      /* of LINEAR: which rows of the parameter, which are outputs */
    uint32_t heads, head_width;     /* of ATTENTION */
    uint32_t channels, size, patch; /* of PATCHES */
    float scale;                    /* of ATTENTION */
    double epsilon;                 /* of NORM */
    int linear;                     /* index of the target that this LINEAR is, or NET_NONE */
} NetOp;

typedef struct NetParam {
    const char *name;
    uint32_t rank;
    uint64_t dims[4], count;
    bool input_major; /* stored inputs × outputs; held outputs × inputs */
    uint32_t stage;
    const float *values;      /* while loaded */
    const SafeTensor *source; /* of the loaded values: the checkpoint's, or a finished layer's */
    float *owned;             /* the same, if it is not in the mapped file */
} NetParam;

/* A linear that shall be quantized. Those with equal `site` have the same input. */
typedef struct NetLinear {
    const char *name; /* module: without ".weight" */
    int weight, bias; /* parameters; bias may be NET_NONE */
    uint32_t outputs, inputs, stage, site;
    const char *role; /* "q", "fc1": what scale policies and reports group by */
} NetLinear;

typedef struct NetSite {
    uint32_t inputs, stage;
    int first_linear;
    int norm_weight, norm_bias; /* of the layer norm that makes it, NET_NONE if none does */
    /* Subtracting from shift_param, from element shift_at on, subtracts the same from the site's
     * input: a norm's bias, or that of attention's values. NET_NONE if nothing does. */
    int shift_param;
    uint32_t shift_at;
} NetSite;

typedef struct NetBuffer {
    uint32_t width;
    bool fixed_rows; /* one row, whatever the sample */
    bool persistent; /* of the sample */
} NetBuffer;

typedef struct Net {
    Arena arena;
    VEC(NetOp) ops;
    VEC(NetParam) params;
    VEC(NetLinear) linears;
    VEC(NetSite) sites;
    VEC(NetBuffer) buffers;
    struct NetStage {
        int output;        /* buffer that evaluations compare */
        const char *name;  /* "layer 3" */
        size_t first, end; /* operations */
    } * stages;
    size_t stage_count;
    int stream; /* the buffer that stages with targets change, NET_NONE if they change none */
    const Checkpoint *checkpoint;
    const Blas *blas;
    Pool *pool;
    float **scratch; /* of buffers that are not persistent */
    uint32_t scratch_rows;
    float **worker_scratch; /* rows² floats for each thread */
    float *operand;         /* rows × widest input: quantized operands */
} Net;

typedef struct NetSample {
    const char *name; /* file, for messages */
    uint32_t rows;
    float **buffers; /* one a persistent buffer, NULL for the others */
} NetSample;

/* ---- building; false without memory */
int net_param(Net *net, const char *name, uint32_t rank, const uint64_t *dims);
int net_buffer(Net *net, uint32_t width, bool fixed_rows, bool persistent);
bool net_stage(Net *net, const char *name); /* begins the next one */
bool net_op(Net *net, NetOp op);
/* An op that is a target: adds the linear, and a site if its input is not that of the linear before
 * it. norm: the op index of the layer norm that makes its input, or NET_NONE. */
bool net_target(Net *net, NetOp op, const char *module, const char *role, int norm);
void net_free(Net *net);

/* Binds a checkpoint: every parameter must be there with its shape and a floating dtype, and
 * finite. Errors: ERR_MODEL_TENSOR, _SHAPE, _DTYPE, ERR_QUANT_NONFINITE. */
Status net_bind(Net *net, const Checkpoint *checkpoint, Diag *diag);
/* Makes the scratch buffers for samples of at most so many rows; opens BLAS. */
Status net_prepare(Net *net, Pool *pool, uint32_t rows, Diag *diag);
uint64_t net_scratch_bytes(const Net *net, unsigned threads, uint32_t rows);

float *net_buffer_of(const Net *net, const NetSample *sample, int buffer);

/* Loads the parameters of a stage as float32; those that `changed` has (may be NULL) from there. */
Status net_load(Net *net, size_t stage, const SafeTensors *changed, Diag *diag);
void net_unload(Net *net, size_t stage);
/* Gives the memory of mapped bytes back; they are read again when they are wanted again. */
void net_forget(const uint8_t *bytes, uint64_t size);
/* A loaded parameter in memory of its own, so that it can be changed; NULL without memory. */
float *net_own(Net *net, int param);
/* One parameter as float32, outputs × inputs, in fresh memory (mem_free). */
Status net_read_param(const Net *net, int param, const SafeTensors *changed, float **values,
                      Diag *diag);

Status net_sample_make(const Net *net, const char *name, uint32_t rows, NetSample *sample,
                       Diag *diag);
uint64_t net_sample_bytes(const Net *net, uint32_t rows);
void net_sample_free(const Net *net, NetSample *sample);

enum { NET_UNSCALED = 127 };

/* How a stage is run. */
typedef struct NetRun {
    /* Called before the first linear of each site with its input. */
    Status (*observe)(void *context, uint32_t site, const float *x, uint32_t rows);
    void *context;
    /* By site: F143 operands of the targets with this scale, float32 ones with NET_UNSCALED; NULL:
     * all float32. */
    const int *input_scales;
    bool sites_only; /* stop after the last site was observed: outputs are not needed */
} NetRun;

/* Runs a loaded stage on a sample. Errors: ERR_QUANT_NONFINITE, and those of observe. */
Status net_run(Net *net, size_t stage, NetSample *sample, const NetRun *run, Diag *diag);

/* rows × inner times (columns × inner)ᵀ, plus a bias by column or NULL. */
void net_multiply(const Blas *blas, Pool *pool, uint32_t rows, uint32_t inner, uint32_t columns,
                  const float *x, size_t x_stride, const float *w, const float *bias, float *y,
                  size_t y_stride);
