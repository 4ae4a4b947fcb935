/* Worker bundles and matrix multiply-adds a second of the simulator, one core, medians. */
#include "asm/asm.h"
#include "base/mem.h"
#include "base/progress.h"
#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BASE   0x4C000u
#define RUNS   9
#define ROUNDS 300 /* of an rpt of 200 times 4 bundles, in six workers */

typedef struct Loop {
    const char *name;
    const char *body; /* four bundles */
    unsigned macs;    /* a bundle */
} Loop;

static const Loop loops[] = {
    {"integer",
     "{add $m1, $m1, 3; fnop}\n {add $m3, $m1, $m1; fnop}\n {shl $m3, $m3, 1; fnop}\n"
     "{cmpult $m4, $m3, $m1; fnop}\n",
     0},
    {"integer and F16 lanes",
     "{add $m1, $m1, 3; f16v4add $a0:1, $a0:1, $a2:3}\n"
     "{add $m3, $m1, $m1; f16v4mul $a0:1, $a0:1, $a2:3}\n"
     "{shl $m3, $m3, 1; f16v4sub $a4:5, $a0:1, $a2:3}\n"
     "{cmpult $m4, $m3, $m1; f16v4max $a6:7, $a0:1, $a2:3}\n",
     0},
    {"loads and F32 lanes",
     "{ld64 $a0:1, $m2, $mzero, 0; f32v2add $a6:7, $a4:5, $a2:3}\n"
     "{ld64 $a2:3, $m2, $mzero, 1; f32v2mul $a6:7, $a4:5, $a0:1}\n"
     "{ld64 $a0:1, $m2, $mzero, 2; f32v2add $a6:7, $a4:5, $a2:3}\n"
     "{st64 $a6:7, $m2, $mzero, 3; f32v2add $a4:5, $a4:5, $a2:3}\n",
     0},
    {"F8 matrix",
     "{ld2xst64pace $a0:3, $a4:5, $m8:9+=, $mzero, 63; f8v8hihov4amp $a6:7, $a0:1, $a2:3, 0}\n"
     "{ld2xst64pace $a0:3, $a6:7, $m8:9+=, $mzero, 63; f8v8hihov4amp $a4:5, $a0:1, $a2:3, 1}\n"
     "{ld2xst64pace $a0:3, $a4:5, $m8:9+=, $mzero, 63; f8v8hihov4amp $a6:7, $a0:1, $a2:3, 2}\n"
     "{ld2xst64pace $a0:3, $a6:7, $m8:9+=, $mzero, 63; f8v8hihov4amp $a4:5, $a0:1, $a2:3, 3}\n",
     128},
    {"F16 matrix",
     "{ld2xst64pace $a0:3, $a4:5, $m8:9+=, $mzero, 63; f16v4hihov4amp $a6:7, $a0:1, $a2:3, 0}\n"
     "{ld2xst64pace $a0:3, $a6:7, $m8:9+=, $mzero, 63; f16v4hihov4amp $a4:5, $a0:1, $a2:3, 1}\n"
     "{ld2xst64pace $a0:3, $a4:5, $m8:9+=, $mzero, 63; f16v4hihov4amp $a6:7, $a0:1, $a2:3, 2}\n"
     "{ld2xst64pace $a0:3, $a6:7, $m8:9+=, $mzero, 63; f16v4hihov4amp $a4:5, $a0:1, $a2:3, 3}\n",
     64},
};

/* Worker w reads at 0x60000 and stores at 0x90000 + 256 w; the weights are 1 and -1. */
static char *program(const char *body) {
    return mem_printf(
        ".supervisor\n setzi $m0, 3\n put $FP_INFMT, $m0\n setzi $m0, 0x80000\n put $CCCSLOAD, "
        "$m0\n"
        ".set i, 0\n .rept 64\n ld64putcs i\n .set i, i + 1\n .endr\n"
        "again: setzi $m0, worker\n runall $m0, $mzero, 0\n sync 2\n sync 7\n bri again\n"
        ".worker\n .align 8\n worker: setzi $m0, %d\n setzi $m2, 0x60000\n setzi $m5, 0xA0000\n"
        "get $m6, $WSR\n and $m6, $m6, 7\n shl $m6, $m6, 8\n setzi $m7, 0x90000\n"
        "add $m7, $m7, $m6\n add $m2, $m2, $m6\n tapack $m8:9, $m2, $m5, $m7\n"
        "setzi $a0, 8\n uput $FP_CLR, $a0\n ld64 $a0:1, $m2, $mzero, 0\n mov $a2:3, $a0:1\n"
        ".align 8\n nop\n"
        "round: rpt 200, 3\n %s brnzdec $m0, again_round\n exitz $mzero\n"
        "again_round: bri round\n",
        ROUNDS - 1, body);
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static bool measure(const Loop *loop) {
    char *text = program(loop->body);
    AsmObject *object = NULL;
    AsmImage image = {0};
    Diag diag;
    diag_init(&diag);
    Machine *machine = machine_create(1, NULL, NULL);
    bool good = asm_assemble("bench.S", text, strlen(text), NULL, &object, &diag) == STATUS_OK;
    const AsmObject *objects[] = {object};
    good = good && asm_link(objects, 1, BASE, NULL, 0, &image, &diag) == STATUS_OK &&
           machine_load(machine, 0, BASE, image.bytes, image.size, &diag) == STATUS_OK;
    uint16_t halves[256];
    for (unsigned i = 0; i < 256; i++)
        halves[i] = i % 3 ? 0x3C00 : 0xBC00;
    good = good && machine_write(machine, 0, 0x80000, halves, sizeof halves, &diag) == STATUS_OK;
    machine_start(machine, BASE);
    double seconds[RUNS], bundles = 0;
    for (int i = 0; i < RUNS && good; i++) {
        double before = (double)machine_counters(machine).bundles, start = clock_seconds();
        good = machine_run(machine, &diag) == STATUS_OK;
        seconds[i] = clock_seconds() - start;
        bundles = (double)machine_counters(machine).bundles - before;
    }
    if (good) {
        qsort(seconds, RUNS, sizeof *seconds, compare);
        double rate = bundles / seconds[RUNS / 2];
        printf("%-24s %8.1f M bundles/s", loop->name, rate * 1e-6);
        if (loop->macs)
            printf(" %8.2f GMAC/s", rate * loop->macs * 1e-9);
        printf("\n");
    }
    diag_print(&diag, stderr);
    diag_free(&diag);
    machine_free(machine);
    asm_image_free(&image);
    asm_object_free(object);
    mem_free(text);
    return good;
}

int main(void) {
    bool good = true;
    for (size_t i = 0; i < COUNT_OF(loops); i++)
        good &= measure(&loops[i]);
    return good ? 0 : 5;
}
