/* What one kernel call costs in the supervisor's program: loading the arguments, and the call.
 *
 * An argument takes one word (`setzi`, or `add` of a small negative number), a scalar beyond 20
 * bits two (`setzi` and `or`); then comes `call $m10, entry`. Two-word scalars are loaded first and
 * completed last, so that at most one stall remains. */
#pragma once

#include "kernel/kernel.h"

/* Words of the call, the `call` itself included. */
uint32_t kernel_step_words(const KernelSpec *spec, const int32_t scalars[]);

/* Cycles from the issue of its first word, at a cycle congruent to `start` modulo 6, to the issue
 * of the instruction after the return. Equal to what the simulator runs. */
uint64_t kernel_step_cycles(const KernelSpec *spec, const int32_t scalars[], unsigned start);

/* Does a scalar take two words? */
bool kernel_scalar_is_long(int32_t scalar);
