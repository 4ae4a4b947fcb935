/* Checks (MachineOptions.checks): faulty kernels trap at their label `bad` with the right message;
 * their near misses run through. */
#include "rows.h"

#include "chip/chip.h"

#include <inttypes.h>

enum {
    WRITTEN = 0x60000,   /* 256 bytes that the host writes: small numbers in each format */
    NANS = 0x60100,      /* 256 bytes of F16 and F8 NaNs */
    HALF = 0x60200,      /* two bytes are written, two are not, and so on: 256 bytes */
    UNWRITTEN = 0x61000, /* never written */
    TAIL = 16,           /* bytes behind the operand at WRITTEN, where operands are declared */
    OUT = 0x90000,
};

/* What most kernels begin with: worker 0 goes on alone; $m8 … $m11 point to the areas above. */
#define ALONE                                                                                      \
    "get $m0, $WSR\n and $m0, $m0, 7\n brnz $m0, end\n setzi $m8, 0x60000\n"                       \
    "setzi $m9, 0x61000\n setzi $m10, 0x90000\n add $m11, $m8, 0x100\n"
#define ALL                                                                                        \
    "get $m0, $WSR\n and $m0, $m0, 7\n setzi $m8, 0x60000\n setzi $m9, 0x61000\n"                  \
    "setzi $m10, 0x90000\n add $m11, $m8, 0x100\n"

/* Accumulators and weights that are good, and four phases of a matrix product. */
#define CLEAR "setzi $a0, 8\n uput $FP_CLR, $a0\n"
#define PHASES(form, d, x, p)                                                                      \
    form " " d ", " x ", " p ", 0\n" form " " d ", " x ", " p ", 1\n" form " " d ", " x ", " p     \
         ", 2\n" form " " d ", " x ", " p ", 3\n"
#define DROP(form, x, p) PHASES(form, "$azeros", x, p)
#define F16AMP           "f16v4hihov4amp"
#define F8AMP            "f8v8hihov4amp"

typedef enum Launch {
    WORKERS_ALL, /* the text is the workers' */
    SUPERVISED,  /* the text is the whole program, from `start` on */
    WEIGHTED,    /* as WORKERS_ALL, with weights loaded from WRITTEN */
    WEIGHTED_NAN,
} Launch;

typedef struct Case {
    const char *name;
    Launch launch;
    bool declared; /* operands: WRITTEN with a tail, and OUT */
    const char *text;
    Status code; /* STATUS_OK: a near miss */
    uint32_t context, address;
    uint32_t writer; /* MACHINE_NONE: nobody; where it is a context, `writer` is a label */
    const char *message;
} Case;

#define NOBODY MACHINE_NONE

