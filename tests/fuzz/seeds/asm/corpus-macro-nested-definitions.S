.macro define name, value
    .macro get_\name reg
    setzi \reg, \value
    .endm
.endm
    define rows, 5
    define columns, 7
    get_rows $m0
    get_columns $m1
