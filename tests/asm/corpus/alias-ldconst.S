    .worker
    ldconst $m0, 0
    ldconst $m0, 0xFFFFF
    ldconst $m0, 0x100000
    ldconst $m0, 0x12345678
    ldconst $m0, -1
    ldconst $a0, 0x3C003C00
    ldconst $a1, 0x3F800000
    ldconst $a2, 7
    ldconst $m1, label
    {ldconst $m0, 5; ldconst $a0, 6}
label:
    nop
