// Matrix product on the AMP units: output (+)= left * right, F16 results.
//
// Operands   output  Left order, panels of 16 F16 columns, 32 bytes a row; interleaved memory
//            left    Left order, panels of 16 F16 or 32 F143 columns, 32 bytes a row; HALF_LEFT: half
//                    panels of 16 F143 columns, 16 bytes a row
//            right   blocks of 16 columns x 32 bytes, column groups outer, panels inner;
//                    interleaved memory if WIDE; HALF_RIGHT: two blocks of 16 columns x 16 bytes a
//                    panel
//            all aligned to 32 bytes; left and output in different memory elements
//            PACKED: output in blocks of 16 rows x 16 columns, rows of blocks outer; of a last block
//            that is not full only its rows are written
//            ODD: operands in half panels lack the second half of the last panel, others have zeros
//            there
// Over-read  none: every access stays inside the operands, and inside the worker's own rows
// ABI        $m2 output, $m3 left, $m4 right, $m5 sum of the scale exponents (FP8), $m10 return,
//            $m11 stack (8 bytes below it are used)
// Numerics   per row and panel: partial F16 -> F32, four AMP instructions, result rounded to F16
//
// Symbols    ROWS 1 ... 6143, HALF_LEFT: 1 ... 256; PANELS, GROUPS >= 1; FP8, ACCUMULATE, WIDE, and
//            if FP8 HALF_LEFT, HALF_RIGHT, ODD 0 or 1; PACKED 0 or 1, not with HALF_LEFT: GROUPS at
//            most 8; then CHUNKS, USED, WORKER_0 ... WORKER_5, see below;
//            TAMP_F16V4_E4_P0 ... P3 and TEXCH_SYNCZONE_LOCAL as in the SDK's headers
//
// Structure. The supervisor loads one block of right into the coefficients, launches the workers,
// joins, loads the next. Worker w owns QUOTIENT + (w < REST) consecutive rows. The AMP pipeline
// takes the partials of one row while it multiplies the row before and gives back the results of
// the one before that. It is never drained between panels: the last row of a launch takes in the
// partials of row 0 for the next launch, whose first row gives back the results of the last row of
// this one. Registers and accumulators survive between launches, as the kernels of poplibs and
// ipu-stack rely on too.
//
// A worker's accesses form one stream, four bundles a row. With bundle 0 as the first of a launch,
// n = 4 * rows and position p = chunk p % 4 (8 bytes) of row p / 4 (from n on: of the next launch),
// bundle b holds AMP b and
//     loads left chunk b + 1, loads the partial at b + 5, stores the result at b - 6 (of AMP b - 2).
// The two output accesses are 11 positions apart, an odd number, so they meet different elements of
// the interleaved pair, also where the stream jumps. The jumps come after the accesses to position
// n - 1: of the left pointer in bundle n - 2, of the partial pointer in bundle n - 6, of the store
// pointer in bundle 5 of the next launch. Hence head = bundles 0 ... 5, loop, tail = the last six.
// A partial is loaded for the next launch when this launch has stored it, which needs 3 rows. Up to
// 18 rows in all, every worker therefore walks 3 rows, repeating its last one: the same values are
// stored twice.
//
// In half panels the left pointer jumps from word 1 of a row to word 2 (ACROSS) and from word 3 to
// the next row (-ACROSS). Where the last panel is half a panel its words 0 and 1 stand in for words 2
// and 3, whose coefficients are zero: a number that is added as +0, a NaN that is in the sum already.
//
// PACKED. The output of a worker's rows jumps where a block ends. Each worker works off CHUNKS pieces
// of its rows one after the other, 1 ... 3, as if they were panels of a group: the partial pointer
// jumps six bundles before a piece ends, the store pointer in bundle 5 of the next. WORKER_w holds the
// pieces' rows in bytes 0 ... 2 (all but the last one have at least 3; of a last one that has not, the
// last row is repeated) and in bits 24, 25 whether the output jumps after the first, the second; the
// workers' rows follow each other, workers from USED on have none.

    .set QUOTIENT, ROWS / 6
    .set REST, ROWS - 6 * QUOTIENT
    .set MOST, QUOTIENT
    .if REST
    .set MOST, QUOTIENT + 1
    .endif
    .set ROW_BYTES, 32
    .set PANEL_BYTES, ROW_BYTES * ROWS

    // Idle workers; workers that walk 3 rows; a stride (10 bits, signed, units of 8 bytes) reaches
    // the next panel; a stride cannot even reach the worker's first row.
    .set FEW, 0
    .set SMALL, 0
    .set NEAR, 0
    .set HUGE, 0
    .if ROWS < 6
    .set FEW, 1
    .endif
    .if ROWS <= 18
    .set SMALL, 1
    .endif
    .if 4 * (ROWS - QUOTIENT) + 1 <= 511
    .set NEAR, 1
    .endif
    .if 4 * MOST - 1 > 512
    .set HUGE, 1
    .endif
    .if PACKED
    .set FEW, USED < 6
    .set SMALL, 0
    .set NEAR, 1
    .set HUGE, 0
    .endif
    // The pointers must be packed anew when the store pointer changes group.
    .set REPACK, HUGE
    .if (NEAR == 0) & (GROUPS > 1)
    .set REPACK, 1
    .endif

    // Selectors of the packed strides, unless HALF_LEFT. $m4 holds FORE in field 1, unless it does not
    // fit. BACK is in field 2 of $m4; if SMALL in field 1 of $m5, and the fields 2 and 3 of both then
    // hold the steps from row 0 to 1 and from 1 to 2.
    .set FORE, 0
    .set BACK, 0
    .set STEP01, 0
    .set STEP12, 0
    .if SMALL | PACKED
    .set FORE, 1
    .set BACK, 1
    .set STEP01, 2
    .set STEP12, 3
    .elseif HUGE == 0
    .set BACK, 2
    .set FORE, 2
    .if NEAR
    .set FORE, 1
    .endif
    .endif

    // The steps in the first piece of a launch: where there are more, its rows follow each other.
    .set FIRST01, STEP01
    .set FIRST12, STEP12
    .if PACKED
    .if CHUNKS > 1
    .set FIRST01, 0
    .set FIRST12, 0
    .endif
    .endif

    // PACKED: $m4 as above, for the left pointer alone, with the steps of the last piece; $m5 the
    // output's BACK, its jump after the first piece, step 1 to 2; $m8 its FORE, its jump after the
    // second piece, step 1 to 2; $m0, $m7, $m9 rounds of the loops; $m11 bytes from where the left
    // pointer is after a group back to its start.

    // HALF_LEFT: strides of the left pointer and of the output's two, by fields:
    //              SMALL                              else
    //   $m4        ACROSS, step 1 to 2, step 0 to 1   ACROSS, -ACROSS, BACK
    //   $m5        left step 1 to 2, BACK, FORE       rounds of the loop
    //   $m8        left step 0 to 1, step 1 to 2, 0   left FORE, FORE (if NEAR), -ACROSS
    //   $m9        left FORE, step 0 to 1, 0          -1, 0, 0
    // and, as $m5 and $m8, for half a panel (ODD)
    //   $m0        left step 1 to 2, BACK, FORE
    //   $m7        left step 0 to 1, step 1 to 2, -1
    // Bytes from where the left pointer is after a group back to its start: $m11 if SMALL, else $m0.
    .set ACROSS, 2 * ROWS - 1
    .set HALF_LAST, HALF_LEFT & ODD
    .set RECORD_BYTES, 28
    .if SMALL
    .set RECORD_BYTES, 36
    .endif

