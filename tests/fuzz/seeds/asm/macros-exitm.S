.macro M a
    .if \a
        nop
        .exitm
    .endif
    fnop
.endm
    M 1
    M 0
    .exitm
