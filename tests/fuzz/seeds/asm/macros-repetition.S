.rept 2
    nop
.endr
.rept 0
    .error "never"
.endr
.irp r, 0, 1, 2
    setzi $m\r, \r
.endr
.irp r, $m4, $m5
    zero \r
.endr
.irpc c, 67
    zero $m\c
.endr
.rept 2
    .irp x, 8, 9
        .int \x
    .endr
.endr