// Worker registers: $m1 not idle (if FEW), $m2:3 packed pointers (left, partials, stores), $m4
// strides, $m5 rounds of the loop or strides, $m6 the worker's first row in this column group, $m7
// mask of an address, $m8 and $m9 bytes from the end of the worker's rows to their start in the next
// panel and in this one (if HUGE); HALF_LEFT as above. $a0:1 left, $a2:3 partial, $a4:5 and $a6:7
// results in turn.

// ---- worker macros

    .macro MAIN instruction:vararg
    { \instruction
      fnop }
    .endm

    .macro AMP phase, out, x, partial, main:vararg
    .if FP8
    { \main
      f8v8hihov4amp \out, \x, \partial, TAMP_F16V4_E4_\phase }
    .else
    { \main
      f16v4hihov4amp \out, \x, \partial, TAMP_F16V4_E4_\phase }
    .endif
    .endm

// One bundle of the stream. load: fetch a partial; take: the AMP takes one, else zeros. s0, s1, s2:
// selectors of the left, partial and store pointers.
    .macro STRIDED stride, load, take, phase, out, s0=0, s1=0, s2=0
    .if \take
    ACCESS \load, \phase, \out, $a2:3, \stride, \s0, \s1, \s2
    .else
    ACCESS \load, \phase, \out, $azeros, \stride, \s0, \s1, \s2
    .endif
    .endm

    .macro ACCESS load, phase, out, partial, stride, s0, s1, s2
    .if \load
    .set SELECT, (\s0) + 4 * (\s1) + 16 * (\s2)
    AMP \phase, \out, $a0:1, \partial, ld2xst64pace $a0:3, \out, $m2:3+=, \stride, SELECT
    .else
    .set SELECT, (\s0) + 4 * (\s2)
    AMP \phase, \out, $a0:1, \partial, ldst64pace $a0:1, \out, $m2:3+=, \stride, SELECT
    .endif
    .endm

// STEP: with the strides of $m4. STEP_BACK: where a selector is BACK.
    .macro STEP arguments:vararg
    STRIDED $m4, \arguments
    .endm

    .macro STEP_BACK arguments:vararg
    .if SMALL | PACKED
    STRIDED $m5, \arguments
    .else
    STRIDED $m4, \arguments
    .endif
    .endm

// The bundles that step otherwise than by one, in the order of a launch. odd: half a panel.
// From a row's word 1 to word 2.
    .macro STEP_ACROSS odd, load, take, phase, out
    .if HALF_LEFT == 0
    STEP \load, \take, \phase, \out
    .elseif \odd == 0
    STRIDED $m4, \load, \take, \phase, \out, 1
    .elseif SMALL
    STRIDED $m7, \load, \take, \phase, \out, 3
    .else
    STRIDED $m9, \load, \take, \phase, \out, 1
    .endif
    .endm

// From a row's word 3 to the next row: in the loop, and where no other pointer steps.
    .macro STEP_ROW odd, load, take, phase, out
    .if HALF_LEFT & (\odd == 0)
    STRIDED $m4, \load, \take, \phase, \out, 2
    .else
    STEP \load, \take, \phase, \out
    .endif
    .endm

// Bundle 1: the store pointer from row 1 to 2.
    .macro STEP_STORE12 load, take, phase, out
    .if HALF_LEFT & SMALL
    STEP \load, \take, \phase, \out, 0, 0, 2
    .else
    STEP \load, \take, \phase, \out, 0, 0, STEP12
    .endif
    .endm

// Bundle 2: the left pointer from row 0 to 1, the partials' from 1 to 2.
    .macro STEP_ROW01 odd, load, take, phase, out
    .if HALF_LEFT == 0
    STEP \load, \take, \phase, \out, FIRST01, FIRST12, 0
    .elseif SMALL == 0
    STEP_ROW \odd, \load, \take, \phase, \out
    .elseif \odd
    STRIDED $m7, \load, \take, \phase, \out, 1, 2
    .else
    STRIDED $m8, \load, \take, \phase, \out, 1, 2
    .endif
    .endm

// Bundle 5: the store pointer back, or on to the next group (NEAR).
    .macro STEP_STORE_BACK arguments:vararg
    .if HALF_LEFT == 0
    STEP_BACK \arguments, 0, 0, BACK
    .elseif SMALL
    STRIDED $m5, \arguments, 0, 0, 2
    .else
    STRIDED $m4, \arguments, 0, 0, 3
    .endif
    .endm

    .macro STEP_STORE_FORE arguments:vararg
    .if PACKED
    STRIDED $m8, \arguments, 0, 0, 1
    .elseif HALF_LEFT == 0
    STEP \arguments, 0, 0, FORE
    .elseif SMALL
    STRIDED $m5, \arguments, 0, 0, 3
    .else
    STRIDED $m8, \arguments, 0, 0, 2
    .endif
    .endm

// Six bundles before the end: the left pointer from row 1 to 2; the partials' stays (0), goes back
// (1) or on to the next group (2, NEAR).
    .macro STEP_ROW12 odd, where, load, take, phase, out
    .if HALF_LEFT == 0
    .if \where == 0
    STEP \load, \take, \phase, \out, STEP12
    .elseif \where == 1
    STEP_BACK \load, \take, \phase, \out, STEP12, BACK
    .elseif PACKED
    STRIDED $m8, \load, \take, \phase, \out, 3, 1
    .else
    STEP \load, \take, \phase, \out, STEP12, FORE
    .endif
    .elseif SMALL
    .set WHERE, 0
    .if \where
    .set WHERE, (\where) + 1
    .endif
    .if \odd
    STRIDED $m0, \load, \take, \phase, \out, 1, WHERE
    .else
    STRIDED $m5, \load, \take, \phase, \out, 1, WHERE
    .endif
    .elseif \where < 2
    STRIDED $m4, \load, \take, \phase, \out, 2*(1-(\odd)), 3*(\where)
    .else
    STRIDED $m8, \load, \take, \phase, \out, 3*(1-(\odd)), 2
    .endif
    .endm

// Three bundles before the end: the store pointer from row 0 to 1.
    .macro STEP_STORE01 load, take, phase, out
    .if HALF_LEFT & SMALL
    STEP \load, \take, \phase, \out, 0, 0, 3
    .else
    STEP \load, \take, \phase, \out, 0, 0, STEP01
    .endif
    .endm

// Two bundles before the end: the partials' pointer from row 0 to 1; the left pointer to the next
// panel, or back to the first one.
    .macro STEP_NEXT_PANEL arguments:vararg
    .if HALF_LEFT == 0
    STEP \arguments, FORE, FIRST01
    ONWARD $m2
    .elseif SMALL
    STRIDED $m9, \arguments, 1, 2
    .else
    STRIDED $m8, \arguments, 1
    .endif
    .endm

    .macro STEP_FIRST_PANEL arguments:vararg
    .if PACKED
    STEP \arguments, 0, FIRST01
    MAIN sub $m2, $m2, $m11
    .elseif HALF_LEFT == 0
    STEP_BACK \arguments, BACK, STEP01
    .if HUGE
    MAIN add $m2, $m2, $m9
    .endif
    .if PANELS > 1
    ADD_BYTES $m2, (1-PANELS)*PANEL_BYTES
    .endif
    .elseif SMALL
    STRIDED $m9, \arguments, 0, 2
    MAIN sub $m2, $m2, $m11
    .else
    STEP \arguments
    MAIN sub $m2, $m2, $m0
    .endif
    .endm

    .macro ADD_BYTES register, bytes
    .if ((\bytes) >= -32768) & ((\bytes) <= 32767)
    MAIN add \register, \register, \bytes
    .elseif (\bytes) > 0
    MAIN setzi $m10, \bytes
    MAIN add \register, \register, $m10
    .else
    MAIN setzi $m10, -(\bytes)
    MAIN sub \register, \register, $m10
    .endif
    .endm

    .macro CONSTANT register, value
    MAIN setzi \register, (\value) & 0xFFFFF
    MAIN or \register, \register, (\value) & 0xFFF00000
    .endm

// Bundles 0 ... 5. group: this launch begins a column group; zero: its panel starts from zero.
    .macro HEAD group, zero, odd
    STEP_ACROSS \odd, 1-(\zero), 1-(\zero), P0, $a4:5
    STEP_STORE12 1-(\zero), 1-(\zero), P1, $a6:7
    STEP_ROW01 \odd, 1-(\zero), 1-(\zero), P2, $a4:5
    STEP 1-(\zero), 1-(\zero), P3, $a6:7
    STEP_ACROSS \odd, 1-(\zero), 1-(\zero), P0, $a4:5
    .if \group == 0
    STEP_STORE_BACK 1-(\zero), 1-(\zero), P1, $a6:7
    .if HUGE
    MAIN and $m10, $m2, $m7
    MAIN and $m11, $m3, $m7
    MAIN tapack $m2:3, $m10, $m11, $m6
    .endif
    .elseif NEAR
    STEP_STORE_FORE 1-(\zero), 1-(\zero), P1, $a6:7
    .else
    STEP 1-(\zero), 1-(\zero), P1, $a6:7
    ADD_BYTES $m6, PANEL_BYTES
    MAIN and $m10, $m2, $m7
    .if \zero
    MAIN tapack $m2:3, $m10, $m6, $m6
    .else
    MAIN and $m11, $m3, $m7
    MAIN tapack $m2:3, $m10, $m11, $m6
    .endif
    .endif
    .endm

// After the left pointer, or the partial pointer, has gone back to the worker's first row or (if
// HUGE) is at the end of its rows: on to the next panel, or group.
    .macro ONWARD register
    .if HUGE
    MAIN add \register, \register, $m8
    .elseif NEAR == 0
    ADD_BYTES \register, PANEL_BYTES
    .endif
    .endm

    .macro ROUNDS zero, odd, count
    MAIN rpt \count, 3
    STEP_ROW \odd, 1-(\zero), 1-(\zero), P2, $a4:5
    STEP 1-(\zero), 1-(\zero), P3, $a6:7
    STEP_ACROSS \odd, 1-(\zero), 1-(\zero), P0, $a4:5
    STEP 1-(\zero), 1-(\zero), P1, $a6:7
    .endm

// PACKED: the last six bundles of a piece and the first six of the next. The jump is in a field of a
// register; last: the next piece is the last one.
    .macro NEXT_PIECE zero, strides, jump, last
    STRIDED \strides, 1-(\zero), 1-(\zero), P2, $a4:5, 0, \jump
    STEP 1-(\zero), 1-(\zero), P3, $a6:7
    STEP 1-(\zero), 1-(\zero), P0, $a4:5
    STEP 1-(\zero), 1-(\zero), P1, $a6:7
    STEP 1-(\zero), 1-(\zero), P2, $a4:5, 0, (\last)*STEP01
    STEP 1-(\zero), 1-(\zero), P3, $a6:7
    STEP 1-(\zero), 1-(\zero), P0, $a4:5
    STEP 1-(\zero), 1-(\zero), P1, $a6:7
    STEP 1-(\zero), 1-(\zero), P2, $a4:5, (\last)*STEP01, (\last)*STEP12
    STEP 1-(\zero), 1-(\zero), P3, $a6:7
    STEP 1-(\zero), 1-(\zero), P0, $a4:5
    STRIDED \strides, 1-(\zero), 1-(\zero), P1, $a6:7, 0, 0, \jump
    .endm

// The rest of a launch. next: what follows is 0 a panel of the same column group, 1 a new group,
// 2 nothing.
    .macro TAIL zero, next, odd
    .if \next == 0
    .set LOAD_NEXT, 1
    .elseif \next == 1
    .set LOAD_NEXT, ACCUMULATE
    .else
    .set LOAD_NEXT, 0
    .endif

    .if PACKED
    .if CHUNKS == 1
    ROUNDS \zero, 0, $m0
    .elseif CHUNKS == 2
    ROUNDS \zero, 0, $m0
    NEXT_PIECE \zero, $m5, 2, 1
    ROUNDS \zero, 0, $m7
    .else
    ROUNDS \zero, 0, $m0
    NEXT_PIECE \zero, $m5, 2, 0
    ROUNDS \zero, 0, $m7
    NEXT_PIECE \zero, $m8, 2, 1
    ROUNDS \zero, 0, $m9
    .endif
    .elseif SMALL == 0
    .if REST
    ROUNDS \zero, \odd, $m5
    .else
    ROUNDS \zero, \odd, QUOTIENT-3
    .endif
    .endif

    .if (\zero) | (\next == 2)
    STEP_ROW12 \odd, 0, 1-(\zero), 1-(\zero), P2, $a4:5
    .elseif \next == 0
    STEP_ROW12 \odd, 1, 1, 1, P2, $a4:5
    .if HUGE
    MAIN add $m3, $m3, $m9
    .endif
    .elseif NEAR
    STEP_ROW12 \odd, 2, 1, 1, P2, $a4:5
    .else
    STEP_ROW12 \odd, 1, 1, 1, P2, $a4:5
    .if ACCUMULATE
    ONWARD $m3
    .endif
    .endif
    STEP LOAD_NEXT, 1-(\zero), P3, $a6:7
    STEP_ACROSS \odd, LOAD_NEXT, LOAD_NEXT, P0, $a4:5
    STEP_STORE01 LOAD_NEXT, LOAD_NEXT, P1, $a6:7
    .if \next == 0
    STEP_NEXT_PANEL 1, 1, P2, $a4:5
    .elseif \next == 1
    STEP_FIRST_PANEL LOAD_NEXT, LOAD_NEXT, P2, $a4:5
    .else
    STEP 0, 0, P2, $a4:5
    .endif

    .if \next < 2
    STEP LOAD_NEXT, LOAD_NEXT, P3, $a6:7
    .else
    .if HALF_LEFT & SMALL
    .set LAST12, 2
    .else
    .set LAST12, STEP12
    .endif
    AMP P3, $a6:7, $a0:1, $azeros, st64pace $a6:7, $m2:3+=, $m4, 0
    AMP P0, $a4:5, $azeros, $azeros, st64pace $a4:5, $m2:3+=, $m4, 0
    AMP P1, $a6:7, $azeros, $azeros, st64pace $a6:7, $m2:3+=, $m4, LAST12
    AMP P2, $a4:5, $azeros, $azeros, st64pace $a4:5, $m2:3+=, $m4, 0
    AMP P3, $a6:7, $azeros, $azeros, st64pace $a6:7, $m2:3+=, $m4, 0
    MAIN st64pace $a4:5, $m2:3+=, $m4, 0
    MAIN st64pace $a6:7, $m2:3+=, $m4, 0
    .endif
    MAIN exitz $mzero
    .endm

    .macro PANEL group, zero, next, odd=0
    .if FEW
    MAIN brz $m1, .Lidle
    .endif
    HEAD \group, \zero, \odd
    TAIL \zero, \next, \odd
    .endm

