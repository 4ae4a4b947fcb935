/* What the verb kernel prints: text for people, JSON. */
#pragma once

#include "cli/cli.h"

/* A line of the listing shows source; `values` elements of each output are shown. */
void kernel_print(const TwKernelRun *run, unsigned values, FILE *out);
/* Both runs side by side; true if all outputs are equal bit by bit. */
bool kernel_print_comparison(const TwKernelRun *run, const TwKernelRun *other,
                             const char *const names[2], FILE *out);
json_t *kernel_json(const TwKernelRun *run, unsigned values);
json_t *kernel_comparison_json(const TwKernelRun *run, const TwKernelRun *other);
/* Whether every output that something was expected of is as expected. */
bool kernel_as_expected(const TwKernelRun *run);
