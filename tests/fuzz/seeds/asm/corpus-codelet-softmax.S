// maximum, sum of exponentials and scaling, as three loops that share one shape
.macro LOOP name, first:req, body:vararg
    mov $m2, $m0
    mov $m3, $m1
    \first
.L\name\()_\@:
    ld32step $a0, $mzero, $m2+=, 1
    \body
    brnzdec $m3, .L\name\()_\@
.endm
.macro ADD_EXP r
    f32sub \r, \r, $a2
    f32exp \r, \r
    f32add $a3, $a3, \r
.endm
    .worker
    .align 8
    .global softmax
softmax:
    ld32 $m0, $mvertex_base, $mzero, 0
    ld32 $m1, $mvertex_base, $mzero, 1
    LOOP maximum, "ldconst $a1, 0xFF800000", f32max $a1, $a1, $a0
    mov $a2, $a1
    LOOP sum, "zero $a3", ADD_EXP $a0
    f32oox $a3, $a3
    LOOP scale, nop, f32mul $a0, $a3, $a0
    exitz $mzero
