// Between row-major matrices and orders whose lines run down the columns: TransposedLeft, Right,
// BlockMajor.
//
// A line holds GROUP neighbouring values of one column, a panel the lines of the same rows: of 16
// columns (RIGHT, column groups outer, panels inner), or of all. GROUPS matrices of ROWS x COLUMNS
// follow each other, on the row-major side without a gap.
//
// Operands   output, source: one row-major, PITCH bytes from row to row, the other in lines; both 8
//            bytes aligned, they do not overlap; FAST: no memory element in common
//            packing: rows up to a multiple of GROUP, RIGHT: and columns up to one of 16, become
//            zeros; UNPACK leaves bytes between rows as they are
// Over-read  none
// ABI        $m2 output, $m3 source; $m10 return, $m11 stack (8 bytes below it)
// Numerics   bits are moved
//
// Symbols    F8 0: F16, 1: one byte a value; UNPACK, RIGHT, FAST 0 or 1; FAST: F16, strides within 511
//            words of 8 bytes; LINE bytes of a line: 32, or 16 if F8; ROWS >= 1, COLUMNS a multiple of
//            4, PITCH of 8, GROUPS
//            1 ... 4096; TISTACC_P0, TSTACC_P0, TEXCH_SYNCZONE_LOCAL as in the SDK's headers
//
// Structure. Four columns (a quad) are a unit of work: worker w takes quads w, w + 6, ... of every
// matrix, all its rows. The values pass through the accumulators' transpose pipe: two istacc put in
// four rows of four halves; two stacc and the next block's istacc give back four columns. Of bytes,
// two rows are first shuffled into halves. What is loaded and stored in a bundle is spread so that
// eight registers do:
//     F16, FAST     load row 3      store column 1 of the block before    istacc rows 0, 1 -> column 2
//     (4 bundles    load next row 0 store column 2                        istacc rows 2, 3 -> column 3
//     for 16        load next row 1 store column 3                        stacc -> column 0
//     values)       load next row 2 store column 0                        stacc -> column 1
// Without FAST each access takes a bundle of its own: 8. Packing bytes: 12 bundles for 32 values, as
// many as shuffles and steps of the pipe. Unpacking bytes: 8 for 16, four shuffles and four sorts.

    .set WORDS, LINE / 8           // of a line
    .set GROUP, LINE / (2 - F8)    // values of a line
    .set PANELS, ROWS / GROUP      // full ones
    .set TAIL, ROWS - GROUP * PANELS
    .set ALL_PANELS, PANELS + (TAIL > 0)
    .if RIGHT
    .set PANEL_LINES, 16
    .set QUADS, (COLUMNS + 15) / 16 * 4
    .else
    .set PANEL_LINES, COLUMNS
    .set QUADS, COLUMNS / 4
    .endif
    .if UNPACK
    .set QUADS, COLUMNS / 4
    .endif
    .set FULL_QUADS, COLUMNS / 4
    .set PANEL_BYTES, PANEL_LINES * LINE
    .set MATRIX_BYTES, ALL_PANELS * PANEL_BYTES
    .if RIGHT
    .set MATRIX_BYTES, (COLUMNS + 15) / 16 * ALL_PANELS * PANEL_BYTES
    .endif
    .if F8 == 0
    .set PANEL_BUNDLES, (8 - 4 * FAST) * WORDS
    .elseif UNPACK
    .set PANEL_BUNDLES, 16 * WORDS
    .else
    .set PANEL_BUNDLES, 12 * WORDS
    .endif
    .set QUAD_BYTES, 8 / (1 + F8)  // of four values
    .set UNIT, 1 + (F8 & UNPACK)   // accesses to a word of a line
    .set BLOCKS, WORDS * UNIT      // steps along a line
    // Steps of the pointer to lines, in accesses: to the next line; from the last line on to the next
    // word; to the next panel.
    .set NEXT, BLOCKS
    .set BACK, 1 - 3 * BLOCKS
    .set JUMP, PANEL_LINES * BLOCKS - 4 * BLOCKS + 1
    .set BY_ROW, 0
    .set BY_LINE, 1
    .set BY_BACK, 2
    .set BY_JUMP, 3

