#include "quant/internal.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int clamp_scale(int scale) {
    return MIN_OF(MAX_OF(scale, F8_SCALE_MIN), F8_SCALE_MAX);
}

/* The maximum rule, or, where some may be clipped, the smallest exponent that clips no more. */
int layer_input_scale(const Quant *q, uint32_t site) {
    const Stats *stats = &q->stats[site];
    int scale = q->forced_inputs[site];
    if (scale == SOLVE_FREE) {
        scale = scale_for_magnitude((double)stats->total.largest, F8_F143);
        double most = q->options->clip * (double)stats->total.rows * stats->inputs;
        while (scale > F8_SCALE_MIN && stats->total.largest > 0 &&
               (double)stats_clipped(stats, scale - 1) <= most)
            scale--;
    }
    return clamp_scale(scale + q->options->input_offset);
}

/* ---- transforms that leave the float function as it is */

static double *site_moments(const Stats *stats, bool squares) {
    double *values = mem_alloc(stats->inputs, sizeof *values);
    for (uint32_t c = 0; c < stats->inputs && values; c++)
        values[c] = squares ? stats_mean_square(stats, c) : stats_mean(stats, c);
    return values;
}

/* The linears of a site lie next to each other. */
static void site_linears(const Quant *q, uint32_t site, uint32_t *first, uint32_t *end) {
    *first = (uint32_t)q->net->sites.items[site].first_linear;
    *end = *first;
    while (*end < q->net->linears.count && q->net->linears.items[*end].site == site)
        ++*end;
}

/* bias += W · mean for each consumer; the input loses its mean. */
static Status center_site(Quant *q, uint32_t site) {
    Net *net = q->net;
    const NetSite *s = &net->sites.items[site];
    uint32_t first, end;
    site_linears(q, site, &first, &end);
    bool possible = s->shift_param != NET_NONE;
    for (uint32_t i = first; i < end; i++)
        possible = possible && net->linears.items[i].bias != NET_NONE;
    if (!possible)
        return STATUS_OK;
    double *mean = site_moments(&q->stats[site], false);
    float *shift = mean ? net_own(net, s->shift_param) : NULL;
    bool made = shift;
    for (uint32_t i = first; i < end && made; i++) {
        const NetLinear *linear = &net->linears.items[i];
        const float *w = net->params.items[linear->weight].values;
        float *bias = net_own(net, linear->bias);
        made = bias;
        for (uint32_t o = 0; o < linear->outputs && made; o++) {
            double sum = 0;
            for (uint32_t c = 0; c < linear->inputs; c++)
                sum += (double)w[(size_t)o * linear->inputs + c] * (double)(float)mean[c];
            bias[o] = (float)((double)bias[o] + sum);
        }
    }
    for (uint32_t c = 0; c < s->inputs && made; c++)
        shift[s->shift_at + c] -= (float)mean[c];
    mem_free(mean);
    return made ? STATUS_OK : quant_no_memory(q);
}

static Status fold_equalized(Quant *q, uint32_t site, const Equalized *e) {
    Net *net = q->net;
    const NetSite *s = &net->sites.items[site];
    uint32_t first, end;
    site_linears(q, site, &first, &end);
    float *weight = net_own(net, s->norm_weight), *bias = net_own(net, s->norm_bias);
    if (!weight || !bias)
        return quant_no_memory(q);
    for (uint32_t c = 0; c < s->inputs; c++) {
        weight[c] /= e->t[c];
        bias[c] /= e->t[c];
    }
    for (uint32_t i = first; i < end; i++) {
        const NetLinear *linear = &net->linears.items[i];
        float *w = net_own(net, linear->weight);
        if (!w)
            return quant_no_memory(q);
        for (size_t at = 0; at < (size_t)linear->outputs * linear->inputs; at++)
            w[at] *= e->t[at % linear->inputs];
    }
    return STATUS_OK;
}

