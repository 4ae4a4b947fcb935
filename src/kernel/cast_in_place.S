// Cast F16 to F143 where the values lie: the codes take the first half of their bytes.
//
// Operands   values  F16, 8-byte aligned; count codes at its beginning afterwards, the bytes behind
//            the codes as they were
// Over-read  TAIL: up to 14 bytes
// ABI        $m2 values, $m3 scale exponent, $m4 vectors of the first launch, $m5 doubling launches,
//            less 1, $m6 share of the last one (as in cast.S), $m7 vectors | values after them << 16;
//            $m10 return, $m11 stack (32 bytes below it)
// Numerics   as cast.S
//
// Symbols    FIRST, DOUBLING, REST, TAIL 0 or 1: whether there are such launches; NFMT_F143,
//            TEXCH_SYNCZONE_LOCAL as in the SDK's headers
//
// Structure. A vector of 8 values is 16 bytes of source and 8 of codes, so the codes of vectors below
// 2b lie where only vectors below b were: once those are done, vectors b ... 2b - 1 may be converted
// in any order. Worker 0 alone converts the first 12 (or all there are) one after the other, which
// is safe since it loads a vector before it stores the one before; then launches of all workers take
// 12, 24, 48, ... vectors; the last one what is left; and one more the values after the last vector.

    .macro MAIN instruction:vararg
    { \instruction
      fnop }
    .endm

    .section .text.cast_in_place, "ax", @progbits
    .align 8
    .worker

// Frame: 0 source, 1 output, 2 share, 3 vectors and values after them.
    .macro BEGIN
    { get $m0, $WSR
      setzi $a0, NFMT_F143 }
    { and $m0, $m0, 7
      uput $FP_NFMT, $a0 }
    MAIN ld32 $m5, $mvertex_base, $mzero, 0
    MAIN ld32 $m4, $mvertex_base, $mzero, 1
    .endm

    .if FIRST
.Lfirst:
    BEGIN
    MAIN brnz $m0, .Lend
    .if DOUBLING | REST
.Lmany:
    BEGIN
    .endif
    MAIN ldz16 $m1, $mvertex_base, $mzero, 4
    MAIN ldz16 $m2, $mvertex_base, $mzero, 5
    MAIN mul $m6, $m0, $m1
    MAIN min $m6, $m6, $m2
    MAIN shl $m6, $m6, 3
    MAIN add $m4, $m4, $m6
    MAIN add $m5, $m5, $m6
    MAIN add $m5, $m5, $m6
    MAIN ld64step $a0:1, $mzero, $m5+=, 1
    MAIN ld64step $a2:3, $mzero, $m5+=, 1
    MAIN add $m1, $m1, -1
    MAIN rpt $m1, 2
    { ld64step $a0:1, $mzero, $m5+=, 1
      f16v8tof8 $a4:5, $a0:3 }
    MAIN ld64step $a2:3, $mzero, $m5+=, 1
    MAIN st64step $a4:5, $mzero, $m4+=, 1
    { nop
      f16v8tof8 $a4:5, $a0:3 }
    MAIN st64step $a4:5, $mzero, $m4+=, 1
.Lend:
    MAIN exitz $mzero
    .endif

    .if TAIL
    // One worker converts a vector of which only some values count, and merges them.
.Ltail:
    BEGIN
    MAIN brnz $m0, .Ldone
    MAIN ldz16 $m1, $mvertex_base, $mzero, 6
    MAIN ldz16 $m2, $mvertex_base, $mzero, 7
    MAIN shl $m3, $m1, 4
    MAIN ld64step $a0:1, $m5, $m3+=, 1
    MAIN ld64 $a2:3, $m5, $m3, 0
    MAIN shl $m3, $m1, 3
    { add $m4, $m4, $m3
      f16v8tof8 $a0:1, $a0:3 }
    MAIN atom $m1, $a0
    MAIN cmpult $m3, $m2, 4
    MAIN brnz $m3, .Lpart
    MAIN st32step $m1, $mzero, $m4+=, 1
    MAIN atom $m1, $a1
    MAIN add $m2, $m2, -4
    MAIN brz $m2, .Ldone
.Lpart: // the low $m2 bytes of $m1
    MAIN shl $m2, $m2, 3
    MAIN ld32 $m3, $m4, $mzero, 0
    MAIN shr $m3, $m3, $m2
    MAIN shl $m3, $m3, $m2
    MAIN sub $m2, 32, $m2
    MAIN shl $m1, $m1, $m2
    MAIN shr $m1, $m1, $m2
    MAIN or $m1, $m1, $m3
    MAIN st32 $m1, $m4, $mzero, 0
.Ldone:
    MAIN exitz $mzero
    .endif

// A launch of vectors from $m8 / 16 on, $m8 bytes of source and $m9 of codes; six cycles, and two.
    .macro MANY share
    sync TEXCH_SYNCZONE_LOCAL
    add $m3, $m2, $m8
    add $m4, $m2, $m9
    add $m8, $m8, $m8
    add $m9, $m9, $m9
    st32 \share, $m0, $mzero, 2
    .endm

    .macro GO
    st32 $m3, $m0, $mzero, 0
    st32 $m4, $m0, $mzero, 1
    runall $m1, $m0, 0
    .endm

    .supervisor
    .globl kernel
    .type kernel, @function
kernel:
    add $m0, $m11, -32
    sub $m3, $mzero, $m3
    put $FP_ICTL, $mzero
    .if FIRST
    setzi $m1, .Lfirst
    .else
    setzi $m1, .Ltail
    .endif
    .if TAIL
    st32 $m7, $m0, $mzero, 3
    .endif
    st32 $m2, $m0, $mzero, 0
    st32 $m2, $m0, $mzero, 1
    .if FIRST
    st32 $m4, $m0, $mzero, 2
    .endif
    put $FP_ISCL, $m3
    runall $m1, $m0, 0
    // Workers 1 ... 5 have ended long before worker 0: what follows is done meanwhile.
    .if FIRST & (DOUBLING | REST)
    setzi $m1, .Lmany
    setzi $m8, 16 * 12
    setzi $m9, 8 * 12
    .if DOUBLING
    setzi $m7, 2 | 10 << 16
.Lnext:
    MANY $m7
    add $m7, $m7, $m7
    GO
    brnzdec $m5, .Lnext
    .endif
    .if REST
    MANY $m6
    GO
    .endif
    .endif
    .if FIRST & TAIL
    setzi $m1, .Ltail
    sync TEXCH_SYNCZONE_LOCAL
    st32 $m2, $m0, $mzero, 0
    st32 $m2, $m0, $mzero, 1
    runall $m1, $m0, 0
    .endif
    sync TEXCH_SYNCZONE_LOCAL
    br $m10
    .size kernel, . - kernel
