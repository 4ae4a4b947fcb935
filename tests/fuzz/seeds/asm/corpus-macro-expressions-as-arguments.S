.macro imm v, w
    setzi $m0, \v
    setzi $m1, \w
.endm
    imm 1 + 2, 3 * (4 + 5)
    imm 1<<4, 0x10 | 1
    imm -1 + 2, ~0 & 0xF
