    add $m16, $m0, $m1
    add $x0, $m0, $m1
    add $m01, $m0, $m1
    ld64 $a1:2, $m0, 0
    ld64 $a0:2, $m0, 0
    ld128 $a2:5, $m0, 0
    ld64 $a0:17, $m0, 0
    f32v2mul $a0:1, $a2:X, $a4:5
    f32v2mul $a0:1, $m2:B, $a4:5
    get $m0, $NONE
