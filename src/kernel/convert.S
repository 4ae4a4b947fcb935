// Conversions of values that keep their order; F16 to F143 is in cast.S.
//
// Operands   output, source: 8-byte aligned, they do not overlap; FAST: no memory element in common,
//            and FROM = 4: source in interleaved memory
// Over-read  TAIL: source to the end of its last vector, and the rest of output's last word, which is
//            stored back
// ABI        $m2 output, $m3 source; F143 to F16 and F32 to F143: then the scale exponent; then the
//            share of the vectors, n | vectors - n << 16: worker w converts n from vector
//            min(w * n, vectors - n) on (runs of two workers may overlap; both write the same); TAIL:
//            then vectors | values after them << 16; $m10 return, $m11 stack (32 bytes below it)
// Numerics   F143 -> F16   code * 2^scale, rounded once (exact for scales -14 ... 8)
//            F143 -> F143  code * 2^SHIFT, rounded once: to F16 with half the shift, doubled if it is
//                          odd, back with the same half. What the first steps round or cut ends as 0
//                          or +-240 in any case
//            F16 -> F32    exact
//            F32 -> F16    rounded once
//            F32 -> F143   value * 2^-scale in F32; of its mantissa the low 15 bits are cleared and
//                          bit 15 set if one of them was; then F16, which is exact where it matters,
//                          then F143: so what is rounded to F143 has the order of the value to all
//                          ties, and is rounded once. A product beyond F32 counts as infinite
//            to nearest even, finite values saturate, infinities and NaNs as in cast.S
//
// Symbols    FROM, TO bytes of a value, 1, 2 or 4: 1 2, 1 1, 2 4, 4 2 or 4 1; LOOP (there are whole
//            vectors), TAIL, FAST 0 or 1 (1 2, 2 4: a vector a worker; 4 2: two); 1 1: SHIFT;
//            NFMT_F143, TEXCH_SYNCZONE_LOCAL as in the SDK's headers
//
// A vector is 8 values of F143, or 4 others. Bundles a vector, plain and FAST: 1 2 and 2 4: 3 and 2,
// which is the store port's bound; 4 2: 3 and 1; 1 1: 3, or 5 for odd shifts; 4 1: 12, the bound of
// its operations.

    .macro MAIN instruction:vararg
    { \instruction
      fnop }
    .endm

    .if FROM == 1
    .set VECTOR_IN, 8
    .set VECTOR_OUT, 8 * TO
    .else
    .set VECTOR_IN, 4 * FROM
    .set VECTOR_OUT, 4 * TO
    .endif
    .set WIDEN, (FROM < TO)
    .set NARROW, (FROM == 4) & (TO == 2)
    .set RESCALE, (FROM == 1) & (TO == 1)
    .set ENCODE, (FROM == 4) & (TO == 1)
    .set SCALED, (FROM + TO == 3) | ENCODE

    .macro SHIFT_LEFT register, source, scale
    .if \scale == 1
    MAIN mov \register, \source
    .else
    .set EXPONENT, 1 + (\scale > 2) + (\scale > 4) + (\scale > 8)
    MAIN shl \register, \source, EXPONENT
    .endif
    .endm

    .section .text.convert, "ax", @progbits
    .align 8
    .worker

// Half a vector of the narrower type in \source to a vector's half in \out.
    .macro WIDEN_HALF out, source, main:vararg
    .if FROM == 1
    { \main
      f8v4tof16 \out, \source }
    .else
    { \main
      f16v2tof32 \out, \source }
    .endif
    .endm

