// Sums of F16 values: output = left + right.
//
// Operands   output, left, right  F16, 8-byte aligned; output may be left, and of PLAIN right. APART 1:
//            left and right lie in different memory elements, 2: any two of the three
// Over-read  none
// ABI        $m2 output, $m3 left, $m4 right, $m5 share (quotient less 1, or if APART is 2 less 2 |
//            rest << 16), LOOP or BY_COLUMNS: $m6 bytes of a row or panel, $m7 rows or panels, less 1;
//            $m10 return, $m11 stack (32 bytes below it)
// Numerics   f16v4add: each sum rounded once, nearest even, saturating
//
// Symbols    FORM 0 PLAIN, 1 REPEATED (right for every row), 2 COLUMNS (right along the lanes of a
//            panel), 3 ROWS (a value of right for every line of a panel); BY_COLUMNS (FORM 1) 0 or 1;
//            APART (FORM 0 and 1, not BY_COLUMNS); LOOP 0 or 1; TEXCH_SYNCZONE_LOCAL
//
// Structure. PLAIN: quads (4 values) are dealt like cards: worker w takes quads w, w + 6, ...; 3 bundles
// a quad, one an access. APART: 2, both loads in one, or 1, all accesses in one. REPEATED is that for
// every row; or BY_COLUMNS, for rows of few quads: the quads of right are dealt, and each is added to
// all rows, 2 bundles a quad. Panels: vectors of 8 values are dealt, so that a worker always has the
// same half of the lines; COLUMNS keeps its 8 values of right in registers, 4 bundles a vector; ROWS
// loads one value of right a vector, 5 bundles.

    .macro MAIN instruction:vararg
    { \instruction
      fnop }
    .endm

// The share of a worker, from $m1 as it comes.
    .macro PLAIN_QUADS left, output, right
    .if APART == 0
    MAIN ld64step $a0:1, $mzero, \left+=, 6
    MAIN ld64step $a2:3, $mzero, \right+=, 6
    MAIN rpt $m1, 2
    { ld64step $a0:1, $mzero, \left+=, 6
      f16v4add $a4:5, $a0:1, $a2:3 }
    MAIN ld64step $a2:3, $mzero, \right+=, 6
    MAIN st64step $a4:5, $mzero, \output+=, 6
    { nop
      f16v4add $a4:5, $a0:1, $a2:3 }
    MAIN st64step $a4:5, $mzero, \output+=, 6
    .elseif APART == 1
    MAIN tapack $m4:5, \left, \right, $mzero
    MAIN ld2x64pace $a0:1, $a2:3, $m4:5+=, $m6, 0b0101
    MAIN rpt $m1, 1
    { ld2x64pace $a0:1, $a2:3, $m4:5+=, $m6, 0b0101
      f16v4add $a4:5, $a0:1, $a2:3 }
    MAIN st64step $a4:5, $mzero, \output+=, 6
    { nop
      f16v4add $a4:5, $a0:1, $a2:3 }
    MAIN st64step $a4:5, $mzero, \output+=, 6
    .else
    MAIN tapack $m4:5, \left, \right, \output
    MAIN ld2x64pace $a0:1, $a2:3, $m4:5+=, $m6, 0b0101
    { ld2x64pace $a0:1, $a2:3, $m4:5+=, $m6, 0b0101
      f16v4add $a4:5, $a0:1, $a2:3 }
    MAIN rpt $m1, 0
    { ld2xst64pace $a0:3, $a4:5, $m4:5+=, $m6, 0b010101
      f16v4add $a4:5, $a0:1, $a2:3 }
    { st64pace $a4:5, $m4:5+=, $m6, 0b01
      f16v4add $a4:5, $a0:1, $a2:3 }
    MAIN st64pace $a4:5, $m4:5+=, $m6, 0b01
    .endif
    .endm

    .section .text.add, "ax", @progbits
    .align 8
    .worker

// Frame: 0 share, 1 left, 2 output, 3 right, 4 bytes of a row or panel, 5 rows or panels less 1.
// $m7 left, $m8 output, $m9 right: where the worker begins; $m10 bytes of a row or panel, $m11 rows or
// panels to come.
.Lstart:
    MAIN get $m0, $WSR
    MAIN and $m0, $m0, 7
    MAIN lds16 $m1, $mvertex_base, $mzero, 0
    MAIN ldz16 $m2, $mvertex_base, $mzero, 1
    MAIN cmpult $m2, $m0, $m2
    MAIN add $m1, $m1, $m2
    .if APART < 2
    MAIN brneg $m1, .Lidle
    .endif
    MAIN ld32 $m7, $mvertex_base, $mzero, 1
    MAIN ld32 $m8, $mvertex_base, $mzero, 2
    MAIN ld32 $m9, $mvertex_base, $mzero, 3
    .if FORM < 2
    MAIN shl $m2, $m0, 3
    MAIN add $m9, $m9, $m2
    .else
    MAIN shl $m2, $m0, 4
    .endif
    MAIN add $m7, $m7, $m2
    MAIN add $m8, $m8, $m2
    .if LOOP | BY_COLUMNS
    MAIN ld32 $m10, $mvertex_base, $mzero, 4
    MAIN ld32 $m11, $mvertex_base, $mzero, 5
    .endif
    .if APART
    MAIN setzi $m6, 6
    .endif

    .if BY_COLUMNS
    // $m10 step from row to row in units of 8 bytes
    MAIN shr $m10, $m10, 3