static const Case faults[] = {
    {"copies a word", WORKERS_ALL, false, ALONE "ld32 $m1, $m9, 2\n bad: st32 $m1, $m10, 0\n",
     ERR_SIM_UNWRITTEN, 0, UNWRITTEN + 8, NOBODY,
     "stores a value that rests on 0x61008, which was never written"},
    {"stores a register", WORKERS_ALL, false, ALONE "bad: st32 $m5, $m10, 0\n", ERR_SIM_UNWRITTEN,
     0, 0, NOBODY, "rests on a register never written"},
    {"copies half of a pair", WORKERS_ALL, false,
     ALONE "ld64 $a0:1, $m8, $mzero, 64\n bad: st64 $a0:1, $m10, $mzero, 0\n", ERR_SIM_UNWRITTEN, 0,
     HALF + 2, NOBODY, "0x60202, which was never written"},
    {"copies a byte", WORKERS_ALL, false,
     ALONE "ldz8 $m1, $m8, $mzero, 0x202\n bad: st32 $m1, $m10, 0\n", ERR_SIM_UNWRITTEN, 0,
     HALF + 2, NOBODY, "0x60202"},
    {"branches", WORKERS_ALL, false, ALONE "ld32 $m1, $m9, 0\n bad: brz $m1, end\n",
     ERR_SIM_UNWRITTEN, 0, UNWRITTEN, NOBODY, "branches on a value that rests on 0x61000"},
    {"counts", WORKERS_ALL, false,
     ALONE "ld32 $m1, $m9, 0\n add $m1, $m1, 4\n bad: brnzdec $m1, bad\n", ERR_SIM_UNWRITTEN, 0,
     UNWRITTEN, NOBODY, "branches on"},
    {"repeats", WORKERS_ALL, false,
     ALONE "ld32 $m1, $m9, 0\n .align 8\n nop\n bad: rpt $m1, 0\n {nop; fnop}\n", ERR_SIM_UNWRITTEN,
     0, UNWRITTEN, NOBODY, "branches on"},
    {"ends with it", WORKERS_ALL, false, ALONE "ld32 $m1, $m9, 0\n bad: exitnz $m1\n",
     ERR_SIM_UNWRITTEN, 0, UNWRITTEN, NOBODY, "branches on"},
    {"follows it", WORKERS_ALL, false, ALONE "ld32 $m1, $m9, 0\n bad: ld32 $m2, $m1, 0\n",
     ERR_SIM_UNWRITTEN, 0, UNWRITTEN, NOBODY, "takes as an address"},
    {"strides by it", WORKERS_ALL, false,
     ALONE "ld32 $m1, $m9, 0\n ld32step $m2, $mzero, $m8+=, $m1\n bad: ld32 $m2, $m8, 0\n",
     ERR_SIM_UNWRITTEN, 0, UNWRITTEN, NOBODY, "takes as an address"},
    {"packs it", WORKERS_ALL, false,
     ALONE "ld32 $m1, $m9, 0\n tapack $m2:3, $m8, $m1, $m10\n"
           "bad: ld2x64pace $a0:1, $a2:3, $m2:3+=, $mzero, 0\n",
     ERR_SIM_UNWRITTEN, 0, UNWRITTEN, NOBODY, "takes as an address"},
    {"adds it", WORKERS_ALL, false,
     ALONE "ld32 $m1, $m9, 0\n ld32 $m2, $m8, 0\n add $m2, $m2, $m1\n bad: st32 $m2, $m10, 0\n",
     ERR_SIM_UNWRITTEN, 0, UNWRITTEN, NOBODY, "stores"},
    {"adds lanes", WORKERS_ALL, false,
     ALONE "ld32 $a0, $m8, $mzero, 128\n f16v2add $a1, $a0, $a0\n bad: st32 $a1, $m10, $mzero, 0\n",
     ERR_SIM_UNWRITTEN, 0, HALF + 2, NOBODY, "stores"},
    {"casts it", WORKERS_ALL, false,
     ALONE "ld64 $a0:1, $m8, $mzero, 0\n ld64 $a2:3, $m9, $mzero, 0\n f16v8tof8 $a4:5, $a0:3\n"
           "bad: st64 $a4:5, $m10, $mzero, 0\n",
     ERR_SIM_UNWRITTEN, 0, UNWRITTEN, NOBODY, "stores"},
    {"sums it", WORKERS_ALL, false,
     ALONE CLEAR "ld64 $a0:1, $m9, $mzero, 0\n f16v4acc $a0:1\n f16v4gacc $a2:3\n"
                 "bad: st64 $a2:3, $m10, $mzero, 0\n",
     ERR_SIM_UNWRITTEN, 0, UNWRITTEN, NOBODY, "stores"},
    {"sums to what was left", WORKERS_ALL, false,
     ALONE "ld64 $a0:1, $m8, $mzero, 0\n f16v4acc $a0:1\n f16v4gacc $a2:3\n"
           "bad: st64 $a2:3, $m10, $mzero, 0\n",
     ERR_SIM_UNWRITTEN, 0, 0, NOBODY, "a register never written"},
    {"multiplies it", WEIGHTED, false,
     ALONE CLEAR "ld64 $a0:1, $m9, $mzero, 0\n" DROP(F16AMP, "$a0:1", "$azeros") F16AMP
     " $a2:3, $azeros, $azeros, 0\n bad: st64 $a2:3, $m10, $mzero, 0\n",
     ERR_SIM_UNWRITTEN, 0, UNWRITTEN, NOBODY, "stores"},
    {"multiplies with weights never loaded", WORKERS_ALL, false,
     ALONE CLEAR "ld64 $a0:1, $m8, $mzero, 0\n" DROP(F16AMP, "$a0:1", "$azeros") F16AMP
     " $a2:3, $azeros, $azeros, 0\n bad: st64 $a2:3, $m10, $mzero, 0\n",
     ERR_SIM_UNWRITTEN, 0, 0, NOBODY, "a register never written"},
    {"adds a product to it", WEIGHTED, false,
     ALONE CLEAR "ld64 $a0:1, $m9, $mzero, 0\n" DROP(F16AMP, "$azeros", "$a0:1")
         DROP(F16AMP, "$azeros", "$azeros") F16AMP
     " $a2:3, $azeros, $azeros, 0\n bad: st64 $a2:3, $m10, $mzero, 0\n",
     ERR_SIM_UNWRITTEN, 0, UNWRITTEN, NOBODY, "stores"},
    {"decides in the supervisor", SUPERVISED, false,
     "start: setzi $m1, 0x61000\n ld32 $m2, $m1, 3\n bad: brnz $m2, start\n sync 7\n",
     ERR_SIM_UNWRITTEN, MACHINE_SUPERVISOR, UNWRITTEN + 12, NOBODY, "branches on"},
    {"loads weights there", SUPERVISED, false,
     "start: setzi $m1, 0x61000\n ld32 $m2, $m1, 0\n bad: put $CCCSLOAD, $m2\n sync 7\n",
     ERR_SIM_UNWRITTEN, MACHINE_SUPERVISOR, UNWRITTEN, NOBODY, "puts into a control register"},

    {"multiplies an F8 NaN", WEIGHTED, false,
     ALONE CLEAR "ld64 $a0:1, $m11, $mzero, 1\n" DROP(F8AMP, "$a0:1", "$azeros") F8AMP
     " $a2:3, $azeros, $azeros, 0\n bad: st64 $a2:3, $m10, $mzero, 0\n",
     ERR_SIM_NAN, 0, NANS + 8, MACHINE_HOST, "0x60108, which holds a NaN"},
    {"multiplies with an F16 NaN", WEIGHTED_NAN, false,
     ALONE CLEAR "ld64 $a0:1, $m8, $mzero, 0\n" DROP(F16AMP, "$a0:1", "$azeros") F16AMP
     " $a2:3, $azeros, $azeros, 0\n bad: st64 $a2:3, $m10, $mzero, 0\n",
     ERR_SIM_NAN, 0, NANS, MACHINE_HOST, "0x60100, which holds a NaN"},
    {"adds a product to a NaN", WEIGHTED, false,
     ALONE CLEAR "ld64 $a0:1, $m11, $mzero, 0\n" DROP(F16AMP, "$azeros", "$a0:1")
         DROP(F16AMP, "$azeros", "$azeros") F16AMP
     " $a2:3, $azeros, $azeros, 0\n bad: st64 $a2:3, $m10, $mzero, 0\n",
     ERR_SIM_NAN, 0, NANS, MACHINE_HOST, "holds a NaN"},

    {"all store to a word", WORKERS_ALL, false, ALL "bad: writer: st32 $m0, $m10, 0\n",
     ERR_SIM_RACE, 5, OUT, 4, "stores 0x00000005 to 0x90000, where worker 4 stored 0x00000004"},
    {"neighbours overlap", WORKERS_ALL, false,
     ALL "writer: stm32 $m0, $m10, $m0\n add $m3, $m0, 1\n bad: stm32 $m0, $m10, $m3\n",
     ERR_SIM_RACE, 4, OUT + 20, 5, "where worker 5 stored"},
    {"two insert their halves", WORKERS_ALL, false,
     ALL "cmpult $m1, $m0, 2\n brz $m1, end\n ld32 $m2, $m8, 0\n setzi $m3, 0xFF\n"
         "shl $m4, $m0, 3\n shl $m3, $m3, $m4\n or $m2, $m2, $m3\n bad: writer: st32 $m2, $m8, 0\n",
     ERR_SIM_RACE, 1, WRITTEN, 0, "stores 0x"},
    {"uses what another stores", WORKERS_ALL, false,
     ALL "brnz $m0, other\n setzi $m1, 7\n writer: st32 $m1, $m10, 0\n exitz $mzero\n"
         "other: nop\n nop\n nop\n nop\n ld32 $m1, $m10, 0\n add $m2, $m0, 8\n"
         "bad: stm32 $m1, $m10, $m2\n",
     ERR_SIM_RACE, 4, OUT, 0, "0x90000, which another worker of the launch stores"},

#define RUN_ONE "setzi $m0, work\n run $m0, $mzero, 0\n .rept 40\n nop\n .endr\n"
    {"changes what a worker read", SUPERVISED, false,
     "start: setzi $m1, 0x60000\n" RUN_ONE "bad: st32 $m1, $m1, 0\n sync 2\n sync 7\n .worker\n"
     "work: setzi $m8, 0x60000\n ld32 $m1, $m8, 0\n .rept 40\n nop\n .endr\n exitz $mzero\n",
     ERR_SIM_RACE_SUPERVISOR, MACHINE_SUPERVISOR, WRITTEN, MACHINE_HOST,
     "stores to 0x60000, which a worker of the running launch read"},
    {"changes what a worker stored", SUPERVISED, false,
     "start: setzi $m1, 0x60000\n" RUN_ONE "bad: st32 $m1, $m1, 0\n sync 2\n sync 7\n .worker\n"
     "work: setzi $m8, 0x60000\n writer: st32 $mzero, $m8, 0\n .rept 40\n nop\n .endr\n"
     "exitz $mzero\n",
     ERR_SIM_RACE_SUPERVISOR, MACHINE_SUPERVISOR, WRITTEN, 0, "where worker 0 stored"},
    {"reads results too early", SUPERVISED, false,
     "start: setzi $m1, 0x60000\n" RUN_ONE "ld32 $m2, $m1, 0\n bad: st32 $m2, $m1, 4\n sync 2\n"
     "sync 7\n .worker\n work: setzi $m8, 0x60000\n writer: st32 $mzero, $m8, 0\n exitz $mzero\n",
     ERR_SIM_RACE_SUPERVISOR, MACHINE_SUPERVISOR, WRITTEN, 0,
     "which the supervisor and a running worker share"},
    {"uses what the supervisor stores", SUPERVISED, false,
     "start: setzi $m1, 0x60000\n setzi $m0, work\n run $m0, $mzero, 0\n"
     "writer: st32 $m1, $m1, 0\n sync 2\n sync 7\n .worker\n"
     "work: setzi $m8, 0x60000\n .rept 20\n nop\n .endr\n ld32 $m1, $m8, 0\n"
     "bad: st32 $m1, $m8, 4\n exitz $mzero\n",
     ERR_SIM_RACE_SUPERVISOR, 0, WRITTEN, MACHINE_SUPERVISOR,
     "which the supervisor and a running worker share"},
    {"changes weights in use", SUPERVISED, false,
     "start: setzi $m1, 0x60000\n put $CCCSLOAD, $m1\n" RUN_ONE
     "bad: ld64putcs 0\n sync 2\n sync 7\n .worker\n work:" DROP(
         F16AMP, "$azeros", "$azeros") ".rept 40\n nop\n .endr\n exitz $mzero\n",
     ERR_SIM_RACE_SUPERVISOR, MACHINE_SUPERVISOR, 0, NOBODY, "changes the weights"},
    {"uses weights that change", SUPERVISED, false,
     "start: setzi $m1, 0x60000\n put $CCCSLOAD, $m1\n .set i, 0\n .rept 64\n ld64putcs i\n"
     ".set i, i + 1\n .endr\n put $CCCSLOAD, $m1\n setzi $m0, work\n run $m0, $mzero, 0\n"
     "ld64putcs 0\n sync 2\n sync 7\n .worker\n"
     "work: .rept 20\n nop\n .endr\n setzi $m10, 0x90000\n" CLEAR DROP(F16AMP, "$azeros", "$azeros")
         F16AMP " $a2:3, $azeros, $azeros, 0\n bad: st64 $a2:3, $m10, $mzero, 0\n exitz $mzero\n",
     ERR_SIM_RACE_SUPERVISOR, 0, 0, NOBODY, "weights which the supervisor changed"},

    {"reads behind the tail", WORKERS_ALL, true, ALONE "bad: ld64 $a0:1, $m8, $mzero, 34\n",
     ERR_SIM_OUTSIDE, 0, WRITTEN + 0x110, MACHINE_HOST,
     "loads 8 bytes at 0x60110, outside its operands; the nearest, input, is 0x60000..0x600FF and "
     "a tail of 16"},
    {"reads before the operand", WORKERS_ALL, true,
     ALONE "add $m8, $m8, -8\n bad: ld32 $m1, $m8, 0\n", ERR_SIM_OUTSIDE, 0, WRITTEN - 8, NOBODY,
     "loads 4 bytes at 0x5FFF8, outside its operands"},
    {"stores behind the operand", WORKERS_ALL, true,
     ALONE "ld64 $a0:1, $m8, $mzero, 0\n bad: st64 $a0:1, $m10, $mzero, 8\n", ERR_SIM_OUTSIDE, 0,
     OUT + 64, NOBODY, "the nearest, output"},
    {"stores to its input", WORKERS_ALL, true, ALONE "bad: st32 $m0, $m8, 0\n", ERR_SIM_OUTSIDE, 0,
     WRITTEN, MACHINE_HOST, "stores 4 bytes at 0x60000, outside"},
    {"uses the tail", WORKERS_ALL, true,
     ALONE "ld64 $a0:1, $m8, $mzero, 32\n bad: st64 $a0:1, $m10, $mzero, 0\n", ERR_SIM_OUTSIDE, 0,
     WRITTEN + 0x100, MACHINE_HOST, "which lies in the tail of an operand"},
    {"branches on the tail", WORKERS_ALL, true, ALONE "ld32 $m1, $m8, 64\n bad: brz $m1, end\n",
     ERR_SIM_OUTSIDE, 0, WRITTEN + 0x100, MACHINE_HOST, "branches on a value"},
    {"accesses an element twice", WORKERS_ALL, false,
     ALONE "tapack $m2:3, $m8, $m11, $m10\n bad: ld2x64pace $a0:1, $a2:3, $m2:3+=, $mzero, 0\n",
     ERR_SIM_CONFLICT, 0, NANS, NOBODY, "both in memory element"},
};

