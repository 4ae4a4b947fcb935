// Between row-major matrices and orders whose lines run along the rows: Left, TransposedRight.
//
// A row is cut into lines of LINE bytes; line p of row r lies in panel p. A panel is ROWS lines, or 16
// (BLOCKS16: the panels of 16 rows follow each other, then those of the next 16).
//
// Operands   output, source: one row-major, ROW bytes a row and PITCH from row to row, the other in
//            lines; both 8 bytes aligned, they do not overlap; FAST: no memory element in common
//            packing: what lacks in a row's last line, BLOCKS16: and in the last 16 rows, becomes
//            zeros; UNPACK leaves bytes between rows as they are
// Over-read  none
// ABI        $m2 output, $m3 source; $m10 return, $m11 stack (8 bytes below it)
// Numerics   bits are moved
//
// Symbols    UNPACK, BLOCKS16, FAST 0 or 1 (FAST: a panel within 511 words of 8 bytes); LINE 16 or 32;
//            ROWS >= 1; ROW, PITCH multiples of 8; TEXCH_SYNCZONE_LOCAL as in the SDK's headers
//
// Structure. Worker w takes RUN = ceil(rows / 6) rows from row min(w * RUN, rows - RUN) on; rows of
// two workers may be the same, which write the same. A word takes a load and a store; FAST: in one
// bundle, the bound of the store port.

    .set WORDS, LINE / 8
    .set LINES, ROW / LINE            // full ones
    .set TAIL, (ROW - LINES * LINE) / 8
    .set ALL_LINES, LINES + (TAIL > 0)
    .set ALL_ROWS, ROWS
    .set PANEL_LINES, ROWS
    .if BLOCKS16
    .set PANEL_LINES, 16
    .if UNPACK == 0
    .set ALL_ROWS, (ROWS + 15) / 16 * 16
    .endif
    .endif
    .set RUN, (ALL_ROWS + 5) / 6
    .set JUMP, (PANEL_LINES - 1) * WORDS + 1
    .set BLOCK_BYTES, ALL_LINES * 16 * LINE

// $m2 row's bytes, $m3 its first line, $m2:3 packed while FAST moves it; $m4 JUMP, FAST: $m5 the same
// as a packed stride; $m6 row, $m1 rows to come, $m8 and $m9 $m2 and $m3 of the next row

    .macro MAIN instruction:vararg
    { \instruction
      fnop }
    .endm

    .macro ADD_BYTES register, bytes
    .if ((\bytes) <= 32767)
    MAIN add \register, \register, \bytes
    .else
    MAIN setzi $m7, \bytes
    MAIN add \register, \register, $m7
    .endif
    .endm

// Word `index` of a line; more: and (FAST) loads the next one.
    .macro WORD index, more
    .set STORE_JUMP, (UNPACK == 0) & (\index == WORDS - 1)
    .set LOAD_JUMP, UNPACK & (\index == WORDS - 2)
    .if FAST & \more
    MAIN ldst64pace $a0:1, $a0:1, $m2:3+=, $m5, LOAD_JUMP + 4 * STORE_JUMP
    .elseif FAST
    MAIN st64pace $a0:1, $m2:3+=, $m5, STORE_JUMP
    .elseif UNPACK & (\index == WORDS - 1)
    MAIN ld64step $a0:1, $mzero, $m3+=, $m4
    MAIN st64step $a0:1, $mzero, $m2+=, 1
    .elseif UNPACK
    MAIN ld64step $a0:1, $mzero, $m3+=, 1
    MAIN st64step $a0:1, $mzero, $m2+=, 1
    .else
    MAIN ld64step $a0:1, $mzero, $m2+=, 1
    .if STORE_JUMP
    MAIN st64step $a0:1, $mzero, $m3+=, $m4
    .else
    MAIN st64step $a0:1, $mzero, $m3+=, 1
    .endif
    .endif
    .endm

// count words of a line, each of which but the last loads the next one; more: the last one too.
    .macro LINE_OF count, more
    .set INDEX, 0
    .rept \count
    .if INDEX < \count - 1
    WORD INDEX, 1
    .else
    WORD INDEX, \more
    .endif
    .set INDEX, INDEX + 1
    .endr
    .endm

    .section .text.lines, "ax", @progbits
    .align 8
    .worker