// $m2, $m3 pointers to rows and to lines (FAST: $m2:3 packed, load and store), $m4 rows' stride ($m5
// JUMP); FAST: $m4 fields rows' stride, NEXT, BACK and $m5 rows' stride, NEXT, JUMP; $m7 rows' stride
// of plain pointers before and after the stream. $m6 quad, $m1
// quads to come, $m8, $m9 the quad's rows and lines, $m10, $m11 the matrix in lines and rows; $m0
// worker | matrices to come << 8

    .macro MAIN instruction:vararg
    { \instruction
      fnop }
    .endm

    .macro ADD_BYTES register, source, bytes
    .if (\bytes) <= 32767
    MAIN add \register, \source, \bytes
    .else
    MAIN setzi $m7, \bytes
    MAIN add \register, \source, $m7
    .endif
    .endm

// One access with a plain pointer and step `by`, beside an aux instruction.
    .macro STEP operation, register, by, aux:vararg
    .if (\by == BY_ROW) & FAST
    { \operation \register, $mzero, $m2+=, $m7
      \aux }
    .elseif \by == BY_ROW
    { \operation \register, $mzero, $m2+=, $m4
      \aux }
    .elseif \by == BY_LINE
    { \operation \register, $mzero, $m3+=, NEXT
      \aux }
    .elseif \by == BY_BACK
    { \operation \register, $mzero, $m3+=, BACK
      \aux }
    .else
    { \operation \register, $mzero, $m3+=, $m5
      \aux }
    .endif
    .endm

    .macro LOAD register, by, aux:vararg
    .if F8
    STEP ld32step, \register, \by, \aux
    .else
    STEP ld64step, \register, \by, \aux
    .endif
    .endm

    .macro STORE register, by, aux:vararg
    .if F8 & UNPACK
    STEP st32step, \register, \by, \aux
    .elseif FAST == 0
    STEP st64step, \register, \by, \aux
    .elseif \by == BY_JUMP
    { st64pace \register, $m2:3+=, $m5, 3
      \aux }
    .else
    { st64pace \register, $m2:3+=, $m4, 1 + \by
      \aux }
    .endif
    .endm

// FAST: a load and a store in one bundle.
    .macro BOTH load, load_by, store, store_by, aux:vararg
    .if FAST == 0
    STORE \store, \store_by, fnop
    LOAD \load, \load_by, \aux
    .else
    .set SELECT, (1 + \load_by) + 4 * (1 + \store_by)
    .if \load_by == BY_JUMP
    .set SELECT, 3 + 4 * (1 + \store_by)
    .endif
    .if \store_by == BY_JUMP
    .set SELECT, (1 + \load_by) + 4 * 3
    .endif
    .if (\load_by == BY_JUMP) | (\store_by == BY_JUMP)
    { ldst64pace \load, \store, $m2:3+=, $m5, SELECT
      \aux }
    .else
    { ldst64pace \load, \store, $m2:3+=, $m4, SELECT
      \aux }
    .endif
    .endif
    .endm

    .if UNPACK
    .set LOAD_BY, BY_LINE
    .set STORE_BY, BY_ROW
    .else
    .set LOAD_BY, BY_ROW
    .set STORE_BY, BY_LINE
    .endif

// What follows the last line of a block of loads or stores; end: of a panel.
    .macro ENDS end
    .set LOAD_END, LOAD_BY
    .set STORE_END, STORE_BY
    .if UNPACK & (\end)
    .set LOAD_END, BY_JUMP
    .elseif UNPACK
    .set LOAD_END, BY_BACK
    .elseif (\end)
    .set STORE_END, BY_JUMP
    .else
    .set STORE_END, BY_BACK
    .endif
    .endm

// ---- blocks of four rows of halves

    .macro HALVES_START
    LOAD $a0:1, LOAD_BY, fnop
    LOAD $a2:3, LOAD_BY, fnop
    LOAD $a4:5, LOAD_BY, fnop
    ENDS 0
    LOAD $a6:7, LOAD_END, f16v4istacc $a0:1, $a0:1, $a2:3, TISTACC_P0
    LOAD $a0:1, LOAD_BY, f16v4istacc $a4:5, $a4:5, $a6:7, TISTACC_P0 + 1
    LOAD $a2:3, LOAD_BY, f16v4stacc $a6:7, TSTACC_P0
    .if FAST & UNPACK
    MAIN tapack $m2:3, $m3, $mzero, $m2
    .elseif FAST
    MAIN tapack $m2:3, $m2, $mzero, $m3
    .endif
    BOTH $a4:5, LOAD_BY, $a6:7, STORE_BY, f16v4stacc $a6:7, TSTACC_P0 + 1
    .endm

// before: the block before ends a panel; end: this one does; last: it is the last.
    .macro HALVES_BLOCK before, end, last
    ENDS \end
    BOTH $a6:7, LOAD_END, $a6:7, STORE_BY, f16v4istacc $a0:1, $a0:1, $a2:3, TISTACC_P0
    ENDS \before
    .if \last
    STORE $a0:1, STORE_BY, f16v4istacc $a4:5, $a4:5, $a6:7, TISTACC_P0 + 1
    STORE $a4:5, STORE_END, f16v4stacc $a6:7, TSTACC_P0
    STORE $a6:7, STORE_BY, f16v4stacc $a6:7, TSTACC_P0 + 1
    STORE $a6:7, STORE_BY, f16v4istacc $a0:1, $a0:1, $a2:3, TISTACC_P0
    STORE $a0:1, STORE_BY, f16v4istacc $a4:5, $a0:1, $a2:3, TISTACC_P0 + 1
    ENDS 1
    STORE $a4:5, STORE_END, fnop
    .else
    BOTH $a0:1, LOAD_BY, $a0:1, STORE_BY, f16v4istacc $a4:5, $a4:5, $a6:7, TISTACC_P0 + 1
    BOTH $a2:3, LOAD_BY, $a4:5, STORE_END, f16v4stacc $a6:7, TSTACC_P0
    BOTH $a4:5, LOAD_BY, $a6:7, STORE_BY, f16v4stacc $a6:7, TSTACC_P0 + 1
    .endif
    .endm

// ---- blocks of eight rows of four bytes, to lines

    .macro BYTES_START
    LOAD $a4, LOAD_BY, fnop
    LOAD $a5, LOAD_BY, fnop
    LOAD $a6, LOAD_BY, fnop
    .endm

    .macro EITHER store, register, by, aux:vararg
    .if \store
    STORE \register, \by, \aux
    .else
    { nop
      \aux }
    .endif
    .endm

    .macro NEXT_LOAD last, register, aux:vararg
    .if \last
    { nop
      \aux }
    .else
    LOAD \register, LOAD_BY, \aux
    .endif
    .endm

    .macro BYTES_BLOCK first, before, last
    ENDS \before
    EITHER 1-(\first), $a0:1, STORE_BY, shuf8x8lo $a0, $a4, $a5
    LOAD $a7, LOAD_BY, shuf8x8hi $a1, $a4, $a5
    LOAD $a4, LOAD_BY, shuf8x8lo $a2, $a6, $a7
    LOAD $a5, LOAD_BY, shuf8x8hi $a3, $a6, $a7
    LOAD $a6, LOAD_BY, f16v4istacc $a0:1, $a0:1, $a2:3, TISTACC_P0
    EITHER 1-(\first), $a0:1, STORE_BY, shuf8x8lo $a0, $a4, $a5
    LOAD $a7, LOAD_BY, shuf8x8hi $a1, $a4, $a5
    NEXT_LOAD \last, $a4, shuf8x8lo $a2, $a6, $a7
    NEXT_LOAD \last, $a5, shuf8x8hi $a3, $a6, $a7
    NEXT_LOAD \last, $a6, f16v4istacc $a0:1, $a0:1, $a2:3, TISTACC_P0 + 1
    EITHER 1-(\first), $a0:1, STORE_END, f16v4stacc $a0:1, TSTACC_P0
    STORE $a0:1, STORE_BY, f16v4stacc $a0:1, TSTACC_P0 + 1
    .if \last
    STORE $a0:1, STORE_BY, f16v4istacc $a0:1, $a0:1, $a2:3, TISTACC_P0
    STORE $a0:1, STORE_BY, f16v4istacc $a0:1, $a0:1, $a2:3, TISTACC_P0 + 1
    ENDS 1
    STORE $a0:1, STORE_END, fnop
    .endif
    .endm

// ---- blocks of four bytes of four lines, to rows

    .macro LINES_START
    LOAD $a0, BY_LINE, fnop
    LOAD $a1, BY_LINE, fnop
    LOAD $a3, BY_LINE, fnop
    .endm

    .macro LINES_BLOCK first, end, last
    ENDS \end
    EITHER 1-(\first), $a5, BY_ROW, shuf8x8lo $a4, $a0, $a1
    LOAD $a2, LOAD_END, shuf8x8hi $a5, $a0, $a1
    NEXT_LOAD \last, $a0, shuf8x8lo $a6, $a3, $a2
    NEXT_LOAD \last, $a1, shuf8x8hi $a7, $a3, $a2
    NEXT_LOAD \last, $a3, sort4x16lo $a2, $a4, $a6
    STORE $a2, BY_ROW, sort4x16hi $a4, $a4, $a6
    STORE $a4, BY_ROW, sort4x16lo $a6, $a5, $a7
    STORE $a6, BY_ROW, sort4x16hi $a5, $a5, $a7
    .if \last
    STORE $a5, BY_ROW, fnop
    .endif
    .endm

// ---- a quad

    .macro START
    .if F8 == 0
    HALVES_START
    .elseif UNPACK
    LINES_START
    LINES_BLOCK 1, 0, 0
    .else
    BYTES_START
    BYTES_BLOCK 1, 0, 0
    .endif
    .endm

// index: of the block in its panel.
    .macro BLOCK index, last
    .if F8 == 0
    HALVES_BLOCK \index==0, \index==BLOCKS-1, \last
    .elseif UNPACK
    LINES_BLOCK 0, \index==BLOCKS-1, \last
    .else
    BYTES_BLOCK 0, \index==0, \last
    .endif
    .endm

// Blocks 1 ... of a panel; last: it is the last panel.
    .macro OTHER_BLOCKS last
    .set INDEX, 1
    .rept BLOCKS - 1
    BLOCK INDEX, (\last)&(INDEX==BLOCKS-1)
    .set INDEX, INDEX + 1
    .endr
    .endm

// Blocks of the last panel of which only some rows exist: `rows` of 4, of bytes to lines of 8. FAST
// has plain pointers again here.
    .macro PLAIN_STORE register, by, aux:vararg
    .if F8 & UNPACK
    STEP st32step, \register, \by, \aux
    .else
    STEP st64step, \register, \by, \aux
    .endif
    .endm

    .macro FOUR_LINES a, b, c, d
    PLAIN_STORE \a, BY_LINE, f16v4stacc $a2:3, TSTACC_P0 + 1
    PLAIN_STORE \b, BY_LINE, f16v4istacc $a4:5, $azeros, $azeros, TISTACC_P0
    PLAIN_STORE \c, BY_LINE, f16v4istacc $a6:7, $azeros, $azeros, TISTACC_P0 + 1
    PLAIN_STORE \d, BY_BACK, fnop
    .endm

    .macro TAIL_HALVES rows
    .if \rows > 0
    LOAD $a0:1, BY_ROW, or64 $a2:3, $azeros, $azeros
    .endif
    .if \rows > 1
    LOAD $a2:3, BY_ROW, fnop
    .endif
    .if \rows > 2
    LOAD $a4:5, BY_ROW, or64 $a6:7, $azeros, $azeros
    .endif
    .if \rows > 3
    LOAD $a6:7, BY_ROW, fnop
    .endif
    { nop
      f16v4istacc $azeros, $a0:1, $a2:3, TISTACC_P0 }
    .if \rows > 2
    { nop
      f16v4istacc $azeros, $a4:5, $a6:7, TISTACC_P0 + 1 }
    .else
    { nop
      f16v4istacc $azeros, $azeros, $azeros, TISTACC_P0 + 1 }
    .endif
    { nop
      f16v4stacc $a0:1, TSTACC_P0 }
    FOUR_LINES $a0:1, $a2:3, $a4:5, $a6:7
    .endm

    .macro TAIL_PAIR first, low, high, rows
    .if \rows > \first
    LOAD $a4, BY_ROW, or $a5, $azero, $azero
    .if \rows > \first + 1
    LOAD $a5, BY_ROW, fnop
    .endif
    { nop
      shuf8x8lo \low, $a4, $a5 }
    { nop
      shuf8x8hi \high, $a4, $a5 }
    .else
    { nop
      or \low, $azero, $azero }
    { nop
      or \high, $azero, $azero }
    .endif
    .endm

    .macro TAIL_BYTES rows
    TAIL_PAIR 0, $a0, $a1, \rows
    TAIL_PAIR 2, $a2, $a3, \rows
    { nop
      f16v4istacc $azeros, $a0:1, $a2:3, TISTACC_P0 }
    TAIL_PAIR 4, $a0, $a1, \rows
    TAIL_PAIR 6, $a2, $a3, \rows
    { nop
      f16v4istacc $azeros, $a0:1, $a2:3, TISTACC_P0 + 1 }
    { nop
      f16v4stacc $a0:1, TSTACC_P0 }
    FOUR_LINES $a0:1, $a2:3, $a4:5, $a6:7
    .endm

    .macro TAIL_ZEROS
    PLAIN_STORE $azeros, BY_LINE, fnop
    PLAIN_STORE $azeros, BY_LINE, fnop
    PLAIN_STORE $azeros, BY_LINE, fnop
    PLAIN_STORE $azeros, BY_BACK, fnop
    .endm

    .macro TAIL_TO_ROWS rows
    .if F8
    LOAD $a0, BY_LINE, fnop
    LOAD $a1, BY_LINE, fnop
    LOAD $a3, BY_LINE, shuf8x8lo $a4, $a0, $a1
    LOAD $a2, BY_BACK, shuf8x8hi $a5, $a0, $a1
    { nop
      shuf8x8lo $a6, $a3, $a2 }
    { nop
      shuf8x8hi $a7, $a3, $a2 }
    { nop
      sort4x16lo $a2, $a4, $a6 }
    PLAIN_STORE $a2, BY_ROW, sort4x16hi $a4, $a4, $a6
    .if \rows > 1
    PLAIN_STORE $a4, BY_ROW, sort4x16lo $a6, $a5, $a7
    .endif
    .if \rows > 2
    PLAIN_STORE $a6, BY_ROW, sort4x16hi $a5, $a5, $a7
    .endif
    .if \rows > 3
    PLAIN_STORE $a5, BY_ROW, fnop
    .endif
    .else
    LOAD $a0:1, BY_LINE, fnop
    LOAD $a2:3, BY_LINE, fnop
    LOAD $a4:5, BY_LINE, f16v4istacc $azeros, $a0:1, $a2:3, TISTACC_P0
    LOAD $a6:7, BY_BACK, fnop
    { nop
      f16v4istacc $azeros, $a4:5, $a6:7, TISTACC_P0 + 1 }
    { nop
      f16v4stacc $a0:1, TSTACC_P0 }
    PLAIN_STORE $a0:1, BY_ROW, f16v4stacc $a2:3, TSTACC_P0 + 1
    .if \rows > 1
    PLAIN_STORE $a2:3, BY_ROW, f16v4istacc $a4:5, $azeros, $azeros, TISTACC_P0
    .endif
    .if \rows > 2
    PLAIN_STORE $a4:5, BY_ROW, f16v4istacc $a6:7, $azeros, $azeros, TISTACC_P0 + 1
    .endif
    .if \rows > 3
    PLAIN_STORE $a6:7, BY_ROW, fnop
    .endif
    .endif
    .endm

    .macro TAIL_PANEL
    .set LEFT, TAIL
    .set STEP_ROWS, GROUP / BLOCKS
    .rept BLOCKS
    .set HERE, LEFT
    .if LEFT > STEP_ROWS
    .set HERE, STEP_ROWS
    .endif
    .if (HERE > 0) & UNPACK
    TAIL_TO_ROWS HERE
    .elseif (HERE > 0) & F8
    TAIL_BYTES HERE
    .elseif HERE > 0
    TAIL_HALVES HERE
    .elseif UNPACK == 0
    TAIL_ZEROS
    .endif
    .set LEFT, LEFT - HERE
    .endr
    .endm

    .section .text.transpose, "ax", @progbits
    .align 8
    .worker

    .macro FIELDS register, one, two, three
    .set BITS, ((\one) & 0x3FF) | ((\two) & 0x3FF) << 10 | ((\three) & 0x3FF) << 20
    MAIN setzi \register, BITS & 0xFFFFF
    MAIN or \register, \register, BITS & 0xFFF00000
    .endm

