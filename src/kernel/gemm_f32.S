// Matrix product on the AMP units in F32: output (+)= left * right.
//
// Operands   output  panels of 16 F32 columns as accumulators drain whose coefficients were loaded in
//            numeric order (0 1 8 9 2 3 10 11 4 5 12 13 6 7 14 15), 64 bytes a row; interleaved memory
//            left    Left order, panels of 8 F32 columns, 32 bytes a row
//            right   blocks of 16 columns x 32 bytes, column groups outer, panels inner;
//                    interleaved memory if WIDE
//            all aligned to 32 bytes; left and output in different memory elements
// Over-read  16 bytes of left; 88 bytes of output, unless one panel initialises it. A worker reads as
//            much of the next one's rows; no such value reaches a store
// ABI        $m2 output, $m3 left, $m4 right, $m10 return, $m11 stack (8 bytes below it)
// Numerics   per row and panel eight AMP instructions in phase order, each one product added to the
//            F32 sum and rounded once
//
// Symbols    ROWS, PANELS, GROUPS >= 1; ACCUMULATE, WIDE 0 or 1; TAMP_F32_E4_P0 ... P7 and
//            TEXCH_SYNCZONE_LOCAL as in the SDK's headers
//
// Structure. The supervisor loads one block of right into the coefficients, launches the workers,
// joins, loads the next. Worker w owns QUOTIENT + (w < REST) consecutive rows. In a launch eight AMPs
// with zeros bring in the partials of row 0; then bundle b = 0, 1, ... (8 a row) holds AMP phase b % 8
// of row b / 8, loads the partial of position b + 9 (chunk b % 8 of row b / 8 is position b), stores
// the result at position b - 10, and if b is odd loads the next two values of left. The two output
// accesses are 19 words apart, an odd number, so they meet different elements of the interleaved
// pair. Nothing is stored before bundle 10: the loop covers bundles 10 ... 8 * rows + 1.

    .set QUOTIENT, ROWS / 6
    .set REST, ROWS - 6 * QUOTIENT
    .set FEW, ROWS < 6
    .set PANEL_BYTES, 32 * ROWS
    .set GROUP_BYTES, 64 * ROWS

// $m1 not idle (if FEW), $m2:3 pointers, $m5 rows less 1, $m6 the worker's rows of left in this panel,
// $m7 of output in this group. $a0:1 partial, $a2:3 left, $a4:5 and $a6:7 results in turn.

    .macro MAIN instruction:vararg
    { \instruction
      fnop }
    .endm

    .macro AMP phase, out, x, partial, main:vararg
    { \main
      f32sisov2amp \out, \x, \partial, TAMP_F32_E4_P\phase }
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

// Bundles without a store, of an even and an odd phase.
    .macro FIRST zero, even, odd
    .if \zero
    AMP \even, $a4:5, $a2, $azeros, nop
    AMP \odd, $a6:7, $a3, $azeros, ld64step $a2:3, $mzero, $m2+=, 1
    .else
    AMP \even, $a4:5, $a2, $a0:1, ld64step $a0:1, $mzero, $m2+=, 1
    AMP \odd, $a6:7, $a3, $a0:1, ld2x64pace $a0:1, $a2:3, $m2:3+=, $mzero, 0
    .endif
    .endm

    .macro STEADY zero, even, odd
    .if \zero
    AMP \even, $a4:5, $a2, $azeros, st64pace $a4:5, $m2:3+=, $mzero, 0
    AMP \odd, $a6:7, $a3, $azeros, ldst64pace $a2:3, $a6:7, $m2:3+=, $mzero, 0
    .else
    AMP \even, $a4:5, $a2, $a0:1, ldst64pace $a0:1, $a4:5, $m2:3+=, $mzero, 0
    AMP \odd, $a6:7, $a3, $a0:1, ld2xst64pace $a0:3, $a6:7, $m2:3+=, $mzero, 0
    .endif
    .endm

    .macro DRAIN even, odd
    AMP \even, $a4:5, $azero, $azeros, st64pace $a4:5, $m2:3+=, $mzero, 0
    AMP \odd, $a6:7, $azero, $azeros, st64pace $a6:7, $m2:3+=, $mzero, 0
    .endm

