/* The device: a package loaded into the simulated chip. */
#pragma once

#include "tilework/package.h"

typedef struct TwDevice TwDevice;

/* Loads a package, which must outlive the device. */
TwStatus tw_device_open(TwContext *context, const TwPackage *package, TwDevice **device);
void tw_device_close(TwDevice *device);

/* Sets an input or parameter from logical row-major values, or from a place: "FILE.npy" or
 * "FILE.safetensors[:TENSOR]". Values are encoded into the binding's precision with one rounding.
 */
TwStatus tw_device_set(TwDevice *device, const char *name, const float *values, uint64_t count);
TwStatus tw_device_read_input(TwDevice *device, const char *name, const char *place);
/* The generated data of docs/data.md. */
TwStatus tw_device_generate(TwDevice *device, const char *name, uint64_t seed, double sigma);

typedef struct TwRunReport {
    uint64_t cycles;  /* from the last tile's release to the last tile's last step */
    uint64_t bundles; /* issued by workers, all tiles */
    double seconds;   /* of the simulation */
} TwRunReport;

/* One invocation; `sampled` takes a cycle sample before every step, as published timings do. */
TwStatus tw_device_run(TwDevice *device, bool sampled, TwRunReport *report);

/* Whether there is such an output and its place can be written, before a long run. */
TwStatus tw_device_check_output(TwDevice *device, const char *name, const char *place);
/* Reads an output. */
TwStatus tw_device_get(TwDevice *device, const char *name, float *values, uint64_t count);
TwStatus tw_device_write_output(TwDevice *device, const char *name, const char *place);
