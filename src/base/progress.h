/* Progress lines on stderr with rate and time left; silent when stderr is not a terminal. */
#pragma once

#include <stdint.h>

typedef struct Progress {
    const char *what; /* "simulating" */
    const char *unit; /* "tiles" */
    uint64_t total;
    double started, shown;
    int active;
} Progress;

Progress progress_begin(const char *what, const char *unit, uint64_t total);
void progress_update(Progress *progress, uint64_t done);
void progress_end(Progress *progress);

/* Monotonic seconds. */
double clock_seconds(void);
/* Peak resident set of this process in bytes. */
uint64_t peak_rss_bytes(void);
