// Casts F16 to F143: code = round(value * 2^-scale), nearest even, saturating.
//
// Operands   output  F143, 8-byte aligned
//            source  F16, 8-byte aligned, does not overlap output; FAST: in interleaved memory, in
//            other memory elements than output
// Over-read  none; STREAM: 32 bytes of source; TAIL: up to 14 bytes of source, and the rest of
//            output's last word, which is stored back
// ABI        $m2 output, $m3 source, $m4 scale exponent, then
//            linear  $m5 share of the vectors of 8 values; TAIL: $m6 vectors | values after them << 16
//            panels  $m5 share of the rows or panel pairs, $m6 bytes of an output panel, $m7 rows of
//                    a worker | panel pairs in a group << 16 (rows less 1 if FAST, pairs less 1 if
//                    not ODD), ODD: $m8 groups less 1; ROW_MAJOR: $m8 bytes from row to row of
//                    source, $m9 step from a row's second vector to the next row, as below;
//                    STREAM: $m8 packed strides, as below
//            $m10 return, $m11 stack (32 bytes below it)
// Numerics   f16v8tof8 with $FP_SCL = -scale, overflow to +-240, infinities and NaNs to 0x80
//
// Symbols    LINEAR 0 or 1
//            linear  LOOP 0 no whole vector, 1 plain, 2 FAST (two vectors a worker at least); TAIL
//            panels  FAST, ODD (panels in a group), ROW_MAJOR, BY_PAIRS 0 or 1; STREAM 1 if FAST and
//                    BY_PAIRS and not ROW_MAJOR, at most 129 rows
//            NFMT_F143, TEXCH_SYNCZONE_LOCAL as in the SDK's headers
//
// Work split. A share is n | total - n << 16: worker w takes n units (vectors, rows or pairs of
// source panels) from unit min(w * n, total - n) on. Runs of two workers may overlap; what both
// convert is the same.
//
// A vector of 8 values is 16 bytes of source and 8 of output. Plain loops make each access a bundle
// of its own: 3 a vector. FAST ones store the vector before the last, load the next and convert the
// last in one bundle.
//
// Panels. A row of a source panel (32 bytes, two vectors) fills half a row of an output panel. A
// worker does one source panel after the other: its rows, to every other 16 bytes of output. After
// the last panel of an odd group the other halves of its rows are filled with zeros. A run of whole
// pairs is one piece of memory in source and in output (STREAM): the pipeline never drains, and only
// the store pointer jumps, from the end of a panel's first halves to its second ones.

    .macro MAIN instruction:vararg
    { \instruction
      fnop }
    .endm

    .section .text.cast, "ax", @progbits
    .align 8
    .worker

// Frame: 0 source, 1 output, 2 ... as the arguments from $m5 on.
.Lstart:
    { get $m0, $WSR
      setzi $a0, NFMT_F143 }
    { and $m0, $m0, 7
      uput $FP_NFMT, $a0 }

    .if LINEAR
    MAIN ld32 $m5, $mvertex_base, $mzero, 0
    MAIN ld32 $m4, $mvertex_base, $mzero, 1
    .if LOOP
    MAIN ldz16 $m1, $mvertex_base, $mzero, 4
    MAIN ldz16 $m2, $mvertex_base, $mzero, 5
    MAIN mul $m6, $m0, $m1
    MAIN min $m6, $m6, $m2
    MAIN shl $m7, $m6, 4
    MAIN add $m8, $m5, $m7
    MAIN shl $m7, $m6, 3
    MAIN add $m9, $m4, $m7
    .endif

    .if LOOP == 2
    MAIN add $m7, $m8, 8
    MAIN tapack $m2:3, $m8, $m7, $m9
    MAIN setzi $m7, 2
    MAIN ld2x64pace $a0:1, $a2:3, $m2:3+=, $m7, 0b0101
    MAIN add $m1, $m1, -2
    { ld2x64pace $a0:1, $a2:3, $m2:3+=, $m7, 0b0101
      f16v8tof8 $a4:5, $a0:3 }
    MAIN rpt $m1, 0
    { ld2xst64pace $a0:3, $a4:5, $m2:3+=, $m7, 0b000101
      f16v8tof8 $a4:5, $a0:3 }
    { st64pace $a4:5, $m2:3+=, $mzero, 0
      f16v8tof8 $a4:5, $a0:3 }
    MAIN st64pace $a4:5, $m2:3+=, $mzero, 0
    .elseif LOOP == 1
    MAIN ld64step $a0:1, $mzero, $m8+=, 1
    MAIN ld64step $a2:3, $mzero, $m8+=, 1
    MAIN add $m1, $m1, -1
    MAIN rpt $m1, 2
    { ld64step $a0:1, $mzero, $m8+=, 1
      f16v8tof8 $a4:5, $a0:3 }
    MAIN ld64step $a2:3, $mzero, $m8+=, 1
    MAIN st64step $a4:5, $mzero, $m9+=, 1
    { nop
      f16v8tof8 $a4:5, $a0:3 }
    MAIN st64step $a4:5, $mzero, $m9+=, 1
    .endif

    .if TAIL
    // The last worker converts a vector of which only some values count, and merges them.
    MAIN add $m0, $m0, -5
    MAIN brnz $m0, .Lend
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
    MAIN brz $m2, .Lend
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
.Lend:
    .endif
    MAIN exitz $mzero

    .else // panels