#define NEAR(n, l, d, t)                                                                           \
    { .name = (n), .launch = (l), .declared = (d), .text = (t) }
static const Case near_misses[] = {
    NEAR("loads and drops", WORKERS_ALL, false,
         ALONE "ld64 $a0:1, $m9, $mzero, 0\n ld32 $m1, $m9, 0\n"),
    NEAR("overwrites", WORKERS_ALL, false,
         ALONE "ld32 $m1, $m9, 0\n setzi $m1, 5\n st32 $m1, $m10, 0\n"),
    NEAR("masks", WORKERS_ALL, false,
         ALONE "ld32 $m1, $m8, 128\n and $m1, $m1, 0xFFF\n shl $m1, $m1, 24\n st32 $m1, $m10, 0\n"
               "ld32 $m1, $m9, 0\n and $m1, $m1, $mzero\n st32 $m1, $m10, 0\n"),
    NEAR("takes the written half", WORKERS_ALL, false,
         ALONE
         "ld32 $m1, $m8, 128\n ld32 $m2, $m8, 129\n sort4x16lo $m3, $m1, $m2\n"
         "st32 $m3, $m10, 0\n ldz16 $m1, $m8, $mzero, 256\n brz $m1, end\n st32 $m1, $m10, 0\n"
         "ld32 $a0, $m8, $mzero, 128\n f16v2add $a0, $a0, $a0\n sort4x16lo $a0, $a0, $azero\n"
         "st32 $a0, $m10, $mzero, 0\n"),
    NEAR("does not move", WORKERS_ALL, false,
         ALONE "ld32 $m1, $m9, 0\n setzi $m2, 3\n movz $m2, $m8, $m1\n st32 $m2, $m10, 0\n"),
    NEAR("over-reads, drains and drops", WEIGHTED, false,
         ALONE CLEAR "ld64 $a0:1, $m8, $mzero, 0\n" DROP(F16AMP, "$a0:1", "$azeros")
         /* the row behind the last one goes in while the last one comes out */
         "ld64 $a0:1, $m9, $mzero, 0\n" PHASES(
             F16AMP, "$a2:3", "$a0:1",
             "$azeros") "st64 $a2:3, $m10, $mzero, 0\n" DROP(F16AMP, "$azeros", "$azeros")
             DROP(F16AMP, "$azeros", "$azeros") F16AMP
         " $a2:3, $azeros, $azeros, 0\n st64 $a2:3, $m10, $mzero, 0\n"),
    NEAR("multiplies NaNs and drops", WEIGHTED, false,
         ALONE CLEAR "ld64 $a0:1, $m11, $mzero, 0\n" DROP(F8AMP, "$a0:1", "$azeros")
             DROP(F8AMP, "$azeros", "$azeros") DROP(F8AMP, "$azeros", "$azeros") F8AMP
         " $a2:3, $azeros, $azeros, 0\n st64 $a2:3, $m10, $mzero, 0\n"),
    NEAR("clears accumulators", WEIGHTED, false,
         ALONE CLEAR "ld64 $a2:3, $m9, $mzero, 0\n" DROP(F16AMP, "$a2:3", "$azeros")
             CLEAR DROP(F16AMP, "$azeros", "$azeros") F16AMP
         " $a2:3, $azeros, $azeros, 0\n st64 $a2:3, $m10, $mzero, 0\n"),
    NEAR("adds NaNs", WORKERS_ALL, false,
         ALONE "ld64 $a0:1, $m11, $mzero, 0\n f16v4add $a0:1, $a0:1, $a0:1\n"
               "st64 $a0:1, $m10, $mzero, 0\n"),
    NEAR("all store the same", WORKERS_ALL, false, ALL "setzi $m1, 7\n st32 $m1, $m10, 0\n"),
    NEAR("words side by side", WORKERS_ALL, false, ALL "stm32 $m0, $m10, $m0\n"),
    NEAR("reads what another stores, and drops", WORKERS_ALL, false,
         ALL "stm32 $m0, $m10, $m0\n nop\n ld32 $m1, $m10, 2\n ld32 $m1, $m10, 3\n"),
    NEAR("goes on after a sync", SUPERVISED, false,
         "start: setzi $m1, 0x60000\n setzi $m2, 2\n again: st32 $m1, $m1, 0\n setzi $m0, work\n"
         "runall $m0, $mzero, 0\n sync 2\n ld32 $m3, $m1, 1\n st32 $m3, $m1, 2\n st32 $m3, $m1, 1\n"
         "brnzdec $m2, again\n sync 7\n .worker\n"
         "work: setzi $m8, 0x60000\n ld32 $m1, $m8, 0\n st32 $m1, $m8, 1\n exitz $mzero\n"),
    NEAR("another worker in the next launch", SUPERVISED, false,
         "start: setzi $m0, work\n setzi $m1, 4\n runall $m0, $mzero, 0\n sync 2\n"
         "runall $m0, $m1, 0\n sync 2\n sync 7\n .worker\n"
         "work: setzi $m10, 0x90000\n get $m0, $WSR\n and $m0, $m0, 7\n shr $m1, $mvertex_base, 2\n"
         "xor $m2, $m0, $m1\n stm32 $m0, $m10, $m2\n exitz $mzero\n"),
    NEAR("weights after a sync", SUPERVISED, false,
         "start: setzi $m1, 0x60000\n setzi $m2, 1\n again: put $CCCSLOAD, $m1\n .set i, 0\n .rept "
         "64\n"
         "ld64putcs i\n put $CCCSLOAD, $m1\n .set i, i + 1\n .endr\n setzi $m0, work\n"
         "runall $m0, $mzero, 0\n sync 2\n brnzdec $m2, again\n sync 7\n .worker\n"
         "work: setzi $m10, 0x90000\n" CLEAR DROP(F16AMP, "$azeros", "$azeros") F16AMP
         " $a2:3, $azeros, $azeros, 0\n st64 $a2:3, $m10, $mzero, 0\n exitz $mzero\n"),
    NEAR("reads the tail, and drops", WORKERS_ALL, true,
         ALONE
         "ld64 $a0:1, $m8, $mzero, 32\n ld64 $a0:1, $m8, $mzero, 33\n ld64 $a0:1, $m8, $mzero, "
         "31\n st64 $a0:1, $m10, $mzero, 0\n"),
    NEAR("stores the last bytes of a word", WORKERS_ALL, true,
         ALONE "ld32 $m1, $m10, 15\n andc $m1, $m1, 0xFF\n or $m1, $m1, 5\n st32 $m1, $m10, 15\n"),
};

