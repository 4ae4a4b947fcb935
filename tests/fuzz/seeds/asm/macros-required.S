.macro M a:req, b
    nop
.endm
    M
    M 1, 2, 3
    M c=1
