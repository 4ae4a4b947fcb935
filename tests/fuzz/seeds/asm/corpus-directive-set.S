    .set a, 5
    .equ b, a * 2
    c = b + 1
    .equiv d, 7
    setzi $m0, a
    setzi $m1, b
    setzi $m2, c
    setzi $m3, d
    .set a, a + 1
    setzi $m4, a
    .set later, 9
    .equ e, later_label - first
first:
    nop
    nop
later_label:
    setzi $m5, e
    f == 3
    setzi $m6, f