// A launch; zero: its panel starts from zero.
    .macro BODY zero
    .if \zero
    { mov $m2, $m6
      setzi $a0, 8 }
    { ld64step $a2:3, $mzero, $m2+=, 1
      uput $FP_CLR, $a0 } // clear the accumulators
    .else
    { mov $m2, $m7
      setzi $a0, 8 }
    { mov $m3, $m6
      uput $FP_CLR, $a0 }
    MAIN ld64step $a0:1, $mzero, $m2+=, 1
    AMP 0, $a4:5, $azero, $a0:1, ld64step $a0:1, $mzero, $m2+=, 1
    AMP 1, $a4:5, $azero, $a0:1, ld64step $a0:1, $mzero, $m2+=, 1
    AMP 2, $a4:5, $azero, $a0:1, ld64step $a0:1, $mzero, $m2+=, 1
    AMP 3, $a4:5, $azero, $a0:1, ld64step $a0:1, $mzero, $m2+=, 1
    AMP 4, $a4:5, $azero, $a0:1, ld64step $a0:1, $mzero, $m2+=, 1
    AMP 5, $a4:5, $azero, $a0:1, ld64step $a0:1, $mzero, $m2+=, 1
    AMP 6, $a4:5, $azero, $a0:1, ld64step $a0:1, $mzero, $m2+=, 1
    AMP 7, $a4:5, $azero, $a0:1, ld2x64pace $a0:1, $a2:3, $m2:3+=, $mzero, 0
    .endif
    FIRST \zero, 0, 1
    FIRST \zero, 2, 3
    FIRST \zero, 4, 5
    FIRST \zero, 6, 7
    FIRST \zero, 0, 1
    .if \zero
    MAIN tapack $m2:3, $m2, $mzero, $m7
    .else
    MAIN tapack $m2:3, $m2, $m3, $m7
    .endif
    MAIN rpt $m5, 7
    STEADY \zero, 2, 3
    STEADY \zero, 4, 5
    STEADY \zero, 6, 7
    STEADY \zero, 0, 1
    DRAIN 2, 3
    DRAIN 4, 5
    DRAIN 6, 7
    MAIN st64pace $a4:5, $m2:3+=, $mzero, 0
    MAIN st64pace $a6:7, $m2:3+=, $mzero, 0
    MAIN exitz $mzero
    .endm

    .section .text.gemm_f32, "ax", @progbits
    .align 8
    .worker

.Lstart:
    MAIN get $m0, $WSR
    MAIN and $m0, $m0, 7
    .if FEW
    MAIN cmpult $m1, $m0, ROWS
    MAIN brz $m1, .Lidle
    MAIN setzi $m5, 0
    MAIN mov $m2, $m0
    .elseif REST
    MAIN cmpult $m5, $m0, REST
    MAIN add $m5, $m5, QUOTIENT - 1
    MAIN mul $m2, $m0, QUOTIENT
    MAIN min $m3, $m0, REST
    MAIN add $m2, $m2, $m3
    .else
    MAIN setzi $m5, QUOTIENT - 1
    MAIN mul $m2, $m0, QUOTIENT
    .endif
    MAIN ld32 $m6, $mvertex_base, $mzero, 0
    MAIN ld32 $m7, $mvertex_base, $mzero, 1
    MAIN shl $m2, $m2, 5
    MAIN add $m6, $m6, $m2
    MAIN shl $m2, $m2, 1
    MAIN add $m7, $m7, $m2
    BODY 1-ACCUMULATE

    .if PANELS > 1
.Lpanel:
    .if FEW
    MAIN brz $m1, .Lidle
    .endif
    ADD_BYTES $m6, PANEL_BYTES
    BODY 0
    .endif

    .if GROUPS > 1
.Lgroup:
    .if FEW
    MAIN brz $m1, .Lidle
    .endif
    ADD_BYTES $m7, GROUP_BYTES
    .if PANELS > 1
    ADD_BYTES $m6, (1-PANELS)*PANEL_BYTES
    .endif
    BODY 1-ACCUMULATE
    .endif

    .if FEW
.Lidle:
    MAIN exitz $mzero
    .endif

    .macro LAUNCH entry
    .set SLOT, 0
    .if WIDE
    .rept 32
    ld128putcs SLOT
    .set SLOT, SLOT + 2
    .endr
    .else
    .rept 64
    ld64putcs SLOT
    .set SLOT, SLOT + 1
    .endr
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
    put $CCCSLOAD, $m4
    setzi $m1, .Lstart
    put $FP_ICTL, $mzero
    .if PANELS > 1
    setzi $m8, .Lpanel
    .endif
    .if GROUPS > 1
    setzi $m5, GROUPS - 1
    .endif
    st32 $m3, $m0, $mzero, 0
    st32 $m2, $m0, $mzero, 1
    .if GROUPS > 1
.Lnext_group:
    JOIN
    .endif
    LAUNCH $m1
    .if GROUPS > 1
    setzi $m1, .Lgroup
    .endif
    .if PANELS > 1
    setzi $m7, PANELS - 2
.Lnext_panel:
    JOIN
    LAUNCH $m8
    brnzdec $m7, .Lnext_panel
    .endif
    .if GROUPS > 1
    brnzdec $m5, .Lnext_group
    .endif
    JOIN
    br $m10
    .size kernel, . - kernel
