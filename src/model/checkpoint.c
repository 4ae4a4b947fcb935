#include "model/checkpoint.h"

#include "base/text.h"
#include "model/jsonlex.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { INDEX_DEPTH = 8 }; /* of members that are passed over */

static DiagPlace in_file(const char *path) {
    return (DiagPlace){.file = path, .tile = -1};
}

static Status no_memory(const char *path, Diag *diag) {
    return diag_error(diag, ERR_NO_MEMORY, in_file(path), "no memory left for the checkpoint");
}

/* ---- the index */

static Status index_error(const Json *json, const char *path, Diag *diag) {
    if (json->no_memory)
        return no_memory(path, diag);
    char object[48];
    snprintf(object, sizeof object, "byte %zu", json->at);
    return diag_error(diag, ERR_ST_INDEX, (DiagPlace){.file = path, .tile = -1, .object = object},
                      "expected %s", json->error);
}

static bool is_plain_name(const char *name) {
    return *name && !strchr(name, '/') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static Status read_weight_map(Json *json, const char *path, CheckpointMap *map, Diag *diag) {
    char shown[TEXT_PRINTABLE], file_shown[TEXT_PRINTABLE];
    if (jsonlex_peek(json) != JSON_OBJECT)
        return diag_error(diag, ERR_ST_INDEX, in_file(path), "weight_map is no object");
    jsonlex_want(json, '{');
    const char *name;
    for (bool first = true; jsonlex_next_member(json, &map->arena, &first, &name);) {
        if (jsonlex_peek(json) != JSON_STRING)
            return diag_error(diag, ERR_ST_INDEX, in_file(path),
                              "weight_map gives no file name for \"%s\", but something else",
                              text_printable(name, shown));
        const char *file = jsonlex_string(json, &map->arena);
        if (!file)
            return index_error(json, path, diag);
        if (!is_plain_name(file))
            return diag_error(
                diag, ERR_ST_INDEX, in_file(path),
                "weight_map puts \"%s\" into \"%s\", which is no plain name of a file",
                text_printable(name, shown), text_printable(file, file_shown));
        if (!vec_push(map, (struct CheckpointPair){name, file}))
            return no_memory(path, diag);
    }
    return jsonlex_failed(json) ? index_error(json, path, diag) : STATUS_OK;
}

static int compare_pairs(const void *a, const void *b) {
    return strcmp(((const struct CheckpointPair *)a)->tensor,
                  ((const struct CheckpointPair *)b)->tensor);
}

static Status check_pairs(CheckpointMap *map, const char *path, Diag *diag) {
    if (map->count)
        qsort(map->items, map->count, sizeof *map->items, compare_pairs);
    for (size_t i = 1; i < map->count; i++) {
        const struct CheckpointPair *a = &map->items[i - 1], *b = &map->items[i];
        char name[TEXT_PRINTABLE], x[TEXT_PRINTABLE], y[TEXT_PRINTABLE];
        if (strcmp(a->tensor, b->tensor) == 0)
            return diag_error(diag, ERR_ST_DUPLICATE, in_file(path),
                              "weight_map has \"%s\" twice, in %s and in %s",
                              text_printable(a->tensor, name), text_printable(a->file, x),
                              text_printable(b->file, y));
    }
    return STATUS_OK;
}

Status checkpoint_parse_index(const uint8_t *text, size_t size, const char *path,
                              CheckpointMap *map, Diag *diag) {
    Json json = {.text = (const char *)text, .size = size};
    bool found = false;
    const char *key;
    if (!jsonlex_want(&json, '{'))
        return index_error(&json, path, diag);
    for (bool first = true; jsonlex_next_member(&json, &map->arena, &first, &key);) {
        if (strcmp(key, "weight_map") != 0) {
            if (!jsonlex_skip(&json, INDEX_DEPTH))
                return index_error(&json, path, diag);
            continue;
        }
        if (found)
            return diag_error(diag, ERR_ST_INDEX, in_file(path), "weight_map is there twice");
        found = true;
        Status status = read_weight_map(&json, path, map, diag);
        if (status != STATUS_OK)
            return status;
    }
    if (jsonlex_failed(&json))
        return index_error(&json, path, diag);
    jsonlex_skip_space(&json);
    if (json.at != json.size)
        return diag_error(diag, ERR_ST_INDEX, in_file(path), "text follows the object");
    if (!found)
        return diag_error(diag, ERR_ST_INDEX, in_file(path), "there is no weight_map");
    return check_pairs(map, path, diag);
}

void checkpoint_map_free(CheckpointMap *map) {
    vec_free(map);
    arena_free(&map->arena);
}

/* ---- opening */

static int compare_texts(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int compare_tensors(const void *a, const void *b) {
    return strcmp(((const struct CheckpointTensor *)a)->tensor->name,
                  ((const struct CheckpointTensor *)b)->tensor->name);
}

/* The names of the files of a map, each once. NULL without memory; mem_free. */
static const char **list_files(const CheckpointMap *map, size_t *count) {
    const char **names = mem_alloc(map->count + 1, sizeof *names);
    if (!names)
        return NULL;
    for (size_t i = 0; i < map->count; i++)
        names[i] = map->items[i].file;
    qsort(names, map->count, sizeof *names, compare_texts);
    *count = 0;
    for (size_t i = 0; i < map->count; i++)
        if (*count == 0 || strcmp(names[*count - 1], names[i]) != 0)
            names[(*count)++] = names[i];
    return names;
}

static Status open_files(Checkpoint *checkpoint, const char *const *names, size_t count,
                         Diag *diag) {
    checkpoint->files = ARENA_NEW(&checkpoint->arena, SafeTensors *, count + 1);
    if (!checkpoint->files)
        return no_memory(checkpoint->path, diag);
    for (size_t i = 0; i < count; i++) {
        char *path = mem_printf("%s%s", checkpoint->folder, names[i]);
        if (!path)
            return no_memory(checkpoint->path, diag);
        Status status = safetensors_open(path, &checkpoint->files[i], diag);
        mem_free(path);
        if (status != STATUS_OK) {
            diag_note(diag, "it is one of the %zu files that %s names", count, checkpoint->path);
            return status;
        }
        checkpoint->file_count++;
    }
    return STATUS_OK;
}

/* Index of a name in the sorted list; it is there. */
static uint32_t find_file(const char *const *names, size_t count, const char *name) {
    size_t low = 0;
    while (low < count && strcmp(names[low], name) != 0)
        low++;
    return (uint32_t)low;
}

/* A tensor that lies in a second file, or in one that the map does not tell. */
static Status check_strays(const Checkpoint *checkpoint, Diag *diag) {
    for (size_t f = 0; f < checkpoint->file_count; f++) {
        const SafeTensors *file = checkpoint->files[f];
        size_t strays = 0;
        const char *example = NULL;
        for (size_t i = 0; i < file->count; i++) {
            char name[TEXT_PRINTABLE];
            const SafeTensor *tensor = &file->tensors[i];
            const SafeTensor *mapped = checkpoint_find(checkpoint, tensor->name);
            if (mapped == tensor)
                continue;
            if (mapped)
                return diag_error(
                    diag, ERR_ST_DUPLICATE, in_file(file->path), "the tensor \"%s\" is also in %s",
                    text_printable(tensor->name, name), checkpoint_file(checkpoint, mapped));
            strays++;
            example = tensor->name;
        }
        char name[TEXT_PRINTABLE];
        if (strays)
            diag_warning(diag, ERR_ST_INDEX, in_file(file->path),
                         "%zu tensors are not in the index and left out, \"%s\" for one", strays,
                         text_printable(example, name));
    }
    return STATUS_OK;
}

static Status bind_tensors(Checkpoint *checkpoint, const CheckpointMap *map,
                           const char *const *names, Diag *diag) {
    checkpoint->tensors = ARENA_NEW(&checkpoint->arena, struct CheckpointTensor, map->count + 1);
    if (!checkpoint->tensors)
        return no_memory(checkpoint->path, diag);
    for (size_t i = 0; i < map->count; i++) {
        uint32_t file = find_file(names, checkpoint->file_count, map->items[i].file);
        const SafeTensor *tensor;
        Status status =
            safetensors_get(checkpoint->files[file], map->items[i].tensor, &tensor, diag);
        if (status != STATUS_OK) {
            diag_note(diag, "%s says that it is in this file", checkpoint->path);
            return status;
        }
        checkpoint->tensors[i] = (struct CheckpointTensor){tensor, file};
        checkpoint->count++;
    }
    return check_strays(checkpoint, diag);
}

static Status open_index(Checkpoint *checkpoint, Diag *diag) {
    uint8_t *text;
    size_t size, count = 0;
    Status status = file_read(checkpoint->path, &text, &size, diag);
    if (status != STATUS_OK)
        return status;
    CheckpointMap map = {0};
    status = checkpoint_parse_index(text, size, checkpoint->path, &map, diag);
    mem_free(text);
    const char **names = NULL;
    if (status == STATUS_OK) {
        names = list_files(&map, &count);
        status =
            names ? open_files(checkpoint, names, count, diag) : no_memory(checkpoint->path, diag);
    }
    if (status == STATUS_OK)
        status = bind_tensors(checkpoint, &map, names, diag);
    mem_free(names);
    checkpoint_map_free(&map);
    return status;
}

static Status open_single(Checkpoint *checkpoint, Diag *diag) {
    checkpoint->files = ARENA_NEW(&checkpoint->arena, SafeTensors *, 1);
    if (!checkpoint->files)
        return no_memory(checkpoint->path, diag);
    Status status = safetensors_open(checkpoint->path, &checkpoint->files[0], diag);
    if (status != STATUS_OK)
        return status;
    const SafeTensors *file = checkpoint->files[0];
    checkpoint->file_count = 1;
    checkpoint->tensors = ARENA_NEW(&checkpoint->arena, struct CheckpointTensor, file->count + 1);
    if (!checkpoint->tensors)
        return no_memory(checkpoint->path, diag);
    for (size_t i = 0; i < file->count; i++)
        checkpoint->tensors[i].tensor = &file->tensors[i];
    checkpoint->count = file->count;
    qsort(checkpoint->tensors, checkpoint->count, sizeof *checkpoint->tensors, compare_tensors);
    return STATUS_OK;
}

static bool exists(const char *path) {
    struct stat info;
    return stat(path, &info) == 0;
}

/* The file or index that a path means, in the arena; NULL without memory. */
static const char *resolve(Arena *arena, const char *path) {
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode))
        return arena_strdup(arena, path);
    const char *single = arena_printf(arena, "%s/model.safetensors", path);
    const char *index = arena_printf(arena, "%s/model.safetensors.index.json", path);
    if (!single || !index)
        return NULL;
    return !exists(single) && exists(index) ? index : single;
}

