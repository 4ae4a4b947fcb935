/* The float network beside the reconstructed one, on each sample, stage by stage. */
#include "quant/internal.h"

#include <math.h>
#include <string.h>

typedef struct Difference {
    double dot, aa, bb, squares, absolute, most;
    uint64_t count;
} Difference;

static void compare(Difference *d, const float *reference, const float *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        double a = (double)reference[i], b = (double)values[i], e = fabs(a - b);
        d->dot += a * b;
        d->aa += a * a;
        d->bb += b * b;
        d->squares += e * e;
        d->absolute += e;
        d->most = fmax(d->most, e);
    }
    d->count += count;
}

static json_t *difference_json(const Difference *d) {
    double norm = sqrt(d->aa) * sqrt(d->bb);
    return json_pack("{s:f, s:f, s:f, s:f}", "cosine_similarity",
                     norm > 0         ? d->dot / norm
                     : d->aa == d->bb ? 1.0
                                      : 0.0,
                     "mean_absolute_error", d->count ? d->absolute / (double)d->count : 0.0,
                     "maximum_absolute_error", d->most, "relative_rms_error",
                     d->aa > 0 ? sqrt(d->squares / d->aa) : 0.0);
}

/* One sample in three versions. */
typedef struct Judged {
    const TaskSource *source;
    bool held_out;
    NetSample real, weights, both;
    uint64_t clipped;
    Difference weights_off, both_off; /* of the last stage that ran */
} Judged;

typedef struct Evaluating {
    Quant *q;
    Judged *items;
    size_t count;
    float *kept; /* the float output of a stage that is in no buffer of the sample */
} Evaluating;

typedef struct Clipping {
    const Quant *q;
    Judged *judged;
} Clipping;

static Status count_clipped(void *context, uint32_t site, const float *x, uint32_t rows) {
    const Clipping *c = context;
    int scale = c->q->input_scales[site];
    size_t count = (size_t)rows * c->q->net->sites.items[site].inputs;
    float limit = scale == NET_UNSCALED ? INFINITY : ldexpf(240, scale);
    uint64_t clipped = 0, users = 0; /* each linear has operands of its own */
    for (size_t i = 0; i < count; i++)
        clipped += fabsf(x[i]) > limit;
    for (size_t i = 0; i < c->q->net->linears.count; i++)
        users += c->q->net->linears.items[i].site == site;
    c->judged->clipped += clipped * users;
    return STATUS_OK;
}

/* Keeps the float output beside a buffer that the next run overwrites. */
static const float *float_output(Evaluating *e, size_t stage, Judged *judged, size_t count) {
    const Net *net = e->q->net;
    int output = net->stages[stage].output;
    const float *x = net_buffer_of(net, &judged->real, output);
    if (net->buffers.items[output].persistent)
        return x;
    memcpy(e->kept, x, count * sizeof *x);
    return e->kept;
}

static size_t output_count(const Net *net, size_t stage, const NetSample *sample) {
    const NetBuffer *buffer = &net->buffers.items[net->stages[stage].output];
    return (size_t)buffer->width * (buffer->fixed_rows ? 1 : sample->rows);
}

static Status judge_versions(Evaluating *e, size_t stage, Judged *judged, const float *real,
                             Difference *weights, Difference *both) {
    Quant *q = e->q;
    Clipping clipping = {q, judged};
    NetRun plain = {0}, operands = {.observe = count_clipped,
                                    .context = &clipping,
                                    .input_scales = q->input_scales};
    int output = q->net->stages[stage].output;
    size_t count = output_count(q->net, stage, &judged->real);
    judged->weights_off = judged->both_off = (Difference){0};
    Status status = net_run(q->net, stage, &judged->weights, &plain, q->diag);
    if (status != STATUS_OK)
        return status;
    const float *x = net_buffer_of(q->net, &judged->weights, output);
    compare(weights, real, x, count);
    compare(&judged->weights_off, real, x, count);
    status = net_run(q->net, stage, &judged->both, &operands, q->diag);
    if (status != STATUS_OK)
        return status;
    x = net_buffer_of(q->net, &judged->both, output);
    compare(both, real, x, count);
    compare(&judged->both_off, real, x, count);
    return STATUS_OK;
}

/* Loads both versions of a stage's parameters for each sample in turn only where the float output
 * has no place of its own; else all float runs come first. */
