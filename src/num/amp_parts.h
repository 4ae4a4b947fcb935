/* Internal: when may a row be computed in plain double arithmetic?
 *
 * If all partials and products of a row are multiples of 2^low and every sum of them stays below
 * 2^top in magnitude with top - low <= 53, then double additions are exact in any order, and so the
 * conversion to float32 after each phase is its only rounding. A rounded accumulator is again a
 * multiple of 2^low, so the argument holds for the next phase. NaN and infinite operands give their
 * result whatever is rounded.
 */
#pragma once

#include "num/amp.h"

typedef struct AmpRange {
    int top, low; /* multiples of 2^low, magnitudes below 2^top */
} AmpRange;

#define AMP_RANGE_F143     ((AmpRange){8, -10})
#define AMP_RANGE_F152     ((AmpRange){16, -17})
#define AMP_RANGE_F16      ((AmpRange){16, -24})
#define AMP_RANGE_OF_ZEROS ((AmpRange){-1024, 1024})

/* Of F16 numbers whose largest magnitude bits are `most` and smallest nonzero ones `least`
 * (0x8000 or more if all are zero). */
static inline AmpRange amp_range_f16(int most, int least) {
    int high = most >> 10, low = least >> 10;
    return (AmpRange){(high ? high : 1) - 14, (low ? low : 1) - 25};
}

static inline bool amp_range_exact(AmpRange x, AmpRange partial, const AmpWeights *weights,
                                   int log2_inputs) {
    int top = x.top + weights->top + log2_inputs, low = x.low + weights->low;
    top = (top > partial.top ? top : partial.top) + 1;
    low = low < partial.low ? low : partial.low;
    return top - low <= 53;
}

/* One unit of a phase, exactly: acc + sum of x[l] * weights[l][channel], any operands. */
float amp_step_exact(float acc, const double *x, const double (*weights)[AMP_CHANNELS], int channel,
                     int lanes);

/* Puts a row's accumulators where they are wanted; a NaN becomes the one that there is. */
void amp_finish_row(const AmpRows *rows, size_t r, float acc[AMP_CHANNELS]);

/* Row r of an array whose rows are `stride` bytes apart. */
static inline const void *amp_row(const void *first, size_t r, size_t stride) {
    return (const char *)first + r * stride;
}
static inline void *amp_row_of(void *first, size_t r, size_t stride) {
    return (char *)first + r * stride;
}