static bool ends_with(const char *text, const char *end) {
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

Status checkpoint_open(const char *path, Checkpoint **result, Diag *diag) {
    Checkpoint *checkpoint = mem_alloc(1, sizeof *checkpoint);
    if (!checkpoint)
        return no_memory(path, diag);
    checkpoint->path = resolve(&checkpoint->arena, path);
    const char *slash = checkpoint->path ? strrchr(checkpoint->path, '/') : NULL;
    if (checkpoint->path)
        checkpoint->folder =
            arena_printf(&checkpoint->arena, "%.*s",
                         slash ? (int)(slash + 1 - checkpoint->path) : 0, checkpoint->path);
    Status status = !checkpoint->path || !checkpoint->folder ? no_memory(path, diag)
                    : ends_with(checkpoint->path, ".json")   ? open_index(checkpoint, diag)
                                                             : open_single(checkpoint, diag);
    if (status == STATUS_OK)
        *result = checkpoint;
    else
        checkpoint_close(checkpoint);
    return status;
}

void checkpoint_close(Checkpoint *checkpoint) {
    if (!checkpoint)
        return;
    for (size_t i = 0; i < checkpoint->file_count; i++)
        safetensors_close(checkpoint->files[i]);
    arena_free(&checkpoint->arena);
    mem_free(checkpoint);
}

static const struct CheckpointTensor *find(const Checkpoint *checkpoint, const char *name) {
    size_t low = 0, high = checkpoint->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(name, checkpoint->tensors[middle].tensor->name);
        if (order == 0)
            return &checkpoint->tensors[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

const SafeTensor *checkpoint_find(const Checkpoint *checkpoint, const char *name) {
    const struct CheckpointTensor *found = find(checkpoint, name);
    return found ? found->tensor : NULL;
}

Status checkpoint_get(const Checkpoint *checkpoint, const char *name, const SafeTensor **tensor,
                      Diag *diag) {
    *tensor = checkpoint_find(checkpoint, name);
    if (*tensor)
        return STATUS_OK;
    char shown[TEXT_PRINTABLE];
    diag_error(diag, ERR_MODEL_TENSOR, in_file(checkpoint->path), "no tensor is called \"%s\"",
               text_printable(name, shown));
    Nearest nearest = nearest_begin(name);
    for (size_t i = 0; i < checkpoint->count; i++)
        nearest_offer(&nearest, checkpoint->tensors[i].tensor->name);
    if (nearest.best)
        diag_fix(diag, "the nearest name is \"%s\"", text_printable(nearest.best, shown));
    return ERR_MODEL_TENSOR;
}

const char *checkpoint_file(const Checkpoint *checkpoint, const SafeTensor *tensor) {
    const struct CheckpointTensor *found = find(checkpoint, tensor->name);
    return found ? checkpoint->files[found->file]->path : checkpoint->path;
}