// $m4 rows of the worker (less 1 if FAST), $m5 pairs to come, $m6 its first row of the source panel,
// $m8 of the output panel, or where that row's second half begins; $m9 bytes of an output panel
    MAIN ldz16 $m1, $mvertex_base, $mzero, 4
    MAIN ldz16 $m4, $mvertex_base, $mzero, 5
    MAIN mul $m0, $m0, $m1
    MAIN min $m0, $m0, $m4
    MAIN ld32 $m6, $mvertex_base, $mzero, 0
    MAIN ld32 $m8, $mvertex_base, $mzero, 1
    MAIN ld32 $m9, $mvertex_base, $mzero, 3
    .if BY_PAIRS
    MAIN mul $m4, $m0, $m9
    .else
    MAIN shl $m4, $m0, 5
    .endif
    MAIN add $m8, $m8, $m4
    .if BY_PAIRS & ROW_MAJOR
    MAIN shl $m4, $m0, 6
    .elseif BY_PAIRS
    MAIN shl $m4, $m4, 1
    .elseif ROW_MAJOR
    MAIN ld32 $m4, $mvertex_base, $mzero, 5
    MAIN mul $m4, $m0, $m4
    .endif
    MAIN add $m6, $m6, $m4
    MAIN ldz16 $m4, $mvertex_base, $mzero, 8
    .if ODD
    MAIN ldz16 $m1, $mvertex_base, $mzero, 9
    .if ROW_MAJOR == 0
    MAIN ld32 $m0, $mvertex_base, $mzero, 5
    .endif
    .else
    MAIN ldz16 $m5, $mvertex_base, $mzero, 9
    .endif

    .if STREAM
// $m2:3 packed pointers, $m10 strides in units of 8 bytes: 2, 3, from the last first half of a panel
// to its first second half
    .macro VECTOR store
    { ld2xst64pace $a0:3, $a4:5, $m2:3+=, $m10, 0b0101 + 16 * \store
      f16v8tof8 $a4:5, $a0:3 }
    .endm

    .macro HALF store
    MAIN rpt $m4, 1
    VECTOR 0
    VECTOR 2
    VECTOR 0
    VECTOR \store
    .endm

    MAIN ld32 $m10, $mvertex_base, $mzero, 5
    MAIN add $m7, $m6, 8
    MAIN tapack $m2:3, $m6, $m7, $m8
    MAIN ld2x64pace $a0:1, $a2:3, $m2:3+=, $m10, 0b0101
    { ld2x64pace $a0:1, $a2:3, $m2:3+=, $m10, 0b0101
      f16v8tof8 $a4:5, $a0:3 }
.Lpair:
    HALF 3
    HALF 0
    MAIN brnzdec $m5, .Lpair
    MAIN exitz $mzero
    .else

    .if FAST
// $m2:3 packed pointers, $m7 = $m6 + 8, $m10 strides in units of 8 bytes: 2, 3, from the second
// vector of a source row to the next row; $m11 from an output row's second half to the next panel
    .if ROW_MAJOR
    .set NEXT_ROW, 3
    MAIN ld32 $m10, $mvertex_base, $mzero, 6
    .else
    .set NEXT_ROW, 1
    MAIN setzi $m10, 2 | 3 << 10
    .endif
    MAIN add $m11, $m9, -16
    MAIN add $m7, $m6, 8

    .macro HALF
    MAIN tapack $m2:3, $m6, $m7, $m8
    MAIN ld2x64pace $a0:1, $a2:3, $m2:3+=, $m10, 0b0101
    { ld2x64pace $a0:1, $a2:3, $m2:3+=, $m10, NEXT_ROW * 0b0101
      f16v8tof8 $a4:5, $a0:3 }
    MAIN rpt $m4, 1
    { ld2xst64pace $a0:3, $a4:5, $m2:3+=, $m10, 0b000101
      f16v8tof8 $a4:5, $a0:3 }
    { ld2xst64pace $a0:3, $a4:5, $m2:3+=, $m10, NEXT_ROW * 0b0101 + 0b100000
      f16v8tof8 $a4:5, $a0:3 }
    { st64pace $a4:5, $m2:3+=, $mzero, 0
      f16v8tof8 $a4:5, $a0:3 }
    MAIN st64pace $a4:5, $m2:3+=, $mzero, 0
    .endm

    .macro NEXT_SOURCE
    .if ROW_MAJOR
    MAIN add $m6, $m6, 32
    MAIN add $m7, $m7, 32
    .else
    MAIN add $m6, $m6, $m9
    MAIN add $m7, $m7, $m9
    .endif
    .endm

    .macro SECOND_HALF
    NEXT_SOURCE
    MAIN add $m8, $m8, 16
    .endm

    .macro NEXT_PANEL
    NEXT_SOURCE
    MAIN add $m8, $m8, $m11
    .endm

    .macro ZEROS
    MAIN add $m2, $m8, 16
    MAIN st64step $azeros, $mzero, $m2+=, 1
    MAIN st64step $azeros, $mzero, $m2+=, 3
    MAIN rpt $m4, 1
    MAIN st64step $azeros, $mzero, $m2+=, 1
    MAIN st64step $azeros, $mzero, $m2+=, 3
    .endm

    .else // plain
