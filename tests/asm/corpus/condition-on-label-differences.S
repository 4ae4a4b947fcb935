first:
    nop
    nop
second:
    .if second - first == 8
    setzi $m0, 8
    .endif
    .if (. - first) / 4 > 2
    setzi $m1, 3
    .endif
