// data is filled with zeros, or with the byte that is given
    .data
    .byte 1
    .align 4
    .byte 2
    .align 8, 0xFF
    .byte 3
    .balign 8, 0x55, 3
    .p2align 2
