/* A checkpoint: the tensors of one SafeTensors file, or of several with an index.
 *
 * The index, model.safetensors.index.json, is a JSON object whose member weight_map tells each
 * tensor's file. Rules: values are plain names of files in the same folder; every mapped tensor is
 * in its file and in no other; no name is mapped twice. Each file is opened once and checked whole.
 * Tensors that no map names are left out, with a warning. docs/safetensors.md */
#pragma once

#include "model/safetensors.h"

typedef struct Checkpoint {
    const char *path;
    const char *folder;  /* that holds it, with a final '/', or "" */
    SafeTensors **files; /* in byte order of their names */
    size_t file_count;
    struct CheckpointTensor {
        const SafeTensor *tensor;
        uint32_t file;
    } * tensors; /* in byte order of the names */
    size_t count;
    Arena arena;
} Checkpoint;

/* A .safetensors file, an index (.json), or a folder that holds model.safetensors or, where there
 * is none, model.safetensors.index.json. Errors: ERR_FILE_*, ERR_ST_*, ERR_MODEL_TENSOR. */
Status checkpoint_open(const char *path, Checkpoint **checkpoint, Diag *diag);
void checkpoint_close(Checkpoint *checkpoint);

/* NULL if there is none. */
const SafeTensor *checkpoint_find(const Checkpoint *checkpoint, const char *name);
/* The same, but reports ERR_MODEL_TENSOR with the nearest name. */
Status checkpoint_get(const Checkpoint *checkpoint, const char *name, const SafeTensor **tensor,
                      Diag *diag);
/* The file that a tensor of the checkpoint is in. */
const char *checkpoint_file(const Checkpoint *checkpoint, const SafeTensor *tensor);

/* Checks the text of an index against `list`, and is what checkpoint_open does with it: pairs in
 * byte order of the tensors' names. `path` is for messages. Errors: ERR_ST_INDEX, ERR_ST_DUPLICATE.
 */
typedef struct CheckpointMap {
    struct CheckpointPair {
        const char *tensor, *file; /* in the arena */
    } * items;
    size_t count, capacity;
    Arena arena;
} CheckpointMap;

Status checkpoint_parse_index(const uint8_t *text, size_t size, const char *path,
                              CheckpointMap *map, Diag *diag);
void checkpoint_map_free(CheckpointMap *map);
