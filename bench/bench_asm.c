/* The assembler on macro-heavy text: a file of 1,000 lines, and 65,000 lines, as long as the public
 * library of kernels. Medians of processor time; lines are those of the source, before macros are
 * expanded. */
#include "asm/asm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char macros[] = ".macro STEP op, type=half, n=4\n"
                             "  .ifc \\type, half\n"
                             "  f16v\\n\\()\\op $a0:1, $a2:3, $a4:5\n"
                             "  .elseif \\n == 2\n"
                             "  f32v2\\op $a0:1, $a2:3, $a4:5\n"
                             "  .else\n"
                             "  .error \"no such type\"\n"
                             "  .endif\n"
                             ".endm\n"
                             ".macro KERNEL name, op, unroll=2\n"
                             "  .section .text.\\name, \"ax\", @progbits\n"
                             "  .global \\name\n"
                             "  .type \\name, @function\n"
                             "  .align 8\n"
                             "  .worker\n"
                             "\\name:\n"
                             "  ld32 $m0, $mvertex_base, $mzero, 0\n"
                             "  get $m1, $WSR\n"
                             "  and $m1, $m1, CSR_W_WSR__CTXTID_M1__MASK\n"
                             "  brz $m1, .Lend\\@\n"
                             "  .align 8\n"
                             "  {rpt $m1, (2f - 1f) / 8 - 1; fnop}\n"
                             "1:\n"
                             "  .rept \\unroll\n"
                             "  {ld64step $a2:3, $mzero, $m0+=, 1; f16v4\\op $a0:1, $a2:3, $a4:5}\n"
                             "  .endr\n"
                             "2:\n"
                             "  STEP \\op\n"
                             "  STEP \\op, n=4\n"
                             ".Lend\\@:\n"
                             "  exitz $mzero\n"
                             "  .size \\name, . - \\name\n"
                             ".endm\n";

/* About `lines` lines: a call of the macro, then ten plain ones, and so on. */
static char *source(unsigned lines, size_t *size, unsigned *count) {
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    fputs(macros, out);
    *count = 36;
    for (unsigned k = 0; *count < lines; k++, *count += 11) {
        fprintf(out, "  KERNEL kernel_%u, %s, unroll=%u\n", k, k % 2 ? "add" : "mul", k % 4 + 1);
        fprintf(out,
                "  add $m2, $m2, (%u + 7) / 8 // comment\n"
                "  ldz16 $m3, $mvertex_base, $mzero, 2\n"
                ".Lloop%u:\n"
                "  {ld64step $a0:1, $mzero, $m4+=, 1\n"
                "   f32v2add $a2:3, $a0:1, $a2:3}\n"
                "  .set OFFSET, %u\n"
                "  ld32 $m5, $m4, $mzero, OFFSET\n"
                "  brnzdec $m3, .Lloop%u\n"
                "  st32step $a2, $mzero, $m5+=, 1\n"
                "  br $lr\n",
                k, k, k % 100, k);
    }
    fclose(out);
    return text;
}

static double cpu_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int compare(const void *left, const void *right) {
    double l = *(const double *)left, r = *(const double *)right;
    return (l > r) - (l < r);
}

static void measure(unsigned lines, unsigned runs) {
    size_t size;
    unsigned count;
    char *text = source(lines, &size, &count);
    AsmOptions options = {0};
    options.defines = asm_standard_defines(&options.define_count);
    double seconds[32];
    size_t bytes = 0;
    for (unsigned i = 0; i < runs; i++) {
        AsmObject *object;
        double start = cpu_seconds();
        if (asm_assemble("bench.S", text, size, &options, &object, NULL) != STATUS_OK)
            abort();
        seconds[i] = cpu_seconds() - start;
        bytes = 0;
        for (size_t s = 0; s < object->section_count; s++)
            bytes += object->sections[s].size;
        asm_object_free(object);
    }
    qsort(seconds, runs, sizeof *seconds, compare);
    printf("%6u lines: %8.2f ms, %zu bytes of code\n", count, 1e3 * seconds[runs / 2], bytes);
    free(text);
}

int main(void) {
    measure(1000, 31);
    measure(65000, 5);
    return 0;
}
