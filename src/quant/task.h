/* What a run works on: a model as a network, and the samples that it is calibrated and judged with.
 */
#pragma once

#include "quant/neck.h"
#include "quant/siglip.h"

typedef enum TaskKind { TASK_SIGLIP, TASK_NECK, TASK_LINEARS } TaskKind;

typedef struct Task {
    TaskKind kind;
    const char *config_path; /* NULL with TASK_LINEARS */
    SiglipConfig siglip;
    Checkpoint *checkpoint;
    Net net;
    bool checkpoint_open;
} Task;

typedef struct TaskLinears {
    const char *const *patterns; /* names of weights, with * for any text */
    size_t count;
    bool input_major; /* weights are stored inputs × outputs */
} TaskLinears;

/* Opens a model: a folder with config.json, or, with patterns, any checkpoint. Every tensor is
 * there, of the right shape and finite, when it returns STATUS_OK. Errors: those of
 * checkpoint_open, siglip_read_config and net_bind, ERR_QUANT_LINEARS. */
Status task_open(const char *model, const TaskLinears *linears, Task *task, Diag *diag);
void task_close(Task *task);

/* One sample: a picture, one of a file's pixel_values, a line of the neck, a set of inputs. */
typedef struct TaskSource {
    const char *path, *label; /* label: "photos/a.png", "pixels.safetensors[3]" */
    const char *linear;       /* TASK_LINEARS: whose inputs they are; NULL: any */
    const char *tensor;       /* NULL: the default name */
    uint32_t index;
    uint32_t rows;
} TaskSource;

typedef struct TaskSamples {
    TaskSource *items;
    size_t count, capacity;
    uint32_t most_rows;
    Arena arena;
} TaskSamples;

/* Looks at the files and lists what is in them. Errors: those of the readers, ERR_QUANT_CALIBRATION
 * if shapes do not suit the model. */
Status task_list(const Task *task, const char *const *paths, size_t count, TaskSamples *samples,
                 Diag *diag);
void task_samples_free(TaskSamples *samples);

/* Fills the input buffers of a sample made with net_sample_make. Values are finite. */
Status task_load(const Task *task, const TaskSource *source, NetSample *sample, Diag *diag);
/* TASK_LINEARS: whether a source has inputs for the linear of a stage; its rows then. */
Status task_load_inputs(const Task *task, const TaskSource *source, size_t stage, NetSample *sample,
                        bool *found, Diag *diag);
/* The output that the file says a sample should have, or NULL; mem_free. */
Status task_reference(const Task *task, const TaskSource *source, uint64_t count, float **values,
                      Diag *diag);