static AsmImage assemble(const Case *c) {
    static const char weights[] = "put $CCCSLOAD, $m1\n .set i, 0\n .rept 64\n"
                                  "ld64putcs i\n put $CCCSLOAD, $m1\n .set i, i + 1\n .endr\n";
    char *text;
    if (c->launch == SUPERVISED)
        text = mem_printf(".supervisor\n.globl start\n.globl bad\n.globl writer\n%s", c->text);
    else
        text = mem_printf(".supervisor\n.globl bad\n.globl writer\n.globl start\n"
                          "start: setzi $m1, 0x%X\n %s setzi $m0, work\n"
                          "runall $m0, $mzero, 0\n sync 2\n sync 7\n.worker\n"
                          "work: %s\n end: exitz $mzero\n",
                          c->launch == WEIGHTED_NAN ? NANS : WRITTEN,
                          c->launch == WORKERS_ALL ? "" : weights, c->text);
    AsmImage image = rig_assemble(text);
    mem_free(text);
    return image;
}

static bool locate(void *context, uint32_t tile, uint32_t pc, char text[MACHINE_PLACE_SIZE]) {
    (void)tile;
    const AsmImageLine *line = asm_image_line(context, pc);
    if (line)
        snprintf(text, MACHINE_PLACE_SIZE, "%s:%" PRIu32, line->file, line->line);
    return line;
}

