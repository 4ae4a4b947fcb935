    add.i16 $m0, $m1, 5
    add.z16 $m0, $m1, 5
    cmpeq.i16 $m0, $m1, 5
    min.z16 $m0, $m1, 5
    or.hi12 $m0, $m1, 0
    or.u12 $m0, $m1, 0
    sub.z16 $m0, 5, $m1