.Lstart:
    MAIN get $m0, $WSR
    MAIN and $m0, $m0, 7
    .if UNPACK
    MAIN ld32 $m9, $mvertex_base, $mzero, 0
    MAIN ld32 $m8, $mvertex_base, $mzero, 1
    .else
    MAIN ld32 $m8, $mvertex_base, $mzero, 0
    MAIN ld32 $m9, $mvertex_base, $mzero, 1
    .endif
    MAIN mul $m6, $m0, RUN
    MAIN setzi $m7, ALL_ROWS - RUN
    MAIN min $m6, $m6, $m7
    MAIN setzi $m7, PITCH
    MAIN mul $m7, $m7, $m6
    MAIN add $m8, $m8, $m7
    .if BLOCKS16
    MAIN shr $m7, $m6, 4
    MAIN setzi $m5, BLOCK_BYTES
    MAIN mul $m7, $m7, $m5
    MAIN add $m9, $m9, $m7
    MAIN and $m7, $m6, 15
    MAIN mul $m7, $m7, LINE
    .else
    MAIN mul $m7, $m6, LINE
    .endif
    MAIN add $m9, $m9, $m7
    MAIN setzi $m4, JUMP
    .if FAST
    MAIN mov $m5, $m4
    .endif
    MAIN setzi $m1, RUN - 1
.Lrow:
    MAIN mov $m3, $m9
    .if ALL_ROWS > ROWS
    MAIN cmpult $m7, $m6, ROWS
    MAIN brz $m7, .Lzeros
    .endif
    .if FAST & UNPACK
    MAIN ld64step $a0:1, $mzero, $m3+=, 1
    MAIN tapack $m2:3, $m3, $mzero, $m8
    .elseif FAST
    MAIN mov $m2, $m8
    MAIN ld64step $a0:1, $mzero, $m2+=, 1
    MAIN tapack $m2:3, $m2, $mzero, $m3
    .else
    MAIN mov $m2, $m8
    .endif
    .if TAIL
    .if LINES
    MAIN rpt LINES, (2 - FAST) * WORDS - 1
    LINE_OF WORDS, 1
    .endif
    LINE_OF TAIL, 0
    .if UNPACK == 0
    .rept WORDS - TAIL
    .if FAST
    MAIN st64pace $azeros, $m2:3+=, $mzero, 0
    .else
    MAIN st64step $azeros, $mzero, $m3+=, 1
    .endif
    .endr
    .endif
    .elseif FAST
    MAIN rpt LINES - 1, WORDS - 1
    LINE_OF WORDS, 1
    LINE_OF WORDS, 0
    .else
    MAIN rpt LINES, 2 * WORDS - 1
    LINE_OF WORDS, 0
    .endif
.Lnext:
    ADD_BYTES $m8, PITCH
    MAIN add $m9, $m9, LINE
    .if BLOCKS16
    MAIN add $m6, $m6, 1
    MAIN and $m7, $m6, 15
    MAIN brnz $m7, .Linside
    .if ALL_LINES > 1
    ADD_BYTES $m9, BLOCK_BYTES-16*LINE
    .else
    MAIN nop
    .endif
.Linside:
    .endif
    MAIN brnzdec $m1, .Lrow
    MAIN exitz $mzero

    .if ALL_ROWS > ROWS
.Lzeros:
    MAIN rpt ALL_LINES, WORDS - 1
    .rept WORDS - 1
    MAIN st64step $azeros, $mzero, $m3+=, 1
    .endr
    MAIN st64step $azeros, $mzero, $m3+=, $m4
    MAIN bri .Lnext
    .endif

    .supervisor
    .globl kernel
    .type kernel, @function
kernel:
    add $m0, $m11, -8
    setzi $m1, .Lstart
    st32 $m3, $m0, $mzero, 0
    st32 $m2, $m0, $mzero, 1
    runall $m1, $m0, 0
    sync TEXCH_SYNCZONE_LOCAL
    br $m10
    .size kernel, . - kernel
