/* docs/accuracy.md: published kernel timings beside bundle streams of the same structure on the
 * simulator.
 *
 * A stream has the loops, work split and launches of a published kernel, and nothing else of it:
 * its bundles do nothing, since only their number and order decide the cycles. Where no instruction
 * list of a prologue is public, a number of bundles is chosen, one for all sizes of the stream. */
#pragma once

#include "base/diag.h"
#include "sim/sim.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { WORKERS = 6, WORDS = 8, PARAMETERS = 8 };

/* A kernel call under construction: supervisor code between the frame's stores and the return, the
 * workers' code, and words that each worker finds at its vertex base. */
typedef struct Call {
    FILE *supervisor, *workers;
    uint32_t word[WORKERS][WORDS];
    unsigned arguments; /* words in its frame */
    unsigned entries;   /* of workers: work, work1, work2, in $m0, $m1, $m2; at most 3 */
} Call;

/* Where the bundles of a prologue come from. */
typedef enum Origin {
    ORIGIN_PUBLISHED, /* counted in the published description */
    ORIGIN_CHOSEN     /* what the published fixed part of the time leaves */
} Origin;

typedef struct Stream {
    const char *family, *name;
    const char *structure; /* as published, for people */
    unsigned arguments;
    int prologue; /* bundles of all launches outside the loops, exits included */
    Origin origin;
    void (*build)(Call *call, const struct Stream *stream, const int *parameters);
    int constant[6]; /* of the structure, as `build` reads them */
} Stream;

typedef struct Measurement {
    const Stream *stream;
    const char *shape;
    int parameters[PARAMETERS];
    unsigned cycles;    /* published */
    const char *reason; /* why the simulator may differ; NULL: it may not */
} Measurement;

extern const Measurement measurements[];
extern const size_t measurement_count;

/* Latencies under which a table is made; zeros: those of the simulator. */
typedef MachineTiming Assumption;

/* Cycles between the samples before and after the call. Ends the program after a failure. */
unsigned sampled_call(const Measurement *measurement, const Assumption *assumption);
/* Cycles between two samples with nothing between them. */
unsigned sampled_nothing(const Assumption *assumption);
/* The same around a call whose workers only end, and around an exchange phase without messages. */
unsigned sampled_empty_call(unsigned arguments, const Assumption *assumption);
unsigned sampled_empty_phase(const Assumption *assumption);

/* Results of products of random data under both models of the AMP unit. */
typedef struct AmpComparison {
    unsigned rows, inner, columns;
    double sums_share, sums_largest; /* of the last F32 sums: how many differ, relatively how far */
    double share, largest;           /* of the F16 outputs, absolutely */
    double error[2];                 /* largest distance from the exact product, of each model */
    double relative_rms[2];
} AmpComparison;

AmpComparison amp_compare(bool f8, unsigned inner);
