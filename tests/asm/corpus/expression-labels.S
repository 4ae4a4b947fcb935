a:
    nop
b:
    nop
c:
    setzi $m0, c - a
    add $m1, $m1, b - c
    .int c - a, (c - a) / 4, a, b + 4, c - 4
    .half c - b
    .byte c - b
