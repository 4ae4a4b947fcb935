// GELU of F16 panels to F143 or F16, transposed in blocks of 16 lines of 16 values.
//
// Operands   output  F143 (F8) or F16, 8-byte aligned, does not overlap source: blocks of 16 lines of 16
//            values
//            source  F16, 8-byte aligned: PANELS panels of lines of 16 values, a multiple of 16 lines
//            bias    BIAS: F16, 2-byte aligned, a value a line
// Over-read  none
// ABI        $m2 output, $m3 source, BIAS: $m4 bias; in the registers behind them F8: scale exponent, then
//            the share of a panel's quads of lines (quotient | rest << 16, for three), and if PANELS > 1
//            bytes of a panel of source; $m10 return, $m11 stack (32 bytes below it)
// Numerics   as gelu.S
//
// Symbols    PANELS 1 ... 832; F8, BIAS 0 or 1; LEFT: which block is where: 0 the blocks of a panel follow each other,
//            1 those of the same lines of all panels do
//            LINEAR, CUBIC the factors of num/gelu.h; NFMT_F143; TEXCH_SYNCZONE_LOCAL
//
// Structure. A worker takes a third of the lines (worker / 2) and a half of the lanes (worker % 2) of
// each panel, in two strips of 4 lanes. Four lines of a strip are a tile of 4 x 4 values. The
// arithmetic is that of gelu.S: P and Q are the strip's values in two lines one below the other, and a
// conversion leaves a line of codes in either register of a pair. Meanwhile the main lane transposes
// the tile before: lines A, B, C, D to
//     p = a0 b0 a1 b1    q = c0 d0 c1 d1       a0 b0 c0 d0    a1 b1 c1 d1
//     r = a2 b2 a3 b3    s = c2 d2 c3 d3       a2 b2 c2 d2    a3 b3 c3 d3
// and stores these four words, 16 bytes apart. 15 bundles (BIAS: 17) for 8 values, as without
// transposing.
//
// To F16 the main lane takes two lines at a time, to four words 32 bytes apart. It also fetches the half
// that z is multiplied with, since no register is left for it. Of 18 bundles (BIAS: 20) for 8 values all
// main lanes are taken, and all arithmetic ones but two.

    .macro MAIN instruction:vararg
    { \instruction
      fnop }
    .endm

    .macro AUX instruction:vararg
    { nop
      \instruction }
    .endm

// $a0:1 P, $a2:3 Q; $a4:5 works on P, $a6:7 on Q. $m2 source, $m4 bias, $m5 output of the strip, $m3
// offset in it; $m1 tiles less 1. F8: $m6 the offset at the start, $m11 strips to come; transposing $m7
// A, then p, $m0 r; $m8 B, C, then q, $m10 s; $m9 D; or $m10 for the next offset. F16: $m11 strips to
// come | offset at the start << 11, $m6 for the next offset; transposing $m7:8 P, $m9:10 Q, then words
// $m0, $m7, $m9, $m8.

    .macro LOAD_P aux:vararg
    { ld64step $a0:1, $mzero, $m2+=, 4
      \aux }
    .endm
    .macro LOAD_Q aux:vararg
    { ld64step $a2:3, $mzero, $m2+=, 4
      \aux }
    .endm

    .if LEFT
    .set BLOCK_LINES, 16 * PANELS // from block to block
    .else
    .set BLOCK_LINES, 16
    .endif
    .set LINE_SHIFT, 5 - F8 // of the bytes of a line of output
    .set LINE, 1 << LINE_SHIFT

    .if F8

// The product that finishes P but for its sum; `next`: fetches the bias of the next P.
    .macro PRODUCT next, main=nop
    .if BIAS & (\next)
    { ldb16step $a6, $mzero, $m4+=, 1
      f16v4mul $a4:5, $a4:5, $a0:1 }
    .elseif BIAS
    AUX f16v4mul $a4:5, $a4:5, $a0:1
    .else
    { \main
      f16v4mul $a4:5, $a4:5, $a0:1 }
    .endif
    .endm

