/* Elementary functions of the chip, the same on every host: computed in pairs of doubles (about 100
 * bits) and rounded to odd, so that one more rounding to binary16 or float32, in any direction, is
 * correct. That the chip's own functions are correctly rounded is inferred (CHIP_TRANSC_…).
 *
 * x holds a float32. NaN gives NaN; infinities give their limits. Results beyond 2^±300 are
 * returned as that. */
#pragma once

double elementary_exp(double x);
double elementary_exp2(double x);
/* Natural and binary logarithm of x >= 0; log(0) = -infinity; NaN for x < 0. */
double elementary_log(double x);
double elementary_log2(double x);
double elementary_tanh(double x);
/* 1 / (1 + e^-x) */
double elementary_sigmoid(double x);
/* x / y, square root and 1 / square root of normal or zero operands, x >= 0 for the roots. */
double elementary_divide(double x, double y);
double elementary_sqrt(double x);
double elementary_inverse_sqrt(double x);
