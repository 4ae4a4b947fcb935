.worker
    ldconst $m0, 5
    ldconst $m0, 0xFFFFF
    ldconst $m0, 0x100000
    ldconst $m1, -1
    ldconst $a1, 0x3F800000
    ldconst $m2, later
later:
