#include "quant/internal.h"

#include "base/text.h"

#include <string.h>

Status calibrate_make_stats(Quant *q, size_t stage) {
    uint32_t first, end;
    quant_sites(q, stage, &first, &end);
    for (uint32_t site = first; site < end; site++) {
        calibrate_free_stats(q, stage);
        break;
    }
    for (uint32_t site = first; site < end; site++)
        if (!stats_make(&q->stats[site], q->net->sites.items[site].inputs, q->options->block,
                        q->options->wide))
            return quant_no_memory(q);
    return STATUS_OK;
}

void calibrate_free_stats(Quant *q, size_t stage) {
    uint32_t first, end;
    quant_sites(q, stage, &first, &end);
    for (uint32_t site = first; site < end; site++)
        stats_free(&q->stats[site]);
}

typedef struct Observer {
    Quant *q;
    const char *sample;
} Observer;

static const char *site_name(const Quant *q, uint32_t site) {
    return q->net->linears.items[q->net->sites.items[site].first_linear].name;
}

static Status observe(void *context, uint32_t site, const float *x, uint32_t rows) {
    const Observer *observer = context;
    Quant *q = observer->q;
    bool no_memory;
    double begin = clock_seconds();
    bool added = stats_add(&q->stats[site], q->net->blas, q->pool, x, rows, &no_memory);
    q->times.hessian += clock_seconds() - begin;
    if (added)
        return STATUS_OK;
    if (no_memory)
        return quant_no_memory(q);
    char object[192];
    snprintf(object, sizeof object, "input of %s, %s", site_name(q, site),
             q->net->stages[q->net->sites.items[site].stage].name);
    return diag_error(q->diag, ERR_QUANT_NONFINITE,
                      (DiagPlace){.file = observer->sample, .tile = -1, .object = object},
                      "the activations are not finite");
}

static size_t stream_bytes(const Quant *q, const NetSample *sample) {
    return (size_t)q->net->buffers.items[q->net->stream].width * sample->rows * sizeof(float);
}

static Status run_sample(Quant *q, size_t stage, NetSample *sample, const TaskSource *source,
                         bool advance) {
    Observer observer = {q, source->label};
    NetRun run = {.observe = observe, .context = &observer, .sites_only = !advance};
    if (q->task.kind == TASK_LINEARS) {
        bool found;
        Status status = task_load_inputs(&q->task, source, stage, sample, &found, q->diag);
        if (status != STATUS_OK || !found)
            return status;
        run.sites_only = true;
        return net_run(q->net, stage, sample, &run, q->diag);
    }
    float *stream = net_buffer_of(q->net, sample, q->net->stream);
    if (!advance)
        memcpy(q->kept, stream, stream_bytes(q, sample));
    Status status = net_run(q->net, stage, sample, &run, q->diag);
    if (!advance)
        memcpy(stream, q->kept, stream_bytes(q, sample));
    return status;
}

static Status check_rows(const Quant *q, uint32_t site) {
    if (q->stats[site].total.rows)
        return STATUS_OK;
    char shown[TEXT_PRINTABLE];
    diag_error(q->diag, ERR_QUANT_CALIBRATION,
               (DiagPlace){.file = q->task.checkpoint->path, .tile = -1},
               "no calibration data reached %s", text_printable(site_name(q, site), shown));
    diag_fix(q->diag, "give its inputs with --calibration, or leave it out of --linears");
    return ERR_QUANT_CALIBRATION;
}

Status calibrate_stage(Quant *q, size_t stage, bool advance) {
    uint32_t first, end;
    quant_sites(q, stage, &first, &end);
    Status status = calibrate_make_stats(q, stage);
    double begin = clock_seconds(), hessian = q->times.hessian;
    for (size_t i = 0; i < q->calibration.count && status == STATUS_OK; i++) {
        status = run_sample(q, stage, &q->samples[i], &q->calibration.items[i], advance);
        bool block_ends = (i + 1) % QUANT_BLOCK == 0 || i + 1 == q->calibration.count;
        for (uint32_t site = first; site < end && block_ends; site++)
            stats_fold(&q->stats[site]);
        quant_step(q);
    }
    q->times.forward += clock_seconds() - begin - (q->times.hessian - hessian);
    for (uint32_t site = first; site < end && status == STATUS_OK; site++)
        status = check_rows(q, site);
    return status;
}

Status calibrate_advance(Quant *q, size_t stage, bool operands) {
    if (q->task.kind == TASK_LINEARS)
        return STATUS_OK;
    double begin = clock_seconds();
    NetRun run = {.input_scales = operands ? q->input_scales : NULL};
    Status status = STATUS_OK;
    for (size_t i = 0; i < q->calibration.count && status == STATUS_OK; i++) {
        status = net_run(q->net, stage, &q->samples[i], &run, q->diag);
        quant_step(q);
    }
    q->times.forward += clock_seconds() - begin;
    return status;
}

