/* Measured workloads on generated data: compile, write and read back the package, run, check. */
#pragma once

#include "tilework/profile.h"
#include "tilework/run.h"

typedef struct TwBenchOptions {
    TwCompileOptions compile;
    uint64_t seed;
    double weight_sigma;      /* 0: 1/√inner */
    const char *package_path; /* NULL: a temporary file */
} TwBenchOptions;

typedef struct TwBenchReport {
    TwCompileReport compile;
    TwPackage *package; /* what was run, read back from the file; NULL if it did not come so far */
    TwProfile *profile; /* of `run`; NULL likewise */
    uint64_t package_bytes;
    TwRunReport run, sampled;
    /* The outputs against the numeric twin (bit by bit) and the F64 reference; of several outputs
     * the sums of differing values and NaNs, and the largest errors. */
    bool bit_exact;
    uint64_t differing, nans;
    double max_abs_error, rel_rms_error;
    /* bit_exact, and rel_rms_error at most TW_BENCH_MAX_RMS for each cast in the graph: where the
     * reference's unrounded value lies on the other side of a border between codes, it is a whole
     * code off, and later casts multiply such errors. rms_limit is that bound. */
    bool pass;
    double rms_limit;
} TwBenchReport;

/* F16 accumulation over a few thousand inner elements stays well below this; a wrong formula or
 * scale does not. */
#define TW_BENCH_MAX_RMS 0.02

/* A result that is wrong is no error of this function: look at `pass`. */
TwStatus tw_bench(TwContext *context, const TwGraph *graph, const TwBenchOptions *options,
                  TwBenchReport *report);
void tw_bench_free(TwBenchReport *report);
