    cmpeqz $m0, $m1
    cmpeqz $m0, $m1, 4
    addz $m0, $m1, 40000
    adds $m0, $m1, -4
    sub $m0, $m1, 5
    sub $m0, 5, $m1
    sub $m0, $m1, later - earlier
earlier:
    nop
later:
    strap 1
    add.z16 $m0, $m1, 5
    add.i16 $m0, $m1, 5
    or.hi12 $m0, $m1, 0
