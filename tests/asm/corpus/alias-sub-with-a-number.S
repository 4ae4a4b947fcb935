    sub $m0, $m1, 5
    sub $m0, $m1, -5
    sub $m0, $m1, 32768
    sub $m0, $m0, 1 + 2
    sub $m0, 5, $m1
    sub $m0, $m1, $m2