/* The byte 0x45 is a number in all formats. */
static Machine *start(const Case *c, AsmImage *image, unsigned checks) {
    static const MachineOperand operands[] = {{"input", WRITTEN, 256, TAIL, false},
                                              {"output", OUT, 61, 3, true}};
    uint8_t bytes[256], nans[256];
    uint16_t half = 0x4545;
    memset(bytes, 0x45, sizeof bytes);
    for (unsigned i = 0; i < sizeof nans; i++)
        nans[i] = i & 8 ? 0x80 : 0xFF;
    Machine *machine = rig_machine(image, 1, NULL, &(MachineOptions){.checks = checks});
    machine_write(machine, 0, WRITTEN, bytes, sizeof bytes, NULL);
    machine_write(machine, 0, NANS, nans, sizeof nans, NULL);
    for (unsigned i = 0; i < 256; i += 4)
        machine_write(machine, 0, HALF + i, &half, sizeof half, NULL);
    machine_locate(machine, locate, image);
    if (c->declared)
        machine_declare(machine, 0, operands, COUNT_OF(operands));
    return machine;
}

static void expect_trap(const Case *c, const AsmImage *image, const MachineTrap *trap,
                        Status status, const Diag *diag) {
    static const char *const classes[] = {"uninitialised read", "race", "race",
                                          "outside the operands", "NaN operand"};
    assert_non_null(trap);
    if (trap->code != c->code || status != c->code || trap->context != c->context ||
        trap->tile != 0 || trap->pc != rig_symbol(image, "bad") || trap->address != c->address ||
        !strstr(trap->text, c->message))
        fail_msg("%s: code %d, context %u, pc 0x%05X (not 0x%05X), address 0x%05X: %s", c->name,
                 trap->code, trap->context, trap->pc, rig_symbol(image, "bad"), trap->address,
                 trap->text);
    if (trap->writer != c->writer)
        fail_msg("%s: written last by %d", c->name, (int)trap->writer);
    if (c->writer <= MACHINE_SUPERVISOR)
        assert_int_equal(trap->writer_pc, rig_symbol(image, "writer"));
    if (c->code >= ERR_SIM_UNWRITTEN && c->code <= ERR_SIM_NAN)
        assert_string_equal(trap_class_name(trap->class), classes[c->code - ERR_SIM_UNWRITTEN]);
    /* The source line, as a user reads it. */
    const AsmImageLine *line = asm_image_line(image, trap->pc);
    char place[64];
    snprintf(place, sizeof place, "is in test.S:%" PRIu32, line->line);
    if (diag->count != 1 || !strstr(diag->entries[0].notes, place))
        fail_msg("%s: no %s in the message", c->name, place);
}