// The powers of P, and Q of the vector before to its end.
    .macro FIRST main1=nop, main2=nop, main3=nop, main4=nop, main5=nop, main6=nop
    .if BIAS
    AUX f16v4add $a0:1, $a6:BL, $a0:1
    .endif
    { \main1
      f16v4mul $a6:7, $a0:1, $a0:1 }
    { \main2
      f16v4mul $a6:7, $a6:7, $a0:1 }
    { \main3
      f16v4mix $a6:7, $a6:7, $a0:1 }
    { \main4
      f16v2tanh $a6, $a6 }
    { \main5
      f16v2tanh $a7, $a7 }
    { \main6
      f16v4mul $a6:7, $a6:7, $a2:3 }
    LOAD_Q f16v4add $a6:7, $a6:7, $a2:3
    .if BIAS
    { ldb16step $a4, $mzero, $m4+=, 1
      f16v8tof8 $a6:7, $a4:7 }
    .else
    AUX f16v8tof8 $a6:7, $a4:7
    .endif
    .endm

// The powers of Q, and P up to its product; two lines of codes go to \low and \high.
    .macro SECOND low, high, main1=nop, main2=nop, main3=nop, main4=nop
    .if BIAS
    { atom \low, $a6
      f16v4add $a2:3, $a4:BL, $a2:3 }
    { atom \high, $a7
      f16v4mul $a4:5, $a2:3, $a2:3 }
    { \main1
      f16v4mul $a4:5, $a4:5, $a2:3 }
    { \main2
      f16v4mix $a4:5, $a4:5, $a2:3 }
    { \main3
      f16v2tanh $a4, $a4 }
    { \main4
      f16v2tanh $a5, $a5 }
    .else // main4 is for PRODUCT
    { atom \low, $a6
      f16v4mul $a4:5, $a2:3, $a2:3 }
    { atom \high, $a7
      f16v4mul $a4:5, $a4:5, $a2:3 }
    { \main1
      f16v4mix $a4:5, $a4:5, $a2:3 }
    { \main2
      f16v2tanh $a4, $a4 }
    { \main3
      f16v2tanh $a5, $a5 }
    .endif
    .endm

// Takes A and B, and moves on to the tile's place; if not BIAS the next PRODUCT must do the `and`.
    .macro AB_TRANSPOSED
    SECOND $m7, $m8, "shuf8x8hi $m0, $m7, $m8", "shuf8x8lo $m7, $m7, $m8", "add $m3, $m3, 4", "and $m10, $m3, 16"
    .endm

// All tiles of a strip.
    .macro STRIP
    .if BIAS
    MAIN ldb16step $a6, $mzero, $m4+=, 1
    .endif
    LOAD_P fnop
    .if BIAS
    LOAD_Q f16v4add $a0:1, $a6:BL, $a0:1
    { ldb16step $a4, $mzero, $m4+=, 1
      f16v4mul $a6:7, $a0:1, $a0:1 }
    .else
    LOAD_Q f16v4mul $a6:7, $a0:1, $a0:1
    .endif
    AUX f16v4mul $a6:7, $a6:7, $a0:1
    AUX f16v4mix $azeros, $a6:7, $a0:1
    SECOND $m7, $m8
    PRODUCT 1
    LOAD_P f16v4add $a4:5, $a4:5, $a0:1
    FIRST
    AB_TRANSPOSED
    MAIN rpt $m1, 29 + 4 * BIAS
    PRODUCT 1, "and $m10, $m3, 16"
    LOAD_P f16v4add $a4:5, $a4:5, $a0:1
    FIRST "mul $m10, $m10, BLOCK_LINES - 1", "add $m3, $m3, $m10"
    SECOND $m8, $m9, "shuf8x8hi $m10, $m8, $m9", "shuf8x8lo $m8, $m8, $m9", "sort4x16lo $m9, $m7, $m8", "sort4x16hi $m7, $m7, $m8"
    PRODUCT 1, "sort4x16hi $m7, $m7, $m8"
    LOAD_P f16v4add $a4:5, $a4:5, $a0:1
    FIRST "sort4x16lo $m8, $m0, $m10", "sort4x16hi $m0, $m0, $m10", "st32 $m9, $m5, $m3, 0", "st32 $m7, $m5, $m3, 4", "st32 $m8, $m5, $m3, 8", "st32 $m0, $m5, $m3, 12"
    AB_TRANSPOSED
    PRODUCT 0, "and $m10, $m3, 16"
    // the last conversion, and the last tile
    { mul $m10, $m10, BLOCK_LINES - 1
      f16v4add $a4:5, $a4:5, $a0:1 }
    { add $m3, $m3, $m10
      f16v4gacc $a6:7 }
    AUX f16v2tanh $a6, $a6
    AUX f16v2tanh $a7, $a7
    AUX f16v4mul $a6:7, $a6:7, $a2:3
    AUX f16v4add $a6:7, $a6:7, $a2:3
    AUX f16v8tof8 $a6:7, $a4:7
    MAIN atom $m8, $a6
    MAIN atom $m9, $a7
    MAIN shuf8x8hi $m10, $m8, $m9
    MAIN shuf8x8lo $m8, $m8, $m9
    MAIN sort4x16lo $m9, $m7, $m8
    MAIN sort4x16hi $m7, $m7, $m8
    MAIN sort4x16lo $m8, $m0, $m10
    MAIN sort4x16hi $m0, $m0, $m10
    MAIN st32 $m9, $m5, $m3, 0
    MAIN st32 $m7, $m5, $m3, 4
    MAIN st32 $m8, $m5, $m3, 8
    MAIN st32 $m0, $m5, $m3, 12
    .endm

    .else // F16

