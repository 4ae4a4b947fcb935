/* Internal: the vocabulary in which codec_simd.h and amp_simd.h are written, for AVX2, FMA, F16C.
 * VF/VI: F32_LANES float32 or int32. VD: F64_LANES doubles; VH: as many float32. */
#pragma once

#include "num/f16.h"

#include <immintrin.h>

#define SIMD         static inline __attribute__((always_inline, target("avx2,fma,f16c,bmi2")))
#define SIMD_ENTRY   static __attribute__((target("avx2,fma,f16c,bmi2")))
#define SIMD_NAME(n) n##_avx2
#define F32_LANES    8
#define F64_LANES    4
#define KEEP(v)      __asm__("" : "+x"(v))

typedef __m256 VF;
typedef __m256i VI, VMask;
typedef __m256d VD;
typedef __m128 VH;

SIMD VI vi_set(uint32_t v) {
    return _mm256_set1_epi32((int)v);
}
SIMD VI vi_and(VI a, VI b) {
    return _mm256_and_si256(a, b);
}
SIMD VI vi_or(VI a, VI b) {
    return _mm256_or_si256(a, b);
}
SIMD VI vi_add(VI a, VI b) {
    return _mm256_add_epi32(a, b);
}
SIMD VI vi_sub(VI a, VI b) {
    return _mm256_sub_epi32(a, b);
}
SIMD VI vi_min(VI a, VI b) {
    return _mm256_min_epi32(a, b);
}
SIMD VI vi_max(VI a, VI b) {
    return _mm256_max_epi32(a, b);
}
SIMD VI vi_left(VI a, int n) {
    return _mm256_sll_epi32(a, _mm_cvtsi32_si128(n));
}
SIMD VI vi_right(VI a, int n) {
    return _mm256_srl_epi32(a, _mm_cvtsi32_si128(n));
}
SIMD VMask vi_above(VI a, VI b) {
    return _mm256_cmpgt_epi32(a, b);
}
SIMD VMask vi_equal(VI a, VI b) {
    return _mm256_cmpeq_epi32(a, b);
}
SIMD VMask mask_or(VMask a, VMask b) {
    return _mm256_or_si256(a, b);
}
SIMD VMask mask_and(VMask a, VMask b) {
    return _mm256_and_si256(a, b);
}
SIMD VI vi_select(VMask m, VI yes, VI no) {
    return _mm256_blendv_epi8(no, yes, m);
}
SIMD VF vi_as_float(VI a) {
    return _mm256_castsi256_ps(a);
}
SIMD VI vf_as_int(VF a) {
    return _mm256_castps_si256(a);
}
SIMD VF vf_add(VF a, VF b) {
    return _mm256_add_ps(a, b);
}
SIMD VF vf_sub(VF a, VF b) {
    return _mm256_sub_ps(a, b);
}
SIMD VF vf_mul(VF a, VF b) {
    return _mm256_mul_ps(a, b);
}

SIMD VF vf_load(const float *p) {
    return _mm256_loadu_ps(p);
}
SIMD void vf_store(float *p, VF a) {
    _mm256_storeu_ps(p, a);
}
SIMD VF vf_load_f16(const F16 *p) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}
SIMD void vf_store_f16(F16 *p, VF a) {
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
}
SIMD VI vi_load_u8(const uint8_t *p) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
}
/* Stores the low byte (values 0..255) of 4 * F32_LANES lanes in order. */
SIMD void vi_store_u8(uint8_t *p, VI a, VI b, VI c, VI d) {
    VI bytes = _mm256_packus_epi16(_mm256_packus_epi32(a, b), _mm256_packus_epi32(c, d));
    VI order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    _mm256_storeu_si256((__m256i *)(void *)p, _mm256_permutevar8x32_epi32(bytes, order));
}

SIMD VD vd_load(const double *p) {
    return _mm256_loadu_pd(p);
}
SIMD void vd_store(double *p, VD a) {
    _mm256_storeu_pd(p, a);
}
SIMD VD vd_all(const double *p) {
    return _mm256_broadcast_sd(p);
}
SIMD VD vd_zero(void) {
    return _mm256_setzero_pd();
}
SIMD VD vd_add(VD a, VD b) {
    return _mm256_add_pd(a, b);
}
SIMD VD vd_sub(VD a, VD b) {
    return _mm256_sub_pd(a, b);
}
SIMD VD vd_mul(VD a, VD b) {
    return _mm256_mul_pd(a, b);
}
SIMD VD vd_fma(VD a, VD b, VD c) {
    return _mm256_fmadd_pd(a, b, c);
}
SIMD VD vd_or(VD a, VD b) {
    return _mm256_or_pd(a, b);
}
SIMD VH vd_narrow(VD a) {
    return _mm256_cvtpd_ps(a);
}
SIMD VD vh_widen(VH a) {
    return _mm256_cvtps_pd(a);
}
SIMD VH vh_load(const float *p) {
    return _mm_loadu_ps(p);
}
SIMD void vh_store(float *p, VH a) {
    _mm_storeu_ps(p, a);
}
SIMD VH vh_load_f16(const F16 *p) {
    return _mm_cvtph_ps(_mm_loadl_epi64((const __m128i *)(const void *)p));
}
SIMD void vh_store_f16(F16 *p, VH a) {
    _mm_storel_epi64((__m128i *)(void *)p, _mm_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
}
/* One bit a lane: |a| > limit or a is NaN; limit finite. */
SIMD unsigned vh_beyond(VH a, float limit) {
    VH magnitude = _mm_andnot_ps(_mm_set1_ps(-0.0f), a);
    return (unsigned)_mm_movemask_ps(_mm_cmp_ps(magnitude, _mm_set1_ps(limit), _CMP_NLE_UQ));
}
/* One bit a lane: a != 0 or a is NaN; and: a is NaN. */
SIMD unsigned vd_nonzero(VD a) {
    return (unsigned)_mm256_movemask_pd(_mm256_cmp_pd(a, vd_zero(), _CMP_NEQ_UQ));
}
SIMD unsigned vd_unordered(VD a) {
    return (unsigned)_mm256_movemask_pd(_mm256_cmp_pd(a, a, _CMP_UNORD_Q));
}
/* `sum` is nearest to the value sum + error; returns that value rounded to odd (exact.h). */
SIMD VD vd_to_odd(VD sum, VD error) {
    __m256i s = _mm256_castpd_si256(sum), one = _mm256_set1_epi64x(1);
    __m256i apart = _mm256_srli_epi64(_mm256_xor_si256(s, _mm256_castpd_si256(error)), 63);
    __m256i step = _mm256_sub_epi64(one, _mm256_add_epi64(apart, apart));
    __m256i odd = _mm256_cmpeq_epi64(_mm256_and_si256(s, one), one);
    __m256i inexact = _mm256_castpd_si256(_mm256_cmp_pd(error, vd_zero(), _CMP_NEQ_OQ));
    step = _mm256_and_si256(_mm256_andnot_si256(odd, step), inexact);
    return _mm256_castsi256_pd(_mm256_add_epi64(s, step));
}