static Status judge_stage_alone(Evaluating *e, size_t stage, Difference *weights,
                                Difference *both) {
    Quant *q = e->q;
    NetRun plain = {0};
    for (size_t i = 0; i < e->count; i++) {
        Judged *judged = &e->items[i];
        bool found;
        Status status =
            task_load_inputs(&q->task, judged->source, stage, &judged->real, &found, q->diag);
        judged->weights.rows = judged->both.rows = judged->real.rows;
        if (status != STATUS_OK)
            return status;
        if (!found)
            continue;
        status = net_load(q->net, stage, NULL, q->diag);
        if (status == STATUS_OK)
            status = net_run(q->net, stage, &judged->real, &plain, q->diag);
        if (status != STATUS_OK)
            return status;
        const float *real =
            float_output(e, stage, judged, output_count(q->net, stage, &judged->real));
        status = net_load(q->net, stage, q->state.layers[stage], q->diag);
        if (status == STATUS_OK)
            status = judge_versions(e, stage, judged, real, weights, both);
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static Status judge_stage(Evaluating *e, size_t stage, Difference *weights, Difference *both) {
    Quant *q = e->q;
    NetRun plain = {0};
    Status status = net_load(q->net, stage, NULL, q->diag);
    for (size_t i = 0; i < e->count && status == STATUS_OK; i++)
        status = net_run(q->net, stage, &e->items[i].real, &plain, q->diag);
    if (status == STATUS_OK)
        status = net_load(q->net, stage, q->state.layers[stage], q->diag);
    for (size_t i = 0; i < e->count && status == STATUS_OK; i++) {
        Judged *judged = &e->items[i];
        const float *real = net_buffer_of(q->net, &judged->real, q->net->stages[stage].output);
        status = judge_versions(e, stage, judged, real, weights, both);
        quant_step(q);
    }
    return status;
}

static Status judge_stages(Evaluating *e) {
    Quant *q = e->q;
    Status status = STATUS_OK;
    for (size_t stage = 0; stage < q->net->stage_count && status == STATUS_OK; stage++) {
        Difference weights = {0}, both = {0};
        status = q->task.kind == TASK_LINEARS ? judge_stage_alone(e, stage, &weights, &both)
                                              : judge_stage(e, stage, &weights, &both);
        net_unload(q->net, stage);
        if (status == STATUS_OK && both.count)
            json_array_append_new(q->stages,
                                  json_pack("{s:s, s:o, s:o}", "stage", q->net->stages[stage].name,
                                            "weights", difference_json(&weights),
                                            "weights_and_inputs", difference_json(&both)));
    }
    return status;
}

/* How far the host's float output is from the one that the file holds. */
static Status add_reference(Evaluating *e, Judged *judged, json_t *record) {
    Quant *q = e->q;
    size_t last = q->net->stage_count - 1, count = output_count(q->net, last, &judged->real);
    float *reference;
    Status status = task_reference(&q->task, judged->source, count, &reference, q->diag);
    if (status != STATUS_OK || !reference)
        return status;
    Difference d = {0};
    compare(&d, reference, net_buffer_of(q->net, &judged->real, q->net->stages[last].output),
            count);
    json_object_set_new(record, "float_against_reference", difference_json(&d));
    mem_free(reference);
    return STATUS_OK;
}

static Status record_samples(Evaluating *e) {
    Status status = STATUS_OK;
    for (size_t i = 0; i < e->count && status == STATUS_OK; i++) {
        Judged *judged = &e->items[i];
        json_t *record =
            json_pack("{s:s, s:b, s:o, s:o, s:I}", "sample", judged->source->label, "held_out",
                      judged->held_out, "weights", difference_json(&judged->weights_off),
                      "weights_and_inputs", difference_json(&judged->both_off), "inputs_clipped",
                      (json_int_t)judged->clipped);
        status = add_reference(e, judged, record);
        json_array_append_new(e->q->evaluations, record);
    }
    return status;
}

static Status open_judged(Evaluating *e, const TaskSource *source, bool held_out) {
    Quant *q = e->q;
    Judged *judged = &e->items[e->count++];
    judged->source = source;
    judged->held_out = held_out;
    NetSample *samples[] = {&judged->real, &judged->weights, &judged->both};
    Status status = STATUS_OK;
    for (size_t i = 0; i < COUNT_OF(samples) && status == STATUS_OK; i++) {
        status = net_sample_make(q->net, source->label, source->rows, samples[i], q->diag);
        if (status == STATUS_OK)
            status = task_load(&q->task, source, samples[i], q->diag);
    }
    return status;
}

Status evaluate_run(Quant *q) {
    size_t calibration = MIN_OF(q->calibration.count, (size_t)QUANT_BLOCK);
    size_t count = calibration + q->evaluation.count;
    Evaluating e = {.q = q, .items = mem_alloc(count + 1, sizeof *e.items)};
    uint32_t widest = 1;
    for (size_t stage = 0; stage < q->net->stage_count; stage++)
        widest = MAX_OF(widest, q->net->buffers.items[q->net->stages[stage].output].width);
    if (q->task.kind == TASK_LINEARS)
        e.kept = mem_alloc((size_t)widest * q->net->scratch_rows, sizeof *e.kept);
    double begin = clock_seconds();
    Status status =
        e.items && (e.kept || q->task.kind != TASK_LINEARS) ? STATUS_OK : quant_no_memory(q);
    for (size_t i = 0; i < calibration && status == STATUS_OK; i++)
        status = open_judged(&e, &q->calibration.items[i], false);
    for (size_t i = 0; i < q->evaluation.count && status == STATUS_OK; i++)
        status = open_judged(&e, &q->evaluation.items[i], true);
    if (status == STATUS_OK)
        status = judge_stages(&e);
    if (status == STATUS_OK && q->task.kind != TASK_LINEARS)
        status = record_samples(&e);
    for (size_t i = 0; e.items && i < e.count; i++) {
        net_sample_free(q->net, &e.items[i].real);
        net_sample_free(q->net, &e.items[i].weights);
        net_sample_free(q->net, &e.items[i].both);
    }
    mem_free(e.items);
    mem_free(e.kept);
    q->times.evaluate += clock_seconds() - begin;
    return status;
}
