// Sum of F16 partial results, then bias and GELU, to F16 or F143.
//
// Operands   output  8-byte aligned; F8 = 0: may be first
//            first   F16 panels of lines of 16 values
//            rest    PARTS - 1 times as many F16 as first, one partial after the other
//            first and rest: 8-byte aligned; WIDE: 16, in interleaved memory
//            bias    BIAS: F16, 8-byte aligned, 16 values a panel
// Over-read  none
// ABI        $m2 output, $m3 first, $m4 rest, BIAS: $m5 bias; in the registers behind them F8: scale
//            exponent, then the share of a panel's vectors of 8 values (quotient - 1 | rest << 16),
//            if PARTS > 2 or LOOP bytes of a partial, and LOOP: lines of a panel | panels - 1 << 16; $m10 return, $m11 stack
//            (32 bytes below it)
// Numerics   sums as reduce.S, then all as gelu.S
//
// Symbols    PARTS 2 ... 127; WIDE, F8, BIAS 0 or 1; LOOP 1 if there are several panels and bias
//            LINEAR, CUBIC the factors of num/gelu.h; NFMT_F143; TEXCH_SYNCZONE_LOCAL
//
// Structure. Vectors are dealt as in gelu.S. The sums of a vector's 8 lanes stand in accumulators
// 0 ... 7, which mix needs too, so nothing overlaps but loads and the store; yet each mix also reads out
// what the one before has left:
//     acc PARTS times, gina twice: quad P; cube of P; mix: takes P, gives the sums of quad Q;
//     cube of Q; mix: takes Q, gives u of P; P to its end; mix with zeros: gives u of Q; Q to its end.
// PARTS + 18 bundles a vector for F143, PARTS + 19 for F16, BIAS 2 more; with 64-bit loads PARTS - 1 more,
// and for F16 one more.

    .macro MAIN instruction:vararg
    { \instruction
      fnop }
    .endm

    .macro AUX instruction:vararg
    { nop
      \instruction }
    .endm

// $a0:3 a partial, then $a0:1 works on P in $a4:5 and $a2:3 on Q in $a6:7. $m2 first, $m5 rest, $m6 and
// $m7 steps to the next partial and to the next vector; $m3 output, $m4 bias.

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

    .macro WITH_BIAS word, register, aux:vararg
    .if BIAS
    { ld64 \register, $m4, $mzero, \word
      \aux }
    .else
    AUX \aux
    .endif
    .endm

    .macro HALVE z, register
    .if F8 == 0
    AUX f16v4mul \z, \register:BL, \z
    .endif
    .endm

    .macro LOAD_HALF register, aux:vararg
    .if F8
    AUX \aux
    .else
    { ld32 \register, $mvertex_base, $mzero, 7
      \aux }
    .endif
    .endm

// From the first partial in $a0:3 to Q less its last sum. `store`: what is to be stored meanwhile.
    .macro VECTOR store:vararg
    .rept PARTS - 2
    REST $m6
    .endr
    REST $m7
    { \store
      f16v8acc $a0:3 }
    AUX f16v2gina $a4, $azero, 0
    WITH_BIAS 0, $a0:1, f16v2gina $a5, $azero, 0
    .if BIAS
    AUX f16v4add $a4:5, $a4:5, $a0:1
    .endif
    AUX f16v4mul $a0:1, $a4:5, $a4:5
    AUX f16v4mul $a0:1, $a0:1, $a4:5
    WITH_BIAS 1, $a2:3, f16v4mix $a6:7, $a0:1, $a4:5
    .if BIAS
    AUX f16v4add $a6:7, $a6:7, $a2:3
    .endif
    AUX f16v4mul $a2:3, $a6:7, $a6:7
    AUX f16v4mul $a2:3, $a2:3, $a6:7
    AUX f16v4mix $a0:1, $a2:3, $a6:7
    LOAD_HALF $a2, f16v2tanh $a0, $a0
    AUX f16v2tanh $a1, $a1
    HALVE $a4:5, $a2
    AUX f16v4mul $a0:1, $a0:1, $a4:5
    AUX f16v4add $a4:5, $a0:1, $a4:5
    .if F8
    AUX f16v4mix $a2:3, $azeros, $azeros
    .else
    { st64step $a4:5, $mzero, $m3+=, 1
      f16v4mix $a2:3, $azeros, $azeros }
    .endif
    LOAD_HALF $a0, f16v2tanh $a2, $a2
    AUX f16v2tanh $a3, $a3
    HALVE $a6:7, $a0
    AUX f16v4mul $a2:3, $a2:3, $a6:7
    .endm

    .macro LAST_LOAD load:vararg
    .if F8
    { \load
      f16v8tof8 $a4:5, $a4:7 }
    .else
    MAIN \load
    .endif
    .endm

// The last sum of Q, while the first partial of the next vector is loaded.
    .macro BETWEEN
    .if WIDE & (F8 == 0)
    { ld128step $a0:3, $mzero, $m2+=, 6
      f16v4add $a6:7, $a2:3, $a6:7 }
    .elseif WIDE
    AUX f16v4add $a6:7, $a2:3, $a6:7
    LAST_LOAD ld128step $a0:3, $mzero, $m2+=, 6
    .else
    { ld64step $a0:1, $mzero, $m2+=, 1
      f16v4add $a6:7, $a2:3, $a6:7 }
    LAST_LOAD ld64step $a2:3, $mzero, $m2+=, 11
    .endif
    .endm

    .section .text.reduce_gelu, "ax", @progbits
    .align 8
    .worker

