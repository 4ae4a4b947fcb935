.data
    .byte 1, 255, -128
    .half 1, 0xFFFF
    .short 2
    .hword 3
    .2byte 4
    .int 1, -1
    .long 2
    .word 3
    .4byte 4
    .quad 0x123456789ABCDEF0, -1
    .float 1.0, -2.5
    .double 1.0
    .ascii "ab", "c"
    .asciz "d\n\t\"\\\x41\101"
    .string "e"
