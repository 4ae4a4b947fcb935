/* Statistics in files: each shard's parts, one for a block of samples, and the merged total. */
#include "quant/internal.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* Per site and part: NAME.hessian, NAME.sum, NAME.counts (rows, bins of fit, bins of flush) and
 * NAME.largest, NAME being "BLOCK/MODULE" or, merged, "all/MODULE". */
enum { COUNTS = 1 + 2 * STATS_BINS };

typedef struct StatsFile {
    Arena arena;
    VEC(SafeTensor) tensors;
} StatsFile;

static bool put(StatsFile *file, const char *prefix, const char *what, Dtype dtype, uint64_t count,
                const void *values) {
    char *name = arena_printf(&file->arena, "%s.%s", prefix, what);
    uint64_t *dims = ARENA_NEW(&file->arena, uint64_t, 1);
    uint64_t bytes = count * dtype_bits(dtype) / 8;
    uint8_t *copy = arena_alloc(&file->arena, bytes, 1);
    if (!name || !dims || !copy)
        return false;
    dims[0] = count;
    memcpy(copy, values, bytes);
    return vec_push(&file->tensors, (SafeTensor){name, dtype, 1, dims, count, bytes, copy});
}

static bool put_sums(StatsFile *file, const char *prefix, const Stats *stats,
                     const StatsSums *sums) {
    uint64_t counts[COUNTS] = {sums->rows};
    memcpy(counts + 1, sums->fit, sizeof sums->fit);
    memcpy(counts + 1 + STATS_BINS, sums->flush, sizeof sums->flush);
    return put(file, prefix, "hessian", stats->wide ? DTYPE_F64 : DTYPE_F32,
               stats_hessian_count(stats->inputs, stats->block), sums->hessian) &&
           put(file, prefix, "sum", DTYPE_F64, stats->inputs, sums->sum) &&
           put(file, prefix, "counts", DTYPE_U64, COUNTS, counts) &&
           put(file, prefix, "largest", DTYPE_F32, 1, &sums->largest);
}

static const char *module_of(const Quant *q, uint32_t site) {
    return q->net->linears.items[q->net->sites.items[site].first_linear].name;
}

/* The blocks of this shard: a range, so that its samples are one too. */
static void shard_range(const Quant *q, size_t *first, size_t *end) {
    size_t blocks = (size_t)div_up(q->calibration.count, QUANT_BLOCK);
    const QuantOptions *o = q->options;
    *first = blocks * (o->shard - 1) / o->shards;
    *end = blocks * o->shard / o->shards;
}

typedef struct Collecting {
    Quant *q;
    const char *sample;
} Collecting;

static Status collect_site(void *context, uint32_t site, const float *x, uint32_t rows) {
    const Collecting *c = context;
    bool no_memory;
    if (stats_add(&c->q->stats[site], c->q->net->blas, c->q->pool, x, rows, &no_memory))
        return STATUS_OK;
    if (no_memory)
        return quant_no_memory(c->q);
    return diag_error(c->q->diag, ERR_QUANT_NONFINITE,
                      (DiagPlace){.file = c->sample, .tile = -1, .object = module_of(c->q, site)},
                      "the activations are not finite");
}

static Status collect_block(Quant *q, size_t stage, size_t block, StatsFile *file) {
    uint32_t first, end;
    quant_sites(q, stage, &first, &end);
    size_t last = MIN_OF((block + 1) * QUANT_BLOCK, q->calibration.count);
    Status status = STATUS_OK;
    for (size_t i = block * QUANT_BLOCK; i < last && status == STATUS_OK; i++) {
        const TaskSource *source = &q->calibration.items[i];
        Collecting context = {q, source->label};
        NetRun run = {.observe = collect_site, .context = &context};
        bool found = true;
        if (q->task.kind == TASK_LINEARS) {
            run.sites_only = true;
            status = task_load_inputs(&q->task, source, stage, &q->samples[i], &found, q->diag);
        }
        if (status == STATUS_OK && found)
            status = net_run(q->net, stage, &q->samples[i], &run, q->diag);
        quant_step(q);
    }
    for (uint32_t site = first; site < end && status == STATUS_OK; site++) {
        char *prefix = arena_printf(&file->arena, "%zu/%s", block, module_of(q, site));
        if (!prefix || !put_sums(file, prefix, &q->stats[site], &q->stats[site].part))
            status = quant_no_memory(q);
        stats_clear(&q->stats[site]);
    }
    return status;
}

