    add $m0, $m1, 32767
    add $m0, $m1, 32768
    add $m0, $m1, 65535
    add $m0, $m1, -32768
    or $m0, $m1, 4095
    or $m0, $m1, 0xFFF00000
    or $m0, $m1, -0x100000
    cmpeq $m0, $m1, -1
    add $m0, $m1, later - earlier
earlier: .space 40000
later:
