// F143 to F16 between packed orders: panels of 32 columns become two of 16 each.
//
// Operands   output  F16: GROUPS times PANELS panels of ROWS lines of 32 bytes
//            source  F143: GROUPS times ceil(PANELS / 2) panels of ROWS lines of 32 bytes; the second
//            halves of a last one that is odd are not read
//            8-byte aligned, they do not overlap; FAST: no memory element in common
// Over-read  none
// ABI        $m2 output, $m3 source, $m4 scale exponent, $m10 return, $m11 stack (8 bytes below it)
// Numerics   code * 2^scale, rounded once to F16 (exact for scales -14 ... 8)
//
// Symbols    ROWS, PANELS, GROUPS >= 1; FAST 0 or 1; NFMT_F143, TEXCH_SYNCZONE_LOCAL as in the SDK's
//            headers
//
// Structure. Worker w takes RUN = ceil(ROWS / 6) lines of each panel from min(w * RUN, ROWS - RUN) on;
// lines of two workers may be the same, which write the same. A line of output is two loads, four
// conversions and four stores: 6 bundles; FAST: 4, the bound of the store port.

    .set RUN, (ROWS + 5) / 6
    .set PANEL_BYTES, 32 * ROWS

    .macro MAIN instruction:vararg
    { \instruction
      fnop }
    .endm

    .macro CVT out, source, main:vararg
    { \main
      f8v4tof16 \out, \source }
    .endm

    .macro ADD_BYTES register, bytes
    .if (\bytes) <= 32767
    MAIN add \register, \register, \bytes
    .else
    MAIN setzi $m7, \bytes
    MAIN add \register, \register, $m7
    .endif
    .endm

// $m5 the worker's lines of source, $m6 of output; second: the second half of source's.
    .macro PANEL second
    MAIN add $m2, $m5, 16 * \second
    .if FAST
    MAIN ld64step $a0:1, $mzero, $m2+=, 1
    CVT $a4:5, $a0, ld64step $a2:3, $mzero, $m2+=, 3
    MAIN tapack $m2:3, $m2, $mzero, $m6
    MAIN rpt RUN - 1, 3
    CVT $a6:7, $a1, st64pace $a4:5, $m2:3+=, $mzero, 0
    CVT $a4:5, $a2, ldst64pace $a0:1, $a6:7, $m2:3+=, $m4, 0
    CVT $a6:7, $a3, st64pace $a4:5, $m2:3+=, $mzero, 0
    CVT $a4:5, $a0, ldst64pace $a2:3, $a6:7, $m2:3+=, $m4, 1
    CVT $a6:7, $a1, st64pace $a4:5, $m2:3+=, $mzero, 0
    CVT $a4:5, $a2, st64pace $a6:7, $m2:3+=, $mzero, 0
    CVT $a6:7, $a3, st64pace $a4:5, $m2:3+=, $mzero, 0
    MAIN st64pace $a6:7, $m2:3+=, $mzero, 0
    .else
    MAIN mov $m3, $m6
    MAIN rpt RUN, 5
    MAIN ld64step $a0:1, $mzero, $m2+=, 1
    CVT $a4:5, $a0, ld64step $a2:3, $mzero, $m2+=, 3
    CVT $a6:7, $a1, st64step $a4:5, $mzero, $m3+=, 1
    CVT $a4:5, $a2, st64step $a6:7, $mzero, $m3+=, 1
    CVT $a6:7, $a3, st64step $a4:5, $mzero, $m3+=, 1
    MAIN st64step $a6:7, $mzero, $m3+=, 1
    .endif
    ADD_BYTES $m6, PANEL_BYTES
    .endm

    .section .text.convert_panels, "ax", @progbits
    .align 8
    .worker
.Lstart:
    { get $m0, $WSR
      setzi $a0, NFMT_F143 }
    { and $m0, $m0, 7
      uput $FP_NFMT, $a0 }
    MAIN ld32 $m5, $mvertex_base, $mzero, 0
    MAIN ld32 $m6, $mvertex_base, $mzero, 1
    MAIN mul $m0, $m0, RUN
    MAIN setzi $m7, ROWS - RUN
    MAIN min $m0, $m0, $m7
    MAIN shl $m0, $m0, 5
    MAIN add $m5, $m5, $m0
    MAIN add $m6, $m6, $m0
    MAIN setzi $m4, 3
    MAIN setzi $m0, GROUPS - 1
.Lgroup:
    .if PANELS > 1
    MAIN setzi $m1, PANELS / 2 - 1
.Lpair:
    PANEL 0
    PANEL 1
    ADD_BYTES $m5, PANEL_BYTES
    MAIN brnzdec $m1, .Lpair
    .endif
    .if PANELS & 1
    PANEL 0
    ADD_BYTES $m5, PANEL_BYTES
    .endif
    MAIN brnzdec $m0, .Lgroup
    MAIN exitz $mzero

    .supervisor
    .globl kernel
    .type kernel, @function
kernel:
    add $m0, $m11, -8
    setzi $m1, .Lstart
    put $FP_ICTL, $mzero
    put $FP_ISCL, $m4
    st32 $m3, $m0, $mzero, 0
    st32 $m2, $m0, $mzero, 1
    runall $m1, $m0, 0
    sync TEXCH_SYNCZONE_LOCAL
    br $m10
    .size kernel, . - kernel