// Strides of a worker with `rows` rows, at most 3; the step between two rows it walks is 1, or -3
// back to the start of the same row.
    .macro SMALL_STRIDES rows
    .set STEPS, 1 << 10 | 1 << 20
    .if (\rows) == 2
    .set STEPS, 1 << 10 | (-3 & 0x3FF) << 20
    .elseif (\rows) < 2
    .set STEPS, (-3 & 0x3FF) << 10 | (-3 & 0x3FF) << 20
    .endif
    CONSTANT $m4, (4*(ROWS-(\rows))+1)|STEPS
    CONSTANT $m5, ((1-4*(\rows))&0x3FF)|STEPS
    .if ACCUMULATE == 0
    .if (\rows) < 2
    MAIN add $m8, $mzero, -3
    .else
    MAIN setzi $m8, 1
    .endif
    .endif
    .endm

// HALF_LEFT: what a worker with `rows` rows loads into its registers: $m4, $m5, $m8, $m9, what goes
// back to the first panel, $m0, $m7 (SMALL: both), and the left step from row 0 to 1 of the first
// launch. first, second: whether it has a row 1, a row 2.
    .macro FIELDS one, two, three
    .long ((\one) & 0x3FF) | ((\two) & 0x3FF) << 10 | ((\three) & 0x3FF) << 20
    .endm

    .macro RECORD rows, first, second
    .set ROW, -ACROSS
    .set OUT_BACK, 1 - 4 * (\rows)
    .set OUT_FORE, 4 * (ROWS - (\rows)) + 1
    .set LEFT_FORE, 2 * (ROWS - (\rows)) + 1
    .if SMALL
    .set OUT01, 1
    .set LEFT01, -ACROSS
    .set ODD01, 1
    .if (\first) == 0
    .set OUT01, -3
    .set LEFT01, -ACROSS - 2
    .set ODD01, -1
    .endif
    .set OUT12, 1
    .set LEFT12, -ACROSS
    .set ODD12, 1
    .if (\second) == 0
    .set OUT12, -3
    .set LEFT12, -ACROSS - 2
    .set ODD12, -1
    .endif
    FIELDS ACROSS, OUT12, OUT01
    FIELDS LEFT12, OUT_BACK, OUT_FORE
    FIELDS LEFT01, OUT12, 0
    FIELDS LEFT_FORE, OUT01, 0
    .else
    FIELDS ACROSS, -ACROSS, OUT_BACK
    .long (\rows) - 3
    .if NEAR == 0
    .set OUT_FORE, 0
    .endif
    FIELDS LEFT_FORE, OUT_FORE, -ACROSS
    FIELDS -1, 0, 0
    .set LEFT01, -ACROSS
    .set ODD01, 1
    .endif
    // After the last word the left pointer is one word behind it.
    .set LAST_ROW, 16 * ((\rows) - 1)
    .if ODD
    .long LAST_ROW + 16 + PANEL_BYTES * (PANELS - 1)
    .else
    .long LAST_ROW + 16 + PANEL_BYTES * (PANELS - 1) + 16 * ROWS
    .endif
    .if SMALL
    FIELDS ODD12, OUT_BACK, OUT_FORE
    FIELDS ODD01, OUT12, -1
    .endif
    .if HALF_LAST & (PANELS == 1)
    .long -1, ODD01
    .else
    .long ACROSS, LEFT01
    .endif
    .endm

