/* Processor level for run-time dispatch. TILEWORK_CPU=portable|avx2|avx512 lowers it; a level that
 * the processor lacks is never chosen. */
#pragma once

#include <stdbool.h>

typedef enum CpuLevel { CPU_PORTABLE = 0, CPU_AVX2 = 1, CPU_AVX512 = 2 } CpuLevel;

/* avx2 means AVX2 + FMA + F16C + BMI2; avx512 adds F, BW, DQ, VL. Reads the environment at each
 * call: callers keep the answer. */
CpuLevel cpu_level(void);
/* What the processor has, whatever the environment says. */
CpuLevel cpu_level_native(void);
const char *cpu_level_name(CpuLevel level);
/* Parses a level name; false if it is none. */
bool cpu_level_parse(const char *name, CpuLevel *level);
