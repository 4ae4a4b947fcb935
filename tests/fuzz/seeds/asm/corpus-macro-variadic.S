.macro each op, regs:vararg
    .irp r, \regs
    \op \r, \r, 1
    .endr
.endm
.macro pass args:vararg
    add \args
.endm
    each add, $m0, $m1, $m2
    each sub $m3 $m4
    pass $m5, $m6, 7