static void faulty_kernels(void **state) {
    (void)state;
    assert_true(COUNT_OF(faults) >= 30);
    for (size_t i = 0; i < COUNT_OF(faults); i++) {
        const Case *c = &faults[i];
        AsmImage image = assemble(c);
        Machine *machine = start(c, &image, MACHINE_CHECK_ALL);
        Diag diag;
        diag_init(&diag);
        Status status = machine_run(machine, &diag);
        expect_trap(c, &image, machine_trap(machine), status, &diag);
        diag_free(&diag);
        machine_free(machine);
        asm_image_free(&image);
    }
}

/* None of them traps without checks, but for the chip's own. */
static void unchecked(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(faults); i++) {
        const Case *c = &faults[i];
        AsmImage image = assemble(c);
        Machine *machine = start(c, &image, 0);
        Status status = machine_run(machine, NULL);
        /* What they find in memory that nobody wrote may lead them anywhere. */
        if (c->code == ERR_SIM_CONFLICT || c->code == ERR_SIM_UNWRITTEN)
            assert_true(status < ERR_SIM_UNWRITTEN);
        else
            assert_int_equal(status, STATUS_OK);
        machine_free(machine);
        asm_image_free(&image);
    }
}

static void near_misses_run(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(near_misses); i++) {
        const Case *c = &near_misses[i];
        AsmImage image = assemble(c);
        Machine *machines[2] = {start(c, &image, MACHINE_CHECK_ALL), start(c, &image, 0)};
        for (unsigned m = 0; m < 2; m++)
            if (machine_run(machines[m], NULL) != STATUS_OK)
                fail_msg("%s: %s at 0x%05X", c->name, machine_trap(machines[m])->text,
                         machine_trap(machines[m])->pc);
        /* Checks change nothing. */
        MachineTileCounters one = machine_tile_counters(machines[0], 0);
        MachineTileCounters other = machine_tile_counters(machines[1], 0);
        assert_memory_equal(&one, &other, sizeof one);
        for (uint32_t at = CHIP_TILE_MEM_BASE; at < CHIP_TILE_MEM_END; at += 0x400) {
            uint8_t bytes[2][0x400];
            machine_read(machines[0], 0, at, bytes[0], sizeof bytes[0], NULL);
            machine_read(machines[1], 0, at, bytes[1], sizeof bytes[1], NULL);
            assert_memory_equal(bytes[0], bytes[1], sizeof bytes[0]);
        }
        machine_free(machines[0]);
        machine_free(machines[1]);
        asm_image_free(&image);
    }
}

