/* Bulk conversions, level avx2. */
#if defined(__x86_64__)
#include "num/simd_avx2.h"

#include "num/codec_simd.h"
#endif
