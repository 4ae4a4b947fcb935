.if 0
    this is no instruction "
    .macro X
    { nop
    .if whatever ( (
    .else
    .endif
    .error "no"
.endif
    nop