// $a0:3 = 4 values, $a6 = 2^-scale, $m5 constants; $a4 = their codes. more: the last three bundles
// load the same for the next 4. What the first one does beside.
    .macro ENCODE_FOUR more, first:vararg
    { \first
      f32v2mul $a0:1, $a6:B, $a0:1 }
    { ld64 $a4:5, $m5, $mzero, 0
      f32v2mul $a2:3, $a6:B, $a2:3 }
    { nop
      andc64 $a6:7, $a0:1, $a4:5 }
    { ld64 $a4:5, $m5, $mzero, 1
      f32v2cmpne $a0:1, $a0:1, $a6:7 }
    { nop
      and64 $a0:1, $a0:1, $a4:5 }
    { ld64 $a4:5, $m5, $mzero, 0
      or64 $a0:1, $a0:1, $a6:7 }
    { nop
      andc64 $a6:7, $a2:3, $a4:5 }
    { ld64 $a4:5, $m5, $mzero, 1
      f32v2cmpne $a2:3, $a2:3, $a6:7 }
    { nop
      and64 $a2:3, $a2:3, $a4:5 }
    .if \more
    { ld32 $a6, $mvertex_base, $mzero, 4
      or64 $a2:3, $a2:3, $a6:7 }
    { ld64step $a0:1, $mzero, $m8+=, 1
      f32v4tof16 $a4:5, $a0:3 }
    { ld64step $a2:3, $mzero, $m8+=, 1
      f16v8tof8 $a4:5, $a4:7 }
    .else
    { nop
      or64 $a2:3, $a2:3, $a6:7 }
    { nop
      f32v4tof16 $a4:5, $a0:3 }
    { nop
      f16v8tof8 $a4:5, $a4:7 }
    .endif
    .endm

    .macro DOUBLE main, register
    .if SHIFT & 1
    { \main
      f16v4add \register, \register, \register }
    .endif
    .endm

