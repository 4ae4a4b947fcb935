#include "base/progress.h"

#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static const double first_line_after = 0.5, line_every = 0.1; /* seconds */

double clock_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

uint64_t peak_rss_bytes(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_maxrss * 1024;
}

Progress progress_begin(const char *what, const char *unit, uint64_t total) {
    double now = clock_seconds();
    return (Progress){
        what, unit, total, now, now + first_line_after - line_every, isatty(STDERR_FILENO)};
}

void progress_update(Progress *progress, uint64_t done) {
    if (!progress->active)
        return;
    double now = clock_seconds();
    if (now < progress->shown + line_every)
        return;
    progress->shown = now;
    double rate = (double)done / (now - progress->started);
    fprintf(stderr, "\r%s: %llu of %llu %s, %.4g/s", progress->what, (unsigned long long)done,
            (unsigned long long)progress->total, progress->unit, rate);
    if (rate > 0 && done <= progress->total)
        fprintf(stderr, ", %.0f s left", (double)(progress->total - done) / rate);
    fputs("\033[K", stderr);
    fflush(stderr);
}

void progress_end(Progress *progress) {
    if (progress->active && progress->shown > progress->started + first_line_after - line_every)
        fputs("\r\033[K", stderr);
    progress->active = 0;
}
