#include "base/cpu.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>

CpuLevel cpu_level_native(void) {
    /* The built-ins also ask whether the operating system saves the registers; F16C, which clang 14
     * does not know by name, comes with the same registers as AVX. */
    unsigned eax, ebx, ecx, edx;
    bool f16c = __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C);
    bool avx2 = f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                __builtin_cpu_supports("bmi2");
    if (!avx2)
        return CPU_PORTABLE;
    bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    return avx512 ? CPU_AVX512 : CPU_AVX2;
}
#else
CpuLevel cpu_level_native(void) {
    return CPU_PORTABLE;
}
#endif

CpuLevel cpu_level(void) {
    CpuLevel native = cpu_level_native();
    const char *name = getenv("TILEWORK_CPU");
    CpuLevel wanted;
    if (name && cpu_level_parse(name, &wanted) && wanted < native)
        return wanted;
    return native;
}

static const char *const names[] = {
    [CPU_PORTABLE] = "portable", [CPU_AVX2] = "avx2", [CPU_AVX512] = "avx512"};

const char *cpu_level_name(CpuLevel level) {
    return names[level];
}

bool cpu_level_parse(const char *name, CpuLevel *level) {
    for (CpuLevel i = CPU_PORTABLE; i <= CPU_AVX512; i++) {
        if (strcmp(name, names[i]) == 0) {
            *level = i;
            return true;
        }
    }
    return false;
}