// Frame: 0 share, 1 first, 2 output, 3 rest, 4 bias, 5 bytes of a partial, 6 lines and panels, 7 one
// half. $m9 bytes from the end of a worker's vectors to the next panel of first, $m10 of
// output, $m11 panels to come.
.Lstart:
    { get $m0, $WSR
      setzi $a0, (CUBIC | LINEAR << 16) & 0xFFFFF }
    { and $m0, $m0, 7
      or $a0, $a0, (CUBIC | LINEAR << 16) & 0xFFF00000 }
    { lds16 $m1, $mvertex_base, $mzero, 0
      uput $TAS, $a0 }
    { ldz16 $m2, $mvertex_base, $mzero, 1
      setzi $a0, 8 }
    { cmpult $m2, $m0, $m2
      uput $FP_CLR, $a0 }
    .if F8
    { add $m1, $m1, $m2
      setzi $a0, NFMT_F143 }
    { brneg $m1, .Lidle
      uput $FP_NFMT, $a0 }
    .else
    MAIN add $m1, $m1, $m2
    MAIN brneg $m1, .Lidle
    .endif
    MAIN ld32 $m2, $mvertex_base, $mzero, 1
    MAIN ld32 $m5, $mvertex_base, $mzero, 3
    MAIN shl $m7, $m0, 4
    MAIN add $m2, $m2, $m7
    MAIN add $m5, $m5, $m7
    MAIN ld32 $m3, $mvertex_base, $mzero, 2
    .if F8
    MAIN shl $m7, $m0, 3
    .endif
    MAIN add $m3, $m3, $m7
    .if BIAS
    MAIN and $m7, $m0, 1
    MAIN shl $m7, $m7, 4
    MAIN ld32 $m4, $mvertex_base, $mzero, 4
    MAIN add $m4, $m4, $m7
    .endif
    // steps in units of a load, of which the first half of a vector has taken one if there are two
    .if PARTS == 2
    MAIN setzi $m7, 11 - 5 * WIDE
    .else
    MAIN ld32 $m6, $mvertex_base, $mzero, 5
    MAIN shr $m6, $m6, 3 + WIDE
    MAIN mul $m7, $m6, 2 - PARTS
    MAIN add $m7, $m7, 11 - 5 * WIDE
    .if WIDE == 0
    MAIN add $m6, $m6, -1
    .endif
    .endif
    .if LOOP
    MAIN ldz16 $m9, $mvertex_base, $mzero, 12
    MAIN ldz16 $m11, $mvertex_base, $mzero, 13
    MAIN shl $m9, $m9, 5
    MAIN add $m10, $m1, 1
    MAIN mul $m10, $m10, 96
    MAIN sub $m9, $m9, $m10
    .if F8
    MAIN shrs $m10, $m9, 1
    .else
    MAIN mov $m10, $m9
    .endif
.Lpanel:
    .endif
    .if WIDE
    MAIN ld128step $a0:3, $mzero, $m2+=, 6
    .else
    MAIN ld64step $a0:1, $mzero, $m2+=, 1
    MAIN ld64step $a2:3, $mzero, $m2+=, 11
    .endif
    VECTOR nop
    MAIN rpt $m1, (.Lend - .Lloop) / 8 - 1
.Lloop:
    BETWEEN
    .if F8
    VECTOR st64step $a4:5, $mzero, $m3+=, 6
    .else
    VECTOR st64step $a6:7, $mzero, $m3+=, 11
    .endif
.Lend:
    AUX f16v4add $a6:7, $a2:3, $a6:7
    .if F8
    AUX f16v8tof8 $a4:5, $a4:7
    MAIN st64step $a4:5, $mzero, $m3+=, 6
    .else
    MAIN st64step $a6:7, $mzero, $m3+=, 11
    .endif
    .if LOOP
    MAIN add $m2, $m2, $m9
    MAIN add $m5, $m5, $m9
    MAIN add $m3, $m3, $m10
    MAIN add $m4, $m4, 32
    MAIN brnzdec $m11, .Lpanel
    .endif
.Lidle:
    MAIN exitz $mzero

    .supervisor
    .globl kernel
    .type kernel, @function
// Stores the arguments from `share` on, which is $m5 and up to two more.
    .macro SHARE share, partial, panels
    st32 \share, $m0, $mzero, 0
    .if (PARTS > 2) | LOOP
    st32 \partial, $m0, $mzero, 5
    .endif
    .if LOOP
    st32 \panels, $m0, $mzero, 6
    .endif
    .endm
kernel:
    add $m0, $m11, -32
    setzi $m1, .Lstart
    .if F8 & BIAS
    sub $m6, -1, $m6
    .elseif F8
    sub $m5, -1, $m5
    .else
    setzi $m9, 0x3800 // one half
    .endif
    put $FP_ICTL, $mzero
    st32 $m3, $m0, $mzero, 1
    st32 $m2, $m0, $mzero, 2
    st32 $m4, $m0, $mzero, 3
    .if BIAS
    st32 $m5, $m0, $mzero, 4
    .endif
    .if F8 & BIAS
    put $FP_ISCL, $m6
    SHARE $m7, $m8, $m9
    .elseif F8
    put $FP_ISCL, $m5
    SHARE $m6, $m7, $m8
    .else
    .if BIAS
    SHARE $m6, $m7, $m8
    .else
    SHARE $m5, $m6, $m7
    .endif
    st32 $m9, $m0, $mzero, 7
    .endif
    runall $m1, $m0, 0
    sync TEXCH_SYNCZONE_LOCAL
    br $m10
    .size kernel, . - kernel
