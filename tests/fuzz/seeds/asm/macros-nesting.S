.macro INNER x
    setzi $m0, \x
.endm
.macro OUTER x
    INNER \x + 1
    .macro DEFINED_INSIDE y
        setzi $m\y, \x
    .endm
.endm
    OUTER 4
    DEFINED_INSIDE 3