// PACKED: what worker `pieces` loads: $m4, $m5, $m8, $m11, $m0, $m7, $m9, bytes to its rows of left and
// output, left step from row 0 to 1 in the first launch. FIRST_ROW goes on to the next worker.
    .macro PACKED_RECORD pieces
    .set PIECE1, (\pieces) & 0xFF
    .set PIECE2, (\pieces) >> 8 & 0xFF
    .set PIECE3, (\pieces) >> 16 & 0xFF
    .set JUMP1, 1 + ((\pieces) >> 24 & 1) * 64 * (GROUPS - 1)
    .set JUMP2, 1 + ((\pieces) >> 25 & 1) * 64 * (GROUPS - 1)
    .set COUNT, PIECE1 + PIECE2 + PIECE3
    .set LAST, PIECE1
    .if CHUNKS == 2
    .set LAST, PIECE2
    .elseif CHUNKS == 3
    .set LAST, PIECE3
    .endif
    .set END01, 1
    .if LAST < 2
    .set END01, -3
    .endif
    .set END12, 1
    .if LAST < 3
    .set END12, -3
    .endif
    .set PACKED_BACK, 1 - 4 * COUNT - (JUMP1 - 1) - (JUMP2 - 1)
    FIELDS 4*(ROWS-COUNT)+1, END01, END12
    FIELDS PACKED_BACK, JUMP1, END12
    FIELDS PACKED_BACK+64, JUMP2, END12
    .long 32 * COUNT + PANEL_BYTES * (PANELS - 1)
    .irp piece, 1, 2, 3
    .if (CHUNKS == \piece) & (LAST < 3)
    .long 0
    .else
    .long PIECE\piece - 3
    .endif
    .endr
    .long 32 * FIRST_ROW, FIRST_ROW / 16 * 512 * GROUPS + (FIRST_ROW & 15) * 32
    .if CHUNKS == 1
    .long END01
    .else
    .long 1
    .endif
    .set FIRST_ROW, FIRST_ROW + COUNT
    .endm

    .macro HALF_STRIDES
    .if (REST > 0) & (FEW == 0)
    MAIN cmpult $m7, $m0, REST
    MAIN mul $m7, $m7, -RECORD_BYTES
    MAIN setzi $m10, .Lshort_record
    MAIN add $m10, $m10, $m7
    .else
    MAIN setzi $m10, .Lrecord
    .endif
    MAIN ld32step $m4, $mzero, $m10+=, 1
    MAIN ld32step $m5, $mzero, $m10+=, 1
    MAIN ld32step $m8, $mzero, $m10+=, 1
    MAIN ld32step $m9, $mzero, $m10+=, 1
    .if SMALL
    MAIN ld32step $m11, $mzero, $m10+=, 1
    MAIN ld32step $m0, $mzero, $m10+=, 1
    MAIN ld32step $m7, $mzero, $m10+=, 1
    .else
    MAIN ld32step $m0, $mzero, $m10+=, 1
    .endif
    .if ACCUMULATE == 0
    MAIN ld32 $m3, $m10, $mzero, 0
    MAIN ld32 $m10, $m10, $mzero, 1
    .endif
    .endm

// ---- workers

    .section .text.gemm, "ax", @progbits
    .align 8
    .worker

// Whether the next launch after the first one stays in the group.
    .if PANELS > 1
    .set START_NEXT, 0
    .elseif GROUPS > 1
    .set START_NEXT, 1
    .else
    .set START_NEXT, 2
    .endif

.Lstart:
    { get $m0, $WSR
      setzi $a0, 8 }
    { and $m0, $m0, 7
      uput $FP_CLR, $a0 } // clear the accumulators

    .if PACKED
    .if FEW
    MAIN cmpult $m1, $m0, USED
    MAIN brz $m1, .Lidle
    .endif
    MAIN mul $m10, $m0, 40
    MAIN setzi $m4, .Lrecord
    MAIN add $m10, $m10, $m4
    MAIN ld32step $m4, $mzero, $m10+=, 1
    MAIN ld32step $m5, $mzero, $m10+=, 1
    MAIN ld32step $m8, $mzero, $m10+=, 1
    MAIN ld32step $m11, $mzero, $m10+=, 1
    MAIN ld32step $m0, $mzero, $m10+=, 1
    MAIN ld32step $m7, $mzero, $m10+=, 1
    MAIN ld32step $m9, $mzero, $m10+=, 1
    MAIN ld32 $m2, $mvertex_base, $mzero, 0
    MAIN ld32 $m6, $mvertex_base, $mzero, 1
    MAIN ld32step $m3, $mzero, $m10+=, 1
    MAIN add $m2, $m2, $m3
    MAIN ld32step $m3, $mzero, $m10+=, 1
    MAIN add $m6, $m6, $m3
    .if ACCUMULATE
    MAIN mov $m3, $m6
    .else
    MAIN ld32 $m3, $m10, $mzero, 0
    .endif
    .else

    // $m1 = bytes before the worker's first row
    .if FEW
    MAIN cmpult $m1, $m0, ROWS
    MAIN brz $m1, .Lidle
    MAIN shl $m7, $m0, 5
    .elseif REST
    MAIN min $m1, $m0, REST
    MAIN mul $m7, $m0, QUOTIENT
    MAIN add $m7, $m7, $m1
    MAIN shl $m7, $m7, 5
    .else
    MAIN mul $m7, $m0, ROW_BYTES * QUOTIENT
    .endif
    MAIN ld32 $m2, $mvertex_base, $mzero, 0
    MAIN ld32 $m3, $mvertex_base, $mzero, 1
    MAIN add $m6, $m3, $m7
    .if HALF_LEFT
    MAIN shr $m8, $m7, 1
    MAIN add $m2, $m2, $m8
    .else
    MAIN add $m2, $m2, $m7
    .endif
    .if ACCUMULATE
    MAIN add $m3, $m3, $m7
    .endif

    .if HALF_LEFT
    HALF_STRIDES
    .elseif FEW
    SMALL_STRIDES 1
    .elseif SMALL & (REST == 0)
    SMALL_STRIDES QUOTIENT
    .elseif SMALL
    MAIN cmpult $m7, $m0, REST
    MAIN brz $m7, .Lshort
    SMALL_STRIDES QUOTIENT+1
    MAIN bri .Lstrides