// $m5 is 8 less than the strip's output: words of a tile's first two lines are stored at $m3 + 8, those
// of its other two, when $m3 has moved on by 8, at $m3 + 4.
    .set EVEN, 2
    .set ODD, 1

    .macro LOAD_HALF register, aux:vararg
    { ld32 \register, $mvertex_base, $mzero, 7
      \aux }
    .endm

// Second and fourth word of two lines, whose registers the next two want soon.
    .macro STORE_1 part, aux=fnop
    { st32 $m7, $m5, $m3, \part + 8
      \aux }
    .endm
    .macro STORE_3 part, aux=fnop
    { st32 $m8, $m5, $m3, \part + 24
      \aux }
    .endm

// The end of a vector: P, and load of the next one.
    .macro END_P
    .if BIAS
    { ldb16step $a7, $mzero, $m4+=, 1
      f16v4mul $a4:5, $a4:5, $a0:1 }
    .endif
    LOAD_P f16v4add $a4:5, $a4:5, $a0:1
    .endm

// A vector up to its product of P, Q of the vector before to its end, and the words of that vector.
    .macro VECTOR store0=nop, store2=nop, step0=nop, step1=nop
    .if BIAS
    { atom $m7, $a4
      f16v4add $a0:1, $a7:BL, $a0:1 }
    { atom $m8, $a5
      f16v4mul $a6:7, $a0:1, $a0:1 }
    LOAD_HALF $a4, f16v4mul $a6:7, $a6:7, $a0:1
    { \store0
      f16v4mix $a6:7, $a6:7, $a0:1 }
    { \store2
      f16v2tanh $a6, $a6 }
    { \step0
      f16v2tanh $a7, $a7 }
    { \step1
      f16v4mul $a2:3, $a4:BL, $a2:3 }
    { ldb16step $a5, $mzero, $m4+=, 1
      f16v4mul $a6:7, $a6:7, $a2:3 }
    LOAD_Q f16v4add $a6:7, $a6:7, $a2:3
    { atom $m9, $a6
      f16v4add $a2:3, $a5:BL, $a2:3 }
    { atom $m10, $a7
      f16v4mul $a4:5, $a2:3, $a2:3 }
    LOAD_HALF $a6, f16v4mul $a4:5, $a4:5, $a2:3
    { sort4x16lo $m0, $m7, $m9
      f16v4mix $a4:5, $a4:5, $a2:3 }
    { sort4x16hi $m7, $m7, $m9
      f16v2tanh $a4, $a4 }
    { sort4x16lo $m9, $m8, $m10
      f16v2tanh $a5, $a5 }
    { sort4x16hi $m8, $m8, $m10
      f16v4mul $a0:1, $a6:BL, $a0:1 }
    .else
    { atom $m7, $a4
      f16v4mul $a6:7, $a0:1, $a0:1 }
    { atom $m8, $a5
      f16v4mul $a6:7, $a6:7, $a0:1 }
    LOAD_HALF $a4, f16v4mix $a6:7, $a6:7, $a0:1
    { \store0
      f16v2tanh $a6, $a6 }
    { \store2
      f16v2tanh $a7, $a7 }
    { \step0
      f16v4mul $a2:3, $a4:BL, $a2:3 }
    { \step1
      f16v4mul $a6:7, $a6:7, $a2:3 }
    LOAD_Q f16v4add $a6:7, $a6:7, $a2:3
    { atom $m9, $a6
      f16v4mul $a4:5, $a2:3, $a2:3 }
    { atom $m10, $a7
      f16v4mul $a4:5, $a4:5, $a2:3 }
    LOAD_HALF $a6, f16v4mix $a4:5, $a4:5, $a2:3
    { sort4x16lo $m0, $m7, $m9
      f16v2tanh $a4, $a4 }
    { sort4x16hi $m7, $m7, $m9
      f16v2tanh $a5, $a5 }
    { sort4x16lo $m9, $m8, $m10
      f16v4mul $a0:1, $a6:BL, $a0:1 }
    { sort4x16hi $m8, $m8, $m10
      f16v4mul $a4:5, $a4:5, $a0:1 }
    .endif
    .endm

