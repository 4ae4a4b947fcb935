// y[i] = x[i] * factor for F16 numbers, by all six workers, two bundles for four numbers.
//
// $m2 y, $m3 x (both aligned to 8 bytes), $m4 groups of four numbers, $m5 factor in its low half;
// $m10 return address, $m11 stack (16 bytes below it). docs/tutorial-kernel.md leads here.

    .section .text.scale, "ax"
    .align 8
    .worker
work:
    { get $m0, $WSR
      fnop }
    { and $m0, $m0, 7 // worker 0 to 5
      fnop }
    { ld32 $m1, $mvertex_base, $mzero, 2
      fnop }
    { cmpult $m2, $m0, $m1
      fnop }
    { brz $m2, done // no group for this worker
      fnop }
    { sub $m1, $m1, $m0
      fnop }
    { add $m1, $m1, -1 // rounds of the loop: (groups - 1 - worker) / 6
      fnop }
    { setzi $m2, 10923
      fnop }
    { mul $m1, $m1, $m2
      fnop }
    { shr $m1, $m1, 16
      fnop }
    { ldb16 $a2, $mvertex_base, $mzero, 6 // the factor, in both halves
      fnop }
    { ld32 $m2, $mvertex_base, $mzero, 0
      mov $a3, $a2 }
    { ld32 $m3, $mvertex_base, $mzero, 1
      fnop }
    { shl $m4, $m0, 3 // 8 bytes a group
      fnop }
    { shl $m5, $m0, 3
      fnop }
    { ld64step $a0:1, $m3, $m4+=, 6
      fnop }
    { rpt $m1, (after - loop) / 8 - 1
      fnop }
loop:
    { ld64step $a0:1, $m3, $m4+=, 6 // the next group, while this one is multiplied
      f16v4mul $a4:5, $a0:1, $a2:3 }
    { st64step $a4:5, $m2, $m5+=, 6
      fnop }
after:
    { nop
      f16v4mul $a4:5, $a0:1, $a2:3 }
    { st64 $a4:5, $m2, $m5, 0
      fnop }
done:
    { exitz $mzero
      fnop }

    .supervisor
    .globl scale
    .type scale, @function
scale:
    add $m0, $m11, -16
    setzi $m1, work
    st32 $m2, $m0, $mzero, 0
    st32 $m3, $m0, $mzero, 1
    st32 $m4, $m0, $mzero, 2
    st32 $m5, $m0, $mzero, 3
    runall $m1, $m0, 0
    sync TEXCH_SYNCZONE_LOCAL
    br $m10
    .size scale, . - scale