static Status equalize_site(Quant *q, uint32_t site) {
    Net *net = q->net;
    if (net->sites.items[site].norm_weight == NET_NONE)
        return STATUS_OK;
    EqualizeConsumer consumers[8];
    uint32_t first, end;
    site_linears(q, site, &first, &end);
    size_t count = MIN_OF(end - first, (uint32_t)COUNT_OF(consumers));
    for (size_t i = 0; i < count; i++) {
        const NetLinear *linear = &net->linears.items[first + i];
        consumers[i] =
            (EqualizeConsumer){net->params.items[linear->weight].values, linear->outputs};
    }
    double *moments = site_moments(&q->stats[site], true);
    Equalized result = {0};
    Status status = moments ? equalize_group(consumers, count, net->sites.items[site].inputs,
                                             moments, q->options->solve.granularity,
                                             q->options->equalize_limit, q->pool, &result, q->diag)
                            : quant_no_memory(q);
    if (status == STATUS_OK)
        status = fold_equalized(q, site, &result);
    if (status == STATUS_OK) {
        json_t *record =
            json_pack("{s:s, s:f, s:f, s:f, s:f}", "input_of", net->linears.items[first].name,
                      "alpha", result.alpha, "objective_ratio", result.ratio, "scale_minimum",
                      result.least, "scale_maximum", result.most);
        json_array_append_new(
            json_object_get(json_array_get(q->records, net->sites.items[site].stage),
                            "equalization"),
            record);
    }
    mem_free(result.t);
    mem_free(moments);
    return status;
}

Status layer_transform(Quant *q, size_t stage) {
    uint32_t first, end;
    quant_sites(q, stage, &first, &end);
    double begin = clock_seconds();
    Status status = STATUS_OK;
    for (uint32_t site = first; site < end && status == STATUS_OK; site++)
        if (q->options->center)
            status = center_site(q, site);
    for (uint32_t site = first; site < end && status == STATUS_OK; site++)
        if (q->options->equalize)
            status = equalize_site(q, site);
    q->times.equalize += clock_seconds() - begin;
    return status;
}

/* ---- records */

static json_t *fractions(const Stats *stats, uint64_t (*count)(const Stats *, int), int scale) {
    json_t *object = json_object();
    double all = (double)stats->total.rows * stats->inputs;
    for (int s = MAX_OF(scale - 8, F8_SCALE_MIN); s <= MIN_OF(scale + 8, F8_SCALE_MAX); s++) {
        char key[16];
        snprintf(key, sizeof key, "%d", s);
        json_object_set_new(object, key, json_real((double)count(stats, s) / all));
    }
    return object;
}

static void scale_range(const Solved *solved, int *least, int *most) {
    *least = *most = solved->scales[0];
    for (size_t i = 1; i < (size_t)solved->scale_rows * solved->scale_columns; i++) {
        *least = MIN_OF(*least, solved->scales[i]);
        *most = MAX_OF(*most, solved->scales[i]);
    }
}

static json_t *make_record(const Quant *q, const NetLinear *linear, const Factor *factor,
                           const Solved *solved, double seconds) {
    const Stats *stats = &q->stats[linear->site];
    unsigned fallbacks = 0, retries = 0;
    double damping = 0;
    for (uint32_t k = 0; k < factor->count; k++) {
        fallbacks += factor->blocks[k].fallback;
        retries += factor->blocks[k].retries;
        damping = fmax(damping, factor->blocks[k].damping);
    }
    bool gptq = q->options->solve.algorithm == ALGORITHM_GPTQ;
    int least, most, input = q->input_scales[linear->site];
    scale_range(solved, &least, &most);
    const char *method = !gptq                        ? "nearest"
                         : fallbacks == factor->count ? "nearest (fallback)"
                         : fallbacks                  ? "gptq, nearest in some blocks (fallback)"
                                                      : "gptq";
    double ratio = solved->nearest > 0 ? solved->reconstructed / solved->nearest : 0;
    json_t *record = json_pack("{s:s, s:s, s:s, s:s, s:[i,i], s:I, s:i, s:i, s:f, s:i}", "name",
                               linear->name, "stage", q->net->stages[linear->stage].name, "role",
                               linear->role, "method", method, "shape", (int)linear->outputs,
                               (int)linear->inputs, "rows", (json_int_t)stats->total.rows, "blocks",
                               (int)factor->count, "fallback_blocks", gptq ? (int)fallbacks : 0,
                               "damping", gptq ? damping : 0.0, "damping_retries", (int)retries);
    json_t *rest = json_pack(
        "{s:f, s:f, s:f, s:f, s:i, s:i, s:I, s:i, s:f, s:o, s:o, s:f}", "nearest", solved->nearest,
        "reconstructed", solved->reconstructed, "ratio", ratio, "bias_correction_rms",
        solved->bias_rms, "weight_scale_least", least, "weight_scale_most", most, "weights_clipped",
        (json_int_t)solved->clipped, "input_scale", input, "input_largest",
        (double)stats->total.largest, "input_clipped", fractions(stats, stats_clipped, input),
        "input_flushed", fractions(stats, stats_flushed, input), "seconds", seconds);
    json_object_update(record, rest);
    json_decref(rest);
    return record;
}