/* A check that is off does not trap. */
static void each_alone(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(faults); i++) {
        const Case *c = &faults[i];
        unsigned check = c->code == ERR_SIM_UNWRITTEN  ? MACHINE_CHECK_UNWRITTEN
                         : c->code == ERR_SIM_NAN      ? MACHINE_CHECK_NAN
                         : c->code == ERR_SIM_OUTSIDE  ? MACHINE_CHECK_OPERANDS
                         : c->code != ERR_SIM_CONFLICT ? MACHINE_CHECK_RACES
                                                       : 0;
        for (unsigned only = 0; check && only < 2; only++) {
            AsmImage image = assemble(c);
            Machine *machine = start(c, &image, only ? check : MACHINE_CHECK_ALL & ~check);
            Status status = machine_run(machine, NULL);
            if (only ? status != c->code : status == c->code)
                fail_msg("%s: %d with only=%u", c->name, status, only);
            machine_free(machine);
            asm_image_free(&image);
        }
    }
}

/* ---- calls of routines with operands ---- */

/* A routine at `routine` with an input at $m2, 16 bytes and a tail of 8, and an output at $m3, 8
 * bytes; it may push a word below $m11, and reads constants. The workers' part is the case's. */
static const char calling[] =
    ".supervisor\n .globl start\n .globl bad\n .globl first\n .globl second\n"
    "start: setzi $m11, 0x58100\n"
    /* Between the calls all of memory is free. */
    "setzi $m1, 0x90000\n ld32 $m0, $m1, 0\n st32 $m0, $m1, 64\n"
    "setzi $m2, 0x60000\n setzi $m3, 0x90000\n first: call $m10, routine\n"
    "st32 $m0, $m1, 65\n"
    /* The same call with the output elsewhere. */
    "setzi $m3, 0x90008\n second: call $m10, routine\n"
    "setzi $m3, 0x90100\n call $m10, routine\n" /* not declared */
    "sync 7\n"
    "routine: add $m11, $m11, -8\n st32 $m3, $m11, $mzero, 0\n st32 $m2, $m11, $mzero, 1\n"
    "setzi $m0, work\n runall $m0, $m11, 0\n sync 2\n add $m11, $m11, 8\n br $m10\n"
    ".worker\n work: get $m0, $WSR\n and $m0, $m0, 7\n brnz $m0, end\n"
    "ld32 $m3, $mvertex_base, $mzero, 0\n ld32 $m2, $mvertex_base, $mzero, 1\n"
    "setzi $m4, 0x60080\n %s\n end: exitz $mzero\n";

typedef struct CallCase {
    const char *text;
    const char *message; /* NULL: runs through */
    uint32_t address;
} CallCase;

static const CallCase call_cases[] = {
    {"ld64 $a0:1, $m2, $mzero, 1\n ld64 $a2:3, $m2, $mzero, 2\n st64 $a0:1, $m3, $mzero, 0\n", NULL,
     0},
    {"ld32 $m5, $m4, 0\n st32 $m5, $m3, 1\n", NULL, 0},
    {"bad: ld64 $a0:1, $m2, $mzero, 3\n", "the nearest, input", 0x60018},
    {"ld64 $a0:1, $m2, $mzero, 2\n bad: st64 $a0:1, $m3, $mzero, 0\n", "in the tail", 0x60010},
    {"bad: st32 $m2, $m2, 0\n", "stores 4 bytes at 0x60000, outside", 0x60000},
    {"bad: st32 $m4, $m4, 0\n", "the nearest, constants", 0x60080},
    {"bad: st32 $m2, $m3, 2\n", "the nearest, output, is 0x90000..0x90007", 0x90008},
    {"add $m5, $m3, -8\n setzi $m6, 0x90000\n cmpeq $m6, $m6, $m5\n brz $m6, end\n"
     "bad: ld32 $m5, $m5, 0\n",
     "the nearest, output, is 0x90008..0x9000F", 0x90000},
};

