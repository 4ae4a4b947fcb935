.worker
    nop
    .align 8
    nop
    .p2align 3
    nop
    .balign 16
    .byte 1
    .align 4
    nop
.data
    .byte 1
    .align 4, 0xAA
    .byte 2
    .p2align 2, , 2
    .byte 3
    .align 0