static Status collect_stage(Quant *q, size_t stage, size_t first, size_t end, StatsFile *file) {
    const QuantOptions *o = q->options;
    bool wanted =
        quant_has_targets(q, stage) && (q->layer_stage < 0 || (size_t)q->layer_stage == stage);
    const SafeTensors *layer = o->sequential ? q->state.layers[stage] : NULL;
    bool after = q->layer_stage >= 0 && stage > (size_t)q->layer_stage;
    if (after)
        return STATUS_OK;
    if (o->sequential && quant_has_targets(q, stage) && !wanted && !layer)
        return diag_error(
            q->diag, ERR_QUANT_STATE, (DiagPlace){.file = q->state.folder, .tile = -1},
            "%s is not finished, and the layers behind it build on it", q->net->stages[stage].name);
    Status status = net_load(q->net, stage, wanted ? NULL : layer, q->diag);
    if (status == STATUS_OK && wanted)
        status = calibrate_make_stats(q, stage);
    NetRun run = {.input_scales = o->operands && !wanted ? q->input_scales : NULL};
    for (size_t block = first; block < end && status == STATUS_OK; block++) {
        if (wanted) {
            status = collect_block(q, stage, block, file);
            continue;
        }
        size_t last = MIN_OF((block + 1) * QUANT_BLOCK, q->calibration.count);
        for (size_t i = block * QUANT_BLOCK; i < last && status == STATUS_OK; i++)
            status = net_run(q->net, stage, &q->samples[i], &run, q->diag);
    }
    calibrate_free_stats(q, stage);
    net_unload(q->net, stage);
    return status;
}

Status shard_collect(Quant *q) {
    StatsFile file = {0};
    size_t first, end;
    shard_range(q, &first, &end);
    Status status = STATUS_OK;
    for (size_t stage = 0; stage < q->net->stage_count && status == STATUS_OK; stage++)
        status = collect_stage(q, stage, first, end, &file);
    char from[24], to[24], blocks[24];
    snprintf(from, sizeof from, "%zu", first);
    snprintf(to, sizeof to, "%zu", end);
    snprintf(blocks, sizeof blocks, "%zu", (size_t)div_up(q->calibration.count, QUANT_BLOCK));
    SafeTensorsText metadata[] = {{"tilework_statistics", "parts"},
                                  {"fingerprint", q->state.fingerprint},
                                  {"first_block", from},
                                  {"end_block", to},
                                  {"blocks", blocks}};
    if (status == STATUS_OK)
        status = safetensors_write(q->options->output, file.tensors.items, file.tensors.count,
                                   metadata, COUNT_OF(metadata), q->diag);
    vec_free(&file.tensors);
    arena_free(&file.arena);
    return status;
}

/* ---- reading */

static const char *text_of(const SafeTensors *file, const char *key) {
    for (size_t i = 0; i < file->metadata_count; i++)
        if (strcmp(file->metadata[i].key, key) == 0)
            return file->metadata[i].value;
    return "";
}

static Status bad_file(const SafeTensors *file, const char *why, Diag *diag) {
    return diag_error(diag, ERR_QUANT_STATISTICS, (DiagPlace){.file = file->path, .tile = -1}, "%s",
                      why);
}

/* A tensor of that name, type and length, or NULL. */
static const uint8_t *part_of(const SafeTensors *file, const char *prefix, const char *what,
                              Dtype dtype, uint64_t count) {
    char *name = mem_printf("%s.%s", prefix, what);
    const SafeTensor *tensor = name ? safetensors_find(file, name) : NULL;
    mem_free(name);
    return tensor && tensor->dtype == dtype && tensor->count == count ? tensor->data : NULL;
}

static Status take_sums(const SafeTensors *file, const char *prefix, const Stats *stats,
                        StatsSums *sums, Diag *diag) {
    uint64_t hessians = stats_hessian_count(stats->inputs, stats->block);
    Dtype dtype = stats->wide ? DTYPE_F64 : DTYPE_F32;
    const uint8_t *hessian = part_of(file, prefix, "hessian", dtype, hessians);
    const uint8_t *sum = part_of(file, prefix, "sum", DTYPE_F64, stats->inputs);
    const uint8_t *counts = part_of(file, prefix, "counts", DTYPE_U64, COUNTS);
    const uint8_t *largest = part_of(file, prefix, "largest", DTYPE_F32, 1);
    if (!hessian || !sum || !counts || !largest)
        return diag_error(diag, ERR_QUANT_STATISTICS, (DiagPlace){.file = file->path, .tile = -1},
                          "the statistics of %s are missing or of another size", prefix);
    uint64_t numbers[COUNTS];
    memcpy(sums->hessian, hessian, hessians * dtype_bits(dtype) / 8);
    memcpy(sums->sum, sum, stats->inputs * sizeof *sums->sum);
    memcpy(numbers, counts, sizeof numbers);
    memcpy(&sums->largest, largest, sizeof sums->largest);
    sums->rows = numbers[0];
    memcpy(sums->fit, numbers + 1, sizeof sums->fit);
    memcpy(sums->flush, numbers + 1 + STATS_BINS, sizeof sums->flush);
    return STATUS_OK;
}