Status calibrate_open_samples(Quant *q) {
    size_t count = q->calibration.count;
    q->samples = mem_alloc(count + 1, sizeof *q->samples);
    if (q->net->stream != NET_NONE)
        q->kept = mem_alloc((size_t)q->net->buffers.items[q->net->stream].width *
                                MAX_OF(q->calibration.most_rows, 1u),
                            sizeof *q->kept);
    if (!q->samples || (q->net->stream != NET_NONE && !q->kept))
        return quant_no_memory(q);
    for (size_t i = 0; i < count; i++) {
        const TaskSource *source = &q->calibration.items[i];
        Status status =
            net_sample_make(q->net, source->label, source->rows, &q->samples[i], q->diag);
        if (status == STATUS_OK)
            status = task_load(&q->task, source, &q->samples[i], q->diag);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

void calibrate_close_samples(Quant *q) {
    for (size_t i = 0; q->samples && i < q->calibration.count; i++)
        net_sample_free(q->net, &q->samples[i]);
    mem_free(q->samples);
    mem_free(q->kept);
    q->samples = NULL;
    q->kept = NULL;
}

/* ---- scales that linears of a role share */

typedef struct Largest {
    float *sites;
} Largest;

static Status observe_largest(void *context, uint32_t site, const float *x, uint32_t rows) {
    const Observer *observer = context;
    const Quant *q = observer->q;
    size_t count = (size_t)rows * q->net->sites.items[site].inputs;
    int scale = scale_for_magnitude((double)scale_magnitude_f32(x, count), F8_F143);
    if (q->forced_inputs[site] == SOLVE_FREE || scale > q->forced_inputs[site])
        q->forced_inputs[site] = scale;
    return STATUS_OK;
}

static Status weight_scale(Quant *q, uint32_t index) {
    const NetLinear *linear = &q->net->linears.items[index];
    const NetParam *weight = &q->net->params.items[linear->weight];
    int8_t scale;
    solve_scales(weight->values, linear->outputs, linear->inputs, GRANULARITY_TENSOR, &scale);
    q->forced_weights[index] = scale;
    return STATUS_OK;
}

/* One pass of all samples through the float model, stage by stage. */
static Status measure_model(Quant *q) {
    Status status = STATUS_OK;
    for (size_t stage = 0; stage < q->net->stage_count && status == STATUS_OK; stage++) {
        status = net_load(q->net, stage, NULL, q->diag);
        for (size_t i = 0; i < q->calibration.count && status == STATUS_OK; i++) {
            Observer observer = {q, q->calibration.items[i].label};
            NetRun run = {.observe = observe_largest, .context = &observer};
            status = net_run(q->net, stage, &q->samples[i], &run, q->diag);
        }
        uint32_t first, end;
        quant_linears(q, stage, &first, &end);
        for (uint32_t i = first; i < end && status == STATUS_OK; i++)
            status = weight_scale(q, i);
        net_unload(q->net, stage);
    }
    for (size_t i = 0; i < q->calibration.count && status == STATUS_OK; i++)
        status = task_load(&q->task, &q->calibration.items[i], &q->samples[i], q->diag);
    return status;
}

static bool same_role(const Quant *q, size_t a, size_t b) {
    const NetLinear *x = &q->net->linears.items[a], *y = &q->net->linears.items[b];
    return q->options->share_roles ? strcmp(x->role, y->role) == 0 : x->site == y->site;
}

Status calibrate_policies(Quant *q) {
    Net *net = q->net;
    Status status = measure_model(q);
    int *inputs = mem_alloc(net->linears.count, sizeof *inputs);
    int *weights = mem_alloc(net->linears.count, sizeof *weights);
    if (!inputs || !weights)
        status = quant_no_memory(q);
    for (size_t i = 0; i < net->linears.count && status == STATUS_OK; i++) {
        inputs[i] = weights[i] = F8_SCALE_MIN;
        for (size_t j = 0; j < net->linears.count; j++) {
            if (!same_role(q, i, j))
                continue;
            inputs[i] = MAX_OF(inputs[i], q->forced_inputs[net->linears.items[j].site]);
            weights[i] = MAX_OF(weights[i], q->forced_weights[j]);
        }
        if (q->options->share_operands)
            inputs[i] = weights[i] = scale_clamp_shared(MAX_OF(inputs[i], weights[i]));
    }
    for (size_t i = 0; i < net->linears.count && status == STATUS_OK; i++) {
        q->forced_inputs[net->linears.items[i].site] = inputs[i];
        q->forced_weights[i] = weights[i];
    }
    mem_free(inputs);
    mem_free(weights);
    return status;
}
