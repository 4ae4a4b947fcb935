    .byte 0, 255, -128, 'a', 1 + 2
    .half 0xFFFF, -32768
    .short 1
    .hword 2
    .2byte 3
    .int 0xFFFFFFFF, -1
    .long 4
    .word 5
    .4byte 6
    .quad 0x123456789ABCDEF0, -1
    .8byte 7
