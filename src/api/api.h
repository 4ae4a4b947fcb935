/* What the handles of the public interface hold. */
#pragma once

#include "asm/asm.h"
#include "base/diag.h"
#include "base/pool.h"
#include "graph/graph.h"
#include "model/model.h"
#include "pack/pack.h"
#include "prof/prof.h"
#include "run/run.h"
#include "tilework/tilework.h"

struct TwContext {
    Pool *pool;
    Diag diag;
    bool checks;
};

struct TwGraph {
    Graph *graph; /* expanded */
};

struct TwWeights {
    const Graph *graph;
    ModelParameters parameters;
};

struct TwPackage {
    Package *package;
};

struct TwProfile {
    Profile profile;
};

struct TwDevice {
    TwContext *context;
    const Package *package;
    Device *device;
};

TwStatus api_no_memory(TwContext *context);
Precision api_precision(TwPrecision precision);
TwPrecision api_public_precision(Precision precision);
/* tw_weights_generate for a compilation that may use `tiles` tiles (0: all). If the graph's tensors
 * cannot even in sum lie on so many tiles, no plan exists and nobody will read a parameter: then
 * none is generated, so that the refusal comes at once. */
TwStatus api_generate_weights(TwContext *context, const TwGraph *graph, uint64_t seed, double sigma,
                              unsigned tiles, TwWeights **weights);
/* Takes over the package, also when there is no memory for the handle. */
TwStatus api_wrap_package(TwContext *context, Package *package, TwPackage **handle);

/* A device that keeps the time lines that a profile is made from. */
TwStatus api_device_open(TwContext *context, const TwPackage *package, bool timeline,
                         TwDevice **device);
/* The first step of a profile, after an invocation of "run_sampled" that took cycles_sampled; graph
 * is that of the package. The second one after one of "run" that took `cycles` (ERR_PROF_LONG).
 * prof_free in any case. */
Status api_profile_begin(const Package *package, const Graph *graph, Device *device,
                         uint64_t cycles_sampled, Profile *profile, Diag *diag);
Status api_profile_end(Device *device, uint64_t cycles, Profile *profile, Diag *diag);
/* Runs `command` (found through PATH, no shell) on a file as the C preprocessor and reads what it
 * writes; mem_free. Errors: ERR_CPP_START, ERR_CPP_FAILED. */
Status api_preprocess(const char *source, const TwAssembleOptions *options, char **text,
                      size_t *size, Diag *diag);
/* Preprocesses and assembles a source file; asm_object_free. *object stays as it is on failure. */
Status api_assemble(const char *source, const TwAssembleOptions *options, AsmObject **object,
                    Diag *diag);
