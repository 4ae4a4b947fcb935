/* Sums of doubles without intermediate rounding. */
#pragma once

/* More terms than any instruction of the chip adds at once. */
#define EXACT_MAX_TERMS 16

/* The exact sum of count terms rounded to odd: the double itself if it is exact, else the one of
 * its two neighbours whose last bit is 1. Rounding that once more to any format of at most 51 bits
 * gives the correctly rounded sum. An exact zero is -0 only if all terms are -0, as in IEEE
 * additions in any order. NaN (any sign) if a term is NaN or infinities of both signs occur. 1 <=
 * count <= EXACT_MAX_TERMS; finite terms are 0 or of magnitude 2^-900..2^900. */
double exact_sum_odd(const double *terms, int count);

/* Rounds a value near `approximate` to odd: `rest` has the sign of the exact value less it, and is
 * below a unit in the last place. */
double exact_to_odd(double approximate, double rest);

/* The exact sum rounded once to float32, nearest-even; every NaN is F32_QNAN. */
float exact_sum_f32(const double *terms, int count);
