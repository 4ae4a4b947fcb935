/* What the parts of a run share. */
#pragma once

#include "base/progress.h"
#include "quant/equalize.h"
#include "quant/quant.h"
#include "quant/task.h"

#include <jansson.h>

/* The folder in which a run keeps what is finished: a file a layer. It is locked while a process
 * works in it, and tied to a run by a fingerprint of model, calibration data and options. */
typedef struct State {
    char *folder;
    int lock;             /* file descriptor, -1 if none */
    SafeTensors **layers; /* by stage, NULL if not finished */
    size_t count;
    char fingerprint[33];
} State;

typedef struct Quant {
    const QuantOptions *options;
    Pool *pool;
    Diag *diag;
    Task task;
    Net *net; /* the task's */
    TaskSamples calibration, evaluation;
    NetSample *samples;                  /* of calibration */
    float *kept;                         /* a sample's stream while a run must not change it */
    Stats *stats;                        /* by site; only those of the stage in work are made */
    int *input_scales;                   /* by site */
    int *forced_inputs, *forced_weights; /* by site, linear: scales of a policy, or SOLVE_FREE */
    State state;
    json_t *records; /* by stage: array of linears' records, or null */
    json_t *evaluations, *stages;
    int64_t layer_stage; /* of the layer that is wanted alone, -1: all */
    uint64_t memory_estimate;
    bool fell_back;
    Progress progress;
    uint64_t done;
    struct QuantTimes {
        double forward, hessian, solve, equalize, evaluate, write, total;
    } times;
} Quant;

Status quant_no_memory(const Quant *q);
bool quant_has_targets(const Quant *q, size_t stage);
/* First and one behind the last site or linear of a stage. */
void quant_sites(const Quant *q, size_t stage, uint32_t *first, uint32_t *end);
void quant_linears(const Quant *q, size_t stage, uint32_t *first, uint32_t *end);
void quant_step(Quant *q); /* of progress */

/* ---- calibrate.c: statistics of a loaded stage. advance: the samples' streams go on to the next
 * stage. */
Status calibrate_stage(Quant *q, size_t stage, bool advance);
Status calibrate_make_stats(Quant *q, size_t stage);
void calibrate_free_stats(Quant *q, size_t stage);
/* Runs the samples through a loaded stage. */
Status calibrate_advance(Quant *q, size_t stage, bool operands);
/* Scales of the sharing policies, from one pass over the float model. */
Status calibrate_policies(Quant *q);
Status calibrate_open_samples(Quant *q);
void calibrate_close_samples(Quant *q);

/* ---- layer.c: transforms, solves and keeps a stage. */
Status layer_transform(Quant *q, size_t stage);
Status layer_solve(Quant *q, size_t stage);
int layer_input_scale(const Quant *q, uint32_t site);

/* ---- state.c */
Status state_fingerprint(Quant *q);
Status state_open(Quant *q);
void state_close(Quant *q);
char *state_layer_path(const Quant *q, size_t stage);
Status state_load_layer(Quant *q, size_t stage, bool needed);
/* Removes the folder and what a run puts into it. */
void state_remove(Quant *q);

/* ---- shard.c */
Status shard_collect(Quant *q);
Status shard_load(Quant *q, size_t stage, const SafeTensors *file);
Status shard_check(Quant *q, const SafeTensors *file);

/* ---- evaluate.c */
Status evaluate_run(Quant *q);

/* ---- output.c */
Status output_write(Quant *q, const char *report);
json_t *output_report(Quant *q);
/* "vision_model.x.weight" of a linear → name of a companion tensor, in the arena */
char *output_scale_name(Arena *arena, const char *weight);
char *output_input_scale_name(Arena *arena, const char *module);
