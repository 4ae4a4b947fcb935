.macro M a, b=$m9, c
    add \a, \b, \c
.endm
    M $m0, $m1, $m2
    M $m0, , 5
    M c=7, a=$m3
    M $m0 $m1 $m2
.macro ALL op, rest:vararg
    \op \rest
.endm
    ALL add, $m0, $m1, $m2
    ALL nop
.macro PLAIN
    nop
.endm
    PLAIN
