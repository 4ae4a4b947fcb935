    cmpeqz $m0, $m1
    cmpeqz $m0, $m1, 5
    addz $m0, $m1
    addz $m0, $m1, 65535
    adds $m0, $m1
    adds $m0, $m1, -32768
