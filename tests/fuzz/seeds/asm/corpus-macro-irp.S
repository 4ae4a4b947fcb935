.irp r, $m0, $m1, $m2
    add \r, \r, 1
.endr
.irp op, add, sub
    .irp t, $m3, $m4
    \op $m0, \t, $m1
    .endr
.endr
.irp x, 1 2 3
    setzi $m0, \x
.endr
.irp empty,
    nop
.endr
.irpc c, 0123
    setzi $m\c, \c
.endr
