    .align 3
    .p2align 40
    .align later
later:
    .byte 1
    nop
