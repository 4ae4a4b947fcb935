.macro PICK n
.if \n == 1
    .int 100
.elseif \n == 2
    .int 200
    .if 0
        .error "inside"
    .elseif 0
        .error "inside"
    .else
        .int 201
    .endif
.elseif \n == 2
    .error "second"
.else
    .int 300
.endif
.endm
    PICK 1
    PICK 2
    PICK 3
