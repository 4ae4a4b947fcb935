.macro INNER x
    add $m0, $m1, \x
.endm
.macro OUTER x
    nop
    INNER \x
.endm
    nop
    OUTER 70000
