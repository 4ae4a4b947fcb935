/* GELU as the chip's kernels compute it in binary16, in its tanh form:
 *
 *   gelu(x) = h + h * tanh(u),  h = x / 2,  u = 0.79785 * x + 0.035675 * x^3
 *
 * Every product and sum is rounded to binary16 (nearest even, saturating), but for u: both of its
 * products are summed in float32 (f16v4mix) and rounded from there. The largest error over all
 * finite halves against the same form in double is 0.00173944, at 2.16015625; the order of steps
 * in ipu-stack, x * (1 + tanh(u)) / 2 with the same two constants, has 0.00201314.
 *
 * A NaN gives a NaN, and so does -infinity.
 */
#pragma once

#include "num/f16.h"

/* The two factors of u as halves: 0.7978515625 and 0.035675048828125. */
enum { GELU_LINEAR = 0x3A62, GELU_CUBIC = 0x2891 };

/* tanh rounded once to nearest even, as f16v2tanh. */
F16 f16_tanh(F16 x);

F16 gelu_f16(F16 x);

/* 2 * gelu(x) = x + x * tanh(u), which kernels with F143 output encode with half the scale: exact
 * where gelu_f16 rounds a subnormal, saturating beyond 32752. */
F16 gelu_twice_f16(F16 x);
