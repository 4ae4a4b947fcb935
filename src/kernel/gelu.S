// GELU of F16 panels, with bias, to F16 or F143.
//
// Operands   output  8-byte aligned
//            source  F16, 8-byte aligned: panels of lines of 16 values; output may be source if F8 = 0,
//            else they do not overlap
//            bias    BIAS: F16, 8-byte aligned, 16 values a panel
// Over-read  none
// ABI        $m2 output, $m3 source, BIAS: $m4 bias; in the registers behind them F8: scale exponent,
//            then the share of a panel's vectors of 8 values (quotient - 1 | rest << 16), and LOOP:
//            bytes of a panel of source, panels less 1; $m10 return, $m11 stack (32 bytes below it)
// Numerics   z = x + bias, then as gelu_f16 (F8 = 0) or gelu_twice_f16 of num/gelu.h; the latter is
//            encoded by f16v8tof8 with $FP_SCL = -scale - 1, overflow to +-240, NaNs to 0x80
//
// Symbols    F8, BIAS 0 or 1; LOOP 1 if panels are told apart
//            F8: FULL (lines of 32 bytes, of two panels; LOOP), ODD (FULL: the last panel is alone)
//            LINEAR, CUBIC the factors of num/gelu.h; NFMT_F143; TEXCH_SYNCZONE_LOCAL
//
// Structure. Vectors of 8 values, half a line, are dealt like cards: worker w takes vectors w,
// w + 6, ... of each panel. All of them are the same halves of lines, so that their bias stands at one
// place. Nothing but lines is known of a panel: without bias, and if not FULL, all panels are one.
//
// A vector is two quads, P and Q; the pipeline takes in P while it finishes the Q before, and Q while
// it finishes P. Of a quad z: the bias, square, cube, and mix (u leaves with the next mix), twice tanh,
// for F16 the halving of z, product, sum; then, for F143, one conversion of both quads. All registers
// hold values, so bias and the half come from memory whenever they are wanted. A vector takes 15 bundles
// for F143 and 16 for F16, with bias 2 more: as many as there are arithmetic instructions.

    .macro MAIN instruction:vararg
    { \instruction
      fnop }
    .endm

    .macro AUX instruction:vararg
    { nop
      \instruction }
    .endm

// P $a0:1, Q $a2:3; $a4:5 works on P, $a6:7 on Q. $m2 source, $m3 output, $m4 bias.

    .macro LOAD_P aux:vararg
    { ld64step $a0:1, $mzero, $m2+=, 1
      \aux }
    .endm
    .macro LOAD_Q aux:vararg
    { ld64step $a2:3, $mzero, $m2+=, 11
      \aux }
    .endm

// The bias of P goes to the pair that works on Q, and the other way round.
    .macro BIAS_P aux:vararg
    .if BIAS
    { ld64 $a6:7, $m4, $mzero, 0
      \aux }
    .else
    AUX \aux
    .endif
    .endm
    .macro BIAS_Q aux:vararg
    .if BIAS
    { ld64 $a4:5, $m4, $mzero, 1
      \aux }
    .else
    AUX \aux
    .endif
    .endm

    .macro ONE_HALF register, aux:vararg
    .if F8
    AUX \aux
    .else
    { ld32 \register, $mvertex_base, $mzero, 7
      \aux }
    .endif
    .endm
    .macro HALVE z, register
    .if F8 == 0
    AUX f16v4mul \z, \register:BL, \z
    .endif
    .endm

// P alone is stored for F16 only; with Q go the codes of both.
    .macro STORE_P aux:vararg
    .if F8
    AUX \aux
    .else
    { st64step $a4:5, $mzero, $m3+=, 1
      \aux }
    .endif
    .endm
    .macro STORE_Q aux:vararg
    .if F8 == 0
    { st64step $a6:7, $mzero, $m3+=, 11
      \aux }
    .elseif FULL
    { st64step $a6:7, $mzero, $m3+=, 12
      \aux }
    .else
    { st64step $a6:7, $mzero, $m3+=, 6
      \aux }
    .endif
    .endm

