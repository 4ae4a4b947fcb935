// tanh form of the Gaussian unit, two values at a time, constants from a table of halves
.macro POLY x, y, c
    f16v2mul \y, \x, \x
    f16v2mul \y, \y, \x
    f16v2mul \y, \c:BL, \y
    f16v2add \y, \y, \x
.endm
    .worker
    .global activation
    .align 8
activation:
    ld32 $m0, $mvertex_base, $mzero, 0
    ldz16 $m1, $mvertex_base, $mzero, 2
    setzi $m2, constants
    ld32step $a6, $mzero, $m2+=, 1
    ld32step $a7, $mzero, $m2+=, 1
    mov $m3, $m0
.Lnext:
    ld32step $a0, $mzero, $m0+=, 1
    POLY $a0, $a1, $a6
    f16v2mul $a1, $a6:BU, $a1
    f16v2tanh $a1, $a1
    f16v2add $a1, $a7:BL, $a1
    f16v2mul $a0, $a0, $a1
    {st32step $a0, $mzero, $m3+=, 1
     f16v2mul $a0, $a7:BU, $a0}
    brnzdec $m1, .Lnext
    exitz $mzero
    .section .rodata.activation, "a"
    .align 4
constants:
    .half 0.044715h, 0.79788456h
    .half 1.0h, 0.5h