Status shard_check(Quant *q, const SafeTensors *file) {
    if (strcmp(text_of(file, "tilework_statistics"), "merged") != 0) {
        bad_file(file, "these are no merged statistics", q->diag);
        diag_fix(q->diag, "tilework merge makes them of the files of all shards");
        return ERR_QUANT_STATISTICS;
    }
    if (strcmp(text_of(file, "fingerprint"), q->state.fingerprint) != 0)
        return bad_file(file, "they come from another model, other data or options", q->diag);
    return STATUS_OK;
}

Status shard_load(Quant *q, size_t stage, const SafeTensors *file) {
    uint32_t first, end;
    quant_sites(q, stage, &first, &end);
    Status status = calibrate_make_stats(q, stage);
    for (uint32_t site = first; site < end && status == STATUS_OK; site++) {
        char *prefix = mem_printf("all/%s", module_of(q, site));
        status = prefix ? take_sums(file, prefix, &q->stats[site], &q->stats[site].total, q->diag)
                        : quant_no_memory(q);
        mem_free(prefix);
    }
    return status;
}

/* ---- merging */

typedef struct Merging {
    SafeTensors **files;
    size_t count, blocks;
    StatsFile out;
    Diag *diag;
} Merging;

static int compare_first(const void *a, const void *b) {
    const SafeTensors *const *x = a, *const *y = b;
    unsigned long i = strtoul(text_of(*x, "first_block"), NULL, 10),
                  j = strtoul(text_of(*y, "first_block"), NULL, 10);
    return i < j ? -1 : i > j;
}

/* The files, in order, cover all blocks once. */
static Status check_cover(Merging *m) {
    size_t next = 0;
    qsort(m->files, m->count, sizeof *m->files, compare_first);
    m->blocks = strtoul(text_of(m->files[0], "blocks"), NULL, 10);
    for (size_t i = 0; i < m->count; i++) {
        const SafeTensors *file = m->files[i];
        if (strcmp(text_of(file, "tilework_statistics"), "parts") != 0)
            return bad_file(file, "these are not the statistics of a shard", m->diag);
        if (strcmp(text_of(file, "fingerprint"), text_of(m->files[0], "fingerprint")) != 0)
            return bad_file(file,
                            "it comes from another model, other data or options than the "
                            "first one",
                            m->diag);
        size_t first = strtoul(text_of(file, "first_block"), NULL, 10);
        size_t end = strtoul(text_of(file, "end_block"), NULL, 10);
        if (first != next && end != first)
            return diag_error(
                m->diag, ERR_QUANT_STATISTICS, (DiagPlace){.file = file->path, .tile = -1},
                "it begins with block %zu, but the ones before it end at %zu: a shard "
                "is missing, or there twice",
                first, next);
        next = MAX_OF(next, end);
    }
    if (next != m->blocks)
        return diag_error(m->diag, ERR_QUANT_STATISTICS, DIAG_NOWHERE,
                          "the last shards are missing: blocks end at %zu of %zu", next, m->blocks);
    return STATUS_OK;
}

static const SafeTensors *file_of_block(const Merging *m, size_t block) {
    for (size_t i = 0; i < m->count; i++)
        if (block >= strtoul(text_of(m->files[i], "first_block"), NULL, 10) &&
            block < strtoul(text_of(m->files[i], "end_block"), NULL, 10))
            return m->files[i];
    return NULL;
}

/* The shape of a site's statistics cannot be told from its Hessian, nor need it: adding goes by
 * element, so a site is merged as one block of the Hessian's length. */
