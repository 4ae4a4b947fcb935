// Copies and fills of 64-bit words.
//
// Operands   output  8-byte aligned; written words only, nothing between rows
//            source  8-byte aligned, does not overlap output; PACED: no memory element in common
//            (FILL has none)
// Over-read  none
// ABI        $m2 output, $m3 source; then the scalars, $m10 return, $m11 stack (32 bytes below it)
//            FILL                $m3, $m4 low and high half of the pattern; $m5 share of the words
//            ROWS = 0, one row   $m4 share of the words
//            ROWS = 1, by rows   $m4 share of the rows, $m5 words | rows of a worker - 1 << 16,
//                                $m6, $m7 bytes from row to row of source and output
//            ROWS = 2, by words  $m4 share of the words, $m5 rows - 1, $m6, $m7 as before
//
// Symbols    FILL, PACED 0 or 1; ROWS; TEXCH_SYNCZONE_LOCAL as in the SDK's headers
//
// Structure. Words are dealt like cards: worker w takes words w, w + 6, ...; the share is quotient |
// rest << 16 and w takes quotient + (w < rest) of them. Rows are cut into runs of equal length n
// that may overlap: w takes n rows from row min(w * n, rows - n) on, and what is copied twice is the
// same. Their share is n | rows - n << 16. Plain loops load and store a word in two bundles; PACED
// ones store a word and load the next in one, which needs at least one word a worker; there the
// quotient of one row's share arrives less 1, and workers without a word end.

// Frame: 0 share, 1 source, 2 output, 3 fifth argument, 4 and 5 strides. FILL: 2, 3 the pattern.
// Of a plain loop by words, output is less the 48 bytes by which the offset has already moved on.

    .macro MAIN instruction:vararg
    { \instruction
      fnop }
    .endm

    .section .text.copy, "ax", @progbits
    .align 8
    .worker

// $m0 worker, $m1 units of its share
.Lstart:
    MAIN get $m0, $WSR
    MAIN and $m0, $m0, 7
    .if PACED & (ROWS == 0)
    MAIN lds16 $m1, $mvertex_base, $mzero, 0
    .else
    MAIN ldz16 $m1, $mvertex_base, $mzero, 0
    .endif
    MAIN ldz16 $m2, $mvertex_base, $mzero, 1

    .if ROWS == 1
    // $m3, $m4 the worker's place in source and output
    MAIN mul $m0, $m0, $m1
    MAIN min $m0, $m0, $m2
    MAIN ld32 $m3, $mvertex_base, $mzero, 1
    MAIN ld32 $m4, $mvertex_base, $mzero, 2
    MAIN ld32 $m5, $mvertex_base, $mzero, 4
    MAIN ld32 $m6, $mvertex_base, $mzero, 5
    MAIN mul $m2, $m0, $m5
    MAIN add $m3, $m3, $m2
    MAIN mul $m2, $m0, $m6
    MAIN add $m4, $m4, $m2
    MAIN ldz16 $m7, $mvertex_base, $mzero, 6
    MAIN ldz16 $m1, $mvertex_base, $mzero, 7
    .if PACED
    MAIN add $m5, $m5, -8
    MAIN add $m7, $m7, -1
.Lrow:
    MAIN ld64step $a0:1, $mzero, $m3+=, 1
    MAIN tapack $m8:9, $m3, $mzero, $m4
    MAIN rpt $m7, 0
    MAIN ldst64pace $a0:1, $a0:1, $m8:9+=, $mzero, 0
    MAIN st64pace $a0:1, $m8:9+=, $mzero, 0
    .else
    MAIN shl $m2, $m7, 3
    MAIN sub $m5, $m5, $m2
    MAIN sub $m6, $m6, $m2
.Lrow:
    MAIN rpt $m7, 1
    MAIN ld64step $a0:1, $mzero, $m3+=, 1
    MAIN st64step $a0:1, $mzero, $m4+=, 1
    .endif
    MAIN add $m3, $m3, $m5
    MAIN add $m4, $m4, $m6
    MAIN brnzdec $m1, .Lrow
    MAIN exitz $mzero

    .else // by words
    MAIN cmpult $m2, $m0, $m2
    MAIN add $m1, $m1, $m2
    .if PACED & (ROWS == 0)
    MAIN brneg $m1, .Lidle
    .endif
    MAIN shl $m0, $m0, 3
    .if FILL
    MAIN ld64 $a0:1, $mvertex_base, $mzero, 1
    MAIN ld32 $m4, $mvertex_base, $mzero, 1
    MAIN rpt $m1, 0
    MAIN st64step $a0:1, $m4, $m0+=, 6
    .else
    MAIN ld32 $m3, $mvertex_base, $mzero, 1
    MAIN ld32 $m4, $mvertex_base, $mzero, 2
    .if ROWS
    MAIN ldz16 $m7, $mvertex_base, $mzero, 6
    MAIN ld32 $m5, $mvertex_base, $mzero, 4
    MAIN ld32 $m6, $mvertex_base, $mzero, 5
    .endif
    .if PACED
    MAIN add $m3, $m3, $m0
    MAIN add $m4, $m4, $m0
    MAIN setzi $m0, 6
    .if ROWS
    MAIN add $m1, $m1, -1
    MAIN add $m5, $m5, -48
.Lrow:
    .endif
    MAIN ld64step $a0:1, $mzero, $m3+=, 6
    MAIN tapack $m8:9, $m3, $mzero, $m4
    MAIN rpt $m1, 0
    MAIN ldst64pace $a0:1, $a0:1, $m8:9+=, $m0, 0b0101
    MAIN st64pace $a0:1, $m8:9+=, $mzero, 0
    .else
    .if ROWS
.Lrow:
    MAIN mov $m2, $m0
    .endif
    MAIN rpt $m1, 1
    .if ROWS
    MAIN ld64step $a0:1, $m3, $m2+=, 6
    MAIN st64 $a0:1, $m4, $m2, 0
    .else
    MAIN ld64step $a0:1, $m3, $m0+=, 6
    MAIN st64 $a0:1, $m4, $m0, 0
    .endif
    .endif
    .if ROWS
    MAIN add $m3, $m3, $m5
    MAIN add $m4, $m4, $m6
    MAIN brnzdec $m7, .Lrow
    .endif
    .endif
.Lidle:
    MAIN exitz $mzero
    .endif

    .supervisor
    .globl kernel
    .type kernel, @function
kernel:
    add $m0, $m11, -32
    setzi $m1, .Lstart
    .if (FILL == 0) & (PACED == 0) & (ROWS != 1)
    add $m2, $m2, -48
    .endif
    .if FILL
    st32 $m5, $m0, $mzero, 0
    st32 $m2, $m0, $mzero, 1
    st32 $m3, $m0, $mzero, 2
    st32 $m4, $m0, $mzero, 3
    .else
    st32 $m4, $m0, $mzero, 0
    st32 $m3, $m0, $mzero, 1
    st32 $m2, $m0, $mzero, 2
    .if ROWS
    st32 $m5, $m0, $mzero, 3
    st32 $m6, $m0, $mzero, 4
    st32 $m7, $m0, $mzero, 5
    .endif
    .endif
    runall $m1, $m0, 0
    sync TEXCH_SYNCZONE_LOCAL
    br $m10
    .size kernel, . - kernel