// Frame: 0 source, 1 output, 2 share, 3 vectors and tail (two halves each), 4 what $a6 holds.
// $m4 output, $m5 source, then of this worker $m9 and $m8; ENCODE: $m5 constants, $m11 the frame's
.Lstart:
    .if FROM + TO == 6 // no F143
    MAIN get $m0, $WSR
    MAIN and $m0, $m0, 7
    .else
    { get $m0, $WSR
      setzi $a0, NFMT_F143 }
    { and $m0, $m0, 7
      uput $FP_NFMT, $a0 }
    .endif
    MAIN ld32 $m5, $mvertex_base, $mzero, 0
    MAIN ld32 $m4, $mvertex_base, $mzero, 1
    .if LOOP
    MAIN ldz16 $m1, $mvertex_base, $mzero, 4
    MAIN ldz16 $m2, $mvertex_base, $mzero, 5
    MAIN mul $m6, $m0, $m1
    MAIN min $m6, $m6, $m2
    SHIFT_LEFT $m7, $m6, VECTOR_IN
    MAIN add $m8, $m5, $m7
    SHIFT_LEFT $m7, $m6, VECTOR_OUT
    MAIN add $m9, $m4, $m7
    MAIN add $m1, $m1, -1

    .if WIDEN
    .if FAST
    MAIN ld64step $a0:1, $mzero, $m8+=, 1
    MAIN tapack $m2:3, $m8, $mzero, $m9
    WIDEN_HALF $a2:3, $a0, nop
    MAIN rpt $m1, 1
    WIDEN_HALF $a4:5, $a1, ldst64pace $a0:1, $a2:3, $m2:3+=, $mzero, 0
    WIDEN_HALF $a2:3, $a0, st64pace $a4:5, $m2:3+=, $mzero, 0
    WIDEN_HALF $a4:5, $a1, st64pace $a2:3, $m2:3+=, $mzero, 0
    MAIN st64pace $a4:5, $m2:3+=, $mzero, 0
    .else
    MAIN ld64step $a0:1, $mzero, $m8+=, 1
    WIDEN_HALF $a2:3, $a0, nop
    MAIN rpt $m1, 2
    WIDEN_HALF $a4:5, $a1, st64step $a2:3, $mzero, $m9+=, 1
    MAIN ld64step $a0:1, $mzero, $m8+=, 1
    WIDEN_HALF $a2:3, $a0, st64step $a4:5, $mzero, $m9+=, 1
    WIDEN_HALF $a4:5, $a1, st64step $a2:3, $mzero, $m9+=, 1
    MAIN st64step $a4:5, $mzero, $m9+=, 1
    .endif

    .elseif NARROW
    .if FAST
    MAIN add $m7, $m8, 8
    MAIN tapack $m2:3, $m8, $m7, $m9
    MAIN setzi $m7, 2
    MAIN ld2x64pace $a0:1, $a2:3, $m2:3+=, $m7, 0b0101
    MAIN add $m1, $m1, -1
    { ld2x64pace $a0:1, $a2:3, $m2:3+=, $m7, 0b0101
      f32v4tof16 $a4:5, $a0:3 }
    MAIN rpt $m1, 0
    { ld2xst64pace $a0:3, $a4:5, $m2:3+=, $m7, 0b000101
      f32v4tof16 $a4:5, $a0:3 }
    { st64pace $a4:5, $m2:3+=, $mzero, 0
      f32v4tof16 $a4:5, $a0:3 }
    MAIN st64pace $a4:5, $m2:3+=, $mzero, 0
    .else
    MAIN ld64step $a0:1, $mzero, $m8+=, 1
    MAIN ld64step $a2:3, $mzero, $m8+=, 1
    MAIN rpt $m1, 2
    { ld64step $a0:1, $mzero, $m8+=, 1
      f32v4tof16 $a4:5, $a0:3 }
    MAIN ld64step $a2:3, $mzero, $m8+=, 1
    MAIN st64step $a4:5, $mzero, $m9+=, 1
    { nop
      f32v4tof16 $a4:5, $a0:3 }
    MAIN st64step $a4:5, $mzero, $m9+=, 1
    .endif

    .elseif RESCALE
    MAIN ld64step $a0:1, $mzero, $m8+=, 1
    { nop
      f8v4tof16 $a4:5, $a0 }
    DOUBLE nop, $a4:5
    { nop
      f8v4tof16 $a6:7, $a1 }
    DOUBLE nop, $a6:7
    .if SHIFT & 1
    MAIN rpt $m1, 4
    .else
    MAIN rpt $m1, 2
    .endif
    { ld64step $a0:1, $mzero, $m8+=, 1
      f16v8tof8 $a2:3, $a4:7 }
    { st64step $a2:3, $mzero, $m9+=, 1
      f8v4tof16 $a4:5, $a0 }
    DOUBLE nop, $a4:5
    { nop
      f8v4tof16 $a6:7, $a1 }
    DOUBLE nop, $a6:7
    { nop
      f16v8tof8 $a2:3, $a4:7 }
    MAIN st64step $a2:3, $mzero, $m9+=, 1

    .else // ENCODE
    MAIN ld32 $a6, $mvertex_base, $mzero, 4
    MAIN mov $m7, $m5
    MAIN setzi $m5, .Lmasks
    MAIN ld64step $a0:1, $mzero, $m8+=, 1
    MAIN ld64step $a2:3, $mzero, $m8+=, 1
    MAIN brz $m1, .Lsingle
    MAIN add $m1, $m1, -1
    ENCODE_FOUR 1, nop
    MAIN rpt $m1, 11
    ENCODE_FOUR 1, st32step $a4, $mzero, $m9+=, 1
    MAIN st32step $a4, $mzero, $m9+=, 1
