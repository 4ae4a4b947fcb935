/* Values of a graph from and to files.
 *
 * A place is "FILE.npy" or "FILE.safetensors[:TENSOR]"; without TENSOR the name of the graph's
 * input, parameter or output is meant. Files hold logical values; codes are made and read here. */
#pragma once

#include "graph/graph.h"
#include "model/dtype.h"

/* Reads values of `shape` and encodes them. codes: count × precision_bytes. `name` is the default
 * tensor. Errors: ERR_FILE_*, ERR_ST_*, ERR_NPY, ERR_MODEL_PLACE (no such kind of file),
 * _TENSOR, _SHAPE, _DTYPE. Clipped and non-finite values give a warning (ERR_MODEL_CLIPPED). */
Status model_read(const char *place, const char *name, const Shape *shape, Precision precision,
                  void *codes, EncodeStats *stats, Diag *diag);

/* Whether values can be written to a place: ERR_MODEL_PLACE (its form), ERR_FILE_WRITE. */
Status model_check_target(const char *place, Diag *diag);
/* Writes values, as F16 if that is their precision, else as float32. */
Status model_write(const char *place, const char *name, const Shape *shape, Precision precision,
                   const void *codes, Diag *diag);

/* Codes of all parameters of a graph, in the order of its operations, of their logical shapes. Each
 * place of `places` is a SafeTensors file that is searched for every parameter, or "NAME=PLACE" for
 * one parameter. A parameter that is missing or found twice is an error (ERR_MODEL_TENSOR,
 * ERR_MODEL_TWICE). */
typedef struct ModelParameters {
    size_t count;
    struct ModelParameter {
        uint32_t op; /* of the graph */
        void *codes;
        EncodeStats stats;
    } * items;
} ModelParameters;

Status model_bind(const Graph *graph, const char *const *places, size_t place_count,
                  ModelParameters *parameters, Diag *diag);
/* Data D1 for every parameter of a graph without repeats, by the first operation that takes it, or
 * what it is cast to. A product: σ = 1/√inner, or weight_sigma if > 0; a sum: MODEL_BIAS_SIGMA;
 * else 1. */
#define MODEL_BIAS_SIGMA 0.02
Status model_generate(const Graph *graph, uint64_t seed, double weight_sigma,
                      ModelParameters *parameters, Diag *diag);
/* Data D1 of one tensor as codes. */
Status model_generate_codes(const char *name, uint64_t count, uint64_t seed, double sigma,
                            Precision precision, void *codes, EncodeStats *stats, Diag *diag);
void model_parameters_free(ModelParameters *parameters);