// All tiles of a strip.
    .macro STRIP
    MAIN setzi $m6, 0
    .if BIAS
    MAIN ldb16step $a7, $mzero, $m4+=, 1
    LOAD_P fnop
    { ldb16step $a5, $mzero, $m4+=, 1
      f16v4add $a0:1, $a7:BL, $a0:1 }
    .else
    LOAD_P fnop
    .endif
    LOAD_Q f16v4mul $a6:7, $a0:1, $a0:1
    AUX f16v4mul $a6:7, $a6:7, $a0:1
    AUX f16v4mix $azeros, $a6:7, $a0:1
    .if BIAS
    AUX f16v4add $a2:3, $a5:BL, $a2:3
    .endif
    AUX f16v4mul $a4:5, $a2:3, $a2:3
    LOAD_HALF $a6, f16v4mul $a4:5, $a4:5, $a2:3
    AUX f16v4mix $a4:5, $a4:5, $a2:3
    AUX f16v2tanh $a4, $a4
    AUX f16v2tanh $a5, $a5
    AUX f16v4mul $a0:1, $a6:BL, $a0:1
    .if BIAS == 0
    AUX f16v4mul $a4:5, $a4:5, $a0:1
    .endif
    END_P
    VECTOR
    MAIN rpt $m1, 35 + 4 * BIAS
    END_P
    STORE_1 EVEN
    STORE_3 EVEN
    VECTOR "st32 $m0, $m5, $m3, EVEN", "st32 $m9, $m5, $m3, EVEN + 16", "add $m3, $m3, 8", "and $m6, $m3, 32"
    END_P
    STORE_1 ODD
    STORE_3 ODD
    VECTOR "st32 $m0, $m5, $m3, ODD", "st32 $m9, $m5, $m3, ODD + 16", "mul $m6, $m6, BLOCK_LINES - 1", "add $m3, $m3, $m6"
    // the last Q, and the last words
    .if BIAS
    AUX f16v4mul $a4:5, $a4:5, $a0:1
    .endif
    STORE_1 EVEN, "f16v4add $a4:5, $a4:5, $a0:1"
    STORE_3 EVEN, "f16v4gacc $a6:7"
    { atom $m7, $a4
      f16v2tanh $a6, $a6 }
    { atom $m8, $a5
      f16v2tanh $a7, $a7 }
    LOAD_HALF $a4, fnop
    { st32 $m0, $m5, $m3, EVEN
      f16v4mul $a2:3, $a4:BL, $a2:3 }
    { st32 $m9, $m5, $m3, EVEN + 16
      f16v4mul $a6:7, $a6:7, $a2:3 }
    { add $m3, $m3, 8
      f16v4add $a6:7, $a6:7, $a2:3 }
    MAIN atom $m9, $a6
    MAIN atom $m10, $a7
    MAIN sort4x16lo $m0, $m7, $m9
    MAIN sort4x16hi $m7, $m7, $m9
    MAIN sort4x16lo $m9, $m8, $m10
    MAIN sort4x16hi $m8, $m8, $m10
    MAIN st32 $m0, $m5, $m3, ODD
    STORE_1 ODD
    MAIN st32 $m9, $m5, $m3, ODD + 16
    STORE_3 ODD
    .endm
    .endif

    .section .text.gelu_turn, "ax", @progbits
    .align 8
    .worker

