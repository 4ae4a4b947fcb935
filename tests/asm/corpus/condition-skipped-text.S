// what is skipped need not be right
    .if 0
    frobnicate $z9
    .macro broken
    .endm
    .if 1
    .else
    .endif
    { unclosed
    .endif
    nop
