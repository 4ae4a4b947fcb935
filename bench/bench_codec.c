/* Bulk conversions against memory copy: one core, medians, at every level the processor has.
 * "in" counts bytes read; the copy moves as many bytes as the conversion reads, in the same buffer.
 */
#include "base/mem.h"
#include "base/progress.h"
#include "base/random.h"
#include "num/f8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ELEMENTS ((size_t)1 << 20)
#define RUNS     41

typedef struct Buffers {
    float *floats;
    F16 *halves;
    uint8_t *codes, *out;
} Buffers;

typedef enum Work {
    COPY_HALVES,
    ENCODE_F16,
    COPY_FLOATS,
    ENCODE_F32,
    NARROW,
    COPY_CODES,
    DECODE_F32,
    DECODE_F16,
    WORK_COUNT
} Work;

static void run(Work work, const CodecTable *table, const Buffers *b) {
    switch (work) {
    case COPY_HALVES: memcpy(b->out, b->halves, ELEMENTS * sizeof(F16)); break;
    case COPY_FLOATS: memcpy(b->out, b->floats, ELEMENTS * sizeof(float)); break;
    case COPY_CODES: memcpy(b->out, b->codes, ELEMENTS); break;
    case ENCODE_F16:
        table->encode_f16(b->out, b->halves, ELEMENTS, F8_F143, -4, F8_DEVICE_SATURATE);
        break;
    case ENCODE_F32: table->encode_f32(b->out, b->floats, ELEMENTS, F8_F143, -4, F8_HOST); break;
    case NARROW:
        table->narrow((F16 *)(void *)b->out, b->floats, ELEMENTS, F16_OVERFLOW_INFINITE);
        break;
    case DECODE_F32:
        table->decode_f32((float *)(void *)b->out, b->codes, ELEMENTS, F8_F143, -4);
        break;
    case DECODE_F16:
        table->decode_f16((F16 *)(void *)b->out, b->codes, ELEMENTS, F8_F143, -4,
                          F16_OVERFLOW_SATURATE);
        break;
    case WORK_COUNT: break;
    }
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median seconds of one pass over the buffer. */
static double measure(Work work, const CodecTable *table, const Buffers *buffers) {
    double seconds[RUNS];
    run(work, table, buffers);
    for (int i = 0; i < RUNS; i++) {
        double start = clock_seconds();
        run(work, table, buffers);
        seconds[i] = clock_seconds() - start;
    }
    qsort(seconds, RUNS, sizeof *seconds, compare);
    return seconds[RUNS / 2];
}

int main(void) {
    Buffers b = {mem_alloc(ELEMENTS, 4), mem_alloc(ELEMENTS, 2), mem_alloc(ELEMENTS, 1),
                 mem_alloc(ELEMENTS, 4)};
    if (!b.floats || !b.halves || !b.codes || !b.out)
        return 5;
    random_fill_d1(b.floats, ELEMENTS, "bench", 0, 1.0);
    f16_narrow_all(b.halves, b.floats, ELEMENTS, F16_OVERFLOW_INFINITE);
    f8_encode_f16(b.codes, b.halves, ELEMENTS, F8_F143, -4, F8_HOST);
    static const struct {
        const char *name;
        Work work, copy;
        double in;
    } rows[] = {
        {"f16 -> f143", ENCODE_F16, COPY_HALVES, 2}, {"f32 -> f143", ENCODE_F32, COPY_FLOATS, 4},
        {"f32 -> f16", NARROW, COPY_FLOATS, 4},      {"f143 -> f32", DECODE_F32, COPY_CODES, 1},
        {"f143 -> f16", DECODE_F16, COPY_CODES, 1},
    };
    printf("%zu elements, median of %d runs\n", ELEMENTS, RUNS);
    printf("%-12s %-9s %10s %10s %16s\n", "conversion", "level", "GB/s in", "elem/ns",
           "time / copy's");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        for (CpuLevel level = CPU_PORTABLE; level <= cpu_level_native(); level++) {
            const CodecTable *table = codec_table(level);
            double copy = measure(rows[i].copy, table, &b);
            double seconds = measure(rows[i].work, table, &b);
            printf("%-12s %-9s %10.2f %10.2f %16.2f\n", rows[i].name, cpu_level_name(level),
                   rows[i].in * (double)ELEMENTS / seconds * 1e-9,
                   (double)ELEMENTS / seconds * 1e-9, seconds / copy);
        }
    }
    mem_free(b.floats);
    mem_free(b.halves);
    mem_free(b.codes);
    mem_free(b.out);
    return 0;
}