static void declared_calls(void **state) {
    (void)state;
    static const MachineParameter parameters[] = {
        {"stack", 11, -8, 8, 0, true}, {"input", 2, 0, 16, 8, false}, {"output", 3, 0, 8, 0, true}};
    static const MachineOperand constants[] = {{"constants", 0x60080, 16, 0, false}};
    for (size_t i = 0; i < COUNT_OF(call_cases); i++) {
        const CallCase *c = &call_cases[i];
        char *text = mem_printf(calling, c->text);
        Case plain = {.name = c->text, .launch = SUPERVISED, .text = text};
        AsmImage image = rig_assemble(text);
        Machine *machine = start(&plain, &image, MACHINE_CHECK_OPERANDS);
        MachineCall calls[] = {{rig_symbol(&image, "first"), COUNT_OF(parameters), parameters},
                               {rig_symbol(&image, "second"), COUNT_OF(parameters), parameters}};
        assert_int_equal(machine_checks(machine), MACHINE_CHECK_OPERANDS);
        machine_declare_calls(machine, 0, calls, COUNT_OF(calls), constants, COUNT_OF(constants));
        machine_start(machine, rig_symbol(&image, "start"));
        Diag diag;
        diag_init(&diag);
        Status status = machine_run(machine, &diag);
        const MachineTrap *trap = machine_trap(machine);
        if (!c->message)
            assert_int_equal(status, STATUS_OK);
        else if (status != ERR_SIM_OUTSIDE || trap->pc != rig_symbol(&image, "bad") ||
                 trap->address != c->address || trap->context != 0 ||
                 !strstr(trap->text, c->message))
            fail_msg("%s: %d at 0x%05X, address 0x%05X: %s", c->text, status, trap ? trap->pc : 0,
                     trap ? trap->address : 0, trap ? trap->text : "");
        diag_free(&diag);
        machine_free(machine);
        asm_image_free(&image);
        mem_free(text);
    }
}

/* ---- words that an exchange brings ---- */

enum { FROM = 4, OTHER = 6, HOLE = 20 }; /* tiles that send 64 words each; byte never written */

/* Tile 0 receives at 0x60000 what the two hold at 0x50000, three times; only then it uses a word,
 * at $m2 from there on. */
static const char receiving[] =
    ".supervisor\n start: setzi $m7, 2\n setzi $m2, %d\n setzi $m3, 0x60000\n"
    "again: put $INCOMING_BASE, $mzero\n put $OUTGOING_BASE, $mzero\n setzi $m8, 1\n"
    "put $INCOMING_DCOUNT, $m8\n sync 3\n call $m10, 0x4D000\n"
    /* What is loaded and dropped does no harm. */
    "ld32 $m4, $m3, 5\n ld32 $m4, $m3, 4\n"
    "brnz $m7, through\n add $m3, $m3, $m2\n ld32 $m4, $m3, 0\n bad: st32 $m4, $m3, 128\n"
    "through: sync 7\n brnzdec $m7, again\n .globl bad\n";

static Status receive(uint32_t offset, bool play, MachineTrap *trap, uint32_t *bad, Diag *diag) {
    Chip chip = {.image = rig_assemble(rows_program)};
    MachineOptions options = {.checks = MACHINE_CHECK_ALL, .play_exchange = play};
    chip.machine = rig_machine(&chip.image, 64, NULL, &options);
    chip_row(&chip, FROM, "delay 24\n send 63, 0x14000, 1");
    chip_row(&chip, OTHER, "delay 86\n send 63, 0x14000, 1");
    chip_row(&chip, 0, "64000080 61998000 6402c0c0 640fc640 40a00038 43a00000");
    char *text = mem_printf(receiving, (int)offset);
    AsmImage image = rig_assemble(text);
    machine_write(chip.machine, 0, image.base, image.bytes, image.size, NULL);
    machine_start_tile(chip.machine, 0, image.base);
    *bad = rig_symbol(&image, "bad");
    for (uint32_t i = 0; i < 256; i += 4)
        if (i != HOLE)
            rig_set_word(chip.machine, FROM, 0x50000 + i, i);
    chip_fill(&chip, OTHER, 0x50000, 64);
    Status status = STATUS_OK;
    for (unsigned phase = 0; phase < 3 && !status; phase++)
        status = machine_run(chip.machine, diag);
    *trap = machine_trap(chip.machine) ? *machine_trap(chip.machine) : (MachineTrap){0};
    mem_free(text);
    asm_image_free(&image);
    chip_free(&chip);
    return status;
}

/* Played event by event, and as the copies that it was found to be. */
static void words_that_travel(void **state) {
    (void)state;
    for (unsigned play = 0; play < 2; play++)
        for (uint32_t offset = HOLE - 4; offset <= HOLE + 4; offset += 4) {
            MachineTrap trap;
            Diag diag;
            uint32_t bad;
            diag_init(&diag);
            Status status = receive(offset, play, &trap, &bad, &diag);
            if (offset != HOLE) {
                if (status != STATUS_OK)
                    fail_msg("offset %u: %s", offset, trap.text);
            } else {
                assert_int_equal(status, ERR_SIM_UNWRITTEN);
                assert_int_equal(trap.pc, bad);
                assert_int_equal(trap.context, MACHINE_SUPERVISOR);
                assert_int_equal(trap.address, 0x60000 + HOLE);
                assert_int_equal(trap.writer, MACHINE_EXCHANGE);
                assert_int_equal(trap.writer_pc, FROM);
                assert_non_null(strstr(trap.text, "stores a value that rests on 0x60014"));
            }
            diag_free(&diag);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faulty_kernels),  cmocka_unit_test(unchecked),
        cmocka_unit_test(near_misses_run), cmocka_unit_test(each_alone),
        cmocka_unit_test(declared_calls),  cmocka_unit_test(words_that_travel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