/* ---- the layer's file */

typedef struct LayerFile {
    Arena arena;
    VEC(SafeTensor) tensors;
} LayerFile;

static bool add_tensor(LayerFile *file, const char *name, Dtype dtype, uint32_t rank,
                       const uint64_t *dims, uint64_t count, const void *values) {
    uint64_t bytes = count * dtype_bits(dtype) / 8;
    uint8_t *copy = arena_alloc(&file->arena, bytes + 1, 1);
    uint64_t *dims_copy = ARENA_NEW(&file->arena, uint64_t, rank + 1);
    if (!name || !copy || !dims_copy)
        return false;
    memcpy(copy, values, bytes);
    for (uint32_t axis = 0; axis < rank; axis++)
        dims_copy[axis] = dims[axis];
    return vec_push(&file->tensors, (SafeTensor){name, dtype, rank, dims_copy, count, bytes, copy});
}

/* A parameter in the order in which the checkpoint stores it. */
static bool add_param(LayerFile *file, const NetParam *param, const float *values) {
    if (!param->input_major)
        return add_tensor(file, param->name, DTYPE_F32, param->rank, param->dims, param->count,
                          values);
    uint64_t inputs = param->dims[0], outputs = param->dims[1];
    float *turned = mem_alloc(param->count, sizeof *turned);
    for (uint64_t o = 0; o < outputs && turned; o++)
        for (uint64_t i = 0; i < inputs; i++)
            turned[i * outputs + o] = values[o * inputs + i];
    bool done = turned && add_tensor(file, param->name, DTYPE_F32, param->rank, param->dims,
                                     param->count, turned);
    mem_free(turned);
    return done;
}

static bool add_solved(const Quant *q, LayerFile *file, const NetLinear *linear,
                       const Solved *solved) {
    const NetParam *params = q->net->params.items;
    uint64_t dims[] = {solved->scale_rows, solved->scale_columns};
    bool tensor_scale = q->options->solve.granularity == GRANULARITY_TENSOR;
    int8_t input = (int8_t)q->input_scales[linear->site];
    return add_param(file, &params[linear->weight], solved->weight) &&
           (linear->bias == NET_NONE || add_param(file, &params[linear->bias], solved->bias)) &&
           add_tensor(file, output_scale_name(&file->arena, params[linear->weight].name), DTYPE_I8,
                      tensor_scale ? 0 : 2, dims, dims[0] * dims[1], solved->scales) &&
           add_tensor(file, output_input_scale_name(&file->arena, linear->name), DTYPE_I8, 0, NULL,
                      1, &input);
}

/* Norms and biases that a transform changed; with ALGORITHM_NONE weights too. */
static bool add_transformed(const Quant *q, LayerFile *file, size_t stage) {
    for (size_t i = 0; i < q->net->params.count; i++) {
        const NetParam *param = &q->net->params.items[i];
        bool there = false;
        for (size_t t = 0; t < file->tensors.count; t++)
            there |= strcmp(file->tensors.items[t].name, param->name) == 0;
        bool changed = param->stage == stage && param->owned && !there;
        if (changed && !add_param(file, param, param->owned))
            return false;
    }
    return true;
}