// From the x of P to its u in the accumulators; leaves u of the Q before in $a6:7.
    .macro TAKE_P
    .if BIAS
    STORE_P f16v4add $a0:1, $a0:1, $a6:7
    AUX f16v4mul $a6:7, $a0:1, $a0:1
    .else
    STORE_P f16v4mul $a6:7, $a0:1, $a0:1
    .endif
    AUX f16v4mul $a6:7, $a6:7, $a0:1
    AUX f16v4mix $a6:7, $a6:7, $a0:1
    .endm

// From u of Q to its product.
    .macro FINISH_Q
    ONE_HALF $a4, f16v2tanh $a6, $a6
    AUX f16v2tanh $a7, $a7
    HALVE $a2:3, $a4
    .if F8
    AUX f16v4mul $a6:7, $a6:7, $a2:3
    .else
    BIAS_Q f16v4mul $a6:7, $a6:7, $a2:3
    .endif
    .endm

// From the x of Q to its u in the accumulators, and from u of P to its product.
    .macro TAKE_Q store:vararg
    .if BIAS
    \store f16v4add $a2:3, $a2:3, $a4:5
    AUX f16v4mul $a4:5, $a2:3, $a2:3
    .else
    \store f16v4mul $a4:5, $a2:3, $a2:3
    .endif
    AUX f16v4mul $a4:5, $a4:5, $a2:3
    AUX f16v4mix $a4:5, $a4:5, $a2:3
    ONE_HALF $a6, f16v2tanh $a4, $a4
    AUX f16v2tanh $a5, $a5
    HALVE $a0:1, $a6
    BIAS_P f16v4mul $a4:5, $a4:5, $a0:1
    .endm

// $m1 + 1 vectors.
    .macro VECTORS
    LOAD_P fnop
    BIAS_P fnop
    .if BIAS
    LOAD_Q f16v4add $a0:1, $a0:1, $a6:7
    BIAS_Q f16v4mul $a6:7, $a0:1, $a0:1
    .else
    LOAD_Q f16v4mul $a6:7, $a0:1, $a0:1
    .endif
    AUX f16v4mul $a6:7, $a6:7, $a0:1
    AUX f16v4mix $azeros, $a6:7, $a0:1
    TAKE_Q AUX
    MAIN rpt $m1, 15 - F8 + 2 * BIAS
    LOAD_P f16v4add $a4:5, $a4:5, $a0:1
    TAKE_P
    FINISH_Q
    LOAD_Q f16v4add $a6:7, $a6:7, $a2:3
    .if F8
    BIAS_Q f16v8tof8 $a6:7, $a4:7
    .endif
    TAKE_Q STORE_Q
    AUX f16v4add $a4:5, $a4:5, $a0:1
    STORE_P f16v4gacc $a6:7
    FINISH_Q
    AUX f16v4add $a6:7, $a6:7, $a2:3
    .if F8
    AUX f16v8tof8 $a6:7, $a4:7
    .endif
    STORE_Q fnop
    .endm

    .section .text.gelu, "ax", @progbits
    .align 8
    .worker

