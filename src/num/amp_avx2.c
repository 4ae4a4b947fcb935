/* AMP kernels, level avx2. */
#if defined(__x86_64__)
#include "num/simd_avx2.h"

#include "num/amp_simd.h"
#endif
