/* The AMP step as a published constant table of the chip's predecessor suggests it: all products
 * and the accumulator are aligned to the largest exponent among them and cut to 31 fraction bits
 * (33-bit adder inputs), added, and the sum is rounded to float32, nearest even. An alternative to
 * the exact model of num/amp.h, for measuring what the assumption is worth. Terms that are not
 * finite give what the exact model gives. */
#pragma once

#include "num/amp.h"

float amp_aligned_f16(float acc, const F16 x[AMP_F16_LANES], const F16 w[AMP_F16_LANES]);
float amp_aligned_f8(float acc, const uint8_t x[AMP_F8_LANES], F8Format x_format,
                     const uint8_t w[AMP_F8_LANES], F8Format w_format, int scale);
float amp_aligned_f32(float acc, float x, float w);
