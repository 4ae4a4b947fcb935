.rept 2
    nop
    bad
.endr
.irp x, 1, 2
    worse \x
.endr
