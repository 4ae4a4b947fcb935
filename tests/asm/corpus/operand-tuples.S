    .worker
    ld64 $a0:1, $m0, 0
    ld64 $a6:7, $m0, 0
    ld64 $a14:15, $m0, 0
    ld128 $a4:7, $m0, 0
    ld128 $a12:15, $m0, 0
    tapack $m10:11, $m0, $m1, $m2