.Lstart:
    MAIN get $m0, $WSR
    MAIN and $m0, $m0, 7
    .if UNPACK
    MAIN ld32 $m10, $mvertex_base, $mzero, 0
    MAIN ld32 $m11, $mvertex_base, $mzero, 1
    .else
    MAIN ld32 $m11, $mvertex_base, $mzero, 0
    MAIN ld32 $m10, $mvertex_base, $mzero, 1
    .endif
    .if QUADS < 6
    MAIN cmpult $m7, $m0, QUADS
    MAIN brz $m7, .Lend
    .endif
    .if FAST
    FIELDS $m4, PITCH/8, NEXT, BACK
    FIELDS $m5, PITCH/8, NEXT, JUMP
    .elseif F8
    MAIN setzi $m4, PITCH/4
    MAIN setzi $m5, JUMP
    .else
    MAIN setzi $m4, PITCH/8
    MAIN setzi $m5, JUMP
    .endif
    .if GROUPS > 1
    MAIN setzi $m7, (GROUPS - 1) << 8
    MAIN or $m0, $m0, $m7
.Lmatrix:
    MAIN and $m6, $m0, 7
    .else
    MAIN mov $m6, $m0
    .endif
    // $m1 the worker's quads, less one
    .set QUOTIENT, QUADS / 6
    .set REST, QUADS - 6 * QUOTIENT
    .if QUADS < 6
    MAIN setzi $m1, 0
    .elseif REST
    MAIN cmpult $m1, $m6, REST
    MAIN add $m1, $m1, QUOTIENT - 1
    .else
    MAIN setzi $m1, QUOTIENT - 1
    .endif
    MAIN mul $m8, $m6, QUAD_BYTES
    MAIN add $m8, $m8, $m11
.Lquad:
    .if RIGHT
    MAIN shr $m9, $m6, 2
    MAIN setzi $m7, ALL_PANELS * PANEL_BYTES
    MAIN mul $m9, $m9, $m7
    MAIN and $m7, $m6, 3
    MAIN mul $m7, $m7, 4 * LINE
    MAIN add $m9, $m9, $m7
    .else
    MAIN mul $m9, $m6, 4 * LINE
    .endif
    MAIN add $m3, $m9, $m10
    .if QUADS > FULL_QUADS
    MAIN cmpult $m7, $m6, FULL_QUADS
    MAIN brz $m7, .Lzeros
    .endif
    MAIN mov $m2, $m8
    .if PANELS
    .if FAST & (TAIL > 0)
    MAIN mov $m9, $m3
    .endif
    .if FAST
    MAIN setzi $m7, PITCH/8
    .endif
    START
    MAIN rpt PANELS - 1, PANEL_BUNDLES - 1
    OTHER_BLOCKS 0
    BLOCK 0, 0
    OTHER_BLOCKS 1
    .endif
    .if TAIL
    .if (PANELS > 0) & FAST
    ADD_BYTES $m2, $m8, PANELS*GROUP*PITCH
    ADD_BYTES $m3, $m9, PANELS*PANEL_BYTES
    .endif
    .if FAST
    MAIN setzi $m7, PITCH/8
    .endif
    TAIL_PANEL
    .endif
.Lnext:
    MAIN add $m6, $m6, 6
    MAIN add $m8, $m8, 6 * QUAD_BYTES
    MAIN brnzdec $m1, .Lquad
    .if GROUPS > 1
    ADD_BYTES $m11, $m11, ROWS*PITCH
    ADD_BYTES $m10, $m10, MATRIX_BYTES
    MAIN add $m0, $m0, -256
    MAIN brpos $m0, .Lmatrix
    .endif
.Lend:
    MAIN exitz $mzero

    .if QUADS > FULL_QUADS
.Lzeros:
    MAIN rpt ALL_PANELS, 4 * WORDS - 1
    .rept 4 * WORDS - 1
    MAIN st64step $azeros, $mzero, $m3+=, 1
    .endr
    MAIN st64step $azeros, $mzero, $m3+=, (PANEL_LINES - 4) * WORDS + 1
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