static Status write_layer(Quant *q, size_t stage, LayerFile *file) {
    char *path = state_layer_path(q, stage);
    char *record = json_dumps(json_array_get(q->records, stage), JSON_COMPACT);
    SafeTensorsText metadata[] = {{"fingerprint", q->state.fingerprint}, {"record", record}};
    Status status = path && record
                        ? safetensors_write(path, file->tensors.items, file->tensors.count,
                                            metadata, COUNT_OF(metadata), q->diag)
                        : quant_no_memory(q);
    mem_free(path);
    free(record);
    return status == STATUS_OK ? state_load_layer(q, stage, true) : status;
}

static Status solve_one(Quant *q, uint32_t index, const Factor *factor, LayerFile *file) {
    const NetLinear *linear = &q->net->linears.items[index];
    const NetParam *params = q->net->params.items;
    Solved solved;
    double begin = clock_seconds();
    int forced = q->forced_weights[index];
    if (q->options->weight_offset || forced != SOLVE_FREE) {
        int8_t scale;
        solve_scales(params[linear->weight].values, linear->outputs, linear->inputs,
                     GRANULARITY_TENSOR, &scale);
        forced = clamp_scale((forced == SOLVE_FREE ? scale : forced) + q->options->weight_offset);
    }
    Status status = solve_linear(
        factor, &q->options->solve, q->pool, linear->outputs, params[linear->weight].values,
        linear->bias == NET_NONE ? NULL : params[linear->bias].values, forced, &solved, q->diag);
    if (status != STATUS_OK)
        return status;
    json_t *record = make_record(q, linear, factor, &solved, clock_seconds() - begin);
    json_array_append_new(json_object_get(json_array_get(q->records, linear->stage), "linears"),
                          record);
    if (!add_solved(q, file, linear, &solved))
        status = quant_no_memory(q);
    solved_free(&solved);
    return status;
}

/* Errors are weighed without the inputs' means only where each linear has a bias to take them. */
static SolveOptions site_options(const Quant *q, uint32_t site, uint32_t first, uint32_t end) {
    SolveOptions options = q->options->solve;
    for (uint32_t i = first; i < end; i++) {
        const NetLinear *linear = &q->net->linears.items[i];
        if (linear->site == site && linear->bias == NET_NONE)
            options.covariance = false;
    }
    return options;
}

static Status solve_all(Quant *q, size_t stage, LayerFile *file) {
    uint32_t first, end, site = UINT32_MAX;
    Factor factor = {0};
    Status status = STATUS_OK;
    quant_linears(q, stage, &first, &end);
    for (uint32_t i = first; i < end && status == STATUS_OK; i++) {
        const NetLinear *linear = &q->net->linears.items[i];
        if (linear->site != site) {
            site = linear->site;
            factor_free(&factor);
            q->input_scales[site] = layer_input_scale(q, site);
            SolveOptions options = site_options(q, site, first, end);
            status =
                factor_make(&q->stats[site], &options, q->net->blas, q->pool, &factor, q->diag);
        }
        if (status == STATUS_OK)
            status = solve_one(q, i, &factor, file);
    }
    factor_free(&factor);
    return status;
}

Status layer_solve(Quant *q, size_t stage) {
    LayerFile file = {0};
    double begin = clock_seconds();
    Status status =
        q->options->solve.algorithm == ALGORITHM_NONE ? STATUS_OK : solve_all(q, stage, &file);
    if (status == STATUS_OK && !add_transformed(q, &file, stage))
        status = quant_no_memory(q);
    q->times.solve += clock_seconds() - begin;
    begin = clock_seconds();
    if (status == STATUS_OK)
        status = write_layer(q, stage, &file);
    q->times.write += clock_seconds() - begin;
    vec_free(&file.tensors);
    arena_free(&file.arena);
    return status;
}
