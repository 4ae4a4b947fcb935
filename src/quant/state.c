#include "quant/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

static Status state_error(Quant *q, const char *format, ...) __attribute__((format(printf, 2, 3)));

static Status state_error(Quant *q, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = mem_vprintf(format, arguments);
    va_end(arguments);
    diag_error(q->diag, ERR_QUANT_STATE, (DiagPlace){.file = q->state.folder, .tile = -1}, "%s",
               text ? text : "");
    mem_free(text);
    return ERR_QUANT_STATE;
}

/* ---- the fingerprint: everything that results depend on */

static Status hash_file(XXH3_state_t *hash, const char *path, Diag *diag) {
    FileMap map;
    Status status = file_map(path, &map, diag);
    enum { PIECE = 16 << 20 };
    for (size_t at = 0; at < map.size; at += PIECE) {
        size_t size = MIN_OF(map.size - at, (size_t)PIECE);
        XXH3_128bits_update(hash, map.bytes + at, size);
        net_forget(map.bytes + at, size);
    }
    file_unmap(&map);
    return status;
}

static void hash_options(XXH3_state_t *hash, const QuantOptions *o) {
    char text[512];
    snprintf(text, sizeof text,
             "%d %d %d %.17g %u %d %d %u %d %d %d %d %.17g %d %d %d %d %d %.17g %u %d %d %s",
             o->solve.algorithm, o->solve.granularity, o->solve.scale_rule, o->solve.damp,
             o->solve.damp_retries, o->solve.activation_order, o->solve.bias_correction, o->block,
             o->wide, o->sequential, o->operands, o->equalize, o->equalize_limit, o->center,
             o->share_roles, o->share_operands, o->input_offset, o->weight_offset, o->clip,
             o->layers, o->input_major, o->solve.covariance, cpu_level_name(cpu_level()));
    XXH3_128bits_update(hash, text, strlen(text));
    for (size_t i = 0; i < o->linear_count; i++)
        XXH3_128bits_update(hash, o->linears[i], strlen(o->linears[i]) + 1);
}

Status state_fingerprint(Quant *q) {
    XXH3_state_t *hash = XXH3_createState();
    if (!hash)
        return quant_no_memory(q);
    XXH3_128bits_reset(hash);
    hash_options(hash, q->options);
    Status status = STATUS_OK;
    const Checkpoint *checkpoint = q->task.checkpoint;
    for (size_t i = 0; i < checkpoint->file_count && status == STATUS_OK; i++)
        status = hash_file(hash, checkpoint->files[i]->path, q->diag);
    if (status == STATUS_OK && q->task.config_path)
        status = hash_file(hash, q->task.config_path, q->diag);
    /* A file with several samples counts once for each: a small waste. */
    for (size_t i = 0; i < q->calibration.count && status == STATUS_OK; i++) {
        const TaskSource *source = &q->calibration.items[i];
        XXH3_128bits_update(hash, &source->index, sizeof source->index);
        if (i == 0 || strcmp(source->path, q->calibration.items[i - 1].path) != 0)
            status = hash_file(hash, source->path, q->diag);
    }
    XXH128_hash_t digest = XXH3_128bits_digest(hash);
    XXH3_freeState(hash);
    snprintf(q->state.fingerprint, sizeof q->state.fingerprint, "%016llx%016llx",
             (unsigned long long)digest.high64, (unsigned long long)digest.low64);
    return status;
}

/* ---- the folder */

char *state_layer_path(const Quant *q, size_t stage) {
    return mem_printf("%s/layer-%04zu.safetensors", q->state.folder, stage);
}

static char *run_path(const Quant *q) {
    return mem_printf("%s/run.txt", q->state.folder);
}

/* Removes the files of a folder, and the folder. */
static void remove_folder(const char *folder) {
    DIR *entries = opendir(folder);
    if (!entries)
        return;
    for (struct dirent *entry; (entry = readdir(entries));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(entries), entry->d_name, 0);
    closedir(entries);
    rmdir(folder);
}

void state_remove(Quant *q) {
    char *output = mem_printf("%s/output", q->state.folder);
    if (output)
        remove_folder(output);
    mem_free(output);
    remove_folder(q->state.folder);
}

static Status take_lock(Quant *q) {
    char *path = mem_printf("%s/lock", q->state.folder);
    if (!path)
        return quant_no_memory(q);
    q->state.lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    int number = errno;
    mem_free(path);
    if (q->state.lock < 0)
        return state_error(q, "cannot lock the folder: %s", strerrordesc_np(number));
    if (flock(q->state.lock, LOCK_EX | LOCK_NB) != 0)
        return state_error(q, "another process works in this folder");
    return STATUS_OK;
}

static Status begin_run(Quant *q) {
    char *path = run_path(q);
    if (!path)
        return quant_no_memory(q);
    Status status =
        file_write_atomic(path, q->state.fingerprint, strlen(q->state.fingerprint), q->diag);
    mem_free(path);
    return status;
}

