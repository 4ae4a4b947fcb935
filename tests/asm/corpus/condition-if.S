    .set n, 4
    .if n == 4
    setzi $m0, 1
    .else
    setzi $m0, 2
    .endif
    .if n > 5
    setzi $m1, 1
    .elseif n > 3
    setzi $m1, 2
    .elseif n > 2
    setzi $m1, 3
    .else
    setzi $m1, 4
    .endif
    .if n && !(n & 1) || 0
    setzi $m2, 1
    .endif
