/* The AVX-512 level on a processor without it: the same source, its intrinsics translated to AVX2
 * by SIMDe, against the scalar functions. Only the compiler's own AVX-512 code goes untested. */
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

#include "compare_amp.h"
#include "compare_codec.h"

/* What SIMDe 0.7.4 lacks, by way of memory. */
static __m512 translate_cvtph_ps(__m256i a) {
    float floats[16];
    _mm256_storeu_ps(floats, _mm256_cvtph_ps(_mm256_castsi256_si128(a)));
    _mm256_storeu_ps(floats + 8, _mm256_cvtph_ps(_mm256_extracti128_si256(a, 1)));
    return _mm512_loadu_ps(floats);
}

static __m256i translate_cvtps_ph(__m512 a) {
    float floats[16];
    F16 halves[16];
    _mm512_storeu_ps(floats, a);
    for (int i = 0; i < 16; i += 8)
        _mm_storeu_si128((__m128i *)(void *)(halves + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(floats + i), _MM_FROUND_TO_NEAREST_INT));
    return _mm256_loadu_si256((const __m256i *)(const void *)halves);
}

static __m512i translate_cvtepu8_epi32(__m128i a) {
    uint8_t bytes[16];
    int32_t words[16];
    _mm_storeu_si128((__m128i *)(void *)bytes, a);
    for (int i = 0; i < 16; i++)
        words[i] = bytes[i];
    return _mm512_loadu_si512(words);
}

static __m128i translate_cvtepi32_epi8(__m512i a) {
    uint8_t bytes[16];
    int32_t words[16];
    _mm512_storeu_si512(words, a);
    for (int i = 0; i < 16; i++)
        bytes[i] = (uint8_t)words[i];
    return _mm_loadu_si128((const __m128i *)(const void *)bytes);
}

static __m512d translate_cvtps_pd(__m256 a) {
    float floats[8];
    double doubles[8];
    _mm256_storeu_ps(floats, a);
    for (int i = 0; i < 8; i++)
        doubles[i] = (double)floats[i];
    return _mm512_loadu_pd(doubles);
}

static __m256 translate_cvtpd_ps(__m512d a) {
    float floats[8];
    double doubles[8];
    _mm512_storeu_pd(doubles, a);
    for (int i = 0; i < 8; i++)
        floats[i] = (float)doubles[i];
    return _mm256_loadu_ps(floats);
}

#undef _mm512_maskz_cvtps_ph
#define _mm512_cvtph_ps                          translate_cvtph_ps
#define _mm512_maskz_cvtps_ph(mask, a, rounding) translate_cvtps_ph(a)
#define _mm512_cvtepu8_epi32                     translate_cvtepu8_epi32
#define _mm512_cvtepi32_epi8                     translate_cvtepi32_epi8
#define _mm512_cvtps_pd                          translate_cvtps_pd
#define _mm512_cvtpd_ps                          translate_cvtpd_ps

#define SIMD_TRANSLATED
#include "num/simd_avx512.h"

#include "num/amp_simd.h"
#include "num/codec_simd.h"

static void translated_level_equals_scalar(void **state) {
    (void)state;
    print_levels();
    if (cpu_level_native() < CPU_AVX2) {
        printf("the translation needs AVX2\n");
        skip();
    }
    compare_codec(&codec_table_translated, "avx512, translated", repetitions(1 << 22, 100000000));
    compare_amp(&amp_table_translated, "avx512, translated", repetitions(2000, 200000));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(translated_level_equals_scalar)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
