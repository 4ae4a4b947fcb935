/* Choice of the power-of-two scale of an F8 tensor: the smallest s with max|x| <= largest * 2^s.
 *
 * By exponent and significand, never by log2, so it is exact just above largest * 2^k too. The rule
 * is that of the public ipu-stack quantizer.
 */
#pragma once

#include "num/f8.h"

/* One scale shared by both operands of a GEMM: their sum goes into a signed 6-bit register. */
#define SCALE_SHARED_MIN (-16)
#define SCALE_SHARED_MAX 15

/* The scale for a largest magnitude; 0 for 0, clamped to F8_SCALE_MIN..F8_SCALE_MAX.
 * `magnitude` is finite and >= 0. */
int scale_for_magnitude(double magnitude, F8Format format);

/* Largest finite magnitude; 0 if there is none. Infinities and NaNs are ignored. */
float scale_magnitude_f32(const float *values, size_t count);
float scale_magnitude_f16(const F16 *values, size_t count);

int scale_clamp_shared(int scale);
