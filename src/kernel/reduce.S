// Sum of F16 partial results: output = first + rest[0] + ... + rest[PARTS - 2], F32 inside.
//
// Operands   output  F16, 8-byte aligned
//            first   F16; may be the output
//            rest    PARTS - 1 times as many F16 as first, one partial after the other
//            first and rest: 8-byte aligned; WIDE: 16, in interleaved memory. The number of values
//            is a multiple of 8
// Over-read  none
// ABI        $m2 output, $m3 first, $m4 rest, $m5 share of the groups of 8 values (quotient - 1 |
//            rest << 16), and of more than two parts $m6, $m7 steps in rest (units of a load): from
//            a partial to the next, and from the last one to the next group of the worker;
//            $m10 return, $m11 stack (32 bytes below it)
// Numerics   the F32 sum begins with +0 and takes the parts in order, each step rounded to nearest
//            even; the result is rounded once to F16, saturating
//
// Symbols    PARTS 2 ... 127; WIDE 0 or 1; TEXCH_SYNCZONE_LOCAL as in the SDK's headers
//
// Structure. Groups of 8 values are dealt like cards: worker w takes groups w, w + 6, ... The F32
// sums of a group's 8 lanes stand in accumulators 0 ... 7. Two gina take lanes 0 ... 3 out as F16,
// move lanes 4 ... 7 down and zeros in; mix takes those out and leaves zeros. The loop reads out one
// group while it loads the next:
//     load first           gina -> $a4
//     (load its 2nd half)  gina -> $a5
//     store lanes 0 ... 3  mix -> $a6:7
//     load part 1          acc first
//     ...
//     store lanes 4 ... 7  acc last part
// PARTS + 3 bundles for 8 values, the floor of one accumulation a part and three for the read-out;
// or 2 * PARTS + 2 with 64-bit loads, one bundle each for every access.

    .macro MAIN instruction:vararg
    { \instruction
      fnop }
    .endm

// Loads 8 values of a part into $a0:3; what the aux half does in the (first) bundle.
    .macro LOAD_FIRST aux:vararg
    .if WIDE
    { ld128step $a0:3, $m4, $m0+=, 6
      \aux }
    .else
    { ld64step $a0:1, $m4, $m0+=, 1
      \aux }
    .endif
    .endm

    .macro LOAD_FIRST_HALF aux:vararg
    .if WIDE
    { nop
      \aux }
    .else
    { ld64step $a2:3, $m4, $m0+=, 11
      \aux }
    .endif
    .endm

    .macro REST step
    .if WIDE
    { ld128step $a0:3, $mzero, $m5+=, \step
      f16v8acc $a0:3 }
    .else
    { ld64step $a0:1, $mzero, $m5+=, 1
      f16v8acc $a0:3 }
    MAIN ld64step $a2:3, $mzero, $m5+=, \step
    .endif
    .endm

// Adds up a part while the next one is loaded, for all but the last.
    .macro ACCUMULATE
    .if PARTS == 2
    .if WIDE
    REST 6
    .else
    REST 11
    .endif
    .else
    .rept PARTS - 2
    REST $m6
    .endr
    REST $m7
    .endif
    .endm

    .section .text.reduce, "ax", @progbits
    .align 8
    .worker

// Frame: 0 output - 192, 1 first, 2 rest, 3 share, 4 and 5 steps.
// $m0 bytes from the start of first to the worker's next group; $m1 groups to come; $m3 output, less
// what $m0 is ahead of a store.
.Lstart:
    { get $m0, $WSR
      setzi $a0, 8 }
    { and $m0, $m0, 7
      uput $FP_CLR, $a0 } // clear the accumulators
    { lds16 $m1, $mvertex_base, $mzero, 6
      uput $TAS, $azero } // factors of mix: any number will do
    MAIN ldz16 $m2, $mvertex_base, $mzero, 7
    MAIN cmpult $m2, $m0, $m2
    MAIN add $m1, $m1, $m2
    MAIN brneg $m1, .Lidle
    MAIN shl $m0, $m0, 4
    MAIN ld32 $m3, $mvertex_base, $mzero, 0
    MAIN ld32 $m4, $mvertex_base, $mzero, 1
    MAIN ld32 $m5, $mvertex_base, $mzero, 2
    MAIN add $m5, $m5, $m0
    .if PARTS > 2
    MAIN ld32 $m6, $mvertex_base, $mzero, 4
    MAIN ld32 $m7, $mvertex_base, $mzero, 5
    .endif
    LOAD_FIRST fnop
    .if WIDE == 0
    LOAD_FIRST_HALF fnop
    .endif
    ACCUMULATE
    { rpt $m1, (.Lend - .Lloop) / 8 - 1
      f16v8acc $a0:3 }
.Lloop:
    LOAD_FIRST f16v2gina $a4, $azero, 0
    LOAD_FIRST_HALF f16v2gina $a5, $azero, 0
    { st64 $a4:5, $m3, $m0, 0
      f16v4mix $a6:7, $azeros, $azeros }
    ACCUMULATE
    { st64 $a6:7, $m3, $m0, 1
      f16v8acc $a0:3 }
.Lend:
    { nop
      f16v2gina $a4, $azero, 0 }
    { nop
      f16v2gina $a5, $azero, 0 }
    { st64 $a4:5, $m3, $m0, 12
      f16v4mix $a6:7, $azeros, $azeros }
    MAIN st64 $a6:7, $m3, $m0, 13
.Lidle:
    MAIN exitz $mzero

    .supervisor
    .globl kernel
    .type kernel, @function
kernel:
    add $m0, $m11, -32
    setzi $m1, .Lstart
    add $m2, $m2, -192
    put $FP_ICTL, $mzero
    st32 $m3, $m0, $mzero, 1
    st32 $m4, $m0, $mzero, 2
    st32 $m2, $m0, $mzero, 0
    st32 $m5, $m0, $mzero, 3
    .if PARTS > 2
    st32 $m6, $m0, $mzero, 4
    st32 $m7, $m0, $mzero, 5
    .endif
    runall $m1, $m0, 0
    sync TEXCH_SYNCZONE_LOCAL
    br $m10
    .size kernel, . - kernel