.Lcolumn:
    MAIN mov $m2, $m7
    MAIN mov $m3, $m8
    MAIN ld64step $a2:3, $mzero, $m9+=, 6
    MAIN ld64step $a0:1, $mzero, $m2+=, $m10
    MAIN rpt $m11, 1
    { ld64step $a0:1, $mzero, $m2+=, $m10
      f16v4add $a4:5, $a0:1, $a2:3 }
    MAIN st64step $a4:5, $mzero, $m3+=, $m10
    { add $m7, $m7, 48
      f16v4add $a4:5, $a0:1, $a2:3 }
    MAIN st64step $a4:5, $mzero, $m3+=, $m10
    MAIN add $m8, $m8, 48
    MAIN brnzdec $m1, .Lcolumn

    .elseif FORM == 0
    PLAIN_QUADS $m7, $m8, $m9

    .elseif FORM == 1
.Lrow:
    .if APART == 0
    MAIN mov $m2, $m7
    MAIN mov $m3, $m8
    MAIN mov $m4, $m9
    PLAIN_QUADS $m2, $m3, $m4
    .elseif APART == 1
    MAIN mov $m3, $m8
    PLAIN_QUADS $m7, $m3, $m9
    .else
    PLAIN_QUADS $m7, $m8, $m9
    .endif
    MAIN add $m7, $m7, $m10
    MAIN add $m8, $m8, $m10
    MAIN brnzdec $m11, .Lrow

    .elseif FORM == 2
    MAIN and $m2, $m0, 1
    MAIN shl $m2, $m2, 4
    MAIN add $m9, $m9, $m2
.Lpanel:
    MAIN mov $m2, $m7
    MAIN mov $m3, $m8
    MAIN ld64step $a4:5, $mzero, $m9+=, 1
    MAIN ld64step $a6:7, $mzero, $m9+=, 3
    MAIN ld64step $a0:1, $mzero, $m2+=, 1
    { ld64step $a2:3, $mzero, $m2+=, 11
      f16v4add $a0:1, $a0:1, $a4:5 }
    MAIN st64step $a0:1, $mzero, $m3+=, 1
    MAIN rpt $m1, 3
    { ld64step $a0:1, $mzero, $m2+=, 1
      f16v4add $a2:3, $a2:3, $a6:7 }
    { st64step $a2:3, $mzero, $m3+=, 11
      f16v4add $a0:1, $a0:1, $a4:5 }
    MAIN ld64step $a2:3, $mzero, $m2+=, 11
    MAIN st64step $a0:1, $mzero, $m3+=, 1
    { nop
      f16v4add $a2:3, $a2:3, $a6:7 }
    MAIN st64step $a2:3, $mzero, $m3+=, 11

    .else
    MAIN shr $m2, $m0, 1
    MAIN shl $m2, $m2, 1
    MAIN add $m9, $m9, $m2
.Lpanel:
    MAIN mov $m2, $m7
    MAIN mov $m3, $m8
    MAIN mov $m4, $m9
    MAIN ldb16step $a4, $mzero, $m4+=, 3
    MAIN ld64step $a0:1, $mzero, $m2+=, 1
    { ld64step $a2:3, $mzero, $m2+=, 11
      f16v4add $a0:1, $a4:BL, $a0:1 }
    MAIN st64step $a0:1, $mzero, $m3+=, 1
    MAIN rpt $m1, 4
    { ld64step $a0:1, $mzero, $m2+=, 1
      f16v4add $a2:3, $a4:BL, $a2:3 }
    MAIN ldb16step $a4, $mzero, $m4+=, 3
    { st64step $a2:3, $mzero, $m3+=, 11
      f16v4add $a0:1, $a4:BL, $a0:1 }
    MAIN ld64step $a2:3, $mzero, $m2+=, 11
    MAIN st64step $a0:1, $mzero, $m3+=, 1
    { nop
      f16v4add $a2:3, $a4:BL, $a2:3 }
    MAIN st64step $a2:3, $mzero, $m3+=, 11
    .endif

    .if (FORM > 1) & LOOP
    MAIN add $m7, $m7, $m10
    MAIN add $m8, $m8, $m10
    MAIN brnzdec $m11, .Lpanel
    .endif
.Lidle:
    MAIN exitz $mzero

    .supervisor
    .globl kernel
    .type kernel, @function
kernel:
    add $m0, $m11, -32
    setzi $m1, .Lstart
    put $FP_ICTL, $mzero
    st32 $m3, $m0, $mzero, 1
    st32 $m2, $m0, $mzero, 2
    st32 $m4, $m0, $mzero, 3
    st32 $m5, $m0, $mzero, 0
    .if LOOP | BY_COLUMNS
    st32 $m6, $m0, $mzero, 4
    st32 $m7, $m0, $mzero, 5
    .endif
    runall $m1, $m0, 0
    sync TEXCH_SYNCZONE_LOCAL
    br $m10
    .size kernel, . - kernel