.Lsingle:
    ENCODE_FOUR 0, nop
    MAIN st32step $a4, $mzero, $m9+=, 1
    .if TAIL
    MAIN mov $m5, $m7
    .endif
    .endif
    .endif // LOOP

    .if TAIL
    // The last worker converts a vector of which only some values count, and merges them.
    MAIN add $m0, $m0, -5
    MAIN brnz $m0, .Lend
    MAIN ldz16 $m1, $mvertex_base, $mzero, 6
    MAIN ldz16 $m2, $mvertex_base, $mzero, 7
    SHIFT_LEFT $m3, $m1, VECTOR_IN
    MAIN ld64step $a0:1, $m5, $m3+=, 1
    .if FROM == 4
    MAIN ld64 $a2:3, $m5, $m3, 0
    .endif
    SHIFT_LEFT $m3, $m1, VECTOR_OUT
    .if ENCODE
    MAIN ld32 $a6, $mvertex_base, $mzero, 4
    MAIN setzi $m5, .Lmasks
    ENCODE_FOUR 0, add $m4, $m4, $m3
    .elseif NARROW
    { add $m4, $m4, $m3
      f32v4tof16 $a4:5, $a0:3 }
    .elseif RESCALE
    { add $m4, $m4, $m3
      f8v4tof16 $a4:5, $a0 }
    DOUBLE nop, $a4:5
    { nop
      f8v4tof16 $a6:7, $a1 }
    DOUBLE nop, $a6:7
    { nop
      f16v8tof8 $a4:5, $a4:7 }
    .else
    WIDEN_HALF $a4:5, $a0, add $m4, $m4, $m3
    WIDEN_HALF $a6:7, $a1, nop
    .endif
    // $m2 bytes of the vector count
    .if TO > 1
    SHIFT_LEFT $m2, $m2, TO
    .endif

    .macro TAIL_WORD register
    MAIN atom $m1, \register
    MAIN cmpult $m3, $m2, 4
    MAIN brnz $m3, .Lpart
    MAIN st32step $m1, $mzero, $m4+=, 1
    MAIN add $m2, $m2, -4
    MAIN brz $m2, .Lend
    .endm

    .if ENCODE
    MAIN atom $m1, $a4
    .elseif TO == 4
    // One to three whole words.
    MAIN st32step $a4, $mzero, $m4+=, 1
    MAIN add $m2, $m2, -4
    MAIN brz $m2, .Lend
    MAIN st32step $a5, $mzero, $m4+=, 1
    MAIN add $m2, $m2, -4
    MAIN brz $m2, .Lend
    MAIN st32step $a6, $mzero, $m4+=, 1
    .else
    TAIL_WORD $a4
    .if WIDEN
    TAIL_WORD $a5
    TAIL_WORD $a6
    MAIN atom $m1, $a7
    .else
    MAIN atom $m1, $a5
    .endif
    .endif
    .if TO < 4
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
    .endif
.Lend:
    .endif
    MAIN exitz $mzero

    .if ENCODE
    .pushsection .rodata
    .align 8
.Lmasks:
    .long 0x7FFF, 0x7FFF, 0x8000, 0x8000
    .popsection
    .endif

    .supervisor
    .globl kernel
    .type kernel, @function
kernel:
    add $m0, $m11, -32
    .if ENCODE
    sub $m4, 127, $m4 // exponent of 2^-scale
    .elseif RESCALE
    .set HALF_SHIFT, (SHIFT - (SHIFT & 1)) / 2
    setzi $m6, HALF_SHIFT & 0x3F
    .endif
    setzi $m1, .Lstart
    put $FP_ICTL, $mzero
    st32 $m3, $m0, $mzero, 0
    st32 $m2, $m0, $mzero, 1
    .if RESCALE
    put $FP_ISCL, $m6
    .elseif FROM == 1
    put $FP_ISCL, $m4
    .elseif ENCODE
    put $FP_ISCL, $mzero
    shl $m4, $m4, 23
    .endif
    .if SCALED
    .if LOOP
    st32 $m5, $m0, $mzero, 2
    .endif
    .if TAIL
    st32 $m6, $m0, $mzero, 3
    .endif
    .else
    .if LOOP
    st32 $m4, $m0, $mzero, 2
    .endif
    .if TAIL
    st32 $m5, $m0, $mzero, 3
    .endif
    .endif
    .if ENCODE
    st32 $m4, $m0, $mzero, 4
    .endif
    runall $m1, $m0, 0
    sync TEXCH_SYNCZONE_LOCAL
    br $m10
    .size kernel, . - kernel
