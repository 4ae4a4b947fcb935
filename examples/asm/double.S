// Doubles COUNT numbers of 32 bits: the smallest whole kernel, run by one worker.
//
// $m2 points to the numbers, which are replaced; $m0 to $m3 and $a0, $a1 are lost.

#ifndef COUNT
#define COUNT 64
#endif

    .section .text.double_f32, "ax"
    .worker
    .align 8
    .globl double_f32
    .type double_f32, @function
double_f32:
    setzi $m0, COUNT - 1
    ld32 $a0, $m2, $mzero, 0
.Lnext:
    f32add $a1, $a0, $a0
    st32step $a1, $mzero, $m2 +=, 1
    ld32 $a0, $m2, $mzero, 0
    brnzdec $m0, .Lnext
    exitz $mzero
    .size double_f32, . - double_f32