static Status merge_site(Merging *m, const char *module, const SafeTensor *hessian,
                         const SafeTensor *sum) {
    bool wide = hessian->dtype == DTYPE_F64;
    uint64_t count = hessian->count;
    double *sums = mem_alloc(sum->count, sizeof *sums);
    void *total = mem_alloc(count, wide ? sizeof(double) : sizeof(float));
    uint64_t counts[COUNTS] = {0};
    float largest = 0;
    Status status = sums && total ? STATUS_OK
                                  : diag_error(m->diag, ERR_NO_MEMORY, DIAG_NOWHERE,
                                               "no memory left for statistics");
    for (size_t block = 0; block < m->blocks && status == STATUS_OK; block++) {
        const SafeTensors *file = file_of_block(m, block);
        char *prefix = mem_printf("%zu/%s", block, module);
        const uint8_t *h = prefix ? part_of(file, prefix, "hessian", hessian->dtype, count) : NULL;
        const uint8_t *s = prefix ? part_of(file, prefix, "sum", DTYPE_F64, sum->count) : NULL;
        const uint8_t *n = prefix ? part_of(file, prefix, "counts", DTYPE_U64, COUNTS) : NULL;
        const uint8_t *l = prefix ? part_of(file, prefix, "largest", DTYPE_F32, 1) : NULL;
        if (!h || !s || !n || !l)
            status = diag_error(m->diag, ERR_QUANT_STATISTICS,
                                (DiagPlace){.file = file->path, .tile = -1},
                                "block %zu of %s is missing or of another size", block, module);
        for (uint64_t i = 0; i < count && status == STATUS_OK; i++) {
            double wide_value;
            float value;
            if (wide) {
                memcpy(&wide_value, h + i * sizeof wide_value, sizeof wide_value);
                ((double *)total)[i] += wide_value;
            } else {
                memcpy(&value, h + i * sizeof value, sizeof value);
                ((float *)total)[i] += value;
            }
        }
        for (uint64_t i = 0; i < sum->count && status == STATUS_OK; i++) {
            double value;
            memcpy(&value, s + i * sizeof value, sizeof value);
            sums[i] += value;
        }
        for (size_t i = 0; i < COUNTS && status == STATUS_OK; i++) {
            uint64_t value;
            memcpy(&value, n + i * sizeof value, sizeof value);
            counts[i] += value;
        }
        float value = 0;
        if (status == STATUS_OK)
            memcpy(&value, l, sizeof value);
        largest = MAX_OF(largest, value);
        mem_free(prefix);
    }
    char *prefix = arena_printf(&m->out.arena, "all/%s", module);
    bool done = status != STATUS_OK ||
                (prefix && put(&m->out, prefix, "hessian", hessian->dtype, count, total) &&
                 put(&m->out, prefix, "sum", DTYPE_F64, sum->count, sums) &&
                 put(&m->out, prefix, "counts", DTYPE_U64, COUNTS, counts) &&
                 put(&m->out, prefix, "largest", DTYPE_F32, 1, &largest));
    mem_free(total);
    mem_free(sums);
    return done ? status
                : diag_error(m->diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory left for statistics");
}

/* Every site that block 0 has. */
static Status merge_all(Merging *m) {
    const SafeTensors *file = file_of_block(m, 0);
    static const char prefix[] = "0/", suffix[] = ".hessian";
    Status status = STATUS_OK;
    for (size_t i = 0; i < file->count && status == STATUS_OK; i++) {
        const SafeTensor *tensor = &file->tensors[i];
        size_t length = strlen(tensor->name);
        if (strncmp(tensor->name, prefix, strlen(prefix)) != 0 || length < strlen(suffix) ||
            strcmp(tensor->name + length - strlen(suffix), suffix) != 0)
            continue;
        char *module = mem_printf("%.*s", (int)(length - strlen(suffix) - strlen(prefix)),
                                  tensor->name + strlen(prefix));
        char *name = module ? mem_printf("0/%s.sum", module) : NULL;
        const SafeTensor *sum = name ? safetensors_find(file, name) : NULL;
        status = sum ? merge_site(m, module, tensor, sum)
                     : bad_file(file, "a site has no sums", m->diag);
        mem_free(module);
        mem_free(name);
    }
    return status;
}

Status quant_merge(const char *const *paths, size_t count, const char *output, Diag *diag) {
    Merging m = {.files = mem_alloc(count, sizeof *m.files), .diag = diag};
    Status status =
        m.files ? STATUS_OK
                : diag_error(diag, ERR_NO_MEMORY, DIAG_NOWHERE, "no memory left for statistics");
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        status = safetensors_open(paths[i], &m.files[i], diag);
        m.count += status == STATUS_OK;
    }
    if (status == STATUS_OK)
        status = check_cover(&m);
    if (status == STATUS_OK)
        status = merge_all(&m);
    SafeTensorsText metadata[] = {{"tilework_statistics", "merged"}, {"fingerprint", NULL}};
    if (status == STATUS_OK) {
        metadata[1].value = text_of(m.files[0], "fingerprint");
        status = safetensors_write(output, m.out.tensors.items, m.out.tensors.count, metadata,
                                   COUNT_OF(metadata), diag);
    }
    for (size_t i = 0; i < m.count; i++)
        safetensors_close(m.files[i]);
    mem_free(m.files);
    vec_free(&m.out.tensors);
    arena_free(&m.out.arena);
    return status;
}
