#include "quant/quant.h"

#include "quant/internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

Status quant_no_memory(const Quant *q) {
    return diag_error(q->diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory left for quantization");
}

void quant_step(Quant *q) {
    progress_update(&q->progress, ++q->done);
}

void quant_sites(const Quant *q, size_t stage, uint32_t *first, uint32_t *end) {
    const Net *net = q->net;
    *first = 0;
    while (*first < net->sites.count && net->sites.items[*first].stage < stage)
        ++*first;
    *end = *first;
    while (*end < net->sites.count && net->sites.items[*end].stage == stage)
        ++*end;
}

void quant_linears(const Quant *q, size_t stage, uint32_t *first, uint32_t *end) {
    const Net *net = q->net;
    *first = 0;
    while (*first < net->linears.count && net->linears.items[*first].stage < stage)
        ++*first;
    *end = *first;
    while (*end < net->linears.count && net->linears.items[*end].stage == stage)
        ++*end;
}

static size_t target_stages_before(const Quant *q, size_t stage) {
    size_t count = 0;
    for (size_t s = 0; s < stage; s++) {
        uint32_t first, end;
        quant_linears(q, s, &first, &end);
        count += end > first;
    }
    return count;
}

bool quant_has_targets(const Quant *q, size_t stage) {
    uint32_t first, end;
    quant_linears(q, stage, &first, &end);
    return end > first &&
           (q->options->layers == 0 || target_stages_before(q, stage) < q->options->layers);
}

/* ---- options */

static Status exclude(const Quant *q, const char *text) {
    return diag_error(q->diag, ERR_QUANT_OPTIONS, DIAG_NOWHERE, "%s", text);
}

static Status check_options(const Quant *q) {
    const QuantOptions *o = q->options;
    bool transforms = o->equalize || o->center;
    bool policies = o->share_roles || o->share_operands;
    if (transforms && (o->shards || o->statistics || policies)) {
        exclude(q, "equalization and centring change the model that shards and shared scales "
                   "measure");
        diag_fix(q->diag, "make the changed model first (--algorithm none), then quantize that");
        return ERR_QUANT_OPTIONS;
    }
    if (policies && (o->shards || o->statistics))
        return exclude(q, "shared scales need all layers' data in one run");
    if (policies && o->solve.granularity != GRANULARITY_TENSOR)
        return exclude(q, "shared scales are scales of whole tensors");
    if (o->weight_offset && o->solve.granularity != GRANULARITY_TENSOR)
        return exclude(q, "an offset is for scales of whole tensors");
    if (o->layer >= 0 && !o->shards && !o->statistics)
        return exclude(q, "one layer alone is for a shard or for merged statistics");
    if (o->shards && o->statistics)
        return exclude(q, "a shard makes statistics, it does not take any");
    if (o->sequential && o->layer < 0 && (o->shards || o->statistics))
        return exclude(q, "with layers that build on each other, shards and statistics are of one "
                          "layer");
    if (o->sequential && o->linear_count)
        return exclude(q, "linears with given inputs do not build on each other");
    if (transforms && o->linear_count)
        return exclude(q, "linears with given inputs have no layer norms to change");
    if (o->operands && !o->sequential)
        return exclude(q, "only layers that build on each other can see quantized inputs");
    if (o->solve.covariance && !o->solve.bias_correction)
        return exclude(q, "errors weighed without the means of inputs need biases that take these");
    if (o->solve.algorithm == ALGORITHM_NONE && !transforms)
        return exclude(q, "without an algorithm there must be equalization or centring to do");
    if (o->calibration_count == 0 && !o->statistics && !o->resume) {
        diag_error(q->diag, ERR_QUANT_CALIBRATION, DIAG_NOWHERE,
                   "no calibration data: the method needs to see what the linears see");
        diag_fix(q->diag, "give pictures or tensors with --calibration; tilework encode rounds "
                          "without data");
        return ERR_QUANT_CALIBRATION;
    }
    return STATUS_OK;
}

/* Nothing is overwritten, and that is told before the work. */
static Status check_output(const Quant *q) {
    struct stat info;
    const QuantOptions *o = q->options;
    if (o->shards || stat(o->output, &info) != 0)
        return STATUS_OK;
    diag_error(q->diag, ERR_QUANT_OUTPUT, (DiagPlace){.file = o->output, .tile = -1},
               "the output exists");
    diag_fix(q->diag, "remove it or name another one");
    return ERR_QUANT_OUTPUT;
}

/* ---- memory */

/* Bytes of a stage's parameters in float32, of its widest linear, and of its statistics. */
static void stage_bytes(const Quant *q, size_t stage, uint64_t *params, uint64_t *linear,
                        uint64_t *stats, uint64_t *factor) {
    const Net *net = q->net;
    *params = *linear = *stats = *factor = 0;
    for (size_t i = 0; i < net->params.count; i++)
        if (net->params.items[i].stage == stage)
            *params += net->params.items[i].count * sizeof(float);
    for (size_t i = 0; i < net->linears.count; i++)
        if (net->linears.items[i].stage == stage)
            *linear = MAX_OF(*linear, (uint64_t)net->linears.items[i].outputs *
                                          net->linears.items[i].inputs * sizeof(float));
    for (size_t i = 0; i < net->sites.count; i++) {
        const NetSite *site = &net->sites.items[i];
        if (site->stage != stage)
            continue;
        *stats +=
            stats_bytes(site->inputs, MIN_OF(q->options->block, site->inputs), q->options->wide);
        *factor = MAX_OF(*factor, factor_bytes(site->inputs, q->options->block) +
                                      (uint64_t)q->options->block * q->options->block *
                                          sizeof(double) * pool_threads(q->pool));
    }
}

static uint64_t estimate(const Quant *q) {
    enum { PROGRAM = 48 << 20, THREAD = 40 << 20 }; /* code, libraries; BLAS's buffers */
    uint32_t rows = MAX_OF(q->calibration.most_rows, q->evaluation.most_rows);
    uint64_t each = net_sample_bytes(q->net, rows), samples = q->calibration.count * each,
             judged = 3 * each *
                      (q->evaluation.count + MIN_OF(q->calibration.count, (size_t)QUANT_BLOCK)),
             work = 0, all_stats = 0, copies = q->options->equalize || q->options->center ? 3 : 2;
    for (size_t stage = 0; stage < q->net->stage_count; stage++) {
        uint64_t params, linear, stats, factor;
        stage_bytes(q, stage, &params, &linear, &stats, &factor);
        /* The parameters, with transforms a changed copy, the solved ones; one linear read and
         * turned. */
        work = MAX_OF(work, copies * params + 2 * linear + stats + factor);
        all_stats += stats / 2;
    }
    if (q->options->shards)
        work += 2 * all_stats * div_up(q->calibration.count, QUANT_BLOCK) / q->options->shards;
    return PROGRAM + (uint64_t)THREAD * pool_threads(q->pool) +
           net_scratch_bytes(q->net, pool_threads(q->pool), MAX_OF(rows, 1u)) +
           MAX_OF(samples + work, judged + work);
}

static Status check_memory(Quant *q) {
    uint64_t limit = q->options->memory;
    if (limit == 0)
        limit = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    q->memory_estimate = estimate(q);
    if (q->memory_estimate <= limit)
        return STATUS_OK;
    diag_error(q->diag, ERR_QUANT_MEMORY, DIAG_NOWHERE,
               "about %.0f MiB are needed, and %.0f MiB may be used",
               (double)q->memory_estimate / 0x1p20, (double)limit / 0x1p20);
    diag_note(q->diag, "%.1f MiB of it for each of %zu samples",
              (double)net_sample_bytes(q->net, q->calibration.most_rows) / 0x1p20,
              q->calibration.count);
    diag_fix(q->diag, "take fewer samples, a smaller --block-size, fewer --threads, or shards");
    return ERR_QUANT_MEMORY;
}

/* ---- the run */

static Status make_tables(Quant *q) {
    size_t sites = q->net->sites.count, linears = q->net->linears.count;
    q->stats = mem_alloc(sites + 1, sizeof *q->stats);
    q->input_scales = mem_alloc(sites + 1, sizeof *q->input_scales);
    q->forced_inputs = mem_alloc(sites + 1, sizeof *q->forced_inputs);
    q->forced_weights = mem_alloc(linears + 1, sizeof *q->forced_weights);
    q->records = json_array();
    q->evaluations = json_array();
    q->stages = json_array();
    if (!q->stats || !q->input_scales || !q->forced_inputs || !q->forced_weights || !q->stages)
        return quant_no_memory(q);
    for (size_t i = 0; i < sites; i++) {
        q->input_scales[i] = NET_UNSCALED;
        q->forced_inputs[i] = SOLVE_FREE;
    }
    for (size_t i = 0; i < linears; i++)
        q->forced_weights[i] = SOLVE_FREE;
    for (size_t i = 0; i < q->net->stage_count; i++)
        json_array_append_new(q->records, json_pack("{s:[], s:[]}", "linears", "equalization"));
    return STATUS_OK;
}

/* The stage of --layer N, the N-th that has something to quantize. */
static Status find_layer(Quant *q) {
    q->layer_stage = -1;
    if (q->options->layer < 0)
        return STATUS_OK;
    for (size_t stage = 0; stage < q->net->stage_count; stage++)
        if (quant_has_targets(q, stage) &&
            target_stages_before(q, stage) == (size_t)q->options->layer)
            q->layer_stage = (int64_t)stage;
    if (q->layer_stage >= 0)
        return STATUS_OK;
    return diag_error(q->diag, ERR_QUANT_OPTIONS, DIAG_NOWHERE,
                      "there is no layer %d; the first is 0", q->options->layer);
}

static Status open_all(Quant *q) {
    const QuantOptions *o = q->options;
    TaskLinears linears = {o->linears, o->linear_count, o->input_major};
    Status status = task_open(o->model, &linears, &q->task, q->diag);
    q->net = &q->task.net;
    if (status == STATUS_OK)
        status =
            task_list(&q->task, o->calibration, o->calibration_count, &q->calibration, q->diag);
    if (status == STATUS_OK)
        status = task_list(&q->task, o->evaluation, o->evaluation_count, &q->evaluation, q->diag);
    if (status == STATUS_OK)
        status = find_layer(q);
    if (status == STATUS_OK)
        status = check_memory(q);
    if (status == STATUS_OK)
        status = make_tables(q);
    if (status == STATUS_OK)
        status = state_fingerprint(q);
    if (status == STATUS_OK)
        status = state_open(q);
    uint32_t rows = MAX_OF(q->calibration.most_rows, q->evaluation.most_rows);
    if (status == STATUS_OK)
        status = net_prepare(q->net, q->pool, MAX_OF(rows, 1u), q->diag);
    return status;
}

/* Samples × stages of each pass. */
static uint64_t count_steps(const Quant *q) {
    uint64_t stages = q->net->stage_count, samples = q->calibration.count;
    bool twice = q->options->sequential || q->options->equalize || q->options->center;
    uint64_t judged = q->evaluation.count + MIN_OF(samples, (uint64_t)QUANT_BLOCK);
    return stages * samples * (twice ? 2 : 1) + stages * judged;
}

/* Statistics, reconstruction, and what the samples become behind the stage. */
static Status work_stage(Quant *q, size_t stage) {
    const QuantOptions *o = q->options;
    bool transforms = o->equalize || o->center, given = o->statistics != NULL;
    Status status = net_load(q->net, stage, NULL, q->diag);
    if (status == STATUS_OK && transforms) {
        status = calibrate_stage(q, stage, false);
        if (status == STATUS_OK)
            status = layer_transform(q, stage);
    }
    if (status == STATUS_OK && !given)
        status = calibrate_stage(q, stage, !o->sequential);
    if (status == STATUS_OK)
        status = layer_solve(q, stage);
    calibrate_free_stats(q, stage);
    if (status == STATUS_OK && o->sequential && !given) {
        status = net_load(q->net, stage, q->state.layers[stage], q->diag);
        if (status == STATUS_OK)
            status = calibrate_advance(q, stage, o->operands);
    }
    net_unload(q->net, stage);
    return status;
}

/* A stage without targets, or one that is finished: the samples pass. */
static Status pass_stage(Quant *q, size_t stage) {
    const QuantOptions *o = q->options;
    Status status = net_load(q->net, stage, o->sequential ? q->state.layers[stage] : NULL, q->diag);
    if (status == STATUS_OK)
        status = calibrate_advance(q, stage, o->operands);
    net_unload(q->net, stage);
    return status;
}

/* Whether a stage remains to be solved. */
static bool any_open_stage(const Quant *q) {
    for (size_t stage = 0; stage < q->net->stage_count; stage++)
        if (quant_has_targets(q, stage) && !q->state.layers[stage])
            return true;
    return false;
}

static Status run_stages(Quant *q) {
    Status status = STATUS_OK;
    if (!any_open_stage(q))
        return STATUS_OK;
    if (q->calibration.count == 0)
        return diag_error(q->diag, ERR_QUANT_CALIBRATION, DIAG_NOWHERE,
                          "no calibration data, and layers that need them are not finished");
    status = calibrate_open_samples(q);
    if (status == STATUS_OK && (q->options->share_roles || q->options->share_operands))
        status = calibrate_policies(q);
    for (size_t stage = 0; stage < q->net->stage_count && status == STATUS_OK; stage++) {
        bool open = quant_has_targets(q, stage) && !q->state.layers[stage];
        status = open ? work_stage(q, stage) : pass_stage(q, stage);
    }
    calibrate_close_samples(q);
    return status;
}

/* Solves the layers that merged statistics are of. */
static Status solve_given(Quant *q) {
    SafeTensors *file;
    Status status = safetensors_open(q->options->statistics, &file, q->diag);
    if (status != STATUS_OK)
        return status;
    status = shard_check(q, file);
    for (size_t stage = 0; stage < q->net->stage_count && status == STATUS_OK; stage++) {
        bool wanted = quant_has_targets(q, stage) && !q->state.layers[stage] &&
                      (q->layer_stage < 0 || (size_t)q->layer_stage == stage);
        if (!wanted)
            continue;
        status = shard_load(q, stage, file);
        if (status == STATUS_OK)
            status = work_stage(q, stage);
    }
    safetensors_close(file);
    return status;
}

static Status finish(Quant *q, char **report) {
    if (any_open_stage(q)) /* one layer of several */
        return STATUS_OK;
    Status status = evaluate_run(q);
    if (status != STATUS_OK)
        return status;
    json_t *document = output_report(q);
    char *text = json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    json_decref(document);
    *report = text ? mem_strdup(text) : NULL;
    free(text);
    if (!*report)
        return quant_no_memory(q);
    status = output_write(q, *report);
    if (status == STATUS_OK && q->fell_back && !q->options->allow_fallback) {
        status = diag_error(q->diag, ERR_QUANT_FALLBACK,
                            (DiagPlace){.file = q->options->output, .tile = -1},
                            "some blocks are rounded to nearest: their statistics have no factor");
        diag_note(q->diag, "quantization.json names the linears; the output is complete");
        diag_fix(q->diag, "give more or other calibration data, more --damp, or --damp-retries; "
                          "--allow-fallback accepts it");
    }
    return status;
}

static Status run(Quant *q, char **report) {
    const QuantOptions *o = q->options;
    double begin = clock_seconds();
    Status status = check_options(q);
    if (status == STATUS_OK)
        status = check_output(q);
    if (status == STATUS_OK)
        status = open_all(q);
    if (status != STATUS_OK)
        return status;
    q->progress = progress_begin("quantizing", "sample stages", count_steps(q));
    if (o->shards) {
        status = calibrate_open_samples(q);
        if (status == STATUS_OK)
            status = shard_collect(q);
        calibrate_close_samples(q);
    } else if (o->statistics) {
        status = solve_given(q);
    } else {
        status = run_stages(q);
    }
    q->times.total = clock_seconds() - begin;
    if (status == STATUS_OK && !o->shards)
        status = finish(q, report);
    progress_end(&q->progress);
    return status;
}

Status quant_run(const QuantOptions *options, Pool *pool, char **report, Diag *diag) {
    Quant q = {.options = options, .pool = pool, .diag = diag, .state.lock = -1};
    *report = NULL;
    q.net = &q.task.net;
    Status status = run(&q, report);
    for (size_t i = 0; q.stats && i < q.net->sites.count; i++)
        stats_free(&q.stats[i]);
    calibrate_close_samples(&q);
    task_samples_free(&q.calibration);
    task_samples_free(&q.evaluation);
    task_close(&q.task); /* its parameters may be in a finished layer's file */
    state_close(&q);
    mem_free(q.stats);
    mem_free(q.input_scales);
    mem_free(q.forced_inputs);
    mem_free(q.forced_weights);
    json_decref(q.records);
    json_decref(q.evaluations);
    json_decref(q.stages);
    return status;
}