/* STATUS_OK if the run in the folder is this one. *found false: there is none. */
static Status compare_run(Quant *q, bool *found) {
    char *path = run_path(q);
    if (!path)
        return quant_no_memory(q);
    *found = access(path, F_OK) == 0;
    uint8_t *text = NULL;
    size_t size = 0;
    Status status = *found ? file_read(path, &text, &size, q->diag) : STATUS_OK;
    mem_free(path);
    if (!*found || status != STATUS_OK)
        return status;
    bool same =
        size == strlen(q->state.fingerprint) && memcmp(text, q->state.fingerprint, size) == 0;
    mem_free(text);
    if (same)
        return STATUS_OK;
    state_error(q, "the layers in this folder come from another model, other data or options");
    diag_fix(q->diag, "give the same model, data and options, or --restart to discard the layers");
    return ERR_QUANT_STATE;
}

Status state_load_layer(Quant *q, size_t stage, bool needed) {
    char *path = state_layer_path(q, stage);
    if (!path)
        return quant_no_memory(q);
    if (!needed && access(path, F_OK) != 0) {
        mem_free(path);
        return STATUS_OK;
    }
    SafeTensors *file;
    Status status = safetensors_open(path, &file, q->diag);
    mem_free(path);
    if (status != STATUS_OK)
        return status;
    safetensors_close(q->state.layers[stage]);
    q->state.layers[stage] = file;
    const char *fingerprint = NULL, *record = NULL;
    for (size_t i = 0; i < file->metadata_count; i++) {
        if (strcmp(file->metadata[i].key, "fingerprint") == 0)
            fingerprint = file->metadata[i].value;
        if (strcmp(file->metadata[i].key, "record") == 0)
            record = file->metadata[i].value;
    }
    json_t *loaded = record ? json_loads(record, 0, NULL) : NULL;
    if (!fingerprint || strcmp(fingerprint, q->state.fingerprint) != 0 || !json_is_object(loaded)) {
        json_decref(loaded);
        return state_error(q, "%s is not of this run", file->path);
    }
    json_array_set_new(q->records, stage, loaded);
    uint32_t first, end;
    quant_linears(q, stage, &first, &end);
    for (uint32_t i = first; i < end; i++) {
        char *name = output_input_scale_name(&q->net->arena, q->net->linears.items[i].name);
        const SafeTensor *scale = name ? safetensors_find(file, name) : NULL;
        if (scale && scale->bytes == 1)
            q->input_scales[q->net->linears.items[i].site] = (int8_t)scale->data[0];
    }
    return STATUS_OK;
}

static Status load_layers(Quant *q) {
    Status status = STATUS_OK;
    for (size_t stage = 0; stage < q->net->stage_count && status == STATUS_OK; stage++)
        status = state_load_layer(q, stage, false);
    return status;
}

/* Shards read what is finished, and neither make nor lock the folder. */
static Status open_for_shard(Quant *q) {
    bool found = false;
    Status status = compare_run(q, &found);
    return status == STATUS_OK && found ? load_layers(q) : status;
}

Status state_open(Quant *q) {
    const QuantOptions *o = q->options;
    q->state.lock = -1;
    q->state.count = q->net->stage_count;
    q->state.layers = mem_alloc(q->state.count + 1, sizeof *q->state.layers);
    q->state.folder = o->state ? mem_strdup(o->state) : mem_printf("%s.partial", o->output);
    if (!q->state.layers || !q->state.folder)
        return quant_no_memory(q);
    if (o->shards)
        return open_for_shard(q);
    bool found = false;
    if (mkdir(q->state.folder, 0777) != 0 && errno != EEXIST)
        return diag_error(q->diag, ERR_FILE_WRITE, (DiagPlace){.file = q->state.folder, .tile = -1},
                          "cannot make the folder: %s", strerrordesc_np(errno));
    Status status = take_lock(q);
    if (status != STATUS_OK)
        return status;
    if (o->restart) {
        state_remove(q); /* the lock's file goes too, but the folder is made again */
        close(q->state.lock);
        q->state.lock = -1;
        if (mkdir(q->state.folder, 0777) != 0 && errno != EEXIST)
            return state_error(q, "cannot make the folder: %s", strerrordesc_np(errno));
        status = take_lock(q);
    }
    if (status == STATUS_OK)
        status = compare_run(q, &found);
    if (status == STATUS_OK && found && !o->resume) {
        state_error(q, "a run was interrupted here");
        diag_fix(q->diag, "--resume continues it, --restart begins afresh");
        return ERR_QUANT_STATE;
    }
    if (status != STATUS_OK)
        return status;
    return found ? load_layers(q) : begin_run(q);
}

void state_close(Quant *q) {
    for (size_t i = 0; q->state.layers && i < q->state.count; i++)
        safetensors_close(q->state.layers[i]);
    mem_free(q->state.layers);
    if (q->state.folder && q->state.lock >= 0)
        close(q->state.lock);
    mem_free(q->state.folder);
    q->state = (State){.lock = -1};
}
