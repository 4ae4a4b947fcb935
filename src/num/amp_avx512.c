/* AMP kernels, level avx512. */
#if defined(__x86_64__)
#include "num/simd_avx512.h"

#include "num/amp_simd.h"
#endif
