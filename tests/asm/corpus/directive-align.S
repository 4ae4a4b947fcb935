// .align and .balign count bytes, .p2align a power of two; code is filled with nop
    .worker
    nop
    .align 8
    nop
    .balign 16
    nop
    .p2align 5
    nop
    .align 8, , 2
    nop
    .p2align 3, , 4
    nop
    .p2align 4, 0x0
    nop
    .align 1
    .align 0