// Frame: 0 share, 1 source, 2 output, 3 bias, 4 bytes of a panel, 5 panels less 1, 7 one half.
// LOOP: $m7, $m8 where the worker begins in source and output, $m9 bytes of a panel of source, $m10
// bytes to the next panel of output, $m11 panels to come.
.Lstart:
    { get $m0, $WSR
      setzi $a0, (CUBIC | LINEAR << 16) & 0xFFFFF }
    { and $m0, $m0, 7
      or $a0, $a0, (CUBIC | LINEAR << 16) & 0xFFF00000 }
    { lds16 $m1, $mvertex_base, $mzero, 0
      uput $TAS, $a0 }
    .if F8
    { ldz16 $m2, $mvertex_base, $mzero, 1
      setzi $a0, NFMT_F143 }
    { cmpult $m2, $m0, $m2
      uput $FP_NFMT, $a0 }
    .else
    MAIN ldz16 $m2, $mvertex_base, $mzero, 1
    MAIN cmpult $m2, $m0, $m2
    .endif
    MAIN add $m1, $m1, $m2
    MAIN brneg $m1, .Lidle
    MAIN ld32 $m2, $mvertex_base, $mzero, 1
    MAIN ld32 $m3, $mvertex_base, $mzero, 2
    MAIN shl $m5, $m0, 4
    MAIN add $m2, $m2, $m5
    .if F8 == 0
    MAIN add $m3, $m3, $m5
    .elseif FULL
    MAIN and $m4, $m0, 1
    MAIN shr $m5, $m0, 1
    MAIN shl $m5, $m5, 5
    MAIN add $m3, $m3, $m5
    MAIN shl $m5, $m4, 3
    MAIN add $m3, $m3, $m5
    .else
    MAIN shl $m5, $m0, 3
    MAIN add $m3, $m3, $m5
    .endif
    .if BIAS
    MAIN and $m5, $m0, 1
    MAIN shl $m5, $m5, 4
    MAIN ld32 $m4, $mvertex_base, $mzero, 3
    MAIN add $m4, $m4, $m5
    .endif
    .if LOOP
    MAIN mov $m7, $m2
    MAIN mov $m8, $m3
    MAIN ld32 $m9, $mvertex_base, $mzero, 4
    MAIN ld32 $m11, $mvertex_base, $mzero, 5
    .if F8 == 0
    MAIN mov $m10, $m9
    .elseif FULL
    MAIN setzi $m10, 16
    .else
    MAIN shr $m10, $m9, 1
    .endif
.Lpanel:
    MAIN mov $m2, $m7
    MAIN mov $m3, $m8
    .endif
    VECTORS
    .if LOOP
    MAIN add $m7, $m7, $m9
    MAIN add $m8, $m8, $m10
    .if BIAS
    MAIN add $m4, $m4, 32
    .endif
    .if F8 & FULL
    MAIN sub $m10, $m9, $m10
    .endif
    MAIN brnzdec $m11, .Lpanel
    .endif
    .if F8 & ODD
    // $m8 is at the second half of the last panel's lines
    MAIN add $m1, $m1, 1
    MAIN rpt $m1, 0
    MAIN st64step $azeros, $mzero, $m8+=, 12
    .endif
.Lidle:
    MAIN exitz $mzero

    .supervisor
    .globl kernel
    .type kernel, @function
kernel:
    add $m0, $m11, -32
    setzi $m1, .Lstart
    // $m4 ... as if BIAS were there
    .if F8
    .if BIAS
    sub $m5, -1, $m5
    .else
    sub $m4, -1, $m4
    .endif
    .else
    setzi $m9, 0x3800 // one half
    .endif
    put $FP_ICTL, $mzero
    st32 $m3, $m0, $mzero, 1
    st32 $m2, $m0, $mzero, 2
    .if BIAS
    st32 $m4, $m0, $mzero, 3
    .endif
    .if F8 & BIAS
    put $FP_ISCL, $m5
    st32 $m6, $m0, $mzero, 0
    .if LOOP
    st32 $m7, $m0, $mzero, 4
    st32 $m8, $m0, $mzero, 5
    .endif
    .elseif F8 | BIAS
    .if F8
    put $FP_ISCL, $m4
    .else
    st32 $m9, $m0, $mzero, 7
    .endif
    st32 $m5, $m0, $mzero, 0
    .if LOOP
    st32 $m6, $m0, $mzero, 4
    st32 $m7, $m0, $mzero, 5
    .endif
    .else
    st32 $m9, $m0, $mzero, 7
    st32 $m4, $m0, $mzero, 0
    .endif
    runall $m1, $m0, 0
    sync TEXCH_SYNCZONE_LOCAL
    br $m10
    .size kernel, . - kernel
