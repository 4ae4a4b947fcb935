/* Internal: the vocabulary of simd_avx2.h for AVX-512 F, BW, DQ, VL. */
#pragma once

#include "num/f16.h"

#ifndef SIMD_TRANSLATED /* a test compiles this level through a header that translates it */
#include <immintrin.h>
#define SIMD_TARGET  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c,bmi2")))
#define SIMD_NAME(n) n##_avx512
#define KEEP(v)      __asm__("" : "+v"(v))
#else
#define SIMD_TARGET
#define SIMD_NAME(n) n##_translated
#define KEEP(v)
#endif

#define SIMD       static inline __attribute__((always_inline)) SIMD_TARGET
#define SIMD_ENTRY static SIMD_TARGET
#define F32_LANES  16
#define F64_LANES  8

typedef __m512 VF;
typedef __m512i VI;
typedef __mmask16 VMask;
typedef __m512d VD;
typedef __m256 VH;

SIMD VI vi_set(uint32_t v) {
    return _mm512_set1_epi32((int)v);
}
SIMD VI vi_and(VI a, VI b) {
    return _mm512_and_si512(a, b);
}
SIMD VI vi_or(VI a, VI b) {
    return _mm512_or_si512(a, b);
}
SIMD VI vi_add(VI a, VI b) {
    return _mm512_add_epi32(a, b);
}
SIMD VI vi_sub(VI a, VI b) {
    return _mm512_sub_epi32(a, b);
}
SIMD VI vi_min(VI a, VI b) {
    return _mm512_min_epi32(a, b);
}
SIMD VI vi_max(VI a, VI b) {
    return _mm512_max_epi32(a, b);
}
SIMD VI vi_left(VI a, int n) {
    return _mm512_sllv_epi32(a, _mm512_set1_epi32(n));
}
SIMD VI vi_right(VI a, int n) {
    return _mm512_srlv_epi32(a, _mm512_set1_epi32(n));
}
SIMD VMask vi_above(VI a, VI b) {
    return _mm512_cmpgt_epi32_mask(a, b);
}
SIMD VMask vi_equal(VI a, VI b) {
    return _mm512_cmpeq_epi32_mask(a, b);
}
SIMD VMask mask_or(VMask a, VMask b) {
    return (VMask)(a | b);
}
SIMD VMask mask_and(VMask a, VMask b) {
    return (VMask)(a & b);
}
SIMD VI vi_select(VMask m, VI yes, VI no) {
    return _mm512_mask_blend_epi32(m, no, yes);
}
SIMD VF vi_as_float(VI a) {
    return _mm512_castsi512_ps(a);
}
SIMD VI vf_as_int(VF a) {
    return _mm512_castps_si512(a);
}
SIMD VF vf_add(VF a, VF b) {
    return _mm512_add_ps(a, b);
}
SIMD VF vf_sub(VF a, VF b) {
    return _mm512_sub_ps(a, b);
}
SIMD VF vf_mul(VF a, VF b) {
    return _mm512_mul_ps(a, b);
}

SIMD VF vf_load(const float *p) {
    return _mm512_loadu_ps(p);
}
SIMD void vf_store(float *p, VF a) {
    _mm512_storeu_ps(p, a);
}
SIMD VF vf_load_f16(const F16 *p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
SIMD void vf_store_f16(F16 *p, VF a) {
    __m256i halves = _mm512_maskz_cvtps_ph(0xFFFF, a, _MM_FROUND_TO_NEAREST_INT);
    _mm256_storeu_si256((__m256i *)(void *)p, halves);
}
SIMD VI vi_load_u8(const uint8_t *p) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
}
SIMD void vi_store_u8(uint8_t *p, VI a, VI b, VI c, VI d) {
    _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtepi32_epi8(a));
    _mm_storeu_si128((__m128i *)(void *)(p + 16), _mm512_cvtepi32_epi8(b));
    _mm_storeu_si128((__m128i *)(void *)(p + 32), _mm512_cvtepi32_epi8(c));
    _mm_storeu_si128((__m128i *)(void *)(p + 48), _mm512_cvtepi32_epi8(d));
}

SIMD VD vd_load(const double *p) {
    return _mm512_loadu_pd(p);
}
SIMD void vd_store(double *p, VD a) {
    _mm512_storeu_pd(p, a);
}
SIMD VD vd_all(const double *p) {
    return _mm512_set1_pd(*p);
}
SIMD VD vd_zero(void) {
    return _mm512_setzero_pd();
}
SIMD VD vd_add(VD a, VD b) {
    return _mm512_add_pd(a, b);
}
SIMD VD vd_sub(VD a, VD b) {
    return _mm512_sub_pd(a, b);
}
SIMD VD vd_mul(VD a, VD b) {
    return _mm512_mul_pd(a, b);
}
SIMD VD vd_fma(VD a, VD b, VD c) {
    return _mm512_fmadd_pd(a, b, c);
}
SIMD VD vd_or(VD a, VD b) {
    return _mm512_castsi512_pd(_mm512_or_si512(_mm512_castpd_si512(a), _mm512_castpd_si512(b)));
}
SIMD VH vd_narrow(VD a) {
    return _mm512_cvtpd_ps(a);
}
SIMD VD vh_widen(VH a) {
    return _mm512_cvtps_pd(a);
}
SIMD VH vh_load(const float *p) {
    return _mm256_loadu_ps(p);
}
SIMD void vh_store(float *p, VH a) {
    _mm256_storeu_ps(p, a);
}
SIMD VH vh_load_f16(const F16 *p) {
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}
SIMD void vh_store_f16(F16 *p, VH a) {
    _mm_storeu_si128((__m128i *)(void *)p, _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
}
SIMD unsigned vh_beyond(VH a, float limit) {
    VH magnitude = _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a);
    VH beyond = _mm256_cmp_ps(magnitude, _mm256_set1_ps(limit), _CMP_NLE_UQ);
    return (unsigned)_mm256_movemask_ps(beyond);
}
SIMD unsigned vd_nonzero(VD a) {
    return _mm512_cmp_pd_mask(a, vd_zero(), _CMP_NEQ_UQ);
}
SIMD unsigned vd_unordered(VD a) {
    return _mm512_cmp_pd_mask(a, a, _CMP_UNORD_Q);
}
SIMD VD vd_to_odd(VD sum, VD error) {
    __m512i s = _mm512_castpd_si512(sum), one = _mm512_set1_epi64(1);
    __m512i apart = _mm512_srli_epi64(_mm512_xor_si512(s, _mm512_castpd_si512(error)), 63);
    __m512i step = _mm512_sub_epi64(one, _mm512_add_epi64(apart, apart));
    __mmask8 odd = _mm512_cmpeq_epi64_mask(_mm512_and_si512(s, one), one);
    __mmask8 inexact = _mm512_cmp_pd_mask(error, vd_zero(), _CMP_NEQ_OQ);
    __mmask8 moves = (__mmask8)(inexact & ~odd);
    return _mm512_castsi512_pd(_mm512_mask_add_epi64(s, moves, s, step));
}
