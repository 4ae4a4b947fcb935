    .set i, 0
.rept 4
    setzi $m0, i
    .set i, i + 1
.endr
.rept 0
    never here
.endr
.rept 2
    .rept 2
    nop
    .endr
    add $m0, $m0, 1
.endr
