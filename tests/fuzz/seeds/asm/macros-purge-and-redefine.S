.macro M
    nop
.endm
    M
    .purgem M
.macro M
    fnop
.endm
    M
.macro M
.endm
    .purgem NONE