.Lshort:
    SMALL_STRIDES QUOTIENT
    MAIN nop
.Lstrides:
    .elseif HUGE & (REST == 0)
    MAIN setzi $m8, ROW_BYTES * (ROWS - QUOTIENT)
    MAIN setzi $m9, ROW_BYTES * QUOTIENT
    MAIN sub $m9, $mzero, $m9
    .elseif HUGE
    MAIN cmpult $m7, $m0, REST
    MAIN add $m5, $m7, QUOTIENT - 3
    MAIN shl $m7, $m7, 5
    MAIN setzi $m8, ROW_BYTES * (ROWS - QUOTIENT)
    MAIN sub $m8, $m8, $m7
    MAIN setzi $m9, PANEL_BYTES
    MAIN sub $m9, $m8, $m9
    .else
    // One row more shortens both strides by 4.
    .if NEAR
    .set STRIDES, (4 * (ROWS - QUOTIENT) + 1) | ((1 - 4 * QUOTIENT) & 0x3FF) << 10
    .set ROW_LESS, -4 * 1025
    .else
    .set STRIDES, ((1 - 4 * QUOTIENT) & 0x3FF) << 10
    .set ROW_LESS, -4 * 1024
    .endif
    .if REST
    MAIN cmpult $m7, $m0, REST
    MAIN add $m5, $m7, QUOTIENT - 3
    MAIN mul $m7, $m7, ROW_LESS
    MAIN setzi $m4, STRIDES
    MAIN add $m4, $m4, $m7
    .else
    MAIN setzi $m4, STRIDES
    .endif
    .endif
    .if REPACK
    MAIN setzi $m7, 0xFFFFF
    .endif
    .endif // PACKED

    // Bundles 0 ... 5 of the first launch have nothing to store.
    .set START_ODD, HALF_LAST & (PANELS == 1)
    .if ACCUMULATE
    .macro PAIR strides, phase, out, x, select
    AMP \phase, \out, \x, $a2:3, ld2x64pace $a0:1, $a2:3, $m2:3+=, \strides, \select
    .endm

    .macro PAIR_ACROSS out
    .if HALF_LEFT == 0
    PAIR $m4, P0, \out, $a0:1, 0
    .elseif START_ODD == 0
    PAIR $m4, P0, \out, $a0:1, 1
    .elseif SMALL
    PAIR $m7, P0, \out, $a0:1, 3
    .else
    PAIR $m9, P0, \out, $a0:1, 1
    .endif
    .endm

    MAIN ld64step $a2:3, $mzero, $m3+=, 1
    AMP P0, $a4:5, $azeros, $a2:3, ld64step $a2:3, $mzero, $m3+=, 1
    AMP P1, $a6:7, $azeros, $a2:3, ld64step $a2:3, $mzero, $m3+=, 1
    .if HALF_LEFT & SMALL
    PAIR $m4, P2, $a4:5, $azeros, 4 * 3
    .else
    PAIR $m4, P2, $a4:5, $azeros, 4 * FIRST01
    .endif
    AMP P3, $a6:7, $azeros, $a2:3, ld64step $a2:3, $mzero, $m3+=, 1
    PAIR_ACROSS $a4:5
    PAIR $m4, P1, $a6:7, $a0:1, 0
    .if HALF_LEFT == 0
    PAIR $m4, P2, $a4:5, $a0:1, FIRST01 + 4 * FIRST12
    .elseif SMALL & START_ODD
    PAIR $m7, P2, $a4:5, $a0:1, 1 + 4 * 2
    .elseif SMALL
    PAIR $m8, P2, $a4:5, $a0:1, 1 + 4 * 2
    .else
    PAIR $m4, P2, $a4:5, $a0:1, 2 * (1 - START_ODD)
    .endif
    PAIR $m4, P3, $a6:7, $a0:1, 0
    PAIR_ACROSS $a4:5
    PAIR $m4, P1, $a6:7, $a0:1, 0
    MAIN tapack $m2:3, $m2, $m3, $m6
    TAIL 0, START_NEXT, START_ODD
    .else
    .macro LEFT phase, out, step
    AMP \phase, \out, $a0:1, $azeros, ld64step $a0:1, $mzero, $m2+=, \step
    .endm

    MAIN ld64step $a0:1, $mzero, $m2+=, 1
    .if HALF_LEFT
    LEFT P0, $a4:5, $m3
    LEFT P1, $a6:7, 1
    LEFT P2, $a4:5, $m10
    LEFT P3, $a6:7, 1
    LEFT P0, $a4:5, $m3
    .else
    LEFT P0, $a4:5, 1
    LEFT P1, $a6:7, 1
    .if PACKED
    LEFT P2, $a4:5, $m3
    .elseif SMALL
    LEFT P2, $a4:5, $m8
    .else
    LEFT P2, $a4:5, 1
    .endif
    LEFT P3, $a6:7, 1
    LEFT P0, $a4:5, 1
    .endif
    LEFT P1, $a6:7, 1
    MAIN tapack $m2:3, $m2, $m6, $m6
    TAIL 1, START_NEXT, START_ODD
    .endif

    // The other launches. A panel that begins a group starts from zero unless ACCUMULATE.
    .if PANELS > 1
    .if PANELS > 2
.Lmiddle:
    PANEL 0, 0, 0
    .endif
    .if GROUPS > 1