// Frame: 0 share, 1 source, 2 output, 3 bias, 4 bytes of a panel of source, 7 one half.
.Lstart:
    { get $m0, $WSR
      setzi $a0, (CUBIC | LINEAR << 16) & 0xFFFFF }
    { and $m0, $m0, 7
      or $a0, $a0, (CUBIC | LINEAR << 16) & 0xFFF00000 }
    { shr $m7, $m0, 1
      uput $TAS, $a0 }
    .if F8
    { ldz16 $m1, $mvertex_base, $mzero, 0
      setzi $a0, NFMT_F143 }
    { ldz16 $m8, $mvertex_base, $mzero, 1
      uput $FP_NFMT, $a0 }
    .else
    MAIN ldz16 $m1, $mvertex_base, $mzero, 0
    MAIN ldz16 $m8, $mvertex_base, $mzero, 1
    .endif
    // $m9 the first quad of lines
    MAIN mul $m9, $m7, $m1
    MAIN min $m10, $m7, $m8
    MAIN add $m9, $m9, $m10
    MAIN cmpult $m8, $m7, $m8
    MAIN add $m1, $m1, $m8
    MAIN add $m1, $m1, -1
    MAIN and $m0, $m0, 1
    MAIN ld32 $m2, $mvertex_base, $mzero, 1
    MAIN shl $m10, $m9, 7
    MAIN add $m2, $m2, $m10
    MAIN shl $m10, $m0, 4
    MAIN add $m2, $m2, $m10
    MAIN ld32 $m5, $mvertex_base, $mzero, 2
    MAIN shl $m10, $m0, LINE_SHIFT + 3
    MAIN add $m5, $m5, $m10
    .if BIAS
    MAIN ld32 $m4, $mvertex_base, $mzero, 3
    MAIN shl $m10, $m9, 3
    MAIN add $m4, $m4, $m10
    .endif
    .if F8
    // the place before the first one: the fourth in the block before, if it begins a block
    MAIN add $m9, $m9, -1
    MAIN shrs $m6, $m9, 2
    .else
    MAIN add $m5, $m5, -8
    MAIN shr $m6, $m9, 2
    .endif
    MAIN mul $m6, $m6, BLOCK_LINES
    MAIN shl $m6, $m6, LINE_SHIFT
    MAIN and $m9, $m9, 3
    MAIN shl $m9, $m9, 3 - F8
    MAIN add $m6, $m6, $m9
    .if F8
    MAIN setzi $m11, 2 * PANELS - 1
    .else
    MAIN shl $m11, $m6, 11
    MAIN add $m11, $m11, 2 * PANELS - 1
    .endif

.Lstrip:
    .if F8
    MAIN mov $m3, $m6
    .else
    MAIN shr $m3, $m11, 11
    .endif
    STRIP
    // back to the strip's first line
    MAIN add $m0, $m1, 1
    MAIN shl $m0, $m0, 7
    MAIN sub $m2, $m2, $m0
    .if BIAS
    MAIN shr $m0, $m0, 4
    MAIN sub $m4, $m4, $m0
    .endif
    // $m11 counts the strips to come; of an odd number one is of this panel
    .macro NEXT_STRIP
    .if F8
    MAIN brnzdec $m11, .Lstrip
    .else
    MAIN and $m0, $m11, 0x7FF
    MAIN add $m11, $m11, -1
    MAIN brnz $m0, .Lstrip
    .endif
    MAIN exitz $mzero
    .endm
    .if PANELS > 1
    MAIN and $m0, $m11, 1
    MAIN brz $m0, .Lpanel
    .endif
    MAIN add $m2, $m2, 8
    MAIN add $m5, $m5, 4 * LINE
    NEXT_STRIP
    .if PANELS > 1
.Lpanel:
    MAIN ld32 $m0, $mvertex_base, $mzero, 4
    MAIN add $m2, $m2, $m0
    MAIN add $m2, $m2, -8
    .if LEFT
    MAIN add $m5, $m5, 16 * LINE - 4 * LINE
    .else
    .if F8
    MAIN shr $m0, $m0, 1
    .endif
    MAIN add $m5, $m5, $m0
    MAIN add $m5, $m5, -4 * LINE
    .endif
    NEXT_STRIP
    .endif

    .supervisor
    .globl kernel
    .type kernel, @function
// Stores the share, which is $m4 or up to two registers on, and what follows it.
    .macro SHARE share, panel
    st32 \share, $m0, $mzero, 0
    .if PANELS > 1
    st32 \panel, $m0, $mzero, 4
    .endif
    .endm
kernel:
    add $m0, $m11, -32
    setzi $m1, .Lstart
    .if F8 & BIAS
    sub $m5, -1, $m5
    .elseif F8
    sub $m4, -1, $m4
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
    SHARE $m6, $m7
    .elseif F8
    put $FP_ISCL, $m4
    SHARE $m5, $m6
    .else
    st32 $m9, $m0, $mzero, 7
    .if BIAS
    SHARE $m5, $m6
    .else
    SHARE $m4, $m5
    .endif
    .endif
    runall $m1, $m0, 0
    sync TEXCH_SYNCZONE_LOCAL
    br $m10
    .size kernel, . - kernel