// $m10 bytes from the end of the rows in a source panel to the next panel; $m7, $m11 the same in
// output, to the other half and to the next panel; $m2 step from a source row's end to the next row,
// less one access
    MAIN shl $m3, $m4, 5
    .if ROW_MAJOR
    MAIN ld32 $m2, $mvertex_base, $mzero, 6
    MAIN ld32 $m7, $mvertex_base, $mzero, 5
    MAIN mul $m7, $m7, $m4
    MAIN sub $m10, 32, $m7
    .else
    MAIN sub $m10, $m9, $m3
    .endif
    MAIN sub $m7, 16, $m3
    MAIN add $m11, $m9, $m7
    MAIN add $m11, $m11, -32

    .macro HALF
    MAIN rpt $m4, 5
    MAIN ld64step $a0:1, $mzero, $m6+=, 1
    MAIN ld64step $a2:3, $mzero, $m6+=, 1
    { ld64step $a4:5, $mzero, $m6+=, 1
      f16v8tof8 $a0:1, $a0:3 }
    .if ROW_MAJOR
    MAIN ld64step $a6:7, $mzero, $m6+=, $m2
    .else
    MAIN ld64step $a6:7, $mzero, $m6+=, 1
    .endif
    { st64step $a0:1, $mzero, $m8+=, 1
      f16v8tof8 $a2:3, $a4:7 }
    MAIN st64step $a2:3, $mzero, $m8+=, 3
    .endm

    .macro SECOND_HALF
    MAIN add $m6, $m6, $m10
    MAIN add $m8, $m8, $m7
    .endm

    .macro NEXT_PANEL
    MAIN add $m6, $m6, $m10
    MAIN add $m8, $m8, $m11
    .endm

    .macro ZEROS
    MAIN rpt $m4, 1
    MAIN st64step $azeros, $mzero, $m8+=, 1
    MAIN st64step $azeros, $mzero, $m8+=, 3
    .endm
    .endif

    .if ODD
.Lgroup:
    MAIN mov $m5, $m1
    MAIN brnzdec $m5, .Lpair
.Lsingle:
    HALF
    .if FAST == 0
    SECOND_HALF
    .endif
    ZEROS
    .if ROW_MAJOR == 0
    MAIN brnzdec $m0, .Lnext_group
    .endif
    MAIN exitz $mzero
.Lpair:
    HALF
    SECOND_HALF
    HALF
    NEXT_PANEL
    MAIN brnzdec $m5, .Lpair
    MAIN bri .Lsingle
    .if ROW_MAJOR == 0
.Lnext_group:
    .if FAST
    NEXT_SOURCE
    MAIN add $m8, $m8, $m9
    .else
    MAIN add $m8, $m8, $m11
    .endif
    MAIN bri .Lgroup
    .endif
    .else
    MAIN bri .Lfirst
.Lpair:
    NEXT_PANEL
.Lfirst:
    HALF
    SECOND_HALF
    HALF
    MAIN brnzdec $m5, .Lpair
    MAIN exitz $mzero
    .endif
    .endif
    .endif

    .supervisor
    .globl kernel
    .type kernel, @function
kernel:
    add $m0, $m11, -32
    setzi $m1, .Lstart
    sub $m4, $mzero, $m4
    put $FP_ICTL, $mzero
    st32 $m3, $m0, $mzero, 0
    st32 $m2, $m0, $mzero, 1
    put $FP_ISCL, $m4
    .if LINEAR
    .if LOOP
    st32 $m5, $m0, $mzero, 2
    .endif
    .if TAIL
    st32 $m6, $m0, $mzero, 3
    .endif
    .else
    st32 $m5, $m0, $mzero, 2
    st32 $m6, $m0, $mzero, 3
    st32 $m7, $m0, $mzero, 4
    .if ODD | ROW_MAJOR | STREAM
    st32 $m8, $m0, $mzero, 5
    .endif
    .if ROW_MAJOR
    st32 $m9, $m0, $mzero, 6
    .endif
    .endif
    runall $m1, $m0, 0
    sync TEXCH_SYNCZONE_LOCAL
    br $m10
    .size kernel, . - kernel