.Lfirst:
    PANEL 1, 1-ACCUMULATE, 0
.Llast:
    PANEL 0, 0, 1, HALF_LAST
    .endif
.Lfinal:
    PANEL 0, 0, 2, HALF_LAST
    .elseif GROUPS > 1
    .if GROUPS > 2
.Lmiddle:
    PANEL 1, 1-ACCUMULATE, 1, HALF_LAST
    .endif
.Lfinal:
    PANEL 1, 1-ACCUMULATE, 2, HALF_LAST
    .endif
    .if FEW
.Lidle:
    MAIN exitz $mzero
    .endif

    .if PACKED
    .pushsection .rodata
    .align 4
.Lrecord:
    .set FIRST_ROW, 0
    .irp pieces, WORKER_0, WORKER_1, WORKER_2, WORKER_3, WORKER_4, WORKER_5
    PACKED_RECORD \pieces
    .endr
    .popsection
    .elseif HALF_LEFT
    .pushsection .rodata
    .align 4
.Lrecord:
    .if FEW
    RECORD 1, 0, 0
    .elseif REST
    RECORD QUOTIENT+1, QUOTIENT>0, QUOTIENT>1
.Lshort_record:
    RECORD QUOTIENT, QUOTIENT>1, QUOTIENT>2
    .else
    RECORD QUOTIENT, QUOTIENT>1, QUOTIENT>2
    .endif
    .popsection
    .endif

// ---- supervisor

// Loads 64 bits x 64, or the first or second half of each column's: column c of the block goes to
// the unit whose results leave as column c.
    .macro COEFFICIENTS
    .irp slot, 0, 32, 8, 40, 16, 48, 24, 56
    .if WIDE
    ld128putcs \slot
    ld128putcs \slot + 2
    ld128putcs \slot + 4
    ld128putcs \slot + 6
    .else
    ld64putcs \slot
    ld64putcs \slot + 1
    ld64putcs \slot + 2
    ld64putcs \slot + 3
    ld64putcs \slot + 4
    ld64putcs \slot + 5
    ld64putcs \slot + 6
    ld64putcs \slot + 7
    .endif
    .endr
    .endm

    .macro HALF_COEFFICIENTS second
    .irp slot, 0, 32, 8, 40, 16, 48, 24, 56
    .if WIDE
    ld128putcs \slot + \second
    ld128putcs \slot + \second + 4
    .else
    ld64putcs \slot + \second
    ld64putcs \slot + \second + 1
    ld64putcs \slot + \second + 4
    ld64putcs \slot + \second + 5
    .endif
    .endr
    .endm

// last: of its group
    .macro LAUNCH entry, last
    .if HALF_RIGHT == 0
    COEFFICIENTS
    .elseif ODD & (\last)
    put $CR, $m2 // zeros the coefficients
    HALF_COEFFICIENTS 0
    .else
    HALF_COEFFICIENTS 0
    HALF_COEFFICIENTS 2
    .endif
    runall \entry, $m0, 0
    .endm

    .macro JOIN
    sync TEXCH_SYNCZONE_LOCAL
    .endm

    .supervisor
    .globl kernel
    .type kernel, @function
kernel:
    add $m0, $m11, -8 // frame: left, output
    .if FP8
    setzi $m6, 3      // both operands are F143
    .endif
    put $CCCSLOAD, $m4
    setzi $m1, .Lstart
    put $FP_ICTL, $mzero
    .if FP8
    put $FP_ISCL, $m5
    .endif
    // $m7 launches of $m8 to come, less 1; $m9 what ends a group; $m5 groups to come; $m4 what ends
    // the last group
    .if (PANELS > 1) & (GROUPS > 1)
    setzi $m9, .Llast
    setzi $m4, .Lfinal
    setzi $m5, GROUPS - 1
    .if PANELS > 2
    setzi $m8, .Lmiddle
    .endif
    .elseif PANELS * GROUPS > 1
    setzi $m9, .Lfinal
    .if PANELS * GROUPS > 2
    setzi $m8, .Lmiddle
    setzi $m7, PANELS * GROUPS - 3
    .endif
    .endif
    .set ONLY, PANELS == 1 // every panel is the last of its group
    st32 $m2, $m0, $mzero, 1
    .if HALF_RIGHT & ODD
    setzi $m2, 4 // of $CR: ZCWEI
    .endif
    st32 $m3, $m0, $mzero, 0
    .if FP8
    put $FP_INFMT, $m6
    .endif

    .if (PANELS > 1) & (GROUPS > 1)
.Lgroup:
    JOIN
    LAUNCH $m1, 0
    setzi $m1, .Lfirst
    movz $m9, $m5, $m4
    .if PANELS > 2
    setzi $m7, PANELS - 3
.Lpanel:
    JOIN
    LAUNCH $m8, 0
    brnzdec $m7, .Lpanel
    .endif
    JOIN
    LAUNCH $m9, 1
    brnzdec $m5, .Lgroup
    .else
    LAUNCH $m1, ONLY
    .if PANELS * GROUPS > 2
.Lpanel:
    JOIN
    LAUNCH $m8, ONLY
    brnzdec $m7, .Lpanel
    .endif
    .if PANELS * GROUPS > 1
    JOIN
    LAUNCH $m9, 1
    .endif
    .endif
    JOIN
    br $m10
    .size kernel, . - kernel
