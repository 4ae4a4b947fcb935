    .byte 256, -129
    .half 65536
    .int 0x100000000
    .byte later - start
start: .space 300
later:
    .quad start
    .int 1 2
    .int
    .float x
    .ascii x
    .space -1
    .space later2
    .fill 1, 9
later2:
